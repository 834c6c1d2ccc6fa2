"""Losses of the torch namespace: those of nn.functional with the reduction as a number.

Called without one they reduce nothing, as in PyTorch, whose reading of its own default (the mean) gives 0;
the operators of torch.ops.aten have the mean.
"""

from __future__ import annotations

from ...dispatch.op import composite
from . import loss as nn_loss
from . import ranking as nn_ranking

REDUCTIONS = {1: "mean", 2: "sum"}


def _name(reduction: int) -> str:
    return REDUCTIONS.get(reduction, "none")


@composite(method=False, autocast="full")
def kl_div(input, target, reduction=0, *, log_target=False):
    """nn.functional.kl_div with the reduction as a number: 0 none, 1 mean, 2 sum.

    >>> torch.kl_div(torch.tensor([0.5, 0.5]).log(), torch.tensor([0.25, 0.75]), 0)
    tensor([-0.1733,  0.3041])
    """
    return nn_ranking.torch_kl_div(input, target, _name(reduction), log_target)


@composite(method=False)
def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    """nn.functional.poisson_nll_loss with the reduction as a number.

    >>> torch.poisson_nll_loss(torch.tensor([0., 1.]), torch.tensor([1., 2.]), True, False, 1e-8, 0)
    tensor([1.0000, 0.7183])
    """
    return nn_ranking.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=_name(reduction))


@composite(method=False)
def hinge_embedding_loss(input, target, margin=1.0, reduction=0):
    """nn.functional.hinge_embedding_loss with the reduction as a number.

    >>> torch.hinge_embedding_loss(torch.tensor([0.5, 0.5]), torch.tensor([1., -1.]), 1.0, 0)
    tensor([0.5000, 0.5000])
    """
    return nn_ranking.hinge_embedding_loss(input, target, margin, reduction=_name(reduction))


@composite(method=False)
def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=0):
    """nn.functional.cosine_embedding_loss with the reduction as a number.

    >>> a, b = torch.tensor([[1., 0.]]), torch.tensor([[0., 1.]])
    >>> torch.cosine_embedding_loss(a, b, torch.tensor([1.]), 0.0, 1)
    tensor(1.)
    """
    return nn_ranking.cosine_embedding_loss(input1, input2, target, margin, reduction=_name(reduction))


@composite(method=False)
def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=0):
    """nn.functional.margin_ranking_loss with the reduction as a number.

    >>> a, b = torch.tensor([1., 2.]), torch.tensor([2., 0.])
    >>> torch.margin_ranking_loss(a, b, torch.ones(2), 0.0, 0)
    tensor([1., 0.])
    """
    return nn_ranking.margin_ranking(input1, input2, target, margin, _name(reduction))


@composite(method=False)
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction=0):
    """nn.functional.triplet_margin_loss with the reduction as a number.

    >>> a, p, n = torch.tensor([[0., 0.]]), torch.tensor([[0., 1.]]), torch.tensor([[3., 4.]])
    >>> torch.triplet_margin_loss(a, p, n, 5.0, 2.0, 0.0, False, 1)
    tensor(1.)
    """
    return nn_ranking.triplet(anchor, positive, negative, float(margin), float(p), eps, swap, _name(reduction))


@composite(method=False)
def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=0):
    """nn.functional.binary_cross_entropy_with_logits with the reduction as a number.

    >>> torch.binary_cross_entropy_with_logits(torch.tensor([0., 2.]), torch.tensor([1., 0.]), None, None, 0)
    tensor([0.6931, 2.1269])
    """
    return nn_loss.binary_cross_entropy_with_logits(
        input, target, weight, reduction=_name(reduction), pos_weight=pos_weight
    )
