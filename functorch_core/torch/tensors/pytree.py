"""torch.utils._pytree: nested lists, tuples and dicts as flat lists of leaves."""

from __future__ import annotations

import dataclasses
import enum
import functools
import importlib
import json
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from .types import Size


class NodeDef(NamedTuple):
    """How a type of container is taken apart and put together."""

    type: type
    flatten_fn: Callable
    unflatten_fn: Callable
    flatten_with_keys_fn: Callable | None = None  # as flatten_fn, with (step, child) for a child


@dataclasses.dataclass(frozen=True)
class KeyEntry:
    """A step of the path to a leaf."""

    key: Any


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """A step into a list or tuple."""

    idx: int

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, sequence):
        """The element."""
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class MappingKey:
    """A step into a dict."""

    key: Any

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, mapping):
        """The element."""
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """A step into a named tuple."""

    name: str

    def __str__(self):
        return f".{self.name}"

    def get(self, obj):
        """The element."""
        return getattr(obj, self.name)


PyTree = Context = Any
SUPPORTED_NODES: dict[type, NodeDef] = {}


class Serialized(NamedTuple):
    """What a kind of container is called in text, and how its context becomes text and is read."""

    name: str | None
    dump: Callable | None = None  # None: by json
    load: Callable | None = None


_serialized: dict[type, Serialized] = {}
_namedtuple_names: dict[type, str] = {}


class TreeSpec:
    """The structure of a tree without its leaves."""

    __slots__ = ("type", "context", "children_specs", "num_nodes", "num_leaves", "num_children")

    def __init__(self, type, context, children_specs):
        self.type, self.context, self.children_specs = type, context, list(children_specs)
        self.num_nodes = 1 + sum(c.num_nodes for c in self.children_specs)
        self.num_leaves = sum(c.num_leaves for c in self.children_specs) if type else 1
        self.num_children = len(self.children_specs)

    def is_leaf(self) -> bool:
        """Whether this is a leaf."""
        return self.type is None

    def children(self) -> list:
        """The structures of the children."""
        return list(self.children_specs)

    def child(self, index: int) -> TreeSpec:
        """The structure of one child."""
        return self.children_specs[index]

    def __eq__(self, other):
        if not isinstance(other, TreeSpec):
            return NotImplemented
        if self.type is not other.type or self.num_children != other.num_children:
            return False
        if self.type in _DICTS:
            mine, theirs = _keys(self), _keys(other)
            return set(mine) == set(theirs) and all(
                c == other.children_specs[theirs.index(k)] for k, c in zip(mine, self.children_specs)
            )
        return self.context == other.context and self.children_specs == other.children_specs

    def __hash__(self):
        return hash((self.type, self.num_leaves, self.num_nodes))

    def __repr__(self, indent: int = 0):
        if self.type is None:
            return "*"
        prefix = f"TreeSpec({self.type.__name__}, {self.context}, ["
        inner = ""
        if self.children_specs:
            indent += 2
            inner = self.children_specs[0].__repr__(indent)
            for child in self.children_specs[1:]:
                inner += ",\n" + " " * indent + child.__repr__(indent)
        return f"{prefix}{inner}])"

    def unflatten(self, leaves: Iterable):
        """The tree of these leaves."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but "
                f"the spec refers to a pytree that holds {self.num_leaves} items "
                f"({self})."
            )
        return self._build(iter(leaves))

    def _build(self, leaves):
        if self.type is None:
            return next(leaves)
        children = [c._build(leaves) for c in self.children_specs]
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self.context)

    def flatten_up_to(self, tree) -> list:
        """The subtrees of `tree` in the places of this structure's leaves."""
        found: list = []
        self._flatten_up_to(tree, found)
        return found

    def _flatten_up_to(self, tree, found: list):
        if self.type is None:
            found.append(tree)
            return
        kind = _node_type(tree)
        if kind is not self.type and not (kind in _DICTS and self.type in _DICTS):
            raise ValueError(f"Type mismatch; expected {self.type!r}, but got {type(tree)!r}.")
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        if self.type in _DICTS:
            children = [tree[k] for k in _keys(self)]
        elif context != self.context:
            raise ValueError(f"Node context mismatch for node type {self.type!r}.")
        for spec, child in zip(self.children_specs, children):
            spec._flatten_up_to(child, found)


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    __slots__ = ()

    def __init__(self):
        super().__init__(None, None, [])


_LEAF = LeafSpec()


def treespec_leaf() -> LeafSpec:
    """The structure of a leaf."""
    return _LEAF


# ---- kinds of containers -------------------------------------------------------------------------


