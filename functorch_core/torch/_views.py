"""Views: tensors that share memory. A view is a chain of lenses on a cell.

A cell holds the one immutable value of a storage and counts its versions. A lens has a getter, a
setter, and what it does to strides. Reading a view whose cell has moved on derives it anew; writing
to one puts the new part into the cell's value. Both are ops, so the tape sees them.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .. import primitives as p
from ..core.aval import Aval, aval
from ..core.trace import evaluate, trace_closed
from ..engine import Value
from ._apply import GraphOp, apply
from ._tensor_base import Tensor, new_tensor
from .autograd.modes import state

LEAF_INPLACE = "a leaf Variable that requires grad is being used in an in-place operation."
LEAF_VIEW_INPLACE = ("a view of a leaf Variable that requires grad is being used in an in-place "
                     "operation.")


class Lens(NamedTuple):
    """A kind of view with its parameters; hashable.

    `ints` are parameters that vary while the view stays the same kind of thing (the i of x[i]):
    they come as packed inputs, so that another i compiles nothing.
    """

    kind: str
    params: tuple = ()
    ints: tuple[int, ...] = ()

    @property
    def static(self) -> tuple:
        """What the getter's graph depends on."""
        return self.kind, self.params, len(self.ints)


class Kind(NamedTuple):
    """get(x, *params, *ints); put(base, new, *params, *ints) or None for the general one, which
    takes no ints; layout(shape, strides, offset, *params, *ints) -> shape, strides, offset."""

    get: Callable
    put: Callable | None
    layout: Callable


KINDS: dict[str, Kind] = {}


def view_kind(name: str, *, get: Callable, layout: Callable, put: Callable | None = None):
    """Declare a kind of view."""
    KINDS[name] = Kind(get, put, layout)


class Cell:
    """A storage: its value in the shape of its base, its version, and its layout."""

    __slots__ = ("value", "version", "shape", "strides", "token", "__weakref__")

    def __init__(self, value: Value, version: int, strides):
        self.value, self.version = value, version
        self.shape = value.aval.shape
        self.strides = strides or contiguous_strides(self.shape)


class Alias:
    """How one tensor sees a cell. `base` is the tensor whose history a write changes, too."""

    __slots__ = ("cell", "chain", "seen", "base", "edge_from_base")

    def __init__(self, cell: Cell, chain: tuple[Lens, ...], base: Tensor | None):
        self.cell, self.chain, self.base, self.seen = cell, chain, base, cell.version

    def read(self, tensor: Tensor) -> Value:
        """The tensor's value, derived anew if the cell has changed since."""
        cell = self.cell
        if self.seen != cell.version:
            if self.base is not None:
                fresh = look(self.base, self.chain)
                tensor._value, tensor._ge = fresh._value, fresh._ge
            elif self.chain:
                tensor._value = look(new_tensor(cell.value), self.chain)._value
            else:
                tensor._value = cell.value
            self.seen = cell.version
        return tensor._value

    def layout(self) -> tuple[tuple, tuple, int]:
        """(shape, strides, offset) in elements of the storage."""
        shape, strides, offset = self.cell.shape, self.cell.strides, 0
        for lens in self.chain:
            shape, strides, offset = KINDS[lens.kind].layout(shape, strides, offset,
                                                             *lens.params, *lens.ints)
        return shape, strides, offset


# ---- getters and setters as ops ----------------------------------------------------------------------


def look(base: Tensor, chain: tuple[Lens, ...]) -> Tensor:
    """What a chain of lenses shows of a tensor, on the tape."""
    op = getter(tuple([lens.static for lens in chain]), current_aval(base))
    return apply(op, [base, *_ints(chain)])


def put(base: Tensor, new: Tensor, chain: tuple[Lens, ...]) -> Tensor:
    """The base with a new part where the chain looks, on the tape."""
    op = setter(tuple([lens.static for lens in chain]), current_aval(base), current_aval(new))
    return apply(op, [base, new, *_ints(chain)])


def current_aval(tensor: Tensor) -> Aval:
    """The aval an op sees: of one example inside vmap."""
    return tensor._read().aval if tensor._level is None else tensor._level.aval


