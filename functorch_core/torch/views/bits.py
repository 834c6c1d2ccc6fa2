"""Conjugate and negative bits: what a chain of lenses does to the numbers that lie in memory.

They are no state of a tensor. Each kind of view says what it does to them, and who asks walks along the chain;
a tensor that is no view, as nearly all are, has none.
"""

from __future__ import annotations

import functools

import numpy as np

from ...core import dtypes as dt
from ..tensors.base import Tensor
from .cells import Alias
from .lenses import KINDS

NO_ARRAY = (
    "Can't call numpy() on Tensor that has {name} bit set. Use tensor.resolve_{short}().numpy() instead.",
    (("conjugate", "conj"), ("negative", "neg")),
)


def bits_of(tensor: Tensor) -> tuple[bool, bool]:
    """(is a conjugate, is negated) of what the tensor shows of its memory."""
    alias = tensor._view
    return (False, False) if alias is None or not alias.chain else bits_through(alias)


def bits_through(alias: Alias) -> tuple[bool, bool]:
    """The bits of what an alias shows."""
    return _bits(tuple([lens.kind for lens in alias.chain]))


@functools.lru_cache(1024)
def _bits(names: tuple[str, ...]) -> tuple[bool, bool]:
    conj = neg = False
    for name in names:
        change = KINDS[name].bits
        if change is not None:
            conj, neg = change(conj, neg)
    return conj, neg


def resolved(array: np.ndarray, alias: Alias) -> np.ndarray:
    """The numbers that an alias shows, of those in memory, and the other way round."""
    conj, neg = bits_through(alias) if alias.chain else (False, False)
    if conj and array.dtype == dt.complex32:  # NumPy has no functions for it: the sign of the upper half
        array = (np.ascontiguousarray(array).view(np.uint32) ^ np.uint32(1 << 31)).view(dt.complex32)
    elif conj:
        array = array.conj()
    return np.negative(array) if neg else array


def check_array(alias: Alias):
    """RuntimeError if the numbers in memory are not those that an alias shows."""
    text, names = NO_ARRAY
    for bit, (name, short) in zip(bits_through(alias), names):
        if bit:
            raise RuntimeError(text.format(name=name, short=short))
