"""jax.scipy's modules, loaded when they are asked for."""

from importlib import import_module as _import_module

_MODULES = frozenset(
    "cluster fft integrate interpolate linalg ndimage optimize signal sparse spatial special stats".split()
)


def __getattr__(name: str):
    if name in _MODULES:
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"functorch_core.scipy has no {name!r}. It has {', '.join(sorted(_MODULES))}")


def __dir__():
    return sorted(_MODULES)
