"""The derivatives of operators, in the operators that PyTorch computes them by; see `derivatives`."""

from __future__ import annotations

import math

import functorch_core.torch as torch

from ..._missing import MESSAGE
from ...tensors.base import Tensor
from . import ops
from .decompositions import reshape
from .derivatives import rule
from .dispatching import computing

a = ops.aten


def conj(x):
    """The conjugate of a complex tensor or number; what is real stays."""
    if isinstance(x, Tensor):
        return x.conj() if x.is_complex() else x
    return x.conjugate() if isinstance(x, complex) else x


def times(g, x):
    """A cotangent times the conjugate of a tensor or number."""
    return a.mul.Tensor(g, conj(x))


def scaled(g, alpha):
    """A cotangent times a factor that is mostly 1."""
    return g if alpha == 1 and not isinstance(alpha, bool) else a.mul.Scalar(g, conj(alpha))


def where(condition, x, y):
    """where(condition, x, y); a number is a tensor without dimensions of the other's dtype."""
    like = x if isinstance(x, Tensor) else y
    with computing():
        x, y = [v if isinstance(v, Tensor) else torch.tensor(v, dtype=like.dtype) for v in (x, y)]
    return a.where.self(condition, x, y)


def nothing(grad):
    """Zeros."""
    return a.zeros_like.default(grad)


# ---- arithmetic ----------------------------------------------------------------------------------


def _minus_times(grad, x):
    return times(a.neg.default(grad), x)


rule("add", self=lambda grad: grad, other=lambda grad, alpha: scaled(grad, alpha))
rule("sub", self=lambda grad: grad, other=lambda grad, alpha: scaled(a.neg.default(grad), alpha))
rule("rsub", self=lambda grad, alpha: scaled(a.neg.default(grad), alpha), other=lambda grad: grad)
rule("mul", other=lambda grad, self: times(grad, self), self=lambda grad, other: times(grad, other))
rule("mul.Scalar", self=lambda grad, other: a.mul.Scalar(grad, conj(other)))
rule("div.Scalar", self=lambda grad, other: a.div.Scalar(grad, conj(other)))


def _div_other(grad, self, other):
    slope = a.div.Tensor(a.div.Tensor(self, other), other)
    return times(a.neg.default(grad), slope)


rule("div.Tensor", other=_div_other, self=lambda grad, other: a.div.Tensor(grad, conj(other)))
rule("neg", self=lambda grad: a.neg.default(grad))
rule("reciprocal", self=lambda grad, result: _minus_times(grad, a.mul.Tensor(result, result)))
rule("remainder.Scalar", "fmod.Scalar", self=lambda grad: grad)
rule("sign", "floor", "ceil", "round", "trunc", "fill.Scalar", "zero", self=nothing)
rule("fill_.Scalar", "zero_", self=nothing)
rule("abs", self=lambda grad, self: a.mul.Tensor(grad, a.sgn.default(self)))


def _pow_self(grad, self, exponent):
    if exponent == 0:
        return nothing(grad)
    down = a.pow.Tensor_Scalar(self, exponent - 1.0 if not isinstance(exponent, complex) else exponent - 1)
    return times(grad, a.mul.Scalar(down, float(exponent) if not isinstance(exponent, complex) else exponent))


rule("pow.Tensor_Scalar", self=_pow_self)


def _pow_base(grad, self, exponent):
    down = a.pow.Tensor_Tensor(self, a.sub.Scalar(exponent, 1))
    found = times(grad, a.mul.Tensor(exponent, down))
    return where(a.eq.Scalar(exponent, 0.0), 0.0, found)


def _pow_exponent(grad, self, exponent, result):
    positive = a.ge.Scalar(exponent, 0)
    at_zero = a.logical_and.default(a.eq.Scalar(self, 0), positive)
    return times(grad, where(at_zero, 0.0, a.mul.Tensor(result, a.log.default(self))))


