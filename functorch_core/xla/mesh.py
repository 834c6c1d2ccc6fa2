"""Several devices of one client: meshes of them, arrays divided over a mesh, and programs that run on all.

A NamedSharding says, for each dimension of an array, over which axes of a mesh it is divided. A program for a mesh
is one module with such shardings at its arguments and results; XLA's partitioner (Shardy) finds those of everything
between, and where data have to be exchanged.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from . import binding
from . import device as _device
from .binding import Buffer, aval_of
from .device import Device

INDIVISIBLE = """{what}: dimension {dim} of {aval} has size {size}; {spec} divides it into {parts} parts.
    The size must be a multiple of that: pad the array, or leave the dimension whole (None)."""
UNKNOWN_AXIS = "PartitionSpec{spec} names the axis {axis!r}; the mesh has {axes}"
TWICE = "PartitionSpec{spec} names the axis {axis!r} twice; an axis divides one dimension"
TOO_LONG = "{spec} is for {n} dimensions, {aval} has {ndim}"


class Mesh:
    """Devices in a grid whose axes have names. Two meshes of equal devices and names are equal.

    As a context it is the mesh of `with_sharding_constraint(x, PartitionSpec(...))`.
    """

    __slots__ = ("devices", "axis_names", "here", "_key", "_list", "__weakref__")

    def __init__(self, devices: Any, axis_names: Sequence[str] | str) -> None:
        grid = np.empty(np.shape(devices), object)
        grid[...] = devices
        names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if grid.ndim != len(names):
            raise ValueError(f"Mesh: {grid.ndim} axes of devices {grid.shape} have {len(names)} names, {names}")
        if len(set(names)) != len(names):
            raise ValueError(f"Mesh: two axes have one name: {names}")
        for device in grid.flat:
            if not isinstance(device, Device):
                raise TypeError(f"Mesh is made of Devices, as fc.devices() gives them; got {type(device).__name__}")
        grid.flags.writeable = False
        self.devices, self.axis_names = grid, names
        self._key = (names, grid.shape, tuple(grid.flat))
        self._list = binding.DeviceList(tuple([d._handle for d in grid.flat]))
        self.here = [i for i, d in enumerate(grid.flat) if d.is_here]  # the places of this process's devices

    @property
    def shape(self) -> OrderedDict[str, int]:
        """The size of each axis, by name."""
        return OrderedDict(zip(self.axis_names, self.devices.shape))

    @property
    def axis_sizes(self) -> tuple[int, ...]:
        """The size of each axis."""
        return self.devices.shape

    @property
    def size(self) -> int:
        """How many devices there are."""
        return self.devices.size

    @property
    def empty(self) -> bool:
        """Whether there is no device."""
        return not self.devices.size

    @property
    def is_here(self) -> bool:
        """Whether all devices are of this process."""
        return len(self.here) == self.size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and other._key == self._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        axes = ", ".join(f"{name!r}: {n}" for name, n in self.shape.items())
        return f"Mesh({axes})"

    def __enter__(self) -> Mesh:
        _contexts.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _contexts.pop()


_contexts: list[Mesh] = []


def current_mesh() -> Mesh | None:
    """The mesh of the innermost `with mesh:`."""
    return _contexts[-1] if _contexts else None


Axes = str | tuple[str, ...] | None


class PartitionSpec(tuple[Any, ...]):
    """For each dimension, the mesh axis that divides it, a tuple of axes (the first is divided first), or None.

    Dimensions beyond its length are whole. UNCONSTRAINED leaves one to the partitioner, in constraints.

    >>> fc.P("x", None)
    PartitionSpec('x', None)
    """

    __slots__ = ()
    UNCONSTRAINED: Any = ...

    def __new__(cls, *partitions: Axes) -> PartitionSpec:
        return tuple.__new__(cls, partitions)

    def __repr__(self) -> str:
        return f"PartitionSpec({', '.join(map(repr, self))})"

    def __reduce__(self) -> Any:
        return PartitionSpec, tuple(self)

    def axes(self, dim: int) -> tuple[str, ...]:
        """The axes that divide a dimension."""
        entry = self[dim] if dim < len(self) else None
        if entry is None or entry is PartitionSpec.UNCONSTRAINED:
            return ()
        return (entry,) if isinstance(entry, str) else tuple(entry)

    def all_axes(self) -> tuple[str, ...]:
        """All axes that it names."""
        return tuple(itertools.chain.from_iterable(map(self.axes, range(len(self)))))


PartitionSpec.UNCONSTRAINED = type("UNCONSTRAINED", (), {"__repr__": lambda self: "UNCONSTRAINED"})()


class NamedSharding:
    """How an array lies on a mesh: a PartitionSpec by the names of its axes.

    >>> mesh = fc.make_mesh((1,), ("x",), devices=fc.devices()[:1])
    >>> sharding = fc.NamedSharding(mesh, fc.P("x"))
    >>> fc.device_put(fc.arange(4.0), sharding).sharding.spec
    PartitionSpec('x')
    """

    __slots__ = ("mesh", "spec", "memory_kind", "__weakref__")

    def __init__(self, mesh: Mesh, spec: PartitionSpec, *, memory_kind: str | None = None) -> None:
        if not isinstance(mesh, Mesh):
            raise TypeError(f"NamedSharding takes a Mesh, got {type(mesh).__name__}")
        spec = spec if isinstance(spec, PartitionSpec) else PartitionSpec(*spec)
        seen: set[str] = set()
        for axis in spec.all_axes():
            if axis not in mesh.axis_names:
                raise ValueError(UNKNOWN_AXIS.format(spec=tuple(spec), axis=axis, axes=mesh.axis_names))
            if axis in seen:
                raise ValueError(TWICE.format(spec=tuple(spec), axis=axis))
            seen.add(axis)
        self.mesh, self.spec, self.memory_kind = mesh, spec, memory_kind

    # ---- what it says of an array

    def parts(self, dim: int) -> int:
        """Into how many parts it divides a dimension."""
        sizes = self.mesh.shape
        return math.prod([sizes[a] for a in self.spec.axes(dim)])

    def check(self, shape: Sequence[int], what: str = "sharding") -> None:
        """ValueError unless an array of that shape can be divided so."""
        shown = f"an array of shape {tuple(shape)}"
        if len(self.spec) > len(shape):
            raise ValueError(
                f"{what}: " + TOO_LONG.format(spec=self.spec, n=len(self.spec), aval=shown, ndim=len(shape))
            )
        for dim, size in enumerate(shape):
            parts = self.parts(dim)
            if size % parts:
                raise ValueError(
                    INDIVISIBLE.format(what=what, dim=dim, aval=shown, size=size, spec=self.spec, parts=parts)
                )

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of what each device has of an array."""
        self.check(global_shape)
        return tuple([n // self.parts(d) for d, n in enumerate(global_shape)])

    def padded(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape that an array gets whose sizes are no multiples of the parts: what is stored of it."""
        return tuple([-(-n // self.parts(d)) * self.parts(d) for d, n in enumerate(shape)])

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Device, tuple[slice, ...]]:
        """Which part of an array each device has."""
        self.check(global_shape)
        return dict(zip(self.mesh.devices.flat, self.indices(global_shape)))

    def indices(self, shape: Sequence[int]) -> Iterator[tuple[slice, ...]]:
        """Which part of an array each device has, in the order of the mesh; the last ones less where it is padded."""
        local, sizes = self.shard_shape(self.padded(shape)), self.mesh.shape
        for place in np.ndindex(*self.mesh.devices.shape):
            at = dict(zip(self.mesh.axis_names, place))
            index = []
            for dim, n in enumerate(local):
                k = 0
                for axis in self.spec.axes(dim):
                    k = k * sizes[axis] + at[axis]
                ends = min(k * n, shape[dim]), min((k + 1) * n, shape[dim])
                index.append(slice(*ends) if self.spec.axes(dim) else slice(None))
            yield tuple(index)

    @property
    def device_set(self) -> set[Device]:
        """The devices."""
        return set(self.mesh.devices.flat)

    @property
    def num_devices(self) -> int:
        """How many devices there are."""
        return self.mesh.size

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device has the whole array."""
        return all(self.mesh.shape[a] == 1 for a in self.spec.all_axes())

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices are of this process."""
        return self.mesh.is_here

    def is_equivalent_to(self, other: object, ndim: int) -> bool:
        """Whether an array of so many dimensions lies on the devices in the same way."""
        return (
            isinstance(other, NamedSharding)
            and other.mesh._key[2] == self.mesh._key[2]
            and hlo_sharding(self, ndim) == hlo_sharding(other, ndim)
        )

    def with_spec(self, spec: PartitionSpec) -> NamedSharding:
        """Another division over the same mesh."""
        return NamedSharding(self.mesh, spec)

    # ---- as a key, as text

    def _normal(self) -> tuple[Any, ...]:
        entries = [self.spec.axes(d) or self.spec[d] for d in range(len(self.spec))]
        while entries and not entries[-1]:
            entries.pop()
        return (self.mesh, tuple([e or () for e in entries]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedSharding) and other._normal() == self._normal()

    def __hash__(self) -> int:
        return hash(self._normal())

    def __repr__(self) -> str:
        return f"NamedSharding(mesh={self.mesh!r}, spec={self.spec!r})"

    def text(self, mesh_name: str, ndim: int) -> str:
        """<@mesh, [{"x"}, {}]>: as Shardy writes it."""
        dims = []
        for d in range(ndim):
            free = d < len(self.spec) and self.spec[d] is PartitionSpec.UNCONSTRAINED
            dims.append("{?}" if free else "{" + ", ".join(f'"{a}"' for a in self.spec.axes(d)) + "}")
        return f"<@{mesh_name}, [{', '.join(dims)}]>"


class SingleDeviceSharding:
    """How an array lies that one device has."""

    __slots__ = ("_device",)

    def __init__(self, device: Device) -> None:
        self._device = device

    @property
    def device_set(self) -> set[Device]:
        """The device."""
        return {self._device}

    is_fully_replicated = is_fully_addressable = True
    num_devices = 1

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of what the device has of an array: all."""
        return tuple(global_shape)

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Device, tuple[slice, ...]]:
        """Which part of an array the device has."""
        return {self._device: (slice(None),) * len(global_shape)}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SingleDeviceSharding) and other._device is self._device

    def __hash__(self) -> int:
        return hash(self._device)

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self._device!r})"


