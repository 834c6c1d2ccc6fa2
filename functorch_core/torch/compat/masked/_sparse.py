"""Reductions of torch.masked over sparse tensors: of the elements that a mask keeps, by their coordinates."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .... import torch
from ...tensors.base import from_array

EXPLICIT = "masked {name} expects explicit mask for {layout} tensor input"
NO_COO_MEAN = "masked mean expects strided or sparse_csr tensor (got torch.sparse_coo tensor)"
ONLY_KEPT = "reduction operations on CSR tensors with keepdim=False is unsupported"


def _lowest(dtype):
    return -math.inf if dtype.is_floating_point or dtype.is_complex else torch.iinfo(dtype).min


def _highest(dtype):
    return math.inf if dtype.is_floating_point else torch.iinfo(dtype).max


IDENTITY: dict[str, Callable] = {
    "sum": lambda dtype: 0,
    "prod": lambda dtype: 1,
    "amax": _lowest,
    "argmax": _lowest,
    "amin": _highest,
    "argmin": _highest,
    "median": lambda dtype: math.nan,
}


def reduce_sparse(name: str, x, dims: tuple[int, ...], keepdim: bool, dtype, mask):
    """A reduction over dimensions of the elements that a mask keeps, or that are there: sparse, as the input is.

    What is kept and not there is 0; where nothing is kept, nothing is there.
    """
    layout = str(x.layout).removeprefix("torch.")
    if name == "mean" and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"mean expects dtype to be floating point or complex, got {dtype}")
    if name == "mean" and layout == "sparse_coo":
        raise ValueError(NO_COO_MEAN)
    if mask is None and name != "sum":
        raise ValueError(EXPLICIT.format(name=name, layout=layout))
    if layout != "sparse_coo":
        if not keepdim:
            raise (RuntimeError if name in ("sum", "prod") else AssertionError)(ONLY_KEPT)
        mask = mask if mask is None else mask.to_sparse()
        return _by_places(name, _kept(x.to_sparse(), mask), dims, True, dtype).to_sparse_csr()
    x = _kept(x.to_dense().to_sparse() if x.dense_dim() else x.coalesce(), mask)
    if len(dims) < x.ndim:
        return _by_places(name, x, dims, keepdim, dtype)
    values = x.values().to(dtype)
    reduced = getattr(torch, name)(values) if x._nnz() else values.new_full((), IDENTITY[name](dtype))
    return reduced.to(dtype).reshape([1] * x.ndim if keepdim else []).to_sparse()


def _kept(x, mask):
    """The elements of a tensor in coordinate format that a mask keeps; all that are there without."""
    return x if mask is None else x.sparse_mask(_places(mask, x.shape))


def _by_places(name: str, x, dims: tuple[int, ...], keepdim: bool, dtype):
    """The reduction of what is there, for each place in the other dimensions that has something."""
    values = x.values().to(dtype)
    where = x.indices().numpy().copy()
    size = [1 if d in dims else n for d, n in enumerate(x.shape)]
    where[list(dims)] = 0
    groups, number = np.unique(where, axis=1, return_inverse=True)
    start, index = values.new_zeros(groups.shape[1]), from_array(number.reshape(-1).astype(np.int64))
    found = start.scatter_reduce(0, index, values, name, include_self=False)
    if not keepdim:
        groups, size = np.delete(groups, dims, 0), [n for d, n in enumerate(size) if d not in dims]
    return torch.sparse_coo_tensor(from_array(groups.astype(np.int64)), found, size, is_coalesced=True)


def _places(mask, shape):
    """The places that a mask keeps, as a sparse tensor of ones."""
    if mask.layout is torch.strided or mask.dense_dim() or mask.shape != shape:
        mask = mask.to_dense().broadcast_to(shape)
    mask = (mask if mask.layout is torch.sparse_coo else mask.to_sparse()).coalesce()
    where = mask.indices()[:, mask.values()]
    return torch.sparse_coo_tensor(where, torch.ones(where.shape[1]), shape, is_coalesced=True)


def in_layout_of(input, mask):
    """A mask of the input's shape in its layout."""
    if input.layout is torch.strided:
        return mask if mask.layout is torch.strided else mask.to_dense()
    if input.layout is torch.sparse_coo:
        if mask.layout is torch.strided:
            return mask.to_sparse(input.sparse_dim())
        return (mask if mask.layout is torch.sparse_coo else mask.to_sparse()).coalesce()
    if input.layout is torch.sparse_csr:
        return mask if mask.layout is torch.sparse_csr else mask.to_sparse_csr()
    raise ValueError(f"_input_mask expects strided or sparse COO or sparse CSR tensor but got {input.layout}")


def sparse_where(mask, input, fill_value):
    """What a sparse mask keeps of a sparse tensor, 0 of what is not there; in its dense part fill values elsewhere."""
    compressed = mask.layout is torch.sparse_csr
    places = (mask.to_sparse() if compressed else mask).coalesce()
    x = (input.to_sparse() if compressed else input).coalesce()
    kept = places.values()
    if not x.dense_dim():
        where = places.indices()[:, kept]
        ones = torch.ones(where.shape[1], dtype=torch.bool, device=mask.device)
        places, kept = torch.sparse_coo_tensor(where, ones, mask.shape, is_coalesced=True), True
    there = x.to_dense()[tuple(places.indices())]
    values = there if kept is True else torch.where(kept, there, fill_value)
    found = torch.sparse_coo_tensor(places.indices(), values, mask.shape, is_coalesced=True)
    return found.to_sparse_csr() if compressed else found
