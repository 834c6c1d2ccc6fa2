"""Graphs that differ in sizes alone: what was derived of some of them is had for others without deriving it.

A loop over batches of many lengths, or over images or graphs, calls the same ops at ever new sizes. To trace each and
to differentiate its graph takes longer than NumPy takes to compute it. So what came of calls, and of graphs, of one
form is compared: where every size and place in it is a function of one size, or of two or three and their products, as
one example more than that takes agrees, the next is written down from these (`size_functions`).

    graphs             reshape to (4, 17, 8)      reshape to (4, 22, 8)      reshape to (4, n, 8)
    their derivative   reshape to (68, 8)         reshape to (88, 8)         reshape to (4 n, 8)

A form is all of a graph, or of what a call was given, but sizes (which of a node's parameters are sizes, its primitive
declares: `Traits.sizes`). What was compared from `low` to `high` holds for as much again on either side, in steps that
divide all differences, so that what depends on a remainder is not taken for the rule; where the examples differ by
remainders of 2 or 4 (a convolution of stride 2), each remainder has its own. It does not hold for a size that
is equal to another one, or is 0 or 1, where those that were compared were not, nor where a size would be a fraction;
beyond `high` not for large arrays, below `low` not where any size would be less than 2. Whoever comes later and was not
served is compared, too; if it differs, nothing is served any more.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..core import dtypes as dt
from ..core.aval import Aval, aval
from ..core.graph import Graph, Literal, Node
from .size_functions import Function, Place, fitted, needed, places_of, values_at

MOST = 512  # forms that are kept
MEMBERS = 32  # graphs of a form that are compared with the next one
TRIED = (5, 8, 11, 16, 24)  # so many of them that vary alike are tried to be taken for functions of several sizes
LATEST = 6  # of those, as many are asked for each whether a third is on a line with both
LINES = 32  # ways in which the sizes of a form change
SIZES = 3  # of which what varies is a function
REMAINDERS = 4  # of sizes, of which each has what it makes
LARGEST_AHEAD = 1 << 22  # elements of arrays beyond what was compared: of more, ops make pieces, or count by int64
LARGEST = 1 << 23  # integers up to here are taken for sizes

Made = TypeVar("Made")


def resized(graph: Graph, what: Hashable, derive: Callable[[], Made]) -> Made:
    """derive(), a tuple of graphs and static values that follows from the graph and `what`; or the same, of what
    was derived for other sizes."""
    if "sizes" not in graph.memo:
        kind = graph.name, len(graph.nodes), tuple([(a.dtype, a.ndim) for a in graph.in_avals])
        graph.memo["sizes"] = Origin(_member(graph) if _again(kind) else None, ())
    member, of = graph.memo["sizes"]
    return derive() if member is None else _made_of(member, (*of, what), derive)


def made_at(key: tuple[Any, ...] | None, make: Callable[[], Made]) -> Made:
    """make(), a tuple of graphs and static values that follows from the key, in which there are avals; or the same, of
    what was made for other sizes. None is no key."""
    member = None if key is None else _member(key, is_known=False)
    return make() if member is None else _made_of(member, (), make)


class Origin(NamedTuple):
    """The graph or key, among those of its form, from which a graph follows, and what it is of that."""

    member: Member | None
    what: tuple[Hashable, ...]


def _made_of(member: Member, what: tuple[Hashable, ...], make: Callable[[], Made]) -> Made:
    """make(), or the same of other sizes. What is derived of graphs in it follows from the member, too."""
    made = member.made(what, make)
    if isinstance(made, tuple):
        for i, part in enumerate(made):
            if part.__class__ is Graph:
                part.memo.setdefault("sizes", Origin(member, (*what, i)))
    return made


# ---- forms ---------------------------------------------------------------------------------------


def described(x: Any, sizes: list[int]) -> Hashable:
    """All of a graph, or of a tuple of graphs and static values, but sizes, which are added to a list."""
    cls = x.__class__
    if cls is Graph:
        kinds = []
        for a in x.avals:
            sizes += a.shape
            kinds.append((a.dtype, a.ndim))
        nodes = [(node.primitive, node.inputs, node.outputs, *_parameters(node, sizes)) for node in x.nodes]
        return cls, x.name, x.inputs, x.outputs, tuple(kinds), tuple(nodes)
    if isinstance(x, tuple):
        return cls, tuple([described(y, sizes) for y in x])
    if cls is Aval:
        sizes += x.shape
        return cls, x.dtype, x.ndim
    if cls is Literal:
        form, size = _counted(x)
        if form:
            sizes.append(size)
            return form, x.aval.dtype
    return cls, repr(x) if cls is float else x  # 0.0 == -0.0


def _parameters(node: Node, sizes: list[int]) -> Iterator[Hashable]:
    """The parameters of a node, but for sizes."""
    declared = node.primitive.traits.sizes
    for name, value in node.params.items():
        if name not in declared:
            yield name, described(value, sizes)
        elif value.__class__ is tuple:
            sizes += value
            yield name, len(value)
        else:
            sizes.append(value)
            yield name


def _counted(x: Literal) -> tuple[str, int]:
    """What a number is of a size of 2 or more, and that: "n", or "1/n" as in a mean; "" if it is neither."""
    if x.aval.ndim or not isinstance(x.value, (np.ndarray, np.generic)) or x.aval.dtype in dt.COMPLEX:
        return "", 0
    value, largest = float(x.value), LARGEST
    if x.aval.dtype in dt.INEXACT:
        largest = int(0.25 / float(dt.finfo(x.aval.dtype).eps))  # up to here different sizes are different numbers
    if 2 <= value <= largest and value == round(value):
        return "n", round(value)
    n = round(1 / value) if 1 / largest <= value <= 0.5 else 0
    return ("1/n", n) if n and _literal("1/n", n, x.aval.dtype) == x else ("", 0)


def _literal(form: str, n: int, dtype: np.dtype) -> Literal:
    return Literal(np.asarray(1 / n if form == "1/n" else n).astype(dtype))


class Line:
    """Graphs of one form all of whose sizes are functions of one or a few, and what was derived of them."""

    def __init__(self, functions: list[Function], which: list[int], columns: tuple[int, ...]) -> None:
        self.functions, self.which, self.columns = functions, which, columns
        self.varies = [function.varies for function in functions]
        self.derived: dict[Hashable, Derived] = {}

    @classmethod
    def through(cls, sizes: list[list[int]], columns: tuple[int, ...]) -> Line | None:
        """The line that these are on, if there is one: functions of the sizes in these columns."""
        places = [tuple([s[i] for i in columns]) for s in sizes]
        found = fitted(places, sizes) if len(set(places)) == len(places) else None
        if found is None:
            return None
        line = cls(*found, columns)
        placed = [s for s in sizes if line.place(s) is not None]
        return line if len(placed) >= needed(len(columns)) else None

    def place(self, sizes: list[int]) -> Place | None:
        """The sizes that all of these follow from; None if they do not, or some are equal by accident."""
        place = tuple([sizes[i] for i in self.columns])
        values = values_at(self.functions, place)
        if values is None or len(set(values)) < len(values):
            return None
        if any([value < 2 for varies, value in zip(self.varies, values) if varies]):
            return None
        return place if [values[i] for i in self.which] == sizes else None


class Derived:
    """What was derived of the graphs of a line: examples, and once enough of them agree what it is for others."""

    def __init__(self, remainders: int = 1) -> None:
        self.examples: tuple[tuple[Place, Any], ...] = ()
        self.template: Template | None = None
        self.ranges: list[range] = []  # of each size: what was compared, and what the distances are multiples of
        self.remainders = remainders  # of what the examples' sizes have the same one
        self.parts: dict[Place, Derived] | None = None  # for sizes of other remainders
        self.differs = False  # there is none

    def at(self, place: Place) -> Any:
        """It for these sizes, None where that is not known."""
        if self.parts is not None:
            part = self.parts.get(self._remainder(place))
            return None if part is None else part.at(place)
        template, beyond, below = self.template, False, False
        if template is None:
            return None
        for n, compared in zip(place, self.ranges):
            low, high = compared.start, compared.stop
            if not 2 * low - high <= n <= 2 * high - low or (n - low) % compared.step:
                return None
            beyond, below = beyond or n > high, below or n < low
        made = template.at(place, least=2 if below else None)
        return None if beyond and _largest(made) > LARGEST_AHEAD else made

    def learn(self, place: Place, made: Any) -> None:
        """It is this for these sizes."""
        template = self.template
        if self.parts is not None:
            self.parts.setdefault(self._remainder(place), Derived(2 * self.remainders)).learn(place, made)
        elif template is not None:
            self.ranges = [_with(n, compared) for n, compared in zip(place, self.ranges)]
            if not _same(template.at(place), made):
                self._give_up(((place, made),))
        elif not self.differs and all([place != known for known, _ in self.examples]):
            examples = self.examples = (*self.examples, (place, made))  # others may add to them meanwhile
            if len(examples) >= needed(len(place)):
                self._compare(examples)

    def _remainder(self, place: Place) -> Place:
        return tuple([n % (2 * self.remainders) for n in place])

    def _give_up(self, examples: tuple[tuple[Place, Any], ...]) -> None:
        """It is no function of the sizes; perhaps it is for those of one remainder."""
        self.template, self.examples = None, ()
        if self.remainders >= REMAINDERS:
            self.differs = True
            return
        self.parts = {}
        for place, made in examples:
            self.learn(place, made)

    def _compare(self, examples: tuple[tuple[Place, Any], ...]) -> None:
        rows: list[list[int]] = [[] for _ in examples]
        forms = [described(made, sizes) for (_, made), sizes in zip(examples, rows)]
        places = [place for place, _ in examples]
        found = fitted(places, rows) if forms.count(forms[0]) == len(forms) else None
        if found is not None:
            self.ranges = [_range_of(sizes) for sizes in zip(*places)]
            self.template = Template(examples[0][1], *found)  # last: other threads ask for it
            self.examples = ()
        elif len(places) > needed(len(places[0])) and fitted(places, [[]] * len(places)) is not None:
            self._give_up(examples)  # one more may have been no function of the others


def _range_of(sizes: Sequence[int]) -> range:
    low = min(sizes)
    return range(low, max(sizes), math.gcd(*[n - low for n in sizes]) or 1)


def _with(n: int, compared: range) -> range:
    """A range that has n, too."""
    low, high = compared.start, compared.stop
    step = compared.step if high > low else 0
    return range(min(low, n), max(high, n), math.gcd(step, n - low) or 1)


def _largest(x: Any) -> int:
    """The elements of the largest value in a graph, or in a tuple of graphs and static values."""
    if x.__class__ is Graph:
        return max([a.size for a in x.avals], default=0)
    return max(map(_largest, x), default=0) if isinstance(x, tuple) else 0


def _same(one: Any, other: Any) -> bool:
    sizes: list[int] = []
    others: list[int] = []
    return described(one, sizes) == described(other, others) and sizes == others


class Member:
    """A graph among those of its form: its sizes, and what was derived of it."""

    def __init__(self, sizes: list[int]) -> None:
        self.sizes = sizes
        self.line: Line | None = None
        self.place: Place | None = None
        self.known: dict[Hashable, Any] = {}

    def made(self, what: Hashable, make: Callable[[], Made]) -> Made:
        """make(), or what others say that it is."""
        if self.line is None:
            found = self.known.get(what)
            if found is None:
                found = self.known[what] = make()
            return found
        derived = self.line.derived.setdefault(what, Derived())
        found = derived.at(self.place)  # type: ignore[arg-type]  # it is on the line
        if found is None:
            found = make()
            derived.learn(self.place, found)  # type: ignore[arg-type]
        return found


class Form:
    """Graphs of one form: the lines that their sizes are on, and some that are on none."""

    def __init__(self) -> None:
        self.lines: tuple[Line, ...] = ()
        self.members: tuple[Member, ...] = ()

    def member(self, sizes: list[int]) -> Member:
        """The one of these sizes."""
        for known in self.members:
            if known.sizes == sizes:
                return known
        new = Member(sizes)
        if not any([self._put(new, line) for line in self.lines]):
            self.members = (*self.members[1 - MEMBERS :], new)
            _unplaced[0] += 1
            self._find_line(new)
        return new

    def _put(self, member: Member, line: Line) -> bool:
        place = line.place(member.sizes)
        if place is None:
            return False
        for what, made in list(member.known.items()):
            line.derived.setdefault(what, Derived()).learn(place, made)
        member.place, member.known = place, {}
        member.line = line  # last: other threads ask for it
        return True

    def _find_line(self, new: Member) -> None:
        """A line through the new member and others, if there is one; all that are on it are put there."""
        varying: dict[tuple[bool, ...], list[Member]] = {}
        for one in self.members[:-1]:
            columns = tuple(map(operator.ne, one.sizes, new.sizes))
            for other in varying.setdefault(columns, [])[-LATEST:]:
                if _aligned(new.sizes, one.sizes, other.sizes) and self._line(
                    [new, one, other], (columns.index(True),)
                ):
                    return
            varying[columns].append(one)
        for alike in varying.values():
            if len(alike) in TRIED:
                columns_of = places_of([new.sizes, *[one.sizes for one in alike]], SIZES)
                if columns_of is not None and self._line([new, *alike], columns_of):
                    return

    def _line(self, members: list[Member], columns: tuple[int, ...]) -> bool:
        """Whether there is a line through these, on which they are now."""
        line = Line.through([one.sizes for one in members], columns)
        if line is not None:
            self.lines = (*self.lines[1 - LINES :], line)
            self.members = tuple([m for m in self.members if not self._put(m, line)])
        return line is not None


def _aligned(one: list[int], other: list[int], third: list[int]) -> bool:
    """Whether three lists of sizes may be on a line of one size, as the first two that vary say."""
    first: tuple[int, int] | None = None
    for x, y, z in zip(one, other, third):
        if first is None and x != y:
            first = y - x, z - x
        elif first is not None and first[0] * (z - x) != first[1] * (y - x):
            return False
    return True


_forms: dict[Hashable, Form] = {}
_kinds: set[Hashable] = set()  # of graphs and keys that were seen
_unplaced = [0]  # how many members were on no line when they came


def _again(kind: Hashable) -> bool:
    """Whether a kind of graph or key comes again: of what comes at one size only, hardly anything is kept."""
    if len(_forms) > MOST or _unplaced[0] > 4 * MOST or len(_kinds) > 16 * MOST:
        _forms.clear()
        _kinds.clear()
        _unplaced[0] = 0
    known = kind in _kinds
    _kinds.add(kind)
    return known


def _member(x: Any, is_known: bool = True) -> Member | None:
    """A graph or a key among those of its form; None if it holds what cannot be hashed, and for the first of a form
    that is not known."""
    sizes: list[int] = []
    form = described(x, sizes)
    try:
        if not (is_known or _again(form)):
            return None
        found = _forms.setdefault(form, Form())
    except TypeError:
        return None
    return found.member(sizes)


# ---- templates -----------------------------------------------------------------------------------


class Template:
    """A tuple of graphs and static values, whose sizes are functions of a few."""

    def __init__(self, example: Any, functions: list[Function], which: list[int]) -> None:
        self.functions = functions
        self.constant = [not function.varies for function in functions]
        self.example = _varying(example, _Numbers(iter(which), self.constant))

    def at(self, place: Place, least: int | None = None) -> Any:
        """It at a place; None where one of the numbers would be a fraction, or one that varies less than `least`."""
        values = values_at(self.functions, place)
        if values is None:
            return None
        if least is not None and any([v < least for is_constant, v in zip(self.constant, values) if not is_constant]):
            return None
        return _at(self.example, values)


class _Numbers(NamedTuple):
    """Which functions the sizes in something are, in the order of `described`."""

    which: Iterator[int]
    constant: list[bool]

    def take(self, n: int) -> tuple[int, ...] | None:
        """The next n of them; None if these are the same for all sizes."""
        taken = tuple([next(self.which) for _ in range(n)])
        return None if all([self.constant[i] for i in taken]) else taken


class Varying(NamedTuple):
    """What is something else for other sizes: made of the values of the functions."""

    build: Callable[[list[int]], Any]


def _at(x: Any, values: list[int]) -> Any:
    return x.build(values) if x.__class__ is Varying else x


def _varying(x: Any, numbers: _Numbers) -> Any:
    """Something that `described` looked at: itself if it is the same for all sizes, else Varying."""
    if x.__class__ is Graph:
        return _varying_graph(x, numbers)
    if x.__class__ is Literal:
        return _varying_literal(x, numbers)
    if x.__class__ is Aval:
        which = numbers.take(x.ndim)
        return x if which is None else Varying(lambda values: x.with_shape(tuple([values[i] for i in which])))
    if not isinstance(x, tuple):
        return x
    parts = [_varying(y, numbers) for y in x]
    if not any([part.__class__ is Varying for part in parts]):
        return x
    make = getattr(x, "_make", tuple)
    return Varying(lambda values: make([_at(part, values) for part in parts]))


def _varying_literal(x: Literal, numbers: _Numbers) -> Any:
    form, _ = _counted(x)
    which = numbers.take(1) if form else None
    return x if which is None else Varying(lambda values: _literal(form, values[which[0]], x.aval.dtype))


def _varying_graph(graph: Graph, numbers: _Numbers) -> Any:
    kinds: dict[Any, int] = {}  # avals, and dtypes with the functions that sizes are
    slots = []
    for a in graph.avals:
        which = numbers.take(a.ndim)
        slots.append(kinds.setdefault(a if which is None else (which, a.dtype), len(kinds)))
    nodes = [_varying_node(node, numbers) for node in graph.nodes]
    if not any([x.__class__ is Varying for x in nodes]) and all([k.__class__ is Aval for k in kinds]):
        return graph

    name, inputs, outputs = graph.name, graph.inputs, graph.outputs  # not the graph: it has memos
    memo = {"simplified": True} if "simplified" in graph.memo else {}

    def build(values: list[int]) -> Graph:
        avals = [k if k.__class__ is Aval else aval(tuple([values[i] for i in k[0]]), k[1]) for k in kinds]
        made = [x.build(values) if x.__class__ is Varying else x for x in nodes]
        found = Graph(name, inputs, made, outputs, [avals[i] for i in slots])
        found.memo.update(memo)
        return found

    return Varying(build)


def _varying_node(node: Node, numbers: _Numbers) -> Any:
    declared, varying = node.primitive.traits.sizes, {}
    for name, value in node.params.items():
        plan = _varying(value, numbers) if name not in declared else _varying_sizes(value, numbers)
        if plan.__class__ is Varying:
            varying[name] = plan
    if not varying:
        return node

    def build(values: list[int]) -> Node:
        params = {**node.params, **{name: plan.build(values) for name, plan in varying.items()}}
        return Node(node.primitive, node.inputs, node.outputs, params, node.source)

    return Varying(build)


def _varying_sizes(value: Any, numbers: _Numbers) -> Any:
    several = value.__class__ is tuple
    which = numbers.take(len(value) if several else 1)
    if which is None:
        return value
    if several:
        return Varying(lambda values: tuple([values[i] for i in which]))
    return Varying(lambda values: values[which[0]])
