"""Which overload of PyTorch's operators a call is, and its arguments as the operator has them.

`aten_schemas.txt` has PyTorch's schemas of the operators that this library computes, a line each; a star stands before
those that PyTorch takes apart above `__torch_dispatch__`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from pathlib import Path

import functorch_core.torch as torch

from ...tensors import types as _types
from ...tensors.base import Tensor
from .schemas import REQUIRED, Argument, Schema

HEAD = re.compile(r"(\*?)(\w+)(?:\.(\w+))?\(")
# By the names of PyTorch's Python functions: numbers among their operands are tensors to the operator.
NUMBERS_ARE_TENSORS = frozenset("add sub mul div floor_divide".split())
RENAMED = {"input": "self", "axis": "dim", "keepdims": "keepdim", "x": "self"}


class Overload(Schema):
    """The schema of an overload; `composite`: PyTorch takes it apart above `__torch_dispatch__`."""

    def __init__(self, name: str, text: str, composite: bool):
        super().__init__(name, text)
        self.composite = composite
        self.short, self.overload = name.removeprefix("aten::"), self.overload_name or "default"
        self.qualified = f"{self.short}.{self.overload}"
        self.positional = [a for a in self.arguments if not a.keyword_only]
        self.by_name = {a.name: a for a in self.arguments}

    @property
    def is_in_place(self) -> bool:
        """Whether the operator writes to its first argument, and returns that."""
        return bool(self.arguments) and self.arguments[0].is_write and not self.short.startswith("_foreach")


@functools.cache
def _texts() -> dict[str, list[tuple[bool, str]]]:
    text = (Path(__file__).parent / "aten_schemas.txt").read_text(encoding="ascii")
    found: dict[str, list[tuple[bool, str]]] = {}
    for line in text.splitlines():
        star, name, _ = HEAD.match(line).groups()
        found.setdefault(name, []).append((bool(star), line.removeprefix("*")))
    return found


@functools.cache
def overloads_of(name: str) -> tuple[Overload, ...]:
    """The schemas of an operator's overloads, none if they are not known."""
    return tuple([Overload(f"aten::{name}", text, star) for star, text in _texts().get(name, ())])


def schema_of(name: str, overload: str) -> Overload | None:
    """The schema of one overload."""
    return next((s for s in overloads_of(name) if s.overload == overload), None)


def choose(name: str, args: Sequence, kwargs: dict):
    """(schema, args, kwargs) of the overload that a call is; None if it is none of them."""
    candidates = overloads_of(name)
    as_tensors = name.removesuffix("_") in NUMBERS_ARE_TENSORS
    kwargs = {RENAMED.get(k, k): v for k, v in kwargs.items() if not (k == "out" and v is None)}
    for numbers in (True, False) if as_tensors else (False, True):
        for schema in candidates:
            if as_tensors and schema.overload == "Scalar":
                continue
            found = _bound(schema, args, kwargs, numbers)
            if found is not None:
                return schema, *schema.bind((), found)
    return None


def _bound(schema: Overload, args: Sequence, kwargs: dict, numbers: bool) -> dict | None:
    """The arguments by the schema's names, each in the form of its type; None if they do not fit."""
    if len(args) > len(schema.positional) or _is_spread(schema, args):
        args = _gathered(schema, args)
        if args is None:
            return None
    given = dict(zip([a.name for a in schema.positional], args))
    for name, value in kwargs.items():
        if name not in schema.by_name or name in given:
            return None
        given[name] = value
    found = {}
    for a in schema.arguments:
        if a.name not in given:
            if a.default is REQUIRED:
                return None
            continue
        ok, value = fitted(a, given[a.name], numbers)
        if not ok:
            return None
        found[a.name] = value
    return found


def _is_spread(schema: Overload, args: Sequence) -> bool:
    """Whether the last argument is one number where a list of any length is: x.view(6)."""
    i = len(args) - 1
    return 0 <= i < len(schema.positional) and _is_list_of_ints(schema.positional[i]) and _is_int(args[i])


def _gathered(schema: Overload, args: Sequence):
    """x.view(2, 3) as x.view([2, 3])."""
    for i, a in enumerate(schema.positional):
        if _is_list_of_ints(a) and len(args) > i and all(map(_is_int, args[i:])):
            return (*args[:i], list(args[i:]))
    return None


def _is_list_of_ints(a: Argument) -> bool:
    return a.type.removesuffix("?") in ("int[]", "SymInt[]")


def _is_int(x) -> bool:
    return isinstance(x, int) and not isinstance(x, bool) or hasattr(x, "__index__") and not isinstance(x, Tensor)


# ---- values of the schema's types ----------------------------------------------------------------

LIST = re.compile(r"(\w+\??)\[(\d*)\]$")
ALIAS = re.compile(r"\([a-z!|> *-]+\)")


@functools.cache
def _kind(text: str) -> tuple[str, bool, str | None]:
    """A type's text as (element, whether None is one, the size of a list or None)."""
    text = ALIAS.sub("", text)
    optional = text.endswith("?")
    base = text.removesuffix("?")
    match = LIST.match(base)
    return (match[1], optional, match[2]) if match else (base, optional, None)


def fitted(a: Argument, value, numbers: bool) -> tuple[bool, object]:
    """(whether a value is of an argument's type, the value in its form)."""
    element, optional, size = _kind(a.type)
    if value is None:
        return optional or a.default is None, None
    if size is None:
        return _single(element, value, numbers)
    if size and not isinstance(value, (list, tuple)):
        ok, one = _single(element, value, numbers)
        return ok, [one]
    if not isinstance(value, (list, tuple)):
        return False, None
    found = [
        (True, None) if x is None and element.endswith("?") else _single(element.removesuffix("?"), x, False)
        for x in value
    ]
    return all([ok for ok, _ in found]), [x for _, x in found]


def _single(element: str, value, numbers: bool) -> tuple[bool, object]:
    if element == "Tensor":
        return isinstance(value, Tensor) or numbers and isinstance(value, (bool, int, float, complex)), value
    if isinstance(value, Tensor):
        return False, None
    if element in ("int", "SymInt"):
        return _is_int(value), int(value) if _is_int(value) else None
    if element == "Scalar":
        return isinstance(value, (bool, int, float, complex)) or hasattr(value, "item"), value
    if element == "float":
        ok = isinstance(value, (int, float)) and not isinstance(value, bool)
        return ok, float(value) if ok else None
    return _OTHER[element](value) if element in _OTHER else (False, None)


def _instance(*classes: type):
    return lambda value: (isinstance(value, classes), value)


def _device(value):
    ok = isinstance(value, (str, int, torch.device)) and not isinstance(value, bool)
    return ok, torch.device(value) if ok else None


_OTHER = {
    "bool": _instance(bool),
    "str": _instance(str),
    "ScalarType": _instance(_types.dtype),
    "Layout": _instance(_types.layout),
    "MemoryFormat": _instance(_types.memory_format),
    "Generator": lambda value: (isinstance(value, torch.Generator), value),
    "Device": _device,
}
