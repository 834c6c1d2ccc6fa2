"""Collectives: what the examples of a named vmap axis tell each other. They work on pytrees.

Names, signatures and results are jax.lax's. What exchanges data between examples is all_gather and
a choice by axis_index, so it has every derivative and batches over other axes.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence

import numpy as np

from ..core import dtypes as dt
from ..core import tree
from ..core.explain import explaining
from ..transforms import collectives as ops
from . import functions as fc
from .array import Array, as_value, wrap

GROUPS = """{what}: axis_index_groups={groups} does not divide the axis {axis!r} of size {size}.
    Each index, 0 to {last}, is in exactly one group, and all groups have one size:
    axis_index_groups=[[0, 1], [2, 3]] of an axis of size 4."""
PERMUTATION = """{what}: perm={perm} is not a list of pairs (source, destination) of the axis
    {axis!r} of size {size}, in which no source and no destination is there twice.
    For a rotation: [(i, (i + 1) % n) for i in range(n)]."""
SPLIT = """{what}: axis {axis} of {aval} has size {found}; {needs} {size}, the size of the mapped
    axis {name!r} (or of a group). tiled=True exchanges blocks, tiled=False single slices."""
NO_DIMENSION = """{what}: axis {axis} is not one of {aval}, from {low} to {high}."""

Groups = Sequence[Sequence[int]] | None


def _over_leaves(collective: Callable, x, **params):
    return tree.map_arrays(lambda leaf: wrap(collective(as_value(leaf), **params)), x)


def _names(axis_name) -> tuple:
    return axis_name if isinstance(axis_name, tuple) else (axis_name,)


# ---- what all are made of ------------------------------------------------------------------------


def _gathered(x, axis_name) -> Array:
    """x of all examples, [n, ...]; of several axes the last one counts fastest."""
    out = as_value(x)
    names = _names(axis_name)
    for name in reversed(names):
        out = ops.all_gather(out, axis_name=name, at=0)
    out = wrap(out)
    return out if len(names) == 1 else out.reshape((axis_size(axis_name), *out.shape[len(names) :]))


def _of_group(what: str, x, axis_name, groups: Groups) -> Array:
    """x of the examples of this example's group (of all, without groups), [n, ...]."""
    everything = _gathered(x, axis_name)
    if groups is None:
        return everything
    members = fc.take(_constant(_table(what, axis_name, groups)[0]), axis_index(axis_name), axis=0)
    return fc.take(everything, members, axis=0)


def _over_groups(what: str, reduce: Callable, x, axis_name, groups: Groups):
    """Leaves of x, each reduced over the first axis of the group's."""
    return tree.map_arrays(lambda leaf: reduce(_of_group(what, leaf, axis_name, groups), axis=0), x)


def _place(what: str, axis_name, groups: Groups) -> tuple[Array, int]:
    """(this example's place in its group, the size of a group)."""
    if groups is None:
        return axis_index(axis_name), axis_size(axis_name)
    members, places = _table(what, axis_name, groups)
    return fc.take(_constant(places), axis_index(axis_name), axis=0), members.shape[1]


def _table(what: str, axis_name, groups) -> tuple[np.ndarray, np.ndarray]:
    """([n, group size], [n]): the members of each index's group, and its place among them."""
    size = axis_size(axis_name)
    flat = [i for group in groups for i in group]
    if sorted(flat) != list(range(size)) or len({len(group) for group in groups}) != 1:
        raise ValueError(GROUPS.format(what=what, groups=groups, axis=axis_name, size=size, last=size - 1))
    members = np.empty((size, len(groups[0])), np.int64)
    places = np.empty(size, np.int64)
    for group in groups:
        members[list(group)] = group
        places[list(group)] = range(len(group))
    return members, places


def _constant(array: np.ndarray) -> Array:
    return wrap(as_value(array))


def _dimension(what: str, axis: int, x, extra: int = 0) -> int:
    """A dimension of x, from 0 on; `extra` ones may be new."""
    n = len(x.shape) + extra
    axis = operator.index(axis)
    if not -n <= axis < n:
        raise ValueError(NO_DIMENSION.format(what=what, axis=axis, aval=x.aval, low=-n, high=n - 1))
    return axis % n


# ---- reductions ----------------------------------------------------------------------------------


