"""Many gamma numbers at once, bit for bit those that Marsaglia and Tsang's loop draws one by one.

An element takes trials until one is accepted. A trial takes a normal x, the cosine of a Box-Muller pair or the sine
that the trial before has left, and a uniform u. An element of alpha < 1 takes one more uniform, before its trials.
So where a trial lies in the stream depends on all decisions before: a loop in Python takes 2.8 us an element.

Here NumPy first looks at every position of a stretch of the stream as if a pair began there, in float32, and says of
its trials whether they are accepted by all elements (96 %), rejected by all, or neither is sure (1 to 4 %: those are
looked up for the range of d that the element lies in, and one in six of them is decided exactly, in Python). Two
elements whose trials are both accepted take one pair and end where no sine is left, so the walk goes from pair to pair
and looks at one byte for each: 20 to 50 ns an element. The numbers are computed last, of the accepted trials only.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from .arithmetic import libm
from .generator import Mt19937Generator, Stretch

# PyTorch's float32 constant of the squeeze, with which it computes in float64.
SQUEEZE = float(np.float32(0.0331))

BLOCK = 1 << 13  # elements in a pass: its temporaries take 1 MiB
ACCEPTED, REJECTED, UNSURE = 0, 1, 2  # what is known of a trial
_PAST = 8  # positions at the end of a stretch that no pair may begin at: one pair and its trials take 7 uniforms
_BINS, _LARGEST = 1024, 8.6  # of normals; none is larger than sqrt(2 * 53 * log 2) = 8.572
_LEAST, _RATIO = 0.66, 1.1  # ranges of d, which is 2/3 at least
_SLACK = 1e-3  # error of a normal that is computed in float32: 3.5e-4 next to 0, 1e-5 elsewhere

Run = Callable[[int, int], tuple[int, int]]


class Shapes(NamedTuple):
    """Parameters of elements: Marsaglia and Tsang's d > 0, whether alpha < 1, and 1 / alpha."""

    d: np.ndarray
    boosted: np.ndarray
    exponent: np.ndarray

    def one_by_one(self) -> Iterator[tuple[float, float | None]]:
        """d and, where alpha < 1, 1 / alpha of each element."""
        for d, boosted, exponent in zip(*self):
            yield float(d), float(exponent) if boosted else None

    def from_on(self, start: int) -> Shapes:
        """Those of elements `start` to the last."""
        return Shapes(*(field[start:] for field in self))


class Walk(NamedTuple):
    """Where the accepted trials of elements lie, as positions in a stretch of uniforms.

    Pairs of elements (first, first + 1) have both numbers of the pair of uniforms at `pair`; the others are `single`,
    with a pair each, of which they have the sine or the cosine. `boost` is the position of each element's first
    uniform, where alpha < 1.
    """

    first: np.ndarray
    pair: np.ndarray
    single: np.ndarray
    single_pair: np.ndarray
    sine: np.ndarray
    boost: np.ndarray
    used: int
    left: int | None  # the pair whose sine the next normal is


# ---- trials ----------------------------------------------------------------------------------


def walk(gen: Mt19937Generator, stretch: Stretch, shapes: Shapes) -> tuple[Walk, np.ndarray]:
    """The accepted trials of elements from a generator that holds no normal, and the uniforms they lie in."""
    n, boosts = shapes.d.size, int(shapes.boosted.sum())
    expected = 2.15 * n + boosts + 6 * math.sqrt(n) + 64
    while True:
        uniforms = stretch.peek(int(expected))
        found = _walk(uniforms, shapes)
        if found is not None:
            break
        expected *= 1.25
    stretch.advance(found.used)
    if found.left is not None:
        u1, u2 = uniforms[found.left : found.left + 2].tolist()
        gen.next_normal = _normal(u1, u2, sine=True)
    return found, uniforms


