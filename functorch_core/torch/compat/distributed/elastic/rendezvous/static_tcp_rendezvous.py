"""torch.distributed.elastic.rendezvous.static_tcp_rendezvous: machines whose number and ranks are known."""

from __future__ import annotations

from ...group import free_port
from ...stores import DEFAULT_TIMEOUT, HashStore, PrefixStore, Store, TCPStore
from .api import RendezvousHandler, RendezvousInfo, RendezvousParameters, RendezvousStoreInfo
from .utils import parse_rendezvous_endpoint


class StaticTCPRendezvous(RendezvousHandler):
    """min_nodes machines that meet at the one of rank 0.

    >>> from torch.distributed.elastic.rendezvous.static_tcp_rendezvous import StaticTCPRendezvous
    >>> found = StaticTCPRendezvous("127.0.0.1", 0, rank=0, world_size=1, run_id="job", timeout=30).next_rendezvous()
    >>> found.rank, found.world_size
    (0, 1)
    """

    def __init__(self, master_addr: str, master_port: int, rank: int, world_size: int, run_id: str, timeout: int):
        self.master_addr, self.master_port, self.rank, self.world_size = master_addr, master_port, rank, world_size
        self.run_id, self.timeout, self._turns = run_id, timeout, 0
        self._store: Store | None = None

    def get_backend(self) -> str:
        """static."""
        return "static"

    def next_rendezvous(self) -> RendezvousInfo:
        """Wait for the other machines."""
        n, self._turns = self.world_size, self._turns + 1
        if self._store is None and n == 1:
            self._store = HashStore()
        elif self._store is None:
            self._store = TCPStore(self.master_addr, self.master_port, n, self.rank == 0, self.timeout)
        store = PrefixStore(f"{self.run_id}/{self._turns}", self._store)
        if self.rank == 0:
            store.set("port", str(free_port()))
        where = RendezvousStoreInfo(self.master_addr, int(store.get("port")))
        return RendezvousInfo(store, self.rank, n, where)

    def is_closed(self) -> bool:
        """False."""
        return False

    def set_closed(self) -> None:
        """Nothing: it stays open."""

    def num_nodes_waiting(self) -> int:
        """0: their number does not change."""
        return 0

    def get_run_id(self) -> str:
        """The name of the job."""
        return self.run_id

    def shutdown(self) -> bool:
        """True: nothing is to be given back."""
        return True


def create_rdzv_handler(params: RendezvousParameters) -> RendezvousHandler:
    """The handler that parameters say; their `rank` is needed where there are several machines.

    >>> from torch.distributed.elastic.rendezvous import RendezvousParameters
    >>> from torch.distributed.elastic.rendezvous.static_tcp_rendezvous import create_rdzv_handler
    >>> create_rdzv_handler(RendezvousParameters("static", "127.0.0.1:0", "job", 1, 1)).get_run_id()
    'job'
    """
    n = params.min_nodes
    if n > 1 and params.get("rank") is None:
        raise ValueError("rank is absent in RendezvousParameters. Try add --node-rank to the cmd request")
    host, port = parse_rendezvous_endpoint(params.endpoint, 29500)
    timeout = params.get_as_int("timeout") or int(DEFAULT_TIMEOUT.total_seconds())
    rank = params.get_as_int("rank", 0) or 0
    return StaticTCPRendezvous("127.0.0.1" if host == "localhost" else host, port, rank, n, params.run_id, timeout)
