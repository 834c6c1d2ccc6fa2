"""What process groups are asked by their methods, with options in objects, as functions of torch.distributed ask them.

The methods are given to ProcessGroup here, as the collectives stand on it.
"""

from __future__ import annotations

import builtins
import enum
from datetime import timedelta

from . import collectives
from .group import ProcessGroup, ReduceOp, Work, default

NEGATIVE = timedelta(milliseconds=-1)  # the group's


class _Options:
    """How a collective of a group's method is run; groups look at what they know, `timeout` is the group's."""

    asyncOp = True
    timeout = NEGATIVE
    __module__ = "torch.distributed"


class AllreduceOptions(_Options):
    """How ProcessGroup.allreduce combines: `reduceOp`.

    >>> import torch.distributed as dist
    >>> options = dist.AllreduceOptions()
    >>> options.reduceOp = dist.ReduceOp.MAX
    >>> x = torch.tensor([3.])
    >>> _ = dist.group.WORLD.allreduce([x], options).wait()
    >>> x
    tensor([3.])
    """

    __module__ = "torch.distributed"
    reduceOp = ReduceOp.SUM


class AllreduceCoalescedOptions(AllreduceOptions):
    """How ProcessGroup.allreduce_coalesced combines: `reduceOp`.

    >>> torch.distributed.AllreduceCoalescedOptions().reduceOp == torch.distributed.ReduceOp.SUM
    True
    """

    __module__ = "torch.distributed"


class ReduceScatterOptions(AllreduceOptions):
    """How ProcessGroup.reduce_scatter combines: `reduceOp`.

    >>> torch.distributed.ReduceScatterOptions().reduceOp == torch.distributed.ReduceOp.SUM
    True
    """

    __module__ = "torch.distributed"


class BroadcastOptions(_Options):
    """Whose tensor ProcessGroup.broadcast takes: the place `rootRank` in the group.

    >>> torch.distributed.BroadcastOptions().rootRank
    0
    """

    __module__ = "torch.distributed"
    rootRank = rootTensor = 0


class ReduceOptions(BroadcastOptions):
    """How ProcessGroup.reduce combines, and which place in the group gets it: `reduceOp`, `rootRank`.

    >>> torch.distributed.ReduceOptions().rootRank
    0
    """

    __module__ = "torch.distributed"
    reduceOp = ReduceOp.SUM


class GatherOptions(_Options):
    """Which place in the group ProcessGroup.gather is for: `rootRank`.

    >>> torch.distributed.GatherOptions().rootRank
    0
    """

    __module__ = "torch.distributed"
    rootRank = 0


class ScatterOptions(GatherOptions):
    """Whose tensors ProcessGroup.scatter gives away: those of the place `rootRank` in the group.

    >>> torch.distributed.ScatterOptions().rootRank
    0
    """

    __module__ = "torch.distributed"


class AllToAllOptions(_Options):
    """How ProcessGroup.alltoall is run.

    >>> torch.distributed.AllToAllOptions().timeout
    datetime.timedelta(days=-1, seconds=86399, microseconds=999000)
    """

    __module__ = "torch.distributed"


class BarrierOptions(_Options):
    """How ProcessGroup.barrier is run.

    >>> torch.distributed.BarrierOptions().device_ids
    []
    """

    __module__ = "torch.distributed"

    def __init__(self) -> None:
        self.device_ids: list[int] = []
        self.device = None


class BuiltinCommHookType(enum.Enum):
    """The communication hooks that DistributedDataParallel has of its own.

    >>> [hook.name for hook in torch.distributed.BuiltinCommHookType]
    ['ALLREDUCE', 'FP16_COMPRESS']
    """

    ALLREDUCE, FP16_COMPRESS = range(2)


BuiltinCommHookType.__module__ = "torch.distributed"


# ---- methods -------------------------------------------------------------------------------------


def _operation(given):
    return getattr(given, "reduceOp", ReduceOp.SUM if given is None else given)


def _place(given) -> int:
    return getattr(given, "rootRank", 0 if given is None else given)


def _list(tensors) -> list:
    return list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]


def allreduce(self: ProcessGroup, tensors, opts=None) -> Work:
    """all_reduce of each tensor; opts: AllreduceOptions or a ReduceOp."""
    for x in _list(tensors):
        collectives.all_reduce(x, _operation(opts), self)
    return Work(_list(tensors))


def allreduce_coalesced(self: ProcessGroup, tensors, opts=None) -> Work:
    """all_reduce of all tensors together; opts: AllreduceCoalescedOptions or a ReduceOp."""
    collectives.all_reduce_coalesced(tensors, _operation(opts), self)
    return Work(tensors)


def broadcast(self: ProcessGroup, tensors, opts=None) -> Work:
    """broadcast of each tensor; opts: BroadcastOptions or a place in the group."""
    for x in _list(tensors):
        collectives.broadcast(x, group=self, group_src=_place(opts))
    return Work(_list(tensors))


