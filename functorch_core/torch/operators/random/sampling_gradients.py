"""Derivatives of random numbers by parameters of their distributions, at a fixed quantile.

With F the distribution function of x and a a parameter, dx/da = -(dF/da) / (dF/dx) (Figurnov et
al., 2018; Jankowiak and Obermeyer, 2018). The numbers themselves are drawn by `sampling`.
"""

from __future__ import annotations

import numpy as np

from .... import primitives as p
from ....core.aval import aval_of
from ....transforms.custom import stop_gradient
from ...dispatch.op import torch_op
from ...tensors.base import Tensor
from ...tensors.promotion import promote
from .. import declaring as d
from ..values import derived, spread, total


def _nothing(t, *operands):
    """The tangent of what was drawn already: none, it is a number."""
    return p.mul(t, d.like(t, 0))


# ---- gamma ---------------------------------------------------------------------------------------


@derived(lambda t, a, sample, out: p.mul(t, p.random_gamma_grad(a, sample)), _nothing)
def _gamma(a, sample):
    return sample


@torch_op(name="_gamma_of", node="standard_gamma")
def gamma_of(input: Tensor, sample: Tensor):
    """A gamma number drawn for this shape parameter, with the parameter's gradient."""
    return _gamma(input, stop_gradient(sample))


@torch_op(name="_standard_gamma_grad", function=True)
def standard_gamma_grad(input: Tensor, output: Tensor):
    """The derivative of a gamma number by its shape parameter.

    >>> torch._standard_gamma_grad(torch.tensor(2.), torch.tensor(2.))
    tensor(0.8474)
    """
    return p.random_gamma_grad(*promote(input, output))


@derived(lambda t, x, out: t)
def _at_least_tiny(x):
    return p.max(x, d.like(x, float(np.finfo(aval_of(x).dtype).tiny)))


@torch_op(name="_kept_positive", node="div")
def kept_positive(input: Tensor):
    """At least the smallest normal number, where rounding has made it 0; gradients stay."""
    return _at_least_tiny(input)


# ---- Dirichlet -----------------------------------------------------------------------------------


@torch_op(name="_dirichlet_grad", function=True)
def dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor):
    """The derivative of a beta number x of parameters alpha and total - alpha by alpha, over 1 - x.

    >>> torch._dirichlet_grad(torch.tensor(.5), torch.tensor(1.), torch.tensor(2.))
    tensor(0.6931)
    """
    x, alpha, total = promote(x, alpha, total)
    return p.random_dirichlet_grad(alpha, p.sub(total, alpha), x)


def _dirichlet_tangent(t, alpha, sample, out):
    """Each coordinate moves as a beta number; the others make room, in proportion."""
    shape = aval_of(alpha).shape
    last = len(shape) - 1
    rest = p.sub(spread(total(alpha, [last]), shape, [last]), alpha)
    moved = p.mul(t, p.random_dirichlet_grad(alpha, rest, sample))
    return p.sub(moved, p.mul(sample, spread(total(moved, [last]), shape, [last])))


@derived(_dirichlet_tangent, _nothing)
def _dirichlet(alpha, sample):
    return sample


@torch_op(name="_dirichlet_of", node="dirichlet")
def dirichlet_of(input: Tensor, sample: Tensor):
    """A point of the simplex drawn for this concentration, with the concentration's gradient."""
    return _dirichlet(input, stop_gradient(sample))
