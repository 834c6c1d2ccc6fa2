"""Short recordings that NumPy has computed before, and recordings that are used again."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import functorch_core as fc
from functorch_core import engine, xla
from functorch_core.engine import again, programs

ROUNDS = 40  # more than it takes to be familiar, and to ask the plans twice


def rounds(compute, *given):
    """The numbers that compute(i, *given) gives, each read."""
    return [np.asarray(compute(i, *given)) for i in range(ROUNDS)]


def longer(x):
    """x, by more ops than those of a recording that is computed at once when it has often been read (`note_first`)."""
    return ((x + 2.5) - 2.5 + 4.5) - 4.5


@pytest.fixture(autouse=True)
def nothing_recorded():
    engine.flush()
    yield
    engine.flush()


@pytest.mark.parametrize(
    "compute, expected",
    [
        (lambda i, x: fc.sum(x * float(i + 0.5)), lambda i, x: (x * np.float32(i + 0.5)).sum()),
        (lambda i, x: (x + (i + 7)) * x, lambda i, x: (x + np.float32(i + 7)) * x),
        (lambda i, x: fc.transpose(x), lambda i, x: x.T),
        (lambda i, x: fc.sum(x) > i, lambda i, x: x.sum() > i),
    ],
)
def test_each_round_has_its_numbers(compute, expected):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    ours = rounds(compute, fc.asarray(x))
    for i, found in enumerate(ours):
        np.testing.assert_allclose(found, expected(i, x), rtol=1e-6)
        assert found.flags.c_contiguous


def test_it_is_known_and_the_recording_used_again(monkeypatch):
    x, used = fc.asarray(np.ones(3, np.float32)), []
    real = again.computed_again
    monkeypatch.setattr(programs, "computed_again", lambda *given: used.append(real(*given)) or used[-1])
    before = engine.stats()
    recordings = set()
    for _ in range(ROUNDS):
        y = fc.sum(longer(x), keepdims=True) * 3.5
        recordings.add(id(y._value.recording))
        assert y.tolist() == [10.5]
    after = engine.stats()
    assert used.count(True) > ROUNDS // 2 and used.count(False) >= ROUNDS // 16
    assert after["flushes"] - before["flushes"] == ROUNDS
    assert after["reference_ops"] - before["reference_ops"] == 6 * ROUNDS
    assert len(recordings) < ROUNDS // 2


def test_results_nobody_refers_to_are_not_made():
    x = fc.asarray(np.ones(3, np.float32))
    kept = []
    for i in range(ROUNDS):
        y = x + 2.5
        kept.append(y if i % 2 else None)
        assert float(fc.sum(y)) == 10.5
        assert kept[-1] is None or np.asarray(kept[-1]).tolist() == [3.5] * 3


def test_what_is_kept_does_not_change_when_the_recording_is_used_again():
    x = fc.asarray(np.ones(3, np.float32))
    kept = [np.asarray(fc.sum(x * float(i + 0.5))) for i in range(ROUNDS)]
    assert [float(k) for k in kept] == [3 * (i + 0.5) for i in range(ROUNDS)]


def test_large_inputs_and_recorded_ones_go_the_usual_way():
    large = fc.asarray(np.ones(1 << 15, np.float32))
    small = fc.asarray(np.ones(1 << 4, np.float32))
    for _ in range(8):
        assert float(fc.sum(small)) == 16.0
        assert float(fc.sum(large)) == float(1 << 15)


def test_another_thread_reads_a_result():
    x, found = fc.asarray(np.ones(3, np.float32)), []
    rounds(lambda i, x: fc.sum(x), x)
    for i in range(8):
        y = fc.sum(x) + float(i + 0.5)
        reader = threading.Thread(target=lambda y=y: found.append(float(y)))
        reader.start()
        reader.join()
        assert float(fc.sum(x)) == 3.0
    assert found == [3 + i + 0.5 for i in range(8)]


def test_ops_at_once_after_reads():
    x = fc.asarray(np.ones(3, np.float32))
    rounds(lambda i, x: fc.sum(x), x)
    with engine.at_once("a test"):
        assert engine.has_data((x + x)._value)
    assert not engine.has_data((x + x)._value)


def test_immediate_mode_after_reads():
    x = fc.asarray(np.ones(3, np.float32))
    rounds(lambda i, x: fc.sum(x), x)
    before = engine.get_tier()
    engine.set_tier("immediate")
    try:
        assert engine.has_data((x + x)._value)
    finally:
        engine.set_tier(before)


def test_a_failing_function_is_explained_by_the_plan(monkeypatch):
    x = fc.asarray(np.ones(3, np.float32))
    rounds(lambda i, x: fc.sum(longer(x), keepdims=True), x)
    real, failed = again.quiet.call, []

    def fails_once(*args):
        if not failed:
            failed.append(True)
            raise ValueError("no")
        return real(*args)

    monkeypatch.setattr(again.quiet, "call", fails_once)
    assert [fc.sum(longer(x), keepdims=True).tolist() for _ in range(3)] == [[3.0]] * 3 and failed


def test_plans_that_are_forgotten_are_forgotten_here(monkeypatch):
    x = fc.asarray(np.ones(3, np.float32))
    rounds(lambda i, x: fc.sum(x * x), x)
    assert again._known
    monkeypatch.setattr(programs, "MAX_PLANS", 0)
    programs._forget_old_plans()
    assert not again._known
    monkeypatch.undo()
    assert float(fc.sum(x * x)) == 3.0


def test_programs_and_large_inputs_are_known_too(monkeypatch):
    used = []
    real = again.computed_again
    monkeypatch.setattr(programs, "computed_again", lambda *given: used.append(real(*given)) or used[-1])
    numbers = np.linspace(0, 1, 1 << 18, dtype=np.float32)
    x = fc.asarray(numbers)
    for i in range(ROUNDS):  # compiled in their course
        found = float(fc.sum(fc.exp(fc.sin(x * float(i)))))
        np.testing.assert_allclose(found, np.exp(np.sin(numbers * np.float32(i))).sum(dtype=np.float64), rtol=1e-5)
    assert engine.stats()["fused_runs"] and sum(used[-16:]) >= 14
    used.clear()
    for _ in range(ROUNDS):  # by NumPy
        assert float(fc.max(x)) == 1.0
    assert sum(used) > ROUNDS // 2


def test_what_is_overwritten_is_not_taken_for_known():
    x = fc.asarray(np.zeros(1 << 18, np.float32))
    kept = []
    for i in range(ROUNDS):
        y = x  # somebody else refers to it in every third round
        x = fc.cos(fc.sin(x + 1.5) * 2.5)
        kept.append((y, np.cos(np.sin(np.asarray(y) + np.float32(1.5)) * np.float32(2.5))) if i % 3 == 0 else None)
        del y
        assert np.isfinite(float(x[0]))
    for i in range(0, ROUNDS, 3):
        y, after = kept[i]
        np.testing.assert_allclose(np.asarray(fc.cos(fc.sin(y + 1.5) * 2.5)), after, atol=1e-5)


def test_a_small_buffer_is_asked_for_its_array_once(monkeypatch):
    monkeypatch.setattr(programs.settings, "donates", False)
    x, asked = fc.asarray(np.ones(3, np.float32)), []
    buffer, real = engine.to_buffer(x._value), xla.to_numpy
    monkeypatch.setattr(xla, "to_numpy", lambda b: asked.append(b is buffer) or real(b))
    assert [float(fc.sum(x) * 3.5) for _ in range(ROUNDS)] == [10.5] * ROUNDS
    assert asked.count(True) == 1 and x._value.data is buffer
    assert np.asarray(x).tolist() == [1, 1, 1] and asked.count(True) == 1


def test_a_deleted_buffer_has_no_array(monkeypatch):
    monkeypatch.setattr(programs.settings, "donates", False)
    x = fc.asarray(np.ones(3, np.float32))
    engine.to_buffer(x._value)
    assert float(fc.sum(x)) == 3 and not x.is_deleted()
    x.delete()
    with pytest.raises(xla.ExecutionError):
        np.asarray(x)
