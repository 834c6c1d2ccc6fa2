"""From one layout to another: of values the rows move, of indices all is computed anew on the host."""

from __future__ import annotations

import math

import numpy as np

from ...tensors import types as _types
from ...tensors.base import Tensor, from_array
from .base import KINDS, Sparse, rows_of, with_values
from .compressed import BY_BLOCK, BY_ROW, LAYOUTS, CompressedTensor, compressed, rows_in_grid
from .tensor import SparseTensor, coalesce

OTHER_SPARSE_DIM = "{name}: conversion from {source} to {target} with sparse_dim argument !={n} is not supported"


def to_sparse(x, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    """A tensor in a sparse layout, coordinates by default."""
    layout = _types.sparse_coo if layout is None else layout
    if layout is _types.strided:
        return x.to_dense()
    name = _name(x, layout)
    if (blocksize is None) == (layout in BY_BLOCK):
        how = "without blocksize argument given" if blocksize is None else "with blocksize argument given"
        raise _no_conversion(name, x, layout, how)
    if dense_dim is not None and x.layout is not _types.strided:
        raise _no_conversion(name, x, layout, "with dense_dim argument given")
    if dense_dim is not None:
        _check_dense_dim(name, x, dense_dim)
    if layout is not _types.sparse_coo:
        return to_compressed(x, layout, blocksize, dense_dim)
    if not isinstance(x, Sparse):
        n = x.ndim if sparse_dim is None else sparse_dim
        return dense_to_sparse(x, n if dense_dim is None else x.ndim - dense_dim)
    n = x.sparse_dim() + (0 if x.layout is _types.sparse_coo else x._batch_dim())
    if sparse_dim not in (None, n):
        wanted = "self.sparse_dim()" if x.layout is _types.sparse_coo else n
        raise RuntimeError(OTHER_SPARSE_DIM.format(name=name, source=KINDS[x.layout], target=KINDS[layout], n=wanted))
    return _coordinates(x) if isinstance(x, CompressedTensor) else x


def _name(x, layout, to: str = "to_sparse") -> str:
    """What PyTorch calls a conversion in its errors."""
    if x.layout is layout:
        return to
    if x.layout is _types.strided:
        return f"dense_{to}"
    generic = "sparse_coo" if to == "to_sparse" else "coo"
    return f"{'sparse_compressed' if isinstance(x, CompressedTensor) else generic}_{to}"


def _no_conversion(name: str, x, layout, how: str) -> RuntimeError:
    return RuntimeError(f"{name}: conversion from {KINDS[x.layout]} to {KINDS[layout]} {how} is not supported")


def _check_dense_dim(name: str, x, dense_dim: int):
    if not 0 <= dense_dim <= max(x.ndim - 2, 0):
        raise RuntimeError(
            f"{name}: dense_dim argument must be in [0,{max(x.ndim - 2, 0)}] range, but {dense_dim} is given"
        )


def to_compressed(x, layout, blocksize=None, dense_dim=None) -> CompressedTensor:
    """A tensor in a compressed layout."""
    name = _name(x, layout, f"to_{repr(layout).removeprefix('torch.')}")
    if x.layout is _types.sparse_coo and x.sparse_dim() != 2:
        raise _no_conversion(name, x, layout, "for input tensors with sparse_dim()!=2")
    if dense_dim is not None and x.layout is not _types.strided:
        raise _no_conversion(name, x, layout, "with dense_dim argument given")
    if dense_dim is not None:
        _check_dense_dim(name, x, dense_dim)
    n_batch = x._batch_dim() if isinstance(x, CompressedTensor) else 0
    if x.layout is _types.strided:
        n_batch = x.ndim - 2 - (dense_dim or 0)
        if n_batch < 0:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-max(x.ndim, 1)}, {max(x.ndim, 1) - 1}], "
                f"but got -2)"
            )
    block = ()
    if layout in BY_BLOCK:
        block = _checked_block(name, x, layout, blocksize, n_batch)
    if isinstance(x, CompressedTensor):
        return _recompressed(name, x, layout, block)
    return _dense_to(name, x, layout, block, n_batch) if x.layout is _types.strided else _coo_to(x, layout, block)


