"""Distributions of every family, made with either library from the same numbers."""

from __future__ import annotations

import math
import zlib

import numpy as np


def plain(tensor) -> np.ndarray:
    """A tensor as an array."""
    return np.array(tensor.detach().numpy())


class Maker:
    """Parameters as tensors of one of the libraries: one name and shape, the same numbers."""

    def __init__(self, torch, shape, dtype="float32", requires_grad=False):
        self.torch, self.shape, self.d = torch, tuple(shape), torch.distributions
        self.dtype, self.requires_grad, self.made = dtype, requires_grad, []

    def __call__(self, name: str, *more: int, low=0.3, high=3.0):
        """A parameter of shape + more, uniform on [low, high)."""
        seed = zlib.crc32(name.encode())
        drawn = np.random.default_rng(seed).uniform(low, high, (*self.shape, *more))
        return self.tensor(drawn.astype(self.dtype))

    def tensor(self, array):
        """A leaf."""
        made = self.torch.tensor(array)
        if self.requires_grad:
            made.requires_grad_()
        self.made.append(made)
        return made

    def positive_definite(self, name: str, n: int = 3):
        """Matrices [*shape, n, n]."""
        seed = zlib.crc32(name.encode())
        a = np.random.default_rng(seed).uniform(-1, 1, (*self.shape, n, n))
        return self.tensor((a @ np.swapaxes(a, -1, -2) + np.eye(n)).astype(self.dtype))

    def location(self, *more: int):
        """A number around 0."""
        return self("loc", *more, low=-1.0, high=1.0)

    def chance(self, name: str = "chance", *more: int):
        """A probability."""
        return self(name, *more, low=0.1, high=0.9)


def _factor(m: Maker):
    torch = m.torch
    matrix = m.positive_definite("matrix").detach()
    return m.tensor(plain(torch.linalg.cholesky(matrix)))


