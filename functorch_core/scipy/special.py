"""jax.scipy.special: special functions of arrays, differentiable.

The elementary ones are here, integrals and hypergeometric series in the files beside.
"""

from __future__ import annotations

import functools
import inspect
import math

import functorch_core as fc
from functorch_core import digamma, erf, erfc, logit, logsumexp, xlogy

from .. import primitives as p
from ..array.compose import composed, missing_name, of_arrays, with_signature
from ..core import dtypes as dt
from ..core.explain import explaining
from ..primitives import special_tables
from .hypergeometric import hyp1f1, hyp2f1
from .integrals import (
    bernoulli_numbers,
    dawsn,
    exp1,
    expi,
    expn,
    fresnel,
    horner,
    owens_t,
    sici,
    spence,
    with_derivative,
    wofz,
)
from .spherical import bessel_jn, sph_harm_y

function = functools.partial(composed, space="fc.scipy.special", inexact=True)


def _primitive(name, primitive, doc, signature="x"):
    """A special function that is a primitive."""
    apply = of_arrays(primitive)
    parameters = signature.replace(" ", "").split(",")

    def call(*arrays):
        return apply(*fc.broadcast_arrays(*arrays)) if len(arrays) > 1 else apply(*arrays)

    call.__name__ = name
    call.__signature__ = inspect.signature(eval(f"lambda {signature}: None"))
    arguments = ", ".join(["jnp.asarray([0.5, 2.])", *["0.5"] * (len(parameters) - 1)])
    call.__doc__ = f"""{doc}

    >>> import functorch_core.numpy as jnp
    >>> from functorch_core.scipy import special
    >>> found = special.{name}({arguments})
    """
    return function(" ".join(parameters))(call)


erfinv = with_signature(fc.erf_inv, "x")
expit = with_signature(fc.sigmoid, "x")
gammaln = with_signature(fc.lgamma, "x")
gammainc = with_signature(fc.igamma, "a, x")
gammaincc = with_signature(fc.igammac, "a, x")
softmax = with_signature(fc.softmax, "x, /, *, axis=None")
log_softmax = with_signature(fc.log_softmax, "x, /, *, axis=None")
erfcx = _primitive("erfcx", p.erfcx, "exp(x**2) * erfc(x), which does not overflow for large x, elementwise.")
i0 = _primitive("i0", p.bessel_i0, "The modified Bessel function of the first kind of order 0, elementwise.")
i0e = _primitive("i0e", p.bessel_i0e, "exp(-|x|) * i0(x), elementwise.")
i1 = _primitive("i1", p.bessel_i1, "The modified Bessel function of the first kind of order 1, elementwise.")
i1e = _primitive("i1e", p.bessel_i1e, "exp(-|x|) * i1(x), elementwise.")
ndtri = _primitive("ndtri", p.ndtri, "The inverse of ndtr: the normal distribution's quantiles, elementwise.", "p")


# ---- gamma and beta ------------------------------------------------------------------------------


@function("a b x")
def betainc(a, b, x):
    """The regularised incomplete beta function, elementwise: beta's cdf at x.

    >>> from functorch_core.scipy import special
    >>> special.betainc(2., 3., 0.4)
    Array(0.5248, dtype=float32)
    """
    return of_arrays(p.betainc)(*fc.broadcast_arrays(a, b, x))


@function("x")
def gammasgn(x):
    """The sign of gamma(x), elementwise; NaN at the negative integers.

    >>> from functorch_core.scipy import special
    >>> special.gammasgn(-0.5)
    Array(-1., dtype=float32)
    """
    whole = fc.floor(x)
    sign = fc.where(fc.remainder(whole, 2) == 0, fc.ones_like(x), fc.full_like(x, -1))
    sign = fc.where((x < 0) & (whole == x) | fc.isnan(x), fc.full_like(x, math.nan), sign)
    return fc.where(x == 0, fc.copysign(fc.ones_like(x), x), fc.where(x > 0, fc.ones_like(x), sign))


