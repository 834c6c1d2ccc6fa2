"""Residuals of a loop that are made again: fewer stacks, the same derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core as fc
from functorch_core.transforms import scan as module


def stacks(fun, *args) -> int:
    """How many outputs per step the loops of a function's program have."""
    return fc.jit(fun).lower(*args).as_text().count("stablehlo.dynamic_update_slice")


def triangles(w, x):
    """A loop whose derivative needs an LU decomposition's parts, absolute values and views of what it makes."""

    def step(carry, row):
        matrix = w + carry[:, None] * row[None]
        solved = fc.linalg.solve(matrix, row)
        return fc.tanh(solved) * fc.abs(carry), fc.linalg.slogdet(matrix)[1]

    carry, logs = fc.scan(step, fc.full((3,), 0.1, "float64"), x)
    return carry.sum() + logs.sum()


def moved(w, x):
    """One whose residuals are transposed, reshaped and masked."""

    def step(carry, row):
        product = fc.sin(w @ carry)
        column = product.reshape(3, 1)
        kept = fc.where(row > 0, product, 0.5 * product)
        return kept * row + (column.T * column).sum(0), fc.abs(product) * fc.exp(-product)

    carry, ys = fc.scan(step, fc.full((3,), 0.1, "float64"), x)
    return (carry**2).sum() + ys.sum()


def arguments():
    rng = np.random.default_rng(0)
    return 2 * np.eye(3) + 0.2 * rng.standard_normal((3, 3)), rng.standard_normal((5, 3))


def difference(fun, args, directions, h=1e-6):
    """The derivative in a direction, by finite differences."""
    ahead, behind = ([fc.asarray(a + s * h * d) for a, d in zip(args, directions)] for s in (1, -1))
    return (float(fun(*ahead)) - float(fun(*behind))) / (2 * h)


@pytest.mark.parametrize("fun", (triangles, moved))
def test_gradients_and_their_gradients(fun):
    args = arguments()
    rng = np.random.default_rng(1)
    directions = [rng.standard_normal(a.shape) for a in args]

    def slope(*args):
        return sum((g * d).sum() for g, d in zip(fc.grad(fun, argnums=(0, 1))(*args), directions))

    arrays = [fc.asarray(a) for a in args]
    np.testing.assert_allclose(float(fc.jit(slope)(*arrays)), difference(fun, args, directions), rtol=1e-6)
    curvature = sum((g * d).sum() for g, d in zip(fc.grad(slope, argnums=(0, 1))(*arrays), directions))
    np.testing.assert_allclose(float(curvature), difference(slope, args, directions), rtol=1e-5)


@pytest.mark.parametrize("fun", (triangles, moved))
def test_fewer_stacks(fun, monkeypatch):
    args = [fc.asarray(a) for a in arguments()]
    fewer = stacks(lambda *args: fc.grad(fun)(*args), *args)
    monkeypatch.setattr(module, "without_derived", lambda split, *numbers: split)
    assert fewer < stacks(lambda *args: fc.grad(again(fun))(*args), *args)


def again(fun):
    """The same function, traced anew."""
    return lambda *args: fun(*args)
