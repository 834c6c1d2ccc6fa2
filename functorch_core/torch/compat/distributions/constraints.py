"""Regions in which parameters and values lie: `check(value)` says which elements do.

    boolean  nonnegative_integer  positive_integer  integer_interval(low, high)
    real  positive  nonnegative  unit_interval  greater_than(x)  greater_than_eq(x)  less_than(x)
    interval(low, high)  half_open_interval(low, high)
    real_vector  simplex  one_hot  multinomial(n)
    lower_triangular  lower_cholesky  corr_cholesky  square  symmetric  positive_semidefinite
    positive_definite
    independent(constraint, dims)  cat(constraints)  stack(constraints)  dependent

>>> c = torch.distributions.constraints
>>> c.interval(0., 1.).check(torch.tensor([.5, 2.]))
tensor([ True, False])
>>> c.simplex
Simplex()
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable

import numpy as np

from .... import torch

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]

TOLERANCE = 1e-6  # of sums and symmetry, in which rounding adds up


class Constraint:
    """A region; `is_discrete`, and `event_dim`, how many last dimensions one element of it has.

    >>> from torch.distributions import constraints
    >>> constraints.positive.check(torch.tensor([-1., 2.]))
    tensor([False,  True])
    """

    is_discrete = False
    event_dim = 0
    takes_arrays = False  # whether `check` is right for NumPy's arrays, too: small ones take a tenth of the time

    def check(self, value):
        """A bool tensor, without the event's dimensions: whether each element lies inside."""
        raise NotImplementedError

    def elements(self, value) -> Constraint:
        """A constraint that all of a value satisfies if it does this one: of fewer dimensions, if there is one."""
        return self

    def __repr__(self):
        bounds = [f"{name}={getattr(self, name)}" for name in ("lower_bound", "upper_bound") if name in vars(self)]
        return f"{_title(self)}({', '.join(bounds)})"


def _title(constraint: Constraint) -> str:
    return type(constraint).__name__.removeprefix("_")


# ---- what depends on other parameters ------------------------------------------------------------


