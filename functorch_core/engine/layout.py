"""Channels last: convolutions and what lies between them, laid out as XLA's CPU kernels want it.

XLA computes a convolution of (batch, *spatial, feature) arrays. Around any other it puts transpositions,
which here are loops of cache misses: 200 ms of the 890 ms of a ResNet-18 step (32 x 3 x 32 x 32, Zen 4).
This pass gives arrays a layout of their own: `order[i]` is the dimension of the graph's array that is
dimension i in memory. A convolution takes and makes channels-last arrays; elementwise operations,
reductions and windows compute in the layout they find; everything else sees the plain one.
The step takes 737 ms then, 434 of them in the convolutions themselves (93 GFLOP at the machine's peak).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..core.aval import Aval, HasAval
from ..core.graph import Graph, Node, dce, opened
from ..core.primitive import Primitive
from ..core.trace import Builder, bind
from ..core.types import Function
from ..primitives import (
    broadcast_in_dim,
    optimization_barrier,
    reduce_max,
    reduce_min,
    reduce_prod,
    reduce_sum,
    reduce_window_max,
    reduce_window_min,
    reduce_window_sum,
    transpose,
)
from ..primitives.convolution import conv_p
from ..primitives.convolution_forms import choose_form, pointwise
from ..primitives.convolution_library import library_call
from ..primitives.reduce_window import reduce_window_argmax_p, reduce_window_argmin_p, window_gather_p, window_scatter_p
from ..primitives.slicing import concatenate_p, pad_p, reverse_p, slice_p
from ..primitives.structure import broadcast_in_dim_p, transpose_p

Order = tuple[int, ...]

SMALL = 1 << 18  # bytes


def channels_last(graph: Graph, often: bool = False) -> Graph:
    """The same function, with its convolutions channels last; the graph itself if it has none. It is run `often`."""
    flat = opened(graph)
    return _laid_out(flat, often) if any(_orders(flat, n, often) for n in flat.nodes) else graph


def _laid_out(graph: Graph, often: bool) -> Graph:
    builder = Builder(graph.name)
    with builder:
        layouts = _Layouts(graph, often)
        for slot in graph.inputs:
            layouts.put(slot, builder.input(graph.avals[slot]))
        for node in graph.nodes:
            builder.source = node.source
            _lay_out(layouts, node)
        outputs = [layouts.get(s) for s in graph.outputs]
        return dce(builder.finish(outputs))


def _lay_out(layouts: _Layouts, node: Node) -> None:
    rule = _rule_of(node)
    if rule is None or not rule(layouts, node):
        _plain(layouts, node)


class _Layouts:
    """For each slot the arrays that hold it, by their order; broadcasts wait until they are used."""

    def __init__(self, graph: Graph, often: bool) -> None:
        self.graph, self.often = graph, often
        self.arrays: dict[int, dict[Order, HasAval]] = {}
        self.spread: dict[int, Node] = {}  # broadcasts, which can be made in any order
        anyhow = {slot for node in graph.nodes if _rule_of(node) for slot in node.inputs}
        self.plainly_used = set(range(len(graph.avals))) - anyhow  # no use of it computes in the layout it finds

    def aval(self, slot: int) -> Aval:
        """The aval of a slot in the graph."""
        return self.graph.avals[slot]

    def identity(self, slot: int) -> Order:
        """The plain order of a slot's dimensions."""
        return tuple(range(self.aval(slot).ndim))

    def put(self, slot: int, array: HasAval, order: Order | None = None) -> None:
        """Say that an array holds a slot."""
        self.arrays.setdefault(slot, {})[order or self.identity(slot)] = array

    def get(self, slot: int, order: Order | None = None) -> HasAval:
        """The slot's array in an order (the plain one by default), transposed if need be."""
        order = order or self.identity(slot)
        held = self.arrays.setdefault(slot, {})
        if order not in held:
            held[order] = self._broadcast(slot, order) if slot in self.spread else self._transposed(held, order)
        return held[order]

    def made(self, slot: int) -> Order:
        """The order a slot was computed in."""
        return next(iter(self.arrays.get(slot, ())), self.identity(slot))

    def common(self, slots: Sequence[int]) -> Order:
        """The order most of these arrays of one shape were made in; rather not the plain one."""
        plain = self.identity(slots[0])
        orders = [self.made(s) for s in slots if s not in self.spread]
        return max(orders, key=lambda order: (orders.count(order), order != plain), default=plain)

    def _transposed(self, held: dict[tuple[int, ...], HasAval], order: Order) -> HasAval:
        """Moved once, large ones between barriers: XLA would fuse its neighbours into the loop with the strided
        reads, once for each use (the step took 1,011 ms then). Small ones are in the nearest caches anyway: a network
        of 32 x 16 x 16 images takes 463 ms to compile for 568 with barriers, 0.248 ms to run for 0.260."""
        have, array = next(iter(held.items()))
        permutation = tuple(map(have.index, order))
        if array.aval.nbytes < SMALL:
            return transpose(array, permutation=permutation)
        (array,) = optimization_barrier(array)
        (moved,) = optimization_barrier(transpose(array, permutation=permutation))
        return moved

    def _broadcast(self, slot: int, order: Order) -> HasAval:
        node = self.spread[slot]
        (operand,) = node.inputs
        places = [order.index(d) for d in node.params["dims"]]
        inner = tuple(sorted(range(len(places)), key=places.__getitem__))
        return broadcast_in_dim(
            self.get(operand, inner), shape=tuple(self.aval(slot).shape[d] for d in order), dims=tuple(sorted(places))
        )


