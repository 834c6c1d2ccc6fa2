"""The vocabulary that kernels are written in: primitives of values with numbers, reduced axes put back,
dtypes, rules of derivatives."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np

from .. import primitives as p
from ..core import dtypes as dt
from ..core.aval import aval_of
from ..transforms.custom import JvpRule, custom_jvp
from ..transforms.custom import stop_gradient as stop_gradient

# ---- numbers and shapes --------------------------------------------------------------------------


def full_like(x, fill):
    """A value of x's shape and dtype, filled with a number."""
    a = aval_of(x)
    return p.full(a.shape, fill, a.dtype)


def spread(x, shape, axes: Sequence[int]):
    """A value without `axes`, broadcast along them to `shape`."""
    kept = tuple(d for d in range(len(shape)) if d not in axes)
    return p.broadcast_in_dim(x, shape=tuple(shape), dims=kept)


def along(x, shape, dim: int):
    """A vector along one dimension of `shape`, broadcast over the others."""
    return p.broadcast_in_dim(x, shape=tuple(shape), dims=(dim,))


def total(x, axes: Sequence[int] | None = None):
    """The sum over axes (all of them by default), which are gone."""
    return p.reduce_sum(x, axes=tuple(range(aval_of(x).ndim)) if axes is None else tuple(axes))


def mean(x, axes: Sequence[int] | None = None):
    """The mean over axes; NaN of nothing."""
    summed = total(x, axes)
    return p.div(summed, full_like(summed, aval_of(x).size if axes is None else count_over(x, axes)))


def count_over(x, axes: Sequence[int]) -> int:
    """The number of elements that a reduction takes together."""
    return math.prod(aval_of(x).shape[d] for d in axes)


def kept(out, x, axes: Sequence[int], keepdims: bool):
    """A reduced value; with size 1 for x's reduced axes if they are kept."""
    if not keepdims or not axes:
        return out
    return p.reshape(out, shape=tuple(1 if d in axes else n for d, n in enumerate(aval_of(x).shape)))


def where(pred, x, y):
    """select of values and numbers, at least one of them a value of pred's shape."""
    x = full_like(y, x) if isinstance(x, (int, float, complex, bool)) else x
    y = full_like(x, y) if isinstance(y, (int, float, complex, bool)) else y
    return p.select(pred, x, y)


def expanded(x, shape):
    """x broadcast to a shape it fits, aligned at the last dimension."""
    start = len(shape) - aval_of(x).ndim
    return p.broadcast_in_dim(x, shape=tuple(shape), dims=tuple(range(start, len(shape))))


def permuted(x, order: Sequence[int]):
    """x with its dimensions in another order; x itself if it is the order they are in."""
    order = tuple(order)
    return x if order == tuple(range(len(order))) else p.transpose(x, permutation=order)


def vector(x):
    """x itself, or of no dimensions as one of one element."""
    return x if aval_of(x).ndim else p.reshape(x, shape=(1,))


def iota_along(shape, dim: int, dtype=dt.int64):
    """The index along one dimension, at every element."""
    return p.iota(shape=tuple(shape), dtype=dtype, dimension=dim)


def zero(dtype):
    """A 0-d zero, what padding is made of."""
    return p.constant(np.zeros((), dtype))


def padded(x, low, high, value=0):
    """x with a number around it; negative padding cuts off."""
    fill = p.constant(np.asarray(value).astype(aval_of(x).dtype))
    return p.pad(x, fill, low=tuple(low), high=tuple(high))


# ---- dtypes --------------------------------------------------------------------------------------


def wide(x):
    """A value in the dtype PyTorch computes with: float32 for 16-bit floats."""
    return p.convert(x, dtype=dt.wide(aval_of(x).dtype))


def like(x, reference):
    """x in the dtype of a reference value."""
    dtype = aval_of(reference).dtype
    return x if aval_of(x).dtype == dtype else p.convert(x, dtype=dtype)


# ---- derivatives of their own --------------------------------------------------------------------


class Derived:
    """A function with a tangent rule by each of its first operands: tangents[i](t, *xs, out).

    For subgradients at kinks, and to have the backward pass read the output, not the input, where
    that is kept anyway. on_host(*avals): what is quicker than NumPy, see JvpRule.
    """

    def __init__(self, fun: Callable, *tangents: Callable, on_host: Callable | None = None):
        self.fun, self.tangents = fun, tangents
        self.rule = JvpRule(self._rule, getattr(fun, "__name__", "function"), on_host)

    def __call__(self, *args):
        return custom_jvp(lambda *v: [self.fun(*v)], self.rule, list(args))[0]

    def _rule(self, primals, tangents):
        out = self(*primals)  # not fun: the rule holds for derivatives of any order
        found = [rule(t, *primals, out) for rule, t in zip(self.tangents, tangents)]
        return [out], [functools.reduce(p.add, found)]


def derived(*tangents: Callable, on_host: Callable | None = None):
    """Decorator: a function of values with the given tangent rules, which add up."""
    return lambda fun: Derived(fun, *tangents, on_host=on_host)


def tied(value, x):
    """The value, which then depends on x as well, with derivative 0: where PyTorch has one."""
    return custom_jvp(lambda v, _: [v], _TIED, [value, x])[0]


def _tied_tangent(primals, tangents):
    """Times 0, not 0: so that the derivative in turn depends on what it is applied to."""
    value, through = primals[0], tangents[1]
    out = aval_of(value)
    if aval_of(through).dtype in dt.COMPLEX and out.dtype not in dt.COMPLEX:
        through = p.real(through)
    nothing = p.mul(p.convert(total(through), dtype=out.dtype), 0.0)
    nothing = p.broadcast_in_dim(nothing, shape=out.shape, dims=())
    return [tied(*primals)], [nothing if tangents[0] is None else p.add(tangents[0], nothing)]


_TIED = JvpRule(_tied_tangent, "tied")
