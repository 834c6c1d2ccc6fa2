"""Ctrl-C leaves no lock taken and no context entered, wherever Python looks for signals.

Two places are outside of what they seem to be in. After `lock.acquire()` Python looks for signals, before the `try:`
that follows has begun; from Python 3.14 on also when `with lock:` has acquired one of Python's own locks, and one of
functorch_core/locks.py leaves no such gap. And from Python 3.12 on a jump back to where a loop begins that ends with a
condition (an `if` at the end of the body or of an inlined comprehension, from 3.14 on `any(... for ...)`, before it
`while c: ...`) is outside of all handlers: an interrupt there runs no `finally` and leaves no `with`, so that a lock
stays taken for good. Such a loop belongs outside, or into a function of its own, whose call is covered.
"""

from __future__ import annotations

import ast
import contextlib
import dis
import functools
import gc
import io
import itertools
import signal
import sys
import time
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from functorch_core import engine, torch, xla
from functorch_core.engine import recorder, written_out
from functorch_core.interrupts import is_interrupt

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted(path for top in ("functorch_core", "nn", "optim", "data") for path in (ROOT / top).rglob("*.py"))
JUMPS = ("JUMP", "POP_JUMP", "NOT_TAKEN", "TO_BOOL")  # what stands between a loop's last value and the jump back


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


class Handlers:
    """Which handlers of a function's are entered by what an instruction raises."""

    def __init__(self, code: types.CodeType):
        bytecode = dis.Bytecode(code)
        self.entries, self.instructions = bytecode.exception_entries, list(bytecode)
        self.places = {instruction.offset: i for i, instruction in enumerate(self.instructions)}

    def entry(self, i: int):
        """The table's entry for instruction i."""
        offset = self.instructions[i].offset
        return next((e for e in self.entries if e.start <= offset < e.end), None)

    def around(self, i: int) -> int | None:
        """The line of the innermost `with`, `finally` or `except BaseException` around instruction i."""
        entry = self.entry(i)
        if entry is None:
            return None
        first = self.places[entry.target]
        names = [instruction.opname for instruction in self.instructions[first:]]
        last = first + next((k for k, name in enumerate(names) if name == "RERAISE"), 0)
        if names[0] == "PUSH_EXC_INFO":
            matched = self._matched(first)
            if not matched or "BaseException" in matched:
                return self.instructions[first + 1].positions.lineno
        if names[0] == "CALL_INTRINSIC_1":  # what a generator raises at its end
            return None
        return self.around(last)  # what puts a comprehension's names back, or `except SomeError`

    def _matched(self, first: int) -> list[str]:
        found = []
        for before, instruction in itertools.pairwise(self.instructions[first:]):
            if instruction.opname == "CHECK_EXC_MATCH":
                found.append(before.argval)
            elif instruction.opname == "WITH_EXCEPT_START" or (instruction.opname == "RERAISE" and not instruction.arg):
                break
        return found

    def gaps(self) -> Iterator[tuple[int, int]]:
        """(line of a jump back that is outside of the handler around it, that handler's line)."""
        for i, instruction in enumerate(self.instructions):
            if instruction.opname == "JUMP_BACKWARD" and self.entry(i) is None:
                before = i - 1
                while before and self.entry(before) is None and self.instructions[before].opname.startswith(JUMPS):
                    before -= 1
                line = self.around(before) if self.instructions[i - 1].opname.startswith(JUMPS) else None
                if line is not None:
                    yield instruction.positions.lineno or 0, line


def gaps(source: str) -> list[tuple[int, int]]:
    lines = source.splitlines()
    found = [gap for code in codes(compile(source, "source", "exec")) for gap in Handlers(code).gaps()]
    return [(line, handler) for line, handler in found if "contextlib.suppress(" not in lines[handler - 1]]


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


def of_python(source: str) -> list[int]:
    """The lines where a lock of Python's own is made, which `with` may keep."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [
        call.lineno for call in calls if ast.unparse(call.func).lstrip("_") in ("threading.Lock", "threading.RLock")
    ]


@pytest.mark.parametrize("find", [gaps, taken_before_try, of_python])
def test_no_handler_has_a_gap(find):
    sources = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in FILES}
    sources["written out"] = f"def record_some(unit, x, i):\n{written_out.recording(['x'], 2, ['i'], 4)}"
    found = {path: find(source) for path, source in sources.items()}
    assert {path: lines for path, lines in found.items() if lines} == {}


LOOPS = """
with lock:
    for x in found:
        if x:
            use(x)
with lock:
    kept = [x for x in found if x]
try:
    while is_more():
        pass
except ValueError:
    pass
except BaseException:
    undo()
with lock:
    for x in found:
        use(x)
with lock:
    while True:
        if not is_more():
            break
        use(x)
try:
    for x in found:
        if x:
            use(x)
except ValueError:
    pass
with lock:
    print(any(x for x in found))
