"""Levels: tensors inside torch.func transforms, and in forward-mode AD.

A wrapper is a Tensor whose `_level` says what it stands for: one example of a batch (`Batched`), a
primal with its tangent (`Dual`), or a tensor with a tape of its own (`Taped`). An op on wrappers
takes the deepest level among its operands off: it runs the batched graph of the op, its jvp graph,
or the op itself with a node on that level's tape, on what they wrap, where wrappers of outer levels
are treated alike. They nest without limit.

Reverse mode needs a level of its own only inside vmap and forward mode: elsewhere the tape at the
bottom records what happens, and gradients of gradients come from it.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Sequence

import numpy as np

from ...core.aval import Aval
from ...core.trace import trace_closed
from ...locks import RLock
from ...transforms.batch import Axis, batch, move_batch_axis
from ...transforms.jvp import jvp
from ..tape import apply as _apply
from ..tape import backward
from ..tape.apply import GraphOp, OpNode, first_order_op, second_order_op
from ..tape.modes import state
from ..tape.node import sequence
from ..tensors.active import active
from ..tensors.base import Tensor, new_tensor
from ..views.cells import look_recorded

NO_DATA = (
    "vmap: It looks like you're calling {what} on a Tensor. We don't support vmap over "
    "calling {what} on a Tensor, please try to rewrite what you're doing with other "
    "operations."
)
CONTROL_FLOW = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent "
    "control flow. We don't support that yet."
)
RANDOM = (
    "vmap: called random operation while in randomness error mode. Please either use the "
    "'same' or 'different' randomness flags on vmap or perform the randomness operation out "
    "of vmap"
)

SAME_BATCHED = "Vmap does not currently support same randomness with a batched tensor input."
DIFFERENT_UNBATCHED = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness."
)

DYNAMIC = "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::{op}."


# ---- the levels being computed -------------------------------------------------------------------


class Frame:
    """A level that has been entered: its depth, its kind (vmap, jvp, grad); of a vmap also the
    number of examples and its randomness (error, different, same)."""

    __slots__ = ("depth", "kind", "size", "randomness", "first_node", "given")

    def __init__(self, kind: str, size: int | None = None, randomness: str = "error"):
        self.depth, self.kind = next(_depths), kind
        self.size, self.randomness = size, randomness
        self.first_node: int | None = None  # of a func transform that differentiates
        self.given: frozenset[int] = frozenset()  # ids of arguments that it does not differentiate by


class _Stack(threading.local):
    frames: tuple[Frame, ...] = ()


_depths = itertools.count(1)
stack = _Stack()


class enter:
    """Context: a new level; gives its frame. `guards`: what is captured must not be written to."""

    def __init__(self, kind: str, size: int | None = None, randomness: str = "error", guards: bool = False):
        self.args, self.guards = (kind, size, randomness), guards

    def __enter__(self) -> Frame:
        self.saved, self.frame = stack.frames, Frame(*self.args)
        try:
            with _lock:
                _entered.add(self.frame.depth)
                active.levels = sys.modules[__package__]
            if self.guards:
                self.frame.first_node = _begin(self.frame.depth)
        except BaseException:  # Ctrl-C
            self._leave()
            raise
        stack.frames = (*self.saved, self.frame)
        state.transforms += 1
        return self.frame

    def __exit__(self, *exc):
        stack.frames = self.saved
        state.transforms -= 1
        self._leave()

    def _leave(self):
        try:
            if self.guards:
                _end(self.frame.depth)
        finally:
            _entered.discard(self.frame.depth)
            _look_for_levels()


# The depths of the levels that are entered, in all threads, and the ids of what tensors stand for: as long as there
# is one, a tensor may have outlived its transform.
_entered: set[int] = set()
_living: set[int] = set()
_lock = RLock()


def _look_for_levels():
    """Let ops not ask for levels any more, if there are none."""
    if not (_entered or _living):
        with _lock:
            if not (_entered or _living):
                active.levels = None


_guarding: list[int] = []  # the depths of the levels that guard what is captured, in all threads


def _begin(depth: int) -> int:
    """What is captured is guarded from here on; the number of the first node. Depths only grow, so that a
    mark is never lower than the depth of the transform it was made in."""
    _guarding.append(depth)
    active.births = depth
    return next(sequence)


def _end(depth: int):
    if depth in _guarding:
        _guarding.remove(depth)
    if not _guarding:
        active.births = 0


def needs_own_tape() -> bool:
    """Whether reverse mode entered now is inside vmap or forward mode."""
    return any(f.kind != "grad" for f in stack.frames)


# ---- kinds ---------------------------------------------------------------------------------------


class Level:
    """What a wrapper stands for."""

    __slots__ = ("depth",)

    def __init__(self, depth: int):
        self.depth = depth
        _living.add(id(self))

    def __del__(self, forget=_living.discard):
        forget(id(self))
        if not _living and _entered is not None:  # None when Python ends
            _look_for_levels()


class Batched(Level):
    """One example of a batch: `inner` has the batch at dimension `dim`. `given`: it is an argument of the function
    that is mapped, in whose memory its examples lie; where a result has its batch says nothing."""

    __slots__ = ("size", "inner", "dim", "given")

    def __init__(self, depth: int, size: int, inner: Tensor, dim: int, given: bool = False):
        super().__init__(depth)
        self.size, self.inner, self.dim, self.given = size, inner, dim, given

    @property
    def aval(self) -> Aval:
        """The aval of one example."""
        a = self.inner._aval
        return a.with_shape(a.shape[: self.dim] + a.shape[self.dim + 1 :])

    def version(self, own: int) -> int:
        """The version of a wrapper."""
        return own

    @property
    def below(self) -> Tensor:
        """The tensor one level down."""
        return self.inner

    def around(self, inner: Tensor) -> Tensor:
        """The same level around another tensor of the shape and batch dimension of `inner`."""
        return wrap(Batched(self.depth, self.size, inner, self.dim, self.given))


class Dual(Level):
    """A primal and its tangent at one level of forward mode."""

    __slots__ = ("primal", "tangent")

    def __init__(self, depth: int, primal: Tensor, tangent: Tensor):
        super().__init__(depth)
        self.primal, self.tangent = primal, tangent

    @property
    def aval(self) -> Aval:
        """The aval of the primal."""
        return self.primal._aval

    def version(self, own: int) -> int:
        """The version of a wrapper: that of the primal, whose memory it is."""
        return self.primal._version

    @property
    def below(self) -> Tensor:
        """The tensor one level down."""
        return self.primal

    def as_leaf(self, edge) -> Dual:
        """The level of a wrapper that has become a leaf: ops go to the primal, so an alias of it has the edge."""
        primal = self.primal.detach()
        primal._ge = edge
        return Dual(self.depth, primal, self.tangent)


class Taped(Level):
    """A tensor that a tape above some vmap or forward-mode level tracks; the wrapper has its
    edge."""

    __slots__ = ("inner",)

    def __init__(self, depth: int, inner: Tensor):
        super().__init__(depth)
        self.inner = inner

    @property
    def aval(self) -> Aval:
        """The aval of the tensor."""
        return self.inner._aval

    def version(self, own: int) -> int:
        """The version of a wrapper."""
        return own

    @property
    def below(self) -> Tensor:
        """The tensor one level down."""
        return self.inner


def wrap(level, edge=None) -> Tensor:
    """A tensor that stands for a level's content."""
    tensor = new_tensor(level.below._value)
    tensor._level = level
    if edge is not None:
        tensor._ge = edge
    elif level.__class__ is Dual:
        tensor._ge = level.primal._ge
    return tensor


