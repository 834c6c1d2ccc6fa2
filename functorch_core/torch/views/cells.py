"""Views: tensors that share memory. A view is a chain of lenses on a cell.

A cell holds the one immutable value of a storage and counts its versions. A lens has a getter, a
setter, and what it does to strides. Reading a view whose cell has moved on derives it anew; writing
to one puts the new part into the cell's value. Both are ops, so the tape sees them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...core.aval import Aval, aval
from ...core.trace import trace_closed
from ...engine import Value, absent, guarded, keep, pending, undo_later
from ...engine.at_once import host_array, value_of
from ...engine.recorder import computes_at_once, leaves_nothing_out
from ...engine.signatures import remembered
from ...engine.value import SMALL, at_hand
from ..tape.accumulate import UNFOLLOWED, Lost, is_of_leaf
from ..tape.apply import GraphOp, apply, apply_to
from ..tape.meta import UNDISPATCHED, is_off_tape_on_meta, on_device_of
from ..tape.modes import state
from ..tape.node_chains import chain_of_box
from ..tape.node_names import Call, rename
from ..tensors.active import active
from ..tensors.base import Tensor, new_tensor
from .lenses import INT, KINDS, Lens, look_through, over, put_through
from .refusals import (
    IN_INFERENCE,
    IN_NO_GRAD,
    INFERENCE_INPLACE,
    LEAF_INPLACE,
    LEAF_VIEW_INPLACE,
    OVERLAP,
    PARTS_OFF_TAPE,
    later,
    of_a_view,
)
from .spread import MUCH, SPREAD, is_spread, keep_nowhere
from .strides import contiguous_strides, is_dense


class Cell:
    """A storage: its value in the shape of its base, its version, and its layout.

    `unseen` of the versions came from writes through x.data, which autograd does not know of; the last of these led
    from version quiet[0] to quiet[1] without others in between. `memory` is where it has an address, if it has one
    (see `shared`).
    """

    __slots__ = ("value", "version", "unseen", "shape", "strides", "strided", "memory", "born", "quiet", "__weakref__")
    shared = False  # whether others may write to its memory: a `shared.SharedCell`

    def __init__(self, value: Value, version: int, strides, born: int | None = None):
        self.born = active.births if born is None else born
        self.value, self.version, self.unseen, self.quiet = value, version, 0, None
        self.shape = value.aval.shape
        self.strides, self.strided = strides or contiguous_strides(self.shape), strides is not None

    def show(self, tensor: Tensor, alias: Alias) -> Value:
        """Derive the value of a tensor anew, and its history."""
        root = alias.root()
        spread = alias.seen == SPREAD and not computes_at_once()
        if root is not None and root._ge is None and tensor._ge is None:
            followed, alias.changed = True, alias.is_changed()
        else:
            followed = alias.is_followed(tensor, root)
        if followed:
            anew = alias.is_changed()
            if anew and root._ge is None and tensor._ge is not None:
                root = new_tensor(root._read(), UNFOLLOWED)  # what had a history has one that leads nowhere
            fresh = look_recorded(root, alias.chain[alias.skip :])
            if spread and fresh._ge is None:
                return fresh._value
            tensor._value = fresh._value
            if anew:
                before, tensor._ge = tensor._ge, fresh._ge
                alias.written, alias.changed = False, fresh._ge is None
                rename(tensor, "AsStridedBackward0")  # as PyTorch derives it
                if tensor._retains_grad:
                    alias.seen = self.version
                    tensor._retain_anew(before)
        elif spread:
            return look(new_tensor(self.value), alias.chain)._value
        elif alias.chain:
            tensor._value = look(new_tensor(self.value), alias.chain)._value
        else:
            tensor._value = self.value
        alias.seen = self.version
        return tensor._value

    def is_quiet_since(self, seen: int) -> bool:
        """Whether nothing but writes that autograd does not know of came since a version: history stays."""
        quiet, now = self.quiet, int(self.version)
        return now == seen or quiet is not None and quiet[1] == now and quiet[0] <= seen

    def write_quietly(self):
        """Note that the next version comes from a write through x.data."""
        before, version = self.quiet, int(self.version)
        self.quiet = (before[0] if before is not None and before[1] == version else version, version + 1)
        self.unseen += 1

    def write(self, alias: Alias, value: Value):
        """Put a value where an alias looks."""
        self.value = put(new_tensor(self.value), new_tensor(value), alias.chain)._value


class Alias:
    """How one tensor sees a cell. `base` is the tensor whose history a write changes, too; it looks
    through the first `skip` lenses itself (it was detached from a view). A view that was made while the tape was off
    has a `source` instead: it requires a gradient if that does, and gets none. `refuses` is the error of
    writing to it while the tape is on, of a view that autograd could not follow; `note` that of writing what is on the
    tape to it; `changed`, where it is set: whether its memory has been written to since its history was known."""

    __slots__ = (
        "cell",
        "chain",
        "permuted",
        "contiguous",
        "seen",
        "base",
        "skip",
        "source",
        "untracked",
        "refuses",
        "written",
        "earlier",
        "changed",
        "note",
    )

    def __init__(
        self,
        cell: Cell,
        chain: tuple[Lens, ...],
        base: Tensor | None,
        skip: int = 0,
        source: Tensor | None = None,
        untracked: bool = False,
    ):
        self.cell, self.chain, self.base, self.seen = cell, chain, base, cell.version
        self.skip, self.source = skip, source
        self.permuted = self.contiguous = None  # nobody knows until an op asks
        self.refuses: str | None = None
        self.written = False  # through this view, on the tape: its history is that of the base
        self.earlier = 0  # writes to the tensor before it got this memory: x.data = y
        self.untracked = untracked  # whether writes go unseen by autograd: x.data

    def root(self) -> Tensor | None:
        """The tensor whose history a write changes, too. None, from then on, once it sees other memory (x.data = y) or
        the same in another way (x.resize_()): the view goes on with what it shows."""
        if self.base is None:
            return None
        root = root_of(self.base)
        alias = root._view
        if alias is None or alias.cell is not self.cell or alias.chain != self.chain[: self.skip]:
            self.base = None
            return None
        return root

    def is_permuted(self) -> bool:
        """Whether the dimensions may lie in memory in another order (see `_memory_order`)."""
        if self.permuted is None:
            self.permuted = self.cell.strided or any([KINDS[x.kind].permuting for x in self.chain])
        return self.permuted

    def is_contiguous(self) -> bool:
        """Whether the elements lie one after the other."""
        if self.contiguous is None:
            shape, strides, _ = self.layout()
            self.contiguous = is_dense(shape, strides, contiguous_strides(shape))
        return self.contiguous

    def read(self, tensor: Tensor) -> Value:
        """The tensor's value, derived anew if the cell has changed since."""
        if self.seen != self.cell.version:
            return self.cell.show(tensor, self)
        return tensor._value

    def read_unless_permuted(self, tensor: Tensor) -> Value | None:
        """The tensor's value; None if its dimensions may lie in memory in another order."""
        if self.permuted is not False and self.is_permuted():
            return None
        return self.read(tensor)

    def settle(self, tensor: Tensor):
        """Let the tensor have the history that PyTorch gives it: that of a part of its base."""
        if self.written and tensor._level is None and tensor._ge is not None:
            root = self.root()
            if self.refuses is not None or root is not None and root._ge is not None:
                self.seen = -1
        self.read(tensor)
        if tensor._ge is not None:
            tensor._ge[0].check_followed()

    def is_view(self) -> bool:
        """Whether autograd knows the tensor as a view of another."""
        return self.base is not None or self.source is not None

    def tell_views(self):
        """After a tensor has begun or ceased to require a gradient, of itself: its views ask when they are read."""
        cell, current = self.cell, self.seen == self.cell.version
        cell.write_quietly()
        cell.version += 1
        if current and not self.is_view():
            self.seen = cell.version

    def is_changed(self) -> bool:
        """Whether writes that autograd knows of came since the view was made, or its history was derived."""
        return getattr(self, "changed", False) or not self.cell.is_quiet_since(int(self.seen))

    def is_followed(self, tensor: Tensor, root: Tensor | None) -> bool:
        """Whether the history of a view, which is to be derived anew, is that of a part of `root`. If not, what it has
        says whether it requires a gradient, or that there is no telling what its history is."""
        origin = root if self.source is None else root_of(self.source)
        if origin is None and self.refuses is None:
            return False
        if origin is not None and origin._view is not None and origin._view.is_view():
            origin._read()
        edge, above = tensor._ge, None if origin is None else origin._ge
        if above is None:
            apart = self.source is not None or self.refuses is PARTS_OFF_TAPE
            if edge is not None and (edge is UNFOLLOWED or apart and not edge[0].followed):
                edge = tensor._ge = None
                self.refuses = None
            if edge is None or edge[0].followed and is_of_leaf(edge):
                self.changed = self.is_changed()
                return root is not None
            refused = self.refuses
        else:
            refused = self.refuses = of_a_view(above[0].lost, edge) if above[0].lost else self.refusal()
        changed = self.is_changed()
        if refused is not None and changed:
            active.loses_views = self.changed = True
            tensor._ge = Lost(later(self.told(refused, edge))), 0
        elif edge is None and not changed:
            tensor._ge = UNFOLLOWED
        else:
            return root is not None
        return False

    def refusal(self) -> str | None:
        """The error of writing what is on the tape to it; None where its base learns of that."""
        if self.refuses is not None:
            return self.refuses
        note = getattr(self, "note", None)
        if note is not None or self.source is not None:
            return note or IN_NO_GRAD
        if self.base is not None and any([KINDS[lens.kind].several for lens in self.chain[self.skip :]]):
            return PARTS_OFF_TAPE
        return None

    def told(self, refused: str, edge: tuple | None) -> str:
        """An error of writing to it, as it is told of the view with this history."""
        own = not self.chain or KINDS[self.chain[-1].kind].several or getattr(self, "note", None) is not None
        return refused if own or self.base is None or edge is None else of_a_view(refused, edge)

    def leave_tape(self, tensor: Tensor):
        """Note that `tensor` shows, while the tape is off, what is on it."""
        tensor._ge = UNFOLLOWED
        self.refuses = IN_INFERENCE if state.inference else IN_NO_GRAD

    def of_function(self, refused: str):
        """Note that a custom function returned this view: its history is that function's."""
        self.base, self.source, self.refuses = None, self.source if self.base is None else self.base, refused

    def layout(self) -> tuple[tuple, tuple, int]:
        """(shape, strides, offset) in elements of the storage."""
        shape, strides, offset = self.cell.shape, self.cell.strides, 0
        for lens in self.chain:
            shape, strides, offset = KINDS[lens.kind].layout(shape, strides, offset, *lens.params, *lens.ints)
        return shape, strides, offset


