"""nn.Parameter and nn.Buffer: tensors that a module registers."""

from __future__ import annotations

from ..tape.accumulate import AccumulateGrad
from ..tape.modes import state
from ..tensors import types as _types
from ..tensors.active import active
from ..tensors.base import Tensor, new_tensor, of_class
from ..views.cells import Alias, share

NOT_FLOATING = "Only Tensors of floating point and complex dtype can require gradients"
LOST_CLASS = (
    "Creating a Parameter from an instance of type {old} requires that detach() returns an "
    "instance of the same type, but return type {new} was found instead. To use the type "
    "as a Parameter, please correct the detach() semantics defined by its "
    "__torch_dispatch__() implementation."
)


class _ParameterMeta(type(Tensor)):
    """isinstance(x, Parameter) also for tensors marked as parameters."""

    def __instancecheck__(cls, instance):
        return type.__instancecheck__(cls, instance) or (
            cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False)
        )


class _BufferMeta(type(Tensor)):
    """isinstance(x, Buffer) for tensors marked as buffers; none has the class itself."""

    def __instancecheck__(cls, instance):
        if cls is not Buffer:
            return type.__instancecheck__(cls, instance)
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


def _sharing(data: Tensor, cls: type) -> Tensor:
    if active.observer is not None:
        active.observer.mentions("aten::detach", data)
    new = of_class(new_tensor(data._read()), cls)
    alias = share(data)
    new._view = Alias(alias.cell, alias.chain, None)
    if data._is_inference:
        new._is_inference = True
    return new


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that becomes a parameter of the module it is assigned to.

    It shares the memory of `data` and requires a gradient by default. Of a tensor of another class
    that class is kept.

    >>> p = torch.nn.Parameter(torch.ones(2))
    >>> p
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __module__ = "torch.nn.parameter"

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = _types.named("empty")(0)
        if type(data) not in (Tensor, Parameter):
            return _marked(data, requires_grad, _is_param=True)
        if requires_grad and not (data.is_floating_point() or data.is_complex()):
            raise RuntimeError(NOT_FLOATING)
        if data._level is not None:  # one example of a batch, or a primal: of the same level, and a leaf of no tape
            return of_class(data.detach(), cls)
        new = _sharing(data, cls)
        if state.transforms:  # where requires_grad_() is refused
            new._ge = (AccumulateGrad(new), 0) if requires_grad else None
        else:
            new.requires_grad = bool(requires_grad)
        return new

    def __init__(self, *args, **kwargs):  # a subclass's `__new__` may take others
        pass

    def __deepcopy__(self, memo):
        """A parameter with a copy of the data; without the gradient, as PyTorch's."""
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that becomes a buffer of the module it is assigned to.

    What comes is a tensor of the data's class, which shares its memory and is marked as a buffer.

    >>> m = torch.nn.Module()
    >>> m.scale = torch.nn.Buffer(torch.ones(2), persistent=False)
    >>> list(m.state_dict()), m.scale
    ([], tensor([1., 1.]))
    """

    __module__ = "torch.nn.parameter"

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = _types.named("empty")(0)
        return _marked(
            data, data.requires_grad if isinstance(data, Tensor) else False, persistent=persistent, _is_buffer=True
        )

    def __init__(self, *args, **kwargs):
        pass


def _marked(data: Tensor, requires_grad: bool, **marks) -> Tensor:
    """A tensor of the data's class with its memory, and attributes that say what it is."""
    new = data.detach().requires_grad_(requires_grad)
    if type(new) is not type(data):
        raise RuntimeError(LOST_CLASS.format(new=type(new).__name__, old=type(data).__name__))
    for name, value in marks.items():
        setattr(new, name, value)
    return new
