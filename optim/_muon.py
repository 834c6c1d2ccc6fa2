"""torch.optim.Muon."""

from __future__ import annotations

from . import functional
from ._checks import check, check_lr
from ._stepping import AlgorithmOptimizer

ADJUSTMENTS = ("original", "match_rms_adamw")


class Muon(AlgorithmOptimizer):
    """Momentum whose update is orthogonalized, for the matrices of hidden layers (Jordan 2024).

    >>> weight = nn.Parameter(torch.eye(2))
    >>> optimizer = optim.Muon([weight], lr=0.1, weight_decay=0.)
    >>> weight.sum().backward()
    >>> optimizer.step()
    >>> weight.shape
    torch.Size([2, 2])
    """

    algorithm = functional.muon
    counts_steps = False
    by_gradient = ("momentum_buffer",)
    complex_message = "Muon does not support complex parameters"

    def __init__(
        self,
        params,
        lr=1e-3,
        weight_decay=0.1,
        momentum=0.95,
        nesterov=True,
        ns_coefficients=(3.4445, -4.7750, 2.0315),
        eps=1e-7,
        ns_steps=5,
        adjust_lr_fn=None,
    ):
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        check(momentum, "momentum should be >= 0 but is: {}")
        check(weight_decay, "weight decay should be >= 0 but is: {}")
        if adjust_lr_fn is not None and adjust_lr_fn not in ADJUSTMENTS:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}"
                    )
