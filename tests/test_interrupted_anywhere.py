"""An interrupt at each place of a training step in turn, where Python looks for signals.

Those are a function's first instruction, jumps back, and what follows a call. That a signal comes just there happens
once in some thousands of interrupts; here a trace function raises there what a handler would.
"""

from __future__ import annotations

import dis
import functools
import gc
import sys
from pathlib import Path
from types import CodeType, FrameType

import pytest

import functorch_core as fc
from functorch_core import torch
from functorch_core.engine import recorder
from functorch_core.torch.tape import passes
from functorch_core.torch.tensors.active import active

ROOT = str(Path(fc.__file__).parents[1])
CALLS = ("CALL", "CALL_FUNCTION_EX", "CALL_KW")


class Interrupt(KeyboardInterrupt):
    """What the handler raises."""


@functools.cache
def places(code: CodeType) -> frozenset[int]:
    """The offsets in a function before which Python looks for signals. (After a call it does so where the call's
    handlers hold, so that what lies behind these is no such place.)"""
    entries, found, before = list(dis.Bytecode(code).exception_entries), [], None
    for instruction in dis.get_instructions(code):
        name, offset = instruction.opname, instruction.offset
        if before is not None and before.opname in CALLS:
            ours, its = [[e for e in entries if e.start <= at < e.end] for at in (offset, before.offset)]
            if ours == its:
                found.append(offset)
        elif (name == "RESUME" and not instruction.arg) or name == "JUMP_BACKWARD":
            found.append(offset)
        before = instruction
    return frozenset(found)


def interrupted(step, k: int) -> str | None:
    """Where the k-th place is, of those in the library that step() comes by, at which it was interrupted; None if there
    are fewer."""
    left, where = [k], []

    def at(frame: FrameType, event: str, _):
        if event == "opcode" and frame.f_lasti in places(frame.f_code):
            left[0] -= 1
            if left[0] < 0:
                where.append(f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}")
                sys.settrace(None)
                raise Interrupt
        return at

    def called(frame: FrameType, *_):
        if not frame.f_code.co_filename.startswith((ROOT, "<")):
            return None
        frame.f_trace_opcodes = True
        return at

    before = sys.gettrace()
    sys.settrace(called)
    try:
        step()
    except Interrupt:
        pass
    finally:
        sys.settrace(before)
    return where[0] if where else None


def left_behind() -> list[str]:
    """What of the library is not as it is between two calls."""
    recording = recorder.in_use()[0]
    found = {
        "a recording": recording is not None and (recording.busy or recording.lock._is_owned() or recording.done),
        "a backward pass": passes.current_id() >= 0,
        "computed at once": recorder.computes_at_once(),
        "no garbage collection": not gc.isenabled(),
        "a mode": not active.plain,
    }
    return [name for name, is_there in found.items() if is_there]


@pytest.mark.skipif(sys.gettrace() is not None, reason="a tracer is at work")
def test_a_training_step_is_interrupted_anywhere():
    model, x, total = torch.nn.Linear(8, 4), torch.ones(2, 8), torch.zeros(3)
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)

    def step():
        loss = model(x).pow(2).mean() + total.add_(1)[1:].sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    for _ in range(4):
        step()
    was_there, k, failed = left_behind(), 0, []
    while (where := interrupted(step, k)) is not None:
        torch.set_grad_enabled(True)  # which an interrupt at the first instruction of `__exit__` leaves off
        failed += [f"{where}: leaves {name}" for name in left_behind() if name not in was_there]
        try:
            assert all(torch.isfinite(p).all() for p in model.parameters()) and total[0].item() >= k and step() >= 0
        except RuntimeError as error:
            failed.append(f"{where}: {error}")
            recorder.set_recording(None)
        k += 1
    assert not failed and k > 500
