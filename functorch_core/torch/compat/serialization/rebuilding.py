"""From what a pickle says to specs: storages read once, layouts checked, names resolved."""

import dataclasses
import functools
import sys
from collections.abc import Callable, Mapping
from pickle import UnpicklingError

import numpy as np

from .skipping import unless_skipped
from .specs import (
    MAX_COUNT,
    NUMPY_DTYPES,
    STORAGE_CLASSES,
    STORAGE_DTYPES,
    UNTYPED,
    GlobalName,
    ParameterSpec,
    StorageSpec,
    TensorSpec,
    check_layout,
    dtype_global,
    global_name,
    numpy_dtype,
    swap_width,
)

Rebuild = Callable[[TensorSpec | ParameterSpec], object]

# -------------------------------------------------------------------------------------- locations


def _text(value: object) -> object:
    """Internal strings written by Python 2 arrive as bytes."""
    return value.decode("ascii") if isinstance(value, bytes) else value


def _location_of(result: object, fallback: str) -> str:
    """Where a callable `map_location` sent a storage."""
    if result is None:
        return fallback
    if isinstance(result, StorageSpec):
        return result.location
    return str(getattr(result, "device", result))


def location_mapper(map_location: object) -> Callable[[StorageSpec, str], str]:
    """`map_location`, in each of PyTorch's forms, as a function (storage, saved place) -> place."""
    if map_location is None:
        return lambda storage, location: location
    if isinstance(map_location, Mapping):
        return lambda storage, location: str(map_location.get(location, location))
    if isinstance(map_location, (int, float, list, tuple)):
        raise TypeError(
            f"'{type(map_location).__name__}' object is not callable: map_location is a "
            "device, its name, a dict of names or a function"
        )
    if callable(map_location):
        return lambda storage, location: _location_of(map_location(storage, location), location)
    return lambda storage, location: str(_text(map_location))


# --------------------------------------------------------------------------------------- storages


