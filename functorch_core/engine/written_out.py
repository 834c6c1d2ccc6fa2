"""Recording a call, written out for so many operands.

`record` looks at each operand. Where it is known how many values there are, and that there is one result, a text of
that call alone takes 0.1 us less; as a part of the text of another function (paths of the PyTorch face) 0.15 less.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from ..core.types import Function
from . import recorder
from .recorder import SCALAR

# Before a call without values.
AT_HOME = """\
if further:
    turn_home()
"""
# `unit` is there; leaves `value`.
RECORDING = """\
recording = this_thread.recording
if recording is None or recording.busy:
    recording, value = {begun}(unit, ({x}))
if recording is not None:
    values = recording.values
    try:
        recording.busy = True{slots}
        signature = recording.signature  # to append one by one is 0.02 us less than a tuple of them
        signature.append(unit){append}{packed}{source}{results}
        recording.busy = False
    except UNRECORDED as why:
        value = elsewhere(why, recording, unit, ({x}))
    except BaseException:  # Ctrl-C, or an operand that could not be computed
        recording.forget_unfinished_call()
        raise
    else:
        if len(values) >= recording.limit:
            value = full(recording, unit, ({x}), value)
"""
# Where the user's call is: looked for, or given.
LOOKED_FOR = """
frame = getframe({inner})
code = frame.f_code
if code is not recording.code:
    while True:  # no condition at its end: see tests/test_interrupts.py
        if not is_internal(code.co_filename):
            break
        frame = frame.f_back
        code = frame.f_code
    recording.code = code
sources = recording.sources
sources.append(code)
sources.append(frame.f_lasti)"""
GIVEN = """
sources = recording.sources
sources.append(code)
sources.append(place)"""
RESULT = """
{v} = Value()
{v}.aval, {v}.recording, {v}.slot = {aval}, recording, len(values)
values.append({v})"""
# What the text refers to.
NAMES: dict[str, Any] = {
    "UNRECORDED": recorder.UNRECORDED,
    "Value": recorder.Value,
    "begun": recorder.begun,
    "begun_or_brief": recorder.begun_or_brief,
    "elsewhere": recorder.elsewhere,
    "full": recorder.full,
    "further": recorder.further,
    "getframe": recorder._getframe,
    "is_internal": recorder.is_internal,
    "this_thread": recorder._state,
    "turn_home": recorder.turn_home,
}


LINE = "\n        "


def recording(
    values: Sequence[str],
    inner: int | None,
    ints: Sequence[str] = (),
    indent: int = 0,
    results: int | None = None,
    off_tape: bool = False,
) -> str:
    """The text that records `unit` of the values and Python ints of these names, and names the result `value`: a list
    of so many `results` if the unit is `multiple`. Of the callers of the function that it is a part of, `inner - 1` are
    known to be the library's; None: where the user's call is, is there, as `code` and `place`. `off_tape` as of
    `record`."""
    slots = [f"s{i} = {x}.slot if {x}.recording is recording else recording.input({x})" for i, x in enumerate(values)]
    append = [f"signature.append({x})" for x in [*[f"s{i}" for i in range(len(values))], *[SCALAR - 1] * len(ints)]]
    source = GIVEN if inner is None else LOOKED_FOR.format(inner=inner)
    text = ("" if values else AT_HOME) + RECORDING.format(
        begun="begun_or_brief" if off_tape else "begun",
        x="".join([f"{x}, " for x in (*values, *ints)]),
        slots="".join([LINE + x for x in slots]),
        append="".join([LINE + x for x in append]),
        packed=f"; recording.ints += ({', '.join(ints)},)" if ints else "",
        source=source.replace("\n", LINE),
        results=_results(results).replace("\n", LINE),
    )
    return textwrap.indent(text, " " * indent)


def _results(n: int | None) -> str:
    """The text that names the result `value`, or a list of n results."""
    if n is None:
        return RESULT.format(v="value", aval="unit.out_aval")
    avals, found = "".join([f"a{i}, " for i in range(n)]), ", ".join([f"v{i}" for i in range(n)])
    each = "".join([RESULT.format(v=f"v{i}", aval=f"a{i}") for i in range(n)])
    return f"\n{avals}= unit.out_avals{each}\nvalue = [{found}]"


def recorder_of(
    n: int, inner: int | None, n_ints: int = 0, results: int | None = None, off_tape: bool = False
) -> Function:
    """A function of a unit, n values and n_ints Python ints, and of `code` and `place` if `inner` is None: record() of
    these; `inner`, `results` and `off_tape` as in `recording`."""
    values, ints = [f"x{i}" for i in range(n)], [f"i{i}" for i in range(n_ints)]
    given = ["unit", *values, *ints, *(["code", "place"] if inner is None else [])]
    text = (
        f"def record_some({', '.join(given)}):\n{recording(values, inner, ints, 4, results, off_tape)}    return value"
    )
    found: dict[str, Function] = {}
    exec(compile(text, __file__, "exec"), NAMES, found)  # under this file's name, which is internal
    return found["record_some"]


record_pair = recorder_of(2, 2)  # 0.4 us
record_pair_off_tape = recorder_of(2, 2, off_tape=True)  # of binary operators
record_pair_at = recorder_of(2, None)
record_nothing = recorder_of(0, 3)  # of what takes no operands
