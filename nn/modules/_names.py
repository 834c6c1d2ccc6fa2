"""Small things that modules share: names of types, the arguments of `to`."""
from __future__ import annotations

from ...torch import _types
from ...torch._tensor_base import Tensor


def typename(x) -> str:
    """What error messages call an object: torch.FloatTensor, torch.nn.Linear, int."""
    if isinstance(x, Tensor):
        return x.type()
    cls = x if isinstance(x, type) else type(x)
    module = "" if cls.__module__ in ("builtins", "__builtin__", None) else f"{cls.__module__}."
    return module + cls.__qualname__


def parse_to(*args, **kwargs):
    """(device, dtype, non_blocking, memory_format) of the arguments of Module.to."""
    device = kwargs.pop("device", None)
    dtype = kwargs.pop("dtype", None)
    non_blocking = kwargs.pop("non_blocking", False)
    memory_format = kwargs.pop("memory_format", None)
    other = kwargs.pop("tensor", kwargs.pop("other", None))
    kwargs.pop("copy", None)
    if kwargs:
        raise TypeError(f"to() got an unexpected keyword argument '{next(iter(kwargs))}'")
    rest = []
    for x in args:
        if isinstance(x, Tensor):
            other = x
        elif isinstance(x, _types.dtype):
            dtype = x
        elif isinstance(x, (str, _types.device)) or (
                isinstance(x, int) and not isinstance(x, bool)):
            device = x
        elif x is not None:
            rest.append(x)
    if len(rest) > 2 or not all(isinstance(x, bool) for x in rest):
        kinds = ", ".join(type(x).__name__ for x in args)
        raise TypeError(f"to() received an invalid combination of arguments - got ({kinds})")
    if rest:
        non_blocking = rest[0]
    if other is not None:
        device, dtype = other.device, other.dtype
    return None if device is None else _types.device(device), dtype, non_blocking, memory_format
