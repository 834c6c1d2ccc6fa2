"""Buffers: arrays on a device. Made by `put`, read by `to_numpy`, shared through DLPack."""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NoReturn

import numpy as np

from . import binding
from . import device as _device
from .binding import (
    ALIAS_OR_COPY_LATER,
    COPY_NOW,
    Aval,
    Buffer,
    aval_of,
    batched_block_until_ready,
    batched_device_put,
    copy_between_devices,
    export_dlpack,
    import_dlpack,
    is_row_major,
)
from .device import Device, default_device, device_of_handle
from .dtypes import UNNAMED
from .errors import ExecutionError, fail
from .mesh import sharding_of, shards_of

ELSEWHERE = """an array of shape {shape} lies on devices of several processes, {sharding}: only parts of it are here.
    Read the parts, x.addressable_shards, or lay it whole on all, fc.device_put(x, NamedSharding(mesh, P())), first.
    A distributed tensor is made whole by x.full_tensor()."""

_OBJECT = np.dtype(object)
_PACKED = np.dtype(np.uint32)  # what complex32 is stored as, among others


def put(x: Any, device: Device | None = None, *, owned: bool = False) -> Buffer:
    """Put a NumPy array or a scalar on a device, its dtype kept exactly.

    The array may be changed afterwards. `owned=True` promises that it never will be: its memory is
    then used as it is where the device can (CPU, contiguous, aligned to 64 bytes).
    Raises TypeError for a dtype XLA does not have.
    """
    if device is None:
        device = _device._default or default_device()
    array = x if type(x) is np.ndarray else np.asarray(x)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    aval = aval_of(array.shape, array.dtype)
    if aval.dtype is not aval.element:
        array = array.view(aval.dtype)
    return batched_device_put(
        aval,
        device._sharding,
        [array],
        device._targets,
        True,  # committed
        False,  # force_copy
        ALIAS_OR_COPY_LATER if owned else COPY_NOW,
        True,  # enable_x64
    )


def putter(shape: tuple[int, ...], dtype: np.dtype, device: Device) -> Callable[[Any], Buffer]:
    """`put` for arrays that are known to have this shape and this dtype of NumPy's: 0.4 us less of Python."""
    aval, sharding, targets, transfer = aval_of(shape, dtype), device._sharding, device._targets, batched_device_put
    if aval.dtype is not aval.element:
        return functools.partial(put, device=device)
    return lambda array: transfer(aval, sharding, [array], targets, True, False, COPY_NOW, True)


def shared(shape: tuple[int, ...], dtype: np.dtype, device: Device) -> tuple[np.ndarray, Buffer] | None:
    """An array and a buffer that are the same memory, or None where the device has to copy.

    Who writes to the array sees to it that no program reads the buffer meanwhile.
    """
    aval = aval_of(shape, dtype)
    if device.platform != "cpu" or aval.dtype is not aval.element or not aval.size:
        return None
    array = binding.aligned(aval.size, aval.dtype).reshape(shape)
    buffer = put(array, device, owned=True)
    return (array, buffer) if buffer.unsafe_buffer_pointer() == array.ctypes.data else None


def to_numpy(buffer: Buffer) -> np.ndarray:
    """The buffer's values as a read-only array, without a copy on CPU. Waits for them.

    Raises ExecutionError if the buffer was deleted or donated, or if computing it failed.
    """
    block(buffer)  # 0.3 us; if computing it failed, the buffer protocol would end the process
    # By the buffer protocol: 0.6 us, where the method below tries `import jax` first, 55 us. For
    # dtypes NumPy lacks NumPy gives a 0-d object array instead; those of whole bytes come by DLPack.
    array = np.asarray(buffer)
    dtype = array.dtype
    if dtype is not _OBJECT and not array.flags.writeable:
        return array.view(buffer.aval.element) if dtype is _PACKED else array
    if hasattr(buffer._sharding, "named"):
        return gathered(buffer)
    try:
        aval = buffer.aval  # one that DLPack has brought in has none yet
        if aval is not None and aval.element in UNNAMED and buffer.platform() == "cpu":
            return _bits_of(buffer).view(aval.element)
        array = buffer._single_device_array_to_np_array_did_copy()[0]
        return array if aval is None or array.dtype == aval.element else array.view(aval.element)
    except RuntimeError as error:
        _access_failed(buffer, error)


