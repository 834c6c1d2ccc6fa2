"""Special functions: rules by the checker, values against PyTorch and against 40 digits."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import scipy.special
import torch

from functorch_core import primitives as p
from functorch_core.core.lowering import lower
from functorch_core.core.primitive import registry
from functorch_core.core.trace import evaluate
from functorch_core.transforms.jvp import jvp

from .check import check, close, compiled, graph_of

# name: (where to draw from, PyTorch's function or None)


def _trigamma(x):
    """PyTorch's, but infinite at its poles, where the sine of pi n is not 0."""
    at_pole = (x <= 0) & (x == x.floor()) & x.isfinite()
    return torch.where(at_pole, torch.inf, torch.special.polygamma(1, x))


UNARY = {
    "erf": ((-4, 4), torch.special.erf),
    "erfc": ((-4, 6), torch.special.erfc),
    "erf_inv": ((-0.99, 0.99), torch.special.erfinv),
    "erf_inv_of_drawn": ((-0.99, 0.99), torch.special.erfinv),
    "erfcx": ((-3, 9), torch.special.erfcx),
    "ndtri": ((0.01, 0.99), torch.special.ndtri),
    "log_ndtr": ((-9, 4), torch.special.log_ndtr),
    "lgamma": ((0.1, 9), torch.special.gammaln),
    "digamma": ((0.1, 9), torch.special.digamma),
    "trigamma": ((0.1, 9), _trigamma),
    "bessel_i0": ((-12, 12), torch.special.i0),
    "bessel_i0e": ((0.1, 12), torch.special.i0e),
    "bessel_i1": ((-12, 12), torch.special.i1),
    "bessel_i1e": ((0.1, 12), torch.special.i1e),
    "bessel_j0": ((-20, 20), torch.special.bessel_j0),
    "bessel_j1": ((-20, 20), torch.special.bessel_j1),
    "bessel_y0": ((0.1, 20), torch.special.bessel_y0),
    "bessel_y1": ((0.1, 20), torch.special.bessel_y1),
    "bessel_k0": ((0.2, 9), torch.special.modified_bessel_k0),
    "bessel_k0e": ((0.2, 9), torch.special.scaled_modified_bessel_k0),
    "bessel_k1": ((0.2, 9), torch.special.modified_bessel_k1),
    "bessel_k1e": ((0.2, 9), torch.special.scaled_modified_bessel_k1),
    "spherical_bessel_j0": ((-9, 9), torch.special.spherical_bessel_j0),
    "spherical_bessel_j1": ((-9, 9), None),
    "airy_ai": ((-12, 6), torch.special.airy_ai),
    "airy_ai_prime": ((-12, 6), None),
}
# Their formulas are longest to compile: fewer of their programs are.
SEVERAL = {
    "polygamma": (lambda rng: [rng.integers(0, 4, 7).astype(float), rng.uniform(0.3, 6, 7)], (1,)),
    "zeta": (lambda rng: [rng.uniform(1.5, 6, 7), rng.uniform(0.3, 6, 7)], (1,)),
    "igamma": (lambda rng: _gamma_operands(rng), (0, 1)),
    "igammac": (lambda rng: _gamma_operands(rng), (0, 1)),
    "igamma_grad_a": (lambda rng: _gamma_operands(rng), (1,)),
    "random_gamma_grad": (lambda rng: _gamma_operands(rng), ()),
    "betainc": (lambda rng: _beta_operands(rng), (0, 1, 2)),
    "betainc_grad_a": (lambda rng: _beta_operands(rng), (2,)),
    "random_dirichlet_grad": (lambda rng: _beta_operands(rng), ()),
}


def _gamma_operands(rng):
    """One point at least in each region: series, small a, fraction, uniform expansion."""
    a = np.array([0.2, 0.4, 3.0, 6.0, 40.0, 60.0, 90.0])
    return [a, a * np.array([2.0, 1.5, 0.4, 2.0, 1.05, 0.8, 1.4])]


