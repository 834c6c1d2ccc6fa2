"""Embedding and dropout."""

from __future__ import annotations

import functools
import math

from .... import primitives as p
from ....core import dtypes as dt
from ....core.warn import warn
from ....kernels.shapes import one_hot as hot
from ....kernels.values import (
    Derived,
    along,
    aval_of,
    expanded,
    full_like,
    iota_along,
    like,
    np,
    stop_gradient,
    tied,
    total,
    wide,
)
from ...dispatch import bounds as _bounds
from ...dispatch.inplace import inplace as in_place
from ...dispatch.op import Looking, composite, torch_op
from ...dispatch.slots import MaybeTensor, Number
from ...tape.meta import NO_ITEM, is_meta, is_readable
from ...tape.modes import no_grad
from ...tensors.active import overridable
from ...tensors.base import Tensor, from_array
from ...tensors.explain import explain
from ...views.cells import assign, check_writable, layout_of
from .. import random as _random
from ..linalg.distances import vector_norm
from ..random import on_device
from ..random.sampling import sampled
from ..random.seeds import bits_of
from ..shape.data import finish
from ..values import name_of, scalar

MANY = 1 << 16  # elements

# ---- random draws --------------------------------------------------------------------------------


def drawn(kind: str, input, *args, shape=None, generator=None):
    """A fresh tensor of input's dtype (and shape), drawn as PyTorch's CPU generator draws it."""

    def draw(shape):
        return getattr(_random, kind)(bits_of(generator), shape, input._aval.dtype, *args)

    return sampled(draw, input.shape if shape is None else shape, device=input.device)


def dropout_mask(shape, input, p_drop: float, order: list[int] | None = None):
    """Where elements stay, as a tensor of ones and zeros: in the input's dtype, or of many elements as booleans,
    a fourth of the memory (PyTorch's is of the input's dtype).

    `order`: the dimensions, outermost first, in which the elements are drawn.
    """

    def draw(shape):
        if order is None or len(shape) != len(order):
            mask = _random.dropout_mask(bits_of(None), shape, p_drop)
        else:
            mask = _random.dropout_mask(bits_of(None), tuple(shape[d] for d in order), p_drop)
            mask = mask.transpose(np.argsort(order))
        dtype = np.dtype(bool) if mask.size > MANY else input._aval.dtype
        return mask.astype(dtype, order="C", copy=False)

    return sampled(draw, shape, device=input.device, there=on_device.ones(np.dtype(bool), 1.0 - p_drop))


def memory_order(tensor) -> list[int] | None:
    """The dimensions by their strides, largest first; None if that is the order they are in.

    PyTorch fills a tensor like another in that order: a transposed input has another dropout mask.
    """
    if tensor._level is not None or (tensor._view is None and tensor._strides is None):
        return None
    strides = layout_of(tensor)[1]
    order = sorted(range(len(strides)), key=lambda d: -strides[d])
    return None if 0 in strides or order == sorted(order) else order


# ---- dropout -------------------------------------------------------------------------------------


@torch_op(node="Mul0(input, -)", in_place="mul_.Tensor")
def _masked_scale(input: Tensor, mask: Tensor, divisor: Number):
    """input * (mask / divisor), the mask broadcast."""
    mask = like(mask, input)
    scaled = p.div(mask, scalar(mask, divisor))
    return p.mul(input, expanded(scaled, aval_of(input).shape))


@torch_op(node="add", in_place="mul_.Tensor")
def _alpha_masked(input: Tensor, mask: Tensor, slope: Number, below: Number):
    """a * where(mask, input, saturation) + b, with a and b that keep mean and variance."""
    shape = aval_of(input).shape
    mask = like(mask, input)
    a = scalar(mask, slope)
    dropped = p.mul(p.sub(mask, full_like(mask, 1)), p.mul(a, full_like(a, ALPHA)))
    shift = p.add(dropped, scalar(mask, below))
    return p.add(p.mul(input, expanded(p.mul(mask, a), shape)), expanded(shift, shape))


ALPHA = 1.7580993408473766


def _check_probability(p_drop: float):
    if not 0 <= p_drop <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p_drop}")


