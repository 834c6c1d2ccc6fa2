"""What ops do with sparse tensors: each in terms of ordinary ops on indices and values.

Gradients come from there. Indices are small integers of the host; which of them are equal decides
shapes, so that they are looked at when an op is called.
"""

from __future__ import annotations

import builtins
import inspect
import math
from collections.abc import Callable

import numpy as np

from ...dispatch.inplace import fitted
from ...dispatch.op import registry
from ...dispatch.slots import is_number
from ...tape.backward import backward, grad
from ...tensors import types as _types
from ...tensors.base import Tensor, from_array, wrap_dim
from ...views.cells import assign, check_writable
from ..dtype_questions import promote_types, result_type
from .base import Sparse, rows_of, unsupported, with_rows_added, with_values
from .conversions import same_places, to_sparse
from .tensor import SparseTensor, check_joined, coalesce, empty_sparse, sparse_coo_tensor

TABLE: dict[str, Callable] = {}
INTO_OUT: set[Callable] = set()  # functions that fill what out= names
ON_SUMS: set[Callable] = set()  # functions whose in-place form wants a coalesced tensor


def dispatch(func, args, kwargs, table=TABLE):
    """A call of a torch function with a sparse tensor, of the layouts of a table, among its arguments."""
    name = func.__name__
    out = kwargs.get("out")
    found = table.get(name) or table.get(getattr(func, "name", name))
    if found in INTO_OUT:
        return found(*args, **kwargs)
    if found is not None:
        result = found(*args, **{k: v for k, v in kwargs.items() if k != "out"})
        return result if out is None else _written(name, out, result)
    found = table.get(name[:-1]) if name.endswith("_") else None
    if found is None:
        raise unsupported(f"torch.{name}", _layout_among(args))
    return _inplace(found, *args, **kwargs)


def _layout_among(args):
    """The first sparse layout of arguments."""
    return next((x.layout for x in args if isinstance(x, Sparse)), _types.sparse_coo)


def _written(name: str, out, result):
    """What out= names with the contents of a result of the same layout, in its own dtype."""
    if out.layout is _types.strided and result.layout is _types.strided:
        out = out if out.shape == result.shape else out.resize_(result.shape)
        return out.copy_(fitted(result.to(out.dtype), result))
    if not isinstance(out, Sparse) or not isinstance(result, Sparse):
        raise unsupported(f"torch.{name} with a dense operand and out=", _layout_among((out, result)))
    result = to_sparse(result, layout=out.layout) if out.layout is not result.layout else result
    return out.become(with_values(result, fitted(result._what.to(out.dtype), result._what)))


def _inplace(function, self, *args, **kwargs):
    sparse = isinstance(self, Sparse)
    if not sparse:
        check_writable(self, op=function.__name__)
    if sparse and not self._coalesced and function in ON_SUMS:
        raise RuntimeError(f"{function.__name__}_ requires coalesced input")
    result = function(self, *args, **kwargs)
    if not sparse:
        return assign(self, fitted(self, result))
    if result.dtype is not self.dtype:
        result = with_values(result, fitted(self._what, result._what))
    return self.become(result)


def declaring_in(table: dict[str, Callable]):
    """A decorator that declares what an op, or several, do with the sparse tensors of a table."""

    def sparse_op(*names: str):
        def declare(function):
            table.update(dict.fromkeys(names or (function.__name__,), function))
            return function

        return declare

    return sparse_op


sparse_op = declaring_in(TABLE)


def _is_sparse(x) -> bool:
    return isinstance(x, SparseTensor)


# Sparse tensors may be among the inputs whose gradients are wanted.
TABLE["grad"], TABLE["backward"] = inspect.unwrap(grad), inspect.unwrap(backward)


# ---- conversions ---------------------------------------------------------------------------------


@sparse_op()
def to(x, *args, **kwargs):
    """In another dtype or on another device."""
    args = [a._what if isinstance(a, Sparse) else a for a in args]
    values = x._what.to(*args, **kwargs)
    return x if values is x._what else with_values(x, values)


