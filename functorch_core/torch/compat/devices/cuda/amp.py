"""torch.cuda.amp: torch.amp for the GPU, under its old name."""

import functools as _functools

from .....core.warn import warn as _warn
from ....tensors import types as _types
from ...amp import GradScaler as _GradScaler
from ...amp import autocast as _autocast
from ...amp import custom_bwd as _custom_bwd
from ...amp import custom_fwd as _custom_fwd
from ..cpu_amp import _DEPRECATED
from . import is_available


class autocast(_autocast):
    """torch.autocast("cuda", ...).

    >>> with torch.amp.autocast("cuda", enabled=torch.cuda.is_available()):
    ...   y = torch.ones(2) + 1
    """

    def __init__(self, enabled=True, dtype=_types.by_name["float16"], cache_enabled=True):
        _warn(_DEPRECATED.format(kind="cuda", name="autocast"), FutureWarning)
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """torch.amp.GradScaler("cuda", ...).

    >>> scaler = torch.amp.GradScaler("cuda", enabled=torch.cuda.is_available())
    >>> scaler.is_enabled() == torch.cuda.is_available()
    True
    """

    def __init__(self, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        _warn(_DEPRECATED.format(kind="cuda", name="GradScaler"), FutureWarning)
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


custom_fwd = _functools.partial(_custom_fwd, device_type="cuda")
custom_fwd.__doc__ = "torch.amp.custom_fwd for the GPU: a decorator of forward."
custom_bwd = _functools.partial(_custom_bwd, device_type="cuda")
custom_bwd.__doc__ = "torch.amp.custom_bwd for the GPU: a decorator of backward."


def amp_definitely_not_available() -> bool:
    """Whether there is no GPU.

    >>> torch.cuda.amp.amp_definitely_not_available() == (not torch.cuda.is_available())
    True
    """
    return not is_available()
