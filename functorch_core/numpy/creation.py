"""Arrays from numbers, shapes, functions and files, with NumPy's signatures."""

from __future__ import annotations

import builtins
import functools
import inspect
import io
import operator

import numpy as np

import functorch_core as fc

from ..array.compose import composed, with_signature
from ..array.creation import _number
from ..core import dtypes as dt
from ..core.explain import explaining
from .elementwise import as_array, i0

function = functools.partial(composed, space="fc.numpy")

ORDER = "{name}: order={order!r} is not supported; arrays are in row-major order"


def _in_row_major(name: str, order):
    if order not in (None, "K", "C", "A"):
        raise NotImplementedError(ORDER.format(name=name, order=order))


# ---- from data -----------------------------------------------------------------------------------


@explaining
def array(object, dtype=None, *, copy=True, order="K", ndmin=0, device=None):
    """An Array of a number, (nested) lists, an array, or anything with a buffer; see fc.asarray.

    ndmin: dimensions of size 1 are put in front until there are so many.

    >>> import functorch_core.numpy as jnp
    >>> jnp.array([1., 2.], ndmin=2)
    Array([[1., 2.]], dtype=float32)
    """
    _in_row_major("array", order)
    out = fc.asarray(object, dtype=dtype, device=device, copy=copy or None)
    return out if out.ndim >= ndmin else fc.reshape(out, (1,) * (ndmin - out.ndim) + out.shape)


@explaining
def asarray(a, dtype=None, order=None, *, copy=None, device=None):
    """An Array of a number, (nested) lists, an array, or anything with a buffer; see fc.asarray.

    >>> import functorch_core.numpy as jnp
    >>> jnp.asarray([1, 2], dtype=jnp.float32)
    Array([1., 2.], dtype=float32)
    """
    _in_row_major("asarray", order)
    return fc.asarray(a, dtype=dtype, copy=copy, device=device)


@explaining
def frombuffer(buffer, dtype=float, count=-1, offset=0):
    """A one-dimensional Array of the bytes of a buffer.

    >>> import functorch_core.numpy as jnp
    >>> jnp.frombuffer(bytes([1, 2, 3]), dtype=jnp.uint8)
    Array([1, 2, 3], dtype=uint8)
    """
    return fc.asarray(np.frombuffer(buffer, dtype=dt.canonical(dtype), count=count, offset=offset))


@explaining
def fromstring(string, dtype=float, count=-1, *, sep):
    """A one-dimensional Array of the numbers in a text, which `sep` separates.

    >>> import functorch_core.numpy as jnp
    >>> jnp.fromstring("1 2 3", dtype=int, sep=" ")
    Array([1, 2, 3], dtype=int64)
    """
    return fc.asarray(np.fromstring(string, dtype=dt.canonical(dtype), count=count, sep=sep))


@explaining
def fromfile(*args, **kwargs):
    """A one-dimensional Array of the numbers in a file, as numpy.fromfile reads it.

    >>> import functorch_core.numpy as jnp, tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(bytes([1, 2])), file.flush()
    ...     found = jnp.fromfile(file.name, dtype="uint8")
    >>> found
    Array([1, 2], dtype=uint8)
    """
    return fc.asarray(np.fromfile(*args, **kwargs))


@explaining
def fromiter(*args, **kwargs):
    """A one-dimensional Array of the numbers that are iterated over, as numpy.fromiter takes them.

    >>> import functorch_core.numpy as jnp
    >>> jnp.fromiter(range(3), dtype="int64")
    Array([0, 1, 2], dtype=int64)
    """
    return fc.asarray(np.fromiter(*args, **kwargs))


@explaining
def fromfunction(function, shape, *, dtype=float, **kwargs):
    """function(i, j, ...) of the index arrays of a shape, called once for each element by vmap.

    >>> import functorch_core.numpy as jnp
    >>> jnp.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int)
    Array([[ 0,  1,  2],
           [10, 11, 12]], dtype=int64)
    """
    call = functools.partial(function, **kwargs)
    for axis in range(len(shape)):
        in_axes = [None] * len(shape)
        in_axes[len(shape) - 1 - axis] = 0
        call = fc.vmap(call, in_axes=tuple(in_axes))
    return call(*[fc.arange(n, dtype=dtype) for n in shape])


@explaining
def load(file, *args, **kwargs):
    """The array (or arrays by name) of a .npy or .npz file, as numpy.load reads it.

    >>> import functorch_core.numpy as jnp, io
    >>> file = io.BytesIO()
    >>> jnp.save(file, jnp.arange(3)); file.seek(0)
    0
    >>> jnp.load(file)
    Array([0, 1, 2], dtype=int64)
    """
    found = np.load(file, *args, **kwargs)
    if isinstance(found, np.ndarray) and found.dtype == "V2":  # NumPy's files say of bfloat16 that it has two bytes
        found = found.view(dt.bfloat16)
    return fc.asarray(found) if isinstance(found, np.ndarray) else found


def save(file, arr, allow_pickle=True):
    """Write an array to a .npy file.

    >>> import functorch_core.numpy as jnp, io
    >>> jnp.save(io.BytesIO(), jnp.arange(3))
    """
    np.save(file, np.asarray(arr), allow_pickle=allow_pickle)


def savez(file, *args, allow_pickle=True, **kwds):
    """Write arrays to a .npz file, by their names.

    >>> import functorch_core.numpy as jnp, io
    >>> jnp.savez(io.BytesIO(), x=jnp.arange(3))
    """
    named = {k: np.asarray(v) for k, v in kwds.items()}
    np.savez(file, *map(np.asarray, args), allow_pickle=allow_pickle, **named)


# ---- from shapes ---------------------------------------------------------------------------------


@explaining
def eye(N, M=None, k=0, dtype=None, *, device=None):
    """N rows and M (N) columns with 1 on the k-th diagonal, 0 elsewhere.

    >>> import functorch_core.numpy as jnp
    >>> jnp.eye(2)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return fc.eye(N, M, k=operator.index(k), dtype=dtype, device=device)


@explaining
def identity(n, dtype=None):
    """n rows and columns with 1 on the diagonal, 0 elsewhere.

    >>> import functorch_core.numpy as jnp
    >>> jnp.identity(2)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return fc.eye(n, dtype=dtype)


@explaining
def tri(N, M=None, k=0, dtype=None):
    """N rows and M (N) columns with 1 on and below the k-th diagonal, 0 above.

    >>> import functorch_core.numpy as jnp
    >>> jnp.tri(3)
    Array([[1., 0., 0.],
           [1., 1., 0.],
           [1., 1., 1.]], dtype=float32)
    """
    return fc.asarray(np.tri(N, M, k, dt.canonical(float if dtype is None else dtype)))


def _like(make, signature: str):
    """A creation function of an array's shape and dtype."""
    return with_signature(make, signature)


zeros_like = _like(fc.zeros_like, "a, dtype=None, shape=None, *, device=None")
ones_like = _like(fc.ones_like, "a, dtype=None, shape=None, *, device=None")
empty_like = _like(fc.empty_like, "prototype, dtype=None, shape=None, *, device=None")


@explaining
def full_like(a, fill_value, dtype=None, shape=None, *, device=None):
    """An array like a (its shape and dtype, unless others are given) of one repeated number.

    >>> import functorch_core.numpy as jnp
    >>> jnp.full_like(jnp.zeros(2), 7.)
    Array([7., 7.], dtype=float32)
    """
    if fill_value.__class__ is fc.Array or isinstance(fill_value, np.ndarray):
        a = as_array(a)
        value = as_array(fill_value).astype(a.dtype if dtype is None else dtype)
        return fc.broadcast_to(value, a.shape if shape is None else shape)
    return fc.full_like(a, fill_value, dtype=dtype, shape=shape, device=device)


@explaining
def full(shape, fill_value, dtype=None, *, device=None):
    """An array of one repeated number, or of an array that is broadcast to the shape.

    >>> import functorch_core.numpy as jnp
    >>> jnp.full((2, 2), jnp.asarray([1, 2]))
    Array([[1, 2],
           [1, 2]], dtype=int64)
    """
    if (fill_value.__class__ is fc.Array or isinstance(fill_value, np.ndarray)) and np.ndim(fill_value):
        value = as_array(fill_value)
        out = fc.broadcast_to(value, (shape,) if isinstance(shape, int) else tuple(shape))
        return out if dtype is None else out.astype(dtype)
    return fc.full(shape, fill_value, dtype, device=device)


arange = with_signature(
    lambda start, stop, step, /, dtype, device: fc.arange(
        start, stop, 1 if step is None else step, dtype=dtype, device=device
    ),
    "start, stop=None, step=None, dtype=None, *, device=None",
)
arange.__name__, arange.__doc__ = "arange", fc.arange.__doc__


@explaining
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    """`num` evenly spaced numbers from start to stop; with retstep, (numbers, step).

    >>> import functorch_core.numpy as jnp
    >>> jnp.linspace(0., 1., 5)
    Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    out = fc.linspace(start, stop, num, dtype=dtype, device=device, endpoint=endpoint, axis=axis)
    if not retstep:
        return out
    parts = num - 1 if endpoint else num
    return out, (as_array(stop) - as_array(start)) / parts if parts > 0 else fc.asarray(float("nan"))


# ---- grids and indices ---------------------------------------------------------------------------


@explaining
def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    """Coordinates as a grid: one array for each vector, all of one shape (sparse: that broadcast to it).

    >>> import functorch_core.numpy as jnp
    >>> jnp.meshgrid(jnp.asarray([1, 2]), jnp.asarray([3, 4, 5]), sparse=True)[0]
    Array([[1, 2]], dtype=int64)
    """
    if not copy:
        raise ValueError("meshgrid: copy=False asks for views of one array; arrays are immutable, leave it out")
    if not sparse:
        return list(fc.meshgrid(*xi, indexing=indexing))
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing is 'xy' or 'ij', got {indexing!r}")
    places = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        places[:2] = [1, 0]
    return [fc.reshape(x, [-1 if d == p else 1 for d in range(len(xi))]) for x, p in zip(xi, places)]


@explaining
def indices(dimensions, dtype=None, sparse=False):
    """The indices of a grid: an array for each dimension, stacked (sparse: a tuple that broadcasts).

    >>> import functorch_core.numpy as jnp
    >>> jnp.indices((2, 2)).shape
    (2, 2, 2)
    """
    dtype = dt.canonical(int if dtype is None else dtype)
    found = np.indices(dimensions, dtype=dtype, sparse=sparse)
    return tuple(map(fc.asarray, found)) if sparse else fc.asarray(found)


@explaining
def ix_(*args):
    """Vectors as an open grid, to index with: x[jnp.ix_(rows, columns)].

    >>> import functorch_core.numpy as jnp
    >>> jnp.arange(9).reshape(3, 3)[jnp.ix_(jnp.asarray([0, 2]), jnp.asarray([1]))]
    Array([[1],
           [7]], dtype=int64)
    """
    vectors = [fc.flatnonzero(x) if as_array(x).dtype == dt.bool_ else as_array(x) for x in args]
    if not builtins.all(v.ndim == 1 for v in vectors):
        raise ValueError(f"ix_ takes arrays of one dimension, got {', '.join(str(v.aval) for v in vectors)}")
    return tuple(fc.reshape(v, [-1 if d == i else 1 for d in range(len(args))]) for i, v in enumerate(vectors))


def _from_numpy(name, doc, signature):
    """A function of static numbers alone, whose indices NumPy computes."""
    compute = getattr(np, name)

    def call(*args, **kwargs):
        found = compute(*args, **kwargs)
        return tuple(map(fc.asarray, found)) if isinstance(found, tuple) else fc.asarray(found)

    call.__name__, call.__doc__ = name, doc
    call = explaining(call, space="fc.numpy")
    call.__signature__ = inspect.signature(eval(f"lambda {signature}: None"))
    return call


diag_indices = _from_numpy(
    "diag_indices",
    """The indices of the diagonal of an array of n rows, n columns, ...

    >>> import functorch_core.numpy as jnp
    >>> jnp.diag_indices(3)
    (Array([0, 1, 2], dtype=int64), Array([0, 1, 2], dtype=int64))
    """,
    "n, ndim=2",
)
tril_indices = _from_numpy(
    "tril_indices",
    """The indices of the elements on and below the k-th diagonal.

    >>> import functorch_core.numpy as jnp
    >>> jnp.tril_indices(2)
    (Array([0, 1, 1], dtype=int64), Array([0, 0, 1], dtype=int64))
    """,
    "n, k=0, m=None",
)
triu_indices = _from_numpy(
    "triu_indices",
    """The indices of the elements on and above the k-th diagonal.

    >>> import functorch_core.numpy as jnp
    >>> jnp.triu_indices(2)
    (Array([0, 0, 1], dtype=int64), Array([0, 1, 1], dtype=int64))
    """,
    "n, k=0, m=None",
)


def diag_indices_from(arr):
    """The indices of the diagonal of an array.

    >>> import functorch_core.numpy as jnp
    >>> jnp.diag_indices_from(jnp.zeros((2, 2)))
    (Array([0, 1], dtype=int64), Array([0, 1], dtype=int64))
    """
    return diag_indices(arr.shape[0], arr.ndim)


def tril_indices_from(arr, k=0):
    """The indices of the elements of a matrix on and below the k-th diagonal.

    >>> import functorch_core.numpy as jnp
    >>> jnp.tril_indices_from(jnp.zeros((2, 2)))
    (Array([0, 1, 1], dtype=int64), Array([0, 0, 1], dtype=int64))
    """
    return tril_indices(arr.shape[-2], k, arr.shape[-1])


def triu_indices_from(arr, k=0):
    """The indices of the elements of a matrix on and above the k-th diagonal.

    >>> import functorch_core.numpy as jnp
    >>> jnp.triu_indices_from(jnp.zeros((2, 2)))
    (Array([0, 0, 1], dtype=int64), Array([0, 1, 1], dtype=int64))
    """
    return triu_indices(arr.shape[-2], k, arr.shape[-1])


@explaining
def mask_indices(n, mask_func, k=0, *, size=None):
    """The indices of what mask_func(ones((n, n)), k) keeps.

    >>> import functorch_core.numpy as jnp
    >>> jnp.mask_indices(2, jnp.triu)
    (Array([0, 0, 1], dtype=int64), Array([0, 1, 1], dtype=int64))
    """
    return fc.nonzero(mask_func(fc.ones((n, n)), k), size=size)


class _Grid:
    """What mgrid and ogrid are: jnp.mgrid[0:2, 0:3]; a complex step counts the numbers."""

    def __init__(self, sparse: bool):
        self.sparse = sparse

    def __getitem__(self, key):
        grid = np.ogrid if self.sparse else np.mgrid
        found = grid[key]
        return [_weak(x) for x in found] if isinstance(found, (list, tuple)) else _weak(found)


def _weak(x: np.ndarray):
    """NumPy's float64 of Python numbers as the library's default float."""
    return fc.asarray(x.astype(dt.DEFAULT_FLOAT) if x.dtype == np.float64 else x)


mgrid, ogrid = _Grid(False), _Grid(True)


class _Joiner:
    """What r_ and c_ are: jnp.r_[1, 2:5, x] joins numbers, ranges and arrays."""

    def __init__(self, columns: bool):
        self.columns = columns

    def __getitem__(self, key):
        items = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, place = (-1, 2, 0) if self.columns else (0, 1, -1)
        if isinstance(items[0], str) and items[0] in ("r", "c"):  # r_ gives a matrix of one row, or one column
            joined = self[tuple(items[1:])]
            return fc.reshape(joined, (1, -1) if items[0] == "r" else (-1, 1)) if joined.ndim == 1 else joined
        if isinstance(items[0], str):
            numbers = [int(v) for v in items.pop(0).split(",")]
            axis, ndmin, place = (numbers + [ndmin, place][len(numbers) - 1 :])[:3]
        parts = [_padded(_part(item), ndmin, place) for item in items]
        return fc.concat(parts, axis=axis)


def _part(item):
    """A slice, a number or an array as an Array of at least one dimension."""
    if isinstance(item, slice):
        start, step = item.start or 0, 1 if item.step is None else item.step
        if isinstance(step, complex):
            return fc.linspace(start, item.stop, int(abs(step)))
        return fc.arange(_number(start, "r_"), _number(item.stop, "r_"), step)
    out = as_array(item)
    return fc.reshape(out, (1,)) if not out.ndim else out


def _padded(x, ndmin: int, place: int):
    """x with dimensions of size 1 put in, so that its first one is at `place` of ndmin."""
    more = ndmin - x.ndim
    if more <= 0:
        return x
    place = place if place >= 0 else more + 1 + place
    return fc.reshape(x, (1,) * place + x.shape + (1,) * (more - place))


r_, c_ = _Joiner(False), _Joiner(True)


class _Index:
    """What s_ and index_exp are: an index as a value."""

    def __init__(self, always_tuple: bool):
        self.always_tuple = always_tuple

    def __getitem__(self, key):
        return (key,) if self.always_tuple and not isinstance(key, tuple) else key


s_, index_exp = _Index(False), _Index(True)


# ---- windows -------------------------------------------------------------------------------------


def _window(name: str, doc: str):
    compute = getattr(np, name)

    def call(M):
        return fc.asarray(compute(int(M)).astype(dt.DEFAULT_FLOAT))

    call.__name__ = name
    call.__doc__ = f"""{doc}

    >>> import functorch_core.numpy as jnp
    >>> jnp.{name}(3).shape
    (3,)
    """
    return explaining(call, space="fc.numpy")


bartlett = _window("bartlett", "The triangular window of M points.")
blackman = _window("blackman", "The Blackman window of M points.")
hamming = _window("hamming", "The Hamming window of M points.")
hanning = _window("hanning", "The Hann window of M points.")


@function("beta")
def kaiser(M, beta):
    """The Kaiser window of M points; beta is its shape.

    >>> import functorch_core.numpy as jnp
    >>> jnp.kaiser(3, 2.)
    Array([0.43867627, 1.        , 0.43867627], dtype=float32)
    """
    if M == 1:
        return fc.ones(1)
    place = fc.linspace(-1.0, 1.0, M)
    return i0(beta * fc.sqrt(fc.clip(1 - place * place, 0, None))) / i0(beta)


@function("x")
def vander(x, N=None, increasing=False):
    """The powers of a vector, as columns: from N - 1 (its size) down to 0.

    >>> import functorch_core.numpy as jnp
    >>> jnp.vander(jnp.asarray([1., 2., 3.]))
    Array([[1., 1., 1.],
           [4., 2., 1.],
           [9., 3., 1.]], dtype=float32)
    """
    x = as_array(x)
    if x.ndim != 1:
        raise ValueError(f"vander takes an array of one dimension, got {x.aval}")
    n = x.shape[0] if N is None else operator.index(N)
    powers = fc.arange(n) if increasing else fc.arange(n - 1, -1, -1)
    return x[:, None] ** powers.astype(x.dtype)


# ---- printing ------------------------------------------------------------------------------------


def get_printoptions():
    """How arrays are printed: NumPy's settings, which hold here, too.

    >>> import functorch_core.numpy as jnp
    >>> jnp.get_printoptions()["precision"]
    8
    """
    return np.get_printoptions()


def set_printoptions(*args, **kwargs):
    """Set how arrays are printed: NumPy's settings.

    >>> import functorch_core.numpy as jnp
    >>> jnp.set_printoptions(precision=8)
    """
    np.set_printoptions(*args, **kwargs)


def printoptions(*args, **kwargs):
    """Context: how arrays are printed, by NumPy's settings.

    >>> import functorch_core.numpy as jnp
    >>> with jnp.printoptions(precision=2):
    ...     print(jnp.asarray([1.23456]))
    [1.23]
    """
    return np.printoptions(*args, **kwargs)


def array_repr(arr, max_line_width=None, precision=None, suppress_small=None) -> str:
    """The array as its repr shows it.

    >>> import functorch_core.numpy as jnp
    >>> jnp.array_repr(jnp.asarray([1., 2.]))
    'Array([1., 2.], dtype=float32)'
    """
    out = io.StringIO()
    text = np.array2string(np.asarray(arr), max_line_width, precision, suppress_small, separator=", ", prefix="Array(")
    out.write(f"Array({text}, dtype={arr.dtype.name})")
    return out.getvalue()


def array_str(a, max_line_width=None, precision=None, suppress_small=None) -> str:
    """The numbers of an array as text.

    >>> import functorch_core.numpy as jnp
    >>> jnp.array_str(jnp.asarray([1., 2.]))
    '[1. 2.]'
    """
    return np.array_str(np.asarray(a), max_line_width, precision, suppress_small)


__all__ = [
    "arange", "array", "array_repr", "array_str", "asarray", "bartlett", "blackman", "c_", "diag_indices",
    "diag_indices_from", "empty_like", "eye", "frombuffer", "fromfile", "fromfunction", "fromiter", "fromstring",
    "full", "full_like", "get_printoptions", "hamming", "hanning", "identity", "index_exp", "indices", "ix_",
    "kaiser", "linspace", "load", "mask_indices", "meshgrid", "mgrid", "ogrid", "ones_like", "printoptions", "r_",
    "s_", "save", "savez", "set_printoptions", "tri", "tril_indices", "tril_indices_from", "triu_indices",
    "triu_indices_from", "vander", "zeros_like",
]  # fmt: skip
