"""The names of torch: classes and functions of this package read torch.nn... as their module."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable

from ..names import torch_name
from ..torch._missing import MESSAGE, MissingAttribute

PACKAGE = "functorch_core.nn"


def publish():
    """Rename what the loaded modules of this package define; reprs and pickles need it."""
    for name, module in list(sys.modules.items()):
        if name == PACKAGE or name.startswith(f"{PACKAGE}."):
            for member in list(vars(module).values()):
                if getattr(member, "__module__", None) == name:
                    member.__module__ = torch_name(name)


def lazy(package: str, names: tuple[str, ...], missing: tuple[str, ...] = ()) -> Callable:
    """A package's `__getattr__`: sub-modules imported when they are asked for, those PyTorch has
    and this library has not, then an error."""

    def __getattr__(name: str):
        if name in names:
            return importlib.import_module(f"{package}.{name}")
        title = torch_name(package)
        if name in missing:
            raise MissingAttribute(MESSAGE.format(name=f"{title}.{name}"))
        raise AttributeError(f"module '{title}' has no attribute '{name}'")

    return __getattr__
