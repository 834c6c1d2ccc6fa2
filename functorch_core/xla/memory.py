"""glibc's allocator, told not to give a program's temporary memory back after every run.

XLA asks for one temporary block a run. glibc maps a block above 32 MiB anew each time and unmaps it
afterwards, and the run pays the page faults: a GPT's gradient took 28.2 ms, and 17.2 ms without.
The settings are process-wide; FUNCTORCH_MALLOC=0 leaves the allocator alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from typing import Any

# malloc.h
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4

_SETTINGS = (
    (_M_MMAP_MAX, 0),  # no block of its own mapping
    (_M_TRIM_THRESHOLD, 2**31 - 1),  # keep up to 2 GiB free at the top of the heap
    (_M_TOP_PAD, 64 << 20),  # grow the heap by 64 MiB at a time
)


def _glibc() -> Any:
    """The C library if it is glibc, else None."""
    try:
        library = ctypes.CDLL(None)
        library.gnu_get_libc_version  # noqa: B018  musl and macOS have none
    except (OSError, AttributeError, TypeError):
        return None
    return library


def keep_freed_memory() -> bool:
    """Apply the settings, before the client is made; whether they were applied."""
    if os.environ.get("FUNCTORCH_MALLOC") == "0":
        return False
    library = _glibc()
    return library is not None and all(library.mallopt(*setting) for setting in _SETTINGS)


def trim_memory() -> bool:
    """Return free heap memory to the system, after a peak; whether any went back."""
    library = _glibc()
    return library is not None and bool(library.malloc_trim(0))


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
