"""Sizes by name, for export: polynomials of symbols, "2*b + 1", and what they say of the shapes of a call."""

from __future__ import annotations

import ast
import operator
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from ..core.errors import InconclusiveDimensionOperation

Monomial = tuple[str, ...]  # a*a*b is ("a", "a", "b"); a constant ()

NOT_A_SHAPE = """symbolic_shape: {spec!r}: {part!r} is no size
    A size is a number, a name, or a polynomial of names: "b, 2*n + 1, 3"; "_" and "..." are taken from `like`."""
INCONCLUSIVE = """{left} {op} {right}: it depends on the sizes, which are not known while a function is exported
    Say it of all of them: export.symbolic_shape("{name}", constraints=["{name} >= 8"])."""
NO_SIZES = """export: no sizes were found that fulfil the constraints {constraints}
    They are of the forms "a >= 4", "a <= 2*b", "mod(a, 8) == 0"; sizes up to 1,024 are tried."""


class Dim:
    """A size by name: a polynomial of symbols."""

    __slots__ = ("terms", "scope")

    def __init__(self, terms: Mapping[Monomial, Fraction | int], scope: SymbolicScope | None = None):
        self.terms = {m: Fraction(c) for m, c in sorted(terms.items()) if c}
        self.scope = scope

    @classmethod
    def of(cls, x) -> Dim:
        """A number, or a Dim, as a Dim."""
        return x if isinstance(x, Dim) else cls({(): operator.index(x)})

    @property
    def symbols(self) -> set[str]:
        """The names in it."""
        return {name for monomial in self.terms for name in monomial}

    def at(self, sizes: Mapping[str, int]) -> Fraction:
        """Its value where the symbols have these sizes."""
        total = Fraction(0)
        for monomial, coefficient in self.terms.items():
            for name in monomial:
                coefficient *= sizes[name]
            total += coefficient
        return total

    def __add__(self, other):
        terms = dict(self.terms)
        for m, c in Dim.of(other).terms.items():
            terms[m] = terms.get(m, 0) + c
        return Dim(terms, self.scope)

    def __mul__(self, other):
        terms: dict[Monomial, Fraction] = {}
        for m, c in self.terms.items():
            for n, d in Dim.of(other).terms.items():
                key = tuple(sorted(m + n))
                terms[key] = terms.get(key, Fraction(0)) + c * d
        return Dim(terms, self.scope)

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + -Dim.of(other)

    def __rsub__(self, other):
        return -self + other

    __radd__, __rmul__ = __add__, __mul__

    def __eq__(self, other):
        return isinstance(other, (int, Dim)) and self.terms == Dim.of(other).terms

    def __hash__(self):
        return hash(tuple(self.terms.items()))

    def _inconclusive(self, op: str, other):
        name = min(self.symbols, default="b")
        raise InconclusiveDimensionOperation(INCONCLUSIVE.format(left=self, op=op, right=other, name=name))

    def __lt__(self, other):
        self._inconclusive("<", other)

    def __le__(self, other):
        self._inconclusive("<=", other)

    def __gt__(self, other):
        self._inconclusive(">", other)

    def __ge__(self, other):
        self._inconclusive(">=", other)

    def __index__(self):
        self._inconclusive("as a number:", "its value")

    def __repr__(self):
        parts = []
        for monomial, c in sorted(self.terms.items(), key=lambda t: (-len(t[0]), t[0])):
            names = "*".join(monomial)
            parts.append(names if c == 1 and names else f"{c}*{names}" if names else f"{c}")
        return " + ".join(parts).replace("+ -", "- ") or "0"


class SymbolicScope:
    """Symbols that belong together, and what holds of them: "a >= 4", "mod(b, 8) == 0".

    >>> from functorch_core import export
    >>> scope = export.SymbolicScope(["a >= 4"])
    >>> export.symbolic_shape("a, b", scope=scope)
    (a, b)
    """

    def __init__(self, constraints: Sequence[str] = ()):
        self.constraints = tuple(constraints)

    def failing(self, sizes: Mapping[str, int]) -> Iterator[str]:
        """The constraints that these sizes do not fulfil."""
        for text in self.constraints:
            if not _evaluated(ast.parse(text, mode="eval").body, sizes):
                yield text


_OPERATORS: dict[type, Callable] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.GtE: operator.ge, ast.LtE: operator.le, ast.Gt: operator.gt, ast.Lt: operator.lt,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
_FUNCTIONS = {"mod": operator.mod, "floordiv": operator.floordiv, "max": max, "min": min}