rule("pow.Tensor_Tensor", exponent=_pow_exponent, self=_pow_base)
rule(
    "pow.Scalar",
    exponent=lambda grad, self, result: times(grad, a.mul.Scalar(result, math.log(self) if self > 0 else -math.inf)),
)

rule("addcmul",
    self=lambda grad: grad,
    tensor1=lambda grad, tensor2, value: times(grad, a.mul.Scalar(tensor2, value)),
    tensor2=lambda grad, tensor1, value: times(grad, a.mul.Scalar(tensor1, value)),
)  # fmt: skip
rule("addcdiv",
    self=lambda grad: grad,
    tensor1=lambda grad, tensor2, value: times(grad, a.div.Tensor(a.fill_.Scalar(
        a.empty_like.default(tensor2, memory_format=torch.preserve_format), value), tensor2)),
    tensor2=lambda grad, tensor1, tensor2, value: _minus_times(
        grad, a.div.Tensor(a.mul.Scalar(tensor1, value), a.mul.Tensor(tensor2, tensor2))
    ),
)  # fmt: skip
rule("lerp.Scalar",
    end=lambda grad, weight: a.mul.Scalar(grad, weight),
    self=lambda grad, weight: a.mul.Scalar(grad, 1 - weight),
)  # fmt: skip


def _half(grad, self, other, without):
    half = a.div.Scalar(grad, 2)
    shared = where(a.eq.Tensor(self, other), half, grad)
    return a.masked_fill_.Scalar(shared, without(self, other), 0)


rule("maximum",
    other=lambda grad, self, other: _half(grad, self, other, a.gt.Tensor),
    self=lambda grad, self, other: _half(grad, self, other, a.lt.Tensor),
)  # fmt: skip
rule("minimum",
    other=lambda grad, self, other: _half(grad, self, other, a.lt.Tensor),
    self=lambda grad, self, other: _half(grad, self, other, a.gt.Tensor),
)  # fmt: skip

# ---- functions of one number ---------------------------------------------------------------------

LOG2, LOG10, ERF = math.log(2), 2.3025850929940455, 2 / math.sqrt(math.pi)

rule("exp", self=lambda grad, result: times(grad, result))
rule("exp2", self=lambda grad, result: a.mul.Scalar(times(grad, result), LOG2))
rule("expm1", self=lambda grad, result: times(grad, a.add.Scalar(result, 1)))
rule("log", self=lambda grad, self: a.div.Tensor(grad, conj(self)))
rule("log2", self=lambda grad, self: a.div.Tensor(grad, a.mul.Scalar(conj(self), LOG2)))
rule("log10", self=lambda grad, self: a.div.Tensor(grad, a.mul.Scalar(conj(self), LOG10)))
rule("log1p", self=lambda grad, self: a.div.Tensor(grad, conj(a.add.Scalar(self, 1))))
rule("sin", self=lambda grad, self: times(grad, a.cos.default(self)))
rule("cos", self=lambda grad, self: times(grad, a.neg.default(a.sin.default(self))))
rule("tan", self=lambda grad, result: times(grad, a.add.Scalar(a.pow.Tensor_Scalar(result, 2), 1)))


def _one_minus_square(x):
    return a.add.Scalar(a.mul.Tensor(a.neg.default(x), x), 1)


def _one_plus_square(x):
    return a.add.Scalar(a.mul.Tensor(x, x), 1)


rule("asin", self=lambda grad, self: times(grad, a.rsqrt.default(_one_minus_square(self))))
rule("acos", self=lambda grad, self: times(grad, a.neg.default(a.rsqrt.default(_one_minus_square(self)))))
rule("atan", self=lambda grad, self: a.div.Tensor(grad, conj(_one_plus_square(self))))
rule("sinh", self=lambda grad, self: times(grad, a.cosh.default(self)))
rule("cosh", self=lambda grad, self: times(grad, a.sinh.default(self)))
rule("tanh", self=lambda grad, result: a.tanh_backward.default(grad, result))
rule("sigmoid", self=lambda grad, result: a.sigmoid_backward.default(grad, result))
rule("sqrt", self=lambda grad, result: a.div.Tensor(grad, a.mul.Scalar(conj(result), 2)))
rule("rsqrt", self=lambda grad, result: _half_of(a.pow.Tensor_Scalar(result, 3), grad))


