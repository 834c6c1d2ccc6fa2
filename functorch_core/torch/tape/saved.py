"""What nodes save for backward, in the hands of the user's pack and unpack hooks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from ...engine import Value
from ..tensors.base import new_tensor
from .modes import grad_mode, state, watch
from .node import Packed

WRITES = (
    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot "
    "be modified by in-place operations as this can lead to unexpected side-effects."
)
HOOKS_TWICE = (
    "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks "
    "is allowed at a time."
)
HOOKS_TOO_LATE = (
    "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph "
    "are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
    "through the graph a second time or if you need to access saved variables after calling backward."
)


def pack(tensor) -> Packed:
    """A saved tensor, given to the innermost pack hook."""
    return packed_by(*state.saved_hooks[-1], tensor)


def packed_by(pack_hook, unpack_hook, tensor) -> Packed:
    """A saved tensor in the hands of these hooks; RuntimeError if the first writes to it."""
    version = None if tensor._is_inference else tensor._version
    with grad_mode(False):
        packed = pack_hook(tensor)
    if version is not None and tensor._version != version:
        raise RuntimeError(WRITES)
    return Packed(packed, unpack_hook, tensor._aval)


def pack_node(node, operands: Sequence, results: Sequence):
    """Give everything an op's node saves to the hooks: inputs and results as they are, and what else is
    kept for the backward pass."""
    taped = node.taped
    known = [*[operands[i] for i in taped.saved_inputs], *[results[i] for i in taped.saved_outputs]]
    known += [None] * (len(node.saved) - len(known))
    node.saved = [
        pack(x if x is not None else new_tensor(v)) if v.__class__ is Value else v for x, v in zip(known, node.saved)
    ]
    node.versions = ()


class SavedTensor:
    """One of the tensors that a node has saved, as `grad_fn._raw_saved_self` gives it: to let hooks
    have it."""

    __module__ = "torch._C._autograd"

    def __init__(self, node=None, get: Callable | None = None, put: Callable | None = None):
        if node is None:
            raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")
        self._node, self._get, self._put = node, get, put

    def register_hooks(self, pack_hook=None, unpack_hook=None):
        """Give the tensor to pack_hook now, and what that returns to unpack_hook when it is needed."""
        if not (callable(pack_hook) and callable(unpack_hook)):
            raise TypeError("register_hooks(): incompatible function arguments: two functions are expected")
        saved = self._get(self._node)
        if saved is None:
            raise RuntimeError(HOOKS_TOO_LATE)
        if saved.__class__ is Packed:
            raise RuntimeError(HOOKS_TWICE)
        self._put(self._node, packed_by(pack_hook, unpack_hook, saved))


def _watch():
    watch(bool(state.saved_hooks) or state.anomaly)


def restore_saved_hooks(hooks: tuple):
    """Let what was entered before a backward pass be what is entered after it."""
    state.saved_hooks = hooks
    _watch()


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
    """Context: tensors saved for backward wait on the CPU.

    >>> x = torch.tensor(3., requires_grad=True)
    >>> with torch.autograd.graph.save_on_cpu():
    ...   y = x * x
    >>> torch.autograd.grad(y, x)
    (tensor(6.),)
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        def to_cpu(tensor):
            tensor = tensor.detach()  # a result of the node would keep the node itself alive
            return tensor.device, tensor if tensor.is_cpu else tensor.cpu()

        def back(packed):
            device, tensor = packed
            return tensor if device.type == "cpu" else tensor.to(device)

        super().__init__(to_cpu, back)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str):
    """Context: saved_tensors_hooks raises RuntimeError(error_message).

    >>> with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
    ...   y = torch.ones(2, requires_grad=True) * 2
    """
    if state.saved_hooks:
        raise RuntimeError(error_message)
    before, state.hooks_disabled = state.hooks_disabled, error_message
    try:
        yield
    finally:
        state.hooks_disabled = before
