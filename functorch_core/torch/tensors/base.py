"""The bare Tensor: a value, perhaps shared through a view, perhaps with an edge to the tape.

It stands here so that every room can make tensors. What users see of it (methods, operators, indexing,
printing) is put together in `operators/tensor_class.py`; this module knows nothing of that.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import get_type_hints

import numpy as np

from ...engine import Value, from_numpy
from ...engine.value import settle
from .active import active

_new = object.__new__


# Attributes of instances that are no business of users.
OWN_STATE = frozenset(
    {
        "_value",
        "_ge",
        "_sink",
        "_view",
        "_level",
        "_own_version",
        "_grad",
        "_strides",
        "_born",
        "_hooks",
        "_retains_grad",
        "_is_inference",
        "_device",
        "_ragged_by",  # of offsets: what nested tensors know of them
    }
)


class _Instance:
    """Has the dict of a tensor's attributes, which Tensor.__dict__ shows a part of."""


def all_attributes(tensor) -> dict:
    """The attributes of a tensor, its own among them."""
    return _dict_of(tensor)


_dict_of, _set_dict = (getattr(_Instance.__dict__["__dict__"], name) for name in ("__get__", "__set__"))


def swap_attributes(a, b):
    """Let two tensors have each other's attributes."""
    of_a, of_b = _dict_of(a), _dict_of(b)
    _set_dict(a, of_b)
    _set_dict(b, of_a)


class UserAttributes(dict):
    """What users have set on a tensor; what is written to it is set on the tensor."""

    def __init__(self, attributes: dict):
        super().__init__({k: v for k, v in attributes.items() if k not in OWN_STATE})
        self._attributes = attributes

    def __reduce_ex__(self, protocol):
        return dict, (), None, None, iter(self.items())  # what a pickle of it is: a dict

    def __setitem__(self, name, value):
        super().__setitem__(name, value)
        self._attributes[name] = value

    def __delitem__(self, name):
        super().__delitem__(name)
        del self._attributes[name]

    def update(self, *args, **kwargs):
        """Set attributes."""
        for name, value in dict(*args, **kwargs).items():
            self[name] = value

    def setdefault(self, name, default=None):
        """An attribute, set if it is not there."""
        if name not in self:
            self[name] = default
        return self[name]

    def pop(self, name, *default):
        """Delete an attribute and return it."""
        if name in self:
            del self._attributes[name]
        return super().pop(name, *default)

    def clear(self):
        """Delete all of them."""
        for name in list(self):
            del self[name]


class Tensor(_Instance):
    """A multi-dimensional array of elements of one dtype, as torch.Tensor.

    >>> x = torch.Tensor([[1, 2], [3, 4]])
    >>> x.dtype, x.shape, isinstance(x, torch.Tensor)
    (torch.float32, torch.Size([2, 2]), True)
    """

    # Defaults of the instance attributes: a fresh result sets only `_value` (and `_ge`).
    _value: Value
    _ge: tuple | None = None  # (node, output index) if it requires grad: the edge to the tape
    _sink: tuple | None = None  # of a frozen leaf, the edge that it had: graphs and hooks refer to it
    _view = None  # how it shares memory with others: a `_views.Alias`
    _level = None  # set while it is a wrapper inside a func transform
    _own_version = 0
    _grad = None
    _strides = None  # strides other than contiguous ones, of a tensor that is no view
    _is_inference = False
    _retains_grad = False
    _hooks = None
    _born = 0
    _device = None  # of a wrapper, whose class says by __torch_dispatch__ what it is made of
    __module__ = "torch"

    @property
    def __dict__(self):
        return UserAttributes(_dict_of(self))

    @__dict__.setter
    def __dict__(self, attributes: dict):
        mine = UserAttributes(_dict_of(self))
        mine.clear()
        mine.update(attributes)

    def _read(self) -> Value:
        """The current value; a view whose base has changed is derived anew."""
        return self._value if self._view is None else self._view.read(self)

    def _kept(self) -> Value:
        """The current value for who keeps it: it does not change when somebody writes to shared memory."""
        return settle(self._read())

    @property
    def _version(self) -> int:
        if self._is_inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        if self._view is None:
            level = self._level
            return self._own_version if level is None else level.version(self._own_version)
        return self._view.cell.version - self._view.cell.unseen + self._view.earlier


# Types, not their names, which programs that ask for the hints of a subclass evaluate elsewhere.
Tensor.__annotations__ = get_type_hints(Tensor, globals())

_UsersDict = type(  # before other bases of a tensor class: its `__dict__` has the user's attributes alone
    "_UsersDict", (), {"__dict__": Tensor.__dict__["__dict__"], "__module__": __name__}
)


def show_users_dict(cls: type):
    """Let instances of a class of tensors have Tensor's `__dict__`, though a base before Tensor has another."""
    shown = next(vars(c)["__dict__"] for c in cls.__mro__ if "__dict__" in vars(c))
    if shown is not Tensor.__dict__["__dict__"]:
        cls.__bases__ = (_UsersDict, *cls.__bases__)


def new_tensor(value: Value, edge: tuple | None = None) -> Tensor:
    """A tensor around a value."""
    tensor = _new(Tensor)
    tensor._value, tensor._ge, tensor._view = value, edge, None
    if active.births:
        tensor._born = active.births
    return tensor


def of_class(tensor: Tensor, cls: type) -> Tensor:
    """A new tensor as one of a class; another object where that has slots, for which an object has no place."""
    try:
        tensor.__class__ = cls
    except TypeError:
        made = _new(cls)
        _dict_of(made).update(_dict_of(tensor))
        return made
    return tensor


def from_array(array: np.ndarray, requires_grad: bool = False) -> Tensor:
    """A tensor of a host array that nobody else writes to."""
    tensor = new_tensor(from_numpy(array))
    if requires_grad:
        tensor.requires_grad = True
    return tensor


def wrap_dim(dim: int, ndim: int) -> int:
    """A non-negative dimension; IndexError with PyTorch's message."""
    if dim.__class__ is not int and (dim.__class__ is bool or not hasattr(dim, "__index__")):
        raise TypeError(f"argument 'dim' must be int, not {type(dim).__name__}")
    limit = max(ndim, 1)
    if not -limit <= dim < limit:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})")
    return dim % limit


# ---- putting the class together ------------------------------------------------------------------


def add_members(members: Mapping[str, object]):
    """Give Tensor members; TypeError for one that it has."""
    for name, member in members.items():
        if name in vars(Tensor):
            raise TypeError(f"Tensor.{name} is defined twice")
        setattr(Tensor, name, member)


def put_together(*subjects: type):
    """Give Tensor what stands in the bodies of these classes."""
    for subject in subjects:
        members = {name: member for name, member in vars(subject).items() if name not in OF_ANY_CLASS}
        for member in members.values():
            if isinstance(member, FunctionType):
                member.__qualname__ = member.__qualname__.replace(f"{subject.__qualname__}.", "Tensor.")
        add_members(members)


class _Empty:
    """What a class statement alone puts into a class: `__module__`, from Python 3.13 on `__firstlineno__`, ..."""


OF_ANY_CLASS = frozenset(vars(_Empty))
