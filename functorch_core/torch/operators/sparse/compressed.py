"""Sparse tensors in compressed formats: where each row (CSR, BSR) or column (CSC, BSC) ends, and the other index.

With batch dimensions, and, in BSR and BSC, blocks for elements. Tensors of all four layouts differ in which index
is compressed and in whether values are blocks. A row of values is an element or a block, with the dense dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...tensors import types as _types
from ...tensors.base import Tensor, from_array
from .base import KINDS, Sparse
from .of_dense import NOT_SPARSE

BY_ROW = (_types.sparse_csr, _types.sparse_bsr)
BY_BLOCK = (_types.sparse_bsr, _types.sparse_bsc)
LAYOUTS = (_types.sparse_csr, _types.sparse_csc, _types.sparse_bsr, _types.sparse_bsc)
SAME_COUNT = "Expect the same number of specified elements per batch."


def index_names(layout) -> tuple[str, str]:
    """What the compressed and the plain indices of a layout are called."""
    return ("crow_indices", "col_indices") if layout in BY_ROW else ("ccol_indices", "row_indices")


def _strided_only(what: str):
    def refuse(self, *args, **kwargs):
        raise RuntimeError(f"Sparse {short_name(self.layout)} tensors do not have {what}")

    return refuse


def short_name(layout) -> str:
    """CSR, of torch.sparse_csr."""
    return KINDS[layout][-3:].upper()


def _question(name: str, what: str, layouts: Sequence):
    def method(self):
        if self.layout not in layouts:
            raise RuntimeError(NOT_SPARSE.format(name=name, what=what, kind=KINDS[self.layout]))
        return self._parts()[name]

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    return method


def _of_coordinates(name: str):
    return _question(name, "coordinate tensor", ())


class CompressedTensor(Sparse):
    """A torch.Tensor of layout sparse_csr, sparse_csc, sparse_bsr or sparse_bsc."""

    __module__ = "torch"
    _fields = ("_ends", "_plain", "_what")
    _coalesced = True
    layout = None
    is_sparse = property(lambda self: False)
    is_sparse_csr = property(lambda self: self.layout is _types.sparse_csr)

    def __init__(self, ends: Tensor, plain: Tensor, values: Tensor, size, layout):
        self._ends, self._plain, self.layout = ends, plain, layout
        self._hold(values, size)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        from .compressed_functions import dispatch

        return dispatch(func, args, kwargs or {})

    # ---- parts

    crow_indices = _question("crow_indices", "row compressed tensor", BY_ROW)
    col_indices = _question("col_indices", "row compressed tensor", BY_ROW)
    columns = tuple(x for x in LAYOUTS if x not in BY_ROW)
    ccol_indices = _question("ccol_indices", "column compressed tensor", columns)
    row_indices = _question("row_indices", "column compressed tensor", columns)
    del columns
    coalesce, indices, is_coalesced, _indices = map(
        _of_coordinates, ("coalesce", "indices", "is_coalesced", "_indices")
    )

    def _parts(self) -> dict[str, Tensor]:
        return dict(zip(index_names(self.layout), (self._ends, self._plain)))

    def values(self) -> Tensor:
        """The values (*batch, nnz, *block, *dense dimensions)."""
        return self._values_view()

    def _nnz(self) -> int:
        return self._plain.shape[-1]

    def sparse_dim(self) -> int:
        """2: rows and columns."""
        return 2

    def dense_dim(self) -> int:
        """The number of dimensions of each element."""
        return self.ndim - 2 - self._batch_dim()

    def _batch_dim(self) -> int:
        return self._ends.ndim - 1

    def _batch(self) -> tuple[int, ...]:
        return tuple(self.shape[: self._batch_dim()])

    def _block(self) -> tuple[int, ...]:
        """The shape of a block, () in CSR and CSC."""
        n = self._batch_dim() + 1
        return tuple(self._what.shape[n : n + 2]) if self.layout in BY_BLOCK else ()

    def _dense(self) -> tuple[int, ...]:
        return tuple(self.shape[self._batch_dim() + 2 :])

    def _grid(self) -> tuple[int, int]:
        """The numbers of rows and columns, of blocks if there are any."""
        n = self._batch_dim()
        rows, columns = self.shape[n : n + 2]
        height, width = self._block() or (1, 1)
        return (rows // height if height else 0), (columns // width if width else 0)

    # ---- rows of values

    def _with(self, values: Tensor) -> CompressedTensor:
        return CompressedTensor(self._ends, self._plain, values, self.shape, self.layout)

    def _coordinates(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of each row of values the batch, the row and the column."""
        n, count = math.prod(self._batch()), self._nnz()
        ends = self._ends._array().reshape(n, self._ends.shape[-1]).astype(np.int64)
        counts = np.diff(ends, axis=1).reshape(-1)
        compressed = np.repeat(np.tile(np.arange(ends.shape[1] - 1), n), counts)
        plain = self._plain._array().reshape(-1).astype(np.int64)
        batch = np.repeat(np.arange(n), count)
        return (batch, compressed, plain) if self.layout in BY_ROW else (batch, plain, compressed)

    def _numbers(self) -> np.ndarray:
        batch, row, column = self._coordinates()
        height, width = self._grid()
        return (batch * height + row) * width + column

    def _flat(self) -> Tensor:
        """The rows of values of all batches."""
        return self._what.reshape(math.prod(self._batch()) * self._nnz(), *self._block(), *self._dense())

    def _rows_in(self, dense: Tensor) -> Tensor:
        return rows_in_grid(dense, self._batch_dim(), self._block())

    def _from_rows(self, rows: Tensor) -> Tensor:
        if not self._block():
            return rows.reshape(self.shape)
        grid, block, dense = self._grid(), self._block(), self._dense()
        cut = rows.reshape(math.prod(self._batch()), *grid, *block, *dense)
        return cut.permute(0, 1, 3, 2, 4, *range(5, cut.ndim)).reshape(self.shape)

    # ---- what a Tensor tells of itself

    is_contiguous = _strided_only("is_contiguous")
    stride = _strided_only("strides")

    def untyped_storage(self):
        """Raises: there is no dense memory."""
        raise NotImplementedError("Cannot access storage of SparseCsrTensorImpl")

    storage = typed_storage = untyped_storage

    def type(self, dtype=None, **kwargs):
        """The tensor in another dtype; these layouts have no names of types."""
        if dtype is None:
            raise RuntimeError(f"Unimplemented backend SparseCsr{self.device.type.upper()}")
        return self._with(self._what.type(dtype, **kwargs))

    def __reduce_ex__(self, protocol):
        parts = self._ends, self._plain, self._what.detach(), self.shape
        return _types.named("_utils._rebuild_sparse_tensor"), (self.layout, parts)


