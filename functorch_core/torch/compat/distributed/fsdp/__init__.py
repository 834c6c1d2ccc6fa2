"""torch.distributed.fsdp: parameters, gradients and the optimizer's state divided over processes."""

from .... import _missing
from ._fully_shard import (
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecisionPolicy,
    OffloadPolicy,
    UnshardHandle,
    fully_shard,
    register_fsdp_forward_method,
)

__getattr__ = _missing.getter(__name__)
