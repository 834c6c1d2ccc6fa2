"""jax.memory: kinds of memory by name."""

from .array.further import Space

__all__ = ["Space"]
