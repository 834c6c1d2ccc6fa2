"""torch.utils.data.graph_settings: what a DataLoader tells the pipes of a pipeline."""

from __future__ import annotations

import inspect

from ..annotations import lenient_signature
from ..core.warn import warn
from ..torch import Generator
from .datapipes.iter.sharding import SHARDING_PRIORITIES
from .graph import traverse_dps
from .sampler import random_seed

TWICE = (
    "Sharding twice on a single pipeline is likely unintended and will cause data loss. "
    "Sharding already applied to {} while trying to apply to {}"
)
NO_SHUFFLER = (
    "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one "
    "at the end. Be aware that the default buffer size might not be sufficient for your "
    "task."
)
SEED_DEPRECATED = (
    "`apply_shuffle_seed` is deprecated since 1.12 and will be removed in the future "
    "releases. Please use `apply_random_seed` instead."
)


def get_all_graph_pipes(graph: dict) -> list:
    """The pipes of a graph, each once.

    >>> from torch.utils.data.datapipes.iter import IterableWrapper
    >>> from torch.utils.data.graph import traverse_dps
    >>> from torch.utils.data.graph_settings import get_all_graph_pipes
    >>> pipe = IterableWrapper(range(3)).batch(2)
    >>> len(get_all_graph_pipes(traverse_dps(pipe)))
    2
    """
    found: dict = {}
    _collect(graph, found)
    return list(found.values())


def _collect(graph: dict, found: dict):
    for key, (pipe, sources) in graph.items():
        if key not in found:
            found[key] = pipe
            _collect(sources, found)


def _has_methods(pipe, *names: str) -> bool:
    return all(inspect.ismethod(getattr(pipe, name, None)) for name in names)


def apply_sharding(datapipe, num_of_instances: int, instance_id: int, sharding_group=SHARDING_PRIORITIES.DEFAULT):
    """Tell the pipes with a method `apply_sharding` which of several processes this is; RuntimeError
    for two of them one behind the other.

    >>> from torch.utils.data.datapipes.iter import IterableWrapper
    >>> from torch.utils.data.graph_settings import apply_sharding
    >>> pipe = apply_sharding(IterableWrapper(range(5)).sharding_filter(), 2, 0)
    >>> list(pipe)
    [0, 2, 4]
    """
    _shard(traverse_dps(datapipe), (num_of_instances, instance_id), sharding_group, None)
    return datapipe


def _shard(graph: dict, share: tuple[int, int], group, above):
    for pipe, sources in graph.values():
        sharded = above
        if _has_methods(pipe, "apply_sharding"):
            if above is not None:
                raise RuntimeError(TWICE.format(above, pipe))
            takes_group = len(lenient_signature(pipe.apply_sharding).parameters) >= 3
            pipe.apply_sharding(*share, **({"sharding_group": group} if takes_group else {}))
            sharded = pipe
        _shard(sources, share, group, sharded)


def apply_shuffle_settings(datapipe, shuffle: bool | None = None):
    """Turn the shuffling pipes on or off; returns the pipeline, with one more if there was none.

    >>> from torch.utils.data.datapipes.iter import IterableWrapper
    >>> from torch.utils.data.graph_settings import apply_shuffle_settings
    >>> pipe = apply_shuffle_settings(IterableWrapper(range(5)).shuffle(), shuffle=False)
    >>> list(pipe)
    [0, 1, 2, 3, 4]
    """
    if shuffle is None:
        return datapipe
    pipes = get_all_graph_pipes(traverse_dps(datapipe))
    shufflers = [p for p in pipes if _has_methods(p, "set_shuffle", "set_seed")]
    if shuffle and not shufflers:
        warn(NO_SHUFFLER)
        datapipe = datapipe.shuffle()
        shufflers = [datapipe]
    for shuffler in shufflers:
        shuffler.set_shuffle(shuffle)
    return datapipe


def apply_random_seed(datapipe, rng):
    """Draw seeds for the pipes that take one (`set_seed`).

    >>> from torch.utils.data.datapipes.iter import IterableWrapper
    >>> from torch.utils.data.graph_settings import apply_random_seed
    >>> pipe = apply_random_seed(IterableWrapper(range(5)).shuffle(), torch.Generator().manual_seed(0))
    >>> sorted(pipe)
    [0, 1, 2, 3, 4]
    """
    for pipe in get_all_graph_pipes(traverse_dps(datapipe)):
        if _has_methods(pipe, "set_seed"):
            pipe.set_seed(random_seed(rng))
    return datapipe


def apply_shuffle_seed(datapipe, rng):
    """Deprecated: apply_random_seed.

    >>> import warnings
    >>> from torch.utils.data.datapipes.iter import IterableWrapper
    >>> from torch.utils.data.graph_settings import apply_shuffle_seed
    >>> with warnings.catch_warnings():
    ...   warnings.simplefilter("ignore")
    ...   pipe = apply_shuffle_seed(IterableWrapper(range(3)).shuffle(), torch.Generator().manual_seed(0))
    >>> sorted(pipe)
    [0, 1, 2]
    """
    warn(SEED_DEPRECATED, FutureWarning)
    return apply_random_seed(datapipe, rng)


def seeded(datapipe, seed: int):
    """The pipeline with seeds drawn from one that all processes share."""
    rng = Generator()
    rng.manual_seed(seed)
    return apply_random_seed(datapipe, rng)


__all__ = ["apply_random_seed", "apply_sharding", "apply_shuffle_seed", "apply_shuffle_settings", "get_all_graph_pipes"]
