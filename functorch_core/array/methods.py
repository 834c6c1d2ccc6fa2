"""What Arrays can do by operators and methods: the functions of the namespace, attached."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np

from ..core.explain import as_index, as_method, explained, explaining, shown
from ..engine import to_numpy
from ..ops.places import ARITHMETIC, OPERATORS, UNARY, declared, declared_in
from . import functions as fc
from .array import Array, concrete_value
from .creation import copy, on_device
from .display import repr_html
from .expose import binary_operator, is_operand, public, unary_operator
from .indexing import At, getitem

ASSIGNMENT = """fc.Array is immutable: x[{index}] = y is not possible.
    wrong: x[i] = y                right: x = x.at[i].set(y)
    wrong: x[i] += y               right: x = x.at[i].add(y)"""


def _method(function: Callable) -> Callable:
    """A method of Array by the name behind the underscore; its errors show it as one."""
    name = function.__name__.removeprefix("_")
    setattr(Array, name, explaining(function, name, as_method))
    return function


# ---- operators -----------------------------------------------------------------------------------


for _written, _special in OPERATORS.items():
    _operation = declared[_written]
    if _written in UNARY:
        setattr(Array, f"__{_special}__", unary_operator(_operation, _written.removesuffix("x")))
        continue
    _symbol = _written.split()[1]
    setattr(Array, f"__{_special}__", binary_operator(_operation, _symbol))
    if _written in ARITHMETIC:
        setattr(Array, f"__r{_special}__", binary_operator(_operation, _symbol, reflected=True))


def _divmod(self, other):
    return (self // other, self % other) if is_operand(other) else NotImplemented


def _rdivmod(self, other):
    return (other // self, other % self) if is_operand(other) else NotImplemented


@_method
def _round(self, decimals=0):
    """Each element rounded to so many decimals, halves to the even neighbour.

    >>> fc.asarray([0.5, 1.5, 2.26]).round(1)
    Array([0.5, 1.5, 2.3], dtype=float32)
    """
    return fc.round(self, decimals=decimals or 0)


def _setitem(self, index, value):
    error = TypeError(ASSIGNMENT.format(index=f"{index!r:.40}"))
    raise explained(error, lambda: f"{as_index(self, index)} = {shown(value)}")


def _format(self, spec):
    if not spec:
        return str(self)
    return format(to_numpy(concrete_value(self, "format()")).item() if self.size == 1 else np.asarray(self), spec)


def _contains(self, value):
    return bool(fc.any(self == value))


Array.__divmod__, Array.__rdivmod__ = _divmod, _rdivmod
Array.__round__ = _round
Array.__format__ = _format
Array.__getitem__ = getitem
Array.__setitem__ = _setitem
Array.__contains__ = _contains
Array._repr_html_ = repr_html

# ---- methods: those that are not called as the function of their name, then all others -------------


@_method
def _reshape(self, *shape, order="C"):
    """See fc.reshape; x.reshape(2, -1) is x.reshape((2, -1)). order "F": the first index changes fastest.

    >>> fc.arange(4).reshape(2, -1)
    Array([[0, 1],
           [2, 3]], dtype=int64)
    """
    shape = shape[0] if len(shape) == 1 else shape
    return fc.reshape(self, shape) if order == "C" else _numpy().reshape(self, shape, order=order)


@_method
def _transpose(self, *axes):
    """See fc.permute_dims; without axes they are reversed.

    >>> fc.ones((2, 3, 4)).transpose(1, 0, 2).shape
    (3, 2, 4)
    """
    if not axes or axes == (None,):
        return fc.transpose(self)
    return fc.permute_dims(self, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes)


@_method
def _clip(self, min=None, max=None):
    """See fc.clip.

    >>> fc.arange(4).clip(1, 2)
    Array([1, 1, 2, 2], dtype=int64)
    """
    return fc.clip(self, min, max)


@_method
def _copy(self):
    """The same numbers, which stay where memory of the array is given away; see fc.copy.

    >>> fc.arange(2).copy()
    Array([0, 1], dtype=int64)
    """
    return copy(self)


@_method
def _sort(self, axis=-1, *, descending=False, stable=True):
    """See fc.sort; a new array.

    >>> fc.asarray([3, 1, 2]).sort()
    Array([1, 2, 3], dtype=int64)
    """
    return fc.sort(self, axis=axis, descending=descending, stable=stable)


@_method
def _argsort(self, axis=-1, *, descending=False, stable=True):
    """See fc.argsort.

    >>> fc.asarray([3, 1, 2]).argsort()
    Array([1, 2, 0], dtype=int64)
    """
    return fc.argsort(self, axis=axis, descending=descending, stable=stable)


@_method
def _to_device(self, device, /, *, stream=None):
    """The array on another device.

    >>> fc.arange(2).to_device(fc.devices()[0])
    Array([0, 1], dtype=int64)
    """
    return on_device(self, device)


@_method
def _repeat(self, repeats, axis=None, *, total_repeat_length=None):
    """See fc.repeat.

    >>> fc.arange(2).repeat(2)
    Array([0, 0, 1, 1], dtype=int64)
    """
    return fc.repeat(self, repeats, axis=axis, total_repeat_length=total_repeat_length)


@_method
def _take(self, indices, axis=None, *, mode=None, fill_value=None):
    """See fc.take.

    >>> fc.asarray([3, 1, 2]).take(fc.asarray([2, 0]))
    Array([2, 3], dtype=int64)
    """
    return fc.take(self, indices, axis=axis, mode=mode, fill_value=fill_value)


def _numpy():
    """The namespace of NumPy's names, which is loaded when it is asked for."""
    return import_module("functorch_core.numpy")


