"""Several views that one call returns: split, unbind."""

from __future__ import annotations

from ...core.aval import Aval
from ...core.trace import trace_closed
from ...engine.signatures import remembered
from ..tape.apply import GraphOp, apply
from ..tape.modes import state
from ..tape.node_names import Call
from ..tensors.base import Tensor
from .cells import Alias, _ints, _node_name, based_on, current_aval, is_on_tape, make_view, share
from .lenses import INT, look_through
from .refusals import OF_SEVERAL

# Views of one call have one node, as PyTorch's have, unless they are so many that one program for
# all of them would be long.
ONE_NODE = 64


def make_views(tensor: Tensor, lenses) -> list[Tensor]:
    """Views of a tensor that one call returns; on the tape they are outputs of one node."""
    taped = state.enabled and tensor._level is None and not tensor._is_inference and is_on_tape(tensor)
    if not taped or not 1 < len(lenses) <= ONE_NODE:
        return [make_view(tensor, lens) for lens in lenses]
    op = getters(tuple([lens.static for lens in lenses]), current_aval(tensor))
    outs, alias = apply(op, [tensor, *_ints(lenses)]), share(tensor)
    base, skip, source = based_on(tensor, alias)
    for out, lens in zip(outs, lenses):
        out._view = Alias(alias.cell, (*alias.chain, lens), base, skip, source, alias.untracked)
    return outs


@remembered(GraphOp.units)
def getters(lenses: tuple, a: Aval) -> GraphOp:
    """The op that reads several views, each through one lens."""
    name = _node_name(*lenses[0])
    ints = [INT] * sum(n for _, _, n in lenses)

    def views(x, *i):
        i = iter(i)
        return [look_through(x, (lens,), i) for lens in lenses]

    op = GraphOp(trace_closed(views, [a, *ints], name), name, True)
    op.call = Call.of(0)
    return op


def is_one_of_several(views, name: str) -> tuple[Tensor, ...]:
    """Views that one call of the op `name` returns: autograd does not follow writes to them."""
    for i, view in enumerate(views):
        if view._ge is not None and view._view.refuses is None:
            view._view.refuses = OF_SEVERAL.format(i=i, name=name)
    return tuple(views)
