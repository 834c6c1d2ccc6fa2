"""Putting tensors together and elements in other places: cat, stack, repeat, roll, flip, diag, ..."""

from __future__ import annotations

import itertools
import math

import numpy as np

from .... import primitives as p
from ....core import dtypes as dt
from ....core.warn import warn
from ....kernels.shapes import as_diagonal, rolled, stacked, tiled
from ....primitives import linalg_matrices as m
from ...dispatch import op as _op
from ...dispatch.op import composite, torch_op, write_out
from ...dispatch.slots import Tensors
from ...dispatch.traits import EXACT, Out
from ...tape.meta import is_meta, no_kernel
from ...tape.node_names import rename
from ...tensors import types as _types
from ...tensors.base import Tensor, from_array, wrap_dim
from ...tensors.promotion import _explain, cast, result_dtype
from ...views.cells import make_view
from ...views.lenses import Lens
from ...views.memory_order import image, joined, preserved
from .data import data_dtype, finish
from .views import ints_of, reshaped, spread

# ---- joining -------------------------------------------------------------------------------------


def _list_of(name: str, tensors) -> list[Tensor]:
    """The tensors of a list argument; PyTorch's errors for anything else."""
    if isinstance(tensors, Tensor) or not isinstance(tensors, (list, tuple)):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
        )
    for i, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(x).__name__}")
    return list(tensors)


@torch_op(
    method=False,
    aliases=("concat", "concatenate"),
    out=Out(
        lower="torch.cat(): input types can't be cast to the desired output type {wanted}", error=TypeError, apart=True
    ),
    autocast="widest",
    layout=joined,
    devices="same",
)
def cat(tensors: Tensors, dim=0, *, out=None):
    """The tensors one after the other along a dimension.

    Their other sizes are equal (a vector of no elements is left out); dtypes are promoted. RuntimeError for sizes
    that do not fit, IndexError for a dimension that is not there.

    >>> torch.cat([torch.tensor([1]), torch.tensor([2, 3])])
    tensor([1, 2, 3])
    """
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for i, x in enumerate(tensors):
        if not x.aval.ndim:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    dtype = result_dtype(tensors)
    # Tensors of shape (0,) may stand among tensors of any number of dimensions.
    used = [x for x in tensors if x.aval.shape != (0,)] or tensors
    first = used[0].aval
    d = 0 if first.shape == (0,) else wrap_dim(dim, first.ndim)  # nothing but nothing: any dimension will do
    for i, x in enumerate(tensors):
        if x in used:
            _check_joinable(first, x.aval, d, i)
    return p.concatenate(*[cast(x, dtype) for x in used], dimension=d)


def _check_joinable(first, a, dim: int, position: int):
    if a.ndim != first.ndim:
        raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {a.ndim}")
    for d, (n, found) in enumerate(zip(first.shape, a.shape)):
        if d != dim and n != found:
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {dim}. Expected "
                f"size {n} but got size {found} for tensor number {position} in the "
                "list."
            )


@torch_op(
    method=False,
    out=Out(
        lower="torch.cat(): input types can't be cast to the desired output type {wanted}", error=TypeError, whole=True
    ),
    autocast="widest",
    devices="same",
)
def stack(tensors: Tensors, dim=0, *, out=None):
    """The tensors side by side along a new dimension.

    Their shapes are equal, RuntimeError otherwise; dtypes are promoted.

    >>> torch.stack((torch.tensor([1, 2]), torch.tensor([3, 4])))
    tensor([[1, 2],
            [3, 4]])
    """
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    shape = tensors[0].aval.shape
    d = wrap_dim(dim, len(shape) + 1)
    for i, x in enumerate(tensors):
        if x.aval.shape != shape:
            raise RuntimeError(
                "stack expects each tensor to be equal size, but got "
                f"{list(shape)} at entry 0 and {list(x.aval.shape)} at entry {i}"
            )
    dtype = result_dtype(tensors)
    parts = [cast(x, dtype) for x in tensors]
    return stacked(parts, d)


def _check_sequence(op):
    """The op with PyTorch's errors where its first argument is no sequence of tensors."""
    bind = op.bind

    def checked(args, kwargs):
        bound = bind(args, kwargs)
        bound[0] = _list_of(op.name, bound[0])
        return bound

    op.bind = checked


_check_sequence(cat)
_check_sequence(stack)


