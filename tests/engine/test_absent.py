"""Values without data: what is called on them gives further ones, and records nothing."""

from __future__ import annotations

import numpy as np
import pytest

from functorch_core import engine
from functorch_core import primitives as p
from functorch_core.core.aval import aval
from functorch_core.core.trace import trace_closed
from functorch_core.engine import NoData, Value, absent, from_numpy, is_absent, recorder, to_numpy, written_out
from functorch_core.engine.units import SCALAR_AVALS, Unit, unit_of_primitive

THREE = aval((3,), np.dtype(np.float32))
ADD = unit_of_primitive(p.add.primitive, {}, (THREE, THREE))


def scaled_unit() -> Unit:
    """x * a + b of packed Python numbers, and its double."""

    def scaled(x, a, b):
        made = p.add(
            p.mul(x, p.broadcast_in_dim(p.convert(a, dtype=x.aval.dtype), shape=(3,), dims=())),
            p.broadcast_in_dim(p.convert(b, dtype=x.aval.dtype), shape=(3,), dims=()),
        )
        return [made, p.add(made, made)]

    graph = trace_closed(scaled, [THREE, SCALAR_AVALS[float], SCALAR_AVALS[int]], "scaled")
    return Unit(graph, "scaled", True)


def test_results_have_the_graphs_avals():
    made = engine.record(scaled_unit(), (absent(THREE), 2.5, 7))
    assert [is_absent(x) and x.aval is THREE for x in made] == [True, True]
    assert is_absent(written_out.record_pair(ADD, absent(THREE), made[0]))
    assert "without data" in repr(made[0])


def test_reading_raises():
    with pytest.raises(NotImplementedError, match="no data") as caught:
        to_numpy(absent(THREE))
    assert type(caught.value) is NoData and type(caught.value).__name__ == "NotImplementedError"


@pytest.mark.parametrize("place", range(3))
def test_a_recording_goes_on(place):
    """Whatever a call without data has written down before it was found out, goes again."""
    engine.flush()
    unit, x = scaled_unit(), from_numpy(np.arange(3, dtype=np.float32))
    calls = [lambda: engine.record(unit, (x, 3.5, 2))] * 3
    calls.insert(place, lambda: engine.record(unit, (absent(THREE), 9.5, 99)))
    results = [call() for call in calls]
    assert [is_absent(r[0]) for r in results] == [i == place for i in range(4)]
    for first, double in (r for r in results if not is_absent(r[0])):
        np.testing.assert_allclose(to_numpy(first), np.arange(3) * 3.5 + 2)
        np.testing.assert_allclose(to_numpy(double), np.arange(3) * 7.0 + 4)


def test_numbers_before_the_operand_go_again():
    def late(a, b, x):
        return [
            p.add(
                x,
                p.broadcast_in_dim(
                    p.convert(p.add(a, p.convert(b, dtype=a.aval.dtype)), dtype=x.aval.dtype), shape=(3,), dims=()
                ),
            )
        ]

    graph = trace_closed(late, [SCALAR_AVALS[float], SCALAR_AVALS[int], THREE], "late")
    unit, x = Unit(graph, "late", False), from_numpy(np.zeros(3, np.float32))
    first = engine.record(unit, (1.5, 3, x))
    assert is_absent(engine.record(unit, (100.5, 100, absent(THREE))))
    second = engine.record(unit, (2.5, 5, x))
    assert to_numpy(first).tolist() == [4.5] * 3 and to_numpy(second).tolist() == [7.5] * 3


def test_with_ordinary_values(monkeypatch):
    seen = []
    monkeypatch.setattr(recorder.hooks, "without_data", lambda unit, operands: seen.append(unit))
    x = from_numpy(np.ones(3, np.float32))
    made: Value = written_out.record_pair(ADD, x, absent(THREE))
    assert is_absent(made) and seen == [ADD]
    assert to_numpy(written_out.record_pair(ADD, x, x)).tolist() == [2.0] * 3
