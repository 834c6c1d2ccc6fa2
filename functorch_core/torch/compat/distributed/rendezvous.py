"""torch.distributed.rendezvous: where processes find each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .group import _from_environment, handlers, place_of
from .stores import DEFAULT_TIMEOUT, FileStore, Store, TCPStore, seconds_of

UNKNOWN = "No rendezvous handler for {scheme}://; there are {known}"
TAKEN = "Rendezvous handler for {scheme}:// already registered"
Meeting = Iterator[tuple[Store, int, int]]


def register_rendezvous_handler(scheme: str, handler: Callable[..., Meeting]) -> None:
    """Have handler(url), a generator of (store, rank, world size), answer init_method="scheme://...".

    >>> import torch.distributed as dist
    >>> def alone(url, **options):
    ...   yield dist.HashStore(), 0, 1
    >>> dist.register_rendezvous_handler("alone", alone)
    >>> dist.init_process_group("gloo", init_method="alone://")
    >>> dist.destroy_process_group()
    """
    if scheme in handlers or scheme in _OWN:
        raise RuntimeError(TAKEN.format(scheme=scheme))
    handlers[scheme] = handler


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **options) -> Meeting:
    """A generator of (store, rank, world size) for env://, tcp://host:port, file://path, or a scheme of one's own.

    >>> store, rank, size = next(torch.distributed.rendezvous("tcp://127.0.0.1:0", rank=0, world_size=1))
    >>> rank, size
    (0, 1)
    """
    scheme = url.partition("://")[0]
    if scheme in handlers:
        return handlers[scheme](url, **options)
    if scheme not in _OWN:
        raise RuntimeError(UNKNOWN.format(scheme=scheme, known=", ".join([*_OWN, *handlers])))
    return _meet(url, rank, world_size, seconds_of(options.get("timeout") or DEFAULT_TIMEOUT))


_OWN = ("env", "tcp", "file")


def _meet(url: str, rank: int, world_size: int, seconds: float) -> Meeting:
    if url.startswith("env://"):
        world_size, rank = _from_environment("WORLD_SIZE", world_size, 1), _from_environment("RANK", rank, 0)
    if not 0 <= rank < world_size:
        raise ValueError(f"rendezvous: rank={rank} is not one of world_size={world_size}")
    if url.startswith("file://"):
        yield FileStore(url.removeprefix("file://").partition("?")[0], world_size), rank, world_size
        return
    host, _, port = place_of(url).rpartition(":")
    yield TCPStore(host, int(port), world_size, rank == 0, seconds), rank, world_size
