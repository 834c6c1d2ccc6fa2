"""Tensors in the functional face: `fc.grad`, `fc.jit`, `fc.scan`, ... of functions of tensors.

To the functional face a tensor is a box around an array, as a list is a container: transforms take the
arrays out, and their results come back in tensors where the function gave tensors. Inside of a trace a
tensor holds a traced value; the recorder, to which all ops lead, writes calls with such operands into the
trace (`engine.recorder`). So no op knows of it.

A traced function is pure: what it has not been given it does not write to, and it draws no numbers that the
next call would see again. Tensors have no history there: `fc.grad` is what differentiates.
"""

from __future__ import annotations

import threading
from functools import partial

from ...array.array import Array, as_value, wrap
from ...array.jit import Followed, is_stale
from ...array.tracing import ShapeDtype
from ...core import tree
from ...core.aval import aval
from ...core.outside import surroundings
from ...core.trace import Traced, settle, trace
from ...core.trace import state as trace_state
from ...engine import Value, absent
from ...ops.op import strong
from ...xla import Buffer
from ..dispatch.parameter import Parameter
from ..dispatch.slots import logical_aval
from ..levels.captured import note_captured
from ..levels.levels import enter
from ..tape.apply import GraphOp, apply
from ..tape.modes import state
from ..tensors.base import Tensor, new_tensor
from ..views.cells import is_on_tape

ON_TAPE = """a tensor of shape {shape} that a tape or a torch.func transform follows came to a transform of
    functorch_core. What that computes has no history, and the derivative would be lost. Let the outer one be fc's, too,
    or put fc.jit around the inner one: a jitted function is followed as an op is. x.detach() is followed by nobody."""
LOST = """`{name}` writes in place to an argument, a tensor of shape {shape}, and does not return it. What a traced
    function writes to is its own: the caller's tensor stays as it is, and the new numbers would be lost.
    wrong: x.mul_(2); return loss      right: x = x * 2 (or x.clone().mul_(2)), or return loss, x
    Buffers of a module (running statistics): return the module, faces.update(module, returned) keeps them."""


CLOSED_OVER = """jit of `{name}`: on a tape or in a transform of torch.func it
    closes over a tensor that requires a gradient, which would not get one. Pass it as an argument:
    fc.jit(lambda weight, x: ...)(net.weight * 1, x); or freeze it: net.requires_grad_(False)."""


class _Arguments(threading.local):
    """Of the function that is being traced: the tensors it was given, and what has been taken out of tensors."""

    given: list | None = None
    taken: set | None = None


_arguments = _Arguments()


class _Surroundings:
    """A function is traced: the tape is off, and what is not its own must not be written to."""

    __slots__ = ("level", "taping", "arguments")

    def __enter__(self):
        self.level, taken = enter("grad", guards=True), set()
        self.taping, self.arguments = state.enabled, (_arguments.given, _arguments.taken)
        trace_state.builder.depth = self.level.__enter__().depth  # an interrupt comes before it, or in the context
        state.enabled, _arguments.given, _arguments.taken = False, [], taken

    def __exit__(self, kind, *exc):
        given, taken = _arguments.given, _arguments.taken
        _arguments.given, _arguments.taken = self.arguments
        state.enabled = self.taping
        self.level.__exit__(kind, *exc)
        if kind is None:
            for tensor, version in given:
                if tensor._version != version and _memory(tensor) not in taken:
                    raise RuntimeError(LOST.format(name=trace_state.builder.name, shape=tuple(tensor.shape)))


def _memory(tensor: Tensor) -> int:
    return id(tensor if tensor._view is None else tensor._view.cell)


