"""torch.distributed.nn: collectives that are differentiable."""

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

__getattr__ = _missing.getter(__name__, ("functional",))
