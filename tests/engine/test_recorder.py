"""The recorder: every way in which a tracing system could fool its user, with the right values."""

from __future__ import annotations

import gc
import os
import threading
import traceback

import numpy as np
import pytest

import functorch_core as fc
from functorch_core import engine, torch
from functorch_core.engine import compiling, op_by_op, programs, recorder
from functorch_core.engine.recorder import period

EACH_TIER = pytest.mark.parametrize("tier", engine.TIERS)


def vector(*numbers) -> fc.Array:
    return fc.asarray(np.array(numbers, np.float32))


def repeat(fun, times: int = 40) -> list:
    """Run fun often enough that its recording becomes a compiled program."""
    return [np.asarray(fun(i)) for i in range(times)]


# ---- values of every tier ------------------------------------------------------------------------------


@EACH_TIER
def test_values_agree_in_every_tier(tier):
    with engine.forced_tier(tier):
        x = vector(1, 2, 3)
        y = fc.exp(x) * 2 + x[::-1]
        np.testing.assert_allclose(np.asarray(y), np.exp([1, 2, 3]) * 2 + np.array([3, 2, 1]), rtol=1e-6)


@EACH_TIER
def test_repeated_runs_of_one_mode_are_bit_identical(tier):
    with engine.forced_tier(tier):
        x = fc.asarray(np.linspace(0, 1, 257, dtype=np.float32))
        runs = {np.asarray(fc.tanh(x * 3) / 7).tobytes() for _ in range(5)}
    assert len(runs) == 1


def test_small_recordings_seen_often_are_one_function_of_numpy():
    """Numbers of both kinds, several results, what is dead, a result that is a view of an input."""
    x, rows = vector(1, 2, 3), fc.asarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    for i in range(12):
        y = x * (i + 0.5) + i
        dead = fc.exp(y)
        index, row = fc.argmax(y), rows[i % 2]
        del dead
        np.testing.assert_array_equal(np.asarray(y), np.array([1, 2, 3]) * (i + 0.5) + i)
        assert int(index) == 2
        np.testing.assert_array_equal(np.asarray(row), np.arange(3) + 3 * (i % 2))
    np.testing.assert_array_equal(np.asarray(rows), np.arange(6).reshape(2, 3))


def test_when_such_a_function_fails_its_ops_are_run_one_by_one(monkeypatch):
    def fail(*args):
        raise FloatingPointError

    x = vector(1, 2)
    for _ in range(16):
        np.testing.assert_array_equal(np.asarray(x + x + x + x + x + x), [6, 12])
    monkeypatch.setattr(op_by_op.quiet, "call", fail)
    np.testing.assert_array_equal(np.asarray(x + x + x + x + x + x), [6, 12])


# ---- footguns ------------------------------------------------------------------------------------------


def test_changed_python_constants():
    x = vector(1, 2)
    for i, found in enumerate(repeat(lambda i: x * float(i) + i)):
        np.testing.assert_array_equal(found, np.array([1, 2], np.float32) * i + i)


def test_special_constants_are_not_mixed_up():
    x = vector(1, -2)
    for c in (0, 1, -1, 2, 0.5, 0.0, -0.0, 1.0, True, False, float("nan"), float("inf"), 3):
        np.testing.assert_array_equal(np.asarray(x * c), np.array([1, -2], np.float32) * c)
    assert np.signbit(np.asarray(vector(1) * -0.0))[0]


def test_branches_that_change():
    def step(i):
        x = vector(1, 2)
        return x + 1 if i % 3 else fc.sin(x)

    for i, found in enumerate(repeat(step)):
        wanted = np.array([2, 3]) if i % 3 else np.sin([1, 2])
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_containers_that_change():
    kept = []
    for i in range(40):
        kept.append(vector(i) + 1)
        if len(kept) > 3:
            kept.pop(0)
        total = sum(kept[1:], kept[0])
        first = max(0, i - 2)
        assert total.item() == sum(j + 1 for j in range(first, i + 1))


def test_closures_over_mutated_state():
    state = {"scale": 1.0}

    def step(i):
        state["scale"] = i * 0.25
        return vector(4) * state["scale"]

    for i, found in enumerate(repeat(step)):
        assert found[0] == i


