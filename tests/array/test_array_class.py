"""fc.Array: operators and Python's protocol, methods, conversions, display, cost of a call."""

from __future__ import annotations

import copy
import operator
import pickle
import subprocess
import sys

import numpy as np
import pytest

import functorch_core as fc
from functorch_core.core.errors import ConcretizationError, LeakError


def same(found, wanted):
    found = np.asarray(found)
    np.testing.assert_array_equal(found, wanted)


# ---- operators ----------------------------------------------------------------------------------------

OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "eq", "ne", "lt", "le", "gt", "ge"]
BITS = ["and_", "or_", "xor", "lshift", "rshift"]


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_with_arrays_and_numbers(name):
    op = getattr(operator, name)
    x, y = np.float32([1, -2, 3]), np.float32([2, 2, -2])
    a, b = fc.asarray(x), fc.asarray(y)
    for _ in range(3):  # the second call takes the short path
        same(op(a, b), op(x, y))
        same(op(a, y), op(x, y))
        for number in (2, 2.5, -1, 3, 7.25, True):
            same(op(a, number), op(x, np.float32(number)))
            same(op(number, a), op(np.float32(number), x))


@pytest.mark.parametrize("name", BITS)
def test_bitwise_operators(name):
    op = getattr(operator, name)
    x, y = np.array([1, 6, 12]), np.array([3, 1, 2])
    for _ in range(2):
        same(op(fc.asarray(x), fc.asarray(y)), op(x, y))
        same(op(fc.asarray(x), 2), op(x, 2))
        same(op(5, fc.asarray(y)), op(5, y))


def test_unary_operators():
    x = fc.asarray([1.0, -2.0])
    for _ in range(2):
        same(-x, [-1, 2])
        same(+x, [1, -2])
        same(abs(x), [1, 2])
        same(~fc.asarray([0, 1]), [-1, -2])
        same(round(fc.asarray([1.26, 2.0])), [1, 2])
    same(round(fc.asarray([1.25]), 1), np.float32([1.2]))


def test_powers():
    x = fc.asarray([2.0, 3.0])
    for _ in range(2):
        same(x**2, [4, 9])
        same(x**0, [1, 1])
        same(x**-1, np.float32([0.5, 1 / 3]))
        same(2**x, [4, 8])
        same(x**x, [4, 27])
        same(fc.asarray([-2.0]) ** 3, [-8])


