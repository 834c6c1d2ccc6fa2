"""torch.overrides: how other classes take over torch functions with __torch_function__."""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Iterable

from ..dispatch import overrides as _core
from ..dispatch.op import Composite as _Composite
from ..dispatch.op import TorchOp as _TorchOp
from ..dispatch.overrides import TorchFunctionMode
from ..namespaces import functional
from ..tensors.base import Tensor as _Tensor

__all__ = [
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "redispatch_function",
    "resolve_name",
    "wrap_torch_function",
]

_OPS = (_TorchOp, _Composite)
INITIALIZERS = ("constant_", "kaiming_uniform_", "normal_", "uniform_")  # that can be overridden


def has_torch_function(relevant_args) -> bool:
    """Whether a mode is on or one of the arguments overrides torch functions.

    >>> class Mine:
    ...   @classmethod
    ...   def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...     return func.__name__
    >>> torch.overrides.has_torch_function((Mine(),)), torch.overrides.has_torch_function((torch.ones(1),))
    (True, False)
    """
    if not isinstance(relevant_args, Iterable):
        raise TypeError("expected a sequence")
    return _core.dispatcher.applies(None, tuple(relevant_args), {})


def has_torch_function_unary(arg) -> bool:
    """has_torch_function of one argument."""
    return has_torch_function((arg,))


def has_torch_function_variadic(*args) -> bool:
    """has_torch_function of several arguments."""
    return has_torch_function(args)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """What the modes and the relevant arguments make of a call of `public_api`.

    TypeError if all of them return NotImplemented.

    >>> class Mine:
    ...   @classmethod
    ...   def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...     return func.__name__
    >>> torch.overrides.handle_torch_function(torch.add, (Mine(),), Mine(), 1)
    'add'
    """
    return _core.handle(public_api, _core.overriding_args(tuple(relevant_args), {}), args, kwargs)


def redispatch_function(func, types, args, kwargs):
    """func(*args, **kwargs) without asking who overrides it; of what the function of a user calls it is asked again.

    For a __torch_function__ that is also to see what is called inside of the function.

    >>> class Told(torch.Tensor):
    ...   names = []
    ...   @classmethod
    ...   def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...     cls.names.append(func.__name__)
    ...     return torch.overrides.redispatch_function(func, types, args, kwargs)
    >>> def twice(x):
    ...   if torch.overrides.has_torch_function((x,)):
    ...     return torch.overrides.handle_torch_function(twice, (x,), x)
    ...   return x * 2
    >>> twice(torch.ones(1).as_subclass(Told)), Told.names
    (tensor([2.]), ['twice', 'mul'])
    """
    return _core.redispatch(func, args, kwargs or {})


