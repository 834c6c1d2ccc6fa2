"""What an index says: integers, slices, None, tensors and lists as a box and index tensors."""

from __future__ import annotations

import operator

import numpy as np

from ....core import dtypes as dt
from ....core.warn import warn
from ....engine import Value
from ....engine.bounds import below
from ...tape.meta import NO_NONZERO, is_meta, refusal
from ...tensors import types as _types
from ...tensors.base import Tensor, from_array
from ...views.lenses import STATIC_PARTS, Lens, is_static, is_static_index
from ..shape.data import array_of
from .fills import MASKS

WRONG_TYPE = (
    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {kind})"
)
TOO_MANY = "too many indices for tensor of dimension {ndim}"
MASK_SHAPE = (
    "The shape of the mask {mask} at index {at} does not match the shape of the indexed tensor {shape} at index {dim}"
)
BEYOND = "Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})"
NO_SLICE_INDEX = "slice indices must be integers or None or have an __index__ method"
NO_DATA = "new(): invalid data type '{kind}'"
NO_ARRAY = (
    "can't convert np.ndarray of type numpy.{kind}. The only supported types are: float64, "
    "float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, "
    "uint16, uint8, and bool."
)
NO_DIMS = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in "
    "C++ to convert a 0-dim tensor to a number"
)
WRONG_DTYPE = "tensors used as indices must be long, int, byte or bool tensors"
BYTES = "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."


class Parsed:
    """An index applied to a shape: a box (spec, news, ints: see views.kinds) and index tensors.

    `tensors` has (dimension of the box, integer tensor or mask) in increasing order.
    """

    __slots__ = ("ints", "ndim", "news", "spec", "tensors")

    def __init__(self):
        self.spec, self.news, self.ints, self.tensors = [], [], [], []
        self.ndim = 0  # of the box

    def whole(self, n: int):
        """Keep a dimension of size n."""
        self.spec.append((0, n, 1, True))
        self.ndim += 1

    def new(self):
        """Add a dimension of size 1."""
        self.news.append((self.ndim, len(self.spec)))
        self.ndim += 1

    def integer(self, i: int, n: int, dim: int):
        """Take one index of a dimension."""
        if not -n <= i < n:
            raise outside(i, dim + len(self.news), n)
        static = is_static_index(i, n, len(self.spec))
        i = i + n if i < 0 else i
        if not static:
            self.ints.append(i)
        self.spec.append((i if static else None, 1, 1, False))

    def slice(self, s: slice, n: int):
        """Take a part of a dimension. The start is an input unless the part reaches an end, and is no batch: x[i:i+16]
        of the first dimension goes from end to end in a loop, and is to be one program, as is x[i:i+1], but not x[:1]
        and x[-1:]."""
        start, size, step = sliced(s, n)
        one_of_many = n > STATIC_PARTS and s.start is not None and s.stop is not None
        is_batch = not self.spec and step == 1 and size <= n // 2 and (size > 1 or size and one_of_many)
        static = size == n or not is_batch and is_static(start, (0, n - size * step), n)
        if not static:
            self.ints.append(start)
        self.spec.append((start if static else None, size, step, True))
        self.ndim += 1

    @property
    def lens(self) -> Lens:
        """The box as a view."""
        return Lens("index", (tuple(self.spec), tuple(self.news)), tuple(self.ints))

    def trivial(self, shape) -> bool:
        """Whether the box is the whole tensor."""
        return (
            not self.news
            and len(self.spec) == len(shape)
            and all(start == 0 and stays and size == n for (start, size, _, stays), n in zip(self.spec, shape))
        )


def outside(i: int, dim: int, n: int) -> Exception:
    """The error of an index that is none of a dimension."""
    if not -(2**63) <= i < 2**63:
        return ValueError("Overflow when unpacking long long")
    return IndexError(f"index {i} is out of bounds for dimension {dim} with size {n}")


