"""torch.profiler: how long marked parts of a program take.

Only what `record_function` marks is measured, on the host, with everything recorded before the end
of a part computed. Operations are fused, so there are no times of single ones.
"""

from ... import _missing
from ..autograd.profiler import record_function
from .profiler import (
    ProfilerAction,
    ProfilerActivity,
    _KinetoProfile,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "itt",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


def kineto_available() -> bool:
    """True: profiles can be taken."""
    return True


__getattr__ = _missing.getter(__name__, ("itt", "profiler"))
