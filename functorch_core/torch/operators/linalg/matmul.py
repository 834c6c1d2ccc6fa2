"""Products: matmul and its special cases, linear, einsum and what is made of them."""

from __future__ import annotations

import math

from ....core.warn import warn_once
from ....kernels import matrices as kernels
from ....kernels.einsum import einsum as contract_by_path
from ....kernels.einsum import einsum_plan
from ....kernels.shapes import diagonal as diagonal_of
from ....ops.promotion import broadcast_shapes
from ....primitives import linalg_matrices as m
from ...dispatch.former import factors_first
from ...dispatch.op import composite, torch_op, write_out
from ...dispatch.slots import Factor, Held, MaybeTensor, Tensors
from ...dispatch.traits import EXACT, Out, castable
from ...tensors.base import Tensor
from ...tensors.promotion import _explain, cast, promote, result_dtype
from ..values import aval_of, dt, expanded, name_of, p, require_same_dtype, scalar, tied, total, wrap_dim
from . import nodes
from .distances import norm_of_difference
from .einsum_checks import check_equation

# ---- checks --------------------------------------------------------------------------------------


OLD_CHAIN = (
    "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
    "instead, which accepts a list of two or more tensors rather than multiple parameters."
)
NO_DIM = (
    "Using torch.cross without specifying the dim arg is deprecated.\n"
    "Please either pass the dim explicitly or simply use torch.linalg.cross.\n"
    "The default value of dim will change to agree with that of linalg.cross in a future release."
)
NO_OPERANDS = (
    "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts "
    "list"
)
BOTH_ALIKE = "both inputs should have same dtype"
EXPECTED_SCALAR = "expected scalar type {x} but found {y}"
VECTOR_ALIKE = "addmv input tensors must have the same dtype, but got {y}, {x}, and {y}"
BATCHES = "Input dtypes must be the same, got: input {x}, batch1: {y}, batch2: {y}"
SELF_AND_MAT2 = "self and mat2 must have the same dtype, but got {x} and {y}"
MAT1_AND_MAT2 = "mat1 and mat2 must have the same dtype, but got {x} and {y}"
DIFFER = {"bmm": EXPECTED_SCALAR, "addbmm": EXPECTED_SCALAR, "addmv_impl_cpu": VECTOR_ALIKE, "inner": BOTH_ALIKE}


def check_product(x, y, kernel: str = "addmm_impl_cpu_"):
    """RuntimeError for operands of two dtypes, NotImplementedError for bools."""
    if kernel in DIFFER:
        require_same_dtype(x, y, DIFFER[kernel], name_of)
    require_same_dtype(x, y)
    if aval_of(x).dtype == dt.bool_:
        kernel = "addmm_impl_cpu_" if kernel == "inner" else kernel
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")


def need_ndim(message: str, *wanted):
    """RuntimeError unless each (value, ndim) agrees."""
    for x, ndim in wanted:
        if aval_of(x).ndim != ndim:
            raise RuntimeError(message)


def check_inner(a_shape, b_shape):
    """RuntimeError unless an (n, k) and a (k, m) matrix fit."""
    if a_shape[1] != b_shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a_shape[0]}x{a_shape[1]} and {b_shape[0]}x{b_shape[1]})"
        )


# ---- matmul --------------------------------------------------------------------------------------


@torch_op(
    dunder=("matmul", "rmatmul"),
    out=Out(EXACT, of_number="result dtype {wanted} does not match input dtype {found}"),
    autocast="low",
    devices="any",
    node=nodes.matmul,
)
def matmul(input: Tensor, other: Tensor, *, out=None):
    """The matrix product over the last two dimensions; all others are broadcast.

    A 1-d operand is a row (first) or a column (second). RuntimeError if sizes do not fit.

    >>> torch.matmul(torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
    return product(input, other)


def product(x, y):
    """matmul of values."""
    a, b = aval_of(x), aval_of(y)
    if not a.ndim or not b.ndim:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a.ndim}D and {b.ndim}D")
    if a.ndim == b.ndim == 1:
        return _inner_product("dot", x, y)
    check_product(x, y, "addmv_impl_cpu" if b.ndim == 1 else "addmm_impl_cpu_")
    _check_matmul(a.shape, b.shape)
    return kernels.product(x, y, broadcast_lead(a.shape[:-2], b.shape[:-2]) if b.ndim > 2 and a.ndim > 1 else None)


def broadcast_lead(a, b) -> tuple[int, ...]:
    """The shape that leading dimensions broadcast to, with PyTorch's error."""
    try:
        return broadcast_shapes(a, b)
    except ValueError:
        raise RuntimeError(_explain([a, b])) from None


