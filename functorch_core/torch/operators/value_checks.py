"""Checks of elements that raise at the call where they are known by then, else when something is read."""

from __future__ import annotations

import numpy as np

from ... import primitives as p
from ...core import dtypes as dt
from ...engine.bounds import known
from ...kernels.values import aval_of, full_like, wide
from ..dispatch import bounds
from ..dispatch.op import torch_op
from ..tensors.base import Tensor

# What is asked of each element: of arrays, and of values.
IN_UNIT, FINITE, NUMBERS = "in [0, 1]", "finite", "no NaN"
OF_ARRAYS = {IN_UNIT: lambda x: (x >= 0) & (x <= 1), FINITE: np.isfinite, NUMBERS: lambda x: x == x}
OF_VALUES = {
    IN_UNIT: lambda x: p.and_(p.ge(wide(x), full_like(wide(x), 0)), p.le(wide(x), full_like(wide(x), 1))),
    FINITE: p.is_finite,
    NUMBERS: lambda x: p.eq(x, x),
}


@torch_op
def _first_failing(input: Tensor, asked, ndim):
    """The number, from 1 on, of the first part of ndim dimensions in which not all is well; 0 if there is none."""
    shape = aval_of(input).shape
    lead = len(shape) - ndim
    failed = p.not_(p.reduce_and(OF_VALUES[asked](input), axes=tuple(range(lead, len(shape)))))
    failed = p.reshape(failed, shape=(aval_of(failed).size,))
    first = p.argmax(p.convert(failed, dtype=dt.int32), axis=0)
    return p.select(p.reduce_or(failed, axes=(0,)), p.add(first, full_like(first, 1)), full_like(first, 0))


def require(
    x: Tensor, asked: str, what: str, message: str, *, error: type[Exception] = RuntimeError, ndim: int | None = None
) -> None:
    """The error unless all elements are as asked; {index} in its message is the first part, of ndim dimensions,
    in which one is not."""
    if not (x.is_floating_point() or x.is_complex()) or not x.numel():
        return
    array = known(x._read()) if x._level is None else None
    if array is None:
        failing = _first_failing(x.detach(), asked, x.dim() if ndim is None else ndim)
        bounds.check(failing, 1, 0, what, error=error, watched=x, message=message, offset=1)
    elif not (good := OF_ARRAYS[asked](array)).all():
        parts = good.reshape(*(array.shape[:-ndim] if ndim else ()), -1).all(-1)
        raise error(message.format(index=int(np.argmin(parts))))
