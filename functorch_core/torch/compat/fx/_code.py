"""The Python code of a graph."""

from __future__ import annotations

import types
import typing

import functorch_core.torch as torch

from ...tensors import pytree as _pytree
from ...tensors.pytree import TreeSpec
from . import _pytree as _fx_pytree
from .node import INPLACE, MAGIC, Node, _get_qualified_name, _type_repr, map_arg

NOTHING = object()


class PyTree(typing.NamedTuple):
    """Arguments that are trees: their names, and the structures of all of them and of the result."""

    names: list[str]
    in_spec: TreeSpec
    out_spec: TreeSpec


GENERICS = {list: typing.List, dict: typing.Dict, set: typing.Set, tuple: typing.Tuple, frozenset: typing.FrozenSet}


def source(graph, root: str) -> tuple[str, dict]:
    """(the function `forward` as text, the globals that it needs)."""
    return _Writer(graph, root).write()


def format_target(base: str, target: str) -> str:
    """base.layer.weight; getattr where a part is no name."""
    for part in target.split("."):
        base = f"{base}.{part}" if part.isidentifier() else f'getattr({base}, "{part}")'
    return base


class _Writer:
    """Writes the lines of one graph."""

    def __init__(self, graph, root: str):
        from .graph import BUILTINS, _Namespace

        self.graph, self.root, self.globals, self.builtins = graph, root, {}, BUILTINS
        self.namespace = _Namespace()
        for node in graph.nodes:  # names of globals differ from those of nodes
            self.namespace._used_names.add(node.name)
        self.last_uses = self._last_uses()

    def _last_uses(self) -> dict[Node, list[Node]]:
        """For each node the ones that nobody uses after it."""
        seen: set[Node] = set()
        found: dict[Node, list[Node]] = {}
        for node in reversed(self.graph.nodes):

            def use(n, user=node):
                if n not in seen:
                    seen.add(n)
                    found.setdefault(user, []).append(n)

            map_arg(node.args, use)
            map_arg(node.kwargs, use)
        return found

    def write(self) -> tuple[str, dict]:
        """The text and its globals."""
        arguments, lines, returns = [], [], ""
        for node in self.graph.nodes:
            if node.op == "placeholder":
                arguments.append(self._argument(node))
                if node.target.lstrip("*") != node.name:
                    lines.append(f"{node.name} = {node.target.lstrip('*')}")
            elif node.op == "output":
                returns = "" if node.type is None else f" -> {self._type(node.type)}"
                lines.append(f"return {self._text(node.args[0])}")
            else:
                lines.append(self._statement(node) + self._deletion(node))
        if self.graph.pytree is not None:
            arguments = self._in_trees(lines)
        if not lines:
            lines.append("pass")
        signature = ", ".join([self.root, *arguments])
        body = "\n".join(f"    {line}" for line in lines)
        return (f"\n\n\ndef forward({signature}){returns}:\n{body}\n    "), self.globals

    def _in_trees(self, lines: list[str]) -> list[str]:
        """The arguments of which the placeholders are leaves."""
        names = self.graph.pytree.names
        self.globals.update(fx_pytree=_fx_pytree, pytree=_pytree)
        leaves = "".join([f"{node}, " for node in self.graph.nodes if node.op == "placeholder"])
        flat = f"fx_pytree.tree_flatten_spec([{', '.join(names)}], self._in_spec)"
        lines.insert(0, f"{leaves.rstrip()} = {flat}" if leaves else flat)
        lines[-1] = f"return pytree.tree_unflatten({lines[-1].removeprefix('return ')}, self._out_spec)"
        return names

    def _argument(self, node: Node) -> str:
        kind = "" if node.type is None else f" : {self._type(node.type)}"
        default = f" = {self._text(node.args[0])}" if node.args else ""
        return f"{node.target}{kind}{default}"

    def _deletion(self, node: Node) -> str:
        """Names that are not needed any more become None, so that memory is given back."""
        names = [*map(repr, self.last_uses.get(node, ()))]
        if not node.users:
            names.append(node.name)
        return f";  {' = '.join([*names, 'None'])}" if names else ""

    def _statement(self, node: Node) -> str:
        kind = "" if node.type is None else f" : {self._type(node.type)}"
        name, args = f"{node.name}{kind}", node.args
        if node.op == "get_attr":
            return f"{name} = {format_target(self.root, node.target)}"
        if node.op == "call_module":
            return f"{name} = {format_target(self.root, node.target)}({self._call(node)})"
        if node.op == "call_method":
            of = format_target(self._text(args[0]), node.target)
            return f"{name} = {of}({self._call(node, 1)})"
        if node.target in MAGIC:
            return f"{name} = {MAGIC[node.target].format(*map(self._text, args))}"
        if node.target in INPLACE:
            change = INPLACE[node.target].format(*map(self._text, args))
            return f"{change};  {name} = {self._text(args[0])}"
        if node.target is getattr and len(args) == 2 and str(args[1]).isidentifier():
            return f"{name} = {format_target(self._text(args[0]), args[1])}"
        return f"{name} = {self._global(node.target)}({self._call(node)})"

    def _call(self, node: Node, start: int = 0) -> str:
        by_name = [f"{k} = {self._text(v)}" for k, v in node.kwargs.items()]
        return ", ".join([*map(self._text, node.args[start:]), *by_name])

    # ---- names and values

    def _text(self, x) -> str:
        if isinstance(x, tuple):
            inner = ", ".join(map(self._text, x))
            if hasattr(x, "_fields"):
                return f"{self._global(type(x))}({inner})"
            return f"({inner},)" if len(x) == 1 else f"({inner})"
        if isinstance(x, list):
            return f"[{', '.join(map(self._text, x))}]"
        if isinstance(x, dict):
            return "{" + ", ".join(f"{k!r}: {self._text(v)}" for k, v in x.items()) + "}"
        if isinstance(x, slice):
            return f"slice({', '.join(map(self._text, (x.start, x.stop, x.step)))})"
        if isinstance(x, Node):
            return x.name
        if isinstance(x, type) or callable(x) and not isinstance(x, torch.dtype):
            return self._global(x)
        return self._known(repr(x))

    def _known(self, text: str) -> str:
        """A literal; the names that it may use are made known."""
        for name, thing in self.builtins.items():
            if name in text:
                self.globals[name] = thing
        return text

    def _type(self, kind) -> str:
        kind = getattr(kind, "__forward_arg__", kind)  # of a name that is not there
        if isinstance(kind, str):
            return self._known(kind)
        if kind is None or kind is type(None):
            return "None" if kind is None else self._known("NoneType")
        if isinstance(kind, types.UnionType):  # int | None, from Python 3.14 on Optional[int], too
            return "|".join(map(self._type, typing.get_args(kind)))
        origin = typing.get_origin(kind)
        if origin is not None:
            if not isinstance(kind, types.GenericAlias):  # List[int], as list[int] has the same origin
                origin = GENERICS.get(origin, origin)
            name = repr(origin) if repr(origin).startswith("typing.") else _type_repr(origin)
            inside = ",".join(map(self._type, typing.get_args(kind)))
            return f"{self._global(origin, name)}[{inside}]"
        if isinstance(kind, type):
            return self._global(kind, _type_repr(kind))
        return self._known(repr(kind)) if not repr(kind).startswith("typing.") else (self._global(kind, repr(kind)))

    def _global(self, thing, name: str | None = None) -> str:
        """The name by which the code calls a function, class or another object, as a module that is an argument."""
        if name is None and not hasattr(thing, "__name__"):
            return self._named(type(thing).__name__, thing)
        if name is None:
            name = _type_repr(thing) if isinstance(thing, type) else _get_qualified_name(thing)
        if name.startswith("torch."):
            self.globals["torch"] = torch
            return name
        if "." not in name:  # a builtin
            return name
        return self._named(name.replace(".", "_"), thing)

    def _named(self, candidate: str, thing) -> str:
        short = self.namespace.create_name(candidate, thing)
        self.globals[short] = thing
        return short
