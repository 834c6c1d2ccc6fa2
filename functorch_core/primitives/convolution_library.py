"""Convolutions as oneDNN computes them (xla/onednn.py): what it is asked for, and by whom.

oneDNN knows a convolution and its two gradients. All convolutions that differentiating one gives, to any
order, are of these three kinds; which one is seen from the dilations, the groups and the sizes:

    forward     a small kernel slides over x
    data        the same over a dilated x: the gradient by its input of a convolution with strides
    weights     a kernel of x's size slides over few places: the gradient by the kernel
    apart       the same for each example by itself, the examples as groups: per-sample gradients
    turned      the same over a dilated x: the gradient by the kernel of a transposed convolution

Padding that cuts off is that of a gradient, by an input that was padded with more than the kernel reaches.
What is none of these stays with XLA and NumPy.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import xla
from ..core import dtypes as dt
from ..core.aval import Aval
from ..core.lowering import LowerContext, Operand
from ..core.types import Ints
from ..xla import onednn
from .reductions import convert_operand
from .slicing import reverse

if TYPE_CHECKING:
    from .convolution import Conv

DTYPES = frozenset({dt.float32, dt.bfloat16, dt.float16})  # those of two bytes are computed in float32
COMPUTED = dt.float32
MOST_DIMENSIONS = 3  # spatial ones
# Microseconds of a call; multiplications in one; and of an element of operands and results, which are copied into
# another order. Measured by 222 convolutions and their gradients, those of a MobileNet and a U-Net among them.
CALL, MACS_PER_MICROSECOND, ELEMENT = 30.0, 50_000.0, 5e-4
# Multiplications from which a program of fc.jit calls oneDNN. XLA takes 20 to 65 us for 0.06 to 0.6 million, 36 to 124
# for 1.8, 180 to 500 for 3.5; oneDNN 62 to 600, 140 to 520, 50 to 160: its threads are woken for each call. Other
# programs call it for fewer, too: they are compiled for few runs, 3 ms a call for 120 a convolution.
MANY = 2_500_000


class LibraryCall(NamedTuple):
    """A convolution of oneDNN's, and how the operands and the result of `conv` are those of it.

    swap: its first operand is w. turn_kernel, turn_result: the kernel is turned round in space before, the
    result after. orders: the dimensions of x, w and the result as they should lie in memory.
    """

    convolution: onednn.Convolution
    swap: bool
    turn_kernel: bool
    turn_result: bool
    orders: tuple[Ints, Ints, Ints]


def library_call(conv: Conv, x: Aval, w: Aval, out: Aval, often: bool = False) -> LibraryCall | None:
    """How oneDNN computes this convolution of arrays that lie in the order of their dimensions; None if
    it does not, or is slower than XLA in a program that is run `often`."""
    found = _described(conv, x, w, out)
    if found is None or not onednn.supports(found.convolution):
        return None
    return None if often and onednn.work(found.convolution) < MANY else found


def _described(conv: Conv, x: Aval, w: Aval, out: Aval) -> LibraryCall | None:
    if not ({x.dtype, out.dtype} <= DTYPES and 1 <= len(conv.strides) <= MOST_DIMENSIONS):
        return None
    if 0 in (x.size, w.size, out.size) or not onednn.is_available():
        return None
    few_places = math.prod(conv.spatial(out, "out")) < math.prod(conv.spatial(w, "rhs"))
    dilated = max(conv.lhs_dilation) > 1
    by_kernel = conv.feature_groups == 1 and (conv.batch_groups > 1 or few_places)
    if by_kernel and not dilated:
        return _weights(conv, x, w, out)
    if by_kernel and max(conv.rhs_dilation) == 1:
        return _turned(conv, x, w, out)
    if conv.batch_groups > 1:
        return None
    if conv.feature_groups > 1 and few_places and not dilated and (apart := _weights_apart(conv, x, w, out)):
        return apart
    found = None if dilated else _forward(conv, x, w, out)
    return found or (_data(conv, x, w, out) if max(conv.strides) == 1 else None)


# ---- the five forms ----------------------------------------------------------------------------------


def _forward(conv: Conv, x: Aval, w: Aval, out: Aval) -> LibraryCall | None:
    src, dst = _array(x, conv.lhs), _array(out, conv.out)
    weights = _kernel(w, conv.rhs, conv.feature_groups)
    found = _convolution("forward", src, weights, dst, conv.strides, _before(conv), conv.rhs_dilation)
    orders = _channels_last(conv.lhs), _plain(w), _channels_last(conv.out)
    return found and LibraryCall(found, False, False, False, orders)


def _data(conv: Conv, x: Aval, w: Aval, out: Aval) -> LibraryCall | None:
    dst, src = _array(x, conv.lhs), _array(out, conv.out)
    weights = _kernel(w, _swapped(conv.rhs), conv.feature_groups, grouped=1)
    before = tuple(r - 1 - low for r, low in zip(conv.reach(w), _before(conv)))
    found = _convolution("data", src, weights, dst, conv.lhs_dilation, before, conv.rhs_dilation)
    orders = _channels_last(conv.lhs), _plain(w), _channels_last(conv.out)
    return found and LibraryCall(found, False, True, False, orders)


def _weights(conv: Conv, x: Aval, w: Aval, out: Aval) -> LibraryCall | None:
    src, dst = _array(x, _swapped(conv.lhs)), _array(w, _swapped(conv.rhs))
    weights = _kernel(out, _swapped(conv.out), conv.batch_groups)
    found = _convolution("weights", src, weights, dst, conv.rhs_dilation, _before(conv), conv.strides)
    orders = _channels_last(_swapped(conv.lhs)), _channels_last(_swapped(conv.rhs)), _plain(out)
    return found and LibraryCall(found, False, False, False, orders)


def _weights_apart(conv: Conv, x: Aval, w: Aval, out: Aval) -> LibraryCall | None:
    """64 examples, 16 -> 32 channels of 14 x 14: 0.8 ms on one core, where groups with kernels of 14 x 14
    take 4.3. Only for examples one by one, whose channels lie behind each other."""
    if w.shape[conv.rhs[1]] != 1 or not _swapped(conv.lhs) == _swapped(conv.rhs) == _plain(x):
        return None
    shape = (1, x.shape[0] * x.shape[1], *x.shape[2:])
    src = _Array(shape, onednn.strides_of(shape, _plain(x)))
    weights = _kernel(out, _swapped(conv.out), conv.feature_groups)
    dst = _array(w, _plain(w))
    found = _convolution("weights", src, weights, dst, conv.rhs_dilation, _before(conv), conv.strides)
    return found and LibraryCall(found, False, False, False, (_plain(x), _plain(w), _plain(out)))


def _turned(conv: Conv, x: Aval, w: Aval, out: Aval) -> LibraryCall | None:
    src, dst = _array(w, _swapped(conv.rhs)), _array(x, _swapped(conv.lhs))
    weights = _kernel(out, conv.out, conv.batch_groups, grouped=1)
    reach = [(n - 1) * d for n, d in zip(conv.spatial(out, "out"), conv.strides)]
    before = tuple(r - low for r, low in zip(reach, _before(conv)))
    found = _convolution("weights", src, weights, dst, conv.lhs_dilation, before, conv.strides)
    orders = _channels_last(_swapped(conv.lhs)), _channels_last(_swapped(conv.rhs)), _plain(out)
    return found and LibraryCall(found, True, False, True, orders)


class _Array(NamedTuple):
    shape: Ints
    strides: Ints


def _array(array: Aval, spec: Ints) -> _Array:
    """(batch, channel, *spatial) of an array that lies in the order of its dimensions."""
    strides = onednn.strides_of(array.shape, tuple(range(array.ndim)))
    return _Array(tuple(array.shape[d] for d in spec), tuple(strides[d] for d in spec))


def _kernel(array: Aval, spec: Ints, groups: int, grouped: int = 0) -> _Array:
    """([group,] out, in, *spatial). Of `out` and `in`, the one with the number `grouped` has all groups,
    one after the other, the other has one."""
    shape, strides = _array(array, spec)
    if groups == 1:
        return _Array(shape, strides)
    each = list(shape)
    each[grouped] //= groups
    return _Array((groups, *each), (each[grouped] * strides[grouped], *strides))


def _convolution(
    kind: str, src: _Array, weights: _Array, dst: _Array, strides: Ints, before: Ints, dilation: Ints
) -> onednn.Convolution | None:
    """The description; None if the padding before would cut off, or that after more than strides leave."""
    n = len(strides)
    after = []
    for size, k, m, s, low, d in zip(src.shape[2:], weights.shape[-n:], dst.shape[2:], strides, before, dilation):
        reach = (k - 1) * d + 1
        high = (m - 1) * s + reach - size - low
        if low < 0 or high <= -s:
            return None
        after.append(max(high, 0))
    return onednn.Convolution(
        kind,
        COMPUTED.name,
        src.shape,
        weights.shape,
        dst.shape,
        src.strides,
        weights.strides,
        dst.strides,
        tuple(strides),
        tuple(before),
        tuple(after),
        tuple(dilation),
    )


def _before(conv: Conv) -> Ints:
    return tuple(low for low, _ in conv.padding)


def _swapped(spec: Ints) -> Ints:
    return (spec[1], spec[0], *spec[2:])


def _channels_last(spec: Ints) -> Ints:
    """(batch, feature, *spatial) as (batch, *spatial, feature)."""
    return spec[0], *spec[2:], spec[1]


def _plain(array: Aval) -> Ints:
    return tuple(range(array.ndim))


# ---- who asks ------------------------------------------------------------------------------------------


def lower_library(ctx: LowerContext, call: LibraryCall, x: Operand, w: Operand, conv: Conv, out: Aval) -> Operand:
    """The convolution as a custom call."""
    x, w = convert_operand(ctx, x, COMPUTED), convert_operand(ctx, w, COMPUTED)
    if call.turn_kernel:  # it is the gradient's, turned round already: XLA cancels the two
        (w,) = ctx.call(reverse, w, dims=conv.rhs[2:])
    operands = [w, x] if call.swap else [x, w]
    ctx.root.features.add("onednn")
    text, (name,) = xla.custom_call_text(
        call.convolution.target(),
        operands,
        [o.aval for o in operands],
        [out.with_dtype(COMPUTED)],
        result=ctx.fresh(),
        operand_matrices=[False, False],
        result_matrices=[False],
    )
    ctx.lines.append(text + ctx.location)
    result = convert_operand(ctx, Operand(name, out.with_dtype(COMPUTED)), out.dtype)
    return ctx.call(reverse, result, dims=conv.out[2:])[0] if call.turn_result else result


def run_library(call: LibraryCall, x: np.ndarray, w: np.ndarray, conv: Conv, out: Aval) -> np.ndarray:
    """The convolution of host arrays."""
    if call.turn_kernel:
        w = np.flip(w, conv.rhs[2:])
    x, w = (np.ascontiguousarray(a, COMPUTED) for a in (x, w))
    result = np.empty(out.shape, COMPUTED)
    onednn.run(call.convolution, *((w, x) if call.swap else (x, w)), result)
    result = result.astype(out.dtype, copy=False)
    return np.flip(result, conv.out[2:]) if call.turn_result else result


def library_time(conv: Conv, x: Aval, w: Aval, out: Aval) -> float:
    """Microseconds that oneDNN takes, an estimate; 0 if it is not asked."""
    found = _described(conv, x, w, out)
    if found is None:
        return 0.0
    elements = x.size + w.size + out.size
    return CALL + onednn.work(found.convolution) / MACS_PER_MICROSECOND + elements * ELEMENT
