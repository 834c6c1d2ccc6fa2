"""torch.fx.proxy: values that write down what is done with them."""

from __future__ import annotations

import dis
import enum
import inspect
import operator
from collections.abc import Callable, Iterator

import functorch_core.torch as torch

from ...dispatch import overrides as _overrides
from .. import public_names as _public_names
from ..overrides import is_tensor_method_or_property
from .graph import Graph
from .immutable_collections import immutable_dict, immutable_list
from .node import Argument, Node, Target, base_types

TRUTH = "symbolically traced variables cannot be used as inputs to control flow"
ITERATED = (
    "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop "
    "or as a *args or **kwargs function argument. See the torch.fx docs on pytorch.org for "
    "a more detailed explanation of what types of control flow can be traced, and check "
    "out the Proxy docstring for help troubleshooting Proxy iteration errors"
)
UNSUPPORTED = (
    "'{0}' is not supported in symbolic tracing by default. If you want this call to be "
    "recorded, please call torch.fx.wrap('{0}') at module scope"
)


class TraceError(ValueError):
    """Something that cannot be written down as a graph.

    >>> try:
    ...   torch.fx.symbolic_trace(lambda x: x if x.sum() > 0 else -x)
    ... except torch.fx.proxy.TraceError as error:
    ...   print(str(error)[:50])
    symbolically traced variables cannot be used as in
    """

    __module__ = "torch.fx.proxy"


class TracerBase:
    """Makes nodes of calls and proxies of nodes.

    >>> issubclass(torch.fx.Tracer, torch.fx.proxy.TracerBase)
    True
    """

    __module__ = "torch.fx.proxy"
    graph: Graph
    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False

    def create_node(
        self, kind: str, target: Target, args: tuple, kwargs: dict, name: str | None = None, type_expr=None
    ) -> Node:
        """A node in the graph."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        """The value of a node."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple,
        kwargs: dict,
        name: str | None = None,
        type_expr=None,
        proxy_factory_fn=None,
    ) -> Proxy:
        """A node of arguments among which there are proxies, and its value."""
        node = self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr)
        return self.proxy(node) if proxy_factory_fn is None else proxy_factory_fn(node)

    def create_arg(self, a) -> Argument:
        """An argument as nodes hold it; NotImplementedError for what they cannot hold."""
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, tuple):
            parts = [self.create_arg(x) for x in a]
            return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
        if isinstance(a, list):
            return immutable_list([self.create_arg(x) for x in a])
        if isinstance(a, dict):
            if any(isinstance(k, Proxy) for k in a):
                raise RuntimeError("Keys for dictionaries used as an argument cannot contain a Node")
            return immutable_dict({k: self.create_arg(v) for k, v in a.items()})
        if isinstance(a, slice):
            return slice(*[self.create_arg(x) for x in (a.start, a.stop, a.step)])
        if isinstance(a, range):
            return range(*[self.create_arg(x) for x in (a.start, a.stop, a.step)])
        plain = (*base_types, enum.Enum, type, type(None), type(...), Node)
        if isinstance(a, plain) or callable(a):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj: Proxy) -> bool:
        """The truth of a proxy: TraceError."""
        raise TraceError(TRUTH)

    def iter(self, obj: Proxy) -> Iterator:
        """The parts of a proxy where it is unpacked; TraceError elsewhere."""
        frame = inspect.currentframe().f_back.f_back
        code, last = frame.f_code, frame.f_lasti
        found = next((i for i in dis.get_instructions(code) if i.offset == last), None)
        if found is not None and found.opname == "UNPACK_SEQUENCE":
            return (obj[i] for i in range(found.argval))
        raise TraceError(ITERATED)

    def keys(self, obj: Proxy):
        """The keys of a proxy: another one."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Appends nodes to a graph, for proxies that are made by hand.

    >>> from torch.fx.proxy import GraphAppendingTracer, Proxy
    >>> graph = torch.fx.Graph()
    >>> x = Proxy(graph.placeholder("x"), GraphAppendingTracer(graph))
    >>> _ = graph.output((x + 1).node)
    >>> torch.fx.GraphModule({}, graph)(torch.zeros(2))
    tensor([1., 1.])
    """

    __module__ = "torch.fx.proxy"

    def __init__(self, graph: Graph):
        self.graph = graph


