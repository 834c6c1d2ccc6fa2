"""Functions of nested tensors of layout torch.jagged, whose values lie one behind the other in one tensor.

A dimension of the nested tensor is the one before it of its values: the first, which counts the examples, is none of
theirs. What goes along the ragged dimension is computed of the examples padded to one size.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .... import torch
from ...tensors.base import wrap_dim
from .tensor import NestedInt, NestedTensor, Ragged

ON_RAGGED = "{name}(): not supported for NestedTensor on ragged dim"
ON_BATCH = "{name}(): not supported for NestedTensor on dim=0"
ALONG_BATCH = "{name}(): not supported when reducing across the batch dimension for NestedTensor"
BATCH_ALONE = (
    "{name}(): reducing along the batch dimension but not the ragged dimension is not supported for nested tensors"
)
RAGGED_WITH = "{name}(): reducing along a ragged and non-batch dimension is not supported for nested tensors"
PRODUCT = "{name}(): not supported between inputs of shapes {} and {}"
VIEW = "{name}(): cannot view shape {} as {}"


def fits(x: NestedTensor, y: NestedTensor) -> bool:
    """Whether the values of two lie in the same way, so that functions of elements take them as they are."""
    return x._ragged is y._ragged and x._axis == y._axis and x.dim() == y.dim()


def spread(like: NestedTensor, x):
    """A dense tensor as an operand of the values of a nested one: examples' parts repeated along the ragged dimension.
    None if it does not broadcast to the nested shape."""
    axis, n = like._axis, len(like)
    if x.ndim > like.dim():
        return None
    shape = (*[1] * (like.dim() - x.ndim), *x.shape)
    if shape[axis] != 1 or shape[0] not in (1, n):
        return None
    x = x.reshape(shape)
    if shape[0] == 1:
        return x[0]
    return x.squeeze(axis).index_select(0, _examples_of(like)).movedim(0, axis - 1)


def _examples_of(x: NestedTensor):
    """For each place along the ragged dimension of the values the number of its example."""
    numbers = np.zeros(x._packed.shape[x._axis - 1], np.int64)
    for i, (start, n) in enumerate(zip(x._ragged.starts, x._ragged.sizes)):
        numbers[start : start + n] = i
    return torch.from_numpy(numbers)


# ---- padding -------------------------------------------------------------------------------------


def padded(x: NestedTensor, value, length: int | None = None):
    """The examples as one dense tensor, `value` where they are shorter than `length` (by default the longest)."""
    ragged, axis = x._ragged, x._axis
    length = ragged.longest if length is None else length
    rows = x._packed.movedim(axis - 1, 0)
    shape = (len(x), length, *rows.shape[1:])
    if not length or not rows.shape[0]:
        found = rows.new_full(shape, value)
    else:
        places = np.asarray(ragged.starts)[:, None] + np.arange(length)
        places = np.minimum(places, rows.shape[0] - 1)
        found = rows.index_select(0, torch.from_numpy(places.reshape(-1))).reshape(shape)
        there = _there(ragged, length).reshape((*shape[:2], *[1] * (len(shape) - 2)))
        found = torch.where(there, found, value)
    return found.movedim(1, axis)


def _there(ragged: Ragged, length: int):
    """Which places of padded examples are theirs, as a matrix."""
    return torch.from_numpy(np.arange(length) < np.asarray(ragged.sizes)[:, None])


def of_padded(x, ragged: Ragged, axis: int) -> NestedTensor:
    """The nested tensor of which a dense one is the padded form, along dimension `axis`."""
    rows = x.movedim(axis, 1)
    places = [i * rows.shape[1] + np.arange(n) for i, n in enumerate(ragged.sizes)]
    values = rows.flatten(0, 1).index_select(0, torch.from_numpy(np.concatenate(places)))
    if ragged.lengths is not None:  # what lay between the examples is gone
        ragged = Ragged.of_sizes(ragged.sizes)
    return NestedTensor.jagged(values.movedim(0, axis - 1), ragged, axis)


def _of_padded(x: NestedTensor, dense) -> NestedTensor:
    return of_padded(dense, x._ragged, x._axis)


def _to_padded_tensor(_, x: NestedTensor, padding: float, output_size=None):
    found = padded(x, padding, None if output_size is None else output_size[x._axis])
    if output_size is not None:
        found = found[tuple(slice(n) for n in output_size)]
        missing = [m - n for m, n in zip(output_size, found.shape)]
        found = torch.nn.functional.pad(found, [p for n in reversed(missing) for p in (0, n)], value=padding)
    return found


# ---- along dimensions ----------------------------------------------------------------------------


def _inner(name: str, x: NestedTensor, dim: int) -> int:
    """The dimension of the values for one of the nested tensor that is neither the first nor ragged."""
    dim = wrap_dim(dim, x.dim())
    if dim == 0 or dim == x._axis:
        raise RuntimeError((ON_RAGGED if dim else ON_BATCH).format(name=name))
    return dim - 1


def _softmax(func, x: NestedTensor, dim: int, *args, **kwargs):
    dim = wrap_dim(dim, x.dim())
    if dim == 0:
        raise RuntimeError(ALONG_BATCH.format(name=func.__name__))
    if dim != x._axis:
        return x._with(func(x._packed, dim - 1, *args, **kwargs))
    return of_padded(func(padded(x, -math.inf), dim, *args, **kwargs), x._ragged, dim)


def _identity(name: str, dtype):
    """What changes nothing in a reduction."""
    if name in ("sum", "mean", "prod", "all", "any"):
        return {"sum": 0, "mean": 0, "prod": 1, "all": True, "any": False}[name]
    if dtype is torch.bool:
        return "min" in name
    limits = (-math.inf, math.inf) if dtype.is_floating_point else (torch.iinfo(dtype).min, torch.iinfo(dtype).max)
    return limits["min" in name]


def _reduce(func, x: NestedTensor, dim=None, keepdim: bool = False, **kwargs):
    """Sums and the like: of all elements, of dimensions of the examples, or of what is ragged, which gives a dense
    tensor."""
    name = func.__name__
    if isinstance(dim, torch.Tensor):  # torch.max(x, y)
        return getattr(torch, {"max": "maximum", "min": "minimum"}[name])(x, dim)
    if dim is None:
        return func(torch.cat([y.reshape(-1) for y in x._examples()]), **kwargs)
    many = isinstance(dim, (tuple, list))
    dims = sorted({wrap_dim(d, x.dim()) for d in (dim if many else (dim,))})
    if 0 in dims:
        return _reduce_examples(func, x, dims, keepdim, kwargs)
    if x._axis in dims:
        if len(dims) > 1:
            raise RuntimeError(RAGGED_WITH.format(name=name))
        return _reduce_ragged(func, x, keepdim, kwargs)
    inner = [d - 1 for d in dims]
    found = func(x._packed, inner if many else inner[0], keepdim, **kwargs)
    axis = x._axis - (0 if keepdim else sum(d < x._axis for d in dims))
    if isinstance(found, tuple):
        return type(found)([NestedTensor.jagged(y, x._ragged, axis) for y in found])
    return NestedTensor.jagged(found, x._ragged, axis)


def _reduce_examples(func, x: NestedTensor, dims: list[int], keepdim: bool, kwargs: dict):
    if x._axis not in dims:
        raise RuntimeError(BATCH_ALONE.format(name=func.__name__))
    values = x._packed if x._ragged.lengths is None else torch.cat(x._examples(), x._axis - 1)
    found = func(values, [d - 1 for d in dims if d], keepdim, **kwargs)
    return found.unsqueeze(0) if keepdim else found


def _reduce_ragged(func, x: NestedTensor, keepdim: bool, kwargs: dict):
    name = func.__name__
    filled = padded(x, _identity(name, x.dtype))
    if name != "mean":
        return func(filled, x._axis, keepdim, **kwargs)
    sizes = torch.tensor(x._ragged.sizes).reshape([-1, *[1] * (filled.ndim - 1)])
    found = filled.sum(x._axis, keepdim=True, **kwargs) / sizes
    return found if keepdim else found.squeeze(x._axis)


# ---- shapes --------------------------------------------------------------------------------------


def _shape(name: str, x: NestedTensor, sizes) -> tuple[list[int], int]:
    """What the values' shape is for a shape of the nested tensor, and which dimension is ragged there."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = sizes[0]
    sizes, symbol = list(sizes), x._ragged.symbol
    ragged = [i for i, n in enumerate(sizes) if isinstance(n, NestedInt)] or [i for i, n in enumerate(sizes) if n == -1]
    wrong = VIEW.format(tuple(x.shape), sizes, name=name)
    if not ragged or ragged[0] == 0 or sizes[0] not in (-1, len(x)):
        raise RuntimeError(wrong)
    axis = ragged[0]
    before, old = math.prod(sizes[1:axis]), math.prod(x._packed.shape[: x._axis - 1])
    if before != old or sizes[axis] not in (-1, symbol):  # the examples' elements would be mixed
        raise RuntimeError(wrong)
    sizes[axis] = x._packed.shape[x._axis - 1]
    if -1 not in sizes[axis + 1 :] and math.prod(sizes[1:]) != x._packed.numel():
        raise RuntimeError(wrong)
    return sizes[1:], axis


