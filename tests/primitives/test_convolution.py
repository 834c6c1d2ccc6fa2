"""Convolution: every rule, real PyTorch in one to three dimensions, and each form for CPU."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest
import torch
import torch.nn.functional as F

from functorch_core import xla
from functorch_core.core.aval import aval_of
from functorch_core.core.lowering import lower
from functorch_core.core.trace import evaluate
from functorch_core.primitives import conv, convolution, convolution_forms
from functorch_core.transforms.transpose import vjp

from .check import check, close, compiled, graph_of

LAST = ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
CASES = {
    "no_space": ((2, 3), (4, 3), {}),
    "strided": ((2, 3, 7), (4, 3, 3), dict(strides=(2,), padding=((1, 2),))),
    "channels_last": ((2, 5, 4, 3), (2, 2, 3, 4), dict(dims=LAST, strides=(1, 2))),
    "permuted": (
        (3, 5, 4),
        (4, 2, 6),
        dict(dims=((1, 2, 0), (2, 1, 0), (2, 0, 1)), feature_groups=2, padding=((1, 2),)),
    ),
    "three": ((1, 2, 3, 4, 3), (2, 2, 2, 2, 2), dict(strides=(1, 2, 1), padding=((1, 0), (0, 0), (1, 1)))),
    # ---- dilation, negative padding
    "dilated_kernel": ((2, 2, 6, 5), (3, 2, 3, 2), dict(rhs_dilation=(1, 2), padding=((1, 1), (0, 1)))),
    "dilated_array": ((2, 3, 4, 5), (2, 3, 3, 3), dict(lhs_dilation=(2, 3), padding=((1, 0), (2, -1)))),
    "cut": ((2, 3, 5, 6), (2, 3, 3, 2), dict(padding=((-1, 2), (1, -2)))),
    "everything": ((2, 2, 6), (2, 2, 3), dict(strides=(3,), lhs_dilation=(2,), rhs_dilation=(3,), padding=((4, -1),))),
    "single_taps": ((2, 3, 4, 3), (16, 3, 2, 1), dict(lhs_dilation=(2, 2), padding=((1, 1), (0, 1)))),
    # ---- groups
    "groups": ((2, 4, 6, 5), (6, 2, 3, 2), dict(feature_groups=2, strides=(2, 1))),
    "many_groups": ((2, 18, 4), (9, 2, 3), dict(feature_groups=9, padding=((1, 1),))),
    "depthwise": ((2, 6, 5), (6, 1, 3), dict(feature_groups=6, padding=((1, 1),))),
    "depthwise_twice": ((2, 3, 5, 4), (6, 1, 3, 2), dict(feature_groups=3, strides=(2, 1))),
    "depthwise_dilated": ((2, 3, 5), (3, 1, 2), dict(feature_groups=3, lhs_dilation=(2,), strides=(3,))),
    "batch_groups": ((4, 3, 5), (6, 3, 2), dict(batch_groups=2, strides=(2,))),
    # ---- empty
    "nowhere": ((2, 3, 2), (4, 3, 5), {}),
    "no_batch": ((0, 3, 4), (2, 3, 2), {}),
    "no_features": ((2, 0, 4), (2, 0, 2), {}),
}


def some(shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * 2
    if dtype.startswith("complex"):
        x = x + 1j * rng.standard_normal(shape)
    return (np.abs(x) if dtype.startswith("u") else x).astype(getattr(ml_dtypes, dtype, dtype))


# ---- every rule ----------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_rules(case):
    sx, sw, params = CASES[case]
    check(lambda x, w: conv(x, w, **params), some(sx), some(sw, seed=1))


@pytest.mark.parametrize(
    "dtype", ("int8", "uint8", "int32", "float16", "bfloat16", "float32", "complex64", "complex128")
)
def test_dtypes(dtype):
    for case in ("strided", "groups", "depthwise"):
        sx, sw, params = CASES[case]
        check(
            lambda x, w: conv(x, w, **params),
            some(sx, dtype),
            some(sw, dtype, seed=1),
            rules=("lower", "jvp", "transpose"),
        )


@pytest.mark.parametrize("dtype, out", (("int8", "int32"), ("bfloat16", "float32"), ("float16", "float32")))
def test_wider_results(dtype, out):
    sx, sw, params = CASES["groups"]
    x, w = some(sx, dtype), some(sw, dtype, seed=1)

    def fun(x, w):
        return conv(x, w, out_dtype=np.dtype(out), **params)

    check(fun, x, w, rules=("lower",))
    wide = conv_by_reference(x.astype(out), w.astype(out), params)
    np.testing.assert_allclose(evaluate(graph_of(fun, [x, w]), [x, w])[0], wide, rtol=1e-6)


def conv_by_reference(x, w, params):
    return evaluate(graph_of(lambda x, w: conv(x, w, **params), [x, w]), [x, w])[0]


# ---- real PyTorch --------------------------------------------------------------------------------


def values_and_gradients(fun, x, w, ct):
    """Compiled: the value, and the gradients by x and w."""
    v = vjp(graph_of(fun, [x, w]), (True, True))
    value, *residuals = compiled(v.forward, [x, w])
    return [value, *compiled(v.backward, [*residuals, ct])]


def compare_with_torch(fun, oracle, x, w):
    tx, tw = torch.tensor(x, requires_grad=True), torch.tensor(w, requires_grad=True)
    out = oracle(tx, tw)
    ct = some(tuple(out.shape), seed=2)
    wanted = [out, *torch.autograd.grad(out, (tx, tw), torch.tensor(ct))]
    for found, right in zip(values_and_gradients(fun, x, w, ct), wanted, strict=True):
        np.testing.assert_allclose(found, right.detach().numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", (1, 2, 3))
@pytest.mark.parametrize("stride, padding, dilation, groups", ((1, 1, 1, 1), (2, 1, 1, 2), (3, 0, 2, 1), (2, 2, 2, 6)))
def test_as_pytorch(n, stride, padding, dilation, groups):
    x, w = some((2, 6, 8, 7, 6)[: n + 2]), some((6, 6 // groups, 3, 3, 2)[: n + 2], seed=1)
    oracle = (F.conv1d, F.conv2d, F.conv3d)[n - 1]
    compare_with_torch(
        lambda x, w: conv(
            x,
            w,
            strides=(stride,) * n,
            padding=((padding, padding),) * n,
            rhs_dilation=(dilation,) * n,
            feature_groups=groups,
        ),
        lambda x, w: oracle(x, w, None, stride, padding, dilation, groups),
        x,
        w,
    )


@pytest.mark.parametrize("n", (1, 2, 3))
@pytest.mark.parametrize(
    "kernel, stride, padding, extra, dilation",
    ((4, 2, 1, 0, 1), (2, 2, 0, 1, 1), (3, 2, 1, 1, 2), (3, 3, 2, 2, 1), (1, 2, 0, 0, 1)),
)
def test_transposed_as_pytorch(n, kernel, stride, padding, extra, dilation):
    """y = conv_transpose(x, w) is conv(x dilated, w turned round and with its features swapped)."""
    from functorch_core.primitives import reverse, transpose

    x, w = some((2, 3, 4, 3, 4)[: n + 2]), some((3, 16, *[kernel] * n), seed=1)
    oracle = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[n - 1]
    reach = (kernel - 1) * dilation
    space = tuple(range(2, n + 2))

    def fun(x, w):
        turned = reverse(transpose(w, permutation=(1, 0, *space)), dims=space)
        return conv(
            x,
            turned,
            padding=((reach - padding, reach - padding + extra),) * n,
            lhs_dilation=(stride,) * n,
            rhs_dilation=(dilation,) * n,
        )

    compare_with_torch(fun, lambda x, w: oracle(x, w, None, stride, padding, extra, 1, dilation), x, w)


# ---- the forms for CPU ---------------------------------------------------------------------------


KERNEL_GRADIENT = dict(dims=((1, 0, 2, 3), (1, 0, 2, 3), (1, 0, 2, 3)))  # as its own rule writes it
GRADIENT_CASES = {
    "gradient_depthwise": (
        (2, 6, 5, 4),
        (2, 12, 5, 4),
        dict(KERNEL_GRADIENT, batch_groups=6, padding=((1, 1), (1, 0))),
    ),
    "gradient_groups": (
        (2, 18, 4, 3),
        (2, 9, 2, 2),
        dict(KERNEL_GRADIENT, batch_groups=9, rhs_dilation=(2, 1), padding=((0, 0), (1, 1))),
    ),
}
FORMS = {
    "depthwise": ("depthwise", "depthwise_twice", "depthwise_dilated"),
    "grouped_by_offset": ("groups", "many_groups", "depthwise_twice", "permuted"),
    "grouped_by_place": ("batch_groups", "gradient_depthwise", "gradient_groups"),
    "depthwise_by_place": ("gradient_depthwise",),
    "by_group": ("groups", "permuted", "batch_groups", "gradient_groups", "depthwise_twice"),
    "by_residue": ("dilated_array", "single_taps"),
}


@pytest.mark.parametrize("form, case", [(f, c) for f, cases in FORMS.items() for c in cases])
def test_each_form_equals_the_plain_one(form, case):
    sx, sw, params = (CASES | GRADIENT_CASES)[case]
    x, w = some(sx), some(sw, seed=1)
    (node,) = graph_of(lambda x, w: conv(x, w, **params), [x, w]).nodes
    fun = getattr(convolution_forms, form)
    graph = graph_of(lambda x, w: fun(x, w, conv=node.params["conv"]), [x, w])
    plain = graph_of(lambda x, w: conv(x, w, **params), [x, w])
    (wanted,) = evaluate(plain, [x, w])
    close(compiled(graph, [x, w])[0], wanted, 1e-9, form)
    close(plainly(plain, [x, w]), wanted, 1e-9, "plain")


def plainly(graph, arrays):
    """XLA's own convolution: the lowering without the table."""
    rule = convolution.conv_p.lower_on.pop("cpu")
    try:
        return compiled(graph, arrays)[0]
    finally:
        convolution.conv_p.lower_on["cpu"] = rule


