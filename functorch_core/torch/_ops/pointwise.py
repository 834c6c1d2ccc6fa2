"""Elementwise arithmetic, comparison and logic."""
from __future__ import annotations

from ... import primitives as p
from ...core import dtypes as dt
from .._op import torch_op
from .._promotion import cast, promote

# ---- arithmetic --------------------------------------------------------------------------------------


def scaled(x, alpha):
    """alpha * x in x's dtype."""
    return x if alpha == 1 and not hasattr(alpha, "kind") else p.mul(
        x, p.broadcast_in_dim(cast(alpha, x.aval.dtype), shape=x.aval.shape, dims=()))


@torch_op(inplace=True, dunder=("add", "radd"))
def add(input: Operand, other: Operand, *, alpha: Number = 1, out=None):
    """input + alpha * other, elementwise, with promotion and broadcasting.

    >>> torch.add(torch.tensor([1., 2.]), 10)
    tensor([11., 12.])
    """
    x, y = promote(input, other)
    return p.add(x, scaled(y, alpha))


@torch_op(inplace=True, dunder=("sub",), aliases=("subtract",))
def sub(input: Operand, other: Operand, *, alpha: Number = 1, out=None):
    """input - alpha * other, elementwise.

    >>> torch.sub(torch.tensor([1., 2.]), 1)
    tensor([0., 1.])
    """
    x, y = promote(input, other)
    if x.aval.dtype == dt.bool_:
        raise RuntimeError("Subtraction, the `-` operator, with two bool tensors is not supported. "
                           "Use the `^` or `logical_xor()` operator instead.")
    return p.sub(x, scaled(y, alpha))


@torch_op(inplace=True, dunder=("mul", "rmul"), aliases=("multiply",))
def mul(input: Operand, other: Operand, *, out=None):
    """input * other, elementwise.

    >>> torch.mul(torch.tensor([1., 2.]), 3)
    tensor([3., 6.])
    """
    return p.mul(*promote(input, other))
