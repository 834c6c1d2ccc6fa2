"""
The spectrum of a Hessian
=========================

All eigenvalues of the Hessian of a network's loss, before and after training: a bulk near zero and a few large ones.
``fc.hessian`` gives the whole matrix of 674 x 674 in one compiled function; Hessian-vector products
(``fc.jvp`` of ``fc.grad``) give the largest eigenvalue without it.
"""

import matplotlib.pyplot as plt
import numpy as np

import functorch_core as fc

data = np.load("../digits.npz")
images = fc.asarray(data["images"].reshape(-1, 4, 2, 4, 2).mean((2, 4)).reshape(-1, 16)[:500].astype(np.float32) / 16)
labels = fc.asarray(data["labels"][:500].astype(np.int64))

# %%
# The parameters are one vector, so that the Hessian is one matrix.

WIDTH = 24
shapes = [(16, WIDTH), (WIDTH,), (WIDTH, 10), (10,)]
sizes = [int(np.prod(shape)) for shape in shapes]
ends = np.cumsum([0, *sizes])


def loss(vector):
    """The mean cross-entropy of the digits, of a network 16 -> 24 -> 10."""
    w1, b1, w2, b2 = (vector[i:j].reshape(s) for i, j, s in zip(ends, ends[1:], shapes))
    logits = fc.tanh(images @ w1 + b1) @ w2 + b2
    return fc.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def descend(vector, _):
    """A step of gradient descent."""
    value, gradient = fc.value_and_grad(loss)(vector)
    return vector - 0.5 * gradient, value


start = fc.random.normal(fc.random.key(0), (int(ends[-1]),)) * 0.3
end, losses = fc.jit(lambda v: fc.scan(descend, v, length=800))(start)
print(f"loss {losses[0]:.2f} at the start, {losses[-1]:.3f} at the end")

# %%
# The spectra.

spectrum = fc.jit(lambda vector: fc.linalg.eigvalsh(fc.hessian(loss)(vector)))
before, after = np.asarray(spectrum(start)), np.asarray(spectrum(end))

# %%
# The largest eigenvalue without the matrix, by power iteration.


@fc.jit
def largest(vector):
    """The largest eigenvalue of the Hessian."""

    def turn(direction, _):
        image = fc.jvp(fc.grad(loss), (vector,), (direction,))[1]
        return image / fc.linalg.vector_norm(image), fc.sum(direction * image)

    return fc.scan(turn, fc.ones_like(vector) / len(vector) ** 0.5, length=100)[1][-1]


print(f"largest eigenvalue after training: {after[-1]:.4f}; by power iteration: {largest(end):.4f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), width_ratios=[1, 1.8])
left.semilogy(losses)
left.set(title="loss", xlabel="step")
edges = np.linspace(min(before[0], after[0]), max(before[-1], after[-1]), 80)
right.hist([before, after], edges, label=["before", "after"], log=True)
right.set(title="eigenvalues of the Hessian", xlabel="eigenvalue", ylabel="number")
right.legend()
figure.tight_layout()
