"""torch.autograd.graph: looking at the tape, and at what it saves."""

from __future__ import annotations

import abc
import contextlib
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...locks import RLock
from ..tensors.base import Tensor, new_tensor
from .node import Handle
from .node import Node as _Node
from .passes import current_pass
from .saved import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks


class Node(abc.ABC):
    """What grad_fn is an instance of.

    >>> y = torch.ones(2, requires_grad=True) * 2
    >>> isinstance(y.grad_fn, torch.autograd.graph.Node), y.grad_fn.name()
    (True, 'MulBackward0')
    """

    @abc.abstractmethod
    def name(self) -> str:
        """The name of the operation."""

    @property
    @abc.abstractmethod
    def next_functions(self) -> tuple:
        """((node, output number), ...) of the inputs."""

    @abc.abstractmethod
    def metadata(self) -> dict:
        """Notes of the user."""

    @abc.abstractmethod
    def register_hook(self, fn: Callable) -> Handle:
        """Call fn(grad_inputs, grad_outputs) after the node."""

    @abc.abstractmethod
    def register_prehook(self, fn: Callable) -> Handle:
        """Call fn(grad_outputs) before the node."""


Node.register(_Node)


class GradientEdge(NamedTuple):
    """A place of the tape: an output of a node; an input of autograd.grad and backward.

    >>> y = torch.ones(2, requires_grad=True) * 2
    >>> torch.autograd.graph.GradientEdge(y.grad_fn, 0).output_nr
    0
    """

    node: _Node
    output_nr: int
    ownership_token: object = None


def get_gradient_edge(tensor) -> GradientEdge:
    """The edge of a tensor; RuntimeError if it does not require grad.

    >>> x = torch.tensor(3., requires_grad=True)
    >>> torch.autograd.grad(x * 2, torch.autograd.graph.get_gradient_edge(x))
    (tensor(2.),)
    """
    edge = tensor._edge()
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*edge)


def increment_version(tensors):
    """Note a write to tensors (or one) that the library did not see.

    >>> x = torch.ones(2)
    >>> torch.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    for x in (tensors,) if isinstance(tensors, Tensor) else tensors:
        if x._view is None:
            x._own_version += 1
        else:
            x._read()
            x._view.cell.version += 1
            x._view.seen = x._view.cell.version


# ---- hooks on several tensors --------------------------------------------------------------------


class _MultiHandle:
    """Takes several hooks away."""

    def __init__(self, handles: Sequence[Handle]):
        self.handles = tuple(handles)

    def remove(self):
        """Take the hooks away."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def register_multi_grad_hook(tensors: Sequence, fn: Callable, *, mode: str = "all"):
    """Call fn(grads) when the gradients of all tensors are known (None for those that get none),
    or, with mode 'any', fn(grad) for the first. Returns a handle.

    >>> a, b = torch.tensor(1., requires_grad=True), torch.tensor(2., requires_grad=True)
    >>> handle = torch.autograd.graph.register_multi_grad_hook([a, b], lambda grads: print(grads))
    >>> (a * b).backward()
    [tensor(2.), tensor(1.)]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    hook = _AllHook(tensors, fn) if mode == "all" else _AnyHook(fn)
    return _MultiHandle([t.register_hook(hook.of(i)) for i, t in enumerate(tensors)])


class _AllHook:
    """Collects the gradients of one pass."""

    def __init__(self, tensors: Sequence, fn: Callable):
        self.edges = [t._edge() for t in tensors]
        self.fn, self.lock, self.passes = fn, RLock(), {}

    def of(self, i: int):
        """The hook of tensor i."""

        def hook(grad):
            running = current_pass()
            with self.lock:
                found = self.passes.setdefault(running, {})
                found[i] = grad
                expected = sum(running.will_visit(node) for node, _ in self.edges)
                done = len(found) == expected
                if done:
                    del self.passes[running]
            if done:
                self.fn([found.get(k) for k in range(len(self.edges))])

        return hook


class _AnyHook:
    """Calls once a pass."""

    def __init__(self, fn: Callable):
        self.fn, self.lock, self.passes = fn, RLock(), weakref.WeakSet()

    def of(self, i: int):
        """The hook of tensor i."""

        def hook(grad):
            running = current_pass()
            with self.lock:  # passes of several threads may be under way
                first = running not in self.passes
                self.passes.add(running)
            if first:
                self.fn(grad)

        return hook


# ---- saved tensors that change -------------------------------------------------------------------


MUTATIONS_NESTED = "allow_mutation_on_saved_tensors contexts cannot be nested"
MUTATIONS_OVER = (
    "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
    "in which the graph was originally recorded."
)


class _Kept:
    """A saved tensor as it was: its value never changes, whatever is written to the tensor."""

    __slots__ = ("original", "version", "value", "__weakref__")

    def __init__(self, tensor, version: int | None):
        self.original, self.version = weakref.ref(tensor), version
        self.value = new_tensor(tensor._kept()) if tensor._level is None else tensor

    def is_of(self, tensor) -> bool:
        """Whether it is this tensor that was saved."""
        return self.original() is tensor

    def is_overwritten(self) -> bool:
        """Whether the tensor has been written to since."""
        tensor = self.original()
        return tensor is not None and self.version is not None and tensor._version != self.version


class _AllowMutation:
    """What allow_mutation_on_saved_tensors yields: which tensors are saved, and of which of them only that is left."""

    def __init__(self):
        self.tid_to_weakhandle = weakref.WeakValueDictionary()  # by tensor and version: one saved twice is kept once

    @property
    def cloned(self) -> dict:
        """What is saved of tensors that have been written to since."""
        return {kept: kept.value for kept in list(self.tid_to_weakhandle.values()) if kept.is_overwritten()}

    def keep(self, tensor) -> _Kept:
        """The pack hook."""
        version = None if tensor._is_inference else tensor._version
        kept = self.tid_to_weakhandle.get((id(tensor), version))
        if kept is None or not kept.is_of(tensor):
            kept = self.tid_to_weakhandle[id(tensor), version] = _Kept(tensor, version)
        return kept

    def give(self, kept: _Kept):
        """The unpack hook; AssertionError once the context is over."""
        if mutation.allowed is not self:
            raise AssertionError(MUTATIONS_OVER)
        return kept.value

    def clear(self):
        """Forget what is saved."""
        self.tid_to_weakhandle.clear()


class _Mutation(threading.local):
    allowed: _AllowMutation | None = None  # the context that is entered


mutation = _Mutation()


@contextlib.contextmanager
def allow_mutation_on_saved_tensors():
    """Context: tensors saved for backward may be written to, and the backward pass, inside of it, goes by what they
    were. Values never change here, so that nothing is copied.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     z = (y * y).sum()
    ...     _ = y.zero_()
    ...     z.backward()
    >>> x.grad
    tensor([2., 2.])
    """
    if mutation.allowed is not None:
        raise RuntimeError(MUTATIONS_NESTED)
    context = _AllowMutation()
    with saved_tensors_hooks(context.keep, context.give):
        mutation.allowed = context
        try:
            yield context
        finally:
            mutation.allowed = None
            context.clear()


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool):
    """Accepted for compatibility: there are no streams.

    >>> torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
    """


__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
    "set_warn_on_accumulate_grad_stream_mismatch",
]