def _check_matmul(a, b):
    if len(a) == len(b) == 1:
        if a != b:
            raise RuntimeError(
                f"inconsistent tensor size, expected tensor [{a[0]}] and src "
                f"[{b[0]}]"
                f" to have the same number of elements, but got {a[0]} and {b[0]} "
                "elements respectively"
            )
    elif len(b) == 1:
        if a[-1] != b[0]:
            raise RuntimeError(
                f"size mismatch, got input ({math.prod(a[:-1])}), mat ({math.prod(a[:-1])}x{a[-1]}), vec ({b[0]})"
            )
    elif len(a) <= 2 or len(b) == 2:
        rows = math.prod(a[:-1])
        if a[-1] != b[-2]:
            raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({rows}x{a[-1]} and {b[-2]}x{b[-1]})")
    elif a[-1] != b[-2]:
        lead = math.prod(broadcast_lead(a[:-2], b[:-2]))
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{lead}, {a[-1]}] but got: [{lead}, {b[-2]}]."
        )


@torch_op(out=Out(EXACT), autocast="low", devices="any")
def mm(input: Tensor, mat2: Tensor, *, out=None):
    """The product of two matrices; RuntimeError for other numbers of dimensions.

    >>> torch.mm(torch.ones(2, 3), torch.ones(3, 1))
    tensor([[3.],
            [3.]])
    """
    if aval_of(input).ndim != 2:
        raise RuntimeError("self must be a matrix")
    if aval_of(mat2).ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    return matrix_product(input, mat2)


def matrix_product(x, y):
    """The product of two matrices that fit."""
    check_inner(aval_of(x).shape, aval_of(y).shape)
    check_product(x, y)
    return p.dot_general(x, y, contract=((1,), (0,)))


@torch_op(out=Out(EXACT, overlapping=True), autocast="low", devices="any")
def bmm(input: Tensor, mat2: Tensor, *, out=None):
    """The products of matrices in two batches.

    (B, N, M) and (B, M, P), of one dtype, give (B, N, P). RuntimeError otherwise.

    >>> torch.bmm(torch.ones(2, 1, 3), torch.ones(2, 3, 1)).shape
    torch.Size([2, 1, 1])
    """
    need_ndim("batch1 must be a 3D tensor", (input, 3))
    need_ndim("batch2 must be a 3D tensor", (mat2, 3))
    return batch_product(input, mat2)


def batch_product(x, y):
    """bmm of values."""
    a, b = aval_of(x).shape, aval_of(y).shape
    if a[0] != b[0] or a[2] != b[1]:
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{a[0]}, {a[2]}] but got: [{b[0]}, {b[1]}]."
        )
    check_product(x, y, "bmm")
    return p.dot_general(x, y, contract=((2,), (1,)), batch=((0,), (0,)))


