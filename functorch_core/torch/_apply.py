"""Applying a graph to tensors: record it, and put a node on the tape if a gradient is wanted.

This is where everything ends that an op, a view or a backward pass does. Tensors inside func
transforms (batched, dual) are taken one level down first: see `_levels`.
"""
from __future__ import annotations

import weakref
from collections.abc import Sequence

from ..core import dtypes as dt
from ..core.graph import Graph, cse, dce
from ..engine import Unit, Value, record
from ._tensor_base import Tensor, new_tensor
from .autograd.modes import state
from .autograd.node import Node, Taped, conjugate

levels = None  # set by torch.func when a transform is entered for the first time

_MODIFIED = ("one of the variables needed for gradient computation has been modified by an inplace "
             "operation: [{kind} {shape}], which is {what}, is at version {now}; expected version "
             "{then} instead. Hint: enable anomaly detection to find the operation that failed to "
             "compute its gradient, with torch.autograd.set_detect_anomaly(True).")
_FREED = ("Trying to backward through the graph a second time (or directly access saved tensors "
          "after they have already been freed). Saved intermediate values of the graph are freed "
          "when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
          "backward through the graph a second time or if you need to access saved tensors after "
          "calling backward.")


class GraphOp:
    """An op at one signature: its graph, the unit that records it, how it is differentiated."""

    __slots__ = ("graph", "name", "multiple", "unit", "node_class", "_taped", "differentiable")

    def __init__(self, graph: Graph, name: str, multiple: bool, node_class: type | None = None):
        self.graph, self.name, self.multiple = cse(dce(graph)), name, multiple
        self.unit = Unit(self.graph, name, multiple)
        self.node_class = node_class or node_class_of(name)
        self._taped: dict[tuple, Taped | None] = {}
        self.differentiable = tuple(a.dtype in dt.INEXACT for a in graph.in_avals)

    def taped(self, mask: tuple[bool, ...]) -> Taped | None:
        """How to differentiate by the inputs in `mask`; None if no output depends on them."""
        try:
            return self._taped[mask]
        except KeyError:
            pass
        real = tuple(m and d for m, d in zip(mask, self.differentiable))
        found = None
        if any(real) and any(a.dtype in dt.INEXACT for a in self.graph.out_avals):
            found = Taped(self.graph, real, self.name, self.multiple)
            if not any(found.out_mask):
                found = None
        self._taped[mask] = found
        return found


class OpNode(Node):
    """The node of an ordinary op."""

    __slots__ = ("op", "taped", "saved", "versions", "outputs")

    def apply(self, grads: Sequence, create_graph: bool) -> tuple:
        """The gradients of the inputs, None where there is no edge."""
        saved, taped = self.saved, self.taped
        if saved is None:
            raise RuntimeError(_FREED)
        self._check_versions()
        if create_graph:
            found = self._apply_taped(grads)
        else:
            given = tuple([g is not None and m for g, m in zip(grads, taped.out_mask)])
            unit = taped.backward(given)[1]
            values = [unpack(v) for v in saved]
            values += [g._read() for g, use in zip(grads, given) if use]
            if levels is not None and any(g is not None and g._level is not None for g in grads):
                found = self._apply_taped(grads)
            else:
                found = [new_tensor(v) for v in record(unit, values)]
        outs = iter(found)
        return tuple([next(outs) if m else None for m in taped.mask])

    def _apply_taped(self, grads: Sequence) -> list:
        """The same by ops that are themselves on the tape."""
        taped = self.taped
        n = len(taped.saved_inputs)
        inputs = [self._saved_input(i, unpack(v))
                  for i, v in zip(taped.saved_inputs, self.saved[:n])]
        cts = [g for g in grads if g is not None]
        given = tuple(g is not None and m for g, m in zip(grads, taped.out_mask))
        cts = [g for g, use in zip(grads, given) if use]
        if taped.n_kept:
            key, graph = ("second", given), taped.second_order
            from .autograd.node import _with_zeros
            make = lambda: _with_zeros(graph, given)  # noqa: E731
            operands = inputs + cts
        else:
            outs = [new_tensor(unpack(v), (self, i))
                    for i, v in zip(taped.saved_outputs, self.saved[n:])]
            key, operands = ("first", given), inputs + outs + cts
            make = lambda: taped.backward(given)[0]  # noqa: E731
        op = taped.graph.memo.get((key, taped.mask))
        if op is None:
            op = taped.graph.memo[key, taped.mask] = GraphOp(make(), f"{self.op.name}_backward", True)
        return apply(op, operands)

    def _saved_input(self, i: int, value):
        if value.__class__ is not Value:
            return value
        edge = self.edges[i]
        variable = getattr(edge[0], "variable", None) if edge is not None else None
        return variable if variable is not None else new_tensor(value, edge)

    def _check_versions(self):
        for tensor, version, what in self.versions:
            tensor = tensor() if isinstance(tensor, weakref.ref) else tensor
            if tensor is not None and tensor._version != version:
                raise RuntimeError(_MODIFIED.format(
                    kind=tensor.type(), shape=list(tensor.shape), now=tensor._version,
                    then=version, what=what or f"output {0} of {self.name()}"))

    def release(self):
        """Free the saved values."""
        self.saved, self.versions = None, ()


