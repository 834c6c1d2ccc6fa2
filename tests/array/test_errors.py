"""What a user sees of a mistake: what was called, expected, came, what to do; and where."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from types import FunctionType

import numpy as np
import pytest

import functorch_core as fc
from functorch_core.core.errors import ConcretizationError, LeakError
from functorch_core.tracebacks import hide

X = fc.asarray([1.0, 2.0, 3.0])


def cases(*rows):
    """Parameters: (call, type of the error, words its message has)."""
    return pytest.mark.parametrize("call, kind, words", rows)


# Whose messages tell in words of their own what was called: those of values, not of calls.
OF_VALUES = (ConcretizationError, LeakError, FloatingPointError)


def check(call, kind, words):
    """The message has the words, the call as it was written and a next step, and the traceback ends
    in this file."""
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    for word in words:
        assert word in message, f"{word!r} is not in:\n{message}"
    about, _, shown = message.partition("\n    The call was ")
    if not isinstance(caught.value, OF_VALUES):
        assert shown, f"the call is not in:\n{message}"
    assert "\n" in about or "; " in about or "A call that works" in shown or ("The function is" in shown), (
        f"no next step:\n{message}"
    )
    last = hide(caught.value).__traceback__
    while last.tb_next is not None:
        last = last.tb_next
    assert last.tb_frame.f_code.co_filename == __file__


# ---- shapes, dtypes, ranks, axes -----------------------------------------------------------------


@cases(
    (lambda: X + fc.ones(2), ValueError, ["add", "(3,), (2,)", "must be equal or 1", "[:, None]"]),
    (lambda: fc.ones((2, 3)) @ fc.ones((2, 3)), ValueError, ["matmul", "(2, 3)", "second to last"]),
    (lambda: fc.sum(X, axis=3), IndexError, ["sum", "axis 3", "1 dimensions"]),
    (lambda: X.reshape(2, 2), ValueError, ["reshape", "3 elements", "-1"]),
    (lambda: fc.concat([X, fc.ones((3, 1))]), ValueError, ["concat", "(3,), (3, 1)"]),
    (lambda: X[5], IndexError, ["x[5]", "out of bounds", "size 3"]),
    (lambda: X.at[7].set(0.0), IndexError, ["x[7]", "out of bounds"]),
    (lambda: X.__setitem__(0, 1.0), TypeError, ["immutable", "x.at[i].set(y)"]),
    (lambda: fc.zeros(3, dtype="float7"), TypeError, ["'float7'", "float32"]),
    (lambda: X & X, TypeError, ["bitwise_and", "float32"]),
    (lambda: fc.sin([1.0, 2.0]), TypeError, ["sin", "list", "fc.asarray"]),
    (lambda: bool(X), ValueError, ["one element", "float32[3]", ".any() or .all()"]),
    (lambda: fc.einsum("ij,jk->ik", X, X), ValueError, ["einsum('ij,jk->ik')", "(3,)"]),
    (lambda: fc.jit(lambda x: x + fc.ones(2))(X), ValueError, ["add", "(3,), (2,)"]),
)
def test_shapes_and_dtypes(call, kind, words):
    check(call, kind, words)


def test_python_tells_what_has_no_operator():
    with pytest.raises(TypeError, match="unsupported operand type.*'Array' and 'str'"):
        X + "a"


M, N = fc.ones((2, 3)), fc.asarray([1, 2])


@cases(
    (lambda: fc.vecdot(X, fc.ones(4)), ValueError, ["float32[3] and float32[4]", "axis -1"]),
    (lambda: fc.linalg.cholesky(M), ValueError, ["square", "fc.linalg.cholesky(float32[2,3])"]),
    (lambda: fc.broadcast_to(X, (2, 2)), ValueError, ["fc.broadcast_to(float32[3], (2, 2))"]),
    (lambda: fc.stack([X, M]), ValueError, ["fc.stack([float32[3], float32[2,3]])"]),
    (lambda: fc.concat([X, M]), ValueError, ["agree", "fc.concat([float32[3], float32[2,3]])"]),
    (lambda: fc.squeeze(X, axis=0), ValueError, ["size 1", "fc.squeeze(float32[3], axis=0)"]),
    (lambda: fc.split(X, 2), ValueError, ["2 equal parts", "fc.split(fc.arange(5), [2])"]),
    (lambda: fc.full((2,), X), ValueError, ["fc.full((2,), float32[3])", "fc.full((2, 2), 7)"]),
    # dtypes
    (lambda: fc.zeros(3, "float7"), TypeError, ["'float7'", "fc.zeros(3, 'float7')"]),
    (lambda: fc.take(M, X, axis=0), TypeError, ["indices are integers, got float32[3]"]),
    (lambda: fc.fft.rfft(X + 1j), TypeError, ["real array", "fc.fft.rfft(complex64[3])"]),
    (lambda: fc.ones(2, dtype=fc.int8) + 1000, OverflowError, ["1000", "int8", "x.astype"]),
    (lambda: fc.random.normal(3), TypeError, ["fc.random.key(seed)", "int64[]"]),
    (lambda: fc.random.key("a"), TypeError, ["integer as its seed, got 'a'"]),
    (lambda: fc.unique_values("a"), TypeError, ["got 'a' (str)"]),
    (lambda: fc.pow(N, -1), ValueError, ["integer", "fc.pow(int64[2], -1)"]),
    # ranks
    (lambda: fc.matmul(X, 2.0), ValueError, ["one or more dimensions", "multiply by a scalar"]),
    (lambda: fc.linalg.qr(X), ValueError, ["[..., m, n], got float32[3]", "fc.linalg.qr("]),
    (lambda: fc.outer(M, M), ValueError, ["one dimension", "fc.outer(float32[2,3], float32[2,3])"]),
    (lambda: fc.dynamic_slice(X, (0, 0), (1,)), ValueError, ["1 starts", "got 2"]),
    (lambda: X[0, 0], IndexError, ["x[0, 0]", "too many indices", "shape (3,)"]),
    # axes
    (lambda: fc.mean(X, axis=2), IndexError, ["axis 2", "from -1 to 0", "fc.mean(float32[3], axis=2)"]),
    (lambda: fc.sort(X, axis=-2), IndexError, ["sort: axis -2", "fc.sort(fc.asarray([3., 1., 2.]))"]),
    (lambda: fc.sum(fc.asarray(1.0), axis=1), IndexError, ["axis 1", "0 dimensions"]),
    (lambda: fc.permute_dims(M, (0, 0)), ValueError, ["(0, 0) are not a permutation of the 2"]),
    (lambda: fc.sort(X, axis="a"), TypeError, ["an axis is an int, got str"]),
    # arguments
    (lambda: fc.sum(X, q=1), TypeError, ["'q'", "fc.sum(float32[3], q=1)", "A call that works"]),
    (lambda: fc.sin(), TypeError, ["missing", "fc.sin()"]),
    (lambda: fc.arange(0, 3, 0), ValueError, ["step is not 0", "fc.arange(0, 3, 0)"]),
    (lambda: fc.asarray([[1], [1, 2]]), ValueError, ["ragged", "fc.asarray([[1], [1, 2]])"]),
)
def test_array_functions_show_the_call_and_one_that_works(call, kind, words):
    check(call, kind, words)


NAMESPACES = {"fc": fc, "fc.linalg": fc.linalg, "fc.fft": fc.fft, "fc.random": fc.random}
TRANSFORMS = {
    "all_gather",
    "all_to_all",
    "associative_scan",
    "axis_index",
    "axis_size",
    "block_until_ready",
    "checkpoint",
    "checkpoint_name",
    "cond",
    "debug_nans",
    "debug_infs",
    "device_get",
    "eval_shape",
    "fori_loop",
    "grad",
    "hessian",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "linear_transpose",
    "linearize",
    "make_graph",
    "map",
    "pbroadcast",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "pshuffle",
    "psum",
    "psum_scatter",
    "pswapaxes",
    "pure_callback",
    "remat",
    "scan",
    "stop_gradient",
    "switch",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
}
FUNCTIONS = [
    (space, name)
    for space, module in NAMESPACES.items()
    for name in dir(module)
    if isinstance(getattr(module, name), FunctionType)
    and not name.startswith("_")
    and (space != "fc" or name not in TRANSFORMS | fc._ENVIRONMENT | fc._SETTINGS)  # not of arrays
    and name not in ("public", "explaining")
]


@pytest.mark.parametrize("space, name", FUNCTIONS, ids=lambda x: x)
def test_every_array_function_tells_how_it_was_called(space, name):
    with pytest.raises(Exception) as caught:
        getattr(NAMESPACES[space], name)(object())
    assert "The call was fc." in str(caught.value) and "(<object object at" in str(caught.value)


TAKE_FUNCTIONS = {
    "jit": fc.jit,
    "grad": fc.grad,
    "value_and_grad": fc.value_and_grad,
    "vmap": fc.vmap,
    "jacfwd": fc.jacfwd,
    "jacrev": fc.jacrev,
    "hessian": fc.hessian,
    "checkpoint": fc.checkpoint,
    "jvp": lambda f: fc.jvp(f, (1.0,), (1.0,)),
    "vjp": lambda f: fc.vjp(f, 1.0),
    "linearize": lambda f: fc.linearize(f, 1.0),
    "eval_shape": lambda f: fc.eval_shape(f, 1.0),
    "linear_transpose": lambda f: fc.linear_transpose(f, 1.0),
    "make_graph": fc.make_graph,
    "scan": lambda f: fc.scan(f, 0.0, X),
    "map": lambda f: fc.map(f, X),
    "cond": lambda f: fc.cond(True, f, f),
    "switch": lambda f: fc.switch(0, [f]),
    "while_loop": lambda f: fc.while_loop(f, f, 0.0),
    "fori_loop": lambda f: fc.fori_loop(0, 2, f, 0.0),
    "associative_scan": lambda f: fc.associative_scan(f, X),
}


@pytest.mark.parametrize("name", TAKE_FUNCTIONS)
def test_what_takes_a_function_says_so(name):
    if name != "map":  # which calls it inside a function of its own
        check(lambda: TAKE_FUNCTIONS[name](3.5), TypeError, ["a function was expected, got 3.5 (float)"])


# ---- the call as it was written ------------------------------------------------------------------

F = lambda x: x**2  # noqa: E731  it is shown by its name, <lambda>


def named(x):
    return x**2


@cases(
    # operators
    (lambda: X + fc.ones(2), ValueError, ["was float32[3] + float32[2]."]),
    (lambda: 5 @ X, ValueError, ["was 5 @ float32[3]."]),
    (lambda: np.ones(2) - X, ValueError, ["was np.float64[2] - float32[3]."]),
    (lambda: ~X, TypeError, ["was ~float32[3].", "bitwise_invert"]),
    (lambda: X < fc.ones(2), ValueError, ["was float32[3] < float32[2]."]),
    (lambda: X & True, TypeError, ["was float32[3] & True."]),
    # methods
    (lambda: X.sum(axis=3), IndexError, ["was float32[3].sum(axis=3).", "A call that works"]),
    (lambda: X.reshape(2, 2), ValueError, ["was float32[3].reshape(2, 2)."]),
    (lambda: X.astype("float7"), TypeError, ["was float32[3].astype('float7')."]),
    (lambda: X.take(fc.asarray(1.5)), TypeError, ["was float32[3].take(float32[])."]),
    (lambda: X.transpose(0, 1), IndexError, ["was float32[3].transpose(0, 1)."]),
    (lambda: X.item(), ValueError, ["x.item()", "float32[3]"]),
    (lambda: len(X[0]), TypeError, ["len(x)", "float32[]", "x.size"]),
    (lambda: bool(X), ValueError, ["was bool(float32[3])."]),
    (lambda: [1, 2][X[0]], TypeError, ["was operator.index(float32[]).", "x.astype(fc.int64)"]),
    # x[index]
    (lambda: X[5], IndexError, ["was float32[3][5].", "from -size to size - 1"]),
    (lambda: X[fc.asarray([0, 3])], IndexError, ["was float32[3][int64[2]]."]),
    (lambda: X[..., 0, 0], IndexError, ["was float32[3][..., 0, 0]."]),
    (lambda: X[1.5], TypeError, ["was float32[3][1.5].", "An index is an int"]),
    (lambda: X[fc.asarray([True])], IndexError, ["was float32[3][bool[1]].", "mask"]),
    (lambda: X.at[7].set(0.0), IndexError, ["was float32[3].at[7].set(0.0)."]),
    (lambda: X.at[1:].multiply(fc.ones(3)), ValueError, ["was float32[3].at[1:].multiply(float32[3])."]),
    (lambda: X.at[0].add(1.0, mode="far"), ValueError, ["at[0].add(1.0, mode='far')."]),
    (lambda: X.at[9].get(), IndexError, ["was float32[3].at[9].get()."]),
    (lambda: X.__setitem__(slice(1, None), 1.0), TypeError, ["was float32[3][1:] = 1.0."]),
    # transforms
    (lambda: fc.grad(named)(X), TypeError, ["was fc.grad(named)(float32[3])."]),
    (
        lambda: fc.grad(named, argnums=1, has_aux=True)(X),
        ValueError,
        ["was fc.grad(named, argnums=1, has_aux=True)(float32[3])."],
    ),
    (lambda: fc.vmap(F, in_axes=(0, None))(X), ValueError, ["was fc.vmap(<lambda>, in_axes=(0, None))(float32[3])."]),
    (
        lambda: fc.vmap(F)({"a": X}, X),
        TypeError,
        ["was fc.vmap(<lambda>)({'a': float32[3]}, float32[3]).", "The function is <lambda>(x)."],
    ),
    (lambda: fc.vmap(fc.add)(X, fc.ones(2)), ValueError, ["was fc.vmap(add)(float32[3], float32[2])"]),
    (lambda: fc.jit(named)("a"), TypeError, ["was fc.jit(named)('a')."]),
    (lambda: fc.jit(named)(1, 2), TypeError, ["was fc.jit(named)(1, 2).", "The function is named(x)."]),
    (lambda: fc.jit(named).lower("a"), TypeError, ["was fc.jit(named).lower('a')."]),
    (lambda: fc.jit(named, static_argnums=7), ValueError, ["was fc.jit(named, static_argnums=7)."]),
    (lambda: fc.jvp(named, (X,), (fc.ones(2),)), TypeError, ["was fc.jvp(named, (float32[3],), (float32[2],))."]),
    (lambda: fc.vjp(named, X)[1](1), TypeError, ["was fc.vjp(named, ...)[1](1)."]),
    (lambda: fc.hessian(named)(fc.arange(3)), TypeError, ["was fc.hessian(named)(int64[3])."]),
    (lambda: fc.jacrev(named, holomorphic=True)(X), TypeError, ["was fc.jacrev(named, holomorphic=True)(float32[3])."]),
    (lambda: fc.scan(lambda c, x: (c, x), 0.0, X, unroll=0), ValueError, ["unroll=0", "positive"]),
    (lambda: fc.map(F, X, batch_size=0), ValueError, ["was fc.map(<lambda>, float32[3], batch_size=0)"]),
    (lambda: fc.associative_scan(fc.add, X, axis=3), IndexError, ["axis=3", "1 dimensions"]),
    (lambda: fc.grad(lambda x: (x,))(1.0), TypeError, ["float32[] in (*,)"]),
    (lambda: fc.vmap(F, axis_size=5)(X), ValueError, ["float32[3] at axis 0, axis_size=5"]),
    (lambda: fc.jit(F)(2**70), OverflowError, ["1.1806e+21", "was fc.jit(<lambda>)(11805"]),
    (lambda: fc.jit(fc.add).lower(X, X).compile()((X, X)), TypeError, ["((*, *), {})", "(((*, *),), {})"]),
    (lambda: fc.pure_callback(np.sin, "a", X), TypeError, ["fc.ShapeDtype(shape, dtype)"]),
    (lambda: fc.checkpoint_name(X, 3), TypeError, ["fc.checkpoint_name(float32[3], 3)"]),
    (lambda: fc.scan(named, 0.0, X), TypeError, ["was fc.scan(named, 0.0, float32[3])."]),
    (lambda: fc.cond(X, named, F, X), TypeError, ["was fc.cond(float32[3], named, <lambda>, float32[3])"]),
    (lambda: fc.checkpoint(named, policy=3)(X), TypeError, ["was fc.checkpoint(named, policy=3)(float"]),
    (lambda: fc.psum(X, "i"), NameError, ["was fc.psum(float32[3], 'i')."]),
    (lambda: fc.tree.map(named, [1], [1, 2]), ValueError, ["was fc.tree.map(named, [1], [1, 2])."]),
    (lambda: fc.tree.broadcast({"a": 1}, {"b": 1}), ValueError, ["fc.tree.broadcast({'a': 1}, {'b': 1})"]),
    (lambda: fc.custom_vjp(named)(X), AttributeError, ["was named(float32[3]).", "defvjp(rule)"]),
)
def test_the_call_is_shown_as_it_was_written(call, kind, words):
    check(call, kind, words)


def rules(fwd=None, bwd=None, jvp=None):
    """A function of one argument with a rule that is wrong."""
    f = fc.custom_jvp(named) if jvp else fc.custom_vjp(named)
    f.defjvp(jvp) if jvp else f.defvjp(fwd, bwd)
    return fc.grad(f)


@cases(
    (lambda: rules(lambda x: x, lambda r, g: (g,))(1.0), TypeError, ["(result, residuals)", "(x,)"]),
    (lambda: rules(lambda x: (x, None), lambda r, g: g)(1.0), TypeError, ["a tuple of 1", "fc.grad(named)"]),
    (lambda: rules(jvp=lambda p, t: p[0])(1.0), TypeError, ["(result, tangent of the result)"]),
    (lambda: rules(jvp=lambda p, t: (p[0], X))(1.0), TypeError, ["tangent 0 is float32[3]"]),
)
def test_rules_that_are_wrong(call, kind, words):
    check(call, kind, words)


def test_errors_of_the_users_own_code_stay_as_they_are():
    def raises(x):
        raise ValueError("my own")

    def calls(x):
        return x + fc.ones(2)

    wrapped = [
        fc.jit(raises),
        fc.grad(raises),
        fc.vmap(raises),
        fc.checkpoint(raises),
        lambda x: fc.scan(lambda c, y: raises(y), 0.0, x),
        lambda x: fc.vjp(raises, x),
    ]
    for f in wrapped:
        with pytest.raises(ValueError) as caught:
            f(X)
        assert str(caught.value) == "my own"
    for f in (fc.jit(calls), fc.grad(calls), fc.jit(fc.grad(calls)), fc.checkpoint(calls)):
        with pytest.raises(ValueError) as caught:
            f(X)
        assert str(caught.value).count("The call was") == 1
        assert "The call was float32[3] + float32[2]." in str(caught.value)


# ---- vmap ----------------------------------------------------------------------------------------


@cases(
    (
        lambda: fc.vmap(lambda a, b: a, in_axes=(0,))(X, X),
        ValueError,
        ["in_axes=(0,) does not fit the arguments", "(*, *)", "in_axes=(0, None)"],
    ),
    (lambda: fc.vmap(lambda d: d, in_axes=({"b": 0},))({"a": X}), ValueError, ["in_axes=({'b': 0},)", "({'a': *},)"]),
    (lambda: fc.vmap(fc.sin, in_axes=1)(X), ValueError, ["axis 1", "float32[3]", "in_axes=None"]),
    (
        lambda: fc.vmap(lambda a, b: a)(X, fc.ones(4)),
        ValueError,
        ["different sizes", "float32[3] at axis 0, float32[4] at axis 0"],
    ),
    (lambda: fc.vmap(fc.sin, in_axes=None)(X), ValueError, ["no argument is mapped", "axis_size=n"]),
    (
        lambda: fc.vmap(lambda a: (a, a), out_axes=(0, 0, 0))(X),
        ValueError,
        ["out_axes=(0, 0, 0) does not fit the result", "(*, *)"],
    ),
    (lambda: fc.vmap(fc.sin, out_axes=None)(X), ValueError, ["out_axes=None", "out_axes=0"]),
    (lambda: fc.vmap(fc.sin, out_axes=2)(X), ValueError, ["axis 2", "from -1 to 0"]),
    (lambda: fc.psum(X, "i"), NameError, ["psum", "'i'", "axis_name='i'"]),
)
def test_vmap(call, kind, words):
    check(call, kind, words)


# ---- derivatives ---------------------------------------------------------------------------------


@cases(
    (lambda: fc.grad(lambda x: x**2)(X), TypeError, ["scalar", "float32[3]", ".sum()", "fc.jacrev"]),
    (lambda: fc.grad(lambda x: x.sum().astype(fc.int32))(X), TypeError, ["floating", "int32[]"]),
    (lambda: fc.grad(lambda x: x * 1j)(1.0), TypeError, ["complex64[]", "holomorphic=True"]),
    (lambda: fc.grad(lambda x: x * 2.0)(3), TypeError, ["argument 0", "int64[]", "astype"]),
    (lambda: fc.grad(fc.sin, argnums=1)(1.0), ValueError, ["argnums=1 ", "the call has 1,"]),
    (lambda: fc.grad(lambda x: "a")(1.0), TypeError, ["'a' (str)", "<lambda>"]),
    (lambda: fc.grad(lambda x: x, has_aux=True)(1.0), TypeError, ["has_aux=True", "pair"]),
    (lambda: fc.jvp(fc.sin, X, X), TypeError, ["tuples", "fc.jvp(f, (x,), (t,))"]),
    (lambda: fc.jvp(fc.sin, (X,), (X, X)), TypeError, ["tangents is (*, *)", "primals (*,)"]),
    (lambda: fc.jvp(fc.sin, (X,), (fc.ones(2),)), TypeError, ["float32[2]", "float32[3]"]),
    (lambda: fc.vjp(fc.sin, X)[1]((X, X)), TypeError, ["cotangent is (*, *)", "result *"]),
    (lambda: fc.vjp(fc.sin, X)[1](fc.ones(2)), TypeError, ["cotangent 0", "float32[2]"]),
    (lambda: fc.linear_transpose(lambda x: x * x, X)(X), TypeError, ["not linear", "fc.linearize"]),
    (lambda: fc.jacrev(lambda z: z**2)(1j), TypeError, ["holomorphic", "complex64[]"]),
    (lambda: fc.jacfwd(lambda z: z**2)(1), TypeError, ["argument 0", "int64[]"]),
    (
        lambda: fc.grad(lambda x: fc.while_loop(lambda c: c < 9, lambda c: c * 2, x))(1.0),
        NotImplementedError,
        ["while", "max_steps=n", "fc.scan"],
    ),
    (lambda: fc.custom_jvp(lambda x: x)(X), AttributeError, ["defjvp"]),
    (lambda: fc.jvp(fc.sin, (1,), (1,)), TypeError, ["tangent 0 is 1", "int64[]", "(2.,)"]),
    (lambda: fc.value_and_grad(lambda x: (x, x))(1.0), TypeError, ["2 arrays", "fc.jacrev"]),
    (lambda: fc.linearize(fc.sin, X)[1](fc.ones(2)), TypeError, ["float32[2]", "float32[3]"]),
    (
        lambda: fc.grad(lambda x: fc.pure_callback(np.sin, fc.ShapeDtype((), fc.float32), x))(1.0),
        NotImplementedError,
        ["pure_callback", "custom_jvp"],
    ),
)
def test_derivatives(call, kind, words):
    check(call, kind, words)


# ---- pytrees and control flow --------------------------------------------------------------------


@cases(
    (lambda: fc.tree.map(lambda a, b: a, {"a": 1}, {"b": 2}), ValueError, ["'a'", "'b'"]),
    (lambda: fc.scan(lambda c, x: c + x, 0.0, X), TypeError, ["pair (carry, y)", "None"]),
    (
        lambda: fc.scan(lambda c, x: ((c, c), x), fc.asarray(0.0), X),
        TypeError,
        ["carry of structure (*, *)", "it takes *"],
    ),
    (
        lambda: fc.scan(lambda c, x: (c + x, x), fc.asarray(0), X),
        TypeError,
        ["carry is int64[] at first, float32[] after a step", "convert"],
    ),
    (lambda: fc.scan(lambda c, x: (c, x[0]), 0.0, (X, fc.ones(4))), ValueError, ["3, 4"]),
    (lambda: fc.cond(True, lambda x: (x,), lambda x: x, X), TypeError, ["(*,)", "same structure"]),
    (lambda: fc.cond(X > 0, fc.sin, fc.cos, X), TypeError, ["bool[3]", ".any()", "fc.where"]),
    (lambda: fc.while_loop(lambda c: c, lambda c: c, 1.0), TypeError, ["bool scalar", "float32[]"]),
    (lambda: fc.jit(lambda x, s: x)(X, "a"), TypeError, ["'a' (str)", "static_argnums"]),
    (lambda: fc.jit(lambda x, s: x, static_argnums=1)(X, [1]), TypeError, ["hashable", "tuple"]),
    (lambda: fc.jit(fc.sin).lower(X).compile()(fc.ones(2)), TypeError, ["float32[3]", "float32[2]"]),
    (lambda: fc.fori_loop(0, 2.5, lambda i, c: c, 1.0), TypeError, ["0, float32[]", "n // 2"]),
    (lambda: fc.fori_loop(0, 2, lambda i, c: (c, c), 1.0), TypeError, ["(*, *)", "it takes *"]),
    (lambda: fc.associative_scan(lambda a, b: (a + b).sum(), X), TypeError, ["float32[1]", "float32[]"]),
    (lambda: fc.switch(0.5, [fc.sin], 1.0), TypeError, ["integer scalar", "float32[]"]),
    (lambda: fc.scan(lambda c, x: (c, x), 0.0, X, length=2), ValueError, ["[2, 3]", "length=2"]),
    (lambda: fc.jit(lambda x: x, static_argnums=5), ValueError, ["argument 5", "<lambda>(x)"]),
    (lambda: fc.jit(lambda x: x, static_argnames="q"), ValueError, ["'q'", "<lambda>(x)"]),
    (lambda: fc.jit(lambda x: x, donate_argnums=(0, 3)), ValueError, ["argument 3", "_argnums"]),
    (lambda: fc.checkpoint(fc.sin, policy="dots")(X), TypeError, ["policy", "checkpoint_policies"]),
)
def test_trees_and_control_flow(call, kind, words):
    check(call, kind, words)


# ---- traced values -------------------------------------------------------------------------------


@cases(
    (
        lambda: fc.jit(lambda x: x if x > 0 else -x)(1.0),
        ConcretizationError,
        ["`if`", "Traced<bool[]>", "fc.where", "static_argnums"],
    ),
    (lambda: fc.vmap(lambda x: x if x > 0 else -x)(X), ConcretizationError, ["`if`", "fc.cond"]),
    (lambda: fc.jit(lambda n: list(range(n)))(3), ConcretizationError, ["an index", "fori_loop"]),
    (lambda: fc.jit(lambda x: float(x))(1.0), ConcretizationError, ["float()"]),
    (lambda: fc.jit(lambda x: np.sin(x))(X), ConcretizationError, ["np.asarray"]),
    (lambda: fc.jit(lambda x: x[x > 0])(X), ConcretizationError, ["mask", "fc.where"]),
    (lambda: fc.jit(lambda x: fc.nonzero(x))(X), ConcretizationError, ["size=n"]),
)
def test_traced_values_have_no_number(call, kind, words):
    check(call, kind, words)


def test_a_leak_names_the_function_and_the_line():
    kept = []

    def keeps(x):
        kept.append(x * 2)
        return x

    line = keeps.__code__.co_firstlineno + 1
    fc.jit(keeps)(X)
    for use in (lambda: kept[0] + 1, lambda: fc.jit(lambda x: x + kept[0])(X)):
        check(use, LeakError, ["`keeps`", f"test_errors.py:{line}", "has_aux=True"])


def test_a_traced_value_shows_what_it_is():
    shown = []
    fc.jit(lambda x, n: shown.append((repr(x), repr(n))))(X, 1)
    assert shown == [("Traced<float32[3]>", "Traced<int64[]>")]


# ---- NaN -----------------------------------------------------------------------------------------


def test_nan_checks_name_the_operation_and_the_line():
    def f(x):
        y = fc.sqrt(x)
        return y + 1

    line = f.__code__.co_firstlineno + 1
    words = ["`sqrt` of float32[3] computed 1 NaN", f"test_errors.py:{line}", "operands had none"]
    bad = X.at[1].set(-1.0)
    assert np.isnan(f(bad)[1].item())  # nothing is checked unless asked for
    with fc.debug_nans():
        check(lambda: f(bad), FloatingPointError, words)
        check(lambda: fc.jit(f)(bad), FloatingPointError, [*words, "`f`"])
        check(lambda: fc.jit(f, donate_argnums=0)(fc.asarray(np.array(bad))), FloatingPointError, words)
        assert fc.jit(f)(X).shape == (3,)
        with fc.debug_nans(False):
            assert np.isnan(fc.jit(f)(bad)[1].item())
    assert np.isnan(fc.jit(f)(bad)[1].item())


def test_nan_checks_find_derivatives_and_loops():
    with fc.debug_nans():
        for jit in (fc.jit, lambda f: f):
            hidden = jit(fc.grad(lambda x: fc.where(x > 0, fc.sqrt(x), 0.0)))
            check(lambda: hidden(0.0), FloatingPointError, ["`div`", "test_errors.py"])
            loop = jit(lambda x: fc.scan(lambda c, _: (fc.log(c), c), x, None, length=3))
            check(lambda: loop(2.0), FloatingPointError, ["`log`"])


def test_nan_checks_by_environment(tmp_path):
    code = "import functorch_core as fc\nx = fc.log(fc.asarray(-1.))\nprint('too late')\n"
    done = run(tmp_path, code, FUNCTORCH_DEBUG_NANS="1")
    assert "FloatingPointError: NaN: `log`" in done.stderr and "too late" not in done.stdout


# ---- tracebacks ----------------------------------------------------------------------------------

PROGRAM = textwrap.dedent("""
    import functorch_core as fc

    def loss(x):
        return (x @ fc.ones((4, 4))).sum()

    fc.jit(fc.grad(loss))(fc.ones(3))
