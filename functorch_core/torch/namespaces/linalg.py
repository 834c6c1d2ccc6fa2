"""torch.linalg: linear algebra on matrices in the last two dimensions."""

from ..operators.linalg.checks import LinAlgError
from ..operators.linalg.factor import (
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
from ..operators.linalg.ldl import ldl_factor, ldl_factor_ex, ldl_solve
from ..operators.linalg.norms import cond, matrix_norm, norm, vector_norm
from ..operators.linalg.products import cross, diagonal, matmul, matrix_exp, matrix_power, vander
from ..operators.linalg.solve import (
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
from ..operators.linalg.solve import linalg_det as det
from ..operators.linalg.solve import linalg_slogdet as slogdet
