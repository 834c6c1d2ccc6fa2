"""torch.utils.flop_counter: the floating point operations of a program.

They are counted in the recordings, when these are computed: the products of matrices and the
convolutions in the graphs of ops, those of backward passes among them. So they are counted whatever
op they are part of, where PyTorch knows some ops of its own; operations on vectors and elementwise
ones do not count, as in PyTorch.

Operators with a formula of the user's are watched as a profile watches them (`active.observer`): what a call of one
counts is what the formula says of its arguments, and nothing else. Without such formulas nothing is watched.
"""

from __future__ import annotations

import contextlib
import functools
import math
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from ....core.graph import Graph, Node, subgraphs
from ....core.warn import warn
from ....engine import flush
from ....engine.recorder import hooks
from ....primitives.convolution import conv_p
from ....primitives.dot import dot_general_p
from ...dispatch.overrides import observed
from ...tensors import pytree
from ...tensors.active import active
from ...tensors.base import Tensor
from ...tensors.types import Size
from ..library import ops
from ..library.called import operator_of
from .module_tracker import ModuleTracker

SUFFIXES = ("", "K", "M", "B", "T")


# Operator -> the formula that the user gave: formula(*args, **kwargs, out_val=result).
flop_registry: dict = {}

EXPECTED = (
    "register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. torch.ops.mylib.foo), "
    "JitFunction, or HigherOrderOperator, got {target} which is of type {type}"
)


def register_flop_formula(targets, get_raw: bool = False) -> Callable[[Callable], Callable]:
    """A decorator: a function is the formula by which calls of one operator, or several, are counted.

    It is given the arguments with shapes in place of tensors and the result's shape as `out_shape`; with `get_raw` the
    tensors, and the result as `out_val`. An operator has one formula.

    >>> from torch.utils.flop_counter import FlopCounterMode, register_flop_formula
    >>> @register_flop_formula(torch.ops.aten.erfinv)
    ... def of_erfinv(shape, out_shape=None, **kwargs):
    ...     return 20 * shape.numel()
    >>> with FlopCounterMode(display=False) as mode:
    ...     _ = torch.zeros(3).erfinv()
    >>> mode.get_total_flops()
    60
    """

    def register(formula: Callable) -> Callable:
        for target in targets if isinstance(targets, Iterable) and not _is_operator(targets) else [targets]:
            if not _is_operator(target):
                raise ValueError(EXPECTED.format(target=target, type=type(target)))
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = formula if get_raw else _of_shapes(formula)
        return formula

    return register


def _is_operator(x) -> bool:
    return isinstance(x, (ops.OpOverloadPacket, ops.HigherOrderOperator))


def _shapes(tree):
    return pytree.tree_map(lambda x: x.shape if isinstance(x, Tensor) else x, tree)


def _of_shapes(formula: Callable) -> Callable:
    @functools.wraps(formula)
    def counted(*args, out_val=None, **kwargs):
        args, kwargs, out_shape = _shapes((args, kwargs, out_val))
        return formula(*args, out_shape=out_shape, **kwargs)

    counted.of_shapes = formula
    return counted


class _Watched:
    """Is told of calls while operators with formulas are counted, and tells what was told before it."""

    def __init__(self, mode: FlopCounterMode, formulas: dict):
        self.mode, self.formulas = mode, {str(target): (target, formula) for target, formula in formulas.items()}
        self.inside, self.thread = False, threading.get_ident()  # inside: of an operator that has a formula
        self.outer = active.observer

    def _formula(self, function, kwargs):
        """(operator, formula) of a call; None where there is none."""
        if self.inside or threading.get_ident() != self.thread:
            return None
        return self.formulas.get((operator_of(function, kwargs) or "").replace("::", "."))

    def takes(self, function) -> bool:
        """Whether a call is counted by a formula, or somebody else wants to know of it."""
        return self._formula(function, {}) is not None or self.outer is not None and self.outer.takes(function)

    def call(self, function, args: Sequence, kwargs: dict):
        """The call of an operator."""
        found, tell = self._formula(function, kwargs), self.outer
        call = functools.partial(tell.call, function) if tell is not None and tell.takes(function) else None
        if found is None:
            return call(args, kwargs)
        operator, formula = found
        self.inside = True
        try:
            with self.mode.uncounted():
                out = call(args, kwargs) if call else function(*args, **kwargs)
        finally:
            self.inside = False
        self.mode.count(operator, formula(*args, **kwargs, out_val=out))
        return out

    def node(self, name: str, apply: Callable, grads: Sequence, create_graph: bool):
        """A node of a backward pass, which has no formula."""
        return apply(grads, create_graph) if self.outer is None else self.outer.node(name, apply, grads, create_graph)

    def mentions(self, *args, **kwargs):
        """An operator of PyTorch's that a profile lists."""
        if self.outer is not None:
            self.outer.mentions(*args, **kwargs)

    def accumulates(self, a, b):
        """A gradient is added to another."""
        if self.outer is not None:
            self.outer.accumulates(a, b)

    def range(self, *args, **kwargs):
        """A range of record_function."""
        return contextlib.nullcontext() if self.outer is None else self.outer.range(*args, **kwargs)


