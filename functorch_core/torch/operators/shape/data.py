"""Tensors from data: nested sequences, NumPy arrays, buffers, DLPack, and the old constructors."""

from __future__ import annotations

import functools
import itertools
import math
import numbers
from collections.abc import Callable

import numpy as np

from .... import xla
from ....array.array import Array
from ....core import dtypes as dt
from ....core.aval import aval
from ....core.quiet import quiet
from ....core.trace import evaluate, trace_closed
from ....core.warn import warn, warn_once
from ....engine import from_numpy as value_of
from ....engine.value import from_buffer, to_buffer
from ....ops.op import strong
from ....primitives.convert import convert_p
from ...dispatch.devices import place, resolve
from ...dispatch.op import composite
from ...dispatch.slots import python_number
from ...tape.apply import without_history
from ...tape.meta import NO_COPY, is_meta, meta_tensor
from ...tensors import types as _types
from ...tensors.active import active
from ...tensors.base import Tensor, new_tensor
from ...tensors.promotion import FITTED, check_held, converted, promote_dtypes
from ...tensors.types import scalar_name
from ...views.bits import bits_of
from ...views.memory_order import with_strides
from ...views.shared import tensor_in_cell, tensor_of, writable
from .capsules import array_of_capsule, capsule_of
from .storage import cell_of_file

NEGATIVE_STRIDE = (
    "At least one stride in the given numpy array is negative, and tensors with "
    "negative strides are not currently supported. (You can probably work around "
    "this by making a copy of your array  with array.copy().) "
)
ODD_STRIDE = (
    "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the memory."
)
NOT_WRITABLE = (
    "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means "
    "writing to this tensor will result in undefined behavior. You may want to copy the array to protect its "
    "data or make it writable before converting it to a tensor. This type of warning will be suppressed for the "
    "rest of this program."
)
NO_WRITABLE_BUFFER = (
    "The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can "
    "write to the underlying (supposedly non-writable) buffer using the tensor. You may want to copy the buffer "
    "to protect its data or make it writable before converting it to a tensor. This type of warning will be "
    "suppressed for the rest of this program."
)
COPY_CONSTRUCT = (
    "To copy construct from a tensor, it is recommended to use "
    "sourceTensor.detach().clone() or sourceTensor.detach().clone()"
    ".requires_grad_(True), rather than torch.tensor(sourceTensor)."
)
ONLY_FLOATING = "Only Tensors of floating point and complex dtype can require gradients"
PYTHON = (bool, int, float, complex)
ROWS = frozenset({list, tuple})
MAX_DIMS = 128

# ---- what nested data are ------------------------------------------------------------------------


def shape_of(data) -> tuple[int, ...]:
    """The shape of nested sequences, by the first element of each; ValueError if it is ragged."""
    shape: list[int] = []
    while is_sequence(data):
        shape.append(len(data))
        if len(shape) > MAX_DIMS:
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        if not shape[-1]:
            break
        data = data[0]
    return tuple(shape)


def is_sequence(x) -> bool:
    """Whether torch.tensor looks inside."""
    if x.__class__ in ROWS or isinstance(x, (list, tuple, range, bytearray)):
        return True
    if isinstance(x, np.ndarray):
        return x.ndim > 0
    return (
        not isinstance(x, (str, bytes, dict, *PYTHON, np.generic, Tensor))
        and hasattr(x, "__len__")
        and hasattr(x, "__getitem__")
    )


def leaves_of(data, shape, depth: int, out: list):
    """Append all elements in order; errors where the nesting does not have this shape."""
    if depth == len(shape):
        out.append(data)
        return
    if not is_sequence(data):
        raise TypeError("not a sequence")
    if len(data) != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})")
    if depth == len(shape) - 1 and isinstance(data, (list, tuple, range)):
        out.extend(data)
        return
    if (
        depth == len(shape) - 2 and ROWS.issuperset(map(type, data)) and (set(map(len, data)) == {shape[-1]})
    ):  # 128 rows of 4 in 58 us, not 163
        out.extend(itertools.chain.from_iterable(data))
        return
    for item in data:
        leaves_of(item, shape, depth + 1, out)


