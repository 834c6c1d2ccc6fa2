"""Architectures: attention, recurrence, graphs, state spaces, flows, autoencoders, equilibria."""

from __future__ import annotations

import numpy as np

from ..face import drawn, jax, jnp, lax, program, random
from .learning import data, descend, layers, log_softmax, network


def adam(params, grads, state, rate=1e-3):
    """A step of Adam and its new state."""
    m, v, count = state
    count = count + 1
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, grads)
    first, second = 1 - 0.9**count, 1 - 0.999**count
    new = jax.tree.map(lambda p, m, v: p - rate * (m / first) / (jnp.sqrt(v / second) + 1e-8), params, m, v)
    return new, (m, v, count)


def fresh(params):
    """Adam's first state."""
    return jax.tree.map(np.zeros_like, params), jax.tree.map(np.zeros_like, params), np.float32(0)


def normalized(x, scale):
    """Root mean square normalization."""
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * scale


@program
def transformer():
    """A step of Adam on a language model of two blocks, 64 wide."""

    def attention(x, qkv, out):
        n, width = x.shape
        q, k, v = (x @ qkv).reshape(n, 3, 4, width // 4).transpose(1, 2, 0, 3)
        scores = q @ k.transpose(0, 2, 1) / np.float32(width / 4) ** 0.5
        scores = jnp.where(jnp.tril(jnp.ones((n, n), bool)), scores, -1e9)
        return (jnp.exp(log_softmax(scores)) @ v).transpose(1, 0, 2).reshape(n, width) @ out

    def loss(params, tokens):
        x = params["embed"][tokens[:-1]] + params["place"]
        for block in params["blocks"]:
            x = x + attention(normalized(x, block["a"]), block["qkv"], block["out"])
            x = x + jnp.tanh(normalized(x, block["b"]) @ block["up"]) @ block["down"]
        logs = log_softmax(x @ params["embed"].T)
        return -jnp.take_along_axis(logs, tokens[1:, None], 1).mean()

    def step(params, state, tokens):
        value, grads = jax.value_and_grad(lambda p: jax.vmap(lambda t: loss(p, t))(tokens).mean())(params)
        return value, *adam(params, grads, state)

    def block(seed):
        shapes = {"qkv": (64, 192), "out": (64, 64), "up": (64, 256), "down": (256, 64)}
        made = {k: data(*s, seed=seed + i) / 8 for i, (k, s) in enumerate(shapes.items())}
        return {**made, "a": np.ones(64, np.float32), "b": np.ones(64, np.float32)}

    params = {"embed": data(65, 64) / 8, "place": data(48, 64) / 8, "blocks": [block(10), block(20)]}
    tokens = np.random.default_rng(0).integers(0, 65, (16, 49)).astype(np.int32)
    return step, (params, fresh(params), tokens)


@program
def gated_recurrence():
    """Back-propagation through a GRU over 60 steps."""

    def cell(params, h, x):
        gates = lax.logistic(x @ params["wx"] + h @ params["wh"] + params["b"])
        z, r = jnp.split(gates, 2, -1)
        return (1 - z) * h + z * jnp.tanh(x @ params["ux"] + (r * h) @ params["uh"])

    def loss(params, x, y):
        def step(h, now):
            h = cell(params, h, now)
            return h, h @ params["out"]

        return jnp.mean((lax.scan(step, jnp.zeros((x.shape[1], 64)), x)[1] - y) ** 2)

    def update(params, x, y):
        value, grads = jax.value_and_grad(loss)(params, x, y)
        return value, descend(params, grads, 0.1)

    shapes = {"wx": (16, 128), "wh": (64, 128), "ux": (16, 64), "uh": (64, 64), "out": (64, 4)}
    params = {k: data(*s, seed=i) / 8 for i, (k, s) in enumerate(shapes.items())}
    return update, ({**params, "b": np.zeros(128, np.float32)}, data(60, 32, 16), data(60, 32, 4, seed=2))


@program
def state_space():
    """A diagonal linear recurrence by an associative scan, and its gradient."""

    def layer(params, x):
        decay = jnp.exp(-jnp.exp(params["decay"]))
        inputs = x @ params["in"]

        def combine(a, b):
            return a[0] * b[0], a[1] * b[0] + b[1]

        hidden = lax.associative_scan(combine, (jnp.broadcast_to(decay, inputs.shape), inputs))[1]
        return hidden @ params["out"] + x

    def loss(params, x, y):
        for p in params:
            x = layer(p, x)
        return jnp.mean((x - y) ** 2)

    def one(seed):
        return {
            "decay": data(64, seed=seed),
            "in": data(16, 64, seed=seed + 1) / 4,
            "out": data(64, 16, seed=seed + 2) / 8,
        }

    return jax.value_and_grad(lambda p, x, y: jax.vmap(lambda a, b: loss(p, a, b))(x, y).mean()), (
        [one(1), one(4)],
        data(8, 256, 16),
        data(8, 256, 16, seed=2),
    )


@program
def message_passing():
    """A graph network: messages along 2,000 edges, summed by receiver; a step."""

    def loss(params, nodes, senders, receivers, y):
        for message, update in params:
            sent = network(message, jnp.concatenate([nodes[senders], nodes[receivers]], -1))
            total = jnp.zeros((nodes.shape[0], sent.shape[1])).at[receivers].add(sent)
            nodes = nodes + network(update, jnp.concatenate([nodes, total], -1))
        return jnp.mean((nodes.sum(-1) - y) ** 2)

    def step(params, *batch):
        value, grads = jax.value_and_grad(loss)(params, *batch)
        return value, descend(params, grads, 1e-3)

    rng = np.random.default_rng(0)
    senders, receivers = (rng.integers(0, 300, 2000).astype(np.int32) for _ in range(2))
    params = [(layers([32, 32, 16], s), layers([32, 32, 16], s + 1)) for s in (1, 3)]
    return step, (params, data(300, 16), senders, receivers, data(300, seed=2))


@program
def coupling_flow():
    """A normalizing flow of six couplings: the step on its likelihood."""

    def likelihood(params, x):
        total = 0.0
        for i, p in enumerate(params):
            a, b = (x[:4], x[4:]) if i % 2 else (x[4:], x[:4])
            scale, shift = jnp.split(network(p, a), 2)
            scale = jnp.tanh(scale)
            b, total = b * jnp.exp(scale) + shift, total + scale.sum()
            x = jnp.concatenate([a, b] if i % 2 else [b, a])
        return total - 0.5 * jnp.sum(x**2)

    def step(params, state, x):
        value, grads = jax.value_and_grad(lambda p: -jax.vmap(lambda row: likelihood(p, row))(x).mean())(params)
        return value, *adam(params, grads, state)

    params = [layers([4, 64, 8], i) for i in range(6)]
    return step, (params, fresh(params), data(256, 8))


@drawn
def autoencoder():
    """Ten steps of a variational autoencoder, its noise drawn within."""

    def loss(params, key, x):
        encoder, decoder = params
        mean, log = jnp.split(network(encoder, x), 2, -1)
        z = mean + jnp.exp(0.5 * log) * random.normal(key, mean.shape)
        divergence = 0.5 * jnp.sum(jnp.exp(log) + mean**2 - 1 - log, -1)
        return jnp.mean(jnp.sum((network(decoder, z) - x) ** 2, -1) + divergence)

    def train(params, state, key, batches):
        def step(carry, now):
            params, state = carry
            value, grads = jax.value_and_grad(loss)(params, *now)
            return adam(params, grads, state), value

        return lax.scan(step, (params, state), (random.split(key, 10), batches))

    params = layers([64, 128, 16]), layers([8, 128, 64], 1)
    return train, (params, fresh(params), random.PRNGKey(0), data(10, 64, 64))


@program
def equilibrium():
    """A deep equilibrium model: a fixed point by a while loop, its gradient by another (custom_vjp)."""

    def iterate(f, z):
        def body(carry):
            z, _, i = carry
            new = f(z)
            return new, jnp.max(jnp.abs(new - z)), i + 1

        return lax.while_loop(lambda c: (c[1] > 1e-5) & (c[2] < 80), body, (z, jnp.float32(1), 0))[0]

    def cell(params, x, z):
        return jnp.tanh(z @ params["w"] + x @ params["u"])

    @jax.custom_vjp
    def solve(params, x):
        return iterate(lambda z: cell(params, x, z), jnp.zeros((x.shape[0], 64)))

    def forward(params, x):
        z = solve(params, x)
        return z, (params, x, z)

    def backward(saved, ct):
        params, x, z = saved
        by_z = jax.vjp(lambda z: cell(params, x, z), z)[1]
        u = iterate(lambda u: ct + by_z(u)[0], ct)
        return jax.vjp(lambda p, x: cell(p, x, z), params, x)[1](u)

    solve.defvjp(forward, backward)

    def step(params, x, y):
        value, grads = jax.value_and_grad(lambda p: jnp.mean((solve(p, x) @ p["out"] - y) ** 2))(params)
        return value, descend(params, grads, 0.1)

    params = {"w": data(64, 64) / 20, "u": data(16, 64, seed=2) / 4, "out": data(64, 4, seed=3) / 8}
    return step, (params, data(64, 16, seed=4), data(64, 4, seed=5))


@program
def convolutions():
    """The gradient step of a small convolutional network, each sample's by vmap."""

    def loss(params, x, y):
        x = x[None]
        for w in params["conv"]:
            x = lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))
            x = jnp.maximum(x, 0)
        return -log_softmax(x.reshape(-1) @ params["out"])[y]

    def step(params, x, y):
        value, grads = jax.value_and_grad(lambda p: jax.vmap(lambda a, b: loss(p, a, b))(x, y).mean())(params)
        return value, descend(params, grads, 0.1)

    params = {"conv": [data(8, 1, 3, 3) / 3, data(16, 8, 3, 3, seed=2) / 9], "out": data(256, 10, seed=3) / 16}
    labels = np.random.default_rng(0).integers(0, 10, 32).astype(np.int32)
    return step, (params, data(32, 1, 16, 16, seed=4), labels)
