"""Cumulative reductions, differences, integrals, covariances."""

from __future__ import annotations

from .... import primitives as p
from ....core import dtypes as dt
from ....core.warn import warn
from ....kernels.reductions import mean_of
from ....kernels.shapes import diagonal, differences
from ....kernels.values import spread
from ....primitives.cumulative import extreme_index
from ....transforms.associative import associative_scan
from ...dispatch.op import composite, torch_op
from ...dispatch.slots import MaybeTensor
from ...dispatch.traits import EXACT, Out
from ...tape.meta import is_meta
from ...tape.node_names import if_tensor
from ...tensors.base import Tensor, wrap_dim
from ...tensors.promotion import cast, promote, promote_dtypes, result_dtype
from ...tensors.types import scalar_name
from .. import declaring as d
from .. import return_types
from ..declaring import like, require
from ..pointwise.functions import log_add_exp
from .reduction import summable

# ---- sums, products, extremes so far -------------------------------------------------------------


def _along(x, dim, apply):
    """apply(x, axis) of at least one dimension, in x's shape."""
    axis = wrap_dim(dim, x.aval.ndim)
    if x.aval.ndim:
        return apply(x, axis)
    return p.reshape(apply(p.reshape(x, shape=(1,)), 0), shape=())


SUMMED = dt.ALL - {dt.bool_}


@torch_op(
    inplace=True,
    out=Out(EXACT, kernel=("cumsum_out_cpu", SUMMED), decides=SUMMED, single=True, whole=True),
    autocast={"cuda": "full"},
)
def cumsum(input: Tensor, dim, *, dtype=None, out=None):
    """The sum of the elements so far along dim; integers are summed in int64.

    >>> torch.cumsum(torch.tensor([1., 2., 3.]), 0)
    tensor([1., 3., 6.])
    """
    return _along(summable(input, dtype), dim, lambda x, axis: p.cumsum(x, axis=axis))


@torch_op(
    inplace=True,
    out=Out(EXACT, kernel=("cumprod_out_cpu", SUMMED), decides=SUMMED, single=True, whole=True),
    autocast={"cuda": "full"},
)
def cumprod(input: Tensor, dim, *, dtype=None, out=None):
    """The product of the elements so far along dim; integers are multiplied in int64.

    >>> torch.cumprod(torch.tensor([1., 2., 3.]), 0)
    tensor([1., 2., 6.])
    """
    return _along(summable(input, dtype), dim, lambda x, axis: p.cumprod(x, axis=axis))


@torch_op(out=Out("expected scalar_type {found} but found {wanted}", whole=True))
def logcumsumexp(input: Tensor, dim, *, out=None):
    """log(cumsum(exp(input))) along dim, without overflow.

    >>> torch.logcumsumexp(torch.tensor([0., 0.]), 0)
    tensor([0.0000, 0.6931])
    """
    require(input, d.INEXACT, "logcumsumexp_out_cpu")

    def apply(x, axis):
        if x.aval.dtype in dt.COMPLEX:
            return _complex_logcumsumexp(x, axis)
        return p.cumlogsumexp(x, axis=axis)

    return _along(input, dim, apply)


def _complex_logcumsumexp(x, axis: int):
    return associative_scan(lambda a, b: [log_add_exp(a[0], b[0])], [x], axis=axis)[0]


def _extreme_so_far(name: str, doc: str):
    apply = getattr(p, name)

    def fun(input: Tensor, dim, *, out=None):
        require(input, dt.ORDERED, f"{name}_cpu")
        axis = wrap_dim(dim, input.aval.ndim)
        if not input.aval.size:
            return [input, p.convert(input, dtype=dt.int64)]
        x = p.reshape(input, shape=input.aval.shape or (1,))
        values = apply(x, axis=axis)
        index = extreme_index(x, values, axis=axis)
        return [p.reshape(y, shape=input.aval.shape) for y in (values, index)]

    fun.__doc__ = doc
    said = "expected scalar_type {found} but found {wanted}"
    return torch_op(name=name, returns=getattr(return_types, name), out=Out(said, overlapping=True))(fun)


cummax = _extreme_so_far(
    "cummax",
    """The greatest element so far along dim, and its index.

    >>> torch.cummax(torch.tensor([1, 3, 2]), 0).values
    tensor([1, 3, 3])
    """,
)
cummin = _extreme_so_far(
    "cummin",
    """The least element so far along dim, and its index.

    >>> torch.cummin(torch.tensor([2, 3, 1]), 0).values
    tensor([2, 2, 1])
    """,
)

# ---- differences and integrals -------------------------------------------------------------------


def _from(x, axis: int, start: int, stop: int):
    return p.slice_in_dim(x, start=start, limit=stop, dimension=axis)


def _diff_node(a):
    if a.n != 1 or a.prepend is not None or a.append is not None:
        return "SubBackward0" if a.n else "CopyBackwards"
    return "Sub0(Slice0(input), Slice0(input))"


UNLIKE_INPUT = (
    "diff expects the shape of tensor to prepend or append to match that of input except along the differencing "
    "dimension; input.size({i}) = {wanted}, but got tensor.size({i}) = {given}"
)


