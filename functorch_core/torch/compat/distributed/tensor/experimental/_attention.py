"""Attention over sequences that are divided over processes: each has its queries, and gathers all keys and values.

With 2 n chunks of a sequence process r of n has chunks r and 2 n - 1 - r, so that all have as much to do where
attention is causal (Llama 3, Dubey et al. 2024, section 3.3.2, which also gathers).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...... import nn
from ..... import _missing
from .....operators.shape.joining import cat
from .....tape.modes import no_grad
from .....tensors.base import Tensor, from_array
from ..._functional_collectives import all_gather_tensor
from ...device_mesh import DeviceMesh

UNEVEN = (
    "context_parallel: {n} elements along dimension {dim} of {shape} are no multiple of {parts}, twice the processes"
)
LENGTHS = "`seq_dims` must have the same number of elements as `buffers`: {dims} for {buffers}"
NOT_SUBSET = "`no_restore_buffers` must be a subset of `buffers`."
NO_MASK = "context_parallel: scaled_dot_product_attention with an attn_mask is not implemented; is_causal is"
ONE_DIMENSION = "context_parallel: a mesh of one dimension is needed, got {mesh}; take mesh['cp']"
METHODS = ("allgather", "alltoall")


def _order(n: int) -> list[int]:
    """The chunks of a sequence, process by process."""
    return [chunk for r in range(n) for chunk in (r, 2 * n - 1 - r)]


def _part(x: Tensor, dim: int, mesh: DeviceMesh) -> Tensor:
    """This process's part of a tensor."""
    n, rank = mesh.size(), mesh.get_local_rank()
    if x.shape[dim] % (2 * n):
        raise ValueError(UNEVEN.format(n=x.shape[dim], dim=dim, shape=tuple(x.shape), parts=2 * n))
    chunks = x.chunk(2 * n, dim)
    return cat([chunks[rank], chunks[2 * n - 1 - rank]], dim)


def _positions(length: int, n: int) -> Any:
    """Where the elements of the gathered parts of a sequence are in it."""
    chunk = length // (2 * n)
    return np.concatenate([np.arange(c * chunk, (c + 1) * chunk) for c in _order(n)])


class _Attention:
    """scaled_dot_product_attention of the process's queries with the keys and values of all."""

    def __init__(self, mesh: DeviceMesh, attention: Any):
        self.mesh, self.attention = mesh, attention

    def __call__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        if attn_mask is not None:
            raise NotImplementedError(NO_MASK)
        n, rank, group = self.mesh.size(), self.mesh.get_local_rank(), self.mesh.get_group()
        if n > 1:
            key, value = (all_gather_tensor(x, x.dim() - 2, group) for x in (key, value))
        if is_causal:
            keys = _positions(key.shape[-2], n)
            queries = _positions(n * query.shape[-2], n).reshape(n, -1)[rank]
            attn_mask = from_array(queries[:, None] >= keys)
        return self.attention(query, key, value, attn_mask, dropout_p, False, scale=scale, enable_gqa=enable_gqa)


@contextlib.contextmanager
def context_parallel(
    mesh: DeviceMesh,
    *,
    buffers: list[Tensor] | None = None,
    buffer_seq_dims: list[int] | None = None,
    no_restore_buffers: set[Tensor] | None = None,
) -> Iterator[None]:
    """Inside of it the buffers are this process's parts along the dimensions of their sequences, and
    torch.nn.functional.scaled_dot_product_attention (called by that name) attends to the keys of all processes. The
    buffers are whole again afterwards, but for `no_restore_buffers`. Lengths have to be multiples of twice the
    processes.

    >>> from torch.distributed.tensor.experimental import context_parallel
    >>> mesh, x = torch.distributed.init_device_mesh("cpu", (1,)), torch.ones(1, 1, 4, 2)
    >>> with context_parallel(mesh, buffers=[x], buffer_seq_dims=[2]):
    ...   nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True).shape
    torch.Size([1, 1, 4, 2])
    """
    buffers, dims, kept = list(buffers or ()), list(buffer_seq_dims or ()), set(no_restore_buffers or ())
    if mesh.ndim != 1:
        raise ValueError(ONE_DIMENSION.format(mesh=mesh))
    if len(buffers) != len(dims):
        raise ValueError(LENGTHS.format(dims=len(dims), buffers=len(buffers)))
    if not kept <= set(buffers):
        raise ValueError(NOT_SUBSET)
    with no_grad():
        wholes = [b.detach().clone() for b in buffers]
        parts = [_part(whole, dim, mesh) for whole, dim in zip(wholes, dims)]
    for b, part in zip(buffers, parts):
        b.data = part
    attention = nn.functional.scaled_dot_product_attention
    nn.functional.scaled_dot_product_attention = _Attention(mesh, attention)
    try:
        yield
    finally:
        nn.functional.scaled_dot_product_attention = attention
        for b, whole in zip(buffers, wholes):
            if b not in kept:
                b.data = whole


def context_parallel_unshard(
    mesh: DeviceMesh, buffers: Sequence[Tensor], seq_dims: Sequence[int], load_balancer: Any = None
) -> list[Tensor]:
    """The whole tensors of parts, such as the outputs inside of context_parallel."""
    n = mesh.size()
    places = sorted(range(2 * n), key=_order(n).__getitem__)
    found = []
    for b, dim in zip(buffers, seq_dims, strict=True):
        chunks = all_gather_tensor(b.detach(), dim, mesh.get_group()).chunk(2 * n, dim)
        found.append(cat([chunks[i] for i in places], dim))
    return found


def set_rotate_method(rotate_method: str) -> None:
    """No effect: keys and values are gathered, whichever of "allgather" and "alltoall" is said."""
    if rotate_method not in METHODS:
        raise NotImplementedError(f"the rotate methods are {', '.join(METHODS)}, got {rotate_method!r}")


__getattr__ = _missing.getter(__name__)
