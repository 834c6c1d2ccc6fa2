"""Storages: the memory behind tensors, as bytes (UntypedStorage) or elements (TypedStorage)."""

from __future__ import annotations

import weakref

import numpy as np

from ....core.aval import aval
from ....engine import absent
from ...dispatch.members.copying import copied_cell
from ...dispatch.op import composite
from ...tape.modes import no_grad
from ...tensors import types as _types
from ...tensors.base import Tensor, from_array, new_tensor
from ...views.cells import Alias, Cell, look, share
from ...views.files import UNABLE, File
from ...views.lenses import Lens
from ...views.shared import cell_in, file_of, is_in_file
from ...views.strides import contiguous_strides
from . import storage_arguments as arguments

ONLY_CPU = "{name}: only available on CPU"
NO_DATA = "Cannot copy out of meta tensor; no data!"
WITHOUT_STORAGES = ("xla", "lazy", "ipu", "vulkan", "opengl", "opencl", "mkldnn", "fpga", "maia")
OF_THE_CLASS = "from_buffer: '{name}' can only be specified in UntypedStorage.from_buffer and TypedStorage.from_buffer"
SIZE_IS_FIXED = (
    "{name}: a storage keeps its size here, because tensors that share it could not "
    "follow; resize the tensor instead, or make a new storage"
)


