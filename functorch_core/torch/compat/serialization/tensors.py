"""Tensors to checkpoint specs and back; what copy and pickle do with tensors and storages."""

from __future__ import annotations

import io
import math
import types
from collections import OrderedDict
from pickle import UnpicklingError

import numpy as np

from ....names import pickles_name_torch
from ... import empty_strided
from ...dispatch.members.copying import in_slots
from ...dispatch.parameter import Buffer, Parameter
from ...operators.shape.storage import STORAGE_NAMES, Storage, TypedStorage, UntypedStorage, storage_of
from ...tape.meta import META, is_meta
from ...tape.modes import no_grad
from ...tensors import types as _types
from ...tensors.active import active
from ...tensors.base import Tensor, UserAttributes, new_tensor
from ...views.bits import bits_of
from ...views.cells import Cell, layout_of, share
from ...views.memory_order import flat_bytes, memory, with_strides
from ...views.shared import tensor_of
from ...views.strides import contiguous_strides
from ..public_names import name_of
from ..storage import _load_from_bytes
from .formats import GlobalName, ParameterSpec, StorageSpec, TensorSpec
from .packages import are_foreign, location_tag, place
from .skipping import unless_skipped

# ---- tensors to specs ----------------------------------------------------------------------------


def describe(obj):
    """How the checkpoint writer is to save an object; None leaves it to pickle."""
    if isinstance(obj, Tensor):
        if type(obj).__reduce_ex__ is not Tensor.__reduce_ex__ or obj._device is not None or _is_distributed(obj):
            return None
        if type(obj) is Parameter:
            return ParameterSpec(_tensor_spec(obj), obj.requires_grad, attributes=attributes_of(obj))
        return _tensor_spec(obj, **_subclass_of(obj))
    if isinstance(obj, Storage):
        dtype = str(obj.dtype) if isinstance(obj, TypedStorage) else None
        location = location_tag(obj) if are_foreign() else str(obj.device)
        return StorageSpec(id(obj._cell), unless_skipped(memory(obj._cell)), dtype, location)
    if isinstance(obj, _types.dtype):
        return GlobalName("torch", obj.name)
    if isinstance(obj, types.FunctionType):
        found = getattr(obj, "saved_as", None) or name_of(obj)
        return None if found is None else GlobalName(*found)
    return None


def _is_distributed(tensor: Tensor) -> bool:
    return active.distributed is not None and active.distributed.is_one(tensor)


def _subclass_of(tensor: Tensor) -> dict:
    """The parts of a spec that say what is not plain about a tensor."""
    attributes = attributes_of(tensor)
    if type(tensor) is Tensor:
        return {"attributes": attributes, "requires_grad": tensor.requires_grad}
    return {"attributes": attributes or {}, "requires_grad": tensor.requires_grad, "tensor_type": type(tensor)}


def _tensor_spec(tensor: Tensor, **more) -> TensorSpec:
    shape, strides, offset = layout_of(tensor)
    key, storage = (None, None) if is_meta(tensor) else _storage(tensor)
    location = location_tag(storage_of(tensor)) if are_foreign() and key is not None else str(tensor.device)
    more["metadata"] = metadata_of(tensor)
    return TensorSpec(key, storage, str(tensor.dtype), offset, shape, strides, location=location, **more)


def metadata_of(tensor: Tensor) -> dict[str, bool] | None:
    """The bits of a conjugate or negated view, as PyTorch's files have them."""
    return {name: True for name, bit in zip(("conj", "neg"), bits_of(tensor)) if bit} or None


def _storage(tensor: Tensor) -> tuple[int, np.ndarray]:
    """(key, bytes) of a tensor's memory."""
    if tensor._level is not None:
        tensor._array()  # raises: a tensor inside a transform has no data
    if tensor._view is None:
        # Nobody shares it, so it needs no cell: a tensor without one is faster to compute with.
        return id(tensor), unless_skipped(flat_bytes(tensor._read(), tensor._strides))
    cell = tensor._view.cell
    return id(cell), unless_skipped(memory(cell))


def attributes_of(tensor: Tensor) -> dict | None:
    """What a user has set on a tensor: attributes, also a pair with those in slots, or what its class says."""
    if type(tensor).__getstate__ is not object.__getstate__:
        state = tensor.__getstate__()
        return tuple(map(_plain, state)) if type(state) is tuple else _plain(state)
    attributes, slots = dict(tensor.__dict__), in_slots(tensor)
    return (attributes, slots) if slots else attributes or None


