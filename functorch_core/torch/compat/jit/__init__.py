"""torch.jit: scripting and tracing return what they are given.

The engine records operations and compiles them whether or not a program is scripted, so `script`
and `trace` have nothing to add. Saving TorchScript archives is not implemented.
"""

from __future__ import annotations

import contextlib as _contextlib
import typing

from ... import _missing
from ..futures import Future

__getattr__ = _missing.getter(__name__)
__all__ = [
    "Attribute",
    "annotate",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "optimize_for_inference",
    "optimized_execution",
    "save",
    "script",
    "script_if_tracing",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

_isinstance = isinstance
load = _missing.missing("torch.jit.load", "there is no reader of TorchScript archives")
save = _missing.missing(
    "torch.jit.save", "there is no writer of TorchScript archives; save the state dict with torch.save"
)
TracerWarning = type("TracerWarning", (Warning,), {"__module__": "torch.jit"})
Final = __import__("typing").Final


class _ScriptMeta(type):
    """isinstance(module, ScriptModule) for modules that were scripted or traced."""

    def __instancecheck__(cls, instance):
        return cls is ScriptModule and _MARK in getattr(instance, "__dict__", ())


_MARK = "_is_scripted"


def _marked(thing):
    """The module, from now on a ScriptModule to isinstance; anything else as it is."""
    from ....nn import Module

    if _isinstance(thing, Module):
        vars(thing)[_MARK] = True
    return thing


class ScriptModule(metaclass=_ScriptMeta):
    """For isinstance: modules that were scripted or traced, which are what they were before."""

    __module__ = "torch.jit"

    def __new__(cls, *args, **kwargs):
        raise NotImplementedError(
            "torch.jit.ScriptModule is not implemented: derive from "
            "torch.nn.Module; torch.jit.script returns what it is given"
        )


class ScriptFunction(ScriptModule):
    """For isinstance: no function is one."""


RecursiveScriptModule = ScriptModule


def script(obj=None, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """The function, class or module itself."""
    return script if obj is None else _marked(obj)


def trace(
    func,
    example_inputs=None,
    optimize=None,
    check_trace=True,
    check_inputs=None,
    check_tolerance=1e-5,
    strict=True,
    _force_outplace=False,
    _module_class=None,
    _compilation_unit=None,
    example_kwarg_inputs=None,
    _store_inputs=True,
):
    """The function or module itself, called once with the example inputs."""
    if example_inputs is not None:
        inputs = example_inputs if _isinstance(example_inputs, (tuple, list)) else (example_inputs,)
        func(*inputs)
    elif example_kwarg_inputs is not None:
        func(**example_kwarg_inputs)
    return _marked(func)


def trace_module(mod, inputs: dict, *args, **kwargs):
    """The module itself."""
    return _marked(mod)


def script_if_tracing(fn):
    """The function itself."""
    return fn


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """The module itself, which has to be in eval mode."""
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. "
            "Please call .eval() on your module before freezing."
        )
    return mod


def optimize_for_inference(mod, other_methods=None):
    """The module itself."""
    return mod


# ---- decorators and annotations ------------------------------------------------------------------


def ignore(drop=False, **kwargs):
    """Decorator without effect."""
    return drop if callable(drop) else lambda fn: fn


def unused(fn):
    """Decorator without effect."""
    return fn


export = interface = unused
_overload = _overload_method = unused  # of declarations, which are the functions themselves
Error = type("Error", (RuntimeError,), {"__module__": "torch.jit"})


def annotate(the_type, the_value):
    """The value."""
    return the_value


def Attribute(value, type):
    """The value."""
    return value


def isinstance(obj, target_type) -> bool:
    """isinstance, also of List[int] and its kin by their containers."""
    targets = target_type if _isinstance(target_type, tuple) else (target_type,)
    return _isinstance(obj, tuple(typing.get_origin(t) or t for t in targets))


# ---- questions and settings ----------------------------------------------------------------------


def is_scripting() -> bool:
    """False: Python always runs."""
    return False


def is_tracing() -> bool:
    """False: Python always runs."""
    return False


def set_fusion_strategy(strategy) -> list:
    """Accepted: the engine fuses by itself. The former strategy."""
    return [("STATIC", 2), ("DYNAMIC", 10)]


def enable_onednn_fusion(enabled: bool):
    """Accepted: the engine fuses by itself."""


def onednn_fusion_enabled() -> bool:
    """False."""
    return False


@_contextlib.contextmanager
def optimized_execution(should_optimize):
    """Context without effect."""
    yield


@_contextlib.contextmanager
def strict_fusion():
    """Context without effect."""
    yield


# ---- asynchronous calls, run at once -------------------------------------------------------------


def fork(func, *args, **kwargs):
    """A future of func(*args, **kwargs), which is called at once."""
    future = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future):
    """The future's result."""
    return future.wait()


_fork, _wait = fork, wait
