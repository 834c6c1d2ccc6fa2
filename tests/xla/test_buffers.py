"""Transfers: every dtype, odd shapes, safety against mutation, DLPack."""

import gc
import time

import ml_dtypes
import numpy as np
import pytest

from functorch_core import xla
from functorch_core.xla.dtypes import _ELEMENT_TYPES

from .programs import compile_double, run_python

DTYPES = [np.dtype(name) for name in _ELEMENT_TYPES]


def bits(array):
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def some_values(dtype, count, seed=0):
    """Values of a dtype with every bit pattern as likely as the other; NaNs included."""
    rng = np.random.default_rng(seed)
    if dtype == np.bool_:
        return rng.integers(0, 2, count).astype(bool)
    if dtype.name == "float4_e2m1fn":
        return rng.integers(0, 16, count, dtype=np.uint8).view(dtype)
    if dtype.name in ("int4", "int2", "uint4", "uint2"):
        low, high = (-2, 2) if dtype.name.startswith("int") else (0, 4)
        return rng.integers(low, high, count).astype(dtype)
    return rng.integers(0, 256, count * dtype.itemsize, dtype=np.uint8).view(dtype)


def aligned(count, dtype="float32", offset=0):
    """A float array that starts `offset` bytes after a multiple of 64."""
    dtype = np.dtype(dtype)
    raw = np.zeros(count * dtype.itemsize + 128, np.uint8)
    start = -raw.ctypes.data % 64 + offset
    return raw[start : start + count * dtype.itemsize].view(dtype)


# ---- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("owned", [False, True])
def test_roundtrip_keeps_bits_and_dtype(dtype, owned):
    for count in (0, 1, 7, 300):
        x = some_values(dtype, count)
        y = xla.to_numpy(xla.put(x.copy(), owned=owned))
        assert y.dtype == dtype and y.shape == x.shape
        assert np.array_equal(bits(x), bits(y))
        assert not y.flags.writeable


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (1, 1, 1), (2, 3, 4)])
def test_shapes(shape):
    x = np.arange(np.prod(shape, dtype=int), dtype="int16").reshape(shape)
    y = xla.to_numpy(xla.put(x))
    assert y.shape == shape
    assert np.array_equal(x, y)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x[::-1],
        lambda x: x[:, ::-2],
        lambda x: x.T,
        lambda x: x[1:, 1:],
        lambda x: np.broadcast_to(x[0], (5, 6)),
        lambda x: np.asfortranarray(x),
        lambda x: x.astype(">f8"),
        lambda x: x[:0],
    ],
)
@pytest.mark.parametrize("owned", [False, True])
def test_strides_and_byte_order(change, owned):
    x = change(np.arange(24.0).reshape(4, 6))
    y = xla.to_numpy(xla.put(x, owned=owned))
    assert y.dtype == np.float64
    assert np.array_equal(x, y)


@pytest.mark.parametrize(
    "scalar, dtype",
    [
        (True, "bool"),
        (3, "int64"),
        (2.5, "float64"),
        (1j, "complex128"),
        (np.float32(2), "float32"),
        (np.uint8(255), "uint8"),
        (ml_dtypes.bfloat16(1.5), "bfloat16"),
    ],
)
def test_scalars(scalar, dtype):
    y = xla.to_numpy(xla.put(scalar))
    assert y.dtype == np.dtype(dtype) and y.shape == ()
    assert y[()] == scalar


@pytest.mark.parametrize("bad", ["text", [1, "a"], np.array([None]), np.array(["2020"], "M8[D]")])
def test_dtypes_xla_does_not_have_are_refused(bad):
    with pytest.raises(TypeError, match="no XLA type"):
        xla.put(bad)


# ---- mutation ------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0, 4, 16, 32])
@pytest.mark.parametrize("count", [16, 4_000_000])
def test_put_is_safe_against_later_writes(offset, count):
    x = aligned(count, offset=offset)
    x[:] = 1
    buffer = xla.put(x)
    x[:] = 2
    assert (xla.to_numpy(buffer) == 1).all()


