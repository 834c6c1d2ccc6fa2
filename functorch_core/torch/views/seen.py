"""Views whose call was seen before: recorded and made at once.

What a view shows follows from the tensor's aval and the other arguments (and, of those that depend on strides, from
the tensor being contiguous). So a call that was made before needs neither to look at its arguments nor to find a
lens and the op that reads it: it appends to the recording and makes one alias and one tensor.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.aval import Aval, aval
from ...engine import Unit, Value
from ...engine.recorder import is_computed, leaves_nothing_out, record
from ...engine.value import SMALL, at_hand, computed
from ...engine.written_out import NAMES as RECORDING
from ...engine.written_out import recording
from ..tape.apply import op_node
from ..tape.modes import state
from ..tape.node import Taped, sequence
from ..tensors.active import active
from ..tensors.base import Tensor
from .at_hand import whole_of
from .cells import Alias, Cell, based_on, few_at_hand, getter, is_on_tape, make_view, mark_inference, share
from .lenses import KINDS, Lens
from .several import ONE_NODE, getters
from .spread import SPREAD
from .strides import contiguous_strides, is_dense

MOST = 4096  # calls that an op keeps
MOST_INTS = 8  # of a lens of which only some vary


class Seen:
    """What a call of a view was found to be: a lens, and the op that reads it. The ints of the lens may vary; where
    only some do, `open` says which. `element`: where it looks at one element, its place, None for an int of the lens;
    `part`: where it looks at few numbers one after the other, which (`part_of`).

    `by_strides` says that it is so of contiguous tensors only, `contiguous` whether of such a tensor the view is, too.
    """

    __slots__ = (
        "lenses",
        "ints",
        "open",
        "element",
        "part",
        "others",
        "of",
        "shown",
        "is_traced",
        "op",
        "unit",
        "permuting",
        "by_strides",
        "contiguous",
        "how",
        "saves_ints",
    )

    def __init__(self, lens: Lens, a: Aval, by_strides: bool = False, open_places: tuple[int, ...] = ()):
        kind = KINDS[lens.kind]
        self.open, self.element = open_places, element_of(lens, a)
        self.lenses, self.ints, self.others = (lens,), lens.ints, (None,) * len(lens.ints)
        self.of, self.how, self.is_traced = a, None, False
        self.by_strides, self.permuting = by_strides, kind.permuting
        shape, strides, _ = kind.layout(a.shape, contiguous_strides(a.shape), 0, *lens.params, *lens.ints)
        self.contiguous, self.shown = is_dense(shape, strides, contiguous_strides(shape)), aval(shape, a.dtype)
        self.part = part_of(lens, a) if self.element is None and self.contiguous and a.nbytes < SMALL else None

    def __getattr__(self, name: str) -> Any:
        if name not in ("op", "unit"):
            raise AttributeError(name)
        # The first time that it is recorded: to trace it takes 40 us, and what is at hand needs no op.
        self.op = getter((self.lenses[0].static,), self.of)
        self.unit, self.is_traced = self.op.unit, True
        return self.op if name == "op" else self.unit

    def read(self, of: Value, alias: Alias, ints: tuple[int, ...]) -> Value | None:
        """The element, where it can be had of a host array without a recording (x[i, j].item(): 2 us for 9): of the
        tensor's value, or of the cell's that the tensor is a part of (x[i][j]). Several, while nothing is recorded
        that they could be a part of."""
        if self.element is None:
            array = at_hand(of) if leaves_nothing_out() else None
            return None if array is None else computed(self.shown, array[self.part(ints)])
        if of.recording is None or is_computed(of):
            array = at_hand(of)
            return None if array is None else computed(self.shown, np.array(array[tuple(self._place(ints))]))
        array = whole_of(alias)
        if array is None:
            return None
        _, strides, offset = alias.layout()
        place = offset + sum(map(operator.mul, strides, self._place(ints)))
        return computed(self.shown, np.array(array.reshape(-1)[place]))

    def _place(self, ints: tuple[int, ...]) -> Sequence[int]:
        """Where the element is."""
        return place_of(self.element, ints)

    def taped(self) -> Taped | None:
        """How to differentiate it; None if that is not as simple as with most views."""
        if self.how is None:
            how = self.op.taped((True, *[False] * len(self.others)))
            self.how = False if how is None or how.forward.multiple or how.saved_outputs else how
            self.saves_ints = bool(self.how) and how.saved_inputs == tuple(range(1, 1 + len(self.others)))
        return self.how or None


def element_of(lens: Lens, a: Aval) -> tuple[int | None, ...] | None:
    """Where the one element is that a lens shows of a tensor of this aval; None for other lenses."""
    spec = spec_of(lens, a)
    if not spec or lens.params[1] or any([stays for _, _, _, stays in spec]):
        return None
    return tuple([start for start, _, _, _ in spec])


def part_of(lens: Lens, a: Aval) -> Callable[[tuple[int, ...]], Any] | None:
    """What gives, of the ints of a lens, NumPy's index of the elements that it shows of a tensor of this aval, as
    quickly as can be; None for other lenses."""
    spec = spec_of(lens, a)
    if not spec or lens.params[1]:
        return None
    if not lens.ints:
        index = region_of(spec, ())
        return lambda ints: index
    start, length, step, stays = spec[0]
    is_rows = all([part == (0, n, 1, True) for part, n in zip(spec[1:], a.shape[1:])])
    if start is not None or step != 1 or not is_rows:
        return functools.partial(region_of, spec)
    return (lambda ints: slice(ints[0], ints[0] + length)) if stays else operator.itemgetter(0)


def spec_of(lens: Lens, a: Aval) -> tuple[tuple, ...] | None:
    """Which elements a lens shows along each dimension of a tensor of this aval (see `kinds`); None if they lie
    otherwise."""
    if lens.kind not in ("index", "select", "unbind") or len(lens.params[0]) != len(a.shape):
        return None
    return lens.params[0]


def where_of(lens: Lens, a: Aval) -> Callable | None:
    """What gives, of the ints of a lens, NumPy's index of the elements that it shows; None if they lie otherwise."""
    element, spec = element_of(lens, a), spec_of(lens, a)
    if element is not None:
        return functools.partial(place_of, element)
    return None if spec is None else functools.partial(region_of, spec)


