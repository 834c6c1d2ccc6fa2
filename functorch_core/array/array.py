"""fc.Array: an immutable array, concrete or traced, with operators, indexing and methods."""

from __future__ import annotations

import numpy as np

from .. import xla
from ..core import dtypes as dt
from ..core.aval import HasAval
from ..core.explain import MISTAKES, as_function, as_method, explained
from ..core.trace import Traced, concrete
from ..core.tree import boxes, content
from ..core.unknown import not_known
from ..engine import Value, flush, from_buffer, from_numpy, has_data, to_buffer, to_numpy
from ..engine.modes import settings
from ..engine.programs import device_of
from ..ops.op import strong
from ..ops.signature import Weak

_new = object.__new__


class _Instances(type):
    """Typed keys are instances of Array to users' programs, as in JAX; here `x.__class__ is Array` is asked."""

    keys: type | None = None  # the class of typed keys

    def __instancecheck__(cls, x):
        return type.__instancecheck__(cls, x) or x.__class__ is _Instances.keys is not None


class Array(HasAval, metaclass=_Instances):
    """An immutable n-dimensional array. Make one with fc.asarray, fc.zeros, fc.random.normal, ...

    >>> import functorch_core as fc
    >>> fc.asarray([1., 2.]) * 2
    Array([2., 4.], dtype=float32)
    """

    # One of _held, the engine's or a trace's value, and _data, a device buffer, is always set; the
    # other when somebody asks: a jitted function takes and gives buffers, and at 50 results a call
    # the values that nobody looks at would cost as much as the arrays (5 us).
    __slots__ = ("aval", "_held", "_data", "__weakref__")
    __array_priority__ = 100
    __hash__ = None

    def __init__(self, *args, **kwargs):
        raise TypeError("fc.Array is not made directly; use fc.asarray(...)")

    # ---- what it is

    @property
    def _value(self):
        """The value of the engine, or of a trace."""
        try:
            return self._held
        except AttributeError:
            value = self._held = from_buffer(self._data)
            return value

    @property
    def size(self) -> int:
        """The number of elements.

        >>> fc.zeros((2, 3)).size
        6
        """
        return self.aval.size

    @property
    def nbytes(self) -> int:
        """The bytes of the elements.

        >>> fc.zeros((2, 3), "float32").nbytes
        24
        """
        return self.aval.nbytes

    @property
    def itemsize(self) -> int:
        """The bytes of an element.

        >>> fc.zeros(2, "float32").itemsize
        4
        """
        return self.dtype.itemsize

    @property
    def weak_type(self) -> bool:
        """Whether the dtype gives way to another one's: never, only Python's numbers do.

        >>> fc.asarray(1.).weak_type
        False
        """
        return False

    @property
    def device(self):
        """The device of a concrete array (the default device if it is still on the host), or the one that
        it will be computed on.

        >>> fc.arange(2).device == fc.devices()[0]
        True
        """
        value = concrete_value(self, "device")
        if not has_data(value):
            return device_of(value.recording)
        data = value.data
        if isinstance(data, np.ndarray):
            return xla.default_device()
        return xla.sharding_of(data) or xla.device_of(data)

    # ---- its data

    def __array__(self, dtype=None, copy=None):
        array = to_numpy(concrete_value(self, "np.asarray"))
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError(f"np.asarray(..., dtype={dtype}, copy=False) of {self.aval}: another dtype is a copy")
            return array.astype(dtype)
        if copy:
            return array.copy()
        array.flags.writeable = False  # the values are shared and must not change
        return array.view()  # which cannot be made writeable, as its base is not

    def item(self, *place):
        """The only element, as a Python number; or the one at a place, an index of each axis or one of all elements.

        >>> fc.asarray([2.5]).item(), fc.asarray([[1, 2], [3, 4]]).item(1, 0)
        (2.5, 3)
        """
        if place:
            return to_numpy(concrete_value(self, "item()")).item(*place)
        if self.size != 1:
            error = ValueError(
                f"x.item() needs an array of one element, x is {self.aval}; "
                "x.tolist() gives all, x[i].item() one of them"
            )
            raise explained(error, lambda: as_method("item", (self,), {}))
        return to_numpy(concrete_value(self, "item()")).reshape(()).item()

    def tolist(self):
        """Nested lists of Python numbers.

        >>> fc.arange(2).tolist()
        [0, 1]
        """
        return to_numpy(concrete_value(self, "tolist()")).tolist()

    def block_until_ready(self) -> Array:
        """Compute it now; returns the array itself.

        >>> (fc.arange(3) + 1).block_until_ready()
        Array([1, 2, 3], dtype=int64)
        """
        xla.block(self._buffer())
        return self

    def _buffer(self):
        """The device buffer, which may not be there yet; no value of the engine is made for it."""
        return to_buffer(concrete_value(self, "block_until_ready()")) if hasattr(self, "_held") else self._data

    def is_ready(self) -> bool:
        """Whether it is computed, so that reading it would not wait.

        >>> fc.arange(2).block_until_ready().is_ready()
        True
        """
        value = concrete_value(self, "is_ready()")
        return has_data(value) and (not isinstance(value.data, xla.Buffer) or value.data.is_ready())

    def copy_to_host_async(self):
        """Let it be computed while the program goes on; reading it waits for what is left.

        >>> fc.arange(2).copy_to_host_async()
        """
        flush("arrays will be read")

    def tobytes(self) -> bytes:
        """The bytes of the elements, row by row.

        >>> fc.asarray([1, 2], dtype="uint8").tobytes()
        b'\\x01\\x02'
        """
        return to_numpy(concrete_value(self, "tobytes()")).tobytes()

    def is_deleted(self) -> bool:
        """Whether its memory is gone: donated, or deleted.

        >>> fc.arange(2).is_deleted()
        False
        """
        data = getattr(self._value, "data", None)
        return isinstance(data, xla.Buffer) and data.is_deleted()

    def delete(self):
        """Free its memory; it cannot be used afterwards.

        >>> x = fc.arange(2)
        >>> x.delete()
        >>> x.is_deleted()
        True
        """
        settings.donates = True
        flush("memory is given away")
        xla.delete(to_buffer(concrete_value(self, "delete()")))

    def __bool__(self):
        return bool(self._scalar("bool", "bool (an `if`, `while`, `and`)", branching=True))

    def __int__(self):
        return int(self._scalar("int", branching=True))

    def __float__(self):
        return float(self._scalar("float"))

    def __complex__(self):
        return complex(self._scalar("complex"))

    def __index__(self):
        if self.dtype not in dt.INTEGER:
            error = TypeError(
                f"only an integer array can be an index, this one is {self.aval}; convert it first: x.astype(fc.int64)"
            )
            raise explained(error, lambda: as_function("operator.index", (self,), {}))
        return int(self._scalar("operator.index", "an index"))

    def _scalar(self, call: str, what: str = "", branching: bool = False):
        """The only element, for what asks for a Python number by call(x)."""
        what = what or f"{call}()"
        try:
            if self.size != 1:
                raise ValueError(
                    f"{what} needs one element, this array is {self.aval}; use .any() or .all() for a condition on many"
                )
            if call in ("int", "float") and self.dtype in dt.COMPLEX:
                raise TypeError(f"{what} takes a real number, this array is {self.aval}; x.real is its real part")
            return to_numpy(concrete_value(self, what, branching)).reshape(())[()]
        except MISTAKES as error:
            raise explained(error, lambda: as_function(call, (self,), {}))

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        buffer = to_buffer(concrete_value(self, "DLPack"))
        here = xla.dlpack_device(buffer)
        if dl_device is not None and tuple(map(int, dl_device)) != here:
            raise BufferError(
                f"the array is on DLPack device {here}, {dl_device} was asked for; move it first: x.to_device(...)"
            )
        if copy:
            buffer = xla.put(np.array(xla.to_numpy(buffer)), xla.device_of(buffer))
        return xla.to_dlpack(buffer)

    def __dlpack_device__(self):
        return xla.dlpack_device(to_buffer(concrete_value(self, "DLPack")))

    def __len__(self):
        if not self.ndim:
            error = TypeError(
                f"len(x) of a 0-d array, {self.aval}, which has no first dimension; "
                "x.size counts its elements, x.item() is its number"
            )
            raise explained(error, lambda: as_function("len", (self,), {}))
        return self.shape[0]

    def __iter__(self):
        if not self.ndim:
            error = TypeError(
                f"iteration over a 0-d array, {self.aval}, which has no first dimension; x.item() is its number"
            )
            raise explained(error, lambda: as_function("iter", (self,), {}))
        return (self[i] for i in range(self.shape[0]))

    def __repr__(self):
        value = self._value
        if value.__class__ is not Value:
            return f"Traced<{value.aval}>"
        array = to_numpy(value)
        text = np.array2string(array, separator=", ", prefix="Array(")
        shape = f", shape={self.shape}" if self.size == 0 else ""
        return f"Array({text}{shape}, dtype={self.dtype.name})"

    def __str__(self):
        return str(to_numpy(self._value)) if self._value.__class__ is Value else repr(self)

    def __reduce__(self):
        return _rebuild, (np.array(self),)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


