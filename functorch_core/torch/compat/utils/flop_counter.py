"""torch.utils.flop_counter: the floating point operations of a program.

They are counted in the recordings, when these are computed: the products of matrices and the
convolutions in the graphs of ops, those of backward passes among them. So they are counted whatever
op they are part of, where PyTorch knows some ops of its own; operations on vectors and elementwise
ones do not count, as in PyTorch.
"""

from __future__ import annotations

import math
from collections import defaultdict

from ....core.graph import Graph, Node, subgraphs
from ....engine import flush
from ....engine.recorder import hooks
from ....primitives.convolution import conv_p
from ....primitives.dot import dot_general_p
from ..library import ops
from .module_tracker import ModuleTracker

SUFFIXES = ("", "K", "M", "B", "T")


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
        if custom_mapping:
            raise NotImplementedError(
                "torch.utils.flop_counter.FlopCounterMode with a custom_mapping is not implemented by functorch-core"
            )
        self.depth, self.display = depth, display
        self.mod_tracker = _Tracker()
        self.flop_counts = defaultdict(lambda: defaultdict(int))

    def __enter__(self):
        flush("operations are counted from here")
        self.flop_counts.clear()
        self._compute, hooks.compute = hooks.compute, self._counting(hooks.compute)
        self.mod_tracker.__enter__()
        return self

    def __exit__(self, *exc):
        try:
            flush("operations were counted")
        finally:
            hooks.compute = self._compute
            self.mod_tracker.__exit__(*exc)
        if self.display:
            print(self.get_table(self.depth))

    def _counting(self, compute):
        def counted(recording, why, tier):
            for unit, _ in recording.calls():
                self._count(unit.graph, unit.name, unit.n_inputs, 1)
            return compute(recording, why, tier)

        return counted

    def _count(self, graph: Graph, name: str, n_inputs: int, times: int):
        for node in graph.nodes:
            rule = FLOPS.get(node.primitive)
            kind, flops = rule(graph, node, name, n_inputs) if rule else ("", 0)
            if flops:
                for parent in self.mod_tracker.parents:
                    self.flop_counts[parent][_packet(kind)] += times * flops
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


def _of_conv(graph: Graph, node: Node, name: str, n_inputs: int) -> tuple[str, int]:
    """Each element of the result is a sum over a kernel; or, of a transposed convolution, each of
    the operand is multiplied by one, which is less than what the sums, with their zeros, have."""
    x, w = (graph.avals[s] for s in node.inputs)
    conv, out = node.params["conv"], graph.avals[node.outputs[0]]
    by_out = out.size * w.size // max(w.shape[conv.rhs[0]], 1)
    by_x = x.size * w.size // max(w.shape[conv.rhs[1]] * conv.feature_groups, 1)
    kind = "convolution_backward" if "backward" in name else "convolution"
    return kind, 2 * min(by_out, by_x)


FLOPS = {dot_general_p: _of_dot, conv_p: _of_conv}


def flops_of(unit) -> int:
    """How many floating point operations one recorded call takes: products and convolutions, and a number an
    element of elementwise additions and multiplications."""
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
