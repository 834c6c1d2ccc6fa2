"""torch._refs: PyTorch's second implementation of its functions, written in Python on fewer primitives.

Here every function is written so, once: its reference is the function itself.
"""

from __future__ import annotations

from collections.abc import Callable

from .... import _missing, torch
from ....tensors.base import Tensor


def references(title: str, *spaces) -> Callable[[str], object]:
    """A module's `__getattr__`: the functions of some namespaces."""

    def __getattr__(name: str):
        for space in spaces:
            found = None if name.startswith("__") else getattr(space, name, None)
            if callable(found) and not isinstance(found, type):
                return found
        raise AttributeError(f"module '{title}' has no attribute '{name}'")

    return __getattr__


_functions = references("torch._refs", torch, Tensor)
_missing_or_error = _missing.getter(__name__, ("fft", "linalg", "nn", "special", "_conversions"))


def T(a):
    """a.T."""
    return a.T


def prod(a, dim=None, keepdim: bool = False, *, dtype=None):
    """torch.prod, also by several dimensions."""
    if isinstance(dim, int):
        return torch.prod(a, dim, keepdim, dtype=dtype)
    dims = [d % max(a.dim(), 1) for d in dim or ()] or list(range(a.dim()))
    if len(set(dims)) != len(dims):
        raise RuntimeError("duplicate value in the list of dims")
    for d in sorted(dims, reverse=True):
        a = torch.prod(a, d, keepdim, dtype=dtype)
    return a if dims else torch.prod(a, dtype=dtype)


def __getattr__(name: str):
    try:
        return _functions(name)
    except AttributeError:
        return _missing_or_error(name)
