"""Views: other shapes, orders and parts of the same memory."""

from __future__ import annotations

import functools
import math
import operator

from .... import primitives as p
from ...dispatch.op import PLAIN, composite, torch_op
from ...dispatch.view_op import strided_view_op, view_op
from ...levels.levels import refuse_batched
from ...levels.writes import become as become_inside
from ...tensors import types as _types
from ...tensors.active import active
from ...tensors.base import Tensor, wrap_dim
from ...tensors.types import scalar_name
from ...views import kinds
from ...views.bits import bits_of
from ...views.cells import check_writable, layout_of, look, make_view, rebase, share
from ...views.lenses import Lens
from ...views.strides import view_strides
from .storage import UntypedStorage

# ---- arguments -----------------------------------------------------------------------------------


INT = {int}


def ints_of(name: str, args: tuple, what: str, given=None) -> tuple[int, ...]:
    """The ints of x.view(2, 3), x.view((2, 3)) or x.view(size=(2, 3))."""
    if given is not None:
        args = (given,)
    elif args and set(map(type, args)) == INT:
        return args
    elif not args:
        raise TypeError(f'{name}() missing 1 required positional arguments: "{what}"')
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        args = args[0]
    return tuple([a if a.__class__ is int else as_int(name, a, what) for a in args])


def as_int(name: str, x, what: str = "dim") -> int:
    """A Python int from an int, a NumPy integer or an integer tensor of one element."""
    if isinstance(x, (float, complex, str, bool)) or not hasattr(x, "__index__"):
        raise TypeError(
            f"{name}(): argument '{what}' must be tuple of ints, but found element of type {type(x).__name__}"
        )
    return operator.index(x)


