"""jax.scipy.interpolate: interpolation on a grid."""

from __future__ import annotations

import itertools
import math

import functorch_core as fc

from ..array.compose import missing_name
from ..core.explain import explaining
from ..numpy.elementwise import as_array, floats


class RegularGridInterpolator:
    """values [n1, n2, ...] on a grid of rising coordinates, interpolated: 'linear' or 'nearest'.

    Outside of the grid: fill_value (NaN), or extrapolation if that is None.

    >>> from functorch_core.scipy.interpolate import RegularGridInterpolator
    >>> import functorch_core as fc
    >>> f = RegularGridInterpolator((fc.asarray([0., 1.]),), fc.asarray([10., 20.]))
    >>> f(fc.asarray([[0.25]]))
    Array([12.5], dtype=float32)
    """

    @explaining
    def __init__(self, points, values, method="linear", bounds_error=False, fill_value=math.nan):
        if method not in ("linear", "nearest"):
            raise ValueError(f"RegularGridInterpolator: method is 'linear' or 'nearest', got {method!r}")
        if bounds_error:
            raise NotImplementedError("RegularGridInterpolator: bounds_error is not supported\n    Use fill_value.")
        self.method, self.bounds_error, self.fill_value = method, bounds_error, fill_value
        self.values = floats(values)
        self.grid = tuple(as_array(p).astype(self.values.dtype) for p in points)
        if len(self.grid) > self.values.ndim or any(p.shape != (n,) for p, n in zip(self.grid, self.values.shape)):
            raise ValueError(
                f"RegularGridInterpolator: values {self.values.aval} have another shape than the grid "
                f"({', '.join(str(p.aval) for p in self.grid)})"
            )

    def __call__(self, xi, method=None):
        """The values at points [..., d], or at d arrays of coordinates."""
        method = self.method if method is None else method
        if method not in ("linear", "nearest"):
            raise ValueError(f"RegularGridInterpolator: method is 'linear' or 'nearest', got {method!r}")
        d = len(self.grid)
        if isinstance(xi, tuple):
            xi = fc.stack(list(fc.broadcast_arrays(*map(as_array, xi))), axis=-1)
        xi = as_array(xi)
        if xi.shape[-1] != d:
            raise ValueError(f"RegularGridInterpolator: points of {d} dimensions have {d} columns, got {xi.aval}")
        flat = fc.reshape(xi, (-1, d)).astype(self.values.dtype)
        places, shares, outside = self._cells(flat)
        out = (self._linear if method == "linear" else self._nearest)(places, shares)
        rest = self.values.shape[d:]
        if self.fill_value is not None:
            mask = fc.reshape(outside, (-1,) + (1,) * len(rest))
            out = fc.where(mask, fc.full_like(out, self.fill_value), out)
        return fc.reshape(out, (*xi.shape[:-1], *rest))

    def _cells(self, points):
        """The cell of each point, where in it the point is, and whether it is outside of the grid."""
        places, shares, outside = [], [], fc.zeros(points.shape[0], dtype=fc.bool_)
        for i, grid in enumerate(self.grid):
            x = points[:, i]
            place = fc.clip(fc.searchsorted(grid, x, side="right") - 1, 0, max(grid.size - 2, 0))
            if grid.size > 1:
                share = (x - grid[place]) / (grid[place + 1] - grid[place])
            else:
                share = fc.zeros_like(x)
            places.append(place)
            shares.append(share)
            outside = outside | (x < grid[0]) | (x > grid[-1])
        return places, shares, outside

    def _linear(self, places, shares):
        out = None
        rest = (1,) * (self.values.ndim - len(self.grid))
        for corner in itertools.product((0, 1), repeat=len(places)):
            at = tuple(fc.minimum(p + c, g.size - 1) for p, c, g in zip(places, corner, self.grid))
            weight = math.prod([s if c else 1 - s for s, c in zip(shares, corner)])
            term = self.values[at] * fc.reshape(weight, (-1, *rest))
            out = term if out is None else out + term
        return out

    def _nearest(self, places, shares):
        at = [fc.where(s <= 0.5, p, fc.minimum(p + 1, g.size - 1)) for p, s, g in zip(places, shares, self.grid)]
        return self.values[tuple(at)]


__getattr__ = missing_name(
    "scipy.interpolate", {"interp1d": "Use functorch_core.numpy.interp.", "CubicSpline": "Use SciPy's."}
)

__all__ = ["RegularGridInterpolator"]
