"""torch.jit: scripting returns what it is given, tracing the graph of one run.

The engine records operations and compiles them whether or not a program is scripted, so `script`
has nothing to add but its refusals. Traced functions keep the branches that were taken.
"""

from __future__ import annotations

import contextlib as _contextlib
import importlib as _importlib
import types as _types
import typing

from ... import _missing
from ...tensors.base import Tensor as _Tensor
from ..futures import Future
from ._state import MARK as _MARK
from ._state import NO_SAVE as _NO_SAVE
from ._state import TracerWarning, is_tracing

_importlib.import_module(".annotations", __package__)  # its name is bound already, by __future__
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
Final = __import__("typing").Final


class _ScriptMeta(type):
    """isinstance(module, ScriptModule) for modules that were scripted or traced, ScriptFunction for functions."""

    def __instancecheck__(cls, instance):
        mark = getattr(instance, "__dict__", {}).get(_MARK)
        return mark is not None and (mark == "function") == (cls is ScriptFunction)


def _marked(thing):
    """The module, from now on a ScriptModule to isinstance; anything else as it is, with a `save` that raises."""
    from ....nn import Module

    if _isinstance(thing, Module):
        vars(thing).setdefault(_MARK, True)
    if _isinstance(thing, (Module, _types.FunctionType)) and not hasattr(thing, "save"):
        vars(thing)["save"] = _no_save
    return thing


def _no_save(*args, **kwargs):
    """NotImplementedError: there is no writer of TorchScript."""
    raise NotImplementedError(_NO_SAVE)


class ScriptModule(metaclass=_ScriptMeta):
    """For isinstance: modules that were scripted or traced, which are what they were before.

    >>> isinstance(torch.jit.trace(nn.ReLU(), torch.ones(2)), torch.jit.ScriptModule)
    True
    """

    __module__ = "torch.jit"

    def __new__(cls, *args, **kwargs):
        raise NotImplementedError(
            "torch.jit.ScriptModule is not implemented: derive from "
            "torch.nn.Module; torch.jit.script returns what it is given"
        )

    def save(self, f, **kwargs):
        """torch.jit.save, of what was traced."""
        save(self, f, **kwargs)


class ScriptFunction(ScriptModule):
    """For isinstance: functions that were traced.

    >>> isinstance(torch.jit.trace(lambda x: x + 1, torch.ones(2)), torch.jit.ScriptFunction)
    True
    """


RecursiveScriptModule = TopLevelTracedModule = ScriptModule


def script(obj=None, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """The function, class or module itself; NotSupportedError for syntax that TorchScript does not have.

    >>> module = torch.jit.script(nn.ReLU())
    >>> module(torch.tensor([-1., 2.]))
    tensor([0., 2.])
    """
    if obj is None:
        return script
    frontend = _importlib.import_module(f"{__name__}.frontend")
    frontend.check(obj)
    return _marked(obj)


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
    """The function or module as the graph of one run with the example inputs.

    The branches that this run took are kept; a TracerWarning tells where a value decided one.

    >>> traced = torch.jit.trace(lambda x: x * 2, torch.ones(2))
    >>> traced(torch.ones(3))
    tensor([2., 2., 2.])
    """
    if _isinstance(func, ScriptModule) or _isinstance(func, ScriptFunction):
        return func
    if (example_inputs is None) == (example_kwarg_inputs is None):
        raise RuntimeError("example_kwarg_inputs should be a dict" if example_inputs is not None else NO_INPUTS)
    inputs = _inputs(example_inputs)
    tolerance = check_tolerance if check_trace else None
    return _tracer().traced(func, inputs, example_kwarg_inputs or {}, tolerance)


NO_INPUTS = "torch.jit.trace needs example_inputs, or example_kwarg_inputs, to run the function with"


def _tracer():
    return _importlib.import_module(f"{__name__}._trace")


def _inputs(examples) -> tuple:
    if examples is None:
        return ()
    return (examples,) if _isinstance(examples, (_Tensor, dict)) else tuple(examples)


def trace_module(mod, inputs: dict, optimize=None, check_trace=True, check_inputs=None, check_tolerance=1e-5, **kwargs):
    """The module with the graphs of one run of each of some methods.

    >>> traced = torch.jit.trace_module(nn.ReLU(), {"forward": torch.ones(2)})
    >>> traced(torch.tensor([-1., 2.]))
    tensor([0., 2.])
    """
    given = {name: (_inputs(examples), {}) for name, examples in inputs.items()}
    return _tracer().traced_module(mod, given, check_tolerance if check_trace else None)


def save(m, f, _extra_files=None):
    """Write what was traced, for this library's torch.jit.load. NotImplementedError for what was scripted.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.jit.save(torch.jit.trace(nn.ReLU(), torch.ones(2)), file)
    >>> file.tell() > 0
    True
    """
    _tracer().save(m, f, _extra_files)


def load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    """What torch.jit.save has written. NotImplementedError for PyTorch's TorchScript archives.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.jit.save(torch.jit.trace(nn.ReLU(), torch.ones(2)), file)
    >>> _ = file.seek(0)
    >>> torch.jit.load(file)(torch.tensor([-1., 2.]))
    tensor([0., 2.])
    """
    return _tracer().load(f, map_location, _extra_files)


def script_if_tracing(fn):
    """The function itself.

    >>> @torch.jit.script_if_tracing
    ... def f(x):
    ...   return x + 1
    >>> f(torch.zeros(2))
    tensor([1., 1.])
    """
    return fn


_script_if_tracing = script_if_tracing


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """The module itself, which has to be in eval mode.

    >>> frozen = torch.jit.freeze(torch.jit.script(nn.ReLU().eval()))
    >>> frozen(torch.tensor([-1., 2.]))
    tensor([0., 2.])
    """
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. "
            "Please call .eval() on your module before freezing."
        )
    return mod


