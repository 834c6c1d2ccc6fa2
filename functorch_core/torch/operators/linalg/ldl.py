"""The factorisation A = L D L^T of symmetric (or Hermitian) matrices that need not be definite.

XLA has no kernel for it, so the host computes it, matrix by matrix, in LAPACK's compact form: D has
blocks of one or two, and pivots[k] is the row (from 1) that row k was exchanged with, negative
for both rows of a block of two. Exchanges are not carried over to the columns before.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from ....transforms.callback import pure_callback
from ...dispatch.op import torch_op, write_out
from ...tensors.active import overridable
from ...tensors.base import Tensor
from .. import return_types as named
from ..values import aval_of, dt, expanded, name_of, p
from .checks import check_info, matrices
from .solve import stacked_together

# Bunch and Kaufman's bound: with it a step of two grows no more than two steps of one.
ALPHA = (1 + math.sqrt(17)) / 8
SINGULAR = "the block diagonal matrix D is exactly singular: D[{info}, {info}] is zero."

# ---- the factorisation ---------------------------------------------------------------------------


def _size(x: np.ndarray) -> np.ndarray:
    """|re| + |im|: what LAPACK compares, so that the pivots are its."""
    return np.abs(x.real) + np.abs(x.imag) if np.iscomplexobj(x) else np.abs(x)


def _pivot(A: np.ndarray, k: int) -> tuple[int, int]:
    """(the row to exchange, the size of the block) for the symmetric A[k:, k:]."""
    size = _size(A[k:, k])
    if len(size) == 1:
        return k, 1
    row = 1 + int(size[1:].argmax())
    largest = size[row]
    if not max(size[0], largest) > 0 or size[0] >= ALPHA * largest:
        return k, 1
    of_row = _size(A[k + row, k:])
    own, of_row[row] = of_row[row], 0
    if size[0] >= ALPHA * largest * (largest / of_row.max()):
        return k, 1
    return k + row, 1 if own >= ALPHA * of_row.max() else 2


def _exchange(A: np.ndarray, k: int, i: int, j: int):
    """Exchange rows and columns i and j of A[k:, k:]."""
    A[[i, j], k:] = A[[j, i], k:]
    A[k:, [i, j]] = A[k:, [j, i]]


def _factorised(A: np.ndarray, hermitian: bool):
    """(L and D in one matrix, pivots, the first zero of D from 1 or 0)."""
    n, k, info = len(A), 0, 0
    lower = np.tril(A)
    strict = np.tril(A, -1).T
    A = lower + (strict.conj() if hermitian else strict)
    if hermitian:
        np.fill_diagonal(A, A.diagonal().real)
    pivots = np.zeros(n, np.int32)
    while k < n:
        place, size = _pivot(A, k)
        last, end = k + size - 1, k + size
        if place != last:
            _exchange(A, k, last, place)
        pivots[k:end] = place + 1 if size == 1 else -(place + 1)
        if size == 1 and (A[k, k] == 0 or A[k, k] != A[k, k]):
            info = info or k + 1
        else:
            block, columns = A[k:end, k:end], A[end:, k:end].copy()
            solved = np.linalg.solve(block.T, columns.T).T if size == 2 else columns / block
            A[end:, end:] -= solved @ (columns.conj() if hermitian else columns).T
            A[end:, k:end] = solved
            if hermitian:
                np.fill_diagonal(A, A.diagonal().real)
        k = end
    return np.tril(A), pivots, info


def _solved(LD: np.ndarray, pivots: np.ndarray, b: np.ndarray, hermitian: bool) -> np.ndarray:
    """x with A x = b: with L, with D, with L^T, and the exchanges on the way."""
    n, k, b = len(LD), 0, b.copy()
    blocks = []
    while k < n:
        size = 1 if pivots[k] > 0 else 2
        end, place = k + size, abs(int(pivots[k])) - 1
        blocks.append((k, end, place))
        b[[end - 1, place]] = b[[place, end - 1]]
        b[end:] -= LD[end:, k:end] @ b[k:end]
        if size == 1:
            b[k] /= LD[k, k]
        else:
            block = LD[k:end, k:end].copy()
            block[0, 1] = block[1, 0].conj() if hermitian else block[1, 0]
            b[k:end] = np.linalg.solve(block, b[k:end])
        k = end
    for k, end, place in reversed(blocks):
        below = LD[end:, k:end]
        b[k:end] -= (below.conj() if hermitian else below).T @ b[end:]
        b[[end - 1, place]] = b[[place, end - 1]]
    return b


def _each_factorised(A: np.ndarray, hermitian: bool):
    """The factorisations of matrices with any dimensions in front: LD, pivots, info."""
    lead, n = A.shape[:-2], A.shape[-1]
    found = [_factorised(a, hermitian) for a in A.reshape(math.prod(lead), n, n)]
    return [
        np.array([f[i] for f in found], dtype).reshape(shape)
        for i, (dtype, shape) in enumerate(((A.dtype, A.shape), (np.int32, (*lead, n)), (np.int32, lead)))
    ]


def _each_solved(LD: np.ndarray, pivots: np.ndarray, b: np.ndarray, hermitian: bool):
    """x for matrices with the same dimensions in front."""
    lead, (n, columns) = b.shape[:-2], b.shape[-2:]
    count = math.prod(lead)
    each = zip(LD.reshape(count, n, n), pivots.reshape(count, n), b.reshape(count, n, columns))
    return np.array([_solved(*x, hermitian) for x in each], b.dtype).reshape(b.shape)


def _factorise_on_host(hermitian: bool, A):
    return _each_factorised(A, hermitian)


def _solve_on_host(hermitian: bool, LD, pivots, b):
    return _each_solved(LD, pivots, b, hermitian)


# ---- torch.linalg --------------------------------------------------------------------------------


@torch_op(name="linalg_ldl_factor_ex", method=False, function=False, returns=named.linalg_ldl_factor_ex)
def _ldl_factor_ex(A: Tensor, hermitian):
    x = matrices(A, "torch.linalg.ldl_factor_ex", square=True)
    a = aval_of(x)
    outs = a, a.with_shape(a.shape[:-1]).with_dtype(dt.int32), (a.with_shape(a.shape[:-2]).with_dtype(dt.int32))
    return pure_callback(functools.partial(_factorise_on_host, hermitian), outs, [x], vmap_method="broadcast_all")


@overridable
def ldl_factor_ex(A, *, hermitian=False, check_errors=False, out=None):
    """ldl_factor, and for each matrix 0, or the place (from 1) of the first zero of D.

    >>> torch.linalg.ldl_factor_ex(torch.tensor([[4., 2.], [2., 2.]])).LD
    tensor([[4.0000, 0.0000],
            [0.5000, 1.0000]])
    """
    result = _ldl_factor_ex(A, hermitian)
    if check_errors:
        check_info("torch.linalg.ldl_factor", result.info, SINGULAR)
    return write_out("linalg_ldl_factor_ex", out, result)


@overridable
def ldl_factor(A, *, hermitian=False, out=None):
    """L, D and the pivots of symmetric (Hermitian) matrices, of which the lower halves are read.

    >>> torch.linalg.ldl_factor(torch.tensor([[4., 2.], [2., 2.]])).pivots
    tensor([1, 2], dtype=torch.int32)
    """
    LD, pivots, _ = ldl_factor_ex(A, hermitian=hermitian, check_errors=True)
    return write_out("linalg_ldl_factor", out, named.linalg_ldl_factor(LD, pivots))


@torch_op(name="linalg_ldl_solve", method=False, function=False)
def _ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, hermitian):
    _check_solve(LD, pivots, B)
    factors, b = stacked_together("ldl_solve", LD, B)
    shape = aval_of(b).shape
    places = expanded(p.convert(pivots, dtype=dt.int32), shape[:-1])
    return pure_callback(
        functools.partial(_solve_on_host, hermitian), [aval_of(b)], [factors, places, b], vmap_method="broadcast_all"
    )[0]


@overridable
def ldl_solve(LD, pivots, B, *, hermitian=False, out=None):
    """X with A X = B, from ldl_factor's factors of A.

    >>> LD, pivots = torch.linalg.ldl_factor(torch.tensor([[4., 2.], [2., 2.]]))
    >>> torch.linalg.ldl_solve(LD, pivots, torch.tensor([[6.], [4.]]))
    tensor([[1.],
            [1.]])
    """
    return write_out("linalg_ldl_solve", out, _ldl_solve(LD, pivots, B, hermitian))


def _check_solve(LD, pivots, B):
    ld, places, b = map(aval_of, (LD, pivots, B))
    matrices(LD, "torch.linalg.ldl_solve", square=True, letter="LD")
    if b.ndim < 2:
        raise RuntimeError(
            f"torch.linalg.ldl_solve: Expected B to have at least 2 dimensions, but it has {b.ndim} dimensions instead"
        )
    if b.shape[-2] != ld.shape[-1]:
        raise RuntimeError(
            "Incompatible matrix sizes for torch.linalg.ldl_solve: each A matrix is "
            f"{ld.shape[-1]} by {ld.shape[-1]} but each b matrix is {b.shape[-2]} "
            f"by {b.shape[-1]}"
        )
    if ld.shape[:-1] != places.shape:
        raise RuntimeError(
            "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be "
            f"the same, but got pivots with shape {list(places.shape)} instead"
        )
    if places.dtype not in dt.INTEGER:
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {name_of(pivots)}")
    if ld.dtype != b.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type "
            f"{name_of(B)} and A of type {name_of(LD)} instead."
        )
