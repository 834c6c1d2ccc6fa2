"""The Mersenne Twister behind PyTorch's CPU generator: seeding, state bytes, raw draws."""

from __future__ import annotations

import operator
import os
import secrets
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np

from ....locks import RLock

DEFAULT_SEED = 67280421310721  # what torch.Generator() starts from

_N = 624  # words of Mersenne Twister state
FEW, _PATIENCE = 64, 8  # words at once that are drawn ahead, after so many such draws in turn
_LEAST, _LARGEST = 1 << 9, 1 << 13  # so many words are drawn ahead, the more the longer they are wanted
_MOST_PATIENCE = 1 << 10
_BLOCK = 1 << 15  # draws per pass: the temporaries of a pass (256 KiB) stay in the L2 cache
# Arrays without dimensions: with NumPy's scalars an operation takes 0.4 us, with these 0.2.
_ULP24 = np.array(2.0**-24, np.float32)
_MASK24 = np.array((1 << 24) - 1, np.uint64)
_MASK21 = np.array((1 << 21) - 1, np.uint64)
_SHIFT32 = np.array(32, np.uint64)
_NO_WORDS = np.zeros(0, np.uint64)
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


class _Unseeded(np.random.bit_generator.ISeedSequence):
    """Words for a generator that is seeded, or set, right afterwards: to mix some takes 40 us."""

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> np.ndarray:
        return np.zeros(n_words, dtype)


_lock = RLock()  # of those who draw ahead, or what was
os.register_at_fork(after_in_child=lambda: globals().update(_lock=RLock()))


class Mt19937Generator:
    """A Mersenne Twister that draws, seeds and serializes exactly as `torch.Generator()`.

    `next_normal` is the second sample of the last Box-Muller pair that the serial normal path
    has not handed out yet; None where there is none.

    A draw of few numbers is most of all calls of NumPy. So after some such draws many words are drawn ahead, and
    uniforms, normals or integers made of them at once; which of them were read says where the stream is.
    """

    def __init__(self, seed: int = DEFAULT_SEED):
        self._bits = np.random.MT19937(_Unseeded())
        self._next_float_normal: float | None = None  # carried for old checkpoints, never used
        self._next = self._ready = 0
        self._patience, self._block = _PATIENCE, _LEAST
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
        self._forget_ahead()
        np.random.RandomState(self._bits).seed(self._seed & 0xFFFFFFFF)
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
        with _lock:
            bits = self._state_now()["state"]
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
        self._forget_ahead()
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
        return self._bits.random_raw(n, output=output)

    def random64(self, n: int) -> np.ndarray:
        """`n` outputs of 64 bits, uint64 (n,): each takes two of 32 bits, the high one first."""
        words = self.random32(2 * n)
        return (words[0::2] << _SHIFT32) | words[1::2]

    def uniform_float32(self, n: int) -> np.ndarray:
        """Standard uniforms, float32 (n,): the low 24 bits of an output of 32 bits."""
        start, made, words = self._next, self._made, self._words
        end = start + n
        if n <= FEW and end <= self._ready:  # what `few` does
            self._next = end  # no call since it was read: no other thread reads the same
            floats = made.get("float32")
            if floats.__class__ is np.ndarray:
                return floats[start:end].copy()
            return _made_of(words, made, start, n, "float32", float32_of, 1, 1, 1)
        return self.few(n, "float32", float32_of) if n <= FEW else _drawn(n, np.float32, self._float32_block)

    def uniform_float64(self, n: int) -> np.ndarray:
        """Standard uniforms, float64 (n,): the low 53 bits of an output of 64 bits."""
        if n <= FEW // 2:
            return self.few(2 * n, "float64", float64_of, 2, 2, 4)
        return _drawn(n, np.float64, self._float64_block)

    def _float32_block(self, n: int) -> np.ndarray:
        return float32_of(self.random32(n))

    def _float64_block(self, n: int) -> np.ndarray:
        return float64_of(self.random32(2 * n))

    # ---- draws ahead -------------------------------------------------------------------------

    def few(
        self, n: int, kind: Any, make: Callable, period: int = 1, each: int = 1, patience: int = 0, most: int = FEW
    ) -> np.ndarray:
        """make(the next n outputs, kind), of up to `most` from what is drawn ahead: for each group of `period` outputs,
        a number for `each` output.

        Of those drawn ahead all is made at once, from the `patience`-th time on, and kept by the kind.
        """
        if n > most:
            return make(self.random32(n), kind)
        start, made, words = self._next, self._made, self._words
        if start + n > self._ready:
            made, words, start = self._few_words(n)
        else:
            self._next = start + n  # no call since it was read: no other thread reads the same
        return _made_of(words, made, start, n, kind, make, period, each, patience)

    def _forget_ahead(self) -> None:
        # What is drawn ahead: the words, how many there are, the first that was not read, a state of the bit generator
        # and how many words before that they begin, and what was made of them. Then how many draws of few came in turn.
        if self._next < self._ready:  # in vain
            self._patience, self._block = min(2 * self._patience, _MOST_PATIENCE), _LEAST
        self._words, self._before, self._made = _NO_WORDS, (0, None), {}
        self._next = self._ready = self._turns = 0

    def _few_words(self, n: int) -> tuple[dict, np.ndarray, int]:
        """The next outputs, which were not all drawn ahead: what is made of the words that they are among, these, and
        where they begin."""
        self._untouched = False
        with _lock:
            start, self._next = self._next, self._ready
            rest = self._words[start:]
            if rest.size >= n:  # another thread has drawn them meanwhile
                self._next = start + n
                return self._made, self._words, start
            self._turns += 1
            if self._turns <= self._patience:
                drawn = self._raw(n - rest.size)
                return {}, np.concatenate([rest, drawn]) if rest.size else drawn, 0
            if self._ready:  # the block before was read to its end
                self._patience, self._block = _PATIENCE, min(2 * self._block, _LARGEST)
            self._before = rest.size, self._bits.state
            self._words, self._made = np.concatenate([rest, self._raw(self._block + n)]), {}
            self._next, self._ready = n, self._words.size
            return self._made, self._words, 0

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
            if self._next < self._ready:
                self._bits.state = self._state_now()
            self._forget_ahead()
            return self._bits.state

    def _state_now(self) -> dict:
        """The state after what was read."""
        if self._next == self._ready:
            return self._bits.state
        scratch = np.random.MT19937(_Unseeded())
        before, scratch.state = self._before
        scratch.random_raw(self._next - before, output=False)
        return scratch.state

    def place(self, n: int) -> dict | tuple[np.ndarray, int]:
        """Where the stream is, whose next n outputs will be read, for `go_on_from`: a state of the bit generator (to
        set one and to ask for one takes 25 us), or of few what is drawn ahead, and how many of it were read."""
        if n > _LEAST:
            return self.state_of_bits()
        if self._next + n > self._ready:
            self._untouched = False
            with _lock:
                if self._next < self._ready:
                    self._bits.state = self._state_now()
                self._before, self._made = (0, self._bits.state), {}
                self._words = self._raw(self._block + n)
                self._next, self._ready, self._block = 0, self._words.size, min(2 * self._block, _LARGEST)
        return self._words, self._next

    def go_on_from(self, place: dict | tuple[np.ndarray, int], n: int = 0) -> None:
        """Go on `n` words behind a place."""
        if place.__class__ is tuple:
            if self._words is place[0]:  # no other thread has read on
                self._next = place[1] + n
            return
        self._forget_ahead()
        self._bits.state = place
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


