"""Slots: what an argument of a declared op of the PyTorch face may be.

    def add(input: Operand, other: Operand, *, alpha: Number = 1, out=None): ...

    Tensor           a tensor
    MaybeTensor      a tensor or None
    Operand          a tensor or a Python number
    Tensors          a sequence of tensors
    Element          a tensor or a Python number that the first operand's dtype must have
    Bound            the same where a number of a higher category changes the dtype
    Choice           a tensor or a Python number that was looked at before the call
    Number           a Python number that may vary from call to call: a packed input
    Scale            the same, which the dtype that two tensors promote to must have
    Factor           the same of all tensors before it, where half precision is computed in float32
    Level            a Number that the dtype of the first operand must have, of whatever category
    (anything else)  static: part of the op's signature, hashable (lists become tuples)

A slot says two things of an argument, each the mirror of the other: its part of the signature (`key`),
and what stands for it in the trace (`placeholder`). How numbers are packed is `ops.signature`'s rule.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np

from ...core import dtypes as dt
from ...core.aval import Aval
from ...core.trace import Builder
from ...ops.signature import number_key, number_placeholder
from ..tensors.base import Tensor
from ..tensors.promotion import HALF, check_held, combine_ranks, result_dtype, scalar_dtype


def logical_aval(tensor: Tensor) -> Aval:
    """The aval as the op sees it: without the batch dimensions of func.vmap."""
    return tensor._value.aval if tensor._level is None else tensor._level.aval


def aval_of_tensor(x) -> Aval | None:
    """The same of a tensor, None of anything else."""
    return logical_aval(x) if isinstance(x, Tensor) else None


def is_number(x) -> bool:
    """Whether x is a Python or NumPy scalar."""
    return isinstance(x, (bool, int, float, complex, np.generic))


def python_number(x):
    """A NumPy scalar as a Python number."""
    if x.__class__ in (bool, int, float, complex):
        return x
    return x.item() if hasattr(x, "item") else x.__class__.__mro__[-2](x)


def class_name(cls: type) -> str:
    """A class as PyTorch's errors name it."""
    return cls.__name__ if cls.__module__ in ("builtins", "__main__") else f"{cls.__module__}.{cls.__name__}"


class NoOperand(TypeError):
    """What an argument that must be an operand is not: (its slot, the class of what came)."""

    def explained(self, op, i: int, n_given: int) -> TypeError:
        """The error as the user sees it, of the i-th argument.

        It says the position, but for what may be a method's second argument, where PyTorch's
        counting begins with it.
        """
        slot, cls = self.args
        certain = i < n_given and (i == 0 or not op.forms.get("method"))
        position = f" (position {i + 1})" if certain else ""
        return TypeError(
            f"{op.name}(): argument '{op.names[i]}'{position} must be {slot.expected}, not {class_name(cls)}"
        )


class Slot:
    """A tensor; what the other slots take besides is their own."""

    name = "Tensor"
    expected = "Tensor"  # in errors
    takes_numbers = False
    checks_numbers = False
    reads_tensors = False  # a tensor is a number here, no operand

    def key(self, op, x, operands: list):
        """The argument's part of the signature; what varies is appended to `operands`."""
        if isinstance(x, Tensor):
            if hasattr(x, "_check_operand"):
                x._check_operand(op)
            operands.append(x)
            return logical_aval(x)
        return self.other_key(op, x, operands)

    def other_key(self, op, x, operands: list):
        """The same of what is no tensor."""
        raise NoOperand(self, x.__class__)

    def placeholder(self, builder: Builder, x):
        """What stands for the argument in the trace."""
        return builder.input(logical_aval(x)) if isinstance(x, Tensor) else self.other_placeholder(builder, x)

    def other_placeholder(self, builder: Builder, x):
        """The same for what is no tensor."""
        return x


class MaybeSlot(Slot):
    """A tensor or None."""

    name = "MaybeTensor"

    def other_key(self, op, x, operands: list):
        return None if x is None else super().other_key(op, x, operands)


class OperandSlot(Slot):
    """A tensor or a Python number."""

    name = "Operand"
    takes_numbers = True

    def other_key(self, op, x, operands: list):
        if is_number(x):
            return number_key(python_number(x), operands)
        return None if x is None else super().other_key(op, x, operands)

    def other_placeholder(self, builder: Builder, x):
        return number_placeholder(builder, python_number(x)) if is_number(x) else x


class ElementSlot(OperandSlot):
    """A tensor, or a Python number that must have a value in the dtype of the first operand; `promoted`: or in that
    which it makes of it, `wide`: in float32 if that is half precision."""

    checks_numbers = True

    def __init__(self, promoted: bool, wide: bool = False):
        self.promoted, self.wide = promoted, wide

    def other_key(self, op, x, operands: list):
        if is_number(x):
            number, dtype = python_number(x), logical_aval(operands[0]).dtype
            dtype = dt.float32 if self.wide and dtype in HALF else dtype
            check_held(combine_ranks(dtype, None, scalar_dtype(type(number))) if self.promoted else dtype, number)
        return super().other_key(op, x, operands)


