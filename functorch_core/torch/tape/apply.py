"""Applying a graph to tensors: record it, and put a node on the tape if a gradient is wanted.

This is where everything ends that an op, a view or a backward pass does. Tensors inside func
transforms (batched, dual, taped) are taken one level down first: see `_levels`.
"""

from __future__ import annotations

import functools
import re
import weakref
from collections.abc import Sequence

from ...core import dtypes as dt
from ...core.graph import Graph, simplified
from ...core.trace import open_traces
from ...core.types import Function
from ...engine import Unit, Value, record
from ...engine.units import SCALAR_AVALS
from ...engine.written_out import NAMES as RECORDING
from ...engine.written_out import recording
from ..tensors.active import active, declared
from ..tensors.base import Tensor, new_tensor
from .accumulate import value_of
from .anomaly_mode import remember
from .meta import class_name
from .modes import state
from .node import Node, Packed, Taped, _with_zeros, conjugate, sequence, shown_edges
from .node_chains import edges_of_chain, parsed
from .node_names import NoGradient, backward_name
from .saved import SavedTensor, pack_node

_new = object.__new__

_MODIFIED = (
    "one of the variables needed for gradient computation has been modified by an inplace "
    "operation: [{kind} {shape}]{what} is at version {now}; expected version "
    "{then} instead. Hint: enable anomaly detection to find the operation that failed to "
    "compute its gradient, with torch.autograd.set_detect_anomaly(True, "
    "check_nan=False)."
)
FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors "
    "after they have already been freed). Saved intermediate values of the graph are freed "
    "when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
    "backward through the graph a second time or if you need to access saved tensors after "
    "calling backward."
)
PART = (
    "{name} cannot {what} here: what PyTorch computes by several nodes is one node, of which the "
    "others are only shown. Use a hook of a tensor."
)
SAVED_INFERENCE = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors "
    "created in inference mode in computation tracked by autograd. To work around "
    "this, you can make a clone to get a normal tensor and use it in autograd, or "
    "use `torch.no_grad()` instead of `torch.inference_mode()`."
)


NOT_SAVED = object()


