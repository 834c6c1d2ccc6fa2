"""Sorting and top_k by NumPy, in pieces and looked for in chunks: against a stable sort."""

import subprocess
import sys

import numpy as np
import pytest

from functorch_core.core import dtypes as dt
from functorch_core.primitives import sorting
from functorch_core.primitives.sorting import _sort_reference, _top_k_reference


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize(
    "shape, k", [((256, 1000), 10), ((3, 20_011), 7), ((40, 512), 1), ((2, 4, 5_000), 50), ((17, 1_000), 63)], ids=str
)
def test_top_k_of_rows(shape, k, largest):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    x.reshape(-1)[::97] = x.reshape(-1)[5]  # equal ones: the first comes first
    x.reshape(-1)[3::1501], x.reshape(-1)[4::1999] = np.nan, -np.inf
    values, order = _top_k_reference(x, k=k, largest=largest)
    key = np.where(np.isnan(x), np.inf, x)
    wanted = np.argsort(-key if largest else key, axis=-1, kind="stable")[..., :k]
    np.testing.assert_array_equal(order, wanted)
    np.testing.assert_array_equal(values, np.take_along_axis(x, wanted, -1))


@pytest.mark.parametrize("shape, dimension", [((0, 5), 1), ((5, 0), 1), ((7,), 0), ((4, 300, 3), 1)], ids=str)
def test_what_is_sorted_with_others(shape, dimension):
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    other = np.arange(x.size).reshape(shape)
    found = _sort_reference(x, other, dimension=dimension, num_keys=1, descending=False, stable=True)
    order = np.argsort(x, axis=dimension, kind="stable")
    for a, b in zip(found, (x, other)):
        np.testing.assert_array_equal(a, np.take_along_axis(b, order, dimension))


def numbers_of(dtype, shape):
    """Few different numbers; of floats with both zeros, infinities and NaN of all signs and bits."""
    random = np.random.default_rng(2)
    if dtype in (dt.float16, dt.bfloat16):
        x = random.integers(0, 1 << 16, shape, dtype=np.uint16).view(dtype)
        return np.where(random.random(shape) < 0.3, np.asarray(-0.0, dtype), np.where(x == x, x, np.abs(x)))
    x = random.integers(-5, 5, shape).astype(dtype)
    if dtype in dt.FLOATING:
        x[random.random(shape) < 0.2], x[random.random(shape) < 0.2] = np.nan, -0.0
        x[random.random(shape) < 0.1] = -np.inf
    return x


DTYPES = [dt.float16, dt.bfloat16, dt.float32, dt.float64, dt.uint8, dt.int8, dt.int16, dt.int32, dt.int64, dt.bool_]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("descending", [False, True])
@np.errstate(invalid="ignore")
def test_what_is_sorted_in_pieces(dtype, descending, monkeypatch):
    """With an index and alone, along each dimension, beside a stable order of the numbers in float64."""
    monkeypatch.setattr(sorting, "PIECE", 300)
    for shape in ((2000,), (30, 40), (5, 6, 50), (0, 4), (1, 2000), (2000, 1)):
        x = numbers_of(dtype, shape)
        for dimension in range(len(shape)):
            wide = np.moveaxis(x.astype(np.float64), dimension, -1)
            order = np.lexsort((-wide if descending else wide, np.isnan(wide) ^ descending), -1)
            order = np.moveaxis(order, -1, dimension)
            index = np.moveaxis(np.broadcast_to(np.arange(shape[dimension]), wide.shape), -1, dimension)
            how = {"dimension": dimension, "num_keys": 1, "descending": descending, "stable": True}
            wanted = np.take_along_axis(x, order, dimension)
            found, places = _sort_reference(x, index, **how)
            assert found.tobytes() == wanted.tobytes() and places.tolist() == order.tolist()
            (alone,) = _sort_reference(x, **how)
            numbers = wanted == wanted
            assert (alone == alone).tolist() == numbers.tolist() and alone.dtype == dtype
            assert np.ascontiguousarray(alone)[numbers].tobytes() == wanted[numbers].tobytes()
        for k in {0, min(1, shape[-1]), min(7, shape[-1]), shape[-1]}:
            values, places = _top_k_reference(x, k=k, largest=descending)
            assert places.dtype == np.int64 and places.tolist() == order[..., :k].tolist()
            assert values.tobytes() == wanted[..., :k].tobytes()


MEMORY = """
import resource, torch
x = (torch.arange(1 << 24) * 7919 % 251).to(torch.uint8)
x.sum().item()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert torch.median(x).item() == 125 and torch.topk(x, 3).values.tolist() == [250] * 3
values, places = torch.sort(x.reshape(4096, 4096), 1)
assert (values[:, 0] == 0).all() and places.shape == (4096, 4096)
taken = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10
assert taken < 400, taken
"""


def test_what_sorting_bytes_takes():
    """16 million bytes and their places are 144 MB; it took 1 GB."""
    subprocess.run([sys.executable, "-m", "functorch_core", "-c", MEMORY], check=True, timeout=300)
