"""Every way in which a tracing system could fool its user, on torch Tensors, with the right values."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import functorch_core as fc
from functorch_core import engine, torch
from functorch_core.xla import executable

STEPS = 12  # beyond the sightings after which a recording is compiled
SIZE = 20_000  # large enough for that to pay


def vector(start: float = 0.0, n: int = SIZE):
    return torch.linspace(start, start + 1, n)


def long(x, k: float = 1.0):
    """Enough work that it is compiled."""
    for _ in range(20):
        x = torch.tanh(x) * 1.5 + k
    return x


def wanted(x: np.ndarray, k: float = 1.0) -> np.ndarray:
    for _ in range(20):
        x = np.tanh(x) * np.float32(1.5) + np.float32(k)
    return x


def close(found, expected):
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=2e-4, atol=2e-4)


def test_changed_python_constants():
    x = vector()
    for i in range(STEPS):
        close(long(x, i * 0.25), wanted(x.numpy(), i * 0.25))


def test_branches_that_change():
    x = vector()
    for i in range(2 * STEPS):
        y = long(x) if i % 3 else x.tanh()
        close(y, wanted(x.numpy()) if i % 3 else np.tanh(x.numpy()))


def test_a_branch_on_a_value():
    x = vector()
    for i in range(STEPS):
        y = long(x + float(i))
        found = y + 1 if y[0] > 1 else y - 1
        plain = wanted(x.numpy() + np.float32(i))
        close(found, plain + 1 if plain[0] > 1 else plain - 1)


def test_containers_that_change():
    kept: list = []
    for i in range(2 * STEPS):
        kept.append(long(vector(), float(i)))
        del kept[:-3]
        total = kept[0]
        for other in kept[1:]:
            total = total + other
        close(total, sum(wanted(vector().numpy(), float(j)) for j in range(max(0, i - 2), i + 1)))


def test_closures_over_mutated_state():
    state = {"k": 0.0, "w": torch.zeros(())}

    def step():
        return long(vector(), state["k"]) + state["w"]

    for i in range(STEPS):
        state["k"], state["w"] = i * 0.5, torch.tensor(float(i))
        close(step(), wanted(vector().numpy(), i * 0.5) + i)


def test_outputs_kept_across_iterations():
    x, kept = vector(), []
    for _ in range(STEPS):
        x = long(x)
        kept.append(x)
        engine.flush()
    expected = vector().numpy()
    for found in kept:
        expected = wanted(expected)
        np.testing.assert_allclose(found.numpy(), expected, rtol=0.05, atol=0.05)


def test_two_instances_of_one_class():
    torch.manual_seed(0)
    models = [torch.nn.Linear(64, 64) for _ in range(2)]
    x = torch.randn(32, 64)
    for _ in range(STEPS):
        for m in models:
            close(m(x).tanh(), np.tanh(x.numpy() @ m.weight.detach().numpy().T + m.bias.detach().numpy()))


def test_exceptions_in_the_middle():
    x = vector()
    for _ in range(STEPS):
        y = long(x)
        with pytest.raises(RuntimeError):
            y + torch.ones(3)
        close(y + 1, wanted(x.numpy()) + 1)


def test_inputs_and_outputs_that_are_one():
    for _ in range(STEPS):
        x = vector()
        y, z = long(x), x
        x = y
        y = y * 2
        close(z, vector().numpy())
        close(x, wanted(vector().numpy()))
        close(y, 2 * wanted(vector().numpy()))


def test_writes_through_views_of_what_is_recorded():
    for i in range(STEPS):
        x = long(vector())
        part = x[2:5]
        part.mul_(2)
        x[0] = float(i)
        expected = wanted(vector().numpy())
        expected[2:5] *= 2
        expected[0] = i
        close(x, expected)
        close(part, expected[2:5])


def test_generators():
    def powers(x):
        while True:
            yield x
            x = x * 2

    for _ in range(STEPS):
        make = powers(vector())
        for k in range(5):
            close(next(make), vector().numpy() * 2**k)


def test_recursion():
    def deep(x, n):
        return x if n == 0 else deep(torch.tanh(x) * 1.5 + 1.0, n - 1)

    for _ in range(STEPS):
        close(deep(vector(), 20), wanted(vector().numpy()))


def test_threads():
    found: dict = {}

    def work(k):
        for _ in range(STEPS):
            found[k] = long(vector(), float(k))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k, x in found.items():
        close(x, wanted(vector().numpy(), float(k)))


# ---- donation ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "keep",
    [
        lambda x: x[3:7],
        lambda x: x.view(2, -1),
        lambda x: x.detach(),
        lambda x: [x],
        lambda x: np.from_dlpack(fc.from_dlpack(x)) if hasattr(fc, "from_dlpack") else x.numpy(),
        lambda x: x.numpy(),
        lambda x: x.clone(),
    ],
)
def test_what_still_needs_an_input_keeps_it(keep):
    """An input both donated and kept: by a view, an export, a container."""
    with engine.forced_tier("fused"):
        for _ in range(3):
            x = vector() + 0.0
            engine.flush()
            kept, expected = keep(x), np.asarray(x.numpy())
            before = [np.array(k) for k in kept] if isinstance(kept, list) else np.array(kept)
            for _ in range(3):
                x = x * 2 + 1
                engine.flush()
            after = [np.array(k) for k in kept] if isinstance(kept, list) else np.array(kept)
            np.testing.assert_array_equal(after, before)
            np.testing.assert_allclose(x.numpy(), expected * 8 + 7, rtol=1e-6)


def test_the_tape_keeps_what_it_saved():
    with engine.forced_tier("fused"):
        for _ in range(3):
            w = vector().requires_grad_()
            hidden = w * 2
            engine.flush()
            loss = (hidden * hidden).sum()
            del hidden
            engine.flush()
            loss.backward()
            np.testing.assert_allclose(w.grad.numpy(), 8 * vector().numpy(), rtol=1e-5)


def test_another_thread_keeps_an_input():
    ready, go, found = threading.Event(), threading.Event(), []

    def work(x):
        ready.set()
        go.wait()
        found.append(x.numpy())

    with engine.forced_tier("fused"):
        x = vector() + 0.0
        engine.flush()
        expected = x.numpy()
        thread = threading.Thread(target=work, args=(x,))
        thread.start()
        ready.wait()
        for _ in range(3):
            x = x * 2
            engine.flush()
        go.set()
        thread.join()
    np.testing.assert_array_equal(found[0], expected)


def test_values_read_by_other_threads_while_their_own_goes_on_recording():
    """Two threads record; a third reads what they made, in the middle of their calls."""
    shared, failures, end = [], [], time.monotonic() + 1.5
    interval = sys.getswitchinterval()

    def produce():
        x, index, table, i = torch.zeros(4), torch.zeros(3, dtype=torch.int64), torch.arange(10.0), 0
        while time.monotonic() < end:
            x, index, i = x + 1, (index + 1) % 10, i + 1
            y = table[index] + x[0]
            if i % 7 == 0 and len(shared) < 50:
                shared.append((i, x, index, y))
            if i % 1000 == 0:
                assert x[0].item() == i

    def read():
        while time.monotonic() < end:
            if not shared:
                time.sleep(0)
                continue
            i, x, index, y = shared.pop(0)
            assert (x + 1).numpy()[0] == i + 1
            assert torch.arange(10.0)[index][0].item() == i % 10
            assert y[2].item() == i + i % 10

    def guarded(fun):
        try:
            fun()
        except Exception as error:  # the main thread raises it
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(f,)) for f in (produce, produce, read)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    if failures:
        raise failures[0]


# ---- interrupts, processes -----------------------------------------------------------------------


def test_an_interrupt_while_waiting_for_a_compilation(monkeypatch):
    """It is heard before the compilation ends, which is on another thread, and whose program is kept."""
    from functorch_core.xla.executable import _Request

    get, asked, heard, sent = _Request.get, [], threading.Event(), []

    def slow(self, cache):
        asked.append(self.key)
        if len(asked) == 1:
            assert threading.current_thread() is not threading.main_thread()
            while not heard.is_set() and len(sent) < 3:  # Python itself loses one that comes in a finalizer
                sent.append(os.kill(os.getpid(), signal.SIGINT))
                heard.wait(20)
            assert heard.is_set()
        return get(self, cache)

    monkeypatch.setattr(_Request, "get", slow)
    x, interrupted = torch.linspace(0, 1, SIZE + 1), 0
    right = wanted(x.numpy())
    for _ in range(STEPS):
        y = None
        try:  # the compilation may have been started ahead of time: Ctrl-C comes anywhere
            y = long(x)
            y.numpy()
            close(y, right)
        except KeyboardInterrupt:
            interrupted += 1
            heard.set()  # from here on none comes, which would end the test instead
            if y is not None:
                close(y, right)
    assert 1 <= interrupted <= len(sent)
    assert len(asked) == len(set(asked))


def test_interrupts_at_any_moment_lose_no_state():
    """A loop whose steps overwrite their input, interrupted 60 times somewhere in its Python."""

    def interrupt(*_):
        raise KeyboardInterrupt

    x, done, interrupts = torch.zeros(1 << 16), 0, 60
    old = signal.signal(signal.SIGALRM, interrupt)
    for k in range(interrupts):
        try:
            # Once; and once more where Python has lost it, as it does one that comes in a finalizer.
            signal.setitimer(signal.ITIMER_REAL, 1e-3 + 2e-4 * k, 2.0)
            while True:
                x.add_(torch.sigmoid(x).square().exp().log().sqrt() / torch.sigmoid(x))
                engine.flush()
                done += 1
        except KeyboardInterrupt:
            signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, old)
    values = x.numpy()
    assert done * 0.999 <= values[0] <= (done + interrupts) * 1.001
    np.testing.assert_array_equal(values, values[0])


TRAINING = """
from functorch_core import engine, torch
model = torch.nn.Sequential(torch.nn.Linear(20, 512), torch.nn.ReLU(), torch.nn.Linear(512, 3))
opt = torch.optim.Adam(model.parameters())
x, y = torch.randn(256, 20), torch.randint(0, 3, (256,))
for _ in range(12):
    opt.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    opt.step()
