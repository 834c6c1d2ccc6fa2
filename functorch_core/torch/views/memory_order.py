"""The order in memory of results: PyTorch's ops take over that of their operands.

A value has no strides; a tensor tells some (`stride()`, `is_contiguous`, which copies `view` needs,
what `save` writes). Results are contiguous unless an operand is a view whose dimensions have
changed places, or a tensor with strides of its own: only then is this module asked, after the op.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from ...core.graph import Graph
from ...core.trace import constant_p
from ...engine import Value
from ...engine.value import to_numpy
from ...primitives.structure import broadcast_in_dim_p
from ..tensors.active import active, declared
from ..tensors.base import Tensor
from .cells import Cell, layout_of, share
from .lenses import KINDS
from .strides import contiguous_strides, is_dense

# ---- strides of pointwise results ----------------------------------------------------------------


def pointwise_strides(layouts: Sequence[tuple[tuple, tuple]], shape: tuple) -> tuple | None:
    """The strides of a result of these (shape, strides), which broadcast to `shape`; None if it is
    contiguous."""
    n = len(shape)
    if any(len(s) > n for s, _ in layouts):
        return None  # a graph that computes nothing of an empty operand looks pointwise
    full = contiguous_strides(shape)
    if all(s == shape for s, _ in layouts):
        if all(is_dense(shape, strides, full) for _, strides in layouts):
            return None
        last = channels_last_strides(shape) if n == 4 else full
        if n == 4 and all(is_dense(shape, strides, last) for _, strides in layouts):
            return last
        first = layouts[0][1]
        if all(strides == first for _, strides in layouts) and dense_strides(shape, first) == first:
            return first
    operands = [_broadcast(s, strides, shape) for s, strides in layouts]
    found = packed(shape, by_stride(shape, operands))
    return None if found == full else found


def _broadcast(shape: tuple, strides: tuple, target: tuple) -> tuple:
    lead = len(target) - len(shape)
    return (0,) * lead + tuple([0 if n == 1 and m != 1 else s for n, m, s in zip(shape, target[lead:], strides)])


def by_stride(shape, operands: Sequence[tuple]) -> list[int]:
    """The dimensions from the inner to the outer; the first operand that can tell decides."""
    order = list(reversed(range(len(shape))))
    for i in range(1, len(order)):
        at = i
        for below in reversed(range(i)):
            turn = _compared(shape, operands, order[below], order[at])
            if turn > 0:
                order[below], order[at] = order[at], order[below]
                at = below
            elif turn < 0:
                break
    return order


def _compared(shape, operands, a: int, b: int) -> int:
    for strides in operands:
        if strides[a] == 0 or strides[b] == 0:
            continue
        if strides[a] != strides[b]:
            return 1 if strides[a] > strides[b] else -1
        if shape[a] > shape[b]:
            return 1
    return 0


def packed(shape, order) -> tuple[int, ...]:
    """Strides without gaps, the dimensions from the inner to the outer given."""
    out, n = [1] * len(shape), 1
    for d in order:
        out[d] = n
        n *= shape[d]
    return tuple(out)


def dense_strides(shape, strides) -> tuple[int, ...]:
    """The strides themselves if the elements are dense; otherwise those of the same order."""
    if 0 in shape:
        return tuple(strides)
    expected, dense = 1, True
    for d in sorted(range(len(shape)), key=lambda d: (shape[d] < 2, strides[d])):
        if shape[d] < 2:
            break
        dense = dense and strides[d] == expected
        expected *= shape[d]
    return tuple(strides) if dense else packed(shape, by_stride(shape, [strides]))


def unlike_rows(shape, strides) -> tuple[int, ...] | None:
    """dense_strides(); None for those of rows one after the other."""
    dense = dense_strides(shape, strides)
    return None if dense == contiguous_strides(shape) else dense


# ---- memory formats ------------------------------------------------------------------------------


def channels_last_strides(shape) -> tuple[int, ...]:
    """The strides of NHWC (or NDHWC) memory for an NCHW (or NCDHW) shape."""
    return packed(shape, [1, *range(len(shape) - 1, 1, -1), 0])


def is_channels_last(shape, strides) -> bool:
    """Whether strides of four or five dimensions suggest channels-last memory."""
    if len(shape) not in (4, 5) or strides[1] == 0:
        return False
    least = 0
    for d in (1, *range(len(shape) - 1, 1, -1), 0):
        if shape[d] == 0 or strides[d] < least:
            return False
        if d == 0 and least == strides[1]:  # all of one element but the channels: NCHW
            return False
        least = strides[d] * (shape[d] if shape[d] > 1 else 1)
    return True


# ---- what ops declare ----------------------------------------------------------------------------
# @torch_op(layout=rule): (layouts of the operands, shape of the result, static arguments of the call, of which
# batched ops have none) -> strides, or None for contiguous.


def image(layouts, shape, static):
    """Channels-last if the first operand is."""
    found = len(shape) in (4, 5) and is_channels_last(*layouts[0])
    return channels_last_strides(shape) if found else None


def volume(layouts, shape, static):
    """As images; a volume without a batch lies as a batch of one does."""
    if len(shape) != 4:
        return image(layouts, shape, static)
    sizes, strides = layouts[0]
    found = is_channels_last((1, *sizes), (math.prod(sizes), *strides))
    return channels_last_strides((1, *shape))[1:] if found else None


def normalised(layouts, shape, static):
    """Channels-last if the images lie so, whatever the strides of dimensions of one element are."""
    sizes, strides = layouts[0]
    if len(shape) not in (4, 5) or is_dense(sizes, strides, contiguous_strides(sizes)):
        return None
    last = channels_last_strides(shape)
    return last if is_dense(sizes, strides, last) else None


def convolved(layouts, shape, static):
    """Channels-last if the images or the kernel are."""
    return image(layouts, shape, static) or image(layouts[1:], shape, static)


def joined(layouts, shape, static):
    """Channels-last if all operands are."""
    return image(layouts, shape, static) if all([is_channels_last(*x) for x in layouts]) else None


def padded(layouts, shape, static):
    """As images, but for what copies parts of them."""
    return None if static.get("mode") == "circular" else image(layouts, shape, static)


def taken(layouts, shape, static):
    """x[:, index]: pointwise in x, of which the indexed dimensions do not tell, and the indices."""
    (sizes, strides), dims = layouts[0], static.get("dims")
    if dims is None:
        return None
    common = len(shape) - len(sizes) + len(dims)
    at = dims[0] if dims == tuple(range(dims[0], dims[0] + len(dims))) else 0
    kept = [s for d, s in enumerate(strides) if d not in dims]
    of_x = (*kept[:at], *(0,) * common, *kept[at:])
    of_indices = [
        (*(0,) * at, *_broadcast(*index, shape[at : at + common]), *(0,) * (len(kept) - at)) for index in layouts[1:]
    ]
    return packed(shape, by_stride(shape, [of_x, *of_indices]))


def rows_taken(layouts, shape, static):
    """The same of x[index]."""
    return taken(layouts, shape, {"dims": (0,)})


def preserved(layouts, shape, static):
    """Like the first operand."""
    first, strides = layouts[0]
    return dense_strides(shape, strides) if first == shape else None


def attended(layouts, shape, static):
    """Like the queries, where PyTorch has a kernel for it: heads of rows, and no dropout."""
    if len(shape) != 4 or "keep" not in static or any([s[-1] != 1 for _, s in layouts[:3]]):
        return None
    return preserved(layouts, shape, static)


def by_first(layouts, shape, static):
    """Pointwise in parts of the first operand, or in it and what has been made of it."""
    return pointwise_strides([(shape, layouts[0][1])], shape)


def pointwise(layouts, shape, static):
    """As the operands lie, of an op whose graph is elementwise; other results are contiguous."""
    return pointwise_strides(layouts, shape)


@functools.lru_cache(4096)
def rule_of(op):
    """The rule of an op, None if its results are contiguous."""
    traits = declared.get(op.name)
    rule = pointwise if traits is None else traits.layout
    if rule is pointwise and (op.name in KINDS or not is_pointwise(op)):
        return None
    return rule


def is_pointwise(op) -> bool:
    """Whether each element of a result depends on the same one of the operands."""
    return _is_elementwise(op.graph)


def _is_elementwise(graph: Graph) -> bool:
    return all([_keeps_places(node, graph) for node in graph.nodes])


def _keeps_places(node, graph: Graph) -> bool:
    primitive = node.primitive
    if primitive is broadcast_in_dim_p:
        source, made = graph.avals[node.inputs[0]], graph.avals[node.outputs[0]]
        return node.params["dims"] == tuple(range(made.ndim - source.ndim, made.ndim))
    if primitive.traits.primal:
        return _is_elementwise(node.params[primitive.traits.primal])
    return primitive.traits.elementwise or primitive is constant_p


def lay_out(op, operands: Sequence, made):
    """Give the results of an op the strides that PyTorch's have."""
    if rule_of(op) is None:
        return
    layouts = tuple(
        [
            _known(x._view) if x._view is not None else (x._value.aval.shape, None)
            for x in operands
            if isinstance(x, Tensor)
        ]
    )
    for x in made if op.multiple else (made,):
        strides = strides_of(op, layouts, x._value.aval.shape)
        if strides is not None:
            _set_strides(x, strides)


