"""jax.scipy.cluster."""

from . import vq
