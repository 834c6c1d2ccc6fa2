"""Abstract values: what is known of an array before it is computed."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np


class Aval:
    """A shape and a dtype, interned: equal avals are the same object, so `is` and `id` compare."""

    __slots__ = ("shape", "dtype", "ndim", "size", "id")
    shape: tuple[int, ...]
    dtype: np.dtype
    ndim: int
    size: int
    id: int

    def __repr__(self) -> str:
        return f"{self.dtype.name}[{','.join(map(str, self.shape))}]"

    def __reduce__(self) -> Any:
        return aval, (self.shape, self.dtype)

    @property
    def nbytes(self) -> int:
        """The bytes of the array's data."""
        return self.size * self.dtype.itemsize

    def with_shape(self, shape: tuple[int, ...]) -> Aval:
        """The same dtype with another shape."""
        return aval(shape, self.dtype)

    def with_dtype(self, dtype: np.dtype) -> Aval:
        """The same shape with another dtype."""
        return aval(self.shape, dtype)


_interned: dict[tuple[Any, ...], Aval] = {}
_ids = itertools.count()


def aval(shape: tuple[int, ...], dtype: np.dtype) -> Aval:
    """The interned aval of a shape (a tuple of ints) and a NumPy dtype."""
    key = (shape, dtype)
    found = _interned.get(key)
    return found if found is not None else _make(tuple(int(n) for n in shape), np.dtype(dtype))


def _make(shape: tuple[int, ...], dtype: np.dtype) -> Aval:
    new = Aval()
    new.shape, new.dtype, new.ndim = shape, dtype, len(shape)
    new.size, new.id = math.prod(shape), next(_ids)
    return _interned.setdefault((shape, dtype), new)


class HasAval:
    """What has an aval in its slot `aval`, and with it a shape, a dtype and a number of dimensions."""

    __slots__ = ()
    aval: Aval

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each dimension.

        >>> fc.zeros((2, 3)).shape
        (2, 3)
        """
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the elements, as NumPy (or ml_dtypes) has it.

        >>> fc.arange(2.0).dtype
        dtype('float32')
        """
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions.

        >>> fc.zeros((2, 3)).ndim
        2
        """
        return self.aval.ndim


def aval_of(x: Any) -> Aval:
    """The aval of a value, a NumPy array or a NumPy scalar; TypeError for None and other objects."""
    found = getattr(x, "aval", None)
    if found is not None:
        return found
    dtype = np.asarray(x).dtype
    if dtype.hasobject:
        raise TypeError(f"expected an array or a number, got {x!r:.60} ({type(x).__name__})")
    return aval(np.shape(x), dtype)
