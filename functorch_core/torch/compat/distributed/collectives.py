"""Collectives: what the processes of a group tell each other, in place of their tensors, as in PyTorch.

Each is computed when it is called, with `async_op` as well: the Work that it returns then is done.
"""

from __future__ import annotations

import itertools
import math
import pickle
import threading
from collections.abc import Sequence

import numpy as np

from ....core import dtypes as dt
from ....core.errors import ConcretizationError
from ....engine import to_numpy
from ...operators.shape.copies import take_over
from ...operators.sparse.tensor import sparse_coo_tensor
from ...tape.modes import no_grad
from ...tensors.base import Tensor, from_array
from .debug import compared
from .group import ProcessGroup, ReduceOp, Work, _rank_not_in_group, default, get_group_rank, mailbox, runtime
from .stores import seconds_of

KINDS = {ReduceOp.SUM: "sum", ReduceOp.AVG: "sum", ReduceOp.PRODUCT: "prod", ReduceOp.MIN: "min", ReduceOp.MAX: "max"}
BITWISE = {ReduceOp.BAND: np.bitwise_and, ReduceOp.BOR: np.bitwise_or, ReduceOp.BXOR: np.bitwise_xor}
ONE_SIZE = "{name}: rank {rank} has {found} where the others have {wanted}; all tensors must have one size and dtype"
LONG = {"src": "source", "dst": "destination"}
NOBODY = "Invalid {what} rank: {what} rank should not be the same as the rank of the current process."
LATE = "{name}: nothing came from rank {rank} within {seconds:g} s; it may have ended, or not sent"
ALIGNED = 64  # bytes
UNSENT = "send: rank {rank} took nothing within {seconds:g} s; it may have ended"
TRACED = (
    "{name} in a traced function (fc.jit, fc.grad, ...): its program is of one process. Call it outside, "
    "or make one program for all processes: fc.shard_map with fc.lax.psum, or DTensors"
)
BATCHED = (
    "{name} writes to its argument, which vmap has an example of: take the one of torch.distributed.nn.functional or "
    "torch.distributed._functional_collectives, which give new tensors"
)
LISTED = "{name}: {what} has {found} tensors, the group has {wanted} processes"


# ---- tensors and arrays --------------------------------------------------------------------------


def _array(tensor: Tensor, name: str) -> np.ndarray:
    """What is in a tensor, contiguous."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name}: Invalid type: {type(tensor).__name__}; expected a tensor")
    try:
        array = to_numpy(tensor.detach()._read())
    except ConcretizationError:
        raise NotImplementedError(TRACED.format(name=name)) from None
    if array.shape != tuple(tensor.shape):
        raise RuntimeError(BATCHED.format(name=name))
    return np.ascontiguousarray(array).reshape(array.shape)


def _put(tensor: Tensor, array: np.ndarray):
    """Write what a collective gave, which nobody else has: its memory may become the tensor's."""
    with no_grad():
        take_over(tensor, from_array(array.reshape(tuple(tensor.shape))))