def test_divmod():
    for x, y in ((fc.asarray([7, -7]), 2), (7, fc.asarray([2, -2]))):
        q, r = divmod(x, y)
        same(q, np.asarray(x) // np.asarray(y))
        same(r, np.asarray(x) % np.asarray(y))


def test_matmul():
    x = np.arange(6.0).reshape(2, 3)
    same(fc.asarray(x) @ fc.asarray(x.T), x @ x.T)
    same(x @ fc.asarray(x.T), x @ x.T)
    same(fc.asarray(x) @ x.T, x @ x.T)


def test_in_place_operators_rebind():
    x = y = fc.asarray([1.0, 2.0])
    x += 1
    x *= 2
    same(x, [4, 6])
    same(y, [1, 2])


def test_numpy_arrays_defer_to_arrays():
    x = fc.asarray([1.0, 2.0])
    assert type(np.ones(2) + x) is fc.Array
    assert type(np.float64(2) * x) is fc.Array
    assert type(np.ones(2) == x) is fc.Array


def test_foreign_types_get_their_turn():
    class Other:
        def __radd__(self, x):
            return "radd"

        def __eq__(self, x):
            return "eq"

    assert fc.ones(2) + Other() == "radd"
    assert (fc.ones(2) == Other()) == "eq"
    with pytest.raises(TypeError, match="unsupported operand"):
        fc.ones(2) + "a"
    with pytest.raises(TypeError, match="unsupported operand"):
        [1] - fc.ones(2)
    assert (fc.ones(2) == None) is False  # noqa: E711


def test_zero_keeps_its_sign():
    x = fc.asarray([0.0, 1.0])
    for zero in (0.0, -0.0, 0.0, -0.0):
        same(np.signbit(np.asarray(x * zero)), np.signbit(np.float32([0, 1]) * np.float32(zero)))


def test_changing_numbers_compile_nothing():
    x = fc.asarray([1.0, 2.0, 3.0])
    from functorch_core.ops.elementwise import add as op

    x + 3.5
    before = len(op.units)
    for i in range(20):
        same(x + (i + 3.25), np.float32([1, 2, 3]) + np.float32(i + 3.25))
    assert len(op.units) == before


def test_big_and_narrow_integers_are_checked_each_time():
    x = fc.ones(2, dtype=fc.uint8)
    same(x + 200, [201, 201])
    for _ in range(2):
        with pytest.raises(OverflowError, match="256"):
            x + 256
    with pytest.raises(OverflowError):
        fc.ones(2, dtype=fc.int64) + 2**70


def test_operators_inside_a_trace():
    f = fc.jit(lambda x, y: (x + y, x - 1, 2 * y, -x, x**2, x @ y))
    x, y = np.float32([1, 2]), np.float32([3, 4])
    for found, wanted in zip(f(x, y), (x + y, x - 1, 2 * y, -x, x**2, x @ y)):
        same(found, wanted)


def test_a_leaked_value_is_named():
    kept = []
    fc.jit(lambda x: kept.append(x) or x)(fc.ones(2))
    for use in (lambda x: x + 1, lambda x: x + fc.ones(2), lambda x: fc.ones(2) + x, lambda x: -x):
        with pytest.raises(LeakError, match="was used after that trace had ended"):
            use(kept[0])


# ---- what an array is -----------------------------------------------------------------------------------


def test_attributes():
    x = fc.ones((2, 3), dtype=fc.float16)
    assert (x.shape, x.dtype, x.ndim, x.size, x.nbytes) == ((2, 3), np.float16, 2, 6, 12)
    assert x.T.shape == x.mT.shape == (3, 2)
    same(fc.asarray([1 + 2j]).real, [1])
    same(fc.asarray([1 + 2j]).imag, [2])
    assert x.device == x.to_device(x.device).device


def test_arrays_are_not_made_directly():
    with pytest.raises(TypeError, match="fc.asarray"):
        fc.Array([1])
    with pytest.raises(TypeError, match="unhashable"):
        hash(fc.ones(2))


def test_methods_are_the_functions():
    x = np.float32([[1, 2], [3, 5]])
    a = fc.asarray(x)
    for name in (
        "sum",
        "mean",
        "max",
        "min",
        "prod",
        "var",
        "std",
        "argmax",
        "argmin",
        "cumsum",
        "cumprod",
        "all",
        "any",
        "ravel",
        "transpose",
        "squeeze",
        "round",
        "conj",
    ):
        np.testing.assert_allclose(getattr(a, name)(), getattr(x, name)(), rtol=1e-6, err_msg=name)
    same(a.sum(axis=0, keepdims=True), x.sum(axis=0, keepdims=True))
    same(a.sum(0), x.sum(0))
    same(a.reshape(4), x.reshape(4))
    same(a.reshape(-1, 1), x.reshape(-1, 1))
    same(a.reshape((4, 1)), x.reshape(4, 1))
    same(a.transpose(1, 0), x.T)
    same(a.swapaxes(0, 1), x.T)
    same(a.astype(fc.int32), x.astype(np.int32))
    same(a.clip(2.0, 3.0), x.clip(2, 3))
    same(a.flatten(), x.flatten())
    same(a.dot(a), x.dot(x))
    same(a.repeat(2, axis=0), x.repeat(2, axis=0))
    same(a.take(np.array([1]), axis=0), x.take([1], axis=0))
    same(a.sort(axis=0, descending=True), x[::-1])
    same(a.argsort(0), x.argsort(0))
    same(a.view(fc.int32), x.view(np.int32))
    same(a.nonzero()[0], x.nonzero()[0])
    same(a.copy(), x)
    assert a.copy() is not a  # it outlives a, whose memory may be given away


# ---- conversions ------------------------------------------------------------------------------------------


def test_python_numbers():
    x = fc.asarray([3])
    assert (int(x), float(x), complex(x), bool(x), x.item()) == (3, 3.0, 3 + 0j, True, 3)
    assert list(range(5))[fc.asarray(2)] == 2
    assert fc.asarray([[1.5]]).tolist() == [[1.5]]
    assert f"{fc.asarray(1.5):.2f}" == "1.50"
    with pytest.raises(ValueError, match="one element"):
        bool(fc.ones(2))
    with pytest.raises(ValueError, match="one element"):
        fc.ones(2).item()
    with pytest.raises(TypeError, match="integer array"):
        operator.index(fc.ones(()))


def test_traced_values_have_no_number():
    for use in (bool, int, float, np.asarray, lambda x: x.item(), lambda x: x.tolist()):
        with pytest.raises(ConcretizationError):
            fc.jit(use)(fc.asarray(1.0))


def test_sequence_protocol():
    x = fc.asarray([[1, 2], [3, 4]])
    assert len(x) == 2
    same(list(x)[1], [3, 4])
    a, b = x
    same(b, [3, 4])
    assert 3 in x and 7 not in x
    for use in (len, list):
        with pytest.raises(TypeError, match="0-d"):
            use(fc.asarray(1.0))


def test_numpy_gets_a_read_only_view():
    x = fc.asarray([1.0, 2.0])
    for array in (np.asarray(x), np.asarray(x + 1)):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 9
    assert np.array(x).flags.writeable
    for _ in range(2):
        with pytest.raises(ValueError, match="WRITEABLE"):
            np.asarray(x).setflags(write=True)
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="copy"):
        np.asarray(x, dtype=np.float64, copy=False)


