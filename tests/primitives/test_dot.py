"""dot_general: every rule, every arrangement of dimensions, dtypes, accumulation."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from functorch_core import xla
from functorch_core.core.lowering import lower
from functorch_core.core.trace import evaluate
from functorch_core.primitives import dot_general, sqrt, transpose
from functorch_core.transforms.transpose import vjp

from .check import check, compiled, graph_of

NONE = ((), ())
CASES = {
    # ---- one free dimension each
    "matmul": ((2, 3), (3, 4), ((1,), (0,)), NONE),
    "both_transposed": ((3, 2), (4, 3), ((0,), (1,)), NONE),
    "batched": ((5, 2, 3), (5, 3, 4), ((2,), (1,)), ((0,), (0,))),
    "inner": ((3,), (3,), ((0,), (0,)), NONE),
    # ---- several
    "linear": ((2, 5, 3), (4, 3), ((2,), (1,)), NONE),
    "kernel_gradient": ((2, 5, 3), (2, 5, 4), ((0, 1), (0, 1)), NONE),
    "pairs_out_of_order": ((2, 5, 3, 4), (4, 6, 3), ((2, 3), (2, 0)), NONE),
    "pairs_apart": ((2, 3, 4), (4, 2, 5), ((0, 2), (1, 0)), NONE),
    "batch_in_the_middle": ((2, 3, 5, 4), (3, 4, 5, 6), ((2,), (2,)), ((1,), (0,))),
    "batch_out_of_order": ((3, 2, 4, 5), (5, 3, 2, 7), ((3,), (0,)), ((0, 1), (1, 2))),
    "free_around": ((2, 3, 4, 5), (2, 5, 4, 3), ((1,), (3,)), ((0,), (0,))),
    # ---- vectors, and free dimensions of size 1
    "rows_by_vectors": ((3, 5, 2), (5, 2, 1), ((2,), (1,)), ((1,), (0,))),
    "columns_by_vectors": ((3, 5, 2), (5, 3, 1), ((0,), (1,)), ((1,), (0,))),
    "vectors_by_columns": ((1, 5, 3), (3, 2, 5), ((2,), (0,)), ((1,), (2,))),
    "vectors_by_two_batches": ((4, 5, 2, 3), (2, 4, 5, 1), ((0,), (1,)), ((1, 2), (2, 0))),
    "column_by_ones": ((4, 1), (1, 4, 1), ((0,), (1,)), NONE),
    "ones_by_ones": ((2, 1, 3), (3, 1, 2), ((2,), (0,)), ((0,), (2,))),
    # ---- odd
    "outer": ((2,), (3,), NONE, NONE),
    "with_a_scalar": ((), (3,), NONE, NONE),
    "only_batch": ((3,), (3,), NONE, ((0,), (0,))),
    "nothing_summed": ((2, 0), (0, 2), ((1,), (0,)), NONE),
    "no_rows": ((0, 3), (3, 2), ((1,), (0,)), NONE),
}


def some(shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * 3
    if dtype.startswith("complex"):
        x = x + 1j * rng.standard_normal(shape)
    return (np.abs(x) if dtype.startswith("u") else x).astype(getattr(ml_dtypes, dtype, dtype))


def by_einsum(x, y, contract, batch):
    """The same in another notation."""
    letters = iter("abcdefghijkl")
    of_x, of_y = [next(letters) for _ in x.shape], [next(letters) for _ in y.shape]
    for i, j in zip((*contract[0], *batch[0]), (*contract[1], *batch[1])):
        of_y[j] = of_x[i]
    out = [of_x[d] for d in batch[0]]
    out += [c for d, c in enumerate(of_x) if d not in contract[0] + batch[0]]
    out += [c for d, c in enumerate(of_y) if d not in contract[1] + batch[1]]
    return np.einsum(f"{''.join(of_x)},{''.join(of_y)}->{''.join(out)}", x, y)


# ---- every rule ----------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", ("float64", "complex128"))
def test_rules(case, dtype):
    sx, sy, contract, batch = CASES[case]
    x, y = some(sx, dtype), some(sy, dtype, seed=1)
    rules = ("lower", "jvp", "transpose", "second", *(("batch",) if dtype == "float64" else ()))
    check(lambda x, y: dot_general(x, y, contract=contract, batch=batch), x, y, rules=rules)
    graph = graph_of(lambda x, y: dot_general(x, y, contract=contract, batch=batch), [x, y])
    np.testing.assert_allclose(evaluate(graph, [x, y])[0], by_einsum(x, y, contract, batch))


@pytest.mark.parametrize(
    "dtype", ("int8", "uint8", "int32", "int64", "float16", "bfloat16", "float8_e4m3fn", "float32", "complex64")
)
@pytest.mark.parametrize("case", ("matmul", "linear", "batch_out_of_order"))
def test_dtypes(case, dtype):
    sx, sy, contract, batch = CASES[case]
    check(
        lambda x, y: dot_general(x, y, contract=contract, batch=batch),
        some(sx, dtype),
        some(sy, dtype, seed=1),
        rules=("lower", "batch"),
    )


# ---- accumulation --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype, out",
    (
        ("int8", "int32"),
        ("uint8", "int32"),
        ("float16", "float32"),
        ("bfloat16", "float32"),
        ("float32", "float64"),
        ("int8", "float32"),
        ("float32", "complex64"),
    ),
)
def test_wider_results(dtype, out):
    out = np.dtype(out)
    x, y = some((3, 4), dtype) * np.asarray(9).astype(getattr(ml_dtypes, dtype, dtype)), some((4, 2), dtype, seed=1)

    def fun(x, y):
        return dot_general(x, y, contract=((1,), (0,)), out_dtype=out)

    check(fun, x, y, rules=("lower",))
    wide = np.promote_types(out, np.float32) if out.kind not in "iu" else out
    wanted = x.astype(wide) @ y.astype(wide)
    np.testing.assert_allclose(evaluate(graph_of(fun, [x, y]), [x, y])[0], wanted, rtol=1e-6)


@pytest.mark.parametrize("rows", [1, 2, 7])
def test_transposed_matrices_are_taken_as_they_are(rows):
    """Of either side; what is contracted twice, and others than matrices, stay as they were."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((rows, 5)), rng.standard_normal((3, 5))
    turned = lambda a: transpose(a, permutation=(1, 0))  # noqa: E731
    for fun, arrays in (
        (lambda x, y: dot_general(x, turned(y), contract=((1,), (0,)), batch=NONE), (x, y)),
        (lambda x, y: dot_general(turned(x), y, contract=((0,), (1,)), batch=NONE), (x, y)),
        (lambda x, y: dot_general(turned(x), turned(y), contract=((0,), (0,)), batch=NONE), (x, y)),
        (lambda x, y: dot_general(x, turned(y), contract=((0, 1), (1, 0)), batch=NONE), (x, x)),
        (lambda x, y: dot_general(x, turned(y), contract=((0,), (0,)), batch=((1,), (1,))), (x, x.T.copy())),
    ):
        check(fun, *arrays, order=1)
    graph = graph_of(lambda x, y: dot_general(x, turned(y), contract=((1,), (0,)), batch=NONE), [x, y])
    (line,) = [line for line in lower(graph, "cpu").text.splitlines() if "stablehlo.dot_general" in line]
    assert "rhs_contracting_dimensions = [1]" in line


