"""torch.distributed.algorithms.ddp_comm_hooks.debugging_hooks."""

from ....futures import Future


def noop_hook(_, bucket) -> Future:
    """Leave the gradients of each process as they are.

    >>> from torch.distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook
    >>> model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    >>> model.register_comm_hook(None, noop_hook)
    >>> model(torch.ones(1, 2)).sum().backward()
    """
    future: Future = Future()
    future.set_result(bucket.buffer())
    return future
