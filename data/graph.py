"""torch.utils.data.graph: which pipes a pipe is made of."""

from __future__ import annotations

from ..core.warn import warn
from .datapipes.datapipe import IterDataPipe, MapDataPipe

PIPES = (IterDataPipe, MapDataPipe)
DEPRECATED = (
    "`traverse` function and only_datapipe argument will be removed after 1.13. Please use `traverse_dps` instead."
)


def traverse_dps(datapipe) -> dict:
    """{id: (pipe, the same of the pipes it reads from)} of a pipe.

    >>> from functorch_core.data.datapipes.iter import IterableWrapper
    >>> from functorch_core.data.graph import traverse_dps
    >>> (pipe, sources), = traverse_dps(IterableWrapper([1]).batch(2)).values()
    >>> pipe, [source for source, _ in sources.values()]
    (BatcherIterDataPipe, [IterableWrapperIterDataPipe])
    """
    return _graph_of(datapipe, set())


def traverse(datapipe, only_datapipe: bool | None = None) -> dict:
    """Deprecated: traverse_dps.

    >>> import warnings
    >>> from torch.utils.data.datapipes.iter import IterableWrapper
    >>> from torch.utils.data.graph import traverse
    >>> with warnings.catch_warnings():
    ...   warnings.simplefilter("ignore")
    ...   len(traverse(IterableWrapper([1])))
    1
    """
    warn(DEPRECATED, FutureWarning)
    return traverse_dps(datapipe)


def _graph_of(pipe, seen: set[int]) -> dict:
    if not isinstance(pipe, PIPES):
        raise RuntimeError(f"Expected `IterDataPipe` or `MapDataPipe`, but {type(pipe)} is found")
    if id(pipe) in seen:
        return {}
    below = seen | {id(pipe)}
    sources: dict = {}
    for source in _pipes_in(pipe.__dict__, set()):
        sources.update(_graph_of(source, below))
    return {id(pipe): (pipe, sources)}


def _pipes_in(value, seen: set[int]):
    """The pipes in the attributes of something, in lists, tuples, sets and dicts, too."""
    if isinstance(value, PIPES):
        yield value
    elif isinstance(value, (dict, list, tuple, set, frozenset)) and id(value) not in seen:
        seen.add(id(value))
        for item in value.values() if isinstance(value, dict) else value:
            yield from _pipes_in(item, seen)


__all__ = ["traverse", "traverse_dps"]
