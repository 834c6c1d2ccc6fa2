"""torch.optim.RMSprop."""

from __future__ import annotations

from . import functional
from ._checks import check, check_lr
from ._stepping import AlgorithmOptimizer


class RMSprop(AlgorithmOptimizer):
    """Step sizes by the root of the running average of squared gradients.

    >>> param = nn.Parameter(torch.ones(2))
    >>> optimizer = optim.RMSprop([param], lr=0.1)
    >>> param.sum().backward()
    >>> optimizer.step()
    >>> param.data
    tensor([5.9605e-08, 5.9605e-08])
    """

    algorithm = functional.rmsprop
    later_options = {
        "momentum": 0,
        "centered": False,
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }

    def __init__(
        self,
        params,
        lr=1e-2,
        alpha=0.99,
        eps=1e-8,
        weight_decay=0,
        momentum=0,
        centered=False,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        check_lr(lr)
        check(eps, "Invalid epsilon value: {}")
        check(momentum, "Invalid momentum value: {}")
        check(weight_decay, "Invalid weight_decay value: {}")
        check(alpha, "Invalid alpha value: {}")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)
