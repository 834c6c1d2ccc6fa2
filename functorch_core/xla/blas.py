"""The threads of NumPy's BLAS: one for products that are soon done.

OpenBLAS hands products from some size on to all its threads, and those spin for 20 ms after each, waiting for
another. Where other processes want the cores, both wait for them: with two busy ones on 2 cores 16 x 256 by 256 x 256
took 4.4 ms of processor time and 17 ms, by one thread 0.03 and 0.12. A product of a few milliseconds is therefore
computed by one thread; larger ones take OMP_NUM_THREADS, or what torch.set_num_threads says, and the user's own
products are not touched.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

Function: TypeAlias = Callable[..., Any]


# Multiplications: OpenBLAS takes one thread below (for a vector, 2304 * 4; for matrices 65536 * 4) ...
VECTOR_THREADED, MATRIX_THREADED = 9_216, 262_144
LARGE = 1 << 28  # ... and from here on, 10 ms of one core, all threads are worth it


class _Blas:
    """What NumPy is linked with, if it is an OpenBLAS: limit(n) sets the number of its threads."""

    def __init__(self, limit: Any, threads: int) -> None:
        self.limit, self.threads = limit, threads


@functools.cache
def _blas() -> _Blas | None:
    np.matmul(np.ones((2, 2)), np.ones((2, 2)))  # it is loaded by now
    for path in _candidates():
        try:
            library = ctypes.PyDLL(path)  # these calls return at once: the lock need not be given up
        except OSError:
            continue
        for prefix, suffix in itertools.product(("scipy_openblas", "openblas"), ("64_", "_64", "")):
            limit = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
            get = getattr(library, f"{prefix}_get_num_threads{suffix}", None)
            if limit is not None and get is not None:
                limit.argtypes, limit.restype, get.restype = (ctypes.c_int,), None, ctypes.c_int
                return _Blas(limit, get())
    return None


def _candidates() -> list[str]:
    """The paths of OpenBLAS libraries: that which NumPy brings, and those this process has loaded."""
    bundled = sorted(map(str, (Path(np.__file__).parent.parent / "numpy.libs").glob("*openblas*")))
    try:
        maps = Path("/proc/self/maps").read_text()
    except OSError:
        return bundled
    loaded = {line.split(maxsplit=5)[5] for line in maps.splitlines() if "openblas" in line}
    return [path for path in bundled if path in loaded] or sorted(loaded)


def matmul_for(m: int, n: int, k: int) -> Function:
    """np.matmul for (stacks of) products of m x k and k x n matrices."""
    threaded = VECTOR_THREADED if min(m, n) == 1 else MATRIX_THREADED
    return _on_one_thread if threaded <= m * n * k < LARGE else np.matmul


def _on_one_thread(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    blas = _blas()
    if blas is None or blas.threads == 1:
        return np.matmul(x, y)
    blas.limit(1)
    try:
        return np.matmul(x, y)
    finally:
        blas.limit(blas.threads)


def set_threads(n: int) -> None:
    """Let NumPy's products take n threads."""
    blas = _blas()
    if blas is not None:
        blas.threads = n
        blas.limit(n)
