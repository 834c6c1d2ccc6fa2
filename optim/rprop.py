"""torch.optim.Rprop."""

from __future__ import annotations

from . import functional
from ._checks import check_lr
from ._stepping import AlgorithmOptimizer


class Rprop(AlgorithmOptimizer):
    """Resilient backpropagation (Riedmiller and Braun 1993).

    >>> param = nn.Parameter(torch.ones(2))
    >>> optimizer = optim.Rprop([param], lr=0.1)
    >>> param.sum().backward()
    >>> optimizer.step()
    >>> param.data
    tensor([0.9000, 0.9000])
    """

    algorithm = functional.rprop
    by_gradient = ("step_size",)
    later_options = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(
        self,
        params,
        lr=1e-2,
        etas=(0.5, 1.2),
        step_sizes=(1e-6, 50),
        *,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)
