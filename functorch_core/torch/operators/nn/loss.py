"""Loss functions."""

from __future__ import annotations

import functools
import math

from .... import primitives as p
from ....core import dtypes as dt
from ....core.warn import warn
from ....interrupts import is_interrupt
from ....kernels.activations import log_sigmoid as log_sigmoid_of
from ....kernels.reductions import exponentials
from ....kernels.reductions import softmax as softmax_of
from ....kernels.subgradients import magnitude
from ....kernels.values import Derived, along, aval_of, derived, full_like, iota_along, like, mean, spread, total, wide
from ...dispatch import bounds as _bounds
from ...dispatch.op import PLAIN, torch_op
from ...dispatch.slots import MaybeTensor
from ...dispatch.traits import CANNOT_CAST
from ...tape.node_names import loss_node
from ...tensors.active import active, overridable
from ...tensors.base import Tensor
from ...tensors.promotion import promote
from ..linalg.matmul import linear
from ..reduce.reduction import MEAN_DTYPE
from ..value_checks import IN_UNIT
from ..value_checks import require as require_elements
from ..values import broadcast, name_of, require_floating

# ---- reductions ----------------------------------------------------------------------------------

REDUCTIONS = ("none", "mean", "sum")


def legacy_reduction(size_average, reduce, reduction: str) -> str:
    """The reduction that the deprecated size_average and reduce stand for."""
    if size_average is None and reduce is None:
        return reduction
    average = True if size_average is None else size_average
    apart = reduce is not None and not reduce
    meant = "none" if apart else "mean" if average else "sum"
    warn(f"size_average and reduce args will be deprecated, please use reduction='{meant}' instead.")
    return meant


def check_reduction(reduction: str):
    """ValueError unless it is 'none', 'mean' or 'sum'."""
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")


def reduced(loss, reduction: str):
    """The losses themselves, their mean or their sum."""
    check_reduction(reduction)
    if reduction == "none":
        return loss
    return mean(loss) if reduction == "mean" else total(loss)


# ---- differences ---------------------------------------------------------------------------------


@torch_op(autocast="full")
def _mse_loss(input: Tensor, target: Tensor, reduction):
    x, y = promote(input, target)
    if aval_of(x).dtype not in dt.INEXACT:
        if reduction == "mean":
            raise NotImplementedError(f"\"mse_cpu\" not implemented for '{name_of(x)}'")
    difference = p.sub(wide(x), wide(y))
    loss = p.mul(difference, difference)
    return like(reduced(loss, reduction), x)


def _weighted(loss, weight):
    return loss if weight is None else p.mul(loss, broadcast([like(weight, loss), loss])[0])


@torch_op(autocast="full", node=loss_node("Abs0(Sub0(input, target))"), saves="nothing")
def _l1_loss(input: Tensor, target: Tensor, reduction):
    x, y = promote(input, target)
    if reduction == "mean" and aval_of(x).dtype not in dt.INEXACT:
        raise RuntimeError(MEAN_DTYPE.format(what="Input", dtype=name_of(x)))
    return reduced(magnitude(p.sub(x, y)), reduction)


@torch_op(autocast="full")
def _smooth_l1_loss(input: Tensor, target: Tensor, reduction, beta):
    x, y = promote(input, target)
    require_floating("smooth_l1_cpu", x, complex=True)
    difference = p.sub(wide(x), wide(y))
    if beta == 0:
        return like(reduced(magnitude(difference), reduction), x)
    return like(reduced(_smooth(float(beta), 1.0)(difference), reduction), x)


@functools.cache
def _smooth(bound: float, slope: float) -> Derived:
    """slope * x ** 2 / (2 bound) within the bound, slope * (|x| - bound / 2) elsewhere."""

    def value(x):
        size = p.abs(x)
        inner = p.mul(p.mul(x, x), full_like(x, 0.5 * slope / bound))
        outer = p.mul(p.sub(size, full_like(x, bound / 2)), full_like(x, slope))
        return p.select(p.lt(size, full_like(x, bound)), inner, outer)

    def clamped(x):  # the slope, whose derivative at the bounds is 0
        high, low = full_like(x, bound), full_like(x, -bound)
        x = p.select(p.ge(x, high), high, p.select(p.le(x, low), low, x))
        return p.mul(x, full_like(x, slope / bound))

    return Derived(value, lambda t, x, out: p.mul(t, clamped(x)))


