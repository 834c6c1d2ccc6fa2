"""A backward pass in two halves: first the gradients of a stage's inputs, later those of its parameters."""

from __future__ import annotations

from collections.abc import Sequence

from ....tape.backward import edge_of, root_grads
from ....tape.modes import no_grad
from ....tape.passes import Pass, leading_to
from ....tensors.base import Tensor


class WeightGradients:
    """The second half: what has come to the nodes beside the way to the inputs, from where parameters are reached."""

    def __init__(self, roots: Sequence[tuple], grads: Sequence[Tensor]):
        self.roots, self.grads = list(roots), list(grads)
        self.nodes: list[tuple] = []  # (node on the way, the gradients of its outputs)
        self.way: set = set()

    def add(self):
        """Add to the gradients of the parameters."""
        with no_grad():
            for node, came in self.nodes:
                self._leave_the_way(node, came)
            if self.roots:
                Pass(False, False, None, accumulate=True).run(self.roots, self.grads)

    def _leave_the_way(self, node, came: Sequence[Tensor | None]):
        for edge, grad in zip(node.edges, node.apply(came, False) or ()):
            if edge is not None and edge[0] not in self.way and grad is not None:
                self.roots.append(edge)
                self.grads.append(grad)


def input_gradients(
    outputs: Sequence[Tensor], grads: Sequence[Tensor] | None, inputs: Sequence[Tensor]
) -> tuple[list[Tensor | None], WeightGradients]:
    """(the gradients of the inputs, what is left for the parameters)."""
    roots, grads = [edge_of(y) for y in outputs], root_grads(tuple(outputs), grads)
    wanted = [edge_of(x) if x.requires_grad else None for x in inputs]
    targets = {edge[0] for edge in wanted if edge is not None}
    way = leading_to(targets, [node for node, _ in roots]) if targets else set()
    pairs = list(zip(roots, grads))
    aside = [p for p in pairs if p[0][0] not in way]
    left = WeightGradients([root for root, _ in aside], [grad for _, grad in aside])
    pairs = [p for p in pairs if p[0][0] in way]
    if not pairs:
        return [None] * len(inputs), left
    beside = [n for n in way - targets if any(e is not None and e[0] not in way for e in n.edges)]
    captured = {edge for edge in wanted if edge is not None}
    captured |= {(n, k) for n in beside for k in range(n.n_outputs)}
    made = Pass(False, True, captured, accumulate=False)
    with no_grad():
        made.run(*map(list, zip(*pairs)))
    for n in beside:
        came = [made.captured.get((n, k)) for k in range(n.n_outputs)]
        if any(g is not None for g in came):
            left.nodes.append((n, came))
    left.way = way
    return [None if edge is None else made.captured.get(edge) for edge in wanted], left
