"""torch.distributed.utils: modules that begin as one process's."""

from __future__ import annotations

from collections.abc import Container, Iterable

from ... import _missing
from ...tensors.base import Tensor
from . import collectives
from .group import ProcessGroup


def _sync_params_and_buffers(
    process_group: ProcessGroup, module_states: Iterable[Tensor], broadcast_bucket_size: int, src: int
) -> None:
    """Give all processes of a group the tensors of the one of rank `src` (in the default group)."""
    for tensor in module_states:
        collectives.broadcast(tensor.detach(), src, process_group)


def _sync_module_states(
    module,
    process_group: ProcessGroup,
    broadcast_bucket_size: int,
    src: int,
    params_and_buffers_to_ignore: Container[str],
    broadcast_buffers: bool = True,
) -> None:
    """Give all processes of a group the parameters and buffers of the one of rank `src`, but those of these names.

    >>> from torch.distributed.utils import _sync_module_states
    >>> group = torch.distributed.new_group([0])
    >>> _sync_module_states(nn.Linear(2, 1), group, 1 << 20, src=0, params_and_buffers_to_ignore=())
    """
    named = [*module.named_parameters(), *(module.named_buffers() if broadcast_buffers else ())]
    states = [x for name, x in named if name not in params_and_buffers_to_ignore]
    _sync_params_and_buffers(process_group, states, broadcast_bucket_size, src)


__getattr__ = _missing.getter(__name__)
