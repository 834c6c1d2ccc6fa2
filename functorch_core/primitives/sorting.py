"""Sorting: sort of several operands by the first ones, top_k, argsort.

The order is NumPy's: NaN comes last (first if descending), -0.0 equals 0.0, complex numbers go by
real, then imaginary part. Both NumPy and XLA sort unsigned integers that are in that order, the
keys: neither then needs to know about NaN, and GPUs have radix sort for them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval, aval_of
from ..core.lowering import LowerContext, Operand, callback_op
from ..core.primitive import NOT_LINEAR, Estimate, Primitive, Traits
from ..core.reference import specialised
from ..core.trace import bind
from ..core.types import Batcheds, Dims, Function, Ints, Jvps, Tangents, Value
from .batching import Axis, all_at_front, move_batch_axis
from .bitwise import not_, xor
from .comparison import eq, lt, ne, select
from .convert import bitcast, convert, imag, real
from .declare import check_dtype
from .host_few import FEW
from .indexing import take_along_axis
from .slicing import slice_in_dim
from .structure import full, iota

SORTING = Traits(family="sort", numpy=9, compiled=1.0, expensive=True)
TOP = 1.2  # nanoseconds an element for the largest ones


def _sorted(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
    """Of one array of NumPy's own numbers, which it sorts by vector instructions, a tenth counts."""
    alone = len(operands) == 1 and operands[0].dtype.kind in "fiu" and operands[0].dtype.itemsize >= 4
    return operands[0].size * (0.1 if alone else 1.0)


