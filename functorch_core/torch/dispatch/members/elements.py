"""The elements of a tensor as Python and NumPy see them: conversions, iteration, printing."""

from __future__ import annotations

import numpy as np

from ....core.trace import Traced
from ....core.warn import warn_once
from ....engine.cost import NUMPY_DIMS
from ....engine.value import NoData, Value, to_numpy
from ...levels import levels as _levels
from ...tape.meta import NO_ITEM, NO_NUMPY, is_meta
from ...tape.modes import state
from ...tensors import printing as _printing
from ...tensors import types as _types
from ...tensors.active import active
from ...tensors.base import Tensor
from ...tensors.explain import explain
from ...tensors.types import scalar_name
from ...views.at_hand import element_at_hand, part_at_hand
from ...views.bits import bits_of
from ...views.memory_order import in_memory_order
from ...views.shared import array_of_tensor
from ..parameter import Buffer, Parameter

SCALAR = (
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
    "Consider using tensor.detach() first."
)


class Elements:
    """item(), numpy(), float(x), len(x), repr(x) and their kin."""

    # ---- as Python's and NumPy's objects

    def item(self):
        """The only element as a Python number.

        >>> torch.tensor([2.5]).item()
        2.5
        """
        if self._level is None and self._value.aval.size != 1:
            raise explain(RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar"))
        try:
            if self._level is not None:
                return _levels.concrete(self, "item()").item()
            if self._view is None:
                return to_numpy(self._value).item()
            found = element_at_hand(self)
            return to_numpy(self._read()).item() if found is None else found
        except NoData:
            raise RuntimeError(NO_ITEM) from None
        except ValueError:  # of more dimensions than an array has
            if self.ndim > NUMPY_DIMS:
                return self.reshape(-1).item()
            raise

    def tolist(self):
        """Nested lists of Python numbers.

        >>> torch.tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
        """
        if self.ndim > NUMPY_DIMS:
            return [x.tolist() for x in self.unbind()]
        array = _looked_at(self, "tolist()")
        return array.astype(np.float64).tolist() if array.dtype.kind == "V" else array.tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The data as a NumPy array in the tensor's memory: a write on either side is seen on the other.

        >>> torch.tensor([1., 2.]).numpy().tolist()
        [1.0, 2.0]
        """
        view = self._view
        if view is not None and view.cell.shared and view.base is None and self._ge is None and self._level is None:
            if self._value.aval.dtype.isbuiltin == 1 and not force:  # the way again and again, 0.3 us quicker
                return array_of_tensor(self)
        if self.requires_grad and state.enabled and not force:
            raise explain(
                RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
            )
        if force and view is not None and any(bits_of(self)):
            return np.array(_concrete(self, "numpy()"))
        if self.dtype.numpy.isbuiltin != 1:
            raise TypeError(f"Got unsupported ScalarType {scalar_name(self.dtype.numpy)}")
        if is_meta(self):
            raise TypeError(NO_NUMPY)
        if self.is_cuda and not force:
            raise TypeError(NO_NUMPY.replace("meta", str(self.device)))
        if self._level is not None or not self.is_cpu:
            return in_memory_order(_concrete(self, "numpy()"), self)
        return array_of_tensor(self)

    __array_priority__ = 1000

    def __array__(self, dtype=None, copy=None):
        if not copy and self._aval.dtype.isbuiltin == 1:
            array = self.numpy()
            return array if dtype is None else array.astype(dtype, copy=False)
        array = self.numpy() if self.requires_grad or is_meta(self) or self.is_cuda else _concrete(self, "np.asarray")
        return np.array(array, dtype)

    def _array(self) -> np.ndarray:
        """The data as a read-only NumPy array."""
        return _concrete(self, "its data")

    def _array_now(self) -> np.ndarray:
        """The same for who looks at it at once: of memory that others write to, the memory itself."""
        if self._view is not None and self._view.cell.shared:
            return self._view.cell.memory.shown(self._view, self._value.aval.dtype)
        return self._array()

    # ---- one number

    def __bool__(self) -> bool:
        if self._level is None and self._view is None and self._value.aval.size == 1:  # most that are asked
            return bool(self.item())
        if self.numel() == 0:
            raise explain(RuntimeError("Boolean value of Tensor with no values is ambiguous"))
        if self.numel() > 1:
            raise explain(RuntimeError("Boolean value of Tensor with more than one value is ambiguous"))
        return bool(self.reshape(()).item() if is_meta(self) else _looked_at(self, "bool").reshape(()).item())

    def __index__(self) -> int:
        if self.numel() != 1 or self.is_floating_point() or self.is_complex():
            raise explain(TypeError("only integer tensors of a single element can be converted to an index"))
        return int(self.item())

    def __float__(self) -> float:
        if self._ge is not None and state.enabled:
            warn_once(SCALAR)
        return float(_real(self, "double"))

    def __int__(self) -> int:
        return int(_real(self, "int64_t"))

    def __complex__(self) -> complex:
        if self._ge is not None and state.enabled:
            warn_once(SCALAR)
        return complex(_only(self))

    # ---- a sequence of rows

    def __len__(self) -> int:
        shape = self._value.aval.shape if self.__class__ is Tensor and self._level is None else self.shape
        if not shape:
            raise explain(TypeError("len() of a 0-d tensor"))
        return shape[0]

    def __iter__(self):
        if not self.dim():
            raise explain(TypeError("iteration over a 0-d tensor"))
        return iter(self.unbind(0))

    def __contains__(self, element) -> bool:
        if isinstance(element, (Tensor, int, float, bool, complex, np.generic)):
            return bool((element == self).any().item())
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    def __reversed__(self):
        return self.flip(0) if self.ndim else self

    # ---- text

    def _name_of_history(self) -> str | None:
        try:
            node = self.grad_fn if self._ge is not None else None
        except RuntimeError:  # of a view whose memory has been written to where the tape was off
            return "Invalid"
        return None if node is None else type(node).__name__

    def __repr__(self, *, tensor_contents=None) -> str:
        if self._level is not None:
            return _levels.describe(self)
        if self._read().__class__ is Traced:
            return f"tensor({self._value})"
        if active.distributed is not None and active.distributed.is_one(self):
            return active.distributed.describe(self)
        if tensor_contents is not None or self._device is not None:
            return self._described(tensor_contents)
        place = self.device
        return _printing.format_tensor(
            None if is_meta(self) else _concrete(self, "repr"),
            dtype_name=repr(self.dtype),
            default_dtype_name=repr(_types.defaults.dtype),
            requires_grad=self.requires_grad,
            grad_fn_name=self._name_of_history(),
            device=None if place.type == "cpu" else str(place),
            tensor_class="tensor" if type(self) in PLAIN else type(self).__name__,
            is_parameter=isinstance(self, Parameter),
            has_parameter_header=Parameter in type(self).__mro__,
            size=self.shape,
        )

    def _described(self, contents: str | None) -> str:
        """What is printed of a wrapper, and of a class that tells its contents."""
        history = f", grad_fn=<{self._name_of_history()}>" if not self.is_leaf else ""
        history = history or (", requires_grad=True" if self.requires_grad else "")
        contents = "..." if contents is None else contents
        device = "" if self.device.type == "cpu" else f", device='{self.device}'"
        shown = f"{type(self).__name__}({contents}{device}{history})"
        return f"Parameter({shown})" if isinstance(self, Parameter) else shown

    def __format__(self, spec: str) -> str:
        if self.ndim == 0 and self._level is None and self._value.__class__ is Value and not is_meta(self):
            return self.item().__format__(spec)
        return object.__format__(self, spec)

    def __hash__(self) -> int:
        return id(self)  # not object's, which is another number: sets of tensors are in PyTorch's order


PLAIN = Tensor, Parameter, Buffer  # that are called "tensor" when they are printed


def item_by_item(tensor: Tensor) -> np.ndarray:
    """The elements of a wrapper, which its class alone can tell."""
    flat = tensor.detach().reshape(-1)
    return np.array([flat[i].item() for i in range(tensor.numel())], tensor._aval.dtype).reshape(tuple(tensor.shape))


def _concrete(tensor: Tensor, what: str) -> np.ndarray:
    return to_numpy(tensor._read()) if tensor._level is None else _levels.concrete(tensor, what)


def _looked_at(tensor: Tensor, what: str) -> np.ndarray:
    """The same for who keeps no part of it."""
    if tensor._level is None and tensor._view is None:
        return to_numpy(tensor._value)
    found = part_at_hand(tensor) if tensor._level is None else None
    return _concrete(tensor, what) if found is None else found


def _real(tensor: Tensor, kind: str):
    number = _only(tensor)
    if isinstance(number, complex):
        if number.imag:
            raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
        return number.real
    return number


def _only(tensor: Tensor):
    if tensor.numel() != 1:
        raise explain(ValueError("only one element tensors can be converted to Python scalars"))
    return tensor.item()
