"""LRScheduler: what all schedulers have in common.

A scheduler is two formulas: `_change`, what the rates are multiplied by at this epoch, given those
before (so that several schedulers can work on one optimizer), and `_closed_form`, the factor of the
initial rates, for step(epoch).
"""

from __future__ import annotations

import functools
import types
import weakref
from math import cos, pi

from ...core.warn import warn
from ...torch.tensors.base import Tensor
from ..optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated "
    "where possible. Please use `scheduler.step()` to step the scheduler. During the "
    "deprecation, if epoch is different from None, the closed form is used instead of the new "
    "chainable form, where available."
)
SEE = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
OVERRIDDEN = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
    "initialization. Please, make sure to call `optimizer.step()` before "
    f"`lr_scheduler.step()`. {SEE}"
)
ORDER = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and "
    "later, you should call them in the opposite order: `optimizer.step()` before "
    "`lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping the first "
    f"value of the learning rate schedule. {SEE}"
)
GET_LAST_LR = "To get the last learning rate computed by the scheduler, please use `get_last_lr()`."
NO_INITIAL_LR = """param 'initial_lr' is not specified in param_groups[{}] when resuming scheduler \
with last_epoch >= 0.
This typically happens when:
1. You're trying to resume training from a checkpoint but haven't properly loaded the optimizer \
state
2. You're using last_epoch >= 0 for a fresh training run (not recommended)"""


class LRScheduler:
    """The base of the schedulers: step() sets the learning rates of an optimizer's groups.

    >>> optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1)
    >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    >>> isinstance(scheduler, torch.optim.lr_scheduler.LRScheduler), scheduler.get_last_lr()
    (True, [0.1])
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(NO_INITIAL_LR.format(i))
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _note_steps_of(optimizer)
        self._initial_step()

    def _initial_step(self):
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    # ---- what a schedule is

    def get_lr(self) -> list:
        """The rates of this epoch; for step() to call."""
        self._warn_if_called_by_user()
        factor = self._change()
        if factor is None:
            return values_of(self.optimizer, "lr")
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _change(self) -> float | None:
        """What the current rates are multiplied by at `last_epoch`; None leaves them."""
        raise NotImplementedError

    def get_last_lr(self) -> list:
        """The rates that were set last."""
        return self._last_lr

    def _warn_if_called_by_user(self):
        if not self._get_lr_called_within_step:
            warn(GET_LAST_LR)

    # ---- steps

    def step(self, epoch: int | None = None):
        """Go on to the next epoch, or to a given one."""
        if self._step_count == 1:
            self._warn_about_order()
        self._step_count += 1
        if epoch is not None:
            warn(EPOCH_DEPRECATION_WARNING)
        self._update_lr(epoch)

    def _warn_about_order(self):
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            warn(OVERRIDDEN)
        elif not getattr(self.optimizer, "_opt_called", False):
            warn(ORDER)

    def _update_lr(self, epoch: int | None = None):
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
        self._set_lr(closed or self.get_lr)

    def _set_lr(self, compute):
        self._get_lr_called_within_step = True
        try:
            rates = compute()
        finally:
            self._get_lr_called_within_step = False
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            set_value(group, "lr", lr)
        self._last_lr = values_of(self.optimizer, "lr")

    # ---- states

    _not_saved: tuple[str, ...] = ("optimizer",)

    def state_dict(self) -> dict:
        """Everything but the optimizer."""
        return {k: v for k, v in self.__dict__.items() if k not in self._not_saved}

    def load_state_dict(self, state_dict: dict):
        """Go on from what state_dict() gave, here or in PyTorch."""
        self.__dict__.update(state_dict)


class _LRScheduler(LRScheduler):
    """The base's former name, for subclasses of users."""


class ClosedForm(LRScheduler):
    """A schedule that also knows its rate at any epoch, by `_closed_form`."""

    def _closed_form(self) -> float:
        """The factor of the initial rates at `last_epoch`."""
        raise NotImplementedError

    def _get_closed_form_lr(self) -> list:
        factor = self._closed_form()
        return [base_lr * factor for base_lr in self.base_lrs]


# ---- helpers -------------------------------------------------------------------------------------


def check_optimizer(optimizer):
    """TypeError unless it is an optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def _note_steps_of(optimizer: Optimizer):
    """Let the optimizer remember that step() was called, for the warning about the order."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    fun, reference = optimizer.step.__func__, weakref.ref(optimizer)

    @functools.wraps(fun)
    def noted_step(*args, **kwargs):
        optimizer = reference()
        optimizer._opt_called = True
        return fun(optimizer, *args, **kwargs)

    noted_step._wrapped_by_lr_sched = True
    optimizer.step = noted_step


def copied(x):
    """A number as it is; a tensor's clone."""
    return x.clone() if isinstance(x, Tensor) else x


def values_of(optimizer: Optimizer, key: str) -> list:
    """An option of all groups."""
    return [copied(group[key]) for group in optimizer.param_groups]


def set_value(group: dict, key: str, value):
    """Set an option of a group; in place, if it is a tensor."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value.squeeze() if isinstance(value, Tensor) and value.ndim else value)
    else:
        group[key] = value


def per_group(name: str, optimizer: Optimizer, value) -> list:
    """One value for each group, of a sequence of them or a single one."""
    n = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [copied(value) for _ in range(n)]
    if len(value) != n:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has "
            f"{len(value)} values, param_groups has {n}."
        )
    return [copied(v) for v in value]


def state_of_callable(fun):
    """What is saved of a user's function: nothing of a plain one, the fields of an object."""
    return None if isinstance(fun, types.FunctionType) else fun.__dict__.copy()


def anneal(how: str):
    """The annealing curve of a name: fraction done -> fraction of the way."""
    if how not in ("cos", "linear"):
        raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {how}")
    return _half_cosine if how == "cos" else _straight


def _half_cosine(t: float) -> float:
    return (1 - cos(pi * t)) / 2


def _straight(t: float) -> float:
    return t
