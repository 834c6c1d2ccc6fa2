"""Statistics of samples: ranks, modes, standard errors, kernel density estimates."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

import functorch_core as fc

from ...array.compose import composed
from ...core import dtypes as dt
from ...core.explain import explaining
from ...numpy.calculus import cov
from ...numpy.elementwise import as_array, floats
from ...numpy.reductions import nanstd, std
from ...ops.promotion import canonical_axis
from ..special import ndtr
from . import multivariate_normal

function = functools.partial(composed, space="fc.scipy.stats")

RANKS = ("average", "min", "max", "dense", "ordinal")
NAN_POLICY = "{name}: nan_policy={policy!r} is not supported\n    NaN propagates: leave it out."


class ModeResult(NamedTuple):
    """What mode gives: the most frequent elements, and how often they are there."""

    mode: object
    count: object  # type: ignore[assignment]  # tuples have a method of that name


def _propagate(name: str, policy: str):
    if policy != "propagate":
        raise NotImplementedError(NAN_POLICY.format(name=name, policy=policy))


@explaining
def mode(a, axis=0, nan_policy="propagate", keepdims=False):
    """(the most frequent elements along an axis, the least of equally frequent ones; how often).

    >>> from functorch_core.scipy import stats
    >>> import functorch_core as fc
    >>> stats.mode(fc.asarray([3, 1, 3]))
    ModeResult(mode=Array(3, dtype=int64), count=Array(2, dtype=int64))
    """
    _propagate("mode", nan_policy)
    return ModeResult(*_mode(a, axis=axis, keepdims=keepdims))


@function("a")
def _mode(a, axis, keepdims):
    if axis is None:
        shape = (1,) * a.ndim
        found, count = _mode(fc.ravel(a), 0, False)
        return (fc.reshape(found, shape), fc.reshape(count, shape)) if keepdims else (found, count)
    axis = canonical_axis(axis, a.ndim, "mode")
    rows = fc.sort(fc.moveaxis(a, axis, -1), axis=-1)
    n = rows.shape[-1]
    same = rows[..., None, :] == rows[..., :, None]
    if a.dtype in dt.INEXACT:
        same = same | (fc.isnan(rows)[..., None, :] & fc.isnan(rows)[..., :, None])
    counts = fc.sum(same.astype(dt.int64), axis=-1) if n else fc.zeros(rows.shape, dtype=dt.int64)
    place = fc.argmax(counts, axis=-1, keepdims=True)
    found = fc.take_along_axis(rows, place, axis=-1)
    count = fc.take_along_axis(counts, place, axis=-1)
    found, count = fc.moveaxis(found, -1, axis), fc.moveaxis(count, -1, axis)
    return (found, count) if keepdims else (fc.squeeze(found, axis=axis), fc.squeeze(count, axis=axis))


@explaining
def rankdata(a, method="average", *, axis=None, nan_policy="propagate"):
    """The ranks of elements, from 1 on, along an axis (None: flattened).

    method: what equal ones get: 'average', 'min', 'max', 'dense' (no gaps) or 'ordinal' (in order).

    >>> from functorch_core.scipy import stats
    >>> import functorch_core as fc
    >>> stats.rankdata(fc.asarray([10., 30., 10.]))
    Array([1.5, 3. , 1.5], dtype=float32)
    """
    _propagate("rankdata", nan_policy)
    if method not in RANKS:
        raise ValueError(f"rankdata: method is one of {', '.join(map(repr, RANKS))}, got {method!r}")
    return _ranks(a, method=method, axis=axis)


@function("a")
def _ranks(a, method, axis):
    a, axis = (fc.ravel(a), 0) if axis is None else (a, axis)
    a = fc.moveaxis(a, axis, -1)
    order = fc.argsort(a, axis=-1)
    back = fc.argsort(order, axis=-1)
    if method == "ordinal":
        return fc.moveaxis(back + 1, -1, axis)
    rows = fc.take_along_axis(a, order, axis=-1)
    lead = fc.ones((*rows.shape[:-1], min(rows.shape[-1], 1)), dtype=dt.bool_)
    new = fc.concat([lead, rows[..., 1:] != rows[..., :-1]], axis=-1)
    dense = fc.cumsum(new.astype(dt.int64), axis=-1)
    if method == "dense":
        return fc.moveaxis(fc.take_along_axis(dense, back, axis=-1), -1, axis)
    n = rows.shape[-1]
    places = fc.broadcast_to(fc.arange(n), rows.shape)
    least = fc.cummax(fc.where(new, places, fc.zeros_like(places)), axis=places.ndim - 1) + 1
    last = fc.concat([new[..., 1:], lead], axis=-1)
    most = fc.cummin(fc.where(last, places, fc.full_like(places, n)), axis=places.ndim - 1, reverse=True) + 1
    wanted = {"min": least, "max": most}.get(method)
    if wanted is None:
        wanted = (least + most).astype(dt.real_of(floats(a).dtype)) / 2
    return fc.moveaxis(fc.take_along_axis(wanted, back, axis=-1), -1, axis)


@explaining
def sem(a, axis=0, ddof=1, nan_policy="propagate", *, keepdims=False):
    """The standard error of the mean along an axis (None: of all elements).

    nan_policy: 'propagate', or 'omit' to leave NaN out.

    >>> from functorch_core.scipy import stats
    >>> import functorch_core as fc
    >>> stats.sem(fc.asarray([1., 2., 4.]))
    Array(0.8819172, dtype=float32)
    """
    a = floats(a)
    if nan_policy == "omit":
        count = fc.sum((~fc.isnan(a)).astype(a.dtype), axis=axis, keepdims=keepdims)
        return nanstd(a, axis, ddof=ddof, keepdims=keepdims) / fc.sqrt(count)
    _propagate("sem", nan_policy)
    size = a.size if axis is None else a.shape[axis]
    return std(a, axis, ddof=ddof, keepdims=keepdims) / math.sqrt(size)


# ---- kernel density estimates --------------------------------------------------------------------

METHOD = "gaussian_kde: bw_method is 'scott', 'silverman', a number or a function, got {method!r}"


@fc.tree_util.register_pytree_node_class
class gaussian_kde:
    """A density estimated by a normal distribution around each point of a data set [d, n] or [n].

    bw_method: the width's factor, 'scott', 'silverman', a number or a function of the estimate.

    >>> from functorch_core.scipy import stats
    >>> import functorch_core as fc
    >>> stats.gaussian_kde(fc.asarray([0., 1., 3.])).pdf(fc.asarray([1.]))
    Array([0.21489535], dtype=float32)
    """

    def __init__(self, dataset, bw_method=None, weights=None):
        dataset = floats(as_array(dataset))
        self.dataset = fc.reshape(dataset, (1, -1)) if dataset.ndim < 2 else dataset
        if self.dataset.size <= 1:
            raise ValueError(f"gaussian_kde takes several points, got {dataset.aval}")
        n = self.dataset.shape[1]
        weights = fc.full((n,), 1 / n, dtype=self.dataset.dtype) if weights is None else as_array(weights)
        weights = weights.astype(self.dataset.dtype)
        if weights.shape != (n,):
            raise ValueError(f"gaussian_kde: {n} points have {n} weights, got {weights.aval}")
        self.weights = weights / fc.sum(weights)
        self.neff = 1 / fc.sum(self.weights**2)
        factor = self._factor(bw_method)
        data = fc.reshape(cov(self.dataset, rowvar=True, bias=False, aweights=self.weights), (self.d, self.d))
        self.covariance = data * factor**2
        self.inv_cov = fc.linalg.inv(data) / factor**2

    @property
    def d(self) -> int:
        """The number of dimensions."""
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        """The number of points."""
        return self.dataset.shape[1]

    def _factor(self, method):
        if method is None or method == "scott":
            return self.neff ** (-1 / (self.d + 4))
        if method == "silverman":
            return (self.neff * (self.d + 2) / 4) ** (-1 / (self.d + 4))
        if callable(method):
            return method(self)
        if np.isscalar(method) and not isinstance(method, str) or method.__class__ is fc.Array:
            return method
        raise ValueError(METHOD.format(method=method))

    def tree_flatten(self):
        """Its arrays; see fc.tree_util.register_pytree_node_class."""
        return (self.dataset, self.weights, self.neff, self.covariance, self.inv_cov), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        """One with these arrays."""
        out = object.__new__(cls)
        out.dataset, out.weights, out.neff, out.covariance, out.inv_cov = children
        return out

    def _points(self, points):
        points = floats(as_array(points))
        points = fc.reshape(points, (1, -1)) if points.ndim < 2 else points
        if points.shape[0] != self.d:
            if points.shape == (1, self.d):
                return points.T
            raise ValueError(f"gaussian_kde: points have {self.d} rows, got {points.aval}")
        return points

    def logpdf(self, x):
        """The logarithm of the density at points [d, m]."""
        points = self._points(x)
        off = points[:, :, None] - self.dataset[:, None, :]
        energy = 0.5 * fc.einsum("imn,ij,jmn->mn", off, self.inv_cov, off)
        norm = 0.5 * (self.d * math.log(2 * math.pi) + fc.linalg.slogdet(self.covariance).logabsdet)
        return fc.logsumexp(-energy, axis=-1, b=self.weights) - norm

    def pdf(self, x):
        """The density at points [d, m]."""
        return fc.exp(self.logpdf(x))

    evaluate = __call__ = pdf

    def integrate_gaussian(self, mean, cov):
        """The integral of the estimate times a normal density of this mean and covariance."""
        mean, cov = fc.reshape(floats(mean), (self.d,)), fc.reshape(floats(cov), (self.d, self.d))
        return self._integral(self.covariance + cov, mean[:, None] - self.dataset, self.weights)

    def _integral(self, total, off, weights):
        at = multivariate_normal.logpdf(off.T, fc.zeros(self.d, dtype=off.dtype), total)
        return fc.sum(fc.exp(at) * weights)

    def integrate_box_1d(self, low, high):
        """The probability of (low, high), of one dimension."""
        if self.d != 1:
            raise ValueError(f"integrate_box_1d is of one dimension, this estimate has {self.d}")
        width = fc.sqrt(self.covariance[0, 0])
        ends = [ndtr((v - self.dataset[0]) / width) for v in (low, high)]
        return fc.sum(self.weights * (ends[1] - ends[0]))

    def integrate_kde(self, other):
        """The integral of the product of two estimates."""
        if other.d != self.d:
            raise ValueError(f"integrate_kde: {self.d} dimensions and {other.d}")
        off = fc.reshape(self.dataset[:, :, None] - other.dataset[:, None, :], (self.d, -1))
        weights = fc.ravel(self.weights[:, None] * other.weights[None, :])
        return self._integral(self.covariance + other.covariance, off, weights)

    def resample(self, key, shape=()):
        """Points drawn from the estimate, [d, *shape]."""
        key_place, key_noise = fc.random.split(key)
        places = fc.random.choice(key_place, self.n, shape=tuple(shape), replace=True, p=self.weights)
        zero = fc.zeros(self.d, dtype=self.dataset.dtype)
        noise = fc.random.multivariate_normal(key_noise, zero, self.covariance, tuple(shape), self.dataset.dtype)
        return self.dataset[:, places] + fc.moveaxis(noise, -1, 0)


__all__ = ["ModeResult", "gaussian_kde", "mode", "rankdata", "sem"]
