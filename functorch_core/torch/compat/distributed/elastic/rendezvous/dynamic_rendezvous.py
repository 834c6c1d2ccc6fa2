"""torch.distributed.elastic.rendezvous.dynamic_rendezvous: machines that come and go.

What all machines know of each other is one state in a backend, which each changes by comparing and setting. Machines
join a round until it has as many as it may, or as it needs and nobody else came for a while. Who comes later waits;
those of the round see that, end their workers, leave it and join the next one with the late ones. A machine that has
not been heard of for some time is taken out.
"""

from __future__ import annotations

import abc
import contextlib
import itertools
import json
import os
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from ...stores import PrefixStore, Store
from .api import (
    RendezvousClosedError,
    RendezvousError,
    RendezvousHandler,
    RendezvousInfo,
    RendezvousParameters,
    RendezvousStateError,
    RendezvousStoreInfo,
    RendezvousTimeoutError,
)
from .utils import own_address

PAUSE = 0.05, 0.2  # seconds between two looks at the state: a number between them, as not all are to look at once
Token = Any
CLOSED = "The rendezvous '{run_id}' is closed: a machine of it has ended, for good or after a failure."
LATE = (
    "The rendezvous '{run_id}' did not complete within {seconds:g} s: {here} of at least {wanted} machines are there."
)
_numbers = itertools.count()


