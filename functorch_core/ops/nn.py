"""What neural networks are made of: activations, normalisation, attention, losses.

Names and defaults are those of jax.nn, and of optax for the losses.
"""

from __future__ import annotations

import math

import numpy as np

from .. import primitives as p
from ..core import dtypes as dt
from ..core.aval import aval_of
from ..kernels import activations as act
from ..kernels import reductions
from ..kernels.normalisation import normalised_rows
from ..kernels.shapes import one_hot as hot
from ..kernels.values import full_like as like
from ..kernels.values import like as as_dtype_of
from ..kernels.values import spread, total, wide
from .creation import canonical_shape
from .declaring import check
from .op import op
from .places import exposed
from .promotion import broadcast_to, canonical_axes, canonical_axis, cast, promote, result_dtype
from .statistics import axes_of, to_floats


def _floats(x, name: str):
    """x as floats; TypeError for complex numbers."""
    (x,) = promote(x, name=name, to_inexact=True)
    check(name, x, dt.FLOATING)
    return x


# ---- activations ---------------------------------------------------------------------------------


@op("fc", names="x", scalars=True)
def relu(x, /):
    """max(x, 0), elementwise; its derivative at 0 is 0. Integers stay integers.

    >>> import functorch_core as fc
    >>> fc.relu(fc.asarray([-1., 2.]))
    Array([0., 2.], dtype=float32)
    """
    (x,) = promote(x, name="relu")
    check("relu", x, dt.REAL)
    return act.rectified(x)


@op("fc", names="x", scalars=True)
def relu6(x, /):
    """min(max(x, 0), 6), elementwise; its derivative at 0 and 6 is 0.

    >>> import functorch_core as fc
    >>> fc.relu6(fc.asarray([-1., 2., 9.]))
    Array([0., 2., 6.], dtype=float32)
    """
    x = _floats(x, "relu6")
    return p.select(p.ge(x, 6), like(x, 6), act.rectified(x))


@op("fc", names="x", scalars=True, arrays=("negative_slope",))
def leaky_relu(x, /, negative_slope=0.01):
    """x where it is positive, negative_slope * x elsewhere.

    >>> import functorch_core as fc
    >>> fc.leaky_relu(fc.asarray([-1., 2.]))
    Array([-0.01,  2.  ], dtype=float32)
    """
    x, slope = promote(x, negative_slope, name="leaky_relu", to_inexact=True)
    return p.select(p.gt(x, 0), x, p.mul(x, slope))


def _below_zero(x, fun):
    """x where it is positive, fun(x) elsewhere, of which positive x is kept away."""
    positive = p.gt(x, 0)
    return p.select(positive, x, fun(p.select(positive, like(x, 0), x)))


@op("fc", names="x", scalars=True, arrays=("alpha",))
def elu(x, /, alpha=1.0):
    """x where it is positive, alpha * (exp(x) - 1) elsewhere.

    >>> import functorch_core as fc
    >>> fc.elu(fc.asarray([-1., 2.]))
    Array([-0.63212055,  2.        ], dtype=float32)
    """
    x, alpha = promote(x, alpha, name="elu", to_inexact=True)
    return _below_zero(x, lambda x: p.mul(p.expm1(x), alpha))


@op("fc", names="x", scalars=True, arrays=("alpha",))
def celu(x, /, alpha=1.0):
    """x where it is positive, alpha * (exp(x / alpha) - 1) elsewhere.

    >>> import functorch_core as fc
    >>> fc.celu(fc.asarray([-1., 2.]), alpha=2.)
    Array([-0.78693867,  2.        ], dtype=float32)
    """
    x, alpha = promote(x, alpha, name="celu", to_inexact=True)
    return _below_zero(x, lambda x: p.mul(p.expm1(p.div(x, alpha)), alpha))


SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805


@op("fc", names="x", scalars=True)
def selu(x, /):
    """The self-normalising exponential linear unit: scale * elu(x, alpha).

    >>> import functorch_core as fc
    >>> fc.selu(fc.asarray([-1., 2.]))
    Array([-1.1113307,  2.101402 ], dtype=float32)
    """
    x = _floats(x, "selu")
    return p.mul(_below_zero(x, lambda x: p.mul(p.expm1(x), SELU_ALPHA)), SELU_SCALE)


