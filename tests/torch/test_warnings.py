"""A warning names the line of the user who called, whichever way the call went."""

from __future__ import annotations

import warnings

import functorch_core.data as data
import pytest

from functorch_core import torch

nn, F, optim = torch.nn, torch.nn.functional, torch.optim


def scheduler():
    return optim.lr_scheduler.StepLR(optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1), 1)


def grad_of_non_leaf():
    return (torch.ones(1, requires_grad=True) * 2).grad


def a_hook_without_inputs():
    layer = nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda *_: None)
    layer(torch.ones(1, 2)).sum().backward()


def a_deprecated_hook():
    layer = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    layer.register_backward_hook(lambda *_: None)
    return layer(torch.ones(1, 2, requires_grad=True))


class Spoken(nn.Module):
    def forward(self, x):
        return F.softmax(x)


class Longer(data.IterableDataset):
    def __len__(self):
        return 1

    def __iter__(self):
        return iter([torch.ones(1), torch.ones(1), torch.ones(1)])


def a_loop_over_a_loader():
    loader = data.DataLoader(Longer(), batch_size=1)
    return len(loader), list(loader)


def weight_norm():
    return torch.nn.utils.weight_norm(nn.Linear(2, 2))


CALLS = {
    "function": lambda: F.softmax(torch.ones(2)),
    "module": lambda: nn.Softmax()(torch.ones(2)),
    "function in the user's module": lambda: Spoken()(torch.ones(2)),
    "module in modules": lambda: nn.Sequential(nn.Sequential(nn.LogSoftmax()))(torch.ones(2)),
    "method": lambda: torch.ones(2, dtype=torch.complex64).to(torch.float32),
    "another method": lambda: torch.ones(2, dtype=torch.complex64).float(),
    "attribute": lambda: torch.ones(3).T,
    "grad of a non-leaf": grad_of_non_leaf,
    "out": lambda: torch.add(torch.ones(2), 1, out=torch.ones(3)),
    "out of a composite": lambda: torch.cat([torch.ones(2)], out=torch.ones(3)),
    "meshgrid": lambda: torch.meshgrid(torch.ones(2), torch.ones(2)),
    "tensor of a tensor": lambda: torch.tensor(torch.ones(2)),
    "loss": lambda: F.mse_loss(torch.ones(2, 1), torch.ones(2)),
    "loss as a module": lambda: nn.MSELoss()(torch.ones(2, 1), torch.ones(2)),
    "old reduction": lambda: nn.L1Loss(size_average=True),
    "old reduction of a function": lambda: F.l1_loss(torch.ones(2), torch.ones(2), size_average=True),
    "dropout2d": lambda: F.dropout2d(torch.ones(2, 3)),
    "dropout2d as a module": lambda: nn.Dropout2d()(torch.ones(2, 3)),
    "upsample": lambda: F.upsample(torch.ones(1, 1, 2, 2), scale_factor=2),
    "grid_sample": lambda: F.grid_sample(torch.ones(1, 1, 2, 2), torch.zeros(1, 2, 2, 2)),
    "rnn of one layer": lambda: nn.LSTM(2, 2, dropout=0.5),
    "init of nothing": lambda: nn.Linear(0, 2),
    "init by an old name": lambda: nn.init.uniform(torch.ones(2)),
    "clip_grad_norm": lambda: nn.utils.clip_grad_norm([torch.ones(1, requires_grad=True)], 1.0),
    "weight_norm": weight_norm,
    "container": lambda: nn.Container(),
    "hook without inputs": a_hook_without_inputs,
    "deprecated hook": a_deprecated_hook,
    "transformer": lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(2, 1, dtype=torch.float32), 1),
    "scheduler before the optimizer": lambda: scheduler().step(),
    "scheduler with epochs": lambda: scheduler().step(1),
    "get_lr": lambda: scheduler().get_lr(),
    "duplicate parameters": lambda: (lambda p: optim.SGD([p, p], lr=0.1))(torch.ones(1, requires_grad=True)),
    "precision": lambda: torch.set_float32_matmul_precision("fast"),
    "autocast": lambda: torch.autocast("cpu", dtype=torch.float32),
    "checkpoint": lambda: __import__("functorch_core.torch.utils.checkpoint").torch.utils.checkpoint.checkpoint(
        torch.sin, torch.ones(1, requires_grad=True)
    ),
    "anomalies": lambda: torch.autograd.detect_anomaly(),
    "sample_n": lambda: torch.distributions.Normal(0.0, 1.0).sample_n(1),
    "random_split": lambda: data.random_split(data.TensorDataset(torch.ones(2)), [1.0, 0.0]),
    "too many workers": lambda: data.DataLoader(data.TensorDataset(torch.ones(2)), num_workers=4096),
    "a loop over a DataLoader": a_loop_over_a_loader,
}


@pytest.mark.parametrize("name", CALLS)
def test_a_warning_names_the_users_line(name):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        CALLS[name]()
    assert found
    assert {w.filename for w in found} == {__file__}


def test_a_warning_is_an_error_where_that_is_asked_for():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="Implicit dimension choice"):
            F.softmax(torch.ones(2))


def test_a_warning_is_given_once_for_a_line():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            F.softmax(torch.ones(2))
    assert len(found) == 1
