"""Pytrees: nested tuples, lists, dicts, None and registered classes, with arrays at the leaves.

Names and signatures are those of jax.tree, and of jax.tree_util for what it alone has.
"""

from __future__ import annotations

import builtins
import copyreg
import dataclasses
import functools
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from ..xla.pytree import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    PyTreeDef,
    SequenceKey,
    register_node,
    registry,
    treedef_of_tuple,
)
from .explain import explaining
from .types import Function

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all",
    "all_leaves",
    "broadcast",
    "flatten",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "flatten_with_path",
    "is_tree_node",
    "keystr",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "register_dataclass",
    "register_node",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "static",
    "structure",
    "transpose",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
    "unflatten",
]

KeyPath: TypeAlias = tuple[
    Any, ...
]  # of keys: SequenceKey(idx), DictKey(key), GetAttrKey(name), FlattenedIndexKey(key)

_NOTHING = object()
_told = functools.partial(explaining, space="fc.tree")

MISMATCH = """{what}: {which} has not the structure of the first tree.{where}
    expected {wanted}
    got      {found}
    Trees that are mapped together are equal in structure, or go on below the first one's leaves."""
NO_LEAVES = """{what} of a tree without leaves, {tree!r:.60}, has no value.
    Give the value it shall have: fc.{what}(..., {name}=0)."""
FIELDS = """register_dataclass: {cls} is no dataclass, so its fields are not known.
    Name them: fc.tree.register_dataclass({cls}, data_fields=['x'], meta_fields=[])."""
MISSING_FIELDS = """register_dataclass: the fields of {cls} are {fields}; data_fields, meta_fields and
    drop_fields together name {named}. Every field of `init` is in exactly one of them."""

# ---- leaves and structure ------------------------------------------------------------------------


def flatten(tree: Any, is_leaf: Function | None = None) -> tuple[list[Any], PyTreeDef]:
    """The leaves of a tree, left to right (dicts by sorted key), and its structure.

    >>> import functorch_core as fc
    >>> fc.tree.flatten({"b": 2, "a": (1, None)})[0]
    [1, 2]
    """
    leaves, treedef = registry.flatten(tree, is_leaf)
    return leaves, _plain(treedef, leaves, is_leaf) if _subclassed else treedef


@_told
def unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> object:
    """The tree of that structure with these leaves."""
    return treedef.unflatten(leaves)


def leaves(tree: Any, is_leaf: Function | None = None) -> list[Any]:
    """The leaves of a tree."""
    return registry.flatten(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: Function | None = None) -> PyTreeDef:
    """The structure of a tree."""
    return flatten(tree, is_leaf)[1]


def all_leaves(iterable: Iterable[Any], is_leaf: Function | None = None) -> bool:
    """Whether every item is a leaf."""
    leaf = structure(0)
    return builtins.all(whole(x, is_leaf)[1] == leaf for x in iterable)


@_told
def map(f: Function, tree: Any, *rest: Any, is_leaf: Function | None = None) -> Any:
    """Apply f to each leaf, with the matching leaves of further trees of the same structure.

    >>> import functorch_core as fc
    >>> fc.tree.map(lambda a, b: a + b, {"x": 1, "y": 2}, {"x": 10, "y": 20})
    {'x': 11, 'y': 22}
    """
    first, treedef = whole(tree, is_leaf)
    others = [matching("tree.map", treedef, other, i) for i, other in enumerate(rest, 2)]
    return treedef.unflatten([f(*items) for items in zip(first, *others)])


def map_arrays(f: Function, tree: Any) -> Any:
    """As map, with the arrays that sealed containers are of as leaves."""
    found, treedef = flatten(tree)
    return treedef.unflatten([f(x) for x in found])


