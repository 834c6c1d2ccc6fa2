"""Reductions with NumPy's signatures: masks, initial values, NaN left out, quantiles, histograms."""

from __future__ import annotations

import functools
import math

import functorch_core as fc

from ..array.compose import as_dtype, composed
from ..core import dtypes as dt
from ..ops.promotion import canonical_axes, canonical_axis
from .elementwise import as_array, floats, together

function = functools.partial(composed, space="fc.numpy")

NO_INITIAL = """{name}: of no elements, and with a mask, there is no {name}; give one to begin with:
    wrong: jnp.{name}(x, where=mask)      right: jnp.{name}(x, where=mask, initial=0.)"""


def _masked(x, where, otherwise):
    """x where a mask holds (None: everywhere), elsewhere a number."""
    x = as_array(x)
    return x if where is None else fc.where(where, x, fc.full_like(x, otherwise))


def _narrow(out, x, dtype, promote_integers: bool):
    """A sum in the operand's integer dtype, if that is asked for."""
    if promote_integers or dtype is not None or x.dtype not in dt.INTEGER:
        return out
    return out.astype(x.dtype)


# ---- sums and products ---------------------------------------------------------------------------


@function("a initial where")
def sum(a, axis=None, dtype=None, keepdims=False, initial=None, where=None, promote_integers=True):
    """The sum over `axis` of the elements a mask names, and of `initial`.

    Integers are summed in 64 bits unless promote_integers=False, or a dtype is given.

    >>> import functorch_core.numpy as jnp
    >>> jnp.sum(jnp.asarray([1., 2., 3.]), where=jnp.asarray([True, False, True]))
    Array(4., dtype=float32)
    """
    a = _masked(a, where, 0)
    out = _narrow(fc.sum(a, axis=axis, dtype=dtype, keepdims=keepdims), a, dtype, promote_integers)
    return out if initial is None else out + initial


@function("a initial where")
def prod(a, axis=None, dtype=None, keepdims=False, initial=None, where=None, promote_integers=True):
    """The product over `axis`; see sum.

    >>> import functorch_core.numpy as jnp
    >>> jnp.prod(jnp.asarray([[1., 2.], [3., 4.]]), axis=1)
    Array([ 2., 12.], dtype=float32)
    """
    a = _masked(a, where, 1)
    out = _narrow(fc.prod(a, axis=axis, dtype=dtype, keepdims=keepdims), a, dtype, promote_integers)
    return out if initial is None else out * initial


@function("a where")
def mean(a, axis=None, dtype=None, keepdims=False, *, where=None):
    """The mean over `axis` of the elements a mask names.

    >>> import functorch_core.numpy as jnp
    >>> jnp.mean(jnp.asarray([[1., 2.], [3., 5.]]), 0)
    Array([2. , 3.5], dtype=float32)
    """
    if where is None:
        return fc.mean(a, axis=axis, dtype=dtype, keepdims=keepdims)
    a = floats(a) if dtype is None else as_dtype(a, dtype)
    count = fc.sum(_counted(a, where), axis=axis, keepdims=keepdims)
    return fc.sum(_masked(a, where, 0), axis=axis, keepdims=keepdims) / count


def _counted(a, where):
    """The mask in the shape and dtype of a: its sum counts."""
    return fc.broadcast_to(where, a.shape).astype(dt.real_of(a.dtype))


@function("a where mean")
def var(a, axis=None, dtype=None, ddof=0, keepdims=False, *, where=None, mean=None, correction=None):
    """The variance over `axis`: squared distances from the mean, over their number less ddof.

    correction is another name of ddof; mean is the mean, where it is known (with its dimensions kept).

    >>> import functorch_core.numpy as jnp
    >>> jnp.var(jnp.asarray([1., 2., 4.]), ddof=1)
    Array(2.3333335, dtype=float32)
    """
    ddof = ddof if correction is None else correction
    a = floats(a) if dtype is None else as_dtype(a, dtype)
    if where is None and mean is None:
        return fc.var(a, axis=axis, correction=ddof, keepdims=keepdims)
    centre = mean_of(a, axis, where) if mean is None else as_array(mean)
    off = fc.abs(_masked(a - centre, where, 0))  # before it is squared: the slope of what is left out may be NaN
    weights = fc.ones(a.shape, off.dtype) if where is None else _counted(a, where)
    total = fc.sum(off * off, axis=axis, keepdims=keepdims)
    return total / (fc.sum(weights, axis=axis, keepdims=keepdims) - ddof)


