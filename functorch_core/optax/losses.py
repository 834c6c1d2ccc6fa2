"""Loss functions, elementwise or by example."""

from __future__ import annotations

import functorch_core as fc


def squared_error(predictions, targets=None):
    """(predictions - targets)**2."""
    difference = predictions if targets is None else predictions - targets
    return difference**2


def l2_loss(predictions, targets=None):
    """Half the squared error.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> optax.l2_loss(fc.asarray([3.]), fc.asarray([1.]))
    Array([2.], dtype=float32)
    """
    return 0.5 * squared_error(predictions, targets)


def huber_loss(predictions, targets=None, *, delta: float = 1.0):
    """Quadratic up to an error of delta, linear beyond."""
    error = fc.abs(predictions if targets is None else predictions - targets)
    near = fc.minimum(error, delta)
    return 0.5 * near**2 + delta * (error - near)


def log_cosh(predictions, targets=None):
    """log(cosh(error)), without overflow."""
    error = predictions if targets is None else predictions - targets
    return fc.logaddexp(error, -error) - fc.log(fc.asarray(2.0, dtype=error.dtype))


def softmax_cross_entropy(logits, labels, axis=-1, where=None):
    """The cross entropy of distributions `labels` and softmax(logits), along an axis.

    >>> import functorch_core as fc
    >>> from functorch_core import optax
    >>> optax.softmax_cross_entropy(fc.zeros(4), fc.asarray([1., 0., 0., 0.]))
    Array(1.3862944, dtype=float32)
    """
    if where is None:
        return -fc.sum(labels * fc.log_softmax(logits, axis=axis), axis=axis)
    logs = fc.log_softmax(fc.where(where, logits, -fc.inf), axis=axis)
    return -fc.sum(labels * fc.where(where, logs, 0.0), axis=axis)


def softmax_cross_entropy_with_integer_labels(logits, labels, axis=-1, where=None):
    """The cross entropy of the classes `labels` and softmax(logits), along an axis."""
    if where is not None:
        logits = fc.where(where, logits, -fc.inf)
    logs = fc.moveaxis(fc.log_softmax(fc.asarray(logits), axis=axis), axis, -1)
    return -fc.take_along_axis(logs, fc.asarray(labels)[..., None], axis=-1)[..., 0]


def sigmoid_binary_cross_entropy(logits, labels):
    """The cross entropy of probabilities `labels` and sigmoid(logits), elementwise."""
    return -labels * fc.log_sigmoid(logits) - (1.0 - labels) * fc.log_sigmoid(-logits)


def hinge_loss(predictor_outputs, targets):
    """max(0, 1 - outputs * targets), targets of -1 and 1."""
    return fc.maximum(0.0, 1.0 - predictor_outputs * targets)


def cosine_similarity(predictions, targets, *, epsilon: float = 0.0, axis=-1, where=None):
    """The cosine of the angle between vectors along an axis; their norms are at least epsilon."""

    def total(x):
        return fc.sum(x if where is None else fc.where(where, x, 0.0), axis=axis)

    a, b = (fc.maximum(fc.sqrt(total(x * x)), epsilon) for x in (predictions, targets))
    return total(predictions * targets) / (a * b)


def cosine_distance(predictions, targets, *, epsilon: float = 0.0, axis=-1, where=None):
    """1 - cosine_similarity."""
    return 1.0 - cosine_similarity(predictions, targets, epsilon=epsilon, axis=axis, where=where)


def kl_divergence(log_predictions, targets, axis=-1, where=None):
    """The divergence of exp(log_predictions) from distributions `targets`, along an axis."""
    safe = fc.where(targets == 0, 1.0, targets)
    parts = targets * (fc.where(targets == 0, 0.0, fc.log(safe)) - log_predictions)
    return fc.sum(parts if where is None else fc.where(where, parts, 0.0), axis=axis)


def generalized_kl_divergence(log_predictions, targets, axis=-1, where=None):
    """kl_divergence for measures that do not sum to 1: plus what the predictions sum to beyond the targets."""
    beyond = fc.exp(log_predictions) - targets
    beyond = fc.sum(beyond if where is None else fc.where(where, beyond, 0.0), axis=axis)
    return kl_divergence(log_predictions, targets, axis, where) + beyond


convex_kl_divergence = generalized_kl_divergence


def safe_softmax_cross_entropy(logits, labels):
    """softmax_cross_entropy in which labels of 0 count nothing, where logits are -inf, too."""
    logs = fc.where(labels == 0, 0.0, fc.log_softmax(logits, axis=-1))
    return -fc.sum(labels * logs, axis=-1)


def sigmoid_focal_loss(logits, labels, *, alpha=None, gamma=2.0):
    """The cross entropy of probabilities `labels` and sigmoid(logits), times (1 - what was given to the label)**gamma.

    With alpha times alpha for labels of 1, 1 - alpha for labels of 0 (Lin et al. 2017).
    """
    missed = fc.logaddexp(fc.log_sigmoid(-logits) + _log(labels), fc.log_sigmoid(logits) + _log(1 - labels))
    loss = fc.exp(gamma * missed) * sigmoid_binary_cross_entropy(logits, labels)
    return loss if alpha is None else loss * (alpha * labels + (1 - alpha) * (1 - labels))


def _log(x):
    return fc.where(x == 0, -fc.inf, fc.log(fc.where(x == 0, 1.0, x)))


def smooth_labels(labels, alpha: float, *, axis=-1, where=None):
    """Labels moved to the uniform distribution by alpha."""
    n = labels.shape[axis] if where is None else fc.sum(where, axis=axis, keepdims=True)
    return (1.0 - alpha) * labels + alpha / n


__all__ = [
    "convex_kl_divergence",
    "cosine_distance",
    "cosine_similarity",
    "generalized_kl_divergence",
    "hinge_loss",
    "huber_loss",
    "kl_divergence",
    "l2_loss",
    "log_cosh",
    "safe_softmax_cross_entropy",
    "sigmoid_binary_cross_entropy",
    "sigmoid_focal_loss",
    "smooth_labels",
    "softmax_cross_entropy",
    "softmax_cross_entropy_with_integer_labels",
    "squared_error",
]