def float32_of(words: np.ndarray, kind: str = "") -> np.ndarray:
    """The float32 uniforms that outputs of 32 bits stand for; the outputs are overwritten."""
    words &= _MASK24
    # Signed integers below 2**24 convert exactly, and faster than unsigned ones.
    values = words.view(_INT64).astype(_FLOAT32)
    values *= _ULP24
    return values


def float64_of(words: np.ndarray, kind: str = "") -> np.ndarray:
    """The float64 uniforms that pairs of outputs stand for."""
    bits = words[0 : words.size & ~1 : 2] & _MASK21
    bits <<= _SHIFT32
    bits |= words[1::2]
    values = bits.view(np.int64).astype(np.float64)
    values *= 2.0**-53
    return values


def _made_of(words: np.ndarray, made: dict, start: int, n: int, kind: Any, make: Callable, period, each, patience):
    """See `few`: of those drawn ahead from `start` on."""
    first = start % period
    key = (kind, first) if first else kind
    found = made.get(key, 0)
    if found.__class__ is int:
        if found < patience or words.size == n:
            made[key] = found + 1
            return make(words[start : start + n].copy(), kind)
        found = made[key] = make(words[first:].copy(), kind)
    start = (start - first) // each
    return found[start : start + n // each].copy()


class _UniformReader:
    """Reads uniforms from blocks drawn ahead; `give_back` rewinds over the unread ones."""

    def __init__(self, generator: Mt19937Generator, block: int):
        self._generator, self._block = generator, block
        self._before: Any = None  # the place of the last block
        self._unread: list[float] = []

    def read(self) -> float:
        if not self._unread:
            self._before = self._generator.place(2 * self._block)
            self._unread = self._generator.uniform_float64(self._block)[::-1].tolist()
        return self._unread.pop()

    def give_back(self) -> None:
        if self._unread:
            self._generator.go_on_from(self._before, 2 * (self._block - len(self._unread)))


class Stretch:
    """Uniforms drawn ahead, of which those that were not read are given back at the end."""

    def __init__(self, gen: Mt19937Generator):
        self._gen = gen
        self._drawn: list[tuple[dict, int]] = []  # state of the bit generator before, how many
        self._uniforms = np.zeros(0)

    def peek(self, n: int) -> np.ndarray:
        """At least the next n uniforms."""
        more = n - self._uniforms.size
        if more > 0:
            self._drawn.append((self._gen.state_of_bits(), more))
            self._uniforms = np.concatenate([self._uniforms, self._gen.uniform_float64(more)])
        return self._uniforms

    def advance(self, n: int) -> None:
        """Read the next n, which were drawn."""
        self._uniforms = self._uniforms[n:]

    def read(self) -> float:
        """Read the next one."""
        uniform = float(self.peek(1 if self._uniforms.size else 64)[0])
        self.advance(1)
        return uniform

    def give_back(self) -> None:
        """Set the generator to where the first lies that was not read."""
        unread = self._uniforms.size
        while unread:
            state, n = self._drawn.pop()
            if unread <= n:
                self._gen.go_on_from(state, 2 * (n - unread))
            unread -= min(n, unread)


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
