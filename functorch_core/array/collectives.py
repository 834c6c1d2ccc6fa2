"""Collectives: what the examples of a named vmap axis tell each other. They work on pytrees."""
from __future__ import annotations

from collections.abc import Callable

from ..core import dtypes as dt
from ..core import tree
from ..transforms import collectives as ops
from .array import Array, as_value, wrap


def _over_leaves(collective: Callable, x, **params):
    return tree.map(lambda leaf: wrap(collective(as_value(leaf), **params)), x)


def psum(x, axis_name):
    """The sum of x over all examples of the named axis (or axes, a tuple), the same in each.

    NameError where no such axis is mapped.

    >>> import functorch_core as fc
    >>> fc.vmap(lambda x: x / fc.psum(x, "i"), axis_name="i")(fc.asarray([1., 3.]))
    Array([0.25, 0.75], dtype=float32)
    """
    return _over_leaves(ops.psum, x, axis_name=axis_name)


def pmean(x, axis_name):
    """The mean of x over all examples of the named axis (or axes, a tuple); see psum.

    >>> import functorch_core as fc
    >>> fc.vmap(lambda x: x - fc.pmean(x, "i"), axis_name="i")(fc.asarray([1., 3.]))
    Array([-1.,  1.], dtype=float32)
    """
    return _over_leaves(ops.pmean, x, axis_name=axis_name)


def pmax(x, axis_name):
    """The maximum of x over all examples of the named axis (or axes, a tuple); see psum.

    >>> import functorch_core as fc
    >>> fc.vmap(lambda x: fc.pmax(x, "i"), axis_name="i")(fc.asarray([1., 3.]))
    Array([3., 3.], dtype=float32)
    """
    return _over_leaves(ops.pmax, x, axis_name=axis_name)


def pmin(x, axis_name):
    """The minimum of x over all examples of the named axis (or axes, a tuple); see psum.

    >>> import functorch_core as fc
    >>> fc.vmap(lambda x: fc.pmin(x, "i"), axis_name="i")(fc.asarray([1., 3.]))
    Array([1., 1.], dtype=float32)
    """
    return tree.map(lambda leaf: _pmin(wrap(as_value(leaf)), axis_name), x)


def _pmin(x: Array, axis_name) -> Array:
    """-max(-x); of unsigned integers and bools by the bits turned, which reverse the order."""
    turn = (lambda v: ~v) if x.dtype in dt.INTEGER | {dt.bool_} else (lambda v: -v)
    return turn(pmax(turn(x), axis_name))


def all_gather(x, axis_name, axis: int = 0):
    """x of all examples of the named axis, stacked along a new `axis`, the same in each.

    >>> import functorch_core as fc
    >>> fc.vmap(lambda x: fc.all_gather(x, "i"), axis_name="i")(fc.asarray([1., 3.]))
    Array([[1., 3.],
           [1., 3.]], dtype=float32)
    """
    def gather(value):
        return ops.all_gather(value, axis_name=axis_name, at=axis % (value.aval.ndim + 1))
    return _over_leaves(gather, x)


def axis_index(axis_name) -> Array:
    """The place of this example along the named axis, an int32.

    >>> import functorch_core as fc
    >>> fc.vmap(lambda x: fc.axis_index("i"), axis_name="i")(fc.asarray([1., 3.]))
    Array([0, 1], dtype=int32)
    """
    return wrap(ops.axis_index(axis_name))


def axis_size(axis_name) -> int:
    """The number of examples along the named axis.

    >>> import functorch_core as fc
    >>> fc.vmap(lambda x: x / fc.axis_size("i"), axis_name="i")(fc.asarray([1., 3.]))
    Array([0.5, 1.5], dtype=float32)
    """
    return ops.axis_size(axis_name)
