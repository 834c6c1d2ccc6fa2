"""The Gumbel distribution of minima."""

import functorch_core as fc

from ._distribution import distribution

cdf, logcdf, logpdf, logsf, pdf, ppf, sf = distribution(
    "gumbel_l",
    "x, loc=0, scale=1",
    "cdf logcdf logpdf logsf pdf ppf sf",
    first={"ppf": "p"},
    logpdf=lambda x: x - fc.exp(x),
    cdf=lambda x: -fc.expm1(-fc.exp(x)),
    logsf=lambda x: -fc.exp(x),
    ppf=lambda q: fc.log(-fc.log1p(-q)),
)
