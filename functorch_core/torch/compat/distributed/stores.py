"""Stores: what processes tell each other by keys."""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import os
import pickle
import time
from collections.abc import Callable, Sequence

from ....locks import RLock
from .errors import DistStoreError, QueueEmptyError
from .mail import StoreClient, StoreServer

QUEUE = "queue/"  # what the keys of queues begin with
DEFAULT_TIMEOUT = datetime.timedelta(seconds=300)
MISSING = (
    "{store}.{call}: no value for {keys} within {seconds:g} s. Ranks that set them may have ended, or never started."
)


def seconds_of(timeout) -> float:
    """A timeout, of a timedelta or a number of seconds."""
    if timeout is None:
        return DEFAULT_TIMEOUT.total_seconds()
    return timeout.total_seconds() if isinstance(timeout, datetime.timedelta) else float(timeout)


def _bytes(value) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def _joined(values: list[bytes]) -> bytes:
    return b"".join(len(value).to_bytes(8, "little") + value for value in values)


def _split(text: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(text):
        start = at + 8
        at = start + int.from_bytes(text[at:start], "little")
        found.append(text[start:at])
    return found


class Store:
    """Bytes by keys, for all processes that have it. A subclass says how one is read and written.

    >>> import torch.distributed as dist
    >>> store = dist.HashStore()
    >>> store.set("key", "value")
    >>> store.get("key"), store.add("count", 2), store.num_keys()
    (b'value', 2, 2)
    """

    def __init__(self, timeout=None):
        self._timeout = seconds_of(timeout)

    # ---- what a subclass gives

    def _read(self, key: str) -> bytes | None:
        raise NotImplementedError

    def _change(self, key: str, change: Callable[[bytes | None], bytes | None]) -> bytes | None:
        """Replace a value by change(it), alone among all processes; None is no value."""
        raise NotImplementedError

    def _names(self) -> list[str]:
        raise NotImplementedError

    def clone(self) -> Store:
        """Another connection to the same values, for another thread."""
        raise NotImplementedError

    # ---- what there is for all

    def set(self, key: str, value):
        """Store a value, a string or bytes."""
        self._change(key, lambda _: _bytes(value))

    def get(self, key: str) -> bytes:
        """The value of a key, waited for; DistStoreError after the timeout."""
        self.wait([key])
        found = self._read(key)
        assert found is not None
        return found

    def add(self, key: str, amount: int) -> int:
        """Add to the number of a key, which begins with 0; the sum."""
        return int(self._change(key, lambda old: str(int(old or 0) + amount).encode()) or 0)

    def append(self, key: str, value):
        """Add bytes to the end of a value."""
        self._change(key, lambda old: (old or b"") + _bytes(value))

    def compare_set(self, key: str, expected: str, desired: str) -> bytes:
        """Store `desired` if the value is `expected` (an empty string: if there is none); the value then."""

        def change(old):
            if old is None:
                return _bytes(desired) if not expected else None
            return _bytes(desired) if old == _bytes(expected) else old

        found = self._change(key, change)
        return _bytes(expected) if found is None else found

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys have values."""
        return all(self._read(k) is not None for k in keys)

    def wait(self, keys: Sequence[str], timeout=None):
        """Wait until all keys have values; DistStoreError after the timeout."""
        seconds = self._timeout if timeout is None else seconds_of(timeout)
        end, pause = time.monotonic() + seconds, 0.001
        while not self.check(keys):
            if time.monotonic() > end:
                shown = [k for k in keys if self._read(k) is None]
                raise DistStoreError(
                    "wait timeout after {}ms, keys: {}\n".format(int(seconds * 1000), ", ".join(shown))
                    + MISSING.format(store=type(self).__name__, call="wait", keys=shown, seconds=seconds)
                )
            time.sleep(pause)
            pause = min(2 * pause, 0.05)

    def delete_key(self, key: str) -> bool:
        """Forget a key; whether it had a value."""
        before = self._read(key)
        if before is not None:
            self._change(key, lambda _: None)
        return before is not None

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of several keys."""
        return [self.get(k) for k in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence):
        """Store several values."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def num_keys(self) -> int:
        """How many keys have values."""
        return len(self._names())

    def list_keys(self) -> list[str]:
        """The keys that have values, in no order."""
        return self._names()

    def queue_push(self, key: str, value):
        """Add a value to the end of a queue; queues have names of their own."""
        self._change(QUEUE + key, lambda old: _joined([*_split(old or b""), _bytes(value)]))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value from a queue: waited for, DistStoreError after the timeout; or QueueEmptyError."""
        end, pause = time.monotonic() + self._timeout, 0.001
        while True:
            taken: list[bytes] = []

            def take(old, taken=taken):
                values = _split(old or b"")
                taken[:] = values[:1]
                return _joined(values[1:]) if len(values) > 1 else None

            self._change(QUEUE + key, take)
            if taken:
                return taken[0]
            if not block:
                raise QueueEmptyError("queue is empty")
            if time.monotonic() > end:
                raise DistStoreError(
                    MISSING.format(store=type(self).__name__, call="queue_pop", keys=[key], seconds=self._timeout)
                )
            time.sleep(pause)
            pause = min(2 * pause, 0.05)

    def queue_len(self, key: str) -> int:
        """How many values a queue has."""
        return len(_split(self._read(QUEUE + key) or b""))

    def has_extended_api(self) -> bool:
        """True: append, multi_get and multi_set are there."""
        return True

    def set_timeout(self, timeout):
        """Choose how long is waited."""
        self._timeout = seconds_of(timeout)

    @property
    def timeout(self) -> datetime.timedelta:
        """How long is waited."""
        return datetime.timedelta(seconds=self._timeout)


class HashStore(Store):
    """A store of one process, for its threads.

    >>> store = torch.distributed.HashStore()
    >>> store.set("a", "1")
    >>> store.add("a", 2), store.get("a")
    (3, b'3')
    """

    def __init__(self):
        super().__init__()
        self._values: dict[str, bytes] = {}
        self._lock = RLock()

    def _read(self, key):
        return self._values.get(key)

    def _change(self, key, change):
        with self._lock:
            new = change(self._values.get(key))
            if new is None:
                self._values.pop(key, None)
            else:
                self._values[key] = new
            return new

    def _names(self):
        return list(self._values)

    def clone(self) -> HashStore:
        """The store itself: all threads have it."""
        return self


class FileStore(Store):
    """A store in a file that all processes can open; deleted by the last of `world_size` of them.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = torch.distributed.FileStore(folder + "/store", 1)
    ...     store.set("a", "1")
    ...     store.get("a")
    b'1'
    """

    def __init__(self, file_name: str, world_size: int = -1):
        super().__init__()
        self._path = file_name
        with contextlib.suppress(FileExistsError), open(file_name, "xb"):
            pass

    @property
    def path(self) -> str:
        """The name of the file."""
        return self._path

    @contextlib.contextmanager
    def _opened(self):
        with open(self._path, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                data = file.read()
                yield file, pickle.loads(data) if data else {}
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)

    def _read(self, key):
        with self._opened() as (_, values):
            return values.get(key)

    def _change(self, key, change):
        with self._opened() as (file, values):
            new = change(values.get(key))
            if new is None:
                values.pop(key, None)
            else:
                values[key] = new
            file.seek(0)
            file.truncate()
            file.write(pickle.dumps(values))
            file.flush()
            os.fsync(file.fileno())
            return new

    def _names(self):
        with self._opened() as (_, values):
            return list(values)

    def clone(self) -> FileStore:
        """Another store in the same file."""
        return FileStore(self._path)


class TCPStore(Store):
    """A store at host:port, whose server is a thread of the process that is the master.

    >>> store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True)
    >>> store.set("a", "1")
    >>> torch.distributed.TCPStore("127.0.0.1", store.port).get("a")
    b'1'
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout=None,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ):
        super().__init__(timeout)
        self._host, self._is_master = host_name, is_master
        try:
            self._server = StoreServer(port) if is_master else None
            self._port = self._server.port if self._server else port
            self._client = StoreClient(host_name, self._port, self._timeout)
        except OSError as error:
            raise DistStoreError(
                f"The client socket has failed to connect to {host_name}:{port} ({error}). "
                "Is the process with is_master=True there, and the port free?"
            ) from None
        if world_size and wait_for_workers:
            self._await_workers(world_size)

    def _await_workers(self, world_size: int):
        self.add("__workers__", 1)
        end = time.monotonic() + self._timeout
        while int(self._read("__workers__") or 0) < world_size:
            if time.monotonic() > end:
                raise DistStoreError(f"TCPStore: not all of {world_size} workers came within {self._timeout:g} s")
            time.sleep(0.005)

    @property
    def host(self) -> str:
        """The host of the server."""
        return self._host

    @property
    def port(self) -> int:
        """The port of the server."""
        return self._port

    def _read(self, key):
        return self._client.read(key)

    def _change(self, key, change):
        while True:
            old = self._client.read(key)
            new = change(old)
            if self._client.swap(key, old, new):
                return new

    def _names(self):
        return self._client.names()

    def clone(self) -> TCPStore:
        """Another connection to the same server."""
        return TCPStore(self._host, self._port, timeout=self._timeout)


class PrefixStore(Store):
    """Another store, whose keys begin with a prefix.

    >>> import torch.distributed as dist
    >>> store = dist.HashStore()
    >>> dist.PrefixStore("run1", store).set("key", "value")
    >>> store.get("run1/key")
    b'value'
    """

    def __init__(self, prefix: str, store: Store):
        super().__init__(store._timeout)
        self._prefix, self._store = prefix, store

    @property
    def prefix(self) -> str:
        """The prefix."""
        return self._prefix

    @property
    def underlying_store(self) -> Store:
        """The store whose keys have the prefix."""
        return self._store

    def _key(self, key: str) -> str:
        return f"{self._prefix}/{key}"

    def _read(self, key):
        return self._store._read(self._key(key))

    def _change(self, key, change):
        return self._store._change(self._key(key), change)

    def _names(self):
        start = f"{self._prefix}/"
        return [n.removeprefix(start) for n in self._store._names() if n.startswith(start)]

    def clone(self) -> PrefixStore:
        """The same prefix before another connection to the store."""
        return PrefixStore(self._prefix, self._store.clone())