def _half_of(slope, grad):
    return times(a.mul.Scalar(grad, -0.5), slope)


def _erf_slope(x, factor):
    return a.mul.Scalar(a.exp.default(a.neg.default(a.pow.Tensor_Scalar(x, 2))), factor)


rule("erf", self=lambda grad, self: a.mul.Tensor(_erf_slope(self, ERF), grad))
rule("erfc", self=lambda grad, self: a.mul.Tensor(_erf_slope(self, -ERF), grad))


def _atan2(grad, self, other, wanted):
    squares = a.mul.Tensor(other, other)
    norm = a.add.Tensor(a.mul.Tensor(self, self), squares)
    inverse = a.masked_fill.Scalar(a.reciprocal.default(norm), a.eq.Scalar(norm, 0), 0)
    return [
        a.mul.Tensor(a.mul.Tensor(grad, slope()), inverse) if wanted(name) else None
        for name, slope in (("self", lambda: other), ("other", lambda: a.neg.default(self)))
    ]


rule("atan2", together=(("self", "other"), _atan2))


def _clamped(grad, self, min, max):
    if min is None and max is None:
        return grad
    inside = None if min is None else a.ge.Scalar(self, min)
    if max is not None:
        below = a.le.Scalar(self, max)
        inside = below if inside is None else a.logical_and_.default(inside, below)
    return where(inside, grad, 0.0)


rule("clamp.default", self=_clamped)
rule("clamp_min.default", self=lambda grad, self, min: _clamped(grad, self, min, None))
rule("clamp_max.default", self=lambda grad, self, max: _clamped(grad, self, None, max))
rule("where.self",
    other=lambda grad, condition: where(condition, 0.0, grad),
    self=lambda grad, condition: where(condition, grad, 0.0),
)  # fmt: skip
rule("masked_fill.Scalar", self=lambda grad, mask: a.masked_fill.Scalar(grad, mask, 0))

# ---- activations, by the operators of their backward ----------------------------------------------

rule("relu", self=lambda grad, result: a.threshold_backward.default(grad, result, 0))
rule("hardtanh",
    self=lambda grad, self, min_val, max_val: a.hardtanh_backward.default(grad, self, min_val, max_val),
)  # fmt: skip
rule("gelu", self=lambda grad, self, approximate: a.gelu_backward.default(grad, self, approximate=approximate))
rule("silu", self=lambda grad, self: a.silu_backward.default(grad, self))
rule("mish", self=lambda grad, self: a.mish_backward.default(grad, self))
rule("hardswish", self=lambda grad, self: a.hardswish_backward.default(grad, self))
rule("hardsigmoid", self=lambda grad, self: a.hardsigmoid_backward.default(grad, self))
rule("elu",
    self=lambda grad, self, alpha, scale, input_scale:
        a.elu_backward.default(grad, alpha, scale, input_scale, False, self),
)  # fmt: skip
rule("leaky_relu",
    self=lambda grad, self, negative_slope: a.leaky_relu_backward.default(grad, self, negative_slope, False),
)  # fmt: skip
rule("softplus",
    self=lambda grad, self, beta, threshold: a.softplus_backward.default(grad, self, beta, threshold),
)  # fmt: skip
rule("log_sigmoid_forward", parts=1,
    self=lambda grad, self, result1: a.log_sigmoid_backward.default(grad, self, result1),
)  # fmt: skip
rule(
    "_softmax",
    self=lambda grad, result, dim, self_dtype: a._softmax_backward_data.default(grad, result, dim, self_dtype),
)
rule("_log_softmax",
    self=lambda grad, result, dim, self_dtype: a._log_softmax_backward_data.default(grad, result, dim, self_dtype),
)  # fmt: skip
# Derivatives of these, for gradients of gradients.
rule("sigmoid_backward",
    output=lambda grad, grad_output, output: a.mul.Tensor(
        a.mul.Tensor(grad, grad_output), a.add.Scalar(a.mul.Scalar(output, -2), 1)
    ),
    grad_output=lambda grad, output: a.sigmoid_backward.default(grad, output),
)  # fmt: skip
rule("tanh_backward",
    output=lambda grad, grad_output, output: a.mul.Tensor(a.mul.Scalar(grad, -2), a.mul.Tensor(output, grad_output)),
    grad_output=lambda grad, output: a.tanh_backward.default(grad, output),
)  # fmt: skip
rule("threshold_backward",
    grad_output=lambda grad, self, threshold: a.threshold_backward.default(grad, self, threshold),
    self=nothing,
)  # fmt: skip

