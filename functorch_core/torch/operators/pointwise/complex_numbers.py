"""Complex numbers: conjugates, angles, and polar coordinates. Parts are views: see `views`."""

from __future__ import annotations

import math

from .... import primitives as p
from ....core import dtypes as dt
from ....kernels import subgradients
from ...dispatch.op import composite, torch_op
from ...dispatch.traits import EXPECTED, Out
from ...tensors.base import Tensor
from ...tensors.promotion import broadcast
from ...tensors.types import scalar_name
from .. import declaring as d
from ..declaring import like, unary

# ---- conjugates and angles -----------------------------------------------------------------------


@torch_op
def _conj(input: Tensor):
    """The complex conjugate of a complex tensor."""
    return p.conj(input)


@composite
def conj(input):
    """The complex conjugate, computed at once; input itself if it is real.

    >>> torch.conj(torch.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return _conj(input) if input.is_complex() else input


conj_physical = unary(
    "conj_physical",
    lambda x: p.conj(x) if x.aval.dtype in dt.COMPLEX else x,
    """The complex conjugate, elementwise.

    >>> torch.conj_physical(torch.tensor([1 + 2j]))
    tensor([1.-2.j])
    """,
    floats=False,
    dtypes=dt.ALL,
    out=Out(EXPECTED, recorded=True),
)


@composite
def resolve_conj(input):
    """input itself: conjugates are computed at once.

    >>> torch.resolve_conj(torch.tensor([1j]).conj())
    tensor([0.-1.j])
    """
    return input


@composite
def resolve_neg(input):
    """input itself: negatives are computed at once."""
    return input


@composite
def is_conj(input) -> bool:
    """False: conjugates are computed at once."""
    return False


@composite
def is_neg(input) -> bool:
    """False: negatives are computed at once.

    >>> torch.is_neg(torch.ones(1))
    False
    """
    return False


def _angle(x):
    if x.aval.dtype in dt.COMPLEX:
        return subgradients.complex_angle(x)
    out = p.select(p.lt(x, 0), like(x, math.pi), like(x, 0))
    return d.flat(p.select(p.ne(x, x), x, out), x)


angle = unary(
    "angle",
    _angle,
    """The angle in radians, elementwise; 0 or pi of real numbers.

    >>> torch.angle(torch.tensor([1j, -1]))
    tensor([1.5708, 3.1416])
    """,
    inplace=False,
)

# ---- making --------------------------------------------------------------------------------------


def _check_parts(x, y):
    a, b = scalar_name(x.aval.dtype), scalar_name(y.aval.dtype)
    if not {x.aval.dtype, y.aval.dtype} <= {dt.float16, dt.float32, dt.float64}:
        raise RuntimeError(f"Expected both inputs to be Half, Float or Double tensors but got {a} and {b}")
    if a != b:
        raise RuntimeError(f"Expected object of scalar type {a} but got scalar type {b} for second argument")


@torch_op(
    method=False,
    out=Out("Expected object of scalar type {found} but got scalar type {wanted} for argument 'out'"),
    autocast={"cpu": "full"},
)
def polar(abs: Tensor, angle: Tensor, *, out=None):
    """The complex tensor of a size and an angle.

    >>> torch.polar(torch.tensor([1.]), torch.tensor([0.]))
    tensor([1.+0.j])
    """
    _check_parts(abs, angle)
    size, turn = broadcast([abs, angle])
    return p.complex(p.mul(size, p.cos(turn)), p.mul(size, p.sin(turn)))
