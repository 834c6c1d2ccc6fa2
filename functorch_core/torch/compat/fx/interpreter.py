"""torch.fx.interpreter: running a graph node by node, and making another from it."""

from __future__ import annotations

from ....nn import Module
from ._symbolic_trace import Tracer
from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_aggregate, map_arg
from .proxy import Proxy


class Interpreter:
    """Runs a graph node by node; methods of subclasses decide what a node gives.

    >>> module = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> torch.fx.Interpreter(module).run(torch.tensor([-1.]))
    tensor([1.])
    """

    __module__ = "torch.fx.interpreter"

    def __init__(self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None):
        self.module, self.submodules = module, dict(module.named_modules())
        self.graph = module.graph if graph is None else graph
        self.env: dict[Node, object] = {}
        self.name, self.extra_traceback = "Interpreter", True
        self.garbage_collect_values = garbage_collect_values
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        if garbage_collect_values:
            self._find_last_uses()

    def _find_last_uses(self):
        seen: set[Node] = set()
        for node in reversed(self.graph.nodes):
            for used in node.all_input_nodes:
                if used not in seen:
                    seen.add(used)
                    self.user_to_last_uses.setdefault(node, []).append(used)

    def run(self, *args, initial_env: dict | None = None, enable_io_processing: bool = True):
        """What the graph gives for these arguments."""
        self.env = {} if initial_env is None else dict(initial_env)
        self.args_iter = iter(self.graph.process_inputs(*args) if enable_io_processing else args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    error.add_note(f"While executing {node.format_node()}")
                raise
            if node.op == "output":
                return self.graph.process_outputs(self.env[node]) if enable_io_processing else self.env[node]
            for used in self.user_to_last_uses.get(node, ()):
                del self.env[used]
        return None

    def run_node(self, n: Node):
        """What one node gives."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def boxed_run(self, args_list: list):
        """run(*args_list), which is emptied."""
        args = list(args_list)
        args_list.clear()
        return self.run(*args)

    # ---- kinds of nodes

    def placeholder(self, target, args: tuple, kwargs: dict):
        """The next argument, or the default."""
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target, args: tuple, kwargs: dict):
        """An attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target, args: tuple, kwargs: dict):
        """The call of a function."""
        return target(*args, **kwargs)

    def call_method(self, target, args: tuple, kwargs: dict):
        """The call of a method of the first argument."""
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target, args: tuple, kwargs: dict):
        """The call of a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target, args: tuple, kwargs: dict):
        """The result."""
        return args[0]

    # ---- helpers

    def fetch_attr(self, target: str):
        """An attribute by its qualified name."""
        found = self.module
        parts = target.split(".")
        for i, part in enumerate(parts):
            if not hasattr(found, part):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(parts[: i + 1])}")
            found = getattr(found, part)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple, dict]:
        """The arguments of a node, as values."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args, n: Node):
        """Values for the nodes among arguments."""

        def load(used):
            if used not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {used}! Run Graph.lint() to diagnose such issues"
                )
            return self.env[used]

        return map_arg(args, load)


class Transformer(Interpreter):
    """Makes a graph module from another; methods of subclasses decide what becomes of a node.

    >>> import operator
    >>> class Negate(torch.fx.Transformer):
    ...   def call_function(self, target, args, kwargs):
    ...     return super().call_function(operator.sub if target is operator.add else target, args, kwargs)
    >>> Negate(torch.fx.symbolic_trace(lambda x: x + 1)).transform()(torch.zeros(2))
    tensor([-1., -1.])
    """

    __module__ = "torch.fx.interpreter"

    def __init__(self, module: Module):
        super().__init__(module)
        self.new_graph = Graph(tracer_cls=getattr(module.graph, "_tracer_cls", None))
        transformer = self

        class TransformerTracer(Tracer):
            def __init__(self):
                super().__init__()
                self.graph, self.root = transformer.new_graph, module

            def is_leaf_module(self, m, module_qualified_name):
                return True

        self.tracer = TransformerTracer()

    def placeholder(self, target, args: tuple, kwargs: dict) -> Proxy:
        """A placeholder of the new graph."""
        default = (args[0],) if args else ()
        return Proxy(self.new_graph.create_node("placeholder", target, default), self.tracer)

    def get_attr(self, target, args: tuple, kwargs: dict) -> Proxy:
        """The attribute in the new graph."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target, args: tuple, kwargs: dict):
        """The call of the submodule in the new graph."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_function(self, target, args: tuple, kwargs: dict):
        """The call of the function in the new graph."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The new module."""
        result = super().run(enable_io_processing=False)
        if result is not None:
            self.new_graph.output(map_result(result))
        return GraphModule(self.module, self.new_graph)


def map_result(result):
    """The result of proxies as one of nodes.

    >>> from torch.fx.interpreter import map_result
    >>> map_result([1, "a"])
    [1, 'a']
    """
    return map_aggregate(result, lambda x: x.node if isinstance(x, Proxy) else x)
