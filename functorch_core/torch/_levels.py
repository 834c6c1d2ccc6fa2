"""Levels: tensors inside torch.func transforms, and in forward-mode AD.

A wrapper is a Tensor whose `_level` says what it stands for: one example of a batch, or a primal
with its tangent. An op on wrappers runs the batched (or jvp) graph of the op on what they wrap, one
level down, where wrappers of outer levels are treated alike: they nest without limit. Reverse mode
needs no level: the tape records whatever happens at the bottom.
"""
from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from ..core.aval import Aval
from ..transforms.batch import Axis, batch
from ..transforms.jvp import jvp
from . import _apply
from ._apply import GraphOp
from ._tensor_base import Tensor, new_tensor
from ._views import Alias, Cell, Lens, contiguous_strides, look, put

NO_DATA = ("vmap: It looks like you're calling {what} on a Tensor. We don't support vmap over "
           "calling {what} on a Tensor, please try to rewrite what you're doing with other "
           "operations. If error is occurring somewhere inside PyTorch internals, please file a "
           "bug report.")
INPLACE = ("vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a "
           "Tensor `other` in extra_args that has more elements than `self`. This happened due to "
           "`other` being vmapped over but `self` not being vmapped over in a vmap. Please try to "
           "use out-of-place operators instead of inplace arithmetic.")

_depths = itertools.count(1)
active: list[int] = []  # depths of the levels entered, outermost first


class Batched:
    """One example of a batch: `inner` has the batch at dimension `dim`."""

    __slots__ = ("depth", "size", "inner", "dim")

    def __init__(self, depth: int, size: int, inner: Tensor, dim: int):
        self.depth, self.size, self.inner, self.dim = depth, size, inner, dim

    @property
    def aval(self) -> Aval:
        """The aval of one example."""
        a = self.inner._aval
        return a.with_shape(a.shape[:self.dim] + a.shape[self.dim + 1:])


class Dual:
    """A primal and its tangent at one level of forward mode."""

    __slots__ = ("depth", "primal", "tangent")

    def __init__(self, depth: int, primal: Tensor, tangent: Tensor):
        self.depth, self.primal, self.tangent = depth, primal, tangent

    @property
    def aval(self) -> Aval:
        """The aval of the primal."""
        return self.primal._aval


class enter:
    """Context: a new level; gives its depth."""

    def __enter__(self) -> int:
        from . import _levels
        _apply.levels = _levels
        self.depth = next(_depths)
        active.append(self.depth)
        return self.depth

    def __exit__(self, *exc):
        active.remove(self.depth)


def wrap(level) -> Tensor:
    """A tensor that stands for a level's content."""
    tensor = new_tensor(_bottom(level)._value)
    tensor._level = level
    tensor._ge = _bottom(level)._ge
    return tensor


def _bottom(level) -> Tensor:
    tensor = level.inner if isinstance(level, Batched) else level.primal
    return tensor


def refresh(x: Tensor):
    """Derive a wrapped view anew if its base has been written to."""
    alias = x._view
    if alias is not None and alias.seen != alias.cell.version and alias.base is not None:
        fresh = look(alias.base, alias.chain)
        x._level, x._value, x._ge = fresh._level, fresh._value, fresh._ge
        alias.seen = alias.cell.version


# ---- ops on wrappers -----------------------------------------------------------------------------------


def apply(op: GraphOp, operands: Sequence):
    """Apply an op to operands of which some are wrappers, at the innermost level among them."""
    for x in operands:
        if isinstance(x, Tensor):
            refresh(x)
    depth = max(x._level.depth for x in operands if is_wrapper(x))
    level = next(x._level for x in operands if is_wrapper(x) and x._level.depth == depth)
    rule = _apply_batched if isinstance(level, Batched) else _apply_dual
    outs = rule(op, operands, level)
    return outs if op.multiple else outs[0]


def is_wrapper(x) -> bool:
    """Whether x is a tensor of some level."""
    return isinstance(x, Tensor) and x._level is not None


def _apply_batched(op: GraphOp, operands, level: Batched) -> list:
    at = [x._level if is_wrapper(x) and x._level.depth == level.depth else None for x in operands]
    dims = tuple([None if lv is None else lv.dim for lv in at])
    key = ("batched_op", level.size, dims)
    found = op.graph.memo.get(key)
    if found is None:
        graph, out_dims = batch(op.graph, Axis(level.size), dims)
        found = op.graph.memo[key] = GraphOp(graph, op.name, True, op.node_class), out_dims
    batched, out_dims = found
    inner = [x if lv is None else lv.inner for x, lv in zip(operands, at)]
    outs = _apply.apply(batched, inner)
    return [o if d is None else wrap(Batched(level.depth, level.size, o, d))
            for o, d in zip(outs, out_dims)]