def _known(alias) -> tuple[tuple, tuple]:
    cell = alias.cell
    return _layout_through(cell.shape, cell.strides, alias.chain) if alias.chain else (cell.shape, cell.strides)


@functools.lru_cache(4096)
def _layout_through(shape, strides, chain) -> tuple[tuple, tuple]:
    offset = 0
    for lens in chain:
        shape, strides, offset = KINDS[lens.kind].layout(shape, strides, offset, *lens.params, *lens.ints)
    return shape, strides


@functools.lru_cache(4096)
def strides_of(op, layouts: tuple, shape: tuple) -> tuple | None:
    """The strides of a result of operands with these (shape, strides or None), None if it is
    contiguous."""
    rule, call = rule_of(op), op.call
    layouts = [(s, contiguous_strides(s) if strides is None else strides) for s, strides in layouts]
    if call is not None and call.has_number and declared[op.name].number != "taken":
        layouts.append(((), ()))
    found = rule(layouts, shape, call.static if call is not None else {})
    return None if found == contiguous_strides(shape) else found


def like_parameter(grad: Tensor, leaf: Tensor):
    """Let a fresh gradient lie in memory as its leaf does, if that has no gaps."""
    shape, strides, _ = layout_of(leaf)
    if shape == grad._value.aval.shape and dense_strides(shape, strides) == strides:
        with_strides(grad, strides)