def _dropped(input, p_drop: float, train: bool, feature: bool, alpha: bool, inplace: bool):
    """The kinds of dropout: features or elements, with zeros or the SELU's saturation."""
    if not 0 <= p_drop <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p_drop}")
    if p_drop == 0 or not train or not input.numel():
        return input
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(f"result type Float can't be cast to the desired output type {name_of(input._read())}")
    if p_drop == 1:
        factor = from_array(_zeros(input))
        return in_place(_masked_scale, input, (factor, 1.0), {}) if inplace else (_masked_scale(input, factor, 1.0))
    shape = input.shape
    if feature:
        if input.ndim < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        shape = (*shape[:2], *(1,) * (input.ndim - 2))
    mask = dropout_mask(shape, input, p_drop, None if feature else memory_order(input))
    if not alpha:
        op, args = _masked_scale, (mask, 1.0 - p_drop)
    else:
        slope = 1.0 / math.sqrt((ALPHA * ALPHA * p_drop + 1) * (1 - p_drop))
        op, args = _alpha_masked, (mask, slope, ALPHA * slope * p_drop)
    return in_place(op, input, args, {}) if inplace else op(input, *args)


def _zeros(input):
    return np.zeros((), input._aval.dtype)


def _declare_dropout(name: str, feature: bool, alpha: bool, doc: str):
    """torch.NAME(input, p, train) and torch.NAME_."""

    def drop(input, p, train):
        return _dropped(input, p, train, feature, alpha, False)

    def drop_(input, p, train):
        return _dropped(input, p, train, feature, alpha, True)

    drop.__doc__, drop_.__doc__ = (
        f"""{doc}{where}

        >>> torch.{name}{end}(torch.ones(1, 2), 0.5, train=False)
        tensor([[1., 1.]])
        """
        for where, end in (("", ""), (" In place.", "_"))
    )
    return (composite(drop, name=name, method=False), composite(drop_, name=f"{name}_", method=False))


_declare_dropout("dropout", False, False, "Elements dropped with probability p, the rest scaled up.")
_declare_dropout("feature_dropout", True, False, "Whole features dropped with probability p.")
_declare_dropout("alpha_dropout", False, True, "Elements set to the SELU's saturation.")
_declare_dropout("feature_alpha_dropout", True, True, "Features set to the SELU's saturation.")


@composite(method=False)
def native_dropout(input, p, train):
    """dropout and the mask of what stays.

    >>> torch.native_dropout(torch.ones(3), 0.5, False)
    (tensor([1., 1., 1.]), tensor([True, True, True]))
    """
    if train is False or p == 0:
        return input.clone(), finish(np.ones(tuple(input.shape), bool), input.device)
    keep = sampled(
        lambda shape: _random.dropout_mask(bits_of(None), shape, p),
        tuple(input.shape),
        device=input.device,
        there=on_device.ones(np.dtype(bool), 1.0 - p),
    )
    return _masked_scale(input, keep.to(input.dtype), 1.0 - p if p < 1 else 1.0), keep


@overridable
def dropout(input, p=0.5, training=True, inplace=False):
    """Each element zero with probability p in training, the others divided by 1 - p.

    >>> nn.functional.dropout(torch.ones(2), training=False)
    tensor([1., 1.])
    """
    _check_probability(p)
    return _dropped(input, p, training, False, False, inplace)


