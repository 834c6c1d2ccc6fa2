"""Python control flow on values under eager derivatives, where the values are known."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core as fc
from functorch_core.core.errors import ConcretizationError


def cube_or_negative(x):
    return x**3 if x > 0 else -x


DERIVATIVES = {
    "grad": lambda f, x: fc.grad(f)(x),
    "value_and_grad": lambda f, x: fc.value_and_grad(f)(x)[1],
    "jvp": lambda f, x: fc.jvp(f, (x,), (1.0,))[1],
    "vjp": lambda f, x: fc.vjp(f, x)[1](1.0)[0],
    "linearize": lambda f, x: fc.linearize(f, x)[1](fc.asarray(1.0)),
    "jacfwd": lambda f, x: fc.jacfwd(f)(x),
    "jacrev": lambda f, x: fc.jacrev(f)(x),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_branches_on_the_value(name):
    assert DERIVATIVES[name](cube_or_negative, 2.0).item() == 12.0
    assert DERIVATIVES[name](cube_or_negative, -2.0).item() == -1.0


def test_in_any_nesting():
    assert fc.grad(fc.grad(cube_or_negative))(2.0).item() == 12.0
    assert fc.hessian(cube_or_negative)(2.0).item() == 12.0
    assert fc.jvp(fc.grad(cube_or_negative), (2.0,), (1.0,))[1].item() == 12.0

    def closes_over(x):
        return fc.grad(lambda y: x * y**2 if x * y > 0 else -y)(x)

    assert fc.grad(closes_over)(3.0).item() == 12.0  # of 2 x y at y = x: 4 x


def test_loops_until_converged():
    def newton(a):
        root = a
        while abs(root * root - a) > 1e-9:
            root = 0.5 * (root + a / root)
        return root

    np.testing.assert_allclose(fc.grad(newton)(fc.asarray(4.0, dtype=fc.float64)).item(), 0.25, rtol=1e-6)


def test_integers_masks_and_slices():
    x = fc.asarray([1.0, -2.0, 3.0])
    assert fc.grad(lambda x: x[x > 0].sum())(x).tolist() == [1.0, 0.0, 1.0]
    assert fc.grad(lambda x: x[: (x > 0).sum()].sum())(x).tolist() == [1.0, 1.0, 0.0]
    assert fc.grad(lambda x: x * int(x))(3.0).item() == 3.0
    assert fc.grad(lambda x: x * (x > 1).astype(fc.int32).item())(3.0).item() == 1.0
    assert fc.grad(lambda x: sum(x[i] for i in range(fc.argmax(x).item())))(x).tolist() == [1, 1, 0]


@pytest.mark.parametrize("f", [lambda x: x * float(x), lambda x: x * x.item(), lambda x: x * np.asarray(x)])
def test_a_number_that_would_lose_its_derivative_is_refused(f):
    with pytest.raises(ConcretizationError):
        fc.grad(f)(3.0)


REFUSED = {
    "jit": lambda: fc.jit(fc.grad(cube_or_negative))(1.0),
    "jit inside": lambda: fc.grad(fc.jit(cube_or_negative))(1.0),
    "vmap": lambda: fc.vmap(fc.grad(cube_or_negative))(fc.ones(2)),
    "vmap inside": lambda: fc.grad(lambda x: fc.vmap(cube_or_negative)(x).sum())(fc.ones(2)),
    "loop": lambda: fc.grad(lambda x: fc.scan(lambda c, _: (cube_or_negative(c), None), x, None, length=2)[0])(1.0),
    "checkpoint": lambda: fc.grad(fc.checkpoint(cube_or_negative))(1.0),
    "linear_transpose": lambda: fc.linear_transpose(cube_or_negative, 1.0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_where_the_value_is_not_known(name):
    with pytest.raises(ConcretizationError, match="`if`"):
        REFUSED[name]()


def test_effects_run_once_and_in_order(capfd):
    def f(x):
        fc.debug.print("x = {}", x)
        return x * 2 if x * 3 > 0 else x

    fc.grad(f)(1.0)
    assert capfd.readouterr().out == "x = 1.0\n"
    fc.debug.print("{} then", 1)
    print("after")
    assert capfd.readouterr().out == "1 then\nafter\n"
