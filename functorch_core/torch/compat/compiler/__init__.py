"""torch.compiler: switches of torch.compile, which returns the function itself: the engine records
operations and compiles them anyway."""

from __future__ import annotations

import functools

from ... import _missing, as_tensor
from ...tensors.base import Tensor

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
    """The function or module itself; also usable as a decorator with arguments.

    Nothing is lost: every operation is recorded, and recordings that repeat are fused into one XLA
    program. All options are accepted.
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if model is None:
        return lambda model: compile(model)
    if not callable(model):
        raise RuntimeError(f"torch.compile expects a function or module, got {type(model).__name__}")
    return model


def disable(fn=None, recursive=True, *, reason=None):
    """The function itself; also usable as a decorator with arguments."""
    return fn if fn is not None else lambda fn: fn


def allow_in_graph(fn):
    """The function itself."""
    return fn


assume_constant_result = allow_in_graph


def substitute_in_graph(original_fn, **kwargs):
    """Decorator without effect."""
    return lambda fn: fn


def wrap_numpy(fn):
    """The function on NumPy arrays as a function on tensors."""

    @functools.wraps(fn)
    def wrapped(*args, **kwargs):
        args = [x.numpy() if isinstance(x, Tensor) else x for x in args]
        out = fn(*args, **kwargs)
        return type(out)(map(as_tensor, out)) if isinstance(out, (tuple, list)) else as_tensor(out)

    return wrapped


def is_compiling() -> bool:
    """False: Python always runs."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def list_backends(exclude_tags=()) -> list[str]:
    """['xla']."""
    return ["xla"]


def reset():
    """No effect: the engine keeps its programs."""


def cudagraph_mark_step_begin():
    """No effect."""


class set_stance:
    """Context and decorator without effect."""

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        self.stance = stance

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        pass

    def __call__(self, fn):
        return fn
