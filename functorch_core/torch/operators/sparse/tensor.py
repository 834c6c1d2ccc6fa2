"""A sparse tensor in coordinate format: indices (sparse_dim, nnz), and a value for each column."""

from __future__ import annotations

import math

import numpy as np

from ...tensors import types as _types
from ...tensors.base import Tensor, from_array
from ..shape.creation import empty
from ..shape.data import as_tensor
from .base import Sparse

UNCOALESCED = "Cannot get {what} on an uncoalesced tensor, please call .coalesce() first"


class SparseTensor(Sparse):
    """A torch.Tensor of layout torch.sparse_coo. Elements given several times are summed; a
    `coalesced` one has each once, in row-major order."""

    __module__ = "torch"
    _fields = ("_where", "_what", "_coalesced")
    layout = property(lambda self: _types.sparse_coo, doc="torch.sparse_coo.")
    is_sparse = property(lambda self: True)

    def __init__(self, indices: Tensor, values: Tensor, size, coalesced: bool):
        self._where, self._coalesced = indices, coalesced
        self._hold(values, size)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        from .functions import dispatch

        return dispatch(func, args, kwargs or {})

    # ---- rows: the sparse dimensions as one

    def _with(self, values: Tensor, coalesced: bool | None = None) -> SparseTensor:
        return SparseTensor(self._where, values, self.shape, self._coalesced if coalesced is None else coalesced)

    def _numbers(self) -> np.ndarray:
        numbers = np.zeros(self._nnz(), np.int64)
        for index, size in zip(self._where._array(), self.shape[: self.sparse_dim()]):
            numbers = numbers * size + index
        return numbers

    def _rows_in(self, dense: Tensor) -> Tensor:
        n = self.sparse_dim()
        return dense.reshape(math.prod(self.shape[:n]), *self.shape[n:])

    def _from_rows(self, rows: Tensor) -> Tensor:
        return rows.reshape(self.shape)

    def _parts(self) -> dict[str, Tensor]:
        return {"indices": self._where}

    # ---- parts

    def _indices(self) -> Tensor:
        return self._where

    def _values(self) -> Tensor:
        return self._what.detach()

    def _nnz(self) -> int:
        return self._where.shape[1]

    def indices(self) -> Tensor:
        """The indices (sparse_dim, nnz) of a coalesced tensor."""
        self._need_coalesced("indices")
        return self._where

    def values(self) -> Tensor:
        """The values (nnz, *dense dimensions) of a coalesced tensor."""
        self._need_coalesced("values")
        return self._values_view()

    def coalesce(self) -> SparseTensor:
        """Each element once, in row-major order; what was given several times is summed."""
        return coalesce(self)

    def _need_coalesced(self, what: str):
        if not self._coalesced:
            raise RuntimeError(UNCOALESCED.format(what=what))

    def is_coalesced(self) -> bool:
        """Whether each element is there once, in row-major order."""
        return self._coalesced

    def _coalesced_(self, coalesced: bool) -> SparseTensor:
        self._coalesced = coalesced
        return self

    def sparse_dim(self) -> int:
        """The number of dimensions that indices point into."""
        return self._where.shape[0]

    def dense_dim(self) -> int:
        """The number of dimensions of each value."""
        return self._what.ndim - 1

    def __reduce_ex__(self, protocol):
        parts = self._where, self._values(), self.shape, self._coalesced
        return _types.named("_utils._rebuild_sparse_tensor"), (self.layout, parts)


SparseTensor.__name__ = SparseTensor.__qualname__ = "Tensor"  # type(x) prints as PyTorch's does


# ---- making them ---------------------------------------------------------------------------------

NNZ = "indices and values must have same nnz, but got nnz from indices: {}, nnz from values: {}"
DIMS = "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {}, sparse_dim = {}, dense_dim = {}"
OUTSIDE = "size is inconsistent with indices: for dim {}, size is {} but found index {}"


