"""torch.linalg: linear algebra on matrices in the last two dimensions."""

from ._ops.linalg_checks import LinAlgError
from ._ops.linalg_factor import (
    cholesky,
    cholesky_ex,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    householder_product,
    lu,
    lu_factor,
    lu_factor_ex,
    qr,
    svd,
    svdvals,
)
from ._ops.linalg_ldl import ldl_factor, ldl_factor_ex, ldl_solve
from ._ops.linalg_norms import cond, matrix_norm, norm, vector_norm
from ._ops.linalg_products import cross, diagonal, matmul, matrix_exp, matrix_power, vander
from ._ops.linalg_solve import (
    inv,
    inv_ex,
    lstsq,
    lu_solve,
    matrix_rank,
    multi_dot,
    pinv,
    solve,
    solve_ex,
    solve_triangular,
    tensorinv,
    tensorsolve,
    vecdot,
)
from ._ops.linalg_solve import linalg_det as det
from ._ops.linalg_solve import linalg_slogdet as slogdet
