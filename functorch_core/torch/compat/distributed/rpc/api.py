"""torch.distributed.rpc.api: workers call functions of each other."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable
from typing import Any

from .... import _missing
from ...futures import Future
from ..errors import DistStoreError
from ..group import _from_environment, _world, place_of
from ..stores import FileStore, HashStore, PrefixStore, Store, TCPStore
from .agent import Agent, Later, WorkerInfo
from .constants import DEFAULT_SHUTDOWN_TIMEOUT, UNSET_RPC_TIMEOUT
from .options import BackendType, TensorPipeRpcBackendOptions
from .rref import Context, RRef, _current, context, made_by, run

TWICE = "RPC is already initialized"
NOT_UNIQUE = "RPC worker name {name} is not unique."
NOT_ALL = "init_rpc: not all of {n} workers came within {seconds:g} s: {error}"
NOT_LEFT = "rpc.shutdown: {came} of {n} other workers came"
METHODS = "init_rpc: init_method={method!r}; there are env://, tcp:// and file://"
_times = [0]  # how often init_rpc was called, by all workers alike


def init_rpc(
    name: str,
    backend: BackendType | None = None,
    rank: int = -1,
    world_size: int | None = None,
    rpc_backend_options: TensorPipeRpcBackendOptions | None = None,
):
    """Become a worker, under a name that no other has, when all `world_size` of them are there. rank and world_size
    are those of the environment, as torchrun sets them, where they are not given.

    RuntimeError if the others do not come within the timeout of the options, or two have the same name.

    >>> import torch.distributed.rpc as rpc
    >>> options = rpc.TensorPipeRpcBackendOptions(init_method="tcp://127.0.0.1:0")
    >>> rpc.init_rpc("alone", rank=0, world_size=1, rpc_backend_options=options)
    >>> rpc.rpc_sync("alone", torch.add, args=(torch.ones(2), 1))
    tensor([2., 2.])
    >>> rpc.shutdown()
    """
    if _current:
        raise RuntimeError(TWICE)
    options = rpc_backend_options or TensorPipeRpcBackendOptions()
    rank = _from_environment("RANK", rank, 0)
    world_size = _from_environment("WORLD_SIZE", -1 if world_size is None else world_size, 1)
    if not 0 <= rank < world_size:
        raise ValueError(f"init_rpc: rank={rank} is not one of world_size={world_size}")
    seconds = options.rpc_timeout or 1800.0
    store, near = _store(options.init_method, rank, world_size, seconds)
    _times[0] += 1
    board = PrefixStore(f"rpc/{_times[0]}", store)
    try:
        agent = _agent_of(board, near, name, rank, world_size, options)
    except DistStoreError as error:
        raise RuntimeError(NOT_ALL.format(n=world_size, seconds=seconds, error=error)) from None
    _barrier.begin()
    _current.append(Context(agent))
    agent.ready.set()


def _agent_of(board: Store, near: str, name: str, rank: int, world_size: int, options: Any) -> Agent:
    """The agent of this worker, that knows all others."""
    if rank == 0:
        board.set("key", os.urandom(16).hex())
    key = board.get("key")
    agent = Agent(name, rank, near, key, options.num_worker_threads, options.rpc_timeout)
    board.set(str(rank), json.dumps([name, *agent.listener.address]))
    for other in range(world_size):
        its_name, host, port = json.loads(board.get(str(other)))
        if its_name in agent.ways:
            agent.close()
            raise RuntimeError(NOT_UNIQUE.format(name=its_name))
        agent.know(WorkerInfo(its_name, other), host, port)
    return agent


def _store(init_method: str, rank: int, world_size: int, seconds: float) -> tuple[Store, str]:
    """(where the workers meet, the address of this process as the first worker sees it)."""
    if world_size == 1:
        return HashStore(), "127.0.0.1"
    if init_method.startswith("file://"):
        return FileStore(init_method.removeprefix("file://").partition("?")[0]), "127.0.0.1"
    if init_method.partition("://")[0] not in ("env", "tcp"):
        raise ValueError(METHODS.format(method=init_method))
    place = place_of(init_method)
    host, _, port = place.rpartition(":")
    if _world.runtime is not None and _world.address == place:  # it listens there
        return _OfRuntime(seconds), _near(host, int(port))
    if place not in _world.meetings:
        _world.meetings[place] = TCPStore(host, int(port), None, rank == 0, timeout=seconds)
    return _world.meetings[place], _near(host, int(port))


def _near(host: str, port: int) -> str:
    """The address from which this process reaches another one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, port))
        return probe.getsockname()[0]


