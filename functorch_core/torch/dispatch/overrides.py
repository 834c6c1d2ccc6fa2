"""__torch_function__: classes and modes that take over calls of torch functions.

Ops, and the functions that are declared `@overridable`, ask `active.overrides` before anything else.
It is None until the first class or mode that overrides anything exists, so programs without one pay a
test for None per call. Members of Tensor that are no ops are exchanged for such that ask only then.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import operator
import sys
import threading
import types
from typing import Any

from ...core.warn import warn
from ...locks import RLock
from ..tensors import types as _types
from ..tensors.active import active
from ..tensors.base import Tensor, show_users_dict
from ..tensors.explain import explain
from .op import registry
from .parameter import Buffer, Parameter
from .paths import PLAIN

NO_IMPLEMENTATION = "no implementation found for '{name}' on types that implement __torch_function__: {types}"

PLAIN_METHOD = (
    "Defining your `__torch_function__` as a plain method is deprecated and will be an error in future, "
    "please define it as a classmethod."
)
CLASS_METHOD = (
    "Defining your mode's `__torch_function__` as a classmethod is not supported, please make it a plain method"
)


class DeclinedError(TypeError):
    """All that were asked return NotImplemented."""


class _State(threading.local):
    modes: tuple = ()  # TorchFunctionModes, innermost last
    subclasses = True  # whether Tensor subclasses override
    everything = True  # whether anything overrides
    skips: bool = False  # whether the next that would be overridden is not
    called: Any = None  # what Tensor's own __torch_function__ is calling


state = _State()


# ---- Tensor's own __torch_function__ -------------------------------------------------------------


def _disabled_torch_function_impl(func, types, args=(), kwargs=None):
    """As a class's __torch_function__: results are plain tensors."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def _disabled_torch_dispatch_impl(func, types, args=(), kwargs=None):
    """As a class's __torch_dispatch__: operators are not dispatched to it. Called by one, it computes."""
    with _dispatching().computing():
        return func(*args, **(kwargs or {}))


_disabled_torch_dispatch_impl.__module__ = "torch._C"


def _dispatching():
    """The module of what dispatches, loaded for the first class that does."""
    return importlib.import_module("functorch_core.torch.utils._python_dispatch")


class Overridden:
    """Members of Tensor by which its subclasses override."""

    __torch_dispatch__ = staticmethod(_disabled_torch_dispatch_impl)

    @staticmethod
    def _make_subclass(cls, data, require_grad=False, **kwargs):
        """An instance of a subclass of Tensor with the memory of a tensor, a leaf."""
        with DisableTorchFunction():  # the instance is not ready to be asked
            made = data.detach().as_subclass(cls)
            return made.requires_grad_() if require_grad else made

    @staticmethod
    def _make_wrapper_subclass(cls, *args, **kwargs):
        """An instance of a subclass without memory, which lives by its __torch_dispatch__."""
        return _dispatching().make_wrapper(cls, *args, **kwargs)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """Call the function on plain tensors; tensors among the results become this subclass."""
        if not all(issubclass(cls, t) for t in types):
            return NotImplemented
        if state.called is func and not state.subclasses:  # asked again by the function, which is not of this library
            raise explain(TypeError(FOREIGN.format(name=getattr(func, "__name__", func))))
        outer, state.called = state.called, func
        try:
            with DisableTorchFunctionSubclass():
                result = func(*args, **(kwargs or {}))
        finally:
            state.called = outer
        with DisableTorchFunction():  # no mode is told how a result becomes one of the class
            return result if func in nowrap_functions() else _convert(result, cls)

    def __init_subclass__(cls, **kwargs):
        super(Tensor, cls).__init_subclass__(**kwargs)
        show_users_dict(cls)
        dispatch = vars(cls).get("__torch_dispatch__")
        if dispatch is _disabled_torch_dispatch_impl:
            cls.__torch_dispatch__ = None
        elif dispatch is not None:
            if getattr(cls.__torch_function__, "__func__", None) is vars(Tensor)["__torch_function__"].__func__:
                cls.__torch_function__ = _disabled_torch_function_impl
            _dispatching().activate()
        if overrides_of(cls) is not None and not _is_ours(cls):  # ours activate when there is one
            activate()
            _let_attributes_ask(cls)


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
    return {
        Tensor.dim,
        Tensor.numel,
        Tensor.size,
        Tensor.stride,
        Tensor.storage_offset,
        Tensor._base.__get__,
        Tensor.grad.__get__,
        Tensor._version.__get__,
    }


