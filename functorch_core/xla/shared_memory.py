"""Collectives of processes of one machine, through memory that they share.

Each process has a part of it, which it fills and the others read, and a counter, which says how often it has been
ready: all wait until the counters of all have come as far as their own. So a process that does not come is known
by its rank, and one that has ended by the kernel. Two processes reduce 1 KB in 0.01 ms and 64 MB in 20; Gloo takes 0.1
and 50.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import platform
import select
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..locks import RLock
from . import binding
from .errors import ExecutionError

# bytes that a process gives at once: 64 MB took 19 ms by 256 or 512 KB, 22 by 1 MB. There are two such buffers for each
# process, used in turns: whoever fills one knows that all are done with what was in it, as they have come to the other.
BUFFER = 1 << 19
DIRECT = 1 << 15  # bytes of which each of more than two processes combines all, not its share
LINE = 512  # bytes of a process's counters and descriptions
COUNT, WANTED, LEFT = (
    0,
    1,
    2,
)  # words of it: how often it was ready; whether others sleep until then; whether it gave up
DESCRIPTIONS, DESCRIPTION = 64, 192  # bytes: where what it calls is said, one for each buffer; how long
WATCHED = 0.2  # seconds between two looks whether the one that is waited for is still there
# Looks at a counter before the wait is left to the kernel, which takes 20 to 60 us to wake.
LOOKS, LOOKS_OF_MANY = 2000, 50  # the latter where there are more processes than cores
COMBINE: dict[str, Callable[..., Any]] = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
LATE = "{call} of rank {rank}: rank {other} did not come within {seconds:.3g} s (it hangs, or called nothing)"
ENDED = "{call} of rank {rank}: the process of rank {other} has ended"
GAVE_UP = "{call} of rank {rank}: rank {other} does not come, as a call of its own failed before"
BROKEN = "{call} of rank {rank}: the group is not to be used any more since a call failed: {error}"
MISMATCH = "Detected mismatch between collectives on ranks. {calls}"
FUTEX, FUTEX_WAIT, FUTEX_WAKE = 202, 0, 1  # of Linux on x86-64


_NOTHING = np.empty(0, np.uint8)


class _Time(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


_WAIT = _Time(0, int(WATCHED * 1e9))


@functools.lru_cache(maxsize=1)
def _futex() -> Callable[..., int]:
    prototype = ctypes.CFUNCTYPE(
        ctypes.c_long,
        ctypes.c_long,
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.c_uint32,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_uint32,
    )
    return prototype(("syscall", ctypes.CDLL(None)))


@functools.lru_cache(maxsize=1)
def machine() -> str:
    """What processes that can share memory have in common; "" where there is no such way.

    The counters rely on x86-64, where what one core writes is seen by the others in the same order.
    """
    if os.environ.get("FUNCTORCH_SHARED_MEMORY") == "0":
        return ""
    if not sys.platform.startswith("linux") or platform.machine() not in ("x86_64", "AMD64"):
        return ""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return f"{file.read().strip()}/{os.readlink('/proc/self/ns/pid')}/{os.getuid()}"
    except OSError:
        return ""


class Watched:
    """A process of this machine, which may end."""

    def __init__(self, pid: int) -> None:
        try:
            self._descriptor, self._ended = os.pidfd_open(pid), False
        except ProcessLookupError:
            self._descriptor, self._ended = -1, True
        except (OSError, AttributeError):  # an old kernel: nothing is known
            self._descriptor, self._ended = -1, False

    def has_ended(self) -> bool:
        """Whether it has; False where that cannot be known."""
        if not self._ended and self._descriptor >= 0:
            poll = select.poll()  # one of its own: two threads may not use one
            poll.register(self._descriptor, select.POLLIN)
            self._ended = bool(poll.poll(0))
        return self._ended

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)


class Segment:
    """The memory: `n` lines of counters, and two buffers for each of `n` processes."""

    def __init__(self, n: int, descriptor: int) -> None:
        self._mapped = mmap.mmap(descriptor, self.size_for(n))
        self.bytes = memoryview(self._mapped)
        self.words = self.bytes.cast("q")
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._mapped))
        behind = self.size_for(n) - 2 * n * BUFFER
        self.buffers = np.frombuffer(self._mapped, np.uint8, offset=behind).reshape(2, n, BUFFER)

    @staticmethod
    def size_for(n: int) -> int:
        """How many bytes it has: the lines, up to the end of a page, and the buffers."""
        return -(-n * LINE // mmap.PAGESIZE) * mmap.PAGESIZE + 2 * n * BUFFER

    @classmethod
    def create(cls, n: int) -> tuple[Segment, int]:
        """A new one, and its file's descriptor, by which others find it. Pages are there once they are used."""
        descriptor = os.memfd_create("functorch")
        try:
            os.ftruncate(descriptor, cls.size_for(n))
            return cls(n, descriptor), descriptor
        except OSError:
            os.close(descriptor)
            raise

    @classmethod
    def open(cls, n: int, path: str) -> Segment:
        """The one of another process."""
        descriptor = os.open(path, os.O_RDWR)
        try:
            return cls(n, descriptor)
        finally:
            os.close(descriptor)


