"""torch.fx.node: one call in a graph."""

from __future__ import annotations

import builtins
import inspect
import operator
import types
from collections.abc import Callable
from typing import Any

import functorch_core.torch as torch

from ....names import torch_name
from .. import public_names as _public_names
from .immutable_collections import immutable_dict, immutable_list

Argument = Any
Target = Callable | str
base_types = (
    str,
    int,
    float,
    bool,
    complex,
    torch.dtype,
    torch.Tensor,
    torch.device,
    torch.memory_format,
    torch.layout,
)
OPS = frozenset({"placeholder", "get_attr", "call_function", "call_method", "call_module", "output", "root"})
# Functions whose calls stay although nobody uses the result.
_side_effectful_functions: set[Callable] = {torch._assert}


def has_side_effect(fn: Callable) -> Callable:
    """Let calls of the function stay in graphs although nobody uses the result; the function.

    >>> torch.fx.has_side_effect(print) is print
    True
    """
    _side_effectful_functions.add(fn)
    return fn


# ---- arguments -----------------------------------------------------------------------------------


def map_aggregate(a: Argument, fn: Callable) -> Argument:
    """fn of each leaf of nested lists, tuples, dicts and slices, which become immutable.

    >>> from torch.fx.node import map_aggregate
    >>> map_aggregate((1, [2, {"a": 3}]), lambda x: x * 10)
    (10, [20, {'a': 30}])
    """
    if isinstance(a, tuple):
        parts = [map_aggregate(x, fn) for x in a]
        return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
    if isinstance(a, list):
        return immutable_list([map_aggregate(x, fn) for x in a])
    if isinstance(a, dict):
        return immutable_dict({k: map_aggregate(v, fn) for k, v in a.items()})
    if isinstance(a, slice):
        return slice(*[map_aggregate(x, fn) for x in (a.start, a.stop, a.step)])
    return fn(a)


def map_arg(a: Argument, fn: Callable) -> Argument:
    """fn of each node among nested arguments.

    >>> gm = torch.fx.symbolic_trace(lambda x: x + 1)
    >>> node = list(gm.graph.nodes)[1]
    >>> torch.fx.map_arg(node.args, lambda n: n.name)
    ('x', 1)
    """
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


# ---- names of functions --------------------------------------------------------------------------


def _find_module_of_method(function: Callable) -> str:
    known = _public_names.name_of(function)
    if known is not None:
        return known[0]
    module = function.__module__
    if module is None:
        raise RuntimeError(f"cannot find module for {function}")
    return torch_name(module) or module


def _get_qualified_name(function: Callable) -> str:
    """torch.nn.functional.relu, operator.add, getattr."""
    if isinstance(function, (torch.ops.OpOverload, torch.ops.OpOverloadPacket)):
        return f"torch.ops.{function}"
    name = function.__name__
    if getattr(builtins, name, None) is function:
        return name
    if getattr(torch.Tensor, name, None) is function:
        return f"torch.Tensor.{name}"
    if name == "<lambda>":
        name = inspect.getsource(function).split("=")[0].strip()
    return f"{_find_module_of_method(function).replace('_operator', 'operator')}.{name}"


def _type_repr(obj) -> str:
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        module = torch_name(obj.__module__) or obj.__module__
        return obj.__qualname__ if module == "builtins" else f"{module}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    return obj.__name__ if isinstance(obj, types.FunctionType) else repr(obj)


# ---- nodes ---------------------------------------------------------------------------------------


