"""Infinities, NaN and signed zeros, real and complex, in every function of the Array API: as NumPy has them."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core as fc

REAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 2.0, -2.0, np.pi / 2, 1e30, -3.0])
PARTS = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5]
COMPLEX = np.array([complex(a, b) for a in PARTS for b in PARTS])
UNARY = """abs acos acosh asin asinh atan atanh ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan log log10
    log1p log2 logical_not negative positive real reciprocal round sign signbit sin sinh sqrt square tan tanh
    trunc""".split()
BINARY = """add atan2 copysign divide equal floor_divide greater hypot logaddexp maximum minimum multiply nextafter pow
    remainder subtract""".split()
# NumPy's own quotient of complex numbers gives NaN for 1 / 0; of real and compiled ones the sign of 0 is free.
COMPLEX_UNARY = [n for n in UNARY if n not in "ceil floor trunc signbit reciprocal".split()]


def agree(found, wanted, signs: bool = True):
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.dtype == wanted.dtype
    if found.dtype.kind == "c":
        agree(found.real, wanted.real, signs)
        agree(found.imag, wanted.imag, signs)
        return
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-12)
    if signs and found.dtype.kind == "f":
        known = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found[known]), np.signbit(wanted[known]))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("tier", ["auto", "fused"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", UNARY)
def test_real_functions(name, dtype, tier):
    x = REAL.astype(dtype)
    with fc.engine.forced_tier(tier):
        agree(getattr(fc, name)(fc.asarray(x)), getattr(np, name)(x), signs=name != "sign")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("tier", ["auto", "fused"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two(name, dtype, tier):
    x, y = (g.reshape(-1).astype(dtype) for g in np.meshgrid(REAL, REAL))
    with fc.engine.forced_tier(tier):
        found = getattr(fc, name)(fc.asarray(x), fc.asarray(y))
    agree(found, getattr(np, name)(x, y), signs=name not in ("maximum", "minimum"))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", COMPLEX_UNARY)
def test_complex_functions(name):
    """Of small arrays, which NumPy computes; in compiled programs they are XLA's (docs/differences.md)."""
    with fc.engine.forced_tier("reference"):
        agree(getattr(fc, name)(fc.asarray(COMPLEX)), getattr(np, name)(COMPLEX))
