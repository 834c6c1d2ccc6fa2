"""Snapshots of the memory of GPUs, of which the CPU plays one."""

import pickle

import numpy as np
import pytest

from functorch_core import torch, xla
from functorch_core.torch.compat.devices.cuda import snapshots


@pytest.fixture
def gpu(monkeypatch):
    """As if the CPU were a GPU."""
    monkeypatch.setattr(snapshots, "devices", lambda kind: xla.devices("cpu"))


def test_segments_are_the_buffers_that_live(gpu, tmp_path):
    array = np.ones((3, 1 << 20), np.float32)
    buffer = xla.put(array)
    address = buffer.unsafe_buffer_pointer()
    [segment] = [s for s in torch.cuda.memory_snapshot() if s["address"] == address]
    assert segment["total_size"] == segment["allocated_size"] == segment["blocks"][0]["size"] >= array.nbytes
    assert segment["requested_size"] == array.nbytes and segment["segment_type"] == "large" and segment["device"] == 0
    torch.cuda.memory._dump_snapshot(str(tmp_path / "snapshot.pickle"))
    dumped = pickle.loads((tmp_path / "snapshot.pickle").read_bytes())
    assert segment in dumped["segments"] and dumped["device_traces"] == [[] for _ in xla.devices("cpu")]
    del buffer
    assert address not in [s["address"] for s in torch.cuda.memory_snapshot() if s["requested_size"] == array.nbytes]


def test_what_xla_does_not_tell_is_refused(gpu):
    torch.cuda.memory._record_memory_history(None)
    with pytest.raises(NotImplementedError, match="_record_memory_history .*export_memory_timeline"):
        torch.cuda.memory._record_memory_history(max_entries=10)
    with pytest.raises(NotImplementedError, match="mempool_id"):
        torch.cuda.memory_snapshot(mempool_id=(0, 1))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu():
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        torch.cuda.memory_snapshot()
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        torch.cuda.memory._snapshot()


def test_processes(monkeypatch):
    import sys
    import types

    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert torch.cuda.list_gpu_processes() == "pynvml module not found, please install nvidia-ml-py"
    process = types.SimpleNamespace(pid=42, usedGpuMemory=3 << 20)
    nvml = types.SimpleNamespace(
        NVMLError=RuntimeError,
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByIndex=lambda i: i,
        nvmlDeviceGetComputeRunningProcesses=lambda handle: [process] if handle == 1 else [],
    )
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    assert torch.cuda.list_gpu_processes(1).split() == "GPU:1 process 42 uses 3.000 MB GPU memory".split()
    assert torch.cuda.list_gpu_processes() == "GPU:0\nno processes are running"
