"""Copies: clone, contiguous, conversions of dtype and device, copy_, fill_, set_, resize_."""

from __future__ import annotations

import functools
import math
import operator
import weakref

import numpy as np

from .... import primitives as p
from ....array.array import Array
from ....core import dtypes as dt
from ....core.aval import Aval
from ....core.warn import warn
from ....engine.recorder import place_of
from ....engine.signatures import bounded
from ....engine.written_out import record_nothing
from ....xla.device import further
from ...dispatch.devices import place, recording_where, resolve, same
from ...dispatch.op import Looking, composite, torch_op
from ...dispatch.paths import PLAIN, remember
from ...dispatch.slots import MaybeTensor, Operand, class_name, is_number
from ...levels.levels import refuse_batched
from ...tape.accumulate import AccumulateGrad
from ...tape.apply import GraphOp
from ...tape.meta import NO_COPY, is_meta
from ...tape.modes import state
from ...tensors import types as _types
from ...tensors.active import active
from ...tensors.base import Tensor, from_array, new_tensor, of_class
from ...tensors.promotion import BROADCAST_MESSAGE, cast
from ...tensors.promotion import converted as converted_value
from ...tensors.types import scalar_name
from ...views.bits import bits_of
from ...views.cells import (
    Alias,
    Cell,
    assign,
    based_on,
    check_writable,
    is_apart,
    is_on_tape,
    layout_of,
    make_view,
    overwrite,
    see,
    share,
)
from ...views.lenses import Lens, over
from ...views.memory_order import channels_last_strides, dense_strides, is_channels_last, with_strides
from ...views.overlap import refuse_partial, writes_itself
from ...views.strides import contiguous_strides
from .creation import like_strides
from .data import fill_number, finish, finish_later, unspecified
from .data import tensor as tensor_of
from .legacy_types import LegacyType, legacy_type_named
from .storage import Storage, UntypedStorage
from .views import ints_of

# ---- memory formats ------------------------------------------------------------------------------


OTHER_FORMAT = (
    "NYI: Tensor.clone(memory_format) inside vmap is only supported with memory_format torch.preserve_format or "
    "torch.contiguous_format (got {got})"
)


def check_format(tensor: Tensor, memory_format):
    """RuntimeError where a format does not fit the number of dimensions."""
    if memory_format is _types.contiguous_format or memory_format is _types.preserve_format:
        return
    if tensor._level is not None:
        got = "ChannelsLast3d" if memory_format is _types.channels_last_3d else "ChannelsLast"
        refuse_batched(tensor, OTHER_FORMAT.format(got=got))
    for name, rank in (("channels_last", 4), ("channels_last_3d", 5)):
        if memory_format is getattr(_types, name) and tensor.ndim != rank:
            raise RuntimeError(f"required rank {rank} tensor to use {name} format")


@torch_op
def _clone(input: Tensor):
    """The same elements, as a node of its own."""
    return p.copy(input)


@composite(kind=Looking)
def clone(input, *, memory_format=_types.preserve_format):
    """A copy, on the tape; its strides are those of the tensor where they are dense.

    >>> x = torch.zeros(2)
    >>> y = x.clone()
    >>> y[0] = 1
    >>> x
    tensor([0., 0.])
    """
    check_format(input, memory_format)
    if input._level is None and not (active.marks_inference or is_on_tape(input)):
        made = new_tensor(input._kept())  # values are immutable: there is nothing to copy
    else:
        made = _clone.compute([input])
    return with_strides(made, like_strides(input, memory_format))


@clone.simply()
def _cloned(x) -> Tensor | None:
    if x._ge is None or x._strides is not None or active.marks_inference:
        return None
    if x._view is not None and not _has_usual_strides(x):
        return None
    run = _clone.runs.get(type(x))
    return None if run is None else run(x)


def _is_dense(x: Tensor) -> bool:
    """Whether a tensor is known to be contiguous."""
    return x._strides is None and (x._view is None or x._view.contiguous is True)


def _has_usual_strides(x: Tensor) -> bool:
    """Whether a copy of a tensor has the strides of a fresh one. (A dimension of one element may have any.)"""
    return _is_dense(x) and (x._view is None or 1 not in x._value.aval.shape)


