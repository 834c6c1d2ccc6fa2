"""Random numbers that a GPU draws itself: by Threefry, from a key, the next 64 bits of the generator.

So one generator, its state, `fork_rng` and checkpoints are what they are on the CPU; the numbers are others. What is
not here is drawn on the host, and copied.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .... import primitives as p
from ....core import dtypes as dt
from ....ops.random import standard_normal, unit
from ...dispatch.devices import recording_on
from ...dispatch.op import torch_op
from ...dispatch.slots import Number
from ...tensors import types as _types
from ...tensors.base import Tensor
from ...tensors.promotion import cast
from .generator import Mt19937Generator

DTYPES = dt.FLOATING - dt.FLOAT8

# What draws a tensor of a shape on a device, with the generator that gives the key.
There = Callable[[_types.device, tuple, Mt19937Generator], Tensor]


def _drawn(op, *params) -> There:
    def draw(where: _types.device, shape: tuple, bits: Mt19937Generator) -> Tensor:
        seed = int(bits.random64(1).view(np.int64)[0])
        with recording_on(where):
            return op.compute([seed, *params, tuple(shape)])

    return draw


def uniform(dtype: np.dtype, low: float = 0.0, high: float = 1.0) -> There | None:
    """Uniform numbers of [low, high); None of a dtype that is drawn on the host."""
    return _drawn(_uniform, float(low), float(high), dtype) if dtype in DTYPES else None


def normal(dtype: np.dtype, mean: float = 0.0, std: float = 1.0) -> There | None:
    """Normal numbers."""
    return _drawn(_normal, float(mean), float(std), dtype) if dtype in DTYPES else None


def ones(dtype: np.dtype, chance: float) -> There | None:
    """Ones with a probability, else zeros."""
    return None if dtype in dt.COMPLEX | dt.FLOAT8 else _drawn(_ones, float(chance), dtype)


def _key(seed):
    return p.threefry_seed(cast(seed, dt.int64))


@torch_op(name="_uniform_there")
def _uniform(seed: Number, low: Number, high: Number, dtype, shape):
    """Uniform numbers; those that rounding makes `high` are `low`."""
    low, high = (p.broadcast_in_dim(cast(x, dtype), shape=shape, dims=()) for x in (low, high))
    made = p.add(low, p.mul(unit(_key(seed), shape, dtype), p.sub(high, low)))
    return p.select(p.ge(made, high), low, made)


@torch_op(name="_normal_there")
def _normal(seed: Number, mean: Number, std: Number, dtype, shape):
    """Normal numbers of a mean and deviation."""
    mean, std = (p.broadcast_in_dim(cast(x, dtype), shape=shape, dims=()) for x in (mean, std))
    return p.add(mean, p.mul(std, standard_normal(_key(seed), shape, dtype)))


@torch_op(name="_ones_there")
def _ones(seed: Number, chance: Number, dtype, shape):
    """Ones with a probability, by 32 bits each."""
    chance = p.broadcast_in_dim(cast(chance, dt.float64), shape=shape, dims=())
    bits = p.random_bits(_key(seed), shape=shape, bits=32)
    return cast(p.lt(p.mul(cast(bits, dt.float64), p.full(shape, 2.0**-32, dt.float64)), chance), dtype)
