"""Views of wrappers, and writing to them: what is written goes down to what they wrap."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from ..tensors.base import Tensor, new_tensor
from ..views import cells as _views
from ..views.cells import Alias, Cell, layout_of, look, put
from ..views.lenses import KINDS, Lens
from ..views.strides import contiguous_strides, view_strides
from . import captured as _captured
from .levels import Batched, Dual, at_depth, batched_at, has_level, refresh, stack, wrap
from .tracking import zeros_like

INPLACE = (
    "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a "
    "Tensor `other` in extra_args that has more elements than `self`. This happened due to "
    "`other` being vmapped over but `self` not being vmapped over in a vmap. Please try to "
    "use out-of-place operators instead of inplace arithmetic."
)


def make_view(tensor: Tensor, lens: Lens) -> Tensor:
    """A view of a wrapper; writing to it writes to the wrapper."""
    refresh(tensor)
    return _seen_through(lens, tensor, look(tensor, (lens,)))


def _seen_through(lens: Lens, tensor: Tensor, out: Tensor) -> Tensor:
    """`out`, which is what a lens shows of a wrapper, as a view of it."""
    if tensor._view is None:
        tensor._view = Alias(_cell_of(tensor), (), None)
    alias = tensor._view
    base = tensor if alias.base is None else alias.base
    out._view = Alias(alias.cell, alias.chain + (lens,), base)
    out._view.seen = alias.cell.version
    return out


def _cell_of(tensor: Tensor) -> Cell:
    """A cell that only counts versions: the value is the wrapper's."""
    cell = Cell.__new__(Cell)
    cell.value, cell.version, cell.unseen, cell.quiet = None, tensor._own_version, 0, None
    cell.shape, cell.born = tensor._aval.shape, _captured.birth(tensor)
    cell.strides, cell.strided = contiguous_strides(cell.shape), False
    return cell


def layout(tensor: Tensor) -> tuple[tuple, tuple, int]:
    """(shape, strides, storage offset) of a wrapper: those of one example in what is wrapped."""
    alias = tensor._view
    root = tensor if alias is None or alias.base is None else alias.base
    if root._level is None:
        return alias.layout()
    level = root._level
    if not isinstance(level, Batched):
        found = layout_of(level.below)
    elif level.given:
        found = _of_an_example(layout_of(level.inner), level.dim)
    else:
        found = level.aval.shape, contiguous_strides(level.aval.shape), 0
    for lens in () if root is tensor else alias.chain:
        found = KINDS[lens.kind].layout(*found, *lens.params, *lens.ints)
    return found


def strides_of_all(tensor: Tensor) -> tuple[int, ...] | None:
    """The strides of all examples of what is mapped by every vmap that is active, the batches in front; None for
    others, and where examples are not given different numbers."""
    frames = [f for f in stack.frames if f.kind == "vmap"]
    root = tensor if tensor._view is None or tensor._view.base is None else tensor._view.base
    steps, level = [], root._level
    while isinstance(level, Batched) and level.given and len(steps) < len(frames):
        steps.insert(0, layout_of(level.inner)[1][level.dim])
        level = level.inner._level
    if level is not None or len(steps) < len(frames) or any([f.randomness != "different" for f in frames]):
        return None
    return (*steps, *layout(tensor)[1])


def _of_an_example(layout: tuple, batch: int) -> tuple:
    """The layout of one example of what has its batch at this dimension."""
    shape, strides, offset = layout
    return shape[:batch] + shape[batch + 1 :], strides[:batch] + strides[batch + 1 :], offset


# ---- what a vmap returns -------------------------------------------------------------------------