@pytest.mark.parametrize("stride", (1, 2))
def test_pointwise(stride):
    x, w = some((2, 3, 5, 4)), some((4, 3, 1, 1), seed=1)
    graph = graph_of(lambda x, w: conv(x, w, strides=(stride, stride)), [x, w])
    assert "stablehlo.convolution" not in lower(graph).text
    close(compiled(graph, [x, w])[0], plainly(graph, [x, w]), 1e-12)


def test_residues_of_every_geometry():
    x = some((1, 2, 5))
    for k, hole, dilation, low, high in itertools.product((1, 2, 4), (2, 3), (1, 2, 3), (-1, 2), (0, 3)):
        w = some((1, 2, k), seed=k)
        params = dict(lhs_dilation=(hole,), rhs_dilation=(dilation,), padding=((low, high),))
        plain = graph_of(lambda x, w: conv(x, w, **params), [x, w])
        if plain.out_avals[0].size:
            form = graph_of(lambda x, w: convolution_forms.by_residue(x, w, conv=plain.nodes[0].params["conv"]), [x, w])
            close(evaluate(form, [x, w])[0], evaluate(plain, [x, w])[0], 1e-12, str(params))


def test_the_choice():
    def chosen(sx, sw, dtype="float32", **params):
        x, w = some(sx, dtype), some(sw, dtype)
        graph = graph_of(lambda x, w: conv(x, w, **params), [x, w])
        out = graph.out_avals[0]
        form = convolution_forms.choose_form(
            graph.nodes[0].params["conv"], aval_of(x), aval_of(w), int(np.prod(out.shape[2:]))
        )
        return form and form.__name__

    assert chosen((2, 3, 8, 8), (4, 3, 3, 3)) is None
    assert chosen((2, 6, 8, 8), (6, 1, 3, 3), feature_groups=6) == "depthwise"
    assert chosen((2, 6, 8, 8), (6, 3, 3, 3), feature_groups=2) == "by_group"
    assert chosen((2, 32, 8, 8), (32, 2, 3, 3), feature_groups=16) == "grouped_by_offset"
    assert chosen((2, 3, 8, 8), (4, 3, 1, 1)) == "pointwise"
    assert chosen((2, 3, 8, 8), (16, 3, 2, 2), lhs_dilation=(2, 2)) == "by_residue"
    assert chosen((2, 3, 8, 8), (16, 3, 4, 4), lhs_dilation=(2, 2)) is None
    # ---- float64
    assert chosen((2, 3, 8, 8), (4, 3, 3, 3), "float64") == "grouped_by_offset"
    assert chosen((2, 3, 8, 8), (4, 3, 1, 1), "float64") == "pointwise"
    assert chosen((2, 3, 8, 8), (4, 3, 6, 6), "float64") == "grouped_by_place"
    assert chosen((2, 3, 8, 8), (2, 3, 4, 4), "float64", lhs_dilation=(2, 2)) == "by_residue"
    assert chosen((2, 3, 8, 8), (4, 3, 1, 1), "float64", padding=((1, 1), (1, 1))) is None


