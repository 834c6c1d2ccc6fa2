"""What the twins share: PyTorch's initial distributions, layers, losses and optimizers in plain JAX."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np

rng = np.random.default_rng(0)
tree_map = jax.tree_util.tree_map


def uniform(shape, fan_in):
    """Numbers in +-1 / sqrt(fan_in)."""
    bound = fan_in**-0.5
    return jnp.asarray(rng.uniform(-bound, bound, shape), jnp.float32)


def normal(shape, scale=1.0):
    """Normal numbers."""
    return jnp.asarray(scale * rng.standard_normal(shape), jnp.float32)


def linear(n_in, n_out, bias=True):
    """Parameters of a linear layer: weight (n_in, n_out), bias."""
    made = {"w": uniform((n_in, n_out), n_in)}
    return {**made, "b": uniform((n_out,), n_in)} if bias else made


def dense(p, x):
    """A linear layer."""
    return x @ p["w"] + p["b"] if "b" in p else x @ p["w"]


def conv(c_in, c_out, size=3):
    """Parameters of a convolution: weight (size, size, c_in, c_out), bias."""
    fan_in = c_in * size * size
    return {"w": uniform((size, size, c_in, c_out), fan_in), "b": uniform((c_out,), fan_in)}


def convolve(p, x):
    """A convolution that keeps the size; channels last, as JAX's users have them."""
    return jax.lax.conv_general_dilated(x, p["w"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")) + p["b"]


def max_pool(x):
    """The maxima of 2 x 2."""
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def cross_entropy(logits, y):
    """The mean of -log softmax at the classes y."""
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[..., None], -1).mean()


def sgd(rate, momentum=0.0):
    """(the state of params, the step (params, state, grads) -> (params, state))."""

    def step(params, state, grads):
        state = tree_map(lambda m, g: momentum * m + g, state, grads)
        return tree_map(lambda p, m: p - rate * m, params, state), state

    return lambda params: tree_map(jnp.zeros_like, params), step


def adam(rate, decay=0.0, b1=0.9, b2=0.999, eps=1e-8):
    """(the state of params, the step (params, state, grads) -> (params, state))."""

    def init(params):
        zeros = tree_map(jnp.zeros_like, params)
        return zeros, zeros, jnp.zeros((), jnp.int32)

    def step(params, state, grads):
        m, v, t = state
        t = t + 1
        m = tree_map(lambda m, g: b1 * m + (1 - b1) * g, m, grads)
        v = tree_map(lambda v, g: b2 * v + (1 - b2) * g * g, v, grads)
        c1, c2 = 1 - b1**t, 1 - b2**t

        def new(p, m, v):
            return p * (1 - rate * decay) - rate * (m / c1) / (jnp.sqrt(v / c2) + eps)

        return tree_map(new, params, m, v), (m, v, t)

    return init, step


def clip(grads, limit):
    """Gradients of a common norm of at most limit."""
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree_util.tree_leaves(grads)))
    return tree_map(lambda g: g * jnp.minimum(1.0, limit / (norm + 1e-6)), grads)


def training(loss_of, params, optimizer, batches, limit=None):
    """A function that makes a step with the next batch, in turn; loss_of(params, *batch)."""
    init, update = optimizer

    @jax.jit
    def advance(params, state, *batch):
        loss, grads = jax.value_and_grad(loss_of)(params, *batch)
        params, state = update(params, state, grads if limit is None else clip(grads, limit))
        return params, state, loss

    state, turn = init(params), itertools.cycle(batches)

    def step():
        nonlocal params, state
        params, state, loss = advance(params, state, *next(turn))
        return loss

    return step


def cut(batch, *arrays):
    """The batches of arrays, in order."""
    return [tuple(a[i : i + batch] for a in arrays) for i in range(0, len(arrays[0]), batch)]


def classes(n, n_classes):
    """n classes, at random."""
    return jnp.asarray(rng.integers(0, n_classes, n), jnp.int32)
