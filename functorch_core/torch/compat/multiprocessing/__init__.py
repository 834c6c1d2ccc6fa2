"""torch.multiprocessing: Python's multiprocessing. Tensors in shared memory stay there when they are sent."""

from __future__ import annotations

import multiprocessing as _python
import threading
from pathlib import Path

from ... import _missing
from .reductions import init_reductions as _init_reductions
from .spawn import ProcessContext, ProcessExitedException, ProcessRaisedException, SpawnContext, spawn, start_processes

globals().update({name: getattr(_python, name) for name in _python.__all__})
__all__ = [*_python.__all__, "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy"]
__getattr__ = _missing.getter(__name__, ("pool", "queue", "reductions", "spawn"))
_init_reductions()


def get_all_sharing_strategies() -> set[str]:
    """How memory can travel: as descriptors of files. The other way is accepted.

    >>> "file_descriptor" in torch.multiprocessing.get_all_sharing_strategies()
    True
    """
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    """How memory travels, as it was set.

    >>> torch.multiprocessing.get_sharing_strategy()
    'file_descriptor'
    """
    return _strategy[0]


def set_sharing_strategy(new_strategy: str):
    """Accepted: memory travels as descriptors of files in any case.

    >>> torch.multiprocessing.set_sharing_strategy("file_descriptor")
    """
    if new_strategy not in get_all_sharing_strategies():
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}")
    _strategy[0] = new_strategy


_strategy = ["file_descriptor"]


# ---- names of threads, as the system shows them --------------------------------------------------


def _own_name() -> Path:
    return Path(f"/proc/self/task/{threading.get_native_id()}/comm")


def _set_thread_name(name: str):
    """Name the current thread; no effect on systems other than Linux, which keeps 15 bytes."""
    if _own_name().exists():
        _own_name().write_text(name)


def _get_thread_name() -> str:
    """The name of the current thread."""
    return _own_name().read_text().rstrip("\n") if _own_name().exists() else threading.current_thread().name