@explaining
def psum(x, axis_name, *, axis_index_groups: Groups = None):
    """The sum of x over all examples of the named axis (or axes, a tuple), the same in each.

    Of a Python number it is one: fc.psum(1, "i") is the size of the axis. With axis_index_groups,
    lists of indices, the sum over the example's own group. Bools are counted. NameError where no
    such axis is mapped.

    >>> import functorch_core as fc
    >>> fc.vmap(lambda x: x / fc.psum(x, "i"), axis_name="i")(fc.asarray([1., 3.]))
    Array([0.25, 0.75], dtype=float32)
    """

    def total(leaf):
        if axis_index_groups is None and leaf.__class__ in (bool, int, float, complex):
            return leaf * axis_size(axis_name)
        leaf = _countable(leaf)
        if axis_index_groups is None:
            return wrap(ops.psum(leaf._value, axis_name=axis_name))
        return fc.sum(_of_group("psum", leaf, axis_name, axis_index_groups), axis=0, dtype=leaf.dtype)

    return tree.map_arrays(total, x)


def _countable(leaf) -> Array:
    """An array that can be summed: bools as integers."""
    x = wrap(as_value(leaf))
    return x.astype(dt.DEFAULT_INT) if x.dtype is dt.bool_ else x


@explaining
def pmean(x, axis_name, *, axis_index_groups: Groups = None):
    """The mean of x over all examples of the named axis (or axes, a tuple): of integers a float.

    >>> import functorch_core as fc
    >>> fc.vmap(lambda x: x - fc.pmean(x, "i"), axis_name="i")(fc.asarray([1., 3.]))
    Array([-1.,  1.], dtype=float32)
    """
    if axis_index_groups is None:
        return tree.map_arrays(lambda leaf: wrap(ops.pmean(_countable(leaf)._value, axis_name=axis_name)), x)
    return _over_groups("pmean", fc.mean, x, axis_name, axis_index_groups)


@explaining
def pmax(x, axis_name, *, axis_index_groups: Groups = None):
    """The maximum of x over all examples of the named axis (or axes, a tuple); see psum.

    >>> import functorch_core as fc
    >>> fc.vmap(lambda x: fc.pmax(x, "i"), axis_name="i")(fc.asarray([1., 3.]))
    Array([3., 3.], dtype=float32)
    """
    if axis_index_groups is None:
        return _over_leaves(ops.pmax, x, axis_name=axis_name)
    return _over_groups("pmax", fc.max, x, axis_name, axis_index_groups)


@explaining
def pmin(x, axis_name, *, axis_index_groups: Groups = None):
    """The minimum of x over all examples of the named axis (or axes, a tuple); see psum.

    >>> import functorch_core as fc
    >>> fc.vmap(lambda x: fc.pmin(x, "i"), axis_name="i")(fc.asarray([1., 3.]))
    Array([1., 1.], dtype=float32)
    """
    if axis_index_groups is None:
        return tree.map_arrays(lambda leaf: _pmin(wrap(as_value(leaf)), axis_name), x)
    return _over_groups("pmin", fc.min, x, axis_name, axis_index_groups)


def _pmin(x: Array, axis_name) -> Array:
    """-max(-x); of unsigned integers and bools by the bits turned, which reverse the order."""
    turn = (lambda v: ~v) if x.dtype in dt.INTEGER | {dt.bool_} else (lambda v: -v)
    return turn(pmax(turn(x), axis_name))


@explaining
def psum_scatter(x, axis_name, *, scatter_dimension: int = 0, axis_index_groups: Groups = None, tiled: bool = False):
    """This example's slice of psum(x): along `scatter_dimension`, which has the axis's size.

    With `tiled`, its block of a dimension that is a multiple of that size.

    >>> import functorch_core as fc
    >>> fc.vmap(lambda x: fc.psum_scatter(x, "i"), axis_name="i")(fc.asarray([[1., 2.], [3., 4.]]))
    Array([4., 6.], dtype=float32)
    """

    def scattered(leaf):
        x = wrap(as_value(leaf))
        axis = _dimension("psum_scatter", scatter_dimension, x)
        place, size = _place("psum_scatter", axis_name, axis_index_groups)
        total = psum(x, axis_name, axis_index_groups=axis_index_groups)
        _check_split("psum_scatter", x, axis, size, tiled, axis_name)
        return _part(total, axis, place, size, tiled)

    return tree.map_arrays(scattered, x)