# ---- getters and setters as ops ----------------------------------------------------------------------


def look(base: Tensor, chain: tuple[Lens, ...]) -> Tensor:
    """What a chain of lenses shows of a tensor, on the tape."""
    if (
        active.meets_meta and is_off_tape_on_meta(base) and any(lens.kind in ("as_strided", "unfold") for lens in chain)
    ):  # they write places down
        layout = layout_of(base)
        for lens in chain:
            layout = KINDS[lens.kind].layout(*layout, *lens.params, *lens.ints)
        return new_tensor(absent(aval(layout[0], base._value.aval.dtype)))
    op = getter(tuple([lens.static for lens in chain]), current_aval(base))
    return apply(op, [base, *_ints(chain)])


def put(base: Tensor, new: Tensor, chain: tuple[Lens, ...]) -> Tensor:
    """The base with a new part where the chain looks, on the tape."""
    if active.meets_meta and is_off_tape_on_meta(base):
        return new_tensor(base._value)
    op = setter(tuple([lens.static for lens in chain]), current_aval(base), current_aval(new))
    return apply(op, [base, new, *_ints(chain)])


def look_recorded(base: Tensor, chain: tuple[Lens, ...]) -> Tensor:
    """look() with the tape on: a view that is read inside no_grad keeps its history."""
    saved, state.enabled = state.enabled, True
    try:
        return look(base, chain)
    finally:
        state.enabled = saved


