"""The options that programs are compiled with."""

from __future__ import annotations

import pytest

import functorch_core as fc
from functorch_core.engine import compiling


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


def test_loops_that_write_over_what_they_read_have_emitters(asked):
    with fc.engine.forced_tier("fused"):
        x, w, few = fc.ones((512, 64)), fc.ones((64, 512)), fc.ones((8, 64))
        square = fc.ones((64, 64))
        (fc.tanh(x @ w) * 2).block_until_ready()
        fc.tanh(x @ w @ w.T).block_until_ready()
        (fc.tanh(few @ w) * 2).block_until_ready()  # few elements
        (fc.tanh(x) * 2).block_until_ready()  # one loop, of what its caller has
        last, _ = fc.scan(lambda c, _: (fc.tanh(c @ square), None), few, None, length=50)
        last.block_until_ready()
    assert ["in_place" in features for features in asked if features != ["brief"]] == [True, True, False, False, True]
