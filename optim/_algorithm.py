"""From the update rule of one parameter to that of many, traced once a signature.

    @algorithm(init=zeros("exp_avg", "exp_avg_sq"), switches=("weight_decay",))
    def adam(param, grad, state, step, *, lr=1e-3, betas=(0.9, 0.999), ...):
        ...
        return param, {"exp_avg": ..., "exp_avg_sq": ...}

The rule works on Arrays. `step` counts from 1. Hyperparameters with a float default are `Number`s,
inputs of the graph, so that a schedule compiles nothing; those among `switches` are the float 0.0
if they are zero, so that `if weight_decay:` decides while the rule is traced. All others are
static. Complex parameters come as pairs of reals and half precision in float32.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

import functorch_core as fc

from ..annotations import lenient_signature
from ..array.array import Array, as_value, wrap
from ..core import dtypes as dt
from ..core import tree
from ..core.aval import Aval
from ..core.graph import Graph, simplified
from ..core.trace import Builder, evaluate
from ..core.trace import state as trace_state
from ..engine import Value, from_numpy, record
from ..engine.units import SCALAR_AVALS
from ..ops.signature import describe, freeze, placeholder
from ..primitives import complex as pair
from ..torch.operators.values import c_name
from ..torch.tape.apply import GraphOp
from ._numbers import Number, number

FLOAT = SCALAR_AVALS[float]
HALF = frozenset({dt.float16, dt.bfloat16})
NOT_INEXACT = (
    "result type Float can't be cast to the desired output type {dtype}: a step of {name} of integers or bools would "
    "lose its fractions; convert the parameter, as by .float()"
)
OTHER_AVERAGE = (
    "expected dtype {x} for `end` but got dtype {y}: {name} in the state of {algorithm} has another dtype than the "
    "gradient; convert the state where the parameter is converted, or make a new optimizer of it"
)
OPEN = object()  # in a form: a number, which is an operand


class Update(NamedTuple):
    """An update at one signature: its op, the names of each parameter's new state, and the operand
    whose place each result takes."""

    op: GraphOp
    names: list[tuple[str, ...]]
    olds: tuple[int | None, ...]


class Algorithm:
    """An optimization algorithm: pure functions `init` and `update` of pytrees.

    >>> import functorch_core as fc
    >>> from functorch_core.optim import functional
    >>> params = {"w": fc.ones(2)}
    >>> state = functional.sgd.init(params)
    >>> params, state = functional.sgd.update({"w": fc.ones(2)}, state, params, lr=0.5)
    >>> params["w"]
    Array([0.5, 0.5], dtype=float32)
    """

    def __init__(
        self,
        rule: Callable,
        init: Callable,
        switches: Sequence[str],
        name: str,
        defaults: dict,
        averages: Sequence[str] = (),
    ):
        # `init` uses the shape and dtype of a parameter, not its numbers (see initial_values).
        functools.update_wrapper(self, rule)
        self.rule, self.init_one, self.name, self.averages = rule, init, name, averages
        self.switches, self.defaults = frozenset(switches), defaults
        self.numbers = {
            k
            for k, d in defaults.items()
            if isinstance(d, float) or (isinstance(d, tuple) and any(isinstance(x, float) for x in d))
        }
        self.init_options = list(lenient_signature(init).parameters)[1:]
        self.updates: dict[tuple, Update] = {}
        self.initial: dict[tuple, tuple[tuple[str, ...], Graph]] = {}
        self.wants_dtype = "dtype" in lenient_signature(rule).parameters

    def __repr__(self):
        return f"<algorithm {self.name}>"

    def variant(self, name: str, **defaults) -> Algorithm:
        """The same algorithm under another name, with other defaults."""
        return Algorithm(self.rule, self.init_one, self.switches, name, {**self.defaults, **defaults}, self.averages)

    # ---- on pytrees

    def init(self, params, **options) -> dict:
        """The state before the first step: {"step": 0, "slots": a dict for each parameter}.

        `options` are those hyperparameters that decide what is kept (amsgrad=True, momentum=0.9).
        """
        leaves, treedef = tree.flatten(params)
        slots = [self.state_of(wrap(as_value(x)), options) for x in leaves]
        return {"step": fc.zeros((), dtype=fc.float32), "slots": treedef.unflatten(slots)}

    def update(self, grads, state: dict, params, **hyper) -> tuple:
        """One step: (new params, new state). Hyperparameters are PyTorch's, by keyword; float ones
        may be 0-d arrays."""
        leaves, treedef = tree.flatten(params)
        gradients, slots = treedef.flatten_up_to(grads), treedef.flatten_up_to(state["slots"])
        step = state["step"] + 1
        values = [[as_value(x) for x in column] for column in (leaves, gradients)]
        states = [{k: as_value(x) for k, x in slot.items()} for slot in slots]
        new, kept = self(values[0], values[1], states, [0] * len(leaves), [as_value(step)], hyper)
        kept = [{k: wrap(v) for k, v in slot.items()} for slot in kept]
        return (treedef.unflatten([wrap(v) for v in new]), {"step": step, "slots": treedef.unflatten(kept)})

    def state_of(self, param: Array, options: dict) -> dict[str, Array]:
        """The state of one parameter before the first step."""
        unknown = options.keys() - self.defaults.keys()
        if unknown:
            raise TypeError(
                f"{self.name}.init: {sorted(unknown)[0]!r} is no hyperparameter of "
                f"{self.name}; it has {', '.join(self.defaults)}"
            )
        return self.init_one(param, **{k: options.get(k, self.defaults[k]) for k in self.init_options})

    def initial_state(self, param: Aval, options: dict) -> tuple[tuple[str, ...], Graph]:
        """The names of what is kept of a parameter, and the graph of what that is before the first
        step."""
        key = param, *options.items()
        found = self.initial.get(key)
        if found is None:
            with trace_outside(Builder(self.name)) as builder:
                state = self.init_one(wrap(builder.input(param)), **options)
                found = tuple(state), builder.finish([x._value for x in state.values()])
            self.initial[key] = found
        return found

    def initial_values(self, param: Aval, options: dict) -> dict[str, Value]:
        """The state before the first step as computed values: recorded, the zeros would make the
        first step another program than those that follow."""
        state, graph = self.initial_state(param, options)
        shape_alone = np.broadcast_to(np.zeros((), param.dtype), param.shape)
        return {
            name: from_numpy(np.ascontiguousarray(array).reshape(array.shape))
            for name, array in zip(state, evaluate(graph, [shape_alone]))
        }

    # ---- on lists of values

    def __call__(self, params, grads, states, counts, steps, hyper: dict) -> tuple[list, list]:
        """New values of the parameters, and dicts of new values of their states.

        `steps` are step numbers, floats or values; `counts[i]` is the index of parameter i's.
        """
        update, operands = self.resolve(params, grads, states, counts, steps, hyper)
        if trace_state.builder is not None:
            lifted = [fc.asarray(x, dtype=fc.float64)._value if x.__class__ is float else x for x in operands]
            outs = trace_state.builder.inline(update.op.graph, lifted)
        else:
            outs = record(update.op.unit, operands)
        return self.unpack(update, outs)

    def unpack(self, update: Update, outs: Sequence) -> tuple[list, list[dict]]:
        """The results of an update as new parameters and new states."""
        n = len(update.names)
        rest = iter(outs[n:])
        return list(outs[:n]), [{k: next(rest) for k in names} for names in update.names]

    def resolve(self, params, grads, states, counts, steps, hyper, alike: bool = False) -> tuple[Update, list]:
        """The update at a signature, and the operands of a call. Parameters, gradients and states
        are anything with an `aval`; `alike`: averages have to be of the gradients' dtypes."""
        forms, scalars = self.bind(hyper)
        columns = [*scalars, *steps], list(params), list(grads), list(states)
        operands: list = []
        key = alike, forms, tuple(counts), describe(columns, operands, _aval_of)
        update = self.updates.get(key)
        if update is None:
            if alike:
                self._check_averages(grads, states)
            update = self.updates[key] = self._trace(forms, counts, columns)
        return update, operands

    def bind(self, hyper: dict) -> tuple[tuple, list]:
        """Hyperparameters as a hashable form and the numbers left open in it."""
        if not hyper.keys() <= self.defaults.keys():
            name = sorted(hyper.keys() - self.defaults.keys())[0]
            raise TypeError(
                f"{self.name}.update() got an unexpected keyword argument '{name}'; it takes {', '.join(self.defaults)}"
            )
        forms, scalars = [], []
        for name, default in self.defaults.items():
            value = hyper.get(name, default)
            if name not in self.numbers:
                value = freeze(value)
            elif isinstance(value, (tuple, list)):
                value = tuple([self._bind_number(name, x, scalars) for x in value])
            else:
                value = self._bind_number(name, value, scalars)
            forms.append((name, value))
        return tuple(forms), scalars

    def _bind_number(self, name: str, x, scalars: list):
        if x is None:
            return None
        if isinstance(x, Array):
            x = x._value
        elif not hasattr(x, "aval"):
            if name in self.switches and x == 0:
                return 0.0
            x = float(x)
        scalars.append(x)
        return OPEN

    # ---- tracing

    def _check_averages(self, grads, states):
        """RuntimeError for an average of another dtype than the gradient that is to be taken into it."""
        for grad, state in zip(grads, states):
            for name in self.averages:
                if name in state and state[name].aval.dtype != grad.aval.dtype:
                    x, y = c_name(state[name]), c_name(grad)
                    raise RuntimeError(OTHER_AVERAGE.format(x=x, y=y, name=name, algorithm=self.name))

    def _trace(self, forms: tuple, counts: Sequence[int], columns: tuple) -> Update:
        """The update of all parameters: the rule is traced once for those that are alike."""
        rules: dict[tuple, tuple[Graph, tuple[str, ...]]] = {}
        names, updated, kept = [], [], []
        with trace_outside(Builder(self.name)) as builder:
            scalars, *rows = placeholder(builder, columns, _aval_of)
            first_step = len(scalars) - (max(counts, default=-1) + 1)
            for count, param, grad, state in zip(counts, *rows):
                key = count, param.aval, grad.aval, tuple([(k, x.aval) for k, x in state.items()])
                rule = rules.get(key)
                if rule is None:
                    row = scalars, param, grad, state
                    rule = rules[key] = self._trace_rule(forms, first_step + count, row)
                graph, kept_names = rule
                new, *states = builder.inline(graph, [*scalars, param, grad, *state.values()])
                names.append(kept_names)
                updated.append(new)
                kept += states
            graph = builder.finish(updated + kept)
        return Update(GraphOp(graph, self.name, True), names, _replaced(graph, columns[-1], names))

    def _trace_rule(self, forms: tuple, step: int, row: tuple) -> tuple[Graph, tuple[str, ...]]:
        """The graph of the update of one parameter, of all numbers, and the names of what it keeps; `step` is the
        place of its step number."""
        with trace_outside(Builder(self.name)) as builder:
            scalars, param, grad, state = tree.map(wrap, placeholder(builder, row, _aval_of))
            numbers = [number(x) for x in scalars]
            new, kept = self.update_one(param, grad, state, numbers[step], _closed(forms, iter(numbers)))
            graph = builder.finish([new._value, *[x._value for x in kept.values()]])
        return simplified(graph), tuple(kept)

    def update_one(self, param: Array, grad: Array, state: dict, step: Number, hyper: dict):
        """The rule for one parameter, in the arithmetic it is meant for."""
        dtype = param.dtype
        if dtype not in dt.INEXACT:
            raise RuntimeError(NOT_INEXACT.format(name=self.name, dtype=dtype))
        hyper = dict(hyper)
        grad = grad if grad.dtype == dtype else grad.astype(dtype)
        if hyper.pop("maximize", False):
            grad = -grad
        if self.wants_dtype:
            hyper["dtype"] = dtype
        wide = {k: _widened(x, dtype) for k, x in state.items()}
        new, kept = self.rule(_widened(param, dtype), _widened(grad, dtype), wide, step, **hyper)
        kept = {k: _narrowed(x, state[k].dtype if k in state else dtype) for k, x in kept.items()}
        return _narrowed(new, dtype), kept


