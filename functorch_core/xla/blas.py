"""The threads of NumPy's BLAS and of SciPy's LAPACK: one for what is soon done.

OpenBLAS hands products from some size on to all its threads, and those spin for 20 ms after each, waiting for
another. Where other processes want the cores, both wait for them: with two busy ones on 2 cores 16 x 256 by 256 x 256
took 4.4 ms of processor time and 17 ms, by one thread 0.03 and 0.12. A product of a few milliseconds is therefore
computed by one thread; larger ones take OMP_NUM_THREADS, or what torch.set_num_threads says, and the user's own
products are not touched.

So it is with factorisations: the singular values of 64 x 64 took 196 ms beside five busy processes, 0.3 by one thread.
Those of XLA's programs run at any time; so SciPy's LAPACK keeps one thread from the first such program on, until one
comes with large matrices. The user's own calls of SciPy then have one, too.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from . import threads
from .onednn_matmul import multiplied

Function: TypeAlias = Callable[..., Any]

# Multiplications: OpenBLAS takes one thread below (for a vector, 2304 * 4; for matrices 65536 * 4) ...
VECTOR_THREADED, MATRIX_THREADED = 9_216, 262_144
REPEATED = 1_024  # of fewer it does not matter that the vector may not be one for BLAS
BY_LIBRARY = 1 << 22  # what takes OpenBLAS's one thread 65 us is oneDNN's, whose threads are soon asleep again
LARGE = 1 << 28  # ... and from here on, 10 ms of one core, all threads are worth it
# The smaller size of a matrix from which on two threads bring more than a few percent (0.67 to 1.07 of the time).
LARGE_MATRIX = 512


class _Blas:
    """An OpenBLAS: limit(n) sets the number of its threads. `threads`: the most; `at_rest`: between our calls."""

    def __init__(self, limit: Any, threads: int) -> None:
        self.limit, self.threads, self.at_rest = limit, threads, threads
        self.small = self.large = False  # programs came that call it for matrices of such sizes
        self.shared: list[None] = []  # one for each computation that has threads of its own

    def on(self, n: int, function: Function, /, *args: Any, **params: Any) -> Any:
        """function(...) while there are n threads."""
        if n == self.at_rest:
            return function(*args, **params)
        self.limit(n)
        try:
            return function(*args, **params)
        finally:
            self.limit(self.at_rest)

    def settle(self) -> None:
        """Have as many threads as are right between our calls."""
        self.at_rest = 1 if self.shared or self.small and not self.large else self.threads
        self.limit(self.at_rest)


@functools.cache
def _blas() -> _Blas | None:
    """What NumPy is linked with, if it is an OpenBLAS."""
    np.matmul(np.ones((2, 2)), np.ones((2, 2)))  # it is loaded by now
    return _opened(Path(np.__file__), "numpy")


@functools.cache
def _lapack() -> _Blas | None:
    """What SciPy's LAPACK, which XLA's programs call, too, is linked with, if it is an OpenBLAS."""
    import scipy.linalg

    found = _opened(Path(scipy.linalg.__file__).parent, "scipy")
    if found is not None and "threads" in _asked:
        found.threads = _asked["threads"]
        found.settle()
    return found


_asked: dict[str, int] = {}  # what set_threads was told before SciPy's was there


def _opened(inside: Path, package: str) -> _Blas | None:
    for path in _candidates(inside, package):
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


def _candidates(inside: Path, package: str) -> list[str]:
    """The paths of OpenBLAS libraries: that which the package brings, and those this process has loaded."""
    bundled = sorted(map(str, (inside.parent.parent / f"{package}.libs").glob("*openblas*")))
    try:
        maps = Path("/proc/self/maps").read_text()
    except OSError:
        return bundled
    loaded = {line.split(maxsplit=5)[5] for line in maps.splitlines() if "openblas" in line}
    return [path for path in bundled if path in loaded] or sorted(loaded)


def matmul_for(m: int, n: int, k: int) -> Function:
    """np.matmul for (stacks of) products of m x k and k x n matrices."""
    threaded = VECTOR_THREADED if min(m, n) == 1 else MATRIX_THREADED
    if m * n * k >= BY_LIBRARY and min(m, n) > 1:
        return _on_all_cores
    matmul = _on_one_thread if threaded <= m * n * k < LARGE else np.matmul
    if min(m, n) == 1 and m * n * k >= REPEATED:
        return functools.partial(_by_row if m == 1 else _by_column, matmul)
    return matmul


def _by_row(matmul: Function, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of a vector that repeats one number, as a sum's cotangent does, NumPy does not call BLAS: by 512 x 512 312 us, 13
    with a copy of it."""
    return matmul(np.ascontiguousarray(x), y)


def _by_column(matmul: Function, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return matmul(x, np.ascontiguousarray(y))


def _on_all_cores(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    found = multiplied(x, y) if has_several_threads() else None
    if found is not None:
        return found
    large = x.shape[-2] * x.shape[-1] * y.shape[-1] >= LARGE
    return np.matmul(x, y) if large else _on_one_thread(x, y)


def has_several_threads() -> bool:
    """Whether the user wants computations to take more than one thread."""
    return _asked.get("threads") != 1


def _on_one_thread(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    blas = _blas()
    return np.matmul(x, y) if blas is None else blas.on(1, np.matmul, x, y)


def factorisation(shape: Sequence[int], function: Function, /, *args: Any, **params: Any) -> Any:
    """function(...), which calls SciPy's LAPACK for matrices of a shape (..., m, n)."""
    lapack = _lapack()
    if lapack is None:
        return function(*args, **params)
    return lapack.on(lapack.threads if min(shape[-2:]) >= LARGE_MATRIX else 1, function, *args, **params)


def before_a_program(shapes: Iterable[Sequence[int]]) -> None:
    """A program comes that calls LAPACK for matrices of these shapes (..., m, n), whenever it runs."""
    lapack = _lapack()
    if lapack is not None:
        large = any(min(shape[-2:]) >= LARGE_MATRIX for shape in shapes)
        lapack.small, lapack.large = lapack.small or not large, lapack.large or large
        lapack.settle()


def threads_wanted() -> int:
    """How many threads the user wants computations to take: what was asked for, OMP_NUM_THREADS, or all cores."""
    return _asked.get("threads") or threads.threads_wanted() or threads.cores()


@contextlib.contextmanager
def one_thread_each() -> Iterator[None]:
    """Context: several threads compute, each product on the one that asks for it."""
    blas = _blas()
    if blas is None:
        yield
        return
    blas.shared.append(None)  # a list, which threads may change at once
    blas.settle()
    try:
        yield
    finally:
        blas.shared.pop()
        blas.settle()


def set_threads(n: int) -> None:
    """Let NumPy's products and SciPy's factorisations take n threads."""
    _asked["threads"] = n
    for blas in [_blas(), _lapack() if _lapack.cache_info().currsize else None]:
        if blas is not None:
            blas.threads = n
            blas.settle()
