"""What carries calls from worker to worker: connections of Python's multiprocessing, pickles, threads.

Each worker has a connection of its own to each worker it calls; results come back on it. Pickles run code: workers know
each other by a key that they exchange through the store, and listen where they reach the first of them.
"""

from __future__ import annotations

import contextlib
import functools
import heapq
import io
import itertools
import os
import pickle
import queue
import socket
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, Listener
from typing import Any

from .....engine import to_numpy
from .....engine.value import from_numpy
from .....locks import RLock
from .....names import pickles_name_torch
from ....tensors.base import Tensor, new_tensor
from ....tensors.types import named
from ...futures import Future
from ..mail import connect, serve
from .contexts import Context, Incoming, Outgoing, reading, working_for

TIMED_OUT = "RPCErr:1:RPC ran for more than set timeout ({ms} ms) and will now be marked with an error"
GONE = "RPC to {to} failed: its process has ended, or the connection to it is broken"
NOT_REACHED = "RPC to {to} failed: it cannot be reached at {host}:{port} ({error})"
UNKNOWN = "name:{own.name},rank:{own.id} could not find destination name {to}; the workers are {names}"
UNMADE = "Failed to create original exception type {kind}. Error msg was {text}"


@dataclass(frozen=True)
class WorkerInfo:
    """The name and number of a worker.

    >>> torch.distributed.rpc.WorkerInfo("ps", 0).name
    'ps'
    """

    name: str
    id: int

    def __repr__(self) -> str:
        return f"WorkerInfo(id={self.id}, name={self.name})"


class Later:
    """The result of an operation that comes when a future has it."""

    def __init__(self, future: Future):
        self.future = future


# ---- pickles -------------------------------------------------------------------------------------


class _State(threading.local):
    pickling = False  # whether a call or a result is pickled, or read, in this thread


state = _State()


class _Pickler(pickle.Pickler):
    """Tensors by their elements, with history only in a context of distributed.autograd; classes by their names."""

    message: Outgoing | None = None

    def reducer_override(self, obj: Any) -> Any:
        """How an object is pickled; NotImplemented leaves it to pickle."""
        if type(obj) is Tensor and obj._device is None and obj._level is None and not obj.is_meta:
            array = to_numpy(obj.detach()._read())
            if self.message is not None and self.message.takes(obj):
                return self.message.reduce(obj, array)
            return _tensor, (array,)
        if isinstance(obj, type) and not pickles_name_torch() and obj.__module__.startswith("torch."):
            return named, (f"{obj.__module__}.{obj.__qualname__}".removeprefix("torch."),)
        return NotImplemented


def _tensor(array: Any) -> Tensor:
    return new_tensor(from_numpy(array))


@contextlib.contextmanager
def _pickling():
    before, state.pickling = state.pickling, True
    try:
        yield
    finally:
        state.pickling = before


def dumps(obj: Any, message: Outgoing | None = None) -> bytes:
    """A call, or a result, as bytes."""
    buffer = io.BytesIO()
    with _pickling():
        pickler = _Pickler(buffer, 5)
        pickler.message = message
        pickler.dump(obj)
    return buffer.getvalue()


def loads(data: bytes, message: Incoming | None = None) -> Any:
    """What `dumps` has written."""
    with _pickling():
        reading.message = message
        found = pickle.loads(data)
        if message is not None:
            message.done()
        return found


def _error(info: WorkerInfo, error: BaseException) -> bytes:
    """An error of a function, to be raised by its caller."""
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    text = f"On {info!r}:\n{error!r}\n{trace}"
    try:
        return dumps((False, (type(error), text)))
    except Exception:  # a class that cannot be found by its name
        return dumps((False, (RuntimeError, text)))


def _raised(kind: type, text: str) -> Exception:
    if not issubclass(kind, Exception):
        return RuntimeError(text)
    try:
        return kind(text)
    except Exception:  # it takes other arguments
        return RuntimeError(UNMADE.format(kind=kind, text=text))


# ---- threads -------------------------------------------------------------------------------------


