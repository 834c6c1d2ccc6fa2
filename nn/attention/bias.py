"""Causal masks of attention between sequences of two lengths."""

from __future__ import annotations

import enum

from ...core.warn import warn
from ...torch import ones, tril
from ...torch.tensors.base import Tensor, new_tensor
from ...torch.tensors.types import bool_
from .._names import publish

NANS = "Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!"


class CausalVariant(enum.IntEnum):
    """Which corner of the (queries, keys) matrix the diagonal starts from.

    >>> from torch.nn.attention.bias import CausalVariant
    >>> list(CausalVariant.__members__)
    ['UPPER_LEFT', 'LOWER_RIGHT']
    """

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A causal mask (seq_len_q, seq_len_kv): True where a query may attend.

    >>> from torch.nn.attention.bias import causal_lower_right
    >>> q, k = torch.ones(1, 1, 2, 4), torch.ones(1, 1, 3, 4)
    >>> F.scaled_dot_product_attention(q, k, k, attn_mask=causal_lower_right(2, 3)).shape
    torch.Size([1, 1, 2, 4])
    """

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int):
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        offset = seq_len_kv - seq_len_q if variant is CausalVariant.LOWER_RIGHT else 0
        everything = ones(seq_len_q, seq_len_kv, dtype=bool_)
        mask = new_tensor(tril(everything, diagonal=offset)._read())
        mask.__class__ = cls
        mask.variant, mask.seq_len_q, mask.seq_len_kv = variant, seq_len_q, seq_len_kv
        return mask

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int):
        if seq_len_q > seq_len_kv and variant is CausalVariant.LOWER_RIGHT:
            warn(NANS)


def causal_upper_left(*size: int) -> CausalBias:
    """Query i attends to keys 0..i.

    >>> from torch.nn.attention.bias import causal_upper_left
    >>> q, k = torch.ones(1, 1, 2, 4), torch.ones(1, 1, 3, 4)
    >>> F.scaled_dot_product_attention(q, k, k, attn_mask=causal_upper_left(2, 3)).shape
    torch.Size([1, 1, 2, 4])
    """
    return _of_size("causal_upper_left", CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size: int) -> CausalBias:
    """The last query attends to all keys, the one before to all but one, and so on.

    >>> from torch.nn.attention.bias import causal_lower_right
    >>> q, k = torch.ones(1, 1, 2, 4), torch.ones(1, 1, 3, 4)
    >>> F.scaled_dot_product_attention(q, k, k, attn_mask=causal_lower_right(2, 3)).shape
    torch.Size([1, 1, 2, 4])
    """
    return _of_size("causal_lower_right", CausalVariant.LOWER_RIGHT, size)


def _of_size(name: str, variant: CausalVariant, size: tuple):
    if len(size) != 2:
        raise AssertionError(f"{name} only supports 2D tensors")
    return CausalBias(variant, *size)


__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]

publish()
