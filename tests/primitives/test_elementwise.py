"""Elementwise primitives: every rule and dtype, edge values, kinks as PyTorch has them, errors."""

import warnings

import numpy as np
import pytest

from functorch_core import primitives as p
from functorch_core import xla
from functorch_core.core import dtypes as dt
from functorch_core.core.aval import aval
from functorch_core.core.lowering import lower
from functorch_core.core.primitive import registry
from functorch_core.core.trace import bind, evaluate
from functorch_core.transforms.jvp import jvp
from functorch_core.transforms.transpose import vjp
from tests.primitives.check import check, compiled, graph_of

RNG = np.random.default_rng(0)
X = np.array([[0.3, -1.2, 2.5], [-0.7, 1.9, 0.05]])
Y = np.array([[1.4, -0.6, -2.2], [0.8, 3.1, -1.7]])
Z = X + 1j * Y
W = Y[::-1] - 0.5j * X
POSITIVE, UNIT = np.abs(X) + 0.2, X / 3
EMPTY, SCALAR = np.zeros((0, 3)), np.float64(0.7)
STRIDED = np.arange(24.0).reshape(4, 6)[::-2, ::3] / 7 + 0.1
FLAGS = X > Y


@pytest.fixture(autouse=True)
def numpy_warnings_off():
    """References meet NaN and overflow on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


# ---- every rule ----------------------------------------------------------------------------------

CASES = {
    # ---- arithmetic
    "add": (p.add, X, Y),
    "sub": (p.sub, X, Y),
    "neg": (p.neg, X),
    "mul": (p.mul, Z, W),
    "sub_scalar": (lambda x: p.sub(1, x), X),
    "sub_complex": (p.sub, Z, W),
    "sub_same": (lambda x: p.sub(x, x), X),
    "div": (p.div, X, Y),
    "div_complex": (p.div, Z, W),
    "div_scalar": (lambda x: p.div(2, x), Y),
    "div_empty": (p.div, EMPTY, EMPTY),
    "div_0d": (p.div, SCALAR, SCALAR + 1),
    "div_strided": (p.div, STRIDED, STRIDED.T.reshape(STRIDED.shape)),
    "rem": (p.rem, X * 5.3, Y),
    "max": (p.max, X, Y),
    "min": (p.min, X, Y),
    "abs": (p.abs, X),
    "abs_complex": (p.abs, Z),
    "sign": (p.sign, X),
    "sign_complex": (p.sign, Z),
    "floor": (p.floor, X),
    "ceil": (p.ceil, X),
    "trunc": (p.trunc, X),
    "round": (p.round, X * 1.07),
    "round_away": (lambda x: p.round(x, method="away_from_zero"), X * 1.07),
    # ---- powers and roots
    "integer_pow_0": (lambda x: p.integer_pow(x, y=0), X),
    "integer_pow_1": (lambda x: p.integer_pow(x, y=1), X),
    "integer_pow_7": (lambda x: p.integer_pow(x, y=7), X / 2),
    "integer_pow_complex": (lambda x: p.integer_pow(x, y=3), Z),
    "integer_pow_negative": (lambda x: p.integer_pow(x, y=-3), Y),
    "pow": (p.pow, POSITIVE, Y),
    "pow_complex": (p.pow, Z, W),
    "pow_negative_base": (lambda x: p.pow(x, 3.0), X),
    "sqrt": (p.sqrt, POSITIVE),
    "sqrt_complex": (p.sqrt, Z),
    "cbrt": (p.cbrt, X * 9),
    "rsqrt": (p.rsqrt, POSITIVE),
    "rsqrt_complex": (p.rsqrt, Z),
    # ---- choice
    "select": (p.select, FLAGS, X, Y),
    "select_complex": (p.select, FLAGS, Z, W),
    "select_0d": (p.select, np.True_, SCALAR, SCALAR * 2),
    "clamp": (p.clamp, X - 1, Y, X + 1),
    "compare": (lambda x, y: p.select(p.lt(x, y), x, y), X, Y),
    # ---- dtypes and parts
    "to_float32_and_back": (lambda x: p.convert(p.convert(x, dtype=dt.float32), dtype=dt.float64), X),
    "to_complex": (lambda x: p.convert(x, dtype=dt.complex128), X),
    "to_real": (lambda x: p.convert(x, dtype=dt.float64), Z),
    "to_int": (lambda x: p.convert(x, dtype=dt.int32), X),
    "real": (p.real, Z),
    "imag": (p.imag, Z),
    "conj": (p.conj, Z),
    "complex": (p.complex, X, Y),
    "complex_scalar": (lambda x: p.complex(0.0, x), X),
    "reduce_precision": (lambda x: p.reduce_precision(x, exponent_bits=11, mantissa_bits=52), X),
    # ---- transcendental
    **{
        f.__name__: (f, X)
        for f in (p.exp, p.exp2, p.expm1, p.logistic, p.sin, p.cos, p.tan, p.atan, p.sinh, p.cosh, p.tanh, p.asinh)
    },
    **{f.__name__: (f, POSITIVE) for f in (p.log, p.log2, p.log10, p.log1p)},
    **{f.__name__: (f, UNIT) for f in (p.asin, p.acos, p.atanh)},
    "acosh": (p.acosh, POSITIVE + 1),
    "atan2": (p.atan2, X, Y),
    **{
        f"{f.__name__}_complex": (f, Z)
        for f in (
            p.exp,
            p.exp2,
            p.expm1,
            p.logistic,
            p.log,
            p.log2,
            p.log10,
            p.log1p,
            p.sin,
            p.cos,
            p.tan,
            p.asin,
            p.acos,
            p.atan,
            p.sinh,
            p.cosh,
            p.tanh,
            p.asinh,
            p.acosh,
            p.atanh,
        )
    },
}
ROUGH = {"to_float32_and_back": {"fd_tol": 2e-3, "eps": 1e-2}}  # finite differences of float32


@pytest.mark.parametrize("case", CASES)
def test_rules(case):
    fun, *arrays = CASES[case]
    check(fun, *arrays, **ROUGH.get(case, {}))


BITS = {
    "logic": lambda x, y: [p.and_(x, y), p.or_(x, y), p.xor(x, y), p.not_(x)],
    "shifts": lambda x, y: [p.shift_left(x, y), p.shift_right_arithmetic(x, y), p.shift_right_logical(x, y)],
    "counts": lambda x, y: [p.population_count(x), p.clz(x)],
    "bitcast": lambda x, y: [p.bitcast(x, dtype=dt.bfloat16), p.bitcast(y, dtype=dt.uint8)],
}


@pytest.mark.parametrize("name", BITS)
def test_bits_are_batched(name):
    x = RNG.integers(-(2**15), 2**15, (2, 3), dtype=np.int16)
    check(BITS[name], x, x[::-1] % 20)


def test_bitcast_is_batched_past_the_dimension_it_takes():
    check(lambda x: p.bitcast(x, dtype=dt.float32), RNG.integers(0, 99, (3, 4), dtype=np.uint8))


# ---- every dtype, with edge values: the lowering gives what the reference gives ------------------

UNARY = """abs sign neg floor ceil trunc round sqrt rsqrt cbrt is_finite not population_count clz
    real imag conj exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh
    asinh acosh atanh logistic""".split()
BINARY = """add sub mul div rem max min pow nextafter eq ne lt le gt ge and or xor shift_left
    shift_right_arithmetic shift_right_logical complex atan2""".split()
PARAMS = {"round": {"method": "to_even"}}


def pairs(dtype):
    """All pairs of edge values, then random ones."""
    if dtype == dt.bool_:
        edges, more = np.array([False, True]), RNG.integers(0, 2, (2, 3)).astype(bool)
    elif dtype in dt.INTEGER:
        info = dt.iinfo(dtype)
        edges = np.array(
            [info.min, info.max, 0, 1, 2, 3, 7, 8, info.max // 2, info.min // 2] + [-1, -2] * (info.min < 0)
        ).astype(dtype)
        more = RNG.integers(info.min, info.max, (2, 64), dt.EMULATED.get(dtype, dtype), endpoint=True).astype(dtype)
    elif dtype in dt.COMPLEX:
        edges = np.array([1, -1, 1j, 2 - 0.5j, -3 + 0.25j], dtype)
        more = (RNG.standard_normal((2, 64)) + 2j * RNG.standard_normal((2, 64))).astype(dtype)
    else:
        edges = np.array([0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, np.inf, -np.inf, np.nan, 20, -20]).astype(dtype)
        more = (3 * RNG.standard_normal((2, 64))).astype(dtype)
    return [np.concatenate([g.reshape(-1), m]) for g, m in zip(np.meshgrid(edges, edges), more)]


def accepts(name, arrays):
    """Whether the shape rule takes these operands."""
    try:
        graph_of(lambda *xs: bind(registry[name], *xs, **PARAMS.get(name, {})), arrays)
    except TypeError:
        return False
    return True


@pytest.mark.parametrize("dtype", sorted(dt.ALL, key=str), ids=str)
@pytest.mark.parametrize("names", [UNARY, BINARY], ids=["unary", "binary"])
def test_every_dtype(names, dtype):
    arrays = pairs(dtype)[: 1 if names is UNARY else 2]
    names = [n for n in names if accepts(n, arrays)]
    graph = graph_of(lambda *xs: [bind(registry[n], *xs, **PARAMS.get(n, {})) for n in names], arrays)
    tol = {1: 0.13, 2: 1e-2}.get(dt.real_of(dtype).itemsize, 2e-6)
    for name, found, wanted in zip(names, compiled(graph, arrays), evaluate(graph, arrays)):
        assert found.dtype == wanted.dtype
        if found.dtype in dt.FLOATING:
            found, wanted = found.astype(np.float64), wanted.astype(np.float64)
            flushed = np.abs(wanted) < float(dt.finfo(dtype).smallest_normal)
            wanted = np.where(flushed & (found == 0), 0, wanted)  # XLA's CPU has no subnormals
        elif found.dtype in dt.COMPLEX:
            found, wanted = found.astype(np.complex128), wanted.astype(np.complex128)
        exact = found.dtype.kind not in "fc"
        np.testing.assert_allclose(
            found, wanted, rtol=0 if exact else tol, atol=0 if exact else 1e-6, err_msg=f"{name} of {dtype}"
        )


@pytest.mark.parametrize("dtype", sorted(dt.FLOAT8 - {dt.float8_e8m0fnu}, key=str), ids=str)
def test_powers_of_every_pair_of_float8(dtype):
    every = np.arange(16 if dtype in dt.SUB_BYTE else 256, dtype=np.uint8).view(dtype)
    x, y = np.repeat(every, len(every)), np.tile(every, len(every))
    graph = graph_of(lambda x, y: [p.pow(x, y)], [x, y])
    (found,), (wanted,) = [[a.astype(np.float32) for a in run(graph, [x, y])] for run in (compiled, evaluate)]
    np.testing.assert_allclose(found, wanted, rtol=0.26, atol=float(dt.finfo(dtype).smallest_subnormal))  # a rounding


def test_integer_division_wraps_and_survives_zero():
    x = np.array([7, -7, -128, 5, -128], np.int8)
    y = np.array([-2, 2, -1, 0, 0], np.int8)
    graph = graph_of(lambda x, y: [p.div(x, y), p.rem(x, y)], [x, y])
    for run in (evaluate, compiled):
        quotient, remainder = run(graph, [x, y])
        assert quotient.tolist() == [-3, -3, -128, -1, -1]
        assert remainder.tolist() == [1, -1, 0, 5, -128]


def test_pow_of_ints():
    x = np.array([2, -1, -1, 1, 0, 3, 3, -72], np.int8)
    y = np.array([-1, -3, -4, -5, 0, -2, 5, 65], np.int8)
    graph = graph_of(p.pow, [x, y])
    for run in (evaluate, compiled):
        assert run(graph, [x, y])[0].tolist() == [0, -1, 1, 1, 1, 0, -13, 0]


def test_rounding_to_halves():
    x = np.array([0.5, 1.5, -0.5, -2.5, 0.49999999999999994, -0.2, 2.0**52 + 1])
    graph = graph_of(lambda x: [p.round(x), p.round(x, method="away_from_zero"), p.trunc(x)], [x])
    for run in (evaluate, compiled):
        even, away, trunc = run(graph, [x])
        assert even.tolist() == [0, 2, 0, -2, 0, 0, 2.0**52 + 1]
        assert away.tolist() == [1, 2, -1, -3, 0, 0, 2.0**52 + 1]
        assert trunc.tolist() == [0, 1, 0, -2, 0, 0, 2.0**52 + 1]
        assert np.signbit(trunc[2]) and np.signbit(trunc[5])


def test_select_keeps_what_it_does_not_choose_away():
    x = np.array([1.0, np.nan, np.inf])
    check(p.select, np.array([True, False, False]), x, x[::-1], diff=())


# ---- kinks, as PyTorch has them ------------------------------------------------------------------

KINKS = {
    "max": (p.max, "maximum"),
    "min": (p.min, "minimum"),
    "pow": (p.pow, "pow"),
    "atan2": (p.atan2, "atan2"),
    "rem": (p.rem, "fmod"),
    "div": (p.div, "div"),
    "abs": (p.abs, "abs"),
    "sqrt": (p.sqrt, "sqrt"),
    "sign": (p.sign, "sign"),
    "log1p": (p.log1p, "log1p"),
    "asin": (p.asin, "asin"),
    "tanh": (p.tanh, "tanh"),
}
KINK_VALUES = np.array([0.0, 1.0, -1.0, 2.0, 3.0, 0.5, -0.5])


def gradient(fun, arrays):
    """Gradients of the sum of fun, by the references."""
    v = vjp(graph_of(fun, arrays), (True,) * len(arrays))
    first = evaluate(v.forward, arrays)
    return evaluate(v.backward, [*first[1:], *[np.ones_like(first[0]) for m in v.out_mask if m]])


@pytest.mark.parametrize("name", KINKS)
def test_derivatives_at_kinks(name):
    torch = pytest.importorskip("torch")
    fun, torch_name = KINKS[name]
    binary = name in ("max", "min", "pow", "atan2", "rem", "div")
    values = np.meshgrid(KINK_VALUES, KINK_VALUES) if binary else [KINK_VALUES]
    values = [v.reshape(-1) for v in values]
    defined = {"atan2": (values[0] != 0) | (values[-1] != 0), "div": values[-1] != 0, "rem": values[-1] != 0}.get(
        name, slice(None)
    )
    values = [v[defined] for v in values]
    tensors = [torch.tensor(v, requires_grad=True) for v in values]
    getattr(torch, torch_name)(*tensors).sum().backward()
    for found, t in zip(gradient(fun, values), tensors):
        np.testing.assert_allclose(found, t.grad.numpy(), rtol=1e-12, err_msg=name)


def test_clamp_at_its_bounds():
    torch = pytest.importorskip("torch")
    grid = [v.reshape(-1) for v in np.meshgrid([0.0, 1.0], [-1.0, 0.0, 0.5, 1.0, 2.0], [0.0, 1.0, -1.0])]
    tensors = [torch.tensor(v, requires_grad=True) for v in grid]
    low, x, high = tensors
    torch.clamp(x, low, high).sum().backward()
    for found, t in zip(gradient(p.clamp, grid), tensors):
        np.testing.assert_array_equal(found, t.grad.numpy())


def test_nextafter():
    check(p.nextafter, X, Y, diff=())
    check(p.nextafter, X.astype(dt.bfloat16), Y.astype(dt.bfloat16), tol=0)
    with pytest.raises(NotImplementedError, match="not differentiable"):
        jvp(graph_of(p.nextafter, [X, Y]), (True, False))


def test_second_derivative_of_pow_at_zero():
    x = np.zeros(3)
    exponents = np.array([0.0, 1.0, 2.0])
    graph, _ = jvp(graph_of(lambda x: p.pow(x, exponents), [x]), (True,))
    twice, _ = jvp(graph, (True, False))
    out = evaluate(twice, [x, np.ones(3), np.ones(3)])
    np.testing.assert_array_equal(out[-1], [0, 0, 2])


# ---- what a user sees ----------------------------------------------------------------------------

ERRORS = {
    "lt takes real or bool": lambda: p.lt(Z, Z),
    "max takes real or bool": lambda: p.max(Z, Z),
    "one shape and dtype": lambda: p.sub(X, X[:1]),
    "select takes a bool array": lambda: p.select(FLAGS[0], X, Y),
    "select takes bool": lambda: p.select(X, X, Y),
    "shift_left takes int": lambda: p.shift_left(X, X),
    "y of 0 or more": lambda: p.integer_pow(np.arange(3), y=-1),
    "'to_even' or 'away_from_zero'": lambda: p.round(X, method="up"),
    "last dimension of 2": lambda: p.bitcast(np.arange(3, dtype=np.int32), dtype=dt.int64),
    "bitcast takes and makes": lambda: p.bitcast(Z, dtype=dt.int64),
    "cannot make": lambda: p.convert(X, dtype=np.dtype("S3")),
    "mantissa_bits": lambda: p.reduce_precision(X, exponent_bits=0, mantissa_bits=1),
    "sqrt takes floating or complex": lambda: p.sqrt(np.arange(3)),
    "floor takes floating": lambda: p.floor(np.arange(3)),
}


@pytest.mark.parametrize("message", ERRORS)
def test_errors(message):
    with pytest.raises((TypeError, ValueError), match=message):
        ERRORS[message]()


def test_bitcast_between_floats_has_no_derivative():
    graph = graph_of(lambda x: p.bitcast(x, dtype=dt.float32), [X])
    with pytest.raises(NotImplementedError, match="stop the gradient"):
        jvp(graph, (True,))


@pytest.mark.parametrize("dtype", [dt.bfloat16, dt.float64, dt.complex64, dt.uint8], ids=str)
def test_every_lowering_is_valid_for_cuda(dtype):
    for names, arrays in ((UNARY, pairs(dtype)[:1]), (BINARY, pairs(dtype))):
        names = [n for n in names if accepts(n, arrays)]
        graph = graph_of(lambda *xs: [bind(registry[n], *xs, **PARAMS.get(n, {})) for n in names], arrays)
        xla.verify(lower(graph, "cuda").text)


@pytest.mark.parametrize("shape, dtype", [((4, 9_000), np.float32), ((33_001,), np.int32), ((2, 70_000), np.float64)])
def test_large_choices_by_numpy(shape, dtype):
    rng = np.random.default_rng(3)
    flags = rng.random(shape) < 0.5
    x, y = (rng.standard_normal(shape).astype(dtype) for _ in range(2))
    if dtype != np.int32:
        x.flat[::7], y.flat[::5] = np.nan, -0.0
    for of_x, of_y in ((x, y), (x[..., ::-1], y), (x, np.broadcast_to(y.ravel()[:1], shape))):
        found = evaluate(graph_of(p.select, [flags, of_x, of_y]), [flags, of_x, of_y])[0]
        expected = np.where(flags, of_x, of_y)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == dtype and found.tobytes() == expected.tobytes()  # signs of zeros, too


@pytest.mark.parametrize("log", [p.log, p.log2, p.log10])
def test_logarithms_of_negative_powers_are_no_numbers(log):
    """XLA takes log(x**y) for y log |x|, also where a reshape is between."""
    x, y = np.array([-1, -2, 3, -2], np.float32), np.array([-1, 3, 2, 0.5], np.float32)
    graph = graph_of(lambda x, y: log(p.reshape(p.pow(x, y), shape=(2, 2))), [x, y])
    for run in (evaluate, compiled):
        assert np.isnan(run(graph, [x, y])[0]).tolist() == [[True, True], [False, True]]


@pytest.mark.parametrize("divisor", [3e38, 1.5e38, -8.6e37, 2.0**100, 3.0, 1e-30, np.inf, np.nan, 0.0])
@pytest.mark.parametrize("known", [False, True])
def test_many_divided_by_one_however_large(divisor, known):
    """XLA takes reciprocals of divisors, which are 0 from 8.5e37 on."""
    one = np.float32(divisor)
    x = (np.random.default_rng(0).normal(size=64) * 10.0 ** np.arange(-32, 32)).astype(np.float32)
    x[:6] = [one, 0, np.inf, -np.inf, np.nan, one / 2]

    def quotient(x, *y):
        return p.div(x, p.broadcast_in_dim(*y, shape=x.aval.shape, dims=()) if y else p.full((64,), one, one.dtype))

    arrays = [x] if known else [x, one]
    (found,) = compiled(graph_of(quotient, arrays), arrays)
    with np.errstate(all="ignore"):
        expected = x / one
    subnormal = np.abs(expected) < np.finfo(np.float32).tiny  # 0 in XLA's programs
    np.testing.assert_allclose(found[~subnormal], expected[~subnormal], rtol=3e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("divisor", [3, 41, 49, 55, 82, 98, 1000, 2, 0.25])
@pytest.mark.parametrize("known", [False, True])
def test_many_divided_by_one_are_the_quotients(divisor, known, dtype):
    """XLA takes products with the reciprocal: 49 of them are less than 1, of which `floor` makes 0."""
    one = dtype(divisor)
    x = np.append(np.arange(20 * 49, dtype=dtype), [np.nan, np.inf, -np.inf, -0.0]).astype(dtype)

    def quotient(x, *y):
        return p.div(x, p.broadcast_in_dim(*y, shape=x.aval.shape, dims=()) if y else p.full(x.aval.shape, one, dtype))

    arrays = [x] if known else [x, one]
    np.testing.assert_array_equal(compiled(graph_of(quotient, arrays), arrays)[0], x / one)
    ones = np.full((), 49, dtype)
    assert compiled(graph_of(lambda x: p.div(x, p.full((), 49, dtype)), [ones]), [ones])[0] == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("spread", [False, True])
def test_quotients_of_quotients_do_not_overflow(spread, dtype):
    """XLA takes x / y / z for x / (y z), x / (y / z) for x z / y."""
    big = np.sqrt(np.finfo(dtype).max) * dtype(100)
    x = np.array([big, 1, big, 3, np.inf, np.nan], dtype)
    y = big if spread else np.array([big, big, 1, big, 2, 1], dtype)
    z = big if spread else np.array([big, 1 / big, big, 5, np.inf, np.nan], dtype)

    def quotients(x, y, z):
        if spread:
            y, z = (p.broadcast_in_dim(v, shape=x.aval.shape, dims=()) for v in (y, z))
        ratio = p.div(x, y)
        return p.div(ratio, z), p.div(x, p.div(y, z)), p.div(ratio, p.div(z, x))

    expected = x / y / z, x / (y / z), x / y / (z / x)
    for found, wanted in zip(compiled(graph_of(quotients, [x, y, z]), [x, y, z]), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=np.finfo(dtype).tiny)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_of_exponentials_that_overflow(dtype):
    """XLA takes exp(x)**y for exp(x y)."""
    x, y = np.array([np.inf, -np.inf, np.nan, 1e4, 2], dtype), np.array([0, 0, 0, 0.01, 3], dtype)
    (found,) = compiled(graph_of(lambda x, y: p.pow(p.exp(x), y), [x, y]), [x, y])
    np.testing.assert_allclose(found, np.exp(x) ** y, rtol=1e-5)


@pytest.mark.parametrize("size", [p.abs, p.exp, lambda x: p.mul(x, x)], ids=["abs", "exp", "square"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_not_a_number_is_not_at_least_zero(size, dtype):
    """XLA takes what has no sign to be at least 0."""
    x = np.array([1, np.nan, -2, 0, np.inf], dtype)

    def compare(x):
        y, zero = size(x), p.zeros(aval(x.aval.shape, dtype))
        return p.ge(y, zero), p.le(zero, y), p.lt(y, zero), p.gt(zero, y)

    graph = graph_of(compare, [x])
    for run in (evaluate, compiled):
        for found, wanted in zip(run(graph, [x]), [~np.isnan(x)] * 2 + [np.zeros(5, bool)] * 2, strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_masks_of_positions_that_repeat():
    """Compared once and laid over the rest; chosen by, in place and where NumPy broadcasts."""
    rows = np.broadcast_to(np.arange(80, dtype=np.int32)[:, None], (3, 4, 80, 90))
    columns = np.broadcast_to(np.arange(90, dtype=np.int32), (3, 4, 80, 90))
    x, y = np.random.default_rng(0).standard_normal((2, 3, 4, 80, 90), dtype=np.float32)
    for name, fun in (("le", np.less_equal), ("gt", np.greater), ("eq", np.equal), ("ne", np.not_equal)):
        compare = (
            registry[name].rule("reference").specialised(aval(rows.shape, rows.dtype), aval(rows.shape, rows.dtype))
        )
        mask = compare(rows, columns)
        np.testing.assert_array_equal(mask, fun(rows, columns))
        np.testing.assert_array_equal(compare(rows.copy(), columns), mask)
        chosen = aval(x.shape, x.dtype)
        select = registry["select"].rule("reference").specialised(aval(mask.shape, mask.dtype), chosen, chosen)
        for m in (mask, np.ascontiguousarray(mask), mask[:1, :1]):
            np.testing.assert_array_equal(select(m, x, y), np.where(m, x, y))
            np.testing.assert_array_equal(select(m, x, np.float32(-np.inf)), np.where(m, x, np.float32(-np.inf)))
        np.testing.assert_array_equal(
            select(np.ascontiguousarray(mask), x[:1], np.array(2, np.float32)), np.where(mask, x[:1], np.float32(2))
        )