def register_pytree_node(
    cls,
    flatten_fn,
    unflatten_fn,
    *,
    serialized_type_name=None,
    to_dumpable_context=None,
    from_dumpable_context=None,
    flatten_with_keys_fn=None,
):
    """Treat instances of `cls` as containers: flatten_fn(x) -> (children, context),
    unflatten_fn(children, context) -> x. ValueError if it is registered."""
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    _serialized[cls] = Serialized(serialized_type_name, to_dumpable_context, from_dumpable_context)


_register_pytree_node = register_pytree_node


def register_dataclass(cls, *, field_names=None, drop_field_names=None, **names):
    """Treat instances of a dataclass as containers of their fields."""
    fields = field_names or [f.name for f in dataclasses.fields(cls) if f.name not in (drop_field_names or ())]
    register_pytree_node(
        cls,
        lambda x: ([getattr(x, f) for f in fields], fields),
        lambda children, _: cls(**dict(zip(fields, children))),
        flatten_with_keys_fn=lambda x: ([(GetAttrKey(f), getattr(x, f)) for f in fields], fields),
        **names,
    )


def register_constant(cls):
    """Treat instances of `cls` as structure without leaves."""
    register_pytree_node(cls, lambda x: ([], x), lambda _, x: x)


def _keys(spec: TreeSpec) -> list:
    return spec.context[1] if spec.type is defaultdict else spec.context


_DICTS = (dict, OrderedDict, defaultdict)


def _sequence(cls):
    """How lists and tuples are taken apart, with steps too, and put together."""

    def flatten(x):
        return list(x), None

    def flatten_with_keys(x):
        return [(SequenceKey(i), child) for i, child in enumerate(x)], None

    return flatten, lambda children, _: cls(children), flatten_with_keys


def _mapping(cls):
    """The same of dicts; the context is the list of keys."""

    def flatten(x):
        return list(x.values()), list(x)

    def flatten_with_keys(x):
        return [(MappingKey(k), child) for k, child in x.items()], list(x)

    return flatten, lambda children, keys: cls(zip(keys, children)), flatten_with_keys


def _namedtuple_flatten(x):
    return list(x), type(x)


def _namedtuple_flatten_with_keys(x):
    return [(GetAttrKey(name), child) for name, child in zip(x._fields, x)], type(x)


def _namedtuple_unflatten(children, context):
    return context(*children)


def _defaultdict_flatten(x):
    return list(x.values()), [x.default_factory, list(x)]


def _defaultdict_flatten_with_keys(x):
    return _dict_flatten_with_keys(x)[0], [x.default_factory, list(x)]


def _defaultdict_unflatten(children, context):
    factory, keys = context
    return defaultdict(factory, zip(keys, children))


def _deque_flatten(x):
    return list(x), x.maxlen


def _deque_flatten_with_keys(x):
    return _list_flatten_with_keys(x)[0], x.maxlen


def _deque_unflatten(children, context):
    return deque(children, maxlen=context)


_list_flatten, _list_unflatten, _list_flatten_with_keys = _sequence(list)
_tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys = _sequence(tuple)
_dict_flatten, _dict_unflatten, _dict_flatten_with_keys = _mapping(dict)
_ordereddict_flatten, _ordereddict_unflatten, _ordereddict_flatten_with_keys = _mapping(OrderedDict)

register_pytree_node(tuple, _tuple_flatten, _tuple_unflatten, flatten_with_keys_fn=_tuple_flatten_with_keys)
register_pytree_node(Size, _tuple_flatten, _tuple_unflatten, flatten_with_keys_fn=_tuple_flatten_with_keys)
register_pytree_node(list, _list_flatten, _list_unflatten, flatten_with_keys_fn=_list_flatten_with_keys)
register_pytree_node(dict, _dict_flatten, _dict_unflatten, flatten_with_keys_fn=_dict_flatten_with_keys)
register_pytree_node(
    namedtuple, _namedtuple_flatten, _namedtuple_unflatten, flatten_with_keys_fn=_namedtuple_flatten_with_keys
)
register_pytree_node(
    OrderedDict, _ordereddict_flatten, _ordereddict_unflatten, flatten_with_keys_fn=_ordereddict_flatten_with_keys
)
register_pytree_node(
    defaultdict, _defaultdict_flatten, _defaultdict_unflatten, flatten_with_keys_fn=_defaultdict_flatten_with_keys
)
register_pytree_node(deque, _deque_flatten, _deque_unflatten, flatten_with_keys_fn=_deque_flatten_with_keys)
for _kind in (tuple, list, dict, OrderedDict, deque):
    _serialized[_kind] = Serialized(f"{_kind.__module__}.{_kind.__name__}")


