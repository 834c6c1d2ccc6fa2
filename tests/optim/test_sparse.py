"""Optimizers with sparse gradients, against PyTorch."""

import copy

import numpy as np
import pytest

from functorch_core import torch

reference = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:Sparse")

CASES = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"foreach": True}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1}),
    ("Adagrad", {"initial_accumulator_value": 0.5}),
    ("SparseAdam", {"lr": 0.1}),
    ("SparseAdam", {"maximize": True, "betas": (0.5, 0.7)}),
]


def trained(lib, name, kwargs, make, steps: int = 5) -> np.ndarray:
    """A table after each step."""
    rng = np.random.default_rng(0)
    module = make(lib)
    with lib.no_grad():
        module.weight.copy_(lib.tensor(rng.standard_normal((7, 3)).astype(np.float32)))
    optimizer = getattr(lib.optim, name)(module.parameters(), **kwargs)
    history = []
    for k in range(steps):
        optimizer.zero_grad(set_to_none=k % 2 == 0)
        out = module(lib.tensor(rng.integers(0, 5, (4, 2))))
        (out * out).sum().backward()
        optimizer.step()
        history.append(module.weight.detach().numpy().copy())
    return np.stack(history)


@pytest.mark.parametrize(
    "make",
    [
        lambda lib: lib.nn.Embedding(7, 3, sparse=True, padding_idx=2),
        lambda lib: lib.nn.EmbeddingBag(7, 3, sparse=True, mode="mean"),
    ],
    ids=["embedding", "bag"],
)
@pytest.mark.parametrize("name, kwargs", CASES, ids=str)
def test_trajectory(name, kwargs, make):
    mine, theirs = (trained(lib, name, kwargs, make) for lib in (torch, reference))
    np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-6)


def test_rows_without_a_gradient_stay():
    table = torch.nn.Embedding(100, 4, sparse=True)
    before = table.weight.detach().numpy().copy()
    optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        table(torch.tensor([3, 7, 3])).sum().backward()
        optimizer.step()
    changed = (table.weight.detach().numpy() != before).any(1)
    assert np.flatnonzero(changed).tolist() == [3, 7]
    state = optimizer.state_dict()["state"][0]
    assert state["step"] == 3 and state["exp_avg"].shape == (100, 4)


def test_states_go_from_one_library_to_the_other():
    def run(lib, optimizer, weight, steps):
        for _ in range(steps):
            optimizer.zero_grad()
            lib.nn.functional.embedding(lib.tensor([1, 1, 2]), weight, sparse=True).square().sum().backward()
            optimizer.step()
        return weight.detach().numpy().copy()

    def start(lib, values):
        weight = lib.tensor(values, requires_grad=True)
        return weight, lib.optim.SparseAdam([weight], lr=0.1)

    values = np.arange(8, dtype=np.float32).reshape(4, 2)
    weight, optimizer = start(reference, values)
    half = run(reference, optimizer, weight, 2)
    state = copy.deepcopy(optimizer.state_dict())
    for key in ("exp_avg", "exp_avg_sq"):
        state["state"][0][key] = torch.tensor(state["state"][0][key].numpy())
    whole = run(reference, optimizer, weight, 2)
    weight, optimizer = start(torch, half)
    optimizer.load_state_dict(state)
    np.testing.assert_allclose(run(torch, optimizer, weight, 2), whole, rtol=1e-5)


@pytest.mark.parametrize(
    "name, kwargs",
    [
        ("SparseAdam", {}),
        *(
            (n, {})
            for n in ("Adam", "AdamW", "RMSprop", "Adamax", "NAdam", "RAdam", "Adadelta", "Rprop", "ASGD", "Adafactor")
        ),
        ("Adagrad", {"weight_decay": 0.1}),
        ("SGD", {"weight_decay": 0.1}),
    ],
    ids=str,
)
def test_errors_are_those_of_pytorch(name, kwargs):
    found = []
    for lib in (torch, reference):
        weight = lib.ones(3, 2).requires_grad_()
        weight.grad = lib.ones(3, 2)
        if name != "SparseAdam":
            weight.grad = weight.grad.to_sparse(1)
        with pytest.raises(RuntimeError) as caught:
            getattr(lib.optim, name)([weight], **kwargs).step()
        found.append(str(caught.value))
    assert found[0] == found[1]
