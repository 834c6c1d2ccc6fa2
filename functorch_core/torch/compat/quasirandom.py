"""torch.quasirandom: Sobol' sequences, the numbers that PyTorch draws."""

from __future__ import annotations

import functools as _functools
from pathlib import Path as _Path

import numpy as _np

from .. import from_numpy, randint, tensor
from ..operators.random.seeds import Generator as _Generator
from ..tensors.types import get_default_dtype as _get_default_dtype

MAXBIT = 30
MAXDIM = 1024  # PyTorch has 21201: the table would be 500 KB
UNBALANCED = (
    "The balance properties of Sobol' points require n to be a power of 2. {before} points have "
    "been previously generated, then: n={before}+2**{m}={total}. If you still want to do this, "
    "please use 'SobolEngine.draw()' instead."
)


class SobolEngine:
    """Quasi-random points in the unit cube, which fill it more evenly than random ones.

    `scramble` moves them at random (by the seed, or else torch.manual_seed's) and keeps how even
    they are.

    >>> torch.quasirandom.SobolEngine(2).draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    """

    MAXBIT, MAXDIM = MAXBIT, MAXDIM

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None):
        if not 1 <= dimension <= MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {MAXDIM}]")
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self._directions, self._start = _directions(dimension), _np.zeros(dimension, _np.int64)
        if scramble:
            self._scramble()
        self.reset()

    def reset(self):
        """Begin anew; the engine itself."""
        self._point, self.num_generated = self._start, 0
        return self

    def draw(self, n: int = 1, out=None, dtype=None):
        """The next n points: (n, dimension) of dtype, the default one if None."""
        dtype = dtype or _get_default_dtype()
        points = self._next(n) / 2**MAXBIT
        if self.num_generated == n and n:  # PyTorch computes the first point in the default dtype
            points[0] = points[0].astype(_get_default_dtype().name)
        result = from_numpy(points).to(dtype)
        if out is None:
            return result
        out.resize_as_(result).copy_(result)
        return out

    def draw_base2(self, m: int, out=None, dtype=None):
        """The next 2^m points: as many keep the sequence even. ValueError if they do not."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(UNBALANCED.format(before=self.num_generated, m=m, total=total))
        return self.draw(n=n, out=out, dtype=dtype)

    def fast_forward(self, n: int):
        """Leave out n points; the engine itself."""
        self._next(n)
        return self

    def _next(self, n: int) -> _np.ndarray:
        """(n, dimension) of integers below 2^30: each is the one before with one direction
        exchanged, that of the lowest 0 in the binary number of the one before (Gray code)."""
        if n == 0:
            return _np.empty((0, self.dimension), _np.int64)
        first = self.num_generated
        before = _np.arange(first - 1 if first else 0, first + n - 1)
        changed = _np.log2(~before & (before + 1)).astype(_np.int64)
        steps = self._directions[:, changed].T
        if not first:
            steps = _np.concatenate([_np.zeros((1, self.dimension), _np.int64), steps])
        points = _np.bitwise_xor.accumulate(_np.concatenate([self._point[None], steps]), 0)[1:]
        self._point, self.num_generated = points[-1], first + n
        return points

    def _scramble(self):
        """Multiply the directions by random triangular matrices of bits, and move the start."""
        generator = None if self.seed is None else _Generator().manual_seed(self.seed)
        powers = 2 ** _np.arange(MAXBIT, dtype=_np.int64)
        shift = randint(2, (self.dimension, MAXBIT), generator=generator).numpy()
        rows = randint(2, (self.dimension, MAXBIT, MAXBIT), generator=generator).numpy()
        rows = _np.tril(rows, -1) | _np.eye(MAXBIT, dtype=_np.int64)
        rows = rows @ powers[::-1]  # (dimension, MAXBIT): each row of a matrix as a number
        common = rows[:, :, None] & self._directions[:, None, :]
        parity = _np.bitwise_count(common) % 2
        self._start = shift @ powers
        self._directions = _np.einsum("dpj,p->dj", parity.astype(_np.int64), powers[::-1])

    @property
    def sobolstate(self):
        """The directions, (dimension, 30) of int64."""
        return tensor(self._directions)

    @property
    def shift(self):
        """The first point, as integers."""
        return tensor(self._start)

    @property
    def quasi(self):
        """The last point drawn, as integers."""
        return tensor(self._point)

    def __repr__(self):
        parts = [f"dimension={self.dimension}"]
        if self.scramble:
            parts.append("scramble=True")
        if self.seed is not None:
            parts.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(parts)})"


@_functools.cache
def _table() -> list[list[int]]:
    text = (_Path(__file__).parent / "sobol_directions.txt").read_text(encoding="ascii")
    return [list(map(int, line.split())) for line in text.splitlines() if line[0] != "#"]


def _directions(dimension: int) -> _np.ndarray:
    """(dimension, 30) of int64: the direction numbers, as fractions of 2^30."""
    numbers = _np.ones((dimension, MAXBIT), _np.int64)  # the first dimension: van der Corput
    for row, (polynomial, *initial) in zip(numbers[1:], _table(), strict=False):
        degree = len(initial)
        row[:degree] = initial
        for i in range(degree, MAXBIT):
            row[i] = row[i - degree]
            for k in range(1, degree + 1):
                if polynomial >> (degree - k) & 1:
                    row[i] ^= row[i - k] << k
    return numbers << _np.arange(MAXBIT - 1, -1, -1)