@function("x")
def gamma(x):
    """The gamma function, elementwise; NaN at the negative integers.

    >>> from functorch_core.scipy import special
    >>> special.gamma(5.)
    Array(24., dtype=float32)
    """
    return gammasgn(x) * fc.exp(fc.lgamma(x))


@function("x")
def loggamma(x):
    """The logarithm of gamma(x), elementwise; NaN below 0, where gamma may be negative.

    >>> from functorch_core.scipy import special
    >>> special.loggamma(5.)
    Array(3.1780539, dtype=float32)
    """
    if x.dtype in dt.COMPLEX:
        raise TypeError(f"loggamma takes real numbers, got {x.aval}")
    return fc.where(x < 0, fc.full_like(x, math.nan), fc.lgamma(x))


@function("a b")
def betaln(a, b):
    """The logarithm of |beta(a, b)|, elementwise.

    >>> from functorch_core.scipy import special
    >>> special.betaln(2., 3.)
    Array(-2.4849067, dtype=float32)
    """
    low, high = fc.where(a < b, a, b), fc.where(a < b, b, a)
    return fc.lgamma(low) - _lgamma_rise(high, low)


def _lgamma_rise(x, step):
    """lgamma(x + step) - lgamma(x); of large ones by Stirling's series, whose large parts cancel in closed form."""
    large = fc.minimum(x, x + step) >= 10
    big, by = fc.where(large, x, fc.full_like(x, 10)), fc.where(large, step, fc.ones_like(step))
    rest = _stirling(big + by) - _stirling(big)
    far = (big - 0.5) * fc.log1p(by / big) + by * (fc.log(big + by) - 1) + rest
    near, at = fc.where(large, fc.ones_like(x), x), fc.where(large, fc.ones_like(step), step)
    return fc.where(large, far, fc.lgamma(near + at) - fc.lgamma(near))


def _stirling(x):
    """lgamma(x) less its Stirling's formula, for x >= 10."""
    return horner(1 / (x * x), special_tables.STIRLING) / x


@function("a b")
def beta(a, b):
    """gamma(a) * gamma(b) / gamma(a + b), elementwise.

    >>> from functorch_core.scipy import special
    >>> special.beta(2., 3.)
    Array(0.08333334, dtype=float32)
    """
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * fc.exp(betaln(a, b))


@function("a")
def multigammaln(a, d):
    """The logarithm of the multivariate gamma function of dimension d, elementwise.

    >>> from functorch_core.scipy import special
    >>> special.multigammaln(3., 2)
    Array(1.550195, dtype=float32)
    """
    shifts = fc.arange(d).astype(a.dtype) / 2
    return fc.sum(fc.lgamma(a[..., None] - shifts), axis=-1) + d * (d - 1) / 4 * math.log(math.pi)


@function("z m")
def poch(z, m):
    """The rising factorial gamma(z + m) / gamma(z), elementwise.

    >>> from functorch_core.scipy import special
    >>> special.poch(3., 2.)
    Array(12., dtype=float32)
    """
    z, m = fc.broadcast_arrays(z, m)
    out = gammasgn(z) * gammasgn(z + m) * fc.exp(_lgamma_rise(z, m))
    return fc.where(m == 0, fc.ones_like(out), out)


@explaining
def factorial(n, exact=False):
    """n!, elementwise, as floats; 0 below 0. exact=True is not supported.

    >>> from functorch_core.scipy import special
    >>> special.factorial(5)
    Array(120.000015, dtype=float32)
    """
    if exact:
        raise NotImplementedError("factorial: exact=True has numbers of any size\n    Use math.factorial.")
    return _factorial(n)


@function("n")
def _factorial(n):
    return fc.where(n < 0, fc.zeros_like(n), fc.exp(fc.lgamma(n + 1)))


