"""Pytrees: nested tuples, lists, dicts, None and registered classes, with arrays at the leaves."""
from __future__ import annotations

import builtins
import functools
from collections.abc import Callable

from ..xla.pytree import PyTreeDef, register_node, registry

__all__ = ["PyTreeDef", "all", "all_leaves", "flatten", "flatten_with_path", "leaves", "map",
           "reduce", "register_dataclass", "register_node", "structure", "transpose", "unflatten"]


_NOTHING = object()


def flatten(tree, is_leaf: Callable | None = None) -> tuple[list, PyTreeDef]:
    """The leaves of a tree, left to right (dicts by sorted key), and its structure.

    >>> import functorch_core as fc
    >>> fc.tree.flatten({"b": 2, "a": (1, None)})[0]
    [1, 2]
    """
    return registry.flatten(tree, is_leaf)


def unflatten(treedef: PyTreeDef, leaves) -> object:
    """The tree of that structure with these leaves."""
    return treedef.unflatten(leaves)


def leaves(tree, is_leaf: Callable | None = None) -> list:
    """The leaves of a tree."""
    return registry.flatten(tree, is_leaf)[0]


def structure(tree, is_leaf: Callable | None = None) -> PyTreeDef:
    """The structure of a tree."""
    return registry.flatten(tree, is_leaf)[1]


def all_leaves(items) -> bool:
    """Whether every item is a leaf."""
    return builtins.all(structure(x) == structure(0) for x in items)


def map(f: Callable, tree, *rest, is_leaf: Callable | None = None):
    """Apply f to each leaf, with the matching leaves of further trees of the same structure.

    >>> import functorch_core as fc
    >>> fc.tree.map(lambda a, b: a + b, {"x": 1, "y": 2}, {"x": 10, "y": 20})
    {'x': 11, 'y': 22}
    """
    first, treedef = registry.flatten(tree, is_leaf)
    others = [_matching(treedef, other, i) for i, other in enumerate(rest, 1)]
    return treedef.unflatten([f(*items) for items in zip(first, *others)])


def _matching(treedef: PyTreeDef, tree, position: int) -> list:
    try:
        return treedef.flatten_up_to(tree)
    except (ValueError, TypeError) as error:
        raise ValueError(f"tree.map: tree {position} has not the structure of the first, "
                         f"{treedef}; it is {structure(tree)}") from error


def flatten_with_path(tree, is_leaf: Callable | None = None) -> list[tuple[str, object]]:
    """(path, leaf) pairs, the path as written in Python: "['layers'][0]"."""
    pairs, _ = registry.flatten_with_path(tree, is_leaf)
    return [("".join(str(k) for k in path), leaf) for path, leaf in pairs]


def transpose(outer_treedef: PyTreeDef, inner_treedef: PyTreeDef, pytree_to_transpose):
    """A tree of structure outer∘inner as one of structure inner∘outer."""
    columns = [inner_treedef.flatten_up_to(t)
               for t in outer_treedef.flatten_up_to(pytree_to_transpose)]
    return inner_treedef.unflatten([outer_treedef.unflatten(row) for row in zip(*columns)])


def reduce(function: Callable, tree, initializer=_NOTHING, is_leaf: Callable | None = None):
    """function(function(initializer, leaf), next leaf) ... over the leaves.

    >>> import functorch_core as fc
    >>> fc.tree.reduce(lambda a, b: a + b, {"x": 1, "y": (2, 3)})
    6
    """
    start = () if initializer is _NOTHING else (initializer,)
    return functools.reduce(function, leaves(tree, is_leaf), *start)


def all(tree, *, is_leaf: Callable | None = None) -> bool:
    """Whether every leaf is true."""
    return builtins.all(leaves(tree, is_leaf))


def register_dataclass(cls: type, data_fields, meta_fields=()):
    """Register a dataclass: `data_fields` are children, `meta_fields` static. Returns the class."""
    data_fields, meta_fields = tuple(data_fields), tuple(meta_fields)

    def flatten_instance(obj):
        return (tuple(getattr(obj, f) for f in data_fields),
                tuple(getattr(obj, f) for f in meta_fields))

    def unflatten_instance(meta, data):
        return cls(**dict(zip(data_fields, data)), **dict(zip(meta_fields, meta)))

    register_node(cls, flatten_instance, unflatten_instance)
    return cls
