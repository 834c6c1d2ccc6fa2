"""torch.autograd: reverse and forward mode on tensors."""

import importlib as _importlib

from ... import _missing
from ...levels import forward_ad, function
from ...levels.function import Function, NestedIOFunction
from ...operators.func.gradcheck import gradcheck, gradgradcheck
from ...tape import anomaly_mode, grad_mode, graph
from ...tape.anomaly_mode import detect_anomaly, set_detect_anomaly
from ...tape.backward import backward, grad
from ...tape.grad_mode import (
    _unsafe_preserve_version_counter,
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from ...tape.modes import is_grad_enabled, is_multithreading_enabled
from ...tape.saved import SavedTensor
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
    return _importlib.import_module(f"{__name__}.profiler").active_profile() is not None


def kineto_available() -> bool:
    """True: profiles can be taken."""
    return True


__getattr__ = _missing.getter(__name__, _LAZY)