@pytest.mark.parametrize("dtype", [fc.float32, fc.bfloat16, fc.int8, fc.bool_, fc.complex64])
def test_pickle_and_copy(dtype):
    x = fc.ones((2, 3), dtype=dtype)
    for y in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
        same(y, np.asarray(x))
        assert y.dtype == dtype


def test_arrays_are_leaves_of_trees():
    leaves, treedef = fc.tree.flatten({"a": fc.ones(2), "b": [fc.zeros(1)]})
    assert [x.shape for x in leaves] == [(2,), (1,)]
    assert fc.tree.unflatten(treedef, leaves)["b"][0].shape == (1,)


# ---- display ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "array, text",
    [
        (lambda: fc.asarray(1.5), "Array(1.5, dtype=float32)"),
        (lambda: fc.asarray([1, 2]), "Array([1, 2], dtype=int64)"),
        (lambda: fc.asarray([True]), "Array([ True], dtype=bool)"),
        (lambda: fc.zeros((0, 3)), "Array([], shape=(0, 3), dtype=float32)"),
        (lambda: fc.asarray([1.5], dtype=fc.bfloat16), "Array([1.5], dtype=bfloat16)"),
        (lambda: fc.asarray([[1.0, 2.0], [3.0, 4.0]]), "Array([[1., 2.],\n       [3., 4.]], dtype=float32)"),
    ],
)
def test_repr(array, text):
    assert repr(array()) == text


def test_repr_of_large_and_traced_arrays():
    assert "..." in repr(fc.ones((100, 100))) and len(repr(fc.ones((100, 100)))) < 600
    seen = []
    fc.jit(lambda x: seen.append(repr(x)) or x)(fc.ones((2, 3)))
    assert seen == ["Traced<float32[2,3]>"]