def _bits_of(buffer: Buffer) -> np.ndarray:
    """The elements as integers, in one array for all who look at the same time: while it lives, `delete` does not."""
    seen = _seen(buffer)
    if seen is None:
        seen = binding.bits_as_numpy(buffer)
        buffer._seen = weakref.ref(seen)  # views of views are views of it
    return seen


def _seen(buffer: Buffer) -> np.ndarray | None:
    return buffer._seen() if hasattr(buffer, "_seen") else None


def gathered(buffer: Buffer) -> np.ndarray:
    """The whole of a buffer on several devices, as a NumPy array."""
    sharding, shape = sharding_of(buffer), buffer.aval.shape
    assert sharding is not None
    parts = shards_of(buffer)
    if sharding.is_fully_replicated:
        return to_numpy(parts[0])  # whole on each: nothing is padded
    if not sharding.is_fully_addressable:
        raise ExecutionError(ELSEWHERE.format(shape=tuple(shape), sharding=sharding))
    out = np.empty(shape, buffer.aval.element)
    seen = set()
    for index, part in zip(sharding.indices(shape), parts):
        key = tuple([(s.start, s.stop) for s in index])
        if key not in seen:
            seen.add(key)
            out[index] = _without_padding(to_numpy(part), index)
    return out


def parts_here(buffer: Buffer) -> list[np.ndarray]:
    """What each device of this process has of a buffer on several devices, in the order of the mesh."""
    sharding = sharding_of(buffer)
    assert sharding is not None
    indices = list(sharding.indices(buffer.aval.shape))
    return [_without_padding(to_numpy(s), indices[i]) for i, s in zip(sharding.mesh.here, shards_of(buffer))]


def _without_padding(stored: np.ndarray, index: tuple[slice, ...]) -> np.ndarray:
    return stored[tuple([slice(None) if s.start is None else slice(s.stop - s.start) for s in index])]


def block(buffer: Buffer) -> Buffer:
    """Wait until the buffer's values are there; returns it. Raises what computing it raised."""
    try:
        return buffer.block_until_ready()
    except RuntimeError as error:
        _access_failed(buffer, error)


def block_all(buffers: Sequence[Buffer]) -> None:
    """Wait until the values of all buffers are there. Raises what computing one of them raised."""
    try:
        batched_block_until_ready(buffers)
    except RuntimeError:
        for buffer in buffers:  # says which
            block(buffer)
        raise


def await_awake(buffer: Buffer) -> None:
    """Look for the buffer's values again and again, for 0.1 ms at most: waking a thread that sleeps until they
    are there takes 35 to 60 us. Threads that have work go first: where other processes keep the cores busy, the median
    of 256 x 1,024 rectified and read was 200 us when this one kept its core, and is 100."""
    ready, let_others = buffer.is_ready, os.sched_yield
    end = perf_counter() + 1e-4
    while not ready() and perf_counter() < end:
        let_others()


def _access_failed(buffer: Buffer, error: RuntimeError) -> NoReturn:
    if buffer.is_deleted():
        raise ExecutionError(deleted_message(buffer)) from None
    fail(error, buffer.platform())


def deleted_message(buffer: Buffer) -> str:
    """What to tell who uses a deleted buffer."""
    return (
        f"buffer {buffer.aval} was deleted: it was donated to a program or delete() was called on "
        "it; keep a copy, or do not donate what is read afterwards"
    )


def is_deleted(buffer: Buffer) -> bool:
    """Whether the buffer's memory is gone, by `delete` or because it was donated."""
    return buffer.is_deleted()


def delete(buffer: Buffer) -> None:
    """Give the buffer's memory back now; one that was shared through DLPack lives on instead."""
    # XLA ends the process if a buffer is deleted while a DLPack consumer holds it.
    if not hasattr(buffer, "_shared_by_dlpack") and _seen(buffer) is None:
        buffer.delete()


def device_of(buffer: Buffer) -> Device:
    """The Device a buffer is on."""
    return device_of_handle(buffer._sharding._device)


def copy_to(buffer: Buffer, device: Device) -> Buffer:
    """The buffer on another device; the buffer itself if it is there already."""
    source = device_of(buffer)
    if source is device:
        return buffer
    if source._client is device._client:
        return copy_between_devices(buffer, device._list, device._sharding)
    return put(to_numpy(buffer), device, owned=True)


