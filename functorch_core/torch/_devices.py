"""Where tensors are placed: the CPU, or a GPU through XLA."""
from __future__ import annotations

from .. import xla
from ..engine import Value
from ..engine.value import from_buffer, to_buffer
from . import _types
from ._tensor_base import Tensor, new_tensor
from .autograd.modes import state
from .autograd.node import Node

META = ("tensors on the 'meta' device are not implemented; make the tensor on the CPU, where "
        "nothing is computed before it is read")


class NotThere(AssertionError, RuntimeError):
    """A device that this machine, or this build, has not: PyTorch raises AssertionError."""


def resolve(device) -> _types.device:
    """The device an argument names; None is the default one."""
    if device is None:
        return _types.defaults.device or _types.CPU
    return device if device.__class__ is _types.device else _types.device(device)


def move(value: Value, device: _types.device) -> Value:
    """The value on a device."""
    if device.type == "meta":
        raise NotImplementedError(META)
    if device.type == "xpu":
        raise NotThere("Torch not compiled with XPU enabled")
    if device.type not in ("cpu", "cuda"):
        raise RuntimeError(f"PyTorch is not linked with support for {device.type} devices")
    try:
        target = xla.device(device.type, device.index or 0)
    except RuntimeError as error:
        raise NotThere(f"Torch not compiled with CUDA enabled: {error}") from None
    return from_buffer(xla.copy_to(to_buffer(value), target))


def place(tensor: Tensor, device: _types.device) -> Tensor:
    """The tensor's data on a device, on the tape: the gradient goes back where it came from."""
    if tensor._level is not None:
        return tensor
    edge = tensor._edge() if state.enabled else None
    node = None if edge is None else MoveBackward([edge], tensor.device)
    return new_tensor(move(tensor._read(), device), None if node is None else (node, 0))


def same(a: _types.device, b: _types.device) -> bool:
    """Whether two devices are one: 'cuda' is the current one, index 0."""
    return a.type == b.type and (a.type == "cpu" or (a.index or 0) == (b.index or 0))


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