class GraphOp:
    """An op at one signature: its graph, the unit that records it, how it is differentiated.

    `call` says what the arguments were, for those who look at nodes; None where there was no call.
    """

    __slots__ = (
        "graph",
        "name",
        "multiple",
        "unit",
        "node_class",
        "ways",
        "repeated",
        "operated",
        "differentiable",
        "call",
        "saves_number",
        "indices",
    )

    def __init__(self, graph: Graph, name: str, multiple: bool, node_class: type | None = None):
        self.graph, self.name, self.multiple = simplified(graph), name, multiple
        self.unit = Unit(self.graph, name, multiple)
        self.node_class = node_class or node_class_of(name)
        self.ways: dict[tuple, Taped | None] = {}  # mask -> taped(mask)
        # mask -> what applies it where these operands are on the tape, for a call's path, for an operator; see `again`.
        self.repeated: dict[tuple, Function] = {}
        self.operated: dict[tuple, Function] = {}
        self.call = None
        self.saves_number = name in declared and declared[name].saves_number
        self.indices = self._found_indices() if multiple else ()
        self.differentiable = tuple(a.dtype in dt.INEXACT for a in graph.in_avals)

    def _found_indices(self) -> tuple[int, ...]:
        """The results that are indices, of maxima or of what was sorted: PyTorch's nodes save them, so that no backward
        pass is possible when one was written to, whether or not it is what the gradient is computed from."""
        inputs, outputs = self.graph.in_avals, self.graph.out_avals
        if outputs[0].dtype not in dt.INEXACT or dt.int64 in [a.dtype for a in inputs]:
            return ()
        return tuple([i for i, a in enumerate(outputs) if a.dtype == dt.int64])

    def taped(self, mask: tuple[bool, ...]) -> Taped | None:
        """How to differentiate by the inputs in `mask`; None if no output depends on them."""
        try:
            return self.ways[mask]
        except KeyError:
            pass
        real = tuple(m and d for m, d in zip(mask, self.differentiable))
        found = None
        if any(real) and any(a.dtype in dt.INEXACT for a in self.graph.out_avals):
            found = Taped(self.graph, real, self.name, self.multiple)
            found.node_name = self.node_class.__name__
            found.out_mask = self._also_of_nothing(real, found.out_mask)
            if not any(found.out_mask):
                found = None
        self.ways[mask] = found
        return found

    def _also_of_nothing(self, mask: Sequence[bool], out_mask: tuple[bool, ...]) -> tuple[bool, ...]:
        """The results that are on the tape. Where there are no elements, no number depends on another,
        but PyTorch's tape has what the op would have with elements."""
        wanted = [a.dtype in dt.INEXACT for a in self.graph.out_avals]
        some = any([a.size for a, w in zip(self.graph.out_avals, wanted) if w])
        if some and all([a.size for a, m in zip(self.graph.in_avals, mask) if m]):
            return out_mask
        return tuple([m or w for m, w in zip(out_mask, wanted)])

    def units(self) -> list[Unit]:
        """The units that calls of it record; of backward passes of theirs too."""
        found = [self.unit]
        for how in self.ways.values():
            if how is not None:
                found += how.units()
        return found

    def again(self, mask: tuple[bool, ...], by_operator: bool = False) -> Function:
        """What applies the op where the operands in `mask` are on the tape: (*operands, *their values) -> result. It is
        written out, and found in `repeated` or `operated`, from the second time on, as many calls come but once."""
        n, how = len(mask), self.ways.get(mask)
        if how is None:
            found = lambda *given: apply_to(self, given[:n], given[n:], mask)  # noqa: E731
        elif self.multiple:
            found = lambda *given: apply_taped(self, how, given[:n], given[n:])  # noqa: E731
        else:
            numbers = tuple([not m and a in NUMBERS for m, a in zip(mask, self.graph.in_avals)])
            inner = 3 if by_operator else 4
            kept = how.forward.multiple
            found = _repeated(mask, how.saved_inputs, how.saved_outputs, kept, numbers, inner)(self, how)
        if mask in self.ways:
            (self.operated if by_operator else self.repeated)[mask] = found
        return found


