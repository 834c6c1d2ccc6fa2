"""What primitives refuse, with the classes of errors and the words of PyTorch's kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.dtypes import DtypeError
from ...core.graph import Graph
from ...core.trace import Builder
from ...ops.signature import trace_body
from ..tensors.types import scalar_name

NOT_IMPLEMENTED = "\"{kernel}\" not implemented for '{dtype}'"


def traced(name: str, body: Callable[[Builder], Any]) -> tuple[Graph, bool]:
    """The graph of an op's body, as `trace_body`; a kernel is not implemented for a dtype that no primitive takes."""
    try:
        return trace_body(name, body)
    except DtypeError as error:
        if error.dtype is None:
            raise RuntimeError(str(error)) from error
        message = NOT_IMPLEMENTED.format(kernel=name.lstrip("_"), dtype=scalar_name(error.dtype))
        raise NotImplementedError(message) from error