def _view(func, x: NestedTensor, *sizes, **kwargs):
    shape, axis = _shape(func.__name__, x, sizes or tuple(kwargs.values()))
    return NestedTensor.jagged(func(x._packed, shape), x._ragged, axis)


def _expand(func, x: NestedTensor, *sizes, **kwargs):
    given = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    inner = [-1 if i + 1 == x._axis else n for i, n in enumerate(given[1:])]
    if given[0] not in (-1, len(x)) or given[x._axis] not in (-1, x._ragged.symbol):
        raise RuntimeError(ON_RAGGED.format(name=func.__name__))
    return x._with(func(x._packed, inner))


def _flatten(func, x: NestedTensor, start_dim: int = 0, end_dim: int = -1):
    start, end = wrap_dim(start_dim, x.dim()), wrap_dim(end_dim, x.dim())
    if start == end:
        return x
    if start == 0 or start <= x._axis <= end:
        raise RuntimeError((ON_RAGGED if start else ON_BATCH).format(name="flatten"))
    axis = x._axis - (end - start if end < x._axis else 0)
    return NestedTensor.jagged(func(x._packed, start - 1, end - 1), x._ragged, axis)


def _unflatten(func, x: NestedTensor, dim: int, sizes):
    inner = _inner("unflatten", x, dim)
    axis = x._axis + (len(sizes) - 1 if inner < x._axis - 1 else 0)
    return NestedTensor.jagged(func(x._packed, inner, sizes), x._ragged, axis)