class OpNode(Node):
    """The node of an ordinary op.

    `saved` are values (and packed Python numbers), `versions` (tensor or a weak reference to it,
    the version its value was saved at).
    """

    __slots__ = ("op", "taped", "saved", "versions")

    def name(self) -> str:
        """PyTorch's name of the kind of node."""
        kind = type(self).__name__
        return f"torch::autograd::{kind}" if kind in UNNUMBERED else kind

    def __init__(self, edges, n_outputs: int, op: GraphOp, taped: Taped, saved, versions):
        self.edges, self.n_outputs = edges, n_outputs
        self.sequence, self.extras = next(sequence), None
        self.op, self.taped, self.saved, self.versions = op, taped, saved, versions

    def output_aval(self, index: int):
        """The aval of a result."""
        return None if self.op is None else self.op.graph.out_avals[index]

    def apply(self, grads: Sequence, create_graph: bool) -> Sequence:
        """The gradients of the inputs, None where there is no edge."""
        saved, taped = self.saved, self.taped
        if saved is None:
            raise RuntimeError(FREED)
        if self.versions:
            self._check_versions()
        given = tuple([g is not None and m for g, m in zip(grads, taped.out_mask)])
        route, unit, _, places = taped.ways.get(given) or taped.way(given)
        if unit is None:
            return [None if i is None else grads[i] for i in route]
        if create_graph or (active.levels is not None and _any_level(grads)):
            found = self._differentiably(grads, given, create_graph)
        else:
            values = [*map(unpacked_value, saved), *[value_of(g) for g, use in zip(grads, given) if use]]
            found = list(map(new_tensor, record(unit, values)))
        return found if places is None else [None if i is None else found[i] for i in places]

    def of_values(self, grads: Sequence, code, place: int) -> Sequence:
        """apply() in a pass without hooks, modes, levels and second derivatives: cotangents may be values, gradients
        are such, recorded as called at this place of the user's code."""
        saved, taped = self.saved, self.taped
        if saved is None:
            raise RuntimeError(FREED)
        if self.versions:
            self._check_versions()
        if len(grads) == 1 and grads[0] is not None:
            given, cts = taped.out_mask, grads
        else:
            given = tuple([g is not None and m for g, m in zip(grads, taped.out_mask)])
            cts = [g for g, use in zip(grads, given) if use]
        route, unit, record_several, places = taped.ways.get(given) or taped.way(given)
        if unit is None:
            return [None if i is None else grads[i] for i in route]
        values = [*saved, *[g if g.__class__ is Value else value_of(g) for g in cts]]
        for v in saved:
            if v.__class__ is not Value:  # a number, or packed by the user's hooks
                found = record(unit, list(map(unpacked_value, values)))
                break
        else:
            found = record_several(unit, *values, code, place)
        return found if places is None else [None if i is None else found[i] for i in places]

    def _differentiably(self, grads: Sequence, given: tuple, create_graph: bool) -> list:
        """The same by an op that can itself be on the tape, or batched."""
        taped = self.taped
        cts = [g for g, use in zip(grads, given) if use]
        tensors = [self._operand_of_saved(k, v, create_graph) for k, v in enumerate(self.saved)]
        if create_graph and taped.n_kept:
            return apply(second_order_op(taped, given), tensors[: len(taped.saved_inputs)] + cts)
        return apply(first_order_op(taped, given), tensors + cts)

    def _operand_of_saved(self, k: int, saved, create_graph: bool):
        """Saved item k as an operand, with its place on the tape if `create_graph`."""
        if saved.__class__ is Packed:
            saved = saved.value()
        if saved.__class__ is not Value:
            return saved
        return new_tensor(saved, self.saved_edge(k) if create_graph else None)

    def saved_edge(self, k: int):
        """The edge of saved item k: that of an input, or of an output of this node."""
        taped = self.taped
        n = len(taped.saved_inputs)
        if k < n:
            return self.edges[taped.saved_inputs[k]]
        k -= n
        return (self, taped.saved_outputs[k]) if k < len(taped.saved_outputs) else None

    def _check_versions(self):
        for tensor, version in self.versions:
            is_output = tensor.__class__ is weakref.ref
            tensor = tensor() if is_output else tensor
            if tensor is None or tensor._own_version == version and tensor._view is None and tensor._level is None:
                continue
            if tensor._version != version and not self._needs_only_here(is_output):
                raise RuntimeError(modified(tensor, version, self if is_output and tensor._ge is not None else None))

    def _needs_only_here(self, output: bool) -> bool:
        """Whether PyTorch's node does not save what was written to, an operand or a result: its value is here."""
        traits = declared.get(self.op.name)
        return traits is not None and traits.saves in ("nothing", "operands" if output else "result")

    def forget(self, tensor, new):
        """After tensor.op_(): PyTorch saves a copy of what an in-place op overwrites."""
        versions = []
        for saved, version in self.versions:
            if saved.__class__ is weakref.ref and saved() is new:
                versions.append((weakref.ref(tensor), tensor._version))
            elif saved is not tensor:
                versions.append((saved, version))
        self.versions = versions

    @property
    def next_functions(self) -> tuple:
        """((node, index), ...) of the inputs in PyTorch's order; (None, 0) where none is needed."""
        edges, call = self.edges, None if self.op is None else self.op.call
        if call is not None and call.chain is not None:
            edges = self._chain(call)
        elif call is not None:
            edges = [None if i is None else edges[i] for i in call.edges]
        return shown_edges(edges)

    def _chain(self, call) -> list:
        """The edges to the further nodes that PyTorch has; see `_node_chains`."""
        extra = self.extra()
        if extra.chain is None:
            places = call.places
            extra.chain = edges_of_chain(call.chain, lambda name: self.edges[places[name]] if name in places else None)
        return extra.chain

    def show(self, edges: list):
        """Be a node of a chain: something to look at, which no gradient passes through."""
        Node.__init__(self, edges)
        self.op, self.taped, self.saved, self.versions = None, None, (), ()

    def __call__(self, *grads):
        """The gradients of the inputs, as next_functions lists them, of those of the outputs."""
        call = None if self.op is None else self.op.call
        if self.op is None or call is not None and call.chain is not None:
            raise NotImplementedError(PART.format(name=self.name(), what="be called"))
        found = self.apply(self.padded(grads), state.enabled)
        if call is not None:
            found = [None if i is None else found[i] for i in call.edges]
        return found[0] if len(found) == 1 else tuple(found)

    def register_hook(self, hook):
        """Call hook(grad_inputs, grad_outputs) when the node has computed."""
        self._check_takes_part()
        return Node.register_hook(self, hook)

    def register_prehook(self, hook):
        """Call hook(grad_outputs) before the node computes."""
        self._check_takes_part()
        return Node.register_prehook(self, hook)

    def _check_takes_part(self):
        if self.op is None:
            raise NotImplementedError(PART.format(name=self.name(), what="have hooks"))

    def __getattr__(self, name: str):
        """_saved_self, _saved_result, _saved_dim: what PyTorch's nodes show of the call; _raw_saved_self:
        the same for hooks to have."""
        raw = name.startswith("_raw_saved_")
        if (raw or name.startswith("_saved_")) and self.op is not None and self.op.call is not None:
            shown = name.removeprefix("_raw").removeprefix("_saved_")
            found = self._raw_saved(shown) if raw else self._shown(shown)
            if found is not NOT_SAVED:
                return found
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __dir__(self):
        shown = [] if self.op is None or self.op.call is None else self._names_of_saved()
        return [*object.__dir__(self), *[f"{raw}_saved_{name}" for name in shown for raw in ("", "_raw")]]

    def _names_of_saved(self) -> list[str]:
        taped = self.taped
        names = {i: "self" if name == "input" else name for name, i in self.op.call.places.items()}
        found = [names[i] for i in taped.saved_inputs if i in names]
        return [*found, "result"] if 0 in taped.saved_outputs else found

    def _place_of_saved(self, name: str):
        """Which of `saved` an operand (or the result) is; None if it is not saved."""
        call, taped = self.op.call, self.taped
        if name == "result" and 0 in taped.saved_outputs:
            return len(taped.saved_inputs) + taped.saved_outputs.index(0)
        place = call.places.get("input" if name == "self" and "self" not in call.places else name)
        return taped.saved_inputs.index(place) if place in taped.saved_inputs else None

    def _shown(self, name: str):
        call = self.op.call
        own = "input" if name == "self" and "self" not in call.places else name
        if own in call.static:
            return call.static[own]
        if self.saved is None:
            raise RuntimeError(FREED)
        k = self._place_of_saved(name)
        if k is not None:
            self._check_versions()
            held = self._held(k)
            return self._operand_of_saved(k, self.saved[k], True) if held is None else held
        if own in call.places:  # saved if the gradients of all operands were wanted
            how = self.op.taped((True,) * len(self.op.graph.inputs))
            return None if call.places[own] in how.saved_inputs else NOT_SAVED
        return NOT_SAVED

    def _held(self, k: int):
        """The tensor that is saved item k, if an operand is saved as it is; for a result another of its memory."""
        n = len(self.taped.saved_inputs)
        if k >= n:
            results = [x() for x, _ in self.versions if x.__class__ is weakref.ref]
            result = results[k - n] if k - n < len(results) else None
            if result is None or result._level is not None or result._read() is not self.saved[k]:
                return None
            shown = result.detach()
            shown._ge = (self, self.taped.saved_outputs[k - n])
            return shown
        value, edge = self.saved[k], self.edges[self.taped.saved_inputs[k]]
        for tensor, _ in self.versions:
            if tensor.__class__ is not weakref.ref and tensor._read() is value and tensor._ge is edge:
                return tensor
        return None

    def _raw_saved(self, name: str):
        k = self._place_of_saved(name)
        return NOT_SAVED if k is None else SavedTensor(self, functools.partial(_kept, k), functools.partial(_give, k))

    def release(self):
        """Free the saved values."""
        saved = self.saved
        if self.op.saves_number or saved and (saved[0].__class__ is Value or self._saves_tensors()):
            self.saved, self.versions = None, ()

    def _saves_tensors(self) -> bool:
        """Whether more than numbers are saved: a graph that saves none can be passed again."""
        return any([v.__class__ is Value or v.__class__ is Packed for v in self.saved])