@composite(kind=Looking, function=False)
def contiguous(self, memory_format=_types.contiguous_format):
    """The tensor itself if it lies contiguously in the format, otherwise a copy that does.

    >>> torch.zeros(2, 3).t().contiguous().stride()
    (2, 1)
    """
    if memory_format is _types.contiguous_format and self._strides is None and self._level is None:
        return self if self._view is None or self._view.is_contiguous() else clone(self, memory_format=memory_format)
    if memory_format is _types.preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    if self._level is None:
        check_format(self, memory_format)
    return self if self.is_contiguous(memory_format) else clone(self, memory_format=memory_format)


@contiguous.as_method
def _itself(self, memory_format=_types.contiguous_format):
    if memory_format is not _types.contiguous_format:
        return contiguous.otherwise(self, memory_format=memory_format)
    view = self._view
    if active.plain and self.__class__ in PLAIN and self._strides is None and (view is None or view.contiguous is True):
        return self
    return contiguous.otherwise(self)


# ---- to ------------------------------------------------------------------------------------------


@torch_op(layout=None)
def _to_copy(input: Tensor, dtype):
    """The elements in another dtype."""
    return converted_value(input, dtype)


@torch_op(node="_to_copy", devices="moved")
def _to_meta(input: Tensor, nothing: Tensor):
    """The input, and where `nothing` is on the meta device, on it."""
    return p.copy(input)


def converted(tensor: Tensor, dtype: np.dtype, memory_format=_types.preserve_format) -> Tensor:
    """The tensor in another dtype."""
    if tensor._aval.dtype in dt.COMPLEX and dtype not in dt.COMPLEX and dtype != dt.bool_:
        warn("Casting complex values to real discards the imaginary part")
    made = _to_copy.call((tensor, dtype), {})
    return with_strides(made, like_strides(tensor, memory_format))


def _in_numpy_dtype(x: Tensor, dtype: np.dtype) -> Tensor | None:
    """The same while nothing is active; None where more is to be looked at."""
    found = x._value.aval.dtype
    if found is dtype:
        return x
    if found in dt.COMPLEX or x._strides is not None or x._view is not None and not _has_usual_strides(x):
        return None
    run = _to_copy.runs.get((type(x), type(dtype)))
    return None if run is None else run(x, dtype)


def _to_arguments(args, device, dtype):
    """(device, dtype) of the forms to(dtype), to(device, dtype), to(other)."""
    for x in args[:2]:
        if isinstance(x, Tensor):
            device, dtype = x.device, x.dtype
        elif isinstance(x, (_types.dtype, type)):
            dtype = x
        elif isinstance(x, (str, int, _types.device)) and not isinstance(x, bool):
            device = _types.device(x)
        elif x is not None and not isinstance(x, bool):
            raise TypeError(f"to() received an invalid combination of arguments - got ({type(x).__name__})")
    return device, dtype


@composite(kind=Looking, function=False, without_data=NO_COPY)
def to(self, *args, dtype=None, device=None, other=None, non_blocking=False, copy=False, memory_format=None):
    """The tensor in a dtype, on a device, or like another tensor; itself if nothing changes.

    >>> torch.tensor([1.5]).to(torch.int64)
    tensor([1])
    """
    if other is not None:
        args = (other,)
    n = sum(isinstance(a, bool) for a in args)
    if n:
        copy = args[-1] if n == 2 else copy
    device, dtype = _to_arguments(args, device, dtype)
    memory_format = memory_format or _types.preserve_format
    check_format(self, memory_format)
    out = self
    if device is not None:
        device = resolve(device)
        if not same(self.device, device):
            out = with_strides(place(out, device), like_strides(self, memory_format))
    wanted = self._aval.dtype if dtype is None else _types.numpy_dtype(dtype)
    if wanted != self._aval.dtype:
        return converted(out, wanted, memory_format)
    if out is self and (
        copy or (memory_format is not _types.preserve_format and not self.is_contiguous(memory_format))
    ):
        return clone(self, memory_format=memory_format)
    return out