def _by_values(name: str, zeros_stay: bool, table: dict[str, Callable] = TABLE):
    """An op that acts on each value; on the sums of equal indices, unless it is linear."""

    def function(x, *args, **kwargs):
        x = coalesce(x) if zeros_stay else x
        return with_values(x, getattr(x._what, name)(*args, **kwargs))

    function.__name__ = name
    table[name] = function
    if zeros_stay:
        ON_SUMS.add(function)


for _name in (
    "abs asin asinh atan atanh ceil erf erfinv expm1 floor isinf isnan isneginf isposinf "
    "log1p round sgn sign signbit sin sinh sqrt tan tanh trunc relu square deg2rad "
    "rad2deg bool frac nan_to_num"
).split():
    _by_values(_name, True)
for _name in "asin asinh atan atanh".split():
    TABLE[f"arc{_name[1:]}"] = TABLE[_name]
for _name in (
    "neg clone float double half bfloat16 int long short char byte cfloat cdouble cpu cuda conj conj_physical"
).split():
    _by_values(_name, False)


TABLE["resolve_conj"] = TABLE["resolve_neg"] = lambda x: x


@sparse_op()
def positive(x):
    """Itself."""
    if x.dtype is _types.by_name["bool"]:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return x


@sparse_op()
def zero_(x):
    """No values any more."""
    return x.become(empty_sparse(x.shape, x.sparse_dim(), x._what))


@sparse_op("zeros_like", "empty_like")
def zeros_like(x, *, dtype=None, layout=None, device=None, memory_format=None, **kwargs):
    """No values; or dense zeros, if that layout is asked for."""
    if memory_format is not None and layout is not _types.strided:
        raise RuntimeError("memory format option is only supported by strided tensors")
    values = x._what.detach().to(dtype=dtype, device=device)
    if layout is _types.strided:
        return values.new_zeros(x.shape)
    return empty_sparse(x.shape, x.sparse_dim(), values)


@sparse_op()
def new(x, *args, device=None):
    """A sparse tensor of indices and values, or of a size without values; of no elements if nothing is given."""
    if args and isinstance(args[0], Tensor):
        return sparse_coo_tensor(*args, dtype=x.dtype, device=device)
    return new_zeros(x, *(args or (0,)), device=device)


@sparse_op()
def zeros(*size, out, requires_grad=False, **kwargs):
    """A sparse tensor, `out`, without values any more, of another size."""
    size = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    return out.become(empty_sparse(size, len(size), out._what)).requires_grad_(requires_grad)


INTO_OUT.add(zeros)


@sparse_op("new_zeros", "new_empty")
def new_zeros(x, *size, dtype=None, device=None, **kwargs):
    """A sparse tensor without values."""
    size = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    return empty_sparse(size, len(size), x._what.detach().to(dtype=dtype, device=device))


@sparse_op()
def copy_(x, other, non_blocking=False):
    """Take another sparse tensor's contents, in this one's dtype."""
    if not (_is_sparse(x) and _is_sparse(other)):
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found "
            f"self type = {x.type()} and src type = {other.type()}"
        )
    if x.shape != other.shape:
        raise RuntimeError(f"copy_: the sizes of the sparse tensors differ: {list(x.shape)} and {list(other.shape)}")
    return x.become(with_values(other, other._what.to(x.dtype)))


# ---- sums ----------------------------------------------------------------------------------------

SPARSE_DENSE = "add(sparse, dense) is not supported. Use add(dense, sparse) instead."
DENSE_SIZES = (
    "add: expected 'self' and 'other' to have same size, but self has size {a} while other has size {b} (FYI: "
    "dense-sparse addition does not currently support broadcasting)"
)
SIZES = "{name}: expected sizes of 'self' and 'other' to match, but {a} != {b}"


