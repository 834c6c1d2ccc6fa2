"""torch.distributed.device_mesh: the processes in a grid whose dimensions may have names.

A process has one device in a mesh, and a tensor over it is one array of XLA's over all devices (see `tensor`). One
process alone may make a mesh of its own CPU devices (FUNCTORCH_CPU_DEVICES=4): their numbers then are its ranks.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from .... import xla
from ... import _missing
from ...tensors.base import Tensor, from_array
from .group import ProcessGroup, default, init_process_group, is_initialized, of_ranks, runtime

TOO_BIG = "Mesh should not be bigger than default world size {world}, but found {n} ranks!"
UNKNOWN = "Invalid mesh_dim_names {names} specified. Valid mesh_dim_names are {valid}."
WHICH = (
    "Found the DeviceMesh have {n} dimensions; `mesh_dim` needs to be specified when device_mesh.ndim > 1. "
    "get_all_groups() gives the groups of all dimensions."
)
_by_grid: dict[xla.Mesh, DeviceMesh] = {}  # what is told of an array over a mesh of XLA's


def _devices() -> tuple[xla.Device, ...]:
    """The device of each rank."""
    world = default()
    if world.size() == 1:
        return tuple(xla.devices("cpu"))
    found: dict[int, xla.Device] = {}
    for device in runtime().devices():
        found.setdefault(device.process_index, device)
    return tuple([found[rank] for rank in range(world.size())])


class DeviceMesh:
    """Ranks in a grid. `mesh["tp"]` is the part along one dimension in which this process is.

    It joins the process group if that was not done. ValueError or RuntimeError for ranks that there are not.

    >>> mesh = torch.distributed.init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))
    >>> mesh["tp"].size(), mesh.get_rank()
    (1, 0)
    """

    __module__ = "torch.distributed.device_mesh"

    def __init__(self, device_type: str, mesh: Any = None, *, mesh_dim_names: Sequence[str] | None = None, **options):
        if not is_initialized():
            _join()
        self.device_type = device_type
        grid = mesh.numpy() if isinstance(mesh, Tensor) else np.asarray(mesh)
        self._ranks, self.mesh_dim_names = grid.astype(np.int64), _names(grid, mesh_dim_names)
        devices = _devices()
        if grid.size > len(devices):
            raise RuntimeError(TOO_BIG.format(world=len(devices), n=grid.size))
        places = np.empty(grid.shape, object)
        for at in np.ndindex(*grid.shape):
            places[at] = devices[self._ranks[at]]
        axes = self.mesh_dim_names or tuple([f"dim_{i}" for i in range(grid.ndim)])
        self.grid = xla.Mesh(places, axes)
        self._parent: DeviceMesh | None = None
        self._flattened: dict[str, DeviceMesh] = {}
        _by_grid.setdefault(self.grid, self)

    # ---- its shape

    @property
    def mesh(self) -> Tensor:
        """The ranks."""
        return from_array(self._ranks.astype(np.int32))

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions."""
        return self._ranks.shape

    @property
    def ndim(self) -> int:
        """How many dimensions there are."""
        return self._ranks.ndim

    def size(self, mesh_dim: int | None = None) -> int:
        """How many ranks there are, all or along a dimension."""
        return self._ranks.size if mesh_dim is None else self._ranks.shape[mesh_dim]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and (self.grid, self.device_type) == (other.grid, other.device_type)

    def __hash__(self) -> int:
        return hash(self.grid)

    def __repr__(self) -> str:
        names = self.mesh_dim_names
        shown = [f"{name}={n}" for name, n in zip(names, self.shape)] if names else list(map(str, self.shape))
        inner = ", ".join(shown) + ("," if len(shown) == 1 and not names else "")
        return f"DeviceMesh(({inner}), {self.device_type!r})"

    # ---- parts

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        """The mesh along one or several dimensions, by name, in which this process is."""
        names = (names,) if isinstance(names, str) else tuple(names)
        root = self
        while len(names) == 1 and names[0] not in (root.mesh_dim_names or ()):
            if names[0] in root._flattened:
                return root._flattened[names[0]]
            if root._parent is None:
                valid = [*(self.mesh_dim_names or ()), *self._flattened]
                raise KeyError(UNKNOWN.format(names=names, valid=valid))
            root = root._parent
        if names == root.mesh_dim_names:
            return root
        dims = [root._dim(name) for name in names]
        at = root._coordinate()
        index = tuple([slice(None) if d in dims else at[d] for d in range(root.ndim)])
        part = root._ranks[index]
        kept = [d for d in range(root.ndim) if d in dims]
        part = part.transpose([kept.index(d) for d in dims])
        return root._child(part, names)

    def _child(self, ranks: np.ndarray, names: Sequence[str] | None) -> DeviceMesh:
        child = DeviceMesh(self.device_type, ranks, mesh_dim_names=names)
        child._parent = self
        return child

    def _dim(self, mesh_dim: int | str) -> int:
        if isinstance(mesh_dim, str):
            names = self.mesh_dim_names or ()
            if mesh_dim not in names:
                raise KeyError(UNKNOWN.format(names=(mesh_dim,), valid=[*names, *self._flattened]))
            return names.index(mesh_dim)
        return range(self.ndim)[mesh_dim]

    def _flatten(self, mesh_dim_name: str | None = None, backend_override=None) -> DeviceMesh:
        """All ranks along one dimension."""
        name = mesh_dim_name or "_".join(self.mesh_dim_names or ())
        root = self
        while root._parent is not None:
            root = root._parent
        if name not in root._flattened:
            root._flattened[name] = root._child(self._ranks.reshape(-1), (name,))
        return root._flattened[name]

    @staticmethod
    def from_group(group, device_type: str, mesh=None, *, mesh_dim_names=None, backend_override=None) -> DeviceMesh:
        """The mesh of a process group, or of one for each dimension."""
        groups = [group] if isinstance(group, ProcessGroup) else list(group)
        if len(groups) > 1 and mesh is None:
            raise ValueError("Must pass mesh if passing multiple ProcessGroups")
        return DeviceMesh(device_type, groups[0].ranks if mesh is None else mesh, mesh_dim_names=mesh_dim_names)

    # ---- this process

    def get_rank(self) -> int:
        """The rank of this process in the default group."""
        return default().global_rank

    def _coordinate(self) -> tuple[int, ...]:
        found = self.get_coordinate()
        if found is None:
            raise RuntimeError(f"rank {self.get_rank()} is not in {self!r} of the ranks {self._ranks.tolist()}")
        return found

    def get_coordinate(self) -> tuple[int, ...] | None:
        """The place of this process in the grid; None if it has none."""
        found = np.argwhere(self._ranks == self.get_rank())
        return tuple(map(int, found[0])) if len(found) else None

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """The place of this process along a dimension."""
        return self._coordinate()[self._only(mesh_dim)]

    def _only(self, mesh_dim: int | str | None) -> int:
        if mesh_dim is None and self.ndim != 1:
            raise RuntimeError(WHICH.format(n=self.ndim))
        return self._dim(mesh_dim or 0)

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The processes along a dimension, this one among them."""
        if isinstance(mesh_dim, str) and mesh_dim not in (self.mesh_dim_names or ()):
            return self[mesh_dim].get_group()
        dim, at = self._only(mesh_dim), self._coordinate()
        index = tuple([slice(None) if d == dim else at[d] for d in range(self.ndim)])
        return of_ranks(self._ranks[index].tolist() if default().size() > 1 else [0])

    def get_all_groups(self) -> list[ProcessGroup]:
        """The groups of all dimensions."""
        return [self.get_group(d) for d in range(self.ndim)]

    def whole_group(self) -> ProcessGroup:
        """All processes of the mesh."""
        return of_ranks(sorted(self._ranks.reshape(-1).tolist()) if default().size() > 1 else [0])


def _names(grid: np.ndarray, names: Sequence[str] | None) -> tuple[str, ...] | None:
    if names is None:
        return None
    if len(set(names)) != len(names):
        raise RuntimeError(f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in {tuple(names)}")
    if len(names) != grid.ndim:
        raise RuntimeError(
            "mesh_shape and mesh_dim_names should have same length! "
            f"Found len(mesh_dim_names): {len(names)} and len(mesh_shape): {grid.ndim}."
        )
    return tuple(names)


def _join():
    if "RANK" in os.environ and "MASTER_ADDR" in os.environ:
        init_process_group()
    else:
        init_process_group("gloo", "tcp://127.0.0.1:0", world_size=1, rank=0)


def _mesh_of_grid(grid: xla.Mesh) -> DeviceMesh:
    """The DeviceMesh that was made for a mesh of XLA's."""
    return _by_grid[grid]


def init_device_mesh(
    device_type: str, mesh_shape: Sequence[int], *, mesh_dim_names: Sequence[str] | None = None, backend_override=None
) -> DeviceMesh:
    """All ranks, in order, in a grid of this shape.

    >>> mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (1,), mesh_dim_names=("dp",))
    >>> mesh
    DeviceMesh((dp=1), 'cpu')
    >>> torch.distributed.destroy_process_group()
    """
    if not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. If you maintained a 'torch.device' "
            "object, it's recommended to pass in 'device.type'."
        )
    n = math.prod(mesh_shape)
    return DeviceMesh(device_type, np.arange(n).reshape(tuple(mesh_shape)), mesh_dim_names=mesh_dim_names)


__getattr__ = _missing.getter(__name__)
