"""How PyTorch computes LinearCrossEntropyLoss in chunks."""

from __future__ import annotations

import dataclasses

from ...torch.tensors import types as _types

POLICIES = ("auto", "accurate", "balanced", "compact")


@dataclasses.dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """Chunk sizes and precisions; they are checked and kept, but change nothing here.

    >>> isinstance(nn.LinearCrossEntropyOptions(), nn.LinearCrossEntropyOptions)
    True
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: _types.dtype | None = None

    def __post_init__(self):
        if self.acc_policy not in POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method not in (None, "auto"):
            name, colon, factor = self.chunking_method.partition(":")
            if name != "aspect_ratio" or (colon and not (factor.isdigit() and int(factor) > 0)):
                raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        names = ("float16", "bfloat16", "float32", "float64")
        if self.acc_dtype is not None and self.acc_dtype not in map(_types.by_name.get, names):
            raise ValueError(
                "acc_dtype must be one of {None, torch.float16, torch.bfloat16, "
                f"torch.float32, torch.float64}}, got {self.acc_dtype!r}. Pass "
                "acc_dtype=None to let the op pick automatically."
            )


__all__ = ["LinearCrossEntropyOptions"]
