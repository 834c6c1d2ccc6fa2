"""Products and linear algebra against the reference: values, gradients, errors, odd shapes."""

from __future__ import annotations

import numpy as np
import pytest

from functorch_core import engine, torch

from .against_reference import assert_same, assert_same_error, pair

reference = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")


def array(*shape, seed: int = 0, dtype=np.float32):
    """Normal numbers of a shape."""
    return np.asarray(np.random.RandomState(seed).randn(*shape)).astype(dtype)


def agree(fun, *arrays, scale: float = 4.0, grad: bool = True):
    """fun(module, *tensors) and its gradients agree."""
    pairs = [pair(a, reference, grad=grad and np.asarray(a).dtype.kind in "fc") for a in arrays]
    ours, theirs = fun(torch, *[o for o, _ in pairs]), fun(reference, *[t for _, t in pairs])
    assert_same(ours, theirs, scale)
    if grad and theirs.requires_grad:
        dtype = theirs.detach().numpy().dtype
        cotangent = pair(array(*theirs.shape, seed=9, dtype=dtype), reference)
        ours.backward(cotangent[0])
        theirs.backward(cotangent[1])
        for o, t in pairs:
            if t.grad is not None:
                assert_same(o.grad, t.grad, scale)


# ---- matmul --------------------------------------------------------------------------------------

SHAPES = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3,)),
    ((5, 2, 3), (3, 4)),
    ((3,), (5, 3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((1, 2, 3), (5, 3, 4)),
    ((7, 1, 2, 3), (5, 3, 4)),
    ((5, 2, 3), (1, 3, 4)),
    ((0, 3), (3, 4)),
    ((2, 0), (0, 4)),
    ((4, 0, 3), (3, 2)),
]


@pytest.mark.parametrize("a,b", SHAPES)
def test_matmul(a, b):
    agree(lambda m, x, y: m.matmul(x, y), array(*a), array(*b, seed=1))


@pytest.mark.parametrize("dtype", [np.float64, np.complex64, np.int64, np.uint8])
def test_matmul_dtypes(dtype):
    x, y = (10 * array(3, 4, seed=s) for s in (0, 1))
    agree(lambda m, x, y: x @ y.T, x.astype(dtype), y.astype(dtype), scale=40)


@pytest.mark.parametrize(
    "a,b",
    [
        ((2, 3), (4, 5)),
        ((2, 3), (4,)),
        ((3,), (4,)),
        ((5, 2, 3), (5, 4, 3)),
        ((5, 2, 3), (4, 3, 2)),
        ((), (3,)),
        ((2, 2, 3), (4, 5)),
    ],
)
def test_matmul_errors(a, b):
    assert_same_error(lambda m: m.matmul(m.ones(a), m.ones(b)), reference, message=False)


def test_dtypes_must_agree():
    for fun in (
        lambda m: m.ones(2, 2) @ m.ones(2, 2, dtype=m.float64),
        lambda m: m.nn.functional.linear(m.ones(2, 2), m.ones(2, 2, dtype=m.float64)),
        lambda m: m.dot(m.ones(2), m.ones(2, dtype=m.int64)),
    ):
        assert_same_error(fun, reference)


@pytest.mark.parametrize(
    "name,shapes",
    [
        ("mm", [(2, 3), (3, 4)]),
        ("bmm", [(5, 2, 3), (5, 3, 4)]),
        ("mv", [(2, 3), (3,)]),
        ("dot", [(3,), (3,)]),
        ("inner", [(2, 3), (4, 3)]),
        ("outer", [(2,), (3,)]),
        ("kron", [(2, 3), (4,)]),
        ("addmm", [(4,), (2, 3), (3, 4)]),
        ("addmv", [(2,), (2, 3), (3,)]),
        ("addr", [(2, 3), (2,), (3,)]),
        ("baddbmm", [(4,), (5, 2, 3), (5, 3, 4)]),
        ("addbmm", [(2, 4), (5, 2, 3), (5, 3, 4)]),
        ("cross", [(4, 3), (4, 3)]),
        ("chain_matmul", [(2, 3), (3, 7), (7, 4), (4, 2)]),
    ],
)
def test_named_products(name, shapes):
    arrays = [array(*s, seed=i) for i, s in enumerate(shapes)]
    agree(lambda m, *xs: getattr(m, name)(*xs), *arrays, scale=10)


def test_beta_zero_ignores_nan():
    nan = np.full((2, 4), np.nan, np.float32)
    agree(lambda m, c, a, b: m.addmm(c, a, b, beta=0, alpha=2.5), nan, array(2, 3), array(3, 4))


def test_in_place_and_out():
    agree(lambda m, c, a: c.addmm_(a, a, beta=0.5), array(3, 3), array(3, 3, seed=1), grad=False)
    agree(lambda m, a: m.mm(a, a, out=m.empty(0)), array(3, 3), grad=False)


@pytest.mark.parametrize(
    "equation,shapes",
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,j->i", [(2, 3), (3,)]),
        ("ii->i", [(3, 3)]),
        ("ii", [(3, 3)]),
        ("bij,bjk", [(5, 2, 3), (5, 3, 4)]),
        ("...i,...i->...", [(2, 5, 3), (5, 3)]),
        ("ab,cd,be,ce->ad", [(2, 3), (4, 5), (3, 6), (4, 6)]),
        ("i,j->ij", [(2,), (3,)]),
        ("ij->", [(2, 3)]),
        ("ij->ji", [(2, 3)]),
        ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
    ],
)
def test_einsum(equation, shapes):
    arrays = [array(*s, seed=i) for i, s in enumerate(shapes)]
    agree(lambda m, *xs: m.einsum(equation, *xs), *arrays, scale=20)


