"""fc.tree under the names of jax.tree_util."""

from __future__ import annotations

from typing import TypeAlias

from .tree import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyPath,
    Partial,
    PyTreeDef,
    SequenceKey,
    all_leaves,
    flatten_one_level,
    flatten_one_level_with_keys,
    is_tree_node,
    keystr,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
    treedef_children,
    treedef_is_leaf,
    treedef_tuple,
)
from .tree import all as tree_all
from .tree import broadcast as tree_broadcast
from .tree import flatten as tree_flatten
from .tree import flatten_with_path as tree_flatten_with_path
from .tree import leaves as tree_leaves
from .tree import leaves_with_path as tree_leaves_with_path
from .tree import map as tree_map
from .tree import map_with_path as tree_map_with_path
from .tree import reduce as tree_reduce
from .tree import reduce_associative as tree_reduce_associative
from .tree import structure as tree_structure
from .tree import transpose as tree_transpose
from .tree import unflatten as tree_unflatten
from .xla.pytree import registry as default_registry

KeyEntry: TypeAlias = DictKey | SequenceKey | GetAttrKey | FlattenedIndexKey  # a part of a path

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "default_registry",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]
