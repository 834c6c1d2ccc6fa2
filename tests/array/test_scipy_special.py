"""functorch_core.scipy.special against SciPy: values in every tier, gradients by finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import functorch_core as fc
from functorch_core.scipy import special
from tests.array.against import Case, check_gradient, check_values

DATA = {
    "x": np.array([-7.5, -2.3, -0.4, 0.3, 1.1, 2.6, 8.0]),
    "p": np.array([0.02, 0.3, 0.5, 0.77, 0.999]),
    "q": np.array([0.5, 0.1, 0.5, 0.9, 0.02]),
    "a": np.array([0.3, 1.0, 2.5, 7.0, 20.0]),
    "b": np.array([1.5, 0.4, 3.0, 1.0, 12.0]),
    "c": np.array([2.2, 1.7, 4.4, 9.0, 30.5]),
    "r": np.array([0.1, 0.7, 1.3, 3.9, 4.1, 12.0, 45.0]),
    "n": np.array([0, 1, 2, 3, 8]),
    "m": np.array([0, -1, 2, 1, -5]),
    "z": np.array([1 + 2j, -0.3 + 0.1j, 4 - 1j, -2 - 0.5j, 0.0]),
    "h": np.array([0.2, -1.0, 3.0, 0.0, 6.0]),
    "u": np.array([0.4, 2.5, -0.7, 1.0, 0.9]),
    "far": np.array([3e2, 7e2, 1e4, 1e8, 1e17]),
    "zero": np.zeros(5),
    "half": np.array([-0.5, -1.5, -2.5, 0.5, 4.0]),
}

CASES = """
~ beta(a, b)
beta(half, a)
beta(2.0, far)
~ betaln(a, b)
betaln(far, 0.5)
betaln(a, far)
betaln(-15.5, r)
~ betainc(a, b, p)
~ boxcox(p, b)
boxcox(a, 0.0)
~ boxcox1p(p, b)
comb(array([5.0, 8.0, 3.0]), array([2.0, 0.0, 4.0]))
comb(5.5, 2.0)
comb(far, 3)
comb(5.0, 2.0, repetition=True)
~ dawsn(x)
~ digamma(a)
~ entr(a)
entr(-a)
~ erf(x)
~ erfc(x)
~ erfcx(h)
~ erfinv(p)
~ exp1(r)
~ expi(x)
expi(r)
~ expit(x)
expn(n, a)
~ expn(2, p)
expn(array([1, 3, 5]), 0.0)
factorial(a)
~ factorial(p)
factorial(array([-1.0, 0.0, 3.0]))
~ fresnel(x)
~ gamma(half)
gamma(a)
~ gammainc(a, b)
~ gammaincc(a, b)
~ gammaln(a)
gammasgn(half)
gammasgn(array([0.0, -0.0, -1.0, -3.0]))
~ hyp1f1(a, b, p)
hyp1f1(a, b, -c)
hyp1f1(a, c, b)
~ hyp2f1(p, b, c, q)
hyp2f1(p, q, b, -c)
hyp2f1(p, q, c, 1.0)
hyp2f1(p, q, c, 0.97)
~ i0(x)
~ i0e(x)
~ i1(x)
~ i1e(x)
~ kl_div(a, b)
kl_div(array([0.0, 1.0, -1.0]), array([0.0, 0.0, 1.0]))
~ log_ndtr(x)
log_ndtr(array([-40.0, 40.0]))
~ log_softmax(x)
loggamma(half)
~ logit(p)
~ logsumexp(x)
logsumexp(z)
logsumexp(z * 300, 0)
logsumexp(z, b=x[:5])
logsumexp(z, return_sign=True)
multigammaln(a + 2, 3)
~ ndtr(x)
~ ndtri(p)
~ owens_t(h, u)
owens_t(x[:5], -u * 9)
poch(a, b)
poch(half, 2.0)
poch(far, 2.0)
poch(30.0, -a)
~ poch(a, p)
polygamma(n, a)
~ polygamma(2, a)
~ rel_entr(a, b)
~ sici(r)
sici(x[3:])
~ softmax(x, axis=0)
~ spence(r)
spence(array([0.0, 1.0, 2.0, 0.5, 1e-5]))
~ spence(far)
wofz(z)
wofz(x)
~ xlog1py(a, b)
xlog1py(0.0, -1.0)
xlog1py(0.0, u)
~ xlogy(a, b)
~ xlogy(zero, b)
~ xlog1py(zero, p)
zeta(c, a)
~ zeta(2.5, a)
zeta(array([2.0, 3.5]))
sph_harm_y(n, m, p, q)
""".strip().splitlines()

# bernoulli, and what has other arguments in SciPy, is below.


class Numbers:
    """SciPy's functions, and NumPy's array for both."""


def namespace(module):
    out = Numbers()
    out.__dict__.update({k: getattr(module, k) for k in special.__all__ if hasattr(module, k)})
    out.array = fc.asarray if module is special else np.array
    return out


OURS, THEIRS = namespace(special), namespace(scipy.special)


def in_double(line):
    """Python's numbers alone are float32 here."""
    return not any(word in line for word in ("array(", "(5.5", "(5.0"))


