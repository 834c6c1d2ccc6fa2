"""torch.amp: what autocast computes in which precision, as real PyTorch does; GradScaler."""

import numpy as np
import pytest

from functorch_core import torch

reference = pytest.importorskip("torch")

# ---- autocast ------------------------------------------------------------------------------------

MATRIX = lambda t: t.ones(3, 3)  # noqa: E731
CALLS = {
    "mm": lambda t: t.mm(MATRIX(t), MATRIX(t)),
    "matmul operator": lambda t: MATRIX(t) @ MATRIX(t),
    "bmm": lambda t: t.bmm(t.ones(2, 3, 3), t.ones(2, 3, 3)),
    "addmm": lambda t: t.addmm(MATRIX(t), MATRIX(t), MATRIX(t)),
    "baddbmm": lambda t: t.baddbmm(t.ones(2, 3, 3), t.ones(2, 3, 3), t.ones(2, 3, 3)),
    "linear": lambda t: t.nn.functional.linear(MATRIX(t), MATRIX(t), t.ones(3)),
    "conv1d": lambda t: t.nn.functional.conv1d(t.ones(1, 2, 5), t.ones(3, 2, 2)),
    "conv2d": lambda t: t.nn.functional.conv2d(t.ones(1, 2, 5, 5), t.ones(3, 2, 2, 2)),
    "conv_transpose2d": lambda t: t.nn.functional.conv_transpose2d(t.ones(1, 2, 5, 5), t.ones(2, 3, 2, 2)),
    "attention": lambda t: t.nn.functional.scaled_dot_product_attention(*(t.ones(1, 2, 4, 8) for _ in range(3))),
    "einsum": lambda t: t.einsum("ij,jk->ik", MATRIX(t), MATRIX(t)),
    "module": lambda t: t.nn.Linear(3, 2)(MATRIX(t)),
    "add": lambda t: MATRIX(t) + 1,
    "mul": lambda t: MATRIX(t) * MATRIX(t),
    "relu": lambda t: t.relu(t.ones(3, dtype=t.bfloat16)),
    "exp": lambda t: t.exp(t.ones(3, dtype=t.bfloat16)),
    "sum": lambda t: t.sum(t.ones(3, dtype=t.bfloat16)),
    "prod": lambda t: t.prod(t.ones(3, dtype=t.bfloat16)),
    "softmax": lambda t: t.softmax(t.ones(3, dtype=t.bfloat16), 0),
    "layer_norm": lambda t: t.nn.functional.layer_norm(MATRIX(t), (3,)),
    "mse_loss": lambda t: t.nn.functional.mse_loss(t.ones(3, dtype=t.bfloat16), t.ones(3, dtype=t.bfloat16)),
    "cross_entropy": lambda t: t.nn.functional.cross_entropy(t.ones(2, 3, dtype=t.bfloat16), t.zeros(2, dtype=t.int64)),
    "bce": lambda t: t.nn.functional.binary_cross_entropy(t.ones(3, dtype=t.bfloat16), t.ones(3, dtype=t.bfloat16)),
    "bce with logits": lambda t: t.nn.functional.binary_cross_entropy_with_logits(
        t.ones(3, dtype=t.bfloat16), t.ones(3, dtype=t.bfloat16)
    ),
    "cat": lambda t: t.cat([t.ones(2), t.ones(2, dtype=t.bfloat16)]),
    "stack": lambda t: t.stack([t.ones(2), t.ones(2, dtype=t.bfloat16)]),
    "double mm": lambda t: t.mm(MATRIX(t).double(), MATRIX(t).double()),
    "integer mm": lambda t: t.mm(MATRIX(t).long(), MATRIX(t).long()),
    "cdist": lambda t: t.cdist(MATRIX(t).bfloat16(), MATRIX(t).bfloat16()),
    "quantile": lambda t: t.quantile(t.ones(3, dtype=t.bfloat16), 0.5),
    "trace": lambda t: t.trace(MATRIX(t).bfloat16()),
}


def dtype_under(t, call, **options):
    with t.autocast("cpu", **options):
        return str(call(t).dtype)


@pytest.mark.parametrize("name", CALLS)
def test_dtypes_on_the_cpu(name):
    assert dtype_under(torch, CALLS[name]) == dtype_under(reference, CALLS[name])


def test_float16_disabled_and_nested():
    mm = CALLS["mm"]
    assert dtype_under(torch, mm, dtype=torch.float16) == "torch.float16"
    assert dtype_under(torch, mm, enabled=False) == "torch.float32"
    with torch.autocast("cpu"):
        assert torch.is_autocast_enabled("cpu")
        assert torch.get_autocast_dtype("cpu") is torch.bfloat16
        assert dtype_under(torch, mm, enabled=False) == "torch.float32"
        assert mm(torch).dtype is torch.bfloat16
    assert mm(torch).dtype is torch.float32 and not torch.is_autocast_enabled("cpu")


