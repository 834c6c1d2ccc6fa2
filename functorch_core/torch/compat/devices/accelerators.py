"""What torch.cuda, torch.xpu, torch.mtia and torch.mps have in common: one object per kind of
device.

XLA orders the work of a device by itself, so streams are names without effect, and an event is a
moment at which everything before it has been computed.
"""

from __future__ import annotations

import collections
import contextlib
import time

import numpy as np

from .... import xla
from ....engine import flush
from ...operators.random.seeds import get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from ...tensors import types as _types

ABSENT = {
    "cuda": "Torch not compiled with CUDA enabled",
    "xpu": "Torch not compiled with XPU enabled",
    "mtia": "Torch not linked with MTIA support",
    "mps": "Torch not compiled with MPS enabled",
}


class Stream:
    """A queue of work on a device. XLA orders work itself: this is a name without effect.

    >>> stream = torch.cuda.Stream() if torch.cuda.is_available() else None
    """

    __module__ = "torch"
    kind: str | None = None

    def __init__(self, device=None, priority=0, **_):
        self.device = _chosen(self.kind, device, "Stream")
        self.priority, self.stream_id = priority, 0

    def query(self) -> bool:
        """Whether all work is done: True after computing what is recorded."""
        flush("a stream was queried")
        return True

    def synchronize(self):
        """Compute what is recorded."""
        synchronize(self.device)

    def wait_event(self, event):
        """Nothing to wait for: work is in order."""

    def wait_stream(self, stream):
        """Nothing to wait for: work is in order."""

    def record_event(self, event=None):
        """An event that marks this moment."""
        event = Event(self.device, enable_timing=True) if event is None else event
        event.record(self)
        return event

    def __eq__(self, other):
        return isinstance(other, Stream) and other.device == self.device

    def __hash__(self):
        return hash(self.device)

    def __repr__(self):
        return f"torch.Stream device_type={self.device.type}, device_index={self.device.index}"

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        pass


class Event:
    """A moment of a device's work.

    >>> torch.Event("cpu").query()
    True
    """

    __module__ = "torch"
    kind: str | None = None

    def __init__(self, device=None, enable_timing=False, blocking=False, interprocess=False):
        self.device = _chosen(self.kind, device, "Event")
        self.enable_timing, self.time = enable_timing, None

    def record(self, stream=None):
        """Mark this moment: what is recorded is computed first."""
        synchronize(self.device)
        self.time = time.perf_counter()

    def wait(self, stream=None):
        """Nothing to wait for: work is in order."""

    def query(self) -> bool:
        """Whether the work before the event is done: always, since record() computes it."""
        return True

    def synchronize(self):
        """Nothing to wait for: record() did."""

    def elapsed_time(self, end_event) -> float:
        """Milliseconds from this event to another."""
        if self.time is None or end_event.time is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        return 1000 * (end_event.time - self.time)


def _chosen(kind: str | None, device, what: str) -> _types.device:
    """The device a stream or event is for; RuntimeError if the machine has none."""
    anywhere = "cuda" if devices("cuda") else "cpu"
    chosen = _types.device(device if device is not None else kind or anywhere)
    if chosen.type != "cpu" and not devices(chosen.type):
        raise RuntimeError(f"Tried to instantiate dummy base class {what}")
    return _types.device(chosen.type, chosen.index or 0)


def devices(kind: str) -> tuple[xla.Device, ...]:
    """The devices of a kind; none but CUDA's are possible."""
    return xla.devices("cuda") if kind == "cuda" else ()


def synchronize(device: _types.device):
    """Compute what is recorded, and wait for a GPU to finish."""
    flush("synchronize")
    if device.type == "cuda":
        found = devices("cuda")
        xla.block(xla.put(_ZERO, found[device.index or 0]))


_ZERO = np.zeros((), np.float32)
DeviceProperties = collections.namedtuple("DeviceProperties", "name major minor total_memory multi_processor_count")