class Proxy:
    """The value of a node; what is done with it becomes nodes.

    >>> graph = torch.fx.Graph()
    >>> x = torch.fx.Proxy(graph.placeholder("x"))
    >>> torch.relu(x) + 1
    Proxy(add)
    """

    __module__ = "torch.fx.proxy"

    def __init__(self, node: Node, tracer: TracerBase | None = None):
        _overrides.living.add(1)
        self.node, self.tracer = node, tracer or GraphAppendingTracer(node.graph)

    def __del__(self, gone=_overrides.living.add):  # globals are None when Python ends
        gone(-1)

    def __repr__(self):
        return f"Proxy({self.node.name})"

    def __getattr__(self, name: str):
        if name in ("node", "tracer"):
            raise AttributeError(name)
        return Attribute(self, name)

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self):
        return self.tracer.iter(self)

    def __abs__(self):
        return self.tracer.create_proxy("call_function", abs, (self,), {})

    def __bool__(self):
        return self.tracer.to_bool(self)

    def __contains__(self, *args):
        raise ValueError(UNSUPPORTED.format("in"))

    def __len__(self):
        raise RuntimeError(UNSUPPORTED.format("len"))

    def __setitem__(self, index, value):
        raise TypeError(f"'{type(self).__name__}' object does not support item assignment")

    def keys(self):
        """The keys, for **proxy."""
        return self.tracer.keys(self)

    __hash__ = object.__hash__

    @classmethod
    def __torch_function__(cls, orig_method, types, args=(), kwargs=None):
        found: list[TracerBase] = []
        _find_tracers((args, kwargs or {}), found)
        if not found or any(tracer is not found[0] for tracer in found):
            raise RuntimeError(
                f"Found multiple different tracers {found} while trying to trace operations {orig_method}"
            )
        kwargs = kwargs or {}
        if is_tensor_method_or_property(orig_method):
            return found[0].create_proxy("call_method", orig_method.__name__, args, kwargs)
        args, kwargs = _as_python_asks(orig_method, args, kwargs)
        name = found[0].graph._target_to_str(orig_method.__name__)
        return found[0].create_proxy("call_function", orig_method, args, kwargs, name)


def _as_python_asks(function: Callable, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """The arguments as PyTorch's Python functions pass them on: by name, with defaults, those that
    have one."""
    known = _public_names.name_of(function)
    if function is torch.einsum and len(args) == 2 and isinstance(args[1], (tuple, list)):
        return (args[0], *args[1]), kwargs
    if known is None or known[0] != "torch.nn.functional":
        return args, kwargs
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return args, kwargs
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    given = bound.arguments
    return tuple([given[p.name] for p in parameters if p.default is p.empty]), {
        p.name: given[p.name] for p in parameters if p.default is not p.empty
    }


def _find_tracers(tree, found: list):
    if isinstance(tree, Proxy):
        found.append(tree.tracer)
    elif isinstance(tree, (tuple, list)):
        for x in tree:
            _find_tracers(x, found)
    elif isinstance(tree, dict):
        _find_tracers(list(tree.values()), found)


class Attribute(Proxy):
    """An attribute of a proxy: a node only if it is used as a value, not if it is called.

    >>> gm = torch.fx.symbolic_trace(lambda x: x.shape)
    >>> [node.target is getattr for node in gm.graph.nodes if node.op == "call_function"]
    [True]
    """

    __module__ = "torch.fx.proxy"

    def __init__(self, root: Proxy, attr: str):
        _overrides.living.add(1)
        self.root, self.attr, self.tracer, self._node = root, attr, root.tracer, None

    @property
    def node(self) -> Node:
        """The node of the attribute, made when it is asked for."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """The value of a parameter, whose shape is known.

    >>> issubclass(torch.fx.proxy.ParameterProxy, torch.fx.Proxy)
    True
    """

    __module__ = "torch.fx.proxy"

    def __init__(self, tracer: TracerBase, node: Node, name: str, param):
        super().__init__(node, tracer)
        self.param, self.name = param, name

    def __repr__(self):
        return f"ParameterProxy({self.name})"

    @property
    def shape(self):
        """The shape of the parameter."""
        return self.param.shape

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return self.param.ndim

    def size(self):
        """The shape of the parameter."""
        return self.param.size()

    def dim(self) -> int:
        """How many dimensions it has."""
        return self.param.dim()

    def numel(self) -> int:
        """How many elements it has."""
        return self.param.numel()


# ---- operators -----------------------------------------------------------------------------------


_OPERATORS = (
    "add and eq floordiv ge getitem gt invert le lshift lt matmul mod mul ne neg or pos pow rshift sub truediv xor"
)
_REFLECTED = "add and floordiv lshift matmul mod mul or pow rshift sub truediv xor"


def _function(name: str) -> Callable:
    return getattr(operator, f"{name}_" if name in ("and", "or") else name)


def _operator(function: Callable, reflected: bool) -> Callable:
    def method(self, *args):
        if reflected:
            return self.tracer.create_proxy("call_function", function, (*args, self), {})
        tracer = self.tracer
        return tracer.create_proxy("call_function", function, (self, *args), {})

    return method


for _name in _OPERATORS.split():
    setattr(Proxy, f"__{_name}__", _operator(_function(_name), False))
for _name in _REFLECTED.split():
    setattr(Proxy, f"__r{_name}__", _operator(_function(_name), True))