class _Tracker(ModuleTracker):
    """Has what is recorded counted before the modules change."""

    def changes(self):
        flush("a module begins or ends")


class FlopCounterMode:
    """Context that counts floating point operations, by module and by kind of operation.

    >>> with torch.utils.flop_counter.FlopCounterMode(display=False) as mode:
    ...     _ = torch.nn.Linear(3, 4)(torch.ones(2, 3))
    >>> mode.get_total_flops()
    48
    """

    def __init__(self, mods=None, depth: int = 2, display: bool = True, custom_mapping=None):
        if mods is not None:
            warn("mods argument is not needed anymore, you can stop passing it")
        self.depth, self.display = depth, display
        self.mod_tracker = _Tracker()
        self.flop_counts = defaultdict(lambda: defaultdict(int))
        own = () if custom_mapping is None else custom_mapping.items()
        own = {target: f if getattr(f, "_get_raw", False) else _of_shapes(f) for target, f in own}
        self.flop_registry = {**flop_registry, **own}
        self._counts = True

    def __enter__(self):
        flush("operations are counted from here")
        self.flop_counts.clear()
        self._compute, hooks.compute = hooks.compute, self._counting(hooks.compute)
        self._watched = _Watched(self, self.flop_registry) if self.flop_registry else None
        if self._watched is not None:
            active.observer = self._watched
            observed(True)
        self.mod_tracker.__enter__()
        return self

    def __exit__(self, *exc):
        try:
            flush("operations were counted")
        finally:
            hooks.compute = self._compute
            if self._watched is not None:
                active.observer = self._watched.outer
                observed(False)
            self.mod_tracker.__exit__(*exc)
        if self.display:
            print(self.get_table(self.depth))

    @contextlib.contextmanager
    def uncounted(self):
        """Context: what is called in it does not count."""
        flush("an operator has a formula of its own")
        before, self._counts = self._counts, False
        try:
            yield
            flush("an operator had a formula of its own")
        finally:
            self._counts = before

    def count(self, operator, flops: int):
        """Count for an operator, in each module that is being called."""
        for parent in self.mod_tracker.parents:
            self.flop_counts[parent][operator] += flops

    def _counting(self, compute):
        def counted(recording, why, tier):
            for unit, _ in recording.calls() if self._counts else ():
                self._count(unit.graph, unit.name, unit.n_inputs, 1)
            return compute(recording, why, tier)

        return counted

    def _count(self, graph: Graph, name: str, n_inputs: int, times: int):
        for node in graph.nodes:
            rule = FLOPS.get(node.primitive)
            kind, flops = rule(graph, node, name, n_inputs) if rule else ("", 0)
            if flops:
                operator = _packet(kind)
                formula = self.flop_registry.get(operator)
                if node.primitive is dot_general_p and (of_shapes := getattr(formula, "of_shapes", None)):
                    *shapes, out_shape = _matrices(graph, node, kind)
                    flops = of_shapes(*shapes, out_shape=out_shape)
                self.count(operator, times * flops)
            for inner in subgraphs(node):
                self._count(inner, name, n_inputs, times * node.params.get("length", 1))

    def get_total_flops(self) -> int:
        """How many there were."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict:
        """Name of a module -> operation -> how many there were."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """A table with a row for each module up to a depth, and one for each operation in it."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        names = sorted(name for name in self.flop_counts if name != "Global" and name.count(".") < depth)
        if not any(sum(self.flop_counts[name].values()) >= total for name in names):
            names.insert(0, "Global")
        rows = [row for name in names for row in self._rows(name, total)]
        if not total:
            rows = [("Global", "0", "0%")]
        return _aligned([("Module", "FLOP", "% Total"), *rows])

    def _rows(self, name: str, total: int):
        counts = self.flop_counts[name]
        yield name, *_described(sum(counts.values()), total)
        for kind, flops in counts.items():
            yield f"- {kind}", *_described(flops, total)


