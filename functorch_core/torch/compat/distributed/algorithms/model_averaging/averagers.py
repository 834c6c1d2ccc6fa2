"""torch.distributed.algorithms.model_averaging.averagers: when parameters are averaged."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from ......core.warn import warn
from ...group import default
from .utils import average_parameters_or_parameter_groups

ALWAYS = (
    "When period is 1, no need to use model averaging because the communication cost of all-reducing parameters will "
    "be no less than the cost of all-reducing gradients by DistributedDataParallel in the backward pass."
)


class ModelAverager(ABC):
    """Averages parameters over the processes of a group, at some of the calls, which it counts in `step`.

    >>> from torch.distributed.algorithms.model_averaging.averagers import ModelAverager, PeriodicModelAverager
    >>> issubclass(PeriodicModelAverager, ModelAverager)
    True
    """

    def __init__(self, process_group=None) -> None:
        self.process_group, self.step = process_group or default(), 0

    @abstractmethod
    def average_parameters(self, params: Iterable[Any]) -> None:
        """Average parameters, or those of an optimizer's groups, if it is time."""


class PeriodicModelAverager(ModelAverager):
    """Averages at every `period`-th call from the one after `warmup_steps` on.

    Source: Lin et al. 2018, "Don't use large mini-batches, use local SGD".

    >>> from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    >>> model = nn.Linear(2, 1)
    >>> averager = PeriodicModelAverager(period=4, warmup_steps=100)
    >>> averager.average_parameters(model.parameters())
    >>> averager.step
    1
    """

    def __init__(self, period: int, warmup_steps: int = 0, process_group=None) -> None:
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warn(ALWAYS)
        self.period, self.warmup_steps = period, warmup_steps

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Average parameters, or those of an optimizer's groups, if it is time."""
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
