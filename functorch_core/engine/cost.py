"""Static estimates: what a graph costs to run by NumPy, to run compiled, and to compile.

They decide between tiers, so they must be functions of the graph alone, never of a clock. The
figures are microseconds on a 2-core machine, good to a factor of two or three, which is enough
(`python -m tests.benchmarks.costs` measures them; what elements cost, the primitives' traits say).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..core import dtypes as dt
from ..core.aval import Aval
from ..core.graph import Graph, Node, subgraphs
from ..core.primitive import Estimate
from ..core.reference import way_of

# One NumPy call, or a view.
NUMPY_CALL, NUMPY_VIEW = 1.2, 0.4
# What elements of other dtypes take, for 1 of float32: NumPy has no arithmetic of the small ones.
SLOWER = {dt.float16: 25.0, dt.bfloat16: 5.0, dt.complex64: 2.0, dt.complex128: 4.0}
ACROSS = 2.5e-4  # microseconds an element of a large array that is read across its rows
SMALL = 1 << 14  # elements; of so many all rows are in the cache
# One execution of a compiled program (packing numbers, handing over to another thread and back, which is awaited awake:
# 15 to 25 us more than by NumPy where the result is read at once; 80 on a busy machine), and a kernel in it.
EXECUTE, KERNEL = 30.0, 1.0
BUFFER = 1.0  # an input of a program, or a result
# A byte of a result, which no fusion spares. What it costs NumPy is part of what each op takes. (Not of an input: a
# table may be read in places.)
BYTE = 2.5e-5
# Both where the thread that reads the result runs the program: us, by NumPy and so, both cores busy, of 1,024 numbers
# negated 12, 19, of 262,144 34, 46, of a million 99, 100 (two results: the numbers, and as a vector).
EXECUTE_READ, BYTE_READ = 15.0, 1e-5
PASSING = (
    3.0  # an input that nobody holds any more: the next run has another, which NumPy made and XLA has to take over
)
# Compiling: a program, and a node of it. What primitives cost besides, their traits say. An op that a program
# has a further time costs a part. Seconds, estimated and measured: 305 ops of 20 kinds 1.0, 1.1; 865 of 32 2.0, 1.8;
# 182 of 21 0.5, 0.5; an encoder's step, 229 of 47, 2.5, 2.0.
COMPILE_PROGRAM, COMPILE_NODE, AGAIN = 20_000.0, 1_500.0, 0.45
CALL = 3_000.0  # the call of a library: making what it calls
COMPILE_NUMBER = 400.0  # a packed Python number: 0.13 s for 400, three nodes each
NUMPY_DIMS = 64  # an array has no more; programs may
# Microseconds of NumPy's: an op beyond this is compiled when cold, too, if to compile it takes no longer. (A step of
# Adam for 2,000 small parameters, 26 ms, took the compiler 30 s; LSTM over sequences of ever other lengths, 60 ms, 1 s
# for each.)
REFERENCE_LIMIT = 20_000.0


class Cost(NamedTuple):
    """Microseconds: by NumPy, compiled, to compile; the number of nodes; and what of NumPy's time is a library's
    that an op's own program would call, too."""

    reference: float
    fused: float
    compile: float
    nodes: int
    library: float

    @property
    def suits_numpy(self) -> bool:
        """Whether NumPy is quick enough for an op that is not compiled yet."""
        return self.reference - self.library < max(REFERENCE_LIMIT, self.compile)


def work_of(graph: Graph, node: Node) -> float:
    """Microseconds that NumPy spends on the elements of one node."""
    traits, avals = node.primitive.traits, graph.avals
    if not traits.numpy:
        return 0.0
    operands = [avals[s] for s in node.inputs]
    elements = traits.work(operands, [avals[s] for s in node.outputs], node.params)
    if traits.of_complex and operands and operands[0].dtype in dt.COMPLEX:
        return elements * traits.of_complex * 1e-3
    plain = traits.elementwise or traits.family == "reduction"
    slower = max(_slower(operands[-1]), _slower(avals[node.outputs[0]])) if plain and operands else 1.0
    return elements * traits.numpy * 1e-3 * slower


