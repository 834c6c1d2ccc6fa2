"""torch.distributed.tensor.parallel: how modules are divided, and what goes in and out of them.

A style gives placements to a module's parameters, and hooks that make DTensors of its inputs and tensors of its
outputs. What is exchanged between the processes, and when, is XLA's partitioner's to find.
"""

from __future__ import annotations

import contextlib
import fnmatch
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from ......core.warn import warn
from .....tensors.base import Tensor
from ...device_mesh import DeviceMesh
from ..api import DTensor, distribute_tensor, is_distributed, parameter_of, replicate_members
from ..placement_types import Placement, Replicate, Shard

ONE_DIMENSION = "parallelize_module takes a DeviceMesh of one dimension, mesh['tp'] of one that has more; got {mesh}"
WRONG_MODULE = "{style} is for nn.Linear and nn.Embedding, not {found}"
LENGTHS = "{what} and desired_{what} should have same length!"


class ParallelStyle(ABC):
    """How a module is divided over a mesh.

    >>> from torch.distributed.tensor.parallel import ColwiseParallel, ParallelStyle
    >>> issubclass(ColwiseParallel, ParallelStyle)
    True
    """

    src_data_rank: int | None = 0

    @abstractmethod
    def _apply(self, module, device_mesh: DeviceMesh): ...

    def _divide(self, module, mesh: DeviceMesh, placements: dict[str, Placement]):
        for name, placement in placements.items():
            p = module._parameters.get(name)
            if p is not None:
                data = distribute_tensor(p.detach(), mesh, [placement], src_data_rank=self.src_data_rank)
                module.register_parameter(name, parameter_of(data, p))


def _enter(x: Any, mesh: DeviceMesh, given: Placement | None, wanted: Placement | None) -> Any:
    """A tensor that lies as `given` as a DTensor that lies as `wanted`; what is no tensor as it is."""
    if given is None or not isinstance(x, Tensor):
        return x
    x = x if is_distributed(x) else DTensor.from_local(x, mesh, [given])
    return x if wanted is None or x.placements == (wanted,) else x.redistribute(mesh, [wanted])


def _leave(x: Any, mesh: DeviceMesh, wanted: Placement | None, local: bool) -> Any:
    """A DTensor lying as wanted, or this process's part of it."""
    if wanted is None or not is_distributed(x):
        return x
    x = x.redistribute(mesh, [wanted])
    return x.to_local() if local else x


def _positive(placement: Placement, x: Any) -> Placement:
    """Shard(-1) of a tensor as Shard(its last dimension)."""
    if isinstance(placement, Shard) and isinstance(x, Tensor):
        return Shard(placement.dim % x.dim())
    return placement


class _OfLayers(ParallelStyle):
    """A linear layer or an embedding."""

    linear: dict[str, Placement]
    embedding: dict[str, Placement]

    def __init__(self, input_layouts, output_layouts, use_local_output: bool):
        self.input_layouts, self.output_layouts = (input_layouts,), (output_layouts,)
        self.use_local_output = use_local_output

    def _wanted(self, module) -> Placement:
        return Replicate()

    def _apply(self, module, device_mesh: DeviceMesh):
        kinds = {"Linear": self.linear, "Embedding": self.embedding}
        found = next((kinds[c.__name__] for c in type(module).__mro__ if c.__name__ in kinds), None)
        if found is None:
            raise NotImplementedError(WRONG_MODULE.format(style=type(self).__name__, found=type(module).__name__))
        self._divide(module, device_mesh, found)
        wanted, (given,), (after,) = self._wanted(module), self.input_layouts, self.output_layouts

        def enter(module, inputs):
            x, *rest = inputs
            return (_enter(x, device_mesh, _positive(given, x), _positive(wanted, x)), *rest)

        module.register_forward_pre_hook(enter)
        module.register_forward_hook(
            lambda module, inputs, out: _leave(out, device_mesh, _positive(after, out), self.use_local_output)
        )
        return module


class ColwiseParallel(_OfLayers):
    """A Linear or Embedding whose output features are divided: its input is whole, its output divided by the last
    dimension if output_layouts do not say otherwise.

    >>> from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
    >>> mesh = torch.distributed.init_device_mesh("cpu", (1,))
    >>> model = parallelize_module(nn.Linear(2, 4), mesh, ColwiseParallel())
    >>> model(torch.ones(1, 2)).shape
    torch.Size([1, 4])
    """

    linear, embedding = {"weight": Shard(0), "bias": Shard(0)}, {"weight": Shard(1)}

    def __init__(self, *, input_layouts=None, output_layouts=None, use_local_output: bool = True):
        super().__init__(input_layouts or Replicate(), output_layouts or Shard(-1), use_local_output)


