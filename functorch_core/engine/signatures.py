"""What is remembered of signatures is bounded: shapes without end are not memory without end.

Calls are looked up in caches by their signature, and nothing on their way says which entries are in use. But what was
in use lately is in the keys of plans, the least recently used of which are forgotten. So, when many units were made,
the caches give up whatever is in none of these keys; what is wanted once more is traced once more.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

MOST = 1 << 13  # units made between two times of looking; one takes 2 to 10 KB

Cache = TypeVar("Cache", bound=dict[Any, Any])
_caches: list[tuple[dict[Any, Any], Callable[[Any], Iterable[Any]]]] = []
_made = 0


class _Hooks:
    """in_use() is the set of units in use, set by `programs`, which knows this module."""

    in_use: Callable[[], set[Any]]


hooks = _Hooks()


def bounded(cache: Cache, units_of: Callable[[Any], Iterable[Any]]) -> Cache:
    """The cache, of whose entries those are given up whose units are in use no longer."""
    _caches.append((cache, units_of))
    return cache


def remembered(units_of: Callable[[Any], Iterable[Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: what a function made of its arguments, which can be hashed, is kept in such a cache."""

    def decorate(make: Callable[..., Any]) -> Callable[..., Any]:
        cache: dict[Any, Any] = bounded({}, units_of)

        @functools.wraps(make)
        def found(*given: Any) -> Any:
            made = cache.get(given)
            if made is None:
                made = cache[given] = make(*given)
            return made

        return found

    return decorate


def itself(unit: Any) -> tuple[Any]:
    """The units of an entry that is one."""
    return (unit,)


def made_one() -> None:
    """A unit was made."""
    global _made
    _made += 1
    if _made >= MOST:
        _made = 0
        forget()


def forget() -> None:
    """Give up what belongs to units that no plan has."""
    used = hooks.in_use()
    for cache, units_of in _caches:
        for key, entry in list(cache.items()):
            if used.isdisjoint(units_of(entry)):
                cache.pop(key, None)
