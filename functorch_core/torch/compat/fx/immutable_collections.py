"""torch.fx.immutable_collections: the lists and dicts among a node's arguments."""

from __future__ import annotations

from ...tensors.pytree import register_pytree_node

NO_CHANGE = (
    "'{}' object does not support mutation. If you are attempting to modify the kwargs or "
    "args of a torch.fx.Node object, instead create a new copy of it and assign the copy "
    "to the node: new_args = ...; node.args = new_args"
)


def _refusing(self, *args, **kwargs):
    raise TypeError(NO_CHANGE.format(type(self).__name__))


class immutable_list(list):
    """A list that cannot be changed.

    >>> from torch.fx.immutable_collections import immutable_list
    >>> immutable_list([1, 2])
    [1, 2]
    """

    __delitem__ = __iadd__ = __imul__ = __setitem__ = append = clear = extend = insert = _refusing
    pop = remove = reverse = sort = _refusing

    def __hash__(self):
        return hash(tuple(self))

    def __reduce__(self):
        return type(self), (tuple(self),)


class immutable_dict(dict):
    """A dict that cannot be changed.

    >>> from torch.fx.immutable_collections import immutable_dict
    >>> immutable_dict({"a": 1})
    {'a': 1}
    """

    __delitem__ = __ior__ = __setitem__ = clear = pop = popitem = setdefault = update = _refusing

    def __hash__(self):
        return hash(frozenset(self.items()))

    def __reduce__(self):
        return type(self), (dict(self),)


register_pytree_node(immutable_list, lambda x: (list(x), None), lambda c, _: immutable_list(c))
register_pytree_node(immutable_dict, lambda x: (list(x.values()), list(x)), lambda c, k: immutable_dict(zip(k, c)))
