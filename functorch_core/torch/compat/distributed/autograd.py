"""torch.distributed.autograd: backward passes over the calls of torch.distributed.rpc.

Inside of `context()` calls and results carry the history of tensors: what one worker receives are leaves there. The
worker that calls `backward` asks where the roots come from, message by message, and has each worker differentiate what
it had sent once all gradients of it are there. Gradients are kept in the context, not in `.grad`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...tape.backward import grad as _grad
from ...tensors.base import Tensor
from .rpc import contexts as _contexts
from .rpc.contexts import Context as DistAutogradContext  # noqa: F401 (torchopt annotates with it)
from .rpc.rref import context as _rpc

Message = tuple[int, int]
IN_A_CONTEXT = "Already have an autograd context in this thread: contexts of distributed.autograd are not nested"
NO_ROOTS = "No tensors provided for gradient computation."
NO_GRAD = "requires_grad not set on root {i}"
NO_SCALAR = "root {i} is not a scalar, all roots need to be scalar"


def is_available() -> bool:
    """True.

    >>> torch.distributed.autograd.is_available()
    True
    """
    return True


class context:
    """`with context() as id:` calls of other workers in it are differentiated by backward(id, roots).

    >>> import torch.distributed.autograd as dist_autograd
    >>> import torch.distributed.rpc as rpc
    >>> options = rpc.TensorPipeRpcBackendOptions(init_method="tcp://127.0.0.1:0")
    >>> rpc.init_rpc("alone", rank=0, world_size=1, rpc_backend_options=options)
    >>> x = torch.ones(2, requires_grad=True)
    >>> with dist_autograd.context() as id:
    ...   loss = rpc.rpc_sync("alone", torch.mul, args=(x, 3)).sum()
    ...   dist_autograd.backward(id, [loss])
    ...   dist_autograd.get_gradients(id)[x]
    tensor([3., 3.])
    >>> rpc.shutdown()
    """

    def __enter__(self) -> int:
        if _contexts.local.context is not None:
            raise RuntimeError(IN_A_CONTEXT)
        own = _rpc().agent.info.id
        _contexts.local.context = self.context = _contexts.made(_contexts.new_id(own))
        return self.context.id

    def __exit__(self, *exc):
        _contexts.local.context = None
        id, agent = self.context.id, _rpc().agent
        _contexts.forget(id)
        for way in list(agent.ways.values()):
            if way.to != agent.info and not way.dead and way.connection is not None:
                agent.call(way.to, _forget, id, inline=True)


def _forget(id: int):
    """Drop a context here, and where this worker may have passed it on."""
    if id not in _contexts._contexts:
        return
    _contexts.forget(id)
    agent = _rpc().agent
    for way in list(agent.ways.values()):
        if way.to != agent.info and not way.dead and way.connection is not None:
            agent.call(way.to, _forget, id, inline=True)


def get_gradients(context_id: int) -> dict[Tensor, Tensor]:
    """The gradients of this worker's tensors in a context, by tensor; RuntimeError for a context that is not known.

    >>> import torch.distributed.autograd as dist_autograd
    >>> dist_autograd.get_gradients(12345)
    Traceback (most recent call last):
    RuntimeError: Could not find autograd context with id: 12345
    """
    found = _contexts.known(context_id)
    made = {id(x) for _, leaves in found.received.values() for x in leaves}
    with found.lock:
        grads = found.grads.copy()
    return {leaf: grad for key, (leaf, grad) in grads.items() if key not in made}


def backward(context_id: int, roots: Sequence[Tensor], retain_graph: bool = False) -> None:
    """Differentiate the sum of `roots`, scalars of this worker, through the calls of a context in all workers.

    The gradients are added to those of the context (get_gradients). RuntimeError for a context that is not known, and
    roots that are no scalars or do not require grad.

    >>> import torch.distributed.autograd as dist_autograd
    >>> dist_autograd.backward(12345, [torch.ones((), requires_grad=True)])
    Traceback (most recent call last):
    RuntimeError: Could not find autograd context with id: 12345
    """
    found = _contexts.known(context_id)
    if not roots:
        raise RuntimeError(NO_ROOTS)
    for i, root in enumerate(roots):
        if not root.requires_grad:
            raise RuntimeError(NO_GRAD.format(i=i))
        if root.numel() != 1:
            raise RuntimeError(NO_SCALAR.format(i=i))
    agent = _rpc().agent
    start, own = ("roots", 0), agent.info.id
    comes_from, workers = _messages_behind(context_id, start, own, _behind(found, roots))
    left = dict.fromkeys(comes_from, 0)
    for behind in comes_from.values():
        for m in behind:
            left[m] += 1
    _differentiate(found, list(roots), None)
    ready = _counted(left, comes_from[start])
    while ready:  # all whose gradients are complete at once, each at the worker that had sent it
        pulls = [agent.call(agent.worker(m[0]), _pull, context_id, m, workers[m]) for m in ready]
        for pull in pulls:
            pull.wait()
        ready = [later for m in ready for later in _counted(left, comes_from[m])]


def _counted(left: dict, messages: Iterable[Message]) -> list:
    """Those of which nothing is left to be differentiated before."""
    found = []
    for m in messages:
        left[m] -= 1
        if not left[m]:
            found.append(m)
    return found


def _messages_behind(context_id: int, start, own: int, first: set[Message]) -> tuple[dict, dict]:
    """({message: the messages that its sender made it of}, {message: who received it}), from the roots on."""
    agent = _rpc().agent
    comes_from: dict[Any, set[Message]] = {start: first}
    workers = dict.fromkeys(first, own)
    while waiting := [m for m in workers if m not in comes_from]:
        asked = [agent.call(agent.worker(m[0]), _behind_sent, context_id, m) for m in waiting]
        for m, answer in zip(waiting, asked):
            comes_from[m] = answer.wait()
            workers.update(dict.fromkeys(comes_from[m], m[0]))
    return comes_from, workers


# ---- what each worker does -----------------------------------------------------------------------


def _leaves(tensors: Iterable[Tensor]) -> Iterator[Tensor]:
    """The leaves that tensors were computed of."""
    seen: set[int] = set()
    waiting = []
    for x in tensors:
        if x.grad_fn is not None:
            waiting.append(x.grad_fn)
        elif id(x) not in seen:
            seen.add(id(x))
            yield x
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        leaf = getattr(node, "variable", None)
        if leaf is not None and id(leaf) not in seen:
            seen.add(id(leaf))
            yield leaf
        waiting += [n for n, _ in node.next_functions if n is not None]


def _behind(context: _contexts.Context, tensors: Sequence[Tensor]) -> set[Message]:
    """The messages that tensors were computed of."""
    reached = {id(x) for x in _leaves(tensors)}
    return {m for m, (_, leaves) in list(context.received.items()) if any(id(x) in reached for x in leaves)}


def _behind_sent(context_id: int, message: Message) -> set[Message]:
    context = _contexts.known(context_id)
    return _behind(context, context.sent[message])


def _gradients_of(context_id: int, message: Message) -> list[Tensor | None]:
    """The gradients of the leaves of a message."""
    context = _contexts.known(context_id)
    found = [context.grads.pop(id(x), None) for x in context.received[message][1]]
    return [None if pair is None else pair[1] for pair in found]


def _pull(context_id: int, message: Message, receiver: int):
    """Differentiate what this worker had sent, with the gradients of its receiver."""
    context, agent = _contexts.known(context_id), _rpc().agent
    grads = agent.call(agent.worker(receiver), _gradients_of, context_id, message).wait()
    pairs = [(x, g) for x, g in zip(context.sent[message], grads) if g is not None]
    if pairs:
        _differentiate(context, [x for x, _ in pairs], [g for _, g in pairs])


def _differentiate(context: _contexts.Context, tensors: list[Tensor], grads: list[Tensor] | None):
    leaves = list(_leaves(tensors))
    for leaf, grad in zip(leaves, _grad(tensors, leaves, grads, retain_graph=True, allow_unused=True)):
        if grad is not None:
            context.add(leaf, grad)
