"""DistributedDataParallel: the gradients of all processes are averaged after each backward pass."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import torch
from ...torch.tape.modes import no_grad, state
from ...torch.tape.passes import queue_callback
from .data_parallel import DataParallel

Join = torch.distributed.algorithms.join.Join
GradBucket = torch.distributed.buckets.GradBucket

NO_PARAMETERS = (
    "DistributedDataParallel is not needed when a module doesn't have any parameters that require a gradient."
)
UNUSED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that "
    "your module has parameters that were not used in producing loss. You can enable unused parameter detection by "
    "passing the keyword argument `find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`. "
    "Parameters without a gradient: {names}"
)


class DistributedDataParallel(DataParallel, torch.distributed.algorithms.join.Joinable):
    """Calls its module. After each backward pass a parameter's gradient is the mean of those of all processes.

    The module begins as that of the first process, whose buffers (with `broadcast_buffers`) go to the others before
    each forward pass that comes after one with gradients. RuntimeError where parameters were not used, unless
    `find_unused_parameters`. The arguments that tune communication have no effect: all gradients go in one message for
    each dtype.
    ValueError before init_process_group.

    >>> import torch.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    >>> model(torch.ones(1, 2)).sum().backward()
    >>> model.module.weight.grad
    tensor([[1., 1.]])
    >>> dist.destroy_process_group()
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
        torch.distributed.algorithms.join.Joinable.__init__(self)
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        if not any(p.requires_grad for p in self._taken(module.named_parameters())):
            raise RuntimeError(NO_PARAMETERS)
        self.process_group, self.broadcast_buffers = process_group, broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.static_graph, self.require_backward_grad_sync = static_graph, True
        self.require_forward_param_sync = True  # whether the next forward pass takes the first process's buffers
        self._averaging = False  # whether the backward pass that runs will end with it
        self._by_running = 0  # in `join`, what averages are divided by in place of all processes
        self._hook: tuple | None = None
        self._after_averaging: Callable | None = None  # of an optimizer whose step is a part of the backward pass
        if process_group.size() > 1:
            if init_sync:
                self._follow_first(self._taken([*module.named_parameters(), *module.named_buffers()]))
            self._watch()

    def _watch(self):
        """Be told of gradients."""
        for p in self._taken(self.module.named_parameters()):
            if p.requires_grad:
                p.register_post_accumulate_grad_hook(self._ready)

    def _follow_first(self, tensors, root: int | None = None):
        root = self.process_group.ranks[root or 0]
        for t in tensors:
            torch.distributed.broadcast(t.detach(), root, self.process_group)

    def forward(self, *inputs, **kwargs):
        """The module's result."""
        self._begin()
        return super().forward(*inputs, **kwargs)

    def _begin(self):
        """What a forward pass begins with."""
        several = self.process_group.size() > 1
        root = self._tell_joined() if several and self._join_config.enable else 0
        if several and self._follows_buffers():
            self._follow_first(self._taken(self.module.named_buffers()), root)
        self.require_forward_param_sync = torch.is_grad_enabled() and self.require_backward_grad_sync

    def _taken(self, named) -> list:
        """Those of some parameters or buffers that are not to be ignored."""
        return [x for name, x in named if name not in self.parameters_to_ignore]

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module, params_and_buffers_to_ignore):
        """Leave parameters and buffers of these names to each process, in what is made of this module later."""
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore

    def _follows_buffers(self) -> bool:
        """Whether this forward pass begins with the first process's buffers: if the last one was followed by a backward
        pass that averages. So it is with PyTorch, in evaluation, too."""
        return self.broadcast_buffers and self.require_forward_param_sync

    def _ready(self, parameter):
        """A parameter has its gradient: at the end of this backward pass all are averaged."""
        if self.require_backward_grad_sync and not self._averaging:
            self._averaging = True
            queue_callback(self._average)

    def _average(self):
        self._averaging = False
        ignored = self.parameters_to_ignore
        named = [(n, p) for n, p in self.module.named_parameters() if p.requires_grad and n not in ignored]
        if not self.find_unused_parameters:
            missing = [name for name, p in named if p.grad is None]
            if missing:
                raise RuntimeError(UNUSED.format(names=", ".join(missing)))
            self._average_of([p for _, p in named])
            self._averaged()
            return
        used = np.asarray([p.grad is not None for _, p in named], np.uint8)
        anywhere = self.process_group.run("all_reduce", used, kind="max")
        self._average_of([p for (_, p), u in zip(named, anywhere) if u])
        self._averaged()

    def _averaged(self):
        if self._after_averaging is not None:
            self._after_averaging()

    def _average_of(self, parameters):
        """Average the gradients, all of one dtype in one message; zeros stand for those that a process has not."""
        by_dtype: dict = {}
        for p in parameters:
            if p.grad is not None and p.grad.is_sparse:
                torch.distributed.all_reduce(p.grad, torch.distributed.ReduceOp.AVG, self.process_group)
            else:
                by_dtype.setdefault(p.dtype, []).append(p)
        for group in by_dtype.values():
            if self._hook is None:
                self._average_together(group)
            else:
                grads = [p.detach() * 0 if p.grad is None else p.grad for p in group]
                self._keep(group, self._by_hook(torch.cat([g.reshape(-1) for g in grads]).detach(), group))

    def _average_together(self, group):
        for p in group:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
        grads = [p.grad for p in group]
        with no_grad():
            torch.distributed.all_reduce_coalesced(grads, torch.distributed.ReduceOp.AVG, self.process_group)
            if self._by_running:
                for g in grads:
                    g.mul_(self.process_group.size() / self._by_running)

    def _by_hook(self, flat, group):
        state, hook = self._hook
        mean = hook(state, GradBucket(flat, group)).wait()
        return mean * (self.process_group.size() / self._by_running) if self._by_running else mean

    def _keep(self, group, mean):
        with no_grad():
            for p, part in zip(group, mean.split([p.numel() for p in group])):
                if p.grad is None:
                    p.grad = part.view(p.shape).clone()
                else:
                    p.grad.copy_(part.view(p.shape))

    def _set_static_graph(self):
        """Say that each pass uses the same parameters: nothing is done otherwise for that."""
        self.static_graph = True

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """What PyTorch's Logger says of the settings; times of the parts of a pass are not taken."""
        parameters = self._taken(self.module.named_parameters())
        return {
            "world_size": self.process_group.size(),
            "rank": self.process_group.rank(),
            "module_name": type(self.module).__name__,
            "backend_name": self.process_group.name(),
            "broadcast_buffers": int(self.broadcast_buffers),
            "find_unused_parameters": int(self.find_unused_parameters),
            "static_graph": int(self.static_graph),
            "can_set_static_graph": False,
            "num_parameter_tensors": len(parameters),
            "total_parameter_size_bytes": sum(p.numel() * p.element_size() for p in parameters),
        }

    @contextlib.contextmanager
    def no_sync(self):
        """Context: gradients are added up in each process, and not averaged."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    # ---- uneven inputs

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ):
        """Context for training where processes have different numbers of batches: those that have none left take part
        in averages with zeros, which are divided by the number of all processes, or of those that have some."""
        return Join(
            [self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size
        )

    def join_hook(self, divide_by_initial_world_size: bool = True, **kwargs):
        """What joined processes do: the collectives of a forward and a backward pass, with zeros."""
        self._divides_by_all = divide_by_initial_world_size
        return _JoinHook(self)

    @property
    def join_device(self):
        """Where the parameters are."""
        return next(self.module.parameters()).device

    @property
    def join_process_group(self):
        """The processes that average."""
        return self.process_group

    def _tell_joined(self) -> int:
        """Tell processes without inputs what this one is about to do; the process whose buffers count."""
        work = Join.notify_join_context(self)
        if work is not None and not self._divides_by_all:
            self._by_running = int(work.result()[0].item())
        will_average = self.require_backward_grad_sync and state.enabled
        return self._agreed(self.process_group.rank(), will_average, self._follows_buffers())[0]

    def _agreed(self, *flags) -> list[int]:
        """The greatest of what the processes say."""
        flags = np.asarray([int(f) for f in flags])
        return [int(f) for f in self.process_group.run("all_reduce", flags, kind="max")]

    def _shadow(self):
        """Take part in what a process with inputs does for one batch. The averages become the gradients: an optimizer
        that updates a part of the parameters needs them."""
        if not self._divides_by_all:
            self._by_running = self._join_config.running
        root, averages, follows = self._agreed(-1, 0, 0)
        if follows:
            self._follow_first(self.module.buffers(), root)
        if averages:
            named = [p for p in self.module.parameters() if p.requires_grad]
            if self.find_unused_parameters:
                anywhere = self.process_group.run("all_reduce", np.zeros(len(named), np.uint8), kind="max")
                named = [p for p, used in zip(named, anywhere) if used]
            for p in named:
                p.grad = None
            self._average_of(named)

    def register_comm_hook(self, state, hook: Callable) -> None:
        """Let hook(state, bucket), which returns a future of a tensor, average the gradients in bucket.buffer()."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self._hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self._hook = (state, hook)
        if self.process_group.size() == 1:  # there is nothing to average, but the hook is to be called
            self._watch()


class _JoinHook(torch.distributed.algorithms.join.JoinHook):
    def __init__(self, ddp: DistributedDataParallel):
        self.ddp = ddp

    def main_hook(self):
        """Shadow one iteration of a process that has inputs."""
        self.ddp._shadow()

    def post_hook(self, is_last_joiner: bool):
        """The module becomes that of a process that trained to the end."""
        ddp = self.ddp
        ddp._by_running = 0
        if ddp.process_group.size() > 1:
            (root,) = ddp._agreed(ddp.process_group.rank() if is_last_joiner else -1)
            ddp._follow_first([*ddp.module.parameters(), *ddp.module.buffers()], root)


__all__ = ["DistributedDataParallel"]
