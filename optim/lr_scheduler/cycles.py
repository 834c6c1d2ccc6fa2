"""Schedulers that go in cycles, momentum with them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from .base import LRScheduler, anneal, check_optimizer, per_group, set_value, state_of_callable

NO_MOMENTUM = "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"


def uses_beta1(optimizer) -> bool:
    """Whether momentum is the first of the betas; ValueError for an optimizer without momentum."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError(NO_MOMENTUM)
    return "betas" in optimizer.defaults


def set_momentum(group: dict, momentum, use_beta1: bool):
    """Set the momentum of a group."""
    if use_beta1:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


def start_momenta(optimizer, base: list, highest: list, use_beta1: bool):
    """Begin with the highest momentum, and keep the limits in the groups."""
    for low, high, group in zip(base, highest, optimizer.param_groups, strict=True):
        set_momentum(group, high, use_beta1)
        group["max_momentum"], group["base_momentum"] = high, low


class CyclicLR(LRScheduler):
    """The rate goes up and down between base_lr and max_lr, momentum the other way (Smith 2017).

    The height of the cycles follows `mode` (triangular, triangular2, exp_range) or `scale_fn`.

    >>> optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.)
    >>> scheduler = optim.lr_scheduler.CyclicLR(optimizer, base_lr=0.1, max_lr=0.5,
    ...     step_size_up=2, cycle_momentum=False)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer,
        base_lr,
        max_lr,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum=0.8,
        max_momentum=0.9,
        last_epoch: int = -1,
    ):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_value(group, "lr", lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma = mode, gamma
        self._scale_fn_custom, self.scale_mode = scale_fn, scale_mode
        self._init_scale_fn()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._init_momenta(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _init_momenta(self, base_momentum, max_momentum, last_epoch: int):
        self.use_beta1 = uses_beta1(self.optimizer)
        self.base_momentums = per_group("base_momentum", self.optimizer, base_momentum)
        self.max_momentums = per_group("max_momentum", self.optimizer, max_momentum)
        if last_epoch == -1:
            start_momenta(self.optimizer, self.base_momentums, self.max_momentums, self.use_beta1)

    def _init_scale_fn(self):
        if self._scale_fn_custom is None:
            scale, self.scale_mode = {
                "triangular": (_constant, "cycle"),
                "triangular2": (_halved, "cycle"),
                "exp_range": (functools.partial(pow, self.gamma), "iterations"),
            }[self.mode]
            self._scale_fn_ref = scale

    def scale_fn(self, x) -> float:
        """The height of cycle x, or at iteration x."""
        return (self._scale_fn_ref if self._scale_fn_custom is None else self._scale_fn_custom)(x)

    def get_lr(self) -> list:
        """The rates of this epoch; sets momentum, too."""
        self._warn_if_called_by_user()
        done = self.last_epoch / self.total_size
        cycle = math.floor(1 + done)
        x = 1.0 + done - cycle
        slope = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for low, high, group in zip(
                self.base_momentums, self.max_momentums, self.optimizer.param_groups, strict=True
            ):
                set_momentum(group, high - (high - low) * slope * height, self.use_beta1)
        return [low + (high - low) * slope * height for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict:
        """A function given as scale_fn is not saved; of a callable object its fields are."""
        state = super().state_dict()
        state.pop("_scale_fn_ref", None)
        custom = state.pop("_scale_fn_custom")
        state["_scale_fn_custom"] = None if custom is None else state_of_callable(custom)
        return state

    def load_state_dict(self, state_dict: dict):
        """Go on from what state_dict() gave."""
        fields = state_dict["_scale_fn_custom"]
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_scale_fn_custom"})
        if fields is not None:
            self._scale_fn_custom.__dict__.update(fields)
        self._init_scale_fn()


def _constant(x: float) -> float:
    return 1.0


def _halved(x: float) -> float:
    return 2.0 ** (1 - x)


class OneCycleLR(LRScheduler):
    """One cycle: up to max_lr, then down far below the first rate (Smith and Topin 2018).

    Its length is `total_steps`, or epochs * steps_per_epoch; step() is called after every batch.

    >>> optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.)
    >>> scheduler = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1., total_steps=10,
    ...     cycle_momentum=False)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.9504846320134738]
    """

    def __init__(
        self,
        optimizer,
        max_lr,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum=0.85,
        max_momentum=0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _length(total_steps, epochs, steps_per_epoch)
        self._schedule_phases = _phases(pct_start, self.total_steps, three_phase)
        if not (isinstance(pct_start, float) and 0 <= pct_start <= 1):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        anneal(anneal_strategy)  # raises for an unknown one
        self._anneal_func_type = anneal_strategy
        highest = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for high, group in zip(highest, optimizer.param_groups):
                group["initial_lr"], group["max_lr"] = high / div_factor, high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = uses_beta1(optimizer)
            highest = per_group("max_momentum", optimizer, max_momentum)
            lowest = per_group("base_momentum", optimizer, base_momentum)
            if last_epoch == -1:
                start_momenta(optimizer, lowest, highest, self.use_beta1)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        """The rates of this step; sets momentum, too."""
        self._warn_if_called_by_user()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        phases = self._schedule_phases
        k = next((i for i, p in enumerate(phases) if step <= p["end_step"]), len(phases) - 1)
        phase, start = phases[k], phases[k - 1]["end_step"] if k else 0.0
        done = (step - start) / (phase["end_step"] - start)
        if self.cycle_momentum:
            for group in self.optimizer.param_groups:
                set_momentum(group, self._between(group, phase, "momentum", done), self.use_beta1)
        return [self._between(group, phase, "lr", done) for group in self.optimizer.param_groups]

    def _between(self, group: dict, phase: dict, what: str, done: float):
        return self._anneal_func(group[phase[f"start_{what}"]], group[phase[f"end_{what}"]], done)

    def _anneal_func(self, *args):
        if not hasattr(self, "_anneal_func_type"):  # of a state saved by PyTorch before 2.1, which has the function
            return self.anneal_func(*args)
        return self._annealing_cos(*args) if self._anneal_func_type == "cos" else self._annealing_linear(*args)

    @staticmethod
    def _annealing_cos(start, end, pct: float):
        """From start to end on half a cosine."""
        return start + (end - start) * anneal("cos")(pct)

    @staticmethod
    def _annealing_linear(start, end, pct: float):
        """From start to end on a line."""
        return start + (end - start) * anneal("linear")(pct)


def _length(total_steps, epochs, steps_per_epoch) -> int:
    if total_steps is not None:
        return _positive("total_steps", total_steps)
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    return _positive("epochs", epochs) * _positive("steps_per_epoch", steps_per_epoch)


def _positive(name: str, n) -> int:
    if not isinstance(n, int) or n <= 0:
        raise ValueError(f"Expected positive integer {name}, but got {n}")
    return n


def _phases(pct_start: float, total: int, three_phase: bool) -> list[dict]:
    """Where each phase ends, and between which options of the groups it goes."""
    peak = float(pct_start * total) - 1
    rows = [(peak, "initial_lr", "max_lr", "max_momentum", "base_momentum")]
    if three_phase:
        rows += [
            (2 * float(pct_start * total) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
            (total - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
        ]
    else:
        rows += [(total - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
    names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
    return [dict(zip(names, row)) for row in rows]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine from the initial rate to `eta_min`, again and again: the first time within T_0
    epochs, each next time T_mult times as long (Loshchilov and Hutter 2017). Epochs may be
    fractions.

    >>> optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.)
    >>> scheduler = optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [1.0]
    """

    def __init__(self, optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1):
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min, self.T_cur = T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        """The rates of this epoch."""
        self._warn_if_called_by_user()
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None):
        """Go on to the next epoch, or to a given one (which may be a fraction)."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self._advance()
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        else:
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        self._set_lr(self.get_lr)

    def _advance(self):
        self.T_cur += 1
        if self.T_cur >= self.T_i:
            self.T_cur %= self.T_i
            self.T_i *= self.T_mult

    def _go_to(self, epoch: float):
        first, growth = self.T_0, self.T_mult
        if epoch < first:
            self.T_i, self.T_cur = first, epoch
        elif growth == 1:
            self.T_cur = epoch % first
        else:
            restarts = int(math.log(epoch / first * (growth - 1) + 1, growth))
            self.T_cur = epoch - first * (growth**restarts - 1) / (growth - 1)
            self.T_i = first * growth**restarts
