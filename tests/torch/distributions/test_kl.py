"""Every divergence that PyTorch registers, against it, and against a mean over samples."""

from __future__ import annotations

import numpy as np
import pytest

from ..agree import ours, reference
from .cases import FAMILIES, Maker, plain
from .test_values import BOTH, outcome, same

pytestmark = pytest.mark.filterwarnings("ignore")
PAIRS = sorted((p.__name__, q.__name__) for p, q in reference.distributions.kl._KL_REGISTRY)
# Of the other side of a pair: other numbers.
ALSO = {
    "Beta": lambda m: m.d.Beta(m("c"), m("d")),
    "Binomial": lambda m: m.d.Binomial(7, m.chance("q")),
    "Categorical": lambda m: m.d.Categorical(m("q", 4)),
    "Cauchy": lambda m: m.d.Cauchy(m.location(), m("other")),
    "Dirichlet": lambda m: m.d.Dirichlet(m("c", 4)),
    "Gamma": lambda m: m.d.Gamma(m("c"), m("d")),
    "Gumbel": lambda m: m.d.Gumbel(m.location(), m("other")),
    "Independent": lambda m: m.d.Independent(m.d.Normal(m.location(3), m("other", 3)), 1),
    "Laplace": lambda m: m.d.Laplace(m.location() + 1, m("other")),
    "LowRankMultivariateNormal": lambda m: m.d.LowRankMultivariateNormal(
        m.location(3) + 1, m("other", 3, 2), m("more", 3)
    ),
    "MultivariateNormal": lambda m: m.d.MultivariateNormal(m.location(3) + 1, m.positive_definite("other")),
    "Normal": lambda m: m.d.Normal(m.location() + 1, m("other")),
    "OneHotCategorical": lambda m: m.d.OneHotCategorical(m("q", 4)),
    "Pareto": lambda m: m.d.Pareto(m("scale") / 2, m("other")),
    "TransformedDistribution": lambda m: m.d.LogNormal(m.location() + 1, m("other")),
    "Uniform": lambda m: m.d.Uniform(m.location() - 1, m("other", low=2.0, high=3.0)),
}
# On the other side of what is bounded, they are bounded, too.
BOUNDED = {"Uniform": lambda m: m.d.Uniform(m("inner", low=0.05, high=0.3), m("outer", low=0.5, high=0.9))}
SIZED = {"TransformedDistribution": lambda m: m.d.LogNormal(m.location(), m("scale"))}


def pair(t, p: str, q: str, shapes=((2,), (2,))):
    if p == "ExponentialFamily":
        p = q = "Poisson"
    left = SIZED.get(p) or BOUNDED.get(p) or FAMILIES[p]
    right = ALSO.get(q) or SIZED.get(q) or FAMILIES[q]
    return left(Maker(t, shapes[0])), right(Maker(t, shapes[1]))


@pytest.mark.parametrize("p, q", PAIRS)
@pytest.mark.parametrize("shapes", [((2,), (2,)), ((), ()), ((2, 1), (2, 1))], ids=str)
def test_divergence(p, q, shapes):
    expected, found = (outcome(lambda: t.distributions.kl_divergence(*pair(t, p, q, shapes))) for t in BOTH)
    same(found, expected, (p, q))


@pytest.mark.parametrize("p, q", PAIRS)
def test_of_batches_that_broadcast(p, q):
    try:
        wide = plain(ours.distributions.kl_divergence(*pair(ours, p, q, ((3, 1), (2,)))))
    except NotImplementedError:
        pytest.skip("of equal shapes only")
    first, second = pair(ours, p, q, ((3, 1), (2,)))
    if np.isinf(wide).all():
        return
    assert wide.shape == (3, 2)
    row = ours.distributions.kl_divergence(first.expand((3, 2)), second.expand((3, 2)))
    np.testing.assert_allclose(wide, row, 1e-5, 1e-6)


@pytest.mark.parametrize("p, q", PAIRS)
def test_is_a_mean_over_samples(p, q):
    first, second = pair(ours, p, q, ((), ()))
    found = float(ours.distributions.kl_divergence(first, second))
    if np.isinf(found):
        return
    ours.manual_seed(0)
    x = first.sample((4000,))
    difference = plain(first.log_prob(x) - second.log_prob(x))
    error = difference.std() / np.sqrt(4000)
    if p != "Pareto":  # whose means converge slowly
        assert abs(difference.mean() - found) < 6 * error + 1e-4, (found, difference.mean())


def test_the_same_pairs_are_registered():
    found = ours.distributions.kl._KL_REGISTRY
    assert sorted((p.__name__, q.__name__) for p, q in found) == PAIRS


def test_gradients_of_divergences():
    for p, q in [
        ("Normal", "Normal"),
        ("Gamma", "Gamma"),
        ("Beta", "Beta"),
        ("Dirichlet", "Dirichlet"),
        ("Categorical", "Categorical"),
        ("Uniform", "Normal"),
        ("MultivariateNormal", "LowRankMultivariateNormal"),
        ("Normal", "Gumbel"),
        ("Gamma", "Gumbel"),
        ("Normal", "Laplace"),
        ("Beta", "ContinuousBernoulli"),
    ]:
        grads = []
        for t in BOTH:
            left, right = Maker(t, (2,), requires_grad=True), Maker(t, (2,), requires_grad=True)
            d = (BOUNDED.get(p) or FAMILIES[p])(left), (ALSO.get(q) or FAMILIES[q])(right)
            t.distributions.kl_divergence(*d).sum().backward()
            grads.append([plain(x.grad) for x in (*left.made, *right.made) if x.grad is not None])
        assert len(grads[0]) == len(grads[1])
        for found, expected in zip(grads[1], grads[0]):
            np.testing.assert_allclose(found, expected, 2e-4, 1e-5, err_msg=f"{p} {q}")


# ---- the registry --------------------------------------------------------------------------------


@pytest.mark.parametrize("t", BOTH, ids=["theirs", "ours"])
def test_registering(t):
    d = t.distributions

    class Base(d.Distribution):
        def __init__(self):
            super().__init__(validate_args=False)

    class Left(Base):
        pass

    class Right(Base):
        pass

    @d.register_kl(Base, Base)
    def of_any(p, q):
        return "any"

    @d.register_kl(Left, Base)
    def of_left(p, q):
        return "left"

    try:
        assert d.kl_divergence(Left(), Right()) == "left"
        assert d.kl_divergence(Right(), Left()) == "any"
        d.register_kl(Base, Right)(lambda p, q: "right")
        with pytest.warns(RuntimeWarning, match=r"Ambiguous kl_divergence\(Left, Right\)"):
            assert d.kl_divergence(Left(), Right()) == "left"
        d.register_kl(Left, Right)(lambda p, q: "both")
        assert d.kl_divergence(Left(), Right()) == "both"
        with pytest.raises(NotImplementedError, match="p type Left and q type Normal"):
            d.kl_divergence(Left(), d.Normal(0, 1))
        with pytest.raises(TypeError):
            d.register_kl(3, Left)
    finally:
        for pair in list(d.kl._KL_REGISTRY):
            if issubclass(pair[0], Base) or issubclass(pair[1], Base):
                del d.kl._KL_REGISTRY[pair]