def in_memory_order(array: np.ndarray, tensor: Tensor) -> np.ndarray:
    """A copy of the tensor's elements, its dimensions in the tensor's order in memory."""
    if tensor._view is None or not tensor._view.is_permuted():
        return np.array(array)
    shape, strides, _ = layout_of(tensor)
    order = by_stride(shape, [strides])[::-1]
    copy = np.array(array.transpose(order), order="C")
    return copy.transpose(np.argsort(order))


def with_strides(made: Tensor, strides) -> Tensor:
    """A fresh tensor that reports these strides (None: contiguous)."""
    if (
        strides is not None
        and made._view is None
        and made._level is None
        and (strides != contiguous_strides(made._value.aval.shape))
    ):
        _set_strides(made, strides)
    return made


def _set_strides(made: Tensor, strides):
    made._strides = strides
    share(made).permuted = True


def memory(cell: Cell) -> np.ndarray:
    """The bytes of a cell, in the order of its memory."""
    return flat_bytes(cell.value, cell.strides)


def flat_bytes(value: Value, strides) -> np.ndarray:
    """The bytes of a value that lies in memory with these strides (None: contiguous)."""
    array = to_numpy(value)
    if strides is not None and tuple(strides) != contiguous_strides(array.shape):
        order = sorted(range(array.ndim), key=lambda d: (-strides[d], -array.shape[d]))
        array = array.transpose(order)
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


active.lay_out, active.like_parameter = lay_out, like_parameter
