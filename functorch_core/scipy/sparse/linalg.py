"""jax.scipy.sparse.linalg: iterative solvers of linear equations of pytrees.

A is a function of a pytree, or a matrix; only products with it are needed. Derivatives are by solves.
"""

from __future__ import annotations

import functorch_core as fc

from ...array.compose import missing_name
from ...core.explain import explaining
from ...flatten_util import ravel_pytree
from ...lax.control import custom_linear_solve

SQUARE = "{name}: A takes and gives pytrees of one structure and shapes; A(x) is {found}, b is {wanted}"


# ---- pytrees as vectors --------------------------------------------------------------------------


def _dot(x, y):
    """The sum of conjugated products of all elements."""
    terms = [fc.sum(fc.conj(a) * b) for a, b in zip(fc.tree.leaves(x), fc.tree.leaves(y))]
    return sum(terms[1:], terms[0])


def _square(x):
    return fc.real(_dot(x, x))


def _add(x, y):
    return fc.tree.map(lambda a, b: a + b, x, y)


def _sub(x, y):
    return fc.tree.map(lambda a, b: a - b, x, y)


def _times(factor, x):
    return fc.tree.map(lambda a: (factor * a).astype(a.dtype), x)


def _operator(A):
    return A if callable(A) else lambda x: A @ x


def _solve(name: str, loop, A, b, x0, tol, atol, maxiter, M, symmetric: bool):
    """(x, None) by a loop(A, b, x0, tolerance, maxiter, M), with derivatives by loops."""
    A, M = _operator(A), (lambda x: x) if M is None else _operator(M)
    b = fc.tree.map(fc.asarray, b)
    x0 = fc.tree.map(fc.zeros_like, b) if x0 is None else fc.tree.map(fc.asarray, x0)
    shapes = [[v.shape for v in fc.tree.leaves(t)] for t in (x0, b)]
    if shapes[0] != shapes[1] or fc.tree.structure(x0) != fc.tree.structure(b):
        raise ValueError(f"{name}: x0 has shapes {shapes[0]}, b has {shapes[1]}; they are the same")
    maxiter = 10 * sum(v.size for v in fc.tree.leaves(b)) if maxiter is None else int(maxiter)

    def solve(matvec, right, start=None):
        limit = fc.maximum(tol**2 * _square(right), atol**2)
        return loop(matvec, right, fc.tree.map(fc.zeros_like, right) if start is None else start, limit, maxiter, M)

    leaves, structure = fc.tree.flatten(b)
    if len(leaves) != 1:  # the derivative's rule is of one vector
        right, unravel = ravel_pytree(b)
        flat = lambda v: ravel_pytree(A(unravel(v)))[0]  # noqa: E731
        inner = lambda v: ravel_pytree(M(unravel(v)))[0]  # noqa: E731
        out, info = _solve(name, loop, flat, right, ravel_pytree(x0)[0], tol, atol, maxiter, inner, symmetric)
        return unravel(out), info
    matvec = lambda v: fc.tree.leaves(A(structure.unflatten([v])))[0]  # noqa: E731
    inside = M
    M = lambda v: fc.tree.leaves(inside(structure.unflatten([v])))[0]  # noqa: E731
    start = fc.tree.leaves(x0)[0]
    found = custom_linear_solve(
        matvec, leaves[0], lambda mv, r: solve(mv, r, start), lambda mv, r: solve(mv, r), symmetric=symmetric
    )
    return structure.unflatten([found]), None


# ---- conjugate gradients -------------------------------------------------------------------------


def _cg(A, b, x, limit, maxiter: int, M):
    residual = _sub(b, A(x))
    direction = M(residual)
    state = (x, residual, fc.real(_dot(residual, direction)), direction, fc.asarray(0))

    def unfinished(state):
        _, residual, _, _, k = state
        return (_square(residual) > limit) & (k < maxiter)

    def step(state):
        x, residual, gamma, direction, k = state
        along = A(direction)
        alpha = gamma / fc.real(_dot(direction, along))
        x, residual = _add(x, _times(alpha, direction)), _sub(residual, _times(alpha, along))
        z = M(residual)
        following = fc.real(_dot(residual, z))
        return x, residual, following, _add(z, _times(following / gamma, direction)), k + 1

    return fc.while_loop(unfinished, step, state)[0]


@explaining
def cg(A, b, x0=None, *, tol=1e-5, atol=0.0, maxiter=None, M=None):
    """(x, None) with A x = b for symmetric positive definite A, by conjugate gradients.

    Until the residual is below max(tol * |b|, atol). M is an approximate inverse of A.

    >>> from functorch_core.scipy.sparse import linalg
    >>> import functorch_core as fc
    >>> linalg.cg(fc.asarray([[4., 1.], [1., 3.]]), fc.asarray([1., 2.]))[0].round(3)
    Array([0.091, 0.636], dtype=float32)
    """
    return _solve("cg", _cg, A, b, x0, tol, atol, maxiter, M, symmetric=True)


# ---- BiCGSTAB ------------------------------------------------------------------------------------


