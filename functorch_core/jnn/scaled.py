"""Products of operands that are rounded to narrow floats, with a scale for each block of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import functorch_core as fc

from ..core import dtypes as dt
from ..core.explain import explaining

BLOCKS = """scaled_dot_general: the {n} elements that are summed over do not divide into blocks of {block}
    Pad them with zeros, or leave configs out: lax.dot_general."""
CONFIGS = """scaled_dot_general: configs are one of each operand and one of gradients, got {found}
    configs=[jnn.get_scaled_dot_general_config("mxfp8")] * 3"""


@dataclass
class BlockScaleConfig:
    """How an operand is rounded; see get_scaled_dot_general_config."""

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: Any
    infer_only: bool


@explaining
def get_scaled_dot_general_config(mode, global_scale=None) -> BlockScaleConfig:
    """How scaled_dot_general rounds: 'mxfp8', float8_e4m3fn in blocks of 32 whose scales are powers of two, or
    'nvfp4', float4_e2m1fn in blocks of 16 whose scales are float8_e4m3fn, and one float32 scale of it all (1).

    >>> from functorch_core import jnn
    >>> jnn.get_scaled_dot_general_config("mxfp8").block_size
    32
    """
    if mode == "mxfp8":
        return BlockScaleConfig(mode, 32, dt.float8_e4m3fn, dt.float8_e8m0fnu, None, False)
    if mode == "nvfp4":
        whole = fc.ones(1) if global_scale is None else global_scale
        return BlockScaleConfig(mode, 16, dt.float4_e2m1fn, dt.float8_e4m3fn, whole, False)
    raise ValueError(f"get_scaled_dot_general_config: mode is 'mxfp8' or 'nvfp4', got {mode!r}")


@explaining
def scaled_dot_general(
    lhs, rhs, dimension_numbers, preferred_element_type="float32", configs=None, implementation=None
):
    """lax.dot_general of operands that are rounded in blocks along what is summed over; without configs, of these.

    configs: of lhs, of rhs, and one more, which JAX rounds gradients by. Here derivatives are those of the product of
    the rounded operands, by which the rounding itself is passed over. `implementation` is JAX's, and deprecated.

    >>> import functorch_core as fc
    >>> from functorch_core import jnn
    >>> configs = [jnn.get_scaled_dot_general_config("mxfp8")] * 3
    >>> x = fc.full((1, 32), 1 / 3)
    >>> jnn.scaled_dot_general(x, x, (((1,), (1,)), ((), ())), configs=configs)
    Array([[3.78125]], dtype=float32)
    """
    (left, right), (left_batch, right_batch) = dimension_numbers
    if configs is not None:
        if len(configs) not in (2, 3) or not all(isinstance(c, BlockScaleConfig) for c in configs):
            raise TypeError(CONFIGS.format(found=configs))
        lhs, rhs = _rounded(fc.asarray(lhs), left, configs[0]), _rounded(fc.asarray(rhs), right, configs[1])
    return fc.lax.dot_general(
        lhs, rhs, ((left, right), (left_batch, right_batch)), preferred_element_type=preferred_element_type
    )


def _rounded(x, summed, config: BlockScaleConfig):
    """x as its rounded blocks have it, in its own dtype; its derivative is that of x."""
    place = [d % x.ndim for d in summed]
    order = [d for d in range(x.ndim) if d not in place] + place
    moved = fc.permute_dims(x, order)
    lead = moved.shape[: x.ndim - len(place)]
    rows = fc.reshape(moved, (*lead, -1))
    if rows.shape[-1] % config.block_size or not rows.shape[-1]:
        raise ValueError(BLOCKS.format(n=rows.shape[-1], block=config.block_size))
    blocks = fc.reshape(rows, (*lead, -1, config.block_size)).astype(dt.float32)
    out = fc.reshape(_in_blocks(blocks, config), moved.shape).astype(x.dtype)
    back = sorted(range(x.ndim), key=order.__getitem__)
    return x + fc.lax.stop_gradient(fc.permute_dims(out, back) - x)


def _in_blocks(blocks, config: BlockScaleConfig):
    most = float(dt.finfo(config.data_type).max)
    whole = 1.0
    if config.mode == "nvfp4":
        whole = fc.asarray(config.global_scale).astype(dt.float32)
        blocks = blocks / whole
    scale = fc.max(fc.abs(blocks), axis=-1, keepdims=True) / most
    if config.mode == "mxfp8":  # the next power of two: no element is cut off
        part, power = fc.numpy.frexp(scale)  # part * 2 ** power, part from a half to 1
        scale = fc.numpy.ldexp(fc.ones_like(scale), fc.clip(power - (part == 0.5), -126, 127))
    else:
        scale = fc.clip(scale, 0, float(dt.finfo(config.scale_type).max)).astype(config.scale_type).astype(dt.float32)
    inside = fc.where(scale > 0, blocks / fc.where(scale > 0, scale, 1.0), 0.0)
    narrow = fc.clip(inside, -most, most).astype(config.data_type).astype(dt.float32)
    return narrow * scale * whole


__all__ = ["BlockScaleConfig", "get_scaled_dot_general_config", "scaled_dot_general"]
