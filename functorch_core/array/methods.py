"""What Arrays can do by operators and methods: the functions of the namespace, attached."""

from __future__ import annotations

import numpy as np

from ..core.explain import as_index, as_method, explained, explaining, shown
from ..engine import to_numpy
from ..ops import elementwise as el
from ..ops import linear_algebra as la
from . import namespace as fc
from .array import Array, concrete_value
from .display import repr_html
from .expose import binary_operator, is_operand, method, unary_operator
from .indexing import At, getitem

ASSIGNMENT = """fc.Array is immutable: x[{index}] = y is not possible.
    wrong: x[i] = y                right: x = x.at[i].set(y)
    wrong: x[i] += y               right: x = x.at[i].add(y)"""

# ---- operators -----------------------------------------------------------------------------------

OPERATORS = {
    "add": (el.add, "+"),
    "sub": (el.subtract, "-"),
    "mul": (el.multiply, "*"),
    "truediv": (el.divide, "/"),
    "floordiv": (el.floor_divide, "//"),
    "mod": (el.remainder, "%"),
    "pow": (el.pow, "**"),
    "matmul": (la.matmul, "@"),
    "and": (el.bitwise_and, "&"),
    "or": (el.bitwise_or, "|"),
    "xor": (el.bitwise_xor, "^"),
    "lshift": (el.bitwise_left_shift, "<<"),
    "rshift": (el.bitwise_right_shift, ">>"),
}
COMPARISONS = {
    "eq": (el.equal, "=="),
    "ne": (el.not_equal, "!="),
    "lt": (el.less, "<"),
    "le": (el.less_equal, "<="),
    "gt": (el.greater, ">"),
    "ge": (el.greater_equal, ">="),
}
UNARY = {
    "neg": (el.negative, "-"),
    "pos": (el.positive, "+"),
    "abs": (el.abs, "abs "),
    "invert": (el.bitwise_invert, "~"),
}


def _attach_operators():
    for name, (operation, symbol) in OPERATORS.items():
        setattr(Array, f"__{name}__", binary_operator(operation, symbol))
        setattr(Array, f"__r{name}__", binary_operator(operation, symbol, reflected=True))
    for name, (operation, symbol) in COMPARISONS.items():
        setattr(Array, f"__{name}__", binary_operator(operation, symbol))
    for name, (operation, symbol) in UNARY.items():
        setattr(Array, f"__{name}__", unary_operator(operation, symbol))


def _divmod(self, other):
    return (self // other, self % other) if is_operand(other) else NotImplemented


def _rdivmod(self, other):
    return (other // self, other % self) if is_operand(other) else NotImplemented


def _round(self, ndigits=None):
    return fc.round(self, decimals=ndigits or 0)


def _setitem(self, index, value):
    error = TypeError(ASSIGNMENT.format(index=f"{index!r:.40}"))
    raise explained(error, lambda: f"{as_index(self, index)} = {shown(value)}")


def _format(self, spec):
    if not spec:
        return str(self)
    return format(to_numpy(concrete_value(self, "format()")).item() if self.size == 1 else np.asarray(self), spec)


def _contains(self, value):
    return bool(fc.any(self == value))


_attach_operators()
Array.__divmod__, Array.__rdivmod__ = _divmod, _rdivmod
Array.__round__ = _round
Array.__format__ = _format
Array.__getitem__ = getitem
Array.__setitem__ = _setitem
Array.__contains__ = _contains
Array._repr_html_ = repr_html

# ---- methods -------------------------------------------------------------------------------------


def _reshape(self, *shape):
    """See fc.reshape; x.reshape(2, -1) is x.reshape((2, -1))."""
    return fc.reshape(self, shape[0] if len(shape) == 1 else shape)


def _transpose(self, *axes):
    """See fc.permute_dims; without axes they are reversed."""
    if not axes or axes == (None,):
        return fc.transpose(self)
    return fc.permute_dims(self, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes)


def _clip(self, min=None, max=None):
    """See fc.clip."""
    return fc.clip(self, min, max)


def _copy(self):
    """The array itself: Arrays are immutable."""
    return self


def _sort(self, axis=-1, *, descending=False, stable=True):
    """See fc.sort; a new array."""
    return fc.sort(self, axis=axis, descending=descending, stable=stable)


def _argsort(self, axis=-1, *, descending=False, stable=True):
    """See fc.argsort."""
    return fc.argsort(self, axis=axis, descending=descending, stable=stable)


def _to_device(self, device, /, *, stream=None):
    """The array on another device."""
    from .creation import on_device

    return on_device(self, device)


def _repeat(self, repeats, axis=None, *, total_repeat_length=None):
    """See fc.repeat."""
    return fc.repeat(self, repeats, axis=axis, total_repeat_length=total_repeat_length)


def _take(self, indices, axis=None, *, mode=None, fill_value=None):
    """See fc.take."""
    return fc.take(self, indices, axis=axis, mode=mode, fill_value=fill_value)


def _array_namespace(self, /, *, api_version=None):
    """The module `functorch_core`, which implements the Python Array API standard 2024.12."""
    import functorch_core

    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"the Array API version {api_version!r} is not known, 2024.12 is")
    return functorch_core


METHODS = {
    "all": fc.all,
    "any": fc.any,
    "argmax": fc.argmax,
    "argmin": fc.argmin,
    "argsort": _argsort,
    "astype": fc.astype,
    "clip": _clip,
    "conj": fc.conj,
    "conjugate": fc.conj,
    "copy": _copy,
    "cumprod": fc.cumprod,
    "cumsum": fc.cumsum,
    "dot": fc.dot,
    "flatten": fc.ravel,
    "max": fc.max,
    "mean": fc.mean,
    "min": fc.min,
    "nonzero": fc.nonzero,
    "prod": fc.prod,
    "ptp": fc.ptp,
    "ravel": fc.ravel,
    "repeat": _repeat,
    "reshape": _reshape,
    "round": _round,
    "sort": _sort,
    "squeeze": fc.squeeze,
    "std": fc.std,
    "sum": fc.sum,
    "swapaxes": fc.swapaxes,
    "take": _take,
    "to_device": _to_device,
    "transpose": _transpose,
    "var": fc.var,
    "view": fc.view_as,
    "__array_namespace__": _array_namespace,
}
PROPERTIES = {
    "T": (fc.transpose, "The dimensions in reverse order."),
    "mT": (fc.matrix_transpose, "The matrices, the last two dimensions, transposed."),
    "real": (fc.real, "The real part."),
    "imag": (fc.imag, "The imaginary part."),
    "at": (At, "Updates by index, x.at[i].set(y): see At."),
}

for _name, _function in METHODS.items():
    setattr(
        Array,
        _name,
        method(_function, _name) if hasattr(_function, "_operation") else explaining(_function, _name, as_method),
    )
for _name, (_function, _doc) in PROPERTIES.items():
    setattr(Array, _name, property(_function, doc=_doc))