def test_einsum_sublists_and_errors():
    agree(lambda m, x, y: m.einsum(x, [0, 1], y, [1, 2], [0, 2]), array(2, 3), array(3, 4))
    assert_same_error(lambda m: m.einsum("ij,jk", m.ones(2, 3), m.ones(4, 5)), reference, message=False)


@pytest.mark.parametrize("dims", [0, 1, 2, ([0], [1]), ([1, 0], [0, 1])])
def test_tensordot(dims):
    agree(lambda m, x, y: m.tensordot(x, y, dims), array(3, 3), array(3, 3, seed=1), scale=10)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0, 3.0, np.inf])
def test_cdist_with_equal_rows(power):
    x = array(3, 4)
    agree(lambda m, a, b: m.cdist(a, b, p=power), x, np.concatenate([x[:1], array(2, 4, seed=1)]), scale=100)


# ---- linear algebra ------------------------------------------------------------------------------


def spd(*lead, n: int = 3):
    """Symmetric positive definite matrices."""
    a = array(*lead, n, n)
    return a @ a.swapaxes(-1, -2) + 3 * np.eye(n, dtype=np.float32)


@pytest.mark.parametrize("lead", [(), (2,), (0,)])
@pytest.mark.parametrize("name", ["cholesky", "inv", "det", "eigvalsh", "svdvals", "matrix_exp", "pinv"])
def test_functions_of_matrices(name, lead):
    matrices = spd(*lead) if name != "matrix_exp" else spd(*lead) / 8
    agree(lambda m, a: getattr(m.linalg, name)(a), matrices, scale=200)


@pytest.mark.parametrize("vector", [False, True])
def test_solve(vector):
    b = array(3) if vector else array(3, 2)
    agree(lambda m, a, b: m.linalg.solve(a, b), spd(), b, scale=50)