class RendezvousBackend(abc.ABC):
    """Where the state of a rendezvous is kept.

    >>> from torch.distributed.elastic.rendezvous.dynamic_rendezvous import RendezvousBackend
    >>> sorted(RendezvousBackend.__abstractmethods__)
    ['get_state', 'name', 'set_state']
    """

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name of the backend."""

    @abc.abstractmethod
    def get_state(self) -> tuple[bytes, Token] | None:
        """The state and what stands for it in set_state; None if there is none. RendezvousConnectionError if it cannot
        be reached."""

    @abc.abstractmethod
    def set_state(self, state: bytes, token: Token | None = None) -> tuple[bytes, Token, bool] | None:
        """Replace the state if `token` still stands for it: the state then, its token, and whether it was replaced."""


class RendezvousTimeout:
    """How long is waited: for machines at least needed (`join`), for more of them (`last_call`), for closing, for a
    sign of life to be written. ValueError if one is not positive.

    >>> from datetime import timedelta
    >>> from torch.distributed.elastic.rendezvous.dynamic_rendezvous import RendezvousTimeout
    >>> RendezvousTimeout(join=timedelta(seconds=60)).last_call.total_seconds()
    30.0
    """

    DEFAULTS = {"join": 600, "last_call": 30, "close": 30, "heartbeat": 5}

    def __init__(
        self,
        join: timedelta | None = None,
        last_call: timedelta | None = None,
        close: timedelta | None = None,
        heartbeat: timedelta | None = None,
    ):
        given = {"join": join, "last_call": last_call, "close": close, "heartbeat": heartbeat}
        for name, value in given.items():
            value = timedelta(seconds=self.DEFAULTS[name]) if value is None else value
            if value <= timedelta(0):
                raise ValueError(f"The {name} timeout ({value}) must be positive.")
            setattr(self, f"_{name}", value)

    @property
    def join(self) -> timedelta:
        """How long one waits for as many machines as are needed."""
        return self._join

    @property
    def last_call(self) -> timedelta:
        """How long more machines are waited for."""
        return self._last_call

    @property
    def close(self) -> timedelta:
        """How long closing may take."""
        return self._close

    @property
    def heartbeat(self) -> timedelta:
        """How long a sign of life may take."""
        return self._heartbeat


@dataclass(repr=False, eq=False, frozen=True)
class RendezvousSettings:
    """The settings of a DynamicRendezvousHandler.

    >>> from datetime import timedelta
    >>> from torch.distributed.elastic.rendezvous.dynamic_rendezvous import RendezvousSettings, RendezvousTimeout
    >>> RendezvousSettings("job", 1, 4, RendezvousTimeout(), timedelta(seconds=5), 3).max_nodes
    4
    """

    run_id: str
    min_nodes: int
    max_nodes: int
    timeout: RendezvousTimeout
    keep_alive_interval: timedelta
    keep_alive_max_attempt: int


@dataclass
class _State:
    """What all machines know of each other, by their names."""

    round: int = 0
    complete: bool = False
    deadline: float | None = None  # seconds since 1970 when the round is complete, though more machines might come
    closed: bool = False
    participants: dict[str, int] = field(default_factory=dict)  # and their ranks, once the round is complete
    waiting: list[str] = field(default_factory=list)  # for the next round
    spare: list[str] = field(default_factory=list)  # who come when there are as many as there may be
    seen: dict[str, float] = field(default_factory=dict)  # seconds since 1970 of the last sign of life

    @classmethod
    def of(cls, text: bytes) -> _State:
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError):
            raise RendezvousStateError("The rendezvous state is corrupt. See inner exception for details.") from None

    def text(self) -> bytes:
        return json.dumps(vars(self), sort_keys=True).encode()

    def remove(self, name: str) -> None:
        """Take a machine out; the round ends with its last one."""
        self.seen.pop(name, None)
        for others in (self.waiting, self.spare):
            if name in others:
                others.remove(name)
        if self.participants.pop(name, None) is not None and self.complete and not self.participants:
            self.round, self.complete, self.deadline = self.round + 1, False, None

    def finish(self) -> None:
        """Let the round be complete: ranks in the order of names."""
        self.complete, self.deadline = True, None
        self.participants = {name: rank for rank, name in enumerate(sorted(self.participants))}


class DynamicRendezvousHandler(RendezvousHandler):
    """A rendezvous of min_nodes to max_nodes machines, which come and go. `from_backend` makes one.

    >>> import torch.distributed as dist
    >>> from torch.distributed.elastic.rendezvous.c10d_rendezvous_backend import C10dRendezvousBackend
    >>> from torch.distributed.elastic.rendezvous.dynamic_rendezvous import DynamicRendezvousHandler
    >>> store = dist.HashStore()
    >>> backend = C10dRendezvousBackend(store, "job")
    >>> handler = DynamicRendezvousHandler.from_backend("job", store, backend, min_nodes=1, max_nodes=1)
    >>> found = handler.next_rendezvous()
    >>> found.rank, found.world_size, handler.num_nodes_waiting(), handler.shutdown()
    (0, 1, 0, True)
    """

    @classmethod
    def from_backend(
        cls,
        run_id: str,
        store: Store,
        backend: RendezvousBackend,
        min_nodes: int,
        max_nodes: int,
        local_addr: str | None = None,
        timeout: RendezvousTimeout | None = None,
        keep_alive_interval: int = 5,
        keep_alive_max_attempt: int = 3,
    ) -> DynamicRendezvousHandler:
        """A handler whose state a backend keeps; `store` is what the machines of a round are given."""
        every = timedelta(seconds=keep_alive_interval)
        settings = RendezvousSettings(
            run_id, min_nodes, max_nodes, timeout or RendezvousTimeout(), every, keep_alive_max_attempt
        )
        address = local_addr or own_address(getattr(store, "host", ""))
        return cls(f"{address}_{os.getpid()}_{next(_numbers)}", address, settings, backend, store)

    def __init__(self, name: str, address: str, settings: RendezvousSettings, backend: RendezvousBackend, store: Store):
        if not settings.run_id:
            raise ValueError("The run id must be a non-empty string.")
        if not 1 <= settings.min_nodes <= settings.max_nodes:
            raise ValueError(
                f"The minimum number of nodes ({settings.min_nodes}) must be at least 1 and at most the maximum "
                f"({settings.max_nodes})."
            )
        self._name, self._address, self._settings = name, address, settings
        self._backend, self._store = backend, store
        self._alive: threading.Thread | None = None
        self._ended = threading.Event()

    @property
    def settings(self) -> RendezvousSettings:
        """The settings."""
        return self._settings

    def get_backend(self) -> str:
        """The name of the backend."""
        return self._backend.name

    def get_run_id(self) -> str:
        """The name of the job."""
        return self._settings.run_id

    # ---- meeting

    def next_rendezvous(self) -> RendezvousInfo:
        """Wait for the other machines. RendezvousTimeoutError if too few come, RendezvousClosedError if no more may."""
        self._stop()
        self._change(self._leave, self._settings.timeout.join)
        try:
            state = self._change(self._join, self._settings.timeout.join)
        except BaseException:  # an interrupt, too: others are not to count on this machine
            with contextlib.suppress(RendezvousError):
                self._change(self._leave, self._settings.timeout.close)
            raise
        self._ended.clear()
        self._alive = threading.Thread(target=self._keep_alive, daemon=True)
        self._alive.start()
        store = PrefixStore(f"torch.rendezvous.{self._settings.run_id}.{state.round}", self._store)
        rank = state.participants[self._name]
        where = RendezvousStoreInfo.build(rank, store, local_addr=self._address)
        return RendezvousInfo(store, rank, len(state.participants), where)

    def num_nodes_waiting(self) -> int:
        """How many machines have come since the round was complete and could be taken in."""
        state, _ = self._read()
        return len(state.waiting)

    def is_closed(self) -> bool:
        """Whether nobody may join any more."""
        return self._read()[0].closed

    def set_closed(self) -> None:
        """Let nobody join any more."""

        def close(state: _State) -> bool:
            state.closed = True
            return True

        self._change(close, self._settings.timeout.close)

    def leave(self) -> None:
        """Leave the others without closing: they may go on."""
        self._stop()
        self._change(self._leave, self._settings.timeout.close)

    def shutdown(self) -> bool:
        """Leave, and let nobody join any more; whether that could be said."""
        self._stop()
        try:
            self.set_closed()
        except RendezvousError:
            return False
        return True

    # ---- changes of the state

    def _read(self) -> tuple[_State, Token]:
        found = self._backend.get_state()
        return (_State(), None) if found is None else (_State.of(found[0]), found[1])

    def _change(self, decide: Callable[[_State], bool], limit: timedelta) -> _State:
        """Let decide(state) change the state until it says that this is it."""
        end = time.monotonic() + limit.total_seconds()
        while True:
            state, token = self._read()
            before = state.text()
            self._remove_lost(state)
            done = decide(state)
            after = state.text()
            if after == before:
                is_kept = True
            else:
                found = self._backend.set_state(after, token)
                is_kept = found is not None and found[2]
            if done and is_kept:
                return state
            if time.monotonic() > end:
                wanted, here = self._settings.min_nodes, len(state.participants)
                text = LATE.format(run_id=self.get_run_id(), seconds=limit.total_seconds(), here=here, wanted=wanted)
                raise RendezvousTimeoutError(text)
            time.sleep(random.uniform(*PAUSE))

    def _remove_lost(self, state: _State) -> None:
        """Take out machines that have not been heard of."""
        settings = self._settings
        oldest = time.time() - settings.keep_alive_interval.total_seconds() * settings.keep_alive_max_attempt
        for name, seen in list(state.seen.items()):
            if seen < oldest and name != self._name:
                state.remove(name)
        if state.complete and len(state.participants) < settings.max_nodes:
            state.waiting, state.spare = state.waiting + state.spare, []

    def _join(self, state: _State) -> bool:
        settings, now = self._settings, time.time()
        if state.complete and self._name in state.participants:
            return True
        if state.closed:
            raise RendezvousClosedError(CLOSED.format(run_id=settings.run_id))
        self._say_alive(state)
        if state.complete:
            if self._name not in state.waiting and self._name not in state.spare:
                is_full = len(state.participants) >= settings.max_nodes
                (state.spare if is_full else state.waiting).append(self._name)
            return False
        if self._name not in state.participants and len(state.participants) < settings.max_nodes:
            for others in (state.waiting, state.spare):
                if self._name in others:
                    others.remove(self._name)
            state.participants[self._name] = -1
        n = len(state.participants)
        if n < settings.min_nodes:
            state.deadline = None
        elif state.deadline is None:
            state.deadline = now + settings.timeout.last_call.total_seconds()
        if n == settings.max_nodes or (state.deadline is not None and now >= state.deadline):
            state.finish()
        return state.complete and self._name in state.participants

    def _leave(self, state: _State) -> bool:
        state.remove(self._name)
        return True

    # ---- signs of life

    def _say_alive(self, state: _State) -> bool:
        now = time.time()
        if now - state.seen.get(self._name, 0.0) > self._settings.keep_alive_interval.total_seconds() / 2:
            state.seen[self._name] = now
        return True

    def _keep_alive(self) -> None:
        while not self._ended.wait(self._settings.keep_alive_interval.total_seconds()):
            try:
                self._change(self._say_alive, self._settings.timeout.heartbeat)
            except RendezvousError:
                continue  # the others think of this machine as lost after some time

    def _stop(self) -> None:
        """No more signs of life."""
        thread, self._alive = self._alive, None
        if thread is not None:
            self._ended.set()
            thread.join()


def create_handler(store: Store, backend: RendezvousBackend, params: RendezvousParameters) -> DynamicRendezvousHandler:
    """A handler with the options of the parameters: join_timeout, last_call_timeout, close_timeout, heartbeat_timeout,
    keep_alive_interval (seconds) and keep_alive_max_attempt.

    >>> import torch.distributed as dist
    >>> from torch.distributed.elastic.rendezvous import RendezvousParameters
    >>> from torch.distributed.elastic.rendezvous.c10d_rendezvous_backend import C10dRendezvousBackend
    >>> from torch.distributed.elastic.rendezvous.dynamic_rendezvous import create_handler
    >>> store, given = dist.HashStore(), RendezvousParameters("c10d", "", "job", 1, 2, last_call_timeout=2)
    >>> create_handler(store, C10dRendezvousBackend(store, "job"), given).settings.timeout.last_call.total_seconds()
    2.0
    """

    def seconds(name: str) -> timedelta | None:
        found = params.get_as_int(f"{name}_timeout")
        return None if found is None else timedelta(seconds=found)

    timeout = RendezvousTimeout(*[seconds(name) for name in RendezvousTimeout.DEFAULTS])
    return DynamicRendezvousHandler.from_backend(
        params.run_id,
        store,
        backend,
        params.min_nodes,
        params.max_nodes,
        params.local_addr,
        timeout,
        params.get_as_int("keep_alive_interval", 5),
        params.get_as_int("keep_alive_max_attempt", 3),
    )
