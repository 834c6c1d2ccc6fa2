"""Factories: zeros, ones, full, arange, linspace, eye and their kin, and Tensor.new_*."""

from __future__ import annotations

import math
import operator

import numpy as np

from .... import primitives as p
from ....core import dtypes as dt
from ....core.trace import open_traces
from ....core.warn import warn
from ....engine.value import computed
from ....engine.written_out import record_nothing
from ...dispatch.devices import resolve
from ...dispatch.factory import Factory, LikeFactory, NumberFactory, copied, kept, recorded, units_of_recorded
from ...dispatch.op import Looking, composite, torch_op, write_out
from ...dispatch.slots import Number, Operand, is_number
from ...dispatch.traits import Out
from ...levels.levels import batched_like
from ...tape.apply import without_history
from ...tape.meta import NO_COPY, is_meta
from ...tensors import types as _types
from ...tensors.active import active
from ...tensors.base import Tensor
from ...tensors.promotion import broadcast, cast, check_held, promote_dtypes, scalar_dtype
from ...tensors.types import scalar_name
from ...views.cells import layout_of
from ...views.memory_order import channels_last_strides, dense_strides, with_strides
from ...views.strides import contiguous_strides
from .data import cast_array, data_dtype, finish_later, legacy, require_grad, tensor, unspecified
from .equidistant import between
from .filled import FEW, RECORD_LIMIT, check_size, constant_at, constants, filled, is_plain

COUNT_LIMIT = 1 << 16  # elements up to which arange is recorded
INTS = frozenset({int})

MISCOUNTED = (
    "The number of elements in the out tensor of shape {shape} is {n} which does not match the computed number of "
    "elements {length}. Note that this may occur as a result of rounding error. The out tensor will be resized to a "
    "tensor of shape ({length},)."
)
COPIED = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than tensor.new_tensor(sourceTensor)."
)
RANGE = (
    "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
    "Python's range builtin. Instead, use torch.arange, which produces values in [start, end)."
)
NEGATIVE = "Trying to create tensor with negative dimension {n}: {size}"


def write_range(name: str, out: Tensor, result: Tensor) -> Tensor:
    """The result written to `out`, with PyTorch's warning for ranges if that has another number of elements."""
    if out.numel() not in (0, result.numel()):
        warn(MISCOUNTED.format(shape=list(out.shape), n=out.numel(), length=result.numel()))
        return write_out(name, out.resize_(result.shape), result)
    return write_out(name, out, result)


# ---- arguments -----------------------------------------------------------------------------------


def size_of(name: str, size: tuple, what: str = "size") -> tuple[int, ...]:
    """The size from zeros(2, 3) or zeros((2, 3)); TypeError or RuntimeError for others."""
    if len(size) == 1 and (
        isinstance(size[0], (tuple, list)) or (isinstance(size[0], (Tensor, np.ndarray)) and size[0].ndim)
    ):
        size = size[0]
    if size.__class__ is tuple and all([n.__class__ is int and n >= 0 for n in size]):
        return size
    if len(size) == 1 and not hasattr(size[0], "__index__"):
        raise TypeError(f"{name}(): argument '{what}' (position 1) must be tuple of ints, not {type(size[0]).__name__}")
    out = []
    for i, n in enumerate(size):
        if n.__class__ is not int:
            n = as_int(name, n, i, what)
        if n < 0 and name == "zeros":
            raise RuntimeError("zeros: Dimension size must be non-negative.")
        if n < 0:
            raise RuntimeError(NEGATIVE.format(n=n, size=list(size)))
        out.append(n)
    return tuple(out)


def as_int(name: str, n, position: int, what: str = "size") -> int:
    """An element of a size as a Python int."""
    if isinstance(n, bool) or not hasattr(n, "__index__") or isinstance(n, (float, complex)):
        raise TypeError(
            f"{name}(): argument '{what}' must be tuple of ints, but found element of "
            f"type {type(n).__name__} at pos {position}"
        )
    return operator.index(n)


def spread(name: str, args: tuple, size) -> tuple[int, ...]:
    """The size of a factory that takes it spread, as a sequence, or by keyword."""
    if size is not None:
        if args:
            raise TypeError(f"{name}() got multiple values for argument 'size'")
        args = (size,)
    elif not args:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    return size_of(name, args)


