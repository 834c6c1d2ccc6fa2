"""Where the functional face has its operations: what each declared, by the name it has there."""

from __future__ import annotations

import inspect
from collections.abc import Callable

# Namespaces, the methods of Array, and the module that writes its functions out: they take a device.
SPACES = ("fc", "fc.fft", "fc.linalg", "fc.random", "Array", "array.creation")

# Operators of Arrays, and the special methods they are.
ARITHMETIC = {
    "x + y": "add",
    "x - y": "sub",
    "x * y": "mul",
    "x / y": "truediv",
    "x // y": "floordiv",
    "x % y": "mod",
    "x ** y": "pow",
    "x @ y": "matmul",
    "x & y": "and",
    "x | y": "or",
    "x ^ y": "xor",
    "x << y": "lshift",
    "x >> y": "rshift",
}
COMPARISONS = {"x == y": "eq", "x != y": "ne", "x < y": "lt", "x <= y": "le", "x > y": "gt", "x >= y": "ge"}
UNARY = {"-x": "neg", "+x": "pos", "abs x": "abs", "~x": "invert"}
OPERATORS = ARITHMETIC | COMPARISONS | UNARY

NO_PLACE = """the operation {name} has no place.
    wrong: @op                     right: @op("fc"), or any of {spaces}, or an operator, "x + y"
    A part of other operations has a name with an underscore in front, and no place."""
UNKNOWN = "the operation {name} is declared for {place!r}, which is none of {spaces}, or an operator"
TWICE = "two operations are declared as {place}, in {first} and in {second}"
NAMES = "the operation {name}{signature} has {n} positional-only parameters, but names for {given}"

declared: dict[str, Callable] = {}  # "fc.linalg.norm", "Array as sum", "x + y" -> the operation


def declare(operation: Callable, name: str, places: tuple[str, ...], names: str) -> Callable:
    """The operation, entered where it declares to be; see op."""
    if not places and not name.startswith("_"):
        raise TypeError(NO_PLACE.format(name=name, spaces=", ".join(SPACES)))
    operation.by_name = tuple(names.split())
    _check_names(operation, name)
    for place in places:
        space, _, alias = place.partition(" as ")
        if place not in OPERATORS and space not in SPACES:
            raise ValueError(UNKNOWN.format(name=name, place=place, spaces=", ".join(SPACES)))
        full = place if place in OPERATORS else f"{space}.{alias or name}"
        if full in declared:
            first, second = (inspect.unwrap(x).__module__ for x in (declared[full], operation))
            raise ValueError(TWICE.format(place=full, first=first, second=second))
        declared[full] = operation
    return operation


def _check_names(operation: Callable, name: str):
    """TypeError unless all arrays have names, or none has."""
    if not operation.by_name:
        return
    signature = getattr(operation, "__signature__", None) or inspect.signature(operation)
    n = sum(p.kind is p.POSITIONAL_ONLY for p in signature.parameters.values())
    if n != len(operation.by_name):
        raise TypeError(NAMES.format(name=name, signature=signature, n=n, given=", ".join(operation.by_name)))


def exposed(*places: str, names: str = "") -> Callable[[Callable], Callable]:
    """Declare a function of values that runs as it is and calls operations; see op for the rest."""
    return lambda fun: declare(fun, fun.__name__, places, names)


def declared_in(space: str) -> dict[str, Callable]:
    """The operations that are declared for a space, by their names in it."""
    return {full.rpartition(".")[2]: fun for full, fun in declared.items() if full.rpartition(".")[0] == space}
