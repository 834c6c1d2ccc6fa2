"""jax.experimental: checkify, ode, and callbacks with effects."""

from ..array.callbacks import io_callback
from ..array.compose import missing_name as _missing_name
from . import checkify, ode, serialize_executable

__getattr__ = _missing_name(
    "experimental",
    {
        "multihost_utils": "It is for several processes, which fc.distributed begins; there is one process otherwise.",
        "mesh_utils": "fc.make_mesh((2, 4), ('x', 'y')) orders the devices.",
        "shard_map": "Use fc.shard_map.",
        "shard_alike": "Give both the same fc.NamedSharding: fc.lax.with_sharding_constraint.",
        "EArray": "It is a class of dtypes that JAX extends; typed keys are fc.random.key's.",
        "cur_qdd": "It asks for the mutable state of JAX's types; arrays here are immutable.",
        "primal_tangent_dtype": "Tangents have the dtype of their primals, those of integers fc.float0.",
        "jet": "Higher derivatives are fc.jvp of fc.jvp.",
        "sparse": "fc.scipy.sparse.linalg has solvers for operators; torch.sparse has sparse tensors.",
        "pallas": "Programs are XLA's.",
        "host_callback": "Use fc.debug.callback, fc.pure_callback or experimental.io_callback.",
        "enable_x64 disable_x64": "64 bits are always on.",
    },
)

__all__ = ["checkify", "io_callback", "ode", "serialize_executable"]