def matching(what: str, treedef: PyTreeDef, tree: Any, position: int) -> list[Any]:
    """What a tree has where a structure has leaves; ValueError if it has another structure.

    A box is as good as what is in it.
    """
    try:
        return treedef.flatten_up_to(tree)
    except (ValueError, TypeError) as error:
        if boxes:
            found, bare = _opened(tree)
            if bare == _without_boxes(treedef):
                return found
        raise ValueError(
            MISMATCH.format(
                what=what,
                which=f"tree {position}",
                wanted=treedef,
                found=structure(tree),
                where=_difference(treedef, tree),
            )
        ) from error


def _difference(treedef: PyTreeDef, tree: Any, path: KeyPath = ()) -> str:
    """Where, below the root, a tree first differs from a structure."""
    if treedef_is_leaf(treedef):
        return ""
    children, found = treedef.children(), registry.flatten_one_level_with_keys(tree)
    same = found is not None and structure(tree).node_data() == treedef.node_data()
    if not same or len(found[0]) != len(children):
        return f" They differ at {keystr(path)}." if path else ""
    parts = [_difference(child, x, (*path, key)) for child, (key, x) in zip(children, found[0])]
    return next(filter(None, parts), "")


@_told
def transpose(outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any) -> Any:
    """A tree of structure outer∘inner as one of structure inner∘outer.

    Without an inner structure, it is that of the first of the inner trees.
    """
    rows = outer_treedef.flatten_up_to(pytree_to_transpose)
    if inner_treedef is None:
        inner_treedef = whole(rows[0])[1] if rows else structure(())
    columns = [matching("tree.transpose", inner_treedef, t, i) for i, t in enumerate(rows)]
    return inner_treedef.unflatten([outer_treedef.unflatten(row) for row in zip(*columns)])


@_told
def broadcast(prefix_tree: Any, full_tree: Any, is_leaf: Function | None = None) -> Any:
    """A tree like full_tree, whose leaves are those of a prefix of it, repeated.

    >>> import functorch_core as fc
    >>> fc.tree.broadcast({"a": 1, "b": 2}, {"a": [0, 0], "b": 0})
    {'a': [1, 1], 'b': 2}
    """
    values, treedef = whole(prefix_tree, is_leaf)
    parts = matching("tree.broadcast", treedef, full_tree, 2)
    return treedef.unflatten(
        [map(lambda _, value=value: value, part, is_leaf=is_leaf) for value, part in zip(values, parts)]
    )


# ---- boxes ---------------------------------------------------------------------------------------
# A box is a container of one leaf that users take for a leaf: a tensor of PyTorch's, around its array.

boxes: set[type] = set()
_subclassed: list[None] = []  # an entry from a flattening that met a subclass of a box to its end


def register_box(cls: type, content: Function, box: Function, subclasses: Sequence[type] = ()) -> None:
    """Register a box: content(x) is its leaf, box(leaf) makes one. Instances of the subclasses count as instances of
    the class, which they come back as."""

    def open_subclass(x: Any) -> Any:
        _subclassed.append(None)
        return (content(x),), None

    boxes.update((cls, *subclasses))
    register_node(cls, lambda x: ((content(x),), None), lambda _, children: box(children[0]))
    for other in subclasses:
        register_node(other, open_subclass, lambda _, children: box(children[0]))


def content(box: Any) -> Any:
    """What is in a box."""
    return registry.flatten_one_level(box)[0][0]


def _plain(treedef: PyTreeDef, leaves: list[Any], is_leaf: Function | None) -> PyTreeDef:
    """A structure in which subclasses of boxes may be as one with the boxes themselves."""
    _subclassed.clear()
    return registry.flatten(treedef.unflatten(leaves), is_leaf)[1]


def alike(structure: PyTreeDef, other: PyTreeDef) -> bool:
    """Whether two structures are equal, where a box is as good as what is in it."""
    return structure == other or builtins.bool(boxes) and _without_boxes(structure) == _without_boxes(other)


def _without_boxes(treedef: PyTreeDef) -> PyTreeDef:
    return _opened(treedef.unflatten([_NOTHING] * treedef.num_leaves))[1]