def mean_of(a, axis, where):
    """The mean with its dimensions kept."""
    return mean(a, axis, keepdims=True, where=where)


@function("a where mean")
def std(a, axis=None, dtype=None, ddof=0, keepdims=False, *, where=None, mean=None, correction=None):
    """The standard deviation over `axis`: the square root of var.

    >>> import functorch_core.numpy as jnp
    >>> jnp.std(jnp.asarray([1., 2., 4.]))
    Array(1.2472192, dtype=float32)
    """
    return fc.sqrt(
        var(a, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, where=where, mean=mean, correction=correction)
    )


@function("a weights")
def average(a, axis=None, weights=None, returned=False, keepdims=False):
    """The weighted mean over `axis`; with `returned`, (mean, sum of the weights).

    weights have the shape of a, or one dimension, that of the axis.

    >>> import functorch_core.numpy as jnp
    >>> jnp.average(jnp.asarray([1., 2., 4.]), weights=jnp.asarray([1., 1., 2.]))
    Array(2.75, dtype=float32)
    """
    a = floats(a)
    if weights is None:
        out = fc.mean(a, axis=axis, keepdims=keepdims)
        total = fc.full_like(out, a.size / max_of(out.size, 1))
        return (out, total) if returned else out
    a, weights = a, as_array(weights)
    if weights.shape != a.shape:
        if not isinstance(axis, int) or weights.ndim != 1 or weights.shape[0] != a.shape[axis]:
            raise ValueError(f"average: weights {weights.aval} fit neither a, {a.aval}, nor its axis {axis}")
        axis = canonical_axis(axis, a.ndim, "average")
        weights = fc.reshape(weights, (-1,) + (1,) * (a.ndim - axis - 1))
    a, weights = together(a, weights)
    total = fc.sum(weights, axis=axis, keepdims=keepdims)
    out = fc.sum(a * weights, axis=axis, keepdims=keepdims) / total
    return (out, total) if returned else out


def max_of(*numbers):
    """The greatest of Python numbers."""
    return sorted(numbers)[-1]


# ---- extremes ------------------------------------------------------------------------------------


def _extreme(name: str, a, axis, keepdims, initial, where):
    """The extreme by fc's function of that name, of what a mask names, and of `initial`."""
    reduce = getattr(fc, name)
    together_with = fc.maximum if name == "max" else fc.minimum
    if where is not None:
        if initial is None:
            raise ValueError(NO_INITIAL.format(name=name))
        a = fc.where(where, a, as_dtype(initial, as_array(a).dtype))
    if initial is None:
        return reduce(a, axis=axis, keepdims=keepdims)
    a = as_array(a)
    axes = canonical_axes(axis, a.ndim, name)
    if any_zero(a.shape[d] for d in axes):
        shape = [1 if d in axes else n for d, n in enumerate(a.shape) if keepdims or d not in axes]
        return fc.full(tuple(shape), initial, dtype=a.dtype)
    return together_with(reduce(a, axis=axis, keepdims=keepdims), initial)


def any_zero(sizes) -> bool:
    """Whether one of the sizes is 0."""
    return 0 in tuple(sizes)


@function("a initial where")
def max(a, axis=None, keepdims=False, initial=None, where=None):
    """The greatest element over `axis`, or `initial`; a mask needs an initial value.

    >>> import functorch_core.numpy as jnp
    >>> jnp.max(jnp.asarray([[1., 2.], [3., 0.]]), axis=0, initial=2.5)
    Array([3. , 2.5], dtype=float32)
    """
    return _extreme("max", a, axis, keepdims, initial, where)


@function("a initial where")
def min(a, axis=None, keepdims=False, initial=None, where=None):
    """The least element over `axis`, or `initial`; a mask needs an initial value.

    >>> import functorch_core.numpy as jnp
    >>> jnp.min(jnp.asarray([[1., 2.], [3., 0.]]), axis=0)
    Array([1., 0.], dtype=float32)
    """
    return _extreme("min", a, axis, keepdims, initial, where)


amax, amin = max, min


