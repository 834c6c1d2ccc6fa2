"""Factorisations: what they promise (products, orthogonality), NumPy, torch, and every rule.

Signs and phases of vectors are LAPACK's choice, so derivatives are checked on functions that do not
depend on them.
"""

import re

import numpy as np
import pytest
import scipy.linalg
import torch

from functorch_core import primitives as p
from functorch_core import xla
from functorch_core.core import dtypes as dt
from functorch_core.core.aval import aval
from functorch_core.core.lowering import lower
from functorch_core.core.trace import evaluate, trace_closed
from functorch_core.primitives import linalg_lu
from functorch_core.primitives import linalg_matrices as lm
from functorch_core.transforms.batch import Axis, batch
from functorch_core.transforms.jvp import jvp
from functorch_core.transforms.transpose import vjp
from tests.primitives.check import check, check_lowering, close, compiled, graph_of

DTYPES = ["float32", "float64", "complex64", "complex128"]
WIDE = ["float64", "complex128"]


def random(*shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return (x if np.dtype(dtype).kind == "c" else x.real).astype(dtype)


def adjoint(x):
    return x.conj().swapaxes(-1, -2)


def definite(*shape, dtype="float64"):
    x = random(*shape, dtype=dtype)
    return (x @ adjoint(x) + np.eye(shape[-1])).astype(dtype)


def tolerance(dtype):
    return 2e-4 if np.dtype(dtype).itemsize // (1 + (np.dtype(dtype).kind == "c")) == 4 else 1e-10


def both(fun, *arrays, tol=None):
    """The compiled results, after a comparison with the reference's."""
    graph = graph_of(fun, arrays)
    found = compiled(graph, arrays)
    for f, w in zip(found, evaluate(graph, arrays), strict=True):
        close(f, w, tolerance(f.dtype) if tol is None else tol)
    return found


def near(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=tolerance(found.dtype), atol=tolerance(found.dtype))


def unitary(q):
    near(adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], *q.shape[-1:] * 2)))


STACKS = [(4, 4), (1, 1), (2, 3, 3, 3)]
SHAPES = [*STACKS, (5, 3), (3, 5), (2, 5, 2), (1, 4), (4, 1)]

# ---- what factorisations promise -----------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", STACKS)
def test_cholesky(shape, dtype):
    a = definite(*shape, dtype=dtype)
    (factor,) = both(p.cholesky, np.tril(a))  # the other triangle is not read
    near(factor, np.linalg.cholesky(a))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_lu(shape, dtype):
    a = random(*shape, dtype=dtype)
    factors, pivots, permutation = both(p.lu, a)
    m, n = shape[-2:]
    k = min(m, n)
    lower_factor = np.tril(factors[..., :k], -1) + np.eye(m, k)
    near(
        (lower_factor @ np.triu(factors[..., :k, :])).astype(dtype),
        np.take_along_axis(a, permutation[..., None].astype(int), -2),
    )
    assert pivots.shape == (*shape[:-2], k) and pivots.dtype == permutation.dtype == np.int32
    if a.ndim == 2:
        wanted = scipy.linalg.lu_factor(a)[1] if m == n else pivots
        np.testing.assert_array_equal(pivots, wanted)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("full", [False, True])
def test_qr(shape, dtype, full):
    a = random(*shape, dtype=dtype)
    q, r = both(lambda a: p.qr(a, full_matrices=full), a)
    near(q @ r, a)
    unitary(q)
    np.testing.assert_array_equal(r, np.triu(r))
    wanted = np.linalg.qr(a, mode="complete" if full else "reduced")
    assert (q.shape, r.shape) == tuple(w.shape for w in wanted)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("full", [False, True])
def test_svd(shape, dtype, full):
    a = random(*shape, dtype=dtype)
    u, s, vh = both(lambda a: p.svd(a, full_matrices=full), a)
    k = s.shape[-1]
    near(u[..., :k] * s[..., None, :] @ vh[..., :k, :], a)
    unitary(u)
    unitary(adjoint(vh))
    near(s, np.linalg.svd(a, compute_uv=False))
    (values,) = both(lambda a: p.svd(a, compute_uv=False), a)
    near(values, s)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", STACKS)