@torch_op(
    out=Out("addmv input tensors must have the same dtype, but got {wanted}, {found}, and {found}", overlapping=True),
    autocast={"cuda": "low"},
)
def mv(input: Tensor, vec: Tensor, *, out=None):
    """The product of a matrix and a vector.

    >>> torch.mv(torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
    return matrix_vector(input, vec)


def matrix_vector(x, y):
    """mv of values."""
    a, b = aval_of(x), aval_of(y)
    if a.ndim != 2 or b.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {a.ndim}, {b.ndim}")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({a.shape[0]}), mat ({a.shape[0]}x{a.shape[1]}), vec ({b.shape[0]})"
        )
    check_product(x, y, "addmv_impl_cpu")
    return p.dot_general(x, y, contract=((1,), (0,)))


def _inner_product(name: str, x, y):
    a, b = aval_of(x), aval_of(y)
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"{name} : expected both vectors to have same dtype, but found {name_of(x)} and {name_of(y)}"
        )
    if a.shape != b.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a.size}] and src "
            f"[{b.size}]"
            f" to have the same number of elements, but got {a.size} and {b.size} "
            "elements respectively"
        )
    if a.dtype == dt.bool_:
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'")
    return p.dot_general(x, y, contract=((0,), (0,)))


@torch_op(out=Out("result dtype {wanted} does not match input dtype {found}"), autocast={"cuda": "widest"})
def dot(input: Tensor, tensor: Tensor, *, out=None):
    """The inner product of two vectors, nothing conjugated.

    >>> torch.dot(torch.tensor([1., 2.]), torch.tensor([3., 4.]))
    tensor(11.)
    """
    return _inner_product("dot", input, tensor)


@torch_op(out=Out("result dtype {wanted} does not match input dtype {found}"), autocast={"cuda": "widest"})
def vdot(input: Tensor, other: Tensor, *, out=None):
    """The inner product of two vectors, the first conjugated.

    >>> torch.vdot(torch.tensor([1., 2.]), torch.tensor([3., 4.]))
    tensor(11.)
    """
    first = p.conj(input) if aval_of(input).dtype in dt.COMPLEX else input
    return _inner_product("vdot", first, other)


@torch_op(
    out=Out(
        "tensordot: Expected the output tensor to have dtype {found}, but got an output tensor with dtype {wanted}",
        recorded=True,
    ),
    node=lambda a: "ViewBackward0" if a.input.ndim and a.other.ndim else "MulBackward0",
)
def inner(input: Tensor, other: Tensor, *, out=None):
    """Sums of products over the last dimension of both; a product if one is a scalar.

    >>> torch.inner(torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
    a, b = aval_of(input), aval_of(other)
    if not a.ndim or not b.ndim:
        return p.mul(*promote(input, other))
    if a.shape[-1] != b.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got "
            f"shapes {list(a.shape)} and {list(b.shape)}"
        )
    check_product(input, other, "inner")
    return p.dot_general(input, other, contract=((a.ndim - 1,), (b.ndim - 1,)))


@torch_op(aliases=("ger",), node="Mul0(View0(input), vec2)", out=Out(whole=True))
def outer(input: Tensor, vec2: Tensor, *, out=None):
    """The products of all pairs of elements of two vectors.

    >>> torch.outer(torch.tensor([1., 2.]), torch.tensor([1., 10.]))
    tensor([[ 1., 10.],
            [ 2., 20.]])
    """
    return outer_product(input, vec2)


def outer_product(x, y):
    """outer of values, promoted."""
    for i, v in ((1, x), (2, y)):
        if aval_of(v).ndim != 1:
            raise RuntimeError(
                f"outer: Expected 1-D argument {'self' if i == 1 else 'vec2'}, but got {aval_of(v).ndim}-D"
            )
    x, y = p.expand_dims(x, dims=(1,)), p.expand_dims(y, dims=(0,))
    return p.mul(*promote(x, y))


# ---- sums with a product -------------------------------------------------------------------------


def _weighted(input, product_, beta, alpha):
    """beta * input + alpha * product, input broadcast; beta 0 leaves even NaN of the input out."""
    _check_scale("beta", beta, product_)
    _check_scale("alpha", alpha, product_)
    if not is_number(alpha, 1):
        product_ = p.mul(product_, scalar(product_, alpha))
    require_same_dtype(input, product_, SELF_AND_MAT2, name_of)
    if is_number(beta, 0):
        return product_
    input = expanded_to(input, aval_of(product_).shape)
    if not is_number(beta, 1):
        input = p.mul(input, scalar(input, beta))
    return p.add(input, product_)