class Node:
    """A call in a graph, or an input or the output of it; nodes are in a doubly linked list.

    >>> gm = torch.fx.symbolic_trace(lambda x: x + 1)
    >>> [(node.op, node.name) for node in gm.graph.nodes]
    [('placeholder', 'x'), ('call_function', 'add'), ('output', 'output')]
    """

    __module__ = "torch.fx.node"
    _args: tuple
    _kwargs: dict

    def __init__(self, graph, name: str, op: str, target: Target, args: tuple, kwargs: dict, return_type=None):
        if op not in OPS:
            raise AssertionError(f"Node.__init__: {op} is no opcode")
        if op == "call_function" and not callable(target):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                f"{type(target)} but a Callable is expected"
            )
        if op != "call_function" and not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a str is expected"
            )
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self.users: dict[Node, None] = {}
        self._input_nodes: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._prev = self._next = self
        self._erased = False
        self._set_arguments(args, kwargs)

    def __repr__(self):
        return self.name

    def __lt__(self, other):
        return self._position() < other._position()

    def __gt__(self, other):
        return self._position() > other._position()

    def _position(self) -> int:
        return list(self.graph.nodes).index(self)

    # ---- the list

    @property
    def next(self) -> Node:
        """The node after this one."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    def prepend(self, x: Node):
        """Move a node of the graph before this one."""
        if x.graph is not self.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if x is self:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x: Node):
        """Move a node of the graph after this one."""
        self._next.prepend(x)

    def _remove_from_list(self):
        self._prev._next, self._next._prev = self._next, self._prev

    # ---- arguments

    @property
    def args(self) -> tuple:
        """The arguments given by position."""
        return self._args

    @args.setter
    def args(self, args: tuple):
        self._set_arguments(args, self._kwargs)

    @property
    def kwargs(self) -> dict:
        """The arguments given by name."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: dict):
        self._set_arguments(self._args, kwargs)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    def _set_arguments(self, args, kwargs):
        for node in self._input_nodes:
            node.users.pop(self, None)
        self._input_nodes = {}

        def use(x):
            if isinstance(x, Node):
                self._input_nodes.setdefault(x)
                x.users.setdefault(self)
            return x

        self._args = map_aggregate(tuple(args), use)
        self._kwargs = map_aggregate(dict(kwargs), use)

    def insert_arg(self, idx: int, arg: Argument):
        """Insert an argument by position."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_arg(self, idx: int, arg: Argument):
        """Replace an argument by position."""
        self.args = (*self.args[:idx], arg, *self.args[idx + 1 :])

    def update_kwarg(self, key: str, arg: Argument):
        """Replace an argument by name."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node):
        """Use another node wherever `old_input` is among the arguments."""

        def swap(x):
            return new_input if x is old_input else x

        self._set_arguments(map_arg(self.args, swap), map_arg(self.kwargs, swap))

    def replace_all_uses_with(
        self, replace_with: Node, delete_user_cb=lambda user: True, *, propagate_meta: bool = False
    ) -> list[Node]:
        """Let the users of this node use another one; those that were changed."""
        if propagate_meta:
            replace_with.meta.update(self.meta)
        users = [user for user in self.users if delete_user_cb(user)]
        for user in users:
            user.replace_input_with(self, replace_with)
        return users

    # ---- questions

    @property
    def stack_trace(self) -> str | None:
        """Where the call was recorded, if the tracer keeps it."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None):
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether it stays although nobody uses it."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            return self.target in _side_effectful_functions
        if self.op == "call_module" and self.graph.owning_module is not None:
            module = self.graph.owning_module.get_submodule(self.target)
            return getattr(module, "_is_impure", False)
        return False

    def _pretty_print_target(self, target) -> str:
        if isinstance(target, str):
            return target
        module = getattr(target, "__module__", None)
        if module in ("builtins", "_operator"):
            return f"{module.lstrip('_')}.{target.__name__}"
        return _get_qualified_name(target)

    def format_node(self, placeholder_names: list | None = None, maybe_return_typename=None) -> str:
        """'%x : [num_users=1] = placeholder[target=x]'."""
        kind = f"{_type_repr(self.type)} " if self.type else ""
        head = (
            f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}"
            f"[target={self._pretty_print_target(self.target)}]"
        )
        if self.op == "placeholder":
            return f"{head}(default={self.args[0]})" if self.args else head
        if self.op == "get_attr":
            return head
        if self.op == "output":
            return f"return {self.args[0]}"
        return f"{head}(args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})"


def _format_arg(arg) -> str:
    if isinstance(arg, Node):
        return f"%{arg}"
    if isinstance(arg, list):
        return f"[{', '.join(map(_format_arg, arg))}]"
    if isinstance(arg, tuple):
        comma = "," if len(arg) == 1 else ""
        return f"({', '.join(map(_format_arg, arg))}{comma})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{k}: {_format_arg(v)}" for k, v in arg.items()) + "}"
    return str(arg)


# ---- operators that code shows as such -----------------------------------------------------------


_BINARY = {
    "add": "+",
    "floordiv": "//",
    "mul": "*",
    "mod": "%",
    "sub": "-",
    "truediv": "/",
    "and_": "&",
    "xor": "^",
    "or_": "|",
    "lshift": "<<",
    "rshift": ">>",
    "matmul": "@",
    "pow": "**",
}
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">="}
_UNARY = {"pos": "+", "neg": "-", "invert": "~"}
MAGIC = {
    **{getattr(operator, n): f"{{}} {s} {{}}" for n, s in {**_BINARY, **_COMPARISONS}.items()},
    **{getattr(operator, n): f"{s}{{}}" for n, s in _UNARY.items()},
    operator.getitem: "{}[{}]",
}
INPLACE = {getattr(operator, f"i{n.rstrip('_')}"): f"{{}} {s}= {{}}" for n, s in _BINARY.items()}