def current_aval(tensor: Tensor) -> Aval:
    """The aval an op sees: of one example inside vmap."""
    return tensor._read().aval if tensor._level is None else tensor._level.aval


def _ints(chain) -> list[int]:
    return [i for lens in chain for i in lens.ints]


@remembered(GraphOp.units)
def getter(chain: tuple, a: Aval) -> GraphOp:
    """The op that reads a view from its base."""
    name = _node_name(*chain[-1]) if chain else "alias"
    ints = [INT] * sum(n for _, _, n in chain)
    op = GraphOp(trace_closed(lambda x, *i: [look_through(x, chain, iter(i))], [a, *ints], name), name, False)
    is_box = len(chain) == 1 and chain[-1][0] == "index"
    op.call = Call.of(0, chain=chain_of_box(*chain[-1][1]) if is_box else None)
    return op


def _node_name(kind: str, params: tuple, n_ints: int) -> str:
    node = KINDS[kind].node
    return kind if node is None else node(*params)


@remembered(GraphOp.units)
def setter(chain: tuple, a: Aval, new: Aval) -> GraphOp:
    """The op that puts a new view into its base: (base, new, *ints) -> base."""
    ints = [INT] * sum(n for _, _, n in chain)
    whole = all(KINDS[kind].whole for kind, _, _ in chain)
    graph = trace_closed(lambda x, y, *i: [over(x, put_through(x, y, chain, i), whole)], [a, new, *ints], "CopySlices")
    op = GraphOp(graph, "CopySlices", False)
    op.call = Call.of(0, 1)
    return op


