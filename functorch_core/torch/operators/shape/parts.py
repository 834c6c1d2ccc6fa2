"""Views of a part: select, narrow, the ways to split, diagonals."""

from __future__ import annotations

import operator

from ...dispatch.op import PLAIN, composite
from ...dispatch.view_op import view_op, views_op
from ...tape.meta import is_meta
from ...tensors import types as _types
from ...tensors.active import active
from ...tensors.base import Tensor, wrap_dim
from ...views import kinds
from ...views.cells import make_view
from ...views.lenses import STATIC_PARTS, Lens, is_static, is_static_index
from ...views.seen import see_each
from ...views.several import ONE_NODE, is_one_of_several, make_views
from ..index.parsing import sliced
from .views import as_int

INTEGER_DTYPES = frozenset(_types.by_name[n] for n in ("uint8", "int8", "int16", "int32", "int64"))

# ---- one part ------------------------------------------------------------------------------------


def part(
    tensor: Tensor, kind: str, dim: int, start: int, size: int, step: int = 1, stays: bool = True, static: bool = False
) -> Tensor:
    """A part along one dimension; the start is an input of the program unless it is `static`."""
    return make_view(tensor, part_lens(tensor, kind, dim, start, size, step, stays, static))


def part_lens(
    tensor: Tensor, kind: str, dim: int, start: int, size: int, step: int = 1, stays: bool = True, static: bool = False
) -> Lens:
    """The lens of a part; see `part`."""
    shape = tensor._aval.shape
    n = shape[dim]
    static = static or size == n
    spec = kinds.part_of_dim(shape, dim, start if static else None, size, step, stays)
    return Lens(kind, (spec, ()), () if static else (start,))


@view_op
def select(input, dim, index):
    """The part at one index of a dimension, which goes away.

    >>> torch.select(torch.tensor([[1, 2], [3, 4]]), 0, 1)
    tensor([3, 4])
    """
    if not input.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d, i = wrap_dim(as_int("select", dim), input.ndim), as_int("select", index, "index")
    n = input.shape[d]
    if not -n <= i < n:
        raise IndexError(f"select(): index {i} out of range for tensor of size {list(input.shape)} at dimension {d}")
    return part(input, "select", d, i % n, 1, stays=False, static=is_static_index(i, n, d))


@view_op
def narrow(input, dim, start, length):
    """The part of a dimension from start on, of a length.

    >>> torch.narrow(torch.arange(5), 0, 1, 3)
    tensor([1, 2, 3])
    """
    if not input.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    length = as_int("narrow", length, "length")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if isinstance(start, Tensor) and (start.ndim or start.dtype not in INTEGER_DTYPES):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    d, i = wrap_dim(as_int("narrow", dim), input.ndim), as_int("narrow", start, "start")
    n = input.shape[d]
    if not -n <= i <= n:
        raise IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {i})")
    i = i + n if i < 0 else i
    if i + length > n:
        raise RuntimeError(f"start ({i}) + length ({length}) exceeds dimension size ({n}).")
    return part(input, "slice", d, i, length, static=is_static(i, (0,), n))


@composite
def slice_copy(input, dim=0, start=None, end=None, step=1):
    """A copy of a slice of a dimension.

    >>> torch.slice_copy(torch.arange(5), 0, 1, 4, 2)
    tensor([1, 3])
    """
    d = wrap_dim(dim, input.ndim)
    n = input.shape[d]
    start, size, step = sliced(slice(start, end, step), n)
    copied = part(input, "slice", d, start, size, step, static=is_static(start, (0,), n))
    return copied.clone(memory_format=_types.contiguous_format)


def parts(tensor: Tensor, kind: str, dim: int, sizes) -> tuple[Tensor, ...]:
    """Parts of these sizes, one after the other."""
    static, start, lenses = len(sizes) <= STATIC_PARTS, 0, []
    for size in sizes:
        lenses.append(part_lens(tensor, kind, dim, start, size, static=static))
        start += size
    if kind == "slice":
        return tuple([make_view(tensor, lens) for lens in lenses])
    return is_one_of_several(_views(tensor, lenses), kind.title().replace("_", ""))


