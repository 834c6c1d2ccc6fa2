"""fc.random, continued: the distributions that are made of uniform, normal and gamma numbers."""

from __future__ import annotations

import operator

import numpy as np

from .. import primitives as p
from ..core import dtypes as dt
from ..core.aval import aval_of
from ..kernels.values import full_like as like
from .creation import canonical_shape
from .gammas import _gamma
from .keys import check_key, subkeys
from .op import op
from .places import exposed
from .promotion import broadcast_shapes, broadcast_to
from .random import _draw, _float_dtype, _tiny, between, parameters_of, standard_exponential, standard_normal, unit


def _prefixed(name: str, shape, *parameters) -> tuple[int, ...]:
    """A shape that stands before that of the parameters."""
    return canonical_shape(shape, f"random.{name}") + broadcast_shapes(
        *(np.shape(v) for v in parameters), name=f"random.{name}"
    )


def open_unit(key, shape, dtype):
    """Uniform numbers in (0, 1)."""
    return between(key, shape, dtype, _tiny(dtype), 1.0)


# ---- by a formula --------------------------------------------------------------------------------


@op(scalars=True)
def _lognormal(key, sigma, /, *, shape, dtype):
    (sigma,) = parameters_of("lognormal", key, shape, dtype, sigma)
    return p.exp(p.mul(standard_normal(key, shape, dtype), sigma))


@exposed("fc.random")
def lognormal(key, sigma=1.0, shape=None, dtype=None):
    """exp of normal numbers of standard deviation sigma.

    >>> import functorch_core as fc
    >>> fc.random.lognormal(fc.random.key(0), .5, (3,)).shape
    (3,)
    """
    return _draw(_lognormal, key, sigma, shape=shape, dtype=dtype)


@op(scalars=True)
def _pareto(key, b, /, *, shape, dtype):
    (b,) = parameters_of("pareto", key, shape, dtype, b)
    return p.exp(p.div(standard_exponential(key, shape, dtype), b))


@exposed("fc.random")
def pareto(key, b, shape=None, dtype=None):
    """Pareto numbers, from 1 on, of density b / x**(b + 1).

    >>> import functorch_core as fc
    >>> fc.random.pareto(fc.random.key(0), 2., (3,)).shape
    (3,)
    """
    return _draw(_pareto, key, b, shape=shape, dtype=dtype)


@op(scalars=True)
def _rayleigh(key, scale, /, *, shape, dtype):
    (scale,) = parameters_of("rayleigh", key, shape, dtype, scale)
    return p.mul(scale, p.sqrt(p.mul(p.log(unit(key, shape, dtype)), -2)))


@exposed("fc.random")
def rayleigh(key, scale, shape=None, dtype=None):
    """Rayleigh numbers: the length of a normal vector in the plane, times scale.

    >>> import functorch_core as fc
    >>> fc.random.rayleigh(fc.random.key(0), 2., (3,)).shape
    (3,)
    """
    return _draw(_rayleigh, key, scale, shape=shape, dtype=dtype)


@op(scalars=True)
def _weibull_min(key, scale, concentration, /, *, shape, dtype):
    scale, concentration = parameters_of("weibull_min", key, shape, dtype, scale, concentration)
    drawn = p.add(standard_exponential(key, shape, dtype), _tiny(dtype))
    return p.mul(scale, p.pow(drawn, p.div(1, concentration)))


@exposed("fc.random")
def weibull_min(key, scale, concentration, shape=(), dtype=None):
    """Weibull numbers; `shape` stands before that of the parameters.

    >>> import functorch_core as fc
    >>> fc.random.weibull_min(fc.random.key(0), 2., 3., (3,)).shape
    (3,)
    """
    shape = _prefixed("weibull_min", shape, scale, concentration)
    return _draw(_weibull_min, key, scale, concentration, shape=shape, dtype=dtype)


@op(scalars=True)
def _triangular(key, left, mode, right, /, *, shape, dtype):
    left, mode, right = parameters_of("triangular", key, shape, dtype, left, mode, right)
    u, span = unit(key, shape, dtype), p.sub(right, left)
    below = p.add(left, p.sqrt(p.mul(p.mul(u, span), p.sub(mode, left))))
    above = p.sub(right, p.sqrt(p.mul(p.mul(p.sub(1, u), span), p.sub(right, mode))))
    return p.select(p.lt(p.mul(u, span), p.sub(mode, left)), below, above)


@exposed("fc.random")
def triangular(key, left, mode, right, shape=None, dtype=None):
    """Numbers from left to right, whose density rises to the mode and falls from there.

    >>> import functorch_core as fc
    >>> fc.random.triangular(fc.random.key(0), 0., 1., 3., (3,)).shape
    (3,)
    """
    return _draw(_triangular, key, left, mode, right, shape=shape, dtype=dtype)


