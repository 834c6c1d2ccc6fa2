"""torch.distributed.tensor.parallel: layers divided over processes, by the placements of their parameters."""

from ..... import _missing
from .style import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)

__getattr__ = _missing.getter(__name__, ("style",))