# ---- filled --------------------------------------------------------------------------------------


FILLED = Out(single=True, silent=True, overlapping=True)


def size_given(name: str, size: tuple, names, kwargs: dict) -> tuple[int, ...]:
    """The size that a factory was given, by place or as `size` in kwargs, which may hold nothing else."""
    check_unnamed(name, names)
    shape = spread(name, size, kwargs.pop("size", None))
    if kwargs:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(kwargs))}'")
    return shape


def check_rank_of(memory_format, rank: int):
    """RuntimeError for a memory format of images where there are none."""
    wanted = {_types.channels_last: 4, _types.channels_last_3d: 5}.get(memory_format, rank)
    if rank != wanted:
        which = "channels_last" if wanted == 4 else "channels_last_3d"
        raise RuntimeError(f"required rank {wanted} tensor to use {which} format")


def _filler(name: str, fill: int | None, doc: str):
    def factory(
        *size,
        out=None,
        dtype=None,
        layout=None,
        device=None,
        requires_grad=False,
        pin_memory=False,
        memory_format=None,
        names=None,
        **kwargs,
    ):
        shape = size_given(name, size, names, kwargs)
        if out is not None:
            d = out._aval.dtype if dtype is None else data_dtype(dtype)
            check_out_dtype(out, d)
            written = write_out(name, out, filled(shape, unspecified(d) if fill is None else fill, d))
            return written.requires_grad_() if requires_grad else written
        d = data_dtype(dtype) or _types.defaults.dtype.numpy
        check_rank_of(memory_format, len(shape))
        made = filled(shape, unspecified(d) if fill is None else fill, d, device, requires_grad)
        if memory_format in (_types.channels_last, _types.channels_last_3d):
            with_strides(made, channels_last_strides(shape))
        return made

    factory.__doc__ = doc
    made = composite(factory, kind=Factory, name=name, method=False, out=FILLED, sparse=not fill)
    again = recorded if fill is not None else _recorded_unmarked
    return made.known_by(lambda *call: _constant_as(fill or 0, *call), again, units_of_recorded)


def _constant_as(fill: int, made: Tensor, args: tuple, kwargs: dict):
    """The op that makes a tensor like this one of one number, if a factory records it."""
    a = made._value.aval
    recorded_there = a.size <= RECORD_LIMIT and not made.requires_grad
    return (constant_at(a.shape, fill, a.dtype), ()) if recorded_there else None


def _recorded_unmarked(found: tuple) -> Tensor | None:
    """What stands in memory that nobody has written to, while it is not to be shown that it was read."""
    return None if active.marks_uninitialized else recorded(found)


def check_unnamed(name: str, names):
    """NotImplementedError where names of dimensions are given."""
    if names is not None:
        raise NotImplementedError(
            f"{name}(): names={names!r} asks for a named tensor, and named tensors are not implemented; tell "
            "dimensions by their numbers"
        )


def check_out_dtype(out: Tensor, dtype: np.dtype):
    """RuntimeError where dtype= and out= disagree."""
    if out._aval.dtype != dtype:
        raise RuntimeError(
            f"dtype {scalar_name(dtype)} does not match dtype of out parameter ({scalar_name(out._aval.dtype)})"
        )


zeros = _filler(
    "zeros",
    0,
    """Zeros of a size.

    >>> torch.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """,
)
ones = _filler(
    "ones",
    1,
    """Ones of a size.

    >>> torch.ones(2, 3)
    tensor([[1., 1., 1.],
            [1., 1., 1.]])
    """,
)
empty = _filler(
    "empty",
    None,
    """Unspecified values (zeros) of a size.

    >>> torch.empty(2, 3).shape
    torch.Size([2, 3])
    """,
)


@composite(kind=NumberFactory, method=False, out=Out(single=True, silent=True, overlapping=True))
def full(
    size,
    fill_value,
    *,
    out=None,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
    names=None,
):
    """One number of a size; its dtype is that of the number.

    >>> torch.full((2,), 3)
    tensor([3, 3])
    """
    check_unnamed("full", names)
    shape = size_of("full", (size,)) if not isinstance(size, int) else (size,)
    d = data_dtype(dtype)
    if isinstance(fill_value, Tensor) and (fill_value.ndim or fill_value.requires_grad):
        raise TypeError("full(): argument 'fill_value' (position 2) must be Number, not Tensor")
    if out is not None:
        return write_out("full", out, filled(shape, fill_value, d or out._aval.dtype))
    if d is None:
        d = scalar_dtype(_kind_of(fill_value) if isinstance(fill_value, Tensor) else type(_python(fill_value)))
        d = dt.complex64 if d == dt.complex32 else d  # as PyTorch, whatever half there is
    return filled(shape, fill_value, d, device, requires_grad)


