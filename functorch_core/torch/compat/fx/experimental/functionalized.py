"""Graphs of torch.ops.aten without writes: what torch.func.functionalize does below make_fx.

A write to a view becomes a new value of the memory that it shows (`slice_scatter`), from which other views of it are
made again where they are used. What is written to an input is copied into it at the end.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import functorch_core.torch as torch

from ....tensors.pytree import tree_map
from ..graph import Graph
from ..node import Node

UNKNOWN = "functionalize below make_fx: {what} of {op}"


class Memory:
    """What views share: its value, how often it was written to, and the input that it is."""

    def __init__(self, node: Node, given: Node | None):
        self.node, self.given, self.version = node, given, 0


class View:
    """A tensor of the graph: by which calls it comes from its memory, and the node that has its value of a version."""

    def __init__(self, memory: Memory, steps: tuple, node: Node, version: int = 0):
        self.memory, self.steps, self.node, self.version = memory, steps, node, version


def functionalized(graph: Graph, copies: bool) -> Graph:
    """The graph without writes; with `copies` without views either."""
    return _Functionalizing(graph, copies).run()


class _Functionalizing:
    def __init__(self, graph: Graph, copies: bool):
        self.old, self.copies, self.graph = graph, copies, Graph()
        self.views: dict[Node, View] = {}
        self.graph.pytree = graph.pytree

    def run(self) -> Graph:
        for node in self.old.nodes:
            if node.op == "output":
                result = self._given(node.args[0])
                self._write_back()
                self.graph.output(result, node.type)
            elif node.op in ("placeholder", "get_attr"):
                made = self.graph.node_copy(node)
                self.views[node] = View(Memory(made, made), (), made)
            else:
                self._call(node)
        return self.graph

    def _call(self, node: Node):
        if node.target is operator.getitem:
            return self._part(node)
        arguments = node.target._schema.arguments
        written = [a.name for a in arguments if a.is_write]
        if written and (written != [arguments[0].name] or not node.target._schema.is_in_place):
            raise NotImplementedError(UNKNOWN.format(what=f"the argument {written[0]}=", op=node.target))
        if written:
            return self._write(node)
        if arguments and arguments[0].type.startswith("Tensor("):
            return self._look(node)
        return self._fresh(node, self._emit(node.target, self._given(node.args), self._given(node.kwargs), node.meta))

    def _fresh(self, node: Node, made: Node):
        self.views[node] = View(Memory(made, None), (), made)

    def _emit(self, target: Callable, args: tuple, kwargs: dict, meta: dict) -> Node:
        made = self.graph.call_function(target, args, kwargs, name=getattr(target, "_opname", None))
        made.meta.update(meta)
        return made

    # ---- reading

    def _given(self, tree):
        return tree_map(lambda x: self._now(self.views[x]) if isinstance(x, Node) else x, tree)

    def _now(self, view: View) -> Node:
        """The node with a tensor's value; made again if its memory was written to since."""
        if view.version != view.memory.version:
            view.node, view.version = self._through(view, len(view.steps)), view.memory.version
        return view.node

    def _through(self, view: View, n: int) -> Node:
        """The value after the first n calls."""
        node = view.memory.node
        for target, args, kwargs, meta in view.steps[:n]:
            node = self._emit(target, (node, *args), kwargs, meta)
        return node

    def _look(self, node: Node):
        base = self.views[node.args[0]]
        step = (self._viewing(node.target), self._given(node.args[1:]), self._given(node.kwargs), node.meta)
        made = self._emit(step[0], (base.node, *step[1]), *step[2:])  # of the value before a write, too, as PyTorch's
        self.views[node] = View(base.memory, (*base.steps, step), made, base.version)

    def _part(self, node: Node):
        """One of several results: what shares memory is a view like others."""
        of = self.views[node.args[0]]
        if of.steps:
            return self._look(node)
        return self._fresh(node, self._emit(node.target, (of.node, node.args[1]), {}, node.meta))

    def _viewing(self, target):
        if not self.copies or target is operator.getitem:
            return target
        return _overload(f"{target._opname}_copy", target._overloadname, target)

    # ---- writing

    def _write(self, node: Node):
        view, target = self.views[node.args[0]], node.target
        plain = _overload(target._opname.removesuffix("_"), target._overloadname, target)
        self._check_kind(node)
        new = self._emit(plain, self._given(node.args), self._given(node.kwargs), node.meta)
        for k in range(len(view.steps), 0, -1):
            new = self._undone(view, k, new)
        view.memory.node, view.memory.version = new, view.memory.version + 1
        self._now(view)
        self.views[node] = view

    def _check_kind(self, node: Node):
        """A result in place keeps dtype and shape; elsewhere operands decide."""
        own = node.meta["val"]
        others = [x.meta.get("val") for x in node.args[1:] if isinstance(x, Node)]
        for x in others:
            wider = x is not None and own is not None and torch.result_type(own, x) is not own.dtype
            if wider and node.target._opname not in ("copy_", "index_put_"):
                raise NotImplementedError(UNKNOWN.format(what="operands of another dtype", op=node.target))

    def _undone(self, view: View, k: int, new: Node) -> Node:
        """The value before call k whose part that the call shows is `new`."""
        target, args, kwargs, _ = view.steps[k - 1]
        before = view.steps[k - 2][3] if k > 1 else view.memory.node.meta
        name = getattr(target, "_opname", "getitem").removesuffix("_copy")
        if name in SAME:
            return new
        if name in SCATTERED:
            whole = self._through(view, k - 1)
            return self._emit(_overload(f"{name}_scatter", "default", target), (whole, new, *args), kwargs, before)
        if name not in INVERSES:
            raise NotImplementedError(UNKNOWN.format(what="a write to the result", op=target))
        inverse, overload, back = INVERSES[name]
        found = self._viewing(_overload(inverse, overload, target))
        return self._emit(found, (new, *back(before["val"], *args)), {}, before)

    def _write_back(self):
        """Inputs that were written to get their last value."""
        for memory in dict.fromkeys([v.memory for v in self.views.values()]):
            if memory.given is not None and memory.version:
                self._emit(torch.ops.aten.copy_.default, (memory.given, memory.node), {}, memory.given.meta)


def _overload(name: str, overload: str, of):
    try:
        return getattr(getattr(torch.ops.aten, name), overload)
    except AttributeError:
        raise NotImplementedError(UNKNOWN.format(what=f"aten.{name}.{overload} in the place", op=of)) from None


def _permuted_back(x, dims) -> tuple:
    return (sorted(range(x.ndim), key=lambda d: dims[d] % x.ndim),)


# Views that are undone by another, with its arguments; those that are undone by a scatter; those that show everything.
INVERSES = {
    "view": ("view", "default", lambda x, size: (list(x.shape),)),
    "_unsafe_view": ("view", "default", lambda x, size: (list(x.shape),)),
    "t": ("t", "default", lambda x: ()),
    "transpose": ("transpose", "int", lambda x, a, b: (a, b)),
    "permute": ("permute", "default", _permuted_back),
    "unsqueeze": ("squeeze", "dim", lambda x, dim: (dim,)),
}
SCATTERED = frozenset({"slice", "select", "diagonal"})
SAME = frozenset({"alias", "detach"})