@op("fc", names="x", scalars=True)
def gelu(x, /, approximate=True):
    """x times the normal distribution's cdf at x: by tanh if `approximate`, else by erf.

    >>> import functorch_core as fc
    >>> fc.gelu(fc.asarray([-1., 2.]), approximate=False)
    Array([-0.15865526,  1.9544997 ], dtype=float32)
    """
    x = _floats(x, "gelu")
    return act.gelu(x, bool(approximate))


@op("fc", names="x", scalars=True)
def sigmoid(x, /):
    """1 / (1 + exp(-x)), elementwise.

    >>> import functorch_core as fc
    >>> fc.sigmoid(fc.asarray([0., 2.]))
    Array([0.5     , 0.880797], dtype=float32)
    """
    return p.logistic(_floats(x, "sigmoid"))


@op("fc", "fc as swish", names="x", scalars=True)
def silu(x, /):
    """x * sigmoid(x), elementwise (also called swish).

    >>> import functorch_core as fc
    >>> fc.silu(fc.asarray([-1., 2.]))
    Array([-0.2689414,  1.761594 ], dtype=float32)
    """
    x = _floats(x, "silu")
    return p.mul(x, p.logistic(x))


def _softplus(x):
    return p.neg(act.log_sigmoid(p.neg(x)))


@op("fc", names="x", scalars=True)
def softplus(x, /):
    """log(1 + exp(x)), elementwise.

    >>> import functorch_core as fc
    >>> fc.softplus(fc.asarray([0., 100.]))
    Array([  0.6931472, 100.       ], dtype=float32)
    """
    return _softplus(_floats(x, "softplus"))


@op("fc", names="x", scalars=True)
def log_sigmoid(x, /):
    """log(sigmoid(x)), elementwise.

    >>> import functorch_core as fc
    >>> fc.log_sigmoid(fc.asarray([0., -100.]))
    Array([  -0.6931472, -100.       ], dtype=float32)
    """
    return act.log_sigmoid(_floats(x, "log_sigmoid"))


@op("fc", names="x", scalars=True)
def mish(x, /):
    """x * tanh(softplus(x)), elementwise.

    >>> import functorch_core as fc
    >>> fc.mish(fc.asarray([-1., 2.]))
    Array([-0.3034014,  1.9439589], dtype=float32)
    """
    x = _floats(x, "mish")
    return as_dtype_of(act.mish(wide(x)), x)


@op("fc", names="x", scalars=True)
def soft_sign(x, /):
    """x / (1 + |x|), elementwise.

    >>> import functorch_core as fc
    >>> fc.soft_sign(fc.asarray([-1., 3.]))
    Array([-0.5 ,  0.75], dtype=float32)
    """
    x = _floats(x, "soft_sign")
    return p.div(x, p.add(p.abs(x), 1))


@op("fc", names="x", scalars=True)
def hard_tanh(x, /):
    """x moved into [-1, 1], elementwise.

    >>> import functorch_core as fc
    >>> fc.hard_tanh(fc.asarray([-3., .5]))
    Array([-1. ,  0.5], dtype=float32)
    """
    x = _floats(x, "hard_tanh")
    return p.select(p.gt(x, 1), like(x, 1), p.select(p.lt(x, -1), like(x, -1), x))


@op("fc", names="x", scalars=True)
def hard_sigmoid(x, /):
    """relu6(x + 3) / 6, elementwise.

    >>> import functorch_core as fc
    >>> fc.hard_sigmoid(fc.asarray([-4., 0.]))
    Array([0. , 0.5], dtype=float32)
    """
    return act.hard_sigmoid(_floats(x, "hard_sigmoid"))


@op("fc", "fc as hard_swish", names="x", scalars=True)
def hard_silu(x, /):
    """x * hard_sigmoid(x), elementwise.

    >>> import functorch_core as fc
    >>> fc.hard_silu(fc.asarray([-4., 3.]))
    Array([-0.,  3.], dtype=float32)
    """
    x = _floats(x, "hard_silu")
    return p.mul(x, act.hard_sigmoid(x))