# ---- reductions ----------------------------------------------------------------------------------


def wrapped(dim, n: int) -> list[int]:
    """The dimensions that a reduction is over, in order."""
    dims = range(n) if not dim and dim != 0 else [dim] if isinstance(dim, int) else dim
    return sorted([d % max(n, 1) for d in dims])


def unreduced(grad, shape, dim, keepdim):
    """A cotangent with the dimensions that were summed, of size 1."""
    if not keepdim and shape:
        for d in wrapped(dim, len(shape)):
            grad = a.unsqueeze.default(grad, d)
    return grad


def _sum(grad, self_shape, dim, keepdim):
    return a.expand.default(unreduced(grad, self_shape, dim, keepdim), list(self_shape))


def _mean(grad, self_shape, dim, keepdim):
    n = math.prod([self_shape[d] for d in wrapped(dim, len(self_shape))]) if self_shape else 1
    return a.div.Scalar(_sum(grad, self_shape, dim, keepdim), n)


def _var(grad, self, self_shape, dim, correction, keepdim):
    n = math.prod([self_shape[d] for d in wrapped(dim, len(self_shape))])
    correction = 1 if correction is None else correction
    whole = dim is None or not self_shape
    if not whole:
        grad = unreduced(grad, self_shape, dim, keepdim)
    mean = a.mean.default(self) if whole else a.mean.dim(self, dim, True)
    offset = a.sub.Tensor(self, mean)
    return a.mul.Tensor(a.mul.Scalar(grad, 2.0 / max(n - correction, 0) if n > correction else math.nan), offset)


def _std(grad, self, result, self_shape, dim, correction, keepdim):
    of_var = a.div.Tensor(grad, a.mul.Scalar(result, 2))
    of_var = a.masked_fill_.Scalar(of_var, a.eq.Scalar(result, 0), 0)
    return _var(of_var, self, self_shape, dim, correction, keepdim)


rule("sum.default", self=lambda grad, self_shape: a.expand.default(grad, list(self_shape)))
rule("sum.dim_IntList", self=_sum)
rule("mean.default",
    self=lambda grad, self_shape: a.div.Scalar(a.expand.default(grad, list(self_shape)), math.prod(self_shape)),
)  # fmt: skip
rule("mean.dim", self=_mean)
rule("var.correction", self=_var)
rule("std.correction", self=_std)


def _extremes(grad, self, result, self_shape, dim, keepdim):
    if not keepdim:
        ones = [1 if d in wrapped(dim, len(self_shape)) else n for d, n in enumerate(self_shape)]
        result = a.view.default(result, ones)
    mask = a.eq.Tensor(result, self)
    grad = grad if keepdim else a.view.default(grad, ones)
    return a.mul.Tensor(a.div.Tensor(grad, a.sum.dim_IntList(mask, wrapped(dim, len(self_shape)), True)), mask)


