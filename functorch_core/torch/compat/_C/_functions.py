"""torch._C._functions: nodes by hand, of which tests of graphs are made."""

from __future__ import annotations

from ...tape.accumulate import AccumulateGrad
from ...tape.node import Node
from ...tensors.base import new_tensor

__all__ = ["AccumulateGrad", "DelayedError", "Error", "UndefinedGrad"]


class _Identity(Node):
    """Called on tensors, it gives them back behind a node of its kind."""

    __module__ = "torch._C._functions"

    def __init__(self):
        super().__init__(())

    def _node(self, edges) -> Node:
        return _Undefined(edges, len(edges))

    def __call__(self, *tensors):
        """The tensors with a history in this node."""
        edges = tuple([x._edge() for x in tensors])
        if all(edge is None for edge in edges):
            made = tuple([x.detach() for x in tensors])
        else:
            node = self._node(edges)
            made = tuple([new_tensor(x._read(), (node, i)) for i, x in enumerate(tensors)])
        return made[0] if len(made) == 1 else made


class _Undefined(Node):
    __slots__ = ()

    def name(self) -> str:
        """PyTorch's name."""
        return "UndefinedGradBackward"

    def apply(self, grads, create_graph: bool) -> tuple:
        """No gradient for any."""
        return (None,) * len(self.edges)


class UndefinedGrad(_Identity):
    """UndefinedGrad()(x): x, whose gradient arrives as undefined."""


class Error(Node):
    """A node through which nobody can differentiate."""

    __module__ = "torch._C._functions"
    __slots__ = ("message",)

    def __init__(self, message: str, edges=(), n_outputs: int = 1):
        super().__init__(edges, n_outputs)
        self.message = message

    def apply(self, grads, create_graph: bool) -> tuple:
        """RuntimeError."""
        raise RuntimeError(self.message)


class DelayedError(_Identity):
    """DelayedError(message, n)(x): x, through which a backward pass raises."""

    def __init__(self, message: str, num_inputs: int):
        super().__init__()
        self.message, self.num_inputs = message, num_inputs

    def _node(self, edges) -> Node:
        return Error(self.message, edges, len(edges))
