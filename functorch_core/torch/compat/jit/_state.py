"""What the parts of torch.jit know of each other."""

from __future__ import annotations

import contextlib
import threading

from ..._missing import MESSAGE

MARK = "_is_scripted"  # in the attributes of what was scripted or traced
NO_SAVE = MESSAGE.format(name="torch.jit.save of what was scripted") + (
    ": there is no writer of TorchScript archives. Save what torch.jit.trace makes (torch.jit.load reads it), "
    "or the state dict with torch.save"
)
NO_LOAD = MESSAGE.format(name="torch.jit.load of a TorchScript archive") + (
    ": there is no reader of TorchScript. Load the state dict of the model instead, or a file that this library's "
    "torch.jit.save has written"
)
TracerWarning = type("TracerWarning", (Warning,), {"__module__": "torch.jit"})
_now = threading.local()


@contextlib.contextmanager
def tracing():
    """Context: torch.jit.is_tracing() is True."""
    before, _now.traces = is_tracing(), True
    try:
        yield
    finally:
        _now.traces = before


def is_tracing() -> bool:
    """Whether a function is run to be recorded.

    >>> torch.jit.is_tracing()
    False
    """
    return getattr(_now, "traces", False)