""").lstrip()


def run(tmp_path, code: str, **environment):
    """The finished process of a program in a file of its own."""
    path = tmp_path / "program.py"
    path.write_text(code, encoding="utf-8")
    return subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=60, env={**os.environ, **environment}
    )


def test_the_users_line_ends_the_traceback(tmp_path):
    error = run(tmp_path, PROGRAM).stderr
    places = [line for line in error.splitlines() if line.startswith("  File ")]
    assert [p.split(", ", 1)[1] for p in places] == ["line 6, in <module>", "line 4, in loss"]
    assert "(x @ fc.ones((4, 4)))" in error
    assert "ValueError: matmul" in error and "FUNCTORCH_TRACEBACK=1" in error


NOTEBOOK = """
import sys, traceback, types

class Shell:
    def set_custom_exc(self, kinds, handler):
        self.kinds, self.handler = kinds, handler

    def showtraceback(self, error, tb_offset=None):
        traceback.print_exception(*error)

shell = Shell()
sys.modules["IPython"] = types.SimpleNamespace(get_ipython=lambda: shell)
import functorch_core as fc
try:
    fc.sin("a")
except TypeError as error:
    shell.handler(shell, TypeError, error, error.__traceback__)
"""


def test_notebooks_hide_frames_too(tmp_path):
    error = run(tmp_path, NOTEBOOK).stderr
    assert error.count('  File "') == 1 and 'fc.sin("a")' in error


def test_notebooks_hide_frames_of_an_interrupt(tmp_path):
    """The stop button inside of a call: what is told ends at the user's line, and values are there afterwards."""
    interrupted = """
import signal
x = fc.arange(3.0)
try:
    fc.vmap(lambda y: signal.raise_signal(signal.SIGINT))(x)
except shell.kinds as error:
    shell.handler(shell, type(error), error, error.__traceback__)
print((x + 1).tolist())
"""
    ran = run(tmp_path, NOTEBOOK + interrupted)
    told = ran.stderr.split("Traceback")[-1]
    assert "KeyboardInterrupt" in told and "functorch_core/" not in told and "fc.vmap(lambda" in told
    assert ran.stdout == "[1.0, 2.0, 3.0]\n"


def test_all_frames_on_request(tmp_path):
    error = run(tmp_path, PROGRAM, FUNCTORCH_TRACEBACK="1").stderr
    assert "functorch_core/array/derivatives.py" in error


def test_errors_of_others_are_left_alone(tmp_path):
    error = run(tmp_path, "import functorch_core\nimport json\njson.loads('{')\n").stderr
    assert "json/decoder.py" in error and "FUNCTORCH_TRACEBACK" not in error
