"""torch._dynamo: what packages ask of PyTorch's tracer of Python, which is not here.

Marks and switches have no effect, and the questions are answered with no: Python always runs.
"""

from __future__ import annotations

import functools as _functools

from ... import _missing
from ..compiler import (
    allow_in_graph,
    assume_constant_result,
    disable,
    is_compiling,
    list_backends,
    reset,
    set_stance,
    substitute_in_graph,
)
from ..compiler import compile as _compile
from ..compiler.backends import lookup as _lookup
from ..compiler.backends import register_backend
from . import config
from .eval_frame import OptimizedModule

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "disallow_in_graph",
    "forbid_in_graph",
    "graph_break",
    "is_compiling",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "mark_unbacked",
    "maybe_mark_dynamic",
    "nonstrict_trace",
    "optimize",
    "optimize_assert",
    "register_backend",
    "reset",
    "run",
    "set_stance",
    "substitute_in_graph",
]
__getattr__ = _missing.getter(__name__)

disallow_in_graph = forbid_in_graph = nonstrict_trace = run = allow_in_graph


def optimize(
    backend="inductor", *, nopython=False, guard_export_fn=None, guard_fail_fn=None, disable=False, dynamic=None
):
    """torch.compile as a decorator; `nopython` is its `fullgraph`."""
    if not callable(backend):
        _lookup(backend)
    return _functools.partial(_compile, fullgraph=nopython, dynamic=dynamic, backend=backend, disable=disable)


def optimize_assert(backend, **options):
    """optimize with nopython=True."""
    return optimize(backend, nopython=True, **options)


def graph_break(msg: str = ""):
    """No effect."""


# ---- marks of tensors ----------------------------------------------------------------------------


def mark_dynamic(t, index, *args, **kwargs):
    """No effect: programs are keyed by shapes."""


maybe_mark_dynamic = mark_unbacked = mark_dynamic


def mark_static(t, index=None):
    """No effect: every dimension is static."""


def mark_static_address(t, guard: bool = True):
    """No effect: values have no addresses."""
