"""Reductions, sorting, search, counting against the reference."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

from functorch_core import engine, torch
from tests.nn.both import failing

from .against_reference import assert_same, assert_same_error, pair

reference = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

X = np.array([[3.0, -1.0, 2.0, 2.0], [0.0, math.nan, -5.0, 1.0], [2.0, 2.0, -math.inf, 7.0]], np.float32)
FINITE = np.array([[3.0, -1.0, 2.0, 2.0], [0.0, 4.0, -5.0, 1.0], [2.0, 2.0, -7.0, 7.0]], np.float32)
ODD = [FINITE, FINITE[1].T, np.float32(2.5), np.zeros((2, 0), np.float32), FINITE[:, ::-2]]


def both(fun, *arrays, scale: float = 4.0, dtype=None):
    """fun(module, *tensors) in both libraries, compared."""
    pairs = [pair(a, reference, dtype) for a in arrays]
    assert_same(fun(torch, *[o for o, _ in pairs]), fun(reference, *[t for _, t in pairs]), scale)


# ---- sums, means, logic --------------------------------------------------------------------------

TOTALS = "sum prod nansum mean nanmean count_nonzero all any".split()


@pytest.mark.parametrize("name", TOTALS)
def test_totals(name):
    for array in (X, *ODD):
        both(lambda m, x: getattr(m, name)(x), array)
        both(lambda m, x: getattr(m, name)(x, 0), array)
        both(lambda m, x: getattr(m, name)(x, dim=-1), array)
    if name not in ("prod", "count_nonzero"):
        both(lambda m, x: getattr(m, name)(x, (0, 1), keepdim=True), X)


@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "any", "all"])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float16", "bfloat16", "complex64"])
def test_totals_dtypes(name, dtype):
    both(lambda m, x: getattr(m, name)(x, 0), np.array([1, 0, 3, 1]), dtype=dtype)


def test_totals_with_dtype():
    both(lambda m, x: x.sum(dtype=m.float64), FINITE)
    both(lambda m, x: x.mean(0, dtype=m.float64), np.array([1, 2]))
    both(lambda m, x: x.sum(dim=[]), FINITE)


def test_mean_of_half_precision_does_not_overflow():
    both(lambda m, x: x.mean(), np.full(70000, 2.0), dtype="float16")


DEVIATIONS = {
    "var": lambda m, x: m.var(x),
    "std_dim": lambda m, x: m.std(x, 0),
    "unbiased": lambda m, x: m.var(x, unbiased=False),
    "unbiased_positional": lambda m, x: x.std(False),
    "dim_unbiased_keepdim": lambda m, x: m.std(x, 1, False, True),
    "correction": lambda m, x: m.var(x, dim=(0, 1), correction=2, keepdim=True),
    "std_mean": lambda m, x: m.std_mean(x, 0),
    "var_mean": lambda m, x: m.var_mean(x, correction=0),
    "too_few": lambda m, x: m.var(x[:1], 0),
    "complex": lambda m, x: m.var(m.complex(x, x + 1), 0),
    "norm": lambda m, x: m.norm(x),
    "norm_dim": lambda m, x: x.norm(dim=0),
    "norm_1": lambda m, x: x.norm(1),
    "norm_3": lambda m, x: x.norm(3, dim=1, keepdim=True),
    "norm_inf": lambda m, x: x.norm(math.inf),
    "norm_0": lambda m, x: x.norm(0, dim=0),
    "norm_dtype": lambda m, x: x.norm(dtype=m.float64),
    "dist": lambda m, x: m.dist(x, x.flip(0), 3),
    "renorm": lambda m, x: m.renorm(x, 2, 0, 3.0),
    "logsumexp": lambda m, x: m.logsumexp(x * 100, 1),
    "logsumexp_two": lambda m, x: x.logsumexp((0, 1), keepdim=True),
}


@pytest.mark.parametrize("name", DEVIATIONS)
def test_deviations_and_norms(name):
    both(DEVIATIONS[name], FINITE, scale=10)


def test_logsumexp_of_infinities():
    both(lambda m, x: m.logsumexp(x, 0), np.array([-math.inf, -math.inf]))
    both(lambda m, x: m.logsumexp(x, 0), np.array([math.inf, 1.0]))


# ---- extremes ------------------------------------------------------------------------------------

EXTREMES = {
    "max": lambda m, x: m.max(x),
    "min_dim": lambda m, x: m.min(x, 0),
    "max_keepdim": lambda m, x: x.max(dim=-1, keepdim=True),
    "max_pair": lambda m, x: m.max(x, x.flip(0)),
    "max_other": lambda m, x: m.max(x, other=x.flip(0)),
    "amax": lambda m, x: m.amax(x, (0, 1)),
    "amin": lambda m, x: x.amin(0, keepdim=True),
    "aminmax": lambda m, x: m.aminmax(x),
    "aminmax_dim": lambda m, x: m.aminmax(x, dim=1),
    "argmax": lambda m, x: m.argmax(x),
    "argmin": lambda m, x: x.argmin(0, keepdim=True),
    "argmax_keepdim": lambda m, x: x.argmax(keepdim=True),
    "median": lambda m, x: m.median(x),
    "median_dim": lambda m, x: m.median(x, 1).values,
    "nanmedian": lambda m, x: m.nanmedian(x, 0).values,
    "nanmedian_all": lambda m, x: m.nanmedian(x),
    "mode": lambda m, x: m.mode(x, 1).values,
    "kthvalue": lambda m, x: m.kthvalue(x, 2, 0).values,
    "cummax": lambda m, x: m.cummax(x, 1),
    "cummin": lambda m, x: m.cummin(x, 0),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_extremes(name):
    both(EXTREMES[name], X)
    both(EXTREMES[name], FINITE)
    both(EXTREMES[name], FINITE.astype(np.int64))


@pytest.mark.parametrize("name", ["max", "argmax", "amax", "median", "sort", "cummax", "kthvalue"])
def test_order_of_a_number(name):
    extra = {"kthvalue": (1,), "cummax": (0,)}.get(name, ())
    both(lambda m, x: getattr(m, name)(x, *extra), np.float32(2.5))


def test_named_tuples():
    found = torch.max(torch.tensor([1.0, 3.0]), 0)
    assert type(found) is torch.return_types.max
    assert found.values.item() == 3.0 and found.indices.item() == 1
    assert repr(found).startswith("torch.return_types.max(\nvalues=tensor(3.),\nindices=")


@pytest.mark.parametrize("t", [torch, reference], ids=["ours", "theirs"])
def test_named_tuples_are_made_of_one_sequence(t):
    """As code does that maps a function over nested results: type(x)(f(y) for y in x)."""
    kind, found = t.return_types.max, t.tensor([1.0, 3.0]).max(0)
    assert (kind.n_fields, kind.n_sequence_fields, kind.n_unnamed_fields) == (2, 2, 0)
    again = type(found)(x + 1 for x in found)
    assert type(again) is kind and again.values.item() == 4
    rebuild, arguments = found.__reduce__()  # as pickled: (sequence, {})
    copied = rebuild(*arguments)
    assert type(copied) is kind and copied.indices.item() == 1 and arguments[1] == {}
    for wrong, text in (
        ((), "missing required argument 'sequence'"),
        ((3,), "constructor requires a sequence"),
        (((1,),), r"torch.return_types.max\(\) takes a 2-sequence \(1-sequence given\)"),
    ):
        with pytest.raises(TypeError, match=text):
            kind(*wrong)


# ---- sorting, quantiles, search ------------------------------------------------------------------

ORDERS = {
    "sort": lambda m, x: m.sort(x, stable=True),
    "sort_descending": lambda m, x: m.sort(x, dim=0, descending=True, stable=True),
    "argsort": lambda m, x: m.argsort(x, stable=True),
    "msort": lambda m, x: m.msort(x),
    "topk": lambda m, x: m.topk(x, 2, dim=0).values,
    "topk_smallest": lambda m, x: x.topk(3, largest=False).values,
    "quantile": lambda m, x: m.quantile(x, 0.3),
    "quantile_dim": lambda m, x: m.quantile(x, m.tensor([0.1, 0.5, 1.0]), dim=1, keepdim=True),
    "nanquantile": lambda m, x: m.nanquantile(x, 0.4, dim=0),
    "searchsorted": lambda m, x: m.searchsorted(m.tensor([-1.0, 0.0, 2.0, 3.0]), x),
    "searchsorted_right": lambda m, x: m.searchsorted(m.tensor([-1.0, 0.0, 2.0, 3.0]), x, right=True),
    "searchsorted_rows": lambda m, x: m.searchsorted(x.sort(1).values, x, side="right"),
    "searchsorted_number": lambda m, x: m.searchsorted(m.tensor([1, 3]), 2, out_int32=True),
    "bucketize": lambda m, x: m.bucketize(x, m.tensor([0.0, 2.0])),
    "unique": lambda m, x: m.unique(x[0]),
    "unique_all": lambda m, x: m.unique(x[0], return_inverse=True, return_counts=True),
    "unique_dim": lambda m, x: m.unique(m.tensor([[1, 2], [0, 1], [1, 2]]), dim=0, return_inverse=True),
    "unique_consecutive": lambda m, x: x[0].unique_consecutive(return_counts=True),
    "histc": lambda m, x: m.histc(x[0], bins=4),
    "histogram": lambda m, x: m.histogram(x[0], bins=4),
    "histogram_density": lambda m, x: m.histogram(x[0], m.tensor([-2.0, 0.0, 4.0]), density=True),
    "bincount": lambda m, x: m.bincount(m.tensor([1, 3, 1]), minlength=6),
    "bincount_weights": lambda m, x: m.bincount(m.tensor([1, 3, 1]), m.tensor([0.5, 1.0, 2.0])),
}


@pytest.mark.parametrize("name", ORDERS)
def test_orders(name):
    both(ORDERS[name], FINITE)
    if name.startswith(("sort", "argsort", "nanq", "quantile", "searchsorted", "topk")):
        both(ORDERS[name], np.where(np.isinf(X), 0, X))


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
def test_quantile_interpolations(interpolation):
    both(lambda m, x: m.quantile(x, 0.37, dim=1, interpolation=interpolation), FINITE)


def test_large_sorts():
    x = np.random.default_rng(0).standard_normal(5000)
    both(lambda m, x: m.sort(x), x)
    both(lambda m, x: m.topk(x, 7), x)
    both(lambda m, x: m.isin(x, x[::3]), x)


# ---- cumulative ----------------------------------------------------------------------------------

CUMULATIVE = {
    "cumsum": lambda m, x: m.cumsum(x, 0),
    "cumsum_dtype": lambda m, x: x.cumsum(1, dtype=m.float64),
    "cumprod": lambda m, x: m.cumprod(x, -1),
    "logcumsumexp": lambda m, x: m.logcumsumexp(x, 1),
    "diff": lambda m, x: m.diff(x),
    "diff_2": lambda m, x: m.diff(x, 2, 0, prepend=x[:1], append=x[:1]),
    "trapezoid": lambda m, x: m.trapezoid(x, dx=0.5),
    "trapezoid_x": lambda m, x: m.trapezoid(x, m.tensor([0.0, 1.0, 3.0, 4.0])),
    "cumulative_trapezoid": lambda m, x: m.cumulative_trapezoid(x, dim=0),
    "cov": lambda m, x: m.cov(x),
    "cov_weights": lambda m, x: m.cov(x, fweights=m.tensor([1, 2, 1, 3]), aweights=m.tensor([0.5, 1.0, 1.0, 0.2])),
    "corrcoef": lambda m, x: m.corrcoef(x),
}


@pytest.mark.parametrize("name", CUMULATIVE)
def test_cumulative(name):
    both(CUMULATIVE[name], FINITE, scale=10)


def test_diff_of_bools():
    both(lambda m, x: m.diff(x), np.array([True, False, False]))


# ---- derivatives ---------------------------------------------------------------------------------

GRADIENTS = {
    "prod_zero": lambda m, x: (x[0] * m.tensor([0.0, 1.0, 2.0, 3.0], dtype=m.float64)).prod(),
    "max_ties": lambda m, x: x.max() + x.amax(0).sum(),
    "max_dim": lambda m, x: x.max(1).values.sum(),
    "std": lambda m, x: x.std(0).sum() + x.var(),
    "std_constant": lambda m, x: (x * 0 + 1).std(),
    "norm": lambda m, x: x.norm() + x.norm(3, 0).sum(),
    "norm_zero": lambda m, x: (x * 0).norm() + (x * 0).norm(1.5) + (x * 0).norm(1),
    "logsumexp": lambda m, x: x.logsumexp(1).prod(),
    "cumprod": lambda m, x: (x * 0).cumprod(1).sum() + x.cumprod(0).sum(),
    "cummax": lambda m, x: x.cummax(1).values.sum(),
    "median": lambda m, x: x.median() + x.median(0).values.sum(),
    "quantile": lambda m, x: m.quantile(x, 0.3, 1).sum(),
    "sort": lambda m, x: (x.sort(dim=1, stable=True).values * m.arange(4)).sum(),
    "topk": lambda m, x: (x.flip(1).topk(1, 1).values ** 2).sum(),
    "cov": lambda m, x: m.cov(x).sum(),
    "renorm": lambda m, x: m.renorm(x, 2, 0, 3.0).sum(),
    "nansum": lambda m, x: m.nansum(x * x),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradient(name):
    x = FINITE.astype(np.float64) + (name in ("quantile", "sort", "topk")) * np.arange(4) * 0.01
    ours, theirs = pair(x, reference, grad=True)
    GRADIENTS[name](torch, ours).backward()
    GRADIENTS[name](reference, theirs).backward()
    assert_same(ours.grad, theirs.grad, 100)


# ---- errors, out= --------------------------------------------------------------------------------

ERRORS = {
    "dim": lambda m: m.zeros(2).sum(dim=5),
    "dim_twice": lambda m: m.zeros(2).sum(dim=(0, 0)),
    "mean_of_ints": lambda m: m.mean(m.tensor([1])),
    "std_of_ints": lambda m: m.std(m.tensor([1])),
    "max_of_nothing": lambda m: m.max(m.zeros(0)),
    "max_dim_of_nothing": lambda m: m.max(m.zeros(0, 2), 0),
    "amax_of_nothing": lambda m: m.amax(m.zeros(0), 0),
    "argmax_of_nothing": lambda m: m.argmax(m.zeros(0)),
    "quantile_of_ints": lambda m: m.quantile(m.tensor([1]), 0.5),
    "quantile_range": lambda m: m.quantile(m.ones(2), 1.5),
    "topk": lambda m: m.topk(m.ones(2), 3),
    "kthvalue": lambda m: m.kthvalue(m.ones(2), 3),
    "diff_of_number": lambda m: m.diff(m.tensor(1.0)),
    "bincount": lambda m: m.bincount(m.tensor([-1])),
    "renorm": lambda m: m.renorm(m.ones(2, 2), -1, 0, 1),
    "bucketize": lambda m: m.bucketize(m.ones(2), m.ones(2, 2)),
    "cov": lambda m: m.cov(m.ones(2, 2, 2)),
    "complex_max": lambda m: m.amax(m.tensor([1j])),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    assert_same_error(ERRORS[name], reference, message=name != "complex_max")


def test_out():
    values, indices = torch.empty(0), torch.empty(0, dtype=torch.int64)
    torch.max(torch.tensor([[1.0, 3.0]]), 1, out=(values, indices))
    assert values.tolist() == [3.0] and indices.tolist() == [1]
    total = torch.empty((), dtype=torch.float64)
    assert torch.sum(torch.ones(3), out=total) is total
    assert total.item() == 3.0


@pytest.mark.parametrize("tier", ["auto", "per-op", "fused", "reference"])
@pytest.mark.parametrize("name", ["amax", "amin"])
def test_extremes_of_rows_with_nan_have_gradients_nan(name, tier):
    rows = [[1.0, np.nan, 3.0], [1.0, 3.0, 3.0], [np.inf, 2.0, np.inf], [-np.inf, -np.inf, -np.inf]]
    found = []
    with engine.forced_tier(tier):
        for library in (torch, reference):
            x = library.tensor(rows, requires_grad=True)
            getattr(x, name)(1).sum().backward()
            tangent = library.func.jvp(lambda x: getattr(x, name)(1), (x.detach(),), (library.ones(4, 3),))[1]
            found.append((x.grad.tolist(), tangent.tolist()))
    for ours, right in zip(*found):
        np.testing.assert_array_equal(np.float32(ours), np.float32(right))


def test_errors_of_histc_come_in_pytorchs_order():
    for arguments in ((4, 3, 1), (-4, 1, 3), (4, 1, 3)):
        for made in (lambda t: t.ones(3), lambda t: t.ones(3, dtype=t.int32)):
            outcomes = [failing(t.histc, made(t), *arguments) for t in (reference, torch)]
            assert str(outcomes[0]).split("\\n")[0][:80] == str(outcomes[1]).split("\\n")[0][:80]


def test_counting_small_integers_makes_no_wide_copy():
    numbers = np.random.default_rng(0).integers(0, 200, 2**22, dtype=np.uint8)
    x = torch.from_numpy(numbers)
    x[:3].bincount()
    tracemalloc.start()
    try:
        found = x.bincount()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.tolist() == reference.from_numpy(numbers).bincount().tolist()
    assert peak < 2 * numbers.nbytes  # one of which is the copy of shared memory
