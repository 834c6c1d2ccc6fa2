"""The names that programs are written on: JAX's, of the library that this process measures."""

from __future__ import annotations

import os

if os.environ.get("FUNCTIONAL_LIBRARY") == "jax":
    import jax
    import jax.numpy as jnp
    from jax import lax, random
else:
    import functorch_core as jax
    import functorch_core.numpy as jnp
    from functorch_core import lax, random

PROGRAMS: dict[str, object] = {}


def program(make):
    """Declare a program: a function that returns a function of arrays and its arguments, made by NumPy."""
    PROGRAMS[make.__name__] = make
    return make


def drawn(make):
    """Declare a program that draws random numbers, which are other ones in each library."""
    make.drawn = True
    return program(make)


__all__ = ["PROGRAMS", "drawn", "jax", "jnp", "lax", "program", "random"]
