"""The primitives, by family; each one's rules side by side."""

from .arithmetic import (
    abs,
    add,
    cbrt,
    ceil,
    div,
    floor,
    integer_pow,
    max,
    min,
    mul,
    neg,
    nextafter,
    pow,
    round,
    rsqrt,
    sign,
    sqrt,
    sub,
    trunc,
)
from .bessel import (
    airy_ai,
    airy_ai_prime,
    bessel_i0,
    bessel_i0e,
    bessel_i1,
    bessel_i1e,
    bessel_j0,
    bessel_j1,
    bessel_k0,
    bessel_k0e,
    bessel_k1,
    bessel_k1e,
    bessel_y0,
    bessel_y1,
    spherical_bessel_j0,
    spherical_bessel_j1,
)
from .bitwise import (
    and_,
    clz,
    not_,
    or_,
    population_count,
    shift_left,
    shift_right_arithmetic,
    shift_right_logical,
    xor,
)
from .checking import note_failure
from .comparison import clamp, eq, ge, gt, is_finite, le, lt, ne, select
from .convert import bitcast, complex, conj, convert, imag, real, reduce_precision
from .convolution import conv
from .cumulative import (
    cumlogsumexp,
    cummax,
    cummin,
    cumprod,
    cumsum,
    exclusive_cumprod,
    extreme_index,
    linear_recurrence,
)
from .dot import dot_general
from .extremes import argmax, argmin, reduce_max, reduce_max_loose, reduce_min
from .fft import fft
from .gamma import (
    betainc,
    betainc_grad_a,
    digamma,
    igamma,
    igamma_grad_a,
    igammac,
    lgamma,
    polygamma,
    random_dirichlet_grad,
    random_gamma_grad,
    trigamma,
    zeta,
)
from .indexing import gather, take, take_along_axis, wrap_negative
from .linalg import (
    cholesky,
    det,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    geqrf,
    householder_product,
    inv,
    lstsq,
    lu,
    lu_solve,
    ormqr,
    permute_rows,
    pivots_to_permutation,
    qr,
    schur,
    slogdet,
    solve,
    svd,
    triangular_solve,
)
from .random_bits import philox_bits, random_bits, threefry2x32, threefry_fold_in, threefry_seed, threefry_split
from .reduce_window import (
    reduce_window_argmax,
    reduce_window_argmin,
    reduce_window_max,
    reduce_window_min,
    reduce_window_sum,
    window_gather,
    window_scatter,
)
from .reductions import reduce_and, reduce_or, reduce_prod, reduce_sum, reduce_xor
from .remainders import floor_div, rem
from .scattering import scatter, scatter_along_axis, scatter_axis
from .slicing import concatenate, dynamic_slice, dynamic_update_slice, pad, reverse, slice, slice_in_dim
from .sorting import argsort, sort, sort_keys, top_k
from .special import erf, erf_inv, erf_inv_of_drawn, erfc, erfcx, log_ndtr, ndtri
from .stacking import stack, unstack
from .structure import (
    broadcast_in_dim,
    constant,
    copy,
    expand_dims,
    full,
    iota,
    name,
    optimization_barrier,
    reshape,
    squeeze,
    transpose,
    zeros,
)
from .transcendental import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cos,
    cosh,
    exp,
    exp2,
    expm1,
    log,
    log1p,
    log2,
    log10,
    logistic,
    sin,
    sinh,
    tan,
    tanh,
)
