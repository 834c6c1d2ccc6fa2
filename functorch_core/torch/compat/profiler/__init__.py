"""torch.profiler: which operators a program calls, how often, and how long they take.

Operators are computed one by one while a profile is taken; see `autograd.profiler`.
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
