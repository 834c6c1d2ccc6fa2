"""Arrays over several devices: meshes, shardings, constraints, and shard_map.

A jitted function of arrays that lie on a mesh is one program for all its devices; XLA's partitioner divides what is
between. What is called outside of fc.jit is such a program by itself. shard_map is vmap over the axes of a mesh, with
the mapped dimensions divided over it: what a collective is to vmap, it is to the devices, with all derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import xla
from ..core import tree
from ..core.explain import explaining
from ..core.graph import Graph, subgraphs
from ..engine import Value, from_buffer, to_buffer
from ..engine.spmd import compile_for_mesh, laid, mesh_of, moved, sharding_of
from ..engine.value import from_sharded
from ..primitives.sharding import sharding_constraint, sharding_constraint_p
from ..xla import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding
from .array import Array, as_value, concrete_value, wrap

P = PartitionSpec
NO_MESH = (
    "{what}: {spec} needs a mesh. wrong: fc.lax.with_sharding_constraint(x, P('x')) right: inside `with mesh:`, or"
    " NamedSharding(mesh, P('x'))"
)
TOO_FEW = (
    "make_mesh: axes {shape} need {needed} devices, there are {n}. On the CPU FUNCTORCH_CPU_DEVICES={needed} splits it"
)
NOT_SHARDED = (
    "{what} takes a NamedSharding, a PartitionSpec inside `with mesh:`, or a pytree of them; got {found!r:.60}"
)


# ---- meshes --------------------------------------------------------------------------------------


@explaining
def make_mesh(axis_shapes: Sequence[int], axis_names: Sequence[str], *, axis_types=None, devices=None) -> Mesh:
    """A mesh of the first devices in a grid: axes of these sizes and names.

    `axis_types` may name automatic axes only, which all are. ValueError if there are too few devices.

    >>> import functorch_core as fc
    >>> fc.make_mesh((1, 1), ("data", "model"))
    Mesh('data': 1, 'model': 1)
    """
    for kind in axis_types or ():
        if getattr(kind, "name", kind) != "Auto":
            raise NotImplementedError(f"make_mesh: axis_types={axis_types}: axes are divided automatically")
    shape, needed = tuple(axis_shapes), math.prod(axis_shapes)
    found = list(xla.all_devices() if devices is None else devices)
    if needed > len(found):
        raise ValueError(TOO_FEW.format(shape=shape, needed=needed, n=len(found)))
    grid = np.empty(needed, object)
    grid[:] = found[:needed]
    return Mesh(grid.reshape(shape), tuple(axis_names))


def named(sharding: Any, what: str) -> NamedSharding:
    """A NamedSharding, of a PartitionSpec on the mesh of `with mesh:`."""
    if isinstance(sharding, PartitionSpec):
        mesh = xla.current_mesh()
        if mesh is None:
            raise ValueError(NO_MESH.format(what=what, spec=sharding))
        return NamedSharding(mesh, sharding)
    if not isinstance(sharding, NamedSharding):
        raise TypeError(NOT_SHARDED.format(what=what, found=sharding))
    return sharding


def is_sharding(x: Any) -> bool:
    """Whether it is a leaf of a pytree of shardings."""
    return x is None or isinstance(x, (NamedSharding, PartitionSpec, SingleDeviceSharding, xla.Device, str))


def spread(shardings: Any, treedef: tree.PyTreeDef) -> list:
    """A sharding for each leaf, of a prefix of its tree."""
    full = treedef.unflatten(list(range(treedef.num_leaves)))
    out: list = []

    def fill(prefix, subtree):
        if is_sharding(prefix):
            out.extend([prefix] * tree.structure(subtree).num_leaves)
            return
        children, structure = tree.flatten(prefix, is_leaf=lambda x: x is not prefix)
        parts, found = tree.flatten(subtree, is_leaf=lambda x: x is not subtree)
        if structure.node_data() is None or len(children) != len(parts):
            raise ValueError(f"{prefix} is no prefix of {found}")
        for child, part in zip(children, parts):
            fill(child, part)

    fill(shardings, full)
    return out


# ---- where arrays lie ----------------------------------------------------------------------------


def place(array: Array, sharding: NamedSharding | PartitionSpec) -> Array:
    """The array, laid out as a sharding says; a constraint, if it is traced."""
    sharding, value = named(sharding, "device_put"), as_value(array)
    sharding.check(value.aval.shape, "device_put")
    if value.__class__ is not Value:
        return wrap(sharding_constraint(value, sharding=sharding))
    return wrap(moved(value, sharding))


@explaining
def with_sharding_constraint(x, shardings):
    """x, a pytree, divided over a mesh as `shardings` say, a prefix of its tree: NamedShardings, or PartitionSpecs
    inside `with mesh:`. In a jitted function the partitioner keeps to it; outside the arrays are moved.

    >>> import functorch_core as fc
    >>> mesh = fc.make_mesh((1,), ("x",))
    >>> fc.lax.with_sharding_constraint(fc.ones(2), fc.NamedSharding(mesh, fc.P("x")))
    Array([1., 1.], dtype=float32)
    """
    leaves, treedef = tree.flatten(x)
    wanted = spread(shardings, treedef)
    return treedef.unflatten([a if s is None else place(wrap(as_value(a)), s) for a, s in zip(leaves, wanted)])


class Shard:
    """What one device has of an array: `data`, the `index` of it in the whole, the `device`, and the number of the
    copy, `replica_id`.

    >>> import functorch_core as fc
    >>> (shard,) = fc.arange(3).addressable_shards
    >>> isinstance(shard, fc.Shard), shard.index, shard.data.shape
    (True, (slice(None, None, None),), (3,))
    """

    __slots__ = ("device", "index", "replica_id", "data")

    def __init__(self, device, index: tuple[slice, ...], replica_id: int, data: Array):
        self.device, self.index, self.replica_id, self.data = device, index, replica_id, data

    def __repr__(self):
        return f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, data={self.data!r})"


def array_sharding(array: Array) -> NamedSharding | SingleDeviceSharding:
    """x.sharding: how an array lies on devices.

    >>> fc.arange(2).sharding.device_set == {fc.devices()[0]}
    True
    """
    found = sharding_of(concrete_value(array, "sharding"))
    return SingleDeviceSharding(array.device) if found is None else found


def addressable_shards(array: Array) -> list[Shard]:
    """x.addressable_shards: what each device has of an array.

    >>> [shard.data for shard in fc.arange(3).addressable_shards]
    [Array([0, 1, 2], dtype=int64)]
    """
    value = concrete_value(array, "addressable_shards")
    sharding = sharding_of(value)
    if sharding is None:
        return [Shard(array.device, (slice(None),) * array.ndim, 0, array)]
    shards, copies = [], {}
    parts = dict(zip(sharding.mesh.here, xla.shards_of(value.data)))
    for i, (device, index) in enumerate(zip(sharding.mesh.devices.flat, sharding.indices(array.shape))):
        key = tuple([(s.start, s.stop) for s in index])
        copies[key] = copies.get(key, -1) + 1
        if i in parts:
            shards.append(Shard(device, index, copies[key], wrap(from_buffer(parts[i]))))
    return shards


@explaining
def make_array_from_single_device_arrays(
    shape: Sequence[int], sharding, arrays: Sequence[Array], *, dtype=None
) -> Array:
    """An array of what each device of this process has, in the order of the mesh; memory is shared.

    >>> import functorch_core as fc
    >>> mesh = fc.make_mesh((1,), ("x",))
    >>> fc.make_array_from_single_device_arrays((2,), fc.NamedSharding(mesh, fc.P("x")), [fc.ones(2)])
    Array([1., 1.], dtype=float32)
    """
    sharding = named(sharding, "make_array_from_single_device_arrays")
    local, mesh = sharding.shard_shape(shape), sharding.mesh
    devices = [mesh.devices.flat[i] for i in mesh.here]
    if len(arrays) != len(devices):
        raise ValueError(f"{len(arrays)} arrays for {len(devices)} devices of {mesh} here: one is needed for each")
    for a in arrays:
        if a.shape != local:
            raise ValueError(f"a part has shape {a.shape}; {sharding} of an array {tuple(shape)} has {local}")
    parts = [to_buffer(concrete_value(a, "a part"), d) for a, d in zip(arrays, devices)]
    return wrap(from_sharded(xla.assemble(tuple(shape), sharding, parts)))


@explaining
def make_array_from_callback(shape: Sequence[int], sharding, data_callback: Callable, *, dtype=None) -> Array:
    """An array whose parts are data_callback(index), arrays for the part of the whole that a device has.

    >>> import functorch_core as fc, numpy as np
    >>> mesh = fc.make_mesh((1,), ("x",))
    >>> fc.make_array_from_callback((3,), fc.NamedSharding(mesh, fc.P("x")), lambda index: np.arange(3.)[index])
    Array([0., 1., 2.], dtype=float64)
    """
    sharding = named(sharding, "make_array_from_callback")
    sharding.check(tuple(shape), "make_array_from_callback")
    indices = list(sharding.indices(tuple(shape)))
    parts = [wrap(as_value(np.asarray(data_callback(indices[i])))) for i in sharding.mesh.here]
    return make_array_from_single_device_arrays(shape, sharding, parts)


Array.sharding = property(
    array_sharding,
    doc="""How the array lies on devices: a NamedSharding, or one device's.

    >>> fc.arange(2).sharding.num_devices
    1
    """,
)
Array.addressable_shards = property(
    addressable_shards,
    doc="""What each device has of the array.

    >>> [shard.data.shape for shard in fc.arange(3).addressable_shards]
    [(3,)]
    """,
)
Array.global_shards = Array.addressable_shards
Array.committed = property(
    lambda x: False,
    doc="""Whether it stays on its device in any case: never, programs copy what lies elsewhere.

    >>> fc.arange(3).committed
    False
    """,
)
Array.is_fully_replicated = property(
    lambda x: array_sharding(x).is_fully_replicated,
    doc="""Whether each of its devices has the whole array.

    >>> fc.ones(2).is_fully_replicated
    True
    """,
)
Array.is_fully_addressable = property(
    lambda x: array_sharding(x).is_fully_addressable,
    doc="""Whether all its devices are of this process.

    >>> fc.ones(2).is_fully_addressable
    True
    """,
)
Array.devices = lambda x: array_sharding(x).device_set
Array.devices.__doc__ = """The devices that have parts of the array.

    >>> fc.ones(2).devices() == {fc.devices()[0]}
    True
    """
Array.addressable_data = lambda x, index: addressable_shards(x)[index].data
Array.addressable_data.__doc__ = """What the device of a number has of the array.

    >>> fc.arange(3).addressable_data(0)
    Array([0, 1, 2], dtype=int64)
    """


# ---- jitted functions on a mesh ------------------------------------------------------------------


def meshes_in(graph: Graph) -> Mesh | None:
    """The mesh of the constraints in a graph; None if there are none."""
    for node in graph.nodes:
        if node.primitive is sharding_constraint_p:
            return node.params["sharding"].mesh
        for inner in subgraphs(node):
            found = meshes_in(inner)
            if found is not None:
                return found
    return None


class OnMesh:
    """How a jitted function runs on several devices: the shardings that were asked for, and programs by those of
    the arguments."""

    def __init__(self, in_shardings, out_shardings):
        self.in_shardings, self.out_shardings = in_shardings, out_shardings
        self.programs: dict[tuple, Any] = {}
        self.given = in_shardings is not None or out_shardings is not None
        asked = tree.leaves((in_shardings, out_shardings), is_leaf=is_sharding)
        self.asked = [s for s in asked if s is not None]
        self.waits = xla.current_mesh() is None and {PartitionSpec} == set(map(type, self.asked))
        self.mesh = None if self.waits or not self.asked else named(self.asked[0], "jit").mesh

    def mesh_for(self, signature, values: Sequence) -> Mesh | None:
        """The mesh that a call of these values is a program for; None for a call on one device."""
        if self.waits:  # for the mesh that it is called in
            return named(self.asked[0], f"jit({signature.name})").mesh
        return self.mesh or mesh_of(values) or signature.mesh

    def wanted(self, shardings, treedef, n_captures: int = 0) -> list:
        """A NamedSharding or None for each leaf."""
        if shardings is None:
            return [None] * (treedef.num_leaves + n_captures)
        found = [None if s is None else named(s, "jit") for s in spread(shardings, treedef)]
        return [*found, *[None] * n_captures]

    def program(self, signature, mesh: Mesh, values: Sequence):
        """The program for values that lie as these do."""
        positional, keyword = signature.in_tree.children()
        asked = self.in_shardings
        if isinstance(asked, list) or asked.__class__ is tuple:
            asked = tuple(asked)
        wanted = self.wanted(asked, positional) + [None] * (len(values) - positional.num_leaves)
        whole = NamedSharding(mesh, PartitionSpec())
        ins = tuple([w or sharding_of(v) or whole for w, v in zip(wanted, values)])
        key = (signature, mesh, ins)
        found = self.programs.get(key)
        if found is None:
            outs = self.wanted(self.out_shardings, signature.out_tree)
            why = f"first call of jit({signature.name}) with these shardings"
            found = self.programs[key] = compile_for_mesh(signature.graph, mesh, ins, outs, why)
        return found

    def call(self, signature, mesh: Mesh, values: Sequence):
        """The function's result of values, computed by all devices of the mesh."""
        program = self.program(signature, mesh, values)
        outs = program([laid(v, s) for v, s in zip(values, program.in_shardings)])
        return signature.out_tree.unflatten([wrap(from_sharded(b)) for b in outs])

    def constrained(self, signature, values: Sequence, run: Callable):
        """The results inside another trace: the shardings are constraints there."""
        if not self.given:
            return run(values)
        positional, _ = signature.in_tree.children()
        wanted = self.wanted(self.in_shardings, positional) + [None] * (len(values) - positional.num_leaves)
        outs = run([v if s is None else sharding_constraint(v, sharding=s) for v, s in zip(values, wanted)])
        found = self.wanted(self.out_shardings, signature.out_tree)
        return [v if s is None else sharding_constraint(v, sharding=s) for v, s in zip(outs, found)]
