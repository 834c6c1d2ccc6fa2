"""Loops and branches under disable_jit, and what their errors say."""

# ruff: noqa: E501  # the cases are lines

from __future__ import annotations

import numpy as np
import pytest

import functorch_core as fc
from functorch_core import lax


def test_loops_and_branches_run_step_by_step():
    seen = []

    def step(carry, x):
        seen.append((float(carry), float(x["a"])))
        return carry + x["a"], {"y": carry * 2}

    xs = {"a": fc.asarray([1.0, 2.0, 3.0])}
    for reverse in (False, True):
        seen.clear()
        wanted = lax.scan(lambda c, x: (c + x["a"], {"y": c * 2}), 0.0, xs, reverse=reverse)
        with fc.disable_jit():
            last, ys = lax.scan(step, 0.0, xs, reverse=reverse)
        assert len(seen) == 3 and float(last) == float(wanted[0]) and last.dtype == wanted[0].dtype
        np.testing.assert_array_equal(ys["y"], wanted[1]["y"])
    numbers = []
    with fc.disable_jit():
        assert int(lax.fori_loop(0, 3, lambda i, v: numbers.append(int(v)) or v + i, 1)) == 4
        assert int(lax.while_loop(lambda v: v < 3, lambda v: numbers.append(int(v)) or v + 1, 0)) == 3
        assert float(lax.cond(True, lambda x: numbers.append(float(x)) or x, lambda x: -x, fc.asarray(7.0))) == 7
        assert float(lax.switch(5, [lambda x: x, lambda x: -x], fc.asarray(7.0))) == -7
        assert lax.scan(lambda c, _: (c, c), 0.0, None, length=0)[1].shape == (0,)
        assert float(fc.grad(lambda x: lax.fori_loop(0, 3, lambda i, v: v * x, 1.0))(2.0)) == 12
    assert numbers == [1, 1, 2, 0, 1, 2, 7.0]


WRONG = [
    (
        lambda: lax.while_loop(lambda i: i < 9, lambda i: i * 1.5, fc.asarray(1)),
        ["carry is int64[] at first, float32[]"],
    ),
    (lambda: lax.while_loop(lambda i: i < 9, lambda i: i * 1.5, fc.asarray(1)), ["Begin with float32"]),
    (
        lambda: lax.scan(
            lambda c, _: ({"w": c["w"] + 1, "n": c["n"] * 0.5}, None), {"w": 1.0, "n": fc.asarray(2)}, None, 3
        ),
        ["scan: the carry changes", "carry['n'] is int64[] at first, float32[] after"],
    ),
    (
        lambda: fc.fori_loop(0, 3, lambda i, v: fc.stack([v, v]), fc.zeros(2)),
        ["fori_loop", "float32[2,2] after a step"],
    ),
    (lambda: fc.cond(True, lambda x: x, lambda x: (x, x), 1.0), ["true_fun", "false_fun", "returns (*, *)"]),
    (
        lambda: fc.cond(True, fc.sin, lambda x: x > 0, fc.ones(2)),
        ["true_fun `sin` returns float32[2]", "returns bool[2]"],
    ),
    (
        lambda: fc.switch(0, [fc.sin, fc.cos, lambda x: x[0]], fc.ones(2)),
        ["branches[0] `sin`", "branches[2]", "float32[]"],
    ),
    (lambda: fc.jit(lambda n: fc.zeros(n))(3), ["static_argnums=0", "Traced<int64[]>"]),
    (lambda: fc.jit(lambda n: fc.ones((2, n)))(3), ["static_argnums=0"]),
    (lambda: fc.zeros("a"), ["a shape is an int or a sequence of ints, got 'a'"]),
]


@pytest.mark.parametrize("n", range(len(WRONG)))
def test_messages_name_the_part_and_the_way_out(n):
    call, words = WRONG[n]
    with pytest.raises(TypeError) as caught:
        call()
    for word in words:
        assert word in str(caught.value)