# ---- rules: rule(layouts, node) writes the node, or returns False for the plain order ------------------


def _plain(layouts: _Layouts, node: Node) -> bool:
    _emit(layouts, node, [layouts.get(s) for s in node.inputs], node.params, [None] * len(node.outputs))
    return True


def _emit(
    layouts: _Layouts, node: Node, args: list[HasAval], params: dict[str, Any], orders: list[tuple[int, ...] | None]
) -> bool:
    """Write the node with other operands and parameters; its results have these orders."""
    outs = bind(node.primitive, *args, **params)
    for slot, out, order in zip(node.outputs, outs if node.primitive.multiple else (outs,), orders):
        layouts.put(slot, out, order)
    return True


def _elementwise(layouts: _Layouts, node: Node) -> bool:
    shape = layouts.aval(node.outputs[0]).shape
    if len(shape) < 3 or any(layouts.aval(s).shape != shape for s in (*node.inputs, *node.outputs)):
        return False
    order = layouts.common(node.inputs)
    return _emit(layouts, node, [layouts.get(s, order) for s in node.inputs], node.params, [order] * len(node.outputs))


def _broadcast(layouts: _Layouts, node: Node) -> bool:
    layouts.spread[node.outputs[0]] = node
    return True


def _transpose(layouts: _Layouts, node: Node) -> bool:
    """No work: another name for the dimensions."""
    (slot,) = node.inputs
    order, new = layouts.made(slot), node.params["permutation"]
    layouts.put(node.outputs[0], layouts.get(slot, order), tuple(new.index(d) for d in order))
    return True


def _reduction(layouts: _Layouts, node: Node) -> bool:
    (slot,) = node.inputs
    order, axes = layouts.made(slot), node.params["axes"]
    if order == layouts.identity(slot):
        return False
    kept = [d for d in order if d not in axes]
    places = {**node.params, "axes": tuple(sorted(map(order.index, axes)))}
    return _emit(layouts, node, [layouts.get(slot, order)], places, [tuple(sorted(kept).index(d) for d in kept)])


def _by_dimension(*names: str) -> Function:
    """A rule for parameters with one entry a dimension; operands without dimensions stay."""

    def rule(layouts: _Layouts, node: Node) -> bool:
        order = layouts.common([s for s in node.inputs if layouts.aval(s).ndim])
        params = {**node.params, **{k: _permuted(node.params[k], order) for k in names}}
        args = [layouts.get(s, order if layouts.aval(s).ndim else None) for s in node.inputs]
        return _emit(layouts, node, args, params, [order])

    return rule


def _of_dimensions(name: str) -> Function:
    """A rule for a parameter that names a dimension, or several."""

    def rule(layouts: _Layouts, node: Node) -> bool:
        order, value = layouts.made(node.inputs[0]), node.params[name]
        value = tuple(sorted(map(order.index, value))) if isinstance(value, tuple) else order.index(value)
        return _emit(layouts, node, [layouts.get(s, order) for s in node.inputs], {**node.params, name: value}, [order])

    return rule


def _window(layouts: _Layouts, node: Node) -> bool:
    """Places within windows are numbered row by row: the order of their dimensions has to stay."""
    order, window = layouts.made(node.inputs[0]), node.params["window"]
    wide = [d for d in order if window.size[d] > 1]
    if wide != sorted(wide):
        return False
    params = {**node.params, "window": type(window)(*(_permuted(each, order) for each in window))}
    if "shape" in params:
        params["shape"] = _permuted(params["shape"], order)
    return _emit(layouts, node, [layouts.get(s, order) for s in node.inputs], params, [order])


