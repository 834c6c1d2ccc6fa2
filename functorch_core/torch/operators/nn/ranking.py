"""Losses of distributions, margins, rankings and embeddings."""

from __future__ import annotations

import math

from ....core.warn import warn
from ....kernels.activations import log_sigmoid
from ....kernels.subgradients import xlogy
from ....kernels.values import aval_of, dt, full_like, iota_along, like, mean, p, spread, stop_gradient, total
from ...dispatch import bounds as _bounds
from ...dispatch.op import torch_op
from ...dispatch.slots import MaybeTensor, Operand
from ...tape.meta import is_readable
from ...tape.node_names import loss_node
from ...tensors.active import overridable
from ...tensors.base import Tensor
from ...tensors.promotion import promote
from ..linalg.distances import distance, pairwise_distance
from ..values import broadcast, cast, name_of
from .loss import REDUCTIONS, check_reduction, legacy_reduction, reduced, require_held

# ---- distributions -------------------------------------------------------------------------------


@loss_node
def _kl_div_node(a):
    if a.reduction == "batchmean":
        return "DivBackward0"
    return "MulBackward0" if a.log_target else "Sub0(Xlogy0(target, target), Mul0(target, input))"


@torch_op(name="_kl_div", autocast="full", node=_kl_div_node)
def torch_kl_div(input: Tensor, target: Tensor, reduction, log_target):
    """The Kullback-Leibler divergence of targets from log-probabilities, reduced."""
    x, y = promote(input, target)
    if aval_of(input).dtype not in dt.INEXACT or aval_of(target).dtype not in dt.INEXACT:
        raise RuntimeError("kl_div: Integral inputs not supported.")
    if log_target:
        loss = p.mul(p.exp(y), p.sub(y, x))
    else:
        loss = p.sub(xlogy(y, y), p.mul(y, x))
    return _batch_mean(loss) if reduction == "batchmean" else reduced(loss, reduction)


def _batch_mean(loss):
    shape = aval_of(loss).shape
    summed = total(loss)
    return p.div(summed, full_like(summed, shape[0])) if shape else summed


