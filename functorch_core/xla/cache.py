"""Compiled programs on disk: found again by the next process instead of compiled again.

A tiny program compiles in 20 ms and is read back in 0.5 ms. Entries are written under another name
and renamed, so a reader sees a whole entry or none; they carry a checksum, so a damaged one counts
as absent. Any number of processes may share the folder.

Environment: FUNCTORCH_CACHE_DIR (default $XDG_CACHE_HOME/functorch_core), FUNCTORCH_CACHE=0
(neither read nor write), FUNCTORCH_CACHE_SIZE_MB (default 2048; the least recently used go first).
No value of them stops a program: of one that is none a warning tells, once.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path

from ..locks import RLock
from .binding import jaxlib_version
from .device import Device
from .processor import first_of_all
from .threads import cores

_MAGIC = b"FTCXLA01"
_DIGEST_SIZE = hashlib.sha256().digest_size
_SUFFIX, _NOTE = ".xla", ".noted"
_ROOT_UID = 0
# Sizing the folder up reads every entry's metadata, so not at every write.
_WRITES_BETWEEN_SIZINGS = 64

_lock = RLock()
_stats = {"hits": 0, "misses": 0, "writes": 0, "errors": 0}


def cache_stats() -> dict[str, int]:
    """Of this process: 'hits', 'misses', 'writes', 'errors' (damaged or not writable)."""
    return dict(_stats)


def _count(what: str) -> int:
    with _lock:
        _stats[what] += 1
        return _stats[what]


def cache_dir() -> Path | None:
    """The folder of the cache, or None if it is switched off."""
    if os.environ.get("FUNCTORCH_CACHE") == "0":
        return None
    chosen = os.environ.get("FUNCTORCH_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base, "functorch_core")


# ---- keys ----------------------------------------------------------------------------------------

_LOCATION_LINES = re.compile(r"^#loc\d*\s*=.*\n?", re.M)
_LOCATION_USES = re.compile(r" loc\(#loc\d*\)")


def without_locations(text: str) -> str:
    """The text of a module without the users' lines that its operations come from."""
    return _LOCATION_USES.sub("", _LOCATION_LINES.sub("", text))


def program_key(text: str, *, options: Mapping[str, object], callbacks: int, device: Device) -> str:
    """What an entry is called: a digest of everything that the compiled program depends on.

    The number of callbacks belongs to it because reading an entry with too few of them back ends in
    a segmentation fault; the CPU, because XLA loads another CPU's code with just a log line.
    """
    parts = (
        without_locations(text),
        repr(sorted((name, repr(value)) for name, value in options.items())),
        f"{callbacks} callbacks",
        f"{device.platform} {device.id} {device.kind} {device._client.platform_version}",
        *surroundings(),
    )
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        digest.update(b"%d:" % len(encoded))
        digest.update(encoded)
    return digest.hexdigest()


def surroundings() -> tuple[str, str, str]:
    """What programs depend on that no program says: the compiler, its flags, the CPU."""
    return jaxlib_version, os.environ.get("XLA_FLAGS", ""), cpu_description()


@lru_cache(maxsize=1)
def cpu_description() -> str:
    """Model and instruction sets of this machine's CPU, and how many CPUs XLA splits loops for."""
    wanted = ("vendor_id", "cpu family", "model", "flags", "Features", "CPU part")
    lines = [line for line in first_of_all() if line.split(":")[0].strip() in wanted]
    limit = os.environ.get("NPROC") or os.environ.get("PJRT_NPROC") or ""
    return "\n".join([platform.machine(), platform.processor(), *lines, f"{cores()} {limit}"])


# ---- entries -------------------------------------------------------------------------------------
# magic, sha256 of the rest, the key's 32 bytes, the serialized executable


def load(key: str) -> bytes | None:
    """The serialized executable of a key; None if there is none or it is damaged."""
    path = _path(key)
    if path is None:
        return None
    try:
        blob = _unpack(path.read_bytes(), key)
        os.utime(path)  # recently used
    except FileNotFoundError:
        _count("misses")
        return None
    except (OSError, ValueError):
        _count("errors")
        _count("misses")
        return None
    _count("hits")
    return blob


