"""Mutable references by JAX's names: a name for an array that is replaced, inside of the function that made it."""

from __future__ import annotations

from ..core.explain import explaining
from ..core.trace import state
from .array import Array
from .creation import asarray, zeros
from .indexing import At

ELSEWHERE = """{what} of a reference that was made outside of the function that is traced, or the loop's body.
    It would be {would}.
    Read it before and pass the array on: x = ref[...]; carry what changes through fc.scan, and give it back."""
FREED = "the reference was {how}, and has no array any more: make another one with fc.new_ref(...)"
NOT_A_REF = "{name} takes what fc.new_ref made, got {kind}"


class Ref:
    """An array by reference: ref[...] reads, ref[i] = y and ref[...] += y replace it.

    It lives in one function, or outside of all: in one that is traced (by fc.jit, or as the body of a loop)
    references of others are neither read nor written to, which is a TypeError, and none is an argument.

    >>> import functorch_core as fc
    >>> ref = fc.new_ref(fc.zeros(2))
    >>> ref[0] = 3.
    >>> ref[...] += 1.
    >>> fc.freeze(ref)
    Array([4., 1.], dtype=float32)
    """

    __slots__ = ("_array", "_builder", "_gone")
    __hash__ = None

    def __init__(self, array: Array):
        self._array, self._builder, self._gone = array, state.builder, ""

    def _here(self, what: str, would: str) -> Array:
        if self._gone:
            raise ValueError(FREED.format(how=self._gone))
        if state.builder is not self._builder:
            raise TypeError(ELSEWHERE.format(what=what, would=would))
        return self._array

    shape = property(lambda self: self._array.shape, doc="The shape of the array.")
    dtype = property(lambda self: self._array.dtype, doc="The dtype of the array.")
    ndim = property(lambda self: self._array.ndim, doc="How many dimensions the array has.")
    size = property(lambda self: self._array.size, doc="How many elements the array has.")

    def __getitem__(self, index) -> Array:
        array = self._here("a read", "the array of the first call, at every call")
        return array if index is Ellipsis else array[index]

    def __setitem__(self, index, value):
        array = self._here("a write", "forgotten after the first call")
        self._array = array.at[index].set(value)

    get = __getitem__
    set = __setitem__

    def addupdate(self, value, index=...):
        """ref[index] += value."""
        self._array = self._here("a write", "forgotten after the first call").at[index].add(value)

    @property
    def at(self) -> At:
        """What ref[...].at is: elements changed in a new array."""
        return self._here("a read", "the array of the first call, at every call").at

    def __repr__(self):
        return f"Ref{self._array!r}".replace("Array", "", 1)


@explaining
def new_ref(init_val, *, memory_space=None, kind=None) -> Ref:
    """A reference to an array, which can be replaced; see Ref. memory_space and kind are JAX's hints.

    >>> import functorch_core as fc
    >>> @fc.jit
    ... def powers(x):
    ...     ref = fc.new_ref(fc.ones(3))
    ...     for i in range(1, 3):
    ...         ref[i] = ref[i - 1] * x
    ...     return ref[...]
    >>> powers(2.)
    Array([1., 2., 4.], dtype=float32)
    """
    return Ref(asarray(init_val))


@explaining
def empty_ref(ty, memory_space=None) -> Ref:
    """A reference to an array of zeros, of a shape and dtype: fc.ShapeDtypeStruct.

    >>> import functorch_core as fc
    >>> fc.empty_ref(fc.ShapeDtypeStruct((2,), fc.float32))[...]
    Array([0., 0.], dtype=float32)
    """
    return Ref(zeros(ty.shape, dtype=ty.dtype))


@explaining
def freeze(ref: Ref) -> Array:
    """The final array of a reference, which cannot be used any more.

    >>> import functorch_core as fc
    >>> fc.freeze(fc.new_ref(1.))
    Array(1., dtype=float32)
    """
    return _ended(ref, "freeze", "frozen")


@explaining
def free_ref(ref: Ref):
    """End a reference: it cannot be used any more.

    >>> import functorch_core as fc
    >>> fc.free_ref(fc.new_ref(1.))
    """
    _ended(ref, "free_ref", "freed")


def _ended(ref: Ref, name: str, how: str) -> Array:
    if not isinstance(ref, Ref):
        raise TypeError(NOT_A_REF.format(name=name, kind=type(ref).__name__))
    array = ref._here("the end", "forgotten after the first call")
    ref._gone = how
    return array


__all__ = ["Ref", "empty_ref", "free_ref", "freeze", "new_ref"]
