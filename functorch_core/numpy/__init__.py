"""jax.numpy's names and signatures: `import functorch_core.numpy as jnp`.

What the Array API has under the same name and signature is fc's own function; the others are
written here with these. Dtypes promote as everywhere in this library: float32 and int64 are those of
Python's numbers, and 64 bits stay 64 bits.
"""

import functorch_core as _fc
from functorch_core import (
    Array,
    abs,
    acos,
    acosh,
    allclose,
    angle,
    argwhere,
    array_equal,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bincount,
    bitwise_count,
    bitwise_invert,
    cbrt,
    ceil,
    conj,
    copy,
    copysign,
    cos,
    cosh,
    cumprod,
    cumsum,
    cumulative_prod,
    cumulative_sum,
    deg2rad,
    diag,
    divide,
    e,
    empty,
    exp,
    exp2,
    expm1,
    flatnonzero,
    floor,
    floor_divide,
    fmod,
    from_dlpack,
    geomspace,
    hypot,
    inf,
    isclose,
    isdtype,
    isfinite,
    isin,
    isinf,
    isnan,
    kron,
    log,
    log1p,
    log2,
    log10,
    logical_not,
    logspace,
    matrix_transpose,
    nan,
    nan_to_num,
    newaxis,
    ones,
    pi,
    positive,
    pow,
    rad2deg,
    reciprocal,
    remainder,
    result_type,
    sign,
    signbit,
    sin,
    sinc,
    sinh,
    sqrt,
    square,
    swapaxes,
    tan,
    tanh,
    transpose,
    zeros,
)

from ..array.compose import missing_name as _missing_name
from ..array.compose import with_signature as _with_signature
from . import fft, linalg
from .calculus import *
from .creation import *
from .elementwise import *
from .functional import *
from .indexing import *
from .order import *
from .polynomials import *
from .reductions import *
from .scalars import *
from .shaping import *

equal, not_equal, greater, greater_equal, less, less_equal, nextafter, left_shift = (
    _with_signature(getattr(_fc, name), "x, y, /")
    for name in "equal not_equal greater greater_equal less less_equal nextafter bitwise_left_shift".split()
)
real, imag = _with_signature(_fc.real, "val, /"), _with_signature(_fc.imag, "val, /")
absolute, arccos, arccosh, arcsin, arcsinh = abs, acos, acosh, asin, asinh
arctan, arctan2, arctanh, bitwise_not, conjugate, degrees = atan, atan2, atanh, bitwise_invert, conj, rad2deg
invert, mod, power, radians = bitwise_invert, remainder, pow, deg2rad
bitwise_left_shift, bitwise_right_shift = left_shift, _fc.bitwise_right_shift
right_shift, true_divide = bitwise_right_shift, divide
can_cast = _with_signature(lambda from_, to, casting: _fc.can_cast(from_, to), "from_, to, casting='safe'")
can_cast.__doc__, can_cast.__name__ = _fc.can_cast.__doc__, "can_cast"
finfo = _with_signature(_fc.finfo, "dtype")
iinfo = _with_signature(_fc.iinfo, "int_type")
promote_types = _with_signature(lambda a, b, /: _fc.promote_types(a, b), "a, b")
promote_types.__doc__, promote_types.__name__ = _fc.promote_types.__doc__, "promote_types"
ndarray = Array
euler_gamma = 0.5772156649015329
from numpy.exceptions import ComplexWarning  # noqa: E402

__getattr__ = _missing_name(
    "numpy",
    {
        "genfromtxt loadtxt": "Read it with NumPy's, then jnp.asarray.",
        "in1d": "Use jnp.isin.",
        "trapz": "Use jnp.trapezoid.",
        "row_stack": "Use jnp.vstack.",
        "fix": "Use jnp.trunc.",
        "product": "Use jnp.prod.",
        "int1 uint1": "XLA computes nothing with it, of JAX's calls most fail: jnp.bool_, or jnp.int2 and jnp.uint2.",
        "float6_e2m3fn float6_e3m2fn": "XLA has no such type, so that JAX makes no array of it: "
        "jnp.float8_e4m3fn holds the numbers of float6_e2m3fn, jnp.float8_e5m2 those of float6_e3m2fn.",
        "random": "Use fc.random, whose functions take a key.",
        "matrix": "Arrays of two dimensions are matrices: x @ y.",
        "float128 longdouble complex256": "The widest dtypes here are jnp.float64 and jnp.complex128.",
        "copyto": "Arrays are immutable: x = jnp.where(mask, y, x), or x = x.at[...].set(y).",
        "nditer ndenumerate ndindex": "Loop over the indices with NumPy's, or map with fc.vmap.",
        "testing": "Use numpy.testing on np.asarray(x).",
    },
)