# ---- making views --------------------------------------------------------------------------------------


def share(tensor: Tensor) -> Alias:
    """The tensor's alias; an unshared tensor gets a cell of its own first."""
    if tensor._view is None:
        if tensor._device is not None:
            raise NotImplementedError(UNDISPATCHED.format(name="a view"))
        born = active.levels.birth(tensor) if active.births else 0
        cell = Cell(tensor._value, tensor._own_version, tensor._strides, born)
        alias = tensor._view = Alias(cell, (), None)
        if not cell.strided:
            alias.permuted, alias.contiguous = False, True
    return tensor._view


def is_on_tape(tensor: Tensor) -> bool:
    """Whether a tensor has a history. Of what another tensor wrote to its memory a view learns when it is read."""
    alias = tensor._view
    if tensor._ge is None and alias is not None and alias.is_view():
        root = alias.root() if alias.source is None else root_of(alias.source)
        if root is not None and root._ge is not None:
            tensor._read()
    return tensor._ge is not None


def make_view(tensor: Tensor, lens: Lens, array: np.ndarray | None = None) -> Tensor:
    """A view of a tensor through a further lens, on the tape like any op; `array`: what it shows, if that is known."""
    if tensor._level is not None:
        return active.levels.make_view(tensor, lens)
    if tensor._view is not None and tensor._view.cell.shared and not (active.marks_inference or is_on_tape(tensor)):
        return tensor._view.cell.make_view(tensor, lens)
    host = KINDS[lens.kind].host if array is None else None
    if host is not None and (computes_at_once() or few_at_hand(tensor) is not None):
        array = _host_view(tensor, lens, host)
    if array is not None:
        out = new_tensor(value_of(array))
    elif active.meets_meta and is_off_tape_on_meta(tensor):
        out = look(tensor, (lens,))
    else:
        out = _shown(tensor, lens)
    alias = tensor._view or share(tensor)
    view = out._view = Alias(alias.cell, (*alias.chain, lens), *based_on(tensor, alias), alias.untracked)
    if array is not None and alias.is_contiguous():
        view.contiguous = array.flags.c_contiguous
    if alias.refuses is not None and alias.base is not None:
        view.refuses = alias.refuses
    if tensor._ge is not None and not state.enabled:
        view.leave_tape(out)
    if active.marks_inference:
        mark_inference(tensor, out)
    if out._value.aval.nbytes >= MUCH and is_spread(out, [KINDS[x.kind] for x in view.chain]):
        keep_nowhere(out)
    return out


