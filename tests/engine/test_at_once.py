"""Ops computed by NumPy when they are called, against the same ops recorded, and against NumPy."""

import warnings

import numpy as np
import pytest

import functorch_core as fc
from functorch_core import engine, torch


@pytest.fixture
def at_once():
    with engine.at_once("this is tested"):
        yield


def images(n=6, size=8):
    return np.random.default_rng(0).integers(0, 255, (n, size, size, 3), np.uint8)


PROGRAMS = {
    "normalize": lambda x: x[3].permute(2, 0, 1).contiguous().float().div(255).sub(0.4).div(0.3),
    "crop and flip": lambda x: x[-2, 1:5, :4].flip(-2).to(torch.float64) / 7 - 0.5,
    "new and old dimensions": lambda x: x[None, 1, ..., 2].unsqueeze(0).squeeze().transpose(0, 1),
    "reduce": lambda x: x.float().mean(dim=(1, 2)).softmax(-1).sum(),
    "reshape a part": lambda x: x[2].reshape(-1)[5:9].view(2, 2) * 3,
    "reshape what is no view": lambda x: x[:, 1:3].reshape(-1, 3),
    "several results": lambda x: torch.cat(x.chunk(3)) + torch.stack([x[0], x[1]]).sum(0),
    "division by zero": lambda x: 1 / (x[0].float() * 0),
    "a number that is not packed": lambda x: x[1].float() * 1 + 0,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_recorded_ops(name):
    x = torch.from_numpy(images())
    expected = PROGRAMS[name](x)
    for _ in range(3):  # seen first, and at sight
        with engine.at_once("this is tested"):
            found = PROGRAMS[name](x)
            assert found._value.recording is None
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        assert found.stride() == expected.stride()
        np.testing.assert_array_equal(found.numpy(), expected.numpy())


def test_nothing_is_recorded_or_flushed(at_once):
    x = torch.ones(3, 4)
    before = engine.stats()["flushes"]
    assert ((x + x) / 3).sum().item() == pytest.approx(8)
    assert engine.stats()["flushes"] == before


def test_what_was_recorded_before_is_computed_on_entry():
    x = torch.ones(3) + 1
    with engine.at_once("this is tested"):
        assert x._value.recording is None


def test_dear_ops_are_recorded_and_computed_at_the_end():
    x = torch.ones(1 << 24)
    with engine.at_once("this is tested"):
        y = x.sin()
        assert y._value.recording is not None
        z = y[:3] + 1
    assert z._value.recording is None
    np.testing.assert_allclose(z.numpy(), np.sin(np.ones(3)) + 1, rtol=1e-6)


def test_data_on_a_device_are_read():
    with engine.forced_tier("fused"):
        x = torch.arange(6.0) * 2
        x.sum().item()
    with engine.at_once("this is tested"):
        assert x[2:4].tolist() == [4, 6]
        assert (x + 1)[-1].item() == 11


# ---- views ---------------------------------------------------------------------------------------


def test_parts_share_memory(at_once):
    x = torch.zeros(4, 3)
    row, column, corner = x[1], x[:, 2], x[1:3][0, 1:]
    row += 1
    assert x.tolist() == [[0] * 3, [1] * 3, [0] * 3, [0] * 3]
    assert column.tolist() == [0, 1, 0, 0] and corner.tolist() == [1, 1]
    corner.fill_(5)
    assert row.tolist() == [1, 5, 5] and x[1, 2].item() == 5


def test_parts_tell_of_their_layout(at_once):
    x = torch.zeros(4, 5, 6)
    part = x[1, 1:3, 2:5]
    assert (part.stride(), part.storage_offset()) == ((6, 1), 38)
    assert not part.is_contiguous() and x[2].is_contiguous() and x[1:3, None].is_contiguous()
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        part.view(-1)


def test_views_of_a_permuted_tensor_keep_its_order(at_once):
    x = torch.zeros(2, 3, 4).permute(2, 0, 1)
    assert x.stride() == (1, 12, 4) and x[1:3].stride() == (1, 12, 4)
    assert (x + 1).stride() == (1, 12, 4) and x.contiguous().stride() == (6, 3, 1)


@pytest.mark.parametrize("index", [4, -5, (0, 3), (0, 0, 0), slice(None, None, -1), 0.5, "a"])
def test_wrong_indices_raise_what_they_raise_elsewhere(index):
    x = torch.zeros(4, 3)
    with pytest.raises(Exception) as expected:
        x[index]
    with engine.at_once("this is tested"), pytest.raises(type(expected.value)) as found:
        x[index]
    assert str(found.value) == str(expected.value)


def test_history_is_kept(at_once):
    x = torch.ones(3, 2, requires_grad=True)
    y = (x[1] * 3).sum() + x.view(6)[0].clone()
    y.backward()
    assert x.grad.tolist() == [[1, 0], [3, 3], [0, 0]]


def test_clone_is_a_tensor_of_its_own(at_once):
    x = torch.zeros(3)
    y = x.clone()
    y[0] = 1
    x.add_(2)
    assert (x.tolist(), y.tolist()) == ([2, 2, 2], [1, 0, 0])


# ---- errors and warnings -------------------------------------------------------------------------


def test_numpy_warns_the_user_and_not_the_ops(at_once):
    x = torch.zeros(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (1 / x).tolist() == [np.inf] * 3
        assert torch.as_tensor([1e300, 1.0]).isinf().tolist() == [True, False]
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        np.ones(3) / np.zeros(3)


def test_functions_of_the_user_may_call_ops(at_once):
    def double(x):
        return np.asarray((torch.from_numpy(np.array(x)) * 2).numpy())

    found = fc.pure_callback(double, fc.zeros(3), fc.asarray([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(np.asarray(found), [2, 4, 6])


def test_a_forced_tier_is_obeyed():
    with engine.forced_tier("fused"), engine.at_once("this is tested"):
        y = torch.ones(3) + 1
        assert y._value.recording is not None