def _huber(delta: float):
    """Half squares below delta, which may be infinite."""
    if delta < math.inf:
        return _smooth(delta, delta)
    return lambda x: p.mul(p.mul(x, x), full_like(x, 0.5))


@torch_op(autocast="full")
def _huber_loss(input: Tensor, target: Tensor, reduction, delta):
    if not delta > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    x, y = promote(input, target)
    require_held(input, x)
    require_floating("huber_cpu", x)
    loss = _huber(float(delta))(p.sub(wide(x), wide(y)))
    return like(reduced(loss, reduction), input)


def require_held(input, computed):
    """An error unless the input's dtype, which PyTorch's result has, can hold what is computed."""
    dtype, wider = aval_of(input).dtype, aval_of(computed).dtype
    if dtype not in (dt.COMPLEX if wider in dt.COMPLEX else dt.INEXACT if wider in dt.INEXACT else {dtype}):
        raise RuntimeError(CANNOT_CAST.format(found=name_of(computed), wanted=name_of(input)))


def _warn_sizes(input, target):
    if input.size() != target.size():
        warn(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}). This will likely lead to incorrect results due to "
            "broadcasting. Please ensure they have the same size."
        )


def _weighted_loss(loss, input, weight, reduction: str, mean):
    """Losses of pairs times weights, reduced; `mean` takes the products and the weights.

    ValueError for weights of another shape than the input's, and for what is no reduction.
    """
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    if reduction not in REDUCTIONS:
        raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")
    loss = loss * weight
    return loss if reduction == "none" else loss.sum() if reduction == "sum" else mean(loss, weight)


def _by_weights(loss, weight):
    return loss.sum() / weight.sum()


def _by_number(loss, weight):
    return loss.mean()


@overridable
def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """Squared differences. Weights are as many as the input; the mean is divided by their sum.

    >>> nn.functional.mse_loss(torch.tensor([1., 3.]), torch.tensor([1., 1.]))
    tensor(2.)
    """
    _warn_sizes(input, target)
    reduction = legacy_reduction(size_average, reduce, reduction)
    if weight is not None:
        return _weighted_loss(_mse_loss(input, target, "none"), input, weight, reduction, _by_weights)
    return _mse_loss(input, target, reduction)


@overridable
def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """Absolute differences. Weights are as many as the input; the mean is divided by their sum.

    >>> nn.functional.l1_loss(torch.tensor([1., 3.]), torch.tensor([1., 1.]))
    tensor(1.)
    """
    _warn_sizes(input, target)
    reduction = legacy_reduction(size_average, reduce, reduction)
    if weight is not None:
        return _weighted_loss(_l1_loss(input, target, "none"), input, weight, reduction, _by_weights)
    return _l1_loss(input, target, reduction)


@overridable
def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """Squared differences / (2 beta) below beta, absolute ones - beta / 2 above.

    >>> nn.functional.smooth_l1_loss(torch.tensor([3.]), torch.tensor([1.]))
    tensor(1.5000)
    """
    _warn_sizes(input, target)
    reduction = legacy_reduction(size_average, reduce, reduction)
    if not beta >= 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return _smooth_l1_loss(input, target, reduction, beta)


