"""torch.distributed.algorithms.ddp_comm_hooks: how DistributedDataParallel exchanges gradients."""

from __future__ import annotations

import enum
from functools import partial

from ..... import _missing
from . import debugging_hooks, default_hooks, post_localSGD_hook, powerSGD_hook


class DDPCommHookType(enum.Enum):
    """The hooks, by name, for register_ddp_comm_hook.

    >>> from torch.distributed.algorithms.ddp_comm_hooks import DDPCommHookType
    >>> DDPCommHookType.ALLREDUCE.name
    'ALLREDUCE'
    """

    ALLREDUCE = partial(default_hooks.allreduce_hook)
    FP16_COMPRESS = partial(default_hooks.fp16_compress_hook)
    BF16_COMPRESS = partial(default_hooks.bf16_compress_hook)
    POST_LOCAL_SGD = partial(post_localSGD_hook.post_localSGD_hook)
    POWER_SGD = partial(powerSGD_hook.powerSGD_hook)
    BATCHED_POWER_SGD = partial(powerSGD_hook.batched_powerSGD_hook)
    NOOP = partial(debugging_hooks.noop_hook)


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model, state=None):
    """Let a hook average the gradients of a DistributedDataParallel.

    >>> from torch.distributed.algorithms.ddp_comm_hooks import DDPCommHookType, register_ddp_comm_hook
    >>> model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    >>> register_ddp_comm_hook(DDPCommHookType.FP16_COMPRESS, model, None)
    >>> model(torch.ones(1, 2)).sum().backward()
    """
    model.register_comm_hook(state, comm_hook_type.value.func)


__getattr__ = _missing.getter(
    __name__, ("ddp_zero_hook", "debugging_hooks", "default_hooks", "post_localSGD_hook", "powerSGD_hook")
)
