"""torch.autograd.Function: operations whose backward (jvp, vmap) the user writes.

A call makes a node, which is the `ctx` of the user's methods. Inside func transforms and forward
mode the call goes level by level: see `function_levels`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...annotations import lenient_signature
from ...core import dtypes as dt
from ...core.aval import aval
from ...core.trace import open_traces
from ...core.warn import warn
from .. import _missing
from ..tape.anomaly_mode import remember
from ..tape.apply import FREED, modified
from ..tape.modes import grad_mode, state
from ..tape.node import Node, Packed
from ..tape.saved import SavedTensor, pack
from ..tensors.base import from_array, new_tensor
from ..views.cells import assign
from ..views.refusals import IN_NO_GRAD, OF_SEVERAL
from .levels import Taped, peel, wrap

NO_BACKWARD = (
    "You must implement either the backward or vjp method for your custom "
    "autograd.Function to use it with backward mode AD."
)
BOTH = (
    "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should "
    "only implement one of them."
)
LEAF_DIRTY = "a leaf Variable that requires grad has been used in an in-place operation."
TWICE = "trying to differentiate twice a function that was marked with @once_differentiable"
COUNT = "function {name} returned an incorrect number of gradients (expected {n}, got {found})"
NOT_NONE = (
    "function {name} returned a gradient different than None at position {i}, but the "
    "corresponding forward input was not a Variable"
)
BAD_SHAPE = (
    "Function {name} returned an invalid gradient at index {i} - got {found} but expected "
    "shape compatible with {wanted}"
)


IN_FUNCTION = (
    "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic "
    "to handle view+inplace would override the custom backward associated with the custom Function, leading to "
    "incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function."
)
VIEW = f"Output {{i}} of {{name}} is a view and is being modified inplace. {IN_FUNCTION}"
NOT_DIFFERENTIABLE = (
    "Function's jvp returned a gradient at position {i}, but  the corresponding forward output is not a "
    "differentiable Tensor.You should return None at that position instead."
)
TANGENTS = "Function's jvp returned an invalid number of forward gradients (expected {n} but got {found})"
DIRTY_LOST = (
    "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
    "inplace must all be outputs of the Function."
)
DIRTY_VIEW = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more "
    "than one Tensor. This is not supported by the current autograd engine. You should either make sure the input is "
    "not a view (using .clone() for example) or make your Function only return one Tensor (potentially splitting it "
    "into two Functions: one doing the inplace that returns a single Tensor and a second one that does the other "
    "operations). You can ask on the forum https://discuss.pytorch.org/ if you need help to do this change."
)
DIRTY_STRANGER = (
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be "
    "passed to ctx.mark_dirty()."
)
DIRTY_TANGENT = (
    "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying an "
    "input inplace, then the jvp function must modify the corresponding gradient inplace."
)
HOOKS_OF_NONE = "Calling register_hooks on a saved tensor with value None is forbidden"
NO_VIEW = "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
OTHER_VIEW = "A custom Function is returning a view but the jvp is not returning a view of {what} grad input."


__getattr__ = _missing.getter(__name__)


class FunctionCtx:
    """What forward and backward of a Function share.

    >>> class Scale(torch.autograd.Function):
    ...   @staticmethod
    ...   def forward(ctx, x, factor):
    ...     ctx.factor = factor
    ...     return x * factor
    ...   @staticmethod
    ...   def backward(ctx, g):
    ...     return g * ctx.factor, None
    >>> x = torch.ones(2, requires_grad=True)
    >>> Scale.apply(x, 3.).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """

    __module__ = "torch.autograd.function"

    def save_for_backward(self, *tensors):
        """Keep tensors (or None) for backward, as `ctx.saved_tensors`."""
        self.to_save = tensors

    def save_for_forward(self, *tensors):
        """Keep tensors (or None) for jvp, as `ctx.saved_tensors`."""
        for tensor in tensors:
            if tensor is not None and not hasattr(tensor, "_edge"):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you "
                    "should save non-tensors as attributes on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors):
        """Say which inputs forward has modified in place."""
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors):
        """Say which outputs have no gradient."""
        self.non_differentiable = tensors

    def mark_shared_storage(self, *pairs):
        """Deprecated; does nothing."""
        warn(
            "mark_shared_storage is deprecated. Tensors with shared storages are "
            "automatically tracked. Note that calls to `set_()` are not tracked",
            FutureWarning,
        )

    def set_materialize_grads(self, value: bool):
        """Whether missing gradients come as zeros (the default) or as None."""
        self.materialize_grads = value


class BackwardCFunction(Node, FunctionCtx):
    """The node of a Function call, and its ctx.

    >>> from torch.autograd.function import BackwardCFunction
    >>> issubclass(BackwardCFunction, object)
    True
    """

    __module__ = "torch.autograd.function"
    _forward_cls: type
    to_save: Sequence = ()
    saved_for_forward = None
    dirty_tensors: Sequence = ()
    non_differentiable: Sequence = ()
    materialize_grads = True
    _materialize_non_diff_grads = True
    needs_input_grad: tuple = ()
    _saved: list | None = None  # set when forward is done
    _in_jvp = False
    _depth = 0  # of the tape that the node is on
    _inputs: tuple = ()  # per argument: (shape, dtype) of a tensor, else None
    _outputs: tuple = ()  # the avals of the outputs, None for what is no tensor
    _taped: tuple = ()  # which of them have a history

    def __repr__(self):
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"

    # ---- saving

    @property
    def saved_tensors(self) -> tuple:
        """What save_for_backward kept; RuntimeError once it has been freed."""
        if self._in_jvp:
            return tuple(self.saved_for_forward or ())
        if self._saved is None:
            if not self._outputs:
                return tuple(self.to_save or ())
            raise RuntimeError(FREED)
        return tuple([saved if saved is None else saved.unpack() for saved in self._saved])

    @property
    def saved_variables(self) -> tuple:
        """The saved tensors, under their former name."""
        warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple:
        """The saved tensors, for hooks to have."""
        if self._saved is None:
            raise RuntimeError(FREED)
        ways = [(functools.partial(_kept, i), functools.partial(_give, i)) for i in range(len(self._saved))]
        return tuple([SavedTensor(self, get, put) for get, put in ways])

    def keep(self, inputs: Sequence, outputs: Sequence):
        """Turn `to_save` into saved tensors, once the outputs have their history."""
        to_save = self.to_save or ()
        if not isinstance(to_save, tuple):
            raise TypeError("saved tensors must be a tuple")
        for i, x in enumerate(to_save):
            if x is not None and not hasattr(x, "_edge"):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {i} is of type {type(x).__name__}"
                )
        self._saved = [None if x is None else Saved(self, x, inputs, outputs) for x in to_save]
        self.to_save = ()

    def output_aval(self, index: int):
        """The aval of an output."""
        like = self._outputs[index] if index < len(self._outputs) else None
        return like and aval(tuple(like.shape), like.dtype.numpy)

    def release(self):
        """Free the saved tensors."""
        if self._saved:
            self._saved = None

    # ---- backward

    def apply(self, grads: Sequence, create_graph: bool = True) -> tuple:
        """Call the user's backward; one gradient for each tensor input."""
        if self._depth and not create_graph:
            grads = [None if g is None else peel(g, self._depth) for g in grads]
        given = [self._materialized(i, g) for i, g in enumerate(grads)]
        self._recording = create_graph
        found = self._backward_of_user()(self, *given)
        return self._checked(found if isinstance(found, tuple) else (found,))

    def _backward_of_user(self):
        cls = self._forward_cls
        has_backward, has_vjp = cls.backward is not Function.backward, cls.vjp is not Function.vjp
        if has_backward and has_vjp:
            raise RuntimeError(BOTH)
        return cls.vjp if has_vjp else cls.backward

    def apply_jvp(self, *tangents):
        """Call the user's jvp."""
        self._in_jvp = True
        try:
            return self._forward_cls.jvp(self, *tangents)
        finally:
            self._in_jvp = False

    def _materialized(self, i: int, grad):
        if grad is not None or not self.materialize_grads or i >= len(self._outputs):
            return grad
        if not self._materialize_non_diff_grads and not self._taped[i]:
            return None
        return self._outputs[i] and self._outputs[i].zeros()

    def _checked(self, found: tuple) -> tuple:
        """Gradients of the tensor inputs, in their shapes and dtypes."""
        n = len(self._inputs)
        name = self.name()
        if len(found) > n and all(g is None for g in found[n:]):
            found = found[:n]
        if len(found) != n:
            raise RuntimeError(COUNT.format(name=name, n=n, found=len(found)))
        grads = []
        for i, (grad, like) in enumerate(zip(found, self._inputs)):
            if like is None:
                if grad is not None:
                    raise RuntimeError(NOT_NONE.format(name=name, i=i + 1))
                continue
            if grad is not None and not hasattr(grad, "_edge"):
                raise RuntimeError(f"expected Variable or None (got {type(grad).__name__})")
            grads.append(grad if grad is None else like.fitted(grad, name, len(grads)))
        return tuple(grads)


