"""top_k by NumPy, looked for in chunks: against a stable sort."""

import numpy as np
import pytest

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
