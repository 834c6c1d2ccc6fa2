"""ReduceLROnPlateau: by a metric instead of the epoch."""

from __future__ import annotations

import math

from ...core.warn import warn
from .base import EPOCH_DEPRECATION_WARNING, LRScheduler, check_optimizer, set_value, values_of

GROUPS_CHANGED = (
    "The number of param groups in the `optimizer` ({}) differs from when "
    "`ReduceLROnPlateau` was initialized ({}), usually due to a new param group "
    "being added to the optimizer. Please modify the `min_lrs` field to match the "
    "length of the `optimizer` param groups."
)


class ReduceLROnPlateau(LRScheduler):
    """Multiply the rates by `factor` when a metric has not improved for `patience` epochs.

    step(metric) after every epoch.

    >>> optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.)
    >>> scheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
    >>> for loss in [1., 1., 1.]:
    ...     scheduler.step(loss)
    >>> scheduler.get_last_lr()
    [0.1]
    """

    def __init__(
        self,
        optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr=0,
        eps: float = 1e-8,
    ):
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        self.factor = factor
        check_optimizer(optimizer)
        self.optimizer = optimizer
        n = len(optimizer.param_groups)
        several = isinstance(min_lr, (list, tuple))
        if several and len(min_lr) != n:
            raise ValueError(f"expected {n} min_lrs, got {len(min_lr)}")
        self.default_min_lr = None if several else min_lr
        self.min_lrs = list(min_lr) if several else [min_lr] * n
        self.patience, self.cooldown, self.eps = patience, cooldown, eps
        self.last_epoch = 0
        self._last_lr = values_of(optimizer, "lr")
        self._init_is_better(mode, threshold, threshold_mode)
        self._reset()

    def _reset(self):
        self.best = self.mode_worse
        self.cooldown_counter = self.num_bad_epochs = 0

    def step(self, metrics, epoch: int | None = None):
        """Take notice of the metric of an epoch."""
        current = float(metrics)
        if epoch is not None:
            warn(EPOCH_DEPRECATION_WARNING)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(self.last_epoch)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = values_of(self.optimizer, "lr")

    def _reduce_lr(self, epoch: int):
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(GROUPS_CHANGED.format(len(groups), len(self.min_lrs)))
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, lowest in zip(groups, self.min_lrs):
            old = float(group["lr"])
            new = max(old * self.factor, lowest)
            if old - new > self.eps:
                set_value(group, "lr", new)

    @property
    def in_cooldown(self) -> bool:
        """Whether bad epochs do not count at present."""
        return self.cooldown_counter > 0

    def _is_better(self, a: float, best: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        by = self.threshold
        border = best * (1.0 + sign * by) if self.threshold_mode == "rel" else best + sign * by
        return a > border if sign > 0 else a < border

    def _init_is_better(self, mode: str, threshold: float, threshold_mode: str):
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode

    def load_state_dict(self, state_dict: dict):
        """Go on from what state_dict() gave."""
        super().load_state_dict(state_dict)
        self._init_is_better(self.mode, self.threshold, self.threshold_mode)
