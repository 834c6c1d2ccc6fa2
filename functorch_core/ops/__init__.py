"""The operations users call: pure functions of values, written with primitives, declared once.

Here are the files that declare some.
"""

from importlib import import_module as _import_module

from . import (
    counts,
    creation,
    distributions,
    elementwise,
    fourier,
    gammas,
    keys,
    linalg,
    linear_algebra,
    logic,
    manipulation,
    nn,
    random,
    searching,
    special,
    statistics,
)


def __getattr__(name: str):
    if name.startswith("segment_"):  # jax.ops has these, and nothing else
        return getattr(_import_module("functorch_core.segments"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
