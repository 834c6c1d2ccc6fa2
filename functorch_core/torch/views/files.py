"""Files as memory: those without a name, which processes share, and those of users."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import tempfile
import weakref

import numpy as np

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_READ_WRITE, _SHARED, _FAILED = 3, 1, ctypes.c_void_p(-1).value
_POPULATE = 0x8000 if os.uname().sysname == "Linux" else 0  # map all pages now: no faults later


def new_file(name: str) -> int:
    """The descriptor of a file that nobody else can find; `name` is what debuggers show."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create(name, os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def mapped(file: int, size: int, now: bool = True):
    """A file's bytes as memory, unmapped when nobody refers to it. All of it is there `now`, or each page
    when it is touched.

    mmap.mmap would keep the descriptor open, and a list of a thousand batches would run out of
    descriptors.
    """
    address = _libc.mmap(None, size, _READ_WRITE, _SHARED | (_POPULATE if now else 0), file, 0)
    if address == _FAILED:
        raise OSError(ctypes.get_errno(), "cannot map a file into memory")
    memory = (ctypes.c_char * size).from_address(address)
    weakref.finalize(memory, _libc.munmap, address, size).atexit = False
    return memory


class File:
    """An open file that is somebody's memory, closed when nobody refers to it."""

    __slots__ = ("descriptor", "size", "name", "__weakref__")

    def __init__(self, descriptor: int, size: int, name: str | None = None):
        self.descriptor, self.size, self.name = descriptor, size, name

    @classmethod
    def fresh(cls, size: int) -> File:
        """One without a name."""
        made = cls(new_file("functorch-tensor"), size)
        os.ftruncate(made.descriptor, max(size, 1))
        return made

    @classmethod
    def at(cls, path, size: int) -> File:
        """A user's file of at least this size; it is made, or made longer."""
        path = os.fspath(path)
        try:
            made = cls(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), size, path)
        except OSError as error:
            raise RuntimeError(UNABLE.format(path=path, how="read-write", error=error)) from None
        if os.fstat(made.descriptor).st_size < size:
            os.ftruncate(made.descriptor, size)
        return made

    @property
    def identity(self) -> tuple[int, int]:
        """What tells whether two descriptors are of one file."""
        found = os.fstat(self.descriptor)
        return found.st_dev, found.st_ino

    def bytes(self) -> np.ndarray:
        """The memory."""
        return np.frombuffer(mapped(self.descriptor, max(self.size, 1), self.name is None), np.uint8, self.size)

    @contextlib.contextmanager
    def locked(self):
        """Context: other processes that ask for the same wait."""
        fcntl.lockf(self.descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self.descriptor, fcntl.LOCK_UN)

    def __del__(self, close=os.close):  # when Python ends, os may be gone
        close(self.descriptor)


UNABLE = "unable to open file <{path}> in {how} mode: {error.strerror} ({error.errno})"
