"""What is computed in forms of its own, for speed: values, derivatives of both orders and odd numbers as PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

from functorch_core import engine
from functorch_core import torch as ours

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore")
TIERS = ("reference", "fused")
TOLERANCE = {"float32": 2e-5, "float64": 1e-10, "bfloat16": 4e-2}


def numbers(*shape, seed=0):
    """Normal numbers of a shape."""
    return np.random.default_rng(seed).standard_normal(shape)


def derivatives(library, fun, arrays, dtype, second):
    """fun's value, its gradients, and the gradients of the sum of their squares, as float64 arrays."""
    xs = [
        library.tensor(a, dtype=getattr(library, dtype), requires_grad=True)
        if a.dtype.kind == "f"
        else library.tensor(a)
        for a in arrays
    ]
    wanted = [x for x in xs if x.requires_grad]
    out = fun(library, *xs)
    cotangent = library.tensor(numbers(*out.shape, seed=5), dtype=out.dtype)
    found = library.autograd.grad(out, wanted, cotangent, create_graph=second)
    results = [out, *found]
    if second:
        results += library.autograd.grad(sum((g * g).sum() for g in found), wanted, allow_unused=True)
    return [None if r is None else np.asarray(r.detach().double().numpy()) for r in results]


def agree(fun, *arrays, dtype="float64", second=True, tiers=TIERS):
    """fun(library, *tensors) of both libraries agree, with their derivatives, however ours is computed."""
    wanted = derivatives(torch, fun, arrays, dtype, second)
    for tier in tiers:
        with engine.forced_tier(tier):
            found = derivatives(ours, fun, arrays, dtype, second)
        for a, b in zip(found, wanted, strict=True):
            if b is None:
                assert a is None or not np.any(a)
                continue
            scale = np.nanmax(np.abs(b[np.isfinite(b)]), initial=1.0)
            np.testing.assert_allclose(a, b, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * scale)


# ---- normalisation -------------------------------------------------------------------------------

LAYER = (lambda t, x, w, b: t.nn.functional.layer_norm(x, w.shape, w, b), numbers(3, 4, 6), numbers(6), numbers(6))
LAYER_OF_TWO = (lambda t, x, w, b: t.nn.functional.layer_norm(x, w.shape, w, b), numbers(3, 4, 6), *[numbers(4, 6)] * 2)
BATCH = (
    lambda t, x, w, b: t.nn.functional.batch_norm(x, None, None, w, b, True),
    numbers(4, 3, 5, 2),
    numbers(3),
    numbers(3),
)
BATCH_OF_VECTORS = (
    lambda t, x, w, b: t.nn.functional.batch_norm(x, None, None, w, b, True),
    numbers(7, 3),
    numbers(3),
    numbers(3),
)
GROUP = (lambda t, x, w, b: t.nn.functional.group_norm(x, 2, w, b), numbers(3, 6, 4, 2), numbers(6), numbers(6))
GROUP_OF_VECTORS = (lambda t, x, w, b: t.nn.functional.group_norm(x, 2, w, b), numbers(3, 6), numbers(6), numbers(6))
INSTANCE = (
    lambda t, x, w, b: t.nn.functional.instance_norm(x, None, None, w, b),
    numbers(3, 4, 6),
    numbers(4),
    numbers(4),
)
NORMS = [LAYER, LAYER_OF_TWO, BATCH, BATCH_OF_VECTORS, GROUP, GROUP_OF_VECTORS, INSTANCE]


@pytest.mark.parametrize("case", NORMS)
@pytest.mark.parametrize("dtype", ("float64", "float32"))
def test_norms(case, dtype):
    fun, *arrays = case
    agree(fun, *arrays, dtype=dtype, second=dtype == "float64")


@pytest.mark.parametrize("case", (LAYER, BATCH, GROUP, INSTANCE))
def test_norms_without_parameters(case):
    fun, x, *_ = case
    none = {
        LAYER[0]: lambda t, x: t.nn.functional.layer_norm(x, x.shape[-1:]),
        BATCH[0]: lambda t, x: t.nn.functional.batch_norm(x, None, None, None, None, True),
        GROUP[0]: lambda t, x: t.nn.functional.group_norm(x, 3),
        INSTANCE[0]: lambda t, x: t.nn.functional.instance_norm(x),
    }[fun]
    agree(none, x)


@pytest.mark.parametrize("case", NORMS)
def test_norms_of_narrow_floats(case):
    fun, *arrays = case
    agree(fun, *arrays, dtype="bfloat16", second=False)