def _kept(k: int, node: OpNode):
    """Item k of what a node has saved, without history; None if it has been freed."""
    saved = None if node.saved is None else node.saved[k]
    return new_tensor(saved) if saved.__class__ is Value else saved


def _give(k: int, node: OpNode, packed: Packed):
    """Let hooks have item k: whether it is written to is theirs to know."""
    value, node.saved[k] = node.saved[k], packed
    node.versions = [(x, n) for x, n in node.versions if x.__class__ is weakref.ref or x._read() is not value]


def modified(tensor: Tensor, version: int, node: Node | None = None) -> str:
    """The message for a saved tensor (an output of `node`) that has been written to since."""
    node = tensor.grad_fn if node is None else node
    what = (
        ""
        if node is None
        else (f", which is output {tensor.output_nr} of {re.sub('Backward[0-9]*$', '', type(node).__name__)},")
    )
    return _MODIFIED.format(
        kind=class_name(tensor), shape=list(tensor.shape), what=what, now=tensor._version, then=version
    )


def _any_level(tensors: Sequence) -> bool:
    return any([x is not None and x._level is not None for x in tensors])


def unpacked_value(saved):
    """A saved number, or a value that the user's hooks have packed."""
    return saved.value() if saved.__class__ is Packed else saved


def first_order_op(taped: Taped, given: tuple) -> GraphOp:
    """saved inputs, saved outputs, kept values, cotangents -> gradients."""
    op = taped.ops.get(given)
    if op is None:
        name = f"{taped.forward.name}_backward"
        op = taped.ops[given] = GraphOp(
            taped.backward(given)[0], name, True, node_class_of(backward_name(taped.node_name))
        )
    return op