def _extreme(grad, self, result):
    nans = a.logical_and.default(a.isnan.default(self), a.isnan.default(result))
    mask = a.logical_or_.default(a.eq.Tensor(self, result), nans)
    return a.mul.Tensor(mask, a.div.Tensor(grad, a.sum.default(mask)))


def _selected(grad, result1, self_shape, dim, keepdim):
    if not keepdim and self_shape:
        grad, result1 = a.unsqueeze.default(grad, dim), a.unsqueeze.default(result1, dim)
    return a.scatter.src(a.new_zeros.default(grad, list(self_shape)), dim, result1, grad)


rule("amax", "amin", self=_extremes)
rule("max.default", "min.default", self=_extreme)
rule("max.dim", "min.dim", "median.dim", "mode", "kthvalue", parts=1, self=_selected)
rule("sort", "topk", parts=1,
    self=lambda grad, result1, self_shape, dim: _selected(grad, result1, self_shape, dim, True),
)  # fmt: skip


def _norm(grad, self, result, ord, self_shape, dim, keepdim):
    if ord != 2:
        raise NotImplementedError(MESSAGE.format(name=f"the backward of aten::linalg_vector_norm of order {ord}"))
    if not keepdim and dim is not None:
        grad, result = unreduced(grad, self_shape, dim, False), unreduced(result, self_shape, dim, False)
    direction = a.masked_fill_.Scalar(a.div.Tensor(self, result), a.eq.Scalar(result, 0), 0)
    return a.mul.Tensor(grad, direction)


rule("linalg_vector_norm", self=_norm)


def _logsumexp(grad, self, result, self_shape, dim, keepdim):
    grad, result = unreduced(grad, self_shape, dim, keepdim), unreduced(result, self_shape, dim, keepdim)
    return times(grad, a.exp.default(a.sub.Tensor(self, result)))


rule("logsumexp", self=_logsumexp)
rule("cumsum",
    self=lambda grad, dim: a.flip.default(a.cumsum.default(a.flip.default(grad, [dim]), dim), [dim]),
)  # fmt: skip

# ---- products ------------------------------------------------------------------------------------


def _t(x):
    return conj(a.t.default(x))


def _swapped(x):
    return conj(a.transpose.int(x, 1, 2))


def _is_column_major(x) -> bool:
    return x.stride() == (1, x.shape[0])


def _of_left(grad, left, right):
    """The cotangent of the left factor, in the order of its memory."""
    if _is_column_major(left):
        return a.t.default(a.mm.default(conj(right), a.t.default(grad)))
    return a.mm.default(grad, _t(right))


def _of_right(grad, left, right):
    """The cotangent of the right factor, in the order of its memory."""
    if _is_column_major(right):
        return a.t.default(a.mm.default(a.t.default(grad), conj(left)))
    return a.mm.default(_t(left), grad)


rule("mm",
    mat2=lambda grad, self, mat2: _of_right(grad, self, mat2),
    self=lambda grad, self, mat2: _of_left(grad, self, mat2),
)  # fmt: skip
rule("bmm",
    mat2=lambda grad, self: a.bmm.default(_swapped(self), grad),
    self=lambda grad, mat2: a.bmm.default(grad, _swapped(mat2)),
)  # fmt: skip
rule("mv",
    self=lambda grad, vec: a.mul.Tensor(reshape(grad, [grad.shape[0], 1]), conj(vec)),
    vec=lambda grad, self: a.mv.default(_t(self), grad),
)  # fmt: skip
rule("dot", self=lambda grad, tensor: times(grad, tensor), tensor=lambda grad, self: times(grad, self))
rule("addmm",
    mat1=lambda grad, mat1, mat2, alpha: scaled(_of_left(grad, mat1, mat2), alpha),
    mat2=lambda grad, mat1, mat2, alpha: scaled(_of_right(grad, mat1, mat2), alpha),
    self=lambda grad, beta: scaled(grad, beta),
)  # fmt: skip
rule("baddbmm",
    batch1=lambda grad, batch2, alpha: scaled(a.bmm.default(grad, _swapped(batch2)), alpha),
    batch2=lambda grad, batch1, alpha: scaled(a.bmm.default(_swapped(batch1), grad), alpha),
    self=lambda grad, beta: scaled(grad, beta),
)  # fmt: skip


