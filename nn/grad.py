"""torch.nn.grad: the gradients of convolutions as functions."""

from __future__ import annotations

from ..torch import zeros
from ..torch.levels.derivatives import vjp
from . import functional as F
from ._names import publish


def _gradient(conv, by_input: bool):
    """A function of (shape of what to differentiate by, other operand, gradient of the output)."""

    def gradient(first, second, grad_output, stride=1, padding=0, dilation=1, groups=1):
        other, shape = (second, first) if by_input else (first, second)

        def apply(x):
            operands = (x, other) if by_input else (other, x)
            return conv(*operands, None, stride, padding, dilation, groups)

        start = zeros(tuple(shape), dtype=other.dtype, device=other.device)  # conv is linear in it
        return vjp(apply, start)[1](grad_output)[0]

    return gradient


def _named(n: int, by_input: bool):
    gradient = _gradient((F.conv1d, F.conv2d, F.conv3d)[n - 1], by_input)

    def of_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
        return gradient(input_size, weight, grad_output, stride, padding, dilation, groups)

    def of_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
        return gradient(input, weight_size, grad_output, stride, padding, dilation, groups)

    fun, what = (of_input, "input") if by_input else (of_weight, "weight")
    fun.__name__ = fun.__qualname__ = f"conv{n}d_{what}"
    given = "x.shape, weight" if by_input else "x, weight.shape"
    fun.__doc__ = f"""The gradient of conv{n}d by its {what}.

    >>> x, weight = torch.ones(1, 1{", 3" * n}), torch.ones(1, 1{", 2" * n})
    >>> torch.nn.grad.{fun.__name__}({given}, torch.ones(1, 1{", 2" * n})).sum().item()
    {4**n}.0
    """
    return fun


conv1d_input, conv2d_input, conv3d_input = (_named(n, True) for n in (1, 2, 3))
conv1d_weight, conv2d_weight, conv3d_weight = (_named(n, False) for n in (1, 2, 3))

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]

publish()