@op("fc", names="x", scalars=True)
def identity(x, /):
    """x itself.

    >>> import functorch_core as fc
    >>> fc.identity(fc.asarray([-1., 2.]))
    Array([-1.,  2.], dtype=float32)
    """
    (x,) = promote(x, name="identity")
    return x


@op("fc", names="x", scalars=True)
def squareplus(x, /, b=4):
    """(x + sqrt(x**2 + b)) / 2, elementwise: a smooth relu.

    >>> import functorch_core as fc
    >>> fc.squareplus(fc.asarray([-1., 0.]))
    Array([0.618034, 1.      ], dtype=float32)
    """
    x = _floats(x, "squareplus")
    return p.mul(p.add(x, p.sqrt(p.add(p.mul(x, x), b))), 0.5)


@op("fc", names="x", scalars=True)
def sparse_plus(x, /):
    """0 up to -1, (x + 1)**2 / 4 up to 1, then x: the softplus that goes with sparse_sigmoid.

    >>> import functorch_core as fc
    >>> fc.sparse_plus(fc.asarray([-2., 0., 2.]))
    Array([0.  , 0.25, 2.  ], dtype=float32)
    """
    x = _floats(x, "sparse_plus")
    above = p.add(x, 1)
    inside = p.mul(p.mul(above, above), 0.25)
    return p.select(p.ge(x, 1), x, p.select(p.le(x, -1), like(x, 0), inside))