"""
SCRIPT = f"import json{TRAINING}print(json.dumps(engine.stats()))"


def test_a_second_process_compiles_nothing(tmp_path):
    import json

    env = {**os.environ, "FUNCTORCH_CACHE_DIR": str(tmp_path), "FUNCTORCH_CACHE": "1", "FUNCTORCH_TIER": "fused"}
    runs = [
        json.loads(
            subprocess.run([sys.executable, "-c", SCRIPT], env=env, check=True, capture_output=True, text=True).stdout
        )
        for _ in range(2)
    ]
    assert runs[0]["compiles"] > 0 and runs[0]["fused_runs"] > 0
    assert runs[1]["compiles"] == 0 and runs[1]["disk_hits"] == runs[0]["compiles"]


# The function refers to the globals, which then are not freed before C++'s data.
ENDS = f"def cycle(): pass{TRAINING}"


def test_a_process_ends_well_while_a_program_runs(tmp_path):
    """Nobody reads the last step, which another thread still computes: nine of ten ended with SIGSEGV."""
    env = {**os.environ, "FUNCTORCH_CACHE_DIR": str(tmp_path), "FUNCTORCH_CACHE": "1"}
    for _ in range(4):  # the first takes its time to compile
        subprocess.run([sys.executable, "-c", ENDS], env=env, check=True)


LASTS = """
from functorch_core import engine, torch
x = torch.randn(1500, 1500)
with engine.forced_tier("fused"):
    for _ in range(12):
        y = x
        for _ in range(40):
            y = torch.tanh(y @ x)
        engine.flush()
