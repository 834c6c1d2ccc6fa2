"""Several processes: XLA's distributed runtime (a service with a key-value store and barriers) and programs over one
CPU device of each process, whose collectives go through Gloo. Processes of one machine share memory instead.

The client for these programs is another than that of the process's own computations, so that a process may join
after it has computed. Tensors are exchanged through host memory.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import errno
import functools
import math
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..locks import RLock
from . import binding, lost_service, memory
from .binding import aval_of
from .device import Device, adopt
from .device import devices as own_devices
from .dtypes import mlir_type as tensor_of
from .errors import ExecutionError, compile_error
from .patience import Patience
from .shared_memory import ENDED, LATE, Segment, SharedMemory, Watched, machine

GONE = "process {rank} of {size} waited {seconds:g} s for {what}: {error}"
LOST = (
    "{what} of process {rank} with {others} failed after {seconds:.3g} s: {who} ended, lost the connection or did not "
    "come: {error}"
)
SERVICE_ENDED = "process {rank} of {size}: the process of rank 0, which runs the service that all meet at, has ended"
TAKEN = (
    "the processes cannot meet at port {port} of this machine: {error}. Choose another: MASTER_PORT, --master-port of "
    "torchrun (29500 if nothing is said), or --standalone, which finds one"
)
STRANGER = "what answers there is not their service"
NOT_COME = "{what} of rank {rank}: {names} did not come within {seconds:.3g} s (it hangs, or called nothing)"
SLOWLY_AT_MOST = 1 << 15  # bytes of float16 that NumPy combines
LONGEST = 1e6  # seconds that a thread can be waited for
SAID = 1.0  # seconds in which all who wait in vain say so
LEAVING = 60  # seconds that a process which leaves waits for the others
PIECE = 2 << 20  # bytes; all-reduces of 64 MB took 165 ms as one, in pieces of 1 MB 110, of 2 MB 65, of 4 MB 70 to 85
# Two processes exchange what they have and combine it: the same results as XLA's all-reduce, 1 KB in 0.12 ms for 0.16.
# It takes 0.1 s to compile for a dtype and size, XLA's 0.01: it is worth it from this call on, and for arrays of up to
# so many bytes (256 KB take 0.43 ms for 0.35), or pieces, of which one is combined while the next one is sent.
EXCHANGED, EXCHANGE_AT_MOST = 4, 1 << 17
# How arrays are combined: the operation of StableHLO.
REDUCTIONS = {
    "sum": "add",
    "prod": "multiply",
    "max": "maximum",
    "min": "minimum",
    "and": "and",
    "or": "or",
    "xor": "xor",
}


class Runtime:
    """This process among `size` others, with some CPU devices. The one of rank 0 runs the service, at `address`."""

    def __init__(self, address: str, rank: int, size: int, timeout: float, n_devices: int = 1) -> None:
        self.rank, self.size, self.timeout, self.n_devices = rank, size, timeout, n_devices
        self.program_timeout = timeout  # seconds that one waits for another at the start of a program
        lost_service.survive()
        self.service = binding.runtime_service(address, size) if rank == 0 else None
        self._client = binding.runtime_client(address, rank, int(timeout))
        for kept in (self._client, self.service):  # freed while their threads run, they end the process with SIGABRT
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
        self._leaving = Patience()
        self._leaving.start()
        self._lock = RLock()
        self._devices: tuple[Device, ...] | None = None
        self._barriers = 0
        self._processes: dict[int, tuple[str, int]] = {}
        self._watched: dict[int, Watched] = {}
        self.communicators: dict[tuple[int, ...], Communicator] = {}  # for programs of these ranks' devices

    @property
    def client(self) -> Any:
        """The runtime's client; ExecutionError if the service has ended."""
        if lost_service.is_lost():
            raise ExecutionError(SERVICE_ENDED.format(rank=self.rank, size=self.size))
        return self._client

    # ---- the key-value store

    def set(self, key: str, value: bytes, replace: bool = True) -> None:
        """Store bytes under a key."""
        self.client.key_value_set_bytes(key, value, replace)

    def get(self, key: str, timeout: float | None = None) -> bytes:
        """The bytes of a key, waited for; ExecutionError after the timeout (seconds)."""
        seconds = self.timeout if timeout is None else timeout
        found = self.try_get(key)
        if found is not None:
            return found
        try:
            return self._waited(self.client.blocking_key_value_get_bytes, key, max(1, int(seconds * 1000)))
        except binding.RuntimeFailure as error:
            raise self._gone(f"the key {key!r}", seconds, error) from None

    def try_get(self, key: str) -> bytes | None:
        """The bytes of a key, None if it is not there."""
        try:
            return self.client.key_value_try_get_bytes(key)
        except binding.RuntimeFailure:
            return None

    def add(self, key: str, amount: int) -> int:
        """Add to the number of a key; the sum."""
        return self.client.key_value_increment(key, amount)

    def delete(self, key: str) -> None:
        """Forget a key."""
        self.client.key_value_delete(key)

    def barrier(self, name: str, ranks: Sequence[int], timeout: float | None = None) -> None:
        """Wait until all these processes are here; ExecutionError after the timeout (seconds)."""
        seconds = self.timeout if timeout is None else timeout
        try:
            self._waited(self.client.wait_at_barrier, name, max(1, int(seconds * 1000)), list(ranks))
        except binding.RuntimeFailure as error:
            raise self._gone("the others at a barrier", seconds, error) from None

    def _waited(self, function: Callable[..., Any], *args: Any) -> Any:
        """The result of a call of the client that waits for other processes. It waits for ever where the service ends
        meanwhile, and so on a thread of its own."""
        found: list[Any] = []
        done = threading.Event()

        def call() -> None:
            try:
                found.append(function(*args))
            except BaseException as error:
                found.append(error)
            done.set()

        threading.Thread(target=call, daemon=True).start()
        while not done.wait(0.5):
            _ = self.client  # raises if the service has ended
        if isinstance(found[0], BaseException):
            raise found[0]
        return found[0]

    def _gone(self, what: str, seconds: float, error: Exception) -> ExecutionError:
        text = str(error).splitlines()[0]
        return ExecutionError(GONE.format(rank=self.rank, size=self.size, seconds=seconds, what=what, error=text))

    # ---- devices

    def devices(self) -> tuple[Device, ...]:
        """The CPU devices of all processes, by rank. The first call waits for all."""
        with self._lock:
            if self._devices is None:
                memory.keep_freed_memory()
                self.set(f"process/{self.rank}", f"{machine()} {os.getpid()}".encode())
                client = binding.make_joined_cpu_client(self.client, self.rank, self.size, self.n_devices)
                self._devices = adopt("cpu", client)
            return self._devices

    def first_devices(self) -> list[Any]:
        """A CPU device of each process, by rank, as jaxlib's."""
        found: dict[int, Any] = {}
        for device in self.devices():
            found.setdefault(device.process_index, device._handle)
        return [found[rank] for rank in range(self.size)]

    def process(self, rank: int) -> tuple[str, int]:
        """(what processes of its machine have in common, the number of the process) of a rank."""
        found = self._processes.get(rank)
        if found is None:
            name, _, pid = self.get(f"process/{rank}").decode().rpartition(" ")
            found = self._processes[rank] = name, int(pid)
        return found

    def watched(self, rank: int) -> Watched:
        """The process of a rank, of this machine."""
        if rank not in self._watched:
            self._watched[rank] = Watched(self.process(rank)[1])
        return self._watched[rank]

    def close(self) -> None:
        """Leave together: the others, too, are done with each other and with the service."""
        self._devices = None
        with contextlib.suppress(binding.RuntimeFailure, ExecutionError):  # the others may be gone
            self._waited(self.client.wait_at_barrier, "leaving", LEAVING * 1000, list(range(self.size)))
        self.end()
        if self.service is not None:
            with contextlib.suppress(binding.RuntimeFailure):
                self.service.shutdown()

    def end(self) -> None:
        """Leave. A thread of XLA's that calls Python when it is no longer there would end the process with SIGABRT.

        The service is left to the end of the process: to shut it down takes five seconds if others have not left. If it
        ends meanwhile, the thread that leaves waits for ever, and is left behind."""
        with contextlib.suppress(binding.RuntimeFailure, ExecutionError, TimeoutError):
            self._leaving.call(lambda: self.client.shutdown(), math.inf, lost_service.is_lost)