def part_of_few(tensor: Tensor, lens: Lens) -> np.ndarray | None:
    """What a lens shows of a tensor of few numbers at hand; None where there is no telling without tracing it."""
    array = few_at_hand(tensor)
    if array is None or lens.kind not in ("index", "select") or lens.params[1]:
        return None
    where = where_of(lens, tensor._value.aval)
    return None if where is None else np.asarray(array[where(lens.ints)])


def place_of(element: tuple[int | None, ...], ints: tuple[int, ...]) -> tuple[int, ...]:
    """Where an element is whose place leaves the ints of its lens open."""
    if len(ints) == len(element):
        return ints
    given = iter(ints)
    return tuple([next(given) if i is None else i for i in element])


def region_of(spec: Sequence[tuple], ints: tuple[int, ...]) -> tuple[int | slice, ...]:
    """Which elements a lens of this spec shows, as NumPy's index; what it leaves open, the ints say."""
    given, found = iter(ints), []
    for start, n, step, stays in spec:
        if start is None:
            start = next(given)
        found.append(slice(start, start + n * step, step) if stays else start)
    return tuple(found)


def units_of(known: Seen | SeenSeveral | None) -> list[Unit]:
    """The units that are recorded of what a call was found to be."""
    return [] if known is None or known.__class__ is Seen and not known.is_traced else known.op.units()


def remember(seen: dict, key: tuple, tensor: Tensor, made: Tensor, ints: tuple = (), by_strides: bool = False):
    """After a call: what it was, if the result shows the tensor through one lens more; `ints` are those of the lens
    that the key leaves open. Not before the second time, as many calls come but once."""
    if key not in seen:
        if len(seen) >= MOST:
            seen.clear()
        seen[key] = None
        return
    if seen[key] is not None:
        return
    view, alias = made._view, tensor._view
    if made is tensor or view.__class__ is not Alias or view.cell is not alias.cell or view.seen == SPREAD:
        return
    chain, contiguous = view.chain, alias.contiguous
    if chain and chain[:-1] == alias.chain and (contiguous or not by_strides):
        open_places = places(ints, chain[-1].ints)
        if open_places is not None:
            seen[key] = Seen(chain[-1], tensor._value.aval, by_strides, open_places)


