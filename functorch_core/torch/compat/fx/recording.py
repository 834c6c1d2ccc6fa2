"""Graphs of what a function does with example inputs: for torch.jit.trace and backends of torch.compile.

The function runs, with tensors, in a mode that sees every torch function it calls. So Python decides its
branches, and the graph has the way that was taken.
"""

from __future__ import annotations

import contextlib
import gc
import operator
from collections.abc import Callable

import numpy as np

import functorch_core.torch as torch

from ....nn import Module
from ...dispatch import overrides
from ...tensors.base import Tensor
from ...tensors.pytree import tree_flatten, tree_leaves, tree_unflatten
from ..overrides import is_tensor_method_or_property
from .graph import Graph
from .graph_module import GraphModule
from .immutable_collections import immutable_dict, immutable_list
from .node import Node

# Functions that make Python's values of tensors, by what these are.
TO_PYTHON = {
    "__bool__": "Python boolean",
    "is_nonzero": "Python boolean",
    "equal": "Python boolean",
    "allclose": "Python boolean",
    "__contains__": "Python boolean",
    "item": "Python number",
    "__float__": "Python float",
    "__complex__": "Python number",
    "__int__": "Python integer",
    "__index__": "Python index",
    "tolist": "Python list",
    "numpy": "NumPy array",
    "__array__": "NumPy array",
    "__format__": "Python string",
    "__repr__": "Python string",
}
FROM_NUMPY = "tensor of a NumPy array"
LENGTH = "length"
NEVER = {"backward", "register_hook", "requires_grad_", "retain_grad", "set_", "apply_", "map_"}
UNKNOWN = (
    "{what} makes a tensor that a recorded graph cannot hold: by torch.autograd.Function, torch.func, "
    "torch.autograd.grad or NumPy, while it is traced"
)


class CannotRecord(NotImplementedError):
    """Something that a graph cannot hold."""


class TracedInt(int):
    """A size of a traced tensor: an int that knows its node, so that the graph asks again."""

    def __new__(cls, value: int, node: Node):
        made = super().__new__(cls, value)
        made.node = node
        return made

    def __reduce__(self):
        return int, (int(self),)


def _arithmetic(name: str, reflected: bool = False):
    function = getattr(operator, name)

    def method(self, other):
        if not isinstance(other, int) or isinstance(other, bool):
            return NotImplemented
        args = (other, self) if reflected else (self, other)
        nodes = tuple(x.node if isinstance(x, TracedInt) else x for x in args)
        return TracedInt(function(*map(int, args)), self.node.graph.call_function(function, nodes))

    return method


for _name in ("add", "sub", "mul", "floordiv", "mod"):
    setattr(TracedInt, f"__{_name}__", _arithmetic(_name))
    setattr(TracedInt, f"__r{_name}__", _arithmetic(_name, reflected=True))