def _opened(tree: Any) -> tuple[list[Any], PyTreeDef]:
    """Leaves and structure of a tree with what is in boxes in their places."""
    leaves, treedef = registry.flatten(tree, lambda x: x.__class__ in boxes)
    return [content(x) if x.__class__ in boxes else x for x in leaves], treedef


# ---- sealed containers ---------------------------------------------------------------------------
# Typed keys: transforms and loops flatten them to their numbers; to users (fc.tree) they are leaves.

sealed: set[type] = set()
_sealed: list[None] = []  # an entry from a flattening that met one


def register_sealed(cls: type, flatten: Function, unflatten: Function) -> None:
    """Register a container, by flatten(obj) -> (children, aux), which is a leaf to functions that map over trees."""

    def noticed(x: Any) -> Any:
        _sealed.append(None)
        return flatten(x)

    sealed.add(cls)
    register_node(cls, noticed, unflatten)


def whole(tree: Any, is_leaf: Function | None = None) -> tuple[list[Any], PyTreeDef]:
    """As flatten, with sealed containers as leaves."""
    _sealed.clear()
    found = flatten(tree, is_leaf)
    if not _sealed:
        return found
    return flatten(tree, lambda x: x.__class__ in sealed or (is_leaf is not None and is_leaf(x)))


# ---- leaves and their places ---------------------------------------------------------------------


def flatten_with_path(
    tree: Any, is_leaf: Function | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, object]], PyTreeDef]:
    """(pairs of path and leaf, structure); a path is a tuple of keys, which keystr writes.

    is_leaf(node), or is_leaf(path, node) with `is_leaf_takes_path`, ends the descent.

    >>> import functorch_core as fc
    >>> pairs, _ = fc.tree.flatten_with_path({"layers": [1, 2]})
    >>> [(fc.tree.keystr(path), leaf) for path, leaf in pairs]
    [("['layers'][0]", 1), ("['layers'][1]", 2)]
    """
    ends = is_leaf if is_leaf is None or is_leaf_takes_path else lambda path, node: is_leaf(node)
    _sealed.clear()
    found = registry.flatten_with_path(tree, ends)
    if not _sealed:
        return found
    return registry.flatten_with_path(
        tree, lambda path, x: x.__class__ in sealed or (ends is not None and ends(path, x))
    )


def leaves_with_path(
    tree: Any, is_leaf: Function | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, object]]:
    """Pairs of path and leaf; see flatten_with_path."""
    return flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


@_told
def map_with_path(
    f: Function, tree: Any, *rest: Any, is_leaf: Function | None = None, is_leaf_takes_path: bool = False
) -> Any:
    """Apply f(path, leaf, *leaves of further trees) to each leaf; see flatten_with_path.

    >>> import functorch_core as fc
    >>> fc.tree.map_with_path(lambda path, x: fc.tree.keystr(path) + f"={x}", {"a": [1, 2]})
    {'a': ["['a'][0]=1", "['a'][1]=2"]}
    """
    pairs, treedef = flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    if _subclassed and is_leaf is None:
        treedef = whole(tree)[1]
    others = [matching("tree.map_with_path", treedef, t, i) for i, t in enumerate(rest, 2)]
    return treedef.unflatten([f(*pair, *more) for pair, *more in zip(pairs, *others)])


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """A path as Python writes it, ['layers'][0]; with `simple` the bare keys, layers0.

    >>> import functorch_core as fc
    >>> path, _ = fc.tree.leaves_with_path({"layers": [1]})[0]
    >>> fc.tree.keystr(path, simple=True, separator="/")
    'layers/0'
    """
    return separator.join([_bare(key) if simple else str(key) for key in keys])


def _bare(key: Any) -> str:
    for name in ("key", "idx", "name"):
        if hasattr(key, name):
            return str(getattr(key, name))
    return str(key)


# ---- over the leaves -----------------------------------------------------------------------------


