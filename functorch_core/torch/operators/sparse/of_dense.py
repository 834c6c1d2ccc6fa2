"""What dense tensors answer to questions about sparse layouts, and how they become sparse.

Sparse tensors themselves are in `functions`, which is imported when the first one is made: their class
overrides ops, which ask from then on.
"""

from __future__ import annotations

from ...tensors import types as _types
from ...tensors.base import Tensor

NOT_SPARSE = "{name} expected sparse {what} layout but got {kind}"


def _question(name: str, what: str):
    def method(self):
        if self.layout is _types.strided:
            raise RuntimeError(NOT_SPARSE.format(name=name, what=what, kind="Strided"))
        for cls in type(self).__mro__:  # torch.Tensor.values(x) of a sparse tensor
            if cls is Tensor:
                kind = _conversions().KINDS[self.layout]
                raise RuntimeError(NOT_SPARSE.format(name=name, what=what, kind=kind))
            if name in vars(cls):
                return vars(cls)[name](self)

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    layouts = {"crow_indices": "csr", "col_indices": "csr", "ccol_indices": "csc", "row_indices": "csc"}
    method.__doc__ = f"""Of sparse tensors only: raises RuntimeError.

    >>> torch.eye(2).to_sparse_{layouts.get(name, "coo")}().{name}() is not None
    True
    """
    return method


def _conversions():
    from . import conversions  # when the first one is made

    return conversions


def _compressed(x: Tensor, kind: str, blocksize, dense_dim) -> Tensor:
    return _conversions().to_compressed(x, _types.named(f"sparse_{kind}"), blocksize, dense_dim)


class Sparsity:
    """Sparse layouts, of a dense tensor."""

    def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None) -> Tensor:
        """The elements that are not zero, as a tensor of a sparse layout, torch.sparse_coo by default.

        With `sparse_dim`, rows of the dimensions after so many first ones; with `blocksize`, blocks.

        >>> torch.eye(2).to_sparse()
        tensor(indices=tensor([[0, 1],
                               [0, 1]]),
               values=tensor([1., 1.]),
               size=(2, 2), nnz=2, layout=torch.sparse_coo)
        """
        return _conversions().to_sparse(self, sparse_dim, layout=layout, blocksize=blocksize, dense_dim=dense_dim)

    def to_sparse_coo(self) -> Tensor:
        """The elements that are not zero, as a tensor of layout torch.sparse_coo.

        >>> torch.tensor([[0., 5.], [0., 0.]]).to_sparse_coo().indices()
        tensor([[0],
                [1]])
        """
        return self.to_sparse()

    def to_sparse_csr(self, dense_dim=None) -> Tensor:
        """The elements that are not zero, as a tensor of layout torch.sparse_csr.

        >>> torch.eye(2).to_sparse_csr()
        tensor(crow_indices=tensor([0, 1, 2]),
               col_indices=tensor([0, 1]),
               values=tensor([1., 1.]), size=(2, 2), nnz=2, layout=torch.sparse_csr)
        """
        return _compressed(self, "csr", None, dense_dim)

    def to_sparse_csc(self, dense_dim=None) -> Tensor:
        """The elements that are not zero, as a tensor of layout torch.sparse_csc.

        >>> torch.tensor([[0., 5.], [0., 0.]]).to_sparse_csc().ccol_indices()
        tensor([0, 0, 1])
        """
        return _compressed(self, "csc", None, dense_dim)

    def to_sparse_bsr(self, blocksize, dense_dim=None) -> Tensor:
        """The blocks that are not all zero, as a tensor of layout torch.sparse_bsr.

        >>> torch.eye(2).to_sparse_bsr((1, 1)).values().flatten()
        tensor([1., 1.])
        """
        return _compressed(self, "bsr", blocksize, dense_dim)

    def to_sparse_bsc(self, blocksize, dense_dim=None) -> Tensor:
        """The blocks that are not all zero, as a tensor of layout torch.sparse_bsc.

        >>> torch.eye(2).to_sparse_bsc((1, 1)).values().flatten()
        tensor([1., 1.])
        """
        return _compressed(self, "bsc", blocksize, dense_dim)

    _to_sparse, _to_sparse_csr, _to_sparse_csc = to_sparse, to_sparse_csr, to_sparse_csc
    _to_sparse_bsr, _to_sparse_bsc = to_sparse_bsr, to_sparse_bsc

    def resize_as_sparse_(self, other: Tensor) -> Tensor:
        """Take the shape and the places of values of another sparse tensor.

        >>> a, b = torch.eye(2).to_sparse_csr(), torch.eye(3).to_sparse_csr()
        >>> a.resize_as_sparse_(b).shape
        torch.Size([3, 3])
        """
        return _conversions().resize_as(self, other)

    def to_dense(self, dtype=None, *, masked_grad=None) -> Tensor:
        """The tensor itself, in another dtype if one is given.

        >>> torch.eye(2).to_sparse().to_dense()
        tensor([[1., 0.],
                [0., 1.]])
        """
        if self.layout is not _types.strided:  # torch.Tensor.to_dense(x)
            return type(self).to_dense(self, dtype, masked_grad=masked_grad)
        return self if dtype is None else self.to(dtype)

    def sparse_mask(self, mask: Tensor) -> Tensor:
        """The elements where a sparse tensor has values, as a sparse tensor.

        >>> torch.ones(2).sparse_mask(torch.tensor([0., 2.]).to_sparse()).to_dense()
        tensor([0., 1.])
        """
        return _conversions().sparse_mask(self, mask)

    def sparse_dim(self) -> int:
        """0: no dimension is sparse.

        >>> torch.ones(2, 3).sparse_dim()
        0
        """
        return 0 if self.layout is _types.strided else type(self).sparse_dim(self)

    def dense_dim(self) -> int:
        """The number of dimensions.

        >>> torch.ones(2, 3).dense_dim()
        2
        """
        return self.ndim if self.layout is _types.strided else type(self).dense_dim(self)

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