def _stacker(name: str, doc: str, at_least: str, dim, aliases=()):
    def join(tensors, *, out=None):
        tensors = _list_of(name, tensors)
        if not tensors:
            raise RuntimeError(f"{name} expects a non-empty TensorList")
        tensors = [_prepared(x, at_least) for x in tensors]
        axis = dim if dim is not None else (0 if tensors[0].ndim == 1 else 1)
        return cat(tensors, axis, out=out)

    join.__doc__ = doc
    return composite(join, name=name, method=False, aliases=aliases)


def _prepared(x: Tensor, how: str) -> Tensor:
    if how == "columns":
        return reshaped(x, (x.numel(), 1)) if x.ndim <= 1 else x
    return _at_least(x, int(how))


hstack = _stacker(
    "hstack",
    """cat along dimension 1 (0 for vectors).

    >>> torch.hstack([torch.tensor([1, 2]), torch.tensor([3])])
    tensor([1, 2, 3])
    """,
    "1",
    None,
)
vstack = _stacker(
    "vstack",
    """cat of tensors with at least 2 dimensions, along 0.

    >>> torch.vstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """,
    "2",
    0,
    ("row_stack",),
)
dstack = _stacker(
    "dstack",
    """cat of tensors with at least 3 dimensions, along 2.

    >>> torch.dstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[[1, 3],
             [2, 4]]])
    """,
    "3",
    2,
)
column_stack = _stacker(
    "column_stack",
    """Vectors as columns, matrices side by side.

    >>> torch.column_stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
    """,
    "columns",
    1,
)


@composite(method=False)
def block_diag(*tensors):
    """A matrix with the given ones along its diagonal.

    >>> torch.block_diag(torch.tensor([[1, 2]]), torch.tensor([3]))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    nothing = from_array(np.zeros(0, _types.defaults.dtype.numpy))
    return _block_diag.compute([list(tensors) or [nothing]])


@torch_op(name="_chunk_cat", function=True)
def chunk_cat(tensors: Tensors, dim, num_chunks, *, out=None):
    """Each tensor padded with zeros and cut into chunks along a dimension, chunk by chunk together.

    The result has the dimensions before `dim`, the chunks, and everything else in one.
    """
    if num_chunks < 1:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    if len({x.aval.dtype for x in tensors}) > 1:
        raise RuntimeError("_chunk_cat expects all input tensors with the same dtype")
    if dim < 0 and len({x.aval.ndim for x in tensors}) > 1:
        raise RuntimeError("_chunk_cat expects non-negative dim when input tensors have different ndims")
    lead = wrap_dim(dim, tensors[0].aval.ndim)
    if len({x.aval.shape[:lead] for x in tensors}) > 1:
        raise RuntimeError("_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors")
    rows = []
    for x in tensors:
        a = x.aval
        if dim >= a.ndim:
            raise RuntimeError("_chunk_cat expects dim < ndim for all input tensors")
        if not a.size:
            raise RuntimeError("_chunk_cat expects non-empty tensor")
        d = wrap_dim(dim, a.ndim)
        missing = -a.shape[d] % num_chunks
        zero = p.constant(np.zeros((), a.dtype))
        x = p.pad(x, zero, low=(0,) * a.ndim, high=tuple(missing if i == d else 0 for i in range(a.ndim)))
        inner = x.aval.size // max(math.prod(a.shape[:d]) * num_chunks, 1)
        rows.append(p.reshape(x, shape=(*a.shape[:d], num_chunks, inner)))
    return p.concatenate(*rows, dimension=lead + 1)


@torch_op
def _block_diag(tensors: Tensors):
    dtype, blocks = result_dtype(tensors), []
    for i, x in enumerate(tensors):
        if x.aval.ndim > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. "
                f"Input {i} has {x.aval.ndim} dimensions"
            )
        shape = (1,) * (2 - x.aval.ndim) + x.aval.shape
        blocks.append(cast(p.reshape(x, shape=shape), dtype))
    width, left, rows = sum(b.aval.shape[1] for b in blocks), 0, []
    zero = p.full((), 0, dtype)
    for b in blocks:
        right = width - left - b.aval.shape[1]
        rows.append(p.pad(b, zero, low=(0, left), high=(0, right)))
        left += b.aval.shape[1]
    return p.concatenate(*rows, dimension=0)


# ---- repeating -----------------------------------------------------------------------------------


@torch_op
def _repeat(input: Tensor, repeats):
    return tiled(input, repeats)


@composite(function=False)
def repeat(self, *repeats, **kwargs):
    """The tensor so many times along each dimension.

    >>> torch.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    counts = ints_of("repeat", repeats, "repeats", kwargs.get("repeats", kwargs.get("sizes")))
    if len(counts) < self.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = (1,) * (len(counts) - self.ndim) + tuple(self.shape)
    if any(r < 0 for r in counts):
        size = [r * n for r, n in zip(counts, shape)]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {size}")
    return _repeat.compute([self, counts])


