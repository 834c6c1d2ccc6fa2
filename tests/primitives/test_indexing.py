"""gather and the scatter family: every rule, and the references against loops over elements."""

import itertools

import numpy as np
import pytest
import torch

from functorch_core import primitives as p
from functorch_core.core import dtypes as dt
from functorch_core.core.lowering import lower
from functorch_core.core.reference import Reference
from functorch_core.core.trace import evaluate
from functorch_core.primitives.scattering import _scatter_last
from functorch_core.transforms.transpose import vjp
from tests.primitives.check import check, check_lowering, close, compiled, graph_of

RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, 3, 5))


# ---- oracles: XLA's definition, element by element -----------------------------------------------


def places(operand, indices, p_):
    """(index into the outer array, index into the operand or None) for every outer element."""
    kept = [d for d in range(operand.ndim) if d not in (*p_["dropped"], *p_["operand_batch"])]
    window_shape = [p_["sizes"][d] for d in kept]
    outer_ndim = indices.ndim - 1 + len(kept)
    scatter_dims = [i for i in range(outer_ndim) if i not in p_["window_dims"]]
    for at in np.ndindex(*indices.shape[:-1]):
        start = [0] * operand.ndim
        for k, d in enumerate(p_["index_map"]):
            start[d] = int(indices[at][k])
        for d, i in zip(p_["operand_batch"], p_["indices_batch"]):
            start[d] = at[i]
        limits = [n - s for n, s in zip(operand.shape, p_["sizes"])]
        inside = all(0 <= b <= e for b, e in zip(start, limits))
        if p_["clip"]:
            start = [min(max(b, 0), e) for b, e in zip(start, limits)]
        for window in np.ndindex(*window_shape):
            outer, place = [0] * outer_ndim, list(start)
            for i, v in [*zip(scatter_dims, at), *zip(p_["window_dims"], window)]:
                outer[i] = v
            for d, v in zip(kept, window):
                place[d] += v
            yield tuple(outer), tuple(place) if inside or p_["clip"] else None


def gather_oracle(operand, indices, out_shape, fill, **numbers):
    out = np.full(out_shape, fill, operand.dtype)
    for outer, place in places(operand, indices, numbers):
        if place is not None:
            out[outer] = operand[place]
    return out


