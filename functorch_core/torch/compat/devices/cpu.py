"""torch.cpu: the functions of an accelerator, for the CPU."""

from __future__ import annotations

import contextlib as _contextlib
import platform

from ....engine import flush as _flush
from ... import _missing
from .accelerators import Stream as _Stream

__getattr__ = _missing.getter(__name__)
__path__: list = []  # torch.cpu.amp is a module


class Stream(_Stream):
    """A name without effect.

    >>> torch.cpu.Stream().query()
    True
    """

    __module__ = "torch.cpu"
    kind = "cpu"

    def __init__(self, priority: int = -1):
        super().__init__("cpu", priority)


def is_available() -> bool:
    """True.

    >>> torch.cpu.is_available()
    True
    """
    return True


def is_initialized() -> bool:
    """True.

    >>> torch.cpu.is_initialized()
    True
    """
    return True


def device_count() -> int:
    """1.

    >>> torch.cpu.device_count()
    1
    """
    return 1


def current_device() -> str:
    """'cpu'.

    >>> torch.cpu.current_device()
    'cpu'
    """
    return "cpu"


def set_device(device):
    """No effect.

    >>> torch.cpu.set_device("cpu")
    """


def synchronize(device=None):
    """Compute what is recorded.

    >>> torch.cpu.synchronize()
    """
    _flush("synchronize")


def current_stream(device=None) -> Stream:
    """The only stream.

    >>> stream = torch.cpu.current_stream()
    """
    return Stream()


def stream(stream):
    """Context without effect.

    >>> with torch.cpu.stream(torch.cpu.current_stream()):
    ...   y = torch.ones(2) + 1
    """
    return _contextlib.nullcontext(stream)


StreamContext = stream


def get_capabilities() -> dict:
    """What is known of the processor.

    >>> torch.cpu.get_capabilities() is not None
    True
    """
    return {"architecture": platform.machine()}


def _is_avx2_supported() -> bool:
    """False: PyTorch's kernels for it are not here; XLA uses what the processor has."""
    return False


_is_avx512_supported = _is_vnni_supported = _is_amx_tile_supported = _is_amx_fp16_supported = _is_avx2_supported
_is_avx512_bf16_supported = _init_amx = _is_avx2_supported
