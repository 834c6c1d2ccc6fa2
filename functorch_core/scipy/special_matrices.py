"""Matrices with a structure: Toeplitz, Hankel, Hilbert, Pascal, ..."""

from __future__ import annotations

import functools
import math

import numpy as np

import functorch_core as fc

from ..array.compose import composed
from ..core import dtypes as dt
from ..core.explain import explaining
from ..numpy.elementwise import as_array

function = functools.partial(composed, space="fc.scipy.linalg")


def _from_floats(x: np.ndarray):
    """NumPy's float64 as the library's default float."""
    return fc.asarray(x.astype(dt.DEFAULT_FLOAT))


@function("arrs")
def block_diag(*arrs):
    """The matrices along the diagonal of one, with zeros elsewhere.

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.block_diag(fc.ones((1, 2)), fc.ones((1, 1)))
    Array([[1., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    blocks = [as_array(x) for x in arrs] or [fc.zeros((1, 0))]
    blocks = [fc.reshape(x, (1, x.size)) if x.ndim < 2 else x for x in blocks]
    if any(x.ndim > 2 for x in blocks):
        raise ValueError(f"block_diag takes matrices, got {', '.join(str(x.aval) for x in blocks)}")
    dtype, width = fc.result_type(*blocks), sum(x.shape[1] for x in blocks)
    rows, left = [], 0
    for x in blocks:
        rows.append(fc.pad(x.astype(dtype), [(0, 0), (left, width - left - x.shape[1])]))
        left += x.shape[1]
    return fc.concat(rows, axis=0)


def _batched(fun):
    """A function of vectors, of the last dimension of arrays."""

    @functools.wraps(fun)
    def call(first, *rest):
        arrays = [first, *[x for x in rest if x is not None]]
        lead = np.broadcast_shapes(*[x.shape[:-1] for x in arrays])
        arrays = [fc.broadcast_to(x, (*lead, x.shape[-1])) for x in arrays]
        mapped = lambda *xs: fun(*xs, *[None] * (1 + len(rest) - len(xs)))  # noqa: E731
        for _ in lead:
            mapped = fc.vmap(mapped)
        return mapped(*arrays)

    return call


@function("c r")
def toeplitz(c, r=None):
    """The matrix of first column c and first row r (the conjugate of c), constant along diagonals.

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.toeplitz(fc.asarray([1, 2]), fc.asarray([1, 3, 4]))
    Array([[1, 3, 4],
           [2, 1, 3]], dtype=int64)
    """
    c = fc.reshape(as_array(c), (-1,)) if not np.ndim(c) else c
    r = fc.conj(c) if r is None else r
    return _batched(_toeplitz)(c, r)


def _toeplitz(c, r):
    dtype = fc.result_type(c, r)
    both = fc.concat([fc.flip(r.astype(dtype))[: r.shape[0] - 1], c.astype(dtype)])
    m, n = c.shape[0], r.shape[0]
    return both[fc.arange(m)[:, None] - fc.arange(n)[None, :] + (n - 1)]


@function("c r")
def hankel(c, r=None):
    """The matrix of first column c and last row r (zeros), constant along anti-diagonals.

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.hankel(fc.asarray([1, 2]), fc.asarray([2, 3]))
    Array([[1, 2],
           [2, 3]], dtype=int64)
    """
    return _batched(_hankel)(c, fc.zeros_like(c) if r is None else r)


def _hankel(c, r):
    dtype = fc.result_type(c, r)
    both = fc.concat([c.astype(dtype), r.astype(dtype)[1:]])
    return both[fc.arange(c.shape[0])[:, None] + fc.arange(r.shape[0])[None, :]]


@function("c")
def circulant(c):
    """The matrix whose columns are c, moved on by one each.

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.circulant(fc.asarray([1, 2, 3]))
    Array([[1, 3, 2],
           [2, 1, 3],
           [3, 2, 1]], dtype=int64)
    """
    n = c.shape[-1]
    places = (np.arange(n)[:, None] - np.arange(n)[None, :]) % max(n, 1)
    return fc.reshape(fc.take(c, fc.asarray(places.ravel()), axis=-1), (*c.shape, n))


@function("a")
def companion(a):
    """The companion matrix of a polynomial, whose eigenvalues are its zeros.

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.companion(fc.asarray([1., -3., 2.]))
    Array([[ 3., -2.],
           [ 1.,  0.]], dtype=float32)
    """
    a = a if a.dtype in dt.INEXACT else a.astype(dt.DEFAULT_FLOAT)
    n = a.shape[-1] - 1
    if n < 1:
        raise ValueError(f"companion takes two coefficients at least, got {a.aval}")
    first = -a[..., 1:] / a[..., :1]
    below = fc.broadcast_to(fc.eye(n, dtype=a.dtype)[:-1], (*a.shape[:-1], n - 1, n))
    return fc.concat([first[..., None, :], below], axis=-2)


@function("a")
def fiedler(a):
    """The matrix of |a[i] - a[j]|.

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.fiedler(fc.asarray([1, 4]))
    Array([[0, 3],
           [3, 0]], dtype=int64)
    """
    return fc.abs(a[..., :, None] - a[..., None, :])


@function("a")
def fiedler_companion(a):
    """The Fiedler companion matrix of a polynomial: pentadiagonal, with its zeros as eigenvalues.

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.fiedler_companion(fc.asarray([1., -6., 11., -6.]))
    Array([[  6., -11.,   1.],
           [  1.,   0.,   0.],
           [  0.,   6.,   0.]], dtype=float32)
    """
    a = a if a.dtype in dt.INEXACT else a.astype(dt.DEFAULT_FLOAT)
    if a.ndim != 1:
        raise ValueError(f"fiedler_companion takes a vector, got {a.aval}")
    n = a.shape[0] - 1
    if n < 2:
        return fc.reshape(-a[1:] / a[0], (n, n)) if n > 0 else fc.zeros((0, 0), dtype=a.dtype)
    c = -a[1:] / a[0]
    places = [_fiedler_place(i) for i in range(n)]
    steps = [(i, i + 2) if i % 2 == 0 else (i, i - 2) for i in range(n)]
    ones = [(1, 0), *[(i, j) for i, j in steps if 0 <= j < n]]
    out = fc.zeros((n, n), dtype=a.dtype).at[tuple(map(np.array, zip(*places)))].set(c)
    return out.at[tuple(map(np.array, zip(*ones)))].set(1.0)


def _fiedler_place(i: int) -> tuple[int, int]:
    if i == 0:
        return 0, 0
    return (i - 1, i) if i % 2 else (i, i - 1)


@function("f s")
def leslie(f, s):
    """The Leslie matrix of fecundities f and survivals s (one less).

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.leslie(fc.asarray([0.1, 2.]), fc.asarray([0.5]))
    Array([[0.1, 2. ],
           [0.5, 0. ]], dtype=float32)
    """
    n = f.shape[-1]
    if s.shape[-1] != n - 1 or n < 2:
        raise ValueError(f"leslie takes f [n] and s [n - 1] with n > 1, got {f.aval} and {s.aval}")
    dtype = fc.result_type(f, s)
    below = s.astype(dtype)[..., :, None] * fc.eye(n - 1, n, dtype=dtype)
    return fc.concat([f.astype(dtype)[..., None, :], below], axis=-2)


MODES = ("full", "same", "valid")


@function("a")
def convolution_matrix(a, n, mode="full"):
    """The matrix whose product with a vector of size n is its convolution with a.

    >>> from functorch_core.scipy import linalg
    >>> import functorch_core as fc
    >>> linalg.convolution_matrix(fc.asarray([1, 2]), 2)
    Array([[1, 0],
           [2, 1],
           [0, 2]], dtype=int64)
    """
    if n <= 0 or not a.shape[-1]:
        raise ValueError(f"convolution_matrix: n={n} and {a.aval}; both are of one element at least")
    if mode not in MODES:
        raise ValueError(f"convolution_matrix: mode is one of {', '.join(map(repr, MODES))}, got {mode!r}")
    m = a.shape[-1]
    rows = {
        "full": (0, n + m - 1),
        "same": ((min(n, m) - 1) // 2, max(n, m)),
        "valid": (min(n, m) - 1, max(n, m) - min(n, m) + 1),
    }[mode]
    start, count = rows
    place = np.arange(start, start + count)[:, None] - np.arange(n)[None, :]
    inside = (place >= 0) & (place < m)
    found = fc.take(a, fc.asarray(np.clip(place, 0, m - 1).ravel()), axis=-1)
    found = fc.reshape(found, (*a.shape[:-1], count, n))
    return fc.where(fc.asarray(inside), found, fc.zeros((), dtype=a.dtype))


# ---- of a size alone -----------------------------------------------------------------------------


@explaining
def dft(n, scale=None, *, dtype=None):
    """The matrix of the discrete Fourier transform; scale: None, 'sqrtn' or 'n'.

    >>> from functorch_core.scipy import linalg
    >>> linalg.dft(2).real
    Array([[ 1.,  1.],
           [ 1., -1.]], dtype=float32)
    """
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"dft: scale is None, 'sqrtn' or 'n', got {scale!r}")
    turns = np.exp(-2j * np.pi * (np.outer(np.arange(n), np.arange(n)) % n) / n)
    factor = {None: 1.0, "sqrtn": math.sqrt(n), "n": n}[scale]
    return fc.asarray((turns / factor).astype(dt.canonical(complex if dtype is None else dtype)))


@explaining
def hilbert(n):
    """The Hilbert matrix, of 1 / (i + j + 1).

    >>> from functorch_core.scipy import linalg
    >>> linalg.hilbert(2)
    Array([[1.        , 0.5       ],
           [0.5       , 0.33333334]], dtype=float32)
    """
    return _from_floats(1.0 / (np.arange(n)[:, None] + np.arange(n)[None, :] + 1))


@explaining
def invhilbert(n):
    """The inverse of the Hilbert matrix, whose elements are integers.

    >>> from functorch_core.scipy import linalg
    >>> linalg.invhilbert(2)
    Array([[ 4., -6.],
           [-6., 12.]], dtype=float32)
    """
    c = math.comb
    found = [
        [
            (-1.0) ** (i + j) * (i + j + 1) * c(n + i, n - j - 1) * c(n + j, n - i - 1) * c(i + j, i) ** 2
            for j in range(n)
        ]
        for i in range(n)
    ]
    return _from_floats(np.array(found).reshape(n, n))


KINDS = ("symmetric", "lower", "upper")


def _pascal_kind(name: str, kind) -> str:
    kind = "symmetric" if kind is None else kind
    if kind not in KINDS:
        raise ValueError(f"{name}: kind is one of {', '.join(map(repr, KINDS))}, got {kind!r}")
    return kind


@explaining
def pascal(n, kind=None):
    """The matrix of binomial coefficients: 'symmetric', 'lower' or 'upper'.

    >>> from functorch_core.scipy import linalg
    >>> linalg.pascal(3)
    Array([[1., 1., 1.],
           [1., 2., 3.],
           [1., 3., 6.]], dtype=float32)
    """
    lower = np.array([[math.comb(i, j) for j in range(n)] for i in range(n)], np.float64).reshape(n, n)
    found = {"lower": lower, "upper": lower.T, "symmetric": lower @ lower.T}[_pascal_kind("pascal", kind)]
    return _from_floats(found)


@explaining
def invpascal(n, kind=None):
    """The inverse of the matrix of binomial coefficients.

    >>> from functorch_core.scipy import linalg
    >>> linalg.invpascal(2)
    Array([[ 2., -1.],
           [-1.,  1.]], dtype=float32)
    """
    signs = (-1.0) ** (np.arange(n)[:, None] + np.arange(n)[None, :])
    lower = np.array([[math.comb(i, j) for j in range(n)] for i in range(n)], np.float64).reshape(n, n) * signs
    found = {"lower": lower, "upper": lower.T, "symmetric": lower.T @ lower}[_pascal_kind("invpascal", kind)]
    return _from_floats(found)


@explaining
def hadamard(n, dtype=int):
    """The Hadamard matrix of a size that is a power of 2.

    >>> from functorch_core.scipy import linalg
    >>> linalg.hadamard(2)
    Array([[ 1,  1],
           [ 1, -1]], dtype=int64)
    """
    if n < 1 or n & (n - 1):
        raise ValueError(f"hadamard: n is a power of 2, got {n}")
    out = np.ones((1, 1))
    while out.shape[0] < n:
        out = np.block([[out, out], [out, -out]])
    return fc.asarray(out.astype(dt.canonical(dtype)))


@explaining
def helmert(n, full=False):
    """The Helmert matrix: orthonormal rows, the first constant one left out unless `full`.

    >>> from functorch_core.scipy import linalg
    >>> linalg.helmert(2)
    Array([[ 0.70710677, -0.70710677]], dtype=float32)
    """
    i = np.arange(n)[:, None]
    out = np.tril(np.ones((n, n)), -1) - np.diag(np.arange(n))
    out = out / np.sqrt(np.maximum(i * (i + 1), 1))
    out[0] = 1 / math.sqrt(n)
    return _from_floats(out if full else out[1:])
