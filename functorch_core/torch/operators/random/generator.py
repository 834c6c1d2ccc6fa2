"""The Mersenne Twister behind PyTorch's CPU generator: seeding, state bytes, raw draws."""

from __future__ import annotations

import operator
import os
import secrets
import threading
from contextlib import contextmanager

import numpy as np

from .normals_ahead import Ahead

DEFAULT_SEED = 67280421310721  # what torch.Generator() starts from

_N = 624  # words of Mersenne Twister state
_FEW, _PATIENCE = 64, 8  # uniforms that are drawn ahead after so many draws of few in turn
_BLOCK = 1 << 15  # draws per pass: the temporaries of a pass (256 KiB) stay in the L2 cache
# Arrays without dimensions: with NumPy's scalars an operation takes 0.4 us, with these 0.2.
_ULP24 = np.array(2.0**-24, np.float32)
_MASK24 = np.array((1 << 24) - 1, np.uint64)
_MASK21 = np.array((1 << 21) - 1, np.uint64)
_SHIFT32 = np.array(32, np.uint64)
_NO_WORDS, _NO_FLOATS = np.zeros(0, np.uint64), np.zeros(0, np.float32)
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


_lock = threading.Lock()  # of those who draw ahead, or what was
os.register_at_fork(after_in_child=lambda: globals().update(_lock=threading.Lock()))


class Mt19937Generator:
    """A Mersenne Twister that draws, seeds and serializes exactly as `torch.Generator()`.

    `next_normal` is the second sample of the last Box-Muller pair that the serial normal path
    has not handed out yet; None where there is none.

    Few uniforms at a time are most of all calls of NumPy. So after some such draws the words up to the next twist are
    drawn and made floats at once; which of them were read says where the stream is.
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
        position = bits["pos"] - self._unread()
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
        self._forget_ahead()
        self._position = position  # in the words, which are made anew behind the last
        self._bits.state = {"bit_generator": "MT19937", "state": {"key": words, "pos": position}}

    # ---- draws -------------------------------------------------------------------------------

    def random32(self, n: int) -> np.ndarray:
        """The next `n` outputs of 32 bits, as uint64 (n,)."""
        if n:
            self._untouched = False
        if self._next < self._ready:
            return self._from_ahead(n)
        self._turns = 0
        return self._raw(n)

    def _raw(self, n: int, output: bool = True) -> np.ndarray:
        if n:
            self._position = (self._position + n - 1) % _N + 1
        return self._bits.random_raw(n, output=output)

    def random64(self, n: int) -> np.ndarray:
        """`n` outputs of 64 bits, uint64 (n,): each takes two of 32 bits, the high one first."""
        words = self.random32(2 * n)
        return (words[0::2] << _SHIFT32) | words[1::2]

    def uniform_float32(self, n: int) -> np.ndarray:
        """Standard uniforms, float32 (n,): the low 24 bits of an output of 32 bits."""
        if n > _FEW:
            return _drawn(n, np.float32, self._float32_block)
        start, floats = self._next, self._floats
        end = start + n
        if end > self._ready:
            return self._few_float32(n)
        self._next = end  # no call since it was read: no other thread reads the same
        return floats[start:end].copy()

    def uniform_float64(self, n: int) -> np.ndarray:
        """Standard uniforms, float64 (n,): the low 53 bits of an output of 64 bits."""
        return _drawn(n, np.float64, self._float64_block)

    def _float32_block(self, n: int) -> np.ndarray:
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

    # ---- draws ahead -------------------------------------------------------------------------

    def _forget_ahead(self) -> None:
        # The words drawn ahead, the floats they stand for, how many there are, and the first that was not read. Then
        # how many draws of few came in turn.
        self._words, self._floats = _NO_WORDS, _NO_FLOATS
        self._next = self._ready = self._turns = 0

    def _unread(self) -> int:
        return self._ready - self._next

    def _few_float32(self, n: int) -> np.ndarray:
        """Uniforms that were not all drawn ahead."""
        self._untouched = False
        with _lock:
            start, self._next = self._next, self._ready
            rest = self._floats[start:]
            if rest.size >= n:  # another thread has drawn them meanwhile
                self._next = start + n
                return rest[:n].copy()
            self._turns += 1
            if self._turns > _PATIENCE:
                words = _N - self._position or _N
                if words + rest.size >= n:
                    drawn = self._raw(words)
                    floats, last = self.float32_of(drawn.copy()), n - rest.size
                    self._words, self._floats, self._ready, self._next = drawn, floats, words, last
                    return np.concatenate([rest, floats[:last]])
            return np.concatenate([rest, self.float32_of(self._raw(n - rest.size))])

    def _from_ahead(self, n: int) -> np.ndarray:
        """Outputs of which some were drawn ahead."""
        with _lock:
            start = self._next
            self._next = start + n if start + n <= self._ready else self._ready
            words = self._words[start : self._next].copy()
            if words.size == n:
                return words
            return np.concatenate([words, self._raw(n - words.size)])

    def state_of_bits(self) -> dict:
        """The state of the bit generator, which is set back to what was read."""
        with _lock:
            state = self._bits.state
            if self._unread():
                state["state"]["pos"] -= self._unread()
                self.go_on_from(state)
            self._forget_ahead()
            return state

    def go_on_from(self, state: dict, n: int = 0) -> None:
        """Go on `n` words behind a state of the bit generator."""
        self._bits.state, self._position = state, state["state"]["pos"]
        self._raw(n, output=False)

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
            self._before = self._generator.state_of_bits()
            self._unread = self._generator.uniform_float64(self._block)[::-1].tolist()
        return self._unread.pop()

    def give_back(self) -> None:
        if self._unread:
            self._generator.go_on_from(self._before, 2 * (self._block - len(self._unread)))


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
