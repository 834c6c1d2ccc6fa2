"""torch.utils.collect_env: versions for bug reports. `python -m functorch_core -m
torch.utils.collect_env` prints them."""

import os as _os
import platform as _platform
import sys as _sys
from importlib.metadata import version

import numpy

from ..devices import cuda
from ..version import __version__


def get_pretty_env_info() -> str:
    """The versions, one per line.

    >>> from torch.utils.collect_env import get_pretty_env_info
    >>> isinstance(get_pretty_env_info(), str)
    True
    """
    rows = {
        "functorch-core, as PyTorch": __version__,
        "jaxlib": version("jaxlib"),
        "NumPy": numpy.__version__,
        "Python": _sys.version.split()[0],
        "OS": _platform.platform(),
        "CPUs": _os.cpu_count(),
        "CUDA available": cuda.is_available(),
    }
    return "\n".join(f"{name}: {value}" for name, value in rows.items())


def main():
    """Print the versions.

    >>> from torch.utils.collect_env import main
    >>> main()
    functorch-core, as PyTorch: ...
    """
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