CompressedTensor.__name__ = CompressedTensor.__qualname__ = "Tensor"  # type(x) prints as PyTorch's does


def rows_in_grid(dense: Tensor, n_batch: int, block: Sequence[int]) -> Tensor:
    """All elements of a dense tensor by number of batch, row and column; or all blocks of that shape."""
    shape = tuple(dense.shape)
    height, width = shape[n_batch : n_batch + 2]
    n, inner = math.prod(shape[:n_batch]), shape[n_batch + 2 :]
    if not block:
        return dense.reshape(n * height * width, *inner)
    rows, columns = height // block[0], width // block[1]
    cut = dense.reshape(n, rows, block[0], columns, block[1], *inner)
    cut = cut.permute(0, 1, 3, 2, 4, *range(5, cut.ndim))
    return cut.reshape(n * rows * columns, *block, *inner)


def compressed(numbers: np.ndarray, rows: Tensor, size, n_batch: int, layout, index_dtype=np.int64) -> CompressedTensor:
    """Rows of values at distinct numbers, of whatever order, as a tensor of a compressed layout."""
    size = tuple(size)
    batch, block = size[:n_batch], tuple(rows.shape[1:3]) if layout in BY_BLOCK else (1, 1)
    height, width = (s // b for s, b in zip(size[n_batch : n_batch + 2], block))
    where, column = np.divmod(numbers, max(width, 1))
    which, row = np.divmod(where, max(height, 1))
    index, plain, n_index = (row, column, height) if layout in BY_ROW else (column, row, width)
    order = np.lexsort((plain, index, which))
    n = math.prod(batch)
    counts = np.bincount(which * n_index + index, minlength=n * n_index).reshape(n, n_index)
    per_batch = counts.sum(1)
    if (per_batch != per_batch[:1]).any():
        raise RuntimeError(SAME_COUNT)
    nnz = int(per_batch[0]) if n else 0
    ends = np.concatenate([np.zeros((n, 1), np.int64), np.cumsum(counts, 1)], 1)
    if (order[1:] < order[:-1]).any():
        rows = rows.index_select(0, from_array(order.astype(np.int64)))
    return CompressedTensor(
        from_array(ends.reshape(*batch, -1).astype(index_dtype) if n else np.zeros((*batch, n_index + 1), index_dtype)),
        from_array(plain[order].reshape(*batch, nnz).astype(index_dtype)),
        rows.reshape(*batch, nnz, *rows.shape[1:]),
        size,
        layout,
    )
