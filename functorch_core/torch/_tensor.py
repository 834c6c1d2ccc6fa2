"""What a Tensor is to its user: attributes, autograd, data access. Operators and most methods come
from the declarations of the ops (see `_install`)."""

from __future__ import annotations

import numpy as np

from .. import xla
from ..core import dtypes as dt
from ..engine import from_numpy, record, unit_of_primitive
from ..engine.value import ABSENT, NoData, to_numpy
from .. import primitives as p
from . import _printing, _types
from ._meta import META, NO_ITEM, NO_NUMPY, class_name, is_meta, meta_tensor
from ._memory_order import channels_last_strides, in_memory_order
from ._tensor_base import Tensor, new_tensor
from ._views import Alias, Cell, assign, contiguous_strides, layout_of, make_alias, share
from .autograd.accumulate import AccumulateGrad, own_copy
from .autograd.backward import backward as _backward
from .autograd.modes import state
from .autograd.node import Handle

NON_LEAF_GRAD = (
    "you can only change requires_grad flags of leaf variables. If you want to use a "
    "computed variable in a subgraph that doesn't require differentiation use "
    "var_no_grad = var.detach()."
)
IN_TRANSFORM = (
    "You are attempting to call Tensor.requires_grad_() (or perhaps using "
    "torch.autograd.functional.* APIs) inside of a function being transformed by a "
    "functorch transform. This is unsupported, please attempt to use the functorch "
    "transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() "
    "outside of a function being transformed instead."
)
GRAD_DTYPE = (
    "attempting to assign a gradient with dtype '{found}' to a tensor with grad_dtype "
    "'{wanted}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's "
    "dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None "
    "to allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and "
    "its gradient may break downstream systems that assume they match."
)
GRAD_DEVICE = (
    "attempting to assign a gradient with device type '{found}' to a tensor with device "
    "type '{wanted}'. Please ensure that the gradient and the tensor are on the same "
    "device"
)
C_NAMES = {
    "float64": "double",
    "float32": "float",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "complex32": "c10::complex<c10::Half>",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}
ONLY_FLOATING = "only Tensors of floating point and complex dtype can require gradients"


def _member(fun):
    """Attach a function to Tensor as a method."""
    fun.__qualname__ = f"Tensor.{fun.__name__}"
    setattr(Tensor, fun.__name__, fun)
    return fun


def _attribute(fun):
    """Attach a function to Tensor as a read-only attribute."""
    setattr(Tensor, fun.__name__, property(fun))
    return fun


# ---- making tensors from data ------------------------------------------------------------------------


def from_array(array: np.ndarray, requires_grad: bool = False) -> Tensor:
    """A tensor of a host array that nobody else writes to."""
    tensor = new_tensor(from_numpy(array))
    if requires_grad:
        tensor.requires_grad = True
    return tensor


def ones_like_detached(tensor: Tensor) -> Tensor:
    """Ones of a tensor's shape and dtype, without history."""
    a = tensor._read().aval
    if tensor._level is not None:
        from . import _levels

        return _levels.ones_like(tensor)
    if is_meta(tensor):
        return meta_tensor(a.shape, a.dtype)
    return from_array(np.ones(a.shape, a.dtype))


# ---- shape, dtype, device ----------------------------------------------------------------------------


def _aval(self):
    return self._value.aval if self._level is None else self._level.aval


Tensor._aval = property(_aval)
Tensor.shape = property(lambda self: tuple.__new__(_types.Size, _aval(self).shape), doc="The size of each dimension.")
Tensor.ndim = property(lambda self: _aval(self).ndim, doc="The number of dimensions.")
Tensor.dtype = property(lambda self: _types._by_numpy[_aval(self).dtype], doc="The element type.")
Tensor.itemsize = property(lambda self: _aval(self).dtype.itemsize, doc="Bytes of an element.")
Tensor.nbytes = property(lambda self: _aval(self).nbytes, doc="Bytes of all elements.")
Tensor.layout = property(lambda self: _types.strided, doc="torch.strided.")
Tensor.is_sparse = property(lambda self: False)
Tensor.is_quantized = property(lambda self: False)
Tensor.is_mkldnn = property(lambda self: False)
Tensor.is_nested = property(lambda self: False)
Tensor.is_sparse_csr = property(lambda self: False)
Tensor.is_meta = property(is_meta)
Tensor.is_cpu = property(lambda self: self.device.type == "cpu")
Tensor.is_cuda = property(lambda self: self.device.type == "cuda")
for _backend in ("is_xpu", "is_mps", "is_ipu", "is_xla", "is_hpu", "is_mtia", "is_vulkan", "is_maia"):
    setattr(Tensor, _backend, property(lambda self: False))
