"""Steps of parameters whose class has __torch_dispatch__, operator by operator.

The class of such a parameter is told of each operator, and what an update is made of is part of what it sees: these are
PyTorch's operators in PyTorch's order. All other parameters are updated by an algorithm (`functional`).
"""

from __future__ import annotations

import math

from .. import torch
from ..torch.tensors.base import Tensor


def sgd(p: Tensor, grad: Tensor, state: dict, group: dict):
    """A step of torch.optim.SGD."""
    momentum, decay = float(group["momentum"]), float(group["weight_decay"])
    if group["maximize"]:
        grad = -grad
    if decay:
        grad = grad.add(p, alpha=decay)
    if momentum:
        buffer = state.get("momentum_buffer")
        if buffer is None:
            buffer = state["momentum_buffer"] = grad.detach().clone()
        else:
            buffer.mul_(momentum).add_(grad, alpha=1 - float(group["dampening"]))
        grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
    p.add_(grad, alpha=-float(group["lr"]))


def adam(p: Tensor, grad: Tensor, state: dict, group: dict):
    """A step of torch.optim.Adam and AdamW."""
    lr, decay, eps = (float(group[name]) for name in ("lr", "weight_decay", "eps"))
    first, second = map(float, group["betas"])
    if not state:
        state["step"] = torch.tensor(0.0)
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")[: 3 if group["amsgrad"] else 2]
        state.update({name: torch.zeros_like(p) for name in names})
    state["step"] += 1
    if group["maximize"]:
        grad = -grad
    if decay and group["decoupled_weight_decay"]:
        p.mul_(1 - lr * decay)
    elif decay:
        grad = grad.add(p, alpha=decay)
    mean, square = state["exp_avg"], state["exp_avg_sq"]
    mean.lerp_(grad, 1 - first)
    square.mul_(second).addcmul_(grad, grad, value=1 - second)
    step = state["step"].item()
    if group["amsgrad"]:
        most = state["max_exp_avg_sq"]
        square = torch.maximum(most, square, out=most)
    scale = (square.sqrt() / math.sqrt(1 - second**step)).add_(eps)
    p.addcdiv_(mean, scale, value=-lr / (1 - first**step))
