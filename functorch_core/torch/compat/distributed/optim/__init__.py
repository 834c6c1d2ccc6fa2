"""torch.distributed.optim: optimizers of several processes."""

from .... import _missing
from .optimizer import DistributedOptimizer
from .post_localSGD_optimizer import PostLocalSGDOptimizer
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

__getattr__ = _missing.getter(__name__, ("optimizer", "post_localSGD_optimizer", "zero_redundancy_optimizer"))
