"""DistributedDataParallel: the gradients of all processes are averaged after each backward pass."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import numpy as np

from ... import torch
from ...engine import to_numpy
from ...torch.tape.modes import no_grad
from ...torch.tape.passes import queue_callback
from ...torch.tensors.base import from_array
from .data_parallel import DataParallel

NO_PARAMETERS = (
    "DistributedDataParallel is not needed when a module doesn't have any parameters that require a gradient."
)
UNUSED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that "
    "your module has parameters that were not used in producing loss. You can enable unused parameter detection by "
    "passing the keyword argument `find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`. "
    "Parameters without a gradient: {names}"
)


class DistributedDataParallel(DataParallel):
    """Calls its module. After each backward pass a parameter's gradient is the mean of those of all processes.

    The module begins as that of the first process, whose buffers (with `broadcast_buffers`) go to the others before
    each forward pass in training. RuntimeError where parameters were not used, unless `find_unused_parameters`. The
    arguments that tune communication have no effect: all gradients go in one message for each dtype.
    ValueError before init_process_group.
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
        self._averaging = False  # whether the backward pass that runs will end with it
        self._hook: tuple | None = None
        if process_group.size() > 1:
            if init_sync:
                self._follow_first([*module.parameters(), *module.buffers()])
            for p in module.parameters():
                if p.requires_grad:
                    p.register_post_accumulate_grad_hook(self._ready)

    def _follow_first(self, tensors):
        root = self.process_group.ranks[0]
        for t in tensors:
            torch.distributed.broadcast(t.detach(), root, self.process_group)

    def forward(self, *inputs, **kwargs):
        """The module's result."""
        several = self.process_group.size() > 1
        if several and self.broadcast_buffers and self.training and self.require_backward_grad_sync:
            self._follow_first(self.module.buffers())
        return super().forward(*inputs, **kwargs)

    def _ready(self, parameter):
        """A parameter has its gradient: at the end of this backward pass all are averaged."""
        if self.require_backward_grad_sync and not self._averaging:
            self._averaging = True
            queue_callback(self._average)

    def _average(self):
        self._averaging = False
        named = [(name, p) for name, p in self.module.named_parameters() if p.requires_grad]
        if not self.find_unused_parameters:
            missing = [name for name, p in named if p.grad is None]
            if missing:
                raise RuntimeError(UNUSED.format(names=", ".join(missing)))
            self._average_of([p for _, p in named])
            return
        used = np.asarray([p.grad is not None for _, p in named], np.uint8)
        anywhere = self.process_group.run("all_reduce", used, kind="max")
        self._average_of([p for (_, p), u in zip(named, anywhere) if u])

    def _average_of(self, parameters):
        """Average the gradients, all of one dtype in one message; zeros stand for those that a process has not."""
        by_dtype: dict = {}
        for p in parameters:
            by_dtype.setdefault(p.dtype, []).append(p)
        for group in by_dtype.values():
            arrays = [np.zeros(p.shape, np.float32) if p.grad is None else to_numpy(p.grad._read()) for p in group]
            flat = from_array(np.concatenate([a.reshape(-1) for a in arrays]).astype(arrays[0].dtype))
            mean = self._mean(flat)
            with no_grad():
                start = 0
                for p in group:
                    part = mean[start : start + p.numel()].view(p.shape)
                    start += p.numel()
                    if p.grad is None:
                        p.grad = part.clone()
                    else:
                        p.grad.copy_(part)

    def _mean(self, flat):
        if self._hook is not None:
            state, hook = self._hook
            return hook(state, GradBucket(flat)).wait()
        torch.distributed.all_reduce(flat, torch.distributed.ReduceOp.AVG, self.process_group)
        return flat

    @contextlib.contextmanager
    def no_sync(self):
        """Context: gradients are added up in each process, and not averaged."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @contextlib.contextmanager
    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ):
        """Context for different numbers of inputs, which only one process can have."""
        if enable and self.process_group.size() > 1:
            raise NotImplementedError(
                "DistributedDataParallel.join of several processes is not implemented by functorch-core; give each "
                "process as many batches (DistributedSampler does)"
            )
        yield

    def join_hook(self, **kwargs):
        """What joined processes do in place of this one's collectives: nothing."""
        return None

    def register_comm_hook(self, state, hook: Callable) -> None:
        """Let hook(state, bucket), which returns a future of a tensor, average the gradients in bucket.buffer()."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self._hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self._hook = (state, hook)


class GradBucket:
    """The gradients of all parameters of one dtype, for a communication hook."""

    def __init__(self, flat):
        self._flat = flat

    def buffer(self):
        """The gradients, one after the other."""
        return self._flat

    def set_buffer(self, tensor):
        """Put others in their place."""
        self._flat = tensor

    def index(self) -> int:
        """0."""
        return 0

    def is_last(self) -> bool:
        """True."""
        return True


__all__ = ["DistributedDataParallel"]