def _apply_dual(op: GraphOp, operands, level: Dual) -> list:
    at = [x._level if is_wrapper(x) and x._level.depth == level.depth else None for x in operands]
    mask = tuple([lv is not None and d for lv, d in zip(at, op.differentiable)])
    key = ("dual_op", mask)
    found = op.graph.memo.get(key)
    if found is None:
        graph, out_mask = jvp(op.graph, mask)
        found = op.graph.memo[key] = GraphOp(graph, f"{op.name}_jvp", True), out_mask
    dual, out_mask = found
    primals = [x if lv is None else lv.primal for x, lv in zip(operands, at)]
    outs = _apply.apply(dual, primals + [lv.tangent for lv, m in zip(at, mask) if m])
    tangents = iter(outs[len(out_mask):])
    return [wrap(Dual(level.depth, o, next(tangents))) if m else o
            for o, m in zip(outs, out_mask)]


# ---- views and in-place --------------------------------------------------------------------------------


def make_view(tensor: Tensor, lens: Lens) -> Tensor:
    """A view of a wrapper; writing to it writes to the wrapper."""
    refresh(tensor)
    out = look(tensor, (lens,))
    if tensor._view is None:
        cell = Cell.__new__(Cell)
        cell.value, cell.version, cell.shape = None, tensor._own_version, tensor._aval.shape
        cell.strides = contiguous_strides(cell.shape)
        tensor._view = Alias(cell, (), None)
    alias = tensor._view
    out._view = Alias(alias.cell, alias.chain + (lens,), alias.base or tensor)
    out._view.seen = alias.cell.version
    return out


def assign(tensor: Tensor, new: Tensor) -> Tensor:
    """tensor.op_() where one of the two is a wrapper."""
    refresh(tensor)
    new = _at_level_of(tensor, new)
    alias = tensor._view
    if alias is not None and alias.chain:
        base = alias.base
        changed = put(base, new, alias.chain)
        base._level, base._value, base._ge = changed._level, changed._value, changed._ge
    tensor._level, tensor._value, tensor._ge = new._level, new._value, new._ge
    tensor._own_version += 1
    if alias is not None:
        alias.cell.version += 1
        alias.seen = alias.cell.version
        if alias.base is not None:
            alias.base._view.seen = alias.cell.version
    return tensor


def _at_level_of(tensor: Tensor, new: Tensor) -> Tensor:
    mine = tensor._level.depth if tensor._level is not None else 0
    theirs = new._level.depth if new._level is not None else 0
    if theirs > mine and isinstance(new._level, Batched):
        raise RuntimeError(INPLACE)
    if mine > theirs and isinstance(tensor._level, Batched):
        shape = (tensor._level.size, *new.shape)
        return wrap(Batched(mine, tensor._level.size, new.expand(shape), 0))
    return new


def detach(tensor: Tensor) -> Tensor:
    """Without history on the tape, at every level; tangents are dropped."""
    level = tensor._level
    if isinstance(level, Dual):
        return level.primal.detach()
    return wrap(Batched(level.depth, level.size, level.inner.detach(), level.dim))


def ones_like(tensor: Tensor) -> Tensor:
    """Ones in the shape of one example, batched like the tensor."""
    level = tensor._level
    if isinstance(level, Dual):
        from ._tensor import ones_like_detached
        return ones_like_detached(level.primal)
    from ._tensor import ones_like_detached
    return wrap(Batched(level.depth, level.size, ones_like_detached(level.inner), level.dim))


def concrete(tensor: Tensor, what: str) -> np.ndarray:
    """The data of a wrapper: that of the primal; an error for one example of a batch."""
    level = tensor._level
    if isinstance(level, Batched):
        raise RuntimeError(NO_DATA.format(what=what))
    return level.primal._array()


def describe(tensor: Tensor) -> str:
    """How a wrapper prints."""
    level = tensor._level
    if isinstance(level, Batched):
        return f"BatchedTensor(lvl={active.index(level.depth) + 1 if level.depth in active else '?'}, bdim={level.dim}, value=\n    {level.inner!r}\n)"
    return f"DualTensor(primal={level.primal!r}, tangent={level.tangent!r})"
