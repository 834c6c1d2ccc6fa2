"""How an operation is declared, and what happens when it is called.

    @op("fc", "Array", names="a")
    def ptp(x, /, axis=None, keepdims=False): ...

That is all: it is fc.ptp(a, axis=None, keepdims=False), and a method of Arrays. See op().

Positional-only parameters are arrays (or None, or a sequence of arrays); all others are static,
but for those named in `arrays=`, which follow the positional-only ones and may come by keyword.
Called outside of a trace, the function is traced once for each signature, and the result, one
unit however many primitives it has, is recorded. Inside a trace it simply runs.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence

import numpy as np

from ..core import dtypes as dt
from ..core.aval import aval_of
from ..core.graph import simplified
from ..core.trace import Builder, Traced, leaked
from ..core.trace import state as trace_state
from ..engine import Unit, Value, record
from ..engine.recorder import as_value
from ..engine.signatures import bounded, itself
from ..engine.units import SCALAR_AVALS
from ..primitives import constant, convert
from .places import declare
from .signature import SCALARS, Packed, Weak, freeze, literal_key, number_key, number_placeholder, trace_body

NOT_STATIC = """{name}: {static} are static parameters, plain Python values that can be dictionary keys.
    An array among them: take its number with .item(), or write the operation out."""


class Op:
    """A declared operation; call it with values, get values."""

    def __init__(
        self,
        fun: Callable,
        scalars: bool = False,
        name: str | None = None,
        arrays: tuple[str, ...] = (),
        static_ints: bool = False,
    ):
        self.fun, self.name, self.scalars = fun, name or fun.__name__, scalars
        self.static_ints = static_ints
        self.by_name: tuple[str, ...] = ()  # what arrays may be called; see declare
        self.__doc__, self.__wrapped__ = fun.__doc__, fun
        self.__signature__ = inspect.signature(fun)
        parameters = list(self.__signature__.parameters.values())
        bare = sum(p.kind is inspect.Parameter.POSITIONAL_ONLY for p in parameters)
        # name -> position and default of the arrays that may come by keyword
        self.by_keyword = {p.name: (i, p.default) for i, p in enumerate(parameters) if p.name in arrays}
        variadic = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
        self.n_arrays = sys.maxsize if variadic else bare + len(arrays)
        self.names = [p.name for p in parameters][bare + len(arrays) :]
        self.units: dict[tuple, Unit] = bounded({}, itself)

    def __repr__(self):
        return f"<op {self.name}{self.__signature__}>"

    def __call__(self, *args, **static):
        args, static = self.bind(args, static)
        if trace_state.builder is not None:
            return self.inline(args, static)
        return record(*self.resolve(args, static))

    def bind(self, args: tuple, static: dict) -> tuple[tuple, dict]:
        """The call's arguments as (arrays by position, the static ones by name)."""
        if len(args) > self.n_arrays:
            if len(args) - self.n_arrays > len(self.names):
                self.__signature__.bind(*args, **static)  # raises the TypeError Python would
            static = {**dict(zip(self.names, args[self.n_arrays :])), **static}
            args = args[: self.n_arrays]
        if self.by_keyword and not self.by_keyword.keys().isdisjoint(static):
            args, static = self._arrays_by_keyword(list(args), dict(static))
        return args, static

    def _arrays_by_keyword(self, args: list, static: dict) -> tuple[list, dict]:
        last = max(i for name, (i, _) in self.by_keyword.items() if name in static)
        for name, (position, default) in self.by_keyword.items():
            if position < len(args) and name in static:
                raise TypeError(f"{self.name}() got multiple values for argument {name!r}")
            if len(args) == position <= last:
                args.append(static.pop(name, default))
        return args, static

    def resolve(self, args: Sequence, static: dict) -> tuple[Unit, list]:
        """The unit of a call outside of traces, and its operands."""
        operands: list = []
        key = tuple([self._describe(x, operands) for x in args])
        if static:
            key = (key, *static.items())
        try:
            unit = self.units.get(key)
        except TypeError:  # a list among the static arguments
            static = {k: freeze(v) for k, v in static.items()}
            key = (key[0], *static.items())
            try:
                unit = self.units.get(key)
            except TypeError:
                raise TypeError(NOT_STATIC.format(name=self.name, static=static)) from None
        if unit is None:
            unit = self.units[key] = self._trace(args, static)
        return unit, operands

    def _describe(self, x, operands: list):
        """This argument's part of the signature; its data are appended to `operands`."""
        cls = x.__class__
        if cls is Value:
            operands.append(x)
            return x.aval
        if cls is float or cls is int:
            return number_key(x, operands) if self._packs(cls) else literal_key(x)
        if cls is list or cls is tuple:
            return tuple([self._describe(y, operands) for y in x])
        if x is None or isinstance(x, (bool, complex)):
            return cls, x
        if cls is Packed:
            operands.append(x.value)
            return cls
        if cls is Weak and x.value.__class__ is Traced and not x.value.builder.open:
            raise leaked(x.value)
        if isinstance(x, (np.ndarray, np.generic, Traced)):
            return self._describe(as_value(x), operands)  # raises for a traced value outside of its trace
        raise TypeError(
            f"{self.name} takes arrays and numbers, got {cls.__name__}; convert it first, for example with fc.asarray"
        )

    def _packs(self, cls: type) -> bool:
        """Whether Python numbers of this class may be inputs of the graph, and not constants in it."""
        return self.scalars and not (self.static_ints and cls is int)

    def inline(self, args, static):
        """Run the function in the active trace."""
        if not self.scalars:
            args = [lift(x) for x in args]
        elif not static and any([x.__class__ is Weak for x in args]) and all(map(is_number, args)):
            return self._inline_numbers(args)
        return self.fun(*args, **{k: freeze(v) for k, v in static.items()})

    def _inline_numbers(self, args):
        """Of numbers alone: computed as wide as Python would, and the result is weak again."""
        out = self.fun(*[x.value if x.__class__ is Weak else x for x in args])
        kind = WEAK_KINDS.get(out.aval.dtype) if isinstance(out, Traced) else None
        return Weak(convert(out, dtype=SCALAR_AVALS[kind].dtype), kind) if kind else out

    def _trace(self, args, static) -> Unit:
        graph, multiple = trace_body(
            self.name, lambda builder: self.fun(*[self._placeholder(builder, x) for x in args], **static)
        )
        return Unit(simplified(graph), self.name, multiple)

    def _placeholder(self, builder: Builder, x):
        cls = x.__class__
        if cls is Value:
            return builder.input(x.aval)
        if cls is Packed:
            return builder.input(SCALAR_AVALS[int])
        if cls is list or cls is tuple:
            return [self._placeholder(builder, y) for y in x]
        if isinstance(x, (np.ndarray, np.generic)):
            return builder.input(aval_of(x))
        if cls in SCALAR_AVALS and self._packs(cls):
            return number_placeholder(builder, x)
        return lift(x) if isinstance(x, SCALARS) and not self.scalars else x


