"""torch.distributed.algorithms.ddp_comm_hooks.default_hooks: averages, sent in a dtype that may be narrower."""

from __future__ import annotations

from collections.abc import Callable

from .....tensors.types import by_name
from ....futures import Future
from ... import collectives
from ...group import get_world_size


def _averaged(group, tensor) -> Future:
    """A future of the mean of the tensors of all, put in the tensor's place."""
    tensor.div_(get_world_size(group))
    work = collectives.all_reduce(tensor, group=group, async_op=True)
    return work.get_future().then(lambda future: future.value()[0])


def allreduce_hook(process_group, bucket) -> Future:
    """The mean of the gradients of all: what is done without a hook.

    >>> from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
    >>> model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    >>> model.register_comm_hook(None, allreduce_hook)
    >>> model(torch.ones(1, 2)).sum().backward()
    """
    return _averaged(process_group, bucket.buffer())


def _compressed(group, bucket, dtype) -> Future:
    buffer = bucket.buffer()
    narrow = buffer.to(dtype)
    return _averaged(group, narrow).then(lambda future: buffer.copy_(future.value()))


def fp16_compress_hook(process_group, bucket) -> Future:
    """The mean of the gradients in float16, half the bytes of float32.

    >>> from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
    >>> model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    >>> model.register_comm_hook(None, fp16_compress_hook)
    >>> model(torch.ones(1, 2)).sum().backward()
    """
    return _compressed(process_group, bucket, by_name["float16"])


def bf16_compress_hook(process_group, bucket) -> Future:
    """The mean of the gradients in bfloat16.

    >>> from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook
    >>> model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    >>> model.register_comm_hook(None, bf16_compress_hook)
    >>> model(torch.ones(1, 2)).sum().backward()
    """
    return _compressed(process_group, bucket, by_name["bfloat16"])


def _wrapped(hook: Callable, dtype) -> Callable:
    def wrapped(state, bucket) -> Future:
        wide = bucket.buffer()
        bucket.set_buffer(wide.to(dtype))
        return hook(state, bucket).then(lambda future: wide.copy_(future.value()))

    return wrapped


def fp16_compress_wrapper(hook: Callable) -> Callable:
    """A hook that works on the gradients in float16.

    >>> from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    >>> model.register_comm_hook(None, default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook))
    >>> model(torch.ones(1, 2)).sum().backward()
    """
    return _wrapped(hook, by_name["float16"])


def bf16_compress_wrapper(hook: Callable) -> Callable:
    """A hook that works on the gradients in bfloat16.

    >>> from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    >>> model.register_comm_hook(None, default_hooks.bf16_compress_wrapper(default_hooks.allreduce_hook))
    >>> model(torch.ones(1, 2)).sum().backward()
    """
    return _wrapped(hook, by_name["bfloat16"])
