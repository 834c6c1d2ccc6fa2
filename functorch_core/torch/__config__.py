"""torch.__config__: what this library is built with."""


def show() -> str:
    """The versions of what computes."""
    import platform

    from importlib.metadata import version
    import numpy

    return (
        "functorch-core:\n"
        f"  - XLA by jaxlib {version('jaxlib')}\n"
        f"  - NumPy {numpy.__version__}\n"
        f"  - Python {platform.python_version()}\n"
    )


def parallel_info() -> str:
    """How many threads compute."""
    from ._settings import get_num_threads

    return f"XLA/Parallel:\n\tget_num_threads() : {get_num_threads()}\n"
