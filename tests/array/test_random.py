"""fc.random: keys, determinism, distributions (by Kolmogorov and Smirnov), errors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import functorch_core as fc

N = 4000
KEY = np.array([0, 42], np.uint32)


@pytest.fixture(autouse=True)
def by_reference(request):
    with fc.engine.forced_tier("fused" if request.node.name.startswith("test_compiled") else "reference"):
        yield


def follows(sample, distribution):
    """The sample is of the distribution, or a one in 10**4 accident (the keys are fixed)."""
    assert scipy.stats.kstest(np.asarray(sample, np.float64).ravel(), distribution).pvalue > 1e-4


# ---- keys -----------------------------------------------------------------------------------------------


def test_keys():
    np.testing.assert_array_equal(fc.random.PRNGKey(42), KEY)
    np.testing.assert_array_equal(fc.random.PRNGKey(-1), [2**32 - 1, 2**32 - 1])
    np.testing.assert_array_equal(fc.random.PRNGKey(fc.asarray(42)), KEY)
    keys = np.asarray(fc.random.split(fc.random.PRNGKey(0), 100))
    assert len({tuple(k) for k in keys}) == 100
    assert fc.random.split(KEY, (2, 3)).shape == (2, 3, 2)
    a, b = fc.random.split(KEY)
    assert (np.asarray(a) != np.asarray(b)).any()
    one, two = fc.random.fold_in(KEY, 1), fc.random.fold_in(KEY, 2)
    assert (np.asarray(one) != np.asarray(two)).any()
    np.testing.assert_array_equal(fc.jit(fc.random.fold_in)(KEY, 1), one)


def test_the_same_key_gives_the_same_numbers():
    x = fc.random.normal(KEY, (5,))
    np.testing.assert_array_equal(x, fc.random.normal(KEY, (5,)))
    np.testing.assert_allclose(fc.jit(lambda k: fc.random.normal(k, (5,)))(KEY), x, rtol=1e-5)
    keys = fc.random.split(KEY, 3)
    rows = fc.vmap(lambda k: fc.random.uniform(k, (4,)))(keys)
    np.testing.assert_array_equal(rows[1], fc.random.uniform(keys[1], (4,)))


def test_what_is_no_key():
    with pytest.raises(TypeError, match=r"random.normal takes a key, an array uint32\[2\]"):
        fc.random.normal(0, (3,))
    with pytest.raises(TypeError, match="takes a key"):
        fc.random.uniform(fc.zeros(2))


# ---- distributions --------------------------------------------------------------------------------------

DISTRIBUTIONS = {
    "uniform": scipy.stats.uniform,
    "normal": scipy.stats.norm,
    "gumbel": scipy.stats.gumbel_r,
    "exponential": scipy.stats.expon,
    "laplace": scipy.stats.laplace,
    "logistic": scipy.stats.logistic,
    "cauchy": scipy.stats.cauchy,
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions(name):
    for dtype in (fc.float32, fc.float64):
        sample = getattr(fc.random, name)(KEY, (N,), dtype)
        assert sample.shape == (N,) and sample.dtype == dtype
        assert np.isfinite(np.asarray(sample)).all()
        follows(sample, DISTRIBUTIONS[name].cdf)
    for dtype in (fc.float16, fc.bfloat16):
        assert getattr(fc.random, name)(KEY, (2, 0), dtype).dtype == dtype


def test_bounds_of_uniform():
    for dtype in (fc.float16, fc.bfloat16, fc.float32):
        x = np.asarray(fc.random.uniform(KEY, (N,), dtype)).astype(np.float64)
        assert x.min() >= 0 and x.max() < 1
    x = fc.random.uniform(KEY, (N,), minval=-3.0, maxval=fc.asarray(5.0))
    follows(x, scipy.stats.uniform(-3, 8).cdf)
    assert fc.random.uniform(KEY).shape == ()


def test_complex_normal():
    x = np.asarray(fc.random.normal(KEY, (N,), fc.complex64))
    follows(x.real, scipy.stats.norm(0, 0.5**0.5).cdf)
    follows(x.imag, scipy.stats.norm(0, 0.5**0.5).cdf)


def test_truncated_normal():
    follows(fc.random.truncated_normal(KEY, -1.0, 2.0, (N,)), scipy.stats.truncnorm(-1, 2).cdf)
    assert fc.random.truncated_normal(KEY, fc.zeros(3), 1.0).shape == (3,)


@pytest.mark.parametrize("a", [0.1, 0.7, 1.0, 3.0, 50.0])
def test_gamma(a):
    follows(fc.random.gamma(KEY, a, (N,), fc.float64), scipy.stats.gamma(a).cdf)


def test_gamma_is_differentiable():
    a = fc.asarray([0.5, 2.0, 9.0])
    slope = fc.grad(lambda a: fc.random.gamma(KEY, a, (2000, 3)).mean(0).sum())(a)
    np.testing.assert_allclose(slope, [1, 1, 1], atol=0.15)  # the mean of gamma(a) is a


def test_beta_and_dirichlet():
    follows(fc.random.beta(KEY, 2.0, 0.5, (N,)), scipy.stats.beta(2, 0.5).cdf)
    x = np.asarray(fc.random.dirichlet(KEY, np.float32([1, 2, 3]), (N,)))
    np.testing.assert_allclose(x.sum(-1), np.ones(N), rtol=1e-5)
    follows(x[:, 0], scipy.stats.beta(1, 5).cdf)


def test_multivariate_normal():
    cov = np.float32([[2, 1], [1, 3]])
    x = np.asarray(fc.random.multivariate_normal(KEY, np.float32([1, -1]), cov, (N,)))
    np.testing.assert_allclose(np.cov(x.T), cov, atol=0.25)
    np.testing.assert_allclose(x.mean(0), [1, -1], atol=0.15)


# ---- discrete -------------------------------------------------------------------------------------------


def test_bits():
    x = np.asarray(fc.random.bits(KEY, (N,), fc.uint8))
    assert scipy.stats.chisquare(np.bincount(x, minlength=256)).pvalue > 1e-4
    assert fc.random.bits(KEY, (2,), fc.uint64).dtype == np.uint64
    with pytest.raises(TypeError, match="unsigned"):
        fc.random.bits(KEY, (2,), fc.int32)


def test_randint():
    x = np.asarray(fc.random.randint(KEY, (N,), -3, 7))
    assert x.dtype == np.int64 and x.min() == -3 and x.max() == 6
    assert scipy.stats.chisquare(np.bincount(x + 3)).pvalue > 1e-4
    assert fc.random.randint(KEY, (3,), 0, np.array([1, 2, 3]), fc.int8).dtype == np.int8
    with pytest.raises(TypeError, match="integers"):
        fc.random.randint(KEY, (3,), 0, 2, fc.float32)


def test_bernoulli_rademacher_categorical():
    assert abs(np.asarray(fc.random.bernoulli(KEY, 0.3, (N,))).mean() - 0.3) < 0.03
    assert fc.random.bernoulli(KEY, fc.full((3,), 0.5)).shape == (3,)
    assert set(np.asarray(fc.random.rademacher(KEY, (100,))).tolist()) == {-1, 1}
    p = np.array([0.1, 0.6, 0.3])
    x = np.asarray(fc.random.categorical(KEY, np.log(p), shape=(N,)))
    assert scipy.stats.chisquare(np.bincount(x), p * N).pvalue > 1e-4
    assert fc.random.categorical(KEY, fc.zeros((4, 3)), axis=0).shape == (3,)
    with pytest.raises(ValueError, match="does not end with"):
        fc.random.categorical(KEY, fc.zeros((4, 3)), shape=(5,))


def test_permutation():
    x = np.asarray(fc.random.permutation(KEY, 50))
    assert sorted(x) == list(range(50)) and (x != np.arange(50)).any()
    m = np.arange(12).reshape(4, 3)
    rows = np.asarray(fc.random.permutation(KEY, m))
    assert sorted(map(tuple, rows)) == sorted(map(tuple, m))
    each = np.asarray(fc.random.permutation(KEY, m, axis=1, independent=True))
    np.testing.assert_array_equal(np.sort(each, 1), m)


def test_choice():
    x = np.asarray(fc.random.choice(KEY, np.float32([10, 20, 30]), (N,)))
    assert set(x.tolist()) == {10.0, 20.0, 30.0}
    assert len(set(np.asarray(fc.random.choice(KEY, 20, (4, 5), replace=False)).ravel())) == 20
    p = np.float32([0, 0.5, 0.5, 0])
    assert set(np.asarray(fc.random.choice(KEY, 4, (N,), p=p)).tolist()) == {1, 2}
    assert set(np.asarray(fc.random.choice(KEY, 4, (2,), False, p)).tolist()) == {1, 2}
    assert fc.random.choice(KEY, fc.ones((3, 5)), (2,), axis=1).shape == (3, 2)
    with pytest.raises(ValueError, match="5 of 4 elements without replacement"):
        fc.random.choice(KEY, 4, (5,), replace=False)


@pytest.mark.parametrize(
    "draw",
    [
        lambda k: fc.random.normal(k, (3, 4)),
        lambda k: fc.random.gamma(k, fc.asarray([0.5, 3.0])),
        lambda k: fc.random.randint(k, (5,), 0, 10),
        lambda k: fc.random.permutation(k, 6),
        lambda k: fc.random.truncated_normal(k, -1.0, 1.0, (4,)),
        lambda k: fc.random.laplace(k, (4,)),
    ],
)
def test_compiled_as_by_reference(draw):
    found = np.asarray(draw(KEY))
    with fc.engine.forced_tier("reference"):
        np.testing.assert_allclose(found, draw(KEY), rtol=2e-5, atol=1e-6)