@to.simply(str)
@to.simply(_types.device)
def _on_device(x, device) -> Tensor | None:
    where = device if device.__class__ is str else device.type
    return x if where == "cpu" and x.device.type == "cpu" else None


@to.simply(_types.dtype)
def _in_dtype(x, dtype) -> Tensor | None:
    return _in_numpy_dtype(x, dtype.numpy)


def _like(x, other) -> Tensor | None:
    on_cpu = x.device.type == "cpu" and x.device == other.device
    return _in_numpy_dtype(x, other._value.aval.dtype) if on_cpu else None


for _cls in PLAIN:
    to.simply(_cls)(_like)


def _conversion(name: str, dtype: _types.dtype):
    def method(self, memory_format=_types.preserve_format):
        if self._aval.dtype != dtype.numpy:
            return converted(self, dtype.numpy, memory_format)
        return self if memory_format is _types.preserve_format else contiguous(self, memory_format)

    method.__doc__ = f"""The tensor as {dtype}; itself if it is.

    >>> torch.tensor([1, 0]).{name}().dtype
    {dtype}
    """
    made = composite(method, kind=Looking, name=name, function=False)
    made.simply()(lambda x: _in_numpy_dtype(x, dtype.numpy))
    return made


MOST = 2**63 - 1  # what an int64 counts
CONVERSIONS = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "chalf": "complex32",
    "cfloat": "complex64",
    "cdouble": "complex128",
    "bool": "bool",
    "byte": "uint8",
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
}
for _name, _dtype in CONVERSIONS.items():
    _conversion(_name, _types.by_name[_dtype])


@composite(kind=Looking, function=False, without_data=NO_COPY)
def cpu(self, memory_format=_types.preserve_format):
    """The tensor on the CPU; itself if it is there.

    >>> torch.zeros(1).cpu().device
    device(type='cpu')
    """
    return to(self, "cpu", memory_format=memory_format)


cpu.simply()(lambda x: x if x.device.type == "cpu" else None)


@composite(function=False, without_data=NO_COPY)
def cuda(self, device=None, non_blocking=False, memory_format=_types.preserve_format):
    """The tensor on a GPU; itself if it is there.

    >>> x = torch.ones(2)
    >>> x.cuda().device.type if torch.cuda.is_available() else "cuda"
    'cuda'
    """
    return to(self, "cuda" if device is None else device, memory_format=memory_format)


def type_name(tensor: Tensor) -> str:
    """PyTorch's old name of the tensor's type: torch.FloatTensor."""
    name = scalar_name(tensor._aval.dtype)
    prefix = "torch." if tensor.device.type == "cpu" else f"torch.{tensor.device.type}."
    return f"{prefix}{name}Tensor"


@composite(function=False, name="type", without_data=NO_COPY)
def type_(self, dtype=None, non_blocking=False, **kwargs):
    """The name of the tensor's type, or the tensor as another type.

    >>> torch.ones(2).type()
    'torch.FloatTensor'
    >>> torch.ones(2).type(torch.int64)
    tensor([1, 1])
    """
    if dtype is None:
        return type_name(self)
    if isinstance(dtype, str) and dtype.startswith("torch.cuda."):
        dtype = legacy_type_named(dtype) or dtype
    if isinstance(dtype, str):
        named = {f"{scalar_name(d.numpy)}Tensor": d for d in _types.by_name.values()}
        found = named.get(dtype.rpartition(".")[2])
        if found is None:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = found
    if isinstance(dtype, LegacyType):
        return dtype.moved(self)
    return to(self, _types.defaults.dtype if dtype is Tensor else dtype)


@composite(kind=Looking, function=False, without_data=NO_COPY)
def type_as(self, other):
    """The tensor in the dtype and on the device of another.

    >>> torch.tensor([1, 2]).type_as(torch.zeros(1))
    tensor([1., 2.])
    """
    return to(self, other)


for _cls in PLAIN:
    type_as.simply(_cls)(_like)