@sparse_op()
def add(x, other, *, alpha=1):
    """x + alpha * other: sparse if both are, dense if x is."""
    if not _is_sparse(other):
        raise RuntimeError(SPARSE_DENSE)
    if x.shape != other.shape:
        text = SIZES if _is_sparse(x) else DENSE_SIZES
        raise RuntimeError(text.format(name="add", a=list(x.shape), b=list(other.shape)))
    values = other._what if alpha == 1 else other._what * alpha
    if not _is_sparse(x):
        dtype = result_type(x, values)
        return with_rows_added(x.to(dtype), other, values.to(dtype))
    if x.sparse_dim() != other.sparse_dim():
        if not x._nnz() or not other._nnz():
            there = with_values(other, values) if other._nnz() else x
            return to(there, promote_types(x.dtype, values.dtype))
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same number of sparse "
            f"dimensions, but got {x.sparse_dim()} and {other.sparse_dim()}"
        )
    dtype = promote_types(x.dtype, values.dtype)
    mine, its = x._what.to(dtype), values.to(dtype)
    coalesced = x._coalesced and other._coalesced
    if same_places(x, other):
        return SparseTensor(x._where, mine + its, x.shape, coalesced)
    joined = SparseTensor(registry["cat"]([x._where, other._where], 1), registry["cat"]([mine, its], 0), x.shape, False)
    return coalesce(joined) if coalesced else joined


@sparse_op("sub", "subtract")
def sub(x, other, *, alpha=1):
    """x - alpha * other."""
    return add(x, other, alpha=-alpha)


# ---- products ------------------------------------------------------------------------------------


def _scalar(x):
    """x as a number or a tensor without dimensions; None if it is none."""
    dense_scalar = isinstance(x, Tensor) and not isinstance(x, Sparse) and not x.ndim
    return x if dense_scalar or is_number(x) else None


@sparse_op("mul", "multiply")
def mul(x, other):
    """Elementwise product with a number, a dense tensor or a sparse one: sparse."""
    if not _is_sparse(x):
        x, other = other, x
    if _is_sparse(other) and not other.ndim:
        other = other.to_dense()
    factor = _scalar(other)
    if factor is not None:
        return with_values(x, x._what * factor)
    if x.shape != other.shape:
        raise RuntimeError(SIZES.format(name="mul", a=list(x.shape), b=list(other.shape)))
    if not _is_sparse(other):
        return with_values(x, x._what * rows_of(other, x))
    x, other = coalesce(x), coalesce(other)
    _, mine, its = np.intersect1d(x._numbers(), other._numbers(), True, return_indices=True)
    mine, its = from_array(mine.astype(np.int64)), from_array(its.astype(np.int64))
    values = x._what.index_select(0, mine) * other._what.index_select(0, its)
    return SparseTensor(x._where.index_select(1, mine), values, x.shape, True)


def _divisor(other, what: str):
    if _is_sparse(other) or _scalar(other) is None:
        found = f"shape {list(other.shape)} for divisor" if other.ndim else "a sparse divisor"
        raise RuntimeError(f"Sparse {what} requires a scalar or zero-dim dense tensor divisor (got {found})")
    return other


@sparse_op()
def floor_divide(x, other):
    """The values divided by a number, rounded down."""
    x = coalesce(x)
    return with_values(x, registry["floor_divide"](x._what, _divisor(other, "floor division")))


@sparse_op("div", "divide", "true_divide")
def div(x, other, *, rounding_mode=None):
    """The values divided by a number."""
    factor = _divisor(other, "division")
    x = x if rounding_mode is None else coalesce(x)
    return with_values(x, registry["div"](x._what, factor, rounding_mode=rounding_mode))


@sparse_op()
def pow(x, exponent):
    """The values to the power of a number, which is not 0."""
    if not is_number(exponent) or exponent == 0:
        raise RuntimeError("pow(): exponent of a sparse tensor must be a number other than zero")
    x = coalesce(x)
    return with_values(x, x._what**exponent)


# ---- products of matrices ------------------------------------------------------------------------


