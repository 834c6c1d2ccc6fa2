"""What a checkpoint says about storages, tensors and parameters, and the dtypes it can name."""

import dataclasses
import functools
from collections.abc import Hashable, Mapping, Sequence

import ml_dtypes
import numpy as np

# ------------------------------------------------------------------------------------- dtypes

# Dtypes that old PyTorch had: a storage class each, tensors by _rebuild_tensor_v2.
STORAGE_CLASSES = {
    "torch.bool": "BoolStorage",
    "torch.uint8": "ByteStorage",
    "torch.int8": "CharStorage",
    "torch.int16": "ShortStorage",
    "torch.int32": "IntStorage",
    "torch.int64": "LongStorage",
    "torch.float16": "HalfStorage",
    "torch.bfloat16": "BFloat16Storage",
    "torch.float32": "FloatStorage",
    "torch.float64": "DoubleStorage",
    "torch.complex64": "ComplexFloatStorage",
    "torch.complex128": "ComplexDoubleStorage",
}
STORAGE_DTYPES = {name: dtype for dtype, name in STORAGE_CLASSES.items()}

# Younger dtypes: an untyped storage (of bytes), tensors by _rebuild_tensor_v3, which names them.
UNTYPED = "UntypedStorage"
YOUNG_DTYPES = {
    "torch.uint16": np.dtype(np.uint16),
    "torch.uint32": np.dtype(np.uint32),
    "torch.uint64": np.dtype(np.uint64),
    "torch.float8_e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "torch.float8_e4m3fnuz": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "torch.float8_e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "torch.float8_e5m2fnuz": np.dtype(ml_dtypes.float8_e5m2fnuz),
    "torch.float8_e8m0fnu": np.dtype(ml_dtypes.float8_e8m0fnu),
    # Two 4-bit numbers in a byte; NumPy has no such dtype, so the bytes are handed out.
    "torch.float4_e2m1fn_x2": np.dtype(np.uint8),
    "torch.complex32": np.dtype(ml_dtypes.complex32),
}

NUMPY_DTYPES = {
    "torch.bool": np.dtype(np.bool_),
    "torch.uint8": np.dtype(np.uint8),
    "torch.int8": np.dtype(np.int8),
    "torch.int16": np.dtype(np.int16),
    "torch.int32": np.dtype(np.int32),
    "torch.int64": np.dtype(np.int64),
    "torch.float16": np.dtype(np.float16),
    "torch.bfloat16": np.dtype(ml_dtypes.bfloat16),
    "torch.float32": np.dtype(np.float32),
    "torch.float64": np.dtype(np.float64),
    "torch.complex64": np.dtype(np.complex64),
    "torch.complex128": np.dtype(np.complex128),
} | YOUNG_DTYPES


def numpy_dtype(dtype: str) -> np.dtype:
    """The NumPy dtype for 'torch.float32' and the like; TypeError for one that has none."""
    try:
        return NUMPY_DTYPES[dtype]
    except KeyError:
        known = ", ".join(NUMPY_DTYPES)
        raise TypeError(f"checkpoints cannot hold dtype {dtype!r}; they can hold {known}") from None


def swap_width(dtype: str) -> int:
    """Bytes that are reversed together when the byte order changes: half of a complex number."""
    itemsize = numpy_dtype(dtype).itemsize
    return itemsize // 2 if dtype.startswith("torch.complex") else itemsize


# ------------------------------------------------------------------------------------- globals


@dataclasses.dataclass(frozen=True)
class GlobalName:
    """A pickled reference to `module.name` that nothing needs to be importable for.

    >>> from torch.serialization.formats import GlobalName
    >>> str(GlobalName("torch", "float32"))
    'torch.float32'
    """

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"

    def __call__(self, *args: object) -> None:
        # Callable because pickle insists on it for the function of a reduce pair.
        raise TypeError(f"{self} is only a name here and cannot be called")


@functools.cache
def global_name(module: str, name: str) -> GlobalName:
    """The one GlobalName for a pair: pickle's memo goes by identity."""
    return GlobalName(module, name)


def dtype_global(dtype: str) -> GlobalName:
    """The global that stands for a dtype, `torch float32`."""
    return global_name("torch", dtype.removeprefix("torch."))


# --------------------------------------------------------------------------------------- specs


