"""MLIR types and constants, read back by XLA itself."""

import ml_dtypes
import numpy as np
import pytest

from functorch_core import xla

from .programs import module
from .test_buffers import DTYPES, bits, some_values


def constant_through_xla(x):
    body = f"%r0 = stablehlo.constant {xla.constant(x)} : {xla.mlir_type(x.shape, x.dtype)}"
    return xla.to_numpy(xla.compile(module([], [x], body), inputs=[], outputs=[x])([])[0])


def test_types():
    assert xla.mlir_type((2, 3), "float32") == "tensor<2x3xf32>"
    assert xla.mlir_type((), np.bool_) == "tensor<i1>"
    assert xla.mlir_type((0,), np.dtype("uint8")) == "tensor<0xui8>"
    assert xla.element_type("complex64") == "complex<f32>"
    assert xla.element_type(ml_dtypes.bfloat16) == "bf16"
    assert xla.element_type(ml_dtypes.float8_e4m3fn) == "f8E4M3FN"
    with pytest.raises(TypeError, match="no XLA type"):
        xla.element_type(object)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_constants_are_exact(dtype):
    for count in (1, 5, 100):  # a splat, a list, a string of hexadecimal digits
        x = some_values(dtype, count)
        y = constant_through_xla(x)
        assert y.dtype == dtype
        assert np.array_equal(bits(x), bits(y)), xla.constant(x)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
@pytest.mark.parametrize(
    "values", [[0.0, -0.0], [-0.0, -0.0], [np.nan, 1.0], [np.inf, -np.inf], [1e-45, 0.1], [1e-5, 3e4]], ids=str
)
def test_delicate_floats(dtype, values):
    x = np.array(values).astype(dtype)
    assert np.array_equal(bits(x), bits(constant_through_xla(x)))


def test_all_sixteen_bit_floats():
    every = np.arange(1 << 16, dtype=np.uint16)
    for dtype in ("float16", "bfloat16"):
        x = every.view(dtype)[: 1 << 15 : 97]
        for part in np.array_split(x, 8):  # short enough to be written as decimals
            assert np.array_equal(bits(part), bits(constant_through_xla(part)))


def test_forms():
    assert xla.constant(np.full((3, 4), 2.5)) == "dense<2.5>"
    assert xla.constant(np.zeros((0, 3))) == "dense<>"
    assert xla.constant(True) == "dense<true>"
    assert xla.constant(np.array([[1, 2], [3, 4]])) == "dense<[[1, 2], [3, 4]]>"
    assert xla.constant(np.float32(np.nan)) == "dense<0x7FC00000>"
    assert xla.constant(np.array([-0.0, 0.0])) == "dense<[-0.0, 0.0]>"
    assert xla.constant(np.array([1, 2], ">i4")) == "dense<[1, 2]>"


@pytest.mark.parametrize("shape", [(2, 50), (100,), (4, 5, 6)])
def test_strided_constants(shape):
    x = np.arange(np.prod(shape), dtype="float32").reshape(shape).T[::-1]
    assert np.array_equal(constant_through_xla(x), x)
