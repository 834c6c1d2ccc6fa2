"""torch.distributed.elastic.rendezvous.api: what a rendezvous is given and gives."""

from __future__ import annotations

import abc
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...group import free_port
from ...stores import Store


class RendezvousError(Exception):
    """A rendezvous failed.

    >>> from torch.distributed.elastic.rendezvous import RendezvousError, RendezvousTimeoutError
    >>> issubclass(RendezvousTimeoutError, RendezvousError)
    True
    """


def _error(name: str, doc: str) -> type[RendezvousError]:
    example = (
        f">>> from torch.distributed.elastic.rendezvous.api import {name}\n    >>> str({name}('why'))\n    'why'\n    "
    )
    return type(name, (RendezvousError,), {"__doc__": f"{doc}\n\n    {example}", "__module__": __name__})


RendezvousClosedError = _error("RendezvousClosedError", "The rendezvous is closed.")
RendezvousTimeoutError = _error("RendezvousTimeoutError", "The others did not come in time.")
RendezvousConnectionError = _error("RendezvousConnectionError", "The place where machines meet cannot be reached.")
RendezvousStateError = _error("RendezvousStateError", "The state of a rendezvous is damaged.")
RendezvousGracefulExitError = _error("RendezvousGracefulExitError", "This machine is not among those that take part.")


@dataclass
class RendezvousStoreInfo:
    """Where the process of rank 0 listens.

    >>> from torch.distributed.elastic.rendezvous import RendezvousStoreInfo
    >>> RendezvousStoreInfo("127.0.0.1", 29500).master_port
    29500
    """

    MASTER_ADDR_KEY = "MASTER_ADDR"
    MASTER_PORT_KEY = "MASTER_PORT"
    master_addr: str
    master_port: int

    @staticmethod
    def build(
        rank: int, store: Store, local_addr: str | None = None, server_port: int | None = None
    ) -> RendezvousStoreInfo:
        """What the machine of rank 0 chooses, its address and a free port, and the others learn by the store."""
        if rank == 0:
            store.set(RendezvousStoreInfo.MASTER_ADDR_KEY, local_addr or socket.getfqdn())
            store.set(RendezvousStoreInfo.MASTER_PORT_KEY, str(server_port or free_port()))
        host, port = (
            store.get(key) for key in (RendezvousStoreInfo.MASTER_ADDR_KEY, RendezvousStoreInfo.MASTER_PORT_KEY)
        )
        return RendezvousStoreInfo(host.decode(), int(port))


class RendezvousInfo:
    """What a rendezvous gives: a store, the number of this machine, how many there are.

    >>> import torch.distributed as dist
    >>> from torch.distributed.elastic.rendezvous import RendezvousInfo, RendezvousStoreInfo
    >>> RendezvousInfo(dist.HashStore(), 0, 1, RendezvousStoreInfo("127.0.0.1", 29500)).world_size
    1
    """

    def __init__(self, store: Store, rank: int, world_size: int, bootstrap_store_info: RendezvousStoreInfo):
        self._store, self._rank, self._world_size = store, rank, world_size
        self._bootstrap_store_info = bootstrap_store_info

    @property
    def store(self) -> Store:
        """What the machines have in common."""
        return self._store

    @property
    def rank(self) -> int:
        """The number of this machine."""
        return self._rank

    @property
    def world_size(self) -> int:
        """How many machines there are."""
        return self._world_size

    @property
    def bootstrap_store_info(self) -> RendezvousStoreInfo:
        """Where the process of rank 0 listens."""
        return self._bootstrap_store_info


