"""The functional face against JAX: calls, tracing, lowering, transforms.

pip install jax==0.10.2      (in an environment that also has functorch-core)
python -m tests.benchmarks.transforms
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import functorch_core as fc
from functorch_core.core.lowering import lower

from .alternate import alternate, show


def chain(np_like, n: int):
    """A function of n elementwise operations."""

    def f(x, y):
        for _ in range(n // 2):
            x = np_like.sin(x) * y
        return x

    return f


def call_two_arrays():
    """A jitted call of two small arrays."""
    x = np.ones(16, np.float32)
    ours, theirs = fc.jit(lambda a, b: a + b), jax.jit(lambda a, b: a + b)
    a, b = fc.asarray(x), jnp.asarray(x)
    return alternate(lambda: ours(a, a), lambda: theirs(b, b), number=1000)


def call_pytree():
    """A jitted call of a dict of 50 arrays that returns one like it."""

    def f(np_like):
        return lambda tree: {k: v + 1 for k, v in tree.items()}

    x = np.ones(4, np.float32)
    a = {f"p{i}": fc.asarray(x) for i in range(50)}
    b = {f"p{i}": jnp.asarray(x) for i in range(50)}
    ours, theirs = fc.jit(f(fc)), jax.jit(f(jnp))
    return alternate(lambda: ours(a), lambda: theirs(b), number=200)


def tracing():
    """Tracing a function of 1,000 nodes."""
    x = np.ones(16, np.float32)
    a, b = fc.asarray(x), jnp.asarray(x)

    def theirs():
        jax.make_jaxpr(lambda p, q: chain(jnp, 1000)(p, q))(b, b)

    return alternate(lambda: fc.make_graph(chain(fc, 1000))(a, a), theirs, number=1, rounds=9)


def lowering():
    """Lowering the traced function to StableHLO."""
    x = np.ones(16, np.float32)
    graph = fc.make_graph(chain(fc, 1000))(fc.asarray(x), fc.asarray(x))
    b = jnp.asarray(x)
    traced = jax.jit(lambda p, q: chain(jnp, 1000)(p, q)).trace(b, b)

    def theirs():
        jax.clear_caches()
        traced.lower()

    return alternate(lambda: lower(graph, "cpu"), theirs, number=1, rounds=9)


def composition():
    """Tracing jvp(grad(vmap(f))) of a small network."""
    w, x = np.ones((16, 16), np.float32), np.ones((8, 16), np.float32)

    def make(np_like, lib):
        def loss(w, x):
            for _ in range(4):
                x = np_like.tanh(x @ w)
            return x.sum()

        def composed(w, x):
            g = lib.grad(lambda w: lib.vmap(lambda row: loss(w, row))(x).sum())
            return lib.jvp(g, (w,), (w,))

        return composed

    ours, theirs = make(fc, fc), make(jnp, jax)
    a, b = (fc.asarray(w), fc.asarray(x)), (jnp.asarray(w), jnp.asarray(x))

    def run_theirs():
        jax.make_jaxpr(lambda p, q: theirs(p, q))(*b)

    return alternate(lambda: fc.make_graph(lambda p, q: ours(p, q))(*a), run_theirs, number=1, rounds=9)


BENCHMARKS = {
    "jit call, two arrays": call_two_arrays,
    "jit call, dict of 50 leaves": call_pytree,
    "tracing 1,000 nodes": tracing,
    "lowering 1,000 nodes": lowering,
    "tracing jvp(grad(vmap))": composition,
}


def main():
    """Print the table."""
    for name, run in BENCHMARKS.items():
        show(name, run(), "JAX")


if __name__ == "__main__":
    main()
