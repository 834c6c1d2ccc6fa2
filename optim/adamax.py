"""torch.optim.Adamax."""

from __future__ import annotations

from . import functional
from ._checks import check, check_betas, check_lr
from ._stepping import AlgorithmOptimizer


class Adamax(AlgorithmOptimizer):
    """Adam with the infinity norm in place of the second moment (Kingma and Ba 2015).

    >>> param = nn.Parameter(torch.ones(2))
    >>> optimizer = optim.Adamax([param], lr=0.1)
    >>> param.sum().backward()
    >>> optimizer.step()
    >>> param.data
    tensor([0.9000, 0.9000])
    """

    algorithm = functional.adamax
    later_options = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        capturable=False,
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
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)
