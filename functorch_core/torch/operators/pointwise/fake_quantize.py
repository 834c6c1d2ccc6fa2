"""Fake quantisation: numbers rounded to what a quantised dtype could hold, still as floats."""

from __future__ import annotations

from ....transforms.custom import stop_gradient
from ...dispatch.op import torch_op
from ...dispatch.slots import Operand
from ...tensors.base import Tensor
from ..values import aval_of, cast, dt, full_like, p, scalar


def _quantised(x, scale, zero_point, low: int, high: int):
    """The nearest multiples of scale within the range; the gradient passes where x is in it."""
    place = p.add(p.round(p.div(x, scale)), zero_point)
    place = stop_gradient(place)
    inside = p.and_(p.ge(place, float(low)), p.le(place, float(high)))
    bounded = p.clamp(full_like(place, low), place, full_like(place, high))
    found = p.mul(p.sub(bounded, zero_point), scale)
    through = p.select(inside, p.sub(x, stop_gradient(x)), full_like(x, 0))
    return p.add(stop_gradient(found), through)


def _check_range(name: str, x, low: int, high: int):
    if low > high:
        raise RuntimeError(f"{name}: `quant_min` should be less than or equal to `quant_max`, but got {low} and {high}")
    if aval_of(x).dtype not in dt.FLOATING:
        raise RuntimeError(f"{name}: expected a floating point tensor, but got {aval_of(x).dtype.name}")


@torch_op(method=False, node="fake_quantize_per_tensor_affine_cachemask", autocast={"cpu": "full"})
def fake_quantize_per_tensor_affine(input: Tensor, scale: Operand, zero_point: Operand, quant_min, quant_max):
    """input rounded to multiples of scale, of numbers from quant_min to quant_max less zero_point.

    >>> torch.fake_quantize_per_tensor_affine(torch.tensor([.12, 9.]), .1, 0, 0, 15)
    tensor([0.1000, 1.5000])
    """
    _check_range("fake_quantize_per_tensor_affine", input, quant_min, quant_max)
    dtype = aval_of(input).dtype
    size, zero = (
        scalar(input, cast(p.reshape(v, shape=()) if hasattr(v, "aval") else v, dtype)) for v in (scale, zero_point)
    )
    return _quantised(input, stop_gradient(size), stop_gradient(zero), quant_min, quant_max)


@torch_op(method=False, node="fake_quantize_per_channel_affine_cachemask")
def fake_quantize_per_channel_affine(input: Tensor, scale: Tensor, zero_point: Tensor, axis, quant_min, quant_max):
    """The same with a scale and a zero point for every index of a dimension.

    >>> x = torch.tensor([[0.26, 9.], [0.26, 9.]])
    >>> torch.fake_quantize_per_channel_affine(x, torch.tensor([0.1, 0.5]), torch.zeros(2), 0, 0, 15)
    tensor([[0.3000, 1.5000],
            [0.5000, 7.5000]])
    """
    _check_range("fake_quantize_per_channel_affine", input, quant_min, quant_max)
    shape = aval_of(input).shape
    for name, v in (("scale", scale), ("zero-point", zero_point)):
        if aval_of(v).shape != (shape[axis],):
            raise RuntimeError(f"dimensions of {name} should be {[shape[axis]]}, but got {list(aval_of(v).shape)}")
    size, zero = (
        p.broadcast_in_dim(
            p.convert(stop_gradient(v), dtype=aval_of(input).dtype), shape=shape, dims=(axis % len(shape),)
        )
        for v in (scale, zero_point)
    )
    return _quantised(input, size, zero, quant_min, quant_max)
