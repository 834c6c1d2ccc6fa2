"""Imported by Python when it starts: installs the shim when `torch` is imported, and costs next to nothing before."""

import importlib
import importlib.util
import sys
from importlib.machinery import PathFinder
from pathlib import Path


class _InstallsShim:
    """Found first, asked for `torch`, it makes way for the shim."""

    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        """The shim's spec of torch; None of other modules, and where this library is not installed."""
        if fullname.partition(".")[0] != "torch":
            return None
        sys.meta_path.remove(cls)
        if importlib.util.find_spec("functorch_core") is None:
            return None
        importlib.import_module("functorch_core.shim").install()
        return importlib.util.find_spec(fullname) if "." not in fullname else None

    @staticmethod
    def find_distributions(context=None):
        """What importlib.metadata is told of torch: what the shim says."""
        if getattr(context, "name", None) == "torch" and importlib.util.find_spec("functorch_core") is not None:
            yield from importlib.import_module("functorch_core.shim")._finder.find_distributions(context)


def _run_the_next_one() -> None:
    """The sitecustomize that this one hides."""
    here = Path(__file__).resolve().parent
    rest = [folder for folder in sys.path if Path(folder or ".").resolve() != here]
    spec = PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if __name__ == "sitecustomize":  # as Python imports it when it starts; nothing else does
    sys.meta_path.insert(0, _InstallsShim)
    _run_the_next_one()
