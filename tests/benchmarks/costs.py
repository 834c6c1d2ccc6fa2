"""What primitives cost by NumPy and to compile, measured, beside the estimates that decide between tiers.

    python -m tests.benchmarks.costs             all of them
    python -m tests.benchmarks.costs eigh sort   some

Milliseconds, the least of some runs; `ratio` is measured / estimated (`engine/cost.py`, with the traits
of each primitive), and what is off by more than 3 either way is marked. Where less than 0.3 ms is measured and
estimated it does not matter, and is not marked.
"""

from __future__ import annotations

import os
import sys
import time

import numpy as np

os.environ.setdefault("FUNCTORCH_CACHE", "0")  # what is compiled is compiled now

from functorch_core import primitives as p
from functorch_core import xla
from functorch_core.core import dtypes as dt
from functorch_core.core.aval import aval
from functorch_core.core.reference import reference_of
from functorch_core.core.trace import trace_closed
from functorch_core.engine import cost
from functorch_core.engine.compiling import compile_graph

OFF, NEGLIGIBLE = 3.0, 300.0  # microseconds


def numbers(*shape: int) -> np.ndarray:
    """Normal float32 numbers."""
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def definite(n: int, size: int) -> np.ndarray:
    """Symmetric positive definite matrices."""
    x = numbers(n, size, size)
    return x @ x.transpose(0, 2, 1) + size * np.eye(size, dtype=np.float32)


def places(bound: int, *shape: int) -> np.ndarray:
    """Indices below a bound."""
    return np.random.default_rng(1).integers(0, bound, shape)


LARGE = (512, 1024)
IMAGES, KERNELS = (16, 32, 28, 28), (32, 32, 3, 3)
POOLED = dict(window=(1, 1, 3, 3), strides=(1, 1, 2, 2))
WINDOW = p.reduce_window_max.__globals__["make_window"](4, (1, 1, 3, 3), (1, 1, 2, 2), None, None, None)
CHOSEN = np.random.default_rng(2).integers(0, 9, (16, 32, 13, 13)).astype(np.int32)
SIZE = int(np.prod(LARGE))

CASES = {
    **{
        name: (getattr(p, name), numbers(*LARGE))
        for name in "neg abs exp log1p tanh sin logistic erf sqrt rsqrt floor is_finite".split()
    },
    **{
        name: (getattr(p, name), abs(numbers(64, 256)) / 8 + 0.1)
        for name in "erfc erfcx erf_inv log_ndtr ndtri digamma lgamma bessel_i0 bessel_i0e bessel_i1 bessel_j0".split()
    },
    **{
        name: (getattr(p, name), abs(numbers(64, 256)) + 1.5, abs(numbers(64, 256)) + 1.5)
        for name in "igamma igammac zeta".split()
    },
    **{name: (getattr(p, name), numbers(*LARGE), numbers(*LARGE)) for name in "add mul div max pow atan2 lt".split()},
    "select": (p.select, numbers(*LARGE) > 0, numbers(*LARGE), numbers(*LARGE)),
    "convert": (lambda x: p.convert(x, dtype=dt.int32), numbers(*LARGE)),
    "transposed and added": (lambda x: p.add(p.transpose(x, permutation=(1, 0)), 1.0), numbers(*LARGE)),
    "concatenate": (lambda x: p.concatenate(x, x, dimension=1), numbers(*LARGE)),
    "pad": (lambda x: p.pad(x, p.constant(np.float32(0)), low=(1, 1), high=(1, 1)), numbers(*LARGE)),
    "reverse": (lambda x: p.add(p.reverse(x, dims=(1,)), 1.0), numbers(*LARGE)),
    "iota": (lambda: p.iota(shape=LARGE, dtype=dt.float32, dimension=1),),
    **{
        f"{name} of {axes}": (lambda x, name=name, axes=axes: getattr(p, name)(x, axes=axes), numbers(*LARGE))
        for name in ("reduce_sum", "reduce_max")
        for axes in ((0,), (1,), (0, 1))
    },
    "argmax": (lambda x: p.argmax(x, axis=1), numbers(*LARGE)),
    "cumsum": (lambda x: p.cumsum(x, axis=1), numbers(*LARGE)),
    "cumprod": (lambda x: p.cumprod(x, axis=1), numbers(*LARGE)),
    "cummax": (lambda x: p.cummax(x, axis=1), numbers(*LARGE)),
    "cumlogsumexp": (lambda x: p.cumlogsumexp(x, axis=1), numbers(*LARGE)),
    "sort": (lambda x: p.sort(x, dimension=1)[0], numbers(*LARGE)),
    "argsort": (lambda x: p.argsort(x, dimension=1), numbers(*LARGE)),
    "top_k": (lambda x: p.top_k(x, k=10)[0], numbers(*LARGE)),
    "take rows": (lambda x, i: p.take(x, i, axis=0), numbers(*LARGE), places(512, 500)),
    "take_along_axis": (lambda x, i: p.take_along_axis(x, i, axis=1), numbers(*LARGE), places(1024, 512, 100)),
    "scatter_add rows": (
        lambda x, i, u: p.scatter_axis(x, i, u, axis=0, combine="add"),
        numbers(*LARGE),
        places(512, 500),
        numbers(500, 1024),
    ),
    "scatter_add elements": (
        lambda x, i, u: p.scatter_along_axis(x, i, u, axis=1, combine="add"),
        numbers(*LARGE),
        places(1024, 512, 100),
        numbers(512, 100),
    ),
    "dot_general": (lambda x, y: p.dot_general(x, y, contract=((1,), (0,))), numbers(*LARGE), numbers(1024, 256)),
    "dot_general, small": (
        lambda x, y: p.dot_general(x, y, contract=((2,), (1,)), batch=((0,), (0,))),
        numbers(64, 16, 16),
        numbers(64, 16, 16),
    ),
    "conv": (lambda x, w: p.conv(x, w, padding=((1, 1), (1, 1))), numbers(*IMAGES), numbers(*KERNELS)),
    "conv, strided": (lambda x, w: p.conv(x, w, strides=(2, 2)), numbers(*IMAGES), numbers(*KERNELS)),
    "conv, depthwise": (lambda x, w: p.conv(x, w, feature_groups=32), numbers(*IMAGES), numbers(32, 1, 3, 3)),
    "reduce_window_max": (lambda x: p.reduce_window_max(x, **POOLED), numbers(*IMAGES)),
    "reduce_window_sum": (lambda x: p.reduce_window_sum(x, **POOLED), numbers(*IMAGES)),
    "reduce_window_argmax": (lambda x: p.reduce_window_argmax(x, **POOLED), numbers(*IMAGES)),
    "window_gather": (lambda x, i: p.window_gather(x, i, window=WINDOW), numbers(*IMAGES), CHOSEN),
    "window_scatter": (
        lambda c, i: p.window_scatter(c, i, shape=IMAGES, window=WINDOW),
        numbers(16, 32, 13, 13),
        CHOSEN,
    ),
    "fft": (lambda x: p.fft(x, kind="fft", lengths=(1024,)), numbers(*LARGE).astype(np.complex64)),
    "cholesky": (p.cholesky, definite(8, 100)),
    "lu": (lambda x: p.lu(x)[0], numbers(8, 100, 100)),
    "qr": (lambda x: p.qr(x)[0], numbers(8, 100, 100)),
    "svd": (lambda x: p.svd(x)[0], numbers(8, 60, 60)),
    "eigh": (lambda x: p.eigh(x)[0], definite(8, 60)),
    "cholesky, small": (p.cholesky, definite(1000, 8)),
    "lu, small": (lambda x: p.lu(x)[0], numbers(1000, 8, 8)),
    "qr, small": (lambda x: p.qr(x)[0], numbers(1000, 8, 8)),
    "svd, small": (lambda x: p.svd(x)[0], numbers(1000, 8, 8)),
    "cholesky, large": (p.cholesky, definite(1, 500)),
    "eigh, large": (lambda x: p.eigh(x)[0], definite(1, 300)),
    "svd, large": (lambda x: p.svd(x)[0], numbers(1, 300, 300)),
    "lu, large": (lambda x: p.lu(x)[0], numbers(1, 500, 500)),
    "qr, large": (lambda x: p.qr(x)[0], numbers(1, 300, 300)),
    "eig": (lambda x: p.eig(x)[0], numbers(8, 30, 30)),
    "triangular_solve": (lambda x, y: p.triangular_solve(x, y, lower=True), definite(8, 100), numbers(8, 100, 4)),
}


