"""The jaxlib runtime: what the rest of `xla` uses of `jaxlib._jax`.

jaxlib is pinned exactly and its names move between releases, so they are touched here, in `mlir.py`
(the MLIR bindings), `cuda.py` (the GPU plugin) and `pytree.py`, and nowhere else.

Nothing here sets jaxlib's process-wide switches where jax is imported in the same process, which owns
them. `enable_x64=True` on every transfer makes them unnecessary.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NoReturn, TypeAlias

import numpy as np
from jaxlib import _jax, utils
from jaxlib import xla_client as xc
from jaxlib.version import __version__ as jaxlib_version

from .dtypes import element_type, stored_dtype
from .threads import that_give_way

Buffer: TypeAlias = _jax.ArrayImpl
RuntimeFailure = _jax.JaxRuntimeError
CompileOptions: TypeAlias = xc.CompileOptions
DeviceList: TypeAlias = _jax.DeviceList

batched_block_until_ready = _jax.batched_block_until_ready
batched_device_put = _jax.batched_device_put
COPY_NOW = _jax.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
ALIAS_OR_COPY_LATER = _jax.HostBufferSemantics.ZERO_COPY


def leave_out_tracebacks() -> None:
    """Let runs and arrays not keep where in Python they were made, unless jax is in the process, which says it in its
    errors. Of 200 bytes a run some are never freed: a million steps of training took 190 MB."""
    _jax.set_tracebacks_enabled("jax" in sys.modules)


leave_out_tracebacks()

VERSION = tuple(map(int, jaxlib_version.split(".")[:2]))

_REPLICATED = xc.HloSharding.replicate()


class Aval:
    """Shape and dtype, with the attributes jaxlib's C++ reads from an abstract value.

    `element` is the dtype of the elements, `dtype` the one that XLA holds them in.
    """

    __slots__ = ("shape", "element", "dtype", "weak_type", "size", "ndim")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.shape = tuple(shape)
        self.element = np.dtype(dtype)
        element_type(self.element)  # raises for a dtype XLA does not have
        self.dtype = stored_dtype(self.element)
        self.weak_type = False
        self.size = math.prod(self.shape)
        self.ndim = len(self.shape)

    def __repr__(self) -> str:
        return f"{self.element.name}[{','.join(map(str, self.shape))}]"


# Interned, because building one costs as much as half a transfer.
aval_of = lru_cache(maxsize=4096)(Aval)


class Sharding(_jax.SingleDeviceSharding):  # type: ignore[misc]  # jaxlib has no stubs of it
    """One whole array on one device; C++ calls these attributes, which jax adds in Python."""

    memory_kind = None
    is_fully_replicated = True
    is_fully_addressable = True

    def _to_xla_hlo_sharding(self, ndim: int) -> Any:
        return _REPLICATED

    @property
    def _device_assignment(self) -> Any:
        return (self._device,)

    @property
    def device_set(self) -> Any:
        return {self._device}


class MeshSharding(_jax.GSPMDSharding):  # type: ignore[misc]
    """One array over several devices; `handles` are these, `named` says how it is divided (see `mesh`)."""

    memory_kind = None
    is_fully_addressable = True
    handles: tuple[Any, ...]
    mine: tuple[Any, ...]  # those of this process
    named: Any

    @property
    def _device(self) -> Any:
        """The first: what a buffer is asked for its platform by."""
        return self.handles[0]

    @property
    def is_fully_replicated(self) -> bool:
        return self._hlo_sharding.is_replicated()

    def _to_xla_hlo_sharding(self, ndim: int) -> Any:
        return self._hlo_sharding

    @property
    def _device_assignment(self) -> Any:
        return self.handles

    @property
    def device_set(self) -> Any:
        return set(self.handles)


class ProcessSharding(MeshSharding):
    """One array over devices of several processes, of which those in `mine` are here."""

    is_fully_addressable = False

    @property
    def _addressable_device_assignment(self) -> Any:
        return self.mine


# ---- clients -------------------------------------------------------------------------------------


def make_cpu_client(*, asynchronous: bool, num_devices: int) -> Any:
    """A PJRT CPU client; starts its threads."""
    quieten()
    return xc.make_cpu_client(asynchronous=asynchronous, num_devices=num_devices)


def runtime_service(address: str, size: int) -> Any:
    """The service that processes meet at."""
    quieten()
    port = address.rpartition(":")[2]
    return _jax.get_distributed_runtime_service(f"[::]:{port}", size, heartbeat_timeout=100, shutdown_timeout=60)


def runtime_client(address: str, rank: int, timeout: int) -> Any:
    """A connected client of that service; the timeout is in seconds."""
    quieten()
    client = _jax.get_distributed_runtime_client(
        address,
        rank,
        init_timeout=timeout,
        shutdown_timeout=0,  # who leaves waits for nobody
        heartbeat_timeout=100,
        # Without these a process whose peers are gone is ended by XLA, with a stack trace of C++.
        missed_heartbeat_callback=lambda *status: None,
        shutdown_on_destruction=False,
        use_compression=True,
    )
    client.connect()
    return client


def make_joined_cpu_client(runtime: Any, rank: int, size: int, n_devices: int) -> Any:
    """A CPU client with devices of each process, whose collectives go through Gloo. Waits for all processes."""
    with that_give_way():
        collectives = _jax.make_gloo_tcp_collectives(runtime, hostname="127.0.0.1")
    return xc.make_cpu_client(
        distributed_client=runtime, node_id=rank, num_nodes=size, collectives=collectives, num_devices=n_devices
    )


def tiled(n: int) -> Any:
    """XLA's sharding of what is divided along its first dimension."""
    return xc.HloSharding.iota_tile([n])


