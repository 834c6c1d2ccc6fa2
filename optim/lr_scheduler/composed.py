"""Schedulers made of schedulers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from .base import LRScheduler, set_value, values_of
from .plateau import ReduceLROnPlateau

NO_PLATEAU = (
    "{} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs "
    "to be specified when calling `step`, but got one at index {} in the given "
    "schedulers sequence."
)
FOREIGN = (
    "{name} expects all schedulers to belong to the same optimizer, but got scheduler "
    "{kind} at index {i} has {theirs}, which is different from {mine}."
)
MILESTONES = (
    "Sequential Schedulers expects number of schedulers provided to be one more than the "
    "number of milestone points, but got number of schedulers {} and the number of "
    "milestones to be equal to {}"
)


class _Composed(LRScheduler):
    """A scheduler with `_schedulers`."""

    _not_saved = ("optimizer", "_schedulers")

    def _check(self, schedulers: Sequence[LRScheduler], optimizer):
        name = type(self).__name__
        for i, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(NO_PLATEAU.format(name, i))
            if optimizer is not scheduler.optimizer:
                raise ValueError(
                    FOREIGN.format(
                        name=name,
                        kind=type(scheduler).__name__,
                        i=i,
                        theirs=scheduler.optimizer,
                        mine=type(optimizer).__name__,
                    )
                )

    def state_dict(self) -> dict:
        """The states of the schedulers under "_schedulers"."""
        return {**super().state_dict(), "_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict):
        """Go on from what state_dict() gave."""
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"]):
            scheduler.load_state_dict(state)


class SequentialLR(_Composed):
    """One scheduler after the other; the next takes over at each milestone.

    >>> optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.)
    >>> warmup = optim.lr_scheduler.ConstantLR(optimizer, factor=0.1, total_iters=2)
    >>> rest = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler = optim.lr_scheduler.SequentialLR(optimizer, [warmup, rest],
    ...     milestones=[2])
    >>> scheduler.get_last_lr()
    [0.1]
    """

    def __init__(self, optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1):
        if not schedulers:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        self._check(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(MILESTONES.format(len(schedulers), len(milestones)))
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch, self.optimizer = last_epoch + 1, optimizer
        # Constructing the schedulers took the first step of each: undo it but for the first one's.
        for group in optimizer.param_groups:
            set_value(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: LRScheduler | None = None):
        """Take back the first step of all schedulers inside."""
        sched = self if sched is None else sched
        if hasattr(sched, "_schedulers"):
            for inner in sched._schedulers:
                self.recursive_undo(inner)
        elif hasattr(sched, "last_epoch"):
            sched.last_epoch -= 1

    def step(self):
        """Go on to the next epoch."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Composed):
    """Several schedulers at once: each changes what the others left.

    >>> optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.)
    >>> warmup = optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> decay = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler = optim.lr_scheduler.ChainedScheduler([warmup, decay])
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer=None):
        if not schedulers:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler."
            )
        optimizer = optimizer or schedulers[0].optimizer
        self._check(schedulers, optimizer)
        self._schedulers, self.optimizer = schedulers, optimizer
        self._last_lr = values_of(schedulers[-1].optimizer, "lr")

    def step(self):
        """Go on to the next epoch."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = values_of(self._schedulers[-1].optimizer, "lr")
