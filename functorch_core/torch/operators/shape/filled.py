"""Tensors of one number repeated."""

from __future__ import annotations

import math

import numpy as np

from .... import primitives as p
from .... import xla
from ....core import dtypes as dt
from ....core.trace import open_traces
from ....engine import from_numpy, to_buffer
from ....engine.signatures import bounded
from ....engine.written_out import record_nothing
from ...dispatch.devices import recording_on, resolve
from ...dispatch.op import torch_op
from ...dispatch.paths import remember
from ...dispatch.slots import Number
from ...tape.apply import GraphOp, without_history
from ...tensors.active import active
from ...tensors.base import Tensor
from ...tensors.promotion import cast
from .data import array_of, fill_number, finish, finish_later, require_grad

# Up to so many elements a factory's zeros and ones are recorded: in a program they cost nothing, where 2 million ones
# as the gradient that a backward pass starts from are written by NumPy and copied to the device first (relu and its
# gradient of 64 x 128 x 128: 0.81 ms, 0.16 if they are recorded). Beyond, memory is asked for where the call stands.
RECORD_LIMIT = 1 << 24
MUCH, MOST = 1 << 20, 1 << 28  # between these so are other numbers

# Numbers of these classes and between these sizes fit the dtype, whatever they are: nothing of them is checked.
PLAIN = {dt.float32: {float, int}, dt.float64: {float, int}, dt.int64: {int}, dt.int32: {int}}
TINY, HUGE = 1e-30, 2**31
NUMBERS = frozenset({int, float, bool})
FEW = 1 << 12  # elements, so that nothing can be wrong with their size


def filled(shape: tuple, fill, dtype: np.dtype, device=None, requires_grad: bool = False) -> Tensor:
    """A tensor of one repeated number."""
    where = resolve(device)
    if where.type not in ("cpu", "meta"):
        made = _filled_there(tuple(shape), fill, dtype, where)
        return require_grad(made) if requires_grad else made
    n = math.prod(shape) if where.type == "cpu" else HUGE
    if n <= RECORD_LIMIT and _is_constant(fill):
        made = _constant_of(tuple(shape), int(fill), dtype)
    elif 0 < n <= FEW and is_plain(fill, dtype):
        array = np.empty(shape, dtype)
        array.fill(fill)
        made = without_history(from_numpy(array))
    else:
        check_size(shape, dtype.itemsize)
        if where.type == "cpu" and dtype in dt.FLOATING and fill and MUCH < n <= MOST:
            made = _repeated(fill_value(fill, dtype).item(), tuple(shape), dtype)
        else:
            made = finish_later(lambda: np.full(shape, fill_value(fill, dtype), dtype), shape, dtype, where)
    return require_grad(made) if requires_grad else made


def _filled_there(shape: tuple[int, ...], fill, dtype: np.dtype, where) -> Tensor:
    """A tensor of one repeated number in the memory of a GPU, which makes it itself."""
    check_size(shape, dtype.itemsize)
    if dtype in dt.COMPLEX | dt.FLOAT8 or isinstance(fill, complex):
        return finish(np.full(shape, fill_value(fill, dtype), dtype), where)
    with recording_on(where):
        if _is_constant(fill):
            made = _constant_of(shape, int(fill), dtype)
        else:
            made = _repeated(fill_value(fill, dtype).item(), shape, dtype)
    if math.prod(shape) > RECORD_LIMIT:
        xla.block(to_buffer(made._value))  # memory is asked for where the call stands
    return made


def _is_constant(fill) -> bool:
    """Whether a number is zero or one, in a program."""
    return fill.__class__ in NUMBERS and fill in (0, 1) and (bool(fill) or math.copysign(1, fill) > 0)


def _constant_of(shape: tuple[int, ...], fill: int, dtype: np.dtype) -> Tensor:
    """One repeated number, zero or one, recorded."""
    if not active.plain or open_traces:
        return _constant.compute([shape, fill, dtype])
    return without_history(record_nothing(constant_at(shape, fill, dtype).unit))


constants: dict[tuple, GraphOp] = bounded({}, GraphOp.units)  # by shape, number and dtype


def constant_at(shape: tuple[int, ...], fill: int, dtype: np.dtype) -> GraphOp:
    """The op that makes one repeated number, zero or one."""
    op = constants.get((shape, fill, dtype))
    if op is None:
        op, _ = _constant._found([shape, fill, dtype])
        remember(constants, (shape, fill, dtype), op)
    return op


def check_size(shape: tuple[int, ...], itemsize: int):
    """RuntimeError for a shape whose bytes or strides no 64 bits count."""
    elements = math.prod(shape)
    if elements * itemsize >= 2**63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    if not elements and math.prod([max(n, 1) for n in shape[1:]]) >= 2**63:
        raise RuntimeError("Stride calculation overflowed")


def is_plain(fill, dtype: np.dtype) -> bool:
    """Whether a dtype surely has a number."""
    return fill.__class__ in PLAIN.get(dtype, ()) and TINY < abs(fill) < HUGE


def fill_value(fill, dtype: np.dtype):
    """A number as an element of this dtype; errors where it does not fit."""
    if is_plain(fill, dtype):
        return dtype.type(fill)  # 0.3 us, not 5
    if isinstance(fill, Tensor):
        fill = fill.item()
    return array_of(fill_number(fill, dtype), dtype)


@torch_op
def _constant(shape, fill, dtype):
    """One repeated number, zero or one."""
    return p.broadcast_in_dim(cast(fill, dtype), shape=shape, dims=())


@torch_op
def _repeated(fill: Number, shape, dtype):
    """One repeated number, many times: it is mostly what `where` takes, and need not be in memory for that."""
    return p.broadcast_in_dim(cast(fill, dtype), shape=shape, dims=())
