"""torch.utils."""
import importlib as _importlib

_LAZY = ("_pytree", "checkpoint")


def __getattr__(name: str):
    if name in _LAZY:
        return _importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torch.utils' has no attribute {name!r}")