# ---- errors and platforms ------------------------------------------------------------------------


def test_errors():
    x, w = np.zeros((2, 4, 5), np.float32), np.zeros((6, 4, 3), np.float32)
    with pytest.raises(TypeError, match="one dtype"):
        conv(x, w.astype(np.float64))
    with pytest.raises(ValueError, match="3 features for each of 1 groups"):
        conv(x, w[:, :3])
    with pytest.raises(ValueError, match="do not divide"):
        conv(x, w[:5, :2], feature_groups=2)
    with pytest.raises(ValueError, match="each named once"):
        conv(x, w, dims=((0, 0, 1), (0, 1, 2), (0, 1, 2)))
    with pytest.raises(ValueError, match="have 1 entries"):
        conv(x, w, strides=(1, 1))
    with pytest.raises(ValueError, match="at least 1"):
        conv(x, w, strides=(0,))
    with pytest.raises(ValueError, match="only one kind"):
        conv(x, w[:, :2], feature_groups=2, batch_groups=2)


@pytest.mark.parametrize("case", ("groups", "dilated_array", "channels_last", "depthwise"))
def test_lowers_for_cuda(case):
    sx, sw, params = CASES[case]
    graph = graph_of(lambda x, w: conv(x, w, **params), [some(sx), some(sw)])
    v = vjp(graph, (True, True))
    xla.verify(lower(v.forward, "cuda").text)
    xla.verify(lower(v.backward, "cuda").text)
