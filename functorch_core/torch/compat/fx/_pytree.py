"""torch.fx._pytree: the leaves of trees whose structure is known, as the code of graphs takes them apart."""

from __future__ import annotations

from collections.abc import Callable

from ...tensors import pytree as _pytree
from ...tensors.pytree import TreeSpec

SUPPORTED_NODES: dict[type, Callable] = {}  # class -> function(tree, its structure) that gives its children


def register_pytree_flatten_spec(cls: type, flatten_fn_spec: Callable, flatten_fn_exact_match_spec=None):
    """Take instances of a class apart by flatten_fn_spec(tree, spec), a list of children."""
    SUPPORTED_NODES[cls] = flatten_fn_spec


def tree_flatten_spec(pytree, spec: TreeSpec) -> list:
    """The leaves; ValueError if the structure is another."""
    flatten = SUPPORTED_NODES.get(spec.type)
    if flatten is not None:
        children = zip(flatten(pytree, spec), spec.children())
        return [leaf for child, of_child in children for leaf in tree_flatten_spec(child, of_child)]
    leaves, found = _pytree.tree_flatten(pytree, lambda tree: spec.is_leaf())
    if found != spec:
        raise ValueError(f"the arguments have the structure {found}, but the traced ones had {spec}")
    return leaves
