"""Norms with PyTorch's subgradients, and the distances made of them."""

from __future__ import annotations

from ....kernels.subgradients import pair_distances, vector_norm
from ...dispatch.op import torch_op
from ...tensors.active import overridable
from ...tensors.base import Tensor
from ...tensors.promotion import promote
from ...views.memory_order import by_first
from ..values import aval_of, dt, full_like, like, p, require_floating, total, where, wide, wrap_dim

# ---- norms ---------------------------------------------------------------------------------------


def norm_of_difference(difference, power: float):
    """The p-norm over the last dimension, computed in float32 for 16-bit floats."""
    a = aval_of(difference)
    out = vector_norm(wide(difference), power, (a.ndim - 1,))
    return p.convert(out, dtype=dt.real_of(a.dtype))


# ---- distances -----------------------------------------------------------------------------------


@torch_op(method=False, node="Norm1(Add1(Sub0(x1, x2)))", saves="result")
def pairwise_distance(x1: Tensor, x2: Tensor, p=2.0, eps=1e-6, keepdim=False):
    """The p-norm of x1 - x2 + eps over the last dimension.

    >>> nn.functional.pairwise_distance(torch.zeros(1, 2), torch.tensor([[3., 4.]]))
    tensor([5.0000])
    """
    return distance(x1, x2, p, eps, keepdim)


def distance(x1, x2, power, eps, keepdim=False):
    """pairwise_distance of values."""
    x, y = promote(x1, x2, to_float=True)
    x = p.add(p.sub(x, y), full_like(x, eps))
    single = not aval_of(x).ndim  # a number is a vector of one element
    out = norm_of_difference(p.reshape(x, shape=(1,)) if single else x, power)
    return p.expand_dims(out, dims=(aval_of(out).ndim,)) if keepdim and not single else out


_UNITS = "Div0(x1, Clone0(LinalgVectorNorm0(x1))), Div0(x2, Clone0(LinalgVectorNorm0(x2)))"


@torch_op(method=False, autocast={"cuda": "full"}, node=f"Sum1(Mul0({_UNITS}))")
def cosine_similarity(x1: Tensor, x2: Tensor, dim=1, eps=1e-8):
    """x1 . x2 / (max(|x1|, eps) * max(|x2|, eps)) along `dim`.

    >>> nn.functional.cosine_similarity(torch.ones(1, 2), torch.ones(1, 2))
    tensor([1.0000])
    """
    return similarity(x1, x2, dim, eps)


def similarity(x1, x2, dim, eps):
    """cosine_similarity of values."""
    x, y = promote(x1, x2)
    if aval_of(x).dtype not in dt.FLOATING:
        raise RuntimeError(
            f"expected common dtype to be floating point, yet common dtype is {aval_of(x).dtype.name.capitalize()}"
        )
    out_dtype = x
    x, y = wide(x), wide(y)
    d = wrap_dim(dim, aval_of(x).ndim)
    shape = aval_of(x).shape

    def unit(v):
        if not shape:
            length = p.abs(v)
            return p.div(v, where(p.lt(length, full_like(length, eps)), eps, length))
        length = vector_norm(v, 2, (d,))
        clipped = where(p.lt(length, full_like(length, eps)), eps, length)
        kept = tuple(i for i in range(len(shape)) if i != d)
        return p.div(v, p.broadcast_in_dim(clipped, shape=shape, dims=kept))

    products = p.mul(unit(x), unit(y))
    return like(total(products, (d,)) if shape else products, out_dtype)


@torch_op(method=False, autocast={"cuda": "full"})
def pdist(input: Tensor, p=2.0):
    """The p-norm distances of the n (n - 1) / 2 pairs of different rows.

    >>> nn.functional.pdist(torch.tensor([[0., 0.], [3., 4.]]))
    tensor([5.])
    """
    a = aval_of(input)
    if a.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {a.ndim}D")
    if a.dtype not in dt.FLOATING:
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    return like(pair_distances(wide(input), p), input)


@overridable
def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """input / max(its p-norm along dim, eps).

    >>> nn.functional.normalize(torch.tensor([[3., 4.]]))
    tensor([[0.6000, 0.8000]])
    """
    return _normalized(input, float(p), dim, eps, out=out)


@torch_op(
    node="Div0(input, Expand0(ClampMin0(LinalgVectorNorm0(input))))",
    saves="operands",
    autocast={"cuda": "full"},
    layout=by_first,
)
def _normalized(input: Tensor, power, dim, eps, *, out=None):
    require_floating("linalg_vector_norm_cpu", input, complex=True)
    x, shape = wide(input), aval_of(input).shape
    dims = (dim,) if isinstance(dim, int) else dim
    axes = tuple(wrap_dim(d, len(shape)) for d in dims) if shape else ()
    length = vector_norm(x, power, axes)
    # clamp_min: at the bound itself the derivative is the norm's
    length = where(p.lt(length, full_like(length, eps)), eps, length)
    length = p.convert(length, dtype=aval_of(x).dtype)
    kept = tuple(i for i in range(len(shape)) if i not in axes)
    return like(p.div(x, p.broadcast_in_dim(length, shape=shape, dims=kept)), input)
