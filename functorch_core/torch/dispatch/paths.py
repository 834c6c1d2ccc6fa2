"""Calls of ops whose like was seen before: one function for each pattern of arguments.

What a call means follows from the classes of its arguments, from the avals of the tensors among them, and from the
others themselves. So an op has a path for each pattern of classes: a function that looks up what was found for these
avals and arguments, and records it. Its text follows from the pattern alone, so that ops share it; that of
`softmax(x, -1)` is

    def run(x0, x1):
        view, permuted = x0._view, False
        ...
        found = seen.get((v0.aval, x1))
"""

from __future__ import annotations

import functools
import math
import re
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from ...core import dtypes as dt
from ...engine.recorder import record
from ...engine.signatures import bounded
from ...engine.written_out import NAMES as RECORDING
from ...engine.written_out import recording
from ...interrupts import is_interrupt
from ...ops.signature import LITERALS, fits
from ..tape.apply import GraphOp, apply, apply_to
from ..tape.modes import state as modes
from ..tensors import types as _types
from ..tensors.active import SIMPLE as OVERRIDE_NOTHING
from ..tensors.active import active
from ..tensors.base import Tensor
from .parameter import Parameter
from .slots import FLOATS, MAX_HALF, MAYBE, SEVERAL

PLAIN = frozenset({Tensor, Parameter})
OVERRIDE_NOTHING.update(PLAIN, {_types.dtype})
# Classes of static arguments that are keys as they are.
SIMPLE = frozenset({int, bool, str, type(None), _types.dtype, *map(type, dt.ALL)})
MOST = 4096  # signatures that a path keeps
PATTERNS = 256  # that an op keeps
INTS = {int}
NEW: Any = object()  # in the place of the path of a pattern that was not looked at yet

# What an argument is, by its slot and class.
TENSOR, LIST, STATIC, TRUTH, FLOAT, SIZES, INT_NUMBER, FLOAT_NUMBER, NOTHING = "TLSBFIifN"
INT_ELEMENT, FLOAT_ELEMENT = "eE"  # numbers that a path takes where the dtype of the first operand surely has them
ANY_NUMBERS = {int: INT_NUMBER, float: FLOAT_NUMBER}
ELEMENTS = {int: INT_ELEMENT, float: FLOAT_ELEMENT}
LOOSE = FLOATS | {dt.bool_}  # that have all numbers of half precision, as truths or in that which they become
WIDE = FLOATS - {dt.float16} | {dt.int32, dt.int64}
MAX_FLOAT = float(dt.finfo(dt.float32).max)
PAIR = "P"  # a list of two tensors, which is written out
LITERAL, PACKED = "lp"  # a number that is part of the key, and one that is an operand, where it is known which


def path_of(op, args: Sequence, kwargs: dict) -> Path | None:
    """The path of calls with arguments of these classes; None if they have to be looked at more closely."""
    if len(args) > op.n_positional or len(op.paths) >= PATTERNS:
        return None
    kinds = [_kind(slot, x.__class__) for slot, x in zip(op.slots, args)]
    last = len(args) - 1  # operands are in the order of the signature
    for name, x in kwargs.items():
        i = op.index.get(name, 0)
        in_order = i >= len(args) if op.slots[i] is None else i > last
        kinds.append(_kind(op.slots[i], x.__class__) if in_order else None)
        last = i if op.slots[i] is not None else last
    found = None
    if None not in kinds:
        by_kinds = "".join(kinds), *kwargs
        found = op.paths.get(by_kinds)
        if found is None:
            found = op.paths[by_kinds] = Path(by_kinds[0], op.finish)
    op.paths[pattern(args, kwargs)] = found
    if found is not None and kwargs:
        op.runs.named[pattern(args, kwargs)] = found.run
    elif found is not None:
        op.runs[classes_of(args)] = found.run
    return found


