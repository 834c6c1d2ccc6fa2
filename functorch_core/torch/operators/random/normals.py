"""Normal samples: PyTorch's blocks of 16, and its serial Box-Muller with a cached half."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from . import fused_normals
from .arithmetic import COMPLEX_TYPES, FLOAT_TYPES, affine, cast, libm, numel, opmath, require_dtype
from .box_muller import box_muller_float32
from .generator import Mt19937Generator, float32_of, float64_of

_FLOAT32 = np.dtype(np.float32)
_WIDE = (_FLOAT32, np.dtype(np.float64))
FEW = 6  # pairs that Python computes, 0.7 us each
PATIENCE = 4  # before pairs are computed of all that was drawn ahead, 0.1 us each
FEW_BLOCKS = 1 << 10  # normals that are taken from those made of what was drawn ahead: NumPy takes 60 us for 16
_BLOCK = 1 << 14  # samples per pass, a multiple of 16; the float64 temporaries are 64 KiB each


def normal(
    gen: Mt19937Generator, size, dtype, mean: float = 0.0, std: float = 1.0, *, serial: bool = False
) -> np.ndarray:
    """Normal samples of `dtype`, as randn and normal_ draw them.

    float16, bfloat16, float32, float64, and complex (the variance split between the parts).
    `serial=True` is the path PyTorch takes for non-contiguous outputs, whatever their size.
    Raises RuntimeError where std is negative or NaN.
    """
    dtype = require_dtype("normal", dtype, FLOAT_TYPES + COMPLEX_TYPES)
    if not std >= 0.0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    n = numel(size)
    if dtype in COMPLEX_TYPES:
        part = np.dtype(f"f{dtype.itemsize // 2}")
        values = _real_normal(gen, 2 * n, part, mean, std / math.sqrt(2.0), serial)
        return values.view(dtype).reshape(size)
    return _real_normal(gen, n, dtype, mean, std, serial).reshape(size)


def normal_at(n: int, dtype: np.dtype) -> Callable | None:
    """A function of a generator that draws n standard normals in order, without looking at what they are to be."""
    if dtype is not _FLOAT32:
        return None
    if n < 2 * FEW:
        return lambda gen: _few_normals(gen, n).astype(_FLOAT32)
    if n % 16 or n > FEW_BLOCKS:
        return None
    return lambda gen: gen.few(n, "normals", _normals_of, 16, 1, 0, FEW_BLOCKS)


def normal_from_arrays(gen: Mt19937Generator, mean, std) -> np.ndarray:
    """torch.normal(mean, std) where mean, std or both are arrays.

    The result has the dtype of mean where mean is an array, else that of std.
    Raises RuntimeError where an element of std is negative.
    """
    if not isinstance(std, np.ndarray):
        values = normal(gen, mean.shape, mean.dtype, 0.0, std)
        return cast(values + mean, mean.dtype)
    if std.size and not (std.min() >= 0 if std.size > FEW else all([x >= 0 for x in std.ravel().tolist()])):
        raise RuntimeError("normal expects all elements of std >= 0.0")
    like = mean if isinstance(mean, np.ndarray) else std
    shape = std.shape if np.shape(mean) in ((), std.shape) else np.broadcast_shapes(np.shape(mean), std.shape)
    values = normal(gen, shape, like.dtype)
    values = cast(values * std, like.dtype)
    if like is std:
        mean = np.asarray(mean).astype(std.dtype)
    return cast(values + mean, like.dtype)


def log_normal(gen: Mt19937Generator, size, dtype, mean: float = 1.0, std: float = 2.0) -> np.ndarray:
    """exp of serial normals in float64, as log_normal_. RuntimeError unless std > 0."""
    dtype = require_dtype("log_normal", dtype, FLOAT_TYPES)
    if not std > 0.0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    exponent = serial_normals(gen, numel(size), mean, std)
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype == np.float64:
            # The complex exponential calls the C library's exp; NumPy's real one has its own.
            values = np.exp(exponent.astype(np.complex128)).real.copy()
        else:
            values = np.exp(exponent)
    return cast(values, dtype).reshape(size)


def serial_normals(gen: Mt19937Generator, n: int, mean: float = 0.0, std: float = 1.0) -> np.ndarray:
    """`n` float64 normals by Box-Muller pairs, the sine half of an odd last pair cached.

    Always exact, because the cached half is part of the generator's state.
    """
    if _pairs(gen, n) <= FEW:
        return affine(_few_normals(gen, n), std, mean)
    values = np.empty(n)
    pairs, cached = _pairs(gen, n), 0
    if gen.next_normal is not None:
        values[0], gen.next_normal, cached = gen.next_normal, None, 1
    drawn = _paired(gen.uniform_float64(2 * pairs))
    values[cached:] = drawn[: n - cached]
    if drawn.size > n - cached:
        gen.next_normal = float(drawn[-1])
    return affine(values, std, mean)


def _pairs(gen: Mt19937Generator, n: int) -> int:
    """How many pairs `n` normals need besides what is cached."""
    return (n - (gen.next_normal is not None) + 1) // 2


def _few_normals(gen: Mt19937Generator, n: int) -> np.ndarray:
    """Few standard normals, float64."""
    cached = gen.next_normal if n else None
    rest = n if cached is None else n - 1
    values = gen.few((rest + 1) // 2 * 4, "serial normals", _pairs_of, 4, 2, PATIENCE)
    if cached is not None:
        gen.next_normal = None
        values = np.concatenate([[cached], values])
    if rest & 1:
        gen.next_normal, values = float(values[-1]), values[:-1]
    return values


def _pairs_of(words: np.ndarray, kind: str) -> np.ndarray:
    """Two normals of each four outputs."""
    if words.size > 4 * FEW:
        return _paired(float64_of(words[: words.size & ~3]))
    # Without NumPy, of which each call costs as much as a pair does.
    halves = words.tolist()
    uniforms = [((high & 0x1FFFFF) << 32 | low) * 2.0**-53 for high, low in zip(halves[0::2], halves[1::2])]
    drawn = []
    for first, second in zip(uniforms[0::2], uniforms[1::2]):
        radius, theta = math.sqrt(-2.0 * math.log1p(-second)), 2.0 * math.pi * first
        drawn += radius * math.cos(theta), radius * math.sin(theta)
    return np.array(drawn, np.float64)


def _paired(uniforms: np.ndarray) -> np.ndarray:
    """Two normals of each two uniforms, float64."""
    radius = np.sqrt(-2.0 * libm(math.log1p, -uniforms[1::2]))
    theta = (2.0 * math.pi) * uniforms[0::2]
    drawn = np.empty(uniforms.size)
    drawn[0::2] = radius * np.cos(theta)
    drawn[1::2] = radius * np.sin(theta)
    return drawn


def _real_normal(gen, n: int, dtype: np.dtype, mean: float, std: float, serial: bool) -> np.ndarray:
    if dtype in _WIDE and mean == 0.0 and std == 1.0 and (n < 16 or serial) and _pairs(gen, n) <= FEW:
        return _few_normals(gen, n).astype(dtype, copy=False)
    if n < 16 or serial:
        return cast(serial_normals(gen, n, mean, std), dtype)
    if dtype is _FLOAT32 and not n % 16 and n <= FEW_BLOCKS:
        return affine(gen.few(n, "normals", _normals_of, 16, most=FEW_BLOCKS), std, mean)
    compute = opmath(dtype)
    out = np.empty(n, dtype)
    whole = n - n % 16
    program = fused_normals.program(whole) if compute == np.float32 else None
    if program is not None:
        for part, values in _drawn_beside(*program, gen, whole):
            out[part] = cast(affine(values, std, mean), dtype)
    else:
        for start in range(0, whole, _BLOCK):
            stop = min(start + _BLOCK, whole)
            out[start:stop] = cast(_normal_blocks(gen, stop - start, compute, mean, std), dtype)
    if n % 16:
        if dtype == compute:
            gen.random32((n % 16) * compute.itemsize // 4)  # drawn, then overwritten below
        out[n - 16 :] = cast(_normal_blocks(gen, 16, compute, mean, std), dtype)
    return out


def _drawn_beside(start_block: fused_normals.Starts, block: int, gen, n: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Normals, and where they belong: those of a block are computed while the next block's outputs are drawn."""
    before = None
    for start in range(0, n, block):
        part = slice(start, min(start + block, n))
        computing = part, start_block(gen.random32(part.stop - part.start))
        if before is not None:
            yield before[0], before[1]()
        before = computing
    if before is not None:
        yield before[0], before[1]()


