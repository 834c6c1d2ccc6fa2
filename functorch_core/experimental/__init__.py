"""jax.experimental: checkify, and callbacks with effects."""

from ..array.callbacks import io_callback
from ..array.compose import missing_name as _missing_name
from . import checkify, serialize_executable

__getattr__ = _missing_name(
    "experimental",
    {
        "multihost_utils mesh_utils shard_map shard_alike": "Programs run on one device; map with fc.vmap.",
        "sparse": "fc.scipy.sparse.linalg has solvers for operators; torch.sparse has sparse tensors.",
        "pallas": "Programs are XLA's.",
        "host_callback": "Use fc.debug.callback, fc.pure_callback or experimental.io_callback.",
        "enable_x64 disable_x64": "64 bits are always on.",
    },
)

__all__ = ["checkify", "io_callback", "serialize_executable"]
