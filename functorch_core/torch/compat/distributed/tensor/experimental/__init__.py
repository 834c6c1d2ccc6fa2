"""torch.distributed.tensor.experimental: sequences divided over processes, functions of parts."""

import contextlib
from collections.abc import Iterator

from ..... import _missing
from ._attention import context_parallel
from ._func_map import local_map
from ._register_sharding import register_sharding


@contextlib.contextmanager
def implicit_replication() -> Iterator[None]:
    """No effect: plain tensors beside DTensors are always taken for copies that all processes have.

    >>> from torch.distributed.tensor.experimental import implicit_replication
    >>> with implicit_replication():
    ...   pass
    """
    yield


__getattr__ = _missing.getter(__name__, ("_attention", "_func_map", "_register_sharding"))