def _unsqueeze(func, x: NestedTensor, dim: int):
    dim = wrap_dim(dim, x.dim() + 1)
    if dim == 0:
        raise RuntimeError(ON_BATCH.format(name="unsqueeze"))
    return NestedTensor.jagged(func(x._packed, dim - 1), x._ragged, x._axis + (dim <= x._axis))


def _squeeze(func, x: NestedTensor, dim: int | None = None):
    if dim is None:
        raise NotImplementedError("squeeze(): give the dimension of a nested tensor that has size 1, squeeze(dim)")
    inner = _inner("squeeze", x, dim)
    gone = x._packed.shape[inner] == 1 and inner < x._axis - 1
    return NestedTensor.jagged(func(x._packed, inner), x._ragged, x._axis - gone)


def _transpose(func, x: NestedTensor, dim0: int, dim1: int):
    a, b = (wrap_dim(d, x.dim()) for d in (dim0, dim1))
    if a == b:
        return x
    if 0 in (a, b):
        raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
    axis = {a: b, b: a}.get(x._axis, x._axis)
    return NestedTensor.jagged(func(x._packed, a - 1, b - 1), x._ragged, axis)


def _permute(func, x: NestedTensor, *dims, **kwargs):
    dims = dims[0] if len(dims) == 1 else dims or kwargs["dims"]
    order = [wrap_dim(d, x.dim()) for d in dims]
    if sorted(order) != list(range(x.dim())) or order[0] != 0:
        raise ValueError(f"permute(): the first of {list(dims)} must be 0 for a jagged tensor, each dimension once")
    return NestedTensor.jagged(func(x._packed, [d - 1 for d in order[1:]]), x._ragged, order.index(x._axis))