@views_op
def split(tensor, split_size_or_sections=None, dim=0, *, split_size=None):
    """Parts of a size (the last may be smaller), or of the given sizes; the method's name of the
    argument is split_size.

    >>> torch.arange(5).split(2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    if split_size_or_sections is None:
        split_size_or_sections = split_size
    if isinstance(split_size_or_sections, (tuple, list)):
        return split_with_sizes(tensor, split_size_or_sections, dim)
    if not tensor.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    size = as_int("split", split_size_or_sections, "split_size")
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    d = wrap_dim(dim, tensor.ndim)
    n = tensor.shape[d]
    if size == 0 and n:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}")
    count = max(-(-n // size), 1) if size else 1
    return parts(tensor, "split", d, [min(size, n - i * size) for i in range(count)])


@views_op
def split_with_sizes(input, split_sizes, dim=0):
    """Parts of the given sizes.

    >>> torch.split_with_sizes(torch.arange(5), [2, 3])
    (tensor([0, 1]), tensor([2, 3, 4]))
    """
    if not input.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d, sizes = wrap_dim(dim, input.ndim), [as_int("split", s, "split_sizes") for s in split_sizes]
    if any(s < 0 for s in sizes):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={sizes}"
        )
    if sum(sizes) != input.shape[d]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to "
            f"{input.shape[d]} (input tensor's size at dimension {d}), but got "
            f"split_sizes={sizes}"
        )
    return parts(input, "split_with_sizes", d, sizes)


@views_op
def chunk(input, chunks, dim=0):
    """At most `chunks` parts of equal size, but for the last.

    >>> torch.arange(5).chunk(2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    if not input.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = input.shape[wrap_dim(dim, input.ndim)]
    size = -(-n // chunks)
    if size == 0:
        return split_with_sizes(input, [0] * chunks, dim)
    return split(input, size, dim)


@composite(node="UnsafeSplitBackward0")
def unsafe_split(tensor, split_size_or_sections, dim=0):
    """Parts of a size; a write to one reaches the others' memory, but not their history.

    >>> torch.unsafe_split(torch.arange(4), 3)
    (tensor([0, 1, 2]), tensor([3]))
    """
    return _copies(split(tensor, split_size_or_sections, dim))


def _copies(views) -> tuple[Tensor, ...]:
    """New views that autograd does not know to be views: writes to them go unseen by it."""
    for x in views:
        if x._level is None:
            x._view.base, x._view.source, x._view.refuses, x._view.untracked = None, None, None, True
    return tuple(views)


@composite
def unsafe_split_with_sizes(input, split_sizes, dim=0):
    """unsafe_split by the given sizes.

    >>> torch.unsafe_split_with_sizes(torch.arange(3), [1, 2])
    (tensor([0]), tensor([1, 2]))
    """
    return _copies(split_with_sizes(input, split_sizes, dim))


@composite(node="UnsafeSplitBackward0")
def unsafe_chunk(input, chunks, dim=0):
    """unsafe_split into at most `chunks` parts of equal size.

    >>> torch.unsafe_chunk(torch.arange(4), 2)
    (tensor([0, 1]), tensor([2, 3]))
    """
    return _copies(chunk(input, chunks, dim))


@views_op
def tensor_split(input, indices_or_sections=None, dim=0, *, indices=None, sections=None):
    """Parts that end at the given indices, or a number of parts of nearly equal size.

    >>> torch.tensor_split(torch.arange(5), 3)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    given = next(x for x in (indices_or_sections, indices, sections) if x is not None)
    if not input.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    d = wrap_dim(dim, input.ndim)
    n = input.shape[d]
    if isinstance(given, Tensor):
        if given.ndim > 1 or given.dtype is not _types.int64:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                f"{_types.scalar_name(given._aval.dtype)}"
                if given.ndim <= 1
                else "tensor_split expected "
                "tensor_indices_or_sections to be a zero-dimensional or "
                f"one-dimensional tensor, but got a tensor with {given.ndim} dims"
            )
        if is_meta(given):
            raise RuntimeError(
                f"tensor_split expected tensor_indices_or_sections to be on cpu, but it's on {given.device}"
            )
        given = given.tolist()
    if isinstance(given, (tuple, list)):
        ends = [0, *(as_int("tensor_split", i, "indices") for i in given), n]
        bounds = [(slice(a, b).indices(n)[:2]) for a, b in zip(ends, ends[1:])]
        return tuple(part(input, "slice", d, a, max(b - a, 0), static=True) for a, b in bounds)
    if given <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {given}")
    size, extra = divmod(n, given)
    return parts(input, "slice", d, [size + 1] * extra + [size] * (given - extra))


@views_op
def unbind(input, dim=0):
    """The parts at each index of a dimension, as a tuple.

    >>> torch.unbind(torch.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    if not input.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    d = wrap_dim(dim, input.ndim)
    n = input.shape[d]
    if n <= STATIC_PARTS:
        lenses = [part_lens(input, "unbind", d, i, 1, stays=False, static=True) for i in range(n)]
    else:  # they differ in their number alone
        kind, params, _ = part_lens(input, "unbind", d, 0, 1, stays=False)
        lenses = [Lens(kind, params, (i,)) for i in range(n)]
    return is_one_of_several(_views(input, lenses), "Unbind")


def _views(tensor: Tensor, lenses: list[Lens]) -> list[Tensor]:
    """The views that one call returns."""
    if len(lenses) > ONE_NODE and active.plain and tensor.__class__ in PLAIN:
        return see_each(tensor, lenses)
    return make_views(tensor, lenses)


def _named_split(name: str, dim: int, least: int):
    def splitter(input, indices_or_sections=None, *, indices=None, sections=None):
        given = next(x for x in (indices_or_sections, indices, sections) if x is not None)
        d = 0 if name == "hsplit" and input.ndim == 1 else dim
        if input.ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, "
                f"but got a tensor with {input.ndim} dimensions!"
            )
        if not isinstance(given, (tuple, list)) and (given <= 0 or input.shape[d] % given):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {d}, but the size "
                f"of the dimension {input.shape[d]} is not divisible by the "
                f"split_size {given}!"
            )
        return tensor_split(input, given, d)

    splitter.__doc__ = f"""tensor_split along dimension {dim}.

    >>> [x.shape for x in torch.{name}(torch.ones(2, 2, 2), 2)]
    [torch.Size({[1 if i == dim else 2 for i in range(3)]}), torch.Size({[1 if i == dim else 2 for i in range(3)]})]
    """
    return composite(splitter, name=name)


hsplit, vsplit, dsplit = (_named_split(*a) for a in (("hsplit", 1, 1), ("vsplit", 0, 2), ("dsplit", 2, 3)))


@view_op
def diagonal(input, offset=0, dim1=0, dim2=1):
    """The diagonal of two dimensions, as the last one.

    >>> torch.diagonal(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    a, b = wrap_dim(dim1, input.ndim), wrap_dim(dim2, input.ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return make_view(input, Lens("diagonal", (operator.index(offset), a, b)))
