"""Schemas of operators: 'name(Tensor x, int n=3, *, bool flag=False) -> Tensor'."""

from __future__ import annotations

import ast
import inspect
import re
import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import functorch_core.torch as torch

ARGUMENT = re.compile(r"(?P<type>.+?)\s+(?P<name>\w+)\s*(?:=\s*(?P<default>.+))?$")
REQUIRED = inspect.Parameter.empty


@dataclass
class Argument:
    """One argument of an operator; `default` is REQUIRED if there is none.

    >>> isinstance(torch.ops.aten.add.Tensor._schema.arguments[0], torch.Argument)
    True
    """

    name: str
    type: str
    default: object
    keyword_only: bool

    @property
    def is_write(self) -> bool:
        """Whether the operator writes to it, 'Tensor(a!)'."""
        return "!" in self.type

    @property
    def kwarg_only(self) -> bool:
        """Whether it is given by keyword alone."""
        return self.keyword_only

    @property
    def default_value(self):
        """Its default, or None."""
        return self.default if self.has_default_value() else None

    def has_default_value(self) -> bool:
        """Whether it can be left out."""
        return self.default is not REQUIRED


class Schema:
    """A parsed schema; printing it gives its text."""

    def __init__(self, qualname: str, text: str):
        signature, arrow, self.result = text.rpartition("->")
        head, _, arguments = signature.partition("(")
        if not arrow or not arguments.rstrip().endswith(")"):
            raise RuntimeError(
                f"torch.library: the schema {text!r} is not of the form 'name(Tensor x, int n=3) -> Tensor'"
            )
        _, _, self.overload_name = head.partition(".")
        self.name, self.result = qualname, self.result.strip()
        self.text = f"({arguments.rstrip()} -> {self.result}"
        self.arguments = _arguments(arguments.rstrip()[:-1])

    def __str__(self):
        suffix = f".{self.overload_name}" if self.overload_name else ""
        return f"{self.name}{suffix}{self.text}"

    __repr__ = __str__

    def bind(self, args: Sequence, kwargs: dict) -> tuple[tuple, dict]:
        """The arguments as kernels take them: (by position, by name). At the end, what equals its
        default is left out: it is the kernel's own."""
        named = [a for a in self.arguments if not a.keyword_only]
        if len(args) > len(named):
            raise RuntimeError(
                f"{self.name}() expected at most {len(named)} argument(s) but "
                f"received {len(args)} argument(s). Declaration: {self}"
            )
        given = {**dict(zip([a.name for a in named], args)), **kwargs}
        values = {}
        for a in self.arguments:
            value = given.pop(a.name, a.default)
            if value is REQUIRED:
                raise RuntimeError(f"{self.name}() is missing value for argument '{a.name}'. Declaration: {self}")
            values[a.name] = value
        if given:
            raise RuntimeError(
                f"Unknown keyword argument '{next(iter(given))}' for operator '{self.name}'. Schema: {self}"
            )
        while named and _is_default(values[named[-1].name], named[-1]):
            named.pop()
        return tuple([values[a.name] for a in named]), {
            a.name: values[a.name] for a in self.arguments if a.keyword_only and not _is_default(values[a.name], a)
        }

    def filled(self, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """All arguments, of those that `bind` has given."""
        named = [a for a in self.arguments if not a.keyword_only]
        return (*args, *[a.default for a in named[len(args) :]]), {
            a.name: kwargs.get(a.name, a.default) for a in self.arguments if a.keyword_only
        }


def _is_default(value, argument: Argument) -> bool:
    default = argument.default
    if value.__class__ is list and default.__class__ is int and argument.type.endswith("]"):
        return set(value) == {default}
    return value is default or type(value) is type(default) and value == default


def _arguments(text: str) -> list[Argument]:
    found, keyword_only = [], False
    for part in _split(text):
        if part == "*":
            keyword_only = True
            continue
        match = ARGUMENT.match(part)
        if match is None:
            raise RuntimeError(f"torch.library: cannot read the argument {part!r} of a schema")
        default = REQUIRED if match["default"] is None else _value(match["default"])
        found.append(Argument(match["name"], match["type"], default, keyword_only))
    return found


def _split(text: str) -> list[str]:
    """At the commas outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def _value(text: str):
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return getattr(torch, text, text)  # a dtype


# ---- from a function's annotations ---------------------------------------------------------------


BASIC = {
    torch.Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    torch.types.Number: "Scalar",
    torch.dtype: "ScalarType",
    torch.device: "Device",
}


def infer(prototype: Callable, mutates_args="unknown", op_name: str | None = None) -> str:
    """The schema of a function, from its annotations."""
    signature = inspect.signature(prototype)
    hints = typing.get_type_hints(prototype)
    parts, starred = [], False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        parts.append(_parameter(parameter, hints, mutates_args, signature))
    unknown = set(() if isinstance(mutates_args, str) else mutates_args) - {*signature.parameters}
    if unknown:
        raise ValueError(
            f"infer_schema(func): {sorted(unknown)} in mutates_args were not found in "
            "the custom op's signature. mutates_args should contain the names of all "
            'args that the custom op mutates, or just the string "unknown" if you '
            "don't know."
        )
    return f"{op_name or ''}({', '.join(parts)}) -> {_result(hints, signature)}"


def _parameter(parameter, hints: dict, mutates_args, signature) -> str:
    name = parameter.name
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise ValueError(
            "infer_schema(func): We do not support positional-only args, varargs, or "
            f"varkwargs. Got unsupported parameter {name}. (function {signature})"
        )
    if name not in hints:
        raise ValueError(f"infer_schema(func): Parameter {name} must have a type annotation. (function {signature})")
    kind = _type(hints[name])
    if kind is None:
        raise ValueError(
            f"infer_schema(func): Parameter {name} has unsupported type {parameter.annotation}. (function {signature})"
        )
    writes = mutates_args == "unknown" or name in mutates_args
    if writes and kind.startswith("Tensor"):
        kind = kind.replace("Tensor", f"Tensor(a{list(signature.parameters).index(name)}!)", 1)
    if parameter.default is REQUIRED:
        return f"{kind} {name}"
    return f"{kind} {name}={_default(parameter.default)}"


def _default(value) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return str(value).removeprefix("torch.") if isinstance(value, torch.dtype) else str(value)


def _type(annotation) -> str | None:
    """A schema's word for a type; None if there is none."""
    if annotation in BASIC:
        return BASIC[annotation]
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType) and type(None) in args:
        rest = [a for a in args if a is not type(None)]
        inner = _type(rest[0] if len(rest) == 1 else typing.Union[tuple(rest)])  # noqa: UP007
        return None if inner is None else f"{inner}?"
    if origin in (typing.Union, types.UnionType) and set(args) <= {int, float, bool}:
        return "Scalar"
    if isinstance(origin, type) and issubclass(origin, Sequence) and origin is not tuple:
        inner = _type(args[0])
        return None if inner is None else f"{inner}[]"
    return None


def _result(hints: dict, signature) -> str:
    annotation = hints.get("return", REQUIRED)
    if annotation is REQUIRED:
        raise ValueError("infer_schema(func): No return type annotation was provided. Please add one.")
    if annotation is type(None):
        return "()"
    if typing.get_origin(annotation) is tuple:
        inner = [_type(a) for a in typing.get_args(annotation)]
        if None not in inner:
            return f"({', '.join(inner)})" if len(inner) > 1 else inner[0]
    elif (found := _type(annotation)) is not None:
        return found
    raise ValueError(f"infer_schema(func): Return has unsupported type {annotation}. (function {signature})")
