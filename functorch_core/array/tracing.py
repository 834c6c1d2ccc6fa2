"""From a Python function on pytrees of Arrays to a graph."""

from __future__ import annotations

import functools
import inspect
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..annotations import lenient_signature
from ..core import tree
from ..core.aval import Aval, aval
from ..core.dtypes import canonical, promote
from ..core.errors import TracingError
from ..core.explain import name_of
from ..core.graph import Graph
from ..core.trace import state, trace
from ..engine import from_numpy
from ..engine.units import SCALAR_AVALS
from ..ops.signature import Weak, fits
from . import leaks
from .array import Array, as_value, wrap

NOT_AN_ARRAY = """{where} of `{name}` is {value!r:.80} ({kind}), which is not an array.
    Every leaf that goes in or out of a transformed function is an array or a number.
    If it is configuration, make it static (fc.jit(f, static_argnums=...)) or close over it."""


NOT_HERE = """{function}: {parameter}={value!r:.60} is not supported here.
    {advice}"""
ONE_DEVICE = "Programs run on one device, whole: leave it out, or None."


def refuse(function: str, advice: str, **parameters):
    """NotImplementedError for a parameter of JAX's that would change what happens, if it is given."""
    for parameter, value in parameters.items():
        if value is not None and value is not False:
            raise NotImplementedError(
                NOT_HERE.format(function=function, parameter=parameter, value=value, advice=advice)
            )


def wrapping(fun: Callable) -> Callable:
    """functools.wraps(fun), of a function: TypeError for anything else."""
    name_of(fun)
    return functools.wraps(fun)


def shown_tree(treedef: tree.PyTreeDef) -> str:
    """A structure in a message: (*, {'a': *}), a star for each leaf."""
    text = str(treedef).removeprefix("PyTreeDef(").removesuffix(")")
    return text.replace("CustomNode(Tensor[None], [*])", "tensor")


def leaf_values(leaves: Sequence, where: str, name: str) -> list:
    """The values of leaves; TypeError naming the first that is no array."""
    out = []
    for leaf in leaves:
        try:
            out.append(as_value(leaf))
        except TypeError:
            raise TypeError(NOT_AN_ARRAY.format(where=where, name=name, value=leaf, kind=type(leaf).__name__)) from None
    return out


class ShapeDtype:
    """A shape and a dtype in place of an array; see eval_shape.

    >>> fc.eval_shape(lambda x: x @ x.T, fc.ShapeDtype((2, 3), "float32"))
    ShapeDtype(shape=(2, 2), dtype=float32)
    """

    __slots__ = ("shape", "dtype")

    def __init__(self, shape, dtype, *, sharding=None, weak_type=False):
        refuse("ShapeDtypeStruct", ONE_DEVICE, sharding=sharding)
        refuse("ShapeDtypeStruct", "A Python number in its place is weak: fc.eval_shape(f, 1.).", weak_type=weak_type)
        self.shape, self.dtype = tuple(shape), canonical(dtype)

    @property
    def ndim(self) -> int:
        """How many dimensions there are."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many elements there are."""
        return math.prod(self.shape)

    weak_type, sharding = False, None

    def update(self, **changes) -> ShapeDtype:
        """Another one, with a shape or dtype of its own.

        >>> fc.ShapeDtype((2, 3), "float32").update(shape=(4,))
        ShapeDtype(shape=(4,), dtype=float32)
        """
        return ShapeDtype(**{"shape": self.shape, "dtype": self.dtype, **changes})

    def __len__(self):
        if not self.shape:
            raise TypeError("a ShapeDtype without dimensions has no length")
        return self.shape[0]

    def __repr__(self):
        return f"ShapeDtype(shape={self.shape}, dtype={self.dtype.name})"

    def __eq__(self, other):
        return (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self):
        return hash((self.shape, self.dtype))


def numbers_as(kind, value):
    """A value as wide as a trace has Python's number of that kind, where a narrower array of no dimensions comes."""
    wide = SCALAR_AVALS.get(kind)
    found = wrap(value).aval
    if wide is None or found == wide or found.shape or promote(found.dtype, wide.dtype) != wide.dtype:
        return value
    return wrap(value).astype(wide.dtype)._value


def arguments(leaves: Sequence, name: str, shapes: bool = False, where: str = "an argument") -> tuple[list, list]:
    """(values, kinds) of the leaves of a call: the kind is the aval, or float or int for a number.

    A number stays weak in the traced function, and its value is no part of the graph. Where
    `shapes` are welcome, a ShapeDtype has its aval, and None for a value.
    """
    values, kinds = [], []
    for leaf in leaves:
        kind = kind_of(leaf)
        if kind is not None:
            value = (
                leaf._value.value if leaf.__class__ is Array else from_numpy(np.asarray(leaf, SCALAR_AVALS[kind].dtype))
            )
        elif shapes and leaf.__class__ is ShapeDtype:
            value, kind = None, aval(leaf.shape, leaf.dtype)
        else:
            (value,) = leaf_values([leaf], where, name)
            kind = value.aval
        values.append(value)
        kinds.append(kind)
    return values, kinds


def kind_of(leaf) -> type | None:
    """float or int for a Python number, also one that is traced; None for anything else. np.float64 is a float."""
    cls = leaf.__class__
    if cls is Array:
        return leaf._value.kind if leaf._value.__class__ is Weak else None
    if cls is np.float64:
        return float
    return cls if cls in SCALAR_AVALS and fits(leaf) else None