def _ints(chain) -> list[int]:
    return [i for lens in chain for i in lens.ints]


INT = aval((), np.dtype("int64"))


@functools.lru_cache(4096)
def getter(chain: tuple, a: Aval) -> GraphOp:
    """The op that reads a view from its base."""
    name = chain[-1][0] if chain else "alias"
    ints = [INT] * sum(n for _, _, n in chain)
    return GraphOp(trace_closed(lambda x, *i: [_get(x, chain, iter(i))], [a, *ints], name), name,
                   False)


@functools.lru_cache(4096)
def setter(chain: tuple, a: Aval, new: Aval) -> GraphOp:
    """The op that puts a new view into its base: (base, new, *ints) -> base."""
    ints = [INT] * sum(n for _, _, n in chain)
    graph = trace_closed(lambda x, y, *i: [_put(x, y, chain, i)], [a, new, *ints], "CopySlices")
    return GraphOp(graph, "CopySlices", False)


def _get(x, chain, ints):
    for kind, params, n in chain:
        x = KINDS[kind].get(x, *params, *[next(ints) for _ in range(n)])
    return x


def _put(base, new, chain, ints):
    if not chain:
        return new
    (kind, params, n), rest = chain[0], chain[1:]
    mine, ints = ints[:n], ints[n:]
    lens = KINDS[kind]
    if rest:
        new = _put(lens.get(base, *params, *mine), new, rest, ints)
    if lens.put is not None:
        return lens.put(base, new, *params, *mine)
    return put_by_index(base, new, Lens(kind, params))


def put_by_index(base, new, lens: Lens):
    """The general setter: scatter to the places the getter reads from."""
    places = index_map(lens, base.aval.shape)
    flat = p.reshape(base, shape=(base.aval.size,))
    updates = p.reshape(new, shape=(new.aval.size,))
    index = p.constant(places.reshape(-1))
    out = p.scatter_axis(flat, index, updates, axis=0, combine="set")
    return p.reshape(out, shape=base.aval.shape)


@functools.lru_cache(256)
def index_map(lens: Lens, shape: tuple[int, ...]) -> np.ndarray:
    """For each element of the view, the flat position in its base."""
    a = aval(shape, np.dtype("int64"))
    graph = trace_closed(lambda x: [KINDS[lens.kind].get(x, *lens.params)], [a], lens.kind)
    return evaluate(graph, [np.arange(a.size, dtype=np.int64).reshape(shape)])[0]


# ---- making views --------------------------------------------------------------------------------------


def share(tensor: Tensor) -> Alias:
    """The tensor's alias; an unshared tensor gets a cell of its own first."""
    if tensor._view is None:
        cell = Cell(tensor._value, tensor._own_version, tensor._strides)
        tensor._view = Alias(cell, (), None)
    return tensor._view


def make_view(tensor: Tensor, lens: Lens) -> Tensor:
    """A view of a tensor through a further lens, on the tape like any op."""
    if tensor._level is not None:
        from . import _levels
        return _levels.make_view(tensor, lens)
    out = look(tensor, (lens,))
    alias = share(tensor)
    base = alias.base if alias.base is not None else tensor
    differentiable = state.enabled and not (alias.base is None and alias.chain)
    out._view = Alias(alias.cell, alias.chain + (lens,), base if differentiable else None)
    out._view.seen = alias.cell.version
    return out


def make_alias(tensor: Tensor) -> Tensor:
    """Another tensor of the same memory without history: detach."""
    value = tensor._read()
    alias = share(tensor)
    out = new_tensor(value)
    out._view = Alias(alias.cell, alias.chain, None)
    return out


def assign(tensor: Tensor, new: Tensor) -> Tensor:
    """Give `tensor` the value (and history) of `new`, which has its shape and dtype: x.op_()."""
    check_writable(tensor)
    if tensor._level is not None or new._level is not None:
        from . import _levels
        return _levels.assign(tensor, new)
    alias = tensor._view
    value = new._read()
    if alias is None:
        tensor._value = value
        tensor._own_version += 1
        _take_edge(tensor, new)
        return tensor
    tensor._read()
    _write_through(tensor, alias, new, value)
    return tensor


