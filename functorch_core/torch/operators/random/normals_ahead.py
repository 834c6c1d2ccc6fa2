"""Few normals at a time: those of the numbers that a generator draws next are computed along.

NumPy takes 60 us for 16 normals, nearly all of it for calling, and 150 for 4096. So a program that draws some
again and again gets them from a block that was computed ahead, of uniforms that a copy of the generator drew. The
generator itself draws what it always does; what was made of the same uniforms is what is asked for, else it is made.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

MOST = 1 << 10  # normals that are asked for at once
LEAST, LARGEST = 1 << 9, 1 << 13  # so many are computed ahead, the more the longer they are wanted


class Ahead:
    """What was computed ahead for one generator."""

    def __init__(self):
        self._uniforms, self._normals, self._position = b"", np.zeros(0, np.float32), 0
        self._scratch: np.random.MT19937 | None = None
        # After so many further calls blocks are computed ahead again: twice as many each time that nobody wanted them.
        self._patience, self._calls, self._was_used = 1, 0, False
        self._block = LEAST

    def normals(self, generator, uniforms: np.ndarray, make: Callable) -> np.ndarray:
        """make(uniforms), float32 numbers that the generator has just drawn, in blocks of 16."""
        n, drawn = uniforms.size, uniforms.tobytes()
        start = self._position
        if n and self._uniforms[4 * start : 4 * (start + n)] == drawn:
            self._position, self._was_used = start + n, True
            return self._normals[start : start + n]
        self._calls += 1
        if self._calls <= self._patience:
            return make(uniforms)
        if self._was_used:
            self._patience, self._block = 0, min(2 * self._block, LARGEST)
        else:
            self._patience, self._block = min(2 * self._patience + 1, 1 << 10), LEAST
        self._calls, self._was_used = 0, False
        following = np.concatenate([uniforms, self._following(generator, self._block)])
        self._normals, self._uniforms, self._position = make(following), following.tobytes(), n
        return self._normals[:n]

    def _following(self, generator, n: int) -> np.ndarray:
        """The uniforms that the generator draws next."""
        scratch = self._scratch
        if scratch is None:
            scratch = self._scratch = np.random.MT19937(0)
        scratch.state = generator.state_of_bits()
        return generator.float32_of(scratch.random_raw(n))
