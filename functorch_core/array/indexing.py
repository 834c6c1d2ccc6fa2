"""x[index] and x.at[index] of Arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..core import dtypes as dt
from ..core.explain import MISTAKES, as_function, as_index, explained
from ..core.trace import state
from ..engine import Value, record
from ..ops import indexing as ops
from ..ops import updating
from ..ops.op import strong
from ..ops.signature import SCALARS
from . import functions as fc
from .array import Array, as_value, wrap
from .creation import asarray


def unwrapped(index):
    """An index with values in place of Arrays, also in the bounds of slices."""
    if index.__class__ is Array:
        return strong(index._value)
    if isinstance(index, tuple):
        return tuple([unwrapped(i) for i in index])
    if isinstance(index, list):
        return [unwrapped(i) for i in index]
    if isinstance(index, slice):
        return slice(*[strong(v._value) if v.__class__ is Array else v for v in (index.start, index.stop, index.step)])
    return index


def getitem(self, index):
    """x[index] as in NumPy: ints, slices, None, ..., integer arrays, boolean masks.

    IndexError for an index out of bounds; a traced index array is clipped to the bounds instead.
    Traced boolean masks are a ConcretizationError: the result's size would depend on them.
    """
    try:
        x = self._held
    except AttributeError:
        x = self._value
    try:
        if x.__class__ is Value and state.builder is None:
            call = ops.basic_call(x, index)
            if call is not None:
                return wrap(record(*call))
        return wrap(ops.read(strong(x), unwrapped(index)))
    except MISTAKES as error:
        if has_dynamic(index):
            part, rest, _ = _part_of(self, index)
            return part[rest]
        raise explained(error, lambda: as_index(self, index))


# ---- slices whose start is traced ----------------------------------------------------------------


class DynamicSlice:
    """What fc.ds(start, size, stride) is inside of an index where start is traced."""

    __slots__ = ("start", "size", "stride")

    def __init__(self, start: Array, size: int, stride: int = 1):
        self.start, self.size, self.stride = start, size, stride

    def __repr__(self):
        return f"ds({self.start.aval}, {self.size})"


def has_dynamic(index) -> bool:
    """Whether a part of the index is a DynamicSlice."""
    return any(i.__class__ is DynamicSlice for i in (index if isinstance(index, tuple) else (index,)))


def _part_of(x: Array, index) -> tuple[Array, tuple, list[Array]]:
    """(the part of x inside of all dynamic slices, the index that is left, where the part begins)."""
    items = list(index) if isinstance(index, tuple) else [index]
    taken = [0 if i is None or i is Ellipsis else i.ndim if _is_mask(i) else 1 for i in items]
    starts, sizes, dim = [asarray(0)] * x.ndim, list(x.shape), 0
    for k, item in enumerate(items):
        if item is Ellipsis:
            dim += x.ndim - sum(taken)
        if item.__class__ is DynamicSlice:
            starts[dim] = fc.where(item.start < 0, item.start + x.shape[dim], item.start)
            sizes[dim] = max((item.size - 1) * item.stride + 1, 0)
            items[k] = slice(None, None, item.stride)
        dim += taken[k]
    return fc.dynamic_slice(x, starts, sizes), tuple(items), starts


def _is_mask(item) -> bool:
    return getattr(item, "dtype", None) == np.bool_ and hasattr(item, "ndim")


def _update_part(x: Array, index, name: str, values, mode) -> Array:
    """x.at[index].name(values) where slices have traced starts: what does not lie inside is left out."""
    part, rest, starts = _part_of(x, index)
    inside = True
    for start, size, whole in zip(starts, part.shape, x.shape):
        inside = fc.logical_and(inside, fc.logical_and(start >= 0, start + size <= whole))
    new = fc.dynamic_update_slice(x, getattr(part.at[rest], name)(values, mode=mode), starts)
    return fc.where(inside, new, x)


class At:
    """x.at[index]: the array with some elements changed, as a new array.

    >>> import functorch_core as fc
    >>> fc.zeros(3).at[1].set(5.)
    Array([0., 5., 0.], dtype=float32)

    >>> fc.zeros(3).at[1].set(5.0)
    Array([0., 5., 0.], dtype=float32)
    """

    __slots__ = ("array",)

    def __init__(self, array: Array):
        self.array = array

    def __getitem__(self, index) -> AtIndex:
        return AtIndex(self.array, index)

    def __repr__(self):
        return f"At({self.array!r})"


class AtIndex:
    """x.at[index]: see its methods. Each returns a new array (`get` the elements).

    Elements that index arrays name several times are updated several times (`set`: the last stays).
    mode says what to do with index arrays out of bounds: by default concrete ones are an
    IndexError and traced ones are left out; 'drop' leaves them out, 'clip' moves them inside.
    unique_indices=True lets factors that come by index arrays (multiply, divide, power) have a derivative; what else
    JAX lets one promise of the indices changes nothing.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Array, index):
        self.array, self.index = array, index

    def __repr__(self):
        return f"AtIndex({self.array!r}, {ops.show(self.index)})"

    def get(self, *, indices_are_sorted=False, unique_indices=False, mode=None, fill_value=None) -> Array:
        """x[index]; mode='fill' gives fill_value (NaN by default) out of bounds, 'clip' clips.

        >>> import functorch_core as fc
        >>> fc.asarray([1., 2.]).at[fc.asarray([1, 5])].get(mode="fill", fill_value=0.)
        Array([2., 0.], dtype=float32)
        """
        try:
            return wrap(
                ops.read(
                    as_value(self.array),
                    unwrapped(self.index),
                    mode=getattr(mode, "value", mode),
                    fill_value=fill_value,
                )
            )
        except MISTAKES as error:
            if has_dynamic(self.index):
                return self.array[self.index]
            raise self._explained(error, "get", mode=mode, fill_value=fill_value)

    def set(self, values, *, indices_are_sorted=False, unique_indices=False, mode=None) -> Array:
        """The array with x[index] = values.

        >>> import functorch_core as fc
        >>> fc.zeros(3).at[1:].set(5.)
        Array([0., 5., 5.], dtype=float32)
        """
        return self._update("set", values, mode)

    def add(self, values, *, indices_are_sorted=False, unique_indices=False, mode=None) -> Array:
        """The array with x[index] += values.

        >>> import functorch_core as fc
        >>> fc.zeros(3).at[fc.asarray([0, 0])].add(1.)
        Array([2., 0., 0.], dtype=float32)
        """
        return self._update("add", values, mode)

    def subtract(self, values, *, indices_are_sorted=False, unique_indices=False, mode=None) -> Array:
        """The array with x[index] -= values."""
        return self._update("subtract", values, mode)

    def multiply(self, values, *, indices_are_sorted=False, unique_indices=False, mode=None) -> Array:
        """The array with x[index] *= values."""
        return self._update("multiply", values, mode, unique_indices)

    mul = multiply

    def divide(self, values, *, indices_are_sorted=False, unique_indices=False, mode=None) -> Array:
        """The array with x[index] /= values; one of integers becomes one of floats.

        >>> import functorch_core as fc
        >>> fc.asarray([5, 6]).at[0].divide(2)
        Array([2.5, 6. ], dtype=float32)
        """
        if self.array.dtype in dt.INTEGER:
            return AtIndex(fc.divide(self.array, 1), self.index).divide(values, mode=mode)
        return self._update("divide", values, mode, unique_indices)

    def power(self, values, *, indices_are_sorted=False, unique_indices=False, mode=None) -> Array:
        """The array with x[index] **= values."""
        return self._update("power", values, mode, unique_indices)

    def min(self, values, *, indices_are_sorted=False, unique_indices=False, mode=None) -> Array:
        """The array with x[index] = minimum(x[index], values)."""
        return self._update("min", values, mode)

    def max(self, values, *, indices_are_sorted=False, unique_indices=False, mode=None) -> Array:
        """The array with x[index] = maximum(x[index], values)."""
        return self._update("max", values, mode)

    def apply(self, fun: Callable, *, indices_are_sorted=False, unique_indices=False, mode=None) -> Array:
        """The array with x[index] = fun(x[index]); an element named twice is replaced once.

        >>> import functorch_core as fc
        >>> fc.asarray([1., 4., 9.]).at[1:].apply(fc.sqrt)
        Array([1., 2., 3.], dtype=float32)
        """
        new = fun(self.get(mode=mode))
        return self._update("set", new, mode)

    def _update(self, name: str, given, mode, unique: bool = False) -> Array:
        try:
            return self._updated(name, given, mode, unique)
        except MISTAKES as error:
            if has_dynamic(self.index):
                return _update_part(self.array, self.index, name, given, mode)
            raise self._explained(error, name, given, mode=mode)

    def _explained(self, error: Exception, name: str, *args, **options) -> Exception:
        """The error with the call x.at[index].name(...) in its message."""
        options = {k: v for k, v in options.items() if v is not None}
        return explained(error, lambda: as_function(f"{as_index(self.array, self.index, '.at')}.{name}", args, options))

    def _updated(self, name: str, values, mode, unique: bool) -> Array:
        if isinstance(values, (list, tuple)):
            values = asarray(values)
        values = values if isinstance(values, SCALARS) and not isinstance(values, np.generic) else as_value(values)
        if name == "subtract":
            if isinstance(values, int) and self.array.dtype in dt.UNSIGNED:  # which has no -1
                values = as_value(asarray(values, dtype=self.array.dtype))
            name, values = "add", values if isinstance(values, SCALARS) else wrap(values)
            values = -values
            values = values if isinstance(values, SCALARS) else as_value(values)
        x, index = as_value(self.array), unwrapped(self.index)
        mode = getattr(mode, "value", mode)  # a member of lax.GatherScatterMode
        mode = "drop" if mode == "fill" else mode
        return wrap(updating.update(x, index, values, name=name, mode=mode, unique=bool(unique)))
