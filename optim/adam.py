"""torch.optim.Adam."""

from __future__ import annotations

from ..torch.tensors.base import Tensor
from . import _wrappers, functional
from ._checks import TENSOR_OPTION, check, check_betas, check_fused, check_lr
from ._stepping import AlgorithmOptimizer


class Adam(AlgorithmOptimizer):
    """Adam (Kingma and Ba 2015), AMSGrad with `amsgrad`, AdamW with `decoupled_weight_decay`.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> torch.optim.Adam([w], lr=0.1).step()
    >>> w
    tensor([0.9000], requires_grad=True)
    """

    algorithm = functional.adam
    on_wrappers = staticmethod(_wrappers.adam)
    sparse_message = "Adam does not support sparse gradients, please consider SparseAdam instead"
    later_options = {
        "amsgrad": False,
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "fused": None,
    }

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        amsgrad=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
        fused=None,
        decoupled_weight_decay=False,
    ):
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError(TENSOR_OPTION.format("lr"))
        check_lr(lr)
        check(eps, "Invalid epsilon value: {}")
        check_betas(betas)
        check(weight_decay, "Invalid weight_decay value: {}")
        betas = _checked_betas(betas, foreach and not capturable)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def _step_group(self, group):
        if group["foreach"] and isinstance(group["lr"], Tensor) and not group["capturable"]:
            raise RuntimeError(TENSOR_OPTION.format("lr"))
        super()._step_group(group)


def _checked_betas(betas, numbers_only) -> tuple:
    """Both numbers or both tensors of one element, which become 0-d."""
    if not (all(isinstance(b, float) for b in betas) or all(isinstance(b, Tensor) for b in betas)):
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(betas):
        if isinstance(beta, Tensor):
            if numbers_only:
                raise ValueError(TENSOR_OPTION.format(f"betas[{i}]"))
            if beta.numel() != 1:
                raise ValueError(f"Tensor betas[{i}] must be 1-element")
    return tuple([b.squeeze() if isinstance(b, Tensor) and b.ndim else b for b in betas])