def _estimated(figure: float | Estimate, graph: Graph, node: Node) -> float:
    """A figure of a primitive's traits for one node."""
    if not callable(figure):
        return figure
    return figure([graph.avals[s] for s in node.inputs], [graph.avals[s] for s in node.outputs], node.params)


def _slower(operand: Aval) -> float:
    """How much longer NumPy takes for this than for float32."""
    return SLOWER.get(operand.dtype, 2.0 if operand.dtype.itemsize == 8 else 1.0)


def _turned(graph: Graph, node: Node) -> float:
    """How often ACROSS an element of a view takes that has its rows across memory, or the other way round: 262,144 are
    copied in 65 us, a value that is kept and read once more twice, 2.25 million in 1.4 ms; 0 of other views."""
    if node.primitive.name == "transpose":
        return float(node.params["permutation"][-1] != len(node.params["permutation"]) - 1)
    if node.primitive.name == "reverse":
        return 2.0 * (graph.avals[node.inputs[0]].ndim - 1 in node.params["dims"])
    return 0.0


def _repeats_each(graph: Graph, node: Node) -> bool:
    """Whether several elements are repeated one by one, not in rows."""
    if node.primitive.name != "broadcast_in_dim" or graph.avals[node.inputs[0]].size < 2:
        return False
    shape, dims = node.params["shape"], node.params["dims"]
    return shape[-1] > 1 and (dims[-1] < len(shape) - 1 or graph.avals[node.inputs[0]].shape[-1] == 1)


def _reading_across(graph: Graph) -> float:
    """Microseconds that NumPy takes because what it reads, or copies as a result, lies across: BLAS does not mind. And
    where each element is repeated: 4 million numbers of a million take 1.2 ms, 262,144 twice 0.1."""
    avals, across, repeated, found = graph.avals, dict[int, float](), set[int](), 0.0
    for node in graph.nodes:
        if node.primitive.traits.numpy:
            if across and node.primitive.traits.family != "dot":
                found += sum([across[s] * avals[s].size for s in across.keys() & set(node.inputs)])
            continue
        if _repeats_each(graph, node):
            repeated.update(node.outputs)
        elif repeated and node.primitive.name == "reshape" and node.inputs[0] in repeated:
            found += avals[node.outputs[0]].size
        times = _turned(graph, node)
        if across:
            times = max([times, *[across.get(s, 0.0) for s in node.inputs]])
        if times:
            across.update({s: times for s in node.outputs if avals[s].size > SMALL})
    return ACROSS * (found + sum([across[s] * avals[s].size for s in across.keys() & set(graph.outputs)]))


def _compilation(graph: Graph, node: Node) -> float:
    """Microseconds that XLA spends on one node."""
    return COMPILE_NODE + _estimated(node.primitive.traits.compile, graph, node)


def of_graph(graph: Graph) -> Cost:
    """The estimate of a graph; nodes of graphs inside it count, too."""
    reference = _reading_across(graph)
    fused, compile_ = 0.2 * reference, 0.0
    if any([a.ndim > NUMPY_DIMS for a in graph.avals]):
        reference = math.inf
    nodes, library = 0, 0.0
    for node in graph.nodes:
        way = way_of(node)
        if way and way.in_programs:
            reference, library = reference + NUMPY_CALL + way.time, library + way.time
            fused += way.in_programs * way.time
            compile_, nodes = compile_ + CALL, nodes + 1
            continue
        traits, work = node.primitive.traits, work_of(graph, node)
        reference += NUMPY_CALL if traits.numpy else NUMPY_VIEW
        reference += way.time if way else work
        fused += 0.3 * KERNEL + _estimated(traits.compiled, graph, node) * work
        compile_ += _compilation(graph, node)
        library += _estimated(traits.library, graph, node)
        nodes += 1
        repeat = node.params.get("length", traits.repeats)
        for inner in map(of_graph, subgraphs(node)):
            reference += 0.0 if way else repeat * inner.reference
            fused += repeat * inner.fused
            compile_ += inner.compile
            nodes += inner.nodes
            library += 0.0 if way else repeat * inner.library
    return Cost(reference, fused, compile_, nodes, library)