class LoadedStorages:
    """Storages by key, read at first mention; one array per key and dtype, all sharing memory."""

    def __init__(
        self,
        read: Callable[[str], np.ndarray],
        *,
        byteorder: str,
        map_location: object,
        wrap: Callable[[StorageSpec], object] | None = None,
    ):
        self._read = read
        self._wrap = wrap
        self._swaps = byteorder != sys.byteorder
        self._place = location_mapper(map_location)
        self._bytes: dict[str, np.ndarray] = {}
        self._widths: dict[str, int] = {}
        self._arrays: dict[tuple[str, str], np.ndarray] = {}
        self._specs: dict[tuple[str, str | None], StorageSpec] = {}
        self._wrapped: dict[tuple[str, str | None], object] = {}
        self._locations: dict[str, str] = {}

    def persistent_load(self, identity: object) -> object:
        """The storage for a persistent id: its spec, in the caller's wrapping if there is one."""
        spec = self.load(identity)
        if self._wrap is None:
            return spec
        key = spec.storage_key, spec.dtype
        if key not in self._wrapped:
            self._wrapped[key] = self._wrap(spec)
        return self._wrapped[key]

    def load(self, identity: object) -> StorageSpec:
        """The spec for a persistent id ('storage', class, key, location, count)."""
        dtype, key, location, count = parse_identity(identity)
        spec = self._specs.get((key, dtype))
        if key not in self._bytes:
            self._bytes[key] = unless_skipped(self._read(key))
        needed = count * numpy_dtype(dtype or "torch.uint8").itemsize
        found = self._bytes[key].size
        if needed > found:
            raise RuntimeError(f"storage {key} should have {needed} bytes, but has {found}")
        if spec is None:
            spec = StorageSpec(key, self.array(key, dtype or "torch.uint8"), dtype)
            place = self._locations.setdefault(key, self._place(spec, location))
            spec = self._specs[key, dtype] = dataclasses.replace(spec, location=place)
        return spec

    def array(self, key: str, dtype: str) -> np.ndarray:
        """The storage as an array of `dtype`, in the machine's byte order."""
        if (key, dtype) not in self._arrays:
            itemsize = numpy_dtype(dtype).itemsize
            self._swap(key, swap_width(dtype))
            whole = self._bytes[key]
            array = whole[: whole.size // itemsize * itemsize].view(numpy_dtype(dtype))
            # A mapped record of a foreign writer may lie anywhere.
            self._arrays[key, dtype] = array if array.flags.aligned else array.copy()
        return self._arrays[key, dtype]

    def _swap(self, key: str, width: int) -> None:
        """Reverse the bytes of each number, once, in place."""
        if not self._swaps or width == 1:
            return
        first = self._widths.setdefault(key, 0)
        if first not in (0, width):
            raise RuntimeError(
                f"storage {key} of the other byte order is viewed both as {first}-byte and as "
                f"{width}-byte numbers, so it cannot be converted"
            )
        if first == 0:
            whole = self._bytes[key]
            numbers = whole[: whole.size // width * width].view(f"u{width}")
            numbers.byteswap(inplace=True)
            self._widths[key] = width


def parse_identity(identity: object) -> tuple[str | None, str, str, int]:
    """(dtype, None if untyped; key; location; count) of a persistent id, or UnpicklingError."""
    if type(identity) is not tuple or len(identity) not in (5, 6):
        raise UnpicklingError(f"not a storage: {identity!r}")
    kind, reference, key, location, count = map(_text, identity[:5])
    if len(identity) == 6 and identity[5] is not None:
        raise NotImplementedError("legacy checkpoints with views of storages (PyTorch before 1.0)")
    name = getattr(reference, "name", None)
    is_known = isinstance(name, str) and (name == UNTYPED or name in STORAGE_DTYPES)
    is_placed = isinstance(key, str) and isinstance(location, str)
    if kind != "storage" or not (is_known and is_placed) or type(count) is not int or count < 0:
        raise UnpicklingError(f"not a storage: {identity!r}")
    return STORAGE_DTYPES.get(name), key, location, count


# ---------------------------------------------------------------------------------------- tensors


def unwrapped(storage: object) -> object:
    """The spec in what a caller's `wrap_storage` made: its attribute `spec`."""
    return getattr(storage, "spec", storage)


class Rebuilder:
    """The functions of torch._utils that a checkpoint calls, each ending in `rebuild(spec)`."""

    def __init__(self, storages: LoadedStorages, rebuild: Rebuild):
        self._storages = storages
        self._rebuild = rebuild
        makers = (self._tensor, self._tensor_v2, self._tensor_v3, self._meta)
        self._tensors = {self._function(maker): maker for maker in makers}
        tensor, tensor_v2, tensor_v3, meta = self._tensors
        self.functions: dict[str, Callable] = {
            "torch._utils._rebuild_tensor": tensor,
            "torch._utils._rebuild_tensor_v2": tensor_v2,
            "torch._utils._rebuild_tensor_v3": tensor_v3,
            "torch._utils._rebuild_meta_tensor_no_storage": meta,
            "torch._utils._rebuild_parameter": self._function(self._parameter),
            "torch._utils._rebuild_parameter_with_state": self._function(self._parameter),
            "torch._tensor._rebuild_from_type_v2": self._from_type,
            "torch._utils._rebuild_from_type_v2": self._from_type,  # of this library's files of once
        }

    def _function(self, maker: Callable) -> Callable:
        return functools.partial(self._finish, maker)

    def _finish(self, maker: Callable, *arguments: object) -> object:
        return self._rebuild(maker(*arguments))

    def _tensor(self, storage: object, offset: object, size: object, stride: object) -> TensorSpec:
        return self._tensor_v2(storage, offset, size, stride, False, None)

    def _tensor_v2(
        self,
        storage: object,
        offset: object,
        size: object,
        stride: object,
        requires_grad: object,
        hooks: object,
        metadata: object = None,
    ) -> TensorSpec:
        dtype = getattr(unwrapped(storage), "element_dtype", None)
        return self._spec(storage, offset, size, stride, requires_grad, hooks, dtype, metadata)

    def _tensor_v3(
        self,
        storage: object,
        offset: object,
        size: object,
        stride: object,
        requires_grad: object,
        hooks: object,
        dtype: object,
        metadata: object = None,
    ) -> TensorSpec:
        name = str(dtype)
        return self._spec(storage, offset, size, stride, requires_grad, hooks, name, metadata)

    def _meta(self, dtype: object, size: object, stride: object, requires_grad: object) -> TensorSpec:
        """A checked TensorSpec of a tensor on the meta device."""
        name = str(dtype)
        if name not in NUMPY_DTYPES or type(requires_grad) is not bool:
            raise UnpicklingError(f"a tensor of dtype {dtype!r} on the meta device is damaged")
        check_layout(0, size, stride, MAX_COUNT)
        sizes = tuple(size), tuple(stride)
        return TensorSpec(None, None, name, 0, *sizes, requires_grad, location="meta")

    def _spec(
        self,
        storage: object,
        offset: object,
        size: object,
        stride: object,
        requires_grad: object,
        hooks: object,
        dtype: str,
        metadata: object,
    ) -> TensorSpec:
        """A checked TensorSpec; RuntimeError or UnpicklingError for a damaged one."""
        storage = unwrapped(storage)
        if not isinstance(storage, StorageSpec) or dtype not in NUMPY_DTYPES:
            raise UnpicklingError(f"a tensor of dtype {dtype!r} over {type(storage).__name__}")
        maybe_dicts = (hooks, metadata)
        if type(requires_grad) is not bool or not all(map(_is_dict_or_none, maybe_dicts)):
            raise UnpicklingError("a tensor's requires_grad, hooks or metadata are damaged")
        array = self._storages.array(storage.storage_key, dtype)
        check_layout(offset, size, stride, array.size)
        return TensorSpec(
            storage_key=storage.storage_key,
            storage=array,
            dtype=dtype,
            offset=offset,
            size=tuple(size),
            stride=tuple(stride),
            requires_grad=requires_grad,
            backward_hooks=hooks,
            location=storage.location,
            metadata=metadata,
        )

    def _parameter(self, data: object, requires_grad: object, hooks: object, state: object = None) -> ParameterSpec:
        is_proper = type(requires_grad) is bool and _is_dict_or_none(hooks)
        if not is_proper or isinstance(data, NEVER_A_TENSOR):
            raise UnpicklingError("a parameter's data, requires_grad or hooks are damaged")
        return ParameterSpec(data, requires_grad, hooks, _checked_state(state))

    def _from_type(self, function: object, tensor_type: object, arguments: object, state: object) -> object:
        """A tensor with Python attributes, or of a subclass."""
        maker = self._tensors.get(function) if callable(function) else None
        of_type = getattr(function, "of_type", None)  # of what is no memory
        if maker is of_type is None or type(arguments) is not tuple:
            raise UnpicklingError("_rebuild_from_type_v2 must name a function that makes a tensor")
        if isinstance(state, dict) or not hasattr(tensor_type, "__setstate__"):  # other states its class knows to read
            state = _checked_state(state)
        if maker is None:
            return of_type(tensor_type, arguments, state)
        spec = maker(*arguments)
        return self._rebuild(dataclasses.replace(spec, attributes=state, tensor_type=tensor_type))


# What a file could put in a tensor's place without any class of the caller's.
NEVER_A_TENSOR = (int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset)
NEVER_A_TENSOR += (type(None), type, GlobalName, StorageSpec)


def _is_dict_or_none(value: object) -> bool:
    return value is None or isinstance(value, dict)


def _checked_state(state: object) -> object:
    """Attributes: None, a dict, or (dict or None, slots)."""
    parts = state if type(state) is tuple and len(state) == 2 else (state,)
    if not all(map(_is_dict_or_none, parts)):
        raise UnpicklingError("the saved attributes of a tensor are damaged")
    for part in parts:
        for name in part or ():
            if not isinstance(name, str) or name.startswith("__"):
                raise UnpicklingError(f"a tensor cannot have the saved attribute {name!r}")
    return state


# ------------------------------------------------------------------------------------------- names


def _storage_names() -> dict[str, object]:
    names: dict[str, object] = {}
    for name in STORAGE_CLASSES.values():
        names[f"torch.{name}"] = global_name("torch", name)
        # Files of old PyTorch name the class by device; the location says the same.
        names[f"torch.cuda.{name}"] = global_name("torch", name)
    for module in ("torch", "torch.storage"):
        names[f"{module}.{UNTYPED}"] = global_name("torch.storage", UNTYPED)
    return names


def _device_text(kind: str, index: int | None = None) -> str:
    """A torch.device for a caller who has no class for it."""
    return kind if index is None else f"{kind}:{index}"


def _stand_ins() -> dict[str, object]:
    """Meanings of torch's names for a caller who gives none."""
    names: dict[str, object] = {dtype: dtype_global(dtype) for dtype in NUMPY_DTYPES}
    names["torch.Size"] = tuple
    names["torch.device"] = _device_text
    for module, name in (("torch", "Tensor"), ("torch.nn.parameter", "Parameter")):
        names[f"{module}.{name}"] = global_name(module, name)
    return names


def known_names(rebuilder: Rebuilder, given: Mapping[str, object]) -> dict[str, object]:
    """Everything a checkpoint may name: the caller's own names, and ours for what is left."""
    return {**_stand_ins(), **given, **_storage_names(), **rebuilder.functions}
