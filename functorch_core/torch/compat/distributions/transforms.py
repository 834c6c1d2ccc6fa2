"""Invertible functions with known derivatives, between regions.

    Exp Power Sigmoid Softplus Tanh Abs Affine CumulativeDistribution    of numbers
    Softmax StickBreaking                                                of vectors to the simplex
    CorrCholesky LowerCholesky PositiveDefinite                          to matrices
    Reshape Independent Compose Cat Stack                                of shapes, made of others

>>> t = torch.distributions.transforms.ExpTransform()
>>> t(torch.tensor(0.)), t.inv(torch.tensor(1.))
(tensor(1.), tensor(0.))
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
import weakref
from collections.abc import Sequence
from numbers import Number

from .... import torch
from ....nn.functional import logsigmoid, pad, softplus
from ...tensors.base import Tensor
from . import constraints
from .utils import _sum_rightmost, broadcast_all, lazy_property, tril_matrix_to_vec, vec_to_tril_matrix

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]


class Transform:
    """A function from `domain` to `codomain`; subclasses write `_call`, `_inverse` and
    `log_abs_det_jacobian(x, y)`.

    cache_size: 1 to remember the last pair (x, y), so that inverses of what was just computed are
    exact and cost nothing. `_fields` names the arguments of __init__ before cache_size: equality
    and `with_cache` follow from them.

    >>> from torch.distributions import AffineTransform, Normal, TransformedDistribution
    >>> TransformedDistribution(Normal(0., 1.), AffineTransform(2., 3.)).log_prob(torch.tensor(2.))
    tensor(-2.0176)
    """

    bijective = False
    domain: constraints.Constraint
    codomain: constraints.Constraint
    _fields: tuple[str, ...] = ()

    def __init__(self, cache_size: int = 0):
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv = None
        if cache_size:
            self._cached_x_y = None, None
        super().__init__()

    def __getstate__(self):
        return {**vars(self), "_inv": None}  # a weak reference cannot be pickled

    @property
    def event_dim(self) -> int:
        """How many dimensions an event has, if that is the same on both sides."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The inverse, whose inverse is this very object."""
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = _InverseTransform(self)
            self._inv = weakref.ref(inverse)
        return inverse

    @property
    def sign(self):
        """1 where the transform increases, -1 where it decreases."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with a cache of another size."""
        if self._cache_size == cache_size:
            return self
        names = self._known_fields()
        if names is None:
            raise NotImplementedError(f"{type(self)}.with_cache is not implemented")
        return type(self)(*[getattr(self, name) for name in names], cache_size=cache_size)

    @classmethod
    def _known_fields(cls) -> tuple[str, ...] | None:
        """The arguments of __init__; None if the class that defines it does not say."""
        return vars(next(c for c in cls.__mro__ if "__init__" in vars(c))).get("_fields")

    def __eq__(self, other):
        names = self._known_fields()
        return (
            self is other
            or names is not None
            and type(other) is type(self)
            and all(_equal(getattr(self, name), getattr(other, name)) for name in names)
        )

    def __ne__(self, other):
        return not self == other

    def __call__(self, x):
        if not self._cache_size:
            return self._call(x)
        x_old, y_old = self._cached_x_y
        if x is x_old:
            return y_old
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y):
        if not self._cache_size:
            return self._inverse(y)
        x_old, y_old = self._cached_x_y
        if y is y_old:
            return x_old
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x):
        raise NotImplementedError

    def _inverse(self, y):
        raise NotImplementedError

    def log_abs_det_jacobian(self, x, y):
        """log |det dy/dx| of an event."""
        raise NotImplementedError

    def forward_shape(self, shape):
        """The shape of y for an x of this shape."""
        return shape

    def inverse_shape(self, shape):
        """The shape of x for a y of this shape."""
        return shape

    def __repr__(self):
        return f"{type(self).__name__}()"


def _equal(a, b) -> bool:
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return bool((torch.as_tensor(a) == torch.as_tensor(b)).all())
    return a == b