@op("fc", names="x", scalars=True)
def sparse_sigmoid(x, /):
    """(x + 1) / 2, moved into [0, 1], elementwise.

    >>> import functorch_core as fc
    >>> fc.sparse_sigmoid(fc.asarray([-2., 0., 2.]))
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    x = _floats(x, "sparse_sigmoid")
    return p.mul(p.add(hard_tanh.fun(x), 1), 0.5)


@op("fc", names="x", scalars=True)
def log1mexp(x, /):
    """log(1 - exp(-x)), elementwise, accurate for small and for large x; NaN below 0.

    >>> import functorch_core as fc
    >>> fc.log1mexp(fc.asarray([1., 50.]))
    Array([-4.5867515e-01, -1.9287499e-22], dtype=float32)
    """
    x = _floats(x, "log1mexp")
    near = p.le(x, math.log(2))  # each form where it is accurate, fed 1 elsewhere: finite slopes
    one = like(x, 1)
    small = p.log(p.neg(p.expm1(p.neg(p.select(near, x, one)))))
    return p.select(near, small, p.log1p(p.neg(p.exp(p.neg(p.select(near, one, x))))))


@op("fc", names="x")
def glu(x, /, axis=-1):
    """The first half of x along `axis` times the sigmoid of the second half.

    >>> import functorch_core as fc
    >>> fc.glu(fc.asarray([1., 0.]))
    Array([0.5], dtype=float32)
    """
    x = _floats(x, "glu")
    a = aval_of(x)
    axis = canonical_axis(axis, a.ndim, "glu")
    n = a.shape[axis]
    if n % 2:
        raise ValueError(f"glu halves axis {axis} of {a}, whose size {n} is odd")
    return act.gated(x, axis)


# ---- over an axis --------------------------------------------------------------------------------


@exposed("fc", names="x")
def softmax(x, /, axis=-1, where=None):
    """exp(x) / sum(exp(x)) along `axis` (an int, several, or None for all), without overflow.

    where: a mask; other elements do not count and become 0.

    >>> import functorch_core as fc
    >>> fc.softmax(fc.asarray([0., 0.]))
    Array([0.5, 0.5], dtype=float32)
    """
    return _softmax(x, where, axis=axis)


@op
def _softmax(x, where, /, *, axis, log=False):
    name = "log_softmax" if log else "softmax"
    x = _floats(x, name)
    axes = axes_of(x, axis, name)
    if where is None:
        return reductions.softmax(x, axes, log)
    mask = broadcast_to(p.convert(where, dtype=dt.bool_), aval_of(x).shape)
    # The lowest number, not -inf, whose differences would be NaN where all is masked.
    lowest = like(x, float(dt.finfo(aval_of(x).dtype).min))
    return p.select(mask, reductions.softmax(p.select(mask, x, lowest), axes, log), like(x, -math.inf if log else 0))


@exposed("fc", names="x")
def log_softmax(x, /, axis=-1, where=None):
    """log(softmax(x)) along `axis`, without overflow; -inf where a mask says no.

    >>> import functorch_core as fc
    >>> fc.log_softmax(fc.asarray([0., 1000.]))
    Array([-1000.,     0.], dtype=float32)
    """
    return _softmax(x, where, axis=axis, log=True)


@op("fc", names="x")
def one_hot(x, /, num_classes, *, dtype=None, axis=-1):
    """A new dimension of size num_classes, with 1 at the index x says and 0 elsewhere.

    Indices out of range give zeros only. float32 by default.

    >>> import functorch_core as fc
    >>> fc.one_hot(fc.asarray([1, 0]), 2)
    Array([[0., 1.],
           [1., 0.]], dtype=float32)
    """
    a = aval_of(x)
    (num_classes,) = canonical_shape(num_classes, "one_hot")
    axis = canonical_axis(axis, a.ndim + 1, "one_hot")
    return hot(x, num_classes, axis, dt.canonical(dtype or float))


ALGORITHMS = ("fast", "stable")


@exposed("fc", names="x")
def standardize(x, /, axis=-1, mean=None, variance=None, epsilon=1e-5, where=None, *, algorithm="fast"):
    """(x - mean) / sqrt(variance + epsilon) along `axis`.

    mean and variance: given ones, that broadcast to x. where: a mask of what counts in them.
    algorithm: "fast" or "stable", JAX's two ways, which differ where a mean is given: the variance
    is then the mean square less its square, or that of the differences from it.

    >>> import functorch_core as fc
    >>> fc.standardize(fc.asarray([1., 3.]))
    Array([-0.999995,  0.999995], dtype=float32)
    """
    if algorithm not in ALGORITHMS:
        raise ValueError(f"standardize: algorithm={algorithm!r} is none of {ALGORITHMS}")
    return _standardize(x, mean, variance, where, axis=axis, epsilon=epsilon, algorithm=algorithm)


@op
def _standardize(x, mean, variance, where, /, *, axis, epsilon, algorithm):
    x = _floats(x, "standardize")
    axes = axes_of(x, axis, "standardize")
    if mean is None and variance is None and where is None:
        return as_dtype_of(_normalised(wide(x), axes, epsilon), x)
    y = wide(x)
    shape, dtype = aval_of(x).shape, aval_of(y).dtype
    count = p.full(shape, 1, dtype) if where is None else broadcast_to(p.convert(where, dtype=dtype), shape)

    def average(v):
        return spread(p.div(total(p.mul(v, count), axes), total(count, axes)), shape, axes)

    given = mean is not None
    mean = broadcast_to(p.convert(mean, dtype=dtype), shape) if given else average(y)
    off = p.sub(y, mean)
    if variance is not None:
        variance = broadcast_to(p.convert(variance, dtype=dtype), shape)
    elif given and algorithm == "fast":
        variance = p.sub(average(p.mul(y, y)), p.mul(mean, mean))
        variance = p.max(variance, like(variance, 0))
    else:
        variance = average(p.mul(off, off))
    return as_dtype_of(p.mul(off, reductions.reciprocal_root(variance, epsilon)), x)


@op("fc", arrays=("weight", "bias"))
def layer_norm(x, /, weight=None, bias=None, *, axis=-1, epsilon=1e-5):
    """x standardised along `axis`, times weight, plus bias; narrow floats in float32 within.

    >>> import functorch_core as fc
    >>> fc.layer_norm(fc.asarray([1., 3.]), bias=fc.asarray([1., 1.]))
    Array([5.006790e-06, 1.999995e+00], dtype=float32)
    """
    x = _floats(x, "layer_norm")
    axes = canonical_axes(axis, aval_of(x).ndim, "layer_norm")
    weight, bias = _fitting(x, weight, bias)
    return as_dtype_of(reductions.affine(_normalised(wide(x), axes, epsilon), weight, bias), x)


def _normalised(x, axes, epsilon):
    ndim = aval_of(x).ndim
    if axes and sorted(axes) == list(range(ndim - len(axes), ndim)):
        return normalised_rows(x, len(axes), None, None, epsilon)[0]
    return reductions.normalised(x, axes, epsilon)[0]


def _fitting(x, *vectors):
    return [v if v is None else broadcast_to(v, aval_of(x).shape) for v in vectors]


@op("fc", arrays=("weight",))
def rms_norm(x, /, weight=None, *, axis=-1, epsilon=1e-6):
    """x / sqrt(mean(x**2) + epsilon) along `axis`, times weight.

    >>> import functorch_core as fc
    >>> fc.rms_norm(fc.asarray([3., 4.]))
    Array([0.8485281, 1.1313708], dtype=float32)
    """
    x = _floats(x, "rms_norm")
    axes = canonical_axes(axis, aval_of(x).ndim, "rms_norm")
    out = reductions.rms_normalised(wide(x), axes, epsilon)
    return as_dtype_of(reductions.affine(out, *_fitting(x, weight), None), x)


# ---- attention -----------------------------------------------------------------------------------

ATTENTION = """dot_product_attention: query {q}, key {k}, value {v} do not fit.
    They are [batch, length, heads, size] (or without batch); key and value have one length and a
    number of heads that divides the query's."""