Tensor.name = property(lambda self: None)
Tensor.names = property(lambda self: (None,) * self.ndim)
Tensor.__array_priority__ = 1000
Tensor.__hash__ = object.__hash__


@_attribute
def device(self) -> _types.device:
    """Where the tensor is."""
    value = self._value
    if value.recording is None and not isinstance(value.data, np.ndarray):
        platform = getattr(xla.device_of(value.data), "platform", "cpu")
        if platform != "cpu":
            return _types.device(platform, xla.device_of(value.data).id)
    return META if value.recording is ABSENT else _types.CPU


@_member
def size(self, dim=None):
    """The shape, or the size of one dimension."""
    return self.shape if dim is None else self.shape[wrap_dim(dim, self.ndim)]


@_member
def dim(self) -> int:
    """The number of dimensions."""
    return self.ndim


Tensor.ndimension = dim


@_member
def numel(self) -> int:
    """The number of elements."""
    return _aval(self).size


Tensor.nelement = numel
Tensor.is_floating_point = lambda self: _aval(self).dtype in dt.FLOATING
Tensor.is_complex = lambda self: _aval(self).dtype in dt.COMPLEX
Tensor.is_signed = lambda self: self.dtype.is_signed
Tensor.element_size = lambda self: _aval(self).dtype.itemsize
Tensor.is_inference = lambda self: self._is_inference
Tensor.is_shared = lambda self: False
Tensor.is_pinned = lambda self, device=None: False
Tensor.is_conj = lambda self: False
Tensor.is_neg = lambda self: False
Tensor.resolve_conj = lambda self: self
Tensor.resolve_neg = lambda self: self


@_member
def pin_memory(self, device=None):
    """The tensor itself: transfers need no page-locked memory here."""
    if is_meta(self):
        raise RuntimeError(f"cannot pin '{class_name(self)}' only dense CPU tensors can be pinned")
    return self


@_member
def share_memory_(self):
    """Not there: writes of one process would not be seen by the other."""
    raise NotImplementedError(
        "Tensor.share_memory_ is not implemented: tensors are immutable values underneath, so that "
        "what one process writes, another would not see. Send tensors through a queue or a pipe."
    )


Tensor.get_device = lambda self: self.device.index if self.is_cuda else -1


def wrap_dim(dim: int, ndim: int) -> int:
    """A non-negative dimension; IndexError with PyTorch's message."""
    if dim.__class__ is not int and not hasattr(dim, "__index__"):
        raise TypeError(f"argument 'dim' must be int, not {type(dim).__name__}")
    limit = max(ndim, 1)
    if not -limit <= dim < limit:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})")
    return dim % limit


@_member
def stride(self, dim=None):
    """The strides in elements, or that of one dimension."""
    strides = layout_of(self)[1]
    return strides if dim is None else strides[wrap_dim(dim, self.ndim)]


@_member
def storage_offset(self) -> int:
    """Where in its storage the tensor begins, in elements."""
    return layout_of(self)[2]


@_member
def is_contiguous(self, memory_format=_types.contiguous_format) -> bool:
    """Whether the elements lie in the order of the given format without gaps."""
    shape, strides, _ = layout_of(self)
    if memory_format in (_types.channels_last, _types.channels_last_3d):
        wanted = (
            channels_last_strides(shape) if len(shape) == (4 if memory_format is _types.channels_last else 5) else None
        )
    else:
        wanted = contiguous_strides(shape)
    return wanted is not None and (0 in shape or all(a == b for n, a, b in zip(shape, strides, wanted) if n != 1))


@_member
def data_ptr(self) -> int:
    """The address of the first element, which two tensors share exactly if it is one place.

    What lies there is a copy, made by this call: reading it gives the elements, writing to it does
    not reach the tensor. Tensors on a GPU or inside a transform have a number that is no address.
    """
    cell = share(self).cell
    if is_meta(self):
        return 0
    if self._level is not None or not self.is_cpu:
        start = _number_of(cell)
    else:
        start = _address_of(cell)
    return start + self.storage_offset() * self.element_size() if start else 0