def inferred_shape(shape: tuple[int, ...], numel: int) -> tuple[int, ...]:
    """The shape with -1 replaced; RuntimeError where the sizes do not fit."""
    if -1 not in shape:
        if math.prod(shape) == numel and min(shape, default=0) >= 0:
            return shape
        unknown = 0
    else:
        unknown = shape.count(-1)
    for i, n in enumerate(shape):
        if n < -1:
            raise RuntimeError(f"invalid shape dimension {n} at index {i} of shape {list(shape)}")
    if unknown > 1:
        raise RuntimeError("only one dimension can be inferred")
    known = math.prod(n for n in shape if n != -1)
    if unknown and known == 0 and numel == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because "
            "the unspecified dimension size -1 can be any value and is ambiguous"
        )
    if (unknown and (known == 0 or numel % known)) or (not unknown and known != numel):
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    return tuple([numel // known if n == -1 else n for n in shape])


# ---- other shapes --------------------------------------------------------------------------------

VIEW_SIZE = (
    "view size is not compatible with input tensor's size and stride (at least one "
    "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
)


@strided_view_op(function=False)
def view(self, *size, dtype=None, **kwargs):
    """The same memory in another shape, or as another dtype.

    RuntimeError where the strides do not allow it: use reshape then.

    >>> torch.arange(4).view(2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    if dtype is not None or (size and isinstance(size[0], (_types.dtype, type))):
        if len(size) > (dtype is None) or kwargs:
            raise TypeError("view() received an invalid combination of arguments - got a size and a dtype")
        return view_dtype(self, size[0] if dtype is None else dtype)
    if not size and not kwargs:
        raise TypeError("view() received an invalid combination of arguments - got ()")
    size = ints_of("view", size, "size", kwargs.get("size") if kwargs else None)
    lens = _view_lens(size, self._aval.size)
    if not viewable(self, lens.params[0]):
        raise RuntimeError(VIEW_SIZE)
    return make_view(self, lens)


@functools.lru_cache(4096)
def _view_lens(shape: tuple[int, ...], numel: int) -> Lens:
    """The lens of view(), -1 inferred."""
    return Lens("view", (inferred_shape(shape, numel),))


def viewable(tensor: Tensor, shape: tuple[int, ...]) -> bool:
    """Whether a shape of as many elements is a view of the tensor."""
    alias = tensor._view
    if tensor._strides is None and tensor._level is None and (alias is None or alias.is_contiguous()):
        return True
    old, strides, _ = layout_of(tensor)
    return view_strides(old, strides, shape) is not None


def _check_bits(tensor: Tensor):
    for bit, what in zip(bits_of(tensor), ("conjugate view tensors", "tensors with negative bit set")):
        if bit:
            raise RuntimeError(f"torch.Tensor.view is not supported for {what} when converting to a different dtype.")


def view_dtype(self: Tensor, dtype) -> Tensor:
    """The same memory as elements of another dtype."""
    wanted, found = _types.numpy_dtype(dtype), self._aval.dtype
    if self._view is not None:
        _check_bits(self)
    shape, strides, offset = layout_of(self)
    here, there = found.itemsize, wanted.itemsize
    if here != there:
        what = f"to view {scalar_name(found)} as {scalar_name(wanted)} (different element sizes)"
        if not shape:
            raise RuntimeError(f"self.dim() cannot be 0 {what}")
        if strides[-1] != 1:
            raise RuntimeError(f"self.stride(-1) must be 1 {what}, but got {strides[-1]}")
        ratio = there // here
        if there > here and shape[-1] % ratio:
            raise RuntimeError(f"self.size(-1) must be divisible by {ratio} {what}, but got {shape[-1]}")
        if there > here and offset % ratio:
            raise RuntimeError(f"self.storage_offset() must be divisible by {ratio} {what}, but got {offset}")
        for d, s in enumerate(strides[:-1]):
            if there > here and s % ratio:
                raise RuntimeError(f"self.stride({d}) must be divisible by {ratio} {what}, but got {s}")
    if self._level is None:
        self = self.detach()  # other bits' meaning has no derivative
    view = make_view(self, Lens("view_dtype", (wanted, here)))
    if view._level is None:  # autograd knows nothing of it
        view._view.base, view._view.skip, view._view.source = None, 0, None
    return view


@torch_op(node="UnsafeView0(Clone0(input))")
def _reshape_copy(input: Tensor, shape):
    """The elements in another shape, in memory of their own."""
    return p.reshape(input, shape=shape)


@strided_view_op
def reshape(input, *shape, **kwargs):
    """The elements in another shape: a view where the strides allow it, otherwise a copy.

    One size may be -1. RuntimeError if there are not as many elements.

    >>> torch.arange(4).reshape(2, -1)
    tensor([[0, 1],
            [2, 3]])
    """
    given = kwargs.get("shape", kwargs.get("size")) if kwargs else None
    lens = _view_lens(ints_of("reshape", shape, "shape", given), input._aval.size)
    if viewable(input, lens.params[0]):
        return make_view(input, lens)
    return _reshape_copy.compute([input, lens.params[0]])


def reshaped(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The tensor in a shape of as many elements: a view, or a copy. 1.2 us of 5 where its like was seen."""
    if active.plain and tensor.__class__ in PLAIN:
        return reshape.method(tensor, shape)
    if viewable(tensor, shape):
        return make_view(tensor, Lens("view", (shape,)))
    return _reshape_copy.compute([tensor, shape])


@composite(function=False)
def view_as(self, other):
    """The same memory in the shape of another tensor.

    >>> torch.arange(4).view_as(torch.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return view(self, tuple(other.shape))


@composite(function=False)
def reshape_as(self, other):
    """The elements in the shape of another tensor.

    >>> torch.arange(4).reshape_as(torch.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return reshaped(self, tuple(other.shape))


@strided_view_op
def flatten(input, start_dim=0, end_dim=-1):
    """The dimensions from start_dim to end_dim as one; the tensor itself if that changes nothing.

    >>> torch.flatten(torch.zeros(2, 3, 4), start_dim=1).shape
    torch.Size([2, 12])
    """
    if not input.ndim:
        return reshaped(input, (1,))
    first, last = wrap_dim(start_dim, input.ndim), wrap_dim(end_dim, input.ndim)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if first == last:
        return input
    shape = tuple(input.shape)
    return reshaped(input, shape[:first] + (math.prod(shape[first : last + 1]),) + shape[last + 1 :])


@view_op
def unflatten(input, dim, sizes):
    """One dimension as several.

    >>> torch.unflatten(torch.zeros(6), 0, (2, 3)).shape
    torch.Size([2, 3])
    """
    sizes = ints_of("unflatten", (sizes,), "sizes")
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    d = wrap_dim(dim, input.ndim)
    shape = tuple(input.shape)
    try:
        sizes = inferred_shape(sizes, shape[d])
    except RuntimeError as error:
        if "inferred" in str(error) or "ambiguous" in str(error):
            raise
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size "
            f"of dim {d} ({shape[d]}) in the input tensor"
        ) from None
    return make_view(input, Lens("view", (shape[:d] + sizes + shape[d + 1 :],)))


@strided_view_op
def ravel(input):
    """All elements as one dimension.

    >>> torch.ravel(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 2, 3, 4])
    """
    input = input.contiguous()
    return reshape(input, (-1,)) if input.ndim != 1 else input


@view_op
def squeeze(input, dim=None):
    """Without the dimensions (all, or those named) of size 1.

    >>> torch.squeeze(torch.zeros(1, 2, 1)).shape
    torch.Size([2])
    """
    return make_view(input, squeeze_lens(input, dim))


def squeeze_lens(tensor: Tensor, dim) -> Lens:
    """The lens of squeeze()."""
    shape = tensor._aval.shape
    if dim is None:
        return Lens("squeeze", (tuple(i for i, n in enumerate(shape) if n == 1), 0))
    dims = dim if isinstance(dim, (tuple, list)) else (dim,)
    wrapped = [wrap_dim(as_int("squeeze", d), len(shape)) for d in dims]
    for d in wrapped:
        if wrapped.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    kept = tuple(sorted(d for d in wrapped if shape and shape[d] == 1))
    return Lens("squeeze", (kept, 2 if isinstance(dim, (tuple, list)) else 1))


@view_op
def unsqueeze(input, dim):
    """With a new dimension of size 1.

    >>> torch.unsqueeze(torch.zeros(2), 0).shape
    torch.Size([1, 2])
    """
    return make_view(input, unsqueeze_lens(input, dim))


def unsqueeze_lens(tensor: Tensor, dim) -> Lens:
    """The lens of unsqueeze()."""
    return Lens("unsqueeze", (wrap_dim(as_int("unsqueeze", dim), tensor.ndim + 1),))


# ---- other orders --------------------------------------------------------------------------------


@view_op
def permute(input, *dims, **kwargs):
    """The dimensions in another order.

    A view. RuntimeError unless each dimension is named once.

    >>> torch.zeros(2, 3, 5).permute(2, 0, 1).shape
    torch.Size([5, 2, 3])
    """
    order = ints_of("permute", dims, "dims", kwargs.get("dims"))
    return make_view(input, _permute_lens(order, input.ndim))


@functools.lru_cache(1024)
def _permute_lens(order: tuple[int, ...], ndim: int) -> Lens:
    """The lens of permute()."""
    if len(order) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not "
            "match the length of the desired ordering of dimensions i.e. "
            f"input.dim() = {ndim} is not equal to len(dims) = {len(order)}"
        )
    wrapped = tuple([wrap_dim(d, ndim) for d in order])
    if len(set(wrapped)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return Lens("permute", (wrapped,))


def transpose_lens(tensor: Tensor, dim0, dim1) -> Lens:
    """The lens of transpose()."""
    ndim = tensor.ndim
    for i, d in enumerate((dim0, dim1)):
        if d.__class__ is bool or not hasattr(d, "__index__"):
            raise TypeError(f"transpose(): argument 'dim{i}' (position {i + 1}) must be int, not {type(d).__name__}")
    return _exchange(operator.index(dim0), operator.index(dim1), ndim)


@functools.lru_cache(1024)
def _exchange(dim0: int, dim1: int, ndim: int) -> Lens:
    a, b = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    order = list(range(ndim))
    if ndim:
        order[a], order[b] = b, a
    return Lens("transpose", (tuple(order),))


@view_op
def transpose(input, dim0, dim1):
    """Two dimensions exchanged.

    >>> torch.transpose(torch.tensor([[1, 2], [3, 4]]), 0, 1)
    tensor([[1, 3],
            [2, 4]])
    """
    return make_view(input, transpose_lens(input, dim0, dim1))


@view_op
def swapaxes(input, axis0, axis1):
    """Two dimensions exchanged.

    >>> torch.swapaxes(torch.zeros(2, 3), 0, 1).shape
    torch.Size([3, 2])
    """
    return transpose(input, axis0, axis1)


@view_op
def swapdims(input, dim0, dim1):
    """Two dimensions exchanged.

    >>> torch.swapdims(torch.zeros(2, 3), 0, 1).shape
    torch.Size([3, 2])
    """
    return transpose(input, dim0, dim1)


def t_lens(tensor: Tensor, name: str = "t") -> Lens:
    """The lens of t()."""
    if tensor.ndim > 2:
        raise RuntimeError(f"{name}() expects a tensor with <= 2 dimensions, but self is {tensor.ndim}D")
    return Lens("t", (tuple(reversed(range(tensor.ndim))),))


@view_op
def t(input):
    """The transpose of a matrix; vectors and 0-d tensors stay.

    >>> torch.t(torch.tensor([[1, 2], [3, 4]]))
    tensor([[1, 3],
            [2, 4]])
    """
    return make_view(input, t_lens(input))


@view_op
def movedim(input, source, destination):
    """Dimensions moved to other places, the rest in its order.

    >>> torch.movedim(torch.zeros(2, 3, 4), 0, -1).shape
    torch.Size([3, 4, 2])
    """
    if isinstance(source, (tuple, list)) != isinstance(destination, (tuple, list)):
        raise TypeError(
            "movedim() received an invalid combination of arguments - got "
            f"({type(source).__name__}, {type(destination).__name__})"
        )
    source = source if isinstance(source, (tuple, list)) else (source,)
    destination = destination if isinstance(destination, (tuple, list)) else (destination,)
    if len(source) != len(destination):
        raise RuntimeError(
            "movedim: Invalid source or destination dims: source "
            f"({list(source)} dims) should contain the same number of dims as "
            f"destination ({list(destination)} dims)"
        )
    ndim = input.ndim
    src, dst = ([wrap_dim(operator.index(d), ndim) for d in ds] for ds in (source, destination))
    for name, given, wrapped in (("source", source, src), ("destination", destination, dst)):
        if len(set(wrapped)) != len(wrapped):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(given)})")
    if not ndim:
        return make_view(input, Lens("alias"))
    order = [d for d in range(ndim) if d not in src]
    for place, d in sorted(zip(dst, src)):
        order.insert(place, d)
    return make_view(input, Lens("permute", (tuple(order),)))