class Accelerator:
    """The functions of torch.KIND; they raise or do nothing where PyTorch's do without a device."""

    def __init__(self, kind: str):
        self.kind, self.absent, self.index = kind, ABSENT[kind], 0
        place = {"kind": kind, "__module__": f"torch.{kind}"}
        self.Stream = type("Stream", (Stream,), {**place, "__doc__": Stream.__doc__})
        self.Event = type("Event", (Event,), {**place, "__doc__": Event.__doc__})
        self.device = _device_context(self)

    def require(self, index: int | None = None) -> xla.Device:
        """The current device or that of an index; AssertionError if there is none."""
        found = devices(self.kind)
        if not found:
            raise AssertionError(self.absent)
        index = self.index if index is None else index
        if not 0 <= index < len(found):
            raise RuntimeError(
                f"{self.kind.upper()} error: invalid device ordinal {index}: there are {len(found)} devices"
            )
        return found[index]

    def index_of(self, device) -> int:
        """The index that an argument names; None is the current device."""
        if device is None:
            return self.index
        if isinstance(device, int):
            return device
        device = _types.device(device)
        if device.type != self.kind:
            raise ValueError(f"Expected a {self.kind} device, but got: {device}")
        return self.index if device.index is None else device.index

    # ---- devices

    def is_available(self) -> bool:
        """Whether there is such a device.

        >>> torch.cuda.is_available() == (torch.cuda.device_count() > 0)
        True
        """
        return bool(devices(self.kind))

    def device_count(self) -> int:
        """How many such devices there are.

        >>> torch.cuda.device_count() >= 0
        True
        """
        return len(devices(self.kind))

    def is_initialized(self) -> bool:
        """Whether the devices are in use.

        >>> isinstance(torch.cuda.is_initialized(), bool)
        True
        """
        return self.is_available()

    def init(self):
        """Start using the devices; AssertionError if there is none.

        >>> if torch.cuda.is_available(): torch.cuda.init()
        """
        self.require()

    def current_device(self) -> int:
        """The index of the device that 'KIND' without an index means.

        >>> torch.cuda.current_device() if torch.cuda.is_available() else 0
        0
        """
        self.require()
        return self.index

    def set_device(self, device):
        """Change the current device.

        >>> if torch.cuda.is_available(): torch.cuda.set_device(0)
        """
        index = self.index_of(device)
        if index >= 0:
            self.require(index)
            self.index = index

    def device_of(self, obj):
        """Context: the current device is that of a tensor.

        >>> x = torch.ones(2)
        >>> with torch.cuda.device_of(x):
        ...   y = x + 1
        """
        return self.device(obj.get_device() if getattr(obj, f"is_{self.kind}") else -1)

    def synchronize(self, device=None):
        """Wait until everything asked for is computed.

        >>> if torch.cuda.is_available(): torch.cuda.synchronize()
        """
        self.require(self.index_of(device))
        synchronize(_types.device(self.kind, self.index_of(device)))

    def get_device_name(self, device=None) -> str:
        """The name of the hardware.

        >>> name = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
        """
        return self.require(self.index_of(device)).kind

    def get_device_properties(self, device=None):
        """Name, compute capability, memory and processor count of a device.

        >>> if torch.cuda.is_available(): print(torch.cuda.get_device_properties(0).total_memory > 0)
        """
        found = self.require(self.index_of(device))
        major, minor = self.get_device_capability(device)
        handle = found._handle
        return DeviceProperties(
            found.kind, major, minor, found.memory_stats().get("bytes_limit", 0), getattr(handle, "core_count", 0)
        )

    def get_device_capability(self, device=None) -> tuple[int, int]:
        """The compute capability, (9, 0).

        >>> major = torch.cuda.get_device_capability()[0] if torch.cuda.is_available() else 0
        """
        handle = self.require(self.index_of(device))._handle
        major, _, minor = str(getattr(handle, "compute_capability", "0.0")).partition(".")
        return int(major), int(minor or 0)

    def get_arch_list(self) -> list[str]:
        """The architectures that programs are compiled for: those that are there.

        >>> isinstance(torch.cuda.get_arch_list(), list)
        True
        """
        return []

    def get_gencode_flags(self) -> str:
        """Flags of a compiler that is not used.

        >>> isinstance(torch.cuda.get_gencode_flags(), str)
        True
        """
        return ""

    # ---- streams

    def current_stream(self, device=None):
        """The stream in use.

        >>> stream = torch.cuda.current_stream() if torch.cuda.is_available() else None
        """
        self.require(self.index_of(device))
        return self.Stream(_types.device(self.kind, self.index_of(device)))

    default_stream = current_stream

    def set_stream(self, stream):
        """No effect: XLA orders the work.

        >>> if torch.cuda.is_available(): torch.cuda.set_stream(torch.cuda.current_stream())
        """

    def stream(self, stream):
        """Context without effect: XLA orders the work.

        >>> with torch.cuda.stream(None):
        ...   y = torch.ones(2) + 1
        """
        return contextlib.nullcontext(stream)

    StreamContext = stream

    # ---- memory

    def empty_cache(self):
        """No effect: XLA's allocator keeps no cache that could be given back.

        >>> torch.cuda.empty_cache()
        """

    def ipc_collect(self):
        """No effect: memory is not shared between processes.

        >>> torch.cuda.ipc_collect() if torch.cuda.is_available() else None
        """

    def memory_stats(self, device=None) -> dict:
        """What the allocator counts, under PyTorch's names; empty without a device.

        >>> isinstance(torch.cuda.memory_stats(), dict)
        True
        """
        if not self.is_available():
            return {}
        found = self.require(self.index_of(device)).memory_stats()
        current, peak = found.get("bytes_in_use", 0), found.get("peak_bytes_in_use", 0)
        reserved = found.get("bytes_reserved", 0) or current
        return {
            "allocated_bytes.all.current": current,
            "allocated_bytes.all.peak": peak,
            "reserved_bytes.all.current": reserved,
            "reserved_bytes.all.peak": max(peak, reserved),
            "num_alloc_retries": 0,
            "num_ooms": 0,
            "allocation.all.allocated": found.get("num_allocs", 0),
        }

    memory_stats_as_nested_dict = memory_stats

    def _stat(self, name: str, device) -> int:
        return self.memory_stats(device).get(name, 0)

    def memory_allocated(self, device=None) -> int:
        """Bytes in use.

        >>> torch.cuda.memory_allocated() >= 0
        True
        """
        return self._stat("allocated_bytes.all.current", device)

    def max_memory_allocated(self, device=None) -> int:
        """The most bytes that were in use.

        >>> torch.cuda.max_memory_allocated() >= torch.cuda.memory_allocated()
        True
        """
        return self._stat("allocated_bytes.all.peak", device)

    def memory_reserved(self, device=None) -> int:
        """Bytes that the allocator holds.

        >>> torch.cuda.memory_reserved() >= 0
        True
        """
        return self._stat("reserved_bytes.all.current", device)

    def max_memory_reserved(self, device=None) -> int:
        """The most bytes that the allocator held.

        >>> torch.cuda.max_memory_reserved() >= 0
        True
        """
        return self._stat("reserved_bytes.all.peak", device)

    memory_cached, max_memory_cached = memory_reserved, max_memory_reserved

    def reset_peak_memory_stats(self, device=None):
        """No effect: XLA's allocator keeps its peak.

        >>> if torch.cuda.is_available(): torch.cuda.reset_peak_memory_stats()
        """

    reset_accumulated_memory_stats = reset_peak_memory_stats
    reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats

    def mem_get_info(self, device=None) -> tuple[int, int]:
        """(free, total) bytes.

        >>> free, total = torch.cuda.mem_get_info() if torch.cuda.is_available() else (0, 0)
        >>> free <= total
        True
        """
        found = self.require(self.index_of(device)).memory_stats()
        total = found.get("bytes_limit", 0)
        return total - found.get("bytes_in_use", 0), total

    def memory_summary(self, device=None, abbreviated=False) -> str:
        """The counts of memory_stats as lines.

        >>> isinstance(torch.cuda.memory_summary(), str) if torch.cuda.is_available() else True
        True
        """
        return "\n".join(f"{k}: {v}" for k, v in self.memory_stats(device).items())

    # ---- random numbers: there is one generator, from which GPUs get their keys

    def manual_seed(self, seed: int):
        """Start the generator from a seed; no effect without a device.

        >>> torch.cuda.manual_seed(0)
        """
        if self.is_available():
            manual_seed(seed)

    manual_seed_all = manual_seed

    def seed(self):
        """Start the generator from a seed that nobody can know.

        >>> if torch.cuda.is_available(): torch.cuda.seed()
        """
        if self.is_available():
            seed()

    seed_all = seed

    def initial_seed(self) -> int:
        """The seed the generator started from.

        >>> seed = torch.cuda.initial_seed() if torch.cuda.is_available() else 0
        """
        self.require()
        return initial_seed()

    def get_rng_state(self, device=None):
        """The state of the generator.

        >>> state = torch.cuda.get_rng_state() if torch.cuda.is_available() else None
        """
        self.require(self.index_of(device))
        return get_rng_state()

    def get_rng_state_all(self) -> list:
        """The states of the generators of all devices, which are one.

        >>> len(torch.cuda.get_rng_state_all()) == torch.cuda.device_count()
        True
        """
        return [self.get_rng_state(i) for i in range(self.device_count())]

    def set_rng_state(self, new_state, device=None):
        """Let the generator go on from a state; no effect without a device.

        >>> if torch.cuda.is_available(): torch.cuda.set_rng_state(torch.cuda.get_rng_state())
        """
        if self.is_available():
            set_rng_state(new_state)

    def set_rng_state_all(self, new_states):
        """Let the generator go on from the first of the states.

        >>> torch.cuda.set_rng_state_all(torch.cuda.get_rng_state_all())
        """
        for state in list(new_states)[:1]:
            self.set_rng_state(state)

    def namespace(self) -> dict:
        """Everything a torch.KIND module holds."""
        hidden = {"kind", "absent", "index", "require", "index_of", "namespace"}
        return {name: getattr(self, name) for name in dir(self) if not name.startswith("_") and name not in hidden}


def _device_context(accelerator: Accelerator) -> type:
    class device:
        """Context: another current device.

        >>> with torch.cuda.device(-1):
        ...   y = torch.ones(2)
        """

        def __init__(self, device):
            self.wanted = accelerator.index_of(device)

        def __enter__(self):
            self.saved = accelerator.index
            accelerator.set_device(self.wanted)

        def __exit__(self, *exc):
            accelerator.index = self.saved

    device.__module__, device.__qualname__ = f"torch.{accelerator.kind}", "device"
    return device
