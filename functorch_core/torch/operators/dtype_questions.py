"""torch.result_type, promote_types, can_cast."""

from __future__ import annotations

from ...core import dtypes as dt
from ..dispatch.slots import python_number
from ..tensors import types as _types
from ..tensors.active import overridable
from ..tensors.base import Tensor
from ..tensors.promotion import combine_ranks, promote_dtypes, scalar_dtype


@overridable
def result_type(tensor1, tensor2) -> _types.dtype:
    """The dtype that operations on two tensors or numbers compute in.

    >>> torch.result_type(torch.tensor([1, 2], dtype=torch.int8), 1.5)
    torch.float32
    """
    ranks: list = [None, None, None]  # tensors with dimensions, without, numbers
    for x in (tensor1, tensor2):
        if isinstance(x, Tensor):
            rank, d = (0 if x.ndim else 1), x.dtype.numpy
        else:
            rank, d = 2, scalar_dtype(type(python_number(x)))
        ranks[rank] = d if ranks[rank] is None else promote_dtypes(ranks[rank], d)
    return _types.of_numpy(combine_ranks(*ranks))


@overridable
def promote_types(type1: _types.dtype, type2: _types.dtype) -> _types.dtype:
    """The smallest dtype that holds both.

    >>> torch.promote_types(torch.uint8, torch.int8)
    torch.int16
    """
    return _types.of_numpy(promote_dtypes(type1.numpy, type2.numpy))


@overridable
def can_cast(from_: _types.dtype, to: _types.dtype) -> bool:
    """Whether a result of one dtype may be written to a tensor of another.

    >>> torch.can_cast(torch.double, torch.float), torch.can_cast(torch.float, torch.int)
    (True, False)
    """
    if from_.is_complex and not to.is_complex:
        return False
    if from_.is_floating_point and not (to.is_floating_point or to.is_complex):
        return False
    return to is not _types.bool_ or from_ is _types.bool_ or dt.category(from_.numpy) == 0
