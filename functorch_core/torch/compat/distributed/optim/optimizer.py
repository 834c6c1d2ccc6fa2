"""torch.distributed.optim.DistributedOptimizer: an optimizer of parameters that other workers have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .....locks import RLock
from ..autograd import get_gradients
from ..rpc.api import remote
from ..rpc.rref import RRef

_lock = RLock()  # of the steps of a worker, which may be asked for several at once


class _LocalOptimizer:
    """The part of one worker."""

    def __init__(self, cls: type, references: Sequence[RRef], *args: Any, **kwargs: Any):
        self.params = [reference.local_value() for reference in references]
        self.optimizer = cls(self.params, *args, **kwargs)

    def step(self, context_id: int):
        """A step with the gradients of a context."""
        grads = get_gradients(context_id)
        with _lock:
            for p in self.params:
                p.grad = grads.get(p)
            self.optimizer.step()


class DistributedOptimizer:
    """An optimizer of the parameters that RRefs refer to: one of `optimizer_class` at each worker that has some.

    `step(context_id)` makes a step in all of them with the gradients of a context of torch.distributed.autograd. Steps
    that several workers ask for are made one after the other. Other arguments are the class's.

    >>> import torch.distributed.autograd as dist_autograd
    >>> import torch.distributed.rpc as rpc
    >>> from torch.distributed.optim import DistributedOptimizer
    >>> options = rpc.TensorPipeRpcBackendOptions(init_method="tcp://127.0.0.1:0")
    >>> rpc.init_rpc("alone", rank=0, world_size=1, rpc_backend_options=options)
    >>> w = nn.Parameter(torch.ones(2))
    >>> optimizer = DistributedOptimizer(torch.optim.SGD, [rpc.RRef(w)], lr=0.5)
    >>> with dist_autograd.context() as id:
    ...   dist_autograd.backward(id, [w.sum()])
    ...   optimizer.step(id)
    >>> w.detach()
    tensor([0.5000, 0.5000])
    >>> rpc.shutdown()
    """

    __module__ = "torch.distributed.optim"

    def __init__(self, optimizer_class: type, params_rref: Sequence[RRef], *args: Any, **kwargs: Any):
        owned: dict[Any, list[RRef]] = {}
        for reference in params_rref:
            owned.setdefault(reference.owner(), []).append(reference)
        self.remote_optimizers = [
            remote(owner, _LocalOptimizer, (optimizer_class, references, *args), kwargs)
            for owner, references in owned.items()
        ]
        for made in self.remote_optimizers:
            made._asked.wait()  # with the error of a class that does not take these arguments

    def step(self, context_id: int):
        """A step of all parameters, with the gradients of a context."""
        for done in [optimizer.rpc_async().step(context_id) for optimizer in self.remote_optimizers]:
            done.wait()
