"""Graphs run by NumPy: the reference rules of a graph as a list of steps, made once.

Running a step costs what its NumPy function costs and about 0.1 us: parameters are bound, constants
are folded, avals are compared with the shape rules on the first run only, a broadcast operand of
elementwise arithmetic is left to NumPy's own broadcasting, and the steps of a short graph are a
function of their own.

A rule may say what it is at given avals: rule.specialised(*avals, **params) -> function, or None.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from ..xla import onednn, onednn_forward
from . import dtypes as dt
from .aval import Aval
from .emulated import by_wider
from .graph import Graph, Node, computed_by, has_effect, inlined, subgraphs
from .many import divided
from .primitive import Way, registry
from .types import Function, Ints

FOLDED = 4096  # elements; larger constants are computed each time rather than kept, but for views
WRITTEN_OUT = 64  # steps; of a longer graph a loop takes them
MANY = 16  # operands and results of one step, which a loop takes, too: each number of them would be compiled (0.3 ms)
LET_GO = 1 << 16  # bytes; larger arrays are given up at their last use, smaller ones when all steps are done
OVERWRITTEN = 1 << 12  # elements; a step that writes over an operand of more takes 0.7 of the time
EXTREMES = (np.maximum, np.minimum)  # take no memory for their result by its place

LARGE, STRIP, ON_ALL_CORES = 1 << 16, 16, 1 << 17  # elements
# What NumPy repeats along the last dimension as. us for 512 x 512 as they are and so: bfloat16 74, 5; complex64 78, 48.
_WORDS = {dt.bfloat16: dt.uint16, dt.complex64: dt.uint64}


def contiguous(array: np.ndarray) -> np.ndarray:
    """The array in row-major order, a copy only if it is not.

    A large one whose rows lie across is copied by strips of columns, which use what they fetch of each cache line:
    1024 x 1024 transposed 0.56 ms for 3.5 (12 on a busy machine), 16 x 64 x 32 x 32 made channels last 0.57 for 1.7.
    """
    if array.flags.c_contiguous:
        return array
    if array.ndim and not array.strides[-1] and array.dtype in _WORDS:
        return np.ascontiguousarray(array.view(_WORDS[array.dtype])).view(array.dtype)
    if array.size < LARGE or array.ndim < 2 or array.strides[-1] in (0, array.itemsize, -array.itemsize):
        return np.ascontiguousarray(array)
    out = np.empty(array.shape, array.dtype)
    if array.size >= ON_ALL_CORES and _is_copied_by_library(array, out):
        return out
    for i in range(0, array.shape[-1], STRIP):
        out[..., i : i + STRIP] = array[..., i : i + STRIP]
    return out


def _is_copied_by_library(array: np.ndarray, out: np.ndarray) -> bool:
    """Whether oneDNN has copied the array: of four bytes 512 x 512 transposed 40 us for 99 by strips, 1024 x 1024 240
    for 570, 8 x 64 x 64 x 32 channels last 204 for 540."""
    if array.dtype.itemsize != 4 or array.dtype.kind not in "fiu" or any([n <= 0 or n % 4 for n in array.strides]):
        return False
    if not onednn.is_worth_loading():
        return False
    job = onednn_forward.job_of(onednn_forward.Copied(array.shape, tuple([n // 4 for n in array.strides])))
    if job is not None:
        job.on(array, out)
    return job is not None


def specialised(at: Function) -> Function:
    """Decorator of a reference rule: `at(*avals, **params)` is a faster function, or None."""

    def attach(rule: Function) -> Function:
        rule.specialised = at  # type: ignore[attr-defined]  # an attribute of a function
        return rule

    return attach


def written_in_place(into: Function) -> Function:
    """Decorator of a reference rule that copies its first operand and writes to the copy: `into` is the same in the
    operand's own memory."""

    def attach(rule: Function) -> Function:
        rule.into = into  # type: ignore[attr-defined]  # an attribute of a function
        return rule

    return attach


def updating(graph: Graph) -> tuple[Node, int] | None:
    """The node that makes the graph's one result by writing to a copy of an input that nothing else uses, and which
    input that is; None if the graph is not like that."""
    made = [n for n in graph.nodes if n.outputs == graph.outputs]
    if len(graph.outputs) != 1 or not made or not hasattr(made[0].primitive.rule("reference"), "into"):
        return None
    source = made[0].inputs[0]
    uses = sum([list(n.inputs).count(source) for n in graph.nodes])
    return (made[0], list(graph.inputs).index(source)) if source in graph.inputs and uses == 1 else None