def _filled_as(made: Tensor, args: tuple, kwargs: dict):
    """The op that makes zeros or ones, else the few numbers."""
    if args[1:] in ((0,), (1,)):
        return _constant_as(int(args[1]), made, args, kwargs)
    return kept(made, args, kwargs)


def _filled_again(found: tuple | np.ndarray) -> Tensor:
    return recorded(found) if found.__class__ is tuple else copied(found)


full.known_by(_filled_as, _filled_again, lambda found: units_of_recorded(found) if found.__class__ is tuple else ())


def _kind_of(number: Tensor) -> type:
    """The Python type of the number that a tensor has."""
    if number.is_complex() or number.is_floating_point():
        return complex if number.is_complex() else float
    return bool if number._aval.dtype == dt.bool_ else int


def _python(x):
    return x.item() if hasattr(x, "item") else x


@composite(method=False)
def empty_strided(size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Unspecified values with these strides.

    >>> torch.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    shape, stride = size_of("empty_strided", (size,)), tuple(map(int, stride))
    if len(shape) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: got {len(stride)} strides and {len(shape)} sizes")
    span = 1 + sum((n - 1) * s for n, s in zip(shape, stride)) if 0 not in shape else 0
    d = data_dtype(dtype) or _types.defaults.dtype.numpy
    made = filled((span,), unspecified(d), d, device)
    made = made.as_strided(shape, stride) if shape else made.reshape(())
    return require_grad(made.detach()) if requires_grad else made


@composite(method=False)
def empty_permuted(
    size, physical_layout, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """Unspecified values whose dimensions lie in memory in the given order.

    >>> torch.empty_permuted((2, 3), (1, 0)).stride()
    (1, 2)
    """
    shape = size_of("empty_permuted", (size,))
    order = tuple(physical_layout)
    if sorted(order) != list(range(len(shape))):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout"
            if len(order) != len(shape)
            else "Duplicate dim not allowed"
        )
    made = empty([shape[d] for d in order], dtype=dtype, device=device)
    return made.permute([order.index(d) for d in range(len(shape))])


# ---- *_like and new_* ----------------------------------------------------------------------------


def like_strides(tensor: Tensor, memory_format) -> tuple[int, ...] | None:
    """The strides that preserve_format (or a named format) gives; None if contiguous."""
    if memory_format in (_types.channels_last, _types.channels_last_3d):
        return channels_last_strides(tuple(tensor.shape))
    if (
        memory_format is _types.contiguous_format
        or (tensor._view is None and tensor._strides is None)
        or tensor._level is not None
    ):
        return None
    alias, sizes = tensor._view, tensor._value.aval.shape
    if alias is not None and not alias.is_permuted() and not (0 in sizes or 1 in sizes):
        return None  # dense in the order of the dimensions, without a look at the strides (3 us)
    shape, strides, _ = layout_of(tensor)
    dense = dense_strides(shape, strides)
    return None if dense == contiguous_strides(shape) else dense


def _filled_like(input, fill, dtype, device, requires_grad, memory_format) -> Tensor:
    if hasattr(input, "_check_operand"):
        input._check_operand("*_like")
    d = data_dtype(dtype) or input._aval.dtype
    value = unspecified(d) if fill is None else fill
    made = filled(tuple(input.shape), value, d, input.device if device is None else device)
    made = with_strides(made, like_strides(input, memory_format))
    if active.distributed is not None:
        made = active.distributed.like(input, made)
    return batched_as(input, require_grad(made) if requires_grad else made)


def batched_as(tensor: Tensor, made: Tensor) -> Tensor:
    """A fresh tensor, for every example if `tensor` stands for one: it may be written to."""
    if tensor._level is None:
        return made
    return batched_like(made, tensor)


def _like(name: str, fill):
    def factory(
        input,
        *,
        dtype=None,
        layout=None,
        device=None,
        requires_grad=False,
        pin_memory=False,
        memory_format=_types.preserve_format,
    ):
        return _filled_like(input, fill, dtype, device, requires_grad, memory_format)

    result = ".shape\n    torch.Size([2])" if fill is None else f"\n    tensor([{fill}, {fill}])"
    factory.__doc__ = f"""{name.removesuffix("_like").capitalize()} in the size, dtype and device of a tensor.

    >>> torch.{name}(torch.tensor([3, 4])){result}
    """
    made = composite(factory, kind=LikeFactory, name=name, method=False, sparse=name == "zeros_like")
    again = recorded if fill is not None else _recorded_unmarked
    return made.known_by(lambda *call: _constant_as(fill or 0, *call), again, units_of_recorded)


zeros_like, ones_like, empty_like = (_like(f"{n}_like", f) for n, f in (("zeros", 0), ("ones", 1), ("empty", None)))


@composite(kind=Looking, method=False)
def full_like(
    input,
    fill_value,
    *,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
    memory_format=_types.preserve_format,
):
    """One number in the size, dtype and device of a tensor.

    >>> torch.full_like(torch.zeros(2), 7)
    tensor([7., 7.])
    """
    return _filled_like(input, fill_value, dtype, device, requires_grad, memory_format)


@full_like.simply(float)
def _full_like_again(x, fill) -> Tensor | None:
    """A number that the dtype surely has, a few times."""
    a, alias = x._value.aval, x._view
    if x._strides is not None or alias is not None and not alias.contiguous or a.size > FEW or open_traces:
        return None
    if fill == 1.0 or not is_plain(fill, a.dtype) or x.device.type != "cpu":
        return None
    array = np.empty(a.shape, a.dtype)
    array.fill(fill)
    return without_history(computed(a, array))


def _new_filler(name: str, fill: int | None):
    def method(self, *size, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, **kwargs):
        shape = size_given(name, size, kwargs.pop("names", None), kwargs)
        d, device = data_dtype(dtype) or self._aval.dtype, self.device if device is None else device
        value = unspecified(d) if fill is None else fill
        return batched_as(self, filled(shape, value, d, device, requires_grad))

    result = ".shape\n    torch.Size([2, 1])" if fill is None else f"\n    tensor([[{fill}],\n            [{fill}]])"
    method.__doc__ = f"""{name[4:].capitalize()} of a size, in this tensor's dtype and device.

    >>> torch.tensor([7]).{name}(2, 1){result}
    """
    made = composite(method, kind=Looking, name=name, function=False, sparse=not fill)
    for classes in ((tuple,), (_types.Size,), (int,), (int, int), (int, int, int)):
        made.simply(*classes)(lambda x, *size: _new_again(x, size, fill))
    return made


def _new_again(x: Tensor, size: tuple, fill: int | None) -> Tensor | None:
    """One number of a size and in a dtype that were seen before, where a tensor is."""
    shape = size[0] if size[0].__class__ is not int else size
    if fill is None and active.marks_uninitialized:
        return None
    op = constants.get((shape, fill or 0, x._value.aval.dtype))
    if op is None or open_traces or x.device.type != "cpu" or not set(map(type, shape)) <= INTS:
        return None
    return without_history(record_nothing(op.unit))


new_zeros, new_ones, new_empty = (_new_filler(f"new_{n}", f) for n, f in (("zeros", 0), ("ones", 1), ("empty", None)))


@composite(function=False)
def new_full(self, size, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """One number of a size, in this tensor's dtype and device.

    >>> torch.zeros(2).new_full((2,), 7)
    tensor([7., 7.])
    """
    made = filled(
        size_of("new_full", (size,)),
        fill_value,
        data_dtype(dtype) or self._aval.dtype,
        self.device if device is None else device,
        requires_grad,
    )
    return batched_as(self, made)


@composite(function=False, without_data=NO_COPY)
def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor of a copy of the data, in this tensor's dtype and device.

    >>> torch.zeros(2).new_tensor([1, 2])
    tensor([1., 2.])
    """
    if isinstance(data, Tensor):
        warn(COPIED)
        made = data.detach().clone().to(dtype=dtype or data.dtype, device=device or self.device)
        return require_grad(made) if requires_grad else made
    return tensor(data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


@composite(function=False)
def new_empty_strided(self, size, stride, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Unspecified values with these strides, in this tensor's dtype and device.

    >>> torch.ones(2).new_empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    return empty_strided(
        size, stride, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad
    )


@composite(function=False)
def new(self, *args, device=None, size=None):
    """The old constructor: data or sizes, in this tensor's dtype.

    >>> torch.ones(2, dtype=torch.float64).new([3, 4])
    tensor([3., 4.], dtype=torch.float64)
    """
    args = args if size is None else (_types.Size(size),)
    return legacy(self._aval.dtype, args, self.device if device is None else device)


# ---- ranges --------------------------------------------------------------------------------------


@torch_op
def _count(start: Number, step: Number, length, dtype):
    """start + i * step for i below length."""
    wide = dt.int64 if dtype in dt.INTEGER else dt.float64
    i = p.iota(shape=(length,), dtype=wide)
    if not (isinstance(step, (int, float)) and step == 1):
        i = p.mul(i, _spread(cast(step, wide), length))
    if not (isinstance(start, (int, float)) and start == 0):
        i = p.add(_spread(cast(start, wide), length), i)
    return p.convert(i, dtype=dtype)


def _spread(x, length: int):
    return p.broadcast_in_dim(x, shape=(length,), dims=())


def _range_numbers(name: str, *numbers):
    for x in numbers:
        if isinstance(x, complex) or not hasattr(x, "__float__"):
            raise TypeError(f"{name}(): argument must be Number, not {type(x).__name__}")
    return [_python(x) for x in numbers]


def _arange_dtype(values, given) -> np.dtype:
    if given is not None:
        return data_dtype(given)
    if any(isinstance(v, float) for v in values):
        return _types.defaults.dtype.numpy
    return dt.int64


@composite(kind=Factory, method=False, out=Out(single=True, silent=True, counted=True))
def arange(*args, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, **kwargs):
    """start, start + step, ... below end: arange(end), arange(start, end), (start, end, step).

    int64 for integers, the default dtype if one argument is a float. RuntimeError for a step of 0 or away from end.

    >>> torch.arange(3)
    tensor([0, 1, 2])
    """
    start, end, step = _range_arguments("arange", args, kwargs)
    d = out._aval.dtype if out is not None and dtype is None else (_arange_dtype((start, end, step), dtype))
    if d == dt.bool_ or d in dt.COMPLEX:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{scalar_name(d)}'")
    if d == dt.int64:
        if step and not int(step):
            raise ValueError("step must be nonzero")
        _check_finite(start, end)
        length = _integer_length(int(start), int(end), int(step))
    else:
        length = _range_length(start, end, step)
        if length >= 2**63:
            raise RuntimeError("invalid size, possible overflow?")
    if d in dt.INTEGER:  # of others than int64 PyTorch counts by the numbers as they are given
        start, step = int(start), int(step)
    check_size((length,), d.itemsize)
    if out is not None:
        return write_range("arange", out, _count(start, step, length, d))
    where = resolve(device)
    if where.type != "cpu" or length > COUNT_LIMIT:
        made = finish_later(lambda: _counted(start, step, length, d), (length,), d, where)
    else:
        made = _count(start, step, length, d)
    return require_grad(made) if requires_grad else made


def _count_as(made: Tensor, args: tuple, kwargs: dict):
    """The op that counts as arange did, and its numbers; of few it is recorded."""
    start, _, step = _range_arguments("arange", args, {})
    a = made._value.aval
    return _count._found([start, step, a.size, a.dtype]) if a.size <= COUNT_LIMIT else None


arange.known_by(_count_as, recorded, units_of_recorded)


def _counted(start, step, length: int, dtype: np.dtype) -> np.ndarray:
    numbers = np.arange(length, dtype=dt.int64 if dtype in dt.INTEGER else dt.float64)
    if start or step != 1:
        numbers = start + numbers * step
    return numbers if numbers.dtype == dtype else cast_array(numbers, dtype)


def _range_arguments(name: str, args, kwargs):
    if len(args) > 3:
        raise TypeError(f"{name}() received an invalid combination of arguments - got {args}")
    names = ("end",) if len(args) == 1 and "end" not in kwargs else ("start", "end", "step")
    given = {**dict(zip(names, args)), **kwargs}
    if "end" not in given or given.keys() - {"start", "end", "step"}:
        raise TypeError(f"{name}() received an invalid combination of arguments - got {given}")
    return _range_numbers(name, given.get("start", 0), given["end"], given.get("step", 1))


def _check_range(start, end, step):
    if step == 0:
        raise RuntimeError("step must be nonzero")
    _check_finite(start, end)
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


def _check_finite(start, end):
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")


def _integer_length(start: int, end: int, step: int) -> int:
    _check_range(start, end, step)
    return max(-((start - end) // step), 0)


def _range_length(start, end, step) -> int:
    _check_range(start, end, step)
    return math.ceil((end - start) / step)


@composite(method=False, name="range", out=Out(single=True, silent=True, counted=True))
def range_(*args, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, **kwargs):
    """start, start + step, ... up to and with end, of the default dtype.

    >>> torch.range(1, 2, 0.5)
    tensor([1.0000, 1.5000, 2.0000])
    """
    warn(RANGE)
    if len(args) == 1 and "end" in kwargs:
        args = (args[0], kwargs.pop("end"))
    start, end, step = _range_arguments("range", args if len(args) > 1 else (0, *args), kwargs)
    _check_range(start, end, step)
    d = data_dtype(dtype) or (out._aval.dtype if out is not None else _types.defaults.dtype.numpy)
    length = int((end - start) / step) + 1
    made = finish_later(lambda: _counted(start, step, length, d), (length,), d, device, requires_grad)
    return write_out("range", out, made)


# ---- interpolation -------------------------------------------------------------------------------


def _ends_dtype(start, end, dtype, out) -> np.dtype:
    if dtype is not None:
        return data_dtype(dtype)
    if out is not None:
        return out._aval.dtype
    d = _types.defaults.dtype.numpy
    for x in (start, end):
        if isinstance(x, Tensor) and x._aval.dtype in dt.INEXACT:
            d = promote_dtypes(d, x._aval.dtype)
        elif isinstance(x, complex):
            d = promote_dtypes(d, _types.complex_default())
    return d


def _steps(name: str, steps) -> int:
    if isinstance(steps, float) or not hasattr(steps, "__index__"):
        raise TypeError(f"{name}(): argument 'steps' must be int, not {type(steps).__name__}")
    steps = operator.index(steps)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    return steps


@composite(
    kind=NumberFactory,
    method=False,
    out=Out(kernel=("linspace_cpu", dt.ALL - {dt.bool_}), single=True, silent=True, counted=True),
)
def linspace(
    start, end, steps, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """`steps` equidistant numbers from start to end.

    >>> torch.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """
    _check_ends("linspace", start, end)
    d, n = _ends_dtype(start, end, dtype, out), _steps("linspace", steps)
    if _batched(start, end):
        return write_out("linspace", out, _points.compute([start, end, n, d, None]))
    _check_complex("linspace", d, start, end)
    for x in (start, end):
        check_held(d, _python(x))
    made = finish_later(lambda: between(_python(start), _python(end), n, d), (n,), d, device, requires_grad)
    return write_out("linspace", out, made)


linspace.known_by(kept, copied)


def _batched(*ends) -> bool:
    """Whether an end has no value to look at: inside func transforms."""
    return any(isinstance(x, Tensor) and (x._level is not None or is_meta(x)) for x in ends)


@torch_op
def _points(start: Operand, end: Operand, steps, dtype, base):
    """linspace, or logspace to a base, of ends that are values."""
    wide = dt.complex128 if dtype in dt.COMPLEX else dt.float64
    first, last = cast(start, wide), cast(end, wide)
    if dtype in dt.INTEGER:
        first, last = p.trunc(first), p.trunc(last)
    first, last = _spread(first, steps), _spread(last, steps)
    i = p.convert(p.iota(shape=(steps,), dtype=dt.int64), dtype=wide)
    step = p.div(p.sub(last, first), float(max(steps - 1, 1)))
    near = p.constant(np.arange(steps) < max(steps // 2, steps == 1))
    points = p.select(near, p.add(first, p.mul(step, i)), p.sub(last, p.mul(step, p.sub(float(steps - 1), i))))
    if base is not None:
        points = p.pow(p.full((steps,), base, wide), points)
    return p.convert(points, dtype=dtype)


def _check_number(name: str, x):
    if not isinstance(x, Tensor) and not is_number(x):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got "
            f"{type(x).__name__} where a number or a Tensor of no dimensions is expected"
        )


def _check_ends(name: str, start, end):
    for what, x in (("start", start), ("end", end)):
        _check_number(name, x)
        if isinstance(x, Tensor) and x.ndim:
            raise RuntimeError(
                f"{name} only supports 0-dimensional start and end tensors, but got {what} with {x.ndim} dimension(s)."
            )


def _check_complex(name: str, dtype: np.dtype, *ends):
    for x in ends:
        if dtype not in dt.COMPLEX and isinstance(_python(x), complex):
            raise RuntimeError(
                f"torch.{name}(): inferred dtype {_types.complex_default().name} "
                f"can't be safely cast to passed dtype {dtype.name}"
            )


@composite(
    kind=NumberFactory,
    method=False,
    out=Out(kernel=("logspace_cpu", dt.ALL - {dt.bool_}), single=True, silent=True, counted=True),
)
def logspace(
    start,
    end,
    steps,
    base=10.0,
    *,
    out=None,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
):
    """`steps` numbers from base**start to base**end, equidistant in the exponent.

    >>> torch.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    _check_ends("logspace", start, end)
    d, n = _ends_dtype(start, end, dtype, out), _steps("logspace", steps)
    if _batched(start, end):
        return write_out("logspace", out, _points.compute([start, end, n, d, base]))
    _check_complex("logspace", d, start, end)
    made = finish_later(lambda: _powers(_python(start), _python(end), n, base, d), (n,), d, device, requires_grad)
    return write_out("logspace", out, made)


logspace.known_by(kept, copied)


def _powers(start, end, n: int, base, dtype: np.dtype) -> np.ndarray:
    wide = dt.complex128 if dtype in dt.COMPLEX else dt.float64
    with np.errstate(all="ignore"):
        if dtype in dt.INTEGER:
            exponents = int(start) + (int(end) - int(start)) / max(n - 1, 1) * np.arange(n)
        else:
            exponents = between(start, end, n, wide)
        return cast_array(np.power(wide.type(base), exponents.astype(wide)), dtype)


# ---- matrices and complex numbers ----------------------------------------------------------------


@composite(kind=Factory, method=False, out=Out(single=True, silent=True, overlapping=True))
def eye(n, m=None, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """The identity matrix of n rows and m columns (n, by default).

    >>> torch.eye(2, 3)
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    rows, cols = operator.index(n), operator.index(n if m is None else m)
    for what, size in (("n", rows), ("m", cols)):
        if size < 0:
            raise RuntimeError(f"{what} must be greater or equal to 0, got {size}")
    d = data_dtype(dtype) or (out._aval.dtype if out is not None else _types.defaults.dtype.numpy)
    made = finish_later(lambda: _ones_across(rows, cols, d), (rows, cols), d, device, requires_grad)
    return write_out("eye", out, made)


eye.known_by(kept, copied)


def _ones_across(rows: int, cols: int, dtype: np.dtype) -> np.ndarray:
    if dtype in dt.FLOAT8:  # whose bytes of 0 are no 0 in each
        return np.eye(rows, cols).astype(dtype)
    return np.eye(rows, cols, dtype=dtype)


@torch_op(
    method=False,
    name="complex",
    out=Out("Expected object of scalar type {found} but got scalar type {wanted} for argument 'out'"),
)
def complex_(real: Tensor, imag: Tensor, *, out=None):
    """A complex tensor of its real and imaginary parts, which have one dtype.

    >>> torch.complex(torch.tensor([1.]), torch.tensor([2.]))
    tensor([1.+2.j])
    """
    for x in (real, imag):
        if x.aval.dtype not in (dt.float16, dt.float32, dt.float64):
            raise RuntimeError(
                "Expected both inputs to be Half, Float or Double tensors but got "
                f"{_scalar_name(real)} and {_scalar_name(imag)}"
            )
    if real.aval.dtype != imag.aval.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {_scalar_name(real)} but got scalar "
            f"type {_scalar_name(imag)} for second argument"
        )
    return p.complex(*broadcast([real, imag]))


def _scalar_name(x) -> str:
    return scalar_name(x.aval.dtype)
