"""LU factorisation, and what it gives: solutions, inverses, determinants.

Derivatives: de Hoog, Anderssen and Lukas, "Differentiation of matrix functionals using triangular
factorization", 2011; Giles, "Collected matrix derivative results", 2008.
"""
from __future__ import annotations

import numpy as np

from ..core import dtypes as dt
from ..core.aval import aval, aval_of
from ..core.lowering import dims as dims_attr
from ..core.primitive import NOT_LINEAR, Primitive, Reason
from ..core.trace import bind
from .arithmetic import abs, add, div, max, mul, neg, sign, sub
from .batching import front_batch
from .comparison import eq, lt, ne, select
from .convert import convert
from .declare import no_tangent
from .indexing import gather
from .linalg_matrices import (
    as_diagonal, check_matrix, check_stack, conjugate, cuda_call, diagonal, identity, info_aval,
    lapack, lower_triangle, matmul, per_column, per_row, rows_columns, scipy_routine, stacked,
    swapped, unless_empty, upper_triangle)
from .linalg_triangular import triangular_solve
from .reductions import reduce_max, reduce_prod, reduce_sum
from .slicing import dynamic_slice, pad, slice_in_dim
from .structure import broadcast_in_dim, full, iota, reshape, zeros
from .transcendental import log