class _OfRuntime(Store):
    """The store of the runtime that init_process_group has set up."""

    def _read(self, key: str) -> bytes | None:
        assert _world.runtime is not None
        return _world.runtime.try_get(key)

    def _change(self, key: str, change: Callable[[bytes | None], bytes | None]) -> bytes | None:
        assert _world.runtime is not None
        new = change(self._read(key))
        assert new is not None
        _world.runtime.set(key, new)
        return new


# ---- calls ---------------------------------------------------------------------------------------


def rpc_async(
    to: Any, func: Callable, args: Any = None, kwargs: dict | None = None, timeout: float = UNSET_RPC_TIMEOUT
) -> Future:
    """The future of func(*args, **kwargs), computed by a worker: its name, number or WorkerInfo.

    Functions go by their names; tensors are copied, without history. Errors of the function are raised here, with the
    worker and its traceback in their text; RuntimeError after `timeout` seconds (0: never), or if the worker is gone.

    >>> import torch.distributed.rpc as rpc
    >>> options = rpc.TensorPipeRpcBackendOptions(init_method="tcp://127.0.0.1:0")
    >>> rpc.init_rpc("alone", rank=0, world_size=1, rpc_backend_options=options)
    >>> rpc.rpc_async("alone", max, args=(1, 2)).wait()
    2
    >>> rpc.shutdown()
    """
    agent = context().agent
    return agent.call(agent.worker(to), run, func, tuple(args or ()), dict(kwargs or {}), timeout=timeout)


def rpc_sync(
    to: Any, func: Callable, args: Any = None, kwargs: dict | None = None, timeout: float = UNSET_RPC_TIMEOUT
) -> Any:
    """func(*args, **kwargs), computed by a worker; see rpc_async.

    >>> import torch.distributed.rpc as rpc
    >>> options = rpc.TensorPipeRpcBackendOptions(init_method="tcp://127.0.0.1:0")
    >>> rpc.init_rpc("alone", rank=0, world_size=1, rpc_backend_options=options)
    >>> rpc.rpc_sync("alone", max, args=(1, 2))
    2
    >>> rpc.shutdown()
    """
    return rpc_async(to, func, args, kwargs, timeout).wait()


def remote(
    to: Any, func: Callable, args: Any = None, kwargs: dict | None = None, timeout: float = UNSET_RPC_TIMEOUT
) -> RRef:
    """A reference to what func(*args, **kwargs) gives at a worker, at once.

    >>> import torch.distributed.rpc as rpc
    >>> options = rpc.TensorPipeRpcBackendOptions(init_method="tcp://127.0.0.1:0")
    >>> rpc.init_rpc("alone", rank=0, world_size=1, rpc_backend_options=options)
    >>> rpc.remote("alone", max, args=(1, 2)).to_here()
    2
    >>> rpc.shutdown()
    """
    worker = context().agent.worker(to)
    return made_by(worker, func, tuple(args or ()), dict(kwargs or {}), timeout)


def get_worker_info(worker_name: str | None = None) -> WorkerInfo:
    """A worker by its name; this one without.

    >>> import torch.distributed.rpc as rpc
    >>> options = rpc.TensorPipeRpcBackendOptions(init_method="tcp://127.0.0.1:0")
    >>> rpc.init_rpc("alone", rank=0, world_size=1, rpc_backend_options=options)
    >>> rpc.get_worker_info()
    WorkerInfo(id=0, name=alone)
    >>> rpc.shutdown()
    """
    agent = context().agent
    return agent.info if worker_name is None else agent.worker(worker_name)


