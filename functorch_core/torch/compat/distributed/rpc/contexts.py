"""What a worker knows of backward passes over several workers: contexts, and the tensors that went in and out in each.

A call, or a result, that carries tensors with history is a message of a context: its sender keeps the tensors, its
receiver the leaves that it made of them. torch.distributed.autograd goes backwards over the messages.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .....engine.value import from_numpy
from .....locks import RLock
from ....tape.modes import state as grad_state
from ....tensors.base import Tensor, new_tensor

UNKNOWN = "Could not find autograd context with id: {id}"
Tag = tuple[int, tuple[int, int]]  # (the context, the message: who sent it, its number)
_numbers = itertools.count()  # of messages and contexts, unique in a worker


class Context:
    """What one worker keeps of a context."""

    def __init__(self, id: int):
        self.id, self.lock = id, RLock()
        self.sent: dict[tuple[int, int], list[Tensor]] = {}
        self.received: dict[tuple[int, int], tuple[int, list[Tensor]]] = {}  # who it came from, the leaves
        self.grads: dict[int, tuple[Tensor, Tensor]] = {}  # id of a leaf -> the leaf, its gradient

    def add(self, leaf: Tensor, grad: Tensor):
        """Add to the gradient of a leaf."""
        with self.lock:
            found = self.grads.get(id(leaf))
            self.grads[id(leaf)] = leaf, grad if found is None else found[1] + grad


class _Local(threading.local):
    context: Context | None = None  # the one that this thread works for


_contexts: dict[int, Context] = {}
_lock, local = RLock(), _Local()


def new_id(worker: int) -> int:
    """An id that no other context, or message, has."""
    return (worker << 48) | next(_numbers)


def known(id: int) -> Context:
    """The context of an id; RuntimeError where it is not known."""
    found = _contexts.get(id)
    if found is None:
        raise RuntimeError(UNKNOWN.format(id=id))
    return found


def made(id: int) -> Context:
    """The context of an id, which may be new to this worker."""
    with _lock:
        return _contexts.setdefault(id, Context(id))


def forget(id: int):
    """Keep nothing of a context."""
    _contexts.pop(id, None)


@contextlib.contextmanager
def working_for(context: Context | None) -> Iterator[None]:
    """Inside of it what this thread sends belongs to a context."""
    before, local.context = local.context, context
    try:
        yield
    finally:
        local.context = before


class Outgoing:
    """Collects the tensors with history of what is pickled; without a context there are none."""

    def __init__(self, worker: int):
        context = local.context if grad_state.enabled else None
        self.context, self.tensors, self.id = context, [], (worker, 0)

    def takes(self, tensor: Tensor) -> bool:
        """Whether a tensor's history is kept."""
        return self.context is not None and tensor.requires_grad

    def reduce(self, tensor: Tensor, array: np.ndarray) -> tuple[Callable, tuple]:
        """How such a tensor is pickled."""
        self.tensors.append(tensor)
        return _leaf, (array, len(self.tensors) - 1)

    def tag(self) -> tuple[int, tuple[int, int] | None] | None:
        """What the receiver is told: the context and, if there are such tensors, the message."""
        if self.context is None:
            return None
        if not self.tensors:
            return self.context.id, None
        self.id = self.id[0], next(_numbers)
        self.context.sent[self.id] = self.tensors
        return self.context.id, self.id


class Incoming:
    """Makes leaves of the tensors with history of what is read."""

    def __init__(self, tag: Any, source: int):
        self.context = None if tag is None else made(tag[0])
        self.id, self.source = None if tag is None else tag[1], source
        self.leaves: dict[int, Tensor] = {}

    def leaf(self, array: np.ndarray, i: int) -> Tensor:
        """Number i of the message."""
        self.leaves[i] = found = new_tensor(from_numpy(array)).requires_grad_()
        return found

    def done(self):
        """All is read."""
        if self.id is not None and self.leaves:
            self.context.received[self.id] = self.source, [self.leaves[i] for i in range(len(self.leaves))]


class _Reading(threading.local):
    message: Incoming | None = None


reading = _Reading()


def _leaf(array: np.ndarray, i: int) -> Tensor:
    assert reading.message is not None
    return reading.message.leaf(array, i)
