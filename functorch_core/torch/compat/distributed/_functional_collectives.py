"""torch.distributed._functional_collectives: collectives that leave their arguments alone and give new tensors.

A result is there when the function returns, so that there is nothing to wait for. All are differentiable.
"""

from __future__ import annotations

from collections.abc import Sequence

from ... import _missing
from ...operators.shape.joining import cat
from ...tensors.base import Tensor
from ..library import Library
from .group import ProcessGroup, ReduceOp, get_rank, get_world_size, of_ranks
from .nn import functional as F

KINDS = {
    "sum": ReduceOp.SUM,
    "avg": ReduceOp.AVG,
    "product": ReduceOp.PRODUCT,
    "min": ReduceOp.MIN,
    "max": ReduceOp.MAX,
    "band": ReduceOp.BAND,
    "bor": ReduceOp.BOR,
    "bxor": ReduceOp.BXOR,
}
NO_GROUP = "a group is a ProcessGroup, a list of ranks, a DeviceMesh of one dimension or (DeviceMesh, dim); got {}"


def _group(given) -> ProcessGroup | None:
    if given is None or isinstance(given, ProcessGroup):
        return given
    if hasattr(given, "get_group"):
        return given.get_group()
    if isinstance(given, tuple) and len(given) == 2 and hasattr(given[0], "get_group"):
        return given[0].get_group(given[1])
    if isinstance(given, list) and all(isinstance(r, int) for r in given):
        return of_ranks(given)
    raise ValueError(NO_GROUP.format(type(given).__name__))


def _kind(name: str):
    if name.lower() not in KINDS:
        raise ValueError(f"reduceOp={name!r} is none of {', '.join(KINDS)}")
    return KINDS[name.lower()]


# ---- collectives ---------------------------------------------------------------------------------


def wait_tensor(tensor):
    """The tensor, which is there."""
    return tensor


def all_reduce(self, reduceOp: str, group, tag: str = ""):
    """The sum (or what reduceOp says) of the tensors of all."""
    return F.all_reduce(self, _kind(reduceOp), _group(group))


def broadcast(self, src: int, group, tag: str = ""):
    """The tensor of the process `src`."""
    return F.broadcast(self, src, _group(group))


def all_gather_tensor(self, gather_dim: int, group, tag: str = ""):
    """The tensors of all, one after the other along a dimension."""
    return cat(list(F.all_gather(self.contiguous(), _group(group))), gather_dim)


def reduce_scatter_tensor(self, reduceOp: str, scatter_dim: int, group, tag: str = ""):
    """This process's part, along a dimension, of the sum of the tensors of all."""
    g = _group(group)
    n = get_world_size(g)
    if self.shape[scatter_dim] % n:
        raise AssertionError(f"input dimension {scatter_dim} ({self.shape[scatter_dim]}) must be a multiple of {n}")
    return F.reduce_scatter(None, [x.contiguous() for x in self.chunk(n, scatter_dim)], _kind(reduceOp), g)


def all_to_all_single(self, output_split_sizes, input_split_sizes, group, tag: str = ""):
    """Part k along the first dimension goes to process k; what came."""
    g = _group(group)
    n = get_world_size(g)
    size = sum(output_split_sizes) if output_split_sizes else self.shape[0]
    if not output_split_sizes and self.shape[0] % n:
        raise AssertionError(f"the first dimension ({self.shape[0]}) must be a multiple of {n}")
    place = self.new_empty((size, *self.shape[1:]))
    return F.all_to_all_single(place, self, output_split_sizes, input_split_sizes, g)


def permute_tensor(self, src_dst: Sequence[int], group, tag: str = ""):
    """What the process sends to this one that has its rank at its place in src_dst."""
    g = _group(group)
    n, rank = get_world_size(g), get_rank(g)
    if sorted(src_dst) != list(range(n)):
        raise ValueError(f"src_dst={list(src_dst)} is no permutation of the ranks, 0 to {n - 1}")
    ins, outs = [0] * n, [0] * n
    ins[src_dst[rank]] = outs[list(src_dst).index(rank)] = self.numel()
    flat = F.all_to_all_single(self.new_empty(self.numel()), self.reshape(-1), outs, ins, g)
    return flat.reshape(self.shape)


all_gather_tensor_autograd = all_gather_tensor
reduce_scatter_tensor_autograd = reduce_scatter_tensor
all_to_all_single_autograd = all_to_all_single


def all_reduce_coalesced(self: list[Tensor], reduceOp: str, group, tag: str = "") -> list[Tensor]:
    """all_reduce of each tensor."""
    return [all_reduce(x, reduceOp, group) for x in self]


def all_gather_into_tensor_coalesced(self: list[Tensor], group, tag: str = "") -> list[Tensor]:
    """all_gather_tensor of each tensor, along the first dimension."""
    return [all_gather_tensor(x, 0, group) for x in self]


def reduce_scatter_tensor_coalesced(inputs: list[Tensor], reduceOp: str, scatter_dim, group, tag: str = ""):
    """reduce_scatter_tensor of each tensor, along its dimension."""
    return [reduce_scatter_tensor(x, reduceOp, d, group) for x, d in zip(inputs, scatter_dim, strict=True)]


# ---- as operators, which say the processes by their ranks -----------------------------------------

_RANKED = "str tag, int[] ranks, int group_size) -> Tensor"
_library = Library("c10d_functional", "DEF")
_OPERATORS = {
    "wait_tensor(Tensor self) -> Tensor": wait_tensor,
    f"broadcast(Tensor self, int src, {_RANKED}": lambda x, src, tag, ranks, size: broadcast(x, src, ranks),
    f"all_reduce(Tensor self, str reduceOp, {_RANKED}": lambda x, kind, tag, ranks, size: all_reduce(x, kind, ranks),
    f"all_gather_into_tensor(Tensor shard, {_RANKED}": lambda x, tag, ranks, size: all_gather_tensor(x, 0, ranks),
    f"reduce_scatter_tensor(Tensor input, str reduceOp, {_RANKED}": lambda x, kind, tag, ranks, size: (
        reduce_scatter_tensor(x, kind, 0, ranks)
    ),
    f"all_to_all_single(Tensor input, SymInt[]? output_split_sizes, SymInt[]? input_split_sizes, {_RANKED}": (
        lambda x, outs, ins, tag, ranks, size: all_to_all_single(x, outs, ins, ranks)
    ),
}
for _schema, _function in _OPERATORS.items():
    _library.define(_schema)
    _library.impl(_schema.partition("(")[0], _function, "CompositeExplicitAutograd")

__getattr__ = _missing.getter(__name__)