COMBINE = {"set": lambda a, b: b, "add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def scatter_oracle(operand, indices, updates, combine, **numbers):
    out = operand.copy()
    for outer, place in places(operand, indices, numbers):
        if place is not None:
            out[place] = COMBINE[combine](out[place], updates[outer])
    return out


def random_numbers(rng):
    """A random operand shape, indices shape and dimension numbers that fit."""
    ndim = int(rng.integers(1, 4))
    shape = tuple(int(n) for n in rng.integers(1, 5, ndim))
    batch = [d for d in range(ndim) if rng.random() < 0.25]
    rest = [d for d in range(ndim) if d not in batch]
    index_map = [int(d) for d in rng.permutation(rest)[: rng.integers(0, len(rest) + 1)]]
    sizes = [1 if d in batch else int(rng.integers(0 if d not in index_map else 1, n + 1)) for d, n in enumerate(shape)]
    dropped = [d for d in rest if rng.random() < 0.5]
    for d in dropped:
        sizes[d] = 1
    free = [int(n) for n in rng.integers(0, 4, rng.integers(0, 3))]
    scatter_shape = [*free, *(shape[d] for d in batch)]
    order = rng.permutation(len(scatter_shape))
    indices_batch = [int(np.flatnonzero(order == len(free) + k)[0]) for k in range(len(batch))]
    scatter_shape = [scatter_shape[i] for i in order]
    kept = ndim - len(dropped) - len(batch)
    outer_ndim = len(scatter_shape) + kept
    window = sorted(int(i) for i in rng.choice(outer_ndim, kept, replace=False))
    numbers = dict(
        sizes=sizes,
        index_map=index_map,
        dropped=dropped,
        window_dims=window,
        operand_batch=batch,
        indices_batch=indices_batch,
    )
    return shape, (*scatter_shape, len(index_map)), numbers


def as_gather(n):
    return dict(
        offset_dims=n["window_dims"],
        collapsed_slice_dims=n["dropped"],
        start_index_map=n["index_map"],
        slice_sizes=n["sizes"],
        operand_batching_dims=n["operand_batch"],
        start_indices_batching_dims=n["indices_batch"],
    )


def as_scatter(n):
    return dict(
        update_window_dims=n["window_dims"],
        inserted_window_dims=n["dropped"],
        scatter_dims_to_operand_dims=n["index_map"],
        operand_batching_dims=n["operand_batch"],
        scatter_indices_batching_dims=n["indices_batch"],
    )


@pytest.mark.parametrize("seed", range(150))
def test_gather_and_scatter_references_against_loops(seed):
    rng = np.random.default_rng(seed)
    shape, indices_shape, n = random_numbers(rng)
    x = rng.standard_normal(shape)
    indices = rng.integers(-2, 6, indices_shape)
    for mode, clip in (("clip", True), ("fill", False)):
        out = p.gather(x, indices, mode=mode, fill_value=-7.0, **as_gather(n))
        close(out, gather_oracle(x, indices, out.shape, -7.0, clip=clip, **n))
    updates = rng.standard_normal(out.shape)
    for combine, (mode, clip) in itertools.product(COMBINE, (("clip", True), ("drop", False))):
        found = p.scatter(x, indices, updates, mode=mode, combine=combine, **as_scatter(n))
        close(found, scatter_oracle(x, indices, updates, combine, clip=clip, **n), 1e-12, combine)


@pytest.mark.parametrize("seed", range(12))
def test_random_gather_rules(seed):
    rng = np.random.default_rng(1000 + seed)
    shape, indices_shape, n = random_numbers(rng)
    mode = ("clip", "fill")[seed % 2]
    check(
        lambda x, i: p.gather(x, i, mode=mode, fill_value=2.0, **as_gather(n)),
        rng.standard_normal(shape),
        rng.integers(-2, 6, indices_shape),
        order=1,
    )


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("combine", ("set", "add", "max"))
def test_random_scatter_rules(combine, seed):
    rng = np.random.default_rng(2000 + seed)
    shape, indices_shape, n = random_numbers(rng)
    mode = ("clip", "drop")[seed % 2]
    x, indices = rng.standard_normal(shape), rng.integers(-2, 6, indices_shape)
    updates = rng.standard_normal(p.gather(x, indices, **as_gather(n)).shape)
    check(lambda x, i, u: p.scatter(x, i, u, mode=mode, combine=combine, **as_scatter(n)), x, indices, updates, order=1)


@pytest.mark.parametrize("combine", ("set", "add", "max"))
@pytest.mark.parametrize(
    "shape, indices, updates, numbers",
    [
        ((), (3, 0), (3,), {}),
        ((2,), (3, 0), (3, 1), {"update_window_dims": (1,)}),
        ((2,), (3, 0), (3,), {"inserted_window_dims": (0,)}),
        ((2,), (2, 3, 0), (2, 3), {"operand_batching_dims": (0,), "scatter_indices_batching_dims": (0,)}),
    ],
)
def test_scatter_with_empty_indices(combine, shape, indices, updates, numbers):
    """All updates go to the first place."""
    rng = np.random.default_rng(0)
    names = (
        "update_window_dims inserted_window_dims scatter_dims_to_operand_dims operand_batching_dims"
        " scatter_indices_batching_dims"
    ).split()
    given = {**dict.fromkeys(names, ()), **numbers, "mode": "clip", "combine": combine}
    arrays = rng.standard_normal(shape), np.zeros(indices, np.int32), rng.standard_normal(updates)
    check(lambda x, i, u: p.scatter(x, i, u, **given), *arrays, order=1)


# ---- particular cases ----------------------------------------------------------------------------

ROWS = np.array([2, 0, 2, -1, 9])
UNIQUE = np.array([2, 0, 9])
ALONG = RNG.integers(-2, 6, (4, 3, 5))


def scattered(combine, unique=False, mode="drop"):
    params = dict(axis=0, combine=combine, unique=unique, mode=mode)
    return lambda x, i, u: p.scatter_axis(x, i, u, **params)


CASES = {
    # ---- reading
    "take": (lambda x, i: p.take(x, i, axis=1), X, ROWS),
    "take_fill": (lambda x, i: p.take(x, i, axis=2, mode="fill", fill_value=1.0), X, ROWS[:4].reshape(2, 2)),
    "take_0d": (lambda x, i: p.take(x, i, axis=0), X, ROWS[1]),
    "take_empty": (lambda x, i: p.take(x, i, axis=0), X, ROWS[:0]),
    "take_inside": (lambda x, i: p.take(x, i, axis=0, mode="promise_in_bounds"), X, np.array([3, 0])),
    "take_complex": (lambda x, i: p.take(x, i, axis=0), X + 1j, ROWS),
    "take_along_axis": (lambda x, i: p.take_along_axis(x, i, axis=1), X, ALONG),
    "take_along_fill": (lambda x, i: p.take_along_axis(x, i, axis=1, mode="fill", fill_value=0), X, ALONG),
    # ---- writing
    "set": (scattered("set"), X, ROWS, RNG.standard_normal((5, 3, 5))),
    "set_unique": (scattered("set", unique=True), X, UNIQUE, RNG.standard_normal((3, 3, 5))),
    "add_clip": (scattered("add", mode="clip"), X, ROWS, RNG.standard_normal((5, 3, 5))),
    "mul_unique": (scattered("mul", unique=True), X, UNIQUE, RNG.standard_normal((3, 3, 5))),
    "min": (scattered("min"), X, ROWS, RNG.standard_normal((5, 3, 5))),
    "set_along_axis": (lambda x, i, u: p.scatter_along_axis(x, i, u, axis=1), X, ALONG, X[:, ::-1]),
    "add_along_axis": (lambda x, i, u: p.scatter_along_axis(x, i, u, axis=1, combine="add"), X, ALONG, X[:, ::-1]),
    "into_nothing": (scattered("add"), X[:0], ROWS, RNG.standard_normal((5, 3, 5))),
}


@pytest.mark.parametrize("case", CASES)
def test_rules(case):
    fun, *arrays = CASES[case]
    check(fun, *arrays)


def test_scatter_mul_by_operand_with_repeated_indices():
    check(scattered("mul"), X, ROWS, RNG.standard_normal((5, 3, 5)), diff=(0,))


def test_scatter_mul_by_repeated_updates_refuses():
    with pytest.raises(NotImplementedError, match="unique=True"):
        check(scattered("mul"), X, ROWS, RNG.standard_normal((5, 3, 5)), rules=("jvp",))


def test_extremum_shares_the_derivative_among_ties():
    x, i, u = np.array([1.0, 5.0, 2.0]), np.array([0, 0, 1, 2]), np.array([1.0, 1.0, 5.0, 9.0])
    v = vjp(graph_of(lambda *a: p.scatter_axis(*a, axis=0, combine="max"), [x, i, u]), (True, False, True))
    _, *residuals = evaluate(v.forward, [x, i, u])
    ct_x, ct_u = evaluate(v.backward, [*residuals, np.ones(3)])
    tx, tu = (torch.tensor(a, requires_grad=True) for a in (x, u))
    tx.scatter_reduce(0, torch.tensor(i), tu, "amax").sum().backward()
    close(ct_x, tx.grad.numpy())
    close(ct_u, tu.grad.numpy())


@pytest.mark.parametrize("dtype", sorted(dt.ALL, key=str), ids=str)
def test_lowering_of_dtype(dtype):
    x = np.arange(12).reshape(4, 3).astype(dtype)
    i, u = np.array([3, 7, 0, 3]), np.arange(1, 13).reshape(4, 3).astype(dtype)

    def every(x, i, u):
        combines = ["set", "add", "mul"] + (["min", "max"] if dtype in dt.ORDERED else [])
        return [p.take(x, i, axis=0, mode="fill"), p.take(x, i, axis=1), *(scattered(c)(x, i, u) for c in combines)]

    check_lowering(graph_of(every, [x, i, u]), [x, i, u])


@pytest.mark.parametrize("dtype", sorted(dt.INTEGER, key=str), ids=str)
def test_index_dtypes(dtype):
    info = dt.iinfo(dtype)
    x = np.arange(300.0)
    i = np.array([info.min, info.max, 5, 5, 100], dtype)

    def every(x, i):
        return [
            p.take(x, i, axis=0),
            p.take(x, i, axis=0, mode="fill"),
            scattered("set")(x, i, p.take(x, i, axis=0)),
            scattered("add", mode="clip")(x, i, p.take(x, i, axis=0)),
            p.take(x, p.wrap_negative(i, 300), axis=0, mode="fill"),
        ]

    graph = graph_of(every, [x, i])
    check_lowering(graph, [x, i])
    clipped = np.clip(i.astype(object), 0, 299).astype(int)
    close(evaluate(graph, [x, i])[0], x[clipped])


def test_default_fill():
    for dtype, wanted in [("float32", np.nan), ("complex64", np.nan), ("int8", -128), ("uint8", 255), ("bool", True)]:
        x = np.zeros(3, dtype)
        close(p.take(x, np.array([5]), axis=0, mode="fill"), np.array([wanted]).astype(dtype))
        close(p.take(x[:0], np.array([5]), axis=0, mode="fill"), np.array([wanted]).astype(dtype))


@pytest.mark.parametrize("i, expected", [(2, 2.0), (4, np.nan), (-1, np.nan)])
def test_one_number_by_a_single_index(i, expected):
    graph = graph_of(
        lambda x, i: p.gather(
            x, i, offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,), slice_sizes=(1,), mode="fill"
        ),
        [np.arange(4, dtype=np.float32), np.array([i])],
    )
    program = Reference(graph)
    for _ in range(2):  # the first run and a further one
        (found,) = program([np.arange(4, dtype=np.float32), np.array([i])])
        np.testing.assert_array_equal(found, np.float32(expected))


