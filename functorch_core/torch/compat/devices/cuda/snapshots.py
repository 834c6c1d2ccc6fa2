"""Snapshots of GPUs' memory: the buffers that are there, by XLA's client. It tells nothing of its segments, nor of what
running programs take for themselves, and keeps no history."""

from __future__ import annotations

import importlib
import pickle

from ..... import xla
from .....engine import flush
from .....engine.value import from_buffer
from ..accelerators import ABSENT, devices

NO_HISTORY = (
    "torch.cuda.memory._record_memory_history is not implemented by functorch-core: XLA's allocator keeps no history. "
    "torch.profiler.profile(profile_memory=True, record_shapes=True, with_stack=True).export_memory_timeline(...) says "
    "what was taken and freed when"
)
NO_NVML = "pynvml module not found, please install nvidia-ml-py"


def memory_snapshot(mempool_id=None, include_traces: bool = True) -> list[dict]:
    """A segment for each buffer in the memory of GPUs, with its address and its bytes.

    >>> segments = torch.cuda.memory_snapshot() if torch.cuda.is_available() else []
    >>> all(s["allocated_size"] == s["total_size"] for s in segments)
    True
    """
    found = devices("cuda")
    if not found:
        raise AssertionError(ABSENT["cuda"])
    if mempool_id is not None:
        raise NotImplementedError("torch.cuda.memory_snapshot(mempool_id=...): XLA's allocator has one pool")
    flush("a snapshot of memory")
    buffers = [part for buffer in xla.live_buffers(found[0].platform) for part in _parts(buffer)]
    return sorted([_segment(x) for x in buffers], key=lambda segment: (segment["device"], segment["address"]))


def _parts(buffer: xla.Buffer) -> list[xla.Buffer]:
    """What lies on each of several devices."""
    return xla.shards_of(buffer) if hasattr(buffer._sharding, "named") else [buffer]


def _segment(buffer: xla.Buffer) -> dict:
    """What PyTorch says of a segment, of which one buffer takes all."""
    address, size, asked = buffer.unsafe_buffer_pointer(), buffer.on_device_size_in_bytes(), _nbytes(buffer)
    block = {"address": address, "size": size, "requested_size": asked, "state": "active_allocated"}
    return {
        "device": devices("cuda").index(xla.device_of(buffer)),
        "address": address,
        "total_size": size,
        "allocated_size": size,
        "active_size": size,
        "requested_size": asked,
        "stream": 0,
        "segment_type": "small" if size < 1 << 20 else "large",
        "segment_pool_id": (0, 0),
        "is_expandable": False,
        "frames": [],
        "blocks": [{**block, "frames": []}],
    }


def _nbytes(buffer: xla.Buffer) -> int:
    return from_buffer(buffer).aval.nbytes


def snapshot(device=None, augment_with_fx_traces: bool = False) -> dict:
    """`memory_snapshot`, and of each GPU an empty history: what pytorch.org/memory_viz shows."""
    segments = memory_snapshot()
    return {"segments": segments, "device_traces": [[] for _ in devices("cuda")], "allocator_settings": {}}


def dump_snapshot(filename: str = "dump_snapshot.pickle", augment_with_fx_traces: bool = False):
    """Write a snapshot to a file that pytorch.org/memory_viz opens."""
    found = snapshot()
    with open(filename, "wb") as file:
        pickle.dump(found, file)


def record_memory_history(enabled: str | None = "all", *args, **kwargs):
    """To stop, None, is no effect; NotImplementedError otherwise: XLA's allocator keeps no history."""
    if enabled not in (None, False):
        raise NotImplementedError(NO_HISTORY)


def list_gpu_processes(device=None) -> str:
    """The processes that use a GPU, as text; needs the package nvidia-ml-py.

    >>> isinstance(torch.cuda.list_gpu_processes(), str)
    True
    """
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError:
        return NO_NVML
    index = getattr(device, "index", device) or 0
    try:
        nvml.nvmlInit()
        found = nvml.nvmlDeviceGetComputeRunningProcesses(nvml.nvmlDeviceGetHandleByIndex(index))
    except nvml.NVMLError as error:
        return f"cuda driver can't be loaded, is cuda enabled? ({error})"
    lines = [f"process {p.pid:>10d} uses {p.usedGpuMemory / 2**20:>12.3f} MB GPU memory" for p in found]
    return "\n".join([f"GPU:{index}", *(lines or ["no processes are running"])])
