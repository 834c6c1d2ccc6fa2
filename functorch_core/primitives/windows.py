"""Windows at computed places: the dimension numbers that gather and scatter share.

They are XLA's; the index vector is always the last dimension of the indices. A scatter is the
mirror of a gather: its updates have the shape that a gather of the same windows would have.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval
from ..core.lowering import LowerContext, Operand
from ..core.lowering import dims as dims_attr
from ..core.types import Ints
from .declare import check_dtype
from .host_few import are_within


class Windows(NamedTuple):
    """Windows into an array of `shape`: of `sizes`, at starts along the dimensions `index_map`.

    Dimension operand_batch[i] runs along with dimension indices_batch[i] of the indices. Of the
    dimensions of the window, those in `dropped` and operand_batch (size 1) are left out of the
    outer array (a gather's result, a scatter's updates); the others are its dimensions
    `window_dims`.
    """

    shape: Ints
    sizes: Ints
    index_map: Ints
    dropped: Ints
    window_dims: Ints
    operand_batch: Ints
    indices_batch: Ints

    @property
    def kept(self) -> Ints:
        """The operand's dimensions that the outer array has."""
        out = (*self.dropped, *self.operand_batch)
        return tuple(d for d in range(len(self.shape)) if d not in out)

    @property
    def limits(self) -> np.ndarray:
        """The largest start within bounds, for each component of an index vector."""
        return np.array([self.shape[d] - self.sizes[d] for d in self.index_map], np.int64)

    def outer_shape(self, scatter_shape: Ints) -> Ints:
        """The outer array's shape, the indices being of shape (*scatter_shape, n)."""
        window = dict(zip(self.window_dims, (self.sizes[d] for d in self.kept)))
        rest = iter(scatter_shape)
        return tuple(window[i] if i in window else next(rest) for i in range(len(window) + len(scatter_shape)))

    def scatter_dims(self, outer_ndim: int) -> Ints:
        """The outer array's dimensions that are the indices'."""
        return tuple(i for i in range(outer_ndim) if i not in self.window_dims)

    def check(self, name: str, operand: Aval, indices: Aval) -> None:
        """TypeError or ValueError unless the dimension numbers fit."""
        check_dtype(f"the indices of {name}", indices, dt.INTEGER, "integer")
        problem = _problem_of(self, operand, indices)
        if problem:
            raise ValueError(f"{name} of {operand} at {indices}: {problem}; got {self}")

    def problem(self, operand: Aval, indices: Aval) -> str:
        """What does not fit, as a sentence; empty if all is well."""
        everything = (*self.dropped, *self.operand_batch)
        if not indices.ndim or indices.shape[-1] != len(self.index_map):
            return (
                f"the last dimension of the indices is not {len(self.index_map)}, one for each "
                "dimension that is indexed"
            )
        for what, dims in (("indexed", self.index_map), ("left out or batched", everything)):
            if len(set(dims)) != len(dims) or any(not 0 <= d < operand.ndim for d in dims):
                return f"the {what} dimensions are not distinct dimensions of the operand"
        if set(self.index_map) & set(self.operand_batch):
            return "a batching dimension is indexed"
        if len(self.sizes) != operand.ndim or any(not 0 <= s <= n for s, n in zip(self.sizes, operand.shape)):
            return "the window does not fit into the operand"
        if any(self.sizes[d] != 1 for d in everything):
            return "a dimension that is left out or batched has a window size other than 1"
        return self._batching_problem(indices) or self._outer_problem(indices)

    def _batching_problem(self, indices: Aval) -> str:
        if len(self.operand_batch) != len(self.indices_batch) or any(
            not 0 <= i < indices.ndim - 1 or self.shape[d] != indices.shape[i]
            for d, i in zip(self.operand_batch, self.indices_batch)
        ):
            return "the batching dimensions of operand and indices do not match"
        return ""

    def _outer_problem(self, indices: Aval) -> str:
        outer_ndim = indices.ndim - 1 + len(self.kept)
        if len(self.window_dims) != len(self.kept) or any(not 0 <= d < outer_ndim for d in self.window_dims):
            return f"there must be {len(self.kept)} window dimensions below {outer_ndim}"
        if any(a >= b for a, b in zip(self.window_dims, self.window_dims[1:])):
            return "the window dimensions are not increasing"
        return ""


