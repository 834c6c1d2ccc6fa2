"""Values: an aval, and either data (host or device) or a place in the current recording.

Nothing above the engine can tell which: whoever needs the data calls `to_numpy` or `to_buffer`,
and a recorded value is computed then.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import weakref
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .. import xla
from ..core.aval import Aval, HasAval, aval
from ..xla.device import Device, further
from .errors import POISONED, DeferredError
from .modes import settings

if TYPE_CHECKING:
    from .deferred import Chain
    from .recorder import Recording


class Value(HasAval):
    """An immutable array that may not be computed yet.

    `recording` is None for a computed value, whose `data` is a NumPy array or a device buffer;
    otherwise the value is output `slot` of that recording. Made by the functions of this module
    and by the recorder, which set the slots directly: this is the hot path. A value that never has
    data has ABSENT for its recording; one that has data, but depends on checks that nobody has
    looked at, an Unverified.

    >>> from functorch_core import engine
    >>> import numpy as np
    >>> value = engine.from_numpy(np.ones(3, np.float32))
    >>> value
    Value<float32[3], computed>
    >>> value.aval.shape
    (3,)
    """

    # Unset until somebody asks: extent, see bounds; host, see `kept_on_host`.
    __slots__ = ("aval", "data", "recording", "slot", "extent", "host", "__weakref__")
    data: Any
    recording: Recording | Absent | Unverified | Live | Sharded | None
    slot: int
    extent: tuple[int | None, int, int]
    host: np.ndarray

    def __repr__(self) -> str:
        state = "computed" if has_data(self) else "recorded"
        return f"Value<{self.aval}, {'without data' if is_absent(self) else state}>"

    def __array__(self, dtype: np.dtype | None = None, copy: bool | None = None) -> np.ndarray:
        array = to_numpy(self)
        return array if dtype is None else array.astype(dtype)

    def __reduce__(self) -> Any:
        return from_numpy, (np.array(to_numpy(self)),)


IN_THE_MIDST = (
    "a value was read, or used, that is just being computed by what this has interrupted. A signal's handler cannot "
    "wait for it: let the handler set a flag, and look at that between two steps"
)


def references(values: list[Value]) -> list[int]:
    """How many refer to each."""
    return list(map(sys.getrefcount, values))


ALONE = references([Value()])[0]  # the count of an object that only its list refers to


def live_results(values: list[Value]) -> tuple[int, ...]:
    """The slots of the results that somebody besides the recording still refers to."""
    if len(values) == 1:  # 0.2 us less
        return (0,) if sys.getrefcount(values[0]) > ALONE else ()
    return tuple([i for i, n in enumerate(references(values)) if n > ALONE])


def computed(a: Aval, data: Any) -> Value:
    """A value of data of this aval that nobody mutates any more."""
    value = Value()
    value.aval, value.data, value.recording = a, data, None
    return value


def from_numpy(array: np.ndarray) -> Value:
    """A value of a host array that nobody mutates any more (copy it first if in doubt).

    >>> import numpy as np
    >>> from functorch_core import engine
    >>> engine.from_numpy(np.arange(3)).aval.shape
    (3,)
    """
    if array.__class__ is not np.ndarray:
        array = np.asarray(array)
    value = Value()
    value.aval, value.data, value.recording = aval(array.shape, array.dtype), array, None
    return value


def from_buffer(buffer: Any) -> Value:
    """A value of a device buffer.

    >>> import numpy as np
    >>> from functorch_core import engine, xla
    >>> engine.to_numpy(engine.from_buffer(xla.put(np.arange(3.))))
    array([0., 1., 2.])
    """
    return computed(aval(tuple(buffer.aval.shape), buffer.aval.element), buffer)


def concrete(value: Value) -> Any:
    """The data, host or device; a recorded value is computed first.

    >>> import numpy as np
    >>> from functorch_core import engine
    >>> engine.concrete(engine.from_numpy(np.arange(3.)))
    array([0., 1., 2.])
    """
    if value.recording is not None:
        value.recording.flush("a value was read")
        if value.recording.__class__ is Unverified:  # perhaps since then
            value.recording.flush()
            value.recording = None
    try:
        data = value.data
    except AttributeError:
        raise RuntimeError(IN_THE_MIDST) from None
    if data.__class__ is Poison:
        raise data.error()
    return data


# ---- values without data -------------------------------------------------------------------------


NO_DATA = "Cannot copy out of meta tensor; no data!"  # as PyTorch says


class NoData(NotImplementedError):
    """A value that has no data and never will was to be read: for users a NotImplementedError.

    >>> import numpy as np
    >>> from functorch_core import engine
    >>> engine.to_numpy(engine.absent(engine.from_numpy(np.ones(2)).aval))
    Traceback (most recent call last):
    NotImplementedError: Cannot copy out of meta tensor; no data!
    """


NoData.__name__ = NoData.__qualname__ = "NotImplementedError"
NoData.__module__ = "builtins"


class Absent:
    """In the place of the recording of values that have an aval but never data.

    It belongs to no thread, so that whoever uses such a value as an operand asks for it to be
    computed, which raises: the recorder then gives values without data as results, and records
    nothing. Ordinary values are not looked at for it.
    """

    __slots__ = ()

    def flush(self, why: str = "", tier: str | None = None) -> NoReturn:
        """NoData."""
        raise NoData(NO_DATA)

    def enter(self, into: Recording, value: Value) -> NoReturn:
        """NoData: such a value is to be an operand."""
        raise NoData(NO_DATA)


ABSENT = Absent()


def absent(a: Aval) -> Value:
    """A value of this aval without data: what is computed of it has none either.

    >>> import numpy as np
    >>> from functorch_core import engine
    >>> engine.absent(engine.from_numpy(np.ones(2)).aval)
    Value<float64[2], without data>
    """
    value = Value()
    value.aval, value.recording = a, ABSENT
    absent_values.add(weakref.ref(value, _forget_absent))
    return value


absent_values: set[weakref.ref[Value]] = set()  # those there are
when_none_is_absent: list[Callable[[], None]] = []  # what is called when the last of them is gone


def _forget_absent(
    gone: weakref.ref[Value],
    living: set[weakref.ref[Value]] = absent_values,
    told: list[Callable[[], None]] = when_none_is_absent,
) -> None:
    living.discard(gone)
    if not living:
        for tell in told:
            tell()


def is_absent(value: Value) -> bool:
    """Whether the value never has data.

    >>> import numpy as np
    >>> from functorch_core import engine
    >>> value = engine.from_numpy(np.ones(2))
    >>> engine.is_absent(value), engine.is_absent(engine.absent(value.aval))
    (False, True)
    """
    return value.recording is ABSENT


# ---- values in memory that others write to -------------------------------------------------------


class InMemory(Exception):
    """A live value was to be an operand: whoever calls the op decides whether to copy it."""


class Copied:
    """Keeps the value that a copy of memory went into, for further values of the same memory."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: Value | None = None