def replica_options(ids: list[int]) -> CompileOptions:
    """Options for one program that runs as it is on several devices."""
    options = CompileOptions()
    options.num_replicas, options.num_partitions = len(ids), 1
    options.device_assignment = xc.DeviceAssignment.create(np.array(ids).reshape(-1, 1))
    return options


def quieten() -> None:
    """Keep XLA's log off stderr: what fails arrives as an exception. TF_CPP_MIN_LOG_LEVEL rules."""
    if "TF_CPP_MIN_LOG_LEVEL" not in os.environ:
        utils.absl_set_min_log_level(3)


# ---- compile -------------------------------------------------------------------------------------


# XLA has fusion emitters only since jaxlib 0.11.
_GONE = frozenset({"xla_cpu_use_fusion_emitters"}) if VERSION >= (0, 11) else frozenset()


def _known(overrides: Mapping[str, object]) -> list[tuple[str, object]]:
    """Those of the options that this jaxlib has."""
    return sorted([(name, value) for name, value in overrides.items() if name not in _GONE])


def compile_options(device: Any, overrides: Mapping[str, object]) -> CompileOptions:
    """Options for one program on one jaxlib device; overrides are fields of XLA's DebugOptions."""
    options = CompileOptions()
    options.device_assignment = xc.DeviceAssignment.create(np.array([[device.id]]))
    options.env_option_overrides = _known(overrides)
    return options


def _never_called(*arrays: Any) -> NoReturn:
    raise AssertionError("no program calls this")


# XLA runs a program on the thread that asks for it, as soon as its inputs are there, if it was loaded with callbacks,
# whether or not it calls them: for small programs that are read at once another thread costs 10 to 60 us.
ON_THIS_THREAD = [_never_called]


def mesh_compile_options(devices: list[Any], overrides: Mapping[str, object]) -> CompileOptions:
    """Options for one program on several jaxlib devices, partitioned by Shardy."""
    options = CompileOptions()
    options.num_replicas, options.num_partitions = 1, len(devices)
    build = options.executable_build_options
    build.use_spmd_partitioning = len(devices) > 1
    build.use_shardy_partitioner = True
    options.device_assignment = xc.DeviceAssignment.create(np.array([[d.id for d in devices]]))
    options.env_option_overrides = _known(overrides)
    return options


def replicated() -> Any:
    """XLA's sharding of what every device has whole."""
    return _REPLICATED


def sharding_from_text(text: str) -> Any:
    """XLA's sharding of a text such as {devices=[2,2]<=[4]}."""
    return xc.HloSharding.from_string(text)


def sharding_from_proto(proto: Any) -> Any:
    """XLA's sharding of what an executable says of its results."""
    return xc.HloSharding.from_proto(proto)


# Arrays of fewer bytes that cannot be shared are copied during the call, which takes less time than telling another
# thread to (0.15 ms).
AT_ONCE, ALIGNMENT = 1 << 16, 64


def put_shards(aval: Aval, sharding: MeshSharding, shards: list[np.ndarray]) -> Buffer:
    """A buffer of host arrays, one for each device of this process, whose memory becomes the buffer's if it is aligned
    to 64 bytes."""
    # To copy during the call, as `put` does, ends in "bad_function_call" where there are several shards.
    how = ALIAS_OR_COPY_LATER
    if len(shards) == 1 and shards[0].nbytes <= AT_ONCE and shards[0].__array_interface__["data"][0] % ALIGNMENT:
        how = COPY_NOW
    return batched_device_put(aval, sharding, shards, list(sharding.mine), True, False, how, True)


def join_shards(aval: Aval, sharding: MeshSharding, parts: Any) -> Buffer:
    """A buffer of buffers of single devices, which share their memory."""
    return _jax.ArrayImpl(aval, sharding, list(parts), committed=True, _skip_checks=True)


def aligned(size: int, dtype: np.dtype) -> np.ndarray:
    """A flat array of whatever is in its memory, which a buffer can share."""
    n_bytes = size * dtype.itemsize
    memory = np.empty(n_bytes + ALIGNMENT, np.uint8)
    start = -memory.__array_interface__["data"][0] % ALIGNMENT
    return memory[start : start + n_bytes].view(dtype)


class _Capsule:
    """A capsule of DLPack's, as NumPy takes it."""

    __slots__ = ("capsule",)

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # a CPU


