"""torch.fx.passes.shape_prop: the shapes and dtypes of all values of a graph."""

from __future__ import annotations

from typing import NamedTuple

import functorch_core.torch as torch

from ..interpreter import Interpreter
from ..node import Node, map_aggregate


class TensorMetadata(NamedTuple):
    """What is told of a tensor without its elements.

    >>> from torch.fx.passes.shape_prop import ShapeProp
    >>> gm = torch.fx.symbolic_trace(lambda x: x + 1)
    >>> _ = ShapeProp(gm).propagate(torch.ones(4, 3))
    >>> list(gm.graph.nodes)[0].meta["tensor_meta"].dtype
    torch.float32
    """

    shape: torch.Size
    dtype: torch.dtype
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: torch.memory_format | None
    is_quantized: bool
    qparams: dict


def _extract_tensor_metadata(result, include_contiguity: bool = True) -> TensorMetadata:
    memory_format = None
    if include_contiguity:
        formats = (torch.contiguous_format, torch.channels_last, torch.channels_last_3d)
        fitting = [f for f, n in zip(formats, (None, 4, 5)) if n in (None, result.ndim)]
        memory_format = next((f for f in fitting if result.is_contiguous(memory_format=f)), None)
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride(), memory_format, False, {})


class ShapeProp(Interpreter):
    """Runs a graph and writes `meta["tensor_meta"]` and `meta["type"]` of its nodes.

    >>> from torch.fx.passes.shape_prop import ShapeProp
    >>> gm = torch.fx.symbolic_trace(nn.Linear(3, 2))
    >>> _ = ShapeProp(gm).propagate(torch.ones(4, 3))
    >>> [tuple(node.meta["tensor_meta"].shape) for node in gm.graph.nodes if node.op == "output"]
    [(4, 2)]
    """

    __module__ = "torch.fx.passes.shape_prop"

    def __init__(self, gm, fake_mode=None):
        super().__init__(gm)

    def run_node(self, n: Node):
        """What one node gives; its meta data are written down."""
        result = super().run_node(n)
        found = []

        def describe(x):
            if not isinstance(x, torch.Tensor):
                return x
            found.append(x)
            return _extract_tensor_metadata(x)

        described = map_aggregate(result, describe)
        if found:
            n.meta["tensor_meta"] = described
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args):
        """Run the graph on these arguments; what it gives."""
        return self.run(*args)
