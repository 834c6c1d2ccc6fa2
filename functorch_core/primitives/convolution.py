"""Convolution over any number of spatial dimensions, with groups, strides and both dilations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval, aval_of
from ..core.lowering import LowerContext, Operand, dense_int, full_precision
from ..core.lowering import dims as dims_attr
from ..core.primitive import Linear, Primitive, Traits, largest
from ..core.reference import specialised
from ..core.trace import bind
from ..core.types import Batched, Cotangents, Dims, Function, Ints, Value
from ..xla import onednn
from ..xla.blas import matmul_for
from .arithmetic import add, sub
from .batching import Axis
from .bitwise import and_, shift_left, shift_right_logical
from .convert import complex, convert, imag, real
from .convolution_forms import choose_form
from .convolution_library import MANY, library_call, library_time, lower_library, run_library
from .declare import multilinear
from .dot import sum_dtype
from .reduce_window import padded_array, window_views
from .reductions import convert_operand
from .slicing import reverse
from .structure import full, reshape, transpose
from .window import Window

# ---- the geometry of a convolution ---------------------------------------------------------------


class Conv(NamedTuple):
    """All static parameters of a convolution; the tuples have one entry a spatial dimension.

    `lhs`, `rhs` and `out` say which dimensions of x, w and the result are (batch, feature,
    *spatial), for w (out feature, in feature, *spatial).
    """

    strides: Ints
    padding: tuple[tuple[int, int], ...]
    lhs_dilation: Ints
    rhs_dilation: Ints
    lhs: Ints
    rhs: Ints
    out: Ints
    feature_groups: int
    batch_groups: int

    def spatial(self, x: Aval, spec: str) -> Ints:
        """The spatial sizes of x, laid out as `spec` ('lhs', 'rhs' or 'out') says."""
        return tuple(x.shape[d] for d in getattr(self, spec)[2:])

    def padded(self, x: Aval) -> Ints:
        """The spatial sizes of x after dilating and padding."""
        return tuple(
            spread(n, d) + low + high
            for n, d, (low, high) in zip(self.spatial(x, "lhs"), self.lhs_dilation, self.padding)
        )

    def reach(self, w: Aval) -> Ints:
        """The spatial sizes of w with its holes."""
        return tuple(spread(n, d) for n, d in zip(self.spatial(w, "rhs"), self.rhs_dilation))


def spread(size: int, dilation: int) -> int:
    """The size of a dimension whose elements are `dilation` apart."""
    return max(size - 1, 0) * dilation + min(size, 1)


# ---- conv ----------------------------------------------------------------------------------------


def conv(
    x: Value,
    w: Value,
    *,
    strides: Ints | None = None,
    padding: tuple[Ints, ...] | None = None,
    lhs_dilation: Ints | None = None,
    rhs_dilation: Ints | None = None,
    dims: tuple[Ints, ...] | None = None,
    feature_groups: int = 1,
    batch_groups: int = 1,
    out_dtype: np.dtype | None = None,
) -> Value:
    """The convolution (cross-correlation) of x with the kernel w, of one dtype.

    `dims` is (lhs, rhs, out): for each array its dimensions in the order (batch, feature,
    *spatial), for w (out feature, in feature, *spatial); by default 0, 1, 2, ... for all three.
    With `feature_groups` G, w has 1/G of x's features, and its out features come in G blocks;
    with `batch_groups` the blocks belong to blocks of the batch. Negative padding cuts off.
    """
    ndim = aval_of(x).ndim
    lhs, rhs, out = dims or (tuple(range(ndim)),) * 3
    ones = (1,) * (ndim - 2)
    made = Conv(
        tuple(strides or ones),
        tuple((low, high) for low, high in padding or ((0, 0),) * (ndim - 2)),
        tuple(lhs_dilation or ones),
        tuple(rhs_dilation or ones),
        tuple(lhs),
        tuple(rhs),
        tuple(out),
        int(feature_groups),
        int(batch_groups),
    )
    return bind_conv(x, w, made, out_dtype)


def bind_conv(x: Value, w: Value, conv: Conv, out_dtype: np.dtype | None = None) -> Value:
    """The convolution that `conv` describes."""
    out_dtype = aval_of(x).dtype if out_dtype is None else np.dtype(out_dtype)
    return bind(conv_p, x, w, conv=conv, out_dtype=out_dtype)


def _conv_shape(x: Aval, w: Aval, *, conv: Conv, out_dtype: np.dtype) -> Aval:
    _check_conv(x, w, conv, out_dtype)
    shape = [0] * x.ndim
    shape[conv.out[0]] = x.shape[conv.lhs[0]] // conv.batch_groups
    shape[conv.out[1]] = w.shape[conv.rhs[0]]
    for d, n, r, s in zip(conv.out[2:], conv.padded(x), conv.reach(w), conv.strides):
        shape[d] = max(0, (n - r) // s + 1)
    return aval(tuple(shape), out_dtype)


def _check_conv(x: Aval, w: Aval, conv: Conv, out_dtype: np.dtype) -> None:
    what = f"conv of {x} with {w}"
    if x.dtype != w.dtype or x.dtype not in dt.NUMERIC:
        message = f"{what}: it takes numeric arrays of one dtype; promote them first"
        raise dt.DtypeError(message, x.dtype if x.dtype == w.dtype else None)
    if dt.category(out_dtype) < dt.category(x.dtype) or out_dtype not in dt.NUMERIC:
        raise TypeError(f"{what} cannot give {out_dtype}")
    every = list(range(x.ndim))
    if x.ndim < 2 or x.ndim != w.ndim or any(sorted(spec) != every for spec in (conv.lhs, conv.rhs, conv.out)):
        raise ValueError(
            f"{what}: they have a batch, a feature and the same number of spatial "
            f"dimensions, each named once; got {conv.lhs}, {conv.rhs}, {conv.out}"
        )
    fields = (conv.strides, conv.padding, conv.lhs_dilation, conv.rhs_dilation)
    if any(len(field) != x.ndim - 2 for field in fields):
        raise ValueError(
            f"{what}: strides, padding and dilations have {x.ndim - 2} entries, one "
            f"for each spatial dimension; got {conv}"
        )
    positive = (*conv.strides, *conv.lhs_dilation, *conv.rhs_dilation, conv.feature_groups, conv.batch_groups)
    if any(n < 1 for n in positive) or min(conv.feature_groups, conv.batch_groups) > 1:
        raise ValueError(
            f"{what}: strides, dilations and groups are at least 1, and only one kind of groups is more; got {conv}"
        )
    _check_features(what, x, w, conv)
    if any(n < 0 for n in conv.padded(x)) or 0 in conv.spatial(w, "rhs"):
        raise ValueError(f"{what}: the kernel is empty, or the padding {conv.padding} takes away more than there is")


def _check_features(what: str, x: Aval, w: Aval, conv: Conv) -> None:
    batch, features = x.shape[conv.lhs[0]], x.shape[conv.lhs[1]]
    made, taken = w.shape[conv.rhs[0]], w.shape[conv.rhs[1]]
    groups = conv.feature_groups
    if features != taken * groups:
        raise ValueError(
            f"{what}: the kernel takes {taken} features for each of {groups} groups, "
            f"{taken * groups} in all; the array has {features}"
        )
    if made % groups or made % conv.batch_groups or batch % conv.batch_groups:
        raise ValueError(
            f"{what}: {made} out features in {groups} feature groups and "
            f"{conv.batch_groups} batch groups, of a batch of {batch}, do not divide"
        )


def _conv_at(x: Aval, w: Aval, *, conv: Conv, out_dtype: np.dtype) -> Function | None:
    """oneDNN where it is quick: it is as exact as PyTorch, whose convolutions are its, too."""
    out = _conv_shape(x, w, conv=conv, out_dtype=out_dtype)
    call = library_call(conv, x, w, out)
    if call is None:
        return None

    def by_library(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        if not onednn.is_available():  # a forked child
            return _conv_reference(x, w, conv=conv, out_dtype=out_dtype)
        return run_library(call, x, w, conv, out)

    return by_library


@specialised(_conv_at)
def _conv_reference(x: np.ndarray, w: np.ndarray, *, conv: Conv, out_dtype: np.dtype) -> np.ndarray:
    """Windows as a matrix (a view, copied once), times the kernel as one, a group at a time."""
    wide = sum_dtype(x.dtype, out_dtype)
    x = x.transpose(conv.lhs).astype(wide, copy=False)
    w = w.transpose(conv.rhs).astype(wide, copy=False)
    views = _kernel_views(x, w.shape[2:], conv)
    places, n = views.shape[2 : x.ndim], x.ndim - 2
    spatial, inner = list(range(3, 3 + n)), list(range(3 + n, 3 + 2 * n))
    groups = max(conv.feature_groups, conv.batch_groups)
    if conv.batch_groups > 1:
        batch = x.shape[0] // groups
        split, order = (groups, batch, x.shape[1]), [0, 1, *spatial, 2, *inner]
    else:
        batch = x.shape[0]
        split, order = (batch, groups, x.shape[1] // groups), [1, 0, *spatial, 2, *inner]
    columns = views.reshape((*split, *places, *w.shape[2:])).transpose(order)
    columns = columns.reshape(groups, batch * math.prod(places), math.prod(w.shape[1:]))
    kernel = w.reshape(groups, w.shape[0] // groups, math.prod(w.shape[1:]))
    matmul = matmul_for(columns.shape[-2], kernel.shape[1], kernel.shape[2])
    out = matmul(columns, kernel.transpose(0, 2, 1))  # group, batch and places, features
    out = out.reshape(groups, batch, math.prod(places), w.shape[0] // groups).transpose(1, 0, 3, 2)
    return out.reshape((batch, w.shape[0], *places)).transpose(np.argsort(conv.out))


def _kernel_views(x: np.ndarray, kernel: Ints, conv: Conv) -> np.ndarray:
    """For (batch, feature, *spatial): all windows, shape (batch, feature, *places, *kernel)."""
    window = Window(
        (1, 1, *kernel),
        (1, 1, *conv.strides),
        ((0, 0), (0, 0), *conv.padding),
        (1, 1, *conv.lhs_dilation),
        (1, 1, *conv.rhs_dilation),
    )
    views = window_views(padded_array(x, 0, window), window)
    return views.reshape(views.shape[: x.ndim] + tuple(kernel))


# ---- lowering


def _dims_text(spec: Ints, names: str) -> str:
    """Dimension numbers as StableHLO writes them: [b, f, 0, 1]."""
    text = [""] * len(spec)
    for i, d in enumerate(spec):
        text[d] = names[i] if i < 2 else str(i - 2)
    return f"[{', '.join(text)}]"


def _conv_op(ctx: LowerContext, x: Operand, w: Operand, conv: Conv, out: Aval) -> Operand:
    # Only here: the options for convolutions slow the other forms (depthwise 1.5 -> 8.7 ms).
    few = "jit" in ctx.root.features and out.size * w.aval.size < MANY * w.aval.shape[conv.rhs[0]]
    ctx.root.features.add("few" if few else "conv")
    numbers = f"{_dims_text(conv.lhs, 'bf')}x{_dims_text(conv.rhs, 'oi')}->{_dims_text(conv.out, 'bf')}"
    attrs = ", ".join(
        [
            f"window_strides = {dims_attr(conv.strides)}",
            f"padding = {dense_int(np.reshape(conv.padding, (-1, 2)))}",
            f"lhs_dilation = {dims_attr(conv.lhs_dilation)}",
            f"rhs_dilation = {dims_attr(conv.rhs_dilation)}",
            f"dimension_numbers = #stablehlo.conv<{numbers}>",
            f"feature_group_count = {conv.feature_groups} : i64",
            f"batch_group_count = {conv.batch_groups} : i64",
        ]
    )
    return ctx.op("stablehlo.convolution", x, w, out=out, attrs=attrs + full_precision(ctx, x.aval.dtype))


def _conv_lower(ctx: LowerContext, x: Operand, w: Operand, *, conv: Conv, out_dtype: np.dtype) -> Operand:
    out = _conv_shape(x.aval, w.aval, conv=conv, out_dtype=out_dtype)
    if 0 in (x.aval.size, w.aval.size, out.size):
        return ctx.full(out, 0)
    if x.aval.dtype in dt.COMPLEX:
        return ctx.call(_complex_parts, x, w, conv=conv, out_dtype=out_dtype)[0]
    return _conv_op(ctx, x, w, conv, out)


def _conv_cuda(ctx: LowerContext, x: Operand, w: Operand, *, conv: Conv, out_dtype: np.dtype) -> Operand:
    """By cuDNN, which has them of floating-point numbers of 16 bits and more (and of int8 saturates)."""
    if x.aval.dtype in dt.INTEGER:
        return ctx.call(_by_doubles, x, w, conv=conv, out_dtype=out_dtype)[0]
    if x.aval.dtype in dt.FLOAT8:  # behind barriers: XLA would make one of float8 again, which cuDNN mostly lacks
        wide = [convert_operand(ctx, a, dt.float32) for a in (x, w)]
        x, w = (ctx.op("stablehlo.optimization_barrier", a, out=a.aval) for a in wide)
        return convert_operand(ctx, _conv_lower(ctx, x, w, conv=conv, out_dtype=dt.float32), out_dtype)
    return _conv_lower(ctx, x, w, conv=conv, out_dtype=out_dtype)


def _by_doubles(x: Value, w: Value, *, conv: Conv, out_dtype: np.dtype) -> Value:
    """A convolution of integers as some of float64, of 16 bits of each operand: exact for 2 million summands; wraps."""
    parts = range(max(out_dtype.itemsize // 2, 1))

    def part(a: Value, i: int) -> Value:
        a = convert(a, dtype=out_dtype)
        if len(parts) > 1:
            a = shift_right_logical(a, full(a.aval.shape, 16 * i, out_dtype))
            a = and_(a, full(a.aval.shape, 0xFFFF, out_dtype))
        return convert(a, dtype=dt.float64)

    total: Value | None = None
    for i in parts:
        for j in parts[: len(parts) - i]:
            exact = convert(bind_conv(part(x, i), part(w, j), conv, dt.float64), dtype=dt.int64)
            found = convert(exact, dtype=out_dtype)
            found = shift_left(found, full(found.aval.shape, 16 * (i + j), out_dtype)) if i + j else found
            total = found if total is None else add(total, found)
    assert total is not None
    return total


def _conv_cpu(ctx: LowerContext, x: Operand, w: Operand, *, conv: Conv, out_dtype: np.dtype) -> Operand:
    """By oneDNN, or else by the table of convolution_forms, 16-bit floats in float32."""
    out = _conv_shape(x.aval, w.aval, conv=conv, out_dtype=out_dtype)
    # XLA's partitioner cannot divide a call of a library.
    here = not ctx.root.meshes and "portable" not in ctx.root.features
    call = library_call(conv, x.aval, w.aval, out, "jit" in ctx.root.features) if here else None
    if call is not None and onednn.may_register(call.convolution.target()):
        return lower_library(ctx, call, x, w, conv, out)
    if 0 in (x.aval.size, w.aval.size, out.size) or x.aval.dtype in dt.COMPLEX:
        return _conv_lower(ctx, x, w, conv=conv, out_dtype=out_dtype)
    wide = sum_dtype(x.aval.dtype, out_dtype)
    x, w = convert_operand(ctx, x, wide), convert_operand(ctx, w, wide)
    form = choose_form(conv, x.aval, w.aval, math.prod(conv.spatial(out, "out")))
    result = ctx.call(form, x, w, conv=conv)[0] if form else _conv_op(ctx, x, w, conv, out.with_dtype(wide))
    return convert_operand(ctx, result, out_dtype)


def _complex_parts(x: Value, w: Value, *, conv: Conv, out_dtype: np.dtype) -> Value:
    """A complex convolution as four real ones."""
    part = dt.real_of(out_dtype)

    def product(a: Value, b: Value) -> Value:
        return bind_conv(a, b, conv, part)

    re, im = (
        sub(product(real(x), real(w)), product(imag(x), imag(w))),
        add(product(real(x), imag(w)), product(imag(x), real(w))),
    )
    return complex(re, im)


# ---- derivative ----------------------------------------------------------------------------------


def _swapped(spec: Ints) -> Ints:
    return (spec[1], spec[0], *spec[2:])


def _split(x: Value, dim: int, n: int) -> Value:
    """A dimension as two, the first of size n."""
    shape = aval_of(x).shape
    return reshape(x, shape=(*shape[:dim], n, shape[dim] // n, *shape[dim + 1 :]))


def _merge(x: Value, dim: int, into: int) -> Value:
    """The dimension `dim` taken out and merged, as the slower one, into what then is `into`."""
    order = [d for d in range(aval_of(x).ndim) if d != dim]
    order.insert(into, dim)
    x = transpose(x, permutation=tuple(order))
    shape = aval_of(x).shape
    return reshape(x, shape=(*shape[:into], shape[into] * shape[into + 1], *shape[into + 2 :]))


def _swap_groups(w: Value, conv: Conv, groups: int) -> Value:
    """The kernel of the transposed convolution: groups move from out features to in features."""
    return w if groups == 1 else _merge(_split(w, conv.rhs[0], groups), conv.rhs[0], conv.rhs[1])


def _by_x(ct: Value, w: Value, x: Aval, conv: Conv) -> Value:
    """The cotangent of x: the cotangent, dilated by the strides, convolved with w turned round."""
    groups = max(conv.feature_groups, conv.batch_groups)
    padding = []
    for n, m, r, s, d, (low, _) in zip(
        conv.spatial(x, "lhs"),
        conv.spatial(aval_of(ct), "out"),
        conv.reach(aval_of(w)),
        conv.strides,
        conv.lhs_dilation,
        conv.padding,
    ):
        before = r - 1 - low
        padding.append((before, spread(n, d) + r - 1 - spread(m, s) - before))
    back = Conv(
        conv.lhs_dilation,
        tuple(padding),
        conv.strides,
        conv.rhs_dilation,
        conv.out,
        _swapped(conv.rhs),
        conv.lhs,
        groups,
        1,
    )
    kernel = reverse(_swap_groups(w, conv, groups), dims=conv.rhs[2:])
    out = _conv_in(x.dtype, ct, kernel, back)
    if conv.batch_groups > 1:
        out = _merge(_split(out, conv.lhs[1], groups), conv.lhs[1], conv.lhs[0])
    return out


def _by_w(ct: Value, x: Value, w: Aval, conv: Conv) -> Value:
    """The cotangent of w: x convolved with the cotangent, summed over the batch."""
    padding = []
    for n, m, r, s, d, (low, _) in zip(
        conv.spatial(aval_of(x), "lhs"),
        conv.spatial(aval_of(ct), "out"),
        conv.reach(w),
        conv.strides,
        conv.lhs_dilation,
        conv.padding,
    ):
        padding.append((low, spread(m, s) - spread(n, d) + r - 1 - low))
    back = Conv(
        conv.rhs_dilation,
        tuple(padding),
        conv.lhs_dilation,
        conv.strides,
        _swapped(conv.lhs),
        _swapped(conv.out),
        _swapped(conv.rhs),
        conv.batch_groups,
        conv.feature_groups,
    )
    return _conv_in(w.dtype, x, ct, back)


def _conv_in(dtype: np.dtype, x: Value, w: Value, conv: Conv) -> Value:
    """A convolution of arrays whose dtypes may differ, with the result in `dtype`."""
    wide = dt.promote(aval_of(x).dtype, aval_of(w).dtype)
    out = bind_conv(convert(x, dtype=wide), convert(w, dtype=wide), conv, wide)
    return convert(out, dtype=dtype)


def _conv_transpose(ct: Value, x: Value, w: Value, *, conv: Conv, out_dtype: np.dtype) -> Cotangents:
    if 0 in aval_of(ct).shape:
        return None, None
    return (
        _by_x(ct, w, x.aval, conv) if isinstance(x, Linear) else None,
        _by_w(ct, x, w.aval, conv) if isinstance(w, Linear) else None,
    )


# ---- batching


def _conv_batch(axis: Axis, args: Sequence[Value], dims: Dims, *, conv: Conv, out_dtype: np.dtype) -> Batched:
    (x, w), (dx, dw), size = args, dims, axis.size
    if dw is None:
        return _batch_x(x, w, dx, size, conv, out_dtype)
    if dx is None:
        return _batch_w(x, w, dw, conv, out_dtype)
    # Both: examples are groups. They go to the features, or to the batch if that has groups.
    by_batch = conv.batch_groups > 1
    x = _merge(x, dx, conv.lhs[0 if by_batch else 1])
    w = _merge(w, dw, conv.rhs[0])
    kind = "batch_groups" if by_batch else "feature_groups"
    out = bind_conv(x, w, conv._replace(**{kind: getattr(conv, kind) * size}), out_dtype)
    return _split(out, conv.out[1], size), conv.out[1]


def _batch_x(x: Value, w: Value, dx: int, size: int, conv: Conv, out_dtype: np.dtype) -> tuple[Value, int]:
    """Only x is batched: the examples go to the batch, within its groups."""
    at, groups = conv.lhs[0], conv.batch_groups
    if groups == 1:
        out = bind_conv(_merge(x, dx, at), w, conv, out_dtype)
        return _split(out, conv.out[0], size), conv.out[0]
    x = _merge_within(x, dx, at, groups)
    return _split(bind_conv(x, w, conv, out_dtype), conv.out[0], size), conv.out[0]


def _batch_w(x: Value, w: Value, dw: int, conv: Conv, out_dtype: np.dtype) -> tuple[Value, int]:
    """Only w is batched: the examples go to the out features, within their groups."""
    size, at, out_at = aval_of(w).shape[dw], conv.rhs[0], conv.out[1]
    groups = max(conv.feature_groups, conv.batch_groups)
    if groups == 1:
        out = bind_conv(x, _merge(w, dw, at), conv, out_dtype)
        return _split(out, out_at, size), out_at
    out = bind_conv(x, _merge_within(w, dw, at, groups), conv, out_dtype)
    out = _split(_split(out, out_at, groups), out_at + 1, size)  # group, example, feature
    return _merge(out, out_at, out_at + 1), out_at


def _merge_within(x: Value, dim: int, into: int, groups: int) -> Value:
    """The dimension `dim` merged into each of the groups of what then is dimension `into`."""
    order = [d for d in range(aval_of(x).ndim) if d != dim]
    x = transpose(x, permutation=(dim, *order))
    x = _split(x, into + 1, groups)  # example, ..., group, rest, ...
    return _merge_pair(_merge(x, 0, into + 1), into)


def _merge_pair(x: Value, dim: int) -> Value:
    """A dimension and the next as one."""
    shape = aval_of(x).shape
    return reshape(x, shape=(*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :]))


# ---- costs


def _library_time(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
    return library_time(params["conv"], *operands, *results)


def _work(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
    """Nanoseconds."""
    return 1e3 * _library_time(operands, results, params) or 86 * largest(operands, results, params)


def _compiled(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
    return onednn.IN_PROGRAMS if _library_time(operands, results, params) else 0.2


def _compile_time(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
    return 3_000.0 if _library_time(operands, results, params) else 120_000.0


conv_p = Primitive(
    "conv",
    traits=Traits(
        family="convolution",
        numpy=1,
        work=_work,
        compiled=_compiled,
        compile=_compile_time,
        library=_library_time,
        expensive=True,
        conjugates=True,
    ),
    shape=_conv_shape,
    reference=_conv_reference,
    lower=_conv_lower,
    lower_on={"cpu": _conv_cpu, "cuda": _conv_cuda},
    jvp=multilinear(lambda x, w, *, conv, out_dtype: bind_conv(x, w, conv, out_dtype)),
    transpose=_conv_transpose,
    batch=_conv_batch,
)