@function("a")
def ptp(a, axis=None, keepdims=False):
    """The range over `axis`: max - min.

    >>> import functorch_core.numpy as jnp
    >>> jnp.ptp(jnp.asarray([1., 5., 3.]))
    Array(4., dtype=float32)
    """
    return fc.ptp(a, axis=axis, keepdims=keepdims)


@function("a")
def argmax(a, axis=None, keepdims=None):
    """The index of the greatest element along `axis` (None: of the flattened array).

    >>> import functorch_core.numpy as jnp
    >>> jnp.argmax(jnp.asarray([1., 3., 2.]))
    Array(1, dtype=int64)
    """
    return fc.argmax(a, axis=axis, keepdims=bool(keepdims))


@function("a")
def argmin(a, axis=None, keepdims=None):
    """The index of the least element along `axis` (None: of the flattened array).

    >>> import functorch_core.numpy as jnp
    >>> jnp.argmin(jnp.asarray([1., 3., 2.]))
    Array(0, dtype=int64)
    """
    return fc.argmin(a, axis=axis, keepdims=bool(keepdims))


@function("a where")
def all(a, axis=None, keepdims=False, *, where=None):
    """Whether all elements over `axis` that a mask names are true.

    >>> import functorch_core.numpy as jnp
    >>> jnp.all(jnp.asarray([True, False]), where=jnp.asarray([True, False]))
    Array(True, dtype=bool)
    """
    return fc.all(_masked(fc.astype(as_array(a), dt.bool_), where, True), axis=axis, keepdims=keepdims)


@function("a where")
def any(a, axis=None, keepdims=False, *, where=None):
    """Whether any element over `axis` that a mask names is true.

    >>> import functorch_core.numpy as jnp
    >>> jnp.any(jnp.asarray([[True, False], [False, False]]), axis=1)
    Array([ True, False], dtype=bool)
    """
    return fc.any(_masked(fc.astype(as_array(a), dt.bool_), where, False), axis=axis, keepdims=keepdims)


@function("a")
def count_nonzero(a, axis=None, keepdims=False):
    """The number of elements over `axis` that are not 0.

    >>> import functorch_core.numpy as jnp
    >>> jnp.count_nonzero(jnp.asarray([0, 3, 0, 4]))
    Array(2, dtype=int64)
    """
    return fc.count_nonzero(a, axis=axis, keepdims=keepdims)


# ---- NaN left out --------------------------------------------------------------------------------


def _without_nan(a, otherwise):
    """(a with a number in place of NaN, where there was one)."""
    a = as_array(a)
    if a.dtype not in dt.INEXACT:
        return a, fc.zeros(a.shape, dtype=dt.bool_)
    gone = fc.isnan(a)
    return fc.where(gone, fc.full_like(a, otherwise), a), gone


@function("a initial where")
def nansum(a, axis=None, dtype=None, keepdims=False, initial=None, where=None):
    """The sum over `axis` of what is not NaN.

    >>> import functorch_core.numpy as jnp
    >>> jnp.nansum(jnp.asarray([1., jnp.nan, 2.]))
    Array(3., dtype=float32)
    """
    return sum(_without_nan(a, 0)[0], axis, dtype, keepdims, initial, where)


@function("a initial where")
def nanprod(a, axis=None, dtype=None, keepdims=False, initial=None, where=None):
    """The product over `axis` of what is not NaN.

    >>> import functorch_core.numpy as jnp
    >>> jnp.nanprod(jnp.asarray([3., jnp.nan, 2.]))
    Array(6., dtype=float32)
    """
    return prod(_without_nan(a, 1)[0], axis, dtype, keepdims, initial, where)


@function("a")
def nancumsum(a, axis=None, dtype=None):
    """The running sums along `axis` (None: of the flattened array), NaN as 0.

    >>> import functorch_core.numpy as jnp
    >>> jnp.nancumsum(jnp.asarray([1., jnp.nan, 2.]))
    Array([1., 1., 3.], dtype=float32)
    """
    return fc.cumsum(_without_nan(a, 0)[0], axis=axis, dtype=dtype)