@composite
def tile(input, *dims, **kwargs):
    """The tensor repeated; missing counts are 1.

    >>> torch.tile(torch.tensor([1, 2]), (2,))
    tensor([1, 2, 1, 2])
    """
    if dims == () and "dims" not in kwargs:
        counts = ()
    else:
        counts = ints_of("tile", dims, "dims", kwargs.get("dims"))
    return repeat(input, (1,) * (input.ndim - len(counts)) + counts)


@composite(without_data=(RuntimeError, "cannot repeat_interleave a meta tensor without output_size"))
def repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    """Each element so many times, one after the other.

    >>> torch.repeat_interleave(torch.tensor([1, 2]), torch.tensor([2, 1]))
    tensor([1, 1, 2])
    """
    if repeats is None:
        input, repeats = None, input
    if isinstance(repeats, Tensor):
        return _interleaved(input, repeats, dim, output_size)
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    x, d = (input.flatten(), 0) if dim is None else (input, wrap_dim(dim, input.ndim))
    shape = tuple(x.shape)
    if output_size is not None and output_size != shape[d] * repeats:
        raise RuntimeError(
            f"repeat_interleave: Invalid output_size, expected {shape[d] * repeats} but got {output_size}"
        )
    spread = x.unsqueeze(d + 1).expand(*shape[: d + 1], repeats, *shape[d + 1 :])
    joined_shape = (*shape[:d], shape[d] * repeats, *shape[d + 1 :])
    return _interleaved_as.compute([spread, joined_shape]).view(joined_shape)


@torch_op(node="CloneBackward0")
def _interleaved_as(input: Tensor, shape):
    """A copy under another shape; PyTorch's copies first, then is a view (512 x 512, each twice: 1.1 ms for 0.2)."""
    return p.reshape(input, shape=shape)


def _interleaved(input, repeats: Tensor, dim, output_size) -> Tensor:
    if output_size is not None and is_meta(repeats):
        return _interleaved_to(input, dim, repeats, output_size)
    counts = repeats._array()
    if counts.dtype not in (dt.int32, dt.int64):
        raise RuntimeError("repeats has to be Long or Int tensor")
    if counts.size and counts.min() < 0:
        raise RuntimeError("repeats can not be negative")
    if input is None:
        if counts.ndim != 1:
            raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
        return from_array(np.repeat(np.arange(counts.size), counts).astype(counts.dtype))
    x, d = (input.flatten(), 0) if dim is None else (input, wrap_dim(dim, input.ndim))
    n = x.shape[d] if x.ndim else 1
    if counts.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if counts.size not in (1, n):
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got "
            f"repeats.size(0) = {counts.size} and input.size({d}) = {n}"
        )
    counts = np.broadcast_to(counts.reshape(-1), n)
    return x.index_select(d, from_array(np.repeat(np.arange(n), counts)))


def _interleaved_to(input, dim, repeats: Tensor, size: int) -> Tensor:
    """The same of numbers nobody knows, on the meta device."""
    if input is None:
        return repeats.new_empty((size,))
    x, d = (input.flatten(), 0) if dim is None else (input, wrap_dim(dim, input.ndim))
    return x.index_select(d, repeats.new_empty((size,)))


# ---- order ---------------------------------------------------------------------------------------


