"""Student's t distribution with df degrees of freedom."""

import math

import functorch_core as fc

from ._distribution import distribution

logpdf, pdf = distribution(
    "t",
    "x, df, loc=0, scale=1",
    "logpdf pdf",
    logpdf=lambda x, df: (
        fc.lgamma((df + 1) / 2) - fc.lgamma(df / 2) - 0.5 * fc.log(math.pi * df) - (df + 1) / 2 * fc.log1p(x * x / df)
    ),
)