def _replaced(graph: Graph, states: Sequence[dict], names: Sequence[tuple[str, ...]]) -> tuple[int | None, ...]:
    """Which operand each result of an update replaces: operands are numbers, parameters, gradients and
    states; results are parameters and states."""
    n, held = len(names), [list(state) for state in states]
    place = len(graph.inputs) - sum(map(len, held))
    olds: list[int | None] = [*range(place - 2 * n, place - n)]
    for before, after in zip(held, names):
        olds += [place + before.index(name) if name in before else None for name in after]
        place += len(before)
    taken, fits = graph.in_avals, zip(olds, graph.out_avals, strict=True)
    return tuple([i if i is not None and taken[i] is a else None for i, a in fits])


def _aval_of(x) -> Aval | None:
    """The aval of an operand of an update; every number is one."""
    return FLOAT if x.__class__ is float else getattr(x, "aval", None)


class trace_outside:
    """Context: a trace of its own, whatever trace is active around it."""

    def __init__(self, builder: Builder):
        self.builder = builder

    def __enter__(self) -> Builder:
        self.saved, trace_state.builder = trace_state.builder, None
        return self.builder.__enter__()

    def __exit__(self, *exc):
        self.builder.__exit__(*exc)
        trace_state.builder = self.saved


def _closed(forms: tuple, scalars) -> dict:
    """Hyperparameters with the numbers put in."""

    def close(form):
        if isinstance(form, tuple):
            return tuple([close(x) for x in form])
        return next(scalars) if form is OPEN else form

    return {name: close(form) for name, form in forms}


