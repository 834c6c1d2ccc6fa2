"""torch.distributed.checkpoint.staging: what async_save saves, as it is when it is called."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .....engine import to_numpy
from ....tensors.base import Tensor, from_array
from ..tensor.api import is_distributed
from .default_planner import _parts_here, _put_parts


def _copied(state: Any) -> Any:
    """Nested dicts and lists of copies of tensors and of everything else."""
    if isinstance(state, Mapping):
        return {key: _copied(value) for key, value in state.items()}
    if isinstance(state, (list, tuple)) and type(state) in (list, tuple):
        return type(state)([_copied(value) for value in state])
    if not isinstance(state, Tensor):
        return copy.deepcopy(state)
    if is_distributed(state):
        return _put_parts(state, [np.array(p.array) for p in _parts_here(state)]).requires_grad_(state.requires_grad)
    found = from_array(np.array(to_numpy(state.detach()._read())))
    return found.requires_grad_() if state.requires_grad else found


@runtime_checkable
class AsyncStager(Protocol):
    """How async_save gets what it writes: stage() gives a copy of the state dict, or what becomes one.

    >>> import torch.distributed.checkpoint as dcp
    >>> from torch.distributed.checkpoint.staging import AsyncStager, BlockingAsyncStager
    >>> isinstance(BlockingAsyncStager(), AsyncStager)
    True
    """

    _synchronize_after_execute: bool = True

    @property
    def should_synchronize_after_execute(self) -> bool:
        """Whether synchronize_staging is called before async_save returns."""
        return self._synchronize_after_execute

    def stage(self, state_dict: dict[str, Any]) -> dict[str, Any]:
        """A copy of the state dict."""
        raise NotImplementedError(f"{type(self).__name__} must implement stage method")

    def synchronize_staging(self) -> None:
        """Wait until the copy is there."""

    def close(self) -> None:
        """Let go of what copies need."""


class BlockingAsyncStager(AsyncStager):
    """Copies the state dict to host memory, and is done then. The options say how PyTorch keeps that memory.

    >>> from torch.distributed.checkpoint.staging import BlockingAsyncStager
    >>> x = torch.ones(2)
    >>> staged = BlockingAsyncStager().stage({"x": x})
    >>> x.zero_()
    tensor([0., 0.])
    >>> staged
    {'x': tensor([1., 1.])}
    """

    _synchronize_after_execute = False

    def __init__(self, cache_staged_state_dict: bool = False, type_check: bool = False):
        self.cache_staged_state_dict, self.type_check = cache_staged_state_dict, type_check

    def stage(self, state_dict: dict[str, Any]) -> dict[str, Any]:
        """A copy of the state dict."""
        return _copied(state_dict)

    def synchronize_staging(self) -> None:
        """Nothing: the copy is there."""

    def close(self) -> None:
        """Nothing."""
