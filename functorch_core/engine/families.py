"""Families: keys that differ in sizes alone, as those of a loop over batches of many lengths.

What programs of a family have brought says what one for its next length is worth: where they have earned what compiling
them cost, a new length need not come as often as the first; where they have not, as each length soon comes no more, it
has to come more often.
"""

from __future__ import annotations

import math
import weakref
from typing import Any

from ..locks import RLock
from . import cost
from .units import Unit

FEW = 3  # keys, or programs, that say something of the others
LONGER = 8  # times as often as its other keys were seen so far may the next one come: programs go on
LEAST = 1 / 3  # of the first one's sightings, which the next has to have at least
_lock = RLock()
_families: weakref.WeakValueDictionary[tuple[Any, ...], Family] = weakref.WeakValueDictionary()


class Family:
    """The plans of one family, which hold it, and how often one of them was seen."""

    __slots__ = ("sightings", "_plans", "__weakref__")

    def __init__(self) -> None:
        self.sightings = 0
        self._plans: weakref.WeakSet[Any] = weakref.WeakSet()

    def add(self, plan: Any) -> None:
        """One more plan is of this family."""
        with _lock:  # another thread may be counting them
            self._plans.add(plan)

    def expected(self) -> float:
        """How often a key of this family may come, as far as the others tell; infinite where these are few."""
        with _lock:
            seen = [plan.sightings for plan in self._plans]
        return LONGER * sum(seen) / len(seen) if len(seen) >= FEW else math.inf

    def patience(self) -> float:
        """By what the sightings after which one of its keys is compiled are multiplied: what the programs have cost,
        divided by what they have spared. Those that are so new that not every key can have come again do not count."""
        with _lock:
            plans = list(self._plans)
        old = [p for p in plans if p.program is not None and self.sightings - p.compiled_at[1] >= 2 * len(plans)]
        if len(old) < FEW:
            return 1.0
        spared = sum([(p.sightings - p.compiled_at[0]) * (p.reference - p.work - cost.EXECUTE) for p in old])
        return max(sum([p.price for p in old]) / max(spared, 1.0), LEAST)


def family_of(signature: tuple[Any, ...], live: tuple[int, ...]) -> Family:
    """The family of a key: its ops by their names, and what their operands are."""
    key = tuple([x.name if isinstance(x, Unit) else x for x in signature]), live
    return _families.setdefault(key, Family())