@pytest.mark.parametrize("tier", ["reference", "fused"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("place", [(0, 0), (1, 1), (2, 0), (1, 2)])
def test_a_nan_reaches_what_it_reaches_in_lu(place, dtype, tier):
    a = np.stack([spd(), np.eye(3)]).astype(dtype)
    a[(0, *place)] = np.nan
    with engine.forced_tier(tier):
        for fun in (
            lambda m, a: m.linalg.solve(a, m.ones(2, 3, dtype=a.dtype)),
            lambda m, a: m.linalg.inv(a),
            lambda m, a: m.linalg.lu_factor(a)[0],
            lambda m, a: m.linalg.det(a),
        ):
            ours, theirs = [fun(m, m.tensor(a.tolist(), dtype=getattr(m, dtype))).numpy() for m in (torch, reference)]
            np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
            np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-5)


@pytest.mark.parametrize("order", ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_matrix_norm(order):
    agree(lambda m, a: m.linalg.matrix_norm(a, order), array(2, 4, 3), scale=50)


def test_rank_deficient():
    a = array(4, 2) @ array(2, 5, seed=1)
    agree(lambda m, a: m.linalg.matrix_rank(a), a, grad=False)
    agree(lambda m, a: m.linalg.pinv(a, rtol=1e-4), a, scale=500, grad=False)


@pytest.mark.parametrize(
    "fun",
    [
        lambda m: m.linalg.inv(m.ones(2, 3)),
        lambda m: m.linalg.inv(m.ones(3)),
        lambda m: m.linalg.inv(m.ones(2, 2, dtype=m.int64)),
    ],
)
def test_linalg_errors(fun):
    assert_same_error(fun, reference)


@pytest.mark.parametrize(
    "fun",
    [
        lambda m: m.linalg.inv(m.zeros(2, 2)),
        lambda m: m.linalg.solve(m.zeros(2, 2), m.ones(2)),
        lambda m: m.linalg.cholesky(-m.eye(2)),
        lambda m: m.linalg.cholesky(m.diag(m.tensor([1.0, 2.0, -1.0, 4.0]))),
        lambda m: m.linalg.inv(m.zeros(3, 2, 2)),
    ],
)
def test_failures_raise_linalg_error(fun):
    with pytest.raises(reference.linalg.LinAlgError) as theirs:
        fun(reference)
    with pytest.raises(torch.linalg.LinAlgError) as ours:
        fun(torch)
    assert isinstance(ours.value, RuntimeError) and str(ours.value) == str(theirs.value)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("upper", [False, True])
def test_minors_that_are_not_positive(dtype, upper):
    """A trust region's next step takes their order, and the factor of the minors before."""
    draw = np.random.default_rng(0).standard_normal((7, 5, 5))
    matrices = (draw + draw.swapaxes(-1, -2) + 2 * np.arange(7).reshape(-1, 1, 1) * np.eye(5)).astype(dtype)
    matrices[6, 3, 3] = np.nan
    factors, orders = torch.linalg.cholesky_ex(torch.tensor(matrices), upper=upper)
    expected, theirs = reference.linalg.cholesky_ex(reference.tensor(matrices), upper=upper)
    assert orders.tolist() == theirs.tolist() and len({*orders.tolist()}) > 2 and orders.dtype == torch.int32
    for factor, wanted, order in zip(factors.numpy(), expected.numpy(), orders.tolist()):
        if upper:
            factor, wanted = factor.T, wanted.T
        n = order if order else 5
        kept = factor[:n, : n - (order > 0)], wanted[:n, : n - (order > 0)]
        np.testing.assert_allclose(*kept, rtol=1e-4, atol=1e-5)
    assert torch.linalg.cholesky_ex(torch.ones(2, 0, 0)).info.tolist() == [0, 0]


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "hfft", "fft2", "rfft2", "fftn", "ihfft"])
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_fft(name, norm):
    agree(lambda m, x: getattr(m.fft, name)(x, norm=norm).abs().sum(), array(4, 6), scale=20)


def test_irfft_and_shifts():
    agree(lambda m, x: m.fft.irfft(m.fft.rfft(x), n=5), array(3, 7))
    agree(lambda m, x: m.fft.ifftshift(m.fft.fftshift(x)), array(4, 5))
    for n in (0, 5, 6):
        np.testing.assert_allclose(
            torch.fft.fftfreq(n, 0.5).numpy(), reference.fft.fftfreq(n, 0.5).numpy() if n else []
        )
