"""jax.lax's control flow, collectives, solvers with rules of their own, and what programs wait for."""

from __future__ import annotations

import enum
import functools

import functorch_core as fc
from functorch_core import (
    all_gather,
    all_to_all,
    associative_scan,
    axis_index,
    axis_size,
    cond,
    fori_loop,
    map,
    pbroadcast,
    pmax,
    pmean,
    pmin,
    ppermute,
    pshuffle,
    psum,
    psum_scatter,
    pswapaxes,
    scan,
    switch,
    while_loop,
)

from .. import xla
from ..array.linear import linear_call
from ..core.explain import explaining
from ..core.tree import map_arrays


class Precision(enum.Enum):
    """JAX's precisions of products. Here they are computed in the operands' dtype."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2


class DotDimensionNumbers(tuple):
    """((contracted of lhs, of rhs), (batch of lhs, of rhs)): what dot_general takes."""


@explaining
def platform_dependent(*args, default=None, **per_platform):
    """The function of the platform that the program runs on, or `default`, of args.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.platform_dependent(1., cpu=fc.sin, default=fc.cos) is not None
    True
    """
    platform = xla.default_device().platform
    names = {"cuda": ("cuda", "gpu"), "gpu": ("cuda", "gpu")}.get(platform, (platform,))
    for name in names:
        if name in per_platform:
            return per_platform[name](*args)
    if default is None:
        raise NotImplementedError(
            f"platform_dependent: there is no function for {platform}\n    Give one as default=..."
        )
    return default(*args)


def composite(decomposition, name, version=0):
    """The function itself, which has a name.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.composite(lambda x: x * 2, "my.double")(fc.asarray(1.))
    Array(2., dtype=float32)
    """

    @functools.wraps(decomposition)
    def call(*args, **kwargs):
        return decomposition(*args, **kwargs)

    call.__name__ = name
    return call


def create_token(_=None):
    """A token: operations run in the order of the program, so that nothing has to wait for one.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.create_token()
    Array([], shape=(0,), dtype=float32)
    """
    return fc.zeros(0)


def after_all(*operands):
    """A token after others.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> lax.after_all(lax.create_token())
    Array([], shape=(0,), dtype=float32)
    """
    return create_token()


def dce_sink(val, *, prevent_mlir_dce=False):
    """Nothing: a value that is computed for it need not be.

    >>> from functorch_core import lax
    >>> lax.dce_sink(1.)
    """


# ---- solvers -------------------------------------------------------------------------------------


@explaining
def custom_linear_solve(matvec, b, solve, transpose_solve=None, symmetric=False, has_aux=False):
    """solve(matvec, b): the x with matvec(x) = b, with derivatives by linear solves.

    matvec is linear. transpose_solve(vecmat, ct) solves the transposed equation, which reverse mode
    needs; of a symmetric matvec solve does. has_aux: solve returns (x, anything).

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> a = fc.asarray([[2., 0.], [0., 4.]])
    >>> lax.custom_linear_solve(lambda x: a @ x, fc.ones(2), lambda mv, b: fc.linalg.solve(a, b), symmetric=True)
    Array([0.5 , 0.25], dtype=float32)
    """
    if transpose_solve is None and symmetric:
        transpose_solve = solve
    matvec, values = fc.closure_convert(matvec, b)
    forwards, seen = fc.closure_convert(lambda b: solve(lambda x: matvec(x, *values), b), b)
    backwards, seen_back = _no_transpose, []
    if transpose_solve is not None:
        backwards, seen_back = fc.closure_convert(lambda ct: _back(transpose_solve, matvec, values, ct, has_aux), b)

    inner = _solver(matvec, (lambda b, *seen: forwards(b, *seen)[0]) if has_aux else forwards, backwards, symmetric)

    @fc.custom_jvp
    def solved(values, seen, seen_back, b):
        return forwards(b, *seen)

    @solved.defjvp
    def _(primals, tangents):
        out = solved(*primals)
        change = _change(matvec, inner, primals, tangents, out[0] if has_aux else out)
        return out, (change, fc.tree.map(fc.zeros_like, out[1])) if has_aux else change

    return solved(list(values), list(seen), list(seen_back), b)


def _change(matvec, solved, primals, tangents, x):
    """How a solution changes: A dx = db - dA x."""
    values, seen, seen_back, _ = primals
    off = tangents[3]
    if values:
        _, moved = fc.jvp(lambda *vs: matvec(x, *vs), tuple(values), tuple(tangents[0]))
        off = fc.tree.map(fc.subtract, off, moved)
    return solved(values, seen, seen_back, off)


def _solver(matvec, there, back, symmetric: bool, transposed=None):
    """The solution as a linear function of b, with a transpose that is a solver, too."""

    def matvec_of_transpose(ct, *values):
        return fc.linear_transpose(lambda v: matvec(v, *values), ct)(ct)[0]

    if transposed is None:
        turned = matvec if symmetric else matvec_of_transpose
        transposed = _solver(turned, back, there, symmetric, lambda values, seen, seen_back, b: there(b, *seen))

    @fc.custom_jvp
    def solved(values, seen, seen_back, b):
        return linear_call(
            lambda rest, b: there(b, *rest[1]),
            lambda rest, ct: transposed(rest[0], rest[2], rest[1], ct),
            (values, seen, seen_back),
            b,
        )

    @solved.defjvp
    def _(primals, tangents):
        x = solved(*primals)
        return x, _change(matvec, solved, primals, tangents, x)

    return solved


def _no_transpose(ct):
    raise TypeError("custom_linear_solve: reverse mode needs transpose_solve=..., or symmetric=True")


def _back(transpose_solve, matvec, values, ct, has_aux):
    """The solution of the transposed equation."""
    transpose = fc.linear_transpose(lambda v: matvec(v, *values), ct)
    out = transpose_solve(lambda v: transpose(v)[0], ct)
    return out[0] if has_aux else out


@explaining
def custom_root(f, initial_guess, solve, tangent_solve, has_aux=False):
    """solve(f, initial_guess): a root of f, with derivatives by the implicit function theorem.

    tangent_solve(g, y) solves the linear g(x) = y.

    >>> import functorch_core as fc
    >>> from functorch_core import lax
    >>> newton = lambda f, x: fc.fori_loop(0, 20, lambda _, x: x - f(x) / fc.grad(f)(x), x)
    >>> root = lambda a: lax.custom_root(lambda x: x ** 2 - a, fc.asarray(1.), newton, lambda g, y: y / g(1.))
    >>> root(fc.asarray(4.)), fc.grad(root)(fc.asarray(4.))
    (Array(2., dtype=float32), Array(0.25, dtype=float32))
    """
    initial_guess = map_arrays(fc.asarray, initial_guess)
    f, values = fc.closure_convert(f, initial_guess)
    solved, seen = fc.closure_convert(lambda guess: solve(lambda x: f(x, *values), guess), initial_guess)
    tangent, seen_too = fc.closure_convert(
        lambda x, off: tangent_solve(fc.linearize(lambda v: f(v, *values), x)[1], off), initial_guess, initial_guess
    )

    @fc.custom_jvp
    def root(values, seen, seen_too, guess):
        return solved(guess, *seen)

    def rule(primals, tangents):
        values, _, seen_too, _ = primals
        found = root(*primals)
        x = found[0] if has_aux else found
        change = fc.tree.map(fc.zeros_like, x)
        if values:
            _, off = fc.jvp(lambda *vs: f(x, *vs), tuple(values), tuple(tangents[0]))
            change = fc.tree.map(fc.negative, tangent(x, off, *seen_too))
        return (found, (change, fc.tree.map(fc.zeros_like, found[1]))) if has_aux else (found, change)

    root.defjvp(rule)
    return root(list(values), list(seen), list(seen_too), initial_guess)


__all__ = [
    "DotDimensionNumbers", "Precision", "after_all", "all_gather", "all_to_all", "associative_scan", "axis_index",
    "axis_size", "composite", "cond", "create_token", "custom_linear_solve", "custom_root", "dce_sink", "fori_loop",
    "map", "pbroadcast", "platform_dependent", "pmax", "pmean", "pmin", "ppermute", "pshuffle", "psum",
    "psum_scatter", "pswapaxes", "scan", "switch", "while_loop",
]  # fmt: skip