def _plain(part):
    return dict(part) if isinstance(part, UserAttributes) else part


# ---- specs to tensors ----------------------------------------------------------------------------


class Rebuild:
    """Makes tensors of specs; those of one storage key share their memory."""

    def __init__(self, live: bool = False):
        self._live = live  # what is written to a tensor goes into the memory that was read
        self._first: dict = {}  # storage key -> the first tensor made of it
        self._cells: dict[object, Cell] = {}

    def __call__(self, spec):
        """The tensor or parameter."""
        if isinstance(spec, ParameterSpec):
            return self._parameter(spec)
        tensor = self._tensor(spec)
        if spec.metadata:
            tensor = with_bits(tensor, spec.metadata)
        if spec.requires_grad:
            tensor.requires_grad = True
        return set_state(tensor, spec.tensor_type, spec.attributes)

    def _parameter(self, spec: ParameterSpec) -> Parameter:
        if not isinstance(spec.data, Tensor):
            raise UnpicklingError(f"a parameter's data must be a tensor, the file has a {type(spec.data).__name__}")
        return set_state(Parameter(spec.data, spec.requires_grad), None, spec.attributes)

    def _tensor(self, spec: TensorSpec) -> Tensor:
        key, size, stride = spec.storage_key, tuple(spec.size), tuple(spec.stride)
        if spec.storage is None:
            return on_meta(_types.by_name[_name_of(spec.dtype)], size, stride)
        if (
            key not in self._first
            and key not in self._cells
            and not self._live
            and (spec.offset == 0 and _covers(size, stride, spec.storage.size))
        ):
            made = self._first[key] = _whole(spec, size, stride)
            return made
        return view_of_cell(self.cell(spec), _types.by_name[_name_of(spec.dtype)], size, stride, spec.offset)

    def cell(self, spec) -> Cell:
        """The cell of a spec's storage."""
        first, key = self._first.get(spec.storage_key), spec.storage_key
        if first is not None:
            return share(first).cell
        if key not in self._cells:
            is_live = self._live and spec.location == "cpu" and spec.storage.size
            made = share(tensor_of(spec.storage, True)).cell if is_live else None
            self._cells[key] = made or Cell(place(spec.storage, spec.location), 0, None)
        return self._cells[key]

    def storage(self, spec: StorageSpec) -> Storage:
        """A storage that was saved by itself; its memory is looked up when it is used."""
        made = object.__new__(UntypedStorage if spec.dtype is None else TypedStorage)
        if spec.dtype is not None:
            made._dtype = _types.by_name[_name_of(spec.dtype)]
        made.spec, made._cell_later = spec, lambda: self.cell(spec)
        return made


def _name_of(dtype: str) -> str:
    name = dtype.removeprefix("torch.")
    if name not in _types.by_name:
        raise NotImplementedError(f"torch.load: tensors of dtype {dtype} are not implemented")
    return name


def _covers(size, stride, available: int) -> bool:
    """Whether a layout shows every element of a storage once, without gaps."""
    if math.prod(size) != available:
        return False
    expected = 1
    for step, length in sorted((s, n) for n, s in zip(size, stride) if n != 1):
        if step != expected:
            return False
        expected *= length
    return True


def _whole(spec: TensorSpec, size, stride) -> Tensor:
    """A tensor that is alone with its storage."""
    _name_of(spec.dtype)
    storage = spec.storage
    if stride == contiguous_strides(size):
        return new_tensor(place(storage.reshape(size), spec.location))
    # np.ndarray, because as_strided does not know the dtypes of 8 bits.
    array = np.ndarray(size, storage.dtype, storage.view(np.uint8), strides=[s * storage.itemsize for s in stride])
    made = new_tensor(place(np.ascontiguousarray(array).reshape(size), spec.location))
    return with_strides(made, stride)


def on_meta(dtype: _types.dtype, size, stride) -> Tensor:
    """A tensor on the meta device."""
    return empty_strided(tuple(size), tuple(stride), dtype=dtype, device=META)