def test_helpers_against_torch():
    i = np.array([[3, 0, 3], [1, 1, 2]])
    close(p.take(X, i, axis=0), X[i])
    close(p.take(X, i % 3, axis=1), X[:, i % 3])
    along = RNG.integers(0, 3, (4, 7, 5))
    found = p.take_along_axis(X, along, axis=1)
    close(found, torch.gather(torch.tensor(X), 1, torch.tensor(along)).numpy())
    close(p.take(X, p.wrap_negative(np.array([-1, 2, -4]), 4), axis=0), X[[-1, 2, -4]])
    updates = RNG.standard_normal(along.shape)
    for combine, reduce in [("add", "sum"), ("mul", "prod"), ("max", "amax"), ("min", "amin")]:
        tensors = torch.tensor(X), 1, torch.tensor(along), torch.tensor(updates)
        found = p.scatter_along_axis(X, along, updates, axis=1, combine=combine)
        close(found, torch.scatter_reduce(*tensors, reduce).numpy(), 1e-12)
    rows = RNG.standard_normal((2, 3, 3, 5))
    flat = torch.tensor(rows.reshape(6, 3, 5))
    wanted = torch.tensor(X).index_add(0, torch.tensor(i.ravel()), flat)
    close(p.scatter_axis(X, i, rows, axis=0, combine="add"), wanted.numpy(), 1e-12)