class Runs(dict):
    """What `run` of which path calls without names go to: by the class of one argument or the classes of several.
    `after_tensor`: the same of a Tensor and another, by the class of that (0.06 us less than by both). `named`: what
    calls with names go to, by their pattern."""

    def __init__(self):
        super().__init__()
        self.after_tensor: dict[type, Callable] = {}
        self.named: dict[tuple, Callable] = {}

    def __setitem__(self, classes: type | tuple[type, ...], run: Callable):
        super().__setitem__(classes, run)
        if classes.__class__ is tuple and len(classes) == 2 and classes[0] is Tensor:
            self.after_tensor[classes[1]] = run

    def find(self, args: Sequence) -> Callable | None:
        """That of these arguments."""
        return self.get(args[0].__class__ if len(args) == 1 else classes_of(args))

    def made_by_name(self, args: tuple, kwargs: dict) -> Any:
        """The result of a call with names; None of one that is new."""
        run = self.named.get(pattern(args, kwargs))
        return None if run is None else run(*args, *kwargs.values())

    def made_of_one(self, x, kwargs: dict) -> Any:
        """The same of a call with one argument and one name, as sum(x, dim=1)."""
        for name, value in kwargs.items():
            run = self.named.get((x.__class__, name, value.__class__))
            return None if run is None else run(x, value)


class NotGiven:
    """In the place of an argument that is not there."""


NOT_GIVEN: Any = NotGiven()


def given(places: tuple, rest: tuple) -> tuple:
    """The arguments of a call, of which the first ones have places of their own."""
    return (*places, *rest) if rest else tuple([x for x in places if x is not NOT_GIVEN])


class LookedUp:
    """A callable that looks first whether it knows how. (Arguments in places of their own are 0.05 us less than a tuple
    of them.)"""

    runs: Runs
    called: Callable  # what it does otherwise, of arguments and keywords

    def __call__(self, x=NOT_GIVEN, y=NOT_GIVEN, z=NOT_GIVEN, u=NOT_GIVEN, v=NOT_GIVEN, /, *rest, **kwargs):
        if active.plain:
            made = None
            try:
                if kwargs:
                    if y is NOT_GIVEN and len(kwargs) == 1:
                        made = self.runs.made_of_one(x, kwargs)
                    elif self.runs.named:
                        made = self.runs.made_by_name(given((x, y, z, u, v), rest), kwargs)
                elif y is NOT_GIVEN:
                    run = self.runs.get(x.__class__)
                    if run is not None:
                        made = run(x)
                elif z is NOT_GIVEN:
                    run = self.runs.get((x.__class__, y.__class__))
                    if run is not None:
                        made = run(x, y)
                elif u is NOT_GIVEN:
                    run = self.runs.get((x.__class__, y.__class__, z.__class__))
                    if run is not None:
                        made = run(x, y, z)
                elif v is NOT_GIVEN:
                    run = self.runs.get((x.__class__, y.__class__, z.__class__, u.__class__))
                    if run is not None:
                        made = run(x, y, z, u)
                elif not rest:
                    run = self.runs.get((x.__class__, y.__class__, z.__class__, u.__class__, v.__class__))
                    if run is not None:
                        made = run(x, y, z, u, v)
                else:
                    run = self.runs.get(tuple(map(type, (x, y, z, u, v, *rest))))
                    if run is not None:
                        made = run(x, y, z, u, v, *rest)
            except Exception as error:
                if is_interrupt(error):
                    raise
            if made is not None:
                return made
        args = given((x, y, z, u, v), rest)
        return self.called(args, kwargs)


def pattern(args: Sequence, kwargs: dict) -> tuple:
    """What a path is found by: the classes of the arguments."""
    return (*map(type, args), *kwargs, *map(type, kwargs.values())) if kwargs else tuple(map(type, args))


