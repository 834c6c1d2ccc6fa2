"""associative_scan: all prefixes of an associative operation, in logarithmically many steps."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.aval import aval_of
from ..core.types import Function, Value
from ..primitives import concatenate, expand_dims, reshape, slice_in_dim
from ..primitives import reverse as flip
from .nested import avals_of, check_avals, listed


def associative_scan(fun: Function, xs: Sequence[Value], *, axis: int = 0, reverse: bool = False) -> list[Value]:
    """The prefixes of xs under fun(a, b) -> c along `axis`: x0, fun(x0, x1), ...

    xs is a sequence of values of one length n along the axis; a, b and c are lists of slices of
    them, any number of elements along the axis at once. fun must be associative and elementwise
    along the axis. It is called about 2 log2(n) times.
    """
    xs = list(xs)
    lengths = {aval_of(x).shape[axis] if axis < aval_of(x).ndim else None for x in xs}
    if len(lengths) != 1 or None in lengths:
        raise ValueError(
            f"associative_scan along axis {axis} takes arrays of one length there, got {listed(map(aval_of, xs))}"
        )
    if reverse:
        return _flipped(associative_scan(fun, _flipped(xs, axis), axis=axis), axis)
    return _prefixes(fun, xs, axis)


def _flipped(xs: Sequence[Value], axis: int) -> list[Value]:
    return [flip(x, dims=(axis,)) for x in xs]


def _prefixes(fun: Function, xs: list[Value], axis: int) -> list[Value]:
    """Pair up neighbours, solve the half as long problem, fill the places between (Blelloch)."""
    n = aval_of(xs[0]).shape[axis]
    if n < 2:
        return xs
    pairs = _apply(fun, _every_other(xs, 0, n - 1, axis), _every_other(xs, 1, n, axis))
    odd = _prefixes(fun, pairs, axis)
    before = odd if n % 2 else [slice_in_dim(x, start=0, limit=n // 2 - 1, dimension=axis) for x in odd]
    even = _every_other(xs, 2, n, axis)
    if n > 2:
        even = _apply(fun, before, even)
    first = [slice_in_dim(x, start=0, limit=1, dimension=axis) for x in xs]
    even = [concatenate(f, e, dimension=axis) for f, e in zip(first, even)]
    return [_interleave(e, o, axis) for e, o in zip(even, odd)]


def _apply(fun: Function, a: list[Value], b: list[Value]) -> list[Value]:
    out = list(fun(a, b))
    check_avals(
        "associative_scan: what the function returns", avals_of(out), avals_of(a), "It must keep shapes and dtypes."
    )
    return out


def _every_other(xs: list[Value], start: int, limit: int, axis: int) -> list[Value]:
    return [slice_in_dim(x, start=start, limit=limit, stride=2, dimension=axis) for x in xs]


def _interleave(a: Value, b: Value, axis: int) -> Value:
    """a0, b0, a1, b1, ...: a has as many elements as b, or one more."""
    n, m = aval_of(a).shape[axis], aval_of(b).shape[axis]
    both = slice_in_dim(a, start=0, limit=m, dimension=axis)
    pairs = concatenate(*(expand_dims(x, dims=(axis + 1,)) for x in (both, b)), dimension=axis + 1)
    shape = aval_of(b).shape
    out = reshape(pairs, shape=(*shape[:axis], 2 * m, *shape[axis + 1 :]))
    if n == m:
        return out
    return concatenate(out, slice_in_dim(a, start=m, limit=n, dimension=axis), dimension=axis)
