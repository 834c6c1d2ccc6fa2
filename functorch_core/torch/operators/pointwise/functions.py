"""Elementwise functions: exponentials, logarithms, trigonometry, rounding."""

from __future__ import annotations

import functools
import math

from .... import primitives as p
from ....core import dtypes as dt
from ....kernels import elementwise as ew
from ....kernels import subgradients
from ...dispatch.op import torch_op
from ...dispatch.slots import Operand
from ...dispatch.traits import EXPECTED, Out
from ...tensors.base import Tensor
from ...tensors.promotion import check_held
from .. import declaring as d
from ..declaring import binary, like, require, unary, widened
from ..values import Derived

# ---- exponentials and logarithms -----------------------------------------------------------------

exp = unary("exp", p.exp, "e ** input, elementwise.", autocast={"cuda": "full"}, example="[0., 1.] -> [1.0000, 2.7183]")
exp2 = unary("exp2", p.exp2, "2 ** input, elementwise.", example="[0., 3.] -> [1., 8.]")
expm1 = unary(
    "expm1",
    p.expm1,
    "e ** input - 1, elementwise, accurate near 0.",
    saves="result",
    autocast={"cuda": "full"},
    example="[0., 1.] -> [0.0000, 1.7183]",
)
log = unary(
    "log",
    p.log,
    "The natural logarithm, elementwise.",
    autocast={"cuda": "full"},
    example="[1., 10.] -> [0.0000, 2.3026]",
)
log2 = unary(
    "log2", p.log2, "The logarithm to base 2, elementwise.", autocast={"cuda": "full"}, example="[1., 8.] -> [0., 3.]"
)
log10 = unary(
    "log10",
    p.log10,
    "The logarithm to base 10, elementwise.",
    autocast={"cuda": "full"},
    example="[1., 1000.] -> [0., 3.]",
)
log1p = unary(
    "log1p",
    p.log1p,
    "log(1 + input), elementwise, accurate near 0.",
    autocast={"cuda": "full"},
    example="[0., 1.] -> [0.0000, 0.6931]",
)
sqrt = unary(
    "sqrt", p.sqrt, "The square root, elementwise; NaN of negative numbers.", example="[4., 2.] -> [2.0000, 1.4142]"
)
rsqrt = unary(
    "rsqrt", p.rsqrt, "1 / sqrt(input), elementwise.", autocast={"cuda": "full"}, example="[4., 2.] -> [0.5000, 0.7071]"
)

# ---- trigonometric and hyperbolic ----------------------------------------------------------------

sin = unary("sin", p.sin, "The sine, elementwise.", example="[0., 1.] -> [0.0000, 0.8415]")
cos = unary("cos", p.cos, "The cosine, elementwise.", example="[0., 1.] -> [1.0000, 0.5403]")
tan = unary(
    "tan", p.tan, "The tangent, elementwise.", autocast={"cuda": "full"}, example="[0., 1.] -> [0.0000, 1.5574]"
)
asin = unary(
    "asin",
    subgradients.asin,
    "The angle in [-pi/2, pi/2] whose sine is input.",
    aliases=("arcsin",),
    autocast={"cuda": "full"},
    example="[0., 1.] -> [0.0000, 1.5708]",
)
acos = unary(
    "acos",
    subgradients.acos,
    "The angle in [0, pi] whose cosine is input.",
    aliases=("arccos",),
    autocast={"cuda": "full"},
    example="[0., 1.] -> [1.5708, 0.0000]",
)
atan = unary(
    "atan",
    p.atan,
    "The angle in [-pi/2, pi/2] whose tangent is input.",
    aliases=("arctan",),
    example="[0., 1.] -> [0.0000, 0.7854]",
)
sinh = unary(
    "sinh",
    p.sinh,
    "The hyperbolic sine, elementwise.",
    autocast={"cuda": "full"},
    example="[0., 1.] -> [0.0000, 1.1752]",
)
cosh = unary(
    "cosh",
    p.cosh,
    "The hyperbolic cosine, elementwise.",
    autocast={"cuda": "full"},
    example="[0., 1.] -> [1.0000, 1.5431]",
)
tanh = unary("tanh", p.tanh, "The hyperbolic tangent, elementwise.", example="[0., 1.] -> [0.0000, 0.7616]")
asinh = unary(
    "asinh",
    p.asinh,
    "The inverse hyperbolic sine, elementwise.",
    aliases=("arcsinh",),
    example="[0., 1.] -> [0.0000, 0.8814]",
)
acosh = unary(
    "acosh",
    subgradients.acosh,
    "The inverse hyperbolic cosine, elementwise.",
    aliases=("arccosh",),
    example="[1., 2.] -> [0.0000, 1.3170]",
)
atanh = unary(
    "atanh",
    subgradients.atanh,
    "The inverse hyperbolic tangent, elementwise.",
    aliases=("arctanh",),
    example="[0., 0.5] -> [0.0000, 0.5493]",
)
atan2 = binary(
    "atan2",
    widened(subgradients.angle_of),
    "The angle of the point (other, input), elementwise.",
    floats=True,
    dtypes=d.FLOATS,
    aliases=("arctan2",),
    autocast={"cuda": "widest"},
    example="[1., -1.], [1., 0.] -> [ 0.7854, -1.5708]",
)


