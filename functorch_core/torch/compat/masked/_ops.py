"""The functions of torch.masked: what a mask leaves out becomes the identity of the reduction."""

from __future__ import annotations

import math

from .... import torch
from ...tensors.base import wrap_dim
from ._sparse import IDENTITY, in_layout_of, reduce_sparse, sparse_where

# ---- masks, identities, dimensions ---------------------------------------------------------------


def _input_mask(input, *args, **kwargs):
    """The mask in the shape and the layout of the input, and of bools."""
    mask = kwargs.get("mask")
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    if mask.shape != input.shape:
        if mask.ndim > input.ndim:
            raise IndexError(
                "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)"
            )
        mask = torch.broadcast_to(mask if mask.layout is torch.strided else mask.to_dense(), input.shape)
    return in_layout_of(input, mask.to(torch.bool))


def _reduction_identity(op_name: str, input, *args):
    """The number that a reduction does not see, as a scalar of the input's dtype; None if there is none."""
    name = op_name.rsplit(".", 1)[-1]
    if name in ("mean", "var", "std"):
        return None
    if name == "norm":
        order = args[0] if args else 2
        if order == -math.inf and not input.dtype.is_floating_point:
            raise AssertionError(f"input must be floating point, got {input.dtype}")
        name = "amin" if order == -math.inf else "sum"
    known = SEEN_AS.get(name, name)
    if known not in IDENTITY or (known in ORDERED and input.dtype is torch.bool):
        raise NotImplementedError(f"identity of {name} on {input.dtype} input")
    if input.dtype.is_complex and known in ORDERED and name != "logsumexp":
        torch.iinfo(input.dtype)  # which refuses
    dtype = torch.float32 if name == "median" and not input.dtype.is_floating_point else input.dtype
    return torch.tensor(IDENTITY[known](dtype), dtype=dtype, device=input.device)


# What has the identity of another, and what compares.
SEEN_AS = {"cumsum": "sum", "cumprod": "prod", "logsumexp": "amax", "logaddexp": "amax"}
ORDERED = frozenset(("amax", "amin", "argmax", "argmin"))


def _where(mask, input, fill_value):
    """torch.where, also of sparse tensors: what the mask keeps is there, 0 if it was not in the input.

    In the dense part of hybrid tensors what it leaves out is the fill value.
    """
    if mask.layout is torch.strided:
        return torch.where(mask, input, fill_value)
    if mask.layout not in (torch.sparse_coo, torch.sparse_csr):
        raise ValueError(f"_where expects strided or sparse COO or sparse CSR tensor but got {mask.layout}")
    return sparse_where(mask, input, fill_value)


def _masked(input, mask, reduction: str):
    """The input with the identity of a reduction where the mask is False."""
    if mask is None:
        return input
    kept = _input_mask(input, mask=mask)
    return torch.where(kept, input, input.new_full((), IDENTITY[reduction](input.dtype)))


def _combine_input_and_mask(op, input, mask, *args):
    """The input with the identity of a reduction, a function of torch, where the mask is False."""
    if mask is None:
        return input
    kept = _input_mask(input, mask=mask)
    if kept.layout is not torch.strided:
        return _where(kept, input, _reduction_identity(op.__name__, input, *args))
    return _masked(input, mask, op.__name__)


