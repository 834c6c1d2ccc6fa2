"""torch.distributed.pipelining.stage: a part of the layers, and what it exchanges with the parts before and after.

What a stage gets is told by what arrives: each message names its dtype and shape. `input_args` and `output_args` only
are checked. Sends do not wait, so that the processes may go through their actions in any order that can be computed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from .....nn import Module
from ....tape.backward import backward
from ....tensors.base import Tensor, from_array
from ..collectives import arrived, isend
from ..group import ProcessGroup, default
from .split_backward import WeightGradients, input_gradients

OUT_OF_RANGE = "Stage index {index} is out of range of {n}"
TOO_MANY = "Pipeline group size {size} cannot be larger than number of stages {n}"
NO_BUILDER = "PipelineStage: dw_builder is not implemented: zero-bubble schedules find by themselves what to put off"
NO_MESH = "PipelineStage: get_mesh is for DTensors between stages, which are not implemented; send to_local()"
NOT_TENSORS = "stage {index}: forward gave {found}; what goes to the next stage are tensors, alone or in a tuple"
OTHERWISE = "stage {index}: {what} {i} is {found} where {given} says {wanted}"
COUNT = "stage {index}: {found} {what}s came where {given} has {wanted}"
CONSTANT = "stage {index}: there is nothing to differentiate: no output of microbatch {chunk} requires grad"


class PipeliningMetadataError(RuntimeError):
    """A tensor between stages is not as it was said to be.

    >>> from torch.distributed.pipelining.stage import PipeliningMetadataError
    >>> issubclass(PipeliningMetadataError, RuntimeError)
    True
    """

    __module__ = "torch.distributed.pipelining._utils"


def _as_tuple(x) -> tuple:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


class PipelineStage:
    """Number `stage_index` of `num_stages` stages, computed by `submodule` in the process of rank stage_index modulo
    the size of `group`. The first stage takes the arguments of `step`, each other what the one before it returns: a
    tensor or a tuple of tensors.

    >>> from torch.distributed.pipelining import PipelineStage
    >>> stage = PipelineStage(nn.Linear(2, 1), stage_index=0, num_stages=1, device=torch.device("cpu"))
    >>> stage.is_first, stage.is_last
    (True, True)
    """

    def __init__(
        self,
        submodule: Module,
        stage_index: int,
        num_stages: int,
        device,
        input_args=None,
        output_args=None,
        output_grads=None,
        input_grads=None,
        group: ProcessGroup | None = None,
        dw_builder: Callable | None = None,
        get_mesh: Callable | None = None,
    ):
        if stage_index >= num_stages:
            raise ValueError(OUT_OF_RANGE.format(index=stage_index, n=num_stages))
        if dw_builder is not None:
            raise NotImplementedError(NO_BUILDER)
        if get_mesh is not None:
            raise NotImplementedError(NO_MESH)
        self.submod, self.stage_index, self.num_stages, self.device = submodule, stage_index, num_stages, device
        self.group = default() if group is None else group
        self.group_rank, self.group_size = self.group.rank(), self.group.size()
        if self.group_size > num_stages:
            raise RuntimeError(TOO_MANY.format(size=self.group_size, n=num_stages))
        self.inputs_meta = None if input_args is None else _as_tuple(input_args)
        self.outputs_meta = None if output_args is None else _as_tuple(output_args)
        self.has_backward = True
        self.peers: dict[int, PipelineStage] = {stage_index: self}  # the stages of this process, see connect
        self.rank_of: Callable[[int], int] = lambda stage, n=self.group_size: stage % n  # schedules may place otherwise
        self.clear_runtime_states()

    def clear_runtime_states(self):
        """Forget what is left of a step."""
        self.output_chunks: list[Any] = []
        self.fwd_cache: dict[int, tuple[tuple, tuple]] = {}  # outputs and inputs, until the backward pass
        self.of_weights: dict[int, WeightGradients] = {}  # between backward_one_chunk and backward_weight_one_chunk
        self.at_hand: dict[tuple[str, int], list] = {}  # from stages of this process
        self.sent: list = []
        self.n_backward = 0

    @property
    def is_first(self) -> bool:
        """Whether no stage is before it."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """Whether no stage is behind it."""
        return self.stage_index == self.num_stages - 1

    # ---- between stages

    def _give(self, to: int, kind: str, chunk: int, tensors: list):
        """Hand tensors (None: no gradient) to a stage; a first message says what there is."""
        if to in self.peers:
            self.peers[to].at_hand[kind, chunk] = tensors
            return
        kinds = np.asarray([0 if t is None else 1 + t.requires_grad for t in tensors], np.uint8)
        for i, t in enumerate([from_array(kinds), *tensors]):
            if t is not None:
                tag = self._tag(to, kind, chunk, i)
                self.sent.append(isend(t.detach(), group=self.group, tag=tag, group_dst=self.rank_of(to)))

    @staticmethod
    def _tag(to: int, kind: str, chunk: int, i: int) -> str:
        return f"stage {to}, {kind} of microbatch {chunk}, {i}"

    def _taken(self, source: int, kind: str, chunk: int) -> list[Tensor | None]:
        """What a stage gave to this one."""
        if source in self.peers:
            return [None if t is None else t.detach().requires_grad_(t.requires_grad) for t in self._local(kind, chunk)]
        found, rank = [], self.group.ranks[self.rank_of(source)]
        kinds = arrived(self.group, rank, self._tag(self.stage_index, kind, chunk, 0))
        for i, how in enumerate(kinds):
            if not how:
                found.append(None)
                continue
            data = arrived(self.group, rank, self._tag(self.stage_index, kind, chunk, i + 1))
            found.append(from_array(data).to(self.device).requires_grad_(bool(how == 2)))
        return found

    def _local(self, kind: str, chunk: int) -> list:
        return self.at_hand.pop((kind, chunk))

    def _check(self, tensors: tuple, wanted: tuple | None, what: str, given: str):
        if wanted is None:
            return
        if len(tensors) != len(wanted):
            text = COUNT.format(index=self.stage_index, what=what, found=len(tensors), given=given, wanted=len(wanted))
            raise PipeliningMetadataError(text)
        for i, (x, w) in enumerate(zip(tensors, wanted)):
            if x.shape != w.shape or x.dtype != w.dtype:
                found, said = (f"{t.dtype}{list(t.shape)}" for t in (x, w))
                text = OTHERWISE.format(index=self.stage_index, what=what, i=i, found=found, given=given, wanted=said)
                raise PipeliningMetadataError(text)

    # ---- computing

    def forward_one_chunk(self, fwd_chunk_id: int, args: tuple, kwargs: dict[str, Any] | None = None):
        """Compute a part of the batch, and hand it on; what the submodule returned."""
        if not self.is_first:
            args = tuple(self._taken(self.stage_index - 1, "F", fwd_chunk_id))
            self._check(args, self.inputs_meta, "input", "input_args")
        out = self.submod(*args, **(kwargs or {}))
        outputs = _as_tuple(out)
        if self.is_last:
            self.output_chunks.append(out)
        else:
            if not all(isinstance(t, Tensor) for t in outputs):
                found = ", ".join(type(t).__name__ for t in outputs)
                raise TypeError(NOT_TENSORS.format(index=self.stage_index, found=found))
            self._check(outputs, self.outputs_meta, "output", "output_args")
            self._give(self.stage_index + 1, "F", fwd_chunk_id, list(outputs))
        if self.has_backward:
            self.fwd_cache[fwd_chunk_id] = outputs, () if self.is_first else args
        return out

    def backward_one_chunk(
        self, bwd_chunk_id: int, loss: Tensor | None = None, full_backward: bool = True, last_backward: bool = False
    ):
        """The gradients of a part of the batch: those of parameters are added up, those of inputs handed back. Without
        full_backward those of parameters come by backward_weight_one_chunk."""
        outputs, inputs = self.fwd_cache.pop(bwd_chunk_id)
        if self.is_last:
            roots, grads = [loss], None
        else:
            came = self._taken(self.stage_index + 1, "B", bwd_chunk_id)
            pairs = [(y, g) for y, g in zip(outputs, came, strict=True) if y.requires_grad and g is not None]
            if not pairs and any(p.requires_grad for p in self.submod.parameters()):
                raise RuntimeError(CONSTANT.format(index=self.stage_index, chunk=bwd_chunk_id))
            roots, grads = [y for y, _ in pairs], [g for _, g in pairs]
        if full_backward:
            with self._not_averaged(last_backward):
                if roots:
                    backward(roots, grads)
            of_inputs = [x.grad for x in inputs]
        else:
            of_inputs, self.of_weights[bwd_chunk_id] = input_gradients(roots, grads, inputs)
        if not self.is_first:
            self._give(self.stage_index - 1, "B", bwd_chunk_id, of_inputs)

    def backward_weight_one_chunk(self, bwd_chunk_id: int, last_backward: bool = False):
        """Add to the gradients of parameters what backward_one_chunk has left of a part of the batch."""
        with self._not_averaged(last_backward):
            self.of_weights.pop(bwd_chunk_id).add()

    def _not_averaged(self, last: bool):
        """DistributedDataParallel averages once, at the last part."""
        silent = None if last else getattr(self.submod, "no_sync", None)
        return contextlib.nullcontext() if silent is None else silent()

    def finish(self):
        """Wait until what was sent has left."""
        works, self.sent = self.sent, []
        for work in works:
            work.wait()


def connect(stages: list[PipelineStage]):
    """Let the stages of one process hand tensors to each other.

    >>> from torch.distributed.pipelining.stage import PipelineStage, connect
    >>> stages = [PipelineStage(nn.Linear(2, 2), i, 2, torch.device("cpu")) for i in range(2)]
    >>> connect(stages)
    >>> stages[0].peers[1] is stages[1]
    True
    """
    local = {s.stage_index: s for s in stages}
    for stage in stages:
        stage.peers = local


def build_stage(stage_module: Module, stage_index: int, pipe_info, device, group=None) -> PipelineStage:
    """The stage of a module that `pipeline` made.

    >>> from torch.distributed.pipelining import build_stage, pipeline
    >>> pipe = pipeline(nn.Sequential(nn.Linear(2, 1)), mb_args=(torch.ones(1, 2),))
    >>> build_stage(pipe.get_stage_module(0), 0, pipe.info(), torch.device("cpu")).is_first
    True
    """
    return PipelineStage(stage_module, stage_index, pipe_info.num_stages, device, group=group)
