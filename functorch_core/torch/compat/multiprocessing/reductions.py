"""How tensors travel between processes: those in shared memory stay there, others are copied."""

from __future__ import annotations

import weakref
from multiprocessing.context import get_spawning_popen
from multiprocessing.reduction import DupFd, ForkingPickler

import numpy as np

from ....core.aval import aval
from ...dispatch.parameter import Parameter
from ...tensors import types as _types
from ...tensors.base import Tensor, from_array
from ...views.cells import Alias, share
from ...views.files import File
from ...views.shared import cell_in, file_of, is_in_file, tensor_in_cell
from ..serialization.tensors import attributes_of, reduce_tensor, set_state


def _received(is_parameter: bool, array: np.ndarray, requires_grad: bool, state) -> Tensor:
    return _dressed(from_array(array), is_parameter, requires_grad, state)


def _dressed(tensor: Tensor, is_parameter: bool, requires_grad: bool, state) -> Tensor:
    if is_parameter:
        return set_state(Parameter(tensor, requires_grad), None, state)
    tensor.requires_grad = requires_grad
    return set_state(tensor, None, state)


def _file_from(handle, size: int) -> File:
    """A file of which another process has sent a descriptor."""
    return File(handle.detach(), size)


def _found(file: File, dtype: str, shape, strides, chain, a, *rest) -> Tensor:
    """The tensor in the memory of a file that came from another process."""
    tensor = tensor_in_cell(cell_in(file, aval(shape, _types.by_name[dtype].numpy), strides))
    if chain:
        cell = tensor._view.cell
        tensor._view = Alias(cell, chain, None)
        tensor._value = cell.shown(tensor._view, aval(a[0], _types.by_name[a[1]].numpy))
    return _dressed(tensor, *rest)


def _shared(tensor: Tensor) -> tuple:
    """_found and its arguments."""
    alias = share(tensor)
    cell = alias.cell
    file, whole, mine = file_of(cell), cell.memory.aval, tensor._value.aval
    return _found, (
        file,
        _types.of_numpy(whole.dtype).name,
        whole.shape,
        cell.strides if cell.strided else None,
        alias.chain,
        (mine.shape, _types.of_numpy(mine.dtype).name),
        type(tensor) is Parameter,
        tensor.requires_grad,
        attributes_of(tensor),
    )


def reduce_for_sending(tensor: Tensor):
    """(function, arguments) that make the tensor in another process; RuntimeError for a non-leaf
    that requires grad. Arguments of a process that is being started are moved to shared memory.

    >>> from torch.multiprocessing.reductions import reduce_for_sending
    >>> make, arguments = reduce_for_sending(torch.ones(2))
    >>> make(*arguments)
    tensor([1., 1.])
    """
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, "
            "since autograd does not support crossing process boundaries.  If you "
            "just want to transfer the data, call detach() on the tensor before "
            "serializing (e.g., putting it on the queue)."
        )
    shared = tensor._view is not None and is_in_file(tensor._view.cell)
    if tensor._level is None and tensor.is_cpu and (shared or get_spawning_popen() is not None):
        return _shared(tensor)
    if not tensor.is_contiguous():
        return reduce_tensor(tensor)
    return _received, (
        type(tensor) is Parameter,
        np.asarray(tensor._array()),
        tensor.requires_grad,
        attributes_of(tensor),
    )


def init_reductions():
    """Register with Python's multiprocessing.

    >>> from torch.multiprocessing.reductions import init_reductions
    >>> init_reductions()  # done once already, when torch.multiprocessing is imported
    """
    for cls in (Tensor, Parameter):
        ForkingPickler.register(cls, reduce_for_sending)
    ForkingPickler.register(File, lambda file: (_file_from, (DupFd(file.descriptor), file.size)))


class StorageWeakRef:
    """A weak reference to a storage, which equals another of the same.

    >>> storage = torch.ones(2).untyped_storage()
    >>> StorageWeakRef(storage) == StorageWeakRef(storage), StorageWeakRef(storage).expired()
    (True, False)
    """

    __slots__ = ("cdata", "_cell")

    def __init__(self, storage):
        self.cdata, self._cell = id(storage._cell), weakref.ref(storage._cell)

    def expired(self) -> bool:
        """Whether the storage is gone."""
        return self._cell() is None

    def __hash__(self):
        return self.cdata

    def __eq__(self, other):
        return self is other or isinstance(other, StorageWeakRef) and self.cdata == other.cdata
