"""Functions of functions: along axes, vectorized, and ufuncs."""

from __future__ import annotations

import builtins
import functools
import operator
import re

import numpy as np

import functorch_core as fc

from ..array.compose import as_dtype
from ..core.explain import explaining
from ..ops.promotion import canonical_axis
from .elementwise import as_array


@explaining
def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    """func1d of each vector along an axis, whose result takes its place.

    >>> import functorch_core.numpy as jnp
    >>> jnp.apply_along_axis(jnp.sum, 0, jnp.asarray([[1, 2], [3, 4]]))
    Array([4, 6], dtype=int64)
    """
    arr = as_array(arr)
    axis = canonical_axis(axis, arr.ndim, "apply_along_axis")
    call = functools.partial(_with_options, func1d, args, kwargs)
    for _ in range(arr.ndim - 1):
        call = fc.vmap(call)
    out = call(fc.moveaxis(arr, axis, -1))
    made = out.ndim - (arr.ndim - 1)
    return fc.moveaxis(out, tuple(range(-made, 0)), tuple(range(axis, axis + made))) if made else out


def _with_options(function, args, kwargs, x):
    return function(x, *args, **kwargs)


@explaining
def apply_over_axes(func, a, axes):
    """func(a, axis) for one axis after the other, with the dimensions kept.

    >>> import functorch_core.numpy as jnp
    >>> jnp.apply_over_axes(jnp.sum, jnp.ones((2, 3)), (0, 1))
    Array([[6.]], dtype=float32)
    """
    a = as_array(a)
    for axis in (axes,) if isinstance(axes, int) else axes:
        axis = canonical_axis(axis, a.ndim, "apply_over_axes")
        out = func(a, axis)
        a = fc.expand_dims(out, axis=axis) if out.ndim == a.ndim - 1 else out
    return a


# ---- vectorize -----------------------------------------------------------------------------------

PARTS = r"\s*\(\s*(?:[^\s(),]+\s*(?:,\s*[^\s(),]+\s*)*)?\)\s*"  # one operand's dimensions, in parentheses
SIGNATURE = re.compile(rf"^((?:{PARTS}(?:,{PARTS})*)?)->({PARTS}(?:,{PARTS})*)$")
WRONG_SIGNATURE = "vectorize: {signature!r} is no signature\n    right: '(n,k),(k)->(n)', with a part for each argument"


def _parts(text: str) -> list[tuple[str, ...]]:
    return [tuple(d.strip() for d in part.split(",") if d.strip()) for part in re.findall(r"\(([^)]*)\)", text)]


def vectorize(pyfunc, *, excluded=frozenset(), signature=None):
    """A function of arrays that broadcasts what pyfunc does with single elements, by vmap.

    signature: the dimensions that pyfunc itself takes and gives, as "(n,k),(k)->(n)".
    excluded: positions and names of arguments that are passed on as they are.

    >>> import functorch_core.numpy as jnp
    >>> f = jnp.vectorize(jnp.dot, signature="(n),(n)->()")
    >>> f(jnp.ones((3, 2)), jnp.asarray([1., 2.]))
    Array([3., 3., 3.], dtype=float32)
    """
    excluded = frozenset(excluded)
    found = None
    if signature is not None:
        match = SIGNATURE.match(signature)
        if match is None:
            raise ValueError(WRONG_SIGNATURE.format(signature=signature))
        found = _parts(match[1]), _parts(match[2])

    @functools.wraps(pyfunc)
    def call(*args, **kwargs):
        fixed = dict(kwargs)
        places = [i for i in range(len(args)) if i not in excluded]

        def inner(*arrays):
            full = list(args)
            for i, x in zip(places, arrays):
                full[i] = x
            return pyfunc(*full, **fixed)

        return _vectorized(inner, [as_array(args[i]) for i in places], found)

    return call


def _vectorized(inner, arrays: list, signature):
    """inner of the arrays, mapped over the dimensions in front of those in the signature."""
    core = [len(dims) for dims in signature[0]] if signature else [0] * len(arrays)
    if len(core) != len(arrays):
        raise TypeError(f"vectorize: the signature has {len(core)} arguments, the call {len(arrays)}")
    sizes = _check_sizes(arrays, signature)
    if signature:
        inner = _checking_results(inner, signature[1], sizes)
    leads = [x.shape[: x.ndim - n] for x, n in zip(arrays, core)]
    lead = np.broadcast_shapes(*leads)
    for axis in builtins.reversed(range(len(lead))):
        here = [_size_at(s, len(lead), axis) for s in leads]
        if all(n is None for n in here):
            continue
        inner = fc.vmap(
            _squeezing(inner, here, lead[axis]), in_axes=tuple(0 if _maps(n, lead[axis]) else None for n in here)
        )
    return inner(*arrays)


