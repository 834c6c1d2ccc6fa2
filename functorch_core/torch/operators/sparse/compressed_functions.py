"""What ops do with tensors of compressed layouts: in terms of their values, or of coordinates."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...dispatch.op import registry
from ...tensors import types as _types
from ...tensors.base import Tensor, from_array, wrap_dim
from ..dtype_questions import promote_types, result_type
from . import functions as _coo
from .base import KINDS, Sparse, rows_of, unsupported, with_rows_added
from .compressed import BY_BLOCK, BY_ROW, CompressedTensor, compressed
from .construct import empty_compressed, of_shape
from .conversions import as_coo, same_places, sparse_mask, to_compressed, to_sparse, transposed

TABLE: dict[str, Callable] = {
    name: _coo.TABLE[name]
    for name in """abs asin asinh atan atanh ceil erf erfinv expm1 floor isinf isnan isneginf isposinf log1p round sgn
        sign signbit sin sinh sqrt tan tanh trunc relu deg2rad rad2deg bool frac neg clone float double half bfloat16
        int long short char byte cfloat cdouble cpu cuda conj conj_physical positive to is_same_size grad
        backward resolve_conj resolve_neg""".split()
}
compressed_op = _coo.declaring_in(TABLE)
_coo._by_values("angle", True, TABLE)

ADD_DENSE = (
    "add: expected 'self' and 'other' to have same size, but self has size {a} while other has size {b} "
    "(FYI: op2-sparse addition does not currently support broadcasting)"
)
ADD_SPARSE = (
    "torch.add: Expected input tensors to have the same shape, but got tensor `self` with shape {a} and tensor "
    "`other` with shape {b}"
)


def dispatch(func, args, kwargs):
    """A call of a torch function with a tensor of a compressed layout among its arguments."""
    return _coo.dispatch(func, args, kwargs, TABLE)


def _is_compressed(x) -> bool:
    return isinstance(x, CompressedTensor)


def _index_dtype(x: CompressedTensor):
    return x._ends._array().dtype


# ---- contents ------------------------------------------------------------------------------------


@compressed_op()
def zero_(x):
    """No values any more."""
    return x.become(_empty_as(x, x._what))


def _empty_as(x: CompressedTensor, values: Tensor) -> CompressedTensor:
    return empty_compressed(x.shape, x.layout, values, x._batch_dim(), x._block(), _index_dtype(x))


@compressed_op()
def fill_(x, value):
    """All values that are there as one number."""
    return x.become(x._with(registry["full_like"](x._what.detach(), value)))


@compressed_op()
def ones_like(x, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """One where there are values."""
    _check_same_layout(x, layout)
    made = x._with(registry["ones_like"](x._what.detach(), dtype=dtype, device=device))
    return made.requires_grad_(requires_grad)


def _check_same_layout(x, layout):
    if layout not in (None, x.layout):
        raise RuntimeError(
            "empty_like with different sparse layout is not supported "
            f"(self is {KINDS[x.layout]} but you requested {KINDS[layout]})"
        )


@compressed_op()
def zeros_like(x, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """No values."""
    _check_same_layout(x, layout)
    return _empty_as(x, x._what.detach().to(dtype=dtype, device=device)).requires_grad_(requires_grad)


@compressed_op()
def empty_like(x, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """Any values where there are some."""
    _check_same_layout(x, layout)
    made = x._with(registry["zeros_like"](x._what.detach(), dtype=dtype, device=device))
    return made.requires_grad_(requires_grad)


@compressed_op()
def full_like(x, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """One number where there are values."""
    _check_same_layout(x, layout)
    made = x._with(registry["full_like"](x._what.detach(), fill_value, dtype=dtype, device=device))
    return made.requires_grad_(requires_grad)


@compressed_op()
def randn_like(x, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """Normally distributed values where there are some."""
    _check_same_layout(x, layout)
    made = x._with(registry["randn_like"](x._what.detach(), dtype=dtype, device=device))
    return made.requires_grad_(requires_grad)


@compressed_op("result_type")
def result_type_of(x, other):
    """The dtype of an op with two operands."""
    return result_type(*(y._what if _is_compressed(y) else y for y in (x, other)))


ELSEWHERE = (
    "backward: the gradient is not 0 at places where the {layout} result has no element, and gradients are by its"
    " elements. Right: result.to_dense().backward(gradient.to_dense())"
)


def _of_elements(gradient, x):
    """The gradient of a result at its elements; RuntimeError if it has others."""
    found = sparse_mask(gradient, x)
    if registry["count_nonzero"](found._what.detach()).item() != registry["count_nonzero"](gradient.to_dense()).item():
        raise RuntimeError(ELSEWHERE.format(layout=x.layout))
    return found


@compressed_op("backward")
def backward_from(x, gradient=None, retain_graph=None, create_graph=False, inputs=None, **kwargs):
    """Add the gradients by the values, given those of the result's, to the leaves."""
    if not _is_compressed(x):
        return _coo.TABLE["backward"](x, gradient, retain_graph, create_graph, inputs=inputs, **kwargs)
    if gradient is None and x.numel() != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    ct = None if gradient is None else _of_elements(gradient, x)._what
    return _coo.TABLE["backward"](x._what, ct, retain_graph, create_graph, inputs=inputs, **kwargs)


