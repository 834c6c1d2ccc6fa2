"""torch.profiler.itt: marks for Intel's profiler, which are not written here."""

import contextlib as _contextlib


def is_available() -> bool:
    """False.

    >>> isinstance(torch.profiler.itt.is_available(), bool)
    True
    """
    return False


def mark(msg):
    """No effect.

    >>> if torch.profiler.itt.is_available(): torch.profiler.itt.mark("here")
    """


def range_push(msg):
    """No effect.

    >>> if torch.profiler.itt.is_available(): torch.profiler.itt.range_push("step")
    """


def range_pop():
    """No effect.

    >>> if torch.profiler.itt.is_available(): torch.profiler.itt.range_pop()
    """


@_contextlib.contextmanager
def range(msg, *args, **kwargs):
    """Context without effect.

    >>> if torch.profiler.itt.is_available():
    ...   with torch.profiler.itt.range("step"):
    ...     y = torch.ones(2)
    """
    yield