def classes_of(args: Sequence) -> type | tuple[type, ...]:
    """What `runs` of an op are found by. Those of few are written out: 0.1 us less than by `map`."""
    n = len(args)
    if n == 2:
        x, y = args
        return type(x), type(y)
    if n == 3:
        x, y, z = args
        return type(x), type(y), type(z)
    if n == 4:
        x, y, z, last = args
        return type(x), type(y), type(z), type(last)
    if n == 5:
        x, y, z, fourth, last = args
        return type(x), type(y), type(z), type(fourth), type(last)
    return type(args[0]) if n == 1 else tuple(map(type, args))


def _kind(slot, cls: type) -> str | None:
    if slot is None:
        return TRUTH if cls is bool else STATIC if cls in SIMPLE else {float: FLOAT, tuple: SIZES}.get(cls)
    if cls in PLAIN:
        return None if slot.reads_tensors else TENSOR
    if slot is SEVERAL:
        return LIST if cls is list or cls is tuple else None
    if slot is MAYBE and cls is type(None):
        return NOTHING
    if slot.takes_numbers:
        return (ELEMENTS if slot.checks_numbers else ANY_NUMBERS).get(cls)
    return None


class Path:
    """What is known of calls of one pattern: run(*arguments) is the result while nothing is active, None of a call that
    is new or not so simple; look(*arguments) its key and operands, or None."""

    __slots__ = ("run", "look", "seen", "finish")

    def __init__(self, kinds: str, finish: Callable):
        self.seen: dict[tuple, GraphOp] = bounded({}, GraphOp.units)
        self.run, self.look = _made(kinds)(self.seen, finish)
        _types.follow_default.append(self.seen)
        self.finish = finish

    def inside(self, *given):
        """run(*given) while a transform, or something else, is active."""
        found = self.look(*given)
        op = None if found is None else self.seen.get(found[0])
        return None if op is None else self.finish(apply(op, found[1]), op)

    def remember(self, op: GraphOp, given: Sequence, n_operands: int):
        """After a call: which op it was, if no default is an operand."""
        found = self.look(*given)
        if found is None or len(found[1]) != n_operands:
            return
        remember(self.seen, found[0], op)


def remember(found: dict, key, value):
    """Keep what was found for a key; of too many all are forgotten, so that those in use come back."""
    if len(found) >= MOST:
        found.clear()
    found[key] = value


# ---- the text of a path --------------------------------------------------------------------------

READ = """
        view, v{i} = x{i}._view, x{i}._value
        if view is not None:
            if view.seen != view.cell.version:
                v{i} = view.cell.show(x{i}, view)
            if view.permuted is not False and view.is_permuted():
                permuted = True"""
READ_LIST = """
        v{i}, k{i} = [], []
        for y in x{i}:
            if y.__class__ is not Tensor and y.__class__ not in PLAIN:
                return None
            view, v = y._view, y._value
            if view is not None:
                if view.seen != view.cell.version:
                    v = view.cell.show(y, view)
                if view.permuted is not False and view.is_permuted():
                    permuted = True
            v{i}.append(v)
            k{i}.append(v.aval)
            if y._ge is not None:
                taped = True"""
READ_PAIR = f"""
        x{{i}}a, x{{i}}b = x{{i}}
        if x{{i}}a.__class__ is not Tensor and x{{i}}a.__class__ not in PLAIN:
            return None
        if x{{i}}b.__class__ is not Tensor and x{{i}}b.__class__ not in PLAIN:
            return None{READ.replace("{i}", "{i}a")}{READ.replace("{i}", "{i}b")}"""
# 0.0 is part of a key, -0.0, which equals it, is packed.
IS_LITERAL = {
    **dict.fromkeys((INT_NUMBER, INT_ELEMENT), "(x{i} in LITERALS or not x{i})"),
    **dict.fromkeys((FLOAT_NUMBER, FLOAT_ELEMENT), "(x{i} in LITERALS or not x{i} and copysign(1, x{i}) > 0)"),
}
READ_NUMBER = """
        k{i}, v{i}, m{i} = (x{i}, (), ()) if {literal} else (None, (x{i},), (False,))"""