def _new(name: str):
    def function(x, *size, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
        size = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
        layout = x.layout if layout is None else layout
        if layout is _types.strided:
            return x._what.detach().new_zeros(size, dtype=dtype, device=device).requires_grad_(requires_grad)
        return of_shape(name, tuple(size), layout, dtype or x.dtype, device or x.device, requires_grad)

    function.__name__ = f"new_{name}"
    return function


TABLE["new_zeros"], TABLE["new_empty"] = _new("zeros"), _new("empty")


@compressed_op()
def copy_(x, other, non_blocking=False):
    """Take another's values, where both have as many, in this one's dtype."""
    if not _is_compressed(x):
        raise RuntimeError(
            f"copy_sparse_compressed_ expected sparse compressed tensor layout but got {KINDS[x.layout]}"
        )
    if x.layout is not other.layout:
        raise RuntimeError(
            "torch.copy_: copy of sparse compressed tensors having different layouts is not supported. "
            f"self layout is {KINDS[x.layout]} and src layout is {KINDS[other.layout]}"
        )
    if x._nnz() != other._nnz():
        raise RuntimeError(
            "torch.copy_: only sparse compressed tensors with the same number of specified elements are supported."
        )
    ends = (y._ends.shape[-1] - 1 for y in (x, other))
    if x.shape != other.shape and (x._batch() != other._batch() or len({*ends}) > 1):
        i = x._batch_dim() + (0 if x.layout in BY_ROW else 1)
        raise RuntimeError(
            "torch.copy_: expected shapes of self and src to match along dimension "
            f"{i} for {KINDS[x.layout]} layout but the corresponding dimensions of self and src are {x.shape[i]} and "
            f"{other.shape[i]}, respectively."
        )
    if x._block() != other._block():
        raise RuntimeError(
            "torch.copy_: copy of sparse compressed tensors having different block sizes is not supported. "
            f"self and src block sizes are {list(x._block())} and {list(other._block())}, respectively."
        )
    dense = CompressedTensor(other._ends, other._plain, other._what.to(x.dtype), x.shape, x.layout)
    return x.become(dense)


TABLE["sparse_mask"] = sparse_mask

ONLY_CSR = "torch.resize_: Only batched sparse CSR matrices are supported, but got size {}"
FEWER_COLUMNS = (
    "torch.resize_: Resizing columns of sparse CSR tensors to a smaller value is not supported. The original number of "
    "columns is {} while the requested new number of columns is {}."
)


@compressed_op()
def resize_(x, *size, memory_format=None):
    """Another shape, with as many values as it has room for; new rows have none."""
    size = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    if len(size) < 2:
        raise RuntimeError(ONLY_CSR.format(list(size)))
    if size[-1] < x.shape[-1]:
        raise RuntimeError(FEWER_COLUMNS.format(x.shape[-1], size[-1]))
    batch, rows, known = size[:-2], size[-2], x._ends.shape[-1]
    nnz = min(x._nnz(), rows * size[-1])
    ends = x._ends.clone().resize_((*batch, rows + 1))
    ends[..., min(rows, known - 1) :] = nnz
    parts = ends, x._plain.clone().resize_((*batch, nnz)), x._what.detach().clone().resize_((*batch, nnz))
    return x.become(CompressedTensor(*parts, size, x.layout))


# ---- sums and products ---------------------------------------------------------------------------


def _merged(x: CompressedTensor, numbers: np.ndarray, rows: Tensor) -> CompressedTensor:
    """As x, with other rows at numbers that may repeat; those of equal ones are summed."""
    unique, places = np.unique(numbers, return_inverse=True)
    zeros = rows.new_zeros((len(unique), *rows.shape[1:]))
    rows = zeros.index_add(0, from_array(places.reshape(-1).astype(np.int64)), rows)
    return compressed(unique, rows, x.shape, x._batch_dim(), x.layout, _index_dtype(x))


@compressed_op()
def add(x, other, *, alpha=1):
    """x + alpha * other: sparse if both are."""
    if _is_compressed(x) and _is_compressed(other):
        return _add_sparse(x, other, alpha)
    sparse, dense = (x, other) if _is_compressed(x) else (other, x)
    if not isinstance(dense, Tensor) or isinstance(dense, Sparse) or dense.shape != sparse.shape:
        if isinstance(dense, Sparse):
            raise unsupported(f"torch.add of {KINDS[x.layout]} and {KINDS[other.layout]}", sparse.layout)
        raise RuntimeError(ADD_DENSE.format(a=list(getattr(dense, "shape", [])), b=list(sparse.shape)))
    dtype = result_type(dense, sparse._what)
    values = sparse._what.to(dtype)
    # PyTorch's alpha multiplies the sparse operand, in either place.
    return with_rows_added(dense.to(dtype), sparse, values if alpha == 1 else values * alpha)


def _add_sparse(x: CompressedTensor, other: CompressedTensor, alpha) -> CompressedTensor:
    if x.shape != other.shape:
        raise RuntimeError(ADD_SPARSE.format(a=list(x.shape), b=list(other.shape)))
    if x.layout is not other.layout:
        [getattr(other, name)() for name in x._parts()]  # raises
        raise unsupported(f"torch.add of {KINDS[x.layout]} and {KINDS[other.layout]}", x.layout)
    dtype = promote_types(x.dtype, other.dtype)
    mine, its = x._what.to(dtype), (other._what if alpha == 1 else other._what * alpha).to(dtype)
    if same_places(x, other) and mine.shape == its.shape:
        return x._with(mine + its)
    rows = registry["cat"]([x._with(mine)._flat(), other._with(its)._flat()], 0)
    return _merged(x, np.concatenate([x._numbers(), other._numbers()]), rows)


@compressed_op("mul", "multiply")
def mul(x, other):
    """The product with a number, with a dense tensor or with another CSR tensor."""
    if not _is_compressed(x):
        x, other = other, x
    factor = _coo._scalar(other)
    if factor is not None:
        return x._with(x._what * factor)
    if x.layout in BY_BLOCK:
        raise RuntimeError(
            f"empty_sparse_compressed expected sparse compressed (non-block) tensor layout but got {KINDS[x.layout]}"
        )
    if x.layout is not _types.sparse_csr or other.layout not in (_types.strided, x.layout, _types.sparse_csc):
        raise RuntimeError("Expected result Tensor to be of format CSR")
    if not _is_compressed(other):
        if x.shape != other.shape:
            sparse_mask(other, x)  # raises
        return x._with(x._what * rows_of(other, x))
    if x.shape != other.shape:
        raise RuntimeError(_coo.SIZES.format(name="mul", a=list(x.shape), b=list(other.shape)))
    other = to_compressed(other, x.layout)
    numbers, mine, its = np.intersect1d(x._numbers(), other._numbers(), True, return_indices=True)
    mine, its = (from_array(i.astype(np.int64)) for i in (mine, its))
    rows = x._flat().index_select(0, mine) * other._flat().index_select(0, its)
    return compressed(numbers, rows, x.shape, x._batch_dim(), x.layout, _index_dtype(x))


@compressed_op("mm", "matmul", "mv")
def matmul(a, b):
    """The product of matrices, or of a matrix and a vector: CSR if both are sparse, else dense."""
    sparse = [x for x in (a, b) if _is_compressed(x)]
    if any(x.ndim > 2 for x in (a, b)):
        raise unsupported("a product of batches of matrices", sparse[0].layout)
    layouts = {x.layout for x in (a, b)}
    if (len(sparse) == 2 and layouts & {*BY_BLOCK}) or _types.sparse_coo in layouts:
        kinds = [KINDS[x.layout] for x in (a, b)]
        raise RuntimeError(f"addmm: computation on CPU is not implemented for {kinds[0]} + {kinds[0]} @ {kinds[1]}")
    if a.ndim == 2 and b.ndim == 1 and a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({a.shape[0]}), mat ({a.shape[0]}x{a.shape[1]}), vec ({b.shape[0]})"
        )
    product = _coo.matmul(as_coo(a), as_coo(b))
    return to_compressed(product, _types.sparse_csr) if isinstance(product, Sparse) else product


