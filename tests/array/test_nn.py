"""Activations, normalisation, attention, losses, convolution, special functions, against PyTorch."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special
import torch
import torch.nn.functional as F

import functorch_core as fc

POINTS = [-100.0, -3.0, -1.0, -0.5, -1e-4, 0.0, 1e-4, 0.3, 1.0, 2.0, 6.0, 7.0, 100.0, math.nan]


@pytest.fixture(autouse=True)
def by_reference(request):
    with fc.engine.forced_tier("fused" if request.node.name.startswith("test_compiled") else "reference"):
        yield


def close(found, wanted, rtol=2e-5, atol=1e-6):
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


# ---- activations ----------------------------------------------------------------------------------------

ACTIVATIONS = {
    "relu": F.relu,
    "relu6": F.relu6,
    "leaky_relu": F.leaky_relu,
    "elu": F.elu,
    "celu": F.celu,
    "selu": F.selu,
    "sigmoid": torch.sigmoid,
    "silu": F.silu,
    "softplus": F.softplus,
    "log_sigmoid": F.logsigmoid,
    "mish": F.mish,
    "soft_sign": F.softsign,
    "hard_tanh": F.hardtanh,
    "hard_sigmoid": F.hardsigmoid,
    "hard_silu": F.hardswish,
}
KINKS = {"hard_tanh": 1.0, "hard_sigmoid": 3.0, "hard_silu": 3.0}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_and_their_derivatives(name):
    x = np.array(POINTS, np.float64)
    t = torch.tensor(x, requires_grad=True)
    wanted = ACTIVATIONS[name](t)
    wanted.sum().backward()
    close(getattr(fc, name)(x), wanted.detach().numpy(), 1e-6)
    numbers = ~np.isnan(x) & (np.abs(x) != KINKS.get(name))
    gradient = np.asarray(fc.grad(lambda x: getattr(fc, name)(x).sum())(fc.asarray(x)))
    close(gradient[numbers], t.grad.numpy()[numbers], 1e-5)


def test_gelu():
    x = np.array(POINTS[:-1], np.float64)
    close(fc.gelu(x, approximate=False), F.gelu(torch.tensor(x)).numpy())
    close(fc.gelu(x), F.gelu(torch.tensor(x), approximate="tanh").numpy())


def test_activations_keep_and_make_floats():
    assert fc.relu(fc.asarray([-1, 2])).dtype == np.int64
    assert fc.sigmoid(fc.asarray([1, 2])).dtype == np.float32
    assert fc.silu(fc.ones(2, dtype=fc.bfloat16)).dtype == fc.bfloat16
    with pytest.raises(TypeError, match="gelu is not defined for complex64"):
        fc.gelu(fc.asarray([1j]))


def test_glu():
    x = normal(3, 4)
    close(fc.glu(x), F.glu(torch.tensor(x)).numpy())
    with pytest.raises(ValueError, match="odd"):
        fc.glu(fc.ones(3))


# ---- over axes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax(axis):
    x = normal(3, 4) * 50
    close(fc.softmax(x, axis=axis), F.softmax(torch.tensor(x), axis).numpy())
    close(fc.log_softmax(x, axis=axis), F.log_softmax(torch.tensor(x), axis).numpy())
    jacobian = fc.jacrev(lambda x: fc.softmax(x, axis=axis))(fc.asarray(x))
    wanted = torch.autograd.functional.jacobian(lambda x: F.softmax(x, axis), torch.tensor(x))
    close(jacobian, wanted.numpy())


def test_softmax_of_all_axes_masked_and_empty():
    x = normal(3, 4)
    close(fc.sum(fc.softmax(x, axis=None)), np.float32(1))
    mask = np.array([True, False, True, True])
    found = np.asarray(fc.softmax(x, where=mask))
    close(found[:, mask], F.softmax(torch.tensor(x[:, mask]), -1).numpy())
    assert (found[:, 1] == 0).all()
    hidden = fc.grad(lambda x: fc.softmax(x, where=fc.zeros(4, dtype=fc.bool_)).sum())(fc.asarray(x))
    close(hidden, np.zeros((3, 4)))
    assert fc.softmax(fc.zeros((2, 0))).shape == (2, 0)


def test_one_hot():
    x = np.array([[0, 2], [1, 5]])
    close(fc.one_hot(x, 3), [[[1, 0, 0], [0, 0, 1]], [[0, 1, 0], [0, 0, 0]]])
    close(
        fc.one_hot(np.float32([1.5, 0.9, 2, -0.0, np.nan]), 3)[:, ::-1],
        [[0] * 3, [0] * 3, [1, 0, 0], [0, 0, 1], [0] * 3],
    )
    assert fc.one_hot(x, 3, axis=0, dtype=fc.int8).shape == (3, 2, 2)
    assert fc.one_hot(x, 3, dtype=fc.int8).dtype == np.int8


def test_normalisation():
    x, w, b = normal(3, 5), normal(5, seed=1), normal(5, seed=2)
    t = [torch.tensor(v) for v in (x, w, b)]
    close(fc.layer_norm(x, w, b), F.layer_norm(t[0], (5,), t[1], t[2]).numpy())
    close(fc.layer_norm(x, bias=b), F.layer_norm(t[0], (5,), None, t[2]).numpy())
    close(fc.layer_norm(x, axis=(0, 1)), F.layer_norm(t[0], (3, 5)).numpy())
    close(fc.rms_norm(x, w), F.rms_norm(t[0], (5,), t[1], eps=1e-6).numpy())
    close(fc.standardize(x), F.layer_norm(t[0], (5,)).numpy())
    assert fc.layer_norm(x.astype(np.float16)).dtype == np.float16


# ---- attention ------------------------------------------------------------------------------------------


def attention(q, k, v, **options):
    q, k, v = (torch.tensor(x).transpose(1, 2) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, **options).transpose(1, 2).numpy()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("heads", [1, 2, 4])
def test_attention(causal, heads):
    q, k, v = normal(2, 6, 4, 3), normal(2, 6, heads, 3, seed=1), normal(2, 6, heads, 3, seed=2)
    wanted = attention(q, k, v, is_causal=causal, enable_gqa=heads != 4)
    close(fc.dot_product_attention(q, k, v, is_causal=causal), wanted)
    close(fc.dot_product_attention(q[0], k[0], v[0], is_causal=causal), wanted[0])


def test_attention_with_mask_and_bias():
    q, k, v = normal(2, 6, 4, 3), normal(2, 5, 4, 3, seed=1), normal(2, 5, 4, 7, seed=2)
    mask = np.random.default_rng(0).random((2, 1, 6, 5)) < 0.7
    mask[..., 0] = True
    close(
        fc.dot_product_attention(q, k, v, mask=mask, scale=0.3),
        attention(q, k, v, attn_mask=torch.tensor(mask), scale=0.3),
    )
    bias = normal(4, 6, 5, seed=3)
    close(fc.dot_product_attention(q, k, v, bias), attention(q, k, v, attn_mask=torch.tensor(bias)))
    with pytest.raises(ValueError, match="do not fit"):
        fc.dot_product_attention(q, k, v[:, :3])
    with pytest.raises(ValueError, match="heads"):
        fc.dot_product_attention(q, k[:, :, :3], v[:, :, :3])


# ---- losses ---------------------------------------------------------------------------------------------


def test_losses():
    logits, labels = normal(4, 5) * 30, np.array([0, 3, 4, 1])
    t = torch.tensor(logits)
    wanted = F.cross_entropy(t, torch.tensor(labels), reduction="none").numpy()
    close(fc.softmax_cross_entropy_with_integer_labels(logits, labels), wanted, atol=1e-5)
    one_hot = np.eye(5, dtype=np.float32)[labels]
    close(fc.softmax_cross_entropy(logits, one_hot), wanted, atol=1e-5)
    targets = np.random.default_rng(0).random((4, 5)).astype(np.float32)
    close(
        fc.sigmoid_binary_cross_entropy(logits, targets),
        F.binary_cross_entropy_with_logits(t, torch.tensor(targets), reduction="none").numpy(),
        atol=1e-5,
    )
    with pytest.raises(ValueError, match="labels are integers"):
        fc.softmax_cross_entropy_with_integer_labels(logits, one_hot)


# ---- convolution and pooling ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"strides": 2},
        {"padding": 1},
        {"padding": [(1, 1), (2, 2)]},
        {"dilation": 2},
        {"padding": "SAME"},
        {"groups": 2},
        {"strides": (2, 1), "padding": (1, 0)},
    ],
)
def test_conv(options):
    x, w = normal(2, 4, 8, 7), normal(6, 4 // options.get("groups", 1), 3, 3, seed=1)
    padding = options.get("padding", 0)
    padding = "same" if padding == "SAME" else tuple(p[0] for p in padding) if isinstance(padding, list) else padding
    wanted = F.conv2d(
        torch.tensor(x),
        torch.tensor(w),
        stride=options.get("strides", 1),
        padding=padding,
        dilation=options.get("dilation", 1),
        groups=options.get("groups", 1),
    )
    close(fc.conv(x, w, **options), wanted.numpy(), atol=1e-4)


def test_conv_with_other_orders_and_dimensions():
    x, w = normal(2, 4, 8, 7), normal(6, 4, 3, 3, seed=1)
    wanted = F.conv2d(torch.tensor(x), torch.tensor(w)).numpy().transpose(0, 2, 3, 1)
    found = fc.conv(x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0), dimension_numbers=("NHWC", "HWIO", "NHWC"))
    close(found, wanted, atol=1e-4)
    close(
        fc.conv(x[:, :, :, 0], w[:, :, :, 0]),
        F.conv1d(torch.tensor(x[:, :, :, 0]), torch.tensor(w[:, :, :, 0])).numpy(),
        atol=1e-4,
    )
    with pytest.raises(ValueError, match="conv takes"):
        fc.conv(fc.ones(3), fc.ones(3))
    with pytest.raises(ValueError, match="padding"):
        fc.conv(x, w, padding="half")


@pytest.mark.parametrize("options", [{}, {"strides": 1}, {"padding": 1}, {"strides": (2, 1)}])
def test_pooling(options):
    x = normal(2, 3, 8, 7)
    t = torch.tensor(x)
    how = dict(stride=options.get("strides"), padding=options.get("padding", 0))
    close(fc.max_pool(x, (3, 2), **options), F.max_pool2d(t, (3, 2), **how).numpy())
    close(fc.avg_pool(x, (3, 2), **options), F.avg_pool2d(t, (3, 2), **how).numpy())
    close(
        fc.avg_pool(x, (3, 2), count_include_pad=False, **options),
        F.avg_pool2d(t, (3, 2), count_include_pad=False, **how).numpy(),
    )
    close(fc.grad(lambda x: fc.max_pool(x, (3, 2)).sum())(fc.asarray(x)).sum(), np.float32(2 * 3 * 2 * 3))


# ---- special functions ------------------------------------------------------------------------------------

SPECIAL = {
    "erf": "erf",
    "erfc": "erfc",
    "lgamma": "gammaln",
    "digamma": "psi",
    "logit": "logit",
    "erf_inv": "erfinv",
    "sinc": np.sinc,
    "deg2rad": np.deg2rad,
    "rad2deg": np.rad2deg,
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_functions(name):
    x = np.linspace(0.05, 0.95, 19)
    wanted = SPECIAL[name]
    wanted = getattr(scipy.special, wanted) if isinstance(wanted, str) else wanted
    close(getattr(fc, name)(x), wanted(x), 1e-7)


def test_special_functions_of_two():
    x, y = np.linspace(0.5, 5, 10), np.linspace(4, 0.1, 10)
    close(fc.igamma(x, y), scipy.special.gammainc(x, y), 1e-7)
    close(fc.igammac(x, y), scipy.special.gammaincc(x, y), 1e-7)
    close(fc.xlogy(np.array([0.0, 2.0, 0.0]), np.array([0.0, 3.0, np.nan])), [0, 2 * math.log(3), np.nan])
    close(fc.grad(fc.xlogy, argnums=1)(0.0, 0.0), np.float32(0))
    close(fc.grad(fc.sinc)(0.0), np.float32(0))


# ---- compiled ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: fc.gelu(x),
        lambda x: fc.softmax(x, axis=0),
        lambda x: fc.layer_norm(x),
        lambda x: fc.log_softmax(x),
        lambda x: fc.one_hot(fc.astype(x, fc.int32), 3),
        lambda x: fc.dot_product_attention(x[:, None], x[:, None], x[:, None], is_causal=True),
        lambda x: fc.max_pool(x, (2, 2)),
        lambda x: fc.conv(x[None, None], fc.ones((1, 1, 2, 2))),
        lambda x: fc.grad(lambda x: fc.softplus(x).sum())(x),
        lambda x: fc.selu(x),
    ],
)
def test_compiled_as_by_reference(fun):
    x = fc.asarray(normal(4, 6))
    found = np.asarray(fun(x))
    with fc.engine.forced_tier("reference"):
        close(found, fun(x))


def test_softmax_takes_its_axis_by_position():
    x = np.float32([[1.0, 2.0], [3.0, 5.0]])
    a = fc.asarray(x)
    wanted = np.exp(x) / np.exp(x).sum(0)
    np.testing.assert_allclose(np.asarray(fc.softmax(a, 0)), wanted, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(fc.log_softmax(a, 0)), np.log(wanted), rtol=1e-5)
    for mask in (x < 3, fc.asarray(x < 3)):
        found = fc.softmax(a, axis=0, where=mask)
        np.testing.assert_allclose(np.asarray(found), [[1.0, 1.0], [0.0, 0.0]], rtol=1e-6)
    assert fc.jit(lambda x, m: fc.softmax(x, 1, m))(a, fc.asarray(x > 1)).shape == (2, 2)
    assert fc.grad(lambda x: fc.softmax(x, 0)[0, 0])(a).shape == (2, 2)