class _Dependent(Constraint):
    """A region that depends on other parameters; what of it is known is said beforehand."""

    def __init__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        self._is_discrete, self._event_dim = is_discrete, event_dim
        super().__init__()

    @property
    def is_discrete(self):
        """Whether it holds isolated points only."""
        return self._known("is_discrete")

    @property
    def event_dim(self):
        """How many dimensions one element has."""
        return self._known("event_dim")

    def _known(self, name: str):
        found = getattr(self, f"_{name}")
        if found is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return found

    def __call__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value):
        """ValueError: it is not known which region is meant."""
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint) -> bool:
    """Whether a constraint says only that others decide.

    >>> from torch.distributions import Uniform, constraints
    >>> constraints.is_dependent(Uniform.support), constraints.is_dependent(constraints.real)
    (True, False)
    """
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """`@constraints.dependent_property`: a constraint that an instance computes.

    >>> from torch.distributions import Uniform
    >>> Uniform(0., 2.).support.check(torch.tensor([1., 3.]))
    tensor([ True, False])
    """

    def __init__(self, fn: Callable | None = None, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        super().__init__(fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Callable):
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


# ---- made of other constraints -------------------------------------------------------------------


class _IndependentConstraint(Constraint):
    """A constraint on each element of a block of `reinterpreted_batch_ndims` dimensions.

    >>> from torch.distributions import constraints
    >>> constraints.independent(constraints.positive, 1).check(torch.tensor([[1., 2.], [1., -1.]]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int):
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        own = type(self).check is _IndependentConstraint.check
        self.takes_arrays = own and getattr(base_constraint, "takes_arrays", False)
        super().__init__()

    is_discrete = property(lambda self: self.base_constraint.is_discrete)
    event_dim = property(lambda self: self.base_constraint.event_dim + self.reinterpreted_batch_ndims)

    def elements(self, value) -> Constraint:
        """The base constraint, unless the value has too few dimensions (see `check`)."""
        own = type(self).check is _IndependentConstraint.check and value.dim() >= self.event_dim
        return self.base_constraint.elements(value) if own else self

    def check(self, value):
        """Whether all elements of each block lie inside."""
        found = self.base_constraint.check(value)
        shape, n = tuple(found.shape), self.reinterpreted_batch_ndims
        if len(shape) < n:
            least = self.base_constraint.event_dim + n
            raise ValueError(f"Expected value.dim() >= {least} but got {len(value.shape)}")
        if not n:
            return found
        return (found if n == 1 else found.reshape((*shape[:-n], math.prod(shape[-n:])))).all(-1)

    def __repr__(self):
        return f"{_title(self)}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture: that of its components, whose dimension is in the values' way.

    >>> from torch.distributions import Categorical, MixtureSameFamily, Normal
    >>> mixture = MixtureSameFamily(Categorical(torch.ones(2)), Normal(torch.zeros(2), torch.ones(2)))
    >>> mixture.support.check(torch.tensor(1.))
    tensor(True)
    """

    def __init__(self, base_constraint: Constraint):
        self.base_constraint = base_constraint
        super().__init__()

    is_discrete = property(lambda self: self.base_constraint.is_discrete)
    event_dim = property(lambda self: self.base_constraint.event_dim)

    def check(self, value):
        """Whether each value lies in the support of every component."""
        padded = value.unsqueeze(value.dim() - self.event_dim)
        found = self.base_constraint.check(padded)
        extra = value.dim() - self.event_dim
        if found.dim() < extra:
            raise ValueError(f"Expected value.dim() >= {extra} but got {found.dim()}")
        return found.flatten(extra).all(-1)

    def __repr__(self):
        return f"{_title(self)}({self.base_constraint!r})"


class _Joined(Constraint):
    """Constraints on parts of a tensor along one dimension."""

    is_discrete = property(lambda self: any(c.is_discrete for c in self.cseq))

    def _check(self, parts) -> list:
        return [constraint.check(part) for constraint, part in zip(self.cseq, parts)]


class _Cat(_Joined):
    """Constraints on consecutive slices, of these lengths, along a dimension.

    >>> from torch.distributions import constraints
    >>> both = constraints.cat([constraints.positive, constraints.real], dim=0, lengths=[1, 2])
    >>> both.check(torch.tensor([1., -1., 0.]))
    tensor([True, True, True])
    """

    def __init__(self, cseq, dim: int = 0, lengths=None):
        self.cseq = list(cseq)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        self.dim = dim
        super().__init__()

    event_dim = property(lambda self: max(c.event_dim for c in self.cseq))

    def check(self, value):
        """The answers of the slices, put together."""
        starts = itertools.accumulate(self.lengths, initial=0)
        parts = [value.narrow(self.dim, start, n) for start, n in zip(starts, self.lengths)]
        return torch.cat(self._check(parts), self.dim)


class _Stack(_Joined):
    """Constraints on the slices of length one along a dimension.

    >>> from torch.distributions import constraints
    >>> constraints.stack([constraints.positive, constraints.real], dim=0).check(torch.tensor([1., -1.]))
    tensor([True, True])
    """

    def __init__(self, cseq, dim: int = 0):
        self.cseq, self.dim = list(cseq), dim
        super().__init__()

    @property
    def event_dim(self):
        """That of the slices, and one more if the dimension is inside an event."""
        dim = max(c.event_dim for c in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value):
        """The answers of the slices, stacked."""
        return torch.stack(self._check(value.unbind(self.dim)), self.dim)


# ---- numbers -------------------------------------------------------------------------------------


def _is_whole(value) -> bool:
    """Whether a tensor, or an array, can hold nothing but whole numbers."""
    if value.__class__ is np.ndarray:
        return value.dtype.kind in "iub"
    return not (value.dtype.is_floating_point or value.dtype.is_complex)


class _Bounded(Constraint):
    """Numbers on the right side of a lower and an upper bound, as far as it has them."""

    above: Callable | None = None  # how a value compares with lower_bound
    below: Callable | None = None  # ... and with upper_bound

    def __init__(self, *bounds, **named):
        sides = ("lower_bound", self.above), ("upper_bound", self.below)
        names = [name for name, side in sides if side is not None]
        values = dict(zip(names, bounds), **named)
        if sorted(values) != names or len(bounds) > len(names):
            raise TypeError(f"{_title(self)}() expects {' and '.join(names)}")
        vars(self).update({name: values[name] for name in names})
        numbers = all([x.__class__ in (int, float) for x in values.values()])
        self.takes_arrays = numbers and type(self).check is _Bounded.check
        super().__init__()

    def check(self, value):
        """Whether each number is within the bounds, and whole if the region is discrete."""
        found = value % 1 == 0 if self.is_discrete and not _is_whole(value) else None
        if self.above is not None:
            inside = self.above(value, self.lower_bound)
            found = inside if found is None else found & inside
        if self.below is not None:
            inside = self.below(value, self.upper_bound)
            found = inside if found is None else found & inside
        return found


class _GreaterThan(_Bounded):
    """Numbers above a bound.

    >>> from torch.distributions import constraints
    >>> constraints.greater_than(1.).check(torch.tensor([1., 2.]))
    tensor([False,  True])
    """

    above = operator.gt


class _GreaterThanEq(_Bounded):
    """Numbers from a bound on.

    >>> from torch.distributions import constraints
    >>> constraints.greater_than_eq(1.).check(torch.tensor([1., 0.]))
    tensor([ True, False])
    """

    above = operator.ge


class _LessThan(_Bounded):
    """Numbers below a bound.

    >>> from torch.distributions import constraints
    >>> constraints.less_than(1.).check(torch.tensor([0., 1.]))
    tensor([ True, False])
    """

    below = operator.lt


class _Interval(_Bounded):
    """Numbers of [lower_bound, upper_bound].

    >>> from torch.distributions import constraints
    >>> constraints.interval(0., 1.).check(torch.tensor([0., 2.]))
    tensor([ True, False])
    """

    above, below = operator.ge, operator.le


class _HalfOpenInterval(_Bounded):
    """Numbers of [lower_bound, upper_bound).

    >>> from torch.distributions import constraints
    >>> constraints.half_open_interval(0., 1.).check(torch.tensor([0., 1.]))
    tensor([ True, False])
    """

    above, below = operator.ge, operator.lt


class _IntegerInterval(_Bounded):
    """Whole numbers of [lower_bound, upper_bound].

    >>> from torch.distributions import constraints
    >>> constraints.integer_interval(0, 3).check(torch.tensor([3., 1.5]))
    tensor([ True, False])
    """

    is_discrete = True
    above, below = operator.ge, operator.le


class _IntegerGreaterThan(_Bounded):
    """Whole numbers from a bound on."""

    is_discrete = True
    above = operator.ge


class _IntegerLessThan(_Bounded):
    """Whole numbers up to a bound."""

    is_discrete = True
    below = operator.le


class _Boolean(Constraint):
    """0 and 1."""

    is_discrete = takes_arrays = True

    def check(self, value):
        """Whether each number is 0 or 1."""
        return (value == 0) | (value == 1)


class _Real(Constraint):
    """All numbers but NaN."""

    takes_arrays = True

    def check(self, value):
        """Whether each number is one."""
        return value == value


# ---- vectors -------------------------------------------------------------------------------------


class _OneHot(Constraint):
    """Vectors of zeros and a single one."""

    is_discrete = True
    event_dim = 1

    def check(self, value):
        """Whether each vector is of zeros and ones and sums to 1."""
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _Simplex(Constraint):
    """Vectors of nonnegative numbers that sum to 1."""

    event_dim = 1
    takes_arrays = True

    def check(self, value):
        """Whether each vector is nonnegative and sums to 1, to six digits."""
        return (value >= 0).all(-1) & (abs(value.sum(-1) - 1) < TOLERANCE)


class _Multinomial(Constraint):
    """Vectors of counts that sum to `upper_bound` at most.

    >>> from torch.distributions import constraints
    >>> constraints.multinomial(3).check(torch.tensor([[1., 2.], [3., 4.]]))
    tensor([ True, False])
    """

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, value):
        """Whether each vector is nonnegative, its sum no more than the bound."""
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)

    def __repr__(self):
        return f"{_title(self)}()"


