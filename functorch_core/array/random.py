"""fc.random: numbers drawn by explicit keys; the same key gives the same numbers, everywhere.

key = fc.random.key(0)
key, sub = fc.random.split(key)
x = fc.random.normal(sub, (3, 4))
"""

from __future__ import annotations

from ..ops import counts
from ..ops import distributions as more
from ..ops import random as ops
from .expose import public

ball = public(more.ball)
bernoulli = public(ops.bernoulli)
beta = public(more.beta)
binomial = public(counts.binomial)
bits = public(ops.bits)
categorical = public(ops.categorical)
cauchy = public(ops.cauchy)
chisquare = public(more.chisquare)
choice = public(ops.choice)
clone = public(ops.clone)
dirichlet = public(more.dirichlet)
double_sided_maxwell = public(more.double_sided_maxwell)
exponential = public(ops.exponential)
f = public(more.f)
fold_in = public(ops.fold_in)
gamma = public(ops.gamma)
generalized_normal = public(more.generalized_normal)
geometric = public(counts.geometric)
gumbel = public(ops.gumbel)
key = PRNGKey = public(ops.key)
key_data = public(ops.key_data)
key_impl = public(ops.key_impl)
laplace = public(ops.laplace)
loggamma = public(more.loggamma)
logistic = public(ops.logistic)
lognormal = public(more.lognormal)
maxwell = public(more.maxwell)
multinomial = public(counts.multinomial)
multivariate_normal = public(more.multivariate_normal)
normal = public(ops.normal)
orthogonal = public(more.orthogonal)
pareto = public(more.pareto)
permutation = public(ops.permutation)
poisson = public(counts.poisson)
rademacher = public(ops.rademacher)
randint = public(ops.randint)
rayleigh = public(more.rayleigh)
split = public(ops.split)
t = public(more.t)
triangular = public(more.triangular)
truncated_normal = public(ops.truncated_normal)
uniform = public(ops.uniform)
wald = public(more.wald)
weibull_min = public(more.weibull_min)
wrap_key_data = public(ops.wrap_key_data)

__all__ = [
    "PRNGKey",
    "ball",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "clone",
    "dirichlet",
    "double_sided_maxwell",
    "exponential",
    "f",
    "fold_in",
    "gamma",
    "generalized_normal",
    "geometric",
    "gumbel",
    "key",
    "key_data",
    "key_impl",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "multivariate_normal",
    "normal",
    "orthogonal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "rayleigh",
    "split",
    "t",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
    "wrap_key_data",
]
