"""The character GPT: 4 layers, 128 wide, context 64, batch 12, AdamW."""

import jax
import jax.numpy as jnp

from . import common

VOCABULARY, CONTEXT, BATCH, WIDTH, HEADS, LAYERS = 96, 64, 12, 128, 4, 4


def norm(p, x):
    """Layer normalisation."""
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(var + 1e-5) * p[0] + p[1]


def attention(p, x):
    """Causal self-attention with several heads."""
    b, t, c = x.shape
    q, k, v = jnp.split(common.dense(p["qkv"], x).reshape(b, t, 3 * HEADS, c // HEADS), 3, axis=2)
    return common.dense(p["out"], jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(b, t, c))


def block():
    """Parameters of a block."""
    return {
        "norms": [(jnp.ones(WIDTH), jnp.zeros(WIDTH))] * 2,
        "attention": {"qkv": common.linear(WIDTH, 3 * WIDTH), "out": common.linear(WIDTH, WIDTH)},
        "mlp": [common.linear(WIDTH, 4 * WIDTH), common.linear(4 * WIDTH, WIDTH)],
    }


def loss_of(params, x, y):
    """The loss of the next characters y of x."""
    x = params["token"][x] + params["position"]
    for p in params["blocks"]:
        x = x + attention(p["attention"], norm(p["norms"][0], x))
        hidden = jax.nn.gelu(common.dense(p["mlp"][0], norm(p["norms"][1], x)), approximate=False)
        x = x + common.dense(p["mlp"][1], hidden)
    return common.cross_entropy(common.dense(params["head"], norm(params["norm"], x)), y)


def start():
    """A function that makes one training step and returns its loss."""
    params = {
        "token": common.normal((VOCABULARY, WIDTH)),
        "position": common.normal((CONTEXT, WIDTH)),
        "blocks": [block() for _ in range(LAYERS)],
        "norm": (jnp.ones(WIDTH), jnp.zeros(WIDTH)),
        "head": common.linear(WIDTH, VOCABULARY, bias=False),
    }
    data = common.rng.integers(0, VOCABULARY, 10_000)

    def batches():
        while True:
            places = common.rng.integers(0, len(data) - CONTEXT, BATCH)
            windows = data[places[:, None] + range(CONTEXT + 1)]
            yield windows[:, :-1], windows[:, 1:]

    return common.training(loss_of, params, common.adam(1e-4, decay=0.01), batches(), limit=1.0)
