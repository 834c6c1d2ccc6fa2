"""Products, statistics of several variables, convolutions, differences and interpolation."""

from __future__ import annotations

import functools
import string

import numpy as np

import functorch_core as fc

from ..array.compose import as_dtype, composed, promoted, with_signature
from ..array.precision import with_precision
from ..core import dtypes as dt
from ..core.explain import explaining
from ..ops.promotion import canonical_axis
from .elementwise import alike, as_array, floats, together
from .reductions import average

function = functools.partial(composed, space="fc.numpy")

# ---- products ------------------------------------------------------------------------------------

vecdot = with_precision(with_signature(fc.vecdot, "x1, x2, /, *, axis=-1"))
matmul, dot = (with_precision(with_signature(f, "a, b")) for f in (fc.matmul, fc.dot))


@with_precision
@function("a b")
def tensordot(a, b, axes=2):
    """The sum of products over the last axes of a and the first of b, or pairs of axes.

    >>> import functorch_core.numpy as jnp
    >>> jnp.tensordot(jnp.ones((2, 3)), jnp.ones((3, 4)), 1).shape
    (2, 4)
    """
    return fc.tensordot(a, b, axes=axes)


@with_precision
@function("a b")
def vdot(a, b):
    """The sum of products of all elements, those of a conjugated.

    >>> import functorch_core.numpy as jnp
    >>> jnp.vdot(jnp.asarray([1j, 2.]), jnp.asarray([1j, 3.]))
    Array(7.+0.j, dtype=complex64)
    """
    return fc.dot(fc.conj(fc.ravel(as_array(a))), fc.ravel(as_array(b)))


@with_precision
@function("a b")
def inner(a, b):
    """The sums of products over the last axes.

    >>> import functorch_core.numpy as jnp
    >>> jnp.inner(jnp.asarray([[1., 2.], [3., 4.]]), jnp.asarray([1., 1.]))
    Array([3., 7.], dtype=float32)
    """
    a, b = alike(a, b)
    if not a.ndim or not b.ndim:
        return a * b
    return fc.tensordot(a, b, axes=((-1,), (-1,)))


@function("a b")
def outer(a, b):
    """The products of all elements of a with all of b: a matrix, of arrays of any shape.

    >>> import functorch_core.numpy as jnp
    >>> jnp.outer(jnp.asarray([[1., 2.]]), jnp.asarray([1., 10.]))
    Array([[ 1., 10.],
           [ 2., 20.]], dtype=float32)
    """
    a, b = alike(a, b)
    return fc.ravel(a)[:, None] * fc.ravel(b)


@function("x1 x2")
def matvec(x1, x2, /):
    """Matrices times vectors: the last two dimensions of x1, the last one of x2.

    >>> import functorch_core.numpy as jnp
    >>> jnp.matvec(jnp.asarray([[1., 2.], [3., 4.]]), jnp.asarray([1., 1.]))
    Array([3., 7.], dtype=float32)
    """
    return fc.squeeze(fc.matmul(x1, as_array(x2)[..., None]), axis=-1)


@function("x1 x2")
def vecmat(x1, x2, /):
    """Conjugated vectors times matrices: the last dimension of x1, the last two of x2.

    >>> import functorch_core.numpy as jnp
    >>> jnp.vecmat(jnp.asarray([1., 1.]), jnp.asarray([[1., 2.], [3., 4.]]))
    Array([4., 6.], dtype=float32)
    """
    return fc.squeeze(fc.matmul(fc.conj(as_array(x1))[..., None, :], x2), axis=-2)


@function("a b")
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """The vector products of vectors of size 3 (or 2, whose third component is 0 or is the result).

    >>> import functorch_core.numpy as jnp
    >>> jnp.cross(jnp.asarray([1., 0., 0.]), jnp.asarray([0., 1., 0.]))
    Array([0., 0., 1.], dtype=float32)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = fc.moveaxis(as_array(a), axisa, -1), fc.moveaxis(as_array(b), axisb, -1)
    sizes = (a.shape[-1], b.shape[-1])
    if not set(sizes) <= {2, 3}:
        raise ValueError(f"cross takes vectors of size 2 or 3, got {sizes[0]} and {sizes[1]}")
    if sizes == (2, 2):
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    a, b = (fc.pad(v, [(0, 0)] * (v.ndim - 1) + [(0, 3 - v.shape[-1])]) for v in (a, b))
    return fc.moveaxis(fc.linalg.cross(a, b), -1, axisc)


LETTERS = string.ascii_uppercase + string.ascii_lowercase  # in the order of their codes, which implicit results have


def _by_letters(first, rest: tuple) -> tuple[str, tuple]:
    """(subscripts, operands) of einsum(x, (0, 1), y, (1, 2), (0, 2)), whose result's labels may be left out."""
    given = [first, *rest]
    given, last = (given[:-1], given[-1]) if len(given) % 2 else (given, None)
    pairs = list(zip(given[::2], given[1::2]))
    if not pairs or not all(isinstance(labels, (list, tuple)) for _, labels in pairs):
        raise TypeError(
            "einsum takes the subscripts first, as a string, or the labels as integers behind each operand: "
            f"jnp.einsum('ij,jk->ik', x, y); got {type(first).__name__}"
        )

    def letters(labels) -> str:
        return "".join("..." if n is Ellipsis else LETTERS[n] for n in labels)

    text = ",".join(letters(labels) for _, labels in pairs) + ("" if last is None else "->" + letters(last))
    return text, tuple(x for x, _ in pairs)


