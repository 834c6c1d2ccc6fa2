"""jax.nn.initializers: functions (key, shape, dtype) -> Array for the first values of parameters."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

import functorch_core as fc

from ..array.compose import missing_name
from ..core import dtypes as dt
from ..core.explain import explaining
from ..numpy.creation import full
from ..ops.promotion import canonical_axis

# The standard deviation of a standard normal distribution cut off at -2 and 2.
TRUNCATED = 0.87962566103423978
MODES = ("fan_in", "fan_out", "fan_avg", "fan_geo_avg")
DISTRIBUTIONS = ("truncated_normal", "normal", "uniform")
TOO_NARROW = """{name}: fans need two dimensions at least, got shape {shape}
    A vector of parameters (a bias) begins with zeros, or by initializers.normal."""


class Initializer(Protocol):
    """What makes an array of parameters: initializer(key, shape, dtype)."""

    def __call__(self, key, shape, dtype: Any = None) -> fc.Array: ...


def _dtype(given, default):
    return dt.canonical(given if given is not None else default if default is not None else float)


# ---- constants -----------------------------------------------------------------------------------


@explaining
def zeros(key, shape, dtype=None):
    """Zeros; the key is not needed.

    >>> from functorch_core.jnn import initializers
    >>> initializers.zeros(None, (2,))
    Array([0., 0.], dtype=float32)
    """
    return fc.zeros(shape, _dtype(dtype, None))


@explaining
def ones(key, shape, dtype=None):
    """Ones; the key is not needed.

    >>> from functorch_core.jnn import initializers
    >>> initializers.ones(None, (2,))
    Array([1., 1.], dtype=float32)
    """
    return fc.ones(shape, _dtype(dtype, None))


def constant(value, dtype=None) -> Initializer:
    """An initializer of one repeated value (or an array that is broadcast).

    >>> from functorch_core.jnn import initializers
    >>> initializers.constant(3.)(None, (2,))
    Array([3., 3.], dtype=float32)
    """

    def initializer(key, shape, dtype=dtype):
        return full(shape, value, _dtype(dtype, None))

    return initializer


# ---- one distribution ----------------------------------------------------------------------------


def uniform(scale=0.01, dtype=None) -> Initializer:
    """An initializer of uniform numbers in [0, scale).

    >>> import functorch_core as fc
    >>> fc.jnn.initializers.uniform(1.)(fc.random.key(0), (2, 3)).shape
    (2, 3)
    """

    def initializer(key, shape, dtype=dtype):
        dtype = _dtype(dtype, None)
        return fc.random.uniform(key, shape, dtype) * scale

    return initializer


def normal(stddev=0.01, dtype=None) -> Initializer:
    """An initializer of normal numbers.

    >>> import functorch_core as fc
    >>> fc.jnn.initializers.normal(1.)(fc.random.key(0), (2, 3)).shape
    (2, 3)
    """

    def initializer(key, shape, dtype=dtype):
        dtype = _dtype(dtype, None)
        return fc.random.normal(key, shape, dtype) * stddev

    return initializer


def truncated_normal(stddev=0.01, dtype=None, lower=-2.0, upper=2.0) -> Initializer:
    """An initializer of normal numbers between lower and upper, times stddev.

    >>> import functorch_core as fc
    >>> fc.jnn.initializers.truncated_normal(1.)(fc.random.key(0), (2, 3)).shape
    (2, 3)
    """

    def initializer(key, shape, dtype=dtype):
        dtype = _dtype(dtype, None)
        return fc.random.truncated_normal(key, lower, upper, tuple(shape), dtype) * stddev

    return initializer


# ---- by the fans ---------------------------------------------------------------------------------


def _axes(axis, ndim: int) -> tuple[int, ...]:
    axes = (axis,) if isinstance(axis, int) else axis
    return tuple(canonical_axis(d, ndim, "an initializer") for d in axes)


def fans(shape, in_axis=-2, out_axis=-1, batch_axis=()) -> tuple[float, float]:
    """(how many inputs each output has, how many outputs each input), of a shape of parameters.

    >>> from functorch_core.jnn.initializers import fans
    >>> fans((3, 3, 8, 16))
    (72.0, 144.0)
    """
    if len(shape) < 2:
        raise ValueError(TOO_NARROW.format(name="variance_scaling", shape=tuple(shape)))
    inside, outside, batch = (
        math.prod(shape[d] for d in _axes(axes, len(shape))) for axes in (in_axis, out_axis, batch_axis)
    )
    field = math.prod(shape) / max(inside * outside * batch, 1)
    return inside * field, outside * field


def variance_scaling(scale, mode, distribution, in_axis=-2, out_axis=-1, batch_axis=(), dtype=None) -> Initializer:
    """An initializer of variance scale / n, where n is the fan that `mode` names.

    mode: 'fan_in', 'fan_out', 'fan_avg' or 'fan_geo_avg' (their mean, the geometric one).
    distribution: 'truncated_normal', 'normal' or 'uniform'. Complex numbers: by both parts.

    >>> import functorch_core as fc
    >>> make = fc.jnn.initializers.variance_scaling(2., "fan_in", "normal")
    >>> make(fc.random.key(0), (100, 3)).shape
    (100, 3)
    """
    if mode not in MODES:
        raise ValueError(f"variance_scaling: mode is one of {', '.join(map(repr, MODES))}, got {mode!r}")
    if distribution not in DISTRIBUTIONS:
        raise ValueError(f"variance_scaling: distribution is one of {', '.join(map(repr, DISTRIBUTIONS))}, "
                         f"got {distribution!r}")  # fmt: skip

    def initializer(key, shape, dtype=dtype):
        dtype = _dtype(dtype, None)
        into, out = fans(shape, in_axis, out_axis, batch_axis)
        n = {"fan_in": into, "fan_out": out, "fan_avg": (into + out) / 2, "fan_geo_avg": math.sqrt(into * out)}[mode]
        return _drawn(key, tuple(shape), dtype, math.sqrt(scale / n) if n else 0.0, distribution)

    return initializer


def _drawn(key, shape, dtype, stddev: float, distribution: str):
    """Numbers of a distribution with mean 0 and this standard deviation."""
    if distribution == "normal":
        return fc.random.normal(key, shape, dtype) * stddev
    if dtype in dt.COMPLEX:
        return _drawn_complex(key, shape, dtype, stddev, distribution)
    if distribution == "uniform":
        return fc.random.uniform(key, shape, dtype, -1) * (math.sqrt(3) * stddev)
    return fc.random.truncated_normal(key, -2, 2, shape, dtype) * (stddev / TRUNCATED)


def _drawn_complex(key, shape, dtype, stddev: float, distribution: str):
    """Uniform in a disk, or of a normal size cut off at 2; the angle is uniform."""
    key_size, key_angle = fc.random.split(key)
    real = dt.real_of(dtype)
    u = fc.random.uniform(key_size, shape, real)
    if distribution == "uniform":
        size = math.sqrt(2) * fc.sqrt(u)
    else:  # the radius of a two-dimensional normal distribution cut off at 2
        cut = 1 - math.exp(-4)
        size = fc.sqrt(-fc.log1p(-cut * u)) / 0.95311164380491208
    angle = fc.random.uniform(key_angle, shape, real) * (2 * math.pi)
    return ((size * stddev) * (fc.cos(angle) + 1j * fc.sin(angle))).astype(dtype)


def _named(name: str, doc: str, scale: float, mode: str, distribution: str):
    def make(in_axis=-2, out_axis=-1, batch_axis=(), dtype=None) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""{doc}: variance {scale:g} / {mode}, {distribution}.

    >>> import functorch_core as fc
    >>> fc.jnn.initializers.{name}()(fc.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return make


glorot_uniform = _named("glorot_uniform", "Glorot's (Xavier's) initializer", 1.0, "fan_avg", "uniform")
glorot_normal = _named("glorot_normal", "Glorot's (Xavier's) initializer", 1.0, "fan_avg", "truncated_normal")
lecun_uniform = _named("lecun_uniform", "LeCun's initializer", 1.0, "fan_in", "uniform")
lecun_normal = _named("lecun_normal", "LeCun's initializer", 1.0, "fan_in", "truncated_normal")
he_uniform = _named("he_uniform", "He's (Kaiming's) initializer", 2.0, "fan_in", "uniform")
he_normal = _named("he_normal", "He's (Kaiming's) initializer", 2.0, "fan_in", "truncated_normal")
xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal


# ---- orthogonal ----------------------------------------------------------------------------------


def orthogonal(scale=1.0, column_axis=-1, dtype=None) -> Initializer:
    """An initializer of orthogonal matrices, times scale: the columns are those of one axis.

    >>> import functorch_core as fc
    >>> fc.jnn.initializers.orthogonal()(fc.random.key(0), (3, 3)).shape
    (3, 3)
    """

    def initializer(key, shape, dtype=dtype):
        dtype = _dtype(dtype, None)
        if len(shape) < 2:
            raise ValueError(TOO_NARROW.format(name="orthogonal", shape=tuple(shape)))
        columns = shape[column_axis]
        rows = math.prod(shape) // columns
        q, r = fc.linalg.qr(fc.random.normal(key, (max(rows, columns), min(rows, columns)), dtype))
        flat = q * fc.sign(fc.diag(r))
        flat = flat.T if rows < columns else flat
        rest = list(np.delete(shape, column_axis))
        return scale * fc.moveaxis(fc.reshape(flat, (*map(int, rest), columns)), -1, column_axis)

    return initializer


def delta_orthogonal(scale=1.0, column_axis=-1, dtype=None) -> Initializer:
    """An initializer of convolutions [*spatial, in, out]: orthogonal at the middle, 0 elsewhere.

    >>> import functorch_core as fc
    >>> fc.jnn.initializers.delta_orthogonal()(fc.random.key(0), (3, 2, 2)).shape
    (3, 2, 2)
    """

    def initializer(key, shape, dtype=dtype):
        dtype = _dtype(dtype, None)
        if len(shape) not in (3, 4, 5) or shape[-1] < shape[-2]:
            raise ValueError(f"delta_orthogonal takes [*spatial, in, out] with in <= out, got {tuple(shape)}")
        matrix = orthogonal(scale, column_axis, dtype)(key, tuple(shape[-2:]))
        middle = tuple((n - 1) // 2 for n in shape[:-2])
        return fc.zeros(shape, dtype).at[middle].set(matrix)

    return initializer


__getattr__ = missing_name("jnn.initializers", {})

__all__ = [
    "Initializer", "constant", "delta_orthogonal", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform",
    "kaiming_normal", "kaiming_uniform", "lecun_normal", "lecun_uniform", "normal", "ones", "orthogonal",
    "truncated_normal", "uniform", "variance_scaling", "xavier_normal", "xavier_uniform", "zeros",
]  # fmt: skip
