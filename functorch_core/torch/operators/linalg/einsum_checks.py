"""What an equation of einsum must be for operands of these shapes, with PyTorch's errors."""

from __future__ import annotations

from collections.abc import Sequence

NO_SUBSCRIPT = "invalid subscript given at index {} in the equation string, subscripts must be in [a-zA-Z]"
NOT_AS_MANY = "the number of subscripts in the equation ({}) {} the number of dimensions ({}) for operand {}{}"
REPEATED = "subscript {} is repeated for operand {} but the sizes don't match, {} != {}"
NO_BROADCAST = "subscript {} has size {} for operand {} which does not broadcast with previously seen size {}"
COVERED = (
    "dimension {} covered by ellipsis in operand {}has size {} which does not broadcast with previously seen ellipsis "
    "with size {} for the respective dimension"
)
DOTS = "..."


def check_equation(equation: str, shapes: Sequence[tuple[int, ...]]):
    """RuntimeError for an equation, as it was written, that does not say what to do with operands of these shapes."""
    left, arrow, right = equation.partition("->")
    terms, start = [], 0
    for i, term in enumerate(left.split(",")):
        terms.append(_labels(term, start, f"operand {i}", "for which an ellipsis", ""))
        start += len(term) + 1
    if len(terms) != len(shapes):
        how = "fewer" if len(terms) > len(shapes) else "more"
        raise _error(f"{how} operands were provided than specified in the equation")
    for i, (labels, shape) in enumerate(zip(terms, shapes)):
        _check_count(labels, shape, i)
    if arrow:
        _check_output(_labels(right, len(left) + 2, "output", "but an ellipsis (...)", " (...)"), terms)
    _check_sizes(terms, shapes)


def _error(text: str) -> RuntimeError:
    return RuntimeError(f"einsum(): {text}")


def _labels(term: str, start: int, which: str, again: str, end: str) -> list[str]:
    """The letters of a term, and its ellipsis as one; `start` is where it stands in the equation."""
    labels: list[str] = []
    i = 0
    while i < len(term):
        c = term[i]
        if c == ".":
            if DOTS in labels:
                raise _error(f"found '.' for {which} {again} was already found")
            if term[i : i + 3] != DOTS:
                raise _error(f"found '.' for {which} that is not part of any ellipsis{end}")
            labels.append(DOTS)
            i += 3
            continue
        if not (c.isascii() and c.isalpha() or c == " "):
            raise _error(NO_SUBSCRIPT.format(start + i))
        labels += [c] if c != " " else []
        i += 1
    return labels


def _check_count(labels: list[str], shape: tuple[int, ...], i: int):
    if DOTS not in labels and len(labels) != len(shape):
        how = "does not match", " and no ellipsis was given"
        raise _error(NOT_AS_MANY.format(len(labels), how[0], len(shape), i, how[1]))
    if len(labels) - 1 > len(shape):
        raise _error(NOT_AS_MANY.format(len(labels) - 1, "is more than", len(shape), i, ""))


def _check_output(labels: list[str], terms: list[list[str]]):
    for label in labels:
        if label != DOTS and labels.count(label) > 1:
            raise _error(f"output subscript {label} appears more than once in the output")
        if label != DOTS and not any(label in term for term in terms):
            raise _error(f"output subscript {label} does not appear in the equation for any input operand")


def _check_sizes(terms: list[list[str]], shapes: Sequence[tuple[int, ...]]):
    seen: dict[str, int] = {}
    covered: dict[int, int] = {}  # by the place from the right
    for i, (labels, shape) in enumerate(zip(terms, shapes)):
        if DOTS in labels:
            at, end = labels.index(DOTS), len(shape) - len(labels) + labels.index(DOTS) + 1
            for d in range(at, end):
                if shape[d] != 1 and covered.setdefault(end - d, shape[d]) != shape[d]:
                    raise _error(COVERED.format(d, i, shape[d], covered[end - d]))
            shape = (*shape[:at], *shape[end:])
        mine: dict[str, int] = {}
        for label, n in zip([x for x in labels if x != DOTS], shape):
            if mine.setdefault(label, n) != n:
                raise _error(REPEATED.format(label, i, n, mine[label]))
        for label, n in mine.items():
            if n != 1 and seen.setdefault(label, n) != n:
                raise _error(NO_BROADCAST.format(label, n, i, seen[label]))
