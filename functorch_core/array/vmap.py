"""vmap: map a function over an axis of its arguments."""

from __future__ import annotations

from collections.abc import Callable

from ..core import tree
from ..core.explain import explaining, result_of
from ..core.trace import run
from ..primitives import transpose
from ..transforms.batch import Axis, batch
from ..transforms.collectives import bound_axis
from .array import wrap
from .tracing import ONE_DEVICE, arguments, name_of, refuse, shown_tree, trace_function

AXES_MISMATCH = """vmap of `{name}`: {what}={axes} does not fit the {of}, of structure {shown}.
    It is an int or None for all of them, or a container like them, down to any level:
    {what}=0   {what}=(0, None)   {what}=({{'w': None, 'b': 0}}, 0)"""
NOT_AN_AXIS = """vmap of `{name}`: in_axes has axis {axis} for an argument {aval}, which needs
    {needed} dimensions for that. Pass in_axes=None (or None in its place) for what is the same for all."""
OUT_OF_RANGE = """vmap of `{name}`: out_axes has axis {axis} for a result {aval}, which has
    {ndim} dimensions with the mapped one: give an axis from {low} to {high}."""
NOT_CONSTANT = """vmap of `{name}`: out_axes=None, but the result, {aval}, depends on the mapped
    arguments. Give the axis where the results shall be stacked: out_axes=0."""
SIZES_DIFFER = """vmap of `{name}`: the mapped axes have different sizes: {sizes}.
    Every argument must have the same size along its mapped axis; pass in_axes=None for unmapped ones."""
NOTHING_MAPPED = """vmap of `{name}`: no argument is mapped (in_axes={axes}), so the size is unknown.
    Give it: fc.vmap(f, in_axes=..., axis_size=n)."""


def flat_axes(what: str, axes, treedef: tree.PyTreeDef, name: str, of: str) -> list:
    """The axis of every leaf, from a prefix of its tree."""
    full = treedef.unflatten(list(range(treedef.num_leaves)))
    out: list = []

    def spread(prefix, subtree):
        if prefix is None or isinstance(prefix, int):
            out.extend([prefix] * tree.structure(subtree).num_leaves)
            return
        if not isinstance(prefix, (dict, list, tuple)):  # a container of a class of the user's
            (axes_of, static), (parts, of_subtree) = map(tree.flatten_one_level, (prefix, subtree))
            if type(prefix) is not type(subtree) or static != of_subtree:
                raise TypeError
            prefix, subtree = list(axes_of), list(parts)
        keys = sorted(prefix) if isinstance(prefix, dict) else range(len(prefix))
        if type(prefix) is not type(subtree) and not (
            isinstance(prefix, (list, tuple)) and isinstance(subtree, (list, tuple))
        ):
            raise TypeError
        if len(prefix) != len(subtree):
            raise TypeError
        for k in keys:
            spread(prefix[k], subtree[k])

    try:
        spread(list(axes) if isinstance(axes, list) else axes, full)
    except (TypeError, KeyError, IndexError, ValueError):
        raise ValueError(
            AXES_MISMATCH.format(name=name, what=what, axes=axes, of=of, shown=shown_tree(treedef))
        ) from None
    return out


