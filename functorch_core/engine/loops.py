"""What several loops read is computed by one.

XLA computes elementwise operations inside of the loops that use them, again in each: of `x = x + f(x)`, twelve times in
a row, the last loops add all twelve. Every loop is code of its own then, and reads what all layers before made.

Here the loops of a program are foreseen (whatever is not elementwise is one, and so is each result), and a value that
is cheaper to write once and to read than to compute in each loop is put behind an optimization barrier. A training
step of 8 of PyTorch's encoder layers (256 wide, 8 x 128) takes 0.8 s of processor time to compile for 5.6, runs in
346 ms for 392, and needs 771 MB for 927.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..core import dtypes as dt
from ..core.graph import Graph, Node, opened, subgraphs
from ..primitives.structure import optimization_barrier_p

SMALLEST = 4096  # bytes; smaller values stay in the processor's nearest cache, whoever computes them
ARITHMETIC = 0.1  # the cost of an operation, for each byte it makes, where a byte read from memory costs 1
DEAR = 1.0  # nanoseconds an element by NumPy: XLA computes such operations once by itself
# So dear are those written out in dozens of operations, which it computes in each loop: erf_inv of 512 x 512 and its
# gradient take 3.0 ms, 0.7 like this.
WRITTEN_OUT = 10.0
WORTH = 1.5  # so many times what it costs must be saved: what was read once is in the cache
MOST = 16  # of so many loops, or values read by a loop, each more changes no decision
# Operations, one upon the other, that may be written once more in other loops, whatever the size: compiling them takes
# longer than they do. `x = x * a - b`, 512 times with the last 50 kept: 24,000 multiplications, 37 s; 1.3 s like this.
REPEATED = 1024
# 30 steps of the game of life, of 1,272 nodes, took XLA 26 to 100 s to compile, of few numbers, too.
PLACES = 16

Slots = frozenset[int]
NONE: Slots = frozenset()


def computed_once(graph: Graph, overwritten: Mapping[int, int] | None = None) -> Graph:
    """The same function, with barriers after what several loops would compute; the graph itself if there is nothing.
    `overwritten`: input -> result that is written over it."""
    flat = opened(graph)
    loops = _Loops(flat)
    chosen = loops.choose(loops.choose(NONE))
    chosen |= loops.repeated(chosen) | loops.read_again(overwritten or {})
    chosen |= loops.read_all_over(chosen)
    return _with_barriers(flat, chosen) if chosen else graph


def overwriting(graph: Graph) -> int:
    """How many transcendental functions are computed by loops that may write over what they read."""
    loops = _Loops(opened(graph))
    return loops.overwriting() + sum(
        [
            node.params.get("length", node.primitive.traits.repeats) * sum(map(overwriting, subgraphs(node)))
            for node in loops.graph.nodes
        ]
    )


class Inside(NamedTuple):
    """What is computed again with a value: large values it is read from, and the cost of the arithmetic."""

    read: Slots
    work: float


class _Loops:
    """Which loops XLA makes of a graph, and what they read."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.makers = {slot: node for node in graph.nodes for slot in node.outputs}
        self.users: dict[int, list[Node]] = {}
        for node in graph.nodes:
            for slot in set(node.inputs):
                self.users.setdefault(slot, []).append(node)
        self.results = frozenset(graph.outputs)

    def read_again(self, overwritten: Mapping[int, int]) -> Slots:
        """The large results that others read, and that are written over an input of a loop before: the others would
        compute them once more, of the input, and XLA would copy that. So it did with all gradients whose norm is
        clipped: a model of 124 million parameters needed 0.5 GB more."""
        graph = self.graph
        pairs = [(graph.inputs[i], graph.outputs[o]) for i, o in overwritten.items()]
        large = [(x, s) for x, s in pairs if s in self.users and graph.avals[s].nbytes > SMALLEST]
        return frozenset([s for x, s in large if self._is_read_by_a_loop(x)])

    def _is_read_by_a_loop(self, slot: int) -> bool:
        """Whether something is computed of it, element by element, that is not itself computed so."""
        seen, left = {slot}, [slot]
        while left:
            for node in self.users.get(left.pop(), ()):
                if not _is_fused(node):
                    return True
                left += {*node.outputs} - seen
                seen.update(node.outputs)
        return False

    def choose(self, before: Slots) -> Slots:
        """The slots to be computed once; `before`: those that others are known to be read from."""
        inside = self._insides(before)
        loops: dict[int, Slots] = {}  # where a value is computed
        chosen = set()
        for node in reversed(self.graph.nodes):
            if not _is_fused(node):
                continue
            (slot,) = node.outputs
            loops[slot] = self._loops_of(node, loops)
            if self._pays(node, inside[slot], loops):
                chosen.add(slot)
                loops[slot] = frozenset((slot,))
        return frozenset(chosen)

    def repeated(self, before: Slots) -> Slots:
        """The slots behind which long chains would be computed again: of a recurrence whose last values are results,
        each of these in loops with all steps before it. `before`: those that are computed once already."""
        loops: dict[int, Slots] = {}
        for node in filter(_is_fused, reversed(self.graph.nodes)):
            (slot,) = node.outputs
            found = self._loops_of(node, loops)
            if slot in self.results:
                found = frozenset(sorted(found | self._loops_of_users(slot, loops))[:MOST])
            loops[slot] = found
        depths: dict[int, int] = {}  # how many operations are one upon the other in a value's loop
        chosen = set()
        for node in filter(_is_fused, self.graph.nodes):
            (slot,) = node.outputs
            depth = max([depths.get(s, 0) for s in node.inputs], default=0) + (not _is_view(node))
            if slot in before or loops[slot] == {slot}:
                depth = 0
            elif (len(loops[slot]) - 1) * depth > REPEATED and self._branches(slot, loops):
                chosen.add(slot)
                depth = 0
            depths[slot] = depth
        return frozenset(chosen)

    def read_all_over(self, before: Slots) -> Slots:
        """The slots that a loop would compute at more than PLACES places for each of its own: a step of a stencil is
        computed of the step before at each neighbour, and of the one before that at all neighbours of those."""
        places: dict[int, int] = {}
        chosen = set()
        for node in filter(_is_fused, reversed(self.graph.nodes)):
            (slot,) = node.outputs
            here, elsewhere = 1, 0
            for user in filter(_is_fused, self.users.get(slot, ())):
                found = places[user.outputs[0]]
                if _moves(user):
                    elsewhere += found
                else:
                    here = max(here, found)
            places[slot] = 1 if slot in before else here + elsewhere
            if places[slot] > PLACES and not _moves(node):
                chosen.add(slot)
                places[slot] = 1
        return frozenset(chosen)

    def _branches(self, slot: int, loops: dict[int, Slots]) -> bool:
        """Whether a value is computed in more loops than each that is made of it alone."""
        return all([loops.get(user.outputs[0]) != loops[slot] for user in self.users.get(slot, ())])

    def overwriting(self) -> int:
        """The same but for loops in loops. What a loop reads is in memory if another operation has made it, or a
        reduction reads it, too; where it is as large as the result, XLA gives that its memory."""
        loops: dict[int, Slots] = {}
        for node in filter(_is_fused, reversed(self.graph.nodes)):
            loops[node.outputs[0]] = self._loops_of(node, loops)
        given = set(self.graph.inputs)
        inside: dict[int, tuple[int, Slots]] = {}  # functions one after the other in a value's loop, bytes it reads
        for node in filter(_is_fused, self.graph.nodes):
            (slot,) = node.outputs
            before, read = 0, NONE
            for operand in set(node.inputs) - given:
                if operand not in inside or self._is_kept(loops[operand]):
                    read |= {self._size(operand)}
                else:
                    before, read = max(before, inside[operand][0]), read | inside[operand][1]
            is_function = node.primitive.traits.family == "transcendental"
            inside[slot] = before + is_function * self.graph.avals[slot].size, read
        return sum([n for slot, (n, read) in inside.items() if slot in loops[slot] and self._size(slot) in read])

    def _is_kept(self, loops: Slots) -> bool:
        """Whether a value that is computed in these loops is one of a reduction, and of others."""
        fused = [_is_fused(self.makers[slot]) for slot in loops]
        return any(fused) and not all(fused)

    def _loops_of(self, node: Node, loops: dict[int, Slots]) -> Slots:
        """The loops that compute a value, named by what they make."""
        (slot,) = node.outputs
        users = self.users.get(slot, ())
        if slot in self.results or len(users) > 1 and node.primitive.traits.numpy >= DEAR:
            return frozenset((slot,))
        if any([not _is_fused(user) and user.primitive.traits.family != "reduction" for user in users]):
            return frozenset((slot,))  # it has to be in memory, where XLA reads it then
        return self._loops_of_users(slot, loops)

    def _loops_of_users(self, slot: int, loops: dict[int, Slots]) -> Slots:
        """The loops that compute what is made of a value."""
        found: set[int] = set()
        for user in self.users.get(slot, ()):
            found |= loops.get(user.outputs[0], frozenset(user.outputs[:1]))
        return frozenset(sorted(found)[:MOST])

    def _insides(self, before: Slots) -> dict[int, Inside]:
        """What is computed again with each value of a fused operation."""
        found: dict[int, Inside] = {}
        for node in self.graph.nodes:
            if _is_fused(node):
                (slot,) = node.outputs
                work = 0.0 if _is_view(node) else ARITHMETIC * self._size(slot)
                read: set[int] = set()
                for operand in set(node.inputs):
                    inner = None if operand in before else found.get(operand)
                    if inner is None:
                        read.add(operand)
                    else:
                        read |= inner.read
                        work += inner.work
                found[slot] = Inside(frozenset(sorted(read)[:MOST]), work)
        return found

    def _pays(self, node: Node, inside: Inside, loops: dict[int, Slots]) -> bool:
        """Whether it costs less to compute a value once, to write and to read it, than to compute it in each loop."""
        (slot,) = node.outputs
        size, times = self._size(slot), len(loops[slot])
        if size < SMALLEST or _is_view(node) or self.graph.avals[slot].dtype not in dt.INEXACT:
            return False
        if node.primitive.traits.numpy >= WRITTEN_OUT:
            return (slot in self.results) + len(self._other_loops(slot, loops)) > 1
        if times < 2:
            return False
        reading = sum([min(self._size(s), size) for s in inside.read])
        again = (times - 1) * (reading + inside.work)
        # A loop that only gives it another shape writes it anyway.
        written = any(u.primitive.name == "reshape" and len(loops[u.outputs[0]]) == 1 for u in self.users[slot])
        return again > WORTH * (times if written else times + 1) * size

    def _other_loops(self, slot: int, loops: dict[int, Slots]) -> set[int]:
        """The loops that read all of a value, or half of it."""
        found: set[int] = set()
        for user in self.users.get(slot, ()):
            made = loops.get(user.outputs[0], frozenset(user.outputs[:1]))
            found.update([s for s in made if not _is_fused(user) or 2 * self._size(s) >= self._size(slot)])
        return found

    def _size(self, slot: int) -> int:
        return self.graph.avals[slot].nbytes


