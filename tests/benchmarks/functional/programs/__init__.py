"""Research programs by field, each one source for both libraries."""

from . import geometry, inference, learning, networks, optimization, physics