def dtype_of_type(kind: type, example) -> np.dtype:
    """The dtype that elements of a Python or NumPy type stand for."""
    if kind is bool:
        return dt.bool_
    if kind is int:
        return dt.int64
    if kind is float:
        return _types.defaults.dtype.numpy
    if kind is complex:
        return _types.complex_default()
    if isinstance(example, (Tensor, np.generic, np.ndarray)):
        if isinstance(example, (np.str_, np.bytes_)):
            raise TypeError(f"new(): invalid data type '{kind.__name__}'")
        return example.dtype.numpy if isinstance(example, Tensor) else example.dtype
    if isinstance(example, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{kind.__name__}'")
    for base in PYTHON:  # enums and other subclasses
        if isinstance(example, base):
            return dtype_of_type(base, None)
    if isinstance(example, numbers.Integral) or hasattr(example, "__index__"):
        return dt.int64
    if isinstance(example, numbers.Real) or hasattr(example, "__float__"):
        return _types.defaults.dtype.numpy
    raise RuntimeError(f"Could not infer dtype of {kind.__name__}")


def infer_dtype(leaves: list) -> np.dtype:
    """The dtype of elements, as PyTorch infers it."""
    found = None
    for kind in dict.fromkeys(map(type, leaves)):
        examples = (
            [x for x in leaves if type(x) is kind]
            if kind in (Tensor, np.ndarray)
            else ([next(x for x in leaves if type(x) is kind)])
        )
        for example in examples:
            d = dtype_of_type(kind, example)
            found = d if found is None else promote_dtypes(found, d)
    return _types.defaults.dtype.numpy if found is None else found


def fill_number(value, dtype: np.dtype):
    """A Python number for a tensor of this dtype; RuntimeError where it does not fit."""
    value = python_number(value)
    check_held(dtype, value)
    if dtype == dt.bool_:
        return bool(value)
    if isinstance(value, complex) and dtype not in dt.COMPLEX:
        value = value.real
    if dtype == dt.uint64 and isinstance(value, int) and value < 0:  # it wraps, as in smaller ones
        return value + (1 << 64)
    return array_of(value, dtype).item() if dtype in dt.INTEGER else value


SLOW = (
    "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a "
    "single numpy.ndarray with numpy.array() before converting to a tensor."
)


def _holds_arrays(data) -> bool:
    """Whether nested sequences have arrays in them, by the first ones."""
    inner = data
    while isinstance(inner, (list, tuple)) and inner:
        inner = inner[0]
    return inner is not data and isinstance(inner, np.ndarray) and inner.ndim > 0


def array_of(data, dtype: np.dtype | None) -> np.ndarray:
    """Nested sequences and numbers as a fresh array."""
    if isinstance(data, np.ndarray) and data.ndim:
        return array_of_numpy(data, dtype)
    if data.__class__ in ROWS and data and data[0].__class__ in ALIKE:
        found = _alike(data, dtype)
        if found is not None:
            return found
    elif data.__class__ in ALIKE:
        found = _alike((data,), dtype)
        if found is not None:
            return found.reshape(())
    elif isinstance(data, np.generic) and dtype is None and data.dtype in _types._by_numpy:
        return np.array(data)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if _holds_arrays(data):
        warn_once(SLOW)
        if {x.__class__ for x in data} == {np.ndarray} and len({(x.shape, x.dtype) for x in data}) == 1:
            found = data[0].dtype
            if found in _types._by_numpy and (dtype is None or dtype == found):
                return np.array(data)
    shape = shape_of(data)
    leaves: list = []
    leaves_of(data, shape, 0, leaves)
    if leaves and leaves[0].__class__ in ALIKE:
        found = _alike(leaves, dtype)
        if found is not None:
            return found.reshape(shape)
    plain = set(PYTHON).issuperset(map(type, leaves))
    if not plain:
        _check_leaves(leaves, shape)
    inferred = infer_dtype(leaves)
    target = inferred if dtype is None else dtype
    if (
        dtype is None
        and inferred in dt.COMPLEX
        and complex in map(type, leaves)
        and (_types.defaults.dtype.numpy == dt.bfloat16)
    ):
        raise RuntimeError("invalid default scalar type for complex")
    if not plain:
        leaves = [x if x.__class__ in PYTHON else _number(x, inferred) for x in leaves]
    return convert_numbers(leaves, inferred, target).reshape(shape)


# Classes of elements that NumPy takes as they are; one that does not fit is left to the others.
ALIKE = {bool: dt.bool_, int: dt.int64, float: dt.float64}


def _alike(data, dtype: np.dtype | None) -> np.ndarray | None:
    """Python numbers of one class in the dtype they stand for; else None (2 us for 10)."""
    kind = data[0].__class__
    target = dtype_of_type(kind, data[0]) if dtype is None else dtype
    if target not in (ALIKE[kind], dt.float32 if kind is float else target) or (
        len(data) > 1 and set(map(type, data)) != {kind}
    ):
        return None
    if kind is int and target in dt.INTEGER and target != dt.int64:
        return None  # a narrower integer dtype may be too narrow
    try:
        array = np.array(data, ALIKE[kind])
    except OverflowError:
        return None
    return array if target == array.dtype else quiet.call(array.astype, target)


def _check_leaves(leaves: list, shape: tuple[int, ...]):
    for x in leaves:
        if x.__class__ in ROWS:
            raise TypeError(f"'{type(x).__name__}' object cannot be interpreted as an integer")
        if isinstance(x, Tensor) and x.numel() != 1:
            if x.is_floating_point() or x.is_complex():
                raise ValueError("only one element tensors can be converted to Python scalars")
            raise TypeError("only integer tensors of a single element can be converted to an index")
    if shape and isinstance(leaves[0], (str, bytes)):
        raise ValueError(f"too many dimensions '{type(leaves[0]).__name__}'")
    for x in leaves if shape else ():
        if isinstance(x, (str, bytes)):
            raise TypeError(f"new(): invalid data type '{type(x).__name__}'")


def _number(x, inferred: np.dtype):
    """An element that is no Python number as one."""
    return x.item() if hasattr(x, "item") else inferred.type(x).item()


def array_of_numpy(data: np.ndarray, dtype: np.dtype | None) -> np.ndarray:
    """A native copy of a NumPy array, in a dtype of ours."""
    if data.dtype not in _types._by_numpy or min(data.strides, default=0) < 0:
        check_numpy(data)
    if data.__class__ is np.ndarray and (dtype is None or data.dtype == dtype):
        return data.copy()
    if dtype is None or data.dtype == dtype:
        return np.array(data, order="C", dtype=data.dtype.newbyteorder("="))
    return cast_array(data, dtype)


def check_numpy(data: np.ndarray):
    """TypeError or ValueError for arrays that PyTorch does not take."""
    if data.dtype.kind not in "biufcVW":  # V, W: ml_dtypes
        raise TypeError(
            f"can't convert np.ndarray of type {data.dtype.type.__module__}."
            f"{data.dtype.type.__name__}. The only supported types are: float64, "
            "float32, float16, complex64, complex128, int64, int32, int16, int8, "
            "uint64, uint32, uint16, uint8, and bool."
        )
    if not data.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. "
            "Conversion between byte orders is currently not supported."
        )
    _types.of_numpy(data.dtype)
    for s in data.strides:
        if s < 0:
            raise ValueError(NEGATIVE_STRIDE)
        if s % data.itemsize:
            raise ValueError(ODD_STRIDE)