@overridable
def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout to the negative saturation of SELU, keeping mean and variance.

    >>> F.alpha_dropout(torch.ones(3), 0.5, training=False)
    tensor([1., 1., 1.])
    """
    _check_probability(p)
    return _dropped(input, p, training, False, True, inplace)


@overridable
def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """alpha_dropout of whole channels.

    >>> F.feature_alpha_dropout(torch.ones(1, 2, 2), 0.5, training=False)
    tensor([[[1., 1.],
             [1., 1.]]])
    """
    _check_probability(p)
    return _dropped(input, p, training, True, True, inplace)


UNBATCHED = (
    "dropout2d: Received a {n}-D input to dropout2d, which is deprecated and will result "
    "in an "
    "error in a future release. To retain the behavior and silence this warning, please "
    "use "
    "dropout instead. Note that dropout2d exists to provide channel-wise dropout on "
    "inputs with "
    "2 spatial dimensions, a channel dimension, and an optional batch dimension (i.e. 3D "
    "or 4D "
    "inputs)."
)
NO_BATCH_1D = (
    "dropout1d: Expected 2D or 3D input, but received a {n}D input. Note that "
    "dropout1d exists "
    "to provide channel-wise dropout on inputs with 1 spatial dimension, a channel "
    "dimension, "
    "and an optional batch dimension (i.e. 2D or 3D inputs)."
)


@overridable
def dropout1d(input, p=0.5, training=True, inplace=False):
    """Whole channels of (N, C, L) or (C, L) dropped.

    >>> F.dropout1d(torch.ones(1, 2, 2), 0.5, training=False)
    tensor([[[1., 1.],
             [1., 1.]]])
    """
    _check_probability(p)
    if input.ndim not in (2, 3):
        raise RuntimeError(NO_BATCH_1D.format(n=input.ndim))
    return _unbatched_features(input, p, training, inplace, input.ndim == 2)


@overridable
def dropout2d(input, p=0.5, training=True, inplace=False):
    """Whole channels of (N, C, H, W) dropped; of (N, C, L) with a warning.

    >>> F.dropout2d(torch.ones(1, 2, 1, 2), 0.5, training=False)
    tensor([[[[1., 1.]],
    <BLANKLINE>
             [[1., 1.]]]])
    """
    _check_probability(p)
    if input.ndim not in (3, 4):
        warn(UNBATCHED.format(n=input.ndim))
    if input.ndim == 3:
        warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise "
            "1D "
            "dropout behavior is desired - input is interpreted as shape (N, C, L), "
            "where C is"
            " the channel dim. This behavior will change in a future release to "
            "interpret the "
            "input as one without a batch dimension, i.e. shape (C, H, W). To maintain "
            "the 1D "
            "channel-wise dropout behavior, please switch to using dropout1d instead."
        )
    return _dropped(input, p, training, True, False, inplace)


@overridable
def dropout3d(input, p=0.5, training=True, inplace=False):
    """Whole channels of (N, C, D, H, W) or (C, D, H, W) dropped.

    >>> F.dropout3d(torch.ones(1, 2, 1, 1, 2), 0.5, training=False).shape
    torch.Size([1, 2, 1, 1, 2])
    """
    _check_probability(p)
    if input.ndim not in (4, 5):
        warn(UNBATCHED.format(n=input.ndim).replace("dropout2d", "dropout3d"))
    return _unbatched_features(input, p, training, inplace, input.ndim == 4)


def _unbatched_features(input, p_drop, training, inplace, unbatched: bool):
    if not unbatched:
        return _dropped(input, p_drop, training, True, False, inplace)
    if inplace:
        return assign(input, _dropped(input.unsqueeze(0), p_drop, training, True, False, False).squeeze(0))
    return _dropped(input.unsqueeze(0), p_drop, training, True, False, False).squeeze(0)


# ---- embedding -----------------------------------------------------------------------------------


@functools.cache
def _by_frequency() -> Derived:
    """take of rows whose derivative divides what comes to a row by how often it was taken."""

    def fun(weight, index, counts):
        return p.take(weight, index, axis=0, mode="fill")

    def linear(t, weight, index, counts, out):
        rows = p.take(t, index, axis=0, mode="fill", fill_value=0)
        return p.div(rows, along_first(counts, aval_of(rows).shape))

    return Derived(fun, linear)


def along_first(x, shape):
    """x along the first dimensions of a shape."""
    return p.broadcast_in_dim(x, shape=shape, dims=tuple(range(aval_of(x).ndim)))


@composite(kind=Looking, name="embedding", method=False)
def torch_embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """Rows of weight at indices; with `sparse`, the gradient by the weight is a sparse tensor.

    >>> torch.embedding(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([1, 0, 1]))
    tensor([[3., 4.],
            [1., 2.],
            [3., 4.]])
    """
    if sparse:
        from ..sparse.embedding import sparse_embedding

        return sparse_embedding(weight, indices, padding_idx, scale_grad_by_freq)
    rows = _embedding(weight, indices, padding_idx, scale_grad_by_freq)
    _bounds.check(indices, weight._aval.shape[0], 0, "embedding", message=_bounds.IN_SELF, result=rows)
    return rows


@torch_embedding.simply(Tensor, int, bool, bool)
def _embedded_inside(weight, indices, padding_idx, scale_grad_by_freq, sparse) -> Tensor | None:
    """Of indices that were looked at before."""
    shape = weight._value.aval.shape
    if sparse or len(shape) != 2 or not _bounds.is_inside(indices, shape[0]):
        return None
    run = _embedding.runs.get((type(weight), type(indices), int, bool))
    return None if run is None else run(weight, indices, padding_idx, scale_grad_by_freq)


@torch_op(devices="any")
def _embedding(weight: Tensor, indices: Tensor, padding_idx, scale_grad_by_freq):
    index = indices
    if aval_of(index).dtype not in (dt.int64, dt.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following "
            f"scalar types: Long, Int; but got torch.{name_of(index)}Tensor instead "
            "(while checking arguments for embedding)"
        )
    if aval_of(weight).ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if scale_grad_by_freq:
        rows = _by_frequency()(weight, index, _frequencies(weight, index))
    else:
        rows = p.take(weight, index, axis=0, mode="fill")
    if padding_idx < 0:
        return rows
    padding = along_first(p.eq(index, full_like(index, padding_idx)), aval_of(rows).shape)
    return p.select(padding, stop_gradient(rows), rows)


def _frequencies(weight, index):
    """How often each of the indices occurs among them, in weight's dtype."""
    dtype = aval_of(weight).dtype
    flat = p.reshape(index, shape=(aval_of(index).size,))
    ones = p.full(aval_of(flat).shape, 1, dtype)
    counts = p.scatter_axis(p.full((aval_of(weight).shape[0],), 0, dtype), flat, ones, axis=0, combine="add")
    return p.take(counts, index, axis=0, mode="clip")