def test_outputs_kept_across_iterations():
    kept = []
    x = vector(1, 2)
    for _ in range(50):
        x = x * 1.5 - 1
        kept.append(x)
    wanted = np.array([1, 2], np.float32)
    for found in kept:
        wanted = wanted * np.float32(1.5) - 1
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-4)


def test_aliasing_between_inputs_and_outputs():
    for _ in range(40):
        x = vector(1, 2)
        y = x + 0 * x
        z = y
        x = y
        y = x * 2
        np.testing.assert_array_equal(np.asarray(x), [1, 2])
        np.testing.assert_array_equal(np.asarray(z), [1, 2])
        np.testing.assert_array_equal(np.asarray(y), [2, 4])


def test_an_input_both_freed_and_kept():
    """The same recording, with its input still referenced or not: the kept one stays intact."""
    big = np.arange(1 << 16, dtype=np.float32)
    with engine.forced_tier("fused"):
        for i in range(8):
            x = fc.asarray(big)
            keep = x if i % 2 else None
            x = x * 2 + 1
            np.testing.assert_array_equal(np.asarray(x), big * 2 + 1)
            if keep is not None:
                np.testing.assert_array_equal(np.asarray(keep), big)


def test_numpy_views_survive_donation():
    big = np.arange(1 << 16, dtype=np.float32)
    with engine.forced_tier("fused"):
        x = fc.asarray(big) + 0
        engine.flush()
        view = np.asarray(x)
        for _ in range(3):
            x = x * 2
            engine.flush()
        np.testing.assert_array_equal(view, big)
        np.testing.assert_array_equal(np.asarray(x), big * 8)


def test_dead_inputs_are_donated():
    with engine.forced_tier("fused"):
        x = fc.asarray(np.ones(1 << 16, np.float32)) + 0
        engine.flush()
        before = engine.stats()["donated"]
        x = x * 2
        engine.flush()
        assert engine.stats()["donated"] == before + 1
        assert np.asarray(x)[0] == 2


@pytest.mark.parametrize("limit", [16, 64])
def test_an_optimizers_step_is_not_cut_by_its_own_results(monkeypatch, limit):
    """Its operands are held until the results are in their places: nothing of them was donated, in models of 300
    results and more with 100 parameters, which needed twice the memory."""
    monkeypatch.setattr(recorder._state, "limit", limit)
    monkeypatch.setattr(recorder, "MAX_OPS", limit)
    params = [torch.nn.Parameter(torch.ones(200, 100)) for _ in range(12)]
    optimizer = torch.optim.Adam([{"params": params[:6]}, {"params": params[6:], "lr": 0.1}])
    with engine.forced_tier("fused"):
        for _ in range(2):
            optimizer.zero_grad()
            sum((p * p).sum() for p in params).backward()
            before = engine.stats()["donated"]
            optimizer.step()
    assert engine.stats()["donated"] - before >= 36  # the parameters, and two averages of each


def test_exceptions_in_the_middle():
    def step(i):
        x = vector(1, 2) * 3
        with pytest.raises(ValueError):
            x + vector(1, 2, 3)
        return x + i

    for i, found in enumerate(repeat(step)):
        np.testing.assert_array_equal(found, [3 + i, 6 + i])


def test_generators_and_recursion():
    def powers(x):
        while True:
            yield x
            x = x * 2

    def factorial(x, n):
        return x if n == 0 else factorial(x * n, n - 1)

    for _ in range(5):
        gen = powers(vector(1))
        assert [next(gen).item() for _ in range(6)] == [1, 2, 4, 8, 16, 32]
        assert factorial(vector(1), 10).item() == 3628800


def test_the_same_function_on_two_instances():
    class Layer:
        def __init__(self, w):
            self.w = vector(w)

        def __call__(self, x):
            return x * self.w + 1

    a, b = Layer(2), Layer(3)
    for _ in range(20):
        assert (a(vector(1)).item(), b(vector(1)).item()) == (3, 4)


# ---- threads, processes, interrupts ------------------------------------------------------------------------