def test_owned_aligned_array_is_not_copied():
    x = aligned(1024)
    assert xla.to_numpy(xla.put(x, owned=True)).ctypes.data == x.ctypes.data
    assert xla.to_numpy(xla.put(x)).ctypes.data != x.ctypes.data


def test_owned_memory_outlives_its_array():
    buffer = xla.put(np.full(1_000_000, 7.0), owned=True)
    gc.collect()
    np.full(1_000_000, 8.0)
    assert (xla.to_numpy(buffer) == 7).all()


def test_view_outlives_its_buffer():
    view = xla.to_numpy(xla.put(np.arange(1_000_000)))
    gc.collect()
    np.zeros(1_000_000, int)
    assert np.array_equal(view, np.arange(1_000_000))


# ---- deletion ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("use", [xla.to_numpy, xla.block, xla.to_dlpack])
def test_a_deleted_buffer_raises(dtype, use):
    buffer = xla.put(np.ones(3, dtype))
    assert not xla.is_deleted(buffer)
    xla.delete(buffer)
    assert xla.is_deleted(buffer)
    with pytest.raises(xla.ExecutionError, match=rf"buffer {dtype}\[3\] was deleted"):
        use(buffer)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e5m2", "float8_e4m3fn"])
def test_what_was_read_outlives_the_buffer(dtype):
    buffer = xla.put(np.arange(100).astype(dtype))
    part = xla.to_numpy(buffer)[3:90].reshape(29, 3)
    xla.to_numpy(buffer)  # nobody keeps it
    xla.delete(buffer)
    del buffer
    for _ in range(20):
        xla.put(np.zeros(100, dtype))
    assert np.array_equal(bits(part), bits(np.arange(3, 90).astype(dtype).reshape(29, 3)))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e5m2"])
def test_a_buffer_that_was_read_is_deleted_once_nobody_looks(dtype):
    buffer = xla.put(np.ones(3, dtype))
    assert xla.to_numpy(buffer).tolist() == [1, 1, 1]
    xla.delete(buffer)
    assert xla.is_deleted(buffer)


# ---- devices -------------------------------------------------------------------------------------


def test_device_of_and_copy_to_the_same_device():
    buffer = xla.put(1.0)
    assert isinstance(buffer, xla.Buffer)
    assert xla.device_of(buffer) is xla.default_device()
    assert xla.copy_to(buffer, xla.default_device()) is buffer
    assert xla.block(buffer) is buffer


def test_several_devices():
    out = run_python(
        """
import numpy as np
from functorch_core import xla
from programs import compile_double
first, second = xla.devices("cpu")
x = xla.put(np.arange(4, dtype="f"))
y = xla.copy_to(x, second)
print(xla.device_of(x), xla.device_of(y), xla.to_numpy(y).tolist())
xla.delete(x)
print(xla.to_numpy(y).tolist(), xla.device("cpu:1") is second, xla.device("cpu", 1) is second)
for attempt in range(2):  # the second time from the disk cache
    program = compile_double(device=second)
    z = program([y])[0]
    print(program.from_disk_cache, xla.device_of(z), xla.to_numpy(z).tolist())
try:
    compile_double(device=first)([y])
except xla.ExecutionError as error:
    print(error)
xla.set_default_device(second)
print(xla.device_of(xla.put(1)), compile_double().device)
""",
        FUNCTORCH_CPU_DEVICES="2",
    )
    assert out.splitlines() == [
        "cpu:0 cpu:1 [0.0, 1.0, 2.0, 3.0]",
        "[0.0, 1.0, 2.0, 3.0] True True",
        "False cpu:1 [0.0, 2.0, 4.0, 6.0]",
        "True cpu:1 [0.0, 2.0, 4.0, 6.0]",
        "<program '' (float32[4]) -> (float32[4]) on cpu:0>, argument 0: "
        "expected it on cpu:0, it is on cpu:1; use copy_to()",
        "cpu:1 cpu:1",
    ]


# ---- DLPack --------------------------------------------------------------------------------------


class Exporter:
    """What a tensor class built on a buffer offers."""

    def __init__(self, buffer):
        self.buffer = buffer

    def __dlpack__(self, **_):
        return xla.to_dlpack(self.buffer)

    def __dlpack_device__(self):
        return xla.dlpack_device(self.buffer)


