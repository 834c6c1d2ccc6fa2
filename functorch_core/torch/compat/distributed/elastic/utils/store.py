"""torch.distributed.elastic.utils.store: what agents tell each other by a store."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from datetime import timedelta

from ...stores import DistStoreError, Store


@contextlib.contextmanager
def store_timeout(store: Store, timeout: float) -> Iterator[None]:
    """Context: the store waits so many seconds for values.

    >>> import torch.distributed as dist
    >>> from torch.distributed.elastic.utils.store import store_timeout
    >>> store = dist.HashStore()
    >>> with store_timeout(store, 2.0):
    ...   store.timeout.total_seconds()
    2.0
    """
    before = store.timeout
    store.set_timeout(timedelta(seconds=timeout))
    try:
        yield
    finally:
        store.set_timeout(before)


def get_all(store: Store, rank: int, prefix: str, world_size: int) -> list[bytes]:
    """The values of the keys `prefix` and a rank, for all ranks; waits until all have read them, if this is rank 0.

    >>> import torch.distributed as dist
    >>> from torch.distributed.elastic.utils.store import get_all
    >>> store = dist.HashStore()
    >>> store.set("size0", "4")
    >>> get_all(store, 0, "size", 1)
    [b'4']
    """
    found = store.multi_get([f"{prefix}{i}" for i in range(world_size)])
    done = f"{prefix}.num_members/done"
    if store.add(f"{prefix}.num_members", 1) == world_size:
        store.set(done, "done")
    if rank == 0:
        store.get(done)
    return found


def synchronize(
    store: Store, data: bytes, rank: int, world_size: int, key_prefix: str, timeout: float = 300
) -> list[bytes]:
    """The data of all ranks.

    >>> import torch.distributed as dist
    >>> from torch.distributed.elastic.utils.store import synchronize
    >>> synchronize(dist.HashStore(), b"mine", 0, 1, "step")
    [b'mine']
    """
    with store_timeout(store, timeout):
        store.set(f"{key_prefix}{rank}", data)
        return get_all(store, rank, key_prefix, world_size)


def barrier(
    store: Store,
    world_size: int,
    key_prefix: str,
    barrier_timeout: float = 300,
    rank: int | None = None,
    rank_tracing_decoder: Callable[[int], str] | None = None,
    trace_timeout: float = 10,
) -> None:
    """Wait until as many have called this; DistStoreError, which names those missing if ranks are given, after the
    timeout (seconds).

    >>> import torch.distributed as dist
    >>> from torch.distributed.elastic.utils.store import barrier
    >>> barrier(dist.HashStore(), 1, "end", rank=0)
    """
    last = f"{key_prefix}/last_member"
    if rank is not None:
        store.set(f"{key_prefix}/{rank}", "here")
    if store.add(f"{key_prefix}/num_members", 1) == world_size:
        store.set(last, "all")
    try:
        with store_timeout(store, barrier_timeout):
            store.get(last)
    except DistStoreError as error:
        if rank is None:
            raise
        name = rank_tracing_decoder or str
        missing = [name(r) for r in range(world_size) if not store.check([f"{key_prefix}/{r}"])]
        raise DistStoreError(
            f"Timed out waiting on barrier on rank {rank}, for key prefix: {key_prefix} (world_size={world_size}, "
            f"missing_ranks=[{', '.join(missing)}], timeout={barrier_timeout}): {error}"
        ) from None