@sparse_op("mm", "matmul", "mv")
def matmul(a, b):
    """The product of matrices, or of a matrix and a vector: sparse if both are, else dense."""
    if a.ndim == 3 and _is_sparse(a):
        return bmm(a, b)
    if b.ndim == 1:
        return matmul(a, b.reshape(-1, 1)).reshape(-1)
    if a.ndim == 1:
        return matmul(a.reshape(1, -1), b).reshape(-1)
    if a.ndim != 2 or b.ndim != 2:
        raise RuntimeError(f"matmul of sparse tensors needs matrices, got {a.ndim}D and {b.ndim}D")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
        )
    if not _is_sparse(a):
        return matmul(transpose(b, 0, 1), a.t()).t()
    if a.dense_dim():
        raise RuntimeError("matmul: expected a sparse matrix without dense dimensions")
    return _sparse_sparse(a, b) if _is_sparse(b) else _sparse_dense(a, b)


def _sparse_dense(a, b):
    rows, columns = a._where[0], a._where[1]
    parts = a._what.unsqueeze(1) * b.index_select(0, columns)
    return parts.new_zeros((a.shape[0], b.shape[1])).index_add(0, rows, parts)


def _sparse_sparse(a, b):
    """Every value (i, k) of a meets every value (k, j) of b."""
    a, b = coalesce(a), coalesce(b)
    (i, k), (row, j) = a._where._array(), b._where._array()
    start, end = np.searchsorted(row, k), np.searchsorted(row, k, "right")
    counts = end - start
    mine = np.repeat(np.arange(len(k)), counts)
    its = np.arange(len(mine)) - np.repeat(np.cumsum(counts) - counts, counts) + start[mine]
    values = a._what.index_select(0, from_array(mine)) * b._what.index_select(0, from_array(its))
    indices = from_array(np.stack([i[mine], j[its]]))
    return coalesce(SparseTensor(indices, values, (a.shape[0], b.shape[1]), False))


@sparse_op()
def bmm(a, b):
    """Products of a batch of sparse matrices with dense ones."""
    if not _is_sparse(a) or _is_sparse(b) or a.sparse_dim() != 3:
        raise unsupported("torch.bmm but of (sparse, dense)")
    n, height, width = a.shape
    if b.ndim != 3 or b.shape[0] != n or b.shape[1] != width:
        raise RuntimeError(f"bmm: sizes {list(a.shape)} and {list(b.shape)} do not fit")
    batch, i, k = a._where.unbind(0)
    flat = SparseTensor(
        registry["stack"]([batch * height + i, batch * width + k]), a._what, (n * height, n * width), False
    )
    return _sparse_dense(flat, b.reshape(n * width, b.shape[2])).reshape(n, height, b.shape[2])


@sparse_op()
def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    """beta * input + alpha * mat1 @ mat2."""
    product = matmul(mat1, mat2)
    input = input if beta == 1 else input * beta
    return registry["add"](input, product if alpha == 1 else product * alpha)


@sparse_op()
def linear(input, weight, bias=None):
    """input @ weight.T + bias."""
    out = matmul(input, weight.t())
    return out if bias is None else out + bias


# ---- reductions ----------------------------------------------------------------------------------


@sparse_op()
def sum(x, dim=None, keepdim=False, *, dtype=None):
    """The sum of all elements, dense; or over some dimensions, sparse while sparse ones remain."""
    values = x._what if dtype is None else x._what.to(dtype)
    if dim is None or dim == ():
        return values.sum()
    if keepdim:
        raise unsupported("sum with keepdim=True")
    n = x.sparse_dim()
    dims = {wrap_dim(d, x.ndim) for d in ((dim,) if isinstance(dim, int) else dim)}
    inner = [d - n + 1 for d in dims if d >= n]
    values = values.sum(inner) if inner else values
    kept = [d for d in range(n) if d not in dims]
    size = [x.shape[d] for d in range(x.ndim) if d not in dims]
    if not kept:
        return values.sum(0)
    if len(kept) == n:
        return SparseTensor(x._where, values, size, x._coalesced)
    indices = x._where.index_select(0, from_array(np.array(kept, np.int64)))
    return coalesce(SparseTensor(indices, values, size, False))


