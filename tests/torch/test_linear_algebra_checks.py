"""Products with matrices of small integers, and what functions of linear algebra refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest

from functorch_core import torch
from tests.nn.both import agree, failing, warned

from .against_reference import assert_same, assert_same_error

reference = pytest.importorskip("torch")
RNG = np.random.default_rng(0)
X = RNG.random((3, 64)).astype(np.float32)
BYTES = RNG.integers(-128, 128, (48, 64)).astype(np.int8)
NIBBLES = RNG.integers(0, 16, (48, 64)).astype(np.int32)
SCALES = RNG.random((2, 48, 2)).astype(np.float32)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_weights_in_bytes(dtype):
    found = [
        t._weight_int8pack_mm(
            t.tensor(X).to(getattr(t, dtype)), t.tensor(BYTES), t.tensor(SCALES[0, :, 0]).to(getattr(t, dtype))
        )
        for t in (torch, reference)
    ]
    assert_same(*found, 10 if dtype == "float32" else 1)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_weights_in_nibbles(dtype):
    found = []
    for t in (torch, reference):
        packed = t._convert_weight_to_int4pack_for_cpu(t.tensor(NIBBLES), 2)
        assert packed.shape == (48, 32) and packed.dtype is t.uint8
        x, scales = (t.tensor(a).to(getattr(t, dtype)) for a in (X, SCALES))
        found.append(t._weight_int4pack_mm_for_cpu(x, packed, 32, scales))
    assert_same(*found, 10 if dtype == "float32" else 1)


def test_product_of_bytes():
    assert_same(*[t._int_mm(t.tensor(BYTES), t.tensor(BYTES.T.copy())) for t in (torch, reference)])
    eight = np.ones((3, 5), np.int8)
    assert_same_error(lambda t: t._int_mm(t.tensor(eight), t.tensor(eight)), reference)
    assert_same_error(lambda t: t._int_mm(t.tensor(eight), t.ones(5, 2, dtype=t.int32)), reference)
    assert_same_error(lambda t: t._weight_int8pack_mm(t.tensor(X), t.tensor(NIBBLES), t.ones(48)), reference)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.chain_matmul(),
        lambda t: t.chain_matmul(t.ones(1), t.ones(1)),
        lambda t: t.einsum("", []),
        lambda t: t.einsum(""),
        lambda t: t.baddbmm(t.ones(1, 2, 2, dtype=t.float64), t.ones(1, 2, 2), t.ones(1, 2, 2)),
        lambda t: t.addr(t.ones(2, 2), t.ones(2), t.ones(2), beta=True),
        lambda t: t.addr(t.ones(2, 2), t.ones(2), t.ones(2), beta=2, alpha=True),
        lambda t: t.linalg.eig(t.tensor([[float("nan"), 1], [1, 2]])),
        lambda t: t.linalg.eig(t.tensor([[float("inf"), 1], [1, 2]])),
        lambda t: t.eig(t.ones(2, 2)),
        lambda t: t.ones(2, 2).symeig(),
        lambda t: t.solve(t.ones(2, 2), t.ones(2, 2)),
        lambda t: t.ones(2, 2).lstsq(t.ones(2, 2)),
        lambda t: t.matrix_rank(t.ones(2, 2)),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_refusals(call):
    assert_same_error(call, reference)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.linalg.lstsq(t.ones(3), t.ones(3)),
        lambda t: t.linalg.lstsq(t.ones(3, 2), t.tensor(1.0)),
        lambda t: t.linalg.norm(t.ones(10), "fro"),
        lambda t: t.linalg.norm(t.ones(2, 2), "nuc", dim=0),
        lambda t: t.linalg.matrix_norm(t.ones(2, 2), 1j),
        lambda t: t.linalg.pinv(t.ones(3)),
        lambda t: t.linalg.lu_solve(t.eye(2), t.tensor([0, 1], dtype=t.int32), t.ones(2, 1)),
        lambda t: t.linalg.lu_solve(t.eye(2), t.tensor([1, 5], dtype=t.int32), t.ones(2, 1)),
        lambda t: t.lu_solve(t.ones(2, 1), t.eye(2), t.tensor([0, 1], dtype=t.int32)),
    ],
)
def test_shapes_and_pivots(call):
    assert_same_error(call, reference)


@pytest.mark.filterwarnings("ignore")
def test_older_forms():
    a = RNG.standard_normal((2, 3, 4))
    for call in (
        lambda t, x: t.linalg.matrix_rank(x[..., :3] @ x[..., :3].mT, 0.1, True),
        lambda t, x: t.nuclear_norm(x),
        lambda t, x: t.nuclear_norm(x, dim=(0, 2), keepdim=True),
        lambda t, x: t.frobenius_norm(x, dim=(0, 2)),
        lambda t, x: t.linalg.lu_solve(*t.linalg.lu_factor(x[..., :3]), x),
    ):
        assert_same(*[call(t, t.tensor(a)) for t in (torch, reference)], 1e5)
    for t in (torch, reference):
        assert t._C._infer_size(t.Size((2, 1, 3)), t.Size((4, 1))) == (2, 4, 3)


@pytest.mark.parametrize("rcond", [1.0, 2.0, 0.5, -1])
def test_gelsd_takes_wide_limits_for_none(rcond):
    """LAPACK's gelsd takes rcond >= 1 for the precision of the dtype; gelss does not."""
    a, b = np.diag([3.0, 3.0, 2.0, 1.0])[:, :3], np.ones((4, 1))
    for driver in ("gelsd", "gelss"):
        found = [t.linalg.lstsq(t.tensor(a), t.tensor(b), rcond=rcond, driver=driver) for t in (torch, reference)]
        assert_same(found[0].solution, found[1].solution, 1e6)
        assert found[0].rank.item() == found[1].rank.item()