@pytest.mark.parametrize("dtype", ("float16", "bfloat16"))
def test_narrow_floats_are_summed_in_float32(dtype):
    x = np.full((2, 5000), 0.5, getattr(ml_dtypes, dtype, dtype))
    graph = graph_of(lambda x: dot_general(x, x, contract=((1,), (1,))), [x])
    for run in (compiled, evaluate):
        assert (run(graph, [x])[0] == np.float32(1250).astype(x.dtype)).all()


def test_gradient_of_mixed_dtypes():
    x, y = some((3, 4), "bfloat16"), some((4, 2), "bfloat16", seed=1)
    graph = graph_of(lambda x, y: dot_general(x, y, contract=((1,), (0,)), out_dtype=np.dtype("float32")), [x, y])
    v = vjp(graph, (True, True))
    first = evaluate(v.forward, [x, y])
    grads = evaluate(v.backward, [*first[1:], np.ones((3, 2), np.float32)])
    assert [g.dtype for g in grads] == [x.dtype, y.dtype]


# ---- errors and platforms ------------------------------------------------------------------------


def test_errors():
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(TypeError, match="one dtype"):
        dot_general(x, x.astype(np.float64), contract=((1,), (1,)))
    with pytest.raises(ValueError, match="differ in size"):
        dot_general(x, x, contract=((1,), (0,)))
    with pytest.raises(ValueError, match="do not fit"):
        dot_general(x, x, contract=((2,), (1,)))
    with pytest.raises(ValueError, match="one of them"):
        dot_general(x, x, contract=((1,), (1,)), batch=((1,), (1,)))
    with pytest.raises(TypeError, match="cannot give int32"):
        dot_general(x, x, contract=((1,), (1,)), out_dtype=np.int32)