@overridable
def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Half squared differences below delta, delta * (absolute ones - delta / 2) above.

    Weights are as many as the input; the mean is divided by their number.

    >>> nn.functional.huber_loss(torch.tensor([3.]), torch.tensor([1.]))
    tensor(1.5000)
    """
    _warn_sizes(input, target)
    if weight is not None:
        return _weighted_loss(_huber_loss(input, target, "none", delta), input, weight, reduction, _by_number)
    return _huber_loss(input, target, reduction, delta)


# ---- classes -------------------------------------------------------------------------------------


@functools.cache
def picked(axis: int) -> Derived:
    """picked(axis)(x, target): x at index `target` along an axis, which goes; NaN out of bounds.

    Its derivative is a comparison with the index, which fuses with what softmax's derivative does;
    a gather's would be a scatter.
    """

    def fun(x, target):
        at = p.expand_dims(target, dims=(axis,))
        return p.squeeze(p.take_along_axis(x, at, axis=axis, mode="fill"), dims=(axis,))

    return Derived(fun, lambda t, x, target, out: _sum_where(t, target, axis))


def _sum_where(t, target, axis: int):
    """The sum along an axis of t where its index is the target."""
    shape = aval_of(t).shape
    narrow = dt.int32 if shape[axis] < 2**31 else dt.int64
    here = p.eq(iota_along(shape, axis, narrow), spread(p.convert(target, dtype=narrow), shape, (axis,)))
    return total(p.select(here, t, p.zeros(aval_of(t))), (axis,))


@functools.cache
def log_likelihood(axis: int) -> Derived:
    """log_likelihood(axis)(x, target): log_softmax(x) at index `target` along an axis, which goes; NaN out of bounds.

    Its gradient takes the exponentials that the loss has summed, and divides the cotangent of each row by their sum; by
    the derivative of log_softmax both are computed once more, number by number. Loss and gradient of 2048 x 1000, of
    700 x 10000: 1.9, 7.4 ms, like this 0.64, 2.6.
    """

    def fun(x, target):
        top, _, _, sums = exponentials(x, (axis,))
        return p.sub(p.sub(picked(axis)(x, target), top), p.log(sums))

    def linear(t, x, target, out):
        _, _, powers, sums = exponentials(x, (axis,))
        return p.sub(_sum_where(t, target, axis), p.div(total(p.mul(powers, t), (axis,)), sums))

    return Derived(fun, linear)


def _classes(input, target):
    """The class dimension, and the target, without the dimension of one that it may have for a single row; errors where
    input and target do not fit."""
    a, b = aval_of(input), aval_of(target)
    if a.ndim == 0:
        raise RuntimeError(
            "input tensor should be 1D or 2D" if b.ndim else "Expected input to have at least 1 dimension"
        )
    _check_sizes(list(a.shape), list(b.shape))
    if a.ndim == b.ndim:
        target = p.reshape(target, shape=())
    if b.dtype not in dt.INTEGER:
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {name_of(target)}")
    return (0 if a.ndim == 1 else 1), target


def _check_sizes(rows: list[int], wanted: list[int]):
    """Errors where the sizes of rows of numbers and of targets do not fit."""
    if len(rows) > 1 and rows[0] != (wanted or [0])[0]:
        raise ValueError(f"Expected input batch_size ({rows[0]}) to match target batch_size ({(wanted or [0])[0]}).")
    if len(rows) < 3 and len(wanted) > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if len(rows) == 1 and wanted not in ([], [1]):
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {wanted[0]}")
    if len(rows) < 3 or [rows[0], *rows[2:]] == wanted:
        return
    if len(rows) != 4:
        raise RuntimeError(f"Expected target size {[rows[0], *rows[2:]]}, got {wanted}")
    if len(wanted) != 3:
        raise RuntimeError(
            f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {len(wanted)}"
        )
    raise RuntimeError(f"size mismatch (got input: {rows} , target: {wanted}")


def _check_weight(weight, classes: int):
    if weight is not None and aval_of(weight).shape != (classes,):
        raise RuntimeError(
            "weight tensor should be defined either for all "
            f"{classes} classes or no classes but got weight tensor of shape: "
            f"{list(aval_of(weight).shape)}"
        )


def _nll(x, target, weight, ignore_index: int, reduction: str, chosen_of=picked):
    """The negative log-likelihood of integer targets; (loss, total weight)."""
    axis, target = _classes(x, target)
    if aval_of(target).dtype not in (dt.int64, dt.uint8):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {name_of(target)}")
    _check_weight(weight, aval_of(x).shape[axis])
    counted = p.ne(target, full_like(target, ignore_index))
    safe = p.select(counted, target, p.zeros(aval_of(target)))
    chosen = p.neg(chosen_of(axis)(x, safe))
    if weight is None:
        weights = p.convert(counted, dtype=aval_of(x).dtype)
    else:
        weights = p.take(like(weight, x), safe, axis=0, mode="clip")
        weights = p.select(counted, weights, p.zeros(aval_of(weights)))
        chosen = p.mul(chosen, weights)
    loss = p.select(counted, chosen, p.zeros(aval_of(chosen)))
    if reduction == "none":
        return loss, weights
    check_reduction(reduction)
    everything = total(weights)
    summed = total(loss)
    return (p.div(summed, everything) if reduction == "mean" else summed), everything


def _nll_node(a):
    if a.input.ndim <= 2:
        return "NllLossBackward0"
    folded = a.input.ndim != 4 and a.reduction == "none"
    return "ViewBackward0" if folded else "NllLoss2DBackward0"


@torch_op(autocast="full", node=_nll_node)
def _nll_loss(input: Tensor, target: Tensor, weight: MaybeTensor, ignore_index, reduction):
    require_floating("nll_loss_out_frame", input)
    return like(_nll(wide(input), target, weight, ignore_index, reduction)[0], input)


@overridable
def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """The negative log-likelihood of class indices under log-probabilities, dimension 1.

    >>> nn.functional.nll_loss(torch.tensor([[-1., -2.]]), torch.tensor([1]))
    tensor(2.)
    """
    if size_average is None and reduce is None and active.plain:
        loss = _nll_inside(input, target, weight, ignore_index, reduction)
        if loss is not None:
            return loss
    reduction = legacy_reduction(size_average, reduce, reduction)
    if not input.ndim:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    loss = _nll_loss(input, target, weight, ignore_index, reduction)
    check_targets(input, target, ignore_index, "nll_loss", loss)
    return loss


def _nll_inside(input, target, weight, ignored, reduction) -> Tensor | None:
    """The loss of targets that were looked at before, if its like was seen."""
    if input.__class__ not in PLAIN or target.__class__ not in PLAIN:
        return None
    shape = input._value.aval.shape
    if not shape or not _bounds.is_inside(target, shape[1 if len(shape) > 1 else 0], False, ignored):
        return None
    run = _nll_loss.runs.get((input.__class__, target.__class__, weight.__class__, ignored.__class__, str))
    try:
        return None if run is None or reduction.__class__ is not str else run(input, target, weight, ignored, reduction)
    except Exception as error:
        if is_interrupt(error):
            raise
        return None  # said by the way of all calls


def check_targets(input, target, ignore_index: int, name: str, loss):
    """IndexError, perhaps later, for class indices that are none; input and target fit."""
    shape = input._aval.shape
    n = shape[0 if len(shape) == 1 else 1]
    if _bounds.is_inside(target, n, False, ignore_index):  # which they mostly are (0.1 us)
        return
    _bounds.check(target, n, 1, name, message="Target {index} is out of bounds.", ignore=ignore_index, result=loss)


def _cross_entropy_node(a):
    logs, mean = "LogSoftmax0(input)", a.reduction == "mean"
    if a.target.is_floating_point():
        if a.weight is not None or a.label_smoothing or a.input.ndim > 2:
            return "DivBackward1" if mean else "NegBackward0"
        total = f"Mul0({logs}, target)"
        if a.reduction == "none":
            return f"Neg0(Sum1({total}))"
        return f"Div1(Neg0(Sum0({total})))" if mean else f"Neg0(Sum0({total}))"
    if not a.label_smoothing:
        return f"NllLoss0({logs})" if a.input.ndim <= 2 else _nll_node(a)
    if a.weight is not None or a.reduction == "none" or a.input.ndim > 2:
        return "AddBackward0"
    smooth = f"Sum0(MaskedFill0(Neg0(Sum1({logs}))))"
    return f"Add0(Mul1(NllLoss0({logs})), Mul1({f'Div0({smooth}, -)' if mean else smooth}))"


@torch_op(node=_cross_entropy_node, saves="nothing", autocast="full")
def _cross_entropy(input: Tensor, target: Tensor, weight: MaybeTensor, ignore_index, reduction, label_smoothing):
    require_floating("log_softmax_lastdim_kernel_impl", input)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    a, b = aval_of(input), aval_of(target)
    x = wide(input)
    axis = 0 if a.ndim == 1 else 1
    with_indices = a.shape != b.shape or not a.ndim
    if with_indices and not label_smoothing:
        return like(_nll(x, target, weight, ignore_index, reduction, log_likelihood)[0], input)
    log_p = softmax_of(x, (axis,), log=True)
    if with_indices:
        loss = _smoothed(log_p, target, weight, ignore_index, reduction, label_smoothing)
    else:
        loss = _soft_targets(log_p, target, weight, ignore_index, reduction, label_smoothing, axis)
    return like(loss, input)


def _soft_targets(log_p, target, weight, ignore_index, reduction, smoothing, axis):
    """Cross entropy with probabilities."""
    shape = aval_of(log_p).shape
    if aval_of(target).dtype not in dt.FLOATING:
        raise RuntimeError(f"Expected floating point type for target with class probabilities, got {name_of(target)}")
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    _check_weight(weight, shape[axis])
    target = like(target, log_p)
    if smoothing:
        target = p.add(p.mul(target, full_like(target, 1 - smoothing)), full_like(target, smoothing / shape[axis]))
    terms = p.mul(log_p, target)
    if weight is not None:
        terms = p.mul(terms, along(like(weight, terms), shape, axis))
    if reduction == "none":
        return p.neg(total(terms, (axis,)))
    summed = p.neg(total(terms))
    check_reduction(reduction)
    count = math.prod(shape) // max(shape[axis], 1)
    return p.div(summed, full_like(summed, count)) if reduction == "mean" else summed


def _smoothed(log_p, target, weight, ignore_index, reduction, smoothing):
    """Cross entropy of indices, with a part of every target spread over all classes."""
    loss, weights = _nll(log_p, target, weight, ignore_index, reduction)
    (axis, target), shape = _classes(log_p, target), aval_of(log_p).shape
    weighted = log_p if weight is None else p.mul(log_p, along(like(weight, log_p), shape, axis))
    spread_out = p.neg(total(weighted, (axis,)))
    counted = p.ne(target, full_like(target, ignore_index))
    spread_out = p.select(counted, spread_out, p.zeros(aval_of(spread_out)))
    if reduction == "mean":
        spread_out = p.div(total(spread_out), weights)
    elif reduction == "sum":
        spread_out = total(spread_out)
    return p.add(
        p.mul(loss, full_like(loss, 1 - smoothing)), p.mul(spread_out, full_like(loss, smoothing / shape[axis]))
    )


@overridable
def cross_entropy(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0
):
    """The cross entropy of logits (classes in dimension 1) with class indices or probabilities.

    >>> nn.functional.cross_entropy(torch.zeros(1, 2), torch.tensor([1]))
    tensor(0.6931)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    loss = _cross_entropy(input, target, weight, ignore_index, reduction, float(label_smoothing))
    if isinstance(target, Tensor) and target._aval.ndim < input._aval.ndim:
        check_targets(input, target, ignore_index, "cross_entropy", loss)
    return loss


