"""Special functions: the gamma function's family, Bessel functions, orthogonal polynomials."""

from __future__ import annotations

import math

import numpy as np

from .... import primitives as p
from ....kernels import subgradients
from ....transforms.custom import stop_gradient
from ....transforms.while_loop import while_loop
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

# ---- orthogonal polynomials ----------------------------------------------------------------------
# By their recurrences p[k+1] = step(k, x, p[k], p[k-1]), each element to its own degree. They have
# no derivatives, as in PyTorch.


def _polynomial(name: str, first, step, doc: str, example: str, change=lambda x: x):
    """first(x) is the polynomial of degree 1; `change` maps the operand beforehand."""

    def apply(x, n):
        x, n = change(stop_gradient(x)), p.trunc(stop_gradient(n))
        one, axes = like(x, 1), tuple(range(x.aval.ndim))
        start = p.constant(_one(x.aval.dtype))

        def some_left(k, previous, current):
            return p.reduce_or(p.gt(n, like(n, k)), axes=axes)

        def advance(k, previous, current):
            following = step(like(x, k), x, current, previous)
            going = p.gt(n, like(n, k))
            return [p.add(k, 1), p.select(going, current, previous), p.select(going, following, current)]

        last = while_loop(some_left, advance, [start, one, first(x)])[2]
        low = p.select(p.eq(n, 0), one, last)
        return p.select(p.lt(n, 0), like(x, 0), low)

    return binary(
        f"special_{name}",
        widened(apply),
        doc,
        left=Operand,
        right=Operand,
        floats=True,
        dtypes=d.FLOATS,
        kernel=f"{name}_cpu",
        example=example,
        **SPECIAL,
    )


def _one(dtype):
    return np.ones((), dtype)


def _double(x):
    return p.mul(x, 2)


def _chebyshev_step(k, x, current, previous):
    return p.sub(p.mul(_double(x), current), previous)


def _shift(x):
    """[0, 1] to [-1, 1]."""
    return p.sub(_double(x), 1)


_CHEBYSHEV = {  # kind: the polynomial of degree 1, and that of degree 2 at 1 / 2
    "t": (lambda x: x, "-0.5000"),
    "u": (_double, "0."),
    "v": (lambda x: p.sub(_double(x), 1), "-1."),
    "w": (lambda x: p.add(_double(x), 1), "1."),
}


def _chebyshev(kind: str, shifted: bool = False):
    prefix = "shifted_" if shifted else ""
    first, value = _CHEBYSHEV[kind]
    doc = f"The {'shifted ' * shifted}Chebyshev polynomial {kind.upper()} of degree n."
    return _polynomial(
        f"{prefix}chebyshev_polynomial_{kind}",
        first,
        _chebyshev_step,
        doc,
        f"[{0.75 if shifted else 0.5}], [2.] -> [{value}]",
        _shift if shifted else lambda x: x,
    )


chebyshev_polynomial_t = _chebyshev("t")
chebyshev_polynomial_u = _chebyshev("u")
chebyshev_polynomial_v = _chebyshev("v")
chebyshev_polynomial_w = _chebyshev("w")
shifted_chebyshev_polynomial_t = _chebyshev("t", True)
shifted_chebyshev_polynomial_u = _chebyshev("u", True)
shifted_chebyshev_polynomial_v = _chebyshev("v", True)
shifted_chebyshev_polynomial_w = _chebyshev("w", True)
hermite_polynomial_h = _polynomial(
    "hermite_polynomial_h",
    _double,
    lambda k, x, current, previous: _double(p.sub(p.mul(x, current), p.mul(k, previous))),
    "The physicists' Hermite polynomial of degree n.",
    "[0.5], [2.] -> [-1.]",
)
hermite_polynomial_he = _polynomial(
    "hermite_polynomial_he",
    lambda x: x,
    lambda k, x, current, previous: p.sub(p.mul(x, current), p.mul(k, previous)),
    "The probabilists' Hermite polynomial of degree n.",
    "[0.5], [2.] -> [-0.7500]",
)


def _odd(k):
    return p.add(_double(k), 1)


laguerre_polynomial_l = _polynomial(
    "laguerre_polynomial_l",
    lambda x: p.sub(1, x),
    lambda k, x, current, previous: p.div(p.sub(p.mul(p.sub(_odd(k), x), current), p.mul(k, previous)), p.add(k, 1)),
    "The Laguerre polynomial of degree n.",
    "[0.5], [2.] -> [0.1250]",
)
legendre_polynomial_p = _polynomial(
    "legendre_polynomial_p",
    lambda x: x,
    lambda k, x, current, previous: p.div(p.sub(p.mul(p.mul(_odd(k), x), current), p.mul(k, previous)), p.add(k, 1)),
    "The Legendre polynomial of degree n.",
    "[0.5], [2.] -> [-0.1250]",
)
