"""A tensor and a mask of its shape: elements at which the mask is False are not there.

It is a Tensor without a value of its own, as a sparse tensor is: ops reach it by `__torch_function__`, which gives
the data and the mask to what the name of the op stands for in `functions`. The data are on the tape.
"""

from __future__ import annotations

from .....core.aval import aval
from .....core.warn import warn
from ....dispatch.overrides import DisableTorchFunctionSubclass, activate
from ....operators.sparse.base import Sparse
from ....operators.sparse.conversions import same_places
from ....tape.backward import backward as backward_from
from ....tensors import types as _types
from ....tensors.base import Tensor, wrap_dim

UNSUPPORTED = (
    "Multiple dispatch failed for 'torch._ops.aten.{name}.default'; all __torch_dispatch__ handlers returned "
    "NotImplemented:\n\n  - tensor subclass <class 'torch.masked.maskedtensor.core.MaskedTensor'>"
)
PROTOTYPE = (
    "The PyTorch API of MaskedTensors is in prototype stage and will change in the near future. Please open a Github "
    "issue for features requests and see our documentation on the torch.masked module for further information about "
    "the project."
)
WITH_GRADIENT = (
    "It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid this, you can use "
    "data.detach().clone()"
)
MATCH = "Input masks must match."
ONLY_CONTIGUOUS = "MaskedTensors with sparse data do not have is_contiguous"
DTYPES = frozenset(
    "float16 bfloat16 float32 float64 bool uint8 int8 int16 int32 int64".split()
)  # of data; masks are bools


class _Nowhere:
    """What stands where dense tensors in transforms have their level: an aval and nothing else."""

    __slots__ = ("aval",)

    def __init__(self, a):
        self.aval = a

    def __getattr__(self, name: str):
        raise TypeError("this operation is not implemented for MaskedTensors")


def is_masked_tensor(obj) -> bool:
    """Whether an object is a MaskedTensor.

    >>> from torch.masked import is_masked_tensor, masked_tensor
    >>> is_masked_tensor(masked_tensor(torch.ones(2), torch.tensor([True, False]))), is_masked_tensor(torch.ones(2))
    (True, False)
    """
    return isinstance(obj, MaskedTensor)


def _tensors_match(a, b, exact: bool = True, rtol: float = 1e-05, atol: float = 1e-08) -> bool:
    """Whether two tensors of one layout have the same elements."""
    if is_masked_tensor(a) or is_masked_tensor(b):
        raise ValueError("Neither `a` nor `b` can be a MaskedTensor.")
    if a.layout != b.layout:
        raise ValueError(f"`a` and `b` must have the same layout. Got {a.layout} and {b.layout}")
    if isinstance(a, Sparse):
        if a._nnz() != b._nnz() or not same_places(a, b):
            return False
        a, b = a._what, b._what
    if a.shape != b.shape:
        return False
    return bool((a == b).all()) if exact else bool(a.to(b.dtype).allclose(b, rtol=rtol, atol=atol))


def _masks_match(a, b) -> bool:
    """Whether the masks of two are the same, of those that have one."""
    if is_masked_tensor(a) and is_masked_tensor(b):
        return a._mask is b._mask or _tensors_match(a._mask, b._mask)
    return True


def _check(data, mask):
    for name, x in (("data", data), ("mask", mask)):
        if not isinstance(x, Tensor) or is_masked_tensor(x):
            raise TypeError(f"{name} must be a Tensor")
    if data.layout != mask.layout:
        raise TypeError("data and mask must have the same layout.")
    if data.layout not in (_types.strided, _types.sparse_coo, _types.sparse_csr):
        raise TypeError(f"data layout of {data.layout} is not supported.")
    if mask.dtype is not _types.named("bool"):
        raise TypeError("mask must have dtype bool.")
    if repr(data.dtype).removeprefix("torch.") not in DTYPES:
        raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
    if data.dim() != mask.dim():
        raise ValueError("data.dim() must equal mask.dim()")
    if data.size() != mask.size():
        raise ValueError("data.size() must equal mask.size()")
    if isinstance(data, Sparse) and not same_places(data, mask):
        if data.is_sparse:
            raise ValueError("data and mask are both sparse COO tensors but do not have the same indices.")
        raise ValueError("data and mask are both sparse CSR tensors but do not share either crow or col indices.")


def _forwarded(name: str):
    return property(lambda self: getattr(self._data, name), doc=f"The data's {name}.")


