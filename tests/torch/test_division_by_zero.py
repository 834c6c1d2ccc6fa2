"""Integers divided by zero: PyTorch's error, at the call or where something is read next."""

from __future__ import annotations

import numpy as np
import pytest

reference = pytest.importorskip("torch")

from functorch_core import engine, torch  # noqa: E402

from .test_bounds import error_of  # noqa: E402

CALLS = """
x // y
x % y
lib.fmod(x, y)
lib.remainder(x, y)
lib.floor_divide(x, y)
lib.floor_divide(input=x, other=y)
lib.div(x, y, rounding_mode='floor')
lib.div(x, y, rounding_mode='trunc')
lib.divide(x, y, rounding_mode='trunc')
x.div(y, rounding_mode='floor')
lib.div(x, y)
x / y
x // 0
x % 0
x % False
x // 0.0
lib.fmod(x, 0)
lib.div(x, 0, rounding_mode='trunc')
5 // y
5 % y
5.0 // y
lib.remainder(5, y)
x.floor_divide_(y)
x.remainder_(y)
x.fmod_(y)
x.div_(y, rounding_mode='trunc')
lib.div(x, y, rounding_mode='floor', out=lib.empty(2, dtype=x.dtype))
lib.remainder(x, y, out=lib.empty(2, dtype=x.dtype))
x[:0] // y[:0]
x[:0] // 0
x[:0].reshape(0, 1) % y
x // y[:, None]
x // y[1]
x // lib.stack([y, y, y, y], 1)[:, :3]
lib.gcd(x, y)
x.float() // y
x // y.double()
lib.arange(2) // y
"""
CALLS = CALLS.strip().split("\n")
DTYPES = "uint8 int8 int16 int32 int64 bool".split()


def outcome(lib, call: str, dtype: str, recorded: bool):
    x = lib.tensor([4, 3]).to(getattr(lib, dtype))
    y = lib.tensor([2, 0]).to(getattr(lib, dtype))
    if recorded:
        x, y = (z | False if dtype == "bool" else z + 0 for z in (x, y))
    return eval(call, {"lib": lib, "x": x, "y": y}).tolist()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tier", ["auto", "reference", "per-op", "fused", "immediate"])
@pytest.mark.parametrize("call", CALLS)
def test_every_op_and_dtype(call, tier):
    with engine.forced_tier(tier):
        for dtype in DTYPES if tier == "auto" else ("int64", "uint8"):
            expected = error_of(lambda: outcome(reference, call, dtype, False))
            for recorded in (False, True):
                found = error_of(lambda: outcome(torch, call, dtype, recorded))
                assert found == expected, (dtype, recorded)
                if expected[0] is None:
                    wanted = outcome(reference, call, dtype, False)
                    np.testing.assert_array_equal(outcome(torch, call, dtype, recorded), wanted)


def test_of_what_is_known_it_is_raised_at_the_call():
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        torch.tensor([1]) // torch.tensor([0])
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        torch.tensor([1]) % 0
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        (torch.tensor([1]) + 0) // torch.tensor([0])


def test_what_is_divided_in_place_is_intact_and_the_result_is_not_to_be_read():
    x, zero = torch.tensor([6, 7]), torch.tensor([2, 1]) - 1
    quotient = x // zero
    x //= zero
    x += 1
    for _ in range(3):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            quotient.tolist()
    assert x.tolist() == [6, 7]
    assert zero.tolist() == [1, 0]


def test_in_transforms():
    divide = torch.func.vmap(lambda a, b: a % b)
    assert divide(torch.tensor([5, 6]), torch.tensor([3, 4])).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        divide(torch.tensor([5, 6]), torch.tensor([3, 0])).tolist()
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        divide(torch.tensor([5, 6]), torch.tensor([3, 1]) - 1).tolist()


def test_errors_of_shapes_come_first():
    for x, y in ([1, 2], [0, 0, 0]), ([[1, 2]], [[0], [1]]):
        wanted = error_of(lambda: reference.tensor(x) // reference.tensor(y))
        assert error_of(lambda: torch.tensor(x) // torch.tensor(y)) == wanted


def test_meta_tensors_have_no_zeros():
    x = torch.ones(2, dtype=torch.int64, device="meta")
    assert (x // x).shape == (x % 0).shape == (2,)