def _convolution(
    wanted, grad, input, weight, bias_shape, stride, padding, dilation, transposed, output_padding, groups
):
    sizes = [int(n) for n in bias_shape] if bias_shape else [0]
    mask = [wanted("input"), wanted("weight"), wanted("bias")]
    how = stride, padding, dilation, transposed, output_padding, groups
    return a.convolution_backward.default(grad, input, weight, sizes, *how, mask)


rule("convolution", together=(("input", "weight", "bias"), _convolution))

# ---- shapes --------------------------------------------------------------------------------------

rule("t", self=lambda grad: a.t.default(grad))
rule("transpose.int", self=lambda grad, dim0, dim1: a.transpose.int(grad, dim0, dim1))


def _permute(grad, dims):
    n = len(dims)
    back = [0] * n
    for i, d in enumerate(dims):
        back[d % n] = i
    return a.permute.default(grad, back)


def _unsqueezed(grad, self_shape, dims):
    n = len(self_shape)
    for d in sorted([d % max(n, 1) for d in dims]):
        if n and self_shape[d] == 1:
            grad = a.unsqueeze.default(grad, d)
    return grad


rule("permute", self=_permute)
rule("view.default", "_unsafe_view", "_reshape_alias",
    self=lambda grad, self_shape: reshape(grad, list(self_shape)),
)  # fmt: skip
rule("unsqueeze", self=lambda grad, dim: a.squeeze.dim(grad, dim))
rule("squeeze.default", self=lambda grad, self_shape: _unsqueezed(grad, self_shape, range(len(self_shape))))
rule("squeeze.dim", self=lambda grad, self_shape, dim: _unsqueezed(grad, self_shape, [dim]))
rule("squeeze.dims", self=lambda grad, self_shape, dim: _unsqueezed(grad, self_shape, dim))
rule("expand", self=lambda grad: grad)
rule("select.int",
    self=lambda grad, self_shape, dim, index: a.select_backward.default(grad, list(self_shape), dim, index),
)  # fmt: skip
rule("slice.Tensor",
    self=lambda grad, self_shape, dim, start, end, step: a.slice_backward.default(
        grad, list(self_shape), dim, 0 if start is None else start, _int_max(end), step
    ),
)  # fmt: skip


rule("select_backward", grad_output=lambda grad, dim, index: a.select.int(grad, dim, index))
rule("slice_backward",
    grad_output=lambda grad, dim, start, end, step: a.slice.Tensor(grad, dim, start, end, step),
)  # fmt: skip
rule("diagonal_backward",
    grad_output=lambda grad, offset, dim1, dim2: a.diagonal.default(grad, offset, dim1, dim2),
)  # fmt: skip


def _int_max(end):
    return (1 << 63) - 1 if end is None else end


rule("detach", "zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like", "bernoulli", parts=0)
rule("new_zeros", "new_ones", "new_full", "new_empty", "new_empty_strided", "_local_scalar_dense", parts=0)
rule("clone", "alias", "lift_fresh", "contiguous", self=lambda grad: grad)


def _converted(grad, dtype):
    return grad if grad.dtype is dtype else a._to_copy.default(grad, **{**_all_of(grad), "dtype": dtype})


def _all_of(grad) -> dict:
    return {"dtype": grad.dtype, "layout": grad.layout, "device": grad.device}


