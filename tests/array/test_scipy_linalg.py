"""functorch_core.scipy.linalg against SciPy: values in every tier, gradients by finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import functorch_core as fc
from functorch_core.scipy import linalg
from tests.array.against import Case, check_gradient, check_values

rng = np.random.default_rng(5)
DATA = {
    "m": rng.normal(size=(4, 4)) + 2 * np.eye(4),
    "n": rng.normal(size=(4, 4)),
    "wide": rng.normal(size=(3, 5)),
    "tall": rng.normal(size=(5, 3)),
    "z": rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4)),
    "spd": np.array([[4.0, 1, 0.5, 0], [1, 3, 0.2, 0.1], [0.5, 0.2, 2, 0], [0, 0.1, 0, 1]]),
    "sym": np.array([[1.0, 2, 0, 1], [2, -1, 3, 0], [0, 3, 2, 1], [1, 0, 1, 5]]),
    "b": rng.normal(size=(4, 2)),
    "v": rng.normal(size=4),
    "w": rng.normal(size=3),
    "c": rng.normal(size=(4, 3)),
    "small": rng.normal(size=(3, 3)),
}

CASES = """
~ block_diag(m, wide, v)
cho_solve((cholesky(spd), False), v)
cho_solve(cho_factor(spd, True), b)
cholesky(spd)
cholesky(spd, lower=True)
circulant(v)
~ companion(v)
~ convolution_matrix(v, 3)
convolution_matrix(v, 3, "same")
convolution_matrix(v, 6, "same")
convolution_matrix(v, 6, "valid")
~ det(m)
dft(4)
dft(4, "sqrtn")
eigh(sym)[0]
abs(eigh(sym)[1])
eigh(sym, spd, eigvals_only=True)
eigh(sym, spd, type=2, eigvals_only=True)
abs(eigh(sym, spd, type=3)[1])
abs(eigh(sym, spd)[1])
eigh(sym, lower=False, eigvals_only=True)
eigh_tridiagonal(v, w, eigvals_only=True)
eigh_tridiagonal(v, w, eigvals_only=True, select="i", select_range=(1, 2))
~ expm(m)
expm(z)
~ expm_frechet(m, n)
expm_frechet(m, n, compute_expm=False)
fiedler(v)
~ fiedler_companion(v)
funm(spd, lambda x: x ** 2)
funm(m, exp)
hadamard(4)
~ hankel(v)
hankel(v, w)
helmert(4)
helmert(4, full=True)
hessenberg(m)
hessenberg(z, calc_q=True)
hilbert(3)
~ inv(m)
invhilbert(4)
invpascal(4)
invpascal(4, "lower")
~ leslie(v, w)
~ lu(m)
lu(tall)
lu(wide, permute_l=True)
lu_factor(m)
~ lu_solve(lu_factor(m), v)
lu_solve(lu_factor(m), b, trans=1)
lu_solve(lu_factor(z), b, trans=2)
pascal(4)
pascal(4, "upper")
~ polar(m)
polar(tall)
polar(wide, side="left")
qr(m)[1] * sign(diagonal(qr(m)[1]))[:, None]
abs(qr(tall, mode="economic")[0])
abs(qr(tall, mode="r")[0])
abs(qr(tall, pivoting=True)[1])
qr(wide, pivoting=True, mode="economic")[2]
abs(qr_multiply(tall, wide)[0])
abs(qr_multiply(tall, small, mode="left", pivoting=True)[0])
abs(rsf2csf(schur(m)[0], schur(m)[1])[0])
schur(m)
abs(schur(m, output="complex")[0])
~ solve(m, b)
solve(spd, v, assume_a="pos")
solve(spd, v, assume_a="pos", lower=True)
~ solve_triangular(m, v)
solve_triangular(m, b, trans="T", lower=True)
solve_triangular(m, v, unit_diagonal=True)
solve_sylvester(m, small, c)
sqrtm(spd)
sqrtm(m @ m)
svd(wide, compute_uv=False)
~ toeplitz(v)
toeplitz(v, w)
""".strip().splitlines()


class Names:
    """The functions, and NumPy's that the cases use."""


def namespace(module, others):
    out = Names()
    out.__dict__.update({n: getattr(module, n) for n in linalg.__all__})
    out.abs, out.sign, out.exp, out.diagonal = others
    return out


OURS = namespace(linalg, (fc.abs, fc.sign, fc.exp, fc.linalg.diagonal))
THEIRS = namespace(scipy.linalg, (np.abs, np.sign, np.exp, np.diagonal))
SINGLE = ("dft", "hilbert", "pascal", "helmert", "hadamard")


@pytest.mark.parametrize("line", CASES)
def test_values(line):
    check_values(Case(line, DATA), OURS, THEIRS, 1e-4 if any(s in line for s in SINGLE) else 1e-8)


@pytest.mark.parametrize("line", [line for line in CASES if "~" in line])
def test_gradients(line):
    check_gradient(Case(line, DATA), OURS, THEIRS, tolerance=1e-5)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
def test_pivoted_qr_is_one(shape):
    a = rng.normal(size=shape)
    q, r, places = (np.asarray(x) for x in linalg.qr(fc.asarray(a), pivoting=True))
    np.testing.assert_allclose(q @ r, a[:, places], 1e-10, 1e-12)
    np.testing.assert_allclose(q.T @ q, np.eye(shape[0]), 1e-10, 1e-12)


def test_sylvester_by_its_equation():
    a, b, c = (fc.asarray(DATA[n]) for n in ("z", "m", "n"))
    x = linalg.solve_sylvester(a, b, c)
    np.testing.assert_allclose(a @ x + x @ b, np.asarray(c), 1e-9, 1e-9)


def test_funm_tells_its_error():
    found, error = linalg.funm(fc.asarray(DATA["spd"]), fc.exp, disp=False)
    np.testing.assert_allclose(found, scipy.linalg.expm(DATA["spd"]), 1e-9)
    assert 0 < float(error) < 1e-10
