"""torch.fx: programs as graphs that can be read, changed and run.

Symbolic tracing calls a module with proxies. What is missing: concrete arguments other than plain
values, the passes but for shape_prop, and all of torch.fx.experimental but proxy_tensor.make_fx.
"""

from ... import _missing
from ._symbolic_trace import Tracer, symbolic_trace, wrap
from .graph import Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern

__getattr__ = _missing.getter(
    __name__,
    (
        "_pytree",
        "experimental",
        "immutable_collections",
        "interpreter",
        "graph",
        "node",
        "proxy",
        "graph_module",
        "_symbolic_trace",
    ),
)