def _bicgstab(A, b, x, limit, maxiter: int, M):
    residual = _sub(b, A(x))
    one = fc.ones((), dtype=fc.tree.leaves(b)[0].dtype)
    zero = fc.tree.map(fc.zeros_like, residual)
    state = (x, residual, residual, one, one, one, zero, zero, fc.asarray(0), fc.asarray(False))

    def unfinished(state):
        return (_square(state[1]) > limit) & (state[8] < maxiter) & ~state[9]

    def step(state):
        x, r, shadow, rho_before, alpha, omega, p, q, k, _ = state
        rho = _dot(shadow, r)
        beta = rho / rho_before * alpha / omega
        p = _add(r, _times(beta, _sub(p, _times(omega, q))))
        p_hat = M(p)
        q = A(p_hat)
        alpha = rho / _dot(shadow, q)
        s = _sub(r, _times(alpha, q))
        s_hat = M(s)
        t = A(s_hat)
        early = _square(s) < limit
        size = _dot(t, t)
        omega = fc.where(
            early | (size == 0), fc.zeros_like(rho), _dot(t, s) / fc.where(size == 0, fc.ones_like(size), size)
        )
        x = _add(x, _add(_times(alpha, p_hat), _times(omega, s_hat)))
        r = _sub(s, _times(omega, t))
        broken = (rho == 0) | ((omega == 0) & ~early)
        return x, r, shadow, rho, alpha, fc.where(omega == 0, fc.ones_like(omega), omega), p, q, k + 1, broken

    return fc.while_loop(unfinished, step, state)[0]


@explaining
def bicgstab(A, b, x0=None, *, tol=1e-5, atol=0.0, maxiter=None, M=None):
    """(x, None) with A x = b for any A, by stabilised biconjugate gradients; see cg.

    >>> from functorch_core.scipy.sparse import linalg
    >>> import functorch_core as fc
    >>> linalg.bicgstab(fc.asarray([[4., 1.], [2., 3.]]), fc.asarray([1., 2.]))[0].round(3)
    Array([0.1, 0.6], dtype=float32)
    """
    return _solve("bicgstab", _bicgstab, A, b, x0, tol, atol, maxiter, M, symmetric=False)


# ---- GMRES ---------------------------------------------------------------------------------------


def _gmres(restart: int):
    def loop(A, b, x, limit, maxiter: int, M):
        n = min(restart, b.size)

        def cycle(state):
            x, k, _ = state
            residual = M(b - A(x))
            x = x + _krylov(lambda v: M(A(v)), residual, n)
            return x, k + 1, _square(b - A(x))

        start = (x, fc.asarray(0), _square(b - A(x)))
        return fc.while_loop(lambda s: (s[2] > limit) & (s[1] < maxiter), cycle, start)[0]

    return loop


def _krylov(A, residual, n: int):
    """The step in the Krylov space of n products that makes the residual least (Arnoldi)."""
    size = fc.sqrt(_square(residual))
    flat = fc.ravel(residual)
    basis = fc.zeros((n + 1, flat.size), dtype=flat.dtype)
    basis = basis.at[0].set(
        fc.where(size == 0, fc.zeros_like(flat), flat / fc.where(size == 0, fc.ones_like(size), size))
    )
    columns = fc.zeros((n + 1, n), dtype=flat.dtype)
    eps = float(fc.finfo(flat.dtype).eps)

    def step(state, k):
        basis, columns = state
        v = fc.ravel(A(fc.reshape(basis[k], residual.shape)))
        length = fc.sqrt(_square(v))
        h = fc.conj(basis) @ v
        v = v - h @ basis
        again = fc.conj(basis) @ v  # once more: rounding
        v = v - again @ basis
        norm = fc.sqrt(_square(v))
        ended = norm <= 10 * eps * length
        v = fc.where(ended, fc.zeros_like(v), v / fc.where(ended, fc.ones_like(norm), norm))
        norm = fc.where(ended, fc.zeros_like(norm), norm)
        column = (h + again).at[k + 1].set(norm.astype(h.dtype))
        return (basis.at[k + 1].set(v), columns.at[:, k].set(column)), None

    basis, columns = fc.scan(step, (basis, columns), fc.arange(n))[0]
    right = fc.zeros(n + 1, dtype=flat.dtype).at[0].set(size.astype(flat.dtype))
    y = fc.linalg.lstsq(columns, right).solution
    return fc.reshape(y @ basis[:n], residual.shape)


@explaining
def gmres(A, b, x0=None, *, tol=1e-5, atol=0.0, restart=20, maxiter=None, M=None, solve_method="batched"):
    """(x, None) with A x = b for any A, by GMRES, begun anew after `restart` products; see cg.

    solve_method is JAX's choice between two forms of one thing.

    >>> from functorch_core.scipy.sparse import linalg
    >>> import functorch_core as fc
    >>> linalg.gmres(fc.asarray([[4., 1.], [2., 3.]]), fc.asarray([1., 2.]))[0].round(3)
    Array([0.1, 0.6], dtype=float32)
    """
    if solve_method not in ("batched", "incremental"):
        raise ValueError(f"gmres: solve_method is 'batched' or 'incremental', got {solve_method!r}")
    return _solve("gmres", _gmres(int(restart)), A, b, x0, tol, atol, maxiter, M, symmetric=False)


__getattr__ = missing_name("scipy.sparse.linalg", {"spsolve": "Use fc.linalg.solve, or an iterative solver."})

__all__ = ["bicgstab", "cg", "gmres"]