def in_memory_of(inputs: Sequence[Tensor], x: Tensor, out: Tensor, depth: int, dim: int) -> Tensor:
    """`out`, which is all of x with the batch of this depth at `dim`, as a view: of one of the vmap's inputs
    if x is (a view of) an example of it, of x if every example has the same x."""
    root = x if x._view is None or x._view.base is None or x._level is None else x._view.base
    level = at_depth(root, depth)
    chain = () if level is None or root is x else x._view.chain
    source, batch = (x, None) if level is None else (level.inner, level.dim)
    if out is source or out._view is not None or (level is not None and not any(source is y for y in inputs)):
        return out
    for at, other_numbers in enumerate(chain):
        if KINDS[other_numbers.kind].other_numbers:
            return _in_other_numbers(source, chain, at, batch, out, dim)
    lens = _lens_of(source, chain, batch, dim, tuple(out._aval.shape))
    if lens is None:
        return out
    if source._level is not None or out._level is not None:
        return out if source._level is None or out._level is None else _seen_through(lens, source, out)
    return _views.show(source, lens, out)


def _in_other_numbers(source: Tensor, chain: Sequence[Lens], at: int, batch: int, out: Tensor, dim: int) -> Tensor:
    """`out`, which a chain whose lens `at` shows other numbers (x.real) shows of each example of the source, as a view
    of it; itself where it is none. Such a lens leaves alone a batch that is in front."""
    before = _layout_of_all(source, chain[:at], batch, 0)
    if before is None:
        return out
    seen = _views.make_view(source, Lens("as_strided", (*before, *layout_of(source))))
    seen = _views.make_view(seen, chain[at])
    after = _layout_of_all(seen, chain[at + 1 :], 0, dim)
    if after is None or after[0] != tuple(out._aval.shape):
        return out
    return _views.make_view(seen, Lens("as_strided", (*after, *layout_of(seen))))


def _lens_of(source: Tensor, chain: Sequence[Lens], batch: int | None, dim: int, shape: tuple) -> Lens | None:
    """What shows at `shape`, with the batch at `dim`, what a chain shows of each example of the source;
    None where that is not one run of strides."""
    found = _layout_of_all(source, chain, batch, dim, shape[dim])
    return None if found is None or found[0] != shape else Lens("as_strided", (*found, *layout_of(source)))


def _layout_of_all(source: Tensor, chain: Sequence[Lens], batch: int | None, dim: int, size: int = 0) -> tuple | None:
    """The layout of what a chain shows of all examples of the source, the batch at `dim` (of this size, where the
    source has none); None where that is not one run of strides, or other numbers."""
    if any(KINDS[lens.kind].other_numbers for lens in chain):
        return None
    whole = layout_of(source)
    example = whole if batch is None else _of_an_example(whole, batch)
    if chain:
        for lens in chain:
            if lens.kind == "view" and view_strides(*example[:2], lens.params[0]) is None:
                return None
            if lens.kind in ABSOLUTE:
                found = _strided_there(lens, example)
                if found is None:
                    return None
                example = found
            else:
                example = KINDS[lens.kind].layout(*example, *lens.params, *lens.ints)
    size, step = (size, 0) if batch is None else (whole[0][batch], whole[1][batch])
    sizes, strides, offset = example
    return (*sizes[:dim], size, *sizes[dim:]), (*strides[:dim], step, *strides[dim:]), offset


ABSOLUTE = frozenset({"as_strided"})  # lenses that name places of memory, not of what they look at


def _strided_there(lens: Lens, layout: tuple) -> tuple | None:
    """The layout of what as_strided has taken of a tensor, where that tensor lies in another layout than it was
    written for: each step as so many along each dimension. None where a step would run over the end of one."""
    shape, strides, offset, sizes, steps, start = lens.params
    if (sizes, steps, start) == layout:
        return shape, strides, offset
    if sizes != layout[0]:
        return None
    first, ways = _along(offset - start, sizes, steps), [_along(s, sizes, steps) for s in strides]
    if first is None or None in ways:
        return None
    for d, size in enumerate(sizes):
        if first[d] + sum((n - 1) * way[d] for n, way in zip(shape, ways)) >= max(size, 1):
            return None
    moved = [sum(map(operator.mul, way, layout[1])) for way in (first, *ways)]
    return shape, tuple(moved[1:]), layout[2] + moved[0]


def _along(places: int, sizes: tuple, steps: tuple) -> tuple | None:
    """How many elements along each dimension so many places of memory are."""
    found = [0] * len(sizes)
    for d in sorted(range(len(sizes)), key=lambda d: -steps[d]):
        if sizes[d] > 1 and steps[d] > 0:
            found[d], places = divmod(places, steps[d])
    return None if places else tuple(found)