def as_subclass(self, cls):
    """The same memory and history as an instance of a subclass of Tensor.

    >>> torch.zeros(1).as_subclass(torch.nn.Parameter).__class__.__name__
    'Parameter'
    """
    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure "
            "your class inherits from Tensor."
        )
    if self._level is None and is_on_tape(self):
        out = make_view(self, Lens("alias"))
    else:
        out = new_tensor(self._read(), self._ge)
        alias = share(self)
        out._view = Alias(alias.cell, alias.chain, *based_on(self, alias))
        if self._is_inference:
            out._is_inference = True
    return of_class(out, cls)


# ---- copy_, fill_, zero_ -------------------------------------------------------------------------
# A tensor with history stays on the tape when it is overwritten: its old value gets zero gradients.


def _over(old, new):
    """new; with an old value that gets a zero gradient where there is one."""
    return new if old is None else over(old, new)


def _old(tensor: Tensor):
    if is_meta(tensor):
        return tensor  # what it is overwritten with is then without data like it
    return tensor if state.enabled and tensor.requires_grad else None


@torch_op(devices="moved", node="CopyBackwards")
def _copy_onto(old: MaybeTensor, source: Tensor, shape, dtype):
    lead = len(shape) - source.aval.ndim
    new = p.broadcast_in_dim(source, shape=shape, dims=tuple(range(lead, len(shape))))
    return _over(old, converted_value(new, dtype))


def fitted_to(source: Tensor, shape: tuple, dtype: np.dtype, old=None) -> Tensor:
    """A tensor broadcast and converted; RuntimeError where the shapes do not allow it."""
    theirs = source._aval.shape
    lead = len(theirs) - len(shape)
    if lead > 0:
        raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(theirs)}")
    for d, (n, m) in enumerate(zip(reversed(shape), reversed(theirs)), 1):
        if m not in (1, n):
            raise RuntimeError(BROADCAST_MESSAGE.format(a=n, b=m, d=len(shape) - d))
    if old is None and theirs == shape and source._aval.dtype == dtype:
        return source
    return _copy_onto.compute([old, source, shape, dtype])


@composite(kind=Looking, function=False, without_data=NO_COPY)
def copy_(self, src, non_blocking=False):
    """Overwrite with another tensor, broadcast and converted; differentiable.

    >>> x = torch.zeros(2)
    >>> x.copy_(torch.tensor([1, 2]))
    tensor([1., 2.])
    """
    if not isinstance(src, Tensor):
        if not (is_number(src) or src.__class__ is Array):
            raise TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not {class_name(type(src))}")
        src = tensor_of(src, dtype=self.dtype)
    if self._view is not None and writes_itself(self, src):
        check_writable(self, overlapping=True)
        return self
    check_writable(self)
    if self._view is not None and src._view is not None:
        refuse_partial(self, src)
    if src._aval.dtype in dt.COMPLEX and self._aval.dtype not in (*dt.COMPLEX, dt.bool_):
        warn("Casting complex values to real discards the imaginary part")
    if not same(src.device, self.device):
        src = place(src, self.device)
    new = fitted_to(src, self._aval.shape, self._aval.dtype, _old(self))
    return assign(self, _clone.compute([new]) if new is src else new)


@copy_.simply(Tensor)
def _copied_onto(x, src) -> Tensor | None:
    """Of a tensor's whole value by another's of its aval: values are immutable, there is nothing to copy."""
    if not is_apart(x) or active.rewrites or src._value.aval is not x._value.aval:
        return None
    if (src._ge is not None or src._view is not None and is_on_tape(src)) and state.enabled:
        return None
    if x.device is not src.device:
        return None
    alias, own = src._view, x._view
    if alias is not None and (alias.cell.shared or own is not None and own.cell is alias.cell):
        return None
    overwrite(x, src._kept())
    return x


def take_over(tensor: Tensor, src: Tensor):
    """tensor.copy_(src) where nobody else has src: no copy if it is of the same kind, which for 64 MB takes 85 ms."""
    same_kind = src._aval.shape == tensor._aval.shape and src._aval.dtype == tensor._aval.dtype
    plain = active.plain and src.__class__ in PLAIN and tensor.__class__ in PLAIN
    if not (same_kind and plain and same(src.device, tensor.device)):
        tensor.copy_(src)
        return
    check_writable(tensor)
    new = fitted_to(src, tensor._aval.shape, tensor._aval.dtype, _old(tensor))
    assign(tensor, new)


