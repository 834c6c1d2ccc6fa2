"""What dense tensors answer to questions about sparse layouts, and how they become sparse.

Sparse tensors themselves are in `functions`, which is imported when the first one is made: their class
overrides ops, which ask from then on.
"""

from __future__ import annotations

from ...tensors.base import Tensor

NOT_SPARSE = "{name} expected sparse {what} layout but got Strided"


def _question(name: str, what: str):
    def method(self):
        raise RuntimeError(NOT_SPARSE.format(name=name, what=what))

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = "Of sparse tensors only: raises RuntimeError."
    return method


class Sparsity:
    """Sparse layouts, of a dense tensor."""

    def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None) -> Tensor:
        """The elements that are not zero, as a tensor of layout torch.sparse_coo.

        With `sparse_dim`, rows of the dimensions after so many first ones.

        >>> torch.eye(2).to_sparse()
        tensor(indices=tensor([[0, 1],
                               [0, 1]]),
               values=tensor([1., 1.]),
               size=(2, 2), nnz=2, layout=torch.sparse_coo)
        """
        from .functions import to_sparse

        return to_sparse(self, sparse_dim, layout=layout, blocksize=blocksize, dense_dim=dense_dim)

    def to_sparse_coo(self) -> Tensor:
        """The elements that are not zero, as a tensor of layout torch.sparse_coo."""
        return self.to_sparse()

    def to_dense(self, dtype=None, *, masked_grad=None) -> Tensor:
        """The tensor itself, in another dtype if one is given."""
        return self if dtype is None else self.to(dtype)

    def sparse_mask(self, mask: Tensor) -> Tensor:
        """The elements where a sparse tensor has values, as a sparse tensor.

        >>> torch.ones(2).sparse_mask(torch.tensor([0., 2.]).to_sparse()).to_dense()
        tensor([0., 1.])
        """
        from .functions import sparse_mask

        return sparse_mask(self, mask)

    def sparse_dim(self) -> int:
        """0: no dimension is sparse."""
        return 0

    def dense_dim(self) -> int:
        """The number of dimensions."""
        return self.ndim

    coalesce = _question("coalesce", "coordinate tensor")
    indices = _question("indices", "coordinate tensor")
    is_coalesced = _question("is_coalesced", "coordinate tensor")
    values = _question("values", "tensor")
    _indices = _question("_indices", "tensor")
    _values = _question("_values", "tensor")
    _nnz = _question("_nnz", "tensor")
    crow_indices = _question("crow_indices", "row compressed tensor")
    col_indices = _question("col_indices", "row compressed tensor")
    ccol_indices = _question("ccol_indices", "column compressed tensor")
    row_indices = _question("row_indices", "column compressed tensor")
