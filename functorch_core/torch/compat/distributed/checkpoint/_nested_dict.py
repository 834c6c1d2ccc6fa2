"""torch.distributed.checkpoint._nested_dict: nested dicts and lists as one dict, by names such as "model.weight"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ....tensors.base import Tensor

Path = tuple[Any, ...]


def _is_leaf(value: Any) -> bool:
    """Whether it is stored as it is: no mapping, and no list with tensors in it."""
    if isinstance(value, Mapping):
        return False
    if not isinstance(value, list):
        return True
    return not any(isinstance(x, Tensor) or (isinstance(x, (Mapping, list)) and not _is_leaf(x)) for x in value)


def _leaves(state: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if path and _is_leaf(state):
        yield path, state
        return
    for key, value in state.items() if isinstance(state, Mapping) else enumerate(state):
        yield from _leaves(value, (*path, str(key) if isinstance(state, Mapping) else key))


def flatten_state_dict(state_dict: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Path]]:
    """(the leaves by their names, the keys that lead to each). ValueError if two have one name.

    >>> from torch.distributed.checkpoint._nested_dict import flatten_state_dict
    >>> flatten_state_dict({"a": {"b": 1}, "c": 2})
    ({'a.b': 1, 'c': 2}, {'a.b': ('a', 'b'), 'c': ('c',)})
    """
    flat: dict[str, Any] = {}
    paths: dict[str, Path] = {}
    for path, leaf in _leaves(state_dict):
        name = ".".join(map(str, path))
        if name in flat:
            raise ValueError(f"duplicated flatten key {name}")
        flat[name], paths[name] = leaf, path
    return flat, paths


def unflatten_state_dict(state_dict: Mapping[str, Any], mapping: Mapping[str, Path]) -> dict[str, Any]:
    """The nested dicts and lists of which flatten_state_dict made the two.

    >>> from torch.distributed.checkpoint._nested_dict import unflatten_state_dict
    >>> unflatten_state_dict({"a.b": 1, "c": 2}, {"a.b": ("a", "b"), "c": ("c",)})
    {'a': {'b': 1}, 'c': 2}
    """
    nested: dict[str, Any] = {}
    for name, leaf in state_dict.items():
        set_element(nested, mapping[name], leaf)
    return nested


def set_element(root: Any, path: Path, value: Any) -> None:
    """Put a leaf to where its keys lead, through dicts and lists, which are made.

    >>> from torch.distributed.checkpoint._nested_dict import set_element
    >>> state = {}
    >>> set_element(state, ("lr", 1), 0.5)
    >>> state
    {'lr': [None, 0.5]}
    """
    at = root
    for key, following in zip(path, path[1:]):
        key = _own_key(at, key)
        if isinstance(at, list):
            at.extend([None] * (key + 1 - len(at)))
            if at[key] is None:
                at[key] = [] if isinstance(following, int) else {}
        elif key not in at:
            at[key] = [] if isinstance(following, int) else {}
        at = at[key]
    key = _own_key(at, path[-1])
    if isinstance(at, list):
        at.extend([None] * (key + 1 - len(at)))
    at[key] = value


def _own_key(container: Any, key: Any) -> Any:
    """A key as the container has it: paths are strings."""
    if isinstance(container, Mapping) and key not in container:
        return next((k for k in container if str(k) == key), key)
    return key
