"""The smaller top-level functions of JAX: custom_gradient, closure_convert, and moving data."""

from __future__ import annotations

import enum
from collections.abc import Callable

import numpy as np

from .. import xla
from ..core import tree
from ..core.explain import explaining
from ..core.trace import run
from ..engine import Value
from .array import Array, as_value, wrap
from .creation import on_device
from .custom import custom_vjp
from .sharding import place, spread
from .tracing import arguments, name_of, numbers_as, refuse, trace_function, wrapping

NO_RULE = """custom_gradient of `{name}`: it returned {found}, a pair (result, function of the cotangent)
    was expected.
    wrong: return x ** 2            right: return x ** 2, lambda g: (2 * x * g,)"""


@explaining
def closure_convert(fun: Callable, *example_args) -> tuple[Callable, list[Array]]:
    """(converted, values): converted(*args, *values) is fun(*args) without what fun closes over.

    values are the traced ones among it. example_args have the shapes and dtypes of the arguments.

    >>> import functorch_core as fc
    >>> converted, values = fc.closure_convert(lambda x: x + 1, fc.asarray(1.))
    >>> converted(fc.asarray(2.), *values)
    Array(3., dtype=float32)
    """
    leaves, in_tree = tree.flatten(example_args)
    _, kinds = arguments(leaves, name_of(fun), shapes=True)
    traced = trace_function(fun, in_tree, kinds)

    def converted(*args):
        n = len(args) - len(traced.captures)
        values = [as_value(x) for x in (*tree.leaves(args[:n]), *args[n:])]
        values = [numbers_as(k, v) for k, v in zip(kinds, values)] + values[len(kinds) :]
        outs = run(traced.graph, values)
        return traced.out_tree.unflatten([wrap(v) for v in outs])

    return converted, [wrap(v) for v in traced.captures]


@explaining
def custom_gradient(fun: Callable) -> Callable:
    """A decorator: fun returns (result, function of the cotangent that gives the cotangents).

    >>> import functorch_core as fc
    >>> @fc.custom_gradient
    ... def square(x):
    ...     return x ** 2, lambda g: (3 * g * x,)
    >>> fc.grad(square)(fc.asarray(2.))
    Array(6., dtype=float32)
    """
    name = name_of(fun)

    def both(*args):
        out = fun(*args)
        if not isinstance(out, tuple) or len(out) != 2 or not callable(out[1]):
            raise TypeError(NO_RULE.format(name=name, found=type(out).__name__))
        return out

    @wrapping(fun)
    def primal(*args):
        return both(*args)[0]

    def forward(*args):
        out, rule = both(*args)
        converted, values = closure_convert(rule, out)
        return out, tree.Partial(converted, tuple(values))

    def backward(residuals, cotangent):
        converted, (values,) = residuals.func, residuals.args
        found = converted(cotangent, *values)
        return found if isinstance(found, (tuple, list)) else (found,)

    with_rule = custom_vjp(primal)
    with_rule.defvjp(forward, backward)
    return with_rule


# ---- data ----------------------------------------------------------------------------------------


def block_until_ready(x):
    """x, a pytree, when its arrays are computed; what is traced stays as it is.

    >>> import functorch_core as fc
    >>> fc.block_until_ready({"a": fc.asarray(1.)})
    {'a': Array(1., dtype=float32)}
    """
    arrays = [leaf for leaf in tree.leaves(x) if leaf.__class__ is Array]
    xla.block_all([a._buffer() for a in arrays if getattr(a, "_held", None).__class__ in (Value, type(None))])
    return x


def device_get(x):
    """x, a pytree, with NumPy arrays in place of Arrays.

    >>> import functorch_core as fc
    >>> fc.device_get((fc.asarray([1., 2.]), 3))
    (array([1., 2.], dtype=float32), 3)
    """
    return tree.map(lambda leaf: np.asarray(leaf) if leaf.__class__ is Array else leaf, x)


class Space(enum.Enum):
    """Where an array of a device lies: in the device's memory, which on a CPU is the host's, too.

    >>> import functorch_core as fc
    >>> fc.device_put(fc.ones(2), fc.memory.Space.Device)
    Array([1., 1.], dtype=float32)
    """

    Device = "device"
    Host = "pinned_host"
    Any = "any"


HOST_MEMORY = """device_put: arrays of {device} lie in its memory, not in the host's
    fc.device_put(x, fc.devices("cpu")[0]) moves one to the host."""


@explaining
def device_put(x, device=None, *, src=None, donate=False, may_alias=None):
    """x, a pytree, as Arrays on a device (the default device), or divided over several.

    `device` is a device, a NamedSharding, or a prefix of the tree of them; a fc.memory.Space leaves arrays where
    they are.

    `may_alias` is JAX's leave to share memory, which immutable arrays need not be given.

    >>> import functorch_core as fc, numpy as np
    >>> fc.device_put([np.ones(2)])
    [Array([1., 1.], dtype=float64)]
    """
    refuse("device_put", "The source is kept: leave it out.", src=src, donate=donate)
    leaves, treedef = tree.flatten(x)
    places = [device] * len(leaves) if isinstance(device, Space) else spread(device, treedef)
    return treedef.unflatten([_put(wrap(as_value(a)), d) for a, d in zip(leaves, places)])


def _put(array: Array, where) -> Array:
    if isinstance(where, Space):
        if where is Space.Host and array.device.platform != "cpu":
            raise NotImplementedError(HOST_MEMORY.format(device=array.device))
        return array
    if isinstance(where, xla.SingleDeviceSharding):
        (where,) = where.device_set
    return place(array, where) if isinstance(where, (xla.NamedSharding, xla.PartitionSpec)) else on_device(array, where)
