"""The geometric distribution: the number of trials up to the first success."""

import functorch_core as fc

from ..special import xlog1py
from ._distribution import distribution, inside

logpmf, pmf = distribution(
    "geom",
    "k, p, loc=0",
    "logpmf pmf",
    logpmf=lambda k, p: inside((k >= 1) & (k == fc.floor(k)), xlog1py(k - 1, -p) + fc.log(p)),
)
