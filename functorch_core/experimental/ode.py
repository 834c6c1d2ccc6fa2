"""jax.experimental.ode: solutions of ordinary differential equations, whose derivatives are those of the equation.

Dormand and Prince's pair of orders 5 and 4 with steps that a tolerance chooses (Hairer, Nørsett, Wanner, Solving
Ordinary Differential Equations I: the pair II.5, its first step II.4, its values between steps II.6). Reverse mode
solves the adjoint equation from the last time to the first, and keeps nothing but the values that were asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import functorch_core as fc

from ..core import dtypes as dt
from ..core import tree
from ..core.explain import explaining
from ..flatten_util import ravel_pytree
from ..ops.signature import Weak

NODES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)  # where in a step the slopes 2 to 7 are
STAGES = (  # how much of the slopes before makes the value that each is the slope of
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),  # the value of order 5
)
ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)  # less that of order 4
BETWEEN = (
    *(-12715105075 / 11282082432, 0.0, 87487479700 / 32700410799, -10690763975 / 1880347072),
    *(701980252875 / 199316789632, -1453857185 / 822651844, 69997945 / 29380423),
)
SAFETY, SLOWEST, FASTEST = 0.9, 0.2, 10.0

WRONG_SLOPE = "odeint: func gives {found}, the state y0 is {wanted}; slopes have the structure and shapes of the state"
WRONG_TIMES = "odeint: t is a vector of one time or more, strictly increasing, got {aval}"
WRONG_START = "odeint: y0 is of floating or complex arrays, got {aval}"


@dataclass(frozen=True)
class Tolerance:
    """How exact a solution is, and how many steps of what length it may take."""

    rtol: float
    atol: float
    mxstep: float
    hmax: float

    def norm(self, error, y, other):
        """The root mean square of an error, where 1 is what is allowed."""
        allowed = self.atol + self.rtol * fc.maximum(fc.abs(y), fc.abs(other))
        return fc.sqrt(fc.mean(fc.square(fc.abs(error / allowed))))


@explaining
def odeint(func, y0, t, *args, rtol=1.4e-8, atol=1.4e-8, mxstep=np.inf, hmax=np.inf):
    """The solution of dy/dt = func(y, t, *args) with y = y0 at t[0]: at all times t, [len(t), ...] for each array.

    y0: a pytree of floating arrays; func gives its slope, of the same structure. t: strictly increasing.
    args: pytrees of arrays, by which it can be differentiated, as by y0, t and what func closes over.
    rtol, atol: the error that a step may have. mxstep: how many steps there may be between two times; hmax: how long
    they may be. Times that cannot be reached (too many steps, steps of no length, NaN, those of the past) have NaN.

    >>> import functorch_core as fc
    >>> from functorch_core.experimental.ode import odeint
    >>> odeint(lambda y, t, rate: rate * y, fc.asarray(1.), fc.asarray([0., 1., 2.]), -1.).round(4)
    Array([1.    , 0.3679, 0.1353], dtype=float32)
    """
    y0 = tree.map(fc.asarray, y0)
    t = fc.asarray(t)
    t = t if t.dtype in dt.FLOATING else t.astype(dt.float32)
    if t.ndim != 1 or not t.size:
        raise ValueError(WRONG_TIMES.format(aval=t.aval))
    for leaf in tree.leaves(y0):
        if leaf.dtype not in dt.INEXACT:
            raise TypeError(WRONG_START.format(aval=leaf.aval))
    one = fc.real(fc.ones((), dtype=fc.result_type(*tree.leaves(y0))))
    args = tree.map(lambda x: one * x if _is_weak(x) else fc.asarray(x), args)
    _check_slope(fc.eval_shape(func, y0, t[0], *args), y0)
    converted, closed_over = fc.closure_convert(func, y0, t[0], *args)
    start, unravel = ravel_pytree(y0)

    def field(y, t, args):
        return ravel_pytree(converted(unravel(y), t, *args))[0].astype(start.dtype)

    ys = _solution(field, start, t, (*args, *closed_over), Tolerance(rtol, atol, mxstep, hmax))
    return fc.vmap(unravel)(ys)


def _is_weak(x) -> bool:
    """Whether x is a Python float, or one that is traced, which takes the dtype of the state."""
    return isinstance(x, float) or (isinstance(getattr(x, "_value", None), Weak) and x.dtype in dt.FLOATING)


def _check_slope(found, y0):
    if tree.structure(found) != tree.structure(y0) or any(
        a.shape != b.shape for a, b in zip(tree.leaves(found), tree.leaves(y0))
    ):
        raise TypeError(WRONG_SLOPE.format(found=found, wanted=fc.eval_shape(lambda y: y, y0)))


def _solution(field, y0, t, args, tolerance: Tolerance):
    """The vectors at times t, differentiable by y0, t and the floating ones among args."""
    leaves, structure = tree.flatten(args)
    floating = [i for i, x in enumerate(leaves) if fc.asarray(x).dtype in dt.INEXACT]
    others = {i: x for i, x in enumerate(leaves) if i not in floating}

    def whole(parts, others):
        given = {**others, **dict(zip(floating, parts))}
        return structure.unflatten([given[i] for i in range(len(leaves))])

    @fc.custom_vjp
    def solve(y0, t, parts, others):
        return _steps(lambda y, t: field(y, t, whole(parts, others)), y0, t, tolerance)

    def forward(y0, t, parts, others):
        ys = solve(y0, t, parts, others)
        return ys, (ys, t, parts, others)

    def backward(kept, cotangents):
        ys, t, parts, others = kept
        slopes = fc.vmap(lambda y, t: field(y, t, whole(parts, others)))(ys, t)
        by_time = fc.real(fc.sum(slopes * cotangents, axis=1)).astype(t.dtype)

        def adjoint(state, minus_t, given):
            y, cotangent, _ = unravel(state)
            parts, others = given
            slope, transposed = fc.vjp(lambda y, parts: field(y, -minus_t, whole(parts, others)), y, parts)
            return ravel_pytree((-slope, *transposed(cotangent)))[0]

        def back(carry, at):
            cotangent, total = carry
            y, here, end, start = at
            state = ravel_pytree((y, cotangent + here, nothing))[0]
            ends = _solution(adjoint, state, fc.stack([-end, -start]), (parts, others), tolerance)
            _, cotangent, part = unravel(ends[1])
            return (cotangent, tree.map(fc.add, total, part)), None

        nothing = tree.map(fc.zeros_like, parts)
        _, unravel = ravel_pytree((ys[0], ys[0], nothing))
        carry = fc.zeros_like(ys[0]), nothing
        (start, total), _ = fc.scan(back, carry, (ys[1:], cotangents[1:], t[1:], t[:-1]), reverse=True)
        first = -fc.real(fc.sum(slopes[0] * start)).astype(t.dtype)
        return start + cotangents[0], by_time.at[0].set(first), total, None

    solve.defvjp(forward, backward)
    return solve(y0, t, [leaves[i] for i in floating], others)


def _steps(field, y0, t, tolerance: Tolerance):
    """The vectors at times t: steps until each time is passed, and the values in between."""

    def unfinished(state):
        step, count, target = state["step"], state["count"], state["target"]
        return (state["t"] < target) & (step > 0) & (count < tolerance.mxstep)

    def try_step(state):
        y, time, step = state["y"], state["t"], state["step"]
        new, slopes, error = _step(field, y, state["slope"], time, step)
        ratio = tolerance.norm(error, y, new).astype(step.dtype)
        factor = fc.clip(SAFETY * ratio**-0.2, SLOWEST, fc.where(ratio > 1, 1.0, FASTEST))
        reached = {
            "y": new,
            "slope": slopes[6],
            "t": time + step,
            "before": time,
            "between": _between(y, new, slopes, step.astype(y.real.dtype)),
        }
        kept = {name: fc.where(ratio <= 1, value, state[name]) for name, value in reached.items()}
        step = fc.minimum(step * factor, tolerance.hmax).astype(step.dtype)
        return {**state, **kept, "step": step, "count": state["count"] + 1}

    def to_time(state, target):
        state = fc.while_loop(unfinished, try_step, {**state, "target": target, "count": fc.asarray(0)})
        length = state["t"] - state["before"]
        place = fc.where(length > 0, (target - state["before"]) / fc.where(length > 0, length, 1.0), 0.0)
        value = _at(state["between"], place.astype(state["y"].real.dtype))
        return state, fc.where((state["before"] <= target) & (target <= state["t"]), value, fc.nan)

    slope = field(y0, t[0])
    between = fc.stack([y0, *[fc.zeros_like(y0)] * 4])
    state = {"y": y0, "slope": slope, "t": t[0], "before": t[0], "between": between}
    step = fc.minimum(_first_step(field, y0, slope, t[0], tolerance), tolerance.hmax).astype(t.dtype)
    state |= {"step": step, "target": t[0], "count": fc.asarray(0)}
    return fc.concat([y0[None], fc.scan(to_time, state, t[1:])[1]])


def _first_step(field, y0, slope, t0, tolerance: Tolerance):
    """A length at which a step of Euler's changes little, and its slope, too."""
    size, speed = tolerance.norm(y0, y0, y0), tolerance.norm(slope, y0, y0)
    small = fc.minimum(size, speed) < 1e-5
    tried = fc.where(small, 1e-6, 0.01 * size / fc.where(small, 1.0, speed))
    bend = tolerance.norm(field(y0 + tried * slope, t0 + tried.astype(t0.dtype)) - slope, y0, y0) / tried
    most = fc.maximum(speed, bend)
    flat = most <= 1e-15
    wanted = fc.where(flat, fc.maximum(1e-6, tried * 1e-3), (0.01 / fc.where(flat, 1.0, most)) ** 0.2)
    return fc.minimum(100 * tried, wanted)


def _combined(weights, slopes):
    return sum(w * k for w, k in zip(weights, slopes) if w)


def _step(field, y, slope, t, step):
    """(the value after a step, its seven slopes, the error)."""
    length, slopes = step.astype(y.real.dtype), [slope]
    for node, weights in zip(NODES, STAGES):
        new = y + length * _combined(weights, slopes)
        slopes.append(field(new, t + node * step))
    return new, slopes, length * _combined(ERROR, slopes)


def _between(y, new, slopes, step):
    """The coefficients of the values between y and new, [5, n]."""
    change = new - y
    bend = step * slopes[0] - change
    return fc.stack([y, change, bend, change - step * slopes[6] - bend, step * _combined(BETWEEN, slopes)])


def _at(between, place):
    """The value at a place from 0 to 1 of a step."""
    rest = 1 - place
    inner = between[2] + place * (between[3] + rest * between[4])
    return between[0] + place * (between[1] + rest * inner)


__all__ = ["odeint"]
