"""XLA: devices, buffers, compiled programs. The only package that imports jaxlib.

Importing it starts no client and no thread.
"""

from __future__ import annotations

from typing import Any

from .binding import Buffer, RuntimeFailure
from .buffers import (
    await_awake,
    block,
    block_all,
    copy_to,
    delete,
    device_of,
    dlpack_device,
    from_dlpack,
    is_deleted,
    live_buffers,
    parts_here,
    put,
    putter,
    shared,
    to_dlpack,
    to_numpy,
)
from .cache import cache_stats
from .callbacks import Callback
from .device import (
    Device,
    default_device,
    device,
    devices,
    has_client,
    in_forked_child,
    overlap_python,
    set_default_device,
)
from .dtypes import constant, element_type, mlir_type
from .errors import CompileError, CudaUnavailable, ExecutionError, fail
from .executable import Executable, compile, compile_stats, wait_for_the_one_before
from .lapack import custom_call_text, flag, lapack_call, lapack_target
from .memory import trim_memory
from .mesh import (
    Mesh,
    NamedSharding,
    PartitionSpec,
    SingleDeviceSharding,
    assemble,
    current_mesh,
    put_parts,
    put_sharded,
    sharding_of,
    shards_of,
)
from .mesh_program import MeshProgram, compile_for_mesh, watching
from .onednn_recurrent import Gru, Lstm, Recurrent
from .options import FAST_COMPILE, choose_options
from .processes import all_devices
from .threads import threads_wanted


def verify(module_text: str, *, name: str = "") -> None:
    """Raise a CompileError that names operation and location if a module's text is not valid."""
    from .mlir import parse

    parse(module_text, name)


def deviceless_cuda_compiler() -> Any:
    """A CUDA compiler that needs the plugin's packages but no GPU; see `xla.cuda`.

    Raises CudaUnavailable naming the packages that are missing.
    """
    from .cuda import deviceless_cuda_compiler

    return deviceless_cuda_compiler()
