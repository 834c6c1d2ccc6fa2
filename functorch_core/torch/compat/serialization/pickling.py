"""Pickling with tensors taken out: references to torch's functions are written by name only."""

import functools
import io
import pickle
import sys
import types
from collections import OrderedDict
from collections.abc import Callable, Hashable

import numpy as np

from ....aliases import public_name
from ....names import own_name, torch_name
from .archive import bytes_of
from .specs import (
    STORAGE_CLASSES,
    UNTYPED,
    YOUNG_DTYPES,
    GlobalName,
    ParameterSpec,
    StorageSpec,
    TensorSpec,
    check_layout,
    dtype_global,
    global_name,
    numpy_dtype,
)

Spec = TensorSpec | ParameterSpec | StorageSpec | GlobalName
Describe = Callable[[object], Spec | None]

SHARED_AS_TWO_DTYPES = (
    "Cannot save multiple tensors or storages that view the same data as different types: "
    "{first} and {second}. Save `tensor.view({first})`, or a clone, instead."
)


def _torch_module(module: object) -> str | None:
    """The torch module that a class or function is saved as a part of, None for none."""
    if not isinstance(module, str):
        return None
    own = own_name(module)  # of a module of torch: it may say the file that it lies in, not its public name
    title = torch_name(public_name(own or module))
    return title if title or not own else module


class StorageTable:
    """The storages met so far: numbered in order of appearance, their bytes kept once."""

    def __init__(self, legacy: bool = False) -> None:
        self._keys: dict[Hashable, str] = {}
        self._dtypes: dict[str, str] = {}
        self._ending = (None,) if legacy else ()  # what the old format says of views of storages
        self.arrays: dict[str, np.ndarray] = {}

    def persistent_id(self, spec: StorageSpec) -> tuple:
        """The tuple that stands for a storage in the pickle."""
        key = self._keys.setdefault(spec.storage_key, str(len(self._keys)))
        # Young dtypes are saved as bytes, and bytes may be shared with uint8 tensors.
        is_untyped = spec.dtype is None or spec.dtype in YOUNG_DTYPES
        dtype = "torch.uint8" if is_untyped else spec.dtype
        first = self._dtypes.setdefault(key, dtype)
        if first != dtype and (key not in self.arrays or self.arrays[key].size):  # nothing is of any dtype
            raise RuntimeError(SHARED_AS_TWO_DTYPES.format(first=first, second=dtype))
        if key not in self.arrays:
            self.arrays[key] = self._checked(spec)
        count = self.arrays[key].size // numpy_dtype(dtype).itemsize
        if is_untyped:
            reference = global_name("torch.storage", UNTYPED)
        else:
            reference = global_name("torch", STORAGE_CLASSES[dtype])
        return ("storage", reference, key, spec.location, count, *self._ending)

    def count(self, key: str) -> int:
        """How many elements a storage has, of the dtype that the pickle names."""
        return self.arrays[key].size // numpy_dtype(self._dtypes[key]).itemsize

    @staticmethod
    def _checked(spec: StorageSpec) -> np.ndarray:
        itemsize = numpy_dtype(spec.element_dtype).itemsize
        array = spec.storage
        if array.ndim != 1 or array.dtype.itemsize not in (1, itemsize):
            raise TypeError(
                f"storage of a {spec.element_dtype} tensor must be a 1-d array of that dtype or of "
                f"bytes, got {array.dtype} of shape {array.shape}"
            )
        return bytes_of(array)


