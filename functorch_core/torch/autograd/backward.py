"""The backward pass over the tape: nodes in reverse order of creation, cotangents summed."""
from __future__ import annotations

import heapq
from collections.abc import Sequence

from .modes import state
from .node import Node


class AccumulateGrad(Node):
    """The sink of a leaf: adds what arrives to its `.grad`."""

    __slots__ = ("variable", "post_hooks")

    def __init__(self, variable):
        super().__init__(())
        self.variable, self.post_hooks = variable, None

    def apply(self, grads: Sequence, create_graph: bool) -> tuple:
        """Accumulate into the leaf's `.grad`."""
        leaf, grad = self.variable, grads[0]
        if grad is None:
            return ()
        if leaf.grad is None:
            leaf.grad = grad if create_graph else grad.detach()
        elif create_graph:
            leaf.grad = leaf.grad + grad
        else:
            leaf.grad._accumulate(grad)
        for hook in list((self.post_hooks or {}).values()):
            hook(leaf)
        return ()


class _Pass:
    """One backward pass."""

    def __init__(self, create_graph: bool, retain_graph: bool, inputs=None):
        self.create_graph, self.retain_graph = create_graph, retain_graph
        self.pending: dict[Node, list] = {}
        self.captured: dict[tuple[Node, int], object] = {}
        self.wanted = inputs  # set of (node, index), or None: accumulate into all leaves
        self.accumulate = True

    def add(self, edge, grad):
        """Add a cotangent to a node's output."""
        node, index = edge
        slots = self.pending.get(node)
        if slots is None:
            slots = self.pending[node] = [None] * node.n_outputs
        slots[index] = grad if slots[index] is None else slots[index] + grad

    def run(self, roots: Sequence[tuple], grads: Sequence):
        """Propagate grads from the root edges."""
        useful = None if self.wanted is None else _leading_to({n for n, _ in self.wanted},
                                                              [n for n, _ in roots])
        counts = _dependencies([n for n, _ in roots], useful)
        for edge, grad in zip(roots, grads):
            self.add(edge, grad)
        ready = [(-n.sequence, id(n), n) for n in {n for n, _ in roots} if counts.get(n, 0) == 0]
        heapq.heapify(ready)
        while ready:
            node = heapq.heappop(ready)[2]
            outs = self.visit(node, useful)
            for i, edge in enumerate(node.edges):
                if edge is None or (useful is not None and edge[0] not in useful):
                    continue
                grad = outs[i] if outs is not None else None
                if grad is not None:
                    self.add(edge, grad)
                counts[edge[0]] -= 1
                if counts[edge[0]] == 0:
                    heapq.heappush(ready, (-edge[0].sequence, id(edge[0]), edge[0]))

    def visit(self, node: Node, useful):
        """Compute one node; its input gradients, or None where nothing arrived."""
        grads = self.pending.pop(node, None)
        if grads is None:
            return None
        grads = self.before(node, grads)
        is_leaf = isinstance(node, AccumulateGrad)
        if self.wanted is not None:
            for i, g in enumerate(grads):
                if (node, i) in self.wanted:
                    self.captured[node, i] = g
            if is_leaf and not (self.accumulate and (node, 0) in self.wanted):
                return None
            if not is_leaf and not any(e is not None and e[0] in useful for e in node.edges):
                return None
        outs = node.apply(grads, self.create_graph)
        if state.anomaly and state.check_nan:
            _check_nan(node, outs)
        if not self.retain_graph:
            node.release()
        for hook in list((node.hooks or {}).values()):
            changed = hook(tuple(outs), tuple(grads))
            if changed is not None:
                outs = changed if isinstance(changed, tuple) else (changed,)
        return outs

    def before(self, node: Node, grads: list) -> list:
        """Tensor hooks, retained gradients and pre-hooks of a node."""
        if node.tensor_hooks:
            for index, hooks in list(node.tensor_hooks.items()):
                for hook in list(hooks.values()):
                    if grads[index] is not None:
                        changed = hook(grads[index])
                        grads[index] = grads[index] if changed is None else changed
        if node.retained:
            for index, tensor in node.retained.items():
                tensor._retain(grads[index], self.create_graph)
        for hook in list((node.pre_hooks or {}).values()):
            changed = hook(tuple(grads))
            if changed is not None:
                grads = list(changed) if isinstance(changed, tuple) else [changed]
        return grads


def _dependencies(roots: Sequence[Node], useful) -> dict[Node, int]:
    """How many edges lead to each node from nodes that will be visited."""
    counts: dict[Node, int] = {}
    seen, stack = set(roots), list(seen_once(roots))
    while stack:
        node = stack.pop()
        for edge in node.edges:
            if edge is None or (useful is not None and edge[0] not in useful):
                continue
            counts[edge[0]] = counts.get(edge[0], 0) + 1
            if edge[0] not in seen:
                seen.add(edge[0])
                stack.append(edge[0])
    return counts


