"""Gradients of densities and samples, against PyTorch's; transforms of functions."""

from __future__ import annotations

import numpy as np
import pytest

from ..agree import ours, reference
from .cases import FAMILIES, Maker, plain
from .test_values import BOTH, outcome, same

pytestmark = pytest.mark.filterwarnings("ignore")


def gradients(t, name: str, of, dtype="float64"):
    """Of the parameters: that of the sum of of(torch, distribution)."""
    m = Maker(t, (2,), dtype, requires_grad=True)
    d = FAMILIES[name](m)
    t.manual_seed(1)
    out = of(t, d)
    weights = t.arange(1.0, out.numel() + 1).to(out.dtype).reshape(out.shape)
    (out * weights).sum().backward()
    return [outcome(lambda: x.grad) if x.grad is not None else None for x in m.made]


@pytest.mark.parametrize("name", FAMILIES)
def test_of_log_prob(name):
    def log_prob(t, d):
        with t.no_grad():
            x = d.sample((3,))
        return d.log_prob(x)

    try:
        expected = gradients(reference, name, log_prob)
    except (NotImplementedError, RuntimeError):
        return
    for found, wanted in zip(gradients(ours, name, log_prob), expected):
        same(found, wanted, name, 1e-6, 1e-8)


# PyTorch fits these derivatives; ours are exact, and compared with differences below.
FITTED = {"Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT"}


@pytest.mark.parametrize("name", [n for n in FAMILIES if FAMILIES[n](Maker(reference, (2,))).has_rsample])
def test_of_samples(name):
    def sample(t, d):
        return d.rsample((3,))

    found = gradients(ours, name, sample)
    assert all(np.isfinite(x).all() for x in found if x is not None)
    if name.startswith("Wishart"):  # PyTorch writes to what its backward pass needs
        return
    expected = gradients(reference, name, sample)
    for one, wanted in zip(found, expected):
        same(one, wanted, name, *((5e-3, 1e-4) if name in FITTED else (1e-6, 1e-7)))


@pytest.mark.parametrize("a, b", [(0.3, 2.0), (2.0, 0.7), (5.0, 9.0), (40.0, 60.0)])
def test_of_gamma_and_beta_numbers_are_those_of_quantiles(a, b):
    from scipy import special

    t, step = ours, 1e-6
    for name, quantile, level in [
        ("Gamma", lambda a, b, u: special.gammaincinv(a, u) / b, lambda a, b, x: special.gammainc(a, b * x)),
        ("Beta", special.betaincinv, special.betainc),
    ]:
        pair = [t.tensor(v, dtype=t.float64, requires_grad=True) for v in (a, b)]
        t.manual_seed(3)
        x = getattr(t.distributions, name)(*pair).rsample((20,))
        u = level(a, b, plain(x))
        x.sum().backward()
        for i, (da, db) in enumerate([(step, 0), (0, step)]):
            moved = (quantile(a + da, b + db, u) - quantile(a - da, b - db, u)).sum() / (2 * step)
            np.testing.assert_allclose(float(pair[i].grad), moved, 1e-4, err_msg=f"{name} {i}")


@pytest.mark.parametrize(
    "name",
    [
        "Normal",
        "Gamma",
        "Beta",
        "Dirichlet",
        "MultivariateNormal",
        "Bernoulli",
        "Exponential",
        "Laplace",
        "Categorical",
    ],
)
def test_of_entropy(name):
    found, expected = (gradients(t, name, lambda t, d: d.entropy()) for t in (ours, reference))
    for one, wanted in zip(found, expected):
        same(one, wanted, name, 1e-6, 1e-8)


@pytest.mark.parametrize(
    "name", ["Normal", "Exponential", "Gamma", "Beta", "Bernoulli", "ContinuousBernoulli", "Dirichlet", "Wishart"]
)
def test_entropy_of_the_exponential_family(name):
    found, expected = [], []
    for t, into in ((ours, found), (reference, expected)):
        d = FAMILIES[name](Maker(t, (2,)))
        if name in ("Beta", "Dirichlet"):  # whose carrier is not declared
            type(d)._mean_carrier_measure = property(lambda self: 0)
        try:
            into.append(plain(t.distributions.ExponentialFamily.entropy(d)))
        finally:
            if name in ("Beta", "Dirichlet"):
                del type(d)._mean_carrier_measure
    np.testing.assert_allclose(found, expected, 1e-4, 1e-5)


# ---- transforms of functions ---------------------------------------------------------------------

MAPPED = [
    "Normal",
    "Bernoulli",
    "Categorical",
    "Gamma",
    "Beta",
    "Dirichlet",
    "Exponential",
    "Laplace",
    "Uniform",
    "Poisson",
    "MultivariateNormal",
    "StudentT",
    "Gumbel",
    "LogNormal",
]


@pytest.mark.parametrize("name", MAPPED)
def test_log_prob_under_vmap(name):
    t = ours
    m = Maker(t, (3,))
    d = FAMILIES[name](m)
    x = d.sample()
    wanted = d.log_prob(x)

    def one(x, *parameters):
        values = iter(parameters)
        again = Maker(t, ())
        again.tensor = lambda array: next(values)
        return FAMILIES[name](again).log_prob(x)

    found = t.func.vmap(one)(x, *m.made)
    np.testing.assert_allclose(found, wanted, 1e-5, 1e-6)
    if name != "Poisson":
        slopes = t.func.vmap(t.func.grad(one, argnums=1))(x, *m.made)
        assert slopes.shape == m.made[0].shape and bool(t.isfinite(slopes).all())


@pytest.mark.parametrize("name", MAPPED)
def test_samples_under_vmap(name):
    t = ours
    m = Maker(t, (64,))
    FAMILIES[name](m)

    def draw(*parameters):
        values = iter(parameters)
        again = Maker(t, ())
        again.tensor = lambda array: next(values)
        return FAMILIES[name](again).sample()

    drawn = t.func.vmap(draw, randomness="different")(*m.made)
    assert drawn.shape[0] == 64 and len(np.unique(plain(drawn))) > 1
    with pytest.raises(RuntimeError, match="randomness"):
        t.func.vmap(draw)(*m.made)


def test_draws_under_vmap_are_pytorchs():
    def program(t, make):
        t.manual_seed(0)
        p = t.tensor(np.linspace(0.2, 0.8, 6, dtype=np.float32))
        return plain(t.func.vmap(lambda p: make(t.distributions, p).sample(), randomness="different")(p))

    for make in (
        lambda d, p: d.Normal(p, 1.0),
        lambda d, p: d.Bernoulli(p),
        lambda d, p: d.Poisson(p),
        lambda d, p: d.Uniform(0.0, p),
    ):
        expected, found = (program(t, make) for t in BOTH)
        np.testing.assert_array_equal(found, expected)


def test_second_derivatives():
    t = ours
    d = lambda x: t.distributions.Normal(x, x.exp()).log_prob(t.tensor(0.3))  # noqa: E731
    found = t.func.grad(t.func.grad(d))(t.tensor(0.5))
    r = reference
    wanted = r.func.grad(r.func.grad(lambda x: r.distributions.Normal(x, x.exp()).log_prob(r.tensor(0.3))))(
        r.tensor(0.5)
    )
    np.testing.assert_allclose(found, wanted, 1e-5)
