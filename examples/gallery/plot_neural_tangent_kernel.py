"""
The neural tangent kernel
=========================

A wide network that is trained by gradient descent does what regression with a kernel does: the products of its
gradients at two inputs. Here both are drawn for networks of three widths.
"""

import matplotlib.pyplot as plt

import functorch_core as fc

x = fc.asarray([-2.0, -1.2, -0.3, 0.9, 1.7])
y = fc.sin(2 * x)
everywhere = fc.linspace(-3.0, 3.0, 100)


def init(key, width):
    """Weights of a network 1 -> width -> width -> 1."""
    keys = fc.random.split(key, 4)
    shapes = [(1, width), (width,), (width, width), (width, 1)]
    return [fc.random.normal(k, s) for k, s in zip(keys, shapes)]


def predict(params, point):
    """The network at one point; weights are divided by the root of their number."""
    w1, b1, w2, w3 = params
    width = len(b1)
    hidden = fc.tanh(point * w1[0] + b1)
    hidden = fc.tanh(hidden @ w2 / width**0.5)
    return (hidden @ w3)[0] / width**0.5


def kernel(params, a, b):
    """The products of the gradients at the points a and b."""
    gradients = fc.vmap(fc.grad(predict), in_axes=(None, 0))
    flat = lambda tree: fc.concat([g.reshape((len(g), -1)) for g in fc.tree.leaves(tree)], axis=1)
    return flat(gradients(params, a)) @ flat(gradients(params, b)).T


many = fc.vmap(predict, in_axes=(None, 0))


@fc.jit
def by_kernel(params):
    """What regression with the kernel of the start predicts."""
    missing = y - many(params, x)
    return many(params, everywhere) + kernel(params, everywhere, x) @ fc.linalg.solve(kernel(params, x, x), missing)


@fc.jit
def by_training(params):
    """What the network predicts after 2,000 steps of gradient descent."""
    step = lambda p, _: (
        fc.tree.map(lambda v, g: v - 0.1 * g, p, fc.grad(lambda q: 0.5 * ((many(q, x) - y) ** 2).sum())(p)),
        None,
    )
    return many(fc.scan(step, params, length=2000)[0], everywhere)


figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), sharey=True)
for panel, width in zip(axes, (8, 32, 256)):
    params = init(fc.random.key(0), width)
    trained, regression = by_training(params), by_kernel(params)
    panel.plot(everywhere, trained, label="network, trained")
    panel.plot(everywhere, regression, "--", label="regression with its kernel")
    panel.plot(x, y, "k.")
    difference = float(fc.abs(trained - regression).mean())
    panel.set(title=f"width {width}: they differ by {difference:.3f}", ylim=(-2.5, 2.5))
axes[0].legend()
figure.tight_layout()