def _take_edge(tensor: Tensor, new: Tensor):
    """After an in-place op: the history is the op's, unless the tape is off."""
    if state.enabled:
        tensor._ge = new._ge
        tensor._move_hooks()


def _write_through(tensor: Tensor, alias: Alias, new: Tensor, value: Value):
    cell, base = alias.cell, alias.base
    if not alias.chain:
        cell.value = value
        cell.version += 1
        tensor._value, alias.seen = value, cell.version
        _take_edge(tensor, new)
        return
    if base is not None:
        changed = put(base, new if state.enabled else new_tensor(value), alias.chain)
        cell.value = changed._value
        cell.version += 1
        base._value, base._view.seen = changed._value, cell.version
        if state.enabled:
            base._ge = changed._ge
    else:
        cell.value = put(new_tensor(cell.value), new_tensor(value), alias.chain)._value
        cell.version += 1
    tensor._value, alias.seen = value, cell.version
    _take_edge(tensor, new)


def check_writable(tensor: Tensor):
    """RuntimeError where PyTorch forbids writing: leaves that require grad, and their views."""
    if state.enabled and tensor._level is None:
        if tensor._ge is not None and tensor.is_leaf:
            raise RuntimeError(LEAF_INPLACE)
        base = tensor._view.base if tensor._view is not None else None
        if base is not None and base._ge is not None and base.is_leaf:
            raise RuntimeError(LEAF_VIEW_INPLACE)


# ---- strides -------------------------------------------------------------------------------------------


def contiguous_strides(shape) -> tuple[int, ...]:
    """Row-major strides, as PyTorch has them (sizes of 0 count as 1)."""
    strides, n = [], 1
    for size in reversed(shape):
        strides.append(n)
        n *= max(size, 1)
    return tuple(reversed(strides))


def layout_of(tensor: Tensor) -> tuple[tuple, tuple, int]:
    """(shape, strides, storage offset) of a tensor."""
    if tensor._view is not None:
        return tensor._view.layout()
    shape = tensor._value.aval.shape
    return shape, tensor._strides or contiguous_strides(shape), 0


def view_strides(shape, strides, new_shape) -> tuple[int, ...] | None:
    """The strides of a reshape without copying, or None if it needs a copy."""
    if 0 in shape:
        return contiguous_strides(new_shape)
    old = [(n, s) for n, s in zip(shape, strides) if n != 1]
    out = [0] * len(new_shape)
    chunks = _contiguous_chunks(old)
    view = len(new_shape) - 1
    for size, stride in reversed(chunks):
        filled = 1
        while view >= 0 and (filled < size or new_shape[view] == 1):
            out[view] = stride * filled
            filled *= new_shape[view]
            view -= 1
        if filled != size:
            return None
    while view >= 0:
        if new_shape[view] != 1:
            return None
        out[view] = 1 if view == len(new_shape) - 1 else out[view + 1] * max(new_shape[view + 1], 1)
        view -= 1
    return tuple(out)


def _contiguous_chunks(dims) -> list[tuple[int, int]]:
    """(elements, innermost stride) of the runs of dimensions that lie contiguously."""
    chunks: list[tuple[int, int]] = []
    outer = None
    for n, s in dims:
        if outer is not None and outer == n * s:
            size, _ = chunks.pop()
            chunks.append((size * n, s))
        else:
            chunks.append((n, s))
        outer = s
    return chunks


# ---- the kinds -----------------------------------------------------------------------------------------


def _reshape_layout(shape, strides, offset, new_shape):
    return new_shape, view_strides(shape, strides, new_shape) or contiguous_strides(new_shape), offset


view_kind("view", get=lambda x, shape: p.reshape(x, shape=shape),
          put=lambda base, new, shape: p.reshape(new, shape=base.aval.shape),
          layout=_reshape_layout)

view_kind("permute", get=lambda x, order: p.transpose(x, permutation=order),
          put=lambda base, new, order: p.transpose(
              new, permutation=tuple(int(i) for i in np.argsort(order))),
          layout=lambda shape, strides, offset, order: (
              tuple(shape[i] for i in order), tuple(strides[i] for i in order), offset))