# ---- buffers -------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=1024)
def hlo_sharding(sharding: NamedSharding, ndim: int) -> Any:
    """XLA's form of a sharding of arrays of so many dimensions."""
    mesh = sharding.mesh
    used = [a for d in range(ndim) for a in sharding.spec.axes(d)]
    tiles = [sharding.parts(d) for d in range(ndim)]
    rest = [a for a in mesh.axis_names if a not in used]
    copies = math.prod([mesh.shape[a] for a in rest])
    if copies == mesh.size:
        return binding.replicated()
    order = [mesh.axis_names.index(a) for a in (*used, *rest)]
    tiles += [copies] if copies > 1 else []
    places = f"[{mesh.size}]"
    if order != sorted(order):
        places = f"[{','.join(map(str, mesh.devices.shape))}]T({','.join(map(str, order))})"
    tail = " last_tile_dim_replicate" if copies > 1 else ""
    return binding.sharding_from_text(f"{{devices=[{','.join(map(str, tiles))}]<={places}{tail}}}")


@functools.lru_cache(maxsize=1024)
def buffer_sharding(sharding: NamedSharding, ndim: int) -> binding.MeshSharding:
    """What a buffer on several devices has for its sharding; `named` is the NamedSharding."""
    mesh = sharding.mesh
    kind = binding.MeshSharding if mesh.is_here else binding.ProcessSharding
    made = kind(mesh._list, hlo_sharding(sharding, ndim))
    made.named, made.handles = sharding, tuple([d._handle for d in mesh.devices.flat])
    made.mine = tuple([made.handles[i] for i in mesh.here])
    return made