def wrap(value) -> Array:
    """An Array around a value of the engine or of a trace."""
    array = _new(Array)
    array._held = value
    array.aval = value.aval
    return array


def array_of(aval, buffer) -> Array:
    """An Array around a device buffer."""
    array = _new(Array)
    array.aval, array._data = aval, buffer
    return array


def wrap_all(out):
    """Values in (nested) tuples and lists as Arrays."""
    if out.__class__ is Value or isinstance(out, (Traced, Weak)):
        return wrap(out)
    if isinstance(out, tuple) and hasattr(out, "_fields"):
        return type(out)(*map(wrap_all, out))
    return type(out)(map(wrap_all, out)) if isinstance(out, (list, tuple)) else out


def unwrap(x):
    """The value of an Array; NumPy arrays are copied; numbers and None stay."""
    if x.__class__ is Array:
        return strong(x._value)
    if isinstance(x, (np.ndarray, np.generic)):
        return from_numpy(np.array(x))
    if isinstance(x, (list, tuple)):
        return type(x)(unwrap(y) for y in x)
    return x


def as_value(x):
    """The value of anything array-like: Arrays, NumPy arrays, Python numbers (default dtypes)."""
    if x.__class__ is Array:
        return strong(x._value)
    if isinstance(x, (bool, int, float, complex)):
        try:
            return from_numpy(np.asarray(x, dt.of_scalar(x)))
        except OverflowError:
            raise OverflowError(
                f"the Python integer {x:.4e} does not fit int64, the dtype of integers; pass a float, float(x)"
            ) from None
    if isinstance(x, (np.ndarray, np.generic)):
        dt.canonical(x.dtype)
        return from_numpy(np.array(x))
    if x.__class__ is Value or isinstance(x, Traced):
        return x
    if x.__class__ in boxes:
        return as_value(content(x))
    raise TypeError(f"expected an array or a number, got {type(x).__name__}: {x!r:.60}; convert lists with fc.asarray")


def concrete_value(array: Array, what: str, branching: bool = False) -> Value:
    """The engine value of a concrete array; ConcretizationError for a traced one.

    Where an eager derivative is traced, the value is known all the same. It is given for what has
    no derivative: integers and booleans, and numbers that Python only branches on (`branching`).
    """
    value = array._value
    if value.__class__ is Value:
        return value
    value = strong(value)
    if value.__class__ is Traced and (branching or value.aval.dtype not in dt.INEXACT):
        known = concrete(value)
        if known is not None:
            return as_value(known)
    raise not_known(what, array)


def _rebuild(array: np.ndarray) -> Array:
    return wrap(from_numpy(array))
