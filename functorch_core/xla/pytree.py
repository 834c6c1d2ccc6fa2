"""Nested containers as flat lists of leaves: jaxlib's registry, which flattens in C++."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from jaxlib import _jax

PyTreeDef: TypeAlias = _jax.pytree.PyTreeDef
# The steps of a path into a container.
DictKey, FlattenedIndexKey = _jax.pytree.DictKey, _jax.pytree.FlattenedIndexKey
GetAttrKey, SequenceKey = _jax.pytree.GetAttrKey, _jax.pytree.SequenceKey

registry = _jax.pytree.PyTreeRegistry(
    enable_none=True, enable_tuple=True, enable_namedtuple=True, enable_list=True, enable_dict=True
)


def register_node(
    cls: type,
    flatten: Callable[..., Any],
    unflatten: Callable[..., Any],
    flatten_with_keys: Callable[..., Any] | None = None,
) -> None:
    """Register a container: flatten(obj) -> (children, aux); unflatten(aux, children) -> obj.

    flatten_with_keys(obj) -> (pairs of key and child, aux) names the children in paths.
    """
    registry.register_node(cls, flatten, unflatten, flatten_with_keys)


def treedef_of_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple."""
    return _jax.pytree.treedef_tuple(registry, list(treedefs))


def _items(d: Any) -> tuple[Any, ...]:
    return tuple((DictKey(k), v) for k, v in d.items())


register_node(
    OrderedDict,
    lambda d: (tuple(d.values()), tuple(d)),
    lambda keys, values: OrderedDict(zip(keys, values)),
    lambda d: (_items(d), tuple(d)),
)


def _sorted(d: Any) -> dict[Any, Any]:
    """d in the order of its keys, which is that of a dict's leaves, too."""
    return {key: d[key] for key in sorted(d)}


register_node(
    defaultdict,
    lambda d: (tuple(_sorted(d).values()), (d.default_factory, tuple(sorted(d)))),
    lambda aux, values: defaultdict(aux[0], zip(aux[1], values)),
    lambda d: (_items(_sorted(d)), (d.default_factory, tuple(sorted(d)))),
)
