"""SciPy's special functions, of the compiled module that has them.

The package `scipy.special` loads much besides (all of numpy, numpy.f2py among it): 0.14 s and 25 MB, which a script
with one GELU would wait for.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys
from types import ModuleType

from ..core.types import Function
from ..locks import RLock

PACKAGE, MAIN = "scipy.special", "_ufuncs"
# What the compiled module imports, in this order. What is not there by these names it imports itself, and with it
# the package: so that another version of SciPy is slower, no more.
PARTS = ("_ufuncs_cxx", "_ellip_harm_2", "_special_ufuncs", "_gufuncs", MAIN)
_lock = RLock()


def scipy_function(name: str) -> Function:
    """scipy.special's function of this name."""
    module = sys.modules.get(PACKAGE) or _compiled()
    return getattr(module, name, None) or getattr(importlib.import_module(PACKAGE), name)


def _compiled() -> ModuleType:
    with _lock:
        for part in PARTS:
            _load(part)
    return sys.modules.get(f"{PACKAGE}.{MAIN}") or importlib.import_module(PACKAGE)


def _load(part: str) -> None:
    """Load a part of the package that is not loaded yet, but not the package."""
    name = f"{PACKAGE}.{part}"
    if name in sys.modules:
        return
    import scipy

    folder = os.path.join(scipy.__path__[0], "special")
    spec = importlib.machinery.PathFinder.find_spec(name, [folder])
    if spec is None or spec.loader is None:
        return
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
