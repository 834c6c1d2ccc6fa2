"""torch.distributed.algorithms._comm_hooks.default_hooks: how FullyShardedDataParallel may add gradients up.

A hook is called as hook(state, gradient, output): it adds up the flat gradients of all processes and leaves this one's
part in `output`; as hook(state, gradient), in place, where parameters are not divided.
"""

from __future__ import annotations

from .....tensors.base import Tensor
from .....tensors.types import by_name
from ... import collectives
from ...group import ProcessGroup, get_world_size


class DefaultState:
    """What hooks divide by: `gradient_predivide_factor` before, `gradient_postdivide_factor` after adding up, together
    the number of processes.

    >>> import torch.distributed as dist
    >>> from torch.distributed.algorithms._comm_hooks.default_hooks import DefaultState
    >>> DefaultState(dist.group.WORLD).gradient_predivide_factor
    1.0
    """

    def __init__(self, process_group: ProcessGroup):
        if process_group is None:
            raise ValueError(f"Expected to pass in an explicit ProcessGroup to {self}.")
        self.process_group, self.world_size = process_group, get_world_size(process_group)
        self.gradient_predivide_factor = self._get_gradient_predivide_factor(self.world_size)
        self.gradient_postdivide_factor = self.world_size / self.gradient_predivide_factor

    @staticmethod
    def _get_gradient_predivide_factor(world_size: int) -> float:
        """The smallest power of two that divides the number and is at least its root."""
        factor = 1
        while world_size % factor == 0 and world_size / factor > factor:
            factor *= 2
        return float(factor)


class LowPrecisionState(DefaultState):
    """DefaultState, and the dtype that gradients have after they were added up in a narrower one.

    >>> import torch.distributed as dist
    >>> from torch.distributed.algorithms._comm_hooks.default_hooks import LowPrecisionState
    >>> LowPrecisionState(dist.group.WORLD).parameter_type
    torch.float32
    """

    def __init__(self, process_group: ProcessGroup, parameter_type=by_name["float32"]):
        super().__init__(process_group)
        self.parameter_type = parameter_type


def allreduce_hook(state: DefaultState, grad: Tensor):
    """The mean over the processes, in place.

    >>> import torch.distributed as dist
    >>> from torch.distributed.algorithms._comm_hooks.default_hooks import DefaultState, allreduce_hook
    >>> allreduce_hook(DefaultState(dist.group.WORLD), torch.ones(2))
    """
    if state.gradient_predivide_factor > 1:
        grad.div_(state.gradient_predivide_factor)
    collectives.all_reduce(grad, group=state.process_group)
    if state.gradient_postdivide_factor > 1:
        grad.div_(state.gradient_postdivide_factor)


def reduce_scatter_hook(state: DefaultState, grad: Tensor, output: Tensor):
    """This process's part of the mean, in `output`.

    >>> import torch.distributed as dist
    >>> from torch.distributed.algorithms._comm_hooks.default_hooks import DefaultState, reduce_scatter_hook
    >>> output = torch.zeros(2)
    >>> reduce_scatter_hook(DefaultState(dist.group.WORLD), torch.ones(2), output)
    >>> output
    tensor([1., 1.])
    """
    if state.gradient_predivide_factor > 1:
        grad.div_(state.gradient_predivide_factor)
    collectives.reduce_scatter_tensor(output, grad, group=state.process_group)
    if state.gradient_postdivide_factor > 1:
        output.div_(state.gradient_postdivide_factor)


def _narrow(dtype, state: LowPrecisionState, grad: Tensor, output: Tensor | None):
    if output is None:
        narrow = grad.to(dtype)
        allreduce_hook(state, narrow)
        grad.copy_(narrow)
    else:
        part = output.to(dtype)
        reduce_scatter_hook(state, grad.to(dtype), part)
        output.copy_(part)


def fp16_compress_hook(state: LowPrecisionState, grad: Tensor, output: Tensor | None = None):
    """The mean, or this process's part of it in `output`, added up in float16.

    >>> import torch.distributed as dist
    >>> from torch.distributed.algorithms._comm_hooks.default_hooks import LowPrecisionState, fp16_compress_hook
    >>> fp16_compress_hook(LowPrecisionState(dist.group.WORLD), torch.ones(2))
    """
    _narrow(by_name["float16"], state, grad, output)


def bf16_compress_hook(state: LowPrecisionState, grad: Tensor, output: Tensor | None = None):
    """The mean, or this process's part of it in `output`, added up in bfloat16.

    >>> import torch.distributed as dist
    >>> from torch.distributed.algorithms._comm_hooks.default_hooks import LowPrecisionState, bf16_compress_hook
    >>> bf16_compress_hook(LowPrecisionState(dist.group.WORLD), torch.ones(2))
    """
    _narrow(by_name["bfloat16"], state, grad, output)
