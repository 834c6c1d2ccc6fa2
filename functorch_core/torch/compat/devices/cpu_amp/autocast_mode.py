"""torch.cpu.amp.autocast_mode: autocast for the CPU."""

from .....core.warn import warn as _warn
from ....tensors import types as _types
from ...amp import autocast as _autocast
from .messages import DEPRECATED as _DEPRECATED

__all__ = ["autocast"]


class autocast(_autocast):
    """torch.autocast("cpu", ...).

    >>> with torch.amp.autocast("cpu"):
    ...   (torch.ones(2, 2) @ torch.ones(2, 2)).dtype
    torch.bfloat16
    """

    def __init__(self, enabled=True, dtype=_types.by_name["bfloat16"], cache_enabled=True):
        _warn(_DEPRECATED.format(kind="cpu", name="autocast"), FutureWarning)
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)
