"""
Which samples teach the most
============================

The gradient of a batch is a mean. ``fc.vmap`` of ``fc.grad`` gives the gradient of every sample, and its norm says
what a trained classifier still finds hard: the digits that people find hard, too, and those with a wrong label.
"""

import matplotlib.pyplot as plt
import numpy as np

import functorch_core as fc

data = np.load("../digits.npz")
images = fc.asarray(data["images"].reshape(-1, 64).astype(np.float32) / 16)
right = data["labels"].astype(np.int64)

# %%
# Ten labels are made wrong.

wrong = np.random.default_rng(0).choice(len(right), 10, replace=False)
given = right.copy()
given[wrong] = (given[wrong] + 3) % 10
labels = fc.asarray(given)


def loss(params, image, label):
    """The cross-entropy of one image."""
    hidden = fc.tanh(image @ params["w1"] + params["b1"])
    return fc.softmax_cross_entropy_with_integer_labels(hidden @ params["w2"] + params["b2"], label)


def step(params, _):
    """A step of gradient descent on all images."""
    mean = lambda p: fc.vmap(loss, in_axes=(None, 0, 0))(p, images, labels).mean()
    return fc.tree.map(lambda p, g: p - 1.0 * g, params, fc.grad(mean)(params)), None


first, second = fc.random.split(fc.random.key(0))
params = {
    "w1": fc.random.normal(first, (64, 32)) / 8,
    "b1": fc.zeros(32),
    "w2": fc.random.normal(second, (32, 10)) / 6,
    "b2": fc.zeros(10),
}
params, _ = fc.jit(lambda p: fc.scan(step, p, length=300))(params)

# %%
# A gradient for every sample, and its norm over all parameters.


@fc.jit
def norms(params):
    """The norm of each image's gradient."""
    gradients = fc.vmap(fc.grad(loss), in_axes=(None, 0, 0))(params, images, labels)
    return fc.sqrt(sum((g.reshape((len(g), -1)) ** 2).sum(axis=1) for g in fc.tree.leaves(gradients)))


found = np.asarray(norms(params))
order = np.argsort(-found)
print(f"of the 10 wrong labels, {len(set(order[:20]) & set(wrong))} are among the 20 largest gradients")

figure, rows = plt.subplots(2, 10, figsize=(11, 3))
for panel, i in zip(rows.flat, order[:20]):
    panel.imshow(data["images"][i], cmap="gray_r")
    colour = "red" if i in wrong else "black"
    panel.set_title(f"{given[i]}: {found[i]:.1f}", fontsize=9, color=colour)
    panel.axis("off")
figure.suptitle("label and norm of the gradient; labels made wrong in red")
figure.tight_layout()