def seen_once(items) -> list:
    """The items without repetitions, in order."""
    return list(dict.fromkeys(items))


def _leading_to(targets: set, roots: Sequence[Node]) -> set:
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
        if any(e is not None and e[0] in useful for e in node.edges):
            useful.add(node)
    return useful


def _check_nan(node: Node, outs):
    for i, grad in enumerate(outs or ()):
        if grad is not None and grad.is_floating_point() and bool(grad.isnan().any()):
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")


# ---- entry points --------------------------------------------------------------------------------------


def _as_tuple(x):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _root_grads(outputs, grads) -> list:
    """The cotangent of each output; ones for a scalar where none is given."""
    from .._tensor import ones_like_detached
    grads = _as_tuple(grads) if grads is not None else (None,) * len(outputs)
    if len(grads) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    out = []
    for y, g in zip(outputs, grads):
        if g is None:
            if y.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if not y.is_floating_point():
                raise RuntimeError("grad can be implicitly created only for real scalar outputs "
                                   f"but got {y.dtype}")
            g = ones_like_detached(y)
        elif g.shape != y.shape:
            raise RuntimeError(f"Mismatch in shape: grad_output[{len(out)}] has a shape of "
                               f"{g.shape} and output[{len(out)}] has a shape of {y.shape}.")
        elif g.is_complex() != y.is_complex():
            raise RuntimeError("For complex Tensors, both grad_output and output are required to "
                               f"have the same dtype. Mismatch in dtype: grad_output[{len(out)}] "
                               f"has a dtype of {g.dtype} and output[{len(out)}] has a dtype of "
                               f"{y.dtype}.")
        out.append(g)
    return out


def _edge_of_root(y, index: int):
    edge = y._edge()
    if edge is None:
        raise RuntimeError(f"element {index} of tensors does not require grad and does not have a "
                           "grad_fn")
    return edge


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False,
             grad_variables=None, inputs=None):
    """Sum of gradients of tensors by the leaves, added to their `.grad`."""
    tensors = _as_tuple(tensors)
    retain = create_graph if retain_graph is None else retain_graph
    wanted = None
    if inputs is not None:
        inputs = _as_tuple(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        wanted = {_edge_of_input(x) for x in inputs}
    roots = [_edge_of_root(y, i) for i, y in enumerate(tensors)]
    p = _Pass(create_graph, retain, wanted)
    with _grad_mode(create_graph):
        p.run(roots, _root_grads(tensors, grad_tensors))
        for x in inputs or ():
            edge = x._edge()
            if not isinstance(edge[0], AccumulateGrad) and p.captured.get(edge) is not None:
                x._retain(p.captured[edge], create_graph)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False,
         only_inputs=True, allow_unused=None, is_grads_batched=False,
         materialize_grads=False) -> tuple:
    """Gradients of outputs by inputs, as a tuple; `.grad` is left alone."""
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when "
                         "materialize_grads=True, but got: allow_unused=False.")
    outputs, inputs = _as_tuple(outputs), _as_tuple(inputs)
    if is_grads_batched:
        return _batched_grad(outputs, inputs, grad_outputs, create_graph, allow_unused,
                             materialize_grads)
    retain = create_graph if retain_graph is None else retain_graph
    edges = [_edge_of_input(x) for x in inputs]
    roots = [_edge_of_root(y, i) for i, y in enumerate(outputs)]
    p = _Pass(create_graph, retain, set(edges))
    p.accumulate = False
    with _grad_mode(create_graph):
        p.run(roots, _root_grads(outputs, grad_outputs))
    found = [p.captured.get(e) for e in edges]
    if materialize_grads:
        return tuple(x.new_zeros(x.shape) if g is None else g for g, x in zip(found, inputs))
    if not allow_unused and any(g is None for g in found):
        raise RuntimeError("One of the differentiated Tensors appears to not have been used in the "
                           "graph. Set allow_unused=True if this is the desired behavior.")
    return tuple(found)


def _batched_grad(outputs, inputs, grad_outputs, create_graph, allow_unused, materialize):
    from ..func import vmap

    def one(*cotangents):
        return grad(outputs, inputs, cotangents, True, create_graph, True, allow_unused, False,
                    materialize)
    return vmap(one)(*_as_tuple(grad_outputs))


def _edge_of_input(x):
    edge = x._edge()
    if edge is None:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return edge


class _grad_mode:
    """Inside a backward pass the tape runs only for create_graph."""

    def __init__(self, enabled: bool):
        self.enabled = enabled

    def __enter__(self):
        self.saved, state.enabled = state.enabled, self.enabled

    def __exit__(self, *exc):
        state.enabled = self.saved