@overridable
def linear_cross_entropy(
    input,
    linear_weight,
    target,
    *,
    linear_bias=None,
    weight=None,
    reduction="mean",
    ignore_index=None,
    label_smoothing=0.0,
    options=None,
):
    """cross_entropy of linear(input, linear_weight); classes are the weight's first dimension.

    `options` trade memory for speed in PyTorch; here they change nothing.

    >>> nn.functional.linear_cross_entropy(torch.ones(1, 3), torch.zeros(2, 3), torch.tensor([1]))
    tensor(0.6931)
    """
    if input.ndim not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.ndim}")
    rest = tuple(linear_weight.shape[1:-1])
    if rest and input.ndim == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape "
            f"{tuple(linear_weight.shape)} requires batched input, "
            f"(N, {input.shape[0]}), got unbatched input with shape "
            f"{tuple(input.shape)}"
        )
    flat = linear_weight if not rest else linear_weight.reshape(-1, linear_weight.shape[-1])
    bias = None if linear_bias is None else linear_bias.reshape(-1) if rest else linear_bias
    logits = linear(input, flat, bias)
    if rest:
        logits = logits.reshape(*input.shape[:-1], linear_weight.shape[0], *rest)
    return cross_entropy(
        logits,
        target,
        weight=weight,
        reduction=reduction,
        ignore_index=-100 if ignore_index is None else ignore_index,
        label_smoothing=label_smoothing,
    )