def _slice_get(x, dim, size, step, start):
    span = (size - 1) * step + 1 if size else 0
    if isinstance(start, int):
        return p.slice_in_dim(x, start=start, limit=start + span, stride=step, dimension=dim)
    part = p.dynamic_slice(x, *_starts(x, dim, start), sizes=_with(x.aval.shape, dim, span))
    return part if step == 1 else p.slice_in_dim(
        part, start=0, limit=span, stride=step, dimension=dim)


def _slice_put(base, new, dim, size, step, start):
    if step != 1 and size:
        span = (size - 1) * step + 1
        whole = _slice_get(base, dim, span, 1, start)
        new = put_by_index(whole, new, Lens("slice", (dim, size, step, 0)))
    return p.dynamic_update_slice(base, new, *_starts(base, dim, start))


def _starts(x, dim: int, start) -> list:
    """The start of each dimension, zero but in `dim`."""
    start = p.constant(np.int64(start)) if isinstance(start, int) else start
    return [start if i == dim else p.constant(np.int64(0)) for i in range(x.aval.ndim)]


def _with(shape, dim: int, size: int) -> tuple[int, ...]:
    return shape[:dim] + (size,) + shape[dim + 1:]


def _slice_layout(shape, strides, offset, dim, size, step, start):
    return (_with(shape, dim, size), _with(strides, dim, strides[dim] * step),
            offset + start * strides[dim] * bool(size))


view_kind("slice", get=_slice_get, put=_slice_put, layout=_slice_layout)


def _expand_layout(shape, strides, offset, new_shape):
    lead = len(new_shape) - len(shape)
    moved = tuple(0 if n == 1 and m != 1 else s for n, m, s in zip(shape, new_shape[lead:], strides))
    return new_shape, (0,) * lead + moved, offset


view_kind("expand", get=lambda x, shape: p.broadcast_in_dim(
              x, shape=shape, dims=tuple(range(len(shape) - x.aval.ndim, len(shape)))),
          layout=_expand_layout)


def _squeeze_layout(shape, strides, offset, dims):
    keep = [i for i in range(len(shape)) if i not in dims]
    return tuple(shape[i] for i in keep), tuple(strides[i] for i in keep), offset


def _without(shape, dims):
    return tuple(n for i, n in enumerate(shape) if i not in dims)


view_kind("squeeze", get=lambda x, dims: p.reshape(x, shape=_without(x.aval.shape, dims)),
          put=lambda base, new, dims: p.reshape(new, shape=base.aval.shape),
          layout=_squeeze_layout)


def _unsqueeze_layout(shape, strides, offset, dim):
    stride = shape[dim] * strides[dim] if dim < len(shape) else 1
    return shape[:dim] + (1,) + shape[dim:], strides[:dim] + (stride,) + strides[dim:], offset


view_kind("unsqueeze",
          get=lambda x, dim: p.reshape(x, shape=x.aval.shape[:dim] + (1,) + x.aval.shape[dim:]),
          put=lambda base, new, dim: p.reshape(new, shape=base.aval.shape),
          layout=_unsqueeze_layout)


def _select_get(x, dim, index):
    return p.reshape(_slice_get(x, dim, 1, 1, index), shape=_without(x.aval.shape, (dim,)))


def _select_put(base, new, dim, index):
    part = p.reshape(new, shape=_with(base.aval.shape, dim, 1))
    return p.dynamic_update_slice(base, part, *_starts(base, dim, index))


view_kind("select", get=_select_get, put=_select_put,
          layout=lambda shape, strides, offset, dim, index: (
              _without(shape, (dim,)), _without(strides, (dim,)), offset + index * strides[dim]))


def _strided_places(size, stride, offset) -> np.ndarray:
    places = np.full(size, offset, np.int64)
    for d, (n, s) in enumerate(zip(size, stride)):
        shape = [1] * len(size)
        shape[d] = n
        places += (np.arange(n) * s).reshape(shape)
    return places


def _as_strided_get(x, size, stride, offset):
    flat = p.reshape(x, shape=(x.aval.size,))
    places = _strided_places(size, stride, offset)
    taken = p.take(flat, p.constant(places.reshape(-1)), axis=0, mode="promise_in_bounds")
    return p.reshape(taken, shape=size)


