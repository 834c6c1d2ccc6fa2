"""fc.random, continued: Poisson, geometric, binomial and multinomial counts.

They are computed in float64, in which counts up to 2**53 are exact. Few expected events are counted
one by one; many by Hörmann's transformed rejection, which takes 1.2 proposals whatever the count.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .. import primitives as p
from ..core import dtypes as dt
from ..core.aval import aval_of
from ..kernels.values import full_like as like
from ..transforms.scan import scan
from ..transforms.while_loop import while_loop
from .creation import canonical_shape
from .gammas import rejection
from .keys import check_key, subkeys
from .op import op
from .places import exposed
from .promotion import broadcast_to, cast, result_dtype
from .random import _float_dtype, _shape_like, parameters_of, unit

FEW = 10.0


def _int_dtype(dtype, name: str) -> np.dtype:
    dtype = dt.canonical(dtype or int)
    if dtype not in dt.INTEGER:
        raise TypeError(f"random.{name} draws integers, not {dtype.name}")
    return dtype


def _drawn(key, shape):
    """Uniform numbers in [0, 1): float32's, which are JAX's, to be computed with in float64."""
    return p.convert(unit(key, shape, dt.float32), dtype=dt.float64)


def _propose(key, shape):
    """(key to go on with, u in [-1/2, 1/2), v in [0, 1), 1/2 - |u|): where all proposals begin."""
    rest, first, second = subkeys(key, 3)
    u = p.sub(_drawn(first, shape), 0.5)
    v = _drawn(second, shape)
    return rest, u, v, p.max(p.sub(0.5, p.abs(u)), like(u, 1e-300))


def _count_until(key, limit, step: Callable, first: bool = False):
    """How many numbers of step(key) it takes until their sum is beyond the limit, less one.

    `first`: of a key split in two it is the first that they are drawn with.
    """
    axes = tuple(range(aval_of(limit).ndim))

    def body(key, count, total):
        rest, drawn = reversed(subkeys(key)) if first else subkeys(key)
        going, after = p.le(total, limit), p.add(total, step(drawn))
        counted = p.select(p.and_(going, p.le(after, limit)), p.add(count, 1), count)
        return [rest, counted, p.select(going, after, total)]

    def unfinished(key, count, total):
        return p.reduce_or(p.le(total, limit), axes=axes)

    return while_loop(unfinished, body, [key, like(limit, 0), like(limit, 0)])[1]


def _poisson_of_few(key, lam):
    """The events before time lam, one after an exponential time each."""
    return _count_until(key, lam, lambda k: p.neg(p.log(_drawn(k, aval_of(lam).shape))))


def _poisson_of_many(key, lam):
    """Hörmann 1993, PTRS."""
    b = p.add(p.mul(p.sqrt(lam), 2.53), 0.931)
    a = p.add(p.mul(b, 0.02483), -0.059)
    inverse_alpha = p.add(p.div(1.1328, p.sub(b, 3.4)), 1.1239)
    v_r = p.sub(0.9277, p.div(3.6224, p.sub(b, 2)))
    log_lam = p.log(lam)

    def propose(key):
        rest, u, v, us = _propose(key, aval_of(lam).shape)
        k = p.floor(p.add(p.add(p.mul(p.add(p.div(p.mul(a, 2), us), b), u), lam), 0.43))
        quick = p.and_(p.ge(us, like(us, 0.07)), p.le(v, v_r))
        bad = p.or_(p.lt(k, 0), p.and_(p.lt(us, like(us, 0.013)), p.gt(v, us)))
        safe = p.max(k, like(k, 0))
        left = p.log(p.div(p.mul(v, inverse_alpha), p.add(p.div(a, p.mul(us, us)), b)))
        right = p.sub(p.sub(p.mul(safe, log_lam), lam), p.lgamma(p.add(safe, 1)))
        return rest, safe, p.or_(quick, p.and_(p.not_(bad), p.le(left, right)))

    return rejection(key, propose, like(lam, 0), p.ne(lam, lam), last=True)


@op(scalars=True)
def _poisson(key, lam, /, *, shape, dtype):
    (lam,) = parameters_of("poisson", key, shape, dt.float64, lam)
    valid = p.and_(p.ge(lam, 0), p.is_finite(lam))
    lam = p.select(valid, lam, like(lam, 0))
    few = p.lt(lam, FEW)
    count = p.select(
        few,
        _poisson_of_few(key, p.select(few, lam, like(lam, 0))),
        _poisson_of_many(key, p.select(few, like(lam, 1e5), lam)),  # what is accepted at once, most often
    )
    return p.convert(p.select(valid, count, like(count, -1)), dtype=dtype)


@exposed("fc.random")
def poisson(key, lam, shape=None, dtype=None):
    """Poisson counts of mean lam, int64 by default; -1 where lam is negative, infinite or NaN.

    >>> import functorch_core as fc
    >>> fc.random.poisson(fc.random.key(0), 4., (3,)).shape
    (3,)
    """
    return _poisson(key, lam, shape=_shape_like(shape, lam, name="random.poisson"), dtype=_int_dtype(dtype, "poisson"))


@op(scalars=True)
def _geometric(key, prob, /, *, shape, dtype):
    given = result_dtype((prob,))
    (prob,) = parameters_of("geometric", key, shape, dt.float64, prob)
    u = p.convert(unit(key, shape, dt.float64 if given == dt.float64 else dt.float32), dtype=dt.float64)
    u = p.select(p.eq(u, like(u, 0)), like(u, 1), u)
    count = p.add(p.floor(p.div(p.log(u), p.log1p(p.neg(prob)))), 1)
    return p.convert(count, dtype=dtype)


@exposed("fc.random")
def geometric(key, p, shape=None, dtype=None):
    """The number of trials until one succeeds, each with probability p; int64 by default.

    >>> import functorch_core as fc
    >>> fc.random.geometric(fc.random.key(0), .5, (3,)).shape
    (3,)
    """
    return _geometric(
        key, p, shape=_shape_like(shape, p, name="random.geometric"), dtype=_int_dtype(dtype, "geometric")
    )


def _binomial_of_few(key, n, q):
    """The successes among n trials, by the geometric distances between them."""
    scale = p.log1p(p.neg(q))

    def step(k):
        return p.ceil(p.div(p.log(_drawn(k, aval_of(n).shape)), scale))

    return _count_until(key, n, step, first=True)


def _binomial_of_many(key, n, q):
    """Hörmann 1993, BTRS."""
    one = p.sub(1, q)
    spread = p.sqrt(p.mul(p.mul(n, q), one))
    b = p.add(p.mul(spread, 2.53), 1.15)
    a = p.add(p.add(p.mul(b, 0.0248), p.mul(q, 0.01)), -0.0873)
    c = p.add(p.mul(n, q), 0.5)
    v_r = p.sub(0.92, p.div(4.2, b))
    alpha = p.mul(p.add(p.div(5.1, b), 2.83), spread)
    mode = p.floor(p.mul(p.add(n, 1), q))
    log_odds = p.log(p.div(q, one))

    def log_ways(k):
        return p.add(p.lgamma(p.add(k, 1)), p.lgamma(p.add(p.sub(n, k), 1)))

    def propose(key):
        rest, u, v, us = _propose(key, aval_of(n).shape)
        k = p.floor(p.add(p.mul(p.add(p.div(p.mul(a, 2), us), b), u), c))
        quick = p.and_(p.ge(us, like(us, 0.07)), p.le(v, v_r))
        inside = p.and_(p.ge(k, 0), p.le(k, n))
        safe = p.clamp(like(k, 0), k, n)
        left = p.log(p.div(p.mul(v, alpha), p.add(p.div(a, p.mul(us, us)), b)))
        right = p.add(p.sub(log_ways(mode), log_ways(safe)), p.mul(p.sub(safe, mode), log_odds))
        return rest, safe, p.and_(inside, p.or_(quick, p.le(left, right)))

    return rejection(key, propose, like(n, 0), p.ne(n, n), last=True)


def binomial_of(key, n, prob):
    """Binomial counts, float64; NaN for what is no number of trials or no probability."""
    valid = p.and_(p.and_(p.ge(n, 0), p.is_finite(n)), p.and_(p.ge(prob, 0), p.le(prob, 1)))
    n, prob = (p.select(valid, v, like(v, 0)) for v in (p.floor(n), prob))
    flipped = p.ge(prob, 0.5)
    q = p.select(flipped, p.sub(1, prob), prob)
    few = p.le(p.mul(n, q), FEW)
    none = p.or_(p.le(q, 0), p.not_(few))  # counted by the other way, or 0
    count = p.select(
        few,
        _binomial_of_few(key, p.select(none, like(n, 0), n), p.select(none, like(q, 0.5), q)),
        _binomial_of_many(key, p.select(few, like(n, 1e4), n), p.select(few, like(q, 0.5), q)),
    )
    count = p.select(p.le(q, 0), like(count, 0), count)
    return p.select(valid, p.select(flipped, p.sub(n, count), count), like(count, math.nan))


@op(scalars=True)
def _binomial(key, n, prob, /, *, shape, dtype):
    n, prob = parameters_of("binomial", key, shape, dt.float64, n, prob)
    return p.convert(binomial_of(key, n, prob), dtype=dtype)


@exposed("fc.random")
def binomial(key, n, p, shape=None, dtype=None):
    """The successes among n trials of probability p, as floats; NaN where p is none.

    >>> import functorch_core as fc
    >>> fc.random.binomial(fc.random.key(0), 10, .5, (3,)).shape
    (3,)
    """
    return _binomial(
        key, n, p, shape=_shape_like(shape, n, p, name="random.binomial"), dtype=_float_dtype(dtype, "binomial")
    )


@op(scalars=True)
def _multinomial(key, n, probabilities, /, *, shape, dtype):
    """Outcome after outcome: a binomial share of the trials that are left."""
    check_key(key, "multinomial")
    k = aval_of(probabilities).shape[-1]
    (left,) = parameters_of("multinomial", key, shape, dt.float64, n)
    each = broadcast_to(cast(probabilities, dt.float64), (*shape, k))
    each = p.transpose(each, permutation=(len(shape), *range(len(shape))))
    after = p.reverse(p.cumsum(p.reverse(each, dims=(0,)), axis=0), dims=(0,))

    def body(carry, xs):
        (left, key), (prob, total) = carry, xs
        first, rest = subkeys(key)
        share = p.select(p.gt(total, 0), p.div(prob, total), like(prob, 0))
        count = binomial_of(first, left, p.min(share, like(share, 1)))
        return [p.sub(left, count), rest], [count]

    _, (counts,) = scan(body, [left, key], [each, after])
    counts = p.transpose(counts, permutation=(*range(1, len(shape) + 1), 0))
    return p.convert(counts, dtype=dtype)


@exposed("fc.random")
def multinomial(key, n, p, *, shape=None, dtype=None, unroll=1):
    """Counts [*shape, k] of the outcomes of n trials with probabilities p [..., k], as floats.

    `unroll` is JAX's hint for the loop over the outcomes, which changes nothing here.

    >>> import functorch_core as fc
    >>> fc.random.multinomial(fc.random.key(0), 10, fc.asarray([.2, .8]), shape=(3,)).shape
    (3, 2)
    """
    if not np.ndim(p):
        raise ValueError(
            "random.multinomial takes probabilities [..., k], one an outcome, "
            "got a single number: fc.asarray([p, 1 - p])"
        )
    shape = np.shape(p)[:-1] if shape is None else canonical_shape(shape, "random.multinomial")
    return _multinomial(key, n, p, shape=shape, dtype=_float_dtype(dtype, "multinomial"))


__all__ = [  # what it has in fc.random, for static tools
    "binomial", "geometric", "multinomial", "poisson",
]  # fmt: skip
