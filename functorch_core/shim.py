"""Let `import torch` mean this library: for unmodified scripts, packages and notebooks.

    functorch_core.shim.install()          in Python, before anything imports torch
    python -m functorch_core script.py     for a script
    %load_ext functorch_core               in Jupyter

`torch` and `torch.*` then are the modules of functorch_core.torch: the same objects, not copies.
"""
from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import sys

VERSION = "2.7.0+xla"
SPECIAL = {"torch.nn": "functorch_core.nn", "torch.optim": "functorch_core.optim",
           "torch.utils.data": "functorch_core.data"}
ALREADY = ("shim.install(): `torch` is already imported from {file}. Install the shim before anything "
           "imports torch, or run the program with `python -m functorch_core`.")


def real_name(name: str) -> str | None:
    """The module of this library that stands for a torch module: torch.nn -> functorch_core.nn."""
    if name != "torch" and not name.startswith("torch."):
        return None
    for prefix, ours in SPECIAL.items():
        if name == prefix or name.startswith(prefix + "."):
            return ours + name[len(prefix):]
    return "functorch_core." + name


class _Loader(importlib.abc.Loader):
    """Loads a torch name by importing the module that stands for it."""

    def __init__(self, name: str):
        self.name = name

    def create_module(self, spec):
        """The module itself, already executed."""
        module = importlib.import_module(self.name)
        self.spec = module.__spec__
        return module

    def exec_module(self, module):
        """Nothing to execute; the import system has replaced the spec, which relative imports need."""
        module.__spec__ = self.spec


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        """A spec for torch and its submodules."""
        name = real_name(fullname)
        if name is None or (fullname != "torch" and not _exists(name)):
            return None
        spec = importlib.machinery.ModuleSpec(fullname, _Loader(name), origin=name)
        spec.submodule_search_locations = []
        return spec

    def find_distributions(self, context=None):
        """So that importlib.metadata.version("torch") answers."""
        name = getattr(context, "name", None)
        if name is None or name.lower() == "torch":
            yield _Distribution()


def _exists(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


class _Distribution(importlib.metadata.Distribution):
    """The metadata of `torch`."""

    def read_text(self, filename):
        """METADATA alone."""
        if filename in ("METADATA", "PKG-INFO"):
            return f"Metadata-Version: 2.1\nName: torch\nVersion: {VERSION}\n"
        return None

    def locate_file(self, path):
        """No files belong to it."""
        return path


_finder = _Finder()


def install():
    """Make `import torch` import this library from now on, in this process and those it spawns.

    RuntimeError if another torch is imported already.
    """
    loaded = sys.modules.get("torch")
    if loaded is not None and loaded.__name__ != "functorch_core.torch":
        raise RuntimeError(ALREADY.format(file=getattr(loaded, "__file__", "elsewhere")))
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
        _tell_spawned_processes()


def uninstall():
    """Undo install(): forget the torch names; modules that hold them keep them."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    for name in [n for n in sys.modules if real_name(n)]:
        if sys.modules[name].__name__.startswith("functorch_core"):
            del sys.modules[name]


def is_installed() -> bool:
    """Whether `import torch` imports this library."""
    return _finder in sys.meta_path


def _tell_spawned_processes():
    """Let processes that multiprocessing spawns install the shim before they import the script."""
    from multiprocessing import spawn

    original = spawn.get_command_line
    if getattr(original, "installs_shim", False):
        return

    def get_command_line(**kwargs):
        line = original(**kwargs)
        if is_installed() and "-c" in line:
            i = line.index("-c") + 1
            line[i] = f"import functorch_core.shim as s; s.install(); {line[i]}"
        return line
    get_command_line.installs_shim = True
    spawn.get_command_line = get_command_line


def load_ipython_extension(ipython):
    """%load_ext functorch_core: `import torch` in the notebook imports this library."""
    install()
    from .tracebacks import hide
    showtraceback = ipython.showtraceback

    def filtered(*args, **kwargs):
        error = sys.exc_info()[1]
        if error is not None:
            hide(error)
        return showtraceback(*args, **kwargs)
    ipython.showtraceback = filtered