def cast_array(data: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A host array converted as a tensor would be; always fresh."""
    if data.dtype == dtype:
        return np.array(data, order="C")
    if dtype in FITTED or dtype in dt.INTEGER and data.dtype in dt.INEXACT and not _all_fit(data, dtype):
        made = trace_closed(lambda x: [converted(x, dtype)], [aval(data.shape, data.dtype)], "converted")
        return np.array(quiet.call(evaluate, made, [data])[0], order="C")
    return np.array(quiet.call(convert_p.reference, data, dtype=dtype), dtype, order="C")


def _all_fit(data: np.ndarray, dtype: np.dtype) -> bool:
    """Whether all of these floats are numbers of an integer dtype."""
    if data.dtype.kind != "f" or dtype.kind not in "iu" or not data.size:
        return not data.size
    return np.iinfo(dtype).min <= data.min() and data.max() < np.iinfo(dtype).max  # False where there is a NaN


def convert_numbers(leaves: list, inferred: np.dtype, target: np.dtype) -> np.ndarray:
    """Python numbers in a dtype; errors where a value does not fit an integer dtype."""
    overflow = f"value cannot be converted to type {target.name} without overflow"
    if target in dt.INTEGER and inferred not in dt.COMPLEX:
        _check_range(leaves, inferred, target, overflow)
    if inferred in dt.COMPLEX and target not in dt.COMPLEX and target != dt.bool_:
        raise TypeError("must be real number, not complex")
    if target == dt.bool_:
        return np.array([bool(x) for x in leaves], dt.bool_)
    try:
        with np.errstate(all="ignore"):
            if target in dt.INTEGER:
                if inferred in dt.FLOATING:
                    leaves = [math.trunc(x) for x in leaves]
                wide = dt.uint64 if target == dt.uint64 else dt.int64
                return np.array(leaves, wide).astype(target)
            wide = dt.complex128 if target in dt.COMPLEX else dt.float64
            return cast_array(np.array(leaves, wide), target)
    except OverflowError:
        raise ValueError("Overflow when unpacking long long") from None


def _check_range(leaves: list, inferred: np.dtype, target: np.dtype, message: str):
    if inferred == dt.bool_ or not leaves:
        return
    info = np.iinfo(target)
    if inferred in dt.FLOATING and not all(map(math.isfinite, leaves)):
        raise RuntimeError(message)
    low, high = min(leaves), max(leaves)
    if inferred in dt.INTEGER and not -(2**63) <= low <= high < 2**63 + (2**63 if target == dt.uint64 else 0):
        raise ValueError("Overflow when unpacking long long")
    wraps = target in dt.UNSIGNED and inferred in dt.INTEGER
    if not (-int(info.max) if wraps else int(info.min)) <= low <= high <= int(info.max):
        raise RuntimeError(message)


# ---- the functions -------------------------------------------------------------------------------


def strides_of(data) -> tuple[int, ...] | None:
    """The strides (in elements) of a NumPy array whose dimensions are dense but in another order."""
    if not isinstance(data, np.ndarray) or data.flags.c_contiguous or not data.size:
        return None
    order = sorted(range(data.ndim), key=lambda d: -data.strides[d])
    dense = data.transpose(order).flags.c_contiguous
    return tuple(s // data.itemsize for s in data.strides) if dense else None


def finish(array: np.ndarray, device, requires_grad: bool = False, strides=None) -> Tensor:
    """A tensor of a fresh array on a device, which reports these strides."""
    where = resolve(device)
    tensor = without_history(value_of(array)) if where.type != "meta" else meta_tensor(array.shape, array.dtype)
    with_strides(tensor, strides)
    if where.type not in ("cpu", "meta"):
        tensor = place(tensor, where)
    if requires_grad:
        require_grad(tensor)
    return tensor


def finish_later(make: Callable, shape: tuple, dtype: np.dtype, device, requires_grad: bool = False) -> Tensor:
    """finish of make(), of this shape and dtype; nothing is made for the meta device."""
    where = resolve(device)
    if where.type != "meta":
        return finish(make(), where, requires_grad)
    made = meta_tensor(shape, dtype)
    return require_grad(made) if requires_grad else made


def require_grad(tensor: Tensor) -> Tensor:
    """requires_grad=True of a factory."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise RuntimeError(ONLY_FLOATING)
    tensor.requires_grad = True
    return tensor


def data_dtype(dtype) -> np.dtype | None:
    """The NumPy dtype of a dtype argument."""
    return _types.numpy_dtype(dtype)


@composite(method=False, without_data=NO_COPY)
def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor of a copy of the data: numbers, nested sequences, arrays, tensors.

    >>> torch.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    if isinstance(data, Tensor):
        warn(COPY_CONSTRUCT)
        return _copied(data.detach(), dtype, device, requires_grad)
    if data.__class__ is Array:
        made = _around(data, dtype, device)
        return require_grad(made) if requires_grad else made
    if data.__class__ is float and dtype is None:
        array = np.array(data, _types.defaults.dtype.numpy) if abs(data) < 3e38 else (array_of(data, None))
    elif data.__class__ in ALIKE:
        array = array_of(data, data_dtype(dtype))
    else:
        data = _arraylike(data, dtype)
        if isinstance(data, Tensor):
            return _copied(data, dtype, device, requires_grad)
        array = array_of(data, data_dtype(dtype))
    return finish(array, device, requires_grad, strides_of(data))


def _copied(x: Tensor, dtype, device, requires_grad: bool) -> Tensor:
    """A copy of a tensor without history, as torch.tensor makes it."""
    new = x.clone()
    new = new if dtype is None and device is None else new.to(dtype=dtype or new.dtype, device=device or new.device)
    return require_grad(new) if requires_grad else new


def _arraylike(data, dtype=None):
    """Objects that are arrays to others, not sequences: tensors in the memory of those with the protocol DLPack,
    arrays of what is one to NumPy (masked arrays, pandas, other libraries)."""
    if isinstance(data, (list, tuple, np.ndarray, np.generic, str, bytes, dict, *PYTHON)):
        return data
    if hasattr(data, "__dlpack__"):
        return from_dlpack(data)
    if hasattr(data, "__array__") or hasattr(data, "__array_interface__"):
        return np.asarray(data)
    return data.as_array(dtype) if hasattr(data, "as_array") else data  # a storage


@composite(method=False, without_data=NO_COPY)
def as_tensor(data, dtype=None, device=None):
    """The data as a tensor: a tensor itself if nothing changes, otherwise a new one.

    >>> torch.as_tensor([1, 2])
    tensor([1, 2])
    """
    if isinstance(data, Tensor):
        if dtype is None and device is None:
            return data
        return data.to(device=data.device if device is None else device, dtype=data.dtype if dtype is None else dtype)
    if data.__class__ is Array:
        return _around(data, dtype, device)
    if data.__class__ is np.ndarray:
        found = _in_its_memory(data, dtype, device)
        if found is not None:
            return found
    data = _arraylike(data, dtype)
    if isinstance(data, Tensor):
        return data if dtype is None and device is None else data.to(device=device, dtype=dtype)
    return finish(array_of(data, data_dtype(dtype)), device, False, strides_of(data))


def _around(array: Array, dtype=None, device=None) -> Tensor:
    """A tensor of an array of the functional face, which may be traced, without a copy."""
    made = new_tensor(strong(array._value))
    return made if dtype is None and device is None else made.to(device=device, dtype=dtype)


UNSAID = (
    "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. "
    "Pass requires_grad=False explicitly to get the old behavior and silence this warning."
)


def _in_its_memory(array: np.ndarray, dtype, device) -> Tensor | None:
    """A tensor in the memory of an array; None if it is to have another dtype or device."""
    if resolve(device).type != "cpu" or dtype is not None and data_dtype(dtype) != array.dtype:
        return None
    return _sharing(array)


def _sharing(array: np.ndarray, warning: str | None = NOT_WRITABLE, lasting: bool = False) -> Tensor:
    flags = array.flags
    if array.dtype not in _types._by_numpy or not flags.c_contiguous:
        check_numpy(array)
    if not flags.writeable and warning:
        warn_once(warning)
    return tensor_of(array, lasting)


@composite(method=False, without_data=NO_COPY)
def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=None):
    """An object as a tensor; `copy` says whether it may, must or must not be copied. A tensor stays in
    its graph unless requires_grad=False.

    >>> torch.asarray([1, 2])
    tensor([1, 2])
    """
    if obj.__class__ is Array:
        return require_grad(_around(obj, dtype, device)) if requires_grad else _around(obj, dtype, device)
    if isinstance(obj, Tensor):
        return _as_asked(obj, dtype or obj.dtype, device, copy, requires_grad)
    if type(obj).__name__ == "PyCapsule":
        made = from_dlpack.fun(obj)
        return _as_asked(made, dtype or made.dtype, device, copy, requires_grad)
    found = None if copy else _shared_with(obj, dtype, device)
    if found is not None:
        return require_grad(found) if requires_grad else found
    requires_grad = bool(requires_grad)
    if copy is False and isinstance(obj, np.generic):
        raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. ")
    if copy is False:
        raise ValueError(_no_alias(obj, dtype))
    data = _arraylike(obj, dtype)
    if isinstance(data, Tensor):
        return asarray(data, dtype=dtype, device=device, copy=copy, requires_grad=requires_grad)
    if isinstance(data, BUFFERS):
        return finish(_of_buffer(data, dtype or _types.defaults.dtype, -1, 0).copy(), device, requires_grad)
    return finish(array_of(data, data_dtype(dtype)), device, requires_grad)