# ---- matrices ------------------------------------------------------------------------------------


def _is_lower(value):
    return (value.tril() == value).flatten(-2).all(-1)


def _has_positive_diagonal(value):
    return (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _LowerTriangular(Constraint):
    """Matrices with zeros above the diagonal."""

    event_dim = 2

    def check(self, value):
        """Whether each matrix has zeros above the diagonal."""
        return _is_lower(value)


class _LowerCholesky(Constraint):
    """Lower triangular matrices with a positive diagonal."""

    event_dim = 2

    def check(self, value):
        """Whether each matrix is lower triangular with a positive diagonal."""
        return _is_lower(value) & _has_positive_diagonal(value)


class _CorrCholesky(Constraint):
    """Cholesky factors of correlation matrices: such ones whose rows have length 1."""

    event_dim = 2

    def check(self, value):
        """Whether each matrix is a Cholesky factor with rows of length 1."""
        # Rounding of a sum of n squares grows with n: ten eps for each column.
        tolerance = torch.finfo(value.dtype).eps * value.shape[-1] * 10
        unit = ((torch.linalg.norm(value.detach(), dim=-1) - 1).abs() <= tolerance).all(-1)
        return unit & lower_cholesky.check(value)


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value):
        """Whether the matrices are square."""
        rows, columns = value.shape[-2:]
        return torch.full(value.shape[:-2], rows == columns, dtype=torch.bool, device=value.device)


