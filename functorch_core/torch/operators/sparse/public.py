"""What torch.sparse offers to users."""

from __future__ import annotations

import numpy as np

from ...dispatch.op import registry
from ...tensors import types as _types
from ...tensors.base import Tensor, from_array
from . import functions as _functions
from .base import KINDS, Sparse
from .compressed_functions import mm_reduce
from .compressed_functions import sampled_addmm as sampled_addmm
from .invariants import check_sparse_tensor_invariants as check_sparse_tensor_invariants
from .tensor import SparseTensor


def _need_sparse(name: str, x):
    if not isinstance(x, Sparse):
        layout = getattr(x, "layout", type(x).__name__)
        raise RuntimeError(f"torch.sparse.{name}: expected a tensor of layout torch.sparse_coo, got {layout}")


def _coordinates(name: str, x) -> SparseTensor:
    _need_sparse(name, x)
    return x if isinstance(x, SparseTensor) else x.coalesce()  # which raises


def mm(sparse, mat, reduce=None):
    """The product of a sparse matrix and a dense or sparse one, with gradients by both.

    >>> torch.sparse.mm(torch.eye(2).to_sparse(), torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    if sparse.ndim != 2 or mat.ndim != 2:
        raise RuntimeError(
            f"torch.sparse.mm: expected two matrices, got tensors of {sparse.ndim} and {mat.ndim} dimensions"
        )
    if not isinstance(sparse, Sparse):
        _need_sparse("mm", mat)
    if reduce is None:
        return registry["mm"](sparse, mat)
    if sparse.layout is not _types.sparse_csr:
        raise NotImplementedError(f"torch.sparse.mm with reduce={reduce!r} is for layout torch.sparse_csr")
    return mm_reduce(sparse, mat, reduce)


def addmm(mat, mat1, mat2, *, beta=1.0, alpha=1.0):
    """beta * mat + alpha * mat1 @ mat2 for a sparse mat1.

    >>> torch.sparse.addmm(torch.ones(2, 2), torch.eye(2).to_sparse(), torch.ones(2, 2))
    tensor([[2., 2.],
            [2., 2.]])
    """
    _need_sparse("addmm", mat1)
    return registry["addmm"](mat, mat1, mat2, beta=beta, alpha=alpha)


def sum(input, dim=None, dtype=None):
    """The sum of a sparse tensor: dense over all elements or all sparse dimensions, else sparse.

    >>> torch.sparse.sum(torch.eye(2).to_sparse())
    tensor(2.)
    """
    return _functions.sum(_coordinates("sum", input), dim, dtype=dtype)


def softmax(input, dim, *, dtype=None):
    """Softmax along a dimension over the values that are there.

    >>> torch.sparse.softmax(torch.tensor([[1., 0.], [2., 2.]]).to_sparse(), 1).to_dense()
    tensor([[1.0000, 0.0000],
            [0.5000, 0.5000]])
    """
    return _functions.softmax(_coordinates("softmax", input), dim, dtype)


def log_softmax(input, dim, *, dtype=None):
    """The logarithm of softmax along a dimension over the values that are there.

    >>> torch.sparse.log_softmax(torch.tensor([[1., 0.], [2., 2.]]).to_sparse(), 1).to_dense()
    tensor([[ 0.0000,  0.0000],
            [-0.6931, -0.6931]])
    """
    return _functions.log_softmax(_coordinates("log_softmax", input), dim, dtype)


def spdiags(diagonals: Tensor, offsets: Tensor, shape, layout=None):
    """A sparse matrix with the rows of `diagonals` as its diagonals; element j of a row is in
    column j.

    >>> torch.sparse.spdiags(torch.ones(1, 2), torch.tensor([1]), (2, 2)).to_dense()
    tensor([[0., 1.],
            [0., 0.]])
    """
    if layout not in (None, _types.sparse_coo, _types.sparse_csc, _types.sparse_csr):
        raise RuntimeError(
            f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {KINDS.get(layout, layout)}"
        )
    diagonals = diagonals.reshape(1, -1) if diagonals.ndim < 2 else diagonals
    starts = offsets._array().reshape(-1)
    if len(starts) != diagonals.shape[0]:
        raise RuntimeError("Number of diagonals does not match the number of offsets")
    if len(set(starts.tolist())) != len(starts):
        raise RuntimeError("Offset tensor contains duplicate values")
    rows, columns = shape
    place, column = np.indices(tuple(diagonals.shape)).reshape(2, -1)
    row = column - starts[place]
    inside = (row >= 0) & (row < rows) & (column < columns)
    values = diagonals.reshape(-1).index_select(0, from_array(np.flatnonzero(inside)))
    indices = np.stack([row, column])[:, inside].astype(np.int64)
    return SparseTensor(from_array(indices), values, shape, False).to_sparse(layout=layout)
