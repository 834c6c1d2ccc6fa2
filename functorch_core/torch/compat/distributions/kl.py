"""Kullback-Leibler divergences: `kl_divergence(p, q)`, and the registry that it looks into.

Formulas of one family come first. Between families, E_p[log q(x)] is written once for each q, in
terms of means of p (of x, its square, its logarithm, its exponential), which are written once for
each p: the divergence is -entropy(p) - E_p[log q(x)], and infinite where p has values that q has
not.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from .... import torch
from ....core.warn import warn
from ....nn.functional import softplus
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal
from .multivariate_normal import MultivariateNormal, half_log_det
from .normal import LOG_ROOT_TAU, Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost, euler_constant

__all__ = ["kl_divergence", "register_kl"]

AMBIGUOUS = "Ambiguous kl_divergence({p}, {q}). Please register_kl({left}, {right})"

_KL_REGISTRY: dict[tuple[type, type], Callable] = {}
_KL_MEMOIZE: dict[tuple[type, type], Callable] = {}


def register_kl(type_p, type_q):
    """Decorator: the function gives kl_divergence(p, q) of objects of these classes, whatever they
    are: packages register classes of their own.

    >>> from torch.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(0., 1.), Normal(1., 1.))  # by what @register_kl(Normal, Normal) decorates
    tensor(0.5000)
    """
    for kind in (type_p, type_q):
        if not isinstance(kind, type):
            raise TypeError("issubclass() arg 1 must be a class")

    def decorator(function):
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return decorator


def _dispatch_kl(type_p: type, type_q: type) -> Callable:
    """The registered function for the nearest base classes; NotImplemented if there is none.

    Two pairs may be nearest, one by p and one by q; the one by p is taken, with a warning.
    """
    matches = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        return NotImplemented

    def far(pair):
        return type_p.__mro__.index(pair[0]), type_q.__mro__.index(pair[1])

    by_p, by_q = min(matches, key=far), min(matches, key=lambda pair: far(pair)[::-1])
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        warn(
            AMBIGUOUS.format(p=type_p.__name__, q=type_q.__name__, left=by_p[0].__name__, right=by_q[1].__name__),
            RuntimeWarning,
        )
    return _KL_REGISTRY[by_p]


def kl_divergence(p: Distribution, q: Distribution) -> torch.Tensor:
    """The Kullback-Leibler divergence E_p[log p(x) - log q(x)], of the batches' shape.

    >>> normal = torch.distributions.Normal
    >>> torch.distributions.kl_divergence(normal(0., 1.), normal(1., 1.))
    tensor(0.5000)
    """
    pair = type(p), type(q)
    function = _KL_MEMOIZE.get(pair)
    if function is None:
        function = _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    if function is NotImplemented:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {pair[0].__name__} and q type {pair[1].__name__}"
        )
    return function(p, q)


# ---- within a family -----------------------------------------------------------------------------


def _within(family: type):
    """Register a function of two distributions of one family."""
    return register_kl(family, family)


@_within(Normal)
def _kl_normal_normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    distance = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + distance - 1 - ratio.log())


@_within(Bernoulli)
def _kl_bernoulli_bernoulli(p, q):
    of_one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    of_zero = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    of_one = of_one.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0)
    of_zero = of_zero.masked_fill(q.probs == 1, math.inf).masked_fill(p.probs == 1, 0)
    return of_one + of_zero


@_within(Categorical)
def _kl_categorical_categorical(p, q):
    terms = p.probs * (p.logits - q.logits)
    terms = terms.masked_fill((q.probs == 0).expand_as(terms), math.inf)
    return terms.masked_fill((p.probs == 0).expand_as(terms), 0).sum(-1)


@_within(Exponential)
def _kl_exponential_exponential(p, q):
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@_within(Gamma)
def _kl_gamma_gamma(p, q):
    return (
        q.concentration * (p.rate / q.rate).log()
        + torch.lgamma(q.concentration)
        - torch.lgamma(p.concentration)
        + (p.concentration - q.concentration) * torch.digamma(p.concentration)
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )


@_within(Dirichlet)
def _kl_dirichlet_dirichlet(p, q):
    a, b = p.concentration, q.concentration
    means = torch.digamma(a) - torch.digamma(a.sum(-1, keepdim=True))  # of log x
    return (
        torch.lgamma(a.sum(-1))
        - torch.lgamma(b.sum(-1))
        - (torch.lgamma(a) - torch.lgamma(b)).sum(-1)
        + ((a - b) * means).sum(-1)
    )


@_within(Beta)
def _kl_beta_beta(p, q):
    return _kl_dirichlet_dirichlet(p._dirichlet, q._dirichlet)


@_within(Laplace)
def _kl_laplace_laplace(p, q):
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return distance / q.scale + ratio * torch.exp(-distance / p.scale) - 1 - ratio.log()


@_within(Uniform)
def _kl_uniform_uniform(p, q):
    outside = (q.low > p.low) | (q.high < p.high)
    return ((q.high - q.low) / (p.high - p.low)).log().masked_fill(outside, math.inf)


@_within(ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p, q):
    return _between(p, q)


@_within(Binomial)
def _kl_binomial_binomial(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    one = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return (p.total_count * one).masked_fill(p.total_count > q.total_count, math.inf)


@_within(Geometric)
def _kl_geometric_geometric(p, q):
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@_within(OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p, q):
    return _kl_categorical_categorical(p._categorical, q._categorical)


@_within(Poisson)
def _kl_poisson_poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@_within(HalfNormal)
def _kl_halfnormal_halfnormal(p, q):
    return _kl_normal_normal(p.base_dist, q.base_dist)


@_within(Pareto)
def _kl_pareto_pareto(p, q):
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return result.masked_fill(p.scale < q.scale, math.inf)


@_within(Cauchy)
def _kl_cauchy_cauchy(p, q):
    """Chyzak and Nielsen (2019)."""
    squares = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return squares.log() - (4 * p.scale * q.scale).log()


# ---- multivariate normal -------------------------------------------------------------------------


def _normal_normal(p, q):
    """(log det Q / det P + tr(Q^-1 P) + |q.loc - p.loc|^2 in Q^-1 - n) / 2, of covariances P, Q."""
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        )
    trace = sum(_inverse_norm(q, root) for root in _roots(p))
    distance = _inverse_norm(q, (q.loc - p.loc).unsqueeze(-1))
    return 0.5 * (_log_det(q) - _log_det(p) + trace + distance - p.event_shape[0])


for _p, _q in itertools.product((MultivariateNormal, LowRankMultivariateNormal), repeat=2):
    register_kl(_p, _q)(_normal_normal)


def _roots(d) -> list:
    """Matrices whose products with their transposes sum to the covariance."""
    if isinstance(d, MultivariateNormal):
        return [d._unbroadcasted_scale_tril]
    return [d._unbroadcasted_cov_factor, torch.diag_embed(d._unbroadcasted_cov_diag.sqrt())]


def _log_det(d):
    if isinstance(d, MultivariateNormal):
        return 2 * half_log_det(d._unbroadcasted_scale_tril)
    return d._log_det()


def _inverse_norm(d, matrix):
    """tr(A^T C^-1 A) of a matrix A [..., n, k] and the covariance C."""

    def squares(factor, columns):
        solved = torch.linalg.solve_triangular(factor, columns, upper=False)
        return solved.pow(2).sum((-2, -1))

    if isinstance(d, MultivariateNormal):
        return squares(d._unbroadcasted_scale_tril, matrix)
    scaled = matrix / d._unbroadcasted_cov_diag.unsqueeze(-1)
    projected = d._unbroadcasted_cov_factor.mT @ scaled
    return (matrix * scaled).sum((-2, -1)) - squares(d._capacitance_tril, projected)


# ---- of any family -------------------------------------------------------------------------------


@_within(ExponentialFamily)
def _kl_expfamily_expfamily(p, q):
    """The Bregman divergence of the log normalizers."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families "
            "cannot be computed using Bregman divergences"
        )
    with torch.enable_grad():
        natural = [x.detach().requires_grad_() for x in p._natural_params]
        normalizer = p._log_normalizer(*natural)
        means = torch.autograd.grad(normalizer.sum(), natural, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - normalizer
    for ours, theirs, mean in zip(natural, q._natural_params, means):
        term = (theirs - ours) * mean
        result = result - _sum_rightmost(term, term.dim() - normalizer.dim())
    return result


@_within(TransformedDistribution)
def _kl_transformed_transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@_within(Independent)
def _kl_independent_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


# ---- between families: what of p is needed -------------------------------------------------------


def _range(d):
    """Between which numbers the values of d lie."""
    if isinstance(d, (Beta, ContinuousBernoulli)):
        return 0.0, 1.0
    if isinstance(d, Uniform):
        return d.low, d.high
    if isinstance(d, Pareto):
        return d.scale, math.inf
    return (0.0 if isinstance(d, (Exponential, Gamma)) else -math.inf), math.inf


def _mean_log(p):
    """E log x."""
    if isinstance(p, Beta):
        return torch.digamma(p.concentration1) - torch.digamma(p.concentration1 + p.concentration0)
    if isinstance(p, Gamma):
        return torch.digamma(p.concentration) - p.rate.log()
    if isinstance(p, Exponential):
        return -euler_constant - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return _mean_log_between(p.low, p.high)


def _mean_log_rest(p):
    """E log(1 - x)."""
    if isinstance(p, Beta):
        return torch.digamma(p.concentration0) - torch.digamma(p.concentration1 + p.concentration0)
    return _mean_log_between(1 - p.high, 1 - p.low)


def _mean_log_between(low, high):
    """E log x of uniform numbers of positive bounds."""
    return (torch.xlogy(high, high) - torch.xlogy(low, low)) / (high - low) - 1


def _log_mean_exp(p, t):
    """log E exp(t x), t < 0."""
    if isinstance(p, Normal):
        return p.loc * t + (p.scale * t).pow(2) / 2
    if isinstance(p, Gumbel):
        return p.loc * t + torch.lgamma(1 - p.scale * t)
    if isinstance(p, Exponential):
        return -torch.log1p(-t / p.rate)
    if isinstance(p, Gamma):
        return -p.concentration * torch.log1p(-t / p.rate)
    width = t * (p.high - p.low)
    return t * p.low + torch.log(torch.expm1(width) / width)


def _mean_distance(p, point):
    """E |x - point| of normal numbers."""
    z = (p.loc - point) / p.scale
    density = torch.exp(-z * z / 2) * math.sqrt(2 / math.pi)
    return p.scale * (density + z * torch.erf(z / math.sqrt(2)))


# ---- between families: E_p[log q(x)] -------------------------------------------------------------


def _in_beta(p, q):
    a, b = q.concentration1, q.concentration0
    log_beta = torch.lgamma(a) + torch.lgamma(b) - torch.lgamma(a + b)
    return (a - 1) * _mean_log(p) + (b - 1) * _mean_log_rest(p) - log_beta


def _in_continuous_bernoulli(p, q):
    return p.mean * q.logits + torch.log1p(-q.probs) + q._log_norm()


def _in_exponential(p, q):
    return q.rate.log() - q.rate * p.mean


def _in_gamma(p, q):
    a = q.concentration
    return torch.xlogy(a, q.rate) - torch.lgamma(a) + (a - 1) * _mean_log(p) - q.rate * p.mean


def _in_gumbel(p, q):
    t = -q.scale.reciprocal()
    return (q.loc - p.mean) / q.scale - torch.exp(_log_mean_exp(p, t) - q.loc * t) - q.scale.log()


def _in_laplace(p, q):
    return -torch.log(2 * q.scale) - _mean_distance(p, q.loc) / q.scale


def _in_normal(p, q):
    squares = p.variance + (p.mean - q.loc).pow(2)
    return -0.5 * squares / q.scale.pow(2) - q.scale.log() - LOG_ROOT_TAU


def _in_pareto(p, q):
    return q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _mean_log(p)


def _in_poisson(p, q):
    return p.probs * q.rate.log() - q.rate  # of zeros and ones, whose factorials are 1


def _in_uniform(p, q):
    return -torch.log(q.high - q.low)


_CROSS_ENTROPY = {
    Beta: _in_beta,
    ContinuousBernoulli: _in_continuous_bernoulli,
    Exponential: _in_exponential,
    Gamma: _in_gamma,
    Gumbel: _in_gumbel,
    Laplace: _in_laplace,
    Normal: _in_normal,
    Pareto: _in_pareto,
    Poisson: _in_poisson,
    Uniform: _in_uniform,
}


def _between(p, q):
    """-entropy(p) - E_p[log q(x)], infinite where the range of p is not within that of q."""
    log_q = next(f for family, f in _CROSS_ENTROPY.items() if isinstance(q, family))
    result = -p.entropy() - log_q(p, q)
    (low, high), (least, most) = _range(p), _range(q)
    outside = torch.as_tensor(low < least) | torch.as_tensor(high > most)
    return torch.where(outside, math.inf, result)


def _infinite(p, q):
    """p always has values that q has not."""
    return torch.full_like(p.mean, math.inf)


# p -> the families q between which and p it is finite, if the ranges are so; and where it never is.
_FINITE = {
    Bernoulli: (Poisson,),
    Beta: (ContinuousBernoulli, Exponential, Gamma, Normal, Uniform),
    ContinuousBernoulli: (Exponential, Normal, Uniform),
    Exponential: (Gamma, Gumbel, Normal),
    Gamma: (Exponential, Gumbel, Normal),
    Gumbel: (Gumbel, Normal),
    Laplace: (Normal,),
    Normal: (Gumbel, Laplace),
    Pareto: (Exponential, Gamma, Normal),
    Uniform: (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Normal, Pareto),
}
_BOUNDED = (Beta, ContinuousBernoulli, Uniform)
_ON_A_SIDE = (*_BOUNDED, Exponential, Gamma, Pareto)
_INFINITE = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Poisson: (Bernoulli, Binomial),
    Exponential: (*_BOUNDED, Pareto),
    Gamma: (*_BOUNDED, Pareto),
    Pareto: _BOUNDED,
    Gumbel: _ON_A_SIDE,
    Laplace: _ON_A_SIDE,
    Normal: _ON_A_SIDE,
}
for _table, _function in ((_FINITE, _between), (_INFINITE, _infinite)):
    for _p, _families in _table.items():
        for _q in _families:
            register_kl(_p, _q)(_function)


def _add_kl_info():
    """Name the registered pairs in the documentation of kl_divergence."""
    pairs = "\n".join(
        f"    - {p.__name__} and {q.__name__}"
        for p, q in sorted(_KL_REGISTRY, key=lambda pair: (pair[0].__name__, pair[1].__name__))
    )
    kl_divergence.__doc__ += f"\n    Divergences are there between:\n\n{pairs}\n    "
