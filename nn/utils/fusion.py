"""Batch normalisation, in evaluation mode, as part of the layer in front of it."""

from __future__ import annotations

import copy

from ...torch import ones_like, rsqrt, zeros_like
from ..parameter import Parameter

WRONG_FEATURES = (
    "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
    "linear.out_features={} and bn.num_features={}"
)


def _check_fusible(layer, bn):
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def fuse_conv_bn_eval(conv, bn, transpose: bool = False):
    """A convolution that computes bn(conv(x)).

    >>> nn.utils.fuse_conv_bn_eval(nn.Conv2d(1, 2, 3).eval(), nn.BatchNorm2d(2).eval())
    Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1))
    """
    _check_fusible(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose: bool = False):
    """(weight, bias) of a convolution followed by a batch normalisation, as parameters.

    >>> w, b = torch.ones(1, 1, 1, 1), torch.zeros(1)
    >>> one = torch.ones(1)
    >>> weight, bias = nn.utils.fuse_conv_bn_weights(w, b, one, one, 0., one, one)
    >>> weight.item(), bias.item()
    (1.0, 0.0)
    """
    bn_w = ones_like(bn_rm) if bn_w is None else bn_w
    bn_b = zeros_like(bn_rm) if bn_b is None else bn_b
    channel = [1, -1] if transpose else [-1, 1]
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, channel + [1] * (conv_w.ndim - 2))


def fuse_linear_bn_eval(linear, bn):
    """A linear layer that computes bn(linear(x)).

    >>> nn.utils.fuse_linear_bn_eval(nn.Linear(1, 2).eval(), nn.BatchNorm1d(2).eval())
    Linear(in_features=1, out_features=2, bias=True)
    """
    _check_fusible(linear, bn)
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError(WRONG_FEATURES.format(linear.out_features, bn.num_features))
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """(weight, bias) of a linear layer followed by a batch normalisation, as parameters.

    >>> w, b = torch.ones(1, 2), torch.zeros(1)
    >>> one = torch.ones(1)
    >>> weight, bias = nn.utils.fuse_linear_bn_weights(w, b, one, one, 0., one, one)
    >>> weight.tolist(), bias.item()
    ([[1.0, 1.0]], 0.0)
    """
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _fused(weight, bias, mean, var, eps, scale, shift, shape):
    bias_dtype = weight.dtype if bias is None else bias.dtype
    needs_grad = bias is not None and bias.requires_grad
    factor = scale * rsqrt(var + eps)
    new_weight = (weight * factor.reshape(shape)).to(weight.dtype)
    new_bias = ((0 if bias is None else bias) - mean) * factor + shift
    return (
        Parameter(new_weight.detach(), weight.requires_grad),
        Parameter(new_bias.detach().to(bias_dtype), needs_grad),
    )


__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]
