"""Tensors from device to device. There is one device: copies are the tensors themselves."""

from __future__ import annotations

from ...torch import cat

NO_DEVICES = "Expected at least one device to {what} to"


def broadcast(tensor, devices=None, *, out=None) -> tuple:
    """The tensor, once for each device.

    >>> from torch.nn.parallel import comm
    >>> comm.broadcast(torch.ones(1), [0, 1])
    (tensor([1.]), tensor([1.]))
    """
    return _copies(tensor, devices, out, "broadcast")


def broadcast_coalesced(tensors, devices, buffer_size: int = 10485760) -> tuple:
    """The tensors, once for each device.

    >>> from torch.nn.parallel import comm
    >>> comm.broadcast_coalesced([torch.ones(1)], [0, 1])
    ((tensor([1.]),), (tensor([1.]),))
    """
    return tuple(tuple(tensors) for _ in devices)


def _copies(tensor, devices, out, what: str) -> tuple:
    if out is not None:
        return tuple(o.copy_(tensor) for o in out)
    if not devices:
        raise RuntimeError(NO_DEVICES.format(what=what))
    return tuple(tensor for _ in devices)


def reduce_add(inputs, destination=None):
    """The sum of tensors.

    >>> from torch.nn.parallel import comm
    >>> comm.reduce_add([torch.ones(2), torch.ones(2)])
    tensor([2., 2.])
    """
    first, *rest = inputs
    for x in rest:
        if x.shape != first.shape:
            raise ValueError(f"input 1 has invalid size: got {x.shape}, but expected {first.shape}")
        first = first + x
    return first


def reduce_add_coalesced(inputs, destination=None, buffer_size: int = 10485760) -> tuple:
    """The sums of corresponding tensors.

    >>> from torch.nn.parallel import comm
    >>> comm.reduce_add_coalesced([[torch.ones(1)], [torch.ones(1)]])
    (tensor([2.]),)
    """
    return tuple(map(reduce_add, zip(*inputs)))


def scatter(tensor, devices=None, chunk_sizes=None, dim: int = 0, streams=None, *, out=None) -> tuple:
    """Parts of a tensor, one for each device.

    >>> from torch.nn.parallel import comm
    >>> comm.scatter(torch.arange(4), [0, 1])
    (tensor([0, 1]), tensor([2, 3]))
    """
    parts = tensor.chunk(len(out or devices), dim) if chunk_sizes is None else tensor.split(chunk_sizes, dim)
    return tuple(parts) if out is None else tuple(o.copy_(x) for o, x in zip(out, parts))


def gather(tensors, dim: int = 0, destination=None, *, out=None):
    """The tensors as one.

    >>> from torch.nn.parallel import comm
    >>> comm.gather([torch.tensor([1]), torch.tensor([2])])
    tensor([1, 2])
    """
    whole = cat(list(tensors), dim)
    return whole if out is None else out.copy_(whole)


__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]
