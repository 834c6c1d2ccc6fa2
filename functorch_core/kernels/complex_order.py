"""Complex numbers in order: by their real parts, equal ones by their imaginary parts."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from .values import Derived, aval_of, dt, full_like, p, spread, total


def by_parts(compare: Callable) -> Callable:
    """A comparison of real numbers, and of complex ones in their order; NaN as the comparison has it."""

    def apply(x, y):
        if aval_of(x).dtype not in dt.COMPLEX:
            return compare(x, y)
        (a, b), (c, d) = ((p.real(v), p.imag(v)) for v in (x, y))
        return p.select(p.eq(a, c), compare(b, d), compare(a, c))

    return apply


def extreme_of_two(real: Callable, compare: Callable) -> Callable:
    """p.max or p.min, and of complex numbers x where it compares so with y, else y: NaN of x alone is lost.

    Equal ones share the derivative.
    """
    wins = by_parts(compare)

    def share(t, own, other, out):
        return p.select(p.eq(own, out), p.select(p.eq(other, out), p.mul(t, 0.5), t), p.zeros(aval_of(t)))

    ordered = Derived(
        lambda x, y: p.select(wins(x, y), x, y),
        lambda t, x, y, out: share(t, x, y, out),
        lambda t, x, y, out: share(t, y, x, out),
    )
    return lambda x, y: (ordered if aval_of(x).dtype in dt.COMPLEX else real)(x, y)


def extreme_over(reduce: Callable) -> Callable:
    """p.reduce_max or p.reduce_min, and of complex numbers the one whose parts it chooses, one after the other.

    It is NaN if a real part is. Equal ones share the derivative.
    """
    last = -math.inf if reduce is p.reduce_max else math.inf

    @functools.cache
    def of_complex(axes: tuple[int, ...]) -> Derived:
        def value(x):
            real, imag = p.real(x), p.imag(x)
            first = reduce(real, axes=axes)
            among = p.eq(real, spread(first, aval_of(x).shape, axes))
            second = reduce(p.select(among, imag, full_like(imag, last)), axes=axes)
            return p.complex(first, p.select(p.ne(first, first), first, second))

        def tangent(t, x, out):
            ties = p.eq(x, spread(out, aval_of(x).shape, axes))
            count = total(p.convert(ties, dtype=aval_of(out).dtype), axes)
            return p.div(total(p.select(ties, t, p.zeros(aval_of(t))), axes), count)

        return Derived(value, tangent)

    return lambda x, *, axes: of_complex(axes)(x) if aval_of(x).dtype in dt.COMPLEX else reduce(x, axes=axes)
