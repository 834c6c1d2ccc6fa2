"""Graphs run by NumPy: the reference rules of a graph as a list of steps, made once.

Running a step costs what its NumPy function costs and about 0.3 us: parameters are bound, constants
are folded, avals are compared with the shape rules on the first run only, and a broadcast operand of
elementwise arithmetic is left to NumPy's own broadcasting.

A rule may say what it is at given avals: rule.specialised(*avals, **params) -> function, or None.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

from .aval import Aval
from .graph import Graph, Node, has_effect, subgraphs

# Elementwise primitives whose rules broadcast, so that one operand may be of fewer elements.
BROADCASTING = frozenset({"add", "sub", "mul", "div", "max", "min", "eq", "ne", "lt", "le", "gt",
                          "ge", "select", "and", "or", "xor"})
FOLDED = 4096  # elements; larger constants are computed each time rather than kept


def specialised(at: Callable) -> Callable:
    """Decorator of a reference rule: `at(*avals, **params)` is a faster function, or None."""
    def attach(rule: Callable) -> Callable:
        rule.specialised = at
        return rule
    return attach


def function_of(node: Node, avals: Sequence[Aval]) -> Callable:
    """A node's reference rule as a function of arrays alone."""
    rule, params = node.primitive.rule("reference"), node.params
    at = getattr(rule, "specialised", None)
    found = None if at is None else at(*avals, **params)
    if found is not None:
        return found
    return lambda *arrays: rule(*map(np.asarray, arrays), **params)


def conform(array, aval: Aval) -> np.ndarray:
    """The array in the dtype that a shape rule promised; AssertionError if its shape differs."""
    array = np.asarray(array)
    if array.shape != aval.shape:
        raise AssertionError(f"reference rule gave shape {array.shape}, shape rule {aval}")
    return array if array.dtype == aval.dtype else array.astype(aval.dtype)


class Step:
    """One node: a function, places of its operands and results, their avals, and whether a result
    is left with dimensions of size 1."""

    __slots__ = ("run", "args", "outs", "avals", "multiple", "thin")

    def __init__(self, run, args, outs, avals, multiple, thin):
        self.run, self.args, self.outs = run, args, outs
        self.avals, self.multiple, self.thin = avals, multiple, thin

    def first(self, env: list):
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

    def flat(self) -> tuple:
        """(function, first operand, second or -1, result); the general case takes the places."""
        if not self.multiple and len(self.args) in (1, 2):
            return self.run, *self.args, *(() if len(self.args) == 2 else (-1,)), self.outs[0]
        return _general(self.run, self.args, self.outs, self.multiple), -1, -1, -1


def _converting(run: Callable, avals, multiple: bool) -> Callable:
    if multiple:
        return lambda *arrays: [np.asarray(o).astype(a.dtype, copy=False)
                                for o, a in zip(run(*arrays), avals)]
    dtype = avals[0].dtype
    return lambda *arrays: np.asarray(run(*arrays)).astype(dtype)


def _general(run: Callable, args, outs, multiple: bool) -> Callable:
    def step(env: list):
        found = run(*[env[i] for i in args])
        for place, out in zip(outs, found if multiple else (found,)):
            env[place] = out
    return step