def _check_sizes(arrays, signature) -> dict[str, int]:
    """The sizes of the named dimensions; ValueError if an argument does not fit."""
    sizes: dict[str, int] = {}
    for x, dims in zip(arrays, signature[0] if signature else ()):
        if x.ndim < len(dims):
            raise ValueError(f"vectorize: an argument, {x.aval}, has fewer dimensions than ({','.join(dims)})")
        for name, n in zip(dims, x.shape[x.ndim - len(dims) :]):
            if sizes.setdefault(name, n) != n:
                raise ValueError(f"vectorize: the dimension {name} is of size {sizes[name]} and of size {n}")
    return sizes


def _checking_results(inner, wanted, sizes: dict[str, int]):
    """inner, whose results have the dimensions that the signature says; ValueError if they do not."""

    def call(*arrays):
        found = inner(*arrays)
        results = found if isinstance(found, tuple) else (found,)
        if len(results) != len(wanted):
            raise ValueError(f"vectorize: the signature has {len(wanted)} results, the function gave {len(results)}")
        known = dict(sizes)
        for x, dims in zip(results, wanted):
            shape = np.shape(x)
            if len(shape) != len(dims) or any(known.setdefault(d, n) != n for d, n in zip(dims, shape)):
                shown = ", ".join(f"{d}={sizes[d]}" if d in sizes else d for d in dims)
                raise ValueError(f"vectorize: a result has shape {shape}, the signature says ({shown})")
        return found

    return call


def _size_at(shape, ndim: int, axis: int):
    """The size of a broadcast dimension in a shape that may have fewer; None if it is not there."""
    place = axis - (ndim - len(shape))
    return shape[place] if place >= 0 else None


def _maps(n, size: int) -> bool:
    return n is not None and not (n == 1 and size != 1)


def _squeezing(inner, here, size: int):
    """inner, with leading dimensions of size 1 of arguments that are not mapped taken away."""

    def call(*arrays):
        return inner(*[x if n is None or _maps(n, size) else fc.squeeze(x, axis=0) for x, n in zip(arrays, here)])

    return call


# ---- ufuncs --------------------------------------------------------------------------------------


