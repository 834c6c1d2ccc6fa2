"""torch.distributed.rpc.RRef: a value that one worker keeps and others hold on to."""

from __future__ import annotations

import functools
import itertools
import queue
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

from .....locks import RLock
from ....tensors.types import named
from ...futures import Future
from . import agent as _agent
from .agent import TIMED_OUT, Agent, Later, WorkerInfo

NO_PICKLES = "Can not pickle rref in python pickler, rref can only be pickled when using RPC"
NOT_HERE = "For {rref}, can't call localValue() on user {own}. Call it on owner {owner}; to_here() brings a copy"
NO_FUTURE = (
    "Functions decorated with @rpc.async_function must return a torch.futures.Future object, but got {found} of {kind}"
)
Id = tuple[int, int]  # (the worker that made it, its number there)


class Kept:
    """A value at its owner, and how many references others have."""

    def __init__(self) -> None:
        self.future, self.count = Future(), 0


class Keeper:
    """What a worker keeps for others, by id. An entry is made at its first mention, in whatever order calls arrive."""

    def __init__(self) -> None:
        self.kept: dict[Id, Kept] = {}
        self.lock = RLock()

    def entry(self, id: Id) -> Kept:
        """What is kept under an id."""
        with self.lock:
            return self.kept.setdefault(id, Kept())

    def count(self, id: Id, by: int):
        """One reference more, or less: what nobody has any more is forgotten."""
        kept = self.entry(id)
        with self.lock:
            kept.count += by
            if kept.count <= 0 and kept.future.done():
                self.kept.pop(id, None)


class Context:
    """What init_rpc has set up: the agent, and what is kept."""

    def __init__(self, agent: Agent):
        self.agent, self.keeper, self.numbers = agent, Keeper(), itertools.count()
        self.dropped: queue.SimpleQueue = queue.SimpleQueue()  # what nobody here holds on to any more
        threading.Thread(target=self._tell_owners, daemon=True).start()

    def next_id(self) -> Id:
        """An id that no other value has."""
        return self.agent.info.id, next(self.numbers)

    def _tell_owners(self):
        while True:
            found = self.dropped.get()
            if found is None:
                return
            owner, id = found
            self.agent.call(owner, release, id, inline=True)

    def close(self):
        """Leave."""
        self.dropped.put(None)
        self.agent.close()


NOT_INITIALIZED = "RPC has not been initialized. Call torch.distributed.rpc.init_rpc first."
_current: list[Context] = []


def context() -> Context:
    """What init_rpc has set up; RuntimeError before it."""
    if not _current:
        raise RuntimeError(NOT_INITIALIZED)
    return _current[0]


# ---- what others ask of this worker --------------------------------------------------------------


def run(function: Callable, args: tuple, kwargs: dict) -> Any:
    """A function's result; that of its future where it is marked with async_execution."""
    found = function(*args, **kwargs)
    if not getattr(function, "_gives_future", False):
        return found
    if not isinstance(found, Future):
        raise RuntimeError(NO_FUTURE.format(found=found, kind=type(found)))
    return Later(found)


def fill(id: Id, function: Callable, args: tuple, kwargs: dict) -> Any:
    """Keep the result of a function, for the worker that asks."""
    keeper = context().keeper
    kept = keeper.entry(id)
    try:
        found = run(function, args, kwargs)
    except Exception as error:
        kept.future.set_exception(error)
    else:
        if isinstance(found, Later):
            found.future.add_done_callback(functools.partial(_pass_on, kept.future))
        else:
            kept.future.set_result(found)
    keeper.count(id, 1)


def _pass_on(to: Future, done: Future):
    try:
        to.set_result(done.value())
    except Exception as error:
        to.set_exception(error)


def fetch(id: Id) -> Later:
    """The value that is kept under an id."""
    return Later(context().keeper.entry(id).future)


def retain(id: Id):
    """One reference more."""
    context().keeper.count(id, 1)


def release(id: Id):
    """One reference less."""
    if _current:
        context().keeper.count(id, -1)


def invoke(rref: RRef, name: str, args: tuple, kwargs: dict) -> Any:
    """Call a method of the value."""
    return run(getattr(rref.to_here(), name), args, kwargs)


# ---- references ----------------------------------------------------------------------------------