def test_html():
    text = fc.ones((30, 40))._repr_html_()
    assert "float32[30, 40]" in text and text.count("<tr>") == 11 and len(text) < 12_000
    assert "<pre>" in fc.ones(3)._repr_html_()
    assert "bfloat16[2, 2]" in fc.ones((2, 2), dtype=fc.bfloat16)._repr_html_()
    seen = []
    fc.jit(lambda x: seen.append(x._repr_html_()) or x)(fc.ones(2))
    assert "Traced" in seen[0] and "<pre>" not in seen[0]


# ---- importing ------------------------------------------------------------------------------------------------


def test_importing_starts_no_client_and_no_thread():
    code = (
        "import threading, functorch_core as fc\n"
        "from functorch_core import xla\n"
        "assert threading.active_count() == 1, threading.enumerate()\n"
        "assert not xla.has_client()\n"
        "x = fc.asarray([1., 2.]) + 1\n"
        "import sys; assert 'opt_einsum' not in sys.modules and 'scipy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_device_of_what_is_not_computed_yet():
    x = fc.asarray([1.0, 2.0])
    flushes = fc.engine.stats()["flushes"]
    for y in (x + 1, x[0], fc.zeros(3), fc.sin(x).reshape(2, 1), x @ x, fc.asarray(np.ones(2)) * 2):
        assert y.device == x.device
    assert fc.engine.stats()["flushes"] == flushes
    y = x + 1
    y.block_until_ready()
    assert y.device == x.device


@pytest.mark.parametrize("k", [2**64 - 1, 2**63, -(2**63), -(2**64) + 1, 2, -2, 10**30])
def test_diagonals_far_outside(k):
    for shape in ((2, 2), (3, 1)):
        ones = np.ones(shape, np.float32)
        near = min(max(k, -9), 9)
        np.testing.assert_array_equal(fc.eye(*shape, k=k), np.eye(*shape, k=near))
        np.testing.assert_array_equal(fc.triu(fc.asarray(ones), k=k), np.triu(ones, near))
        np.testing.assert_array_equal(fc.tril(fc.asarray(ones), k=k), np.tril(ones, near))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3)])
def test_dlpack_of_empty_arrays(shape):
    for source in (np.zeros(shape), np.zeros((4, *shape))[::2][0], fc.zeros(shape), fc.ones((2, *shape))[0]):
        for copies in (None, True):
            found = fc.from_dlpack(source, copy=copies)
            assert found.shape == shape and str(found.dtype) == str(source.dtype)
            assert (found + 1).sum().item() == 0
    assert np.from_dlpack(fc.zeros(shape)).shape == shape


def test_str_shows_the_numbers_alone():
    x = fc.asarray([[1.0, 2.5]])
    assert f"{x}" == str(x) == str(np.asarray(x)) and repr(x) == "Array([[1. , 2.5]], dtype=float32)"
    assert str(fc.asarray(3)) == "3" and f"{fc.asarray(1.25):.1f}" == "1.2"
    seen = []
    fc.jit(lambda x: (seen.append(str(x)), x)[1])(x)
    assert seen == ["Traced<float32[1,2]>"]


def test_a_tree_is_waited_for_whatever_its_leaves_are():
    x = fc.arange(5, dtype="float32")
    results = fc.jit(lambda x: (x * 2, {"y": x + 1}))(x)
    tree = [results, x * 3, 7, None, np.ones(2)]
    assert fc.block_until_ready(tree) is tree
    assert all(leaf.is_ready() for leaf in fc.tree.leaves(tree) if isinstance(leaf, fc.Array))
    np.testing.assert_array_equal(results[1]["y"], np.arange(5) + 1)


def test_waiting_for_a_tree_says_what_is_wrong_with_a_leaf():
    first, second = fc.jit(lambda x: (x + 1, x + 2))(fc.ones(3))
    second.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        fc.block_until_ready((first, second))
    with pytest.raises(IndexError, match="out of bounds"):
        fc.block_until_ready([first, fc.arange(4)[fc.asarray([1, 2]) * 5]])
    with pytest.raises(fc.errors.ConcretizationError, match="block_until_ready"):
        fc.jit(lambda x: x.block_until_ready())(fc.ones(2))
