"""torch.compiler: torch.compile, and its switches. The engine records operations and compiles them anyway."""

from __future__ import annotations

import functools
import importlib

from ... import _missing, as_tensor
from ...tensors.base import Tensor
from . import backends

__getattr__ = _missing.getter(__name__)
__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_stance",
    "substitute_in_graph",
    "wrap_numpy",
]


def compile(model=None, *, fullgraph=False, dynamic=None, backend="inductor", mode=None, options=None, disable=False):
    """The function itself, or a module around a module, whose calls XLA compiles as all others; also usable as
    a decorator with arguments.

    Nothing is lost: every operation is recorded, and recordings that repeat are fused into one XLA
    program. So `mode`, `options`, `dynamic` and PyTorch's own backends change nothing. With
    `fullgraph` a branch on a tensor's value is an error, at the first call with inputs of some shapes.
    A function as `backend` gets a graph (torch.fx.GraphModule) and example inputs, and returns what is called.

    >>> f = torch.compile(lambda x: x.sin() + 1)
    >>> f(torch.zeros(2))
    tensor([1., 1.])
    """
    given = {"fullgraph": fullgraph, "dynamic": dynamic, "backend": backend, "mode": mode, "options": options}
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    if model is None:
        return lambda model: compile(model, **given, disable=disable)
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    function = backend if callable(backend) else backends.lookup(backend)
    if disable or not (fullgraph or function or hasattr(model, "named_modules")):
        return model
    return importlib.import_module("functorch_core.torch._dynamo.eval_frame").compiled(model, function, given)


MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")


def disable(fn=None, recursive=True, *, reason=None):
    """The function itself; also usable as a decorator with arguments.

    >>> @torch.compiler.disable
    ... def f(x):
    ...   return x + 1
    >>> f(torch.zeros(2))
    tensor([1., 1.])
    """
    return fn if fn is not None else lambda fn: fn


_disable_dynamo = disable  # torch._disable_dynamo


def allow_in_graph(fn):
    """The function itself.

    >>> torch.compiler.allow_in_graph(abs)(-2)
    2
    """
    return fn


assume_constant_result = allow_in_graph


def substitute_in_graph(original_fn, **kwargs):
    """Decorator without effect.

    >>> @torch.compiler.substitute_in_graph(divmod, skip_signature_check=True)
    ... def divided(a, b):
    ...     return a // b, a % b
    >>> divided(7, 2)
    (3, 1)
    """
    return lambda fn: fn


def wrap_numpy(fn):
    """The function on NumPy arrays as a function on tensors.

    >>> import numpy as np
    >>> torch.compiler.wrap_numpy(lambda x: np.cumsum(x))(torch.ones(3))
    tensor([1., 2., 3.])
    """

    @functools.wraps(fn)
    def wrapped(*args, **kwargs):
        args = [x.numpy() if isinstance(x, Tensor) else x for x in args]
        out = fn(*args, **kwargs)
        return type(out)(map(as_tensor, out)) if isinstance(out, (tuple, list)) else as_tensor(out)

    return wrapped


def is_compiling() -> bool:
    """False: Python always runs.

    >>> torch.compiler.is_compiling()
    False
    """
    return False


is_dynamo_compiling = is_exporting = is_compiling


list_backends = backends.list_backends


def reset():
    """No effect: the engine keeps its programs.

    >>> torch.compiler.reset()
    """


def cudagraph_mark_step_begin():
    """No effect.

    >>> torch.compiler.cudagraph_mark_step_begin()
    """


class set_stance:
    """Context and decorator without effect.

    >>> with torch.compiler.set_stance("force_eager"):
    ...   torch.compile(lambda x: x + 1)(torch.zeros(2))
    tensor([1., 1.])
    """

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        self.stance = stance

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        pass

    def __call__(self, fn):
        return fn
