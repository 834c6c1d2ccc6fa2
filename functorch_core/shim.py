"""Let `import torch` mean this library: for unmodified scripts, packages and notebooks.

    functorch_core.shim.install()          in Python, before anything imports torch
    python -m functorch_core script.py     for a script
    %load_ext functorch_core               in Jupyter

`torch` and `torch.*` then are the modules of functorch_core.torch: the same objects, not copies.
They are called torch.*, and their classes and functions name torch.* as their module, so that
pickles and reprs read as PyTorch's.
"""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import os
import sys
import types

from . import names
from .aliases import AliasFinder, after_loading, retitle
from .names import own_name, torch_name
from .tracebacks import hide

VERSION = "2.7.0+xla"
ALREADY = (
    "shim.install(): `torch` is already imported from {file}. Install the shim before "
    "anything imports torch, or run the program with `python -m functorch_core`."
)


TESTING = "torch.testing._internal"  # what PyTorch's own test files are written with


class _Finder(AliasFinder):
    """torch names are aliases; this library's own modules get torch titles when they load."""

    def find_spec(self, fullname, path=None, target=None):
        """A spec for torch, its submodules, and the modules that stand for them."""
        if fullname == TESTING:
            return _testing_of_a_wheel(fullname)
        if fullname == "multiprocessing.spawn":
            after = _tell_spawned_processes
        elif torch_name(fullname) is not None:
            after = _publish
        else:
            return super().find_spec(fullname, path, target)
        # Not PathFinder's alone: of an editable install another one finds functorch_core.nn.
        others = (finder.find_spec(fullname, path, target) for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, others), None)
        if spec is not None and spec.loader is not None:
            after_loading(spec.loader, after)
        return spec

    def find_distributions(self, context=None):
        """So that importlib.metadata.version("torch") answers."""
        name = getattr(context, "name", None)
        if name is None or name.lower() == "torch":
            yield _Distribution()


def _testing_of_a_wheel(fullname: str) -> importlib.machinery.ModuleSpec | None:
    """PyTorch's test utilities, out of an installed wheel or a source tree on sys.path.

    They are Python files that `import torch`, which is this library; nothing else of the wheel is imported.
    """
    folders = [os.path.join(folder or os.curdir, "torch", "testing") for folder in sys.path]
    return importlib.machinery.PathFinder.find_spec(fullname, folders)


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


_finder = _Finder(own_name)


# ---- titles: what __module__ says ----------------------------------------------------------------


def _publish(module: types.ModuleType):
    """Make a module of this library known under its torch name, and its contents as of there."""
    title = torch_name(module.__name__)
    if title is None:  # done already, under another name of it
        return
    if sys.modules.setdefault(title, module) is module:
        retitle(vars(module), module.__name__, title, _retitled)
        _renamed.append((module, module.__name__))
        module.__name__ = title
    if title in ("torch", "torch.nn.functional"):  # what they gather is imported before them
        sys.modules["functorch_core.torch.compat.public_names"].retitle(_retitled)


# Things with their own module and qualified name, for uninstall.
_retitled: list[tuple[object, str, str]] = []
_renamed: list[tuple[types.ModuleType, str]] = []  # modules with their own names, for the same


def _own_modules() -> list[types.ModuleType]:
    return [
        module
        for name, module in list(sys.modules.items())
        if torch_name(name) is not None and getattr(module, "__name__", None) == name
    ]


# ---- installing ----------------------------------------------------------------------------------


def install():
    """Make `import torch` import this library from now on, in this process and those it spawns.

    RuntimeError if another torch is imported already.
    """
    loaded = sys.modules.get("torch")
    if loaded is not None and loaded.__spec__.name != "functorch_core.torch":
        raise RuntimeError(ALREADY.format(file=getattr(loaded, "__file__", "elsewhere")))
    if _finder in sys.meta_path:
        return
    sys.meta_path.insert(0, _finder)
    names.shim_is_installed = True
    for module in _own_modules():
        _publish(module)
    # Not imported here: multiprocessing remembers what the main module is when it is imported.
    if "multiprocessing.spawn" in sys.modules:
        _tell_spawned_processes(sys.modules["multiprocessing.spawn"])


def uninstall():
    """Undo install(): forget the torch names; modules that hold them keep them."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    names.shim_is_installed = False
    while _retitled:
        thing, own, qualname = _retitled.pop()
        thing.__module__, thing.__qualname__ = own, qualname
    while _renamed:
        module, own = _renamed.pop()
        module.__name__ = own
    for name in [n for n in sys.modules if own_name(n)]:
        if sys.modules[name].__name__.startswith("functorch_core"):
            del sys.modules[name]


def is_installed() -> bool:
    """Whether `import torch` imports this library."""
    return _finder in sys.meta_path


class _Installer:
    """Installs the shim where it is unpickled."""

    CODE = """import importlib.util, sys
if importlib.util.find_spec("functorch_core") is None: sys.path.append({folder!r})
import functorch_core.shim
functorch_core.shim.install()"""

    def __reduce__(self):
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        return exec, (self.CODE.format(folder=folder),)


def _tell_spawned_processes(spawn: types.ModuleType):
    """Let processes that multiprocessing starts install the shim before they import the script.

    They unpickle the preparation data before anything else, with the methods spawn and forkserver.
    """
    original = spawn.get_preparation_data
    if getattr(original, "installs_shim", False):
        return

    def get_preparation_data(name):
        data = original(name)
        return {**data, "functorch_core": _Installer()} if is_installed() else data

    get_preparation_data.installs_shim = True
    spawn.get_preparation_data = get_preparation_data


def load_ipython_extension(ipython):
    """What %load_ext functorch_core calls: `import torch` in the notebook imports this library.

    >>> import functorch_core as fc
    >>> callable(fc.load_ipython_extension)
    True
    """
    install()
    showtraceback = ipython.showtraceback

    def filtered(*args, **kwargs):
        error = sys.exc_info()[1]
        if error is not None:
            hide(error)
        return showtraceback(*args, **kwargs)

    ipython.showtraceback = filtered