def mark_inference(tensor: Tensor, view: Tensor):
    """Views of inference tensors are such, and never on the tape; those of others are none."""
    view._is_inference = tensor._is_inference
    if tensor._is_inference:
        view._ge, view._view.refuses, view._view.base = None, None, None
        if not state.inference:
            view._view.source = None
    elif state.inference:
        view._view.note = IN_INFERENCE


def show(tensor: Tensor, lens: Lens, out: Tensor) -> Tensor:
    """`out`, which is what a lens shows of the tensor, as a view of it."""
    alias = share(tensor)
    out._view = Alias(alias.cell, (*alias.chain, lens), *based_on(tensor, alias), alias.untracked)
    return out


def _shown(tensor: Tensor, lens: Lens) -> Tensor:
    """look(tensor, (lens,)), which is all that most views look through."""
    value = tensor._value if tensor._view is None else tensor._read()
    kind, params, ints = lens
    op = getter(((kind, params, len(ints)),), value.aval)
    if active.levels is not None:
        return apply(op, [tensor, *ints])
    on_tape = tensor._ge is not None
    if ints:
        return apply_to(op, (tensor, *ints), (value, *ints), (on_tape, *[False] * len(ints)))
    return apply_to(op, (tensor,), (value,), (on_tape,))


def few_at_hand(tensor: Tensor) -> np.ndarray | None:
    """The numbers of a tensor off the tape, where they are few and computed, and nothing is recorded that parts of them
    could be a part of: to trace a view that was not seen before takes 40 us, to take the part of an array one."""
    value, alias = tensor._value, tensor._view
    is_stale = alias is not None and alias.seen != alias.cell.version
    if is_stale or value.recording is not None or value.aval.nbytes >= SMALL:
        return None
    is_plain = active.plain and is_of_this_mode(tensor) and leaves_nothing_out() and not is_on_tape(tensor)
    return at_hand(value) if is_plain else None


def is_of_this_mode(tensor: Tensor) -> bool:
    """Whether a tensor is an inference tensor just where inference mode is on."""
    return not active.marks_inference or state.inference == tensor._is_inference


def _host_view(tensor: Tensor, lens: Lens, host: Callable) -> np.ndarray | None:
    """What a lens shows of computed numbers, by NumPy's way; None where it is not as simple as that."""
    if not is_of_this_mode(tensor) or is_on_tape(tensor):
        return None
    array = host_array(tensor._value if tensor._view is None else tensor._read())
    return None if array is None else host(array, *lens.params)


def based_on(tensor: Tensor, alias: Alias) -> tuple[Tensor | None, int, Tensor | None]:
    """The base of a view of the tensor, and how many lenses that looks through itself; the source instead while the
    tape is off."""
    if not state.enabled:
        source = alias.source if alias.base is None else alias.base
        return None, 0, tensor if source is None else source
    return (tensor, len(alias.chain), None) if alias.base is None else (alias.base, alias.skip, None)


def make_alias(tensor: Tensor) -> Tensor:
    """Another tensor of the same memory without history: detach."""
    value = tensor._read()
    alias = share(tensor)
    out = new_tensor(value)
    out._view = Alias(alias.cell, alias.chain, None)
    if active.marks_inference:
        out._is_inference = tensor._is_inference
    if alias.seen == SPREAD:
        keep_nowhere(out)
    return out


def see(tensor: Tensor, other: Tensor):
    """Let a tensor see another's memory: x.data = y, x.set_(y)."""
    alias = share(other)
    if pending:
        undo_later(_see_again, (tensor, tensor._value, tensor._strides, tensor._view))
    tensor._value, tensor._strides = other._read(), None
    tensor._view = Alias(alias.cell, alias.chain, None)


def _see_again(before: tuple):
    tensor, *state = before
    tensor._value, tensor._strides, tensor._view = state