def _beta_operands(rng):
    return list(np.array([[0.5, 1.5, 0.2], [2.0, 0.7, 0.9], [12.0, 3.0, 0.6], [30.0, 40.0, 0.45]]).T)


# ---- rules ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", UNARY)
def test_unary_rules(name):
    low, high = UNARY[name][0]
    check(getattr(p, name), np.random.default_rng(0).uniform(low, high, (3, 5)), fd_tol=2e-5)


@pytest.mark.parametrize("name", SEVERAL)
def test_rules_of_several_operands(name):
    draw, diff = SEVERAL[name]
    operands = draw(np.random.default_rng(0))
    second = name in ("polygamma", "zeta")
    rules = ("lower", "jvp", "transpose") if diff else ("lower",)
    check(
        getattr(p, name),
        *operands,
        diff=diff,
        fd_tol=2e-5,
        order=2 if second else 1,
        rules=rules + (("batch", "second") if second else ()),
    )


@pytest.mark.parametrize("name", ["igamma", "betainc"])
def test_batching_of_loops(name):
    draw, _ = SEVERAL[name]
    check(getattr(p, name), *[x[:2].astype(np.float32) for x in draw(None)], rules=("batch",))


@pytest.mark.parametrize("name", [*UNARY, *SEVERAL])
def test_dtypes_and_shapes(name):
    if name in UNARY:
        operands = [np.random.default_rng(1).uniform(*UNARY[name][0], 4)]
    else:
        operands = [x[:4] for x in SEVERAL[name][0](np.random.default_rng(1))]
    cheap = name in UNARY
    halves = (np.float16, ml_dtypes.bfloat16) if cheap else (ml_dtypes.bfloat16,)
    for dtype in (*halves, np.float32):
        check(getattr(p, name), *[x.astype(dtype) for x in operands], rules=("lower",))
    check(getattr(p, name), *[np.float32(x[0]) for x in operands], rules=("lower",))
    check(getattr(p, name), *[np.zeros((2, 0), np.float32) for _ in operands], rules=("lower",))


@pytest.mark.parametrize("name", [*UNARY, *SEVERAL])
def test_lowers_for_cuda(name):
    count = 1 if name in UNARY else len(SEVERAL[name][0](np.random.default_rng(0)))
    graph = graph_of(getattr(p, name), [np.ones((2, 3), np.float32)] * count)
    assert "@main" in lower(graph, "cuda").text


# ---- values --------------------------------------------------------------------------------------

EDGES = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-20, 300.0, -300.0, 2.5, -2.5])
TORCH_DIFFERS = {"airy_ai": (np.inf,)}  # PyTorch: NaN; the limit is 0


@pytest.mark.parametrize("name", UNARY)
def test_edges(name):
    """The compiled function, the reference and PyTorch agree at zeros, infinities, NaN, far out."""
    graph = graph_of(getattr(p, name), [EDGES])
    reference = evaluate(graph, [EDGES])[0]
    close(compiled(graph, [EDGES])[0], reference, 1e-9, name)
    oracle = UNARY[name][1]
    if oracle is not None:
        wanted = oracle(torch.from_numpy(EDGES)).numpy()
        keep = ~np.isin(EDGES, TORCH_DIFFERS.get(name, ()))
        close(reference[keep], wanted[keep], 1e-5, f"{name} against torch")  # its Airy: 2e-6


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_incomplete_gamma_edges(dtype):
    values = np.array([0.0, 1e-3, 0.5, 1.0, 5.0, 50.0, np.inf, -1.0], dtype)
    a, x = (v.reshape(-1) for v in np.meshgrid(values, values))
    for name, oracle in (("igamma", torch.special.gammainc), ("igammac", torch.special.gammaincc)):
        graph = graph_of(getattr(p, name), [a, x])
        found = compiled(graph, [a, x])[0]
        close(found, evaluate(graph, [a, x])[0], what=name)
        close(found, oracle(torch.from_numpy(a), torch.from_numpy(x)).numpy(), 1e-6, f"{name} against torch")