@pytest.mark.parametrize("dtype", ["bool", "int32", "float16", "float64", "complex64"])
def test_dlpack_export_shares_memory(dtype):
    buffer = xla.put(some_values(np.dtype(dtype), 6).reshape(2, 3))
    there = np.from_dlpack(Exporter(buffer))
    assert there.ctypes.data == xla.to_numpy(buffer).ctypes.data
    assert np.array_equal(bits(there), bits(xla.to_numpy(buffer)))


def test_deleting_a_shared_buffer_leaves_the_consumer_its_memory():
    buffer = xla.put(np.ones(4))
    there = np.from_dlpack(Exporter(buffer))
    xla.delete(buffer)  # XLA's own delete would end the process
    del buffer
    gc.collect()
    assert (there == 1).all()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float32", "bfloat16", "complex128"])
def test_dlpack_roundtrip(dtype):
    x = some_values(np.dtype(dtype), 6).reshape(2, 3)
    y = xla.from_dlpack(Exporter(xla.put(x)))
    assert y.aval.shape == (2, 3) and y.aval.dtype == x.dtype
    assert xla.device_of(y) is xla.default_device()
    assert np.array_equal(bits(xla.to_numpy(y)), bits(x))


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x,
        lambda x: x[1:],
        lambda x: x[::2],
        lambda x: x[::-1],
        lambda x: x[:0],
        lambda x: x.reshape(2, 8).T,
        lambda x: np.broadcast_to(x[0], (3, 4)),  # read-only
        lambda x: x[3:4].reshape(()),
    ],
)
def test_dlpack_import(change):
    x = change(aligned(16) + np.arange(16, dtype="f"))
    y = xla.from_dlpack(x)
    assert np.array_equal(xla.to_numpy(y), x)
    assert np.array_equal(xla.to_numpy(compile_double(x.shape)([y])[0]), x + x)


def test_dlpack_import_of_aligned_transposed_memory():
    """XLA would alias it as it lies, and a program read it in the wrong order."""
    x = aligned(16)
    x[:] = np.arange(16)
    for y in (x.reshape(2, 8).T, x.reshape(2, 2, 4).transpose(1, 0, 2), x.reshape(1, 16).T):
        doubled = compile_double(y.shape)([xla.from_dlpack(y)])[0]
        assert np.array_equal(xla.to_numpy(doubled), y + y)


def test_dlpack_import_shares_aligned_memory_unless_told_to_copy():
    x = aligned(16)
    assert xla.to_numpy(xla.from_dlpack(x)).ctypes.data == x.ctypes.data
    copied = xla.from_dlpack(x, copy=True)
    x[:] = 5
    assert (xla.to_numpy(copied) == 0).all()


def test_dlpack_import_of_an_extended_dtype_copies_when_told():
    source = xla.put(np.ones(4, "bfloat16"))
    copied = xla.to_numpy(xla.from_dlpack(Exporter(source), copy=True))
    assert copied.ctypes.data != xla.to_numpy(source).ctypes.data
    assert (copied == 1).all()


def test_dlpack_import_from_torch():
    torch = pytest.importorskip("torch")
    for x in (torch.arange(6.0).reshape(2, 3), torch.arange(6).reshape(2, 3).T):
        assert np.array_equal(xla.to_numpy(xla.from_dlpack(x)), x.numpy())
    half = torch.arange(6.0, dtype=torch.bfloat16)
    assert xla.to_numpy(xla.from_dlpack(half)).astype("f").tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(ValueError, match="contiguous"):
        xla.from_dlpack(half[::2])


def test_waiting_awake_ends_where_the_values_take_long():
    class Never:
        asked = 0

        def is_ready(self):
            self.asked += 1
            return False

    buffer = Never()
    start = time.perf_counter()
    xla.await_awake(buffer)
    assert buffer.asked > 1 and time.perf_counter() - start >= 1e-4
    ready = xla.put(np.ones(3))
    xla.await_awake(xla.block(ready))
    np.testing.assert_array_equal(xla.to_numpy(ready), np.ones(3))
