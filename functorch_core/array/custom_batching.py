"""jax.custom_batching: functions whose vmap is written by the user."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..core import tree
from ..core.explain import MISTAKES, as_function, explained
from ..transforms import custom_batch
from .control import map as map_one_by_one
from .tracing import arguments, name_of
from .trees import FlatFunction, flatten_values, rebuild

NO_RULE = """`{name}` was declared with custom_vmap but has no rule yet.
    Give it one before it is mapped: @{name}.def_vmap"""
PAIR = """the vmap rule of `{name}` must return (result, which parts are batched), it returned {found}
    wrong: return x * y             right: return x * y, True"""


class custom_vmap:  # noqa: N801  the name is JAX's
    """A function whose vmap is a rule of the user's.

    @f.def_vmap
    def _(axis_size, in_batched, *args): return result, out_batched

    Batched arguments come with their batch dimension in front; in_batched and out_batched are bools, or trees of
    them. The derivative is that of the function, without the rule.

    >>> import functorch_core as fc
    >>> from functorch_core.custom_batching import custom_vmap
    >>> @custom_vmap
    ... def f(x):
    ...     return fc.sin(x)
    >>> @f.def_vmap
    ... def _(axis_size, in_batched, x):
    ...     return fc.zeros(axis_size) + 7, True
    >>> fc.vmap(f)(fc.ones(2))
    Array([7., 7.], dtype=float32)
    """

    def __init__(self, fun: Callable):
        functools.update_wrapper(self, fun)
        self.fun, self.name = fun, name_of(fun)
        self.vmap_rule: Callable | None = None

    def def_vmap(self, vmap_rule: Callable) -> Callable:
        """Set the rule; a decorator."""
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __call__(self, *args, **kwargs):
        try:
            return self._call(args, kwargs)
        except MISTAKES as error:
            raise explained(error, lambda: as_function(self.name, args, kwargs))

    def _call(self, args: tuple, kwargs: dict):
        if kwargs:
            args = self._by_position(args, kwargs)
        leaves, in_tree = tree.flatten(args)
        values, kinds = arguments(leaves, self.name)
        fun = FlatFunction(self.fun, in_tree, self.name, kinds)
        found: dict[str, Any] = {}

        def flat(*values):
            outs = fun(*values)
            found["tree"] = fun.out_tree
            return outs

        def rule(size: int, batched, given):
            return self._ruled(size, in_tree, kinds, batched, given)

        outs = custom_batch.custom_vmap(flat, rule, values, self.name)
        return rebuild(found["tree"], outs)

    def _by_position(self, args: tuple, kwargs: dict) -> tuple:
        bound = inspect.signature(self.fun).bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.args

    def _ruled(self, size: int, in_tree, kinds, batched, given) -> tuple[list, list[bool]]:
        if self.vmap_rule is None:
            raise AttributeError(NO_RULE.format(name=self.name))
        returned = self.vmap_rule(size, list(in_tree.unflatten(list(batched))), *rebuild(in_tree, given, kinds))
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise TypeError(PAIR.format(name=self.name, found=type(returned).__name__))
        outs, out_tree = flatten_values(returned[0], "the vmap rule's result", self.name)
        which = tree.leaves(tree.broadcast(returned[1], out_tree.unflatten(list(range(len(outs))))))
        return outs, list(map(bool, which))


def sequential_vmap(f: Callable) -> custom_vmap:
    """A function whose vmap computes one example after the other, in a loop.

    >>> import functorch_core as fc
    >>> from functorch_core.custom_batching import sequential_vmap
    >>> fc.vmap(sequential_vmap(lambda x: x * 2))(fc.asarray([1., 2.]))
    Array([2., 4.], dtype=float32)
    """
    mapped = custom_vmap(f)

    @mapped.def_vmap
    def _(axis_size, in_batched, *args):
        leaves, structure = tree.flatten(args)
        batched = tree.leaves(in_batched)

        def one(slices):
            parts = iter(slices)
            return mapped(*structure.unflatten([next(parts) if b else x for x, b in zip(leaves, batched)]))

        out = map_one_by_one(one, [x for x, b in zip(leaves, batched) if b])
        return out, tree.map(lambda _: True, out)

    return mapped


__all__ = ["custom_vmap", "sequential_vmap"]
