"""How many units in the last place the compiled functions are off, compiled fast and for speed.

The references are NumPy's in a wider type: float64 for float32, x87's long double for float64.
Complex numbers are measured by |error| / |result|, in epsilons.
"""

import numpy as np
import pytest

from functorch_core import primitives as p
from functorch_core import xla
from functorch_core.core import dtypes as dt
from functorch_core.core.lowering import lower
from functorch_core.primitives.transcendental import _log1p_reference, _logistic_reference
from tests.primitives.check import graph_of

RNG = np.random.default_rng(0)
WIDE = {dt.float32: np.float64, dt.float64: np.longdouble, dt.complex64: np.complex128, dt.complex128: np.clongdouble}
X87 = np.finfo(np.longdouble).nmant > np.finfo(np.float64).nmant


def _rsqrt(x):
    return 1 / np.sqrt(x)


def _atan2_of_one(x):
    return np.arctan2(x, np.ones_like(x))


# name: (function, reference, largest error allowed in float32, in float64)
REAL = {
    # ---- exact to half a unit, or nearly
    "sqrt": (p.sqrt, np.sqrt, 0.51, 0.51),
    "sin": (p.sin, np.sin, 0.6, 0.6),
    "cos": (p.cos, np.cos, 0.6, 0.6),
    "atan": (p.atan, np.arctan, 1, 1),
    "log": (p.log, np.log, 1.2, 0.6),
    "cbrt": (p.cbrt, np.cbrt, 1.5, 1.5),
    "exp2": (p.exp2, np.exp2, 1.5, 2),
    "atan2": (lambda x: p.atan2(x, 1.0), _atan2_of_one, 1.6, 1),
    # ---- a few units
    "exp": (p.exp, np.exp, 3, 2),
    "rsqrt": (p.rsqrt, _rsqrt, 2.1, 1.6),
    "logistic": (p.logistic, _logistic_reference, 2.5, 2.5),
    "log1p": (p.log1p, np.log1p, 3, 2.5),
    "log2": (p.log2, np.log2, 2.5, 2),
    "log10": (p.log10, np.log10, 2.6, 3.2),
    "tan": (p.tan, np.tan, 2.2, 2.2),
    "asin": (p.asin, np.arcsin, 2.2, 1.6),
    "acos": (p.acos, np.arccos, 2.2, 2),
    "asinh": (p.asinh, np.arcsinh, 3.2, 3),
    "acosh": (p.acosh, np.arccosh, 3.2, 3.6),
    "atanh": (p.atanh, np.arctanh, 3.2, 3.2),
    "cosh": (p.cosh, np.cosh, 3.5, 4),
    # ---- XLA's own polynomials
    "expm1": (p.expm1, np.expm1, 5, 4),
    "sinh": (p.sinh, np.sinh, 6, 5),
    "tanh": (p.tanh, np.tanh, 6, 8),
}

COMPLEX = {
    # ---- name: (function, reference, largest error in epsilons)
    "exp": (p.exp, np.exp, 2),
    "log": (p.log, np.log, 3),
    "log2": (p.log2, np.log2, 3),
    "log10": (p.log10, np.log10, 4),
    "log1p": (p.log1p, _log1p_reference, 3),
    "expm1": (p.expm1, np.expm1, 4),
    "exp2": (p.exp2, np.exp2, 20),  # its angle is rounded
    "sqrt": (p.sqrt, np.sqrt, 2),
    "rsqrt": (p.rsqrt, _rsqrt, 3),
    "abs": (p.abs, np.abs, 2),
    "sin": (p.sin, np.sin, 4),
    "cos": (p.cos, np.cos, 4),
    "tan": (p.tan, np.tan, 6),
    "sinh": (p.sinh, np.sinh, 4),
    "cosh": (p.cosh, np.cosh, 4),
    "tanh": (p.tanh, np.tanh, 6),
    "asin": (p.asin, np.arcsin, 3),
    "acos": (p.acos, np.arccos, 3),
    "atan": (p.atan, np.arctan, 3),
    "asinh": (p.asinh, np.arcsinh, 3),
    "acosh": (p.acosh, np.arccosh, 3),
    "atanh": (p.atanh, np.arctanh, 3),
}


