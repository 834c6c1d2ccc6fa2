"""Views of wrappers, and writing to them: what is written goes down to what they wrap."""

from __future__ import annotations

from collections.abc import Sequence

from ..tensors.base import Tensor
from ..views import cells as _views
from ..views.cells import KINDS, Alias, Cell, Lens, contiguous_strides, layout_of, look, put
from . import captured as _captured
from .levels import Batched, Dual, at_depth, batched_at, has_level, refresh, wrap

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
    cell.strides = contiguous_strides(cell.shape)
    return cell


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
    lens = _lens_of(source, chain, batch, dim, tuple(out._aval.shape))
    if lens is None:
        return out
    if source._level is not None or out._level is not None:
        return out if source._level is None or out._level is None else _seen_through(lens, source, out)
    return _views.show(source, lens, out)


def _lens_of(source: Tensor, chain: Sequence[Lens], batch: int | None, dim: int, shape: tuple) -> Lens | None:
    """What shows at `shape`, with the batch at `dim`, what a chain shows of each example of the source;
    None where that is not one run of strides."""
    whole = layout_of(source)
    keep = [i for i in range(len(whole[0])) if i != batch]
    example = tuple([whole[0][i] for i in keep]), tuple([whole[1][i] for i in keep]), whole[2]
    if chain:
        assumed = example[0], contiguous_strides(example[0]), 0
        if example != assumed and any(lens.kind in ABSOLUTE for lens in chain):
            return None
        for lens in chain:
            if lens.kind == "view" and _views.view_strides(*example[:2], lens.params[0]) is None:
                return None
            example = KINDS[lens.kind].layout(*example, *lens.params, *lens.ints)
    step = 0 if batch is None else whole[1][batch]
    sizes, strides, offset = example
    strides = (*strides[:dim], step, *strides[dim:])
    if (*sizes[:dim], shape[dim], *sizes[dim:]) != shape:
        return None
    return Lens("as_strided", (shape, strides, offset, *whole))


ABSOLUTE = frozenset({"as_strided"})  # lenses that name places of memory, not of what they look at


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
        new = level.primal if theirs is None else wrap(Dual(level.depth, level.primal, theirs.tangent))
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