rule("_to_copy", self=lambda grad, self_dtype: _converted(grad, self_dtype))
rule("flip", self=lambda grad, dims: a.flip.default(grad, dims))
rule("tril", self=lambda grad, diagonal: a.tril.default(grad, diagonal))
rule("triu", self=lambda grad, diagonal: a.triu.default(grad, diagonal))
rule("roll", self=lambda grad, shifts, dims: a.roll.default(grad, [-s for s in reversed(shifts)], list(reversed(dims))))
rule("diagonal",
    self=lambda grad, self_shape, offset, dim1, dim2:
        a.diagonal_backward.default(grad, list(self_shape), offset, dim1, dim2),
)  # fmt: skip
rule("constant_pad_nd", self=lambda grad, pad: a.constant_pad_nd.default(grad, [-n for n in pad]))


def _cat(grad, tensors_shape, dim):
    at, parts = 0, []
    for shape in tensors_shape:
        n = shape[dim]
        parts.append(a.slice.Tensor(grad, dim, at, at + n))
        at += n
    return parts


rule("cat", tensors=_cat)
rule("stack",
    tensors=lambda grad, dim, tensors_shape: [a.select.int(grad, dim, i) for i in range(len(tensors_shape))],
)  # fmt: skip
rule("unbind.int", self=lambda grads, dim: a.stack.default(_filled(grads), dim))
rule("split.Tensor", self=lambda grads, self_shape, split_size, dim:
    _split(grads, self_shape, dim, _equal(self_shape[dim], split_size))
)  # fmt: skip
rule("split_with_sizes", self=lambda grads, self_shape, split_sizes, dim:
    _split(grads, self_shape, dim, split_sizes)
)  # fmt: skip


def _filled(grads: list) -> list:
    like = next(g for g in grads if g is not None)
    return [_zeros(like.shape, like) if g is None else g for g in grads]


def _zeros(shape, like):
    with computing():
        return torch.zeros(tuple(shape), dtype=like.dtype)


def _split(grads, self_shape, dim, sizes):
    like, shape, parts = next(g for g in grads if g is not None), list(self_shape), []
    for g, n in zip(grads, sizes):
        shape[dim] = n
        parts.append(_zeros(shape, like) if g is None else g)
    return a.cat.default(parts, dim)


def _equal(n: int, size: int) -> list[int]:
    return [min(size, n - at) for at in range(0, max(n, 1), size)]


rule("repeat", self=lambda grad, self_shape, repeats: _unrepeated(grad, self_shape, repeats))


def _unrepeated(grad, shape, repeats):
    lead = len(repeats) - len(shape)
    if lead:
        grad = (
            a.sum.dim_IntList(grad, list(range(lead)))
            if math.prod(repeats[:lead]) != 1
            else a.view.default(grad, list(grad.shape[lead:]))
        )
    sizes, dims = [], []
    for n, r in zip(shape, repeats[lead:]):
        if r != 1:
            dims.append(len(sizes))
            sizes.append(r)
        sizes.append(n)
    if not dims:
        return grad
    return a.sum.dim_IntList(a.view.default(grad, sizes) if len(sizes) else grad, dims)


# ---- indices -------------------------------------------------------------------------------------

rule("gather", self=lambda grad, self_shape, dim, index: a.scatter_add.default(
    a.new_zeros.default(grad, list(self_shape)), dim, index, grad
))  # fmt: skip
rule("index_select", self=lambda grad, self_shape, dim, index: a.index_add_.default(
    a.new_zeros.default(grad, list(self_shape), **_all_of(grad)), dim, index, grad
))  # fmt: skip
rule("index.Tensor", self=lambda grad, self_shape, indices: a.index_put.default(
    a.new_zeros.default(grad, list(self_shape), **_all_of(grad)), indices, grad, True
))  # fmt: skip
rule("index_add",
    self=lambda grad: grad,
    source=lambda grad, dim, index, source_shape, alpha: scaled(
        a.expand.default(a.index_select.default(grad, dim, index), list(source_shape)), alpha
    ),
)  # fmt: skip
rule("scatter_add",
    src=lambda grad, dim, index: a.gather.default(grad, dim, index),
    self=lambda grad: grad,
)  # fmt: skip
rule("embedding",
    weight=lambda grad, indices, weight_shape, padding_idx, scale_grad_by_freq:
        a.embedding_dense_backward.default(grad, indices, weight_shape[0], padding_idx, scale_grad_by_freq),
)  # fmt: skip

