"""Sums and products rounded as PyTorch's kernels round them.

L-BFGS multiplies rounding errors: on an ill-conditioned problem a last bit is a digit after two
hundred iterations. What can be computed as PyTorch does is therefore: x + a * y is rounded once
there (a fused multiply-add), and short float32 vectors are summed in the order of the registers
they fit into. Longer sums depend on the processor there, too, and are left to XLA.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable

import functorch_core as fc

from ..array.array import Array, wrap
from ..core.trace import trace_closed
from ..torch._apply import GraphOp, apply
from ..torch._tensor_base import Tensor

FLOAT32 = fc.float32


def on_tensors(rule: Callable) -> Callable[..., Tensor]:
    """A function of arrays as one of tensors, recorded as one op."""
    name = rule.__name__

    @functools.lru_cache(64)
    def op(*avals) -> GraphOp:
        return GraphOp(trace_closed(lambda *xs: [rule(*map(wrap, xs))._value], avals, name), name,
                       False)

    def on_tensors(*tensors: Tensor) -> Tensor:
        return apply(op(*[x._aval for x in tensors]), tensors)
    return on_tensors


def plus_product(x: Array, a: Array, y: Array) -> Array:
    """x + a * y, rounded once in float32: the product of two float32 is exact in float64."""
    if x.dtype != FLOAT32:
        return x + a * y
    x, a, y = (v.astype(fc.float64) for v in (x, a.astype(x.dtype), y))
    return (x + a * y).astype(FLOAT32)


def product(x: Array, y: Array) -> Array:
    """x * y, rounded even where a sum follows: the selection keeps LLVM from fusing the two."""
    found = x * y
    return fc.where(found == found, found, math.nan) if x.dtype == FLOAT32 else found


def inner(x: Array, y: Array) -> Array:
    """The inner product of two vectors."""
    n = x.shape[0]
    if x.dtype != FLOAT32 or n not in (8, 16):
        return fc.vecdot(x, y)
    quarters = fc.reshape(product(x, y), (-1, 4))
    total = quarters[0]
    for i in range(1, n // 4):
        total = total + quarters[i]
    return (total[0] + total[2]) + (total[1] + total[3])


def absolute_sum(x: Array) -> Array:
    """The sum of the absolute values of a vector."""
    n = x.shape[0]
    x = fc.abs(x)
    if x.dtype != FLOAT32 or n not in (8, 16, 24, 32):
        return fc.sum(x)
    lanes = fc.reshape(x, (-1, 8))
    total = lanes[0]
    for i in range(1, n // 8):
        total = total + lanes[i]
    first = total[0]
    for i in range(1, 8):
        first = first + total[i]
    return first