def _raw(array: np.ndarray) -> np.ndarray:
    """The same bits as integers, flat, which XLA moves whatever they mean."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _group(group) -> ProcessGroup | None:
    """The group that is meant; None for a process outside of it."""
    world = default()
    if group is None:
        return world
    return None if _rank_not_in_group(group) else group


def _done(value, async_op: bool) -> Work | None:
    return Work(value) if async_op else None


def _reduced(g: ProcessGroup, x: np.ndarray, op) -> np.ndarray:
    """What op makes of the arrays of all processes."""
    kind = ReduceOp(op.op) if not isinstance(op, type(ReduceOp.SUM)) else op
    kind = getattr(kind, "op", kind)
    if kind not in KINDS and kind not in BITWISE:
        raise NotImplementedError(f"all_reduce: {kind} is not implemented")
    if kind in BITWISE and x.dtype.kind not in "iub":
        raise RuntimeError(f"Cannot use {kind} with {x.dtype}: it combines the bits of integers")
    if g.size() == 1:
        return x.copy()
    if kind in BITWISE:
        return BITWISE[kind].reduce(_gathered(g, x), axis=0)
    if x.dtype == np.bool_:
        as_bytes = {"sum": "max", "prod": "min"}.get(KINDS[kind], KINDS[kind])
        return g.run("all_reduce", x.view(np.uint8), kind=as_bytes).view(np.bool_)
    narrow = x.dtype in dt.FLOAT8 or x.dtype == dt.bfloat16
    total = g.run("all_reduce", x.astype(np.float32) if narrow else x, kind=KINDS[kind])
    if kind is ReduceOp.AVG and total.dtype.kind in "fc" and total.flags.writeable:
        np.divide(total, np.asarray(g.size(), total.dtype), out=total)
    elif kind is ReduceOp.AVG:
        total = total / np.asarray(g.size(), total.dtype)
    return total.astype(x.dtype, copy=False)


def _reduced_together(g: ProcessGroup, arrays: Sequence[np.ndarray], op) -> list[np.ndarray]:
    """What op makes of several arrays of one dtype of each process, in one message; each begins where a program can
    take it without a copy."""
    dtype = arrays[0].dtype
    unit = max(1, ALIGNED // dtype.itemsize)
    starts = [0, *itertools.accumulate([-(-x.size // unit) * unit for x in arrays])]
    flat = np.zeros(starts[-1], dtype)
    for start, x in zip(starts, arrays):
        flat[start : start + x.size] = x.reshape(-1)
    total = _reduced(g, flat, op)
    return [total[start : start + x.size].reshape(x.shape) for start, x in zip(starts, arrays)]


def _gathered(g: ProcessGroup, x: np.ndarray) -> np.ndarray:
    """The arrays of all processes, of one size: [size of the group, *x.shape]."""
    if g.size() == 1:
        return x[None].copy()
    raw = _raw(x)
    rows = g.run("all_gather", raw, (g.size() * raw.size,))
    return rows.view(x.dtype).reshape(g.size(), *x.shape)


def _from(g: ProcessGroup, x: np.ndarray, root: int) -> np.ndarray:
    """The array of the process of that rank in the group, exactly."""
    if g.size() == 1:
        return x.copy()
    return g.run("broadcast", _raw(x), root=root).view(x.dtype).reshape(x.shape)


def _root(g: ProcessGroup, given: int | None, in_group: int | None, what: str) -> int:
    """The rank in the group of the process that is meant."""
    if given is not None and in_group is not None:
        raise ValueError(f"Can't specify both group_{what} and {what}")
    place = given or 0 if in_group is None else in_group
    if in_group is None and given is not None and g is not default():
        place = get_group_rank(g, given)
    if not 0 <= place < g.size():
        raise ValueError(f"Invalid {LONG[what]} rank: {place} is not one of the group's ranks, 0 to {g.size() - 1}")
    return place


# ---- reductions ----------------------------------------------------------------------------------


@compared("tensor", "op")
def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    """In each process the tensor becomes the sum (or what `op` says) of those of all.

    >>> import torch.distributed as dist
    >>> x = torch.tensor([1., 2.]) * (dist.get_rank() + 1)
    >>> dist.all_reduce(x)
    >>> x
    tensor([1., 2.])
    """
    g = _group(group)
    if g is not None and isinstance(tensor, Tensor) and tensor.is_sparse:
        with no_grad():
            tensor.copy_(_sparse_sum(g, tensor, op))
    elif g is not None:
        _put(tensor, _reduced(g, _array(tensor, "all_reduce"), op))
    return _done([tensor], async_op)


def _sparse_sum(g: ProcessGroup, tensor: Tensor, op) -> Tensor:
    """The sum, or the mean, of the sparse tensors of all processes, which may have different elements."""
    if op not in (ReduceOp.SUM, ReduceOp.AVG):
        raise RuntimeError(f"all_reduce of sparse tensors adds them up; got {op}")
    own = tensor.detach().coalesce()
    indices, values = to_numpy(own.indices()._read()), to_numpy(own.values()._read())
    counts = [int(n) for n in _gathered(g, np.asarray([indices.shape[1]]))[:, 0]]
    rows = _uneven(g, indices.T, [n * len(indices) for n in counts])
    of_all = _uneven(g, values, [n * math.prod(values.shape[1:]) for n in counts])
    together = np.concatenate([row.reshape(-1, len(indices)) for row in rows]).T
    summands = np.concatenate(of_all).reshape(-1, *values.shape[1:])
    if op is ReduceOp.AVG:
        summands = summands / np.asarray(g.size(), summands.dtype)
    total = sparse_coo_tensor(from_array(together), from_array(summands), tensor.shape)
    return total.coalesce()


def all_reduce_coalesced(tensors, op=ReduceOp.SUM, group=None, async_op=False):
    """all_reduce of each tensor, in one message for those of a dtype.

    >>> import torch.distributed as dist
    >>> x = [torch.ones(1), torch.ones(2)]
    >>> dist.all_reduce_coalesced(x)
    >>> x
    [tensor([1.]), tensor([1., 1.])]
    """
    g = _group(group)
    if g is not None:
        by_dtype: dict = {}
        for tensor in tensors:
            x = _array(tensor, "all_reduce_coalesced")
            by_dtype.setdefault(x.dtype, []).append((tensor, x))
        for pairs in by_dtype.values():
            totals = _reduced_together(g, [x for _, x in pairs], op)
            for (tensor, _), total in zip(pairs, totals):
                _put(tensor, total)
    return _done(tensors, async_op)


@compared("tensor", "dst", "op")
def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """all_reduce, of which only the process `dst` keeps the result.

    >>> import torch.distributed as dist
    >>> x = torch.tensor([1., 2.])
    >>> dist.reduce(x, dst=0)
    >>> x
    tensor([1., 2.])
    """
    g = _group(group)
    if g is not None:
        total = _reduced(g, _array(tensor, "reduce"), op)
        if g.rank() == _root(g, dst, group_dst, "dst"):
            _put(tensor, total)
    return _done([tensor], async_op)


@compared("output", "input_list", "op")
def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False):
    """Process k gets the sum of the k-th tensors of all lists.

    >>> import torch.distributed as dist
    >>> out = torch.zeros(2)
    >>> dist.reduce_scatter(out, [torch.ones(2) for _ in range(dist.get_world_size())])
    >>> out
    tensor([1., 1.])
    """
    g = _group(group)
    if g is not None:
        _check_list("reduce_scatter", "input_list", input_list, g)
        stacked = np.stack([_array(t, "reduce_scatter") for t in input_list])
        _put(output, _scattered(g, stacked, op))
    return _done([output], async_op)


@compared("output", "input", "op")
def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    """Process k gets the k-th part, along the first dimension, of the sum of all inputs.

    >>> import torch.distributed as dist
    >>> out = torch.zeros(2)
    >>> dist.reduce_scatter_tensor(out, torch.ones(2 * dist.get_world_size()))
    >>> out
    tensor([1., 1.])
    """
    g = _group(group)
    if g is not None:
        x = _array(input, "reduce_scatter_tensor")
        if x.size != g.size() * math.prod(output.shape):
            raise ValueError("input tensor must be the same size as output size times world size")
        _put(output, _scattered(g, x.reshape(g.size(), -1), op))
    return _done([output], async_op)


def _scattered(g: ProcessGroup, rows: np.ndarray, op) -> np.ndarray:
    """This process's row of what op makes of all."""
    plain = rows.dtype.kind in "fiuc" and op in (ReduceOp.SUM, ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PRODUCT)
    if g.size() > 1 and plain and rows.dtype not in (np.float16,):
        return g.run("reduce_scatter", rows.reshape(-1), (rows.size // g.size(),), kind=KINDS[op])
    return _reduced(g, rows, op)[g.rank()]


# ---- copies --------------------------------------------------------------------------------------


@compared("tensor", "src")
def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """In each process the tensor becomes that of the process `src`.

    >>> import torch.distributed as dist
    >>> x = torch.arange(2) if dist.get_rank() == 0 else torch.zeros(2, dtype=torch.int64)
    >>> dist.broadcast(x, src=0)
    >>> x
    tensor([0, 1])
    """
    g = _group(group)
    if g is not None and g.size() > 1:
        _put(tensor, _from(g, _array(tensor, "broadcast"), _root(g, src, group_src, "src")))
    return _done([tensor], async_op)


def _check_list(name: str, what: str, tensors: Sequence, g: ProcessGroup):
    if len(tensors) != g.size():
        raise ValueError(LISTED.format(name=name, what=what, found=len(tensors), wanted=g.size()))


@compared("tensor_list")
def all_gather(tensor_list, tensor, group=None, async_op=False):
    """The tensors of all processes, by rank, into the tensors of the list.

    >>> import torch.distributed as dist
    >>> out = [torch.zeros(2) for _ in range(dist.get_world_size())]
    >>> dist.all_gather(out, torch.tensor([1., 2.]))
    >>> out
    [tensor([1., 2.])]
    """
    g = _group(group)
    if g is not None:
        _check_list("all_gather", "tensor_list", tensor_list, g)
        sizes = {math.prod(t.shape) for t in tensor_list}
        if len(sizes) == 1:
            rows = _gathered(g, _array(tensor, "all_gather"))
        else:  # of several sizes: as long as the longest
            rows = _uneven(g, _array(tensor, "all_gather"), [math.prod(t.shape) for t in tensor_list])
        for place, row in zip(tensor_list, rows):
            _put(place, row)
    return _done(tensor_list, async_op)


def _uneven(g: ProcessGroup, x: np.ndarray, sizes: Sequence[int]) -> list[np.ndarray]:
    padded = np.zeros(max(sizes), x.dtype)
    padded[: x.size] = x.reshape(-1)
    return [row[:n] for row, n in zip(_gathered(g, padded), sizes)]


def all_gather_coalesced(output_tensor_lists, input_tensor_list, group=None, async_op=False):
    """all_gather of each tensor.

    >>> import torch.distributed as dist
    >>> out = [[torch.zeros(2)]]
    >>> dist.all_gather_coalesced(out, [torch.ones(2)])
    >>> out
    [[tensor([1., 1.])]]
    """
    for places, tensor in zip(output_tensor_lists, input_tensor_list, strict=True):
        all_gather(places, tensor, group)
    return _done(output_tensor_lists, async_op)


@compared("output_tensor", "input_tensor")
def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """The tensors of all processes, by rank, one after the other in one tensor.

    >>> import torch.distributed as dist
    >>> out = torch.zeros(2 * dist.get_world_size())
    >>> dist.all_gather_into_tensor(out, torch.tensor([1., 2.]))
    >>> out
    tensor([1., 2.])
    """
    g = _group(group)
    if g is not None:
        x = _array(input_tensor, "all_gather_into_tensor")
        if math.prod(output_tensor.shape) != g.size() * x.size:
            raise ValueError("output tensor size must be equal to world_size times input tensor size")
        _put(output_tensor, _gathered(g, x))
    return _done([output_tensor], async_op)


@compared("tensor", "dst")
def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """all_gather, of which only the process `dst` keeps the result.

    >>> import torch.distributed as dist
    >>> out = [torch.zeros(1) for _ in range(dist.get_world_size())] if dist.get_rank() == 0 else None
    >>> dist.gather(torch.ones(1), out, dst=0)
    >>> out
    [tensor([1.])]
    """
    g = _group(group)
    if g is not None:
        mine = g.rank() == _root(g, dst, group_dst, "dst")
        if mine and gather_list is None:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
        if not mine and gather_list:
            raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
        rows = _gathered(g, _array(tensor, "gather"))
        for place, row in zip(gather_list if mine else (), rows):
            _put(place, row)
    return _done(gather_list, async_op)


@compared("tensor", "src")
def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """Process k gets the k-th tensor of the list of the process `src`.

    >>> import torch.distributed as dist
    >>> out = torch.zeros(1)
    >>> dist.scatter(out, [torch.ones(1)] if dist.get_rank() == 0 else None, src=0)
    >>> out
    tensor([1.])
    """
    g = _group(group)
    if g is not None:
        root = _root(g, src, group_src, "src")
        x = _array(tensor, "scatter")
        rows = np.zeros((g.size(), *x.shape), x.dtype)
        if g.rank() == root:
            if not scatter_list:
                raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
            _check_list("scatter", "scatter_list", scatter_list, g)
            rows = np.stack([_array(t, "scatter") for t in scatter_list])
        elif scatter_list:
            raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
        _put(tensor, _exchanged(g, rows)[root].copy())  # not to keep the others
    return _done([tensor], async_op)


def _exchanged(g: ProcessGroup, rows: np.ndarray) -> np.ndarray:
    """Row k of process r becomes row r of process k."""
    if g.size() == 1:
        return rows.copy()
    raw = _raw(rows)
    return g.run("all_to_all", raw).view(rows.dtype).reshape(rows.shape)


@compared()
def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """Tensor k of the inputs goes to process k, whose output for this rank it becomes.

    >>> import torch.distributed as dist
    >>> out = [torch.zeros(2)]
    >>> dist.all_to_all(out, [torch.ones(2)])
    >>> out
    [tensor([1., 1.])]
    """
    g = _group(group)
    if g is not None:
        _check_list("all_to_all", "input_tensor_list", input_tensor_list, g)
        _check_list("all_to_all", "output_tensor_list", output_tensor_list, g)
        arrays = [_array(t, "all_to_all") for t in input_tensor_list]
        _distribute(g, arrays, output_tensor_list)
    return _done(output_tensor_list, async_op)


def _distribute(g: ProcessGroup, arrays: Sequence[np.ndarray], places: Sequence[Tensor]):
    """Array k to process k; what the others send into `places`. They may be of different sizes."""
    mine = max([a.size for a in arrays] + [math.prod(t.shape) for t in places])
    longest = int(_reduced(g, np.asarray([mine]), ReduceOp.MAX)[0])
    rows = np.zeros((g.size(), longest), arrays[0].dtype)
    for row, a in zip(rows, arrays):
        row[: a.size] = a.reshape(-1)
    for place, row in zip(places, _exchanged(g, rows)):
        _put(place, row[: math.prod(place.shape)])


@compared()
def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False):
    """Part k of the input, along the first dimension, goes to process k; the parts are equal, or of these sizes.

    >>> import torch.distributed as dist
    >>> out = torch.zeros(2)
    >>> dist.all_to_all_single(out, torch.tensor([1., 2.]))
    >>> out
    tensor([1., 2.])
    """
    g = _group(group)
    if g is not None:
        x = _array(input, "all_to_all_single")
        if not output_split_sizes and not input_split_sizes:
            if x.shape[0] % g.size():
                raise RuntimeError("Split sizes doesn't match total dim 0 size")
            _put(output, _exchanged(g, x.reshape(g.size(), -1)))
        else:
            ins = list(input_split_sizes or [x.shape[0] // g.size()] * g.size())
            outs = list(output_split_sizes or [output.shape[0] // g.size()] * g.size())
            if sum(ins) != x.shape[0] or sum(outs) != output.shape[0]:
                raise RuntimeError("Split sizes doesn't match total dim 0 size")
            places = [output.new_empty((n, *output.shape[1:])) for n in outs]
            _distribute(g, np.split(x, np.cumsum(ins)[:-1]), places)
            _put(output, np.concatenate([_array(p, "all_to_all_single") for p in places]))
    return _done([output], async_op)


# ---- waiting -------------------------------------------------------------------------------------


@compared()
def barrier(group=None, async_op=False, device_ids=None):
    """Wait until all processes of the group are here; RuntimeError after its timeout.

    >>> torch.distributed.barrier()
    """
    g = _group(group)
    if g is not None and g.size() > 1:
        g.meet()
    return _done(None, async_op)


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """barrier; RuntimeError naming the ranks that did not come within the timeout.

    >>> import datetime
    >>> torch.distributed.monitored_barrier(timeout=datetime.timedelta(seconds=10))
    """
    g = _group(group)
    if g is None or g.size() == 1:
        return
    g.n_barriers += 1
    seconds, shared, name = seconds_of(timeout or g.timeout), runtime(), f"{g.key}/monitored/{g.n_barriers}"
    shared.set(f"{name}/{g.global_rank}", b"1")
    missing = []
    for rank in g.ranks:
        try:
            shared.get(f"{name}/{rank}", seconds if not missing or wait_all_ranks else 0.01)
        except RuntimeError:
            missing.append(rank)
            if not wait_all_ranks:
                break
    if missing:
        raise RuntimeError(
            f"[Rank {g.rank()}]: Ranks {', '.join(map(str, missing))} failed to pass monitoredBarrier in "
            f"{int(seconds * 1000)} ms"
        )


# ---- objects -------------------------------------------------------------------------------------


def _bytes_of_all(g: ProcessGroup, data: bytes) -> list[bytes]:
    lengths = _gathered(g, np.asarray([len(data)]))[:, 0]
    rows = _uneven(g, np.frombuffer(data, np.uint8), [int(n) for n in lengths])
    return [row.tobytes() for row in rows]


@compared()
def all_gather_object(object_list, obj, group=None):
    """The objects of all processes, pickled, into the list.

    >>> import torch.distributed as dist
    >>> out = [None] * dist.get_world_size()
    >>> dist.all_gather_object(out, {"rank": dist.get_rank()})
    >>> out
    [{'rank': 0}]
    """
    g = _group(group)
    if g is not None:
        found = _bytes_of_all(g, pickle.dumps(obj))
        object_list[: len(found)] = map(pickle.loads, found)


@compared("dst")
def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    """all_gather_object, of which only the process `dst` keeps the result.

    >>> import torch.distributed as dist
    >>> out = [None] * dist.get_world_size() if dist.get_rank() == 0 else None
    >>> dist.gather_object("here", out, dst=0)
    >>> out
    ['here']
    """
    g = _group(group)
    if g is not None:
        found = _bytes_of_all(g, pickle.dumps(obj))
        if g.rank() == _root(g, dst, group_dst, "dst"):
            object_gather_list[: len(found)] = map(pickle.loads, found)


@compared("src")
def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """In each process the list becomes that of the process `src`.

    >>> import torch.distributed as dist
    >>> objects = ["settings", {"lr": 0.1}] if dist.get_rank() == 0 else [None, None]
    >>> dist.broadcast_object_list(objects, src=0)
    >>> objects
    ['settings', {'lr': 0.1}]
    """
    g = _group(group)
    if g is not None:
        root = _root(g, src, group_src, "src")
        found = _bytes_of_all(g, pickle.dumps(object_list if g.rank() == root else None))
        object_list[:] = pickle.loads(found[root])


@compared("src")
def scatter_object_list(
    scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None
):
    """Process k gets the k-th object of the list of the process `src`.

    >>> import torch.distributed as dist
    >>> out = [None]
    >>> dist.scatter_object_list(out, ["for rank 0"] if dist.get_rank() == 0 else None, src=0)
    >>> out
    ['for rank 0']
    """
    g = _group(group)
    if g is not None:
        root = _root(g, src, group_src, "src")
        found = _bytes_of_all(g, pickle.dumps(scatter_object_input_list if g.rank() == root else None))
        scatter_object_output_list[0] = pickle.loads(found[root])[g.rank()]


# ---- messages ------------------------------------------------------------------------------------


def isend(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Send a tensor to a process; a Work to wait for.

    >>> import torch.distributed as dist
    >>> if dist.get_rank() == 0 and dist.get_world_size() > 1: dist.isend(torch.ones(2), dst=1).wait()
    """
    g = _group(group)
    if g is None:
        return None
    to = g.ranks[_root(g, dst, group_dst, "dst")]
    if to == g.global_rank:
        raise ValueError(NOBODY.format(what="destination"))
    sent = mailbox().send(to, json_tag(g, tag), _array(tensor, "send"))
    return Work([tensor], lambda timeout: _left(g, sent, to))


def _left(g: ProcessGroup, sent: threading.Event, to: int):
    if not sent.wait(g.timeout):
        raise RuntimeError(UNSENT.format(rank=to, seconds=g.timeout))


def irecv(tensor, src=None, group=None, tag=0, group_src=None):
    """Receive a tensor from a process (None: any); a Work, after whose wait() it is there.

    >>> import torch.distributed as dist
    >>> x = torch.zeros(2)
    >>> if dist.get_rank() == 1: dist.irecv(x, src=0).wait()
    """
    g = _group(group)
    if g is None:
        return None
    source = None if src is None and group_src is None else g.ranks[_root(g, src, group_src, "src")]
    if source == g.global_rank:
        raise ValueError(NOBODY.format(what="source"))
    mailbox()
    return Work([tensor], lambda timeout: _received(g, tensor, source, tag))


def _letter(g: ProcessGroup, source: int | None, tag) -> tuple[int, str, tuple[int, ...], bytes]:
    """(source, name of the dtype, shape, bytes) of the next message from a process (None: any)."""
    try:
        return mailbox().receive(source, json_tag(g, tag), g.timeout)
    except TimeoutError:
        shown = "any" if source is None else source
        raise RuntimeError(LATE.format(name="recv", rank=shown, seconds=g.timeout)) from None


def arrived(g: ProcessGroup, source: int, tag) -> np.ndarray:
    """The next message from a process, of whatever dtype and shape it was sent."""
    _, dtype, shape, data = _letter(g, source, tag)
    return np.frombuffer(data, np.dtype(dtype)).reshape(shape)


def _received(g: ProcessGroup, tensor: Tensor, source: int | None, tag: int) -> int:
    found, dtype, shape, data = _letter(g, source, tag)
    wanted = to_numpy(tensor.detach()._read())
    if wanted.nbytes != len(data):
        given = f"{dtype}{list(shape)}"
        raise RuntimeError(
            ONE_SIZE.format(name="recv", rank=found, found=given, wanted=f"{wanted.dtype}{list(wanted.shape)}")
        )
    _put(tensor, np.frombuffer(data, wanted.dtype))
    return found


def json_tag(g: ProcessGroup, tag: int):
    """A message's tag as it arrives."""
    return f"{g.key}:{tag}"


def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Send a tensor to a process.

    >>> import torch.distributed as dist
    >>> if dist.get_rank() == 0 and dist.get_world_size() > 1: dist.send(torch.ones(2), dst=1)
    """
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(tensor, src=None, group=None, tag=0, group_src=None) -> int:
    """Receive a tensor from a process (None: any); the rank that sent it.

    >>> import torch.distributed as dist
    >>> x = torch.zeros(2)
    >>> if dist.get_rank() == 1: dist.recv(x, src=0)
    """
    g = _group(group)
    if g is None:
        return -1
    source = None if src is None and group_src is None else g.ranks[_root(g, src, group_src, "src")]
    if source == g.global_rank:
        raise ValueError(NOBODY.format(what="source"))
    return _received(g, tensor, source, tag)


class P2POp:
    """A send or receive for batch_isend_irecv.

    >>> import torch.distributed as dist
    >>> dist.P2POp.__name__
    'P2POp'
    """

    __module__ = "torch.distributed"

    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        self.op, self.tensor, self.peer, self.group, self.tag, self.group_peer = (
            op,
            tensor,
            peer,
            group,
            tag,
            group_peer,
        )


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Begin several sends and receives; a Work for each.

    >>> import torch.distributed as dist
    >>> size, rank = dist.get_world_size(), dist.get_rank()
    >>> x, y = torch.ones(2), torch.zeros(2)
    >>> around = [dist.P2POp(dist.isend, x, (rank + 1) % size), dist.P2POp(dist.irecv, y, (rank - 1) % size)]
    >>> if size > 1:
    ...   for work in dist.batch_isend_irecv(around): work.wait()
    """
    works = [p.op(p.tensor, p.peer, p.group, p.tag, p.group_peer) for p in p2p_op_list]
    return [w for w in works if w is not None]


def send_object_list(object_list, dst=None, group=None, device=None, group_dst=None):
    """Send a list of objects, pickled, to a process.

    >>> import torch.distributed as dist
    >>> if dist.get_rank() == 0 and dist.get_world_size() > 1: dist.send_object_list(["text"], dst=1)
    """
    send(from_array(np.asarray([len(data := pickle.dumps(object_list))])), dst, group, group_dst=group_dst)
    send(from_array(np.frombuffer(data, np.uint8).copy()), dst, group, group_dst=group_dst)


def recv_object_list(object_list, src=None, group=None, device=None, group_src=None) -> int:
    """Receive a list of objects from a process; the rank that sent it.

    >>> import torch.distributed as dist
    >>> objects = [None]
    >>> if dist.get_rank() == 1: dist.recv_object_list(objects, src=0)
    """
    length = from_array(np.zeros(1, np.int64))
    rank = recv(length, src, group, group_src=group_src)
    data = from_array(np.zeros(int(length), np.uint8))
    recv(data, rank, group)
    object_list[:] = pickle.loads(_array(data, "recv_object_list").tobytes())
    return rank
