"""A step length that satisfies the strong Wolfe conditions (Nocedal and Wright, chapter 3)."""

from __future__ import annotations

from typing import NamedTuple


class Point(NamedTuple):
    """A step length with the loss, the flat gradient and the slope along the direction there."""

    t: object
    loss: float
    grad: object
    slope: object


def strong_wolfe(obj_func, x, t, d, f, g, gtd, c1=1e-4, c2=0.9, tolerance_change=1e-9, max_ls=25):
    """(loss, gradient, t, number of evaluations): where the strong Wolfe conditions hold, or the best point found.

    `obj_func(x, t, d)` gives loss and gradient at step length t from x along d; at 0 they are f and g, the slope gtd.
    """
    search = _Search(lambda t: obj_func(x, t, d), d, Point(0, f, g, gtd), c1, c2, tolerance_change, max_ls)
    best = search.run(t)
    return best.loss, best.grad, best.t, search.evals


def cubic_interpolate(x1, f1, g1, x2, f2, g2, bounds=None):
    """Where the cubic through two points with these values and slopes is lowest, between them or within bounds."""
    low, high = bounds or sorted((x1, x2))
    return interpolate(Point(x1, f1, None, g1), Point(x2, f2, None, g2), low, high)


class _Search:
    def __init__(self, evaluate, direction, start: Point, armijo, curvature, tolerance: float, max_evals: int):
        self.evaluate, self.direction, self.start = evaluate, direction, start
        self.armijo, self.curvature = armijo, curvature
        self.max_evals, self.tolerance, self.evals = max_evals, tolerance, 0
        self.size = direction.abs().max()

    def at(self, t) -> Point:
        """The point at a step length."""
        self.evals += 1
        loss, grad = self.evaluate(t)
        return Point(t, loss, grad, grad.dot(self.direction))

    def too_high(self, point: Point) -> bool:
        """Whether the loss has not decreased enough (Armijo)."""
        return bool(point.loss > self.start.loss + self.armijo * point.t * self.start.slope)

    def flat(self, point: Point) -> bool:
        """Whether the slope is small enough (curvature)."""
        return bool(abs(point.slope) <= -self.curvature * self.start.slope)

    def run(self, t) -> Point:
        """Bracket a good point, then close in on it."""
        bracket = self.bracket(self.at(t))
        return bracket[0] if len(bracket) == 1 else self.zoom(*bracket)

    def bracket(self, point: Point) -> list[Point]:
        """[a good point], or two points with a good one between them."""
        before = self.start
        for i in range(self.max_evals):
            if self.too_high(point) or (i > 1 and point.loss >= before.loss):
                return [before, point]
            if self.flat(point):
                return [point]
            if point.slope >= 0:
                return [before, point]
            low, high = point.t + 0.01 * (point.t - before.t), point.t * 10
            t = interpolate(before, point, low, high)
            before, point = point, self.at(t)
        return [self.start, point]

    def zoom(self, a: Point, b: Point) -> Point:
        """Shrink the interval between two points; the better of them at the end."""
        low, high = (a, b) if a.loss <= b.loss else (b, a)
        stalled = False
        # The points of `bracket` count as its iterations; the first evaluation does not.
        while self.evals <= self.max_evals:
            if abs(high.t - low.t) * self.size < self.tolerance:
                break
            t, stalled = self.next_trial(low, high, stalled)
            point = self.at(t)
            if self.too_high(point) or point.loss >= low.loss:
                high = point
                if high.loss < low.loss:
                    low, high = high, low
                continue
            if self.flat(point):
                return point
            if point.slope * (high.t - low.t) >= 0:
                high = low
            low = point
        return low

    def next_trial(self, low: Point, high: Point, stalled: bool):
        """(step length to try, whether it is close to a border): by interpolation, but a tenth of
        the interval away from a border where that has stalled."""
        left, right = min(low.t, high.t), max(low.t, high.t)
        t = interpolate(low, high, left, right)
        margin = 0.1 * (right - left)
        if min(right - t, t - left) >= margin:
            return t, False
        if not (stalled or t >= right or t <= left):
            return t, True
        return (right - margin if abs(t - right) < abs(t - left) else left + margin), False


def interpolate(a: Point, b: Point, low, high):
    """Where the cubic through two points with their slopes is lowest, within [low, high]."""
    left, right = (a, b) if a.t <= b.t else (b, a)
    d1 = left.slope + right.slope - 3 * (left.loss - right.loss) / (left.t - right.t)
    square = d1**2 - left.slope * right.slope
    if square < 0:
        return (low + high) / 2.0
    d2 = square.sqrt()
    t = right.t - (right.t - left.t) * ((right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2))
    return min(max(t, low), high)