def _normal_blocks(gen, n: int, dtype: np.dtype, mean: float, std: float) -> np.ndarray:
    """Blocks of 16: 8 radii from the first 8 uniforms, 8 angles from the others."""
    if dtype == np.float32 and n <= FEW_BLOCKS:
        return affine(gen.few(n, "normals", _normals_of, 16, most=FEW_BLOCKS), std, mean)
    if dtype == np.float32:
        values = _by_16(gen.uniform_float32(n))
    else:
        values = _by_16(gen.uniform_float64(n), _box_muller_float64)
    return affine(values, std, mean)


def _normals_of(words: np.ndarray, kind: str) -> np.ndarray:
    """The float32 normals of outputs, each 16 by themselves."""
    return _by_16(float32_of(words[: words.size & ~15]))


def _by_16(uniforms: np.ndarray, transform=box_muller_float32) -> np.ndarray:
    """The normals of uniforms, each 16 by themselves."""
    uniforms = uniforms.reshape(-1, 2, 8)
    values = np.empty_like(uniforms)
    values[:, 0], values[:, 1] = transform(1 - uniforms[:, 0], uniforms[:, 1])
    return values.reshape(-1)


def _box_muller_float64(u1: np.ndarray, u2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    radius = np.sqrt(-2.0 * libm(math.log, u1))
    theta = (2.0 * math.pi) * u2
    return radius * np.cos(theta), radius * np.sin(theta)
