"""Products by oneDNN, of bfloat16 and stacks of float32: the right numbers, with the transpositions around them."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core as fc
from functorch_core import engine, torch
from functorch_core import primitives as p
from functorch_core.core import dtypes as dt
from functorch_core.core.graph import validate
from functorch_core.core.trace import evaluate
from functorch_core.engine import products
from functorch_core.engine.products import by_library
from functorch_core.primitives.dot_library import Indices, described
from functorch_core.xla import onednn, onednn_matmul

from ..primitives.check import compiled, graph_of

BF16 = dt.bfloat16


@pytest.fixture(autouse=True)
def all_products(monkeypatch):
    """All are large enough, and on processors that have no such instructions, too."""
    monkeypatch.setattr(products, "MANY", 1)
    monkeypatch.setattr(products, "is_quick", lambda: True)
    monkeypatch.setattr(products, "MANY_IN_STACKS", 1)
    monkeypatch.setattr(products, "is_quick_in_stacks", lambda: True)


def matrix(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(BF16)


def dot(x, y, contract=((1,), (0,)), batch=((), ()), out_dtype=None):
    return p.dot_general(x, y, contract=contract, batch=batch, out_dtype=out_dtype)


def turned(x, *permutation):
    return p.transpose(x, permutation=permutation)


HEADS = ((3,), (3,)), ((0, 1), (0, 1))  # q @ k.mT of (batch, head, place, feature)
CASES = {
    "plain": (lambda x, y: dot(x, y), [(33, 17), (17, 40)]),
    "to float32": (lambda x, y: dot(x, y, out_dtype=dt.float32), [(33, 17), (17, 40)]),
    "of columns": (lambda x, y: dot(x, y, ((0,), (1,))), [(17, 33), (40, 17)]),
    "transposed operands": (lambda x, y: dot(turned(x, 1, 0), turned(y, 1, 0)), [(17, 33), (40, 17)]),
    "transposed result": (lambda x, y: turned(dot(x, y), 1, 0), [(33, 17), (17, 40)]),
    "all transposed": (lambda x, y: turned(dot(turned(x, 1, 0), turned(y, 1, 0)), 1, 0), [(17, 33), (40, 17)]),
    "a matrix and vectors": (lambda x, y: dot(x, y), [(33, 17), (17, 1)]),
    "a stack": (lambda x, y: dot(x, y, ((2,), (1,)), ((0,), (0,))), [(5, 33, 17), (5, 17, 40)]),
    "a stack by one": (lambda x, y: dot(x, y, ((2,), (0,))), [(5, 33, 17), (17, 40)]),
    "two contracted": (lambda x, y: dot(x, y, ((1, 2), (0, 1))), [(33, 4, 8), (4, 8, 40)]),
    "heads": (lambda x, y: dot(turned(x, 0, 2, 1, 3), turned(y, 0, 2, 1, 3), *HEADS), [(2, 16, 4, 8), (2, 20, 4, 8)]),
    "heads put back": (
        lambda x, y: turned(dot(x, turned(y, 0, 2, 1, 3), ((3,), (2,)), ((0, 1), (0, 1))), 0, 2, 1, 3),
        [(2, 4, 16, 20), (2, 20, 4, 8)],
    ),
    "rows apart": (lambda x, y: dot(turned(x, 0, 2, 1), y, ((1,), (0,))), [(5, 7, 16), (16, 40)]),
    "of itself": (lambda x, y: dot(x, turned(x, 1, 0)), [(33, 17), (1, 1)]),
    "used twice": (lambda x, y: (turned(dot(x, y), 1, 0), p.neg(dot(x, y))), [(33, 17), (17, 40)]),
    "nothing": (lambda x, y: dot(x, y), [(0, 17), (17, 40)]),
    "nothing contracted": (lambda x, y: dot(x, y), [(3, 0), (0, 40)]),
}


def assert_close(found, expected):
    """bfloat16 sums in float32, in another order."""
    np.testing.assert_allclose(np.float32(found), np.float32(expected), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("name", CASES)
def test_products_are_those_of_numpy(name):
    fun, shapes = CASES[name]
    arrays = [matrix(*shape) for shape in shapes]
    graph = graph_of(fun, arrays)
    rewritten = validate(by_library(graph))
    expected = evaluate(graph, arrays)
    for found in (evaluate(rewritten, arrays), compiled(rewritten, arrays)):
        for ours, theirs in zip(found, expected, strict=True):
            assert ours.dtype == theirs.dtype
            assert_close(ours, theirs)


@pytest.mark.parametrize("name", [name for name in CASES if "nothing" not in name and name != "used twice"])
def test_nothing_is_transposed(name):
    fun, shapes = CASES[name]
    graph = by_library(graph_of(fun, [matrix(*shape) for shape in shapes]))
    if any(node.primitive.name == "library_dot" for node in graph.nodes):
        assert [node.primitive.name for node in graph.nodes] == ["library_dot"]
    else:
        assert not supported(*graph_of(fun, [matrix(*shape) for shape in shapes]).in_avals)


def supported(x, y) -> bool:
    """Whether oneDNN multiplies bfloat16 matrices fast here."""
    found = described(x, x, Indices((0, 1), (2, 1), (0, 2)), x.dtype) if x.ndim == 2 else None
    return found is None or onednn_matmul.supports(found[0])


def test_products_within_loops():
    x, w = matrix(16, 16), matrix(16, 16)
    found = fc.jit(lambda x, w: fc.scan(lambda c, _: (fc.matmul(c, w), None), x, None, length=3)[0])(x, w)
    expected = x
    for _ in range(3):
        expected = (np.float32(expected) @ np.float32(w)).astype(BF16)
    np.testing.assert_allclose(np.float32(np.asarray(found)), np.float32(expected), rtol=5e-2, atol=0.5)


def test_training_under_autocast():
    def losses(tier):
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(24, 64), torch.nn.GELU(), torch.nn.Linear(64, 24))
        optimizer, x, found = torch.optim.SGD(net.parameters(), lr=0.1), torch.randn(48, 24), []
        with engine.forced_tier(tier):
            for _ in range(5):
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    loss = (net(x) - x).float().square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                found.append(loss.item())
        return found

    np.testing.assert_allclose(losses("fused"), losses("reference"), rtol=2e-2)


def test_a_target_says_all():
    x, y = (graph_of(lambda a, b: (a, b), [matrix(3, 5, 7), matrix(3, 7, 4)])).in_avals
    found, swapped = described(x, y, Indices((0, 1, 2), (0, 2, 3), (0, 3, 1)), dt.float32)
    assert swapped
    assert onednn_matmul.Product.of_target(found.target()) == found
    assert found.sizes == (3, 4, 7, 5)


STACKS = ["a stack", "heads", "heads put back"]


@pytest.mark.parametrize("name", STACKS)
def test_stacks_of_float32(name):
    fun, shapes = CASES[name]
    arrays = [np.float32(matrix(*shape)) for shape in shapes]
    graph = graph_of(fun, arrays)
    rewritten = validate(by_library(graph))
    if onednn.is_available():
        assert [node.primitive.name for node in rewritten.nodes] == ["library_dot"]
    (wanted,) = evaluate(graph, [a.astype(np.float64) for a in arrays])
    for (found,) in (evaluate(rewritten, arrays), compiled(rewritten, arrays)):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_numbers_that_are_none_stay_so_in_stacks():
    x = np.zeros((3, 8, 16), np.float32)
    x[0, 1, 2], x[1, 0, 3], x[2, 7, 15] = np.nan, np.inf, 1e38
    y = np.full((3, 16, 4), 10, np.float32)
    graph = graph_of(lambda x, y: dot(x, y, ((2,), (1,)), ((0,), (0,))), [x, y])
    (found,) = compiled(by_library(graph), [x, y])
    with np.errstate(over="ignore", invalid="ignore"):
        np.testing.assert_array_equal(found, np.matmul(x, y))


@pytest.mark.parametrize(
    "shapes, params",
    [
        ([(33, 17), (17, 40)], {}),
        ([(5, 33, 17), (5, 17)], {"contract": ((2,), (1,)), "batch": ((0,), (0,))}),
        ([(5, 33, 17), (5, 17, 1)], {"contract": ((2,), (1,)), "batch": ((0,), (0,))}),
        ([(1, 33, 17), (1, 17, 9)], {"contract": ((2,), (1,)), "batch": ((0,), (0,))}),
    ],
)
def test_single_products_and_vectors_of_float32_stay_with_xla(shapes, params):
    graph = graph_of(lambda x, y: dot(x, y, **params), [np.float32(matrix(*shape)) for shape in shapes])
    assert by_library(graph) is graph


@pytest.mark.parametrize("dtype", ["float64", "complex64", "float16"])
def test_stacks_of_other_dtypes_stay_with_xla(dtype):
    x = matrix(4, 8, 8).astype(dtype)
    graph = graph_of(lambda x: dot(x, x, ((2,), (1,)), ((0,), (0,))), [x])
    assert by_library(graph) is graph
