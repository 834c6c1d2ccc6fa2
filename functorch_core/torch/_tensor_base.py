"""The bare Tensor: a value, perhaps shared through a view, perhaps with an edge to the tape.

What users see (methods, operators, indexing, printing) is attached by `_tensor` and by the
declarations of the ops; this module knows nothing of them.
"""

from __future__ import annotations

from ..engine import Value
from ..engine.value import to_numpy

_new = object.__new__
meets_meta = False  # set when a tensor is put on the meta device for the first time; see `_meta`
births = 0  # while func transforms compute: the mark of new tensors; see `_captured`


# Attributes of instances that are no business of users.
OWN_STATE = frozenset(
    {
        "_value",
        "_ge",
        "_view",
        "_level",
        "_own_version",
        "_grad",
        "_strides",
        "_born",
        "_hooks",
        "_retains_grad",
        "_is_inference",
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


class _UserAttributes(dict):
    """What users have set on a tensor; what is written to it is set on the tensor."""

    def __init__(self, attributes: dict):
        super().__init__({k: v for k, v in attributes.items() if k not in OWN_STATE})
        self._attributes = attributes

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
    """A multi-dimensional array of elements of one dtype, as torch.Tensor."""

    # Defaults of the instance attributes: a fresh result sets only `_value` (and `_ge`).
    _value: Value
    _ge: tuple | None = None  # (node, output index) if it requires grad: the edge to the tape
    _view = None  # how it shares memory with others: a `_views.Alias`
    _level = None  # set while it is a wrapper inside a func transform
    _own_version = 0
    _grad = None
    _strides = None  # strides other than contiguous ones, of a tensor that is no view
    _is_inference = False
    _retains_grad = False
    _hooks = None
    _born = 0
    __module__ = "torch"

    @property
    def __dict__(self):
        return _UserAttributes(_dict_of(self))

    @__dict__.setter
    def __dict__(self, attributes: dict):
        mine = _UserAttributes(_dict_of(self))
        mine.clear()
        mine.update(attributes)

    def _read(self) -> Value:
        """The current value; a view whose base has changed is derived anew."""
        return self._value if self._view is None else self._view.read(self)

    @property
    def _version(self) -> int:
        if self._is_inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        if self._view is None:
            return self._own_version
        return self._view.cell.version - self._view.cell.unseen + self._view.earlier

    def _array(self):
        """The data as a read-only NumPy array."""
        return to_numpy(self._read())


def new_tensor(value: Value, edge: tuple | None = None) -> Tensor:
    """A tensor around a value."""
    tensor = _new(Tensor)
    tensor._value = value
    if edge is not None:
        tensor._ge = edge
    if births:
        tensor._born = births
    return tensor
