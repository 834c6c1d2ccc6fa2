"""fc.random: numbers drawn by explicit keys. The same key gives the same numbers, everywhere."""

from __future__ import annotations

import builtins
import math

import numpy as np

from .. import primitives as p
from ..core import dtypes as dt
from ..core.aval import aval_of
from ..kernels.values import full_like as like
from ..primitives import cumulative
from .creation import canonical_shape
from .keys import check_key, random_bits, subkeys
from .op import Op, op
from .places import exposed
from .promotion import broadcast_shapes, broadcast_to, canonical_axis, cast, result_dtype
from .searching import searchsorted


def _float_dtype(dtype, name: str) -> np.dtype:
    dtype = dt.canonical(dtype or float)
    if dtype not in dt.FLOATING - dt.FLOAT8:
        raise TypeError(f"random.{name} draws float16, bfloat16, float32 or float64, not {dtype.name}")
    return dtype


# ---- bits and integers ---------------------------------------------------------------------------


@op("fc.random", arrays=("key",))
def bits(key, shape=(), dtype=None):
    """Uniform bits, as unsigned integers (uint32 by default).

    >>> import functorch_core as fc
    >>> fc.random.bits(fc.random.key(0), (2,)).dtype.name
    'uint32'
    """
    check_key(key, "bits")
    dtype = dt.canonical(dtype or dt.uint32)
    if dtype not in dt.UNSIGNED:
        raise TypeError(f"random.bits draws unsigned integers, not {dtype.name}")
    return random_bits(key, shape=canonical_shape(shape, "random.bits"), bits=8 * dtype.itemsize)


def _clipped(v, dtype: np.dtype):
    """Integers as ones of a dtype, the nearest that it has."""
    own, to = dt.iinfo(aval_of(v).dtype), dt.iinfo(dtype)
    low, high = builtins.max(own.min, to.min), min(own.max, to.max)
    return p.convert(p.clamp(like(v, low), v, like(v, high)), dtype=dtype)