def reduce(self: ProcessGroup, tensors, opts=None, op=ReduceOp.SUM) -> Work:
    """reduce of each tensor; opts: ReduceOptions, or a place in the group with `op`."""
    for x in _list(tensors):
        collectives.reduce(x, op=getattr(opts, "reduceOp", op), group=self, group_dst=_place(opts))
    return Work(_list(tensors))


def allgather(self: ProcessGroup, output_tensors, input_tensors, opts=None) -> Work:
    """all_gather of each tensor to a list of its own."""
    several = isinstance(input_tensors, (list, tuple))
    outputs = output_tensors if several else [output_tensors]
    for places, x in zip(outputs, _list(input_tensors), strict=True):
        collectives.all_gather(places, x, self)
    return Work(output_tensors)


def _allgather_base(self: ProcessGroup, output, input, opts=None) -> Work:
    """all_gather_into_tensor."""
    collectives.all_gather_into_tensor(output, input, self)
    return Work([output])


def gather(self: ProcessGroup, output_tensors, input_tensors, opts=None) -> Work:
    """gather of one tensor, of which the lists have one each; opts: GatherOptions or a place in the group."""
    several = isinstance(input_tensors, (list, tuple))
    places = (output_tensors[0] if output_tensors else None) if several else output_tensors
    collectives.gather(_list(input_tensors)[0], places, group=self, group_dst=_place(opts))
    return Work(output_tensors)


def scatter(self: ProcessGroup, output_tensors, input_tensors, opts=None) -> Work:
    """scatter to one tensor, of which the lists have one each; opts: ScatterOptions or a place in the group."""
    several = isinstance(output_tensors, (list, tuple))
    given = (input_tensors[0] if input_tensors else None) if several else input_tensors
    collectives.scatter(_list(output_tensors)[0], given, group=self, group_src=_place(opts))
    return Work(output_tensors)


def reduce_scatter(self: ProcessGroup, output_tensors, input_tensors, opts=None) -> Work:
    """reduce_scatter to each tensor, of a list of its own; opts: ReduceScatterOptions or a ReduceOp."""
    several = isinstance(output_tensors, (list, tuple))
    for out, given in zip(_list(output_tensors), input_tensors if several else [input_tensors], strict=True):
        collectives.reduce_scatter(out, given, _operation(opts), self)
    return Work(output_tensors)


def _reduce_scatter_base(self: ProcessGroup, outputTensor, inputTensor, opts=None) -> Work:
    """reduce_scatter_tensor; opts: ReduceScatterOptions."""
    collectives.reduce_scatter_tensor(outputTensor, inputTensor, _operation(opts), self)
    return Work([outputTensor])


def alltoall(self: ProcessGroup, output_tensors, input_tensors, opts=None) -> Work:
    """all_to_all."""
    collectives.all_to_all(output_tensors, input_tensors, self)
    return Work(output_tensors)


def alltoall_base(self: ProcessGroup, output, input, output_split_sizes, input_split_sizes, opts=None) -> Work:
    """all_to_all_single; empty lists of sizes stand for equal ones."""
    collectives.all_to_all_single(output, input, output_split_sizes or None, input_split_sizes or None, self)
    return Work([output])


def send(self: ProcessGroup, tensors, dstRank: int, tag: int = 0) -> Work:
    """isend of one tensor, in a list, to a place in the group."""
    return collectives.isend(_list(tensors)[0], group=self, tag=tag, group_dst=dstRank)


def recv(self: ProcessGroup, tensors, srcRank: int, tag: int = 0) -> Work:
    """irecv to one tensor, in a list, from a place in the group."""
    return collectives.irecv(_list(tensors)[0], group=self, tag=tag, group_src=srcRank)


def recv_anysource(self: ProcessGroup, tensors, tag: int = 0) -> Work:
    """irecv to one tensor, in a list, from whoever sends."""
    return collectives.irecv(_list(tensors)[0], group=self, tag=tag)


def barrier(self: ProcessGroup, opts=None) -> Work:
    """barrier."""
    collectives.barrier(self)
    return Work()


for _method in (barrier, allreduce, allreduce_coalesced, broadcast, reduce, allgather, gather, scatter, reduce_scatter):
    setattr(ProcessGroup, _method.__name__, _method)
for _method in (_allgather_base, _reduce_scatter_base, alltoall, alltoall_base, send, recv, recv_anysource):
    setattr(ProcessGroup, _method.__name__, _method)


# ---- a debugger in one process -------------------------------------------------------------------

_skipped: dict[str, int] = {}


def breakpoint(rank: int = 0, skip: int = 0, timeout_s: int = 3600):
    """Open the debugger in the process of a rank, while the others wait; `skip`: not at the first so many calls.

    >>> torch.distributed.breakpoint(skip=1)
    """
    if skip and _skipped.setdefault("calls", 0) < skip:
        _skipped["calls"] += 1
        return
    world = default()
    if world.rank() == rank:
        print(f"!!! torch.distributed.breakpoint in rank {rank}: 'up' leads to the caller, 'c' goes on", flush=True)
        builtins.breakpoint()  # noqa: T100
    collectives.barrier(world)