def function_of(node: Node, avals: Sequence[Aval]) -> Function:
    """A node's reference rule as a function of arrays alone."""
    rule, params = node.primitive.rule("reference"), node.params
    at = getattr(rule, "specialised", None)
    found = None if at is None else at(*avals, **params)
    if found is not None:
        return found
    return lambda *arrays: rule(*map(np.asarray, arrays), **params)


def conform(array: np.ndarray, aval: Aval) -> np.ndarray:
    """The array in the dtype that a shape rule promised; AssertionError if its shape differs."""
    array = np.asarray(array)
    if array.shape != aval.shape:
        raise AssertionError(f"reference rule gave shape {array.shape}, shape rule {aval}")
    return array if array.dtype == aval.dtype else array.astype(aval.dtype)


# Places of operands, of results, whether there are several, and what is given up.
Form: TypeAlias = tuple[tuple[int, ...], tuple[int, ...], bool, tuple[int, ...]]


class Step:
    """One node: a function, places of its operands and results, their avals, whether a result
    is left with dimensions of size 1, and the places whose large arrays nothing needs after it."""

    __slots__ = ("run", "args", "outs", "avals", "multiple", "thin", "frees")

    def __init__(
        self, run: Any, args: list[int], outs: list[int], avals: list[Aval], multiple: bool, thin: bool
    ) -> None:
        self.run, self.args, self.outs = run, args, outs
        self.avals, self.multiple, self.thin = avals, multiple, thin
        self.frees: tuple[int, ...] = ()

    def first(self, env: list[np.ndarray | None]) -> None:
        """Run, and compare with the avals. Where a dtype differs, it is converted from now on."""
        outs = self.run(*[env[i] for i in self.args])
        outs = tuple(outs) if self.multiple else (outs,)
        if not self.thin:
            right = [conform(o, a) for o, a in zip(outs, self.avals, strict=True)]
            if any(np.asarray(o).dtype != a.dtype for o, a in zip(outs, self.avals)):
                self.run = _converting(self.run, self.avals, self.multiple)
            outs = right
        for place, out in zip(self.outs, outs):
            env[place] = out
        for place in self.frees:
            env[place] = None

    @property
    def form(self) -> Form:
        """Where operands come from, results go to, and what is given up."""
        return tuple(self.args), tuple(self.outs), self.multiple, self.frees


def _converting(run: Function, avals: list[Aval], multiple: bool) -> Function:
    if multiple:
        return lambda *arrays: [np.asarray(o).astype(a.dtype, copy=False) for o, a in zip(run(*arrays), avals)]
    dtype = avals[0].dtype
    return lambda *arrays: np.asarray(run(*arrays)).astype(dtype)