@dataclass(frozen=True, slots=True)
class TracedFunction:
    """A traced function: its graph, what it captured, and the structure of its result.

    Run it as run(graph, [*flat_args, *captures]).
    """

    graph: Graph
    captures: list
    out_tree: tree.PyTreeDef
    aux: object = None


def trace_function(
    fun: Callable,
    in_tree: tree.PyTreeDef,
    kinds: Sequence[Aval | type],
    *,
    has_aux: bool = False,
    keywords: bool = False,
    operands: Sequence | None = None,
    noted: dict | None = None,
) -> TracedFunction:
    """Trace fun(*args), with args of structure `in_tree` (or (args, kwargs), if `keywords`).

    `kinds`: an aval for each leaf, or float or int for a Python number (see arguments).
    `operands`: the values of the arguments, if the graph will be run with them alone. `noted` is filled
    with the tensors it has read, see core.trace.Builder.
    """
    name, found = name_of(fun), {}

    def flat(*values):
        if state.builder is not None:
            state.builder.arguments = getattr(fun, "_traces", fun), lambda i: argument_name(fun, in_tree, keywords, i)
        args = in_tree.unflatten([wrap(Weak(v, k) if k in SCALAR_AVALS else v) for v, k in zip(values, kinds)])
        out = fun(*args[0], **args[1]) if keywords else fun(*args)
        if has_aux:
            out, aux = split_aux(out, name)
            aux_leaves, found["aux_tree"] = tree.flatten(aux)
        leaves, found["tree"] = tree.flatten(out)
        found["n"] = len(leaves)
        if has_aux:
            leaves = leaves + aux_leaves
        return leaf_values(leaves, "the result", name)

    avals = [SCALAR_AVALS.get(k, k) for k in kinds]
    how = (leaks.watching, trace) if leaks.checked else (trace,)
    graph, captures = how[0](*how[1:], flat, avals, name, operands, noted)
    aux = (found["aux_tree"], found["n"]) if has_aux else None
    return TracedFunction(graph, captures, found["tree"], aux)


def argument_name(fun: Callable, in_tree: tree.PyTreeDef, keywords: bool, i: int) -> str | None:
    """What the i-th leaf of a function's arguments is called: params['w']."""
    if i >= in_tree.num_leaves:
        return None
    path = tree.leaves_with_path(in_tree.unflatten(list(range(in_tree.num_leaves))))[i][0]
    positions = getattr(fun, "_positions", None)  # of fc.jit: which arguments are not static
    if keywords or positions is not None:
        by_name, path = path[0].idx == 1, path[1:]
        if by_name:
            return path[0].key + tree.keystr(path[1:])
    number = path[0].idx if positions is None else positions[path[0].idx]
    try:
        parameters = list(lenient_signature(getattr(fun, "_traces", fun)).parameters.values())
    except (TypeError, ValueError):
        return f"{number}" + tree.keystr(path[1:])
    if number < len(parameters) and parameters[number].kind is not inspect.Parameter.VAR_POSITIONAL:
        return parameters[number].name + tree.keystr(path[1:])
    return f"{number}" + tree.keystr(path[1:])


def split_aux(out, name: str):
    """(result, aux) of a function with has_aux=True."""
    if isinstance(out, tuple) and len(out) == 2:
        return out
    raise TracingError(
        f"`{name}` with has_aux=True must return a pair (result, aux), "
        f"it returned {type(out).__name__}\n"
        "    wrong: return loss              right: return loss, predictions"
    )


# ---- arguments by number and by name -----------------------------------------------------------

NO_SUCH_ARGUMENT = """{what} of `{name}`: there is no argument {which}; the signature is {name}{signature}.
    ..._argnums count the positional arguments from 0 (or, negative, from the end); ..._argnames are
    their names."""


def _check_named(fun, parameters: list, nums: set, names: set, what: str):
    """ValueError for an argument, static or donated, that the function does not have."""
    kinds = [p.kind for p in parameters]
    n = sum(k in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD) for k in kinds)
    wrong = [] if inspect.Parameter.VAR_POSITIONAL in kinds else [i for i in sorted(nums) if not -n <= i < n]
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        wrong += sorted(names - {p.name for p in parameters})
    if wrong:
        raise ValueError(
            NO_SUCH_ARGUMENT.format(
                what=what, name=name_of(fun), which=repr(wrong[0]), signature=lenient_signature(fun)
            )
        )


def number_set(nums: int | Sequence[int] | None) -> set[int]:
    """Argument numbers: one, several or none."""
    if nums is None:
        return set()
    return {operator.index(i) for i in ((nums,) if hasattr(nums, "__index__") else nums)}


def name_set(names: str | Sequence[str] | None) -> set[str]:
    """Argument names: one, several or none."""
    return {names} if isinstance(names, str) else set(names or ())


def resolve_arguments(fun, nums, names, what: str = "jit") -> tuple[frozenset, frozenset]:
    """Argument numbers and names, each completed by the other through fun's signature."""
    nums, names = number_set(nums), name_set(names)
    try:
        parameters = list(lenient_signature(fun).parameters.values())
    except (TypeError, ValueError):
        return frozenset(nums), frozenset(names)
    _check_named(fun, parameters, nums, names, what)
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    by_number = {positional[i] for i in nums if -len(positional) <= i < len(positional)}
    by_name = {positional.index(n) for n in names if n in positional}
    nums = {i % len(positional) if i < 0 else i for i in nums}
    return frozenset(nums | by_name), frozenset(names | by_number)