@torch_op(layout=image)
def roll(input: Tensor, shifts, dims=None):
    """The elements moved along dimensions (or along all, as one); those that leave come back.

    >>> torch.roll(torch.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    shifts = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    dims = () if dims is None else (dims,) if isinstance(dims, int) else tuple(dims)
    if not shifts:
        raise RuntimeError("`shifts` required")
    if not dims and len(shifts) == 1:
        flat = rolled(p.reshape(input, shape=(input.aval.size,)), shifts[0], 0)
        return p.reshape(flat, shape=input.aval.shape)
    if len(dims) != len(shifts):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    for shift, dim in zip(shifts, dims):
        input = rolled(input, shift, wrap_dim(dim, input.aval.ndim))
    return input


@torch_op(varargs="dims", layout=preserved)
def flip(input: Tensor, dims):
    """The elements in reverse order along dimensions.

    >>> torch.flip(torch.tensor([[1, 2], [3, 4]]), (0,))
    tensor([[3, 4],
            [1, 2]])
    """
    wrapped = [wrap_dim(d, input.aval.ndim) for d in dims]
    for d in wrapped:
        if wrapped.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return p.reverse(input, dims=tuple(wrapped)) if input.aval.ndim else p.copy(input)


@composite
def fliplr(input):
    """The columns in reverse order.

    >>> torch.fliplr(torch.tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, (1,))


@composite
def flipud(input):
    """The rows in reverse order.

    >>> torch.flipud(torch.tensor([[1, 2], [3, 4]]))
    tensor([[3, 4],
            [1, 2]])
    """
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, (0,))


@composite(node="Rot90Backward0")
def rot90(input, k=1, dims=(0, 1)):
    """Turned k times by 90 degrees, from the first of two dimensions to the second.

    >>> torch.rot90(torch.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == input.ndim:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    for i, d in enumerate(dims):
        if not -input.ndim <= d < input.ndim:
            raise RuntimeError(f"Rotation dim{i} out of range, dim{i} = {d}")
    turns = k % 4
    if turns == 0:
        return input.clone(memory_format=_types.contiguous_format)
    if turns == 2:
        return flip(input, tuple(dims))
    flipped = flip(input, (dims[1] if turns == 1 else dims[0],))
    return flipped.transpose(dims[0], dims[1])


# ---- several tensors together --------------------------------------------------------------------


def _spread_arguments(tensors) -> list[Tensor]:
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    for i, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(x).__name__}")
    return list(tensors)


MESHGRID = "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument."


@composite(method=False)
def meshgrid(*tensors, indexing=None):
    """The coordinates of a grid: one tensor for each vector.

    >>> x, y = torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4]), indexing="ij")
    >>> x
    tensor([[1, 1],
            [2, 2]])
    >>> y
    tensor([[3, 4],
            [3, 4]])
    """
    tensors = _spread_arguments(tensors)
    if indexing is None:
        warn(MESHGRID)
    elif indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for x in tensors:
        if x.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {x}")
        if x.dtype is not tensors[0].dtype:
            raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
    swap = indexing == "xy" and len(tensors) > 1
    if swap:
        tensors[:2] = tensors[1::-1]
    shape = tuple(x.numel() for x in tensors)
    grids = [
        spread(reshaped(x, (1,) * i + (x.numel(),) + (1,) * (len(shape) - i - 1)), shape) for i, x in enumerate(tensors)
    ]
    if swap:
        grids[:2] = grids[1::-1]
    return tuple(grids)


@composite(method=False)
def cartesian_prod(*tensors):
    """All tuples of elements of the vectors, as rows.

    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    tensors = _spread_arguments(tensors)
    for x in tensors:
        if x.ndim != 1:
            raise RuntimeError("Expect a 1D vector, but got shape " + str(list(x.shape)))
    if len(tensors) == 1:
        return tensors[0]
    return stack([g.flatten() for g in meshgrid(*tensors, indexing="ij")], 1)


@composite(without_data=no_kernel("masked_select"), node="StackBackward0")
def combinations(input, r=2, with_replacement=False):
    """All combinations of r elements of a vector, as rows.

    >>> torch.combinations(torch.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty(0)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(input.numel()), r))
    places = from_array(np.array(rows, np.int64).reshape(len(rows), r))
    return input[places]


@composite(method=False)
def broadcast_tensors(*tensors):
    """The tensors expanded to their common shape.

    >>> a, b = torch.broadcast_tensors(torch.zeros(2, 1), torch.zeros(3))
    >>> a.shape == b.shape
    True
    """
    tensors = _spread_arguments(tensors)
    shape = common_shape([tuple(x.shape) for x in tensors])
    return tuple([x if tuple(x.shape) == shape else spread(x, shape) for x in tensors])


@composite(method=False)
def broadcast_shapes(*shapes):
    """The shape that shapes broadcast to.

    >>> torch.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    return _types.Size(common_shape([(s,) if isinstance(s, int) else tuple(s) for s in shapes]))