class ufunc:
    """An elementwise function of arrays with reduce, accumulate, at, outer and reduceat.

    >>> import functorch_core.numpy as jnp
    >>> add = jnp.frompyfunc(lambda x, y: x + y, 2, 1, identity=0)
    >>> add.reduce(jnp.asarray([1, 2, 3])), add.outer(jnp.asarray([1, 2]), jnp.asarray([10]))
    (Array(6, dtype=int64), Array([[11],
           [12]], dtype=int64))
    """

    def __init__(self, func, /, nin, nout, *, name=None, nargs=None, identity=None):
        self.nin, self.nout, self.nargs, self.identity = nin, nout, nargs or nin + nout, identity
        self.__name__ = name or getattr(func, "__name__", "ufunc")
        self.__doc__ = func.__doc__
        self._function = func

    def __repr__(self):
        return f"<ufunc {self.__name__}>"

    def __call__(self, *args, **kwargs):
        if len(args) != self.nin:
            raise TypeError(f"{self.__name__} takes {self.nin} arguments, got {len(args)}")
        return self._function(*args, **kwargs)

    def _needs_two(self, name: str):
        if self.nin != 2 or self.nout != 1:
            raise ValueError(f"{name} is of functions of two arrays, {self.__name__} is of {self.nin}")

    def reduce(self, a, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=None):
        """The elements along an axis (None: all; a tuple: several) combined one after the other."""
        self._needs_two("reduce")
        a = as_array(a) if dtype is None else as_dtype(a, dtype)
        axes = range(a.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
        axes = sorted(canonical_axis(d, a.ndim, "reduce") for d in axes)
        if where is not None:
            if self.identity is None and initial is None:
                raise ValueError(f"{self.__name__}.reduce with a mask needs an initial value")
            start = self.identity if initial is None else initial
            a = fc.where(where, a, fc.asarray(self.identity if self.identity is not None else start).astype(a.dtype))
        rest = [d for d in range(a.ndim) if d not in axes]
        shape = tuple(1 if d in axes else n for d, n in enumerate(a.shape) if keepdims or d not in axes)
        rows = fc.reshape(fc.permute_dims(a, (*axes, *rest)), (-1, *[a.shape[d] for d in rest]))
        return fc.reshape(self._folded(rows, initial), shape)

    def _folded(self, rows, initial):
        start = self.identity if initial is None else initial
        if start is None:
            if not rows.shape[0]:
                raise ValueError(f"{self.__name__}.reduce of no elements: it has no identity, give an initial value")
            start, rows = rows[0], rows[1:]
        start = fc.broadcast_to(as_dtype(start, rows.dtype), rows.shape[1:])
        first = self(start, rows[0]) if rows.shape[0] else start
        if not rows.shape[0]:
            return first
        return fc.scan(lambda total, x: (self(total, x), None), first, rows[1:])[0]

    def accumulate(self, a, axis=0, dtype=None, out=None):
        """The elements along an axis combined with all before them."""
        self._needs_two("accumulate")
        a = as_array(a) if dtype is None else as_dtype(a, dtype)
        rows = fc.moveaxis(a, canonical_axis(axis, a.ndim, "accumulate"), 0)

        def step(total, x):
            total = self(total, x)
            return total, total

        rest = fc.scan(step, rows[0], rows[1:])[1]
        return fc.moveaxis(fc.concat([rows[:1], rest], axis=0), 0, axis)

    def outer(self, A, B, /):
        """The function of all pairs: of shape A.shape + B.shape."""
        self._needs_two("outer")
        A, B = as_array(A), as_array(B)
        return self(fc.reshape(A, A.shape + (1,) * B.ndim), B)

    def at(self, a, indices, b=None, /, *, inplace=True):
        """The array with the function of the elements at indices (and of b) there; inplace=False is needed."""
        if inplace:
            raise NotImplementedError("ufunc.at: arrays are immutable; x = f.at(x, i, y, inplace=False)")
        a = as_array(a)
        if self.nin == 1:
            return a.at[indices].apply(self)
        indices = as_array(indices)
        b = fc.broadcast_to(as_dtype(b, a.dtype), (*indices.shape, *a.shape[1:]))

        def step(a, pair):
            i, value = pair
            return a.at[i].set(self(a[i], value)), None

        return fc.scan(step, a, (fc.ravel(indices), fc.reshape(b, (-1, *a.shape[1:]))))[0]

    def reduceat(self, a, indices, axis=0, dtype=None, out=None):
        """The elements from each index up to the next one combined, along an axis; known indices."""
        self._needs_two("reduceat")
        a = fc.moveaxis(as_array(a), axis, 0)
        places = [*map(int, np.asarray(indices)), a.shape[0]]
        parts = [self.reduce(a[i + 1 : j], initial=a[i]) for i, j in zip(places, [*places[1:-1], a.shape[0]])]
        return fc.moveaxis(fc.stack(parts[: len(places) - 1]), 0, axis)


def frompyfunc(func, /, nin, nout, *, identity=None):
    """A ufunc of a function of single elements, which is mapped over arrays.

    >>> import functorch_core.numpy as jnp
    >>> jnp.frompyfunc(lambda x, y: 10 * x + y, 2, 1)(jnp.asarray([1, 2]), 3)
    Array([13, 23], dtype=int64)
    """
    out = ufunc(vectorize(func), operator.index(nin), operator.index(nout), name=func.__name__, identity=identity)
    out.__doc__ = func.__doc__
    return out


def _ufunc(name: str, identity=None) -> ufunc:
    return ufunc(getattr(fc, name), 2, 1, name=name, identity=identity)


add, multiply, subtract = _ufunc("add", 0), _ufunc("multiply", 1), _ufunc("subtract")
logical_and, logical_or, logical_xor = (
    _ufunc("logical_and", True),
    _ufunc("logical_or", False),
    _ufunc("logical_xor", False),
)
bitwise_and, bitwise_or, bitwise_xor = _ufunc("bitwise_and", -1), _ufunc("bitwise_or", 0), _ufunc("bitwise_xor", 0)
maximum, minimum, logaddexp = _ufunc("maximum"), _ufunc("minimum"), _ufunc("logaddexp", -float("inf"))
negative = ufunc(fc.negative, 1, 1, name="negative")

__all__ = [
    "add", "apply_along_axis", "apply_over_axes", "bitwise_and", "bitwise_or", "bitwise_xor", "frompyfunc",
    "logaddexp", "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative",
    "subtract", "ufunc", "vectorize",
]  # fmt: skip