def test_threads_record_apart_and_values_cross():
    shared = vector(1, 2, 3) * 2
    results, errors = {}, []

    def work(n):
        try:
            y = shared
            for _ in range(50):
                y = y + n
            results[n] = np.asarray(y)
        except Exception as error:  # reported below, in the test's own thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    for n, found in results.items():
        np.testing.assert_array_equal(found, np.array([2, 4, 6]) + 50 * n)


@pytest.fixture
def something_recorded():
    """What is called next is recorded, however often its like was read alone."""
    engine.flush()
    yield fc.zeros(7)
    engine.flush()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize(
    "call, expected", [(lambda a, b: a * b, [8, 15]), (lambda a, b: fc.concat([a, b]), [2, 3, 4, 5])]
)
def test_another_thread_flushes_in_the_middle_of_a_call(monkeypatch, call, expected, something_recorded):
    from functorch_core.engine import recorder, written_out

    a, b = vector(1, 2) + 1, vector(3, 4) + 1
    seen, real = [], recorder.is_internal

    def look(filename):
        if not seen:
            seen.append(None)
            reader = threading.Thread(target=lambda: seen.append(np.asarray(a)))
            reader.start()
            reader.join()
        return real(filename)

    monkeypatch.setattr(recorder, "is_internal", look)
    monkeypatch.setitem(written_out.NAMES, "is_internal", look)
    c = call(a, b)
    monkeypatch.undo()
    np.testing.assert_array_equal(seen[1], [2, 3])
    np.testing.assert_array_equal(np.asarray(b), [4, 5])
    np.testing.assert_array_equal(np.asarray(c - 1), np.array(expected) - 1)


@pytest.mark.parametrize("call", [lambda a, b: a * b, lambda a, b: fc.concat([a, b])])
def test_an_interrupt_in_the_middle_of_a_call_forgets_it(monkeypatch, call, something_recorded):
    from functorch_core.engine import recorder, written_out

    a, b = vector(1, 2) + 1, vector(3, 4) + 1
    monkeypatch.setattr(recorder, "is_internal", _raise_interrupt)
    monkeypatch.setitem(written_out.NAMES, "is_internal", _raise_interrupt)
    with pytest.raises(KeyboardInterrupt):
        call(a, b)
    monkeypatch.undo()
    np.testing.assert_array_equal(np.asarray(b - a), [2, 2])


def test_a_forked_child_computes_by_numpy():
    x = vector(1, 2) * 2
    engine.flush()
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            y = np.asarray(fc.jit(lambda a: a + 1)(x * 3))
            os.write(write, y.tobytes())
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(write)
    data = os.read(read, 100)
    os.waitpid(pid, 0)
    np.testing.assert_array_equal(np.frombuffer(data, np.float32), [7, 13])


def test_an_interrupt_in_the_middle_of_a_flush_loses_nothing(monkeypatch, something_recorded):
    from functorch_core.engine import programs

    x = vector(*range(23)) * 2  # a key of its own: one that was seen often has no schedule any more
    real = programs.run_schedule
    monkeypatch.setattr(programs, "run_schedule", _raise_interrupt)
    with pytest.raises(KeyboardInterrupt):
        np.asarray(x)
    monkeypatch.setattr(programs, "run_schedule", real)
    np.testing.assert_array_equal(np.asarray(x), 2 * np.arange(23))
    np.testing.assert_array_equal(np.asarray(x + 1), 2 * np.arange(23) + 1)


def _raise_interrupt(*args):
    raise KeyboardInterrupt


# ---- errors ------------------------------------------------------------------------------------------------


def test_an_error_inside_a_flush_names_the_op_and_the_line():
    def broken(x):
        raise ValueError("no good")

    before = vector(1) * 2
    y = fc.pure_callback(broken, fc.ShapeDtype((1,), fc.float32), vector(3))  # the line
    z = y + 1
    with pytest.raises(ValueError, match="no good") as info:
        np.asarray(z)
    assert any("test_recorder.py" in n and "pure_callback" in n for n in info.value.__notes__)
    with pytest.raises(engine.DeferredError):
        np.asarray(y)
    assert before.item() == 2
    assert (before + 1).item() == 3


# ---- recompilation ------------------------------------------------------------------------------------------


