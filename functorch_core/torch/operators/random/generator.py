"""The Mersenne Twister behind PyTorch's CPU generator: seeding, state bytes, raw draws."""

from __future__ import annotations

import operator
import secrets
from contextlib import contextmanager

import numpy as np

from .normals_ahead import Ahead

DEFAULT_SEED = 67280421310721  # what torch.Generator() starts from

_N = 624  # words of Mersenne Twister state
_BLOCK = 1 << 15  # draws per pass: the temporaries of a pass (256 KiB) stay in the L2 cache
# Arrays without dimensions: with NumPy's scalars an operation takes 0.4 us, with these 0.2.
_ULP24 = np.array(2.0**-24, np.float32)
_MASK24 = np.array((1 << 24) - 1, np.uint64)
_MASK21 = np.array((1 << 21) - 1, np.uint64)
_SHIFT32 = np.array(32, np.uint64)
_INT64, _FLOAT32 = np.dtype(np.int64), np.dtype(np.float32)

# The bytes of torch.Generator.get_state(). `left` counts down to the next twist, `next` is the
# word to read; `left == 625 - next`, but (1, 0) where nothing was drawn since seeding.
_STATE = np.dtype(
    {
        "names": [
            "seed",
            "left",
            "seeded",
            "next",
            "words",
            "normal_y",
            "normal_is_valid",
            "float_normal",
            "float_normal_is_valid",
        ],
        "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", _N), "<f8", "<i4", "<f4", "?"],
        "offsets": [0, 8, 12, 16, 24, 5024, 5040, 5048, 5052],
        "itemsize": 5056,
    }
)


