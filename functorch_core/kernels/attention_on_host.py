"""Attention of host arrays: a few heads at a time, whose scores stay in the cache, on all cores.

Scores are written over in place, and rows are divided by their sums where they are short: behind the product with the
values; for gradients, in what the scores are multiplied with. us, 16 heads of n x 16 under a causal mask, two cores,
node by node, like this, and PyTorch's: n = 51 127, 92, 91; 151 725, 438, 389; 307 2,921, 1,467, 963 to 1,387; their
gradients 221, 181, 183; 1,410, 875, 697; 5,854, 3,066, 1,935 to 2,695.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..core import dtypes as dt
from ..core import workers
from ..core.aval import Aval
from ..core.primitive import Way

FEW, SHORT = 1 << 12, 8  # scores, queries of a head: node by node it takes less
SCORES = 1 << 17  # of a piece
ROWS, BLOCKS = 64, 4  # under a causal mask: queries that are computed at once, at least, and how often a head is cut
ALONE = 1 << 16  # scores that one thread has computed before another begins
# No e^s of a score of at most this overflows, nor do all of a row vanish or what they are multiplied with: the largest
# need not be looked for, which is a quarter of the time.
BOUNDED = {dt.float32: 30.0, dt.float64: 300.0}
# Microseconds: NumPy's calls, a score of a result and of gradients without products, a multiplication.
CALLS, RESULT, GRADIENTS, MULTIPLICATION = 15.0, 1e-3, 1.5e-3, 2e-5


class Attention(NamedTuple):
    """softmax(query @ key^T * factor + mask) @ value, or its gradients.

    Operands (*heads, n, d), (*heads, m, d), (*heads, m, e); a mask that spreads to (*heads, n, m) if there is one, bool
    for what takes part or added; for gradients the result's cotangent, too. Rows without any key give 0.
    """

    factor: float
    is_causal: bool
    masked: bool
    wanted: tuple[bool, ...] | None = None  # the operands whose gradients are wanted; None: the result is

    def gradients(self, wanted: tuple[bool, ...]) -> Attention | None:
        """What computes the cotangents of the operands that are `wanted`; None if nothing does."""
        return None if self.wanted is not None or any(wanted[3:]) else self._replace(wanted=wanted)

    def way(self, operands: Sequence[Aval], results: Sequence[Aval]) -> Way | None:
        """How host arrays of these avals are computed; None if they are not for this."""
        query, key, value, *_ = operands
        lead, allowed = query.shape[:-2], (query.dtype, dt.bool_)
        if query.dtype not in BOUNDED or any(a.dtype not in allowed for a in operands):
            return None
        if not lead == key.shape[:-2] == value.shape[:-2] or 0 in [a.size for a in operands]:
            return None
        scores = query.size // query.shape[-1] * key.shape[-2]
        if scores < FEW or query.shape[-2] < SHORT:
            return None
        products, each = (1, RESULT) if self.wanted is None else (2.5, GRADIENTS)
        work = each + MULTIPLICATION * products * (query.shape[-1] + value.shape[-1])
        return Way(_Heads(self, query, key, results).run, CALLS + work * scores)


class _Heads:
    """Computes some heads after the other, some queries of theirs at a time, for arrays of certain shapes."""

    def __init__(self, what: Attention, query: Aval, key: Aval, results: Sequence[Aval]) -> None:
        self.what, self.results = what, results
        self.lead, self.n, self.m = query.shape[:-2], query.shape[-2], key.shape[-2]
        self.heads, self.bounded = math.prod(self.lead), BOUNDED[query.dtype]
        blocks = -(-self.n * self.m // SCORES)
        if what.is_causal:
            blocks = max(blocks, min(self.n // ROWS, BLOCKS))
        self.rows = -(-self.n // blocks)
        self.each = max(1, min(SCORES // (self.rows * self.m), self.heads))
        if self.heads * self.n * self.m >= ALONE:
            self.each = min(self.each, -(-self.heads // workers.threads_wanted()))

    def run(self, *operands: np.ndarray) -> list[np.ndarray]:
        """The results."""
        query, key, value, *rest = operands
        mask = np.broadcast_to(rest[0], (*self.lead, self.n, self.m)) if self.what.masked else None
        outs = [np.empty(a.shape, a.dtype) for a in self.results]
        targets, arrays = map(self._stacked, outs), [self._stacked(x) for x in (query, key, value)]
        heads = [slice(i, min(i + self.each, self.heads)) for i in range(0, self.heads, self.each)]
        if self.what.wanted is None:
            (out,) = targets
            pieces = [(of, first) for of in heads for first in range(0, self.n, self.rows)]

            def piece(i: int) -> None:
                of, first = pieces[i]
                self._attend([x[of] for x in arrays], mask, of, first, out[of])

            workers.compute(piece, len(pieces))
        else:
            arrays.append(self._stacked(rest[-1]))
            into = dict(zip([i for i, w in enumerate(self.what.wanted) if w], targets))

            def gradients(i: int) -> None:
                of = heads[i]
                self._differentiate([x[of] for x in arrays], mask, of, {k: x[of] for k, x in into.items()})

            workers.compute(gradients, len(heads))
        return outs

    def _stacked(self, x: np.ndarray) -> np.ndarray:
        return x.reshape(self.heads, *x.shape[-2:])

    def _seen(self, first: int) -> tuple[slice, int]:
        """The queries from one on that are computed at once, and how many keys they see."""
        end = min(first + self.rows, self.n)
        return slice(first, end), min(end, self.m) if self.what.is_causal else self.m

    def _of_mask(self, mask: np.ndarray | None, heads: slice, rows: slice, seen: int) -> np.ndarray | None:
        """The mask of some heads and queries; where it is the same for all heads, once."""
        if mask is None:
            return None
        part = mask[..., rows, :seen]
        if not any(mask.strides[:-2]):
            return part[(0,) * len(self.lead)]
        return part[np.unravel_index(np.arange(*heads.indices(self.heads)), self.lead)]

    def _weights(
        self, query: np.ndarray, key: np.ndarray, mask: np.ndarray | None, first: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Weights of queries from the `first` on that are not divided by their sums yet, and the sums."""
        s = np.matmul(query, key.swapaxes(1, 2))
        later = s[:, :, first:] if self.what.is_causal else s[:, :, :0]  # not before the first query
        if self._are_bounded(query, key, mask):
            np.exp(s, out=s)
            if mask is not None:
                np.multiply(s, mask, out=s)
            if later.size:
                np.multiply(later, _until_itself(later), out=later)
        else:
            if mask is not None and mask.dtype == np.bool_:
                np.copyto(s, -math.inf, where=~mask)
            elif mask is not None:
                s += mask
            if later.size:
                np.copyto(later, -math.inf, where=_until_itself(later) == 0)
            top = s.max(axis=2, keepdims=True)
            if mask is not None:
                top[top == -math.inf] = 0
            s -= top
            np.exp(s, out=s)
        sums = np.matmul(s, np.ones((s.shape[2], 1), s.dtype))
        if mask is not None:
            sums[sums == 0] = 1
        return s, sums

    def _are_bounded(self, query: np.ndarray, key: np.ndarray, mask: np.ndarray | None) -> bool:
        """Whether all scores are small, as follows from the lengths of queries and keys; not so if there is a NaN."""
        if mask is not None and mask.dtype != np.bool_:
            return False
        return bool(np.vecdot(query, query).max() * np.vecdot(key, key).max() <= self.bounded**2)

    def _attend(
        self, operands: list[np.ndarray], mask: np.ndarray | None, heads: slice, first: int, out: np.ndarray
    ) -> None:
        query, key, value = operands
        rows, seen = self._seen(first)
        scaled = query[:, rows] * query.dtype.type(self.what.factor)
        s, sums = self._weights(scaled, key[:, :seen], self._of_mask(mask, heads, rows, seen), first)
        np.matmul(s, value[:, :seen], out=out[:, rows])
        out[:, rows] /= sums

    def _differentiate(
        self, operands: list[np.ndarray], mask: np.ndarray | None, heads: slice, outs: dict[int, np.ndarray]
    ) -> None:
        """Of weights p = s / sums: by the values p^T g, by the scores p (g value^T - the row's sum of p g value^T)."""
        query, key, value, cotangent = operands
        by_query, by_key, by_value = map(outs.get, range(3))
        factor = query.dtype.type(self.what.factor)
        for first in range(0, self.n, self.rows):
            rows, seen = self._seen(first)
            k, v, g, scaled = key[:, :seen], value[:, :seen], cotangent[:, rows], query[:, rows] * factor
            s, sums = self._weights(scaled, k, self._of_mask(mask, heads, rows, seen), first)
            if by_value is not None:
                _add(s.swapaxes(1, 2), g / sums, by_value, first)
            if by_query is None and by_key is None:
                continue
            d = np.matmul(g, v.swapaxes(1, 2))
            d -= np.vecdot(d, s)[:, :, None] / sums
            d *= s
            if by_query is not None:
                np.matmul(d, k, out=by_query[:, rows])
                by_query[:, rows] *= factor / sums
            if by_key is not None:
                _add(d.swapaxes(1, 2), scaled / sums, by_key, first)


def _add(x: np.ndarray, y: np.ndarray, out: np.ndarray, first: int) -> None:
    """Add x @ y to the beginning of what has been added up before `first`."""
    seen = x.shape[1]
    if first:
        out[:, :seen] += np.matmul(x, y)
    else:
        np.matmul(x, y, out=out[:, :seen])
        out[:, seen:] = 0


def _until_itself(scores: np.ndarray) -> np.ndarray:
    """1 where a key is not after the query, 0 elsewhere, if the first ones are the same; not to be written to."""
    _, n, m = scores.shape
    return _triangle(1 << (max(n, m) - 1).bit_length(), scores.dtype)[:n, :m]


@functools.lru_cache(maxsize=8)
def _triangle(size: int, dtype: np.dtype) -> np.ndarray:
    return np.tri(size, dtype=dtype)
