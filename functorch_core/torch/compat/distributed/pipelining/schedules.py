"""torch.distributed.pipelining.schedules: in which order a process computes the parts of a batch.

A schedule is the list of each process's actions. Receiving waits, sending does not: what a list says is all there is.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ....tape.modes import no_grad, state
from . import zero_bubble
from .microbatch import merge_chunks, split_args_kwargs_into_chunks
from .stage import PipelineStage, connect

FEW = "Number of microbatches ({n}) must be greater than or equal to the number of stages ({stages})."
ROUNDS = (
    "Interleaved 1F1B requires the number of microbatches to be a multiple of the number of rounds ({rounds}), but got "
    "{n}."
)
NO_GRAD = (
    "step() requires gradients to be enabled for backward computation; it should not be used under torch.no_grad() "
    "context. Please call eval() instead."
)
NOT_SPLIT = "torch.distributed.pipelining.{name}: use_full_backward=False is what ScheduleInterleavedZeroBubble does"
NO_FSDP = "{name} divides backward passes in two, which those of modules divided by fully_shard cannot be"
TWO = "{name}: the process of rank {rank} has the stages {rank} and {other}, got {found}"
PARTS = "{what} gives {found} parts, n_microbatches is {wanted}"
UNKNOWN = "Unknown schedule name '{name}'. The valid options are {names}"
NO_SCHEDULE = "{name} is a base: derive a class whose _actions(rank) are the actions of a process"


class _Action(NamedTuple):
    """One part of a batch through one stage: forward, backward, or backward to the inputs or the weights alone."""

    stage_index: int
    computation_type: str  # F, B, I or W
    microbatch_index: int

    def __repr__(self):
        return f"{self.stage_index}{self.computation_type}{self.microbatch_index}"


class _PipelineSchedule:
    """What all schedules do: divide the batch, go through the actions of this process, put the results together."""

    def __init__(self, stages: list[PipelineStage], n_microbatches: int, loss_fn, args_spec, kwargs_spec, merge, scale):
        self._n_microbatches, self._loss_fn, self.scale_grads = n_microbatches, loss_fn, scale
        self._args_chunk_spec, self._kwargs_chunk_spec, self._output_merge_spec = args_spec, kwargs_spec, merge
        self._stages, first = stages, stages[0]
        self._num_stages, self.rank, self.pp_group_size = first.num_stages, first.group_rank, first.group_size
        connect(stages)

    def _actions(self, rank: int) -> list[_Action]:
        """What a process computes, in order."""
        raise NotImplementedError(NO_SCHEDULE.format(name=type(self).__name__))

    @property
    def pipeline_order(self) -> dict[int, list[_Action]]:
        """What each process computes, in order."""
        return {rank: self._actions(rank) for rank in range(self.pp_group_size)}

    def step(
        self,
        *args,
        target=None,
        losses: list | None = None,
        return_outputs: bool = True,
        loss_kwargs: dict[str, Any] | None = None,
        **kwargs,
    ):
        """Compute a whole batch: forward, and backward if there is a loss_fn. The arguments are the first stage's,
        the target is the last one's; gradients are added to those of the parameters.

        In the process of the last stage: the outputs of all parts together (None without `return_outputs`), and
        `losses` gets the loss of each part. In all others: None.
        """
        if self._loss_fn is not None and not state.enabled:
            raise RuntimeError(NO_GRAD)
        return self._run(args, kwargs, target, losses, return_outputs, loss_kwargs, self._loss_fn is not None)

    def eval(
        self,
        *args,
        target=None,
        losses: list | None = None,
        return_outputs: bool = True,
        loss_kwargs: dict[str, Any] | None = None,
        **kwargs,
    ):
        """step without gradients."""
        with no_grad():
            return self._run(args, kwargs, target, losses, return_outputs, loss_kwargs, False)

    def _run(self, args, kwargs, target, losses, return_outputs, loss_kwargs, trains: bool):
        n = self._n_microbatches
        for stage in self._stages:
            stage.clear_runtime_states()
            stage.has_backward = trains
        parts = split_args_kwargs_into_chunks(args, kwargs, n, self._args_chunk_spec, self._kwargs_chunk_spec)
        if len(parts[0]) != n and (args or kwargs):
            raise ValueError(PARTS.format(what="the batch", found=len(parts[0]), wanted=n))
        targets = [None] * n if target is None else list(target.tensor_split(n))
        found = self._go_through(self._actions(self.rank), *parts, targets, loss_kwargs or {}, trains)
        if trains and self.scale_grads:
            for p in dict.fromkeys(p for s in self._stages for p in s.submod.parameters()):  # one may be in several
                if p.grad is not None:
                    p.grad.div_(n)
        for stage in self._stages:
            stage.finish()
        if losses is not None and self._last is not None:
            losses[:] = [found[k] for k in sorted(found)]
        return self._merged() if return_outputs else None

    @property
    def _last(self) -> PipelineStage | None:
        return next((s for s in self._stages if s.is_last), None)

    def _merged(self):
        return None if self._last is None else merge_chunks(self._last.output_chunks, self._output_merge_spec)

    def _go_through(self, actions: list[_Action], args, kwargs, targets, loss_kwargs: dict, trains: bool) -> dict:
        """The losses of the parts, by number."""
        stages = {s.stage_index: s for s in self._stages}
        left = collections.Counter(a.stage_index for a in actions if a.computation_type in "BW")
        losses: dict[int, Any] = {}
        for index, kind, k in actions:
            stage = stages[index]
            if kind == "F":
                out = stage.forward_one_chunk(k, args[k] if stage.is_first else (), kwargs[k])
                if stage.is_last and self._loss_fn is not None and targets[k] is not None:
                    losses[k] = self._loss_fn(out, targets[k], **loss_kwargs)
            elif trains:
                left[index] -= kind != "I"
                last = not left[index]
                if kind == "W":
                    stage.backward_weight_one_chunk(k, last_backward=last)
                else:
                    stage.backward_one_chunk(k, losses.get(k), full_backward=kind == "B", last_backward=last)
        return losses


class PipelineScheduleSingle(_PipelineSchedule):
    """A schedule of one stage in each process. `loss_fn(output, target)` gives the loss of a part; without it `step`
    computes outputs alone. `scale_grads`: the gradients are divided by the number of parts, for losses that are means.

    >>> from torch.distributed.pipelining import ScheduleGPipe
    >>> from torch.distributed.pipelining.schedules import PipelineScheduleSingle
    >>> issubclass(ScheduleGPipe, PipelineScheduleSingle)
    True
    """

    def __init__(
        self,
        stage: PipelineStage,
        n_microbatches: int,
        loss_fn: Callable | None = None,
        args_chunk_spec: tuple | None = None,
        kwargs_chunk_spec: dict | None = None,
        output_merge_spec=None,
        scale_grads: bool = True,
    ):
        super().__init__(
            [stage], n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads
        )
        self._stage = stage


class PipelineScheduleMulti(_PipelineSchedule):
    """A schedule of several stages in each process: of those numbered rank, rank + size of the group, and so on.

    >>> from torch.distributed.pipelining import ScheduleLoopedBFS
    >>> from torch.distributed.pipelining.schedules import PipelineScheduleMulti
    >>> issubclass(ScheduleLoopedBFS, PipelineScheduleMulti)
    True
    """

    def __init__(
        self,
        stages: list[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable | None = None,
        args_chunk_spec: tuple | None = None,
        kwargs_chunk_spec: dict | None = None,
        output_merge_spec=None,
        use_full_backward: bool | None = None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
    ):
        if use_full_backward is False:
            raise NotImplementedError(NOT_SPLIT.format(name=type(self).__name__))
        stages = sorted(stages, key=lambda s: s.stage_index)
        super().__init__(
            stages, n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads
        )
        self.n_local_stages = len(stages)

    def _stages_of(self, rank: int) -> range:
        return range(rank, self._num_stages, self.pp_group_size)


# ---- one stage in each process -------------------------------------------------------------------


class ScheduleGPipe(PipelineScheduleSingle):
    """All parts forward, then all parts backward. Huang et al.: GPipe (2019).

    >>> from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
    >>> stage = PipelineStage(nn.Linear(2, 1), 0, 1, torch.device("cpu"))
    >>> schedule = ScheduleGPipe(stage, n_microbatches=2)
    >>> schedule.step(torch.ones(4, 2)).shape
    torch.Size([4, 1])
    """

    def _actions(self, rank: int) -> list[_Action]:
        n = range(self._n_microbatches)
        return [_Action(rank, "F", k) for k in n] + [_Action(rank, "B", k) for k in n]


def _in_turns(forward: Iterable[_Action], backward: Iterable[_Action], ahead: int) -> list[_Action]:
    """Some steps forward, then one forward and one backward in turns, then those backward that are left."""
    forward, backward = list(forward), list(backward)
    order = forward[:ahead]
    for f, b in zip(forward[ahead:], backward):
        order += [f, b]
    return order + backward[len(forward) - ahead :]


class Schedule1F1B(PipelineScheduleSingle):
    """One part forward, one backward, in turns: fewer results are kept. Narayanan et al.: PipeDream-Flush (2020).

    >>> from torch.distributed.pipelining import PipelineStage, Schedule1F1B
    >>> stage = PipelineStage(nn.Linear(2, 1), 0, 1, torch.device("cpu"))
    >>> schedule = Schedule1F1B(stage, n_microbatches=2, loss_fn=F.mse_loss)
    >>> schedule.step(torch.ones(4, 2), target=torch.zeros(4, 1)).shape
    torch.Size([4, 1])
    """

    def __init__(self, stage: PipelineStage, n_microbatches: int, *args, **kwargs):
        super().__init__(stage, n_microbatches, *args, **kwargs)
        if n_microbatches < self._num_stages:
            raise ValueError(FEW.format(n=n_microbatches, stages=self._num_stages))

    def _actions(self, rank: int) -> list[_Action]:
        n = range(self._n_microbatches)
        ahead = min(self._n_microbatches, self._num_stages - rank - 1)
        return _in_turns([_Action(rank, "F", k) for k in n], [_Action(rank, "B", k) for k in n], ahead)


# ---- several stages in each process --------------------------------------------------------------


class ScheduleLoopedBFS(PipelineScheduleMulti):
    """All parts through one stage, then through the next of this process. Lamy-Poirier: Breadth-First Pipeline
    Parallelism (2022).

    >>> from torch.distributed.pipelining import ScheduleLoopedBFS
    >>> ScheduleLoopedBFS.__name__
    'ScheduleLoopedBFS'
    """

    def __init__(
        self,
        stages: list[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable | None = None,
        output_merge_spec=None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
        defer_pp_recv: bool = False,
    ):
        super().__init__(stages, n_microbatches, loss_fn, output_merge_spec=output_merge_spec, scale_grads=scale_grads)

    def _actions(self, rank: int) -> list[_Action]:
        n, mine = range(self._n_microbatches), self._stages_of(rank)
        forward = [_Action(s, "F", k) for s in mine for k in n]
        return forward + [_Action(s, "B", k) for s in reversed(mine) for k in reversed(n)]


class ScheduleInterleaved1F1B(PipelineScheduleMulti):
    """One part forward, one backward, in turns, through several stages of each process. Narayanan et al. (2021).

    The parts go in rounds of as many as there are processes, or some more; their number is a multiple of the rounds'.

    >>> from torch.distributed.pipelining import PipelineStage, ScheduleInterleaved1F1B
    >>> stages = [PipelineStage(nn.Linear(2, 2), i, 2, torch.device("cpu")) for i in range(2)]
    >>> type(ScheduleInterleaved1F1B(stages, n_microbatches=2)).__name__
    'ScheduleInterleaved1F1B'
    """

    def __init__(
        self,
        stages: list[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable | None = None,
        args_chunk_spec: tuple | None = None,
        kwargs_chunk_spec: dict | None = None,
        output_merge_spec=None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
        defer_pp_recv: bool = False,
    ):
        super().__init__(
            stages,
            n_microbatches,
            loss_fn,
            args_chunk_spec,
            kwargs_chunk_spec,
            output_merge_spec,
            scale_grads=scale_grads,
        )
        self.number_of_rounds = max(1, n_microbatches // self.pp_group_size)
        if n_microbatches % self.number_of_rounds:
            raise ValueError(ROUNDS.format(rounds=self.number_of_rounds, n=n_microbatches))
        self.microbatches_per_round = n_microbatches // self.number_of_rounds

    def _actions(self, rank: int) -> list[_Action]:
        mine, size = self._stages_of(rank), self.microbatches_per_round
        ahead = (len(mine) - 1) * size + 2 * (self.pp_group_size - 1 - rank)
        forward, backward = (self._by_rounds(kind, order) for kind, order in (("F", mine), ("B", mine[::-1])))
        return _in_turns(forward, backward, min(ahead, len(forward)))

    def _by_rounds(self, kind: str, stages: range) -> list[_Action]:
        size = self.microbatches_per_round
        rounds = (range(r * size, (r + 1) * size) for r in range(self.number_of_rounds))
        return [_Action(s, kind, k) for parts in rounds for s in stages for k in parts]


class _ZeroBubble(PipelineScheduleMulti):
    """What schedules do that put the gradients of weights off."""

    def __init__(
        self,
        stages: list[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable | None = None,
        args_chunk_spec: tuple | None = None,
        kwargs_chunk_spec: dict | None = None,
        output_merge_spec=None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
        defer_pp_recv: bool = False,
    ):
        super().__init__(
            stages,
            n_microbatches,
            loss_fn,
            args_chunk_spec,
            kwargs_chunk_spec,
            output_merge_spec,
            scale_grads=scale_grads,
        )
        for stage in self._stages:
            if any(hasattr(m, "_fsdp_group") for m in stage.submod.modules()):
                raise NotImplementedError(NO_FSDP.format(name=type(self).__name__))


class ScheduleInterleavedZeroBubble(_ZeroBubble, ScheduleInterleaved1F1B):
    """ScheduleInterleaved1F1B in which the gradients of weights are computed where a process would wait: the ZB1P of Qi
    et al.: Zero Bubble Pipeline Parallelism (2023).

    >>> from torch.distributed.pipelining import PipelineStage, ScheduleInterleavedZeroBubble
    >>> layers = [nn.Linear(2, 2) for _ in range(2)]
    >>> stages = [PipelineStage(layer, i, 2, torch.device("cpu")) for i, layer in enumerate(layers)]
    >>> schedule = ScheduleInterleavedZeroBubble(stages, n_microbatches=2, loss_fn=F.mse_loss)
    >>> schedule.step(torch.ones(4, 2), target=torch.zeros(4, 2)).shape
    torch.Size([4, 2])
    """

    def _actions(self, rank: int) -> list[_Action]:
        mine = self._stages_of(rank)
        ahead = (len(mine) - 1) * self.microbatches_per_round + self.pp_group_size - 1 - rank
        forward, backward = (self._by_rounds(kind, order) for kind, order in (("F", mine), ("I", mine[::-1])))
        return [_Action(*step) for step in zero_bubble.interleaved(forward, backward, ahead, rank)]


class _VShaped(_ZeroBubble):
    """Two stages in each process: number `rank`, and the one opposite to it."""

    def __init__(self, stages: list[PipelineStage], n_microbatches: int, *args, **kwargs):
        super().__init__(stages, n_microbatches, *args, **kwargs)
        n, rank, found = self.pp_group_size, self.rank, [s.stage_index for s in self._stages]
        if found != [rank, 2 * n - 1 - rank]:
            raise ValueError(TWO.format(name=type(self).__name__, found=found, rank=rank, other=2 * n - 1 - rank))
        for stage in self._stages:
            stage.rank_of = lambda index, n=n: min(index, 2 * n - 1 - index)


class ScheduleZBVZeroBubble(_VShaped):
    """ZB-V of Qi et al.: Zero Bubble Pipeline Parallelism (2023), section 6. The process of rank r has the stages r and
    2 n - 1 - r; that of rank 0 gives the input, and has the outputs.

    >>> from torch.distributed.pipelining import PipelineStage, ScheduleZBVZeroBubble
    >>> stages = [PipelineStage(nn.Linear(2, 2), i, 2, torch.device("cpu")) for i in range(2)]
    >>> schedule = ScheduleZBVZeroBubble(stages, n_microbatches=2, loss_fn=F.mse_loss)
    >>> schedule.step(torch.ones(4, 2), target=torch.zeros(4, 2)).shape
    torch.Size([4, 2])
    """

    def _actions(self, rank: int) -> list[_Action]:
        return [_Action(*s) for s in zero_bubble.v_shaped(rank, self.pp_group_size, self._n_microbatches)]


class ScheduleDualPipeV(_VShaped):
    """DualPipe-V of DeepSeek-V3 (2024): stages lie as for ScheduleZBVZeroBubble; at least twice as many parts as there
    are processes. Parts forward and backward that it overlaps come one after the other.

    >>> from torch.distributed.pipelining import PipelineStage, ScheduleDualPipeV
    >>> stages = [PipelineStage(nn.Linear(2, 2), i, 2, torch.device("cpu")) for i in range(2)]
    >>> schedule = ScheduleDualPipeV(stages, n_microbatches=2, loss_fn=F.mse_loss)
    >>> schedule.step(torch.ones(4, 2), target=torch.zeros(4, 2)).shape
    torch.Size([4, 2])
    """

    def __init__(self, stages: list[PipelineStage], n_microbatches: int, *args, **kwargs):
        super().__init__(stages, n_microbatches, *args, **kwargs)
        if n_microbatches < self._num_stages:
            raise ValueError(FEW.format(n=n_microbatches, stages=self._num_stages))

    def _actions(self, rank: int) -> list[_Action]:
        return [_Action(*s) for s in zero_bubble.dual_v(rank, self.pp_group_size, self._n_microbatches)]


_BY_NAME: dict[str, type[_PipelineSchedule]] = {
    "1F1B": Schedule1F1B,
    "Interleaved1F1B": ScheduleInterleaved1F1B,
    "GPipe": ScheduleGPipe,
    "LoopedBFS": ScheduleLoopedBFS,
    "InterleavedZeroBubble": ScheduleInterleavedZeroBubble,
    "PipelineScheduleSingle": PipelineScheduleSingle,
    "PipelineScheduleMulti": PipelineScheduleMulti,
    "ZBVZeroBubble": ScheduleZBVZeroBubble,
    "DualPipeV": ScheduleDualPipeV,
}


def get_schedule_class(schedule_name: str) -> type[_PipelineSchedule]:
    """The class of a name, whose case does not count; ValueError for others.

    >>> from functorch_core.torch.distributed.pipelining.schedules import get_schedule_class
    >>> get_schedule_class("1f1b").__name__
    'Schedule1F1B'
    """
    found = {name.lower(): cls for name, cls in _BY_NAME.items()}.get(schedule_name.lower())
    if found is None:
        raise ValueError(UNKNOWN.format(name=schedule_name, names=list(_BY_NAME)))
    return found