def expanded_to(x, shape):
    """x broadcast to a shape, with PyTorch's error."""
    a = aval_of(x)
    lead = len(shape) - a.ndim
    if lead < 0:
        raise RuntimeError(
            f"expand({_type_name(x)}{{{list(a.shape)}}}, size={list(shape)}): the "
            f"number of sizes provided ({len(shape)}) must be greater or equal to "
            f"the number of dimensions in the tensor ({a.ndim})"
        )
    for d, n in enumerate(a.shape):
        if n not in (1, shape[lead + d]):
            raise RuntimeError(
                f"The expanded size of the tensor ({shape[lead + d]}) must match "
                "the "
                f"existing size ({n}) at non-singleton dimension {lead + d}.  "
                "Target "
                f"sizes: {list(shape)}.  Tensor sizes: {list(a.shape)}"
            )
    return expanded(x, shape)


def _type_name(x) -> str:
    return f"torch.{name_of(x)}Tensor"


def is_number(x, wanted: int) -> bool:
    """Whether a Number parameter is this literal."""
    return not hasattr(x, "kind") and x == wanted


def _check_scale(name: str, number, x):
    kind = getattr(number, "kind", type(number))
    dtype = aval_of(x).dtype
    if kind is complex and dtype not in dt.COMPLEX:
        raise RuntimeError("value cannot be converted to type float without overflow")


@torch_op(inplace=True, out=Out(EXACT, whole=True), autocast="low", former=factors_first("mat1", "mat2"))
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Factor = 1, alpha: Factor = 1, out=None):
    """beta * input + alpha * (mat1 @ mat2).

    >>> torch.addmm(torch.ones(1), torch.ones(2, 3), torch.ones(3, 2))
    tensor([[4., 4.],
            [4., 4.]])
    """
    a, b = aval_of(mat1), aval_of(mat2)
    if a.ndim != 2:
        raise RuntimeError(f"mat1 must be a matrix, got {a.ndim}-D tensor")
    if b.ndim != 2:
        raise RuntimeError(f"mat2 must be a matrix, got {b.ndim}-D tensor")
    _check_addmm(input, mat1, mat2)
    return _weighted(input, matrix_product(mat1, mat2), beta, alpha)


def _check_addmm(input, mat1, mat2):
    require_same_dtype(input, mat2, SELF_AND_MAT2, name_of)
    require_same_dtype(mat1, mat2, MAT1_AND_MAT2, name_of)


@torch_op(inplace=True, out=Out(EXACT, whole=True), autocast={"cuda": "low"}, former=factors_first("mat", "vec"))
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Held = 1, alpha: Held = 1, out=None):
    """beta * input + alpha * (mat @ vec).

    >>> torch.addmv(torch.ones(2), torch.ones(2, 3), torch.ones(3))
    tensor([4., 4.])
    """
    return _weighted(input, matrix_vector(mat, vec), beta, alpha)


@torch_op(inplace=True, aliases=(), autocast={"cuda": "low"}, out=Out(whole=True), former=factors_first("vec1", "vec2"))
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Held = 1, alpha: Held = 1, out=None):
    """beta * input + alpha * outer(vec1, vec2).

    >>> torch.addr(torch.zeros(2, 2), torch.ones(2), torch.ones(2))
    tensor([[1., 1.],
            [1., 1.]])
    """
    for name, v in (("vec1", vec1), ("vec2", vec2)):
        if aval_of(v).ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {aval_of(v).ndim}-D")
    products = outer_product(vec1, vec2)
    input, products = promote(expanded_to(input, aval_of(products).shape), products)
    if aval_of(products).dtype not in dt.INEXACT:
        _need_integers(beta, alpha)
    if aval_of(products).dtype != dt.bool_:
        _need_numbers(beta, alpha)
    if aval_of(products).dtype == dt.bool_:
        return _addr_of_bools(input, products, beta, alpha)
    return _weighted(input, products, beta, alpha)


def _need_integers(beta, alpha):
    for name, number in (("beta", beta), ("alpha", alpha)):
        if getattr(number, "kind", type(number)) is float:
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")


def _need_numbers(beta, alpha):
    for name, number in (("beta", beta), ("alpha", alpha)):
        if isinstance(number, bool):
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")