@torch_op
def _fill(old: MaybeTensor, value: Operand, shape, dtype):
    return _over(old, p.broadcast_in_dim(cast(value, dtype), shape=shape, dims=()))


@torch_op
def _zero(old: MaybeTensor, shape, dtype):
    return _over(old, p.broadcast_in_dim(cast(0, dtype), shape=shape, dims=()))


# Numbers that these dtypes hold (rounded) without being looked at.
EXACTLY, MANY = frozenset({dt.float32, dt.float64}), 2.0**53


def _filled_node(number: int):
    """By whether the value, the second argument, is a tensor."""
    return lambda made, args: f"FillBackward{number + any(isinstance(x, Tensor) for x in args[1:2])}"


@composite(kind=Looking, aliases=(), node=_filled_node(2))
def fill_(self, value):
    """Overwrite every element with a number or a 0-d tensor.

    >>> torch.zeros(2).fill_(5)
    tensor([5., 5.])
    """
    check_writable(self, overlapping=True, op="fill")
    a = self._aval
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions."
            )
    elif is_number(value):
        value = fill_number(value, a.dtype)
    else:
        raise TypeError(f"fill_() received an invalid combination of arguments - got ({value.__class__.__name__})")
    with recording_where(self._value):
        filled = _fill.compute([_old(self), value, a.shape, a.dtype])
    return assign(self, filled)


@composite(method=False, node=_filled_node(0), in_place="fill_.Scalar")
def fill(input, value):
    """A tensor like the input with every element a number or a 0-d tensor.

    >>> torch.fill(torch.zeros(2), 5)
    tensor([5., 5.])
    """
    return fill_(clone(input), value)


@fill_.simply(float)
@fill_.simply(int)
def _filled_again(x, value) -> Tensor | None:
    a = x._value.aval
    if not is_apart(x) or active.rewrites or a.dtype not in EXACTLY or not -MANY < value < MANY:
        return None
    if further and place_of(x._value) is not None:
        return None
    overwrite(x, _fill.compute([None, value, a.shape, a.dtype])._value)
    return x


@composite(kind=Looking)
def zero_(self):
    """Overwrite every element with zero.

    >>> torch.ones(2).zero_()
    tensor([0., 0.])
    """
    check_writable(self, overlapping=True, op="zero")
    with recording_where(self._value):
        filled = _zero.compute([_old(self), self._aval.shape, self._aval.dtype])
    return assign(self, filled)


@zero_.simply()
def _zeroed(x) -> Tensor | None:
    if not is_apart(x) or active.rewrites or further and place_of(x._value) is not None:
        return None
    a = x._value.aval
    op = _zeros.get(a)
    if op is None:
        op, _ = _zero._found([None, a.shape, a.dtype])
        remember(_zeros, a, op)
    overwrite(x, record_nothing(op.unit))
    return x


_zeros: dict[Aval, GraphOp] = bounded({}, GraphOp.units)  # by what they overwrite


@composite(function=False)
def apply_(self, callable):
    """Replace each element by what a Python function makes of it.

    >>> torch.tensor([1., 2.]).apply_(lambda v: v + 1)
    tensor([2., 3.])
    """
    _check_has_no_history((self,), "apply_")
    if is_meta(self):
        return self
    array = self._array()
    found = [callable(x) for x in array.reshape(-1).tolist()]
    for value in found:
        if not is_number(value) and not isinstance(value, Tensor):
            raise TypeError(f"must be real number, not {type(value).__name__}")
    new = np.array(found, array.dtype)
    return assign(self, from_array(new.reshape(array.shape)), op="apply")


@composite(function=False)
def map_(self, tensor, callable):
    """Replace each element by what a Python function makes of it and another tensor's.

    >>> torch.tensor([1., 2.]).map_(torch.tensor([3., 4.]), lambda a, b: a + b)
    tensor([4., 6.])
    """
    if is_meta(self):
        return self
    if tensor.dtype is not self.dtype:
        raise TypeError(f"map_: expected {self.type()} for 'other' (got {tensor.type()})")
    return _mapped(self, (tensor,), callable, "map_")