class RRef:
    """A reference to a value that stays with its owner, the worker that makes it: RRef(value), or that of
    torch.distributed.rpc.remote. It can be given to other workers in calls.

    >>> import torch.distributed.rpc as rpc
    >>> options = rpc.TensorPipeRpcBackendOptions(init_method="tcp://127.0.0.1:0")
    >>> rpc.init_rpc("alone", rank=0, world_size=1, rpc_backend_options=options)
    >>> rref = rpc.RRef([1, 2])
    >>> rref.owner_name(), rref.local_value(), rref.rpc_sync().index(2)
    ('alone', [1, 2], 1)
    >>> rpc.shutdown()
    """

    __module__ = "torch.distributed.rpc"
    __class_getitem__ = classmethod(types.GenericAlias)

    def __init__(self, value: Any, type_hint: Any = None):
        self._context = context()
        kept = Kept()
        kept.future.set_result(value)
        self._set(self._context.agent.info, self._context.next_id(), kept)

    def _set(self, owner: WorkerInfo, id: Id, kept: Kept | None):
        self._owner, self._id, self._kept = owner, id, kept
        self._asked: Future | None = None  # where this worker asked for the value

    @classmethod
    def _of(cls, owner: WorkerInfo, id: Id) -> RRef:
        """A reference that the owner counts already."""
        made = object.__new__(cls)
        made._context = found = context()
        if owner == found.agent.info:
            made._set(owner, id, found.keeper.entry(id))
            found.keeper.count(id, -1)  # it is held on to by itself
        else:
            made._set(owner, id, None)
            weakref.finalize(made, found.dropped.put, (owner, id)).atexit = False
        return made

    def __reduce__(self):
        if not _agent.state.pickling:
            raise RuntimeError(NO_PICKLES)
        found = self._context
        if self._kept is not None:
            with found.keeper.lock:
                found.keeper.kept[self._id] = self._kept
            found.keeper.count(self._id, 1)
        else:  # before whoever gets it can give it back
            found.agent.call(self._owner, retain, self._id, inline=True).wait()
        return RRef._of, (self._owner, self._id)

    # ---- where it is

    def is_owner(self) -> bool:
        """Whether the value is here."""
        return self._kept is not None

    def owner(self) -> WorkerInfo:
        """The worker that has the value."""
        return self._owner

    def owner_name(self) -> str:
        """The name of the worker that has the value."""
        return self._owner.name

    def confirmed_by_owner(self) -> bool:
        """Whether the owner knows of this reference."""
        return True

    # ---- the value

    def local_value(self) -> Any:
        """The value, where it is here."""
        if self._kept is None:
            raise RuntimeError(NOT_HERE.format(rref=self, own=self._context.agent.info, owner=self._owner))
        return self._kept.future.wait()

    def to_here(self, timeout: float = -1.0) -> Any:
        """The value, or a copy of that of another worker; its error if the function that was to give it failed."""
        agent = self._context.agent
        seconds = agent.timeout if timeout < 0 else timeout
        asked = self._asked
        if asked is not None:
            _await(asked, seconds)
            self._asked = None  # from now on its owner is asked: an error that is raised here holds on to `self`
            try:
                asked.value()
            finally:
                del asked
        if self._kept is not None:
            _await(self._kept.future, seconds)
            return self._kept.future.value()
        return agent.call(self._owner, fetch, self._id, timeout=timeout).wait()

    def rpc_sync(self, timeout: float = -1.0) -> _Proxy:
        """rref.rpc_sync().method(...) calls a method of the value, at its owner, and waits."""
        return _Proxy(self, lambda *call: self._call(call, timeout).wait())

    def rpc_async(self, timeout: float = -1.0) -> _Proxy:
        """rref.rpc_async().method(...) is the future of what a method of the value gives."""
        return _Proxy(self, lambda *call: self._call(call, timeout))

    def remote(self, timeout: float = -1.0) -> _Proxy:
        """rref.remote().method(...) is a reference to what a method of the value gives, at the same owner."""
        return _Proxy(self, lambda *call: made_by(self._owner, invoke, call, {}, timeout))

    def _call(self, call: tuple, timeout: float) -> Future:
        return self._context.agent.call(self._owner, invoke, *call, timeout=timeout)

    def backward(self, dist_autograd_ctx_id: int = -1, retain_graph: bool = False):
        """The backward pass from the value, which has to be here: of a context, or of this worker alone."""
        if dist_autograd_ctx_id == -1:
            self.local_value().backward(retain_graph=retain_graph)
        else:
            named("distributed.autograd.backward")(dist_autograd_ctx_id, [self.local_value()], retain_graph)

    def __repr__(self) -> str:
        kind, (by, number) = "OwnerRRef" if self.is_owner() else "UserRRef", self._id
        return f"{kind}(RRefId = GloballyUniqueId(created_on={by}, local_id={number}))"


def _await(future: Future, seconds: float) -> None:
    """Until a future is done; RuntimeError after so many seconds (0: never)."""
    if not future._ready.wait(seconds or None):
        raise RuntimeError(TIMED_OUT.format(ms=int(seconds * 1000)))


class _Proxy:
    """The methods of a value of another worker."""

    def __init__(self, rref: RRef, call: Callable):
        self._rref, self._call = rref, call

    def __getattr__(self, name: str) -> Callable:
        return lambda *args, **kwargs: self._call(self._rref, name, args, kwargs)


def made_by(to: WorkerInfo, function: Callable, args: tuple, kwargs: dict, timeout: float) -> RRef:
    """A reference to what a function gives at a worker."""
    found = context()
    id = found.next_id()
    is_own = to == found.agent.info
    if is_own:
        retain(id)
        made = RRef._of(to, id)  # which needs no count
    made_there = found.agent.call(to, fill, id, function, args, kwargs, timeout=timeout)
    if is_own:
        made_there.add_done_callback(lambda _: release(id))
    else:
        made = RRef._of(to, id)
    made._asked = made_there
    return made
