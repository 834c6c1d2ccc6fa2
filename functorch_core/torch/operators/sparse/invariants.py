"""Whether indices and values make a sparse tensor of a compressed layout."""

from __future__ import annotations

import functools
import math

import numpy as np

from ...tensors.base import Tensor
from .base import KINDS
from .compressed import BY_BLOCK, BY_ROW, LAYOUTS, index_names


class check_sparse_tensor_invariants:
    """Whether sparse tensors of compressed layouts are checked for the order of their indices when they are made.

    That indices are inside of the size is always checked.

    >>> with torch.sparse.check_sparse_tensor_invariants():
    ...   torch.sparse.check_sparse_tensor_invariants.is_enabled()
    True
    """

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
        """Ask for none; those of indices' bounds are made all the same."""
        check_sparse_tensor_invariants._enabled = False

    def __enter__(self):
        if self.saved is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context manager instance for "
                "context nesting."
            )
        self.saved = self.is_enabled()
        check_sparse_tensor_invariants._enabled = self.state

    def __exit__(self, *exc):
        check_sparse_tensor_invariants._enabled, self.saved = self.saved, None

    def __call__(self, function):
        @functools.wraps(function)
        def checked(*args, **kwargs):
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked


def need(holds: bool, text: str):
    """RuntimeError with a text unless something holds."""
    if not holds:
        raise RuntimeError(text)


def check_layout(layout, name: str):
    """RuntimeError for layouts that are not compressed."""
    if layout not in LAYOUTS:
        got = "none" if layout is None else KINDS.get(layout, str(layout))
        raise RuntimeError(f"{name} expected sparse compressed tensor layout but got {got}")