def _addr_of_bools(input, products, beta, alpha):
    alpha, beta = (getattr(v, "kind", None) is not None or bool(v) for v in (alpha, beta))
    products = products if alpha else p.zeros(aval_of(products))
    return p.or_(input, products) if beta else products


@torch_op(inplace=True, out=Out(EXACT, whole=True), autocast="low", former=factors_first("batch1", "batch2"))
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Factor = 1, alpha: Factor = 1, out=None):
    """beta * input + alpha * bmm(batch1, batch2).

    >>> torch.baddbmm(torch.ones(1), torch.ones(2, 1, 3), torch.ones(2, 3, 1)).shape
    torch.Size([2, 1, 1])
    """
    need_ndim("batch1 must be a 3D tensor", (batch1, 3))
    need_ndim("batch2 must be a 3D tensor", (batch2, 3))
    made = batch_product(batch1, batch2)
    require_same_dtype(input, made, BATCHES)
    return _weighted(input, made, beta, alpha)


@torch_op(
    inplace=True,
    out=Out("self and mat2 must have the same dtype, but got {wanted} and {found}", silent=True, whole=True),
    autocast="low",
    former=factors_first("batch1", "batch2"),
)
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Factor = 1, alpha: Factor = 1, out=None):
    """beta * input + alpha * the sum of bmm(batch1, batch2) over the batch.

    >>> torch.addbmm(torch.zeros(1), torch.ones(2, 1, 3), torch.ones(2, 3, 1))
    tensor([[6.]])
    """
    need_ndim("batch1 must be a 3D tensor", (batch1, 3))
    need_ndim("batch2 must be a 3D tensor", (batch2, 3))
    a, b = aval_of(batch1).shape, aval_of(batch2).shape
    if a[0] != b[0]:
        raise RuntimeError(f"batch1 and batch2 must have same number of batches, got {a[0]} and {b[0]}")
    if a[2] != b[1]:
        raise RuntimeError(f"Incompatible matrix sizes for bmm ({a[1]}x{a[2]} and {b[1]}x{b[2]})")
    check_product(batch1, batch2, "addbmm")
    product_ = p.dot_general(batch1, batch2, contract=((0, 2), (0, 1)))
    return _weighted(input, product_, beta, alpha)


# ---- linear layers -------------------------------------------------------------------------------


@torch_op(method=False, function=False, node=nodes.linear, autocast="low", devices="any")
def linear(input: Tensor, weight: Tensor, bias: MaybeTensor = None):
    """input @ weight.T + bias, over the last dimension.

    >>> nn.functional.linear(torch.ones(2, 3), torch.ones(1, 3))
    tensor([[3.],
            [3.]])
    """
    a, w = aval_of(input), aval_of(weight)
    if w.ndim not in (1, 2):
        raise RuntimeError(f"linear(): argument 'weight' must be 1-D or 2-D, got {w.ndim}-D")
    if bias is not None and a.ndim == w.ndim == 2:
        _check_addmm(bias, input, weight)
    if not a.ndim:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a.ndim}D and {w.ndim}D")
    if bias is not None and w.ndim == 2:
        require_same_dtype(input, weight, MAT1_AND_MAT2, name_of)
    if a.shape[-1] != w.shape[-1]:
        _explain_linear(a.shape, w.shape)
    check_product(input, weight)
    # The dot's own lowering collapses the leading dimensions: 4.6 -> 2.05 ms for an MLP block.
    out = p.dot_general(input, weight, contract=((a.ndim - 1,), (w.ndim - 1,)))
    if bias is None:
        return out
    require_same_dtype(bias, out, SELF_AND_MAT2, name_of)
    return p.add(out, expanded_to(bias, aval_of(out).shape))


def _explain_linear(a, w):
    rows = math.prod(a[:-1])
    if len(w) == 1:
        raise RuntimeError(f"size mismatch, got input ({rows}), mat ({rows}x{a[-1]}), vec ({w[0]})")
    raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({rows}x{a[-1]} and {w[1]}x{w[0]})")


