"""torch.optim.Adafactor."""

from __future__ import annotations

from . import functional
from ._checks import check, check_lr
from ._stepping import AlgorithmOptimizer


class Adafactor(AlgorithmOptimizer):
    """Adam whose second moment of a matrix is factored (Shazeer and Stern 2018).

    >>> param = nn.Parameter(torch.ones(2))
    >>> optimizer = optim.Adafactor([param], lr=0.1)
    >>> param.sum().backward()
    >>> optimizer.step()
    >>> param.data
    tensor([0.9000, 0.9000])
    """

    algorithm = functional.adafactor
    complex_message = "Adafactor does not support complex parameters"
    later_options = {"foreach": None}

    def __init__(
        self,
        params,
        lr=1e-2,
        beta2_decay=-0.8,
        eps=(None, 1e-3),
        d=1.0,
        weight_decay=0.0,
        *,
        foreach=None,
        maximize=False,
    ):
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        if not 0.0 >= beta2_decay:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None:
            check(eps[0], "epsilon1 should be >= 0 but is: {}")
        check(eps[1], "epsilon2 should be >= 0 but is: {}")
        if not 1.0 <= d:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        check(weight_decay, "weight_decay should be >= 0 but is: {}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)
