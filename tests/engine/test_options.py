"""The options that programs are compiled with."""

from __future__ import annotations

import pytest

import functorch_core as fc
from functorch_core.engine import compiling
from functorch_core.engine.loops import overwriting


@pytest.fixture
def asked(monkeypatch) -> list[list[str]]:
    """The features that programs were lowered with."""
    found = []
    lower = compiling.lower

    def noted(*args, **kwargs):
        found.append(kwargs["features"])
        return lower(*args, **kwargs)

    monkeypatch.setattr(compiling, "lower", noted)
    return found


def test_vectors_are_wide_where_rows_are(asked):
    for rows in (32, 64):
        fc.jit(lambda x: fc.tanh(x) * 2)(fc.ones((8, rows)))
        fc.jit(lambda x: fc.fori_loop(0, 3, lambda i, y: fc.tanh(y), x))(fc.ones((8, rows)))
    assert asked == [["jit", "narrow"]] * 2 + [["jit"]] * 2


def test_loops_are_not_divided_where_one_core_is_soon_done(asked):
    fc.jit(lambda x: fc.where(x > 0, x, 0.0))(fc.ones((64, 64)))
    fc.jit(lambda x: fc.where(x > 0, x, 0.0))(fc.ones((2048, 1024)))  # 16 MB
    fc.jit(lambda x: x @ x)(fc.ones((64, 64)))
    fc.jit(lambda x: fc.fori_loop(0, 3, lambda i, y: y + 1, x))(fc.ones((64, 64)))
    assert ["brief" in features for features in asked] == [True, False, False, False]


OVER = {
    "a product's result": (lambda x, w, few: fc.tanh(x @ w) * 2, True),
    "small": (lambda x, w, few: fc.tanh(few @ w) * 2, False),
    "a caller's array": (lambda x, w, few: fc.tanh(x) * 2, False),
    "arithmetic": (lambda x, w, few: fc.maximum(x @ w, 0), False),
    "a softmax reads what it has summed": (lambda x, w, few: fc.softmax(x @ w), False),
    "its logarithm's derivative": (lambda x, w, few: fc.grad(lambda y: fc.sum(fc.log_softmax(y) * y))(x), True),
    "a loop": (lambda x, w, few: fc.scan(lambda c, _: (fc.tanh(c @ w @ w.T), None), few, None, length=99)[0], True),
    "a short loop": (
        lambda x, w, few: fc.scan(lambda c, _: (fc.tanh(c @ w @ w.T), None), few, None, length=9)[0],
        False,
    ),
}


@pytest.mark.parametrize("case", OVER)
def test_loops_that_write_over_what_they_read_have_emitters(case):
    fun, expected = OVER[case]
    program = fc.make_graph(fun)(fc.ones((512, 64)), fc.ones((64, 512)), fc.ones((8, 64)))
    assert (overwriting(program) >= compiling.MANY) is expected
