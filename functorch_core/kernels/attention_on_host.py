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
from ..core.aval import Aval
from ..core.primitive import Way
from ..engine import workers

FEW, SHORT = 1 << 12, 8  # scores, queries of a head: node by node it takes less
SCORES = 1 << 17  # of a piece
ALONE = 1 << 16  # scores that one thread has computed before another begins
# No e^s of a score of at most this overflows, nor do all of a row vanish: the largest need not be looked for, which is
# a quarter of the time.
BOUNDED = {dt.float32: 60.0, dt.float64: 300.0}
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
    """Computes some heads after the other, for arrays of certain shapes."""

    def __init__(self, what: Attention, query: Aval, key: Aval, results: Sequence[Aval]) -> None:
        self.what, self.results = what, results
        self.lead, self.n, self.m = query.shape[:-2], query.shape[-2], key.shape[-2]
        self.heads, self.bounded = math.prod(self.lead), BOUNDED[query.dtype]
        self.each = max(1, min(SCORES // (self.n * self.m), self.heads))
        if self.heads * self.n * self.m >= ALONE:
            self.each = min(self.each, -(-self.heads // workers.threads_wanted()))

    def run(self, *operands: np.ndarray) -> list[np.ndarray]:
        """The results."""
        query, key, value, *rest = operands
        mask = np.broadcast_to(rest[0], (*self.lead, self.n, self.m)) if self.what.masked else None
        wanted = self.what.wanted
        outs = [np.empty(a.shape, a.dtype) for a in self.results]
        arrays = [self._stacked(x) for x in (query, key, value)]
        if wanted is not None:
            arrays.append(self._stacked(rest[-1]))
        targets = list(map(self._stacked, outs))

        def piece(i: int) -> None:
            part = slice(i * self.each, (i + 1) * self.each)
            of_mask = None if mask is None else self._of_mask(mask, part)
            taken, into = [x[part] for x in arrays], [x[part] for x in targets]
            if wanted is None:
                self._attend(taken, of_mask, into[0])
            else:
                self._differentiate(taken, of_mask, dict(zip([i for i, w in enumerate(wanted) if w], into)))

        workers.compute(piece, -(-self.heads // self.each))
        return outs

    def _stacked(self, x: np.ndarray) -> np.ndarray:
        return x.reshape(self.heads, *x.shape[-2:])

    def _of_mask(self, mask: np.ndarray, part: slice) -> np.ndarray:
        """The mask of some heads; where it is the same for all, once."""
        if not any(mask.strides[:-2]):
            return mask[(0,) * len(self.lead)]
        return mask[np.unravel_index(np.arange(*part.indices(self.heads)), self.lead)]

    def _weights(self, query: np.ndarray, key: np.ndarray, mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Weights that are not divided by their sums yet, and the sums."""
        s = np.matmul(query, key.swapaxes(1, 2))
        if self._are_bounded(query, key, mask):
            np.exp(s, out=s)
            if mask is not None:
                np.multiply(s, mask, out=s)
            if self.what.is_causal:
                np.multiply(s, _until_itself(self.n, self.m, s.dtype), out=s)
        else:
            self._exponentiate(s, mask)
        sums = np.matmul(s, np.ones((self.m, 1), s.dtype))
        if mask is not None:
            sums[sums == 0] = 1
        return s, sums

    def _are_bounded(self, query: np.ndarray, key: np.ndarray, mask: np.ndarray | None) -> bool:
        """Whether all scores are small, as follows from the lengths of queries and keys; not so if there is a NaN."""
        if mask is not None and mask.dtype != np.bool_:
            return False
        return bool(np.vecdot(query, query).max() * np.vecdot(key, key).max() <= self.bounded**2)

    def _exponentiate(self, s: np.ndarray, mask: np.ndarray | None) -> None:
        """e^(score - the row's largest), in place."""
        if mask is not None and mask.dtype == np.bool_:
            np.copyto(s, -math.inf, where=~mask)
        elif mask is not None:
            s += mask
        if self.what.is_causal:
            np.copyto(s, -math.inf, where=_until_itself(self.n, self.m, s.dtype) == 0)
        top = s.max(axis=2, keepdims=True)
        if mask is not None:
            top[top == -math.inf] = 0
        s -= top
        np.exp(s, out=s)

    def _attend(self, operands: list[np.ndarray], mask: np.ndarray | None, out: np.ndarray) -> None:
        query, key, value = operands
        s, sums = self._weights(query * query.dtype.type(self.what.factor), key, mask)
        np.matmul(s, value, out=out)
        out /= sums

    def _differentiate(self, operands: list[np.ndarray], mask: np.ndarray | None, outs: dict[int, np.ndarray]) -> None:
        """Of weights p = s / sums: by the values p^T g, by the scores p (g value^T - the row's sum of p g value^T)."""
        query, key, value, cotangent = operands
        by_query, by_key, by_value = map(outs.get, range(3))
        factor = query.dtype.type(self.what.factor)
        scaled = query * factor
        s, sums = self._weights(scaled, key, mask)
        if by_value is not None:
            np.matmul(s.swapaxes(1, 2), cotangent / sums, out=by_value)
        if by_query is None and by_key is None:
            return
        d = np.matmul(cotangent, value.swapaxes(1, 2))
        d -= np.vecdot(d, s)[:, :, None] / sums
        d *= s
        if by_query is not None:
            np.matmul(d, key, out=by_query)
            by_query *= factor / sums
        if by_key is not None:
            np.matmul(d.swapaxes(1, 2), scaled / sums, out=by_key)


def _until_itself(n: int, m: int, dtype: np.dtype) -> np.ndarray:
    """1 where a key is not after the query, 0 elsewhere; not to be written to."""
    size = 1 << (max(n, m) - 1).bit_length()
    return (_triangle(size, dtype) if size <= LARGEST else np.tri(n, m, dtype=dtype))[:n, :m]


LARGEST = 1 << 10


@functools.lru_cache(maxsize=8)
def _triangle(size: int, dtype: np.dtype) -> np.ndarray:
    return np.tri(size, dtype=dtype)
