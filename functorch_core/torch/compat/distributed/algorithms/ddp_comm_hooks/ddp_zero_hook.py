"""Communication hooks that let a ZeroRedundancyOptimizer make its step in the backward pass."""

from __future__ import annotations

from collections.abc import Callable

from ..... import _missing

NO_OVERLAP = (
    "ZeroRedundancyOptimizer must be constructed with `overlap_with_ddp=True` to use this hook properly: it would make "
    "its step twice"
)


def hook_with_zero_step(hook: Callable, ddp, zero, shard_buckets: bool = False) -> Callable:
    """A hook that averages gradients as `hook` does; after the last ones of a backward pass, `zero` makes its step.

    ValueError for an optimizer without overlap_with_ddp. Parameters change from the first backward pass on (PyTorch's
    from the third); `shard_buckets` has no effect.

    >>> from torch.distributed.algorithms.ddp_comm_hooks.ddp_zero_hook import hook_with_zero_step
    >>> from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
    >>> from torch.distributed.optim import ZeroRedundancyOptimizer
    >>> model = nn.parallel.DistributedDataParallel(nn.Linear(1, 1, bias=False))
    >>> before = model.module.weight.item()
    >>> zero = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, overlap_with_ddp=True, lr=1.0)
    >>> model.register_comm_hook(None, hook_with_zero_step(allreduce_hook, model, zero))
    >>> model(torch.ones(1, 1)).sum().backward()
    >>> round(before - model.module.weight.item(), 5)
    1.0
    """
    if not zero._overlap_with_ddp:
        raise ValueError(NO_OVERLAP)
    ddp._after_averaging = zero._step_of_backward
    return hook


hook_with_zero_step_interleaved = hook_with_zero_step

__getattr__ = _missing.getter(__name__)