def _is_ours(cls: type) -> bool:
    if getattr(cls, "__torch_dispatch__", None) not in (None, _disabled_torch_dispatch_impl):
        return False
    return cls.__module__ == "torch" or _is_named_ours(cls)


def _is_named_ours(cls: type) -> bool:
    """Whether a class is of this library by its module; PyTorch's testing utilities, under the shim, are not."""
    module = cls.__module__
    return module.startswith(("functorch_core.", "torch.")) and not module.startswith("torch.testing._internal.")


Parameter.__torch_function__ = Buffer.__torch_function__ = _disabled_torch_function_impl


# ---- which arguments override --------------------------------------------------------------------


def overrides_of(cls: type):
    """The __torch_function__ that a class overrides calls with, None if it does not."""
    found = getattr(cls, "__torch_function__", None)
    if cls is Tensor or found is None or found is _disabled_torch_function_impl:
        return None
    # Our own subclasses (UninitializedBuffer) are not meant to be kept by operations.
    return None if issubclass(cls, Tensor) and _is_named_ours(cls) else found


def refuse(op, args, kwargs):
    """After an op has failed: TypeError for a tensor of another PyTorch, and, for an AttributeError, if the first
    argument must be a tensor and is none."""
    for x in (*args, *kwargs.values()):
        for y in x if x.__class__ in (tuple, list) else (x,):
            if is_foreign(y.__class__):
                raise explain(TypeError(FOREIGN.format(name=op.name))) from None
    if isinstance(sys.exc_info()[1], AttributeError) and args and op.parameters:
        name = op.parameters[0].name
        if name in FIRST and not isinstance(args[0], Tensor):
            said = f"{op.name}(): argument '{name}' (position 1) must be Tensor, not {type(args[0]).__name__}"
            raise explain(TypeError(said)) from None


FIRST = frozenset({"A", "input", "self", "tensor", "x"})
FOREIGN = "{name}(): two installations of torch are mixed: one's tensors are the other's by torch.from_dlpack(x)"


def is_foreign(cls: type) -> bool:
    """Whether a class is of the tensors of another PyTorch, the real one."""
    return not issubclass(cls, Tensor) and any(c.__name__ == "Tensor" and c.__module__ == "torch" for c in cls.__mro__)


_overrides: dict[type, bool] = {}


def _is_overriding(x) -> bool:
    cls = x.__class__
    known = _overrides.get(cls)
    if known is None:
        overriding = overrides_of(cls) is not None and not isinstance(x, type) and not is_foreign(cls)
        known = _overrides[cls] = overriding
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

    def __init__(self):
        self.exchanged = {}  # name -> member of Tensor that one that asks has taken the place of
        self.below = None  # compat/library/dispatching.py, from the first class or mode with __torch_dispatch__ on

    def applies(self, op, args, kwargs) -> bool:
        """Whether a mode is on, an argument overrides, or calls are observed."""
        if active.observer is not None and active.observer.takes(op):
            return True
        if self.below is not None and self.below.applies(args, kwargs):
            return True
        return _is_overridden(args, kwargs)

    def dispatches(self, *tensors) -> bool:
        """Whether operators on tensors go to a __torch_dispatch__."""
        return self.below is not None and self.below.applies(tensors, {})

    def handle(self, op, args, kwargs):
        """What the modes and arguments make of the call."""
        if active.observer is not None and active.observer.takes(op):
            return active.observer.call(op, args, kwargs)
        if self.below is not None and not _is_overridden(args, kwargs):
            return self.below.call(op, args, kwargs)
        return handle(op, overriding_args(args, kwargs), args, kwargs)


def _is_overridden(args, kwargs) -> bool:
    """Whether a mode is on or an argument overrides."""
    found = state.everything and (bool(state.modes) or bool(overriding_args(args, kwargs)))
    if found and state.skips:
        state.skips = found = False
    return found


