"""fc.random: numbers drawn by explicit keys. The same key gives the same numbers, everywhere."""

from __future__ import annotations

import math

import numpy as np

from .. import primitives as p
from ..core import dtypes as dt
from ..core.aval import aval_of
from ..kernels.values import full_like as like
from ..transforms.custom import JvpRule, custom_jvp
from ..transforms.while_loop import while_loop
from .creation import canonical_shape
from .op import op
from .places import exposed
from .promotion import broadcast_shapes, broadcast_to, canonical_axis, cast, result_dtype

BAD_KEY = "random.{name} takes a key, an array uint32[2] from fc.random.key(seed), got {aval}"


def check_key(key, name: str):
    """TypeError unless it is one key."""
    a = aval_of(key)
    if a.dtype != dt.uint32 or a.shape != (2,):
        raise TypeError(BAD_KEY.format(name=name, aval=a))


def _float_dtype(dtype, name: str) -> np.dtype:
    dtype = dt.canonical(dtype or float)
    if dtype not in dt.FLOATING - dt.FLOAT8:
        raise TypeError(f"random.{name} draws float16, bfloat16, float32 or float64, not {dtype.name}")
    return dtype


# ---- keys ----------------------------------------------------------------------------------------


@op
def _key_of(seed, /):
    return p.threefry_seed(seed)


IMPL = "threefry2x32"
BAD_IMPL = """random.{name}: impl={impl!r} is not here, keys are of "threefry2x32" alone.
    Leave impl out; the numbers are then JAX's default generator's."""


def check_impl(impl, name: str):
    """NotImplementedError for another generator than threefry."""
    if impl not in (None, IMPL):
        raise NotImplementedError(BAD_IMPL.format(name=name, impl=impl))


@exposed("fc.random", "fc.random as PRNGKey")
def key(seed, *, impl=None):
    """A key, an array uint32[2], of an integer seed (a Python int modulo 2**64, or a 0-d array).

    `impl` is "threefry2x32", the one generator there is.

    >>> import functorch_core as fc
    >>> fc.random.key(0)
    Array([0, 0], dtype=uint32)
    """
    check_impl(impl, "key")
    if isinstance(seed, int):
        seed = np.uint64(seed % 2**64)
    elif isinstance(seed, (str, float)) or aval_of(seed).dtype not in dt.INTEGER:
        raise TypeError(f"random.key takes an integer as its seed, got {seed!r:.60}")
    return _key_of(seed)


@exposed("fc.random")
def key_data(keys):
    """The numbers of keys: keys are arrays uint32[..., 2], so themselves.

    >>> import functorch_core as fc
    >>> fc.random.key_data(fc.random.key(7))
    Array([0, 7], dtype=uint32)
    """
    return _checked_keys(keys, name="key_data")


@exposed("fc.random")
def wrap_key_data(key_bits_array, *, impl=None):
    """Keys of their numbers, uint32[..., 2].

    >>> import functorch_core as fc
    >>> fc.random.wrap_key_data(fc.asarray([0, 7], dtype=fc.uint32))
    Array([0, 7], dtype=uint32)
    """
    check_impl(impl, "wrap_key_data")
    return _checked_keys(key_bits_array, name="wrap_key_data")


@exposed("fc.random")
def clone(key):
    """The key, to be used again on purpose.

    >>> import functorch_core as fc
    >>> fc.random.clone(fc.random.key(7))
    Array([0, 7], dtype=uint32)
    """
    return _checked_keys(key, name="clone")


@exposed("fc.random")
def key_impl(keys):
    """The name of the generator of keys.

    >>> import functorch_core as fc
    >>> fc.random.key_impl(fc.random.key(7))
    'threefry2x32'
    """
    _checked_keys(keys, name="key_impl")
    return IMPL


@op
def _checked_keys(keys, /, *, name):
    a = aval_of(keys)
    if a.dtype != dt.uint32 or a.shape[-1:] != (2,):
        raise TypeError(BAD_KEY.format(name=name, aval=a))
    return keys


@op
def _split(key, /, *, num):
    check_key(key, "split")
    return p.reshape(p.threefry_split(key, math.prod(num)), shape=(*num, 2))