class _Symmetric(_Square):
    """Symmetric matrices."""

    def check(self, value):
        """Whether each matrix is its transpose, to six digits."""
        square = super().check(value)
        if value.shape[-1] != value.shape[-2]:
            return square
        return torch.isclose(value, value.mT, atol=TOLERANCE).all(-1).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value):
        """Whether each matrix is symmetric and positive semidefinite."""
        symmetric = super().check(value)
        if value.shape[-1] != value.shape[-2]:
            return symmetric
        return symmetric & (torch.linalg.eigvalsh(value) >= 0).all(-1)


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices of positive eigenvalues."""

    def check(self, value):
        """Whether each matrix is symmetric and has a Cholesky factor."""
        symmetric = super().check(value)
        if value.shape[-1] != value.shape[-2]:
            return symmetric
        return symmetric & (torch.linalg.cholesky_ex(value).info == 0)


# ---- the public names ----------------------------------------------------------------------------

dependent = _Dependent()
dependent.__doc__ = """The constraint of what depends on other parameters: it cannot be checked alone.

>>> from torch.distributions import constraints
>>> constraints.is_dependent(constraints.dependent)
True
"""
dependent_property = _DependentProperty
independent = _IndependentConstraint
cat = _Cat
stack = _Stack

boolean = _Boolean()
integer_interval = _IntegerInterval
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)

real = _Real()
greater_than, greater_than_eq, less_than = _GreaterThan, _GreaterThanEq, _LessThan
interval, half_open_interval = _Interval, _HalfOpenInterval
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
unit_interval = _Interval(0.0, 1.0)

real_vector = independent(real, 1)
one_hot = _OneHot()
simplex = _Simplex()
multinomial = _Multinomial

square = _Square()
symmetric = _Symmetric()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
