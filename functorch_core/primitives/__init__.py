"""The primitives, by family; each one's rules side by side."""
from .arithmetic import (
    abs, add, cbrt, ceil, div, floor, integer_pow, max, min, mul, neg, nextafter, pow, rem, round,
    rsqrt, sign, sqrt, sub, trunc)
from .bitwise import (
    and_, clz, not_, or_, population_count, shift_left, shift_right_arithmetic,
    shift_right_logical, xor)
from .comparison import clamp, eq, ge, gt, is_finite, le, lt, ne, select
from .convert import bitcast, complex, conj, convert, imag, real, reduce_precision
from .indexing import gather, take, take_along_axis, wrap_negative
from .dot import dot_general
from .reductions import (
    argmax, argmin, reduce_and, reduce_max, reduce_min, reduce_or, reduce_prod, reduce_sum,
    reduce_xor)
from .scattering import scatter, scatter_along_axis, scatter_axis
from .slicing import (
    concatenate, dynamic_slice, dynamic_update_slice, pad, reverse, slice, slice_in_dim)
from .structure import (
    broadcast_in_dim, constant, copy, expand_dims, full, iota, name, optimization_barrier, reshape,
    squeeze, transpose, zeros)
from .transcendental import (
    acos, acosh, asin, asinh, atan, atan2, atanh, cos, cosh, exp, exp2, expm1, log, log1p, log2, log10,
    logistic, sin, sinh, tan, tanh)