def store(key: str, blob: bytes) -> None:
    """Write an entry; a folder that cannot be written is counted and otherwise ignored."""
    path = _path(key)
    if path is None:
        return
    try:
        _write(path, _pack(blob, key))
        if (_count("writes") - 1) % _WRITES_BETWEEN_SIZINGS == 0:
            shrink()
    except OSError:
        _count("errors")


def discard(key: str) -> None:
    """Forget an entry that XLA could not read back."""
    path = _path(key)
    _count("errors")
    if path is not None:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def note_key(*texts: str) -> str:
    """The key of a note on what these texts tell, of this compiler and processor."""
    return hashlib.sha256("\n".join([*texts, *surroundings()]).encode()).hexdigest()


def note(key: str) -> None:
    """Write an empty entry, for `is_noted` of the next processes."""
    path = _path(key, _NOTE)
    if path is None:
        return
    try:
        _make(path.parent)
        path.touch()
    except OSError:
        _count("errors")


def is_noted(key: str) -> bool:
    """Whether there is an empty entry of this key."""
    path = _path(key, _NOTE)
    return path is not None and os.path.exists(path)  # False, too, for a name that no file can have


def _path(key: str, suffix: str = _SUFFIX) -> Path | None:
    folder = cache_dir()
    return None if folder is None or _is_foreign(folder) else folder / (key + suffix)


def _is_foreign(folder: Path) -> bool:
    """Whether another user owns the folder: an entry is machine code, to be run as it is read."""
    try:
        return hasattr(os, "getuid") and folder.stat().st_uid not in (os.getuid(), _ROOT_UID)
    except OSError:
        return False


def _pack(blob: bytes, key: str) -> bytes:
    body = bytes.fromhex(key) + blob
    return _MAGIC + hashlib.sha256(body).digest() + body


def _unpack(entry: bytes, key: str) -> bytes:
    magic, rest = entry[: len(_MAGIC)], entry[len(_MAGIC) :]
    digest, body = rest[:_DIGEST_SIZE], rest[_DIGEST_SIZE:]
    if magic != _MAGIC or hashlib.sha256(body).digest() != digest:
        raise ValueError("damaged or of another format")
    key_size = len(key) // 2
    if body[:key_size] != bytes.fromhex(key):
        raise ValueError("the entry of another program")
    return body[key_size:]


def _make(folder: Path) -> None:
    """Make the folder if need be; OSError if it cannot be, of which the user is told who chose it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        if os.environ.get("FUNCTORCH_CACHE_DIR"):
            _warn(NO_FOLDER.format(error=error))
        raise


NO_FOLDER = (
    "FUNCTORCH_CACHE_DIR: expected a folder that is there or can be made; compiled programs are not kept: {error}"
)
NO_SIZE = "FUNCTORCH_CACHE_SIZE_MB: expected a number of megabytes, got {value!r}; the limit is {default}"


@cache
def _warn(message: str) -> None:
    """Tell a mistake in the environment, once."""
    warnings.warn(message, stacklevel=3)


def _write(path: Path, entry: bytes) -> None:
    _make(path.parent)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(entry)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


# ---- size ----------------------------------------------------------------------------------------


_SIZE_MB = 2048.0


def size_limit() -> float:
    """The bytes the folder may hold."""
    value = os.environ.get("FUNCTORCH_CACHE_SIZE_MB") or _SIZE_MB
    with suppress(ValueError):
        if (size := float(value)) >= 0:  # which no NaN is
            return size * 2**20
    _warn(NO_SIZE.format(value=value, default=_SIZE_MB))
    return _SIZE_MB * 2**20


def shrink() -> None:
    """If the limit is passed, remove the least recently used entries until a tenth is free."""
    folder = cache_dir()
    if folder is None:
        return
    entries = sorted(_entries(folder))
    total, limit = sum(size for _, size, _ in entries), size_limit()
    if total <= limit:
        return
    for _, size, path in entries:
        if total <= 0.9 * limit:
            break
        Path(path).unlink(missing_ok=True)
        total -= size


def _entries(folder: Path) -> Iterator[tuple[int, int, str]]:
    """(last used, size, path) of each entry, those another process just removed left out."""
    for entry in os.scandir(folder):
        if entry.name.endswith((_SUFFIX, _NOTE)):
            try:
                status = entry.stat()
            except FileNotFoundError:
                continue
            yield status.st_mtime_ns, status.st_size, entry.path
