"""The checker catches wrong rules: each of these has one mistake, and check() must raise."""

import itertools

import numpy as np
import pytest

from functorch_core import primitives as p
from functorch_core.core import dtypes as dt
from functorch_core.core.aval import aval
from functorch_core.core.primitive import NOT_LINEAR, Linear, Primitive, registry
from functorch_core.core.trace import bind
from functorch_core.primitives.batching import elementwise_batch
from functorch_core.primitives.declare import ELEMENTWISE
from tests.primitives.check import check

X = np.array([[0.3, -1.2, 2.5], [-0.7, 1.9, 0.05]])
Y = X[::-1] + 0.4
_numbers = itertools.count()


@pytest.fixture(autouse=True)
def clean_registry():
    """Planted primitives leave the registry again."""
    before = set(registry)
    yield
    for name in set(registry) - before:
        del registry[name]


# ---- a right primitive, and one mistake at a time ------------------------------------------------


def square(**wrong):
    """x * x as a primitive of its own; keywords replace rules."""

    def apply(x):
        return bind(primitive, x)

    def squared_jvp(primals, tangents):
        x, t = primals[0], tangents[0]
        return apply(x), p.mul(t, p.mul(x, 2.0))

    rules = dict(
        traits=ELEMENTWISE,
        shape=lambda x: x,
        reference=lambda x: x * x,
        lower=lambda ctx, x: ctx.op("stablehlo.multiply", x, x, out=x.aval),
        jvp=squared_jvp,
        transpose=NOT_LINEAR,
        batch=elementwise_batch(apply),
    )
    primitive = Primitive(f"planted_square_{next(_numbers)}", **{**rules, **wrong})
    return apply


def product(**wrong):
    """x * y, linear in each."""

    def apply(x, y):
        return bind(primitive, x, y)

    def product_jvp(primals, tangents):
        (x, y), (s, t) = primals, tangents
        terms = [apply(*pair) for pair in ((s, y), (x, t)) if None not in pair]
        return apply(x, y), terms[0] if len(terms) == 1 else p.add(*terms)

    def product_transpose(ct, x, y):
        return (apply(ct, y) if isinstance(x, Linear) else None, apply(x, ct) if isinstance(y, Linear) else None)

    rules = dict(
        traits=ELEMENTWISE,
        shape=lambda x, y: x,
        reference=lambda x, y: x * y,
        lower=lambda ctx, x, y: ctx.op("stablehlo.multiply", x, y, out=x.aval),
        jvp=product_jvp,
        transpose=product_transpose,
        batch=elementwise_batch(apply),
    )
    primitive = Primitive(f"planted_product_{next(_numbers)}", **{**rules, **wrong})
    return apply


def test_the_right_ones_pass():
    check(square(), X)
    check(product(), X, Y)


def _batch_at_wrong_dimension(axis, args, dims):
    return p.mul(args[0], args[0]), 1 - dims[0] if dims[0] < 2 else 0


def _batch_ignores_the_second(axis, args, dims):
    from functorch_core.primitives.batching import all_at_front

    x, y = all_at_front(axis, args, dims)
    return p.mul(x, p.reverse(y, dims=(0,))), 0


WRONG_SQUARES = {
    # ---- lowering
    "lowering_of_another_function": dict(lower=lambda ctx, x: ctx.op("stablehlo.add", x, x, out=x.aval)),
    "lowering_slightly_off": dict(
        lower=lambda ctx, x: ctx.op(
            "stablehlo.multiply", x, ctx.op("stablehlo.multiply", x, ctx.full(x.aval, 1 + 1e-8), out=x.aval), out=x.aval
        )
    ),
    # ---- jvp
    "jvp_factor": dict(jvp=lambda primals, tangents: (p.mul(*primals * 2), p.mul(tangents[0], primals[0]))),
    "jvp_none": dict(jvp=lambda primals, tangents: (p.mul(*primals * 2), None)),
    "jvp_not_linear": dict(jvp=lambda primals, tangents: (p.mul(*primals * 2), p.mul(tangents[0], tangents[0]))),
    "jvp_output": dict(
        jvp=lambda primals, tangents: (p.add(p.mul(*primals * 2), 1e-3), p.mul(tangents[0], p.mul(primals[0], 2.0)))
    ),
    "jvp_second_order": dict(
        jvp=lambda primals, tangents: (
            p.mul(*primals * 2),
            p.mul(tangents[0], p.convert(p.convert(p.mul(primals[0], 2.0), dtype=dt.int64), dtype=dt.float64)),
        )
    ),
    # ---- batch
    "batch_dimension": dict(batch=_batch_at_wrong_dimension),
    "batch_value": dict(batch=lambda axis, args, dims: (args[0], dims[0])),
    "batch_claims_unbatched": dict(batch=lambda axis, args, dims: (p.mul(args[0], args[0]), None)),
    # ---- shape
    "shape_dtype": dict(shape=lambda x: x.with_dtype(dt.float32)),
    "shape_extra": dict(shape=lambda x: aval((*x.shape, 1), x.dtype)),
    "reference_shape": dict(reference=lambda x: (x * x)[..., None]),
}

WRONG_PRODUCTS = {
    # ---- transpose
    "transpose_of_x": dict(
        transpose=lambda ct, x, y: (
            p.neg(p.mul(ct, y)) if isinstance(x, Linear) else None,
            p.mul(ct, x) if isinstance(y, Linear) else None,
        )
    ),
    "transpose_of_y_missing": dict(transpose=lambda ct, x, y: (p.mul(ct, y) if isinstance(x, Linear) else None, None)),
    "transpose_swapped": dict(
        transpose=lambda ct, x, y: (None, p.mul(ct, y)) if isinstance(x, Linear) else (p.mul(ct, x), None)
    ),
    # ---- jvp
    "jvp_forgets_y": dict(
        jvp=lambda primals, tangents: (p.mul(*primals), None if tangents[0] is None else p.mul(tangents[0], primals[1]))
    ),
    # ---- batch
    "batch_pairs_wrongly": dict(batch=_batch_ignores_the_second),
}


@pytest.mark.parametrize("mistake", WRONG_SQUARES)
def test_wrong_rules_are_caught(mistake):
    with pytest.raises((AssertionError, ValueError)):
        check(square(**WRONG_SQUARES[mistake]), X)


@pytest.mark.parametrize("mistake", WRONG_PRODUCTS)
def test_wrong_rules_of_two_operands_are_caught(mistake):
    with pytest.raises((AssertionError, ValueError)):
        check(product(**WRONG_PRODUCTS[mistake]), X, Y)


def test_a_wrong_complex_convention_is_caught():
    """conj in a transpose, which the real dot-product test would not see."""
    z = X + 1j * Y
    wrong = product(
        transpose=lambda ct, x, y: (
            p.mul(ct, p.conj(y)) if isinstance(x, Linear) else None,
            p.mul(p.conj(x), ct) if isinstance(y, Linear) else None,
        )
    )
    with pytest.raises(AssertionError, match="dot-product"):
        check(wrong, z, z[::-1])
