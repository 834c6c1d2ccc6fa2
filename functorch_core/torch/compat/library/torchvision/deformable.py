"""Deformable convolution: each tap of the kernel reads the input at a place of its own, between four elements."""

from __future__ import annotations

from collections.abc import Callable

import functorch_core.torch as torch


def deform_conv2d(
    input,
    weight,
    offset,
    mask,
    bias,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    groups: int,
    offset_groups: int,
    use_mask: bool,
):
    """(N, out, OH, OW) of input (N, C, H, W), weight (out, C / groups, KH, KW), offset (N, 2 * offset_groups * KH * KW,
    OH, OW), in which a tap's row stands before its column, and mask (N, offset_groups * KH * KW, OH, OW)."""
    (n, c, height, width), (out, _, kh, kw) = input.shape, weight.shape
    oh = (height + 2 * pad_h - dilation_h * (kh - 1) - 1) // stride_h + 1
    ow = (width + 2 * pad_w - dilation_w * (kw - 1) - 1) // stride_w + 1
    _check(offset, (n, 2 * offset_groups * kh * kw, oh, ow), "offset")
    shifts = offset.reshape(n, offset_groups, kh, kw, 2, oh, ow)
    rows = torch.arange(oh).reshape(-1, 1) * stride_h - pad_h + torch.arange(kh).reshape(-1, 1, 1, 1) * dilation_h
    columns = torch.arange(ow) * stride_w - pad_w + torch.arange(kw).reshape(-1, 1, 1) * dilation_w
    y, x = shifts[:, :, :, :, 0] + rows.to(offset.dtype), shifts[:, :, :, :, 1] + columns.to(offset.dtype)
    taken = _between(input.reshape(n, offset_groups, -1, height * width), y, x, height, width)
    if use_mask:
        _check(mask, (n, offset_groups * kh * kw, oh, ow), "mask")
        taken = taken * mask.reshape(n, offset_groups, 1, -1)
    taken = taken.reshape(n, groups, c // groups * kh * kw, oh * ow)
    found = weight.reshape(groups, out // groups, -1) @ taken
    return found.reshape(n, out, oh, ow) + bias.reshape(-1, 1, 1)


def _check(x, shape: tuple, name: str):
    if tuple(x.shape) != shape:
        raise RuntimeError(f"deform_conv2d: {name} should be of shape {shape}, got {tuple(x.shape)}")


def _between(images, y, x, height: int, width: int):
    """(N, G, C, places): channels of (N, G, C, height * width) at rows y and columns x (N, G, ...); 0 outside."""
    n, g, c, _ = images.shape
    top, left = y.detach().floor(), x.detach().floor()
    found = 0.0
    for down in (0, 1):
        for right in (0, 1):
            row, column = top + down, left + right
            share = (1 - (y - row).abs()) * (1 - (x - column).abs())
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            place = (row.clamp(0, height - 1) * width + column.clamp(0, width - 1)).long().reshape(n, g, 1, -1)
            share = torch.where(inside, share, 0.0).to(images.dtype).reshape(n, g, 1, -1)
            found = found + images.gather(3, place.expand(n, g, c, place.shape[3])) * share
    return found


ARGUMENTS = (
    "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, "
    "SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, "
    "bool use_mask"
)
OPERATORS: dict[str, Callable] = {f"deform_conv2d({ARGUMENTS}) -> Tensor": deform_conv2d}