def _check_split(what: str, x: Array, axis: int, size: int, tiled: bool, name):
    """ValueError unless an axis can be divided among so many examples."""
    found = x.shape[axis]
    if found % size if tiled else found != size:
        raise ValueError(
            SPLIT.format(
                what=what,
                axis=axis,
                aval=x.aval,
                found=found,
                size=size,
                name=name,
                needs="it is to be a multiple of" if tiled else "it is to be",
            )
        )


def _part(x: Array, axis: int, place, size: int, tiled: bool) -> Array:
    """The slice (or with `tiled` the block) at a place of `size` along an axis."""
    if not tiled:
        return fc.take(x, place, axis=axis)
    shape = (*x.shape[:axis], size, x.shape[axis] // size, *x.shape[axis + 1 :])
    return fc.take(x.reshape(shape), place, axis=axis)


# ---- exchange ------------------------------------------------------------------------------------


@explaining
def all_gather(x, axis_name, *, axis_index_groups: Groups = None, axis: int = 0, tiled: bool = False):
    """x of all examples of the named axis, stacked along a new `axis`, the same in each.

    With `tiled`, concatenated along the `axis` that x has. With axis_index_groups, those of the
    example's own group.

    >>> import functorch_core as fc
    >>> fc.vmap(lambda x: fc.all_gather(x, "i"), axis_name="i")(fc.asarray([1., 3.]))
    Array([[1., 3.],
           [1., 3.]], dtype=float32)
    """

    def gathered(leaf):
        x = wrap(as_value(leaf))
        at = _dimension("all_gather", axis, x, extra=not tiled)
        if axis_index_groups is None and not isinstance(axis_name, tuple):
            out = wrap(ops.all_gather(x._value, axis_name=axis_name, at=at))
        else:
            out = _of_group("all_gather", x, axis_name, axis_index_groups)
            out = fc.moveaxis(out, 0, at)
        if not tiled:
            return out
        return out.reshape((*x.shape[:at], out.shape[at] * x.shape[at], *x.shape[at + 1 :]))

    return tree.map_arrays(gathered, x)


@explaining
def all_to_all(
    x, axis_name, split_axis: int, concat_axis: int, *, axis_index_groups: Groups = None, tiled: bool = False
):
    """Example i gets slice i along `split_axis` of every example, stacked along `concat_axis`.

    The split axis has the size of the mapped one and disappears. With `tiled` it is a multiple of
    that, is divided by it, and the blocks are concatenated along an axis that x has.

    >>> import functorch_core as fc
    >>> x = fc.asarray([[1., 2.], [3., 4.]])
    >>> fc.vmap(lambda x: fc.all_to_all(x, "i", 0, 0), axis_name="i")(x)
    Array([[1., 3.],
           [2., 4.]], dtype=float32)
    """

    def exchanged(leaf):
        x = wrap(as_value(leaf))
        split, at = (_dimension("all_to_all", a, x) for a in (split_axis, concat_axis))
        place, size = _place("all_to_all", axis_name, axis_index_groups)
        _check_split("all_to_all", x, split, size, tiled, axis_name)
        if axis_index_groups is None and len(_names(axis_name)) == 1:
            return _exchanged(x, *_names(axis_name), split, at, size, tiled)
        everything = _of_group("all_to_all", x, axis_name, axis_index_groups)
        mine = _part(everything, split + 1, place, size, tiled)
        out = fc.moveaxis(mine, 0, at)
        if not tiled:
            return out
        return out.reshape((*out.shape[:at], out.shape[at] * out.shape[at + 1], *out.shape[at + 2 :]))

    return tree.map_arrays(exchanged, x)


def _exchanged(x: Array, axis_name, split: int, at: int, size: int, tiled: bool) -> Array:
    """all_to_all over one whole axis."""
    if not tiled:
        return wrap(ops.all_to_all(x._value, axis_name=axis_name, split=split, at=at))
    blocks = x.reshape((*x.shape[:split], size, x.shape[split] // size, *x.shape[split + 1 :]))
    out = wrap(ops.all_to_all(blocks._value, axis_name=axis_name, split=split, at=at))
    return out.reshape((*out.shape[:at], out.shape[at] * out.shape[at + 1], *out.shape[at + 2 :]))


@explaining
def pswapaxes(x, axis_name, axis: int, *, axis_index_groups: Groups = None):
    """The mapped axis and `axis` of x, of one size, swapped: all_to_all with one axis.

    >>> import functorch_core as fc
    >>> x = fc.asarray([[1., 2.], [3., 4.]])
    >>> fc.vmap(lambda x: fc.pswapaxes(x, "i", 0), axis_name="i")(x)
    Array([[1., 3.],
           [2., 4.]], dtype=float32)
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


@explaining
def ppermute(x, axis_name, perm: Sequence[tuple[int, int]]):
    """x sent from example to example, by pairs (source, destination); zeros where none is sent.

    >>> import functorch_core as fc
    >>> rotate = [(0, 1), (1, 2), (2, 0)]
    >>> fc.vmap(lambda x: fc.ppermute(x, "i", rotate), axis_name="i")(fc.asarray([1., 2., 3.]))
    Array([3., 1., 2.], dtype=float32)
    """
    size = axis_size(axis_name)
    pairs = [tuple(map(operator.index, pair)) for pair in perm]
    sides = list(zip(*pairs)) or [(), ()]
    if any(len(pair) != 2 for pair in pairs) or any(
        len(set(side)) != len(side) or not set(side) <= set(range(size)) for side in sides
    ):
        raise ValueError(PERMUTATION.format(what="ppermute", perm=perm, axis=axis_name, size=size))
    first, *others = _names(axis_name)
    if not others:
        return _over_leaves(ops.ppermute, x, axis_name=first, perm=pairs)
    sources, sent = np.zeros(size, np.int64), np.zeros(size, bool)
    for source, destination in pairs:
        sources[destination], sent[destination] = source, True
    place = axis_index(axis_name)

    def permuted(leaf):
        source = fc.take(_constant(sources), place, axis=0)
        out = fc.take(_gathered(leaf, axis_name), source, axis=0)
        if sent.all():
            return out
        zero = _constant(np.zeros((), out.dtype))
        return fc.where(fc.take(_constant(sent), place, axis=0), out, zero)

    return tree.map_arrays(permuted, x)


@explaining
def pshuffle(x, axis_name, perm: Sequence[int]):
    """x of the example perm[i] in example i: ppermute by a permutation.

    >>> import functorch_core as fc
    >>> fc.vmap(lambda x: fc.pshuffle(x, "i", [2, 0, 1]), axis_name="i")(fc.asarray([1., 2., 3.]))
    Array([3., 1., 2.], dtype=float32)
    """
    size = axis_size(axis_name)
    if sorted(perm) != list(range(size)):
        raise ValueError(
            f"pshuffle: perm={perm} is not a permutation of the indices of the axis "
            f"{axis_name!r}, 0 to {size - 1}.\n    For a rotation: [2, 0, 1]; to leave "
            "some out: fc.ppermute(x, axis_name, pairs)."
        )
    return ppermute(x, axis_name, list(zip(perm, range(size))))


@explaining
def pbroadcast(x, axis_name, source: int):
    """x of the example `source`, in each.

    >>> import functorch_core as fc
    >>> fc.vmap(lambda x: fc.pbroadcast(x, "i", 1), axis_name="i")(fc.asarray([1., 3.]))
    Array([3., 3.], dtype=float32)
    """
    size = axis_size(axis_name)
    if not -size <= operator.index(source) < size:
        raise IndexError(f"pbroadcast: source {source} is not an index of the axis {axis_name!r}, 0 to {size - 1}.")
    return tree.map_arrays(lambda leaf: _gathered(leaf, axis_name)[source], x)


# ---- the axis ------------------------------------------------------------------------------------


@explaining
def axis_index(axis_name) -> Array:
    """The place of this example along the named axis, an int32; of several, counted row by row.

    >>> import functorch_core as fc
    >>> fc.vmap(lambda x: fc.axis_index("i"), axis_name="i")(fc.asarray([1., 3.]))
    Array([0, 1], dtype=int32)
    """
    first, *rest = _names(axis_name)
    out = wrap(ops.axis_index(first))
    for name in rest:
        out = out * ops.axis_size(name) + wrap(ops.axis_index(name))
    return out


@explaining
def axis_size(axis_name) -> int:
    """The number of examples along the named axis, the product of several.

    >>> import functorch_core as fc
    >>> fc.vmap(lambda x: x / fc.axis_size("i"), axis_name="i")(fc.asarray([1., 3.]))
    Array([0.5, 1.5], dtype=float32)
    """
    return math.prod(ops.axis_size(name) for name in _names(axis_name))
