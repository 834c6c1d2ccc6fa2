"""What neither NumPy nor SciPy has, against values recorded from JAX."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core as fc
import functorch_core.numpy as jnp
from functorch_core import flatten_util, jnn, lax, scipy
from tests.array.jax_values import CASES, DATA, FILE

RECORDED = np.load(FILE)
NAMES = {"lax": lax, "jnp": jnp, "nn": jnn, "scipy": scipy, "grad": fc.grad, "flatten_util": flatten_util}
NAMES["jax"] = fc


def wanted(n: int) -> list:
    out = []
    while f"{n}_{len(out)}" in RECORDED:
        out.append(RECORDED[f"{n}_{len(out)}"])
    return out


def check(found, n: int):
    leaves, there = fc.tree.leaves(found), wanted(n)
    assert len(leaves) == len(there)
    for a, b in zip(leaves, there):
        assert np.shape(a) == b.shape
        if b.dtype.kind in "fc":
            np.testing.assert_allclose(a, b, 1e-8, 1e-9)
        else:
            np.testing.assert_array_equal(a, b)


def test_the_record_is_of_these_cases():
    assert list(RECORDED["cases"]) == CASES


@pytest.mark.parametrize("n", range(len(CASES)), ids=lambda n: CASES[n])
def test_value(n):
    arrays = {name: fc.asarray(value) for name, value in DATA.items()}
    check(eval(CASES[n], {**NAMES, **arrays}), n)
    if "shape_tuple" in CASES[n]:
        return
    check(fc.jit(lambda data: eval(CASES[n], {**NAMES, **data}))(arrays), n)
