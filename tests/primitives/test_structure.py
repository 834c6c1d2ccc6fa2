"""Structure and slicing primitives: every rule, and the references against plain NumPy."""

import numpy as np
import pytest

from functorch_core import primitives as p
from functorch_core.core import dtypes as dt
from functorch_core.core.aval import aval
from functorch_core.core.graph import cse
from functorch_core.core.lowering import lower
from functorch_core.core.trace import trace_closed
from tests.primitives.check import check, check_lowering, close, graph_of

X = np.arange(24.0).reshape(2, 3, 4) + 0.5
Z = X + 1j * X[::-1]
V = np.float64(2.0)
I1, J1 = np.int32(1), np.int32(-5)

CASES = {
    # ---- structure
    "copy": (p.copy, X),
    "name": (lambda x: p.name(x, name="here"), X),
    "barrier": (p.optimization_barrier, X, X[0]),
    "barrier_of_ints": (lambda x, i: p.optimization_barrier(x, i), X, np.arange(3)),
    "expand_dims": (lambda x: p.squeeze(p.expand_dims(x, dims=(1, 4)), dims=(1,)), X),
    # ---- slice, concatenate, reverse
    "slice": (lambda x: p.slice(x, start=(0, 1, 0), limit=(2, 3, 4), strides=(1, 1, 3)), X),
    "slice_empty": (lambda x: p.slice(x, start=(2, 1, 0), limit=(2, 3, 4), strides=(2, 1, 1)), X),
    "slice_complex": (lambda x: p.slice_in_dim(x, start=1, limit=4, stride=2, dimension=2), Z),
    "concatenate": (lambda x, y: p.concatenate(x, y, x, dimension=1), X, X[:, :1]),
    "concatenate_empty": (lambda x, y: p.concatenate(y, x, dimension=2), X, X[:, :, :0]),
    "concatenate_many": (lambda x, y: p.concatenate(*[x, y, x] * 4, dimension=1), X, X),
    "stack": (lambda x, y: p.stack(x, y, x, dimension=1), X, X),
    "stack_last": (lambda x, y: p.stack(x, y, dimension=3), Z, Z),
    "stack_0d": (lambda x, y: p.stack(x, y, y, dimension=0), V, V),
    "stack_empty": (lambda x, y: p.stack(x, y, dimension=0), X[:0], X[:0]),
    "unstack": (lambda x: p.unstack(x, dimension=2), X),
    "unstack_complex": (lambda x: p.unstack(x, dimension=0)[1], Z),
    "unstack_to_0d": (lambda x: p.unstack(x, dimension=0), X[0, 0]),
    "reverse": (lambda x: p.reverse(x, dims=(0, 2)), X),
    "reverse_strided": (lambda x: p.reverse(x, dims=(1,)), X[::-1, :, ::2]),
    # ---- pad
    "pad": (lambda x, v: p.pad(x, v, low=(1, 0, 2), high=(0, 3, 0), interior=(2, 0, 1)), X, V),
    "pad_negative": (lambda x, v: p.pad(x, v, low=(-1, 2, -2), high=(0, -2, -1), interior=(2, 1, 1)), X, V),
    "pad_all_away": (lambda x, v: p.pad(x, v, low=(-1, -3, 5), high=(-1, 2, -8)), X, V),
    "pad_empty": (lambda x, v: p.pad(x, v, low=(1, 1, 1), high=(0, 0, 0), interior=(1, 2, 3)), X[:, :0], V),
    "pad_complex": (lambda x, v: p.pad(x, v, low=(1, -1, 0), high=(0, 0, 0)), Z, np.complex128(1j)),
    "pad_0d": (lambda x, v: p.pad(x, v, low=(), high=()), V, V),
    # ---- dynamic
    "dynamic_slice": (lambda x, i, j: p.dynamic_slice(x, i, j, i, sizes=(1, 2, 3)), X, I1, J1),
    "dynamic_slice_far": (lambda x, i: p.dynamic_slice(x, i, i, i, sizes=(1, 2, 3)), X, np.uint64(2**64 - 1)),
    "dynamic_slice_empty": (lambda x, i: p.dynamic_slice(x, i, i, i, sizes=(1, 0, 3)), X, I1),
    "dynamic_slice_0d": (lambda x: p.dynamic_slice(x, sizes=()), V),
    "dynamic_update_slice": (lambda x, u, i, j: p.dynamic_update_slice(x, u, i, j, i), X, -X[:1, :2, 1:], I1, J1),
    "dynamic_update_slice_int8": (
        lambda x, u, i: p.dynamic_update_slice(x, u, i),
        np.arange(300.0),
        np.arange(3.0),
        np.int8(127),
    ),
    "dynamic_update_slice_0d": (lambda x, u: p.dynamic_update_slice(x, u), V, V + 1),
}


