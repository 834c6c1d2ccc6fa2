"""torch.fx symbolic tracing: a module called once with proxies, written down as a graph."""

from __future__ import annotations

import builtins
import contextlib
import functools
import inspect
import math
import sys
import types
from collections.abc import Callable
from typing import Any

import functorch_core.torch as torch

from ....annotations import lenient_annotations, lenient_signature
from ....names import torch_name
from ....nn import Module, Parameter, Sequential
from ..._missing import MESSAGE
from .graph import Graph
from .graph_module import GraphModule
from .node import Node, base_types
from .proxy import ParameterProxy, Proxy, TracerBase

NOT_INSTALLED = "module is not installed as a submodule"
_wrapped: dict[tuple[int, str], dict] = {}  # functions that `wrap` has named: module globals
_tracing = 0


def is_fx_tracing() -> bool:
    """Whether symbolic tracing is going on."""
    return bool(_tracing)


def wrap(fn_or_name):
    """Let tracing write down calls of a function of this module as such; also a decorator.

    To be called where the module is executed, with the function or its name.

    >>> torch.fx.wrap("len")
    'len'
    >>> [node.name for node in torch.fx.symbolic_trace(lambda x: x + len(x)).graph.nodes]
    ['x', 'len_1', 'add', 'output']
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe().f_back
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


class Tracer(TracerBase):
    """Symbolic tracing; methods of subclasses decide what becomes a node.

    >>> module = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    >>> [node.op for node in torch.fx.Tracer().trace(module).nodes]
    ['placeholder', 'call_module', 'call_module', 'output']
    """

    __module__ = "torch.fx._symbolic_trace"

    def __init__(
        self, autowrap_modules: tuple = (math,), autowrap_functions: tuple = (), param_shapes_constant: bool = False
    ):
        self._autowrap_functions = [
            f for module in autowrap_modules for f in vars(module).values() if callable(f) and not isinstance(f, type)
        ]
        self._autowrap_functions += autowrap_functions
        self.param_shapes_constant = param_shapes_constant
        self.root: Module = Module()
        self.tensor_attrs: dict[int, str] = {}
        self.submodule_paths: dict[Module, str] | None = None

    # ---- what subclasses may change

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether calls of a module become one node: those of torch.nn but Sequential."""
        module = torch_name(m.__module__) or m.__module__
        return module.startswith(("torch.nn", "torch.ao.nn")) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The name of a submodule; NameError if it is none."""
        for name, module in self.root.named_modules():
            if module is mod:
                return name
        raise NameError(NOT_INSTALLED)

    def call_module(self, m: Module, forward: Callable, args: tuple, kwargs: dict):
        """What a call of a module gives: a node for leaves, else what forward gives."""
        path = self.path_of_module(m)
        if self.is_leaf_module(m, path):
            return self.create_proxy("call_module", path, args, kwargs)
        return forward(*args, **kwargs)

    def getattr(self, attr: str, attr_val, parameter_proxy_cache: dict):
        """What reading an attribute of a module gives: proxies for parameters."""
        if not isinstance(attr_val, Parameter):
            return attr_val
        for name, parameter in self.root.named_parameters():
            if parameter is attr_val:
                if name not in parameter_proxy_cache:
                    factory = (
                        (lambda node, name=name: ParameterProxy(self, node, name, attr_val))
                        if self.param_shapes_constant
                        else None
                    )
                    parameter_proxy_cache[name] = self.create_proxy("get_attr", name, (), {}, proxy_factory_fn=factory)
                return parameter_proxy_cache[name]
        return attr_val

    def create_arg(self, a):
        """An argument as nodes hold it: parameters and tensors become attributes of the root."""
        if isinstance(a, Parameter):
            for name, parameter in self.root.named_parameters():
                if parameter is a:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, torch.Tensor):
            return self.create_node("get_attr", self._name_of_tensor(a), (), {})
        return super().create_arg(a)

    def _name_of_tensor(self, tensor) -> str:
        for name, buffer in self.root.named_buffers():
            if buffer is tensor:
                return name
        name = self.tensor_attrs.get(id(tensor))
        if name is None:
            i = 0
            while hasattr(self.root, f"_tensor_constant{i}"):
                i += 1
            name = self.tensor_attrs[id(tensor)] = f"_tensor_constant{i}"
            setattr(self.root, name, tensor)
        return name

    # ---- tracing

    def trace(self, root: Module | Callable, concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module's forward or of a function; `concrete_args` are arguments whose
        values the graph holds."""
        global _tracing
        is_module = isinstance(root, Module)
        self.root = root if is_module else Module()
        function = type(root).forward if is_module else root
        self.graph = Graph(tracer_cls=type(self))
        self.tensor_attrs = _tensors_of(self.root)
        args, kwargs = self._inputs(function, is_module, concrete_args or {})
        _tracing += 1
        try:
            with self._patched(function):
                result = function(*args, **kwargs)
                kind = lenient_annotations(function).get("return")
                self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=kind)
        finally:
            _tracing -= 1
        self.submodule_paths = None
        return self.graph

    def _inputs(self, function: Callable, is_module: bool, concrete: dict) -> tuple[list, dict]:
        """Proxies for the parameters of a function; the graph's placeholders."""
        parameters = list(lenient_signature(inspect.unwrap(function)).parameters.values())
        args: list = [self.root] if is_module else []
        kwargs: dict = {}
        for parameter in parameters[is_module:]:
            name, kind = parameter.name, parameter.kind
            if name in concrete:
                value = concrete[name]
                if not (value is None or isinstance(value, base_types)):
                    raise NotImplementedError(MESSAGE.format(name="torch.fx: concrete_args of other than plain values"))
                self._placeholder(parameter)  # stays an argument, whose value is not looked at
            else:
                value = self._placeholder(parameter)
            if kind is parameter.VAR_POSITIONAL:
                args.append(value)
            elif kind is parameter.VAR_KEYWORD:
                kwargs[name] = value
            elif kind is parameter.KEYWORD_ONLY:
                kwargs[name] = value
            else:
                args.append(value)
        return args, kwargs

    def _placeholder(self, parameter: inspect.Parameter) -> Proxy:
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}
        default = () if parameter.default is parameter.empty else (parameter.default,)
        kind = None if parameter.annotation is parameter.empty else parameter.annotation
        return self.create_proxy(
            "placeholder",
            stars.get(parameter.kind, "") + parameter.name,
            default,
            {},
            type_expr=kind if not isinstance(kind, str) else None,
        )

    @contextlib.contextmanager
    def _patched(self, function: Callable):
        """While tracing: calls of modules, reading of parameters, and wrapped functions."""
        parameters: dict[str, Proxy] = {}
        call, get = Module.__call__, Module.__getattr__

        @functools.wraps(call)
        def traced_call(module, *args, **kwargs):
            return self.call_module(module, lambda *a, **k: call(module, *a, **k), args, kwargs)

        @functools.wraps(get)
        def traced_get(module, name):
            return self.getattr(name, get(module, name), parameters)

        changes = _wrapped_functions(self._autowrap_functions, function)
        Module.__call__, Module.__getattr__ = traced_call, traced_get
        for names, name, original in changes:
            names[name] = _recording(original)
        try:
            yield
        finally:
            Module.__call__, Module.__getattr__ = call, get
            for names, name, original in changes:
                names[name] = original