class Like:
    """The shape and dtype a gradient must have."""

    __slots__ = ("shape", "dtype", "device", "make")

    def __init__(self, tensor):
        self.shape, self.dtype = tensor.shape, tensor.dtype
        value = tensor._level
        # Of a batched tensor zeros must be batched alike; elsewhere keep no data alive.
        self.make = None if value is None else tensor.detach()

    def zeros(self):
        """Zeros of this shape."""
        if self.make is not None:
            return self.make * 0
        return from_array(np.zeros(tuple(self.shape), self.dtype.numpy))

    def fitted(self, grad, name: str, i: int):
        """The gradient summed to the shape and cast to the dtype; RuntimeError if it cannot be."""
        if grad.shape != self.shape:
            if not _expands(tuple(self.shape), tuple(grad.shape)):
                raise RuntimeError(BAD_SHAPE.format(name=name, i=i, found=list(grad.shape), wanted=list(self.shape)))
            grad = _sum_to(grad, tuple(self.shape))
        if grad.dtype is not self.dtype:
            if grad.dtype.is_complex and not self.dtype.is_complex:
                grad = grad.real
            grad = grad.to(self.dtype)
        return grad


def _expands(small: tuple, large: tuple) -> bool:
    """Whether a shape broadcasts to a larger one."""
    return len(small) <= len(large) and all(n in (1, m) for n, m in zip(reversed(small), reversed(large)))


