"""torch.distributed.optim: optimizers of several processes."""

from .... import _missing
from .optimizer import DistributedOptimizer
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

__getattr__ = _missing.getter(__name__, ("optimizer", "zero_redundancy_optimizer"))