@torch_op(method=False, autocast={"cuda": "widest"}, node=nodes.bilinear)
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: MaybeTensor = None):
    """x1 . W_k . x2 + b_k for every k, over the last dimensions.

    >>> nn.functional.bilinear(torch.ones(2, 3), torch.ones(2, 4), torch.ones(5, 3, 4)).shape
    torch.Size([2, 5])
    """
    a, b, w = aval_of(input1), aval_of(input2), aval_of(weight)
    if a.ndim != b.ndim or a.shape[:-1] != b.shape[:-1]:
        raise RuntimeError(
            f"bilinear(): input batch dimensions do not match: got {list(a.shape[:-1])} and {list(b.shape[:-1])}"
        )
    for i, (v, n) in enumerate(((a, w.shape[1]), (b, w.shape[2])), 1):
        if v.shape[-1] != n:
            raise RuntimeError(
                f"bilinear(): input{i} size does not match weight size: got {v.shape[-1]} but expected {n}"
            )
    rows = math.prod(a.shape[:-1])
    x, y = p.reshape(input1, shape=(rows, w.shape[1])), p.reshape(input2, shape=(rows, w.shape[2]))
    half = p.dot_general(x, weight, contract=((1,), (1,)))  # rows, out, in2
    out = p.dot_general(half, y, contract=((2,), (1,)), batch=((0,), (0,)))
    out = p.reshape(out, shape=(*a.shape[:-1], w.shape[0]))
    return out if bias is None else p.add(out, expanded(bias, aval_of(out).shape))


# ---- einsum, tensordot ---------------------------------------------------------------------------