class Live:
    """In the place of the recording of a value whose data lie in memory that others write to.

    `look()` is that memory as an array. The value takes a copy of it, and is computed then, when it is
    used: by `at_once.from_memory`, or by anybody who reads it. `copied` is where copies are kept, if they are.
    """

    __slots__ = ("look", "value", "copied")

    def __init__(self, look: Callable[[], np.ndarray], value: Value, copied: Copied | None) -> None:
        self.look, self.value, self.copied = look, weakref.ref(value), copied

    def flush(self, why: str = "", tier: str | None = None) -> None:
        """Copy what is in the memory now."""
        value = self.value()
        if value is not None:
            value.data, value.recording = np.array(self.look(), order="C"), None

    def enter(self, into: Recording, value: Value) -> NoReturn:
        """InMemory."""
        raise InMemory

    def now(self) -> Value:
        """The value of what is in the memory now: the last copy, if it is the same."""
        found = None if self.copied is None else self.copied.value
        if found is not None and _is_copy(found, self.look()):
            return found
        value: Any = self.value()
        settle(value)
        if self.copied is not None:
            self.copied.value = value
        return value


def live(a: Aval, look: Callable[[], np.ndarray], copied: Copied | None = None) -> Value:
    """A value of this aval that is what look() shows when it is used. To keep one, see `settle`."""
    value = Value()
    value.aval = a
    value.recording = Live(look, value, copied)
    return value