print("over", flush=True)
"""


def test_ctrl_c_ends_the_wait_for_programs():
    process = subprocess.Popen([sys.executable, "-c", LASTS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "over\n"
    time.sleep(0.5)
    over = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert time.monotonic() - over < 10  # twelve programs of more than a second each are not awaited
    assert process.returncode == 0 and "KeyboardInterrupt" in said and "terminate called" not in said


def test_programs_are_awaited_before_python_ends():
    x = torch.randn(1000, 1000)
    with engine.forced_tier("fused"):
        y = torch.tanh(x) @ x @ x @ x
        engine.flush()
    executable._wait_for_programs()
    assert engine.concrete(y._value).is_ready()
    del x, y


def test_the_log_names_the_cause_of_a_compilation(capsys):
    engine.set_log(True)
    try:
        with engine.forced_tier("fused"):
            for n in (5, 5, 7):
                (torch.ones(n) * 2.5 + 1.0).numpy()
    finally:
        engine.set_log(False)
    said = capsys.readouterr().err
    assert "float32[7]" in said and "float32[5]" in said and "when this sequence was last" in said


def test_a_progress_line_for_long_compilations(monkeypatch, capsys):
    from functorch_core.engine import progress

    monkeypatch.setattr(progress, "AFTER", 0.01)
    with progress.compiling("silent", 3):
        time.sleep(0.05)
    assert capsys.readouterr().err == ""  # no terminal
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with progress.compiling("something", 3):
        time.sleep(0.1)
    assert "compiling something (3 operations)" in capsys.readouterr().err


def test_an_error_in_a_flush_loses_nothing_that_had_a_value():
    def broken(x):
        raise ValueError("no good")

    before = vector() * 2
    recorded = long(before)
    bad = fc.pure_callback(broken, fc.ShapeDtype((1,), fc.float32), fc.asarray([1.0]))
    with pytest.raises(ValueError, match="no good"):
        np.asarray(bad)
    close(before, vector().numpy() * 2)
    close(recorded, wanted(vector().numpy() * 2))  # computed before the operation that failed