@sparse_op()
def norm(x, p="fro", dim=None, keepdim=False, dtype=None):
    """The norm of all elements as one vector."""
    if dim is not None:
        raise unsupported("norm with dim")
    return coalesce(x)._what.norm(p, dtype=dtype)


@sparse_op()
def any(x):
    """Whether an element is not zero."""
    return coalesce(x)._what.any()


def _softmax(x, dim: int, dtype, log: bool):
    """Softmax of the values that are there along a sparse dimension; what is not there is -inf."""
    x = coalesce(x)
    values = x._what if dtype is None else x._what.to(dtype)
    n, dim = x.sparse_dim(), wrap_dim(dim, x.ndim)
    if dim >= n:
        how = registry["log_softmax"] if log else registry["softmax"]
        return with_values(x, how(values, dim - n + 1))
    where = np.delete(x._where._array(), dim, 0)
    _, groups = np.unique(where, axis=1, return_inverse=True)
    count = int(groups.max()) + 1 if groups.size else 0
    index = from_array(groups.reshape(-1).astype(np.int64))
    spread = index.reshape(-1, *[1] * (values.ndim - 1)).expand(values.shape)
    top = (
        values.detach()
        .new_full((count, *values.shape[1:]), -math.inf)
        .scatter_reduce(0, spread, values.detach(), "amax")
    )
    shifted = values - top.index_select(0, index)
    total = shifted.new_zeros((count, *values.shape[1:])).index_add(0, index, shifted.exp())
    total = total.index_select(0, index)
    return with_values(x, shifted - total.log() if log else shifted.exp() / total)


@sparse_op()
def softmax(x, dim, dtype=None):
    """Softmax along a dimension over the values that are there."""
    return _softmax(x, dim, dtype, False)


@sparse_op()
def log_softmax(x, dim, dtype=None):
    """The logarithm of softmax along a dimension over the values that are there."""
    return _softmax(x, dim, dtype, True)


# ---- shapes --------------------------------------------------------------------------------------


@sparse_op("transpose", "swapaxes", "swapdims")
def transpose(x, dim0, dim1):
    """Two dimensions swapped, both sparse or both dense."""
    order = list(range(x.ndim))
    dim0, dim1 = wrap_dim(dim0, x.ndim), wrap_dim(dim1, x.ndim)
    order[dim0], order[dim1] = dim1, dim0
    return permute(x, order)


@sparse_op()
def t(x):
    """The transposed matrix."""
    if x.ndim > 2:
        raise RuntimeError(
            "t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got "
            f"{x.sparse_dim()} sparse and {x.dense_dim()} dense dimensions"
        )
    return x if x.ndim < 2 else transpose(x, 0, 1)


@sparse_op()
def permute(x, *dims):
    """The dimensions in another order; sparse ones stay sparse."""
    dims = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    dims, n = [wrap_dim(d, x.ndim) for d in dims], x.sparse_dim()
    if sorted(dims) != list(range(x.ndim)):
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not "
            "match the length of the desired ordering of dimensions"
        )
    if {*dims[:n]} != {*range(n)}:
        raise RuntimeError("transpose: can't transpose sparse and dense dimensions")
    if dims == list(range(x.ndim)):
        return x
    values = x._what.permute(0, *[d - n + 1 for d in dims[n:]]) if x.dense_dim() else x._what
    indices = x._where.index_select(0, from_array(np.array(dims[:n], np.int64)))
    in_order = not x._nnz() or x._coalesced and dims[:n] == list(range(n))
    return SparseTensor(indices, values, [x.shape[d] for d in dims], in_order)


@sparse_op()
def unsqueeze(x, dim):
    """A dimension of size 1, sparse where it comes before a sparse one."""
    dim, n = wrap_dim(dim, x.ndim + 1), x.sparse_dim()
    size = [*x.shape[:dim], 1, *x.shape[dim:]]
    if dim > n:
        return SparseTensor(x._where, x._what.unsqueeze(dim - n + 1), size, x._coalesced)
    zeros = x._where.new_zeros((1, x._nnz()))
    indices = registry["cat"]([x._where[:dim], zeros, x._where[dim:]], 0)
    return SparseTensor(indices, x._what, size, x._coalesced)