def _address_of(cell) -> int:
    """Where a copy of the cell's memory lies: always the same place, with the current elements."""
    buffer, copied = getattr(cell, "token", None) or (None, None)
    if copied is not cell.value:
        from ._pickling import memory

        found = memory(cell)
        buffer = np.empty_like(found) if buffer is None else buffer
        buffer[...] = found
        cell.token = buffer, cell.value
    return buffer.ctypes.data if buffer.size else 0


_numbers = [1 << 32]


def _number_of(cell) -> int:
    """A number of the cell's own."""
    if getattr(cell, "token", None) is None:
        cell.token = _numbers[0]
        _numbers[0] += -(-cell.value.aval.nbytes // 64) * 64 + 64
    return cell.token if cell.token.__class__ is int else cell.token[0].ctypes.data


# ---- data ----------------------------------------------------------------------------------------------


def _concrete(self, what: str) -> np.ndarray:
    if self._level is not None:
        from . import _levels

        return _levels.concrete(self, what)
    return to_numpy(self._read())


Tensor._array = lambda self: _concrete(self, "its data")


@_member
def item(self):
    """The only element as a Python number."""
    if self._level is None and self._value.aval.size != 1:
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    try:
        return _concrete(self, "item()").item()
    except NoData:
        raise RuntimeError(NO_ITEM) from None


@_member
def tolist(self):
    """Nested lists of Python numbers."""
    array = _concrete(self, "tolist()")
    return array.astype(np.float64).tolist() if array.dtype.kind == "V" else array.tolist()


def numpy(self, *, force: bool = False) -> np.ndarray:
    """The data as a NumPy array, which is a copy: see docs/differences.md."""
    if self.requires_grad and state.enabled and not force:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if self.dtype.numpy.isbuiltin != 1:
        from ._inplace import scalar_name

        raise TypeError(f"Got unsupported ScalarType {scalar_name(self.dtype.numpy)}")
    if is_meta(self):
        raise TypeError(NO_NUMPY)
    return in_memory_order(_concrete(self, "numpy()"), self)


Tensor.numpy = numpy


def __array__(self, dtype=None, copy=None):
    array = self.numpy() if self.requires_grad or is_meta(self) else np.array(_concrete(self, "np.asarray"))
    return array if dtype is None else array.astype(dtype)


Tensor.__array__ = __array__


def __array_wrap__(self, array, context=None, return_scalar=False):
    from . import from_numpy as torch_from_numpy

    return torch_from_numpy(np.asarray(array))


Tensor.__array_wrap__ = __array_wrap__


def _truth(self) -> bool:
    if self.numel() == 0:
        raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
    if self.numel() > 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return bool(self.reshape(()).item() if is_meta(self) else _concrete(self, "bool").reshape(()).item())


def _index(self) -> int:
    if self.numel() != 1 or self.is_floating_point() or self.is_complex():
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(self.item())


Tensor.__bool__, Tensor.__index__ = _truth, _index
Tensor.__float__ = lambda self: float(_real(self, "double"))
Tensor.__int__ = lambda self: int(_real(self, "int64_t"))
Tensor.__complex__ = lambda self: complex(_only(self))


def _real(self, kind: str):
    number = _only(self)
    if isinstance(number, complex):
        if number.imag:
            raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
        return number.real
    return number


def _only(self):
    if self.numel() != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return self.item()


def __len__(self) -> int:
    if not self.ndim:
        raise TypeError("len() of a 0-d tensor")
    return self.shape[0]


def __iter__(self):
    if not self.dim():
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


def __contains__(self, element) -> bool:
    if isinstance(element, (Tensor, int, float, bool, complex)):
        return bool((element == self).any().item())
    raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")


def __reversed__(self):
    return self.flip(0) if self.ndim else self


Tensor.__len__, Tensor.__iter__, Tensor.__contains__ = __len__, __iter__, __contains__
Tensor.__reversed__ = __reversed__


def __repr__(self, *, tensor_contents=None) -> str:
    if self._level is not None:
        from . import _levels

        return _levels.describe(self)
    from ._parameter import Parameter

    node = self.grad_fn if self._ge is not None else None
    place = self.device
    return _printing.format_tensor(
        None if is_meta(self) else _concrete(self, "repr"),
        dtype_name=repr(self.dtype),
        default_dtype_name=repr(_types.defaults.dtype),
        requires_grad=self.requires_grad,
        grad_fn_name=None if node is None else type(node).__name__,
        device=None if place.type == "cpu" else str(place),
        is_parameter=isinstance(self, Parameter),
        size=self.shape,
    )


Tensor.__repr__ = Tensor.__str__ = __repr__


def __format__(self, spec: str) -> str:
    if self.ndim == 0 and self._level is None and not is_meta(self):
        return self.item().__format__(spec)
    return object.__format__(self, spec)


Tensor.__format__ = __format__


def __dir__(self):
    return sorted({*object.__dir__(self), *vars(type(self))})


def __deepcopy__(self, memo):
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the "
            "deepcopy protocol at the moment.  If you were attempting to deepcopy a "
            "module, this may be because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    new = new_tensor(self._read())
    new.__class__ = type(self)
    new._strides = self._strides
    if self._view is not None:
        new._view = Alias(_copied_cell(self._view.cell, memo), self._view.chain, None)
    new.__dict__.update({k: _copied(v, memo) for k, v in self.__dict__.items()})
    if self._is_inference:
        new._is_inference = True
    if self.requires_grad:
        new.requires_grad = True
    if self._grad is not None:
        new._grad = __deepcopy__(self._grad, memo)
    memo[id(self)] = new
    return new


def _copied_cell(cell: Cell, memo) -> Cell:
    """The copy of a storage: one, however many of its tensors are copied."""
    if id(cell) not in memo:
        memo[id(cell)] = Cell(cell.value, 0, cell.strides)
    return memo[id(cell)]


def _copied(x, memo):
    import copy

    return copy.deepcopy(x, memo)


Tensor.__deepcopy__ = __deepcopy__


def __reduce_ex__(self, protocol):
    from ._pickling import reduce_tensor

    return reduce_tensor(self)


Tensor.__reduce_ex__ = __reduce_ex__


# ---- autograd ------------------------------------------------------------------------------------------


def _get_requires_grad(self) -> bool:
    if self._view is not None:
        self._read()
    return self._ge is not None


def _set_requires_grad(self, value: bool):
    if self._ge is not None and not self.is_leaf:
        if not value:
            raise RuntimeError(NON_LEAF_GRAD)
        return
    if state.transforms:
        raise RuntimeError(IN_TRANSFORM)
    if not value:
        self._ge = None
    elif self._ge is None:
        if self._is_inference and not state.inference:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        if self._value.aval.dtype not in dt.INEXACT:
            raise RuntimeError(ONLY_FLOATING)
        self._ge = AccumulateGrad(self), 0


Tensor.requires_grad = property(
    _get_requires_grad, _set_requires_grad, doc="Whether gradients are computed for this tensor."
)


@_member
def requires_grad_(self, requires_grad: bool = True) -> Tensor:
    """Set requires_grad; returns the tensor."""
    if requires_grad and self._value.aval.dtype not in dt.INEXACT:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    self.requires_grad = requires_grad
    return self


@_attribute
def is_leaf(self) -> bool:
    """Whether the tensor was made by the user rather than by an op on the tape."""
    edge = self._ge
    return edge is None or isinstance(edge[0], AccumulateGrad)


@_attribute
def grad_fn(self):
    """The node that made the tensor, None for a leaf."""
    if self._view is not None:
        self._view.settle(self)
    return None if self.is_leaf else self._ge[0]


def _get_grad(self):
    if self._grad is None and not self.is_leaf and not self._retains_grad:
        import warnings

        warnings.warn(
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. "
            "Its .grad attribute won't be populated during autograd.backward(). If you "
            "indeed want the .grad field to be populated for a non-leaf Tensor, use "
            ".retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by "
            "mistake, make sure you access the leaf Tensor instead. See "
            "github.com/pytorch/pytorch/pull/30531 for more informations.",
            UserWarning,
            stacklevel=2,
        )
    return self._grad


def _set_grad(self, grad):
    if grad is not None:
        if not isinstance(grad, Tensor):
            raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(grad).__name__}")
        if grad.shape != self.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(grad.shape)}' to a "
                f"tensor of size '{list(self.shape)}'. Please ensure that the "
                "gradient and the tensor are the same size"
            )
        if grad.is_meta != self.is_meta:
            raise RuntimeError(GRAD_DEVICE.format(found=grad.device.type, wanted=self.device.type))
        if grad.dtype is not self.dtype:
            from ._inplace import scalar_name

            found, wanted = grad.dtype.numpy, scalar_name(self.dtype.numpy)
            raise RuntimeError(GRAD_DTYPE.format(found=C_NAMES.get(found.name, found.name), wanted=wanted))
    self._grad = grad


