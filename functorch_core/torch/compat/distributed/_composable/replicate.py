"""torch.distributed._composable.replicate: a module that trains in several processes, and stays what it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import functorch_core.torch as torch

from ..group import init_process_group, is_initialized


class DDP:
    """What a module is beside its class after `replicate`.

    >>> from torch.distributed._composable.replicate import DDP, replicate
    >>> isinstance(replicate(nn.Linear(2, 1)), DDP)
    True
    """

    _replicated: tuple[Any]

    def set_requires_gradient_sync(self, requires_gradient_sync: bool) -> None:
        """Whether backward passes average gradients, or add up each process's own."""
        self._replicated[0].require_backward_grad_sync = requires_gradient_sync

    def register_comm_hook(self, *args: Any, **kwargs: Any) -> None:
        """Average by a hook: see DistributedDataParallel.register_comm_hook."""
        self._replicated[0].register_comm_hook(*args, **kwargs)


def replicate(module, ignored_modules: Iterable | None = None, **kwargs: Any):
    """The module itself, whose gradients are means over the processes, as with DistributedDataParallel, which takes
    the other arguments (device_mesh=: one of one dimension, in place of process_group). Its class is a new one,
    beside its own that of `DDP`.

    >>> from torch.distributed._composable import replicate
    >>> model = replicate(nn.Linear(2, 1))
    >>> type(model).__name__, model(torch.ones(1, 2)).shape
    ('DDPLinear', torch.Size([1, 1]))
    """
    parallel = torch.nn.parallel.DistributedDataParallel
    if not is_initialized():
        init_process_group()
    mesh = kwargs.pop("device_mesh", None)
    if mesh is not None:
        kwargs["process_group"] = mesh.get_group()
    left_out = {id(x) for part in ignored_modules or () for x in (*part.parameters(), *part.buffers())}
    named = (*module.named_parameters(), *module.named_buffers())
    parallel._set_params_and_buffers_to_ignore_for_model(module, [name for name, x in named if id(x) in left_out])
    made = parallel(module, **kwargs)
    module.register_forward_pre_hook(lambda *_: made._begin())
    cls = type(module)
    module.__class__ = type(f"DDP{cls.__name__}", (DDP, cls), {"__module__": cls.__module__})
    module._replicated = (made,)  # a module in a tuple is no part of it
    return module