REFUSE = """
        if {refused}:
            return None"""
RUN = """
        permuted = taped = False{read}
        found = seen.get({key})
        if found is None:
            return None
        if ({taped}) and modes.enabled:
            mask = ({mask})
            made = (found.repeated.get(mask) or found.again(mask))({operands} {values})
        elif found.multiple:
            made = apply_to(found, ({operands}), ({values}), ())
        else:
{record}
            made = new(Tensor)
            made._value, made._ge, made._view = value, None, None
            if active.marks_inference and modes.inference:
                made._is_inference = True
        if permuted:
            active.lay_out(found, ({operands}), made)
        return finish(made, found) if found.multiple else made
"""
LOOK = """
    def look({arguments}):{read}
        return {key}, [{operands}]
"""
LOOK_LIST = """
        k{i} = []
        for y in x{i}:
            if y.__class__ not in PLAIN:
                return None
            k{i}.append(y._value.aval if y._level is None else y._level.aval)"""
REFUSED = {
    FLOAT: "x{i} != x{i}",
    SIZES: "not set(map(type, x{i})) <= INTS",
    INT_NUMBER: "not fits(x{i})",
    INT_ELEMENT: "not (-128 <= x{i} < 128 or -(2**31) <= x{i} < 2**31 and {dtype} in WIDE)",
    FLOAT_ELEMENT: "not (-MAX_FLOAT <= x{i} <= MAX_FLOAT and {dtype} is FLOAT32 or (-MAX_HALF <= x{i} <= MAX_HALF "
    "or x{i} == INF or x{i} == -INF) and {dtype} in LOOSE)",
    PACKED: "not fits(x{i})",
}


def _reading(kind: str, looking: bool, first: int) -> str:
    if kind == TENSOR:
        return "" if looking else READ
    if kind == LIST:
        return LOOK_LIST if looking else READ_LIST
    if kind == PAIR:
        return READ_PAIR
    dtype = f"({PARTS[TENSOR][looking].replace('{i}', str(first))}).dtype"
    refuse = REFUSE.replace("{refused}", REFUSED[kind].replace("{dtype}", dtype)) if kind in REFUSED else ""
    return refuse + READ_NUMBER.replace("{literal}", IS_LITERAL[kind]) if kind in IS_LITERAL else refuse


# What an argument adds to the key, to that of `look`, to the values, the operands and the mask of those on the tape.
PARTS = {
    TENSOR: ("v{i}.aval", "x{i}._value.aval if x{i}._level is None else x{i}._level.aval", "v{i}", "x{i}"),
    LIST: ("tuple(k{i})", "tuple(k{i})", "*v{i}", "*x{i}"),
    PAIR: ("(v{i}a.aval, v{i}b.aval)", "", "v{i}a, v{i}b", "x{i}a, x{i}b"),
    INT_NUMBER: ("k{i}", "k{i}", "*v{i}", "*v{i}"),
    **dict.fromkeys((FLOAT_NUMBER, INT_ELEMENT, FLOAT_ELEMENT), ("k{i}", "k{i}", "*v{i}", "*v{i}")),
    PACKED: ("None", "", "x{i}", "x{i}"),
    **dict.fromkeys((STATIC, TRUTH, FLOAT, SIZES, LITERAL), ("x{i}", "x{i}", "", "")),
    NOTHING: ("", "", "", ""),
}
ON_TAPE = {TENSOR: "x{i}._ge is not None", LIST: "taped", PAIR: "x{i}a._ge is not None or x{i}b._ge is not None"}
MASKS = {
    TENSOR: "x{i}._ge is not None",
    PAIR: "x{i}a._ge is not None, x{i}b._ge is not None",
    LIST: "*[y._ge is not None for y in x{i}]",
    **dict.fromkeys((INT_NUMBER, FLOAT_NUMBER, INT_ELEMENT, FLOAT_ELEMENT), "*m{i}"),
    PACKED: "False",
}


