"""torch.classes: classes that libraries in C++ register. There are none."""

from __future__ import annotations

import types

from ..._missing import MESSAGE

loaded_libraries: set[str] = set()


class _Namespace(types.ModuleType):
    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        title = self.__name__.removeprefix("torch.classes.")
        raise RuntimeError(
            f"Tried to instantiate class '{title}.{name}', but it does not exist! "
            "Ensure that it is registered via torch::class_"
        )


def load_library(path):
    """NotImplementedError: libraries in C++ are compiled for PyTorch.

    >>> torch.classes.load_library("lib.so")
    Traceback (most recent call last):
    NotImplementedError: torch.classes.load_library is not implemented ...
    """
    raise NotImplementedError(MESSAGE.format(name="torch.classes.load_library"))


def __getattr__(name: str):
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.classes' has no attribute '{name}'")
    found = globals()[name] = _Namespace(f"torch.classes.{name}")
    return found