class Mt19937Generator:
    """A Mersenne Twister that draws, seeds and serializes exactly as `torch.Generator()`.

    `next_normal` is the second sample of the last Box-Muller pair that the serial normal path
    has not handed out yet; None where there is none.
    """

    def __init__(self, seed: int = DEFAULT_SEED):
        self._bits = np.random.MT19937(0)
        self._next_float_normal: float | None = None  # carried for old checkpoints, never used
        self.ahead = Ahead()
        self.manual_seed(seed)

    def __repr__(self) -> str:
        return f"Mt19937Generator(initial_seed={self._seed})"

    # ---- seeds -------------------------------------------------------------------------------

    def manual_seed(self, seed: int) -> Mt19937Generator:
        """Restart the stream from `seed`; negative seeds count modulo 2**64. Returns self."""
        seed = operator.index(seed)
        if not -(1 << 63) <= seed < 1 << 64:
            raise ValueError(f"manual_seed expected a seed in [-2**63, 2**64), got {seed}")
        self._seed = seed % (1 << 64)
        words = np.random.RandomState(self._seed & 0xFFFFFFFF).get_state(legacy=False)
        self._set_words(words["state"]["key"], _N)
        self._untouched = True
        self.next_normal: float | None = None
        self._next_float_normal = None
        return self

    def seed(self) -> int:
        """Restart the stream from a non-deterministic seed of 64 bits and return that seed."""
        self.manual_seed(secrets.randbits(64))
        return self._seed

    def initial_seed(self) -> int:
        """The seed the stream was last started from, in [0, 2**64)."""
        return self._seed

    # ---- state -------------------------------------------------------------------------------

    def get_state(self) -> np.ndarray:
        """The state as uint8 (5056,), byte for byte what `torch.Generator.get_state` gives."""
        state = np.zeros((), _STATE)
        bits = self._bits.state["state"]
        position = bits["pos"]
        state["words"] = bits["key"]
        state["seed"] = self._seed
        state["seeded"] = 1
        state["next"] = 0 if self._untouched else position
        state["left"] = 1 if self._untouched else _N + 1 - position
        if self.next_normal is not None:
            state["normal_y"], state["normal_is_valid"] = self.next_normal, 1
        if self._next_float_normal is not None:
            state["float_normal"], state["float_normal_is_valid"] = self._next_float_normal, True
        return np.frombuffer(state.tobytes(), np.uint8).copy()

    def set_state(self, state: np.ndarray) -> None:
        """Continue from a state that `get_state` here or in PyTorch gave.

        Raises TypeError unless `state` is a uint8 array, RuntimeError unless it has 5056
        elements and holds a valid state.
        """
        if getattr(state, "dtype", None) != np.uint8:
            raise TypeError(f"set_state expected an array of uint8, got {_describe(state)}")
        if state.size != _STATE.itemsize:
            raise RuntimeError(
                f"set_state expected a CPU generator state of size {_STATE.itemsize}, got one of size {state.size}"
            )
        fields = np.frombuffer(np.ascontiguousarray(state).tobytes(), _STATE)[0]
        left, position = int(fields["left"]), int(fields["next"])
        untouched = (left, position) == (1, 0)
        drawn = 1 <= position <= _N and left == _N + 1 - position
        if not fields["seeded"] or not (untouched or drawn):
            raise RuntimeError("Invalid mt19937 state")
        self._seed = int(fields["seed"])
        self._set_words(fields["words"].astype(np.uint32), _N if untouched else position)
        self._untouched = untouched
        self.next_normal = float(fields["normal_y"]) if fields["normal_is_valid"] else None
        self._next_float_normal = float(fields["float_normal"]) if fields["float_normal_is_valid"] else None

    def _set_words(self, words: np.ndarray, position: int) -> None:
        self._bits.state = {"bit_generator": "MT19937", "state": {"key": words, "pos": position}}

    # ---- draws -------------------------------------------------------------------------------

    def random32(self, n: int) -> np.ndarray:
        """The next `n` outputs of 32 bits, as uint64 (n,)."""
        if n:
            self._untouched = False
        return self._bits.random_raw(n)

    def random64(self, n: int) -> np.ndarray:
        """`n` outputs of 64 bits, uint64 (n,): each takes two of 32 bits, the high one first."""
        words = self.random32(2 * n)
        return (words[0::2] << _SHIFT32) | words[1::2]

    def uniform_float32(self, n: int) -> np.ndarray:
        """Standard uniforms, float32 (n,): the low 24 bits of an output of 32 bits."""
        return _drawn(n, np.float32, self._float32_block)

    def uniform_float64(self, n: int) -> np.ndarray:
        """Standard uniforms, float64 (n,): the low 53 bits of an output of 64 bits."""
        return _drawn(n, np.float64, self._float64_block)

    def _float32_block(self, n: int) -> np.ndarray:
        if n == 1:  # 1 us for 4
            self._untouched = False
            return np.array([(self._bits.random_raw() & 0xFFFFFF) * 2.0**-24], np.float32)
        return self.float32_of(self.random32(n))

    @staticmethod
    def float32_of(words: np.ndarray) -> np.ndarray:
        """The float32 uniforms that outputs of 32 bits stand for; the outputs are overwritten."""
        words &= _MASK24
        # Signed integers below 2**24 convert exactly, and faster than unsigned ones.
        values = words.view(_INT64).astype(_FLOAT32)
        values *= _ULP24
        return values

    def _float64_block(self, n: int) -> np.ndarray:
        words = self.random32(2 * n)
        bits = words[0::2] & _MASK21
        bits <<= _SHIFT32
        bits |= words[1::2]
        values = bits.view(np.int64).astype(np.float64)
        values *= 2.0**-53
        return values

    @contextmanager
    def uniform_reader(self, expected: int):
        """A function that reads float64 standard uniforms one by one, as a `with` block.

        Rejection samplers do not know beforehand how many they read: drawing blocks of about
        `expected` and giving the unread rest back at the end costs 0.1 us a sample, where
        single draws cost 1 us.
        """
        reader = _UniformReader(self, min(max(expected, 16), _BLOCK))
        try:
            yield reader.read
        finally:
            reader.give_back()


class _UniformReader:
    """Reads uniforms from blocks drawn ahead; `give_back` rewinds over the unread ones."""

    def __init__(self, generator: Mt19937Generator, block: int):
        self._generator, self._block = generator, block
        self._before: dict | None = None  # state of the bit generator before the last block
        self._unread: list[float] = []

    def read(self) -> float:
        if not self._unread:
            self._before = self._generator._bits.state
            self._unread = self._generator.uniform_float64(self._block)[::-1].tolist()
        return self._unread.pop()

    def give_back(self) -> None:
        if self._unread:
            bits = self._generator._bits
            bits.state = self._before
            bits.random_raw(2 * (self._block - len(self._unread)), output=False)


def _drawn(n: int, dtype, draw_block) -> np.ndarray:
    if n <= _BLOCK:
        return draw_block(n)
    out = np.empty(n, dtype)
    for start in range(0, out.size, _BLOCK):
        stop = min(start + _BLOCK, out.size)
        out[start:stop] = draw_block(stop - start)
    return out


def _describe(value) -> str:
    dtype = getattr(value, "dtype", None)
    return type(value).__name__ if dtype is None else f"{type(value).__name__} of {dtype}"
