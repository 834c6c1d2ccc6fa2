"""Products of matrices by oneDNN: in compiled programs of bfloat16 and stacks of float32, of host arrays of float32.

XLA's own products are of float32, to which it converts, and processors have instructions for bfloat16: 1024 x 1024 by
1024 x 1024 takes XLA 7.3 ms, oneDNN 1.2 (Intel, AMX; PyTorch 1.4, and 5.8 in float32).

Of stacks of float32 matrices XLA multiplies at 110 GFLOP/s on two cores of an Intel processor with AVX-512, as its
libraries fill vectors of 256 bits, oneDNN at 200 to 280. Single products of float32 stay with XLA: oneDNN takes 0.75
to 0.9 of the time, but its calls come one after the other, and wake threads (a step of an encoder 256 wide took 0.90 to
0.95 of the time, one of a GPT 128 wide 1.1). float16 came out alike, in PyTorch, too.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any, NamedTuple

import numpy as np

from . import onednn
from .native_call import Job, Unsupported, address_of, is_home, settle_home
from .onednn import Calls, Ints, ints
from .processor import about, has_wide_vectors

_SRC, _WEIGHTS, _DST = 1, 33, 17


class Product(NamedTuple):
    """x (batch, m, k) by y (batch, k, n) of a dtype: sizes (*batch, m, k, n), strides in elements of all three."""

    dtype: str
    out_dtype: str
    sizes: Ints
    x: Ints
    y: Ints
    out: Ints

    def target(self) -> str:
        """The name of the custom call: onednn.product.bfloat16.float32.768_128_512.128_1.512_1.512_1"""
        fields = ("_".join(map(str, field)) for field in self[2:])
        return ".".join(["onednn.product", self.dtype, self.out_dtype, *fields])

    @classmethod
    def of_target(cls, target: str) -> Product:
        """The product that has this target."""
        _, _, dtype, out_dtype, *fields = target.split(".")
        return cls(dtype, out_dtype, *(tuple(map(int, field.split("_"))) for field in fields))


@functools.lru_cache(maxsize=512)
def job_of(product: Product) -> Job:
    """The call that computes a product. Raises Unsupported if oneDNN has no fast way."""
    return onednn.made_by(lambda library: _Multiplying(library).job(product))


onednn.kinds["product"] = lambda target: job_of(Product.of_target(target))


def supports(product: Product) -> bool:
    """Whether oneDNN has a fast implementation of this product, and it may be called once more."""
    if not onednn.is_available() or not onednn.may_register(product.target()):
        return False
    try:
        job_of(product)
    except (Unsupported, MemoryError):
        return False
    return True


# ---- of host arrays --------------------------------------------------------------------------------

ROWS = 64  # of a product by a matrix that lies across; fewer take it twice as long as OpenBLAS's one thread


@functools.lru_cache(maxsize=1)
def _sgemm() -> Any:
    library = onednn._library()
    if library is None:
        return None
    size, number, address = ctypes.c_int64, ctypes.c_float, ctypes.c_void_p
    function = library.c.dnnl_sgemm
    function.argtypes = [*[ctypes.c_char] * 2, *[size] * 3, number, address, size, address, size, number, address, size]
    return function


def multiplied(x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """The product of float32 matrices, on all cores; None of others, and on other threads than Python's main one.

    By the library's BLAS, which knows no shapes beforehand (a primitive takes 0.7 ms and 140 KB for each). us, OpenBLAS
    on one thread, and this while its threads are awake and asleep: 600 x 64 by 64 x 192 65 (37, 59), 64 x 600 by
    600 x 192 75 (37, 59), 2,000 x 64 by 64 x 40 59 (31, 53), 512 x 512 by 512 x 512 1,088 (555, 578); where OpenBLAS is
    told to take a processor for one without AVX-512, it takes 118, 120, 88 and 2,089.
    """
    if x.ndim != 2 or y.ndim != 2 or not x.dtype == y.dtype == np.float32 or not is_home():
        return None
    (m, k), n = x.shape, y.shape[1]
    x_rows, x_columns = x.strides
    y_rows, y_columns = y.strides
    if x_columns == 4 and x_rows >= 4 * k:
        x_lies, x_step = b"N", x_rows
    elif x_rows == 4 and x_columns >= 4 * m:
        x_lies, x_step = b"T", x_columns
    else:
        return None
    if y_columns == 4 and y_rows >= 4 * n:
        y_lies, y_step = b"N", y_rows
    elif y_rows == 4 and y_columns >= 4 * k and m >= ROWS:
        y_lies, y_step = b"T", y_columns
    else:
        return None
    if (x_step | y_step) & 3 or not onednn.is_worth_loading():
        return None
    out = np.empty((m, n), np.float32)
    there = address_of(x), x_step // 4, address_of(y), y_step // 4
    settle_home()
    failed = _sgemm()(x_lies, y_lies, m, n, k, 1.0, *there, 0.0, address_of(out), n)
    return None if failed else out


# ---- processors ------------------------------------------------------------------------------------

INSTRUCTIONS = {"avx512_bf16", "amx_bf16"}  # as /proc/cpuinfo calls them


@functools.lru_cache(maxsize=1)
def is_quick() -> bool:
    """Whether this processor multiplies more bfloat16 numbers than float32 ones in the same time, by oneDNN."""
    return not INSTRUCTIONS.isdisjoint(about("flags")) and onednn.is_available()


@functools.lru_cache(maxsize=1)
def is_quick_in_stacks() -> bool:
    """Whether oneDNN multiplies stacks of float32 matrices quicker than XLA: Intel's AVX-512 (of others not known)."""
    return has_wide_vectors() and "GenuineIntel" in about("vendor_id") and onednn.is_available()


class _Multiplying(Calls):
    """The call of one product."""

    def job(self, product: Product) -> Job:
        """The job on x, y and the result."""
        *batch, m, k, n = product.sizes
        described = [
            self.desc("memory_desc_create_with_strides", (*batch, *dims), ints(strides), dtype)
            for dims, strides, dtype in (
                ((m, k), product.x, product.dtype),
                ((k, n), product.y, product.dtype),
                ((m, n), product.out, product.out_dtype),
            )
        ]
        made = self.made.new("primitive_desc")
        x, y, out = described
        library = self.library
        library("matmul_primitive_desc_create", ctypes.byref(made), library.engine, x, y, None, out, library.attributes)
        memories = [self.memory(md) for md in described]
        arrays = self.placed_later(memories)
        self.append(self.quick(made), list(zip((_SRC, _WEIGHTS, _DST), memories)))
        return Job(self.calls, arrays, self.made)
