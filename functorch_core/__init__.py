"""functorch-core: arrays, PyTorch's API and JAX's function transforms, on XLA.

    import functorch_core as fc                the functional face: immutable arrays, transforms
    import functorch_core.torch as torch       the PyTorch-compatible face

The namespace implements the Python Array API standard, version 2024.12.
"""
from . import engine
from . import tree_util
from .core import tree
from .transforms import linear_map as _  # declares its primitive, as those below do theirs
from .core.dtypes import (
    bfloat16, bool_, complex32, complex64, complex128, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2,
    float8_e5m2fnuz, float8_e8m0fnu, float16, float32, float64, int8, int16, int32, int64, uint8,
    uint16, uint32, uint64)
from .core.dtypes import bool_ as bool
from .array.array import Array
from .array.creation import (
    arange, asarray, copy, empty, empty_like, eye, from_dlpack, full, full_like, geomspace, linspace,
    logspace, ones, ones_like, zeros, zeros_like)
from .array.inspection import (
    __array_namespace_info__, can_cast, finfo, iinfo, isdtype, promote_types, result_type)
from .array.namespace import (
    abs, acos, acosh, add, all, allclose, angle, any, argmax, argmin, argsort, argwhere,
    array_equal, asin, asinh, astype, atan, atan2, atanh, bincount, bitwise_and, bitwise_count,
    bitwise_invert, bitwise_left_shift, bitwise_or, bitwise_right_shift, bitwise_xor,
    broadcast_arrays, broadcast_to, cbrt, ceil, clip, concat, conj, copysign, cos, cosh,
    count_nonzero, cumlogsumexp, cummax, cummin, cumprod, cumsum, cumulative_prod, cumulative_sum,
    diag, diff, divide, dot, dynamic_slice, dynamic_update_slice, einsum, equal, exp, exp2,
    expand_dims, expm1, flatnonzero, flatten, flip, floor, floor_divide, fmod, greater,
    greater_equal, hypot, imag, isclose, isfinite, isin, isinf, isnan, kron, less, less_equal, log,
    log1p, log2, log10, logaddexp, logical_and, logical_not, logical_or, logical_xor,
    logmeanexp, logsumexp,
    matmul, matrix_transpose, max, maximum, mean, meshgrid, min, minimum, moveaxis, multiply,
    nan_to_num, negative, nextafter, nonzero, not_equal, outer, pad, permute_dims, positive, pow,
    prod, ptp, ravel, real, reciprocal, remainder, repeat, reshape, roll, round, rsqrt,
    searchsorted, sign, signbit, sin, sinh, sort, split, sqrt, square, squeeze, stack, std,
    subtract, sum, swapaxes, take, take_along_axis, tan, tanh, tensordot, tile, top_k, transpose,
    tril, triu, trunc, unique_all, unique_counts, unique_inverse, unique_values, unstack, var,
    vecdot, view_as, where)
from .array.nn import (
    avg_pool, celu, conv, deg2rad, digamma, dot_product_attention, elu, erf, erf_inv, erfc, gelu,
    glu, hard_sigmoid, hard_silu, hard_swish, hard_tanh, identity, igamma, igammac, layer_norm, leaky_relu, lgamma,
    log1mexp, log_sigmoid, log_softmax, logit, max_pool, mish, one_hot, rad2deg, relu, relu6, rms_norm, selu,
    sigmoid, sigmoid_binary_cross_entropy, silu, sinc, soft_sign, softmax, softmax_cross_entropy,
    softmax_cross_entropy_with_integer_labels, softplus, sparse_plus,
    sparse_sigmoid, squareplus, standardize, swish, xlogy)
from .array import fourier as fft
from .array import linalg, random
from .array import methods as _methods
from .array.collectives import (
    all_gather, all_to_all, axis_index, axis_size, pbroadcast, pmax, pmean, pmin, ppermute, pshuffle,
    psum, psum_scatter, pswapaxes)
from .array.control import associative_scan, cond, fori_loop, map, scan, switch, while_loop
from .array.custom import (
    checkpoint, checkpoint_name, checkpoint_policies, custom_jvp, custom_vjp, debug, pure_callback)
from .array.derivatives import (
    grad, hessian, jacfwd, jacrev, jvp, linear_transpose, linearize, stop_gradient, value_and_grad,
    vjp)
from .array.custom import checkpoint as remat
from .array.derivatives import jacrev as jacobian
from .array.further import (
    block_until_ready, closure_convert, custom_gradient, device_get, device_put)
from .array.jit import eval_shape, jit, make_graph
from .array.tracing import ShapeDtype, ShapeDtype as ShapeDtypeStruct
from .array.vmap import vmap
from .engine import debug_nans
from .tracebacks import install as _hide_internal_frames

e, inf, nan, newaxis, pi = 2.718281828459045, float("inf"), float("nan"), None, 3.141592653589793
__array_api_version__ = "2024.12"
__version__ = "0.1.0"

_hide_internal_frames()


def __getattr__(name: str):
    if name == "load_ipython_extension":  # what %load_ext functorch_core asks for
        from .shim import load_ipython_extension
        return load_ipython_extension
    raise AttributeError(f"module 'functorch_core' has no attribute {name!r}")
