"""Large recordings whose programs an earlier process left on the disk: those have only to be read.

The first steps of a script are computed op by op until compiling pays. What is on the disk already costs a seventh of
compiling it, and is taken at the first sighting. To know so without lowering the recording (0.3 s for a U-Net's step),
an empty entry of the disk cache bears a digest of the ops. It is a hint: which program is run the program's own key
says; a note too many costs a compilation at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..xla import cache
from .units import Unit

LARGE = 300_000.0  # microseconds to compile; what takes less is not worth a digest (0.2 ms for a thousand ops)


def note_of(units: Sequence[Unit], live: tuple[int, ...], price: float) -> str | None:
    """What a recording's note is called; None if it is too small for one."""
    if price < LARGE:
        return None
    return cache.note_key(*[unit.outline for unit in units], str(live))


def has_program(note: str | None) -> bool:
    """Whether an earlier process had the program of the recording."""
    return note is not None and cache.is_noted(note)


def leave(note: str | None) -> None:
    """There is a program now."""
    if note is not None:
        cache.note(note)