def _del_grad(self):
    self._grad = None


Tensor.grad = property(_get_grad, _set_grad, _del_grad, doc="The accumulated gradient, or None.")


def _edge(self):
    if self._view is not None:
        self._read()
    return self._ge


Tensor._edge = _edge


def _accumulate(self, grad: Tensor):
    """self += grad for a gradient nobody differentiates."""
    value = self._read()
    total = (
        record(unit_of_primitive(p.add.primitive, {}, (value.aval, value.aval)), [value, grad._read()])
        if grad._value.aval is value.aval
        else None
    )
    if total is None or self._view is not None:
        with _NoGrad():
            assign(self, self + grad)
        return
    self._value = total
    self._own_version += 1


class _NoGrad:
    def __enter__(self):
        self.saved, state.enabled = state.enabled, False

    def __exit__(self, *exc):
        state.enabled = self.saved


Tensor._accumulate = _accumulate


def _retain(self, grad, create_graph: bool):
    if grad is not None:
        grad = own_copy(grad, create_graph)
        self._grad = grad if self._grad is None else self._grad + grad


Tensor._retain = _retain


def _retain_anew(self, before):
    """After an in-place op: what is retained is the gradient by the new value."""
    if before is not None and before[0].extras is not None:
        before[0].extras.retained.pop(before[1], None)
    if self._ge is not None:
        _retain_on_node(self)


