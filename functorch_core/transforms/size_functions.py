"""Numbers that are functions of a few sizes: of products of these, as (2 h w + 3 h + 1) / 2.

What is known of them are examples. Of k sizes there are 2**k products, so that so many examples give the functions, if
no product follows from the others there, and one more says whether they are such functions at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

Place: TypeAlias = tuple[int, ...]  # the sizes that others follow from


class Function(NamedTuple):
    """The sum of these multiples of products, by the products' numbers, divided by `divisor`."""

    multiples: tuple[tuple[int, int], ...]
    divisor: int

    @property
    def varies(self) -> bool:
        """Whether it is not the same everywhere."""
        return any([i for i, _ in self.multiples])


def products(place: Place) -> list[int]:
    """1 and the products of these sizes: of a and b 1, a, b, a b.

    >>> from functorch_core.transforms.size_functions import products
    >>> products((3, 5, 7))
    [1, 3, 5, 15, 7, 21, 35, 105]
    """
    found = [1]
    for n in place:
        found += [n * m for m in found]
    return found


def needed(k: int) -> int:
    """Of how many places numbers must be known to be taken for functions of k sizes."""
    return 2**k + 1


def values_at(functions: Sequence[Function], place: Place) -> list[int] | None:
    """Of functions at a place; None if one of them is no whole number there."""
    of, found = products(place), []
    for multiples, divisor in functions:
        value = 0
        for i, multiple in multiples:
            value += multiple * of[i]
        value, rest = divmod(value, divisor)
        if rest:
            return None
        found.append(value)
    return found


def fitted(places: Sequence[Place], rows: Sequence[Sequence[int]]) -> tuple[list[Function], list[int]] | None:
    """The functions that have the values rows[i] at places[i], each once, and which of them each number is;
    None if they are no such functions, or too little is known of them.

    >>> from functorch_core.transforms.size_functions import fitted, values_at
    >>> functions, which = fitted([(2,), (3,), (5,)], [[4, 2, 1], [6, 3, 1], [10, 5, 1]])
    >>> values_at(functions, (10,)), which
    ([20, 10, 1], [0, 1, 2])
    """
    columns: dict[tuple[int, ...], int] = {}
    which = [columns.setdefault(column, len(columns)) for column in zip(*rows)]
    functions = _through(places, list(columns))
    return None if functions is None else (functions, which)


def _through(places: Sequence[Place], columns: Sequence[Sequence[int]]) -> list[Function] | None:
    """The function of each column, which has its values at the places; None if one is none, or there are several."""
    n = 2 ** len(places[0])
    if len(places) <= n:
        return None
    table = [products(place) + [column[i] for column in columns] for i, place in enumerate(places)]
    for i in range(n):
        pivot = next((row for row in table[i:] if row[i]), None)
        if pivot is None:
            return None
        table.remove(pivot)
        table = [_without(row, pivot, i) for row in table]
        table.insert(i, pivot)
    if any([any(row) for row in table[n:]]):
        return None
    return [_function([(row[n + c], row[i]) for i, row in enumerate(table[:n])]) for c in range(len(columns))]


def _without(row: list[int], pivot: list[int], i: int) -> list[int]:
    """A multiple of a row, less the multiple of another that makes its number i zero."""
    if not row[i]:
        return row
    common = math.gcd(row[i], pivot[i])
    own, others = pivot[i] // common, row[i] // common
    return [own * x - others * y for x, y in zip(row, pivot)]


def _function(multiples: Sequence[tuple[int, int]]) -> Function:
    """The one of these multiples of the products, each a fraction."""
    divisor = 1
    for x, y in multiples:
        divisor = math.lcm(divisor, y // math.gcd(x, y))
    return Function(tuple([(i, x * divisor // y) for i, (x, y) in enumerate(multiples) if x]), divisor)


def places_of(rows: Sequence[Sequence[int]], most: int) -> tuple[int, ...] | None:
    """Which of the numbers in rows all others follow from, if these are at most so many, and in how few.

    >>> from functorch_core.transforms.size_functions import places_of
    >>> places_of([[8, n, m, n * m] for n, m in [(2, 3), (4, 5), (6, 9), (3, 8), (5, 5)]], 2)
    (1, 2)
    """
    first: dict[tuple[int, ...], int] = {}
    for i, column in enumerate(zip(*rows)):
        first.setdefault(column, i)
    chosen: list[int] = []
    for column, i in first.items():
        places = [tuple([row[j] for j in chosen]) for row in rows]
        if len(set(column)) > 1 and _through(places, [column]) is None:
            chosen.append(i)
            if len(chosen) > most:
                return None
    return tuple(chosen)