def view_of_cell(cell: Cell, dtype, size, stride, offset: int) -> Tensor:
    """A tensor that sees a cell in a layout, in elements of the dtype."""
    with no_grad():
        whole = UntypedStorage(cell=cell)._tensor(dtype.numpy)
        return whole.as_strided(tuple(size), tuple(stride), offset).detach()


def with_bits(tensor: Tensor, metadata) -> Tensor:
    """The conjugate or negated view of memory that a tensor was saved as."""
    with no_grad():
        tensor = tensor.conj().detach() if metadata.get("conj") else tensor
        return tensor._neg_view().detach() if metadata.get("neg") else tensor


def set_state(tensor: Tensor, cls, state) -> Tensor:
    """Give a rebuilt tensor its class and the attributes that were set on it."""
    cls = Buffer if cls == "Buffer" else cls
    if isinstance(cls, type) and issubclass(cls, Tensor) and cls is not type(tensor):
        tensor = tensor.as_subclass(cls)
    if hasattr(type(tensor), "__setstate__"):
        tensor.__setstate__(state)
        return tensor
    for part in state if isinstance(state, tuple) else (state,):
        for name, value in (part or {}).items():
            setattr(tensor, name, value)
    return tensor


# ---- copy, pickle, multiprocessing ---------------------------------------------------------------


def reduce_tensor(tensor: Tensor):
    """Tensor.__reduce_ex__: a function of torch._utils, as PyTorch has it, and its arguments."""
    from . import rebuilders as _utils

    if tensor._level is not None:
        tensor._array()  # raises
    plain = type(tensor) is Tensor
    attributes = attributes_of(tensor)
    if _is_distributed(tensor):
        return _utils._rebuild_distributed, (*active.distributed.saved(tensor), attributes)
    if type(tensor) is Parameter:
        data = tensor.detach()
        if attributes:
            return _utils._rebuild_parameter_with_state, (data, tensor.requires_grad, OrderedDict(), attributes)
        return _utils._rebuild_parameter, (data, tensor.requires_grad, OrderedDict())
    if tensor._device is not None:
        return _reduce_wrapper(tensor)
    function, arguments = _reduce_plain(tensor)
    if plain and not attributes:
        return function, arguments
    cls = type(tensor)
    if cls in (Tensor, Buffer) and not pickles_name_torch():
        cls = cls.__name__  # pickle could not import it by the module it names
    return _utils._rebuild_from_type_v2, (function, cls, arguments, attributes or {})


def _reduce_wrapper(tensor: Tensor):
    """The same of a tensor whose class says what it is made of: its attributes are all there is."""
    from . import rebuilders as _utils

    layout = tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), tensor.layout, tensor.device
    arguments = (type(tensor), tensor.dtype, *layout, tensor.requires_grad)
    state = attributes_of(tensor) or {}
    return _utils._rebuild_from_type_v2, (_utils._rebuild_wrapper_subclass, type(tensor), arguments, state)


def _reduce_plain(tensor: Tensor) -> tuple:
    """The function and the arguments for the tensor without class or attributes."""
    from . import rebuilders as _utils

    shape, strides, offset = layout_of(tensor)
    sizes = tuple(shape), tuple(strides)
    if is_meta(tensor):
        return _utils._rebuild_meta_tensor_no_storage, (tensor.dtype, *sizes, tensor.requires_grad)
    # An object of its own, as in PyTorch: for pickle, which goes by these, two tensors do not share their memory then.
    storage = TypedStorage(cell=storage_of(tensor)._cell, dtype=tensor.dtype)
    arguments = (storage, offset, *sizes, tensor.requires_grad, OrderedDict())
    found = metadata_of(tensor)
    more = () if found is None else (found,)
    if _is_young(tensor.dtype):
        return _utils._rebuild_tensor_v3, (*arguments, tensor.dtype, *more)
    return _utils._rebuild_tensor_v2, (*arguments, *more)


def _is_young(dtype: _types.dtype) -> bool:
    """Whether PyTorch has no storage class for the dtype."""
    return dtype.name not in STORAGE_NAMES


def reduce_storage(storage: Storage):
    """Storage.__reduce__: a checkpoint of it alone, in memory."""
    from . import save

    buffer = io.BytesIO()
    save(storage, buffer)
    return _load_from_bytes, (buffer.getvalue(),)