def _tensors_of(root: Module) -> dict[int, str]:
    """The tensors that are attributes of modules, by identity."""
    found = {}
    for path, module in root.named_modules():
        for name, value in vars(module).items():
            if isinstance(value, torch.Tensor):
                found[id(value)] = f"{path}.{name}".lstrip(".")
    return found


def _wrapped_functions(functions: list, traced: Callable) -> list[tuple[dict, str, Callable]]:
    """Where functions that become nodes are found: (globals, name, function)."""
    changes = []
    for (_, name), names in _wrapped.items():
        original = names.get(name, builtins.__dict__.get(name))
        if original is not None:
            changes.append((names, name, original))
    identities = {id(f) for f in functions}
    names = getattr(inspect.unwrap(traced), "__globals__", {})
    changes += [(names, name, value) for name, value in list(names.items()) if id(value) in identities]
    for f in functions:  # math.sqrt
        home = vars(sys.modules.get(getattr(f, "__module__", None), types.SimpleNamespace()))
        if isinstance(f, types.BuiltinFunctionType) and home.get(f.__name__) is f:
            changes.append((home, f.__name__, f))
    return changes


def _recording(original: Callable) -> Callable:
    """The function; a node of the call where an argument is a proxy."""

    @functools.wraps(original)
    def recording(*args, **kwargs):
        proxy = _find_proxy((args, kwargs))
        if proxy is None:
            return original(*args, **kwargs)
        return proxy.tracer.create_proxy("call_function", original, args, kwargs)

    return recording


def _find_proxy(tree) -> Proxy | None:
    if isinstance(tree, Proxy):
        return tree
    parts = tree if isinstance(tree, (tuple, list)) else (tree.values() if isinstance(tree, dict) else ())
    return next((p for p in map(_find_proxy, parts) if p is not None), None)


def symbolic_trace(root: Module | Callable, concrete_args: dict[str, Any] | None = None):
    """A module that does what `root` does, with its graph as `graph` and its code as `code`.

    >>> module = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> module(torch.tensor([-1., 1.]))
    tensor([1., 2.])
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


__all__ = ["Node", "Tracer", "is_fx_tracing", "symbolic_trace", "wrap"]
