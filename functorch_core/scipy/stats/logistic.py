"""The logistic distribution."""

import functorch_core as fc

from ._distribution import distribution

cdf, isf, logpdf, pdf, ppf, sf = distribution(
    "logistic",
    "x, loc=0, scale=1",
    "cdf isf logpdf pdf ppf sf",
    first={"ppf": "x", "isf": "x"},
    logpdf=lambda x: fc.log_sigmoid(x) + fc.log_sigmoid(-x),
    cdf=fc.sigmoid,
    sf=lambda x: fc.sigmoid(-x),
    ppf=fc.logit,
    isf=lambda q: -fc.logit(q),
)