@overridable
def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """target * (log target - input), the divergence of a distribution from log-probabilities.

    >>> nn.functional.kl_div(torch.tensor([0.]), torch.tensor([1.]), reduction="sum")
    tensor(0.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if reduction == "mean":
        warn(
            "reduction: 'mean' divides the total loss by both the batch size and the "
            "support "
            "size.'batchmean' divides only by the batch size, and aligns with the KL "
            "div math "
            "definition.'mean' will be changed to behave the same as 'batchmean' in the "
            "next "
            "major release."
        )
    return torch_kl_div(input, target, reduction, log_target)


@loss_node
def _poisson_node(a):
    if a.full:
        return "AddBackward0"
    return "Sub0(Exp0(input), Mul0(target, input))" if a.log_input else "Sub0(input, Mul0(target, Log0(Add0(input))))"


@torch_op(node=_poisson_node, saves="nothing", autocast="full")
def _poisson_nll(input: Tensor, target: Tensor, log_input, full, eps, reduction):
    x, y = promote(input, target, to_float=True)
    if log_input:
        loss = p.sub(p.exp(x), p.mul(y, x))
    else:
        loss = p.sub(x, p.mul(y, p.log(p.add(x, full_like(x, eps)))))
    if full:
        stirling = p.add(p.sub(p.mul(y, p.log(y)), y), p.mul(p.log(p.mul(y, 2 * math.pi)), 0.5))
        loss = p.add(loss, p.select(p.gt(y, 1), stirling, p.zeros(aval_of(y))))
    return reduced(loss, reduction)


@overridable
def poisson_nll_loss(
    input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"
):
    """exp(input) - target * input: the likelihood of counts under (the log of) Poisson rates.

    >>> nn.functional.poisson_nll_loss(torch.tensor([0.]), torch.tensor([1.]))
    tensor(1.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_reduction(reduction)
    return _poisson_nll(input, target, log_input, full, eps, reduction)


@loss_node
def _gaussian_node(a):
    terms = "Add0(Log0(Clone0(var)), Div0(Pow0(Sub0(input, target)), Clone0(var)))"
    return f"Add0(Mul0({terms}, -), -)" if a.full else f"Mul0({terms}, -)"


@torch_op(node=_gaussian_node, saves="nothing")
def _gaussian_nll(input: Tensor, target: Tensor, var: Operand, full, eps, reduction):
    x, y = promote(input, target)
    variance = cast(var, aval_of(x).dtype)
    floor = full_like(variance, eps)
    moved = stop_gradient(p.select(p.lt(variance, floor), p.sub(floor, variance), p.zeros(aval_of(variance))))
    variance = p.add(variance, moved)  # clamped, but with derivative 1 throughout
    difference = p.sub(x, y)
    squared, variance = broadcast([p.mul(difference, difference), variance])
    loss = p.mul(p.add(p.log(variance), p.div(squared, variance)), 0.5)
    if full:
        loss = p.add(loss, full_like(loss, 0.5 * math.log(2 * math.pi)))
    return reduced(loss, reduction)


@overridable
def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """(log var + (input - target)^2 / var) / 2.

    >>> nn.functional.gaussian_nll_loss(torch.tensor([1.]), torch.tensor([0.]), torch.tensor([1.]))
    tensor(0.5000)
    """
    if isinstance(var, (int, float)):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = input.new_full(input.shape, float(var))
    elif is_readable(var) and var.numel() and bool((var._array() < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif input.ndim != var.ndim or any(m not in (1, n) for n, m in zip(input.shape, var.shape)):
            raise ValueError("var is of incorrect size")
    if reduction not in REDUCTIONS:
        raise ValueError(reduction + " is not valid")
    return _gaussian_nll(input, target, var, full, eps, reduction)


# ---- margins of pairs ----------------------------------------------------------------------------


def _hinge(x):
    """max(x, 0), NaN of NaN, whose derivative at 0 is 1, as clamp_min's; that at NaN is 0."""
    kept = p.select(p.eq(x, x), x, stop_gradient(x))
    return p.select(p.lt(x, 0), p.zeros(aval_of(x)), kept)


@torch_op(
    node=loss_node("Add0(Where0(ClampMin0(Sub0(-, input)), -), Where0(input, -))"), saves="nothing", autocast="full"
)
def _hinge_embedding(input: Tensor, target: Tensor, margin, reduction):
    x, y = broadcast([input, target])
    far = _hinge(p.sub(full_like(x, margin), x))
    zero = p.zeros(aval_of(x))
    one = full_like(y, 1)
    y = stop_gradient(y)
    loss = p.add(p.select(p.ne(y, one), far, zero), p.select(p.ne(y, p.neg(one)), x, zero))
    return reduced(loss, reduction)


@overridable
def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """input where the target is 1, max(0, margin - input) where it is -1.

    >>> nn.functional.hinge_embedding_loss(torch.tensor([0.5]), torch.tensor([-1.]))
    tensor(0.5000)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    return _hinge_embedding(input, target.detach(), margin, reduction)


@loss_node
def _cosine_embedding_node(a):
    dots = "Sum1(Mul0(input1, input2))"
    norms = "Sqrt0(Mul0(Add1(Sum1(Mul0(input1, input1))), Add1(Sum1(Mul0(input2, input2)))))"
    cosine = f"Div0({dots}, {norms})"
    return f"Add0(Where0(Sub0(-, {cosine}), -), Where0(ClampMin0(Sub1({cosine})), -))"


@torch_op(node=_cosine_embedding_node, autocast="full")
def _cosine_embedding(input1: Tensor, input2: Tensor, target: Tensor, margin, reduction):
    a, t = aval_of(input1), aval_of(target)
    if t.ndim not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if t.ndim == 1 and a.ndim != 2 or t.ndim == 0 and a.ndim != 1:
        kind = "1D target tensor expects 2D input tensors" if t.ndim else ("0D target tensor expects 1D input tensors")
        raise RuntimeError(f"{kind}, but found inputs with sizes {list(a.shape)} and {list(aval_of(input2).shape)}.")
    cosine = _cosine(input1, input2)
    y = target if t.dtype != dt.bool_ else p.convert(target, dtype=dt.int64)
    cosine, y = broadcast([cosine, y])
    near = p.sub(full_like(cosine, 1), cosine)
    far = _hinge(p.sub(cosine, full_like(cosine, margin)))
    zero = p.zeros(aval_of(cosine))
    loss = p.add(p.select(p.eq(y, full_like(y, 1)), near, zero), p.select(p.eq(y, full_like(y, -1)), far, zero))
    return reduced(loss, reduction)


def _cosine(x, y):
    """The cosine over the last dimension, the squared lengths kept off 0."""
    x, y = promote(x, y, to_float=True)
    last = (aval_of(x).ndim - 1,)
    product, xx, yy = (total(p.mul(*pair), last) for pair in ((x, y), (x, x), (y, y)))
    tiny = full_like(product, 1e-12)
    return p.div(product, p.sqrt(p.mul(p.add(xx, tiny), p.add(yy, tiny))))


@overridable
def cosine_embedding_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1.

    >>> torch.nn.functional.cosine_embedding_loss(torch.tensor([[1., 0.]]), torch.tensor([[0., 1.]]), torch.tensor([1]))
    tensor(1.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if not input1.ndim == input2.ndim == target.ndim + 1:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    return _cosine_embedding(input1, input2, target, margin, reduction)


@torch_op(node=loss_node("ClampMin0(Add1(Mul0(target, Sub0(input1, input2))))"), saves="nothing", autocast="full")
def _margin_ranking(input1: Tensor, input2: Tensor, target: Tensor, margin, reduction):
    x, y = promote(input1, input2)
    difference, t = promote(p.sub(x, y), target, to_float=True)
    loss = p.add(p.mul(p.neg(t), difference), full_like(t, margin))
    return reduced(_hinge(loss), reduction)


@overridable
def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """max(0, -target * (input1 - input2) + margin).

    >>> nn.functional.margin_ranking_loss(torch.tensor([0.]), torch.tensor([1.]),
    ...                                   torch.tensor([1.]))
    tensor(1.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if input1.ndim != input2.ndim or input1.ndim != target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension "
            "but got "
            f"sizes: input1: {input1.size()}, input2: {input2.size()}, target: "
            f"{target.size()} "
        )
    return margin_ranking(input1, input2, target, margin, reduction)


def margin_ranking(input1, input2, target, margin, reduction: str):
    """The loss of operands that are broadcast."""
    return _margin_ranking(input1, input2, target, margin, reduction)


@torch_op(node="SoftMarginLoss0(input)", autocast="full")
def _soft_margin(input: Tensor, target: Tensor, reduction):
    x, y = promote(input, target, to_float=True)
    require_held(input, x)
    if aval_of(x).dtype in dt.COMPLEX:
        e = p.exp(p.mul(p.neg(y), x))
        loss = p.log(p.add(e, full_like(e, 1)))
    else:
        loss = p.neg(log_sigmoid(p.mul(y, x)))
    return like(reduced(loss, reduction), input)


@overridable
def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-target * input)).

    >>> nn.functional.soft_margin_loss(torch.tensor([0.]), torch.tensor([1.]))
    tensor(0.6931)
    """
    return _soft_margin(input, target, legacy_reduction(size_average, reduce, reduction))


# ---- margins of classes --------------------------------------------------------------------------


@torch_op(node="multi_margin_loss", autocast="full")
def _multi_margin(input: Tensor, target: Tensor, power, margin, weight: MaybeTensor, reduction):
    a = aval_of(input)
    if a.ndim > 2 or a.shape[-1:] == (0,):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(a.shape)}"
        )
    rows = a.shape[0] if a.ndim == 2 else 1
    classes = a.shape[-1] if a.ndim else 1
    if aval_of(target).ndim > 1 or aval_of(target).size != rows:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
            f"size). Expected target size [{rows}], but got {list(aval_of(target).shape)}. "
            f"Input has shape {list(a.shape)}."
        )
    _check_long(target)
    x = p.reshape(input, shape=(rows, classes))
    t = p.reshape(target, shape=(rows,))
    here = p.eq(iota_along((rows, classes), 1, aval_of(t).dtype), spread(t, (rows, classes), (1,)))
    own = total(p.select(here, x, p.zeros(aval_of(x))), (1,))
    gap = _positive(p.add(p.sub(x, spread(own, (rows, classes), (1,))), full_like(x, margin)))
    gap = gap if power == 1 else p.mul(gap, gap)
    gap = p.select(here, p.zeros(aval_of(gap)), gap)
    if weight is not None:
        if aval_of(weight).size != classes:
            raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(aval_of(weight).shape)}")
        weights = p.take(like(weight, x), t, axis=0, mode="clip")
        gap = p.mul(gap, spread(weights, (rows, classes), (1,)))
    loss = mean(gap, (1,))
    if aval_of(target).ndim == 0:
        loss = p.reshape(loss, shape=())
    return reduced(loss, reduction)


def _positive(gap):
    """What is above 0; NaN, as PyTorch has it, is not."""
    return p.select(p.gt(gap, 0), gap, p.zeros(aval_of(gap)))


def _check_long(target):
    if aval_of(target).dtype != dt.int64:
        raise RuntimeError(f"expected scalar type Long but found {name_of(target)}")


@overridable
def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The mean over classes of max(0, margin - input[target] + input) ** p.

    >>> nn.functional.multi_margin_loss(torch.tensor([[0., 1.]]), torch.tensor([1]))
    tensor(0.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_reduction(reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    loss = _multi_margin(input, target, p, margin, weight, reduction)
    _bounds.check(
        target,
        (input._aval.shape or (1,))[-1],
        0,
        "multi_margin_loss",
        message="target out of range",
        error=RuntimeError,
        result=loss,
    )
    return loss


@torch_op(node="multilabel_margin_loss", autocast="full")
def _multilabel_margin(input: Tensor, target: Tensor, reduction):
    a, t = aval_of(input), aval_of(target)
    if a.ndim > 2 or a.shape[-1:] == (0,):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(a.shape)}"
        )
    if max(t.ndim, 1) != max(a.ndim, 1) or t.shape != a.shape and (a.ndim == 2 or t.size != a.size):
        raise RuntimeError(f"inconsistent target size: {list(t.shape)} for input of size: {list(a.shape)}")
    _check_long(target)
    rows, classes = (a.shape[0] if a.ndim == 2 else 1), (a.shape[-1] if a.ndim else 1)
    x, y = p.reshape(input, shape=(rows, classes)), p.reshape(target, shape=(rows, classes))
    # labels up to the first -1 count
    ended = p.cumsum(p.convert(p.lt(y, 0), dtype=dt.int32), axis=1)
    counted = p.eq(ended, 0)
    safe = p.select(counted, y, p.zeros(aval_of(y)))
    own = p.take_along_axis(x, safe, axis=1, mode="clip")  # rows, labels
    pairs = (rows, classes, classes)  # row, label, class
    is_class = p.eq(p.broadcast_in_dim(safe, shape=pairs, dims=(0, 1)), iota_along(pairs, 2))
    is_class = p.and_(is_class, p.broadcast_in_dim(counted, shape=pairs, dims=(0, 1)))
    labelled = p.reduce_or(is_class, axes=(1,))  # rows, classes
    gap = p.sub(p.broadcast_in_dim(x, shape=pairs, dims=(0, 2)), p.broadcast_in_dim(own, shape=pairs, dims=(0, 1)))
    gap = _positive(p.add(gap, full_like(gap, 1)))
    valid = p.and_(
        p.broadcast_in_dim(counted, shape=pairs, dims=(0, 1)),
        p.not_(p.broadcast_in_dim(labelled, shape=pairs, dims=(0, 2))),
    )
    loss = total(p.select(valid, gap, p.zeros(aval_of(gap))), (1, 2))
    loss = p.div(loss, full_like(loss, classes))
    if a.ndim < 2:
        loss = p.reshape(loss, shape=())
    return reduced(loss, reduction)


@overridable
def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """Margins of all labels (up to the first -1 of target) to all classes that are none.

    >>> torch.nn.functional.multilabel_margin_loss(torch.tensor([[0.1, 0.9]]), torch.tensor([[1, -1]]))
    tensor(0.1000)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_reduction(reduction)
    loss = _multilabel_margin(input, target, reduction)
    _bounds.check(
        target,
        (input._aval.shape or (1,))[-1],
        0,
        "multilabel_margin_loss",
        message="argument #2 'target' is out of range",
        error=RuntimeError,
        ignore=-1,
        result=loss,
    )
    return loss


@loss_node
def _multilabel_node(a):
    if a.weight is not None:
        return "DivBackward0"
    return "Div0(Sum1(Neg0(Add0(Mul0(target, LogSigmoid0(input)), Mul0(-, LogSigmoid0(Neg0(input)))))), -)"


@torch_op(node=_multilabel_node)
def _multilabel_soft_margin(input: Tensor, target: Tensor, weight: MaybeTensor, reduction):
    x, y = promote(input, target)
    one = full_like(x, 1)
    loss = p.neg(p.add(p.mul(y, log_sigmoid(x)), p.mul(p.sub(one, y), log_sigmoid(p.neg(x)))))
    if weight is not None:
        loss = p.mul(*broadcast([loss, like(weight, loss)]))
    last = aval_of(loss).ndim - 1
    return reduced(mean(loss, (last,)), reduction)


@overridable
def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The mean over classes of binary cross entropies of logits.

    >>> torch.nn.functional.multilabel_soft_margin_loss(torch.zeros(1, 2), torch.ones(1, 2))
    tensor(0.6931)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if reduction not in REDUCTIONS:
        raise ValueError(reduction + " is not valid")
    return _multilabel_soft_margin(input, target, weight, reduction)


# ---- triplets ------------------------------------------------------------------------------------


@loss_node
def _triplet_node(a):
    positive, negative = (f"Norm1(Add1(Sub0(anchor, {name})))" for name in ("positive", "negative"))
    return "ClampMinBackward0" if a.swap else f"ClampMin0(Sub0(Add1({positive}), {negative}))"


@torch_op(name="_triplet", method=False, function=False, node=_triplet_node, saves="nothing", autocast="full")
def triplet(anchor: Tensor, positive: Tensor, negative: Tensor, margin, power, eps, swap, reduction):
    """max(0, |anchor - positive| - |anchor - negative| + margin), whatever the margin."""
    ndims = {aval_of(x).ndim for x in (anchor, positive, negative)}
    if len(ndims) > 1:
        a, b, c = (aval_of(x).ndim for x in (anchor, positive, negative))
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the "
            "same "
            f"number of dimensions, but got: anchor {a}D, positive {b}D, and "
            "negative "
            f"{c}D inputs"
        )
    near, far = (distance(anchor, x, power, eps) for x in (positive, negative))
    if swap:
        far = p.min(far, distance(positive, negative, power, eps))
    near, far = broadcast([near, far])
    return reduced(_hinge(p.add(p.sub(near, far), full_like(near, margin))), reduction)


@overridable
def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"
):
    """max(0, |anchor - positive| - |anchor - negative| + margin).

    >>> torch.nn.functional.triplet_margin_loss(torch.zeros(1, 2), torch.zeros(1, 2), torch.tensor([[3., 4.]]))
    tensor(0.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return triplet(anchor, positive, negative, float(margin), float(p), eps, swap, reduction)


@overridable
def triplet_margin_with_distance_loss(
    anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"
):
    """triplet_margin_loss with any distance, by default pairwise_distance.

    >>> a, p, n = torch.tensor([[0., 0.]]), torch.tensor([[0., 1.]]), torch.tensor([[3., 4.]])
    >>> F.triplet_margin_with_distance_loss(a, p, n, margin=5.)
    tensor(1.0000)
    """
    check_reduction(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    measure = pairwise_distance if distance_function is None else distance_function
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the "
            "same "
            f"number of dimensions, but got: anchor {anchor.ndim}D, positive "
            f"{positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    near, far = measure(anchor, positive), measure(anchor, negative)
    if swap:
        far = far.minimum(measure(positive, negative))
    loss = (margin + near - far).clamp_min(0)
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()
