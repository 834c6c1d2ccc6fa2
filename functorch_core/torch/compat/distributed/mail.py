"""Messages between two processes, by the connections of Python's multiprocessing: what send, recv and TCPStore use.

Only bytes are sent, never pickles: who can connect cannot have code run.
"""

from __future__ import annotations

import collections
import json
import queue
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

import numpy as np

from ....locks import RLock

KEY = b"functorch_core"  # the handshake of multiprocessing wants one; it is no secret


def serve(listener: Listener, answer: Callable[[Connection], None]) -> threading.Thread:
    """Call answer(connection), in a thread of its own, for each connection that is made."""

    def accept():
        while True:
            try:
                connection = listener.accept()
            except (OSError, EOFError):
                return  # the listener is closed
            except Exception:  # a stranger that does not know the handshake
                continue
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    return thread


# ---- a store's server ----------------------------------------------------------------------------


class StoreServer:
    """Bytes by keys, for clients that connect to a port (0: any that is free)."""

    def __init__(self, port: int):
        self.values: dict[str, bytes] = {}
        self.lock = RLock()
        self.listener = Listener(("", port), backlog=128, authkey=KEY)
        self.port = self.listener.address[1]
        serve(self.listener, self._answer)

    def _answer(self, connection: Connection):
        try:
            while True:
                call, key, *values = _decoded(connection.recv_bytes())
                connection.send_bytes(_encoded(*getattr(self, f"_{call}")(key, *values)))
        except (OSError, EOFError):
            pass

    def _read(self, key):
        return (self.values.get(key),)

    def _swap(self, key, old, new):
        with self.lock:
            if self.values.get(key) != old:
                return ("no",)
            if new is None:
                self.values.pop(key, None)
            else:
                self.values[key] = new
            return ("yes",)

    def _names(self, key):
        return tuple(self.values)


class StoreClient:
    """A connection to a StoreServer, waited for until a timeout (seconds); OSError if there is none."""

    def __init__(self, host: str, port: int, timeout: float):
        self.lock = RLock()
        self.connection = connect(host, port, timeout)

    def _ask(self, call: str, key: str = "", *values: bytes | None) -> list:
        with self.lock:
            self.connection.send_bytes(_encoded(call, key, *values))
            return _decoded(self.connection.recv_bytes())

    def read(self, key: str) -> bytes | None:
        """The value of a key."""
        (found,) = self._ask("read", key)
        return found

    def swap(self, key: str, old: bytes | None, new: bytes | None) -> bool:
        """Replace a value, if it is `old`."""
        return self._ask("swap", key, old, new) == ["yes"]

    def names(self) -> list[str]:
        """The keys that have values."""
        return self._ask("names")


def connect(host: str, port: int, timeout: float, key: bytes = KEY) -> Connection:
    """A connection to a port, tried until the timeout (seconds)."""
    end = time.monotonic() + timeout
    while True:
        try:
            return Client((host, port), authkey=key)
        except (ConnectionError, OSError):
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def _encoded(*parts) -> bytes:
    """Strings, bytes and None as bytes."""
    shown = [x.decode("latin-1") if isinstance(x, bytes) else x for x in parts]
    return json.dumps([[isinstance(x, bytes), s] for x, s in zip(parts, shown)]).encode()


def _decoded(data: bytes) -> list:
    return [s.encode("latin-1") if is_bytes else s for is_bytes, s in json.loads(data)]


# ---- arrays from process to process --------------------------------------------------------------


class Mailbox:
    """Arrays that other processes send to this one, and the way to send them some.

    `tell(rank, address)` and `ask(rank)` exchange addresses. What one process sends to another arrives in order.
    """

    def __init__(self, rank: int, tell: Callable[[int, bytes], None], ask: Callable[[int], bytes]):
        self.rank, self.ask = rank, ask
        self.arrived: dict[tuple, collections.deque] = collections.defaultdict(collections.deque)
        self.condition = threading.Condition()
        self.out: dict[int, queue.Queue] = {}
        self.listener = Listener(("127.0.0.1", 0), backlog=128, authkey=KEY)
        serve(self.listener, self._receive)
        tell(rank, json.dumps(self.listener.address).encode())

    def _receive(self, connection: Connection):
        try:
            while True:
                source, tag, dtype, shape = json.loads(connection.recv_bytes())
                data = connection.recv_bytes()
                with self.condition:
                    self.arrived[source, tag].append((dtype, tuple(shape), data))
                    self.condition.notify_all()
        except (OSError, EOFError):
            pass

    def send(self, to: int, tag: Any, array: np.ndarray) -> threading.Event:
        """Send an array; the event is set when it has left."""
        if to not in self.out:
            self.out[to] = queue.Queue()
            threading.Thread(target=self._post, args=(to, self.out[to]), daemon=True).start()
        sent = threading.Event()
        header = json.dumps([self.rank, tag, array.dtype.name, array.shape]).encode()
        self.out[to].put((header, np.ascontiguousarray(array).view(np.uint8).reshape(-1).data, sent))
        return sent

    def _post(self, to: int, letters: queue.Queue):
        host, port = json.loads(self.ask(to))
        connection = connect(host, port, 30.0)
        while True:
            header, data, sent = letters.get()
            connection.send_bytes(header)
            connection.send_bytes(data)
            sent.set()

    def receive(self, source: int | None, tag: Any, timeout: float) -> tuple[int, str, tuple[int, ...], bytes]:
        """(source, name of the dtype, shape, bytes) of the next array from a process (None: any); TimeoutError."""

        def found():
            return next((k for k, box in self.arrived.items() if box and k[1] == tag and source in (None, k[0])), None)

        with self.condition:
            if not self.condition.wait_for(lambda: found() is not None, timeout):
                raise TimeoutError
            key = found()
            return (key[0], *self.arrived[key].popleft())