def common_shape(shapes) -> tuple[int, ...]:
    """The shape that shapes broadcast to; RuntimeError as PyTorch's if they do not."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise RuntimeError(_explain(shapes)) from None


def _at_least(x: Tensor, n: int) -> Tensor:
    if n == 3 and x.ndim == 2:
        return x.unsqueeze(-1)
    if x.ndim >= n:
        return x
    if n == 3 and x.ndim == 1:
        return x.unsqueeze(0).unsqueeze(-1)
    return reshaped(x, (1,) * (n - x.ndim) + tuple(x.shape))


def _at_least_function(n: int):
    def function(*tensors):
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return _at_least(tensors[0], n)
        return tuple([_at_least(x, n) for x in _spread_arguments(tensors)])

    function.__doc__ = f"""The tensor, or each of several, with at least {n} dimension(s).

    >>> torch.atleast_{n}d(torch.tensor(1.0)).shape
    torch.Size({[1] * n})
    """
    return composite(function, name=f"atleast_{n}d", method=False)


atleast_1d, atleast_2d, atleast_3d = map(_at_least_function, (1, 2, 3))

# ---- triangles and diagonals ---------------------------------------------------------------------


def _checked_triangle(name: str, x, diagonal) -> tuple:
    if x.aval.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    if not isinstance(diagonal, int):
        raise TypeError(f"{name}(): argument 'diagonal' must be int, not {type(diagonal).__name__}")
    return x, diagonal


@torch_op(inplace=True, out=Out(EXACT, overlapping=True))
def tril(input: Tensor, diagonal=0, *, out=None):
    """The part of matrices on and below a diagonal; zeros above.

    >>> torch.tril(torch.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """
    return m.lower_triangle(*_checked_triangle("tril", input, diagonal))


@torch_op(inplace=True, out=Out(EXACT, overlapping=True))
def triu(input: Tensor, diagonal=0, *, out=None):
    """The part of matrices on and above a diagonal; zeros below.

    >>> torch.triu(torch.ones(2, 2))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return m.upper_triangle(*_checked_triangle("triu", input, diagonal))


@torch_op
def diag_embed(input: Tensor, offset=0, dim1=-2, dim2=-1):
    """The last dimension as a diagonal of two dimensions, zeros elsewhere.

    >>> torch.diag_embed(torch.tensor([1, 2]), offset=1)
    tensor([[0, 1, 0],
            [0, 0, 2],
            [0, 0, 0]])
    """
    ndim = input.aval.ndim + 1
    a, b = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    order, rest = [0] * ndim, iter(range(ndim - 2))
    for d in range(ndim):
        order[d] = ndim - 2 if d == a else ndim - 1 if d == b else next(rest)
    return p.transpose(as_diagonal(input, offset), permutation=tuple(order))


@composite(
    out=Out(EXACT, lower="diag: result type {found} can't be cast to the desired out= type {wanted}", recorded=True),
    node=lambda made, args: "DiagonalBackward0_copy" if made.ndim == 1 else None,
)
def diag(input, diagonal=0, *, out=None):
    """A vector as a diagonal matrix, or a diagonal of a matrix.

    >>> torch.diag(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    if input.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    made = (
        diag_embed(input, diagonal)
        if input.ndim == 1
        else (input.diagonal(diagonal).clone(memory_format=_types.contiguous_format))
    )
    return write_out("diag", out, made)


@composite
def diagflat(input, offset=0):
    """All elements as a diagonal matrix.

    >>> torch.diagflat(torch.tensor([[1, 2]]))
    tensor([[1, 0],
            [0, 2]])
    """
    return diag_embed(input.reshape(-1), offset)


def _triangle_indices(name: str, keep):
    def indices(row, col, offset=0, *, dtype=_types.int64, device=None, layout=None, pin_memory=False):
        for what, n in (("row", row), ("col", col)):
            if n < 0:
                raise RuntimeError(f"{what} must be non-negative, got{n}")
        d = data_dtype(dtype)
        if d not in (dt.int32, dt.int64):
            raise NotImplementedError(f"\"{name}\" not implemented for '{d.name}'")
        inside = keep(np.arange(col) - np.arange(row)[:, None], offset)
        return finish(np.stack(np.nonzero(inside)).astype(d), device)

    indices.__doc__ = f"""The row and column indices of {name[:4]}(), as two rows.

    >>> torch.{name}(2, 2)[:, 1]
    tensor({[1, 0] if name == "tril_indices" else [0, 1]})
    """
    return composite(indices, name=name, method=False)


tril_indices = _triangle_indices("tril_indices", np.less_equal)
triu_indices = _triangle_indices("triu_indices", np.greater_equal)


@composite(method=False)
def vander(x, N=None, increasing=False):
    """The powers of a vector's elements, as columns.

    >>> torch.vander(torch.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = x.shape[0] if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    return _vander.compute([x, n, bool(increasing)])


@torch_op
def _vander(x: Tensor, n, increasing):
    if x.aval.dtype in dt.INTEGER | {dt.bool_}:
        x = p.convert(x, dtype=dt.int64)
    columns = [p.full(x.aval.shape, 1, x.aval.dtype)]
    while len(columns) < n:
        columns.append(p.mul(columns[-1], x))
    columns = [p.expand_dims(c, dims=(1,)) for c in columns[:n]]
    if not columns:
        return p.full((x.aval.size, 0), 0, x.aval.dtype)
    return p.concatenate(*(columns if increasing else columns[::-1]), dimension=1)


# ---- copies of views -----------------------------------------------------------------------------


def _copied(view: Tensor, name: str) -> Tensor:
    copy = view.clone(memory_format=_types.contiguous_format)
    if view.grad_fn is not None and copy.grad_fn is not None:
        rename(copy, "NarrowCopyBackward0" if name == "narrow_copy" else f"{view.grad_fn.name()}_copy")
    return copy


def _copying(name: str, view, example: str, **traits):
    def function(input, *args, out=None, **kwargs):
        seen = view(input, *args, **kwargs)
        made = tuple([_copied(x, name) for x in seen]) if isinstance(seen, tuple) else (_copied(seen, name))
        return write_out(name, out, made)

    call, _, result = example.partition(" -> ")
    function.__doc__ = f"""{name.removesuffix("_copy")} as a copy instead of a view.

    >>> torch.{name}(torch.tensor([[1, 2], [3, 4]]){call}
    {result}
    """
    composite(function, name=name, method=name == "narrow_copy", **traits)


def _method(name: str):
    return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)


NOT_SAME = "Expected self.dtype() == output.dtype() to be true, but got false."
for _name, _example in {
    "detach": ").sum() -> tensor(10)",
    "diagonal": ") -> tensor([1, 4])",
    "expand": ", (3, 2, 2)).shape -> torch.Size([3, 2, 2])",
    "permute": ", (1, 0))[0] -> tensor([1, 3])",
    "select": ", 1, 0) -> tensor([1, 3])",
    "split": ", 1)[0] -> tensor([[1, 2]])",
    "split_with_sizes": ", [1, 1])[1] -> tensor([[3, 4]])",
    "squeeze": ").shape -> torch.Size([2, 2])",
    "t": ")[0] -> tensor([1, 3])",
    "transpose": ", 0, 1)[0] -> tensor([1, 3])",
    "unfold": ", 0, 2, 1).shape -> torch.Size([1, 2, 2])",
    "unsqueeze": ", 0).shape -> torch.Size([1, 2, 2])",
}.items():
    _copying(f"{_name}_copy", _method(_name), _example)


def _viewed(x, size=None, *, dtype=None):
    return x.contiguous().view(size) if isinstance(size, (tuple, list)) else x.view(size if dtype is None else dtype)


_copying("view_copy", _viewed, ", (4,)) -> tensor([1, 2, 3, 4])")
_copying("as_strided_copy", _method("as_strided"), ", (2,), (1,)) -> tensor([1, 2])", out=Out(EXACT, recorded=True))
_copying("narrow_copy", _method("narrow"), ", 1, 0, 1)[1] -> tensor([3])", out=Out(NOT_SAME, silent=True))
_copying("unbind_copy", _method("unbind"), ")[1] -> tensor([3, 4])", out=Out(EXACT))
_copying("alias_copy", lambda x: make_view(x, Lens("alias")), ")[0] -> tensor([1, 2])")
for _name, _example in {
    "view_as_real": " + 1j)[0, 0] -> tensor([1., 1.])",
    "view_as_complex": " + 0.5)[0] -> tensor(1.5000+2.5000j)",
}.items():

    def _by_function(x, _name=_name):
        return _op.registry[_name](x)

    _copying(f"{_name}_copy", _by_function, _example)
