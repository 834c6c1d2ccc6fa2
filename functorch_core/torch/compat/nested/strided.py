"""Functions of nested tensors of layout torch.strided: of each example, whose dimensions are one fewer."""

from __future__ import annotations

from collections.abc import Callable

from .... import torch
from ...tensors.base import wrap_dim
from ...tensors.types import Size
from .tensor import NestedTensor

ON_BATCH = "{name}(): not supported for NestedTensor on dim=0"


def fits(x: NestedTensor, y: NestedTensor) -> bool:
    """Whether the examples of two have the same shapes."""
    return y.layout is torch.strided and x._shapes == y._shapes


def joined(examples) -> NestedTensor:
    """The nested tensor of examples of as many dimensions."""
    examples = list(examples)
    return NestedTensor.strided(torch.cat([x.reshape(-1) for x in examples]), [tuple(x.shape) for x in examples])


def _inner(name: str, x: NestedTensor, dim: int, more: int = 0) -> int:
    """The examples' dimension for one of the nested tensor that is not the first."""
    dim = wrap_dim(dim, x.dim() + more)
    if dim == 0:
        raise RuntimeError(ON_BATCH.format(name=name))
    return dim - 1


def _along(func, x: NestedTensor, dim: int, *args, **kwargs):
    """Functions along a dimension of each example."""
    inner = _inner(func.__name__, x, dim, more=func.__name__ == "unsqueeze")
    return joined([func(y, inner, *args, **kwargs) for y in x._examples()])


def _sum(func, x: NestedTensor, dim=None, keepdim: bool = False, **kwargs):
    if dim is None:
        return func(x._packed, **kwargs)
    (dim,) = dim if isinstance(dim, (tuple, list)) else (dim,)
    if not keepdim:
        raise RuntimeError("NestedTensor always requires keepdim=True for now.")
    return _along(func, x, dim, keepdim, **kwargs)


def _of_all(func, x: NestedTensor, **kwargs):
    return func(x._packed, **kwargs)


def _transpose(func, x: NestedTensor, dim0: int, dim1: int):
    inner = [_inner("transpose", x, d) for d in (dim0, dim1)]
    return joined([func(y, *inner) for y in x._examples()])


def _permute(func, x: NestedTensor, *dims):
    order = [wrap_dim(d, x.dim()) for d in (dims[0] if len(dims) == 1 else dims)]
    if order[:1] != [0]:
        raise RuntimeError("permute(): the first dimension of a NestedTensor stays the first")
    return joined([func(y, [d - 1 for d in order[1:]]) for y in x._examples()])


def _view(func, x: NestedTensor, *sizes):
    sizes = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    if sizes[0] not in (-1, len(x)):
        raise RuntimeError(
            f"{func.__name__}(): For now nested reshape and view cannot change the implicit batch dimension"
        )
    inner = sizes[1:]
    shapes = [[s[i] if n == -1 and i < len(s) else n for i, n in enumerate(inner)] for s in x._shapes]  # -1: as before
    return joined([func(y, shape) for y, shape in zip(x._examples(), shapes)])


def _select(func, x: NestedTensor, dim: int, index: int):
    if wrap_dim(dim, x.dim()) == 0:
        return x._examples()[index]
    return _along(func, x, dim, index)


def _getitem(func, x: NestedTensor, index):
    first, *others = index if isinstance(index, tuple) else (index,)
    if not isinstance(first, int):
        raise NotImplementedError(
            "__getitem__(): a nested tensor of layout torch.strided takes the number of an example"
        )
    example = x._examples()[first]
    return example[tuple(others)] if others else example


def _split(func, x: NestedTensor, sizes, dim: int = 0):
    inner = _inner(func.__name__, x, dim)
    parts = [func(y, sizes, inner) for y in x._examples()]
    return tuple(map(joined, zip(*parts, strict=True)))


def _cat(func, tensors, dim: int = 0):
    if dim != 0:
        raise RuntimeError(f"cat(): the first dimension only is supported for NestedTensor, not {dim}")
    return joined([y for x in tensors for y in (x.unbind() if x.is_nested else x)])


def _of_examples(func, x: NestedTensor, *args, **kwargs):
    """Layers: of each example."""
    return joined([func(y, *args, **kwargs) for y in x._examples()])


def _matmul(func, a, b):
    if not (isinstance(a, NestedTensor) and isinstance(b, NestedTensor)):
        nested = ["a nested" if isinstance(x, NestedTensor) else "non-nested" for x in (a, b)]
        raise RuntimeError(f"Expected both to be nested, but got {nested[0]} self and {nested[1]} other")
    return joined([torch.matmul(x, y) for x, y in zip(a._examples(), b._examples(), strict=True)])


def _embedding(func, input, weight, *args, **kwargs):
    if isinstance(weight, NestedTensor):  # torch.embedding(weight, indices)
        return joined([func(input, y, *args, **kwargs) for y in weight._examples()])
    return _of_examples(func, input, weight, *args, **kwargs)


def _attention(func, query, key, value, attn_mask=None, *args, **kwargs):
    if attn_mask is not None:
        raise RuntimeError("scaled_dot_product_attention: Nested tensors for query / key / value take no attn_mask")
    examples = zip(*(x._examples() for x in (query, key, value)), strict=True)
    return joined([func(*qkv, None, *args, **kwargs) for qkv in examples])


def _of_padded(x: NestedTensor, dense) -> NestedTensor:
    """Of examples that differ along their first dimension alone."""
    return joined([y[: shape[0]] for y, shape in zip(dense, x._shapes)])


def _to_padded_tensor(_, x: NestedTensor, padding: float, output_size=None):
    longest = [len(x), *map(max, zip(*x._shapes))] if x._shapes else [0]
    size = list(longest if output_size is None else output_size)
    if len(size) != len(longest) or any(m < n for m, n in zip(size, longest)):
        raise RuntimeError(f"Value in output_size is less than NestedTensor padded size: {size} for {longest}")
    missing = [[m - n for m, n in zip(size[1:], shape)] for shape in x._shapes]
    pads = [[p for n in reversed(of_one) for p in (0, n)] for of_one in missing]
    found = [torch.nn.functional.pad(y, pad, value=padding) for y, pad in zip(x._examples(), pads)]
    rest = [x._packed.new_full(Size(size[1:]), padding)] * (size[0] - len(x))
    return torch.stack([*found, *rest]) if found or rest else x._packed.new_empty(0)


TABLE: dict[str, Callable] = {
    **dict.fromkeys(("softmax", "log_softmax", "squeeze", "unsqueeze", "narrow", "cumsum", "unflatten"), _along),
    **dict.fromkeys(("all", "any", "mean", "max", "min", "prod"), _of_all),
    **dict.fromkeys(("view", "reshape"), _view),
    **dict.fromkeys(("transpose", "swapaxes", "swapdims"), _transpose),
    **dict.fromkeys(("chunk", "split", "split_with_sizes"), _split),
    **dict.fromkeys(("cat", "concat", "concatenate"), _cat),
    **dict.fromkeys(("matmul", "bmm"), _matmul),
    **dict.fromkeys(("layer_norm", "linear", "rms_norm"), _of_examples),
    "__getitem__": _getitem,
    "_of_padded": _of_padded,
    "embedding": _embedding,
    "permute": _permute,
    "scaled_dot_product_attention": _attention,
    "select": _select,
    "sum": _sum,
    "to_padded_tensor": _to_padded_tensor,
    "unbind": lambda func, x, dim=0: x.unbind(dim),
}
