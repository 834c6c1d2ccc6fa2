"""What the reference rules are made of: copies of arrays whose rows lie across."""

from __future__ import annotations

import numpy as np
import pytest

from functorch_core.core.reference import contiguous


@pytest.mark.parametrize("order", ((1, 0, 2), (2, 1, 0), (0, 2, 1), (2, 0, 1)))
@pytest.mark.parametrize("dtype", ("float32", "bool", "complex128"))
def test_large_arrays_are_copied_in_any_order(order, dtype):
    x = np.random.default_rng(0).integers(0, 2, (70, 33, 40)).astype(dtype)
    for view in (x.transpose(order), x.transpose(order)[::-1, ::2, ::-1], np.broadcast_to(x[:, :, :1], x.shape)):
        found = contiguous(view)
        assert found.flags.c_contiguous and found.flags.owndata
        np.testing.assert_array_equal(found, view)
    assert contiguous(x) is x