def _walk(uniforms: np.ndarray, shapes: Shapes) -> Walk | None:
    """The same; None if there are too few uniforms."""
    n, last = shapes.d.size, uniforms.size - _PAST
    d, u, boosted = memoryview(shapes.d), memoryview(uniforms), shapes.boosted.tobytes() + b"\0"
    ranges = _ranges(shapes.d)
    (cosines, sines, sines_boosted), bins = _codes(uniforms, int(ranges.min()), int(ranges.max()))
    range_of = memoryview(ranges)

    def decided(e: int, q: int, sine: bool, at: int) -> int:
        """What becomes of a trial of an element: UNSURE if its normal is taken only, as one too small for its d."""
        accepts, rejects = _thresholds_of(range_of[e])
        normal, uniform = bins[sine][q], u[at]
        if 1.0 - uniform < accepts[normal]:
            return ACCEPTED
        if 1.0 - uniform > rejects[normal]:
            return REJECTED
        return _decided(d[e], u[q], u[q + 1], sine, uniform)

    boost = np.zeros(n, np.int64)
    run = _run(cosines, sines, sines_boosted, shapes.boosted)
    runs: list[int] = []  # first element, first pair, pairs
    singles: list[int] = []  # element, pair, whether it has the sine
    late: list[int] = []  # element, its first uniform
    e, q = 0, boosted[0]
    while True:
        start = e, q
        e, q = run(e, q)
        if e > start[0]:
            runs += *start, (e - start[0]) // 2
        if e == n:
            return _found(shapes, runs, singles, late, boost, q, None)
        late += e, q - 1
        while True:
            if q >= last:
                return None
            # The cosine of the pair at q.
            code = cosines[q]
            if code == UNSURE:
                code = decided(e, q, False, q + 2)
            at = q + 2 if code == UNSURE else q + 3
            if code == ACCEPTED:
                singles += e, q, 0
                e += 1
                if e == n:
                    return _found(shapes, runs, singles, late, boost, at, q)
                if boosted[e]:
                    late += e, at
                    at += 1
            # Its sine.
            code = sines[q] if at == q + 3 else sines_boosted[q] if at == q + 4 else UNSURE
            if code == UNSURE:
                code = decided(e, q, True, at)
            if code == ACCEPTED:
                singles += e, q, 1
                e += 1
                q = at + 1 + boosted[e]
                break
            q = at if code == UNSURE else at + 1


def _decided(d: float, u1: float, u2: float, sine: bool, u: float) -> int:
    """The same in full."""
    x = _normal(u1, u2, sine)
    y = 1.0 + 1.0 / math.sqrt(9.0 * d) * x
    if y <= 0:
        return UNSURE
    v, u, xx = y * y * y, 1 - u, x * x
    if u < 1.0 - SQUEEZE * xx * xx or math.log(u) < 0.5 * xx + d * (1.0 - v + math.log(v)):
        return ACCEPTED
    return REJECTED


def _normal(u1: float, u2: float, sine: bool) -> float:
    """One of the normals of a Box-Muller pair."""
    radius, theta = math.sqrt(-2.0 * math.log1p(-u2)), (2.0 * math.pi) * u1
    return radius * (math.sin(theta) if sine else math.cos(theta))


def _codes(uniforms: np.ndarray, low: int, high: int) -> tuple[list[bytes], list[memoryview]]:
    """For each position what is known of a pair's trials there for all d of the ranges `low` to `high`: of its cosine,
    of its sine, and of its sine where the uniform before is the boost of the next element. And the normals' bins."""
    accepts, rejects = _thresholds(low, high)
    n = uniforms.size - _PAST
    u = (1.0 - uniforms).astype(np.float32)
    theta = (uniforms[:n] * (2.0 * math.pi)).astype(np.float32)
    scale, middle = np.float32(_BINS / (2 * _LARGEST)), np.float32(_BINS / 2)
    radius = np.sqrt(-2 * np.log(u[1 : n + 1])) * scale
    codes, bins = [], []
    for normals, distances in ((radius * np.cos(theta), (2,)), (radius * np.sin(theta), (3, 4))):
        normals += middle
        at = normals.astype(np.intp)
        least, most = accepts.take(at, mode="clip"), rejects.take(at, mode="clip")
        for distance in distances:
            uniform, known = u[distance : n + distance], np.full(uniforms.size, UNSURE, np.uint8)
            unsure = uniform >= least
            np.add(unsure.view(np.uint8), (unsure & (uniform <= most)).view(np.uint8), out=known[:n])
            codes.append(known.tobytes())
        bins.append(memoryview(at))
    return codes, bins


