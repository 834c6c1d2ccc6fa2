"""torch.cpu.amp: torch.amp for the CPU, under its old name."""

from .autocast_mode import autocast
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast"]
