"""A program for all sizes: its text at several sizes, and what each number in it is of them.

XLA's programs have fixed shapes. Texts of one function's programs at different sizes differ in numbers alone, where
the function is the same for all sizes: each is a polynomial of the sizes, or the reciprocal or root of one, which is
fitted to some programs and holds for others.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

from ..xla.dtypes import _float_literal
from .symbols import Dim

NUMBER = re.compile(r"\d+\.\d+(?:e[+-]?\d+)?|\d+")
NOT_ONE_FORM = """export of `{name}`: its program is another one for other sizes, {where}
    at {one}: {text}
    at {two}: {other}
    Export it once for each size, or pad to one; what branches on a size (`if x.shape[0] > 8`) has to stay outside."""
LOCATION = re.compile(r" loc\(#loc\d+\)|^#loc.*\n?", re.MULTILINE)
FLOATS = {"f64": np.dtype(np.float64), "f32": np.dtype(np.float32), "f16": np.dtype(np.float16)} | {
    "bf16": np.dtype(ml_dtypes.bfloat16)
}
DEGREE = 3

# what a float may be of a polynomial p: (its name, the number, p of the number)
FORMS: tuple[tuple[str, Callable, Callable], ...] = (
    ("p", lambda p: p, lambda v: v),
    ("1/p", lambda p: 1 / p, lambda v: 1 / v),
    ("sqrt p", math.sqrt, lambda v: v * v),
    ("1/sqrt p", lambda p: 1 / math.sqrt(p), lambda v: 1 / (v * v)),
)


def monomials(symbols: Sequence[str]) -> list[tuple[str, ...]]:
    """The products of up to DEGREE symbols."""
    return [m for d in range(DEGREE + 1) for m in itertools.combinations_with_replacement(sorted(symbols), d)]


def fitted(values: Sequence[float], sizes: Sequence[Mapping[str, int]], symbols: Sequence[str]) -> Dim | None:
    """The polynomial of the sizes that has these values; None if none of low degree has, with simple coefficients."""
    names = monomials(symbols)
    matrix = np.array([[math.prod(s[n] for n in m) for m in names] for s in sizes], np.float64)
    scale = np.abs(matrix).max(0)
    solution = np.linalg.lstsq(matrix / scale, np.array(values, np.float64), rcond=None)[0] / scale
    terms = {m: Fraction(float(c)).limit_denominator(12) for m, c in zip(names, solution)}
    dim = Dim({m: c for m, c in terms.items() if abs(c) * max(math.prod(s[n] for n in m) for s in sizes) > 1e-3})
    return dim if all(abs(float(dim.at(s)) - v) <= 1e-6 * abs(v) for s, v in zip(sizes, values)) else None


class Template:
    """The text of a program, with formulas of the sizes in the place of numbers."""

    def __init__(self, pieces: list[str], formulas: list[tuple[str, Dim, str]]):
        self.pieces, self.formulas = pieces, formulas  # a formula: how it is of the polynomial, that, the element type

    def at(self, sizes: Mapping[str, int]) -> str:
        """The program for these sizes."""
        out = [self.pieces[0]]
        for (form, dim, kind), piece in zip(self.formulas, self.pieces[1:]):
            out += [_number(form, dim.at(sizes), kind), piece]
        return "".join(out)

    def data(self) -> dict[str, Any]:
        """It, as JSON's data."""
        formulas = [[form, terms_of(dim), kind] for form, dim, kind in self.formulas]
        return {"pieces": self.pieces, "formulas": formulas}

    @classmethod
    def of_data(cls, data: dict[str, Any]) -> Template:
        """What `data` gave."""
        return cls(data["pieces"], [(form, dim_of(terms), kind) for form, terms, kind in data["formulas"]])


def terms_of(dim: Dim) -> list:
    """A polynomial, as JSON's data."""
    return [[list(m), str(c)] for m, c in dim.terms.items()]


def dim_of(terms: list) -> Dim:
    """A polynomial of JSON's data."""
    return Dim({tuple(m): Fraction(c) for m, c in terms})


def _number(form: str, value: Fraction, kind: str) -> str:
    if not kind:
        if value.denominator != 1:
            raise ValueError(f"a size would be {value}")
        return str(int(value))
    number = next(make for name, make, _ in FORMS if name == form)(float(value))
    return _float_literal(np.asarray(number, FLOATS[kind]))


def template(name: str, texts: Sequence[str], sizes: Sequence[Mapping[str, int]], symbols: Sequence[str]) -> Template:
    """The template of these programs; ValueError where one number is no polynomial, or the programs' forms differ."""
    texts = list(map(unlocated, texts))
    split = [NUMBER.split(text) for text in texts]
    for other, at in zip(split[1:], sizes[1:]):
        if other != split[0]:
            raise ValueError(_difference(name, split[0], other, sizes[0], at))
    pieces, formulas = [split[0][0]], []
    ends = [m.end() for m in NUMBER.finditer(texts[0])]
    for i, column in enumerate(zip(*[NUMBER.findall(text) for text in texts])):
        if len(set(column)) == 1:
            pieces[-1] += column[0] + split[0][i + 1]
            continue
        after = texts[0][ends[i] : texts[0].find("\n", ends[i])]
        formula = _formula(column, sizes, symbols, after)
        if formula is None:
            line = (pieces[-1].rpartition("\n")[2])[-60:]
            shown = {"one": dict(sizes[0]), "two": dict(sizes[1]), "text": line + column[0], "other": line + column[1]}
            raise ValueError(NOT_ONE_FORM.format(name=name, where="and a number in it no simple formula", **shown))
        formulas.append(formula)
        pieces.append(split[0][i + 1])
    return Template(pieces, formulas)


def _formula(column: Sequence[str], sizes, symbols, after: str) -> tuple[str, Dim, str] | None:
    if not any("." in text for text in column):
        dim = fitted([int(text) for text in column], sizes, symbols)
        return None if dim is None else ("p", dim, "")
    kind = re.search(r"(bf16|f16|f32|f64)>", after)
    if kind is None:
        return None
    values = [float(text) for text in column]
    for form, _, back in FORMS:
        powers = [back(v) for v in values]
        near = [round(p) for p in powers]
        if all(abs(p - n) <= 0.02 * max(abs(p), 1) and n for p, n in zip(powers, near)):
            dim = fitted(near, sizes, symbols)
            if dim is not None and all(_number(form, dim.at(s), kind[1]) == text for s, text in zip(sizes, column)):
                return form, dim, kind[1]
    return None


def unlocated(text: str) -> str:
    """A program without the lines of Python: what was traced before, at one of the sizes, has others."""
    return LOCATION.sub("", text)


def holds(name: str, found: Template, text: str, sizes: Mapping[str, int], first: Mapping[str, int]) -> None:
    """ValueError unless the template is this program at these sizes."""
    text = unlocated(text)
    if (given := found.at(sizes)) != text:
        raise ValueError(_difference(name, given.split("\n"), text.split("\n"), first, sizes))


def _difference(name: str, one: list[str], two: list[str], at: Mapping, other: Mapping) -> str:
    i = next((i for i, (a, b) in enumerate(zip(one, two)) if a != b), min(len(one), len(two)) - 1)
    shown = ["".join(parts[max(i - 3, 0) : i + 2])[:160].strip().split("\n")[-1] for parts in (one, two)]
    return NOT_ONE_FORM.format(
        name=name, where="not in numbers alone", one=dict(at), two=dict(other), text=shown[0], other=shown[1]
    )
