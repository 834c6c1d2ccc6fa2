"""From calls of torch functions to operators of torch.ops.aten, which are dispatched.

A call comes here (by `overrides.dispatcher.below`) if a mode is on or an operand's class dispatches. It is taken apart
into operators as PyTorch does it (`decompositions`), each of which goes on the tape (`derivatives`) and then to who is
asked (`dispatching`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

import functorch_core.torch as torch

from ...dispatch import overrides
from ...dispatch.op import Composite, TorchOp, registry
from ...tape.modes import state as grad_state
from ...tensors.active import active
from ...tensors.base import Tensor
from ...tensors.types import named
from . import ops
from .derivatives import with_history
from .dispatching import applies, ask, computing, state, tensors_of
from .overloads import Overload, choose, overloads_of, schema_of

UNKNOWN = (
    "torch.{name} below __torch_dispatch__: which operator of torch.ops.aten this call is, or what it is taken apart "
    "into, is not known to functorch-core"
)
IN_TRANSFORM = "aten::{name}: operators are not dispatched to __torch_dispatch__ inside of transforms of torch.func"

# Filled by `decompositions`: torch's functions and methods whose calls are not one operator of their name, members of
# Tensor that are no ops, functions of torch.nn.functional, and operators that PyTorch takes apart.
FUNCTIONS: dict[str, Callable] = {}
TORCH: set[Callable] = set()  # those of FUNCTIONS that are no ops
METHODS: dict[str, Callable] = {}
FUNCTIONAL: dict[str, Callable] = {}
COMPOSITES: dict[str, Callable] = {}


# ---- from a torch function to operators ----------------------------------------------------------


def call_function(func, args: tuple, kwargs: dict):
    """A call of a torch function, taken apart into operators."""
    name = getattr(func, "__name__", "")
    op = op_of(func, name)
    if op is None:
        is_method = func is getattr(Tensor, name, None)
        found = METHODS if is_method else FUNCTIONAL if func is getattr(named("nn.functional"), name, None) else {}
        plain = FUNCTIONS.get(name) if name[:3] == "__r" or func in TORCH else None
        return (found.get(name) or plain or undispatched(func, args, kwargs))(*args, **kwargs)
    if active.autocast is not None and op.traits.autocast and kwargs.get("out") is None:
        given = active.autocast.cast(op, [*args, *kwargs.values()])
        args, kwargs = tuple(given[: len(args)]), dict(zip(kwargs, given[len(args) :]))
    name = name if overloads_of(name) or name in FUNCTIONS else name.lstrip("_") if name[:2] != "__" else name
    if name in FUNCTIONS:
        return FUNCTIONS[name](*args, **kwargs)
    if name in FUNCTIONAL and not overloads_of(name):
        return FUNCTIONAL[name](*args, **kwargs)
    wanting = kwargs.get("requires_grad")
    chosen = choose(name, args, {k: x for k, x in kwargs.items() if k != "requires_grad"})
    if chosen is not None and not (isinstance(op, TorchOp) and _has_no_parts(chosen[0])):
        made = named_tuple(op, call(*_with_options(*chosen)))
        return made.requires_grad_() if wanting else made
    if isinstance(op, Composite) and not name.endswith("_") and all([s.composite for s in overloads_of(name)]):
        return in_its_parts(op, args, kwargs)
    raise NotImplementedError(UNKNOWN.format(name=name))


def _with_options(schema: Overload, args: tuple, kwargs: dict) -> tuple:
    """A call as PyTorch's Python functions make it: those that make tensors say where and how."""
    if "pin_memory" not in schema.by_name:
        return schema, args, kwargs
    kwargs = {"pin_memory": False, **kwargs}
    if schema.arguments[0].name != "self":
        kwargs.setdefault("device", torch.get_default_device())
    return schema, args, {a.name: kwargs[a.name] for a in schema.arguments if a.name in kwargs}