def _shared_memory(runtime: Runtime, ranks: tuple[int, ...], key: str, timeout: float) -> SharedMemory | None:
    """The memory of processes of one machine: the first makes it and the others open it, or none has it."""
    machines = {runtime.process(rank)[0] for rank in ranks}
    if len(ranks) < 2 or len(machines) > 1 or not machines.pop():
        return None
    watched, place, n = list(map(runtime.watched, ranks)), ranks.index(runtime.rank), len(ranks)

    def said(name: str, by: int) -> str:
        end = time.monotonic() + timeout
        while True:
            try:
                return runtime.get(f"shared/{key}/{name}", min(1.0, timeout)).decode()
            except ExecutionError:
                late = time.monotonic() > end
                if late or watched[by].has_ended():
                    values = {"call": "the first collective", "rank": runtime.rank, "other": ranks[by]}
                    raise ExecutionError((LATE if late else ENDED).format(seconds=timeout, **values)) from None

    def say(name: str, value: str) -> None:
        runtime.set(f"shared/{key}/{name}", value.encode())

    segment, descriptor = None, -1
    with contextlib.suppress(OSError):  # no memory, or no right to another process's files
        if place == 0:
            segment, descriptor = Segment.create(n)
        elif path := said("path", 0):
            segment = Segment.open(n, path)
    if place == 0:
        say("path", f"/proc/{os.getpid()}/fd/{descriptor}" if segment else "")
        say("all", "yes" * all([said(f"opened/{p}", p) == "yes" for p in range(1, n)]))
    else:
        say(f"opened/{place}", "yes" * (segment is not None))
    all_have_it = said("all", 0) == "yes"
    if descriptor >= 0:
        os.close(descriptor)
    return SharedMemory(segment, ranks, place, timeout, watched) if segment and all_have_it else None