@pytest.mark.parametrize("side", [True, False])
def test_eigh(shape, dtype, side):
    a = definite(*shape, dtype=dtype)
    w, v = both(lambda a: p.eigh(a, lower=side), np.tril(a) if side else np.triu(a))
    near(v * w[..., None, :] @ adjoint(v), a)
    unitary(v)
    near(w, np.linalg.eigvalsh(a))
    (values,) = both(lambda a: p.eigvalsh(a, lower=side), a)
    near(values, w)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", STACKS)
def test_eig(shape, dtype):
    a = random(*shape, dtype=dtype)
    w, vl, vr = both(lambda a: p.eig(a, left=True), a)
    assert {x.dtype for x in (w, vl, vr)} == {dt.complex_of(np.dtype(dtype))}
    near(a @ vr, vr * w[..., None, :])
    near(adjoint(vl) @ a, w[..., :, None] * adjoint(vl))
    near(np.linalg.norm(vr, axis=-2), np.ones(w.shape))
    (values,) = both(p.eigvals, a)
    near(np.sort_complex(values), np.sort_complex(np.linalg.eigvals(a)))
    near(np.sort_complex(values), np.sort_complex(w))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", STACKS)
def test_schur(shape, dtype):
    a = random(*shape, dtype=dtype)
    t, z = both(p.schur, a)
    near(z @ t @ adjoint(z), a)
    unitary(z)
    if a.ndim == 2:
        near(t, scipy.linalg.schur(a)[0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m, n, k", [(5, 3, 3), (5, 3, 2), (4, 4, 4), (3, 3, 0), (1, 1, 1)])
def test_reflectors(dtype, m, n, k):
    a, taus = random(m, n, dtype=dtype), random(k, dtype=dtype, seed=1)
    whole = np.eye(m, dtype=dtype)
    for i in range(k):
        v = np.where(np.arange(m) > i, a[:, i], np.arange(m) == i)
        whole = whole @ (np.eye(m) - taus[i] * np.outer(v, v.conj()))
    near(both(p.householder_product, a, taus)[0], whole[:, :n].astype(dtype))
    c = random(m, 2, dtype=dtype, seed=2)
    for transpose in (False, True):
        q = (adjoint(whole) if transpose else whole).astype(dtype)
        near(both(lambda *x: p.ormqr(*x, transpose=transpose), a, taus, c)[0], q @ c)
        near(both(lambda *x: p.ormqr(*x, left=False, transpose=transpose), a, taus, adjoint(c))[0], adjoint(c) @ q)


def test_geqrf_and_its_product():
    a = random(2, 5, 3)
    packed, taus = both(p.geqrf, a)
    (q,) = both(p.householder_product, packed, taus)
    near(q @ np.triu(packed)[..., :3, :], a)


# ---- systems and what is composed ----------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("op", ["N", "T", "C", "conjugate"])
def test_triangular_solve(dtype, left, op):
    options = {"left_side": left, "transpose_a": op in "TC", "conjugate_a": op in ("C", "conjugate")}
    a = random(2, 4, 4, dtype=dtype) + 3 * np.eye(4, dtype=dtype)
    b = random(*((2, 4, 3) if left else (2, 3, 4)), dtype=dtype, seed=1)
    for low in (True, False):
        for unit in (True, False):
            (x,) = both(lambda a, b: p.triangular_solve(a, b, lower=low, unit_diagonal=unit, **options), a, b)
            t = np.tril(a) if low else np.triu(a)
            t = t * (1 - np.eye(4)) + np.eye(4) if unit else t
            t = t.swapaxes(-1, -2) if options["transpose_a"] else t
            t = (t.conj() if options["conjugate_a"] else t).astype(dtype)
            near(t @ x if left else x @ t, b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", STACKS)
def test_solve_inv_det(shape, dtype):
    a, b = random(*shape, dtype=dtype), random(*shape[:-1], 2, dtype=dtype, seed=1)
    near(both(p.solve, a, b)[0], np.linalg.solve(a, b))
    near(both(p.inv, a)[0], np.linalg.inv(a))
    near(both(p.det, a)[0], np.linalg.det(a))
    for found, wanted in zip(both(p.slogdet, a), np.linalg.slogdet(a), strict=True):
        near(found, wanted)


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("conjugate", [False, True])
def test_lu_solve(transpose, conjugate):
    a, b = random(2, 4, 4, dtype="complex128"), random(2, 4, 3, dtype="complex128", seed=1)

    def fun(a, b):
        factors, _, permutation = p.lu(a)
        return p.lu_solve(factors, permutation, b, transpose=transpose, conjugate=conjugate)

    op = a.swapaxes(-1, -2) if transpose else a
    near(op.conj() @ both(fun, a, b)[0] if conjugate else op @ both(fun, a, b)[0], b)
    check(fun, a[0], b[0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
def test_lstsq(shape, dtype):
    a, b = random(*shape, dtype=dtype), random(shape[0], 2, dtype=dtype, seed=1)
    near(both(p.lstsq, a, b)[0], np.linalg.lstsq(a, b, rcond=None)[0])


@pytest.mark.parametrize("batch_shape", [(), (3,), (2, 2)])
def test_permutations(batch_shape):
    rng = np.random.default_rng(0)
    pivots = rng.integers(np.arange(4), 6, (*batch_shape, 4)).astype(np.int32)
    (found,) = both(lambda x: p.pivots_to_permutation(x, size=6), pivots)
    for one, wanted in zip(pivots.reshape(-1, 4), found.reshape(-1, 6), strict=True):
        order = np.arange(6)
        for i, j in enumerate(one):
            order[[i, j]] = order[[j, i]]
        np.testing.assert_array_equal(wanted, order)
    check(lambda x: p.pivots_to_permutation(x, size=6), np.array([3, 2, 2], np.int32), rules=("lower",))


@pytest.mark.parametrize("shape", [(1, 1), (7, 7), (3, 2, 40, 25), (2, 25, 40), (100, 100)])
def test_permutations_of_lu(shape):
    """Random matrices exchange most rows, some of them many times; one in descending order all."""
    for a in (random(*shape), np.broadcast_to(np.arange(shape[-2])[:, None] ** 1.5, shape) + np.eye(*shape[-2:])):
        factors, pivots, permutation = both(p.lu, a)
        (wanted,) = both(lambda x: p.pivots_to_permutation(x, size=shape[-2]), pivots)
        np.testing.assert_array_equal(permutation, wanted)


@pytest.mark.parametrize("k, size", [(1, 1), (5, 5), (9, 9), (4, 13), (64, 64)])
def test_permutations_of_any_pivots_below_their_rows(k, size):
    rng = np.random.default_rng(k)
    pivots = np.stack([rng.integers(np.arange(k), size) for _ in range(20)]).astype(np.int32)
    (found,) = compiled(graph_of(lambda x: linalg_lu._lu_permutation(x, size=size), [pivots]), [pivots])
    np.testing.assert_array_equal(found, linalg_lu._permutation_reference(pivots, size=size))


# ---- what is empty, singular, or no number -------------------------------------------------------

UNARY = {
    "cholesky": p.cholesky,
    "lu": p.lu,
    "qr": p.qr,
    "svd": p.svd,
    "eigh": p.eigh,
    "qr_full": lambda a: p.qr(a, full_matrices=True),
    "schur": p.schur,
    "inv": p.inv,
    "svd_full": lambda a: p.svd(a, full_matrices=True),
    "eig": lambda a: p.eig(a, left=True),
    "svdvals": lambda a: p.svd(a, compute_uv=False),
    "eigvalsh": p.eigvalsh,
    "det": p.det,
    "slogdet": p.slogdet,
}
ITERATIVE = ["svd", "svdvals", "eigh", "eigvalsh", "eig", "schur"]
RECTANGULAR = ["lu", "qr", "qr_full", "svd", "svd_full", "svdvals"]


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3, 3)])
def test_empty(name, shape):
    both(UNARY[name], random(*shape))


@pytest.mark.parametrize("name", RECTANGULAR)
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 3, 0)])
def test_empty_rectangles(name, shape):
    for found in both(UNARY[name], random(*shape, dtype="complex64")):
        if found.size and found.dtype == np.int32:
            np.testing.assert_array_equal(found, np.broadcast_to(np.arange(3), found.shape))
        elif found.size:
            np.testing.assert_array_equal(found, np.broadcast_to(np.eye(3), found.shape))


