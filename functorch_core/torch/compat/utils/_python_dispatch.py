"""torch.utils._python_dispatch: modes that are given the operators of torch.ops.aten, and what wrappers tell."""

import contextlib as _contextlib

from ..._missing import getter as _getter
from ..library import decompositions, formulas  # noqa: F401  which declare them
from ..library import dispatching as _dispatching
from ..library.calls import activate
from ..library.dispatching import computing  # noqa: F401  what a class without __torch_dispatch__ does
from ..library.wrappers import make_wrapper  # noqa: F401  Tensor._make_wrapper_subclass

__getattr__ = _getter(__name__)


class TorchDispatchMode:
    """A context in which every operator, below autograd, goes through this object's __torch_dispatch__.

    >>> class Log(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> x, weight = torch.ones(2, 3), torch.ones(4, 3)
    >>> with Log():
    ...     _ = torch.nn.functional.linear(x, weight)
    aten.t.default
    aten.mm.default
    """

    def __init__(self, _dispatch_key=None):
        pass

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        activate()
        _dispatching.state.modes += (self,)
        return self

    def __exit__(self, *exc):
        _dispatching.state.modes = _dispatching.state.modes[:-1]

    @classmethod
    def push(cls, *args, **kwargs):
        """An instance, under its former name."""
        return cls(*args, **kwargs)


def is_traceable_wrapper_subclass(t) -> bool:
    """Whether a tensor says by __tensor_flatten__ and __tensor_unflatten__ which tensors it is made of."""
    return is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether the tensors of a class are made of others, which it tells."""
    return hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def transform_subclass(t, callback, outer_size=None, outer_stride=None):
    """A wrapper like `t` around callback(name, tensor) of each tensor in it."""
    attributes, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in attributes}
    return type(t).__tensor_unflatten__(
        inner,
        context,
        t.size() if outer_size is None else outer_size,
        t.stride() if outer_stride is None else outer_stride,
    )


@_contextlib.contextmanager
def _disable_current_modes():
    """A context: no mode is on."""
    saved, _dispatching.state.modes = _dispatching.state.modes, ()
    try:
        yield list(saved)
    finally:
        _dispatching.state.modes = saved


@_contextlib.contextmanager
def _pop_mode_temporarily():
    """A context without the innermost mode, which it gives."""
    saved = _dispatching.state.modes
    _dispatching.state.modes = saved[:-1]
    try:
        yield saved[-1]
    finally:
        _dispatching.state.modes = saved


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether a mode is on."""
    return bool(_dispatching.state.modes)


def _get_current_dispatch_mode():
    """The innermost mode, None if none is on."""
    return _dispatching.state.modes[-1] if _dispatching.state.modes else None


def _get_current_dispatch_mode_stack() -> list:
    """The modes that are on, innermost last."""
    return list(_dispatching.state.modes)


def return_and_correct_aliasing(func, args, kwargs, out):
    """What a wrapper's __torch_dispatch__ returns: the operand itself where the operator writes to it."""
    schema = func._schema
    written = [i for i, a in enumerate(schema.arguments) if a.is_write]
    if not written or not schema.result or schema.result == "()":
        return out
    given = [args[i] if i < len(args) else kwargs.get(schema.arguments[i].name) for i in written]
    return given[0] if len(given) == 1 else tuple(given)
