"""Gamma and Dirichlet samples, bit for bit those of PyTorch's CPU generator.

How many uniforms a sample takes depends on the uniforms. Few elements go one by one, in Python, 2.8 us each; many by
`gamma_walk`. The order of operations and their types are PyTorch's, whose float32 arguments stay float32 where an
operation meets no float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .arithmetic import FLOAT_TYPES, require_dtype
from .gamma_walk import BLOCK, SQUEEZE, Shapes, exact_gammas, quick_gammas, walk
from .generator import Mt19937Generator, Stretch
from .rejection import Read, require_finite

MANY = 128  # elements from which on the walk is faster
_ARGUMENT_TYPES = FLOAT_TYPES[2:]
_f32 = np.float32
_THIRD = float(_f32(1.0 / 3.0))  # PyTorch's float32 constant, with which it computes in float64

Made = Callable[[np.ndarray], np.ndarray]
Bounds = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def standard_gamma(gen: Mt19937Generator, alpha: np.ndarray) -> np.ndarray:
    """Gamma samples of unit rate, of the shape and dtype (float32, float64) of `alpha`.

    No sample is less than the smallest normal number. Raises ValueError where alpha is negative,
    infinite or NaN (PyTorch does not return from some of these).
    """
    dtype = require_dtype("gamma", alpha.dtype, _ARGUMENT_TYPES)

    def rounded(gammas: np.ndarray) -> np.ndarray:
        return np.maximum(gammas.astype(dtype), np.finfo(dtype).tiny)

    def bounds(gammas: np.ndarray, errors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return rounded(gammas * (1 - errors)), rounded(gammas * (1 + errors))

    return _drawn(gen, alpha, BLOCK, rounded, None if dtype == np.float64 else bounds)


def dirichlet(gen: Mt19937Generator, alpha: np.ndarray) -> np.ndarray:
    """Dirichlet samples along the last axis, of the shape and dtype of `alpha`."""
    dtype = require_dtype("dirichlet", alpha.dtype, _ARGUMENT_TYPES)
    categories = alpha.shape[-1]

    def fractions(gammas: np.ndarray, scale: float | np.ndarray = 1.0) -> np.ndarray:
        gammas = np.maximum(gammas.reshape(-1, categories), np.finfo(np.float64).tiny)
        values = (gammas / gammas.sum(axis=-1, keepdims=True) * scale).astype(dtype)
        return np.clip(values, np.finfo(dtype).tiny, np.nextafter(dtype.type(1), dtype.type(0)))

    def bounds(gammas: np.ndarray, errors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        errors = np.where(gammas < 1e-290, 1.0, errors)  # powers that are subnormal may be less exact
        error = 2 * errors.reshape(-1, categories).max(axis=-1, keepdims=True) + 2.0**-52 * categories
        return fractions(gammas, 1 - error), fractions(gammas, 1 + error)

    block = max(BLOCK // max(categories, 1), 1) * categories  # whole rows
    return _drawn(gen, alpha.astype(np.float64), block, fractions, None if dtype == np.float64 else bounds)


def _drawn(gen, alpha: np.ndarray, block: int, made: Made, bounds: Bounds | None) -> np.ndarray:
    """made(gamma numbers of unit rate) of each `block` of elements.

    With `bounds` the numbers are first computed by quick functions: what is made of them is the same if it is for the
    least and for the largest numbers within their errors, which these are. That fails for one number in 10**6.
    """
    require_finite("gamma", "alpha", alpha)
    if not (alpha >= 0).all():
        raise ValueError(f"gamma expected alpha >= 0, got {alpha.min()}")
    if alpha.size < MANY:
        return made(_few_gammas(gen, alpha)).reshape(alpha.shape)
    flat, parts, stretch = alpha.ravel(), [], Stretch(gen)
    try:
        for start in range(0, flat.size, block):
            parts.append(_many_gammas(gen, stretch, flat[start : start + block], made, bounds).ravel())
    finally:
        stretch.give_back()
    return np.concatenate(parts).reshape(alpha.shape)


def _many_gammas(gen, stretch: Stretch, alpha: np.ndarray, made: Made, bounds: Bounds | None) -> np.ndarray:
    """made(the gamma numbers of a block)."""
    positive, gammas = alpha > 0, np.zeros(alpha.size)  # what is 0 takes no uniform
    shapes = _shapes(alpha[positive])
    n, first = shapes.d.size, 0
    values, errors = np.zeros(n), np.zeros(n)
    read_normal, one_by_one = _normal_reader(gen, stretch.read), shapes.one_by_one()
    while gen.next_normal is not None and first < n:  # one or two: then a pair begins
        values[first] = _gamma_one(*next(one_by_one), stretch.read, read_normal)
        first += 1
    if first == n:
        gammas[positive] = values
        return made(gammas)
    rest = shapes.from_on(first)
    found, uniforms = walk(gen, stretch, rest)
    if bounds is not None:
        values[first:], errors[first:] = quick_gammas(found, uniforms, rest)
        gammas[positive], spread = values, np.zeros(alpha.size)
        spread[positive] = errors
        least, most = bounds(gammas, spread)
        if (least == most).all():
            return most
    values[first:] = exact_gammas(found, uniforms, rest)
    gammas[positive] = values
    return made(gammas)


def _shapes(alpha: np.ndarray) -> Shapes:
    """Marsaglia and Tsang's parameters of alpha > 0, computed in its dtype."""
    one, boosted = alpha.dtype.type(1), alpha < 1
    with np.errstate(over="ignore"):
        exponent = (one / alpha).astype(np.float64)
    d = np.where(boosted, alpha + one, alpha) - alpha.dtype.type(_THIRD)
    return Shapes(d.astype(np.float64), boosted, exponent)


def _few_gammas(gen, alpha: np.ndarray) -> np.ndarray:
    """Gamma numbers one by one."""
    positive, gammas = alpha > 0, np.zeros(alpha.shape)  # what is 0 takes no uniform
    with gen.uniform_reader(4 * alpha.size) as read:
        read_normal = _normal_reader(gen, read)
        parameters = _shapes(alpha[positive]).one_by_one()
        gammas[positive] = [_gamma_one(*each, read, read_normal) for each in parameters]
    return gammas


def _gamma_one(d: float, exponent: float | None, read: Read, read_normal: Read) -> float:
    """Marsaglia and Tsang (2000), the shape boosted where it was less than one."""
    scale = 1.0 if exponent is None else math.pow(1 - read(), exponent)
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = read_normal()
        y = 1.0 + c * x
        while y <= 0:
            x = read_normal()
            y = 1.0 + c * x
        v = y * y * y
        u = 1 - read()
        xx = x * x
        if u < 1.0 - SQUEEZE * xx * xx:
            return scale * d * v
        if math.log(u) < 0.5 * xx + d * (1.0 - v + math.log(v)):
            return scale * d * v


def _normal_reader(gen, read: Read) -> Read:
    """Standard normals one by one; the second of a pair is cached in the generator."""

    def read_normal() -> float:
        if gen.next_normal is not None:
            cached, gen.next_normal = gen.next_normal, None
            return cached
        u1 = read()
        radius = math.sqrt(-2.0 * math.log1p(-read()))
        theta = (2.0 * math.pi) * u1
        gen.next_normal = radius * math.sin(theta)
        return radius * math.cos(theta)

    return read_normal
