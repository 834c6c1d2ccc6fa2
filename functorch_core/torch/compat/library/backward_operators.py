"""torch.ops.aten.tanh_backward and its like: operators of backward passes, computed as cotangents pulled back."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import functorch_core.torch as torch

from ...tape.modes import grad_mode


def pulled(function: Callable, tensors: Sequence, cotangent, wanted: Sequence[bool] | None = None) -> list:
    """The gradients of function(*tensors) by those tensors that are wanted."""
    wanted = [True] * len(tensors) if wanted is None else wanted
    wanted = [w and x is not None for x, w in zip(tensors, wanted)]
    with grad_mode(True):
        given = [x.detach().requires_grad_() if w else x for x, w in zip(tensors, wanted)]
        out = function(*given)
        asked = list(itertools.compress(given, wanted))
        found = iter(torch.autograd.grad(out, asked, cotangent) if asked else ())
    return [next(found) if w else None for w in wanted]


def _of(name: str, function: Callable) -> Callable:
    """NAME_backward(grad_output, self, *args) of a function of `self` and the same further arguments."""

    def backward(grad_output, self, *args, **kwargs):
        return pulled(lambda x: function(x, *args, **kwargs), [self], grad_output)[0]

    backward.__name__ = name
    return backward


def _functional(name: str) -> Callable:
    def function(*args, **kwargs):
        return getattr(torch.nn.functional, name)(*args, **kwargs)

    return function


def tanh_backward(grad_output, output):
    """grad * (1 - tanh(x) ** 2), of the result."""
    return grad_output * (1 - output * output).conj()


def sigmoid_backward(grad_output, output):
    """grad * y * (1 - y), of the result."""
    return grad_output * ((1 - output) * output).conj()


def threshold_backward(grad_output, self, threshold):
    """grad where self > threshold."""
    return torch.where(self <= threshold, torch.zeros_like(grad_output), grad_output)


def elu_backward(grad_output, alpha, scale, input_scale, is_result, self_or_result):
    """The cotangent of elu's operand."""
    if is_result:
        slope = torch.where(self_or_result > 0, scale, (self_or_result + alpha * scale) * input_scale)
    else:
        slope = torch.where(
            self_or_result > 0, scale, (self_or_result * input_scale).exp() * (alpha * scale * input_scale)
        )
    return grad_output * slope.to(grad_output.dtype)


def leaky_relu_backward(grad_output, self, negative_slope, self_is_result):
    """The cotangent of leaky_relu's operand."""
    return torch.where(self > 0, grad_output, grad_output * negative_slope)


def log_sigmoid_forward(self):
    """(log(sigmoid(x)), what the backward of some devices keeps)."""
    return torch.nn.functional.logsigmoid(self), torch.exp(-self.abs())


def log_sigmoid_backward(grad_output, self, buffer):
    """The cotangent of log_sigmoid's operand."""
    return grad_output * torch.sigmoid(-self)


def convolution_backward(
    grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask
):
    """The cotangents of a convolution's image, weight and bias, where they are wanted."""

    def convolved(x, w):
        return torch.convolution(x, w, None, stride, padding, dilation, transposed, output_padding, groups)

    of_input, of_weight = pulled(convolved, [input, weight], grad_output, output_mask[:2])
    dims = [0, *range(2, grad_output.ndim)]
    return of_input, of_weight, grad_output.sum(dims) if output_mask[2] else None


def native_batch_norm_backward(
    grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask
):
    """The cotangents of batch_norm's operand, weight and bias, where they are wanted."""

    def normed(x, w, b):
        return torch.nn.functional.batch_norm(
            x, None if train else running_mean, None if train else running_var, w, b, train, 0.0, eps
        )

    bias = None if weight is None else torch.zeros_like(weight)
    return tuple(pulled(normed, [input, weight, bias], grad_out, output_mask))


def avg_pool2d_backward(
    grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
):
    """The cotangent of averaged images."""
    how = kernel_size, stride or None, padding, ceil_mode, count_include_pad, divisor_override
    return pulled(lambda x: torch.nn.functional.avg_pool2d(x, *how), [self], grad_output)[0]