@function("a")
def nancumprod(a, axis=None, dtype=None):
    """The running products along `axis` (None: of the flattened array), NaN as 1.

    >>> import functorch_core.numpy as jnp
    >>> jnp.nancumprod(jnp.asarray([3., jnp.nan, 2.]))
    Array([3., 3., 6.], dtype=float32)
    """
    return fc.cumprod(_without_nan(a, 1)[0], axis=axis, dtype=dtype)


def _nan_extreme(name: str, a, axis, keepdims, initial, where):
    a = as_array(a)
    if a.dtype not in dt.INEXACT:
        return _extreme(name, a, axis, keepdims, initial, where)
    sign = -1 if name == "max" else 1
    filled, gone = _without_nan(a, sign * float("inf"))
    out = _extreme(name, filled, axis, keepdims, initial, where)
    if initial is not None:
        return out
    return fc.where(fc.all(gone, axis=axis, keepdims=keepdims), fc.full_like(out, float("nan")), out)


@function("a initial where")
def nanmax(a, axis=None, keepdims=False, initial=None, where=None):
    """The greatest element over `axis` that is not NaN; NaN if there is none.

    >>> import functorch_core.numpy as jnp
    >>> jnp.nanmax(jnp.asarray([1., jnp.nan, 2.]))
    Array(2., dtype=float32)
    """
    return _nan_extreme("max", a, axis, keepdims, initial, where)


@function("a initial where")
def nanmin(a, axis=None, keepdims=False, initial=None, where=None):
    """The least element over `axis` that is not NaN; NaN if there is none.

    >>> import functorch_core.numpy as jnp
    >>> jnp.nanmin(jnp.asarray([1., jnp.nan, 2.]))
    Array(1., dtype=float32)
    """
    return _nan_extreme("min", a, axis, keepdims, initial, where)


@function("a")
def nanargmax(a, axis=None, keepdims=None):
    """The index of the greatest element that is not NaN along `axis`; -1 if there is none.

    >>> import functorch_core.numpy as jnp
    >>> jnp.nanargmax(jnp.asarray([1., jnp.nan, 2.]))
    Array(2, dtype=int64)
    """
    return _nan_place(fc.argmax, a, axis, keepdims, -float("inf"))


@function("a")
def nanargmin(a, axis=None, keepdims=None):
    """The index of the least element that is not NaN along `axis`; -1 if there is none.

    >>> import functorch_core.numpy as jnp
    >>> jnp.nanargmin(jnp.asarray([1., jnp.nan, 2.]))
    Array(0, dtype=int64)
    """
    return _nan_place(fc.argmin, a, axis, keepdims, float("inf"))


def _nan_place(find, a, axis, keepdims, otherwise):
    filled, gone = _without_nan(a, otherwise)
    out = find(filled, axis=axis, keepdims=bool(keepdims))
    return fc.where(fc.all(gone, axis=axis, keepdims=bool(keepdims)), fc.full_like(out, -1), out)


@function("a where")
def nanmean(a, axis=None, dtype=None, keepdims=False, where=None):
    """The mean over `axis` of what is not NaN.

    >>> import functorch_core.numpy as jnp
    >>> jnp.nanmean(jnp.asarray([1., jnp.nan, 2.]))
    Array(1.5, dtype=float32)
    """
    a = floats(a) if dtype is None else as_dtype(a, dtype)
    return mean(a, axis, keepdims=keepdims, where=_and_not(where, fc.isnan(a)))


def _and_not(where, gone):
    return ~gone if where is None else fc.logical_and(where, ~gone)


@function("a where mean")
def nanvar(a, axis=None, dtype=None, ddof=0, keepdims=False, where=None, mean=None):
    """The variance over `axis` of what is not NaN; NaN where fewer than ddof + 1 are left.

    >>> import functorch_core.numpy as jnp
    >>> jnp.nanvar(jnp.asarray([1., jnp.nan, 2.]))
    Array(0.25, dtype=float32)
    """
    a = floats(a) if dtype is None else as_dtype(a, dtype)
    return var(a, axis, ddof=ddof, keepdims=keepdims, where=_and_not(where, fc.isnan(a)), mean=mean)


@function("a where mean")
def nanstd(a, axis=None, dtype=None, ddof=0, keepdims=False, where=None, mean=None):
    """The standard deviation over `axis` of what is not NaN.

    >>> import functorch_core.numpy as jnp
    >>> jnp.nanstd(jnp.asarray([1., jnp.nan, 2.]))
    Array(0.5, dtype=float32)
    """
    return fc.sqrt(nanvar(a, axis, dtype, ddof, keepdims, where, mean))


