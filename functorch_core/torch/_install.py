"""From the declarations of the ops to the torch namespace and the methods of Tensor."""

from __future__ import annotations

from collections.abc import Callable

from ..engine.recorder import record, record_pair
from ..ops.op import LITERALS, fits
from . import _apply, _op
from ._apply import apply_pair, apply_to
from ._inplace import inplace
from ._op import TorchOp, registry
from ._parameter import Parameter
from ._tensor_base import Tensor
from .autograd.modes import state as modes

_new = object.__new__


def install(namespace: dict):
    """Put every declared op's forms into the torch namespace and on Tensor."""
    for op in registry.values():
        for name in (op.name, *op.forms["aliases"]):
            _install_as(op, name, namespace)
        for name in op.forms["dunder"]:
            setattr(Tensor, f"__{name}__", _operator(op, reflected=name in REFLECTED))
        if op.forms["inplace"]:
            for name in op.forms["dunder"]:
                if name not in REFLECTED and name not in UNARY:
                    setattr(Tensor, f"__i{name}__", _inplace_operator(op))


REFLECTED = frozenset(
    {
        "radd",
        "rsub",
        "rmul",
        "rtruediv",
        "rfloordiv",
        "rmod",
        "rpow",
        "rmatmul",
        "rand",
        "ror",
        "rxor",
        "rlshift",
        "rrshift",
    }
)
UNARY = frozenset({"neg", "abs", "invert", "pos", "eq", "ne", "lt", "le", "gt", "ge"})


def _install_as(op: TorchOp, name: str, namespace: dict):
    forms = op.forms
    if forms["function"]:
        namespace.setdefault(name, op)
    if forms["method"] and name not in Tensor.__dict__:
        setattr(Tensor, name, _method(op, name))
    if forms["inplace"]:
        method = _inplace_method(op, f"{name}_")
        setattr(Tensor, f"{name}_", method)
        if forms["function"]:
            namespace.setdefault(f"{name}_", _as_function(method, f"{name}_"))


def _method(op: TorchOp, name: str) -> Callable:
    call = op.call

    def method(*args, **kwargs):  # all of them as one tuple: 0.1 us less
        asked = _op.overrides
        if asked is not None and asked.applies(method, args, kwargs):
            return asked.handle(method, args, kwargs)
        return call(args, kwargs)

    return _named(method, op, name)


def _inplace_method(op: TorchOp, name: str) -> Callable:
    def method(self, *args, **kwargs):
        asked = _op.overrides
        if asked is not None and asked.applies(method, (self, *args), kwargs):
            return asked.handle(method, (self, *args), kwargs)
        return inplace(op, self, args, kwargs)

    return _named(method, op, name)


def _as_function(method: Callable, name: str) -> Callable:
    def function(input, *args, **kwargs):
        return method(input, *args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = method.__doc__
    return function


def _named(method: Callable, op: TorchOp, name: str) -> Callable:
    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = op.__doc__
    return method


NUMBERS = (int, float, bool, complex)


def _operator(op: TorchOp, reflected: bool) -> Callable:
    """A dunder; NotImplemented for operands that are neither tensors nor numbers."""
    if len(op.parameters) == 1:
        return lambda self: op(self) if _op.overrides is None else getattr(Tensor, op.name)(self)
    if not isinstance(op, TorchOp) or reflected:
        return _slow_operator(op, reflected)
    slow, pairs, taped_pairs = _slow_operator(op, False), op.pairs, op.taped_pairs
    numbers = op.numbers

    def operator(self, other):
        # The hot path: two plain tensors whose avals were seen before.
        if (
            other.__class__ in PLAIN
            and self._level is None
            and other._level is None
            and (_op.overrides is None and _op.autocast is None)
        ):
            x = self._value if self._view is None else self._view.read_unless_permuted(self)
            y = other._value if other._view is None else other._view.read_unless_permuted(other)
            if x is None or y is None:
                return slow(self, other)
            on_tape, other_on_tape = self._ge is not None, other._ge is not None
            if not ((on_tape or other_on_tape) and modes.enabled):
                found = pairs.get((x.aval, y.aval))
                if found is not None and not (_apply.marks_inference or _apply.marks_births):
                    tensor = _new(Tensor)
                    tensor._value = record_pair(found.unit, x, y)
                    return tensor
            elif not (modes.watched or _apply.marks_inference):
                found, how = taped_pairs.get((x.aval, y.aval, on_tape, other_on_tape), NOTHING)
                if how is not None:
                    return apply_pair(found, how, self, other, x, y)
        elif (
            other.__class__ in SCALARS
            and self._level is None
            and not (_apply.marks_inference or _apply.marks_births)
            and (_op.overrides is None and _op.autocast is None)
        ):
            x = self._value if self._view is None else self._view.read_unless_permuted(self)
            if x is None:
                return slow(self, other)
            cls = other.__class__
            packed = other not in LITERALS and other != 0 and (cls is float or fits(other))
            found = numbers.get((x.aval, cls) if packed else (x.aval, cls, other))
            if found is not None:
                if self._ge is not None and modes.enabled:
                    return (
                        apply_to(found, (self, other), (x, other), (True, False))
                        if packed
                        else apply_to(found, (self,), (x,), (True,))
                    )
                tensor = _new(Tensor)
                tensor._value = record(found.unit, (x, other) if packed else (x,), 2)
                return tensor
        return slow(self, other)

    return operator


SCALARS = frozenset({float, int})
NOTHING = None, None
PLAIN = frozenset({Tensor, Parameter})


COMMUTATIVE = frozenset({"add", "bitwise_and", "bitwise_or", "bitwise_xor", "mul"})


def _slow_operator(op, reflected: bool) -> Callable:
    def operator(self, other):
        if not isinstance(self, Tensor):
            raise TypeError(
                f"descriptor of {op.name} for 'torch._C.TensorBase' objects doesn't "
                f"apply to a '{type(self).__name__}' object"
            )
        if not isinstance(other, (Tensor, *NUMBERS)) and not (
            hasattr(other, "__array__") or hasattr(other, "__torch_function__")
        ):
            return NotImplemented
        other = _operand(other)
        if _op.overrides is not None and (not reflected or op.name in COMMUTATIVE):
            return getattr(Tensor, op.name, op)(self, other)  # they are told of the method
        return op(other, self) if reflected else op(self, other)

    return operator


def _operand(other):
    if isinstance(other, (Tensor, *NUMBERS)) or hasattr(other, "__torch_function__"):
        return other
    import numpy as np

    if isinstance(other, np.generic):
        return other.item()
    from . import as_tensor

    return as_tensor(other)


def _inplace_operator(op: TorchOp) -> Callable:
    def operator(self, other):
        if not isinstance(other, (Tensor, *NUMBERS)) and not hasattr(other, "__array__"):
            return NotImplemented
        if _op.overrides is not None:
            return getattr(Tensor, f"{op.name}_")(self, _operand(other))
        return inplace(op, self, (_operand(other),), {})

    return operator