@op
def _randint(key, minval, maxval, /, *, shape, dtype):
    """Twice as many bits as the dtype has, modulo the span (which is 0 where it is all of the dtype)."""
    check_key(key, "randint")
    minval, maxval = (v if aval_of(v).dtype in dt.INTEGER else p.convert(v, dtype=dt.int64) for v in (minval, maxval))
    beyond = aval_of(maxval).dtype
    low, high = (broadcast_to(_clipped(v, dtype), shape) for v in (minval, maxval))
    unsigned, bits = np.dtype(f"uint{8 * dtype.itemsize}"), 8 * dtype.itemsize
    upper, lower = (random_bits(k, shape=shape, bits=bits) for k in subkeys(key))
    some = p.gt(high, low)
    span = p.convert(p.sub(high, low), dtype=unsigned)
    if dt.iinfo(beyond).max > dt.iinfo(dtype).max:  # the last integer may be meant, too
        more = broadcast_to(p.gt(maxval, like(maxval, dt.iinfo(dtype).max)), shape)
        span = p.select(more, p.add(span, like(span, 1)), span)
    whole = p.and_(some, p.eq(span, like(span, 0)))
    span = p.select(p.and_(some, p.not_(whole)), span, like(span, 1))
    half = p.rem(like(span, 2 ** (bits // 2)), span)
    scaled = p.mul(p.rem(upper, span), p.rem(p.mul(half, half), span))
    offset = p.select(whole, lower, p.rem(p.add(scaled, p.rem(lower, span)), span))
    return p.add(low, p.convert(offset, dtype=dtype))


def _drawn_int(minval, maxval) -> np.dtype:
    """The dtype of which integers of no given dtype are drawn: JAX's numbers are those of 32 bits."""
    for v in (minval, maxval):
        if isinstance(v, int):
            if not -(2**31) <= v <= 2**31:
                return dt.int64
        elif aval_of(v).dtype.itemsize > 4 or aval_of(v).dtype == dt.uint32:
            return dt.int64
    return dt.int32


@exposed("fc.random")
def randint(key, shape, minval, maxval, dtype=None):
    """Uniform integers from minval to maxval - 1, int64 by default; minval where there are none.

    >>> import functorch_core as fc
    >>> bool(fc.all(fc.random.randint(fc.random.key(0), (9,), 0, 5) < 5))
    True
    """
    shape = canonical_shape(shape, "random.randint")
    if dtype is None:
        drawn = _randint(key, minval, maxval, shape=shape, dtype=_drawn_int(minval, maxval))
        return _narrow(drawn, dtype=dt.DEFAULT_INT)
    dtype = dt.canonical(dtype)
    if dtype not in dt.INTEGER:
        raise TypeError(f"random.randint draws integers, not {dtype.name}")
    if dtype.itemsize < 4:
        return _narrow(_randint(key, *_near(minval, maxval, dtype), shape=shape, dtype=dt.int32), dtype=dtype)
    return _randint(key, minval, maxval, shape=shape, dtype=dtype)


def _near(minval, maxval, dtype: np.dtype) -> list:
    """Bounds of integers of a narrow dtype, which are drawn of 32 bits to be even."""
    info = dt.iinfo(dtype)
    return [_bounded(v, low=int(info.min), high=int(info.max) + i) for i, v in enumerate((minval, maxval))]


@op
def _bounded(x, /, *, low, high):
    x = p.convert(x, dtype=dt.int64)
    return p.clamp(like(x, low), x, like(x, high))


# ---- uniform -------------------------------------------------------------------------------------


def unit(key, shape, dtype):
    """Uniform floats in [0, 1): as many random bits as the dtype's significand stores, times 2**-n."""
    info = dt.finfo(dtype)
    n = info.nmant
    width = info.bits if n >= 8 else 8
    drawn = random_bits(key, shape=shape, bits=width)
    drawn = p.convert(p.shift_right_logical(drawn, width - n), dtype=dtype)
    return p.mul(drawn, 2.0**-n)


def between(key, shape, dtype, low, high):
    """Uniform floats in [low, high), Python floats."""
    u = p.add(p.mul(unit(key, shape, dtype), high - low), low)
    return p.max(u, like(u, low))


@op(scalars=True)
def _uniform(key, minval, maxval, /, *, shape, dtype):
    check_key(key, "uniform")
    low, high = (broadcast_to(cast(v, dtype), shape) for v in (minval, maxval))
    return p.max(low, p.add(p.mul(unit(key, shape, dtype), p.sub(high, low)), low))


@exposed("fc.random")
def uniform(key, shape=(), dtype=None, minval=0.0, maxval=1.0):
    """Uniform floats in [minval, maxval), float32 by default.

    >>> import functorch_core as fc
    >>> fc.random.uniform(fc.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return _uniform(
        key, minval, maxval, shape=canonical_shape(shape, "random.uniform"), dtype=_float_dtype(dtype, "uniform")
    )


# ---- normal and others by inversion --------------------------------------------------------------


def standard_normal(key, shape, dtype):
    """Standard normal floats, by the inverse of the cdf; narrow dtypes in float32."""
    wide = dt.wide(dtype)
    low = float(np.nextafter(np.asarray(-1, wide), np.asarray(0, wide)))
    drawn = p.mul(p.erf_inv_of_drawn(between(key, shape, wide, low, 1.0)), math.sqrt(2))
    return p.convert(drawn, dtype=dtype)


@op("fc.random", arrays=("key",))
def normal(key, shape=(), dtype=None):
    """Standard normal numbers, float32 by default; complex ones have variance 1, too.

    >>> import functorch_core as fc
    >>> fc.random.normal(fc.random.key(0), (2, 3)).shape
    (2, 3)
    """
    check_key(key, "normal")
    shape = canonical_shape(shape, "random.normal")
    dtype = dt.canonical(dtype or float)
    if dtype in dt.COMPLEX:
        parts = [standard_normal(k, shape, dt.real_of(dtype)) for k in subkeys(key)]
        return p.mul(p.complex(*parts), math.sqrt(0.5))
    if dtype in dt.FLOAT8:
        return p.convert(standard_normal(key, shape, dt.float32), dtype=dtype)
    return standard_normal(key, shape, _float_dtype(dtype, "normal"))


def _tiny(dtype) -> float:
    return float(dt.finfo(dtype).smallest_normal)


def _by_inversion(name: str, inverse, low, doc: str, example: str, gives: str):
    """A distribution without parameters: inverse(u) of u in [low(dtype), 1)."""

    def fun(key, shape=(), dtype=None):
        check_key(key, name)
        dtype = _float_dtype(dtype, name)
        wide = dt.wide(dtype)
        u = between(key, canonical_shape(shape, f"random.{name}"), wide, low(wide), 1.0)
        return p.convert(inverse(u), dtype=dtype)

    fun.__name__ = fun.__qualname__ = name
    fun.__doc__ = (
        f"{doc}\n\n    float32 by default.\n\n    >>> import functorch_core as fc\n    >>> {example}\n    {gives}\n    "
    )
    return op("fc.random", arrays=("key",))(fun)


BAD_MODE = """random.{name}: mode={mode!r} is neither "low" nor "high".
    "low" draws as many random bits as the dtype has, "high" float64's, for rare events."""


def drawn_dtype(mode, dtype, name: str) -> np.dtype:
    """The dtype whose uniform numbers are drawn: float64 in the mode 'high'."""
    if mode not in (None, "low", "high"):
        raise ValueError(BAD_MODE.format(name=name, mode=mode))
    if mode == "high":
        return dt.float64
    return dt.wide(dtype)


def _gumbel_of(u):
    return p.neg(p.log(p.neg(p.log(u))))


def _laplace_of(u):
    return p.mul(p.sign(u), p.log1p(p.neg(p.abs(u))))


def _open_minus_one(dtype) -> float:
    return float(np.nextafter(np.asarray(-1, dtype), np.asarray(0, dtype)))


@op("fc.random", arrays=("key",))
def gumbel(key, shape=(), dtype=None, mode=None):
    """Standard Gumbel numbers: the greatest of many exponentials.

    float32 by default. mode "high" draws them of float64's uniform numbers.

    >>> import functorch_core as fc
    >>> fc.random.gumbel(fc.random.key(0), (3,)).shape
    (3,)
    """
    check_key(key, "gumbel")
    dtype = _float_dtype(dtype, "gumbel")
    wide = drawn_dtype(mode, dtype, "gumbel")
    u = between(key, canonical_shape(shape, "random.gumbel"), wide, _tiny(wide), 1.0)
    return p.convert(_gumbel_of(u), dtype=dtype)


exponential = _by_inversion(
    "exponential",
    lambda u: p.neg(p.log1p(p.neg(u))),
    lambda dtype: 0.0,
    "Exponential numbers of mean 1.",
    "fc.random.exponential(fc.random.key(0), (3,)).shape",
    "(3,)",
)
laplace = _by_inversion(
    "laplace",
    _laplace_of,
    _open_minus_one,
    "Laplace numbers of mean 0 and scale 1.",
    "fc.random.laplace(fc.random.key(0), (3,)).shape",
    "(3,)",
)
logistic = _by_inversion(
    "logistic",
    lambda u: p.sub(p.log(u), p.log1p(p.neg(u))),
    _tiny,
    "Logistic numbers of mean 0 and scale 1.",
    "fc.random.logistic(fc.random.key(0), (3,)).shape",
    "(3,)",
)
cauchy = _by_inversion(
    "cauchy",
    lambda u: p.tan(p.mul(p.sub(u, 0.5), math.pi)),
    _tiny,
    "Cauchy numbers of location 0 and scale 1.",
    "fc.random.cauchy(fc.random.key(0), (3,)).shape",
    "(3,)",
)


@op(scalars=True)
def _truncated_normal(key, lower, upper, /, *, shape, dtype):
    check_key(key, "truncated_normal")
    low, high = (broadcast_to(cast(v, dtype), shape) for v in (lower, upper))
    a, b = (p.erf(p.mul(v, math.sqrt(0.5))) for v in (low, high))
    u = p.add(p.mul(unit(key, shape, dtype), p.sub(b, a)), a)
    return p.clamp(low, p.mul(p.erf_inv(u), math.sqrt(2)), high)


@exposed("fc.random")
def truncated_normal(key, lower, upper, shape=None, dtype=None):
    """Standard normal numbers between lower and upper, whose shape is the default.

    >>> import functorch_core as fc
    >>> fc.random.truncated_normal(fc.random.key(0), -1., 1., (3,)).shape
    (3,)
    """
    shape = _shape_like(shape, lower, upper, name="random.truncated_normal")
    return _truncated_normal(key, lower, upper, shape=shape, dtype=_float_dtype(dtype, "truncated_normal"))


def _shape_like(shape, *parameters, name: str) -> tuple[int, ...]:
    """The given shape, or that of the parameters."""
    if shape is not None:
        return canonical_shape(shape, name)
    return broadcast_shapes(*(np.shape(v) for v in parameters), name=name)


# ---- discrete ------------------------------------------------------------------------------------


@op(scalars=True)
def _bernoulli(key, prob, /, *, shape, mode):
    check_key(key, "bernoulli")
    dtype = result_dtype((prob,))
    dtype = drawn_dtype(mode, dtype if dtype in dt.FLOATING else dt.DEFAULT_FLOAT, "bernoulli")
    return p.lt(unit(key, shape, dtype), broadcast_to(cast(prob, dtype), shape))


@exposed("fc.random")
def bernoulli(key, p=0.5, shape=None, mode="low"):
    """True with probability p, whose shape is the default; mode "high" for p below 1e-6.

    >>> import functorch_core as fc
    >>> fc.random.bernoulli(fc.random.key(0), .3, (4,)).dtype.name
    'bool'
    """
    return _bernoulli(key, p, shape=_shape_like(shape, p, name="random.bernoulli"), mode=mode)


@exposed("fc.random")
def rademacher(key, shape=(), dtype=None):
    """-1 or 1, equally likely; int64 by default.

    >>> import functorch_core as fc
    >>> fc.random.rademacher(fc.random.key(0), (4,)).shape
    (4,)
    """
    return _rademacher(key, shape=canonical_shape(shape, "random.rademacher"), dtype=dt.canonical(dtype or int))


@op
def _rademacher(key, /, *, shape, dtype):
    check_key(key, "rademacher")
    bit = p.convert(p.lt(unit(key, shape, dt.DEFAULT_FLOAT), 0.5), dtype=dtype)
    return p.sub(p.mul(bit, 2), 1)


@op
def _categorical(key, logits, /, *, axis, shape, replace=True, mode=None):
    check_key(key, "categorical")
    logits = logits if aval_of(logits).dtype in dt.FLOATING else p.convert(logits, dtype=dt.float32)
    a = aval_of(logits)
    axis = canonical_axis(axis, a.ndim, "random.categorical")
    rest = a.shape[:axis] + a.shape[axis + 1 :]
    shape = rest if shape is None else shape
    lead = shape[: len(shape) - len(rest)]
    if lead + rest != shape:
        raise ValueError(
            f"random.categorical: shape {shape} does not end with {rest}, the shape of the logits without axis {axis}"
        )
    wide = drawn_dtype(mode, a.dtype, "categorical")
    full = lead + a.shape if replace else a.shape
    u = between(key, full, wide, _tiny(wide), 1.0)
    scores = p.add(_gumbel_of(u), broadcast_to(p.convert(logits, dtype=wide), full))
    if replace:
        return p.argmax(scores, axis=len(lead) + axis)
    return _distinct(scores, axis, lead)


def _distinct(scores, axis: int, lead: tuple[int, ...]):
    """The indices of the greatest scores along an axis, as leading dimensions."""
    a, k = aval_of(scores), math.prod(lead)
    if k > a.shape[axis]:
        raise ValueError(f"random.categorical: {k} of {a.shape[axis]} without replacement")
    others = [d for d in range(a.ndim) if d != axis]
    best = p.top_k(p.transpose(scores, permutation=(*others, axis)), k=k)[1]
    best = p.transpose(best, permutation=(a.ndim - 1, *range(a.ndim - 1)))
    return p.reshape(best, shape=(*lead, *(a.shape[d] for d in others)))


@exposed("fc.random")
def categorical(key, logits, axis=-1, shape=None, replace=True, mode=None):
    """Indices along `axis`, with probabilities softmax(logits); one for each line by default.

    Without replacement those of one line differ. mode "high" is for probabilities below 1e-6.

    >>> import functorch_core as fc
    >>> fc.random.categorical(fc.random.key(0), fc.zeros(3), shape=(5,)).shape
    (5,)
    """
    shape = None if shape is None else canonical_shape(shape, "random.categorical")
    return _categorical(key, logits, axis=axis, shape=shape, replace=bool(replace), mode=mode)


@op
def _permutation(key, x, /, *, axis, independent):
    check_key(key, "permutation")
    a = aval_of(x)
    axis = canonical_axis(axis, a.ndim, "random.permutation")
    if not a.size:
        return x
    if independent:
        return shuffled(key, x, axis)
    return p.take(x, _order(key, a.shape[axis]), axis=axis)


def shuffled(key, x, axis: int):
    """x sorted by random bits, so often that no two elements have drawn the same in each round."""
    shape = aval_of(x).shape
    for _ in range(math.ceil(3 * math.log(builtins.max(1, math.prod(shape))) / math.log(2**32 - 1))):
        key, drawn = subkeys(key)
        x = p.sort(random_bits(drawn, shape=shape, bits=32), x, dimension=axis)[1]
    return x


def _order(key, n: int):
    """The numbers 0 ... n - 1 in random order."""
    return shuffled(key, p.iota(shape=(n,), dtype=dt.DEFAULT_INT, dimension=0), 0)


@exposed("fc.random")
def permutation(key, x, axis=0, independent=False):
    """x in random order along `axis`; of an int n, the numbers 0 to n - 1.

    independent: every line along the axis in an order of its own.

    >>> import functorch_core as fc
    >>> fc.sum(fc.random.permutation(fc.random.key(0), 5))
    Array(10, dtype=int64)
    """
    if isinstance(x, int):
        x = np.arange(x)
    return _permutation(key, x, axis=axis, independent=independent)


@op
def _choose(key, probabilities, /, *, n, count, replace, mode):
    """`count` of the indices 0 ... n - 1."""
    check_key(key, "choice")
    if probabilities is None:
        if replace:
            zero, end = (p.full((), v, dt.int64) for v in (0, n))
            drawn = _randint.fun(key, zero, end, shape=(count,), dtype=_drawn_int(0, n))
            return p.convert(drawn, dtype=dt.DEFAULT_INT)
        return p.slice_in_dim(_order(key, n), start=0, limit=count, dimension=0)
    if replace:
        sums = cumulative.cumsum(probabilities, axis=0)
        total = broadcast_to(p.slice_in_dim(sums, start=n - 1, limit=n, dimension=0), (count,))
        reached = p.mul(total, p.sub(1, unit(key, (count,), aval_of(sums).dtype)))
        return searchsorted.fun(sums, reached)
    logs = p.log(probabilities)
    wide = drawn_dtype(mode, aval_of(logs).dtype, "choice")
    u = between(key, (n,), wide, _tiny(wide), 1.0)
    return p.top_k(p.add(p.convert(logs, dtype=wide), _gumbel_of(u)), k=count)[1]


@exposed("fc.random")
def choice(key, a, shape=(), replace=True, p=None, axis=0, mode=None):
    """Elements of a along `axis` (of an int n: of 0 to n - 1), with probabilities p if given.

    Without replacement they are distinct. ValueError if there are too few. mode "high" is for
    probabilities below 1e-6.

    >>> import functorch_core as fc
    >>> fc.random.choice(fc.random.key(0), 5, (3,), replace=False).shape
    (3,)
    """
    shape = canonical_shape(shape, "random.choice")
    n = a if isinstance(a, int) else aval_of(a).shape[canonical_axis(axis, np.ndim(a), "choice")]
    count = math.prod(shape)
    if count and (n <= 0 or (not replace and count > n)):
        raise ValueError(f"random.choice: {count} of {n} elements" + ("" if replace else " without replacement"))
    if p is not None and np.shape(p) != (n,):
        raise ValueError(
            f"random.choice: p has shape {np.shape(p)}; it is one probability for each of the {n} elements"
        )
    index = _choose(key, p, n=n, count=count, replace=bool(replace), mode=mode)
    return _chosen(None if isinstance(a, int) else a, index, shape=shape, axis=axis)


@op
def _chosen(a, index, /, *, shape, axis):
    index = p.reshape(index, shape=shape)
    if a is None:
        return index
    return p.take(a, index, axis=canonical_axis(axis, aval_of(a).ndim, "random.choice"))


# ---- what distributions with parameters are made of ----------------------------------------------


@op
def _narrow(x, /, *, dtype):
    return p.convert(x, dtype=dtype)


def _draw(draw: Op, key, *parameters, shape, dtype):
    """The numbers of a distribution; narrow dtypes are drawn in float32."""
    name = draw.name.removeprefix("_")
    dtype = _float_dtype(dtype, name)
    wide = dt.wide(dtype)
    out = draw(key, *parameters, dtype=wide, shape=_shape_like(shape, *parameters, name=f"random.{name}"))
    return out if wide == dtype else _narrow(out, dtype=dtype)


def parameters_of(name: str, key, shape, dtype, *parameters) -> list:
    """The parameters of a draw, broadcast; TypeError unless the key is one."""
    check_key(key, name)
    return [broadcast_to(cast(v, dtype), shape) for v in parameters]


def standard_exponential(key, shape, dtype):
    """Numbers of the exponential distribution of rate 1."""
    return p.neg(p.log1p(p.neg(unit(key, shape, dtype))))


__all__ = [  # what it has in fc.random, for static tools
    "bernoulli", "bits", "categorical", "cauchy", "choice", "exponential", "gumbel", "laplace", "logistic", "normal",
    "permutation", "rademacher", "randint", "truncated_normal", "uniform",
]  # fmt: skip
