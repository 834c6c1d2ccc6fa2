"""x[mask] = number: masked_fill_ in PyTorch, where other writes at tensors are index_put_."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....core import dtypes as dt
from ....core.aval import Aval
from ...tensors import types as _types
from ...tensors.base import Tensor
from ...views.cells import current_aval
from ..shape.copies import fill_number
from ..values import c_type

MASKS = (dt.bool_, dt.uint8)


def fills_mask(indices: Sequence[Tensor], value) -> bool:
    """Whether a write is one of a number where a mask is True: PyTorch's masked_fill_, which reads the number before
    it writes and converts it, and takes the tensor itself for a mask."""
    if len(indices) != 1 or indices[0]._aval.dtype not in MASKS or not indices[0].ndim:
        return False
    return not isinstance(value, Tensor) or current_aval(value).size == 1


def check_mask(mask: Aval):
    """RuntimeError for a mask of a dtype that masked_fill_ does not take."""
    if mask.dtype != dt.bool_:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {c_type(mask.dtype)}")


def one_of_dtype(value: Tensor, dtype: np.dtype) -> Tensor:
    """One element for what a mask shows, the only one that need not be of the dtype."""
    if value.is_complex() and dtype not in dt.COMPLEX:
        fill_number(value, dtype)  # raises unless it is real
        value = value.real
    return value.to(_types.of_numpy(dtype))


def number_at_mask(box: Tensor, where, number) -> Tensor:
    """box[mask] = number, without asking where the mask is True."""
    dim, mask = where
    shape = (1,) * dim + tuple(mask.shape) + (1,) * (box.ndim - dim - mask.ndim)
    return box.masked_fill(mask.reshape(shape), number)
