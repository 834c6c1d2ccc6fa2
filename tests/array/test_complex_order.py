"""Complex numbers in order, by their real, then by their imaginary parts: as in NumPy and JAX."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import functorch_core as fc
import functorch_core.numpy as jnp
from functorch_core import lax

rng = np.random.default_rng(0)
X, Y = rng.integers(-1, 2, (2, 4, 6, 2)).astype(np.float32).view(np.complex64)[..., 0]
R = rng.integers(-1, 2, (4, 6)).astype(np.float32)
NAN, INF = np.nan, np.inf


def agree(found, wanted):
    found = np.asarray(found)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", "less less_equal greater greater_equal maximum minimum fmax fmin".split())
def test_of_two(name):
    apply, wanted = getattr(jnp, name), getattr(np, name)
    for x, y in [(X, Y), (X, R), (X, Y[0]), (X[..., None, None], Y)]:
        agree(apply(x, y), wanted(x, y))
        agree(fc.jit(apply)(fc.asarray(x), fc.asarray(y)), wanted(x, y))
    agree(apply(fc.asarray(X), 0.0), wanted(X, np.float32(0)))
    agree(fc.vmap(apply)(fc.asarray(X), fc.asarray(Y)), wanted(X, Y))


@pytest.mark.parametrize("apply", [operator.lt, operator.le, operator.gt, operator.ge])
def test_nan_in_comparisons(apply):
    """What the parts say: recorded from JAX. NumPy takes a NaN in either part for one of both."""
    x = np.array([complex(1, NAN), complex(1, NAN), complex(NAN, 0), 0])
    y = np.array([2, 1, 1, complex(NAN, 0)])
    agree(apply(fc.asarray(x), fc.asarray(y)), np.array([apply(1, 2), False, False, False]))


def test_nan_in_the_greater_of_two():
    """The second, where one is NaN; of fmax the other one."""
    x, y = np.array([complex(NAN, 1), 5, complex(INF, 0)]), np.array([2, complex(NAN, 3), complex(0, INF)])
    for name in "maximum minimum".split():
        agree(getattr(jnp, name)(x[:2], y[:2]), y[:2])
    agree(jnp.maximum(x[2:], y[2:]), x[2:])
    for name in "fmax fmin".split():
        agree(getattr(jnp, name)(x[:2], y[:2]), np.array([2, 5], dtype=complex))


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
@pytest.mark.parametrize("name", "max min ptp nanmax nanmin amax amin".split())
def test_over_axes(name, axis):
    apply, wanted = getattr(jnp, name), getattr(np, name)
    agree(apply(X, axis=axis), wanted(X, axis=axis))
    agree(apply(fc.asarray(X), axis=axis, keepdims=True), wanted(X, axis=axis, keepdims=True))
    agree(fc.jit(lambda x: apply(x, axis=axis))(fc.asarray(X)), wanted(X, axis=axis))
    agree(fc.vmap(lambda x: apply(x))(fc.asarray(X)), wanted(X, axis=1))


def test_of_infinities_nan_and_nothing():
    agree(jnp.max(np.array([complex(-INF, 1), complex(-INF, -INF)])), np.complex128(complex(-INF, 1)))
    agree(jnp.min(np.array([complex(INF, INF), complex(INF, 1)])), np.complex128(complex(INF, 1)))
    lost = np.array([complex(NAN, 1), 2, 3])
    assert np.isnan(jnp.max(lost)) and np.isnan(jnp.min(lost))
    agree(jnp.nanmax(lost), np.complex128(3))
    agree(jnp.nanmin(lost), np.complex128(2))
    assert np.isnan(jnp.nanmax(lost[:1]))
    with pytest.raises(ValueError, match="no element"):
        jnp.max(np.zeros((0,), dtype=complex))


def test_beginnings_and_masks():
    agree(jnp.max(X, initial=0.5, axis=0), np.max(X, initial=0.5, axis=0))
    agree(jnp.min(X, initial=0.0, where=R > 0), np.min(X, initial=0.0, where=R > 0))


def test_of_lax():
    agree(lax.max(X, Y), np.maximum(X, Y))
    agree(lax.reduce_max(fc.asarray(X), (0,)), X.max(0))
    agree(lax.reduce_min(fc.asarray(X), (0, 1)), X.min())


def real_loss(apply):
    return lambda *args: jnp.real(apply(*args) * (1 + 2j)).sum()


def test_derivatives_of_two():
    """All to the one that is taken, half to each of equal ones: recorded from JAX."""
    x, y = fc.asarray([1 + 2j, 3 - 1j, 2 + 2j]), fc.asarray([1 + 1j, 4 + 0j, 2 + 2j])
    for_x, for_y = fc.grad(real_loss(jnp.maximum), argnums=(0, 1))(x, y)
    np.testing.assert_array_equal(for_x, [1 + 2j, 0, 0.5 + 1j])
    np.testing.assert_array_equal(for_y, [0, 1 + 2j, 0.5 + 1j])
    for_r = fc.grad(lambda r: jnp.real(jnp.minimum(r, x) * (1 + 2j)).sum())(fc.asarray([0.0, 5.0, 2.0]))
    np.testing.assert_array_equal(for_r, [1, 0, 1])


def test_derivatives_over_axes():
    """Shared by equal ones: recorded from JAX."""
    x = fc.asarray([[2 + 0j, 3 - 1j, 1 + 3j], [3 - 1j, 3 - 1j, -2 + 0j]])
    np.testing.assert_allclose(
        fc.grad(real_loss(jnp.max))(x), np.array([[0, 1, 0], [1, 1, 0]]) * (1 + 2j) / 3, rtol=1e-6
    )
    rows = fc.grad(real_loss(lambda x: jnp.min(x, axis=1)))(x)
    np.testing.assert_array_equal(rows, np.array([[0, 0, 1], [0, 0, 1]]) * (1 + 2j))
    t = fc.asarray([[1 + 2j, 3 - 2j, 2 + 3j], [1 + 0j, 4 - 1j, -2 + 1j]])
    _, tangent = fc.jvp(jnp.max, (x,), (t,))
    np.testing.assert_allclose(tangent, (8 - 3j) / 3, rtol=1e-6)
    twice = fc.jvp(fc.grad(real_loss(lambda x: jnp.max(x, axis=1) ** 2)), (x,), (t,))[1]
    np.testing.assert_allclose(twice[0], [0, (6 - 4j) * (1 + 2j), 0], rtol=1e-6)
