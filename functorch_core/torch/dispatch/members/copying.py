"""Copies of tensors by copy.deepcopy and pickle."""

from __future__ import annotations

import copy
import copyreg

from ....engine.value import settle
from ...tape.modes import state
from ...tensors.base import Tensor, new_tensor, of_class
from ...tensors.types import named
from ...views.bits import bits_of
from ...views.cells import Alias, Cell


class Copying:
    """What copy.deepcopy and pickle ask for."""

    def __deepcopy__(self, memo: dict) -> Tensor:
        if id(self) in memo:
            return memo[id(self)]
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the "
                "deepcopy protocol at the moment.  If you were attempting to deepcopy a "
                "module, this may be because of a torch.nn.utils.weight_norm usage, see "
                "https://github.com/pytorch/pytorch/pull/103001"
            )
        new = of_class(new_tensor(self._kept()), type(self))
        new._strides = self._strides
        if self._device is not None:
            new._device = self._device
        if self._view is not None and not any(bits_of(self)):  # a copy of a conjugate is none
            new._view = Alias(copied_cell(self._view.cell, memo), self._view.chain, None)
        new.__dict__.update({k: copy.deepcopy(v, memo) for k, v in self.__dict__.items()})
        for name, value in in_slots(self).items():
            setattr(new, name, copy.deepcopy(value, memo))
        if state.inference:
            new._is_inference = True
        if self.requires_grad:
            new.requires_grad = True
        if self._grad is not None:
            new._grad = Copying.__deepcopy__(self._grad, memo)
        memo[id(self)] = new
        return new

    def __reduce_ex__(self, protocol):
        return named("serialization.reduce_tensor")(self)


def in_slots(tensor: Tensor) -> dict:
    """What the slots of a tensor's class hold, of a class that has some."""
    names = copyreg._slotnames(type(tensor))
    return {name: getattr(tensor, name) for name in names if hasattr(tensor, name)}


def copied_cell(cell: Cell, memo: dict) -> Cell:
    """The copy of a storage: one, however many of its tensors are copied."""
    if id(cell) not in memo:
        memo[id(cell)] = Cell(settle(cell.value), 0, cell.strides)
    return memo[id(cell)]