class _InverseTransform(Transform):
    """The inverse of a transform; it keeps that alive, not the other way round."""

    def __init__(self, transform: Transform):
        super().__init__(cache_size=transform._cache_size)
        self._inv: Transform = transform

    domain = constraints.dependent_property(lambda self: self._inv.codomain, is_discrete=False)
    codomain = constraints.dependent_property(lambda self: self._inv.domain, is_discrete=False)
    bijective = property(lambda self: self._inv.bijective)
    sign = property(lambda self: self._inv.sign)
    inv = property(lambda self: self._inv)

    def __getstate__(self):
        return vars(self)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The inverse of the transform with that cache."""
        return self.inv.with_cache(cache_size).inv

    def __eq__(self, other):
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __repr__(self):
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x):
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x, y):
        """Minus that of the transform."""
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        """The transform's inverse_shape."""
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape):
        """The transform's forward_shape."""
        return self._inv.forward_shape(shape)


# ---- of numbers ----------------------------------------------------------------------------------


class _Increasing(Transform):
    """An increasing function of all real numbers."""

    domain = constraints.real
    bijective = True
    sign = +1


class ExpTransform(_Increasing):
    """y = exp(x).

    >>> t = torch.distributions.ExpTransform()
    >>> t(torch.tensor([0., 1.])), t.inv(torch.tensor([1.]))
    (tensor([1.0000, 2.7183]), tensor([0.]))
    """

    codomain = constraints.positive

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        """x."""
        return x


class PowerTransform(Transform):
    """y = x**exponent, of positive numbers.

    >>> torch.distributions.PowerTransform(torch.tensor(2.))(torch.tensor([3.]))
    tensor([9.])
    """

    domain = codomain = constraints.positive
    bijective = True
    _fields = ("exponent",)

    def __init__(self, exponent: Tensor, cache_size: int = 0):
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @lazy_property
    def sign(self):
        """The sign of the exponent."""
        return self.exponent.sign()

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        """log |exponent y / x|."""
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape):
        """Broadcast with the exponent."""
        return torch.broadcast_shapes(shape, getattr(self.exponent, "shape", ()))

    inverse_shape = forward_shape


def clipped_to_open_unit(x):
    """Within (0, 1), by the smallest steps."""
    limits = torch.finfo(x.dtype)
    return x.clamp(min=limits.tiny, max=1.0 - limits.eps)


def _clipped_sigmoid(x):
    """The sigmoid, away from 0 and 1."""
    return clipped_to_open_unit(torch.sigmoid(x))


class SigmoidTransform(_Increasing):
    """y = 1 / (1 + exp(-x)), away from 0 and 1.

    >>> torch.distributions.SigmoidTransform()(torch.tensor([0.]))
    tensor([0.5000])
    """

    codomain = constraints.unit_interval

    def _call(self, x):
        return _clipped_sigmoid(x)

    def _inverse(self, y):
        y = clipped_to_open_unit(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        """log y + log(1 - y)."""
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Increasing):
    """y = log(1 + exp(x)).

    >>> torch.distributions.SoftplusTransform()(torch.tensor([0.]))
    tensor([0.6931])
    """

    codomain = constraints.positive

    def _call(self, x):
        return softplus(x)

    def _inverse(self, y):
        return y + (-torch.expm1(-y)).log()

    def log_abs_det_jacobian(self, x, y):
        """log sigmoid(x)."""
        return -softplus(-x)