def sharding_of(buffer: Buffer) -> NamedSharding | None:
    """The sharding of a buffer that lies on several devices; None for one on a single device."""
    return getattr(buffer._sharding, "named", None)


def put_sharded(array: np.ndarray, sharding: NamedSharding) -> Buffer:
    """Put the parts of a NumPy array on the devices of a mesh; each process those on its own."""
    array = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    indices = list(sharding.indices(array.shape))
    parts = [array[indices[i]] for i in sharding.mesh.here]
    return put_parts(array.shape, sharding, parts, array.dtype)


def put_parts(shape: Sequence[int], sharding: NamedSharding, parts: Sequence[np.ndarray], dtype: Any = None) -> Buffer:
    """A buffer on several devices, of the NumPy arrays for those of this process. Where a size is no multiple of the
    number of parts each device stores as much as the first one, behind an aval that says nothing of it."""
    aval, whole = aval_of(tuple(shape), dtype or parts[0].dtype), sharding.padded(shape)
    stored = [p if aval.dtype is aval.element else p.view(aval.dtype) for p in parts]
    over = buffer_sharding(sharding, len(shape))
    if whole == tuple(shape):
        return binding.put_shards(aval, over, [np.array(p, order="C") for p in stored])
    put = binding.put_shards(
        aval_of(whole, aval.element), over, [_fill(p, sharding.shard_shape(whole)) for p in stored]
    )
    return binding.with_aval(put, aval)


def _fill(part: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The part at the beginning of an array of that shape."""
    out = np.zeros(shape, part.dtype)
    out[tuple([slice(n) for n in part.shape])] = part
    return out


def assemble(shape: Sequence[int], sharding: NamedSharding, parts: Sequence[Buffer]) -> Buffer:
    """A buffer on several devices made of one of each of this process's, which share their memory."""
    aval = aval_of(tuple(shape), parts[0].aval.element)
    return binding.join_shards(aval, buffer_sharding(sharding, len(shape)), parts)


def shards_of(buffer: Buffer) -> list[Buffer]:
    """What each device of this process stores, as a buffer of its own, in the order of the mesh."""
    sharding = buffer._sharding
    named = sharding.named
    aval = aval_of(named.shard_shape(named.padded(buffer.aval.shape)), buffer.aval.element)
    return binding.split_shards(buffer, aval, [_device.device_of_handle(h)._sharding for h in sharding.mine])
