"""torch.optim.RAdam."""

from __future__ import annotations

from . import functional
from ._checks import check, check_betas, check_lr
from ._stepping import AlgorithmOptimizer


class RAdam(AlgorithmOptimizer):
    """Adam with a rectified variance (Liu et al. 2020).

    >>> param = nn.Parameter(torch.ones(2))
    >>> optimizer = optim.RAdam([param], lr=0.1)
    >>> param.sum().backward()
    >>> optimizer.step()
    >>> param.data
    tensor([0.9000, 0.9000])
    """

    algorithm = functional.radam
    later_options = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "capturable": False,
    }

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        check_lr(lr)
        check(eps, "Invalid epsilon value: {}")
        check_betas(betas)
        check(weight_decay, "Invalid weight_decay value: {}")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)
