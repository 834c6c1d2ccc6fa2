"""torch.nn.functional against the reference: values, gradients, masks, errors, odd shapes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from functorch_core import engine, torch
from functorch_core.torch.operators.nn import attention

from ..nn import both
from .against_reference import assert_same, assert_same_error, pair

reference = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")


def array(*shape, seed: int = 0, dtype=np.float32):
    """Normal numbers of a shape."""
    return np.asarray(np.random.RandomState(seed).randn(*shape)).astype(dtype)


def agree(fun, *arrays, scale: float = 8.0, grad: bool = True, dtype: str | None = None):
    """fun(nn.functional, *tensors) and its gradients agree."""
    pairs = [
        pair(
            a,
            reference,
            dtype if np.asarray(a).dtype.kind == "f" else None,
            grad=grad and np.asarray(a).dtype.kind == "f",
        )
        for a in arrays
    ]
    ours = fun(torch.nn.functional, *[o for o, _ in pairs])
    theirs = fun(reference.nn.functional, *[t for _, t in pairs])
    assert_same(ours, theirs, scale)
    if not grad:
        return
    first = [x[0] if isinstance(x, tuple) else x for x in (ours, theirs)]
    cotangents = pair(array(*theirs[0].shape if isinstance(theirs, tuple) else theirs.shape, seed=9), reference, dtype)
    for x, c in zip(first, cotangents):
        x.backward(c)
    for o, t in pairs:
        if t.grad is not None:
            assert_same(o.grad, t.grad, scale)


# ---- activations ---------------------------------------------------------------------------------

KINKS = np.array([-100.0, -6.0, -3.0, -1.0, -0.5, -1e-3, 0.0, 1e-3, 0.5, 1.0, 3.0, 6.0, 20.0, 21.0, 100.0], np.float32)
ACTIVATIONS = {
    "relu": {},
    "relu6": {},
    "leaky_relu": {"negative_slope": 0.2},
    "elu": {"alpha": 1.3},
    "selu": {},
    "celu": {"alpha": 0.7},
    "gelu": {},
    "silu": {},
    "mish": {},
    "softplus": {"beta": 2.0},
    "softsign": {},
    "tanhshrink": {},
    "hardtanh": {},
    "hardsigmoid": {},
    "hardswish": {},
    "hardshrink": {},
    "softshrink": {},
    "logsigmoid": {},
    "rrelu": {},
    "sigmoid": {},
    "tanh": {},
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_at_kinks(name):
    agree(lambda F, x: getattr(F, name)(x, **ACTIVATIONS[name]), KINKS, scale=20)


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_activation_dtypes(name, dtype):
    # PyTorch rounds hardsigmoid's 1/6 and celu's 1/alpha to float32, in float64, too.
    scale = 2 if dtype == "bfloat16" else 1e5 if name in ("hardsigmoid", "celu") else 1e3
    agree(lambda F, x: getattr(F, name)(x, **ACTIVATIONS[name]), array(3, 4), dtype=dtype, scale=scale)


def test_activations_with_parameters():
    agree(lambda F, x: F.gelu(x, approximate="tanh"), KINKS, scale=20)
    agree(lambda F, x: F.threshold(x, 0.5, -7.0), KINKS)
    agree(lambda F, x, w: F.prelu(x, w), array(2, 3, 4), array(3, seed=1))
    agree(lambda F, x: F.glu(x, 1), array(2, 4, 3))
    agree(lambda F, x: F.relu(x * 1, inplace=True), KINKS)


def test_infinities_and_nan_pass_through():
    odd = np.array([math.inf, -math.inf, math.nan], np.float32)
    for name in ("relu", "relu6", "leaky_relu", "elu", "softplus", "hardtanh", "logsigmoid"):
        agree(lambda F, x, name=name: getattr(F, name)(x), odd, grad=False)
    largest = np.finfo(np.float32).max
    agree(lambda F, x: F.mish(x), np.array([math.nan, math.inf, -math.inf, -largest, -104.0, largest], np.float32))


@pytest.mark.parametrize(
    "shape,dim", [((3,), 0), ((2, 3), 1), ((2, 3), 0), ((2, 3, 4), 1), ((), 0), ((0, 3), 1), ((2, 0), 1)]
)
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_softmax(name, shape, dim):
    agree(lambda F, x: getattr(F, name)(x, dim), 30 * array(*shape), scale=20)


def test_softmax_of_large_and_masked_numbers():
    x = np.array([[1e4, 1e4, 0.0], [-math.inf, 0.0, 1.0], [-math.inf] * 3], np.float32)
    agree(lambda F, x: F.softmax(x, -1), x, grad=False)
    agree(lambda F, x: F.log_softmax(x, -1), x, grad=False)


# ---- linear, convolution -------------------------------------------------------------------------


def test_linear():
    w, b = array(4, 3, seed=1), array(4, seed=2)
    for shape in ((3,), (2, 3), (2, 5, 3), (0, 3)):
        agree(lambda F, x, w, b: F.linear(x, w, b), array(*shape), w, b)
    agree(lambda F, x, y, w, b: F.bilinear(x, y, w, b), array(2, 3), array(2, 5), array(4, 3, 5), b)


CONVOLUTIONS = [
    {},
    {"stride": 2},
    {"padding": 1},
    {"padding": "same", "dilation": 2},
    {"dilation": 2},
    {"padding": 2, "stride": 3},
    {"padding": "valid"},
]


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("options", CONVOLUTIONS)
def test_convolution(n, options):
    size = (7, 6, 5)[:n]
    agree(
        lambda F, x, w, b: getattr(F, f"conv{n}d")(x, w, b, **options),
        array(2, 4, *size),
        array(6, 4, *(3, 2, 2)[:n], seed=1),
        array(6, seed=2),
        scale=30,
    )


@pytest.mark.parametrize("groups", [2, 4])
def test_convolution_groups_and_unbatched(groups):
    agree(
        lambda F, x, w: F.conv2d(x, w, groups=groups), array(2, 4, 5, 6), array(8, 4 // groups, 3, 3, seed=1), scale=30
    )
    agree(lambda F, x, w: F.conv2d(x, w, groups=groups), array(4, 5, 6), array(8, 4 // groups, 3, 3, seed=1), scale=30)


@pytest.mark.parametrize(
    "options",
    [{}, {"stride": 2}, {"stride": 2, "output_padding": 1}, {"padding": 1, "dilation": 2}, {"groups": 2, "stride": 2}],
)
@pytest.mark.parametrize("n", [1, 2])
def test_transposed_convolution(n, options):
    groups = options.get("groups", 1)
    agree(
        lambda F, x, w, b: getattr(F, f"conv_transpose{n}d")(x, w, b, **options),
        array(2, 4, *(5, 4)[:n]),
        array(4, 6 // groups, *(3, 2)[:n], seed=1),
        array(6, seed=2),
        scale=30,
    )


def test_convolution_errors():
    for x, w in (((1, 3, 5, 5), (4, 2, 3, 3)), ((1, 3, 2, 2), (4, 3, 3, 3)), ((3, 5), (4, 3, 3, 3))):
        assert_same_error(lambda m, x=x, w=w: m.nn.functional.conv2d(m.ones(x), m.ones(w)), reference)


# ---- pooling -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stride": 1},
        {"padding": 1},
        {"ceil_mode": True, "stride": 2},
        {"stride": 2, "padding": 1, "ceil_mode": True},
    ],
)
def test_pooling(options):
    x = array(2, 3, 7, 8)
    agree(lambda F, x: F.max_pool2d(x, 3, **options), x)
    agree(lambda F, x: F.max_pool2d(x, 3, return_indices=True, **options), x)
    agree(lambda F, x: F.avg_pool2d(x, 3, **options), x)
    agree(lambda F, x: F.avg_pool2d(x, 3, count_include_pad=False, **options), x)


def test_pooling_of_other_ranks():
    agree(lambda F, x: F.max_pool1d(x, 3, 2, 1, 2, return_indices=True), array(2, 3, 11))
    agree(lambda F, x: F.max_pool3d(x, 2, return_indices=True), array(2, 3, 4, 5, 6))
    agree(lambda F, x: F.avg_pool3d(x, 2, divisor_override=3), array(2, 3, 4, 5, 6))
    agree(lambda F, x: F.lp_pool2d(x, 2.0, 2), np.abs(array(2, 3, 4, 4)))


@pytest.mark.parametrize("out", [1, 2, (3, 4), (None, 2), (7, 9)])
def test_adaptive_pooling(out):
    agree(lambda F, x: F.adaptive_avg_pool2d(x, out), array(2, 3, 6, 8))
    agree(lambda F, x: F.adaptive_max_pool2d(x, out, return_indices=True), array(2, 3, 6, 8))


@pytest.mark.parametrize("n, shape, out", [
    (1, (2, 3, 11), 4), (1, (3, 7), 7), (2, (2, 3, 13, 9), (4, 5)), (2, (3, 6, 8), (9, 3)),
    (3, (2, 2, 7, 5, 6), (3, 2, 4)), (2, (1, 1, 7, 7), (0, 3)),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("kind", ["equal", "infinite", "only infinities", "not in order"])
def test_greatest_of_uneven_bins(n, shape, out, kind):
    x = np.round(array(*shape) * 2)  # many are equal: the first counts
    if kind == "infinite":
        x.reshape(-1)[::3] = -np.inf
    if kind == "only infinities":
        x[...] = -np.inf
    if kind == "not in order":
        x = np.ascontiguousarray(x[..., ::-1].T).T[..., ::-1]

    def program(F, x):
        return getattr(F, f"adaptive_max_pool{n}d")(x, out, return_indices=True)

    agree(program, x, grad=0 not in np.atleast_1d(out))


def test_unpooling_inverts():
    def program(F, x):
        values, indices = F.max_pool2d(x, 2, return_indices=True)
        return F.max_unpool2d(values, indices, 2)

    agree(program, array(2, 3, 4, 6))


# ---- normalisation -------------------------------------------------------------------------------


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 5), (2, 3, 4, 5)])
def test_batch_norm_updates_running_statistics(shape, training):
    mean, var = pair(array(3), reference), pair(np.abs(array(3, seed=1)), reference)
    x, w, b = (pair(a, reference, grad=True) for a in (array(*shape), array(3, seed=2), array(3, seed=3)))
    outs = [
        m.nn.functional.batch_norm(x[i], mean[i], var[i], w[i], b[i], training, 0.3)
        for i, m in enumerate((torch, reference))
    ]
    assert_same(*outs, 8)
    assert_same(*mean, 8)
    assert_same(*var, 8)
    assert mean[0]._version == int(training)
    for out in outs:
        (out * out * out).sum().backward()
    for ours, theirs in (x, w, b):
        assert_same(ours.grad, theirs.grad, 200)


def test_other_norms():
    x, w, b = array(4, 6, 5), array(6, seed=1), array(6, seed=2)
    agree(lambda F, x, w, b: F.layer_norm(x, (6, 5), None, None), x, w, b, scale=20)
    agree(lambda F, x, w, b: F.layer_norm(x, (5,), w, b), x, array(5), array(5, seed=1), scale=20)
    agree(lambda F, x, w: F.rms_norm(x, (5,), w), x, array(5), scale=20)
    agree(lambda F, x, w, b: F.group_norm(x, 3, w, b), x, w, b, scale=20)
    agree(lambda F, x, w, b: F.instance_norm(x, None, None, w, b), x, w, b, scale=20)
    agree(lambda F, x: F.local_response_norm(x, 3), x)
    agree(lambda F, x: F.normalize(x, dim=2), x)
    agree(lambda F, x: F.normalize(x * 0), x)


# ---- losses --------------------------------------------------------------------------------------

CLASSES = np.array([1, 4, 0, -100, 2])


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy(reduction, smoothing):
    options = {"reduction": reduction, "label_smoothing": smoothing}
    agree(lambda F, x, t: F.cross_entropy(x, t, **options), array(5, 6), CLASSES, scale=20)
    agree(
        lambda F, x, t, w: F.cross_entropy(x, t, w.detach(), **options),
        array(5, 6),
        CLASSES,
        np.abs(array(6, seed=1)),
        scale=20,
    )
    targets = np.random.RandomState(0).randint(0, 6, (5, 3, 2))
    agree(lambda F, x, t: F.cross_entropy(x, t, **options), array(5, 6, 3, 2), targets, scale=20)
    soft = np.abs(array(5, 6, seed=2))
    agree(lambda F, x, t: F.cross_entropy(x, t, **options), array(5, 6), soft / soft.sum(1)[:, None], scale=20)


PAIRS = [
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "soft_margin_loss",
    "kl_div",
    "poisson_nll_loss",
    "hinge_embedding_loss",
]


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses_of_pairs(name, reduction):
    target = (
        np.sign(array(3, 4, seed=1))
        if name in ("soft_margin_loss", "hinge_embedding_loss")
        else (np.abs(array(3, 4, seed=1)))
    )
    agree(
        lambda F, x, t: getattr(F, name)(x, t.detach() if name == "soft_margin_loss" else t, reduction=reduction),
        array(3, 4),
        target,
        scale=20,
    )


WEIGHTED = ["mse_loss", "l1_loss", "huber_loss"]


@pytest.mark.parametrize("name", WEIGHTED)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_weighted_losses_of_pairs(name, reduction):
    x, y, w = (array(3, 4, seed=i) for i in range(3))
    agree(lambda F, x, y, w: getattr(F, name)(x, y, weight=w, reduction=reduction), x, y, np.abs(w) + 0.1, scale=20)
    agree(lambda F, x, y, w: getattr(F, name)(x, y, weight=w, reduction=reduction), x[0], y, np.abs(w[0]) + 0.1)


@pytest.mark.parametrize("name", WEIGHTED)
def test_what_weights_of_pairs_may_be(name):
    def program(t):
        f, x, y = getattr(t.nn.functional, name), t.ones(2, 2), t.zeros(2, 2)
        shapes = [(2,), (1, 2), (), (2, 2, 1), (4,)]
        found = [both.failing(f, x, y, weight=t.ones(s), reduction=r) for s in shapes for r in ("none", "mean", "?")]
        found += [both.failing(f, x, y, weight=x, reduction="?"), both.failing(f, t.ones(2, 1), t.ones(2), weight=x)]
        weights = [x.double(), x.long(), x.to(t.complex64)]
        return found, [repr(f(x, y, weight=w)) for w in weights], repr(f(x, y, weight=y))

    both.agree(program)


def test_binary_losses():
    p = np.array([0.0, 0.2, 0.9, 1.0], np.float32)
    t = np.array([1.0, 0.3, 1.0, 0.0], np.float32)
    agree(lambda F, x, y: F.binary_cross_entropy(x, y), p, t, scale=20)
    agree(
        lambda F, x, y, w: F.binary_cross_entropy_with_logits(x, y, pos_weight=w.detach()),
        9 * p - 4,
        t,
        p + 1,
        scale=20,
    )


def test_losses_of_rankings():
    x, y, z = (array(3, 4, seed=i) for i in range(3))
    sign = np.array([1.0, -1.0, 1.0], np.float32)
    agree(lambda F, x, y, z: F.triplet_margin_loss(x, y, z, swap=True), x, y, z)
    agree(lambda F, x, y, t: F.cosine_embedding_loss(x, y, t), x, y, sign)
    agree(lambda F, x, y, t: F.margin_ranking_loss(x, y, t, 0.1), x[0], y[0], z[0])
    agree(lambda F, x, t: F.multi_margin_loss(x, t), x, np.array([0, 3, 1]))
    agree(lambda F, x, t: F.multilabel_margin_loss(x, t), x, np.array([[0, 2, -1, 1], [3, -1, 0, 0], [-1, 0, 1, 2]]))
    agree(lambda F, x, t: F.multilabel_soft_margin_loss(x, t), x, (y > 0).astype(np.float32))
    agree(lambda F, x, t, v: F.gaussian_nll_loss(x, t, v, full=True), x, y, np.abs(z) + 0.1, scale=20)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_ctc_loss(reduction):
    log_p = np.log(np.random.RandomState(0).dirichlet(np.ones(5), (9, 3))).astype(np.float32)
    targets = np.array([[1, 2, 2, 4], [3, 1, 0, 0], [2, 2, 2, 2]])
    agree(lambda F, x, t: F.ctc_loss(x, t, (9, 7, 8), (4, 2, 1), reduction=reduction), log_p, targets, scale=100)
    agree(
        lambda F, x, t: F.ctc_loss(x, t, (3, 7, 8), (4, 2, 1), reduction=reduction, zero_infinity=True),
        log_p,
        targets,
        scale=100,
    )


# ---- embedding, dropout, attention ---------------------------------------------------------------


def test_embedding():
    index = np.array([[0, 2, 2], [1, 4, 0]])
    agree(lambda F, i, w: F.embedding(i, w, padding_idx=2), index, array(5, 3))
    agree(lambda F, i, w: F.embedding(i, w, scale_grad_by_freq=True), index, array(5, 3))
    agree(lambda F, i, w: F.embedding(i, w.detach(), max_norm=0.5), index, array(5, 3), grad=False)
    agree(lambda F, i: F.one_hot(i, 6), index, grad=False)
    for mode in ("sum", "mean", "max"):
        agree(lambda F, i, w, mode=mode: F.embedding_bag(i, w, mode=mode, padding_idx=2), index, array(5, 3))
        agree(lambda F, i, w, mode=mode: F.embedding_bag(i, w, mode=mode), index, array(5, 3))


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("padding", [None, 2])
def test_bags_of_one_size(mode, padding):
    """Also of nothing but padding, of one index, and no bags at all; a padded row of NaN has no part in it."""
    weight = array(6, 5)
    for index in (np.array([[2, 2, 2], [0, 5, 2], [1, 1, 1]]), np.array([[3], [2]]), np.zeros((0, 3), np.int64)):
        agree(lambda F, i, w: F.embedding_bag(i, w, mode=mode, padding_idx=padding), index, weight)
    agree(lambda F, i, w: F.embedding_bag(i, w, mode=mode, scale_grad_by_freq=True), np.array([[3, 2]]), weight)
    weight[2] = np.nan
    agree(lambda F, i, w: F.embedding_bag(i, w, mode=mode, padding_idx=2), np.array([[2, 1], [4, 2]]), weight)
    weighed = np.array([[0, 1], [3, 5]]), array(6, 5), array(2, 2)
    agree(lambda F, i, w, s: F.embedding_bag(i, w, mode="sum", per_sample_weights=s, padding_idx=padding), *weighed)


@pytest.mark.parametrize(
    "name,shape",
    [
        ("dropout", (4, 5)),
        ("dropout1d", (4, 3, 5)),
        ("dropout2d", (4, 3, 5, 2)),
        ("alpha_dropout", (4, 5)),
        ("dropout3d", (2, 3, 2, 2, 2)),
        ("feature_alpha_dropout", (4, 3, 5)),
        ("dropout", (300, 301)),  # a mask of many elements is kept as booleans
        ("alpha_dropout", (300, 301)),
    ],
)
def test_dropout_draws_the_same_masks(name, shape):
    x = pair(array(*shape), reference, grad=True)
    outs = []
    for module, tensor in zip((torch, reference), x):
        module.manual_seed(3)
        outs.append(getattr(module.nn.functional, name)(tensor, p=0.4, training=True))
        outs[-1].sum().backward()
    assert_same(*outs, 4)
    assert_same(x[0].grad, x[1].grad, 4)
    assert getattr(torch.nn.functional, name)(x[0], p=0.4, training=False) is x[0]


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": 0.3}])
def test_attention(options):
    q, k, v = array(2, 4, 5, 8), array(2, 4, 6, 8, seed=1), array(2, 4, 6, 3, seed=2)
    agree(lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, **options), q, k, v, scale=20)


@pytest.mark.parametrize(
    "queries, keys", [(64, 64), (65, 65), (129, 129), (300, 300), (300, 70), (150, 400), (260, 1), (0, 4)]
)
def test_causal_attention_in_pieces(queries, keys, monkeypatch):
    monkeypatch.setattr(attention, "MANY_SCORES", 1)
    q, k, v = array(1, 2, queries, 8), array(1, 2, keys, 8, seed=1), array(1, 2, keys, 3, seed=2)
    agree(lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), q, k, v, scale=50)


def test_causal_attention_does_not_see_what_comes_later(monkeypatch):
    monkeypatch.setattr(attention, "MANY_SCORES", 1)
    x = torch.tensor(array(1, 1, 200, 4))
    later = x.clone()
    later[..., 130:, :] = math.nan
    found = torch.nn.functional.scaled_dot_product_attention(x, later, later, is_causal=True)
    assert found[..., :64, :].isfinite().all()
    assert found[..., 130:, :].isnan().all()


@pytest.mark.parametrize("n", [5, 160])  # weights: few, and more than 65,536
def test_attention_with_dropout(n):
    q, k, v = array(2, 4, n, 8), array(2, 4, n, 8, seed=1), array(2, 4, n, 3, seed=2)

    def attend(F, q, k, v):
        (torch if F is torch.nn.functional else reference).manual_seed(3)
        return F.scaled_dot_product_attention(q, k, v, dropout_p=0.3)

    agree(attend, q, k, v, scale=100)


def test_recurrent_dropout_of_many_elements():
    outs = []
    for module in (torch, reference):
        module.manual_seed(3)
        lstm = module.nn.LSTM(4, 32, 2, dropout=0.4)
        x = module.ones(7, 300, 4, requires_grad=True)
        lstm(x)[0].sum().backward()
        outs.append(x.grad)
    np.testing.assert_allclose(outs[0].numpy(), outs[1].numpy(), rtol=1e-4, atol=1e-5)


def test_attention_masks_and_groups():
    q, k, v = array(2, 4, 5, 8), array(2, 2, 6, 8, seed=1), array(2, 2, 6, 8, seed=2)
    agree(lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), q, k, v, scale=20)
    allowed = np.random.RandomState(0).rand(5, 5) > 0.4
    allowed[1] = False  # nothing to attend to: zeros
    agree(lambda F, q, m: F.scaled_dot_product_attention(q, q, q, m), q, allowed, scale=20)
    agree(lambda F, q, m: F.scaled_dot_product_attention(q, q, q, m), q, array(2, 1, 5, 5), scale=20)


# ---- images --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_pad(mode):
    agree(lambda F, x: F.pad(x, (1, 2, 2, 0), mode), array(2, 3, 4, 5))
    agree(lambda F, x: F.pad(x, (-1, 2), mode), array(2, 3, 5))


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic", "area"])
@pytest.mark.parametrize("size", [{"size": (7, 4)}, {"scale_factor": 2}, {"scale_factor": (0.6, 1.5)}])
def test_interpolate(mode, size):
    agree(lambda F, x: F.interpolate(x, mode=mode, **size), array(2, 3, 5, 6), scale=20)
    if mode.startswith("bi"):
        agree(lambda F, x: F.interpolate(x, mode=mode, align_corners=True, **size), array(2, 3, 5, 6), scale=20)
        agree(lambda F, x: F.interpolate(x, mode=mode, antialias=True, **size), array(2, 3, 5, 6), scale=20)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("align", [True, False])
def test_grid_sample(mode, padding, align):
    agree(
        lambda F, x, g: F.grid_sample(x, g, mode, padding, align),
        array(2, 3, 5, 6),
        array(2, 4, 3, 2, seed=1),
        scale=200,
    )


def test_blocks_and_pixels():
    agree(lambda F, x: F.unfold(x, (2, 3), 1, 1, 2), array(2, 3, 5, 6))
    agree(lambda F, x: F.fold(x, (5, 6), (2, 3), 2, 1, 2), array(2, 12, 6))
    agree(lambda F, x: F.pixel_shuffle(x, 2), array(2, 8, 3, 2))
    agree(lambda F, x: F.pixel_unshuffle(x, 2), array(2, 3, 4, 6))
    agree(lambda F, t: F.affine_grid(t, (2, 1, 3, 4), align_corners=False), array(2, 2, 3))


EXTREME_ROWS = {
    "normal": array(5, 4),
    "NaN": [[0, math.nan, 1, 2], [1, 2, 3, 4]],
    "infinity": [[0, math.inf, 1, 2], [1, 2, 3, 4]],
    "-infinity": [[0, -math.inf, 1, 2], [-math.inf] * 4],
    "huge": [[1e30, -1e30, 1, 2], [3e38, 3e38, 3e38, 0]],
    "far apart": [[-1e4, 0, 1e4, 1], [88, 89, 90, 200]],
}


@pytest.mark.parametrize("tier", ["reference", "fused"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("kind", EXTREME_ROWS)
def test_cross_entropy_and_both_derivatives_of_extreme_rows(kind, dtype, tier):
    def found(t):
        x = t.tensor(np.array(EXTREME_ROWS[kind]), dtype=getattr(t, dtype), requires_grad=True)
        loss = t.nn.functional.cross_entropy(x, t.arange(len(x)) % 4, reduction="none")
        (first,) = t.autograd.grad(loss.sum(), x, create_graph=True)
        (second,) = t.autograd.grad((first * first).sum(), x)
        return [v.detach().float().numpy() for v in (loss, first, second)]

    with engine.forced_tier(tier):
        ours = found(torch)
    near = dict(rtol=2e-2, atol=2e-2) if dtype == "bfloat16" else dict(rtol=2e-5, atol=1e-6)
    for a, b in zip(ours, found(reference)):
        np.testing.assert_allclose(a, b, **near)
