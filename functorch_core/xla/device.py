"""Devices and the clients behind them, started when first asked for.

XLA has two CPU clients. The synchronous one answers a 16 x 16 dot in 3.8 us, the asynchronous one in
22 us; but a training step of a 3-layer network (64 x 128) takes 0.70 ms with the one and 0.41 with
the other, which computes while Python records the next step. Functional code gets the synchronous
one, the PyTorch face asks for the other (`overlap_python`); FUNCTORCH_CPU_ASYNC=0 or 1 decides.
Of its programs the short ones that are read run as they would with the first (`compile(on_this_thread=True)`).
FUNCTORCH_CPU_DEVICES=n splits the CPU into n devices, for programs that want several.
"""

from __future__ import annotations

import ctypes
import itertools
import os
from collections.abc import Callable
from typing import Any, NoReturn

from ..locks import RLock
from . import binding, memory, threads
from .errors import CudaUnavailable, ExecutionError

AFTER_FORK = (
    "XLA cannot be used in this process: it was forked from one whose XLA client was running, and "
    "the client's threads did not come along. Start the process with the 'spawn' or 'forkserver' "
    "method, or compute with NumPy here."
)


class Device:
    """One PJRT device. There is one object per device, so devices compare and hash by identity.

    >>> device = fc.devices()[0]
    >>> isinstance(device, fc.Device)
    True
    """

    __slots__ = ("platform", "id", "kind", "process_index", "is_here") + (
        "_client", "_handle", "_sharding", "_list", "_targets"
    )  # fmt: skip

    def __init__(self, platform: str, client: Any, handle: Any, is_here: bool = True) -> None:
        self.platform = platform
        self.process_index, self.is_here = handle.process_index, is_here  # of several processes
        self.id = handle.id
        self.kind = handle.device_kind
        self._client = client
        self._handle = handle
        self._sharding = binding.Sharding(handle)
        self._list = binding.DeviceList((handle,))
        self._targets = [handle]

    def compile_overrides(self) -> dict[str, object]:
        """Compile options that every program for this device needs."""
        if self.platform != "cuda":
            return {}
        from . import cuda

        return cuda.compile_overrides()

    def memory_stats(self) -> dict[str, int]:
        """What the device's allocator counts, by name; empty on CPU, which keeps no count."""
        return self._handle.memory_stats() or {}

    def __getattr__(self, name: str) -> NoReturn:
        """Only for an attribute that is not there: a forked child takes the client away."""
        if name in _LOST_IN_CHILD and _client_lost:
            raise ExecutionError(AFTER_FORK)
        raise AttributeError(f"Device has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"{self.platform}:{self.id}"

    def __reduce__(self) -> Any:
        return device, (repr(self),)


# ---- the process's clients -----------------------------------------------------------------------

_lock = RLock()
_devices: dict[str, tuple[Device, ...]] = {}
_by_handle: dict[object, Device] = {}
_failures: dict[str, CudaUnavailable] = {}
further: list[Device] = []  # those beside the first of the CPU: while there are none, nobody asks where data are
_default: Device | None = None
_forked = False
_client_lost = False


_asynchronous = False
_synchronous: Any = None  # the CPU client, if it is the synchronous one


def overlap_python() -> None:
    """Start the CPU client, if it is not running yet, as the asynchronous one: the next step is
    recorded while this one runs. FUNCTORCH_CPU_ASYNC decides where it is set.

    What NumPy computes before there is a client keeps freed memory, too: 365 KB that are mapped anew take 120 us.
    """
    global _asynchronous
    _asynchronous = True
    memory.keep_freed_memory(one_heap=_is_to_overlap())


def _is_to_overlap() -> bool:
    return os.environ.get("FUNCTORCH_CPU_ASYNC", "1" if _asynchronous else "0") == "1"


def _start_cpu() -> Any:
    global _synchronous
    overlaps = _is_to_overlap()
    memory.keep_freed_memory(one_heap=overlaps)
    threads.tell_xla()
    client = binding.make_cpu_client(asynchronous=overlaps, num_devices=cpu_devices_wanted())
    if not overlaps:
        _synchronous = client
    return client


def cpu_devices_wanted() -> int:
    """Into how many devices the CPU is divided; ValueError if the environment asks for no such number."""
    wanted = os.environ.get("FUNCTORCH_CPU_DEVICES") or "1"
    if not wanted.isdecimal() or not int(wanted):
        raise ValueError(f"FUNCTORCH_CPU_DEVICES: expected a number of devices, 1 or more, got {wanted!r}")
    return int(wanted)


def _start_cuda() -> Any:
    from . import cuda

    return cuda.make_client()


_STARTERS = {"cpu": _start_cpu, "cuda": _start_cuda}


def _start(platform: str) -> tuple[Device, ...]:
    if platform not in _STARTERS:
        raise ValueError(f"unknown platform {platform!r}; expected one of {', '.join(_STARTERS)}")
    if _client_lost:
        raise ExecutionError(AFTER_FORK)
    if platform in _failures:  # cuda.is_available() may be asked often
        raise _failures[platform]
    try:
        client = _STARTERS[platform]()
    except CudaUnavailable as error:
        _failures[platform] = error
        raise
    found = tuple(Device(platform, client, handle) for handle in client.local_devices())
    further.extend(found[1:] if platform == "cpu" else found)
    _by_handle.update((device._handle, device) for device in found)
    return found


def _platform_devices(platform: str) -> tuple[Device, ...]:
    """The platform's devices, starting its client if need be; raises if that fails."""
    with _lock:
        if platform not in _devices:
            _devices[platform] = _start(platform)
        return _devices[platform]


def devices(platform: str | None = None) -> tuple[Device, ...]:
    """The devices of a platform, 'cpu' or 'cuda' (None: the default device's platform).

    Starts the platform's client if it is not running. Empty for 'cuda' where there is none, and in a
    forked process, which cannot use one.
    """
    if platform is None:
        return _platform_devices(default_device().platform)
    if platform != "cuda":
        return _platform_devices(platform)
    if _client_lost and platform not in _devices:
        return ()
    try:
        return _platform_devices("cuda")
    except CudaUnavailable:
        return ()


def device(name: str, index: int | None = None) -> Device:
    """The device called 'cpu', 'cuda', 'cuda:1', or of that platform and index.

    Raises ValueError for a name or index that does not exist, CudaUnavailable without CUDA.
    """
    platform, _, number = name.partition(":")
    if number and not number.isdecimal():
        raise ValueError(f"device name {name!r} is not of the form 'cpu', 'cuda' or 'cuda:1'")
    index = int(number or 0) if index is None else index
    found = _platform_devices(platform)
    if not 0 <= index < len(found):
        raise ValueError(f"there is no device {platform}:{index}; there are {list(found)}")
    return found[index]


def default_device() -> Device:
    """The device used where none is named: the first CPU device unless set otherwise."""
    global _default
    if _default is None:
        _default = _platform_devices("cpu")[0]
    return _default


def set_default_device(device: Device) -> None:
    """Make a Device the one used where none is named."""
    global _default
    if not isinstance(device, Device):
        raise TypeError(f"set_default_device expects a Device, got {type(device).__name__}")
    if device is not _default:
        for tell in default_changes:
            tell()
    _default = device


default_changes: list[Callable[[], object]] = []  # what is called before another device is the default


def device_of_handle(handle: Any) -> Device:
    """The Device of a jaxlib device."""
    try:
        return _by_handle[handle]
    except KeyError:
        raise ValueError(f"device {handle} belongs to a client that this library did not start") from None


def adopt(platform: str, client: Any) -> tuple[Device, ...]:
    """The Devices of a client of several processes, by process."""
    here = {handle.id for handle in client.local_devices()}
    handles = sorted(client.devices(), key=lambda h: (h.process_index, h.id))
    found = tuple([Device(platform, client, h, h.id in here) for h in handles])
    _by_handle.update((device._handle, device) for device in found)
    return found


def hands_over(device: Device) -> bool:
    """Whether it is a CPU whose client gives programs to other threads."""
    return device.platform == "cpu" and device._client is not _synchronous


def keep_clients() -> None:
    """Let the clients outlive Python: freeing one waits for its threads, and for what they compute."""
    for device in itertools.chain.from_iterable(_devices.values()):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(device._client))


# ---- fork ----------------------------------------------------------------------------------------


def has_client() -> bool:
    """Whether a client was started in this process; False in a forked child until it does so."""
    return bool(_devices)


def in_forked_child() -> bool:
    """Whether this process was forked after the library was imported.

    If the parent had a client running, XLA raises here instead of hanging.
    """
    return _forked


_LOST_IN_CHILD = ("_client", "_targets")


def _after_fork_in_child() -> None:
    """Forget the parent's clients: their threads do not exist here, and waiting for one hangs."""
    global _lock, _default, _forked, _client_lost
    _lock = RLock()
    _forked = True
    for device in itertools.chain.from_iterable(_devices.values()):
        _client_lost = True
        # Freeing the client would wait for its threads, at exit at the latest.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(device._client))
        for name in _LOST_IN_CHILD:
            delattr(device, name)
    _devices.clear()
    _default = None


os.register_at_fork(after_in_child=_after_fork_in_child)