def part_as_numpy(buffer: Any) -> np.ndarray:
    """What the one device of this process has of a buffer on CPUs, without a copy; waits for it.

    By DLPack 4 us, where each of jaxlib's ways to the buffers of single devices tries `import jax` first: 70 us.
    """
    buffer.block_until_ready()
    if buffer.aval.dtype.kind in "fiuc":
        return np.from_dlpack(_Capsule(_jax.buffer_to_dlpack_managed_tensor(buffer, None)))
    return np.asarray(buffer._arrays[0])


class _Tensor(ctypes.Structure):
    """The beginning of what a capsule of DLPack's holds (DLTensor)."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    ]


_UNSIGNED = 1  # DLPack's code

# Of our own: what ctypes.pythonapi hands out is everybody's, and others say that it returns something else.
_tensor_in = ctypes.PYFUNCTYPE(ctypes.POINTER(_Tensor), ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def bits_as_numpy(buffer: Any) -> np.ndarray:
    """The elements of a buffer on a CPU, of one or two bytes each, as unsigned integers; without a copy.

    NumPy takes no bfloat16 by DLPack, so the capsule is told that it holds integers. 2 us for jaxlib's 55.
    """
    capsule = _jax.buffer_to_dlpack_managed_tensor(buffer, None)
    _tensor_in(capsule, b"dltensor")[0].code = _UNSIGNED
    return np.from_dlpack(_Capsule(capsule))


def with_aval(buffer: Any, aval: Aval) -> Buffer:
    """The same buffer under another aval."""
    return buffer._rewrap_with_aval_and_sharding(aval, buffer._sharding)


def split_shards(buffer: Any, aval: Aval, shardings: list[Sharding]) -> list[Buffer]:
    """The buffers of single devices, of an aval, that one of several is made of; they share its memory."""
    return [
        _jax.ArrayImpl(aval, sharding, [part], committed=True, _skip_checks=True)
        for part, sharding in zip(buffer._arrays, shardings)
    ]


# They are committed and, before jaxlib 0.11, not checked (later ones never check).
_HANDLED = (True, True) if VERSION < (0, 11) else (True,)


def result_handlers(avals: tuple[Aval, ...], sharding: Sharding) -> list[Any]:
    """What turns the results of an execution into Buffers with these avals."""
    return [_jax.array_result_handler(aval, sharding, *_HANDLED) for aval in avals]


def register_lapack() -> None:
    """Make the `lapack_*` targets known to XLA and load LAPACK (SciPy's) into them."""
    import scipy.linalg  # noqa: F401  (before its parts: else a thread that imports it now ends in a deadlock)
    from jaxlib.cpu import _lapack

    for name, handler in _lapack.registrations().items():
        xc.register_custom_call_target(name, handler, platform="cpu", api_version=1)
    _lapack.initialize()  # an execution without it is a segmentation fault


def register_handler(name: str, address: int) -> None:
    """Make a native function known to XLA as the typed FFI's handler of a target, for good."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    capsule = new(address, b"xla._CUSTOM_CALL_TARGET", None)
    xc.register_custom_call_target(name.encode(), capsule, platform="cpu", api_version=1)


# ---- moving and sharing buffers ------------------------------------------------------------------


def copy_between_devices(buffer: Any, device_list: Any, sharding: Any) -> Buffer:
    """Copy a buffer to another device of the same client."""
    reuse = _jax.ArrayCopySemantics.REUSE_INPUT
    copies = _jax.batched_copy_array_to_devices_with_sharding([buffer], [device_list], [sharding], [reuse])
    return copies[0]


def export_dlpack(buffer: Any, stream: int | None = None) -> Any:
    """A DLPack capsule that shares the buffer's memory."""
    return _jax.buffer_to_dlpack_managed_tensor(buffer, stream)


def import_dlpack(capsule: Any, device: Any, stream: int | None = None) -> Any:
    """A Buffer without aval from a DLPack capsule; shares memory that is aligned to 64 bytes."""
    return _jax.dlpack_managed_tensor_to_buffer(capsule, device, stream, copy=None)


def is_row_major(buffer: Any) -> bool:
    """Whether the elements lie as programs expect them; those of a DLPack import may not."""
    minor_to_major = str(buffer._pjrt_layout).strip("{}").partition(":")[0]
    dims = [int(d) for d in minor_to_major.split(",") if d]
    return dims == list(range(len(dims)))[::-1]


__all__ = [
    "ALIAS_OR_COPY_LATER",
    "Aval",
    "Buffer",
    "COPY_NOW",
    "CompileOptions",
    "DeviceList",
    "ON_THIS_THREAD",
    "MeshSharding",
    "RuntimeFailure",
    "Sharding",
    "aligned",
    "aval_of",
    "batched_block_until_ready",
    "batched_device_put",
    "compile_options",
    "copy_between_devices",
    "export_dlpack",
    "import_dlpack",
    "is_row_major",
    "join_shards",
    "jaxlib_version",
    "make_cpu_client",
    "mesh_compile_options",
    "part_as_numpy",
    "put_shards",
    "quieten",
    "register_handler",
    "register_lapack",
    "replicated",
    "result_handlers",
    "sharding_from_proto",
    "sharding_from_text",
    "split_shards",
    "with_aval",
]
