"""Objects from process to process: arrays and tensors through shared memory, the rest pickled.

A channel is one end of a `multiprocessing.Pipe`. The bytes of a large message lie in a file without
a name (memfd on Linux), whose descriptor goes through the pipe: it costs one copy, the receiver
maps it, and when a process dies, however it dies, nothing is left behind.
"""

from __future__ import annotations

import io
import os
import pickle
import socket
from collections.abc import Sequence
from multiprocessing.connection import Connection

import numpy as np

from ...torch.dispatch.parameter import Parameter
from ...torch.tensors import types as _types
from ...torch.tensors.base import Tensor, from_array
from ...torch.views.files import mapped, new_file

INLINE = 1 << 14  # bytes; sending a file costs 60 us, as much as to copy this through the pipe
ALIGN = 64  # XLA takes host arrays without a copy if they are aligned so
NON_LEAF = (
    "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd "
    "does not support crossing process boundaries.  If you just want to transfer the data, "
    "call detach() on the tensor before serializing (e.g., putting it on the queue)."
)

# ---- pickling ------------------------------------------------------------------------------------


class _Pickler(pickle.Pickler):
    """Pickles tensors as their bytes, out of band."""

    def reducer_override(self, obj):
        """How a tensor is rebuilt; everything else is pickled as usual."""
        if type(obj) not in (Tensor, Parameter) or obj._level is not None:
            return NotImplemented
        if not obj.is_leaf:
            raise RuntimeError(NON_LEAF)
        array = np.ascontiguousarray(obj._array())
        raw = pickle.PickleBuffer(array.reshape(-1).view(np.uint8))
        return _rebuilt, (raw, obj.dtype.name, tuple(obj.shape), obj.requires_grad, type(obj) is Parameter)


def _rebuilt(raw, dtype: str, shape: tuple, requires_grad: bool, is_parameter: bool) -> Tensor:
    array = np.frombuffer(raw, np.uint8).view(_types.by_name[dtype].numpy).reshape(shape)
    tensor = from_array(array)
    if is_parameter:
        return Parameter(tensor, requires_grad)
    return tensor.requires_grad_() if requires_grad else tensor


def dumps(obj, buffers: list | None = None) -> bytes:
    """The object pickled. Bytes of arrays go into `buffers`, if it is given."""
    file = io.BytesIO()
    callback = None if buffers is None else buffers.append
    _Pickler(file, pickle.HIGHEST_PROTOCOL, buffer_callback=callback).dump(obj)
    return file.getvalue()


# ---- channels ------------------------------------------------------------------------------------


class Channel:
    """One end of a pipe between two processes, for objects of any size."""

    def __init__(self, connection: Connection):
        self.connection = connection
        self.socket = socket.socket(fileno=os.dup(connection.fileno()))

    def fileno(self) -> int:
        """The descriptor to wait for."""
        return self.connection.fileno()

    def close(self):
        """Close this end; the other sees the end of the file."""
        self.connection.close()
        self.socket.close()

    def send(self, obj):
        """Send an object; OSError if the other end is closed."""
        self.send_parts(*pack(obj))

    def send_parts(self, payload: bytes, buffers: Sequence[memoryview]):
        """Send what `pack` made."""
        parts = [memoryview(payload), *buffers]
        sizes = [part.nbytes for part in parts]
        inline = sum(sizes) <= INLINE
        self.connection.send_bytes(pickle.dumps((sizes, inline)))
        if inline:
            self.connection.send_bytes(b"".join(parts))
            return
        file = _nameless_file(parts, sizes)
        try:
            socket.send_fds(self.socket, [b"f"], [file])
        finally:
            os.close(file)

    def receive(self):
        """The next object; EOFError if the other end is closed."""
        sizes, inline = pickle.loads(self.connection.recv_bytes())
        if inline:
            whole, offsets = bytearray(self.connection.recv_bytes()), _offsets(sizes, 1)
        else:
            offsets = _offsets(sizes, ALIGN)
            whole = _mapped(self._receive_file(), offsets[-1])
        view = memoryview(whole).cast("B")
        parts = [view[start : start + size] for start, size in zip(offsets, sizes)]
        return pickle.loads(parts[0], buffers=parts[1:])

    def _receive_file(self) -> int:
        _, files, _, _ = socket.recv_fds(self.socket, 1, 1)
        if not files:
            raise EOFError
        return files[0]


def pack(obj) -> tuple[bytes, list[memoryview]]:
    """An object as pickled bytes and the bytes of its arrays; what cannot be pickled raises."""
    buffers: list[pickle.PickleBuffer] = []
    return dumps(obj, buffers), [b.raw() for b in buffers]


def _offsets(sizes: Sequence[int], align: int) -> list[int]:
    """Where parts begin, and at last how long all are together."""
    offsets = [0]
    for size in sizes:
        offsets.append(offsets[-1] + -(-size // align) * align)
    return offsets


# ---- files without a name ------------------------------------------------------------------------


def _nameless_file(parts: Sequence[memoryview], sizes: Sequence[int]) -> int:
    offsets = _offsets(sizes, ALIGN)
    file = new_file("functorch-batch")
    try:
        os.ftruncate(file, offsets[-1])
        for part, offset in zip(parts, offsets):
            _write(file, part, offset)
    except BaseException:
        os.close(file)
        raise
    return file


def _write(file: int, part: memoryview, offset: int) -> None:
    while part.nbytes:  # a write of more than 2 GiB is cut
        n = os.pwrite(file, part, offset)
        part, offset = part[n:], offset + n


def _mapped(file: int, size: int):
    """The file's bytes as memory; closes the file."""
    try:
        return mapped(file, size)
    finally:
        os.close(file)


__all__ = ["Channel", "dumps", "pack"]
