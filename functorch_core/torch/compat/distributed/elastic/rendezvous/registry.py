"""torch.distributed.elastic.rendezvous.registry: the backends that are there, "static" and "c10d"."""

from __future__ import annotations

from .api import RendezvousHandler, RendezvousParameters, rendezvous_handler_registry
from .c10d_rendezvous_backend import create_backend
from .dynamic_rendezvous import DynamicRendezvousHandler, create_handler
from .static_tcp_rendezvous import create_rdzv_handler


def _create_c10d_handler(params: RendezvousParameters) -> DynamicRendezvousHandler:
    backend, store = create_backend(params)
    return create_handler(store, backend, params)


rendezvous_handler_registry.register("static", create_rdzv_handler)
rendezvous_handler_registry.register("c10d", _create_c10d_handler)


def get_rendezvous_handler(params: RendezvousParameters) -> RendezvousHandler:
    """A handler of the backend that the parameters name.

    >>> from torch.distributed.elastic.rendezvous import RendezvousParameters
    >>> from torch.distributed.elastic.rendezvous.registry import get_rendezvous_handler
    >>> get_rendezvous_handler(RendezvousParameters("static", "127.0.0.1:0", "job", 1, 1)).get_run_id()
    'job'
    """
    return rendezvous_handler_registry.create_handler(params)