@op(scalars=True)
def _wald(key, mean, /, *, shape, dtype):
    """Michael, Schucany and Haas: the smaller root of a quadratic, or the other one."""
    (mean,) = parameters_of("wald", key, shape, dtype, mean)
    first, second = subkeys(key)
    z = standard_normal(first, shape, dtype)
    y = p.mul(p.mul(z, z), mean)
    # mean * (1 + y/2 - sqrt(y + y**2/4)), without the difference, which cancels where y is large
    root = p.sqrt(p.add(p.mul(y, 4), p.mul(y, y)))
    small = p.div(p.mul(mean, 2), p.add(p.add(y, 2), root))
    chosen = p.le(p.mul(unit(second, shape, dtype), p.add(mean, small)), mean)
    return p.select(chosen, small, p.div(p.mul(mean, mean), small))


@exposed("fc.random")
def wald(key, mean, shape=None, dtype=None):
    """Inverse Gaussian numbers of this mean and scale 1.

    >>> import functorch_core as fc
    >>> fc.random.wald(fc.random.key(0), 2., (3,)).shape
    (3,)
    """
    return _draw(_wald, key, mean, shape=shape, dtype=dtype)


@op
def _maxwell(key, /, *, shape, dtype):
    check_key(key, "maxwell")
    z = standard_normal(key, (*shape, 3), dtype)
    return p.sqrt(p.reduce_sum(p.mul(z, z), axes=(len(shape),)))


@exposed("fc.random")
def maxwell(key, shape=(), dtype=None):
    """Maxwell numbers: the length of a normal vector in space.

    >>> import functorch_core as fc
    >>> fc.random.maxwell(fc.random.key(0), (3,)).shape
    (3,)
    """
    return _draw(_maxwell, key, shape=shape, dtype=dtype)


@op(scalars=True)
def _double_sided_maxwell(key, loc, scale, /, *, shape, dtype):
    loc, scale = parameters_of("double_sided_maxwell", key, shape, dtype, loc, scale)
    first, second = subkeys(key)
    size = _maxwell.fun(first, shape=shape, dtype=dtype)
    return p.add(loc, p.mul(scale, _signed(second, size)))


def _signed(key, x):
    """x, positive or negative at random."""
    drawn = unit(key, aval_of(x).shape, dt.DEFAULT_FLOAT)
    return p.select(p.lt(drawn, like(drawn, 0.5)), x, p.neg(x))


@exposed("fc.random")
def double_sided_maxwell(key, loc, scale, shape=(), dtype=None):
    """loc plus or minus scale times Maxwell numbers; `shape` stands before the parameters'.

    >>> import functorch_core as fc
    >>> fc.random.double_sided_maxwell(fc.random.key(0), 0., 1., (3,)).shape
    (3,)
    """
    shape = _prefixed("double_sided_maxwell", shape, loc, scale)
    return _draw(_double_sided_maxwell, key, loc, scale, shape=shape, dtype=dtype)


# ---- of gamma numbers ----------------------------------------------------------------------------


@op(scalars=True)
def _generalized_normal(key, power, /, *, shape, dtype):
    (power,) = parameters_of("generalized_normal", key, shape, dtype, power)
    first, second = subkeys(key)
    inverse = p.div(1, power)
    return _signed(second, p.pow(_gamma.fun(first, inverse, shape=shape, dtype=dtype), inverse))


@exposed("fc.random")
def generalized_normal(key, p, shape=(), dtype=None):
    """Numbers of density proportional to exp(-|x|**p).

    >>> import functorch_core as fc
    >>> fc.random.generalized_normal(fc.random.key(0), 1.5, (3,)).shape
    (3,)
    """
    return _draw(_generalized_normal, key, p, shape=shape, dtype=dtype)


@op(scalars=True)
def _ball(key, power, /, *, d, shape, dtype):
    check_key(key, "ball")
    first, second = subkeys(key)
    g = _generalized_normal.fun(first, power, shape=(*shape, d), dtype=dtype)
    (power,) = parameters_of("ball", key, shape, dtype, power)
    powers = p.pow(p.abs(g), p.broadcast_in_dim(power, shape=(*shape, d), dims=tuple(range(len(shape)))))
    total = p.add(p.reduce_sum(powers, axes=(len(shape),)), standard_exponential(second, shape, dtype))
    norm = p.pow(total, p.div(1, power))
    return p.div(g, p.broadcast_in_dim(norm, shape=(*shape, d), dims=tuple(range(len(shape)))))


@exposed("fc.random")
def ball(key, d, p=2, shape=(), dtype=None):
    """Points, [*shape, d], uniform in the d-dimensional ball of the p-norm.

    >>> import functorch_core as fc
    >>> fc.random.ball(fc.random.key(0), 3, shape=(5,)).shape
    (5, 3)
    """
    (d,) = canonical_shape(operator.index(d), "random.ball")
    return _ball(
        key,
        float(p) if isinstance(p, int) else p,
        d=d,
        shape=canonical_shape(shape, "random.ball"),
        dtype=_float_dtype(dtype, "ball"),
    )


