"""torch.cpu.amp: torch.amp for the CPU, under its old name."""

from ....core.warn import warn as _warn
from ...tensors import types as _types
from ..amp import GradScaler as _GradScaler
from ..amp import autocast as _autocast

_DEPRECATED = (
    "`torch.{kind}.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('{kind}', args...)` instead."
)


class autocast(_autocast):
    """torch.autocast("cpu", ...).

    >>> with torch.amp.autocast("cpu"):
    ...   (torch.ones(2, 2) @ torch.ones(2, 2)).dtype
    torch.bfloat16
    """

    def __init__(self, enabled=True, dtype=_types.by_name["bfloat16"], cache_enabled=True):
        _warn(_DEPRECATED.format(kind="cpu", name="autocast"), FutureWarning)
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """torch.amp.GradScaler("cpu", ...).

    >>> scaler = torch.amp.GradScaler("cpu")
    >>> scaler.get_scale()
    65536.0
    """

    def __init__(self, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        _warn(_DEPRECATED.format(kind="cpu", name="GradScaler"), FutureWarning)
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
