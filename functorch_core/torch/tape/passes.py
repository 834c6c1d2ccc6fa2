"""One backward pass over the tape: nodes in reverse order of creation, cotangents summed."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable, Sequence

from ...engine import Value
from ...engine.recorder import has_grown, let_grow, users_call
from ..tensors.active import active
from ..tensors.base import new_tensor
from .accumulate import AccumulateGrad, Terms, add_values_at, sum_of, total, with_term
from .anomaly_mode import check_nan, explain
from .modes import state
from .node import Node
from .saved import restore_saved_hooks


class _Running(threading.local):
    current: Pass | None = None


_running = _Running()


def current_pass() -> Pass:
    """The pass that calls the hook that asks."""
    return _running.current


_ids = itertools.count()


class Pass:
    """One backward pass.

    `wanted` are the edges whose gradients are captured (None: every leaf accumulates). Of the
    leaves among them, `accumulate` says whether they accumulate, too.
    """

    def __init__(self, create_graph: bool, retain_graph: bool, wanted=None, accumulate: bool = True):
        self.create_graph, self.retain_graph = create_graph, retain_graph
        self.pending: dict[Node, list] = {}
        self.captured: dict[tuple[Node, int], object] = {}
        self.wanted, self.accumulate = wanted, accumulate
        self.anomaly, self.examined = state.anomaly, state.anomaly or active.observer is not None
        self.useful = self.visited = self.roots = self.node = None
        self.callbacks: list[Callable] = []
        self.id = next(_ids)

    def run(self, roots: Sequence[tuple], grads: Sequence):
        """Propagate grads from the root edges."""
        before, hooks, growing = _running.current, state.saved_hooks, None
        try:
            _running.current, growing = self, let_grow()
            self._run(roots, grads)
            for callback in self.callbacks:  # they may add further ones
                callback()
        finally:
            _running.current = before
            if growing is not None:
                has_grown(*growing)
            if state.saved_hooks is not hooks:  # a hook has entered saved_tensors_hooks and left it open
                restore_saved_hooks(hooks)

    def will_visit(self, node: Node) -> bool:
        """Whether the pass comes, or came, by a node."""
        return node in self.visited or node in self.roots

    def _run(self, roots: Sequence[tuple], grads: Sequence):
        nodes = self.roots = list(dict.fromkeys([n for n, _ in roots]))
        if self.wanted is not None:
            self.useful = leading_to({n for n, _ in self.wanted}, nodes)
        counts = self.visited = dependencies(nodes, self.useful)
        for (node, index), grad in zip(roots, grads):
            self.add(node, index, grad)
        ready = [(-n.sequence, n) for n in nodes if n not in counts]
        heapq.heapify(ready)
        useful, pending, visit = self.useful, self.pending, self.visit
        retain_graph, create_graph = self.retain_graph, self.create_graph
        gathers = not create_graph and not active.intercepts
        plain = gathers and active.levels is None and not self.examined
        captured = () if self.wanted is None else {n for n, _ in self.wanted}
        code, place = users_call()
        heappop = heapq.heappop
        while ready:
            node = heappop(ready)[1]
            of_values = node.of_values if plain and node.extras is None and node not in captured else None
            if of_values is not None:
                self.node = node  # unpack hooks may ask which it is
                outs = of_values(pending.pop(node), code, place)
                if node.extras is not None:  # hooks that came meanwhile, from an unpack hook
                    outs = _post_hooks(node.extras, (), tensors_of(outs))
            else:
                outs = visit(node)
            for i, edge in enumerate(node.edges):
                if edge is None:
                    continue
                child, index = edge
                if useful is not None and child not in useful:
                    continue
                slots = pending.get(child)
                if slots is None:
                    slots = pending[child] = [None] * child.n_outputs
                if outs is not None and (grad := outs[i]) is not None:
                    old = slots[index]
                    if old is None:
                        slots[index] = grad
                    elif gathers and child.__class__ is AccumulateGrad:
                        slots[index] = with_term(old, grad)
                    elif old.__class__ is Value and grad.__class__ is Value and old.aval is grad.aval:
                        slots[index] = add_values_at(old, grad, code, place)
                    else:
                        slots[index] = total(old, grad, create_graph)
                left = counts[child] = counts[child] - 1
                if not left:
                    heapq.heappush(ready, (-child.sequence, child))
            if outs is not None and not retain_graph:
                node.release()

    def add(self, node: Node, index: int, grad):
        """Add a cotangent to an output of a root."""
        slots = self.pending.setdefault(node, [None] * node.n_outputs)
        if grad is not None:
            old = slots[index]
            slots[index] = grad if old is None else total(old, grad, self.create_graph)

    def visit(self, node: Node):
        """Compute one node; its input gradients, or None if they are not needed."""
        grads = self.pending.pop(node)
        if node.__class__ is AccumulateGrad and grads[0].__class__ is Terms:
            grads[0] = sum_of(grads[0])
        grads = tensors_of(grads)
        self.node, extras = node, node.extras
        if extras is not None:
            _tensor_hooks(extras, grads)
            for index, tensor in list(extras.retained.items()):
                tensor._retain(grads[index], self.create_graph)
        if self.wanted is not None and not self._capture(node, grads):
            return None
        if extras is not None:
            grads = _pre_hooks(extras, grads)
        outs = self._examined(node, grads) if self.examined else node.apply(grads, self.create_graph)
        if extras is None:
            if node.extras is None:
                return outs
            extras, grads = node.extras, ()  # hooks that came meanwhile, from an unpack hook
        return _post_hooks(extras, grads, outs)

    def _capture(self, node: Node, grads: list) -> bool:
        """Keep what is wanted of a node's gradients; whether the node itself must be computed."""
        found = False
        for i, g in enumerate(grads):
            if (node, i) in self.wanted:
                self.captured[node, i] = g
                found = True
        if isinstance(node, AccumulateGrad) and not node.edges:
            return found and self.accumulate
        if found and self.accumulate and node.extras is not None and (node.extras.pre_hooks or node.extras.hooks):
            return True  # hooks run at a node to which backward(inputs=...) accumulates
        return any(e is not None and e[0] in self.useful for e in node.edges)

    def _examined(self, node: Node, grads: list):
        """Compute a node in anomaly mode, or while a profile is taken."""
        apply, observer = node.apply, active.observer
        try:
            if observer is None:
                outs = apply(grads, self.create_graph)
            else:
                outs = observer.node(node.name(), apply, grads, self.create_graph)
            if self.anomaly and state.check_nan:
                check_nan(node, outs)
        except Exception:
            if self.anomaly:
                explain(node)
            raise
        return outs


