"""What nodes save for backward, in the hands of the user's pack and unpack hooks."""

from __future__ import annotations

import contextlib

from ...engine import Value
from ..tensors.base import new_tensor
from .modes import state
from .node import Packed


def pack(tensor) -> Packed:
    """A saved tensor, given to the innermost pack hook."""
    pack_hook, unpack_hook = state.saved_hooks[-1]
    return Packed(pack_hook(tensor), unpack_hook)


def pack_node(node):
    """Give everything an op's node saves to the hooks."""
    node.saved = [pack(new_tensor(v)) if v.__class__ is Value else v for v in node.saved]
    node.versions = ()


def _watch():
    state.watched = bool(state.saved_hooks) or state.anomaly


class saved_tensors_hooks:
    """Context: `pack_hook(tensor)` gets every tensor saved for backward; what it returns is given
    to `unpack_hook` when the tensor is needed, and that returns the tensor.

    >>> x = torch.ones(3, requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), torch.from_numpy):
    ...     y = x.exp().sum()
    >>> y.backward()
    """

    __module__ = "torch.autograd.graph"

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self):
        if state.hooks_disabled is not None:
            raise RuntimeError(state.hooks_disabled)
        state.saved_hooks = (*state.saved_hooks, (self.pack_hook, self.unpack_hook))
        _watch()

    def __exit__(self, *exc):
        state.saved_hooks = state.saved_hooks[:-1]
        _watch()


class save_on_cpu(saved_tensors_hooks):
    """Context: tensors saved for backward wait on the CPU."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        def to_cpu(tensor):
            return tensor.device, tensor if tensor.is_cpu else tensor.cpu()

        def back(packed):
            device, tensor = packed
            return tensor if device.type == "cpu" else tensor.to(device)

        super().__init__(to_cpu, back)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str):
    """Context: saved_tensors_hooks raises RuntimeError(error_message)."""
    if state.saved_hooks:
        raise RuntimeError(error_message)
    before, state.hooks_disabled = state.hooks_disabled, error_message
    try:
        yield
    finally:
        state.hooks_disabled = before
