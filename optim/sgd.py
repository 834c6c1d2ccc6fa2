"""torch.optim.SGD."""

from __future__ import annotations

from . import _wrappers, functional
from ._checks import check, check_fused, check_lr
from ._stepping import AlgorithmOptimizer


class SGD(AlgorithmOptimizer):
    """Stochastic gradient descent, with momentum (also Nesterov's) and weight decay.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> torch.optim.SGD([w], lr=0.1).step()
    >>> w
    tensor([0.8000], requires_grad=True)
    """

    algorithm = functional.sgd
    by_gradient = ("momentum_buffer",)
    on_wrappers = staticmethod(_wrappers.sgd)
    counts_steps = False
    later_options = {"nesterov": False, "maximize": False, "foreach": None, "differentiable": False, "fused": False}

    def __init__(
        self,
        params,
        lr=1e-3,
        momentum=0,
        dampening=0,
        weight_decay=0,
        nesterov=False,
        *,
        maximize=False,
        foreach=None,
        differentiable=False,
        fused=None,
    ):
        check_lr(lr)
        check(momentum, "Invalid momentum value: {}")
        check(weight_decay, "Invalid weight_decay value: {}")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def _init_state(self, p, group):
        """Zeros, so that the first step is the program of all others; where steps are dampened
        nothing: the first gradient becomes the momentum buffer."""
        if group["dampening"] == 0:
            super()._init_state(p, group)

    def _step_sparse(self, p, grad, group):
        grad = -grad if group["maximize"] else grad
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])  # raises, as in PyTorch
        momentum = group["momentum"]
        if momentum != 0:
            state = self.state[p]
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        p.add_(grad, alpha=-group["lr"])

    def _state_of(self, p, group) -> dict:
        return super()._state_of(p, group) if group["momentum"] != 0 else {}