def second_order_op(taped: Taped, given: tuple) -> GraphOp:
    """inputs, cotangents -> gradients, the kept values computed again from the inputs."""
    op = taped.ops.get(("second", given))
    if op is None:
        graph = _with_zeros(taped.second_order, given)
        name = f"{taped.forward.name}_backward"
        op = taped.ops["second", given] = GraphOp(graph, name, True, node_class_of(backward_name(taped.node_name)))
    return op


# ---- classes of nodes ----------------------------------------------------------------------------

_node_classes: dict[tuple[str, type], type] = {}
UNNUMBERED = ("CopyBackwards", "CopySlices", "NotImplemented")


def node_class_of(name: str) -> type:
    """The class of an op's nodes: AddBackward0 for add, AvgPool2DBackward0 for avg_pool2d; the name
    of a node and the text of several give that of the first."""
    camel = parsed(name)[0] if "(" in name else name
    if "Backward" not in camel and camel not in UNNUMBERED:
        camel = name.title().replace("_", "") + "Backward0"
    base = (
        NotDifferentiable if camel == "NotImplemented" else WithoutGradient if isinstance(name, NoGradient) else OpNode
    )
    found = _node_classes.get((camel, base))
    if found is None:
        found = _node_classes[camel, base] = type(camel, (base,), {"__slots__": (), "__module__": "torch.autograd"})
    return found