def _select(func, x: NestedTensor, dim: int, index: int):
    if wrap_dim(dim, x.dim()) == 0:
        return x._examples()[index]
    inner = _inner("select", x, dim)
    return NestedTensor.jagged(func(x._packed, inner, index), x._ragged, x._axis - (inner < x._axis - 1))


def _part(func, x: NestedTensor, *args, **kwargs):
    """narrow: another part of a dimension that is not ragged."""
    dim, *others = args or (kwargs.pop("dim"),)
    return x._with(func(x._packed, _inner(func.__name__, x, dim), *others, **kwargs))


def _split(func, x: NestedTensor, sizes, dim: int = 0):
    if func.__name__ == "chunk" and wrap_dim(dim, x.dim()) == 0:
        examples = x._examples()
        n = math.ceil(len(examples) / sizes)
        return tuple(joined(examples[i : i + n], x._axis) for i in range(0, len(examples), n))
    found = func(x._packed, sizes, _inner(func.__name__, x, dim))
    return tuple(map(x._with, found))


def _join(func, tensors, dim: int = 0):
    first = next(x for x in tensors if isinstance(x, NestedTensor))
    if not all(isinstance(x, NestedTensor) and fits(first, x) for x in tensors):
        raise RuntimeError(f"{func.__name__}(): expects nested tensors whose ragged dimensions are the same")
    new = func.__name__ == "stack"
    dim = wrap_dim(dim, first.dim() + new)
    if dim == 0 or (dim == first._axis and not new):
        raise RuntimeError((ON_RAGGED if dim else ON_BATCH).format(name=func.__name__))
    axis = first._axis + (new and dim <= first._axis)
    return NestedTensor.jagged(func([x._packed for x in tensors], dim - 1), first._ragged, axis)


def joined(examples, axis: int = 1) -> NestedTensor:
    """The nested tensor of examples that differ in size along one dimension, `axis` of the nested one."""
    ragged = Ragged.of_sizes([x.shape[axis - 1] for x in examples])
    return NestedTensor.jagged(torch.cat(list(examples), axis - 1), ragged, axis)


def _getitem(func, x: NestedTensor, index):
    index = list(index) if isinstance(index, tuple) else [index]
    if Ellipsis in index:
        at = index.index(Ellipsis)
        missing = x.dim() - sum(i is not None for i in index) + 1
        index[at : at + 1] = [slice(None)] * missing
    if isinstance(index[0], int):
        example = x._examples()[index[0]]
        return example[tuple(index[1:])] if index[1:] else example
    axis, place = x._axis, 0
    for i in index:  # of the nested tensor's dimensions
        if not (i is None or isinstance(i, (int, slice))):
            raise NotImplementedError("__getitem__(): nested tensors take no index tensors: use those of unbind()")
        if place in (0, x._axis) and i is not None and i != slice(None):
            raise RuntimeError((ON_RAGGED if place else ON_BATCH).format(name="slice"))
        if place == 0 and i is None:
            raise RuntimeError(ON_BATCH.format(name="unsqueeze"))
        axis += (place <= x._axis) * ((i is None) - isinstance(i, int))
        place += i is not None
    return NestedTensor.jagged(x._packed[tuple(index[1:])] if index[1:] else x._packed, x._ragged, axis)


# ---- layers --------------------------------------------------------------------------------------


def _linear(func, x: NestedTensor, weight, bias=None):
    if x._axis == x.dim() - 1:
        raise ValueError("linear(): not supported for NestedTensor whose last dim is ragged")
    return x._with(func(x._packed, weight, bias))


