"""Collectives through shared memory, of threads that stand for processes, against NumPy."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from functorch_core.xla import ExecutionError, shared_memory
from functorch_core.xla.shared_memory import Segment, SharedMemory, Watched

pytestmark = pytest.mark.skipif(not shared_memory.machine(), reason="Linux on x86-64 has it")


def together(n: int, calls, timeout: float = 30) -> list:
    """What calls(memory, place) gives, or raises, in each of n threads."""
    segment, descriptor = Segment.create(n)
    os.close(descriptor)
    watched = [Watched(os.getpid())] * n
    found: list = [None] * n

    def run(place: int) -> None:
        try:
            found[place] = calls(SharedMemory(segment, range(n), place, timeout, watched), place)
        except Exception as error:
            found[place] = error

    threads = [threading.Thread(target=run, args=(place,)) for place in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def data(place: int, size: int, dtype) -> np.ndarray:
    return np.random.default_rng(place).integers(0, 5, size).astype(dtype)


KINDS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int64, np.uint8, np.complex64])
@pytest.mark.parametrize("size", [1, 5, 64, 1000])
def test_collectives(n, dtype, size, monkeypatch):
    monkeypatch.setattr(shared_memory, "BUFFER", 1 << 10)  # many pieces
    monkeypatch.setattr(shared_memory, "DIRECT", 1 << 9)
    members = [data(place, size, dtype) for place in range(n)]
    parts = [data(10 + place, n * size, dtype).reshape(n, size) for place in range(n)]
    kinds = ["sum", "prod"] if dtype == np.complex64 else list(KINDS)

    def calls(memory, place):
        x, rows = members[place], parts[place].reshape(-1)
        found = {kind: memory.run("all_reduce", x, x.shape, kind=kind) for kind in kinds}
        found["gathered"] = memory.run("all_gather", x, (n * size,))
        found["sent"] = memory.run("broadcast", x, x.shape, root=n - 1)
        memory.run("barrier", np.empty(0, np.uint8), (0,))
        found["scattered"] = memory.run("reduce_scatter", rows, (size,), kind="sum")
        found["exchanged"] = memory.run("all_to_all", rows, (n * size,))
        return found

    for place, found in enumerate(together(n, calls)):
        assert not isinstance(found, Exception), found
        for kind in kinds:
            np.testing.assert_array_equal(found[kind], KINDS[kind].reduce(members, dtype=dtype))
        np.testing.assert_array_equal(found["gathered"], np.concatenate(members))
        np.testing.assert_array_equal(found["sent"], members[-1])
        np.testing.assert_array_equal(found["scattered"], sum(rows[place] for rows in parts))
        np.testing.assert_array_equal(found["exchanged"], np.concatenate([rows[place] for rows in parts]))


def test_all_get_the_same_bits():
    numbers = [np.random.default_rng(k).standard_normal(100_003).astype(np.float32) for k in range(4)]
    found = together(4, lambda memory, place: memory.run("all_reduce", numbers[place], (100_003,), kind="sum"))
    assert all(np.array_equal(found[0], x) for x in found)
    np.testing.assert_allclose(found[0], np.sum(numbers, axis=0, dtype=np.float64), atol=1e-5)


def test_nan_and_infinity_go_through():
    given = [np.float32([np.nan, 1, np.inf, -0.0]), np.float32([0, np.nan, -np.inf, -0.0])]
    most, total = (
        together(2, lambda memory, place, kind=kind: memory.run("all_reduce", given[place], (4,), kind=kind))[0]
        for kind in ("max", "sum")
    )
    np.testing.assert_array_equal(most, [np.nan, np.nan, np.inf, -0.0])
    np.testing.assert_array_equal(total, [np.nan, np.nan, np.nan, -0.0])


def test_who_does_not_come_is_named():
    def calls(memory, place):
        if place != 1:
            start = time.monotonic()
            with pytest.raises(ExecutionError, match="rank 1 did not come within 0.5 s|rank . does not come"):
                memory.run("all_reduce", np.ones(3), (3,), kind="sum")
            assert time.monotonic() - start < 20
            with pytest.raises(ExecutionError, match="not to be used any more"):
                memory.run("all_reduce", np.ones(3), (3,), kind="sum")

    assert together(3, calls, timeout=0.5) == [None] * 3


def test_what_does_not_fit_together_is_an_error_in_all_and_nothing_is_done():
    def calls(memory, place):
        with pytest.raises(
            ExecutionError, match=r"Rank 0 is running all_reduce\(3 x float64, sum\), Rank 1 is running"
        ):
            memory.run("all_reduce", np.ones(3 + place), (3 + place,), kind="sum")
        return memory.run("all_reduce", np.ones(3), (3,), kind="sum")

    for found in together(2, calls):
        np.testing.assert_array_equal(found, [2, 2, 2])


def test_a_process_that_has_ended_is_known():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    watched = Watched(process.pid)
    assert not watched.has_ended()
    process.communicate(b"\n")
    assert watched.has_ended() and Watched(process.pid).has_ended()
