"""jax.scipy.sparse."""

from . import linalg
