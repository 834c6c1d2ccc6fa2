"""torch.distributed.algorithms.ddp_comm_hooks: how DistributedDataParallel exchanges gradients."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, member
from functools import partial

from ..... import _missing
from . import debugging_hooks, default_hooks, post_localSGD_hook, powerSGD_hook, quantization_hooks


def _register(model, state, comm_hook: Callable) -> None:
    model.register_comm_hook(state, comm_hook)


def _register_power_sgd(model, state, comm_hook: Callable, rank: int) -> None:
    if not isinstance(state, powerSGD_hook.PowerSGDState):  # a group, or None
        state = powerSGD_hook.PowerSGDState(state, matrix_approximation_rank=rank)
    model.register_comm_hook(state, comm_hook)


class DDPCommHookType(Enum):
    """The hooks, by name, for register_ddp_comm_hook.

    >>> from torch.distributed.algorithms.ddp_comm_hooks import DDPCommHookType
    >>> DDPCommHookType.ALLREDUCE.name
    'ALLREDUCE'
    """

    ALLREDUCE = member(partial(_register, comm_hook=default_hooks.allreduce_hook))
    FP16_COMPRESS = member(partial(_register, comm_hook=default_hooks.fp16_compress_hook))
    BF16_COMPRESS = member(partial(_register, comm_hook=default_hooks.bf16_compress_hook))
    QUANTIZE_PER_TENSOR = member(partial(_register, comm_hook=quantization_hooks.quantization_pertensor_hook))
    QUANTIZE_PER_CHANNEL = member(partial(_register, comm_hook=quantization_hooks.quantization_perchannel_hook))
    POWER_SGD = member(partial(_register_power_sgd, comm_hook=powerSGD_hook.powerSGD_hook, rank=1))
    POWER_SGD_RANK2 = member(partial(_register_power_sgd, comm_hook=powerSGD_hook.powerSGD_hook, rank=2))
    BATCHED_POWER_SGD = member(partial(_register_power_sgd, comm_hook=powerSGD_hook.batched_powerSGD_hook, rank=1))
    BATCHED_POWER_SGD_RANK2 = member(
        partial(_register_power_sgd, comm_hook=powerSGD_hook.batched_powerSGD_hook, rank=2)
    )
    NOOP = member(partial(_register, comm_hook=debugging_hooks.noop_hook))


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model, state=None):
    """Let a hook average the gradients of a DistributedDataParallel, among the processes of `state`, a group.

    >>> from torch.distributed.algorithms.ddp_comm_hooks import DDPCommHookType, register_ddp_comm_hook
    >>> model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    >>> register_ddp_comm_hook(DDPCommHookType.FP16_COMPRESS, model, None)
    >>> model(torch.ones(1, 2)).sum().backward()
    """
    comm_hook_type.value(model=model, state=state)


__getattr__ = _missing.getter(
    __name__,
    ("ddp_zero_hook", "debugging_hooks", "default_hooks", "post_localSGD_hook", "powerSGD_hook", "quantization_hooks"),
)