def test_learning_rates_never_recompile():
    w = vector(1, 2)
    for i in range(40):
        w = w - 0.1 * (1 + i) * w
        np.asarray(w)
    compiles = engine.stats()["compiles"]
    with engine.fail_on_recompile():
        for i in range(200):
            w = w - 0.001 * i * w
            np.asarray(w)
    assert engine.stats()["compiles"] == compiles


def test_fail_on_recompile_says_why():
    def step(x):
        return np.asarray(fc.sin(x) * 2 + 1)

    with engine.forced_tier("fused"):
        step(vector(1, 2))
        with pytest.raises(engine.RecompileError, match="float32"), engine.fail_on_recompile():
            step(vector(1, 2, 3))
        step(vector(1, 2, 3))


def test_a_loop_without_observation_reaches_a_recurring_key():
    x = vector(1, 2)
    for _ in range(3000):
        x = x * 0.5 + 1.0
    before = engine.stats()["plans"]
    for _ in range(20000):
        x = x * 0.5 + 1.0
    assert engine.stats()["plans"] - before <= 3
    np.testing.assert_allclose(np.asarray(x), [2, 2], rtol=1e-5)


def test_a_loop_behind_something_else_is_cut_at_its_period():
    """What was recorded before it, of several results a call, does not count."""
    from functorch_core.engine import recorder

    engine.flush()
    x = vector(1, 2)
    for _ in range(150):
        x = fc.concat(list(fc.split(x, 2)))
    cuts = engine.stats()["cut_recordings"]
    while engine.stats()["cut_recordings"] == cuts:
        x = (x * 0.5 + 1.0) - 0.25
    assert recorder._state.limit == recorder.MAX_OPS // 3 * 3
    np.testing.assert_allclose(np.asarray(x), [1.5, 1.5], rtol=1e-5)


@pytest.mark.parametrize("before", [0, 100])  # ops in front of the loop: its turns are cut in their middle then
def test_each_turn_of_a_large_loop_is_a_program(before):
    """Several in one would be dear to compile, and each number of them that is read one more."""
    from functorch_core.engine import recorder

    def turn(x, roll):
        for n in range(1, 33):
            x = roll(x, n) * 0.5 + 1.0
        return x

    def loop():
        y = vector(1, 2)
        for n in range(before):
            y = y + n
        ours = fc.asarray(start)
        for _ in range(16):
            ours = turn(ours, fc.roll)
        seen.append((np.asarray(ours), recorder._state.limit, len(recorder._state.body)))

    start, seen = np.random.default_rng(0).standard_normal(4096).astype(np.float32), []
    cuts = engine.stats()["cut_recordings"]
    thread = threading.Thread(target=loop)  # its own recordings, of which none was searched for a loop yet
    thread.start()
    thread.join()
    ((ours, limit, body),) = seen
    theirs = start
    for _ in range(16):
        theirs = turn(theirs, np.roll)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert limit < recorder.MAX_OPS // 2 and body
    assert engine.stats()["cut_recordings"] - cuts >= 5


@pytest.mark.parametrize(
    "size, ask, expected",
    [(30, torch.Tensor.item, True), (31, lambda x: engine.flush(), False), (1024, torch.Tensor.item, False)],
)
def test_short_programs_that_are_read_run_on_the_reading_thread(monkeypatch, size, ask, expected):
    """Not others: Python goes on while they run."""
    seen, compile_lowered = [], compiling.compile_lowered
    monkeypatch.setattr(compiling, "compile_lowered", lambda *args: seen.append(args[-1]) or compile_lowered(*args))
    numbers = np.random.default_rng(0).random((size, size), np.float32)
    with engine.forced_tier("fused"):
        total = (torch.from_numpy(numbers) @ torch.from_numpy(numbers.T)).sum()
        ask(total)
    assert seen == [expected]
    assert total.item() == pytest.approx((numbers.astype(np.float64) @ numbers.T).sum(), rel=1e-4)


