"""
Choosing a hyperparameter by its gradient
=========================================

How much a fit should be regularized is found by gradient descent, too. The fit is the solution of an equation; by the
theorem of implicit functions its derivative is the solution of another one, whatever the solver did. ``fc.custom_vjp``
says so.
"""

import matplotlib.pyplot as plt
import numpy as np

import functorch_core as fc

rng = np.random.default_rng(0)
true = np.concatenate([rng.standard_normal(5), np.zeros(35)])
x, x_held_out = (fc.asarray(rng.standard_normal((n, 40))) for n in (60, 200))
y, y_held_out = (fc.asarray(np.asarray(a) @ true + rng.standard_normal(len(a))) for a in (x, x_held_out))


def objective(w, log_strength):
    """The error of a fit and what its weights cost: a smooth form of their absolute values."""
    return ((x @ w - y) ** 2).mean() + fc.exp(log_strength) * (fc.sqrt(w**2 + 1e-2)).sum()


condition = fc.grad(objective)  # zero at the solution


@fc.custom_vjp
def solution(log_strength):
    """The best weights, by Newton's method: how they are found is not differentiated."""
    newton = lambda w, _: (
        w - fc.linalg.solve(fc.hessian(objective)(w, log_strength), condition(w, log_strength)),
        None,
    )
    return fc.scan(newton, fc.zeros(40, dtype=fc.float64), length=20)[0]


def forward(log_strength):
    """The solution, and what the backward pass needs."""
    w = solution(log_strength)
    return w, (w, log_strength)


def backward(kept, cotangent):
    """condition(w, s) = 0 along w(s): the Hessian times dw/ds is minus the derivative of the condition by s."""
    w, log_strength = kept
    adjoint = fc.linalg.solve(fc.hessian(objective)(w, log_strength), cotangent)
    return (-fc.vjp(lambda s: condition(w, s), log_strength)[1](adjoint)[0],)


solution.defvjp(forward, backward)


@fc.jit
def held_out(log_strength):
    """The error on points that the fit has not seen."""
    return ((x_held_out @ solution(log_strength) - y_held_out) ** 2).mean()


# %%
# Twelve steps of gradient descent on the strength, and the error for all strengths.

descend = fc.jit(fc.value_and_grad(held_out))
current, visited = fc.asarray(-5.0, dtype=fc.float64), []
for _ in range(12):
    error, slope = descend(current)
    visited.append((float(current), float(error)))
    current = current - 4.0 * slope
print(f"strength {np.exp(visited[-1][0]):.3f}: error {visited[-1][1]:.3f}, at first {visited[0][1]:.3f}")

strengths = fc.linspace(-7.0, 1.0, 60, dtype=fc.float64)
errors = fc.jit(fc.vmap(held_out))(strengths)
weights = fc.jit(fc.vmap(solution))(strengths)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4))
left.plot(strengths, errors)
left.plot(*zip(*visited), "o-", label="steps")
left.set(title="error on held out points", xlabel="logarithm of the strength")
left.legend()
right.plot(strengths, weights[:, 5:], color="lightgray", linewidth=0.7)
right.plot(strengths, weights[:, :5])
right.set(title="weights (coloured: those that are not 0 in truth)", xlabel="logarithm of the strength")
figure.tight_layout()
