"""torch.distributed._composable: an older place of fully_shard, and DistributedDataParallel without a wrapper."""

from __future__ import annotations

from .... import _missing
from .replicate import replicate

__getattr__ = _missing.getter(__name__, ("fsdp",))
