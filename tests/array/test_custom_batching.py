"""custom_vmap and sequential_vmap."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core as fc
from functorch_core.custom_batching import custom_vmap, sequential_vmap


def ruled():
    seen = []

    @custom_vmap
    def f(x, y):
        return {"a": x * y["w"], "b": fc.sin(x)}

    @f.def_vmap
    def _(axis_size, in_batched, x, y):
        seen.append((axis_size, in_batched, x.shape, y["w"].shape))
        return {"a": x * y["w"] + 1, "b": fc.sin(2.0)}, {"a": True, "b": False}

    return f, seen


def test_the_rule_is_what_vmap_does():
    f, seen = ruled()
    x, y = fc.asarray([1.0, 2.0, 3.0]), {"w": fc.asarray(2.0)}
    assert float(f(2.0, y)["a"]) == 4 and float(f(x=2.0, y=y)["a"]) == 4 and not seen
    out = fc.vmap(f, in_axes=(0, None))(x, y)
    assert out["a"].tolist() == [3, 5, 7] and seen[0] == (3, [True, {"w": False}], (3,), ())
    np.testing.assert_allclose(out["b"], np.full(3, np.sin(2.0)), rtol=1e-6)
    out = fc.jit(fc.vmap(f, in_axes=(1, None)))(fc.ones((2, 3)), y)
    assert out["a"].shape == (3, 2) and float(out["a"][0, 0]) == 3
    nested = fc.vmap(fc.vmap(f, in_axes=(0, None)), in_axes=(0, None))(fc.ones((2, 3)), y)
    assert nested["a"].tolist() == [[3] * 3] * 2 and nested["b"].shape == (2, 3)


def test_the_derivative_is_that_of_the_function():
    f, _ = ruled()
    y = {"w": fc.asarray(2.0)}
    slope = fc.grad(lambda x: f(x, y)["a"])(3.0)
    assert float(slope) == 2
    assert fc.vmap(fc.grad(lambda x: f(x, y)["a"]))(fc.ones(2)).tolist() == [2, 2]
    assert float(fc.jvp(lambda x: f(x, y)["b"], (0.0,), (1.0,))[1]) == 1


def test_sequential_vmap_runs_one_after_the_other():
    seen = []

    @sequential_vmap
    def f(x, y):
        fc.debug.callback(lambda v: seen.append(float(v)), x, ordered=True)
        return x.sum() + y

    out = fc.vmap(f, in_axes=(0, None))(fc.asarray([1.0, 2.0, 3.0]), 10.0)
    assert out.tolist() == [11, 12, 13] and seen == [1, 2, 3]


def test_errors():
    f = custom_vmap(lambda x: x)
    with pytest.raises(AttributeError, match="@<lambda>.def_vmap"):
        fc.vmap(f)(fc.ones(2))
    f.def_vmap(lambda n, batched, x: x)
    with pytest.raises(TypeError, match="which parts are batched"):
        fc.vmap(f)(fc.ones(2))
    g = custom_vmap(lambda x: x)
    g.def_vmap(lambda n, batched, x: (x, True))

    def closing(x, y):
        h = custom_vmap(lambda x: x * y)
        h.def_vmap(lambda n, batched, x: (x, True))
        return h(x)

    with pytest.raises(NotImplementedError, match="Pass it as an argument"):
        fc.vmap(closing)(fc.ones(2), fc.ones(2))


def test_numbers_stay_weak():
    sine = custom_vmap(fc.sin)
    sine.def_vmap(lambda size, batched, x: (fc.sin(x), True))
    for f in (sine, fc.jit(sine), fc.grad(sine)):
        assert f(1.0).dtype == fc.float32
    assert sine(fc.asarray(1.0, dtype=fc.float64)).dtype == fc.float64