IMPLEMENTATION = """dot_product_attention: implementation={implementation!r} is not here; XLA's is.
    Leave it out, or say implementation="xla"."""


@exposed("fc", names="query key value")
def dot_product_attention(
    query,
    key,
    value,
    /,
    bias=None,
    mask=None,
    *,
    scale=None,
    is_causal=False,
    query_seq_lengths=None,
    key_value_seq_lengths=None,
    local_window_size=None,
    implementation=None,
    return_residual=False,
):
    """softmax(query key^T * scale + bias) value over [batch, length, heads, size].

    key and value may have fewer heads, each shared by several of the query. bias and the bool mask
    broadcast to [batch, heads, query length, key length]; scale is 1 / sqrt(size) by default. The
    softmax is float32 for narrower dtypes. query_seq_lengths and key_value_seq_lengths [batch]: what
    comes behind is hidden, and 0 among the results. local_window_size: how far a query sees, to
    both sides or (left, right). implementation: None or "xla". return_residual: with the logsumexp
    of the scores [batch, length, heads]. ValueError if shapes do not fit.

    >>> import functorch_core as fc
    >>> x = fc.ones((1, 3, 2, 4))
    >>> fc.dot_product_attention(x, x, x, is_causal=True).shape
    (1, 3, 2, 4)
    """
    if implementation not in (None, "xla"):
        raise NotImplementedError(IMPLEMENTATION.format(implementation=implementation))
    window = local_window_size
    out, residual = _attention(
        query,
        key,
        value,
        bias,
        mask,
        query_seq_lengths,
        key_value_seq_lengths,
        scale=None if scale is None else float(scale),
        is_causal=bool(is_causal),
        window=(window, window) if isinstance(window, int) else window,
        residual=bool(return_residual),
    )
    return (out, residual) if return_residual else out