@functools.lru_cache(maxsize=4096)
def _problem_of(w: Windows, operand: Aval, indices: Aval) -> str:
    """w.problem, memoised, as it takes 15 us."""
    return w.problem(operand, indices)


# -- on the host: windows as rows


class Rows(NamedTuple):
    """How to see an operand as rows, so that a window is some whole rows (mostly one).

    The dimensions that every window spans make up the row; the others number the rows.
    """

    order: Ints  # the operand's dimensions: those that number the rows, then the row's
    numbered: Ints  # the sizes of the former
    row: Ints  # and of the latter
    limits: np.ndarray  # the largest start within bounds, by component of an index vector
    strides: np.ndarray  # rows from one start to the next, likewise
    batches: tuple[Any, ...]  # shared dimensions: (the indices' dimension, size, stride in rows)
    offsets: np.ndarray | None  # of a window's rows from its first one, unless there is just one
    outer: Ints  # the outer array's dimensions: the indices', then as in `order`
    kept: Ints  # the sizes of the latter

    def view(self, operand: np.ndarray) -> np.ndarray:
        """The operand as [number of rows, *row]."""
        return operand.transpose(self.order).reshape((math.prod(self.numbered), *self.row))

    def places(self, indices: np.ndarray, clip: bool) -> tuple[np.ndarray, Any]:
        """(row numbers of each window, whether each is within bounds or None for all of them)."""
        if indices.dtype == np.uint64:  # the upper half would wrap to negative numbers
            indices = np.minimum(indices, np.uint64(2**63 - 1))
        starts = indices.astype(np.int64, copy=False)
        if len(self.strides) == 1:
            first = starts[..., 0]
            places = moved_inside(first, int(self.limits[0]))
            inside = None if clip or places is first else places == first
            places = places if self.strides[0] == 1 else places * self.strides[0]
        else:
            inside = None if clip else ((starts >= 0) & (starts <= self.limits)).all(-1)
            places = np.minimum(np.maximum(starts, 0), self.limits) @ self.strides
        lines = self.lines(places.ndim)
        if lines is not None:
            places = places + lines
        if self.offsets is not None:
            places = np.add.outer(places, self.offsets)
        return np.asarray(places), inside

    def lines(self, ndim: int) -> np.ndarray | None:
        """Where the rows of each index in the shared dimensions begin; None if nothing is shared."""
        lines = None
        for i, size, stride in self.batches:
            line = (np.arange(size) * stride).reshape([-1 if k == i else 1 for k in range(ndim)])
            lines = line if lines is None else lines + line
        return lines


MANY = 1 << 10  # indices; of more to look for the largest is quicker by a reduction


def moved_inside(starts: np.ndarray, limit: int) -> np.ndarray:
    """In [0, limit]; to look whether they are takes an eighth of the time: without signs negative ones are large."""
    if starts.size > MANY:
        if starts.view(np.uint64).max() <= limit:
            return starts
    elif starts.size and are_within(starts, 0, limit):
        return starts
    return np.minimum(np.maximum(starts, 0), limit)


@functools.lru_cache(maxsize=1024)
def rows_of(w: Windows, indices_ndim: int) -> Rows:
    """The rows that these windows consist of."""
    whole = [d for d, n in enumerate(w.shape) if w.sizes[d] == n and d not in w.operand_batch]
    parted = [d for d in range(len(w.shape)) if d not in whole]
    numbered = tuple(w.shape[d] for d in parted)
    stride = {d: math.prod(numbered[i + 1 :]) for i, d in enumerate(parted)}
    order = (*parted, *whole)
    outer_of = dict(zip(w.kept, w.window_dims))
    kept = [d for d in order if d in outer_of]
    return Rows(
        order,
        numbered,
        tuple(w.shape[d] for d in whole),
        w.limits,
        np.array([stride.get(d, 0) for d in w.index_map], np.int64),
        tuple((i, w.shape[d], stride[d]) for d, i in zip(w.operand_batch, w.indices_batch)),
        _offsets([w.sizes[d] for d in parted], [stride[d] for d in parted]),
        w.scatter_dims(indices_ndim - 1 + len(kept)) + tuple(outer_of[d] for d in kept),
        tuple(w.sizes[d] for d in kept),
    )