@pytest.mark.parametrize("odd", (np.nan, np.inf))
@pytest.mark.parametrize("case", (LAYER, BATCH, GROUP))
def test_norms_of_odd_numbers(case, odd):
    fun, x, *rest = case
    x = x.copy()
    x.flat[5] = odd
    agree(fun, x, *rest, second=False)


@pytest.mark.parametrize("case", (LAYER, BATCH, GROUP))
def test_norms_far_from_zero(case):
    """float32 numbers whose mean is a thousand times their deviation."""
    fun, x, *rest = case
    wanted = derivatives(torch, fun, [x + 1000, *rest], "float64", False)
    for tier in TIERS:
        with engine.forced_tier(tier):
            found = derivatives(ours, fun, [np.float32(x + 1000), *rest], "float32", False)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, atol=2e-3 * np.abs(b).max())


@pytest.mark.parametrize("shape", ((0, 4, 6), (3, 4, 0)))
def test_norms_of_nothing(shape):
    agree(lambda t, x: t.nn.functional.layer_norm(x, x.shape[-1:]), numbers(*shape), second=False)


LARGE = numbers(2, 32, 132, 32)
LARGE[0, 3, 5, 6], LARGE[1, 30, 2, 1], LARGE[1, 2] = np.nan, np.inf, 0.0
VECTOR = numbers(32, seed=1)


@pytest.mark.parametrize(
    "fun, vectors",
    [
        (lambda t, x, w, b: t.nn.functional.layer_norm(x, (32,), w, b), 2),
        (lambda t, x, w: t.nn.functional.layer_norm(x, (32,), w), 1),
        (lambda t, x: t.nn.functional.layer_norm(x, (132, 32), eps=0.1), 0),
        (lambda t, x, w, b: t.nn.functional.group_norm(x, 8, w, b), 2),
        (lambda t, x, w: t.nn.functional.group_norm(x, 32, w), 1),
        (lambda t, x: t.nn.functional.group_norm(x.transpose(1, 3), 4), 0),
    ],
)
def test_norms_of_large_arrays(fun, vectors):
    """Those of float32 that are computed apart."""
    agree(fun, LARGE, *[VECTOR] * vectors, dtype="float32", second=False, tiers=("reference",))


@pytest.mark.parametrize("inputs", [(0,), (1,), (2,), (0, 1), (0, 1, 2)])
def test_some_gradients_of_large_rows(inputs):
    """Those that are wanted, and their own gradients, of rows whose gradients oneDNN computes."""
    arrays, found = [numbers(1200, 256), numbers(256, seed=1), numbers(256, seed=2)], []
    for library in (ours, torch):
        x, w, b = (library.tensor(a, dtype=library.float32, requires_grad=i in inputs) for i, a in enumerate(arrays))
        with engine.forced_tier("reference"):
            out = library.nn.functional.layer_norm(x, (256,), w, b)
            wanted = [(x, w, b)[i] for i in inputs]
            grads = library.autograd.grad((out**3).sum(), wanted, create_graph=True)
            second = library.autograd.grad(sum((g**2).sum() for g in grads), wanted, allow_unused=True)
            found.append([g.detach().numpy() for g in (*grads, *second) if g is not None])
    for ours_, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours_, theirs, rtol=1e-3, atol=1e-4 * np.abs(theirs).max())


