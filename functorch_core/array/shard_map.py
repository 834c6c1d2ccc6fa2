"""shard_map: vmap over the axes of a mesh, with the mapped dimensions divided over its devices.

What a collective is to vmap, it is to the devices; all derivatives follow.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import xla
from ..core import tree
from ..core.explain import explaining, name_of
from ..xla import Mesh, NamedSharding, PartitionSpec
from . import functions as fc
from .array import Array, as_value, wrap
from .jit import jit
from .sharding import NO_MESH, P, place, spread
from .vmap import WHERE_MAPPED, vmap

VARIES = """shard_map of `{name}`: a result differs along the mesh axis {axis!r}, and out_specs do not say so.
    Divide a dimension by it, out_specs=P({axis!r}), make it the same for all, fc.lax.psum(x, {axis!r}), or take the
    first device's with check_vma=False."""
WRONG_SPECS = "shard_map of `{name}`: {what}={specs} does not fit the {of}: {error}"


@explaining
def shard_map(
    f: Callable | None = None, /, *, out_specs, in_specs=None, mesh: Mesh | None = None, axis_names=(), check_vma=True
) -> Callable:
    """A function that each device of a mesh applies f to its parts of the arguments with.

    in_specs, out_specs: PartitionSpecs for the arguments and results, or prefixes of their trees: f sees the parts
    of one device, and knows the others by fc.lax.psum and its kin over the names of the axes. A result whose spec
    does not name an axis is the same along it; ValueError where it is not, unless check_vma is False: then it is the
    first device's. mesh: that of `with mesh:`, if none is given.

    >>> import functorch_core as fc
    >>> mesh = fc.make_mesh((1,), ("x",))
    >>> f = fc.shard_map(lambda x: fc.lax.psum(x.sum(), "x"), mesh=mesh, in_specs=fc.P("x"), out_specs=fc.P())
    >>> f(fc.asarray([1., 2.]))
    Array(3., dtype=float32)
    """
    options = {"out_specs": out_specs, "in_specs": in_specs, "mesh": mesh, "axis_names": axis_names}
    if f is None:
        return functools.partial(shard_map, **options, check_vma=check_vma)
    name = name_of(f)

    @functools.wraps(f)
    def mapped(*args):
        grid = mesh or xla.current_mesh()
        if grid is None:
            raise ValueError(NO_MESH.format(what=f"shard_map of `{name}`", spec=in_specs))
        return _shard_mapped(f, name, grid, in_specs, out_specs, check_vma, args)

    return jit(mapped)  # eagerly it is one program, too


def _shard_mapped(f: Callable, name: str, mesh: Mesh, in_specs, out_specs, check_vma: bool, args: tuple):
    leaves, treedef = tree.flatten(args)
    try:
        specs = spread(_as_tuple(in_specs), treedef)
    except ValueError as error:
        text = WRONG_SPECS.format(name=name, what="in_specs", specs=in_specs, of="arguments", error=error)
        raise ValueError(text) from None
    specs = [P() if s is None else s for s in specs]
    fun, found = _on_leaves(f, treedef)
    for axis in reversed(mesh.axis_names):
        used = [0 if axis in s.all_axes() else None for s in specs]
        fun = _over_axis(fun, used, axis, mesh.shape[axis])
    parts = [_divided(mesh, wrap(as_value(x)), s, name) for x, s in zip(leaves, specs)]
    outs, varying = fun(parts)
    out_tree = found["tree"]
    wanted = [P() if s is None else s for s in spread(out_specs, out_tree)]
    return out_tree.unflatten(
        [_joined(mesh, x, v, s, check_vma, name) for x, v, s in zip(outs, varying, wanted, strict=True)]
    )


def _as_tuple(specs):
    return tuple(specs) if isinstance(specs, (list, tuple)) and not isinstance(specs, PartitionSpec) else specs


def _on_leaves(f: Callable, treedef: tree.PyTreeDef):
    """f as a function of a list of leaves: lists of results, and of the axes along which each differs; and where
    the structure of its result is put."""
    found: dict[str, Any] = {}

    def on_leaves(parts):
        out, found["tree"] = tree.flatten(f(*treedef.unflatten(parts)))
        return [wrap(as_value(x)) for x in out], [()] * len(out)

    return on_leaves, found


def _over_axis(fun: Callable, used: Sequence[int | None], axis: str, size: int) -> Callable:
    """A function of leaves mapped over an axis of the mesh: where a result depends on it, its first dimension is
    the axis's."""

    def mapped(parts):
        inner: dict[str, Any] = {}

        def one(parts):
            outs, inner["varying"] = fun(parts)
            return outs

        outs, dims = vmap(one, in_axes=(list(used),), out_axes=WHERE_MAPPED, axis_name=axis, axis_size=size)(parts)
        return outs, [(axis, *v) if d is not None else v for d, v in zip(dims, inner["varying"])]

    return mapped


def _divided(mesh: Mesh, x: Array, spec: PartitionSpec, name: str) -> Array:
    """An argument with a dimension for each axis of the mesh that divides it, in the order of the mesh, in front."""
    sharding = NamedSharding(mesh, spec)
    sharding.check(x.shape, f"shard_map of `{name}`")
    if not spec.all_axes():
        return x
    shape, places = [], {}
    for dim, n in enumerate(x.shape):
        for axis in spec.axes(dim):
            places[axis] = len(shape)
            shape.append(mesh.shape[axis])
        shape.append(n // sharding.parts(dim))
    front = [a for a in mesh.axis_names if a in places]
    order = [places[a] for a in front]
    order += [d for d in range(len(shape)) if d not in order]
    parts = x.reshape(tuple(shape)).transpose(tuple(order))
    return place(parts, NamedSharding(mesh, P(*front)))


def _joined(mesh: Mesh, x: Array, varying: tuple[str, ...], spec: PartitionSpec, check_vma: bool, name: str) -> Array:
    """A result of what the devices have of it: `varying` axes are its first dimensions."""
    axes = spec.all_axes()
    for k in reversed(range(len(varying))):
        if varying[k] not in axes:
            if check_vma:
                raise ValueError(VARIES.format(name=name, axis=varying[k]))
            x = x[(slice(None),) * k + (0,)]
    varying = tuple([a for a in varying if a in axes])
    for axis in axes:
        if axis not in varying:  # the same on all devices, and to be put side by side
            shape = (mesh.shape[axis], *x.shape)
            x, varying = _broadcast(x, shape), (axis, *varying)
    local = x.shape[len(varying) :]
    order, shape = [], []
    for dim, n in enumerate(local):
        order += [varying.index(a) for a in spec.axes(dim)]
        order.append(len(varying) + dim)
        shape.append(n * math.prod([mesh.shape[a] for a in spec.axes(dim)]))
    if len(spec) > len(local):
        raise ValueError(
            f"shard_map of `{name}`: out_specs has {spec} for a result whose parts are of shape {tuple(local)}"
        )
    return place(x.transpose(tuple(order)).reshape(tuple(shape)), NamedSharding(mesh, spec))


def _broadcast(x: Array, shape: tuple[int, ...]) -> Array:
    return fc.broadcast_to(x, shape)