@functools.cache  # once, as PyTorch does
def _warn_of_unsaid():
    warn(UNSAID, UserWarning)


def _as_asked(x: Tensor, dtype, device, copy, requires_grad) -> Tensor:
    """A tensor for asarray, which is the tensor itself if nothing changes."""
    if requires_grad is None and x.requires_grad:
        _warn_of_unsaid()
    requires_grad = x.requires_grad if requires_grad is None else requires_grad
    if copy is False and dtype is not x.dtype:
        found, wanted = scalar_name(x.dtype.numpy), scalar_name(dtype.numpy)
        raise ValueError(f"can't alias tensor with dtype '{found}' into dtype '{wanted}'.")
    out = x.to(dtype) if device is None else x.to(device, dtype)
    if copy and out is x:
        out = out.clone()
    if not out.is_leaf and not requires_grad:
        return out.detach()
    out.requires_grad = requires_grad
    return out


BUFFERS = (bytes, bytearray, memoryview)


def _shared_with(obj, dtype, device) -> Tensor | None:
    """A tensor in the memory of an array or a buffer; None if there is none, or not as wanted."""
    if isinstance(obj, np.ndarray):
        return _in_its_memory(obj, dtype, device)
    if resolve(device).type != "cpu":
        return None
    if isinstance(obj, BUFFERS):
        return frombuffer(obj, dtype=dtype or _types.defaults.dtype)
    if hasattr(obj, "__dlpack__"):
        found = from_dlpack(obj)
        return found if dtype is None or found.dtype is dtype else None
    return None