def test_zeta_and_polygamma_edges():
    s = np.array([1.0, 0.5, 2.0, 2.0, 2.0, 2.5, 2.0, 3.0, 60.0, 2.0, np.nan, 500.0, 2.0])
    q = np.array([2.0, 2.0, 0.0, -1.0, -1.5, -0.5, np.inf, -7.52, 1e-3, np.nan, 1.0, 20.0, -2e5])
    check(p.zeta, s, q, rules=("lower",), diff=())
    n = np.array([0.0, 0.0, 1.0, 1.0, 2.0, 3.0, 1.0, 0.5, -1.0])
    x = np.array([0.0, -0.0, 0.0, -1.0, -7.5, 50.0, np.inf, 1.0, 1.0])
    check(p.polygamma, n, x, rules=("lower",), diff=())
    found = evaluate(graph_of(p.polygamma, [n[4:6], x[4:6]]), [n[4:6], x[4:6]])[0]
    wanted = [torch.special.polygamma(int(k), torch.tensor(v)).item() for k, v in zip(n[4:6], x[4:6])]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_betainc_edges():
    a = np.array([1.0, 1.0, 0.0, 2.0, -1.0, 2.0, np.nan, 1e11])
    b = np.array([2.0, 2.0, 1.0, 0.0, 1.0, 3.0, 1.0, 2.0])
    x = np.array([0.0, 1.0, 0.5, 0.5, 0.5, 1.5, 0.5, 0.5])
    graph = graph_of(p.betainc, [a, b, x])
    for found in (compiled(graph, [a, b, x])[0], evaluate(graph, [a, b, x])[0]):
        np.testing.assert_array_equal(found, [0.0, 1.0, *[np.nan] * 6])


def test_random_gamma_grad_is_torch():
    rng = np.random.default_rng(3)
    a = rng.uniform(0.1, 80, 60)
    sample = rng.gamma(a)
    graph = graph_of(p.random_gamma_grad, [a, sample])
    wanted = torch._standard_gamma_grad(torch.from_numpy(a), torch.from_numpy(sample)).numpy()
    np.testing.assert_allclose(evaluate(graph, [a, sample])[0], wanted, rtol=2e-3)  # torch fits it


def test_random_dirichlet_grad_moves_a_quantile():
    from scipy import special

    rng = np.random.default_rng(4)
    a, b = rng.uniform(0.1, 60, (2, 200))
    u = rng.uniform(0.02, 0.98, 200)
    x, step = special.betaincinv(a, b, u), 1e-6 * a
    moved = special.betaincinv(a + step, b, u) - special.betaincinv(a - step, b, u)
    wanted = moved / (2 * step) / (1 - x)
    found = evaluate(graph_of(p.random_dirichlet_grad, [a, b, x]), [a, b, x])[0]
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-9)