@pytest.mark.parametrize("case", CASES)
def test_rules(case):
    fun, *arrays = CASES[case]
    check(fun, *arrays)


@pytest.mark.parametrize("dtype", sorted(dt.ALL, key=str), ids=str)
def test_lowering_of_dtype(dtype):
    def everything(x, v, i):
        padded = p.pad(x, v, low=(1, -1), high=(0, 2), interior=(1, 0))
        part = p.dynamic_slice(x, i, i, sizes=(2, 2))
        both = p.concatenate(p.reverse(x, dims=(0,)), x, dimension=1)
        return (
            padded,
            part,
            both,
            p.dynamic_update_slice(x, part, i, i),
            p.copy(x),
            p.slice(x, start=(0, 1), limit=(3, 4), strides=(2, 2)),
        )

    x = np.arange(12).reshape(3, 4).astype(dtype)
    check(everything, x, x[0, 1], np.int16(1), rules=("lower", "batch"))


@pytest.mark.parametrize("dtype", sorted(dt.NUMERIC, key=str), ids=str)
def test_iota(dtype):
    graph = graph_of(lambda: p.iota(shape=(3, 300), dtype=dtype, dimension=1), [])
    check_lowering(graph, [])


def test_iota_against_numpy():
    for shape, d in [((4,), 0), ((2, 3), 0), ((2, 0, 3), 2), ((2, 3, 4), 1)]:
        close(p.iota(shape=shape, dtype=np.int64, dimension=d), np.indices(shape)[d])


def pad_oracle(x, value, low, high, interior):
    """One dimension after the other, row by row: dilate, surround, cut."""
    for d, (before, after, between) in enumerate(zip(low, high, interior)):
        x = np.moveaxis(x, d, 0)
        filler, rows = np.full(x.shape[1:], value), []
        for k, row in enumerate(x):
            rows += [filler] * (between if k else 0) + [row]
        rows = [filler] * max(before, 0) + rows + [filler] * max(after, 0)
        rows = rows[max(-before, 0) : len(rows) - max(-after, 0)]
        x = np.moveaxis(np.array(rows).reshape(len(rows), *x.shape[1:]), 0, d)
    return x


def test_pad_reference_against_loop():
    rng = np.random.default_rng(0)
    tried = 0
    for _ in range(500):
        ndim = rng.integers(1, 4)
        x = rng.standard_normal(rng.integers(0, 4, ndim))
        low, high = (tuple(map(int, n)) for n in rng.integers(-3, 4, (2, ndim)))
        interior = tuple(map(int, rng.integers(0, 3, ndim)))
        params = dict(low=low, high=high, interior=interior)
        dilated = [n + max(n - 1, 0) * i for n, i in zip(x.shape, interior)]
        if all(n + min(b, 0) + min(e, 0) >= 0 for n, b, e in zip(dilated, low, high)):
            tried += 1
            close(p.pad(x, np.float64(7.0), **params), pad_oracle(x, 7.0, **params), what=str(params))
    assert tried > 100


def test_references_against_numpy():
    close(p.slice(X, start=(0, 1, 0), limit=(2, 3, 4), strides=(1, 2, 3)), X[:, 1:3:2, ::3])
    close(p.dynamic_slice(X, I1, J1, np.int32(9), sizes=(1, 2, 3)), X[1:, :2, 1:])
    update = np.zeros((2, 1, 2))
    wanted = X.copy()
    wanted[:, 2:, 2:] = update
    close(p.dynamic_update_slice(X, update, *[np.int64(2**40)] * 3), wanted)