def now(x: Any) -> Any:
    """An operand, of a live value what it is now."""
    return x.recording.now() if x.__class__ is Value and x.recording.__class__ is Live else x


def _is_copy(value: Value, array: np.ndarray) -> bool:
    """Whether a computed value on the host has the same bytes."""
    data = value.data
    if data.__class__ is not np.ndarray and xla.device_of(data).platform != "cpu" or not array.flags.c_contiguous:
        return False
    return _memcmp(to_numpy(value).ctypes.data, array.ctypes.data, array.nbytes) == 0


_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t


def settle(value: Value) -> Value:
    """The value, which from now on does not change, whoever writes to memory."""
    if value.recording.__class__ is Live:
        value.recording.flush()
    return value


# ---- values that depend on checks ----------------------------------------------------------------


class Unverified:
    """In the place of the recording of values that have data, but are not to be seen if one of a
    chain of checks (see `deferred`) up to number `upto` has failed. The state that check `last` left
    says so."""

    __slots__ = ("chain", "upto", "state", "last")

    def __init__(self, chain: Chain, upto: int, state: Value, last: int) -> None:
        self.chain, self.upto, self.state, self.last = chain, upto, state, last

    @property
    def is_fine(self) -> bool:
        """Whether the checks are known not to have failed."""
        failed = self.chain.failed
        return self.upto < (self.chain.fine if failed is None else failed[0])

    def flush(self, why: str = "", tier: str | None = None) -> None:
        """Raise what the checks have found, after waiting for them."""
        self.chain.verify(self.upto, self.state, self.last)

    def enter(self, into: Recording, value: Value) -> None:
        """Such a value is to be an operand: what depends on it is unverified, too. Of what has failed,
        or belongs to another thread, it is said at once."""
        if self.is_fine:
            value.recording = None
        elif self.chain.failed is not None or self.chain.thread != threading.get_ident():
            self.flush()
            value.recording = None
        else:
            into.doubtful = True


# ---- values on another device than the default one --------------------------------------------------


class OnDevice(Exception):
    """A value that lies on another device was to be an operand: the call is recorded for that device."""


# ---- values on several devices -------------------------------------------------------------------


class OnMesh(Exception):
    """A value that lies on several devices was to be an operand: the call is a program for all of them."""


class Sharded:
    """In the place of the recording of computed values that lie on several devices; see `spmd`."""

    __slots__ = ()

    def flush(self, why: str = "", tier: str | None = None) -> None:
        """Nothing: it is computed."""

    def enter(self, into: Recording, value: Value) -> NoReturn:
        """OnMesh."""
        raise OnMesh


SHARDED = Sharded()


def from_sharded(buffer: Any) -> Value:
    """A value of a buffer that lies on several devices."""
    value = from_buffer(buffer)
    value.recording = SHARDED
    return value


def has_data(value: Value) -> bool:
    """Whether the value is computed, verified or not.

    >>> import numpy as np
    >>> from functorch_core import engine
    >>> value = engine.from_numpy(np.ones(2))
    >>> engine.has_data(value), engine.has_data(engine.absent(value.aval))
    (True, False)
    """
    return value.recording is None or value.recording.__class__ in (Unverified, Sharded)


checks_pending: Collection[Any] = ()  # set by deferred: checks that somebody must hear of


def raise_pending(wait: bool) -> None:
    """Replaced by deferred: raise what this thread's pending checks found; to `wait` for the last program, too."""


