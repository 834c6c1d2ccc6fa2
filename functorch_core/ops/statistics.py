"""Reductions and cumulative operations over axes."""

from __future__ import annotations

import math
from collections.abc import Callable

from .. import primitives as p
from ..core import dtypes as dt
from ..core.aval import aval_of
from ..kernels import reductions
from ..kernels.complex_order import extreme_over
from ..kernels.elementwise import same_or_nan, truth
from ..kernels.shapes import differences
from ..kernels.values import count_over, kept
from ..kernels.values import full_like as like
from ..primitives import cumulative
from .declaring import BITS, check
from .logic import isclose
from .manipulation import concat
from .op import op
from .places import exposed
from .promotion import broadcast_to, canonical_axes, canonical_axis, promote

NO_ELEMENTS = """{name}(x, axis={axis}) of {aval}: there is no element to choose from.
    Give x at least one element along every reduced axis."""


def axes_of(x, axis, name: str) -> tuple[int, ...]:
    """The axes of a reduction; a 0-d array has none, which axis=None, 0, -1 and () name."""
    ndim = aval_of(x).ndim
    if not ndim and axis in (None, 0, -1, ()):
        return ()
    return canonical_axes(axis, ndim, name)


def sum_dtype(dtype, wanted):
    """The dtype of a sum: int64 (uint64) of integers and bools, otherwise the operand's."""
    if wanted is not None:
        return dt.canonical(wanted)
    if dtype in dt.UNSIGNED:
        return dt.uint64
    return dt.DEFAULT_INT if dtype in BITS else dtype


def to_floats(x):
    """Integers and bools as float32."""
    return x if aval_of(x).dtype in dt.INEXACT else p.convert(x, dtype=dt.DEFAULT_FLOAT)


# ---- sums and products ---------------------------------------------------------------------------


def _or_of_bools(apply: Callable, of_bools: Callable) -> Callable:
    """A sum or product of numbers; of bools, which dtype=bool asks for, whether any or all are true."""
    return lambda x, **over: (of_bools if aval_of(x).dtype == dt.bool_ else apply)(x, **over)


_total, _product = _or_of_bools(p.reduce_sum, p.reduce_or), _or_of_bools(p.reduce_prod, p.reduce_and)
_totals = _or_of_bools(cumulative.cumsum, cumulative.cummax)
_products = _or_of_bools(cumulative.cumprod, cumulative.cummin)


@op("fc", "Array")
def sum(x, /, axis=None, dtype=None, keepdims=False):
    """The sum over `axis` (an int, several, or None for all). Of nothing it is 0.

    Integers and bools are summed as int64 (unsigned ones as uint64) unless `dtype` is given;
    float16 and bfloat16 are summed in float32. IndexError for an axis out of range.

    >>> import functorch_core as fc
    >>> fc.sum(fc.asarray([[1., 2.], [3., 4.]]), axis=0)
    Array([4., 6.], dtype=float32)
    """
    axes = axes_of(x, axis, "sum")
    x = p.convert(x, dtype=sum_dtype(aval_of(x).dtype, dtype))
    return kept(_total(x, axes=axes), x, axes, keepdims)


@op("fc", "Array")
def prod(x, /, axis=None, dtype=None, keepdims=False):
    """The product over `axis` (an int, several, or None for all). Of nothing it is 1.

    Dtypes as for sum.

    >>> import functorch_core as fc
    >>> fc.prod(fc.asarray([[1., 2.], [3., 4.]]), axis=0)
    Array([3., 8.], dtype=float32)
    """
    axes = axes_of(x, axis, "prod")
    x = p.convert(x, dtype=sum_dtype(aval_of(x).dtype, dtype))
    return kept(_product(x, axes=axes), x, axes, keepdims)