def _checked_mm(name: str, a, b):
    for i, x in enumerate((a, b), 1):
        if x.ndim != 2:
            raise RuntimeError(f"mat{i} must be a matrix, got {x.ndim}-D tensor")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
        )


@compressed_op()
def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    """beta * input + alpha * mat1 @ mat2."""
    _checked_mm("addmm", mat1, mat2)
    return _scaled_sum(input, matmul(mat1, mat2), beta, alpha)


@compressed_op()
def addmv(input, mat, vec, *, beta=1, alpha=1):
    """beta * input + alpha * mat @ vec."""
    return _scaled_sum(input, matmul(mat, vec), beta, alpha)


def _scaled_sum(input, product, beta, alpha):
    product = product if alpha == 1 else product * alpha
    if not isinstance(input, Sparse):
        input = input.expand(product.shape)
    if not beta:
        return to_sparse(product, layout=input.layout) if isinstance(product, Sparse) else product
    if isinstance(product, Sparse) and not isinstance(input, Sparse):
        product = product.to_dense()
    if isinstance(input, CompressedTensor) and isinstance(product, CompressedTensor):
        product = to_compressed(product, input.layout)
    return registry["add"](input if beta == 1 else input * beta, product)


@compressed_op()
def linear(input, weight, bias=None):
    """input @ weight.T + bias."""
    rows = input.reshape(-1, input.shape[-1])
    out = matmul(rows, transposed(weight)).reshape(*input.shape[:-1], weight.shape[0])
    return out if bias is None else out + bias