class WithoutGradient(OpNode):
    """The node of an op that PyTorch gives no gradient of."""

    __slots__ = ()
    of_values = None

    def apply(self, grads: Sequence, create_graph: bool):
        """None for every input."""
        return (None,) * len(self.edges)


class NotDifferentiable(OpNode):
    """The node of an op that PyTorch has no derivative of."""

    __slots__ = ()
    of_values = None

    def apply(self, grads: Sequence, create_graph: bool):
        """RuntimeError."""
        raise RuntimeError(f"derivative for aten::{self.op.name} is not implemented")


# ---- applying ------------------------------------------------------------------------------------


def apply(op: GraphOp, operands: Sequence):
    """Apply to tensors (and packed Python numbers): a tensor, or a list if the op is multiple."""
    if active.levels is not None:
        for x in operands:
            if isinstance(x, Tensor):
                if x._view is not None:
                    active.levels.refresh(x)
                if x._level is not None:
                    return active.levels.apply(op, operands)
        if open_traces:
            active.levels.note_captured(operands)
    values, mask, permuted = [], [], False
    for x in operands:
        if not isinstance(x, Tensor):
            values.append(x)
            mask.append(False)
            continue
        if x._view is None:
            values.append(x._value)
        else:
            values.append(x._read())
            if x._view.permuted is not False and x._view.is_permuted():
                permuted = True
        mask.append(x._ge is not None)
    made = apply_to(op, operands, values, mask)
    if permuted:
        active.lay_out(op, operands, made)
    return made


def apply_to(op: GraphOp, operands: Sequence, values: Sequence, mask: Sequence[bool]):
    """apply() to operands that are known: their values, and which are on the tape."""
    if True in mask and state.enabled:
        known = tuple(mask)
        how = op.ways[known] if known in op.ways else op.taped(known)
        if how is not None:
            return apply_taped(op, how, operands, values)
    return _made(op, record(op.unit, values, 3, True))


def _made(op: GraphOp, out):
    """Results without history."""
    if op.multiple:
        return [without_history(value) for value in out]
    return without_history(out)


def without_history(value: Value) -> Tensor:
    """A tensor around a result that is on no tape."""
    tensor = new_tensor(value)
    if active.marks_inference and state.inference:
        tensor._is_inference = True
    return tensor


def apply_taped(op: GraphOp, how: Taped, operands: Sequence, values: list):
    """apply() of which the results are on the tape."""
    outs = record(how.forward, values, 4)
    saved, versions = [], []
    for i in how.saved_inputs:
        saved.append(values[i])
    for i in how.checked:
        x = operands[i]
        if isinstance(x, Tensor):
            versions.append((x, x._own_version if x._view is None else x._version))
    single = len(operands) == 1
    edges = (operands[0]._ge,) if single else [x._ge if m else None for x, m in zip(operands, how.mask)]
    node = op_node(op, how, edges, saved, versions)
    if how.forward.multiple:
        made = _several_taped(op, how, node, outs)
    else:
        made = _new(Tensor)
        made._value, made._ge, made._view = outs, (node, 0), None
        if active.births:
            made._born = active.births
        if how.saved_outputs:
            saved.append(outs)
            versions.append((weakref.ref(made), 0))
    if active.careful:
        watch(node, operands, made)
    return made


def op_node(op: GraphOp, how: Taped, edges: Sequence, saved: Sequence, versions: Sequence) -> OpNode:
    """The node of an op (0.2 us less than by its class)."""
    node = _new(op.node_class)
    node.edges, node.n_outputs, node.sequence, node.extras = edges, how.n_out, next(sequence), None
    node.op, node.taped, node.saved, node.versions = op, how, saved, versions
    return node


