"""Backward graphs of complex values in PyTorch's convention, in which gradients are conjugates.

A backward graph is the plain transpose of a derivative. PyTorch's is that between conjugations:
conj(graph(conj(cotangent))). They are not computed but carried: a value may be known by its
conjugate, and what is linear with real coefficients passes that on; only residuals are conjugated
(grad * other.conj()). So a zero imaginary part keeps its sign, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core import dtypes as dt
from ...core.graph import Graph, Node
from ...core.trace import Builder, Traced, constant_p
from ...primitives import complex as join
from ...primitives import conj, neg, real
from ...primitives.convert import complex_p, convert_p
from ...primitives.structure import broadcast_in_dim_p
from ...transforms.jvp import copy_node


class Conjugated:
    """The graph's nodes written into a builder; each slot by its value, its conjugate, or both."""

    def __init__(self, builder: Builder, graph: Graph):
        self.builder, self.graph = builder, graph
        self.plain: dict = {}
        self.conjugate: dict = {}
        self.maker = {s: node for node in graph.nodes for s in node.outputs}

    def run(self, residuals: Sequence, cotangents: Sequence) -> list:
        """The conjugates of the outputs, of the conjugates of the cotangents."""
        inputs = self.graph.inputs
        self.plain.update(zip(inputs, residuals))
        for slot in inputs[: len(residuals)]:
            self._look_at(slot)
        for slot, x in zip(inputs[len(residuals) :], cotangents, strict=True):
            (self.conjugate if self._is_complex(slot) else self.plain)[slot] = x
        for node in self.graph.nodes:
            self._node(node)
        return [self._conjugate_of(s) if self._is_complex(s) else self._of(s) for s in self.graph.outputs]

    def _look_at(self, slot: int):
        """A residual that is a conjugate, or made of a real value, is known by its conjugate."""
        x = self.plain[slot]
        node = next((n for n in self.builder.nodes if x.slot in n.outputs), None)
        if node is None or not self._is_complex(slot):
            return
        made_of = Traced(self.builder.avals[node.inputs[0]], self.builder, node.inputs[0]) if (node.inputs) else None
        if node.primitive is conj.primitive:
            self.conjugate[slot] = made_of
        elif node.primitive is convert_p and made_of.aval.dtype not in dt.COMPLEX:
            self.conjugate[slot] = x

    def _is_complex(self, slot: int) -> bool:
        return self.graph.avals[slot].dtype in dt.COMPLEX

    def _of(self, slot: int):
        if slot not in self.plain:
            self.plain[slot] = conj(self.conjugate[slot])
        return self.plain[slot]

    def _conjugate_of(self, slot: int):
        if slot not in self.conjugate:
            node = self.maker.get(slot)
            if node is not None and node.primitive is complex_p:
                self.conjugate[slot] = self._joined(node)
            elif self._is_real(slot):
                self.conjugate[slot] = self.plain[slot]
            else:
                self.conjugate[slot] = conj(self.plain[slot])
        return self.conjugate[slot]

    def _is_real(self, slot: int) -> bool:
        """Whether a complex value was made of real ones."""
        node = self.maker.get(slot)
        if node is not None and node.primitive is convert_p:
            return not self._is_complex(node.inputs[0])
        while node is not None and node.primitive is broadcast_in_dim_p:
            node = self.maker.get(node.inputs[0])
        return (
            node is not None
            and node.primitive is constant_p
            and not np.any(np.asarray(node.params["value"].value).astype(np.complex128).imag)
        )

    def _is_free(self, slot: int) -> bool:
        """Whether the conjugate costs nothing."""
        if slot in self.conjugate or not self._is_complex(slot):
            return True
        node = self.maker.get(slot)
        return node is not None and (node.primitive is complex_p or self._is_real(slot))

    def _joined(self, node: Node):
        """The conjugate of what was joined of two parts."""
        re, im = node.inputs
        maker = self.maker.get(im)
        if maker is not None and maker.primitive is neg.primitive:
            return join(self._of(re), self._of(maker.inputs[0]))
        if self._is_zero(maker):
            return self.plain[node.outputs[0]]
        return join(self._of(re), neg(self._of(im)))

    def _is_zero(self, maker: Node | None) -> bool:
        while maker is not None and maker.primitive is broadcast_in_dim_p:
            maker = self.maker.get(maker.inputs[0])
        return maker is not None and maker.primitive is constant_p and not np.any(maker.params["value"].value)

    def _node(self, node: Node):
        primitive, x = node.primitive, node.inputs[0] if node.inputs else None
        carried = any(s in self.conjugate and s not in self.plain for s in node.inputs)
        if primitive is conj.primitive:
            of, known = (self.plain, self.conjugate) if carried else (self.conjugate, self.plain)
            of[node.outputs[0]] = known[x]
            return
        through = (
            primitive.traits.conjugates
            and self._is_complex(node.outputs[0])
            and (carried or all(map(self._is_free, node.inputs)) and self._is_complex(x))
        )
        if through:
            args = [self._conjugate_of(s) if self._is_complex(s) else self._of(s) for s in node.inputs]
        elif carried and primitive in (convert_p, real.primitive):  # the real parts
            args = [self.conjugate[x]]
        else:
            args = [self._of(s) for s in node.inputs]
        outs = copy_node(self.builder, self.graph, node, args)
        (self.conjugate if through else self.plain).update(zip(node.outputs, outs))