def least(run, seconds: float = 0.15) -> float:
    """The least time of a run, in microseconds."""
    found, end, runs = [], time.perf_counter() + seconds, 0
    while runs < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
        runs += 1
    return min(found) * 1e6


def measured(fun, *arrays: np.ndarray) -> tuple[float, float, cost.Cost]:
    """Microseconds by NumPy and to compile, and the estimate."""
    graph = trace_closed(lambda *v: [_first(fun(*v))], [aval(a.shape, a.dtype) for a in arrays], "case")
    run = reference_of(graph)
    with np.errstate(all="ignore"):
        run(arrays)
        by_numpy = least(lambda: [np.ascontiguousarray(x) for x in run(arrays)])
    device = xla.devices("cpu")[0]
    to_compile = min(least(lambda: compile_graph(graph, device), 0.0) for _ in range(2))
    return by_numpy, to_compile, cost.of_graph(graph)


def _first(found):
    return found[0] if isinstance(found, (tuple, list)) else found


def _shown(found: float, estimate: float) -> str:
    ratio = found / max(estimate, 1e-9)
    matters = max(found, estimate) > NEGLIGIBLE
    mark = " <<" if matters and not 1 / OFF <= ratio <= OFF else ""
    return f"{found / 1e3:9.2f} {estimate / 1e3:9.2f} {ratio:6.2f}{mark:3s}"


def main(names: list[str]) -> None:
    """Print the table."""
    print(f"{'':22s} {'NumPy':>9s} {'estimate':>9s} {'ratio':>6s}    {'compile':>9s} {'estimate':>9s} {'ratio':>6s}")
    for name, (fun, *arrays) in CASES.items():
        if names and not any(n in name for n in names):
            continue
        try:
            by_numpy, to_compile, estimate = measured(fun, *arrays)
        except Exception as error:  # noqa: BLE001  (the table goes on)
            print(f"{name:22s} {type(error).__name__}: {error}".split("\n")[0])
            continue
        price = cost.COMPILE_PROGRAM + estimate.compile
        print(f"{name:22s} {_shown(by_numpy, estimate.reference)} {_shown(to_compile, price)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