def become(tensor: Tensor, level, edge=None) -> Tensor:
    """Let a wrapper stand for another content."""
    new = wrap(level, edge)
    tensor._level, tensor._value, tensor._ge = new._level, new._value, new._ge
    return tensor


def peel(x, depth: int):
    """What x wraps at this depth; x itself if it is of an outer level."""
    level = getattr(x, "_level", None)
    return level.below if level is not None and level.depth == depth else x


def is_wrapper(x) -> bool:
    """Whether x is a tensor of some level."""
    return isinstance(x, Tensor) and x._level is not None


def at_depth(x, depth: int):
    """The level of x if it is of this depth, else None."""
    if isinstance(x, Tensor):
        refresh(x)
        level = x._level
        if level is not None and level.depth == depth:
            return level
    return None


def is_dual(x: Tensor) -> bool:
    """Whether x has a tangent at the innermost of its levels."""
    return isinstance(x._level, Dual)


def refresh(x: Tensor):
    """Derive a view anew if its base has been written to at some level."""
    alias = x._view
    if alias is None or alias.seen == alias.cell.version or alias.base is None:
        return
    root = alias.root()
    if root is None or x._level is None and root._level is None:
        x._read()
        return
    fresh = look_recorded(root, alias.chain[alias.skip :])
    x._level, x._value, x._ge = fresh._level, fresh._value, fresh._ge
    alias.seen = alias.cell.version


