"""torch.autograd.Variable: what a Tensor once had to be wrapped in."""

from __future__ import annotations

from typing import ClassVar

from ...operators.shape.data import tensor
from ...tape.passes import queue_callback
from ...tensors.base import Tensor


class ImperativeEngine:
    """What PyTorch calls its engine of backward passes."""

    __module__ = "torch._C._engine"
    queue_callback = staticmethod(queue_callback)


class VariableMeta(type):
    """isinstance(x, Variable) holds for every tensor."""

    def __instancecheck__(cls, other):
        return isinstance(other, Tensor)


class Variable(metaclass=VariableMeta):
    """Variable(tensor, requires_grad) is the tensor, detached.

    >>> torch.autograd.Variable(torch.ones(2), requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    """

    __module__ = "torch.autograd.variable"
    _execution_engine: ClassVar

    def __new__(cls, data=None, requires_grad: bool = False, volatile: bool = False):
        made = tensor([]) if data is None else data.detach()
        return made.requires_grad_(requires_grad)


Variable._execution_engine = ImperativeEngine()
