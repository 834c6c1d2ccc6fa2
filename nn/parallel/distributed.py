"""DistributedDataParallel in a group of one process."""

from __future__ import annotations

import contextlib

from ... import torch
from .data_parallel import DataParallel

NO_PARAMETERS = (
    "DistributedDataParallel is not needed when a module doesn't have any parameters that require a gradient."
)


class DistributedDataParallel(DataParallel):
    """Calls its module. With one process there are no gradients to average.

    The arguments are PyTorch's; those that tune communication have no effect. ValueError before
    init_process_group.
    """

    def __init__(
        self,
        module,
        device_ids=None,
        output_device=None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group=None,
        bucket_cap_mb=None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params=None,
        param_to_hook_all_reduce=None,
        mixed_precision=None,
        device_mesh=None,
        skip_all_reduce_unused_params: bool = False,
    ):
        if process_group is None:
            process_group = torch.distributed.distributed_c10d._get_default_group()
        super().__init__(module, device_ids, output_device, dim)
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError(NO_PARAMETERS)
        self.process_group, self.broadcast_buffers = process_group, broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.static_graph, self.require_backward_grad_sync = static_graph, True

    @contextlib.contextmanager
    def no_sync(self):
        """Context: gradients would not be averaged."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @contextlib.contextmanager
    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ):
        """Context: processes may have different numbers of inputs."""
        yield

    def join_hook(self, **kwargs):
        """What joined processes do in place of this one's collectives: nothing."""
        return None

    def register_comm_hook(self, state, hook) -> None:
        """Let a hook average gradients; with one process it is never called."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")


__all__ = ["DistributedDataParallel"]