def _no_alias(obj, dtype) -> str:
    if isinstance(obj, np.ndarray) and dtype is not None:
        theirs, wanted = scalar_name(obj.dtype), scalar_name(data_dtype(dtype))
        return f"can't alias tensor with dtype '{theirs}' into dtype '{wanted}'."
    return "can't alias arbitrary sequence into a tensor."


@composite(method=False)
def from_numpy(ndarray):
    """A tensor in the memory of a NumPy array: a write on either side is seen on the other.

    >>> import numpy as np
    >>> torch.from_numpy(np.array([1., 2.]))
    tensor([1., 2.], dtype=torch.float64)
    """
    if not isinstance(ndarray, np.ndarray):
        kind = type(ndarray)
        module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
        raise TypeError(f"expected np.ndarray (got {module}{kind.__name__})")
    return _sharing(ndarray)


@composite(method=False)
def from_file(
    filename, shared=None, size=0, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """A 1-d tensor of the first `size` elements of a file: a copy, or, if it is `shared`, in its memory.

    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "numbers")
    >>> with open(path, "wb") as file:
    ...     _ = file.write(bytes([1, 2, 3]))
    >>> torch.from_file(path, size=2, dtype=torch.uint8)
    tensor([1, 2], dtype=torch.uint8)
    >>> folder.cleanup()
    """
    d = _types.numpy_dtype(dtype, _types.defaults.dtype.numpy)
    made = tensor_in_cell(cell_of_file(filename, bool(shared), size, d))
    if made.numel() < size:
        raise RuntimeError(f"from_file: {filename} holds {made.numel()} elements of {d.name}, fewer than size={size}")
    made = made.to(resolve(device))
    return require_grad(made) if requires_grad else made


@composite(method=False)
def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A 1-d tensor in the memory of a buffer.

    >>> torch.frombuffer(bytearray([1, 2]), dtype=torch.uint8)
    tensor([1, 2], dtype=torch.uint8)
    """
    made = _sharing(_of_buffer(buffer, dtype, count, offset), NO_WRITABLE_BUFFER, lasting=True)
    return require_grad(made) if requires_grad else made


def _of_buffer(buffer, dtype, count, offset) -> np.ndarray:
    """The bytes of a buffer as an array."""
    d = _types.numpy_dtype(dtype)
    try:
        view = memoryview(buffer).cast("B")
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    n = len(view)
    if n == 0 or count == 0:
        raise ValueError(f"both buffer length ({n}) and count ({count}) must not be 0")
    if not 0 <= offset < n:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({n} bytes) minus 1"
        )
    if count < 0 and (n - offset) % d.itemsize:
        raise ValueError(
            f"buffer length ({n - offset} bytes) after offset ({offset} bytes) must "
            f"be a multiple of element size ({d.itemsize})"
        )
    if count > 0 and offset + count * d.itemsize > n:
        raise ValueError(
            f"requested buffer length ({count} * {d.itemsize} bytes) after offset "
            f"({offset} bytes) must not be greater than actual buffer length "
            f"({n} bytes)"
        )
    return np.frombuffer(view, d, count, offset)


@composite(method=False)
def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor in the memory of an object with `__dlpack__`, or of a capsule.

    >>> import numpy as np
    >>> torch.from_dlpack(np.arange(3.))
    tensor([0., 1., 2.], dtype=torch.float64)
    """
    if isinstance(ext_tensor, Tensor):
        found = ext_tensor.detach()
    elif ext_tensor.__class__ is Array:  # which cannot be written to: the tensor has memory of its own when it is
        found = _around(ext_tensor)
    elif isinstance(ext_tensor, np.ndarray):
        found = _sharing(ext_tensor, None)
    elif _is_on_gpu(ext_tensor):
        found = without_history(from_buffer(xla.from_dlpack(ext_tensor)))
    else:
        found = _sharing(writable(array_of_capsule(ext_tensor)), None, lasting=True)
    if copy:
        found = found.clone()
    return found if device is None else found.to(device)


def _is_on_gpu(x) -> bool:
    return hasattr(x, "__dlpack_device__") and int(x.__dlpack_device__()[0]) == 2


@composite(function=False, name="__dlpack__")
def dlpack(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    """A DLPack capsule that shares the tensor's memory."""
    if stream is not None and not isinstance(stream, int):
        raise TypeError("stream must be ``int`` or ``none``")
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if is_meta(self):
        raise BufferError("Cannot pack tensors on meta")
    if bits_of(self)[0]:
        raise BufferError("Can't export tensors with the conjugate bit set")
    if self.is_cpu and stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    if self.is_cuda:  # its consumer may not write to it
        return xla.to_dlpack(to_buffer((self.clone() if copy else self)._kept()))
    half = self.dtype.numpy == dt.bfloat16
    bits = self.view(_types.of_numpy(np.dtype(np.uint16))) if half else self
    return capsule_of(np.array(bits._array()) if copy else bits.numpy(), half, max_version)


@composite(function=False, name="__dlpack_device__")
def dlpack_device(self):
    """(device type, device id) as DLPack numbers them."""
    if is_meta(self):
        raise ValueError("Unknown device type meta for Dlpack")
    return (1, 0) if self.is_cpu else (2, self.device.index or 0)


@composite(method=False)
def scalar_tensor(s, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A 0-d tensor of a number, by default of the default dtype.

    >>> torch.scalar_tensor(3)
    tensor(3.)
    """
    d = _types.numpy_dtype(dtype, _types.defaults.dtype.numpy)
    return finish(array_of(s, d), device, requires_grad)


# ---- the old constructors ------------------------------------------------------------------------


def unspecified(dtype: np.dtype):
    """What stands in memory that nobody has written to: zero, or what shows that it was read."""
    if not active.marks_uninitialized:
        return 0
    if dtype == dt.bool_:
        return True
    return math.nan if dtype in dt.INEXACT else int(np.iinfo(dtype).max)


def legacy(dtype: np.dtype, args: tuple, device=None) -> Tensor:
    """torch.FloatTensor(...): data, or sizes of an uninitialised tensor; on the CPU, whatever the
    default device is."""
    device = _types.CPU if device is None else device
    if not args:
        return finish(np.zeros(0, dtype), device)
    first = args[0]
    if isinstance(first, Tensor) and len(args) == 1 and (first.ndim or first.dtype.is_floating_point):
        if first.dtype.numpy != dtype:
            raise TypeError(f"expected {_types.of_numpy(dtype)} (got {first.dtype})")
        return first.detach()
    if isinstance(first, _types.Size):
        return finish(np.full(tuple(first), unspecified(dtype), dtype), device)
    if len(args) > 1 and isinstance(first, (tuple, list)):
        got = ", ".join(type(arg).__name__ for arg in args)
        raise TypeError(f"new() received an invalid combination of arguments - got ({got})")
    if isinstance(first, (int, np.integer, Tensor)) and not isinstance(first, bool):
        return finish(np.full([int(n) for n in args], unspecified(dtype), dtype), device)
    if isinstance(first, Storage):
        if isinstance(first, TypedStorage):
            first.check_dtype(_types.of_numpy(dtype))
        return first._tensor(dtype)
    if not is_sequence(first):
        raise TypeError(f"new(): data must be a sequence (got {type(first).__name__})")
    return finish(array_of(first, dtype), device)


class Construction:
    """torch.Tensor(...)."""

    def __new__(cls, *args, device=None):
        if cls is not Tensor and not issubclass(cls, Tensor):
            return object.__new__(cls)
        if device is not None and resolve(device).type != "cpu":
            raise RuntimeError(
                f"legacy constructor expects device type: cpu but device type: {resolve(device).type} was passed"
            )
        made = legacy(_types.defaults.dtype.numpy, args, device)
        return made if cls is Tensor else made.as_subclass(cls)

    def __init__(self, *args, **kwargs):
        pass


from .storage import Storage, TypedStorage  # noqa: E402  last: storages know tensors