def test_empty_systems():
    assert both(p.solve, random(0, 0), random(0, 2))[0].shape == (0, 2)
    assert both(p.solve, random(3, 3), random(3, 0))[0].shape == (3, 0)
    assert both(p.det, random(2, 0, 0))[0].tolist() == [1, 1]


@pytest.mark.parametrize("dtype", DTYPES)
def test_indefinite_matrices_give_nan(dtype):
    a = np.stack([np.eye(3), -np.eye(3), np.diag([1, 1, -1]), 4 * np.eye(3)]).astype(dtype)
    (found,) = both(p.cholesky, a)
    low = np.tril(np.ones((3, 3), bool))
    for bad in found[1:3]:
        assert np.isnan(bad[low]).all() and not bad[~low].any()
    np.testing.assert_array_equal(found[3], 2 * np.eye(3))


@pytest.mark.parametrize("dtype", DTYPES)
def test_minors_before_one_that_is_indefinite(dtype):
    a = np.stack([definite(4, 4, dtype=dtype)] * 5)
    for i in range(4):
        a[i, i, i] = -1
    (found,) = both(lambda x: p.cholesky(x, minor=True), a)
    whole = np.linalg.cholesky(a[4])
    near(found[4], whole)
    for i in range(4):
        near(found[i, : i + 1, :i], whole[: i + 1, :i])
        behind = np.tril(np.ones((4, 4), bool))
        behind[: i + 1, :i] = False
        assert np.isnan(found[i][behind]).all() and not np.triu(found[i], 1).any()


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("name", ITERATIVE)
def test_no_numbers_give_nan_and_an_end(name, dtype):
    """gesdd by itself never returns from a matrix that holds inf."""
    a = np.stack([np.eye(3)] * 4).astype(dtype)
    a[1, 1, 0], a[2, 2, 2], a[3] = np.inf, np.nan, np.nan
    for found in both(UNARY[name], a):
        assert np.isfinite(found[0]).all() and np.isnan(found[1:]).all()