class _Pool:
    """So many threads at most that take calls from a queue; they never keep a process from ending."""

    def __init__(self, size: int):
        self.size, self.started, self.idle = size, 0, 0
        self.calls: queue.SimpleQueue = queue.SimpleQueue()
        self.lock = RLock()

    def submit(self, call: Callable[[], None]):
        """Have a function called."""
        with self.lock:
            if not self.idle and self.started < self.size:
                self.started += 1
                threading.Thread(target=self._work, daemon=True).start()
            else:
                self.idle = max(self.idle - 1, 0)
        self.calls.put(call)

    def _work(self):
        while True:
            call = self.calls.get()
            if call is None:
                return
            call()
            with self.lock:
                self.idle += 1

    def close(self):
        """Let the threads end."""
        for _ in range(self.started):
            self.calls.put(None)


class _Deadlines:
    """Functions that are called at their times, by one thread."""

    def __init__(self):
        self.waiting: list[tuple[float, int, Callable[[], None]]] = []
        self.condition, self.numbers, self.closed = threading.Condition(), itertools.count(), False
        threading.Thread(target=self._watch, daemon=True).start()

    def add(self, seconds: float, call: Callable[[], None]):
        """Have a function called after a while."""
        with self.condition:
            heapq.heappush(self.waiting, (time.monotonic() + seconds, next(self.numbers), call))
            self.condition.notify()

    def _watch(self):
        while True:
            with self.condition:
                self._await_next()
                if self.closed:
                    return
                call = heapq.heappop(self.waiting)[2]
            call()

    def _await_next(self):
        while not self.closed and not (self.waiting and self.waiting[0][0] <= time.monotonic()):
            left = self.waiting[0][0] - time.monotonic() if self.waiting else None
            self.condition.wait(left if left is None else max(left, 0))

    def close(self):
        """Forget all of them."""
        with self.condition:
            self.closed = True
            self.condition.notify()


# ---- the way to another worker -------------------------------------------------------------------


class _Way:
    """The connection on which this worker calls another one, and the calls that have no result yet."""

    def __init__(self, agent: Agent, to: WorkerInfo, host: str, port: int):
        self.agent, self.to, self.host, self.port = agent, to, host, port
        self.lock, self.numbers = RLock(), itertools.count()
        self.pending: dict[int, Future] = {}
        self.connection: Connection | None = None
        self.dead = False

    def call(self, operation: Callable, args: tuple, timeout: float, inline: bool) -> Future:
        """The future of operation(*args), computed by the worker."""
        message = Outgoing(self.agent.info.id)
        future, body, number = Future(), dumps((operation, args), message), next(self.numbers)
        tag = message.tag()
        self.pending[number] = future
        try:
            with self.lock:
                connection = self.connection or self._connect()
                connection.send_bytes(pickle.dumps((number, inline, self.agent.info.id, tag)))
                connection.send_bytes(body)
            if self.dead:  # what is sent to a process that has just ended is not refused
                self._fail(number, GONE.format(to=self.to))
        except (OSError, EOFError) as error:
            self._fail(number, NOT_REACHED.format(to=self.to, host=self.host, port=self.port, error=error))
        if timeout > 0:
            self.agent.deadlines.add(timeout, functools.partial(self._late, number, timeout))
        return future

    def _late(self, number: int, timeout: float):
        self._fail(number, TIMED_OUT.format(ms=int(timeout * 1000)))

    def _connect(self) -> Connection:
        self.connection = connect(self.host, self.port, 0.0, self.agent.key)
        threading.Thread(target=self._listen, args=(self.connection,), daemon=True).start()
        return self.connection

    def _listen(self, connection: Connection):
        try:
            while True:
                (number, tag), data = pickle.loads(connection.recv_bytes()), connection.recv_bytes()
                message = Incoming(tag, self.to.id)
                self._finish(number, functools.partial(_settle, data=data, message=message))
        except (OSError, EOFError, TypeError):  # TypeError: closed by this process while it is read
            self.dead = True
            self.fail(GONE.format(to=self.to))

    def fail(self, text: str):
        """No result will come any more."""
        for number in list(self.pending):
            self._fail(number, text)

    def _fail(self, number: int, text: str):
        self._finish(number, lambda future: future.set_exception(RuntimeError(text)))

    def _finish(self, number: int, settle: Callable[[Future], None]):
        future = self.pending.pop(number, None)  # whoever gets it is the only one to settle it
        if future is not None:
            settle(future)

    def close(self):
        """Close the connection."""
        if self.connection is not None:
            _hang_up(self.connection)
        self.fail(GONE.format(to=self.to))