def sampled_addmm(input, mat1, mat2, *, beta=1.0, alpha=1.0, out=None):
    """beta * input + alpha * mat1 @ mat2 where a CSR tensor `input` has values.

    >>> pattern = torch.eye(2).to_sparse_csr()
    >>> torch.sparse.sampled_addmm(pattern, torch.ones(2, 3), torch.ones(3, 2)).to_dense()
    tensor([[4., 0.],
            [0., 4.]])
    """
    _check_sampled(input, mat1, mat2)
    if not input._batch_dim() and mat1.ndim > 2:
        input = _repeated(input, mat1.shape[:-2])
    batch, row, column = input._coordinates()
    n, (height, width), inner = len(batch), input.shape[-2:], mat1.shape[-1]
    left = mat1.reshape(math.prod(mat1.shape[:-1]), inner).index_select(0, from_array(batch * height + row))
    right = (
        mat2.transpose(-2, -1)
        .reshape(math.prod(mat2.shape[:-2]) * width, inner)
        .index_select(0, from_array(batch * width + column))
    )
    values = (left * right).sum(1).reshape(input._what.shape) if n else input._what
    values = values if alpha == 1 else values * alpha
    if beta:
        values = values + (input._what if beta == 1 else input._what * beta)
    made = input._with(values)
    return made if out is None else out.become(made)


