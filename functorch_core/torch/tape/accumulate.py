"""Where gradients end, and how they are added up."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Sequence

from ...core.trace import trace_closed
from ...engine import Unit, Value, guarded, pending, record, undo_later, unit_of_primitive
from ...engine.signatures import bounded, itself
from ...engine.written_out import record_pair, record_pair_at
from ...primitives import add
from ..tensors.active import active
from ..tensors.base import Tensor, new_tensor
from .node import Node

_units: dict = bounded({}, itself)  # aval -> the unit that adds two values of it


def _sum_unit(a) -> Unit:
    unit = _units.get(a)
    if unit is None:
        unit = _units[a] = unit_of_primitive(add.primitive, {}, (a, a))
    return unit


def add_values(a, b):
    """The sum of two values of one aval, recorded."""
    return record_pair(_sum_unit(a.aval), a, b)


def add_values_at(a, b, code, place: int):
    """The same, called at a place of the user's code."""
    return record_pair_at(_sum_unit(a.aval), a, b, code, place)


def value_of(grad) -> Value:
    """The value of a gradient, which may be one."""
    return grad if grad.__class__ is Value else grad._value if grad._view is None else grad._read()


def tensor_of(grad):
    """The gradient, which may be a value, as a tensor."""
    return new_tensor(grad) if grad.__class__ is Value else grad


def total(a, b, create_graph: bool):
    """The sum of two gradients, which may be values: on the tape if it is on."""
    a, b = tensor_of(a), tensor_of(b)
    if create_graph or a._level is not None or b._level is not None:
        return b + a if a.is_sparse else a + b  # sparse + dense does not exist
    if active.overrides is not None:
        if active.overrides.dispatches(a, b):
            return a + b
        if active.observer is not None:
            active.observer.accumulates(a, b)
    x, y = value_of(a), value_of(b)
    if x.aval is not y.aval:
        return a + b
    tensor = _new(Tensor)
    tensor._value, tensor._ge, tensor._view = add_values(x, y), None, None
    return tensor


_new = object.__new__


class Terms(list):
    """Gradients of a leaf that is used many times, as those of a loop over time: a few at a time are added up by one
    recorded call, in the order in which they came (a step of a neural ODE, beside a busy process, 20 ms to 18)."""

    __slots__ = ()


MOST_TERMS = 8
SMALL = 1 << 18  # bytes; until they are added up all are kept
_sums: dict = bounded({}, itself)  # aval, number -> the unit that adds up so many values of it


def with_term(old, grad):
    """The gradients of a leaf and a further one, none of which is to be differentiated."""
    if old.__class__ is Terms:
        old.append(grad)
        return Terms([sum_of(old)]) if len(old) == MOST_TERMS else old
    if old.__class__ is not Value and old._level is not None or value_of(old).aval.nbytes > SMALL:
        return total(old, grad, False)
    return Terms([old, grad])


def sum_of(terms: Terms) -> Tensor:
    """Their sum."""
    n, values = len(terms), []
    if n > 2 and all([t.__class__ is Value or t._level is None for t in terms]):
        values = list(map(value_of, terms))
    if not values or any([v.aval is not values[0].aval for v in values]):
        return functools.reduce(lambda x, y: total(x, y, False), terms)
    a = values[0].aval
    unit = _sums.get((a, n))
    if unit is None:
        graph = trace_closed(lambda *xs: [functools.reduce(add, xs)], [a] * n, "add")
        unit = _sums[a, n] = Unit(graph, "add", False)
    return new_tensor(record(unit, values))


FIRST = 2**64 - 1  # the number of a sink, which PyTorch shows


class AccumulateGrad(Node):
    """The sink of a leaf: adds what arrives to its `.grad`, before any other node that is ready. A pass that fails
    leaves the gradients that were complete.

    The leaf is referenced weakly: leaf -> node -> leaf would be a cycle, which keeps the memory of
    dropped leaves until the garbage collector runs. Hooks that are called with the leaf `hold` it.
    """

    __slots__ = ("created", "held", "leaf", "post_hooks")
    __module__ = "torch.autograd"

    def __init__(self, variable):
        super().__init__(())
        self.created, self.sequence = self.sequence, FIRST
        self.leaf, self.post_hooks = weakref.ref(variable), None

    def hold(self) -> dict:
        """The hooks to be called once the leaf has its gradient, for one more; from now on the graph keeps the leaf."""
        self.held = self.leaf()
        self.post_hooks = {} if self.post_hooks is None else self.post_hooks
        return self.post_hooks

    def name(self) -> str:
        """PyTorch's name of the node."""
        return "torch::autograd::AccumulateGrad"

    def output_aval(self, index: int):
        """The leaf's aval."""
        leaf = self.leaf()
        return None if leaf is None else leaf._aval

    @property
    def variable(self):
        """The leaf; None if it is gone."""
        return self.leaf()

    def apply(self, grads: Sequence, create_graph: bool) -> tuple:
        """Accumulate into the leaf's `.grad`, unless it has been frozen since the forward pass."""
        leaf, grad = self.leaf(), grads[0]
        if grad is not None and leaf is not None:
            edge = leaf._ge
            if edge is not None:
                if edge[0] is not self and not isinstance(edge[0], AccumulateGrad):
                    raise RuntimeError(NO_LEAF_ANY_MORE)
                accumulate_into(leaf, grad, create_graph)
            if self.post_hooks:
                for hook in list(self.post_hooks.values()):
                    if hook(leaf) is not None:
                        raise RuntimeError("Tensor post accumulate grad hooks should return None.")
        return ()