def _matmul(func, a, b, **kwargs):
    wrong = PRODUCT.format(tuple(a.shape), tuple(b.shape), name=func.__name__)
    if isinstance(a, NestedTensor) and isinstance(b, NestedTensor):
        if a._axis == a.dim() - 1 and b._axis == b.dim() - 2 and a._ragged is b._ragged:
            return torch.matmul(padded(a, 0), padded(b, 0))
        raise RuntimeError(wrong)
    x, axis = (a, a._axis) if isinstance(a, NestedTensor) else (b, b._axis)
    contracted = x.dim() - (1 if x is a else 2)
    other = b if x is a else a
    if axis == contracted or (other.ndim > 2 and other.shape[0] not in (1, len(x))):
        raise RuntimeError(wrong)
    if other.ndim <= 2 and axis >= x.dim() - 2:
        return x._with(torch.matmul(*(y._packed if y is x else y for y in (a, b))))
    dense = padded(x, 0)
    return of_padded(torch.matmul(dense, b) if x is a else torch.matmul(a, dense), x._ragged, axis)


def _embedding(func, input, weight, *args, **kwargs):
    if isinstance(weight, NestedTensor):  # torch.embedding(weight, indices)
        return weight._with(func(input, weight._packed, *args, **kwargs))
    return input._with(func(input._packed, weight, *args, **kwargs))


def _norm(func, x: NestedTensor, normalized_shape, *args, **kwargs):
    n = len(normalized_shape) if isinstance(normalized_shape, (tuple, list)) else 1
    if x._axis >= x.dim() - n:
        raise RuntimeError(f"{func.__name__}(): normalizing over ragged dim not supported for NestedTensor")
    return x._with(func(x._packed, normalized_shape, *args, **kwargs))


def _attention(func, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if not all(isinstance(x, NestedTensor) for x in (query, key, value)):
        raise ValueError("Expected query, key, and value to be nested tensors")
    if attn_mask is not None:
        raise ValueError("Masks are not yet supported!")
    if any(x._axis != x.dim() - 2 for x in (query, key, value)) or key._ragged is not value._ragged:
        shapes = ", ".join(str(tuple(x.shape)) for x in (query, key, value))
        raise ValueError(f"Expected query, key, and value to be ragged in the dimension before the last, got {shapes}")
    q, k, v = (padded(x, 0.0) for x in (query, key, value))
    there = _there(key._ragged, k.shape[-2]).reshape([len(key), *[1] * (k.ndim - 2), k.shape[-2]])
    if is_causal:
        there = there & torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
    found = func(q, k, v, there, dropout_p, scale=scale, enable_gqa=enable_gqa)
    return of_padded(found, query._ragged, query._axis)


REDUCTIONS = "sum mean prod amax amin all any argmax argmin max min".split()

TABLE: dict[str, Callable] = {
    **dict.fromkeys(REDUCTIONS, _reduce),
    **dict.fromkeys(("softmax", "log_softmax", "special_softmax"), _softmax),
    **dict.fromkeys(("view", "reshape"), _view),
    **dict.fromkeys(("expand", "broadcast_to"), _expand),
    **dict.fromkeys(("transpose", "swapaxes", "swapdims"), _transpose),
    **dict.fromkeys(("chunk", "split", "split_with_sizes", "unsafe_chunk", "unsafe_split"), _split),
    **dict.fromkeys(("cat", "concat", "concatenate", "stack"), _join),
    **dict.fromkeys(("matmul", "bmm", "rmatmul"), _matmul),
    **dict.fromkeys(("layer_norm", "rms_norm"), _norm),
    "__getitem__": _getitem,
    "_of_padded": _of_padded,
    "embedding": _embedding,
    "flatten": _flatten,
    "linear": _linear,
    "narrow": _part,
    "permute": _permute,
    "scaled_dot_product_attention": _attention,
    "select": _select,
    "squeeze": _squeeze,
    "to_padded_tensor": _to_padded_tensor,
    "unbind": lambda func, x, dim=0: x.unbind(dim),
    "unflatten": _unflatten,
    "unsqueeze": _unsqueeze,
}