# ---- ops on wrappers -----------------------------------------------------------------------------


def apply(op: GraphOp, operands: Sequence):
    """Apply an op to operands of which some are wrappers, at the deepest level among them."""
    deepest = None
    for x in operands:
        if isinstance(x, Tensor):
            level = x._level
            if level is not None and (deepest is None or level.depth > deepest.depth):
                deepest = level
    outs = _RULES[deepest.__class__](op, operands, deepest)
    return outs if op.multiple else outs[0]


def _down(op: GraphOp, operands: Sequence) -> list:
    """The op one level down, as a list of results."""
    found = _apply.apply(op, operands)
    return found if op.multiple else [found]


def _apply_batched(op: GraphOp, operands, level: Batched) -> list:
    depth = level.depth
    at = [at_depth(x, depth) for x in operands]
    dims = tuple([None if lv is None else lv.dim for lv in at])
    key = ("batched_op", level.size, dims)
    found = op.graph.memo.get(key)
    if found is None:
        graph, out_dims = batch(op.graph, Axis(level.size), dims)
        found = op.graph.memo[key] = GraphOp(graph, op.name, True, op.node_class), out_dims
    batched, out_dims = found
    inner = [x if lv is None else lv.inner for x, lv in zip(operands, at)]
    outs = _apply.apply(batched, inner)
    return [o if d is None else wrap(Batched(depth, level.size, o, d)) for o, d in zip(outs, out_dims)]


def _apply_dual(op: GraphOp, operands, level: Dual) -> list:
    depth = level.depth
    at = [at_depth(x, depth) for x in operands]
    mask = tuple([lv is not None and d for lv, d in zip(at, op.differentiable)])
    primals = [x if lv is None else lv.primal for x, lv in zip(operands, at)]
    if not state.forward or True not in mask:
        return _down(op, primals)
    key = ("dual_op", mask)
    found = op.graph.memo.get(key)
    if found is None:
        graph, out_mask = jvp(op.graph, mask)
        found = op.graph.memo[key] = GraphOp(graph, f"{op.name}_jvp", True), out_mask
    dual, out_mask = found
    outs = _apply.apply(dual, primals + [lv.tangent for lv, m in zip(at, mask) if m])
    tangents = iter(outs[len(out_mask) :])
    return [wrap(Dual(depth, o, next(tangents))) if m else o for o, m in zip(outs, out_mask)]


# ---- a tape above other levels -------------------------------------------------------------------


def _apply_taped(op: GraphOp, operands, level: Taped) -> list:
    depth = level.depth
    at = [at_depth(x, depth) for x in operands]
    inner = [x if lv is None else lv.inner for x, lv in zip(operands, at)]
    how = None
    if state.enabled:
        how = op.taped(tuple([lv is not None for lv in at]))
    if how is None:
        return _down(op, inner)
    forward = how.ops.get("forward")
    if forward is None:
        forward = how.ops["forward"] = GraphOp(how.forward.graph, op.name, True, op.node_class)
    outs = _apply.apply(forward, inner)
    edges = [x._ge if m else None for x, m in zip(operands, how.mask)]
    saved = [inner[i] for i in how.saved_inputs]
    saved += [outs[i] for i in how.saved_outputs]
    saved += outs[how.n_out :]
    node = level_node_class(op.node_class)(edges, how.n_out, op, how, saved, ())
    node.depth = depth
    return [wrap(Taped(depth, o), (node, i)) if m else o for i, (o, m) in enumerate(zip(outs, how.out_mask))]