def _repeated(x: CompressedTensor, batch) -> CompressedTensor:
    """The same matrix in every place of a batch."""
    parts = (y.expand(*batch, *y.shape) for y in (x._ends, x._plain, x._what))
    return CompressedTensor(*parts, (*batch, *x.shape), x.layout)


def _check_sampled(input, mat1, mat2):
    if input.layout is not _types.sparse_csr:
        raise RuntimeError(f"sampled_addmm: Expected result to have sparse csr layout, but got {KINDS[input.layout]}")
    for name, x in (("mat1", mat1), ("mat2", mat2)):
        if isinstance(x, Sparse):
            raise RuntimeError(f"sampled_addmm: Expected {name} to have strided layout, but got {KINDS[x.layout]}")
    if any(x.dtype is not input.dtype for x in (mat1, mat2)):
        raise RuntimeError(
            f"sampled_addmm: Expected mat1 and mat2 to have the same dtype, but got {mat1.dtype} and {mat2.dtype}"
        )
    if mat1.ndim < 2 or mat2.ndim < 2:
        which = mat1 if mat1.ndim < 2 else mat2
        name = "mat1" if which is mat1 else "mat2"
        raise RuntimeError(f"sampled_addmm: Expected {name} to be a matrix, got {which.ndim}-D tensor")
    if mat1.shape[:-2] != mat2.shape[:-2]:
        raise RuntimeError(
            "sampled_addmm: Expected mat1 and mat2 to have the same batch size, but got "
            f"{list(mat1.shape[:-2])} and {list(mat2.shape[:-2])}"
        )
    if input.shape[:-2] not in ((), mat1.shape[:-2]):
        raise RuntimeError(
            "sampled_addmm: Expected self and mat1 to have the same batch size, but got "
            f"{list(input.shape[:-2])} and {list(mat1.shape[:-2])}"
        )
    (a, b), (c, d) = mat1.shape[-2:], mat2.shape[-2:]
    if b != c:
        raise RuntimeError(f"sampled_addmm: mat1 and mat2 shapes cannot be multiplied ({a}x{b} and {c}x{d})")
    if input.shape[-2] != a:
        raise RuntimeError("sampled_addmm: self.shape[-2] must match mat1.shape[-2]")
    if input.shape[-1] != d:
        raise RuntimeError("sampled_addmm: self.shape[-1] must match mat2.shape[-1]")


def mm_reduce(a: CompressedTensor, b: Tensor, reduce: str) -> Tensor:
    """The product of a CSR matrix and a dense one, with the products of a row reduced otherwise than by their sum."""
    if reduce not in ("sum", "mean", "amax", "amin"):
        raise RuntimeError(f"Expect reduce to be sum, mean, amax or amin, got {reduce}")
    if isinstance(b, Sparse):
        raise RuntimeError(
            f"Expected tensor to have Strided Layout, but got tensor with {KINDS[b.layout]} Layout "
            "(while checking arguments for sparse_mm_reduce)"
        )
    if reduce == "sum":
        return matmul(a, b)
    _, row, column = a._coordinates()
    parts = a._what.unsqueeze(1) * b.index_select(0, from_array(column))
    index = from_array(row).unsqueeze(1).expand(parts.shape)
    return parts.new_zeros((a.shape[0], b.shape[1])).scatter_reduce(0, index, parts, reduce, include_self=False)


# ---- reductions ----------------------------------------------------------------------------------


