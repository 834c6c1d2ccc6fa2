"""torch.optim.ASGD."""

from __future__ import annotations

from . import functional
from ._checks import check, check_lr
from ._stepping import AlgorithmOptimizer


class ASGD(AlgorithmOptimizer):
    """Averaged stochastic gradient descent (Polyak and Juditsky 1992).

    >>> param = nn.Parameter(torch.ones(2))
    >>> optimizer = optim.ASGD([param], lr=0.1)
    >>> param.sum().backward()
    >>> optimizer.step()
    >>> param.data
    tensor([0.9000, 0.9000])
    """

    algorithm = functional.asgd
    later_options = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(
        self,
        params,
        lr=1e-2,
        lambd=1e-4,
        alpha=0.75,
        t0=1e6,
        weight_decay=0,
        foreach=None,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        check_lr(lr)
        check(weight_decay, "Invalid weight_decay value: {}")
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)