@composite(function=False)
def map2_(self, x, y, callable):
    """Replace each element by what a Python function makes of it and two other tensors'.

    >>> torch.tensor([1., 2.]).map2_(torch.ones(2), torch.zeros(2), lambda a, b, c: a + b + c)
    tensor([2., 3.])
    """
    if is_meta(self):
        return self
    for name, other in (("x", x), ("y", y)):
        if other.dtype is not self.dtype:
            raise TypeError(f"map2_: expected {self.type()} for argument '{name}' (got {other.type()})")
    return _mapped(self, (x, y), callable, "map2_")


def _mapped(tensor, others, callable, name: str):
    """The tensor with what a Python function makes of its elements and those of others, which broadcast to it."""
    _check_has_no_history((tensor, *others), name)
    arrays = [tensor._array(), *[x.expand(tensor.shape)._array() for x in others]]
    new = [callable(*each) for each in zip(*[a.reshape(-1).tolist() for a in arrays])]
    made = np.array(new, tensor._aval.dtype).reshape(tensor._aval.shape)
    return assign(tensor, from_array(made), op=name[:-1])


def _check_has_no_history(tensors, name: str):
    """RuntimeError if one requires a gradient: there is none of what a Python function makes of elements."""
    if any(x.requires_grad for x in tensors):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")


