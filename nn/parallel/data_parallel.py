"""DataParallel on one device."""

from __future__ import annotations

from ..modules.module import Module


class DataParallel(Module):
    """Calls its module. PyTorch would split batches over GPUs; XLA does that by sharding.

    >>> nn.DataParallel(nn.ReLU())(torch.tensor([-1., 2.]))
    tensor([0., 2.])
    """

    def __init__(self, module, device_ids=None, output_device=None, dim: int = 0):
        super().__init__()
        self.module, self.dim = module, dim
        self.device_ids = [] if device_ids is None else list(device_ids)
        if output_device is not None:
            self.output_device = output_device

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim: int = 0, module_kwargs=None):
    """Call a module with a tuple of inputs (or one input).

    >>> nn.parallel.data_parallel(nn.ReLU(), torch.tensor([-1., 2.]))
    tensor([0., 2.])
    """
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*inputs, **(module_kwargs or {}))


__all__ = ["DataParallel", "data_parallel"]