@overridable
def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """Rows of weight at the indices in input. The row padding_idx gets no gradient.

    With max_norm, the rows used that are longer are first shortened, in place. With `sparse` the
    gradient by the weight is a sparse tensor.

    >>> nn.functional.embedding(torch.tensor([1]), torch.tensor([[1.], [2.]]))
    tensor([[2.]])
    """
    row = -1
    if padding_idx is not None:
        n = weight.size(0)
        if not -n <= padding_idx < n:
            raise AssertionError("Padding_idx must be within num_embeddings")
        row = padding_idx % n
    if max_norm is not None:
        with no_grad():
            embedding_renorm_(weight, input, max_norm, norm_type)
    return torch_embedding(weight, input, row, scale_grad_by_freq, sparse)


@composite(method=False)
def embedding_renorm_(input, indices, max_norm, norm_type):
    """The rows of input at indices shortened, in place, to max_norm.

    >>> torch.embedding_renorm_(torch.tensor([[3., 4.], [0.3, 0.4]]), torch.tensor([0]), 1.0, 2.0)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    check_writable(input, op="embedding_renorm")
    _bounds.check(
        indices,
        input._aval.shape[0],
        0,
        "embedding_renorm_",
        message=(f"select(): index {{index}} out of range for tensor of size {list(input.shape)} at dimension 0"),
        negative=True,
    )
    with no_grad():
        assign(input, _renormed(input.detach(), indices, max_norm, float(norm_type)), op="embedding_renorm")
    return input


@torch_op(autocast={"cuda": "full"})
def _renormed(weight: Tensor, indices: Tensor, max_norm: Number, norm_type):
    x = wide(weight)
    shape = aval_of(x).shape
    flat = p.reshape(indices, shape=(aval_of(indices).size,))
    hits = p.scatter_axis(
        p.full((shape[0],), 0, dt.int32), flat, p.full(aval_of(flat).shape, 1, dt.int32), axis=0, combine="max"
    )
    length = vector_norm(x, norm_type, (1,))
    limit = scalar(length, max_norm)
    factor = p.div(limit, p.add(length, full_like(length, 1e-7)))
    long = p.and_(p.gt(length, limit), p.gt(hits, 0))
    factor = p.select(long, factor, full_like(factor, 1))
    return like(p.mul(x, along(factor, shape, 0)), weight)


@torch_op
def _one_hot(input: Tensor, num_classes):
    return hot(input, num_classes, aval_of(input).ndim, dt.int64)


@overridable
def one_hot(tensor, num_classes=-1):
    """Integers as vectors of zeros with a one where they point; int64.

    >>> nn.functional.one_hot(torch.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    if tensor._aval.dtype != dt.int64:
        raise explain(RuntimeError("one_hot is only applicable to index tensor of type LongTensor."))
    if not tensor.numel():
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return _one_hot(tensor, num_classes)
    if num_classes == -1 and is_meta(tensor):
        raise RuntimeError(NO_ITEM)
    if is_readable(tensor):
        array = tensor._array()
        if array.min() < 0:
            raise RuntimeError("Class values must be non-negative.")
        if num_classes == -1:
            num_classes = int(array.max()) + 1
        elif num_classes < 1:
            raise RuntimeError("num_classes should be positive")
        elif num_classes <= array.max():
            raise RuntimeError("Class values must be smaller than num_classes.")
    elif num_classes == -1:
        raise RuntimeError(
            "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. "
            "We don't support that yet."
        )
    return _one_hot(tensor, num_classes)


NOT_EMBEDDED = "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {index}"

# ---- embedding_bag -------------------------------------------------------------------------------


@torch_op(devices="any")
def _embedding_bag(
    weight: Tensor,
    indices: Tensor,
    bags: Tensor,
    per_sample_weights: MaybeTensor,
    count,
    mode,
    padding_idx,
    scale_grad_by_freq,
):
    """The sum, mean or maximum of the rows of each bag; `bags` says which bag an index is in."""
    if not aval_of(indices).size:
        empty = p.full((count, aval_of(weight).shape[1]), 0, aval_of(weight).dtype)
        return tied(empty, weight)
    rows = _bag_rows(weight, indices, scale_grad_by_freq)
    shape = aval_of(rows).shape
    counted = p.full((shape[0],), True, dt.bool_)
    if padding_idx >= 0:
        counted = p.ne(indices, full_like(indices, padding_idx))
    bags = p.select(counted, bags, full_like(bags, count))  # out of bounds: left out
    if per_sample_weights is not None:
        rows = p.mul(rows, along(like(per_sample_weights, rows), shape, 0))
    if mode == "max":
        return like(_bag_maxima(rows, bags, count), weight)
    base = p.full((count, shape[1]), 0, aval_of(rows).dtype)
    sums = p.scatter_axis(base, bags, rows, axis=0, combine="add")
    if mode == "mean":
        sums = p.div(sums, along(_bag_sizes(bags, count, aval_of(rows).dtype), aval_of(sums).shape, 0))
    return like(sums, weight)


def _bag_rows(weight, indices, scale_grad_by_freq: bool):
    """The rows at the indices, a vector."""
    if scale_grad_by_freq:
        return wide(_by_frequency()(weight, indices, _frequencies(weight, indices)))
    return wide(p.take(weight, indices, axis=0, mode="fill"))


@torch_op(devices="any", node="EmbeddingBag0(weight, per_sample_weights)")
def _even_bags(
    weight: Tensor, indices: Tensor, per_sample_weights: MaybeTensor, width, mode, padding_idx, scale_grad_by_freq
):
    """Sums or means of bags of `width` indices each, without a scatter."""
    rows = _bag_rows(weight, indices, scale_grad_by_freq)
    n, size = aval_of(rows).shape
    if per_sample_weights is not None:
        rows = p.mul(rows, along(like(per_sample_weights, rows), (n, size), 0))
    sizes = p.full((n // width,), width, aval_of(rows).dtype)
    if padding_idx >= 0:
        counted = p.ne(indices, full_like(indices, padding_idx))
        rows = p.select(along(counted, (n, size), 0), rows, p.zeros(aval_of(rows)))
        counted = p.convert(p.reshape(counted, shape=(n // width, width)), dtype=aval_of(rows).dtype)
        sizes = p.max(total(counted, (1,)), full_like(sizes, 1))
    sums = total(p.reshape(rows, shape=(n // width, width, size)), (1,))
    return like(sums if mode == "sum" else p.div(sums, along(sizes, aval_of(sums).shape, 0)), weight)


def _bag_sizes(bags, count: int, dtype):
    """How many rows each bag has, at least 1."""
    zero, ones = p.full((count,), 0, dtype), p.full(aval_of(bags).shape, 1, dtype)
    sizes = p.scatter_axis(zero, bags, ones, axis=0, combine="add")
    return p.max(sizes, full_like(sizes, 1))


def _bag_maxima(rows, bags, count: int):
    """The maxima of bags (0 of none); the first row that attains one gets all of the derivative."""
    a = aval_of(rows)
    base = p.full((count, a.shape[1]), -math.inf, a.dtype)
    top = p.scatter_axis(stop_gradient(base), bags, stop_gradient(rows), axis=0, combine="max")
    hit = p.eq(rows, p.take(top, bags, axis=0, mode="clip"))
    order = iota_along(a.shape, 0)
    never = p.full((count, a.shape[1]), a.shape[0], dt.int64)
    first = p.scatter_axis(never, bags, p.select(hit, order, full_like(order, a.shape[0])), axis=0, combine="min")
    none = p.ge(first, full_like(first, a.shape[0]))
    safe = p.min(first, full_like(first, a.shape[0] - 1))
    taken = p.take_along_axis(rows, safe, axis=0, mode="clip")
    return p.select(none, p.zeros(aval_of(taken)), taken)


@torch_op
def _bag_numbers(offsets: Tensor, length):
    """For every index the number of its bag, from where the bags begin."""
    starts = p.full((length + 1,), 0, dt.int64)
    index = p.convert(offsets, dtype=dt.int64)
    ones = p.full(aval_of(index).shape, 1, dt.int64)
    starts = p.scatter_axis(starts, index, ones, axis=0, combine="add")
    numbers = p.cumsum(starts, axis=0)
    return p.sub(p.slice_in_dim(numbers, start=0, limit=length, dimension=0), p.full((length,), 1, dt.int64))


def _check_bag(input, weight, offsets, mode, per_sample_weights):
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum or mean")
    if per_sample_weights is not None:
        if input.size() != per_sample_weights.size():
            raise ValueError(
                "embedding_bag: If per_sample_weights "
                f"({per_sample_weights.shape}) is not None, then it must have the "
                "same "
                f"shape as the input ({input.shape})"
            )
        if mode != "sum":
            raise NotImplementedError(
                "embedding_bag: per_sample_weights was not None. "
                "per_sample_weights is only supported for mode='sum' (got "
                f"mode='{mode}')."
            )
        if per_sample_weights.dtype != weight.dtype:
            raise RuntimeError(
                "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
                f"'per_sample_weights'; but type {weight.type()} does not equal {per_sample_weights.type()} "
                "(while checking arguments for embedding_bag)"
            )
    if input.ndim == 2 and offsets is not None:
        raise ValueError(
            "if input is 2D, then offsets has to be None, as input is treated is a "
            "mini-batch of fixed length sequences. However, found offsets of type "
            f"{type(offsets)}"
        )
    if input.ndim == 1 and offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if input.ndim == 1 and offsets.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    if input.ndim not in (1, 2):
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")


BAG_ORDER = (
    "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
    "deprecated, and should now be `embedding_bag(input, weight, ...)`."
)


@overridable
def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type=2,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """Sums, means or maxima of the rows of weight in each bag of indices.

    The bags are the rows of a 2-d input, or begin at `offsets` of a 1-d one.

    >>> nn.functional.embedding_bag(torch.tensor([[0, 1]]), torch.tensor([[1.], [3.]]))
    tensor([[2.]])
    """
    if weight._aval.dtype in (dt.int32, dt.int64) and input.is_floating_point():
        warn(BAG_ORDER)
        input, weight = weight, input
    _check_bag(input, weight, offsets, mode, per_sample_weights)
    if padding_idx is not None:
        n = weight.size(0)
        if not -n <= padding_idx < n:
            raise RuntimeError(
                f"padding_idx must be within the number of embeddings, -{n} through {n - 1}, but got {padding_idx}"
            )
        padding_idx %= n
    if max_norm is not None:
        with no_grad():
            embedding_renorm_(weight, input, max_norm, norm_type)
    if input.ndim == 2:
        count, width = input.shape
        even = mode != "max" and width > 0
        bags = None if even else from_array(np.repeat(np.arange(count), width))
        input = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    else:
        if include_last_offset:
            if not offsets.shape[0]:
                raise RuntimeError("include_last_offset: number of offset should be at least 1")
            offsets = offsets[:-1]
        _check_offsets(offsets, input)
        count, bags = offsets.shape[0], _bag_numbers(offsets, input.shape[0])
    table, index, padding = weight, input, -1 if padding_idx is None else padding_idx
    if sparse and mode != "max":
        from ..sparse.embedding import used_rows

        table, index, padding = used_rows(weight, input, padding, scale_grad_by_freq)
        scale_grad_by_freq = False
    if bags is None:
        bags = _even_bags(table, index, per_sample_weights, width, mode, padding, scale_grad_by_freq)
    else:
        bags = _embedding_bag(table, index, bags, per_sample_weights, count, mode, padding, scale_grad_by_freq)
    n = weight._aval.shape[0]
    _bounds.check(input, n, 0, "embedding_bag", message=NOT_EMBEDDED, error=RuntimeError, result=bags)
    return bags


def _check_offsets(offsets, input):
    if is_readable(offsets) and offsets.numel():
        array = offsets._array()
        if array[0] != 0:
            raise RuntimeError(
                "offsets[0] has to be 0, i.e., the first sequence in the "
                "mini-batch has "
                f"to start from position 0. However, got {int(array[0])}"
            )
        if array[-1] > input.shape[0]:
            raise RuntimeError(
                "offsets[-1] can not be greater than input's length "
                f"{input.shape[0]} but got offsets[-1] of {int(array[-1])}"
            )
