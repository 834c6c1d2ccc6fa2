"""A sparse tensor in coordinate format: indices (sparse_dim, nnz), and a value for each column.

It is a Tensor without a value of its own: what the engine sees are its indices and its values, two
ordinary tensors, and the gradient of a sparse tensor is that of its values. Ops reach it by
`__torch_function__` and the table in `_functions`; an op that is not in that table finds no value
to work on, and raises NotImplementedError.
"""

from __future__ import annotations

import math

import numpy as np

from ....core.aval import Aval, aval
from ...dispatch.overrides import activate
from ...tape.modes import state as modes
from ...tape.node_names import rename
from ...tensors import printing as _printing
from ...tensors import types as _types
from ...tensors.base import Tensor, from_array, wrap_dim
from ...views.cells import LEAF_INPLACE, Lens, make_view
from ..shape.creation import empty
from ..shape.data import as_tensor

UNSUPPORTED = (
    "{what} is not implemented for sparse tensors (layout torch.sparse_coo); convert the tensor with to_dense() first"
)
UNCOALESCED = "Cannot get {what} on an uncoalesced tensor, please call .coalesce() first"
NO_NUMPY = "can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first."
NO_STORAGE = "Cannot access data pointer of Tensor that doesn't have storage"


class _Nowhere:
    """What stands where dense tensors in transforms have their level: an aval and nothing else."""

    __slots__ = ("aval",)

    def __init__(self, a: Aval):
        self.aval = a

    def version(self, own: int) -> int:
        """The version of the tensor."""
        return own

    def __getattr__(self, name: str):
        raise NotImplementedError(UNSUPPORTED.format(what="this operation"))


def _refusing(what: str):
    def refuse(self, *args, **kwargs):
        raise NotImplementedError(UNSUPPORTED.format(what=what))

    return refuse


