"""From real PyTorch to this library and back: values, dtypes, and the functions of the same name."""

from __future__ import annotations

import collections
import os
import types

import ml_dtypes
import numpy as np
import torch as real

from functorch_core import torch as ours

_DEVICE = os.environ.get("FUNCTORCH_TEST_DEVICE")  # where ours computes; the real one does on the CPU

_BITS = {
    real.bfloat16: (real.int16, np.int16, ml_dtypes.bfloat16),
    real.complex32: (real.int32, np.int32, ml_dtypes.complex32),
}


def to_numpy(tensor) -> np.ndarray:
    """The values of a tensor of either library."""
    if isinstance(tensor, real.Tensor):
        tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
        if tensor.dtype in _BITS:
            as_int, numpy_int, narrow = _BITS[tensor.dtype]
            return tensor.contiguous().view(as_int).numpy().view(narrow)
        return tensor.numpy(force=True)  # a gradient may be a ZeroTensor
    return np.array(tensor.detach()._array())


def to_ours(x, made: dict | None = None):
    """A real argument as ours; `made` remembers tensors, so that one stays one."""
    if isinstance(x, real.Tensor):
        from functorch_core.torch.tensors.base import from_array

        new = from_array(np.array(to_numpy(x)), x.requires_grad)
        if _DEVICE:
            new = new.detach().to(_DEVICE).requires_grad_(x.requires_grad)
        if made is not None:
            made[id(x)] = new
        return new
    if isinstance(x, real.dtype):
        return getattr(ours, str(x).removeprefix("torch."))
    if isinstance(x, real.device):
        return ours.device(_DEVICE or str(x))
    if isinstance(x, (real.memory_format, real.layout)):
        return getattr(ours, str(x).removeprefix("torch."))
    if isinstance(x, real.Size):
        return ours.Size(x)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*(to_ours(y, made) for y in x))
    if isinstance(x, (list, tuple)):
        return type(x)(to_ours(y, made) for y in x)
    if isinstance(x, dict):
        return {k: to_ours(v, made) for k, v in x.items()}
    return x


def function_of(op):
    """Our function for an OpInfo, or None: the name in the torch namespace, the method of Tensor, or
    the database's own small function with our torch in place of the real one."""
    if isinstance(op.op, types.FunctionType) and op.op.__name__ in ("<lambda>", op.name):
        if op.op.__module__.startswith("torch.testing"):
            return _with_our_torch(op.op)
    where = ours
    for part in op.name.split("."):
        try:
            where = getattr(where, part)
        except (AttributeError, ImportError):
            return getattr(ours.Tensor, op.name, None)
    return getattr(ours.Tensor, op.name) if isinstance(where, ours.dtype) else where


def _with_our_torch(function: types.FunctionType):
    made = types.FunctionType(
        function.__code__,
        {**function.__globals__, "torch": ours},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def tensors_in(x) -> list:
    """The tensors (of either library) of a result, in order."""
    if isinstance(x, (real.Tensor, ours.Tensor)):
        return [x]
    if isinstance(x, (list, tuple)):
        return [t for y in x for t in tensors_in(y)]
    if isinstance(x, collections.abc.Mapping):
        return [t for y in x.values() for t in tensors_in(y)]
    return []