def is_of_leaf(edge: tuple | None) -> bool:
    """Whether an edge is what a leaf has: none, or one to its sink."""
    return edge is None or isinstance(edge[0], AccumulateGrad)


NO_LEAF_ANY_MORE = "leaf variable has been moved into the graph interior"


def freeze(leaf):
    """Let a leaf require no gradient. It keeps its sink, to which graphs lead and hooks belong, for `unfreeze`."""
    if leaf._ge is not None:
        leaf._sink, leaf._ge = leaf._ge, None


def unfreeze(leaf):
    """Let a tensor without history be a leaf: the one that it was, if it has been frozen."""
    sink = leaf._sink
    leaf._ge = (AccumulateGrad(leaf), 0) if sink is None or sink[0].leaf() is not leaf else sink
    if sink is not None:
        leaf._sink = None


SWAPPED = (
    "Trying to execute AccumulateGrad node that was poisoned by swap_tensors this can happen when you try to run "
    "backward on a tensor that was swapped. For a module m with "
    "`torch.__future__.set_swap_module_params_on_conversion(True)` you should not change the device or dtype of the "
    "module (e.g. `m.cpu()` or `m.half()`) between running forward and backward. To resolve this, please only change "
    "the device/dtype before running forward (or after both forward and backward)."
)


def new_sink(leaf):
    """A node of its own for a tensor that has become a leaf by a swap; graphs that use the old one raise."""
    old = leaf._ge and leaf._ge[0]
    if type(old) is AccumulateGrad:
        new = AccumulateGrad(leaf)
        new.extras, new.post_hooks = old.extras, old.post_hooks
        if new.post_hooks:
            new.held, old.held = leaf, None
        old.leaf, leaf._ge = _swapped, (new, 0)


def _swapped():
    raise RuntimeError(SWAPPED)


class Unfollowed(AccumulateGrad):
    """The sink of a view that was made where the tape is off of a tensor that is on it: PyTorch says that it
    requires a gradient, and gives it none."""

    __slots__ = ()
    followed = False

    def __init__(self):
        Node.__init__(self, ())
        self.created, self.leaf, self.post_hooks = self.sequence, _no_leaf, None


def _no_leaf():
    """What a weak reference to nothing gives."""


UNFOLLOWED = (Unfollowed(), 0)


class Lost(Unfollowed):
    """The sink of a view whose memory has been written to since in ways that autograd could not follow: to use it on
    the tape is an error, `lost`."""

    __slots__ = ("lost",)

    def __init__(self, lost: str):
        super().__init__()
        self.lost = lost

    def check_followed(self):
        """RuntimeError."""
        raise RuntimeError(self.lost)


def accumulate_into(leaf, grad, create_graph: bool):
    """leaf.grad += grad: in place if nobody differentiates it, a new tensor otherwise."""
    if active.overrides is not None and active.overrides.dispatches(grad, leaf):
        leaf._grad = grad.detach() if leaf._grad is None else leaf._grad + grad
        return
    old = leaf._grad
    if grad.dtype is not leaf.dtype:
        grad = grad.to(leaf.dtype)
    if old is None:
        leaf._grad = grad = own_copy(grad, create_graph)
        if pending:
            undo_later(_forget_gradient, weakref.ref(leaf))
        if leaf._view is not None and leaf._view.is_permuted() and not create_graph:
            active.like_parameter(grad, leaf)
    elif create_graph:
        leaf._grad = grad + old if old.is_sparse and not grad.is_sparse else old + grad
    elif old._view is None and old._level is None and grad._level is None and old._value.aval is grad._value.aval:
        value = add_values(old._value, grad._read())
        old._value = guarded(value, old._value) if pending else value
        old._own_version += 1
    elif old.is_sparse:  # with a dense one a new tensor, which is dense
        leaf._grad = old.become(old + grad) if grad.is_sparse else grad + old
    else:
        leaf._grad = old.add_(grad)


def _forget_gradient(leaf: weakref.ref):
    """Let a leaf have no gradient any more, unless it is one whose numbers are known to be right."""
    leaf = leaf()
    if leaf is not None and leaf._grad is not None:
        if leaf._grad.is_sparse or leaf._grad._value.recording is not None:
            leaf._grad = None


def own_copy(grad, create_graph: bool):
    """A tensor of its own for `.grad`: the user may hold the one that came."""
    if grad._level is not None or grad._device is not None:
        return grad if create_graph or not grad.is_sparse else grad.own()
    return new_tensor(grad._kept(), grad._ge if create_graph else None)


class FuncInput(AccumulateGrad):
    """The history of an input of torch.func.grad: a leaf to the function, an alias of `outer`.

    It is `open` while the function is being computed.
    """

    __slots__ = ("open",)

    def __init__(self, outer):
        Node.__init__(self, (outer,))
        self.created, self.leaf, self.post_hooks, self.open = self.sequence, _no_leaf, None, True

    def apply(self, grads: Sequence, create_graph: bool) -> tuple:
        """The gradient goes on to where the input came from."""
        return (grads[0],)