def _no_complex(name: str, apply):
    def checked(x):
        if x.aval.dtype in dt.COMPLEX:
            raise RuntimeError(f"{name} is not supported for complex tensors.")
        return apply(x)

    return checked


deg2rad = unary(
    "deg2rad",
    _no_complex("deg2rad", lambda x: p.mul(x, math.pi / 180)),
    "Degrees as radians, elementwise.",
    example="[180., 90.] -> [3.1416, 1.5708]",
)
rad2deg = unary(
    "rad2deg",
    _no_complex("rad2deg", lambda x: p.mul(x, 180 / math.pi)),
    "Radians as degrees, elementwise.",
    example="[0., 1.] -> [ 0.0000, 57.2958]",
)


sinc = unary(
    "sinc",
    widened(subgradients.sinc),
    "sin(pi input) / (pi input), elementwise; 1 at 0.",
    example="[0., 0.5] -> [1.0000, 0.6366]",
)

# ---- error function, sigmoid ---------------------------------------------------------------------

sigmoid = unary("sigmoid", p.logistic, "1 / (1 + exp(-input)), elementwise.", example="[0., 1.] -> [0.5000, 0.7311]")
erf = unary(
    "erf",
    p.erf,
    "The error function, elementwise.",
    dtypes=d.FLOATS,
    kernel="erf_vml_cpu",
    example="[0., 1.] -> [0.0000, 0.8427]",
)
erfc = unary(
    "erfc",
    p.erfc,
    "1 - erf(input), elementwise, accurate for large input.",
    dtypes=d.FLOATS,
    kernel="erfc_vml_cpu",
    example="[0., 1.] -> [1.0000, 0.1573]",
)
erfinv = unary(
    "erfinv",
    p.erf_inv,
    "The inverse of erf, elementwise.",
    dtypes=d.FLOATS,
    kernel="erfinv_vml_cpu",
    saves="operands",
    autocast={"cuda": "full"},
    example="[0., 0.5] -> [0.0000, 0.4769]",
)


@functools.cache
def _logit(eps: float | None) -> Derived:
    def moved(x):
        return x if eps is None else p.clamp(like(x, eps), x, like(x, 1 - eps))

    def value(x):
        y = moved(x)
        return p.log(p.div(y, p.sub(1, y)))

    def tangent(t, x, out):
        low, high, outside = (0, 1, math.nan) if eps is None else (eps, 1 - eps, 0)
        is_outside = p.or_(p.lt(x, low), p.gt(x, high))  # NaN is not
        slope = p.div(1, p.mul(x, p.sub(1, x)))
        return p.mul(t, p.select(is_outside, like(x, outside), slope))

    return Derived(value, tangent)


@torch_op(inplace=True)
def logit(input: Tensor, eps=None, *, out=None):
    """log(input / (1 - input)), elementwise, with input moved into [eps, 1 - eps] first.

    >>> torch.logit(torch.tensor([0.5, 0.25]))
    tensor([ 0.0000, -1.0986])
    """
    x = d.to_float(input)
    require(x, d.FLOATS, "logit_cpu")
    if eps is not None:
        check_held(x.aval.dtype, eps)
    slope = _logit(None if eps is None else float(eps))
    return widened(lambda x: slope(x))(x)


# ---- sums of exponentials ------------------------------------------------------------------------


def log_add_exp(x, y):
    """log(exp(x) + exp(y)), of complex numbers too."""
    if x.aval.dtype in dt.COMPLEX:
        larger = p.ge(p.real(x), p.real(y))
        high, low = p.select(larger, x, y), p.select(larger, y, x)
        return p.add(high, p.log1p(p.exp(p.sub(low, high))))
    return _log_sum(x, y)


