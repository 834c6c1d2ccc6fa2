"""Traced graphs in files: nodes as plain lists, functions by their names, tensors as torch.save writes them."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable

import functorch_core.torch as torch

from ....nn import Module, Parameter
from ..._missing import MESSAGE
from ...tensors.base import Tensor
from ...tensors.pytree import tree_flatten, tree_unflatten
from ..fx.graph import Graph
from ..fx.node import Node, _get_qualified_name

FORMAT = "functorch_core traced graph 1"
PLAIN = (bool, int, float, complex, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format)


class _Place:
    """Stands for a tensor in a structure."""

    def __init__(self, place: int):
        self.place = place


def _refuse(what) -> NotImplementedError:
    return NotImplementedError(
        MESSAGE.format(name=f"torch.jit.save of {what!r}") + ": only PyTorch's functions and plain values"
    )


# ---- functions by name ---------------------------------------------------------------------------


def _name_of(function: Callable) -> str:
    name = _get_qualified_name(function)
    if _named(name) is not function:
        raise _refuse(function)
    return name


def _named(name: str):
    """The function of a name: of torch, of operator, or getattr; nothing else can be called by a file."""
    head, *path = name.split(".")
    if name == "getattr":
        return getattr
    home = {"torch": torch, "operator": operator, "_operator": operator}.get(head)
    if home is None or any(part.startswith("__") for part in path):
        return None
    try:
        return functools.reduce(getattr, path, home)
    except AttributeError:
        return None


# ---- values --------------------------------------------------------------------------------------


def _encoded(x):
    """A value in lists, dicts of one key, and what torch.load takes with weights_only=True."""
    if isinstance(x, Node):
        return {"node": x.name}
    if isinstance(x, _Place):
        return {"place": x.place}
    if isinstance(x, slice):
        return {"slice": [_encoded(part) for part in (x.start, x.stop, x.step)]}
    if x is ...:
        return {"ellipsis": None}
    if type(x) in (tuple, torch.Size):
        return {"tuple": [_encoded(part) for part in x]}
    if isinstance(x, dict):
        return {"dict": [[key, _encoded(value)] for key, value in x.items()]}
    if isinstance(x, list):
        return [_encoded(part) for part in x]
    if not isinstance(x, PLAIN):
        raise _refuse(x)
    return x


def _decoded(x, nodes: dict):
    if isinstance(x, list):
        return [_decoded(part, nodes) for part in x]
    if not isinstance(x, dict):
        return x
    ((kind, value),) = x.items()
    if kind == "node":
        return nodes[value]
    if kind == "place":
        return _Place(value)
    if kind == "ellipsis":
        return ...
    if kind == "dict":
        return {key: _decoded(part, nodes) for key, part in value}
    parts = [_decoded(part, nodes) for part in value]
    return slice(*parts) if kind == "slice" else tuple(parts)


def _structure(tree):
    """A structure with places for its tensors."""
    leaves, spec = tree_flatten(tree)
    return _encoded(tree_unflatten([_Place(i) for i in range(len(leaves))], spec))


# ---- graphs --------------------------------------------------------------------------------------


def contents(method, root: Module, module: str | None) -> dict:
    """What is written: nodes, tensors by their names, structures of arguments and results."""
    nodes = [
        [
            n.op,
            n.name,
            n.target if isinstance(n.target, str) else _name_of(n.target),
            _encoded(n.args),
            _encoded(n.kwargs),
        ]
        for n in method.graph.nodes
    ]
    inputs, outputs = method.structures
    as_is = isinstance(inputs, dict)  # read from a file
    return {
        "format": FORMAT,
        "name": method.name,
        "module": module,
        "arguments": _argument_names(method, as_is),
        "nodes": nodes,
        "inputs": inputs if as_is else _structure(inputs),
        "outputs": outputs if as_is else _structure(outputs),
        "parameters": {name: p.detach() for name, p in root.named_parameters(remove_duplicate=False)},
        "frozen": [name for name, p in root.named_parameters(remove_duplicate=False) if not p.requires_grad],
        "buffers": dict(root.named_buffers(remove_duplicate=False)),
        "transient": [name for name, _ in root.named_buffers() if name not in root.state_dict()],
        "training": root.training,
    }


def _argument_names(method, as_is: bool) -> list[str] | None:
    """The names of the arguments that were given; None if they are not known."""
    if method.signature is None or as_is:
        return None if method.signature is None else [*method.signature.parameters]
    args, kwargs = method.structures[0]
    return None if kwargs else [*method.signature.parameters][: len(args)]


def read(contents: dict) -> tuple[Graph, Module, Callable, Callable]:
    """(graph, the module with its tensors, arguments -> inputs, outputs -> result)."""
    root = Module()
    for name, value in contents["parameters"].items():
        _put(root, name, Parameter(value, name not in contents["frozen"]))
    for name, value in contents["buffers"].items():
        _put(root, name, value, name not in contents["transient"])
    root.train(contents["training"])
    graph, nodes = Graph(), {}
    for op, name, target, args, kwargs in contents["nodes"]:
        called = _named(target) if op == "call_function" else target
        if called is None:
            raise RuntimeError(f"torch.jit.load: the file calls {target!r}, which is none of PyTorch's functions")
        nodes[name] = graph.create_node(op, called, _decoded(args, nodes), _decoded(kwargs, nodes), name)
    expected, outputs = _decoded(contents["inputs"], {}), _decoded(contents["outputs"], {})

    def tensors_of(args, kwargs) -> list[Tensor]:
        leaves, spec = tree_flatten((args, kwargs))
        known = tree_flatten(expected)[1]
        if spec != known:
            raise TypeError(f"the arguments have the structure {spec}, but the traced ones had {known}")
        return leaves

    return graph, root, tensors_of, lambda results: tree_unflatten(list(results), tree_flatten(outputs)[1])


def _put(root: Module, path: str, value, persistent: bool = True):
    *parents, name = path.split(".")
    for part in parents:
        if part not in root._modules:
            root.add_module(part, Module())
        root = root._modules[part]
    if isinstance(value, Parameter):
        root.register_parameter(name, value)
    else:
        root.register_buffer(name, value, persistent)