def _recording(kinds: str, values: str) -> str:
    """The lines that record an op of these values."""
    n = values.count(",")
    if 0 < n < 5 and "*" not in values and PACKED not in kinds:
        recorded = recording(values.rstrip(",").split(", "), 2, (), 12, off_tape=True)
        return f"{' ' * 12}unit = found.unit\n{recorded.rstrip()}"
    return f"            value = record(found.unit, ({values}), 3, True)"


def _filled(template: str, kinds: str, looking: bool) -> str:
    """The text of one of the two functions for arguments of these kinds."""

    def parts(of: Callable, between: str = ", ", end: str = "") -> str:
        found = [of(kind).replace("{i}", str(i)) for i, kind in enumerate(kinds)]
        return between.join([x for x in found if x]) + end

    def row(k: int) -> str:
        return parts(lambda kind: PARTS[kind][k], end=",").lstrip(",")

    values, key = row(2), row(1 if looking else 0)
    masks = dict.fromkeys(kinds, "") | MASKS
    if [kind for kind in kinds if kind in ON_TAPE] == [TENSOR]:
        masks[TENSOR] = "True"  # as it is looked at where one is on the tape
    return template.format(
        arguments=", ".join([f"x{i}" for i in range(len(kinds))]),
        read=parts(lambda kind: _reading(kind, looking, max(kinds.find(TENSOR), 0)), ""),
        key=key.rstrip(",") if len(kinds) == 1 else f"({key})",
        values=values,
        operands=row(3),
        mask=parts(masks.get, end=",").lstrip(","),
        taped=parts(lambda kind: ON_TAPE.get(kind, ""), " or ") or "False",
        record=_recording(kinds, values),
    )


UNCHECKED = f"[{INT_NUMBER}{FLOAT_NUMBER}]"
NUMBERS = f"[{''.join(IS_LITERAL)}]"


@functools.cache
def _made(kinds: str) -> Callable:
    """make(seen, finish) -> run, look for arguments of these kinds."""
    run = _filled(RUN, kinds, False)
    numbers = [i for i, kind in enumerate(kinds) if kind in IS_LITERAL]
    if numbers and LIST not in kinds:
        literal = " and ".join([IS_LITERAL[kinds[i]].replace("{i}", str(i)) for i in numbers])
        all_literal = _filled(RUN, re.sub(NUMBERS, LITERAL, kinds), False)
        packed = re.sub(UNCHECKED, PACKED, kinds)
        otherwise = run if len(numbers) > 1 or packed == kinds else _filled(RUN, packed, False)
        run = f"\n        if {literal}:{textwrap.indent(all_literal, '    ')}{otherwise}"
    elif kinds.count(LIST) == 1:
        pair = _filled(RUN, kinds.replace(LIST, PAIR), False)
        run = f"\n        if len(x{kinds.index(LIST)}) == 2:{textwrap.indent(pair, '    ')}{run}"
    run = _filled(f"\n    def run({{arguments}}):{run.replace('{', '{{').replace('}', '}}')}", kinds, False)
    text = f"def make(seen, finish):{run}{_filled(LOOK, kinds, True)}    return run, look\n"
    # Under this file's name, by which errors tell the library's frames from the user's.
    exec(compile(text, __file__, "exec"), NAMES, found := {})
    return found["make"]


NAMES: dict[str, Any] = {
    **RECORDING,
    "FLOAT32": dt.float32,
    "INF": math.inf,
    "INTS": INTS,
    "LITERALS": LITERALS,
    "LOOSE": LOOSE,
    "MAX_FLOAT": MAX_FLOAT,
    "MAX_HALF": MAX_HALF,
    "PLAIN": PLAIN,
    "Tensor": Tensor,
    "WIDE": WIDE,
    "active": active,
    "apply_to": apply_to,
    "copysign": math.copysign,
    "fits": fits,
    "modes": modes,
    "new": object.__new__,
    "record": record,
}
