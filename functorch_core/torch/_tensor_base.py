"""The bare Tensor: a value, perhaps shared through a view, perhaps with an edge to the tape.

What users see (methods, operators, indexing, printing) is attached by `_tensor` and by the
declarations of the ops; this module knows nothing of them.
"""
from __future__ import annotations

from ..engine import Value
from ..engine.value import to_numpy

_new = object.__new__
births = 0  # while func transforms compute: the mark of new tensors; see `_captured`


class Tensor:
    """A multi-dimensional array of elements of one dtype, as torch.Tensor."""

    # Defaults of the instance attributes: a fresh result sets only `_value` (and `_ge`).
    _value: Value
    _ge: tuple | None = None       # (node, output index) if it requires grad: the edge to the tape
    _view = None                   # how it shares memory with others: a `_views.Alias`
    _level = None                  # set while it is a wrapper inside a func transform
    _own_version = 0
    _grad = None
    _strides = None                # strides other than contiguous ones, of a tensor that is no view
    _is_inference = False
    _retains_grad = False
    _hooks = None
    _born = 0
    __module__ = "torch"

    def _read(self) -> Value:
        """The current value; a view whose base has changed is derived anew."""
        return self._value if self._view is None else self._view.read(self)

    @property
    def _version(self) -> int:
        if self._is_inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        if self._view is None:
            return self._own_version
        return self._view.cell.version - self._view.cell.unseen

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
