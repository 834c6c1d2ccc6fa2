"""The two names of a module: functorch_core.nn.modules.linear is torch.nn.modules.linear to
checkpoints, and to programs that run under the shim."""

from __future__ import annotations

import contextlib
import threading

# Longer prefixes first: torch.utils.data is no part of functorch_core.torch.
PREFIXES = (
    ("functorch_core.data", "torch.utils.data"),
    ("functorch_core.nn", "torch.nn"),
    ("functorch_core.optim", "torch.optim"),
    ("functorch_core.torch.compat.functorch", "functorch"),
    ("functorch_core.torch", "torch"),
)


def _replaced(name: str, old: str, new: str) -> str | None:
    if name == old or name.startswith(old + "."):
        return new + name[len(old) :]
    return None


def torch_name(name: str) -> str | None:
    """PyTorch's name of a module of this library; None for another module."""
    for own, torch in PREFIXES:
        found = _replaced(name, own, torch)
        if found is not None:
            return found
    return None


def own_name(name: str) -> str | None:
    """The module of this library that stands for a torch module; None for another module."""
    for own, torch in PREFIXES:
        found = _replaced(name, torch, own)
        if found is not None:
            return found
    return None


class _Pickling(threading.local):
    saving = False  # torch.save is running in this thread


_pickling = _Pickling()
shim_is_installed = False  # set by functorch_core.shim


def pickles_name_torch() -> bool:
    """Whether pickles written now may say `torch.float32` and be read where that is ours (or where
    the reader, torch.load, knows what it means)."""
    return shim_is_installed or _pickling.saving


@contextlib.contextmanager
def saving():
    """While torch.save writes: its files say torch.* with and without the shim."""
    before, _pickling.saving = _pickling.saving, True
    try:
        yield
    finally:
        _pickling.saving = before