def _ranges(d: np.ndarray) -> np.ndarray:
    """The number k of the range that each d lies in: _RATIO**k to _RATIO**(k + 1) times _LEAST."""
    return (np.log(np.minimum(d, 1e300) / _LEAST) / math.log(_RATIO)).astype(np.int64)


@functools.lru_cache(256)
def _thresholds_of(k: int) -> tuple[memoryview, memoryview]:
    """The thresholds of one range."""
    accepts, rejects = _thresholds(k, k)
    return memoryview(accepts), memoryview(rejects)


@functools.lru_cache(32)
def _thresholds(low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
    """For each bin of normals x, below which u any d of the ranges accepts, and above which u any d rejects.

    A trial is accepted if log u < h(x, d) = x**2 / 2 + d (1 - v + log v), v = (1 + x / sqrt(9 d))**3, or if u is below
    the squeeze. With z = x / sqrt(9 d) > -1, h = 3 d (log(1 + z) - z + z**2 / 2 - z**3 / 3), which falls with |x| and
    rises with d. So the edges of a bin and of the d's decide; `noise` bounds the rounding errors of h.
    """
    least, most = _LEAST * _RATIO**low * (1 - 1e-9), _LEAST * _RATIO ** (high + 1) * (1 + 1e-9)
    edges = np.linspace(-_LARGEST, _LARGEST, _BINS + 1)
    below, above = edges[:-1] - _SLACK, edges[1:] + _SLACK
    far = np.where(below + above > 0, above, below)
    near = np.maximum(below, np.minimum(above, 0.0))
    inside = 1.0 + below / math.sqrt(9.0 * least) > 0.01
    noise = 1e-9 + 1e-14 * most
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        accepts = np.maximum(1.0 - SQUEEZE * far**4, np.exp(_log_ratio(far, least) - noise)) - 1e-6
        rejects = np.maximum(1.0 - SQUEEZE * near**4, np.exp(_log_ratio(near, most) + noise)) + 1e-6
    accepts, rejects = np.where(inside, accepts, -1.0), np.where(inside, np.minimum(rejects, 2.0), 2.0)
    return accepts.astype(np.float32), rejects.astype(np.float32)


def _log_ratio(x: np.ndarray, d: float) -> np.ndarray:
    """h(x, d)."""
    v = (1.0 + x / math.sqrt(9.0 * d)) ** 3
    return 0.5 * x * x + d * (1.0 - v + np.log(v))


# ---- runs ------------------------------------------------------------------------------------


def _run(cosines: bytes, sines: bytes, sines_boosted: bytes, boosted: np.ndarray) -> Run:
    """A function that goes from an element, the first normal of whose pair is at a position, to the first that may
    not be accepted together with the next, two elements at a time."""
    n = boosted.size
    cosine = np.frombuffer(cosines, np.uint8)
    usual, after = ((cosine | np.frombuffer(codes, np.uint8)) != 0 for codes in (sines, sines_boosted))
    if boosted.all() or not boosted.any():
        return _run_of_one_kind(after if boosted[0] else usual, 6 if boosted[0] else 4, n)
    stops = (usual | after * np.uint8(2) | np.uint8(4)).tobytes()
    boost = np.append(boosted, [0, 0]).astype(np.uint8)
    looks = boost[1:] + np.uint8(1)  # at which bit of the stop
    looks[n - 1 :] = 4
    looks, steps = looks.tobytes(), (4 + boost[1:-1] + boost[2:]).tobytes()

    def run(e: int, q: int) -> tuple[int, int]:
        while not stops[q] & looks[e]:
            q += steps[e]
            e += 2
        return e, q

    return run


def _run_of_one_kind(stop: np.ndarray, period: int, n: int) -> Run:
    """The same where all elements take the same number of uniforms."""
    phases = [stop[i::period].tobytes() for i in range(period)]
    boost = int(period == 6)

    def run(e: int, q: int) -> tuple[int, int]:
        at = q // period
        pairs = min(phases[q % period].find(1, at) - at, (n - e) // 2)
        e += 2 * pairs
        return e, q + period * pairs - (boost if pairs and e == n else 0)

    return run


def _found(shapes: Shapes, runs, singles, late, boost: np.ndarray, used: int, left: int | None) -> Walk:
    """The walk of these runs of pairs, other elements, and first uniforms of the latter."""
    firsts, starts, counts = np.array(runs, np.int64).reshape(-1, 3).T
    offsets = np.repeat(firsts - 2 * (np.cumsum(counts) - counts), counts)
    first = offsets + 2 * np.arange(offsets.size)
    relative = np.cumsum(shapes.boosted) + 2 * np.arange(shapes.d.size)
    pair = np.repeat(starts - relative[firsts], counts) + relative[first]
    single, single_pair, sine = np.array(singles, np.int64).reshape(-1, 3).T
    boost[first], boost[first + 1] = pair - 1, pair + 3
    elements, positions = np.array(late, np.int64).reshape(-1, 2).T
    boost[elements] = positions
    return Walk(first, pair, single, single_pair, sine.astype(bool), boost, used, left)


# ---- numbers ---------------------------------------------------------------------------------


def exact_gammas(found: Walk, uniforms: np.ndarray, shapes: Shapes) -> np.ndarray:
    """The gamma numbers of a walk to the last bit of float64: 38 ns for each logarithm and each power."""
    x = _placed(found, _exact_normals, uniforms)
    powers = map(math.pow, *map(memoryview, _boosts(found, uniforms, shapes)))
    return _gammas(x, np.fromiter(powers, np.float64), shapes)[0]


def quick_gammas(found: Walk, uniforms: np.ndarray, shapes: Shapes) -> tuple[np.ndarray, np.ndarray]:
    """The same up to relative errors, which are returned, too; of NumPy's functions: 15 ns a number."""
    x = _placed(found, _quick_normals, uniforms)
    with np.errstate(under="ignore"):
        return _gammas(x, np.power(*_boosts(found, uniforms, shapes)), shapes)


def _placed(found: Walk, normals: Callable, uniforms: np.ndarray) -> np.ndarray:
    """The normals of the accepted trials."""
    x = np.empty(found.boost.size)
    x[found.first], x[found.first + 1] = normals(uniforms[found.pair], uniforms[found.pair + 1])
    cosine, sine = normals(uniforms[found.single_pair], uniforms[found.single_pair + 1])
    x[found.single] = np.where(found.sine, sine, cosine)
    return x


def _boosts(found: Walk, uniforms: np.ndarray, shapes: Shapes) -> tuple[np.ndarray, np.ndarray]:
    """Base and exponent of the factors of elements with alpha < 1."""
    return 1.0 - uniforms[found.boost[shapes.boosted]], shapes.exponent[shapes.boosted]


def _gammas(x: np.ndarray, powers: np.ndarray, shapes: Shapes) -> tuple[np.ndarray, np.ndarray]:
    """Gamma numbers of normals, and a bound of their relative error if that of x is below 2e-14."""
    scale = np.ones(x.size)
    scale[shapes.boosted] = powers
    y = 1.0 + 1.0 / np.sqrt(9.0 * shapes.d) * x
    return scale * shapes.d * (y * y * y), 1e-13 / np.clip(y, 1e-15, 1.0)


def _exact_normals(u1: np.ndarray, u2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    radius, theta = np.sqrt(-2.0 * libm(math.log1p, -u2)), (2.0 * math.pi) * u1
    return radius * np.cos(theta), radius * np.sin(theta)


_STEPS = 1024
_COSINES = np.cos(2.0 * math.pi / _STEPS * np.arange(_STEPS + 1))
_SINES = np.sin(2.0 * math.pi / _STEPS * np.arange(_STEPS + 1))


def _quick_normals(u1: np.ndarray, u2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Normals up to errors of 1e-14: cosine and sine from a table and the angle beyond it (3 ns, NumPy's take 35)."""
    radius = np.sqrt(-2.0 * np.log(1.0 - u2))
    turns = u1 * _STEPS
    nearest = np.rint(turns)
    angle = (turns - nearest) * (2.0 * math.pi / _STEPS)  # below 0.0031: the next terms are 1e-18 and 3e-21
    square = angle * angle
    cosine = 1.0 - square * (0.5 - square * (1.0 / 24.0))
    sine = angle * (1.0 - square * (1.0 / 6.0 - square * (1.0 / 120.0)))
    at = nearest.astype(np.intp)
    table_cosine, table_sine = _COSINES[at], _SINES[at]
    return radius * (table_cosine * cosine - table_sine * sine), radius * (table_sine * cosine + table_cosine * sine)
