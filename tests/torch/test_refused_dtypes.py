"""A dtype that a primitive does not take: the class of PyTorch's error, and never a primitive's own words for it."""

import pytest
import torch as real

from functorch_core import torch

CALLS = """
torch.cross(torch.ones(3, dtype=torch.bool), torch.ones(3, dtype=torch.bool)): NotImplementedError
torch.bilinear(torch.ones(2, 3).bool(), torch.ones(2, 4).bool(), torch.ones(5, 3, 4).bool()): NotImplementedError
torch.matrix_power(torch.ones(1, 1, dtype=torch.bool), 2): NotImplementedError
torch.bucketize(torch.ones(2, dtype=torch.complex64), torch.ones(2, dtype=torch.complex64)): NotImplementedError
torch.orgqr(torch.ones(2, 1, dtype=torch.int32), torch.ones(1, dtype=torch.int32)): NotImplementedError
torch.cholesky_solve(torch.ones(1, 1, dtype=torch.int64), torch.ones(1, 1, dtype=torch.int64)): NotImplementedError
torch.nn.functional.elu(torch.ones(2, dtype=torch.complex64)): NotImplementedError
torch.nn.functional.relu6(torch.ones(2, dtype=torch.complex64)): NotImplementedError
torch.scatter_reduce(torch.ones(1).cfloat(), 0, torch.tensor([0]), torch.ones(1).cfloat(), "amax"): NotImplementedError
torch.gru_cell(*[torch.ones(s).bool() for s in ((1, 1), (1, 1), (3, 1), (3, 1))]): NotImplementedError
"""


@pytest.mark.parametrize("call, error", [line.rsplit(": ", 1) for line in CALLS.strip().splitlines()])
def test_class_of_the_error(call, error):
    for lib in (torch, real):
        with pytest.raises(RuntimeError) as raised:
            eval(call, {"torch": lib})
        assert type(raised.value).__name__ == error, lib.__name__
        if lib is torch:
            assert "not implemented for '" in str(raised.value)


def test_operands_of_two_dtypes_are_a_runtime_error():
    for lib in (torch, real):
        cell = lib.ones(1, 1), lib.ones(1, 1, dtype=lib.float64), lib.ones(3, 1), lib.ones(3, 1)
        with pytest.raises(RuntimeError):
            lib.gru_cell(*cell)
