"""autograd.Function inside of traced functions of the functional face: forward and backward as `fc.custom_vjp`."""

from __future__ import annotations

from collections.abc import Sequence

from ...array.custom import custom_vjp
from ...core.trace import Traced
from ..tensors.base import Tensor
from .function import Function, FunctionCtx

DIRTY = (
    "{name}: mark_dirty() is not possible in a function that functorch_core traces: what is written there is the "
    "function's own. Return a new tensor."
)


def is_traced(args: Sequence) -> bool:
    """Whether a tensor among the arguments is traced."""
    return any([isinstance(x, Tensor) and x._value.__class__ is Traced for x in args])


class _Context(FunctionCtx):
    """The `ctx` of a call."""

    materialize_grads, to_save, saved_tensors = True, (), ()


def apply_in_trace(cls: type[Function], args: Sequence):
    """cls.apply(*args): fc.grad will call its backward."""
    places = [i for i, x in enumerate(args) if isinstance(x, Tensor)]
    made: dict = {}

    def forward(*tensors):
        ctx, given = _Context(), list(args)
        for i, x in zip(places, tensors):
            given[i] = x
        ctx.needs_input_grad = tuple([i in places for i in range(len(args))])
        if cls.setup_context is not Function.setup_context:
            out = cls.forward(*given)
            cls.setup_context(ctx, tuple(given), out)
        else:
            out = cls.forward(ctx, *given)
        if getattr(ctx, "dirty_tensors", ()):
            raise NotImplementedError(DIRTY.format(name=cls.__name__))
        made["ctx"] = ctx
        return out

    def forward_and_saved(*tensors):
        out = forward(*tensors)
        return out, tuple(made["ctx"].to_save or ())

    def backward(saved, cotangent):
        ctx = made["ctx"]
        ctx.saved_tensors = saved
        call = cls.vjp if cls.vjp is not Function.vjp else cls.backward
        found = call(ctx, *(cotangent if isinstance(cotangent, (tuple, list)) else (cotangent,)))
        found = found if isinstance(found, tuple) else (found,)
        return tuple([found[i] for i in places])

    forward.__name__ = forward_and_saved.__name__ = backward.__name__ = cls.__name__
    function = custom_vjp(forward)
    function.defvjp(forward_and_saved, backward)
    return function(*[args[i] for i in places])
