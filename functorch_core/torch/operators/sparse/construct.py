"""Making tensors of compressed layouts: torch.sparse_compressed_tensor and its kin."""

from __future__ import annotations

import math

import numpy as np

from ...tape.node_names import rename
from ...tensors import types as _types
from ...tensors.base import Tensor, from_array
from ..shape.creation import empty
from ..shape.data import as_tensor
from .base import KINDS
from .compressed import BY_BLOCK, BY_ROW, CompressedTensor, compressed, index_names
from .invariants import check_args, check_indices, check_layout, check_sparse_tensor_invariants, numbers_of_dimensions


def sparse_compressed_tensor(
    compressed_indices,
    plain_indices,
    values,
    size=None,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
):
    """A sparse tensor of a layout that compresses rows (CSR, BSR) or columns (CSC, BSC).

    Indices (*batch, rows + 1) say where each row begins, (*batch, nnz) the columns. `size` is by default the smallest
    that holds all. RuntimeError for indices outside of it.

    >>> torch.sparse_compressed_tensor([0, 1, 2], [2, 0], [3., 4.], (2, 3), layout=torch.sparse_csr).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    check_layout(layout, "sparse_compressed_tensor")
    ends, plain = (as_tensor(x, device=device) for x in (compressed_indices, plain_indices))
    ends, plain = (x.to(_types.int64) if x.is_floating_point() and not x.numel() else x for x in (ends, plain))
    values = as_tensor(values, dtype=dtype, device=device)
    if size is None:
        size = _least_size(ends, plain, values, layout)
    strict = check_sparse_tensor_invariants.is_enabled() if check_invariants is None else check_invariants
    check_args(ends, plain, values, size, layout, strict)
    if requires_grad:
        values = values.detach().requires_grad_()
    elif values.requires_grad:
        values = values.view_as(values)
        rename(values, "SparseCompressedTensorBackward0")
    return CompressedTensor(ends, plain, values, size, layout)


def _least_size(ends: Tensor, plain: Tensor, values: Tensor, layout) -> tuple[int, ...]:
    n, n_block = numbers_of_dimensions(ends, plain, values, layout)
    block = tuple(values.shape[n + 1 : n + 3]) if n_block else (1, 1)
    grid = ends.shape[-1] - 1, int(plain._array().max()) + 1 if plain.numel() else 0
    rows, columns = grid if layout in BY_ROW else grid[::-1]
    return (*ends.shape[:n], rows * block[0], columns * block[1], *values.shape[n + 1 + n_block :])


def _constructor(layout, name: str):
    c, p = index_names(layout)

    def make(ends, plain, values, size, options):
        asked = options.pop("layout", None)
        if asked not in (None, layout):
            raise RuntimeError(f"{name}: layout must be {KINDS[layout]} but got {KINDS.get(asked, asked)}")
        return sparse_compressed_tensor(ends, plain, values, size, layout=layout, **options)

    if layout in BY_ROW:

        def function(crow_indices, col_indices, values, size=None, **options):
            return make(crow_indices, col_indices, values, size, options)
    else:

        def function(ccol_indices, row_indices, values, size=None, **options):
            return make(ccol_indices, row_indices, values, size, options)

    function.__name__ = function.__qualname__ = name
    values = "[[[1.]], [[2.]]]" if name[7:10] in ("bsr", "bsc") else "[1., 2.]"
    function.__doc__ = f"""A sparse tensor of layout {layout}: `sparse_compressed_tensor` of {c} and {p}.

    >>> torch.{name}([0, 1, 2], [1, 0], {values}).to_dense().sum()
    tensor(3.)
    """
    function.__module__ = "torch"
    return function


sparse_csr_tensor, sparse_csc_tensor, sparse_bsr_tensor, sparse_bsc_tensor = (
    _constructor(getattr(_types, f"sparse_{x}"), f"sparse_{x}_tensor") for x in ("csr", "csc", "bsr", "bsc")
)


def empty_compressed(size, layout, values: Tensor, n_batch: int, block=(), index_dtype=np.int64) -> CompressedTensor:
    """A tensor without values, of the dtype and device of a tensor."""
    size = tuple(size)
    rows = values.detach().new_zeros((0, *block, *size[n_batch + 2 :]))
    if math.prod(size[:n_batch]):
        return compressed(np.zeros(0, np.int64), rows, size, n_batch, layout, index_dtype)
    n_index = (size[n_batch] if layout in BY_ROW else size[n_batch + 1]) + 1
    batch = size[:n_batch]
    return CompressedTensor(
        from_array(np.zeros((*batch, n_index), index_dtype)),
        from_array(np.zeros((*batch, 0), index_dtype)),
        rows.reshape(*batch, 0, *rows.shape[1:]),
        size,
        layout,
    )


def of_shape(name: str, size, layout, dtype=None, device=None, requires_grad=False) -> CompressedTensor:
    """torch.zeros and torch.empty of a compressed layout."""
    if layout in BY_BLOCK:
        raise RuntimeError(
            f"{name}_sparse_compressed expected sparse compressed (non-block) tensor layout but got {KINDS[layout]}"
        )
    if len(size) < 2:
        raise RuntimeError(
            f"torch.{name}: Only batched sparse compressed (non-block) tensors are supported, but got size {list(size)}"
        )
    made = empty_compressed(size, layout, empty((0,), dtype=dtype, device=device), len(size) - 2)
    return made.requires_grad_(requires_grad)


# ---- checks under PyTorch's private names --------------------------------------------------------


def _validate_sparse_compressed_tensor_args(
    compressed_indices, plain_indices, values, size, layout, check_pinning=None
):
    """RuntimeError for what makes no tensor of a compressed layout."""
    check_layout(layout, "validate_sparse_compressed_tensor_args")
    check_args(compressed_indices, plain_indices, values, size, layout)


def _validator(layout):
    def validate(compressed_indices, plain_indices, values, size, check_pinning=None):
        check_args(compressed_indices, plain_indices, values, size, layout)

    validate.__doc__ = f"RuntimeError for what makes no tensor of layout {layout}."
    return validate


(
    _validate_sparse_csr_tensor_args,
    _validate_sparse_csc_tensor_args,
    _validate_sparse_bsr_tensor_args,
    _validate_sparse_bsc_tensor_args,
) = map(_validator, (_types.sparse_csr, _types.sparse_csc, _types.sparse_bsr, _types.sparse_bsc))


def _validate_compressed_sparse_indices(is_crow, compressed_idx, plain_idx, cdim, dim, nnz):
    """RuntimeError for indices that are not inside of bounds or not in order."""
    check_indices(is_crow, compressed_idx, plain_idx, cdim, dim, nnz)
