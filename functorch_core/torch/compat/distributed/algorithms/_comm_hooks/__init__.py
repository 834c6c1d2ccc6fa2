"""torch.distributed.algorithms._comm_hooks: communication hooks of FullyShardedDataParallel."""

from . import default_hooks as default
from .default_hooks import bf16_compress_hook, fp16_compress_hook

LOW_PRECISION_HOOKS = [fp16_compress_hook, bf16_compress_hook]

__all__ = ["LOW_PRECISION_HOOKS", "default"]