@exposed("fc.random")
def split(key, num=2):
    """`num` new keys (or a shape of them) from one, which is not to be used again.

    >>> import functorch_core as fc
    >>> fc.random.split(fc.random.key(0)).shape
    (2, 2)
    """
    return _split(key, num=canonical_shape(num, "random.split"))


@op("fc.random", arrays=("key", "data"))
def fold_in(key, data):
    """The key of a key and an integer, which may be traced: one key for each step of a loop.

    >>> import functorch_core as fc
    >>> fc.random.fold_in(fc.random.key(0), 7).shape
    (2,)
    """
    check_key(key, "fold_in")
    return p.threefry_fold_in(key, p.convert(data, dtype=dt.uint32))


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
    return p.random_bits(key, shape=canonical_shape(shape, "random.bits"), bits=8 * dtype.itemsize)


@op
def _randint(key, minval, maxval, /, *, shape, dtype):
    """64 bits modulo the span: a span of 2**32 is off by 2**-32 of a probability at most."""
    check_key(key, "randint")
    low, high = (broadcast_to(p.convert(v, dtype=dt.int64), shape) for v in (minval, maxval))
    span = p.convert(p.max(p.sub(high, low), like(low, 1)), dtype=dt.uint64)
    drawn = p.rem(p.random_bits(key, shape=shape, bits=64), span)
    return p.convert(p.add(p.convert(drawn, dtype=dt.int64), low), dtype=dtype)


@exposed("fc.random")
def randint(key, shape, minval, maxval, dtype=None):
    """Uniform integers from minval to maxval - 1, int64 by default; minval where there are none.

    >>> import functorch_core as fc
    >>> bool(fc.all(fc.random.randint(fc.random.key(0), (9,), 0, 5) < 5))
    True
    """
    dtype = dt.canonical(dtype or int)
    if dtype not in dt.INTEGER:
        raise TypeError(f"random.randint draws integers, not {dtype.name}")
    shape = canonical_shape(shape, "random.randint")
    return _randint(key, minval, maxval, shape=shape, dtype=dtype)


# ---- uniform -------------------------------------------------------------------------------------


def unit(key, shape, dtype):
    """Uniform floats in [0, 1): as many random bits as the dtype's significand has, times 2**-n."""
    info = dt.finfo(dtype)
    n = info.nmant + 1
    drawn = p.random_bits(key, shape=shape, bits=info.bits)
    drawn = p.convert(p.shift_right_logical(drawn, info.bits - n), dtype=dtype)
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
        both = standard_normal(key, (2, *shape), dt.real_of(dtype))
        parts = [p.reshape(p.slice_in_dim(both, start=i, limit=i + 1, dimension=0), shape=shape) for i in (0, 1)]
        return p.mul(p.complex(*parts), math.sqrt(0.5))
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
    return p.neg(p.mul(p.sign(u), p.log1p(p.neg(p.abs(u)))))


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
    bit = p.convert(p.shift_right_logical(p.random_bits(key, shape=shape, bits=8), 7), dtype=dtype)
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
        return p.sort(p.random_bits(key, shape=a.shape, bits=64), x, dimension=axis)[1]
    order = p.argsort(p.random_bits(key, shape=(a.shape[axis],), bits=64), dimension=0)
    return p.take(x, order, axis=axis)


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
            full = p.full((), n, dt.int64)
            return _randint.fun(key, p.full((), 0, dt.int64), full, shape=(count,), dtype=dt.int64)
        order = p.argsort(p.random_bits(key, shape=(n,), bits=64), dimension=0)
        return p.slice_in_dim(order, start=0, limit=count, dimension=0)
    logs = p.log(probabilities)
    if replace:
        return _categorical.fun(key, logs, axis=0, shape=(count,), mode=mode)
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
    if count and (not n or (not replace and count > n)):
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


# ---- gamma and its kin ---------------------------------------------------------------------------


