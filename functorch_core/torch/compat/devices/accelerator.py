"""torch.accelerator: the GPU, if there is one."""

from __future__ import annotations

from ... import _missing
from ...tensors import types as _types

__getattr__ = _missing.getter(__name__)
__path__: list = []
NONE = "Cannot access accelerator device when none is available."


def _accelerator():
    from .cuda import _accelerator

    if not _accelerator.is_available():
        raise RuntimeError(NONE)
    return _accelerator


def is_available() -> bool:
    """Whether there is an accelerator.

    >>> torch.accelerator.is_available() == (torch.accelerator.device_count() > 0)
    True
    """
    from .cuda import is_available

    return is_available()


def device_count() -> int:
    """How many there are.

    >>> torch.accelerator.device_count() >= 0
    True
    """
    from .cuda import device_count

    return device_count()


def current_accelerator(check_available: bool = False) -> _types.device | None:
    """The kind of accelerator as a device without index, None if there is none.

    >>> torch.accelerator.current_accelerator() is not None or not torch.accelerator.is_available()
    True
    """
    return _types.device("cuda") if is_available() else None


def current_device_index() -> int:
    """The index of the current device.

    >>> torch.accelerator.current_device_index() if torch.accelerator.is_available() else 0
    0
    """
    return _accelerator().current_device()


def set_device_index(device):
    """Change the current device.

    >>> if torch.accelerator.is_available(): torch.accelerator.set_device_index(0)
    """
    _accelerator().set_device(device)


current_device_idx, set_device_idx = current_device_index, set_device_index


def current_stream(device=None):
    """The stream in use.

    >>> stream = torch.accelerator.current_stream() if torch.accelerator.is_available() else None
    """
    return _accelerator().current_stream(device)


def set_stream(stream):
    """No effect: XLA orders the work.

    >>> if torch.accelerator.is_available(): torch.accelerator.set_stream(torch.accelerator.current_stream())
    """


def synchronize(device=None):
    """Wait until everything asked for is computed.

    >>> if torch.accelerator.is_available(): torch.accelerator.synchronize()
    """
    _accelerator().synchronize(device)


def memory_stats(device=None) -> dict:
    """What the allocator counts.

    >>> if torch.accelerator.is_available(): print(len(torch.accelerator.memory_stats()) > 0)
    """
    return _accelerator().memory_stats(device)


def memory_allocated(device=None) -> int:
    """Bytes in use.

    >>> if torch.accelerator.is_available(): print(torch.accelerator.memory_allocated() >= 0)
    """
    return _accelerator().memory_allocated(device)


def max_memory_allocated(device=None) -> int:
    """The most bytes that were in use.

    >>> if torch.accelerator.is_available(): print(torch.accelerator.max_memory_allocated() >= 0)
    """
    return _accelerator().max_memory_allocated(device)


def memory_reserved(device=None) -> int:
    """Bytes that the allocator holds.

    >>> if torch.accelerator.is_available(): print(torch.accelerator.memory_reserved() >= 0)
    """
    return _accelerator().memory_reserved(device)


def empty_cache():
    """No effect.

    >>> if torch.accelerator.is_available(): torch.accelerator.empty_cache()
    """
