"""torch.fx.graph: a list of nodes, and the Python code that it stands for."""

from __future__ import annotations

import builtins
import copy
import keyword
import math
import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import functorch_core.torch as torch

from ....core.draw import MAX_ROWS, Picture
from ...tensors.pytree import tree_flatten, tree_unflatten
from . import _code
from .node import Node, Target, map_arg

_ILLEGAL = re.compile(r"[^0-9a-zA-Z_]+")
_NUMBERED = re.compile(r"(.*)_(\d+)$")
# What code names without a module.
BUILTINS = {"inf": math.inf, "nan": math.nan, "NoneType": type(None), "torch": torch, "device": torch.device}


class PythonCode(NamedTuple):
    """The code of a graph, and the names that it uses.

    >>> gm = torch.fx.symbolic_trace(lambda x: x + 1)
    >>> print(gm.graph.python_code("self").src.strip())
    def forward(self, x):
        add = x + 1;  x = None
        return add
    """

    src: str
    globals: dict[str, Any]


class _Namespace:
    """Names for nodes and globals, each given once."""

    def __init__(self):
        self._obj_to_name: dict[Any, str] = {}
        self._used_names: set[str] = set()
        self._counts: dict[str, int] = defaultdict(int)

    def create_name(self, candidate: str, obj) -> str:
        """A name like `candidate` that is free; for the same object the same."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        candidate = _ILLEGAL.sub("_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        numbered = _NUMBERED.match(candidate)
        base, number = (candidate, None) if numbered is None else (numbered.group(1), int(numbered.group(2)))
        if candidate in self._used_names or self._is_illegal(candidate, obj):
            number = number or self._counts[base]
            while candidate in self._used_names or self._is_illegal(candidate, obj):
                number += 1
                candidate = f"{base}_{number}"
            self._counts[base] = number
        self._used_names.add(candidate)
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def _is_illegal(self, name: str, obj) -> bool:
        if keyword.iskeyword(name):
            return True
        if name in builtins.__dict__:
            return builtins.__dict__[name] is not obj
        return name in BUILTINS and BUILTINS[name] is not obj


def _snake_case(text: str) -> str:
    letters = []
    for before, letter in zip(f" {text}", text):
        letters.append(f"_{letter}" if letter.isupper() and before.islower() else letter)
    return "".join(letters).lower()


class _InsertPoint:
    def __init__(self, graph: Graph, insert: Callable):
        self.graph, self.before = graph, graph._insert
        graph._insert = insert

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        self.graph._insert = self.before


class _node_list:
    """The nodes of a graph in order, or in the reverse of it."""

    def __init__(self, graph: Graph, direction: str = "_next"):
        self.graph, self.direction = graph, direction

    def __len__(self):
        return self.graph._len

    def __iter__(self):
        node = getattr(self.graph._root, self.direction)
        while node is not self.graph._root:
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self):
        return _node_list(self.graph, "_prev" if self.direction == "_next" else "_next")


class Graph:
    """A program as a list of calls.

    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> _ = graph.output(graph.call_function(torch.relu, (x,)))
    >>> print(graph.python_code("self").src)
    <BLANKLINE>
    <BLANKLINE>
    <BLANKLINE>
    def forward(self, x):
        relu = torch.relu(x);  x = None
        return relu
    <BLANKLINE>
    """

    __module__ = "torch.fx.graph"

    def __init__(self, owning_module=None, tracer_cls: type | None = None, tracer_extras=None):
        self._root = Node(self, "", "root", "", (), {})
        self._insert = self._root.prepend
        self._len = 0
        self._graph_namespace = _Namespace()
        self.owning_module, self._tracer_cls = owning_module, tracer_cls
        self._tracer_extras = tracer_extras
        self.pytree: _code.PyTree | None = None

    @property
    def nodes(self) -> _node_list:
        """The nodes in order."""
        return _node_list(self)

    # ---- making nodes

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple | None = None,
        kwargs: dict | None = None,
        name: str | None = None,
        type_expr=None,
    ) -> Node:
        """A new node at the place of insertion."""
        candidate = name if name is not None else self._target_to_str(target)
        node = Node(
            self, self._graph_namespace.create_name(candidate, None), op, target, args or (), kwargs or {}, type_expr
        )
        self._graph_namespace._obj_to_name[node] = node.name
        self._insert(node)
        self._len += 1
        return node

    def placeholder(self, name: str, type_expr=None, default_value=_code.NOTHING) -> Node:
        """An input of the program."""
        args = () if default_value is _code.NOTHING else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr=None) -> Node:
        """An attribute of the module, 'layer.weight'."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable,
        args: tuple | None = None,
        kwargs: dict | None = None,
        type_expr=None,
        name: str | None = None,
    ) -> Node:
        """The call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def call_method(
        self, method_name: str, args: tuple | None = None, kwargs: dict | None = None, type_expr=None
    ) -> Node:
        """The call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_module(
        self, module_name: str, args: tuple | None = None, kwargs: dict | None = None, type_expr=None
    ) -> Node:
        """The call of a submodule."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def output(self, result, type_expr=None) -> Node:
        """What the program returns."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable = lambda x: x) -> Node:
        """A copy of a node of another graph; arg_transform(node) gives a node of this one."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict, return_output_node: bool = False):
        """Copy all nodes of another graph here; what it returned, or None."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo=None):
        made = Graph(tracer_cls=self._tracer_cls)
        result = made.graph_copy(self, {}, return_output_node=True)
        if result is not None:
            value, old = result
            made.output(value, type_expr=old.type).meta = copy.copy(old.meta)
        made.pytree = self.pytree
        return made

    def _target_to_str(self, target: Target) -> str:
        name = target if isinstance(target, str) else target.__name__
        if name.startswith("__") and name.endswith("__") and len(name) > 4:
            name = name[2:-2]
        return _snake_case(name)

    # ---- where nodes are inserted

    def inserting_before(self, n: Node | None = None):
        """Let new nodes come before one (before all); as a context, inside of it only."""
        if n is None:
            return self.inserting_after(self._root)
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None):
        """Let new nodes come right after one (after all); as a context, inside of it only."""
        if n is None:
            return self.inserting_before(self._root)
        return _InsertPoint(self, n.append)

    # ---- changing it

    def erase_node(self, to_erase: Node):
        """Take a node that nobody uses out of the graph."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had "
                f"{len(to_erase.users)} users in the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase._set_arguments((), {})

    def eliminate_dead_code(self, is_impure_node: Callable | None = None) -> bool:
        """Erase the nodes that nobody uses; whether there were any."""
        self.lint()
        found = False
        for node in reversed(self.nodes):
            impure = node.is_impure() if is_impure_node is None else is_impure_node(node)
            if not node.users and not impure:
                self.erase_node(node)
                found = True
        return found

    def process_inputs(self, *args):
        """The arguments of the placeholders: the leaves of trees, or the arguments themselves."""
        return args if self.pytree is None else tuple(tree_flatten(list(args))[0])

    def process_outputs(self, out):
        """The result, of its leaves if it is a tree."""
        return out if self.pytree is None else tree_unflatten(out, self.pytree.out_spec)

    # ---- questions

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """The nodes of an operation, and with a target if one is given."""
        if target is None and op == "call_function":
            raise AssertionError("target is needed for call_function")
        return [n for n in self.nodes if n.op == op and target in (None, n.target)]

    def output_node(self) -> Node:
        """The node of what the program returns."""
        return next(n for n in reversed(self.nodes) if n.op == "output")

    def lint(self):
        """RuntimeError if nodes use what is not there, or is made later."""
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph")
            for used in node.all_input_nodes:
                if used not in seen:
                    raise RuntimeError(
                        f"Argument '{used}' of Node '{node}' was used before it has "
                        "been defined! Please check that Nodes in the graph are "
                        f"topologically ordered\n{self}"
                    )
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen.add(node)
            names.add(node.name)
        self._lint_targets()

    def _lint_targets(self):
        for node in self.nodes if self.owning_module is not None else ():
            if node.op in ("get_attr", "call_module"):
                found = self.owning_module
                for part in node.target.split("."):
                    if not hasattr(found, part):
                        raise RuntimeError(
                            f"Node {node} target {node.target} references "
                            f"nonexistent attribute {part} of "
                            f"{type(found).__name__}"
                        )
                    found = getattr(found, part)

    # ---- text

    def python_code(self, root_module: str, *, verbose: bool = False, **options) -> PythonCode:
        """The graph as a Python function."""
        src, names = _code.source(self, root_module)
        return PythonCode(src, names)

    def __str__(self):
        lines = [node.format_node() for node in self.nodes]
        return "\n    ".join(["graph():", *lines])

    def _shown(self, node: Node) -> str:
        """What a node calls; of a submodule its class, too."""
        name = str(getattr(node.target, "__name__", node.target))
        if node.op != "call_module" or self.owning_module is None:
            return name
        return f"{name}: {type(self.owning_module.get_submodule(node.target)).__name__}"

    def _repr_svg_(self) -> str:
        """The picture that notebooks show."""
        picture = Picture()
        for node in list(self.nodes)[:MAX_ROWS]:
            kind = {"placeholder": "input", "get_attr": "input", "output": "output"}.get(node.op, "node")
            shape = getattr(node.meta.get("tensor_meta"), "shape", None)
            called = "" if node.op in ("placeholder", "output") else f" = {self._shown(node)}"
            text = f"{node.name}{called}{'' if shape is None else f' {list(shape)}'}"
            operands = [x.name for x in node.all_input_nodes]
            picture.add(node.name, text, kind, operands, picture.last_row if kind == "output" else 0)
        return picture.svg()

    def print_tabular(self):
        """Print the nodes as a table; needs the package tabulate."""
        try:
            from tabulate import tabulate
        except ImportError:
            print(
                "`print_tabular` relies on the library `tabulate`, which could not be found on "
                "this machine. Run `pip install tabulate` to install the library."
            )
            raise
        rows = [[n.op, n.name, n.target, n.args, n.kwargs] for n in self.nodes]
        print(tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"]))