def test_decorator():
    @torch.autocast("cpu")
    def product(x):
        return x @ x

    assert product(torch.ones(2, 2)).dtype is torch.bfloat16
    assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.float32


def test_gradients_come_back_in_the_parameters_dtype():
    found = []
    for t in (torch, reference):
        weight = t.linspace(0, 1, 6).reshape(3, 2).requires_grad_()
        with t.autocast("cpu"):
            loss = t.nn.functional.linear(t.ones(4, 2), weight).float().square().sum()
        loss.backward()
        assert weight.grad.dtype is t.float32
        found.append(weight.grad.numpy())
    np.testing.assert_allclose(*found, rtol=2e-2)


def test_unsupported_choices_warn_or_raise():
    with pytest.warns(UserWarning, match="target dtype is not supported"):
        assert dtype_under(torch, CALLS["mm"], dtype=torch.float64) == "torch.float32"
    with pytest.raises(RuntimeError, match="device type"):
        torch.autocast("nonsense")
    with pytest.raises(ValueError, match="device_type"):
        torch.autocast(3)
    assert torch.amp.is_autocast_available("cpu") and torch.amp.is_autocast_available("cuda")
    if not torch.cuda.is_available():
        with pytest.warns(UserWarning, match="CUDA is not available"):
            torch.autocast("cuda")


def test_other_threads_are_not_affected():
    import threading

    found = []
    with torch.autocast("cpu"):
        thread = threading.Thread(target=lambda: found.append(CALLS["mm"](torch).dtype))
        thread.start()
        thread.join()
    assert found == [torch.float32]


def test_no_caster_is_left_behind():
    from functorch_core.torch.tensors.active import active

    with pytest.raises(ZeroDivisionError), torch.autocast("cpu"):
        assert active.autocast is not None
        1 / 0
    assert active.autocast is None


class Product(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx, x):
        assert not torch.is_autocast_enabled("cpu")
        ctx.save_for_backward(x)
        return x @ x

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad @ x.t() + x.t() @ grad


def test_custom_functions():
    x = torch.ones(2, 2, dtype=torch.bfloat16, requires_grad=True)
    with torch.autocast("cpu"):
        y = Product.apply(x)
    assert y.dtype is torch.float32
    y.sum().backward()
    assert x.grad.tolist() == [[4, 4], [4, 4]]


# ---- GradScaler ----------------------------------------------------------------------------------


def scaled_training(t, grads, **options):
    """Scales and parameters after steps with the given gradients."""
    parameter = t.nn.Parameter(t.ones(2))
    optimizer = t.optim.SGD([parameter], lr=0.25)
    scaler = t.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2, **options)
    rows = []
    for grad in grads:
        optimizer.zero_grad()
        scaler.scale((parameter * t.tensor(grad)).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        rows.append((scaler.get_scale(), parameter.tolist()))
    return rows, scaler.state_dict()


GRADS = [[1.0, 2.0], [1.0, float("inf")], [1.0, 1.0], [0.5, 0.5], [float("nan"), 1.0], [1.0, 1.0]]


@pytest.mark.parametrize("options", [{}, {"enabled": False}, {"growth_factor": 4.0}, {"backoff_factor": 0.25}])
def test_scaler_against_pytorch(options):
    ours, theirs = scaled_training(torch, GRADS, **options), scaled_training(reference, GRADS, **options)
    np.testing.assert_equal(ours, theirs)


def test_unscale_then_clip():
    parameter = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale((parameter * 3).sum()).backward()
    scaler.unscale_(optimizer)
    assert parameter.grad.tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.step(optimizer)
    scaler.update()
    assert parameter.tolist() == [-2, -2]


def test_scaler_state_and_errors():
    scaler, other = (torch.amp.GradScaler("cpu", init_scale=s) for s in (4.0, 16.0))
    other.load_state_dict(scaler.state_dict())
    assert other.get_scale() == 4 and other.get_growth_interval() == 2000
    with pytest.raises(RuntimeError, match="empty"):
        other.load_state_dict({})
    with pytest.raises(AssertionError, match="Attempted update but _scale is None"):
        scaler.update()
    assert scaler.scale([torch.ones(1)])[0].item() == 4
    with pytest.raises(AssertionError, match="inf checks"):
        scaler.update()
    with pytest.raises(ValueError):
        scaler.scale(3)
    half = torch.nn.Parameter(torch.ones(1, dtype=torch.float16))
    half.grad = torch.ones(1, dtype=torch.float16)
    with pytest.raises(ValueError, match="FP16"):
        scaler.unscale_(torch.optim.SGD([half], lr=1.0))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_cuda_scaler_without_a_gpu():
    with pytest.warns(UserWarning, match="CUDA is not available"), pytest.warns(FutureWarning, match="is deprecated"):
        assert not torch.cuda.amp.GradScaler().is_enabled()
