"""Per-sample gradients, private training and curvature of a small classifier of real digits.

    python examples/per_sample_gradients.py [--steps 300] [--width 32]

What a whole-batch gradient hides, in a few transforms of one loss function:
- `vmap(grad(loss))`: a gradient for every sample, and which samples have the largest;
- differentially private training (DP-SGD): each sample's gradient clipped, then noise added;
- `jvp(grad(loss))`: Hessian-vector products, and by power iteration the largest eigenvalue of a
  Hessian that is never built.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import functorch_core as fc

TRAINING = 1437  # of 1,797 images; the rest is for testing


def digits():
    """(training images, labels), (test images, labels): 8 x 8 pixels in 0..1, as rows of 64."""
    data = np.load(Path(__file__).parent / "digits.npz")
    order = np.random.default_rng(0).permutation(len(data["labels"]))
    images = data["images"].reshape(-1, 64)[order].astype(np.float32) / data["images"].max()
    x, y = fc.asarray(images), fc.asarray(data["labels"][order].astype(np.int64))
    return (x[:TRAINING], y[:TRAINING]), (x[TRAINING:], y[TRAINING:])


# ---- the model: a dict of arrays and two pure functions ------------------------------------------


def init(key, width: int) -> dict:
    """Weights of a network 64 -> width -> 10."""
    first, second = fc.random.split(key)
    return {
        "w1": fc.random.normal(first, (64, width)) / 8,
        "b1": fc.zeros(width),
        "w2": fc.random.normal(second, (width, 10)) / width**0.5,
        "b2": fc.zeros(10),
    }


def predict(params: dict, image):
    """The logits of one image."""
    return fc.tanh(image @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]


def loss(params: dict, image, label):
    """The cross-entropy of one image."""
    return fc.softmax_cross_entropy_with_integer_labels(predict(params, image), label)


def mean_loss(params: dict, images, labels):
    """The loss of a batch: the same function, mapped."""
    return fc.vmap(loss, in_axes=(None, 0, 0))(params, images, labels).mean()


@fc.jit
def accuracy(params: dict, images, labels):
    """The share of images whose largest logit is the label's."""
    logits = fc.vmap(predict, in_axes=(None, 0))(params, images)
    return (fc.argmax(logits, axis=1) == labels).astype(fc.float32).mean()


# ---- per-sample gradients ------------------------------------------------------------------------

per_sample_gradients = fc.vmap(fc.grad(loss), in_axes=(None, 0, 0))


def norms(gradients):
    """The norm of every sample's gradient, over all of its arrays together."""
    squares = [(g.reshape((len(g), -1)) ** 2).sum(axis=1) for g in fc.tree.leaves(gradients)]
    return fc.sqrt(sum(squares))


@fc.jit
def private_step(params: dict, images, labels, key, rate, clip, noise):
    """One step of DP-SGD: gradients clipped to norm `clip` one by one, summed, with noise added."""
    gradients = per_sample_gradients(params, images, labels)
    scale = fc.minimum(clip / norms(gradients), 1.0)
    leaves, structure = fc.tree.flatten(gradients)
    keys = fc.random.split(key, len(leaves))
    sums = [
        fc.tensordot(scale, g, axes=1) + noise * clip * fc.random.normal(k, g.shape[1:]) for g, k in zip(leaves, keys)
    ]
    update = fc.tree.unflatten(structure, sums)
    return fc.tree.map(lambda p, g: p - rate / len(images) * g, params, update)


# ---- curvature -----------------------------------------------------------------------------------


def hessian_vector_product(params: dict, vector: dict, images, labels):
    """H v, where H is the Hessian of the mean loss: forward mode over reverse mode."""
    gradient = fc.grad(lambda p: mean_loss(p, images, labels))
    return fc.jvp(gradient, (params,), (vector,))[1]


def inner(a: dict, b: dict):
    """The inner product of two trees."""
    return sum(fc.tree.leaves(fc.tree.map(lambda x, y: (x * y).sum(), a, b)))


@fc.jit
def largest_eigenvalue(params: dict, images, labels, key, iterations):
    """(the Hessian's eigenvalue of largest magnitude, its eigenvector) by power iteration."""
    keys = dict(zip(sorted(params), fc.random.split(key, len(params))))
    start = {name: fc.random.normal(keys[name], p.shape) for name, p in params.items()}

    def step(_, vector):
        vector = fc.tree.map(lambda v: v / fc.sqrt(inner(vector, vector)), vector)
        return hessian_vector_product(params, vector, images, labels)

    last = fc.fori_loop(0, iterations, step, start)
    vector = fc.tree.map(lambda v: v / fc.sqrt(inner(last, last)), last)
    return inner(vector, hessian_vector_product(params, vector, images, labels)), vector


# ---- the experiment ------------------------------------------------------------------------------


def train(params: dict, data, key, steps: int, noise: float, batch: int = 256) -> dict:
    """DP-SGD for so many steps of random batches."""
    images, labels = data
    for k in fc.random.split(key, steps):
        pick, privacy = fc.random.split(k)
        rows = fc.random.randint(pick, (batch,), 0, len(labels))
        params = private_step(params, images[rows], labels[rows], privacy, 1.5, 1.0, noise)
    return params


def main():
    """Train, then print the accuracy, the hardest samples and the curvature."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--noise", type=float, default=1.0, help="in units of the clipping norm")
    args = parser.parse_args()

    data, test = digits()
    start, training, power = fc.random.split(fc.random.key(0), 3)
    params = init(start, args.width)
    sharpness, _ = largest_eigenvalue(params, *data, power, 30)
    print(f"before: largest eigenvalue of the Hessian {sharpness.item():.3f}")

    params = train(params, data, training, args.steps, args.noise)
    sizes = np.asarray(fc.jit(lambda *a: norms(per_sample_gradients(*a)))(params, *data))
    print(
        f"gradient norms of {len(sizes)} samples: median {np.median(sizes):.3f}, "
        f"largest {sizes.max():.3f} (sample {sizes.argmax()})"
    )
    sharpness, vector = largest_eigenvalue(params, *data, power, 30)
    product = hessian_vector_product(params, vector, *data)
    residual = inner(*[fc.tree.map(lambda h, v: h - sharpness * v, product, vector)] * 2)
    print(f"after: largest eigenvalue {sharpness.item():.3f}, |Hv - λv| = {fc.sqrt(residual).item():.3f}")
    print(f"test accuracy: {accuracy(params, *test).item():.3f}")


if __name__ == "__main__":
    main()
