"""NaN checks on request: which operation made the first NaN, and the user's line that called it.

    FUNCTORCH_DEBUG_NANS=1 in the environment, or `with fc.debug_nans():`

Results are looked at, compiled ones too. Where one has a NaN, its graph is computed again, node by
node with NumPy, up to the first node that makes one.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import xla
from ..core import dtypes as dt
from ..core import trace
from ..core.aval import aval_of
from ..core.graph import Graph, Node
from .modes import set_tier, settings
from .recorder import flush
from .sources import line_of

MADE = """{what}: `{op}` of {operands} computed {count} {what}{place}.
    It is the first operation of `{name}` with a {what} in its result; {cause}.
    Mask its operands with fc.where before it, not its result behind it: the derivative of what was
    masked is NaN all the same."""
ONLY_COMPILED = """{what}: `{name}` computed a {what} when compiled, and none by NumPy's reference.
    The values are near a limit of their dtype; fc.float64 or a rescaling will tell."""
FOUND = {"nan": np.isnan, "inf": np.isinf}


@contextlib.contextmanager
def debug_nans(on: bool = True) -> Iterator[None]:
    """Context: FloatingPointError, naming operation and line, as soon as a result has a NaN.

    Eager operations run one by one inside; compiled functions run compiled.

    >>> import functorch_core as fc
    >>> with fc.debug_nans():
    ...     y = fc.log(fc.asarray(1.))
    """
    with _watching("nan", on):
        yield


@contextlib.contextmanager
def debug_infs(on: bool = True) -> Iterator[None]:
    """Context: FloatingPointError, naming operation and line, as soon as a result has an infinity.

    >>> import functorch_core as fc
    >>> with fc.debug_infs():
    ...     y = fc.exp(fc.asarray(1.))
    """
    with _watching("inf", on):
        yield


@contextlib.contextmanager
def _watching(kind: str, on: bool) -> Iterator[None]:
    flush("NaN checks change")
    saved = settings.watched, settings.tier
    watched = saved[0] | {kind} if on else saved[0] - {kind}
    try:
        _switch(watched, "immediate" if on else saved[1])
        yield
        flush("NaN checks change")
    finally:
        _switch(*saved)


def _switch(watched: frozenset[str], tier: str) -> None:
    settings.watched, settings.debug_nans = watched, bool(watched)
    set_tier(tier)


def found_in(x: np.ndarray) -> int:
    """How many elements of an array are what is watched for."""
    if x.dtype not in dt.INEXACT:
        return 0
    return sum(int(FOUND[kind](x).sum()) for kind in settings.watched)


def has_nan(x: Any) -> bool:
    """Whether an array or a buffer has what is watched for: a NaN, an infinity."""
    return found_in(x if isinstance(x, np.ndarray) else xla.to_numpy(x)) > 0


def _what(arrays: Sequence[Any]) -> str:
    """What is found in arrays."""
    nan = any(x.dtype in dt.INEXACT and np.isnan(x).any() for x in arrays)
    return "NaN" if nan and "nan" in settings.watched else "infinity"


def check(
    graph: Graph, name: str, args: Sequence[np.ndarray], outs: Sequence[Any], recorded: Sequence[Any] | None = None
) -> None:
    """FloatingPointError if one of the outputs of a graph at these arguments has a NaN.

    `recorded`: where the graph was recorded, if not where its nodes say (the first call of a unit).
    """
    if any(map(has_nan, outs)):
        _locate(graph, name, args, line_of(recorded) if recorded else "")
        found = [x if isinstance(x, np.ndarray) else xla.to_numpy(x) for x in outs]
        raise FloatingPointError(ONLY_COMPILED.format(name=name, what=_what(found)))


def _locate(graph: Graph, name: str, args: Sequence[np.ndarray], place: str) -> None:
    def watch(node: Node, args: list[Any], outs: list[Any]) -> None:
        if node.primitive is not trace.constant_p and any(map(has_nan, outs)):
            raise FloatingPointError(_message(name, node, args, outs, place))

    with trace.outside_traces(), trace.watching(watch):
        trace.evaluate(graph, args)


def _message(name: str, node: Node, args: list[Any], outs: list[Any], place: str) -> str:
    cause = "an operand had one already" if any(map(has_nan, args)) else "its operands had none"
    if not place and node.source:
        place = "{}:{} in {}".format(*node.source)
    return MADE.format(
        op=node.primitive.name,
        name=name,
        cause=cause,
        count=sum(map(found_in, outs)),
        what=_what(outs),
        place=f", at {place}" if place else "",
        operands=", ".join(str(aval_of(a)) for a in args) or "nothing",
    )


if os.environ.get("FUNCTORCH_DEBUG_NANS", "0") not in ("", "0"):
    _switch(frozenset({"nan"}), "immediate")
