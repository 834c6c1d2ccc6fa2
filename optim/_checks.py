"""What constructors of optimizers check."""

from __future__ import annotations

from ..torch.tensors.base import Tensor

TENSOR_OPTION = "{} as a Tensor is not supported for capturable=False and foreach=True"
FUSED_DIFFERENTIABLE = "`fused` does not support `differentiable`"
FUSED_FOREACH = "`fused` and `foreach` cannot be `True` together."


def check_lr(lr, message: str = "Invalid learning rate: {}"):
    """ValueError unless a learning rate is a number (or tensor of one element) >= 0."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    check(lr, message)


def check(value, message: str):
    """ValueError with the message unless value >= 0."""
    if not 0.0 <= value:
        raise ValueError(message.format(value))


def check_betas(betas):
    """ValueError unless both are in [0, 1)."""
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")


def check_fused_params(params):
    """RuntimeError for parameters that PyTorch's fused steps do not take."""
    for p in params:
        if p.is_meta or not p.is_floating_point():
            raise RuntimeError(
                "`fused=True` requires all the params to be floating point Tensors of supported devices: "
                f"['cuda', 'cpu'] but {p.dtype} and {p.device.type}"
            )


def check_fused(fused, foreach, differentiable):
    """RuntimeError for implementations that exclude each other."""
    if fused and differentiable:
        raise RuntimeError(FUSED_DIFFERENTIABLE)
    if fused and foreach:
        raise RuntimeError(FUSED_FOREACH)