class SharedMemory:
    """Collectives of the processes `ranks`, of which this one has the place `place`.

    Waits at most `timeout` seconds for another process; ExecutionError then, as where one has ended or calls
    something else.
    """

    def __init__(
        self, segment: Segment, ranks: Sequence[int], place: int, timeout: float, watched: Sequence[Watched]
    ) -> None:
        self._segment, self._words, self._bytes = segment, segment.words, segment.bytes
        self._ranks, self._place, self._timeout, self._watched = tuple(ranks), place, timeout, tuple(watched)
        self._others = [p for p in range(len(ranks)) if p != place]
        self._line = place * LINE // 8  # the word where this process's begin
        self._count = self._turn = 0
        self._call = self._current = b""  # what is called and not yet said; what is called
        self._described: dict[tuple[Any, ...], bytes] = {}  # what was called
        self._broken = ""
        self._lock = RLock()
        self._views: dict[np.dtype, np.ndarray] = {}
        self._looks = LOOKS if len(os.sched_getaffinity(0)) >= len(ranks) else LOOKS_OF_MANY

    def run(self, what: str, x: np.ndarray, out_shape: tuple[int, ...], **options: Any) -> np.ndarray:
        """The result of a collective; all processes give arrays of one size and dtype."""
        with self._lock:
            self._say(what, x, options)
            flat = np.ascontiguousarray(x).reshape(-1)
            out = binding.aligned(int(np.prod(out_shape)), x.dtype)
            _COLLECTIVES[what](self, flat, out, **options)
            return out.reshape(out_shape)

    def agree(self, what: str) -> None:
        """Wait until all have come here; ExecutionError in all unless all say the same."""
        with self._lock:
            self._say(what, _NOTHING, {})
            self._give(_NOTHING.dtype, _NOTHING)

    # ---- collectives: flat arrays of this process in, flat arrays filled

    def all_reduce(self, x: np.ndarray, out: np.ndarray, kind: str) -> None:
        """The combination of the arrays of all. Of long ones each process combines its share."""
        shares = len(self._ranks) > 2 and x.nbytes > DIRECT
        for start, stop in self._pieces(x.size, x.itemsize):
            n = stop - start
            parts = self._give(x.dtype, x[start:stop])
            if not shares:
                _combine(kind, parts[:, :n], out[start:stop])
                continue
            ends = [n * (p + 1) // len(parts) for p in range(len(parts))]
            bounds = list(zip([0, *ends], ends))
            low, high = bounds[self._place]
            _combine(kind, parts[:, low:high], parts[self._place, low:high])
            self._meet()
            for part, (low, high) in zip(parts, bounds):
                out[start + low : start + high] = part[low:high]

    def all_gather(self, x: np.ndarray, out: np.ndarray) -> None:
        """The arrays of all, one after the other."""
        rows = out.reshape(len(self._ranks), x.size)
        for start, stop in self._pieces(x.size, x.itemsize):
            rows[:, start:stop] = self._give(x.dtype, x[start:stop])[:, : stop - start]

    def broadcast(self, x: np.ndarray, out: np.ndarray, root: int) -> None:
        """The array of the process at the place `root`."""
        for start, stop in self._pieces(x.size, x.itemsize):
            given = x[start:stop] if root == self._place else x[:0]
            out[start:stop] = self._give(x.dtype, given)[root, : stop - start]

    def reduce_scatter(self, x: np.ndarray, out: np.ndarray, kind: str) -> None:
        """This process's part of the combination of the arrays of all."""
        for start, stop, parts in self._divided(x):
            _combine(kind, parts[:, self._place], out[start:stop])

    def all_to_all(self, x: np.ndarray, out: np.ndarray) -> None:
        """Part p of each process goes to the one at the place p."""
        rows = out.reshape(len(self._ranks), -1)
        for start, stop, parts in self._divided(x):
            rows[:, start:stop] = parts[:, self._place]

    def barrier(self, x: np.ndarray, out: np.ndarray) -> None:
        """Wait for all."""
        self._give(x.dtype, x)

    # ---- pieces

    def _pieces(self, size: int, itemsize: int, n_parts: int = 1) -> list[tuple[int, int]]:
        step = BUFFER // itemsize // n_parts
        return [(start, min(start + step, size)) for start in range(0, size, step)]

    def _divided(self, x: np.ndarray) -> Any:
        """(start, stop, what all gave [processes, parts, stop - start]) of arrays that have a part for each process."""
        n = len(self._ranks)
        rows = x.reshape(n, -1)
        for start, stop in self._pieces(rows.shape[1], x.itemsize, n):
            given = rows[:, start:stop]
            parts = self._give(x.dtype, given)[:, : given.size]
            yield start, stop, parts.reshape(n, n, stop - start)

    def _give(self, dtype: np.dtype, piece: np.ndarray) -> np.ndarray:
        """Give a piece; what all gave, a row each, once they have."""
        views = self._views.get(dtype)
        if views is None:
            views = self._views[dtype] = self._segment.buffers.view(dtype)
        turn = self._turn
        self._turn = 1 - turn
        parts = views[turn]
        own = parts[self._place, : piece.size]
        own[:] = piece if piece.ndim == 1 else piece.reshape(-1)
        call, self._call = self._call, b""
        if call:
            at = self._place * LINE + DESCRIPTIONS + turn * DESCRIPTION
            self._bytes[at : at + DESCRIPTION] = call
        self._meet()
        if call:
            self._compare(call, turn)
        return parts

    # ---- meeting

    def _say(self, what: str, x: np.ndarray, options: dict[str, Any]) -> None:
        """Say what is called, once it is given."""
        key = (what, x.size, x.dtype, *options.values())
        found = self._described.get(key)
        if found is None:
            if len(self._described) > 4096:
                self._described.clear()
            text = "barrier()" if what == "barrier" else what
            if what in _COLLECTIVES and what != "barrier":
                text = f"{what}({', '.join([f'{x.size} x {x.dtype}', *map(str, options.values())])})"
            found = self._described[key] = text.encode()[:DESCRIPTION].ljust(DESCRIPTION, b"\0")
        self._call, self._current = found, found
        if self._broken:
            raise self._error(BROKEN, error=self._broken)

    def _meet(self) -> None:
        """Wait until all have come here."""
        words, line = self._words, self._line
        self._count = count = self._count + 1
        words[line] = count
        if words[line + WANTED]:
            words[line + WANTED] = 0
            address = self._segment.address + 8 * line
            _futex()(FUTEX, address, FUTEX_WAKE, len(self._ranks), None, None, 0)
        try:
            for place in self._others:
                self._meet_one(place, count)
        except BaseException as error:  # an interrupt, too: this process does not come to what the others are in
            self._broken = str(error) or type(error).__name__
            words[line + LEFT] = count
            raise

    def _meet_one(self, place: int, count: int) -> None:
        words, other = self._words, place * LINE // 8
        if words[other] < count:
            self._wait(place, count)
        if words[other + LEFT] == count:  # it came here, and waited for another in vain
            raise self._error(GAVE_UP, other=self._ranks[place])

    def _wait(self, place: int, count: int) -> None:
        words, word = self._words, place * LINE // 8
        for _ in range(self._looks):
            if words[word] >= count:
                return
        began = time.monotonic()
        while (seen := words[word]) < count:
            words[word + WANTED] = 1
            if words[word] != seen:
                continue
            _futex()(
                FUTEX, self._segment.address + 8 * word, FUTEX_WAIT, seen & 0xFFFFFFFF, ctypes.byref(_WAIT), None, 0
            )
            ended, late = self._watched[place].has_ended(), time.monotonic() - began > self._timeout
            if words[word] < count and (ended or late or words[word + LEFT]):
                text = ENDED if ended else GAVE_UP if words[word + LEFT] else LATE
                raise self._error(text, other=self._ranks[place], seconds=self._timeout)

    def _error(self, text: str, **values: Any) -> ExecutionError:
        call = self._current.rstrip(b"\0").decode(errors="replace")
        return ExecutionError(text.format(call=call, rank=self._ranks[self._place], **values))

    def _compare(self, call: bytes, turn: int) -> None:
        """Whether all call the same: those that do not know it of each other, and none goes on."""
        said = []
        for place in range(len(self._ranks)):
            at = place * LINE + DESCRIPTIONS + turn * DESCRIPTION
            said.append(self._bytes[at : at + DESCRIPTION])
        if all(s == call for s in said):
            return
        calls = [f"Rank {r} is running {bytes(s).rstrip(bytes(1)).decode()}" for r, s in zip(self._ranks, said)]
        raise ExecutionError(MISMATCH.format(calls=", ".join(calls)))


_COLLECTIVES: dict[str, Callable[..., None]] = {
    "all_reduce": SharedMemory.all_reduce,
    "all_gather": SharedMemory.all_gather,
    "broadcast": SharedMemory.broadcast,
    "reduce_scatter": SharedMemory.reduce_scatter,
    "all_to_all": SharedMemory.all_to_all,
    "barrier": SharedMemory.barrier,
}


def _combine(kind: str, parts: np.ndarray, out: np.ndarray) -> None:
    """The combination of rows, in their order, so that all processes get the same numbers. `out` may be one of them."""
    combine = COMBINE[kind]
    with np.errstate(all="ignore"):
        if len(parts) == 2:
            combine(parts[0], parts[1], out=out)
            return
        total = combine(parts[0], parts[1])
        for part in parts[2:-1]:
            combine(total, part, out=total)
        combine(total, parts[-1], out=out)
