"""Elementwise ops against the reference: values, dtypes, errors, odd shapes, in-place, out=."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest

from functorch_core import torch

from .against_reference import assert_same, assert_same_error, pair

reference = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

ODD = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.7, 1e-8, 30.0, math.inf, -math.inf, math.nan], np.float32)
SHAPES = [np.float32(0.25), np.zeros((0, 3), np.float32), np.linspace(-0.9, 0.9, 12, dtype=np.float32).reshape(3, 4).T]


def both(fun, *arrays, scale: float = 1.0, dtype=None):
    """fun(module, *tensors) in both libraries, compared."""
    pairs = [pair(a, reference, dtype) for a in arrays]
    assert_same(fun(torch, *[o for o, _ in pairs]), fun(reference, *[t for _, t in pairs]), scale)


# ---- one operand ---------------------------------------------------------------------------------

UNARY = """abs neg sign sgn positive reciprocal square floor ceil trunc round exp exp2 expm1 log
log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh deg2rad
rad2deg sinc
sigmoid erf erfc erfinv logit lgamma digamma i0 angle isnan isinf isfinite isposinf isneginf isreal
logical_not nan_to_num signbit conj_physical""".split()
HARD = {"erfinv": 20, "lgamma": 20, "digamma": 20, "i0": 20, "sinc": 20, "tan": 20}


@pytest.mark.parametrize("name", UNARY)
def test_unary_on_odd_values(name):
    def call(module, x):
        return getattr(module, name)(x)

    both(call, ODD, scale=HARD.get(name, 4))
    for array in SHAPES:
        both(call, array, scale=HARD.get(name, 4))


@pytest.mark.parametrize("name", ["exp", "sqrt", "sigmoid", "square", "sign", "floor", "isnan"])
@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool", "bfloat16", "float16", "float64"])
def test_unary_dtypes(name, dtype):
    def call(module, x):
        return getattr(module, name)(x)

    if name == "floor" and dtype == "bool":
        return
    both(call, np.array([0.0, 1.0, 2.0]), dtype=dtype, scale=4)


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "sin", "tanh", "abs", "sgn", "reciprocal", "sigmoid", "angle"])
def test_unary_complex(name):
    both(lambda module, x: getattr(module, name)(x), np.array([1 + 2j, -1.5j, 0j, -2 + 0j], np.complex64), scale=4)


# ---- two operands --------------------------------------------------------------------------------

DTYPES = "bool uint8 int8 int64 float16 bfloat16 float32 float64 complex32 complex64".split()
PROMOTING = "add mul div maximum eq logical_and true_divide".split()


@pytest.mark.parametrize("name", PROMOTING)
@pytest.mark.parametrize("left", DTYPES)
def test_promotion_of_pairs(name, left):
    for right in DTYPES:
        x, y = pair(np.array([1.0, 2.0, 3.0]), reference, left), pair(np.array(2.0), reference, right)
        z = pair(np.array([2.0, 2.0, 1.0]), reference, right)
        for other in (y, z):
            if name == "maximum" and "complex" in left + right:
                continue
            try:
                wanted = getattr(reference, name)(x[1], other[1])
            except NotImplementedError:  # it has few ops of complex32
                continue
            assert_same(getattr(torch, name)(x[0], other[0]), wanted, 4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", [2, 2.5, True, 1 + 1j])
def test_promotion_with_numbers(dtype, number):
    x, y = pair(np.array([1.0, 2.0]), reference, dtype)
    for apply in (operator.add, operator.mul, operator.truediv, operator.eq):
        if apply is operator.truediv and (reference.result_type(y, number) is reference.complex32):
            continue  # the reference cannot
        assert_same(apply(x, number), apply(y, number), 4)
        assert_same(apply(number, x), apply(number, y), 4)


FLOAT_PAIRS = """remainder fmod floor_divide atan2 hypot copysign logaddexp logaddexp2 fmax fmin
maximum minimum xlogy nextafter pow lt ge""".split()


@pytest.mark.parametrize("name", FLOAT_PAIRS)
def test_binary_on_odd_values(name):
    values = ODD[:-1] if name in ("logaddexp2",) else ODD
    values = np.concatenate([values[values != np.float32(1e-8)], np.array([2.0, -3.0], np.float32)])
    x, y = np.meshgrid(values, values)
    both(lambda module, x, y: getattr(module, name)(x, y), x, y, scale=4)


INT_PAIRS = """add sub mul remainder fmod floor_divide maximum bitwise_and bitwise_or bitwise_xor
gcd lcm bitwise_left_shift bitwise_right_shift""".split()


@pytest.mark.parametrize("name", INT_PAIRS)
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64"])
def test_binary_on_integers(name, dtype):
    x, y = np.meshgrid(np.array([1, 2, 3, 7, 100]), np.array([1, 2, 3, 5]))
    both(lambda module, x, y: getattr(module, name)(x, y), x, y, dtype=dtype)
    if dtype != "uint8" and "shift" not in name:
        both(lambda module, x, y: getattr(module, name)(x, y), -x, y, dtype=dtype)


def test_broadcasting_of_odd_shapes():
    both(lambda m, x, y: x * y - y, np.ones((3, 1, 2), np.float32), np.ones((4, 1), np.float32))
    both(lambda m, x, y: x / y, np.ones((0, 2), np.float32), np.ones((2,), np.float32))


def test_integers_wrap():
    for number in (300, -1, 1000):
        both(lambda m, x: x + number, np.array([1, 255]), dtype="uint8")
        both(lambda m, x: x * number, np.array([1, -128]), dtype="int8")


def test_division_modes():
    x, y = np.array([7.0, -7.0, 5.5, -0.0]), np.array([2.0, 2.0, -2.0, 3.0])
    for mode in (None, "trunc", "floor"):
        both(lambda m, x, y: m.div(x, y, rounding_mode=mode), x, y)
    for mode in ("trunc", "floor"):
        both(lambda m, x, y: m.div(x, y, rounding_mode=mode), np.array([7, -7]), np.array([2, 2]))


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, -2, 0.5, 2.5, 17, 40, -0.5])
def test_powers_by_numbers(exponent):
    both(lambda m, x: x**exponent, np.array([0.5, 1.5, 2.0]), scale=10)
    both(lambda m, x: exponent**x, np.array([1.0, 2.0, 3.0]), scale=10)
    if exponent in (2, 3, 17, 40):
        both(lambda m, x: x**exponent, np.array([1, -2, 3]))


# ---- numbers, bounds, choice ---------------------------------------------------------------------

CALLS = {
    "rsub": lambda m, x, y: m.rsub(x, y, alpha=2),
    "add_alpha": lambda m, x, y: m.add(x, y, alpha=0.3),
    "addcmul": lambda m, x, y: m.addcmul(x, y, y, value=0.7),
    "addcdiv": lambda m, x, y: m.addcdiv(x, y, y, value=0.7),
    "lerp": lambda m, x, y: m.lerp(x, y, 0.7),
    "lerp_tensor": lambda m, x, y: m.lerp(x, y, y),
    "clamp": lambda m, x, y: m.clamp(x, -1, 0.3),
    "clamp_tensor": lambda m, x, y: m.clamp(x, y, y + 1),
    "clamp_crossed": lambda m, x, y: m.clamp(x, 1, -1),
    "clip_max": lambda m, x, y: x.clip(max=0),
    "clamp_min": lambda m, x, y: m.clamp_min(x, 0.2),
    "where": lambda m, x, y: m.where(x > y, x, 2),
    "where_numbers": lambda m, x, y: m.where(x > y, 1, 2),
    "where_method": lambda m, x, y: x.where(x > 0, y),
    "round_decimals": lambda m, x, y: m.round(x * 10, decimals=1),
    "logit_eps": lambda m, x, y: m.logit(x, eps=0.1),
    "nan_to_num": lambda m, x, y: m.nan_to_num(x / 0, nan=1.0, posinf=2.0, neginf=-2.0),
    "heaviside": lambda m, x, y: m.heaviside(x, y),
    "ldexp": lambda m, x, y: m.ldexp(x, m.tensor([1, 2, 3, 4])),
    "float_power": lambda m, x, y: m.float_power(x.abs(), 2),
    "isclose": lambda m, x, y: m.isclose(x, y, rtol=0.5),
    "allclose": lambda m, x, y: m.allclose(x, x + 1e-9),
    "equal": lambda m, x, y: m.equal(x, x),
    "isin": lambda m, x, y: m.isin(x, y),
    "isin_number": lambda m, x, y: m.isin(x, 0.5, invert=True),
    "polygamma": lambda m, x, y: m.polygamma(2, x + 3),
    "mvlgamma": lambda m, x, y: m.mvlgamma(x + 5, 3),
    "polar": lambda m, x, y: m.polar(x, y),
    "frexp": lambda m, x, y: m.frexp(x),
    "igamma": lambda m, x, y: m.igamma(x + 3, y + 3),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    x = np.array([-0.5, 0.25, 0.5, 1.5], np.float32)
    y = np.array([0.5, 0.25, -1.0, 0.75], np.float32)
    both(CALLS[name], x, y, scale=20 if "gamma" in name else 4)


def test_frexp_of_odd_values():
    both(lambda m, x: m.frexp(x)[0], ODD)
    both(lambda m, x: m.frexp(x)[1], ODD[np.isfinite(ODD)])
    both(lambda m, x: m.frexp(x), np.array([5e-324, 1e300, -3.0]))


# ---- in-place, out= ------------------------------------------------------------------------------


def test_inplace_keeps_the_object_and_its_dtype():
    x = torch.tensor([1.0, 2.0])
    same = x
    x += 1
    x *= torch.tensor([2.0, 3.0])
    x /= 2
    x -= 1.0
    x **= 2
    assert x is same
    assert x.tolist() == [1.0, 12.25]
    i = torch.tensor([5, 7])
    i //= 2
    i %= 2
    assert i.tolist() == [0, 1] and i.dtype is torch.int64
    assert torch.ones(2).eq_(1).dtype is torch.float32


def test_inplace_reaches_the_base_of_a_view():
    x = torch.zeros(2, 3)
    x[0].add_(2).mul_(3)
    assert x.tolist() == [[6.0, 6.0, 6.0], [0.0, 0.0, 0.0]]


def test_out():
    out = torch.zeros(2, dtype=torch.float64)
    assert torch.add(torch.ones(2), 2, out=out) is out
    assert out.tolist() == [3.0, 3.0]
    resized = torch.empty(0)
    torch.exp(torch.zeros(3), out=resized)
    assert resized.tolist() == [1.0, 1.0, 1.0]


# ---- derivatives at kinks ------------------------------------------------------------------------

KINKS = {
    "abs": lambda m, x: x.abs(),
    "sqrt_square": lambda m, x: (x * x + 1).sqrt(),
    "pow_2": lambda m, x: x**2,
    "pow_0": lambda m, x: x**0,
    "pow_tensor": lambda m, x: (x.abs() + 1) ** x,
    "clamp": lambda m, x: x.clamp(0, 1),
    "maximum": lambda m, x: m.maximum(x, m.zeros_like(x)),
    "fmin": lambda m, x: m.fmin(x, m.zeros_like(x)),
    "where": lambda m, x: m.where(x > 0, x.abs().sqrt(), x * 2),
    "sinc": lambda m, x: x.sinc(),
    "xlogy": lambda m, x: m.xlogy(x.abs(), x.abs() + 1),
    "sign": lambda m, x: x.sign() * x,
    "round": lambda m, x: x.round() + x,
    "remainder": lambda m, x: m.remainder(x, 2 * m.ones_like(x)),
    "floor": lambda m, x: x.floor(),
    "div_floor": lambda m, x: m.div(x, 2, rounding_mode="floor"),
    "copysign": lambda m, x: m.copysign(x, -1.0),
    "hypot": lambda m, x: m.hypot(x, m.ones_like(x)),
    "nan_to_num": lambda m, x: m.nan_to_num(x),
    "nextafter": lambda m, x: m.nextafter(x, m.ones_like(x)),
    "logaddexp": lambda m, x: m.logaddexp(x, 2 * x),
    "frexp": lambda m, x: m.frexp(x)[0],
    "lerp": lambda m, x: m.lerp(x, x * x, 0.7),
    "entr": lambda m, x: m.special.entr(x.abs() + 1),
}


@pytest.mark.parametrize("name", KINKS)
def test_gradient(name):
    ours, theirs = pair(np.array([-2.0, -1.0, 0.0, 0.5, 1.0, 2.0]), reference, grad=True)
    for module, x in ((torch, ours), (reference, theirs)):
        (KINKS[name](module, x) * module.arange(1.0, 7.0, dtype=module.float64)).sum().backward()
    assert_same(ours.grad, theirs.grad, 100)


def test_gradient_of_complex():
    ours, theirs = pair(np.array([1 + 2j, -0.5j, 2 + 0j]), reference, grad=True)
    for x in (ours, theirs):
        (x.exp() * x.conj() / (x + 3)).abs().sum().backward()
    assert_same(ours.grad, theirs.grad, 100)


# ---- errors --------------------------------------------------------------------------------------

ERRORS = {
    "bool_neg": lambda m: -m.tensor([True]),
    "bool_minus_bool": lambda m: m.tensor([True]) - m.tensor([True]),
    "bool_minus_number": lambda m: m.tensor([True]) - 1,
    "float_alpha": lambda m: m.add(m.tensor([1]), 1, alpha=0.5),
    "bool_alpha": lambda m: m.add(m.tensor([1.0]), 1, alpha=True),
    "negative_power": lambda m: m.tensor([1, 2]) ** -1,
    "bool_power": lambda m: m.pow(m.tensor([True]), m.tensor([True])),
    "invert_float": lambda m: ~m.tensor([1.0]),
    "and_of_floats": lambda m: m.tensor([1.0]) & m.tensor([1.0]),
    "complex_order": lambda m: m.tensor([1j]) < m.tensor([1j]),
    "complex_maximum": lambda m: m.maximum(m.tensor([1j]), m.tensor([1j])),
    "complex_sign": lambda m: m.sign(m.tensor([1j])),
    "complex_floor": lambda m: m.floor(m.tensor([1j])),
    "rounding_mode": lambda m: m.div(m.tensor([1.0]), 2, rounding_mode="up"),
    "integer_addcdiv": lambda m: m.addcdiv(m.tensor([1]), m.tensor([1]), m.tensor([1])),
    "clamp_without_bounds": lambda m: m.clamp(m.tensor([1.0])),
    "lerp_dtypes": lambda m: m.lerp(m.zeros(2), m.zeros(2, dtype=m.float64), 0.5),
    "heaviside_dtypes": lambda m: m.heaviside(m.zeros(2), m.zeros(2, dtype=m.float64)),
    "where_condition": lambda m: m.where(m.tensor([1.0]), 1.0, 2.0),
    "isclose_dtypes": lambda m: m.isclose(m.zeros(2), m.zeros(2, dtype=m.float64)),
    "inplace_category": lambda m: m.tensor([1]).mul_(0.5),
    "inplace_true_division": lambda m: m.tensor([1]).div_(2),
    "inplace_shape": lambda m: m.zeros(2).add_(m.zeros(3, 2)),
    "broadcast": lambda m: m.zeros(2, 3) + m.zeros(4),
    "gcd_of_floats": lambda m: m.gcd(m.tensor([1.0]), m.tensor([1.0])),
    "polygamma": lambda m: m.polygamma(-1, m.tensor([1.0])),
    "leaf_inplace": lambda m: m.zeros(2, requires_grad=True).add_(1),
    "out_category": lambda m: m.add(m.ones(2), 1, out=m.zeros(2, dtype=m.int64)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    assert_same_error(ERRORS[name], reference)


@pytest.mark.parametrize(
    "fun",
    [
        lambda m: m.exp(2.0),
        lambda m: m.maximum(m.zeros(1), 2),
        lambda m: m.add(m.zeros(1), "a"),
        lambda m: m.zeros(1) + None,
        lambda m: m.bitwise_and(2, 3),
        lambda m: m.exp(m.zeros(1), 3),
    ],
)
def test_wrong_operands_are_type_errors(fun):
    assert_same_error(fun, reference, message=False)


# ---- special functions ---------------------------------------------------------------------------

SPECIAL = """entr erfcx i0e i1 i1e ndtr ndtri log_ndtr airy_ai bessel_j0 bessel_j1 bessel_y0
bessel_y1 modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1
scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0 expit gammaln psi""".split()


@pytest.mark.parametrize("name", SPECIAL)
def test_special(name):
    x = np.array([0.125, 0.5, 0.75, 0.9]) if name == "ndtri" else np.array([0.125, 1.0, 3.5, 12.0])
    both(lambda m, x: getattr(m.special, name)(x), x, scale=1e5)
    both(lambda m, x: getattr(m.special, name)(x), np.array([1, 2]) if name != "ndtri" else np.array([0, 1]), scale=20)


POLYNOMIALS = [f"{s}chebyshev_polynomial_{k}" for k in "tuvw" for s in ("", "shifted_")] + [
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
]


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials(name):
    x, n = np.meshgrid(np.array([-1.0, -0.3, 0.0, 0.4, 1.0]), np.array([-1.0, 0.0, 1.0, 2.0, 5.0]))
    both(lambda m, x, n: getattr(m.special, name)(x, n), x, n, scale=1e3)
    both(lambda m, x, n: getattr(m.special, name)(x, 3), x, n, scale=1e3)


@pytest.mark.parametrize("name", POLYNOMIALS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_polynomials_of_any_degree(name, dtype):
    x = np.array([0.0, 0.4, 0.7, 1.0, -1.0, -0.3, 1.0005, -1.0005, 2.5, math.inf, -math.inf])
    n = np.array([math.nan, math.inf, -math.inf, -3.0, 1.5, 5.0, 8.0, 9.0, 120.0, 129.0, 513.0, 1e19])
    x, n = np.meshgrid(x, n)
    both(lambda m, x, n: getattr(m.special, name)(x, n), x, n, dtype=dtype, scale=1e4)


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_of_high_degree_need_no_loop(name):
    x, n = np.meshgrid(np.array([0.0, 0.01, 0.4, 0.7, 1.0, -0.01, 1.0000003, 12.0]), np.array([20001.0, 150000.0]))
    ours, theirs = [getattr(m.special, name)(m.tensor(x), m.tensor(n)).numpy() for m in (torch, reference)]
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)
    assert getattr(torch.special, name)(torch.tensor(0.5), 1e18).shape == ()


def test_ldexp_of_complex_numbers_keeps_their_dtype():
    for x in (np.complex128(2 + 1j), np.complex64(2 + 1j), np.ones(2, np.complex128)):
        for n in (np.array([3, 2], np.int8), np.array([True, False]), np.array([0.5, 2.0], np.float32)):
            both(lambda m, x, n: m.ldexp(x, n), x, n)


def test_special_of_two():
    x, y = np.array([0.5, 1.5, 3.0]), np.array([2.0, 4.0, 0.7])
    for name in ("zeta", "xlogy", "xlog1py", "gammainc", "gammaincc"):
        both(lambda m, x, y: getattr(m.special, name)(x, y), x + (name == "zeta"), y, scale=100)
    both(lambda m, x: m.special.xlog1py(0, x), x)


# ---- lists of tensors ----------------------------------------------------------------------------

FOREACH = {
    "add": lambda m, x, y: m._foreach_add(x, y, alpha=0.3),
    "add_number": lambda m, x, y: m._foreach_add(x, 0.3),
    "add_numbers": lambda m, x, y: m._foreach_add(x, [1, 0.3]),
    "mul_tensor": lambda m, x, y: m._foreach_mul(x, m.tensor(2.0)),
    "div": lambda m, x, y: m._foreach_div(x, y),
    "pow": lambda m, x, y: m._foreach_pow(x, 2),
    "pow_of_number": lambda m, x, y: m._foreach_pow(2.0, x),
    "lerp": lambda m, x, y: m._foreach_lerp(x, y, 0.7),
    "addcmul": lambda m, x, y: m._foreach_addcmul(x, y, y, value=0.7),
    "addcdiv": lambda m, x, y: m._foreach_addcdiv(x, y, y, [0.7, 1.0]),
    "addcdiv_tensor": lambda m, x, y: m._foreach_addcdiv(x, y, y, m.tensor([0.7, 2.0])),
    "maximum": lambda m, x, y: m._foreach_maximum(x, y),
    "clamp_min": lambda m, x, y: m._foreach_clamp_min(x, 1.5),
    "norm": lambda m, x, y: m._foreach_norm(x),
    "norm_1": lambda m, x, y: m._foreach_norm(x, 1),
    "norm_inf": lambda m, x, y: m._foreach_norm(x, math.inf),
    "max": lambda m, x, y: m._foreach_max(x),
    "sqrt": lambda m, x, y: m._foreach_sqrt(x),
    "inplace": lambda m, x, y: m._foreach_add_(x, y),
    "copy": lambda m, x, y: m._foreach_copy_(x, y),
    "zero": lambda m, x, y: [m._foreach_zero_(x), x][1],
    "addcdiv_inplace": lambda m, x, y: [m._foreach_addcdiv_(x, y, y, value=2), x][1],
}


@pytest.mark.parametrize("name", FOREACH)
def test_foreach(name):
    arrays = [np.array([1.0, 2.0], np.float32), np.array([[3.0]], np.float32)]
    results = []
    for module in (torch, reference):
        x, y = ([module.from_numpy(a + i) for a in arrays] for i in (0, 1))
        results.append(FOREACH[name](module, x, y))
    assert_same(tuple(results[0]), tuple(results[1]), 4)


def test_foreach_is_one_unit():
    from functorch_core.engine.recorder import _state, flush

    x = [torch.ones(3) for _ in range(5)]
    flush()
    torch._foreach_mul_(x, 0.5)
    assert len(list(_state.recording.calls())) == 1
    assert x[4].tolist() == [0.5, 0.5, 0.5]


def test_foreach_inplace_of_views_and_leaves():
    base = torch.zeros(4)
    torch._foreach_add_([base[:2], base[2:]], [torch.ones(2), 2 * torch.ones(2)])
    assert base.tolist() == [1.0, 1.0, 2.0, 2.0]
    leaf = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        torch._foreach_mul_([leaf], 2.0)
    torch._foreach_mul([leaf], 3.0)[0].sum().backward()
    assert leaf.grad.tolist() == [3.0, 3.0]


def test_foreach_errors():
    for fun in (lambda m: m._foreach_add([], 1), lambda m: m._foreach_add([m.ones(1)], [])):
        assert_same_error(fun, reference)


# ---- recompilation -------------------------------------------------------------------------------


def test_varying_numbers_trace_once():
    from functorch_core.torch.dispatch.op import registry

    op, x = registry["add"], torch.ones(2)
    _ = x + 3.25
    before = len(op.ops)
    for i in range(5):
        _ = x + (3.5 + i)
    assert len(op.ops) == before


WRITES_TO_SHARED_MEMORY = {
    "one twice": lambda m, a, b: m._foreach_mul_([a, a], 0.9),
    "parts of one": lambda m, a, b: m._foreach_mul_([a, a[1:], a], [2.0, 3.0, 0.5]),
    "each other's": lambda m, a, b: m._foreach_add_([a, b], [b, a]),
    "copies of each other": lambda m, a, b: m._foreach_copy_([a, b], [b, a]),
    "between each other": lambda m, a, b: m._foreach_lerp_([a, b], [b, a], 0.5),
    "with itself": lambda m, a, b: m._foreach_sub_([a, b], [a, b], alpha=0.5),
    "without an operand": lambda m, a, b: m._foreach_sqrt_([a, a[:1], b]),
}


@pytest.mark.parametrize("name", WRITES_TO_SHARED_MEMORY)
def test_lists_of_tensors_that_share_memory_are_written_to_in_turn(name):
    def program(m, a, b):
        for _ in range(3):
            WRITES_TO_SHARED_MEMORY[name](m, a, b)
        return a, b

    both(program, np.arange(1, 5, dtype=np.float32), np.linspace(0.5, 2, 4, dtype=np.float32))