def test_last_update_stays():
    i = RNG.integers(0, 7, 5000)
    graph = graph_of(scattered("set"), [np.zeros(7), i, np.arange(5000.0)])
    wanted = np.array([np.flatnonzero(i == k).max() for k in range(7)], float)
    for run in (evaluate, compiled):
        close(run(graph, [np.zeros(7), i, np.arange(5000.0)])[0], wanted)


@pytest.mark.parametrize("seed", range(20))
def test_set_for_parallel_hardware(seed):
    rng = np.random.default_rng(seed)
    shape, indices_shape, n = random_numbers(rng)
    x, i = rng.standard_normal(shape), rng.integers(-2, 6, indices_shape)
    u = rng.standard_normal(p.gather(x, i, **as_gather(n)).shape)
    params = {k: tuple(v) for k, v in as_scatter(n).items()}
    close(_scatter_last(x, i, u, mode="drop", **params), p.scatter(x, i, u, **params))


def test_derivative_of_set_by_promise():
    """unique=True needs no search for the last update."""

    def nodes(unique):
        graph = graph_of(scattered("set", unique=unique), [X, UNIQUE, X[:3]])
        return {n.primitive.name for n in vjp(graph, (True, False, True)).backward.nodes}

    assert "scatter_max" in nodes(False)
    assert "scatter_max" not in nodes(True)