class TanhTransform(_Increasing):
    """y = tanh(x); its inverse loses digits near 1, which a cache spares.

    >>> torch.distributions.TanhTransform()(torch.tensor([0., 1.]))
    tensor([0.0000, 0.7616])
    """

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return torch.atanh(y)

    def log_abs_det_jacobian(self, x, y):
        """log(1 - y**2), from x, of which y keeps fewer digits."""
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(Transform):
    """y = |x|; its inverse is the positive one.

    >>> torch.distributions.AbsTransform()(torch.tensor([-2., 3.]))
    tensor([2., 3.])
    """

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class AffineTransform(Transform):
    """y = loc + scale x.

    >>> torch.distributions.AffineTransform(1., 2.)(torch.tensor(3.))
    tensor(7.)
    """

    bijective = True
    _fields = ("loc", "scale", "_event_dim")

    def __init__(self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0):
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    event_dim = property(lambda self: self._event_dim)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        """Real numbers, in events of event_dim dimensions."""
        n = self.event_dim
        return constraints.independent(constraints.real, n) if n else constraints.real

    codomain = domain

    @property
    def sign(self):
        """The sign of the scale."""
        if isinstance(self.scale, Number):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        """log |scale|, over the dimensions of an event."""
        scale = self.scale
        if isinstance(scale, Number):
            logarithm = torch.full_like(x, math.log(abs(scale)) if scale else -math.inf)
        else:
            logarithm = scale.abs().log().expand(x.shape)
        return _sum_rightmost(logarithm, self.event_dim)

    def forward_shape(self, shape):
        """Broadcast with loc and scale."""
        return torch.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """y = the distribution function at x.

    >>> uniform = torch.distributions.Uniform(0., 2.)
    >>> torch.distributions.CumulativeDistributionTransform(uniform)(torch.tensor(1.))
    tensor(0.5000)
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1
    _fields = ("distribution",)

    def __init__(self, distribution, cache_size: int = 0):
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    domain = property(lambda self: self.distribution.support)

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        """The logarithm of the density."""
        return self.distribution.log_prob(x)


# ---- of vectors, to the simplex ------------------------------------------------------------------


class SoftmaxTransform(Transform):
    """y = softmax(x), which is not bijective; its inverse is log.

    >>> torch.distributions.SoftmaxTransform()(torch.zeros(4))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x):
        return torch.softmax(x, -1)

    def _inverse(self, y):
        return y.log()

    def forward_shape(self, shape):
        """The same; ValueError for a number."""
        return _with_dims(shape, 1)

    inverse_shape = forward_shape


def _with_dims(shape, least: int):
    if len(shape) < least:
        raise ValueError("Too few dimensions on input")
    return shape


