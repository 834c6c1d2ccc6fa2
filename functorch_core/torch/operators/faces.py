"""Tensors in the functional face: `fc.grad`, `fc.jit`, `fc.scan`, ... of functions of tensors.

To the functional face a tensor is a box around an array, as a list is a container: transforms take the
arrays out, and their results come back in tensors where the function gave tensors. Inside of a trace a
tensor holds a traced value; the recorder, to which all ops lead, writes calls with such operands into the
trace (`engine.recorder`). So no op knows of it.

A traced function is pure: what it has not been given it does not write to, and it draws no numbers that the
next call would see again. Tensors have no history there: `fc.grad` is what differentiates.
"""

from __future__ import annotations

import numpy as np

from ...array.array import Array, wrap
from ...array.tracing import ShapeDtype
from ...core import tree
from ...core.aval import aval
from ...core.trace import Traced, surroundings
from ...engine import Value, absent
from ...ops.op import strong
from ...xla import Buffer
from ..dispatch.parameter import Parameter
from ..levels.levels import enter
from ..tape.modes import state
from ..tensors.base import Tensor, new_tensor

ON_TAPE = """a tensor {shape} that a tape or a torch.func transform follows came to a transform of functorch_core.
    What fc transforms compute has no history, so the derivative would be lost. Use one kind of transform for both:
    torch.func's inside of torch.func's, fc's inside of fc's; or pass x.detach() if no derivative is meant."""


class _Surroundings:
    """A function is traced: the tape is off, and what is not its own must not be written to."""

    __slots__ = ("level", "taping")

    def __enter__(self):
        self.level = enter("grad", guards=True)
        self.level.__enter__()
        self.taping, state.enabled = state.enabled, False

    def __exit__(self, *exc):
        state.enabled = self.taping
        self.level.__exit__(*exc)


def array_in(tensor: Tensor) -> Array:
    """The array that a tensor holds, without a copy."""
    if tensor._level is not None or tensor._ge is not None and state.enabled and not tensor.is_leaf:
        raise TypeError(ON_TAPE.format(shape=f"of shape {tuple(tensor.shape)}"))
    value = tensor._kept()
    array = wrap(value)
    if value.__class__ is Value and value.recording is None and value.data.__class__ is Buffer:
        array._data = value.data
    return array


def tensor_around(leaf):
    """A tensor of an array, without a copy; anything else as it is: the tree is no tree of arrays then."""
    if leaf.__class__ is Array:
        return new_tensor(strong(leaf._value))
    if leaf.__class__ is ShapeDtype:
        return new_tensor(absent(aval(leaf.shape, leaf.dtype)))
    return leaf


tree.register_box(Tensor, array_in, tensor_around, subclasses=(Parameter,))
surroundings.enter = _Surroundings
