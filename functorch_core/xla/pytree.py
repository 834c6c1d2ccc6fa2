"""Nested containers as flat lists of leaves: jaxlib's registry, which flattens in C++."""
from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable

from jaxlib import _jax

PyTreeDef = _jax.pytree.PyTreeDef

registry = _jax.pytree.PyTreeRegistry(
    enable_none=True, enable_tuple=True, enable_namedtuple=True, enable_list=True,
    enable_dict=True)


def register_node(cls: type, flatten: Callable, unflatten: Callable):
    """Register a container: flatten(obj) -> (children, aux); unflatten(aux, children) -> obj."""
    registry.register_node(cls, flatten, unflatten)


register_node(OrderedDict, lambda d: (tuple(d.values()), tuple(d)),
              lambda keys, values: OrderedDict(zip(keys, values)))
register_node(defaultdict, lambda d: (tuple(d.values()), (d.default_factory, tuple(d))),
              lambda aux, values: defaultdict(aux[0], zip(aux[1], values)))