class StickBreakingTransform(Transform):
    """n - 1 real numbers to n of sum 1: each takes the part sigmoid(x - log(rest)) of what is left.

    >>> torch.distributions.StickBreakingTransform()(torch.zeros(2))
    tensor([0.3333, 0.3333, 0.3333])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _call(self, x):
        part = _clipped_sigmoid(x - _parts_left(x).log())
        left = (1 - part).cumprod(-1)
        return pad(part, [0, 1], value=1) * pad(left, [1, 0], value=1)

    def _inverse(self, y):
        cropped = y[..., :-1]
        left = (1 - cropped.cumsum(-1)).clamp(min=torch.finfo(y.dtype).tiny)
        return cropped.log() - left.log() + _parts_left(cropped).log()

    def log_abs_det_jacobian(self, x, y):
        """sum of log(1 - part) + log(y), over all but the last."""
        x = x - _parts_left(x).log()
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape):
        """One element more."""
        shape = _with_dims(shape, 1)
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape):
        """One element less."""
        shape = _with_dims(shape, 1)
        return shape[:-1] + (shape[-1] - 1,)


def _parts_left(x):
    """How many equal parts the rest of the stick still has to be broken into, after each break."""
    n = x.shape[-1]
    return torch.arange(n, 0, -1, dtype=x.dtype, device=x.device)


# ---- to matrices ---------------------------------------------------------------------------------


class CorrCholeskyTransform(Transform):
    """n (n - 1) / 2 real numbers to the Cholesky factor of a correlation matrix [n, n].

    tanh of them are the canonical partial correlations; each row is filled with parts of what is
    left of its length of 1, as in stick breaking.

    >>> L = torch.distributions.CorrCholeskyTransform()(torch.tensor([0.5]))
    >>> (L @ L.T).diagonal()
    tensor([1., 1.])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x):
        eps = torch.finfo(x.dtype).eps
        partial = vec_to_tril_matrix(torch.tanh(x).clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - partial**2).sqrt().cumprod(-1)
        identity = torch.eye(partial.shape[-1], dtype=x.dtype, device=x.device)
        return (partial + identity) * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y):
        partial = tril_matrix_to_vec(y, diag=-1) / _squares_left(y).sqrt()
        return (partial.log1p() - (-partial).log1p()) / 2

    def log_abs_det_jacobian(self, x, y):
        """dy / dpartial is the length that was left, dpartial / dx that of tanh."""
        of_rows = 0.5 * _squares_left(y).log().sum(-1)
        of_tanh = -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)
        return of_rows + of_tanh

    def forward_shape(self, shape):
        """[..., n (n - 1) / 2] to [..., n, n]."""
        length = _with_dims(shape, 1)[-1]
        n = round((0.25 + 2 * length) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != length:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (n, n)

    def inverse_shape(self, shape):
        """[..., n, n] to [..., n (n - 1) / 2]."""
        rows, columns = _with_dims(shape, 2)[-2:]
        if rows != columns:
            raise ValueError("Input is not square")
        return shape[:-2] + (rows * (rows - 1) // 2,)


def _squares_left(y):
    """Below the diagonal: 1 minus the squares before in the row."""
    after = 1 - (y * y).cumsum(-1)
    return tril_matrix_to_vec(pad(after[..., :-1], [1, 0], value=1), diag=-1)


class LowerCholeskyTransform(Transform):
    """Square matrices to lower triangular ones with a positive diagonal, the exp of theirs.

    >>> torch.distributions.LowerCholeskyTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x):
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y):
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Square matrices to L L^T, L their image under LowerCholeskyTransform.

    >>> torch.distributions.PositiveDefiniteTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x):
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(torch.linalg.cholesky(y))


# ---- of shapes, and made of others ---------------------------------------------------------------


class ReshapeTransform(Transform):
    """Events of in_shape to events of out_shape, of as many elements.

    >>> torch.distributions.ReshapeTransform((4,), (2, 2))(torch.arange(4.))
    tensor([[0., 1.],
            [2., 3.]])
    """

    bijective = True
    _fields = ("in_shape", "out_shape")

    def __init__(self, in_shape, out_shape, cache_size: int = 0):
        self.in_shape, self.out_shape = torch.Size(in_shape), torch.Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self):
        """Real events of in_shape."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self):
        """Real events of out_shape."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x):
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y):
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x, y):
        """0."""
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape):
        """The event's dimensions exchanged."""
        return _reshaped(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape):
        """The event's dimensions exchanged back."""
        return _reshaped(shape, self.out_shape, self.in_shape)


def _reshaped(shape, old, new):
    _with_dims(shape, len(old))
    cut = len(shape) - len(old)
    if tuple(shape[cut:]) != tuple(old):
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
    return shape[:cut] + new


class IndependentTransform(Transform):
    """Another transform whose last batch dimensions are taken for dimensions of the event.

    >>> from torch.distributions import ExpTransform, IndependentTransform
    >>> x = torch.tensor([1., 2.])
    >>> t = IndependentTransform(ExpTransform(), 1)
    >>> t.log_abs_det_jacobian(x, t(x))
    tensor(3.)
    """

    _fields = ("base_transform", "reinterpreted_batch_ndims")

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0):
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        """The base's, of whole events."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        """The base's, of whole events."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    bijective = property(lambda self: self.base_transform.bijective)
    sign = property(lambda self: self.base_transform.sign)

    def _call(self, x):
        _with_dims(x.shape, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y):
        _with_dims(y.shape, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x, y):
        """The base's, summed over the dimensions of an event."""
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape):
        """The base's."""
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        """The base's."""
        return self.base_transform.inverse_shape(shape)


class ComposeTransform(Transform):
    """One transform after the other.

    >>> d = torch.distributions
    >>> d.ComposeTransform([d.AffineTransform(0., 2.), d.ExpTransform()])(torch.tensor(0.))
    tensor(1.)
    """

    _fields = ("parts",)

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0):
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else parts
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        """The first part's, with the event dimensions that later parts need."""
        if not self.parts:
            return constraints.real
        first = self.parts[0].domain
        n = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            n = max(n + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return _widened(first, n)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        """The last part's, with the event dimensions that earlier parts leave."""
        if not self.parts:
            return constraints.real
        last = self.parts[-1].codomain
        n = self.parts[0].domain.event_dim
        for part in self.parts:
            n = max(n + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return _widened(last, n)

    @lazy_property
    def bijective(self):
        """Whether all parts are."""
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self):
        """The product of the parts' signs."""
        return functools.reduce(operator.mul, (part.sign for part in self.parts), 1)

    @property
    def inv(self) -> Transform:
        """The inverses of the parts, in reversed order."""
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv = weakref.ref(inverse)
            inverse._inv = weakref.ref(self)
        return inverse

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x, y):
        """The sum of the parts', each over the dimensions of an event."""
        if not self.parts:
            return torch.zeros_like(x)
        between = list(itertools.accumulate(self.parts[:-1], lambda x, part: part(x), initial=x))
        n, total = self.domain.event_dim, 0
        for part, before, after in zip(self.parts, between, [*between[1:], y]):
            term = part.log_abs_det_jacobian(before, after)
            total = total + _sum_rightmost(term, n - part.domain.event_dim)
            n += part.codomain.event_dim - part.domain.event_dim
        return total

    def forward_shape(self, shape):
        """Through all parts."""
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        """Back through all parts."""
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self):
        return f"{type(self).__name__}(\n    " + ",\n    ".join(map(repr, self.parts)) + "\n)"