class LevelNode(OpNode):
    """The node of an op on a tape above other levels: it saves tensors of those."""

    __slots__ = ("depth",)
    of_values = None

    def apply(self, grads: Sequence, create_graph: bool) -> tuple:
        """The gradients of the inputs: tensors one level down, taped if `create_graph`."""
        taped = self.taped
        if self.saved is None:
            raise RuntimeError(_apply.FREED)
        given = tuple([g is not None and m for g, m in zip(grads, taped.out_mask)])
        if True not in given:
            return (None,) * len(taped.mask)
        cts = [g for g, use in zip(grads, given) if use]
        if create_graph:
            saved = [self._taped(k, t) for k, t in enumerate(self.saved)]
        else:
            saved = self.saved
            cts = [peel(g, self.depth) for g in cts]
        if create_graph and taped.n_kept:
            op = second_order_op(taped, given)
            saved = saved[: len(taped.saved_inputs)]
        else:
            op = first_order_op(taped, given)
        outs = iter(_apply.apply(op, [*saved, *cts]))
        return tuple([next(outs) if m else None for m in taped.mask])

    def _taped(self, k: int, tensor):
        edge = self.saved_edge(k)
        if edge is None or not isinstance(tensor, Tensor):
            return tensor
        return wrap(Taped(self.depth, tensor), edge)


_level_classes: dict[type, type] = {}


def level_node_class(cls: type) -> type:
    """The class of an op's nodes above other levels; it has the name of the ordinary one."""
    found = _level_classes.get(cls)
    if found is None:
        found = _level_classes[cls] = type(cls.__name__, (LevelNode,), {"__slots__": (), "__module__": cls.__module__})
    return found


_RULES = {Batched: _apply_batched, Dual: _apply_dual, Taped: _apply_taped}


# ---- without history, data, printing -------------------------------------------------------------


def detach(tensor: Tensor) -> Tensor:
    """Without history on any tape; tangents are dropped."""
    refresh(tensor)
    level = tensor._level
    if isinstance(level, Batched):
        return level.around(level.inner.detach())
    return level.below.detach()


def untaped(x: Tensor) -> Tensor:
    """Without history on any tape; tangents stay (as they do in no_grad)."""
    refresh(x)
    level = x._level
    if level is None:
        return x if x._edge() is None else x.detach()
    if isinstance(level, Batched):
        return level.around(untaped(level.inner))
    if isinstance(level, Dual):
        return wrap(Dual(level.depth, untaped(level.primal), untaped(level.tangent)))
    return untaped(level.inner)


def ones_like(tensor: Tensor) -> Tensor:
    """Ones in the shape of one example, batched like the tensor."""
    level = tensor._level
    if isinstance(level, Batched):
        return level.around(backward.ones_like(level.inner))
    return backward.ones_like(level.below)


def concrete(tensor: Tensor, what: str) -> np.ndarray:
    """The data of a wrapper: that of the primal; an error for one example of a batch."""
    refresh(tensor)
    level = tensor._level
    if isinstance(level, Batched):
        what = f".{what}" if what.endswith("()") else what
        raise RuntimeError(CONTROL_FLOW if what == "bool" else NO_DATA.format(what=what))
    return level.below._array()


def whole_batch(tensor: Tensor) -> Tensor:
    """All examples of all batches that a tensor is one of."""
    while isinstance(tensor._level, Batched):
        tensor = tensor._level.inner
    return tensor


def refuse_dynamic(tensor: Tensor, op: str):
    """RuntimeError for an op whose result has a shape that depends on the elements, of one example of a batch."""
    refuse_batched(tensor, DYNAMIC.format(op=op))


def refuse_batched(tensor: Tensor, message: str):
    """RuntimeError for one example of a batch."""
    level = tensor._level
    while level is not None:
        if isinstance(level, Batched):
            raise RuntimeError(message)
        level = level.below._level


def number(depth: int) -> int:
    """How deep a level is among those being computed, from 1; 0 if it is over."""
    depths = [f.depth for f in stack.frames]
    return depths.index(depth) + 1 if depth in depths else 0