# as_strided addresses the storage itself: it is always the first lens of a chain.
view_kind("as_strided", get=_as_strided_get,
          layout=lambda shape, strides, offset, size, stride, start: (size, stride, start))


def _diagonal_get(x, offset, dim1, dim2):
    rest = [i for i in range(x.aval.ndim) if i not in (dim1, dim2)]
    x = p.transpose(x, permutation=(*rest, dim1, dim2))
    lead, (rows, cols) = x.aval.shape[:-2], x.aval.shape[-2:]
    n = diagonal_length(rows, cols, offset)
    first = max(offset, 0) - cols * min(offset, 0)
    flat = p.reshape(x, shape=(*lead, rows * cols))
    if n == 0:
        return p.slice_in_dim(flat, start=0, limit=0, dimension=len(lead))
    return p.slice_in_dim(flat, start=first, limit=first + (n - 1) * (cols + 1) + 1,
                          stride=cols + 1, dimension=len(lead))


def diagonal_length(rows: int, cols: int, offset: int) -> int:
    """The number of elements of a diagonal."""
    return max(0, min(rows, cols - offset) if offset >= 0 else min(rows + offset, cols))


def _diagonal_layout(shape, strides, start, offset, dim1, dim2):
    rest = [i for i in range(len(shape)) if i not in (dim1, dim2)]
    n = diagonal_length(shape[dim1], shape[dim2], offset)
    if n:
        start += max(offset, 0) * strides[dim2] - min(offset, 0) * strides[dim1]
    return (tuple(shape[i] for i in rest) + (n,),
            tuple(strides[i] for i in rest) + (strides[dim1] + strides[dim2],), start)


view_kind("diagonal", get=_diagonal_get, layout=_diagonal_layout)


def _unfold_get(x, dim, size, step):
    n = (x.aval.shape[dim] - size) // step + 1
    places = (np.arange(n) * step)[:, None] + np.arange(size)
    taken = p.take(x, p.constant(places.reshape(-1)), axis=dim, mode="promise_in_bounds")
    shape = x.aval.shape
    taken = p.reshape(taken, shape=shape[:dim] + (n, size) + shape[dim + 1:])
    order = [i for i in range(taken.aval.ndim) if i != dim + 1] + [dim + 1]
    return p.transpose(taken, permutation=tuple(order))


def _unfold_layout(shape, strides, offset, dim, size, step):
    n = (shape[dim] - size) // step + 1
    return (shape[:dim] + (n,) + shape[dim + 1:] + (size,),
            strides[:dim] + (strides[dim] * step,) + strides[dim + 1:] + (strides[dim],), offset)


view_kind("unfold", get=_unfold_get, layout=_unfold_layout)

view_kind("real", get=lambda x: p.real(x), put=lambda base, new: p.complex(new, p.imag(base)),
          layout=lambda shape, strides, offset: (
              shape, tuple(2 * s for s in strides), 2 * offset))
view_kind("imag", get=lambda x: p.imag(x), put=lambda base, new: p.complex(p.real(base), new),
          layout=lambda shape, strides, offset: (
              shape, tuple(2 * s for s in strides), 2 * offset + 1))


def _as_real_get(x):
    parts = [p.expand_dims(part, dims=(x.aval.ndim,)) for part in (p.real(x), p.imag(x))]
    return p.concatenate(*parts, dimension=x.aval.ndim)


def _as_complex_get(x):
    last = x.aval.ndim - 1
    parts = [p.reshape(p.slice_in_dim(x, start=i, limit=i + 1, dimension=last),
                       shape=x.aval.shape[:-1])
             for i in (0, 1)]
    return p.complex(*parts)


view_kind("view_as_real", get=_as_real_get, put=lambda base, new: _as_complex_get(new),
          layout=lambda shape, strides, offset: (
              shape + (2,), tuple(2 * s for s in strides) + (1,), 2 * offset))
view_kind("view_as_complex", get=_as_complex_get, put=lambda base, new: _as_real_get(new),
          layout=lambda shape, strides, offset: (
              shape[:-1], tuple(s // 2 for s in strides[:-1]), offset // 2))
