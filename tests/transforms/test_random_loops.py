"""Random loop bodies, plain or with cond, remat or a loop inside, against the unrolled loop."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core.primitives as p
from functorch_core.core.trace import evaluate
from functorch_core.transforms.cond import cond
from functorch_core.transforms.remat import dots_saveable, nothing_saveable, remat
from functorch_core.transforms.scan import scan
from tests.primitives.check import close
from tests.transforms.flat import closed_graph, grad, jvp, total, vmap

N = 3
STYLES = ("plain", "cond", "remat", "nested")


def dot(x, w, dimension=0):
    return p.dot_general(x, w, contract=((0,), (dimension,)))


OPERATIONS = [
    lambda a, b, w: p.mul(a, b),
    lambda a, b, w: p.sin(p.add(a, b)),
    lambda a, b, w: dot(a, w),
    lambda a, b, w: dot(a, w, 1),
    lambda a, b, w: dot(b, p.sin(w)),
    lambda a, b, w: p.mul(p.reduce_sum(w, axes=(0,)), p.mul(a, 0.1)),
    lambda a, b, w: p.broadcast_in_dim(p.mul(total(a), 0.2), shape=(N,), dims=()),
]


class Program:
    """A random loop f(w, u, h, k, xs) -> scalar, looped or unrolled."""

    def __init__(self, seed: int, style: str):
        rng = np.random.default_rng(seed)
        self.style, self.policy = style, (nothing_saveable, dots_saveable)[seed % 2]
        self.n_carry, self.length = int(rng.integers(1, 4)), int(rng.integers(0, 4))
        self.reverse, n_ops = bool(rng.integers(2)), int(rng.integers(2, 6))
        self.ops = [(rng.integers(len(OPERATIONS)), rng.random(3)) for _ in range(n_ops)]
        self.new = rng.random(self.n_carry)

    def step(self, w, u, carry, x):
        """(new carry, y), in plain operations."""
        values = [*carry, x]

        def choose(among, place):
            return among[int(place * len(among))]

        for kind, (a, b, c) in self.ops:
            out = OPERATIONS[kind](choose(values, a), choose(values, b), choose([w, u], c))
            values.append(p.sin(out))
        return [choose(values, place) for place in self.new], values[-1]

    def flat_step(self, w, u, carry, x):
        if self.style == "cond":
            new, y = self.step(w, u, carry, x)
            positive = p.gt(total(x), p.constant(np.float64(0)))
            wide = p.broadcast_in_dim(positive, shape=(N,), dims=())
            return [p.select(wide, a, p.sin(b)) for a, b in zip(new, carry)], p.select(wide, y, x)
        if self.style == "nested":
            carry, first = self.step(w, u, carry, x)
            carry, second = self.step(w, u, carry, x)
            return carry, p.add(first, second)
        return self.step(w, u, carry, x)

    def looped_step(self, w, u, carry, x):
        def taken(*values):
            new, y = self.step(w, u, list(values[:-1]), values[-1])
            return [*new, y]

        if self.style == "nested":

            def twice(carry, _):
                new, y = self.step(w, u, carry, x)
                return new, [y]

            carry, (ys,) = scan(twice, carry, [], length=2)
            return carry, p.reduce_sum(ys, axes=(0,))
        if self.style == "cond":
            positive = p.gt(total(x), p.constant(np.float64(0)))
            out = cond(positive, taken, lambda *v: [*map(p.sin, v[:-1]), v[-1]], [*carry, x])
        else:
            out = remat(taken, [*carry, x], policy=self.policy)
        return out[:-1], out[-1]

    def looped(self, w, u, h, k, xs):
        step = self.step if self.style == "plain" else self.looped_step

        def body(carry, x):
            new, y = step(w, u, carry, *x)
            return new, [y]

        carry, (ys,) = scan(body, self.start(h, k), [self.rows(xs)], reverse=self.reverse)
        return self.loss(carry, total(p.sin(ys)))

    def unrolled(self, w, u, h, k, xs):
        carry, loss = self.start(h, k), p.constant(np.float64(0))
        for t in reversed(range(self.length)) if self.reverse else range(self.length):
            x = p.reshape(p.slice(xs, start=(t, 0), limit=(t + 1, N)), shape=(N,))
            carry, y = self.flat_step(w, u, carry, x)
            loss = p.add(loss, total(p.sin(y)))
        return self.loss(carry, loss)

    def start(self, h, k):
        return [h, k, p.mul(h, k)][: self.n_carry]

    def rows(self, xs):
        return p.slice(xs, start=(0, 0), limit=(self.length, N))

    def loss(self, carry, loss):
        for value in carry:
            loss = p.add(loss, total(p.cos(value)))
        return loss


ARGS = [np.random.default_rng(5).standard_normal(s) * 0.7 for s in ((N, N), (N, N), (N,), (N,), (4, N))]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("seed", range(6))
def test_random_loop(seed, style):
    program, rng = Program(seed, style), np.random.default_rng(seed)
    wrt = tuple(i for i in range(5) if rng.random() < 0.6) or (4,)
    dims = (0, *(0 if rng.random() < 0.5 else None for _ in range(4)))
    batched = [np.stack([a, a * 0.9]) if d == 0 else a for a, d in zip(ARGS, dims)]
    transforms = [
        (lambda f: grad(f, wrt), ARGS),
        (lambda f: grad(lambda *a: total(p.sin(grad(f, wrt)(*a)[0])), wrt), ARGS),
        (lambda f: lambda *a: jvp(grad(f, wrt), a, a)[1], ARGS),
        (lambda f: vmap(grad(f, wrt), dims), batched),
        (lambda f: grad(lambda *a: total(p.sin(vmap(f, dims)(*a))), wrt), batched),
    ]
    for i, (transform, args) in enumerate(transforms):
        found, wanted = (evaluate(closed_graph(transform(f), args), args) for f in (program.looped, program.unrolled))
        for x, y in zip(found, wanted, strict=True):
            close(x, y, 1e-8, f"transform {i}")