class SparseTensor(Tensor):
    """A torch.Tensor of layout torch.sparse_coo. Elements given several times are summed; a
    `coalesced` one has each once, in row-major order."""

    __module__ = "torch"
    layout = property(lambda self: _types.sparse_coo, doc="torch.sparse_coo.")
    is_sparse = property(lambda self: True)
    is_meta = property(lambda self: self._what.is_meta)
    _value = property(_refusing("this operation"))

    def __new__(cls, *args):
        activate()
        return object.__new__(cls)

    def __init__(self, indices: Tensor, values: Tensor, size, coalesced: bool):
        self._where, self._what, self._coalesced = indices, values, coalesced
        self._level = _Nowhere(aval(tuple(size), values._aval.dtype))

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        from .functions import dispatch

        return dispatch(func, args, kwargs or {})

    def become(self, other: SparseTensor) -> SparseTensor:
        """Take the contents of another sparse tensor: self.op_()."""
        if modes.enabled and self.requires_grad and self.is_leaf:
            raise RuntimeError(LEAF_INPLACE)
        self._where, self._what, self._coalesced = other._where, other._what, other._coalesced
        self._level = other._level
        self._own_version += 1
        return self

    # ---- parts

    def _indices(self) -> Tensor:
        return self._where

    def _values(self) -> Tensor:
        return self._what.detach()

    def _nnz(self) -> int:
        return self._where.shape[1]

    def indices(self) -> Tensor:
        """The indices (sparse_dim, nnz) of a coalesced tensor."""
        self._need_coalesced("indices")
        return self._where

    def values(self) -> Tensor:
        """The values (nnz, *dense dimensions) of a coalesced tensor."""
        self._need_coalesced("values")
        if self._what._ge is None:
            return self._what
        # A node behind the tensor's: what is computed of the tensor does not depend on it.
        values = make_view(self._what, Lens("alias"))
        rename(values, "ValuesBackward0")
        return values

    def coalesce(self) -> SparseTensor:
        """Each element once, in row-major order; what was given several times is summed."""
        return coalesce(self)

    def to_dense(self, dtype=None, *, masked_grad=None) -> Tensor:
        """All elements, as a strided tensor."""
        values = self._what if dtype is None else self._what.to(dtype)
        return with_rows_added(values.new_zeros(self.shape), self, values)

    def _need_coalesced(self, what: str):
        if not self._coalesced:
            raise RuntimeError(UNCOALESCED.format(what=what))

    def is_coalesced(self) -> bool:
        """Whether each element is there once, in row-major order."""
        return self._coalesced

    def _coalesced_(self, coalesced: bool) -> SparseTensor:
        self._coalesced = coalesced
        return self

    def sparse_dim(self) -> int:
        """The number of dimensions that indices point into."""
        return self._where.shape[0]

    def dense_dim(self) -> int:
        """The number of dimensions of each value."""
        return self._what.ndim - 1

    # ---- what a Tensor tells of itself

    device = property(lambda self: self._what.device)
    is_leaf = property(lambda self: self._what.is_leaf)
    grad_fn = property(lambda self: self._what.grad_fn)
    T = property(lambda self: self.t())
    mT = property(lambda self: self.transpose(-2, -1))

    @property
    def _ge(self):
        if self._what._ge is not None:
            raise NotImplementedError(UNSUPPORTED.format(what="differentiating this operation"))

    def _edge(self):
        if self.requires_grad:
            raise NotImplementedError(UNSUPPORTED.format(what="a backward pass from a sparse tensor"))

    def _edge_wanted(self):
        """The edge at which torch.autograd.grad finds the gradient of the values."""
        return self._what._edge()

    def _gradient_of(self, values: Tensor) -> SparseTensor:
        """The gradient by this tensor, of that by its values."""
        return with_values(self, values)

    def register_hook(self, hook):
        """Call hook(gradient) with the sparse gradient when it is known."""

        def of_values(grad):
            found = hook(with_values(self, grad))
            return None if found is None else found.sparse_mask(self)._what

        return self._what.register_hook(of_values)

    retain_grad = _refusing("Tensor.retain_grad")

    @property
    def requires_grad(self) -> bool:
        """Whether the values require a gradient."""
        return self._what.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool):
        if value != self._what.requires_grad:
            if self._what.is_leaf:  # a tensor of its own: the user's may be in use elsewhere
                self._what = self._what.detach()
            self._what.requires_grad = value

    @property
    def grad(self):
        """The accumulated gradient: sparse, at the places where this tensor has values."""
        found = self._what.grad
        return None if found is None else SparseTensor(self._where, found, self.shape, self._coalesced)

    @grad.setter
    def grad(self, grad):
        self._what.grad = None if grad is None else grad.sparse_mask(self)._what

    @property
    def _grad(self):
        return self.grad

    @_grad.setter
    def _grad(self, grad):
        self.grad = grad

    def requires_grad_(self, requires_grad: bool = True) -> SparseTensor:
        """Set requires_grad; returns the tensor."""
        self.requires_grad = requires_grad
        return self

    def dim(self) -> int:
        """The number of dimensions, sparse and dense."""
        return self.ndim

    ndimension = dim

    def size(self, dim=None):
        """The shape, or the size of one dimension."""
        return self.shape if dim is None else self.shape[wrap_dim(dim, self.ndim)]

    def numel(self) -> int:
        """The number of elements, also of those that are not there."""
        return self._level.aval.size

    nelement = numel

    def item(self):
        """The only element as a Python number."""
        if self.numel() == 1:
            return self.to_dense().item()
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")

    def is_contiguous(self, memory_format=None) -> bool:
        """False: there are no strides."""
        return False

    def stride(self, dim=None):
        """Zeros."""
        return (0,) * self.ndim if dim is None else 0

    def type(self, dtype=None, **kwargs):
        """'torch.sparse.FloatTensor', or the tensor in another dtype."""
        if dtype is None:
            return self._what.type().replace("torch.", "torch.sparse.", 1)
        return with_values(self, self._what.type(dtype, **kwargs))

    def detach(self) -> SparseTensor:
        """The same indices and values without history."""
        return with_values(self, self._what.detach())

    def detach_(self) -> SparseTensor:
        """Cut the tensor off from its history."""
        self._what = self._what.detach()
        return self

    @property
    def data(self) -> SparseTensor:
        """The same indices and values without history."""
        return self.detach()

    def numpy(self, *, force: bool = False):
        """Raises: there is no dense memory."""
        raise TypeError(NO_NUMPY)

    def __array__(self, dtype=None, copy=None):
        raise TypeError(NO_NUMPY)

    def tolist(self):
        """Raises: there is no dense memory."""
        raise RuntimeError(NO_STORAGE)

    def data_ptr(self):
        """Raises: there is no dense memory."""
        raise RuntimeError(NO_STORAGE)

    def untyped_storage(self):
        """Raises: there is no dense memory."""
        raise NotImplementedError("Cannot access storage of SparseTensorImpl")

    storage = typed_storage = untyped_storage

    def _concrete(self, what: str):
        raise NotImplementedError(UNSUPPORTED.format(what=what))

    def _array(self):
        raise NotImplementedError(UNSUPPORTED.format(what="reading the data"))

    # ---- Python

    def __getitem__(self, index):
        from .functions import get_item

        return get_item(self, index)

    __setitem__ = _refusing("x[i] = y")

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __iadd__(self, other):
        return self.add_(other)

    def __isub__(self, other):
        return self.sub_(other)

    def __imul__(self, other):
        return self.mul_(other)

    def __itruediv__(self, other):
        return self.div_(other)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            if not self.is_leaf:
                return Tensor.__deepcopy__(self, memo)  # raises
            values = self._what.__deepcopy__(memo)
            memo[id(self)] = SparseTensor(self._where, values, self.shape, self._coalesced)
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        parts = self._where, self._values(), self.shape, self._coalesced
        return _types.named("_utils._rebuild_sparse_tensor"), (self.layout, parts)

    def __repr__(self, *, tensor_contents=None) -> str:
        node = None if self.is_leaf else self.grad_fn
        return _printing.format_sparse(
            self._where._array(),
            self._what._array(),
            size=tuple(self.shape),
            dtype_name=repr(self.dtype),
            default_dtype_name=repr(_types.defaults.dtype),
            requires_grad=self.requires_grad,
            grad_fn_name=None if node is None else node.name(),
        )

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return str(self).__format__(spec)


