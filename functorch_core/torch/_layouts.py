"""What dense tensors answer to questions about sparse layouts, and how they become sparse.

Sparse tensors themselves are in `sparse`, which is imported when the first one is made.
"""

from __future__ import annotations

from ._missing import missing
from ._tensor_base import Tensor

NOT_SPARSE = "{name} expected sparse {what} layout but got Strided"
_QUESTIONS = {
    "coalesce": "coordinate tensor",
    "indices": "coordinate tensor",
    "is_coalesced": "coordinate tensor",
    "values": "tensor",
    "_indices": "tensor",
    "_values": "tensor",
    "_nnz": "tensor",
    "crow_indices": "row compressed tensor",
    "col_indices": "row compressed tensor",
    "ccol_indices": "column compressed tensor",
    "row_indices": "column compressed tensor",
}


def _question(name: str, what: str):
    def method(self):
        raise RuntimeError(NOT_SPARSE.format(name=name, what=what))

    method.__name__, method.__doc__ = name, "Of sparse tensors only: raises RuntimeError."
    return method


def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    """The elements that are not zero, as a tensor of layout torch.sparse_coo.

    With `sparse_dim`, rows of the dimensions after so many first ones.

    >>> torch.eye(2).to_sparse()
    tensor(indices=tensor([[0, 1],
                           [0, 1]]),
           values=tensor([1., 1.]),
           size=(2, 2), nnz=2, layout=torch.sparse_coo)
    """
    from .sparse._functions import to_sparse

    return to_sparse(self, sparse_dim, layout=layout, blocksize=blocksize, dense_dim=dense_dim)


def to_sparse_coo(self):
    """The elements that are not zero, as a tensor of layout torch.sparse_coo."""
    return to_sparse(self)


def to_dense(self, dtype=None, *, masked_grad=None):
    """The tensor itself, in another dtype if one is given."""
    return self if dtype is None else self.to(dtype)


def sparse_mask(self, mask):
    """The elements where a sparse tensor has values, as a sparse tensor.

    >>> torch.ones(2).sparse_mask(torch.tensor([0., 2.]).to_sparse()).to_dense()
    tensor([0., 1.])
    """
    from .sparse._functions import sparse_mask

    return sparse_mask(self, mask)


def install():
    """Give Tensor these methods."""
    for name, what in _QUESTIONS.items():
        setattr(Tensor, name, _question(name, what))
    for method in (to_sparse, to_sparse_coo, to_dense, sparse_mask):
        setattr(Tensor, method.__name__, method)
    for name in ("csr", "csc", "bsr", "bsc"):
        setattr(Tensor, f"to_sparse_{name}", missing(f"torch.Tensor.to_sparse_{name}"))
    Tensor.sparse_dim = lambda self: 0
    Tensor.dense_dim = lambda self: self.ndim
