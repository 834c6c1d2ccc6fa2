"""functorch_core.scipy.stats against SciPy: values in every tier, gradients by finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import functorch_core as fc
from functorch_core.scipy import stats
from tests.array.against import Case, check_gradient, check_values

rng = np.random.default_rng(3)
DATA = {
    "x": np.array([-4.2, -1.0, -0.1, 0.4, 1.3, 2.7, 11.0]),
    "u": np.array([0.02, 0.3, 0.5, 0.77, 0.999]),
    "k": np.array([0, 1, 2, 5, 9, -1, 12]),
    "n": np.array([[1.0, 2.0, 6.0], [0.0, 3.0, 6.0]]),
    "p": np.array([0.2, 0.3, 0.5]),
    "a": np.array(1.7),
    "b": np.array(2.4),
    "loc": np.array(0.3),
    "scale": np.array(1.6),
    "prob": np.array(0.35),
    "simplex": np.array([[0.2, 0.5], [0.3, 0.1], [0.5, 0.4]]),
    "alpha": np.array([1.5, 0.7, 3.0]),
    "points": rng.normal(size=(4, 3)),
    "mean": rng.normal(size=3),
    "cov": np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 0.5]]),
    "m": rng.integers(0, 4, size=(5, 6)),
    "f": rng.normal(size=(5, 6)),
}
LOCATED = {  # shape parameters of distributions with loc and scale
    "beta": "a, b", "cauchy": "", "chi2": "b", "expon": "", "gamma": "a", "gumbel_l": "", "gumbel_r": "",
    "laplace": "", "logistic": "", "norm": "", "pareto": "a", "t": "b", "truncnorm": "-a, b", "uniform": "",
}  # fmt: skip
OTHERS = """
gennorm.logpdf(x, a)
gennorm.pdf(x, a)
gennorm.cdf(x, b)
vonmises.logpdf(x, b)
vonmises.pdf(x, b)
wrapcauchy.logpdf(x, prob)
wrapcauchy.pdf(x, prob)
bernoulli.logpmf(k, prob)
bernoulli.pmf(k, prob, 1)
bernoulli.cdf(k, prob)
bernoulli.ppf(u, prob)
binom.logpmf(k, 10, prob)
binom.pmf(k, 10, prob, 1)
betabinom.logpmf(k, 10, a, b)
betabinom.pmf(k, 10, a, b)
geom.logpmf(k, prob)
geom.pmf(k, prob)
nbinom.logpmf(k, 4, prob)
nbinom.pmf(k, 4, prob)
poisson.logpmf(k, b)
poisson.pmf(k, b, 1)
poisson.cdf(k, b)
multinomial.logpmf(n, 9, p)
multinomial.pmf(n, 9, p)
dirichlet.logpdf(simplex, alpha)
dirichlet.pdf(simplex, alpha)
multivariate_normal.logpdf(points, mean, cov)
multivariate_normal.pdf(points, mean, cov)
rankdata(m)
rankdata(m, "min", axis=1)
rankdata(m, "max", axis=0)
rankdata(m, "dense", axis=0)
rankdata(f, "ordinal")
mode(m)
mode(m, axis=1, keepdims=True)
mode(m, axis=None)
sem(f)
sem(f, axis=None)
sem(f, axis=1, ddof=0)
""".strip().splitlines()


def cases():
    out = list(OTHERS)
    for name, shapes in LOCATED.items():
        for kind in vars(getattr(stats, name)):
            if kind not in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf"):
                continue
            first = "u" if kind in ("ppf", "isf") else "x"
            shown = f", {shapes}" if shapes else ""
            out += [f"{name}.{kind}({first}{shown})", f"{name}.{kind}({first}{shown}, loc, scale)"]
    return out


@pytest.mark.parametrize("line", cases())
def test_values(line):
    check_values(Case(line, DATA), stats, scipy.stats, 1e-9)


ALSO = "gennorm vonmises dirichlet.log binom.log poisson.log geom.log nbinom.log betabinom.log bernoulli.log".split()
SMOOTH = [line for line in cases() if ("loc, scale" in line and "uniform" not in line) or line.startswith(tuple(ALSO))]
SUPPORT = np.array([0.45, 0.9, 1.3])  # inside of every distribution


@pytest.mark.parametrize("line", SMOOTH)
def test_gradients(line):
    data = {**DATA, "u": DATA["u"][:4], "x": SUPPORT + (1.6 if "pareto" in line else 0.0)}
    if "dirichlet" in line:  # inside of the simplex alone
        line, data["alpha"] = "dirichlet.logpdf(p, alpha)", DATA["alpha"]
        p, alpha = data["p"], data["alpha"]
        found = fc.grad(lambda alpha: stats.dirichlet.logpdf(fc.asarray(p), alpha))(fc.asarray(alpha))
        log = scipy.stats.dirichlet.logpdf
        wanted = [(log(p, alpha + h) - log(p, alpha - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(found, wanted, 1e-6)
        return
    case = Case(line, data)
    if "k" in case.names:  # counts have no slope: they stand where they are
        data["k"] = np.array([0, 1, 1] if "bernoulli" in line else [1, 2, 5])
    check_gradient(case, stats, scipy.stats, tolerance=1e-5)


def test_poisson_entropy():
    mu = np.array([0.0, 0.3, 2.0, 40.0, 400.0, 3000.0])
    found = stats.poisson.entropy(fc.asarray(mu))
    np.testing.assert_allclose(found, scipy.stats.poisson.entropy(mu), 1e-6)


@pytest.mark.parametrize("method", [None, "silverman", 0.4])
@pytest.mark.parametrize("weighted", [False, True])
def test_gaussian_kde(method, weighted):
    data, at = rng.normal(size=(2, 12)), rng.normal(size=(2, 5))
    weights = rng.random(12) if weighted else None
    ours = stats.gaussian_kde(fc.asarray(data), method, None if weights is None else fc.asarray(weights))
    theirs = scipy.stats.gaussian_kde(data, method, weights)
    np.testing.assert_allclose(ours.pdf(fc.asarray(at)), theirs.pdf(at), 1e-10)
    np.testing.assert_allclose(ours.logpdf(fc.asarray(at)), theirs.logpdf(at), 1e-10)
    np.testing.assert_allclose(ours.integrate_kde(ours), theirs.integrate_kde(theirs), 1e-10)
    mean, cov = np.array([0.1, 0.2]), np.array([[1.0, 0.2], [0.2, 2.0]])
    found = ours.integrate_gaussian(fc.asarray(mean), fc.asarray(cov))
    np.testing.assert_allclose(found, theirs.integrate_gaussian(mean, cov), 1e-10)
    assert ours.resample(fc.random.key(0), (7,)).shape == (2, 7)
    one = stats.gaussian_kde(fc.asarray(data[0]))
    np.testing.assert_allclose(
        one.integrate_box_1d(-1.0, 0.5), scipy.stats.gaussian_kde(data[0]).integrate_box_1d(-1.0, 0.5), 1e-6
    )
    assert fc.jit(lambda k, x: k.pdf(x))(ours, fc.asarray(at)).shape == (5,)


def test_large_parameters_in_single_precision():
    """Their logarithms of gamma functions cancel to nothing there."""
    k, n, p = np.float32(3), np.float32(1e6), np.float32(2.0**-20)
    x = np.float32(1)
    for name, args in {"t": (x, n), "binom": (k, n, p), "nbinom": (k, n, 1 - p), "beta": (p, x / 2, n)}.items():
        which = "logpmf" if "binom" in name else "logpdf"
        found, wanted = (getattr(getattr(module, name), which) for module in (stats, scipy.stats))
        assert float(found(*args)) == pytest.approx(wanted(*map(float, args)), rel=1e-5)
