"""Tensors without dimensions where a vector is asked for, and one row for several: as in PyTorch."""

import pytest
import torch as real

from functorch_core import torch

CALLS = """
torch.pairwise_distance(torch.tensor(1.), torch.tensor(3.))
torch.pairwise_distance(torch.tensor(1.), torch.tensor(3.), 3., keepdim=True)
F.triplet_margin_loss(torch.tensor(1.), torch.tensor(3.), torch.tensor(2.), swap=True)
torch.linalg.vecdot(torch.tensor(2. + 1j), torch.tensor(3. - 2j))
F.gumbel_softmax(torch.tensor(2.), hard=True)
F.cosine_embedding_loss(torch.tensor([[1., 2.]]), torch.tensor([[2., 1.]]), torch.tensor([1, -1, 0]), reduction="none")
F.cosine_embedding_loss(torch.tensor([[1., 2.]] * 2), torch.tensor([[2., 1.]] * 2), torch.tensor([1]))
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_values(call):
    ours, theirs = (eval(call, {"torch": lib, "F": lib.nn.functional}) for lib in (torch, real))
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert ours.tolist() == pytest.approx(theirs.tolist())


@pytest.mark.parametrize("call", ["torch.pairwise_distance(x, y)", "torch.linalg.vecdot(x, y)"])
def test_derivatives(call):
    slopes = []
    for lib in (torch, real):
        x = lib.tensor(1.0, requires_grad=True)
        eval(call, {"torch": lib, "x": x, "y": lib.tensor(3.0)}).backward()
        slopes.append(x.grad.item())
    assert slopes[0] == pytest.approx(slopes[1])