def op_of(func, name: str):
    """The declared op that a function, or a method of Tensor, is a form of; None if of none."""
    if isinstance(func, (TorchOp, Composite)):
        return func
    if func is getattr(Tensor, name, None) and name not in overrides.dispatcher.exchanged:
        return registry.get(name) or registry.get(name.removesuffix("_"))
    found = registry.get(name)
    return found if found is not None and getattr(found, "fun", None) is func else None


def named_tuple(op, made):
    """Several results as the op returns them."""
    cls = op.forms.get("returns")
    return cls(*made) if isinstance(made, (tuple, list)) and hasattr(cls, "_fields") else made


def undispatched(func, args: tuple, kwargs: dict) -> Callable:
    """What a function that is no operator does, with what it calls dispatched."""
    inner = inspect.unwrap(func)
    if inner is not func or isinstance(getattr(func, "__self__", None), property):
        return inner
    if tensors_of(args, kwargs):
        raise NotImplementedError(UNKNOWN.format(name=getattr(func, "__name__", func)))
    return _quietly(func)


def _quietly(func) -> Callable:
    """A function of no tensors, such as torch._C._set_grad_enabled."""

    def call(*args, **kwargs):
        with computing():
            return func(*args, **kwargs)

    return call


# ---- one operator --------------------------------------------------------------------------------


def call_overload(overload: ops.OpOverload, args: tuple, kwargs: dict):
    """torch.ops.aten.NAME.OVERLOAD(*args, **kwargs)."""
    schema = schema_of(overload._opname, overload._overloadname) if overload.namespace == "aten" else None
    if schema is None:
        return ask(overload, args, kwargs)
    return call(schema, *schema.bind(args, kwargs))


def call(schema: Overload, args: tuple, kwargs: dict):
    """An operator with its arguments in the schema's form: autograd first, then who is asked."""
    name = schema.name.removeprefix("aten::")
    taken_apart = COMPOSITES.get(name) or COMPOSITES.get(schema.qualified)
    if taken_apart is not None:
        return taken_apart(*args, **kwargs)
    if schema.composite:
        return in_parts(schema, name, args, kwargs)
    overload = getattr(getattr(ops.aten, name), schema.overload)
    if grad_state.transforms and any([x._level is not None for x in tensors_of(args, kwargs)]):
        raise NotImplementedError(IN_TRANSFORM.format(name=name))
    return with_history(overload, schema, args, kwargs)


def _has_no_parts(schema: Overload) -> bool:
    """Whether an operator that PyTorch takes apart is, for an op here, a part of that op's own function."""
    name = schema.name.removeprefix("aten::")
    return schema.composite and not (name in COMPOSITES or schema.qualified in COMPOSITES)


def in_parts(schema: Overload, name: str, args: tuple, kwargs: dict):
    """An operator that PyTorch takes apart, by the ops that this library makes it of."""
    op = registry.get(name)
    if not isinstance(op, Composite):
        raise NotImplementedError(UNKNOWN.format(name=name))
    return in_its_parts(op, args, kwargs)


def in_its_parts(op: Composite, args: tuple, kwargs: dict):
    """A function by the ops it is made of; NotImplementedError if it makes a tensor without any."""
    before = state.asked
    made = op.fun(*args, **kwargs)
    if state.asked == before and state.modes and isinstance(made, Tensor) and all([made is not x for x in args]):
        raise NotImplementedError(UNKNOWN.format(name=op.name))
    return made


def functionalize(remove: str):
    """torch.func.functionalize was called: modes that can leave writes out do."""
    for mode in state.modes:
        if hasattr(mode, "functional"):
            mode.functional = remove


class _Room:
    """What `overrides.dispatcher` knows of this room."""

    functionalize = staticmethod(functionalize)
    applies, call, call_overload = staticmethod(applies), staticmethod(call_function), staticmethod(call_overload)


def activate():
    """From now on calls come here."""
    overrides.dispatcher.below = _Room
    overrides.activate()