class RowwiseParallel(_OfLayers):
    """A Linear whose input features, or an Embedding whose rows are divided: the input is divided by the last
    dimension (of an Embedding whole), the output whole, if the layouts do not say otherwise.

    >>> from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    >>> mesh = torch.distributed.init_device_mesh("cpu", (1,))
    >>> model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 2))
    >>> model = parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    >>> model(torch.ones(1, 2)).shape
    torch.Size([1, 2])
    """

    linear, embedding = {"weight": Shard(1), "bias": Replicate()}, {"weight": Shard(0)}

    def __init__(self, *, input_layouts=None, output_layouts=None, use_local_output: bool = True):
        super().__init__(input_layouts or Shard(-1), output_layouts or Replicate(), use_local_output)

    def _wanted(self, module) -> Placement:
        return Shard(-1) if any(c.__name__ == "Linear" for c in type(module).__mro__) else Replicate()


class SequenceParallel(ParallelStyle):
    """A module of whole parameters (a norm, dropout) on a sequence that is divided.

    >>> from torch.distributed.tensor.parallel import SequenceParallel, parallelize_module
    >>> mesh = torch.distributed.init_device_mesh("cpu", (1,))
    >>> model = parallelize_module(nn.LayerNorm(4), mesh, SequenceParallel())
    >>> model(torch.ones(1, 3, 4)).shape
    torch.Size([1, 3, 4])
    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False):
        self.sequence_sharding, self.use_local_output = (Shard(sequence_dim),), use_local_output

    def _apply(self, module, device_mesh: DeviceMesh):
        replicate_members(module, device_mesh)
        (divided,) = self.sequence_sharding
        module.register_forward_pre_hook(
            lambda module, inputs: (_enter(inputs[0], device_mesh, divided, divided), *inputs[1:])
        )
        local = self.use_local_output
        module.register_forward_hook(lambda module, inputs, out: out.to_local() if local else out)
        return module


def _listed(layouts) -> tuple:
    return tuple(layouts) if isinstance(layouts, (tuple, list)) else (layouts,)


class PrepareModuleInput(ParallelStyle):
    """Makes DTensors of a module's inputs that lie as input_layouts (None: as they are), and lays them as
    desired_input_layouts.

    >>> from torch.distributed.tensor import Replicate, Shard
    >>> from torch.distributed.tensor.parallel import PrepareModuleInput, parallelize_module
    >>> mesh = torch.distributed.init_device_mesh("cpu", (1,))
    >>> style = PrepareModuleInput(input_layouts=Shard(0), desired_input_layouts=Replicate())
    >>> model = parallelize_module(nn.ReLU(), mesh, style)
    >>> model(torch.ones(2)).shape
    torch.Size([2])
    """

    def __init__(
        self,
        *,
        input_layouts=None,
        desired_input_layouts=None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_output: bool = False,
    ):
        self.input_layouts = () if input_layouts is None else _listed(input_layouts)
        self.desired_input_layouts = () if desired_input_layouts is None else _listed(desired_input_layouts)
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        self.use_local_output = use_local_output
        if len(self.input_layouts) != len(self.desired_input_layouts):
            raise AssertionError(LENGTHS.format(what="input_layouts"))

    def _one(self, x: Any, mesh: DeviceMesh, given: Placement | None, wanted: Placement | None) -> Any:
        x = _enter(x, mesh, given, wanted)
        return x.to_local() if self.use_local_output and given is not None and is_distributed(x) else x

    def _apply(self, module, device_mesh: DeviceMesh):
        def enter(module, inputs, named):
            if self.input_layouts and len(inputs) != len(self.input_layouts):
                raise ValueError("module inputs and input_layouts should have same length!")
            pairs = zip(self.input_layouts, self.desired_input_layouts)
            if self.input_layouts:
                inputs = tuple([self._one(x, device_mesh, *pair) for x, pair in zip(inputs, pairs)])
            wanted = self.desired_input_kwarg_layouts
            for name, given in self.input_kwarg_layouts.items():
                if name in named:
                    named = {**named, name: self._one(named[name], device_mesh, given, wanted.get(name))}
            return inputs, named

        module.register_forward_pre_hook(enter, with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """Makes DTensors of a module's outputs that lie as output_layouts, and lays them as desired_output_layouts.

    >>> from torch.distributed.tensor import Replicate, Shard
    >>> from torch.distributed.tensor.parallel import PrepareModuleOutput
    >>> style = PrepareModuleOutput(output_layouts=Replicate(), desired_output_layouts=Shard(0))
    """

    def __init__(self, *, output_layouts, desired_output_layouts, use_local_output: bool = True):
        self.output_layouts = _listed(output_layouts)
        self.desired_output_layouts = _listed(desired_output_layouts)
        self.use_local_output = use_local_output
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise AssertionError(LENGTHS.format(what="output_layouts"))

    def _apply(self, module, device_mesh: DeviceMesh):
        def leave(module, inputs, out):
            outs = out if isinstance(out, tuple) else (out,)
            if len(outs) != len(self.output_layouts):
                raise ValueError("module outputs and output_layouts should have same length!")
            found = []
            for x, given, wanted in zip(outs, self.output_layouts, self.desired_output_layouts):
                x = _enter(x, device_mesh, given, wanted)
                found.append(x.to_local() if self.use_local_output and is_distributed(x) else x)
            return tuple(found) if isinstance(out, tuple) else found[0]

        module.register_forward_hook(leave)
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """PrepareModuleInput and PrepareModuleOutput together.

    >>> from torch.distributed.tensor import Replicate, Shard
    >>> from torch.distributed.tensor.parallel import PrepareModuleInputOutput, parallelize_module
    >>> mesh = torch.distributed.init_device_mesh("cpu", (1,))
    >>> style = PrepareModuleInputOutput(
    ...   input_layouts=Shard(0), desired_input_layouts=Replicate(),
    ...   output_layouts=Replicate(), desired_output_layouts=Shard(0))
    >>> model = parallelize_module(nn.ReLU(), mesh, style)
    >>> model(torch.ones(2)).shape
    torch.Size([2])
    """

    def __init__(
        self,
        *,
        input_layouts=None,
        desired_input_layouts=None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_input: bool = False,
        output_layouts,
        desired_output_layouts,
        use_local_output: bool = True,
    ):
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts,
            desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input,
        )
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def _apply(self, module, device_mesh: DeviceMesh):
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)


# ---- plans ---------------------------------------------------------------------------------------


def parallelize_module(
    module,
    device_mesh: DeviceMesh | None = None,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
):
    """Divide a module over a mesh: by one style, or by those of submodules whose names match ("layers.*.ffn").

    >>> from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
    >>> mesh = torch.distributed.init_device_mesh("cpu", (1,))
    >>> model = parallelize_module(nn.Sequential(nn.Linear(2, 4)), mesh, {"0": ColwiseParallel()})
    >>> isinstance(model[0].weight.data, torch.distributed.tensor.DTensor)
    True
    """
    if device_mesh is None:
        raise ValueError("parallelize_module: device_mesh is needed, as init_device_mesh gives it")
    if device_mesh.ndim != 1:
        raise ValueError(ONE_DIMENSION.format(mesh=device_mesh))
    if parallelize_plan is None:
        warn("No parallelize_plan is provided and auto-parallel is not supported at the moment")
        return module
    plan = {"": parallelize_plan} if isinstance(parallelize_plan, ParallelStyle) else parallelize_plan
    for pattern, style in plan.items():
        found = list(_matching(module, pattern.split("."))) if pattern else [module]
        if not found:
            warn(f"Parallelize plan key '{pattern}' could not be resolved: no submodule matches")
        style.src_data_rank = src_data_rank
        for part in found:
            style._apply(part, device_mesh)
    return module


def _matching(module, tokens: Sequence[str]):
    if not tokens:
        yield module
        return
    for name, child in module.named_children():
        if fnmatch.fnmatch(name, tokens[0]):
            yield from _matching(child, tokens[1:])


@contextlib.contextmanager
def loss_parallel():
    """Context in which the loss of logits that are divided by classes is computed without putting them together:
    what the partitioner does in any case.

    >>> from torch.distributed.tensor import Shard, distribute_tensor
    >>> from torch.distributed.tensor.parallel import loss_parallel
    >>> mesh = torch.distributed.init_device_mesh("cpu", (1,))
    >>> logits = distribute_tensor(torch.zeros(2, 4), mesh, [Shard(1)])
    >>> with loss_parallel():
    ...   F.cross_entropy(logits, torch.tensor([0, 3])).full_tensor()
    tensor(1.3863)
    """
    yield
