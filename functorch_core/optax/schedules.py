"""Schedules: functions of the count of steps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence

import functorch_core as fc

Schedule = Callable


def _steps(count):
    """A count of steps for arithmetic with numbers."""
    return fc.asarray(count).astype(fc.float32)


def constant_schedule(value) -> Schedule:
    """The value at every step."""
    return lambda count: value


def polynomial_schedule(init_value, end_value, power, transition_steps: int, transition_begin: int = 0) -> Schedule:
    """From init_value to end_value by a power of the way that is left.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> [round(float(optax.polynomial_schedule(1., 0., 2, 4)(i)), 4) for i in range(5)]
    [1.0, 0.5625, 0.25, 0.0625, 0.0]
    """
    if transition_steps <= 0:
        return constant_schedule(init_value)

    def schedule(count):
        done = fc.clip(_steps(count) - max(transition_begin, 0), 0.0, float(transition_steps))
        return (init_value - end_value) * (1 - done / transition_steps) ** power + end_value

    return schedule


def linear_schedule(init_value, end_value, transition_steps: int, transition_begin: int = 0) -> Schedule:
    """From init_value to end_value in equal steps.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> [float(optax.linear_schedule(1., 0., 4)(i)) for i in range(6)]
    [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    """
    return polynomial_schedule(init_value, end_value, 1, transition_steps, transition_begin)


def cosine_decay_schedule(init_value, decay_steps: int, alpha: float = 0.0, exponent: float = 1.0) -> Schedule:
    """From init_value to alpha * init_value along half a cosine.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> [round(float(optax.cosine_decay_schedule(1., 4)(i)), 4) for i in range(5)]
    [1.0, 0.8536, 0.5, 0.1464, 0.0]
    """
    if not decay_steps > 0:
        raise ValueError(f"cosine_decay_schedule: decay_steps must be positive, it is {decay_steps}")

    def schedule(count):
        done = fc.minimum(_steps(count), float(decay_steps)) / decay_steps
        cosine = 0.5 * (1 + fc.cos(math.pi * done))
        return init_value * ((1 - alpha) * cosine**exponent + alpha)

    return schedule


def exponential_decay(
    init_value, transition_steps: int, decay_rate, transition_begin: int = 0, staircase: bool = False, end_value=None
) -> Schedule:
    """init_value * decay_rate ** (count / transition_steps); in steps of whole powers if `staircase`.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> [float(optax.exponential_decay(1., 2, 0.25)(i)) for i in range(3)]
    [1.0, 0.5, 0.25]
    """
    if transition_steps <= 0 or isinstance(decay_rate, (int, float)) and decay_rate == 0:
        return constant_schedule(init_value)

    def schedule(count):
        done = _steps(count) - max(transition_begin, 0)
        power = done / transition_steps
        power = fc.floor(power) if staircase else power
        value = fc.where(done <= 0, init_value, init_value * decay_rate**power)
        if end_value is None:
            return value
        return fc.maximum(value, end_value) if decay_rate < 1 else fc.minimum(value, end_value)

    return schedule


def piecewise_constant_schedule(init_value, boundaries_and_scales: dict[int, float] | None = None) -> Schedule:
    """The value, multiplied by each scale from its boundary on."""

    def schedule(count):
        value = init_value
        for boundary, scale in sorted((boundaries_and_scales or {}).items()):
            value = fc.where(fc.asarray(count) < boundary, value, value * scale)
        return value

    return schedule


def piecewise_interpolate_schedule(
    interpolate_type: str, init_value, boundaries_and_scales: dict[int, float] | None = None
) -> Schedule:
    """Values at boundaries, each that before it times a scale; between them linear or along a cosine."""
    between = {"linear": lambda part: part, "cosine": lambda part: (1 - fc.cos(math.pi * part)) / 2}
    if interpolate_type not in between:
        raise ValueError(f"piecewise_interpolate_schedule: 'linear' or 'cosine', not {interpolate_type!r}")
    points = sorted((boundaries_and_scales or {}).items())
    values = list(itertools.accumulate([init_value, *[scale for _, scale in points]], lambda a, b: a * b))
    starts = [0, *[boundary for boundary, _ in points]]

    def schedule(count):
        count = _steps(count)
        found = values[-1]
        for start, stop, low, high in reversed(list(zip(starts, starts[1:], values, values[1:]))):
            part = between[interpolate_type]((count - start) / max(stop - start, 1))
            found = fc.where(count < stop, low + (high - low) * part, found)
        return found

    return schedule


def join_schedules(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """One schedule after the other: each counts from its boundary on.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> both = optax.join_schedules([optax.constant_schedule(1.), optax.linear_schedule(1., 0., 2)], [3])
    >>> [float(both(i)) for i in range(2, 6)]
    [1.0, 1.0, 0.5, 0.0]
    """

    def schedule(count):
        count = fc.asarray(count)
        value = schedules[0](count)
        for boundary, following in zip(boundaries, schedules[1:]):
            value = fc.where(count < boundary, value, following(count - boundary))
        return value

    return schedule


# ---- with a warmup -------------------------------------------------------------------------------


def warmup_constant_schedule(init_value, peak_value, warmup_steps: int) -> Schedule:
    """Linear from init_value to peak_value, then constant."""
    return linear_schedule(init_value, peak_value, warmup_steps)


def warmup_cosine_decay_schedule(
    init_value, peak_value, warmup_steps: int, decay_steps: int, end_value=0.0, exponent: float = 1.0
) -> Schedule:
    """Linear from init_value to peak_value, then along half a cosine to end_value at step decay_steps.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> [round(float(optax.warmup_cosine_decay_schedule(0., 1., 2, 6)(i)), 4) for i in range(7)]
    [0.0, 0.5, 1.0, 0.8536, 0.5, 0.1464, 0.0]
    """
    alpha = end_value / peak_value if peak_value != 0 else 0.0
    rest = cosine_decay_schedule(peak_value, decay_steps - warmup_steps, alpha, exponent)
    return join_schedules([linear_schedule(init_value, peak_value, warmup_steps), rest], [warmup_steps])


def warmup_exponential_decay_schedule(
    init_value,
    peak_value,
    warmup_steps: int,
    transition_steps: int,
    decay_rate,
    transition_begin: int = 0,
    staircase: bool = False,
    end_value=None,
) -> Schedule:
    """Linear from init_value to peak_value, then exponential_decay."""
    rest = exponential_decay(peak_value, transition_steps, decay_rate, transition_begin, staircase, end_value)
    return join_schedules([linear_schedule(init_value, peak_value, warmup_steps), rest], [warmup_steps])


def cosine_onecycle_schedule(
    transition_steps: int, peak_value, pct_start: float = 0.3, div_factor: float = 25.0, final_div_factor: float = 1e4
) -> Schedule:
    """Up to peak_value and down again, both along a cosine."""
    turns = {int(pct_start * transition_steps): div_factor}
    turns[int(transition_steps)] = 1 / (div_factor * final_div_factor)
    return piecewise_interpolate_schedule("cosine", peak_value / div_factor, turns)


def linear_onecycle_schedule(
    transition_steps: int,
    peak_value,
    pct_start: float = 0.3,
    pct_final: float = 0.85,
    div_factor: float = 25.0,
    final_div_factor: float = 1e4,
) -> Schedule:
    """Up to peak_value, down again, and further down at the end, all linear."""
    turns = {int(pct_start * transition_steps): div_factor, int(pct_final * transition_steps): 1 / div_factor}
    turns[int(transition_steps)] = 1 / final_div_factor
    return piecewise_interpolate_schedule("linear", peak_value / div_factor, turns)


def sgdr_schedule(cosine_kwargs: Iterable[dict]) -> Schedule:
    """Warm restarts: one warmup_cosine_decay_schedule after the other, each given by its arguments."""
    parts = list(cosine_kwargs)
    ends = list(itertools.accumulate([part["decay_steps"] for part in parts]))
    return join_schedules([warmup_cosine_decay_schedule(**part) for part in parts], ends[:-1])