EQUATIONS = [
    *[(e, [(3,)]) for e in ("1", " i j", "...i j", "a->b a", "a ->.. .", "a->1", "a - > a", "i->i->i", "i->..", "a-")],
    *[(e, [(3,)]) for e in ("->", "i-> 1", "é", ". ..", "... ...", "....", "a->... .", ",", "ai...", "a->aa", "a->i")],
    *[(e, [(3,), (3,)]) for e in ("i,j,k", "i", "i , i -> i", "i,j->j i", " ...i,i... ->...")],
    ("a,a", [(3,), (2,)]),
    ("a,a", [(3,), (1,)]),
    ("aa->a", [(2, 3)]),
    ("...,...", [(2,), (2, 3)]),
    ("a...,...b", [(2, 3), (4, 5)]),
    ("...,...", [(2, 1), (2, 3)]),
    ("aa", [(1, 3)]),
    ("b...aa->b", [(2, 4, 3, 3)]),
    ("b...a,a...->b", [(2, 4, 3), (3, 4)]),
    ("b...a,a...->b", [(2, 4, 3), (2, 4)]),
]


@pytest.mark.parametrize("equation, shapes", EQUATIONS)
def test_equations_of_einsum(equation, shapes):
    def program(t):
        xs = [t.arange(1.0, math.prod(s) + 1).reshape(s) for s in shapes]
        text = failing(t.einsum, equation, *xs)
        return (text[0], text[1].partition("\n")[0]) if isinstance(text, tuple) else t.einsum(equation, *xs)

    agree(program)


def test_former_orders_of_in_place_products():
    def program(t):
        t.set_warn_always(True)
        try:
            x, b = t.ones(2, 2), t.ones(1, 2, 2)
            said = [warned(lambda: x.clone().addbmm_(2, b, b)), warned(lambda: b.clone().baddbmm_(2, 3, b, b))]
            said += [warned(lambda: x.clone().add_(2, x)), warned(lambda: x.clone().addmm_(2, x, x))]
            said += [warned(lambda: t.addbmm(2, x, b, b))]
            return [[m[-1].partition(" (Trig")[0] for m in messages] for messages in said], x.clone().addbmm_(2, b, b)
        finally:
            t.set_warn_always(False)

    agree(program)


def test_errors_of_norms_and_least_squares():
    def program(t):
        x = t.ones(2, 3)
        calls = [
            lambda: t.linalg.norm(x, 0),
            lambda: t.linalg.norm(x, 0.5, (0, 1)),
            lambda: t.linalg.norm(x, "nuk"),
            lambda: t.linalg.vector_norm(x, 1j),
            lambda: t.linalg.lstsq(x, t.ones(3)),
            lambda: t.linalg.lstsq(x, t.ones(2, 1).long()),
        ]
        return [failing(call)[1].partition("\n")[0] for call in calls]

    agree(program)


def test_products_with_an_activation_and_the_order_of_geqrf():
    def program(t):
        m, a, b = t.ones(2, 2), t.eye(2) - 2, t.tensor([[1.0, -2.0], [0.5, 3.0]])
        made = t._addmm_activation(m, a, b, beta=0.5, alpha=2), t._addmm_activation(m, a, b, use_gelu=True)
        shapes = (3, 4, 5), (5, 4), (0, 5), (4, 0), (1, 5), (2, 3, 3)
        return made, [t.geqrf(t.ones(s)).a.stride() for s in shapes], t.geqrf(b)

    agree(program)


def test_numbers_of_subscripts():
    agree(lambda t: [failing(t.einsum, t.ones(3), [n]) for n in (-1, 52)])
