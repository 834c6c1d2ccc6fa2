"""The wrapped Cauchy distribution of angles in [0, 2 pi], concentrated by c."""

import math

import functorch_core as fc

from ._distribution import distribution, inside


def _logpdf(x, c):
    out = fc.log(1 - c * c) - math.log(2 * math.pi) - fc.log(1 + c * c - 2 * c * fc.cos(x))
    out = inside((x >= 0) & (x <= 2 * math.pi), out)
    return inside((c > 0) & (c < 1), out, math.nan)


logpdf, pdf = distribution("wrapcauchy", "x, c", "logpdf pdf", logpdf=_logpdf)