# ---- binary --------------------------------------------------------------------------------------


def _clamped_log(x):
    """log(x), but at least -100, as PyTorch's binary cross entropy has it."""
    low = full_like(x, -100.0)
    return p.select(p.lt(p.log(x), low), low, p.log(x))


def _bce(x, y):
    one = full_like(x, 1)
    return p.sub(p.mul(p.sub(y, one), _clamped_log(p.sub(one, x))), p.mul(y, _clamped_log(x)))


def _bce_variance(x):
    """x (1 - x), kept off 0."""
    found, tiny = p.mul(p.sub(1.0, x), x), full_like(x, 1e-12)
    return p.select(p.lt(found, tiny), tiny, found)


def _bce_curvature(t, x, y, out):
    square = p.mul(p.add(x, 1e-12), p.add(p.sub(1.0, x), 1e-12))
    above = p.add(p.sub(p.mul(x, x), p.mul(p.mul(x, y), 2.0)), y)
    return p.mul(t, p.div(above, p.mul(square, square)))


@derived(_bce_curvature, lambda t, x, y, out: p.neg(p.div(t, _bce_variance(x))))
def _bce_slope(x, y):
    return p.div(p.sub(x, y), _bce_variance(x))


# PyTorch's derivatives, which know nothing of the clamped logarithms.
_bce_loss = Derived(
    _bce,
    lambda t, x, y, out: p.mul(t, _bce_slope(x, y)),
    lambda t, x, y, out: p.mul(t, p.sub(p.log(p.sub(1.0, x)), p.log(x))),
)