def test_pad_cotangent_of_value_survives_infinities():
    from functorch_core.core.trace import evaluate
    from functorch_core.transforms.transpose import vjp

    graph = graph_of(lambda x, v: p.pad(x, v, low=(1,), high=(0,)), [np.ones(2), V])
    v = vjp(graph, (True, True))
    _, *residuals = evaluate(v.forward, [np.ones(2), V])
    ct_x, ct_value = evaluate(v.backward, [*residuals, np.array([3.0, np.inf, 1.0])])
    close(ct_x, np.array([np.inf, 1.0]))
    close(ct_value, np.float64(3.0))


def test_copy_is_fresh():
    assert not np.shares_memory(p.copy(X), X)
    assert not np.shares_memory(p.name(X, name="a"), X)


def test_name_is_kept_by_cse():
    graph = cse(graph_of(lambda x: (p.name(x, name="a"), p.name(x, name="b")), [X]))
    assert [n.params["name"] for n in graph.nodes] == ["a", "b"]


def test_no_node_for_nothing():
    graph = graph_of(
        lambda x: p.reverse(p.pad(p.slice(x, start=(0,), limit=(3,)), x, low=(0,), high=(0,)), dims=()), [np.ones(3)]
    )
    assert not graph.nodes


def test_lowers_for_cuda():
    for fun, *arrays in CASES.values():
        assert lower(graph_of(fun, arrays), "cuda").text


ERRORS = [
    (lambda: p.slice(X, start=(0, 0, 0), limit=(2, 3, 5)), ValueError, "0 <= start <= limit"),
    (lambda: p.slice(X, start=(0,), limit=(2,)), ValueError, "takes 3 starts"),
    (lambda: p.pad(X, V, low=(-9, 0, 0), high=(0, 0, 0)), ValueError, "more than there is"),
    (lambda: p.pad(X, np.float32(0), low=(1, 0, 0), high=(0, 0, 0)), TypeError, "takes a value"),
    (lambda: p.pad(X, V, low=(1, 0, 0), high=(0, 0, 0), interior=(-1, 0, 0)), ValueError, "interior"),
    (lambda: p.concatenate(X, X[0], dimension=0), ValueError, "agree in the other"),
    (lambda: p.concatenate(X, X.astype("f4"), dimension=0), TypeError, "one dtype"),
    (lambda: p.concatenate(X, X, dimension=3), ValueError, "no dimension 3"),
    (lambda: p.reverse(X, dims=(0, 0)), ValueError, "distinct"),
    (lambda: p.dynamic_slice(X, I1, I1, sizes=(1, 1, 1)), ValueError, "3 starts"),
    (lambda: p.dynamic_slice(X, I1, I1, np.int64(0), sizes=(1, 1, 1)), TypeError, "one integer dtype"),
    (lambda: p.dynamic_slice(X, I1, I1, I1, sizes=(1, 1, 9)), ValueError, "do not fit"),
    (lambda: p.dynamic_update_slice(X, X.astype("f4"), I1, I1, I1), TypeError, "convert it"),
    (lambda: p.dynamic_update_slice(X, X[0], I1, I1, I1), ValueError, "3 dimensions"),
    (lambda: p.squeeze(X, dims=(0,)), ValueError, "size 1"),
    (lambda: p.expand_dims(X, dims=(1, 1)), ValueError, "distinct"),
    (lambda: p.iota(shape=(2,), dtype=np.bool_, dimension=0), TypeError, "numeric"),
    (lambda: p.iota(shape=(2,), dtype=np.int32, dimension=1), ValueError, "dimension 1"),
]


@pytest.mark.parametrize("call, error, words", ERRORS)
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_shape_rule_alone():
    graph = trace_closed(lambda x: [p.expand_dims(x, dims=(0, 2))], [aval((3,), dt.float32)])
    assert graph.out_avals == (aval((1, 3, 1), dt.float32),)