@view_op
def moveaxis(input, source, destination):
    """Dimensions moved to other places, the rest in its order.

    >>> torch.moveaxis(torch.zeros(2, 3, 4), 0, -1).shape
    torch.Size([3, 4, 2])
    """
    return movedim(input, source, destination)


# ---- more of the same ----------------------------------------------------------------------------


@view_op(function=False)
def expand(self, *size, implicit=False, **kwargs):
    """Dimensions of size 1 repeated, without memory for them.

    >>> torch.tensor([[1], [2]]).expand(2, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    return expanded(self, ints_of("expand", size, "size", kwargs.get("size")))


def spread(tensor: Tensor, size: tuple[int, ...]) -> Tensor:
    """The same for who expands many times alike."""
    return expand.method(tensor, size) if active.plain and tensor.__class__ in PLAIN else expanded(tensor, size)


def expanded(tensor: Tensor, size: tuple[int, ...]) -> Tensor:
    """The view of tensor.expand(size)."""
    shape = tensor._aval.shape
    lead = len(size) - len(shape)
    if lead < 0:
        raise RuntimeError(
            f"expand({tensor.type()}{{{list(shape)}}}, size={list(size)}): the "
            f"number of sizes provided ({len(size)}) must be greater or equal to "
            f"the number of dimensions in the tensor ({len(shape)})"
        )
    out = list(size)
    for d, n in enumerate(size):
        old = shape[d - lead] if d >= lead else None
        if old is None and n < 0:
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) isn't allowed in a leading, non-existing dimension {d}"
            )
        if old is not None and n == -1:
            out[d] = old
        elif old is not None and old not in (1, n) or n < 0:
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing "
                f"size ({old}) at non-singleton dimension {d}.  Target sizes: "
                f"{list(size)}.  Tensor sizes: {list(shape)}"
            )
    return make_view(tensor, Lens("expand", (tuple(out),)))


@composite(function=False)
def expand_as(self, other):
    """Expanded to the shape of another tensor.

    >>> torch.tensor([[1], [2]]).expand_as(torch.zeros(2, 2))
    tensor([[1, 1],
            [2, 2]])
    """
    return spread(self, tuple(other.shape))


@view_op
def broadcast_to(input, *size, **kwargs):
    """Expanded to a shape.

    >>> torch.broadcast_to(torch.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return expanded(input, ints_of("broadcast_to", size, "size", kwargs.get("size")))


@composite(function=False, node="UnfoldBackward0")
def unfold(self, dimension, size, step):
    """All windows of `size` along a dimension, every `step`, in a new last dimension.

    >>> torch.arange(5).unfold(0, 3, 2)
    tensor([[0, 1, 2],
            [2, 3, 4]])
    """
    d = wrap_dim(dimension, self.ndim)
    n = self.shape[d] if self.ndim else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {n} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not self.ndim:
        return make_view(
            self, Lens("as_strided", ((size,), (1,), self.storage_offset(), (), (), self.storage_offset()))
        )
    return make_view(self, Lens("unfold", (d, int(size), int(step))))


# ---- strides -------------------------------------------------------------------------------------


OTHER_LENGTHS = (
    "Tensor.as_strided(size, stride, ...): size and stride must have the same length! Got size {size} and stride "
    "{stride}"
)
BEYOND = (
    "result = tensor.as_strided({size}, {stride}, {at}) can access memory outside of `tensor`. `result` can access "
    "some memory in range [{at}, {end}], but `tensor` can only access some memory in range [{start}, {whole}]. This is "
    "not supported inside of vmap, please try to rewrite the `as_strided` call as a sequence of PyTorch view operations"
)


def as_strided_lens(tensor: Tensor, size, stride, storage_offset=None) -> tuple[Tensor, Lens]:
    """What to look at, and the lens: the tensor, if it has all elements, or else its storage."""
    size, stride = ints_of("as_strided", (size,), "size"), ints_of("as_strided", (stride,), "stride")
    if len(size) != len(stride):
        if tensor._level is not None:
            refuse_batched(tensor, OTHER_LENGTHS.format(size=list(size), stride=list(stride)))
        raise RuntimeError("mismatch in length of strides and shape")
    if any(s < 0 for s in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    shape, strides, start = layout_of(tensor)
    offset = start if storage_offset is None else as_int("as_strided", storage_offset)
    whole = _room(tensor, shape, strides, start)
    span = 1 + offset + sum((n - 1) * s for n, s in zip(size, stride)) if 0 not in size else 0
    if tensor._level is not None and (
        span > whole or (kinds.strided_places(size, stride, offset, shape, strides, start) < 0).any()
    ):
        refuse_batched(
            tensor, BEYOND.format(size=list(size), stride=list(stride), at=offset, end=span, start=start, whole=whole)
        )
    if span > whole or offset < 0:
        item = tensor.element_size()
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage "
            f"offset {offset}, and itemsize {item} requiring a storage size of "
            f"{span * item} are out of bounds for storage of size {whole * item}"
        )
    if (
        tensor._level is None
        and tensor._view is not None
        and (kinds.strided_places(size, stride, offset, shape, strides, start) < 0).any()
    ):
        tensor = _whole_storage(tensor)
        shape, strides, start = layout_of(tensor)
    return tensor, Lens("as_strided", (size, stride, offset, shape, strides, start))


def _room(tensor: Tensor, shape: tuple, strides: tuple, start: int) -> int:
    """How many elements there are in the memory of a tensor, or inside vmap up to the end of an example."""
    if tensor._level is not None:
        return start + 1 + sum((n - 1) * s for n, s in zip(shape, strides)) if 0 not in shape else start
    if tensor._view is None:
        return math.prod(shape)
    return share(tensor).cell.value.aval.nbytes // tensor.element_size()


def _whole_storage(tensor: Tensor) -> Tensor:
    """A tensor of all elements of the storage, in the tensor's dtype, on its history."""
    base = tensor._view.base
    if base is None:
        base = UntypedStorage(cell=tensor._view.cell)._tensor(tensor._aval.dtype)
    found = base if base._aval.dtype == tensor._aval.dtype else base.view(tensor.dtype)
    conj, neg = bits_of(tensor)
    found = make_view(found, Lens("conj")) if conj else found
    return make_view(found, Lens("neg_view")) if neg else found


def _own_lens(tensor: Tensor, size, stride, storage_offset=None) -> Lens:
    seen, lens = as_strided_lens(tensor, size, stride, storage_offset)
    if seen is not tensor:
        raise NotImplementedError("as_strided_ beyond the elements of the tensor; use as_strided")
    return lens


@composite
def as_strided(input, size, stride, storage_offset=None):
    """The storage's elements at offset + sum of index times stride.

    >>> torch.as_strided(torch.arange(6), (2, 2), (1, 2))
    tensor([[0, 2],
            [1, 3]])
    """
    return make_view(*as_strided_lens(input, size, stride, storage_offset))


# ---- complex numbers -----------------------------------------------------------------------------


UNRESOLVED = (
    "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can view it "
    "as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the original."
)


@composite(method=False)
def view_as_real(input):
    """A complex tensor as pairs of real numbers, in a new last dimension.

    >>> torch.view_as_real(torch.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    if not input.is_complex():
        raise RuntimeError("view_as_real is only supported for complex tensors")
    if bits_of(input)[0]:
        raise RuntimeError(UNRESOLVED)
    return make_view(input, Lens("view_as_real"))


@composite(method=False, autocast={"cpu": "full"})
def view_as_complex(input):
    """Pairs of real numbers along the last dimension as complex numbers.

    >>> torch.view_as_complex(torch.tensor([[1., 2.]]))
    tensor([1.+2.j])
    """
    if not input.is_floating_point():
        raise RuntimeError(
            "view_as_complex is only supported for floating point tensors, but got "
            f"a tensor of scalar type: {scalar_name(input._aval.dtype)}"
        )
    shape, strides, offset = layout_of(input)
    if not shape:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 for s, n in zip(strides[:-1], shape)) or offset % 2:
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    return make_view(input, Lens("view_as_complex"))


@composite(method=False, node=lambda made, args: "SelectBackward0" if args[0].is_complex() else None)
def real(input):
    """The real part; a real tensor itself.

    >>> torch.real(torch.tensor([1 + 2j]))
    tensor([1.])
    """
    return make_view(input, Lens("real")) if input.is_complex() else input


@composite(method=False, node="SelectBackward0")
def imag(input):
    """The imaginary part.

    >>> torch.imag(torch.tensor([1 + 2j]))
    tensor([2.])
    """
    if not input.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return make_view(input, Lens("imag"))


# ---- in-place: the tensor itself becomes the view ------------------------------------------------


def become(tensor: Tensor, lens: Lens, name: str) -> Tensor:
    """Let the tensor see its memory through a further lens: squeeze_, t_ and their kin (`name`)."""
    check_writable(tensor, overlapping=True, op=name.removesuffix("_"))
    if tensor._level is not None:
        become_inside(tensor, lens)
    else:
        rebase(tensor, lens, look(tensor, (lens,)))
    return tensor


def _squeezed_node(made, args):
    if len(args) == 1:
        return "SqueezeBackward3"
    return "SqueezeBackward5" if isinstance(args[1], tuple) else "SqueezeBackward4"


def _inplace(name: str, lens_of, node=None, example: str = ""):
    def method(self, *args, **kwargs):
        return become(self, lens_of(self, *args, **kwargs), name)

    call, _, shape = example.partition(" -> ")
    method.__doc__ = f"""{name[:-1]} in place: the tensor's own shape and strides change.

    >>> torch.ones(2, 1, 3){call}.shape
    torch.Size({shape})
    """
    return composite(method, name=name, function=False, node=node)


_inplace("squeeze_", lambda self, dim=None: squeeze_lens(self, dim), _squeezed_node, ".squeeze_() -> [2, 3]")
_inplace("unsqueeze_", unsqueeze_lens, "UnsqueezeBackward1", ".unsqueeze_(0) -> [1, 2, 1, 3]")
_inplace("transpose_", transpose_lens, "TransposeBackward1", ".transpose_(0, 2) -> [3, 1, 2]")
_inplace("swapdims_", transpose_lens, "TransposeBackward1", ".swapdims_(0, 1) -> [1, 2, 3]")
_inplace(
    "swapaxes_",
    lambda self, axis0, axis1: transpose_lens(self, axis0, axis1),
    "TransposeBackward1",
    ".swapaxes_(1, 2) -> [2, 3, 1]",
)
_inplace("t_", lambda self: t_lens(self, "t_"), "TBackward1", "[0].t_() -> [3, 1]")
_inplace(
    "as_strided_",
    lambda self, *args, **kwargs: _own_lens(self, *args, **kwargs),
    None,
    ".as_strided_((3,), (2,)) -> [3]",
)