def _evaluated(node, names: Mapping):
    """The value of an expression of sizes, of numbers or of Dims; SyntaxError for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name):
        return names[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_evaluated(node.left, names), _evaluated(node.right, names))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_evaluated(node.operand, names)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPERATORS:
        return _OPERATORS[type(node.ops[0])](_evaluated(node.left, names), _evaluated(node.comparators[0], names))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
        return _FUNCTIONS[node.func.id](*[_evaluated(a, names) for a in node.args])
    raise SyntaxError("no expression of sizes")


class _Symbols(dict):
    def __init__(self, scope):
        super().__init__()
        self.scope = scope

    def __missing__(self, name):
        return Dim({(name,): 1}, self.scope)


def parsed(text: str, scope: SymbolicScope | None = None) -> int | Dim:
    """A size of its text."""
    try:
        size = _evaluated(ast.parse(text.strip(), mode="eval").body, _Symbols(scope))
    except (SyntaxError, TypeError):
        raise ValueError(NOT_A_SHAPE.format(spec=text, part=text.strip())) from None
    return size


def shape_of(spec: str | None, scope: SymbolicScope, like: Sequence[int] | None) -> tuple[int | Dim, ...]:
    """The shape that a text tells; what it leaves to `like` is taken from there."""
    parts = [p.strip() for p in (spec or "...").strip().removeprefix("(").removesuffix(")").split(",")]
    parts = [p for p in parts if p]
    if "..." in parts or "_" in parts:
        if like is None:
            raise ValueError(NOT_A_SHAPE.format(spec=spec, part="..." if "..." in parts else "_"))
        if "..." in parts:
            at, n = parts.index("..."), len(like) - len(parts) + 1
            parts[at : at + 1] = ["_"] * n
        if len(parts) != len(like):
            raise ValueError(f"symbolic_shape: {spec!r} has {len(parts)} sizes, `like` has {len(like)}: {tuple(like)}")
    return tuple([like[i] if p == "_" and like is not None else parsed(p, scope) for i, p in enumerate(parts)])


def samples(symbols: Iterable[str], scopes: Iterable[SymbolicScope], large: bool = False) -> Iterator[dict[str, int]]:
    """Sizes for the symbols that fulfil all constraints: different ones, most small; the same at each call."""
    names, scopes, draw = sorted(symbols), list(scopes), random.Random(0)
    found = tries = 0
    while True:
        low, high = (10_000, 40_000) if large else (5, 64 if tries % 4 else 1024)
        sizes = {name: draw.randint(low, high) for name in names}
        tries += 1
        if len(set(sizes.values())) == len(names) and not any(True for s in scopes for _ in s.failing(sizes)):
            found += 1
            yield sizes
        elif large and tries > 2000:
            return
        elif tries > 20000 * (found + 1):
            raise ValueError(NO_SIZES.format(constraints=[c for s in scopes for c in s.constraints]))


def solved(wanted: Sequence[Sequence[int | Dim] | None], found: Sequence[Sequence[int]]) -> dict[str, int]:
    """The sizes of the symbols in a call's shapes; ValueError, with what does not fit."""
    sizes: dict[str, int] = {}
    pairs = [(w, f) for shape, other in zip(wanted, found) if shape is not None for w, f in zip(shape, other)]
    pairs = [(w, f) for w, f in pairs if isinstance(w, Dim)]
    for _ in range(len(pairs) + 1):
        for dim, size in pairs:
            unknown = dim.symbols - sizes.keys()
            if len(unknown) == 1 and all(m.count(*unknown) <= 1 for m in dim.terms):
                (name,) = unknown
                rest = {**sizes, name: 0}
                slope = dim.at({**sizes, name: 1}) - dim.at(rest)
                value = (size - dim.at(rest)) / slope if slope else Fraction(-1)
                if value.denominator != 1 or value < 1:
                    raise ValueError(f"{dim} is {size} for no size {name} of 1 or more")
                sizes[name] = int(value)
    for dim, size in pairs:
        if not dim.symbols <= sizes.keys():
            raise ValueError(f"the sizes {sorted(dim.symbols - sizes.keys())} do not follow from the shapes")
        if dim.at(sizes) != size:
            raise ValueError(f"{dim} is {dim.at(sizes)} where {sizes}, and came as {size}")
    return sizes
