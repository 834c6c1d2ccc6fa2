"""Tensors of a subclass that have a shape and a dtype, and no memory: what they are is their class's to know."""

from __future__ import annotations

from collections.abc import Sequence

from ....core.aval import aval
from ...tape.meta import wrapped_value
from ...tensors import types as _types
from ...tensors.base import Tensor
from ...views.strides import contiguous_strides
from . import dispatching

NO_DISPATCH = "_make_wrapper_subclass requires that the class {name} defines __torch_dispatch__"


def make_wrapper(
    cls: type,
    size: Sequence[int],
    strides: Sequence[int] | None = None,
    storage_offset: int | None = None,
    memory_format=None,
    dtype=None,
    layout=_types.strided,
    device=None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    _extra_dispatch_keys=None,
    storage_size: int | None = None,
) -> Tensor:
    """An instance of a subclass of Tensor that holds no elements.

    >>> class Doubled(torch.Tensor):
    ...     @staticmethod
    ...     def __new__(cls, half):
    ...         made = torch.Tensor._make_wrapper_subclass(cls, half.shape, dtype=half.dtype)
    ...         made.half = half
    ...         return made
    ...     @classmethod
    ...     def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*[2 * x.half if isinstance(x, cls) else x for x in args], **(kwargs or {}))
    >>> Doubled(torch.ones(2)) + 1
    aten.add.Tensor
    tensor([3., 3.])
    """
    if not dispatching.dispatches(cls):
        raise RuntimeError(NO_DISPATCH.format(name=cls.__name__))
    made = object.__new__(cls)
    dtype = _types.defaults.dtype if dtype is None else dtype
    shape = tuple([int(n) for n in size])
    numpy = dtype.numpy if isinstance(dtype, _types.dtype) else dtype
    made._value = wrapped_value(aval(shape, numpy))
    made._device = _types.CPU if device is None else _types.device(device)
    if strides is not None and tuple(strides) != contiguous_strides(shape):
        made._strides = tuple([int(n) for n in strides])
    if requires_grad:
        made.requires_grad = True
    return made