def sparse_coo_tensor(
    indices=None,
    values=None,
    size=None,
    *,
    dtype=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
    is_coalesced=None,
):
    """A sparse tensor of `values` (nnz, ...) at `indices` (sparse_dim, nnz); zero elsewhere.

    Values at equal indices are summed. `size` is by default the smallest that holds all. With
    `size` alone the tensor is all zeros. RuntimeError for indices outside of it.

    >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3., 4.], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if values is None:
        size = indices if size is None else size
        indices = from_array(np.zeros((len(size), 0), np.int64))
        values = empty((0,), dtype=dtype, device=device)
        is_coalesced = True
    indices = as_tensor(indices, device=device).to(_types.int64)
    values = as_tensor(values, dtype=dtype, device=device)
    if indices.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    if not values.ndim:
        values = values.reshape(1)
    size = _checked_size(indices, values, size)
    if requires_grad:
        values = values.detach().requires_grad_()
    made = SparseTensor(indices, values, size, bool(is_coalesced) or indices.shape[1] == 0)
    if check_invariants and is_coalesced and (np.diff(made._numbers()) <= 0).any():
        raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")
    return made


def _checked_size(indices: Tensor, values: Tensor, size) -> tuple[int, ...]:
    """The size, which holds all indices. (PyTorch would write beyond its memory.)"""
    n, nnz = indices.shape
    if values.shape[0] != nnz:
        raise RuntimeError(NNZ.format(nnz, values.shape[0]))
    largest = indices._array().max(1) if nnz else np.full(n, -1)
    if size is None:
        size = (*(largest + 1).tolist(), *values.shape[1:])
    size = tuple(size)
    if math.prod(size) >= 2**63:
        raise RuntimeError("numel: integer multiplication overflow")
    if len(size) != n + values.ndim - 1:
        raise RuntimeError(DIMS.format(len(size), n, values.ndim - 1))
    if nnz and n and indices._array().min() < 0:
        d = int(indices._array().min(1).argmin())
        raise RuntimeError(f"found negative index {int(indices._array()[d].min())} for dim {d}")
    for d in range(n):
        if largest[d] >= size[d]:
            raise RuntimeError(OUTSIDE.format(d, size[d], int(largest[d])))
    if tuple(values.shape[1:]) != size[n:]:
        raise RuntimeError(f"values has incorrect size, expected {[nnz, *size[n:]]}, got {list(values.shape)}")
    return size


def empty_sparse(size, n_sparse: int, like: Tensor) -> SparseTensor:
    """A sparse tensor without values, of the dtype and device of a tensor."""
    size = tuple(size)
    indices = from_array(np.zeros((n_sparse, 0), np.int64))
    return SparseTensor(indices, like.detach().new_zeros((0, *size[n_sparse:])), size, True)


def check_joined(tensors, dim: int):
    """RuntimeError for tensors that differ in more than the size of one dimension."""
    first = tensors[0]
    wanted = first.sparse_dim(), first.dense_dim()
    for i, x in enumerate(tensors):
        if (x.sparse_dim(), x.dense_dim()) != wanted:
            raise RuntimeError(
                f"All tensors must have the same sparse_dim and dense_dim: {wanted[0]}, {wanted[1]}, "
                f"but tensor at position {i} has {x.sparse_dim()}, {x.dense_dim()}."
            )
        if any(a != b for d, (a, b) in enumerate(zip(x.shape, first.shape)) if d != dim):
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first.shape)} (except in the concatenating dimension), "
                f"but found shape: {list(x.shape)} at position {i}."
            )


def coalesce(x: SparseTensor) -> SparseTensor:
    """Each element once, in row-major order; what was given several times is summed."""
    if x._coalesced:
        return x
    numbers = x._numbers()
    if (numbers[1:] > numbers[:-1]).all():
        return x._with(x._what, True)
    unique, places = np.unique(numbers, return_inverse=True)
    values = x._what.new_zeros((len(unique), *x._what.shape[1:])).index_add(
        0, from_array(places.reshape(-1).astype(np.int64)), x._what
    )
    indices = np.unravel_index(unique, x.shape[: x.sparse_dim()] or (1,))
    indices = np.stack(indices)[: x.sparse_dim()].astype(np.int64)
    return SparseTensor(from_array(indices), values, x.shape, True)
