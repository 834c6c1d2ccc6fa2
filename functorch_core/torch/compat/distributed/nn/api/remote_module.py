"""torch.distributed.nn.api.remote_module: a module that is made, and computes, in another process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ......nn import Module
from ....futures import Future
from ... import rpc

PLACE = "remote_device={given!r}: expected 'worker' or 'worker/device', or 'rank:number' with or without a device"
NOT_A_MODULE = "Expect `module_cls` to be a subclass of `nn.Module`, got {given!r}"
UNSUPPORTED = "Method ``{name}`` not supported for RemoteModule"


def _make(module_cls: type, args: tuple, kwargs: dict, device: str) -> rpc.RRef:
    return rpc.RRef(module_cls(*args, **kwargs).to(device))


def _forward(module: rpc.RRef, args: tuple, kwargs: dict) -> Any:
    return module.local_value()(*args, **kwargs)


def _parameters(module: rpc.RRef, recurse: bool) -> list[rpc.RRef]:
    return [rpc.RRef(p) for p in module.local_value().parameters(recurse)]


def _parsed(given: str) -> tuple[str | int, str]:
    """(a worker's name or rank, a device)."""
    worker, _, device = given.partition("/") if isinstance(given, str) else ("", "", "")
    if not worker or (worker.startswith("rank:") and not worker[5:].isdecimal()):
        raise ValueError(PLACE.format(given=given))
    return (int(worker[5:]) if worker.startswith("rank:") else worker), device or "cpu"


class RemoteModule(Module):
    """A module of another process, called as if it were here; its parameters stay there.

    remote_device: "worker/device" ("worker1/cpu"), or "rank:1/cpu". The module is module_cls(*args, **kwargs). Calls
    are differentiable in a context of torch.distributed.autograd. ValueError for what only works where the module is
    (`parameters`, `to`, `state_dict`, ...).

    >>> import torch.distributed.rpc as rpc
    >>> from torch.distributed.nn.api.remote_module import RemoteModule
    >>> options = rpc.TensorPipeRpcBackendOptions(init_method="tcp://127.0.0.1:0")
    >>> rpc.init_rpc("alone", rank=0, world_size=1, rpc_backend_options=options)
    >>> layer = RemoteModule("alone/cpu", nn.Linear, args=(2, 3))
    >>> layer(torch.ones(4, 2)).shape, len(layer.remote_parameters())
    (torch.Size([4, 3]), 2)
    >>> rpc.shutdown()
    """

    def __init__(
        self,
        remote_device: str,
        module_cls: type[Module],
        args: tuple | None = None,
        kwargs: dict[str, Any] | None = None,
    ):
        super().__init__()
        if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
            raise TypeError(NOT_A_MODULE.format(given=module_cls))
        self.remote_device = remote_device
        self.on, self.device = _parsed(remote_device)
        self.module_rref = rpc.rpc_sync(self.on, _make, (module_cls, tuple(args or ()), kwargs or {}, self.device))

    @staticmethod
    def init_from_module_rref(
        remote_device: str, module_rref: rpc.RRef, _module_interface_cls: Any = None
    ) -> RemoteModule:
        """One for a module that is there, by a reference to it."""
        made = RemoteModule.__new__(RemoteModule)
        Module.__init__(made)
        made.remote_device, made.module_rref = remote_device, module_rref
        made.on, made.device = _parsed(remote_device)
        return made

    def __reduce__(self):
        return RemoteModule.init_from_module_rref, (self.remote_device, self.module_rref)

    def forward(self, *args, **kwargs):
        """The module's result, computed there."""
        return rpc.rpc_sync(self.on, _forward, (self.module_rref, args, kwargs))

    def forward_async(self, *args, **kwargs) -> Future:
        """A future of the module's result."""
        return rpc.rpc_async(self.on, _forward, (self.module_rref, args, kwargs))

    def remote_parameters(self, recurse: bool = True) -> list[rpc.RRef]:
        """References to the parameters, for a DistributedOptimizer."""
        return rpc.rpc_sync(self.on, _parameters, (self.module_rref, recurse))

    def get_module_rref(self) -> rpc.RRef:
        """The reference to the module."""
        return self.module_rref


def _refused(name: str) -> Callable:
    def method(self, *args, **kwargs):
        instead = ". Please use ``remote_parameters`` instead." if name == "parameters" else ""
        raise ValueError(UNSUPPORTED.format(name=name) + instead)

    method.__name__, method.__doc__ = name, "ValueError: it works where the module is."
    return method


for _name in """register_buffer register_parameter add_module apply cuda ipu xpu cpu type float double half bfloat16 to
register_full_backward_hook register_forward_pre_hook register_forward_hook state_dict load_state_dict parameters
named_parameters buffers named_buffers children named_children modules named_modules train eval requires_grad_ zero_grad
share_memory extra_repr""".split():
    setattr(RemoteModule, _name, _refused(_name))
