"""Eigenvalues by iteration, roots of matrices, least squares without negative numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import functorch_core as fc

from ..core.explain import explaining
from . import tree
from .base import GradientTransformation


@explaining
def power_iteration(matrix, *, v0=None, num_iters=100, error_tolerance=1e-6, precision=None, key=None):
    """(the eigenvalue of largest size, its eigenvector), by multiplying again and again.

    matrix: an array, or a function that multiplies by it, which needs a start v0, a tree. Without v0 the start is
    drawn by a key (PRNGKey(0)).

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> value, vector = optax.power_iteration(fc.asarray([[2., 1.], [1., 2.]]))
    >>> round(float(value), 4)
    3.0
    """
    times = matrix if callable(matrix) else lambda v: fc.matmul(matrix, v)
    if v0 is None:
        if callable(matrix):
            raise ValueError("power_iteration: of a function the start v0 is needed, a tree like its argument")
        key = fc.random.PRNGKey(0) if key is None else key
        v0 = fc.random.uniform(key, matrix.shape[-1:], matrix.dtype, -1.0, 1.0)

    def unit(v):
        return tree.scale(1.0 / tree.norm(v), v)

    def goes_on(state):
        vector, product, value, n = state
        error = tree.norm(tree.sub(product, tree.scale(value, vector)))
        return fc.logical_and(n < num_iters, error > error_tolerance * fc.abs(value))

    def step(state):
        vector = unit(state[1])
        product = times(vector)
        return vector, product, tree.vdot(vector, product), state[3] + 1

    v0 = unit(v0)
    first = times(v0)
    start = v0, first, fc.zeros_like(tree.vdot(v0, first)), fc.asarray(0)
    _, product, value, _ = fc.while_loop(lambda s: fc.logical_or(s[3] == 0, goes_on(s)), step, start)
    return value, unit(product)


@explaining
def matrix_inverse_pth_root(matrix, p: int, num_iters=100, ridge_epsilon=1e-6, error_tolerance=1e-6, precision=None):
    """(matrix ** (-1 / p), the largest error of an element), of a symmetric matrix without negative eigenvalues.

    ridge_epsilon times the largest eigenvalue is added to all of them first. num_iters and error_tolerance are
    optax's, which iterates; here it is by the eigenvalues.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> optax.matrix_inverse_pth_root(fc.asarray([[4., 0.], [0., 16.]]), 2)[0].round(3)
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    matrix = fc.asarray(matrix).astype("float32")
    values, vectors = fc.linalg.eigh(matrix)
    ridge, one = ridge_epsilon * fc.maximum(values[-1], 1e-16), fc.eye(len(matrix))
    root = (vectors * (fc.maximum(values, 0.0) + ridge) ** (-1.0 / p)) @ vectors.T
    return root, fc.max(fc.abs(fc.linalg.matrix_power(root, p) @ (matrix + ridge * one) - one))


@explaining
def nnls(A, b, iters: int, unroll=1, L=None):  # noqa: N803  the names are optax's
    """The x without negative numbers that makes A x - b small, after so many accelerated projected steps.

    A [m, n], b [m] or [m, k]. L: a bound of the eigenvalues of A.T A, by default from its norms.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> optax.nnls(fc.asarray([[1., 2.], [3., 4.]]), fc.asarray([5., 6.]), 1000).round(2)
    Array([0. , 1.7], dtype=float32)
    """
    A, b = fc.asarray(A), fc.asarray(b)
    if A.ndim != 2 or b.ndim not in (1, 2) or A.shape[0] != b.shape[0]:
        raise ValueError(f"nnls takes A [m, n] and b [m] or [m, k], got {A.aval} and {b.aval}")
    square, target = A.T @ A, A.T @ b
    if L is None:
        size = fc.abs(square)
        L = fc.minimum(fc.sqrt(fc.sum(size**2)), fc.max(fc.sum(size, axis=0))) if square.size else fc.asarray(1.0)
    rate = 1.0 / fc.where(fc.asarray(L) == 0, 1.0, L)

    def step(state, _):
        x, ahead, c = state
        new_c = (1 + fc.sqrt(1 + 4 * c * c)) / 2
        new = fc.maximum(ahead - rate * (square @ ahead - target), 0.0)
        return (new, new + (c - 1) / new_c * (new - x), new_c), None

    zero = fc.zeros((A.shape[1], *b.shape[1:]), dtype=target.dtype)
    return fc.scan(step, (zero, zero, fc.zeros((), dtype=target.dtype)), length=iters, unroll=unroll)[0][0]


class ScaleByDistanceOverGradientsState(NamedTuple):
    """The largest distance from the start, the sum of squares of gradients, and the start, for each array."""

    max_dist: Any
    grad_sum_of_squares: Any
    init_params: Any


def scale_by_distance_over_gradients(
    reps_rel=1e-6, eps=1e-8, param_dtype="float32", global_scale=1.0
) -> GradientTransformation:
    """Each array's gradient times the farthest it has been from its start, by the length of its gradients (LDoG)."""

    def far(x, y=0.0):
        return fc.sqrt(fc.sum((x - y) ** 2))

    def init(params):
        return ScaleByDistanceOverGradientsState(
            fc.tree.map(lambda x: reps_rel * (1 + far(x)), params),
            fc.tree.map(lambda x: fc.zeros(1), params),
            tree.cast(params, param_dtype),
        )

    def update(updates, state, params):
        far_est = fc.tree.map(lambda d, x, y: fc.maximum(d, far(x, y)), state.max_dist, params, state.init_params)
        squares = fc.tree.map(lambda s, g: s + fc.sum(g * g), state.grad_sum_of_squares, updates)
        new = fc.tree.map(lambda g, d, s: global_scale * d / fc.sqrt(s + eps) * g, updates, far_est, squares)
        return new, ScaleByDistanceOverGradientsState(far_est, squares, state.init_params)

    return GradientTransformation(init, update)


__all__ = [
    "ScaleByDistanceOverGradientsState",
    "matrix_inverse_pth_root",
    "nnls",
    "power_iteration",
    "scale_by_distance_over_gradients",
]