def _of_numpy(name: str, doc: str, place: int = 0) -> None:
    """A method that is a function of fc.numpy, of which the array is the argument at a place."""

    def method(self, *args, **kwargs):
        return getattr(_numpy(), name)(*args[:place], self, *args[place:], **kwargs)

    method.__name__, method.__doc__ = name, doc
    setattr(Array, name, explaining(method, name, as_method))


_of_numpy(
    "diagonal",
    """See fc.numpy.diagonal: x.diagonal(offset=0, axis1=0, axis2=1).

    >>> fc.ones((2, 3)).diagonal()
    Array([1., 1.], dtype=float32)
    """,
)
_of_numpy(
    "trace",
    """See fc.numpy.trace: x.trace(offset=0, axis1=0, axis2=1, dtype=None).

    >>> fc.ones((2, 3)).trace()
    Array(2., dtype=float32)
    """,
)
_of_numpy(
    "searchsorted",
    """See fc.numpy.searchsorted: x.searchsorted(v, side="left", sorter=None).

    >>> fc.arange(4).searchsorted(2)
    Array(2, dtype=int64)
    """,
)
_of_numpy(
    "argpartition",
    """See fc.numpy.argpartition: x.argpartition(kth, axis=-1).

    >>> fc.asarray([3, 1, 2]).argpartition(1)[1]
    Array(2, dtype=int64)
    """,
)
_of_numpy(
    "choose",
    """See fc.numpy.choose: x.choose(choices, mode="raise").

    >>> fc.asarray([1, 0]).choose([fc.asarray([1, 2]), fc.asarray([3, 4])], mode="clip")
    Array([3, 2], dtype=int64)
    """,
)
_of_numpy(
    "compress",
    """See fc.numpy.compress: x.compress(condition, axis=None).

    >>> fc.asarray([1, 2, 3]).compress(fc.asarray([True, False, True]))
    Array([1, 3], dtype=int64)
    """,
    place=1,
)


@_method
def _byteswap(self, inplace=False):
    """The array with the bytes of each element in the other order.

    >>> fc.asarray([1, 256], dtype="int16").byteswap()
    Array([256,   1], dtype=int16)
    """
    if inplace:
        raise ValueError("byteswap: arrays are immutable; leave inplace out")
    if self.itemsize == 1:
        return self
    if self.dtype.kind == "c":
        return fc.real(self).byteswap() + 1j * fc.imag(self).byteswap()
    size = self.itemsize
    parts = fc.reshape(fc.view_as(fc.reshape(self, (-1,)), "uint8"), (-1, size))
    return fc.reshape(fc.view_as(fc.reshape(fc.flip(parts, axis=1), (-1,)), self.dtype), self.shape)


@_method
def _on_device_size_in_bytes(self):
    """The bytes that its elements take.

    >>> fc.zeros(2, dtype="float32").on_device_size_in_bytes()
    8
    """
    return self.nbytes


@_method
def _platform(self):
    """The name of the platform of its device.

    >>> fc.zeros(2).platform()
    'cpu'
    """
    return self.device.platform


def _array_namespace(self, /, *, api_version=None):
    """The module `functorch_core`, which implements the Python Array API standard 2024.12."""
    import functorch_core

    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"the Array API version {api_version!r} is not known, 2024.12 is")
    return functorch_core


for _name, _operation in declared_in("Array").items():
    if hasattr(Array, _name):
        raise TypeError(f"Array.{_name} is written here, or inherited, and declared by {_operation}")
    setattr(Array, _name, public(_operation, _name, as_method))
Array.__array_namespace__ = explaining(_array_namespace, "__array_namespace__", as_method)
Array.T = property(
    fc.transpose,
    doc="""The dimensions in reverse order.

    >>> fc.ones((2, 3)).T.shape
    (3, 2)
    """,
)
Array.mT = property(
    fc.matrix_transpose,
    doc="""The matrices, the last two dimensions, transposed.

    >>> fc.ones((4, 2, 3)).mT.shape
    (4, 3, 2)
    """,
)
Array.real = property(
    fc.real,
    doc="""The real part.

    >>> fc.asarray([1 + 2j]).real
    Array([1.], dtype=float32)
    """,
)
Array.imag = property(
    fc.imag,
    doc="""The imaginary part.

    >>> fc.asarray([1 + 2j]).imag
    Array([2.], dtype=float32)
    """,
)
Array.at = property(
    At,
    doc="""Updates by index: see At.

    >>> fc.zeros(3).at[1].set(5.)
    Array([0., 5., 0.], dtype=float32)
    """,
)