def tensors_of(grads: Sequence) -> list:
    """Gradients, some of which are values, as tensors; None where there is none."""
    return [new_tensor(g) if g.__class__ is Value else g for g in grads]


def _will_engine_execute_node(node) -> bool:
    """Whether the pass that runs computes a node, as torch._C tells it."""
    if not isinstance(node, Node):
        raise RuntimeError(f"_will_engine_execute_node expects an grad_fn, but got {type(node).__name__}")
    running = _running.current
    if running is None:
        raise RuntimeError(OUTSIDE.format(name="_get_should_execute_nodes"))
    if running.wanted is not None and not running.accumulate and isinstance(node, AccumulateGrad):
        raise RuntimeError(LEAF_IN_GRAD)
    return running.will_visit(node)


def _current_graph_task_execution_order() -> list[Node]:
    """The nodes of the pass that runs, in the order in which they are computed."""
    running = _running.current
    if running is None:
        raise RuntimeError(OUTSIDE.format(name="_current_graph_task_execution_order"))
    if state.multithreading:
        raise RuntimeError(MULTITHREADED)
    counts, order = dependencies(running.roots, running.useful), []
    ready = [(-n.sequence, n) for n in running.roots if n not in counts]
    heapq.heapify(ready)
    while ready:
        order.append(heapq.heappop(ready)[1])
        for child, _ in filter(None, order[-1].edges):
            if child in counts:
                counts[child] -= 1
                if not counts[child]:
                    heapq.heappush(ready, (-child.sequence, child))
    return order


