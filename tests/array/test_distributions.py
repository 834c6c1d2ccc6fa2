"""fc.random's distributions made of others, against SciPy's by Kolmogorov-Smirnov and chi squared."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st

import functorch_core as fc

KEY = np.array([0, 42], np.uint32)
N = 3000
draw = fc.random


@pytest.fixture(autouse=True)
def by_reference():
    with fc.engine.forced_tier("reference"):
        yield


def follows(sample, distribution):
    assert st.kstest(np.asarray(sample, np.float64).ravel(), distribution.cdf).pvalue > 1e-4


def counts_follow(sample, distribution):
    """Chi squared over the counts that are expected five times or more, and the rest together."""
    sample = np.asarray(sample, np.float64).ravel()
    low, high = distribution.ppf(1e-4), distribution.ppf(1 - 1e-4)
    edges = np.concatenate([[-np.inf], np.arange(low, high) + 0.5, [np.inf]])
    expected = np.diff(distribution.cdf(edges)) * len(sample)
    seen = np.histogram(sample, edges)[0]
    often = expected >= 5
    seen, expected = (np.append(v[often], v[~often].sum() + 1e-9) for v in (seen, expected))
    assert st.chisquare(seen, expected * seen.sum() / expected.sum()).pvalue > 1e-4


CONTINUOUS = {
    "lognormal": (lambda **k: draw.lognormal(KEY, 0.5, (N,), **k), st.lognorm(0.5)),
    "pareto": (lambda **k: draw.pareto(KEY, 2.0, (N,), **k), st.pareto(2)),
    "rayleigh": (lambda **k: draw.rayleigh(KEY, 2.0, (N,), **k), st.rayleigh(scale=2)),
    "weibull_min": (lambda **k: draw.weibull_min(KEY, 2.0, 3.0, (N,), **k), st.weibull_min(3, scale=2)),
    "triangular": (lambda **k: draw.triangular(KEY, -1.0, 0.5, 3.0, (N,), **k), st.triang(0.375, -1, 4)),
    "wald": (lambda **k: draw.wald(KEY, 2.0, (N,), **k), st.invgauss(2.0)),
    "maxwell": (lambda **k: draw.maxwell(KEY, (N,), **k), st.maxwell),
    "loggamma": (lambda **k: draw.loggamma(KEY, 3.0, (N,), **k), st.loggamma(3)),
    "loggamma_below_1": (lambda **k: fc.exp(draw.loggamma(KEY, 0.3, (N,), **k)), st.gamma(0.3)),
    "chisquare": (lambda **k: draw.chisquare(KEY, 3.0, (N,), **k), st.chi2(3)),
    "f": (lambda **k: draw.f(KEY, 3.0, 7.0, (N,), **k), st.f(3, 7)),
    "t": (lambda **k: draw.t(KEY, 3.0, (N,), **k), st.t(3)),
    "generalized_normal": (lambda **k: draw.generalized_normal(KEY, 1.5, (N,), **k), st.gennorm(1.5)),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name):
    sample, distribution = CONTINUOUS[name]
    for dtype in (fc.float32, fc.float64):
        x = sample(dtype=dtype)
        assert x.dtype == dtype and x.shape == (N,)
        follows(x, distribution)
    assert sample(dtype=fc.bfloat16).dtype == fc.bfloat16


def test_two_sided_maxwell():
    x = np.asarray(draw.double_sided_maxwell(KEY, 1.0, 2.0, (N,)))
    follows(np.abs(x - 1) / 2, st.maxwell)
    assert abs((x > 1).mean() - 0.5) < 0.04


@pytest.mark.parametrize("p", [0.5, 1, 2, 5.0])
def test_ball_is_uniform(p):
    x = np.asarray(draw.ball(KEY, 3, p, (N,)))
    assert x.shape == (N, 3)
    follows((np.abs(x) ** p).sum(-1) ** (3 / p), st.uniform)  # the volume within a point's radius


@pytest.mark.parametrize("lam", [0.1, 4.0, 9.9, 10.0, 30.0, 1000.0])
def test_poisson(lam):
    x = draw.poisson(KEY, lam, (N,))
    assert x.dtype == fc.int64
    counts_follow(x, st.poisson(lam))


@pytest.mark.parametrize("n, p", [(1, 0.5), (5, 0.9), (100, 0.03), (40, 0.5), (1000, 0.3), (1000, 0.97)])
def test_binomial(n, p):
    counts_follow(draw.binomial(KEY, n, p, (N,)), st.binom(n, p))


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_geometric(p):
    counts_follow(draw.geometric(KEY, p, (N,)), st.geom(p))


def test_counts_of_what_is_no_parameter():
    nan = float("nan")
    x = draw.poisson(KEY, fc.asarray([0.0, -1.0, nan, float("inf")]))
    assert x.tolist() == [0, -1, -1, -1]
    assert draw.poisson(KEY, fc.asarray(1e12)).item() == pytest.approx(1e12, rel=1e-5)
    n = fc.asarray([10.0, 10.0, 10.0, 10.0, 0.0, -1.0])
    x = draw.binomial(KEY, n, fc.asarray([0.0, 1.0, 2.0, nan, 0.5, 0.5]))
    np.testing.assert_array_equal(x, [0, 10, nan, nan, 0, nan])
    assert draw.geometric(KEY, 1.0, (2,)).tolist() == [1, 1]


def test_multinomial():
    p = np.float32([0.2, 0.3, 0.0, 0.5])
    x = np.asarray(draw.multinomial(KEY, 20, p, shape=(N,)))
    assert x.shape == (N, 4) and (x.sum(-1) == 20).all() and (x[:, 2] == 0).all()
    np.testing.assert_allclose(x.mean(0), 20 * p, atol=0.2)
    np.testing.assert_allclose(np.cov(x.T), 20 * (np.diag(p) - np.outer(p, p)), atol=0.4)
    assert draw.multinomial(KEY, np.float32([3, 4]), np.full((2, 5), 0.2, np.float32)).shape == (2, 5)


@pytest.mark.parametrize(
    "n, m, dtype", [(3, 3, "float32"), (2, 4, "float64"), (4, 2, "complex64"), (0, 3, "float32"), (1, 1, "float32")]
)
def test_orthogonal(n, m, dtype):
    q = np.asarray(draw.orthogonal(KEY, n, (5,), dtype, m))
    assert q.shape == (5, n, m) and q.dtype == dtype
    if n > m:
        q = q.swapaxes(1, 2).conj()
    product = q @ q.conj().swapaxes(1, 2)
    np.testing.assert_allclose(product, np.broadcast_to(np.eye(min(n, m)), product.shape), atol=1e-5)


def test_orthogonal_is_uniform():
    q = np.asarray(draw.orthogonal(KEY, 2, (N,)))
    follows(np.arctan2(q[:, 1, 0], q[:, 0, 0]) / np.pi, st.uniform(-1, 2))
    assert abs(np.linalg.det(q).mean()) < 0.1


@pytest.mark.parametrize("method", ["cholesky", "eigh", "svd"])
def test_methods_of_multivariate_normal(method):
    cov = np.float32([[2, 1], [1, 1]])
    x = np.asarray(draw.multivariate_normal(KEY, np.float32([1, 2]), cov, (N,), method=method))
    np.testing.assert_allclose(x.mean(0), [1, 2], atol=0.1)
    np.testing.assert_allclose(np.cov(x.T), cov, atol=0.2)
    if method != "cholesky":
        x = draw.multivariate_normal(KEY, np.zeros(2, "f"), np.ones((2, 2), "f"), (5,), method=method)
        np.testing.assert_allclose(x[:, 0], x[:, 1], atol=1e-3)
    with pytest.raises(ValueError, match="method='lu' is none of"):
        draw.multivariate_normal(KEY, np.zeros(2, "f"), cov, method="lu")


def test_categorical_without_replacement():
    logits = np.log(np.float32([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]))
    x = np.asarray(draw.categorical(KEY, logits, shape=(3, 2), replace=False, axis=1))
    np.testing.assert_array_equal(np.sort(x, 0), np.broadcast_to([[0], [1], [2]], (3, 2)))
    first = [draw.categorical(k, logits[0], shape=(1,), replace=False).item() for k in fc.random.split(KEY, 300)]
    counts_follow(first, st.rv_discrete(values=([0, 1, 2], [0.1, 0.2, 0.7])))
    with pytest.raises(ValueError, match="4 of 3 without replacement"):
        draw.categorical(KEY, logits[0], shape=(4,), replace=False)


def test_modes():
    rare = draw.bernoulli(KEY, 1e-9, (10**6,), mode="high")
    assert int(rare.sum()) == 0
    follows(draw.gumbel(KEY, (N,), mode="high"), st.gumbel_r)
    with pytest.raises(ValueError, match="mode='mid' is neither"):
        draw.gumbel(KEY, mode="mid")


def test_derivatives():
    """The mean of many numbers moves with a parameter as the distribution's mean does."""
    slope = fc.grad(lambda a: draw.loggamma(KEY, a, (N,)).mean())(0.5)
    assert slope.item() == pytest.approx(np.pi**2 / 2, rel=0.1)  # trigamma(1/2)
    slope = fc.grad(lambda b: draw.pareto(KEY, b, (N,)).mean())(4.0)
    assert slope.item() == pytest.approx(-1 / 9, rel=0.2)
    with pytest.raises(NotImplementedError, match="random_gamma_grad"):
        fc.grad(fc.grad(lambda a: draw.gamma(KEY, a)))(2.0)


