"""torch.distributed.tensor.placement_types: how a tensor lies along one dimension of a mesh."""

from __future__ import annotations

from dataclasses import dataclass


class Placement:
    """Base of the placements.

    >>> from torch.distributed.tensor import Placement, Replicate
    >>> isinstance(Replicate(), Placement), Replicate().is_shard()
    (True, False)
    """

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether it is cut, along `dim` if given."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether every process has all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether the processes' tensors have to be reduced."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Cut along a dimension of the tensor.

    >>> from torch.distributed.tensor import Shard
    >>> Shard(1).dim, Shard(1).is_shard(0)
    (1, False)
    """

    dim: int

    def __str__(self):
        return f"S({self.dim})"


@dataclass(frozen=True)
class _StridedShard(Shard):
    """Cut twice along a dimension."""

    split_factor: int = 1

    def __str__(self):
        return f"_S({self.dim}, {self.split_factor})"


@dataclass(frozen=True)
class Replicate(Placement):
    """Whole in every process.

    >>> from torch.distributed.tensor import Replicate, distribute_tensor
    >>> mesh = torch.distributed.init_device_mesh("cpu", (1,))
    >>> distribute_tensor(torch.ones(2), mesh, [Replicate()]).placements
    (Replicate(),)
    """

    def __str__(self):
        return "R"


@dataclass(frozen=True, repr=False)
class Partial(Placement):
    """To be reduced over the processes.

    >>> from torch.distributed.tensor import Partial
    >>> Partial(), Partial("avg")
    (Partial(sum), Partial(avg))
    """

    reduce_op: str = "sum"

    def __str__(self):
        return f"P({self.reduce_op})"

    def __repr__(self):
        return f"Partial({self.reduce_op})"
