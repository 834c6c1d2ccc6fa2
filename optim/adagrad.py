"""torch.optim.Adagrad."""

from __future__ import annotations

from . import functional
from ._checks import check, check_fused, check_lr
from ._stepping import AlgorithmOptimizer, advance


class Adagrad(AlgorithmOptimizer):
    """Step sizes by the root of the sum of squared gradients (Duchi et al. 2011).

    >>> param = nn.Parameter(torch.ones(2))
    >>> optimizer = optim.Adagrad([param], lr=0.1)
    >>> param.sum().backward()
    >>> optimizer.step()
    >>> param.data
    tensor([0.9000, 0.9000])
    """

    algorithm = functional.adagrad
    later_options = {"foreach": None, "maximize": False, "differentiable": False, "fused": None}

    def __init__(
        self,
        params,
        lr=1e-2,
        lr_decay=0,
        weight_decay=0,
        initial_accumulator_value=0,
        eps=1e-10,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        fused=None,
    ):
        check_lr(lr)
        check(lr_decay, "Invalid lr_decay value: {}")
        check(weight_decay, "Invalid weight_decay value: {}")
        check(initial_accumulator_value, "Invalid initial_accumulator_value value: {}")
        check(eps, "Invalid epsilon value: {}")
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)
        for group in self.param_groups:
            for p in group["params"]:
                self._init_state(p, group)

    def _step_sparse(self, p, grad, group):
        if group["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        state = self._state_of(p, group)
        self._step_rows(p, grad, state, advance([state["step"]])[1][0], group)

    def share_memory(self):
        """Accepted for compatibility."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()
