"""Elementwise functions: exponentials, logarithms, trigonometry, rounding."""
from __future__ import annotations

import math

from ... import primitives as p
from ...core import dtypes as dt
from ...ops import elementwise as ew
from ...transforms.custom import stop_gradient
from .._op import torch_op
from . import declaring as d
from .declaring import binary, like, require, unary, widened
from .values import derived

# ---- exponentials and logarithms -----------------------------------------------------------------

exp = unary("exp", p.exp, "e ** input, elementwise.")
exp2 = unary("exp2", p.exp2, "2 ** input, elementwise.")
expm1 = unary("expm1", p.expm1, "e ** input - 1, elementwise, accurate near 0.")
log = unary("log", p.log, "The natural logarithm, elementwise.")
log2 = unary("log2", p.log2, "The logarithm to base 2, elementwise.")
log10 = unary("log10", p.log10, "The logarithm to base 10, elementwise.")
log1p = unary("log1p", p.log1p, "log(1 + input), elementwise, accurate near 0.")
sqrt = unary("sqrt", p.sqrt, "The square root, elementwise; NaN of negative numbers.")
rsqrt = unary("rsqrt", p.rsqrt, "1 / sqrt(input), elementwise.")

# ---- trigonometric and hyperbolic ----------------------------------------------------------------

sin = unary("sin", p.sin, "The sine, elementwise.")
cos = unary("cos", p.cos, "The cosine, elementwise.")
tan = unary("tan", p.tan, "The tangent, elementwise.")
asin = unary("asin", p.asin, "The angle in [-pi/2, pi/2] whose sine is input.",
             aliases=("arcsin",))
acos = unary("acos", p.acos, "The angle in [0, pi] whose cosine is input.", aliases=("arccos",))
atan = unary("atan", p.atan, "The angle in [-pi/2, pi/2] whose tangent is input.",
             aliases=("arctan",))
sinh = unary("sinh", p.sinh, "The hyperbolic sine, elementwise.")
cosh = unary("cosh", p.cosh, "The hyperbolic cosine, elementwise.")
tanh = unary("tanh", p.tanh, "The hyperbolic tangent, elementwise.")
asinh = unary("asinh", p.asinh, "The inverse hyperbolic sine, elementwise.", aliases=("arcsinh",))
acosh = unary("acosh", p.acosh, "The inverse hyperbolic cosine, elementwise.",
              aliases=("arccosh",))
atanh = unary("atanh", p.atanh, "The inverse hyperbolic tangent, elementwise.",
              aliases=("arctanh",))
def _atan2(y, x):
    """The derivatives at the origin are 0."""
    origin = p.and_(p.eq(x, 0), p.eq(y, 0))
    elsewhere = p.atan2(y, p.select(origin, p.full(x.aval.shape, 1, x.aval.dtype), x))
    return p.select(origin, stop_gradient(p.atan2(y, x)), elsewhere)


atan2 = binary("atan2", widened(_atan2), "The angle of the point (other, input), elementwise.",
               floats=True, dtypes=d.FLOATS, aliases=("arctan2",))


def _no_complex(name: str, apply):
    def checked(x):
        if x.aval.dtype in dt.COMPLEX:
            raise RuntimeError(f"{name} is not supported for complex tensors.")
        return apply(x)
    return checked


deg2rad = unary("deg2rad", _no_complex("deg2rad", lambda x: p.mul(x, math.pi / 180)),
                "Degrees as radians, elementwise.")
rad2deg = unary("rad2deg", _no_complex("rad2deg", lambda x: p.mul(x, 180 / math.pi)),
                "Radians as degrees, elementwise.")


def _sinc(x):
    zero = p.eq(x, 0)
    angle = p.mul(p.select(zero, like(x, 1), x), math.pi)
    return p.select(zero, like(x, 1), p.div(p.sin(angle), angle))


sinc = unary("sinc", widened(_sinc), "sin(pi input) / (pi input), elementwise; 1 at 0.")

# ---- error function, sigmoid ---------------------------------------------------------------------

sigmoid = unary("sigmoid", p.logistic, "1 / (1 + exp(-input)), elementwise.")
erf = unary("erf", p.erf, "The error function, elementwise.", dtypes=d.FLOATS,
            kernel="erf_vml_cpu")
erfc = unary("erfc", p.erfc, "1 - erf(input), elementwise, accurate for large input.",
             dtypes=d.FLOATS, kernel="erfc_vml_cpu")
erfinv = unary("erfinv", p.erf_inv, "The inverse of erf, elementwise.", dtypes=d.FLOATS,
               kernel="erfinv_vml_cpu")


@derived(lambda t, x, out: p.div(t, p.mul(x, p.sub(1, x))))
def _logit(x):
    return p.log(p.div(x, p.sub(1, x)))


@torch_op(inplace=True)
def logit(input: Tensor, eps=None, *, out=None):
    """log(input / (1 - input)), elementwise, with input moved into [eps, 1 - eps] first.

    >>> torch.logit(torch.tensor([0.5, 0.25]))
    tensor([ 0.0000, -1.0986])
    """
    x = d.to_float(input)
    require(x, d.FLOATS, "logit_cpu")

    def apply(x):
        if eps is not None:
            x = p.clamp(like(x, eps), x, like(x, 1 - eps))
        return _logit(x)
    return widened(apply)(x)