def _sum_to(x, shape: tuple):
    lead = x.ndim - len(shape)
    if lead:
        x = x.sum(tuple(range(lead)))
    dims = tuple(i for i, n in enumerate(shape) if n == 1 and x.shape[i] != 1)
    return x.sum(dims, keepdim=True) if dims else x


class Saved:
    """One tensor of save_for_backward.

    An output is kept as its value and its place, not as the tensor: node -> output -> node would
    be a cycle.
    """

    __slots__ = ("node", "kept", "edge", "version")

    def __init__(self, node: BackwardCFunction, tensor, inputs: Sequence, outputs: Sequence):
        self.node, self.version, self.edge, given = node, None, None, tensor
        i = next((i for i, y in enumerate(outputs) if y is tensor), None)
        if i is not None and not any(x is tensor for x in inputs):
            self.edge = i
            if not node._depth:  # else it is what the level wraps, with the tangents and tapes of the levels below
                tensor = tensor.detach()
                if tensor._level is None:
                    tensor = new_tensor(tensor._kept())
        else:
            j = next((j for j, x in enumerate(inputs) if x is tensor), None)
            if j is not None and node._depth:
                self.edge = ("input", j)
            self.version = tensor._version
        self.kept = tensor
        if state.saved_hooks:
            if self.edge is None:
                self.edge = ("own", tensor._edge())
            self.version, self.kept = None, pack(given)

    def unpack(self):
        """The tensor, with its history; RuntimeError if it was written to in between."""
        tensor = self.kept
        if tensor.__class__ is Packed:
            tensor = tensor.unpack()
        if self.version is not None and tensor._version != self.version:
            raise RuntimeError(modified(tensor, self.version))
        edge = self._edge()
        return tensor if edge is None else self._with_edge(tensor, edge)

    def _edge(self):
        node, edge = self.node, self.edge
        if edge is None:
            return None
        if isinstance(edge, int):
            return (node, edge) if node._taped[edge] else None
        if edge[0] == "own":
            return edge[1]
        return node.edges[edge[1]] if edge[1] < len(node.edges) else None

    def _with_edge(self, tensor, edge):
        if self.node._depth:
            if not getattr(self.node, "_recording", True):
                return tensor
            return wrap(Taped(self.node._depth, tensor), edge)
        return new_tensor(tensor._read(), edge)