class Reference:
    """A graph's steps; call it with host arrays, get a list of host arrays."""

    __slots__ = ("n_inputs", "rest", "steps", "outputs", "flat", "only")

    def __init__(self, graph: Graph):
        self.n_inputs = len(graph.inputs)
        self.flat: list[tuple] | None = None  # the steps as tuples, after the first run
        self.only: Callable | None = None     # the function of the only step, if it takes the inputs
        _Builder(graph, self)

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The outputs. (NumPy's warnings are the caller's: np.errstate once around many calls.)"""
        env = [*arrays, *self.rest]
        if self.flat is None:
            for step in self.steps:
                step.first(env)
            self.flat = [step.flat() for step in self.steps]
            if len(self.flat) == 1 and self.outputs == self.steps[0].outs:
                run, a, *_ = self.flat[0]
                if a == 0 and self.steps[0].args == list(range(self.n_inputs)):
                    self.only = run
        elif self.only is not None:
            x = self.only(*arrays)
            return [x if x.__class__ is np.ndarray else np.asarray(x)]
        else:
            for run, a, b, out in self.flat:
                if b >= 0:
                    env[out] = run(env[a], env[b])
                elif a >= 0:
                    env[out] = run(env[a])
                else:
                    run(env)
        return [x if x.__class__ is np.ndarray else np.asarray(x)
                for x in [env[i] for i in self.outputs]]


class _Builder:
    """Writes the steps of a graph: inputs come first in the list of arrays, then constants."""

    def __init__(self, graph: Graph, program: Reference):
        self.graph = graph
        self.place = {slot: i for i, slot in enumerate(graph.inputs)}
        self.n_inputs = program.n_inputs
        self.rest: list = []
        self.steps: list[Step] = []
        thin = thin_slots(graph)
        with np.errstate(all="ignore"):
            for node in graph.nodes:
                self._add(node, node.outputs[0] in thin if node.outputs else False)
        program.rest, program.steps = self.rest, self.steps
        program.outputs = [self.place[s] for s in graph.outputs]

    def _new(self, slot: int, value=None):
        self.place[slot] = self.n_inputs + len(self.rest)
        self.rest.append(value)

    def _add(self, node: Node, thin: bool):
        avals = self.graph.avals
        if node.primitive.name == "constant":
            return self._new(node.outputs[0], np.asarray(node.params["value"].value))
        args = [self.place[s] for s in node.inputs]
        if thin and not avals[node.inputs[0]].ndim:  # a scalar broadcasts as it is
            self.place[node.outputs[0]] = args[0]
            return None
        run = _thinly(node, avals[node.inputs[0]]) if thin else function_of(
            node, [avals[s] for s in node.inputs])
        outs = [avals[s] for s in node.outputs]
        for s in node.outputs:
            self._new(s)
        step = Step(run, args, [self.place[s] for s in node.outputs], outs,
                    node.primitive.multiple, thin)
        if self._foldable(node, outs):
            env = [None] * self.n_inputs + self.rest
            step.first(env)
            self.rest = env[self.n_inputs:]
        else:
            self.steps.append(step)
        return None

    def _foldable(self, node: Node, outs: list[Aval]) -> bool:
        known = all(self.place[s] >= self.n_inputs and self.rest[self.place[s] - self.n_inputs]
                    is not None for s in node.inputs)
        return known and not (has_effect(node) or subgraphs(node)) and all(
            a.size <= FOLDED for a in outs)


def thin_slots(graph: Graph) -> set[int]:
    """Results of broadcasts that NumPy may broadcast itself: all that uses them is elementwise
    arithmetic that has an operand of all elements, too."""
    thin = {n.outputs[0] for n in graph.nodes if n.primitive.name == "broadcast_in_dim"}
    thin.difference_update(graph.outputs)
    for node in graph.nodes:
        if thin.isdisjoint(node.inputs):
            continue
        if node.primitive.name not in BROADCASTING or thin.issuperset(node.inputs):
            thin.difference_update(node.inputs)
    # What was thought to be thin when an earlier node was looked at may have become full since:
    # that only leaves fewer thin operands.
    return thin


def _thinly(node: Node, operand: Aval) -> Callable:
    shape = [1] * len(node.params["shape"])
    for n, d in zip(operand.shape, node.params["dims"]):
        shape[d] = n
    return lambda x: x.reshape(shape)


def reference_of(graph: Graph) -> Reference:
    """The graph's steps, remembered on the graph."""
    found = graph.memo.get("reference")
    if found is None:
        found = graph.memo["reference"] = Reference(graph)
    return found
