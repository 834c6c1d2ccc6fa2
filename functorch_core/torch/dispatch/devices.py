"""Where tensors are placed: the CPU, or a GPU through XLA."""

from __future__ import annotations

import os
import sys

from ... import xla
from ...engine import Value
from ...engine.recorder import place_of, recording_for
from ...engine.value import copied_to
from ...xla.device import further
from ..tape.meta import META, is_meta, meta_tensor, without_data
from ..tape.modes import state
from ..tape.node import Node
from ..tensors import types as _types
from ..tensors.base import Tensor, new_tensor
from .op import registry


class NotThere(AssertionError, RuntimeError):
    """A device that this machine, or this build, has not: PyTorch raises AssertionError."""


def resolve(device) -> _types.device:
    """The device an argument names; None is the default one."""
    if device is None:
        on_host = not _types.defaults.places or _types.placing.device in _types.HOST
        return _types.CPU if on_host else _default_device()
    if device.__class__ is not _types.device:
        device = _types.device(device)
    return META if device.type == "meta" else device


# Files between the call of a function and its body, and where such calls are the library's own.
HERE = os.path.dirname(__file__) + os.sep
OWN = os.path.dirname(os.path.dirname(__file__)) + os.sep
PLUMBING = frozenset({f"{HERE}op.py", f"{HERE}factory.py", f"{HERE}overrides.py"})


def _default_device() -> _types.device:
    """The default device, if the function at work was called by a user or by a module; the CPU if
    another function of this library has called it, as in PyTorch, where those are of C++."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename not in PLUMBING:
        frame = frame.f_back
    while frame.f_back is not None and frame.f_code.co_filename in PLUMBING:
        frame = frame.f_back
    return _types.CPU if frame.f_code.co_filename.startswith(OWN) else resolve(_types.placing.device)


def move(value: Value, device: _types.device) -> Value:
    """The value on a device."""
    if device.type == "meta":
        return without_data(value.aval)
    return copied_to(value, xla_device(device))


def recording_on(device: _types.device) -> recording_for:
    """Context: what is called meanwhile, of nothing or of numbers, is recorded for a device."""
    return recording_for(None if device.type == "cpu" else xla_device(device))


def recording_where(value: Value) -> recording_for:
    """The same for the device that a value lies on."""
    return recording_for(place_of(value))


def xla_device(device: _types.device):
    """XLA's device; NotThere if this machine does not have it, RuntimeError if XLA does not know its kind."""
    if device.type == "xpu":
        raise NotThere("Torch not compiled with XPU enabled")
    if device.type not in ("cpu", "cuda"):
        raise RuntimeError(f"PyTorch is not linked with support for {device.type} devices")
    try:
        return xla.device(device.type, device.index or 0)
    except RuntimeError as error:
        raise NotThere(f"Torch not compiled with CUDA enabled: {error}") from None


def place(tensor: Tensor, device: _types.device) -> Tensor:
    """The tensor's data on a device, on the tape: the gradient goes back where it came from."""
    if tensor._level is not None:
        return _inside_transforms(tensor, device)
    edge = tensor._edge() if state.enabled else None
    node = None if edge is None else MoveBackward([edge], tensor.device)
    return new_tensor(move(tensor._kept(), device), None if node is None else (node, 0))


def beside(source: Tensor, *made: Tensor) -> tuple[Tensor, ...]:
    """What the host has computed of a tensor, where that tensor is."""
    if not further or source._level is not None:
        return made
    where = source.device
    return made if where.type in ("cpu", "meta") else tuple([place(x, where) for x in made])


def _inside_transforms(tensor: Tensor, device: _types.device) -> Tensor:
    """The tensor on the meta device by an op, which func transforms know how to apply; tensors are
    computed where they are otherwise."""
    if device.type == "meta" and not is_meta(tensor):
        return registry["_to_meta"].compute([tensor, meta_tensor((), tensor._aval.dtype)])
    if device.type != "meta" and is_meta(tensor):
        move(tensor._value, device)  # raises
    return tensor


def same(a: _types.device, b: _types.device) -> bool:
    """Whether two devices are one: 'cuda' is the current one, index 0."""
    return a.type == b.type and (a.type in ("cpu", "meta") or (a.index or 0) == (b.index or 0))


class MoveBackward(Node):
    """The node of `to(device)`: ToCopyBackward0."""

    __slots__ = ("source",)

    def __init__(self, edges, source: _types.device):
        super().__init__(edges)
        self.source = source

    def name(self) -> str:
        """PyTorch's name of the node."""
        return "ToCopyBackward0"

    def apply(self, grads, create_graph: bool) -> tuple:
        """The gradient on the device of the input."""
        return (None if grads[0] is None else grads[0].to(self.source),)
