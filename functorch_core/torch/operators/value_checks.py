"""Checks of elements that raise at the call where they are known by then, else when something is read."""

from __future__ import annotations

from ... import primitives as p
from ...core import dtypes as dt
from ...kernels.values import aval_of, full_like, wide
from ..dispatch import bounds
from ..dispatch.op import torch_op
from ..tensors.base import Tensor


@torch_op
def _outside_unit(input: Tensor):
    """1 if an element is below 0, above 1 or NaN, else 0."""
    x = wide(input)
    inside = p.and_(p.ge(x, full_like(x, 0)), p.le(x, full_like(x, 1)))
    return _first_failing(inside, aval_of(x).ndim)


@torch_op
def _infinite(input: Tensor):
    """1 if an element is infinite or NaN, else 0."""
    return _first_failing(p.is_finite(input), aval_of(input).ndim)


@torch_op
def _unordered(input: Tensor):
    """The number, from 1 on, of the first matrix with a NaN; 0 if there is none."""
    return _first_failing(p.eq(input, input), 2)


def _first_failing(good, ndim: int):
    """The number, from 1 on, of the first part of ndim dimensions in which not all is good; 0 if there is none."""
    shape = aval_of(good).shape
    lead = len(shape) - ndim
    failed = p.not_(p.reduce_and(good, axes=tuple(range(lead, len(shape)))))
    failed = p.reshape(failed, shape=(aval_of(failed).size,))
    first = p.argmax(p.convert(failed, dtype=dt.int32), axis=0)
    return p.select(p.reduce_or(failed, axes=(0,)), p.add(first, full_like(first, 1)), full_like(first, 0))


def require_in_unit(x: Tensor, what: str, message: str) -> None:
    """RuntimeError unless all elements are in [0, 1]."""
    if x.is_floating_point() and x.numel():
        _require_none(_outside_unit(x.detach()), x, what, message, RuntimeError)


def require_finite(x: Tensor, what: str, message: str) -> None:
    """RuntimeError unless all elements are finite."""
    if x.is_floating_point() and x.numel():
        _require_none(_infinite(x.detach()), x, what, message, RuntimeError)


def require_numbers(x: Tensor, what: str, message: str, error: type[Exception]) -> None:
    """The error if an element of a matrix is NaN; {index} in its message is the first such matrix."""
    if (x.is_floating_point() or x.is_complex()) and x.numel():
        _require_none(_unordered(x.detach()), x, what, message, error)


def _require_none(failing, x, what: str, message: str, error: type[Exception]) -> None:
    bounds.check(failing, 1, 0, what, error=error, watched=x, message=message, offset=1)
