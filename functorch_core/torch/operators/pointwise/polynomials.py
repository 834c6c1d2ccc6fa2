"""Orthogonal polynomials of torch.special, each element of its own degree.

Low degrees go by the recurrence p[k+1] = step(k, x, p[k], p[k-1]), which ends where every element has come to its
degree or is NaN. A degree is any number, and a user cannot leave a loop that runs for hours: Chebyshev's are closed
forms from a degree on, as in PyTorch, and what is of a degree above LONGEST follows from asymptotics, which are
closer to the polynomials than as many roundings. They have no derivatives, as in PyTorch.
"""

from __future__ import annotations

import math

import numpy as np

from .... import primitives as p
from ....core import dtypes as dt
from ....transforms.custom import stop_gradient
from ....transforms.while_loop import while_loop
from ...dispatch.slots import Operand
from .. import declaring as d
from ..declaring import binary, like, widened
from .special import SPECIAL

LONGEST = 1 << 14
"""The highest degree a recurrence is followed to."""


def _polynomial(name: str, first, step, closed, doc: str, example: str, change=lambda x: x):
    """A declaration of one: first(x) is the polynomial of degree 1, and `change` maps the operand beforehand.

    closed(x, n) says of degrees above 1 where they do without the recurrence, and the values there.
    """

    def apply(x, n):
        x, n = change(stop_gradient(x)), p.trunc(stop_gradient(n))
        counts = p.and_(p.ge(n, 0), p.lt(n, 2.0**63))  # others, NaN too, are negative where C makes them integers
        n = p.select(counts, n, like(n, -1))
        known, value = closed(x, n)
        known = p.and_(known, p.gt(n, 1))
        value = p.select(known, value, _followed(x, p.select(known, like(n, 0), n), first, step))
        return p.select(p.lt(n, 0), like(x, 0), p.select(p.eq(n, 0), like(x, 1), value))

    return binary(
        f"special_{name}",
        widened(apply),
        doc,
        left=Operand,
        right=Operand,
        floats=True,
        dtypes=d.FLOATS,
        kernel=f"{name}_cpu",
        example=example,
        **SPECIAL,
    )


def _followed(x, n, first, step):
    """The polynomial of degree n by its recurrence, from degree 1."""
    axes = tuple(range(x.aval.ndim))

    def some_left(k, previous, current):
        return p.reduce_or(p.and_(p.gt(n, like(n, k)), p.eq(current, current)), axes=axes)

    def advance(k, previous, current):
        following = step(like(x, k), x, current, previous)
        going = p.gt(n, like(n, k))
        return [p.add(k, 1), p.select(going, current, previous), p.select(going, following, current)]

    return while_loop(some_left, advance, [p.constant(np.ones((), x.aval.dtype)), like(x, 1), first(x)])[2]


def _double(x):
    return p.mul(x, 2)


def _odd(k):
    return p.add(_double(k), 1)


def _alternating(n):
    """-1 to the power of n."""
    return p.sub(1, _double(p.sub(n, _double(p.floor(p.mul(n, 0.5))))))


def _in_range(x):
    """x; NaN where it is too large, as the difference of infinite values is that a recurrence makes of it."""
    return p.select(p.lt(p.abs(x), math.inf), x, like(x, math.nan))


# ---- Chebyshev's ---------------------------------------------------------------------------------

_CHEBYSHEV = {  # kind: that of degree 1, and of degree 2 at 1 / 2; of degree n at cos(t), at cosh(t), at 1; at -x
    "t": (
        lambda x: x,
        "-0.5000",
        lambda n, t: p.cos(p.mul(n, t)),
        lambda n, t: p.cosh(p.mul(n, t)),
        lambda n: like(n, 1),
        "t",
    ),
    "u": (
        _double,
        "0.",
        lambda n, t: p.div(p.sin(p.mul(p.add(n, 1), t)), p.sin(t)),
        lambda n, t: p.div(p.sinh(p.mul(p.add(n, 1), t)), p.sinh(t)),
        lambda n: p.add(n, 1),
        "u",
    ),
    "v": (
        lambda x: p.sub(_double(x), 1),
        "-1.",
        lambda n, t: p.div(p.cos(p.mul(p.add(n, 0.5), t)), p.cos(p.mul(t, 0.5))),
        lambda n, t: p.div(p.cosh(p.mul(p.add(n, 0.5), t)), p.cosh(p.mul(t, 0.5))),
        lambda n: like(n, 1),
        "w",
    ),
    "w": (
        _odd,
        "1.",
        lambda n, t: p.div(p.sin(p.mul(p.add(n, 0.5), t)), p.sin(p.mul(t, 0.5))),
        lambda n, t: p.div(p.sinh(p.mul(p.add(n, 0.5), t)), p.sinh(p.mul(t, 0.5))),
        _odd,
        "v",
    ),
}