def _kept(i: int, node: BackwardCFunction):
    """Saved tensor i, without history; None if it has been freed."""
    if node._saved is not None and node._saved[i] is None:
        raise RuntimeError(HOOKS_OF_NONE)
    kept = None if node._saved is None else node._saved[i].kept
    return kept.detach() if hasattr(kept, "_edge") else kept


def _give(i: int, node: BackwardCFunction, packed: Packed):
    """Let hooks have saved tensor i."""
    saved = node._saved[i]
    if saved.edge is None:
        saved.edge = ("own", saved.kept._edge())
    saved.version, saved.kept = None, packed


class FunctionMeta(type):
    """Gives every Function its class of nodes.

    >>> isinstance(torch.autograd.Function, torch.autograd.function.FunctionMeta)
    True
    """

    def __init__(cls, name, bases, attrs):
        cls._backward_cls = type(
            f"{name}Backward", (BackwardCFunction,), {"_forward_cls": cls, "__module__": "torch.autograd.function"}
        )
        super().__init__(name, bases, attrs)


class Function(FunctionCtx, metaclass=FunctionMeta):
    """Base of operations with a backward of their own.

    >>> class Exp(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         y = x.exp()
    ...         ctx.save_for_backward(y)
    ...         return y
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         y, = ctx.saved_tensors
    ...         return grad * y
    >>> Exp.apply(torch.zeros(2, requires_grad=True)).sum().backward()
    """

    __module__ = "torch.autograd.function"
    generate_vmap_rule = False

    def __init__(self, *args, **kwargs):
        warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are "
            "all static, so you should invoke them on the class itself. Instantiating an "
            "autograd function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
        )

    def __call__(self, *args, **kwargs):
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. "
            "Please use new-style autograd function with static forward method. "
            "(Example: https://pytorch.org/docs/stable/autograd.html"
            "#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args, **kwargs):
        """The operation: forward(ctx, *args), or forward(*args) with setup_context."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """What to keep for backward, apart from forward."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """The gradients of the inputs."""
        raise NotImplementedError(NO_BACKWARD)

    @staticmethod
    def vjp(ctx, *grad_outputs):
        """Another name for backward."""
        raise NotImplementedError(NO_BACKWARD)

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """The tangents of the outputs."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info, in_dims, *args):
        """The operation on batched inputs: (outputs, out_dims)."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override "
            "the vmap staticmethod or set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args, **kwargs):
        """Call the operation on tensors and other arguments."""
        if cls.setup_context is not Function.setup_context:
            args = _with_defaults(cls.forward, args, kwargs)
        elif kwargs:
            args = _by_position(cls.forward, args, kwargs)
        if state.transforms or any([getattr(x, "_level", None) is not None for x in args]):
            from .function_levels import apply_at_levels, are_in_transforms

            if are_in_transforms(args):
                return apply_at_levels(cls, args)
        if open_traces:
            from .function_traces import apply_in_trace, is_traced

            if is_traced(args):
                return apply_in_trace(cls, args)
        if state.transforms:
            from .function_levels import require_setup

            require_setup(cls)
        return run(cls, args)[0]


def _with_defaults(forward, args, kwargs) -> tuple:
    """All arguments by position, defaults filled in."""
    if not kwargs:
        try:
            signature = lenient_signature(forward)
        except (TypeError, ValueError):
            return args
        if len(args) >= len(signature.parameters):
            return args
        bound = signature.bind(*args)
    else:
        bound = lenient_signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


def _by_position(forward, args: tuple, kwargs: dict) -> tuple:
    """Arguments after `ctx`, those by name in their places: up to the last that is given, without defaults."""
    parameters = list(lenient_signature(forward).parameters.values())[1:]
    names = [q.name for q in parameters if q.kind is q.POSITIONAL_OR_KEYWORD or q.kind is q.POSITIONAL_ONLY]
    for name in kwargs:
        if name not in names:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
        if name in names[: len(args)]:
            raise TypeError(f"forward() got multiple values for argument '{name}'")
    wanted = names[len(args) : 1 + max(map(names.index, kwargs))]
    for i, name in enumerate(wanted, len(args)):
        if name not in kwargs:
            raise TypeError(f"forward() missing required argument: '{name}' (position {i})")
    return (*args, *[kwargs[name] for name in wanted])


# ---- calling forward -----------------------------------------------------------------------------


def run(cls: type, args: Sequence):
    """Forward on plain tensors, its node on the tape: (output, ctx)."""
    ctx = cls._backward_cls(())
    edges = set_inputs(ctx, args, [_edge(x) for x in args])
    with grad_mode(False):
        if cls.setup_context is not Function.setup_context:
            output = cls.forward(*args)
            cls.setup_context(ctx, tuple(args), output)
        else:
            output = cls.forward(ctx, *args)
    recording = state.enabled and any(e is not None for e in edges)
    return finish(ctx, args, output, recording), ctx


def _edge(x):
    return x._edge() if hasattr(x, "_edge") else None


def set_inputs(ctx: BackwardCFunction, args: Sequence, edges: Sequence) -> list:
    """Tell the node about its inputs; the edges of the tensors among them."""
    ctx._inputs = tuple([Like(x) if hasattr(x, "_edge") else None for x in args])
    ctx.needs_input_grad = tuple([e is not None for e in edges])
    ctx.edges = tuple([e for x, e in zip(args, edges) if hasattr(x, "_edge")])
    return edges


def finish(ctx: BackwardCFunction, args: Sequence, output, recording: bool):
    """Give the outputs their history, and the node what it saves."""
    outputs = output if isinstance(output, tuple) else (output,)
    if ctx.dirty_tensors:
        _check_dirty(ctx.dirty_tensors, args, outputs, recording)
    if not recording:
        for x in ctx.dirty_tensors or ():
            _bump(x)
        ctx.to_save = ctx.to_save if ctx.saved_for_forward else ()
        made = tuple([_without_history(ctx, y, args) for y in outputs])
        return made if isinstance(output, tuple) else made[0]
    if state.anomaly:
        remember(ctx)
    ctx.n_outputs = max(len(outputs), 1)
    refused = VIEW if len(outputs) == 1 else OF_SEVERAL
    made = tuple([_with_history(ctx, i, y, args, refused) for i, y in enumerate(outputs)])
    ctx._outputs = tuple([Like(y) if hasattr(y, "_edge") else None for y in made])
    ctx._taped = tuple([x is not None and y._ge is not None and y._ge[0] is ctx for x, y in zip(ctx._outputs, made)])
    swapped = {id(old): new for old, new in zip(outputs, made) if not any(old is x for x in args)}
    ctx.to_save = tuple([swapped.get(id(x), x) for x in ctx.to_save or ()])
    ctx.keep([x for x in args if hasattr(x, "_edge")], made)
    return made if isinstance(output, tuple) else made[0]


def _check_dirty(dirty: Sequence, args: Sequence, outputs: Sequence, recording: bool):
    """RuntimeError for an input that forward has written to and does not return, or returns with others though it is
    a view; a warning for what is no input."""
    if not all(any(x is y for y in outputs) for x in dirty):
        raise RuntimeError(DIRTY_LOST)
    for x in dirty:
        if not any(x is y for y in args):
            if recording:
                warn(DIRTY_STRANGER)
        elif recording and len(outputs) > 1 and x._view is not None and x._view.base is not None:
            raise RuntimeError(DIRTY_VIEW)


def _without_history(ctx, y, args: Sequence):
    """An output of a call that is not recorded: an input that is returned as it is becomes a view."""
    if not hasattr(y, "_edge") or any(y is x for x in ctx.dirty_tensors or ()):
        return y
    if any(y is x for x in args):
        y = _same_memory(y)
    if y._view is not None and y._is_view():
        y._view.note = f"{IN_NO_GRAD.partition('.')[0]}. {IN_FUNCTION}"
    return y


def _same_memory(x):
    """x.view_as(x), without history."""
    with grad_mode(False):
        return x.view_as(x)


def _with_history(ctx, i: int, y, args: Sequence, refused: str):
    if not hasattr(y, "_edge"):
        return y
    if any(y is x for x in ctx.dirty_tensors or ()):
        return _rebased(ctx, i, y)
    if y._read().aval.dtype not in dt.INEXACT or any(y is x for x in ctx.non_differentiable or ()):
        return y if not any(y is x for x in args) else y.detach()
    if any(y is x for x in args):
        y = _same_memory(y)
    y._ge = (ctx, i)
    if y._view is not None and y._is_view():
        y._view.of_function(refused.format(i=i, name=ctx._forward_cls.__name__))
    return y


def _rebased(ctx, i: int, y):
    """An input that forward has written to: its history is now this node, and so is that of what it is a part of."""
    if y._ge is not None and y.is_leaf:
        raise RuntimeError(LEAF_DIRTY)
    if y._view is not None and y._view.base is not None:
        return assign(y, new_tensor(y._kept(), (ctx, i)), checked=True)
    _bump(y)
    y._ge = (ctx, i)
    return y


def _bump(x):
    if x._view is None:
        x._own_version += 1
    else:
        x._view.cell.version += 1
        x._view.seen = x._view.cell.version


# ---- variations ----------------------------------------------------------------------------------


class ErrorNode(Node):
    """A node that raises: the history of what must not be differentiated again."""

    __slots__ = ("message",)

    def __init__(self, message: str, edges):
        super().__init__(edges)
        self.message = message

    def name(self) -> str:
        """Error, as PyTorch calls it."""
        return "Error"

    def apply(self, grads, create_graph: bool):
        """Raise."""
        raise RuntimeError(self.message)


def once_differentiable(fn):
    """Decorator of backward: what it computes cannot be differentiated again.

    >>> class Square(torch.autograd.Function):
    ...   @staticmethod
    ...   def forward(ctx, x):
    ...     ctx.save_for_backward(x)
    ...     return x * x
    ...   @staticmethod
    ...   @torch.autograd.function.once_differentiable
    ...   def backward(ctx, g):
    ...     return 2 * g * ctx.saved_tensors[0]
    >>> x = torch.tensor(3., requires_grad=True)
    >>> torch.autograd.grad(Square.apply(x), x)
    (tensor(6.),)
    """

    @functools.wraps(fn)
    def wrapper(ctx, *args):
        with grad_mode(False):
            outputs = fn(ctx, *args)
        edges = [_edge(x) for x in args]
        if not state.enabled or not any(e is not None for e in edges):
            return outputs
        node = ErrorNode(TWICE, tuple(edges))
        found = outputs if isinstance(outputs, tuple) else (outputs,)
        node.n_outputs = len(found)
        made = tuple([_stopped(node, i, y) for i, y in enumerate(found)])
        return made if isinstance(outputs, tuple) else made[0]

    return wrapper


def _stopped(node: ErrorNode, i: int, y):
    if y is None or y._level is not None:
        return y
    return new_tensor(y._kept(), (node, i))


class InplaceFunction(Function):
    """Kept for old code: a Function with an `inplace` flag.

    >>> issubclass(torch.autograd.function.InplaceFunction, torch.autograd.Function)
    True
    """

    __module__ = "torch.autograd.function"

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """A Function whose inputs and outputs are nested lists and tuples of tensors: implement
    forward_extended(*nested) and backward_extended(*nested grads).

    >>> issubclass(torch.autograd.NestedIOFunction, torch.autograd.Function)
    True
    """

    __module__ = "torch.autograd.function"

    @staticmethod
    def forward(ctx, *args):
        """Not for overriding; see forward_extended."""
        raise NotImplementedError(
            "NestedIOFunction is not implemented; use Function on the "
            "flattened tensors (torch.utils._pytree.tree_flatten)"
        )

    def forward_extended(self, *inputs):
        """The operation."""
        raise NotImplementedError

    def backward_extended(self, *grad_output):
        """The gradients."""
        raise NotImplementedError

    @property
    def saved_tensors(self):
        """What was saved."""
        return ()


def traceable(fn_cls):
    """Mark a Function as traceable; it means nothing here.

    >>> torch.autograd.function.traceable(torch.autograd.Function) is torch.autograd.Function
    True
    """
    fn_cls.is_traceable = True
    return fn_cls


class VmapInfo(NamedTuple):
    """What the vmap staticmethod is told: batch_size and randomness.

    >>> from torch.autograd.function import VmapInfo
    >>> info = VmapInfo(3, "error")
    >>> info.batch_size, info.randomness
    (3, 'error')
    """

    batch_size: int
    randomness: str


__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "NestedIOFunction",
    "VmapInfo",
    "once_differentiable",
    "traceable",
]
