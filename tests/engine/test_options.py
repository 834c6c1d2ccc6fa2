"""The options that programs are compiled with."""

from __future__ import annotations

import functorch_core as fc
from functorch_core.engine import compiling


def test_vectors_are_wide_where_rows_are(monkeypatch):
    asked = []
    lower = compiling.lower

    def noted(*args, **kwargs):
        asked.append(kwargs["features"])
        return lower(*args, **kwargs)

    monkeypatch.setattr(compiling, "lower", noted)
    for rows in (32, 64):
        fc.jit(lambda x: fc.tanh(x) * 2)(fc.ones((8, rows)))
        fc.jit(lambda x: fc.fori_loop(0, 3, lambda i, y: fc.tanh(y), x))(fc.ones((8, rows)))
    assert asked == [["jit", "narrow"]] * 2 + [["jit"]] * 2
