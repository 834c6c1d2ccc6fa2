"""jax.custom_batching: functions whose vmap is written by the user."""

from .array.custom_batching import custom_vmap, sequential_vmap

__all__ = ["custom_vmap", "sequential_vmap"]