@pytest.mark.parametrize("line", CASES)
def test_values(line):
    mark = "!" if "sph_harm" in line else ""
    check_values(Case(mark + line, DATA), OURS, THEIRS, 1e-9 if in_double(line) else 1e-5)


@pytest.mark.parametrize("line", [line for line in CASES if "~" in line])
def test_gradients(line):
    check_gradient(Case(line, DATA), OURS, THEIRS, tolerance=1e-5)


def test_beta_of_large_arguments_in_single_precision():
    """The large logarithms cancel in closed form: gradients follow, and so do the distributions."""
    b = np.float32([9, 11, 1e5, 1e6, 1e7, 1e17])
    wanted = scipy.special.betaln(b.astype("d"), 0.5)
    np.testing.assert_allclose(special.betaln(b, np.float32(0.5)), wanted, 2e-6)
    np.testing.assert_allclose(special.beta(b, np.float32(0.5)), np.exp(wanted), 1e-5)
    slope = fc.grad(lambda b: special.betaln(b, np.float32(0.5)).sum())(b)
    wide = b.astype("d")
    wanted = scipy.special.digamma(wide) - scipy.special.digamma(wide + 0.5)
    np.testing.assert_allclose(slope, wanted, 1e-5, 1e-12)


def test_dilogarithm_in_single_precision():
    x = np.float32([0, 0.3, 1, 2, 5, 300, 1e4, 1e8])
    np.testing.assert_allclose(special.spence(x), scipy.special.spence(x), 2e-6)


def test_slopes_of_entropies_at_the_edge():
    """Of entr as in JAX; that of 0 log y is log y, which was 0."""
    x = np.float32([-1, 0, 0.5])
    np.testing.assert_allclose(fc.grad(lambda x: special.entr(x).sum())(x), [np.nan, np.inf, np.log(2) - 1], 1e-6)
    assert fc.grad(special.xlogy)(0.0, 0.5) == pytest.approx(np.log(0.5))
    assert fc.grad(special.xlog1py)(0.0, 0.5) == pytest.approx(np.log(1.5))
    assert fc.grad(special.xlogy, (0, 1))(0.0, 0.0) == (0, 0)


def test_bernoulli():
    np.testing.assert_allclose(special.bernoulli(20), scipy.special.bernoulli(20), 1e-5)


def test_bessel_jn():
    z = np.array([0.0, 0.3, -2.0, 9.5])
    found = special.bessel_jn(fc.asarray(z), v=4)
    np.testing.assert_allclose(found, [scipy.special.jv(n, z) for n in range(5)], 1e-10, 1e-12)


def test_all_names():
    assert {n for n in special.__all__ if not hasattr(scipy.special, n)} == {"bessel_jn"}
    with pytest.raises(AttributeError, match="sph_harm_y"):
        special.sph_harm