def is_namedtuple_instance(x) -> bool:
    """Whether x is a named tuple (PyTorch's torch.return_types included)."""
    return isinstance(x, tuple) and type(x) is not tuple and hasattr(x, "_fields")


_is_namedtuple_instance = is_namedtuple_instance


def is_structseq_class(cls) -> bool:
    """Whether a class is one of C's named tuples, as time.struct_time; PyTorch's torch.return_types are such, here they
    are named tuples of Python's."""
    return isinstance(cls, type) and cls.__bases__ == (tuple,) and isinstance(getattr(cls, "n_fields", None), int)


def is_structseq_instance(x) -> bool:
    """Whether x is of such a class."""
    return is_structseq_class(type(x))


def is_structseq(x) -> bool:
    """Whether x is such a class, or of one."""
    return is_structseq_class(x if isinstance(x, type) else type(x))


def _node_type(tree):
    kind = type(tree)
    if kind in SUPPORTED_NODES:
        return kind
    return namedtuple if is_namedtuple_instance(tree) else None


_get_node_type = _node_type


def tree_is_leaf(tree, is_leaf=None) -> bool:
    """Whether a tree is a leaf."""
    return is_leaf is not None and is_leaf(tree) or _node_type(tree) is None


# ---- flattening and mapping ----------------------------------------------------------------------


def tree_flatten(tree, is_leaf=None) -> tuple[list, TreeSpec]:
    """(leaves, structure). None is a leaf.

    >>> tree_flatten({"a": 1, "b": (2, 3)})[0]
    [1, 2, 3]
    """
    leaves: list = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree, leaves: list, is_leaf) -> TreeSpec:
    kind = _node_type(tree)
    if kind is None or is_leaf is not None and is_leaf(tree):
        leaves.append(tree)
        return _LEAF
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(c, leaves, is_leaf) for c in children])


def tree_unflatten(leaves, treespec: TreeSpec):
    """The tree of a structure with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of "
            f"TreeSpec but got item of type {type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_leaves(tree, is_leaf=None) -> list:
    """The leaves of a tree."""
    return tree_flatten(tree, is_leaf)[0]


tree_iter = tree_leaves


def tree_structure(tree, is_leaf=None) -> TreeSpec:
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func, tree, *rests, is_leaf=None):
    """The tree of func(leaf, ...) over trees of one structure."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(r) for r in rests]
    return spec.unflatten([func(*xs) for xs in zip(leaves, *others)])


def tree_map_(func, tree, *rests, is_leaf=None):
    """Like tree_map for the effect of `func`; returns the tree."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(r) for r in rests]
    for xs in zip(leaves, *others):
        func(*xs)
    return tree


def map_only(type_or_types, /, func=None):
    """Decorator: a function applied to leaves of these types only (types or a predicate)."""
    if func is None:
        return functools.partial(map_only, type_or_types)
    applies = (
        type_or_types
        if callable(type_or_types) and not isinstance(type_or_types, type)
        else (lambda x: isinstance(x, type_or_types))
    )

    def mapped(x):
        return func(x) if applies(x) else x

    return mapped


def tree_map_only(type_or_types, /, func, tree, is_leaf=None):
    """tree_map of the leaves of some types; the others stay."""
    return tree_map(map_only(type_or_types, func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types, /, func, tree, is_leaf=None):
    """tree_map_ of the leaves of some types."""
    return tree_map_(map_only(type_or_types, func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None) -> bool:
    """Whether a predicate holds for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None) -> bool:
    """Whether a predicate holds for some leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(type_or_types, /, pred, tree, is_leaf=None) -> bool:
    """Whether a predicate holds for all leaves of some types."""
    return all(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types, /, pred, tree, is_leaf=None) -> bool:
    """Whether a predicate holds for some leaf of some types."""
    return any(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, type_or_types))


# ---- paths ---------------------------------------------------------------------------------------


def tree_flatten_with_path(tree, is_leaf=None):
    """([(path, leaf), ...], structure)."""
    found: list = []
    return found, _flatten_with_path(tree, (), found, is_leaf)


def _flatten_with_path(tree, path, found: list, is_leaf) -> TreeSpec:
    kind = _node_type(tree)
    if kind is None or is_leaf is not None and is_leaf(tree):
        found.append((path, tree))
        return _LEAF
    flatten = SUPPORTED_NODES[kind].flatten_with_keys_fn
    if flatten is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a "
            "flatten_with_keys_fn argument to register_pytree_node."
        )
    children, context = flatten(tree)
    return TreeSpec(
        kind, context, [_flatten_with_path(child, (*path, step), found, is_leaf) for step, child in children]
    )


def tree_leaves_with_path(tree, is_leaf=None) -> list:
    """[(path, leaf), ...]."""
    return tree_flatten_with_path(tree, is_leaf)[0]


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """The tree of func(path, leaf, ...)."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(r) for r in rests]
    return spec.unflatten([func(path, x, *xs) for (path, x), *xs in zip(found, *others)])


