"""sort, argsort, top_k: every rule, and both tiers against NumPy and PyTorch."""

import numpy as np
import pytest
import torch

from functorch_core import primitives as p
from functorch_core.core import dtypes as dt
from functorch_core.core.lowering import lower
from functorch_core.core.trace import evaluate
from functorch_core.primitives import sorting
from tests.primitives.check import check, check_lowering, close, compiled, graph_of

RNG = np.random.default_rng(0)
X = RNG.permutation(24).reshape(2, 4, 3) * 0.5 - 4
TIED = RNG.integers(0, 3, (2, 4, 3))
SPECIAL = np.array([1.0, np.nan, -0.0, 0.0, -np.inf, np.inf, -np.nan, -1.0, 0.0, -0.0, 1.0])


def sorted_with(x, v, descending=False, num_keys=1):
    return p.sort(x, v, dimension=1, descending=descending, num_keys=num_keys)


CASES = {
    "sort": (lambda x: p.sort(x, dimension=1), X),
    "sort_descending": (lambda x: p.sort(x, dimension=0, descending=True), X),
    "sort_with_values": (lambda x, v: sorted_with(x, v), X, X[::-1] ** 2),
    "sort_by_two": (lambda x, y, v: p.sort(x, y, v, dimension=2, num_keys=2), TIED, X, X[:, ::-1]),
    "sort_complex": (lambda x: p.sort(x, dimension=1), X + 1j * X[::-1]),
    "sort_empty": (lambda x: p.sort(x, dimension=1), X[:, :0]),
    "sort_one": (lambda x: p.sort(x, dimension=0), X[:1]),
    "argsort": (lambda x: p.argsort(x, dimension=1), X),
    "top_k": (lambda x: p.top_k(x, k=2), X),
    "top_k_smallest": (lambda x: p.top_k(x, k=2, largest=False), X),
    "top_0": (lambda x: p.top_k(x, k=0), X),
    "top_all": (lambda x: p.top_k(x, k=3), X),
}


@pytest.fixture(params=["callback", "native"])
def tier(request, monkeypatch):
    """Each CPU lowering in turn, whatever the size."""
    size = 0 if request.param == "callback" else 10**12
    monkeypatch.setattr(sorting, "CALLBACK_FROM", size)


@pytest.mark.parametrize("case", CASES)
def test_rules(case):
    fun, *arrays = CASES[case]
    check(fun, *arrays)


@pytest.mark.parametrize("case", CASES)
def test_rules_by_callback(case, monkeypatch):
    monkeypatch.setattr(sorting, "CALLBACK_FROM", 0)
    fun, *arrays = CASES[case]
    check(fun, *arrays, rules=("lower", "batch"))


def values_of(dtype, shape):
    x = RNG.integers(-6, 6, shape).astype(dtype)
    if dtype in dt.INEXACT:
        flat = x.reshape(-1)
        flat[:4] = np.array([np.nan, np.inf, -np.inf, -0.0]).astype(dtype)
    return x


@pytest.mark.parametrize("dtype", sorted(dt.ALL, key=str), ids=str)
def test_lowering_of_dtype(dtype, tier):
    x, i = values_of(dtype, (5, 7)), np.arange(35).reshape(5, 7)

    def everything(x, i):
        out = [
            *p.sort(x, dimension=0),
            *p.sort(x, i, dimension=1),
            *p.sort(x, i, dimension=1, descending=True),
            *p.sort(i, x, dimension=0, num_keys=2),
        ]
        return out + (p.top_k(x, k=3) if dtype in dt.ORDERED else [])

    graph = graph_of(everything, [x, i])
    check_lowering(graph, [x, i])
    known = x.astype(dt.wide(dtype))
    ascending = np.argsort(known, axis=1, kind="stable")
    close(evaluate(graph, [x, i])[2], np.take_along_axis(i, ascending, 1))


def signs(x):
    """Tell -0.0 from 0.0, which compare equal."""
    return np.where(np.isnan(x), 0, np.signbit(x))


@pytest.mark.parametrize("descending", (False, True))
def test_special_values_as_torch(descending, tier):
    for x in (SPECIAL, SPECIAL.astype(np.float32), RNG.permutation(np.tile(SPECIAL, 3))):
        graph = graph_of(
            lambda x: [
                p.sort(x, dimension=0, descending=descending)[0],
                p.argsort(x, dimension=0, descending=descending),
                *p.top_k(x, k=5, largest=descending),
            ],
            [x],
        )
        wanted, order = torch.sort(torch.tensor(x), stable=True, descending=descending)
        for run in (evaluate, compiled):
            values, index, top, top_index = run(graph, [x])
            close(values, wanted.numpy())
            close(signs(values), signs(wanted.numpy()))
            close(index, order.numpy())
            close(top, wanted.numpy()[:5])
            close(top_index, order.numpy()[:5])


