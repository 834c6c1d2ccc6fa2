"""Conversions between all dtypes, bit patterns, and reduced precision."""

import numpy as np
import pytest

from functorch_core import primitives as p
from functorch_core.core import dtypes as dt
from functorch_core.core.trace import evaluate
from tests.primitives.check import check, compiled, graph_of

DTYPES = sorted(dt.ALL, key=str)
RNG = np.random.default_rng(0)


def values(dtype) -> np.ndarray:
    """Every value of a small dtype; edges, near-ties and random values of a large one."""
    if dtype == dt.bool_:
        return np.array([True, False])
    if dtype in dt.SUB_BYTE:
        low, n = (-8, 16) if dtype == dt.float4_e2m1fn else (int(dt.iinfo(dtype).min), 2 ** dt.iinfo(dtype).bits)
        return (np.arange(low, low + n) * (0.5 if dtype == dt.float4_e2m1fn else 1)).astype(dtype)
    if dtype in dt.INTEGER:
        info = np.iinfo(dtype)
        edges = np.array([info.min, info.max, info.max - 1, 0, 1, 2, 100, 127], dtype)
        wide = RNG.integers(info.min, info.max, 200, dtype, endpoint=True)
        return np.concatenate([edges, wide, wide >> np.array(4 * dtype.itemsize, dtype)])
    if dtype in dt.COMPLEX:
        parts = RNG.standard_normal((2, 200)) * 10.0 ** RNG.integers(-8, 8, 200)
        edges = np.array([0, 1j, np.inf, complex(0, np.nan), complex(np.nan, 0), -3e9], dtype)
        return np.concatenate([edges, (parts[0] + 1j * parts[1]).astype(dtype)])
    if dtype.itemsize <= 2:
        return np.arange(256**dtype.itemsize).astype(f"uint{8 * dtype.itemsize}").view(dtype)
    return float_values(dtype)


def float_values(dtype) -> np.ndarray:
    """Edges of the narrower dtypes, ties between their neighbours and what lies beside them."""
    edges = [
        0,
        -0.0,
        np.nan,
        np.inf,
        -np.inf,
        448,
        464,
        465,
        496,
        -496,
        57344,
        61440,
        240,
        247,
        248,
        65504,
        65519,
        65520,
        1e30,
        -1e30,
        2.0**31,
        2.0**32,
        2.0**63,
        2.0**64,
        -(2.0**31),
        -(2.0**63),
        254.9,
        255.9,
        256,
        -0.9,
        -1,
        -1e-4,
        -(2.0**-11),
        -(2.0**-18),
        2.0**-19,
        127.5,
        -128.9,
    ]
    scale = 2.0 ** RNG.integers(-20, 20, 100)
    edges += [s * t * (1 + e) for t in (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5) for e in (0, 1e-6, -1e-6) for s in (1, -1)]
    ties = [(1 + 2.0**-k) * (1 + e) * scale for k in (2, 3, 4, 8, 11, 24) for e in (0, 1e-9, -1e-9)]
    random = RNG.standard_normal(1000) * 2.0 ** RNG.integers(-40, 40, 1000)
    return np.concatenate([edges, *ties, random, -random]).astype(dtype)


def without_subnormals(x) -> np.ndarray:
    """XLA's CPU takes subnormal float32 and float64 for zeros; bfloat16's are float32's."""
    if x.dtype not in dt.FLOATING:
        return x
    size = np.abs(x.astype(np.float64))
    return x[~((size > 0) & (size < 2.0**-126))]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_convert_to_every_dtype(source):
    x = without_subnormals(values(source))
    graph = graph_of(lambda x: [p.convert(x, dtype=d) for d in DTYPES], [x])
    for dtype, found, wanted in zip(DTYPES, compiled(graph, [x]), evaluate(graph, [x])):
        assert found.dtype == wanted.dtype == dtype
        if dtype in dt.FLOATING:
            found, wanted = found.astype(np.float64), wanted.astype(np.float64)
        elif dtype in dt.COMPLEX:
            found, wanted = found.astype(np.complex128), wanted.astype(np.complex128)
        np.testing.assert_array_equal(found, wanted, err_msg=f"{source} to {dtype}")


