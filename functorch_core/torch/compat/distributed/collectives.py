"""Collectives in a group of one process: what comes in goes out."""

from __future__ import annotations

from ...tape.modes import no_grad
from .group import ReduceOp, Work, default

NO_PEER = "Invalid {what} rank: there is one process, and it cannot send to itself"


def _done(value, async_op: bool) -> Work | None:
    """Checks that there is a group; a Work if asked for one."""
    default()
    return Work(value) if async_op else None


def _copy(target, source):
    with no_grad():
        target.copy_(source)


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    """The sum over one process: the tensor as it is."""
    return _done([tensor], async_op)


def all_reduce_coalesced(tensors, op=ReduceOp.SUM, group=None, async_op=False):
    """The tensors as they are."""
    return _done(tensors, async_op)


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """The tensor as it is."""
    return _done([tensor], async_op)


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """The tensor as it is."""
    return _done([tensor], async_op)


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """The objects as they are."""
    default()


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """Copy the tensor to the only place of the list."""
    default()
    _copy(tensor_list[0], tensor)
    return _done(tensor_list, async_op)


def all_gather_coalesced(output_tensor_lists, input_tensor_list, group=None, async_op=False):
    """Copy each tensor to the only place of its list."""
    for places, tensor in zip(output_tensor_lists, input_tensor_list, strict=True):
        all_gather(places, tensor)
    return _done(output_tensor_lists, async_op)


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """Copy the input to the output."""
    default()
    _copy(output_tensor, input_tensor.reshape(output_tensor.shape))
    return _done([output_tensor], async_op)


def all_gather_object(object_list, obj, group=None):
    """Put the object into the only place of the list."""
    default()
    object_list[0] = obj


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """Copy the tensor to the only place of the list."""
    return all_gather(gather_list, tensor, group, async_op)


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    """Put the object into the only place of the list."""
    all_gather_object(object_gather_list, obj, group)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """Copy the only tensor of the list."""
    default()
    _copy(tensor, scatter_list[0])
    return _done([tensor], async_op)


def scatter_object_list(
    scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None
):
    """Copy the only object of the list."""
    default()
    scatter_object_output_list[0] = scatter_object_input_list[0]


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False):
    """Copy the only tensor of the list."""
    return scatter(output, input_list, async_op=async_op)


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    """Copy the input to the output."""
    return all_gather_into_tensor(output, input, group, async_op)


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """Copy the only input to the only output."""
    return scatter(output_tensor_list[0], input_tensor_list, async_op=async_op)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False):
    """Copy the input to the output."""
    return all_gather_into_tensor(output, input, group, async_op)


def barrier(group=None, async_op=False, device_ids=None):
    """Nothing to wait for."""
    return _done(None, async_op)


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """Nothing to wait for."""
    default()


def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    """ValueError: there is nobody to send to."""
    default()
    raise ValueError(NO_PEER.format(what="destination"))


def recv(tensor, src=None, group=None, tag=0, group_src=None):
    """ValueError: there is nobody to receive from."""
    default()
    raise ValueError(NO_PEER.format(what="source"))


isend, irecv = send, recv
