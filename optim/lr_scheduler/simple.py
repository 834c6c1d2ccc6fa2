"""Schedulers that multiply the rates by a factor of the epoch."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from .base import ClosedForm, LRScheduler, state_of_callable, values_of

# ---- by the user's functions ---------------------------------------------------------------------


class _ByFunctions(LRScheduler):
    """A scheduler with a function for each group."""

    _not_saved = ("optimizer", "lr_lambdas")

    def __init__(self, optimizer, lr_lambda: Callable | Sequence[Callable], last_epoch: int = -1):
        n = len(optimizer.param_groups)
        if not isinstance(lr_lambda, (list, tuple)):
            lr_lambda = [lr_lambda] * n
        elif len(lr_lambda) != n:
            raise ValueError(f"Expected {n} lr_lambdas, but got {len(lr_lambda)}")
        self.optimizer, self.lr_lambdas = optimizer, list(lr_lambda)
        self._check_functions()
        super().__init__(optimizer, last_epoch)

    def _check_functions(self):
        pass

    def state_dict(self) -> dict:
        """Functions are not saved; of callable objects their fields are."""
        return {**super().state_dict(), "lr_lambdas": [state_of_callable(f) for f in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict):
        """Go on from what state_dict() gave; the functions are those given to the constructor."""
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "lr_lambdas"})
        for fun, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"]):
            if saved is not None:
                fun.__dict__.update(saved)


class LambdaLR(_ByFunctions):
    """Initial rate times lr_lambda(epoch).

    >>> optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.)
    >>> scheduler = optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5 ** epoch)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.125]
    """

    def get_lr(self) -> list:
        """The rates of this epoch."""
        self._warn_if_called_by_user()
        return [lr * fun(self.last_epoch) for fun, lr in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_ByFunctions):
    """The rates are multiplied by lr_lambda(epoch) at every epoch.

    >>> optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.)
    >>> scheduler = optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.125]
    """

    def _check_functions(self):
        for fun in self.lr_lambdas:
            if not callable(fun):
                raise TypeError(f"lr_lambda should be a function, but got {type(fun).__name__}")

    def get_lr(self) -> list:
        """The rates of this epoch."""
        self._warn_if_called_by_user()
        if self._is_initial:
            return values_of(self.optimizer, "lr")
        return [
            group["lr"] * fun(self.last_epoch)
            for fun, group in zip(self.lr_lambdas, self.optimizer.param_groups, strict=True)
        ]


# ---- steps ---------------------------------------------------------------------------------------


class StepLR(ClosedForm):
    """gamma every `step_size` epochs.

    >>> optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.)
    >>> scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _change(self):
        due = self.last_epoch != 0 and self.last_epoch % self.step_size == 0
        return self.gamma if due else None

    def _closed_form(self):
        return self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(ClosedForm):
    """gamma at each of the milestones.

    >>> optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.)
    >>> scheduler = optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 2], gamma=0.5)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(self, optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _change(self):
        times = self.milestones.get(self.last_epoch, 0)
        return self.gamma**times if times else None

    def _closed_form(self):
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ConstantLR(ClosedForm):
    """A constant factor until `total_iters`.

    >>> optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.)
    >>> scheduler = optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=5)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1):
        if not 0 <= factor <= 1.0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _change(self):
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else None

    def _closed_form(self):
        return self.factor if self.last_epoch < self.total_iters else 1.0


# ---- curves --------------------------------------------------------------------------------------


class LinearLR(ClosedForm):
    """A factor that goes linearly from `start_factor` to `end_factor` within `total_iters`.

    >>> optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.)
    >>> scheduler = optim.lr_scheduler.LinearLR(optimizer, start_factor=0.2, total_iters=4)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.8]
    """

    def __init__(
        self,
        optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ):
        if not 0 < start_factor <= 1.0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1.0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _change(self):
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        rise = self.end_factor - self.start_factor
        return 1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)

    def _closed_form(self):
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * done


class ExponentialLR(ClosedForm):
    """gamma every epoch.

    >>> optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.)
    >>> scheduler = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.125]
    """

    def __init__(self, optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _change(self):
        return None if self._is_initial else self.gamma

    def _closed_form(self):
        return self.gamma**self.last_epoch


class PolynomialLR(ClosedForm):
    """(1 - epoch / total_iters) ** power.

    >>> optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.)
    >>> scheduler = optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(self, optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _left(self, epoch: int) -> float:
        return 1.0 - epoch / self.total_iters

    def _change(self):
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        return (self._left(self.last_epoch) / self._left(self.last_epoch - 1)) ** self.power

    def _closed_form(self):
        return self._left(min(self.total_iters, self.last_epoch)) ** self.power


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the initial rate to `eta_min` within T_max epochs (Loshchilov and Hutter
    2017), by a recursion that other schedulers may take part in.

    >>> optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.)
    >>> scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _height(self, epoch: float) -> float:
        """The cosine curve, between 0 and 1."""
        return (1 + math.cos(math.pi * epoch / self.T_max)) / 2

    def get_lr(self) -> list:
        """The rates of this epoch."""
        self._warn_if_called_by_user()
        epoch, low = self.last_epoch, self.eta_min
        rates = values_of(self.optimizer, "lr")
        if self._is_initial:
            return rates
        if self._step_count == 1 and epoch > 0:
            return self._get_closed_form_lr()
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # just left the minimum
            rise = 1 - self._height(1)
            return [lr + (base - low) * rise for base, lr in zip(self.base_lrs, rates, strict=True)]
        ratio = self._height(epoch) / self._height(epoch - 1)
        return [ratio * (lr - low) + low for lr in rates]

    def _get_closed_form_lr(self) -> list:
        height = self._height(self.last_epoch)
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]
