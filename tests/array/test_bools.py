"""Operations of bool arrays: products say whether any pair is true, arithmetic is that of integers, as in JAX."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core as fc
import functorch_core.numpy as jnp
from functorch_core import lax, scipy

rng = np.random.default_rng(0)
A, B, V = rng.random((3, 4)) > 0.6, rng.random((4, 3)) > 0.6, rng.random(4) > 0.5


def agree(found, wanted):
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


PRODUCTS = {  # of m, jnp or np
    "matmul": lambda m, a, b, v: m.matmul(a, b),
    "of a vector": lambda m, a, b, v: a @ v,
    "of a stack": lambda m, a, b, v: m.stack([a, ~a]) @ b,
    "dot": lambda m, a, b, v: m.dot(a, b),
    "dot of vectors": lambda m, a, b, v: m.dot(v, ~v),
    "dot with a scalar": lambda m, a, b, v: m.dot(a, v[0]),
    "vdot": lambda m, a, b, v: m.vdot(a, a),
    "vecdot": lambda m, a, b, v: m.vecdot(a, v),
    "inner": lambda m, a, b, v: m.inner(a, v),
    "outer": lambda m, a, b, v: m.outer(v, ~v),
    "kron": lambda m, a, b, v: m.kron(a, b),
    "tensordot": lambda m, a, b, v: m.tensordot(a, b, axes=1),
    "tensordot of two": lambda m, a, b, v: m.tensordot(a, b.T, axes=2),
    "einsum": lambda m, a, b, v: m.einsum("ij,jk->ik", a, b),
    "einsum of three": lambda m, a, b, v: m.einsum("ij,jk,j->i", a, b, v),
    "einsum that sums": lambda m, a, b, v: m.einsum("ij->i", a),
    "einsum of a diagonal": lambda m, a, b, v: m.einsum("ii", a[:, :3]),
    "multi_dot": lambda m, a, b, v: m.linalg.multi_dot([a, b, a]),
    "matrix_power": lambda m, a, b, v: m.linalg.matrix_power(a[:, :3], 5),
    "of nothing": lambda m, a, b, v: a[:, :0] @ b[:0],
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name):
    case = PRODUCTS[name]
    arrays = tuple(map(fc.asarray, (A, B, V)))
    wanted = case(np, A, B, V)
    agree(case(jnp, *arrays), wanted)
    agree(fc.jit(lambda *arrays: case(jnp, *arrays))(*arrays), wanted)
    agree(fc.vmap(lambda a: case(jnp, a, *arrays[1:]))(arrays[0][None])[0], wanted)


def test_products_do_not_wrap_or_overflow():
    ones = fc.ones((1, 512), dtype=bool)
    assert bool((ones @ ones.T)[0, 0])  # 512 is 0 in eight bits
    power = jnp.linalg.matrix_power(fc.asarray([[True, True], [False, True]]), 1000)
    agree(power, [[True, True], [False, True]])


def test_products_with_other_dtypes():
    i = np.arange(12, dtype=np.int8).reshape(4, 3)
    agree(fc.asarray(A) @ fc.asarray(i), A @ i)
    agree(jnp.matmul(A, B, preferred_element_type="int32"), A.astype("int32") @ B.astype("int32"))
    agree(lax.dot(A, B), A @ B)
    agree(lax.dot(A, B, preferred_element_type="int32"), A.astype("int32") @ B.astype("int32"))


@pytest.mark.parametrize("name", "abs absolute positive conj conjugate real floor ceil trunc".split())
def test_what_leaves_bools_as_they_are(name):
    agree(getattr(jnp, name)(A), A)
    agree(getattr(jnp, name)(True), True)
    agree(fc.jit(getattr(jnp, name))(fc.asarray(A)), A)


def test_parts_of_bools():
    a = fc.asarray(A)
    agree(a.imag, np.zeros_like(A))
    agree(jnp.isreal(a), np.ones_like(A))
    agree(jnp.iscomplex(a), np.zeros_like(A))
    agree(jnp.bitwise_count(a), A.astype(np.uint8))
    agree(abs(a), A)
    agree(+a, A)


def test_arithmetic_is_that_of_integers():
    a, b = fc.asarray(A), fc.asarray(B.T)
    i, j = A.astype(np.int64), B.T.astype(np.int64)
    agree(jnp.square(a), i)
    agree(a**2, i)
    agree(jnp.power(a, b), i**j)
    agree(a << b, i << j)
    agree(a >> b, i >> j)
    agree(fc.grad(lambda x: (x * jnp.square(a)).sum())(fc.ones(A.shape)), i.astype(np.float32))
    ones = fc.ones(A.shape, dtype=bool)
    agree(a // ones, i)
    agree(a % ones, 0 * i)
    agree(jnp.fmod(a, ones), 0 * i)
    agree(jnp.ldexp(1.5, a), np.ldexp(np.float32(1.5), i))


def test_exponents_of_narrow_and_unsigned_integers():
    for dtype in ("int8", "uint8", "uint32", "int64"):
        agree(jnp.ldexp(fc.asarray([1.5, 3.0]), fc.asarray([4, 1], dtype=dtype)), np.float32([24, 6]))


def test_sums_that_are_bools():
    for name, wanted in {"sum": A.any(1), "prod": A.all(1)}.items():
        agree(getattr(jnp, name)(A, axis=1, dtype=bool), wanted)
    agree(jnp.cumsum(A, axis=1, dtype=bool), np.logical_or.accumulate(A, axis=1))
    agree(jnp.cumprod(A, axis=1, dtype=bool), np.logical_and.accumulate(A, axis=1))


def test_bounds_that_are_bools():
    a, b, v = A, B.T, V[None]
    agree(jnp.clip(a, b, v), (a | b) & v)
    agree(jnp.clip(a, None, v), a & v)
    agree(jnp.clip(a, b), a | b)
    assert jnp.clip(a, 0, 1).dtype == np.int64


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64"])
def test_convolutions_are_of_floats(dtype):
    x, y = rng.integers(0, 2 if dtype == "bool" else 100, (2, 5)).astype(dtype)
    wanted = np.convolve(x.astype(np.float32), y.astype(np.float32))
    agree(jnp.convolve(x, y), wanted)
    agree(jnp.polymul(x, y), wanted)
    agree(scipy.signal.convolve(x, y), wanted)
    agree(jnp.correlate(x, y, "full"), np.correlate(x.astype(np.float32), y.astype(np.float32), "full"))


def test_intersections_are_of_the_common_dtype():
    agree(jnp.intersect1d(A, np.arange(4, dtype=np.int8)), np.int8([0, 1]))


@pytest.mark.parametrize("dtype", "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16".split())
def test_running_sums_stay_in_their_dtype(dtype):
    """As JAX's do; sums are of 64 bits. Recorded from JAX with 64 bits."""
    x = np.array([1, 100, 101]).astype(dtype)
    own, wide = ("int64",) * 2 if dtype == "bool" else (dtype, fc.sum(x).dtype)
    for name in "cumsum cumprod nancumsum nancumprod".split():
        apply = np.cumsum if "sum" in name else np.cumprod
        agree(getattr(jnp, name)(x), apply(x, dtype=own))
    assert fc.asarray(x).cumsum().dtype == own and jnp.cumsum(x, dtype="int64").dtype == np.int64
    for name in "sum prod nansum nanprod cumulative_sum".split():
        assert getattr(jnp, name)(x).dtype == wide