Tensor._retain_anew = _retain_anew


@_member
def retain_grad(self):
    """Keep the gradient of a non-leaf tensor in `.grad`."""
    if not self.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if not self.is_leaf:
        self._retains_grad = True
        _retain_on_node(self)


def _retain_on_node(self):
    node, index = self._ge
    node.retain(index, self)


Tensor.retains_grad = property(lambda self: self._retains_grad)
Tensor.output_nr = property(lambda self: self._ge[1] if self._ge is not None else 0)


@_member
def register_hook(self, hook):
    """Call hook(grad) when the gradient by this tensor is known; it may return another."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    node, index = self._edge()
    return Handle(node.hooks_of_output(index), hook)


@_member
def register_post_accumulate_grad_hook(self, hook):
    """Call hook(tensor) after a leaf's `.grad` has been added to."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if not self.is_leaf:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    node = self._ge[0]
    node.post_hooks = {} if node.post_hooks is None else node.post_hooks
    return Handle(node.post_hooks, hook)


@_member
def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Add the gradient of this tensor by the leaves to their `.grad`."""
    _backward(self, gradient, retain_graph, create_graph, inputs=inputs)


@_member
def detach(self) -> Tensor:
    """The same memory, without history."""
    if self._level is not None:
        from . import _levels

        return _levels.detach(self)
    return make_alias(self)


@_member
def detach_(self) -> Tensor:
    """Cut the tensor off from its history."""
    if self._view is not None and self._view.base is not None:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using "
            "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view "
            "is set as True, gradients are views of DDP buckets, and hence detach_() "
            "cannot be called on these gradients. To fix this error, please refer to "
            "the Optimizer.zero_grad() function in torch/optim/optimizer.py as the "
            "solution."
        )
    self._ge = None
    return self


def _get_data(self) -> Tensor:
    if self._level is not None:
        return self.detach()
    out = make_alias(self)
    out._view.untracked = True
    return out


def _set_data(self, new: Tensor):
    if not isinstance(new, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(new).__name__}")
    if new.is_meta != self.is_meta:
        raise RuntimeError(
            "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type."
        )
    alias, version = share(new), self._version
    self._value, self._strides = new._read(), None
    self._view = Alias(alias.cell, alias.chain, None)
    self._view.earlier = version - self._version


Tensor.data = property(_get_data, _set_data, doc="The same memory without history.")


@_attribute
def _cdata(self) -> int:
    """A number that no other living tensor has."""
    return id(self)


@_attribute
def _base(self):
    """The tensor this one is a view of, or None."""
    return self._view.base if self._view is not None else None


@_member
def _is_view(self) -> bool:
    return self._view is not None and self._view.base is not None
