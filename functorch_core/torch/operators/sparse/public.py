"""What torch.sparse offers to users."""

from __future__ import annotations

import functools

import numpy as np

from ...tensors.base import Tensor, from_array
from . import functions as _functions
from .tensor import SparseTensor


def _need_sparse(name: str, x):
    if not isinstance(x, SparseTensor):
        layout = getattr(x, "layout", type(x).__name__)
        raise RuntimeError(f"torch.sparse.{name}: expected a tensor of layout torch.sparse_coo, got {layout}")


def mm(sparse, mat, reduce=None):
    """The product of a sparse matrix and a dense or sparse one, with gradients by both.

    >>> torch.sparse.mm(torch.eye(2).to_sparse(), torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    if reduce not in (None, "sum"):
        raise NotImplementedError(
            f"torch.sparse.mm with reduce={reduce!r} is for layout torch.sparse_csr, which functorch-core does not have"
        )
    if sparse.ndim != 2 or mat.ndim != 2:
        raise RuntimeError(
            f"torch.sparse.mm: expected two matrices, got tensors of {sparse.ndim} and {mat.ndim} dimensions"
        )
    if not isinstance(sparse, SparseTensor):
        _need_sparse("mm", mat)
    return _functions.matmul(sparse, mat)


def addmm(mat, mat1, mat2, *, beta=1.0, alpha=1.0):
    """beta * mat + alpha * mat1 @ mat2 for a sparse mat1."""
    _need_sparse("addmm", mat1)
    return _functions.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def sum(input, dim=None, dtype=None):
    """The sum of a sparse tensor: dense over all elements or all sparse dimensions, else sparse.

    >>> torch.sparse.sum(torch.eye(2).to_sparse())
    tensor(2.)
    """
    _need_sparse("sum", input)
    return _functions.sum(input, dim, dtype=dtype)


def softmax(input, dim, *, dtype=None):
    """Softmax along a dimension over the values that are there."""
    _need_sparse("softmax", input)
    return _functions.softmax(input, dim, dtype)


def log_softmax(input, dim, *, dtype=None):
    """The logarithm of softmax along a dimension over the values that are there."""
    _need_sparse("log_softmax", input)
    return _functions.log_softmax(input, dim, dtype)


def spdiags(diagonals: Tensor, offsets: Tensor, shape, layout=None):
    """A sparse matrix with the rows of `diagonals` as its diagonals; element j of a row is in
    column j.

    >>> torch.sparse.spdiags(torch.ones(1, 2), torch.tensor([1]), (2, 2)).to_dense()
    tensor([[0., 1.],
            [0., 0.]])
    """
    if layout is not None and layout is not _functions._types.sparse_coo:
        raise NotImplementedError(
            f"torch.sparse.spdiags: layout {layout} is not implemented by functorch-core; torch.sparse_coo is"
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
    return SparseTensor(from_array(indices), values, shape, False)


class check_sparse_tensor_invariants:
    """Accepted for compatibility: indices of sparse tensors are always checked."""

    _enabled = False

    def __init__(self, enable: bool = True):
        self.state, self.saved = enable, None

    @classmethod
    def is_enabled(cls) -> bool:
        """What was last asked for."""
        return check_sparse_tensor_invariants._enabled

    @classmethod
    def enable(cls):
        """Ask for checks."""
        check_sparse_tensor_invariants._enabled = True

    @classmethod
    def disable(cls):
        """Ask for none; they are made all the same."""
        check_sparse_tensor_invariants._enabled = False

    def __enter__(self):
        self.saved = self.is_enabled()
        check_sparse_tensor_invariants._enabled = self.state

    def __exit__(self, *exc):
        check_sparse_tensor_invariants._enabled = self.saved

    def __call__(self, function):
        @functools.wraps(function)
        def checked(*args, **kwargs):
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked
