"""Arrays from other data: asarray, from_dlpack; arrays from shapes."""

from __future__ import annotations

import functools
import inspect

import numpy as np

from .. import xla
from ..core import dtypes as dt
from ..core.explain import explaining
from ..core.trace import Traced, state
from ..core.tree import boxes, content
from ..core.unknown import not_known
from ..engine import Value, from_buffer, from_numpy, has_data, to_buffer, to_numpy
from ..engine.modes import settings
from ..ops import creation as ops
from ..ops.manipulation import _duplicate, astype, stack
from ..ops.op import lift
from ..primitives import add, convert, iota, mul
from .array import Array, as_value, wrap
from .expose import public
from .functions import expand_dims, log2
from .inspection import result_type

NOT_DATA = """asarray takes numbers, nested lists of them, and arrays, got {value!r:.60} ({kind}).
    The dtypes are those of fc: bool, integers, floats and complex numbers."""


# ---- devices -------------------------------------------------------------------------------------


def on_device(array: Array, device) -> Array:
    """The array on a device (None: where it is). Traced arrays have no device yet."""
    if device is None or array._value.__class__ is not Value:
        return array
    if isinstance(device, str):
        kind, _, index = device.partition(":")
        device = xla.device(kind, int(index or 0))
    return wrap(from_buffer(to_buffer(array._value, device)))


def _creator(operation, *positional: str):
    """The public function of a creation operation; `positional` parameters come by position."""

    @functools.wraps(operation.fun)
    def call(*args, device=None, **static):
        if len(args) > len(positional):
            raise TypeError(f"{operation.name}() takes {len(positional)} positional arguments, got {len(args)}")
        for name, value in zip(positional, args):
            if name in static:
                raise TypeError(f"{operation.name}() got multiple values for argument {name!r}")
            static[name] = value
        return on_device(wrap(operation(**static)), device)

    call = explaining(call)
    call.__module__ = "functorch_core"
    call.__signature__ = _signature(operation, positional)
    return call


def _signature(operation, positional):
    """The operation's signature with positional parameters, and a device."""
    found = operation.__signature__.parameters.values()
    kinds = {name: p for p in found for name in [p.name]}
    first = [kinds[n].replace(kind=kinds[n].POSITIONAL_OR_KEYWORD) for n in positional]
    rest = [p for p in found if p.name not in positional]
    device = inspect.Parameter("device", inspect.Parameter.KEYWORD_ONLY, default=None)
    return operation.__signature__.replace(parameters=[*first, *rest, device])


zeros = _creator(ops.zeros, "shape", "dtype")
ones = _creator(ops.ones, "shape", "dtype")
empty = _creator(ops.zeros, "shape", "dtype")
eye = _creator(ops.eye, "n_rows", "n_cols")


def _with_device(operation):
    function = public(operation)

    @functools.wraps(function)
    def call(*args, device=None, **static):
        return on_device(function(*args, **static), device)

    call.__signature__ = _signature(operation, ())
    return call


zeros_like = _with_device(ops.zeros_like)
ones_like = _with_device(ops.ones_like)
empty_like = zeros_like
full_like = _with_device(ops.full_like)
_full = public(ops.full)


@explaining
def full(shape, fill_value, dtype=None, *, device=None) -> Array:
    """An array of one repeated number; its dtype is the number's by default.

    >>> import functorch_core as fc
    >>> fc.full((2, 2), 7)
    Array([[7, 7],
           [7, 7]], dtype=int64)
    """
    return on_device(_full(fill_value, shape=shape, dtype=dtype), device)


def _number(x, name: str):
    """A Python number of a number or a concrete 0-d array."""
    if x.__class__ is Array:
        return to_numpy(as_value(x)).item() if x._value.__class__ is Value else _static(x, name)
    if isinstance(x, np.generic) or (isinstance(x, np.ndarray) and not x.ndim):
        return x.item()
    return x


def _has_dtype(x) -> bool:
    """Whether x is an array or a scalar of NumPy's, whose dtype the result has: no Python number, as np.float64 is."""
    return isinstance(x, (Array, np.ndarray, np.generic)) and not isinstance(x, (float, complex))


def _static(x: Array, name: str):
    raise not_known(name, x)


@explaining
def arange(start, /, stop=None, step=1, *, dtype=None, device=None) -> Array:
    """The numbers start, start + step, ... below stop (from 0 to start if there is no stop).

    The dtype that they promote to by default, of Python's numbers int64 or float32. ValueError for a step of 0.

    >>> import functorch_core as fc
    >>> fc.arange(2, 8, 2)
    Array([2, 4, 6], dtype=int64)
    """
    numbers = [None if v is None else _number(v, "arange") for v in (start, stop, step)]
    if dtype is None and any(map(_has_dtype, (start, stop, step))):
        dtype = result_type(*[v for v in (start, stop, step) if v is not None])
        dtype = None if dtype == dt.bool_ else dtype
    if settings.sizes_by_name and state.builder is not None and all(isinstance(v, int | None) for v in numbers):
        return _counted(*numbers, dtype)
    return _from_host(ops.arange_array(*numbers, dtype), device)


def _counted(start: int, stop: int | None, step: int, dtype) -> Array:
    """arange of integers as a computation, whose text has the size as a number: see export.SymbolicExported."""
    start, stop = (0, start) if stop is None else (start, stop)
    n = len(range(start, stop, step))
    count = iota(shape=(n,), dtype=dt.int64, dimension=0)
    return wrap(convert(add(mul(count, step), start), dtype=dt.canonical(int if dtype is None else dtype)))


@explaining
def linspace(start, stop, /, num=50, *, dtype=None, device=None, endpoint=True, axis=0) -> Array:
    """`num` evenly spaced numbers from start to stop, which is the last one if `endpoint`.

    float32 by default. start and stop may be arrays, also traced ones: `axis` of the result then
    counts the numbers. ValueError for a negative num.

    >>> import functorch_core as fc
    >>> fc.linspace(0., 1., 5)
    Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    if _has_dtype(start) or _has_dtype(stop):
        return on_device(_spaced(start, stop, num=num, dtype=dtype, endpoint=endpoint, axis=axis), device)
    start, stop = _number(start, "linspace"), _number(stop, "linspace")
    return _from_host(ops.linspace_array(start, stop, num, dtype, endpoint), device)


_spaced = public(ops.linspace)


@explaining
def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0) -> Array:
    """`num` numbers from base**start to base**stop, evenly spaced on a logarithmic scale.

    start and stop may be arrays, as those of linspace.

    >>> import functorch_core as fc
    >>> fc.logspace(0., 2., 3)
    Array([  1.,  10., 100.], dtype=float32)
    """
    if any(map(_has_dtype, (start, stop, base))):
        powers = base ** linspace(start, stop, num, endpoint=endpoint, axis=axis)
        return powers if dtype is None else powers.astype(dtype)
    exponents = ops.linspace_array(_number(start, "logspace"), _number(stop, "logspace"), num, np.float64, endpoint)
    return _from_host(np.power(base, exponents).astype(dt.canonical(dtype or float)), None)


@explaining
def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0) -> Array:
    """`num` numbers from start to stop, each the same multiple of the one before.

    start and stop are positive, or both negative.

    >>> import functorch_core as fc
    >>> fc.geomspace(1., 8., 4)
    Array([1., 2., 4., 8.], dtype=float32)
    """
    start, stop = (
        asarray(x, dtype=dt.canonical(float)) if isinstance(x, (bool, int, float)) else asarray(x)
        for x in (start, stop)
    )
    ratio = linspace(log2(stop / start) * 0, log2(stop / start), num, endpoint=endpoint, axis=axis)
    spread = start if not start.ndim else expand_dims(start, axis=axis)
    powers = spread * 2**ratio
    return powers if dtype is None else powers.astype(dtype)


def _from_host(array: np.ndarray, device) -> Array:
    """A host array, that nobody else has, as an Array."""
    if state.builder is not None:
        return wrap(lift(array))
    return on_device(wrap(from_numpy(array)), device)


# ---- asarray -------------------------------------------------------------------------------------


@explaining
def asarray(obj, /, *, dtype=None, device=None, copy=None) -> Array:
    """An Array of a number, nested lists, a NumPy array, an Array, or anything with a buffer.

    Python floats become float32, ints int64; arrays keep their dtype, unless `dtype` is given. The
    data are always copied from NumPy arrays (copy=False is a ValueError there), and never from
    tensors of the PyTorch face; an Array itself is returned, but for copy=True. TypeError for anything else;
    ValueError for ragged lists.

    >>> import functorch_core as fc
    >>> fc.asarray([[1, 2], [3, 4]])
    Array([[1, 2],
           [3, 4]], dtype=int64)
    """
    dtype = None if dtype is None else dt.canonical(dtype)
    if obj.__class__ in boxes:
        obj = content(obj)
    if obj.__class__ is Array:
        array = _copied(obj) if copy else obj
    elif isinstance(obj, (list, tuple)) and _holds_arrays(obj):
        array = wrap(_stacked(obj))
    elif copy is False:
        raise ValueError(
            "asarray(..., copy=False) of data outside of the library: they are copied; share memory with fc.from_dlpack"
        )
    else:
        array = _from_host(_host(obj, dtype), None)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError(f"asarray(..., copy=False): {array.aval} to {dtype.name} is a copy")
        array = wrap(astype(as_value(array), dtype))
    return on_device(array, device)


def _copied(x: Array) -> Array:
    """x in memory of its own, once it is computed; inside of a trace memory means nothing."""
    value = as_value(x)
    return x if value.__class__ is Traced or not has_data(value) else wrap(_duplicate(value))


def _holds_arrays(obj) -> bool:
    return any(
        x.__class__ is Array
        or isinstance(x, (Value, Traced, *boxes))
        or (isinstance(x, (list, tuple)) and _holds_arrays(x))
        for x in obj
    )


def _stacked(obj):
    """Nested sequences with Arrays among the leaves."""
    if not isinstance(obj, (list, tuple)):
        return as_value(obj)
    return stack([_stacked(x) for x in obj])


def _host(obj, dtype) -> np.ndarray:
    """A fresh NumPy array of host data, Python numbers with the library's default dtypes."""
    if isinstance(obj, (np.ndarray, np.generic)):
        array = np.array(obj)
    elif hasattr(obj, "__array__") or hasattr(obj, "__array_interface__"):
        array = np.array(np.asarray(obj))
    elif hasattr(obj, "__dlpack__"):
        array = np.array(xla.to_numpy(xla.from_dlpack(obj)))
    else:
        return _host_numbers(obj, dtype)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype not in dt.ALL:
        raise TypeError(NOT_DATA.format(value=obj, kind=f"dtype {array.dtype}"))
    return array


def _host_numbers(obj, dtype) -> np.ndarray:
    try:
        array = np.array(obj)
    except ValueError as error:
        raise ValueError(f"asarray of {obj!r:.60}: the lists are ragged ({error})") from None
    if array.dtype == object and dtype is None:
        raise TypeError(NOT_DATA.format(value=obj, kind=type(obj).__name__))
    if dtype is not None and array.dtype.kind in "biufcV" and array.dtype.kind != "V":
        return _checked(array, obj, dtype)
    if array.dtype not in dt.ALL:
        raise TypeError(NOT_DATA.format(value=obj, kind=type(obj).__name__))
    if array.size == 0 or not _has_numpy_scalars(obj):
        default = {"f": dt.DEFAULT_FLOAT, "c": dt.DEFAULT_COMPLEX}.get(array.dtype.kind)
        return array if default is None else array.astype(default)
    return array


def _checked(array: np.ndarray, obj, dtype) -> np.ndarray:
    """Numbers in a given dtype; OverflowError for integers that do not fit."""
    if dtype in dt.INTEGER and array.dtype.kind in "iu" and array.size:
        info = dt.iinfo(dtype)
        if int(array.min()) < info.min or int(array.max()) > info.max:
            raise OverflowError(f"asarray: {obj!r:.60} does not fit {dtype.name}")
    return array.astype(dtype)


def _has_numpy_scalars(obj) -> bool:
    """Whether the leaves of nested lists are NumPy's: they keep their dtype."""
    while isinstance(obj, (list, tuple)) and obj:
        obj = obj[0]
    return isinstance(obj, (np.ndarray, np.generic))


@explaining
def from_dlpack(x, /, *, device=None, copy=None) -> Array:
    """An Array of another library's array, through DLPack; memory is shared where it can be.

    Who shares must not write to the object afterwards; copy=True always copies. TypeError for
    objects without __dlpack__.

    >>> import functorch_core as fc, numpy as np
    >>> fc.from_dlpack(np.arange(3))
    Array([0, 1, 2], dtype=int64)
    """
    return on_device(wrap(from_buffer(xla.from_dlpack(x, copy=copy))), device)


def copy(a, order=None) -> Array:
    """An Array of the same numbers, which stays where memory of `a` is donated.

    >>> import functorch_core as fc
    >>> fc.copy(fc.asarray([1, 2]))
    Array([1, 2], dtype=int64)
    """
    if order not in (None, "K", "C", "A"):
        raise NotImplementedError(f"copy: order={order!r}; arrays are in row-major order")
    return asarray(a, copy=True)


__all__ = [
    "arange",
    "asarray",
    "copy",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "geomspace",
    "linspace",
    "logspace",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]