def _current_autograd_node() -> Node | None:
    """The node that is being computed."""
    return None if _running.current is None else _running.current.node


OUTSIDE = "{name} should only be called during the backward pass"
LEAF_IN_GRAD = (
    "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is "
    "currently not supported."
)
MULTITHREADED = (
    "get_current_graph_task_execution_order expects the current backward to be executed with multithreading disabled, "
    "e.g. by running:\n\n>>> with torch.autograd.set_multithreading_enabled(False):\n...     torch.autograd.grad(...)\n"
)


def queue_callback(callback):
    """Call callback() when the pass that runs is done."""
    if _running.current is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    _running.current.callbacks.append(callback)


def current_id() -> int:
    """The number of the pass that runs, -1 where none does."""
    return -1 if _running.current is None else _running.current.id


def _pre_hooks(extras, grads: list) -> list:
    for hook in list(extras.pre_hooks.values()):
        changed = hook(tuple(grads))
        if changed is not None:
            grads = [*_counted(hook, changed, len(grads))]
    return grads


def _post_hooks(extras, grads: list, outs):
    for hook in list(extras.hooks.values()):
        changed = hook(tuple(outs), tuple(grads))
        if changed is not None:
            outs = _counted(hook, changed, len(outs))
    return outs


def _counted(hook, changed, n: int) -> tuple:
    """What a hook of a node returned, as n gradients."""
    changed = changed if isinstance(changed, tuple) else (changed,)
    if len(changed) != n:
        name = getattr(hook, "__name__", type(hook).__name__)
        raise RuntimeError(
            f"hook '{name}' has returned an incorrect number of values (got {len(changed)}, but expected {n})"
        )
    return changed


def _tensor_hooks(extras, grads: list):
    for index, hooks in list(extras.tensor_hooks.items()):
        for hook in list(hooks.values()):
            changed = hook(grads[index])
            if changed is not None:
                grads[index] = _checked(hook, grads[index], changed)


def _checked(hook, old, new):
    """What a tensor hook returned instead of a gradient."""
    name = getattr(hook, "__name__", type(hook).__name__)
    if not hasattr(new, "_edge"):
        raise TypeError(f"expected Variable, but hook returned '{type(new).__name__}'")
    if old is not None:
        if old.shape != new.shape:
            raise RuntimeError(f"hook '{name}' has changed the size of value")
        if old.dtype is not new.dtype:
            raise RuntimeError(f"hook '{name}' has changed the type of value (was {old.type()} got {new.type()})")
    return new


# ---- what of the graph takes part ----------------------------------------------------------------


def dependencies(roots: Sequence[Node], useful) -> dict[Node, int]:
    """How many edges lead to each node from nodes that will be visited."""
    counts: dict[Node, int] = {}
    seen, stack = set(roots), list(roots)
    while stack:
        for edge in stack.pop().edges:
            if edge is None:
                continue
            node = edge[0]
            if useful is not None and node not in useful:
                continue
            if node in counts:
                counts[node] += 1
            else:
                counts[node] = 1
            if node not in seen:
                seen.add(node)
                stack.append(node)
    return counts


def leading_to(targets: set, roots: Sequence[Node]) -> set:
    """The nodes from which some target is reached."""
    order, seen, stack = [], set(), [(n, False) for n in roots]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
            continue
        if node in seen:
            continue
        seen.add(node)
        stack.append((node, True))
        stack += [(e[0], False) for e in node.edges if e is not None and e[0] not in seen]
    useful = set(targets)
    for node in order:
        if any([e is not None and e[0] in useful for e in node.edges]):
            useful.add(node)
    return useful


def reachable(roots: Sequence[Node]) -> set:
    """The nodes that a pass from these roots could visit."""
    seen, stack = set(roots), list(roots)
    while stack:
        for edge in stack.pop().edges:
            if edge is not None and edge[0] not in seen:
                seen.add(edge[0])
                stack.append(edge[0])
    return seen
