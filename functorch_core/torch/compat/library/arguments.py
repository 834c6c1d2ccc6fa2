"""The arguments of custom operators: of the types that the schema says, converted to them."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Sequence

import functorch_core.torch as torch

from ...tensors.base import Tensor
from .schemas import Argument, Schema

WRONG = (
    "{name}() Expected a value of type '{wanted}' for argument '{argument}' but instead found type '{found}'.\n"
    "Position: {position}\nValue: {value!r}\nDeclaration: {schema}"
)
PARTS = re.compile(r"(\w+)(?:\([^)]*\))?(\?)?(?:(\[)\d*\])?(\?)?$")


def converted(schema: Schema, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Arguments that the schema has bound, as kernels take them; RuntimeError for those of another type."""
    by_position = [a for a in schema.arguments if not a.keyword_only]
    positions = {a.name: i for i, a in enumerate(schema.arguments)}

    def one(a: Argument, value):
        try:
            return _converter(a.type)(value)
        except (TypeError, ValueError, RuntimeError):
            said = {"wanted": _shown(a.type), "argument": a.name, "found": type(value).__name__, "value": value}
            raise RuntimeError(
                WRONG.format(name=schema.name, position=positions[a.name], schema=schema, **said)
            ) from None

    named = {a.name: a for a in schema.arguments}
    return tuple([one(a, x) for a, x in zip(by_position, args)]), {k: one(named[k], x) for k, x in kwargs.items()}


def _tensor(value):
    if value is None or isinstance(value, Tensor):
        return value
    raise TypeError


def _int(value) -> int:
    return operator.index(value.item() if isinstance(value, Tensor) else value)


def _float(value) -> float:
    if isinstance(value, str):
        raise TypeError
    return float(value.item() if isinstance(value, Tensor) else value)


def _bool(value) -> bool:
    if isinstance(value, (bool, int, Tensor)):
        return bool(value)
    raise TypeError


def _str(value) -> str:
    if isinstance(value, str):
        return value
    raise TypeError


def _number(value):
    if isinstance(value, Tensor):
        return value.item()
    if isinstance(value, (bool, int, float, complex)) or hasattr(value, "__index__") or hasattr(value, "__float__"):
        return value
    raise TypeError


ELEMENTS: dict[str, tuple[Callable, str]] = {  # a word of schemas -> (what converts to it, its name in messages)
    "Tensor": (_tensor, "Tensor"),
    "int": (_int, "int"),
    "SymInt": (_int, "int"),
    "float": (_float, "float"),
    "bool": (_bool, "bool"),
    "str": (_str, "str"),
    "Scalar": (_number, "number"),
}


@functools.cache
def _converter(text: str) -> Callable:
    """What makes a value one of a type of schemas, or raises."""
    match = PARTS.match(text)
    if match is None or match[1] not in ELEMENTS:
        return lambda value: value
    one, optional, is_list, optional_list = ELEMENTS[match[1]][0], match[2], match[3], match[4]
    if not is_list:
        return _optional(one) if optional else one
    element = _optional(one) if optional else _given(one)

    def every(value: Sequence) -> list:
        if not isinstance(value, (list, tuple, torch.Size)):
            raise TypeError
        return [element(x) for x in value]

    return _optional(every) if optional_list else every


def _optional(convert: Callable) -> Callable:
    return lambda value: None if value is None else convert(value)


def _given(convert: Callable) -> Callable:
    """Elements of a list: no tensor of it is absent."""

    def one(value):
        if value is None:
            raise TypeError
        return convert(value)

    return one


def _shown(text: str) -> str:
    """A type of schemas in the words of Python's annotations."""
    match = PARTS.match(text)
    if match is None or match[1] not in ELEMENTS:
        return text
    shown = ELEMENTS[match[1]][1]
    shown = f"Optional[{shown}]" if match[2] else shown
    shown = f"List[{shown}]" if match[3] else shown
    return f"Optional[{shown}]" if match[4] else shown