class Recorder(overrides.TorchFunctionMode):
    """The mode that writes torch functions down in a graph while they run.

    `root` has the parameters and buffers, `to_python` is called with what a tensor is converted to;
    with `sizes`, shapes are recorded, too, so that the graph takes other ones.
    """

    def __init__(self, root: Module, to_python: Callable[[str], None], sizes: bool = False):
        super().__init__()
        self.root, self.to_python, self.sizes = root, to_python, sizes
        self.graph = Graph()
        self.constants = Module()  # tensors that are no attributes of the root
        self.nodes: dict[int, Node] = {}
        self.kept: list[Tensor] = []  # an id is one tensor's as long as this lives
        self.names = {id(t): name for name, t in self._attributes()}
        self.before = {id(x) for x in gc.get_objects() if issubclass(type(x), Tensor)}
        self.random_state = torch.get_rng_state()
        self.copies: dict[int, tuple[Tensor, int, Tensor]] = {}  # tensor, its version and a copy when first seen

    def _attributes(self):
        for prefix, module in self.root.named_modules(remove_duplicate=False):
            for holder in (vars(module), module._buffers, module._parameters):
                for name, value in holder.items():
                    if isinstance(value, Tensor):
                        yield f"{prefix}.{name}".lstrip("."), value

    # ---- the mode, which costs nothing when it is over (TorchFunctionMode's own ask for good)

    def __enter__(self):
        overrides.living.add(1)
        overrides.modes_on.add(1)
        overrides.state.modes += (self,)
        return self

    def __exit__(self, *exc):
        super().__exit__(*exc)
        overrides.living.add(-1)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        attribute = _attribute_of(func)
        name = attribute or func.__name__
        if name in TO_PYTHON:
            self.to_python(TO_PYTHON[name])
        elif name == "__len__" and self.sizes:
            self.to_python(LENGTH)
        if name in NEVER or getattr(func, "__name__", "") in ("__set__", "__delete__"):
            raise CannotRecord(f"Tensor.{name} inside of what is traced")
        for x in tree_leaves((args, kwargs)):
            if isinstance(x, Tensor) and id(x) in self.before and id(x) not in self.copies:
                self.copies[id(x)] = x, x._version, x.detach().clone()
        result = func(*_plain(args), **_plain(kwargs))
        if isinstance(result, Tensor) and any(isinstance(x, np.ndarray) for x in args):
            return self._constant(result)
        if self._is_worth_a_node(name, result):
            result = self._written(func, attribute, args, kwargs, result)
        return result

    def _constant(self, tensor: Tensor) -> Tensor:
        """A tensor of an array of NumPy's, which a graph holds as it is."""
        self.to_python(FROM_NUMPY)
        self.before.add(id(tensor))
        self.kept.append(tensor)
        return tensor

    def undo(self):
        """Undo what has been done to tensors that were there before, and to the generator of random numbers."""
        torch.set_rng_state(self.random_state)
        changed = [(tensor, copy) for tensor, version, copy in self.copies.values() if tensor._version != version]
        with torch.no_grad():
            for tensor, copy in changed:
                tensor.copy_(copy)

    def _is_worth_a_node(self, name: str, result) -> bool:
        if name in ("__setitem__", "_set_grad_enabled") or any(isinstance(x, Tensor) for x in tree_leaves(result)):
            return name not in ("grad", "grad_fn", "_base")
        return self.sizes and name in ("shape", "size", "numel", "nelement")

    def _written(self, func, attribute: str | None, args, kwargs, result):
        """The result, known from now on as a node's."""
        args, kwargs = self.argument(args), self.argument(kwargs)
        if attribute is not None:
            node = self.graph.call_function(getattr, (args[0], attribute))
        elif func.__name__ in ("__getitem__", "__setitem__"):
            node = self.graph.call_function(getattr(operator, func.__name__.strip("_")), args)
        elif is_tensor_method_or_property(func):
            node = self.graph.call_method(func.__name__, args, kwargs)
        else:
            node = self.graph.call_function(func, args, kwargs)
        return self.known(result, node)

    def known(self, value, node: Node):
        """Remember that a value is a node's, and the parts of a tuple its items."""
        if isinstance(value, Tensor):
            self.nodes[id(value)] = node
            self.kept.append(value)
        elif isinstance(value, torch.Size):
            return tuple.__new__(torch.Size, [TracedInt(n, self._item(node, i)) for i, n in enumerate(value)])
        elif isinstance(value, int) and not isinstance(value, bool):
            return TracedInt(value, node)
        elif isinstance(value, (tuple, list)):
            for i, part in enumerate(value):
                if isinstance(part, (Tensor, tuple, list)):
                    self.known(part, self._item(node, i))
        return value

    def _item(self, node: Node, i: int) -> Node:
        return self.graph.call_function(operator.getitem, (node, i))

    # ---- arguments

    def argument(self, x):
        """A value as nodes hold it."""
        if isinstance(x, Tensor):
            return self._node_of(x)
        if isinstance(x, TracedInt):
            return x.node
        if isinstance(x, (tuple, list)):
            parts = [self.argument(part) for part in x]
            if isinstance(x, list):
                return immutable_list(parts)
            return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
        if isinstance(x, dict):
            return immutable_dict({key: self.argument(value) for key, value in x.items()})
        return slice(*map(self.argument, (x.start, x.stop, x.step))) if isinstance(x, slice) else x

    def _node_of(self, tensor: Tensor) -> Node:
        found = self.nodes.get(id(tensor))
        if found is not None:
            return found
        name = self.names.get(id(tensor))
        if name is None:
            if id(tensor) not in self.before or tensor._level is not None:
                raise CannotRecord(UNKNOWN.format(what="something"))
            name = f"_tensor_constant{len(self.constants._buffers)}"
            self.constants.register_buffer(name, tensor)
        node = self.graph.get_attr(name)
        self.known(tensor, node)
        return node


