"""fc.random, continued: gamma numbers and what is made of them.

Each element has a key of its own, so that it is the same whatever others are drawn with it.
"""

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
from .keys import check_key, split_keys, subkeys
from .op import op
from .places import exposed
from .promotion import broadcast_to, cast
from .random import _draw, _float_dtype, _narrow, parameters_of, standard_exponential, standard_normal, unit

# ---- gamma numbers, flat -------------------------------------------------------------------------


def _normal_above(keys, c):
    """(x, 1 + c x) of normal numbers x, drawn again where 1 + c x is not positive."""

    def body(keys, x, v):
        keys, drawn = subkeys(keys)
        waiting = p.le(v, like(v, 0))
        x = p.select(waiting, standard_normal(drawn, (), aval_of(c).dtype), x)
        return [keys, x, p.select(waiting, p.add(p.mul(x, c), 1), v)]

    def unfinished(keys, x, v):
        return p.reduce_or(p.le(v, like(v, 0)), axes=(0,))

    return while_loop(unfinished, body, [keys, like(c, 0), like(c, -1)])[1:]


def _marsaglia_tsang(keys, a):
    """Gamma numbers of a >= 1, one of each key: rejection, of 1 in 20 at most."""
    d = p.sub(a, 1 / 3)
    c = p.div(1 / 3, p.sqrt(d))

    def propose(keys):
        keys, for_x, for_u = subkeys(keys, 3)
        x, v = _normal_above(for_x, c)
        square, cube, u = p.mul(x, x), p.mul(p.mul(v, v), v), unit(for_u, (), aval_of(a).dtype)
        bound = p.add(p.mul(square, 0.5), p.mul(d, p.add(p.sub(1, cube), p.log(cube))))
        outside = p.ge(u, p.sub(1, p.mul(p.mul(square, square), 0.0331)))
        return keys, p.mul(d, cube), p.not_(p.and_(outside, p.ge(p.log(u), bound)))

    # Where a is NaN or infinite nothing need be drawn.
    return rejection(keys, propose, like(a, math.nan), p.ne(a, a))


def rejection(key, propose, start, done, last: bool = False):
    """propose(key) -> (next key, drawn, accepted), again until each element has been accepted.

    Elements that are `done` from the beginning stay `start`. With `last` the numbers are those that were accepted
    last, while others still waited, as JAX's counts are: there is no `done` then.
    """
    axes = tuple(range(aval_of(start).ndim))

    def body(key, sample, done):
        key, drawn, good = propose(key)
        return [key, p.select(good, drawn, sample) if last else p.select(done, sample, drawn), p.or_(done, good)]

    def unfinished(key, sample, done):
        return p.not_(p.reduce_and(done, axes=axes))

    return while_loop(unfinished, body, [key, start, done])[1]


def _boosted(a):
    """(whether a < 1, a, or a + 1 there): gamma(a) is gamma(a + 1) times u ** (1 / a)."""
    small = p.lt(a, 1)
    return small, p.select(small, p.add(a, 1), a)


def _gamma_flat(keys, a):
    small, at_least_one = _boosted(a)
    keys, boost = subkeys(keys)
    u = p.sub(1, unit(boost, (), aval_of(a).dtype))
    return p.mul(_marsaglia_tsang(keys, at_least_one), p.select(small, p.pow(u, p.div(1, a)), like(a, 1)))


def _gamma_rule(primals, tangents):
    """The implicit derivative; a rule, for its series take seconds to compile."""
    (keys, a), dot = primals, tangents[1]
    sample = _gamma_with_rule(keys, a)
    slope = p.random_gamma_grad(a, sample)
    slope = p.select(p.is_finite(slope), slope, like(slope, 0))
    return [sample], [p.mul(dot, slope)]


GAMMA_RULE = JvpRule(_gamma_rule, "random.gamma")


def _gamma_with_rule(keys, a):
    return custom_jvp(lambda keys, a: [_gamma_flat(keys, a)], GAMMA_RULE, [keys, a])[0]


def _loggamma_flat(keys, a):
    """Log of gamma(a + 1), plus that of the boost, which would underflow."""
    small, at_least_one = _boosted(a)
    boost = p.neg(standard_exponential(subkeys(keys)[1], (), aval_of(a).dtype))
    none = p.or_(p.not_(small), p.eq(boost, like(boost, 0)))
    log = p.log(_gamma_with_rule(keys, at_least_one))
    return p.add(log, p.select(none, like(a, 0), p.div(boost, a)))


def _by_element(flat, key, a):
    """flat(keys, a) of one key for each element of a."""
    shape = aval_of(a).shape
    n = math.prod(shape)
    if not n:
        return a
    return p.reshape(flat(split_keys(key, n), p.reshape(a, shape=(n,))), shape=shape)


# ---- the distributions ---------------------------------------------------------------------------


@op(scalars=True)
def _gamma(key, a, /, *, shape, dtype):
    return _by_element(_gamma_with_rule, key, *parameters_of("gamma", key, shape, dtype, a))


@exposed("fc.random")
def gamma(key, a, shape=None, dtype=None):
    """Gamma numbers of shape parameter a (> 0) and scale 1; differentiable by a.

    >>> import functorch_core as fc
    >>> fc.random.gamma(fc.random.key(0), 2., (3,)).shape
    (3,)
    """
    return _draw(_gamma, key, a, shape=shape, dtype=dtype)


@op(scalars=True)
def _loggamma(key, a, /, *, shape, dtype):
    return _by_element(_loggamma_flat, key, *parameters_of("loggamma", key, shape, dtype, a))


