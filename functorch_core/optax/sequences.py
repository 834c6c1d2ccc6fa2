"""Losses over alignments and pairs: connectionist temporal classification, NT-Xent."""

from __future__ import annotations

import functorch_core as fc

from ..core.explain import explaining

SHAPES = """{name}: {what}
    logits are [batch, frames, classes], logit_paddings [batch, frames], labels and label_paddings [batch, length]."""


@explaining
def ctc_loss_with_forward_probs(
    logits, logit_paddings, labels, label_paddings, *, blank_id: int = 0, log_epsilon: float = -1e5
):
    """(loss [batch], log probabilities of a blank after n labels [frames, batch, length + 1], of the n-th label
    [frames, batch, length]), of all alignments up to each frame.

    Paddings are 1 where there is nothing, labels are padded behind. log_epsilon stands for the logarithm of 0.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> one = fc.zeros((1, 3, 2)), fc.zeros((1, 3)), fc.asarray([[1]]), fc.zeros((1, 1))
    >>> optax.ctc_loss_with_forward_probs(*one)[0]  # 6 of 8 alignments
    Array([0.2876821], dtype=float32)
    """
    logits, labels = fc.asarray(logits), fc.asarray(labels)
    paddings, label_paddings = fc.asarray(logit_paddings), fc.asarray(label_paddings)
    if logits.ndim != 3 or labels.ndim != 2 or labels.shape != label_paddings.shape:
        raise ValueError(SHAPES.format(name="ctc_loss", what=f"got {logits.aval} and labels {labels.aval}"))
    if logits.shape[:2] != paddings.shape or logits.shape[0] != labels.shape[0]:
        what = f"{logits.aval}, paddings {paddings.aval}, labels {labels.aval}"
        raise ValueError(SHAPES.format(name="ctc_loss", what=what))
    batch, length = labels.shape
    log_probs = fc.log_softmax(logits, axis=-1)
    blanks = log_probs[:, :, blank_id]
    index = fc.broadcast_to(labels[:, None, :], (batch, logits.shape[1], length)).astype("int64")
    emits = fc.take_along_axis(log_probs, index, axis=2)
    repeats = fc.concat([fc.zeros((batch, 1), dtype="bool"), labels[:, 1:] == labels[:, :-1]], axis=1)

    def frame(carry, given):
        blank, label = carry
        p_blank, p_label, pad = given
        before = fc.concat([fc.full((batch, 1), log_epsilon), label[:, :-1]], axis=1)  # the label one to the left
        jump = before + fc.where(repeats, log_epsilon, 0.0)
        new_label = fc.logaddexp(fc.logaddexp(label, blank[:, :-1]), jump) + p_label
        stay = fc.concat([fc.full((batch, 1), log_epsilon), label], axis=1)
        new_blank = fc.logaddexp(blank, stay) + p_blank[:, None]
        pad = pad[:, None]
        new = pad * blank + (1 - pad) * new_blank, pad * label + (1 - pad) * new_label
        return new, new

    start = fc.full((batch, length + 1), log_epsilon).at[:, 0].set(0.0), fc.full((batch, length), log_epsilon)
    given = fc.moveaxis(blanks, 1, 0), fc.moveaxis(emits, 1, 0), fc.moveaxis(paddings, 1, 0)
    (blank, label), (all_blanks, all_labels) = fc.scan(frame, start, given)
    ends = (length - fc.sum(label_paddings, axis=1)).astype("int64")[:, None]
    whole = blank.at[:, 1:].set(fc.logaddexp(blank[:, 1:], label))
    all_blanks = all_blanks.at[-1].set(whole)  # the last frame ends in either
    return -fc.take_along_axis(whole, ends, axis=1)[:, 0], all_blanks, all_labels


def ctc_loss(logits, logit_paddings, labels, label_paddings, *, blank_id: int = 0, log_epsilon: float = -1e5):
    """The negative logarithm of the probability of the labels, by all alignments; see ctc_loss_with_forward_probs.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> optax.ctc_loss(fc.zeros((1, 3, 2)), fc.zeros((1, 3)), fc.asarray([[1]]), fc.zeros((1, 1)))
    Array([0.2876821], dtype=float32)
    """
    options = {"blank_id": blank_id, "log_epsilon": log_epsilon}
    return ctc_loss_with_forward_probs(logits, logit_paddings, labels, label_paddings, **options)[0]


@explaining
def ntxent(embeddings, labels, temperature=0.07):
    """The mean, over pairs of equal labels, of the cross entropy of their similarity among those of the first one with
    all of other labels (NT-Xent, Chen et al. 2020). NaN where no labels are equal.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> optax.ntxent(fc.asarray([[1., 0.], [1., 0.], [0., 1.]]), fc.asarray([0, 0, 1]), temperature=1.)
    Array(0.31326166, dtype=float32)
    """
    embeddings, labels = fc.asarray(embeddings), fc.asarray(labels)
    if labels.shape[:1] != embeddings.shape[:1]:
        raise ValueError(f"ntxent: there are {embeddings.shape[0]} embeddings and {labels.shape[0]} labels")
    least = float(fc.finfo(embeddings.dtype).eps)
    lengths = fc.maximum(fc.sqrt(fc.sum(embeddings**2, axis=-1)), least)
    similar = (embeddings @ embeddings.T) / (lengths[:, None] * lengths) / temperature
    equal = labels[:, None] == labels
    pairs = equal & ~fc.eye(len(labels), dtype=bool)
    most = fc.lax.stop_gradient(fc.max(similar, axis=1, keepdims=True))
    others = fc.sum(fc.where(equal, 0.0, fc.exp(similar - most)), axis=1, keepdims=True)
    terms = fc.log(fc.exp(similar - most) + others) - (similar - most)
    return fc.sum(fc.where(pairs, terms, 0.0)) / fc.sum(pairs)


__all__ = ["ctc_loss", "ctc_loss_with_forward_probs", "ntxent"]