@pytest.mark.parametrize(
    "shape, dim", [((3, 5), 1), ((2, 3, 4), (1, 2)), ((7,), 0), ((2, 8192), 1), ((4099,), 0), ((3, 4), 0)]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lengths(shape, dim, dtype):
    """Of rows that NumPy takes as inner products, and of others: long, of a prime size, across."""
    x = numbers(*shape)
    agree(lambda t, x: x.norm(dim=dim), x, dtype=dtype, second=False)
    agree(lambda t, x: t.linalg.vector_norm(x.T, dim=0), numbers(4, 6), dtype=dtype, second=False)


def test_lengths_of_odd_rows():
    odd = np.array([[np.nan, 1], [np.inf, 1], [-np.inf, np.inf], [0, 0], [3, 4], [1e30, 1e30], [-0.0, 1e-30]])
    agree(lambda t, x: x.norm(dim=1), odd, dtype="float32", second=False)
    agree(lambda t, x: x.norm(dim=1), np.zeros((0, 3)), dtype="float32", second=False)
    agree(lambda t, x: x.norm(dim=1), np.zeros((3, 0)), dtype="float32", second=False)


def test_norms_in_forward_mode_and_batched():
    fun, x, w, b = LAYER
    group, y, u, v = GROUP

    def program(t):
        x_, w_, b_, y_, u_, v_ = (t.tensor(a) for a in (x, w, b, y, u, v))
        tangents = tuple(t.tensor(numbers(*a.shape, seed=3)) for a in (x, w, b))
        forward = t.func.jvp(lambda *a: fun(t, *a), (x_, w_, b_), tangents)
        each = t.func.vmap(t.func.grad(lambda a: (group(t, a[None], u_, v_) ** 3).sum()))(y_)
        hessian = t.func.hessian(lambda w: (fun(t, x_, w, b_) ** 3).sum())(w_)
        crossed = t.func.jacfwd(t.func.grad(lambda a: (fun(t, a, w_, b_) ** 3).sum()))(x_)
        return [*forward, each, hessian, crossed]

    for a, b_ in zip(program(ours), program(torch), strict=True):
        np.testing.assert_allclose(a.numpy(), b_.numpy(), rtol=1e-8, atol=1e-10)


# ---- softmax and its kin ---------------------------------------------------------------------------

ROWS = np.stack(
    [
        np.linspace(-2, 2, 8),
        np.full(8, np.nan),
        np.array([np.nan, *range(7)]),
        np.array([-np.inf, *range(7)]),
        np.array([np.inf, *range(7)]),
        np.array([np.nan, np.inf, -np.inf, *range(5)]),
        np.full(8, -np.inf),
    ]
)


@pytest.mark.parametrize("name", ("softmax", "log_softmax", "logsumexp"))
@pytest.mark.parametrize("repeated", (1, 400))
@pytest.mark.parametrize("dtype", ("float32", "float64", "bfloat16"))
def test_rows_with_odd_numbers(name, repeated, dtype):
    agree(lambda t, x: getattr(t, name)(x, 1), np.tile(ROWS, (repeated, 1)), dtype=dtype, second=False)


# ---- distances -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "left, right",
    (((30, 4), (28, 4)), ((26, 3), (1, 3)), ((2, 1, 30, 4), (3, 27, 4)), ((30, 4), (0, 4)), ((30, 0), (30, 0))),
)
def test_distances_by_products(left, right):
    def program(library, x, y):
        return library.cdist(x, y)

    agree(program, numbers(*left), numbers(*right, seed=1), second=False)
    agree(program, numbers(*left), numbers(*right, seed=1), dtype="float32", second=False)


def test_distances_to_oneself_and_to_odd_numbers():
    x = np.repeat(numbers(15, 3), 2, axis=0)
    x[7] = np.nan
    found = ours.cdist(ours.tensor(x), ours.tensor(x)).numpy()
    wanted = torch.cdist(torch.tensor(x), torch.tensor(x)).numpy()
    np.testing.assert_allclose(found, wanted, atol=3e-8)


@pytest.mark.parametrize("left, right", (((40, 8), (33, 8)), ((30, 70), (64, 70)), ((3, 40, 16), (3, 26, 16))))
def test_compiled_distances(left, right):
    x, y = numbers(*left).astype("f"), numbers(*right, seed=1).astype("f")
    x[..., 1, :], x[..., 2, 0], y[..., 3, 0], y[..., 5, :] = np.nan, np.inf, -np.inf, x[..., 0, :]
    with engine.forced_tier("fused"):
        found = ours.cdist(ours.tensor(x), ours.tensor(y)).numpy()
    wanted = torch.cdist(torch.tensor(x), torch.tensor(y)).numpy()
    np.testing.assert_allclose(found**2, wanted**2, rtol=1e-5, atol=1e-4)  # of equal points the roots are noise


@pytest.mark.parametrize("mode", ("use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"))
def test_distances_in_either_way(mode):
    agree(lambda t, x, y: t.cdist(x, y, compute_mode=mode), numbers(5, 3), numbers(30, 3, seed=1), second=False)


def test_second_derivatives_of_distances():
    """PyTorch has none of cdist: those of the formula."""
    x, y = numbers(30, 3), numbers(4, 3, seed=1)

    def of(library, distances):
        a = library.tensor(x, requires_grad=True)
        (g,) = library.autograd.grad(distances(a, library.tensor(y)).sum(), a, create_graph=True)
        return library.autograd.grad((g * g * g).sum(), a)[0].numpy()

    wanted = of(torch, lambda a, b: ((a[:, None] - b) ** 2).sum(2).sqrt())
    np.testing.assert_allclose(of(ours, ours.cdist), wanted, rtol=1e-8, atol=1e-10)