class Storage:
    """Memory that tensors share: a cell. What both kinds of storage have in common."""

    is_sparse = is_sparse_csr = is_hpu = False

    def __init__(self, cell: Cell):
        self._cell = cell

    def __getattr__(self, name):
        # The storages of a checkpoint get a cell when somebody looks at them: few are.
        if name == "_cell" and "_cell_later" in self.__dict__:
            self._cell = self._cell_later()
            return self._cell
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    is_cuda = property(lambda self: self.device.type == "cuda")

    @property
    def device(self) -> _types.device:
        """Where the storage is."""
        return new_tensor(self._cell.value).device

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._cell.value.aval.nbytes

    def data_ptr(self) -> int:
        """A number that storages share exactly if they are the same memory."""
        return self._tensor().data_ptr()

    _cdata = property(lambda self: id(self._cell))

    def __eq__(self, other):
        return isinstance(other, Storage) and other._cell is self._cell

    def __hash__(self):
        return id(self._cell)

    def _tensor(self, dtype: np.dtype | None = None) -> Tensor:
        """All elements as a 1-d tensor that shares this memory."""
        cell = self._cell
        out = new_tensor(cell.value)
        out._view = Alias(cell, (), None)
        flat = flat_lens(cell)
        if flat is not None:
            made = look(out, (flat,))
            made._view = Alias(cell, (flat,), None)
            out = made
        return out if dtype is None or out._aval.dtype == dtype else (out.view(_types.of_numpy(dtype)))

    def _elements(self) -> Tensor:
        """The elements as this kind of storage counts them."""
        raise NotImplementedError

    def _array(self) -> np.ndarray:
        return np.ascontiguousarray(self._tensor()._array())

    def as_array(self, dtype: _types.dtype | None) -> np.ndarray:
        """The elements as torch.tensor(storage) takes them: as those of a dtype, int64 if none is told."""
        wanted = np.dtype(np.int64) if dtype is None else dtype.numpy
        data = self._array().reshape(-1).view(np.uint8)
        return data[: data.size // wanted.itemsize * wanted.itemsize].view(wanted)

    # ---- elements

    def __len__(self) -> int:
        return self._elements().numel()

    def size(self) -> int:
        """The number of elements (bytes, of an untyped storage)."""
        return len(self)

    def tolist(self) -> list:
        """The elements as Python numbers."""
        self._check_has_data()
        return self._elements().tolist()

    def __iter__(self):
        return iter(self.tolist())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self._wrap(self._elements()[index].clone())
        self._check_has_data()
        return self._elements()[index].item()

    def _check_has_data(self):
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")

    def __setitem__(self, index, value):
        _write(self._elements()[index], value)

    def fill_(self, value):
        """Set every element."""
        _write(self._elements(), value)
        return self

    def copy_(self, source, non_blocking=None):
        """Take the elements of another storage."""
        if source.device.type == "meta" and self.device.type != "meta":
            raise NotImplementedError(NO_DATA)
        _write(self._elements(), source._elements())
        return self

    def _wrap(self, tensor: Tensor):
        return type(self)(cell=share(tensor).cell)

    def clone(self):
        """A copy in memory of its own."""
        return self._wrap(self._tensor().clone())

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        made = type(self)(cell=copied_cell(self._cell, memo))
        made.__dict__.update({name: value for name, value in self.__dict__.items() if name != "_cell"})
        return made

    # ---- places

    def cpu(self):
        """The storage on the CPU: itself, if it is there."""
        return self if self.device.type == "cpu" else self._wrap(self._tensor().cpu())

    def cuda(self, device=None, non_blocking=False):
        """A copy on a GPU."""
        return self._wrap(self._tensor().cuda(device))

    def to(self, *, device, non_blocking=False):
        """The storage on a device."""
        moved = self._tensor().to(device)
        return self if moved.device == self.device else self._wrap(moved)

    def get_device(self) -> int:
        """The index of the GPU, -1 for the CPU."""
        return self._tensor().get_device()

    def hpu(self, device=None, non_blocking=False):
        """A copy on an HPU, of which there is none."""
        return self.to(device="hpu")

    def is_shared(self) -> bool:
        """Whether other processes may share the memory."""
        return self.is_cuda or is_in_file(self._cell)

    def share_memory_(self):
        """Move to memory that other processes share."""
        if self.device.type == "meta":
            raise RuntimeError(ONLY_CPU.format(name="_share_fd_"))
        if not self.is_cuda:
            file_of(self._cell)
        return self

    def _share_fd_cpu_(self):
        """Not there: processes find the memory that they share by a file's name."""
        self._refuse("_share_fd_")

    def _share_filename_cpu_(self):
        """Not there: share_memory_() gives the memory a file with a name."""
        self._refuse("_share_filename_")

    def _refuse(self, name: str):
        if self.device.type != "cpu":
            raise RuntimeError(ONLY_CPU.format(name=name))
        raise NotImplementedError(f"{type(self).__name__}.{name}cpu_ is not there; share_memory_() is")

    def _write_file(self, file, is_real_file: bool, save_size: bool, element_size: int):
        """Write the elements to a file, after their number if `save_size`."""
        if self.device.type == "meta":
            raise NotImplementedError(NO_DATA)
        if save_size:
            file.write(np.int64(self.nbytes() // element_size).tobytes())
        file.write(self._array().tobytes())

    @property
    def filename(self) -> str | None:
        """The file that the memory is a map of, if it has a name."""
        return self._cell.memory.file.name if is_in_file(self._cell) else None

    def is_pinned(self, device="cuda") -> bool:
        """Whether the memory is page-locked: never."""
        return False

    def pin_memory(self, device="cuda"):
        """The storage itself: transfers need no page-locked memory here."""
        return self

    def _fix_weakref(self):
        """Nothing: a storage that a weak reference gives back is whole here."""

    def resizable(self) -> bool:
        """Whether resize_ can change the size: no."""
        return False

    def resize_(self, size: int):
        """Only possible without data, on the meta device: storages do not change their size here."""
        if self.device.type == "meta":
            before = self._cell.value.aval
            self._cell.shape = (size * self.element_size() // before.dtype.itemsize,)
            self._cell.value = absent(before.with_shape(self._cell.shape))
        elif size != len(self):
            raise NotImplementedError(SIZE_IS_FIXED.format(name=f"{type(self).__name__}.resize_"))
        return self

    def __reduce__(self):
        return _types.named("serialization.reduce_storage")(self)

    def __repr__(self):
        is_meta = self.device.type == "meta"
        rows = "..." if is_meta else "\n".join(f" {x}" for x in self.tolist()[:100])
        return (
            f"{rows}\n[{type(self).__module__}.{type(self).__name__}({self._described()}"
            f"device={self.device}) of size {len(self)}]"
        )

    def _described(self) -> str:
        return ""


def _write(target: Tensor, value):
    """Overwrite a view of a storage."""
    with no_grad():
        target.copy_(value) if isinstance(value, Tensor) else target.fill_(value)


def _cell_of(tensor: Tensor) -> Cell:
    return share(tensor).cell


CONVERSIONS = {
    "bfloat16": "bfloat16",
    "bool": "bool",
    "byte": "uint8",
    "char": "int8",
    "complex_double": "complex128",
    "complex_float": "complex64",
    "double": "float64",
    "float": "float32",
    "float8_e4m3fn": "float8_e4m3fn",
    "float8_e4m3fnuz": "float8_e4m3fnuz",
    "float8_e5m2": "float8_e5m2",
    "float8_e5m2fnuz": "float8_e5m2fnuz",
    "half": "float16",
    "int": "int32",
    "long": "int64",
    "short": "int16",
}


def _conversion(name: str, dtype: str):
    def convert(self):
        return TypedStorage(cell=_cell_of(self._elements().to(_types.by_name[dtype])))

    convert.__name__ = name
    convert.__doc__ = f"A copy of the elements as {dtype}."
    return convert


for _name, _dtype in CONVERSIONS.items():
    setattr(Storage, _name, _conversion(_name, _dtype))


class StorageBase(Storage):
    """What subclasses of storages are made of: the bytes that tensors share.

    >>> isinstance(torch.ones(2).untyped_storage(), torch.StorageBase)
    True
    """

    __module__ = "torch._C"

    def __new__(cls, *args, **kwargs):
        if cls is StorageBase:
            raise RuntimeError("Cannot directly construct StorageBase; subclass it and then construct that")
        return super().__new__(cls)

    def __init__(self, *args, device=None, allocator=None, cell: Cell | None = None):
        if cell is None:
            arguments.check_untyped(args)
            cell = _cell_of(_placed(from_array(arguments.untyped_bytes(args)), device))
        super().__init__(cell)

    def _elements(self) -> Tensor:
        return self._tensor(np.dtype(np.uint8))

    def __len__(self) -> int:
        return self.nbytes()

    def element_size(self) -> int:
        """Bytes of an element: 1."""
        return 1

    def untyped(self) -> UntypedStorage:
        """The storage as bytes: itself."""
        return self

    def new(self) -> UntypedStorage:
        """An empty storage."""
        return UntypedStorage(0, device=self.device)

    def type(self, dtype=None, non_blocking=False):
        """The name of the class, or a copy with elements of a dtype."""
        if dtype is None:
            return "torch.UntypedStorage"
        return TypedStorage(cell=_cell_of(self._elements().to(dtype)))

    def mps(self):
        """A copy on an MPS device, of which there is none."""
        return self.to(device="mps")

    def byteswap(self, dtype: _types.dtype):
        """Reverse the bytes of each element of the dtype, in place."""
        part = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize  # of complex numbers both parts
        swapped = self._elements()._array().reshape(-1, part)[:, ::-1].reshape(-1)
        _write(self._elements(), from_array(np.ascontiguousarray(swapped)))

    @staticmethod
    def from_buffer(buffer, byte_order=None, count=-1, offset=0, *, dtype) -> UntypedStorage:
        """A copy of the bytes of a buffer that holds elements of a dtype."""
        return UntypedStorage(cell=_cell_of(_from_buffer(buffer, dtype, byte_order, count, offset)))

    @staticmethod
    def from_file(filename, shared=False, nbytes=0) -> UntypedStorage:
        """The bytes of a file; if it is `shared`, what is written goes into it."""
        return UntypedStorage(cell=cell_of_file(filename, shared, nbytes, np.dtype(np.uint8)))


class UntypedStorage(StorageBase):
    """The bytes that tensors share.

    >>> storage = torch.tensor([1., 2.]).untyped_storage()
    >>> storage.nbytes(), len(storage)
    (8, 8)
    """

    __module__ = "torch"


def _from_buffer(buffer, dtype, byte_order, count, offset) -> Tensor:
    return from_array(arguments.elements_of_buffer(buffer, _types.numpy_dtype(dtype), byte_order, count, offset))


def _placed(tensor: Tensor, device) -> Tensor:
    if device is None:
        return tensor
    if _types.device(device).type in WITHOUT_STORAGES:
        raise RuntimeError(f"torch.UntypedStorage(): Storage device not recognized: {_types.device(device).type}")
    return tensor.to(device)


def cell_of_file(filename, shared: bool, size: int, dtype: np.dtype) -> Cell:
    """The first elements of a file: a copy, or the file's own memory."""
    if shared:
        return cell_in(File.at(filename, size * dtype.itemsize), aval((size,), dtype))
    try:
        return _cell_of(from_array(np.fromfile(filename, dtype, size)))
    except OSError as error:
        raise RuntimeError(UNABLE.format(path=filename, how="read-only", error=error)) from None


def flat_lens(cell: Cell):
    """The lens that shows a cell's elements in the order of its memory; None if it is 1-d so."""
    n = cell.value.aval.size
    if cell.strides == contiguous_strides(cell.shape):
        return None if cell.shape == (n,) else Lens("view", ((n,),))
    return Lens("as_strided", ((n,), (1,), 0, cell.shape, cell.strides, 0))


@arguments.tells_removal
class TypedStorage(Storage):
    """The elements that tensors share.

    >>> storage = torch.tensor([1, 2]).storage()
    >>> storage.dtype, storage[1], len(storage)
    (torch.int64, 2, 2)
    """

    __module__ = "torch.storage"

    def __init__(
        self,
        *args,
        wrap_storage: Storage | None = None,
        dtype=None,
        device=None,
        cell: Cell | None = None,
        _internal: bool = False,
    ):
        if cell is None:
            arguments.check_typed(args, wrap_storage, UntypedStorage, dtype, device)
            cell = wrap_storage._cell if wrap_storage is not None else _new_cell(args, dtype, device)
        super().__init__(cell)
        self._dtype = dtype

    @property
    def dtype(self) -> _types.dtype:
        """The dtype of the elements."""
        return self._dtype or _types.of_numpy(self._cell.value.aval.dtype)

    def _elements(self) -> Tensor:
        return self._tensor(self.dtype.numpy)

    def as_array(self, dtype: _types.dtype | None) -> np.ndarray:
        """The elements; RuntimeError for those of another dtype."""
        self.check_dtype(dtype)
        return self._elements()._array()

    def check_dtype(self, dtype: _types.dtype | None):
        """RuntimeError unless the elements are of a dtype."""
        if dtype not in (None, self.dtype):
            raise RuntimeError(
                f"Expected a Storage of type {_types.scalar_name(dtype.numpy)} or an UntypedStorage, but got "
                f"{_types.scalar_name(self.dtype.numpy)}"
            )

    def _wrap(self, tensor: Tensor):
        return TypedStorage(cell=_cell_of(tensor), dtype=self.dtype)

    def __len__(self) -> int:
        return self.nbytes() // self.element_size()

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    def untyped(self) -> UntypedStorage:
        """The storage as bytes."""
        return _wrapper(UntypedStorage, self._cell)

    _untyped_storage = property(untyped)

    def type(self, dtype=None, non_blocking=False):
        """The name of the old class (torch.FloatStorage), or a copy with elements of a dtype."""
        if dtype is None:
            return f"torch.{self.pickle_storage_type()}"
        return TypedStorage(cell=_cell_of(self._elements().to(dtype)))

    def pickle_storage_type(self) -> str:
        """The name of the storage in checkpoints: FloatStorage."""
        return STORAGE_NAMES[self.dtype.name]

    def fill_(self, value):
        """Set every element."""
        if isinstance(value, Storage):
            raise RuntimeError(f"cannot set item with value type {type(value)}")
        return super().fill_(value)

    @classmethod
    def from_buffer(cls, buffer, byte_order=None, count=-1, offset=0, *, dtype=None, device=None):
        """A copy of the elements of a buffer."""
        if cls is not TypedStorage:
            if dtype is not None or device is not None:
                raise RuntimeError(OF_THE_CLASS.format(name="dtype" if dtype is not None else "device"))
            dtype = cls.dtype
        elif dtype is None:
            raise TypeError("TypedStorage.from_buffer: a dtype is needed")
        return TypedStorage(cell=_cell_of(_placed(_from_buffer(buffer, dtype, byte_order, count, offset), device)))

    @classmethod
    def from_file(cls, filename, shared=False, size=0):
        """The elements of a file; if it is `shared`, what is written goes into it."""
        dtype = cls.dtype if isinstance(cls.dtype, _types.dtype) else _types.defaults.dtype
        return TypedStorage(cell=cell_of_file(filename, shared, size, dtype.numpy))

    def _described(self) -> str:
        return f"dtype={self.dtype}, "


def _new_cell(args: tuple, dtype: _types.dtype | None, device) -> Cell:
    wanted = dtype or _types.defaults.dtype
    return _cell_of(_placed(from_array(arguments.typed_elements(args, wanted.numpy)), device))


# ---- the old classes, one for each dtype ---------------------------------------------------------


class _LegacyStorageType(type):
    """The type of torch.FloatStorage and its kin: isinstance looks at the dtype."""

    def __instancecheck__(cls, instance):
        return isinstance(instance, TypedStorage) and (cls is _LegacyStorage or instance.dtype is cls._dtype)

    def __call__(cls, *args, wrap_storage=None, device=None, dtype=None, _internal=False):
        if cls is _LegacyStorage:
            raise RuntimeError("Only child classes of _LegacyStorage can be instantiated")
        if not _internal:
            arguments.tell_callers_removal()
        given = {"device": device, "dtype": dtype}
        arguments.check_legacy(cls, args, wrap_storage, UntypedStorage, given)
        return TypedStorage(*args, dtype=cls._dtype, wrap_storage=wrap_storage)

    @property
    def dtype(cls) -> _types.dtype:
        """The dtype of the elements."""
        arguments.tell_callers_removal()
        return cls._dtype


class _LegacyStorage(TypedStorage, metaclass=_LegacyStorageType):
    """The memory of a tensor of one dtype, by the name of an old class."""

    __module__ = "torch.storage"


STORAGE_NAMES = {
    "bool": "BoolStorage",
    "uint8": "ByteStorage",
    "int8": "CharStorage",
    "int16": "ShortStorage",
    "int32": "IntStorage",
    "int64": "LongStorage",
    "float16": "HalfStorage",
    "bfloat16": "BFloat16Storage",
    "float32": "FloatStorage",
    "float64": "DoubleStorage",
    "complex64": "ComplexFloatStorage",
    "complex128": "ComplexDoubleStorage",
}
legacy_storages = {
    name: _LegacyStorageType(
        name,
        (_LegacyStorage,),
        {
            "__doc__": f"""The memory of a tensor of {dtype}.

            >>> torch.{name}(2).dtype
            torch.{dtype}
            """,
            "_dtype": _types.by_name[dtype],
            "__module__": "torch",
        },
    )
    for dtype, name in STORAGE_NAMES.items()
}


# ---- a tensor's storage --------------------------------------------------------------------------

# One object per cell while somebody holds it, so that pickle sees sharing by identity.
_wrappers: weakref.WeakValueDictionary = weakref.WeakValueDictionary()


def storage_of(tensor: Tensor) -> TypedStorage:
    """The tensor's storage as elements of its dtype; the same object for tensors that share it."""
    return _wrapper(TypedStorage, _cell_of(tensor), dtype=tensor.dtype)


def _wrapper(kind: type[Storage], cell: Cell, **kwargs) -> Storage:
    """The storage object of a cell; the same one as long as somebody holds it."""
    key = id(cell), kwargs.get("dtype")
    found = _wrappers.get(key)
    if found is None:
        found = _wrappers[key] = kind(cell=cell, **kwargs)
    return found


@composite(function=False)
def untyped_storage(self):
    """The tensor's memory as bytes.

    >>> torch.zeros(2).untyped_storage().nbytes()
    8
    """
    return _wrapper(UntypedStorage, _cell_of(self))


@composite(function=False)
def storage(self):
    """The tensor's memory as elements.

    >>> torch.tensor([1, 2]).storage().tolist()
    [1, 2]
    """
    arguments.tell_removal()
    return storage_of(self)


@composite(function=False)
def _typed_storage(self):
    """The tensor's memory as elements, without the notice that typed storages will be removed."""
    return storage_of(self)


@composite(function=False)
def storage_type(self):
    """The class of the tensor's storage.

    >>> torch.tensor([1., 2.]).storage_type().__name__
    'FloatStorage'
    """
    return legacy_storages.get(STORAGE_NAMES.get(self.dtype.name), TypedStorage)
