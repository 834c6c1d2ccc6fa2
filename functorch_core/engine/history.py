"""What was compiled and why: each compilation with the user's lines, and how it differs from the one before.

Written when something is compiled, which is rare: nothing else pays for it.
"""

from __future__ import annotations

import difflib
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.aval import Aval
from ..core.trace import constant_p, user_source
from .sources import line_of

if TYPE_CHECKING:
    from .units import Unit

MAX_COMPILATIONS = 256  # are remembered
MAX_SEQUENCES = 1024

NEW = "this sequence of operations was not compiled before"
KEPT = "other results are kept, or other inputs are free, than when it was last compiled"


class Compilation(NamedTuple):
    """A program that was compiled, or loaded from the disk."""

    name: str
    nodes: int
    why: str
    place: str  # the user's line that asked for it, or those whose operations it has
    began: float  # time.perf_counter()
    seconds: float
    from_disk: bool
    thread: int


compilations: deque[Compilation] = deque(maxlen=MAX_COMPILATIONS)


def compiled(name: str, nodes: int, why: str, place: str, began: float, from_disk: bool) -> None:
    """Remember a compilation that ends now."""
    seconds = time.perf_counter() - began
    compilations.append(Compilation(name, nodes, why, place, began, seconds, from_disk, threading.get_ident()))


def callers_line() -> str:
    """The user's line that is being executed; "" where there is none."""
    source = user_source()
    return "" if source is None else "{}:{} in {}".format(*source)


def place_of(sources: Sequence[Any]) -> str:
    """The user's lines at which a recording's operations were called: the first and the last."""
    if not sources:
        return ""
    first, last = line_of(sources[:2]), line_of(sources[-2:])
    if first == last:
        return first
    (file, _, line), (other, _, end) = (text.partition(" in ")[0].rpartition(":") for text in (first, last))
    return f"{first} to line {end}" if file == other and int(end) > int(line) else f"{first} to {last}"


# ---- what differs ----------------------------------------------------------------------------------


class Sequences:
    """The sequences of operations that were compiled, so that a further one can say what differs."""

    def __init__(self) -> None:
        self.by_names: OrderedDict[tuple[str, ...], list[Unit]] = OrderedDict()
        self.by_place: OrderedDict[Any, list[Unit]] = OrderedDict()

    def why(self, units: list[Unit], sources: Sequence[Any]) -> str:
        """The cause: new code, or which operation, shape, dtype or number differs, and at which line."""
        names = tuple(u.name for u in units)
        place = tuple(sources[:2])
        before, nearest = self.by_names.get(names), self.by_place.get(place)
        if before is None and nearest is not None and names == tuple(u.name for u in nearest):
            before = nearest  # the names alone are forgotten: there are more of them than places
        for table, key in ((self.by_names, names), (self.by_place, place)):
            table[key] = units
            if len(table) > MAX_SEQUENCES:
                table.popitem(last=False)
        if before is not None:
            return difference(before, units, sources) or KEPT
        if nearest is not None and (found := other_operations(nearest, units, sources)):
            return found
        return NEW


def difference(before: Sequence[Unit], units: Sequence[Unit], sources: Sequence[Any]) -> str:
    """What differs first between two sequences of operations of the same names; "" if nothing does."""
    for i, (old, new) in enumerate(zip(before, units)):
        if old is not new:
            return f"operation {i} is {new}; it was {old}{_inside(old, new)} when this sequence was last compiled" + (
                _at(sources, i)
            )
    return ""


def other_operations(before: Sequence[Unit], units: Sequence[Unit], sources: Sequence[Any]) -> str:
    """Which operations two sequences that begin at one line do not share; "" if they share less than half."""
    old, new = [u.name for u in before], [u.name for u in units]
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    if len(new) > 2 * MAX_SEQUENCES or matcher.ratio() < 0.5:
        return ""
    kind, i, i_end, j, j_end = next(code for code in matcher.get_opcodes() if code[0] != "equal")
    gone, come = _listed(old[i:i_end]), _listed(new[j:j_end])
    place = _at(sources, min(j, len(units) - 1))
    if kind == "insert":
        return f"from operation {j} on it has {come}, which the recording before did not have{place}"
    if kind == "delete":
        return f"before operation {j} it does not have {gone}, which the recording before had{place}"
    return f"from operation {j} on it has {come}, where the recording before had {gone}{place}"


def _listed(names: Sequence[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _at(sources: Sequence[Any], i: int) -> str:
    source = sources[2 * i : 2 * i + 2]
    return f", at {line_of(source)}" if len(source) == 2 else ""


def _inside(old: Unit, new: Unit) -> str:
    """Of two operations on operands of the same kind: the first parameter or number in which they differ."""
    if old.graph.in_avals != new.graph.in_avals or repr(old) != repr(new):
        return ""
    for a, b in zip(old.graph.nodes, new.graph.nodes):
        if a.primitive is not b.primitive:
            return f" by {a.primitive.name}, not {b.primitive.name}"
        for name, value in b.params.items():
            if a.params.get(name) != value:
                what = "the number" if b.primitive is constant_p else f"{b.primitive.name}'s {name}"
                return f" with {a.params.get(name)!r:.60} for {what}, which is {value!r:.60} now"
    return " with other static arguments"


def argument_difference(name: str, before: Sequence[Any], kinds: Sequence[Any]) -> str:
    """Why a jitted function is compiled again: the first argument of another shape, dtype or class."""
    if len(before) != len(kinds):
        return f"jit({name}) was called with {len(kinds)} arrays and numbers; last with {len(before)}"
    for i, (old, new) in enumerate(zip(before, kinds)):
        if old != new:
            return f"argument {i} of jit({name}) is {_kind(new)}; it was {_kind(old)} when it was last traced"
    return f"jit({name}) was called with other static arguments, or its arguments in other containers, than before"


def _kind(kind: Any) -> str:
    return str(kind) if isinstance(kind, Aval) else getattr(kind, "__name__", str(kind))


sequences = Sequences()
