"""Ctrl-C leaves no lock taken and loses nothing, wherever Python looks for signals.

After `lock.acquire()` Python looks for signals, before the `try:` that follows has begun; `with lock:` leaves no such
gap.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import signal
from pathlib import Path

import pytest

from functorch_core import engine, torch
from functorch_core.engine import recorder

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted(path for top in ("functorch_core", "nn", "optim", "data") for path in (ROOT / top).rglob("*.py"))


def is_acquiring(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or call.args or call.keywords:
        return False
    return isinstance(call.func, ast.Attribute) and call.func.attr == "acquire"


def taken_before_try(source: str) -> list[int]:
    """The lines of an acquire() that a `try` follows."""
    bodies = [getattr(node, "body", None) for node in ast.walk(ast.parse(source))]
    pairs = [pair for body in bodies if isinstance(body, list) for pair in itertools.pairwise(body)]
    return [first.lineno for first, second in pairs if is_acquiring(first) and isinstance(second, ast.Try)]


def test_no_lock_is_taken_before_a_try():
    found = {path.relative_to(ROOT).as_posix(): taken_before_try(path.read_text(encoding="utf-8")) for path in FILES}
    assert {path: lines for path, lines in found.items() if lines} == {}
    assert taken_before_try("lock.acquire()\ntry:\n    use()\nfinally:\n    lock.release()\n") == [1]


def test_an_interrupted_flush_leaves_its_lock():
    """Another thread would wait for it for good. One of a hundred interrupts comes when it is taken."""

    def interrupt(*_):
        raise KeyboardInterrupt

    x, old, held = torch.ones(4), signal.signal(signal.SIGALRM, interrupt), 0
    recording = (x + 1)._value.recording
    for k in range(500):
        with contextlib.suppress(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, 1e-4 + 1e-6 * (k % 97), 1.0)
            while True:
                recording = (x + 1)._value.recording
                engine.flush()
        signal.setitimer(signal.ITIMER_REAL, 0)
        held += recording.lock._is_owned()
    signal.signal(signal.SIGALRM, old)
    assert held == 0


def test_what_is_frozen_when_an_interrupt_comes_is_computed_later(monkeypatch):
    """Elsewhere recorded operations are copied to be computed, and had been cleared before the copy was noted."""
    y = torch.ones(4) + 1
    recorder.set_recording(None)
    with monkeypatch.context() as patch:
        patch.setattr(recorder.Recording, "drop_unfinished_call", lambda self: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            y.numpy()
    assert y.tolist() == [2.0] * 4
