"""Factories: a call that was seen before is looked up by the numbers, the dtype and the device that it was given."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.trace import open_traces
from ...engine import from_numpy
from ...engine.recorder import record
from ...engine.signatures import bounded
from ...engine.written_out import record_nothing
from ..tape.apply import GraphOp, without_history
from ..tape.modes import state
from ..tensors import types as _types
from ..tensors.active import active
from ..tensors.base import Tensor
from .op import PLAIN, Composite
from .paths import remember

_new, _defaults, _placing = object.__new__, _types.defaults, _types.placing
INTS = frozenset({int})
TUPLES = frozenset({tuple, _types.Size})
FEW = 128  # elements
NAMES = frozenset({"dtype", "device"})


class Factory(Composite):
    """A function of sizes and other whole numbers, which makes a tensor that follows from them, or random numbers.

    `known_by(find, again)`: find(made, args, kwargs) says what is to be known of a call on the CPU that has made this,
    or None, and again(known) makes another (or None, where it is to be looked at once more). (`zeros(4, 4)`: 0.8 us,
    of 3.6 where the arguments are looked at.)
    """

    find: Callable[[Tensor, tuple, dict], Any]
    again: Callable[[Any], Tensor | None]

    def known_by(self, find: Callable, again: Callable, units_of: Callable = lambda known: ()) -> Factory:
        """Let calls that were seen be known; `units_of` is of what is known (see engine.signatures)."""
        self.find, self.again = find, again
        self.seen: dict = bounded({}, units_of)
        _types.follow_default.append(self.seen)
        return self

    def __call__(self, /, *args, **kwargs):
        looked_up = active.plain and (not _defaults.places or _placing.device in _types.HOST) and not open_traces
        key = self.key(args, kwargs) if looked_up else None
        if key is None:
            return super().__call__(*args, **kwargs)
        known = self.seen.get(key)
        if known is not None:
            made = self.again(known)
            if made is not None:
                return made
        made = super().__call__(*args, **kwargs)
        if made.__class__ is Tensor and made._strides is None and made._ge is None and made.device.type == "cpu":
            remember(self.seen, key, self.find(made, args, kwargs))
        return made

    def key(self, args: tuple, kwargs: dict):
        """What a call is known by; None for one that is not so simple."""
        for x in args:
            if x.__class__ is not int and not (x.__class__ in TUPLES and set(map(type, x)) <= INTS):
                return None
        if not kwargs:
            return args
        return (args, *kwargs.items()) if kwargs.keys() <= NAMES else None


class NumberFactory(Factory):
    """A function of sizes and numbers, whole or not, which makes a tensor that follows from them."""

    def key(self, args: tuple, kwargs: dict):
        """The same with the classes of the numbers; None for NaN, and the zero that equals another."""
        for x in args:
            if x.__class__ is int or x.__class__ is float and x == x and (x or math.copysign(1, x) > 0):
                continue
            if not (x.__class__ in TUPLES and set(map(type, x)) <= INTS):
                return None
        return (args, *map(type, args), *kwargs.items()) if kwargs.keys() <= NAMES else None


class LikeFactory(Factory):
    """A function of a tensor alone, which makes one of its shape and dtype."""

    def key(self, args: tuple, kwargs: dict):
        """The aval of a contiguous tensor on the CPU."""
        if kwargs or len(args) != 1 or args[0].__class__ not in PLAIN:
            return None
        x = args[0]
        alias, value = x._view, x._value
        if x._strides is not None or alias is not None and not alias.contiguous:
            return None
        on_host = (
            value.recording is None and value.data.__class__ is np.ndarray
        )  # 0.1 us less than to ask for the device
        return value.aval if on_host or x.device.type == "cpu" else None


def recorded(found: tuple[GraphOp, list]) -> Tensor:
    """What an op records of these numbers, for `again`."""
    op, numbers = found
    made = _new(Tensor)  # what without_history does while nothing is active: 0.1 us
    made._value = record(op.unit, numbers, 3) if numbers else record_nothing(op.unit)
    made._ge = made._view = None
    if active.marks_inference and state.inference:
        made._is_inference = True
    return made


def kept(made: Tensor, args: tuple, kwargs: dict) -> np.ndarray | None:
    """The few numbers that a factory has made, for `copied`."""
    return np.array(made._array()) if made._value.aval.size <= FEW and not made.requires_grad else None


def copied(array: np.ndarray) -> Tensor:
    """A tensor of a copy of them: 0.6 us, where NumPy makes them anew by up to ten calls."""
    return without_history(from_numpy(array.copy()))


def units_of_recorded(found: tuple[GraphOp, list] | None):
    """The units of the same."""
    return () if found is None else found[0].units()