@pytest.mark.parametrize(
    "sample",
    [
        lambda k: draw.poisson(k, fc.asarray([3.0, 50.0])),
        lambda k: draw.binomial(k, 50, 0.4, (3,)),
        lambda k: draw.t(k, 3.0, (4,)),
        lambda k: draw.ball(k, 2, 3, (3,)),
        lambda k: draw.multinomial(k, 9, fc.asarray([0.4, 0.6])),
    ],
)
def test_transformed(sample):
    keys = fc.random.split(KEY, 3)
    rows = fc.vmap(sample)(keys)
    for key, row in zip(keys, rows):
        np.testing.assert_allclose(sample(key), row, rtol=1e-5)


def test_keys():
    key = draw.PRNGKey(7, impl="threefry2x32")
    for same in (draw.key_data(key), draw.clone(key), draw.key_data(draw.wrap_key_data(key))):
        np.testing.assert_array_equal(same, key)
    assert draw.key_impl(key) == "threefry2x32"
    with pytest.raises(ValueError, match="impl='philox' is none of 'threefry2x32', 'rbg', 'unsafe_rbg'"):
        draw.key(0, impl="philox")
    with pytest.raises(TypeError, match="takes a key"):
        draw.clone(fc.zeros(2))


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: draw.choice(KEY, 3, p=np.ones(2, "f")), "one probability for each of the 3 elements"),
        (lambda: draw.ball(KEY, -1), "not negative"),
        (lambda: draw.orthogonal(KEY, -1), "not negative"),
        (lambda: draw.multinomial(KEY, 3, 0.5), "fc.asarray"),
        (lambda: draw.t(KEY, np.ones(3, "f"), (2,)), "t"),
    ],
)
def test_parameters_that_do_not_fit(call, words):
    with pytest.raises(ValueError, match=words):
        call()
