"""torch.cuda.amp.autocast_mode: autocast for the GPU."""

import functools as _functools

from ......core.warn import warn as _warn
from .....tensors import types as _types
from ....amp import autocast as _autocast
from ....amp import custom_bwd as _custom_bwd
from ....amp import custom_fwd as _custom_fwd
from ...cpu_amp.messages import DEPRECATED as _DEPRECATED

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


class autocast(_autocast):
    """torch.autocast("cuda", ...).

    >>> with torch.amp.autocast("cuda", enabled=torch.cuda.is_available()):
    ...   y = torch.ones(2) + 1
    """

    def __init__(self, enabled=True, dtype=_types.by_name["float16"], cache_enabled=True):
        _warn(_DEPRECATED.format(kind="cuda", name="autocast"), FutureWarning)
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


custom_fwd = _functools.partial(_custom_fwd, device_type="cuda")
custom_fwd.__doc__ = "torch.amp.custom_fwd for the GPU: a decorator of forward."
custom_bwd = _functools.partial(_custom_bwd, device_type="cuda")
custom_bwd.__doc__ = "torch.amp.custom_bwd for the GPU: a decorator of backward."
