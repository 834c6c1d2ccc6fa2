"""Reductions: sums, means, extremes, logic, variances, norms."""

from __future__ import annotations

import builtins
import math

from .... import primitives as p
from ....core import dtypes as dt
from ....core.warn import warn
from ....kernels import reductions, subgradients
from ....kernels.elementwise import truth
from ....kernels.values import kept, spread, wide
from ....transforms.custom import stop_gradient
from ...dispatch.op import Looking, composite, torch_op, write_out
from ...dispatch.traits import EXACT, Out
from ...tape.node_names import NoGradient, if_given
from ...tensors import types as _types
from ...tensors.base import Tensor, wrap_dim
from ...tensors.promotion import promote
from ...tensors.types import scalar_name
from .. import declaring as d
from .. import return_types
from ..declaring import like, require
from ..pointwise.arithmetic import maximum, minimum

# ---- dimensions ----------------------------------------------------------------------------------


MOST_DIMS = 64  # where dimensions are named, as in PyTorch


def axes_of(x, dim) -> tuple[int, ...]:
    """The axes a `dim` argument names: all for None and for the empty tuple."""
    ndim = x.aval.ndim
    if dim is None or dim == ():
        return tuple(range(ndim))
    if ndim > MOST_DIMS:
        raise RuntimeError(f"only tensors with up to {MOST_DIMS} dims are supported")
    dims = (dim,) if not isinstance(dim, tuple) else dim
    axes = [wrap_dim(i, ndim) for i in dims]
    for a in axes:
        if axes.count(a) > 1:
            raise RuntimeError(f"dim {a} appears multiple times in the list of dims")
    return tuple(sorted(axes)) if ndim else ()


def summable(x, dtype):
    """x in the dtype its sum has: `dtype`, or int64 for integers and bools."""
    found = x.aval.dtype
    default = dt.int64 if found in dt.INTEGER or found == dt.bool_ else found
    return p.convert(x, dtype=_types.numpy_dtype(dtype, default))


def counted(mask, axes):
    """How often a mask holds, as int64: 512 x 512 in rows 97 us by adding int64, 60 by int32."""
    dtype = dt.int32 if mask.aval.size < 2**31 else dt.int64
    return p.convert(p.reduce_sum(p.convert(mask, dtype=dtype), axes=axes), dtype=dt.int64)


# ---- sums and products ---------------------------------------------------------------------------


@torch_op(out=Out(decides=dt.ALL, single=True), autocast={"cuda": "full"}, node=if_given("dim", "SumBackward1"))
def sum(input: Tensor, dim=None, keepdim=False, *, dtype=None, out=None):
    """The sum over dimensions (all by default); integers are summed in int64.

    >>> torch.sum(torch.tensor([[1., 2.], [3., 4.]]), dim=0)
    tensor([4., 6.])
    """
    axes = axes_of(input, dim)
    if input.aval.dtype == dt.bool_ and _types.numpy_dtype(dtype, dt.int64) == dt.int64:
        return kept(counted(input, axes), input, axes, keepdim)
    x = summable(input, dtype)
    if x.aval.dtype == dt.bool_:
        return kept(p.reduce_or(x, axes=axes), x, axes, keepdim)
    return kept(p.reduce_sum(x, axes=axes), x, axes, keepdim)


