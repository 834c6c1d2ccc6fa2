"""What PyTorch's nodes of backward passes call on the CPU: rules of `sketches`, by the names of nodes.

A rule is given the gradient of the result, and the call whose node it is (`Saved`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from .convolution_parts import from_onednn
from .operator_parts import empty_in_order
from .sketches import NODE_RULES, Part, Saved, Sketch, made_of

node = functools.partial(made_of, rules=NODE_RULES)


def reduced_to(a: Sketch, grad: Part, like: Part) -> Part:
    """After the node: the sum over what was broadcast."""
    if grad.shape != like.shape:
        a.once_after(lambda: a.view(_summed(a, grad, like), like.shape))
    return grad


def _summed(a: Sketch, grad: Part, like: Part) -> Part:
    lead = grad.ndim - len(like.shape)
    dims = [i for i, n in enumerate(grad.shape) if i < lead or like.shape[i - lead] != n]
    return a.sum(grad, dims, True)


# ---- products ------------------------------------------------------------------------------------


def transposed(x: Part) -> Part:
    """What the t of a matrix is."""
    return x.like(x.shape[::-1], ordered=not x.ordered)


@node("AddmmBackward0")
def _addmm(a, grad, n):
    rows, first, second = grad.like([grad.numel() // grad.shape[-1], grad.shape[-1]]), "input", "weight"
    if not n.has("weight"):
        first, second = "mat1", "mat2"
    if n.wants(first):
        a.mm(rows, a.t(transposed(n.weight) if second == "weight" else n.mat2))
    if n.wants(second):
        operand = getattr(n, first)
        found = a.mm(a.t(rows), operand.like([rows.shape[0], operand.shape[-1]]))
        a.t(found) if second == "weight" else None
    if n.wants("bias"):
        reduced_to(a, rows, n.bias)


@node("MmBackward0")
def _mm(a, grad, n):
    if n.has("weight"):
        rows = grad.like([grad.numel() // grad.shape[-1], grad.shape[-1]])
        if n.wants("weight"):
            operand = n.input.like([rows.shape[0], n.input.shape[-1]])
            a.t(a.mm(a.t(rows), operand))
        if n.wants("input"):
            a.mm(rows, a.t(transposed(n.weight)))
        return
    if n.wants("other"):
        a.mm(a.t(n.input), grad)
    if n.wants("input"):
        a.mm(grad, a.t(n.other))


@node("BmmBackward0")
def _bmm(a, grad, n):
    for name in ("other", "input"):
        if n.has(name) and n.wants(name):
            a.bmm(a.transpose(grad, 1, 2), grad)


@node("TBackward0")
def _t(a, grad, n):
    a.t(transposed(n.weight) if n.has("weight") else grad)


# ---- views ---------------------------------------------------------------------------------------


@node("ViewBackward0", "ReshapeAliasBackward0", "UnsafeViewBackward0")
def _view(a, grad, n):
    a.reshape(grad, n.input.shape)


@node("TransposeBackward0")
def _transpose(a, grad, n):
    a.transpose(grad, 0, 1)


@node("UnsqueezeBackward0")
def _unsqueeze(a, grad, n):
    a.squeeze(grad, 0)


@node("PermuteBackward0")
def _permute(a, grad, n):
    a.permute(grad, None)


@node("SelectBackward0")
def _select(a, grad, n):
    with a.calling("aten::select_backward", grad, None, None, None):
        a.copy_(a.select(a.zeros(n.input.shape), 0, 0).like(grad.shape), grad, False)


@node("SliceBackward0")
def _slice(a, grad, n):
    with a.calling("aten::slice_backward", grad, *[None] * 5):
        a.copy_(a.slice(a.zeros(n.input.shape), *[None] * 4).like(grad.shape), grad, False)


@node("SumBackward0")
def _sum(a, grad, n):
    a.expand(grad, n.input.shape, None)


@node("MeanBackward0")
def _mean(a, grad, n):
    a.div(a.expand(grad, n.input.shape, None), n.input.numel())


@node("SumBackward1")
def _sum_of_dims(a, grad, n):
    return a.expand(_unreduced(a, grad, n), n.input.shape, None)


@node("MeanBackward1")
def _mean_of_dims(a, grad, n):
    a.div(_sum_of_dims(a, grad, n), n.input.numel() // max(grad.numel(), 1))


def _unreduced(a: Sketch, grad: Part, n: Saved) -> Part:
    """With the dimensions that were reduced."""
    for dim in range(len(n.input.shape) - grad.ndim):
        grad = a.unsqueeze(grad, dim).like([1, *grad.shape])
    return grad


# ---- elementwise ---------------------------------------------------------------------------------


@node("AddBackward0")
def _add(a, grad, n):
    for name in ("input", "other"):
        if n.wants(name):
            reduced_to(a, grad, getattr(n, name))


@node("MulBackward0")
def _mul(a, grad, n):
    for name, other in (("input", "other"), ("other", "input")):
        if n.wants(name):
            factor = getattr(n, other) if n.has(other) else n.static(other)
            reduced_to(a, a.mul(grad, grad if factor is None else factor), getattr(n, name))


@node("DivBackward0")
def _div(a, grad, n):
    other = n.other if n.has("other") else n.static("other")
    if n.wants("other"):
        a.mul(a.neg(grad), a.div(a.div(n.input, other), other))
    if n.wants("input"):
        reduced_to(a, a.div(grad, other), n.input)


@node("PowBackward0")
def _pow(a, grad, n):
    a.mul(grad, a.mul(a.pow(n.input, n.static("exponent") - 1), n.static("exponent")))


@node("CatBackward0")
def _cat(a, grad, n):
    for i, edge in enumerate(n._edges):
        if edge is not None:
            a.narrow(grad, n.static("dim") or 0, 0, n._operands[i].shape[0])


@node("ExpBackward0")
def _exp(a, grad, n):
    a.mul(grad, n.result)


@node("LogBackward0")
def _log(a, grad, n):
    a.div(grad, n.input)


@node("SqrtBackward0")
def _sqrt(a, grad, n):
    a.div(grad, a.mul(n.result, 2))


@node("NegBackward0", "RsubBackward1")
def _neg(a, grad, n):
    a.neg(grad)


def _named(kind: str, operator: str, saved: Sequence[str] = ("input",), parts: Callable | None = None):
    """A node that calls one operator."""

    @node(f"{kind}Backward0")
    def rule(a, grad, n):
        grad = grad if grad.shape or kind == "NllLoss" else n.input  # of a chain's first node
        with a.calling(f"aten::{operator}", grad, *[getattr(n, name) for name in saved]):
            if parts is not None:
                parts(a, n)


def _zeroed(a: Sketch, n: Saved):
    a.zero_(n.input)


_named("Relu", "threshold_backward")
_named("Tanh", "tanh_backward")
_named("Sigmoid", "sigmoid_backward")
_named("Gelu", "gelu_backward")
_named("Silu", "silu_backward")
_named("LeakyRelu", "leaky_relu_backward")
_named("Elu", "elu_backward")
_named("Softmax", "_softmax_backward_data")
_named("LogSoftmax", "_log_softmax_backward_data")
_named("AvgPool2D", "avg_pool2d_backward", parts=_zeroed)
_named("MaxPool2DWithIndices", "max_pool2d_with_indices_backward", parts=_zeroed)
_named("NllLoss", "nll_loss_backward", ("input", "target"), parts=_zeroed)


# ---- networks ------------------------------------------------------------------------------------


@node("ConvolutionBackward0")
def _convolution(a, grad, n):
    with a.calling("aten::convolution_backward", grad, n.input, n.weight, *[None] * 8):
        if n.wants("input"):
            a.empty()
            from_onednn(a, n.input)
        for name in filter(n.wants, ("weight", "bias")):
            from_onednn(a, getattr(n, name))


@node("NativeBatchNormBackward0")
def _batch_norm(a, grad, n):
    with a.calling("aten::native_batch_norm_backward", grad, n.input):
        empty_in_order(a, n.input)
        a.empty()
        a.empty()
        empty_in_order(a, n.input)


@node("NativeLayerNormBackward0")
def _layer_norm(a, grad, n):
    with a.calling("aten::native_layer_norm_backward", grad, n.input):
        for _ in range(4):
            a.empty()
        a.zero_(a.resize_(grad, None))


@node("BinaryCrossEntropyWithLogitsBackward0")
def _bce_with_logits(a, grad, n):
    found = a.mul_(a.sub_(a.sigmoid(n.input), n.input), grad)
    if n.static("reduction") in (None, "mean"):
        a.div_(found, n.input.numel())


@node("MseLossBackward0")
def _mse_loss(a, grad, n):
    with a.calling("aten::mse_loss_backward", grad, n.input, n.target, None):
        with a.calling("aten::zeros_like", n.input):
            a.zero_(empty_in_order(a, n.input))
        with a.calling("aten::mse_loss_backward", grad, n.input, n.target, None):
            pass


@node("EmbeddingBackward0")
def _embedding(a, grad, n):
    with a.calling("aten::embedding_backward", grad), a.calling("aten::embedding_dense_backward", grad):
        a.zeros(n.weight.shape)
        a.view(grad, [-1, grad.shape[-1]])


# ---- leaves --------------------------------------------------------------------------------------


@node("torch::autograd::AccumulateGrad")
def _accumulate(a, grad, n):
    """A gradient that nobody else has is taken as it is; a further one is added."""
    if n is None:
        a.detach(grad)
    else:
        a.add_(n, grad)