@pytest.mark.parametrize("size, expected", [(1 << 20, 1), (1 << 10, 0)])
def test_what_ops_left_in_the_heap_goes_back_before_their_program_runs(monkeypatch, size, expected):
    """It is in blocks that the program's temporary memory does not fit into."""
    trimmed = []
    x = fc.ones(size) * 0.5
    x.block_until_ready()
    for n in range(20):
        y = x
        for _ in range(20):
            y = fc.exp(y * 0.5) - 1.0
        y.block_until_ready()
        if n == 0:  # what compiling leaves goes back, too: only what comes from here on counts
            monkeypatch.setattr(programs.xla, "trim_memory", lambda: trimmed.append(True))
    assert len(trimmed) == expected


@pytest.mark.parametrize(
    "ids, wanted", [([1, 2, 3] * 10, 3), ([9, 8] + [1, 2] * 10, 2), (list(range(20)), 0), ([5] * 8, 1)]
)
def test_periods(ids, wanted):
    assert period(ids) == wanted


def test_caches_are_bounded(monkeypatch):
    from functorch_core.engine import programs

    monkeypatch.setattr(programs, "MAX_PLANS", 20)
    for n in range(1, 60):
        np.asarray(fc.zeros(n) + 1.5)
    assert len(programs._plans) <= 21


def test_stats_and_log(capsys):
    engine.set_log(True)
    try:
        np.asarray(vector(1) + 1.25)
    finally:
        engine.set_log(False)
    assert "flush" in capsys.readouterr().err
    assert {"flushes", "compiles", "compile_seconds", "disk_hits", "reference_ops", "op_runs", "fused_runs"} <= set(
        engine.stats()
    )


def test_dead_values_are_not_computed():
    calls = []

    def note(x):
        calls.append(1)
        return x

    y = fc.pure_callback(note, fc.ShapeDtype((1,), fc.float32), vector(3))
    del y
    gc.collect()
    engine.flush()
    assert not calls


def test_data_dependent_shapes_compute_and_go_on():
    for i in range(10):
        x = vector(0, 1, 0, 2) * (i + 1)
        found = fc.nonzero(x)[0] + 1
        np.testing.assert_array_equal(np.asarray(found), [2, 4])
        np.testing.assert_array_equal(np.asarray(x[x > 0]), [i + 1, 2 * (i + 1)])


def test_old_programs_are_forgotten(monkeypatch):
    """Programs are kept by how many ops they are of; one that was forgotten is compiled once more."""
    monkeypatch.setattr(programs, "MAX_PROGRAM_OPS", 8)
    x = torch.arange(4.0)

    def computed(n: int):
        with engine.forced_tier("fused"):
            y = x
            for _ in range(n):
                y = y * 2 + 1
            return y.tolist()

    expected = {n: ((np.arange(4.0) + 1) * 2**n - 1).tolist() for n in (2, 3, 4)}
    for _ in range(2):
        assert {n: computed(n) for n in expected} == expected
    held = [plan.ops for plan in programs._plans.values() if plan.program is not None]
    assert held[-1] == 8 and sum(held) <= 8


@pytest.mark.parametrize("write", ["index_put_", "index_add_", "scatter_", "slice"])
def test_partial_writes_are_in_place(write):
    """A write to some rows of a large tensor takes its memory over, unless the old value is needed."""
    rows, new = torch.arange(0, 600, 2), torch.ones(300, 64)
    do = {
        "index_put_": lambda x: x.index_put_((rows,), new),
        "index_add_": lambda x: x.index_add_(0, rows, new),
        "scatter_": lambda x: x.scatter_(0, rows[:, None].expand(-1, 64), new),
        "slice": lambda x: x[2:5].fill_(1),
    }[write]
    expected = np.zeros((600, 64), np.float32)
    expected[slice(2, 5) if write == "slice" else slice(None, None, 2)] = 1
    x = torch.zeros(600, 64).add_(0)
    with engine.forced_tier("fused"):
        x.sum().item()
        before = engine.stats()["donated"]
        do(x)
        assert x.sum().item() == expected.sum()
        assert engine.stats()["donated"] == before + 1
        old = x.detach().clone()
        kept = x * 1
        kept.sum().item()
        y = kept * 1
        do(y)
        assert (y - kept).abs().sum().item() == (expected.sum() if write == "index_add_" else 0)
    np.testing.assert_array_equal(x.numpy(), expected)
    np.testing.assert_array_equal(old.numpy(), expected)