def smooth_l1_loss_backward(grad_output, self, target, reduction, beta):
    """The cotangent of smooth_l1_loss's operand."""
    how = ("none", "mean", "sum")[reduction]

    def loss(x):
        return torch.nn.functional.smooth_l1_loss(x, target, reduction=how, beta=beta)

    return pulled(loss, [self], grad_output)[0]


def native_layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask):
    """The cotangents of layer_norm's operand, weight and bias, where they are wanted."""

    def normed(x, w, b):
        dims = list(range(x.ndim - len(normalized_shape), x.ndim))
        centred = x - x.mean(dims, keepdim=True)
        epsilon = rstd.pow(-2) - (input - mean).square().mean(dims, keepdim=True)
        found = centred * (centred.square().mean(dims, keepdim=True) + epsilon).rsqrt()
        found = found if w is None else found * w
        return found if b is None else found + b

    return tuple(pulled(normed, [input, weight, bias], grad_out, output_mask))


def embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq):
    """The cotangent of a table of embeddings."""
    like = grad_output.new_zeros(num_weights, grad_output.shape[-1])
    padding = None if padding_idx < 0 else padding_idx

    def looked_up(table):
        return torch.nn.functional.embedding(indices, table, padding, scale_grad_by_freq=scale_grad_by_freq)

    return pulled(looked_up, [like], grad_output)[0]


def select_backward(grad_output, input_sizes, dim, index):
    """The cotangent of what a part was selected of."""
    made = grad_output.new_zeros(input_sizes)
    made.select(dim, index).copy_(grad_output)
    return made


def slice_backward(grad_output, input_sizes, dim, start, end, step):
    """The cotangent of what was sliced."""
    made = grad_output.new_zeros(input_sizes)
    where = [slice(None)] * len(input_sizes)
    where[dim] = slice(start, end, step)
    made[tuple(where)] = grad_output
    return made


def diagonal_backward(grad_output, input_sizes, offset, dim1, dim2):
    """The cotangent of what a diagonal was taken of."""
    made = grad_output.new_zeros(input_sizes)
    made.diagonal(offset, dim1, dim2).copy_(grad_output)
    return made


def mse_loss_backward(grad_output, self, target, reduction):
    """The cotangent of a mean square's operand."""
    found = grad_output * 2 * (self - target)
    return found / self.numel() if reduction == 1 else found


def nll_loss_forward(self, target, weight, reduction, ignore_index):
    """(the loss, the sum of the weights)."""
    weights = torch.ones(self.shape[-1], dtype=self.dtype) if weight is None else weight
    counted = torch.where(target == ignore_index, 0.0, weights[target.clamp(min=0)]).sum().to(self.dtype)
    how = ("none", "mean", "sum")[reduction]
    found = torch.nn.functional.nll_loss(self, target, weight, ignore_index=ignore_index, reduction=how)
    return found, counted if reduction else counted * 0


def nll_loss_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight):
    """The cotangent of the logarithms."""
    how = ("none", "mean", "sum")[reduction]

    def loss(x):
        return torch.nn.functional.nll_loss(x, target, weight, ignore_index=ignore_index, reduction=how)

    return pulled(loss, [self], grad_output)[0]


OWN = {
    **{
        f.__name__: f
        for f in (
            tanh_backward,
            sigmoid_backward,
            threshold_backward,
            elu_backward,
            leaky_relu_backward,
            log_sigmoid_forward,
            log_sigmoid_backward,
            convolution_backward,
            native_batch_norm_backward,
            avg_pool2d_backward,
            smooth_l1_loss_backward,
            native_layer_norm_backward,
            embedding_dense_backward,
            select_backward,
            slice_backward,
            diagonal_backward,
            mse_loss_backward,
            nll_loss_forward,
            nll_loss_backward,
        )
    },
    **{
        f"{name}_backward": _of(f"{name}_backward", _functional(name))
        for name in "hardtanh gelu silu mish hardswish hardsigmoid softplus".split()
    },
}