def test_eigh_ignores_what_it_does_not_read():
    a = np.where(np.triu(np.ones((3, 3)), 1) > 0, np.nan, definite(3, 3))
    assert np.isfinite(both(p.eigh, a)[0]).all()
    assert np.isnan(both(lambda a: p.eigh(a, lower=False), a)[0]).all()


@pytest.mark.parametrize("a", [np.ones((3, 3)), np.zeros((3, 3)), np.diag([1.0, 0, 2])])
def test_singular(a):
    for name in ("lu", "qr", "svd", "eigh", "eig", "det"):
        both(UNARY[name], a)
    signs, logs = both(p.slogdet, a)
    assert (signs, logs) == (0, -np.inf)
    with np.errstate(all="ignore"):
        assert not np.isfinite(both(p.inv, a)[0]).all()


@pytest.mark.parametrize("a", [random(6, 6)[::-2, ::2], random(3, 3).T, 1e200 * random(3, 3), 1e-200 * random(3, 3)])
def test_strides_and_scales(a):
    for name in ("lu", "qr", "svd", "eig", "schur"):
        graph = graph_of(UNARY[name], [a])
        scale = np.abs(a).max()
        for f, w in zip(compiled(graph, [a]), evaluate(graph, [a]), strict=True):
            np.testing.assert_allclose(f, w, rtol=1e-9, atol=1e-12 * max(scale, 1e-300))


