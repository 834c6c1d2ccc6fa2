"""What elementwise operations do to their operands first: one dtype, one shape."""

from __future__ import annotations

import functools
import operator

import numpy as np

from ..core import dtypes as dt
from ..core.aval import aval_of
from ..core.errors import AxisError
from ..primitives import broadcast_in_dim, constant, convert
from .op import lift
from .signature import SCALARS, Weak

NO_BROADCAST = """{name}: shapes {shapes} do not broadcast: each dimension, from the last, must be equal or 1.
    wrong: fc.ones((2, 3)) + fc.ones(2)      right: fc.ones((2, 3)) + fc.ones(2)[:, None]"""


DOES_NOT_FIT = """{aval} does not broadcast to the shape {shape}: each of its dimensions, from the
    last, must be equal or 1, and there are not more of them."""


def promote(*operands, name: str = "the operation", to_inexact: bool = False, to_numeric: bool = False) -> list:
    """The operands in their common dtype and broadcast to their common shape.

    Python numbers are weak: they take the dtype of the arrays they meet unless their kind is
    higher. `to_inexact` makes bools and integers the default float, `to_numeric` bools the default integer.
    """
    dtype = result_dtype(operands)
    if to_inexact and dtype not in dt.INEXACT:
        dtype = dt.DEFAULT_FLOAT
    elif to_numeric and dtype == dt.bool_:
        dtype = dt.DEFAULT_INT
    return broadcast_together([cast(x, dtype) for x in operands], name)


def in_one_dtype(*operands) -> list:
    """The operands in their common dtype; their shapes stay."""
    dtype = result_dtype(operands)
    return [cast(x, dtype) for x in operands]


def result_dtype(operands) -> np.dtype:
    """The dtype that arrays and weak Python numbers promote to."""
    operands = [x if isinstance(x, (Weak, *SCALARS)) else aval_of(x).dtype for x in operands]
    arrays = [d for d in operands if isinstance(d, np.dtype)]
    kinds = [x.kind if isinstance(x, Weak) else type(x) for x in operands if not isinstance(x, np.dtype)]
    if not arrays:
        return functools.reduce(dt.promote, [dt.canonical(k) for k in kinds])
    dtype = functools.reduce(dt.promote, arrays)
    for kind in kinds:
        dtype = dt.promote_scalar(dtype, kind)
    return dtype


def cast(x, dtype: np.dtype):
    """An operand as a value of this dtype."""
    if isinstance(x, Weak):
        return convert(x.value, dtype=dtype)
    if isinstance(x, SCALARS):
        return constant(scalar_array(x, dtype))
    if isinstance(x, (np.ndarray, np.generic)):
        x = lift(x)
    return x if aval_of(x).dtype == dtype else convert(x, dtype=dtype)


def scalar_array(x, dtype: np.dtype) -> np.ndarray:
    """A Python number in a dtype; OverflowError if an integer does not fit."""
    if isinstance(x, int) and dtype in dt.INTEGER and not isinstance(x, bool):
        info = dt.iinfo(dtype)
        if not info.min <= x <= info.max:
            raise OverflowError(
                f"the Python integer {x} does not fit {dtype.name}; convert the array to a wider dtype first"
            )
    return np.asarray(x).astype(dtype)


def broadcast_shapes(*shapes, name: str = "broadcast_shapes") -> tuple[int, ...]:
    """The shape that shapes broadcast to; ValueError if they do not."""
    ndim = max(map(len, shapes), default=0)
    padded = [(1,) * (ndim - len(s)) + tuple(s) for s in shapes]
    out = []
    for sizes in zip(*padded):
        different = {n for n in sizes if n != 1}
        if len(different) > 1:
            raise ValueError(NO_BROADCAST.format(name=name, shapes=", ".join(map(str, shapes))))
        out.append(different.pop() if different else 1)
    return tuple(out)


def broadcast_to(x, shape: tuple[int, ...]):
    """x broadcast to a shape it fits, aligned at the last dimension."""
    here = aval_of(x).shape
    if here == shape:
        return x
    start = len(shape) - len(here)
    if start < 0 or any(n not in (1, m) for n, m in zip(here, shape[start:])):
        raise ValueError(DOES_NOT_FIT.format(aval=aval_of(x), shape=shape))
    return broadcast_in_dim(x, shape=shape, dims=tuple(range(start, len(shape))))


def broadcast_together(values, name: str) -> list:
    """The values broadcast to their common shape."""
    shapes = [aval_of(x).shape for x in values]
    if len(set(shapes)) == 1:
        return list(values)
    shape = broadcast_shapes(*shapes, name=name)
    return [broadcast_to(x, shape) for x in values]


def canonical_axis(axis: int, ndim: int, name: str) -> int:
    """A non-negative axis; AxisError if it is out of range."""
    if hasattr(axis, "aval"):
        axis = operator.index(axis)  # of an array: its number, or why there is none
    if not isinstance(axis, (int, np.integer)):
        raise TypeError(f"{name}: an axis is an int, got {type(axis).__name__}")
    if not -ndim <= axis < max(ndim, 1) or ndim == 0:
        allowed = f"; it is from {-ndim} to {ndim - 1}" if ndim else ""
        raise AxisError(f"{name}: axis {axis} is out of range for an array of {ndim} dimensions" + allowed)
    return int(axis) % ndim


def canonical_axes(axis, ndim: int, name: str) -> tuple[int, ...]:
    """Sorted non-negative axes of an int, a sequence or None (all); ValueError if one repeats."""
    if axis is None:
        return tuple(range(ndim))
    axes = (axis,) if isinstance(axis, (int, np.integer)) or hasattr(axis, "aval") else tuple(axis)
    axes = tuple(sorted(canonical_axis(a, ndim, name) for a in axes))
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name}: axis {axis} names a dimension twice")
    return axes