def _checked_block(name: str, x, layout, blocksize, n_batch: int) -> tuple[int, int]:
    block = (blocksize, blocksize) if isinstance(blocksize, int) else tuple(blocksize)
    if len(block) != 2:
        raise RuntimeError(f"{name}: blocksize needs to be a tuple of size 2, but got {len(block)}")
    if min(block) <= 0:
        raise RuntimeError(f"{name}: blocksize needs to be positive, but got {list(block)}")
    if x.layout in BY_BLOCK:
        if x._block() != block:
            how = f"with blocksize changed from {list(x._block())} to {list(block)}"
            raise _no_conversion(name, x, layout, how)
        return block
    height, width = x.shape[n_batch : n_batch + 2]
    if height % block[0] or width % block[1]:
        raise RuntimeError(
            f"{name}: tensor sparse size ({height},{width}) must be divisible by given blocksize "
            f"({block[0]},{block[1]})"
        )
    return block


# ---- dense ---------------------------------------------------------------------------------------


def _hits(array: np.ndarray, n: int) -> np.ndarray:
    """Where rows, of the dimensions from n on, are not all zeros."""
    hit = array.astype(bool) if array.dtype.kind == "V" else array != 0
    return hit.any(tuple(range(n, array.ndim)))


def dense_to_sparse(x: Tensor, sparse_dim: int) -> SparseTensor:
    """The elements (rows of the dimensions after the first sparse_dim) that are not zero."""
    if not 0 <= sparse_dim <= x.ndim or (not sparse_dim and x.ndim):
        raise RuntimeError(f"sparse_dim {sparse_dim} of a tensor of {x.ndim} dimensions must be from 1 to {x.ndim}")
    hit = _hits(x.detach()._array(), sparse_dim)
    indices = np.argwhere(hit).T.astype(np.int64)
    if not sparse_dim:
        indices = np.zeros((0, int(hit.any())), np.int64)
    pattern = SparseTensor(
        from_array(indices), x.detach().new_zeros((indices.shape[1], *x.shape[sparse_dim:])), x.shape, True
    )
    return with_values(pattern, rows_of(x, pattern))


def _dense_to(name: str, x: Tensor, layout, block: tuple, n_batch: int) -> CompressedTensor:
    if n_batch and not math.prod(x.shape[:n_batch]):
        raise RuntimeError(f"{name}: Expected product of batch dimensions to be non-zero.")
    rows = rows_in_grid(x, n_batch, block)
    numbers = np.flatnonzero(_hits(rows.detach()._array(), 1))
    return compressed(numbers, rows.index_select(0, from_array(numbers)), x.shape, n_batch, layout)


# ---- coordinates ---------------------------------------------------------------------------------


def _coo_to(x: SparseTensor, layout, block: tuple) -> CompressedTensor:
    x = coalesce(x)
    numbers, rows = x._numbers(), x._what
    if block:
        numbers, rows = _in_blocks(numbers, rows, x.shape, block)
    return compressed(numbers, rows, x.shape, 0, layout)


def _in_blocks(numbers: np.ndarray, rows: Tensor, size, block: tuple) -> tuple[np.ndarray, Tensor]:
    """Elements of a matrix as blocks: their numbers, and what is in them."""
    row, column = np.divmod(numbers, max(size[1], 1))
    where = row // block[0] * (size[1] // block[1]) + column // block[1]
    found, which = np.unique(where, return_inverse=True)
    inside = (which.reshape(-1) * block[0] + row % block[0]) * block[1] + column % block[1]
    flat = rows.new_zeros((len(found) * block[0] * block[1], *rows.shape[1:]))
    filled = flat.index_add(0, from_array(inside.astype(np.int64)), rows)
    return found, filled.reshape(len(found), *block, *rows.shape[1:])