@op("fc", "Array")
def mean(x, /, axis=None, dtype=None, keepdims=False):
    """The mean over `axis` (an int, several, or None for all); NaN of nothing.

    Integers and bools give float32; float16 and bfloat16 are summed in float32.

    >>> import functorch_core as fc
    >>> fc.mean(fc.asarray([[1., 2.], [3., 5.]]), axis=0)
    Array([2. , 3.5], dtype=float32)
    """
    axes = axes_of(x, axis, "mean")
    x = to_floats(x) if dtype is None else p.convert(x, dtype=dt.canonical(dtype))
    return kept(reductions.mean_of(x, axes), x, axes, keepdims)


def _variance(x, axis, correction, keepdims, name: str):
    axes, x = axes_of(x, axis, name), to_floats(x)
    out = reductions.mean_and_variance(x, axes, correction)[1]
    return kept(p.convert(out, dtype=dt.real_of(aval_of(x).dtype)), x, axes, keepdims)


@op("fc", "Array")
def var(x, /, axis=None, correction=0.0, keepdims=False):
    """The variance over `axis`: squared distances from the mean over n - correction.

    Integers give float32; complex arrays a real variance. correction=1 is the sample variance.

    >>> import functorch_core as fc
    >>> fc.var(fc.asarray([1., 2., 4.]), correction=1)
    Array(2.3333335, dtype=float32)
    """
    return _variance(x, axis, correction, keepdims, "var")


@op("fc", "Array")
def std(x, /, axis=None, correction=0.0, keepdims=False):
    """The standard deviation over `axis`: the square root of var.

    >>> import functorch_core as fc
    >>> fc.std(fc.asarray([1., 2., 4.]))
    Array(1.2472192, dtype=float32)
    """
    return p.sqrt(_variance(x, axis, correction, keepdims, "std"))


# ---- extremes ------------------------------------------------------------------------------------


_greatest, _least = extreme_over(p.reduce_max), extreme_over(p.reduce_min)


def _extreme(x, axis, keepdims, name: str, reduce):
    axes = axes_of(x, axis, name)
    if axes and count_over(x, axes) == 0:
        raise ValueError(NO_ELEMENTS.format(name=name, axis=axis, aval=aval_of(x)))
    return kept(reduce(x, axes=axes), x, axes, keepdims)


@op("fc", "Array")
def max(x, /, axis=None, keepdims=False):
    """The greatest element over `axis`; NaN if there is one. Complex numbers as by less.

    The derivative is shared by elements that are equally great. ValueError for no elements.

    >>> import functorch_core as fc
    >>> fc.max(fc.asarray([[1., 2.], [3., 0.]]), axis=0)
    Array([3., 2.], dtype=float32)
    """
    return _extreme(x, axis, keepdims, "max", _greatest)


@op("fc", "Array")
def min(x, /, axis=None, keepdims=False):
    """The least element over `axis`; NaN if there is one. See max.

    >>> import functorch_core as fc
    >>> fc.min(fc.asarray([[1., 2.], [3., 0.]]), axis=0)
    Array([1., 0.], dtype=float32)
    """
    return _extreme(x, axis, keepdims, "min", _least)


@op("fc", "Array", names="a")
def ptp(x, /, axis=None, keepdims=False):
    """The range over `axis`: max - min.

    >>> import functorch_core as fc
    >>> fc.ptp(fc.asarray([1., 5., 3.]))
    Array(4., dtype=float32)
    """
    return p.sub(_extreme(x, axis, keepdims, "ptp", _greatest), _extreme(x, axis, keepdims, "ptp", _least))


@exposed("fc", names="a")
def logsumexp(x, /, axis=None, b=None, keepdims=False, return_sign=False, where=None):
    """log(sum(b * exp(x))) over `axis` without overflow; -inf of nothing.

    b: factors, 1 by default; with negative ones, return_sign=True gives (log of the absolute
    value, sign), else the logarithm of a negative sum is NaN. where: a mask of what counts.
    Of complex numbers it is complex.

    >>> import functorch_core as fc
    >>> fc.logsumexp(fc.asarray([1000., 1000.]))
    Array(1000.6932, dtype=float32)
    """
    if b is None and where is None and not return_sign:
        return _logsumexp(x, axis=axis, keepdims=keepdims)
    return _logsumexp_of_terms(x, b, where, axis=axis, keepdims=keepdims, return_sign=return_sign)