def _gamma_at_least_one(key, a):
    """Marsaglia and Tsang's rejection for a >= 1, all elements at once until all are accepted.

    A proposal is accepted with probability 0.95 or more, so few rounds are needed.
    """
    av = aval_of(a)
    d = p.sub(a, 1 / 3)
    c = p.div(1 / 3, p.sqrt(d))

    def draw(key):
        first, second, rest = _three(key)
        x = standard_normal(first, av.shape, av.dtype)
        v = p.add(p.mul(c, x), 1)
        cube = p.mul(p.mul(v, v), v)
        u = between(second, av.shape, av.dtype, _tiny(av.dtype), 1.0)
        safe = p.select(p.gt(v, 0), cube, like(v, 1))
        bound = p.add(p.mul(p.mul(x, x), 0.5), p.mul(d, p.add(p.sub(1, safe), p.log(safe))))
        good = p.and_(p.gt(v, 0), p.lt(p.log(u), bound))
        return rest, p.mul(d, safe), good

    # Where a is NaN nothing is accepted.
    return rejection(key, draw, like(a, math.nan), p.ne(a, a))


def rejection(key, propose, start, done):
    """propose(key) -> (next key, drawn, accepted), again until each element has been accepted.

    Elements that are `done` from the beginning stay `start`.
    """
    axes = tuple(range(aval_of(start).ndim))

    def body(key, sample, done):
        key, drawn, good = propose(key)
        return [key, p.select(done, sample, drawn), p.or_(done, good)]

    def unfinished(key, sample, done):
        return p.not_(p.reduce_and(done, axes=axes))

    return while_loop(unfinished, body, [key, start, done])[1]


def _three(key):
    keys = p.threefry_split(key, 3)
    return [p.reshape(p.slice_in_dim(keys, start=i, limit=i + 1, dimension=0), shape=(2,)) for i in range(3)]


def _gamma_sample(key, a):
    """Below 1, gamma(a) is gamma(a + 1) times u ** (1 / a)."""
    shape, dtype = aval_of(a).shape, aval_of(a).dtype
    key, boost, _ = _three(key)
    small = p.lt(a, 1)
    sample = _gamma_at_least_one(key, p.select(small, p.add(a, 1), a))
    u = between(boost, shape, dtype, _tiny(dtype), 1.0)
    return p.mul(sample, p.select(small, p.pow(u, p.div(1, a)), like(sample, 1)))


def _gamma_rule(primals, tangents):
    """The implicit derivative; a rule, for its series take seconds to compile."""
    (key, a), dot = primals, tangents[1]
    sample = _gamma_with_rule(key, a)
    slope = p.random_gamma_grad(a, sample)
    slope = p.select(p.is_finite(slope), slope, like(slope, 0))
    return [sample], [p.mul(dot, slope)]


GAMMA_RULE = JvpRule(_gamma_rule, "random.gamma")


def _gamma_with_rule(key, a):
    return custom_jvp(lambda key, a: [_gamma_sample(key, a)], GAMMA_RULE, [key, a])[0]


@op
def _gamma(key, a, /, *, shape, dtype):
    check_key(key, "gamma")
    return _gamma_with_rule(key, broadcast_to(p.convert(a, dtype=dtype), shape))


@exposed("fc.random")
def gamma(key, a, shape=None, dtype=None):
    """Gamma numbers of shape parameter a (> 0) and scale 1; differentiable by a.

    >>> import functorch_core as fc
    >>> fc.random.gamma(fc.random.key(0), 2., (3,)).shape
    (3,)
    """
    dtype = _float_dtype(dtype, "gamma")
    wide = dt.wide(dtype)
    out = _gamma(key, a, shape=_shape_like(shape, a, name="random.gamma"), dtype=wide)
    return out if wide == dtype else _narrow(out, dtype=dtype)


@op
def _narrow(x, /, *, dtype):
    return p.convert(x, dtype=dtype)


__all__ = [  # what it has in fc.random, for static tools
    "bernoulli", "bits", "categorical", "cauchy", "choice", "clone", "exponential", "fold_in", "gamma", "gumbel",
    "key", "key_data", "key_impl", "laplace", "logistic", "normal", "permutation", "rademacher", "randint", "split",
    "truncated_normal", "uniform", "wrap_key_data",
]  # fmt: skip