def _coordinates(x: CompressedTensor) -> SparseTensor:
    batch, row, column = x._coordinates()
    values, block = x._flat(), x._block()
    if block:
        down, right = (grid.reshape(-1) for grid in np.indices(block))
        batch = np.repeat(batch, down.size)
        row, column = (
            (i[:, None] * n + j).reshape(-1) for i, n, j in ((row, block[0], down), (column, block[1], right))
        )
        values = values.reshape(len(batch), *x._dense())
    elif x.layout is _types.sparse_csc:
        order = np.lexsort((column, row, batch))
        batch, row, column = batch[order], row[order], column[order]
        values = values.index_select(0, from_array(order))
    batches = np.unravel_index(batch, x._batch()) if x._batch() else ()
    indices = from_array(np.stack([*batches, row, column]).astype(np.int64))
    made = SparseTensor(indices, values, x.shape, False)
    return made._with(values, x.layout in BY_ROW and bool((np.diff(made._numbers()) > 0).all()))


# ---- compressed ----------------------------------------------------------------------------------


def _recompressed(name: str, x: CompressedTensor, layout, block: tuple) -> CompressedTensor:
    if x.layout is layout:
        return x
    if x.layout in BY_BLOCK and layout not in BY_BLOCK:
        raise RuntimeError(f"{name}: expected SparseCsr or SparseCsc layout but got {KINDS[x.layout]}")
    numbers, rows, index_dtype = x._numbers(), x._flat(), x._ends._array().dtype
    if block and x.layout not in BY_BLOCK:
        if x._batch_dim():
            raise _no_conversion(name, x, layout, "for batched inputs")
        numbers, rows = _in_blocks(numbers, rows, x.shape, block)
    return compressed(numbers, rows, x.shape, x._batch_dim(), layout, index_dtype)


def transposed(x: CompressedTensor) -> CompressedTensor:
    """Rows and columns exchanged: the same indices in the other layout."""
    layout = LAYOUTS[LAYOUTS.index(x.layout) ^ 1]
    n = x._batch_dim()
    values = x._what.transpose(n + 1, n + 2) if x._block() else x._values_view()
    size = list(x.shape)
    size[n], size[n + 1] = size[n + 1], size[n]
    return CompressedTensor(x._ends, x._plain, values, size, layout)


def sparse_mask(x, mask):
    """The elements of x where the mask has values."""
    if not isinstance(mask, Sparse):
        raise RuntimeError("sparse_mask: expected mask to have sparse layout")
    if x.shape != mask.shape:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size "
            f"{list(x.shape)} but mask has size {list(mask.shape)}"
        )
    return with_values(mask, rows_of(x.to_dense(), mask))


def same_places(x: Sparse, y: Sparse) -> bool:
    """Whether two tensors of a layout have values at the same places, in the same order."""
    pairs = zip(x._parts().values(), y._parts().values())
    return all(np.array_equal(a._array(), b._array()) for a, b in pairs)


def as_coo(x):
    """A compressed tensor by its coordinates; anything else itself."""
    return _coordinates(x) if isinstance(x, CompressedTensor) else x


def resize_as(x, other) -> CompressedTensor:
    """x.resize_as_sparse_(other): its shape and places of values, which are zeros."""
    for name, y in (("src ", other), ("self ", x)):
        if not isinstance(y, CompressedTensor):
            raise RuntimeError(
                f"resize_as_sparse_compressed_: {name} expected sparse compressed tensor layout "
                f"but got {KINDS[y.layout]}"
            )
    if x.layout is not other.layout:
        raise RuntimeError(
            "resize_as_sparse_compressed_tensor_: self and src must have the same layout, but got: "
            f"self ({KINDS[x.layout]}) and source ({KINDS[other.layout]})"
        )
    ends, plain = (y.to(x._ends.dtype) for y in (other._ends, other._plain))
    values = x._what.detach().new_zeros(other._what.shape)
    return x.become(CompressedTensor(ends, plain, values, other.shape, x.layout))
