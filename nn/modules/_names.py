"""Small things that modules share: names of types, the arguments of `to`."""

from __future__ import annotations

from ...torch.tensors import types as _types
from ...torch.tensors.base import Tensor


def typename(x) -> str:
    """What error messages call an object: torch.FloatTensor, torch.nn.Linear, int."""
    if isinstance(x, Tensor):
        return x.type()
    cls = x if isinstance(x, type) else type(x)
    module = "" if cls.__module__ in ("builtins", "__builtin__", None) else f"{cls.__module__}."
    return module + cls.__qualname__


# The ways to call Module.to: what may stand at each place, and a line of PyTorch's message.
_DEVICES = (str, int, _types.device)
_TAIL = {"non_blocking": (bool,), "copy": (bool,), "memory_format": (_types.memory_format,)}
_FORMS = (
    {"device": (*_DEVICES, type(None)), "dtype": (_types.dtype, type(None)), **_TAIL},
    {"dtype": (_types.dtype,), **_TAIL},
    {"tensor": (Tensor,), **_TAIL},
)
BAD_TO = """to() received an invalid combination of arguments - got ({given}), but expected one of:
 * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, \
bool copy = False, *, torch.memory_format memory_format = None)
 * (torch.dtype dtype, bool non_blocking = False, bool copy = False, *, \
torch.memory_format memory_format = None)
 * (Tensor tensor, bool non_blocking = False, bool copy = False, *, \
torch.memory_format memory_format = None)
"""


def parse_to(*args, **kwargs):
    """(device, dtype, non_blocking, memory_format) of the arguments of Module.to."""
    for form in _FORMS:
        found = dict(zip(form, args))
        clash = len(args) >= len(form) or found.keys() & kwargs.keys()
        found.update(kwargs)
        if not clash and all(_is_one(x, form.get(name, ())) for name, x in found.items()):
            break
    else:
        given = ", ".join([*map(_kind, args), *(f"{k}={_kind(x)}" for k, x in kwargs.items())])
        raise TypeError(BAD_TO.format(given=given if args else f"{given}, "))
    if found.get("copy"):
        raise RuntimeError(".to() does not accept copy argument")
    other = found.get("tensor")
    device, dtype = (found.get("device"), found.get("dtype")) if other is None else (other.device, other.dtype)
    return (
        None if device is None else _types.device(device),
        dtype,
        found.get("non_blocking", False),
        found.get("memory_format"),
    )


def _is_one(x, kinds: tuple) -> bool:
    """Whether an argument is of one of the kinds; a bool is no number here."""
    return isinstance(x, kinds) and (bool in kinds or not isinstance(x, bool))


def _kind(x) -> str:
    cls = type(x)
    return (
        "Tensor"
        if cls is Tensor
        else cls.__name__
        if cls.__module__ == "builtins"
        else (f"torch.{cls.__name__}" if isinstance(x, (_types.dtype, _types.device)) else cls.__name__)
    )
