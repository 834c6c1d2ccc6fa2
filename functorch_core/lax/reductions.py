"""jax.lax's reductions, windows, cumulative operations, sorting, products and transforms."""

from __future__ import annotations

import enum
import functools
import math

import numpy as np

import functorch_core as fc

from .. import primitives as p
from ..array.compose import as_dtype, composed, of_arrays
from ..core import dtypes as dt
from ..core.explain import explaining
from ..kernels.complex_order import extreme_over
from ..numpy.elementwise import as_array
from ..ops.keys import philox_state
from ..ops.linear_algebra import products
from ..ops.promotion import canonical_axis
from .convolution import pads_of
from .shapes import pad

function = functools.partial(composed, space="fc.lax")


class FftType(enum.IntEnum):
    """The kinds of Fourier transforms."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


def _reduction(name: str, doc: str, how=lambda primitive: primitive):
    primitive = how(getattr(p, name))

    def call(operand, axes):
        operand = as_array(operand)
        axes = tuple(canonical_axis(d, operand.ndim, name) for d in axes)
        return of_arrays(primitive)(operand, axes=axes)

    call.__name__ = name
    example = "fc.asarray([True, False])" if name in ("reduce_and", "reduce_or") else "fc.asarray([3, 5])"
    call.__doc__ = f"""{doc}

    >>> import functorch_core as fc
    >>> found = fc.lax.{name}({example}, (0,))
    """
    return function("operand")(call)


reduce_sum = _reduction("reduce_sum", "The sums over axes, in the operand's dtype.")
reduce_prod = _reduction("reduce_prod", "The products over axes, in the operand's dtype.")
reduce_max = _reduction("reduce_max", "The greatest elements over axes.", extreme_over)
reduce_min = _reduction("reduce_min", "The least elements over axes.", extreme_over)
reduce_and = _reduction("reduce_and", "Whether all hold (of integers: the bits all have) over axes.")
reduce_or = _reduction("reduce_or", "Whether any holds (of integers: the bits one has) over axes.")
reduce_xor = _reduction("reduce_xor", "Whether an odd number holds (of integers: bit by bit) over axes.")


@function("operand")
def argmax(operand, axis, index_dtype):
    """The index of the greatest element along an axis, in a dtype.

    >>> import functorch_core as fc
    >>> fc.lax.argmax(fc.asarray([1., 3., 2.]), 0, fc.int32)
    Array(1, dtype=int32)
    """
    return fc.argmax(operand, axis=axis).astype(index_dtype)


@function("operand")
def argmin(operand, axis, index_dtype):
    """The index of the least element along an axis, in a dtype.

    >>> import functorch_core as fc
    >>> fc.lax.argmin(fc.asarray([1., 3., 2.]), 0, fc.int32)
    Array(0, dtype=int32)
    """
    return fc.argmin(operand, axis=axis).astype(index_dtype)


# ---- cumulative ----------------------------------------------------------------------------------

cumlogsumexp, cummax, cummin = fc.cumlogsumexp, fc.cummax, fc.cummin


def _running(apply, operand, axis: int, reverse: bool):
    operand = as_array(operand)
    axis = canonical_axis(axis, operand.ndim, "a cumulative operation")
    if not reverse:
        return apply(operand, axis=axis)
    return fc.flip(apply(fc.flip(operand, axis=axis), axis=axis), axis=axis)


@function("operand")
def cumsum(operand, axis=0, reverse=False):
    """The running sums along an axis, or from its end, in the operand's dtype.

    >>> import functorch_core as fc
    >>> fc.lax.cumsum(fc.asarray([1, 2, 3]), reverse=True)
    Array([6, 5, 3], dtype=int64)
    """
    return _running(of_arrays(p.cumsum), operand, axis, reverse)


@function("operand")
def cumprod(operand, axis=0, reverse=False):
    """The running products along an axis, or from its end, in the operand's dtype.

    >>> import functorch_core as fc
    >>> fc.lax.cumprod(fc.asarray([1, 2, 3]))
    Array([1, 2, 6], dtype=int64)
    """
    return _running(of_arrays(p.cumprod), operand, axis, reverse)


# ---- sorting -------------------------------------------------------------------------------------


@explaining
def sort(operand, dimension=-1, is_stable=True, num_keys=1):
    """The array in order along a dimension; of a tuple of arrays, all by the first num_keys.

    >>> import functorch_core as fc
    >>> fc.lax.sort((fc.asarray([3, 1]), fc.asarray([10, 20])))
    (Array([1, 3], dtype=int64), Array([20, 10], dtype=int64))
    """
    if isinstance(operand, (tuple, list)):
        return tuple(_sorted(list(operand), dimension, is_stable, num_keys))
    return _sorted([operand], dimension, is_stable, 1)[0]


@function("operands[]")
def _sorted(operands, dimension, is_stable, num_keys):
    dimension = canonical_axis(dimension, operands[0].ndim, "sort")
    return of_arrays(p.sort)(*operands, dimension=dimension, num_keys=num_keys, stable=is_stable)


@explaining
def sort_key_val(keys, values, dimension=-1, is_stable=True):
    """(keys in order, values in that order) along a dimension.

    >>> import functorch_core as fc
    >>> fc.lax.sort_key_val(fc.asarray([3, 1]), fc.asarray([10, 20]))
    (Array([1, 3], dtype=int64), Array([20, 10], dtype=int64))
    """
    return sort((keys, values), dimension, is_stable, 1)


top_k = fc.top_k


@explaining
def approx_max_k(
    operand, k, reduction_dimension=-1, recall_target=0.95, reduction_input_size_override=-1, aggregate_to_topk=True
):
    """(the k greatest elements along a dimension, their indices), exactly: every recall_target is met.

    >>> import functorch_core as fc
    >>> fc.lax.approx_max_k(fc.asarray([1., 3., 2.]), 2)[0]
    Array([3., 2.], dtype=float32)
    """
    return tuple(fc.top_k(operand, k, axis=reduction_dimension))


@explaining
def approx_min_k(
    operand, k, reduction_dimension=-1, recall_target=0.95, reduction_input_size_override=-1, aggregate_to_topk=True
):
    """(the k least elements along a dimension, their indices), exactly.

    >>> import functorch_core as fc
    >>> fc.lax.approx_min_k(fc.asarray([1., 3., 2.]), 2)[0]
    Array([1., 2.], dtype=float32)
    """
    return tuple(fc.top_k(operand, k, axis=reduction_dimension, largest=False))


# ---- any reduction -------------------------------------------------------------------------------


@explaining
def reduce(operands, init_values, computation, dimensions):
    """Arrays (a pytree) combined over dimensions by computation(a, b), from init_values on.

    computation is associative and takes arrays of any shape; it is applied to halves.

    >>> import functorch_core as fc
    >>> fc.lax.reduce(fc.asarray([1., 2., 3.]), 0., fc.add, (0,))
    Array(6., dtype=float32)
    """
    leaves, structure = fc.tree.flatten(operands)
    leaves = [as_array(x) for x in leaves]
    starts = [as_dtype(v, x.dtype) for v, x in zip(fc.tree.leaves(init_values), leaves)]
    axes = [canonical_axis(d, leaves[0].ndim, "reduce") for d in dimensions]
    rest = [d for d in range(leaves[0].ndim) if d not in axes]
    shape = [leaves[0].shape[d] for d in rest]
    n = math.prod(leaves[0].shape[d] for d in axes)
    rows = [fc.reshape(fc.permute_dims(x, (*axes, *rest)), (n, *shape)) for x in leaves]

    def combine(a, b):
        out = computation(structure.unflatten(a), structure.unflatten(b))
        return [as_dtype(v, x.dtype) for v, x in zip(fc.tree.leaves(out), leaves)]

    starts = [fc.broadcast_to(v, tuple(shape)) for v in starts]
    return structure.unflatten(combine(starts, _halved(rows, combine)) if n else starts)


def _halved(rows: list, combine) -> list:
    """The rows of arrays [n, ...] combined, neighbours first; there is one."""
    while rows[0].shape[0] > 1:
        n = rows[0].shape[0] // 2
        pairs = combine([x[: 2 * n : 2] for x in rows], [x[1 : 2 * n : 2] for x in rows])
        rows = [fc.concat([pair, x[2 * n :]], axis=0) for pair, x in zip(pairs, rows)]
    return [x[0] for x in rows]


@explaining
def reduce_window(
    operand,
    init_value,
    computation,
    window_dimensions,
    window_strides=None,
    padding="VALID",
    base_dilation=None,
    window_dilation=None,
):
    """Each window's elements combined by computation(a, b), from init_value on.

    padding: 'VALID', 'SAME', or (before, after) for each dimension; it is of init_value.

    >>> import functorch_core as fc
    >>> fc.lax.reduce_window(fc.asarray([1., 2., 3.]), 0., fc.add, (2,))
    Array([3., 5.], dtype=float32)
    """
    leaves, structure = fc.tree.flatten(operand)
    starts = fc.tree.leaves(init_value)
    leaves = [as_array(x) for x in leaves]
    ndim = leaves[0].ndim
    strides = tuple(window_strides or (1,) * ndim)
    base, holes = tuple(base_dilation or (1,) * ndim), tuple(window_dilation or (1,) * ndim)
    sizes = [max(n - 1, 0) * b + min(n, 1) for n, b in zip(leaves[0].shape, base)]
    reach = [(w - 1) * h + 1 for w, h in zip(window_dimensions, holes)]
    pads = pads_of(padding, sizes, reach, strides)
    windows = [
        _windows(x, as_dtype(v, x.dtype), tuple(window_dimensions), strides, pads, base, holes)
        for x, v in zip(leaves, starts)
    ]
    found = reduce(structure.unflatten(windows), structure.unflatten(starts), computation, tuple(range(ndim, 2 * ndim)))
    return found


def _windows(x, value, window, strides, pads, base, holes):
    """All windows of an array, [places..., *window]."""
    x = pad(x, value, [(low, high, b - 1) for (low, high), b in zip(pads, base)])
    for d, (w, s, h) in enumerate(zip(window, strides, holes)):
        count = max((x.shape[d] - ((w - 1) * h + 1)) // s + 1, 0)
        places = np.arange(count)[:, None] * s + np.arange(w)[None, :] * h
        taken = fc.take(x, fc.asarray(places.ravel()), axis=d)
        taken = fc.reshape(taken, (*x.shape[:d], count, w, *x.shape[d + 1 :]))
        x = fc.moveaxis(taken, d + 1, -1)
    return x


@explaining
def reduce_window_shape_tuple(
    operand_shape, window_dimensions, window_strides, padding, base_dilation=None, window_dilation=None
):
    """The shape of reduce_window's result, for known padding.

    >>> import functorch_core as fc
    >>> fc.lax.reduce_window_shape_tuple((5,), (2,), (1,), ((0, 0),))
    (4,)
    """
    ndim = len(operand_shape)
    base, holes = base_dilation or (1,) * ndim, window_dilation or (1,) * ndim
    out = []
    for n, w, s, (low, high), b, h in zip(operand_shape, window_dimensions, window_strides, padding, base, holes):
        size = max(n - 1, 0) * b + min(n, 1) + low + high
        out.append(max((size - ((w - 1) * h + 1)) // s + 1, 0))
    return tuple(out)


# ---- products ------------------------------------------------------------------------------------


@function("lhs rhs")
def dot_general(lhs, rhs, dimension_numbers, precision=None, preferred_element_type=None):
    """The sums of products over pairs of dimensions: ((of lhs, of rhs), (batch of lhs, of rhs)).

    precision is JAX's, and not needed.

    >>> import functorch_core as fc
    >>> fc.lax.dot_general(fc.ones((2, 3)), fc.ones((3, 4)), (((1,), (0,)), ((), ()))).shape
    (2, 4)
    """
    (left, right), (batch_left, batch_right) = dimension_numbers
    dtype = fc.result_type(lhs, rhs)
    out = None if preferred_element_type is None else dt.canonical(preferred_element_type)
    dtype = out if out is not None and dtype == dt.bool_ else dtype
    numbers = {"contract": (tuple(left), tuple(right)), "batch": (tuple(batch_left), tuple(batch_right))}
    lhs, rhs = as_dtype(lhs, dtype), as_dtype(rhs, dtype)
    if out is not None and dt.bool_ != out and dt.category(out) >= dt.category(dtype):
        return of_arrays(p.dot_general)(lhs, rhs, **numbers, out_dtype=out)
    found = of_arrays(products(p.dot_general))(lhs, rhs, **numbers)
    return found if out is None else found.astype(out)


@explaining
def dot(lhs, rhs, *, dimension_numbers=None, precision=None, preferred_element_type=None):
    """The product of vectors and matrices, or by dimension_numbers as dot_general.

    >>> import functorch_core as fc
    >>> fc.lax.dot(fc.asarray([1., 2.]), fc.asarray([3., 4.]))
    Array(11., dtype=float32)
    """
    lhs, rhs = as_array(lhs), as_array(rhs)
    if dimension_numbers is None:
        if not 1 <= lhs.ndim <= 2 or not 1 <= rhs.ndim <= 2:
            raise TypeError(f"dot takes vectors and matrices, got {lhs.aval} and {rhs.aval}; see dot_general")
        dimension_numbers = (((lhs.ndim - 1,), (0,)), ((), ()))
    return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)


@explaining
def batch_matmul(lhs, rhs, precision=None):
    """The products of matrices in the last two dimensions; the others are equal.

    >>> import functorch_core as fc
    >>> fc.lax.batch_matmul(fc.ones((2, 3, 4)), fc.ones((2, 4, 5))).shape
    (2, 3, 5)
    """
    n = lhs.ndim
    if n < 2 or rhs.ndim != n:
        raise ValueError(f"batch_matmul takes arrays of one number of dimensions, got {lhs.aval} and {rhs.aval}")
    batch = tuple(range(n - 2))
    return dot_general(lhs, rhs, (((n - 1,), (n - 2,)), (batch, batch)))


@function("lhs rhs group_sizes")
def ragged_dot(lhs, rhs, group_sizes, precision=None, preferred_element_type=None, group_offset=None):
    """Rows of lhs [m, k], in groups of group_sizes [g], each times its matrix of rhs [g, k, n].

    Rows behind the last group give 0.

    >>> import functorch_core as fc
    >>> fc.lax.ragged_dot(fc.ones((3, 2)), fc.ones((2, 2, 1)), fc.asarray([1, 2])).shape
    (3, 1)
    """
    if group_offset is not None:
        raise NotImplementedError("ragged_dot: group_offset is for several devices\n    Leave it out.")
    ends = fc.cumulative_sum(group_sizes)
    rows = fc.arange(lhs.shape[0])
    inside = (rows[None, :] >= (ends - group_sizes)[:, None]) & (rows[None, :] < ends[:, None])
    dtype = fc.result_type(lhs, rhs)
    parts = fc.where(inside[..., None], lhs[None].astype(dtype), fc.zeros((), dtype=dtype))
    out = fc.einsum("gmk,gkn->mn", parts, rhs.astype(dtype))
    return out if preferred_element_type is None else out.astype(preferred_element_type)


@function("x")
def fft(x, fft_type, fft_lengths):
    """The Fourier transform over the last dimensions: 'FFT', 'IFFT', 'RFFT' or 'IRFFT', of given lengths.

    >>> import functorch_core as fc
    >>> fc.lax.fft(fc.asarray([1., 0.]), "RFFT", (2,))
    Array([1.+0.j, 1.+0.j], dtype=complex64)
    """
    kind = (
        fft_type.name
        if isinstance(fft_type, enum.Enum)
        else FftType(fft_type).name
        if isinstance(fft_type, int)
        else str(fft_type)
    )
    kind = kind.lower()
    x = as_array(x)
    if kind in ("fft", "ifft") and x.dtype not in dt.COMPLEX:
        x = x.astype(dt.complex_of(x.dtype))
    return of_arrays(p.fft)(x, kind=kind, lengths=tuple(fft_lengths))


# ---- random bits ---------------------------------------------------------------------------------


class RandomAlgorithm(enum.IntEnum):
    """The generators of rng_bit_generator; all are fc.random's."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2


