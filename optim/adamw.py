"""torch.optim.AdamW."""

from __future__ import annotations

from .adam import Adam


class AdamW(Adam):
    """Adam whose weight decay is no part of the gradient (Loshchilov and Hutter 2019).

    >>> param = nn.Parameter(torch.ones(2))
    >>> optimizer = optim.AdamW([param], lr=0.1)
    >>> param.sum().backward()
    >>> optimizer.step()
    >>> param.data
    tensor([0.8990, 0.8990])
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=1e-2,
        amsgrad=False,
        *,
        maximize=False,
        foreach=None,
        capturable=False,
        differentiable=False,
        fused=None,
    ):
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:  # checkpoints of versions before it was an option
            group["decoupled_weight_decay"] = True