@explaining
def vmap(
    fun: Callable,
    in_axes=0,
    out_axes=0,
    axis_name=None,
    axis_size: int | None = None,
    spmd_axis_name=None,
    sum_match: bool = False,
) -> Callable:
    """A function that applies fun to every index of an axis of its arguments, as one computation.

    in_axes: the axis of each positional argument (an int, None for "the same for all", or a
    pytree prefix); keyword arguments are mapped over axis 0. out_axes: where the axis goes in the
    result. axis_name: what fc.psum, fc.pmean, fc.axis_index call it. ValueError on a mismatch.
    spmd_axis_name and sum_match are JAX's, for several devices, and not supported.

    >>> import functorch_core as fc
    >>> fc.vmap(lambda x, y: x * y, in_axes=(0, None))(fc.asarray([1., 2.]), fc.asarray(10.))
    Array([10., 20.], dtype=float32)
    """
    name = name_of(fun)
    refuse("vmap", ONE_DEVICE, spmd_axis_name=spmd_axis_name, sum_match=sum_match)

    @result_of(vmap, fun, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name, axis_size=axis_size)
    def wrapped(*args, **kwargs):
        leaves, treedef = tree.flatten((args, kwargs))
        values, kinds = arguments(leaves, name)
        per_argument = tuple(in_axes) if isinstance(in_axes, (list, tuple)) else in_axes
        positional, keyword = treedef.children()
        axes = flat_axes("in_axes", per_argument, positional, name, "arguments")
        axes += [0] * keyword.num_leaves
        dims = tuple(_dim(d, v.aval, name) for d, v in zip(axes, values))
        axis = Axis(_size(dims, values, name, in_axes, axis_size), axis_name)
        kinds = [k if d is None else k.with_shape(k.shape[:d] + k.shape[d + 1 :]) for k, d in zip(kinds, dims)]
        with bound_axis(axis_name, axis.size):
            traced = trace_function(fun, treedef, kinds, keywords=True)
            return _run_batched(traced, axis, dims, values, out_axes, name)

    return wrapped


def _run_batched(traced, axis, dims, values, out_axes, name):
    captured = (None,) * len(traced.captures)
    if out_axes is WHERE_MAPPED:
        return _with_dims(traced, *batch(traced.graph, axis, dims + captured), values)
    wanted = flat_axes("out_axes", out_axes, traced.out_tree, name, "result")
    graph, out_dims = batch(traced.graph, axis, dims + captured)
    want = tuple(_out_dim(w, d, a, name) for w, d, a in zip(wanted, out_dims, traced.graph.out_avals))
    if want != out_dims:
        graph, _ = batch(traced.graph, axis, dims + captured, want)
    outs = run(graph, [*values, *traced.captures])
    return traced.out_tree.unflatten([wrap(v) for v in outs])


# As out_axes: the results' mapped axis is their first, and beside them it is said which have one (0, or None).
WHERE_MAPPED = object()


def _with_dims(traced, graph, out_dims, values):
    outs = run(graph, [*values, *traced.captures])
    moved = [v if d is None else move_to_front(v, d) for v, d in zip(outs, out_dims)]
    return traced.out_tree.unflatten(list(map(wrap, moved))), [None if d is None else 0 for d in out_dims]


def move_to_front(value, dim: int):
    """The value with a dimension before the others."""
    order = (dim, *[d for d in range(value.aval.ndim) if d != dim])
    return transpose(value, permutation=order) if dim else value


def _dim(d, aval, name: str):
    if d is None:
        return None
    if not -aval.ndim <= d < aval.ndim:
        raise ValueError(NOT_AN_AXIS.format(name=name, axis=d, aval=aval, needed=d + 1 if d >= 0 else -d))
    return d % aval.ndim


def _size(dims, values, name, in_axes, axis_size) -> int:
    sizes = {v.aval.shape[d] for v, d in zip(values, dims) if d is not None}
    if axis_size is not None:
        sizes.add(axis_size)
    if not sizes:
        raise ValueError(NOTHING_MAPPED.format(name=name, axes=in_axes))
    if len(sizes) > 1:
        shown = ", ".join(f"{v.aval} at axis {d}" for v, d in zip(values, dims) if d is not None)
        shown += "" if axis_size is None else f", axis_size={axis_size}"
        raise ValueError(SIZES_DIFFER.format(name=name, sizes=shown))
    return sizes.pop()


def _out_dim(want, dim, aval, name: str):
    if want is None:
        if dim is not None:
            raise ValueError(NOT_CONSTANT.format(name=name, aval=aval))
        return None
    if not -aval.ndim - 1 <= want <= aval.ndim:
        raise ValueError(
            OUT_OF_RANGE.format(name=name, axis=want, aval=aval, ndim=aval.ndim + 1, low=-aval.ndim - 1, high=aval.ndim)
        )
    return want % (aval.ndim + 1)
