"""The vocabulary that the bodies of ops share: primitives of values with numbers, reduced axes put
back, rules of derivatives, PyTorch's checks."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np

from ... import primitives as p
from ...core import dtypes as dt
from ...core.aval import aval_of
from ...transforms.custom import JvpRule, custom_jvp, stop_gradient
from .. import _types
from .._inplace import scalar_name
from .._promotion import broadcast, cast
from .._tensor import wrap_dim

# ---- numbers and shapes --------------------------------------------------------------------------


def full_like(x, fill):
    """A value of x's shape and dtype, filled with a number."""
    a = aval_of(x)
    return p.full(a.shape, fill, a.dtype)


def scalar(x, number):
    """A Python number, or one that is an input of the graph, in the shape and dtype of x."""
    a = aval_of(x)
    return p.broadcast_in_dim(cast(number, a.dtype), shape=a.shape, dims=())


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
    shape = aval_of(x).shape
    n = math.prod(shape if axes is None else [shape[d] for d in axes])
    summed = total(x, axes)
    return p.div(summed, full_like(summed, n))


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


def floated(x, dtype=None):
    """x in a dtype given by its torch name; integers stay."""
    wanted = _types.numpy_dtype(dtype, aval_of(x).dtype)
    return x if wanted == aval_of(x).dtype else p.convert(x, dtype=wanted)


def require_floating(kernel: str, x, complex: bool = False):
    """NotImplementedError, as PyTorch's kernels give it, for integers (and complex numbers)."""
    dtype = aval_of(x).dtype
    if dtype not in (dt.INEXACT if complex else dt.FLOATING):
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_name(dtype)}'")


_C_NAMES = {
    "float32": "float",
    "float64": "double",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "int64": "long int",
    "int32": "int",
    "int16": "short",
    "int8": "signed char",
    "uint8": "unsigned char",
    "bool": "bool",
    "complex32": "c10::complex<c10::Half>",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}


def c_name(x) -> str:
    """The C++ name of a value's dtype."""
    return _C_NAMES.get(aval_of(x).dtype.name, aval_of(x).dtype.name)


def require_same_dtype(x, y, message="expected m1 and m2 to have the same dtype, but got: {x} != {y}", named=c_name):
    """RuntimeError unless two operands agree."""
    if aval_of(x).dtype != aval_of(y).dtype:
        raise RuntimeError(message.format(x=named(x), y=named(y)))


def name_of(x) -> str:
    """Float, Long, ..."""
    return scalar_name(aval_of(x).dtype)


# ---- derivatives of their own --------------------------------------------------------------------


class Derived:
    """An elementwise function of one value with a tangent rule of its own: tangent(t, x, out).

    For subgradients at kinks, and to have the backward pass read the output, not the input, where
    that is kept anyway.
    """

    def __init__(self, fun: Callable, tangent: Callable):
        self.fun, self.tangent = fun, tangent
        self.rule = JvpRule(self._rule, getattr(fun, "__name__", "function"))

    def __call__(self, x):
        return custom_jvp(lambda v: [self.fun(v)], self.rule, [x])[0]

    def _rule(self, primals, tangents):
        out = self(*primals)  # not fun: the rule holds for derivatives of any order
        return [out], [self.tangent(tangents[0], primals[0], out)]


def derived(tangent: Callable):
    """Decorator: an elementwise function of one value with the given tangent rule."""
    return lambda fun: Derived(fun, tangent)


class Partials:
    """A function of several values with a tangent rule by each: tangents[i](t, *xs, out).

    All have the shape and dtype of the result.
    """

    def __init__(self, fun: Callable, tangents: Sequence[Callable]):
        self.fun, self.tangents = fun, tangents
        self.rule = JvpRule(self._rule, getattr(fun, "__name__", "function"))

    def __call__(self, *args):
        return custom_jvp(lambda *v: [self.fun(*v)], self.rule, list(args))[0]

    def _rule(self, primals, tangents):
        out = self(*primals)
        found = [rule(t, *primals, out) for rule, t in zip(self.tangents, tangents)]
        return [out], [functools.reduce(p.add, found)]


def partials(*tangents: Callable):
    """Decorator: a function of several values with the given tangent rules."""
    return lambda fun: Partials(fun, tangents)


class Linearised:
    """A function linear in its first operand whose tangent is computed another way.

    fun(x, *rest), and linear(t, *rest), which must be the same map.
    """

    def __init__(self, fun: Callable, linear: Callable):
        self.fun, self.linear = fun, linear
        self.rule = JvpRule(self._rule, getattr(fun, "__name__", "function"))

    def __call__(self, *args):
        return custom_jvp(lambda *v: [self.fun(*v)], self.rule, list(args))[0]

    def _rule(self, primals, tangents):
        return [self(*primals)], [self.linear(tangents[0], *primals[1:])]


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


__all__ = [
    "Derived",
    "Linearised",
    "Partials",
    "along",
    "aval_of",
    "broadcast",
    "c_name",
    "cast",
    "derived",
    "dt",
    "expanded",
    "floated",
    "full_like",
    "iota_along",
    "like",
    "mean",
    "name_of",
    "np",
    "p",
    "padded",
    "partials",
    "permuted",
    "require_floating",
    "require_same_dtype",
    "scalar",
    "scalar_name",
    "spread",
    "stop_gradient",
    "tied",
    "total",
    "where",
    "wide",
    "wrap_dim",
    "zero",
]
