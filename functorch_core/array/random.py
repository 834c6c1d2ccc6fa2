"""fc.random: numbers drawn by explicit keys; the same key gives the same numbers, everywhere.

    key = fc.random.key(0)
    key, sub = fc.random.split(key)
    x = fc.random.normal(sub, (3, 4))
"""
from __future__ import annotations

from ..ops import random as ops
from .expose import public

bernoulli = public(ops.bernoulli)
beta = public(ops.beta)
bits = public(ops.bits)
categorical = public(ops.categorical)
cauchy = public(ops.cauchy)
choice = public(ops.choice)
dirichlet = public(ops.dirichlet)
exponential = public(ops.exponential)
fold_in = public(ops.fold_in)
gamma = public(ops.gamma)
gumbel = public(ops.gumbel)
key = PRNGKey = public(ops.key)
laplace = public(ops.laplace)
logistic = public(ops.logistic)
multivariate_normal = public(ops.multivariate_normal)
normal = public(ops.normal)
permutation = public(ops.permutation)
rademacher = public(ops.rademacher)
randint = public(ops.randint)
split = public(ops.split)
truncated_normal = public(ops.truncated_normal)
uniform = public(ops.uniform)

__all__ = [
    "PRNGKey", "bernoulli", "beta", "bits", "categorical", "cauchy", "choice", "dirichlet",
    "exponential", "fold_in", "gamma", "gumbel", "key", "laplace", "logistic",
    "multivariate_normal", "normal", "permutation", "rademacher", "randint", "split",
    "truncated_normal", "uniform"]