@torch_op(function=False, varargs="size", node="SumBackward1")
def sum_to_size(input: Tensor, size):
    """The sum over what broadcasting a tensor of this size to the input's would repeat.

    >>> torch.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    shape = input.aval.shape
    missing = len(shape) - len(size)
    if missing < 0 or builtins.any(n not in (1, m) for n, m in zip(size, shape[missing:])):
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(shape)}}}.")
    axes = tuple(i for i, m in enumerate(shape) if i < missing or size[i - missing] != m)
    if not axes and size:
        return input
    return p.reshape(p.reduce_sum(summable(input, None), axes=axes), shape=tuple(size))


@torch_op(out=Out(kernel=("nansum_cpu", dt.FLOATING)))
def nansum(input: Tensor, dim=None, keepdim=False, *, dtype=None, out=None):
    """The sum over dimensions of the elements that are not NaN.

    >>> torch.nansum(torch.tensor([1., float("nan"), 2.]))
    tensor(3.)
    """
    if input.aval.dtype in dt.COMPLEX:
        raise RuntimeError("nansum does not support complex inputs")
    axes, x = axes_of(input, dim), summable(input, dtype)
    if x.aval.dtype in dt.FLOATING:
        x = subgradients.nan_as_zero(x)
    return kept(p.reduce_sum(x, axes=axes), x, axes, keepdim)


@torch_op(out=Out(decides=dt.ALL, single=True), autocast="full", node=if_given("dim", "ProdBackward1"))
def prod(input: Tensor, dim=None, keepdim=False, *, dtype=None, out=None):
    """The product over a dimension (all by default); integers are multiplied in int64.

    >>> torch.prod(torch.tensor([1., 2., 3.]))
    tensor(6.)
    """
    if isinstance(dim, tuple):
        raise TypeError("prod(): argument 'dim' must be int, not tuple")
    axes, x = axes_of(input, dim), summable(input, dtype)
    if x.aval.dtype == dt.bool_:
        return kept(p.reduce_and(x, axes=axes), x, axes, keepdim)
    return kept(p.reduce_prod(x, axes=axes), x, axes, keepdim)


MEAN_DTYPE = (
    "mean(): could not infer output dtype. {what} dtype must be either a floating point or complex dtype. Got: {dtype}"
)


def _check_mean(x, dtype):
    what, found = ("Input", x.aval.dtype) if dtype is None else ("Optional", dtype.numpy)
    if found not in dt.INEXACT:
        raise RuntimeError(MEAN_DTYPE.format(what=what, dtype=scalar_name(found)))


@torch_op(node=if_given("dim", "MeanBackward1"))
def mean(input: Tensor, dim=None, keepdim=False, *, dtype=None, out=None):
    """The mean over dimensions (all by default), of floating or complex tensors.

    The dtype is kept; RuntimeError for integers and bools, unless `dtype` names a floating one.

    >>> torch.mean(torch.tensor([[1., 2.], [3., 4.]]), dim=0)
    tensor([2., 3.])
    """
    _check_mean(input, dtype)
    x = p.convert(input, dtype=_types.numpy_dtype(dtype, input.aval.dtype))
    axes = axes_of(x, dim)
    return kept(reductions.mean_of(x, axes), x, axes, keepdim)


@torch_op(out=Out(kernel=("nansum_cpu", dt.FLOATING)), node="Div0(Nansum0(input), -)")
def nanmean(input: Tensor, dim=None, keepdim=False, *, dtype=None, out=None):
    """The mean over dimensions of the elements that are not NaN.

    >>> torch.nanmean(torch.tensor([1., float("nan"), 3.]))
    tensor(2.)
    """
    if input.aval.dtype not in dt.INEXACT:
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {scalar_name(input.aval.dtype)}"
        )
    axes = axes_of(input, dim)
    x = p.convert(input, dtype=_types.numpy_dtype(dtype, input.aval.dtype))
    valid = p.eq(x, x)
    w = wide(subgradients.nan_as_zero(x))
    n = p.reduce_sum(p.convert(valid, dtype=w.aval.dtype), axes=axes)
    total = p.reduce_sum(w, axes=axes)
    return kept(p.convert(p.div(total, n), dtype=x.aval.dtype), x, axes, keepdim)


@torch_op
def count_nonzero(input: Tensor, dim=None):
    """How many elements are not 0, over dimensions (all by default).

    >>> torch.count_nonzero(torch.tensor([0., 1., 2.]))
    tensor(2)
    """
    return counted(truth(input), axes_of(input, dim))


# ---- logic ---------------------------------------------------------------------------------------


def _quantifier(name: str, reduce, doc: str):
    def fun(input: Tensor, dim=None, keepdim=False, *, out=None):
        axes = () if dim == () else axes_of(input, dim)  # other reductions take the empty tuple for all
        found = kept(reduce(truth(input), axes=axes), input, axes, keepdim)
        return p.convert(found, dtype=dt.uint8) if input.aval.dtype == dt.uint8 else found

    fun.__doc__ = doc
    said = f"{name} only supports bool tensor for result, got: {{wanted}}"
    return torch_op(name=name, out=Out(said, also=frozenset({dt.uint8})))(fun)


all = _quantifier(
    "all",
    p.reduce_and,
    """Whether all elements over dimensions are not 0.

    >>> torch.all(torch.tensor([[1, 0], [3, 2]]), 1)
    tensor([False,  True])
    """,
)
any = _quantifier(
    "any",
    p.reduce_or,
    """Whether some element over dimensions is not 0.

    >>> torch.any(torch.tensor([[1, 0], [0, 0]]), 1)
    tensor([ True, False])
    """,
)

# ---- extremes ------------------------------------------------------------------------------------

SAME_AS_INPUT = (
    "Expected the dtype for input and out to match, but got {found} for input's dtype and {wanted} for out's dtype."
)
_EMPTY_DIM = "{name}(): Expected reduction dim {dim} to have non-zero size."
_EMPTY = (
    "{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
    "reduction dim with the 'dim' argument."
)


def check_nonempty(x, axes, name: str, full: bool):
    """The error of reductions that have no value for no elements."""
    if full and x.aval.size == 0:
        raise RuntimeError(_EMPTY.format(name=name))
    for i in axes:
        if x.aval.shape[i] == 0:
            raise IndexError(_EMPTY_DIM.format(name=name, dim=i))


def extreme_of(x, axes, keepdim: bool, largest: bool, nan_shares: bool = False):
    """The greatest or least element over axes; equal ones share the gradient, and so do NaNs if
    `nan_shares`."""
    found = subgradients.extreme_of(x, axes, largest, nan_shares)
    return kept(found, x, axes, keepdim)


def _extreme(name: str, largest: bool, doc: str):
    def fun(input: Tensor, dim=(), keepdim=False, *, out=None):
        require(input, dt.ORDERED, f"{name}_cpu")
        axes = axes_of(input, dim)
        check_nonempty(input, axes, name, dim == ())
        return extreme_of(input, axes, keepdim, largest)

    fun.__doc__ = doc
    return torch_op(name=name, out=Out(SAME_AS_INPUT))(fun)


amax = _extreme(
    "amax",
    True,
    """The greatest element over dimensions (all by default).

    >>> torch.amax(torch.tensor([[1., 5.], [3., 2.]]), 0)
    tensor([3., 5.])
    """,
)
amin = _extreme(
    "amin",
    False,
    """The least element over dimensions (all by default).

    >>> torch.amin(torch.tensor([[1., 5.], [3., 2.]]), 0)
    tensor([1., 2.])
    """,
)


@torch_op(returns=return_types.aminmax, out=Out(EXACT))
def aminmax(input: Tensor, *, dim=None, keepdim=False, out=None):
    """The least and the greatest element over a dimension (all by default).

    >>> torch.aminmax(torch.tensor([1., 3., 2.])).max
    tensor(3.)
    """
    require(input, dt.ORDERED, "aminmax_cpu")
    axes = axes_of(input, dim)
    if dim is None and not input.aval.size:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    check_nonempty(input, axes, "aminmax", False)
    return [extreme_of(input, axes, keepdim, largest) for largest in (False, True)]


def place_of(x, dim, keepdim: bool, largest: bool):
    """The index of the extreme along one dimension, or in the flat tensor for None."""
    flat = dim is None
    y = p.reshape(x, shape=(x.aval.size,)) if flat or not x.aval.ndim else x
    axis = 0 if flat else wrap_dim(dim, x.aval.ndim)
    if y.aval.dtype == dt.bool_:
        y = p.convert(y, dtype=dt.uint8)
    index = (p.argmax if largest else p.argmin)(y, axis=axis)
    if flat:
        shape = (1,) * x.aval.ndim if keepdim else ()
        return p.reshape(index, shape=shape)
    return kept(index, x, (axis,) if x.aval.ndim else (), keepdim)


def _no_numbers(name: str, x, bools: bool = False):
    """RuntimeError for complex numbers, and for bools unless they are allowed."""
    if x.aval.dtype in dt.COMPLEX:
        raise RuntimeError(f"{name}(): does not support complex input")
    if x.aval.dtype == dt.bool_ and not bools:
        raise RuntimeError(f"{name}(): does not support bool input")


def _arg_extreme(name: str, largest: bool, doc: str):
    def fun(input: Tensor, dim=None, keepdim=False, *, out=None):
        _no_numbers(name, input)
        if dim is None and not input.aval.size:
            raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        if dim is not None and input.aval.ndim:
            check_nonempty(input, axes_of(input, dim), name, False)
        return place_of(input, dim, keepdim, largest)

    fun.__doc__ = doc
    return torch_op(name=name, out=Out(EXACT))(fun)


argmax = _arg_extreme(
    "argmax",
    True,
    """The index of the greatest element along a dimension.

    >>> torch.argmax(torch.tensor([[1., 5.], [3., 2.]]), 1)
    tensor([1, 0])
    """,
)
argmin = _arg_extreme(
    "argmin",
    False,
    """The index of the least element along a dimension.

    >>> torch.argmin(torch.tensor([[1., 5.], [3., 2.]]), 1)
    tensor([0, 1])
    """,
)


def at_index(x, index, axis: int, keepdim: bool):
    """[the element at each index (which has the axis with size 1), the index]; x not 0-d."""
    values = p.take_along_axis(x, index, axis=axis, mode="promise_in_bounds")
    if not keepdim:
        shape = tuple(n for i, n in enumerate(x.aval.shape) if i != axis)
        values, index = p.reshape(values, shape=shape), p.reshape(index, shape=shape)
    return [values, index]


def _extreme_along(name: str, largest: bool):
    def fun(input: Tensor, dim, keepdim=False):
        _no_numbers(name, input, bools=True)
        axis = wrap_dim(dim, input.aval.ndim)
        if not input.aval.ndim:
            return [input, p.full((), 0, dt.int64)]
        check_nonempty(input, axes_of(input, dim), name, False)
        return at_index(input, place_of(input, axis, True, largest), axis, keepdim)

    fun.__doc__ = f"{name} along one dimension: values and indices."
    return torch_op(name=f"_{name}_dim", node=name, returns=getattr(return_types, name))(fun)


def _extreme_overall(name: str, largest: bool):
    def fun(input: Tensor):
        require(input, dt.ORDERED, f"{name}_cpu")
        check_nonempty(input, (), name, True)
        return extreme_of(input, axes_of(input, None), False, largest, nan_shares=True)

    fun.__doc__ = f"{name} over all elements."
    return torch_op(name=f"_{name}_overall", node=f"{name.title()}Backward1")(fun)


def _three_forms(name: str, largest: bool, pairwise, doc: str):
    """max(x), max(x, dim), max(x, other)."""
    overall, along = _extreme_overall(name, largest), _extreme_along(name, largest)

    def fun(input, dim=None, keepdim=False, *, other=None, axis=None, out=None):
        dim = axis if dim is None else dim
        if other is None and isinstance(dim, Tensor) and dim.__class__ is not int:
            dim, other = None, dim
        if other is not None:
            result = pairwise(input, other)
        elif dim is None:
            result = overall(input)
        else:
            result = along(input, dim, keepdim)
        said = name if other is None else f"{name}imum"
        return result if out is None else write_out(said, out, result)

    fun.__doc__ = doc
    made = composite(fun, name=name, kind=Looking, out=Out(EXACT))
    made.simply()(overall)
    made.simply(int)(along)
    made.simply(int, name="dim")(along)
    made.simply(Tensor)(pairwise)
    return made


max = _three_forms(
    "max",
    True,
    maximum,
    """The greatest element.

    Along a dimension the values and indices; of two tensors the larger, elementwise.

    >>> torch.max(torch.tensor([1., 3., 2.]))
    tensor(3.)
    """,
)
min = _three_forms(
    "min",
    False,
    minimum,
    """The least element.

    Along a dimension the values and indices; of two tensors the smaller, elementwise.

    >>> torch.min(torch.tensor([1., 3., 2.]))
    tensor(1.)
    """,
)

# ---- variance ------------------------------------------------------------------------------------


NO_FREEDOM = (
    "{}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel "
    "divided by output numel)."
)


def _deviation(name: str, of: str):
    """Declare the op that computes std or var, with the mean or without."""
    with_mean = of.endswith("_mean")

    def fun(input: Tensor, dim=None, keepdim=False, correction=1):
        if input.aval.dtype not in dt.INEXACT:
            raise RuntimeError(
                f"{of} only support floating point and complex dtypes"
                if with_mean
                else "std and var only support floating point and complex dtypes"
            )
        axes = axes_of(input, dim)
        if math.prod(input.aval.shape[a] for a in axes) <= (1 if correction is None else correction):
            warn(NO_FREEDOM.format(of))
        average, out = reductions.mean_and_variance(input, axes, 1 if correction is None else correction)
        out = subgradients.root(out) if of.startswith("std") else out
        narrow = dt.real_of(input.aval.dtype)
        out = kept(p.convert(out, dtype=narrow), input, axes, keepdim)
        if not with_mean:
            return out
        return [out, kept(p.convert(average, dtype=input.aval.dtype), input, axes, keepdim)]

    fun.__doc__ = f"{of} over dimensions."
    saves = "operands" if of.startswith("var") else "all"
    return torch_op(name=name, node=of, saves=saves, method=False, function=False)(fun)


def _declare_deviation(name: str, doc: str):
    """std, var and their kin: std(x), std(x, unbiased), std(x, dim, unbiased, keepdim),
    std(x, dim, correction=1, keepdim=False)."""
    op = _deviation(f"_{name}", name)

    def fun(input, dim=None, unbiased=None, keepdim=False, *, correction=1, axis=None, out=None):
        dim = axis if dim is None else dim
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if unbiased is not None:
            correction = int(unbiased)
        result = op(input, dim, keepdim, correction)
        return result if out is None else write_out(name, out, result)

    fun.__doc__ = doc
    return composite(fun, name=name, method=not name.endswith("_mean"))


std = _declare_deviation(
    "std",
    """The standard deviation over dimensions, by n - correction.

    >>> torch.std(torch.tensor([1., 2., 3.]))
    tensor(1.)
    """,
)
var = _declare_deviation(
    "var",
    """The variance over dimensions, by n - correction.

    >>> torch.var(torch.tensor([1., 2., 3.]))
    tensor(1.)
    """,
)
std_mean = _declare_deviation(
    "std_mean",
    """The standard deviation and the mean over dimensions.

    >>> torch.std_mean(torch.tensor([1., 2., 3.]))
    (tensor(1.), tensor(2.))
    """,
)
var_mean = _declare_deviation(
    "var_mean",
    """The variance and the mean over dimensions.

    >>> torch.var_mean(torch.tensor([1., 2., 3.]))
    (tensor(1.), tensor(2.))
    """,
)

# ---- sums of exponentials ------------------------------------------------------------------------


@torch_op(
    out=Out(lower="logsumexp(): Expected floating point type for result tensor, but got: {wanted}"),
    autocast={"cuda": "full"},
)
def logsumexp(input: Tensor, dim, keepdim=False, *, out=None):
    """log(sum(exp(input))) over dimensions, without overflow.

    >>> torch.logsumexp(torch.tensor([0., 0.]), 0)
    tensor(0.6931)
    """
    x = d.to_float(input)
    axes = axes_of(x, dim)
    return kept(reductions.logsumexp(x, axes), x, axes, keepdim)


# ---- norms ---------------------------------------------------------------------------------------


def vector_norm_of(x, axes, ord):
    """The p-norm of floating or complex x over axes."""
    return subgradients.vector_norm(wide(x), ord, axes)


def _norm_node(a):
    name = "LinalgVectorNormBackward0"
    return NoGradient(name) if a.p == 0 else name


@torch_op(node=_norm_node, autocast={"cuda": "full"})
def _vector_norm(input: Tensor, p, dim, keepdim, dtype=None):
    """The p-norm over dimensions."""
    if input.aval.dtype not in dt.INEXACT and dtype is None:
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as "
            f"input. Got {scalar_name(input.aval.dtype)}"
        )
    x = primitives.convert(input, dtype=_types.numpy_dtype(dtype, input.aval.dtype))
    axes = axes_of(x, dim)
    out = vector_norm_of(x, axes, p)
    return kept(primitives.convert(out, dtype=dt.real_of(x.aval.dtype)), x, axes, keepdim)


primitives = p  # `p` is also PyTorch's name for the order of a norm


@composite(out=Out(EXACT), autocast={"cuda": "full"})
def norm(input, p="fro", dim=None, keepdim=False, dtype=None, *, out=None):
    """The p-norm of a tensor, over all its elements or dimensions; "fro" is 2, "nuc" nuclear.

    >>> torch.norm(torch.tensor([3., 4.]))
    tensor(5.)
    """
    if p == "nuc":
        result = _types.named("linalg.matrix_norm")(
            input, "nuc", (-2, -1) if dim is None else dim, keepdim, dtype=dtype
        )
    else:
        order = 2.0 if p is None or p == "fro" else float(p)
        result = _vector_norm(input, order, dim, keepdim, dtype)
    return result if out is None else write_out("norm", out, result)


@torch_op(autocast={"cuda": "full"}, node=lambda a: NoGradient("DistBackward0") if a.p == 0 else None)
def dist(input: Tensor, other: Tensor, p=2):
    """The p-norm of input - other.

    >>> torch.dist(torch.tensor([3., 4.]), torch.zeros(2))
    tensor(5.)
    """
    x, y = promote(input, other)
    if x.aval.dtype not in dt.INEXACT:
        raise RuntimeError(
            f"norm(): input dtype should be either floating point or complex. Got {scalar_name(x.aval.dtype)} instead."
        )
    apart = primitives.sub(x, y)
    out = vector_norm_of(apart, axes_of(apart, None), float(p))
    return primitives.convert(out, dtype=dt.real_of(x.aval.dtype))


@torch_op(inplace=True, out=Out(EXACT, whole=True), autocast={"cuda": "full"})
def renorm(input: Tensor, p, dim, maxnorm, *, out=None):
    """input with those slices along dim scaled down whose p-norm exceeds maxnorm.

    >>> torch.renorm(torch.tensor([[1., 0.], [3., 4.]]), 2, 0, 2.5)
    tensor([[1.0000, 0.0000],
            [1.5000, 2.0000]])
    """
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if input.aval.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.aval.ndim} dimensions")
    kept_dim = wrap_dim(dim, input.aval.ndim)
    axes = tuple(i for i in range(input.aval.ndim) if i != kept_dim)
    size = vector_norm_of(stop_gradient(input), axes, float(p))
    exceeds = spread(primitives.gt(size, float(maxnorm)), input.aval.shape, axes)
    long = primitives.select(exceeds, input, like(input, 0))  # so that infinite others have 1
    size = vector_norm_of(long, axes, float(p))
    scale = primitives.div(float(maxnorm), primitives.add(size, 1e-7))
    scaled = primitives.mul(long, spread(primitives.convert(scale, dtype=input.aval.dtype), input.aval.shape, axes))
    return primitives.select(exceeds, scaled, input)
