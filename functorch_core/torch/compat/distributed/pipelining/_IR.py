"""torch.distributed.pipelining.pipeline: a module's graph, cut in stages.

A value that a later stage needs goes through all stages between. Parameters keep their names.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from .....annotations import lenient_signature
from .....nn import Module
from ....tensors.base import Tensor
from ...fx import Graph, GraphModule, Node, Tracer
from ...fx.node import base_types, map_arg
from ._utils import PipeInfo
from .stage import PipelineStage, build_stage

BOTH = "Cannot specify both `split_spec` and `split_policy`. Please use only one of them."
UNKNOWN_POINT = "Unknown split point type."
NO_STAGE = "Invalid stage index {index}!"


class SplitPoint(enum.Enum):
    """Where a module is cut: before a submodule is called, or after.

    >>> from torch.distributed.pipelining import SplitPoint
    >>> list(SplitPoint.__members__)
    ['BEGINNING', 'END']
    """

    BEGINNING = 1
    END = 2


_tracers: list[_Tracer] = []


def pipe_split():
    """Mark, in `forward`, where `pipeline` cuts. No effect where the module is called.

    >>> from torch.distributed.pipelining import pipe_split
    >>> pipe_split()
    """
    if _tracers:
        _tracers[-1].create_node("call_function", pipe_split, (), {})


class _Tracer(Tracer):
    """Records calls of submodules, and looks into those in which cuts are."""

    def __init__(self, split_spec: dict[str, SplitPoint]):
        super().__init__()
        self.split_spec = split_spec

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        if not self.split_spec:
            return super().is_leaf_module(m, module_qualified_name)
        return not any(name.startswith(f"{module_qualified_name}.") for name in self.split_spec)

    def call_module(self, m: Module, forward: Callable, args: tuple, kwargs: dict):
        point = self.split_spec.get(self.path_of_module(m))
        if point is SplitPoint.BEGINNING:
            pipe_split()
        out = super().call_module(m, forward, args, kwargs)
        if point is SplitPoint.END:
            pipe_split()
        return out


def _stages(graph: Graph) -> list[list[Node]]:
    """The nodes between the cuts; cuts with nothing before or behind them are none."""
    parts: list[list[Node]] = [[]]
    for node in graph.nodes:
        if node.op == "call_function" and node.target is pipe_split:
            parts.append([])
        elif node.op not in ("placeholder", "output"):
            parts[-1].append(node)
    return [part for part in parts if part] or [[]]


def _graph_of(part: list[Node], given: list[Node], kept: list[Node] | None, whole: Graph) -> Graph:
    """The graph of a stage: from what is given to what is kept, or (None) to the result of the whole."""
    graph, own = Graph(), {}
    first = given == [n for n in whole.nodes if n.op == "placeholder"]
    for node in given:
        if first:
            own[node] = graph.node_copy(node)
        else:
            own[node] = graph.placeholder(node.name)
    for node in part:
        own[node] = graph.node_copy(node, lambda n: own[n])
    result = whole.output_node().args[0] if kept is None else (kept[0] if len(kept) == 1 else tuple(kept))
    graph.output(map_arg(result, lambda n: own[n]))
    return graph


def _cut(module: Module, graph: Graph) -> list[GraphModule]:
    parts = _stages(graph)
    used = [{n for node in part for n in node.all_input_nodes} for part in parts]
    used[-1] |= set(graph.output_node().all_input_nodes)
    made, given = [], [n for n in graph.nodes if n.op == "placeholder"]
    for i, part in enumerate(parts):
        later = set().union(*used[i + 1 :])
        kept = [n for n in [*given, *part] if n in later]
        last = i == len(parts) - 1
        made.append(GraphModule(module, _graph_of(part, given, None if last else kept, graph)))
        given = kept
    return made


def _with_attributes_near(graph: Graph):
    """Read each attribute right before it is used: no cut is between."""
    for node in [n for n in graph.nodes if n.op == "get_attr"]:
        for user in list(node.users):
            with graph.inserting_before(user):
                own = graph.get_attr(node.target)
            user.replace_input_with(node, own)
        graph.erase_node(node)


class Pipe(Module):
    """A module in stages: submod_pp_0, submod_pp_1, ... Called, it computes one after the other.

    >>> from torch.distributed.pipelining import SplitPoint, pipeline
    >>> net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    >>> pipe = pipeline(net, mb_args=(torch.ones(1, 2),), split_spec={"1": SplitPoint.BEGINNING})
    >>> pipe.num_stages
    2
    """

    def __init__(self, stages: list[GraphModule], graph: Graph):
        super().__init__()
        self.num_stages, self.graph = len(stages), graph
        for i, stage in enumerate(stages):
            self.add_module(f"submod_pp_{i}", stage)

    def forward(self, *args, **kwargs):
        """What the module would give."""
        out = self.get_stage_module(0)(*args, **kwargs)
        for i in range(1, self.num_stages):
            out = self.get_stage_module(i)(*(out if isinstance(out, tuple) else (out,)))
        return out

    def get_stage_module(self, stage_idx: int) -> Module:
        """The module of a stage."""
        if not 0 <= stage_idx < self.num_stages:
            raise ValueError(NO_STAGE.format(index=stage_idx))
        return getattr(self, f"submod_pp_{stage_idx}")

    def info(self) -> PipeInfo:
        """The graph, and how many stages there are."""
        return PipeInfo(self.graph, self.num_stages)

    def build_stage(self, stage_index: int, device, group=None) -> PipelineStage:
        """A stage for a schedule."""
        return build_stage(self.get_stage_module(stage_index), stage_index, self.info(), device, group)


def pipeline(
    module: Module,
    mb_args: tuple,
    mb_kwargs: dict[str, Any] | None = None,
    split_spec: dict[str, SplitPoint] | None = None,
    split_policy: Callable[[GraphModule], GraphModule] | None = None,
) -> Pipe:
    """Cut a module in stages: before or after the calls of the submodules that split_spec names, or where its forward
    calls pipe_split(), or where split_policy(graph module) puts such calls.

    The graph is recorded by torch.fx without values: a forward that looks at values or sizes cannot be cut, nor one
    that takes `*args`. `mb_args` and `mb_kwargs` are a part of a batch, and fit forward's parameters; what is no tensor
    in them, and defaults, are constants of the graph.

    >>> from functorch_core.torch.distributed.pipelining import SplitPoint, pipeline
    >>> layers = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    >>> pipe = pipeline(layers, (torch.ones(4, 2),), split_spec={"2": SplitPoint.BEGINNING})
    >>> pipe.num_stages, list(pipe.get_stage_module(1).state_dict())
    (2, ['2.weight', '2.bias'])
    """
    if split_spec and split_policy:
        raise ValueError(BOTH)
    for name, point in (split_spec or {}).items():
        module.get_submodule(name)
        if not isinstance(point, SplitPoint):
            raise ValueError(UNKNOWN_POINT)
    bound = lenient_signature(module.forward).bind(*mb_args, **(mb_kwargs or {}))
    bound.apply_defaults()
    plain = {name: x for name, x in bound.arguments.items() if not isinstance(x, Tensor)}
    constants = {name: x for name, x in plain.items() if x is None or isinstance(x, base_types)}
    tracer = _Tracer(split_spec or {})
    _tracers.append(tracer)
    try:
        graph = tracer.trace(module, constants)
    finally:
        _tracers.pop()
    if split_policy is not None:
        graph = split_policy(GraphModule(module, graph)).graph
    _with_attributes_near(graph)
    return Pipe(_cut(module, graph), graph)