class RendezvousHandler(abc.ABC):
    """What lets the machines of a job meet; one's own is registered by its backend's name.

    >>> from torch.distributed.elastic.rendezvous import RendezvousHandler
    >>> RendezvousHandler.__abstractmethods__ >= {"next_rendezvous", "get_run_id"}
    True
    """

    @abc.abstractmethod
    def get_backend(self) -> str:
        """The name of the backend."""

    @property
    def use_agent_store(self) -> bool:
        """Whether workers have the store of the machines for their own."""
        return False

    @abc.abstractmethod
    def next_rendezvous(self) -> RendezvousInfo:
        """Wait for the other machines."""

    @abc.abstractmethod
    def is_closed(self) -> bool:
        """Whether nobody may join any more."""

    @abc.abstractmethod
    def set_closed(self) -> None:
        """Let nobody join any more."""

    @abc.abstractmethod
    def num_nodes_waiting(self) -> int:
        """How many machines came late."""

    @abc.abstractmethod
    def get_run_id(self) -> str:
        """The name of the job."""

    @abc.abstractmethod
    def shutdown(self) -> bool:
        """Give back what was taken."""


class RendezvousParameters:
    """What a rendezvous is given: backend, host:port, the job's name, how many machines; further options by name.

    >>> from torch.distributed.elastic.rendezvous import RendezvousParameters
    >>> RendezvousParameters("static", "host:29500", "job", 1, 2, rank="1").get_as_int("rank")
    1
    """

    def __init__(
        self,
        backend: str,
        endpoint: str,
        run_id: str,
        min_nodes: int,
        max_nodes: int,
        local_addr: str | None = None,
        **kwargs: Any,
    ):
        if not backend:
            raise ValueError("The rendezvous backend name must be a non-empty string.")
        if min_nodes < 1 or max_nodes < min_nodes:
            raise ValueError(f"rendezvous: 1 <= min_nodes ({min_nodes}) <= max_nodes ({max_nodes}) is needed")
        self.backend, self.endpoint, self.run_id = backend, endpoint, run_id
        self.min_nodes, self.max_nodes, self.local_addr, self.config = min_nodes, max_nodes, local_addr, kwargs

    def get(self, key: str, default: Any = None) -> Any:
        """An option."""
        return self.config.get(key, default)

    def get_as_bool(self, key: str, default: bool | None = None) -> bool | None:
        """An option that is true or false."""
        found = self.get(key, default)
        if found is None or isinstance(found, bool):
            return found
        text = str(found).lower()
        if text in ("1", "true", "t", "yes", "y"):
            return True
        if text in ("0", "false", "f", "no", "n"):
            return False
        raise ValueError(f"The rendezvous configuration option '{key}' does not represent a valid boolean value.")

    def get_as_int(self, key: str, default: int | None = None) -> int | None:
        """An option that is a whole number."""
        found = self.get(key, default)
        return None if found is None else int(found)


RendezvousHandlerCreator = Callable[[RendezvousParameters], RendezvousHandler]


class RendezvousHandlerRegistry:
    """The backends, by name.

    >>> from torch.distributed.elastic.rendezvous import RendezvousHandlerRegistry, RendezvousParameters
    >>> registry = RendezvousHandlerRegistry()
    >>> registry.register("mine", lambda parameters: parameters.run_id)
    >>> registry._registry["mine"](RendezvousParameters("mine", "", "job", 1, 1))
    'job'
    """

    def __init__(self) -> None:
        self._registry: dict[str, Callable] = {}

    def register(self, backend: str, creator: Callable) -> None:
        """Add one."""
        if not backend:
            raise ValueError("The rendezvous backend name must be a non-empty string.")
        if self._registry.get(backend, creator) is not creator:
            raise ValueError(f"The rendezvous backend '{backend}' is already registered with another creator.")
        self._registry[backend] = creator

    def create_handler(self, params: RendezvousParameters) -> RendezvousHandler:
        """A handler of the backend that the parameters name."""
        if params.backend not in self._registry:
            known = ", ".join(sorted(self._registry))
            raise ValueError(f"The rendezvous backend '{params.backend}' is not registered; there are {known}")
        return self._registry[params.backend](params)


rendezvous_handler_registry = RendezvousHandlerRegistry()