ACCURACY = [  # name, mpmath's function of mp and operands, operands, epsilons relative
    ("erf_inv", lambda mp, x: mp.erfinv(x), [[1e-5, 0.3, 0.74, 0.9, 0.999, 1 - 1e-12]], 12),
    ("erfcx", lambda mp, x: mp.erfc(x) * mp.exp(x * x), [[-9.0, -3.3, 0.1, 2.0, 7.7, 1e5]], 10),
    ("bessel_i0", lambda mp, x: mp.besseli(0, x), [[0.1, 5.0, 7.9, 8.1, 30.0, 80.0]], 10),
    ("bessel_i1e", lambda mp, x: mp.besseli(1, x) * mp.exp(-x), [[1e-4, 5.0, 7.9, 8.1, 1e4]], 10),
    ("bessel_j0", lambda mp, x: mp.besselj(0, x), [[0.1, 3.0, 7.9, 8.1, 50.0, 1001.0]], 10),
    ("bessel_y1", lambda mp, x: mp.bessely(1, x), [[0.1, 3.0, 7.9, 8.1, 50.0, 1001.0]], 10),
    ("bessel_k1", lambda mp, x: mp.besselk(1, x), [[1e-4, 0.5, 1.9, 2.1, 30.0]], 10),
    ("airy_ai", lambda mp, x: mp.airyai(x), [[-7.5, -3.0, 0.3, 1.9, 2.1, 5.0]], 40),
    ("airy_ai_prime", lambda mp, x: mp.airyai(x, derivative=1), [[-7.0, -3.0, 0.3, 2.1, 5.0]], 40),
    ("zeta", lambda mp, s, q: mp.zeta(s, q), [[1.1, 3.0, 20.0], [0.2, -7.52, 40.0]], 10),
    (
        "igamma",
        lambda mp, a, x: mp.gammainc(a, 0, x, regularized=True),
        [[0.1, 4.0, 31.0, 40.0, 200.0], [0.5, 1.0, 29.0, 38.0, 210.0]],
        40,
    ),
    (
        "igammac",
        lambda mp, a, x: mp.gammainc(a, x, mp.inf, regularized=True),
        [[1e-3, 4.0, 31.0, 40.0, 200.0], [0.5, 9.0, 40.0, 48.0, 260.0]],
        40,
    ),
    (
        "betainc",
        lambda mp, a, b, x: mp.betainc(a, b, 0, x, regularized=True),
        [[0.5, 5.0, 12.0, 400.0], [2.0, 3.0, 40.0, 300.0], [0.1, 0.8, 0.2, 0.55]],
        150,
    ),
]


@pytest.mark.parametrize("name, exact, operands, bound", ACCURACY, ids=[c[0] for c in ACCURACY])
def test_accuracy(name, exact, operands, bound):
    """The compiled function within `bound` epsilons of the truth, in both precisions."""
    mp = pytest.importorskip("mpmath").mp.clone()
    mp.dps = 40
    for dtype in (np.float32, np.float64):
        arrays = [np.array(x).astype(dtype) for x in operands]
        found = compiled(graph_of(getattr(p, name), arrays), arrays)[0]
        for i, row in enumerate(zip(*arrays)):
            wanted = exact(mp, *[mp.mpf(float(v)) for v in row])
            error = abs(mp.mpf(float(found[i])) / wanted - 1) / float(np.finfo(dtype).eps)
            assert np.isinf(found[i]) or error < bound, f"{name}{row}: {float(error):.1f} eps"


# ---- errors --------------------------------------------------------------------------------------


def test_errors():
    with pytest.raises(TypeError, match="erf takes floating"):
        graph_of(p.erf, [np.arange(3)])
    with pytest.raises(TypeError, match="one shape and dtype"):
        graph_of(p.igamma, [np.ones(3), np.ones(4)])
    graph = graph_of(p.zeta, [np.full(3, 2.0), np.ones(3)])
    with pytest.raises(NotImplementedError, match="zeta has no derivative by operand 0"):
        jvp(graph, (True, False))


def test_scalar_operands():
    check(lambda x: p.polygamma(1.0, x), np.array([0.5, 2.0]), rules=("lower", "jvp"))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_erf_of_many_numbers(dtype):
    """NumPy's own way of more than some thousand, against scipy's in float64."""
    x = np.linspace(-5, 5, 200_001).astype(dtype)
    x[:6] = np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-4
    found = registry["erf"].rule("reference")(x)
    wanted = scipy.special.erf(x.astype(np.float64))
    assert found.dtype == dtype and np.isnan(found[0]) and np.signbit(found[4])
    one_off = np.spacing(np.abs(wanted[1:]).astype(np.float32)) if dtype is np.float32 else np.float64(0)
    rounded = wanted[1:].astype(dtype).astype(np.float64)
    assert (np.abs(found[1:].astype(np.float64) - rounded) <= one_off).all()


def test_erf_of_rows_that_lie_across():
    x = np.random.default_rng(0).standard_normal((300, 200), dtype=np.float32)
    np.testing.assert_allclose(registry["erf"].rule("reference")(x.T), scipy.special.erf(x.T), rtol=2e-7)
