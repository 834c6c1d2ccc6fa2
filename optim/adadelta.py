"""torch.optim.Adadelta."""

from __future__ import annotations

from . import functional
from ._checks import check, check_lr
from ._stepping import AlgorithmOptimizer


class Adadelta(AlgorithmOptimizer):
    """Step sizes by the ratio of running averages of updates and gradients (Zeiler 2012).

    >>> param = nn.Parameter(torch.ones(2))
    >>> optimizer = optim.Adadelta([param], lr=0.1)
    >>> param.sum().backward()
    >>> optimizer.step()
    >>> param.data
    tensor([0.9997, 0.9997])
    """

    algorithm = functional.adadelta
    later_options = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(
        self,
        params,
        lr=1.0,
        rho=0.9,
        eps=1e-6,
        weight_decay=0,
        foreach=None,
        *,
        capturable=False,
        maximize=False,
        differentiable=False,
    ):
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check(eps, "Invalid epsilon value: {}")
        check(weight_decay, "Invalid weight_decay value: {}")
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)