@dataclasses.dataclass(frozen=True, eq=False)
class StorageSpec:
    """One storage: `storage` is 1-d, of `dtype`; equal keys mean the same memory.

    `dtype` None is an untyped storage, of bytes. `map_location` is called with these, hence
    `cpu`, `cuda` and `to`.

    >>> import numpy as np
    >>> from torch.serialization.formats import StorageSpec
    >>> StorageSpec("0", np.zeros(2, np.float32), "torch.float32").cuda(1).location
    'cuda:1'
    """

    storage_key: Hashable
    storage: np.ndarray
    dtype: str | None = None
    location: str = "cpu"

    @property
    def element_dtype(self) -> str:
        """The dtype of `storage`."""
        return self.dtype or "torch.uint8"

    def cpu(self) -> "StorageSpec":
        """The same storage, to be placed on the CPU."""
        return dataclasses.replace(self, location="cpu")

    def cuda(self, device: int | None = None) -> "StorageSpec":
        """The same storage, to be placed on GPU `device`."""
        return dataclasses.replace(self, location="cuda" if device is None else f"cuda:{device}")

    def to(self, *, device: object) -> "StorageSpec":
        """The same storage, to be placed on `device`."""
        return dataclasses.replace(self, location=str(device))


@dataclasses.dataclass(frozen=True, eq=False)
class TensorSpec:
    """A tensor as strides over a shared storage.

    Attributes:
        storage_key: identity of the storage; specs with equal keys share memory.
        storage: 1-d array of the whole storage. In a loaded spec, the same array object for the
            same key and dtype. None for a tensor on the meta device, which has no storage key either.
        dtype: 'torch.float32' and the like.
        offset, size, stride: in elements.
        location: 'cpu', 'cuda:0'.
        metadata: {'conj': True} or {'neg': True} for a lazily conjugated or negated view.
        attributes: Python attributes set on the tensor, or None.
        tensor_type: the tensor's class where `attributes` are saved; None for a plain tensor.

    >>> import numpy as np
    >>> from torch.serialization.formats import TensorSpec
    >>> TensorSpec("0", np.zeros(4, np.float32), "torch.float32", 0, (2, 2), (2, 1)).location
    'cpu'
    """

    storage_key: Hashable
    storage: np.ndarray | None
    dtype: str
    offset: int
    size: Sequence[int]
    stride: Sequence[int]
    requires_grad: bool = False
    backward_hooks: Mapping | None = None
    location: str = "cpu"
    metadata: Mapping[str, bool] | None = None
    attributes: object = None
    tensor_type: object = None


@dataclasses.dataclass(frozen=True, eq=False)
class ParameterSpec:
    """A parameter over `data`: a TensorSpec when saving, a rebuilt tensor when loading.

    >>> import numpy as np
    >>> from torch.serialization.formats import ParameterSpec, TensorSpec
    >>> ParameterSpec(TensorSpec("0", np.zeros(1, np.float32), "torch.float32", 0, (1,), (1,))).requires_grad
    True
    """

    data: object
    requires_grad: bool = True
    backward_hooks: Mapping | None = None
    attributes: object = None


# -------------------------------------------------------------------------------------- checks

# PyTorch counts elements in a signed 64-bit integer.
MAX_COUNT = 2**63 - 1


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= MAX_COUNT


def _check_counts(what: str, values: object) -> None:
    if not isinstance(values, (tuple, list)) or not all(map(_is_count, values)):
        raise RuntimeError(f"damaged tensor: {what} must be nonnegative integers, got {values!r}")


def check_layout(offset: object, size: object, stride: object, available: int) -> None:
    """Raise RuntimeError unless every element lies inside a storage of `available` elements."""
    _check_counts("the storage offset", (offset,))
    _check_counts("sizes", size)
    _check_counts("strides", stride)
    if len(size) != len(stride):
        raise RuntimeError(f"damaged tensor: {len(size)} sizes but {len(stride)} strides")
    count = 1
    for length in size:
        count *= length
    if count == 0:
        return
    if count > MAX_COUNT:
        raise RuntimeError(f"damaged tensor: size {tuple(size)} has more elements than 2 ** 63")
    last = sum((length - 1) * step for length, step in zip(size, stride, strict=True))
    needed = offset + last + 1
    if needed > available:
        raise RuntimeError(
            f"damaged tensor: size {tuple(size)}, stride {tuple(stride)} and offset {offset} need "
            f"a storage of {needed} elements, but it has {available} (out of bounds)"
        )
