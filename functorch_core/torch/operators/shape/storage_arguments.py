"""What the constructors of storages are given: checked, and made elements. What is said of their removal."""

from __future__ import annotations

import functools
import operator
import sys
import types
from collections.abc import Callable, Sequence

import numpy as np

from ....core.explain import is_users
from ....core.warn import warn
from ...tensors import types as _types
from ...tensors.base import Tensor

# ---- arguments -----------------------------------------------------------------------------------

LEGACY_FORMS = """{cls}.__new__ received an invalid combination of arguments. Expected one of:
 * no arguments
 * (int size)
 * (Sequence data)
 * (*, UntypedStorage wrap_storage)
"""
TYPED_FORMS = """TypedStorage.__init__ received an invalid combination of arguments. Expected one of:
 * (*, torch.device device, torch.dtype dtype)
 * (int size, *, torch.device device, torch.dtype dtype)
 * (Sequence data, *, torch.device device, torch.dtype dtype)
 * (*, UntypedStorage wrap_storage, torch.dtype dtype)
"""
UNTYPED_FORMS = """torch.UntypedStorage() received an invalid combination of arguments - got ({got}), but \
expected one of:
 * (*, torch.device device = None)
 * (int size, *, torch.device device = None)
 * (object sequence, *, torch.device device = None)
"""
NO_POSITIONAL = "No positional arguments should be given when using 'wrap_storage'"
TOO_MANY = "Too many positional arguments"
NOT_UNTYPED = "Argument 'wrap_storage' must be UntypedStorage, but got {kind}"
NOT_RECOGNIZED = "Argument type not recognized: {kind}"
OF_AN_ITEM = (
    "torch.UntypedStorage(): tried to construct a storage from a sequence ({kind}), but one of the items was of type "
    "{item} instead of int"
)


def _check_data(args: tuple, forms: str):
    """One positional argument at most, a size or a sequence."""
    if len(args) > 1:
        raise RuntimeError(forms + TOO_MANY)
    if args and (isinstance(args[0], Tensor) or not (_is_size(args[0]) or isinstance(args[0], (Sequence, np.ndarray)))):
        raise TypeError(forms + NOT_RECOGNIZED.format(kind=type(args[0])))


def _check_wrapped(args: tuple, wrap_storage, untyped: type, forms: str):
    if args:
        raise RuntimeError(forms + NO_POSITIONAL)
    if not isinstance(wrap_storage, untyped):
        raise TypeError(forms + NOT_UNTYPED.format(kind=type(wrap_storage)))


def check_legacy(cls: type, args: tuple, wrap_storage, untyped: type, given: dict):
    """What torch.FloatStorage takes; `given` are the arguments that say what the class says already."""
    forms = LEGACY_FORMS.format(cls=cls)
    for name, value in given.items():
        if value is not None:
            raise RuntimeError(f"{forms}Keyword argument '{name}' cannot be specified")
    if wrap_storage is None:
        _check_data(args, forms)
    else:
        _check_wrapped(args, wrap_storage, untyped, forms)


def check_typed(args: tuple, wrap_storage, untyped: type, dtype, device):
    """What torch.TypedStorage takes."""
    if wrap_storage is None:
        _check_data(args, TYPED_FORMS)
        return
    if args:
        raise RuntimeError(TYPED_FORMS + NO_POSITIONAL)
    if dtype is None:
        raise RuntimeError(TYPED_FORMS + "Argument 'dtype' must be specified")
    if not isinstance(dtype, _types.dtype):
        raise TypeError(f"{TYPED_FORMS}Argument 'dtype' must be torch.dtype, not {type(dtype)}")
    if device is not None:
        raise RuntimeError(TYPED_FORMS + "Argument 'device' should not be specified when 'wrap_storage' is given")
    _check_wrapped(args, wrap_storage, untyped, TYPED_FORMS)


def check_untyped(args: tuple):
    """What torch.UntypedStorage takes."""
    if len(args) > 1:
        got = ", ".join(type(arg).__name__ for arg in args)
        raise TypeError(UNTYPED_FORMS.format(got=got))
    if isinstance(args[0] if args else 0, Tensor):
        raise RuntimeError("torch.UntypedStorage(): Expected a sequence type, but got Tensor")


