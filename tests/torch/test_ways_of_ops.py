"""Ops that have ways of their own for many numbers, some dtypes or layouts: odd numbers, shapes and strides, by NumPy
and by programs, as PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

from functorch_core import engine
from functorch_core import torch as ours

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore")
TIERS = ("reference", "fused")
ODD = [0.0, -0.0, 1.0, -1.0, 0.5, 88.0, -104.0, 3e38, -3e38, 1e-30, np.inf, -np.inf, np.nan]


def numbers(*shape, seed=0):
    """Normal numbers of a shape."""
    return np.random.default_rng(seed).standard_normal(shape)


def pairs(odd=ODD):
    """Each odd number with each, a few times over: as many as vectors of any width want."""
    x, y = np.meshgrid(np.array(odd), np.array(odd))
    return np.tile(x, (9, 3)), np.tile(y, (9, 3))


def agree(fun, *arrays, dtype="float32", tiers=TIERS, rtol=0.0, atol=0.0):
    """fun(library, *tensors) is the same in both, with NaN and the signs of zeros, however ours is computed."""

    def run(library, tier):
        made = [
            library.tensor(a, dtype=getattr(library, dtype)) if a.dtype.kind == "f" else library.tensor(a)
            for a in arrays
        ]
        with engine.forced_tier(tier):
            out = fun(library, *made)
            name = str(out.dtype).split(".")[-1]
            if out.is_complex():
                out = library.view_as_real(out)
            out[..., :0].tolist()  # it is computed
        with engine.forced_tier("reference"):  # which keeps subnormal numbers
            return name, tuple(out.shape), np.asarray(out.double().numpy())

    wanted = run(torch, "reference")
    for tier in tiers:
        found = run(ours, tier)
        assert found[:2] == wanted[:2]
        np.testing.assert_allclose(found[2], wanted[2], rtol=rtol, atol=atol)
        there = (np.abs(wanted[2]) > atol) | ((wanted[2] == 0) & (atol == 0))
        np.testing.assert_array_equal(np.signbit(found[2])[there], np.signbit(wanted[2])[there])


# ---- neighbours ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_next_after(dtype):
    info = torch.finfo(getattr(torch, dtype))
    odd = [*ODD, info.tiny, -info.tiny, info.smallest_normal / 2, info.max, -info.max]
    for least in (info.smallest_normal * info.eps, 3 * info.smallest_normal * info.eps):  # subnormal numbers
        odd += [least, -least]
    agree(lambda t, x, y: t.nextafter(x, y), *pairs(odd), dtype=dtype)
    agree(lambda t, x, y: t.nextafter(x, y), numbers(70, 90), numbers(70, 90, seed=1), dtype=dtype)


# ---- sums of exponentials ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_sums_of_exponentials(name, dtype):
    def fun(t, x, y):
        return getattr(t, name)(x, y)

    agree(fun, *pairs(), dtype=dtype, rtol=1e-6, atol=1e-7)
    agree(fun, numbers(70, 90) * 20, numbers(70, 90, seed=1) * 20, dtype=dtype, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_log1p_of_what_is_computed(dtype):
    def fun(t, x, y):
        return t.log1p(t.maximum(x, y)) + t.maximum(x, y)

    agree(fun, *pairs(), dtype=dtype, rtol=1e-6, atol=1e-7)
    agree(lambda t, x: t.log1p(t.exp2(x)), numbers(70, 90) * 20, dtype=dtype, rtol=1e-6)


# ---- equidistant numbers -------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 101, (1 << 16) - 1, (1 << 17) + 3])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int64"])
def test_linspace_in_pieces(dtype, steps):
    def fun(t):
        return t.linspace(-3, 70, steps, dtype=getattr(t, dtype))

    agree(fun, tiers=["auto"], rtol=1e-6, atol=1e-5)


# ---- complex numbers as pairs --------------------------------------------------------------------


def complex_numbers(*shape):
    return (numbers(*shape) + 1j * numbers(*shape, seed=1)).astype(np.complex64)


PARTS_OF = {
    "all": lambda x: x,
    "columns": lambda x: x[:, 1:5:2],
    "transposed": lambda x: x.mT,
    "repeated": lambda x: x[:, :1].expand(6, 7),
    "backwards": lambda x: x.flip(1),
    "none": lambda x: x[:0],
    "one": lambda x: x[2, 3],
}


@pytest.mark.parametrize("part", PARTS_OF.values(), ids=PARTS_OF)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_as_pairs(dtype, part):
    odd = complex_numbers(6, 7)
    odd.reshape(-1)[:4] = -0.0, complex(np.nan, -0.0), complex(-np.inf, 0), complex(0, -np.inf)

    def there(t, x):
        return t.view_as_real(part(x.to(getattr(t, dtype))).clone())

    def back(t, x):
        return t.view_as_complex(t.view_as_real(part(x.to(getattr(t, dtype)))) * 2)

    agree(there, odd)
    agree(back, odd)


@pytest.mark.parametrize("part", PARTS_OF.values(), ids=PARTS_OF)
def test_gradients_of_pairs(part):
    def fun(t, x):
        x = x.clone().requires_grad_()
        pairs = t.view_as_real(part(x))
        whole = t.view_as_complex(pairs * pairs)
        (whole * whole * (2 + 1j)).abs().sum().backward()
        return x.grad

    agree(fun, complex_numbers(6, 7), rtol=1e-5, atol=1e-5)


# ---- borders -------------------------------------------------------------------------------------

BORDERS = [
    ((1, 2), (3, 5)),
    ((4, 4), (3, 5)),
    ((0, 3), (2, 6)),
    ((2, 1, 3, 0), (2, 4, 5)),
    ((4, 4, 3, 3), (2, 3, 4, 5)),
    ((9, 9, 0, 1), (2, 3, 4, 10)),
    ((1, 0, 0, 2, 1, 1), (1, 2, 3, 4, 5)),
    ((-1, 2, 1, -1), (2, 3, 4, 5)),
    ((0, 0), (3, 5)),
    ((1, 1), (0, 2, 5)),
]


@pytest.mark.parametrize("widths, shape", BORDERS, ids=str)
@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_borders(mode, widths, shape):
    def fun(t, x, y):
        out = t.nn.functional.pad(x, widths, mode=mode)
        return out + 0 * t.nn.functional.pad(y.mT.contiguous().mT, widths, mode=mode)

    def gradient(t, x):
        x.requires_grad_()
        out = t.nn.functional.pad(x, widths, mode=mode)
        (out * t.arange(float(out.numel())).reshape(out.shape)).sum().backward()
        return x.grad

    x = numbers(*shape)
    if x.size:
        x.reshape(-1)[:3] = np.nan, np.inf, -0.0
    for dtype in ("float32", "float64", "bfloat16"):
        agree(lambda t, x: t.nn.functional.pad(x, widths, mode=mode), x, dtype=dtype)
    agree(fun, numbers(*shape), numbers(*shape), rtol=1e-6)
    agree(gradient, numbers(*shape), rtol=1e-5)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_borders_of_integers_and_batches(mode):
    x = np.arange(24).reshape(2, 3, 4)
    agree(lambda t, x: t.nn.functional.pad(x, (2, 1), mode=mode), x)
    agree(lambda t, x: t.nn.functional.pad(x.to(t.complex64), (2, 1), mode=mode), x)
    agree(lambda t, x: t.func.vmap(lambda r: t.nn.functional.pad(r, (2, 1), mode=mode))(x), numbers(2, 3, 4))


# ---- groups of single places ---------------------------------------------------------------------


@pytest.mark.parametrize("shape, groups", [((70_000, 6), 2), ((3, 100_000), 5), ((4096, 64, 1, 1), 8)], ids=str)
def test_groups_of_channels_with_one_place_each(shape, groups):
    vectors = numbers(shape[1], seed=1), numbers(shape[1], seed=2)
    agree(lambda t, x, *v: t.nn.functional.group_norm(x, groups, *v), numbers(*shape), *vectors, rtol=1e-3, atol=1e-4)


# ---- batch norm by given statistics --------------------------------------------------------------

CHANNELS = [(2, 3), (4, 8, 5), (3, 5, 4, 4), (8, 16, 48, 48), (70_000, 4), (1, 3, 300, 301)]


@pytest.mark.parametrize("shape", CHANNELS, ids=str)
@pytest.mark.parametrize("wanted", ["", "w", "b", "wb"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_batch_norm_by_given_statistics(dtype, wanted, shape):
    x = numbers(*shape)
    x.reshape(-1)[:5] = np.nan, np.inf, -np.inf, -0.0, 3e38
    middle, variance, weight, bias = (numbers(shape[1], seed=i) for i in range(4))
    variance = np.abs(variance)
    variance[0] = 0

    def fun(t, x, middle, variance, weight, bias):
        weight, bias = weight if "w" in wanted else None, bias if "b" in wanted else None
        return t.nn.functional.batch_norm(x, middle, variance, weight, bias)

    tolerance = 4e-2 if dtype == "bfloat16" else 1e-4 if dtype == "float32" else 1e-9
    agree(fun, x, middle, variance, weight, bias, dtype=dtype, rtol=tolerance, atol=tolerance)
    agree(lambda t, x, *v: fun(t, x.mT.contiguous().mT, *v), x, middle, variance, weight, bias, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("shape", [(3, 5, 4, 4), (8, 16, 48, 48)], ids=str)
def test_gradients_by_given_statistics(shape, which):
    def fun(t, x, middle, variance, *parameters):
        wanted = (x, *parameters)[which].requires_grad_()
        out = t.nn.functional.batch_norm(x, middle, variance.abs() + 0.5, *parameters)
        (first,) = t.autograd.grad((out * out).mean(), wanted, create_graph=True)
        (first * first).sum().backward()
        return t.cat([first.detach().flatten(), wanted.grad.flatten()])

    agree(fun, numbers(*shape), *[numbers(shape[1], seed=i) for i in range(4)], dtype="float64", rtol=1e-8, atol=1e-12)
    agree(fun, numbers(*shape), *[numbers(shape[1], seed=i) for i in range(4)], rtol=1e-3, atol=1e-5)
