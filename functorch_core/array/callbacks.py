"""Callbacks with effects that give results."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..core import tree
from ..core.aval import aval
from ..core.explain import explaining
from ..transforms import callback as callbacks
from .custom import SPEC
from .tracing import ONE_DEVICE, name_of, refuse
from .trees import flatten_values, rebuild


@explaining
def io_callback(callback: Callable, result_shape_dtypes, *args, sharding=None, ordered: bool = False, **kwargs):
    """callback(*numpy_arrays, **kwargs) called by the running program, for its effect and its result.

    It is called once each time that the program comes there. result_shape_dtypes is a pytree of
    fc.ShapeDtype (or arrays) like the result; None for none. `ordered` calls come in the order of the program.

    >>> import functorch_core as fc
    >>> from functorch_core.experimental import io_callback
    >>> import itertools, numpy as np
    >>> count = itertools.count()
    >>> tick = fc.jit(lambda: io_callback(lambda: np.int32(next(count)), fc.ShapeDtype((), fc.int32)))
    >>> int(tick()), int(tick())
    (0, 1)
    """
    refuse("io_callback", ONE_DEVICE, sharding=sharding)
    specs, out_tree = tree.flatten(result_shape_dtypes)
    for leaf in specs:
        if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
            raise TypeError(SPEC.format(leaf=leaf, kind=type(leaf).__name__))
    values, in_tree = flatten_values((args, kwargs), "an argument", "io_callback")

    def flat(*arrays):
        positional, keywords = in_tree.unflatten(arrays)
        found = callback(*positional, **keywords)
        return tuple(np.asarray(x) for x in tree.leaves(found)) if specs else ()

    flat.__name__ = flat.__qualname__ = name_of(callback)
    avals = [aval(tuple(s.shape), s.dtype) for s in specs]
    return rebuild(out_tree, callbacks.io_callback(flat, avals, values, ordered=ordered))