@exposed("fc.random")
def loggamma(key, a, shape=None, dtype=None):
    """The logarithm of gamma numbers, finite where they underflow; differentiable by a.

    >>> import functorch_core as fc
    >>> fc.random.loggamma(fc.random.key(0), .01, (3,)).shape
    (3,)
    """
    return _draw(_loggamma, key, a, shape=shape, dtype=dtype)


@op(scalars=True)
def _chisquare(key, df, /, *, shape, dtype):
    (df,) = parameters_of("chisquare", key, shape, dtype, df)
    return p.mul(p.exp(_loggamma.fun(key, p.mul(df, 0.5), shape=shape, dtype=dtype)), 2)


@exposed("fc.random")
def chisquare(key, df, shape=None, dtype=None):
    """Chi-squared numbers of df degrees of freedom.

    >>> import functorch_core as fc
    >>> fc.random.chisquare(fc.random.key(0), 3., (3,)).shape
    (3,)
    """
    return _draw(_chisquare, key, df, shape=shape, dtype=dtype)


@op(scalars=True)
def _f(key, dfnum, dfden, /, *, shape, dtype):
    dfnum, dfden = parameters_of("f", key, shape, dtype, dfnum, dfden)
    below, above = subkeys(key)
    n = math.prod(shape)
    keys = p.concatenate(*[split_keys(k, n) for k in (above, below)], dimension=0)  # one loop, as in beta
    half = p.concatenate(*[p.mul(p.reshape(df, shape=(n,)), 0.5) for df in (dfnum, dfden)], dimension=0)
    both = p.div(p.exp(_loggamma_flat(keys, half)), half)
    x, y = (p.reshape(p.slice_in_dim(both, start=i, limit=i + n, dimension=0), shape=shape) for i in (0, n))
    return p.div(x, y)


@exposed("fc.random")
def f(key, dfnum, dfden, shape=None, dtype=None):
    """Numbers of the F distribution: the ratio of two chi-squared ones over their degrees.

    >>> import functorch_core as fc
    >>> fc.random.f(fc.random.key(0), 3., 4., (3,)).shape
    (3,)
    """
    return _draw(_f, key, dfnum, dfden, shape=shape, dtype=dtype)


@op(scalars=True)
def _t(key, df, /, *, shape, dtype):
    (df,) = parameters_of("t", key, shape, dtype, df)
    first, second = subkeys(key)
    half = p.mul(df, 0.5)
    spread = p.sqrt(p.div(half, _gamma.fun(second, half, shape=shape, dtype=dtype)))
    return p.mul(standard_normal(first, shape, dtype), spread)


@exposed("fc.random")
def t(key, df, shape=None, dtype=None):
    """Student's t numbers of df degrees of freedom.

    >>> import functorch_core as fc
    >>> fc.random.t(fc.random.key(0), 3., (3,)).shape
    (3,)
    """
    return _draw(_t, key, df, shape=shape, dtype=dtype)


@op(scalars=True)
def _beta(key, a, b, /, *, shape, dtype):
    """By logarithms: both gamma numbers may underflow."""
    a, b = parameters_of("beta", key, shape, dtype, a, b)
    n = math.prod(shape)
    keys = p.concatenate(*[split_keys(k, n) for k in subkeys(key)], dimension=0)  # one loop: XLA hung on two
    both = _loggamma_flat(keys, p.concatenate(*[p.reshape(v, shape=(n,)) for v in (a, b)], dimension=0))
    x, y = (p.reshape(p.slice_in_dim(both, start=i, limit=i + n, dimension=0), shape=shape) for i in (0, n))
    most = p.max(x, y)
    x, y = (p.exp(p.sub(v, most)) for v in (x, y))
    return p.div(x, p.add(x, y))


@exposed("fc.random")
def beta(key, a, b, shape=None, dtype=None):
    """Beta numbers in [0, 1] of parameters a and b (> 0); differentiable by them.

    >>> import functorch_core as fc
    >>> fc.random.beta(fc.random.key(0), 2., 3., (3,)).shape
    (3,)
    """
    return _draw(_beta, key, a, b, shape=shape, dtype=dtype)


@op
def _dirichlet(key, alpha, /, *, shape, dtype):
    check_key(key, "dirichlet")
    full = shape + aval_of(alpha).shape[-1:]
    log = _loggamma.fun(key, broadcast_to(cast(alpha, dtype), full), shape=full, dtype=dtype)
    axes, lead = (len(shape),), tuple(range(len(shape)))
    most = p.reduce_max(log, axes=axes)
    drawn = p.exp(p.sub(log, p.broadcast_in_dim(most, shape=full, dims=lead)))
    return p.div(drawn, p.broadcast_in_dim(p.reduce_sum(drawn, axes=axes), shape=full, dims=lead))


@exposed("fc.random")
def dirichlet(key, alpha, shape=None, dtype=None):
    """Dirichlet vectors, of sum 1, of parameters alpha [..., n]; `shape` is that without n.

    >>> import functorch_core as fc
    >>> fc.random.dirichlet(fc.random.key(0), fc.ones(4), (3,)).shape
    (3, 4)
    """
    shape = canonical_shape(np.shape(alpha)[:-1] if shape is None else shape, "random.dirichlet")
    dtype = _float_dtype(dtype, "dirichlet")
    wide = dt.wide(dtype)
    out = _dirichlet(key, alpha, shape=shape, dtype=wide)
    return out if wide == dtype else _narrow(out, dtype=dtype)


__all__ = [  # what it has in fc.random, for static tools
    "beta", "chisquare", "dirichlet", "f", "gamma", "loggamma", "t",
]  # fmt: skip
