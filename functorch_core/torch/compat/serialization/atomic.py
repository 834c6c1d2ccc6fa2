"""Writing a file so that a reader sees either the old content or the new one, never a half."""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from typing import BinaryIO


def _create_beside(target: str) -> tuple[int, str]:
    """A new empty file in the target's directory, with the permissions a new file gets there."""
    directory, name = os.path.split(target)
    # A long name must leave room for the random part: 255 bytes are the usual limit.
    stem = os.fsdecode(os.fsencode(name)[:200])
    while True:
        path = os.path.join(directory, f".{stem}.{secrets.token_hex(6)}.tmp")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        try:
            # os.open with 0o666 lets the kernel apply the umask; tempfile would give 0o600.
            return os.open(path, flags, 0o666), path
        except FileExistsError:
            continue
        except FileNotFoundError:
            message = f"Parent directory {directory or '.'} does not exist."
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
    descriptor, temporary = _create_beside(target)
    try:
        with os.fdopen(descriptor, "wb") as file:
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
