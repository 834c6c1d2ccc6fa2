"""torch.cuda.amp.grad_scaler: losses scaled for the GPU."""

from ......core.warn import warn as _warn
from ....amp import GradScaler as _GradScaler
from ....amp.grad_scaler import OptState  # noqa: F401
from ...cpu_amp.messages import DEPRECATED as _DEPRECATED

__all__ = ["GradScaler"]


class GradScaler(_GradScaler):
    """torch.amp.GradScaler("cuda", ...).

    >>> scaler = torch.amp.GradScaler("cuda", enabled=torch.cuda.is_available())
    >>> scaler.is_enabled() == torch.cuda.is_available()
    True
    """

    def __init__(self, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        _warn(_DEPRECATED.format(kind="cuda", name="GradScaler"), FutureWarning)
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