def compiled(functions, x, options):
    """The results of all these functions in one program."""
    low = lower(graph_of(lambda x: [f(x) for f in functions], [x]))
    exe = xla.compile(
        low.text,
        inputs=low.inputs,
        outputs=low.outputs,
        cache=False,
        options=xla.FAST_COMPILE if options == "fast" else xla.choose_options(low.features | {options}),
    )
    return [np.asarray(xla.to_numpy(b)) for b in exe([xla.put(x)])]


def real_values(dtype):
    """All magnitudes, the usual range, and the neighbourhood of -1, 0 and 1."""
    reach = 35 if dtype == dt.float32 else 280
    sizes, near = 10.0 ** RNG.uniform(-reach, reach, 3000), 10.0 ** RNG.uniform(-8, 0, 1000)
    return np.concatenate(
        [
            sizes,
            -sizes,
            RNG.uniform(-3, 3, 4000),
            RNG.uniform(-100, 100, 3000),
            1 + near,
            1 - near,
            near - 1,
            np.arange(-20, 21) / 2,
        ]
    ).astype(dtype)


def complex_values(dtype):
    """The same for complex numbers, with every quotient of parts."""

    def sizes(low, high):
        return 10.0 ** RNG.uniform(low, high, 2000) * RNG.choice([-1, 1], 2000)

    z = [
        sizes(-10, 1) + 1j * sizes(-10, 1),
        sizes(-1, 1.4) + 1j * sizes(-1, 1.4),
        1 + sizes(-7, 0) + 1j * sizes(-8, 0),
        sizes(-7, 0) - 1 + 1j * sizes(-8, 0),
        sizes(-8, 0) + 1j * (1 + sizes(-7, 0)),
        sizes(-2, 1) + 0j,
        1j * sizes(-2, 1),
    ]
    return np.concatenate(z).astype(dtype)


def ulps(found, wanted):
    """The error in units in the last place; inf where only one is NaN or inf. 0 where subnormal."""
    dtype = found.dtype
    near, info = wanted.astype(dtype), np.finfo(dtype)
    error = np.abs(found.astype(wanted.dtype) - wanted) / np.spacing(np.abs(near))
    usual = np.isfinite(near) & np.isfinite(found)
    same = (found == near) | (np.isnan(found) & np.isnan(near))
    tiny = np.abs(wanted) < info.smallest_normal
    return np.where(same | tiny, 0, np.where(usual, error, np.inf))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("options", ["fast", "chosen", "jit"])
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64], ids=str)
def test_real_functions(dtype, options):
    if dtype == dt.float64 and not X87:
        pytest.skip("long double has no more digits than float64 here")
    x = real_values(dtype)
    outs = compiled([f for f, *_ in REAL.values()], x, options)
    for (name, (_, reference, *bounds)), found in zip(REAL.items(), outs):
        error = ulps(found, reference(x.astype(WIDE[dtype])))
        worst = int(error.argmax())
        assert error[worst] <= bounds[dtype == dt.float64], (
            f"{name}({x[worst]!r}) = {found[worst]!r} is off by {float(error[worst]):.2f} ulps"
        )


ANGLES = {"sin": (p.sin, np.sin), "cos": (p.cos, np.cos), "tan": (p.tan, np.tan)}


@pytest.mark.parametrize("reach", [3, 1e4, 2e9, 1e38], ids=str)
@pytest.mark.parametrize("options", ["fast", "chosen", "jit"])
def test_angles_that_come_to_many_turns(options, reach):
    """Of up to 2^31 quarter turns by polynomials, of more by XLA's own."""
    x = np.concatenate([RNG.uniform(-reach, reach, 4000), np.arange(-60, 60) * np.pi / 4, [0.0, -0.0]]).astype(
        np.float32
    )
    outs = compiled([f for f, _ in ANGLES.values()], x, options)
    for (name, (_, reference)), found in zip(ANGLES.items(), outs):
        error = ulps(found, reference(x.astype(np.longdouble)))
        assert error.max() <= REAL[name][2], (name, x[error.argmax()], error.max())
        assert name == "cos" or np.signbit(found[-1])


