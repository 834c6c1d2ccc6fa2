"""jax.distributed: arrays over the devices of several processes.

Each process runs the same program, and calls the same functions in the same order. `initialize` joins them; after it
`fc.devices()` are the devices of all, of which meshes are made. An array on such a mesh lies in all processes: each has
the parts on its own devices. Only the parts that are here can be read, and arrays that every device has whole.
"""

from __future__ import annotations

import os

from . import xla
from .core.explain import explaining
from .xla import processes
from .xla.device import cpu_devices_wanted

TWICE = "distributed.initialize was called before in this process; there is one group of processes at a time"
INCOMPLETE = (
    "distributed.initialize: {name} is not given, and there is no {variable} in the environment. Right:"
    " fc.distributed.initialize('host:port', num_processes=2, process_id=0), or a launcher as torchrun"
)


@explaining
def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids=None,
    cluster_detection_method: str | None = None,
    initialization_timeout: int = 300,
    heartbeat_timeout_seconds: int = 100,
    coordinator_bind_address: str | None = None,
):
    """Join the other processes of a program: num_processes of them, of which this is number process_id.

    coordinator_address: "host:port" of a service that process 0 starts. What is not given comes from what torchrun
    sets: MASTER_ADDR and MASTER_PORT, WORLD_SIZE, RANK. Each process has as many CPU devices as FUNCTORCH_CPU_DEVICES
    says. RuntimeError if the others do not come within initialization_timeout seconds.

    >>> import functorch_core as fc
    >>> fc.distributed.initialize("127.0.0.1:0", num_processes=1, process_id=0)
    >>> fc.process_count()
    1
    >>> fc.distributed.shutdown()
    """
    if is_initialized():
        raise RuntimeError(TWICE)
    if local_device_ids is not None:
        raise NotImplementedError("distributed.initialize: local_device_ids; a process has all its CPU devices")
    size = _given("num_processes", num_processes, "WORLD_SIZE")
    rank = _given("process_id", process_id, "RANK")
    if not 0 <= rank < size:
        raise ValueError(f"distributed.initialize: process_id={rank} is not one of num_processes={size}")
    address = coordinator_address
    if address is None:
        host = _given("coordinator_address", None, "MASTER_ADDR")
        address = f"{host}:{_given('coordinator_address', None, 'MASTER_PORT')}"
    if size == 1:
        _alone.append(True)
        return
    try:
        runtime = processes.join(address, rank, size, initialization_timeout, cpu_devices_wanted())
        runtime.program_timeout = PROGRAM_TIMEOUT
        runtime.devices()
    except xla.ExecutionError as error:
        raise RuntimeError(str(error)) from None


PROGRAM_TIMEOUT = 1800.0  # seconds that a process waits for others at the start of a program, torch.distributed's
_alone: list[bool] = []  # one process that was initialized needs no runtime


def _given(name: str, value, variable: str):
    found = os.environ.get(variable) if value is None else value
    if found is None:
        raise ValueError(INCOMPLETE.format(name=name, variable=variable))
    return int(found) if variable != "MASTER_ADDR" else found


@explaining
def shutdown():
    """Leave the other processes.

    >>> import functorch_core as fc
    >>> fc.distributed.shutdown()
    """
    _alone.clear()
    runtime = processes.joined()
    if runtime is not None:
        processes.leave(runtime)


@explaining
def is_initialized() -> bool:
    """Whether the process has joined others.

    >>> import functorch_core as fc
    >>> fc.distributed.is_initialized()
    False
    """
    return bool(_alone) or processes.joined() is not None


__all__ = ["initialize", "is_initialized", "shutdown"]
