"""torch.autograd.profiler_legacy: the old name of the profiler."""

from .profiler import profile

__all__ = ["profile"]