# ---- quantiles -----------------------------------------------------------------------------------

METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")


def _as_one_axis(a, axis, name: str):
    """a with the axes in question joined as its last one, and what they were."""
    axes = canonical_axes(axis, a.ndim, name) if a.ndim else ()
    rest = [d for d in range(a.ndim) if d not in axes]
    moved = fc.permute_dims(a, (*rest, *axes))
    return fc.reshape(moved, (*[a.shape[d] for d in rest], math.prod(a.shape[d] for d in axes))), axes


def _quantile(a, q, axis, method, keepdims, nan_aware: bool, name: str):
    if method not in METHODS:
        raise ValueError(f"{name}: method is one of {', '.join(map(repr, METHODS))}, got {method!r}")
    a = floats(a)
    if a.dtype in dt.COMPLEX:
        raise TypeError(f"{name}: complex numbers have no order, got {a.aval}")
    dtype = fc.result_type(a, q)
    q = as_dtype(q, dtype)
    ndim, joined = a.ndim, _as_one_axis(a, axis, name)
    rows, axes = fc.sort(joined[0].astype(dtype), axis=-1), joined[1]
    lost = fc.isnan(rows)
    n = rows.shape[-1] if not nan_aware else fc.sum(~lost, axis=-1, keepdims=True)
    flat = fc.reshape(q, (-1,))
    out = _between(rows, fc.broadcast_to(flat, (*rows.shape[:-1], flat.size)), n, method)
    if not nan_aware:
        out = fc.where(fc.any(lost, axis=-1, keepdims=True), fc.full_like(out, float("nan")), out)
    else:
        out = fc.where(n == 0, fc.full_like(out, float("nan")), out)
    out = fc.reshape(fc.moveaxis(out, -1, 0), (*q.shape, *out.shape[:-1]))
    return _with_dimensions(out, axes, ndim, q.ndim) if keepdims and axes else out


def _between(rows, q, n, method: str):
    """The quantiles q of sorted rows [..., n]."""
    last = fc.asarray(n - 1).astype(q.dtype)
    place = q * (last + 1) - 1 if method == "inverted_cdf" else q * last
    below = fc.clip(fc.floor(place), 0, None)
    above = fc.clip(fc.ceil(place), 0, last)
    if method in ("inverted_cdf", "higher"):
        return _at(rows, above)
    low, high = _at(rows, fc.minimum(below, last)), _at(rows, above)
    if method == "lower":
        return low
    if method == "nearest":
        return _at(rows, fc.where(place - below <= 0.5, below, above))  # halves go down, as JAX's
    share = 0.5 * (above != below).astype(q.dtype) if method == "midpoint" else place - below
    # Of equal elements exactly their value, and to derivatives still its share of each.
    equal = fc.where(fc.isinf(low), low, low + (high - low) * share)
    return fc.where(low == high, equal, low * (1 - share) + high * share)


def _at(rows, place):
    return fc.take_along_axis(rows, fc.maximum(place, 0).astype(dt.int64), axis=-1, mode="clip")


def _hundredths(a, q):
    return as_dtype(q, fc.result_type(floats(a), q)) / 100


def _with_dimensions(out, axes, ndim: int, lead: int):
    for axis in sorted(axes):
        out = fc.expand_dims(out, axis=axis + lead)
    return out


