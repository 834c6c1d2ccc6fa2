"""glibc's allocator, told not to give a program's temporary memory back after every run.

XLA asks for one temporary block a run. glibc maps a block above 32 MiB anew each time and unmaps it
afterwards, and the run pays the page faults: a GPT's gradient took 28.2 ms, and 17.2 ms without.

A thread has a heap of its own, an arena, in which no block is larger than 64 MiB: a larger one that a thread of
XLA's asks for, as the asynchronous client's do, is mapped anew whatever the settings. With one heap for all
threads a step of an encoder (86 MiB) takes 116 ms for 138, one of ResNet-18 (235 MiB) 411 for 466, and peak
memory is lower, as what one thread freed serves the others: ResNet-18 732 MB for 845, a GPT 292 for 380, a
mobile network 412 for 471 to 636. The price: XLA's compiler allocates on all threads, and they wait for each
other. On 2 cores compiling takes 1.1 of the time; on many it would take more, so that one heap is for few cores
only.

The settings are process-wide; FUNCTORCH_MALLOC=0 leaves the allocator alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
from collections.abc import Callable, Iterator
from typing import Any

# malloc.h
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX, _M_ARENA_MAX = -1, -2, -4, -8

_SETTINGS = (
    (_M_MMAP_MAX, 0),  # no block of its own mapping
    (_M_TRIM_THRESHOLD, 2**31 - 1),  # keep up to 2 GiB free at the top of the heap
    (_M_TOP_PAD, 64 << 20),  # grow the heap by 64 MiB at a time
)

_ONE_HEAP = (_M_ARENA_MAX, 1)
FEW_CORES = 4


def _glibc() -> Any:
    """The C library if it is glibc, else None."""
    try:
        library = ctypes.CDLL(None)
        library.gnu_get_libc_version  # noqa: B018  musl and macOS have none
    except (OSError, AttributeError, TypeError):
        return None
    return library


def keep_freed_memory(*, one_heap: bool = False) -> bool:
    """Apply the settings, before the client is made; whether they were applied.

    one_heap: threads have none of their own, where there are few cores.
    """
    if os.environ.get("FUNCTORCH_MALLOC") == "0":
        return False
    library = _glibc()
    settings = (*_SETTINGS, _ONE_HEAP) if one_heap and (os.cpu_count() or 1) <= FEW_CORES else _SETTINGS
    return library is not None and all(library.mallopt(*setting) for setting in settings)


def trim_memory() -> bool:
    """Return free heap memory to the system, after a peak; whether any went back."""
    library = _glibc()
    return library is not None and bool(library.malloc_trim(0))


class _Counts(ctypes.Structure):
    """glibc's struct mallinfo2."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "in_use", "free", "top")
    ]


@functools.lru_cache(maxsize=1)
def _count() -> Callable[[], _Counts] | None:
    """glibc's mallinfo2 (since 2.33)."""
    count = getattr(_glibc(), "mallinfo2", None)
    if count is not None:
        count.restype = _Counts
    return count


def bytes_in_use() -> int:
    """How much of the heap is in use; 0 where that cannot be told. It takes 10 to 300 us."""
    count = _count()
    return 0 if count is None else count().in_use


LARGE = 1 << 15  # characters of a module: 0.3 s to compile, and 50 MB


@contextlib.contextmanager
def trimmed(size: int) -> Iterator[None]:
    """Context: a module of so many characters is compiled; what is free goes back to the system before and after.

    The compiler's blocks fit into few of those that a program's run has freed, nor does a run fit into the
    compiler's. A language model of two LSTM layers: 489 MB at most, 368 like this, for 2 x 25 ms of 1.2 s each.
    """
    if size < LARGE:
        yield
        return
    trim_memory()
    try:
        yield
    finally:
        trim_memory()
