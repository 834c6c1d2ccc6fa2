"""Storages: the memory behind tensors, as far as one can see it without writing to it."""
from __future__ import annotations

import numpy as np

from .. import _types
from .._op import composite
from .._tensor import from_array
from .._tensor_base import Tensor
from .._views import Alias, Cell, share


class UntypedStorage:
    """The bytes that tensors share."""

    __module__ = "torch"

    def __init__(self, *args, cell: Cell | None = None):
        if cell is None:
            n = int(args[0]) if args and isinstance(args[0], int) else 0
            data = np.zeros(n, np.uint8) if not args or isinstance(args[0], int) else (
                np.array(args[0], np.uint8))
            cell = share(from_array(data)).cell
        self._cell = cell

    @property
    def _itemsize(self) -> int:
        return self._cell.value.aval.dtype.itemsize

    @property
    def device(self) -> _types.device:
        """Where the storage is."""
        return self._tensor().device

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._cell.value.aval.nbytes

    size = nbytes

    def __len__(self) -> int:
        return self.nbytes()

    def data_ptr(self) -> int:
        """A number that storages share exactly if they are the same memory."""
        return self._tensor().data_ptr()

    def element_size(self) -> int:
        """Bytes of an element: 1."""
        return 1

    def untyped(self):
        """The storage as bytes: itself."""
        return self

    def __eq__(self, other):
        return isinstance(other, UntypedStorage) and other._cell is self._cell

    def __hash__(self):
        return id(self._cell)

    def _tensor(self, dtype: np.dtype | None = None) -> Tensor:
        """All elements as a 1-d tensor that shares this memory."""
        from ...engine import Value
        from .._views import look
        from .._tensor_base import new_tensor
        cell = self._cell
        assert isinstance(cell.value, Value)
        out = new_tensor(cell.value)
        out._view = Alias(cell, (), None)
        flat = flat_lens(cell)
        if flat is not None:
            made = look(out, (flat,))
            made._view = Alias(cell, (flat,), None)
            out = made
        return out if dtype is None or out._aval.dtype == dtype else (
            out.view(_types.of_numpy(dtype)))

    def _array(self) -> np.ndarray:
        return np.ascontiguousarray(self._tensor()._array())

    def tolist(self) -> list:
        """The elements as Python numbers."""
        return self._array().view(np.uint8).tolist()

    def __getitem__(self, index):
        return self._array().view(np.uint8)[index]

    def __iter__(self):
        return iter(self.tolist())

    def is_shared(self) -> bool:
        """Whether the memory is shared with other processes."""
        return False

    def resize_(self, size: int):
        """Not possible: storages do not change their size here."""
        if size != self.nbytes():
            raise NotImplementedError("UntypedStorage.resize_: storages keep their size here; "
                                      "resize the tensor instead")
        return self

    def cpu(self):
        """The storage on the CPU: itself."""
        return self

    def __repr__(self):
        rows = "\n".join(f" {x}" for x in self.tolist()[:100])
        return f"{rows}\n[{type(self).__module__}.{type(self).__name__}(device={self.device}) of size {len(self)}]"


def flat_lens(cell: Cell):
    """The lens that shows a cell's elements in the order of its memory; None if it is 1-d so."""
    from .._views import Lens, contiguous_strides
    if cell.strides == contiguous_strides(cell.shape):
        n = cell.value.aval.size
        return None if cell.shape == (n,) else Lens("view", ((n,),))
    n = cell.value.aval.size
    return Lens("as_strided", ((n,), (1,), 0, cell.shape, cell.strides, 0))


class TypedStorage(UntypedStorage):
    """The elements that tensors share."""

    __module__ = "torch.storage"

    @property
    def dtype(self) -> _types.dtype:
        """The dtype of the elements."""
        return _types.of_numpy(self._cell.value.aval.dtype)

    def size(self) -> int:
        """The number of elements."""
        return self._cell.value.aval.size

    def __len__(self) -> int:
        return self.size()

    def element_size(self) -> int:
        """Bytes of an element."""
        return self._itemsize

    def untyped(self) -> UntypedStorage:
        """The storage as bytes."""
        return UntypedStorage(cell=self._cell)

    def tolist(self) -> list:
        """The elements as Python numbers."""
        return self._array().tolist()

    def __getitem__(self, index):
        return self._array()[index].item() if isinstance(index, int) else self._array()[index]


@composite(function=False)
def untyped_storage(self):
    """The tensor's memory as bytes."""
    return UntypedStorage(cell=share(self).cell)


@composite(function=False, aliases=("_typed_storage",))
def storage(self):
    """The tensor's memory as elements."""
    return TypedStorage(cell=share(self).cell)


@composite(function=False)
def storage_type(self):
    """The class of the tensor's storage."""
    return TypedStorage