def root_of(base: Tensor) -> Tensor:
    """The tensor that has a cell's shape: `base`, unless it became a view itself (see rebase)."""
    alias = base._view
    return base if alias is None or alias.base is None else alias.base


def rebase(tensor: Tensor, lens: Lens, new: Tensor):
    """Let the tensor see its cell through a further lens; `new` is what it shows then.

    The views of a tensor that is no view itself go on by a stand-in of its former shape.
    """
    strides, alias = layout_after(tensor, lens)[1], tensor._view
    if alias is None:
        tensor._own_version += 1
        tensor._strides = None if strides == contiguous_strides(new._value.aval.shape) else strides
    else:
        cell, base = alias.cell, alias.base
        cell.version += 1
        skip = 0 if base is None else alias.skip
        if base is None and (tensor._ge is None or not is_of_leaf(tensor._ge)):
            base, skip = new_tensor(tensor._value, tensor._ge), len(alias.chain)
            base._view, alias.seen = alias, cell.version
        tensor._view = Alias(cell, alias.chain + (lens,), base, skip, alias.source)
        if alias.refuses is not None:
            tensor._view.refuses = tensor._view.note = alias.told(alias.refuses, tensor._ge)
    tensor._value = new._value
    if new._ge is not None:
        tensor._ge = new._ge
    if alias is None and tensor._strides is not None:
        share(tensor).permuted = True  # ops ask it, not the tensor


def layout_after(tensor: Tensor, lens: Lens) -> tuple[tuple, tuple, int]:
    """(shape, strides, offset) of what a lens shows of the tensor."""
    return KINDS[lens.kind].layout(*layout_of(tensor), *lens.params, *lens.ints)


def assign(tensor: Tensor, new: Tensor, captured: bool = False, checked: bool = False, op: str = "copy") -> Tensor:
    """Give `tensor` the value (and history) of `new`, which has its shape and dtype: x.op_()."""
    if not checked:
        check_writable(tensor, True, captured, op)
    if active.rewrites:
        new = _rewritten(tensor, new)
    if tensor._level is not None or new._level is not None:
        return active.levels.assign(tensor, new)
    alias = tensor._view
    value = new._read()
    if pending:
        value = guarded(value, tensor._read(), None if alias is None else alias.cell.value)
    if alias is None:
        tensor._value = value
        tensor._own_version += 1
        _take_edge(tensor, new)
        return tensor
    tensor._read()
    if new._ge is not None and tensor._ge is None and state.enabled:
        refused = alias.refusal()
        if refused is not None:
            raise RuntimeError(refused)
    _write_through(tensor, alias, new, value)
    return tensor


def is_apart(tensor: Tensor) -> bool:
    """Whether a write changes nothing but the tensor's whole value: nothing for the tape, no part of another tensor.
    To be asked while nothing is active."""
    if tensor._ge is not None and state.enabled or pending:
        return False
    if active.marks_inference and tensor._is_inference and not state.inference:
        return False
    alias = tensor._view
    return alias is None or not (
        alias.chain or alias.cell.shared or alias.untracked or alias.refuses is not None or alias.base is not None
    )


def overwrite(tensor: Tensor, value: Value):
    """Give a tensor that is apart another value."""
    tensor._value, alias = value, tensor._view
    if alias is None:
        tensor._own_version += 1
    else:
        alias.cell.value, alias.cell.version = value, alias.cell.version + 1
        alias.seen = alias.cell.version


def _rewritten(tensor: Tensor, new: Tensor) -> Tensor:
    """What is to be assigned, where the tensor is: without data, or over several devices."""
    if active.meets_meta:
        new = on_device_of(tensor, new)
    return new if active.distributed is None else active.distributed.written(tensor, new)


def _take_edge(tensor: Tensor, new: Tensor):
    """After an in-place op: the history is the op's, unless the tape is off."""
    if state.enabled:
        if new._ge is not None:
            new._ge[0].forget(tensor, new)
        before, tensor._ge = tensor._ge, new._ge
        if tensor._retains_grad:
            tensor._retain_anew(before)