@compressed_op()
def sum(x, dim=None, keepdim=False, *, dtype=None):
    """The sum of all elements, dense; or with keepdim=True over dimensions of a CSR tensor, which is CSR."""
    if dim is None:
        return x._what.sum(dtype=dtype)
    if x.layout is not _types.sparse_csr:
        raise RuntimeError(
            "Currently the only compressed sparse format supported for sum.dim_IntList is CSR, "
            f"but got layout {KINDS[x.layout]}"
        )
    if not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    if x._batch_dim() or x.dense_dim():
        raise unsupported("sum over dimensions of a batched or hybrid tensor", x.layout)
    dims = {wrap_dim(d, x.ndim) for d in ((dim,) if isinstance(dim, int) else dim or range(x.ndim))}
    _, row, column = x._coordinates()
    row, column = (np.zeros_like(i) if d in dims else i for d, i in enumerate((row, column)))
    size = [1 if d in dims else n for d, n in enumerate(x.shape)]
    values = registry["sum"](x._what.unsqueeze(0), 0, dtype=dtype)  # in the dtype of sums
    shape = CompressedTensor(x._ends, x._plain, values, size, x.layout)
    return _merged(shape, row * size[1] + column, values)


# ---- shapes --------------------------------------------------------------------------------------


def _type_of(x: CompressedTensor, dim: int) -> str:
    n = x._batch_dim()
    return "Batch" if dim < n else "Sparse" if dim < n + 2 else "Dense"


@compressed_op("transpose", "swapaxes", "swapdims")
def transpose(x, dim0, dim1):
    """Rows and columns exchanged: the same indices and values in the other layout; or two batch dimensions."""
    dim0, dim1 = wrap_dim(dim0, x.ndim), wrap_dim(dim1, x.ndim)
    if dim0 == dim1:
        return _view(x._with(x._what.view_as(x._what)), x)
    if x.dense_dim():
        raise RuntimeError("transpose(): hybrid sparse compressed tensors with dense dimensions are not supported")
    types = _type_of(x, dim0), _type_of(x, dim1)
    if types[0] != types[1]:
        raise RuntimeError(
            "transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), "
            f"got {dim0}({types[0]}) and {dim1}({types[1]})"
        )
    if types[0] == "Sparse":
        return _view(transposed(x), x)
    size = list(x.shape)
    size[dim0], size[dim1] = size[dim1], size[dim0]
    moved = (y.transpose(dim0, dim1) for y in (x._ends, x._plain, x._what))
    return _view(CompressedTensor(*moved, size, x.layout), x)


def _view(made: CompressedTensor, x: CompressedTensor) -> CompressedTensor:
    """What shares its indices and values with a tensor."""
    made._base = x if x._base is None else x._base
    return made


@compressed_op()
def t(x):
    """The transposed matrix."""
    if x.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {x.ndim}D")
    return _view(transposed(x), x)


@compressed_op()
def select(x, dim, index):
    """One slice: of a batch of the same layout, of rows or columns by coordinates."""
    return _selected(x, dim, index, True)


def _selected(x: CompressedTensor, dim: int, index: int, view: bool):
    dim, n = wrap_dim(dim, x.ndim), x._batch_dim()
    if not -x.shape[dim] <= index < x.shape[dim]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(x.shape)} at dimension {dim}")
    index = index % x.shape[dim]
    size = [*x.shape[:dim], *x.shape[dim + 1 :]]
    if dim < n:
        parts = (y.select(dim, index) for y in (x._ends, x._plain, x._what))
        made = CompressedTensor(*parts, size, x.layout)
        return _view(made, x) if view else made
    if dim >= n + 2:
        made = CompressedTensor(x._ends, x._plain, x._what.select(dim - 1 + len(x._block()), index), size, x.layout)
        return _view(made, x) if view else made
    if n:
        raise RuntimeError(
            "select(): selecting sparse dimensions is not supported for batched sparse compressed tensors."
        )
    if view and x.layout in BY_BLOCK and dim == (1 if x.layout in BY_ROW else 0) and x._block()[1 - dim] > 1:
        raise RuntimeError("select(): no view exists for the given input, consider using torch.select_copy.")
    return _coo.select(as_coo(x), dim, index)


@compressed_op()
def select_copy(x, dim, index):
    """One slice: of a batch of the same layout, of rows or columns by coordinates."""
    return _selected(x, dim, index, False)


@compressed_op()
def unbind(x, dim=0):
    """All slices."""
    return tuple(select(x, dim, i) for i in range(x.shape[wrap_dim(dim, x.ndim)]))