@op
def _orthogonal(key, /, *, n, m, shape, dtype):
    check_key(key, "orthogonal")
    rows, columns = max(n, m), min(n, m)
    if dtype in dt.COMPLEX:
        parts = standard_normal(key, (2, *shape, rows, columns), dt.real_of(dtype))
        z = p.complex(
            *[
                p.reshape(p.slice_in_dim(parts, start=i, limit=i + 1, dimension=0), shape=(*shape, rows, columns))
                for i in (0, 1)
            ]
        )
    else:
        z = standard_normal(key, (*shape, rows, columns), dtype)
    if not columns:
        return p.full((*shape, n, m), 0, dtype)
    q, r = p.qr(z, full_matrices=False)
    eye = p.eq(
        p.iota(shape=(columns, columns), dtype=dt.int32, dimension=0),
        p.iota(shape=(columns, columns), dtype=dt.int32, dimension=1),
    )
    diagonal = p.reduce_sum(p.select(broadcast_to(eye, aval_of(r).shape), r, like(r, 0)), axes=(len(shape) + 1,))
    lead = tuple(range(len(shape)))
    turned = p.mul(q, p.broadcast_in_dim(p.sign(diagonal), shape=aval_of(q).shape, dims=(*lead, len(shape) + 1)))
    if n >= m:
        return turned
    return p.transpose(turned, permutation=(*lead, len(shape) + 1, len(shape)))


@exposed("fc.random")
def orthogonal(key, n, shape=(), dtype=None, m=None):
    """Orthogonal matrices [*shape, n, m], uniform (unitary for complex dtypes); m is n by default.

    >>> import functorch_core as fc
    >>> fc.random.orthogonal(fc.random.key(0), 3, (5,)).shape
    (5, 3, 3)
    """
    dtype = dt.canonical(dtype or float)
    if dtype not in dt.COMPLEX:
        dtype = _float_dtype(dtype, "orthogonal")
    n, m = canonical_shape((n, n if m is None else m), "random.orthogonal")
    return _orthogonal(key, n=n, m=m, dtype=dtype, shape=canonical_shape(shape, "random.orthogonal"))


BAD_METHOD = """random.multivariate_normal: method={method!r} is none of "cholesky", "eigh", "svd".
    "cholesky" is the quickest, the others take covariance matrices that are singular."""


def _factor(cov, method: str):
    """A matrix whose product with its transpose is cov."""
    if method == "cholesky":
        return p.cholesky(cov)
    if method == "eigh":
        values, vectors = p.eigh(cov)
    elif method == "svd":
        vectors, values, _ = p.svd(cov, full_matrices=False)
    else:
        raise ValueError(BAD_METHOD.format(method=method))
    shape = aval_of(vectors).shape
    lengths = p.sqrt(p.max(values, like(values, 0)))
    lead = tuple(range(len(shape) - 2))
    return p.mul(vectors, p.broadcast_in_dim(lengths, shape=shape, dims=(*lead, len(shape) - 1)))


@op
def _multivariate_normal(key, mean, cov, /, *, shape, dtype, method):
    check_key(key, "multivariate_normal")
    mean, factor = p.convert(mean, dtype=dtype), _factor(p.convert(cov, dtype=dtype), method)
    n = aval_of(mean).shape[-1]
    drawn = standard_normal(key, (*shape, n, 1), dtype)
    factor = broadcast_to(factor, (*shape, n, n))
    lead = tuple(range(len(shape)))
    moved = p.dot_general(factor, drawn, contract=((len(shape) + 1,), (len(shape),)), batch=(lead, lead))
    return p.add(broadcast_to(mean, (*shape, n)), p.reshape(moved, shape=(*shape, n)))


@exposed("fc.random")
def multivariate_normal(key, mean, cov, shape=None, dtype=None, method="cholesky"):
    """Normal vectors of these means [..., n] and covariance matrices [..., n, n].

    method: "cholesky", or "eigh" or "svd", which take singular covariance matrices.

    >>> import functorch_core as fc
    >>> fc.random.multivariate_normal(fc.random.key(0), fc.zeros(2), fc.eye(2), (5,)).shape
    (5, 2)
    """
    shape = (
        broadcast_shapes(np.shape(mean)[:-1], np.shape(cov)[:-2])
        if shape is None
        else canonical_shape(shape, "random.multivariate_normal")
    )
    return _multivariate_normal(
        key, mean, cov, shape=shape, method=method, dtype=_float_dtype(dtype, "multivariate_normal")
    )


__all__ = [  # what it has in fc.random, for static tools
    "ball", "double_sided_maxwell", "generalized_normal", "lognormal", "maxwell", "multivariate_normal", "orthogonal",
    "pareto", "rayleigh", "triangular", "wald", "weibull_min",
]  # fmt: skip