def test_complex_nan_as_numpy(tier):
    parts = [1.0, 2.0, np.nan]
    pairs = np.array([complex(a, b) for a in parts for b in parts])
    for x in (pairs, pairs[::-1].copy(), RNG.permutation(pairs)):
        graph = graph_of(lambda x: [p.argsort(x, dimension=0)], [x])
        for run in (evaluate, compiled):
            close(run(graph, [x])[0], np.argsort(x, kind="stable"))


@pytest.mark.parametrize("dtype", ("int64", "float64", "float32", "uint16", "bool", "complex64"))
@pytest.mark.parametrize("kinds", (2, 50, 10**9))
def test_large_against_numpy(dtype, kinds):
    """Above the sizes where the reference packs keys with indices; few and many ties."""
    shape = (3, 2000)
    x = (RNG.integers(-kinds, kinds, shape) / 3).astype(dtype)
    close(p.sort(x, dimension=1)[0], np.sort(x, 1))
    close(p.argsort(x, dimension=1), np.argsort(x, 1, kind="stable"))
    backwards = 1999 - np.argsort(x[:, ::-1], 1, kind="stable")[:, ::-1]
    close(p.argsort(x, dimension=1, descending=True), backwards)
    if dtype != "complex64":
        values, index = p.top_k(x, k=7)
        close(index, backwards[:, :7])
        close(values, np.take_along_axis(x, index, 1))
        graph = graph_of(lambda x: p.top_k(x, k=7, largest=False), [x])
        check_lowering(graph, [x])
        close(evaluate(graph, [x])[1], np.argsort(x, 1, kind="stable")[:, :7])


def test_several_keys_against_lexsort():
    keys = RNG.integers(0, 3, (3, 200))
    index = p.sort(*keys, np.arange(200), dimension=0, num_keys=3)[-1]
    close(index, np.lexsort(keys[::-1]))


def test_strided_and_reversed():
    x = RNG.standard_normal((40, 60))[::-2, ::3]
    close(p.sort(x, dimension=0)[0], np.sort(x, 0))
    close(p.argsort(x.T, dimension=0), np.argsort(x.T, 0, kind="stable"))


def test_small_floats_without_zeros():
    for dtype in dt.FLOATING - dt.SUB_BYTE:  # these have no NaN
        x = np.array([2.0, np.nan, 1.0, 4.0]).astype(dtype)
        close(p.sort(x, dimension=0)[0], np.array([1.0, 2.0, 4.0, np.nan]).astype(dtype))


def test_large_programs_call_numpy():
    def callbacks(n, platform):
        x = np.zeros(n, np.float32)
        return len(lower(graph_of(lambda x: p.sort(x, dimension=0), [x]), platform).callbacks)

    assert callbacks(sorting.CALLBACK_FROM, "cpu") == 1
    assert callbacks(sorting.CALLBACK_FROM - 1, "cpu") == 0
    assert callbacks(sorting.CALLBACK_FROM, "cuda") == 0


def test_lowers_for_cuda():
    for fun, *arrays in CASES.values():
        assert "python_cpu_callback" not in lower(graph_of(fun, arrays), "cuda").text


ERRORS = [
    (lambda: p.sort(X, X[0], dimension=0), ValueError, "one shape"),
    (lambda: p.sort(X, dimension=3), ValueError, "no dimension 3"),
    (lambda: p.sort(X, dimension=0, num_keys=2), ValueError, "num_keys"),
    (lambda: p.top_k(X, k=4), ValueError, "k from 0"),
    (lambda: p.top_k(X[0, 0, 0], k=1), ValueError, "k from 0"),
    (lambda: p.top_k(X + 1j, k=1), TypeError, "real or bool"),
]


@pytest.mark.parametrize("call, error, words", ERRORS)
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("shape, k", [((40, 1000), 10), ((3, 7, 1003), 1), ((20_011,), 60), ((2, 16_384), 1024)])
@pytest.mark.parametrize("largest", [True, False])
def test_few_of_many(shape, k, largest):
    """Looked for in chunks; with equal elements (the first count), NaN, infinities and zeros of both signs."""
    rng = np.random.default_rng(4)
    plain, ties = rng.standard_normal(shape).astype(np.float32), rng.integers(0, 50, shape)
    odd = np.where(rng.random(shape) < 0.1, rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0], shape), plain)
    for x in (plain, ties.astype(np.int32), ties.astype(np.float32), odd.astype(np.float32)):
        values, index = evaluate(graph_of(lambda x: p.top_k(x, k=k, largest=largest), [x]), [x])
        keys = np.where(np.isnan(x), np.inf, x)
        keys = np.where(largest, -keys, keys)
        last = np.isnan(x) if not largest else ~np.isnan(x)  # NaN is greater than inf
        expected = np.lexsort((np.broadcast_to(np.arange(shape[-1]), shape), last, keys), axis=-1)[..., :k]
        np.testing.assert_array_equal(index, expected)
        np.testing.assert_array_equal(values, np.take_along_axis(x, expected, -1))