def wrap_torch_function(dispatcher):
    """Decorator: let a function be overridden by the arguments that `dispatcher` returns.

    >>> @torch.overrides.wrap_torch_function(lambda a: (a,))
    ... def double(a):
    ...     return a * 2
    """

    def wrap(func):
        @functools.wraps(func)
        def wrapped(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return wrap


def is_tensor_like(inp) -> bool:
    """Whether an object is a tensor or its class has __torch_function__.

    >>> class Mine:
    ...   @classmethod
    ...   def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...     return func.__name__
    >>> torch.overrides.is_tensor_like(Mine()), torch.overrides.is_tensor_like(3)
    (True, False)
    """
    return type(inp) is _Tensor or hasattr(inp, "__torch_function__")


def get_default_nowrap_functions() -> set:
    """Functions whose results the default __torch_function__ does not turn into a subclass.

    >>> torch.Tensor.grad.__get__ in torch.overrides.get_default_nowrap_functions()
    True
    """
    return _core.nowrap_functions()


@functools.cache
def _all_functions() -> dict:
    """Namespace -> its functions, in the order of their names."""
    from ... import nn, torch

    spaces = {
        torch: torch,
        torch.nn.functional: nn.functional,
        torch.linalg: torch.linalg,
        torch.fft: torch.fft,
        torch.special: torch.special,
        _Tensor: _Tensor,
    }
    return {
        space: [
            vars(where)[name]
            for name in sorted(vars(where))
            if not name.startswith("_") and callable(vars(where)[name]) and not isinstance(vars(where)[name], type)
        ]
        for space, where in spaces.items()
    }


def _is_overridable(function) -> bool:
    return isinstance(function, _OPS) or getattr(function, "__qualname__", "").startswith("Tensor.")


def get_overridable_functions() -> dict:
    """The functions that __torch_function__ can take over, by namespace.

    >>> torch.add in torch.overrides.get_overridable_functions()[torch]
    True
    """
    return {space: [f for f in functions if _is_overridable(f)] for space, functions in _all_functions().items()}


def get_ignored_functions() -> set:
    """Public functions that __torch_function__ cannot take over.

    >>> torch.typename in torch.overrides.get_ignored_functions()
    True
    """
    return {
        f
        for functions in _all_functions().values()
        for f in functions
        if not _is_overridable(f) and isinstance(f, types.FunctionType)
    }


def get_testing_overrides() -> dict:
    """For each overridable function, a function of the same parameters that returns -1.

    >>> torch.add in torch.overrides.get_testing_overrides()
    True
    """

    def dummy(*args, **kwargs):
        return -1

    return {f: dummy for functions in get_overridable_functions().values() for f in functions}


@functools.cache
def _named() -> dict:
    """Function -> its name in the last namespace that has it; attributes by their __get__."""
    from ... import nn, torch

    found = {
        getattr(attribute, how): f"torch.Tensor.{name}.{how}"
        for name, attribute in _core.attributes().items()
        for how in ("__get__", "__set__", "__delete__")
    }
    python = {n: vars(torch)[n] for n in functional._NAMES if n in vars(torch)}
    spaces = {
        "torch": vars(torch),
        "torch.functional": python,
        "torch.nn.functional": vars(nn.functional),
        "torch.nn.init": {n: getattr(nn.init, n) for n in INITIALIZERS},
        "torch.Tensor": vars(_Tensor),
        "torch.linalg": vars(torch.linalg),
        "torch.fft": vars(torch.fft),
        "torch.special": vars(torch.special),
    }
    for prefix, space in spaces.items():
        aliases_first = sorted(space.items(), key=lambda x: getattr(x[1], "__name__", "") == x[0])
        found |= {
            f: f"{prefix}.{name}"
            for name, f in aliases_first
            if isinstance(f, (*_OPS, types.FunctionType)) and (name[0] != "_" or prefix == "torch.Tensor")
        }
    return found


def resolve_name(f) -> str | None:
    """A function's name as users write it, 'torch.Tensor.add'; None if it is none of torch's.

    >>> torch.overrides.resolve_name(torch.Tensor.add), torch.overrides.resolve_name(torch.add)
    ('torch.Tensor.add', 'torch.add')
    """
    if isinstance(f, _OPS) and f.name.startswith("__"):
        return f"torch.Tensor.{f.name}"
    name = getattr(f, "__qualname__", "")
    found = _named().get(f)
    return f"torch.{name}" if found is None and name.startswith("Tensor.") else found


def is_tensor_method_or_property(func) -> bool:
    """Whether a function is a method of Tensor, or reads one of its attributes.

    >>> torch.overrides.is_tensor_method_or_property(torch.Tensor.add)
    True
    >>> torch.overrides.is_tensor_method_or_property(torch.add)
    False
    """
    if getattr(func, "__name__", None) == "__get__":
        return True
    return getattr(_Tensor, getattr(func, "__name__", ""), None) is func


@contextlib.contextmanager
def enable_reentrant_dispatch():
    """Context without effect: dispatch is always re-entrant here.

    >>> with torch.overrides.enable_reentrant_dispatch():
    ...   y = torch.ones(2)
    """
    yield


@contextlib.contextmanager
def _enable_torch_function():
    """Context: modes and subclasses override, whatever is switched off around it."""
    switch = _core._EnableTorchFunction()
    try:
        yield
    finally:
        del switch


def _get_current_function_mode_stack() -> list:
    return list(_core.state.modes)


def _get_current_function_mode():
    return _core.state.modes[-1] if _core.state.modes else None


def _get_overloaded_args(relevant_args, get_type_fn=None):
    return _core.overriding_args(tuple(relevant_args), {})


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))