class Communicator:
    """Programs over some of the processes, `ranks` in order, this one among them.

    key: what other communicators of these processes do not have. timeout: how many seconds one waits for the others.
    """

    def __init__(self, runtime: Runtime, ranks: Sequence[int], key: str, timeout: float) -> None:
        self.runtime, self.ranks = runtime, tuple(ranks)
        self.key, self.timeout = key, timeout
        self._shared = _shared_memory(runtime, self.ranks, key, timeout)
        self._patience, self._broken, self._n = Patience(), "", 0  # for Gloo, which takes no timeout
        devices = runtime.first_devices()
        self._client = runtime.devices()[0]._client
        self._handles = [devices[r] for r in self.ranks]
        self._mine = [devices[runtime.rank]]
        self._list = binding.DeviceList(tuple(self._handles))
        self._sharding = binding.ProcessSharding(self._list, binding.tiled(len(self.ranks)))
        self._sharding.handles, self._sharding.mine = tuple(self._handles), tuple(self._mine)
        self._began = 0.0  # when the last collective did
        self._programs: dict[tuple[Any, ...], Any] = {}
        self._calls: dict[tuple[Any, ...], int] = {}  # of all-reduces between two, until they are exchanges

    def run(self, what: str, x: np.ndarray, out_shape: tuple[int, ...] | None = None, **options: Any) -> np.ndarray:
        """The result of a collective of these processes' arrays, of one shape and dtype: 'all_reduce', 'all_gather',
        'reduce_scatter', 'all_to_all' with `kind`, 'broadcast' (of bytes) with `root`."""
        out_shape = x.shape if out_shape is None else out_shape
        if not x.size and not np.prod(out_shape):
            return np.zeros(out_shape, x.dtype)
        if self._shared is not None and not _is_for_xla(x, options.get("kind")):
            return self._shared.run(what, x, out_shape, **options)
        if self._broken:
            raise ExecutionError(self._broken)
        self._n += 1
        try:
            return self._patience.call(lambda: self._by_gloo(what, x, out_shape, options), min(self.timeout, LONGEST))
        except TimeoutError:
            self._broken = self._not_come(what)
            raise ExecutionError(self._broken) from None

    def _not_come(self, what: str) -> str:
        """Which ranks have not come to the collective that this one waits for: those that wait, too, say so."""
        name = f"waits/{self.key}/{self._n}"
        missing = [r for r in self.ranks if r != self.runtime.rank]
        with contextlib.suppress(ExecutionError, binding.RuntimeFailure):
            self.runtime.set(f"{name}/{self.runtime.rank}", b"1")
            time.sleep(SAID)
            missing = [r for r in missing if self.runtime.try_get(f"{name}/{r}") is None] or missing
        names = f"rank {missing[0]}" if len(missing) == 1 else f"one of the ranks {', '.join(map(str, missing))}"
        return NOT_COME.format(what=what, rank=self.runtime.rank, names=names, seconds=self.timeout)

    def _by_gloo(self, what: str, x: np.ndarray, out_shape: tuple[int, ...], options: dict[str, Any]) -> np.ndarray:
        if what == "broadcast":  # of bytes: the sum of the one's and zeros
            x = x if self.ranks[options["root"]] == self.runtime.rank else np.zeros_like(x)
            what, options = "all_reduce", {"kind": "sum"}
        if what == "all_reduce":
            x = np.ascontiguousarray(x).reshape(-1)
            if x.nbytes > PIECE:
                return self._in_pieces(x, PIECE // x.itemsize, options).reshape(out_shape)
            return self._result(what, self._begin(what, x, x.shape, options)).reshape(out_shape)
        return self._result(what, self._begin(what, x, out_shape, options))

    def agree(self, what: str) -> None:
        """Where they share memory, wait until all these processes are about to do the same; ExecutionError in all of
        them, naming what each does, if they are not."""
        if self._shared is not None:
            self._shared.agree(what)

    def barrier(self, name: str, seconds: float) -> None:
        """Wait until all these processes are here, at most so long; `name` is used once."""
        if self._shared is not None:
            self._shared.run("barrier", np.empty(0, np.uint8), (0,))
        else:
            self.runtime.barrier(name, self.ranks, seconds)

    def _in_pieces(self, x: np.ndarray, size: int, options: dict[str, Any]) -> np.ndarray:
        """An all-reduce of pieces that stay in the cache, of which one is sent while the one before is copied."""
        out, begun = binding.aligned(x.size, x.dtype), []
        for start in [*range(0, x.size - size, size), x.size - size]:  # the last overlaps: all are of one program
            begun.append((start, self._begin("all_reduce", x[start : start + size], (size,), options, alone=False)))
            if len(begun) == 2:
                self._keep(out, size, *begun.pop(0))
        self._keep(out, size, *begun.pop())
        return out

    def _keep(self, out: np.ndarray, size: int, start: int, piece: Any) -> None:
        out[start : start + size] = self._result("all_reduce", piece)

    def _begin(
        self, what: str, x: np.ndarray, out_shape: tuple[int, ...], options: dict[str, Any], alone: bool = True
    ) -> Any:
        """Start a collective: what _result takes. Those of one client are computed in the order they were started;
        one that is alone, by this thread."""
        key = (what, x.shape, x.dtype, out_shape, alone, *options.values())
        program = self._programs.get(key)
        if program is None:
            program = self._programs[key] = self._compile(what, x, out_shape, options, alone)
            if what == "all_reduce" and len(self.ranks) == 2 and not (alone and x.nbytes > EXCHANGE_AT_MOST):
                self._calls[key] = 0
        elif key in self._calls:
            program = self._exchanged(key, x, out_shape, options, alone)
        execute, handler, aval = program
        put = binding.put_shards(aval, self._sharding, [x[None]])
        self._began = time.monotonic()
        try:
            return execute([put]).consume_with_handlers([handler])[0]
        except RuntimeError as error:
            raise self._lost(what, error) from None

    def _exchanged(self, key: tuple[Any, ...], x: np.ndarray, out_shape: Any, options: Any, alone: bool) -> Any:
        """The program for another call: all processes count the same calls."""
        self._calls[key] += 1
        if self._calls[key] == EXCHANGED:
            del self._calls[key]
            self._programs[key] = self._compile("exchange", x, out_shape, options, alone)
        return self._programs[key]

    def _result(self, what: str, out: Any) -> np.ndarray:
        try:
            return binding.part_as_numpy(out)[0]
        except RuntimeError as error:
            raise self._lost(what, error) from None

    def _lost(self, what: str, error: Exception) -> ExecutionError:
        others = [r for r in self.ranks if r != self.runtime.rank]
        names = f"rank {others[0]}" if len(others) == 1 else f"the ranks {', '.join(map(str, others))}"
        who = "it" if len(others) == 1 else "one of them"
        text, seconds = str(error).splitlines()[0], time.monotonic() - self._began
        return ExecutionError(
            LOST.format(what=what, rank=self.runtime.rank, others=names, seconds=seconds, who=who, error=text)
        )

    def _compile(
        self, what: str, x: np.ndarray, out_shape: tuple[int, ...], options: dict[str, Any], alone: bool
    ) -> tuple[Any, Any, Any]:
        n = len(self.ranks)
        kinds = {"x": (1, *x.shape), "part": x.shape, "out": out_shape, "result": (1, *out_shape), "scalar": ()}
        text = _module(what, n, {name: tensor_of(shape, x.dtype) for name, shape in kinds.items()}, options)
        chosen = binding.replica_options([d.id for d in self._handles])
        try:
            if alone:  # to wait for another thread of XLA's: 64 KB take 0.24 ms for 0.16, 256 KB 0.53 for 0.43
                from .mlir import parse

                chosen_thread = binding.ON_THIS_THREAD
                loaded = self._client.compile_and_load(parse(text, what), self._list, chosen, chosen_thread)
            else:
                loaded = self._client.compile_and_load(text, self._list, chosen)
        except RuntimeError as error:
            raise compile_error(error, text, what) from None
        (handler,) = binding.result_handlers((aval_of((n, *out_shape), x.dtype),), self._sharding)
        return loaded.execute_sharded, handler, aval_of((n, *x.shape), x.dtype)


def _is_for_xla(x: np.ndarray, kind: str | None) -> bool:
    """Whether XLA combines what NumPy cannot (the greatest complex number is an error), or slowly: it takes 6 ns for an
    addition in float16."""
    if kind in ("max", "min") and x.dtype.kind == "c":
        return True
    return kind is not None and x.dtype == np.float16 and x.nbytes > SLOWLY_AT_MOST


def _module(what: str, n: int, types: dict[str, str], options: dict[str, Any]) -> str:
    """A module of one collective; each process has an array with a first dimension of size 1."""
    part, out = types["part"], types["out"]
    if what == "exchange":
        body = _exchange(part, **options)
    else:
        attributes, region = _CALLS[what](n, types["scalar"], **options)
        groups = f"replica_groups = dense<[{list(range(n))}]> : tensor<1x{n}xi64>"
        attributes = ", ".join([a for a in (attributes, groups) if a])
        body = f'%b = "stablehlo.{what}"(%a) <{{{attributes}}}> {region} : ({part}) -> {out}\n'
    return (
        f"module @{what} attributes {{mhlo.num_partitions = 1 : i32, mhlo.num_replicas = {n} : i32}} {{\n"
        f"func.func public @main(%x: {types['x']}) -> ({types['result']}) {{\n"
        f"%a = stablehlo.reshape %x : ({types['x']}) -> {part}\n"
        f"{body}"
        f"%r = stablehlo.reshape %b : ({out}) -> {types['result']}\n"
        f"return %r : {types['result']}\n}}\n}}\n"
    )


def _exchange(part: str, kind: str) -> str:
    """An all-reduce of two processes."""
    return (
        '%p = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : '
        f"({part}) -> {part}\n%b = stablehlo.{REDUCTIONS[kind]} %a, %p : {part}\n"
    )


def _combine(scalar: str, kind: str) -> str:
    return (
        f"({{ ^bb0(%p: {scalar}, %q: {scalar}):\n%s = stablehlo.{REDUCTIONS[kind]} %p, %q : {scalar}\n"
        f"stablehlo.return %s : {scalar}\n}})"
    )


# (attributes beside the groups, region) of each collective.
_CALLS: dict[str, Callable[..., tuple[str, str]]] = {
    "all_reduce": lambda n, scalar, kind: ("", _combine(scalar, kind)),
    "all_gather": lambda n, scalar: ("all_gather_dim = 0 : i64", ""),
    "reduce_scatter": lambda n, scalar, kind: ("scatter_dimension = 0 : i64", _combine(scalar, kind)),
    "all_to_all": lambda n, scalar: (
        f"split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = {n} : i64",
        "",
    ),
}


@functools.lru_cache(maxsize=1)
def _current() -> list[Runtime]:
    return []


def joined() -> Runtime | None:
    """The runtime that this process has joined."""
    return _current()[-1] if _current() else None


def all_devices() -> tuple[Device, ...]:
    """The devices of all processes: without others those of the default platform."""
    runtime = joined()
    return own_devices() if runtime is None else runtime.devices()


def communicator_of(devices: Iterable[Device]) -> Communicator | None:
    """Of the processes that have these devices, this among them; None if there are not several."""
    runtime, ranks = joined(), tuple(sorted({d.process_index for d in devices}))
    if runtime is None or len(ranks) < 2 or runtime.rank not in ranks:
        return None
    if ranks not in runtime.communicators:
        runtime.communicators[ranks] = Communicator(runtime, ranks, f"programs/{ranks}", runtime.program_timeout)
    return runtime.communicators[ranks]


def _check_free(address: str) -> None:
    """ExecutionError if somebody listens at the port: a second service would end this process, or share the port."""
    port = int(address.rpartition(":")[2])
    for family, host in ((socket.AF_INET, ""), (socket.AF_INET6, "::")):
        with contextlib.suppress(OSError), socket.socket(family) as tried:  # there may be no IPv6
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                tried.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            try:
                tried.bind((host, port))
                tried.listen(1)
            except OSError as error:
                if error.errno in (errno.EADDRINUSE, errno.EACCES):
                    raise ExecutionError(TAKEN.format(port=port, error=error.strerror)) from None


def join(address: str, rank: int, size: int, timeout: float = 300.0, n_devices: int = 1) -> Runtime:
    """Join the processes whose service is at host:port; waits for it. ExecutionError after the timeout."""
    if rank == 0:
        _check_free(address)
    try:
        runtime = Runtime(address, rank, size, timeout, n_devices)
    except RuntimeError as error:  # a RuntimeFailure, or std::bad_cast
        why = str(error).splitlines()[0] if isinstance(error, binding.RuntimeFailure) else STRANGER
        raise ExecutionError(
            f"process {rank} of {size} could not join the others at {address} within {timeout:g} s: {why}"
        ) from None
    _current().append(runtime)
    atexit.register(runtime.end)
    return runtime


def leave(runtime: Runtime) -> None:
    """Leave the others."""
    if runtime in _current():
        _current().remove(runtime)
    atexit.unregister(runtime.end)
    runtime.close()