@pytest.mark.parametrize("dtype", ("bfloat16", "float32", "complex64"))
def test_lowers_for_cuda(dtype):
    x, y = some((2, 3), dtype), some((3, 4), dtype)
    xla.verify(lower(graph_of(lambda x, y: dot_general(x, y, contract=((1,), (0,))), [x, y]), "cuda").text)


def test_roots_of_products_have_fusion_emitters():
    def chosen(fun):
        features = lower(graph_of(fun, [some((2, 2), "float32")])).features
        return xla.choose_options(features)["xla_cpu_use_fusion_emitters"]

    def product(x):
        return dot_general(x, x, contract=((1,), (0,)))

    assert chosen(lambda x: sqrt(product(x)))
    assert not chosen(product) and not chosen(sqrt)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
@pytest.mark.parametrize("size", [10, 10**6, 2**62])
def test_products_of_integers_are_exact_and_wrap(dtype, size):
    """By float64 where it holds all sums, else one by one."""
    info = np.iinfo(dtype)
    low, high = max(info.min, -size), min(info.max, size)
    x, y = (np.random.default_rng(0).integers(low, high, (3, 40, 32), dtype=dtype, endpoint=True) for _ in range(2))
    y = y.swapaxes(1, 2)
    graph = graph_of(lambda x, y: [dot_general(x, y, contract=((2,), (1,)), batch=((0,), (0,)))], [x, y])
    wanted = np.matmul(x.astype(object), y.astype(object))
    bits = 1 << (8 * np.dtype(dtype).itemsize)
    wrapped = np.vectorize(lambda n: (n - info.min) % bits + info.min, otypes=[object])(wanted)
    for found in (evaluate(graph, [x, y])[0], compiled(graph, [x, y])[0]):
        np.testing.assert_array_equal(found.astype(object), wrapped)


@pytest.mark.parametrize("dtype", [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)])
@pytest.mark.parametrize("inner", [0, 1, 17, 300, 2000])
def test_integers_wrap(dtype, inner):
    rng, info = np.random.default_rng(inner), np.iinfo(dtype)
    for low, high in ((info.min, info.max), (max(info.min, -3), 3)):
        x, y = (rng.integers(low, high, shape, dtype, endpoint=True) for shape in ((20, inner), (inner, 19)))
        graph = graph_of(lambda a, b: dot_general(a, b, contract=((1,), (0,))), [x, y])
        (by_reference,), (by_program,) = evaluate(graph, [x, y]), compiled(graph, [x, y])
        np.testing.assert_array_equal(by_reference, np.matmul(x, y))
        np.testing.assert_array_equal(by_program, np.matmul(x, y))
