"""The meta device: tensors of a shape, dtype and strides without data.

Such a tensor holds a value without data (`engine.value.absent`). The recorder gives values without
data for ops on them and records nothing, so that this module has only what PyTorch says besides:
which devices may be mixed, and what reading raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...core.aval import Aval, aval
from ...engine import NoData, Unit, Value, absent, is_absent
from ...engine.recorder import hooks
from ...engine.value import NO_DATA, absent_values, when_none_is_absent
from ...locks import RLock
from ..tensors import types as _types
from ..tensors.active import active, declared
from ..tensors.base import Tensor, new_tensor
from .modes import state

META = _types.device("meta")
ELSEWHERE = "Tensor on device {found} is not on the expected device {expected}!"
NO_ITEM = "Tensor.item() cannot be called on meta tensors"
NO_NUMPY = "can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
NO_KERNEL = (
    "aten::{name}: attempted to run this operator with Meta tensors, but there was no "
    "fake impl or Meta kernel registered. What it gives depends on the elements, and "
    "tensors on the meta device have none."
)
NO_NONZERO = (
    NotImplementedError,
    "The register_meta function for torch.nonzero() raises unimplemented by default, as "
    "a correct data-independent implementation does not exist: how many elements are "
    "not zero depends on the elements, and tensors on the meta device have none.",
)
WRAPPED = "__torch_dispatch__"  # the data of what has none, and is no tensor on the meta device
UNDISPATCHED = (
    "{name} of a tensor whose class has __torch_dispatch__ is not implemented by functorch-core: which operators of "
    "torch.ops.aten it is made of is not known"
)
NO_COPY = (NoData, NO_DATA)


# ---- making them ---------------------------------------------------------------------------------


def without_data(a: Aval) -> Value:
    """A value of this aval that has no data."""
    value = absent(a)
    with _lock:
        if not active.meets_meta:
            active.meets_meta = active.rewrites = True
    return value


_lock = RLock()


def _look_for_meta():
    """Let views and writes not ask for tensors on the meta device any more, when the last one is gone."""
    if active is None:  # Python ends
        return
    with _lock:
        if not absent_values:
            active.meets_meta, active.rewrites = False, active.distributed is not None


when_none_is_absent.append(_look_for_meta)


def wrapped_value(a: Aval) -> Value:
    """A value of this aval that is the class's of its tensor to know."""
    value = absent(a)
    value.data = WRAPPED
    return value


def meta_tensor(shape: Sequence[int], dtype: np.dtype) -> Tensor:
    """A tensor on the meta device."""
    return new_tensor(without_data(aval(tuple(shape), dtype)))


def is_meta(tensor: Tensor) -> bool:
    """Whether the tensor is on the meta device.

    >>> torch.empty(2, device="meta").is_meta
    True
    """
    return is_absent(tensor._value) and tensor._device is None


def is_readable(tensor: Tensor) -> bool:
    """Whether the elements can be looked at: not inside transforms, nor on the meta device."""
    return tensor._level is None and tensor._value.__class__ is Value and not is_absent(tensor._value)


def class_name(tensor: Tensor) -> str:
    """The tensor's type as errors name it."""
    name = tensor.type()
    return name if not is_meta(tensor) else f"Meta{name.split('.')[-1].removesuffix('Tensor')}Type"


def is_off_tape_on_meta(tensor: Tensor) -> bool:
    """Whether nothing but the shape is to be known of what happens to the tensor."""
    return is_meta(tensor) and tensor._level is None and (tensor._ge is None or not state.enabled)


def drawn_on_meta(drawn: Callable, shape: Sequence[int], parameters: Sequence[Tensor]) -> Tensor:
    """What `drawn(shape, *arrays)` would give, on the meta device: to know the dtype, nothing is
    drawn, which leaves the generator where it is."""
    none = (0, *shape[1:])
    arrays = [np.zeros((0, *x.shape[1:]), x._aval.dtype) for x in parameters]
    return meta_tensor(shape, np.asarray(drawn(none, *arrays)).dtype)


def on_device_of(tensor: Tensor, new: Tensor) -> Tensor:
    """What is to be assigned to a tensor: for one without data, its aval and its history."""
    if is_meta(tensor) == is_meta(new):
        return new
    if is_meta(new):
        raise RuntimeError(ELSEWHERE.format(found=new.device, expected=tensor.device))
    return new_tensor(absent(new._read().aval), new._ge)


# ---- mixing devices ------------------------------------------------------------------------------


def check_devices(unit: Unit, operands: Sequence):
    """RuntimeError where tensors with data and tensors without meet, unless the former are 0-d."""
    name = unit.name.removesuffix("_backward")
    if any([getattr(x, "data", None) is WRAPPED for x in operands]):
        raise NotImplementedError(UNDISPATCHED.format(name=name))
    rule = declared[name].devices if name in declared else "moved" if name == "CopySlices" else "scalars"
    values = [x for x in operands if x.__class__ is Value and (x.aval.ndim or is_absent(x) or rule == "same")]
    first = values[0]
    if rule == "moved":
        if name == "CopySlices" and not is_absent(first):
            raise NoData(NO_DATA)
        return
    if rule == "any" and (is_absent(first) or name != unit.name):
        return
    for value in values[1:]:
        if is_absent(value) != is_absent(first):
            raise RuntimeError(ELSEWHERE.format(found=new_tensor(value).device, expected=new_tensor(first).device))


hooks.without_data = check_devices


# ---- what reading raises -------------------------------------------------------------------------


def no_kernel(name: str) -> tuple[type, str]:
    """What is said of an operator that depends on elements."""
    return NotImplementedError, NO_KERNEL.format(name=name)


def refusal(name: str, said: tuple[type, str] | None = None) -> Exception:
    """The error of a function that depends on elements, of a tensor without any."""
    error, message = said or no_kernel(name)
    return error(message)