def _chebyshev_step(k, x, current, previous):
    return p.sub(p.mul(_double(x), current), previous)


def _shift(x):
    """[0, 1] to [-1, 1]."""
    return p.sub(_double(x), 1)


def _from_one(kind: str, n, size):
    """That of degree n at size >= 1."""
    _, _, _, outside, at_one, _ = _CHEBYSHEV[kind]
    one = p.eq(size, 1)
    return p.select(one, at_one(n), _in_range(outside(n, p.acosh(p.select(one, like(size, 2), size)))))


def _chebyshev(kind: str, shifted: bool = False):
    prefix = "shifted_" if shifted else ""
    first, value, inside, _, _, mirrored = _CHEBYSHEV[kind]

    def closed(x, n):
        size = p.abs(x)
        within = p.lt(size, 1)
        beyond = p.select(p.gt(x, 0), _from_one(kind, n, size), p.mul(_alternating(n), _from_one(mirrored, n, size)))
        known = p.or_(p.and_(within, p.gt(n, 8)), p.or_(p.eq(size, 1), p.gt(n, LONGEST)))
        return known, p.select(within, inside(n, p.acos(p.select(within, x, like(x, 0)))), beyond)

    return _polynomial(
        f"{prefix}chebyshev_polynomial_{kind}",
        first,
        _chebyshev_step,
        closed,
        f"The {'shifted ' * shifted}Chebyshev polynomial {kind.upper()} of degree n.",
        f"[{0.75 if shifted else 0.5}], [2.] -> [{value}]",
        _shift if shifted else lambda x: x,
    )


chebyshev_polynomial_t = _chebyshev("t")
chebyshev_polynomial_u = _chebyshev("u")
chebyshev_polynomial_v = _chebyshev("v")
chebyshev_polynomial_w = _chebyshev("w")
shifted_chebyshev_polynomial_t = _chebyshev("t", True)
shifted_chebyshev_polynomial_u = _chebyshev("u", True)
shifted_chebyshev_polynomial_v = _chebyshev("v", True)
shifted_chebyshev_polynomial_w = _chebyshev("w", True)

# ---- Hermite's -----------------------------------------------------------------------------------


def _too_high(x, n):
    """PyTorch gives them up above a degree at which they are too large for the dtype."""
    return p.gt(n, 128 if x.aval.dtype == dt.float32 else 512), like(x, math.nan)


hermite_polynomial_h = _polynomial(
    "hermite_polynomial_h",
    _double,
    lambda k, x, current, previous: _double(p.sub(p.mul(x, current), p.mul(k, previous))),
    _too_high,
    "The physicists' Hermite polynomial of degree n.",
    "[0.5], [2.] -> [-1.]",
)
hermite_polynomial_he = _polynomial(
    "hermite_polynomial_he",
    lambda x: x,
    lambda k, x, current, previous: p.sub(p.mul(x, current), p.mul(k, previous)),
    _too_high,
    "The probabilists' Hermite polynomial of degree n.",
    "[0.5], [2.] -> [-0.7500]",
)

# ---- Laguerre's and Legendre's -------------------------------------------------------------------


