"""The base of all distributions: shapes, validation, expansion, `repr`.

A distribution names its parameters and their regions in `arg_constraints`, and the region of its
values in `support`. It keeps its parameters as attributes, broadcast to the batch's shape, each
followed by its own dimensions. From that `expand`, `repr` and the checks follow; they are written
here, once.
"""

from __future__ import annotations

import functools

from .... import torch
from ....core.warn import warn
from ...tensors.base import Tensor
from . import constraints
from ._checks import require
from .utils import broadcast_all, lazy_property

__all__ = ["Distribution"]


def checked(function):
    """A method of a value, which is looked at first if the distribution validates."""

    @functools.wraps(function)
    def method(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return function(self, value)

    return method


NO_CONSTRAINTS = (
    "{cls} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
    "initialize the distribution with `validate_args=False` to turn off validation."
)
NO_SUPPORT = (
    "{cls} does not define `support` to enable sample validation. Please initialize the "
    "distribution with `validate_args=False` to turn off validation."
)
BAD_PARAMETER = (
    "Expected parameter {name} ({kind} of shape {shape}) of distribution {of} to "
    "satisfy the constraint {constraint}, but found invalid values:\n{value}"
)
BAD_VALUE = (
    "Expected value argument ({kind} of shape {shape}) to be within the support "
    "({constraint}) of the distribution {of}, but found invalid values:\n{value}"
)
NO_EXPAND = "Subclass {own} of {base} that defines a custom __init__ method must also define a custom .expand() method."


class Distribution:
    """A batch of independent distributions, each over events of the same shape.

    Subclasses call `super().__init__(batch_shape, event_shape, validate_args=...)` when their
    parameters are set; it checks them.

    >>> d = torch.distributions.Normal(torch.zeros(2), 1.)
    >>> d.batch_shape, d.event_shape, d
    (torch.Size([2]), torch.Size([]), Normal(loc: torch.Size([2]), scale: torch.Size([2])))
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    _kept: tuple[str, ...] = ()  # attributes that have no batch dimensions, whatever their shape

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check their parameters and values unless they are told."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape=torch.Size(), event_shape=torch.Size(), validate_args=None):
        self._batch_shape, self._event_shape = batch_shape, event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    # ---- shapes

    @property
    def batch_shape(self) -> torch.Size:
        """The shape over which parameters are batched."""
        return self._batch_shape

    @property
    def event_shape(self) -> torch.Size:
        """The shape of one value."""
        return self._event_shape

    def _extended_shape(self, sample_shape=torch.Size()) -> torch.Size:
        """The shape of samples: sample_shape, the batch's, the event's."""
        return torch.Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def expand(self, batch_shape, _instance=None):
        """The distribution with its batch dimensions expanded to `batch_shape`.

        >>> torch.distributions.Normal(0., 1.).expand((2,))
        Normal(loc: torch.Size([2]), scale: torch.Size([2]))
        """
        home = next(c for c in type(self).__mro__ if _is_ours(c.__init__))
        if home.__init__ is Distribution.__init__:
            raise NotImplementedError
        new = self._get_checked_instance(home, _instance)
        batch_shape = torch.Size(batch_shape)
        for name, value in vars(self).items():
            vars(new).setdefault(name, self._expanded(name, value, batch_shape))
        new._batch_shape, new._validate_args = batch_shape, self._validate_args
        return new

    def _expanded(self, name: str, value, batch_shape):
        """An attribute with its batch dimensions, if it has them, expanded."""
        n, old = len(self._batch_shape), self._batch_shape
        if name.startswith("_unbroadcasted") or name in self._kept:
            return value
        if isinstance(value, Tensor) and value.shape[:n] == old:
            return value.expand((*batch_shape, *value.shape[n:]))
        if isinstance(value, Distribution) and value.batch_shape[:n] == old:
            return value.expand((*batch_shape, *value.batch_shape[n:]))
        return value

    def _get_checked_instance(self, cls, _instance=None):
        """An empty object of our class, to fill; NotImplementedError if __init__ is not cls's."""
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(NO_EXPAND.format(own=type(self).__name__, base=cls.__name__))
        return type(self).__new__(type(self)) if _instance is None else _instance

    # ---- regions, and what is checked

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """The constraint on each parameter."""
        raise NotImplementedError

    @property
    def support(self):
        """The constraint on values."""
        raise NotImplementedError

    def _broadcast(self, **parameters) -> torch.Size:
        """Keep parameters that are numbers or tensors, broadcast; the shape that they have then."""
        tensors = broadcast_all(*parameters.values())
        vars(self).update(zip(parameters, tensors))
        return tensors[0].size()

    def _check_parameters(self):
        try:
            declared = self.arg_constraints
        except NotImplementedError:
            declared = {}
            warn(NO_CONSTRAINTS.format(cls=type(self)))
        for name, constraint in declared.items():
            follows = name not in vars(self) and isinstance(getattr(type(self), name, None), lazy_property)
            if constraints.is_dependent(constraint) or follows:
                continue
            value = getattr(self, name)
            self._require(constraint, value, BAD_PARAMETER, name=name)

    def _validate_sample(self, value):
        """ValueError unless value is a tensor of a fitting shape, within the support."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        self._check_shape(value)
        try:
            support = self.support
        except NotImplementedError:
            warn(NO_SUPPORT.format(cls=type(self)))
            return
        self._require(support, value, BAD_VALUE)

    def _require(self, constraint, value, message: str, **words):
        kind, shape = type(value).__name__, tuple(value.shape)
        require(
            constraint,
            value,
            type(self).__name__,
            lambda shown: ValueError(
                message.format(kind=kind, shape=shape, of=repr(self), constraint=constraint, value=shown, **words)
            ),
        )

    def _check_shape(self, value):
        expected = self._batch_shape + self._event_shape
        if value.size() == expected:
            return
        event_dims = len(self._event_shape)
        found = value.size()[value.dim() - event_dims :] if event_dims else torch.Size()
        if found != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.size()} vs {self._event_shape}."
            )
        for i, j in zip(reversed(value.size()), reversed(expected)):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.size()} vs {expected}."
                )

    def __repr__(self):
        names = [name for name in self.arg_constraints if name in vars(self)]
        shown = ", ".join(f"{name}: {_brief(vars(self)[name])}" for name in names)
        return f"{type(self).__name__}({shown})"

    # ---- moments

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    # ---- samples

    def sample(self, sample_shape=torch.Size()) -> Tensor:
        """Samples of shape sample_shape + batch_shape + event_shape, without gradients."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=torch.Size()) -> Tensor:
        """Samples that are differentiable by the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """n samples; deprecated for sample((n,))."""
        warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning)
        return self.sample(torch.Size((n,)))

    def _along_first(self, values: Tensor, expand: bool) -> Tensor:
        """A vector of values (of numbers) as enumerate_support gives them."""
        values = values.reshape((-1, *[1] * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values

    # ---- probabilities

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density or probability at a value."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to this one."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The value up to which the probability is this one."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values, along a new first dimension; `expand`: for each distribution of the batch."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """exp of the entropy."""
        return torch.exp(self.entropy())


def _brief(value) -> str:
    return str(value if value.numel() == 1 else value.size()) if value.dim() else f"{value}"


def _is_ours(function) -> bool:
    """Whether a function stands in this package."""
    return getattr(function, "__globals__", {}).get("__package__") == __package__