def _several_taped(op: GraphOp, how: Taped, node: OpNode, outs: list):
    """The results of a program that also gives what is kept for the backward pass."""
    tensors = [new_tensor(v, (node, i) if m else None) for i, (v, m) in enumerate(zip(outs, how.out_mask))]
    for i in how.saved_outputs:
        node.saved.append(outs[i])
        node.versions.append((weakref.ref(tensors[i]), 0))
    for i in op.indices:
        node.versions.append((weakref.ref(tensors[i]), 0))
    node.saved += outs[how.n_out :]
    return tensors if op.multiple else tensors[0]


# apply_taped of a unit of one result, written out for what is on the tape and what is saved: 0.3 us of 0.9 less. The
# callers are an operator, or a call's path and the method that found it: `inner` as in `record`.
REPEATED = """
def make(op, how):
    unit, node_class = how.forward, op.node_class

    def apply_again({operands}, {values}):
{record}
        node = new(node_class)
        node.edges, node.n_outputs, node.sequence, node.extras = ({edges},), 1, next(sequence), None
        node.op, node.taped, node.saved, node.versions = op, how, {saved}, {versions}
        made._ge = node, 0
        if active.births:
            made._born = active.births
        if active.careful:
            watch(node, ({operands},), made)
        return made

    return apply_again
"""


@functools.cache
def _repeated(
    mask: tuple[bool, ...],
    saved_inputs: Sequence[int],
    saved_outputs: Sequence[int],
    kept: bool,
    numbers: tuple[bool, ...],
    inner: int,
):
    """make(op, how) -> apply_again, as above; `kept`: the program gives more than the result, for the backward pass;
    `numbers` says which operands may be numbers, which have no version."""
    n = range(len(mask))
    operands, values = [f"x{i}" for i in n], ", ".join([f"v{i}" for i in n])
    made = "        made = new(Tensor)\n        made._value, made._view = value, None"
    if kept or True in numbers or len(n) > 4:
        record = f"        value{', *kept' * kept} = record(unit, ({values},), {inner})\n{made}"
    else:
        record = recording(values.split(", "), inner - 1, (), 8) + made
    version = "(x{i}, x{i}._own_version if x{i}._view is None else x{i}._version)"
    versions = [f"*of_other(x{i})" if numbers[i] else version.format(i=i) for i in saved_inputs]
    text = REPEATED.format(
        operands=", ".join(operands),
        values=values,
        record=record,
        edges=", ".join([f"x{i}._ge" if mask[i] else "None" for i in n]),
        saved=[*[f"v{i}" for i in saved_inputs], *["value" for _ in saved_outputs], *["*kept"] * kept] or (),
        versions=[*versions, *["(ref(made), 0)" for _ in saved_outputs]] or (),
    )
    # Under this file's name, by which errors tell the library's frames from the user's.
    exec(compile(text.replace("'", ""), __file__, "exec"), NAMES, found := {})
    return found["make"]


def _version_of_other(x) -> tuple:
    """(x, its version) of an operand that is on no tape; nothing for a number."""
    return ((x, x._version),) if isinstance(x, Tensor) else ()


def watch(node: OpNode, operands: Sequence, made):
    """What a new node needs if anomaly mode, saved-tensor hooks, inference tensors or lost views are about."""
    if active.loses_views:
        for edge in node.edges:
            if edge is not None:
                edge[0].check_followed()
    if active.marks_inference and not state.transforms:  # what transforms differentiate is a tensor of theirs
        for i in node.taped.checked:
            if getattr(operands[i], "_is_inference", False):
                raise RuntimeError(SAVED_INFERENCE)
    if state.anomaly:
        remember(node)
    if state.saved_hooks:
        pack_node(node, operands, made if isinstance(made, list) else [made])


NUMBERS = frozenset(SCALAR_AVALS.values())
NAMES = {
    **RECORDING,
    "Tensor": Tensor,
    "active": active,
    "new": _new,
    "of_other": _version_of_other,
    "record": record,
    "ref": weakref.ref,
    "sequence": sequence,
    "state": state,
    "watch": watch,
}

__all__ = ["GraphOp", "OpNode", "apply", "conjugate", "node_class_of"]