class ChoiceSlot(OperandSlot):
    """A tensor, or a Python number that was looked at before the call; calls seen before take what every dtype has."""

    checks_numbers = True


class NumberSlot(OperandSlot):
    """A Python number, or a tensor that is read for one."""

    name = expected = "Number"
    reads_tensors = True

    def key(self, op, x, operands: list):
        return self.other_key(op, x.item() if isinstance(x, Tensor) else x, operands)

    def placeholder(self, builder: Builder, x):
        return self.other_placeholder(builder, x.item() if isinstance(x, Tensor) else x)


PYTHON_REALS = frozenset({int, float})
FLOATS = frozenset({dt.float16, dt.bfloat16, dt.float32, dt.float64})
MAX_HALF = float(dt.finfo(dt.float16).max)


class FactorSlot(NumberSlot):
    """A number that must have a value in the dtype of the first operand; `promoted`: in that which all before it
    promote to, `wide`: in float32 if that is half precision."""

    checks_numbers = True

    def __init__(self, promoted: bool, wide: bool = False):
        self.promoted, self.wide = promoted, wide

    def other_key(self, op, x, operands: list):
        if x.__class__ in PYTHON_REALS and -MAX_HALF <= x <= MAX_HALF:
            first = operands[0] if operands else None
            if isinstance(first, Tensor) and logical_aval(first).dtype in FLOATS:
                return number_key(x, operands)  # whatever other operands are, it is held
        if is_number(x):
            self.check(python_number(x), operands)
        return super().other_key(op, x, operands)

    def check(self, number, operands: list):
        """RuntimeError for a number that the dtype does not have."""
        avals = [logical_aval(y) for y in operands if isinstance(y, Tensor)]
        found = result_dtype(avals) if self.promoted else avals[0].dtype
        check_held(dt.float32 if self.wide and found in HALF else found, number)


class ScaleSlot(FactorSlot):
    """A factor of the second of two operands, of which one may be a number: that may change the dtype, and if it is 0
    or 1 it is no operand. Of fractions of integers the op itself says that it takes none."""

    def check(self, number, operands: list):
        if len(operands) == 2 and all([isinstance(y, Tensor) for y in operands]):
            dtype = result_dtype([logical_aval(y) for y in operands])
            if number.__class__ is not float or dtype not in dt.INTEGER:
                check_held(dtype, number)


class SeveralSlot(Slot):
    """A sequence of tensors."""

    name = "Tensors"
    expected = "tuple of Tensors"

    def other_key(self, op, x, operands: list):
        if not isinstance(x, (list, tuple)):
            raise TypeError(f"{op.name}(): expected a sequence of Tensors, got {x.__class__.__name__}")
        return tuple([TENSOR.key(op, y, operands) for y in x])

    def other_placeholder(self, builder: Builder, x):
        return [TENSOR.placeholder(builder, y) for y in x]


TENSOR, MAYBE, OPERAND, NUMBER, SEVERAL = Slot(), MaybeSlot(), OperandSlot(), NumberSlot(), SeveralSlot()
SCALE, FACTOR, LEVEL = ScaleSlot(True), FactorSlot(True, wide=True), FactorSlot(False)
ELEMENT, BOUND, CHOICE = ElementSlot(False), ElementSlot(True), ChoiceSlot()
WEIGHT, HELD = ElementSlot(False, wide=True), FactorSlot(True)
MaybeTensor = Annotated[Tensor | None, MAYBE]
Operand = Annotated[Tensor | complex, OPERAND]
Element = Annotated[Tensor | complex, ELEMENT]
Bound = Annotated[Tensor | complex, BOUND]
Choice = Annotated[Tensor | complex, CHOICE]
Weight = Annotated[Tensor | complex, WEIGHT]
Number = Annotated[complex, NUMBER]
Scale = Annotated[complex, SCALE]
Factor = Annotated[complex, FACTOR]
Held = Annotated[complex, HELD]
Level = Annotated[complex, LEVEL]
Tensors = Annotated[Sequence[Tensor], SEVERAL]


NOT_A_SLOT = "{fun}(): `{name}: {annotation}` is no slot; see dispatch.slots for what an op may take"


def slot_of(parameter: inspect.Parameter, fun: Callable) -> Slot | None:
    """The slot that a parameter is annotated with, None if it is static; TypeError for an annotation
    of tensors that is none, NameError for one that means nothing in the function's module."""
    found: Any = parameter.annotation
    if isinstance(found, str) and found.isidentifier():
        found = eval(found, fun.__globals__)
    if found is Tensor:
        return TENSOR
    slot = next((x for x in getattr(found, "__metadata__", ()) if isinstance(x, Slot)), None)
    if slot is None and "Tensor" in str(found):
        raise TypeError(NOT_A_SLOT.format(fun=fun.__name__, name=parameter.name, annotation=found))
    return slot