# ---- derivatives ---------------------------------------------------------------------------------


def hermitian(a):
    """a a^H + 4, written with primitives."""
    return p.add(lm.matmul(a, lm.adjoint(a)), p.mul(lm.identity(shape=a.shape, dtype=a.dtype), 4))


def projected(v, values):
    """v f(values) v^H: no phase of a column of v matters."""
    return lm.matmul(lm.scale_columns(v, values), lm.adjoint(v))


def by_eigh(a):
    w, v = p.eigh(hermitian(a))
    return w, projected(v, p.exp(p.mul(w, 0.1)))


def by_svd(a):
    u, s, vh = p.svd(a)
    product = lm.matmul(lm.scale_columns(u, p.sin(s)), vh)
    return s, product, projected(u, s), projected(lm.adjoint(vh), p.cos(s))


def by_eig(a):
    w, vl, vr = p.eig(a, left=True)
    last = (w.ndim - 1,)
    return p.reduce_sum(p.sin(w), axes=last), projected(vr, w), projected(vl, p.cos(w))


UNARY_DERIVATIVES = {
    "cholesky": lambda a: p.cholesky(hermitian(a)),
    "lu": p.lu,
    "qr": p.qr,
    "inv": p.inv,
    "det": p.det,
    "slogdet": p.slogdet,
    "eigh": by_eigh,
    "svd": by_svd,
    "eig": by_eig,
    "eigvalsh": lambda a: p.eigvalsh(hermitian(a), lower=False),
    "svdvals": lambda a: p.svd(a, compute_uv=False),
    "left": lambda a: projected(p.eig(a, left=True, right=False)[1], p.eigvals(a)),
    "svd_full": lambda a: p.svd(a, full_matrices=True)[1],
}


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("name", UNARY_DERIVATIVES)
def test_derivatives(name, dtype):
    check(UNARY_DERIVATIVES[name], random(3, 3, dtype=dtype))


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 3, 2), (1, 4)])
@pytest.mark.parametrize("name", ["lu", "qr", "svd", "svdvals"])
def test_derivatives_of_rectangles(name, shape, dtype):
    check(UNARY_DERIVATIVES[name], random(*shape, dtype=dtype))


@pytest.mark.parametrize("name", UNARY_DERIVATIVES)
def test_derivatives_of_stacks(name):
    check(UNARY_DERIVATIVES[name], random(2, 3, 3, dtype="complex128"), rules=("jvp", "transpose"))


@pytest.mark.parametrize("name", UNARY_DERIVATIVES)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_batching_of_narrow_dtypes(name, dtype):
    check(UNARY_DERIVATIVES[name], random(3, 3, dtype=dtype), tol=2e-3)


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("op", ["N", "T", "C", "conjugate"])
def test_derivatives_of_triangular_solve(dtype, left, op):
    a = random(3, 3, dtype=dtype) + 3 * np.eye(3)
    b = random(*((3, 2) if left else (2, 3)), dtype=dtype, seed=1)
    for low, unit in ((True, False), (False, True)):
        check(
            lambda a, b: p.triangular_solve(
                a,
                b,
                left_side=left,
                lower=low,
                unit_diagonal=unit,
                transpose_a=op in "TC",
                conjugate_a=op in ("C", "conjugate"),
            ),
            a,
            b,
        )


@pytest.mark.parametrize("dtype", WIDE)
def test_derivatives_of_two_operands(dtype):
    a, b = random(3, 3, dtype=dtype), random(3, 2, dtype=dtype, seed=1)
    check(p.solve, a, b)
    check(p.solve, a, b, diff=(0,))
    check(p.solve, a, b, diff=(1,))
    check(p.lstsq, random(4, 3, dtype=dtype), random(4, 2, dtype=dtype, seed=1))
    check(p.lstsq, random(3, 4, dtype=dtype), b)


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("m, n, k", [(5, 3, 3), (4, 3, 2), (3, 2, 0)])
def test_derivatives_of_reflectors(dtype, m, n, k):
    a, taus = random(m, n, dtype=dtype), random(k, dtype=dtype, seed=1)
    check(p.householder_product, a, taus)
    check(p.householder_product, a, taus, diff=(0,))
    check(p.householder_product, a, taus, diff=(1,))
    check(p.ormqr, a, taus, random(m, 2, dtype=dtype, seed=2), rules=("jvp", "transpose"))


