"""Special functions: the gamma function's family, Bessel functions, orthogonal polynomials."""

from __future__ import annotations

import math

from .... import primitives as p
from ....kernels import subgradients
from ...dispatch.op import torch_op
from ...dispatch.slots import Operand
from ...dispatch.traits import Out
from ...tensors.base import Tensor
from .. import declaring as d
from ..declaring import binary, like, require, unary, widened
from ..values import derived

SPECIAL = {"method": False, "function": False, "inplace": False}


def _special(name: str, apply, doc: str, **more):
    """A function of torch.special only."""
    return unary(f"special_{name}", apply, doc, dtypes=d.FLOATS, kernel=f"{name}_cpu", **SPECIAL, **more)


# ---- the gamma function --------------------------------------------------------------------------

lgamma = unary(
    "lgamma",
    p.lgamma,
    "The logarithm of |gamma(input)|, elementwise.",
    dtypes=d.FLOATS,
    kernel="lgamma_vml_cpu",
    example="[3., 4.] -> [0.6931, 1.7918]",
)
digamma = unary(
    "digamma",
    p.digamma,
    "The derivative of lgamma, elementwise.",
    dtypes=d.FLOATS,
    kernel="digamma",
    example="[1., 2.] -> [-0.5772,  0.4228]",
)
igamma = binary(
    "igamma",
    p.igamma,
    "The regularized lower incomplete gamma function P(input, other).",
    dtypes=d.FLOATS,
    example="[1., 2.], [1., 2.] -> [0.6321, 0.5940]",
)
igammac = binary(
    "igammac",
    p.igammac,
    "The regularized upper incomplete gamma function Q(input, other).",
    dtypes=d.FLOATS,
    example="[1., 2.], [1., 2.] -> [0.3679, 0.4060]",
)


def _of_special(name: str, apply, doc: str, kernel: str, example: str):
    """The form in torch.special."""
    return binary(f"special_{name}", apply, doc, example=example, dtypes=d.FLOATS, kernel=kernel, **SPECIAL)


gammainc = _of_special(
    "gammainc",
    p.igamma,
    "The regularized lower incomplete gamma function.",
    "igamma_cpu",
    "[1., 2.], [1., 2.] -> [0.6321, 0.5940]",
)
gammaincc = _of_special(
    "gammaincc",
    p.igammac,
    "The regularized upper incomplete gamma function.",
    "igammac_cpu",
    "[1., 2.], [1., 2.] -> [0.3679, 0.4060]",
)


@torch_op(method=False)
def polygamma(n, input: Tensor, *, out=None):
    """The n-th derivative of digamma, elementwise.

    >>> torch.polygamma(1, torch.tensor([1.]))
    tensor([1.6449])
    """
    x = d.to_float(input)
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    require(x, d.FLOATS, "polygamma")
    return p.digamma(x) if n == 0 else p.polygamma(like(x, n), x)


@torch_op(inplace=True, out=Out(lower="mvlgamma: result type {found} can't be cast to the desired output type {found}"))
def mvlgamma(input: Tensor, p, *, out=None):
    """The logarithm of the multivariate gamma function of dimension p, elementwise.

    >>> torch.mvlgamma(torch.tensor([2.]), 2)
    tensor([0.4516])
    """
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    x = d.to_float(input)
    require(x, d.FLOATS, "mvlgamma_cpu")
    return widened(lambda x: _log_multigamma(x, p))(x)


def _log_multigamma(x, order: int):
    total = like(x, order * (order - 1) / 4 * math.log(math.pi))
    for j in range(order):
        total = p.add(total, p.lgamma(p.sub(x, j / 2)))
    return total


# ---- products with logarithms, entropy -----------------------------------------------------------

xlog1py = binary(
    "special_xlog1py",
    widened(subgradients.xlog1py),
    "input * log1p(other), elementwise; 0 where input is 0.",
    left=Operand,
    right=Operand,
    floats=True,
    dtypes=d.FLOATS,
    kernel="xlog1py_cpu",
    **SPECIAL,
    example="[1., 2.], [0., 1.] -> [0.0000, 1.3863]",
)
zeta = binary(
    "special_zeta",
    p.zeta,
    "Hurwitz's zeta function, elementwise.",
    left=Operand,
    right=Operand,
    floats=True,
    dtypes=d.FLOATS,
    kernel="zeta",
    **SPECIAL,
    example="[2., 4.], [1., 1.] -> [1.6449, 1.0823]",
)


