"""Special functions, elementwise."""

from __future__ import annotations

import math

from .. import primitives as p
from ..core import dtypes as dt
from ..core.aval import aval_of
from ..kernels.values import full_like as like
from .declaring import binary, unary

erf = unary(
    "erf",
    p.erf,
    "The error function, elementwise.",
    "fc.erf(fc.asarray([0., 1.]))",
    "Array([0.       , 0.8427008], dtype=float32)",
    to_inexact=True,
    allowed=dt.FLOATING,
    names="x",
)
erfc = unary(
    "erfc",
    p.erfc,
    "1 - erf(x) with full precision for large x, elementwise.",
    "fc.erfc(fc.asarray([0., 1.]))",
    "Array([1.       , 0.1572992], dtype=float32)",
    to_inexact=True,
    allowed=dt.FLOATING,
    names="x",
)
erf_inv = unary(
    "erf_inv",
    p.erf_inv,
    "The inverse of erf, elementwise; NaN outside of [-1, 1].",
    "fc.erf_inv(fc.asarray([0., .5]))",
    "Array([0.        , 0.47693628], dtype=float32)",
    to_inexact=True,
    allowed=dt.FLOATING,
    names="x",
)
lgamma = unary(
    "lgamma",
    p.lgamma,
    "The logarithm of |gamma(x)|, elementwise.",
    "fc.lgamma(fc.asarray([1., 5.]))",
    "Array([0.       , 3.1780539], dtype=float32)",
    to_inexact=True,
    allowed=dt.FLOATING,
    names="x",
)
digamma = unary(
    "digamma",
    p.digamma,
    "The derivative of lgamma, elementwise.",
    "fc.digamma(fc.asarray([1., 5.]))",
    "Array([-0.5772157,  1.5061177], dtype=float32)",
    to_inexact=True,
    allowed=dt.FLOATING,
    names="x",
)
igamma = binary(
    "igamma",
    p.igamma,
    "The lower regularised incomplete gamma function P(x1, x2).",
    "fc.igamma(fc.asarray([1., 2.]), 1.)",
    "Array([0.63212055, 0.26424113], dtype=float32)",
    to_inexact=True,
    allowed=dt.FLOATING,
    names="a x",
)
igammac = binary(
    "igammac",
    p.igammac,
    "The upper regularised incomplete gamma function Q(x1, x2).",
    "fc.igammac(fc.asarray([1., 2.]), 1.)",
    "Array([0.36787945, 0.7357589 ], dtype=float32)",
    to_inexact=True,
    allowed=dt.FLOATING,
    names="a x",
)


def _xlogy(x, y):
    """x log y, whose derivatives are finite where x = 0, too: log y by x, and 0 where that is no number."""
    zero = p.and_(p.eq(x, 0), p.not_(p.and_(p.gt(y, 0), p.lt(y, math.inf))))
    safe = p.select(zero, like(y, 1), y)
    out = p.select(zero, like(x, 0), p.mul(x, p.log(safe)))
    return p.select(p.ne(y, y), y, out)


def _logit(x):
    return p.sub(p.log(x), p.log1p(p.neg(x)))


def _sinc(x):
    turned = p.mul(x, math.pi)
    if aval_of(x).dtype in dt.COMPLEX:
        close = p.eq(turned, 0)
    else:
        close = p.lt(p.abs(turned), 0.1)
    safe = p.select(close, like(x, 1), turned)
    # Its series near 0, where derivatives of sin(x) / x lose their digits: those of all orders up to 14 are right.
    square, near = p.mul(turned, turned), like(x, 1)
    for k in range(7, 0, -1):
        near = p.sub(1, p.mul(near, p.div(square, 2 * k * (2 * k + 1))))
    return p.select(close, near, p.div(p.sin(safe), safe))


xlogy = binary(
    "xlogy",
    _xlogy,
    "x1 * log(x2), elementwise; 0 where x1 is 0.",
    "fc.xlogy(fc.asarray([0., 2.]), fc.asarray([0., 1.]))",
    "Array([0., 0.], dtype=float32)",
    to_inexact=True,
    allowed=dt.FLOATING,
    names="x y",
)
logit = unary(
    "logit",
    _logit,
    "log(x / (1 - x)), elementwise: the inverse of sigmoid.",
    "fc.logit(fc.asarray([.5, .25]))",
    "Array([ 0.       , -1.0986123], dtype=float32)",
    to_inexact=True,
    allowed=dt.FLOATING,
    names="x",
)
sinc = unary(
    "sinc",
    _sinc,
    "sin(pi x) / (pi x), elementwise; 1 at 0.",
    "fc.sinc(fc.asarray([0., .5]))",
    "Array([1.        , 0.63661975], dtype=float32)",
    to_inexact=True,
)
deg2rad = unary(
    "deg2rad",
    lambda x: p.mul(x, math.pi / 180),
    "Degrees as radians, elementwise.",
    "fc.deg2rad(fc.asarray([180.]))",
    "Array([3.1415927], dtype=float32)",
    to_inexact=True,
)
rad2deg = unary(
    "rad2deg",
    lambda x: p.mul(x, 180 / math.pi),
    "Radians as degrees, elementwise.",
    "fc.rad2deg(fc.asarray([fc.pi]))",
    "Array([180.], dtype=float32)",
    to_inexact=True,
)


__all__ = [  # what it has in fc, for static tools
    "deg2rad", "digamma", "erf", "erf_inv", "erfc", "igamma", "igammac", "lgamma", "logit", "rad2deg", "sinc",
    "xlogy",
]  # fmt: skip
