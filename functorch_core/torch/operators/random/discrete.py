"""Bernoulli samples, dropout masks, and draws from a discrete distribution."""

from __future__ import annotations

import math

import numpy as np

from ....core.quiet import quiet
from .arithmetic import FLOAT_TYPES, HALF_TYPES, cast, numel, opmath, require_dtype
from .generator import Mt19937Generator
from .transforms import exponential

_FLOAT32 = np.dtype(np.float32)
_BERNOULLI_TYPES = (*(np.dtype(code) for code in ("?", "u1", "i1", "i2", "i4", "i8")), *FLOAT_TYPES)
_MAX_CATEGORIES = 1 << 24
PIECE = 1 << 16  # samples that are drawn at once
FEW = 64  # weights that Python looks at: NumPy takes four calls, 8 us


def bernoulli(gen: Mt19937Generator, size, dtype, p) -> np.ndarray:
    """Ones with probability p, a float or an array that broadcasts to `size`; real dtypes.

    A float or float64 p is compared with uniforms of 53 bits, other arrays with 24 bits.
    Raises RuntimeError where a probability is outside [0, 1].
    """
    dtype = dtype if dtype is _FLOAT32 else require_dtype("bernoulli", dtype, _BERNOULLI_TYPES)
    n = numel(size)
    if n and not _are_probabilities(p):
        what = "p_in >= 0 && p_in <= 1 to be true, but got false."
        raise RuntimeError(
            f"Expected {what}"
            if isinstance(p, np.ndarray)
            else f"bernoulli_ expects p to be in [0, 1], but got p={p:g}"
        )
    if n > PIECE and not isinstance(p, np.ndarray):
        return _by_pieces(gen, n, dtype, p).reshape(size)
    if not isinstance(p, np.ndarray) or p.dtype == np.float64:
        uniforms = gen.uniform_float64(n)
    else:
        if p.dtype is not _FLOAT32:
            require_dtype("bernoulli with an array p", p.dtype, FLOAT_TYPES)
            p = p.astype(np.float32, copy=False)
        uniforms = gen.uniform_float32(n)
    return (uniforms.reshape(size) < p).astype(dtype, copy=False)


def _by_pieces(gen: Mt19937Generator, n: int, dtype: np.dtype, p: float) -> np.ndarray:
    """The same a piece at a time: all uniforms of a mask would take eight times its memory."""
    found = np.empty(n, dtype)
    for i in range(0, n, PIECE):
        piece = found[i : i + PIECE]
        piece[:] = gen.uniform_float64(len(piece)) < p
    return found


def _are_probabilities(p) -> bool:
    if not isinstance(p, np.ndarray):
        return 0 <= p <= 1
    if p.size <= FEW:
        return all([0 <= x <= 1 for x in p.reshape(-1).tolist()])
    return bool(0 <= p.min() and p.max() <= 1)


def dropout_mask(gen: Mt19937Generator, size, p: float) -> np.ndarray:
    """Where dropout keeps an element, bool: drawn once each with probability 1 - p.

    PyTorch draws nothing for p == 0 and p == 1 in nn.functional.dropout; native_dropout does.
    """
    return bernoulli(gen, size, bool, 1.0 - p)


# ---- multinomial -----------------------------------------------------------------------------


def multinomial(gen: Mt19937Generator, weights: np.ndarray, num_samples: int, replacement: bool = False) -> np.ndarray:
    """Indices int64 (..., num_samples) drawn by weights (categories,) or (rows, categories).

    Weights need not sum to one. Raises RuntimeError for invalid weights or sample numbers.
    Without replacement, equal ratios of weight to exponential sample (frequent in the half
    types only) may come in another order than PyTorch's.
    """
    _check_multinomial(weights, num_samples, replacement)
    shape = (*weights.shape[:-1], num_samples)
    if 0 in shape:
        return np.empty(shape, np.int64)
    if replacement and num_samples > 1:
        rows = weights.reshape(-1, weights.shape[-1])
        return np.stack([_by_inversion(gen, row, num_samples) for row in rows]).reshape(shape)
    return _by_exponential_races(gen, weights, num_samples)


def _check_multinomial(weights: np.ndarray, num_samples: int, replacement: bool) -> None:
    if weights.ndim not in (1, 2):
        raise RuntimeError(f"multinomial expects weights of 1 or 2 dim, got {weights.ndim}")
    if weights.dtype not in FLOAT_TYPES:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {weights.dtype.name}")
    if num_samples <= 0:
        raise RuntimeError(f"cannot sample n_sample <= 0 samples, got {num_samples}")
    categories = weights.shape[-1]
    if not replacement and num_samples > categories:
        raise RuntimeError(
            f"cannot sample n_sample > prob_dist.size(-1) samples without replacement: {num_samples} > {categories}"
        )
    if categories > _MAX_CATEGORIES:
        raise RuntimeError(f"number of categories cannot exceed 2^24, got {categories}")
    if 0 < weights.size <= FEW:
        numbers = weights.reshape(-1, categories).tolist()
        valid, positive = all([0 <= x < math.inf for row in numbers for x in row]), all(map(any, numbers))
    else:
        largest = weights.max(axis=-1, initial=0)
        valid, positive = weights.min(initial=0) >= 0 and largest.max(initial=0) < np.inf, largest.min(initial=1) > 0
    if not valid:  # NaN is neither above nor below
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not positive:
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


def _by_inversion(gen, weights: np.ndarray, num_samples: int) -> np.ndarray:
    cumulative = np.cumsum(weights.astype(opmath(weights.dtype)))
    cumulative /= cumulative[-1]
    cumulative[-1] = 1
    uniforms = gen.uniform_float64(num_samples)
    return np.searchsorted(cumulative.astype(np.float64), uniforms)


def _by_exponential_races(gen, weights: np.ndarray, num_samples: int) -> np.ndarray:
    """The largest ratios of weight to an exponential sample, in falling order."""
    arrivals = exponential(gen, weights.shape, weights.dtype)
    if weights.dtype in HALF_TYPES:
        ratios = quiet.call(np.divide, weights.astype(np.float32), arrivals.astype(np.float32))
        ratios = cast(ratios, weights.dtype).astype(np.float32)
    else:
        ratios = quiet.call(np.divide, weights, arrivals)
    if num_samples == 1:
        return ratios.argmax(axis=-1, keepdims=True)
    order = np.argsort(-ratios, axis=-1, kind="stable")
    return np.ascontiguousarray(order[..., :num_samples])