def _weighted(a, q, weights, axis, method: str, keepdims: bool, nan_aware: bool, name: str):
    """The first element at which the running sum of the weights reaches q of it all."""
    if method != "inverted_cdf":
        raise ValueError(f"{name}: weights are there for method='inverted_cdf' alone, got {method!r}")
    a, weights = floats(a), fc.asarray(weights)
    if weights.shape != a.shape:
        if weights.ndim != 1 or not isinstance(axis, int) or weights.size != a.shape[axis]:
            raise ValueError(f"{name}: weights are like a, {a.aval}, or along its one axis; got {weights.aval}")
        weights = fc.moveaxis(fc.broadcast_to(weights, (*fc.moveaxis(a, axis, -1).shape,)), -1, axis)
    dtype, ndim = fc.result_type(a, q), a.ndim
    rows, axes = _as_one_axis(a.astype(dtype), axis, name)
    order = fc.argsort(rows, axis=-1)
    rows, shares = (fc.take_along_axis(x, order, axis=-1) for x in (rows, _as_one_axis(weights, axis, name)[0]))
    lost = fc.isnan(rows)
    sums = fc.cumulative_sum(fc.where(lost, 0, shares).astype(dtype), axis=-1)
    sums = sums / sums[..., -1:]
    q = as_dtype(q, dtype)
    before = (sums[..., None] < fc.reshape(q, (-1,))) | (sums == 0)[..., None]
    out = _at(rows, fc.sum(before, axis=-2))
    unknown = fc.all(lost, axis=-1, keepdims=True) if nan_aware else fc.any(lost, axis=-1, keepdims=True)
    out = fc.where(unknown, fc.full_like(out, float("nan")), out)
    out = fc.reshape(fc.moveaxis(out, -1, 0), (*q.shape, *out.shape[:-1]))
    return _with_dimensions(out, axes, ndim, q.ndim) if keepdims and axes else out


@function("a q weights")
def quantile(a, q, axis=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """The quantiles q (numbers in [0, 1]) over `axis`; the dimensions of q come first.

    method: 'linear' between neighbours, 'lower', 'higher', 'midpoint', 'nearest' or 'inverted_cdf',
    which may have weights, like a or along its one axis.

    >>> import functorch_core.numpy as jnp
    >>> jnp.quantile(jnp.asarray([1., 2., 3., 4.]), 0.5)
    Array(2.5, dtype=float32)
    """
    if weights is not None:
        return _weighted(a, q, weights, axis, method, keepdims, False, "quantile")
    return _quantile(a, q, axis, method, keepdims, False, "quantile")


@function("a q weights")
def nanquantile(a, q, axis=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """The quantiles q over `axis` of what is not NaN.

    >>> import functorch_core.numpy as jnp
    >>> jnp.nanquantile(jnp.asarray([1., jnp.nan, 3., 4.]), 0.5)
    Array(3., dtype=float32)
    """
    if weights is not None:
        return _weighted(a, q, weights, axis, method, keepdims, True, "nanquantile")
    return _quantile(a, q, axis, method, keepdims, True, "nanquantile")


@function("a q weights")
def percentile(a, q, axis=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """The quantiles q / 100 over `axis`.

    >>> import functorch_core.numpy as jnp
    >>> jnp.percentile(jnp.asarray([1., 2., 3., 4.]), 25)
    Array(1.75, dtype=float32)
    """
    return quantile(a, _hundredths(a, q), axis, overwrite_input, method, keepdims, weights=weights)


@function("a q weights")
def nanpercentile(a, q, axis=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """The quantiles q / 100 over `axis` of what is not NaN.

    >>> import functorch_core.numpy as jnp
    >>> jnp.nanpercentile(jnp.asarray([1., jnp.nan, 3.]), 50)
    Array(2., dtype=float32)
    """
    return nanquantile(a, _hundredths(a, q), axis, overwrite_input, method, keepdims, weights=weights)


@function("a")
def median(a, axis=None, overwrite_input=False, keepdims=False):
    """The median over `axis`; of an even number of elements the mean of the middle two.

    >>> import functorch_core.numpy as jnp
    >>> jnp.median(jnp.asarray([1., 4., 2.]))
    Array(2., dtype=float32)
    """
    return _quantile(a, 0.5, axis, "midpoint", keepdims, False, "median")


@function("a")
def nanmedian(a, axis=None, overwrite_input=False, keepdims=False):
    """The median over `axis` of what is not NaN.

    >>> import functorch_core.numpy as jnp
    >>> jnp.nanmedian(jnp.asarray([1., jnp.nan, 2.]))
    Array(1.5, dtype=float32)
    """
    return _quantile(a, 0.5, axis, "midpoint", keepdims, True, "nanmedian")


__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "average", "count_nonzero", "max", "mean", "median", "min",
    "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin",
    "nanpercentile", "nanprod", "nanquantile", "nanstd", "nansum", "nanvar", "percentile", "prod", "ptp",
    "quantile", "std", "sum", "var",
]  # fmt: skip
