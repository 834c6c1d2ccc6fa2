"""torch.distributed._composable.fsdp: where fully_shard was before it was torch.distributed.fsdp's."""

from ..... import _missing
from ...fsdp._fully_shard import (
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecisionPolicy,
    OffloadPolicy,
    fully_shard,
    register_fsdp_forward_method,
)

__getattr__ = _missing.getter(__name__)
