"""Inputs of a function whose gradient is taken, and what comes out of it.

Outside vmap and forward mode the inputs are leaves on the ordinary tape, with an edge to where they
came from: gradients of gradients are what the tape records. Inside them the function gets a tape of
its own level (`_levels.Taped`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..tape.accumulate import AccumulateGrad, FuncInput
from ..tape.backward import pull_edges
from ..tape.modes import grad_mode, state
from ..tape.passes import Pass, reachable
from ..tensors.base import Tensor, new_tensor
from ..tensors.types import named
from .levels import Frame, Taped, is_wrapper, needs_own_tape, peel, untaped, wrap

ONLY_FLOATING = "only Tensors of floating point dtype can require gradients"


def _dispatches(x: Tensor) -> bool:
    return type(x).__torch_dispatch__ is not Tensor.__torch_dispatch__


def _is_plain(x: Tensor) -> bool:
    """Whether a tensor is its memory: not sparse, lazy or a wrapper."""
    return not _dispatches(x) and not hasattr(x, "_check_operand")


class Tracker:
    """The inputs of one function, tracked; `outer` is whether the tape was on outside."""

    def __init__(self, frame: Frame, tensors: Sequence[Tensor], outer: bool):
        self.depth, self.outer = frame.depth, outer
        self.own_tape = needs_own_tape() or any(map(is_wrapper, tensors))
        self.originals, self.given = list(tensors), []
        self.inputs = [self._tracked(x) for x in tensors]
        self.edges = [x._ge for x in self.inputs]

    def _tracked(self, x: Tensor) -> Tensor:
        if not (x.is_floating_point() or x.is_complex()):
            raise RuntimeError(ONLY_FLOATING)
        if self.own_tape:
            return wrap(Taped(self.depth, x), (FuncInput(None), 0))
        if _dispatches(x):  # it stays of its class
            alias = x.detach()
            alias._ge = FuncInput(x._edge()), 0
            return alias
        return new_tensor(x._read(), (FuncInput(x._edge()), 0))

    def is_tracked(self, y) -> bool:
        """Whether an output depends on the inputs (or, on the ordinary tape, on anything)."""
        if self.own_tape:
            return is_wrapper(y) and y._level.depth == self.depth and y._ge is not None
        return isinstance(y, Tensor) and y._level is None and y._edge() is not None

    def sees_outside(self, outputs: Sequence[Tensor]) -> bool:
        """Whether outputs on the ordinary tape have a history beyond the inputs."""
        if self.own_tape:
            return False
        mine = {node for node, _ in self.edges}
        if any(node.edges[0] is not None for node in mine):
            return True
        nodes = reachable([y._ge[0] for y in outputs if self.is_tracked(y)])
        return any(isinstance(n, AccumulateGrad) and n not in mine and getattr(n, "open", True) for n in nodes)

    def give(self, frame, tensors: Sequence[Tensor]):
        """Note the arguments that nothing is differentiated by, which the function may write to."""
        if not self.own_tape:
            self.given = [(x, x._read()) for x in tensors if x._level is None and _is_plain(x)]
            frame.given = frozenset([id(x) for x, _ in self.given])

    def apart(self, outputs: list) -> list:
        """Outputs as they are now: arguments that were written to lose their history when the function has returned."""
        written = {id(x) for x, value in self.given if x._read() is not value}
        return [new_tensor(y._read(), y._ge) if id(y) in written else y for y in outputs]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        """The function has returned: what it has written to is as the caller sees it."""
        for x, value in self.given:
            if x._read() is not value:
                x._ge = self.released(x, self.sees_outside([x]))._ge
        for node, _ in self.edges:
            node.open = False

    def released(self, y, outside: bool):
        """An output (or auxiliary output) as the caller sees it."""
        if not isinstance(y, Tensor):
            return y
        if self.own_tape:
            y = peel(y, self.depth)
            return y if self.outer else untaped(y)
        if y._level is not None or outside and self.outer or y._edge() is None:
            return y
        return y.detach() if _dispatches(y) else new_tensor(y._kept())

    def pull(self, outputs: Sequence[Tensor], cts: Sequence[Tensor], retain: bool, outside: bool) -> list[Tensor]:
        """The gradients of the inputs, zeros where an input was not used."""
        pairs = [(y._ge, c) for y, c in zip(outputs, cts) if self.is_tracked(y)]
        roots, cts = [e for e, _ in pairs], [c for _, c in pairs]
        if self.own_tape:
            found = self._pull_own(roots, cts, retain)
        else:
            create = state.enabled and (outside or any(map(has_history, cts)))
            found = pull_edges(roots, self.edges, cts, retain or create, create)
        return [zeros_like(x) if g is None else g for g, x in zip(found, self.originals)]

    def _pull_own(self, roots, cts, retain: bool) -> list:
        p = Pass(False, retain, dict.fromkeys(self.edges), accumulate=False)
        p.run(roots, cts)
        found = [p.captured.get(e) for e in self.edges]
        return [None if g is None else peel(g, self.depth) for g in found]


def has_history(x: Tensor) -> bool:
    """Whether some tape, at whatever level, knows a tensor."""
    while True:
        if x._edge() is not None:
            return True
        if x._level is None:
            return False
        tangent = getattr(x._level, "tangent", None)
        if tangent is not None and has_history(tangent):
            return True
        x = x._level.below


def zeros_like(x: Tensor) -> Tensor:
    """Zeros of a tensor's shape, without history."""
    with grad_mode(False):
        return named("zeros_like")(untaped(x))