@derived(lambda t, x, out: p.mul(t, p.neg(p.add(p.log(x), 1))))
def _entr(x):
    positive = p.gt(x, 0)
    safe = p.select(positive, x, like(x, 1))
    below = p.select(p.eq(x, 0), like(x, 0), like(x, -math.inf))
    out = p.select(positive, p.mul(p.neg(safe), p.log(safe)), below)
    return p.select(p.ne(x, x), x, out)


entr = _special(
    "entr", widened(_entr), "-input * log(input), elementwise; 0 at 0.", example="[0.5, 1.] -> [0.3466, -0.0000]"
)

# ---- the normal distribution ---------------------------------------------------------------------


def _ndtr(x):
    return p.mul(p.erfc(p.mul(x, -math.sqrt(0.5))), 0.5)


ndtr = _special(
    "ndtr",
    widened(_ndtr),
    "The distribution function of the normal distribution.",
    node="MulBackward1",
    saves="nothing",
    example="[0., 1.] -> [0.5000, 0.8413]",
)
ndtri = _special("ndtri", p.ndtri, "The quantile of the normal distribution.", example="[0.5, 0.9] -> [0.0000, 1.2816]")
log_ndtr = _special(
    "log_ndtr",
    subgradients.log_ndtr,
    "The logarithm of ndtr, accurate in the tails.",
    example="[0., 1.] -> [-0.6931, -0.1728]",
)
erfcx = _special(
    "erfcx", p.erfcx, "exp(input ** 2) * erfc(input), elementwise.", example="[0., 1.] -> [1.0000, 0.4276]"
)

# ---- Bessel functions ----------------------------------------------------------------------------

i0 = unary(
    "i0",
    subgradients.i0,
    "The modified Bessel function I0, elementwise.",
    dtypes=d.FLOATS,
    kernel="i0_vml_cpu",
    example="[0., 1.] -> [1.0000, 1.2661]",
)
i0e = _special("i0e", p.bessel_i0e, "exp(-|input|) * I0(input), elementwise.", example="[0., 1.] -> [1.0000, 0.4658]")
i1 = _special(
    "i1", subgradients.i1, "The modified Bessel function I1, elementwise.", example="[0., 1.] -> [0.0000, 0.5652]"
)
i1e = _special(
    "i1e", subgradients.i1e, "exp(-|input|) * I1(input), elementwise.", example="[0., 1.] -> [0.0000, 0.2079]"
)
airy_ai = _special("airy_ai", p.airy_ai, "The Airy function Ai, elementwise.", example="[0., 1.] -> [0.3550, 0.1353]")
bessel_j0 = _special(
    "bessel_j0", p.bessel_j0, "The Bessel function J0, elementwise.", example="[0., 1.] -> [1.0000, 0.7652]"
)
bessel_j1 = _special(
    "bessel_j1", p.bessel_j1, "The Bessel function J1, elementwise.", example="[0., 1.] -> [0.0000, 0.4401]"
)
bessel_y0 = _special(
    "bessel_y0", p.bessel_y0, "The Bessel function Y0, elementwise.", example="[1., 2.] -> [0.0883, 0.5104]"
)
bessel_y1 = _special(
    "bessel_y1", p.bessel_y1, "The Bessel function Y1, elementwise.", example="[1., 2.] -> [-0.7812, -0.1070]"
)
modified_bessel_i0 = _special(
    "modified_bessel_i0", p.bessel_i0, "The modified Bessel function I0.", example="[0., 1.] -> [1.0000, 1.2661]"
)
modified_bessel_i1 = _special(
    "modified_bessel_i1", p.bessel_i1, "The modified Bessel function I1.", example="[0., 1.] -> [0.0000, 0.5652]"
)
modified_bessel_k0 = _special(
    "modified_bessel_k0", p.bessel_k0, "The modified Bessel function K0.", example="[1., 2.] -> [0.4210, 0.1139]"
)
modified_bessel_k1 = _special(
    "modified_bessel_k1", p.bessel_k1, "The modified Bessel function K1.", example="[1., 2.] -> [0.6019, 0.1399]"
)
scaled_modified_bessel_k0 = _special(
    "scaled_modified_bessel_k0",
    p.bessel_k0e,
    "exp(input) * K0(input), elementwise.",
    example="[1., 2.] -> [1.1445, 0.8416]",
)
scaled_modified_bessel_k1 = _special(
    "scaled_modified_bessel_k1",
    p.bessel_k1e,
    "exp(input) * K1(input), elementwise.",
    example="[1., 2.] -> [1.6362, 1.0335]",
)
spherical_bessel_j0 = _special(
    "spherical_bessel_j0",
    p.spherical_bessel_j0,
    "The spherical Bessel function j0, elementwise.",
    example="[0., 1.] -> [1.0000, 0.8415]",
)
