"""torch.fx.graph_module: a module whose forward is made from a graph."""

from __future__ import annotations

import copy
import itertools
import linecache
import warnings
from pathlib import Path

import functorch_core.torch as torch

from ....nn import Module
from ..._missing import MESSAGE
from .graph import Graph, PythonCode

_numbers = itertools.count()
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"  # in meta: attributes that copies get
HINT = "# To see more debug info, please use `graph_module.print_readable()`"


def _forward_from(code: PythonCode):
    """The function of the code; tracebacks show its lines."""
    names = dict(code.globals)
    file = f"<eval_with_key>.{next(_numbers)}"
    linecache.cache[file] = (len(code.src), None, code.src.splitlines(keepends=True), file)
    exec(compile(code.src, file, "exec", dont_inherit=True), names)  # annotations are not strings
    return names["forward"]


class GraphModule(Module):
    """A module that runs a graph; of `root` it has the submodules and attributes that the graph
    names.

    Assigning `graph`, or calling `recompile` after the graph was changed, makes `forward` anew.

    >>> gm = torch.fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    >>> isinstance(gm, torch.fx.GraphModule), gm(torch.tensor([-1., 2.]))
    (True, tensor([0., 2.]))
    """

    __module__ = "torch.fx.graph_module"

    def __new__(cls, *args, **kwargs):
        # Each has a class of its own, as forward belongs to the class.
        for base in cls.__mro__:
            if base.__qualname__.partition(".")[2] != "GraphModuleImpl":
                cls = base
                break
        return super().__new__(type("GraphModuleImpl", (cls,), {"__qualname__": f"{cls.__name__}.GraphModuleImpl"}))

    def __init__(self, root, graph: Graph, class_name: str = "GraphModule"):
        super().__init__()
        self.__class__.__name__ = class_name
        if isinstance(root, Module):
            self.training = getattr(root, "training", self.training)
            targets = [n.target for n in graph.nodes if n.op in ("get_attr", "call_module")]
            for target in targets:
                _copy_attr(root, self, target)
        elif isinstance(root, dict):
            self._take(root, graph)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph
        self._tracer_cls = graph._tracer_cls
        self.meta: dict = {}

    def _take(self, root: dict, graph: Graph):
        """Attributes from a dict of qualified names."""
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module") and node.target not in root:
                raise RuntimeError(
                    f"Node {node} referenced target {node.target} but that target was not provided in ``root``!"
                )
        used = {n.target for n in graph.nodes if n.op in ("get_attr", "call_module")}
        for target in sorted(used, key=lambda t: t.count(".")):
            _assign_attr(root[target], self, target)

    # ---- the graph

    @property
    def graph(self) -> Graph:
        """The graph that is run."""
        return self._graph

    @graph.setter
    def graph(self, graph: Graph):
        if not isinstance(graph, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(graph)}")
        self._graph = graph
        graph.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The Python code of forward."""
        return self._code

    def recompile(self) -> PythonCode:
        """Make forward anew after the graph was changed."""
        code = self._graph.python_code("self")
        if self._graph.pytree is not None:
            self._in_spec, self._out_spec = self._graph.pytree.in_spec, self._graph.pytree.out_spec
        self._code = code.src
        self.__class__.forward = _forward_from(code)
        return code

    # ---- submodules

    def add_submodule(self, target: str, m: Module) -> bool:
        """Add a submodule by its qualified name; False if what is no module is in the way."""
        *path, name = target.split(".")
        module = self
        for part in path:
            found = getattr(module, part, None)
            if found is None:
                found = Module()
                setattr(module, part, found)
            if not isinstance(found, Module):
                return False
            module = found
        module.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Delete a submodule by its qualified name; whether it was there."""
        path, _, name = target.rpartition(".")
        try:
            parent = self.get_submodule(path)
        except AttributeError:
            return False
        if not isinstance(getattr(parent, name, None), Module):
            return False
        delattr(parent, name)
        return True

    def delete_all_unused_submodules(self):
        """Delete the submodules that no node calls or takes attributes of."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used |= {".".join(parts[:i]) for i in range(1, len(parts) + 1)}
            if node.op == "call_module":
                try:
                    inner = self.get_submodule(node.target).named_modules(node.target)
                    used |= {name for name, _ in inner}
                except AttributeError:
                    pass
        for name in [n for n, _ in self.named_modules() if n and n not in used]:
            self.delete_submodule(name)

    # ---- copies and text

    def _repr_html_(self) -> str:
        return f"{super()._repr_html_() or ''}<div style='overflow:auto'>{self.graph._repr_svg_()}</div>"

    def __deepcopy__(self, memo):
        made = self.__class__.__new__(self.__class__)
        made.__init__(
            _CodeOnlyModule({k: copy.deepcopy(v, memo) for k, v in vars(self).items() if k != "_graph"}),
            copy.deepcopy(self._graph, memo),
            self.__class__.__name__,
        )
        made.training = self.training
        made.meta = dict(self.meta)
        for name, value in made.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, {}).items():
            setattr(made, name, value)
        return made

    def __copy__(self):
        return GraphModule(self, copy.copy(self._graph), self.__class__.__name__)

    def __reduce__(self):
        state = {k: v for k, v in vars(self).items() if k not in ("_graph", "_tracer_cls", "meta")}
        return _from_code, (state, self._code, type(self).__name__)

    def to_folder(self, folder, module_name: str = "FxModule"):
        """NotImplementedError: no file is written; `code` is the text."""
        raise NotImplementedError(MESSAGE.format(name="torch.fx.GraphModule.to_folder") + f" (for {Path(folder)})")

    def print_readable(self, print_output: bool = True, **options) -> str:
        """Print the code as that of a class; the text."""
        code = "\n".join(f"    {line}" if line.strip() else line for line in self._code.strip("\n").splitlines())
        text = f"class {self.__class__.__name__}(torch.nn.Module):\n{code}\n"
        if print_output:
            print(text)
        return text

    def __str__(self):
        return "\n".join([super().__str__(), self._code, HINT])


class _CodeOnlyModule(Module):
    """A module with given attributes: the root of a copy."""

    def __init__(self, body: dict):
        super().__init__()
        vars(self).update(body)


def _from_code(state: dict, code: str, name: str) -> GraphModule:
    """What pickles of graph modules call: the code is traced again."""
    from ._symbolic_trace import Tracer

    class Leaves(Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return True

    root = _CodeOnlyModule(state)
    names = {"torch": torch, "device": torch.device, "inf": float("inf"), "nan": float("nan"), "NoneType": type(None)}
    exec(compile(code, "<pickled graph module>", "exec", dont_inherit=True), names)
    with warnings.catch_warnings():
        type(root).forward, before = names["forward"], type(root).forward
        try:
            graph = Leaves().trace(root)
        finally:
            type(root).forward = before
    return GraphModule(root, graph, name)


def _copy_attr(from_module: Module, to_module: Module, target: str):
    """Let a module have what another has under a qualified name, in new modules where there are none."""
    *path, name = target.split(".")
    for part in path:
        inner = getattr(from_module, part)
        if getattr(to_module, part, None) is inner:
            return
        if not hasattr(to_module, part):
            setattr(to_module, part, Module())
        from_module, to_module = inner, getattr(to_module, part)
    _assign_attr(getattr(from_module, name), to_module, name)


def _assign_attr(from_obj, to_module: Module, target: str):
    """Let a module have something under a qualified name: a tensor as a buffer."""
    *path, name = target.split(".")
    for part in path:
        if not hasattr(to_module, part):
            setattr(to_module, part, Module())
        to_module = getattr(to_module, part)
    if isinstance(from_obj, torch.Tensor) and not isinstance(from_obj, torch.nn.Parameter):
        to_module.register_buffer(name, from_obj)
    else:
        setattr(to_module, name, from_obj)
