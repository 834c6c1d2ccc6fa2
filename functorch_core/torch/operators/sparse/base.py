"""What sparse tensors of every layout are: Tensors without a value of their own.

What the engine sees are indices and values, ordinary tensors; the gradient of a sparse tensor is that of its
values. Ops reach one by `__torch_function__` and the table of its layout; an op that is not in that table finds
no value to work on, and raises NotImplementedError.
"""

from __future__ import annotations

import numpy as np

from ....core.aval import Aval, aval
from ...dispatch.overrides import activate
from ...tape.modes import state as modes
from ...tape.node_names import rename
from ...tensors import printing as _printing
from ...tensors import types as _types
from ...tensors.base import Tensor, from_array, new_tensor, wrap_dim
from ...views.cells import make_view
from ...views.lenses import Lens
from ...views.refusals import LEAF_INPLACE

UNSUPPORTED = "{what} is not implemented for sparse tensors (layout {layout}); convert the tensor with to_dense() first"
NO_NUMPY = "can't convert {kind} layout tensor to numpy. Use Tensor.to_dense() first."
NO_STORAGE = "Cannot access data pointer of Tensor that doesn't have storage"
# What PyTorch's errors call a layout.
KINDS = {
    _types.strided: "Strided",
    _types.sparse_coo: "Sparse",
    _types.sparse_csr: "SparseCsr",
    _types.sparse_csc: "SparseCsc",
    _types.sparse_bsr: "SparseBsr",
    _types.sparse_bsc: "SparseBsc",
}


def unsupported(what: str, layout=_types.sparse_coo) -> NotImplementedError:
    """The error of what is not implemented for a layout."""
    return NotImplementedError(UNSUPPORTED.format(what=what, layout=layout))


class _Nowhere:
    """What stands where dense tensors in transforms have their level: an aval and nothing else."""

    __slots__ = ("aval", "layout")

    def __init__(self, a: Aval, layout):
        self.aval, self.layout = a, layout

    def version(self, own: int) -> int:
        """The version of the tensor."""
        return own

    def __getattr__(self, name: str):
        raise unsupported("this operation", self.layout)


def _refusing(what: str):
    def refuse(self, *args, **kwargs):
        raise unsupported(what, self.layout)

    return refuse