def _packet(kind: str):
    return getattr(ops.aten, kind)


# ---- what an operation of a graph counts, and under which name -----------------------------------


def _of_dot(graph: Graph, node: Node, name: str, n_inputs: int) -> tuple[str, int]:
    x, y = (graph.avals[s] for s in node.inputs)
    if min(x.ndim, y.ndim) < 2:
        return "mv", 0
    contracted = math.prod(x.shape[d] for d in node.params["contract"][0])
    flops = 2 * graph.avals[node.outputs[0]].size * contracted
    if node.params["batch"][0]:
        return "baddbmm" if name == "baddbmm" else "bmm", flops
    return "addmm" if name == "addmm" or name == "linear" and n_inputs == 3 else "mm", flops


def _matrices(graph: Graph, node: Node, kind: str) -> list[Size]:
    """The shapes of the operands of mm, bmm, addmm or baddbmm that a product stands for, and of its result."""
    x, y = (graph.avals[s] for s in node.inputs)
    contract, batch = node.params["contract"], node.params["batch"]
    b = [x.shape[d] for d in batch[0]]
    inner = math.prod(x.shape[d] for d in contract[0])
    m, n = (v.size // max(inner * math.prod(b), 1) for v in (x, y))
    b = [math.prod(b)] if b else []
    added = []
    if kind in ("addmm", "baddbmm"):
        given = graph.avals[graph.inputs[0]].shape
        added = [Size(given if len(given) < 2 or given[-2:] == (m, n) else (n,))]
    return [*added, Size([*b, m, inner]), Size([*b, inner, n]), Size([*b, m, n])]


def _of_conv(graph: Graph, node: Node, name: str, n_inputs: int) -> tuple[str, int]:
    """Each element of the result is a sum over a kernel; or, of a transposed convolution, each of
    the operand is multiplied by one, which is less than what the sums, with their zeros, have. Of a kernel's gradient
    each element is a sum over the smaller of the images."""
    x, w = (graph.avals[s] for s in node.inputs)
    conv, out = node.params["conv"], graph.avals[node.outputs[0]]
    features = w.shape[conv.rhs[1]]  # that each element of the result sums
    of_x, of_w, of_out = (
        math.prod(c) for c in (conv.spatial(x, "lhs"), conv.spatial(w, "rhs"), conv.spatial(out, "out"))
    )
    is_of_kernel = conv.lhs[0] > conv.lhs[1]
    sums = of_out * min(of_x, of_w) if is_of_kernel else min(of_out, of_x) * of_w
    kind = "convolution_backward" if "backward" in name else "convolution"
    return kind, 2 * (out.size // max(of_out, 1)) * features * sums


FLOPS = {dot_general_p: _of_dot, conv_p: _of_conv}


def flops_of(unit) -> int:
    """How many floating point operations one recorded call takes: products and convolutions, and a number an
    element of elementwise additions and multiplications.

    >>> from functorch_core import engine
    >>> from functorch_core.core.primitive import registry
    >>> x = engine.from_numpy(torch.ones(3).numpy())
    >>> from torch.utils.flop_counter import flops_of
    >>> flops_of(engine.unit_of_primitive(registry["add"], {}, (x.aval, x.aval)))
    3
    """
    found = unit.graph.out_avals[0].size if unit.name in ("add", "mul") else 0
    for node in unit.graph.nodes:
        rule = FLOPS.get(node.primitive)
        found += rule(unit.graph, node, unit.name, unit.n_inputs)[1] if rule else 0
    return found


# ---- the table -----------------------------------------------------------------------------------


def _described(flops: int, total: int) -> tuple[str, str]:
    i = max(0, min(len(SUFFIXES) - 1, (len(str(total)) - 1) // 3))
    return f"{flops / 1000**i:.3f}{SUFFIXES[i]}", f"{flops / max(total, 1):.2%}"


def _aligned(rows: list[tuple[str, str, str]]) -> str:
    # A column is at least two wider than its title, as the package tabulate has it.
    widths = [max(len(column[0]) + 2, *map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join([row[0].ljust(widths[0]), row[1].rjust(widths[1]), row[2].rjust(widths[2])]) for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)