@with_precision
@explaining
def einsum(subscripts, /, *operands, optimize="auto"):
    """Sums of products by labels, see fc.einsum; labels may be integers, behind each operand.

    >>> import functorch_core.numpy as jnp
    >>> jnp.einsum(jnp.ones((2, 3)), (0, 1), jnp.ones(3), (1,))
    Array([3., 3.], dtype=float32)
    """
    if not isinstance(subscripts, str):
        subscripts, operands = _by_letters(subscripts, operands)
    return fc.einsum(subscripts, *operands, optimize=optimize)


@explaining
def einsum_path(subscripts, /, *operands, optimize="auto"):
    """(the order in which einsum multiplies, a text about it).

    >>> import functorch_core.numpy as jnp
    >>> jnp.einsum_path("ij,jk->ik", jnp.ones((2, 3)), jnp.ones((3, 4)))[0]
    [(0, 1)]
    """
    import opt_einsum  # slow to load

    if isinstance(optimize, bool):
        optimize = "optimal" if optimize else [tuple(range(len(operands)))]
    return opt_einsum.contract_path(subscripts, *operands, optimize=optimize)


# ---- several variables ---------------------------------------------------------------------------


@function("m y fweights aweights")
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, dtype=None):
    """The covariance matrix of variables, the rows of m and y (rowvar=False: the columns).

    fweights: how often each observation counts; aweights: how much. ddof: 1, or 0 with bias.

    >>> import functorch_core.numpy as jnp
    >>> jnp.cov(jnp.asarray([[1., 2., 3.], [3., 2., 1.]]))
    Array([[ 1., -1.],
           [-1.,  1.]], dtype=float32)
    """
    x = _variables(m, rowvar, dtype)
    if y is not None:
        x, other = x, _variables(y, rowvar, dtype)
        common = fc.result_type(x, other)
        x = fc.concat([x.astype(common), other.astype(common)], axis=0)
    ddof = (0 if bias else 1) if ddof is None else ddof
    w = None if fweights is None else as_array(fweights).astype(dt.real_of(x.dtype))
    if aweights is not None:
        extra = as_array(aweights).astype(dt.real_of(x.dtype))
        w = extra if w is None else w * extra
    mean, total = average(x, axis=1, weights=w, returned=True)
    total = total[0]
    if w is None:
        factor = x.shape[1] - ddof
    elif not ddof:
        factor = total
    elif aweights is None:
        factor = total - ddof
    else:
        factor = total - ddof * fc.sum(w * as_array(aweights)) / total
    x = x - mean[:, None]
    weighted = x if w is None else x * w
    out = fc.matmul(weighted, fc.conj(x).T) / factor
    return fc.squeeze(out) if out.shape == (1, 1) else out


def _variables(m, rowvar: bool, dtype):
    m = floats(m) if dtype is None else as_dtype(m, dtype)
    if m.ndim > 2:
        raise ValueError(f"cov and corrcoef take one or two dimensions, got {m.aval}")
    m = fc.reshape(m, (1, m.size)) if m.ndim < 2 else m
    return m.T if not rowvar and m.shape[0] != 1 else m