@op
def _attention(query, key, value, bias, mask, query_lengths, key_lengths, /, *, scale, is_causal, window, residual):
    dtype = result_dtype((query, key, value))
    q, k, v = (cast(x, dtype) for x in (query, key, value))
    batched = aval_of(q).ndim == 4
    if not batched:
        q, k, v = (p.expand_dims(x, dims=(0,)) for x in (q, k, v))
    _check_attention(*map(aval_of, (q, k, v)))
    (b, t, n, h), (_, s, m, _) = aval_of(q).shape, aval_of(k).shape
    # Heads that share a key: [b, m, group, t, s]
    q = p.reshape(q, shape=(b, t, m, n // m, h))
    scores = p.dot_general(q, k, contract=((4,), (3,)), batch=((0, 2), (0, 2)))
    scores = p.transpose(scores, permutation=(0, 1, 3, 2, 4))  # from [b, m, t, group, s]
    scores = wide(scores)
    scores = p.mul(scores, 1 / math.sqrt(h) if scale is None else scale)
    scores = p.reshape(scores, shape=(b, n, t, s))
    if bias is not None:
        scores = p.add(scores, broadcast_to(p.convert(bias, dtype=aval_of(scores).dtype), (b, n, t, s)))
    scores = _masked(scores, mask, is_causal)
    scores = _masked(scores, _local(scores, query_lengths, key_lengths, window), False)
    total = p.transpose(reductions.logsumexp(scores, (3,)), permutation=(0, 2, 1)) if residual else None
    weights = p.convert(reductions.softmax(scores, (3,)), dtype=dtype)
    weights = p.reshape(weights, shape=(b, m, n // m, t, s))
    out = p.dot_general(weights, v, contract=((4,), (1,)), batch=((0, 1), (0, 2)))
    out = p.transpose(out, permutation=(0, 3, 1, 2, 4))  # from [b, m, group, t, size]
    out = p.reshape(out, shape=(b, t, n, aval_of(v).shape[3]))
    if query_lengths is not None:
        out = _rows_until(out, query_lengths)
    if not batched:
        out, total = (x if x is None else p.squeeze(x, dims=(0,)) for x in (out, total))
    return [out, query if total is None else total]


def _rows_until(x, lengths):
    """x [batch, length, ...] with 0 from the length of each example on."""
    shape = aval_of(x).shape
    row = p.iota(shape=shape, dtype=dt.int64, dimension=1)
    until = _spread_at(p.convert(lengths, dtype=dt.int64), shape, (0,))
    return p.select(p.lt(row, until), x, like(x, 0))


def _spread_at(x, shape, dims):
    """x broadcast to a shape, its dimensions at `dims`; one number for a batch of one."""
    a = aval_of(x)
    if a.shape != tuple(shape[d] for d in dims):
        x = broadcast_to(x, tuple(shape[d] for d in dims))
    return p.broadcast_in_dim(x, shape=shape, dims=dims)


def _local(scores, query_lengths, key_lengths, window):
    """The mask of what lengths and a window let see; None where they let see all."""
    shape, seen = aval_of(scores).shape, None
    row, column = (p.iota(shape=shape, dtype=dt.int64, dimension=d) for d in (2, 3))

    def also(condition):
        return condition if seen is None else p.and_(seen, condition)

    if key_lengths is not None:
        until = _spread_at(p.convert(key_lengths, dtype=dt.int64), shape, (0,))
        seen = also(p.lt(column, until))
    if query_lengths is not None:
        until = _spread_at(p.convert(query_lengths, dtype=dt.int64), shape, (0,))
        seen = also(p.lt(row, until))
    if window is not None:
        left, right = window
        seen = also(p.and_(p.ge(column, p.sub(row, left)), p.le(column, p.add(row, right))))
    return seen


def _check_attention(q, k, v):
    fits = q.ndim == k.ndim == v.ndim == 4 and k.shape[:3] == v.shape[:3]
    if not fits or q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3] or (not k.shape[2] or q.shape[2] % k.shape[2]):
        raise ValueError(ATTENTION.format(q=q, k=k, v=v))


def _masked(scores, mask, is_causal: bool):
    """Scores with the lowest number where the mask (or a later key) is not to be seen."""
    a = aval_of(scores)
    hidden = like(scores, float(dt.finfo(a.dtype).min))
    if is_causal and a.size:
        row = p.iota(shape=a.shape, dtype=dt.int64, dimension=2)
        column = p.iota(shape=a.shape, dtype=dt.int64, dimension=3)
        scores = p.select(p.le(column, row), scores, hidden)
    if mask is not None:
        mask = broadcast_to(p.convert(mask, dtype=dt.bool_), a.shape)
        scores = p.select(mask, scores, hidden)
    return scores


# ---- losses --------------------------------------------------------------------------------------


@op("fc")
def softmax_cross_entropy(logits, labels, /, *, axis=-1):
    """-sum(labels * log_softmax(logits)) along `axis`; labels are probabilities.

    >>> import functorch_core as fc
    >>> fc.softmax_cross_entropy(fc.asarray([0., 0.]), fc.asarray([0., 1.]))
    Array(0.6931472, dtype=float32)
    """
    logits, labels = promote(logits, labels, name="softmax_cross_entropy", to_inexact=True)
    axes = axes_of(logits, axis, "softmax_cross_entropy")
    return p.neg(p.reduce_sum(p.mul(labels, reductions.softmax(logits, axes, log=True)), axes=axes))


@op("fc")
def softmax_cross_entropy_with_integer_labels(logits, labels, /, *, axis=-1):
    """-log_softmax(logits) along `axis` at the classes that the integer labels name.

    >>> import functorch_core as fc
    >>> fc.softmax_cross_entropy_with_integer_labels(fc.asarray([[0., 0.]]), fc.asarray([1]))
    Array([0.6931472], dtype=float32)
    """
    name = "softmax_cross_entropy_with_integer_labels"
    logits = _floats(logits, name)
    a, i = aval_of(logits), aval_of(labels)
    axis = canonical_axis(axis, a.ndim, name)
    if i.dtype not in dt.INTEGER or i.shape != a.shape[:axis] + a.shape[axis + 1 :]:
        raise ValueError(f"{name}: labels are integers of the shape of the logits without axis {axis}, got {i} for {a}")
    index = p.expand_dims(p.convert(labels, dtype=dt.int64), dims=(axis,))
    chosen = p.take_along_axis(logits, p.wrap_negative(index, a.shape[axis]), axis=axis)
    return p.sub(reductions.logsumexp(logits, (axis,)), p.squeeze(chosen, dims=(axis,)))


@op("fc")
def sigmoid_binary_cross_entropy(logits, labels, /):
    """-labels log(sigmoid(logits)) - (1 - labels) log(1 - sigmoid(logits)), elementwise.

    >>> import functorch_core as fc
    >>> fc.sigmoid_binary_cross_entropy(fc.asarray([0.]), fc.asarray([1.]))
    Array([0.6931472], dtype=float32)
    """
    logits, labels = promote(logits, labels, name="sigmoid_binary_cross_entropy", to_inexact=True)
    return p.sub(_softplus(logits), p.mul(logits, labels))


# ---- convolution and pooling ---------------------------------------------------------------------


def _each(value, n: int, name: str) -> tuple[int, ...]:
    """One int a dimension of an int or a sequence."""
    values = (value,) * n if hasattr(value, "__index__") else tuple(value)
    if len(values) != n:
        raise ValueError(f"{name} is an int or one for each of the {n} spatial dimensions, got {value!r}")
    return tuple(v.__index__() for v in values)


def _padding(padding, sizes, windows, strides, name: str) -> tuple[tuple[int, int], ...]:
    """(low, high) for each dimension, of 'VALID', 'SAME', an int or pairs; windows with holes."""
    n = len(sizes)
    if isinstance(padding, str):
        if padding.upper() == "VALID":
            return ((0, 0),) * n
        if padding.upper() != "SAME":
            raise ValueError(
                f"{name}: padding is 'SAME', 'VALID', an int, or a (low, high) pair for each dimension, got {padding!r}"
            )
        out = []
        for size, window, stride in zip(sizes, windows, strides):
            total = max((-(-size // stride) - 1) * stride + window - size, 0)
            out.append((total // 2, total - total // 2))
        return tuple(out)
    if hasattr(padding, "__index__"):
        return ((padding.__index__(),) * 2,) * n
    pairs = tuple((v, v) if hasattr(v, "__index__") else tuple(v) for v in padding)
    if len(pairs) != n:
        raise ValueError(f"{name}: padding has {len(pairs)} entries for {n} spatial dimensions")
    return pairs


def _dims_of(spec: str, first: str, second: str) -> tuple[int, ...]:
    """Where batch, feature and the spatial dimensions stand in a spec like 'NHWC'."""
    spatial = [c for c in spec if c not in (first, second)]
    return (spec.index(first), spec.index(second), *(spec.index(c) for c in spatial))


@op("fc")
def conv(x, w, /, *, strides=1, padding="VALID", dilation=1, input_dilation=1, groups=1, dimension_numbers=None):
    """The convolution (cross-correlation) of x [N, C, *spatial], w [O, C/groups, *spatial].

    padding: 'VALID', 'SAME', an int, or a pair a dimension. dimension_numbers: three strings like
    ('NHWC', 'HWIO', 'NHWC') for other orders. Operands are promoted. ValueError for sizes that do
    not fit.

    >>> import functorch_core as fc
    >>> fc.conv(fc.ones((1, 1, 4)), fc.ones((1, 1, 2)))
    Array([[[2., 2., 2.]]], dtype=float32)
    """
    dtype = result_dtype((x, w))
    x, w = cast(x, dtype), cast(w, dtype)
    a, k = aval_of(x), aval_of(w)
    n = a.ndim - 2
    if n < 0 or k.ndim != a.ndim:
        raise ValueError(f"conv takes x [N, C, *spatial] and w [O, C/groups, *spatial], got {a} and {k}")
    every = tuple(range(a.ndim))
    lhs, rhs, out = (every,) * 3
    if dimension_numbers is not None:
        lhs, rhs, out = (_dims_of(s, *names) for s, names in zip(dimension_numbers, ("NC", "OI", "NC")))
    strides, dilation, spread = (
        _each(v, n, name)
        for v, name in ((strides, "strides"), (dilation, "dilation"), (input_dilation, "input_dilation"))
    )
    reach = [(k.shape[d] - 1) * r + 1 for d, r in zip(rhs[2:], dilation)]
    sizes = [max(a.shape[d] - 1, 0) * s + 1 for d, s in zip(lhs[2:], spread)]
    return p.conv(
        x,
        w,
        strides=strides,
        padding=_padding(padding, sizes, reach, strides, "conv"),
        lhs_dilation=spread,
        rhs_dilation=dilation,
        dims=(lhs, rhs, out),
        feature_groups=groups,
    )


def _windowed(x, window, strides, padding, dilation, name: str):
    """The arguments of a window reduction over the last dimensions, and the padding of all."""
    a = aval_of(x)
    window = (window,) if hasattr(window, "__index__") else tuple(window)
    n, rest = len(window), a.ndim - len(window)
    if rest < 0:
        raise ValueError(f"{name}: a window of {n} dimensions for {a}")
    strides = window if strides is None else _each(strides, n, "strides")
    dilation = _each(dilation, n, "dilation")
    reach = [(w - 1) * d + 1 for w, d in zip(window, dilation)]
    pads = _padding(padding, a.shape[rest:], reach, strides, name)
    one = (1,) * rest
    return dict(
        window=one + window, strides=one + strides, padding=((0, 0),) * rest + pads, window_dilation=one + dilation
    )


@op("fc")
def max_pool(x, /, window, *, strides=None, padding="VALID", dilation=1):
    """The greatest element of each window over the last dimensions of x; strides default to window.

    padding as for conv, with elements that never win.

    >>> import functorch_core as fc
    >>> fc.max_pool(fc.asarray([[1., 3., 2., 0.]]), 2)
    Array([[3., 2.]], dtype=float32)
    """
    return p.reduce_window_max(x, **_windowed(x, window, strides, padding, dilation, "max_pool"))


@op("fc")
def avg_pool(x, /, window, *, strides=None, padding="VALID", count_include_pad=True):
    """The mean of each window over the last dimensions of x; strides default to window.

    Padded zeros count, unless count_include_pad is False. Integers become float32.

    >>> import functorch_core as fc
    >>> fc.avg_pool(fc.asarray([[1., 3., 2., 0.]]), 2)
    Array([[2., 1.]], dtype=float32)
    """
    x = to_floats(x)
    how = _windowed(x, window, strides, padding, 1, "avg_pool")
    total = p.reduce_window_sum(x, **how)
    if count_include_pad or not np.any(how["padding"]):
        return p.div(total, float(math.prod(how["window"])))
    return p.div(total, p.reduce_window_sum(like(x, 1), **how))


__all__ = [  # what it has in fc, for static tools
    "avg_pool", "celu", "conv", "dot_product_attention", "elu", "gelu", "glu", "hard_sigmoid", "hard_silu",
    "hard_tanh", "identity", "layer_norm", "leaky_relu", "log1mexp", "log_sigmoid", "log_softmax", "max_pool",
    "mish", "one_hot", "relu", "relu6", "rms_norm", "selu", "sigmoid", "sigmoid_binary_cross_entropy", "silu",
    "soft_sign", "softmax", "softmax_cross_entropy", "softmax_cross_entropy_with_integer_labels", "softplus",
    "sparse_plus", "sparse_sigmoid", "squareplus", "standardize",
]  # fmt: skip