def describe(tensor: Tensor) -> str:
    """How a wrapper prints."""
    refresh(tensor)
    level = tensor._level
    lvl = number(level.depth)
    inner = repr(level.below).replace("\n", "\n    ")
    if isinstance(level, Batched):
        return f"BatchedTensor(lvl={lvl}, bdim={level.dim}, value=\n    {inner}\n)"
    if isinstance(level, Taped):
        return f"GradTrackingTensor(lvl={lvl}, value=\n    {inner}\n)"
    from .forward_ad import describe as describe_dual
    from .forward_ad import is_dual_level

    if is_dual_level(level.depth):
        return describe_dual(level)
    return f"GradTrackingTensor(lvl={lvl}, value=\n    {inner}\n)"


# ---- batches -------------------------------------------------------------------------------------


def batched_at(x: Tensor, frame_depth: int, size: int, dim: int) -> Tensor:
    """The tensor one level down whose dimension `dim` is the batch of this level: x moved, or
    expanded if it is not batched there."""
    level = at_depth(x, frame_depth)
    if level is None:
        dim = dim % (x.ndim + 1)
        return move_dim(x, None, dim, size)
    dim = dim % level.inner.ndim
    return level.inner if level.dim == dim else move_dim(level.inner, level.dim, dim, size)


def move_dim(x: Tensor, source: int | None, target: int, size: int) -> Tensor:
    """x with its batch dimension moved (from None: made by repetition)."""
    a = x._aval
    key = ("move_dim", a, source, target, size)
    op = _moves.get(key)
    if op is None:
        graph = trace_closed(lambda v: [move_batch_axis(Axis(size), v, source, target)], [a], "movedim")
        op = _moves[key] = GraphOp(graph, "permute", False)
    return _apply.apply(op, [x])


_moves: dict[tuple, GraphOp] = {}


def batched_like(made: Tensor, x: Tensor) -> Tensor:
    """A tensor repeated for every example of the batches that x is of."""
    level = x._level
    if level is None:
        return made
    made = batched_like(made, level.below)
    if not isinstance(level, Batched):
        return made
    return wrap(Batched(level.depth, level.size, move_dim(made, None, 0, level.size), 0))


def drawn(draw, shape: Sequence[int], *parameters: Tensor) -> Tensor:
    """A random tensor of this shape inside whatever vmaps are active.

    `draw(shape, *parameters)` draws an unbatched one. Levels with randomness 'different' get their batch in front of
    `shape`; 'same' shares the draw; 'error' raises RuntimeError.
    """
    frames = [f for f in stack.frames if f.kind == "vmap"]
    if not frames:
        return draw(tuple(shape), *parameters)
    check_randomness(parameters)
    parameters = [x.detach() for x in parameters]
    lead = [f for f in frames if f.randomness == "different"]
    full = [f.size for f in lead] + list(shape)
    for frame in reversed(lead):
        parameters = [batched_at(x, frame.depth, frame.size, 0) for x in parameters]
    out = draw(tuple(full), *parameters)
    for frame in lead:
        out = wrap(Batched(frame.depth, frame.size, out, 0))
    return out


def check_randomness(parameters: Sequence[Tensor], filled: Tensor | None = None):
    """RuntimeError where numbers may not be drawn inside of the vmaps that are active: of these parameters, into the
    memory of `filled`."""
    for frame in stack.frames:
        if frame.kind != "vmap":
            continue
        batched = any([has_level(x, frame.depth) for x in parameters])
        if frame.randomness == "error":
            raise RuntimeError(RANDOM)
        if batched and frame.randomness == "same":
            raise RuntimeError(SAME_BATCHED)
        shared = filled is not None and not batched and not has_level(filled, frame.depth)
        if shared and frame.randomness == "different":
            raise RuntimeError(DIFFERENT_UNBATCHED)


def has_level(x: Tensor, depth: int) -> bool:
    """Whether x is, somewhere down, a wrapper of this depth."""
    level = x._level
    while level is not None:
        if level.depth == depth:
            return True
        level = level.below._level
    return False
