"""From a constraint to a transform of all real numbers into it.

`biject_to(constraint)` is bijective; `transform_to(constraint)` need not be: it suits optimisation.

>>> d = torch.distributions
>>> d.transform_to(d.constraints.simplex)(torch.zeros(2))
tensor([0.5000, 0.5000])
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number

from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Functions that make a transform, by the class of the constraint.

    >>> from torch.distributions import constraints, transform_to
    >>> transform_to(constraints.positive)(torch.tensor([0.]))
    tensor([1.])
    """

    def __init__(self):
        self._registry: dict[type, Callable] = {}
        super().__init__()

    def register(self, constraint, factory: Callable | None = None):
        """Let factory(constraint) make the transform for constraints of that class; without a
        factory, a decorator. A constraint stands for its class."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint):
        name = type(constraint).__name__
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {name} constraints") from None
        return factory(constraint)


biject_to = ConstraintRegistry()
biject_to.__doc__ = """A bijection from all real numbers to a constraint: `biject_to(constraint)`.

>>> from torch.distributions import biject_to, constraints
>>> biject_to(constraints.positive)(torch.tensor(0.))
tensor(1.)
"""
transform_to = ConstraintRegistry()
transform_to.__doc__ = """A transform from all real numbers onto a constraint, perhaps no bijection.

>>> from torch.distributions import constraints, transform_to
>>> transform_to(constraints.simplex)(torch.zeros(2))
tensor([0.5000, 0.5000])
"""


def _in_both(*kinds):
    """Register a factory for these classes in both registries."""

    def register(factory):
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return register


def _with_both(kind):
    """Register factory(registry, constraint), which asks the registry for parts of a constraint."""

    def register(factory):
        for registry in (biject_to, transform_to):
            registry.register(kind, lambda c, registry=registry: factory(registry, c))
        return factory

    return register


# ---- numbers -------------------------------------------------------------------------------------


@_in_both(constraints.real)
def _real(constraint):
    return transforms.identity_transform


@_in_both(constraints.positive, constraints.nonnegative)
def _above(constraint):
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)]
    )


@_in_both(constraints.less_than)
def _below(constraint):
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)]
    )


@_in_both(constraints.interval, constraints.half_open_interval)
def _between(constraint):
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, Number) and low == 0 and isinstance(high, Number) and high == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


# ---- vectors and matrices ------------------------------------------------------------------------

biject_to.register(constraints.simplex, lambda c: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda c: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda c: transforms.LowerCholeskyTransform())
for _kind in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_kind, lambda c: transforms.PositiveDefiniteTransform())


@_in_both(constraints.corr_cholesky)
def _corr_cholesky(constraint):
    return transforms.CorrCholeskyTransform()


# ---- made of others ------------------------------------------------------------------------------


@_with_both(constraints.independent)
def _independent(registry, constraint):
    return transforms.IndependentTransform(registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims)


@_with_both(constraints.cat)
def _cat(registry, constraint):
    return transforms.CatTransform([registry(c) for c in constraint.cseq], constraint.dim, constraint.lengths)


@_with_both(constraints.stack)
def _stack(registry, constraint):
    return transforms.StackTransform([registry(c) for c in constraint.cseq], constraint.dim)
