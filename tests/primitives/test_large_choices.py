"""Choices and bounds of many numbers, which the host takes other ways for: what NumPy's plain functions give."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core as fc
from functorch_core import torch
from functorch_core.core.aval import aval
from functorch_core.core.primitive import registry
from functorch_core.primitives.comparison import LARGE, _select_bits

SHAPES = ((2 * LARGE,), (160, 300))
EDGES = (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 6.0, -3.0, 3.0)


def numbers(shape, dtype=np.float32):
    x = (np.random.default_rng(0).standard_normal(shape) * 4).astype(dtype)
    if dtype is not np.int32:
        x.reshape(-1)[: len(EDGES)] = EDGES
    return x


def same_bits(a, b):
    bits = f"u{a.itemsize}"
    np.testing.assert_array_equal(a.view(bits), b.view(bits))


@pytest.mark.parametrize("other", [0.0, -0.0, 2.5, np.nan, "array"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_choices(shape, other, dtype):
    x = numbers(shape, dtype)
    mask = np.random.default_rng(1).random(shape) > 0.5
    other = x[::-1].copy() if other == "array" else np.array(other, dtype)
    spread = np.broadcast_to(mask[..., :1], shape), np.broadcast_to(mask[:1], shape)
    for pred in (mask, mask & False, mask | True, *spread):
        same_bits(_select_bits(pred, x, other), np.where(pred, x, other))
        same_bits(_select_bits(pred, other, x), np.where(pred, other, x))
    across = np.ascontiguousarray(x.T).T
    same_bits(_select_bits(mask, across, other), np.where(mask, across, other))


def test_choices_by_one_answer():
    """All of one operand, or a number for all."""
    x = numbers(2 * LARGE)
    for answer in (np.array(True), np.array(False), np.broadcast_to(np.array(True), x.shape)):
        for a, b in ((x, -x), (x, np.array(2, np.float32)), (np.array(0, np.float32), x)):
            same_bits(np.ascontiguousarray(_select_bits(answer, a, b)), np.ascontiguousarray(np.where(answer, a, b)))


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min", "reduce_max_loose"])
@pytest.mark.parametrize("shape", [(64, 32), (40, 200), (3, 7, 300), (1, 5000), (2000, 16), (30, 1, 64)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extremes_of_rows(name, shape, dtype):
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    x[-1, ..., 3], x[0, ..., :] = np.nan, -np.inf
    rule = registry[name].rule("reference")
    for array in (x, np.ascontiguousarray(x.T).T, -np.abs(x)):
        run = rule.specialised(aval(array.shape, array.dtype), axes=(array.ndim - 1,)) or rule
        wanted = (np.min if name == "reduce_min" else np.max)(array, axis=-1)
        found = run(array)
        assert found.shape == wanted.shape and found.dtype == dtype
        at = ~np.isnan(wanted) if name == "reduce_max_loose" else slice(None)
        np.testing.assert_array_equal(found[at], wanted[at])


def test_choices_of_integers():
    x = np.random.default_rng(0).integers(-9, 9, 2 * LARGE).astype(np.int32)
    mask = x % 3 == 0
    np.testing.assert_array_equal(_select_bits(mask, x, np.array(0, np.int32)), np.where(mask, x, 0))
    np.testing.assert_array_equal(_select_bits(mask, np.array(0, np.int32), x), np.where(mask, 0, x))


FINITE = ((-1, 2), (2, -1))
BOUNDS = (*FINITE, (0, np.inf), (np.nan, 1), (-1, np.nan), (-np.inf, 0.5))


@pytest.mark.parametrize(
    "dtype, bounds", [*((np.int32, b) for b in FINITE), *((d, b) for d in (np.float32, np.float64) for b in BOUNDS)]
)
def test_clamp(dtype, bounds):
    x = numbers(5000, dtype)
    low, high = (np.array(b, dtype) for b in bounds)
    wanted = np.minimum(np.maximum(x, low), high)
    np.testing.assert_array_equal(registry["clamp"].reference(low, x, high), wanted)
    many = np.full(x.shape, low, dtype), x, np.full(x.shape, high, dtype)
    np.testing.assert_array_equal(registry["clamp"].reference(*many), wanted)


ACTIVATIONS = {
    "relu": lambda x: np.where(np.isnan(x), x, np.maximum(x, 0)),
    "relu6": lambda x: np.clip(x, 0, 6),
    "leaky_relu": lambda x: np.where(x > 0, x, x * x.dtype.type(0.01)),
    "hardtanh": lambda x: np.clip(x, -1, 1),
    "hardsigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_of_many_numbers(name, dtype):
    x = numbers((50, 100), dtype)
    function = getattr(torch.nn.functional, name)
    with np.errstate(invalid="ignore"):
        wanted = ACTIVATIONS[name](x)
    found = {}
    for tier in ("reference", "fused"):
        with fc.engine.forced_tier(tier):
            leaf = torch.tensor(x, requires_grad=True)
            out = function(leaf)
            out.sum().backward()
            found[tier] = leaf.grad.numpy()
            np.testing.assert_allclose(out.detach().numpy(), wanted, rtol=1e-6, atol=1e-7)
            np.testing.assert_allclose(function(torch.tensor(x.T)).numpy(), wanted.T, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(*found.values(), rtol=1e-6, atol=1e-6)


def test_bounds_of_millions():
    x = numbers((3, 1 << 20))
    with fc.engine.forced_tier("reference"):
        for array in (x, x.T, x[:, ::2]):
            np.testing.assert_array_equal(torch.relu(torch.tensor(array)).numpy(), ACTIVATIONS["relu"](array))