class Reference:
    """A graph's steps; call it with host arrays, get a list of host arrays. `into`: the node that makes the result
    writes to its first operand (see `updating`)."""

    __slots__ = ("n_inputs", "rest", "steps", "outputs", "run")

    def __init__(self, graph: Graph, into: Node | None = None) -> None:
        self.n_inputs = len(graph.inputs)
        self.steps: list[Step]
        self.rest: list[Any]  # the constants
        self.outputs: list[int]
        self.run: Function | None = None  # the steps as a function, after the first run
        _Builder(graph, self, into)

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The outputs. (NumPy's warnings are the caller's: np.errstate once around many calls.)"""
        return (self.run or self.first)(*arrays)

    def first(self, *arrays: np.ndarray) -> list[np.ndarray]:
        """The same at the first time, after which there is `run`."""
        steps = self.steps
        if self.run is not None:  # another thread was first
            return self.run(*arrays)
        env: list[Any] = [*arrays, *self.rest]
        for step in steps:
            step.first(env)
        functions = [step.run for step in steps]
        one_of_many = len(functions) == 1 and self.n_inputs + len(self.outputs) > MANY
        if len(functions) <= WRITTEN_OUT and not one_of_many:
            forms = tuple([step.form for step in steps])
            code, constants = _written(self.n_inputs, len(env), forms, tuple(self.outputs))
            given = *functions, *[self.rest[i - self.n_inputs] for i in constants]
            self.run = types.FunctionType(code, _NAMES, "run", given)
            self.steps = []
        else:
            self.run = functools.partial(_loop, self)
        return [np.asarray(env[i]) for i in self.outputs]


def _loop(program: Reference, *arrays: np.ndarray) -> list[np.ndarray]:
    """The steps of a long graph, one after the other."""
    env = [*arrays, *program.rest]
    for step in program.steps:
        found = step.run(*[env[i] for i in step.args])
        if step.multiple:
            for place, out in zip(step.outs, found):
                env[place] = out
        else:
            env[step.outs[0]] = found
        found = None
        for place in step.frees:
            env[place] = None
    return [np.asarray(env[i]) for i in program.outputs]


@functools.lru_cache(1024)
def _written(
    n_inputs: int, n_places: int, forms: tuple[Form, ...], outputs: tuple[int, ...]
) -> tuple[types.CodeType, list[int]]:
    """Steps of these forms as the code of a function of Python, whose last arguments are always the same: the functions
    of the steps, and the constants in these places.

    Few graphs differ in form, so that hardly anything is compiled here (0.1 ms). For x / 255:

        def run(x0, f0, f1, x1):
            x2 = f0(x1)
            x3 = f1(x0, x2)
            return [x3 if x3.__class__ is ndarray else asarray(x3)]
    """
    inputs = [f"x{i}" for i in range(n_inputs)]
    steps = []
    for k, (args, outs, multiple, frees) in enumerate(forms):
        made = "".join([f"x{i}, " for i in outs]) if multiple else f"x{outs[0]}"
        called = f"f{k}({', '.join([f'x{i}' for i in args])})"
        steps.append(f"{made} = {called}" if outs else called)
        steps += [f"x{i} = None" for i in frees]
    computed = {i for _, outs, *_ in forms for i in outs}
    constants = [i for i in range(n_inputs, n_places) if i not in computed]
    results = [f"x{i} if x{i}.__class__ is ndarray else asarray(x{i})" for i in outputs]
    arguments = [*inputs, *[f"f{k}" for k in range(len(forms))], *[f"x{i}" for i in constants]]
    lines = [f"def run({', '.join(arguments)}):", *steps, f"return [{', '.join(results)}]"]
    namespace: dict[str, Any] = {}
    exec("\n    ".join(lines), namespace)
    return namespace["run"].__code__, constants


_NAMES = {"ndarray": np.ndarray, "asarray": np.asarray}


def way_of(node: Node) -> Way | None:
    """What is quicker than NumPy for all that a node computes."""
    whole = node.primitive.traits.whole
    return whole(node.params) if whole else None


def by_way(way: Way | None, graph: Graph) -> Function:
    """A node that holds a graph as a function of arrays: its way; the graph's steps where there is none, or where it
    cannot be gone, as in a forked process."""

    def by_steps(*arrays: np.ndarray) -> list[np.ndarray]:
        return reference_of(graph)(arrays)

    return by_steps if way is None else lambda *arrays: way.run(*arrays) or by_steps(*arrays)


def _opened(graph: Graph) -> Graph:
    """With what nodes compute that only derivatives make more of in their place, but where something is quicker."""
    return inlined(graph, lambda node: None if way_of(node) else computed_by(node))


class _Builder:
    """Writes the steps of a graph: inputs come first in the list of arrays, then constants."""

    def __init__(self, graph: Graph, program: Reference, into: Node | None = None) -> None:
        self.graph = graph = graph if into is not None else by_wider(_opened(graph))
        self.into = into
        self.place = {slot: i for i, slot in enumerate(graph.inputs)}
        self.n_inputs = program.n_inputs
        self.rest: list[Any] = []
        self.steps: list[Step] = []
        self.fresh: dict[int, Aval] = {}  # places of results that share no memory with others
        self.shared: set[int] = set()  # places whose memory others may share
        self.arithmetic: list[Step] = []  # ufuncs of one floating dtype
        self.elementwise: list[Step] = []  # that make each number of the same one of each operand
        thin = thin_slots(graph)
        with np.errstate(all="ignore"):
            for node in graph.nodes:
                self._add(node, node.outputs[0] in thin if node.outputs else False)
        program.rest, program.steps = self.rest, self.steps
        program.outputs = [self.place[s] for s in graph.outputs]
        self._write_over(set(program.outputs))
        self._divide()
        _let_go(self.steps, set(program.outputs))

    def _new(self, slot: int, value: np.ndarray | None = None) -> None:
        self.place[slot] = self.n_inputs + len(self.rest)
        self.rest.append(value)

    def _add(self, node: Node, thin: bool) -> Any:
        avals = self.graph.avals
        args = [self.place[s] for s in node.inputs]
        if thin and _aligned(node, avals[node.inputs[0]]):  # NumPy broadcasts it as it is
            self.place[node.outputs[0]] = args[0]
            return
        run = _thinly(node, avals[node.inputs[0]]) if thin else function_of(node, [avals[s] for s in node.inputs])
        if node is self.into:
            run = node.primitive.rule("reference").into  # type: ignore[attr-defined]
        outs = [avals[s] for s in node.outputs]
        for s in node.outputs:
            self._new(s)
        step = Step(run, args, [self.place[s] for s in node.outputs], outs, node.primitive.multiple, thin)
        if self._foldable(node, outs):
            env = [None] * self.n_inputs + self.rest
            step.first(env)
            self.rest = env[self.n_inputs :]
        else:
            self.steps.append(step)
            is_arithmetic = run.__class__ is np.ufunc
            if is_arithmetic or node.primitive.traits.fresh:
                self.fresh.update(zip(step.outs, outs))
            else:
                self.shared.update(args)
            makes_floats = is_arithmetic and outs[0].dtype.kind == "f"
            if makes_floats and all([avals[s].dtype == outs[0].dtype for s in node.inputs]):
                self.arithmetic.append(step)
            if node.primitive.traits.elementwise and not node.primitive.multiple:
                self.elementwise.append(step)

    def _write_over(self, outputs: set[int]) -> None:
        """Have arithmetic write to an operand of the same aval that nothing needs after it."""
        last = {place: step for step in self.steps for place in step.args}
        free = self.fresh.keys() - self.shared - outputs
        for step in self.arithmetic:
            (aval,) = step.avals
            if aval.size >= OVERWRITTEN and step.run not in EXTREMES:
                step.args += [i for i in step.args if i in free and last[i] is step and self.fresh[i] is aval][:1]

    def _divide(self) -> None:
        """Have several threads make many numbers."""
        for step in self.elementwise:
            n = len(step.args) - (step.run.__class__ is np.ufunc and len(step.args) > step.run.nin)
            step.run = divided(step.run, n, step.avals[0])

    def _foldable(self, node: Node, outs: list[Aval]) -> bool:
        for s in node.inputs:
            i = self.place[s] - self.n_inputs
            if i < 0 or self.rest[i] is None:
                return False
        small = not node.primitive.traits.numpy or all(a.size <= FOLDED for a in outs)
        return small and not (has_effect(node) or subgraphs(node))


def _let_go(steps: list[Step], outputs: set[int]) -> None:
    """Say behind which step each large array that a step makes is given up."""
    last = {place: step for step in steps for place in (*step.outs, *step.args)}
    for step in steps:
        for place, aval in zip(step.outs, step.avals):
            if aval.nbytes >= LET_GO and place not in outputs:
                last[place].frees += (place,)


def thin_slots(graph: Graph) -> set[int]:
    """Results of broadcasts that NumPy may broadcast itself: all that uses them is elementwise
    arithmetic whose operands have all elements together, as one of them or a column and a row."""
    spread, avals = registry["broadcast_in_dim"], graph.avals
    thin = {n.outputs[0]: _thin_shape(n, avals[n.inputs[0]]) for n in graph.nodes if n.primitive is spread}
    for slot in graph.outputs:
        thin.pop(slot, None)
    for node in graph.nodes:
        shapes = [thin[s] for s in node.inputs if s in thin]
        if not shapes:
            continue
        if not node.primitive.traits.broadcasts or (
            len(shapes) == len(node.inputs) and np.broadcast_shapes(*shapes) != avals[node.inputs[0]].shape
        ):
            for slot in node.inputs:
                thin.pop(slot, None)
    # What was thought to be thin when an earlier node was looked at may have become full since:
    # that only leaves fewer thin operands.
    return set(thin)


def _aligned(node: Node, operand: Aval) -> bool:
    """Whether a broadcast puts the operand's dimensions last."""
    n = len(node.params["shape"])
    return tuple(node.params["dims"]) == tuple(range(n - operand.ndim, n))


def _thin_shape(node: Node, operand: Aval) -> Ints:
    """What NumPy is given of a broadcast: the operand as it is, or with dimensions of size 1."""
    if _aligned(node, operand):
        return operand.shape
    shape = [1] * len(node.params["shape"])
    for n, d in zip(operand.shape, node.params["dims"]):
        shape[d] = n
    return tuple(shape)


def _thinly(node: Node, operand: Aval) -> Function:
    shape = _thin_shape(node, operand)
    return lambda x: x.reshape(shape)


def reference_of(graph: Graph) -> Reference:
    """The graph's steps, remembered on the graph."""
    found = graph.memo.get("reference")
    if found is None:
        found = graph.memo["reference"] = Reference(graph)
    return found
