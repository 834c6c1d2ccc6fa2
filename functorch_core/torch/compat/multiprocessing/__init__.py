"""torch.multiprocessing: Python's multiprocessing. Tensors that are sent are copied."""

from __future__ import annotations

import multiprocessing as _python
import threading

from ... import _missing
from .reductions import init_reductions as _init_reductions
from .spawn import ProcessContext, ProcessExitedException, ProcessRaisedException, SpawnContext, spawn, start_processes

globals().update({name: getattr(_python, name) for name in _python.__all__})
__all__ = [*_python.__all__, "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy"]
__getattr__ = _missing.getter(__name__, ("pool", "queue", "reductions", "spawn"))
_init_reductions()


def get_all_sharing_strategies() -> set[str]:
    """How tensors can travel: by copying."""
    return {"file_system"}


def get_sharing_strategy() -> str:
    """How tensors travel."""
    return "file_system"


def set_sharing_strategy(new_strategy: str):
    """Accepted: tensors are copied in any case."""
    if new_strategy not in ("file_descriptor", "file_system"):
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}")


def set_thread_name(name: str):
    """No effect."""


def get_thread_name() -> str:
    """The name of the current thread."""
    return threading.current_thread().name