def _settle(future: Future, data: bytes, message: Incoming):
    try:
        good, found = loads(data, message)
    except Exception as error:  # a class that is not there
        good, found = False, (RuntimeError, f"the result of an RPC cannot be read: {error!r}")
    if good:
        future.set_result(found)
    else:
        future.set_exception(_raised(*found))


def _hang_up(connection: Any):
    """End a connection, which closing alone does not while a thread reads from it."""
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as end:
        end.shutdown(socket.SHUT_RDWR)


# ---- a worker ------------------------------------------------------------------------------------


class Agent:
    """This process as a worker: it calls others and answers them."""

    def __init__(self, name: str, rank: int, host: str, key: bytes, threads: int, timeout: float):
        self.info, self.key, self.timeout = WorkerInfo(name, rank), key, timeout
        self.pool, self.deadlines = _Pool(threads), _Deadlines()
        self.listener = Listener((host, 0), backlog=128, authkey=key)
        self.ways: dict[str, _Way] = {}
        self.answering: set[Connection] = set()
        self.ready = threading.Event()  # nobody is answered before all workers are known
        serve(self.listener, self._answer)

    def know(self, info: WorkerInfo, host: str, port: int):
        """Be told of a worker, itself among them."""
        self.ways[info.name] = _Way(self, info, host, port)

    def worker(self, to: Any) -> WorkerInfo:
        """The worker of a name, a number or its WorkerInfo."""
        if isinstance(to, int):
            found = next((way.to for way in self.ways.values() if way.to.id == to), None)
        else:
            way = self.ways.get(to.name if isinstance(to, WorkerInfo) else to)
            found = None if way is None else way.to
        if found is None:
            raise RuntimeError(UNKNOWN.format(own=self.info, to=to, names=", ".join(sorted(self.ways))))
        return found

    def call(self, to: WorkerInfo, operation: Callable, *args: Any, timeout: float = -1.0, inline=False) -> Future:
        """The future of operation(*args), computed by a worker; inline: by the thread that reads the call."""
        return self.ways[to.name].call(operation, args, self.timeout if timeout < 0 else timeout, inline)

    def _answer(self, connection: Connection):
        self.answering.add(connection)
        lock = RLock()
        try:
            while True:
                number, inline, source, tag = pickle.loads(connection.recv_bytes())
                body = connection.recv_bytes()
                run = functools.partial(self._run, connection, lock, number, body, Incoming(tag, source))
                run() if inline else self.pool.submit(run)
        except (OSError, EOFError, TypeError):
            self.answering.discard(connection)

    def _run(self, connection: Connection, lock: RLock, number: int, body: bytes, message: Incoming):
        reply = functools.partial(self._reply, connection, lock, number)
        context = message.context
        self.ready.wait()
        try:
            with working_for(context):
                operation, args = loads(body, message)
                found = operation(*args)
        except BaseException as error:
            reply(_error(self.info, error), None)
            return
        if isinstance(found, Later):
            found.future.add_done_callback(lambda future: reply(*self._result(future.value, context)))
        else:
            reply(*self._result(lambda: found, context))

    def _result(self, value: Callable[[], Any], context: Context | None) -> tuple[bytes, Any]:
        try:
            with working_for(context):
                message = Outgoing(self.info.id)
                data = dumps((True, value()), message)
                return data, message.tag()
        except Exception as error:
            return _error(self.info, error), None

    def _reply(self, connection: Connection, lock: RLock, number: int, data: bytes, tag: Any):
        with contextlib.suppress(OSError), lock:  # who asked may be gone
            connection.send_bytes(pickle.dumps((number, tag)))
            connection.send_bytes(data)

    def pending(self) -> list[Future]:
        """The calls that have no result yet."""
        return [future for way in self.ways.values() for future in list(way.pending.values())]

    def close(self):
        """Leave: calls without results fail, and nobody is answered."""
        _hang_up(vars(self.listener)["_listener"]._socket)  # its thread waits in accept
        self.listener.close()
        for way in self.ways.values():
            way.close()
        for connection in list(self.answering):
            _hang_up(connection)
        self.pool.close()
        self.deadlines.close()
