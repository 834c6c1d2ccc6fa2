"""torch.distributed.pipelining.microbatch: batches in parts, and the results of the parts together."""

from __future__ import annotations

from typing import Any

from ....operators.shape.joining import cat
from ....tensors.base import Tensor
from ....tensors.pytree import tree_flatten, tree_map, tree_unflatten

OTHER_STRUCTURE = "the arguments {found} and their chunk_spec {wanted} do not have one structure"
NO_CHUNKS = "merge_chunks: there is nothing to merge"


class TensorChunkSpec:
    """The dimension in which a tensor is divided.

    >>> from torch.distributed.pipelining.microbatch import TensorChunkSpec
    >>> TensorChunkSpec(0).split_dim
    0
    """

    def __init__(self, split_dim: int):
        self.split_dim = split_dim

    def __repr__(self):
        return f"torch.distributed.pipelining.microbatch.TensorChunkSpec({self.split_dim})"

    def __str__(self):
        return f"TensorChunkSpec({self.split_dim})"

    @staticmethod
    def from_tuple(chunk_dims: tuple[int, ...]) -> tuple[TensorChunkSpec, ...]:
        """A specification of each argument."""
        return tree_map(TensorChunkSpec, tuple(chunk_dims))

    @staticmethod
    def from_dict(chunk_dims: dict[str, int]) -> dict[str, TensorChunkSpec]:
        """A specification of each keyword argument."""
        return tree_map(TensorChunkSpec, dict(chunk_dims))


class _Replicate:
    """What each part has whole."""


def _spec_of(x) -> TensorChunkSpec | _Replicate:
    return TensorChunkSpec(0) if isinstance(x, Tensor) else _Replicate()


def _pieces(x, spec, chunks: int) -> list | None:
    """The parts of a leaf; None if all have it whole."""
    if not isinstance(spec, TensorChunkSpec) or not isinstance(x, Tensor):
        return None
    return list(x.tensor_split(min(chunks, max(x.shape[spec.split_dim], 1)), spec.split_dim))


def split_args_kwargs_into_chunks(
    args: tuple,
    kwargs: dict[str, Any] | None,
    chunks: int,
    args_chunk_spec: tuple | None = None,
    kwargs_chunk_spec: dict[str, Any] | None = None,
) -> tuple[list[tuple], list[dict]]:
    """The positional and the keyword arguments of each part of a batch: tensors are divided in the first dimension or
    that of their TensorChunkSpec, everything else is given to all parts. There are fewer parts of a smaller batch.

    >>> from functorch_core.torch.distributed.pipelining.microbatch import split_args_kwargs_into_chunks
    >>> split_args_kwargs_into_chunks((torch.arange(3), 7), {}, 2)
    ([(tensor([0, 1]), 7), (tensor([2]), 7)], [{}, {}])
    """
    whole = (tuple(args), dict(kwargs or {}))
    leaves, structure = tree_flatten(whole)
    given = (args_chunk_spec, kwargs_chunk_spec)
    chosen = tuple(tree_map(_spec_of, part) if s is None else s for part, s in zip(whole, given))
    specs, found = tree_flatten((tuple(chosen[0]), dict(chosen[1])))
    if found != structure:
        raise ValueError(OTHER_STRUCTURE.format(found=structure, wanted=found))
    pieces = [_pieces(x, spec, chunks) for x, spec in zip(leaves, specs)]
    n = min((len(p) for p in pieces if p is not None), default=chunks)
    parts = []
    for k in range(n):
        parts.append(tree_unflatten([x if p is None else p[k] for x, p in zip(leaves, pieces)], structure))
    return [p[0] for p in parts], [p[1] for p in parts]


def merge_chunks(chunks: list[Any], chunk_spec: Any = None):
    """The results of the parts as one: tensors after each other in the first dimension or that of chunk_spec, of
    everything else the first part's.

    >>> from torch.distributed.pipelining.microbatch import TensorChunkSpec, merge_chunks
    >>> merge_chunks([torch.zeros(1), torch.ones(1)], TensorChunkSpec(0))
    tensor([0., 1.])
    """
    if not chunks:
        raise IndexError(NO_CHUNKS)
    flat = [tree_flatten(chunk) for chunk in chunks]
    leaves, structure = flat[0]
    specs = [_spec_of(x) for x in leaves] if chunk_spec is None else tree_flatten(chunk_spec)[0]
    if len(specs) != len(leaves):
        raise ValueError(OTHER_STRUCTURE.format(found=structure, wanted=chunk_spec))
    merged = []
    for k, spec in enumerate(specs):
        column = [part[0][k] for part in flat]
        merged.append(cat(column, spec.split_dim) if isinstance(spec, TensorChunkSpec) else column[0])
    return tree_unflatten(merged, structure)