# ---- writing -------------------------------------------------------------------------------------


def assign(tensor: Tensor, new: Tensor) -> Tensor:
    """tensor.op_() where one of the two is a wrapper."""
    refresh(tensor)
    alias = tensor._view
    if alias is None or not alias.chain:
        _replace(tensor, new)
    elif alias.base is not None:
        _replace(alias.base, put(alias.base, _fitting(tensor, new), alias.chain))
        fresh = look(alias.base, alias.chain)
        tensor._level, tensor._value, tensor._ge = fresh._level, fresh._value, fresh._ge
    else:
        raise RuntimeError(
            "a view without history cannot be written to with a tensor of a func transform; clone it first"
        )
    _count(tensor, alias)
    return tensor


def with_zero_tangent(made: Tensor, source: Tensor) -> Tensor:
    """What does not depend on the values of a dual tensor, as one of its level."""
    return wrap(Dual(source._level.depth, made, zeros_like(made)))


def become(tensor: Tensor, lens: Lens):
    """Let a wrapper see its content through a further lens: x.squeeze_(). What it was goes on as a stand-in, of
    which it is a view."""
    refresh(tensor)
    alias = tensor._view
    if alias is None:
        old = new_tensor(tensor._value, tensor._ge)
        old._level = tensor._level
        shown = make_view(old, lens)
    elif alias.base is not None:
        shown = look(tensor, (lens,))
        shown._view = Alias(alias.cell, alias.chain + (lens,), alias.base)
        shown._view.seen = alias.cell.version
    else:
        raise NotImplementedError(
            "in-place changes of shape of a tensor that has views are not implemented inside vmap and jvp; "
            "use the form that returns a new tensor"
        )
    tensor._level, tensor._value, tensor._ge, tensor._view = shown._level, shown._value, shown._ge, shown._view
    tensor._own_version += 1


def _count(tensor: Tensor, alias: Alias | None):
    """Other views of the same cell are to be derived anew."""
    tensor._own_version += 1
    if alias is not None:
        alias.cell.version += 1
        alias.seen = alias.cell.version
        if alias.base is not None:
            alias.base._view.seen = alias.cell.version


def _fitting(tensor: Tensor, new: Tensor) -> Tensor:
    _check_not_more_batched(tensor, new)
    return new


def _replace(tensor: Tensor, new: Tensor):
    """Put a new content into a tensor that is no view, and into what it wraps."""
    _check_not_more_batched(tensor, new)
    level = tensor._level
    if isinstance(level, Batched) and _depth(new) <= level.depth:
        inner = batched_at(new, level.depth, level.size, level.dim)
        _views.assign(level.inner, inner, captured=True)
        tensor._value = level.inner._value
        return
    if isinstance(level, Dual) and _depth(new) <= level.depth:
        theirs = at_depth(new, level.depth)
        _views.assign(level.primal, new if theirs is None else theirs.primal, captured=True)
        tangent = zeros_like(level.tangent) if theirs is None else theirs.tangent
        if tangent._level is None and level.tangent._level is None:
            tangent = _views.assign(level.tangent, tangent, captured=True)
        new = wrap(Dual(level.depth, level.primal, tangent))
    tensor._level, tensor._value, tensor._ge = new._level, new._value, new._ge


def _depth(tensor: Tensor) -> int:
    return tensor._level.depth if tensor._level is not None else 0


def _check_not_more_batched(tensor: Tensor, new: Tensor):
    """RuntimeError if `new` is one example of a batch, and `tensor` is shared by all examples."""
    if is_more_batched(new, tensor):
        raise RuntimeError(INPLACE)


def is_more_batched(x: Tensor, other: Tensor) -> bool:
    """Whether x is one example of a batch, and `other` is shared by all examples."""
    level = x._level
    while level is not None:
        if isinstance(level, Batched) and not has_level(other, level.depth):
            return True
        level = level.below._level
    return False