@composite(function=False)
def fill_diagonal_(self, fill_value, wrap=False):
    """Overwrite the main diagonal; `wrap`: that of a tall matrix begins anew below its end.

    >>> torch.zeros(2, 2).fill_diagonal_(5)
    tensor([[5., 0.],
            [0., 5.]])
    """
    if self.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.ndim > 2 and len(set(self.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    if not self.numel():
        return self
    places = finish_later(lambda: _diagonal(self.shape, wrap), tuple(self.shape), dt.bool_, self.device)
    return self.masked_fill_(places, fill_value)


def _diagonal(shape, wrap: bool) -> np.ndarray:
    places = np.zeros(shape, bool)
    np.fill_diagonal(places, True, wrap=wrap)
    return places


# ---- set_ and resize_ ----------------------------------------------------------------------------


@composite(function=False)
def set_(self, source=None, storage_offset=0, size=None, stride=None):
    """Let the tensor see another storage, at an offset with a size and strides.

    >>> torch.zeros(1).set_(torch.tensor([1., 2.]))
    tensor([1., 2.])
    """
    check_writable(self, overlapping=True, op="set")
    if source is None:
        source = finish(np.zeros(0, self._aval.dtype), self.device)
    if not isinstance(source, (Tensor, Storage)):
        raise TypeError(f"set_() received an invalid combination of arguments - got ({source.__class__.__name__})")
    if hasattr(source, "check_dtype"):
        source.check_dtype(self.dtype)
    whole = source if isinstance(source, Tensor) else source._tensor(self._aval.dtype)
    if whole._aval.dtype != self._aval.dtype:
        raise RuntimeError(
            f"Could not set tensor of type {scalar_name(whole._aval.dtype).lower()} "
            f"to a tensor of type {scalar_name(self._aval.dtype).lower()}"
        )
    if size is not None:
        size = tuple(size)
        whole = whole.detach().as_strided(
            size, stride if stride is not None else contiguous_strides(size), storage_offset
        )
    see(self, whole)
    if self._ge is not None and self.is_leaf:
        self._ge = AccumulateGrad(self), 0  # gradients of what it was do not arrive here
    return self


# ---- clones that share a value until one of them is written to -----------------------------------


class _Data:
    """What storages are filled with: a lazy clone and its tensor have it in common until one is written to."""

    def __init__(self, cell: Cell):
        self.value = weakref.ref(cell.value)
        self.cells = weakref.WeakSet([cell])
        self.is_lazy = False


_data: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # cell -> its _Data, of those that were asked for it


def _data_of(cell: Cell) -> _Data:
    """A cell's data. Who writes leaves it to the others; the last one keeps it, as nobody else needs what it was."""
    data = _data.get(cell)
    if data is not None and data.value() is cell.value:
        return data
    if data is None or len(data.cells) > 1:
        if data is not None:
            data.cells.discard(cell)
        data = _data[cell] = _Data(cell)
    data.value, data.is_lazy = weakref.ref(cell.value), False
    return data


@composite
def _lazy_clone(input):
    """A clone, which takes no memory until it or the tensor is written to."""
    out = input.clone()
    if out._level is None:
        cell = share(input).cell
        out._value = input._kept()
        data = _data[share(out).cell] = _data_of(cell)
        data.cells.add(share(out).cell)
        data.is_lazy = True
    return out


def is_lazy_clone(tensor: Tensor) -> bool:
    """Whether a tensor has its value in common with a lazy clone, of which neither has been written to."""
    data = _data.get(share(tensor).cell)
    return data is not None and data.is_lazy and data.value() is share(tensor).cell.value


def addresses(tensor: Tensor) -> tuple[int, int]:
    """What tells storages apart, and what they are filled with."""
    cell = share(tensor).cell
    return id(cell), id(_data_of(cell))


@composite(function=False)
def is_set_to(self, tensor):
    """Whether both see the same memory in the same way.

    >>> x = torch.zeros(2)
    >>> x.is_set_to(x[:])
    True
    """
    return (
        share(self).cell is share(tensor).cell
        and layout_of(self) == layout_of(tensor)
        and self._aval.dtype == tensor._aval.dtype
        and bits_of(self) == bits_of(tensor)
    )


@composite(method=False)
def _debug_has_internal_overlap(input) -> int:
    """Whether two elements are one place of memory: 0 no, 1 yes, 2 not looked into, as there are gaps."""
    shape, strides, _ = layout_of(input)
    if 0 in shape or dense_strides(shape, strides) == tuple(strides):
        return 0
    return 1 if any(n > 1 and s == 0 for n, s in zip(shape, strides)) else 2


@composite(aliases=())
def resize_(self, *sizes, memory_format=None, **kwargs):
    """Another size for the same memory, which grows (by zeros) where it is too small.

    >>> torch.tensor([[1, 2], [3, 4]]).resize_(3)
    tensor([1, 2, 3])
    """
    if self.requires_grad and not (self._is_inference and state.inference):
        raise RuntimeError("cannot resize variables that require grad")
    check_writable(self, overlapping=True, op="resize")
    shape = ints_of("resize_", sizes, "size", kwargs.get("size"))
    if any(n < 0 for n in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    if shape == self._aval.shape:
        return self
    strides = contiguous_strides(shape)
    if memory_format in (_types.channels_last, _types.channels_last_3d):
        strides = channels_last_strides(shape)
    _check_overflow(shape, self.element_size())
    if math.prod(shape) + layout_of(self)[2] > _capacity(self):
        if self._view is not None and self._view.cell.shared:
            raise RuntimeError("Trying to resize storage that is not resizable")
        return _regrow(self, shape, strides)
    return set_(self, _storage(self), layout_of(self)[2], shape, strides)


def _storage(tensor: Tensor):
    return UntypedStorage(cell=share(tensor).cell)


def _capacity(tensor: Tensor) -> int:
    return _storage(tensor).nbytes() // tensor.element_size()


def _check_overflow(shape: tuple[int, ...], itemsize: int):
    """RuntimeError for a shape whose elements, bytes or strides no 64 bits count."""
    if math.prod(shape) > MOST:
        raise RuntimeError("numel: integer multiplication overflow")
    if math.prod(shape) * itemsize > MOST:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    if math.prod(max(n, 1) for n in shape[1:]) > MOST:
        raise RuntimeError("Stride calculation overflowed")


def _regrow(tensor: Tensor, shape: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
    """A memory of its own in which the elements come first, then zeros."""
    flat = shape if strides == contiguous_strides(shape) else (math.prod(shape),)
    made = finish_later(lambda: _grown(tensor, flat), flat, tensor._aval.dtype, tensor.device)
    tensor._value, tensor._view, tensor._strides = made._value, None, None
    tensor._own_version += 1
    return tensor if flat is shape else set_(tensor, _storage(tensor), 0, shape, strides)


def _grown(tensor: Tensor, shape: tuple[int, ...]) -> np.ndarray:
    flat = np.full(math.prod(shape), unspecified(tensor._aval.dtype), tensor._aval.dtype)
    if tensor.numel():
        old = _storage(tensor)._tensor(tensor._aval.dtype)._array()[layout_of(tensor)[2] :]
        flat[: old.size] = old
    return flat.reshape(shape)


@composite
def resize_as_(self, the_template, *, memory_format=None):
    """resize_ to the size of another tensor, with torch.preserve_format in its order in memory.

    >>> torch.resize_as_(torch.arange(4), torch.ones(2, 1))
    tensor([[0],
            [1]])
    """
    if memory_format is _types.preserve_format:
        shape, strides = the_template.shape, the_template.stride()
        by_rank = {4: _types.channels_last, 5: _types.channels_last_3d}
        memory_format = by_rank[len(shape)] if is_channels_last(shape, strides) else None
    return resize_(self, tuple(the_template.shape), memory_format=memory_format)


OTHER_NUMEL = (
    "requested resize to {sizes} ({numel} elements in total), but the given tensor has a size of {shape} "
    "({own} elements). autograd's resize can only change the shape of a given tensor, while preserving the number "
    "of elements. "
)


@composite(function=False, node="ResizeBackward")
def resize(self, *sizes):
    """Deprecated: another shape of as many elements, without -1.

    >>> torch.arange(3).reshape(3, 1)  # in its place
    tensor([[0],
            [1],
            [2]])
    """
    warn("non-inplace resize is deprecated")
    return _of_as_many(self, sizes)


@composite(function=False, node="ResizeBackward")
def resize_as(self, tensor):
    """Deprecated: the shape of a tensor of as many elements.

    >>> torch.arange(3).reshape(torch.ones(1, 3).shape)  # in its place
    tensor([[0, 1, 2]])
    """
    warn("non-inplace resize_as is deprecated")
    return _of_as_many(self, tuple(tensor.shape))


def _of_as_many(tensor: Tensor, sizes: tuple) -> Tensor:
    numel = functools.reduce(operator.mul, sizes, 1)  # a tuple in place of its numbers is a wrong number, as in PyTorch
    if numel != tensor.numel():
        wanted, shape = ("x".join(map(str, x)) for x in (sizes, tensor.shape))
        raise RuntimeError(OTHER_NUMEL.format(sizes=wanted, numel=numel, shape=shape, own=tensor.numel()))
    return tensor.reshape(sizes)


@composite(function=False)
def is_same_size(self, other):
    """Whether both have the same shape.

    >>> torch.ones(2).is_same_size(torch.ones(3))
    False
    """
    return self._aval.shape == other._aval.shape


# ---- what loading and streams ask ----------------------------------------------------------------


@composite(function=False)
def module_load(self, other, assign=False):
    """What load_state_dict puts in this tensor's place when modules swap their tensors.

    >>> torch.zeros(2).module_load(torch.ones(2))
    tensor([1., 1.])
    """
    return other.detach() if assign else self.copy_(other).detach()


@composite(function=False)
def record_stream(self, stream):
    """Nothing: memory is not given back while a computation uses it.

    >>> x = torch.ones(2)
    >>> if torch.cuda.is_available(): x.cuda().record_stream(torch.cuda.current_stream())
    """


@composite(function=False)
def dim_order(self, *, ambiguity_check=False):
    """The dimensions from the outermost in memory to the innermost.

    >>> torch.zeros(2, 3, 4).transpose(0, 2).dim_order()
    (2, 1, 0)
    """
    if not isinstance(ambiguity_check, bool) and not (
        isinstance(ambiguity_check, list) and all(isinstance(f, _types.memory_format) for f in ambiguity_check)
    ):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    shape, strides, _ = layout_of(self)
    order = tuple(sorted(range(len(shape)), key=lambda d: -strides[d]))
    if ambiguity_check is True:
        known = len(shape) < 2 or (min(shape) > 1 and len(set(strides)) == len(strides))
    elif ambiguity_check:
        known = sum(self.is_contiguous(memory_format=f) for f in ambiguity_check) == 1
    else:
        known = True
    if not known:
        raise RuntimeError(
            "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
        )
    return order
