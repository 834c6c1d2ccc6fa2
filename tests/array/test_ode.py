"""experimental.ode.odeint beside SciPy's solver and closed forms; derivatives beside finite differences."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core as fc
import functorch_core.numpy as jnp
from functorch_core.experimental.ode import odeint

T = np.linspace(0.0, 3.0, 6)
TIGHT = {"rtol": 1e-11, "atol": 1e-11}


def pendulum(y, t, length, drag):
    return jnp.stack([y[1], -jnp.sin(y[0]) / length - drag * y[1] + 0.1 * jnp.cos(t)])


def start():
    return jnp.asarray(np.array([1.0, 0.3]))


def test_values_are_scipys():
    scipy = pytest.importorskip("scipy.integrate")

    def slope(t, y):
        return [y[1], -np.sin(y[0]) / 0.7 - 0.2 * y[1] + 0.1 * np.cos(t)]

    wanted = scipy.solve_ivp(slope, (0, 3), [1.0, 0.3], t_eval=T, rtol=1e-12, atol=1e-12).y.T
    found = odeint(pendulum, start(), T, 0.7, 0.2, **TIGHT)
    assert found.dtype == jnp.float64
    np.testing.assert_allclose(found, wanted, atol=1e-9)
    np.testing.assert_allclose(fc.jit(odeint, static_argnums=0)(pendulum, start(), T, 0.7, 0.2), wanted, atol=1e-6)
    traced = fc.jit(lambda y, length, drag: odeint(pendulum, y, T, length, drag, **TIGHT))(start(), 0.7, 0.2)
    np.testing.assert_allclose(traced, wanted, atol=1e-9)  # Python's numbers have the state's precision
    single = odeint(pendulum, start().astype(jnp.float32), T, 0.7, 0.2)
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(single, wanted, atol=1e-5)


def test_values_between_steps_are_of_fourth_order():
    t = np.linspace(0, 2, 301)
    found = odeint(lambda y, t: 1j * y, jnp.asarray(np.array([1.0 + 0j])), t, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found[:, 0], np.exp(1j * t), atol=1e-7)


@pytest.mark.parametrize("place", range(4))
def test_derivatives_by_everything(place):
    """By the start, the times, an argument and what the function closes over."""

    def f(y0, t, length, drag):
        ys = odeint(lambda y, t, length: pendulum(y, t, length, drag), y0, t, length, **TIGHT)
        return jnp.sum(jnp.sin(ys) * jnp.arange(1, 13).reshape(6, 2))

    values = [np.array([1.0, 0.3]), T, np.array(0.7), np.array(0.2)]
    found = np.asarray(fc.grad(f, argnums=place)(*map(jnp.asarray, values)))
    for i in np.ndindex(values[place].shape):
        ends = []
        for sign in (1, -1):
            moved = [v.copy() for v in values]
            moved[place][i] += sign * 1e-5
            ends.append(float(f(*map(jnp.asarray, moved))))
        np.testing.assert_allclose(found[i], (ends[0] - ends[1]) / 2e-5, rtol=1e-5, atol=1e-5)


def test_trees_batches_and_second_derivatives():
    def decay(y, t, rate, n):
        return {"a": -rate * y["a"] * n, "b": (y["a"].sum(),)}

    def last(rate):
        y0 = {"a": jnp.asarray(np.ones(2)), "b": (jnp.asarray(np.float64(0.0)),)}
        return odeint(decay, y0, jnp.asarray(np.array([0.0, 1.0])), rate, jnp.asarray(2), **TIGHT)

    rate = jnp.asarray(np.float64(0.5))
    np.testing.assert_allclose(last(rate)["a"][1], np.exp(-1.0) * np.ones(2), rtol=1e-9)
    np.testing.assert_allclose(last(rate)["b"][0][1], 2 * (1 - np.exp(-1.0)), rtol=1e-9)

    def f(rate):
        return last(rate)["a"][1, 0]

    np.testing.assert_allclose(fc.grad(f)(rate), -2 * np.exp(-1.0), rtol=1e-8)
    np.testing.assert_allclose(fc.grad(fc.grad(f))(rate), 4 * np.exp(-1.0), rtol=1e-6)
    rates = np.array([0.1, 0.5, 2.0])
    np.testing.assert_allclose(fc.vmap(f)(jnp.asarray(rates)), np.exp(-2 * rates), rtol=1e-8)
    np.testing.assert_allclose(fc.vmap(fc.grad(f))(jnp.asarray(rates)), -2 * np.exp(-2 * rates), rtol=1e-7)


def test_what_cannot_be_reached_is_nan():
    found = odeint(lambda y, t: y**2, jnp.asarray(np.array([1.0])), jnp.asarray(np.array([0.0, 0.5, 2.0])), mxstep=1000)
    np.testing.assert_allclose(found[:2, 0], [1, 2], rtol=1e-6)
    assert np.isnan(float(found[2, 0]))
    few = odeint(lambda y, t: -y, 1.0, jnp.asarray([0.0, 10.0]), mxstep=2)
    assert few[0] == 1 and np.isnan(float(few[1]))
    assert np.isnan(float(odeint(lambda y, t: y * jnp.nan, 1.0, jnp.asarray([0.0, 1.0]))[1]))


def test_steps_of_no_more_than_a_length():
    """A pulse that steps as long as the tolerance allows pass over."""

    def slope(y, t):
        return jnp.where((t > 5) & (t < 5.2), 1.0, 0.0)

    times = jnp.asarray(np.array([0.0, 10.0]))
    found = odeint(slope, jnp.asarray(np.float64(0.0)), times, hmax=0.05, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found[1], 0.2, atol=1e-3)
    assert odeint(slope, 2.0, jnp.asarray([4.0])).tolist() == [2.0]


def test_errors():
    times = jnp.asarray([0.0, 1.0])
    with pytest.raises(TypeError, match="structure and shapes of the state"):
        odeint(lambda y, t: (y, y), jnp.ones(2), times)
    with pytest.raises(TypeError, match="structure and shapes of the state"):
        odeint(lambda y, t: y.sum(), jnp.ones(2), times)
    with pytest.raises(TypeError, match="floating or complex arrays, got int64"):
        odeint(lambda y, t: y, jnp.ones(2, jnp.int64), times)
    with pytest.raises(ValueError, match="a vector of one time or more"):
        odeint(lambda y, t: y, jnp.ones(2), 1.0)


def test_times_of_the_past_are_nan():
    """Those before the last step, whose polynomial says nothing of them."""
    found = odeint(lambda y, t: -y, jnp.asarray(1.0), jnp.asarray([0.0, -1.0, -2.0]))
    np.testing.assert_array_equal(found, [1, np.nan, np.nan])
