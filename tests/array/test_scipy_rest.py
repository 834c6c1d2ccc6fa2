"""functorch_core.scipy's fft, integrate, interpolate, ndimage, optimize, cluster and sparse.linalg against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.fft
import scipy.interpolate
import scipy.ndimage
import scipy.optimize

import functorch_core as fc
from functorch_core.scipy import cluster, fft, integrate, interpolate, ndimage, optimize, sparse
from tests.array.against import Case, check_gradient, check_values

rng = np.random.default_rng(7)
DATA = {
    "x": rng.normal(size=(4, 5)),
    "v": rng.normal(size=7),
    "obs": rng.normal(size=(9, 3)),
    "codes": rng.normal(size=(4, 3)),
}


# ---- fft -----------------------------------------------------------------------------------------

COSINES = """
~ dct(x)
dct(x, axis=0, norm="ortho")
dct(v, n=4)
dct(v, n=10)
~ idct(x)
idct(x, axis=0, norm="ortho")
idct(v, n=9)
dctn(x)
dctn(x, s=(3, 8), norm="ortho")
dctn(x, axes=(0,))
~ idctn(x)
idctn(x, norm="ortho")
""".strip().splitlines()


@pytest.mark.parametrize("line", COSINES)
def test_cosine_transforms(line):
    check_values(Case(line, DATA), fft, scipy.fft, 1e-10)
    if "~" in line:
        check_gradient(Case(line, DATA), fft, scipy.fft)


def test_the_inverse_of_a_cosine_transform():
    np.testing.assert_allclose(fft.idct(fft.dct(fc.asarray(DATA["v"]))), DATA["v"], 1e-12)
    with pytest.raises(NotImplementedError, match="type=3"):
        fft.dct(fc.ones(3), type=3)


# ---- integrate, cluster --------------------------------------------------------------------------


def test_trapezoid():
    np.testing.assert_allclose(integrate.trapezoid(fc.asarray(DATA["v"]), dx=0.5), np.trapezoid(DATA["v"], dx=0.5))


def test_vq():
    check_values(Case("vq(obs, codes)", DATA), cluster.vq, scipy.cluster.vq, 1e-10)


# ---- interpolate, ndimage ------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("fill", [np.nan, 3.0, None])
def test_interpolation_on_a_grid(method, fill):
    points = (np.array([0.0, 1.0, 2.5, 4.0]), np.linspace(-1, 1, 5))
    values = np.stack([DATA["x"], 2 * DATA["x"]], axis=-1)
    at = rng.uniform((-0.5, -1.2), (4.5, 1.2), size=(6, 2, 2))
    theirs = scipy.interpolate.RegularGridInterpolator(points, values, method, False, fill)
    ours = interpolate.RegularGridInterpolator(
        tuple(map(fc.asarray, points)), fc.asarray(values), method, fill_value=fill
    )
    np.testing.assert_allclose(ours(fc.asarray(at)), theirs(at), 1e-10, 1e-12)
    np.testing.assert_allclose(fc.jit(ours)(fc.asarray(at)), theirs(at), 1e-10, 1e-12)


@pytest.mark.parametrize("mode", ["constant", "nearest", "wrap", "mirror", "reflect"])
@pytest.mark.parametrize("order", [0, 1])
def test_map_coordinates(mode, order):
    at = [rng.uniform(-3, 7, size=11), rng.uniform(-3, 8, size=11)]
    theirs_mode = "grid-wrap" if mode == "wrap" else mode
    if mode == "constant":
        theirs_mode = "grid-constant"
    wanted = scipy.ndimage.map_coordinates(DATA["x"], at, order=order, mode=theirs_mode, cval=0.5)
    call = fc.jit(lambda x, *at: ndimage.map_coordinates(x, list(at), order=order, mode=mode, cval=0.5))
    found = call(fc.asarray(DATA["x"]), *map(fc.asarray, at))
    np.testing.assert_allclose(found, wanted, 1e-10, 1e-12)


# ---- optimize ------------------------------------------------------------------------------------


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


@pytest.mark.parametrize("jitted", [False, True])
def test_minimize(jitted):
    start = np.array([-1.2, 1.0, 0.7])

    def run(x):
        return optimize.minimize(rosenbrock, x, method="BFGS")

    found = (fc.jit(run) if jitted else run)(fc.asarray(start))
    assert bool(found.success) and int(found.status) == 0
    np.testing.assert_allclose(found.x, scipy.optimize.rosen(start) * 0 + np.ones(3), 1e-5)
    assert 5 < int(found.nit) < 80


def test_minimize_with_arguments_and_limits():
    found = optimize.minimize(lambda x, a: ((x - a) ** 4).sum(), fc.zeros(2), (fc.asarray([1.0, 2.0]),), method="bfgs")
    np.testing.assert_allclose(found.x, [1.0, 2.0], atol=0.05)
    short = optimize.minimize(rosenbrock, fc.asarray([-1.2, 1.0]), method="BFGS", options={"maxiter": 2})
    assert not bool(short.success) and int(short.status) == 1 and int(short.nit) == 2
    with pytest.raises(ValueError, match="BFGS"):
        optimize.minimize(rosenbrock, fc.zeros(2), method="Newton")


# ---- sparse.linalg -------------------------------------------------------------------------------

SPD = np.array([[4.0, 1, 0.5], [1, 3, 0.2], [0.5, 0.2, 2]])
ANY = np.array([[4.0, 1, -2], [1, 3, 0.2], [0.5, 1.2, 2]])
RIGHT = np.array([1.0, -2.0, 0.5])


@pytest.mark.parametrize("name, matrix", [("cg", SPD), ("bicgstab", ANY), ("gmres", ANY)])
def test_iterative_solvers(name, matrix):
    solver = getattr(sparse.linalg, name)
    a, b = fc.asarray(matrix), fc.asarray(RIGHT)
    wanted = np.linalg.solve(matrix, RIGHT)
    for call in (lambda a, b: solver(a, b, tol=1e-12)[0], lambda a, b: solver(lambda x: a @ x, b, tol=1e-12)[0]):
        np.testing.assert_allclose(call(a, b), wanted, 1e-9)
        np.testing.assert_allclose(fc.jit(call)(a, b), wanted, 1e-9)
    by_a, by_b = fc.grad(lambda a, b: solver(lambda x: a @ x, b, tol=1e-12)[0].sum(), (0, 1))(a, b)
    slope = np.linalg.solve(matrix.T, np.ones(3))
    np.testing.assert_allclose(by_b, slope, 1e-8)
    np.testing.assert_allclose(by_a, -np.outer(slope, wanted), 1e-8)
    tree = {"u": b, "w": 2 * b}
    found = solver(lambda t: {"u": a @ t["u"], "w": a @ t["w"] + t["u"] * 0}, tree, tol=1e-12)[0]
    np.testing.assert_allclose(found["w"], 2 * wanted, 1e-8)
    inverse = fc.asarray(np.diag(1 / np.diag(matrix)))
    np.testing.assert_allclose(solver(a, b, fc.asarray(RIGHT), tol=1e-12, M=inverse)[0], wanted, 1e-9)


# ---- loops over what is only recorded ------------------------------------------------------------


def pending():
    """An array that nobody has looked at yet."""
    return fc.asarray([1.0, 2.0]) * 3


@pytest.mark.parametrize(
    "call, wanted",
    [
        (lambda w, x: fc.scan(lambda c, y: (c + (w * y).sum(), None), fc.asarray(0.0), fc.ones(3))[0], 27.0),
        (lambda w, x: fc.cond(x.sum() > 0, lambda: w, lambda: x), [3.0, 6.0]),
        (lambda w, x: fc.while_loop(lambda v: v.sum() < 5, lambda v: v + w, x), [4.0, 8.0]),
        (lambda w, x: fc.fori_loop(0, 2, lambda i, v: v + w, x), [7.0, 14.0]),
    ],
)
def test_a_loop_may_close_over_what_is_only_recorded(call, wanted):
    np.testing.assert_allclose(call(pending(), fc.asarray([1.0, 2.0])), wanted)
