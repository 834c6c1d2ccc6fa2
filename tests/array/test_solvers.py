"""custom_linear_solve and custom_root: derivatives of both modes and of second order, those of the solution itself."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core as fc
import functorch_core.numpy as jnp
from functorch_core import lax
from functorch_core.scipy.sparse.linalg import cg

A = np.array([[3.0, 1.0, 0.5], [1.0, 4.0, 0.2], [0.1, 0.3, 5.0]])
B = np.array([1.0, 2.0, 3.0])


def by_inverse(a, b):
    """Of a solver that has no derivative of its own."""
    inverse = jnp.linalg.inv(lax.stop_gradient(a))
    return lax.custom_linear_solve(lambda x: a @ x, b, lambda mv, b: inverse @ b, lambda vm, b: inverse.T @ b)


def by_iteration(a, b):
    """Of a loop of unknown length, which reverse mode cannot go through."""
    return lax.custom_linear_solve(lambda x: a @ x, b, lambda mv, b: cg(mv, b, maxiter=30)[0], symmetric=True)


def direct(a, b):
    return fc.linalg.solve(a, b)


DERIVATIVES = {
    "value": lambda f: f,
    "grad": lambda f: fc.grad(lambda a, b: (f(a, b) ** 3).sum(), argnums=(0, 1)),
    "jvp": lambda f: lambda a, b: fc.jvp(f, (a, b), (a * a, fc.sin(b))),
    "jacfwd": lambda f: fc.jacfwd(f, argnums=1),
    "jacrev": lambda f: fc.jacrev(f),
    "hessian by a": lambda f: fc.hessian(lambda a, b: f(a, b).sum() ** 2),
    "grad of grad": lambda f: fc.grad(
        lambda a, b: (fc.grad(lambda a, b: (f(a, b) ** 3).sum(), argnums=1)(a, b) ** 2).sum()
    ),
    "vmap": lambda f: lambda a, b: fc.vmap(f, in_axes=(None, 0))(a, fc.stack([b, 2 * b])),
    "vmap by a": lambda f: lambda a, b: fc.vmap(f, in_axes=(0, None))(fc.stack([a, 2 * a]), b),
    "vmap of grad": lambda f: lambda a, b: fc.vmap(fc.grad(lambda b: (f(a, b) ** 2).sum()))(fc.stack([b, 2 * b])),
}


@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("solver", [by_inverse, by_iteration])
def test_linear_solve(name, solver):
    a = A + A.T if solver is by_iteration else A
    if solver is by_iteration:  # the derivative by a symmetric matrix, as its symmetric part
        given, wanted = (lambda a, b, f=f: f((a + a.T) / 2, b) for f in (solver, direct))
    else:
        given, wanted = solver, direct
    found = fc.jit(DERIVATIVES[name](given))(fc.asarray(a), fc.asarray(B))
    for x, y in zip(fc.tree.leaves(found), fc.tree.leaves(DERIVATIVES[name](wanted)(fc.asarray(a), fc.asarray(B)))):
        np.testing.assert_allclose(x, y, rtol=1e-7, atol=1e-9)


def test_trees_and_aux():
    def solve(mv, b):
        return fc.tree.map(lambda v: v / 2, b), {"steps": fc.asarray(3)}

    def solved(b):
        return lax.custom_linear_solve(lambda x: fc.tree.map(lambda v: 2 * v, x), b, solve, solve, has_aux=True)

    b = {"x": fc.asarray([1.0, 2.0]), "y": (fc.asarray(3.0),)}
    x, aux = solved(b)
    assert x["x"].tolist() == [0.5, 1] and float(x["y"][0]) == 1.5 and int(aux["steps"]) == 3
    slope, aux = fc.grad(lambda b: (solved(b)[0]["x"].sum() * solved(b)[0]["y"][0], solved(b)[1]), has_aux=True)(b)
    assert slope["x"].tolist() == [0.75, 0.75] and float(slope["y"][0]) == 0.75 and int(aux["steps"]) == 3
    with pytest.raises(TypeError, match="transpose_solve"):
        fc.grad(lambda b: lax.custom_linear_solve(lambda x: 2 * x, b, lambda mv, b: b / 2))(1.0)


def test_root():
    def newton(f, x):
        return lax.fori_loop(0, 30, lambda _, x: x - f(x) / fc.grad(f)(x), x)

    def root(a):
        return lax.custom_root(lambda x: x**2 - a, fc.asarray(1.0, dtype="float64"), newton, lambda g, y: y / g(1.0))

    a = fc.asarray(np.float64(3))
    for f, wanted in [
        (root, 3**0.5),
        (fc.grad(root), 0.5 * 3**-0.5),
        (fc.grad(fc.grad(root)), -0.25 * 3**-1.5),
        (lambda a: fc.jvp(root, (a,), (a,))[1], 1.5 * 3**-0.5),
    ]:
        np.testing.assert_allclose(f(a), wanted, rtol=1e-6)
        np.testing.assert_allclose(fc.jit(f)(a), wanted, rtol=1e-6)
    roots = fc.vmap(root)(fc.asarray([1.0, 4.0, 9.0], dtype="float64"))
    np.testing.assert_allclose(roots, [1, 2, 3], rtol=1e-9)
