"""Hyperparameters inside an update rule: numbers that may be inputs of the graph.

A rule is traced once for all learning rates, so that `lr` there is no Python float but a 0-d
float64 that takes the dtype of the array it meets, as a Python float would.
"""

from __future__ import annotations

import operator

import functorch_core as fc

from ..array.array import Array


class Number:
    """A number of an update rule; arithmetic with numbers gives numbers, with arrays arrays."""

    __slots__ = ("array",)

    def __init__(self, array: Array):
        self.array = array

    def __repr__(self):
        return f"Number({self.array})"

    def to(self, dtype) -> Array:
        """The number as an array of this dtype."""
        return self.array.astype(dtype)


def number(x: Array) -> Number:
    """A number of an array of one element."""
    return Number(fc.reshape(x, ()).astype(fc.float64))


def _method(operation, reflected: bool):
    def method(self, other):
        if isinstance(other, Array):
            mine, combine = self.to(other.dtype), lambda x: x
        elif isinstance(other, (Number, int, float)):
            mine, other, combine = self.array, getattr(other, "array", other), Number
        else:
            return NotImplemented
        return combine(operation(other, mine) if reflected else operation(mine, other))

    return method


for _name in ("add", "sub", "mul", "truediv", "pow"):
    _operation = getattr(operator, _name)
    setattr(Number, f"__{_name}__", _method(_operation, False))
    setattr(Number, f"__r{_name}__", _method(_operation, True))
Number.__neg__ = lambda self: Number(-self.array)
Number.__gt__ = lambda self, other: self.array > getattr(other, "array", other)


def maximum(x, y) -> Number | Array:
    """The larger of a number and a number, or elementwise of an array and a number."""
    return _extreme(fc.maximum, x, y)


def minimum(x, y) -> Number | Array:
    """The smaller of a number and a number, or elementwise of an array and a number."""
    return _extreme(fc.minimum, x, y)


def _extreme(operation, x, y):
    if isinstance(x, Array):
        return operation(x, y.to(x.dtype) if isinstance(y, Number) else y)
    return Number(operation(x.array, getattr(y, "array", y)))


def select(condition: Array, x, y, dtype) -> Array:
    """x where the condition holds, y elsewhere; numbers become arrays of the dtype."""
    x, y = (v.to(dtype) if isinstance(v, Number) else v for v in (x, y))
    return fc.where(condition, x, y)


def lerp(start: Array, end: Array, weight) -> Array:
    """start + weight * (end - start)."""
    return start + weight * (end - start)
