"""torch.utils._import_utils: whether packages are installed."""

from __future__ import annotations

import functools
import importlib
import importlib.util


def _check_module_exists(name: str) -> bool:
    """Whether a module can be imported; it is not."""
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


@functools.cache
def dill_available() -> bool:
    """Whether dill is installed, in a version that can be used."""
    return _check_module_exists("dill")


@functools.cache
def import_dill():
    """dill, or None."""
    return importlib.import_module("dill") if dill_available() else None
