"""jax.tree's names, and those of jax.tree_util that it has alone: see core/tree.py.

What differs from there: typed keys of fc.random are leaves, where transforms flatten them to their numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .core import tree as _core
from .core.tree import *  # noqa: F403
from .core.tree import PyTreeDef


def flatten(tree: Any, is_leaf: Callable | None = None) -> tuple[list[Any], PyTreeDef]:  # type: ignore[no-redef]
    """The leaves of a tree, left to right (dicts by sorted key), and its structure.

    >>> import functorch_core as fc
    >>> fc.tree.flatten({"b": 2, "a": (1, None)})[0]
    [1, 2]
    """
    return _core.whole(tree, is_leaf)


def leaves(tree: Any, is_leaf: Callable | None = None) -> list[Any]:  # type: ignore[no-redef]
    """The leaves of a tree.

    >>> import functorch_core as fc
    >>> fc.tree.leaves([1, {"a": 2}])
    [1, 2]
    """
    return _core.whole(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: Callable | None = None) -> PyTreeDef:  # type: ignore[no-redef]
    """The structure of a tree.

    >>> import functorch_core as fc
    >>> fc.tree.structure([1, {"a": 2}])
    PyTreeDef([*, {'a': *}])
    """
    return _core.whole(tree, is_leaf)[1]


__all__ = list(_core.__all__)
