"""The float32 Box-Muller transform of PyTorch's vectorised kernel, to the last bit.

That kernel uses the single-precision log, sin and cos of the Cephes library (polynomials by
Stephen L. Moshier), compiled with fused multiply-add. NumPy's functions are more accurate and
so differ in a seventh of the samples. Here float64 arrays hold float32 values: one operation in
float64 followed by rounding to float32 is that operation in float32, and a product and a sum
rounded together are a fused multiply-add (two products in 10**9 round twice).
"""

from __future__ import annotations

import numpy as np


def _float32(*values: float) -> tuple[float, ...]:
    return tuple(float(np.float32(v)) for v in values)


(_SQRT_HALF,) = _float32(0.707106781186547524)
_LN2_LOW, _LN2_HIGH = _float32(-2.12194440e-4, 0.693359375)
_LOG = _float32(
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
)

_TWO_PI, _FOUR_OVER_PI = _float32(2.0 * np.pi, 1.27323954473516)
_QUARTER_PI_PARTS = _float32(-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8)
_SIN = _float32(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = _float32(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)


def box_muller_float32(u1: np.ndarray, u2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two float32 standard normals each from float32 u1 in (0, 1] and u2 in [0, 1)."""
    radius = _rounded(np.sqrt(_rounded(-2.0 * _log(u1))))
    sine, cosine = _sine_cosine(_rounded(_TWO_PI * u2.astype(np.float64)))
    return (radius * cosine).astype(np.float32), (radius * sine).astype(np.float32)


def _rounded(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32).astype(np.float64)


def _horner(coefficients: tuple[float, ...], x: np.ndarray) -> np.ndarray:
    """The polynomial with these coefficients, highest power first, by fused multiply-add."""
    result = _rounded(coefficients[0] * x + coefficients[1])
    for coefficient in coefficients[2:]:
        result = _rounded(result * x + coefficient)
    return result


def _log(x: np.ndarray) -> np.ndarray:
    """Natural logarithm of positive normal float32, as float64."""
    mantissa, exponent = np.frexp(x)  # mantissa in [0.5, 1)
    small = mantissa < _SQRT_HALF
    exponent = (exponent - small).astype(np.float64)
    mantissa = mantissa.astype(np.float64)
    m = _rounded(np.where(small, 2.0 * mantissa, mantissa) - 1.0)
    square = _rounded(m * m)
    tail = _rounded(_horner(_LOG, m) * m)
    tail = _rounded(tail * square + _rounded(exponent * _LN2_LOW))
    tail = _rounded(tail - 0.5 * square)
    return _rounded(exponent * _LN2_HIGH + _rounded(m + tail))


def _sine_cosine(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sine and cosine of float32 x in [0, 2 pi], as float64."""
    octant = _rounded(x * _FOUR_OVER_PI).astype(np.int32)
    octant = (octant + 1) & ~1
    reduced = x
    for part in _QUARTER_PI_PARTS:
        reduced = _rounded(octant * part + reduced)
    square = _rounded(reduced * reduced)
    cosine = _rounded(_rounded(_horner(_COS, square) * square) * square - 0.5 * square)
    cosine = _rounded(cosine + 1.0)
    sine = _rounded(_rounded(_horner(_SIN, square) * square) * reduced + reduced)
    swapped = (octant & 2) != 0
    sine, cosine = np.where(swapped, cosine, sine), np.where(swapped, sine, cosine)
    sine = np.where(octant & 4, -sine, sine)
    cosine = np.where((octant + 2) & 4, -cosine, cosine)
    return sine, cosine
