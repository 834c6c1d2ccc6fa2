"""Connectionist temporal classification."""

from __future__ import annotations

import math

from ....transforms.scan import scan
from ...dispatch import bounds as _bounds
from ...dispatch.op import composite, torch_op
from ...tape.meta import is_readable
from ...tape.node_names import loss_node
from ...tensors import types as _types
from ...tensors.active import overridable
from ...tensors.base import Tensor, from_array
from ..shape.data import finish
from ..values import aval_of, derived, full_like, iota_along, like, np, p, require_floating, stop_gradient, total, wide

# ---- sums of probabilities in logarithms ---------------------------------------------------------


def _slope_of_log(t, x, out):
    nothing = p.eq(x, 0.0)
    slope = p.div(full_like(x, 1), p.select(nothing, full_like(x, 1), x))
    return p.mul(t, p.select(nothing, p.zeros(aval_of(t)), slope))


@derived(_slope_of_log)
def _log(x):
    """log(x) whose derivative at 0 is 0: paths of probability 0 have no influence."""
    return p.log(x)


def _log_sum(*terms):
    """log(sum(exp(terms))), -inf of nothing but -inf."""
    top = terms[0]
    for x in terms[1:]:
        top = p.max(top, x)
    top = stop_gradient(top)
    nothing = p.eq(top, full_like(top, -math.inf))
    base = p.select(nothing, p.zeros(aval_of(top)), top)
    summed = None
    for x in terms:
        power = p.exp(p.sub(x, base))
        summed = power if summed is None else p.add(summed, power)
    return p.add(_log(summed), base)


# ---- the loss ------------------------------------------------------------------------------------


def _labels(targets, blank: int):
    """(N, 2 S + 1): the targets with blanks around each."""
    n, s = aval_of(targets).shape
    blanks = full_like(p.expand_dims(targets, dims=(2,)), blank)
    pairs = p.concatenate(blanks, p.expand_dims(targets, dims=(2,)), dimension=2)
    flat = p.reshape(pairs, shape=(n, 2 * s))
    return p.concatenate(flat, p.full((n, 1), blank, aval_of(targets).dtype), dimension=1)


def _shifted(x, by: int, fill):
    """x moved along the last dimension by a number of places."""
    constant = p.constant(np.asarray(fill).astype(aval_of(x).dtype))
    return p.pad(x, constant, low=(0, by), high=(0, -by))


def _alphas(log_p, labels, input_lengths):
    """log of the probability of all paths to each label after each example's last step."""
    steps, batch, _ = aval_of(log_p).shape
    width = aval_of(labels).shape[1]
    emitted = p.take_along_axis(
        log_p, p.broadcast_in_dim(labels, shape=(steps, batch, width), dims=(1, 2)), axis=2, mode="clip"
    )  # step, example, label
    far = p.ne(labels, _shifted(labels, min(2, width), -1))
    odd = p.eq(p.rem(iota_along((batch, width), 1), 2), 1)
    skip = p.and_(p.and_(far, odd), p.ge(iota_along((batch, width), 1), 2))
    place = iota_along((batch, width), 1)
    impossible = p.full((batch, width), -math.inf, aval_of(log_p).dtype)
    first = p.select(
        p.lt(place, 2), p.squeeze(p.slice_in_dim(emitted, start=0, limit=1, dimension=0), dims=(0,)), impossible
    )

    def step(carry, xs):
        alpha, time = carry
        one = _shifted(alpha, 1, -math.inf)
        two = p.select(skip, _shifted(alpha, min(2, width), -math.inf), impossible)
        new = p.add(_log_sum(alpha, one, two), xs[0])
        going = p.broadcast_in_dim(
            p.lt(p.broadcast_in_dim(time, shape=(batch,), dims=()), input_lengths), shape=(batch, width), dims=(0,)
        )
        return [p.select(going, new, alpha), p.add(time, 1)], []

    rest = p.slice_in_dim(emitted, start=1, limit=steps, dimension=0)
    start = p.constant(np.ones((), np.int64))
    return scan(step, [first, start], [rest])[0][0] if steps > 1 else first


def _picked(alpha, places):
    """alpha at one place of every row, -inf where the place is negative."""
    safe = p.max(places, p.zeros(aval_of(places)))
    taken = p.squeeze(p.take_along_axis(alpha, p.expand_dims(safe, dims=(1,)), axis=1, mode="clip"), dims=(1,))
    return p.select(p.lt(places, 0), full_like(taken, -math.inf), taken)


def _slope_of_softmax(t, log_p, inside, out):
    return total(p.select(inside, p.mul(t, p.exp(log_p)), p.zeros(aval_of(t))), (0, 2))


@derived(_slope_of_softmax)
def _nothing(log_p, inside):
    """0 for each example, whose derivative is exp(log_p) where it is inside of the input.

    PyTorch's derivative takes log_p to be the result of log_softmax, and has that term.
    """
    return p.full((aval_of(log_p).shape[1],), 0, aval_of(log_p).dtype)


@loss_node
def _ctc_node(a):
    if a.zero_infinity:
        return "WhereBackward0"
    return "Div0(CtcLoss0(log_probs), -)" if a.reduction == "mean" else "CtcLossBackward0"


