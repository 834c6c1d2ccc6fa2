"""The Gumbel distribution of maxima."""

import functorch_core as fc

from ._distribution import distribution

cdf, logcdf, logpdf, logsf, pdf, ppf, sf = distribution(
    "gumbel_r",
    "x, loc=0, scale=1",
    "cdf logcdf logpdf logsf pdf ppf sf",
    first={"ppf": "p"},
    logpdf=lambda x: -x - fc.exp(-x),
    logcdf=lambda x: -fc.exp(-x),
    sf=lambda x: -fc.expm1(-fc.exp(-x)),
    ppf=lambda q: -fc.log(-fc.log(q)),
)
