"""fc.linalg: linear algebra of stacks of matrices, the Array API's extension and more."""

from __future__ import annotations

from ..ops import linalg as ops
from ..ops import linear_algebra as products
from ..ops import manipulation
from ..ops.linalg import EighResult, EigResult, QRResult, SlogdetResult, SVDResult
from .expose import public

cholesky = public(ops.cholesky)
cross = public(products.cross)
det = public(ops.det)
diagonal = public(products.diagonal)
eig = public(ops.eig)
eigh = public(ops.eigh)
eigvals = public(ops.eigvals)
eigvalsh = public(ops.eigvalsh)
inv = public(ops.inv)
lstsq = public(ops.lstsq)
matmul = public(products.matmul)
matrix_norm = public(ops.matrix_norm)
matrix_power = public(ops.matrix_power)
matrix_rank = public(ops.matrix_rank)
matrix_transpose = public(manipulation.matrix_transpose)
norm = public(ops.norm)
outer = public(products.outer)
pinv = public(ops.pinv)
qr = public(ops.qr)
slogdet = public(ops.slogdet)
solve = public(ops.solve)
solve_triangular = public(ops.solve_triangular)
svd = public(ops.svd)
svdvals = public(ops.svdvals)
tensordot = public(products.tensordot)
trace = public(products.trace)
vecdot = public(products.vecdot)
vector_norm = public(ops.vector_norm)

__all__ = [
    "EigResult",
    "EighResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
