"""torch.__config__: what this library is built with."""

import platform
from importlib.metadata import version

import numpy

from .settings import get_num_threads


def show() -> str:
    """The versions of what computes."""
    return (
        "functorch-core:\n"
        f"  - XLA by jaxlib {version('jaxlib')}\n"
        f"  - NumPy {numpy.__version__}\n"
        f"  - Python {platform.python_version()}\n"
    )


def _cxx_flags() -> str:
    """No flags: nothing of it is C++."""
    return ""


def parallel_info() -> str:
    """How many threads compute."""
    return f"XLA/Parallel:\n\tget_num_threads() : {get_num_threads()}\n"
