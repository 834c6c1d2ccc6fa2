"""What PyTorch's convolutions call on the CPU, as `operator_parts` has it: oneDNN, or PyTorch's own functions."""

from __future__ import annotations

import math

from ...tensors import types as _types
from .sketches import Part, Sketch, made_of

SMALL_CONVOLUTION = 20480  # elements of one example, in at most three dimensions


def _convolution_of(n: int):
    @made_of(f"conv{n}d")
    def convolved(a, input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        if isinstance(padding, str):
            a._convolution_mode(input, weight, bias, stride, padding, dilation, groups)
        else:
            a.convolution(input, weight, bias, stride, padding, dilation, None, None, groups)


_convolution_of(1)
_convolution_of(2)
_convolution_of(3)


@made_of()
def _convolution_mode(a, input, weight, bias, stride, padding, dilation, groups):
    return a.convolution(input, weight, bias, stride, padding, dilation, None, None, groups)


@made_of()
def convolution(a, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    return a._convolution(input, weight, bias, stride, padding, dilation, None, None, groups, *[None] * 4)


@made_of()
def _convolution(a, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, *how):
    """One dimension is a second of one element."""
    flat = weight.ndim == 3
    if flat:
        input = a.unsqueeze(input, -2).like([*input.shape[:-1], 1, input.shape[-1]])
        weight = a.unsqueeze(weight, -2).like([*weight.shape[:-1], 1, weight.shape[-1]])
    if _is_onednns(input, weight, groups):
        made = a.mkldnn_convolution(input, weight, bias, *[None] * 4)
    elif groups != 1:
        raise ValueError("a convolution for each group is not known")
    else:
        made = _own_convolution(a, input, weight, bias, any(_each(dilation, 1)))
    if flat:
        a.squeeze(made, -2)


def _each(x, beyond: int) -> list[bool]:
    """Whether each number is larger."""
    return [n > beyond for n in (x if isinstance(x, (tuple, list)) else [x])]


def _is_onednns(input: Part, weight: Part, groups: int) -> bool:
    """Whether PyTorch calls oneDNN: for float32 that is large enough."""
    if input.dtype is not _types.named("float32"):
        return False
    return (
        groups > 1 or min(weight.shape[-2:]) > 3 or input.shape[0] > 1 or math.prod(input.shape[:4]) > SMALL_CONVOLUTION
    )


def _own_convolution(a: Sketch, input: Part, weight: Part, bias: Part | None, dilated: bool) -> Part:
    """By PyTorch's own functions: products of matrices of windows."""
    n, made = weight.ndim - 2, input.like(a.result.shape if isinstance(a.result, Part) else None)
    if dilated:
        with a.calling(f"aten::slow_conv_dilated{n}d", input, weight, None, bias, *[None] * 3):
            a.empty()
            a.zero_(a.resize_(a.empty(), None))
            for _ in range(input.shape[0]):
                a.select(input, 0, 0)
                a.select(made, 0, 0)
        return made
    if n == 2:
        a._nnpack_available()
    outer, inner = ("thnn_conv2d", "_slow_conv2d_forward") if n == 2 else ("slow_conv3d", "slow_conv3d_forward")
    with a.calling(f"aten::{outer}", input, weight, None, bias, *[None] * 2):
        with a.calling(f"aten::{inner}", input, weight, None, bias, *[None] * 2):
            a.empty()
            a.view(weight, [weight.shape[0], -1])
            a.resize_(a.empty(), None)
            if bias is not None:
                a.copy_(made, a.reshape(bias, [*bias.shape, *[1] * n]), False)
    return made


@made_of()
def mkldnn_convolution(a, input, weight, bias, *how):
    shape = a.result.shape if isinstance(a.result, Part) else input.shape
    shape = [*shape[:-1], 1, shape[-1]] if len(shape) < input.ndim else shape
    a.empty()
    return from_onednn(a, input.like(shape))


def from_onednn(a: Sketch, like: Part) -> Part:
    """New memory that oneDNN has written to."""
    a.empty()
    a.as_strided_(like, None, None)
    return a.resize_(like, None)


@made_of()
def conv_transpose2d(a, input, weight, *args, **options):
    with a.calling("aten::convolution", input, weight, *[None] * 7):
        with a.calling("aten::_convolution", input, weight, *[None] * 10):
            mkldnn_convolution_transpose(a, input)


def mkldnn_convolution_transpose(a: Sketch, input: Part):
    """A transposed convolution by oneDNN, which is no operator of its own."""
    a.empty()
    from_onednn(a, input.like(a.result.shape))