def places(ints: tuple[int, ...], of_lens: tuple[int, ...]) -> tuple[int, ...] | None:
    """Where among the ints of a lens those are that a key leaves open: () for all of them, or if there are none; None
    if that cannot be told of these."""
    if ints in ((), of_lens):
        return ()
    if len(of_lens) > MOST_INTS:
        return None
    fitting = [
        found
        for found in itertools.combinations(range(len(of_lens)), len(ints))
        if all([of_lens[place] == i for place, i in zip(found, ints)])
    ]
    return fitting[0] if len(fitting) == 1 else None


def filled(of_lens: tuple[int, ...], open_places: tuple[int, ...], ints: tuple[int, ...]) -> tuple[int, ...]:
    """The ints of a lens with others in the places that are open; the others where all are."""
    if not open_places:
        return ints
    found = list(of_lens)
    for place, i in zip(open_places, ints):
        found[place] = i
    return tuple(found)


# With what records it as a part of the text: 0.05 us of 0.9.
SEE_AGAIN = """
def see_again(known, tensor, ints=()):
    if ints and known.open:
        ints = filled(known.ints, known.open, ints)
    alias = tensor._view
    if alias is None:
        if known.by_strides and tensor._strides is not None:
            return None
        alias, value = share(tensor), tensor._value
        cell = alias.cell
    else:
        cell = alias.cell
        if known.by_strides and not alias.contiguous:
            return None
        if cell.__class__ is not Cell:  # shared: nothing is recorded
            if active.marks_inference or is_on_tape(tensor):
                return None
            lens = known.lenses[0]
            return cell.make_view(tensor, new_tuple(Lens, (lens.kind, lens.params, ints)) if ints else lens, known)
        value = tensor._value if alias.seen == cell.version else cell.show(tensor, alias)
    lenses, enabled, edge = known.lenses, state.enabled, tensor._ge
    if ints:
        kind, params, _ = lenses[0]
        lenses = (new_tuple(Lens, (kind, params, ints)),)
    else:
        ints = known.ints
    made = new(Tensor)
    if edge is not None and enabled:
        how = known.how or known.taped()
        if how is None or active.careful and (state.watched or active.marks_inference or edge[0].lost):
            return None
        unit = how.forward
        node = new(known.op.node_class)  # what OpNode(...) does: 0.3 us less
        node.edges, node.n_outputs, node.extras = (edge, *known.others) if ints else (edge,), 1, None
        node.sequence = next(sequence)
        node.op, node.taped, node.versions = known.op, how, ()
        if not how.saved_inputs:
            node.saved = ()
        else:
            node.saved = [*ints] if known.saves_ints else [(value, *ints)[i] for i in how.saved_inputs]
        made._ge = node, 0
    else:
        unit, made._ge = None, None
    of = value
    value = None if unit is not None or known.element is known.part else known.read(of, alias, ints)
    if value is None and unit is None:
        unit = known.unit
    if value is not None:
        pass
    elif not ints:
{record}
    elif len(ints) == 1:
        (i,) = ints
{record_row}
    elif len(ints) == 2:
        i, j = ints
{record_two}
    else:
        value = record(unit, (of, *ints), 2)
    made._value = value
    view = made._view = new(Alias)
    view.cell, view.seen, view.untracked = cell, cell.version, alias.untracked
    chain, base = alias.chain, alias.base
    view.chain = chain + lenses if chain else lenses
    if not enabled:
        source = alias.source if base is None else base
        view.base, view.source, view.refuses = None, tensor if source is None else source, None
        if edge is not None:
            view.leave_tape(made)
        elif base is not None:
            view.refuses = alias.refuses
    elif base is None:
        view.base, view.skip, view.refuses = tensor, len(chain), None
        view.source = None
    else:
        view.base, view.skip, view.refuses = base, alias.skip, alias.refuses
        view.source = None
    view.permuted = True if known.permuting else alias.permuted
    view.contiguous = known.contiguous if alias.contiguous else None
    view.written, view.earlier = False, 0
    if active.marks_inference:
        mark_inference(tensor, made)
    return made
"""


def _written_out() -> Callable[..., Tensor | None]:
    """see_again(known, tensor, ints): the view of a tensor, while nothing is active; None where that is not so simple.
    `ints` are those of the lens that vary."""
    names = {"record": [], "record_row": ["i"], "record_two": ["i", "j"]}
    text = SEE_AGAIN.format(**{name: recording(["of"], 2, ints, 8) for name, ints in names.items()})
    exec(compile(text, __file__, "exec"), NAMES, found := {})  # under this file's name
    return found["see_again"]


