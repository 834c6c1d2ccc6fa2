"""torch.optim.NAdam."""

from __future__ import annotations

from . import functional
from ._checks import check, check_betas, check_lr
from ._stepping import AlgorithmOptimizer


class NAdam(AlgorithmOptimizer):
    """Adam with Nesterov momentum (Dozat 2016).

    >>> param = nn.Parameter(torch.ones(2))
    >>> optimizer = optim.NAdam([param], lr=0.1)
    >>> param.sum().backward()
    >>> optimizer.step()
    >>> param.data
    tensor([0.8944, 0.8944])
    """

    algorithm = functional.nadam
    later_options = {
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
    }

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        momentum_decay=4e-3,
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
        check(momentum_decay, "Invalid momentum_decay value: {}")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)