def _canonical_dim(dim, ndim: int) -> tuple[int, ...]:
    """The dimensions a reduction goes over, sorted; the empty tuple means all."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    dims = [wrap_dim(d, ndim) for d in ((dim,) if isinstance(dim, int) else dim)]
    for d in dims:
        if dims.count(d) > 1:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
    return tuple(sorted(dims))


def _output_mask(op, input, *args, dim=None, keepdim=False, mask=None, **kwargs):
    """Where the result of a function of torch.masked is of something that was kept."""
    kept, args = _input_mask(input, mask=mask), args[op is norm :]
    if op.__name__ not in REDUCTIONS:
        return kept
    for d in reversed(_canonical_dim(args[0] if args else dim, input.ndim)):
        kept = kept.any(d, keepdim=bool(keepdim))
    return kept


REDUCTIONS = frozenset("sum prod amax amin argmax argmin mean median norm var std logsumexp".split())


def _sum_dtype(input, dtype):
    """The dtype of a sum or product: int64 for integers and bools."""
    if dtype is not None:
        return dtype
    return input.dtype if input.is_floating_point() or input.is_complex() else torch.int64


# ---- reductions ----------------------------------------------------------------------------------


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The sum of the kept elements over dimensions; 0 of none.

    >>> torch.masked.sum(torch.tensor([1, 2, 3]), mask=torch.tensor([True, False, True]))
    tensor(4)
    """
    dims, dtype = _canonical_dim(dim, input.ndim), _sum_dtype(input, dtype)
    if input.layout is not torch.strided:
        return reduce_sparse("sum", input, dims, bool(keepdim), dtype, mask)
    return torch.sum(_masked(input, mask, "sum"), dims, bool(keepdim), dtype=dtype)


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The product of the kept elements over dimensions; 1 of none.

    >>> torch.masked.prod(torch.tensor([2., 9., 4.]), 0, mask=torch.tensor([True, False, True]))
    tensor(8.)
    """
    dims, dtype = _canonical_dim(dim, input.ndim), _sum_dtype(input, dtype)
    if input.layout is not torch.strided:
        return reduce_sparse("prod", input, dims, bool(keepdim), dtype, mask)
    result = _masked(input, mask, "prod").to(dtype)
    for d in reversed(dims):
        result = result.prod(dim=d, keepdim=bool(keepdim))
    return result


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The mean of the kept elements over dimensions; NaN of none.

    >>> torch.masked.mean(torch.tensor([1., 2., 6.]), mask=torch.tensor([True, True, False]))
    tensor(1.5000)
    """
    dtype, dims = input.dtype if dtype is None else dtype, _canonical_dim(dim, input.ndim)
    if input.layout is not torch.strided:
        return reduce_sparse("mean", input, dims, bool(keepdim), dtype, mask)
    if mask is None:
        return torch.mean(input, dims, bool(keepdim), dtype=dtype)
    if not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"mean expects dtype to be floating point or complex, got {dtype}")
    count = _input_mask(input, mask=mask).sum(dim=dims, keepdim=bool(keepdim))
    return sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask) / count


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The lower median of the kept elements along a dimension; NaN of none.

    >>> torch.masked.median(torch.tensor([1., 5., 2.]), 0, mask=torch.tensor([True, False, True]))
    tensor(1.)
    """
    dtype, floating = input.dtype if dtype is None else dtype, input.is_floating_point()
    x = input if floating else input.to(torch.float)
    found = torch.nanmedian(
        _masked(x, mask, "median"), _canonical_dim(dim, input.ndim)[0] if input.ndim else 0, bool(keepdim)
    ).values
    if floating:
        return found
    if torch.isnan(found).any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return found.to(dtype)


def _extreme(name: str, doc: str):
    def fun(input, dim=None, *, keepdim=False, dtype=None, mask=None):
        if input.layout is not torch.strided:
            dims = _canonical_dim(dim, input.ndim)
            return reduce_sparse(name, input, dims, bool(keepdim), input.dtype if dtype is None else dtype, mask)
        found = getattr(torch, name)(_masked(input, mask, name), _canonical_dim(dim, input.ndim), bool(keepdim))
        return found if dtype is None else found.to(dtype)

    fun.__name__ = fun.__qualname__ = name
    fun.__doc__ = f"""{doc}

    >>> mask = torch.tensor([False, True, True, False])
    >>> torch.masked.{name}(torch.tensor([1., 5., 2., 9.]), 0, mask=mask)
    tensor({"5." if name == "amax" else "2."})
    """
    return fun


amax = _extreme("amax", "The greatest kept element over dimensions.")
amin = _extreme("amin", "The least kept element over dimensions.")


def _place(name: str, identity: str, doc: str):
    def fun(input, dim=None, *, keepdim=False, dtype=None, mask=None):
        found = getattr(torch, name)(_masked(input, mask, identity), dim, bool(keepdim))
        return found.to(input.dtype if dtype is None else dtype)

    fun.__name__ = fun.__qualname__ = name
    fun.__doc__ = f"""{doc}

    >>> mask = torch.tensor([False, True, True, False])
    >>> torch.masked.{name}(torch.tensor([1., 5., 2., 9.]), 0, mask=mask)
    tensor({1.0 if name == "argmax" else 2.0:.0f}.)
    """
    return fun


argmax = _place("argmax", "amax", "The index of the greatest kept element along a dimension.")
argmin = _place("argmin", "amin", "The index of the least kept element along a dimension.")


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The norm of the kept elements over dimensions; 0 of none (infinity for ord=-inf).

    >>> torch.masked.norm(torch.tensor([3., 9., 4.]), 2.0, 0, mask=torch.tensor([True, False, True]))
    tensor(5.)
    """
    x = _masked(input, mask, "amin" if ord == -math.inf else "sum")
    return torch.linalg.vector_norm(
        x, ord, _canonical_dim(dim, input.ndim), bool(keepdim), dtype=input.dtype if dtype is None else dtype
    )


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The logarithm of the sum of the exponentials of the kept elements over dimensions.

    >>> torch.masked.logsumexp(torch.tensor([0., 5.]), 0, mask=torch.tensor([True, False]))
    tensor(0.)
    """
    found = torch.logsumexp(_masked(input, mask, "amax"), _canonical_dim(dim, input.ndim), bool(keepdim))
    return found.to(input.dtype if dtype is None else dtype)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """log(exp(input) + exp(other)) where both are kept; where one is, that one.

    >>> mask = torch.tensor([True, False])
    >>> torch.masked.logaddexp(torch.zeros(2), torch.zeros(2), input_mask=mask, other_mask=~mask)
    tensor([0., 0.])
    """
    found = torch.logaddexp(_masked(input, input_mask, "amax"), _masked(other, other_mask, "amax"))
    return found.to(input.dtype if dtype is None else dtype)


# ---- variance ------------------------------------------------------------------------------------


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance of the kept elements over dimensions; NaN of none.

    >>> torch.masked.var(torch.tensor([1., 9., 3.]), 0, unbiased=False, mask=torch.tensor([True, False, True]))
    tensor(1.)
    """
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 1.0 if unbiased is None or unbiased else 0.0
    if dtype is None:
        dtype = input.dtype
        dtype = dtype if dtype.is_floating_point or dtype.is_complex else torch.float32
    wide = dtype if dtype.is_floating_point or dtype.is_complex else torch.float32
    kept = torch.ones_like(input, dtype=torch.bool) if mask is None else (_input_mask(input, mask=mask))
    dims = _canonical_dim(dim, input.ndim)
    count = kept.sum(dim=dims, keepdim=True)
    apart = input - sum(input, dims, keepdim=True, dtype=dtype, mask=kept) / count
    total = sum(apart * apart.conj(), dims, keepdim=keepdim, dtype=wide, mask=kept)
    freedom = count.reshape(total.shape)
    if correction:
        real = wide.to_real() if wide.is_complex else wide
        freedom = (freedom.to(real) - correction).clamp(min=0)
    return (total / freedom).to(dtype)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The standard deviation of the kept elements over dimensions; NaN of none.

    >>> torch.masked.std(torch.tensor([1., 9., 3.]), 0, unbiased=False, mask=torch.tensor([True, False, True]))
    tensor(1.)
    """
    return torch.sqrt(var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask))


# ---- of the input's shape ------------------------------------------------------------------------


def cumsum(input, dim, *, dtype=None, mask=None):
    """The sum of the kept elements so far along a dimension.

    >>> torch.masked.cumsum(torch.tensor([1., 5., 2.]), 0, mask=torch.tensor([True, False, True]))
    tensor([1., 1., 3.])
    """
    return torch.cumsum(_masked(input, mask, "sum"), dim, dtype=input.dtype if dtype is None else dtype)


def cumprod(input, dim, *, dtype=None, mask=None):
    """The product of the kept elements so far along a dimension.

    >>> torch.masked.cumprod(torch.tensor([1., 5., 2.]), 0, mask=torch.tensor([True, False, True]))
    tensor([1., 1., 2.])
    """
    return torch.cumprod(_masked(input, mask, "prod"), dim, dtype=input.dtype if dtype is None else dtype)


def softmax(input, dim, *, dtype=None, mask=None):
    """softmax along a dimension over the kept elements; 0 for the others.

    >>> torch.masked.softmax(torch.tensor([1., 1., 9.]), 0, mask=torch.tensor([True, True, False]))
    tensor([0.5000, 0.5000, 0.0000])
    """
    return torch.softmax(_masked(input, mask, "amax"), dim, dtype=dtype)


def log_softmax(input, dim, *, dtype=None, mask=None):
    """The logarithm of softmax along a dimension over the kept elements.

    >>> torch.masked.log_softmax(torch.tensor([1., 1.]), 0, mask=torch.tensor([True, True]))
    tensor([-0.6931, -0.6931])
    """
    return torch.log_softmax(_masked(input, mask, "amax"), dim, dtype=dtype)


def softmin(input, dim, *, dtype=None, mask=None):
    """softmax of the negative along a dimension over the kept elements.

    >>> torch.masked.softmin(torch.tensor([1., 9., 1.]), 0, mask=torch.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    return torch.nn.functional.softmin(_masked(input, mask, "amin"), dim, dtype=dtype)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """The input over the norm of its kept elements along a dimension; 0 for the others.

    >>> torch.masked.normalize(torch.tensor([3., 9., 4.]), 2.0, 0, mask=torch.tensor([True, False, True]))
    tensor([0.6000, 0.0000, 0.8000])
    """
    size = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _masked(input, mask, "sum") / torch.clamp(size, min=eps)
