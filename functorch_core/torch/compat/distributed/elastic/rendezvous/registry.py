"""torch.distributed.elastic.rendezvous.registry: the backends that are there.

"static" and "c10d" meet in a TCPStore, at a number of machines that does not change (`min_nodes`).
"""

from __future__ import annotations

from ...group import free_port
from ...stores import DEFAULT_TIMEOUT, HashStore, PrefixStore, Store, TCPStore
from .api import (
    RendezvousHandler,
    RendezvousInfo,
    RendezvousParameters,
    RendezvousStoreInfo,
    rendezvous_handler_registry,
)


class _Meeting(RendezvousHandler):
    def __init__(self, params: RendezvousParameters):
        self.params, self.turns, self.closed = params, 0, False
        host, _, port = params.endpoint.partition(":")
        self.host, self.port = host or "127.0.0.1", int(port or 29500)
        self.rank = params.get_as_int("rank", 0 if params.min_nodes == 1 else params.get_as_int("node_rank"))
        self.store: Store | None = None

    def get_backend(self) -> str:
        """The name of the backend."""
        return self.params.backend

    def next_rendezvous(self) -> RendezvousInfo:
        """Wait for the other machines."""
        n, self.turns = self.params.min_nodes, self.turns + 1
        if self.store is None:
            seconds = self.params.get("timeout") or DEFAULT_TIMEOUT
            self.store = HashStore() if n == 1 else TCPStore(self.host, self.port, n, self.rank == 0, seconds)
        store = PrefixStore(f"{self.params.run_id}/{self.turns}", self.store)
        if self.rank == 0:
            store.set("port", str(free_port()))
        port = int(store.get("port"))
        return RendezvousInfo(store, self.rank, n, RendezvousStoreInfo(self.host, port))

    def is_closed(self) -> bool:
        """Whether nobody may join any more."""
        return self.closed

    def set_closed(self) -> None:
        """Let nobody join any more."""
        self.closed = True

    def num_nodes_waiting(self) -> int:
        """0: their number does not change."""
        return 0

    def get_run_id(self) -> str:
        """The name of the job."""
        return self.params.run_id

    def shutdown(self) -> bool:
        """Give back what was taken."""
        self.closed = True
        return True


for _backend in ("static", "c10d"):
    rendezvous_handler_registry.register(_backend, _Meeting)


def get_rendezvous_handler(params: RendezvousParameters) -> RendezvousHandler:
    """A handler of the backend that the parameters name.

    >>> from torch.distributed.elastic.rendezvous import RendezvousParameters
    >>> from torch.distributed.elastic.rendezvous.registry import get_rendezvous_handler
    >>> get_rendezvous_handler(RendezvousParameters("static", "127.0.0.1:0", "job", 1, 1)).get_run_id()
    'job'
    """
    return rendezvous_handler_registry.create_handler(params)
