"""Names that packages written for PyTorch import: they are there, and do what PyTorch's do."""

import importlib
import warnings

import pytest

from functorch_core import torch

reference = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("t", [torch, reference], ids=["ours", "theirs"])


def module(t, name: str):
    return importlib.import_module(f"{t.__name__}.{name}")


@BOTH
def test_states_of_devices(t):
    checkpoint = module(t, "utils.checkpoint")
    x = t.ones(2)
    assert checkpoint.get_device_states() == checkpoint.get_device_states(x, [x], {"x": x.to("meta")}) == ([], [])
    checkpoint.set_device_states([], [])
    checkpoint.set_device_states([0], [t.get_rng_state()], device_type="meta")
    if not t.cuda.is_available():
        return
    y = x.cuda()
    devices, states = checkpoint.get_device_states(x, [y])
    first = t.rand(2, device="cuda")
    checkpoint.set_device_states(devices, states)
    assert devices == [0] and t.equal(first, t.rand(2, device="cuda"))


@BOTH
def test_whether_cuda_is_in_use(t):
    called = []
    if t.cuda.is_available():
        t.cuda._lazy_init()
        t.cuda._lazy_call(lambda: called.append(1))
        assert t.cuda._initialized and called == [1]
    else:
        with pytest.raises(AssertionError, match="not compiled with CUDA"):
            t.cuda._lazy_init()
        t.cuda._lazy_call(lambda: called.append(1))
        assert t.cuda._initialized is False and called == []
    assert t.cuda._is_in_bad_fork() is False and not hasattr(t.cuda, "_no_such_name")


@BOTH
def test_modules_of_cuda_amp(t):
    common, modes, scalers = (module(t, f"cuda.amp.{name}") for name in ("common", "autocast_mode", "grad_scaler"))
    assert common.amp_definitely_not_available() == (not t.cuda.is_available())
    assert t.cuda.amp.amp_definitely_not_available is common.amp_definitely_not_available
    assert scalers.OptState is module(t, "amp.grad_scaler").OptState and t.cuda.amp.GradScaler is scalers.GradScaler
    assert (t.cuda.amp.autocast, t.cuda.amp.custom_fwd) == (modes.autocast, modes.custom_fwd)
    for kind in ("cpu", "cuda"):
        amp = module(t, f"{kind}.amp")
        assert module(t, f"{kind}.amp.autocast_mode").autocast is amp.autocast
        assert module(t, f"{kind}.amp.grad_scaler").GradScaler is amp.GradScaler
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            amp.autocast(enabled=False)
            amp.GradScaler(enabled=False)
        said = f"Please use `torch.amp.GradScaler('{kind}', args...)` instead."
        assert [str(w.message).endswith(said) for w in caught] == [False, True]


@BOTH
def test_clipped_sigmoid(t):
    clipped = module(t, "distributions.transforms")._clipped_sigmoid
    for dtype in (t.float32, t.float64):
        y = clipped(t.tensor([0.0, 200.0, -2000.0], dtype=dtype))
        assert y.tolist() == [0.5, 1 - t.finfo(dtype).eps, t.finfo(dtype).tiny]