class MaskedTensor(Tensor):
    """Data, and a mask that is True where they are there.

    >>> x = torch.masked.MaskedTensor(torch.tensor([1., 2., 3.]), torch.tensor([True, False, True]))
    >>> x.sum()
    MaskedTensor(  4.0000, True)
    """

    __module__ = "torch"
    device, is_leaf, grad_fn, layout = map(_forwarded, ("device", "is_leaf", "grad_fn", "layout"))
    is_sparse, is_meta, output_nr = map(_forwarded, ("is_sparse", "is_meta", "output_nr"))
    _sparse = property(lambda self: isinstance(self._data, Sparse))

    def __new__(cls, data, mask, requires_grad: bool = False):
        activate()
        return object.__new__(cls)

    def __init__(self, data, mask, requires_grad: bool = False):
        _check(data, mask)
        warn(PROTOTYPE)
        if requires_grad and not (data.is_floating_point() or data.is_complex()):
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        if data.requires_grad:
            warn(WITH_GRADIENT)
        self._hold(data.detach().clone(), mask.detach().clone())
        self._data.requires_grad_(requires_grad)

    @classmethod
    def _of(cls, data, mask) -> MaskedTensor:
        """Data that is on the tape, with a mask."""
        _check(data, mask)
        warn(PROTOTYPE)
        return cls._around(data.view_as(data) if data.requires_grad and not isinstance(data, Sparse) else data, mask)

    @classmethod
    def _around(cls, data, mask) -> MaskedTensor:
        """The same without looking at them."""
        made = cls.__new__(cls, data, mask)
        made._hold(data, mask)
        return made

    def _hold(self, data, mask):
        self._data, self._mask = data, mask
        self._level = _Nowhere(aval(tuple(data.shape), data._aval.dtype))

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        from .functions import dispatch

        with DisableTorchFunctionSubclass():
            return dispatch(func, args, kwargs or {})

    # ---- parts

    def get_data(self) -> Tensor:
        """The data, also where the mask is False."""
        return self._data

    def get_mask(self) -> Tensor:
        """Where elements are there."""
        return self._mask

    def to_tensor(self, value) -> Tensor:
        """The data, with `value` where the mask is False."""
        return self._data.masked_fill(~self._mask, value)

    def to_dense(self, dtype=None, *, masked_grad=None) -> MaskedTensor:
        """With strided data and a strided mask."""
        return self._around(self._data.to_dense(), self._mask.to_dense()) if self._sparse else self

    def to_sparse(self, *args, **kwargs) -> MaskedTensor:
        """With data and a mask of layout torch.sparse_coo, which have what is there."""
        return self.to_sparse_coo()

    def to_sparse_coo(self) -> MaskedTensor:
        """With data and a mask of layout torch.sparse_coo, which have what is there."""
        if self.is_sparse:
            return self
        mask = self._mask.to_sparse_coo().coalesce()
        return self._around(self._data.sparse_mask(mask), mask)

    def is_sparse_coo(self) -> bool:
        """Whether the data are of layout torch.sparse_coo."""
        return self.layout is _types.sparse_coo

    def is_sparse_csr(self) -> bool:
        """Whether the data are of layout torch.sparse_csr; as in PyTorch a method here."""
        return self.layout is _types.sparse_csr

    def to_sparse_csr(self) -> MaskedTensor:
        """With data and a mask of layout torch.sparse_csr, which have what is there."""
        if self.is_sparse_csr():
            return self
        mask = self._mask.to_sparse_csr()
        return self._around(self._data.sparse_mask(mask), mask)

    # ---- what a Tensor tells of itself

    @property
    def _ge(self):
        return None

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Add the gradients of a 0-d tensor to the leaves it is computed from."""
        gradient = gradient._data if is_masked_tensor(gradient) else gradient
        backward_from(self._data, gradient, retain_graph, create_graph, inputs=inputs)

    @property
    def requires_grad(self) -> bool:
        """Whether the data require a gradient."""
        return self._data.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool):
        self._data.requires_grad = value

    def requires_grad_(self, requires_grad: bool = True) -> MaskedTensor:
        """Set requires_grad; returns the tensor."""
        self.requires_grad = requires_grad
        return self

    @property
    def grad(self):
        """The accumulated gradient, with this tensor's mask."""
        found = self._data.grad
        return None if found is None else self._around(found, self._mask)

    @grad.setter
    def grad(self, grad):
        self._data.grad = grad._data if is_masked_tensor(grad) else grad

    @property
    def data(self) -> MaskedTensor:
        """A copy without history."""
        return self.detach()

    def detach(self) -> MaskedTensor:
        """A copy without history."""
        return self._around(self._data.detach().clone(), self._mask)

    def dim(self) -> int:
        """The number of dimensions."""
        return self.ndim

    ndimension = dim

    def size(self, dim=None):
        """The shape, or the size of one dimension."""
        return self.shape if dim is None else self.shape[wrap_dim(dim, self.ndim)]

    def numel(self) -> int:
        """The number of elements, also of those that are not there."""
        return self._level.aval.size

    nelement = numel

    def stride(self, dim=None):
        """The data's strides."""
        return self._data.stride() if dim is None else self._data.stride(dim)

    def is_contiguous(self, memory_format=None) -> bool:
        """Whether the data are contiguous; ValueError if they are sparse."""
        if self._sparse:
            raise ValueError(ONLY_CONTIGUOUS)
        return self._data.is_contiguous()

    def item(self):
        """The only element as a Python number."""
        return self._data.item()

    def tolist(self):
        """Raises: a list has no mask."""
        raise RuntimeError(".tolist() is not supported for tensor subclasses, got MaskedTensor")

    def numpy(self, *, force: bool = False):
        """Raises: an array has no mask."""
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def _is_any_true(self) -> MaskedTensor:
        """Whether any element that is there is True, of bools."""
        if self.dtype is not _types.named("bool"):
            raise ValueError("__torch_dispatch__, aten._is_any_true: expected a boolean tensor")
        found = (self._data & self._mask).any()
        return self._around(found, found.new_ones(()))

    # ---- Python

    def __len__(self) -> int:
        return len(self._mask)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __repr__(self, *, tensor_contents=None) -> str:
        dense = self.to_dense()
        if not dense.ndim:
            shown = _shown(dense._data.item(), dense._mask.item()).replace("      --", "--")
            return f"MaskedTensor({shown}, {dense._mask.item()})"
        return f"MaskedTensor(\n{_listed(dense._data.tolist(), dense._mask.tolist(), '  ')}\n)"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return str(self).__format__(spec)


def _shown(value, there: bool) -> str:
    if not there:
        return "      --"
    return f"{value:8.4f}" if isinstance(value, float) else str(value)


def _listed(values: list, there: list, indent: str) -> str:
    """Rows of elements, one a line, in brackets."""
    if not values or not isinstance(values[0], list):
        return f"{indent}[{', '.join(map(_shown, values, there))}]"
    inner = ",\n".join([_listed(v, m, indent + "  ") for v, m in zip(values, there)])
    return f"{indent}[\n{inner}\n{indent}]"
