"""Writing a file so that a reader sees either the old content or the new one, never a half."""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from typing import BinaryIO


def _name_beside(target: str) -> str:
    """A name for a new file in the target's directory."""
    directory, name = os.path.split(target)
    # A long name must leave room for the random part: 255 bytes are the usual limit.
    stem = os.fsdecode(os.fsencode(name)[:200])
    return os.path.join(directory, f".{stem}.{secrets.token_hex(12)}.tmp")


def _created(path: str) -> BinaryIO:
    """A new file with the permissions that a new file gets."""
    try:
        return open(path, "xb")
    except FileNotFoundError:
        message = f"Parent directory {os.path.dirname(path) or '.'} does not exist."
        raise RuntimeError(message) from None


def _sync_directory(directory: str) -> None:
    """Make the rename itself durable, where the system lets directories be opened."""
    with contextlib.suppress(OSError):
        descriptor = os.open(directory or ".", os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _existing_mode(target: str) -> int | None:
    """Permissions of the file to be replaced; None if there is no such file."""
    try:
        return stat.S_IMODE(os.stat(target).st_mode)
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def open_atomic(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """A binary file to write that becomes `path` when the block ends without an error.

    Links are followed, permissions of an existing file kept. Devices and pipes are written to
    directly, since they cannot be replaced.
    """
    target = os.path.realpath(os.fspath(path))
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, "wb") as file:
            yield file
        return
    mode = _existing_mode(target)
    temporary = _name_beside(target)
    try:  # creates the file, too: whatever interrupts, it is taken away
        with _created(temporary) as file:
            yield file
            file.flush()
            if mode is not None:
                os.chmod(temporary, mode)
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_directory(os.path.dirname(target))