def _called_back(numpy: float, work: Estimate) -> Estimate:
    """What NumPy takes where programs call it back. So none is made for that alone: to sort 4096 x 4096 bytes took 2.8
    s at the first call for 0.5, and the copies that XLA needs."""

    def microseconds(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
        return numpy * 1e-3 * work(operands, results, params) if operands[0].size >= CALLBACK_FROM else 0.0

    return microseconds


# From so many elements on a CPU program sorts by a NumPy callback. XLA's sort against the callback,
# of float32, in microseconds: 300 elements 35 and 35, 10^3 113 and 41, 10^4 1,687 and 186, 10^5
# 33,300 and 2,386, 10^6 294,000 and 39,300 (where NumPy's sort is vectorised less well than it can
# be); with an index 37 and 66, 144 and 110, 1,707 and 399, 20,800 and 5,100, 266,000 and 75,400.
CALLBACK_FROM = 1000
LARGE = 1 << 14  # elements; of fewer a few calls of NumPy more do not pay

# ---- keys: unsigned integers in the order of the values ------------------------------------------

UNSIGNED = {1: dt.uint8, 2: dt.uint16, 4: dt.uint32, 8: dt.uint64}


def _sign_bit(dtype: np.dtype) -> int:
    """The highest bit of an unsigned dtype."""
    return 1 << (8 * dtype.itemsize - 1)


def sort_keys(x: Value, *, descending: bool = False) -> list[Value]:
    """Unsigned integers that sort as x does: one array, or three if x is complex."""
    dtype = aval_of(x).dtype
    if dtype in dt.COMPLEX:
        re, im = real(x), imag(x)
        parts = [_nan_class(re, im), re, im]
        return [key for part in parts for key in sort_keys(part, descending=descending)]
    key = _float_key(x) if dtype in dt.FLOATING else _integer_key(x)
    return [not_(key) if descending else key]


def _nan_class(re: Value, im: Value) -> Value:
    """0 to 3: numbers, NaN in the imaginary part, in the real part, in both."""
    two, one = (full(aval_of(re).shape, n, dt.uint8) for n in (2, 1))
    zero = full(aval_of(re).shape, 0, dt.uint8)
    return xor(select(ne(re, re), two, zero), select(ne(im, im), one, zero))


def _integer_key(x: Value) -> Value:
    dtype = aval_of(x).dtype
    if dtype == dt.bool_:
        return convert(x, dtype=dt.uint8)
    if dtype in dt.UNSIGNED:
        return x
    bits = bitcast(x, dtype=UNSIGNED[dtype.itemsize])
    return xor(bits, _sign_bit(aval_of(bits).dtype))


def _float_key(x: Value) -> Value:
    if aval_of(x).dtype in dt.FLOAT8:  # some have no sign, some no -0.0
        x = convert(x, dtype=dt.float32)
    shape, unsigned = aval_of(x).shape, UNSIGNED[aval_of(x).dtype.itemsize]
    sign, ones = _sign_bit(unsigned), np.iinfo(unsigned).max
    bits = bitcast(x, dtype=unsigned)
    key = select(lt(x, 0), not_(bits), xor(bits, sign))
    key = select(eq(x, 0), full(shape, sign, unsigned), key)
    return select(ne(x, x), full(shape, ones, unsigned), key)


# -- the same in NumPy


def _host_keys(x: np.ndarray, descending: bool) -> list[np.ndarray]:
    """sort_keys of a host array."""
    if x.dtype.kind == "c":
        parts = [2 * np.isnan(x.real).astype(np.uint8) + np.isnan(x.imag), x.real, x.imag]
        return [key for part in parts for key in _host_keys(part, descending)]
    if x.dtype.kind == "b":
        key = x.view(np.uint8)
    elif x.dtype.kind in "iu":
        key = x.view(UNSIGNED[x.itemsize])
        key = key if x.dtype.kind == "u" else key ^ key.dtype.type(_sign_bit(key.dtype))
    else:
        key = _host_float_key(x)
    return [~key if descending else key]


def _host_float_key(x: np.ndarray) -> np.ndarray:
    if x.itemsize == 1:
        x = x.astype(np.float32)
    if x.itemsize == 2:  # by its bits: float16 and bfloat16 add numbers one by one
        key = x.view(np.uint16).copy()
        sign, infinite = _sign_bit(dt.uint16), np.asarray(np.inf, x.dtype).view(np.uint16)
        key[key == sign] = 0
        nan = (key & ~np.uint16(sign)) > infinite
    else:
        key, nan = (x + 0).view(UNSIGNED[x.itemsize]), np.isnan(x)  # -0.0 + 0 is 0.0
    negative = key.view(f"i{x.itemsize}") >> (8 * x.itemsize - 1)  # all ones, or 0
    negative = negative.view(key.dtype)
    negative |= key.dtype.type(_sign_bit(key.dtype))
    key ^= negative
    if nan.any():
        key[nan] = np.iinfo(key.dtype).max
    return key


def _of_short_keys(key: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The numbers of float16 or bfloat16 that have these keys."""
    positive = key.view(np.int16) >> 15  # all ones, or 0
    bits = ~positive.view(np.uint16)
    bits |= np.uint16(_sign_bit(dt.uint16))
    bits ^= key
    return bits.view(dtype)


def _host_order(keys: list[np.ndarray]) -> np.ndarray:
    """The permutation that sorts along the last dimension, stable.

    NumPy's stable argsort of 10^6 floats takes 1.7 times as long as its vectorised sort of 64-bit
    integers: pack the key, or its rank, with the index.
    """
    if len(keys) > 1:
        return np.lexsort(keys[::-1], axis=-1)
    (key,) = keys
    if key.size < 1000 or key.itemsize <= 2:  # radix sort
        return np.argsort(key, axis=-1, kind="stable")
    if key.itemsize <= 4:
        packed = _packed(key, np.arange(key.shape[-1]))
        packed.sort(axis=-1)
        return _low_half(packed)
    order = np.argsort(key, axis=-1)
    ordered = np.take_along_axis(key, order, -1)
    steps = ordered[..., 1:] != ordered[..., :-1]
    if steps.all():
        return order
    rank = np.zeros(key.shape, np.uint64)
    np.cumsum(steps, axis=-1, out=rank[..., 1:])
    return _low_half(np.sort(_packed(rank, order), axis=-1))


def _packed(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    out = high.astype(np.uint64)
    out <<= np.uint64(32)
    out |= low.view(np.uint64)
    return out


def _low_half(packed: np.ndarray) -> np.ndarray:
    return (packed & np.uint64(0xFFFFFFFF)).view(np.int64)


# ---- sort ----------------------------------------------------------------------------------------


def sort(*xs: Value, dimension: int, num_keys: int = 1, descending: bool = False, stable: bool = True) -> list[Value]:
    """The operands (of one shape) sorted along `dimension` by the first `num_keys` of them; a list.

    Equal elements keep their order if `stable`, also descending.
    """
    return list(bind(sort_p, *xs, dimension=dimension, num_keys=num_keys, descending=descending, stable=stable))


def argsort(x: Value, *, dimension: int, descending: bool = False, stable: bool = True) -> Value:
    """The int64 indices that sort x along `dimension`."""
    index = iota(shape=aval_of(x).shape, dtype=dt.int64, dimension=dimension)
    return sort(x, index, dimension=dimension, descending=descending, stable=stable)[1]


def _sort_shape(*xs: Aval, dimension: int, num_keys: int, descending: bool, stable: bool) -> tuple[Aval, ...]:
    if not 1 <= num_keys <= len(xs):
        raise ValueError(f"sort of {len(xs)} operands takes num_keys from 1 to {len(xs)}, got {num_keys}")
    if any(x.shape != xs[0].shape for x in xs):
        raise ValueError("sort takes operands of one shape, got " + ", ".join(map(str, xs)))
    if not 0 <= dimension < xs[0].ndim:
        raise ValueError(f"sort: {xs[0]} has no dimension {dimension}")
    return xs


def _sort_at(
    *xs: Aval, dimension: int, num_keys: int, descending: bool, stable: bool
) -> Callable[..., list[np.ndarray]] | None:
    """Of few numbers by the order of the first operand."""
    first, last = xs[0], xs[0].ndim - 1
    order, shape = _order_of_few(first.with_shape(swapped(first.shape, dimension, last)), descending), first.shape
    if order is None or num_keys > 1:
        return None
    if dimension == last:
        take = _taking(shape)
        return lambda *arrays: [take(x, places) for places in [order(arrays[0])] for x in arrays]
    take = _taking(swapped(shape, dimension, last))

    def run(*arrays: np.ndarray) -> list[np.ndarray]:
        across = [x.swapaxes(dimension, last) for x in arrays]
        places = order(across[0])
        return [take(x, places).swapaxes(dimension, last) for x in across]

    return run


def swapped(shape: Ints, i: int, j: int) -> Ints:
    """A shape with two dimensions exchanged."""
    return tuple([shape[j if d == i else i if d == j else d] for d in range(len(shape))])


def _order_of_few(x: Aval, descending: bool) -> Function | None:
    """What sorts few numbers along the last dimension, stable: NumPy's order of floats has NaN last, and -0.0 equal to
    0.0. Descending it is that of the numbers back to front, read back to front: eight in 1.0 us for 7 by keys."""
    if not 0 < x.size <= FEW or not x.ndim or x.dtype not in _OF_NUMPY:
        return None
    if not descending:
        return lambda array: array.argsort(-1, "stable")
    end = np.array(x.shape[-1] - 1)
    return lambda array: end - array[..., ::-1].argsort(-1, "stable")[..., ::-1]


def _taking(shape: Ints) -> Function:
    """take(x, order): np.take_along_axis of the last one, for arrays of one shape."""
    if len(shape) == 1:
        return lambda x, order: x.take(order)
    n = shape[-1]
    firsts = n * np.arange(math.prod(shape[:-1])).reshape(*shape[:-1], 1)
    return lambda x, order: x.reshape(-1).take(order + firsts)


_OF_NUMPY = {dt.bool_, dt.float16, dt.float32, dt.float64} | {d for d in dt.INTEGER if d.kind in "iu"}


@specialised(_sort_at)
def _sort_reference(*xs: np.ndarray, dimension: int, num_keys: int, descending: bool, stable: bool) -> list[np.ndarray]:
    if len(xs) == 1 and not _needs_keys(xs[0], stable):
        out = _sorted_values(xs[0], dimension)
        return [np.flip(out, dimension) if descending else out]
    if xs[0].size > PIECE and xs[0].ndim > 1:
        return _sorted_in_pieces(xs, dimension, num_keys, descending)
    is_last = dimension == xs[0].ndim - 1  # to move it there and back takes 4 us
    last = [np.ascontiguousarray(x if is_last else np.moveaxis(x, dimension, -1)) for x in xs]
    order = _host_order([key for x in last[:num_keys] for key in _host_keys(x, descending)])
    return [_taken(x, order) if is_last else np.moveaxis(_taken(x, order), -1, dimension) for x in last]


PIECE = 1 << 20  # elements that are sorted with an index at once, for which there are keys, and indices of eight bytes


def _sorted_in_pieces(xs: Sequence[np.ndarray], dimension: int, num_keys: int, descending: bool) -> list[np.ndarray]:
    """Some rows at a time: 4096 x 4096 bytes and their places in 300 MB, at once in 1 GB."""
    outs = [np.empty(x.shape, x.dtype) for x in xs]
    moved, targets = ([np.moveaxis(x, dimension, -1) for x in arrays] for arrays in (xs, outs))
    step = max(1, PIECE * len(moved[0]) // moved[0].size)
    for i in range(0, len(moved[0]), step):
        rows = [np.ascontiguousarray(x[i : i + step]) for x in moved]
        order = _host_order([key for x in rows[:num_keys] for key in _host_keys(x, descending)])
        for x, target in zip(rows, targets):
            target[i : i + step] = _taken(x, order)
    return outs


def _sorted_values(x: np.ndarray, dimension: int) -> np.ndarray:
    """The elements alone in order, of which equal ones are the same; short ones by a sort that counts them."""
    if x.dtype == dt.bfloat16:
        return _of_short_keys(np.sort(_host_float_key(x), dimension, "stable"), x.dtype)
    return np.sort(x, dimension, "stable" if x.itemsize <= 2 else None)


def _taken(x: np.ndarray, order: np.ndarray) -> np.ndarray:
    """np.take_along_axis of the last one, which takes 2.5 times as long."""
    if x.ndim == 1:
        return x.take(order)
    n = x.shape[-1]
    firsts = n * np.arange(math.prod(x.shape[:-1])).reshape(*x.shape[:-1], 1)
    return np.asarray(x.reshape(-1).take(order + firsts))


def _needs_keys(x: np.ndarray, stable: bool) -> bool:
    """Whether np.sort of the values could differ: it mixes 0.0 and -0.0, and does not know NaN in
    the dtypes of ml_dtypes. Those of bfloat16 are sorted by their keys, which have one zero."""
    if x.dtype == dt.bfloat16:
        return bool((x.view(np.uint16) == _sign_bit(dt.uint16)).any())
    if x.dtype in (dt.float16, dt.float32, dt.float64):
        return stable and bool(np.any((x == 0) & np.signbit(x)))
    return x.dtype in dt.INEXACT


def _sort_lower(
    ctx: LowerContext, *xs: Operand, dimension: int, num_keys: int, descending: bool, stable: bool
) -> list[Operand]:
    params: dict[str, Any] = dict(dimension=dimension, stable=stable)
    if len(xs) == 1 and xs[0].aval.dtype in dt.INTEGER:
        return _sort_op(ctx, xs, 1, direction="GT" if descending else "LT", **params)
    keys = [k for x in xs[:num_keys] for k in ctx.call(sort_keys, x, descending=descending)]
    if len(keys) > 1:
        return _sort_op(ctx, [*keys, *xs], len(keys), **params)[len(keys) :]
    if len(xs) == 1:
        return _sort_op(ctx, [*keys, *xs], 1, **params)[1:]
    # Pairs of one unsigned key and a value are what GPUs' radix sort takes.
    index = ctx.op("stablehlo.iota", out=xs[0].aval.with_dtype(dt.int64), attrs=f"iota_dimension = {dimension} : i64")
    order = _sort_op(ctx, [*keys, index], 1, **params)[1]
    return ctx.call(_take_all, order, *xs, dimension=dimension)


def _take_all(order: Value, *xs: Value, dimension: int) -> list[Value]:
    return [take_along_axis(x, order, axis=dimension, mode="promise_in_bounds") for x in xs]


def _sort_op(
    ctx: LowerContext,
    operands: Sequence[Operand],
    num_keys: int,
    *,
    dimension: int,
    stable: bool,
    direction: str = "LT",
) -> list[Operand]:
    """stablehlo.sort by the first `num_keys` operands, all integers."""
    scalars = [o.aval.with_shape(()) for o in operands for _ in range(2)]
    bool_ = aval((), dt.bool_)

    def compare(c: LowerContext, x: Operand, y: Operand, direction: str) -> Operand:
        return c.op(
            "stablehlo.compare",
            x,
            y,
            out=bool_,
            attrs=f"comparison_direction = #stablehlo<comparison_direction {direction}>",
        )

    def comes_first(c: LowerContext, *pairs: Operand) -> Operand:
        keys = list(zip(pairs[::2], pairs[1::2]))[:num_keys]
        found = compare(c, *keys.pop(), direction)
        for x, y in reversed(keys):
            tied = c.op("stablehlo.and", compare(c, x, y, "EQ"), found, out=bool_)
            found = c.op("stablehlo.or", compare(c, x, y, direction), tied, out=bool_)
        return found

    return ctx.op(
        "stablehlo.sort",
        *operands,
        out=[o.aval for o in operands],
        attrs=f"dimension = {dimension} : i64, is_stable = {str(stable).lower()}",
        regions=[ctx.region(scalars, comes_first)],
    )


def _sort_lower_cpu(ctx: LowerContext, *xs: Operand, **params: Any) -> list[Operand]:
    if xs[0].aval.size < CALLBACK_FROM or "portable" in ctx.root.features:
        return _sort_lower(ctx, *xs, **params)
    return callback_op(ctx, functools.partial(_sort_reference, **params), xs, [x.aval for x in xs])


def _sort_jvp(primals: Sequence[Value], tangents: Tangents, *, dimension: int, **params: Any) -> Jvps:
    index = iota(shape=aval_of(primals[0]).shape, dtype=dt.int64, dimension=dimension)
    *out, order = sort(*primals, index, dimension=dimension, **params)
    return out, [
        None if t is None else take_along_axis(t, order, axis=dimension, mode="promise_in_bounds") for t in tangents
    ]


def _sort_batch(axis: Axis, args: Sequence[Value], dims: Dims, *, dimension: int, **params: Any) -> Batcheds:
    out = sort(*all_at_front(axis, args, dims), dimension=dimension + 1, **params)
    return out, [0] * len(out)


sort_p = Primitive(
    "sort",
    traits=SORTING.but(work=_sorted, library=_called_back(SORTING.numpy, _sorted)),
    multiple=True,
    shape=_sort_shape,
    reference=_sort_reference,
    lower=_sort_lower,
    lower_on={"cpu": _sort_lower_cpu},
    jvp=_sort_jvp,
    transpose=NOT_LINEAR,
    batch=_sort_batch,
)

# ---- top_k ---------------------------------------------------------------------------------------


def top_k(x: Value, *, k: int, largest: bool = True) -> list[Value]:
    """(values, int64 indices) of the k largest (or smallest) along the last dimension, in order.

    Of equal elements the one with the lowest index comes first. NaN counts as the largest.
    """
    return list(bind(top_k_p, x, k=k, largest=largest))


def _top_k_shape(x: Aval, *, k: int, largest: bool) -> tuple[Aval, ...]:
    check_dtype("top_k", x, dt.ORDERED, "real or bool")
    if not x.ndim or not 0 <= k <= x.shape[-1]:
        raise ValueError(f"top_k of {x} takes k from 0 to the size of the last dimension, got {k}")
    shape = (*x.shape[:-1], k)
    return aval(shape, x.dtype), aval(shape, dt.int64)


def _top_k_at(x: Aval, *, k: int, largest: bool) -> Function | None:
    order, take = _order_of_few(x, largest), _taking(x.shape)

    def run(array: np.ndarray) -> tuple[np.ndarray, ...]:
        places = order(array)[..., :k]  # type: ignore[misc]  # there is one
        return take(array, places), places

    return order and run


@specialised(_top_k_at)
def _top_k_reference(x: np.ndarray, *, k: int, largest: bool) -> tuple[np.ndarray, ...]:
    order = _top_by_chunks(x, k, largest)
    if order is None:
        order = _top_in_pieces(np.ascontiguousarray(x).reshape(-1, x.shape[-1]), k, largest) if x.size else None
        order = np.zeros((*x.shape[:-1], k), np.int64) if order is None else order.reshape(*x.shape[:-1], k)
    return _taken(x, order), order


def _top_in_pieces(x: np.ndarray, k: int, largest: bool) -> np.ndarray:
    """The indices of the k best of each row, looked for in some rows at a time, of a long row in the best of its parts:
    5 of 16 million bytes in 20 MB, at once in 350."""
    rows, n = x.shape
    if x.size > PIECE and rows > 1:
        step = max(1, PIECE // n)
        return np.concatenate([_top_in_pieces(x[i : i + step], k, largest) for i in range(0, rows, step)])
    if n > PIECE and 16 * k <= PIECE:  # of equal elements the first is in the first part
        parts = [i + _top_in_pieces(x[:, i : i + PIECE], min(k, n - i), largest) for i in range(0, n, PIECE)]
        places = np.concatenate(parts, axis=1)
        return _taken(places, _top_in_pieces(_taken(x, places), k, largest))
    (key,) = _host_keys(x, largest)
    whole = key.itemsize > 4 or 2 * k >= n
    return _host_order([key])[:, :k] if whole else _low_half(_least(_packed(key, np.arange(n)), k))


def _least(packed: np.ndarray, k: int) -> np.ndarray:
    """The k least of each row, in order."""
    return np.sort(np.partition(packed, k - 1, axis=-1)[..., :k] if k else packed[..., :0], axis=-1)


def _top_by_chunks(x: np.ndarray, k: int, largest: bool) -> np.ndarray | None:
    """The indices, looked for only in the k chunks with the best elements: 10 of 256 x 1000 in 0.27 ms for 0.47, 50 of
    16 x 50,000 in 0.22 for 1.29. None where that does not pay, and where an equal element may lie in another chunk."""
    n = x.shape[-1]
    if not 0 < 16 * k <= n or x.size < LARGE or x.dtype.kind not in "fiu" or x.itemsize != 4:
        return None
    size = math.isqrt(n // k)  # of a chunk, whose elements are `count` apart: maxima of rows are quick
    count, rows = n // size, np.ascontiguousarray(x).reshape(-1, n)
    chunks = rows[:, : size * count].reshape(-1, size, count)
    best = (np.maximum if largest else np.fmin).reduce(chunks, axis=1)  # fmin: NaN is the largest
    numbered = np.partition(_packed(_host_keys(best, largest)[0], np.arange(count)), k, axis=-1)  # (k - 1, k): 6 times
    inside = _low_half(numbered[:, :k, None]) + count * np.arange(size)
    rest = np.broadcast_to(np.arange(size * count, n), (len(rows), n - size * count))
    places = np.concatenate([inside.reshape(len(rows), -1), rest], axis=1)
    found = _taken(rows, places)
    top = _least(_packed(_host_keys(found, largest)[0], places), k)
    if (numbered[:, k] >> np.uint64(32) <= top[:, -1] >> np.uint64(32)).any():
        return None
    return _low_half(top).reshape(*x.shape[:-1], k)


def _top_k_by_sort(x: Value, *, k: int, largest: bool) -> list[Value]:
    """top_k as a sort with its indices, cut off."""
    last = aval_of(x).ndim - 1
    index = iota(shape=aval_of(x).shape, dtype=dt.int64, dimension=last)
    return [
        slice_in_dim(y, start=0, limit=k, dimension=last) for y in sort(x, index, dimension=last, descending=largest)
    ]


def _top_k_lower(ctx: LowerContext, x: Operand, *, k: int, largest: bool) -> list[Operand]:
    return ctx.call(_top_k_by_sort, x, k=k, largest=largest)


def _top_k_lower_cpu(ctx: LowerContext, x: Operand, *, k: int, largest: bool) -> list[Operand]:
    if x.aval.size < CALLBACK_FROM or "portable" in ctx.root.features:
        return _top_k_lower(ctx, x, k=k, largest=largest)
    fun = functools.partial(_top_k_reference, k=k, largest=largest)
    return callback_op(ctx, fun, [x], _top_k_shape(x.aval, k=k, largest=largest))


def _top_k_jvp(primals: Sequence[Value], tangents: Tangents, **params: Any) -> Jvps:
    values, index = top_k(primals[0], **params)
    last = aval_of(primals[0]).ndim - 1
    tangent = take_along_axis(tangents[0], index, axis=last, mode="promise_in_bounds")
    return [values, index], [tangent, None]


def _top_k_batch(axis: Axis, args: Sequence[Value], dims: Dims, **params: Any) -> Batcheds:
    return top_k(move_batch_axis(axis, args[0], dims[0], 0), **params), [0, 0]


top_k_p = Primitive(
    "top_k",
    traits=SORTING.but(numpy=TOP, library=_called_back(TOP, SORTING.work)),
    multiple=True,
    shape=_top_k_shape,
    reference=_top_k_reference,
    lower=_top_k_lower,
    lower_on={"cpu": _top_k_lower_cpu},
    jvp=_top_k_jvp,
    transpose=NOT_LINEAR,
    batch=_top_k_batch,
)
