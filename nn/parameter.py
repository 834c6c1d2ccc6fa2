"""torch.nn.parameter: tensors that a module registers, also those whose shape is not known yet."""

from __future__ import annotations

from ..names import pickles_name_torch
from ..torch import empty
from ..torch.compat.plain_pickles import _new as new_by_name
from ..torch.dispatch.parameter import Buffer, Parameter, _ParameterMeta  # noqa: F401 (torchrl asks for it here)
from ..torch.tensors.base import Tensor, new_tensor

NO_SHAPE = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually "
    "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
    "initialized one. Call `forward` to initialize the parameters before accessing their "
    "attributes."
)
NOT_SHARED = (
    "Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
    "initialize the parameters before calling `module.share_memory()`."
)
NOT_USABLE = (
    "Attempted to use an uninitialized parameter in {method}. This error happens when "
    "you are using a `LazyModule` or explicitly manipulating `torch.nn.parameter.{cls}` "
    "objects. When using LazyModules Call `forward` with a dummy batch to initialize the "
    "parameters before calling torch functions"
)


# Methods an uninitialized tensor has all the same.
_ALLOWED = frozenset(
    {
        "bfloat16",
        "char",
        "copy_",
        "cpu",
        "cuda",
        "double",
        "float",
        "get_device",
        "half",
        "int",
        "is_complex",
        "is_floating_point",
        "long",
        "register_hook",
        "short",
        "to",
    }
)
_OWN = frozenset({"materialize", "share_memory_", "size"})


METHOD = "<method '{}' of 'torch._C.TensorBase' objects>"


def _refusing(name: str, described: str = METHOD):
    """A method that raises."""

    def refuse(self, *args, **kwargs):
        raise ValueError(NOT_USABLE.format(method=described.format(name), cls=type(self).__name__))

    return refuse


def _allowing(method):
    """A method in which ops take the tensor as it is, without elements."""

    def allowed(self, *args, **kwargs):
        lazy = [self, *filter(is_lazy, args)]
        for tensor in lazy:
            object.__setattr__(tensor, "_usable", True)
        try:
            return method(self, *args, **kwargs)
        finally:
            for tensor in lazy:
                object.__setattr__(tensor, "_usable", False)

    return allowed


class UninitializedTensorMixin:
    """What lazy parameters and buffers share: no shape, few methods, `materialize`.

    >>> isinstance(nn.LazyLinear(2).weight, nn.parameter.UninitializedTensorMixin)
    True
    """

    cls_to_become: type

    def materialize(self, shape, device=None, dtype=None):
        """Become an ordinary tensor of this shape; its elements are not initialized."""
        self.data = empty(
            shape,
            device=self.data.device if device is None else device,
            dtype=self.data.dtype if dtype is None else dtype,
        )
        self.__class__ = self.cls_to_become

    @property
    def shape(self):
        raise RuntimeError(NO_SHAPE)

    _usable = False

    def __getattribute__(self, name):
        if name[0] == "_" or name in _OWN or not callable(getattr(Tensor, name, None)):
            return object.__getattribute__(self, name)
        if name in _ALLOWED:
            return _allowing(getattr(Tensor, name)).__get__(self)
        return _refusing(name).__get__(self)

    def _check_operand(self, op):
        """What ops call before they use a tensor of another class than Tensor."""
        if not self._usable:
            raise ValueError(NOT_USABLE.format(method=repr(op), cls=type(self).__name__))

    def size(self, dim=None):
        """That of no elements."""
        return self.data.size(dim)

    def share_memory_(self):
        raise RuntimeError(NOT_SHARED)

    def __repr__(self):
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol):
        if pickles_name_torch():
            return type(self), (self.requires_grad,)
        return new_by_name, ("functorch_core.nn.parameter", type(self).__name__, self.requires_grad)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]


def is_lazy(param) -> bool:
    """Whether a parameter or buffer has no shape yet.

    >>> from torch.nn.parameter import is_lazy
    >>> is_lazy(nn.LazyLinear(2).weight), is_lazy(nn.Linear(1, 2).weight)
    (True, False)
    """
    return isinstance(param, UninitializedTensorMixin)


def _without_shape(cls: type, requires_grad: bool, device, dtype):
    new = new_tensor(empty(0, device=device, dtype=dtype)._read())
    new.__class__ = cls
    new.requires_grad = requires_grad
    return new


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet; `materialize(shape)` makes it a Parameter.

    >>> parameter = nn.LazyLinear(2).weight
    >>> isinstance(parameter, nn.UninitializedParameter)
    True
    >>> parameter.materialize((2, 3))
    >>> parameter.shape
    torch.Size([2, 3])
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return _without_shape(cls, requires_grad, device, dtype)

    def __init__(self, requires_grad=True, device=None, dtype=None):
        pass


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet; `materialize(shape)` makes it a Tensor.

    >>> buffer = nn.UninitializedBuffer()
    >>> buffer.materialize((2, 3))
    >>> buffer.shape
    torch.Size([2, 3])
    """

    cls_to_become = Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        new = _without_shape(cls, requires_grad, device, dtype)
        new.persistent, new._is_buffer = persistent, True
        return new

    def __init__(self, requires_grad=False, device=None, dtype=None, persistent=True):
        pass


# ---- what an uninitialized tensor refuses --------------------------------------------------------

# By what PyTorch's message calls them: a method of C++ of that name, or a function of Python.
_OF_C = {
    "__abs__": "abs",
    "__add__": "add",
    "__ge__": "ge",
    "__gt__": "gt",
    "__le__": "le",
    "__lt__": "lt",
    "__matmul__": "matmul",
    "__mod__": "remainder",
    "__mul__": "mul",
    "__ne__": "ne",
    "__neg__": "neg",
    "__radd__": "add",
    "__rmul__": "mul",
    "__sub__": "sub",
    "__truediv__": "div",
    **{
        f"__{n}__": f"__{n}__" for n in ("and", "bool", "complex", "eq", "float", "index", "int", "invert", "or", "xor")
    },
}
_SLOTS = ("__getitem__", "__setitem__")
_OF_PYTHON = (
    "__floordiv__",
    "__format__",
    "__len__",
    "__pow__",
    "__rfloordiv__",
    "__rmatmul__",
    "__rmod__",
    "__rpow__",
    "__rsub__",
    "__rtruediv__",
)
for _name, _title in _OF_C.items():
    setattr(UninitializedTensorMixin, _name, _refusing(_title))
for _name in _SLOTS:
    setattr(UninitializedTensorMixin, _name, _refusing(_name, "<slot wrapper '{}' of 'torch._C.TensorBase' objects>"))
for _name in _OF_PYTHON:
    setattr(UninitializedTensorMixin, _name, _refusing(_name, f"<function Tensor.{{}} at {id(Tensor):#x}>"))
UninitializedTensorMixin.__hash__ = Tensor.__hash__


__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "is_lazy",
]