# ---- normalisation, pools, losses ----------------------------------------------------------------


def _layer_norm(wanted, grad, input, normalized_shape, result1, result2, weight, bias):
    mask = [wanted("input"), wanted("weight"), wanted("bias")]
    return a.native_layer_norm_backward.default(grad, input, normalized_shape, result1, result2, weight, bias, mask)


rule("native_layer_norm", parts=1, together=(("input", "weight", "bias"), _layer_norm))
rule("max_pool2d_with_indices", parts=1,
    self=lambda grad, self, kernel_size, stride, padding, dilation, ceil_mode, result1:
        a.max_pool2d_with_indices_backward.default(
            grad, self, kernel_size, stride, padding, dilation, ceil_mode, result1
        ),
)  # fmt: skip
rule("mse_loss",
    self=lambda grad, self, target, reduction: a.mse_loss_backward.default(grad, self, target, reduction),
    target=lambda grad, self, target, reduction: a.mse_loss_backward.default(grad, target, self, reduction),
)  # fmt: skip
rule("smooth_l1_loss",
    self=lambda grad, self, target, reduction, beta:
        a.smooth_l1_loss_backward.default(grad, self, target, reduction, beta),
    target=lambda grad, self, target, reduction, beta:
        a.smooth_l1_loss_backward.default(grad, target, self, reduction, beta),
)  # fmt: skip
rule("avg_pool2d",
    self=lambda grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override:
        a.avg_pool2d_backward.default(
            grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        ),
)  # fmt: skip


def _batch_norm(wanted, grad, input, weight, running_mean, running_var, result1, result2, training, eps):
    mask = [wanted("input"), wanted("weight"), wanted("bias")]
    how = running_mean, running_var, result1, result2, training, eps
    return a.native_batch_norm_backward.default(grad, input, weight, *how, mask)


rule("native_batch_norm", parts=1, together=(("input", "weight", "bias"), _batch_norm))
rule("nll_loss_forward", parts=1,
    self=lambda grad, self, target, weight, reduction, ignore_index, result1:
        a.nll_loss_backward.default(grad, self, target, weight, reduction, ignore_index, result1),
)  # fmt: skip


WEIGHED = "the backward of aten::binary_cross_entropy_with_logits, weighed"


def _bce_logits(grad, self, target, weight, pos_weight, reduction):
    if weight is not None or pos_weight is not None:
        raise NotImplementedError(
            MESSAGE.format(name="the backward of aten::binary_cross_entropy_with_logits, weighed")
        )
    found = a.mul.Tensor(a.sub.Tensor(a.sigmoid.default(self), target), grad)
    return a.div_.Scalar(found, self.numel()) if reduction == 1 else found


def _bce_targets(grad, self, weight, pos_weight, reduction):
    if weight is not None or pos_weight is not None:
        raise NotImplementedError(
            MESSAGE.format(name="the backward of aten::binary_cross_entropy_with_logits, weighed")
        )
    found = a.mul.Tensor(a.neg.default(self), grad)
    return a.div_.Scalar(found, self.numel()) if reduction == 1 else found


rule("binary_cross_entropy_with_logits", self=_bce_logits, target=_bce_targets)
rule("native_dropout", parts=1,
    input=lambda grad, result1, p: a.native_dropout_backward.default(grad, result1, 1 / (1 - p) if p < 1 else 0.0),
)  # fmt: skip
rule("view_as_real", self=lambda grad: a.view_as_complex.default(grad))
rule("view_as_complex", self=lambda grad: a.view_as_real.default(grad))
rule("_conj", self=lambda grad: conj(grad))