FAMILIES = {
    "Bernoulli": lambda m: m.d.Bernoulli(m.chance()),
    "Bernoulli logits": lambda m: m.d.Bernoulli(logits=m.location()),
    "Beta": lambda m: m.d.Beta(m("a"), m("b")),
    "Binomial": lambda m: m.d.Binomial(7, m.chance()),
    "Binomial logits": lambda m: m.d.Binomial(5, logits=m.location()),
    "Categorical": lambda m: m.d.Categorical(m("p", 4)),
    "Categorical logits": lambda m: m.d.Categorical(logits=m.location(4)),
    "Cauchy": lambda m: m.d.Cauchy(m.location(), m("scale")),
    "Chi2": lambda m: m.d.Chi2(m("df")),
    "ContinuousBernoulli": lambda m: m.d.ContinuousBernoulli(m.chance()),
    "ContinuousBernoulli middle": lambda m: m.d.ContinuousBernoulli(m("p", low=0.4995, high=0.5005)),
    "ContinuousBernoulli logits": lambda m: m.d.ContinuousBernoulli(logits=m.location()),
    "Dirichlet": lambda m: m.d.Dirichlet(m("a", 4)),
    "Exponential": lambda m: m.d.Exponential(m("rate")),
    "FisherSnedecor": lambda m: m.d.FisherSnedecor(m("a", high=6.0), m("b", low=1.0, high=9.0)),
    "Gamma": lambda m: m.d.Gamma(m("a"), m("b")),
    "GeneralizedPareto": lambda m: m.d.GeneralizedPareto(m.location(), m("scale"), m("c", low=-0.4, high=1.3)),
    "GeneralizedPareto 0": lambda m: m.d.GeneralizedPareto(m.location(), m("scale"), 0.0),
    "Geometric": lambda m: m.d.Geometric(m.chance()),
    "Geometric logits": lambda m: m.d.Geometric(logits=m.location()),
    "Gumbel": lambda m: m.d.Gumbel(m.location(), m("scale")),
    "HalfCauchy": lambda m: m.d.HalfCauchy(m("scale")),
    "HalfNormal": lambda m: m.d.HalfNormal(m("scale")),
    "Independent": lambda m: m.d.Independent(m.d.Normal(m.location(3), m("scale", 3)), 1),
    "InverseGamma": lambda m: m.d.InverseGamma(m("a", high=4.0), m("b")),
    "Kumaraswamy": lambda m: m.d.Kumaraswamy(m("a"), m("b")),
    "LKJCholesky": lambda m: m.d.LKJCholesky(4, m("c")),
    "Laplace": lambda m: m.d.Laplace(m.location(), m("scale")),
    "LogNormal": lambda m: m.d.LogNormal(m.location(), m("scale", high=1.0)),
    "LogisticNormal": lambda m: m.d.LogisticNormal(m.location(3), m("scale", 3)),
    "LowRankMultivariateNormal": lambda m: m.d.LowRankMultivariateNormal(
        m.location(3), m("factor", 3, 2), m("diagonal", 3)
    ),
    "MixtureSameFamily": lambda m: m.d.MixtureSameFamily(
        m.d.Categorical(m("p", 4)), m.d.Normal(m.location(4), m("scale", 4))
    ),
    "MixtureSameFamily vectors": lambda m: m.d.MixtureSameFamily(
        m.d.Categorical(m("p", 3)), m.d.Independent(m.d.Normal(m.location(3, 2), m("scale", 3, 2)), 1)
    ),
    "Multinomial": lambda m: m.d.Multinomial(5, m("p", 4)),
    "MultivariateNormal": lambda m: m.d.MultivariateNormal(m.location(3), m.positive_definite("matrix")),
    "MultivariateNormal precision": lambda m: m.d.MultivariateNormal(
        m.location(3), precision_matrix=m.positive_definite("matrix")
    ),
    "MultivariateNormal factor": lambda m: m.d.MultivariateNormal(m.location(3), scale_tril=_factor(m)),
    "NegativeBinomial": lambda m: m.d.NegativeBinomial(m("n"), m.chance()),
    "NegativeBinomial logits": lambda m: m.d.NegativeBinomial(m("n", high=8.0), logits=m.location()),
    "Normal": lambda m: m.d.Normal(m.location(), m("scale")),
    "Normal number": lambda m: m.d.Normal(m.location(), 2.0),
    "OneHotCategorical": lambda m: m.d.OneHotCategorical(m("p", 4)),
    "OneHotCategoricalStraightThrough": lambda m: m.d.OneHotCategoricalStraightThrough(m("p", 4)),
    "Pareto": lambda m: m.d.Pareto(m("scale"), m("alpha")),
    "Poisson": lambda m: m.d.Poisson(m("rate", high=20.0)),
    "RelaxedBernoulli": lambda m: m.d.RelaxedBernoulli(m.torch.tensor(0.5), m.chance()),
    "LogitRelaxedBernoulli": lambda m: m.d.relaxed_bernoulli.LogitRelaxedBernoulli(
        m.torch.tensor(0.5), logits=m.location()
    ),
    "RelaxedOneHotCategorical": lambda m: m.d.RelaxedOneHotCategorical(m.torch.tensor(0.7), m("p", 4)),
    "ExpRelaxedCategorical": lambda m: m.d.relaxed_categorical.ExpRelaxedCategorical(
        m.torch.tensor(0.7), logits=m.location(4)
    ),
    "StudentT": lambda m: m.d.StudentT(m("df"), m.location(), m("scale")),
    "TransformedDistribution": lambda m: m.d.TransformedDistribution(
        m.d.Normal(m.location(), m("scale")), [m.d.SigmoidTransform(), m.d.AffineTransform(1.0, -2.0)]
    ),
    "Uniform": lambda m: m.d.Uniform(m.location(), m("high", low=1.5)),
    "VonMises": lambda m: m.d.VonMises(m("loc", low=-math.pi, high=math.pi), m("c")),
    "Weibull": lambda m: m.d.Weibull(m("scale"), m("c")),
    "Wishart": lambda m: m.d.Wishart(m("df", low=3.0, high=8.0), m.positive_definite("matrix")),
    "Wishart precision": lambda m: m.d.Wishart(
        m("df", low=3.0, high=8.0), precision_matrix=m.positive_definite("matrix")
    ),
}


def made(torch, name: str, shape=(2,), **options):
    """The distribution of that name."""
    return FAMILIES[name](Maker(torch, shape, **options))