@function("N k")
def comb(N, k, *, repetition=False):
    """The number of ways to choose k of N things, elementwise (repetition: the same ones again).

    >>> from functorch_core.scipy import special
    >>> special.comb(5., 2.)
    Array(10., dtype=float32)
    """
    if repetition:
        N = N + k - 1
    inside = (k <= N) & (N >= 0) & (k >= 0)
    n, k = fc.where(inside, N, fc.ones_like(N)), fc.where(inside, k, fc.zeros_like(k))
    out = fc.exp(_lgamma_rise(fc.maximum(k, n - k) + 1, fc.minimum(k, n - k)) - fc.lgamma(fc.minimum(k, n - k) + 1))
    whole = (n == fc.floor(n)) & (k == fc.floor(k)) & (out < 1 / float(fc.finfo(out.dtype).eps))
    out = fc.where(whole, fc.stop_gradient(fc.round(out) - out) + out, out)
    return fc.where(inside, out, fc.zeros_like(out))


@function("n x")
def polygamma(n, x):
    """The n-th derivative of digamma, elementwise, for whole n.

    >>> from functorch_core.scipy import special
    >>> special.polygamma(1, 2.)
    Array(0.64493406, dtype=float32)
    """
    n, x = fc.broadcast_arrays(n, x)
    positive = fc.maximum(n, 1)
    sign = fc.where(fc.remainder(positive, 2) == 0, fc.full_like(x, -1), fc.ones_like(x))
    high = sign * fc.exp(fc.lgamma(positive + 1)) * zeta(positive + 1, x)
    return fc.where(n == 0, fc.digamma(x), high)


_zeta = of_arrays(p.zeta)


@function("x q")
def zeta(x, q=None):
    """The Hurwitz zeta function, the sum of 1 / (k + q)**x, elementwise; without q Riemann's (x > 1).

    >>> from functorch_core.scipy import special
    >>> special.zeta(2., 1.)
    Array(1.644934, dtype=float32)
    """
    return _zeta(*fc.broadcast_arrays(x, fc.ones_like(x) if q is None else q))


def bernoulli(n):
    """The Bernoulli numbers B0, ..., Bn, with B1 = -1/2.

    >>> from functorch_core.scipy import special
    >>> special.bernoulli(4)
    Array([ 1.        , -0.5       ,  0.16666667,  0.        , -0.03333334], dtype=float32)
    """
    return fc.asarray(bernoulli_numbers(n).astype(dt.DEFAULT_FLOAT))


# ---- the normal distribution ---------------------------------------------------------------------


@function("x")
def ndtr(x):
    """The normal distribution's cdf, elementwise.

    >>> from functorch_core.scipy import special
    >>> special.ndtr(1.)
    Array(0.8413447, dtype=float32)
    """
    scaled = x * (0.5**0.5)
    near = 0.5 + 0.5 * fc.erf(scaled)
    far = 0.5 * fc.erfc(fc.abs(scaled))
    return fc.where(fc.abs(scaled) < 0.5**0.5, near, fc.where(scaled > 0, 1 - far, far))


@explaining
def log_ndtr(x, series_order=3):
    """log(ndtr(x)), elementwise, accurate far below 0, too. series_order is JAX's, and not needed.

    >>> from functorch_core.scipy import special
    >>> special.log_ndtr(-20.)
    Array(-203.91716, dtype=float32)
    """
    return _log_ndtr(x)


_log_ndtr = _primitive("log_ndtr", p.log_ndtr, "log(ndtr(x)), elementwise.")


# ---- entropies and powers ------------------------------------------------------------------------


@function("x y")
def xlog1py(x, y):
    """x * log(1 + y), elementwise; 0 where x is 0.

    >>> from functorch_core.scipy import special
    >>> special.xlog1py(0., -1.)
    Array(0., dtype=float32)
    """
    nothing = (x == 0) & ~((y > -1) & (y < math.inf)) & ~fc.isnan(y)  # elsewhere x's derivative is the logarithm
    return fc.where(nothing, fc.zeros_like(x), x * fc.log1p(fc.where(nothing, fc.zeros_like(y), y)))


