"""jax.scipy.optimize: minimisation by BFGS, compiled as one loop."""

from __future__ import annotations

from typing import NamedTuple

import functorch_core as fc

from ..array.compose import missing_name
from ..core.explain import explaining
from ..numpy.elementwise import floats

METHODS = "minimize: method is 'BFGS' (or 'l-bfgs-experimental-do-not-rely-on-this', which is the same), got {method!r}"
STEPS = 40  # of a line search


class OptimizeResults(NamedTuple):
    """What minimize gives: the place, whether it converged, the value, gradient and counts."""

    x: object
    success: object
    status: object
    fun: object
    jac: object
    hess_inv: object
    nfev: object
    njev: object
    nit: object


class _State(NamedTuple):
    x: object
    value: object
    slope: object
    inverse: object
    steps: object
    calls: object
    done: object
    failed: object


@explaining
def minimize(fun, x0, args=(), *, method, tol=None, options=None) -> OptimizeResults:
    """The vector x that minimises fun(x, *args), from x0 on, by gradients.

    method: 'BFGS'. tol (or options gtol) is how small the gradient becomes, 1e-5 by default; options:
    maxiter (200 times the size), norm (of the gradient, inf).

    >>> from functorch_core.scipy import optimize
    >>> import functorch_core as fc
    >>> optimize.minimize(lambda x: ((x - 3) ** 2).sum(), fc.zeros(2), method="BFGS").x.round(3)
    Array([3., 3.], dtype=float32)
    """
    if not isinstance(args, tuple):
        raise TypeError(f"minimize: args is a tuple, got {type(args).__name__}: minimize(f, x0, args=(a,), ...)")
    if method.lower() not in ("bfgs", "l-bfgs-experimental-do-not-rely-on-this"):
        raise ValueError(METHODS.format(method=method))
    options = dict(options or {})
    x0 = floats(x0)
    if x0.ndim != 1:
        raise ValueError(f"minimize takes a vector x0, got {x0.aval}; see flatten_util.ravel_pytree")
    gtol = float(options.pop("gtol", 1e-5 if tol is None else tol))
    limit = options.pop("maxiter", None)
    limit = 200 * x0.size if limit is None else int(limit)
    return _bfgs(lambda x: fun(x, *args), x0, gtol, limit, options.pop("norm", float("inf")))


def _bfgs(fun, x0, gtol: float, limit: int, order) -> OptimizeResults:
    both = fc.value_and_grad(fun)
    value, slope = both(x0)
    one = fc.asarray(1)
    start = _State(
        x0, value, slope, fc.eye(x0.size, dtype=x0.dtype), fc.asarray(0), one,
        fc.linalg.norm(slope, order) < gtol, fc.asarray(False),
    )  # fmt: skip

    def unfinished(s):
        return ~s.done & ~s.failed & (s.steps < limit)

    def step(s):
        direction = -(s.inverse @ s.slope)
        down = fc.sum(direction * s.slope) < 0
        direction = fc.where(down, direction, -s.slope)
        length, value, slope, calls, found = _line_search(both, s, direction)
        moved = length * direction
        change = slope - s.slope
        inverse = _updated(s.inverse, moved, change)
        done = fc.linalg.norm(slope, order) < gtol
        return _State(
            fc.where(found, s.x + moved, s.x), fc.where(found, value, s.value), fc.where(found, slope, s.slope),
            fc.where(found, inverse, s.inverse), s.steps + 1, s.calls + calls, done & found, ~found,
        )  # fmt: skip

    end = fc.while_loop(unfinished, step, start)
    status = fc.where(end.done, 0, fc.where(end.failed, 3, 1))
    return OptimizeResults(end.x, end.done, status, end.value, end.slope, end.inverse, end.calls, end.calls, end.steps)


def _updated(inverse, s, y):
    """The inverse Hessian after a step s that changed the gradient by y; as it was unless s y > 0."""
    curve = fc.sum(s * y)
    good = curve > 1e-12 * fc.sqrt(fc.sum(s * s) * fc.sum(y * y))
    rho = 1 / fc.where(good, curve, fc.ones_like(curve))
    left = fc.eye(s.size, dtype=s.dtype) - rho * s[:, None] * y[None, :]
    return fc.where(good, left @ inverse @ left.T + rho * s[:, None] * s[None, :], inverse)


def _line_search(both, s, direction):
    """(length, value, gradient, calls, found) of a step with the strong Wolfe conditions, by bisection.

    A length that is too long is an upper end, one that is too short a lower end; without an upper
    end it doubles.
    """
    c1, c2 = 1e-4, 0.9
    start = fc.sum(s.slope * direction)
    eps = float(fc.finfo(s.x.dtype).eps)

    def unfinished(state):
        return ~state[5] & (state[6] < STEPS)

    def step(state):
        low, high, length, _, _, _, n = state
        value, slope = both(s.x + length * direction)
        along = fc.sum(slope * direction)
        slack = eps * fc.abs(s.value)
        long = (value > s.value + c1 * length * start + slack) | fc.isnan(value) | (along > c2 * fc.abs(start))
        short = along < -c2 * fc.abs(start)
        good = ~long & ~short
        low = fc.where(~long & short, length, low)
        high = fc.where(long, length, high)
        following = fc.where(fc.isinf(high), 2 * length, (low + high) / 2)
        return low, high, fc.where(good, length, following), value, slope, good, n + 1

    zero = fc.zeros((), dtype=s.x.dtype)
    first = (zero, zero + float("inf"), zero + 1, s.value, s.slope, fc.asarray(False), fc.asarray(0))
    _, _, length, value, slope, good, n = fc.while_loop(unfinished, step, first)
    better = (value < s.value) & ~good
    length = fc.where(good | better, length, zero)
    value, slope = fc.cond(good, lambda: (value, slope), lambda: both(s.x + length * direction))
    return length, value, slope, n + 1, good | (better & (value <= s.value))


__getattr__ = missing_name(
    "scipy.optimize", {"root root_scalar newton": "Iterate with fc.while_loop; lax.custom_root gives the derivatives."}
)

__all__ = ["OptimizeResults", "minimize"]