@function("x y")
def corrcoef(x, y=None, rowvar=True, dtype=None):
    """The correlation matrix of variables; see cov.

    >>> import functorch_core.numpy as jnp
    >>> jnp.corrcoef(jnp.asarray([[1., 2., 3.], [3., 2., 1.]]))
    Array([[ 1., -1.],
           [-1.,  1.]], dtype=float32)
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return c / c
    spread = fc.sqrt(fc.real(fc.linalg.diagonal(c)))
    c = c / spread[:, None] / spread[None, :]
    if c.dtype in dt.COMPLEX:
        return c
    return fc.clip(c, -1, 1)


# ---- convolutions --------------------------------------------------------------------------------

MODES = ("full", "same", "valid")
VECTORS = "{name} takes two arrays of one dimension with elements, got {a} and {v}"


@with_precision
@function("a v")
def convolve(a, v, mode="full"):
    """The convolution of two vectors: 'full', 'same' (the longer's size) or 'valid'. Integers become floats.

    >>> import functorch_core.numpy as jnp
    >>> jnp.convolve(jnp.asarray([1., 2., 3.]), jnp.asarray([1., 1.]))
    Array([1., 3., 5., 3.], dtype=float32)
    """
    a, v = _vectors("convolve", a, v, mode)
    return _convolved(*((v, a) if a.size < v.size else (a, v)), mode)


@with_precision
@function("a v")
def correlate(a, v, mode="valid"):
    """The sums of products of a with v moved along it, v conjugated.

    >>> import functorch_core.numpy as jnp
    >>> jnp.correlate(jnp.asarray([1., 2., 3.]), jnp.asarray([0., 1.]))
    Array([2., 3.], dtype=float32)
    """
    a, v = _vectors("correlate", a, v, mode)
    v = fc.flip(fc.conj(v))
    if a.size >= v.size:
        return _convolved(a, v, mode)
    if mode == "same":  # of the size of v, and counted from its front
        full = _convolved(v, a, "full")
        start = a.size // 2
        return full[start : start + v.size]
    return _convolved(v, a, mode)


def _vectors(name: str, a, v, mode: str):
    if mode not in MODES:
        raise ValueError(f"{name}: mode is 'full', 'same' or 'valid', got {mode!r}")
    a, v = as_array(a), as_array(v)
    if a.ndim != 1 or v.ndim != 1 or not a.size or not v.size:
        raise ValueError(VECTORS.format(name=name, a=a.aval, v=v.aval))
    return promoted(a, v)


def _convolved(a, v, mode: str):
    """The convolution of vectors of one floating or complex dtype, a not shorter than v."""
    m = v.size
    if a.dtype in dt.COMPLEX:
        re, im = fc.real, fc.imag
        real = _convolved(re(a), re(v), mode) - _convolved(im(a), im(v), mode)
        return real + 1j * (_convolved(re(a), im(v), mode) + _convolved(im(a), re(v), mode))
    before = {"full": m - 1, "same": m // 2, "valid": 0}[mode]
    after = {"full": m - 1, "same": (m - 1) // 2, "valid": 0}[mode]
    out = fc.conv(a[None, None], fc.flip(v)[None, None], padding=[(before, after)])
    return out[0, 0]


# ---- differences and integrals -------------------------------------------------------------------


@function("y x dx")
def trapezoid(y, x=None, dx=1.0, axis=-1):
    """The integral along an axis by the trapezoidal rule, at places x or dx apart.

    >>> import functorch_core.numpy as jnp
    >>> jnp.trapezoid(jnp.asarray([1., 2., 3.]))
    Array(4., dtype=float32)
    """
    y = fc.moveaxis(floats(y), axis, -1)
    if x is not None:
        x = floats(x)
        dx = fc.diff(x) if x.ndim == 1 else fc.diff(fc.moveaxis(x, axis, -1))
    return fc.sum(0.5 * dx * (y[..., 1:] + y[..., :-1]), axis=-1)


@explaining
def gradient(f, *varargs, axis=None, edge_order=None):
    """The slopes along axes (all), by central differences inside and one-sided ones at the edges.

    varargs: one distance, one for each axis, or the coordinates along each.

    >>> import functorch_core.numpy as jnp
    >>> jnp.gradient(jnp.asarray([1., 4., 9., 16.]))
    Array([3., 4., 6., 7.], dtype=float32)
    """
    if edge_order not in (None, 1):
        raise NotImplementedError(f"gradient: edge_order={edge_order}\n    Of first order alone: leave it out.")
    f = floats(f)
    axes = range(f.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    axes = [canonical_axis(d, f.ndim, "gradient") for d in axes]
    steps = list(varargs) * len(axes) if len(varargs) == 1 else list(varargs) or [1.0] * len(axes)
    if len(steps) != len(axes):
        raise TypeError(f"gradient: {len(steps)} distances for {len(axes)} axes")
    for d in axes:
        if f.shape[d] < 2:
            raise ValueError(f"gradient needs two elements along each axis, {f.aval} has {f.shape[d]} along {d}")
    out = [_slopes(f, h, axis=d) for d, h in zip(axes, steps)]
    return out[0] if len(out) == 1 else out


@function("f h")
def _slopes(f, h, axis):
    f = fc.moveaxis(f, axis, -1)
    h = as_array(h)
    rise = fc.diff(f)
    run = fc.diff(h) if h.ndim else fc.broadcast_to(h, (f.shape[-1] - 1,))
    slopes = rise / run
    before, after = run[:-1], run[1:]
    inside = (slopes[..., :-1] * after + slopes[..., 1:] * before) / (before + after)
    out = fc.concat([slopes[..., :1], inside, slopes[..., -1:]], axis=-1)
    return fc.moveaxis(out.astype(f.dtype), -1, axis)


@function("x xp fp left right period")
def _interpolated(x, xp, fp, left, right, period):
    x, xp = together(floats(x), floats(xp)) if np.shape(x) == np.shape(xp) else _common(x, xp)
    fp = floats(fp)
    if period is not None:
        period = fc.abs(as_dtype(period, xp.dtype))
        x, xp = fc.remainder(x, period), fc.remainder(xp, period)
        order = fc.argsort(xp)
        xp, fp = fc.take(xp, order, axis=0), fc.take(fp, order, axis=0)
        xp = fc.concat([xp[-1:] - period, xp, xp[:1] + period])
        fp = fc.concat([fp[-1:], fp, fp[:1]])
    i = fc.clip(fc.searchsorted(xp, x, side="right"), 1, max(xp.shape[0] - 1, 1))
    low, high = (fc.take(fp, j, axis=0, mode="clip") for j in (i - 1, i))
    start, end = (fc.take(xp, j, axis=0, mode="clip") for j in (i - 1, i))
    width = fc.where(end == start, fc.ones_like(end), end - start)
    out = fc.where(end == start, high, low + (x - start) / width * (high - low))
    if period is not None:
        return out
    out = fc.where(x < xp[0], fp[0] if left is None else left, out)
    return fc.where(x > xp[-1], fp[-1] if right is None else right, out)


def _common(x, xp):
    x, xp = floats(x), floats(xp)
    dtype = fc.result_type(x, xp)
    return x.astype(dtype), xp.astype(dtype)


@explaining
def interp(x, xp, fp, left=None, right=None, period=None):
    """fp at xp (rising), linearly interpolated at x; outside of xp left and right (the ends of fp).

    left or right may be "extrapolate". period: xp are angles of it, in any order.

    >>> import functorch_core.numpy as jnp
    >>> jnp.interp(1.5, jnp.asarray([1., 2.]), jnp.asarray([10., 20.]))
    Array(15., dtype=float32)
    """
    if isinstance(left, str) or isinstance(right, str):
        if any(isinstance(v, str) and v != "extrapolate" for v in (left, right)):
            raise ValueError("interp: left and right are numbers, or 'extrapolate'")
    if np.ndim(xp) != 1 or np.shape(xp) != np.shape(fp) or not np.shape(xp)[0]:
        raise ValueError(f"interp: xp and fp are vectors of one size, got shapes {np.shape(xp)} and {np.shape(fp)}")
    if isinstance(left, str) or isinstance(right, str):
        return _extrapolated(x, xp, fp, left, right, period)
    return _interpolated(x, xp, fp, left, right, period)


def _extrapolated(x, xp, fp, left, right, period):
    """Outside, the line of the first two or of the last two points."""
    x, xp, fp = as_array(x), as_array(xp), as_array(fp)
    out = _interpolated(
        x, xp, fp, None if left == "extrapolate" else left, None if right == "extrapolate" else right, period
    )
    if left == "extrapolate":
        out = fc.where(x < xp[0], fp[0] + (x - xp[0]) * (fp[1] - fp[0]) / (xp[1] - xp[0]), out)
    if right == "extrapolate":
        out = fc.where(x > xp[-1], fp[-1] + (x - xp[-1]) * (fp[-1] - fp[-2]) / (xp[-1] - xp[-2]), out)
    return out


@function("a1 a2")
def array_equiv(a1, a2):
    """Whether two arrays broadcast to one shape and are equal there.

    >>> import functorch_core.numpy as jnp
    >>> jnp.array_equiv(jnp.asarray([1, 1]), 1)
    Array(True, dtype=bool)
    """
    a1, a2 = as_array(a1), as_array(a2)
    try:
        np.broadcast_shapes(a1.shape, a2.shape)
    except ValueError:
        return fc.asarray(False)
    return fc.all(a1 == a2)


__all__ = [
    "array_equiv", "convolve", "corrcoef", "correlate", "cov", "cross", "dot", "einsum", "einsum_path", "gradient",
    "inner", "interp", "matmul", "matvec", "outer", "tensordot", "trapezoid", "vdot", "vecdot", "vecmat",
]  # fmt: skip
