"""torch.distributed.fsdp.sharded_grad_scaler: GradScaler where each process has a part of the gradients."""

from __future__ import annotations

from ....tape.modes import no_grad
from ....tensors.base import Tensor
from ...amp.grad_scaler import GradScaler
from .. import collectives
from ..group import ProcessGroup, ReduceOp, default
from ..tensor.api import is_distributed


class ShardedGradScaler(GradScaler):
    """GradScaler for FullyShardedDataParallel: a step is skipped by all processes if a gradient of one overflowed.

    All processes of `process_group` (all there are, by default) call its methods together.

    >>> import torch.distributed as dist
    >>> from torch.distributed.fsdp import FullyShardedDataParallel
    >>> from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model, scaler = FullyShardedDataParallel(nn.Linear(2, 1)), ShardedGradScaler("cpu", init_scale=8.0)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    >>> scaler.scale(model(torch.ones(1, 2)).sum()).backward()
    >>> _ = scaler.step(optimizer)
    >>> scaler.update()
    >>> model.weight.grad.full_tensor()
    tensor([[1., 1.]])
    >>> dist.destroy_process_group()
    """

    __module__ = "torch.distributed.fsdp.sharded_grad_scaler"

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        backoff_factor: float = 0.5,
        growth_factor: float = 2.0,
        growth_interval: int = 2000,
        enabled: bool = True,
        process_group: ProcessGroup | None = None,
    ):
        super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)
        self.process_group = default() if self._enabled and process_group is None else process_group

    def _unscale_grads_(self, optimizer, inv_scale: Tensor, found_inf: Tensor, allow_fp16: bool) -> dict:
        """Multiply gradients by inv_scale: device -> 1 if one was infinite or nan in any process, else 0."""
        params = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        grads = [p.grad for p in params]
        parts = [grad.to_local() if is_distributed(grad) else grad for grad in grads]
        finite = all(bool(part.detach().isfinite().all()) for part in parts)
        found = found_inf + (0.0 if finite else 1.0)
        collectives.all_reduce(found, ReduceOp.MAX, self.process_group)
        with no_grad():
            for grad in grads:
                grad.mul_(inv_scale.to(grad.dtype) if is_distributed(grad) else inv_scale)
        return {found.device: found}
