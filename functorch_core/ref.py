"""jax.ref: mutable references, as functions; see fc.new_ref."""

from __future__ import annotations

from .array.refs import Ref, empty_ref, free_ref, freeze, new_ref
from .core.explain import explaining


@explaining
def get(ref: Ref, idx=None):
    """ref[idx], or the whole array.

    >>> import functorch_core as fc
    >>> fc.ref.get(fc.new_ref(fc.arange(3)), 1)
    Array(1, dtype=int64)
    """
    return ref[... if idx is None else idx]


@explaining
def set(ref: Ref, idx, value):
    """ref[idx] = value; None for the whole array.

    >>> import functorch_core as fc
    >>> ref = fc.new_ref(fc.zeros(2))
    >>> fc.ref.set(ref, 0, 5.)
    >>> ref
    Ref([5., 0.], dtype=float32)
    """
    ref[... if idx is None else idx] = value


@explaining
def swap(ref: Ref, idx, value):
    """ref[idx] = value; what was there before.

    >>> import functorch_core as fc
    >>> fc.ref.swap(fc.new_ref(fc.arange(3)), 2, 7)
    Array(2, dtype=int64)
    """
    before = get(ref, idx)
    set(ref, idx, value)
    return before


@explaining
def addupdate(ref: Ref, idx, x):
    """ref[idx] += x; None for the whole array.

    >>> import functorch_core as fc
    >>> ref = fc.new_ref(fc.zeros(2))
    >>> fc.ref.addupdate(ref, None, 1.)
    >>> ref[...]
    Array([1., 1.], dtype=float32)
    """
    ref.addupdate(x, ... if idx is None else idx)


__all__ = ["Ref", "addupdate", "empty_ref", "free_ref", "freeze", "get", "new_ref", "set", "swap"]