"""


def test_gaps_are_found():
    further = [(30, 29)] if sys.version_info >= (3, 14) else [(9, 11)]
    assert gaps(LOOPS) == ([(4, 2), (7, 6), *further] if sys.version_info >= (3, 12) else [])
    assert taken_before_try("lock.acquire()\ntry:\n    use()\nfinally:\n    lock.release()\n") == [1]
    assert of_python("import threading as _threading\nlock = _threading.Lock()") == [2]


# In a callback of the garbage collector (hypothesis has one) an interrupt is told, not raised; the next ends the loop.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupted_flush_leaves_its_lock():
    """Another thread would wait for it for good. One of a thousand interrupts comes when it is just taken."""

    def interrupt(*_):
        raise KeyboardInterrupt

    xla.default_device()  # jaxlib has a lock of its own for those who start it
    x, old, held = torch.ones(4), signal.signal(signal.SIGALRM, interrupt), 0
    recording = (x + 1)._value.recording
    for k in range(1000):
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


class Alarm(Exception):  # noqa: N818  what a user's handler raises
    """Not a mistake."""


class Raises:
    """A handler with a state of its own."""

    def __call__(self, *_):
        raise Alarm

    def handle(self, *_):
        self()


HANDLERS = {
    "function": lambda *_: Raises()(),
    "object": Raises(),
    "method": Raises().handle,
    "partial": functools.partial(lambda _, *rest: Raises()(), 1),
}


@pytest.mark.parametrize("handler", HANDLERS)
def test_what_a_handler_raises_is_no_mistake_of_the_call_that_it_interrupts(handler):
    """It was taken for one: by ways of calls that are tried first, where it was lost, or by what was computed, which
    could not be read any more."""
    model, x, total, lost = torch.nn.Linear(8, 4), torch.ones(2, 8), torch.zeros(3), 0
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)

    def step():
        loss = model(x).pow(2).mean() + total.add_(1)[1:].sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    step()  # Python's compile(), which is needed for first calls, loses what a handler raises while it runs
    step()
    old = signal.signal(signal.SIGALRM, HANDLERS[handler])
    gc.disable()  # in whose callbacks it would be told, not raised
    for k in range(60):
        torch.set_grad_enabled(True)  # which an interrupt at the first instruction of `__exit__` leaves off
        with contextlib.suppress(Alarm):
            signal.setitimer(signal.ITIMER_REAL, 2e-3 + 1e-4 * (k % 37))
            end = time.monotonic() + 30
            while time.monotonic() < end:
                step()
            lost += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
    gc.enable()
    signal.signal(signal.SIGALRM, old)
    assert not lost and torch.isfinite(model.weight).all() and total[0].item() > 60


def test_interrupts_are_told_from_mistakes():
    raised = []
    for handler in HANDLERS.values():
        old = signal.signal(signal.SIGUSR1, handler)
        try:
            signal.raise_signal(signal.SIGUSR1)
        except Alarm as error:
            raised.append(is_interrupt(error))
        signal.signal(signal.SIGUSR1, old)
    assert raised == [True] * len(HANDLERS) and is_interrupt(KeyboardInterrupt()) and not is_interrupt(Alarm())


def alarms(handler, seconds: float):
    """Call handler() again and again while the body runs: `with alarms(handler, seconds):`."""

    @contextlib.contextmanager
    def ringing():
        def ring(*_):
            handler()
            if ringing_now:
                signal.setitimer(signal.ITIMER_REAL, seconds)

        ringing_now = [True]
        old = signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            ringing_now.clear()
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, old)

    return ringing()


def test_a_handler_that_reads_what_it_interrupts():
    """It came into the midst of recording a call, or of computing, and left values that could never be read."""
    total, seen = torch.zeros(()), []
    with alarms(lambda: seen.append(total.item()), 1e-3):
        for _ in range(20_000):
            total += 1
    assert total.item() == 20_000 and len(seen) > 5 and seen == sorted(seen)


def test_a_handler_that_saves_a_model():
    model, x, saved, midst = torch.nn.Linear(16, 16), torch.ones(4, 16), [], []
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)

    def save():
        try:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file := io.BytesIO())
            saved.append(file)
        except RuntimeError as error:  # in the midst of what cannot be computed twice
            midst.append(str(error))

    with alarms(save, 3e-3):
        for _ in range(200):
            optimizer.zero_grad()
            (model(x) - x).pow(2).mean().backward()
            optimizer.step()
    assert saved and all("just being computed" in text for text in midst)
    saved[-1].seek(0)
    assert torch.isfinite(torch.load(saved[-1])["model"]["weight"]).all()
    assert optimizer.state[model.weight]["step"].item() == 200


@pytest.mark.parametrize("threshold", [13, 50])
def test_garbage_that_computes_when_it_is_collected(threshold):
    found = []

    class Garbage:
        def __init__(self, i: int):
            self.tensor, self.itself = torch.ones(3) * i, self

        def __del__(self):
            found.append((self.tensor * 2 + 1).sum().item())

    before, model = gc.get_threshold(), torch.nn.Linear(4, 4)
    optimizer = torch.optim.Adam(model.parameters())
    gc.set_threshold(threshold)
    for i in range(300):
        Garbage(i)
        optimizer.zero_grad()
        model(torch.ones(8, 4)).pow(2).mean().backward()
        optimizer.step()
    gc.set_threshold(*before)
    gc.collect()
    assert sorted(found) == [6.0 * i + 3 for i in range(300)]
