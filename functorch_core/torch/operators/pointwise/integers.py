"""Functions of whole numbers and of the bits of floats: gcd, lcm, frexp, hashes."""

from __future__ import annotations

from .... import primitives as p
from ....core import dtypes as dt
from ....kernels.values import kept
from ....transforms.custom import stop_gradient
from ....transforms.while_loop import while_loop
from ...dispatch.op import torch_op
from ...dispatch.traits import Out
from ...tensors.base import Tensor
from .. import declaring as d
from .. import return_types
from ..declaring import binary, like
from ..reduce.reduction import axes_of


def _gcd(x, y):
    """Euclid's algorithm for all elements at once."""
    if x.aval.dtype in dt.SIGNED:
        x, y = p.abs(x), p.abs(y)
    axes = tuple(range(x.aval.ndim))

    def some_left(x, y):
        return p.reduce_or(p.ne(y, 0), axes=axes)

    def step(x, y):
        done = p.eq(y, 0)
        rest = p.rem(x, p.select(done, like(y, 1), y))
        return [p.select(done, x, y), p.select(done, y, rest)]

    return while_loop(some_left, step, [x, y])[0]


def _lcm(x, y):
    """|x / gcd * y|, 0 where one is 0."""
    divisor = _gcd(x, y)
    none = p.eq(divisor, 0)
    out = p.mul(p.div(x, p.select(none, like(x, 1), divisor)), y)
    out = p.abs(out) if x.aval.dtype in dt.SIGNED else out
    return p.select(none, like(x, 0), out)


gcd = binary(
    "gcd",
    _gcd,
    "The greatest common divisor, elementwise, not negative.",
    dtypes=dt.INTEGER,
    example="[12, 9], [8, 6] -> [4, 3]",
)
lcm = binary(
    "lcm",
    _lcm,
    "The least common multiple, elementwise, not negative.",
    dtypes=dt.INTEGER,
    example="[12, 9], [8, 6] -> [24, 18]",
)

# ---- frexp ---------------------------------------------------------------------------------------


def _binary_exponent(x):
    """e with |x| = m 2**e, 1/2 <= m < 1, as int32; 0 of 0, infinities and NaN. x is float64."""
    tiny = p.lt(p.abs(x), 2.0**-1022)
    scaled = p.select(tiny, p.mul(x, 2.0**54), x)
    bits = p.bitcast(scaled, dtype=dt.int64)
    raw = p.and_(p.shift_right_logical(bits, p.full(x.aval.shape, 52, dt.int64)), p.full(x.aval.shape, 0x7FF, dt.int64))
    exponent = p.sub(raw, p.select(tiny, like(raw, 1022 + 54), like(raw, 1022)))
    plain = p.and_(p.is_finite(x), p.ne(x, 0))
    return p.convert(p.select(plain, exponent, like(exponent, 0)), dtype=dt.int32)


@torch_op(
    returns=return_types.frexp,
    out=Out(
        (
            "torch.frexp() expects mantissa to have dtype {c_found} but got {c_wanted}",
            "torch.frexp() expects exponent to have int dtype but got {c_wanted}",
        )
    ),
)
def frexp(input: Tensor, *, out=None):
    """(mantissa, exponent) with input = mantissa * 2 ** exponent, 1/2 <= |mantissa| < 1.

    >>> torch.frexp(torch.tensor([8.])).exponent
    tensor([4], dtype=torch.int32)
    """
    if input.aval.dtype not in d.FLOATS:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    wide = p.convert(input, dtype=dt.float64)
    exponent = _binary_exponent(stop_gradient(wide))
    half = p.div(exponent, 2)
    steps = [p.exp2(p.neg(p.convert(e, dtype=dt.float64))) for e in (half, p.sub(exponent, half))]
    mantissa = p.mul(p.mul(wide, steps[0]), steps[1])
    mantissa = p.select(p.is_finite(wide), mantissa, wide)
    return [p.convert(mantissa, dtype=input.aval.dtype), exponent]


# ---- hashes --------------------------------------------------------------------------------------


HASH_OF_NOTHING = (
    "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
    "'dim' argument."
)


@torch_op
def hash_tensor(input: Tensor, dim=(), keepdim=False, *, mode=0, out=None):
    """The exclusive or of the elements' 64-bit patterns over dimensions (all by default): uint64.

    >>> torch.hash_tensor(torch.tensor([1, 3]))
    tensor(2, dtype=torch.uint64)
    """
    if mode != 0:
        raise RuntimeError(f"hash_tensor: unknown mode {mode}; 0 is the only one")
    a = input.aval
    if a.dtype in dt.COMPLEX:
        raise NotImplementedError("hash_tensor of complex numbers")
    wide = p.convert(input, dtype=dt.float64 if a.dtype in dt.FLOATING else dt.int64)
    bits = p.bitcast(wide, dtype=dt.uint64)
    axes = axes_of(input, dim)
    if dim == () and not a.size:
        raise RuntimeError(HASH_OF_NOTHING)
    for i in axes:
        if not a.shape[i]:
            raise IndexError(f"hash_tensor: Expected reduction dim {i} to have non-zero size.")
    return kept(p.reduce_xor(bits, axes=axes) if axes else bits, input, axes, keepdim)
