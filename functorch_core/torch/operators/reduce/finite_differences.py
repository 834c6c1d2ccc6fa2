"""torch.gradient: derivatives of sampled functions by finite differences."""

from __future__ import annotations

import functools

from ...dispatch.op import composite, registry
from ...tensors.base import Tensor, wrap_dim


@composite(method=False)
def gradient(input, *, spacing=1, dim=None, edge_order=1):
    """The partial derivatives along dimensions, of a function sampled at points `spacing` apart.

    `spacing` is a number, one for each dimension, or the coordinates along each. The edges are
    estimated to first or second order, what lies between to second.

    >>> torch.gradient(torch.tensor([1., 4., 9., 16.]))
    (tensor([3., 4., 6., 7.]),)
    """
    spacing = 1 if spacing is None else spacing
    dims = _dims(input, spacing, dim)
    steps = _steps(spacing, len(dims))
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    for d, step in zip(dims, steps):
        if input.shape[d] <= edge_order:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
        if _are_points(step) and step.shape[0] != input.shape[d]:
            raise RuntimeError(
                "torch.gradient expected each tensor to be of the same length as the dimension its spacing is given for"
            )
    return tuple([_along(input, d, step, edge_order) for d, step in zip(dims, steps)])


def _dims(input, spacing, dim) -> list[int]:
    """The dimensions to differentiate along."""
    if dim is None:
        if isinstance(spacing, (list, tuple)) and len(spacing) != input.ndim:
            raise RuntimeError(
                "torch.gradient expected spacing to be unspecified, a scalar, or a "
                f"list of length equal to 'self.dim() = {input.ndim}', since dim "
                f"argument was not given, but got a list of length {len(spacing)}"
            )
        return list(range(input.ndim))
    dims = [wrap_dim(d, input.ndim) for d in ((dim,) if isinstance(dim, int) else dim)]
    for d in dims:
        if dims.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    if isinstance(spacing, (list, tuple)) and len(spacing) != len(dims):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's "
            "spacing and dim arguments to have the same length, but got a spacing "
            f"argument of length {len(spacing)} and a dim argument of length "
            f"{len(dims)}."
        )
    return dims


def _steps(spacing, count: int) -> list:
    """For each dimension a number, or a vector of coordinates."""
    if not isinstance(spacing, (list, tuple)):
        return [spacing] * count
    for x in spacing:
        if isinstance(x, Tensor) and x.ndim != 1:
            raise RuntimeError(
                "torch.gradient expected each element of spacing to have one "
                f"dimension, but got an element with {x.ndim} dimensions"
            )
    return list(spacing)


def _are_points(step) -> bool:
    """Whether a spacing is a vector of coordinates; a 0-d tensor is a number."""
    return isinstance(step, Tensor) and step.ndim == 1


def _along(f, dim: int, step, edge_order: int):
    """The derivative along one dimension."""
    n = f.shape[dim]

    def at(start, length=1):
        return registry["narrow"](f, dim, start, length)

    if _are_points(step):
        gaps = step.diff().reshape((-1,) + (1,) * (f.ndim - 1 - dim))
        inner = functools.partial(_three_points, gaps, at)
    else:
        inner = functools.partial(_three_even_points, step, at)
    between = inner(0, 0, n - 2)
    if edge_order == 2:
        first, last = inner(0, -1, 1), inner(n - 3, 1, 1)
    else:
        near, far = (gaps[0], gaps[-1]) if _are_points(step) else (step, step)
        first, last = (at(1) - at(0)) / near, (at(n - 1) - at(n - 2)) / far
    return registry["cat"]((first, between, last), dim)


def _three_even_points(step, at, start: int, where: int, count: int):
    """The derivative of the parabola through three even points, at one of them (-1, 0, 1)."""
    if where == 0:
        return (at(start + 2, count) - at(start, count)) / (2 * step)
    near, far = (at(start), at(start + 2)) if where < 0 else (at(start + 2), at(start))
    return (-3.0 * near + 4.0 * at(start + 1) - far) / (-where * 2 * step)


def _three_points(gaps, at, start: int, where: int, count: int):
    """The same for points with these gaps between neighbours."""
    a, b = gaps[start : start + count], gaps[start + 1 : start + 1 + count]
    both = a + b
    if where == 0:
        weights = -b / (a * both), (b - a) / (a * b), a / (b * both)
    elif where < 0:
        weights = -(2.0 * a + b) / (a * both), both / (a * b), -a / (b * both)
    else:
        weights = b / (a * both), -both / (a * b), (2.0 * b + a) / (b * both)
    return sum(w * at(start + i, count) for i, w in enumerate(weights))
