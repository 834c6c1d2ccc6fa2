"""What a call is traced for: what of its arguments is part of the signature, and what is an operand.

One rule for everything that traces a function once for each signature: operations of the functional
face, ops of the PyTorch face and their forms for lists, update rules of optimizers.

    an array          its aval is part of the signature, its data are an operand
    a Python number   *packed*: an operand, of which the signature knows the class, so that a changing
                      one (a learning rate) compiles nothing; a *literal* is written into the graph,
                      where it simplifies: 0, 1, -1, 2, a half, and what 64 bits do not hold
    a list, a dict    its elements
    anything else     static: part of the signature, hashable

What `describe` finds in an argument, `placeholder` makes again in the trace.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from ..core import dtypes as dt
from ..core.aval import Aval
from ..core.graph import Graph, simplified
from ..core.trace import Builder, Traced
from ..engine.units import SCALAR_AVALS

SCALARS = (bool, int, float, complex)
LITERALS = frozenset({-1, 1, 2, 0.5, -1.0})


class Weak:
    """A Python number that is an input of the graph: it takes the dtype of what it meets."""

    __slots__ = ("kind", "value")

    def __init__(self, value: Traced, kind: type):
        self.value, self.kind = value, kind

    @property
    def aval(self) -> Aval:
        """What it is where it meets nothing: the default dtype of its kind."""
        return self.value.aval.with_dtype(dt.canonical(self.kind))


class Packed:
    """A Python int that is an input of the graph, a 0-d int64, even where it is 0 or 1."""

    __slots__ = ("value",)

    def __init__(self, value: int):
        self.value = value


# ---- numbers -------------------------------------------------------------------------------------


def fits(x) -> bool:
    """Whether a Python number can be packed: ints within 64 bits."""
    return x.__class__ is float or -(2**63) <= x < 2**63


def is_literal_zero(x) -> bool:
    """Whether x is 0 or 0.0, not -0.0."""
    return x == 0 and math.copysign(1, x) > 0


def is_packed(x) -> bool:
    """Whether an argument is a Python number that is an input of the graph, not written into it."""
    cls = x.__class__
    return (cls is float or cls is int) and x not in LITERALS and not is_literal_zero(x) and fits(x)


def literal_key(x) -> tuple:
    """The part of a signature that a number written into the graph is: 0.0 and -0.0 are two."""
    return x.__class__, x, math.copysign(1, x) if x.__class__ is float else 0


def number_key(x, operands: list):
    """A number's part of a signature; a packed one is appended to `operands`."""
    if is_packed(x):
        operands.append(x)
        return x.__class__
    return literal_key(x)


def number_placeholder(builder: Builder, x):
    """What stands for a number in the trace: an input, or itself."""
    return weak_input(builder, x.__class__) if is_packed(x) else x


def weak_input(builder: Builder, kind: type) -> Weak:
    """An input of the graph that is a Python number of this class."""
    return Weak(builder.input(SCALAR_AVALS[kind]), kind)


# ---- arguments -----------------------------------------------------------------------------------


def describe(x, operands: list, aval_of: Callable[[Any], Aval | None]):
    """An argument's part of a signature; what varies in it is appended to `operands`.

    `aval_of` says the aval of an array, and None of anything else.
    """
    found = aval_of(x)
    if found is not None:
        operands.append(x)
        return found
    cls = x.__class__
    if cls is list or cls is tuple:
        return _describe_all(x, operands, aval_of)
    if cls is dict:
        return tuple(x), _describe_all(x.values(), operands, aval_of)
    return number_key(x, operands) if cls is float or cls is int else (cls, x)


def _describe_all(xs: Iterable, operands: list, aval_of: Callable[[Any], Aval | None]) -> tuple:
    key = []
    for x in xs:
        found = aval_of(x)
        if found is None:
            found = describe(x, operands, aval_of)
        else:
            operands.append(x)
        key.append(found)
    return tuple(key)


def placeholder(builder: Builder, x, aval_of: Callable[[Any], Aval | None]):
    """What stands for an argument in the trace: inputs in the order of `describe`'s operands."""
    found = aval_of(x)
    if found is not None:
        return builder.input(found)
    cls = x.__class__
    if cls is list or cls is tuple:
        return [placeholder(builder, y, aval_of) for y in x]
    if cls is dict:
        return {k: placeholder(builder, y, aval_of) for k, y in x.items()}
    return number_placeholder(builder, x)


def freeze(x):
    """Lists as tuples, so that a static argument can be a key."""
    return tuple(freeze(y) for y in x) if isinstance(x, (list, tuple)) else x


def trace_body(name: str, body: Callable[[Builder], Any]) -> tuple[Graph, bool]:
    """The graph of body(builder), which makes its own inputs, and whether it has several results."""
    builder = Builder(name)
    with builder:
        out = body(builder)
        multiple = isinstance(out, (list, tuple))
        return simplified(builder.finish(out if multiple else [out])), multiple