SparseTensor.__name__ = SparseTensor.__qualname__ = "Tensor"  # type(x) prints as PyTorch's does


# ---- making them ---------------------------------------------------------------------------------

NNZ = "indices and values must have same nnz, but got nnz from indices: {}, nnz from values: {}"
DIMS = "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {}, sparse_dim = {}, dense_dim = {}"
OUTSIDE = "size is inconsistent with indices: for dim {}, size is {} but found index {}"


def sparse_coo_tensor(
    indices=None,
    values=None,
    size=None,
    *,
    dtype=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
    is_coalesced=None,
):
    """A sparse tensor of `values` (nnz, ...) at `indices` (sparse_dim, nnz); zero elsewhere.

    Values at equal indices are summed. `size` is by default the smallest that holds all. With
    `size` alone the tensor is all zeros. RuntimeError for indices outside of it.

    >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3., 4.], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if values is None:
        size = indices if size is None else size
        indices = from_array(np.zeros((len(size), 0), np.int64))
        values = empty((0,), dtype=dtype, device=device)
        is_coalesced = True
    indices = as_tensor(indices, device=device).to(_types.int64)
    values = as_tensor(values, dtype=dtype, device=device)
    if indices.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    if not values.ndim:
        values = values.reshape(1)
    size = _checked_size(indices, values, size)
    if requires_grad:
        values = values.detach().requires_grad_()
    made = SparseTensor(indices, values, size, bool(is_coalesced) or indices.shape[1] == 0)
    if check_invariants and is_coalesced and (np.diff(row_numbers(made)) <= 0).any():
        raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")
    return made


def _checked_size(indices: Tensor, values: Tensor, size) -> tuple[int, ...]:
    """The size, which holds all indices. (PyTorch would write beyond its memory.)"""
    n, nnz = indices.shape
    if values.shape[0] != nnz:
        raise RuntimeError(NNZ.format(nnz, values.shape[0]))
    largest = indices._array().max(1) if nnz else np.full(n, -1)
    if size is None:
        size = (*(largest + 1).tolist(), *values.shape[1:])
    size = tuple(size)
    if len(size) != n + values.ndim - 1:
        raise RuntimeError(DIMS.format(len(size), n, values.ndim - 1))
    if nnz and n and indices._array().min() < 0:
        d = int(indices._array().min(1).argmin())
        raise RuntimeError(f"found negative index {int(indices._array()[d].min())} for dim {d}")
    for d in range(n):
        if largest[d] >= size[d]:
            raise RuntimeError(OUTSIDE.format(d, size[d], int(largest[d])))
    if tuple(values.shape[1:]) != size[n:]:
        raise RuntimeError(f"values has incorrect size, expected {[nnz, *size[n:]]}, got {list(values.shape)}")
    return size


def with_values(x: SparseTensor, values: Tensor, coalesced: bool | None = None) -> SparseTensor:
    """Other values at the same places."""
    return SparseTensor(x._where, values, x.shape, x._coalesced if coalesced is None else coalesced)


def empty_sparse(size, n_sparse: int, like: Tensor) -> SparseTensor:
    """A sparse tensor without values, of the dtype and device of a tensor."""
    size = tuple(size)
    indices = from_array(np.zeros((n_sparse, 0), np.int64))
    return SparseTensor(indices, like.detach().new_zeros((0, *size[n_sparse:])), size, True)


def check_joined(tensors, dim: int):
    """RuntimeError for tensors that differ in more than the size of one dimension."""
    first = tensors[0]
    wanted = first.sparse_dim(), first.dense_dim()
    for i, x in enumerate(tensors):
        if (x.sparse_dim(), x.dense_dim()) != wanted:
            raise RuntimeError(
                f"All tensors must have the same sparse_dim and dense_dim: {wanted[0]}, {wanted[1]}, "
                f"but tensor at position {i} has {x.sparse_dim()}, {x.dense_dim()}."
            )
        if any(a != b for d, (a, b) in enumerate(zip(x.shape, first.shape)) if d != dim):
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first.shape)} (except in the concatenating dimension), "
                f"but found shape: {list(x.shape)} at position {i}."
            )


# ---- rows: the sparse dimensions as one ----------------------------------------------------------


def row_numbers(x: SparseTensor) -> np.ndarray:
    """For each value the row-major position of its index in the sparse dimensions."""
    sizes = x.shape[: x.sparse_dim()]
    numbers = np.zeros(x._nnz(), np.int64)
    for index, size in zip(x._where._array(), sizes):
        numbers = numbers * size + index
    return numbers


def rows_of(dense: Tensor, x: SparseTensor) -> Tensor:
    """The rows of a dense tensor of x's shape where x has values: (nnz, *dense dimensions)."""
    return _by_rows(dense, x).index_select(0, from_array(row_numbers(x)))


def with_rows_added(dense: Tensor, x: SparseTensor, values: Tensor) -> Tensor:
    """A dense tensor of x's shape plus values where x has values."""
    numbers = from_array(row_numbers(x))
    return _by_rows(dense, x).index_add(0, numbers, values).reshape(dense.shape)


def _by_rows(dense: Tensor, x: SparseTensor) -> Tensor:
    n = x.sparse_dim()
    return dense.reshape(math.prod(x.shape[:n]), *x.shape[n:])


def coalesce(x: SparseTensor) -> SparseTensor:
    """Each element once, in row-major order; what was given several times is summed."""
    if x._coalesced:
        return x
    numbers = row_numbers(x)
    if (numbers[1:] > numbers[:-1]).all():
        return with_values(x, x._what, True)
    unique, places = np.unique(numbers, return_inverse=True)
    values = x._what.new_zeros((len(unique), *x._what.shape[1:])).index_add(
        0, from_array(places.reshape(-1).astype(np.int64)), x._what
    )
    indices = np.unravel_index(unique, x.shape[: x.sparse_dim()] or (1,))
    indices = np.stack(indices)[: x.sparse_dim()].astype(np.int64)
    return SparseTensor(from_array(indices), values, x.shape, True)
