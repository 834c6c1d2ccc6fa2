"""The graph of a run of a module, as TensorBoard shows it: for SummaryWriter.add_graph.

The operators are watched as a profile watches them (`active.observer`) while the module is called; what one is
given is known by which tensors the others returned. Numbers are no nodes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.step_stats_pb2 import DeviceStepStats, StepStats
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.versions_pb2 import VersionDef

from ....annotations import lenient_signature
from ....nn.modules.module import Module, register_module_forward_hook, register_module_forward_pre_hook
from ...dispatch.overrides import observed
from ...tensors import pytree
from ...tensors.active import active
from ...tensors.base import Tensor
from ..library.called import called_operators

# What PyTorch's traces call operators of these names.
TRACED = {f"aten::{name}{n}d": "aten::_convolution" for name in ("conv", "conv_transpose") for n in (1, 2, 3)}
PRODUCER = 22  # of the format of the graph


class _Drawing:
    """Makes a node of each operator that is called, from `begin` to `end`."""

    def __init__(self, model: Module, inputs: Sequence, names: Sequence[str]):
        self.nodes: dict[str, NodeDef] = {}
        self.made: dict[int, str] = {}  # id of a tensor -> the node it comes from
        self.kept: list = []  # so that ids stay
        self.pending: dict[int, tuple[str, str, Tensor]] = {}  # of inputs and parameters nobody has used yet
        self.inside = False
        self.scopes = _scopes(model)
        self.stack = [self.scopes[model]]
        for x, name in zip(inputs, names):
            self.pending[id(x)] = f"input/{name}", "IO Node", x
        for path, x in (*model.named_parameters(), *model.named_buffers()):
            owner, _, name = path.rpartition(".")
            self.pending.setdefault(
                id(x), (f"{self.scopes[model.get_submodule(owner)]}/{name}/{name}", "prim::GetAttr", x)
            )

    # ---- what observers are told

    def takes(self, function: Callable) -> bool:
        """Whether a call is of an operator that is no part of another."""
        return not self.inside and bool(called_operators(function, (None, None, None), {}))

    def call(self, function: Callable, args: Sequence, kwargs: dict):
        """The call of an operator; a node."""
        operators = called_operators(function, args, kwargs)
        given = [self.source(x) for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
        self.inside = True
        try:
            out = function(*args, **kwargs)
        finally:
            self.inside = False
        results = [x for x in pytree.tree_leaves(out) if isinstance(x, Tensor)]
        for name in operators:
            shape = results[0].shape if results else None
            given = [self.add(self.stack[-1], TRACED.get(name, name), given, shape)]
        for x in results:
            self.made[id(x)] = given[0]
            self.kept.append(x)
        return out

    def node(self, name: str, apply: Callable, grads: Sequence, create_graph: bool):
        """A node of a backward pass, which is not drawn."""
        return apply(grads, create_graph)

    def mentions(self, *args, **kwargs):
        """An operator of PyTorch's that a profile lists, which is not drawn."""

    def accumulates(self, a, b):
        """A gradient is added to another, which is not drawn."""

    def range(self, *args, **kwargs):
        """A range of record_function, which is not drawn."""
        return contextlib.nullcontext()

    # ---- nodes

    def source(self, x: Tensor) -> str:
        """The node that a tensor comes from."""
        if id(x) not in self.made:
            name, kind, _ = self.pending.get(id(x), (f"{self.stack[-1]}/constant", "prim::Constant", x))
            scope, _, short = name.rpartition("/")
            text = f"{{ name :  {short} }}" if kind == "prim::GetAttr" else ""
            shape = None if kind == "prim::GetAttr" else x.shape
            self.made[id(x)] = self.add(scope, kind, [], shape, text, short)
            self.kept.append(x)
        return self.made[id(x)]

    def add(self, scope: str, kind: str, inputs: list[str], shape=None, text: str = "{}", short: str = "") -> str:
        """A node more; its name."""
        name = base = f"{scope}/{short or kind.rpartition(':')[2]}"
        n = 1
        while name in self.nodes:
            n, name = n + 1, f"{base}.{n}"
        attributes = {"attr": AttrValue(s=text.encode())}
        if shape is not None:
            dims = TensorShapeProto(dim=[TensorShapeProto.Dim(size=int(size)) for size in shape])
            attributes["_output_shapes"] = AttrValue(list=AttrValue.ListValue(shape=[dims]))
        self.nodes[name] = NodeDef(name=name, op=kind, input=inputs, attr=attributes)
        return name

    def enters(self, module: Module, _):
        """A module's forward begins."""
        self.stack.append(self.scopes.get(module, self.stack[-1]))

    def leaves(self, *_):
        """A module's forward ends."""
        self.stack.pop()


def _scopes(model: Module) -> dict[Module, str]:
    """module -> where its nodes stand, "Net/Sequential[body]/Linear[0]"."""
    found = {}
    for path, module in model.named_modules():
        outer, _, name = path.rpartition(".")
        kind = type(module).__name__
        found[module] = f"{found[model.get_submodule(outer)]}/{kind}[{name}]" if path else kind
    return found


@contextlib.contextmanager
def _watching(drawing: _Drawing):
    outer, active.observer = active.observer, drawing
    observed(True)
    handles = [
        register_module_forward_pre_hook(drawing.enters),
        register_module_forward_hook(drawing.leaves, always_call=True),
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
        active.observer = outer
        observed(False)


def _names(model: Module, given: tuple, inputs: Sequence) -> list[str]:
    """Names of the inputs: those of the parameters of `forward`."""
    try:
        bound = list(lenient_signature(model.forward).bind(*given).arguments)
    except (TypeError, ValueError):
        bound = []
    return bound if len(bound) == len(inputs) else [f"input.{i + 1}" for i in range(len(inputs))]


def graph(model: Module, input_to_model, verbose: bool) -> tuple[GraphDef, RunMetadata]:
    """The graph of a run of a module in eval mode, and TensorBoard's description of where it ran."""
    given = input_to_model if isinstance(input_to_model, tuple) else (input_to_model,)
    inputs = [x for x in pytree.tree_leaves(given) if isinstance(x, Tensor)]
    drawing, training = _Drawing(model, inputs, _names(model, given, inputs)), model.training
    model.train(False)
    try:
        with _watching(drawing):
            out = model(*given)
    except RuntimeError as error:
        print(error)
        print("Error occurs, No graph saved")
        raise
    finally:
        model.train(training)
    for i, x in enumerate([x for x in pytree.tree_leaves(out) if isinstance(x, Tensor)]):
        drawing.add("output", "IO Node", [drawing.source(x)], x.shape, "", f"output.{i + 1}")
    if verbose:
        for node in drawing.nodes.values():
            print(f"{node.name} = {node.op}({', '.join(node.input)})")
    where = RunMetadata(step_stats=StepStats(dev_stats=[DeviceStepStats(device="/device:CPU:0")]))
    return GraphDef(node=drawing.nodes.values(), versions=VersionDef(producer=PRODUCER)), where
