"""JAX's precision and preferred_element_type of functions that multiply."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable

from ..core import dtypes as dt


def with_precision(function: Callable) -> Callable:
    """A product that takes `precision`, which changes nothing, and `preferred_element_type`, the dtype of its result.

    Where that one is wider than the operands' it is what they are multiplied and added in, too.

    >>> import functorch_core as fc
    >>> from functorch_core.array.precision import with_precision
    >>> with_precision(fc.matmul)(fc.asarray([100], dtype="int8"), fc.asarray([100], dtype="int8"),
    ...                           preferred_element_type="int32")
    Array(10000, dtype=int32)
    """

    @functools.wraps(function)
    def call(*args, precision=None, preferred_element_type=None, **kwargs):
        if preferred_element_type is None:
            return function(*args, **kwargs)
        dtype = dt.canonical(preferred_element_type)
        return function(*[_widened(x, dtype) for x in args], **kwargs).astype(dtype)

    signature = inspect.signature(function)
    more = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=None) for n in KEYWORDS]
    call.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *more])
    return call


KEYWORDS = ("precision", "preferred_element_type")


def _widened(x, dtype):
    """An array in the wider of both dtypes; anything else as it is."""
    found = getattr(x, "dtype", None)
    return x if found not in dt.ALL else x.astype(dt.promote(found, dtype))