@torch_op(node=_diff_node, out=Out(whole=True))
def diff(input: Tensor, n=1, dim=-1, prepend: MaybeTensor = None, append: MaybeTensor = None, *, out=None):
    """The n-th differences of neighbours along dim.

    >>> torch.diff(torch.tensor([1, 3, 6]))
    tensor([2, 3])
    """
    if not input.aval.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = wrap_dim(dim, input.aval.ndim)
    if n == 0:
        return p.copy(input)
    parts = [v for v in (prepend, input, append) if v is not None]
    for v in parts:
        if v.aval.ndim != input.aval.ndim:
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        for i, (given, wanted) in enumerate(zip(v.aval.shape, input.aval.shape)):
            if given != wanted and i != axis:
                raise RuntimeError(UNLIKE_INPUT.format(i=i, wanted=wanted, given=given))
    return differences(_concatenated(parts, axis), n, axis)


def _concatenated(parts: list, axis: int):
    if len(parts) == 1:
        return parts[0]
    dtype = result_dtype(parts)
    return p.concatenate(*[cast(v, dtype) for v in parts], dimension=axis)


def _gaps(x, y, dim, name: str):
    """The differences of the sample points, in a shape that broadcasts with y's neighbours."""
    axis, n = wrap_dim(dim, y.aval.ndim), y.aval.shape[wrap_dim(dim, y.aval.ndim)]
    if x.aval.ndim == 1:
        if x.aval.shape[0] != n:
            raise RuntimeError(f"{name}(): There must be one `x` value for each sample point")
        x = p.reshape(x, shape=tuple(n if i == axis else 1 for i in range(y.aval.ndim)))
    else:
        x = p.reshape(x, shape=(1,) * (y.aval.ndim - x.aval.ndim) + x.aval.shape)
    here = wrap_dim(dim, x.aval.ndim)
    return differences(x, 1, here)


def _trapezoids(y, x, dx, dim, name: str, total):
    """total(areas, axis) of the trapezoids along dim; integers wrap in their own dtype."""
    axis = wrap_dim(dim, y.aval.ndim)
    n = y.aval.shape[axis]
    areas = p.add(_from(y, axis, 1, n), _from(y, axis, 0, max(n - 1, 0)))
    if x is not None:
        areas = p.mul(*promote(areas, _gaps(x, y, dim, name)))
    out = d.to_float(total(summable(areas, None), axis))
    return p.mul(out, 0.5 if x is not None or dx is None else dx / 2)


@torch_op(
    method=False,
    aliases=("trapz",),
    node=if_tensor("x", "DivBackward1", "Mul1(Sub0(Sum1(y), Mul1(Add0(Select0(y), Select0(y)))))"),
)
def trapezoid(y: Tensor, x: MaybeTensor = None, *, dx=None, dim=-1):
    """The integral of y along dim by the trapezoidal rule, over points x or steps dx.

    >>> torch.trapezoid(torch.tensor([1., 5., 10.]))
    tensor(10.5000)
    """

    def total(areas, axis):
        return p.reduce_sum(areas, axes=(axis,))

    if not y.aval.shape[wrap_dim(dim, y.aval.ndim)]:
        return total(d.to_float(y), wrap_dim(dim, y.aval.ndim))
    return _trapezoids(y, x, dx, dim, "trapezoid", total)


@torch_op(method=False, node=if_tensor("x", "DivBackward1", "MulBackward1"))
def cumulative_trapezoid(y: Tensor, x: MaybeTensor = None, *, dx=None, dim=-1):
    """The integrals of y so far along dim by the trapezoidal rule.

    >>> torch.cumulative_trapezoid(torch.tensor([1., 5., 10.]))
    tensor([ 3.0000, 10.5000])
    """
    if not y.aval.shape[wrap_dim(dim, y.aval.ndim)]:
        return d.to_float(y)
    return _trapezoids(y, x, dx, dim, "cumulative_trapezoid", lambda areas, axis: p.cumsum(areas, axis=axis))


# ---- covariances ---------------------------------------------------------------------------------


def _cov_node(a):
    if a.fweights is not None or a.aweights is not None or a.input.ndim != 2:
        return "SqueezeBackward0"
    centred = "Sub0(input, Unsqueeze0(Div0(Sum1(input), -)))"
    return f"Squeeze0(Div0(Mm0({centred}, T0({centred})), -))"


@torch_op(node=_cov_node, saves="nothing")
def _cov(input: Tensor, correction, fweights: MaybeTensor, aweights: MaybeTensor):
    """The covariance matrix, of weights that are known to be right."""
    return _covariance(input, correction, fweights, aweights)


