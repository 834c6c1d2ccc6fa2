"""jax.ad_checkpoint: names of values that are kept, and policies that choose them."""

from __future__ import annotations

from .array.compose import missing_name
from .array.custom import checkpoint_name, checkpoint_policies

__getattr__ = missing_name(
    "ad_checkpoint",
    {
        "checkpoint remat": "Use fc.checkpoint.",
        "print_saved_residuals": "fc.vjp(f, *args)[1].residuals are the arrays that are kept.",
        "Offloadable Recompute Saveable": "A policy is a function of fc.checkpoint_policies.",
    },
)
__all__ = ["checkpoint_name", "checkpoint_policies"]