@torch_op(autocast={"cpu": "full", "cuda": "banned"})
def _binary_cross_entropy(input: Tensor, target: Tensor, weight: MaybeTensor, reduction):
    require_floating("binary_cross_entropy", input)
    if aval_of(target).dtype != aval_of(input).dtype:
        raise RuntimeError(f"Found dtype {name_of(target)} but expected {name_of(input)}")
    x, y = wide(input), wide(target)
    loss = _bce_loss(x, y)
    return like(reduced(_weighted(loss, weight), reduction), input)


def _check_probabilities(**tensors):
    """RuntimeError, now or when something is read, unless all elements are in [0, 1]."""
    for name, x in tensors.items():
        require_elements(x, IN_UNIT, "binary_cross_entropy", f"all elements of {name} should be between 0 and 1")


@overridable
def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """-(y log x + (1 - y) log(1 - x)) of probabilities x and targets y.

    >>> nn.functional.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([1.]))
    tensor(0.6931)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input "
            "size "
            f"({input.size()}) is deprecated. Please ensure they have the same size."
        )
    _check_probabilities(input=input, target=target)
    return _binary_cross_entropy(input, target, weight, reduction)


@torch_op(node="binary_cross_entropy_with_logits", autocast="full", layout=None)
def _bce_with_logits(input: Tensor, target: Tensor, weight: MaybeTensor, reduction, pos_weight: MaybeTensor):
    if aval_of(target).dtype not in dt.INEXACT:
        raise RuntimeError(CANNOT_CAST.format(found=name_of(input), wanted=name_of(target)))
    x, y = promote(input, target)
    out, x, y = x, wide(x), wide(y)
    log_sigmoid = log_sigmoid_of(x)
    if pos_weight is not None:
        factor = p.sub(broadcast([like(pos_weight, x), x])[0], full_like(x, 1))
        factor = p.add(p.mul(factor, y), full_like(x, 1))
        log_sigmoid = p.mul(log_sigmoid, factor)
    loss = p.sub(p.mul(p.sub(full_like(x, 1), y), x), log_sigmoid)
    return like(reduced(_weighted(loss, weight), reduction), out)


@overridable
def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    """binary_cross_entropy of sigmoid(input), stable.

    >>> nn.functional.binary_cross_entropy_with_logits(torch.tensor([0.]), torch.tensor([1.]))
    tensor(0.6931)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return _bce_with_logits(input, target, weight, reduction, pos_weight)