@torch_op(node=_ctc_node, autocast={"cpu": "full"})
def _ctc(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank, reduction, zero_infinity
):
    require_floating("ctc_loss_cpu", log_probs)
    log_p = wide(log_probs)
    steps, batch, _ = aval_of(log_p).shape
    if not steps:
        alpha = p.full((batch, 1), 0, aval_of(log_p).dtype)
        likelihood = _picked(alpha, p.neg(target_lengths))
    else:
        alpha = _alphas(log_p, _labels(targets, blank), input_lengths)
        ends = p.mul(target_lengths, 2)
        likelihood = _log_sum(_picked(alpha, ends), _picked(alpha, p.sub(ends, 1)))
    # An example without steps has probability 1 if it has no targets, and else 0.
    empty = p.eq(input_lengths, 0)
    none = p.select(p.eq(target_lengths, 0), full_like(likelihood, 0), full_like(likelihood, -math.inf))
    likelihood = p.select(empty, none, likelihood)
    shape = aval_of(log_p).shape
    inside = p.lt(iota_along(shape, 0), p.broadcast_in_dim(input_lengths, shape=shape, dims=(1,)))
    loss = p.add(p.neg(likelihood), _nothing(log_p, inside))
    if zero_infinity:
        loss = p.select(p.eq(loss, full_like(loss, math.inf)), p.zeros(aval_of(loss)), loss)
    if reduction == "mean":
        sizes = p.max(p.convert(target_lengths, dtype=aval_of(loss).dtype), full_like(loss, 1))
        loss = p.div(total(p.div(loss, sizes)), p.full((), batch, aval_of(loss).dtype))
    elif reduction == "sum":
        loss = total(loss)
    return like(loss, log_probs)


def _lengths(x, name: str, batch: int) -> np.ndarray:
    array = np.asarray(x._array() if isinstance(x, Tensor) else x).reshape(-1)
    if array.size and array.dtype.kind not in "iu":
        raise RuntimeError(f"{name} must be integral")
    array = array.astype(np.int64)
    if len(array) != batch:
        raise RuntimeError(f"{name} must be of size batch_size")
    return array


def _padded_targets(targets, lengths: np.ndarray) -> Tensor:
    """Targets as a matrix; they may come one after the other in a vector."""
    if targets.ndim == 2:
        return targets
    array = targets._array()
    out = np.zeros((len(lengths), int(lengths.max()) if len(lengths) else 0), np.int64)
    start = 0
    for i, n in enumerate(lengths):
        out[i, :n] = array[start : start + n]
        start += n
    return from_array(out)


CHECKING = "(while checking arguments for ctc_loss_allocate_outputs)"


def _check_values(name: str, lengths: np.ndarray, bound: str, limit: int):
    beyond = lengths[lengths > limit if bound == "most" else lengths < limit]
    if beyond.size:
        raise RuntimeError(
            f"Expected {name} to have value at {bound} {limit}, but got value {int(beyond[0])} {CHECKING}"
        )


def _check_target_size(targets: Tensor, lengths: np.ndarray, batch: int):
    """RuntimeError for targets that are shorter than their lengths say, or not one for each."""
    if targets.ndim == 2 and targets.shape[0] != batch:
        raise RuntimeError(
            f"Expected tensor to have size {batch} at dimension 0, but got size "
            f"{targets.shape[0]} for argument #2 'targets' {CHECKING}"
        )
    if targets.ndim == 2 and len(lengths) and targets.shape[1] < lengths.max():
        raise RuntimeError(
            f"Expected tensor to have size at least {int(lengths.max())} at "
            f"dimension 1, but got size {targets.shape[1]} for argument #2 "
            f"'targets' {CHECKING}"
        )


def _check_labels(targets: Tensor, lengths: np.ndarray, classes: int, loss: Tensor):
    """IndexError for a label that is no class; what pads the targets may be any number."""
    padding = np.arange(targets.shape[1]) >= lengths[:, None]
    if padding.any() and is_readable(targets):
        targets = targets.masked_fill(from_array(padding), 0)
    message = "ctc_loss: target {index} is none of {size} classes"
    _bounds.check(targets, classes, 2, "ctc_loss", message=message, result=loss)


REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}


@composite(name="ctc_loss", method=False)
def torch_ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=0, zero_infinity=False):
    """torch.ctc_loss: nn.functional.ctc_loss with the reduction as a number.

    >>> log_probs = torch.full((4, 1, 3), 1 / 3).log()
    >>> torch.ctc_loss(log_probs, torch.tensor([[1, 2]]), torch.tensor([4]), torch.tensor([2]), 0, 1)
    tensor(0.8432)
    """
    unbatched = log_probs.ndim == 2
    if unbatched:
        log_probs = log_probs.unsqueeze(1)
        targets = targets.unsqueeze(0) if targets.ndim == 1 else targets
    steps, batch, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    inputs, outputs = (
        _lengths(x, name, batch) for x, name in ((input_lengths, "input_lengths"), (target_lengths, "target_lengths"))
    )
    _check_values("input_lengths", inputs, "most", steps)
    _check_values("input_lengths", inputs, "least", 0)
    _check_values("target_lengths", outputs, "least", 0)
    _check_target_size(targets, outputs, batch)
    targets = _padded_targets(targets, outputs)
    lengths = [finish(x, log_probs.device) for x in (inputs, outputs)]
    loss = _ctc(log_probs, targets.to(_int64()), *lengths, blank, REDUCTIONS[reduction], zero_infinity)
    _check_labels(targets, outputs, classes, loss)
    return loss.squeeze(0) if unbatched and loss.ndim else loss


def _int64():
    return _types.int64


@overridable
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """The negative log-likelihood of target sequences over all alignments with (T, N, C) log-probs.

    targets is (N, S), or all sequences one after the other. With reduction 'mean' every loss is
    divided by its target's length first.

    >>> log_probs, targets = torch.zeros(3, 1, 2).log_softmax(2), torch.tensor([[1]])
    >>> torch.nn.functional.ctc_loss(log_probs, targets, torch.tensor([3]), torch.tensor([1]))
    tensor(0.2877)
    """
    number = {"none": 0, "mean": 1, "sum": 2}
    if reduction not in number:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return torch_ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, number[reduction], zero_infinity)