@op
def _logsumexp(x, /, *, axis, keepdims):
    axes = axes_of(x, axis, "logsumexp")
    x = to_floats(x)
    check("logsumexp", x, dt.INEXACT)
    return kept(reductions.logsumexp(x, axes), x, axes, keepdims)


@op
def _logsumexp_of_terms(x, b, where, /, *, axis, keepdims, return_sign):
    if b is not None:
        x, b = promote(x, b, name="logsumexp", to_inexact=True)
    x = to_floats(x)
    check("logsumexp", x, dt.INEXACT)
    axes = axes_of(x, axis, "logsumexp")
    if where is not None:
        x, b = masked_terms(x, b, where)
    if b is not None:  # exp(inf) * 0 would be NaN
        x = p.select(p.eq(b, 0), like(x, -math.inf), x)
    shifted, top = reductions.shifted_by_max(x, axes)
    terms = p.exp(shifted)
    total = p.reduce_sum(terms if b is None else p.mul(terms, b), axes=axes)
    if not return_sign:
        return kept(p.add(p.log(total), top), x, axes, keepdims)
    size = p.abs(total)
    log = p.add(p.log(size), p.real(top) if aval_of(top).dtype in dt.COMPLEX else top)
    return [kept(v, x, axes, keepdims) for v in (log, p.sign(total))]


def masked_terms(x, b, where):
    """(x, b) with -inf and 0 where the mask says no."""
    mask = broadcast_to(p.convert(where, dtype=dt.bool_), aval_of(x).shape)
    x = p.select(mask, x, like(x, -math.inf))
    return x, b if b is None else p.select(mask, b, like(b, 0))


@exposed("fc", names="x")
def logmeanexp(x, /, axis=None, where=None, keepdims=False):
    """log(mean(exp(x))) over `axis` without overflow; where: a mask of what counts.

    >>> import functorch_core as fc
    >>> fc.logmeanexp(fc.asarray([1000., 1000.]))
    Array(1000., dtype=float32)
    """
    return _logmeanexp(x, where, axis=axis, keepdims=keepdims)


@op
def _logmeanexp(x, where, /, *, axis, keepdims):
    x = to_floats(x)
    check("logmeanexp", x, dt.FLOATING)
    axes = axes_of(x, axis, "logmeanexp")
    count = p.full(aval_of(x).shape, 1, aval_of(x).dtype)
    if where is not None:
        x, count = masked_terms(x, count, where)
    number = p.log(p.reduce_sum(count, axes=axes))
    return kept(p.sub(reductions.logsumexp(x, axes), number), x, axes, keepdims)


# ---- truth ---------------------------------------------------------------------------------------


@op("fc", "Array")
def all(x, /, axis=None, keepdims=False):
    """Whether all elements over `axis` are true (not 0). Of nothing: True.

    >>> import functorch_core as fc
    >>> fc.all(fc.asarray([[True, False], [True, True]]), axis=0)
    Array([ True, False], dtype=bool)
    """
    axes = axes_of(x, axis, "all")
    return kept(p.reduce_and(truth(x), axes=axes), x, axes, keepdims)


@op("fc", "Array")
def any(x, /, axis=None, keepdims=False):
    """Whether any element over `axis` is true (not 0). Of nothing: False.

    >>> import functorch_core as fc
    >>> fc.any(fc.asarray([[True, False], [False, False]]), axis=0)
    Array([ True, False], dtype=bool)
    """
    axes = axes_of(x, axis, "any")
    return kept(p.reduce_or(truth(x), axes=axes), x, axes, keepdims)


