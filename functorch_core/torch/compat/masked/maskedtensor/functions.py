"""What functions of torch do with masked tensors, by their names."""

from __future__ import annotations

import functools
from collections.abc import Callable

from ..... import torch
from ....operators.sparse.base import Sparse, with_values
from .. import _ops as masked
from .binary import BINARY_NAMES
from .core import MATCH, ONLY_CONTIGUOUS, UNSUPPORTED, MaskedTensor, _masks_match, is_masked_tensor
from .reductions import REDUCE_NAMES
from .unary import UNARY_NAMES

# They show other places, in another order or shape: of the mask as of the data.
MOVING = """__getitem__ cat chunk col2im concat concatenate expand expand_as flatten fold narrow ravel reshape
    reshape_as select split split_with_sizes stack swapaxes t tensor_split transpose unflatten unfold
    unsqueeze view view_as""".split()
# They give other data at the same places.
KEEPING = """bfloat16 bool byte char clone contiguous cpu detach double float half int long ones_like short to
    type""".split()


def dispatch(func: Callable, args: tuple, kwargs: dict):
    """A call of a torch function with a masked tensor among its arguments."""
    name = getattr(func, "__name__", "")
    plain = name if name in TABLE else name.strip("_") if name.startswith("__") else name
    found = TABLE.get(plain)
    if found is not None:
        return found(func, *args, **kwargs)
    found = TABLE.get(plain[:-1]) if plain.endswith("_") else None
    if found is None or not is_masked_tensor(args[0]):
        raise TypeError(UNSUPPORTED.format(name=plain))
    return _in_place(func, *args, **kwargs)


def _data(x):
    return x._data if is_masked_tensor(x) else x


def _mask_of(x):
    return x._mask if is_masked_tensor(x) else x


def _elements(x):
    """The data whose elements a function is called of: of sparse ones the values."""
    data = _data(x)
    return data._what if isinstance(data, Sparse) else data


def _with_elements(x: MaskedTensor, elements) -> MaskedTensor:
    return MaskedTensor._around(with_values(x._data, elements) if x._sparse else elements, x._mask)


def _unary(func, x, *args, **kwargs):
    if kwargs and func.__name__ not in ("clamp", "clip"):
        raise ValueError("MaskedTensor unary ops require that len(kwargs) == 0.")
    return _with_elements(x, func(_elements(x), *args, **kwargs))


def _check_operands(x, y):
    if not _masks_match(x, y):
        raise ValueError(MATCH)
    one, other = (x, y) if is_masked_tensor(x) else (y, x)
    if one._sparse and isinstance(other, torch.Tensor) and other.layout is torch.strided and other.ndim:
        raise TypeError("a MaskedTensor with sparse data takes another of its mask, or a number")
    return one


def _binary(func, x, y, **kwargs):
    if kwargs:
        raise ValueError("len(kwargs) must equal 0")
    one = _check_operands(x, y)
    return _with_elements(one, func(_elements(x), _elements(y)))


def _in_place(func, x, *args, **kwargs):
    for y in args[:1]:
        _check_operands(x, y)
    func(_elements(x), *map(_elements, args), **kwargs)
    return x


def _keeping(func, x, *args, **kwargs):
    if func.__name__ == "contiguous" and x._sparse:
        raise ValueError(ONLY_CONTIGUOUS)
    return MaskedTensor._around(func(x._data, *map(_data, args), **kwargs), x._mask)


def _moving(func, x, *args, **kwargs):
    many = isinstance(x, (list, tuple))
    data, mask = ([of(y) for y in x] if many else of(x) for of in (_data, _mask_of))
    if func.__name__ in ("unfold", "fold", "col2im") and func is not torch.Tensor.unfold:
        masks = func(mask.to(torch.float32), *args, **kwargs) != 0  # they are of numbers
    else:
        masks = func(mask, *map(_mask_of, args), **kwargs)
    found = func(data, *map(_data, args), **kwargs)
    if isinstance(found, (list, tuple)):
        return tuple(map(MaskedTensor._around, found, masks))
    return MaskedTensor._around(found, masks)


def _reduce(name: str, func, x, dim=None, keepdim=False, **kwargs):
    x = x.to_dense()
    if name == "norm":
        kwargs["ord"] = kwargs.pop("p", 2.0)
    if name == "all":
        left_out = x._data.masked_fill(~x._mask, True)
        data = left_out.all() if dim is None else left_out.all(dim, keepdim)
    else:
        data = getattr(masked, name)(x._data, dim=dim, keepdim=keepdim, mask=x._mask, **kwargs)
    return MaskedTensor._around(data, x._mask.any() if dim is None else x._mask.any(dim, keepdim))


def _softmax(func, x, dim=None, *args, **kwargs):
    return MaskedTensor._around(masked.softmax(x._data, dim, mask=x._mask), x._mask)


def _where(func, condition, x, y):
    masks = [z._mask if is_masked_tensor(z) else torch.ones_like(condition) for z in (x, y)]
    return MaskedTensor._around(torch.where(condition, _data(x), _data(y)), torch.where(condition, *masks))


def _grad(func, outputs, inputs, grad_outputs=None, *args, **kwargs):
    """torch.autograd.grad: by the data; the gradients have the masks of the inputs."""
    outputs, inputs, cts = (x if isinstance(x, (tuple, list)) else (x,) for x in (outputs, inputs, grad_outputs))
    cts = None if grad_outputs is None else [_data(g) for g in cts]
    found = func([_data(y) for y in outputs], [_data(x) for x in inputs], cts, *args, **kwargs)
    return tuple(
        MaskedTensor._around(g, x._mask) if is_masked_tensor(x) and g is not None else g for g, x in zip(found, inputs)
    )


TABLE: dict[str, Callable] = {
    **dict.fromkeys(UNARY_NAMES, _unary),
    **dict.fromkeys(BINARY_NAMES, _binary),
    **dict.fromkeys(MOVING, _moving),
    **dict.fromkeys(KEEPING, _keeping),
    **{name: functools.partial(_reduce, name) for name in REDUCE_NAMES},
    "grad": _grad,
    "softmax": _softmax,
    "where": _where,
}
