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
from ...views.bits import bits_of
from ...views.cells import make_view
from ...views.lenses import Lens
from .. import declaring as d
from ..declaring import like, unary

# ---- conjugates and angles -----------------------------------------------------------------------


@composite
def conj(input):
    """The complex conjugate, a view; input itself if it is real.

    >>> torch.conj(torch.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return make_view(input, Lens("conj")) if input.is_complex() else input


@composite
def _conj(input):
    """The complex conjugate, a view."""
    return conj(input)


@composite
def _neg_view(input):
    """The negative, a view: what is written to it is negated in input."""
    return make_view(input, Lens("neg_view"))


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
def _conj_physical(input):
    """The complex conjugate in memory of its own."""
    return conj_physical(input)


@composite
def resolve_conj(input):
    """A copy with memory of its own of a conjugate; input itself if it is none.

    >>> torch.resolve_conj(torch.tensor([1j]).conj())
    tensor([0.-1.j])
    """
    return input.clone() if bits_of(input)[0] else input


@composite
def resolve_neg(input):
    """A copy with memory of its own of a negated view; input itself if it is none.

    >>> torch.resolve_neg(torch.tensor([1 + 2j]).conj().imag)
    tensor([-2.])
    """
    return input.clone() if bits_of(input)[1] else input


@composite
def is_conj(input) -> bool:
    """Whether input shows the conjugates of what lies in its memory.

    >>> torch.is_conj(torch.tensor([1j]).conj())
    True
    """
    return bits_of(input)[0]


@composite
def is_neg(input) -> bool:
    """Whether input shows the negatives of what lies in its memory, as the imaginary part of a conjugate does.

    >>> torch.is_neg(torch.tensor([1j]).conj().imag)
    True
    """
    return bits_of(input)[1]


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
    saves="result",
)
def polar(abs: Tensor, angle: Tensor, *, out=None):
    """The complex tensor of a size and an angle.

    >>> torch.polar(torch.tensor([1.]), torch.tensor([0.]))
    tensor([1.+0.j])
    """
    _check_parts(abs, angle)
    size, turn = broadcast([abs, angle])
    return p.complex(p.mul(size, p.cos(turn)), p.mul(size, p.sin(turn)))