def to_numpy(value: Value) -> np.ndarray:
    """The data as a (read-only) NumPy array.

    >>> import numpy as np
    >>> from functorch_core import engine
    >>> engine.to_numpy(engine.from_numpy(np.arange(3.)))
    array([0., 1., 2.])
    """
    beside_checks = checks_pending and getattr(value.recording, "states", None)  # before it is flushed
    data = concrete(value)
    on_host = isinstance(data, np.ndarray)
    if checks_pending:
        raise_pending(wait=not on_host or bool(beside_checks))
    return data if on_host else _array_of(value)


SMALL = 1 << 16  # bytes; larger inputs may be overwritten by a program's results, which is part of its key


def kept_on_host(value: Value) -> np.ndarray | None:
    """The array of a computed value on the host, where asking for it again costs nothing: of a small buffer it is kept.

    What a program has once read lies in a buffer; NumPy, which computes further calls, needs 0.9 us for each buffer. Of
    one that may be overwritten nobody may hold an array.
    """
    data = value.data
    if data.__class__ is np.ndarray:
        return data
    if further or settings.donates or data.__class__ is not xla.Buffer or value.aval.nbytes >= SMALL:
        return None
    host = getattr(value, "host", None)
    if host is None:
        host = value.host = xla.to_numpy(data)
    return host


def at_hand(value: Value) -> np.ndarray | None:
    """The array of a value that is computed and on the host, where nobody has to wait for it: not that of a buffer
    which a program is still writing.

    >>> import numpy as np
    >>> from functorch_core import engine
    >>> engine.value.at_hand(engine.from_numpy(np.arange(3.)))
    array([0., 1., 2.])
    """
    if value.recording is not None:
        return None
    data = value.data
    if data.__class__ is np.ndarray:
        return data
    host = getattr(value, "host", None)
    if host is not None or data.__class__ is not xla.Buffer or value.aval.nbytes >= SMALL or data.is_deleted():
        return host
    if not data.is_ready() or xla.device_of(data).platform != "cpu":
        return None
    return xla.to_numpy(data).copy() if settings.donates else kept_on_host(value)


def arrays_of(values: list[Value]) -> list[np.ndarray]:
    """The arrays of computed values, which lie on the host."""
    return [v.data if v.data.__class__ is np.ndarray else _array_of(v) for v in values]


def _array_of(value: Value) -> np.ndarray:
    kept = kept_on_host(value)
    return xla.to_numpy(value.data) if kept is None else kept


def to_buffer(value: Value, device: Device | None = None) -> Any:
    """The data as a device buffer; a host array is put there once and stays.

    >>> import numpy as np
    >>> from functorch_core import engine, xla
    >>> xla.to_numpy(engine.to_buffer(engine.from_numpy(np.arange(3.))))
    array([0., 1., 2.])
    """
    return placed(value, concrete(value), device)


def placed(value: Value, data: Any, device: Device | None = None) -> Any:
    """The same of the data of a value, whether verified or not."""
    if isinstance(data, np.ndarray):
        data = value.data = xla.put(data, device)
    elif value.recording is SHARDED:
        return data if device is None else xla.put(xla.to_numpy(data), device)
    elif device is not None and xla.device_of(data) is not device:
        return xla.copy_to(data, device)
    return data


def copied_to(value: Value, device: Device) -> Value:
    """A value of the same data on a device; this one stays where it is."""
    data = concrete(value)
    return from_buffer(xla.copy_to(data, device) if data.__class__ is xla.Buffer else xla.put(data, device))


class Poison:
    """The data of a value whose computation failed: reading it raises."""

    __slots__ = ("cause", "operation")

    def __init__(self, cause: BaseException, operation: str) -> None:
        self.cause, self.operation = cause, operation

    def error(self) -> Exception:
        """What reading the value raises."""
        error = DeferredError(POISONED.format(operation=self.operation))
        error.__cause__ = self.cause
        return error
