"""torch.cuda.nvtx: marks for NVIDIA's profiler, which are not written here."""

import contextlib as _contextlib


def mark(msg):
    """No effect.

    >>> if torch.cuda.is_available(): torch.cuda.nvtx.mark("here")
    """


def range_push(msg) -> int:
    """No effect; the depth, 0.

    >>> if torch.cuda.is_available(): depth = torch.cuda.nvtx.range_push("step")
    """
    return 0


def range_pop() -> int:
    """No effect; the depth, 0.

    >>> if torch.cuda.is_available(): depth = torch.cuda.nvtx.range_pop()
    """
    return 0


@_contextlib.contextmanager
def range(msg, *args, **kwargs):
    """Context without effect.

    >>> if torch.cuda.is_available():
    ...   with torch.cuda.nvtx.range("step"):
    ...     y = torch.ones(2) + 1
    """
    yield