def array_in(tensor: Tensor) -> Array:
    """The array that a tensor holds, without a copy."""
    if tensor._level is not None or state.enabled and is_on_tape(tensor) and _is_followed(tensor):
        raise OnTape(ON_TAPE.format(shape=tuple(tensor.shape)))
    if _arguments.taken is not None:
        _arguments.taken.add(_memory(tensor))
        note_captured((tensor,))
    value = tensor._value if tensor._view is None else tensor._kept()
    array = wrap(value)
    if value.__class__ is Value and value.recording is None and value.data.__class__ is Buffer:
        array._data = value.data  # where jitted functions look
    return array


def _is_followed(tensor: Tensor) -> bool:
    """Whether a tensor on the tape is more than a leaf that backward() may reach one day."""
    return not tensor.is_leaf or state.transforms > 0


def tensor_around(leaf):
    """A tensor of an array, without a copy; anything else as it is: the tree is no tree of arrays then."""
    if leaf.__class__ is Array:
        tensor = new_tensor(value_of(leaf))
        given = _arguments.given
        if given is not None and _is_input(tensor._value):
            given.append((tensor, tensor._version))
        return tensor
    if leaf.__class__ is ShapeDtype:
        return new_tensor(absent(aval(leaf.shape, leaf.dtype)))
    return leaf


def value_of(array: Array):
    """The value of an array; of a result of a jitted function made of its buffer."""
    if hasattr(array, "_held"):
        return strong(array._held)
    value = array._held = Value()
    value.aval, value.data, value.recording = array.aval, array._data, None
    return value


def _is_input(value) -> bool:
    """Whether a value is an argument of the function that is being traced."""
    builder = trace_state.builder
    return value.__class__ is Traced and value.builder is builder and value.slot < len(builder.inputs)


def own(tensor):
    """The same numbers in a tensor of its own; what a tape follows, and what is no tensor, as it is."""
    if not isinstance(tensor, Tensor) or tensor._level is not None or is_on_tape(tensor):
        return tensor
    made = new_tensor(tensor._kept())
    if _arguments.given is not None:
        _arguments.given.append((made, made._version))
    return made


# ---- jitted functions as steps of a tape ---------------------------------------------------------


class OnTape(Followed):
    """A tensor that a tape or a level of torch.func follows came to the functional face."""

    def through(self, jitted, args: tuple, kwargs: dict):
        """The jitted function's graph applied as an op's is: on the tape, batched, with tangents."""
        leaves, treedef = tree.flatten((args, kwargs), lambda x: isinstance(x, Tensor))
        tensors = [x for x in leaves if isinstance(x, Tensor)]
        avals = tuple(map(logical_aval, tensors))
        others = [x for x in leaves if not isinstance(x, Tensor)]
        key = treedef, avals, tuple([(x.__class__, x) for x in others]) if all(map(_is_static, others)) else None
        found = jitted.followed.get(key) if key[-1] is not None else None
        if found is None or is_stale(found[-1]):
            made: dict = {}
            noted: dict = {}
            body = partial(_flat, jitted, treedef, leaves, made)
            graph, captures = trace(body, avals, jitted.name, noted=noted)
            settle(graph)
            if any(x._ge is not None for x, _ in noted.values()):
                raise TypeError(CLOSED_OVER.format(name=jitted.name)) from None
            found = GraphOp(graph, jitted.name, True), made["tree"], captures, list(noted.values())
            if key[-1] is not None and not captures:
                jitted.followed[key] = found
        op, out_tree, captures, _ = found
        return out_tree.unflatten(apply(op, [*tensors, *map(new_tensor, captures)]))


def _is_static(x) -> bool:
    return x is None or isinstance(x, (bool, int, float, complex, str))


def _flat(jitted, treedef, leaves, made: dict, *values) -> list:
    values = iter(values)
    args, kwargs = treedef.unflatten([new_tensor(next(values)) if isinstance(x, Tensor) else x for x in leaves])
    outs, made["tree"] = tree.flatten(jitted.call(args, kwargs))
    return [strong(as_value(x)) for x in outs]


tree.register_box(Tensor, array_in, tensor_around, subclasses=(Parameter,))
surroundings.enter = _Surroundings
