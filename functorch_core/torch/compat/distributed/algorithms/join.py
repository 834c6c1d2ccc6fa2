"""torch.distributed.algorithms.join: training where processes have different numbers of batches.

A process that has no more batches goes on to take part in the collectives of those that have: before each of its
collectives an object tells the others that it is not done yet, and those that are do what its `main_hook` says.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from ....tensors.base import from_array
from .. import collectives

CONFIGS = "Process group or device mismatch among the joinables"
EARLY = "Detected at least one rank that exhausted inputs. Throwing across all ranks."


class JoinHook:
    """What a process that has no more inputs does.

    >>> from torch.distributed.algorithms import JoinHook
    >>> class Shadow(JoinHook):
    ...   def main_hook(self):
    ...     torch.distributed.all_reduce(torch.zeros(1))
    """

    def main_hook(self):
        """Called again and again while some process has inputs: shadows the collectives of one of its iterations."""

    def post_hook(self, is_last_joiner: bool):
        """Called when no process has inputs; is_last_joiner: whether this one was among the last."""


class _Config:
    """How a Joinable takes part in a Join."""

    def __init__(self, enable: bool, throw_on_early_termination: bool, is_first_joinable: bool):
        self.enable, self.throw_on_early_termination = enable, throw_on_early_termination
        self.is_first_joinable, self.running = is_first_joinable, 0


class Joinable(ABC):
    """A class whose collectives other processes can shadow; it calls Join.notify_join_context before them.

    >>> from torch.distributed.algorithms import Joinable
    >>> from torch.nn.parallel import DistributedDataParallel
    >>> issubclass(DistributedDataParallel, Joinable)
    True
    """

    @abstractmethod
    def __init__(self):
        super().__init__()
        self._join_config = _Config(False, False, False)

    @abstractmethod
    def join_hook(self, **kwargs) -> JoinHook:
        """What joined processes do for this object."""

    @property
    @abstractmethod
    def join_device(self):
        """Where the collectives take place."""

    @property
    @abstractmethod
    def join_process_group(self):
        """The group that takes part."""


class Join:
    """Context for training with uneven inputs: `with Join([model]): for batch in batches: ...`

    `kwargs` go to the join_hook of each Joinable. With `throw_on_early_termination` all processes raise RuntimeError
    as soon as one has no more inputs.

    >>> from torch.distributed.algorithms import Join
    >>> from torch.nn.parallel import DistributedDataParallel
    >>> model = DistributedDataParallel(nn.Linear(2, 1))
    >>> with Join([model]):
    ...   for x in [torch.ones(1, 2)] * (torch.distributed.get_rank() + 1):
    ...     model(x).sum().backward()
    """

    def __init__(self, joinables, enable: bool = True, throw_on_early_termination: bool = False, **kwargs):
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables, self._enable = joinables, enable
        self._throw = throw_on_early_termination
        self._hooks = [j.join_hook(**kwargs) for j in joinables]
        groups = {id(j.join_process_group): j.join_process_group for j in joinables}
        if len(groups) > 1 or len({str(j.join_device) for j in joinables}) > 1:
            raise ValueError(CONFIGS)
        self._group = next(iter(groups.values()))
        for i, j in enumerate(joinables):
            j._join_config = _Config(enable, throw_on_early_termination, i == 0)

    def __enter__(self):
        return None

    def __exit__(self, kind, value, traceback):
        if not self._enable or kind is not None:
            return
        last = True
        while (running := self._running()) > 0:
            last = False
            if self._throw:
                _agree_to_stop(self._group, True)
                raise RuntimeError(EARLY)
            for joinable, hook in zip(self._joinables, self._hooks):
                joinable._join_config.running = running
                hook.main_hook()
        assert running == 0
        for hook in self._hooks:
            hook.post_hook(last)

    def _running(self) -> int:
        """How many processes have inputs; shadows notify_join_context."""
        count = _number(0)
        collectives.all_reduce(count, group=self._group)
        return int(count.item())

    @staticmethod
    def notify_join_context(joinable: Joinable):
        """Tell those that have no more inputs that this process has; RuntimeError if the context throws early.

        Only the first Joinable of a context does; a finished Work, or None.
        """
        config = getattr(joinable, "_join_config", None)
        if config is None or not config.enable or not config.is_first_joinable:
            return None
        group = joinable.join_process_group
        work = collectives.all_reduce(_number(1), group=group, async_op=True)
        if config.throw_on_early_termination and _agree_to_stop(group, False):
            raise RuntimeError(EARLY)
        return work


def _number(x: float):
    return from_array(np.asarray([x], np.float32))


def _agree_to_stop(group, done: bool) -> bool:
    """Whether some process has no more inputs."""
    flag = _number(done)
    collectives.all_reduce(flag, group=group)
    return bool(flag.item())