def get_rpc_timeout() -> float:
    """The seconds that calls may take that are given no timeout; RuntimeError before init_rpc.

    >>> import torch.distributed.rpc as rpc
    >>> options = rpc.TensorPipeRpcBackendOptions(init_method="tcp://127.0.0.1:0", rpc_timeout=30)
    >>> rpc.init_rpc("alone", rank=0, world_size=1, rpc_backend_options=options)
    >>> rpc.get_rpc_timeout()
    30.0
    >>> rpc.shutdown()
    """
    return context().agent.timeout


def _set_rpc_timeout(rpcTimeoutSeconds: float):
    context().agent.timeout = float(rpcTimeoutSeconds)


def _is_current_rpc_agent_set() -> bool:
    return bool(_current)


# ---- leaving -------------------------------------------------------------------------------------


class _Barrier:
    """Where workers wait for each other before they leave: the first one answers when all have come.

    It also asks each other one for a sign that it came: a worker that dies before is known by its connection.
    """

    def begin(self):
        """Nobody has come."""
        self.condition = threading.Condition()
        self.came: dict[int, list[Future]] = {}
        self.here: dict[int, Future] = {}

    def arrived(self, turn: int) -> Later:
        """Called at the first worker: comes back when all have come."""
        future = Future()
        with self.condition:
            self.came.setdefault(turn, []).append(future)
            self.condition.notify_all()
        return Later(future)

    def sign(self, turn: int) -> Future:
        """Done when this worker has come."""
        with self.condition:
            return self.here.setdefault(turn, Future())

    def wait(self, turn: int, timeout: float):
        """Come, and wait for all; RuntimeError if one is gone."""
        agent = context().agent
        self.sign(turn).set_result(None)
        others = [way.to for way in agent.ways.values() if way.to != agent.info]
        if agent.info.id:
            first = agent.worker(0)
            agent.call(first, _arrived, turn, timeout=timeout, inline=True).wait()
            return
        asked = [agent.call(worker, _sign, turn, timeout=timeout, inline=True) for worker in others]
        error: Exception | None = None
        for future in asked:
            try:
                future.wait()
            except RuntimeError as found:
                error = error or found
        with self.condition:  # those that gave a sign are on their way
            n = len(others) if error is None else 0
            all_came = self.condition.wait_for(lambda: len(self.came.get(turn, ())) >= n, agent.timeout or None)
            waiting = self.came.pop(turn, [])
        if not all_came:
            error = RuntimeError(NOT_LEFT.format(n=n, came=len(waiting)))
        for future in waiting:
            future.set_result(None) if error is None else future.set_exception(error)
        if error is not None:
            raise error


_barrier = _Barrier()


def _arrived(turn: int) -> Later:
    return _barrier.arrived(turn)


def _sign(turn: int) -> Later:
    return Later(_barrier.sign(turn))


def shutdown(graceful: bool = True, timeout: float = DEFAULT_SHUTDOWN_TIMEOUT):
    """Be no worker any more. With `graceful`, when all workers have come here and no call is without its result;
    RuntimeError if one of them is gone, or after `timeout` seconds (0: none).

    >>> import torch.distributed.rpc as rpc
    >>> options = rpc.TensorPipeRpcBackendOptions(init_method="tcp://127.0.0.1:0")
    >>> rpc.init_rpc("alone", rank=0, world_size=1, rpc_backend_options=options)
    >>> rpc.shutdown()
    """
    if not _current:
        return
    found = context()
    try:
        for turn in (0, 1) if graceful else ():  # twice: calls may have made others while some waited
            for future in found.agent.pending():
                future._ready.wait(timeout or None)
            _barrier.wait(turn, timeout)
    finally:
        _current.clear()
        found.close()


__getattr__ = _missing.getter(__name__)