def _log2_1p(x):
    return p.mul(p.log1p(x), 1 / math.log(2))


_log_sum = subgradients.log_sum(p.exp, p.log1p, 1.0)
_log2_sum = subgradients.log_sum(p.exp2, _log2_1p, math.log(2))
logaddexp = binary(
    "logaddexp",
    widened(log_add_exp),
    "log(exp(input) + exp(other)), elementwise.",
    dtypes=d.INEXACT,
    inplace=False,
    example="[0., 1.], [0., 1.] -> [0.6931, 1.6931]",
)
logaddexp2 = binary(
    "logaddexp2",
    widened(_log2_sum),
    "log2(2 ** input + 2 ** other), elementwise.",
    dtypes=d.FLOATS,
    inplace=False,
    example="[0., 1.], [0., 1.] -> [1., 2.]",
)

# ---- rounding ------------------------------------------------------------------------------------


def _rounding(name: str, apply):
    def checked(x):
        if x.aval.dtype in dt.COMPLEX:
            raise NotImplementedError(f"{name} is not supported for complex inputs")
        return x if x.aval.dtype in dt.INTEGER else d.flat(apply(x), x)

    return checked


def _declare_rounding(name: str, apply, doc: str, **forms):
    return unary(
        name,
        _rounding(name, apply),
        doc,
        floats=False,
        dtypes=d.NUMERIC,
        kernel=f"{name}_vml_cpu",
        out=Out(EXPECTED),
        **forms,
    )


floor = _declare_rounding(
    "floor", p.floor, "The greatest whole number not above input.", example="[1.2, -1.2] -> [ 1., -2.]"
)
ceil = _declare_rounding("ceil", p.ceil, "The least whole number not below input.", example="[1.2, -1.2] -> [ 2., -1.]")
trunc = _declare_rounding(
    "trunc", p.trunc, "input without its fraction, elementwise.", aliases=("fix",), example="[1.2, -1.2] -> [ 1., -1.]"
)
frac = unary(
    "frac",
    widened(lambda x: p.sub(x, p.trunc(x))),
    "The fraction, with input's sign.",
    floats=False,
    dtypes=d.FLOATS,
    out=Out(EXPECTED),
    example="[1.25, -1.25] -> [ 0.2500, -0.2500]",
)


@torch_op(inplace=True, out=Out(EXPECTED), node=lambda a: "RoundBackward1" if a.decimals else None)
def round(input: Tensor, *, decimals=0, out=None):
    """The nearest number with so many decimals, elementwise; halves go to the even one.

    >>> torch.round(torch.tensor([.5, 1.5, -2.6]))
    tensor([ 0.,  2., -3.])
    """
    require(input, d.REAL, "round_vml_cpu")
    if input.aval.dtype in dt.INTEGER:
        if decimals:
            raise NotImplementedError(
                d.NOT_IMPLEMENTED.format(kernel="round_vml_cpu", dtype=d.scalar_name(input.aval.dtype))
            )
        return input
    if not decimals:
        return d.flat(p.round(input), input)
    scale = 10.0 ** abs(decimals)
    if decimals > 0:
        rounded = widened(lambda x: p.div(p.round(p.mul(x, scale)), scale))(input)
    else:
        rounded = widened(lambda x: p.mul(p.round(p.div(x, scale)), scale))(input)
    return d.flat(rounded, input)


# ---- products with logarithms --------------------------------------------------------------------


xlogy = binary(
    "xlogy",
    widened(subgradients.xlogy),
    "input * log(other), elementwise; 0 where input is 0.",
    left=Operand,
    right=Operand,
    floats=True,
    dtypes=d.FLOATS,
    in_place="xlogy_.Tensor",
    example="[0., 2.], [0., 3.] -> [0.0000, 2.1972]",
)

# ---- repair --------------------------------------------------------------------------------------


@torch_op(inplace=True, out=Out("nan_to_num: dtype of out: {wanted} should be same as input: {found}"))
def nan_to_num(input: Tensor, nan=None, posinf=None, neginf=None, *, out=None):
    """input with NaN and infinities replaced by numbers: 0 and the dtype's largest, by default.

    >>> torch.nan_to_num(torch.tensor([1., float("nan")]))
    tensor([1., 0.])
    """
    if input.aval.dtype not in dt.INEXACT:
        return input
    return ew.nan_to_num(input, 0.0 if nan is None else nan, posinf, neginf)