def test_lowers_for_cuda():
    for fun, *arrays in CASES.values():
        assert lower(graph_of(fun, arrays), "cuda").text


NUMBERS = dict(offset_dims=(1, 2), collapsed_slice_dims=(0,), start_index_map=(0,), slice_sizes=(1, 3, 5))
ERRORS = [
    (lambda: p.gather(X, ROWS, **NUMBERS), ValueError, "last dimension of the indices is not 1"),
    (lambda: p.gather(X, ROWS[:, None] / 2, **NUMBERS), TypeError, "integer"),
    (lambda: p.gather(X, ROWS[:, None], **{**NUMBERS, "offset_dims": (2, 1)}), ValueError, "increasing"),
    (lambda: p.gather(X, ROWS[:, None], **{**NUMBERS, "offset_dims": (1,)}), ValueError, "2 window dimensions"),
    (lambda: p.gather(X, ROWS[:, None], **{**NUMBERS, "slice_sizes": (1, 3, 6)}), ValueError, "fit"),
    (lambda: p.gather(X, ROWS[:, None], **{**NUMBERS, "slice_sizes": (2, 3, 5)}), ValueError, "size other than 1"),
    (lambda: p.gather(X, ROWS[:, None], **{**NUMBERS, "start_index_map": (3,)}), ValueError, "distinct"),
    (lambda: p.gather(X, ROWS[:, None], mode="wrap", **NUMBERS), ValueError, "'wrap'"),
    (lambda: scattered("sum")(X, ROWS, X), ValueError, "'sum'"),
    (lambda: scattered("add")(X, ROWS, X), ValueError, "shape"),
    (lambda: scattered("add")(X, ROWS, X[ROWS % 4].astype("f4")), TypeError, "convert"),
    (lambda: scattered("max")(X + 1j, ROWS, X[ROWS % 4] + 1j), TypeError, "real or bool"),
    (lambda: p.take(X[:0], ROWS, axis=0), IndexError, "size 0"),
    (lambda: p.take_along_axis(X, ROWS, axis=0), ValueError, "agree"),
]


@pytest.mark.parametrize("call, error, words", ERRORS)
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
@pytest.mark.parametrize("count", [5, 3000])
@pytest.mark.parametrize("axis", [0, 1])
def test_reading_many_places_some_of_them_outside(axis, count, dtype):
    rng = np.random.default_rng(count)
    x = rng.standard_normal((40, 50, 3)).astype(np.float32)
    inside = rng.integers(0, x.shape[axis], count).astype(dtype)
    outside = inside.copy()
    outside[::7] = 255 if dtype == np.uint8 else -1
    outside[1::7] = 77
    for i in (inside, outside):
        clipped = np.clip(i.astype(np.int64), 0, x.shape[axis] - 1)
        wanted = np.take(x, clipped, axis=axis)
        graph = graph_of(lambda t, j: p.take(t, j, axis=axis), [x, i])
        np.testing.assert_array_equal(Reference(graph)([x, i])[0], wanted)
        filled = graph_of(lambda t, j: p.take(t, j, axis=axis, mode="fill"), [x, i])
        where = (i == clipped).reshape((1,) * axis + (-1,) + (1,) * (2 - axis))
        np.testing.assert_array_equal(Reference(filled)([x, i])[0], np.where(where, wanted, np.nan).astype(np.float32))
    along = rng.integers(-5, 60, (40, count, 3))
    graph = graph_of(lambda t, j: p.take_along_axis(t, j, axis=1), [x, along])
    np.testing.assert_array_equal(Reference(graph)([x, along])[0], np.take_along_axis(x, np.clip(along, 0, 49), 1))
