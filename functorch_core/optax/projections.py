"""Projections onto convex sets: the nearest point of a set, by Euclidean distance, of trees of arrays."""

from __future__ import annotations

import functorch_core as fc

from .base import global_norm
from .tree import vdot


def projection_non_negative(tree):
    """Numbers below 0 become 0.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> optax.projections.projection_non_negative(fc.asarray([-1., 2.]))
    Array([0., 2.], dtype=float32)
    """
    return fc.tree.map(fc.relu, tree)


def _clip_tree(tree, lower, upper):
    return fc.tree.map(fc.clip, tree, _like(lower, tree), _like(upper, tree))


def _like(bound, tree):
    if fc.tree.structure(bound) == fc.tree.structure(tree):
        return bound
    return fc.tree.map(lambda _: bound, tree)


def projection_box(tree, lower, upper):
    """Each number moved into [lower, upper], which are numbers or trees.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> optax.projections.projection_box(fc.asarray([-1., 2.]), 0., 1.)
    Array([0., 1.], dtype=float32)
    """
    return _clip_tree(tree, lower, upper)


def projection_hypercube(tree, scale=1):
    """Each number moved into [0, scale]."""
    return projection_box(tree, 0, scale)


def projection_linf_ball(tree, scale=1):
    """Each number moved into [-scale, scale]."""
    return projection_box(tree, -scale, scale)


def _flat(tree):
    return fc.flatten_util.ravel_pytree(tree)


def _simplex(values, scale):
    """The point max(x - t, 0) that sums to scale; t follows from the sorted numbers (Held et al. 1974)."""
    ordered = fc.flip(fc.sort(values))
    above = fc.cumsum(ordered) - scale
    count = fc.arange(1, values.size + 1, dtype=values.dtype)
    last = fc.sum(ordered - above / count > 0) - 1
    return fc.relu(values - fc.take(above, last) / fc.take(count, last))


def projection_simplex(tree, scale=1):
    """The numbers, none below 0, that sum to scale over the whole tree.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> optax.projections.projection_simplex(fc.asarray([0.5, 1.5]))
    Array([0., 1.], dtype=float32)
    """
    values, unravel = _flat(tree)
    return unravel(_simplex(values, scale))


def projection_l1_sphere(tree, scale=1):
    """The numbers whose absolute values sum to scale."""
    values, unravel = _flat(tree)
    return unravel(_l1_sphere(values, scale))


def _l1_sphere(values, scale):
    return fc.where(values >= 0, 1, -1).astype(values.dtype) * _simplex(fc.abs(values), scale)


def projection_l1_ball(tree, scale=1):
    """The numbers whose absolute values sum to scale, at most."""
    values, unravel = _flat(tree)
    return unravel(fc.where(fc.sum(fc.abs(values)) <= scale, values, _l1_sphere(values, scale)))


def projection_l2_sphere(tree, scale=1):
    """The tree whose Euclidean norm is scale."""
    norm = global_norm(tree)
    return fc.tree.map(lambda x: x * (scale / norm), tree)


def projection_l2_ball(tree, scale=1):
    """The tree whose Euclidean norm is scale, at most."""
    size = sum(fc.sum(x * x) for x in fc.tree.leaves(tree))
    inside = size <= scale**2
    norm = fc.sqrt(fc.where(inside, 1.0, size))
    return fc.tree.map(lambda x: fc.where(inside, x, x * (scale / norm)), tree)


def projection_vector(x, a):
    """The multiple of the tree a that is nearest to x."""
    factor = vdot(x, a) / vdot(a, a)
    return fc.tree.map(lambda v: factor * v, a)


def projection_hyperplane(x, a, b):
    """The nearest tree whose product with a is b."""
    factor = (vdot(a, x) - b) / vdot(a, a)
    return fc.tree.map(lambda u, v: u - factor * v, x, a)


def projection_halfspace(x, a, b):
    """The nearest tree whose product with a is b, at most."""
    factor = fc.relu(vdot(a, x) - b) / vdot(a, a)
    return fc.tree.map(lambda u, v: u - factor * v, x, a)


__all__ = [name for name in dir() if name.startswith("projection_")]
