"""torch.distributed.tensor._utils: which part of a tensor a process has."""

from __future__ import annotations

from collections.abc import Sequence

from ..device_mesh import DeviceMesh
from .api import _checked, _sharding
from .placement_types import Placement


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement], skip_offset: bool = False
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(the shape of this process's part of a tensor that lies so, where it begins); () twice outside of the mesh.

    >>> from torch.distributed.tensor import Shard
    >>> from torch.distributed.tensor._utils import compute_local_shape_and_global_offset
    >>> mesh = torch.distributed.init_device_mesh("cpu", (1,))
    >>> compute_local_shape_and_global_offset((4, 2), mesh, [Shard(0)])
    ((4, 2), (0, 0))
    """
    if mesh.get_coordinate() is None:
        return (), ()
    sharding = _sharding(mesh, _checked(placements, mesh, len(global_shape), partial=True))
    index = list(sharding.indices(tuple(global_shape)))[mesh.grid.here[0]]
    parts = [range(n)[i] for i, n in zip(index, global_shape)]
    starts = tuple(i.indices(n)[0] for i, n in zip(index, global_shape))
    return tuple(len(part) for part in parts), () if skip_offset else starts