_new = object.__new__
NAMES: dict[str, Any] = {
    **RECORDING,
    "Alias": Alias,
    "Cell": Cell,
    "Lens": Lens,
    "Tensor": Tensor,
    "active": active,
    "filled": filled,
    "is_on_tape": is_on_tape,
    "mark_inference": mark_inference,
    "new": _new,
    "new_tuple": tuple.__new__,
    "record": record,
    "sequence": sequence,
    "share": share,
    "state": state,
}
see_again = _written_out()


def see_each(tensor: Tensor, lenses: Sequence[Lens]) -> list[Tensor]:
    """Views of a plain tensor through one lens each, most of which differ in their ints alone, while nothing is active;
    1.4 us each for 4.4."""
    found: dict[tuple, Seen] = {}
    views = []
    for lens in lenses:
        known = found.get(lens.static)
        if known is None:
            known = found[lens.static] = Seen(lens, tensor._value.aval)
        view = see_again(known, tensor, lens.ints)
        views.append(make_view(tensor, lens) if view is None else view)
    return views


# ---- several views by one call ---------------------------------------------------------------------


class SeenSeveral:
    """What a call of several views was found to be: the views, and the one op that reads them all; on the tape (from
    the first such call on) how it is differentiated, and what is said of writing to each."""

    __slots__ = ("parts", "ints", "op", "how", "refuses")

    def __init__(self, parts: list[Seen], a: Aval):
        self.parts, self.ints = parts, [i for part in parts for i in part.ints]
        self.op, self.how, self.refuses = getters(tuple([part.lenses[0].static for part in parts]), a), None, ()

    def remember_taped(self, made: Sequence[Tensor]):
        """After a call on the tape."""
        if all([x._ge is not None and x._ge[0] is made[0]._ge[0] for x in made]):
            node = made[0]._ge[0]
            if node.op is self.op and not (node.taped.saved_outputs or node.taped.n_kept):
                self.how, self.refuses = node.taped, [x._view.refuses for x in made]


def remember_several(seen: dict, key: tuple, tensor: Tensor, made: tuple, _ints: tuple, by_strides: bool):
    """remember() of a call that returns several views."""
    if not 0 < len(made) <= ONE_NODE:
        return
    if key not in seen:
        remember(seen, key, tensor, tensor)
        return
    known = seen[key]
    if known is None:
        found: dict = {}
        for i, view in enumerate(made):
            found[i] = None
            remember(found, i, tensor, view, (), by_strides)
        if None in found.values():
            return
        known = seen[key] = SeenSeveral(list(found.values()), tensor._value.aval)
    if tensor._ge is not None and state.enabled and known.how is None:
        known.remember_taped(made)


def see_several(known: SeenSeveral, tensor: Tensor) -> tuple[Tensor, ...] | None:
    """The views of a tensor, while nothing is active; None where that is not so simple."""
    alias, enabled = tensor._view or share(tensor), state.enabled
    cell, first = alias.cell, known.parts[0]
    if cell.shared or first.by_strides and not alias.is_contiguous():
        return None
    values = [tensor._value if alias.seen == cell.version else cell.show(tensor, alias), *known.ints]
    node, edge = None, tensor._ge
    if edge is None or not enabled:
        outs = record(known.op.unit, values, 3)
    elif known.how is None or active.careful and (state.watched or edge[0].lost):
        return None
    else:
        outs = record(known.how.forward, values, 3)
        edges = (edge, *[None] * len(known.ints))
        node = op_node(known.op, known.how, edges, [values[i] for i in known.how.saved_inputs], ())
    base, skip, source = based_on(tensor, alias)
    chain, seen, untracked, contiguous = alias.chain, cell.version, alias.untracked, alias.contiguous
    left, views = edge is not None and not enabled, []
    for i, part in enumerate(known.parts):
        made = _new(Tensor)
        made._value = outs[i]
        view = made._view = _new(Alias)
        view.cell, view.seen, view.untracked, view.base, view.skip = cell, seen, untracked, base, skip
        view.chain, view.permuted = chain + part.lenses, True if part.permuting else alias.permuted
        view.contiguous, view.written, view.earlier = part.contiguous if contiguous else None, False, 0
        view.source = source
        if node is None:
            view.refuses = None
            if left:
                view.leave_tape(made)
        else:
            made._ge, view.refuses = (node, i), known.refuses[i]
        if active.marks_inference:
            mark_inference(tensor, made)
        views.append(made)
    return tuple(views)