def _permuted(values: tuple[int | tuple[int, ...], ...], order: Order) -> tuple[int | tuple[int, ...], ...]:
    return tuple(values[d] for d in order)


# ---- convolutions ----------------------------------------------------------------------------------------


class _Orders(NamedTuple):
    """How operands and result of a convolution should lie in memory, and whether it takes them in the plain
    order, too: oneDNN moves them more quickly than a transposition between barriers."""

    arrays: tuple[Order, ...]
    takes_plain: bool


def _orders(graph: Graph, node: Node, often: bool) -> _Orders | None:
    """None if it is not a convolution that gains by a layout."""
    if node.primitive is not conv_p:
        return None
    conv, (x, w), out = node.params["conv"], (graph.avals[s] for s in node.inputs), graph.avals[node.outputs[0]]
    call = library_call(conv, x, w, out, often)
    if call is not None:
        return _Orders(call.orders, True)
    places = math.prod(conv.spatial(out, "out"))
    if len(conv.lhs) > 2 and choose_form(conv, x, w, places) in (None, pointwise):
        kernel = (*conv.rhs[2:], conv.rhs[1], conv.rhs[0])
        return _Orders((_channels_last(conv.lhs), kernel, _channels_last(conv.out)), False)
    return None


def _convolution(layouts: _Layouts, node: Node) -> bool:
    found = _orders(layouts.graph, node, layouts.often)
    if found is None:
        return False
    orders = _cheapest(layouts, node, found.arrays) if found.takes_plain else found.arrays
    conv, result = node.params["conv"], node.outputs[0]
    args = [layouts.get(slot, order) for slot, order in zip(node.inputs, orders)]
    lhs, rhs, out = [_renumbered(*each) for each in zip((conv.lhs, conv.rhs, conv.out), orders)]
    params = {**node.params, "conv": conv._replace(lhs=lhs, rhs=rhs, out=out)}
    _emit(layouts, node, args, params, [orders[2]])
    if conv.out[0]:  # the gradient of a kernel: its neighbours are weights, which are plain
        plain = layouts.get(result)
        layouts.arrays[result] = {layouts.identity(result): plain}
    return True


def _cheapest(layouts: _Layouts, node: Node, orders: tuple[Order, ...]) -> tuple[Order, ...]:
    """These orders, but for operands that are there in the plain one, and a result that is wanted so.

    A broadcast is there in any order: it goes with the others, as oneDNN is slow where orders differ (the gradients
    of a depthwise convolution for a cotangent of ones: 0.5 ms, 1.6 if these lie channels last).
    """
    *operands, result = orders
    plain = [layouts.identity(slot) for slot in node.inputs]
    for i, slot in enumerate(node.inputs):
        held = layouts.arrays.get(slot, {})
        if operands[i] not in held and plain[i] in held:
            operands[i] = plain[i]
    others = [i for i, slot in enumerate(node.inputs) if slot not in layouts.spread]
    if all(operands[i] == plain[i] for i in others):
        operands = plain
    slot = node.outputs[0]
    return *operands, layouts.identity(slot) if slot in layouts.plainly_used else result


def _renumbered(spec: Order, order: Order) -> Order:
    return tuple(order.index(d) for d in spec)


def _channels_last(spec: Order) -> Order:
    """(batch, feature, *spatial) as (batch, *spatial, feature)."""
    return spec[0], *spec[2:], spec[1]


_RULES: dict[Primitive, Function] = {
    # ---- shapes
    broadcast_in_dim_p: _broadcast,
    transpose_p: _transpose,
    slice_p: _by_dimension("start", "limit", "strides"),
    pad_p: _by_dimension("low", "high", "interior"),
    concatenate_p: _of_dimensions("dimension"),
    reverse_p: _of_dimensions("dims"),
    # ---- reductions
    **{fun.primitive: _reduction for fun in (reduce_sum, reduce_prod, reduce_max, reduce_min)},
    **{fun.primitive: _window for fun in (reduce_window_sum, reduce_window_max, reduce_window_min)},
    **dict.fromkeys((reduce_window_argmax_p, reduce_window_argmin_p, window_gather_p, window_scatter_p), _window),
    # ---- convolutions
    conv_p: _convolution,
}


def _rule_of(node: Node) -> Function | None:
    return _elementwise if node.primitive.traits.elementwise else _RULES.get(node.primitive)
