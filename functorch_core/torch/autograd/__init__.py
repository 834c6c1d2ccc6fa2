"""torch.autograd: reverse and forward mode on tensors."""

import importlib as _importlib

from . import anomaly_mode, forward_ad, function, grad_mode, graph
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .grad_mode import _unsafe_preserve_version_counter as _unsafe_preserve_version_counter
from .backward import backward, grad
from .function import Function, NestedIOFunction
from .gradcheck import gradcheck, gradgradcheck
from .grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled, set_multithreading_enabled
from .modes import is_grad_enabled as is_grad_enabled
from .variable import Variable

_LAZY = ("functional", "profiler", "profiler_legacy", "profiler_util", "variable")

__all__ = [
    "Function",
    "NestedIOFunction",
    "Variable",
    "anomaly_mode",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "profiler",
    "profiler_legacy",
    "profiler_util",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "variable",
]


def _profiler_enabled() -> bool:
    """Whether a profile of torch.autograd.profiler is being taken."""
    from .profiler import active_profile

    return active_profile() is not None


def __getattr__(name: str):
    if name in _LAZY:
        return _importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torch.autograd' has no attribute {name!r}")