def _asymptotic(of_high_degree, same, value):
    """The closed form of one whose values are value(x, n) where same(x), and of_high_degree(x, n) above LONGEST.

    That is computed in float64: what it takes a cosine of is as large as the degree.
    """

    def closed(x, n):
        high = of_high_degree(*[p.convert(v, dtype=dt.float64) for v in (x, n)])
        at = same(x)
        high = p.convert(_in_range(high), dtype=x.aval.dtype)
        return p.or_(at, p.gt(n, LONGEST)), p.select(at, value(x, n), _in_range(high))

    return closed


def _root_of_ratio(a, b):
    return p.sqrt(p.div(a, b))


def _laguerre_high(x, n):
    """DLMF 18.15.17 with the first term of each sum; x is less than 4 n + 2 where exp(x / 2) is no infinity."""
    scale = p.add(p.mul(n, 4), 2)
    y = p.div(p.abs(x), scale)
    positive = p.gt(x, 0)
    rest = p.select(positive, p.sub(1, y), p.add(1, y))
    ratio = p.mul(p.sign(x), p.div(y, rest))
    arc = p.select(positive, p.asin(p.sqrt(p.min(y, like(y, 1)))), p.asinh(p.sqrt(y)))
    xi = p.mul(p.add(p.sqrt(p.mul(y, rest)), arc), 0.5)
    inner = p.add(-0.125, p.mul(ratio, p.add(0.25, p.mul(ratio, 5 / 24))))
    first = p.mul(p.add(0.125, p.mul(p.mul(xi, _root_of_ratio(rest, y)), inner)), -0.5)
    z = p.mul(scale, xi)
    bessel_0 = p.select(positive, p.bessel_j0(z), p.bessel_i0e(z))
    bessel_1 = p.select(positive, p.bessel_j1(z), p.bessel_i1e(z))
    size = p.mul(
        p.exp(p.add(p.mul(x, 0.5), p.select(positive, like(z, 0), z))), _root_of_ratio(xi, p.sqrt(p.mul(y, rest)))
    )
    return p.mul(size, p.add(bessel_0, p.mul(first, p.div(bessel_1, z))))


def _legendre_high(x, n):
    """DLMF 14.15.11 for |x| < 1 and 14.15.13 beyond, with their next terms; -x by the parity of n."""
    size, degree = p.abs(x), p.add(n, 0.5)
    within = p.lt(size, 1)
    angle = p.select(
        within, p.acos(p.select(within, size, like(size, 0))), p.acosh(p.select(within, like(size, 2), size))
    )
    sine = p.select(within, p.sin(angle), p.sinh(angle))
    cosine_part = p.mul(angle, p.div(size, sine))
    z = p.mul(degree, angle)
    bessel_0 = p.select(within, p.bessel_j0(z), p.bessel_i0e(z))
    bessel_1 = p.select(within, p.bessel_j1(z), p.bessel_i1e(z))
    first = p.div(p.mul(p.sub(1, cosine_part), bessel_1), p.mul(p.mul(angle, 8), degree))
    out = p.mul(p.mul(_root_of_ratio(angle, sine), p.sub(bessel_0, first)), p.select(within, like(z, 1), p.exp(z)))
    return p.select(p.lt(x, 0), p.mul(_alternating(n), out), out)


laguerre_polynomial_l = _polynomial(
    "laguerre_polynomial_l",
    lambda x: p.sub(1, x),
    lambda k, x, current, previous: p.div(p.sub(p.mul(p.sub(_odd(k), x), current), p.mul(k, previous)), p.add(k, 1)),
    _asymptotic(_laguerre_high, lambda x: p.eq(x, 0), lambda x, n: like(x, 1)),
    "The Laguerre polynomial of degree n.",
    "[0.5], [2.] -> [0.1250]",
)
legendre_polynomial_p = _polynomial(
    "legendre_polynomial_p",
    lambda x: x,
    lambda k, x, current, previous: p.div(p.sub(p.mul(p.mul(_odd(k), x), current), p.mul(k, previous)), p.add(k, 1)),
    _asymptotic(
        _legendre_high, lambda x: p.eq(p.abs(x), 1), lambda x, n: p.select(p.gt(x, 0), like(x, 1), _alternating(n))
    ),
    "The Legendre polynomial of degree n.",
    "[0.5], [2.] -> [-0.1250]",
)
