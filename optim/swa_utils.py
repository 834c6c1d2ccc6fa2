"""torch.optim.swa_utils: averages of models over training, and SWALR."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable

from ..nn import Module
from ..nn.modules.batchnorm import _BatchNorm
from ..torch import _foreach_lerp_, tensor
from ..torch.tape.modes import no_grad
from ..torch.tensors.types import int64
from .lr_scheduler.base import LRScheduler, anneal, per_group

__all__ = [
    "AveragedModel",
    "SWALR",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

# ---- averages ------------------------------------------------------------------------------------


def _check_decay(decay: float):
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_avg_fn(decay: float = 0.999) -> Callable:
    """f(average, current, n) -> decay * average + (1 - decay) * current.

    >>> from torch.optim.swa_utils import get_ema_avg_fn
    >>> get_ema_avg_fn(0.9)(torch.tensor(1.), torch.tensor(2.), torch.tensor(1))
    tensor(1.1000)
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param, current_param, num_averaged):
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable:
    """f(average of n, current, n) -> the average of n + 1.

    >>> from torch.optim.swa_utils import get_swa_avg_fn
    >>> get_swa_avg_fn()(torch.tensor(1.), torch.tensor(2.), torch.tensor(1))
    tensor(1.5000)
    """

    @no_grad()
    def swa_update(averaged_param, current_param, num_averaged):
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable:
    """get_ema_avg_fn on lists of tensors, in place.

    >>> net = nn.Linear(1, 1)
    >>> average = optim.swa_utils.AveragedModel(net,
    ...     multi_avg_fn=optim.swa_utils.get_ema_multi_avg_fn(0.9))
    >>> average.update_parameters(net)
    """
    return _in_place(get_ema_avg_fn(decay), lambda num_averaged: 1 - decay)


def get_swa_multi_avg_fn() -> Callable:
    """get_swa_avg_fn on lists of tensors, in place.

    >>> from torch.optim.swa_utils import get_swa_multi_avg_fn
    >>> average = [torch.tensor([1.])]
    >>> get_swa_multi_avg_fn()(average, [torch.tensor([2.])], torch.tensor(1))
    >>> average
    [tensor([1.5000])]
    """
    return _in_place(get_swa_avg_fn(), lambda num_averaged: 1 / (int(num_averaged) + 1))


def _in_place(average: Callable, weight: Callable | None = None) -> Callable:
    """The same on lists, in place: by one op of inexact numbers where the weight of the current ones is known."""

    @no_grad()
    def update(averaged_params, current_params, num_averaged):
        inexact = [x.is_floating_point() or x.is_complex() for x in averaged_params]
        if weight is not None and inexact and all(inexact):
            _foreach_lerp_(averaged_params, current_params, weight(num_averaged))
            return
        for mean, current in zip(averaged_params, current_params, strict=True):
            mean.copy_(average(mean, current, num_averaged))

    return update


# ---- averaged models -----------------------------------------------------------------------------


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's over its updates.

    `avg_fn(average, current, n)` gives the new average (by default the mean of all so far);
    `multi_avg_fn(averages, currents, n)` writes all of them. `use_buffers` averages buffers, too;
    otherwise they are copied.

    >>> net = nn.Linear(1, 1, bias=False)
    >>> average = optim.swa_utils.AveragedModel(net)
    >>> for value in (1., 3.):
    ...     _ = nn.init.constant_(net.weight, value)
    ...     average.update_parameters(net)
    >>> average.module.weight.data
    tensor([[2.]])
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args, **kwargs):
        """The averaged model's output."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model):
        """Take the model's parameters into the averages."""
        mine = [p.detach() for p in self._averaged(self.module)]
        others = [p.detach().to(m.device) for p, m in zip(self._averaged(model), mine)]
        if self.n_averaged == 0:
            for mean, current in zip(mine, others):
                mean.copy_(current)
        else:
            self._update(mine, others)
        if not self.use_buffers:
            for mean, current in zip(self.module.buffers(), model.buffers(), strict=True):
                mean.detach().copy_(current.detach().to(mean.device))
        self.n_averaged += 1

    def _averaged(self, model) -> Iterable:
        return itertools.chain(model.parameters(), model.buffers() if self.use_buffers else ())

    def _update(self, mine: list, others: list):
        if self.multi_avg_fn is None:
            _in_place(self.avg_fn or get_swa_avg_fn())(mine, others, self.n_averaged)
            return
        groups: dict = {}  # one device and dtype a list, as functions written for PyTorch expect
        for mean, current in zip(mine, others):
            columns = groups.setdefault((mean.device, mean.dtype), ([], []))
            columns[0].append(mean)
            columns[1].append(current)
        for means, currents in groups.values():
            self.multi_avg_fn(means, currents, self.n_averaged.to(means[0].device))


@no_grad()
def update_bn(loader: Iterable, model, device=None):
    """Compute the running statistics of all batch normalizations anew, by a pass over the data.

    >>> net = nn.BatchNorm1d(2)
    >>> optim.swa_utils.update_bn([torch.ones(4, 2)], net)
    >>> net.running_mean
    tensor([1., 1.])
    """
    norms = {m: m.momentum for m in model.modules() if isinstance(m, _BatchNorm)}
    if not norms:
        return
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # the mean of all batches
    was_training = model.training
    model.train()
    for batch in loader:
        x = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(x if device is None else x.to(device))
    for norm, momentum in norms.items():
        norm.momentum = momentum
    model.train(was_training)


# ---- its schedule --------------------------------------------------------------------------------


class SWALR(LRScheduler):
    """From the current rates to `swa_lr` within `anneal_epochs`, then constant.

    >>> optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.)
    >>> scheduler = optim.swa_utils.SWALR(optimizer, swa_lr=0.1, anneal_epochs=2)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.1]
    """

    _not_saved = ("optimizer", "anneal_func")

    def __init__(self, optimizer, swa_lr, anneal_epochs: int = 10, anneal_strategy: str = "cos", last_epoch: int = -1):
        for lr, group in zip(per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups):
            group["swa_lr"] = lr
        self._set_anneal_func(anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _set_anneal_func(self, strategy: str):
        self.anneal_func, self._anneal_strategy = anneal(strategy), strategy

    def _done(self, step: int) -> float:
        return self.anneal_func(max(0, min(1, step / max(1, self.anneal_epochs))))

    def get_lr(self) -> list:
        """The rates of this epoch."""
        self._warn_if_called_by_user()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._done(step - 1), self._done(step)
        rates = []
        for group in self.optimizer.param_groups:
            lr, swa_lr = group["lr"], group["swa_lr"]
            start = swa_lr if before == 1 else (lr - before * swa_lr) / (1 - before)
            rates.append(swa_lr * now + start * (1 - now))
        return rates

    def load_state_dict(self, state_dict: dict):
        """Go on from what state_dict() gave."""
        super().load_state_dict(state_dict)
        self._set_anneal_func(self._anneal_strategy)
