"""Derivatives of functions that have none, by random perturbations of their arguments."""

from __future__ import annotations

from collections.abc import Callable

import functorch_core as fc

from . import tree


class Gumbel:
    """Gumbel's distribution as noise.

    >>> import functorch_core as fc
    >>> from functorch_core.optax import perturbations
    >>> perturbations.Gumbel().log_prob(fc.asarray(0.))
    Array(-1., dtype=float32)
    """

    def sample(self, key, sample_shape=(), dtype=float):
        """Noise of a shape."""
        return fc.random.gumbel(key, sample_shape, dtype)

    def log_prob(self, inputs):
        """The logarithm of its density."""
        return -inputs - fc.exp(-inputs)


GUMBEL = Gumbel()


class Normal:
    """Normal noise; the constant of its density is left out.

    >>> import functorch_core as fc
    >>> from functorch_core.optax import perturbations
    >>> perturbations.Normal().log_prob(fc.asarray(2.))
    Array(-2., dtype=float32)
    """

    def sample(self, key, sample_shape=(), dtype=float):
        """Noise of a shape."""
        return fc.random.normal(key, sample_shape, dtype)

    def log_prob(self, inputs):
        """The logarithm of its density, up to a constant."""
        return -0.5 * inputs**2


def make_perturbed_fun(
    fun: Callable, num_samples: int = 1000, sigma=0.1, noise=GUMBEL, use_baseline: bool = True
) -> Callable:
    """smooth(key, x), the mean of fun(x + sigma * noise): its derivatives, of any order, ask for values of fun alone.

    x and the results are trees. They are estimates by the score function (Foerster et al. 2018), less that of fun(x)
    with `use_baseline`.

    >>> import functorch_core as fc
    >>> from functorch_core.optax import perturbations
    >>> count = lambda x: (x > 0).astype(float).sum()
    >>> smooth = perturbations.make_perturbed_fun(count, 1000, noise=perturbations.Normal())
    >>> smooth(fc.random.key(0), fc.asarray([1., -1.]))
    Array(1., dtype=float32)
    """

    def one(key, x, baseline):
        drawn = tree.random_like(key, x, sampler=noise.sample)
        moved = fc.lax.stop_gradient(fc.tree.map(lambda a, z: a + sigma * z, x, drawn))
        back = fc.tree.map(lambda a, y: (y - a) / sigma, x, moved)
        score = tree.sum(fc.tree.map(noise.log_prob, back))
        box = fc.exp(score - fc.lax.stop_gradient(score))  # 1, whose derivative is the score's
        out = fc.tree.map(lambda v: box * v, fun(moved))
        return out if baseline is None else fc.tree.map(lambda v, b: v + (1 - box) * b, out, baseline)

    def smooth(key, x):
        baseline = fun(fc.lax.stop_gradient(x)) if use_baseline else None
        every = fc.vmap(one, in_axes=(0, None, None))(fc.random.split(key, num_samples), x, baseline)
        return fc.tree.map(lambda v: fc.mean(v, axis=0), every)

    return smooth


__all__ = ["Gumbel", "Normal", "make_perturbed_fun"]