def _is_size(value) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def typed_elements(args: tuple, dtype: np.dtype) -> np.ndarray:
    """The elements that a size (zeros) or a sequence stands for."""
    first = args[0] if args else 0
    if _is_size(first):
        return np.zeros(first, dtype)
    if isinstance(first, str):
        raise TypeError("new(): invalid data type 'str'")
    return np.array(first, dtype)


def untyped_bytes(args: tuple) -> np.ndarray:
    """The bytes that a size (zeros) or a sequence of integers stands for; of these the lowest byte each."""
    first = args[0] if args else 0
    if _is_size(first):
        return np.zeros(first, np.uint8)
    return np.array([_as_byte(item, first) for item in first], np.uint8)


def _as_byte(item, sequence) -> int:
    try:
        return operator.index(item) & 0xFF
    except TypeError:
        message = OF_AN_ITEM.format(kind=type(sequence).__name__, item=type(item).__name__)
        raise RuntimeError(message) from None


def elements_of_buffer(buffer, dtype: np.dtype, byte_order: str | None, count: int, offset: int) -> np.ndarray:
    """A copy of the elements that a buffer holds; bytes that stand for themselves need no order."""
    if byte_order is None and dtype.itemsize > 1:
        raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
    orders = {"native": "=", "little": "<", "big": ">"}
    if byte_order is not None and byte_order not in orders:
        raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
    array = _numbers(memoryview(buffer).cast("B"), dtype, count, offset)
    order = orders[byte_order or "native"]
    return array if dtype.newbyteorder(order).isnative else array.byteswap()


def _numbers(data: memoryview, dtype: np.dtype, count: int, offset: int) -> np.ndarray:
    if not 0 <= offset <= len(data):
        raise ValueError(
            f"offset must be non-negative and no greater than buffer length ({offset}) , but got {len(data)}"
        )
    rest = len(data) - offset
    if count < 0:
        if rest % dtype.itemsize:
            raise ValueError(f"buffer size ({rest}) must be a multiple of element size ({dtype.itemsize})")
        count = rest // dtype.itemsize
    elif count * dtype.itemsize > rest:
        here = rest // dtype.itemsize
        raise ValueError(f"buffer has only {here} elements after offset {offset}, but specified a size of {count}")
    piece = np.frombuffer(data, np.uint8, count * dtype.itemsize, offset)
    return piece.astype(bool) if dtype == np.bool_ else piece.copy().view(dtype)


# ---- what is said of the removal of typed storages -----------------------------------------------

REMOVAL = (
    "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. "
    "This should only matter to you if you are using storages directly.  To access UntypedStorage directly, use "
    "tensor.untyped_storage() instead of tensor.storage()"
)


class _Removal:
    """Whether the removal was told, and whether to tell it each time."""

    said = always = False


removal = _Removal()


def tell_removal():
    """Warn of the removal of typed storages, once; always if that was asked for."""
    if removal.always or not removal.said:
        removal.said = True
        warn(REMOVAL)


def tell_callers_removal():
    """tell_removal if the caller of what calls this is the user."""
    if (removal.always or not removal.said) and is_users(sys._getframe(2).f_code.co_filename):
        tell_removal()


def _told(member: Callable) -> Callable:
    @functools.wraps(member)
    def called(*args, **kwargs):
        tell_callers_removal()
        return member(*args, **kwargs)

    return called


def _told_member(member):
    if isinstance(member, property):
        return property(_told(member.fget), member.fset)
    if isinstance(member, classmethod):
        return classmethod(_told(member.__func__))
    return _told(member)


SPECIAL = ("__init__", "__len__", "__getitem__", "__setitem__", "__iter__", "__copy__", "__deepcopy__", "__repr__")
UNTOLD = ("dtype", "filename", "as_array", "check_dtype")


def tells_removal(cls: type) -> type:
    """The class with members that tell the removal, and the same under private names that do not: `_size`."""
    members = {name: vars(parent)[name] for parent in cls.__mro__[-2::-1] for name in vars(parent)}
    for name, member in members.items():
        is_public = not name.startswith("_") or name in SPECIAL
        if is_public and name not in UNTOLD and isinstance(member, (types.FunctionType, property, classmethod)):
            setattr(cls, name, _told_member(member))
            setattr(cls, "_" + name.removeprefix("__").removesuffix("__"), member)
    return cls
