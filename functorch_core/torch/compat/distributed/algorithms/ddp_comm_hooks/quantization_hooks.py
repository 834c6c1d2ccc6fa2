"""torch.distributed.algorithms.ddp_comm_hooks.quantization_hooks: gradients sent as numbers of 8 bits.

Each process's numbers x become round(x / scale) + zero point, from 0 to 255 between its least and its greatest one; all
get those of all, and add them up in float32.
"""

from __future__ import annotations

import functorch_core.torch as torch

from ....futures import Future
from ... import collectives
from ...group import get_world_size

LEVELS = 255  # of the 8 bits, beside 0


def _scales(rows):
    """(scale, zero point) of each row, whose range has 0 in it."""
    zero = rows.new_zeros(())
    least, greatest = torch.minimum(rows.amin(1), zero), torch.maximum(rows.amax(1), zero)
    scale = ((greatest - least) / LEVELS).clamp(min=torch.finfo(torch.float32).eps)
    return scale, (-(least / scale).round()).clamp(0, LEVELS)


def _mean_of_all(group, rows):
    """The mean of the rows of all processes, which are sent by 8 bits."""
    scale, zero = _scales(rows)
    sent = ((rows / scale[:, None]).round() + zero[:, None]).clamp(0, LEVELS).to(torch.uint8)
    n = get_world_size(group)
    scales, numbers = torch.stack([scale, zero]), sent.contiguous()
    every_scale = [torch.empty_like(scales) for _ in range(n)]
    every_number = [torch.empty_like(numbers) for _ in range(n)]
    collectives.all_gather(every_scale, scales, group=group)
    collectives.all_gather(every_number, numbers, group=group)
    total = torch.zeros_like(rows)
    for (s, z), numbers in zip(every_scale, every_number):
        total += (numbers.float() - z[:, None]) * s[:, None]
    return total / n


def _done(value) -> Future:
    found = Future()
    found.set_result(value)
    return found


def quantization_pertensor_hook(process_group, bucket) -> Future:
    """The mean of the gradients of all, sent by 8 bits with one scale for all of a process's.

    >>> from torch.distributed.algorithms.ddp_comm_hooks.quantization_hooks import quantization_pertensor_hook
    >>> model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    >>> model.register_comm_hook(None, quantization_pertensor_hook)
    >>> model(torch.ones(1, 2)).sum().backward()
    """
    flat = bucket.buffer()
    return _done(_mean_of_all(process_group, flat[None])[0])


def quantization_perchannel_hook(process_group, bucket, bucket_size: int = 512) -> Future:
    """The mean of the gradients of all, sent by 8 bits with a scale for each `bucket_size` of them.

    >>> from torch.distributed.algorithms.ddp_comm_hooks.quantization_hooks import quantization_perchannel_hook
    >>> model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    >>> model.register_comm_hook(None, quantization_perchannel_hook)
    >>> model(torch.ones(1, 2)).sum().backward()
    """
    flat = bucket.buffer()
    n = len(flat)
    padded = torch.nn.functional.pad(flat, (0, -n % bucket_size))
    return _done(_mean_of_all(process_group, padded.view(-1, bucket_size)).reshape(-1)[:n])