@_told
def reduce(function: Function, tree: Any, initializer: Any = _NOTHING, is_leaf: Function | None = None) -> Any:
    """function(function(initializer, leaf), next leaf) ... over the leaves.

    >>> import functorch_core as fc
    >>> fc.tree.reduce(lambda a, b: a + b, {"x": 1, "y": (2, 3)})
    6
    """
    items, _ = whole(tree, is_leaf)
    if initializer is not _NOTHING:
        return functools.reduce(function, items, initializer)
    if not items:
        raise TypeError(NO_LEAVES.format(what="tree.reduce", tree=tree, name="initializer"))
    return functools.reduce(function, items)


@_told
def reduce_associative(
    operation: Function, tree: Any, *, identity: Any = _NOTHING, is_leaf: Function | None = None
) -> Any:
    """The leaves under an associative operation, halves with halves: logarithmic depth.

    >>> import functorch_core as fc
    >>> fc.tree.reduce_associative(lambda a, b: a + b, {"x": 1, "y": (2, 3)})
    6
    """
    items, _ = whole(tree, is_leaf)
    if not items:
        if identity is _NOTHING:
            raise TypeError(NO_LEAVES.format(what="tree.reduce_associative", tree=tree, name="identity"))
        return identity
    while len(items) > 1:
        pairs = [operation(a, b) for a, b in zip(items[::2], items[1::2])]
        items = pairs + items[len(pairs) * 2 :]
    return items[0]


def all(tree: Any, *, is_leaf: Function | None = None) -> bool:
    """Whether every leaf is true."""
    return builtins.all(whole(tree, is_leaf)[0])


# ---- classes as containers -----------------------------------------------------------------------


def register_pytree_node(
    nodetype: type, flatten_func: Function, unflatten_func: Function, flatten_with_keys_func: Function | None = None
) -> None:
    """Register a container: flatten_func(obj) -> (children, aux), unflatten_func(aux, children).

    flatten_with_keys_func(obj) -> (pairs of key and child, aux) names the children in paths.
    """
    register_node(nodetype, flatten_func, unflatten_func, flatten_with_keys_func)


def register_pytree_with_keys(
    nodetype: type, flatten_with_keys: Function, unflatten_func: Function, flatten_func: Function | None = None
) -> None:
    """Register a container by flatten_with_keys(obj) -> (pairs of key and child, aux)."""

    def flat(obj: Any) -> Any:
        pairs, aux = flatten_with_keys(obj)
        return [child for _, child in pairs], aux

    register_node(nodetype, flatten_func or flat, unflatten_func, flatten_with_keys)


def register_pytree_node_class(cls: Any) -> Any:
    """A decorator: register a class by its methods tree_flatten() and tree_unflatten(aux, children).

    >>> import functorch_core as fc
    >>> @fc.tree.register_pytree_node_class
    ... class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    ...     def tree_flatten(self):
    ...         return (self.a, self.b), None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux, children):
    ...         return cls(*children)
    >>> fc.tree.leaves(Pair(1, [2, 3]))
    [1, 2, 3]
    """
    register_node(cls, lambda x: x.tree_flatten(), cls.tree_unflatten)
    return cls


def register_pytree_with_keys_class(cls: Any) -> Any:
    """A decorator: as register_pytree_node_class, with tree_flatten_with_keys(), too."""
    register_pytree_with_keys(
        cls, lambda x: x.tree_flatten_with_keys(), cls.tree_unflatten, getattr(cls, "tree_flatten", None)
    )
    return cls


def register_static(cls: type) -> type:
    """Register a class as a container without leaves: its instances are part of the structure.

    They must be hashable and comparable.
    """
    register_node(cls, lambda x: ((), x), lambda x, children: x)
    return cls


def static(**kwargs: Any) -> Any:
    """A dataclass field (the arguments of dataclasses.field) that register_dataclass keeps static."""
    return dataclasses.field(metadata={**(kwargs.pop("metadata", None) or {}), "static": True}, **kwargs)


