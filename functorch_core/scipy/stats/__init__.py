"""jax.scipy.stats: distributions, each a module of functions, and statistics of samples."""

from ...array.compose import missing_name as _missing_name
from . import (
    bernoulli,
    beta,
    betabinom,
    binom,
    cauchy,
    chi2,
    dirichlet,
    expon,
    gamma,
    gennorm,
    geom,
    gumbel_l,
    gumbel_r,
    laplace,
    logistic,
    multinomial,
    multivariate_normal,
    nbinom,
    norm,
    pareto,
    poisson,
    t,
    truncnorm,
    uniform,
    vonmises,
    wrapcauchy,
)
from .samples import *

__getattr__ = _missing_name("scipy.stats", {"zscore": "Use jnn.standardize."})