# ---- sums of exponentials ------------------------------------------------------------------------


def log_add_exp(x, y):
    """log(exp(x) + exp(y)), of complex numbers too."""
    if x.aval.dtype in dt.COMPLEX:
        larger = p.ge(p.real(x), p.real(y))
        high, low = p.select(larger, x, y), p.select(larger, y, x)
        return p.add(high, p.log1p(p.exp(p.sub(low, high))))
    return _log_sum(x, y, p.exp, p.log1p)


def _log_sum(x, y, exp, log1p):
    """Equal infinities are themselves; elsewhere the larger plus a correction."""
    infinite = p.and_(p.eq(x, y), p.eq(p.abs(x), math.inf))
    one = like(x, 1)
    a, b = p.select(infinite, one, x), p.select(infinite, one, y)
    high, low = p.max(a, b), p.min(a, b)
    return p.select(infinite, x, p.add(high, log1p(exp(p.sub(low, high)))))


def _log2_1p(x):
    return p.mul(p.log1p(x), 1 / math.log(2))


logaddexp = binary("logaddexp", widened(log_add_exp), "log(exp(input) + exp(other)), elementwise.",
                   dtypes=d.INEXACT, inplace=False)
logaddexp2 = binary("logaddexp2", widened(lambda x, y: _log_sum(x, y, p.exp2, _log2_1p)),
                    "log2(2 ** input + 2 ** other), elementwise.", dtypes=d.FLOATS, inplace=False)

# ---- rounding ------------------------------------------------------------------------------------


def _rounding(name: str, apply):
    def checked(x):
        if x.aval.dtype in dt.COMPLEX:
            raise NotImplementedError(f"{name} is not supported for complex inputs")
        return x if x.aval.dtype in dt.INTEGER else d.flat(apply(x), x)
    return checked


def _declare_rounding(name: str, apply, doc: str, **forms):
    return unary(name, _rounding(name, apply), doc, floats=False, dtypes=d.NUMERIC,
                 kernel=f"{name}_vml_cpu", **forms)


floor = _declare_rounding("floor", p.floor, "The greatest whole number not above input.")
ceil = _declare_rounding("ceil", p.ceil, "The least whole number not below input.")
trunc = _declare_rounding("trunc", p.trunc, "input without its fraction, elementwise.",
                          aliases=("fix",))
frac = unary("frac", widened(lambda x: p.sub(x, p.trunc(x))), "The fraction, with input's sign.",
             floats=False, dtypes=d.FLOATS)


@torch_op(inplace=True)
def round(input: Tensor, *, decimals=0, out=None):
    """The nearest number with so many decimals, elementwise; halves go to the even one.

    >>> torch.round(torch.tensor([.5, 1.5, -2.6]))
    tensor([ 0.,  2., -3.])
    """
    require(input, d.REAL, "round_vml_cpu")
    if input.aval.dtype in dt.INTEGER:
        if decimals:
            raise NotImplementedError(
                d.NOT_IMPLEMENTED.format(kernel="round_vml_cpu",
                                         dtype=d.scalar_name(input.aval.dtype)))
        return input
    if not decimals:
        return d.flat(p.round(input), input)
    scale = 10. ** abs(decimals)
    if decimals > 0:
        rounded = widened(lambda x: p.div(p.round(p.mul(x, scale)), scale))(input)
    else:
        rounded = widened(lambda x: p.mul(p.round(p.div(x, scale)), scale))(input)
    return d.flat(rounded, input)


# ---- products with logarithms --------------------------------------------------------------------


def times_log(log, domain: float):
    """x log(y), where 0 log(y) is 0 unless y is NaN; the logarithm is finite above `domain`."""
    def apply(x, y):
        nothing = p.and_(p.eq(x, 0), p.eq(y, y))
        tame = p.and_(p.gt(y, domain), p.lt(y, math.inf))
        slope = p.select(tame, log(y), like(x, 0))  # the derivative by x where x is 0
        return p.select(nothing, p.mul(x, slope), p.mul(x, log(y)))
    return widened(apply)


xlogy = binary("xlogy", times_log(p.log, 0), "input * log(other), elementwise; 0 where input is 0.",
               left="Operand", right="Operand", floats=True, dtypes=d.FLOATS)

# ---- repair --------------------------------------------------------------------------------------


@torch_op(inplace=True)
def nan_to_num(input: Tensor, nan=None, posinf=None, neginf=None, *, out=None):
    """input with NaN and infinities replaced by numbers: 0 and the dtype's largest, by default.

    >>> torch.nan_to_num(torch.tensor([1., float("nan")]))
    tensor([1., 0.])
    """
    if input.aval.dtype not in dt.INEXACT:
        return input
    return ew.nan_to_num(input, nan=0. if nan is None else nan, posinf=posinf, neginf=neginf)