class Sparse(Tensor):
    """A torch.Tensor of a sparse layout: values `_what`, and indices in the subclass's own fields, `_fields`."""

    __module__ = "torch"
    _fields: tuple[str, ...] = ("_what",)
    _base = None  # the tensor that this one is a view of
    is_meta = property(lambda self: self._what.is_meta)
    _value = property(_refusing("this operation"))

    def __new__(cls, *args):
        activate()
        return object.__new__(cls)

    def _hold(self, values: Tensor, size):
        self._what = values
        self._level = _Nowhere(aval(tuple(size), values._aval.dtype), self.layout)

    def become(self, other: Sparse) -> Sparse:
        """Take the contents of another tensor of the layout: self.op_()."""
        if modes.enabled and self.requires_grad and self.is_leaf:
            raise RuntimeError(LEAF_INPLACE)
        for field in self._fields:
            setattr(self, field, getattr(other, field))
        self._level = other._level
        self._own_version += 1
        return self

    def own(self) -> Sparse:
        """The same numbers at the same places in a tensor of its own, without history."""
        return self._with(new_tensor(self._what._kept()))

    def _values_view(self) -> Tensor:
        if self._what._ge is None:
            return self._what
        # A node behind the tensor's: what is computed of the tensor does not depend on it.
        values = make_view(self._what, Lens("alias"))
        rename(values, "ValuesBackward0")
        return values

    def to_dense(self, dtype=None, *, masked_grad=None) -> Tensor:
        """All elements, as a strided tensor."""
        values = self._what if dtype is None else self._what.to(dtype)
        return with_rows_added(values.new_zeros(self.shape), self, values)

    # ---- of each layout

    def _with(self, values: Tensor) -> Sparse:
        """Other values at the same places."""
        raise NotImplementedError

    def _numbers(self) -> np.ndarray:
        """For each row of values (an element, a block, a row of dense dimensions) the row-major position of its
        place among all."""
        raise NotImplementedError

    def _rows_in(self, dense: Tensor) -> Tensor:
        """All the rows of a dense tensor of this shape."""
        raise NotImplementedError

    def _from_rows(self, rows: Tensor) -> Tensor:
        """A dense tensor of this shape, of all its rows."""
        raise NotImplementedError

    def _parts(self) -> dict[str, Tensor]:
        """The indices, by the names that are shown."""
        raise NotImplementedError

    # ---- what a Tensor tells of itself

    device = property(lambda self: self._what.device)
    is_leaf = property(lambda self: self._what.is_leaf)
    grad_fn = property(lambda self: self._what.grad_fn)
    T = property(lambda self: self.t())
    mT = property(lambda self: self.transpose(-2, -1))

    @property
    def _ge(self):
        if self._what._ge is not None:
            raise unsupported("differentiating this operation", self.layout)

    def _edge(self):
        if self.requires_grad:
            raise unsupported("a backward pass from a sparse tensor", self.layout)

    def _edge_wanted(self):
        """The edge at which torch.autograd.grad finds the gradient of the values."""
        return self._what._edge()

    def _gradient_of(self, values: Tensor) -> Sparse:
        """The gradient by this tensor, of that by its values."""
        return self._with(values)

    def register_hook(self, hook):
        """Call hook(gradient) with the sparse gradient when it is known."""

        def of_values(grad):
            found = hook(None if grad is None else self._with(grad))
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
        return None if found is None else self._with(found)

    @grad.setter
    def grad(self, grad):
        self._what.grad = None if grad is None else grad.sparse_mask(self)._what

    @property
    def _grad(self):
        return self.grad

    @_grad.setter
    def _grad(self, grad):
        self.grad = grad

    def requires_grad_(self, requires_grad: bool = True) -> Sparse:
        """Set requires_grad; returns the tensor."""
        self.requires_grad = requires_grad
        return self

    def _is_view(self) -> bool:
        return self._base is not None

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
        return self._with(self._what.type(dtype, **kwargs))

    def detach(self) -> Sparse:
        """The same indices and values without history."""
        return self._with(self._what.detach())

    def detach_(self) -> Sparse:
        """Cut the tensor off from its history."""
        self._what = self._what.detach()
        return self

    @property
    def data(self) -> Sparse:
        """The same indices and values without history."""
        return self.detach()

    def numpy(self, *, force: bool = False):
        """Raises: there is no dense memory."""
        raise TypeError(NO_NUMPY.format(kind=KINDS[self.layout]))

    def __array__(self, dtype=None, copy=None):
        raise TypeError(NO_NUMPY.format(kind=KINDS[self.layout]))

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
        raise unsupported(what, self.layout)

    def _array(self):
        raise unsupported("reading the data", self.layout)

    # ---- Python

    def __getitem__(self, index):
        from .functions import get_item

        return get_item(self, index)

    def __setitem__(self, index, value):
        raise TypeError("Cannot assign to a sparse tensor")

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
            memo[id(self)] = self._with(self._what.__deepcopy__(memo))
        return memo[id(self)]

    def __repr__(self, *, tensor_contents=None) -> str:
        node = None if self.is_leaf else self.grad_fn
        return _printing.format_sparse(
            {name: x._array() for name, x in self._parts().items()},
            self._what._array(),
            size=tuple(self.shape),
            nnz=self._nnz(),
            layout=repr(self.layout),
            dtype_name=repr(self.dtype),
            default_dtype_name=repr(_types.defaults.dtype),
            requires_grad=self.requires_grad,
            grad_fn_name=None if node is None else node.name(),
        )

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return str(self).__format__(spec)


# ---- rows of dense tensors ------------------------------------------------------------------------


def with_values(x: Sparse, values: Tensor) -> Sparse:
    """Other values at the same places."""
    return x._with(values)


def rows_of(dense: Tensor, x: Sparse) -> Tensor:
    """The rows of a dense tensor of x's shape where x has values, in the shape of x's values."""
    rows = x._rows_in(dense).index_select(0, from_array(x._numbers()))
    return rows.reshape(x._what.shape)


def with_rows_added(dense: Tensor, x: Sparse, values: Tensor) -> Tensor:
    """A dense tensor of x's shape plus values where x has values."""
    rows = x._rows_in(dense)
    numbers = from_array(x._numbers())
    return x._from_rows(rows.index_add(0, numbers, values.reshape(len(numbers), *rows.shape[1:])))