def check_args(ends: Tensor, plain: Tensor, values: Tensor, size, layout, strict: bool = True):
    """RuntimeError where PyTorch's invariants are violated; without `strict` the order of indices is not one."""
    names, size = index_names(layout), tuple(size)
    if strict:
        for name, x in zip(names, (ends, plain)):
            need(
                not x.ndim or not x.numel() or x.stride(-1) == 1 or x.shape[-1] == 1,
                f"expected {name} to be a contiguous tensor per batch",
            )
    _check_dimensions(ends, plain, values, size, layout)
    _check_sizes(ends, plain, values, size, layout)
    kinds = [x.type().rpartition(".")[2].removesuffix("Tensor") for x in (ends, plain)]
    need(
        kinds[0] == kinds[1],
        f"{names[0]} and {names[1]} must have the same dtype, bot got {kinds[0]} and {kinds[1]}, respectively",
    )
    need(kinds[0] in ("Int", "Long"), f"{names[0]} and {names[1]} dtype must be Int or Long, but got {kinds[0]}")
    if not values.is_meta:
        n, block = ends.ndim - 1, _block(values, ends, layout)
        grid = [s // b for s, b in zip(size[n : n + 2], block)]
        grid = grid if layout in BY_ROW else grid[::-1]
        check_indices(layout in BY_ROW, ends, plain, *grid, plain.shape[-1], strict)


def _block(values: Tensor, ends: Tensor, layout) -> tuple[int, int]:
    return tuple(values.shape[ends.ndim : ends.ndim + 2]) if layout in BY_BLOCK else (1, 1)


def numbers_of_dimensions(ends: Tensor, plain: Tensor, values: Tensor, layout) -> tuple[int, int]:
    """(batch dimensions, dimensions of a block) of parts; RuntimeError if they do not fit each other."""
    names, n_block = index_names(layout), 2 if layout in BY_BLOCK else 0
    for name, x in zip(names, (ends, plain)):
        need(x.ndim >= 1, f"{name} must have dimensionality >= 1 but got {x.ndim}")
    need(
        ends.ndim == plain.ndim,
        f"{names[0]} and {names[1]} dimensionalities must be equal but got {ends.ndim} and {plain.ndim}, respectively",
    )
    n = ends.ndim - 1
    need(
        values.ndim > n + n_block,
        "values must have dimensionality > sum of batch and block dimensionalities "
        f"(={n} + {n_block}) but got {values.ndim}",
    )
    return n, n_block


def _check_dimensions(ends: Tensor, plain: Tensor, values: Tensor, size: tuple, layout):
    n, n_block = numbers_of_dimensions(ends, plain, values, layout)
    dense = values.ndim - n - n_block - 1
    need(
        len(size) == n + 2 + dense,
        "tensor dimensionality must be sum of batch, base, and dense dimensionalities "
        f"(={n} + 2 + {dense}) but got {len(size)}",
    )


def _check_sizes(ends: Tensor, plain: Tensor, values: Tensor, size: tuple, layout):
    names, n = index_names(layout), ends.ndim - 1
    batches = [list(x.shape[:n]) for x in (ends, plain, values)]
    need(
        all(batch == list(size[:n]) for batch in batches),
        f"all batch dimensions of {names[0]} (={batches[0]}), {names[1]} (={batches[1]}), and values (={batches[2]}) "
        f"must be equal to tensor batch dimensions (={list(size[:n])})",
    )
    block = _block(values, ends, layout)
    for i in range(2):
        need(block[i] > 0, f"blocksize[{i}] must be positive, but got {block[i]}")
        need(
            size[n + i] % block[i] == 0,
            f"tensor shape[{i}] (={size[n + i]}) must be divisible with blocksize[{i}] (={block[i]}) "
            "as defined by values shape",
        )
    i = 0 if layout in BY_ROW else 1
    what = ("row", "column")[i] + (" blocks" if layout in BY_BLOCK else "s")
    wanted = size[n + i] // block[i] + 1
    need(
        ends.shape[-1] == wanted,
        f"{names[0]}.shape[-1] must be equal to the number of {what} + 1 (={wanted}), but got {ends.shape[-1]}",
    )
    nnz = values.shape[n]
    need(
        plain.shape[-1] == nnz,
        f"{names[1]}.shape[-1] must be equal to nnz (={nnz}) as defined by values.shape[{n}], "
        f"but got {plain.shape[-1]}",
    )
    dense, block_dims = size[n + 2 :], 2 if layout in BY_BLOCK else 0
    found = tuple(values.shape[n + 1 + block_dims :])
    need(found == dense, f"values dense shape {list(found)} must be equal to the tensor's {list(dense)}")


def check_indices(by_row: bool, ends, plain, n_compressed: int, n_plain: int, nnz: int, strict: bool = True):
    """RuntimeError for indices outside of bounds; with `strict` for such as are not in order."""
    c, p, dims = ("crow_indices", "col_indices", ("nrows", "ncols"))
    if not by_row:
        c, p, dims = "ccol_indices", "row_indices", dims[::-1]
    n = math.prod(ends.shape[:-1])
    where, other = (x._array().reshape(n, x.shape[-1]) for x in (ends, plain))
    need(bool((where[:, :1] == 0).all()), f"`{c}[..., 0] == 0` is not satisfied.")
    need(bool((where[:, -1:] == nnz).all()), f"`{c}[..., -1] == nnz` is not satisfied.")
    counts = np.diff(where, axis=1)
    # With repeated indices, which only `strict` forbids, a row may have more elements than columns.
    need(
        bool(((counts >= 0) & ((counts <= n_plain) if strict else True)).all()),
        f"`0 <= {c}[..., 1:] - {c}[..., :-1] <= {dims[1]}` is not satisfied.",
    )
    need(bool(((other >= 0) & (other < n_plain)).all()), f"`0 <= {p} < {dims[1]}` is not satisfied.")
    if strict and other.size:
        rising = np.diff(other, axis=1) > 0
        for batch, ok in zip(where, rising):  # the first of a row may be less than the last of the row before
            starts = batch[(batch > 0) & (batch < nnz)]
            ok[starts - 1] = True
        need(
            bool(rising.all()),
            f"`{p}[..., {c}[..., i - 1]:{c}[..., i]] for all i = 1, ..., {dims[0]} are sorted and distinct along the "
            "last dimension values` is not satisfied.",
        )
