"""Where an operation was recorded: kept as (code, instruction), made readable only for an error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def line_of(source: Sequence[Any]) -> str:
    """'file:line in function' of a recorded (code, instruction offset)."""
    code, offset = source
    for start, end, line in code.co_lines():
        if start <= offset < end and line is not None:
            return f"{code.co_filename}:{line} in {code.co_name}"
    return f"{code.co_filename}:{code.co_firstlineno} in {code.co_name}"


def note(error: BaseException, unit: object, source: Sequence[Any]) -> None:
    """Attach to an error which recorded operation failed, and where it was called."""
    error.add_note(f"while computing the recorded operation {unit}, called at {line_of(source)}")
