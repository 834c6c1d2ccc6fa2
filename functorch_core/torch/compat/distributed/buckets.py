"""torch.distributed.GradBucket: what communication hooks of DistributedDataParallel get."""

from __future__ import annotations

from collections.abc import Sequence

from ...tensors.base import Tensor


class GradBucket:
    """The gradients of all parameters of one dtype, one after the other.

    >>> import torch.distributed as dist
    >>> from torch.nn.parallel import DistributedDataParallel
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> def hook(state, bucket):
    ...   print(bucket.buffer().shape, bucket.is_last())
    ...   future = torch.futures.Future()
    ...   future.set_result(bucket.buffer())
    ...   return future
    >>> model = DistributedDataParallel(nn.Linear(2, 1))
    >>> model.register_comm_hook(None, hook)
    >>> model(torch.ones(1, 2)).sum().backward()
    torch.Size([3]) True
    >>> dist.destroy_process_group()
    """

    __module__ = "torch.distributed"

    def __init__(self, flat: Tensor, parameters: Sequence[Tensor]):
        self._flat, self._parameters = flat, list(parameters)

    def buffer(self) -> Tensor:
        """The gradients, one after the other."""
        return self._flat

    def set_buffer(self, tensor: Tensor):
        """Put others in their place."""
        self._flat = tensor

    def parameters(self) -> list[Tensor]:
        """The parameters."""
        return list(self._parameters)

    def gradients(self) -> list[Tensor]:
        """The gradients by parameter: views of the buffer."""
        parts = self._flat.split([p.numel() for p in self._parameters])
        return [part.view(p.shape) for part, p in zip(parts, self._parameters)]

    def index(self) -> int:
        """0: there is one bucket for each dtype."""
        return 0

    def is_last(self) -> bool:
        """True."""
        return True
