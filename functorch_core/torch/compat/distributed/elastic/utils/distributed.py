"""torch.distributed.elastic.utils.distributed: a store of c10d, and free ports."""

from __future__ import annotations

from ...group import free_port
from ...stores import TCPStore
from .api import get_socket_with_port

__all__ = ["create_c10d_store", "get_free_port", "get_socket_with_port"]


def create_c10d_store(
    is_server: bool,
    server_addr: str,
    server_port: int = -1,
    world_size: int = 1,
    timeout: float = 60 * 10,
    wait_for_workers: bool = True,
    retries: int = 3,
    use_libuv: bool | None = None,
) -> TCPStore:
    """A TCPStore; of the server at any free port if it is -1, which is tried so often.

    >>> from torch.distributed.elastic.utils.distributed import create_c10d_store
    >>> create_c10d_store(is_server=True, server_addr="127.0.0.1").port > 0
    True
    """
    if server_port == -1 and world_size > 1:
        raise ValueError(f"server_port must be specified when world_size > 1, got server_port={server_port}")
    port = max(server_port, 0)
    return TCPStore(server_addr, port, world_size, is_server, timeout, wait_for_workers)


def get_free_port() -> int:
    """A port that nobody uses now.

    >>> from torch.distributed.elastic.utils.distributed import get_free_port
    >>> get_free_port() > 0
    True
    """
    return free_port()
