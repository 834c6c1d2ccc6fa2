"""torch._utils: the functions that PyTorch's pickles call to rebuild tensors, and small helpers that
packages call by these names."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence

from ... import cat, sparse_compressed_tensor, sparse_coo_tensor
from ...dispatch.parameter import Parameter
from ...tensors.base import Tensor
from ...tensors.types import by_name, named, sparse_coo
from ...tensors.types import device as _device
from ..devices.cuda import current_device, is_available
from .tensors import on_meta, set_state, view_of_cell, with_bits
from .unpickling import UnpicklingError


def _rebuild_tensor(storage, storage_offset, size, stride):
    return view_of_cell(storage._cell, _dtype_of(storage), size, stride, storage_offset)


def _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None):
    return _rebuild_tensor_v3(
        storage, storage_offset, size, stride, requires_grad, backward_hooks, _dtype_of(storage), metadata
    )


def _rebuild_tensor_v3(storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None):
    tensor = view_of_cell(storage._cell, dtype, size, stride, storage_offset)
    if metadata:
        tensor = with_bits(tensor, metadata)
    tensor.requires_grad = requires_grad
    return tensor


def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad):
    tensor = on_meta(dtype, size, stride)
    tensor.requires_grad = requires_grad
    return tensor


def _rebuild_wrapper_subclass(cls, dtype, size, stride, storage_offset, layout, device, requires_grad):
    return Tensor._make_wrapper_subclass(
        cls, size, stride, storage_offset, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def _dtype_of(storage):
    return getattr(storage, "dtype", by_name["uint8"])


def _rebuild_parameter(data, requires_grad, backward_hooks):
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    return set_state(Parameter(data, requires_grad), None, state)


def _rebuild_from_type_v2(func, new_type, args, state):
    return set_state(func(*args), new_type, state)


_rebuild_from_type_v2.saved_as = "torch._tensor", _rebuild_from_type_v2.__name__


def _wrapper_of_type(new_type, args, state):
    """A wrapper as a file describes it, which may be damaged."""
    if not (isinstance(new_type, type) and issubclass(new_type, Tensor) and args and args[0] is new_type):
        raise UnpicklingError("a tensor without memory must be of a subclass of Tensor")
    try:
        return _rebuild_from_type_v2(_rebuild_wrapper_subclass, new_type, args, state)
    except TypeError as error:
        raise UnpicklingError(f"the saved layout of a {new_type.__name__} is damaged: {error}") from None


_rebuild_wrapper_subclass.of_type = _wrapper_of_type


def _rebuild_sparse_tensor(layout, data):
    if layout is sparse_coo:
        indices, values, size, *coalesced = data
        return sparse_coo_tensor(indices, values, size, is_coalesced=coalesced[0] if coalesced else None)
    return sparse_compressed_tensor(*data, layout=layout)


def _rebuild_nested(packed, requires_grad, *parts):
    """A nested tensor as a file describes it, which may be damaged."""
    try:
        return named("nested.tensor.rebuilt")(packed, requires_grad, *parts)
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise UnpicklingError(f"a saved nested tensor is damaged: {error}") from None


def _rebuild_distributed(*saved):
    *saved, attributes = saved
    return set_state(named("distributed.tensor.api.restored")(*saved), None, attributes)


# ---- helpers -------------------------------------------------------------------------------------


def _element_size(dtype) -> int:
    """The bytes of an element."""
    return dtype.itemsize


def _get_device_index(device, optional: bool = False, allow_cpu: bool = False) -> int:
    """The index of a device: of 'cuda:1', or the current one's with optional=True; -1 for the CPU."""
    if isinstance(device, str):
        device = _device(device)
    if isinstance(device, _device):
        if device.type == "cpu":
            if not allow_cpu:
                raise ValueError(f"Expected a non cpu device, but got: {device}")
            return -1
        device = device.index
    if device is None:
        if not optional:
            raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
        return current_device()
    return device


def _get_available_device_type() -> str | None:
    """The kind of accelerator that there is, None where there is none."""
    return "cuda" if is_available() else None


def _get_device_module(device_type: str):
    """The module of a kind of device: torch.cuda of 'cuda'."""
    try:
        return named(device_type)
    except AttributeError:
        said = f"Device '{device_type}' does not have a corresponding module registered as 'torch.{device_type}'."
        raise RuntimeError(said) from None


def _is_privateuse1_backend_available() -> bool:
    """False: nobody has registered one."""
    return False


# ---- tensors in one buffer -----------------------------------------------------------------------


def _flatten_dense_tensors(tensors: Iterable[Tensor]) -> Tensor:
    """The elements of all tensors in one dimension; of a single tensor a view, if it is contiguous."""
    flat = [x.contiguous().view(-1) for x in tensors]
    return flat[0] if len(flat) == 1 else cat(flat)


def _unflatten_dense_tensors(flat: Tensor, tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Views of a buffer in the shapes of tensors."""
    found, start = [], 0
    for x in tensors:
        found.append(flat.narrow(0, start, x.numel()).view(x.shape))
        start += x.numel()
    return tuple(found)


def _flatten_sparse_tensors(tensors: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """The indices of all tensors in one dimension, and their values."""
    return _flatten_dense_tensors([x._indices() for x in tensors]), _flatten_dense_tensors(
        [x._values() for x in tensors]
    )


def _unflatten_sparse_tensors(flat: tuple[Tensor, Tensor], tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Sparse tensors of the shapes of others, from buffers of indices and of values."""
    indices = _unflatten_dense_tensors(flat[0], [x._indices() for x in tensors])
    values = _unflatten_dense_tensors(flat[1], [x._values() for x in tensors])
    return tuple([sparse_coo_tensor(i, v, x.shape) for i, v, x in zip(indices, values, tensors)])


def _reorder_tensors_as(tensors: Iterable[Tensor], ordered_tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Tensors in the order of others; within a type they have it already."""
    by_type: dict[str, list[Tensor]] = {}
    for x in tensors:
        by_type.setdefault(x.type(), []).append(x)
    waiting = {kind: iter(xs) for kind, xs in by_type.items()}
    return tuple([next(waiting[x.type()]) for x in ordered_tensors])


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Lists of tensors of one type, each of as many bytes as the limit at most; a larger tensor has its own."""
    filling: dict[str, tuple[list[Tensor], int]] = {}
    for x in tensors:
        parts = (x._indices(), x._values()) if x.is_sparse else (x,)
        size = sum(part.numel() * part.element_size() for part in parts)
        chunk, used = filling.get(x.type(), ([], 0))
        if chunk and used + size > size_limit:
            yield chunk
            chunk, used = [], 0
        filling[x.type()] = [*chunk, x], used + size
    yield from [chunk for chunk, _ in filling.values()]


# ---- errors of others ----------------------------------------------------------------------------


class ExceptionWrapper:
    """An error of another thread or process, to be raised again where its text can be read."""

    def __init__(self, exc_info=None, where: str = "in background"):
        kind, error, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type, self.where = kind, where
        self.exc_msg = "".join(traceback.format_exception(kind, error, trace))

    def reraise(self):
        """Raise an error of the same type that says where it was caught, and its traceback."""
        text = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            raise KeyError(_Shown(text))
        try:
            error = self.exc_type(text)
        except Exception:  # it takes other arguments
            raise RuntimeError(text) from None
        raise error


class _Shown(str):
    """A string that is its own repr: KeyError shows that of its key."""

    def __repr__(self):
        return str(self)
