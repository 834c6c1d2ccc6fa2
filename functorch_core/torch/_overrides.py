"""__torch_function__: classes and modes that take over calls of torch functions.

Ops ask `_op.overrides` before anything else. It is None until the first class or mode that
overrides anything exists, so programs without one pay a test for None per call.
"""
from __future__ import annotations

import threading

from . import _op
from ._parameter import Buffer, Parameter
from ._tensor_base import Tensor

NO_IMPLEMENTATION = ("no implementation found for '{name}' on types that implement "
                     "__torch_function__: {types}")


class _State(threading.local):
    modes: tuple = ()        # TorchFunctionModes, innermost last
    subclasses = True        # whether Tensor subclasses override
    everything = True        # whether anything overrides


state = _State()


# ---- Tensor's own __torch_function__ -------------------------------------------------------------


def _disabled_torch_function_impl(func, types, args=(), kwargs=None):
    """As a class's __torch_function__: results are plain tensors."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def _default(cls, func, types, args=(), kwargs=None):
    """Call the function on plain tensors; tensors among the results become this subclass."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    return result if func in nowrap_functions() else _convert(result, cls)


def _convert(result, cls: type):
    if cls is Tensor:
        return result
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        parts = [_convert(r, cls) for r in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result


def nowrap_functions() -> set:
    """Functions whose results the default __torch_function__ leaves as they are."""
    return {Tensor.dim, Tensor.numel, Tensor.size, Tensor.stride, Tensor.storage_offset,
            Tensor._base.__get__, Tensor.grad.__get__, Tensor._version.__get__}


def _on_new_subclass(cls, **kwargs):
    super(Tensor, cls).__init_subclass__(**kwargs)
    if overrides_of(cls) is not None:
        activate()
        if not _is_ours(cls):
            _let_attributes_ask(cls)


def _is_ours(cls: type) -> bool:
    return cls.__module__ == "torch" or cls.__module__.startswith(("functorch_core.", "torch."))


def install():
    """Give Tensor its __torch_function__, and notice its subclasses."""
    Tensor.__torch_function__ = classmethod(_default)
    Tensor.__init_subclass__ = classmethod(_on_new_subclass)
    Parameter.__torch_function__ = Buffer.__torch_function__ = _disabled_torch_function_impl


# ---- which arguments override --------------------------------------------------------------------


def overrides_of(cls: type):
    """The __torch_function__ that a class overrides calls with, None if it does not."""
    found = getattr(cls, "__torch_function__", None)
    if cls is Tensor or found is None or found is _disabled_torch_function_impl:
        return None
    # Our own subclasses (UninitializedBuffer) are not meant to be kept by operations.
    is_ours = issubclass(cls, Tensor) and cls.__module__.startswith(("functorch_core.", "torch."))
    return None if is_ours else found


_overrides: dict[type, bool] = {}


def _is_overriding(x) -> bool:
    cls = x.__class__
    known = _overrides.get(cls)
    if known is None:
        known = _overrides[cls] = overrides_of(cls) is not None and not isinstance(x, type)
    return known


def overriding_args(args, kwargs) -> list:
    """The arguments whose class overrides, one of each class, subclasses before their bases."""
    found: list = []
    for x in (*args, *kwargs.values()):
        if x.__class__ in (tuple, list):
            for y in x:
                _add(found, y)
        else:
            _add(found, x)
    if not state.subclasses:
        found = [x for x in found if not isinstance(x, Tensor)]
    return found


def _add(found: list, x):
    if _is_overriding(x) and all(type(y) is not type(x) for y in found):
        at = next((i for i, y in enumerate(found) if issubclass(type(x), type(y))), len(found))
        found.insert(at, x)


# ---- dispatch ------------------------------------------------------------------------------------


class _Dispatcher:
    """What the ops call while anything overrides."""

    def applies(self, op, args, kwargs) -> bool:
        """Whether a mode is on or an argument overrides."""
        if not state.everything:
            return False
        return bool(state.modes) or bool(overriding_args(args, kwargs))

    def handle(self, op, args, kwargs):
        """What the modes and arguments make of the call."""
        return handle(op, overriding_args(args, kwargs), args, kwargs)


def handle(func, relevant: list, args, kwargs):
    """Ask the innermost mode, then the overriding arguments; TypeError if all decline."""
    types = tuple(type(x) for x in relevant)
    if state.modes:
        result = _ask_mode(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    for x in relevant:
        result = type(x).__torch_function__(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    if not relevant:
        return func(*args, **kwargs)
    raise TypeError(NO_IMPLEMENTATION.format(name=f"torch.{func.__name__}", types=list(types)))


def _ask_mode(func, types, args, kwargs):
    modes = state.modes
    state.modes = modes[:-1]
    try:
        return modes[-1].__torch_function__(func, types, args, kwargs)
    finally:
        state.modes = modes


dispatcher = _Dispatcher()


def activate():
    """From now on ops ask whether somebody overrides; methods that are no ops do, too."""
    if _op.overrides is None:
        _op.overrides = dispatcher
        for name in (*MEMBERS, *USERS_MEMBERS):
            setattr(Tensor, name, _asking(getattr(Tensor, name), name in USERS_MEMBERS))


# Methods of Tensor that are written by hand.
MEMBERS = ("backward", "detach", "dim", "is_contiguous", "item", "numel", "numpy", "register_hook",
           "requires_grad_", "size", "storage_offset", "stride", "tolist")
# These ask the users' classes only: our own (sparse tensors) have them.
USERS_MEMBERS = ("__contains__", "__deepcopy__", "__format__", "__len__", "__reduce_ex__", "__repr__",
                 "data_ptr", "detach_", "element_size", "get_device", "is_complex",
                 "is_floating_point", "is_inference", "is_signed", "nelement",
                 "register_post_accumulate_grad_hook", "retain_grad")
# Attributes ask in the classes that override, so that those of other tensors cost nothing more.
ATTRIBUTES = ("H", "T", "_base", "_version", "data", "device", "dtype", "grad", "grad_fn", "imag",
              "is_cpu", "is_cuda", "is_leaf", "is_meta", "is_sparse", "itemsize", "layout", "mH",
              "mT", "nbytes", "ndim", "output_nr", "real", "requires_grad", "retains_grad",
              "shape")


def _let_attributes_ask(cls: type):
    for name in ATTRIBUTES:
        attribute = Tensor.__dict__[name]
        if getattr(cls, name) is attribute:  # not the subclass's own
            setattr(cls, name, _asking_attribute(attribute))


def _asking_attribute(attribute: property) -> property:
    """The attribute for overriding classes: they are asked about Tensor.shape.__get__."""
    def asked(how, *args):
        if dispatcher.applies(how, args, {}):
            return dispatcher.handle(how, args, {})
        return how(*args)

    return property(lambda self: asked(attribute.__get__, self),
                    attribute.fset and (lambda self, value: asked(attribute.__set__, self, value)),
                    attribute.fdel and (lambda self: asked(attribute.__delete__, self)),
                    attribute.__doc__)


def _asking(method, users_only: bool):
    import functools

    @functools.wraps(method)
    def asking(self, *args, **kwargs):
        if users_only and _is_ours(type(self)) and not state.modes:
            return method(self, *args, **kwargs)
        if dispatcher.applies(asking, (self, *args), kwargs):
            return dispatcher.handle(asking, (self, *args), kwargs)
        return method(self, *args, **kwargs)
    return asking


# ---- switching off -------------------------------------------------------------------------------


class _Switch:
    attribute = ""

    def __enter__(self):
        self.saved = getattr(state, self.attribute)
        setattr(state, self.attribute, False)

    def __exit__(self, *exc):
        setattr(state, self.attribute, self.saved)


class DisableTorchFunctionSubclass(_Switch):
    """Context: Tensor subclasses do not override; modes still do."""

    __module__ = "torch._C"
    attribute = "subclasses"


class DisableTorchFunction(_Switch):
    """Context: nothing overrides."""

    __module__ = "torch._C"
    attribute = "everything"


# ---- modes ---------------------------------------------------------------------------------------


class TorchFunctionMode:
    """A context in which every torch function goes through this object's __torch_function__.

    >>> class Log(torch.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Log():
    ...     _ = torch.ones(2).exp()
    ones
    exp
    """

    __module__ = "torch.overrides"

    def __init__(self):
        pass

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        activate()
        state.modes += (self,)
        return self

    def __exit__(self, *exc):
        state.modes = state.modes[:-1]
