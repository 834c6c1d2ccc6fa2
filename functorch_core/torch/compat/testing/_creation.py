"""torch.testing.make_tensor."""

from __future__ import annotations

import math

import functorch_core.torch as torch

from ....core import dtypes as dt
from ....core.warn import warn
from ...tensors import types as _types

NO_RANGE = (
    "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 and will "
    "be removed in 2.3. Use `torch.full(...)` instead."
)


def make_tensor(
    *shape,
    dtype,
    device="cpu",
    low=None,
    high=None,
    requires_grad=False,
    noncontiguous=False,
    exclude_zero=False,
    memory_format=None,
):
    """A tensor of random numbers, by default in [-9, 9] (0 to 9 for unsigned integers).

    The numbers are PyTorch's for the same seed.

    >>> torch.testing.make_tensor((2, 3), dtype=torch.int64, device="cpu", low=0, high=5).shape
    torch.Size([2, 3])
    """
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(shape[0])
    if noncontiguous and memory_format is not None:
        raise ValueError(
            f"The parameters `noncontiguous` and `memory_format` are mutually "
            f"exclusive, but got noncontiguous={noncontiguous} and "
            f"memory_format={memory_format}"
        )
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype}"
        )
    drawn = (*shape[:-1], 2 * shape[-1]) if noncontiguous and math.prod(shape) > 1 else shape
    where = torch.device(torch.get_default_device() if device is None else device)
    with torch.device("meta" if where.type == "meta" else "cpu"):  # the numbers are those of the CPU's generator
        result = _draw(torch, drawn, dtype, low, high)
    result = result.to(where)
    if exclude_zero:
        result[result == 0] = _smallest(dtype)
    if noncontiguous and math.prod(shape) > 1:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    return result.requires_grad_(requires_grad)


def _draw(torch, shape, dtype: _types.dtype, low, high):
    if dtype is _types.bool_:
        low, high = _bounds(dtype, low, high, 0, 2)
        return torch.randint(low, high, shape).to(dtype)
    if not (dtype.is_floating_point or dtype.is_complex):
        low, high = _bounds(dtype, low, high, 0 if dtype.numpy in dt.UNSIGNED else -9, 10)
        limits = _types.iinfo(dtype)
        low, high = max(low, limits.min), min(high, limits.max if dtype is _types.int64 else limits.max + 1)
        return torch.randint(math.ceil(low), math.ceil(high), shape, dtype=dtype)
    low, high = _bounds(dtype, low, high, -9, 9)
    if high - low > _limits(dtype)[1]:  # wider than a dtype is high
        return _draw(torch, shape, dtype, low / 2, high / 2).mul_(2)
    if dtype.is_complex:
        made = torch.empty(shape, dtype=dtype)
        torch.view_as_real(made).uniform_(low, high)
        return made
    if dtype.itemsize == 1:
        return torch.empty(shape).uniform_(low, high).to(dtype)
    return torch.empty(shape, dtype=dtype).uniform_(low, high)


def _bounds(dtype, low, high, default_low, default_high) -> tuple:
    """What is drawn between: what is given, as far as the dtype goes; ValueError for what is no range."""
    low = default_low if low is None else low
    high = default_high if high is None else high
    if any(isinstance(x, float) and math.isnan(x) for x in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and (dtype.is_floating_point or dtype.is_complex):
        warn(NO_RANGE, FutureWarning)
    elif low > high or low == high and default_low < 0:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    least, most = _limits(dtype)
    if high < least or low > most:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), "
            f"but {dtype} only supports [{least}, {most})"
        )
    return min(max(low, least), most), min(max(high, least), most)


def _limits(dtype: _types.dtype) -> tuple:
    """The least number of a dtype, and the greatest; of integers the one after it."""
    if dtype is _types.bool_:
        return 0, 2
    if dtype.is_floating_point or dtype.is_complex:
        return _types.finfo(dtype).min, _types.finfo(dtype).max
    found = _types.iinfo(dtype)
    return found.min, found.max + (dtype is not _types.int64)


def _smallest(dtype: _types.dtype):
    return _types.finfo(dtype).tiny if dtype.is_floating_point or dtype.is_complex else 1
