"""torch.distributed.nn: collectives that are differentiable, modules of other processes."""

from .... import _missing
from .functional import (
    all_gather,
    all_reduce,
    all_to_all,
    all_to_all_single,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    scatter,
)

_getter = _missing.getter(__name__, ("api", "functional"))


def __getattr__(name: str):
    if name == "RemoteModule":  # what it stands on is loaded with it
        return _getter("api").remote_module.RemoteModule
    return _getter(name)
