"""torch.cpu.amp.grad_scaler: losses scaled for the CPU."""

from .....core.warn import warn as _warn
from ...amp import GradScaler as _GradScaler
from .messages import DEPRECATED as _DEPRECATED

__all__ = ["GradScaler"]


class GradScaler(_GradScaler):
    """torch.amp.GradScaler("cpu", ...).

    >>> scaler = torch.amp.GradScaler("cpu")
    >>> scaler.get_scale()
    65536.0
    """

    def __init__(self, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        _warn(_DEPRECATED.format(kind="cpu", name="GradScaler"), FutureWarning)
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
