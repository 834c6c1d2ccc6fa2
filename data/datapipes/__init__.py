"""torch.utils.data.datapipes: pipelines that read, change and combine samples, step by step.

PyTorch deprecates them, and its later versions have them still. What is missing: tracing of data
frames, checks of the declared types of samples, and handlers of `routed_decode`.
"""

from . import iter, map

__all__ = ["iter", "map"]
