"""Copies by NumPy of elements that are repeated or reversed along the last dimension, which it makes one by one.

us for 512 x 512 as NumPy copies them and like this: float32 twice in a row 503 and 60, three times 616 and 190, eight
times 755 and 320, bools twice 987 and 25; rows of bools the other way round 64 and 17. (Of float32 the other way round
nothing is quicker than NumPy's 67: pairs of them as one take 38, and three more passes to be swapped.)
"""

from __future__ import annotations

import numpy as np

from ..core.reference import contiguous

PIECE = 1 << 15  # elements at once, which stay in the cache
BY_PLACES = 4  # times; so often it is quicker to write one place of each row after the other
BY_NUMPY = 16  # times; from here on NumPy copies a row as one
WORDS = (2, 4, 8)  # bytes


def repeated(array: np.ndarray) -> np.ndarray:
    """An array in row-major order whose last dimension repeats one element."""
    times, width = array.shape[-1], array.dtype.itemsize * array.shape[-1]
    if times >= BY_NUMPY or times < 2:
        return np.ascontiguousarray(array)
    source = contiguous(array[..., 0]).reshape(-1)
    if width in WORDS:
        out = _as_words(source, times, width)
    elif times <= BY_PLACES:
        out = np.empty((source.size, times), array.dtype)
        for i in range(0, source.size, PIECE):
            for k in range(times):
                out[i : i + PIECE, k] = source[i : i + PIECE]
    else:
        out = np.repeat(source, times)
    return out.reshape(array.shape)


def _as_words(source: np.ndarray, times: int, width: int) -> np.ndarray:
    """Elements that together make a machine word: its lowest part times 0x0101, say."""
    bits = 8 * source.dtype.itemsize
    parts, words = source.view(f"u{bits // 8}"), np.empty(source.size, f"u{width}")
    factor = words.dtype.type(sum([1 << k * bits for k in range(times)]))
    for i in range(0, source.size, PIECE):
        piece = words[i : i + PIECE]
        piece[...] = parts[i : i + PIECE]
        piece *= factor
    return words.view(source.dtype)


def reversed_bytes(array: np.ndarray) -> np.ndarray:
    """Elements of a byte each, 8 m in a row, in reverse order along the last dimension: as words whose bytes are in
    reverse order, too."""
    words = np.ascontiguousarray(array.view("u8")[..., ::-1])
    return words.byteswap(True).view(array.dtype)