@with_derivative(lambda y, x: -1 - fc.log(x))  # inf at 0, where the product has none
def _entr(x):
    return fc.where(x < 0, fc.full_like(x, -math.inf), -fc.xlogy(fc.where(x < 0, fc.ones_like(x), x), x))


@function("x")
def entr(x):
    """-x * log(x), elementwise; 0 at 0 and -inf below.

    >>> from functorch_core.scipy import special
    >>> special.entr(0.5)
    Array(0.3465736, dtype=float32)
    """
    return _entr(x)


@function("p q")
def rel_entr(p, q):
    """p * log(p / q), elementwise; 0 where p is 0, inf where q is 0 or one is negative.

    >>> from functorch_core.scipy import special
    >>> special.rel_entr(0.5, 0.25)
    Array(0.3465736, dtype=float32)
    """
    both, none = (p > 0) & (q > 0), (p == 0) & (q >= 0)
    one = fc.ones_like(p)
    safe_p, safe_q = fc.where(both, p, one), fc.where(both, q, one)
    out = fc.where(both, safe_p * (fc.log(safe_p) - fc.log(safe_q)), fc.full_like(safe_p, math.inf))
    out = fc.where(none, fc.zeros_like(out), out)
    return fc.where(fc.isnan(p) | fc.isnan(q), fc.full_like(out, math.nan), out)


@function("p q")
def kl_div(p, q):
    """p * log(p / q) - p + q, elementwise; see rel_entr.

    >>> from functorch_core.scipy import special
    >>> special.kl_div(0.5, 0.25)
    Array(0.09657359, dtype=float32)
    """
    return rel_entr(p, q) - p + q


@function("x lmbda")
def boxcox(x, lmbda):
    """(x**lmbda - 1) / lmbda, elementwise; log(x) where lmbda is 0.

    >>> from functorch_core.scipy import special
    >>> special.boxcox(2., 0.5)
    Array(0.82842714, dtype=float32)
    """
    return _boxcox_of_log(fc.log(x), lmbda)


@function("x lmbda")
def boxcox1p(x, lmbda):
    """((1 + x)**lmbda - 1) / lmbda, elementwise; log1p(x) where lmbda is 0.

    >>> from functorch_core.scipy import special
    >>> special.boxcox1p(1., 0.5)
    Array(0.82842714, dtype=float32)
    """
    return _boxcox_of_log(fc.log1p(x), lmbda)


def _boxcox_of_log(log, lmbda):
    zero = lmbda == 0
    safe = fc.where(zero, fc.ones_like(lmbda), lmbda)
    near = log * (1 + lmbda * log / 2)  # whose slope by lmbda is right at 0, too
    return fc.where(zero, near, fc.expm1(safe * log) / safe)


__getattr__ = missing_name(
    "scipy.special",
    {
        "erfcinv": "Use special.erfinv(1 - x).",
        "psi": "Use special.digamma.",
        "binom": "Use special.comb.",
        "jv jn j0 j1": "Use special.bessel_jn(x, v=n), which gives all orders up to n.",
        "lpmv lpmn lpmn_values": "Use special.sph_harm_y; JAX deprecates these.",
        "sph_harm": "Use special.sph_harm_y(n, m, theta, phi), which takes the angles in another order.",
    },
)

__all__ = [
    "bernoulli", "bessel_jn", "beta", "betainc", "betaln", "boxcox", "boxcox1p", "comb", "dawsn", "digamma", "entr",
    "erf", "erfc", "erfcx", "erfinv", "exp1", "expi", "expit", "expn", "factorial", "fresnel", "gamma", "gammainc",
    "gammaincc", "gammaln", "gammasgn", "hyp1f1", "hyp2f1", "i0", "i0e", "i1", "i1e", "kl_div", "log_ndtr",
    "log_softmax", "loggamma", "logit", "logsumexp", "multigammaln", "ndtr", "ndtri", "owens_t", "poch",
    "polygamma", "rel_entr", "sici", "softmax", "spence", "sph_harm_y", "wofz", "xlog1py", "xlogy", "zeta",
]  # fmt: skip