def _widened(x: Array, dtype) -> Array:
    """A complex array as pairs of reals; half precision as float32."""
    if x.dtype in dt.COMPLEX:
        return fc.stack([fc.real(x), fc.imag(x)], axis=-1)
    return x.astype(dt.float32) if dtype in HALF and x.dtype in HALF else x


def _narrowed(x, dtype) -> Array:
    """The inverse: an array (or number) in the dtype that is kept."""
    if isinstance(x, Number):
        return x.to(dtype)
    if dtype in dt.COMPLEX:
        return wrap(pair(x[..., 0]._value, x[..., 1]._value))
    return x if x.dtype == dtype else x.astype(dtype)


def algorithm(*, init: Callable, switches: Sequence[str] = (), name: str | None = None, averages: Sequence[str] = ()):
    """Declare an algorithm by its rule; see the module. `averages` are the states that the gradient, or what is made
    of it, is taken into by lerp."""

    def declare(rule: Callable) -> Algorithm:
        parameters = lenient_signature(rule).parameters.values()
        defaults = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "dtype"}
        return Algorithm(rule, init, switches, name or rule.__name__, defaults, averages)

    return declare


def zeros(*names: str) -> Callable:
    """An `init` of arrays of zeros like the parameter."""

    def init(param):
        return {name: fc.zeros_like(param) for name in names}

    return init
