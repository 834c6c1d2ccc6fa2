"""nn.Parameter and nn.Buffer: tensors that a module registers."""
from __future__ import annotations

from ._tensor_base import Tensor, new_tensor
from ._views import Alias, share


class _ParameterMeta(type(Tensor)):
    """isinstance(x, Parameter) also for tensors marked as parameters."""

    def __instancecheck__(cls, instance):
        return type.__instancecheck__(cls, instance) or (
            cls is Parameter and isinstance(instance, Tensor)
            and instance.__dict__.get("_is_param", False))


def _sharing(data: Tensor, cls: type) -> Tensor:
    new = new_tensor(data._read())
    new.__class__ = cls
    alias = share(data)
    new._view = Alias(alias.cell, alias.chain, None)
    return new


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that becomes a parameter of the module it is assigned to.

    It shares the memory of `data` and requires a gradient by default.
    """

    __module__ = "torch.nn.parameter"

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            from . import empty
            data = empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(f"cannot create a Parameter from {type(data).__name__}; "
                            "expected a Tensor")
        new = _fresh(data, cls)
        new.requires_grad = bool(requires_grad)
        return new

    def __init__(self, data=None, requires_grad=True):
        pass

    def __deepcopy__(self, memo):
        """A parameter with a copy of the data; without the gradient, as PyTorch's."""
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]


class Buffer(Tensor):
    """A tensor that becomes a buffer of the module it is assigned to."""

    __module__ = "torch.nn.parameter"

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            from . import empty
            data = empty(0)
        new = _fresh(data, cls)
        new.persistent, new._is_buffer = persistent, True
        return new

    def __init__(self, data=None, *, persistent=True):
        pass


def _fresh(data: Tensor, cls: type) -> Tensor:
    """A tensor of this class with the data's memory: alone, if nobody else shares it."""
    return _sharing(data, cls)
