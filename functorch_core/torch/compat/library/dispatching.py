"""__torch_dispatch__: who is asked about an operator of torch.ops.aten: modes, tensors whose class dispatches."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from ...dispatch import overrides
from ...tape.modes import state as grad_state
from ...tensors.base import Tensor
from . import ops

DECLINED = (
    "Multiple dispatch failed for '{name}'; all __torch_dispatch__ handlers returned NotImplemented:\n\n"
    "{handlers}\nFor more information, try re-running with TORCH_LOGS=not_implemented"
)


class _State(threading.local):
    modes: tuple = ()  # TorchDispatchModes, innermost last
    computing = False  # an operator is being computed: what it calls is not dispatched
    asked = 0  # how many operators were dispatched
    below = False  # inside of a __torch_dispatch__: autograd is above


state = _State()


# ---- who is asked --------------------------------------------------------------------------------


def dispatches(cls: type) -> bool:
    """Whether the tensors of a class are given operators."""
    found = getattr(cls, "__torch_dispatch__", None)
    return found is not None and found is not overrides._disabled_torch_dispatch_impl


def tensors_of(args: Sequence, kwargs: dict) -> list[Tensor]:
    """The tensors among arguments, in lists too."""
    found: list[Tensor] = []
    for x in (*args, *kwargs.values()):
        if isinstance(x, Tensor):
            found.append(x)
        elif isinstance(x, (list, tuple)):
            found += [y for y in x if isinstance(y, Tensor)]
    return found


def applies(args: Sequence, kwargs: dict) -> bool:
    """Whether a mode is on, or an operand's class dispatches."""
    if state.computing:
        return False
    return bool(state.modes) or any([dispatches(type(x)) for x in tensors_of(args, kwargs)])


# ---- one operator --------------------------------------------------------------------------------


def ask(overload: ops.OpOverload, args: tuple, kwargs: dict):
    """What the innermost mode, the operands' classes, or the function itself makes of a call. Autograd is off."""
    state.asked += 1
    relevant = dispatching_args(args, kwargs)
    types = tuple([type(x) for x in relevant])
    with _Below():
        modes = state.modes
        if modes:
            state.modes = modes[:-1]
            try:
                made = modes[-1].__torch_dispatch__(overload, types, args, kwargs)
            finally:
                state.modes = modes
            if made is not NotImplemented:
                return made
        if not relevant:
            return compute(overload, args, kwargs)
        made = _by_classes(relevant, overload, types, args, kwargs)
        if made is not NotImplemented:
            return made
    handlers = "".join([f"  - tensor subclass {cls}\n" for cls in types])
    raise overrides.DeclinedError(DECLINED.format(name=f"torch._ops.{overload}", handlers=handlers))


def _by_classes(relevant: Sequence[Tensor], overload: ops.OpOverload, types: tuple, args: tuple, kwargs: dict):
    for x in relevant:
        made = type(x).__torch_dispatch__(overload, types, args, kwargs)
        if made is not NotImplemented:
            return made
    return NotImplemented


def dispatching_args(args: Sequence, kwargs: dict) -> list[Tensor]:
    """The tensors whose class dispatches, one of each class, subclasses before their bases."""
    found: list[Tensor] = []
    for x in tensors_of(args, kwargs):
        if dispatches(type(x)) and all([type(y) is not type(x) for y in found]):
            at = next((i for i, y in enumerate(found) if issubclass(type(x), type(y))), len(found))
            found.insert(at, x)
    return found


def compute(overload: ops.OpOverload, args: tuple, kwargs: dict):
    """The operator of tensors that nobody takes over."""
    with computing():
        return overload.overloadpacket(*args, **kwargs)


class _Below:
    """Inside of a __torch_dispatch__: nothing is recorded, autograd is above."""

    def __enter__(self):
        self.saved, grad_state.enabled = grad_state.enabled, False
        self.below, state.below = state.below, True

    def __exit__(self, *exc):
        grad_state.enabled, state.below = self.saved, self.below


class computing:
    """Calls are computed, whoever would be asked."""

    def __enter__(self):
        self.saved, state.computing = state.computing, True

    def __exit__(self, *exc):
        state.computing = self.saved