def optimize_for_inference(mod, other_methods=None):
    """The module itself.

    >>> module = torch.jit.optimize_for_inference(torch.jit.script(nn.ReLU().eval()))
    >>> module(torch.tensor([-1., 2.]))
    tensor([0., 2.])
    """
    return mod


# ---- decorators and annotations ------------------------------------------------------------------


def ignore(drop=False, **kwargs):
    """Decorator without effect.

    >>> @torch.jit.ignore
    ... def f(x):
    ...   return x + 1
    >>> f(torch.zeros(2))
    tensor([1., 1.])
    """
    return drop if callable(drop) else lambda fn: fn


def unused(fn):
    """Decorator without effect.

    >>> @torch.jit.export
    ... def f(x):
    ...   return x + 1
    >>> f(torch.zeros(2))
    tensor([1., 1.])
    """
    return fn


export = interface = unused
_overload = _overload_method = unused  # of declarations, which are the functions themselves
Error = type("Error", (RuntimeError,), {"__module__": "torch.jit"})


def annotate(the_type, the_value):
    """The value.

    >>> torch.jit.annotate(int, 3)
    3
    """
    return the_value


def Attribute(value, type):
    """The value.

    >>> torch.jit.Attribute(3, int)
    3
    """
    return value


def isinstance(obj, target_type) -> bool:
    """isinstance, also of List[int] and its kin by their containers.

    >>> torch.jit.isinstance([1, 2], list[int])
    True
    """
    targets = target_type if _isinstance(target_type, tuple) else (target_type,)
    return _isinstance(obj, tuple(typing.get_origin(t) or t for t in targets))


# ---- questions and settings ----------------------------------------------------------------------


def is_scripting() -> bool:
    """False: Python always runs.

    >>> torch.jit.is_scripting()
    False
    """
    return False


def set_fusion_strategy(strategy) -> list:
    """Accepted: the engine fuses by itself. The former strategy.

    >>> strategy = torch.jit.set_fusion_strategy([("STATIC", 2)])
    """
    return [("STATIC", 2), ("DYNAMIC", 10)]


def enable_onednn_fusion(enabled: bool):
    """Accepted: the engine fuses by itself."""


def onednn_fusion_enabled() -> bool:
    """False."""
    return False


@_contextlib.contextmanager
def optimized_execution(should_optimize):
    """Context without effect.

    >>> with torch.jit.optimized_execution(True):
    ...   y = torch.ones(2) + 1
    """
    yield


@_contextlib.contextmanager
def strict_fusion():
    """Context without effect.

    >>> with torch.jit.strict_fusion():
    ...   y = torch.ones(2) + 1
    """
    yield


# ---- asynchronous calls, run at once -------------------------------------------------------------


def fork(func, *args, **kwargs):
    """A future of func(*args, **kwargs), which is called at once.

    >>> future = torch.jit.fork(lambda x: x + 1, torch.zeros(2))
    >>> torch.jit.wait(future)
    tensor([1., 1.])
    """
    future = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future):
    """The future's result.

    >>> torch.jit.wait(torch.jit.fork(lambda x: x + 1, torch.zeros(2)))
    tensor([1., 1.])
    """
    if future is None:
        raise RuntimeError("Future can't be None")
    return future.wait()


_fork, _wait = fork, wait
