"""jax.scipy.spatial."""

from . import transform