def _is_fused(node: Node) -> bool:
    """Whether XLA computes an operation inside of the loops that use it."""
    traits = node.primitive.traits
    return len(node.outputs) == 1 and (traits.elementwise or traits.family == "structure") and not node.primitive.effect


def _is_view(node: Node) -> bool:
    """Whether it only reads elsewhere."""
    return not node.primitive.traits.numpy


def _moves(node: Node) -> bool:
    """Whether it reads at other places than it writes: each such operation is one more, whatever it reads."""
    return node.primitive.traits.family == "structure" and node.primitive.name != "broadcast_in_dim"


def _with_barriers(graph: Graph, chosen: Slots) -> Graph:
    avals, instead = list(graph.avals), dict[int, int]()
    nodes: list[Node] = []
    for node in graph.nodes:
        inputs = tuple([instead.get(s, s) for s in node.inputs])
        nodes.append(Node(node.primitive, inputs, node.outputs, node.params, node.source))
        for slot in node.outputs:
            if slot in chosen:
                instead[slot] = len(avals)
                avals.append(avals[slot])
                nodes.append(Node(optimization_barrier_p, (slot,), (instead[slot],), {}, node.source))
    return Graph(graph.name, graph.inputs, nodes, [instead.get(s, s) for s in graph.outputs], avals)