def unpack(saved):
    """A saved value or number, through the user's unpack hook if it was packed."""
    return saved.unpack() if hasattr(saved, "unpack") else saved


_node_classes: dict[str, type] = {}


def node_class_of(name: str) -> type:
    """The class of an op's nodes: AddBackward0 for add."""
    camel = "".join(part[:1].upper() + part[1:] for part in name.strip("_").split("_"))
    camel = NODE_NAMES.get(name, camel + "Backward0")
    found = _node_classes.get(camel)
    if found is None:
        found = _node_classes[camel] = type(camel, (OpNode,), {"__slots__": (),
                                                               "__module__": "torch.autograd"})
    return found


NODE_NAMES = {"permute": "PermuteBackward0", "t": "TBackward0", "clone": "CloneBackward0"}


def apply(op: GraphOp, operands: Sequence):
    """Apply to tensors (and packed Python numbers): a tensor, or a list if the op is multiple."""
    if levels is not None:
        for x in operands:
            if isinstance(x, Tensor) and x._level is not None:
                return levels.apply(op, operands)
    values, taped = [], False
    for x in operands:
        if isinstance(x, Tensor):
            values.append(x._value if x._view is None else x._read())
            taped = taped or x._ge is not None
        else:
            values.append(x)
    if taped and state.enabled:
        mask = tuple([isinstance(x, Tensor) and x._ge is not None for x in operands])
        how = op.taped(mask)
        if how is not None:
            return _apply_taped(op, how, operands, values)
    out = record(op.unit, values)
    return [new_tensor(v) for v in out] if op.multiple else new_tensor(out)


def _apply_taped(op: GraphOp, how: Taped, operands: Sequence, values: list):
    outs = record(how.forward, values)
    if how.forward.multiple is False:
        outs = [outs]
    node = op.node_class([x._ge if m else None for x, m in zip(operands, how.mask)], how.n_out)
    saved = [values[i] for i in how.saved_inputs]
    versions = [(operands[i], operands[i]._version, "") for i in how.saved_inputs
                if isinstance(operands[i], Tensor)]
    tensors = [new_tensor(v, (node, i) if m else None)
               for i, (v, m) in enumerate(zip(outs, how.out_mask))]
    for i in how.saved_outputs:
        saved.append(outs[i])
        versions.append((weakref.ref(tensors[i]), 0, f"output {i} of {node.name()}"))
    saved += outs[how.n_out:]
    if state.saved_hooks:
        from .autograd.saved import pack_all
        saved = pack_all(saved, how, operands)
    node.op, node.taped, node.saved, node.versions = op, how, saved, versions
    return tensors if op.multiple else tensors[0]


__all__ = ["GraphOp", "OpNode", "apply", "conjugate", "node_class_of"]
