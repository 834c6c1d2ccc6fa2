"""Linear algebra: factorisations of stacks of matrices, and what is composed of them."""

from .linalg_lu import det, inv, lu, lu_solve, permute_rows, pivots_to_permutation, slogdet, solve
from .linalg_qr import geqrf, householder_product, lstsq, ormqr, qr
from .linalg_spectral import eig, eigh, eigvals, eigvalsh, schur, svd
from .linalg_triangular import cholesky, triangular_solve

__all__ = [
    "cholesky",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "geqrf",
    "householder_product",
    "inv",
    "lstsq",
    "lu",
    "lu_solve",
    "ormqr",
    "permute_rows",
    "pivots_to_permutation",
    "qr",
    "schur",
    "slogdet",
    "solve",
    "svd",
    "triangular_solve",
]