@_told
def register_dataclass(
    nodetype: type,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Any:
    """Register a dataclass: `data_fields` are children, `meta_fields` static. Returns the class.

    Both or neither are given; by default they are the fields without and with tree.static().
    drop_fields are left to their defaults.

    >>> import dataclasses, functorch_core as fc
    >>> @fc.tree.register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     weight: object
    ...     name: str = fc.tree.static(default="layer")
    >>> fc.tree.leaves(Layer(1.))
    [1.0]
    """
    data_fields, meta_fields = _fields(nodetype, data_fields, meta_fields, drop_fields)

    def flatten_instance(obj: Any) -> Any:
        return (tuple(getattr(obj, f) for f in data_fields), tuple(getattr(obj, f) for f in meta_fields))

    def flatten_with_keys(obj: Any) -> Any:
        return (
            tuple((GetAttrKey(f), getattr(obj, f)) for f in data_fields),
            tuple(getattr(obj, f) for f in meta_fields),
        )

    def unflatten_instance(meta: Any, data: Any) -> Any:
        return nodetype(**dict(zip(data_fields, data)), **dict(zip(meta_fields, meta)))

    register_node(nodetype, flatten_instance, unflatten_instance, flatten_with_keys)
    return nodetype


def _fields(cls: type, data: Any, meta: Any, drop: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(data fields, static fields) of a class to register; ValueError if one is forgotten."""
    if not dataclasses.is_dataclass(cls):
        if data is None:
            raise TypeError(FIELDS.format(cls=cls.__name__))
        return tuple(data), tuple(meta or ())
    fields = [f for f in dataclasses.fields(cls) if f.init and f.name not in drop]
    if data is None and meta is None:
        static_ones = {f.name for f in fields if f.metadata.get("static", False)}
        return (
            tuple(f.name for f in fields if f.name not in static_ones),
            tuple(f.name for f in fields if f.name in static_ones),
        )
    named = (*(data or ()), *(meta or ()))
    if sorted(named) != sorted(f.name for f in fields):
        raise ValueError(
            MISSING_FIELDS.format(cls=cls.__name__, fields=[f.name for f in fields], named=[*named, *drop])
        )
    return tuple(data or ()), tuple(meta or ())


class Partial(functools.partial[Any]):
    """functools.partial as a container: its arguments are children, its function is static.

    >>> import functorch_core as fc
    >>> fc.jit(lambda f, x: f(x))(fc.tree.Partial(fc.add, fc.asarray(1.)), fc.asarray(2.))
    Array(3., dtype=float32)
    """


register_node(
    Partial,
    lambda p: ((p.args, p.keywords), p.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
    lambda p: (((GetAttrKey("args"), p.args), (GetAttrKey("keywords"), p.keywords)), p.func),
)

# ---- one level, and structures -------------------------------------------------------------------


@_told
def flatten_one_level(tree: Any) -> tuple[Any, ...]:
    """(children, what is static) of the container at the root; ValueError for a leaf."""
    return _of_container("flatten_one_level", tree)


@_told
def flatten_one_level_with_keys(tree: Any) -> tuple[Any, ...]:
    """(pairs of key and child, what is static) of the container at the root; see keystr."""
    return _of_container("flatten_one_level_with_keys", tree)


def _of_container(what: str, tree: Any) -> tuple[Any, ...]:
    found = None if tree.__class__ in sealed else getattr(registry, what)(tree)
    if found is None:
        raise ValueError(f"{what}: {tree!r:.60} is a leaf")
    return found


def is_tree_node(typ: type) -> bool:
    """Whether a class is one of containers."""
    return typ not in sealed and registry.is_node(typ)


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the children of a structure's root."""
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether a structure is that of a leaf."""
    return treedef.num_nodes == 1 and treedef.num_leaves == 1


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple of trees of these structures."""
    return treedef_of_tuple(treedefs)


# ---- pickles -------------------------------------------------------------------------------------


def _reduced(treedef: PyTreeDef) -> tuple[Any, ...]:
    """A structure as that of an example, whose containers are pickled by their classes."""
    return structure, (treedef.unflatten([0] * treedef.num_leaves),)


copyreg.pickle(PyTreeDef, _reduced)
