"""Student's t distribution with df degrees of freedom."""

import functorch_core as fc

from ..special import betaln
from ._distribution import distribution

logpdf, pdf = distribution(
    "t",
    "x, df, loc=0, scale=1",
    "logpdf pdf",
    logpdf=lambda x, df: (
        -betaln(df / 2, fc.full_like(df, 0.5)) - 0.5 * fc.log(df) - (df + 1) / 2 * fc.log1p(x * x / df)
    ),
)