def handle(func, relevant: list, args, kwargs):
    """Ask the innermost mode, then the overriding arguments; TypeError if all decline."""
    types = tuple(type(x) for x in relevant)
    if state.modes:
        result = _ask_mode(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    for x in relevant:
        _warn_of_plain_method(func, x)
        result = x.__torch_function__(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    if not relevant:
        return func(*args, **kwargs)
    raise DeclinedError(NO_IMPLEMENTATION.format(name=f"torch.{func.__name__}", types=list(types)))


def redispatch(func, args, kwargs):
    """func(*args, **kwargs), overridden by nobody. What a user's function calls is overridden as ever; a function of
    the library calls no others, as PyTorch's in C++ do."""
    if not _is_users(func):
        with DisableTorchFunction():
            return func(*args, **kwargs)
    outer, state.skips = state.skips, True
    try:
        result = func(*args, **kwargs)
        if state.skips:
            raise RuntimeError(ASKS_NOBODY)
        return result
    finally:
        state.skips = outer


ASKS_NOBODY = "skip_one_hop_torch_function called on a function that doesn't use has_torch_function!"


def _is_users(func) -> bool:
    func = inspect.unwrap(func)
    return isinstance(func, types.FunctionType) and not func.__globals__.get("__name__", "").startswith(LIBRARY)


LIBRARY = f"{__name__.split('.')[0]}."


def _warn_of_plain_method(func, x):
    """Say that a __torch_function__ is no classmethod: of ops PyTorch says it as a UserWarning."""
    if getattr(x.__torch_function__, "__self__", None) is x:
        warn(PLAIN_METHOD, UserWarning if registry.get(getattr(func, "name", "")) is func else DeprecationWarning)


def _ask_mode(func, types, args, kwargs):
    modes = state.modes
    if isinstance(getattr(modes[-1].__torch_function__, "__self__", None), type):
        raise RuntimeError(CLASS_METHOD)
    device = _types.placing.device
    if device is not None and len(_types.placing.outer) > modes[-1]._n_devices and _is_factory(func):
        kwargs = {"device": device, **(kwargs or {})}
    state.modes = modes[:-1]
    try:
        return modes[-1].__torch_function__(func, types, args, kwargs)
    finally:
        state.modes = modes


def _is_factory(func) -> bool:
    """Whether a function makes tensors on the default device: what a `with torch.device` inside of
    a mode adds to its calls before the mode sees them."""
    op = registry.get(getattr(func, "name", ""))
    return (
        op is func
        and not op.forms["method"]
        and op.forms["function"]
        and any(q.name == "device" for q in op.parameters)
        and not op.name.endswith("_like")
    )


dispatcher = _Dispatcher()


def activate():
    """From now on ops ask whether somebody overrides; methods that are no ops do, too."""
    global for_good
    for_good = True
    _let_all_ask()


def _let_all_ask():
    _look_for_interception()
    if active.overrides is not None:
        return
    active.overrides = dispatcher
    if not dispatcher.exchanged:
        for name in (*MEMBERS, *USERS_MEMBERS):
            member = dispatcher.exchanged[name] = getattr(Tensor, name)
            setattr(Tensor, name, _asking(member, name))
        Tensor.ndimension = Tensor.dim
        for name, other in RENAMED.items():  # what is told of a call is found by its name
            setattr(Tensor, other, getattr(Tensor, name))


def observed(on: bool):
    """Let all ask while `active.observer` is told of calls; afterwards only if something may override."""
    if on:
        _let_all_ask()
    elif not (for_good or living.n or active.observer):
        active.overrides = None
        for name, member in dispatcher.exchanged.items():
            setattr(Tensor, name, member)
        Tensor.ndimension = Tensor.dim
        dispatcher.exchanged.clear()
    _look_for_interception()


def _look_for_interception():
    """Note whether calls may be taken over whatever their arguments are. Those that overriding classes are to be asked
    about have an argument that is neither a Tensor nor a Parameter, and go the way of all calls."""
    somebody = modes_on.n or living.n or active.observer is not None or dispatcher.below is not None
    active.intercepts = bool(somebody)


for_good = False  # whether there is a class or mode that may override at any time


class _Living:
    """How many objects there are that override as long as they live: proxies of torch.fx. When the
    last one is gone, ops do not ask any more."""

    def __init__(self):
        self.n, self.lock = 0, RLock()

    def add(self, change: int):
        """An object is made (1) or gone (-1)."""
        with self.lock:
            self.n += change
            if self.n == change == 1:
                _let_all_ask()
            elif not self.n and active is not None:  # which it is when Python ends
                active.overrides = active.overrides if for_good else None
                _look_for_interception()


living = _Living()

# Methods of Tensor that are written by hand.
MEMBERS = """
    backward detach dim is_contiguous item numel numpy register_hook requires_grad_ size storage_offset stride
    tolist""".split()
# These ask the users' classes only: our own (sparse tensors) have them. In the middle are operators that
# PyTorch does not call by the name of a method.
USERS_MEMBERS = """
    __array__ __array_wrap__ __bool__ __complex__ __contains__ __deepcopy__ __float__ __format__ __index__ __int__
    __len__ __reduce_ex__ __repr__ __reversed__ data_ptr detach_ element_size get_device is_complex is_floating_point
    is_inference is_shared is_signed nelement register_post_accumulate_grad_hook retain_grad __and__ __eq__
    __floordiv__ __invert__ __lshift__ __or__ __rfloordiv__ __rlshift__ __rmatmul__ __rmod__ __rpow__
    __rrshift__ __rshift__ __rsub__ __rtruediv__ __xor__ ccol_indices coalesce col_indices crow_indices dense_dim
    indices is_coalesced is_pinned pin_memory polygamma polygamma_ row_indices share_memory_ sparse_dim sparse_mask
    to_dense to_sparse values where""".split()
# Where the other operand decides if nobody has an answer: Python's binary operators.
OPERATORS = frozenset([f"__{r}{x[2:]}" for x in dir(operator) if x[:2] == "__" for r in ("", "r")])
RENAMED = {"__rtruediv__": "__rdiv__"}


def _let_attributes_ask(cls: type):
    for name, attribute in attributes().items():
        if getattr(cls, name) is attribute:  # not the subclass's own
            setattr(cls, name, AskingAttribute(attribute))


class AskingAttribute:
    """An attribute of which classes and modes are asked, as Tensor.shape.__get__."""

    def __init__(self, attribute: property):
        self.attribute, self.__doc__ = attribute, attribute.__doc__

    def __get__(self, instance, owner=None):
        how = self.attribute.__get__
        return self.attribute if instance is None else _asked(how, instance)

    def __set__(self, instance, value):
        _asked(self.attribute.__set__, instance, value)

    def __delete__(self, instance):
        _asked(self.attribute.__delete__, instance)


def _asked(how, *args):
    if dispatcher.applies(how, args, {}):
        return dispatcher.handle(how, args, {})
    return how(*args)


@functools.cache
def attributes() -> dict[str, property]:
    """Tensor's own, which ask nobody. They ask in the classes that override, and while a mode is on in Tensor itself,
    so that those of other tensors cost nothing more."""
    private = ("__dict__", "_aval")
    return {name: x for name, x in vars(Tensor).items() if isinstance(x, property) and name not in private}


class _ModesOn:
    """How many modes are on in all threads: as long as one is, Tensor's attributes ask."""

    def __init__(self):
        self.n, self.lock = 0, RLock()

    def add(self, change: int):
        """A mode is entered (1) or left (-1)."""
        with self.lock:
            before, self.n = self.n, self.n + change
            if not before:
                for name, attribute in attributes().items():
                    setattr(Tensor, name, AskingAttribute(attribute))
            elif not self.n:
                for name, attribute in attributes().items():
                    setattr(Tensor, name, attribute)
            _look_for_interception()


modes_on = _ModesOn()


def _asking(method, name: str):
    users_only = name in USERS_MEMBERS
    declines = name in OPERATORS

    @functools.wraps(method)
    def asking(self, *args, **kwargs):
        if self.__class__ in PLAIN and active.plain and not (args or kwargs):
            return method(self)
        if users_only and _is_ours(type(self)) and not state.modes:
            return method(self, *args, **kwargs)
        if not dispatcher.applies(asking, (self, *args), kwargs):
            return method(self, *args, **kwargs)
        try:
            return dispatcher.handle(asking, (self, *args), kwargs)
        except DeclinedError:
            if not declines:
                raise
            return NotImplemented  # it is the other operand's turn

    asking.__name__ = RENAMED.get(name, name)
    asking.__qualname__ = f"Tensor.{asking.__name__}"
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


class _EnableTorchFunction:
    """As long as it lives, everything overrides, whatever is switched off around it."""

    __module__ = "torch._C"

    def __init__(self):
        self.saved = state.subclasses, state.everything
        state.subclasses = state.everything = True

    def __del__(self):
        state.subclasses, state.everything = self.saved


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

    _n_devices = 0  # how many `with torch.device` this mode is inside of

    def __init__(self):
        pass

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        activate()
        modes_on.add(1)
        state.modes += (self,)
        self._n_devices = len(_types.placing.outer)
        return self

    def __exit__(self, *exc):
        state.modes = state.modes[:-1]
        modes_on.add(-1)