def op(
    *places, names: str = "", scalars: bool = False, arrays: tuple[str, ...] = (), static_ints: bool = False
) -> Callable[[Callable], Op]:
    """Declare an operation, which is then at its `places`.

    A place is a namespace ("fc", "fc.linalg"), "Array" for a method, another name in one of them
    ("fc as swish"), or an operator ("x + y"). `names`: those by which a user may pass the positional-only
    parameters, as JAX has them; none, as the Array API has it, by default.
    `scalars`: the function takes Python numbers as they are (promote()).
    `arrays`: the parameters right behind the positional-only ones that are arrays, too.
    `static_ints`: Python ints among the operands are constants of the graph (exponents).
    """
    if places and callable(places[0]):  # @op, of what is a part of others
        return op()(places[0])
    return lambda fun: declare(Op(fun, scalars, arrays=arrays, static_ints=static_ints), fun.__name__, places, names)


WEAK_KINDS = {dt.int64: int, dt.float64: float, dt.float32: float}  # of what numbers compute


def is_number(x) -> bool:
    """Whether x is a Python number, weak or itself."""
    return x.__class__ is Weak or isinstance(x, SCALARS)


def strong(x):
    """A weak number as a value of its default dtype; anything else as it is."""
    return convert(x.value, dtype=x.aval.dtype) if x.__class__ is Weak else x


def lift(x):
    """Python numbers and NumPy arrays as values of the active trace; anything else as it is."""
    if x.__class__ is Weak:
        return strong(x)
    if x.__class__ is Packed:
        x = x.value
    if isinstance(x, SCALARS):
        return constant(np.asarray(x, dt.of_scalar(x)))
    if isinstance(x, (np.ndarray, np.generic)):
        return constant(np.array(x))
    return [lift(y) for y in x] if isinstance(x, (list, tuple)) else x