@composite
def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariance matrix of variables in rows, observations in columns.

    >>> torch.cov(torch.tensor([[0., 2.], [1., 3.]]))
    tensor([[2., 2.],
            [2., 2.]])
    """
    for name, w in (("fweights", fweights), ("aweights", aweights)):
        if w is not None and not is_meta(w) and bool((w < 0).any()):
            raise RuntimeError(f"cov(): {name} cannot be negative")
    return _cov(input, correction, fweights, aweights)


NO_FREEDOM = "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations."


def _covariance(x, correction, fweights, aweights):
    if x.aval.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {x.aval.ndim} dimensions"
        )
    if x.aval.dtype == dt.bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = d.to_float(x)
    if aweights is not None:
        x = p.convert(x, dtype=promote_dtypes(x.aval.dtype, aweights.aval.dtype))
    a = x.aval
    rows = x if a.ndim == 2 else p.reshape(x, shape=(1, a.size))
    n = rows.aval.shape[1]
    if n <= correction and fweights is None:
        warn(NO_FREEDOM)
    weights = _weights(rows, fweights, aweights)
    if weights is None:
        mean = mean_of(rows, (1,))
        freedom = like(mean_of(rows, (0, 1)), max(n - correction, 0))
    else:
        w, counted = weights
        total = p.reduce_sum(w, axes=(0,))
        weighted = p.mul(
            rows, p.convert(p.broadcast_in_dim(w, shape=rows.aval.shape, dims=(1,)), dtype=rows.aval.dtype)
        )
        sums = p.reduce_sum(weighted, axes=(1,))
        mean = p.div(sums, like(sums, p.convert(total, dtype=sums.aval.dtype)))
        freedom = _freedom(w, counted, total, correction)
        freedom = p.convert(freedom, dtype=rows.aval.dtype)
    apart = p.sub(rows, spread(mean, rows.aval.shape, (1,)))
    other = apart
    if weights is not None:
        other = p.mul(
            apart, p.convert(p.broadcast_in_dim(w, shape=apart.aval.shape, dims=(1,)), dtype=apart.aval.dtype)
        )
    conj = p.conj(other) if other.aval.dtype in dt.COMPLEX else other
    out = _rows_times_rows(apart, conj)
    out = p.div(out, like(out, freedom))
    return p.reshape(out, shape=()) if rows.aval.shape[0] == 1 else out


def _rows_times_rows(x, y):
    return p.dot_general(x, y, contract=((1,), (1,)))


def _weights(rows, fweights, aweights):
    """(the weight of each observation, the aweights or None), or None."""
    if fweights is None and aweights is None:
        return None
    real = dt.real_of(rows.aval.dtype)
    if fweights is not None and fweights.aval.dtype not in dt.INTEGER:
        raise RuntimeError(
            "cov(): expected fweights to have integral dtype but got fweights with "
            f"{scalar_name(fweights.aval.dtype)} dtype"
        )
    if aweights is not None and aweights.aval.dtype not in dt.FLOATING:
        raise RuntimeError(
            "cov(): expected aweights to have floating point dtype but got aweights "
            f"with {scalar_name(aweights.aval.dtype)} dtype"
        )
    given = [p.convert(v, dtype=real) for v in (fweights, aweights) if v is not None]
    for name, v in (("fweights", fweights), ("aweights", aweights)):
        if v is not None and v.aval.ndim > 1:
            raise RuntimeError(
                f"cov(): expected {name} to have one or fewer dimensions but got {name} with {v.aval.ndim} dimensions"
            )
        if v is not None and v.aval.size != rows.aval.shape[1]:
            raise RuntimeError(
                f"cov(): expected {name} to have the same numel as there are "
                f"observations in the input but got {v.aval.size} != "
                f"{rows.aval.shape[1]}"
            )
    given = [p.reshape(v, shape=(v.aval.size,)) for v in given]
    w = given[0] if len(given) == 1 else p.mul(*given)
    return w, None if aweights is None else given[-1]


def _freedom(w, aweights, total, correction):
    if aweights is None:
        free = p.sub(total, float(correction))
    elif correction == 0:
        free = total
    else:
        squares = p.reduce_sum(p.mul(w, aweights), axes=(0,))
        free = p.sub(total, p.div(p.mul(squares, float(correction)), total))
    return p.max(free, like(free, 0))


@torch_op(node=lambda a: "ClampBackward1" if a.input.ndim > 1 else "DivBackward0", saves="nothing")
def corrcoef(input: Tensor):
    """The matrix of correlation coefficients of variables in rows.

    >>> torch.corrcoef(torch.tensor([[0., 1.], [1., 3.]]))
    tensor([[1., 1.],
            [1., 1.]])
    """
    c = _covariance(input, 1, None, None)
    if not c.aval.ndim:
        return p.div(c, c)
    n = c.aval.shape[0]
    real = p.real(diagonal(c)) if c.aval.dtype in dt.COMPLEX else diagonal(c)
    size = p.convert(p.sqrt(real), dtype=c.aval.dtype)
    out = p.div(
        p.div(c, p.broadcast_in_dim(size, shape=(n, n), dims=(0,))), p.broadcast_in_dim(size, shape=(n, n), dims=(1,))
    )
    if c.aval.dtype in dt.COMPLEX:
        return p.complex(*[p.clamp(like(v, -1), v, like(v, 1)) for v in (p.real(out), p.imag(out))])
    return p.clamp(like(out, -1), out, like(out, 1))