# ---- DLPack --------------------------------------------------------------------------------------

_DLPACK_CPU, _DLPACK_CUDA, _DLPACK_CUDA_HOST = 1, 2, 3
_DLPACK_KINDS = {"cpu": _DLPACK_CPU, "cuda": _DLPACK_CUDA}


def dlpack_device(buffer: Buffer) -> tuple[int, int]:
    """DLPack's (device type, device id) of a buffer, as `__dlpack_device__` returns it."""
    device = device_of(buffer)
    return _DLPACK_KINDS[device.platform], device.id if device.platform == "cuda" else 0


def to_dlpack(buffer: Buffer) -> Any:
    """A DLPack capsule that shares the buffer's memory; the consumer must not write to it."""
    if buffer.aval.element is not buffer.aval.dtype:
        raise BufferError(f"XLA has no {buffer.aval.element} that DLPack could share; convert it")
    try:
        capsule = export_dlpack(buffer)
    except RuntimeError as error:
        _access_failed(buffer, error)
    buffer._shared_by_dlpack = True
    return capsule


def from_dlpack(obj: Any, *, copy: bool | None = None) -> Buffer:
    """A buffer from an object with `__dlpack__` and `__dlpack_device__`.

    Shares the object's memory where XLA can (contiguous, aligned to 64 bytes, writable) and copies
    otherwise. Who shares must not write to the object afterwards; `copy=True` always copies.
    """
    if not hasattr(obj, "__dlpack__"):
        raise TypeError(f"from_dlpack expects an object with __dlpack__, got {type(obj).__name__}")
    kind, index = (int(part) for part in obj.__dlpack_device__())
    if kind in (_DLPACK_CPU, _DLPACK_CUDA_HOST):
        return _from_host_dlpack(obj, copy)
    if kind == _DLPACK_CUDA:
        device = _device.device("cuda", index)
        aval = aval_of(tuple(obj.shape), np.dtype(str(obj.dtype).removeprefix("torch.")))
        stream = device._handle.get_stream_for_external_ready_events()  # on which XLA waits for what makes the data
        buffer = import_dlpack(obj.__dlpack__(stream=stream), device._handle, stream)
        if not is_row_major(buffer):
            raise ValueError(
                f"from_dlpack: this {type(obj).__name__} on {device} is transposed; make it contiguous first"
            )
        return _adopt(buffer, aval, device)
    raise ValueError(f"from_dlpack: DLPack device type {kind} is neither CPU (1) nor CUDA (2)")


def _from_host_dlpack(obj: Any, copy: bool | None) -> Buffer:
    """Share if allowed and possible, else copy through NumPy, which knows strides."""
    shared = None if copy else _share_host_dlpack(obj)
    if shared is not None:
        return shared
    try:
        array = obj if isinstance(obj, np.ndarray) else np.from_dlpack(obj)
    except (BufferError, RuntimeError, TypeError) as error:
        copied = _share_host_dlpack(obj)
        if copied is None:
            raise ValueError(
                f"from_dlpack: cannot read this {type(obj).__name__} ({error}); make it contiguous "
                "or convert it to a NumPy array first"
            ) from None
        return put(to_numpy(copied))
    return put(array)


def _share_host_dlpack(obj: Any) -> Buffer | None:
    """XLA's own import; None where it refuses: strided, read-only, or a dtype it does not have.

    It takes a transposed array as it lies; programs would read it in the wrong order.
    """
    host = default_device() if default_device().platform == "cpu" else _device.device("cpu")
    try:
        buffer = import_dlpack(obj.__dlpack__(), host._handle)
    except (BufferError, RuntimeError, TypeError):
        return None
    if not is_row_major(buffer):
        return None
    view = to_numpy(buffer)  # the only one to tell shape and dtype
    return _adopt(buffer, aval_of(view.shape, view.dtype), host)


def _adopt(buffer: Buffer, aval: Aval, device: Device) -> Buffer:
    """The same buffer, with the aval and sharding that a DLPack import lacks."""
    return buffer._rewrap_with_aval_and_sharding(aval, device._sharding)


def live_buffers(platform: str | None = None) -> list[Buffer]:
    """All buffers in the memory of a platform's devices; of one on several not its parts, which have no aval."""
    found = _device.devices(platform)[0]._client.live_arrays()
    return [b for b in found if type(b) is Buffer and b.aval is not None and not b.is_deleted()]