def _widened(constraint, event_dim: int):
    """A constraint of events with at least so many dimensions."""
    n = event_dim - constraint.event_dim
    return constraints.independent(constraint, n) if n > 0 else constraint


class _Joined(Transform):
    """Transforms of parts of a tensor along one dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int):
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    def _require_size(self, x, n: int, what: str):
        if x.size(self.dim) != n:
            raise AssertionError(f"x.size({self.dim}) = {x.size(self.dim)} must equal {what} {n}")

    bijective = property(lambda self: all(t.bijective for t in self.transforms))

    def _pieces(self, x) -> list[Tensor]:
        raise NotImplementedError

    def _join(self, pieces):
        raise NotImplementedError

    def _call(self, x):
        return self._join([t(piece) for t, piece in zip(self.transforms, self._pieces(x))])

    def _inverse(self, y):
        return self._join([t.inv(piece) for t, piece in zip(self.transforms, self._pieces(y))])


class CatTransform(_Joined):
    """Transforms of consecutive slices, of these lengths, along a dimension.

    >>> from torch.distributions import CatTransform, ExpTransform, AbsTransform
    >>> CatTransform([ExpTransform(), AbsTransform()], dim=0, lengths=[1, 2])(torch.tensor([0., -1., 2.]))
    tensor([1., 1., 2.])
    """

    _fields = ("transforms", "dim", "lengths")

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ):
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)

    @lazy_property
    def event_dim(self):
        """The greatest of the slices'."""
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self):
        """The slices' together."""
        return sum(self.lengths)

    def _pieces(self, x):
        self._require_size(x, self.length, "length")
        starts = itertools.accumulate(self.lengths, initial=0)
        return [x.narrow(self.dim, start, n) for start, n in zip(starts, self.lengths)]

    def _join(self, pieces):
        return torch.cat(pieces, dim=self.dim)

    def log_abs_det_jacobian(self, x, y):
        """The slices', put together, or summed if the dimension is inside an event."""
        terms = []
        for t, before, after in zip(self.transforms, self._pieces(x), self._pieces(y)):
            term = t.log_abs_det_jacobian(before, after)
            terms.append(_sum_rightmost(term, self.event_dim - t.event_dim))
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return torch.cat(terms, dim=dim) if dim < 0 else sum(terms)

    @constraints.dependent_property
    def domain(self):
        """The slices'."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self):
        """The slices'."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Joined):
    """Transforms of the slices of length one along a dimension.

    >>> from torch.distributions import ExpTransform, StackTransform, AbsTransform
    >>> StackTransform([ExpTransform(), AbsTransform()], dim=0)(torch.tensor([0., -1.]))
    tensor([1., 1.])
    """

    _fields = ("transforms", "dim")

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0):
        super().__init__(tseq, dim, cache_size)

    def _pieces(self, x):
        self._require_size(x, len(self.transforms), "len(transforms)")
        return list(x.unbind(self.dim))

    def _join(self, pieces):
        return torch.stack(pieces, dim=self.dim)

    def log_abs_det_jacobian(self, x, y):
        """The slices', stacked."""
        return self._join(
            [
                t.log_abs_det_jacobian(before, after)
                for t, before, after in zip(self.transforms, self._pieces(x), self._pieces(y))
            ]
        )

    @constraints.dependent_property
    def domain(self):
        """The slices'."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self):
        """The slices'."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)


identity_transform = ComposeTransform([])
identity_transform.__doc__ = """The transform that changes nothing.

>>> from torch.distributions import identity_transform
>>> identity_transform(torch.ones(2))
tensor([1., 1.])
"""