@pytest.mark.parametrize("size", [1, 17, 64, 70, 1003, 5000])
@pytest.mark.parametrize("options", ["chosen", "jit", "hot"])
def test_vectors_of_every_size(size, options):
    """Compiled for vectors as for a few numbers: XLA has functions that only vectors of 512 bits make wrong."""
    x = np.linspace(-3, 3, size).astype(np.float32)
    outs = compiled([f for f, *_ in REAL.values()], x, options)
    with np.errstate(all="ignore"):
        for (name, (_, reference, *bounds)), found in zip(REAL.items(), outs):
            assert ulps(found, reference(x.astype(np.float64))).max() <= bounds[0], name


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("options", ["fast", "chosen", "jit"])
@pytest.mark.parametrize("dtype", [dt.complex64, dt.complex128], ids=str)
def test_complex_functions(dtype, options):
    if dtype == dt.complex128 and not X87:
        pytest.skip("long double has no more digits than float64 here")
    z = complex_values(dtype)
    outs = compiled([f for f, *_ in COMPLEX.values()], z, options)
    for (name, (_, reference, bound)), found in zip(COMPLEX.items(), outs):
        wanted = reference(z.astype(WIDE[dtype]))
        error = np.abs(found - wanted) / np.abs(wanted) / np.finfo(dtype).eps
        error = np.where((found == wanted) | ~np.isfinite(wanted), 0, error)
        assert np.isfinite(error).all(), f"{name}({z[~np.isfinite(error)][:3]})"
        worst = int(error.argmax())
        assert error[worst] <= bound, (
            f"{name}({z[worst]!r}) = {found[worst]!r} is off by {float(error[worst]):.2f} epsilons"
        )


def steps(x):
    """Which number of its dtype, counted from 0: neighbours differ by 1."""
    bits = x.view(np.int16).astype(np.int32)
    return np.where(bits < 0, -(bits & 0x7FFF), bits)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16], ids=str)
def test_half_precision_is_rounded_once_from_float32(dtype):
    """Every value of the dtype: within one unit of the float64 result."""
    x = np.arange(65536).astype(np.uint16).view(dtype)
    outs = compiled([f for f, *_ in REAL.values()], x, "fast")
    for (name, (_, reference, *_)), found in zip(REAL.items(), outs):
        wanted = reference(x.astype(np.float64))
        near = wanted.astype(np.float32).astype(dtype)
        off = np.abs(steps(found) - steps(near))
        off = np.where(np.isnan(found) & np.isnan(near), 0, off)
        off = np.where(np.abs(x.astype(np.float64)) < 2.0**-120, 0, off)  # XLA has no subnormals
        off = np.where(np.abs(wanted) < 2.0**-120, 0, off)
        assert off.max() <= 1, f"{name}({x[off.argmax()]}) = {found[off.argmax()]}"


def test_powers_are_exact_where_they_can_be():
    n = np.arange(-126, 128)
    x = 2.0**n
    for dtype in (dt.float32, dt.float64):
        log2, exp2 = compiled([p.log2, lambda v: p.exp2(p.log2(v))], x.astype(dtype), "chosen")
        np.testing.assert_array_equal(log2, n)
        np.testing.assert_array_equal(exp2, x)
        (log10,) = compiled([p.log10], (10.0 ** np.arange(-10, 11)).astype(dtype), "chosen")
        np.testing.assert_allclose(log10, np.arange(-10, 11), rtol=np.finfo(dtype).eps)


# ---- signed zeros, infinities and branch cuts ----------------------------------------------------

ON_CUTS = [
    complex(re, im)
    for a in (0.5, 2.5)
    for re, im in [(a, 0.0), (a, -0.0), (-a, 0.0), (-a, -0.0), (0.0, a), (-0.0, a), (0.0, -a), (-0.0, -a)]
]
CUT = ("sqrt", "log", "log2", "log10", "log1p", "asin", "acos", "atan", "asinh", "acosh", "atanh")


