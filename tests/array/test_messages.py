"""Ninety wrong calls, as programs for JAX make them: the message says what was called, what was expected, what came,
and what to do. Each was read beside JAX's (0.10.2) for the same call, and is to tell no less."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core as fc
import functorch_core.numpy as jnp
from functorch_core import jnn, lax
from functorch_core.core.errors import ConcretizationError, LeakError, TracingError

KEEP: list = []


def ones(*shape, dtype=jnp.float32):
    return jnp.ones(shape, dtype)


def leak():
    fc.jit(lambda x: KEEP.append(x))(1.0)  # noqa: PLW0108
    return KEEP.pop() + 1


def leak_from_loop():
    lax.scan(lambda c, x: (c, KEEP.append(x * 2)), 0.0, ones(3))
    return jnp.sin(KEEP.pop())


def assign():
    ones(3)[0] = 2.0


def rule(kind, **rules):
    f = kind(lambda x: x.sum())
    for name, function in rules.items():
        getattr(f, name)(*function if isinstance(function, tuple) else (function,))
    return f


def donated():
    x = ones(2)
    fc.jit(lambda x: x + 1, donate_argnums=0)(x)
    return x + 1


def branch_on(x, limit):
    return x if x["w"] > limit else -x


# (the call, the error, what is in its message)
CASES = {
    # shapes
    "dot": (lambda: jnp.dot(ones(2, 3), ones(4, 5)), ValueError, "float32[2,3] and float32[4,5]|first, 3,|second, 4"),
    "matmul": (
        lambda: ones(2, 3) @ ones(2, 3),
        ValueError,
        "last dimension of the first, 3|float32[2,3] @ float32[2,3]",
    ),
    "add": (
        lambda: ones(2, 3) + ones(2),
        ValueError,
        "(2, 3), (2,) do not broadcast|[:, None]|float32[2,3] + float32[2]",
    ),
    "einsum": (lambda: jnp.einsum("ij,jk->ik", ones(2, 3), ones(4, 5)), ValueError, "label 'j'|(3)|(4)|'ij,jk->ik'"),
    "reshape": (lambda: ones(2, 3).reshape(4, 2), ValueError, "6 elements|the new shape has 8|may be -1"),
    "concatenate": (lambda: jnp.concatenate([ones(2, 3), ones(2, 4)]), ValueError, "axis 0|(2, 3), (2, 4)"),
    "stack": (lambda: jnp.stack([ones(2), ones(3)]), ValueError, "one shape|(2,), (3,)"),
    "conv": (lambda: lax.conv(ones(1, 3, 8, 8), ones(4, 2, 3, 3), (1, 1), "SAME"), ValueError, "kernel takes 2|has 3"),
    "dot_general": (
        lambda: lax.dot_general(ones(2, 3), ones(4, 3), (((0,), (0,)), ((), ()))),
        ValueError,
        "contract dimensions (0,) and (0,)|float32[2,3]",
    ),
    "solve": (lambda: jnp.linalg.solve(ones(2, 3), ones(2)), ValueError, "square matrices|float32[2,3]"),
    "cholesky": (lambda: jnp.linalg.cholesky(ones(2, 3)), ValueError, "square matrices|float32[2,3]"),
    "segments": (
        lambda: fc.ops.segment_sum(ones(3), jnp.zeros(2, jnp.int32)),
        ValueError,
        "float32[3]|int32[2]|shape of segment_ids",
    ),
    "dynamic_slice": (lambda: lax.dynamic_slice(ones(3), (0,), (5,)), ValueError, "(5,)|float32[3]"),
    "split": (lambda: jnp.split(ones(5), 2), ValueError, "5 elements|2 equal parts|indices instead"),
    "axis": (lambda: jnp.sum(ones(2, 3), axis=2), IndexError, "axis 2|-2 to 1"),
    "axes twice": (lambda: jnp.sum(ones(2, 3), axis=(0, 0)), ValueError, "(0, 0)|twice"),
    "transpose": (lambda: jnp.transpose(ones(2, 3), (0, 0)), ValueError, "(0, 0)|permutation|2 dimensions"),
    "squeeze": (lambda: jnp.squeeze(ones(2, 3), axis=0), ValueError, "axis 0|(2, 3)|size 1"),
    # branches and loops
    "cond, structures": (
        lambda: lax.cond(True, lambda x: x, lambda x: (x, x), ones(2)),
        TypeError,
        "true_fun|false_fun|test_messages.py|returns (*, *)|same structure",
    ),
    "cond, dtypes": (
        lambda: lax.cond(True, lambda x: x, lambda x: x.astype(int), ones(2)),
        TypeError,
        "returns float32[2]|returns int64[2]|convert inside them",
    ),
    "cond, predicate": (
        lambda: lax.cond(ones(2) > 0, jnp.sin, jnp.cos, 1.0),
        TypeError,
        "scalar|bool[2]|.any()|fc.where",
    ),
    "cond, no branch": (lambda: lax.cond(True, jnp.sin, ones(2)), TypeError, "a function was expected|lambda: x"),
    "switch": (lambda: lax.switch(1.5, [jnp.sin], 1.0), TypeError, "integer scalar|float32[]"),
    "while, shape": (
        lambda: lax.while_loop(lambda x: x.sum() < 3, lambda x: jnp.concatenate([x, x]), ones(2)),
        TypeError,
        "carry is float32[2] at first, float32[4] after a step",
    ),
    "while, condition": (
        lambda: lax.while_loop(lambda x: x, lambda x: x - 1, ones(2)),
        TypeError,
        "cond_fun|bool scalar|float32[2]|.any()",
    ),
    "fori, structure": (
        lambda: lax.fori_loop(0, 3, lambda i, x: (x, i), ones(2)),
        TypeError,
        "returned structure (*, *)|takes *",
    ),
    "scan, dtype": (
        lambda: lax.scan(lambda c, x: (c + x, c), jnp.int32(0), ones(3)),
        TypeError,
        "carry is int32[] at first, float32[] after|astype(fc.float32)",
    ),
    "scan, no pair": (
        lambda: lax.scan(lambda c, x: c + x, 0.0, ones(3)),
        TypeError,
        "a pair (carry, y)|return carry + x, None",
    ),
    "scan, lengths": (
        lambda: lax.scan(lambda c, x: (c, 0), 0.0, (ones(3), ones(4))),
        ValueError,
        "[3, 4]|float32[3], float32[4]",
    ),
    "scan, length": (lambda: lax.scan(lambda c, x: (c, x), 0.0, ones(3), length=4), ValueError, "length=4|float32[3]"),
    "reverse while": (
        lambda: fc.grad(lambda x: lax.while_loop(lambda x: x < 3, lambda x: x * 2, x))(1.0),
        NotImplementedError,
        "fc.scan(body, x, length=n)|fc.fori_loop(0, n, body, x)|Forward mode",
    ),
    # what is not known yet
    "zeros": (lambda: fc.jit(lambda n: jnp.zeros(n))(3), TypeError, "argument n of|static_argnums=0|x.shape[0]"),
    "arange": (lambda: fc.jit(lambda n: jnp.arange(n))(3), ConcretizationError, "argument n of|static_argnums=0"),
    "linspace": (
        lambda: fc.jit(lambda n: jnp.linspace(0, 1, n))(3),
        ConcretizationError,
        "argument n of|static_argnums",
    ),
    "reshape by": (
        lambda: fc.jit(lambda x, n: x.reshape(n, 2))(ones(4), 2),
        ConcretizationError,
        "argument n of|static_argnums",
    ),
    "one_hot": (
        lambda: fc.jit(lambda x, n: jnn.one_hot(x, n))(jnp.arange(3), 4),
        TypeError,
        "argument n of|static_argnums",
    ),
    "if": (lambda: fc.jit(lambda x: 1.0 if x > 0 else 2.0)(1.0), ConcretizationError, "argument x of|fc.where|fc.cond"),
    "if, in a tree": (
        lambda: fc.jit(branch_on)({"w": 1.0, "b": 2.0}, limit=3.0),
        ConcretizationError,
        "arguments x['w'], limit of `branch_on` (test_messages.py",
    ),
    "float": (lambda: fc.jit(lambda x: float(x))(1.0), ConcretizationError, "argument x of|x.astype(float)"),
    "range": (lambda: fc.jit(lambda n: list(range(n)))(3), ConcretizationError, "argument n of|fc.fori_loop"),
    "numpy": (
        lambda: fc.jit(lambda x: np.sin(x))(ones(2)),
        ConcretizationError,
        "argument x of|jnp.sin(x)|pure_callback",
    ),
    "in a loop": (
        lambda: lax.scan(lambda c, x: (c, 1.0 if x > 0 else 2.0), 0.0, ones(3)),
        ConcretizationError,
        "argument x of|fc.where",
    ),
    "mask": (lambda: fc.jit(lambda x: x[x > 0])(ones(2)), ConcretizationError, "x[mask]|bool[2]|fc.where"),
    "slice": (lambda: fc.jit(lambda x, i: x[i : i + 2])(ones(4), 1), ConcretizationError, "static|fc.dynamic_slice"),
    "nonzero": (lambda: fc.jit(jnp.nonzero)(ones(3)), ConcretizationError, "nonzero|size=n"),
    "unique": (lambda: fc.jit(jnp.unique)(ones(3)), ConcretizationError, "unique|size=n"),
    "eval_shape": (
        lambda: fc.eval_shape(lambda x: x if x > 0 else -x, fc.ShapeDtypeStruct((), jnp.float32)),
        ConcretizationError,
        "argument x of|fc.where",
    ),
    "leak": (leak, LeakError, "trace had ended|return x from|test_messages.py|float32[] + 1"),
    "leak from a loop": (leak_from_loop, LeakError, "test_messages.py|return x from"),
    # vmap
    "vmap, sizes": (
        lambda: fc.vmap(lambda x, y: x + y)(ones(2), ones(3)),
        ValueError,
        "float32[2] at axis 0, float32[3] at axis 0|in_axes=None",
    ),
    "vmap, in_axes": (
        lambda: fc.vmap(lambda x, y: x, in_axes=(0,))(ones(2), ones(2)),
        ValueError,
        "in_axes=(0,)|in_axes=(0, None)",
    ),
    "vmap, number": (lambda: fc.vmap(lambda x: x)(1.0), ValueError, "axis 0|needs|1 dimensions|None"),
    "vmap, axis": (lambda: fc.vmap(lambda x: x, in_axes=2)(ones(2, 3)), ValueError, "axis 2|float32[2,3]|3 dimensions"),
    "vmap, out_axes": (lambda: fc.vmap(jnp.sum, out_axes=1)(ones(2, 3)), ValueError, "out_axes has axis 1|-1 to 0"),
    "vmap, nothing": (
        lambda: fc.vmap(lambda x: x, in_axes=None)(ones(2)),
        ValueError,
        "no argument is mapped|axis_size=n",
    ),
    "axis name": (lambda: lax.pmean(ones(2), "i"), NameError, "axis 'i'|axis_name='i'"),
    # derivatives
    "grad, integer": (lambda: fc.grad(lambda x: x * 2.0)(3), TypeError, "argument 0|int64[]|astype|allow_int=True"),
    "grad, vector": (lambda: fc.grad(lambda x: x * 2)(ones(2)), TypeError, "scalar result|float32[2]|.sum()|fc.jacrev"),
    "grad, tuple": (lambda: fc.grad(lambda x: (x, x))(1.0), TypeError, "scalar result|2 arrays"),
    "grad, argmax": (lambda: fc.grad(jnp.argmax)(ones(2)), TypeError, "real floating result|int64[]"),
    "grad, complex": (lambda: fc.grad(lambda x: x * 1j)(1.0), TypeError, "complex64[]|holomorphic=True|fc.real"),
    "grad, argnums": (lambda: fc.grad(lambda x: x, argnums=1)(1.0), ValueError, "argnums=1|the call has 1"),
    "grad, text": (lambda: fc.grad(lambda x, s: x)("a", 1.0), TypeError, "'a' (str)|static"),
    "grad, no aux": (
        lambda: fc.grad(lambda x: x, has_aux=True)(1.0),
        TracingError,
        "a pair (result, aux)|return loss, predictions",
    ),
    "hessian, integer": (lambda: fc.hessian(lambda x: x)(ones(2, dtype=jnp.int32)), TypeError, "int32[2]|astype"),
    "jvp, shape": (lambda: fc.jvp(jnp.sin, (ones(2),), (ones(3),)), TypeError, "tangent 0 is float32[3]|float32[2]"),
    "jvp, dtype": (
        lambda: fc.jvp(jnp.sin, (ones(2),), (ones(2, dtype=jnp.int32),)),
        TypeError,
        "int32[2]|float32[2]|None for",
    ),
    "vjp": (lambda: fc.vjp(jnp.sin, ones(2))[1](ones(3)), TypeError, "cotangent 0 is float32[3]|ones_like"),
    "linear_transpose": (
        lambda: fc.linear_transpose(lambda x: x**2, 1.0)(1.0),
        NotImplementedError,
        "linear|A call that works",
    ),
    "custom_vjp, no rule": (
        lambda: fc.grad(fc.custom_vjp(lambda x: x))(1.0),
        AttributeError,
        "has no rule yet|.defvjp",
    ),
    "custom_vjp, no tuple": (
        lambda: fc.grad(rule(fc.custom_vjp, defvjp=(lambda x: (x.sum(), None), lambda r, g: g)))(ones(3)),
        TypeError,
        "a tuple of 1 cotangents|return (g * x,)",
    ),
    "custom_vjp, shape": (
        lambda: fc.grad(rule(fc.custom_vjp, defvjp=(lambda x: (x.sum(), None), lambda r, g: (g,))))(ones(3)),
        TypeError,
        "cotangent 0 is float32[], expected float32[3]",
    ),
    "custom_jvp": (
        lambda: fc.jvp(rule(fc.custom_jvp, defjvp=lambda p, t: (p[0].sum(), ones(3))), (ones(3),), (ones(3),)),
        TypeError,
        "tangent 0 is float32[3], expected float32[]",
    ),
    # arguments
    "static, unhashable": (
        lambda: fc.jit(lambda x, n: x, static_argnums=1)(1.0, [2]),
        TypeError,
        "static argument 1 is [2]|not hashable|tuple instead",
    ),
    "static, number": (lambda: fc.jit(lambda x: x, static_argnums=3), ValueError, "no argument 3|<lambda>(x)"),
    "static, name": (lambda: fc.jit(lambda x: x, static_argnames="y"), ValueError, "no argument 'y'|<lambda>(x)"),
    "jit, text": (lambda: fc.jit(lambda x: x)("a"), TypeError, "'a' (str)|make it static|fc.jit(<lambda>)('a')"),
    "jit, returned": (lambda: fc.jit(lambda x: "a")(1.0), TypeError, "result of `<lambda>` is 'a' (str)"),
    "jit, missing": (lambda: fc.jit(lambda x, y: x)(1.0), TypeError, "missing 1 required|<lambda>(x, y)"),
    "keyword": (lambda: jnp.sum(ones(2), axes=0), TypeError, "'axes'|axis=None"),
    "donated": (donated, RuntimeError, "float32[2]|donated|keep a copy"),
    # dtypes and indices
    "text": (lambda: jnp.sin("a"), TypeError, "arrays and numbers, got str|fc.sin('a')"),
    "dtype": (lambda: jnp.zeros(2, dtype="float31"), TypeError, "'float31'|it has|float32"),
    "bits": (lambda: ones(2) & ones(2), TypeError, "bitwise_and|float32|integers and bools"),
    "list": (lambda: ones(2) + [1, 2], TypeError, "float32[2] + [1, 2]|fc.asarray([1, 2])"),
    "sum of a list": (lambda: jnp.sum([1, 2]), TypeError, "got list: [1, 2]|fc.asarray"),
    "too large": (lambda: ones(2, dtype=jnp.int8) + 300, OverflowError, "300|int8|astype"),
    "index, float": (lambda: ones(3)[1.5], TypeError, "x[1.5]|is not an index|An index is"),
    "index, text": (lambda: ones(3)["a"], TypeError, "x['a']|is not an index"),
    "index, many": (lambda: ones(3)[1, 2], IndexError, "too many indices|2 for the 1"),
    "index, out": (lambda: ones(3)[5], IndexError, "index 5|size 3"),
    "assignment": (assign, TypeError, "immutable|x.at[i].set(y)|float32[3][0] = 2.0"),
    "take": (lambda: jnp.take(ones(3), ones(2)), TypeError, "indices are integers|float32[2]"),
    "where": (lambda: jnp.where(ones(2), 1), ValueError, "both x and y"),
    "truth": (lambda: bool(ones(2) > 0), ValueError, "bool[2]|.any()"),
    "item": (lambda: ones(2).item(), ValueError, "one element|float32[2]|x.tolist()"),
    "len": (lambda: len(ones()), TypeError, "0-d array|x.size"),
    "iteration": (lambda: list(ones()), TypeError, "0-d array|x.item()"),
    # keys and trees
    "key, number": (lambda: fc.random.normal(0, (2,)), TypeError, "takes a key|fc.random.key(seed)|int64[]"),
    "key, floats": (lambda: fc.random.normal(ones(3), (2,)), TypeError, "takes a key|float32[3]"),
    "key, several": (
        lambda: fc.random.normal(fc.random.split(fc.random.key(0)), (2,)),
        TypeError,
        "keys of shape (2,)|fc.vmap",
    ),
    "key, sum": (lambda: fc.random.key(0) + 1, TypeError, "no numbers|fc.random.key_data"),
    "choice": (lambda: fc.random.choice(fc.random.key(0), 3, p=ones(2)), ValueError, "p has shape (2,)|3 elements"),
    "trees": (
        lambda: fc.tree.map(jnp.add, {"a": [1, {"b": 2}]}, {"a": [1, {"c": 2}]}),
        ValueError,
        "tree 2|differ at ['a'][1].|expected|got",
    ),
    "unflatten": (lambda: fc.tree.unflatten(fc.tree.structure([1, 2]), [1]), ValueError, "expected 2, got 1"),
}


@pytest.mark.parametrize("name", CASES)
def test_message(name):
    call, kind, words = CASES[name]
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    assert [word for word in words.split("|") if word not in message] == [], message
    assert message.count("\n") <= 8


def test_nan():
    with pytest.raises(FloatingPointError, match="`log`.*2 NaN, at .*test_messages.py"), fc.debug_nans():
        jnp.log(jnp.zeros(2) - 1)


def test_callbacks():
    wrong = fc.pure_callback(lambda x: np.ones(3, np.float32), fc.ShapeDtypeStruct((2,), jnp.float32), ones(2))
    with pytest.raises(TypeError, match=r"float32\[2\], got float32\[3\]"):
        wrong.block_until_ready()