def sliced(s: slice, n: int) -> tuple[int, int, int]:
    """(start, size, step) of a slice of n elements."""
    step = 1 if s.step is None else _slice_index(s.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step < 0:
        raise ValueError("step must be greater than zero")
    if isinstance(s.start, Tensor) or isinstance(s.stop, Tensor):
        s = slice(*(None if x is None else operator.index(x) for x in (s.start, s.stop)))
    start, stop, _ = slice(s.start, s.stop, step).indices(n)
    return start, max(-((start - stop) // step), 0), step


def _slice_index(x) -> int:
    try:
        return operator.index(x)
    except TypeError:
        if isinstance(x, Tensor):
            raise
        raise TypeError(NO_SLICE_INDEX) from None


def as_items(index) -> tuple:
    """The index as a tuple of what stands between the commas."""
    if index.__class__ is tuple:
        return index
    if (
        isinstance(index, list)
        and len(index) < 32
        and any(x is None or x is Ellipsis or isinstance(x, (slice, list, tuple, Tensor, np.ndarray)) for x in index)
    ):
        return tuple(index)  # as old NumPy did
    return tuple(index) if isinstance(index, tuple) else (index,)


def parse(shape: tuple[int, ...], index) -> Parsed:
    """The index, applied to a tensor's shape."""
    items = as_items(index)
    if not shape:
        _check_no_dims(index)
    _check_number(items, shape)
    items = [_item(x) for x in items]
    given = _check_number(items, shape)
    parsed, dim = Parsed(), 0
    for item in items:
        if item is Ellipsis:  # one after another goes on, beyond the last dimension: PyTorch's way
            for n in shape[dim : dim + len(shape) - given]:
                parsed.whole(n)
            dim += len(shape) - given
        else:
            dim += _apply_item(parsed, item, shape, dim)
    for n in shape[dim:]:
        parsed.whole(n)
    return parsed


def _check_number(items, shape) -> int:
    """How many dimensions the items use; IndexError if there are not so many."""
    given = sum(map(_dims_used, items))
    if given > len(shape):
        raise IndexError(TOO_MANY.format(ndim=len(shape)))
    return given


def _check_no_dims(index):
    """The errors of x[0] and x[0:1] for x of no dimensions."""
    if isinstance(index, slice):
        sliced(index, 0)
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if index.__class__ is int or isinstance(index, np.integer):
        i = int(index)
        raise IndexError(NO_DIMS) if not i else outside(i, 0, 0)


def _item(x):
    """One part of an index as int, bool, slice, None, Ellipsis or tensor."""
    cls = x.__class__
    if cls is int or cls is slice or x is None or x is Ellipsis or cls is bool:
        return x
    if isinstance(x, Tensor):
        if not x.ndim and x._level is None and x._read().__class__ is Value:
            return _item_of_0d(x)
        if x._aval.dtype not in (dt.int64, dt.int32, *MASKS):
            raise IndexError(WRONG_DTYPE)
        return x
    if isinstance(x, np.ndarray) and x.ndim or isinstance(x, (list, tuple, range)):
        return _index_tensor(x)
    if isinstance(x, np.ndarray):
        return int(x)
    if isinstance(x, (str, bytes)):
        raise TypeError(NO_DATA.format(kind=cls.__name__))
    if hasattr(x, "__index__") and not isinstance(x, (np.bool_, float)):
        try:
            return operator.index(x)
        except (TypeError, ValueError):
            pass
    raise IndexError(WRONG_TYPE.format(kind=_name_in_c(x)))


def _name_in_c(x) -> str:
    """The name of x's type as C++ knows it."""
    name = x.__class__.__name__
    if isinstance(x, np.generic):
        return f"numpy.{name}"
    return f"torch.{name}" if isinstance(x, _types.dtype) else name


def _item_of_0d(x: Tensor):
    d = x._aval.dtype
    if d in MASKS:
        return bool(x.item())
    if d not in dt.INTEGER:
        raise IndexError(WRONG_DTYPE)
    return int(x.item())


def _index_tensor(x) -> Tensor:
    if isinstance(x, (list, tuple)) and any(isinstance(y, Tensor) for y in x):
        x = [y.item() if isinstance(y, Tensor) else y for y in x]
    if isinstance(x, np.ndarray):
        array = np.asarray(x)
        if array.dtype.kind not in "biufc":
            raise TypeError(NO_ARRAY.format(kind=array.dtype.type.__name__))
    else:
        _refuse_strings(x)
        array = array_of(x, None)
    return from_array(array.copy() if array.dtype == dt.bool_ else array.astype(np.int64))


def _refuse_strings(x):
    for y in x:
        if isinstance(y, (list, tuple)):
            _refuse_strings(y)
        elif isinstance(y, str):
            raise TypeError(NO_DATA.format(kind="str"))


def _dims_used(item) -> int:
    if item is None or item is Ellipsis or item.__class__ is bool:
        return 0
    if isinstance(item, Tensor) and item._aval.dtype in MASKS:
        return item.ndim
    return 1


def _apply_item(parsed: Parsed, item, shape, dim: int) -> int:
    """Add one part of an index; the number of dimensions of the tensor that it uses."""
    if item.__class__ is int:
        parsed.integer(item, shape[dim] if dim < len(shape) else 0, dim)
        return 1
    if dim > len(shape) or dim == len(shape) and not (item is None or item.__class__ is bool):
        return _apply_beyond(item, len(shape), dim)
    if isinstance(item, slice):
        parsed.slice(item, shape[dim])
        return 1
    if item is None or item.__class__ is bool:
        parsed.new()
        if item is not None:
            parsed.tensors.append((parsed.ndim - 1, from_array(np.zeros(int(item), np.int64))))
        return 0
    if item._aval.dtype in MASKS:
        if item._aval.dtype == dt.uint8:
            warn(BYTES)
        return _apply_mask(parsed, item, shape, dim)
    parsed.tensors.append((parsed.ndim, item))
    parsed.whole(shape[dim])
    return 1


def _apply_beyond(item, ndim: int, dim: int) -> int:
    """An item after several ellipses, where there are no dimensions left."""
    if item == slice(None):
        return 1
    if isinstance(item, Tensor):
        raise IndexError(f"{TOO_MANY.format(ndim=ndim)} (got {dim + 1})")
    new = not isinstance(item, slice)
    raise IndexError(BEYOND.format(low=-ndim - new, high=ndim - 1 + new, dim=dim))


def _apply_mask(parsed: Parsed, mask: Tensor, shape, dim: int) -> int:
    for i, (n, m) in enumerate(zip(shape[dim:], mask.shape)):
        if n != m:
            raise IndexError(MASK_SHAPE.format(mask=list(mask.shape), at=i, shape=list(shape), dim=dim + i))
    parsed.tensors.append((parsed.ndim, mask))
    for n in mask.shape:
        parsed.whole(n)
    return mask.ndim


def integer_indices(tensors) -> tuple[tuple[int, ...], list[Tensor]]:
    """(dimensions, integer tensors): masks are replaced by where they are True."""
    dims, out = [], []
    for dim, index in tensors:
        if index._aval.dtype in MASKS:
            if is_meta(index):
                raise refusal("index", NO_NONZERO)
            for i, (places, n) in enumerate(zip(np.nonzero(index._array()), index.shape)):
                dims.append(dim + i)
                found = from_array(places.astype(np.int64))
                below(found._value, n)  # 4 us less
                out.append(found)
        else:
            dims.append(dim)
            out.append(index)
    return tuple(dims), out