# ---- derivatives at special points ---------------------------------------------------------------


def gradient(fun, a, wrt=0):
    """The cotangent of a for cotangents of ones."""
    graph = graph_of(fun, [a])
    v = vjp(graph, (True,))
    outs = evaluate(v.forward, [a])
    cts = [np.ones(x.shape, x.dtype) for x, m in zip(graph.out_avals, v.out_mask) if m]
    return evaluate(v.backward, [*outs[len(graph.outputs) :], *cts])[0]


@pytest.mark.parametrize(
    "a",
    [
        np.ones((2, 2)),
        np.diag([1.0, 2, 0]),
        np.zeros((3, 3)),
        np.diag([0.0, 3, 0]),
        np.arange(9.0).reshape(3, 3),
        [[0.0]],
    ],
)
def test_det_of_singular_matrices_has_cofactors(a):
    a = np.asarray(a)
    cofactors = [
        [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(len(a))]
        for i in range(len(a))
    ]
    np.testing.assert_allclose(gradient(p.det, a), cofactors, rtol=1e-6, atol=1e-6)


def test_second_derivative_of_a_singular_det():
    """det of 2 x 2 is a d - b c: the jvp of the gradient exchanges d and a, b and c."""
    graph = graph_of(p.det, [np.ones((2, 2))])
    first, _ = jvp(graph, (True,))
    second, _ = jvp(first, (True, False))
    a, t, s = np.ones((2, 2)), random(2, 2), random(2, 2, seed=1)
    wanted = t[0, 0] * s[1, 1] + t[1, 1] * s[0, 0] - t[0, 1] * s[1, 0] - t[1, 0] * s[0, 1]
    np.testing.assert_allclose(evaluate(second, [a, t, s])[-1], wanted, rtol=1e-6, atol=1e-6)


def by_vectors_of_eigh(a):
    w, v = p.eigh(a)
    return projected(v, w)


def by_vectors_of_svd(a):
    u, s, vh = p.svd(a)
    return lm.matmul(lm.scale_columns(u, s), vh)


SAME = np.eye(3)


@pytest.mark.parametrize(
    "fun, a",
    [
        (p.eigvalsh, SAME),
        (lambda a: p.eigh(a)[0], SAME),
        (lambda a: p.svd(a)[1], SAME),
        (lambda a: p.svd(a, compute_uv=False), SAME),
    ],
)
def test_equal_values_have_derivatives(fun, a):
    np.testing.assert_allclose(gradient(fun, a), np.eye(3), atol=1e-12)


@pytest.mark.parametrize(
    "fun, a",
    [
        (by_vectors_of_eigh, SAME),
        (by_vectors_of_svd, SAME),
        (by_vectors_of_svd, np.diag([3.0, 2, 0])[:, [0, 2]]),
        (by_vectors_of_svd, np.zeros((2, 2))),
    ],
)
def test_vectors_of_equal_values_have_nan_not_a_wrong_number(fun, a):
    """Both functions give back a, so that the gradient would be ones."""
    found = gradient(fun, a)
    assert np.isnan(found).any()
    assert not (np.isfinite(found) & (np.abs(found - 1) > 1e-9)).any()


@pytest.mark.parametrize("a", [np.diag([3.0, 2, 0]), np.diag([3.0, 2, 1]) + 1e-9])
def test_vectors_of_different_values_have_derivatives(a):
    np.testing.assert_allclose(gradient(by_vectors_of_eigh, a), np.ones((3, 3)), atol=1e-9)
    np.testing.assert_allclose(gradient(by_vectors_of_svd, a), np.ones((3, 3)), atol=1e-9)