def _attribute_of(func) -> str | None:
    """The name of an attribute whose __get__, __set__ a function is; None for any other."""
    of = getattr(func, "__self__", None)
    if not isinstance(of, property):
        return None
    return next((name for name, attribute in overrides.attributes().items() if attribute is of), None)


def _plain(x):
    """Arguments with ints for sizes that are traced."""
    if isinstance(x, TracedInt):
        return int(x)
    if isinstance(x, (tuple, list)) and any(isinstance(part, (TracedInt, tuple, list)) for part in x):
        parts = [_plain(part) for part in x]
        return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
    if isinstance(x, slice):
        return slice(*map(_plain, (x.start, x.stop, x.step)))
    return {key: _plain(value) for key, value in x.items()} if type(x) is dict else x


class Watch(Recorder):
    """A mode that only sees what tensors are converted to, and can undo what is done."""

    def _is_worth_a_node(self, name: str, result) -> bool:
        return False


# ---- a recording ---------------------------------------------------------------------------------


NODE = object()  # stands for the graph's outputs among a function's


class Recording:
    """A function's graph for inputs of one structure: its tensors in, its tensors out.

    The function runs once; with `undo` what it has done to tensors is undone then.
    """

    def __init__(self, function: Callable, root: Module, args: tuple, kwargs: dict, to_python, sizes=False, undo=False):
        self.recorder = Recorder(root, to_python, sizes)
        leaves, self.inputs = tree_flatten((args, kwargs))
        self.leaves = [None if isinstance(x, Tensor) else x for x in leaves]
        graph = self.recorder.graph
        for i, x in enumerate(leaves):
            if isinstance(x, Tensor):
                self.recorder.known(x, graph.placeholder(f"arg{i}"))
        try:
            with self.recorder:
                self.result = function(*args, **kwargs)
        finally:
            if undo:
                self.recorder.undo()
        outputs, self.outputs = tree_flatten(self.result)
        nodes = [self.recorder.argument(x) for x in outputs]
        self.template = [NODE if isinstance(x, Node) else x for x in nodes]
        graph.output(tuple(x for x in nodes if isinstance(x, Node)))

    def module(self, name: str = "GraphModule") -> GraphModule:
        """The graph as a module, which shares the root's parameters."""
        root, constants = self.recorder.root, self.recorder.constants
        with _also(root, constants._buffers):
            return GraphModule(root, self.recorder.graph, name)

    def tensors_of(self, args: tuple, kwargs: dict) -> list[Tensor]:
        """The inputs of the graph; TypeError if the arguments differ from the example's in more than tensors."""
        leaves, inputs = tree_flatten((args, kwargs))
        if inputs != self.inputs or [None if isinstance(x, Tensor) else x for x in leaves] != self.leaves:
            raise TypeError(f"the arguments have the structure {inputs}, but the traced ones had {self.inputs}")
        return [x for x in leaves if isinstance(x, Tensor)]

    def restored(self, results):
        """The graph's outputs in the structure of the function's."""
        found = iter(results)
        return tree_unflatten([next(found) if x is NODE else x for x in self.template], self.outputs)


@contextlib.contextmanager
def _also(module: Module, buffers: dict):
    """Context: a module has these buffers, too."""
    module._buffers.update(buffers)
    try:
        yield
    finally:
        for name in buffers:
            del module._buffers[name]