# ---- sampling --------------------------------------------------------------------------------------


@pytest.mark.parametrize("padding", ("zeros", "border", "reflection"))
@pytest.mark.parametrize("mode", ("bilinear", "nearest", "bicubic"))
def test_grid_sample(mode, padding):
    image, places = numbers(2, 3, 5, 4), 0.8 * numbers(2, 6, 2, 2, seed=1)

    def program(t, x, g):
        return t.nn.functional.grid_sample(x, g, mode=mode, padding_mode=padding, align_corners=False)

    agree(program, image, places, second=False)
    image[0, 0, 2, 2], places[1, 2, 1, 0] = np.inf, np.nan
    if mode == "bilinear":  # at the border: beside it is nothing, not 0 times it
        image[1, 1, 0] = np.inf
    if padding == "zeros" and mode != "bicubic":
        agree(program, image, places, second=False)


@pytest.mark.parametrize("shape, places", (((2, 3, 2, 4, 3), (2, 2, 3, 2, 3)), ((0, 3, 2, 4, 3), (0, 2, 3, 2, 3))))
def test_grid_sample_of_volumes(shape, places):
    def program(t, x, g):
        return t.nn.functional.grid_sample(x, g, align_corners=True)

    agree(program, numbers(*shape), 0.8 * numbers(*places, seed=1), second=False)


def test_second_derivatives_of_grid_sample():
    """PyTorch has none: those of differences."""
    x, g = numbers(1, 2, 4, 4), 0.6 * numbers(1, 3, 3, 2, seed=1)

    def slope(grid):
        a = ours.tensor(x, requires_grad=True)
        out = ours.nn.functional.grid_sample(a, grid, align_corners=False)
        return ours.autograd.grad((out**3).sum(), a, create_graph=True)[0].square().sum()

    at = ours.tensor(g, requires_grad=True)
    (found,) = ours.autograd.grad(slope(at), at)
    for i in range(0, g.size, 5):
        step = np.zeros(g.size)
        step[i] = 1e-6
        up, down = (slope(ours.tensor(g + s * step.reshape(g.shape))).item() for s in (1, -1))
        np.testing.assert_allclose(found.numpy().flat[i], (up - down) / 2e-6, rtol=1e-5, atol=1e-5)


PAIRS = {
    "usual": lambda x: x,
    "far from 0": lambda x: x * 1e-3 + 1000,
    "equal and close ones": lambda x: np.concatenate([x[:30], x[:30], x[30:] * 1e-6 + x[0]]),
    "two groups": lambda x: x + 1e4 * (np.arange(len(x)) % 2)[:, None],
    "beyond float32's squares": lambda x: x * 1e25,
    "an infinity": lambda x: np.concatenate([x, np.full((1, x.shape[1]), np.inf)]),
    "few": lambda x: x[:5],
    "more than are multiplied at once": lambda x: np.tile(x, (5, 1)) + np.arange(5 * len(x))[:, None] * 1e-2,
}


@pytest.mark.parametrize("case", PAIRS)
@pytest.mark.parametrize("tier", TIERS)
def test_distances_of_pairs_by_products(case, tier):
    """Of close ones as exact as by differences; their gradients are products, too."""
    x = PAIRS[case](numbers(60, 7)).astype(np.float32)
    first, second = np.triu_indices(len(x), 1)
    squares = (x[first].astype(np.float64) - x[second]) ** 2
    wanted = np.sqrt(squares.sum(1).astype(np.float32))
    cotangent = numbers(len(wanted), seed=1).astype(np.float32)
    found = []
    with engine.forced_tier(tier):
        for library in (torch, ours):
            rows = library.tensor(x, requires_grad=True)
            out = library.nn.functional.pdist(rows)
            out.backward(library.tensor(cotangent))
            found.append((out.detach().numpy(), rows.grad.numpy()))
    (theirs, wanted_gradient), (distances, gradient) = found
    np.testing.assert_allclose(distances, wanted, rtol=3e-7 if tier == "reference" else 2e-6)
    np.testing.assert_array_equal(distances == 0, theirs == 0)
    np.testing.assert_allclose(gradient, wanted_gradient, rtol=2e-5, atol=2e-4)


@pytest.mark.parametrize(("size", "out"), (((7, 6), (5, 9)), ((13, 17), (5, 4)), ((64, 3), (7, 4)), ((6, 6), (7, 6))))
def test_means_of_uneven_bins(size, out):
    agree(lambda library, x: library.nn.functional.adaptive_avg_pool2d(x, out) ** 2, numbers(2, 3, *size))