TORCH = {
    "cholesky": (p.cholesky, torch.linalg.cholesky, definite(3, 3)),
    "eigvalsh": (p.eigvalsh, torch.linalg.eigvalsh, definite(3, 3)),
    "det": (p.det, torch.linalg.det, random(3, 3)),
    "inv": (p.inv, torch.linalg.inv, random(2, 3, 3)),
    "svdvals": (lambda a: p.svd(a, compute_uv=False), torch.linalg.svdvals, random(4, 3)),
    "logdet": (lambda a: p.slogdet(a)[1], lambda a: torch.linalg.slogdet(a)[1], random(3, 3)),
    "r": (lambda a: p.qr(a)[1], lambda a: torch.linalg.qr(a)[1], random(4, 3)),
}


@pytest.mark.parametrize("name", TORCH)
def test_gradients_as_torch(name):
    ours, theirs, a = TORCH[name]
    leaf = torch.tensor(a, requires_grad=True)
    theirs(leaf).sum().backward()
    np.testing.assert_allclose(gradient(ours, a), leaf.grad.numpy(), rtol=1e-9, atol=1e-9)


# ---- batching with a matrix in common ------------------------------------------------------------


@pytest.mark.parametrize("left", [True, False])
def test_one_matrix_for_many_right_sides_is_solved_once(left):
    a, b = random(3, 3) + 3 * np.eye(3), random(*((3, 2) if left else (2, 3)))
    graph = graph_of(lambda a, b: p.triangular_solve(a, b, lower=True, left_side=left), [a, b])
    batched, _ = batch(graph, Axis(7), (None, 0))
    (node,) = [n for n in batched.nodes if n.primitive.name == "triangular_solve"]
    assert batched.avals[node.inputs[0]].shape == (3, 3)
    assert batched.avals[node.inputs[1]].size == 7 * b.size


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32", "bool"])
@pytest.mark.parametrize("name", UNARY)
def test_dtypes_that_lapack_lacks(name, dtype):
    with pytest.raises(TypeError, match=f"takes float32, float64, complex64 or .*{dtype}"):
        graph_of(UNARY[name], [np.zeros((2, 2), dt.canonical(dtype))])


@pytest.mark.parametrize("name", sorted(UNARY.keys() - set(RECTANGULAR)))
def test_rectangles_where_squares_are_due(name):
    with pytest.raises(ValueError, match=r"takes square matrices, got float64\[2,3\]"):
        graph_of(UNARY[name], [np.zeros((2, 3))])


@pytest.mark.parametrize("name", UNARY)
def test_vectors_are_no_matrices(name):
    with pytest.raises(ValueError, match="at least 2 dimensions"):
        graph_of(UNARY[name], [np.zeros(3)])


def lower_solve(a, b):
    return p.triangular_solve(a, b, lower=True)


@pytest.mark.parametrize(
    "fun, a, b, error, message",
    [
        (p.solve, (3, 3), (2, 2), ValueError, "takes b with 3 rows"),
        (p.solve, (3, 3), (2, 3, 2), ValueError, "equal leading dimensions"),
        (lower_solve, (3, 3), (2, 2), ValueError, "takes b with 3 rows"),
        (lower_solve, (2, 3, 3), (3, 2), ValueError, "equal leading dimensions"),
        (p.householder_product, (2, 3), (2,), ValueError, "m >= n >= k"),
        (p.householder_product, (3, 2), (3,), ValueError, "m >= n >= k"),
    ],
)
def test_shapes_that_do_not_fit(fun, a, b, error, message):
    with pytest.raises(error, match=message):
        graph_of(fun, [np.zeros(a), np.zeros(b)])


def test_dtypes_that_do_not_fit():
    with pytest.raises(TypeError, match="one dtype"):
        graph_of(p.solve, [np.zeros((2, 2)), np.zeros((2, 2), np.float32)])


