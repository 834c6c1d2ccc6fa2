"""What memory the values of a profile take: from when they are computed until nobody holds them.

Values are immutable here: what PyTorch writes in place is a new value, and the old one is freed then.
"""

from __future__ import annotations

import enum
import time
import weakref
from collections.abc import Callable, Iterator

import numpy as np

from .... import xla
from ....engine.value import Value, has_data
from ...dispatch.parameter import Parameter
from ...tensors.base import Tensor
from .profiler_util import FunctionEvent

ENGINE = "autograd::engine::evaluate_function: "


class Category(enum.Enum):
    """What memory is for.

    >>> from torch.profiler._memory_profiler import Category
    >>> Category.PARAMETER.name
    'PARAMETER'
    """

    INPUT = enum.auto()
    TEMPORARY = enum.auto()
    ACTIVATION = enum.auto()
    GRADIENT = enum.auto()
    AUTOGRAD_DETAIL = enum.auto()
    PARAMETER = enum.auto()
    OPTIMIZER_STATE = enum.auto()


class Allocation:
    """Memory: how many bytes, when it was taken and freed (nanoseconds since 1970; None: before, or not yet)."""

    __slots__ = ("nbytes", "begun", "ended", "event", "category", "holders", "device")

    def __init__(self, nbytes: int, begun: int | None, event: FunctionEvent | None, device: str):
        self.nbytes, self.begun, self.event, self.device = nbytes, begun, event, device
        self.ended: int | None = None
        self.category: Category | None = None
        self.holders = 0  # values that lie in it


class _Held(weakref.ref):
    """A value, for as long as it is there, and the memory in which it lies."""

    __slots__ = ("key", "allocation")


class Memory:
    """All memory that is seen; `changed(nbytes)` is called when some is taken, or freed (less than 0). `open`: the
    events that have begun and not ended, innermost last."""

    def __init__(self, changed: Callable[[int], None], open: list[FunctionEvent]):
        self.listed: list[Allocation] = []
        self.passes = False  # whether a node of a backward pass was seen
        self._changed, self._open = changed, open
        self._held: dict[int, _Held] = {}  # by the ids of values
        self._owners: dict[int, tuple[weakref.ref, Allocation]] = {}  # by the ids of what the memory belongs to
        self._parameters: dict[int, weakref.ref] = {}

    def close(self):
        """See nothing more."""
        self._mark_parameters()
        if self.passes:
            for allocation in self.listed:
                if allocation.begun is None:
                    allocation.category = allocation.category or Category.INPUT
        self._held.clear()
        self._owners.clear()

    # ---- what is told

    def meets(self, operands: list):
        """An operator is called with these: what of them is not known was there before the profile."""
        for x in operands:
            value = _value_of(x)
            if value is None:
                continue
            self.of(value, was_there=True)
            if isinstance(x, Parameter):
                self._parameters.setdefault(id(x), weakref.ref(x))
        self._mark_parameters()

    def made(self, values: list[weakref.ref]):
        """Values were computed."""
        for ref in values:
            value = ref()
            if value is not None:
                self.of(value)

    def results(self, event: FunctionEvent, found: list[Tensor]):
        """An operator, or a node, has these results."""
        for x in found:
            value = _value_of(x)
            if value is not None and x._view is None:
                self.of(value)
        needed = any([x.requires_grad for x in found])
        for allocation in self._within(event):
            if needed and allocation.ended is None:
                allocation.category = allocation.category or Category.ACTIVATION

    def range_ends(self, event: FunctionEvent):
        """A node of a backward pass, a step of an optimizer, or another range ends."""
        self._mark_parameters()
        kind = _kind_of(event)
        self.passes = self.passes or kind is Category.AUTOGRAD_DETAIL
        if kind is not None:
            for allocation in self._within(event):
                if allocation.ended is None:
                    allocation.category = allocation.category or kind

    # ---- memory

    def of(self, value: Value, was_there: bool = False) -> Allocation | None:
        """The memory of a value, which is noted if it is new: taken now, or there before the profile."""
        held = self._held.get(id(value))
        if held is not None:
            return held.allocation
        if not has_data(value) or not value.aval.nbytes:
            return None
        owner = _owner(value.data)
        found = self._owners.get(id(owner))
        if found is None or found[0]() is not owner:
            found = self._new(owner, value.aval.nbytes, was_there)
        held = self._held[id(value)] = _Held(value, self._dropped)
        held.key, held.allocation = id(value), found[1]
        held.allocation.holders += 1
        return held.allocation

    def _new(self, owner, nbytes: int, was_there: bool) -> tuple[weakref.ref, Allocation]:
        begun, event = None if was_there else time.time_ns(), self._open[-1] if self._open else None
        allocation = Allocation(nbytes, begun, event, _device(owner))
        self.listed.append(allocation)
        found = self._owners[id(owner)] = weakref.ref(owner), allocation
        if not was_there:
            self._changed(nbytes)
        return found

    def _dropped(self, held: _Held):
        """A value is no more; the last one in a memory frees it."""
        self._held.pop(held.key, None)
        allocation = held.allocation
        allocation.holders -= 1
        if allocation.holders or allocation.ended is not None:
            return
        allocation.ended = time.time_ns()
        if allocation.event is not None and allocation.event in self._open:
            allocation.category = allocation.category or Category.TEMPORARY
        self._changed(-allocation.nbytes)

    # ---- what it is for

    def _within(self, event: FunctionEvent) -> Iterator[Allocation]:
        """What was taken since an event began."""
        for allocation in reversed(self.listed):
            if allocation.begun is None:
                continue
            if allocation.event is None or allocation.event.id < event.id:
                return
            yield allocation

    def _mark_parameters(self):
        """What parameters and their gradients lie in now."""
        for ref in self._parameters.values():
            parameter = ref()
            if parameter is None:
                continue
            for x, category in ((parameter, Category.PARAMETER), (parameter._grad, Category.GRADIENT)):
                held = self._held.get(id(_value_of(x)))
                if held is not None:
                    held.allocation.category = category


def _kind_of(event: FunctionEvent) -> Category | None:
    """What the memory is for that is taken in a range and kept."""
    if event.key.startswith(ENGINE):
        return Category.AUTOGRAD_DETAIL
    return Category.OPTIMIZER_STATE if event.key.startswith("Optimizer.step#") else None


def _value_of(x) -> Value | None:
    """The computed value of a tensor."""
    value = x._value if isinstance(x, Tensor) and getattr(x, "_level", None) is None else None
    return value if value.__class__ is Value else None


def _device(data) -> str:
    found = xla.device_of(data) if isinstance(data, xla.Buffer) else None
    return "cpu" if found is None or found.platform == "cpu" else f"{found.platform}:{found.id}"


def _owner(data):
    """What the memory of data belongs to: of a NumPy view, that of which it is a view."""
    while isinstance(data, np.ndarray) and isinstance(data.base, np.ndarray):
        data = data.base
    return data
