"""sharding_constraint: how an array lies on several devices from here on; its numbers stay.

In a program for one device it is nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.aval import Aval
from ..core.lowering import LowerContext, Operand, tensor_type
from ..core.primitive import Primitive, Traits
from ..core.trace import bind
from ..core.types import Batched, Cotangents, Dims, Value
from ..xla import NamedSharding, PartitionSpec
from .batching import Axis
from .declare import jointly_linear


def sharding_constraint(x: Value, *, sharding: NamedSharding) -> Value:
    """x, divided over a mesh as `sharding` says."""
    return bind(sharding_constraint_p, x, sharding=sharding)


def _shape(x: Aval, *, sharding: NamedSharding) -> Aval:
    sharding.check(x.shape, "with_sharding_constraint")
    return x


def _reference(x: np.ndarray, *, sharding: NamedSharding) -> np.ndarray:
    return x


def _lower(ctx: LowerContext, x: Operand, *, sharding: NamedSharding) -> Operand:
    if not ctx.root.meshes:
        return x
    text = sharding.text(ctx.mesh_name(sharding.mesh), x.aval.ndim)
    return ctx.raw(f"sdy.sharding_constraint {x} {text} : {tensor_type(x.aval)}", x.aval)


def _transpose(ct: Value, x: Value, *, sharding: NamedSharding) -> Cotangents:
    return (sharding_constraint(ct, sharding=sharding),)


def _batch(axis: Axis, args: list[Value], dims: Dims, *, sharding: NamedSharding) -> Batched:
    """The new dimension lies on the axis of the mesh that has its name (shard_map), if one has."""
    dim: Any = dims[0]
    spec = [sharding.spec[d] if d < len(sharding.spec) else None for d in range(args[0].aval.ndim - 1)]
    named = axis.name in sharding.mesh.axis_names and axis.name not in sharding.spec.all_axes()
    spec.insert(dim, axis.name if named else PartitionSpec.UNCONSTRAINED)
    return sharding_constraint(args[0], sharding=sharding.with_spec(PartitionSpec(*spec))), dim


sharding_constraint_p = Primitive(
    "sharding_constraint",
    traits=Traits(family="structure", numpy=0, conjugates=True, moves=slice(0, 1), carries=True),
    shape=_shape,
    reference=_reference,
    lower=_lower,
    jvp=jointly_linear(sharding_constraint),
    transpose=_transpose,
    batch=_batch,
)
