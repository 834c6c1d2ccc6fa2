"""torch.profiler.itt: marks for Intel's profiler, which are not written here."""

import contextlib as _contextlib


def is_available() -> bool:
    """False.

    >>> isinstance(torch.profiler.itt.is_available(), bool)
    True
    """
    return False


def mark(msg):
    """No effect."""


def range_push(msg):
    """No effect."""


def range_pop():
    """No effect."""


@_contextlib.contextmanager
def range(msg, *args, **kwargs):
    """Context without effect."""
    yield