def _offsets(sizes: list[int], strides: list[int]) -> np.ndarray | None:
    """Offsets of a window's rows from its first one, in row-major order; None if there is one."""
    if all(n == 1 for n in sizes):
        return None
    offsets = np.zeros((), np.int64)
    for n, stride in zip(sizes, strides):
        offsets = np.add.outer(offsets, np.arange(n) * stride)
    return offsets.reshape(-1)


def inverse(permutation: Ints) -> Ints:
    """The permutation that undoes another."""
    return tuple(permutation.index(i) for i in range(len(permutation)))


# -- in a program


def ints(values: Ints) -> str:
    """[0, 2]: a list in MLIR; str of each, as the repr of NumPy's integers names their type."""
    return f"[{', '.join(map(str, values))}]"


def wide_indices(ctx: LowerContext, indices: Operand) -> Operand:
    """The indices as int32 or int64: narrow ones cannot hold every bound, unsigned ones wrap."""
    a = indices.aval
    if a.dtype in (dt.int32, dt.int64):
        return indices
    if a.dtype == dt.uint64:
        indices = ctx.op("stablehlo.minimum", indices, ctx.full(a, 2**63 - 1), out=a)
    return ctx.op("stablehlo.convert", indices, out=a.with_dtype(dt.int64))


def _limits_like(ctx: LowerContext, indices: Operand, w: Windows) -> Operand:
    """The limits broadcast to the shape of the indices."""
    a = indices.aval
    limits = np.minimum(w.limits, np.iinfo(a.dtype).max).astype(a.dtype)
    return ctx.op(
        "stablehlo.broadcast_in_dim",
        ctx.dense(limits),
        out=a,
        attrs=f"broadcast_dimensions = {dims_attr([a.ndim - 1])}",
    )


def clipped(ctx: LowerContext, indices: Operand, w: Windows) -> Operand:
    """The indices moved to the nearest ones within bounds."""
    return ctx.op(
        "stablehlo.clamp", ctx.full(indices.aval, 0), indices, _limits_like(ctx, indices, w), out=indices.aval
    )


def inside_bounds(ctx: LowerContext, indices: Operand, w: Windows) -> Operand:
    """Whether each window is within bounds: bool, of the indices' shape without the last."""
    a = indices.aval
    bools = a.with_dtype(dt.bool_)

    def compare(direction: str, x: Operand, y: Operand) -> Operand:
        return ctx.op(
            "stablehlo.compare",
            x,
            y,
            out=bools,
            attrs=f"comparison_direction = #stablehlo<comparison_direction {direction}>",
        )

    both = ctx.op(
        "stablehlo.and",
        compare("GE", indices, ctx.full(a, 0)),
        compare("LE", indices, _limits_like(ctx, indices, w)),
        out=bools,
    )
    true = ctx.full(aval((), dt.bool_), True)
    body = ctx.region((true.aval, true.aval), lambda c, x, y: c.op("stablehlo.and", x, y, out=x.aval))
    return ctx.op(
        "stablehlo.reduce",
        both,
        true,
        out=bools.with_shape(a.shape[:-1]),
        attrs=f"dimensions = {dims_attr([a.ndim - 1])}",
        regions=[body],
    )


def shift(dims: Ints) -> Ints:
    """The same dimensions behind a new leading one."""
    return tuple(d + 1 for d in dims)


def check_mode(name: str, mode: str, allowed: tuple[str, ...]) -> None:
    """ValueError unless the treatment of windows out of bounds is one of these."""
    if mode not in allowed:
        raise ValueError(f"{name} takes mode {' or '.join(map(repr, allowed))}, got {mode!r}")