@composite(method=False)
def einsum(*args):
    """Sums of products written by labels: einsum("ij,jk->ik", a, b).

    Also in the sublist form einsum(a, [0, 1], b, [1, 2], [0, 2]). The order of contractions is
    opt_einsum's. RuntimeError if labels and shapes do not fit.

    >>> torch.einsum("ij,j->i", torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
    if len(args) < 2 or isinstance(args[1], (list, tuple)) and not args[1]:
        raise ValueError(NO_OPERANDS)
    equation, operands = _from_sublists(args) if not isinstance(args[0], str) else (args[0], list(args[1:]))
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = list(operands[0])
    return _einsum_op(operands, equation)


def _from_sublists(args) -> tuple[str, list]:
    """The equation and operands of (operand, labels, operand, labels, ..., [labels of result])."""

    def text(labels):
        return "".join("..." if n is Ellipsis else _label(n) for n in labels)

    pairs = len(args) // 2
    equation = ",".join(text(labels) for labels in args[1 : 2 * pairs : 2])
    if len(args) % 2:
        equation += "->" + text(args[-1])
    return equation, list(args[: 2 * pairs : 2])


def _label(n: int) -> str:
    if not 0 <= n < 52:
        raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
    return chr(ord("A") + n) if n < 26 else chr(ord("a") + n - 26)


@torch_op(name="_einsum", autocast="low", node=nodes.einsum)
def _einsum_op(operands: Tensors, equation):
    for x in operands[1:]:
        require_same_dtype(operands[0], x, EXPECTED_SCALAR, name_of)
    if len(operands) > 1 and aval_of(operands[0]).dtype == dt.bool_:
        raise NotImplementedError("\"bmm\" not implemented for 'Bool'")
    shapes = tuple(aval_of(x).shape for x in operands)
    check_equation(equation, shapes)
    parsed, path = einsum_plan(equation.replace(" ", ""), shapes, "auto")
    return contract_by_path(operands, parsed, path)


@composite(
    method=False,
    out=Out(
        "tensordot: Expected the output tensor to have dtype {found}, but got an output tensor with dtype {wanted}",
        recorded=True,
    ),
)
def tensordot(a, b, dims=2, out=None):
    """Products summed over the last `dims` of a and the first of b, or over pairs (of a, of b).

    >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 2), dims=1)
    tensor([[3., 3.],
            [3., 3.]])
    """
    if not isinstance(dims, (list, tuple)) and hasattr(dims, "tolist"):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    of_a, of_b = ([d] if isinstance(d, int) else list(d) for d in dims)
    return write_out("tensordot", out, _tensordot(a, b, tuple(of_a), tuple(of_b)))


@torch_op(autocast={"cpu": "low", "cuda": "widest"}, node=nodes.tensordot)
def _tensordot(input: Tensor, other: Tensor, dims_self, dims_other):
    a, b = aval_of(input), aval_of(other)
    if len(dims_self) != len(dims_other):
        raise RuntimeError("both dimension lists should have same length")
    of_a = tuple(wrap_dim(d, a.ndim) for d in dims_self)
    of_b = tuple(wrap_dim(d, b.ndim) for d in dims_other)
    require_same_dtype(input, other, BOTH_ALIKE)
    for i, j in zip(of_a, of_b):
        n, m = a.shape[i], b.shape[j]
        if n == m:
            continue
        if n == 1:
            other, b = _summed_to_one(other, j)
        elif m == 1:
            input, a = _summed_to_one(input, i)
        else:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {n} in "
                "dim "
                f"{i} and second has size {m} in dim {j}"
            )
    check_product(input, other)
    return p.dot_general(input, other, contract=(of_a, of_b))


def _summed_to_one(x, dim):
    x = p.expand_dims(total(x, (dim,)), dims=(dim,))
    return x, aval_of(x)


@composite(method=False)
def chain_matmul(*matrices, out=None):
    """The product of matrices, in the order that takes the fewest multiplications.

    >>> torch.chain_matmul(torch.ones(2, 3), torch.ones(3, 1), torch.ones(1, 4)).shape
    torch.Size([2, 4])
    """
    warn_once(OLD_CHAIN)
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for x in matrices:
        if x.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {x.ndim}, expected 2 instead.")
    result = _chain(list(matrices)) if len(matrices) > 1 else matrices[0]
    return write_out("chain_matmul", out, result)


@torch_op(node=nodes.multi_dot("matrices", "chain_matmul"), autocast="low")
def _chain(matrices: Tensors):
    return chained(matrices)


def chained(matrices):
    """The product of matrices (values), associated best (Cormen et al., 15.2)."""
    sizes = [aval_of(m).shape[0] for m in matrices] + [aval_of(matrices[-1]).shape[1]]
    n = len(matrices)
    cost = {(i, i): 0 for i in range(n)}
    split = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            costs = [(cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            cost[i, j], split[i, j] = min(costs)

    def build(i, j):
        if i == j:
            return matrices[i]
        k = split[i, j]
        return matrix_product(build(i, k), build(k + 1, j))

    return build(0, n - 1)


# ---- others --------------------------------------------------------------------------------------


@torch_op(node="UnsafeView0(Mul0(UnsafeView0(input), UnsafeView0(other)))", out=Out(whole=True))
def kron(input: Tensor, other: Tensor, *, out=None):
    """The Kronecker product: every element of input times the whole of other.

    >>> torch.kron(torch.tensor([1, 10]), torch.tensor([1, 2]))
    tensor([ 1,  2, 10, 20])
    """
    dtype = result_dtype((input, other))
    return kernels.kron(cast(input, dtype), cast(other, dtype))


@torch_op(out=Out(EXACT, apart=True), autocast={"cuda": "widest"}, node="LinalgCrossBackward0")
def cross(input: Tensor, other: Tensor, dim=None, *, out=None):
    """Cross products of vectors of 3 along `dim`, by default the first dimension of size 3.

    >>> torch.cross(torch.tensor([1., 0., 0.]), torch.tensor([0., 1., 0.]))
    tensor([0., 0., 1.])
    """
    return cross_product(input, other, _default_cross_dim(input) if dim is None else dim)


def _default_cross_dim(x) -> int:
    warn_once(NO_DIM)
    for d, n in enumerate(aval_of(x).shape):
        if n == 3:
            return d
    raise RuntimeError("no dimension of size 3 in input")


def check_cross(a, b, dim: int):
    """RuntimeError unless both shapes have 3 along a dimension."""
    if not a:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    d = wrap_dim(dim, len(a))
    if a[d] != 3 or b[d] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {a[d]} and {b[d]}")


def cross_product(x, y, dim: int):
    """linalg.cross of values."""
    a, b = aval_of(x), aval_of(y)
    if a.ndim != b.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    check_cross(a.shape, b.shape, dim)
    d = wrap_dim(dim, a.ndim)
    return kernels.cross(*promote(x, y), d)


@torch_op(autocast={"cpu": "full"})
def trace(input: Tensor):
    """The sum of a matrix's diagonal.

    >>> torch.trace(torch.ones(2, 3))
    tensor(2.)
    """
    a = aval_of(input)
    if a.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {a.ndim}")
    diagonal = diagonal_of(input)
    if a.dtype in dt.INTEGER | {dt.bool_}:
        diagonal = p.convert(diagonal, dtype=dt.int64)
    return total(diagonal)


@torch_op(out=Out(EXACT, lower=castable("matrix_power")), node=nodes.matrix_power)
def matrix_power(input: Tensor, n, *, out=None):
    """A square matrix times itself n times; its inverse for negative n.

    >>> torch.matrix_power(torch.tensor([[2.]]), 3)
    tensor([[8.]])
    """
    return powered(input, n)


def powered(x, n: int):
    """linalg.matrix_power of values, by repeated squaring."""
    a = aval_of(x)
    if a.ndim < 2:
        raise RuntimeError("linalg.matrix_power: The input tensor A must have at least 2 dimensions.")
    if a.shape[-1] != a.shape[-2]:
        raise RuntimeError(
            "linalg.matrix_power: A must be batches of square matrices, but they "
            "are "
            f"{a.shape[-2]} by {a.shape[-1]} matrices"
        )
    if n < 0:
        x, n = p.inv(x), -n
    if n == 0:
        return tied(m.identity(shape=a.shape, dtype=a.dtype), x)
    return kernels.powered(x, n)


# ---- distances -----------------------------------------------------------------------------------


def _way_of_cdist(x1, x2, p, compute_mode) -> bool:
    return p == 2 and _by_product(compute_mode, max([0, *x1.shape[-2:-1], *x2.shape[-2:-1]]))


@torch_op(method=False, autocast="full", way=_way_of_cdist)
def cdist(x1: Tensor, x2: Tensor, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The p-norm distances of all pairs of rows: (..., n, d) and (..., m, d) to (..., n, m).

    >>> torch.cdist(torch.zeros(1, 2), torch.tensor([[3., 4.]]))
    tensor([[5.]])
    """
    a, b = aval_of(x1), aval_of(x2)
    if a.dtype not in dt.FLOATING:
        raise RuntimeError(f"cdist only supports floating-point dtypes, X1 got: {name_of(x1)}")
    if b.dtype not in dt.FLOATING:
        raise RuntimeError(f"cdist only supports floating-point dtypes, X2 got: {name_of(x2)}")
    if a.ndim < 2 or b.ndim < 2:
        which, v = ("X1", a) if a.ndim < 2 else ("X2", b)
        raise RuntimeError(f"cdist only supports at least 2D tensors, {which} got: {v.ndim}D")
    if a.shape[-1] != b.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {a.shape[-1]} X2: {b.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if p == 2 and _by_product(compute_mode, max(a.shape[-2], b.shape[-2])):
        lead = broadcast_shapes(a.shape[:-2], b.shape[:-2])
        dtype = result_dtype([x1, x2])
        x1, x2 = (expanded(cast(x, dtype), (*lead, *aval_of(x).shape[-2:])) for x in (x1, x2))
        return kernels.euclidean_distances(x1, x2)
    return _pair_distances(x1, x2, p)


def _by_product(mode: str, rows: int) -> bool:
    """Whether PyTorch takes a product of matrices, which loses digits where rows are close to each other."""
    if mode == "use_mm_for_euclid_dist_if_necessary":
        return rows > 25
    return mode == "use_mm_for_euclid_dist"


def _pair_distances(x, y, power):
    rows, columns = aval_of(x).ndim - 2, aval_of(y).ndim - 1
    x = p.expand_dims(x, dims=(rows + 1,))
    y = p.expand_dims(y, dims=(columns - 1,))
    x, y = promote(x, y)
    return norm_of_difference(p.sub(x, y), power)
