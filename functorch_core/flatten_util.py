"""jax.flatten_util: a pytree as one vector, and back."""

from __future__ import annotations

import numpy as np

import functorch_core as fc

from .core import dtypes as dt
from .core.explain import explaining

WRONG_SIZE = """ravel_pytree: the vector to be unraveled has {found}, {wanted} was expected
    It has the shape and the dtype of the vector that ravel_pytree gave."""


@explaining
def ravel_pytree(pytree):
    """(all elements of a pytree's arrays as one vector, the function that makes the pytree of a vector).

    Of different dtypes the vector has the one they promote to, and unraveling converts back.

    >>> from functorch_core.flatten_util import ravel_pytree
    >>> import functorch_core as fc
    >>> vector, unravel = ravel_pytree({"a": fc.asarray([1., 2.]), "b": fc.asarray(3.)})
    >>> vector
    Array([1., 2., 3.], dtype=float32)
    >>> unravel(vector * 2)["b"]
    Array(6., dtype=float32)
    """
    leaves, structure = fc.tree.flatten(pytree)
    arrays = [fc.asarray(x) for x in leaves]
    if not arrays:
        return fc.zeros(0), lambda vector: structure.unflatten([])
    dtype = fc.result_type(*arrays)
    vector = fc.concat([fc.ravel(x).astype(dtype) for x in arrays])
    shapes, dtypes = [x.shape for x in arrays], [x.dtype for x in arrays]
    edges = [int(n) for n in np.cumsum([x.size for x in arrays])]

    def unravel(vector):
        """The pytree of a vector."""
        if vector.shape != (edges[-1],) or vector.dtype != dtype:
            kind = ValueError if vector.dtype == dtype else TypeError
            raise kind(WRONG_SIZE.format(found=vector.aval, wanted=f"{dtype.name}[{edges[-1]}]"))
        parts = [vector[i:j] for i, j in zip([0, *edges], edges)]
        shaped = [fc.reshape(part, shape) for part, shape in zip(parts, shapes)]
        return structure.unflatten([_converted(x, d) for x, d in zip(shaped, dtypes)])

    return vector, unravel


def _converted(x, dtype):
    if x.dtype in dt.COMPLEX and dtype not in dt.COMPLEX:
        x = fc.real(x)
    return x if x.dtype == dtype else x.astype(dtype)


__all__ = ["ravel_pytree"]