@pytest.mark.parametrize(
    "fun, shape, message",
    [
        (lambda a: p.qr(a, full_matrices=True), (3, 2), "use full_matrices=False"),
        (lambda a: p.svd(a, full_matrices=True), (3, 2), "use full_matrices=False"),
        (p.schur, (3, 3), "differentiate eig"),
        (p.geqrf, (3, 3), "differentiate qr"),
    ],
)
def test_what_has_no_derivative_says_so(fun, shape, message):
    with pytest.raises(NotImplementedError, match=message):
        jvp(graph_of(fun, [np.zeros(shape)]), (True,))


# ---- CUDA ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cuda():
    try:
        return xla.deviceless_cuda_compiler()
    except xla.CudaUnavailable as error:
        pytest.skip(str(error))


CUDA = [
    (p.cholesky, (2, 3, 3), "cusolver_potrf_ffi"),
    (p.lu, (2, 4, 3), "cusolver_getrf_ffi"),
    (p.qr, (2, 4, 3), "cusolver_orgqr_ffi"),
    (p.svd, (4, 3), "cusolver_gesvd_ffi"),
    (p.svd, (2, 3, 4), "cusolver_gesvd_ffi"),
    (p.eigh, (2, 3, 3), "cusolver_syevd_ffi"),
    (lambda a: p.eig(a, left=True), (3, 3), "cusolver_geev_ffi"),
    (p.inv, (3, 3), "triangularSolve"),
]


def cuda_lowering(fun, shape, dtype):
    def flat(a):
        out = fun(a)
        return out if isinstance(out, (list, tuple)) else (out,)

    return lower(trace_closed(flat, [aval(shape, np.dtype(dtype))]), "cuda").text


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("fun, shape, target", CUDA)
def test_lowers_for_cuda(fun, shape, target, dtype):
    """Names and shapes in the text; that it compiles is the next test."""
    found = re.findall(r"custom_call @(\w+)|\"stablehlo\.(\w+)\"", cuda_lowering(fun, shape, dtype))
    names = {a or b for a, b in found}
    assert ("triangular_solve" if target == "triangularSolve" else target) in names
    assert not any(name.startswith("lapack") for name in names)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("fun, shape, target", CUDA)
def test_compiles_for_cuda(cuda, fun, shape, target, dtype):
    assert target in cuda.compile(cuda_lowering(fun, shape, dtype)).hlo_text()


def test_real_eigenvectors_come_in_two_columns_on_cuda():
    """The unpacking of pairs, on what LAPACK packs the same way."""
    from functorch_core.primitives.linalg_spectral import _left_of_right, _unpacked_pairs

    a = random(5, 5)
    real, imaginary, _, packed, _ = scipy.linalg.lapack.dgeev(a)
    w = real + 1j * imaginary
    (v,) = both(_unpacked_pairs, w, packed)
    near(a @ v, v * w)
    (vl,) = both(_left_of_right, v)
    near(adjoint(vl) @ a, w[:, None] * adjoint(vl))
    near(np.linalg.norm(vl, axis=0), np.ones(5))


def test_schur_is_lapacks_alone():
    with pytest.raises(NotImplementedError, match="cuSOLVER has none"):
        cuda_lowering(p.schur, (3, 3), "float32")


def test_the_native_cholesky_of_other_platforms():
    """XLA's own lowering, which neither CPU nor CUDA uses."""
    text = lower(graph_of(p.cholesky, [definite(3, 3)]), "other").text
    assert '"stablehlo.cholesky"' in text
    exe = xla.compile(text, inputs=[aval((3, 3), dt.float64)], outputs=[aval((3, 3), dt.float64)], cache=False)
    near(xla.to_numpy(exe([xla.put(definite(3, 3))])[0]), np.linalg.cholesky(definite(3, 3)))


def test_check_lowering_of_a_backward_pass():
    """The backward pass of a composition compiles to what the references compute."""
    graph = graph_of(lambda a: p.reduce_sum(p.inv(hermitian(a)), axes=(0, 1)), [random(4, 4)])
    v = vjp(graph, (True,))
    outs = evaluate(v.forward, [random(4, 4)])
    check_lowering(v.backward, [*outs[1:], np.float64(1)], 1e-10)