def test_floats_to_ints_saturate():
    x = np.array([1.9, -1.9, 300, -300, np.nan, np.inf, -np.inf], np.float32)
    graph = graph_of(lambda x: [p.convert(x, dtype=dt.int8), p.convert(x, dtype=dt.uint8)], [x])
    for run in (evaluate, compiled):
        signed, unsigned = run(graph, [x])
        assert signed.tolist() == [1, -1, 127, -128, 0, 127, -128]
        assert unsigned.tolist() == [1, 0, 255, 0, 0, 255, 0]


@pytest.mark.parametrize("dtype", [dt.float32, dt.float64, dt.bfloat16, dt.float16, dt.complex64], ids=str)
def test_a_mask_made_numbers_multiplies(dtype):
    """0 * inf is NaN, and no selection by the mask."""
    x, mask = np.array([np.inf, np.nan, 2, -np.inf]).astype(dtype), np.array([False, False, False, True])
    graph = graph_of(lambda x, mask: p.mul(x, p.convert(mask, dtype=dtype)), [x, mask])
    for run in (evaluate, compiled):
        found = np.asarray(run(graph, [x, mask])[0]).astype(np.complex64)
        assert np.isnan(found[:2]).all() and found[2] == 0 and np.isinf(found[3].real)


def test_ints_wrap():
    x = np.array([300, -1, 2**40 + 3])
    graph = graph_of(lambda x: p.convert(x, dtype=dt.uint8), [x])
    for run in (evaluate, compiled):
        assert run(graph, [x])[0].tolist() == [44, 255, 3]


@pytest.mark.parametrize("dtype", sorted(dt.REAL - dt.SUB_BYTE, key=str), ids=str)
def test_bitcast(dtype):
    x = values(dtype)[:96].reshape(3, 8, -1)[..., :4]
    targets = [d for d in sorted(dt.REAL - dt.SUB_BYTE, key=str) if d.itemsize <= dtype.itemsize]
    graph = graph_of(lambda x: [p.bitcast(x, dtype=d) for d in targets], [x])
    for run in (evaluate, compiled):
        for target, found in zip(targets, run(graph, [x])):
            assert found.dtype == target
            assert found.tobytes() == np.ascontiguousarray(x).tobytes()


@pytest.mark.parametrize("dtype", sorted(dt.SUB_BYTE, key=str), ids=str)
def test_bitcast_of_less_than_a_byte_is_refused(dtype):
    with pytest.raises(TypeError, match="of a byte an element or more"):
        graph_of(lambda x: p.bitcast(x, dtype=dt.uint8), [values(dtype)])


def test_bitcast_to_wider():
    x = RNG.integers(0, 255, (2, 3, 8), np.uint8)
    check(lambda x: p.bitcast(x, dtype=dt.int64), x)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16, dt.float32, dt.float64], ids=str)
def test_reduce_precision(dtype):
    x = without_subnormals(values(dtype))
    x = x[~(np.abs(x.astype(np.float64)) < float(dt.finfo(dtype).smallest_normal))]
    for e, m in ((5, 10), (8, 7), (4, 3), (5, 2), (2, 0), (1, 3), (11, 52)):
        check(lambda x: p.reduce_precision(x, exponent_bits=e, mantissa_bits=m), x, tol=0, rules=("lower",))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_reduce_precision_is_a_round_trip():
    x = without_subnormals(values(dt.float32))
    graph = graph_of(lambda x: p.reduce_precision(x, exponent_bits=8, mantissa_bits=7), [x])
    np.testing.assert_array_equal(evaluate(graph, [x])[0], x.astype(dt.bfloat16).astype(np.float32))