@function("key")
def _philox(key, shape, dtype):
    """(the key with its counter moved on, bits) of a key uint32[4]."""
    state, drawn = of_arrays(p.philox_bits)(of_arrays(philox_state)(key), shape=shape, bits=8 * dtype.itemsize)
    words = [(state[i] >> shift).astype("uint32") for i in (0, 1) for shift in (0, 32)]
    return fc.stack(words), drawn


@explaining
def rng_bit_generator(key, shape, dtype=np.uint32, algorithm=RandomAlgorithm.RNG_DEFAULT):
    """(a new key, random bits) of a key uint32[4], XLA's generator Philox; as JAX's.

    Of a key uint32[2] they are fc.random.bits of one half of its split.

    >>> import functorch_core as fc
    >>> fc.lax.rng_bit_generator(fc.random.PRNGKey(0, impl="rbg"), (2,))[1].shape
    (2,)
    """
    if np.shape(key) == (4,) and algorithm != RandomAlgorithm.RNG_THREE_FRY:
        return _philox(key, shape=tuple(shape), dtype=np.dtype(dtype))
    new, sub = fc.random.split(key)
    return new, fc.random.bits(sub, shape, dtype)


__all__ = [
    "FftType", "RandomAlgorithm", "approx_max_k", "approx_min_k", "argmax", "argmin", "batch_matmul",
    "cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum", "dot", "dot_general", "fft", "ragged_dot", "reduce",
    "reduce_and", "reduce_max", "reduce_min", "reduce_or", "reduce_prod", "reduce_sum", "reduce_window",
    "reduce_window_shape_tuple", "reduce_xor", "rng_bit_generator", "sort", "sort_key_val", "top_k",
]  # fmt: skip