@sparse_op("cat", "concat", "concatenate")
def cat(tensors, dim=0):
    """Sparse tensors one after the other along a dimension."""
    if not builtins.all(_is_sparse(x) for x in tensors):
        place = next(i for i, x in enumerate(tensors) if not _is_sparse(x))
        raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {place}.")
    first = tensors[0]
    n, dim = first.sparse_dim(), wrap_dim(dim, first.ndim)
    check_joined(tensors, dim)
    size = list(first.shape)
    size[dim] = builtins.sum(x.shape[dim] for x in tensors)
    starts = np.cumsum([0, *[x.shape[dim] for x in tensors]])
    if dim >= n:
        where = registry["cat"]([x._where for x in tensors], 1)
        values = [_padded(x._what, dim - n + 1, start, size[dim]) for x, start in zip(tensors, starts)]
        return SparseTensor(where, registry["cat"](values, 0), size, False)
    moved = []
    for x, start in zip(tensors, starts):
        where = x._where._array().copy()
        where[dim] += start
        moved.append(where)
    values = registry["cat"]([x._what for x in tensors], 0)
    return SparseTensor(from_array(np.concatenate(moved, 1)), values, size, False)


def _padded(values, dim: int, start: int, size: int):
    """Values between zeros, so that a dimension has a size."""
    before, after = ([*values.shape] for _ in range(2))
    before[dim], after[dim] = start, size - start - values.shape[dim]
    return registry["cat"]([values.new_zeros(before), values, values.new_zeros(after)], dim)


@sparse_op()
def stack(tensors, dim=0):
    """Sparse tensors along a new dimension."""
    return cat([unsqueeze(x, dim) for x in tensors], wrap_dim(dim, tensors[0].ndim + 1))


@sparse_op()
def index_select(x, dim, index):
    """The slices at an index, which may repeat them."""
    n, dim = x.sparse_dim(), wrap_dim(dim, x.ndim)
    size = list(x.shape)
    size[dim] = len(index)
    if dim >= n:
        values = x._what.index_select(dim - n + 1, index)
        return SparseTensor(x._where, values, size, x._coalesced)
    chosen = index._array() % x.shape[dim]
    where = x._where._array()
    place, value = np.nonzero(chosen[:, None] == where[dim][None, :])
    where = where[:, value].copy()
    where[dim] = place
    return SparseTensor(from_array(where), x._what.index_select(0, from_array(value)), size, False)


@sparse_op()
def select(x, dim, index):
    """One slice; dense if no sparse dimension is left."""
    n, dim = x.sparse_dim(), wrap_dim(dim, x.ndim)
    if not -x.shape[dim] <= index < x.shape[dim]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(x.shape)} at dimension {dim}")
    size = [*x.shape[:dim], *x.shape[dim + 1 :]]
    if dim >= n:
        return SparseTensor(x._where, x._what.select(dim - n + 1, index), size, x._coalesced)
    where = x._where._array()
    value = np.flatnonzero(where[dim] == index % x.shape[dim])
    values = x._what.index_select(0, from_array(value))
    if n == 1:
        return values.sum(0)
    return SparseTensor(from_array(np.delete(where, dim, 0)[:, value]), values, size, x._coalesced)


@sparse_op()
def unbind(x, dim=0):
    """All slices."""
    return tuple(select(x, dim, i) for i in range(x.shape[wrap_dim(dim, x.ndim)]))


def get_item(x, index):
    """x[i] and x[i, j] for integers and full slices."""
    dim = 0
    for i in index if isinstance(index, tuple) else (index,):
        if isinstance(i, slice) and i == slice(None):
            dim += 1
        elif isinstance(i, int) and not isinstance(i, bool):
            x = x.select(dim, i)
        else:
            raise unsupported(f"x[{i!r}]", x.layout)
    return x


@sparse_op()
def is_same_size(x, other):
    """Whether the shapes are equal."""
    return x.shape == other.shape