def keystr(path) -> str:
    """A path as text: [0]['a']."""
    return "".join(map(str, path))


def key_get(obj, path):
    """The part of a tree at a path."""
    for step in path:
        obj = step.get(obj)
    return obj


# ---- prefixes ------------------------------------------------------------------------------------


def _broadcast_to_and_flatten(tree, treespec: TreeSpec, is_leaf=None) -> list | None:
    """The leaves of a tree that is a prefix of a structure, repeated for what is below them; None
    if it is no prefix."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.type is None or _node_type(tree) is not treespec.type:
        return None
    children, context = SUPPORTED_NODES[treespec.type].flatten_fn(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    found: list = []
    for child, spec in zip(children, treespec.children_specs):
        flat = _broadcast_to_and_flatten(child, spec, is_leaf)
        if flat is None:
            return None
        found += flat
    return found


def treespec_pprint(treespec: TreeSpec) -> str:
    """A structure as text."""
    return repr(tree_unflatten(["*"] * treespec.num_leaves, treespec)).replace("'*'", "*")


# ---- structures as text --------------------------------------------------------------------------


def _register_namedtuple(cls, *, serialized_type_name: str):
    """Give a class of named tuples a name in text."""
    _namedtuple_names[cls] = serialized_type_name


def _dump_namedtuple(cls) -> str:
    if cls not in _namedtuple_names:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {cls} because we didn't register a serializated_type_name. "
            "Please register using `_register_namedtuple`."
        )
    return _namedtuple_names[cls]


def _load_namedtuple(name: str):
    found = [cls for cls, known in _namedtuple_names.items() if known == name]
    if not found:
        raise NotImplementedError(
            f"Can't deserialize TreeSpec of namedtuple class {name} because we couldn't find a serializated name."
        )
    return found[0]


def _dump_defaultdict(context) -> dict:
    factory, keys = context
    return {
        "default_factory_module": factory.__module__,
        "default_factory_name": factory.__qualname__,
        "dict_context": keys,
    }


def _load_defaultdict(dumped: dict) -> list:
    factory = getattr(importlib.import_module(dumped["default_factory_module"]), dumped["default_factory_name"])
    return [factory, dumped["dict_context"]]


_serialized[namedtuple] = Serialized("collections.namedtuple", _dump_namedtuple, _load_namedtuple)
_serialized[defaultdict] = Serialized("collections.defaultdict", _dump_defaultdict, _load_defaultdict)
PROTOCOL = 1


class _Encoder(json.JSONEncoder):
    """Members of enumerations by their name."""

    def default(self, o):
        """What stands for an object that JSON has not."""
        if isinstance(o, enum.Enum):
            cls = type(o)
            return {"__enum__": True, "fqn": f"{cls.__module__}:{cls.__qualname__}", "name": o.name}
        return super().default(o)


def _dumped(spec: TreeSpec) -> dict:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    known = _serialized[spec.type]
    if known.name is None:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your _register_pytree_node call "
            "with a `serialized_type_name` kwarg."
        )
    context = json.dumps(spec.context, cls=_Encoder) if known.dump is None else known.dump(spec.context)
    return {"type": known.name, "context": context, "children_spec": [_dumped(c) for c in spec.children_specs]}


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A structure as JSON, which treespec_loads reads; it must be of registered containers."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
    protocol = PROTOCOL if protocol is None else protocol
    if protocol != PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{PROTOCOL}]")
    return json.dumps((protocol, _dumped(treespec)), cls=_Encoder)


def _loaded(dumped: dict) -> TreeSpec:
    if dumped["type"] is None:
        return _LEAF
    kinds = [kind for kind, known in _serialized.items() if known.name == dumped["type"]]
    if not kinds:
        raise NotImplementedError(f"Deserializing {dumped['type']} in pytree is not registered.")
    load = _serialized[kinds[0]].load
    context = json.loads(dumped["context"]) if load is None else load(dumped["context"])
    return TreeSpec(kinds[0], context, [_loaded(c) for c in dumped["children_spec"]])


def treespec_loads(serialized: str) -> TreeSpec:
    """The structure that treespec_dumps wrote."""
    protocol, dumped = json.loads(serialized)
    if protocol != PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{PROTOCOL}]")
    return _loaded(dumped)