@pytest.mark.parametrize("dtype", [dt.complex64, dt.complex128], ids=str)
def test_branch_cuts_are_on_the_side_of_the_signed_zero(dtype):
    z = np.array(ON_CUTS, dtype)
    outs = compiled([COMPLEX[name][0] for name in CUT], z, "fast")
    for name, found in zip(CUT, outs):
        wanted = COMPLEX[name][1](z)
        np.testing.assert_allclose(
            found, wanted, rtol=4 * np.finfo(dtype).eps, atol=4 * np.finfo(dtype).eps, err_msg=name
        )
        nonzero = np.abs(wanted.imag) > 1e-6
        assert (np.signbit(found.imag) == np.signbit(wanted.imag))[nonzero].all(), name


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_real_functions_at_infinity_and_zero():
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 710.4, -710.4, 1024, -1080, 1e308])
    outs = compiled([f for f, *_ in REAL.values()], x, "fast")
    for (name, (_, reference, *_)), found in zip(REAL.items(), outs):
        wanted = reference(x)
        np.testing.assert_allclose(found, wanted, rtol=1e-14, atol=1e-300, err_msg=name)
        zero = wanted == 0
        zero[10] = False  # exp(-1080): underflow
        np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(wanted[zero]), name)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_complex_logarithms_at_zero_and_infinity():
    z = np.array([0, complex(np.inf, 1), complex(-np.inf, 0), complex(0, np.inf)])
    outs = compiled([p.log, p.log2, p.log10], z, "fast")
    for found, reference in zip(outs, (np.log, np.log2, np.log10)):
        wanted = reference(z)
        np.testing.assert_array_equal(found.real, wanted.real)
        np.testing.assert_allclose(found.imag, np.angle(z) / (np.angle(z)[2] / wanted[2].imag))


REMAINDERS = {
    "usual": lambda k, y: (100 * RNG.standard_normal(len(k)), y),
    "multiples": lambda k, y: (k * y, y),
    "next to multiples": lambda k, y: (np.nextafter((k * y).astype(np.float32), np.float32(np.inf)), y),
    "by a tenth": lambda k, y: (k * np.float32(0.1), np.full(len(k), 0.1)),
    "by three": lambda k, y: (k, np.full(len(k), 3)),
    "any bits": lambda k, y: RNG.integers(0, 2**32, (2, len(k)), dtype=np.uint32).view(np.float32),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("options", ["fast", "chosen", "jit"])
@pytest.mark.parametrize("case", REMAINDERS)
def test_remainders_are_exact(case, options):
    k, y = RNG.integers(-(2**20), 2**20, 5000).astype(np.float32), RNG.standard_normal(5000).astype(np.float32)
    x, y = (np.asarray(a, np.float32) for a in REMAINDERS[case](k, y))

    def remainders(both):
        a, b = (p.slice_in_dim(both, start=i, limit=i + 1, dimension=0) for i in (0, 1))
        return p.rem(a, b)

    (found,) = compiled([remainders], np.stack([x, y]), options)
    wanted, tiny = np.fmod(x, y), np.finfo(np.float32).smallest_normal
    kept = (abs(wanted) >= tiny) & (abs(x) >= tiny) & (abs(y) >= tiny) | (wanted == 0) & (abs(x) >= tiny)
    np.testing.assert_array_equal(found[0][kept], wanted[kept])
    assert (np.signbit(found[0]) == np.signbit(wanted))[kept].all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("options", ["fast", "chosen", "jit"])
@pytest.mark.parametrize("case", REMAINDERS)
def test_quotients_are_rounded_down_exactly(case, options):
    """As NumPy and PyTorch have them, in a program and by NumPy's rule; by zero and infinity, too."""
    k, y = RNG.integers(-(2**20), 2**20, 5000).astype(np.float32), RNG.standard_normal(5000).astype(np.float32)
    usual = [np.asarray(a, np.float32) for a in REMAINDERS[case](k, y)]
    special = np.float32([0, -0.0, 1, -1, 1e38, np.inf, -np.inf, np.nan])
    for x, y in (usual, map(np.ravel, np.meshgrid(np.tile(special, 80), special))):

        def quotients(both):
            a, b = (p.slice_in_dim(both, start=i, limit=i + 1, dimension=0) for i in (0, 1))
            return p.floor_div(a, b)

        (found,) = compiled([quotients], np.stack([x, y]), options)
        wanted, tiny = np.floor_divide(x, y), np.finfo(np.float32).smallest_normal
        there = ~np.isnan(wanted)
        normal = np.logical_and.reduce([~(abs(a) < tiny) | (a == 0) for a in (x, y, x / y, np.fmod(x, y))])
        np.testing.assert_array_equal(found[0][normal], wanted[normal])
        assert (np.signbit(found[0]) == np.signbit(wanted))[normal & there].all()
        by_numpy = p.floor_div.primitive.reference(x, y)
        np.testing.assert_array_equal(by_numpy, wanted)
        assert (np.signbit(by_numpy) == np.signbit(wanted))[there].all()