def _write_through(tensor: Tensor, alias: Alias, new: Tensor, value: Value):
    cell = alias.cell
    if alias.untracked:
        cell.write_quietly()
    if not alias.chain:
        cell.value = value
        cell.version += 1
        tensor._value, alias.seen = value, cell.version
        _take_edge(tensor, new)
        return
    base = alias.root()
    if base is not None and not (cell.shared and base._ge is None and new._ge is None):
        part = new if state.enabled and value is new._value else new_tensor(value, new._ge if state.enabled else None)
        changed = put(base, part, alias.chain[alias.skip :])
        if alias.skip:  # the base is stale then, and derived anew
            cell.write(alias, value)
            cell.version += 1
        else:
            cell.value = base._value = changed._value
            cell.version += 1
            base._view.seen = cell.version
        if state.enabled:
            base._ge = changed._ge
            alias.written = True
    else:
        cell.write(alias, value)
        cell.version += 1
    if pending and value is not new._value:
        keep(cell.value)
    tensor._value, alias.seen = value, cell.version
    if base is None or base._ge is None or not state.enabled:
        alias.changed = alias.written = True
        if alias.refuses is not None and tensor._ge is not None and tensor._ge[0].followed:
            alias.seen = -1  # its history is not known any more
    _take_edge(tensor, new)


def check_overlap(tensor: Tensor):
    """RuntimeError for a view in which several elements are one place of memory."""
    if any(KINDS[lens.kind].overlapping for lens in tensor._view.chain):
        shape, strides, _ = layout_of(tensor)
        if 0 not in shape and any(s == 0 and n > 1 for n, s in zip(shape, strides)):
            raise RuntimeError(OVERLAP)


def check_writable(tensor: Tensor, overlapping: bool = False, captured: bool = False, op: str = "copy"):
    """RuntimeError where PyTorch forbids writing: leaves that require grad, and their views; and,
    unless `overlapping` does no harm, elements that are one place of memory; and, unless `captured`
    is allowed, what a function being transformed has captured. Its error says `op`: see there."""
    if active.births and not captured:
        active.levels.check_captured(tensor, op)
    if tensor._is_inference and not state.inference and not (tensor._view is not None and tensor._view.untracked):
        raise RuntimeError(INFERENCE_INPLACE)
    if not overlapping and tensor._view is not None and tensor._view.chain:
        check_overlap(tensor)
    if state.enabled and tensor._level is None:
        if tensor._view is not None and (tensor._view.is_view() or tensor._view.refuses is not None):
            _check_followed(tensor, tensor._view)
        if tensor._ge is not None and is_of_leaf(tensor._ge):
            raise RuntimeError(LEAF_INPLACE)


def _check_followed(tensor: Tensor, alias: Alias):
    """RuntimeError for a view which autograd cannot follow writes to."""
    base, refused = alias.base, alias.refuses
    if alias.source is not None:
        tensor._read()  # whether it is on the tape is known then
        refused = None if tensor._ge is None else alias.refusal()
    elif refused is None and base._ge is not None and (tensor._ge is None or tensor._ge is UNFOLLOWED):
        refused = alias.refusal()
    if refused is not None:
        raise RuntimeError(alias.told(refused, tensor._ge))
    if base is None:
        return
    if base._view is not None and base._view.is_view():
        base._read()
    if base._view is not None and base._view.refuses is not None:
        raise RuntimeError(of_a_view(base._view.refuses, tensor._ge))
    if (tensor._ge is not None or base._ge is not None) and is_of_leaf(base._ge):
        raise RuntimeError(LEAF_VIEW_INPLACE)


# ---- strides -------------------------------------------------------------------------------------------


def layout_of(tensor: Tensor) -> tuple[tuple, tuple, int]:
    """(shape, strides, storage offset) of a tensor; inside vmap of one example."""
    if tensor._level is not None:
        return active.levels.layout(tensor)
    if tensor._view is not None:
        return tensor._view.layout()
    shape = current_aval(tensor).shape
    return shape, tensor._strides or contiguous_strides(shape), 0