@op("fc")
def count_nonzero(x, /, axis=None, keepdims=False):
    """The number of elements over `axis` that are not 0, an int64.

    >>> import functorch_core as fc
    >>> fc.count_nonzero(fc.asarray([0, 3, 0, 4]))
    Array(2, dtype=int64)
    """
    axes = axes_of(x, axis, "count_nonzero")
    counted = p.convert(truth(x), dtype=dt.DEFAULT_INT)
    return kept(p.reduce_sum(counted, axes=axes), x, axes, keepdims)


@op("fc", names="a b")
def allclose(x1, x2, /, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Whether all elements are close: see isclose.

    >>> import functorch_core as fc
    >>> fc.allclose(fc.asarray([1., 2.]), fc.asarray([1., 2.00001]))
    Array(True, dtype=bool)
    """
    close = isclose.fun(x1, x2, rtol=rtol, atol=atol, equal_nan=equal_nan)
    return p.reduce_and(close, axes=tuple(range(aval_of(close).ndim)))


@op("fc", names="a1 a2")
def array_equal(x1, x2, /, equal_nan=False):
    """Whether two arrays have one shape and equal elements; with `equal_nan`, NaN equals NaN.

    >>> import functorch_core as fc
    >>> fc.array_equal(fc.asarray([1, 2]), fc.asarray([1, 2]))
    Array(True, dtype=bool)
    """
    if aval_of(x1).shape != aval_of(x2).shape:
        return p.full((), False, dt.bool_)
    x1, x2 = promote(x1, x2, name="array_equal")
    same = same_or_nan(x1, x2, equal_nan)
    return p.reduce_and(same, axes=tuple(range(aval_of(same).ndim)))


# ---- cumulative ----------------------------------------------------------------------------------


def _cumulative(x, axis, dtype, include_initial, name: str, apply, initial):
    a = aval_of(x)
    if axis is None:
        if a.ndim > 1:
            raise ValueError(f"{name} of {a} needs an axis; without one x has one dimension")
        axis = 0
    if not a.ndim:
        x = p.reshape(x, shape=(1,))
    axis = canonical_axis(axis, aval_of(x).ndim, name)
    x = p.convert(x, dtype=sum_dtype(a.dtype, dtype))
    out = apply(x, axis=axis)
    if include_initial:
        shape = aval_of(x).shape
        first = p.full(shape[:axis] + (1,) + shape[axis + 1 :], initial, aval_of(x).dtype)
        out = p.concatenate(first, out, dimension=axis)
    return out if a.ndim or include_initial else p.reshape(out, shape=())


@op("fc")
def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """The running sums along `axis`, which may be left out for one dimension. Dtypes as for sum.

    include_initial: with the sum of nothing, 0, in front. ValueError without an axis where x has
    several.

    >>> import functorch_core as fc
    >>> fc.cumulative_sum(fc.asarray([1, 2, 3]))
    Array([1, 3, 6], dtype=int64)
    """
    return _cumulative(x, axis, dtype, include_initial, "cumulative_sum", _totals, 0)


@op("fc")
def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """The running products along `axis`; see cumulative_sum.

    >>> import functorch_core as fc
    >>> fc.cumulative_prod(fc.asarray([1, 2, 3]))
    Array([1, 2, 6], dtype=int64)
    """
    return _cumulative(x, axis, dtype, include_initial, "cumulative_prod", _products, 1)


def _from_the_end(apply: Callable, x, axis: int, reverse: bool):
    """A cumulative operation, with `reverse` of what comes behind each element."""
    if not reverse:
        return apply(x, axis=axis)
    return p.reverse(apply(p.reverse(x, dims=(axis,)), axis=axis), dims=(axis,))


def _running(x, axis, name: str):
    """For NumPy's cumsum and its kind, axis=None flattens; a scalar is one element along axis 0."""
    if axis is None or (not aval_of(x).ndim and axis in (0, -1)):
        return p.reshape(x, shape=(aval_of(x).size,)), 0
    return x, canonical_axis(axis, aval_of(x).ndim, name)


def _running_dtype(x, wanted):
    """That of cumsum and cumprod, which JAX leaves in the operand's, also where a sum is in 64 bits."""
    dtype = aval_of(x).dtype
    return dtype if wanted is None and dtype != dt.bool_ else sum_dtype(dtype, wanted)


@op("fc", "Array", names="a")
def cumsum(x, /, axis=None, dtype=None):
    """The running sums along `axis` (None: of the flattened array), in the dtype of x unless one is given.

    Bools are summed as int64; cumulative_sum sums all integers in 64 bits.

    >>> import functorch_core as fc
    >>> fc.cumsum(fc.asarray([[1, 2], [3, 4]]), axis=0)
    Array([[1, 2],
           [4, 6]], dtype=int64)
    """
    x, axis = _running(x, axis, "cumsum")
    return _totals(p.convert(x, dtype=_running_dtype(x, dtype)), axis=axis)


@op("fc", "Array", names="a")
def cumprod(x, /, axis=None, dtype=None):
    """The running products along `axis` (None: of the flattened array). Dtypes as for cumsum.

    >>> import functorch_core as fc
    >>> fc.cumprod(fc.asarray([[1, 2], [3, 4]]), axis=0)
    Array([[1, 2],
           [3, 8]], dtype=int64)
    """
    x, axis = _running(x, axis, "cumprod")
    return _products(p.convert(x, dtype=_running_dtype(x, dtype)), axis=axis)


@op("fc", names="operand")
def cummax(x, /, axis=0, reverse=False):
    """The greatest element so far along `axis` (None: of the flattened array), or from its end.

    >>> import functorch_core as fc
    >>> fc.cummax(fc.asarray([1, 3, 2]))
    Array([1, 3, 3], dtype=int64)
    """
    return _from_the_end(cumulative.cummax, *_running(x, axis, "cummax"), reverse)


@op("fc", names="operand")
def cummin(x, /, axis=0, reverse=False):
    """The least element so far along `axis` (None: of the flattened array).

    >>> import functorch_core as fc
    >>> fc.cummin(fc.asarray([3, 1, 2]))
    Array([3, 1, 1], dtype=int64)
    """
    return _from_the_end(cumulative.cummin, *_running(x, axis, "cummin"), reverse)


@op("fc", names="operand")
def cumlogsumexp(x, /, axis=0, reverse=False):
    """log(cumsum(exp(x))) along `axis` without overflow (None: of the flattened array).

    >>> import functorch_core as fc
    >>> fc.cumlogsumexp(fc.asarray([0., 0.]))
    Array([0.       , 0.6931472], dtype=float32)
    """
    return _from_the_end(cumulative.cumlogsumexp, *_running(to_floats(x), axis, "cumlogsumexp"), reverse)


@op("fc", arrays=("prepend", "append"))
def diff(x, /, prepend=None, append=None, *, axis=-1, n=1):
    """The n-th differences of neighbours along `axis`; `prepend`, `append` are joined to x first.

    >>> import functorch_core as fc
    >>> fc.diff(fc.asarray([1, 4, 9]))
    Array([3, 5], dtype=int64)
    """
    a = aval_of(x)
    axis = canonical_axis(axis, a.ndim, "diff")
    if n < 0:
        raise ValueError(f"diff: the order n is not negative, got {n}")
    side = a.shape[:axis] + (1,) + a.shape[axis + 1 :]
    parts = [
        p.broadcast_in_dim(v, shape=side, dims=()) if v is not None and not aval_of(v).ndim else v
        for v in (prepend, x, append)
    ]
    parts = [v for v in parts if v is not None]
    x = concat.fun(parts, axis=axis) if len(parts) > 1 else x
    return differences(x, n, axis)


__all__ = [  # what it has in fc, for static tools
    "all", "allclose", "any", "array_equal", "count_nonzero", "cumlogsumexp", "cummax", "cummin", "cumprod",
    "cumsum", "cumulative_prod", "cumulative_sum", "diff", "logmeanexp", "logsumexp", "max", "mean", "min", "prod",
    "ptp", "std", "sum", "var",
]  # fmt: skip
