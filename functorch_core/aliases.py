"""Importing one module under several names: the same object, never a copy."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
from collections.abc import Callable


class AliasLoader(importlib.abc.Loader):
    """Loads a name by importing the module that it stands for."""

    def __init__(self, name: str):
        self.name = name

    def create_module(self, spec):
        """The module itself, already executed."""
        module = importlib.import_module(self.name)
        self.spec = module.__spec__
        return module

    def exec_module(self, module):
        """Nothing to execute; the import system has replaced the spec, which relative imports
        need."""
        module.__spec__ = self.spec

    def get_code(self, name):
        """The module's code, for `python -m`."""
        spec = importlib.util.find_spec(self.name)
        return spec.loader.get_code(self.name)


class AliasFinder(importlib.abc.MetaPathFinder):
    """Finds names that `target_of` translates to the name of another module."""

    def __init__(self, target_of: Callable[[str], str | None]):
        self.target_of = target_of

    def find_spec(self, fullname, path=None, target=None):
        """A spec for an alias, None for every other name."""
        name = self.target_of(fullname)
        if name is None or not exists(name):
            return None
        spec = importlib.machinery.ModuleSpec(fullname, AliasLoader(name), origin=name)
        spec.submodule_search_locations = []
        return spec


def exists(name: str) -> bool:
    """Whether a module of that name can be imported."""
    try:
        return importlib.util.find_spec(name) is not None
    except (ModuleNotFoundError, ValueError):
        return False


# functorch_core.torch.nn is functorch_core.nn, under the name that `import ... as torch` suggests.
_INNER = (
    ("functorch_core.torch.utils.data", "functorch_core.data"),
    ("functorch_core.torch.nn", "functorch_core.nn"),
    ("functorch_core.torch.optim", "functorch_core.optim"),
)


def _inner(name: str) -> str | None:
    if not name.startswith("functorch_core.torch."):
        return None
    for alias, own in _INNER:
        if name == alias or name.startswith(alias + "."):
            return own + name[len(alias) :]
    return None


inner = AliasFinder(_inner)
