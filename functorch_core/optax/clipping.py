"""Clipping of updates."""

from __future__ import annotations

import math

import functorch_core as fc

from .base import GradientTransformation, global_norm, like, required, squared, stateless, stateless_with_tree_map


def clip(max_delta) -> GradientTransformation:
    """Updates within [-max_delta, max_delta], elementwise."""
    return stateless_with_tree_map(lambda g, p: fc.clip(g, -max_delta, max_delta))


def clip_by_global_norm(max_norm) -> GradientTransformation:
    """Updates scaled down, all by one factor, to a norm of max_norm at most.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> tx = optax.clip_by_global_norm(1.)
    >>> tx.update({"w": fc.asarray([3.]), "b": fc.asarray([4.])}, tx.init(None))[0]
    {'b': Array([0.8], dtype=float32), 'w': Array([0.6], dtype=float32)}
    """

    def clipped(updates, params):
        norm = global_norm(updates)
        return fc.tree.map(lambda g: fc.where(norm < max_norm, g, g / like(norm, g) * max_norm), updates)

    return stateless(clipped)


def clip_by_block_rms(threshold) -> GradientTransformation:
    """Each leaf scaled down to a root mean square of `threshold` at most."""
    return stateless_with_tree_map(lambda g, p: g / fc.maximum(1.0, fc.sqrt(fc.mean(squared(g))) / threshold))


def adaptive_grad_clip(clipping, eps=1e-3, axis=None) -> GradientTransformation:
    """Each unit of a leaf scaled down to `clipping` times the norm of its weights at most (Brock et al. 2021).

    A unit is the whole of a vector, a column of a matrix, an output channel of a kernel (height, width, input,
    output); or what lies along `axis`.
    """

    def clipped(g, p):
        axes = _unit_axes(g) if axis is None else axis
        size, step = (fc.sqrt(fc.sum(squared(x), axis=axes, keepdims=True)) for x in (p, g))
        most = clipping * fc.maximum(size, eps)
        return fc.where(step < most, g, g * (most / fc.maximum(step, 1e-6)))

    return stateless(lambda updates, params: fc.tree.map(clipped, updates, required(params, "adaptive_grad_clip")))


def _unit_axes(g) -> tuple[int, ...]:
    if sum(n != 1 for n in g.shape) <= 1:
        return tuple(range(g.ndim))
    if g.ndim in (2, 3):
        return (0,)
    if g.ndim == 4:
        return (0, 1, 2)
    raise ValueError(f"adaptive_grad_clip: leaves have at most 4 dimensions, one is {g.aval}; give axis=...")


def per_example_global_norm_clip(grads, l2_norm_clip):
    """(sum of the gradients of examples, each clipped to a norm, how many were): leaves have the examples in front.

    For private training: add noise to the sum.
    """
    leaves, structure = fc.tree.flatten(grads)
    norms = fc.sqrt(sum(fc.sum(squared(g), axis=tuple(range(1, g.ndim))) for g in leaves))
    factors = fc.minimum(l2_norm_clip / fc.maximum(norms, 1e-38), 1.0)
    total = [fc.tensordot(factors.astype(g.dtype), g, axes=1) for g in leaves]
    return structure.unflatten(total), fc.sum(norms > l2_norm_clip)


def per_example_layer_norm_clip(grads, global_l2_norm_clip, uniform: bool = True):
    """per_example_global_norm_clip of each leaf by itself, and a count for each: their norms together are
    global_l2_norm_clip at most, shared equally, or by the roots of their sizes if not `uniform`."""
    leaves, structure = fc.tree.flatten(grads)
    sizes = [1 if uniform else g.size // g.shape[0] for g in leaves]
    limits = [global_l2_norm_clip * math.sqrt(size / sum(sizes)) for size in sizes]
    found = [per_example_global_norm_clip(g, limit) for g, limit in zip(leaves, limits)]
    return structure.unflatten([total for total, _ in found]), structure.unflatten([count for _, count in found])