class TensorPickler(pickle._Pickler):
    """A pickler that asks `describe` about every object Python's own pickle has no code for.

    The pure-Python pickler, because the one in C refuses references to modules it cannot import.
    """

    dispatch = dict(pickle._Pickler.dispatch)

    def __init__(self, file: io.BytesIO, *, protocol: int, describe: Describe, legacy: bool = False):
        super().__init__(file, protocol=protocol)
        self._describe = describe
        self.storages = StorageTable(legacy)

    def save(self, obj: object, save_persistent_id: bool = True) -> None:
        """Pickle one object, as its spec says where it has one."""
        if type(obj) in self.dispatch or id(obj) in self.memo:
            super().save(obj, save_persistent_id)
            return
        spec = obj if isinstance(obj, (StorageSpec, TensorSpec)) else self._describe(obj)
        if spec is None:
            super().save(obj, save_persistent_id)
        elif isinstance(spec, GlobalName):
            super().save(spec, save_persistent_id)
        elif isinstance(spec, StorageSpec):
            self.save_pers(self.storages.persistent_id(spec))
        elif isinstance(spec, TensorSpec):
            self.save_reduce(*_reduce_tensor(spec), obj=obj)
        elif isinstance(spec, ParameterSpec):
            self.save_reduce(*_reduce_parameter(spec), obj=obj)
        else:
            raise TypeError(
                "describe must return a TensorSpec, a ParameterSpec, a StorageSpec, a GlobalName "
                f"or None, got {type(spec).__name__} for a {type(obj).__name__}"
            )

    def save_global(self, obj: object, name: str | None = None) -> None:
        """Classes and functions of torch by name, unchecked; others as pickle does."""
        spec = self._describe(obj) if isinstance(obj, types.FunctionType) else None
        if isinstance(spec, GlobalName):
            self._write_name(obj, spec.module, spec.name)
            return
        module = getattr(obj, "__module__", None)
        name = name or getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None)
        title = _torch_module(module)
        if name and "<locals>" in name:
            raise AttributeError(f"Can't pickle local object {name!r}")
        if title and name:
            owner, _, last = name.rpartition(".")
            if owner and isinstance(obj, types.FunctionType) and module in sys.modules:
                owner = functools.reduce(getattr, owner.split("."), sys.modules[module])
                self.save_reduce(getattr, (owner, last), obj=obj)
            else:
                self._write_name(obj, title, name)
        else:
            super().save_global(obj, name)

    def _save_global_name(self, obj: GlobalName) -> None:
        self._write_name(obj, obj.module, obj.name)

    def _write_name(self, obj: object, module: str, name: str) -> None:
        if self.proto >= 4:
            self.save(module)
            self.save(name)
            self.write(pickle.STACK_GLOBAL)
        elif "." in name:
            raise pickle.PicklingError(
                f"{module}.{name} is nested in a class, which pickle protocol {self.proto} cannot "
                "refer to; save with pickle_protocol=4"
            )
        else:
            self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)

    def save_type(self, obj: type) -> None:
        """Classes go through `save_global` above."""
        if _torch_module(obj.__module__):
            self.save_global(obj)
        else:
            super().save_type(obj)

    dispatch[GlobalName] = _save_global_name
    dispatch[types.FunctionType] = save_global
    dispatch[type] = save_type


def _hooks(hooks: object) -> OrderedDict:
    """PyTorch does not save hooks, but wants an empty OrderedDict in their place."""
    return OrderedDict() if hooks is None else hooks


def _reduce_tensor(spec: TensorSpec) -> tuple:
    """(function, arguments) of a tensor, within those of one with attributes or a class."""
    function, arguments = _reduce_meta(spec) if spec.storage is None else _reduce_plain(spec)
    if spec.attributes is None and spec.tensor_type is None:
        return function, arguments
    tensor_type = spec.tensor_type or global_name("torch", "Tensor")
    wrapped = (function, tensor_type, arguments, spec.attributes or {})
    return global_name("torch._tensor", "_rebuild_from_type_v2"), wrapped


def _reduce_meta(spec: TensorSpec) -> tuple:
    """(function, arguments) of a tensor on the meta device."""
    function = global_name("torch._utils", "_rebuild_meta_tensor_no_storage")
    return function, (
        dtype_global(spec.dtype),
        tuple(map(int, spec.size)),
        tuple(map(int, spec.stride)),
        bool(spec.requires_grad),
    )


def _reduce_plain(spec: TensorSpec) -> tuple:
    """(function, arguments) of a tensor with a storage."""
    young = spec.dtype in YOUNG_DTYPES
    available = spec.storage.nbytes // numpy_dtype(spec.dtype).itemsize
    size, stride = tuple(map(int, spec.size)), tuple(map(int, spec.stride))
    offset = int(spec.offset)
    check_layout(offset, size, stride, available)
    storage = StorageSpec(spec.storage_key, spec.storage, spec.dtype, spec.location)
    arguments = (storage, offset, size, stride, bool(spec.requires_grad))
    arguments += (_hooks(spec.backward_hooks),)
    arguments += (dtype_global(spec.dtype),) if young else ()
    arguments += (dict(spec.metadata),) if spec.metadata else ()
    return global_name("torch._utils", f"_rebuild_tensor_v{3 if young else 2}"), arguments


def _reduce_parameter(spec: ParameterSpec) -> tuple:
    """(function, arguments) of a parameter, its data a tensor inside."""
    arguments = (spec.data, bool(spec.requires_grad), _hooks(spec.backward_hooks))
    if not spec.attributes:
        return global_name("torch._utils", "_rebuild_parameter"), arguments
    function = global_name("torch._utils", "_rebuild_parameter_with_state")
    return function, (*arguments, spec.attributes)


def pickle_object(
    obj: object, *, protocol: int, describe: Describe, legacy: bool = False
) -> tuple[bytes, StorageTable]:
    """The pickle of `obj` and the storages it refers to."""
    buffer = io.BytesIO()
    pickler = TensorPickler(buffer, protocol=protocol, describe=describe, legacy=legacy)
    try:
        pickler.dump(obj)
    except RecursionError:
        raise RecursionError(
            f"save: objects are nested too deeply to pickle (recursion limit "
            f"{sys.getrecursionlimit()}); flatten them or raise sys.setrecursionlimit"
        ) from None
    return buffer.getvalue(), pickler.storages
